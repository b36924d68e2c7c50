// Row sums of a prism's matrix of M + S, entry by entry, as PyOP2 generated it: A_jk += w (phi_j
// phi_k + grad phi_j . grad phi_k). The loops are those of the report's Listing 1, (ip, k, j), or
// (ip, j, k) if INTERCHANGED. Swapped with lumped/factored.wgsl.
// Needs: sums, real; of the kernel NODES, POINTS, Prism, gradient.

override INTERCHANGED: u32 = 0;

fn entry(prism: Prism, point: u32, j: u32, k: u32) -> real {
    return value(point, j) * value(point, k) + dot(gradient(prism, point, j), gradient(prism, point, k));
}

fn volumes(prism: Prism) {
    var sums = array<real, SUMS>();
    for (var point = 0u; point < POINTS; point++) {
        let scale = prism.det * weight(point);
        for (var outer = 0u; outer < NODES; outer++) {
            for (var inner = 0u; inner < NODES; inner++) {
                let j = select(inner, outer, INTERCHANGED != 0u);
                let k = select(outer, inner, INTERCHANGED != 0u);
                sums[sum_of(j, k)] += scale * entry(prism, point, j, k);
            }
        }
    }
    add_sums(prism, &sums);
}
