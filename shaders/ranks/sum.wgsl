// The rank of three bins: their sum. Swapped with ranks/pt.wgsl.
// Needs: types.

fn rank(sum: u32, left: u32) -> u32 {
    return sum;
}

// z is the mean of the bins' entries.
fn cluster_of(middle: u32, bins: u32, thread: u32) -> Cluster {
    return Cluster();
}
