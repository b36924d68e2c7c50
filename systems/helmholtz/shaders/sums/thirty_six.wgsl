// The sums that a thread keeps of a prism's matrix: the whole matrix, each entry of which is added
// to its node by itself. Swapped within sums/.
// Needs: accumulate, real; of the kernel NODES, Prism, node_of.

const SUMS: u32 = 36u;

fn sum_of(j: u32, k: u32) -> u32 {
    return NODES * j + k;
}

fn add_sums(prism: Prism, sums: ptr<function, array<real, SUMS>>) {
    for (var place = 0u; place < SUMS; place++) {
        add(node_of(prism, place / NODES), (*sums)[place]);
    }
}
