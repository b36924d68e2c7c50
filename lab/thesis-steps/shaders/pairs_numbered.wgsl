// Pairs of a slice, all numbered together: a thread takes every WORKGROUP_SIZE-th number, across
// layers. Its numbers only grow, so subtractions recover each pair, and no division. Swapped with
// the other files pairs_*.wgsl.
// Needs: flat_list; of the kernel WORKGROUP_SIZE, params, inner, add_pair.

fn add_pairs(thread: u32) {
    make_list(thread);
    // Pairs from the spacepoint's first pair to the thread's next one.
    var pair = thread;
    for (var layer_a = 0u; layer_a + 1u < params.layers; layer_a++) {
        let range_a = inner(layer_a);
        let first_b = wg_first[layer_a + 1u];
        let partners = wg_first[params.layers] - first_b;
        if partners == 0u {
            break;
        }
        for (var a = range_a.x; a < range_a.y; a++) {
            for (; pair < partners; pair += WORKGROUP_SIZE) {
                add_pair(a, listed(first_b + pair));
            }
            pair -= partners;
        }
    }
}
