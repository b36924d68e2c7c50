// The rank of three bins: the sum of their weights.

fn rank(sum: u32, left: u32) -> u32 {
    return sum;
}
