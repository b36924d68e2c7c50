// The rank of three bins: their sum. Swapped with ranks/pt.wgsl.

fn rank(sum: u32, left: u32) -> u32 {
    return sum;
}
