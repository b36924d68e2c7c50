// The sums that a thread keeps of a prism's matrix: A[k % 2][j]: in the loops (ip, k, j) a sum is
// written every 12 iterations. Swapped within sums/.
// Needs: accumulate, real; of the kernel NODES, Prism, node_of.

const SUMS: u32 = 12u;

fn sum_of(j: u32, k: u32) -> u32 {
    return NODES * (k % 2u) + j;
}

fn add_sums(prism: Prism, sums: ptr<function, array<real, SUMS>>) {
    for (var j = 0u; j < NODES; j++) {
        add(node_of(prism, j), (*sums)[j] + (*sums)[NODES + j]);
    }
}
