// The second half of a step: the energy loss and scattering along it, and the process at its end.
// Needs: types, tracks, tables, philox. CPU twin: src/engine/cpu/interact.rs, whose lines these
//       are.

const FIRST_DRAW: u32 = 4u;
const SCATTER_DRAW: u32 = 0x100000u;
const TRIES: u32 = 32u;
const SMALL_LOSS: f32 = 0.01;

// The result of a step, which may still be discarded.
struct Effect {
    after: Track,
    secondary: Track,
    has_secondary: u32,
    deposited: f32,
    escaped: f32,
    abandoned: f32,
}

fn energy_of(track: Track) -> f32 {
    return track.kinetic + select(0.0, 2.0 * ELECTRON_MASS, track.kind == POSITRON);
}

fn interaction_of(track: Track) -> Effect {
    var effect = Effect(track, track, 0u, 0.0, 0.0, 0.0);
    effect.after.status = IS_ALIVE;
    effect.after.steps += 1u;
    if track.kind != PHOTON && track.material > 0u && track.step > 0.0 {
        let loss = loss_of(track);
        effect.deposited = loss;
        effect.after.kinetic = track.kinetic - loss;
        settle(&effect);
        if params.scatters != 0u && effect.after.kinetic > 0.0 {
            effect.after.direction = scattered(track);
        }
    }
    if effect.after.status == IS_ALIVE && track.cell == OUTSIDE_WORLD {
        effect.escaped = energy_of(effect.after);
        effect.after.status = IS_VACANT;
    }
    if effect.after.status == IS_ALIVE {
        happen(track, &effect);
    }
    let is_looper = params.most_loops > 0u && effect.after.loops >= params.most_loops;
    if effect.after.status == IS_ALIVE && (effect.after.steps >= params.most_steps || is_looper) {
        effect.abandoned = energy_of(effect.after);
        effect.after.status = IS_VACANT;
    }
    return effect;
}

// The value of OUTSIDE in cells.wgsl, which is not needed here otherwise.
const OUTSIDE_WORLD: u32 = 0xfffffu;

fn loss_of(track: Track) -> f32 {
    let found = of_electron(track.material, track.kinetic);
    let loss = track.step * found.z;
    if loss <= SMALL_LOSS * track.kinetic {
        return loss;
    }
    let left = exp(found.w) - track.step;
    var kept = 0.0;
    if left > 0.0 {
        kept = energy_of_range(track.material, log(left));
    }
    return clamp(track.kinetic - kept, 0.0, track.kinetic);
}

// The direction after multiple scattering along a step: Highland's width in each of two planes, of
// the momentum before the step.
fn scattered(track: Track) -> vec3<f32> {
    var draws = draws_of(track.number, track.steps);
    draws.drawn = SCATTER_DRAW;
    let thickness = track.step / radiation_length_of(track.material);
    let p = momentum_of(track.kinetic);
    let beta = p / (track.kinetic + ELECTRON_MASS);
    let correction = max(1.0 + 0.038 * log(thickness / (beta * beta)), 0.0);
    let width = 13.6 / (beta * p) * sqrt(thickness) * correction;
    // The radius of two Gaussian angles, taken as twice the sine of half of the angle: no angle is
    // beyond pi.
    let half = min(0.5 * width * sqrt(-2.0 * log(draw(&draws))), 1.0);
    let angle = vec2<f32>(1.0 - 2.0 * half * half, 2.0 * half * sqrt(1.0 - half * half));
    return turned(track.direction, angle, circle(draw(&draws)));
}

// An electron or positron that has too little energy leaves it here. The positron is still there.
fn settle(effect: ptr<function, Effect>) {
    if (*effect).after.kind != PHOTON && (*effect).after.kinetic <= params.stop {
        (*effect).deposited += (*effect).after.kinetic;
        (*effect).after.kinetic = 0.0;
        if (*effect).after.kind == ELECTRON {
            (*effect).after.status = IS_VACANT;
        }
    }
}

fn happen(track: Track, effect: ptr<function, Effect>) {
    if track.process >= NOTHING {
        return;
    }
    var draws = draws_of(track.number, track.steps);
    draws.drawn = FIRST_DRAW;
    switch track.process {
        case BREMSSTRAHLUNG: {
            bremsstrahlung(track, &draws, effect);
        }
        case MOLLER: {
            moller(track, &draws, effect);
        }
        case COMPTON: {
            compton(track, &draws, effect);
        }
        case PAIR: {
            pair(track, &draws, effect);
        }
        case PHOTOELECTRIC: {
            // All of the energy goes to an electron that goes on in the photon's direction.
            let after = (*effect).after;
            become_(child(track, after, 0u, ELECTRON, after.direction, after.kinetic), effect);
        }
        default: {
            annihilation(track, &draws, effect);
        }
    }
}

fn draw(draws: ptr<function, Draws>) -> f32 {
    return draw_uniform(draws, params.seed, params.is_constant != 0u);
}

