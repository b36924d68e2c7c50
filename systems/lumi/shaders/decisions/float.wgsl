// Where tracks are, in f32: beside a bound another device may decide otherwise.
// Needs: types.

fn is_close(x: f32, y: f32, tx: f32, ty: f32) -> bool {
    return abs(ty * x - tx * y) / sqrt(tx * tx + ty * ty) < 3.0;
}

// The bin of a pseudorapidity, of bins below -4, -3, -2, 2, 3, 4, 5 and above 5; NONE at exactly 5.
fn eta_bin(tx: f32, ty: f32, backward: bool) -> u32 {
    let one_by_rho = 1.0 / sqrt(tx * tx + ty * ty);
    // asinh, which is no more than a logarithm in WGSL either.
    let eta = select(1.0, -1.0, backward) * log(one_by_rho + sqrt(one_by_rho * one_by_rho + 1.0));
    let edges = array<f32, 7>(-4.0, -3.0, -2.0, 2.0, 3.0, 4.0, 5.0);
    for (var bin = 0u; bin < 7u; bin++) {
        if eta < edges[bin] {
            return bin;
        }
    }
    return select(NONE, 7u, eta > 5.0);
}
