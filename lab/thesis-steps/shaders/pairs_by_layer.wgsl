// Pairs of a slice, inner layer by inner layer: the pairs of a layer are numbered, a thread takes
// every threads()-th number, and an integer division recovers the pair. Swapped with
// pairs_by_inner.wgsl and pairs_numbered.wgsl.
// Needs: flat_list, row_*; of the kernel params, points, inner, add_pair.

fn add_pairs(thread: u32) {
    make_list(thread);
    for (var layer_a = 0u; layer_a + 1u < params.layers; layer_a++) {
        let range_a = inner(layer_a);
        let first_b = wg_first[layer_a + 1u];
        let partners = wg_first[params.layers] - first_b;
        let pairs = (range_a.y - range_a.x) * partners;
        for (var pair = thread; pair < pairs; pair += threads()) {
            add_pair(points[range_a.x + pair / partners], listed(first_b + pair % partners));
        }
    }
}
