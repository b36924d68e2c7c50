// Each pair counts. Swapped with confirm_triplets.wgsl.

fn is_confirmed(a: u32, b: u32, z12: real) -> bool {
    return true;
}
