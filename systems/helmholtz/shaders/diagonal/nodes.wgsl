// The inverse of the diagonal of a stored matrix: one number per node. Swapped with
// diagonal/columns.wgsl.
// Needs: real; of the kernel scales.

fn scale_of(node: u32) -> real {
    return scales[node];
}
