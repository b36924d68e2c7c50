// The first half of a step: its length, its process, and the path.
// Needs: types, tracks, tables, cells, geometry, integrate, philox.
// CPU twin: src/engine/cpu/step_length.rs, whose lines these are.

// The longest step in vacuum.
const LONGEST: f32 = 10000.0;
const LAST_RANGE: f32 = 1.0;
const RANGE_PART: f32 = 0.2;

// Moves a live track to the end of its step.
fn step_length_of(before: Track) -> Track {
    var track = before;
    track.material = material_of(track.cell);
    track.loops = select(0u, track.loops, track.material == 0u);
    track.process = NOTHING;
    track.step = LONGEST;
    if track.kind == POSITRON && track.kinetic == 0.0 {
        track.process = ANNIHILATION;
        track.step = 0.0;
        return track;
    }
    if track.material > 0u {
        track = choose(track);
    }
    return go(track);
}

// Chooses the process that comes first: each has an exponential path. Or none, where an electron
// would lose too much.
fn choose(before: Track) -> Track {
    var track = before;
    var draws = draws_of(track.number, track.steps);
    let kinetic = track.kinetic;
    let is_photon = track.kind == PHOTON;
    var rates = vec3<f32>();
    var first = COMPTON;
    var bound = LONGEST;
    if is_photon {
        rates = of_photon(track.material, kinetic);
        if kinetic <= 2.0 * ELECTRON_MASS {
            rates.y = 0.0;
        }
    } else {
        let found = of_electron(track.material, kinetic);
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

// Moves the track to the end of the step, or to the cell's boundary, where no process happens.
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
    // In vacuum the integrator's limit ends a step of a track that circles.
    let is_looping = track.material == 0u && path.crosses == 0u && path.length < wanted;
    track.loops = select(0u, min(track.loops + 1u, MOST_LOOPS), is_looping);
    if path.crosses != 0u || path.length < wanted {
        track.process = NOTHING;
    }
    return track;
}
