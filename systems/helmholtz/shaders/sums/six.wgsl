// The sums that a thread keeps of a prism's matrix: one per row: in the loops (ip, k, j) a sum is
// written every 6 iterations. Swapped within sums/.
// Needs: accumulate, real; of the kernel NODES, Prism, node_of.

const SUMS: u32 = 6u;

fn sum_of(j: u32, k: u32) -> u32 {
    return j;
}

fn add_sums(prism: Prism, sums: ptr<function, array<real, SUMS>>) {
    for (var j = 0u; j < NODES; j++) {
        add(node_of(prism, j), (*sums)[j]);
    }
}
