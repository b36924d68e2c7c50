// How far a track goes in a step, what the step ends with, and the way there.
// Needs: types, tracks, geometry, tables, integrate, a field, philox. CPU twin: src/engine/cpu/step_length.rs, whose lines these are.

// Where there is nothing to interact with, a step is not longer.
const LONGEST: f32 = 10000.0;
const LAST_RANGE: f32 = 1.0;
const RANGE_PART: f32 = 0.2;

// Takes a track that is alive to where its step ends.
fn step_length_of(before: Track) -> Track {
    var track = before;
    track.in_material = select(0u, 1u, is_material(track.cell));
    track.process = NOTHING;
    track.step = LONGEST;
    if track.kind == POSITRON && track.kinetic == 0.0 {
        track.process = ANNIHILATION;
        track.step = 0.0;
        return track;
    }
    if track.in_material != 0u {
        track = choose(track);
    }
    return go(track);
}

// The process that comes first: each after an exponential of its own. Or none, before an electron has lost too much.
fn choose(before: Track) -> Track {
    var track = before;
    var draws = draws_of(track.number, track.steps);
    let kinetic = track.kinetic;
    let is_photon = track.kind == PHOTON;
    var rates = vec3<f32>();
    var first = COMPTON;
    var bound = LONGEST;
    if is_photon {
        rates = of_photon(kinetic).xyz;
        if kinetic <= 2.0 * ELECTRON_MASS {
            rates.y = 0.0;
        }
    } else {
        let found = of_electron(kinetic);
        rates.x = select(0.0, found.x, kinetic > params.photon_cut);
        rates.y = select(0.0, found.y, kinetic > 2.0 * params.electron_cut);
        first = BREMSSTRAHLUNG;
        let range = exp(found.w);
        if range <= LAST_RANGE {
            bound = range;
        } else {
            bound = RANGE_PART * range + LAST_RANGE * (1.0 - RANGE_PART) * (2.0 - LAST_RANGE / range);
        }
    }
    for (var i = 0u; i < 3u; i++) {
        let free_paths = -log(draw_uniform(&draws, params.seed, params.is_constant != 0u));
        let rate = select(select(rates.z, rates.y, i == 1u), rates.x, i == 0u);
        if rate > 0.0 && free_paths < track.step * rate {
            track.step = free_paths / rate;
            track.process = first + i;
        }
    }
    if bound < track.step {
        track.step = bound;
        track.process = NOTHING;
    }
    return track;
}

// To the end of the step, or to the cell's boundary: the step then ends there, with nothing.
fn go(before: Track) -> Track {
    var track = before;
    cell_of_path = track.cell;
    if track.kind == PHOTON {
        let distance = distance_ahead(track.place, track.direction);
        if distance <= track.step {
            track.step = distance;
            track.cell = cell_beyond;
            track.process = NOTHING;
        }
        track.place += track.step * track.direction;
        return track;
    }
    let wanted = track.step;
    let charge = select(1.0, -1.0, track.kind == ELECTRON);
    let start = State(track.place, momentum_of(track.kinetic) * track.direction);
    let path = follow(charge, start, wanted, params.accuracy);
    track.place = path.state.place;
    let square = dot(path.state.momentum, path.state.momentum);
    if square > 0.0 {
        track.direction = inverseSqrt(square) * path.state.momentum;
    }
    track.step = path.length;
    if path.crosses != 0u {
        track.cell = cell_beyond;
    }
    if path.crosses != 0u || path.length < wanted {
        track.process = NOTHING;
    }
    return track;
}
