// The sums that a thread keeps of a prism's matrix: the whole matrix, whose rows are summed before
// they are added to the nodes. Swapped within sums/.
// Needs: accumulate, real; of the kernel NODES, Prism, node_of.

const SUMS: u32 = 36u;

fn sum_of(j: u32, k: u32) -> u32 {
    return NODES * j + k;
}

fn add_sums(prism: Prism, sums: ptr<function, array<real, SUMS>>) {
    for (var j = 0u; j < NODES; j++) {
        var row = real();
        for (var k = 0u; k < NODES; k++) {
            row += (*sums)[NODES * j + k];
        }
        add(node_of(prism, j), row);
    }
}
