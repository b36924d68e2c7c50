// Pairs of a slice, inner spacepoint by inner spacepoint: a thread takes every threads()-th one
// with all of its partners. Swapped with pairs_by_layer.wgsl and pairs_numbered.wgsl.
// Needs: row_*; of the kernel params, points, inner, outer, add_pair.

fn add_pairs(thread: u32) {
    // Of the spacepoints of all layers, how many lie before the thread's next one.
    var skip = thread;
    for (var layer_a = 0u; layer_a + 1u < params.layers; layer_a++) {
        let range_a = inner(layer_a);
        var a = range_a.x + skip;
        for (; a < range_a.y; a += threads()) {
            for (var layer_b = layer_a + 1u; layer_b < params.layers; layer_b++) {
                let range_b = outer(layer_b);
                for (var b = range_b.x; b < range_b.y; b++) {
                    add_pair(points[a], points[b]);
                }
            }
        }
        skip = a - range_a.y;
    }
}
