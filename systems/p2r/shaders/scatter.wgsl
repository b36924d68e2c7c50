// Adds the multiple scattering in a layer to the covariance of a state. Energy is not lost.
// Scattering is the variance of the projected angle times (beta p)^2 [rad^2 GeV^2]. The particle
// has the mass of a pion.
// Needs: types, real. CPU twin: src/engine/cpu/scatter.rs, whose lines these are; formulas: scatter
//       in src/engine/reference.rs.

const PION: real = 0.13957039; // [GeV]

fn scatter(p: State, scattering: real) -> State {
    let polar = sine_cosine(p.theta);
    let inverse = 1.0 / polar.x;
    let q = p.ipt * polar.x; // 1 / p
    let square = q * q;
    let variance = scattering * square * (1.0 + PION * PION * square);
    let slope = p.ipt * polar.y * inverse; // of 1/pt by theta, at a fixed p
    var to = p;
    to.c33 += slope * slope * variance;
    to.c44 += variance * inverse * inverse;
    to.c53 -= slope * variance;
    to.c55 += variance;
    return to;
}