// Another track from where the one of the event is.
fn child(parent: Track, after: Track, which: u32, kind: u32, direction: vec3<f32>, kinetic: f32) -> Track {
    var made = after;
    made.number.x = philox4x32(vec4<u32>(which, parent.steps, parent.number), params.child_seed).x;
    made.kind = kind;
    made.direction = direction;
    made.kinetic = kinetic;
    made.steps = 0u;
    made.loops = 0u;
    made.status = IS_ALIVE;
    return made;
}

// One that needs a slot, if it has energy enough to be followed.
fn emit(made: Track, effect: ptr<function, Effect>) {
    let least = select(params.stop, params.photon_cut, made.kind == PHOTON);
    if made.kinetic <= least {
        (*effect).deposited += made.kinetic;
    } else {
        (*effect).secondary = made;
        (*effect).has_secondary = 1u;
    }
}

// One in place of the track.
fn become_(made: Track, effect: ptr<function, Effect>) {
    (*effect).after = made;
    if made.kind == PHOTON && made.kinetic <= params.photon_cut {
        (*effect).deposited += made.kinetic;
        (*effect).after.status = IS_VACANT;
    }
    settle(effect);
}

// Cosine and sine.
fn narrow_angle(kinetic: f32, draws: ptr<function, Draws>) -> vec2<f32> {
    let most = 2.0 * (1.0 + kinetic / ELECTRON_MASS);
    var u = most;
    for (var i = 0u; i < TRIES; i++) {
        let a = draw(draws);
        let b = draw(draws);
        let c = draw(draws);
        u = -log(a * b) * select(1.6 / 3.0, 1.6, c < 0.25);
        if u <= most {
            break;
        }
    }
    let part = min(u, most) / most;
    let square = part * part;
    return vec2<f32>(1.0 - 2.0 * square, 2.0 * part * sqrt(max(1.0 - square, 0.0)));
}

fn bremsstrahlung(track: Track, draws: ptr<function, Draws>, effect: ptr<function, Effect>) {
    let kinetic = (*effect).after.kinetic;
    let direction = (*effect).after.direction;
    let cut = params.photon_cut;
    if kinetic <= cut {
        return;
    }
    let logarithm = log(kinetic / cut);
    var energy = cut;
    for (var i = 0u; i < TRIES; i++) {
        energy = min(cut * exp(draw(draws) * logarithm), kinetic);
        let part = energy / kinetic;
        if draw(draws) <= 1.0 - part + 0.75 * part * part {
            break;
        }
    }
    let angle = narrow_angle(kinetic, draws);
    let towards = turned(direction, angle, circle(draw(draws)));
    (*effect).after.direction = unit(momentum_of(kinetic) * direction - energy * towards, direction);
    (*effect).after.kinetic = kinetic - energy;
    emit(child(track, (*effect).after, 0u, PHOTON, towards, energy), effect);
    settle(effect);
}

fn moller_shape(x: f32, g: f32) -> f32 {
    let y = 1.0 - x;
    return 1.0 - g * x + x * x * (1.0 - g + (1.0 - g * y) / (y * y));
}

fn moller(track: Track, draws: ptr<function, Draws>, effect: ptr<function, Effect>) {
    let kinetic = (*effect).after.kinetic;
    let direction = (*effect).after.direction;
    let cut = params.electron_cut;
    if kinetic <= 2.0 * cut {
        return;
    }
    let gamma = kinetic / ELECTRON_MASS + 1.0;
    let g = (2.0 * gamma - 1.0) / (gamma * gamma);
    let low = cut / kinetic;
    let most = moller_shape(0.5, g);
    var x = low;
    for (var i = 0u; i < TRIES; i++) {
        let q = draw(draws);
        x = low * 0.5 / (low * (1.0 - q) + 0.5 * q);
        if most * draw(draws) <= moller_shape(x, g) {
            break;
        }
    }
    let energy = x * kinetic;
    let before = momentum_of(kinetic);
    let knocked = momentum_of(energy);
    let cosine = min(energy * (kinetic + 2.0 * ELECTRON_MASS) / (knocked * before), 1.0);
    let angle = vec2<f32>(cosine, sqrt((1.0 - cosine) * (1.0 + cosine)));
    let towards = turned(direction, angle, circle(draw(draws)));
    (*effect).after.direction = unit(before * direction - knocked * towards, direction);
    (*effect).after.kinetic = kinetic - energy;
    emit(child(track, (*effect).after, 0u, ELECTRON, towards, energy), effect);
    settle(effect);
}

