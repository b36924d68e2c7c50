// Pairs of a slice, all by one thread of the workgroup. Swapped with the other files pairs_*.wgsl.
// Needs: of the kernel params, inner, outer, add_pair.

fn add_pairs(thread: u32) {
    if thread != 0u {
        return;
    }
    for (var layer_a = 0u; layer_a + 1u < params.layers; layer_a++) {
        let range_a = inner(layer_a);
        for (var a = range_a.x; a < range_a.y; a++) {
            for (var layer_b = layer_a + 1u; layer_b < params.layers; layer_b++) {
                let range_b = outer(layer_b);
                for (var b = range_b.x; b < range_b.y; b++) {
                    add_pair(a, b);
                }
            }
        }
    }
}
