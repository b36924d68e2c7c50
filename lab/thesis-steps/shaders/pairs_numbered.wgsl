// Pairs of a slice, all numbered together: a thread takes every threads()-th number, across layers.
// Its numbers only grow, so additions and subtractions recover each pair, and no division. Swapped
// with pairs_by_inner.wgsl and pairs_by_layer.wgsl.
// Needs: flat_list, row_*; of the kernel params, points, inner, add_pair.

fn add_pairs(thread: u32) {
    make_list(thread);
    // Pairs from the layer's first pair, or from the spacepoint's, to the thread's next one.
    var pair = thread;
    for (var layer_a = 0u; layer_a + 1u < params.layers; layer_a++) {
        let range_a = inner(layer_a);
        let first_b = wg_first[layer_a + 1u];
        let partners = wg_first[params.layers] - first_b;
        if partners == 0u {
            break;
        }
        for (var a = range_a.x; a < range_a.y; a++) {
            for (; pair < partners; pair += threads()) {
                add_pair(points[a], listed(first_b + pair));
            }
            pair -= partners;
        }
    }
}