fn compton(track: Track, draws: ptr<function, Draws>, effect: ptr<function, Effect>) {
    let energy = (*effect).after.kinetic;
    let direction = (*effect).after.direction;
    let k = energy / ELECTRON_MASS;
    let least = 1.0 / (1.0 + 2.0 * k);
    let log_part = -log(least);
    let flat_part = 0.5 * (1.0 - least * least);
    var part = 1.0;
    var turn = 0.0;
    for (var i = 0u; i < TRIES; i++) {
        let a = draw(draws);
        let b = draw(draws);
        let c = draw(draws);
        if a * (log_part + flat_part) < log_part {
            part = exp(-(b * log_part));
        } else {
            part = sqrt(least * least + (1.0 - least * least) * b);
        }
        // 1 - cos.
        turn = clamp((1.0 - part) / (k * part), 0.0, 2.0);
        let sin2 = turn * (2.0 - turn);
        if c <= 1.0 - part * sin2 / (1.0 + part * part) {
            break;
        }
    }
    let angle = vec2<f32>(1.0 - turn, sqrt(turn * (2.0 - turn)));
    let towards = turned(direction, angle, circle(draw(draws)));
    let scattered = part * energy;
    let knocked = energy - scattered;
    let recoil = unit(energy * direction - scattered * towards, direction);
    (*effect).after.direction = towards;
    (*effect).after.kinetic = scattered;
    if scattered <= params.photon_cut {
        (*effect).deposited += scattered;
        (*effect).after.status = IS_VACANT;
    }
    emit(child(track, (*effect).after, 0u, ELECTRON, recoil, knocked), effect);
}

fn pair(track: Track, draws: ptr<function, Draws>, effect: ptr<function, Effect>) {
    let energy = (*effect).after.kinetic;
    let direction = (*effect).after.direction;
    if energy <= 2.0 * ELECTRON_MASS {
        return;
    }
    let least = ELECTRON_MASS / energy;
    var part = 0.5;
    for (var i = 0u; i < TRIES; i++) {
        part = least + (1.0 - 2.0 * least) * draw(draws);
        if draw(draws) <= 1.0 - (4.0 / 3.0) * part * (1.0 - part) {
            break;
        }
    }
    let electron = max(part * energy - ELECTRON_MASS, 0.0);
    let positron = max(energy - 2.0 * ELECTRON_MASS - electron, 0.0);
    let around = circle(draw(draws));
    let one_way = turned(direction, narrow_angle(electron, draws), around);
    let other_way = turned(direction, narrow_angle(positron, draws), -around);
    let after = (*effect).after;
    var made = child(track, after, 1u, POSITRON, other_way, positron);
    become_(child(track, after, 0u, ELECTRON, one_way, electron), effect);
    // One that has stopped at once is there as well.
    if positron <= params.stop {
        (*effect).deposited += positron;
        made.kinetic = 0.0;
    }
    (*effect).secondary = made;
    (*effect).has_secondary = 1u;
}

// Two photons back to back.
fn annihilation(track: Track, draws: ptr<function, Draws>, effect: ptr<function, Effect>) {
    let cosine = 2.0 * draw(draws) - 1.0;
    let sine = sqrt((1.0 - cosine) * (1.0 + cosine));
    let around = circle(draw(draws));
    let direction = vec3<f32>(sine * around, cosine);
    let after = (*effect).after;
    let other = child(track, after, 1u, PHOTON, -direction, ELECTRON_MASS);
    become_(child(track, after, 0u, PHOTON, direction, ELECTRON_MASS), effect);
    emit(other, effect);
}

fn unit(vector: vec3<f32>, other: vec3<f32>) -> vec3<f32> {
    let square = dot(vector, vector);
    if square > 0.0 {
        return inverseSqrt(square) * vector;
    }
    return other;
}

// A direction turned away from another one, by an angle of a cosine and sine, to a side.
fn turned(start: vec3<f32>, angle: vec2<f32>, around: vec2<f32>) -> vec3<f32> {
    let across2 = dot(start.xy, start.xy);
    let side = angle.y * around;
    var found = vec3<f32>(side, angle.x);
    if across2 > 1e-10 {
        let across = sqrt(across2);
        found = vec3<f32>(
            (start.x * start.z * side.x - start.y * side.y) / across + start.x * angle.x,
            (start.y * start.z * side.x + start.x * side.y) / across + start.y * angle.x,
            start.z * angle.x - across * side.x,
        );
    } else if start.z < 0.0 {
        found = vec3<f32>(-side.x, side.y, -angle.x);
    }
    return unit(found, start);
}

// Cosine and sine of a part of a whole turn, from series. The accuracy of a GPU's own functions is
// only 1e-3.
fn circle(part: f32) -> vec2<f32> {
    let quarters = 4.0 * part;
    let quarter = min(floor(quarters), 3.0);
    let angle = (quarters - quarter - 0.5) * 1.5707963267948966;
    let x = angle * angle;
    let cosine = 1.0
        + x * (-1.0 / 2.0 + x * (1.0 / 24.0 + x * (-1.0 / 720.0 + x * (1.0 / 40320.0 + x * (-1.0 / 3628800.0)))));
    let sine = angle * (1.0
        + x * (-1.0 / 6.0 + x * (1.0 / 120.0 + x * (-1.0 / 5040.0 + x * (1.0 / 362880.0 + x * (-1.0 / 39916800.0))))));
    let a = 0.7071067811865476 * (cosine - sine);
    let b = 0.7071067811865476 * (cosine + sine);
    if quarter < 1.0 {
        return vec2<f32>(a, b);
    }
    if quarter < 2.0 {
        return vec2<f32>(-b, a);
    }
    if quarter < 3.0 {
        return vec2<f32>(-a, -b);
    }
    return vec2<f32>(b, -a);
}
