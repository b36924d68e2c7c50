// Pairs of a slice, inner layer by inner layer: the pairs of a layer are numbered, a thread takes
// every WORKGROUP_SIZE-th number, and an integer division recovers the pair. Swapped with the other
// files pairs_*.wgsl.
// Needs: flat_list; of the kernel WORKGROUP_SIZE, params, inner, add_pair.

fn add_pairs(thread: u32) {
    make_list(thread);
    for (var layer_a = 0u; layer_a + 1u < params.layers; layer_a++) {
        let range_a = inner(layer_a);
        let first_b = wg_first[layer_a + 1u];
        let partners = wg_first[params.layers] - first_b;
        let pairs = (range_a.y - range_a.x) * partners;
        for (var pair = thread; pair < pairs; pair += WORKGROUP_SIZE) {
            add_pair(range_a.x + pair / partners, listed(first_b + pair % partners));
        }
    }
}
