// Pairs of a slice, inner spacepoint by inner spacepoint: the threads split the partners of each.
// Swapped with the other files pairs_*.wgsl.
// Needs: flat_list; of the kernel WORKGROUP_SIZE, params, inner, add_pair.

fn add_pairs(thread: u32) {
    make_list(thread);
    let end = wg_first[params.layers];
    for (var layer_a = 0u; layer_a + 1u < params.layers; layer_a++) {
        let range_a = inner(layer_a);
        for (var a = range_a.x; a < range_a.y; a++) {
            for (var place = wg_first[layer_a + 1u] + thread; place < end; place += WORKGROUP_SIZE) {
                add_pair(a, listed(place));
            }
        }
    }
}
