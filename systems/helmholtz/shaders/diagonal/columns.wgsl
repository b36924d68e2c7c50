// The inverse of the diagonal of M + S: one number per vertex. Ends of columns have twice the
// number of inner levels. Swapped with diagonal/nodes.wgsl.
// Needs: real; of the kernel params, scales.

fn scale_of(node: u32) -> real {
    let vertex = node / params.levels;
    let level = node - vertex * params.levels;
    let inner = scales[vertex];
    return select(inner, inner + inner, (level == 0u) | (level + 1u == params.levels));
}
