// z of a peak is the mean of the entries in its three bins.

#import shared::types

fn find_cluster(middle: u32, bins: u32, thread: u32) -> Cluster {
    return Cluster();
}
