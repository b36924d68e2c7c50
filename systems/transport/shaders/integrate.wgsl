// Paths of charged particles in a field: Runge and Kutta's fourth order, with steps halved and
// lengths controlled. Lengths in mm, momenta in MeV/c, charges in units of the positron's.
// Needs: accuracy, field, and boundless or geometry.
// CPU twin: src/integrate.rs, whose lines these are.

// MeV/c that a charge of 1 gains across 1 mm at right angles to 1 T.
const BEND: f32 = 0.299792458;

struct State {
    place: vec3<f32>,
    momentum: vec3<f32>,
}

// Result of a path.
struct Path {
    state: State,
    length: f32,
    steps: u32, // including repeated ones
    crosses: u32, // not zero if it ends at a boundary
}

// How far beyond a boundary a path may end, and how near to one it is at it.
const TOLERANCE: f32 = 0.01;

// A step: its state after and in the middle, and how far it is from that in one piece.
struct Halved {
    end: State,
    middle: vec3<f32>,
    error: State,
}

// By bits: compilers may take comparisons with what is no number as they like.
fn is_a_number(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn slope(charge: f32, at: State) -> State {
    let inverse = inverseSqrt(dot(at.momentum, at.momentum));
    let force = cross(at.momentum, field_at(at.place));
    return State(inverse * at.momentum, (charge * BEND * inverse) * force);
}

fn ahead(start: State, h: f32, rate: State) -> State {
    return State(start.place + h * rate.place, start.momentum + h * rate.momentum);
}

// The classical fourth order, of a state whose slope is known.
fn once(charge: f32, start: State, first: State, h: f32) -> State {
    let half = 0.5 * h;
    let second = slope(charge, ahead(start, half, first));
    let third = slope(charge, ahead(start, half, second));
    let last = slope(charge, ahead(start, h, third));
    let sixth = h * (1.0 / 6.0);
    let place = first.place + last.place + 2.0 * (second.place + third.place);
    let momentum = first.momentum + last.momentum + 2.0 * (second.momentum + third.momentum);
    return State(start.place + sixth * place, start.momentum + sixth * momentum);
}

fn in_halves(charge: f32, start: State, h: f32) -> Halved {
    let first = slope(charge, start);
    let half = 0.5 * h;
    let middle = once(charge, start, first, half);
    let end = once(charge, middle, slope(charge, middle), half);
    let whole = once(charge, start, first, h);
    let error = State(end.place - whole.place, end.momentum - whole.momentum);
    // Richardson: the error of two halves is a fifteenth of what is between them and the whole.
    return Halved(ahead(end, 1.0 / 15.0, error), middle.place, error);
}

// A step in one piece: four fields.
fn plain_step(charge: f32, start: State, length: f32) -> State {
    return once(charge, start, slope(charge, start), length);
}

// A step of two halves, and what a step in one piece says of their error taken off: eleven fields.
fn halved_step(charge: f32, start: State, length: f32) -> State {
    return in_halves(charge, start, length).end;
}

// How far a point is from the line through two others.
fn from_chord(start: vec3<f32>, end: vec3<f32>, point: vec3<f32>) -> f32 {
    let chord = end - start;
    let side = point - start;
    let square = dot(chord, chord);
    var along = 0.0;
    if square > 0.0 {
        along = dot(chord, side) / square;
    }
    return length(side - along * chord);
}

// Follows a path of a given length, or up to a boundary, in steps within the requested error and
// sagitta. A particle without charge goes straight. A particle whose momentum is zero or not a
// number stays.
fn follow(charge: f32, start: State, wanted: f32, accuracy: Accuracy) -> Path {
    let momentum = sqrt(dot(start.momentum, start.momentum));
    var path = Path(start, 0.0, 0u, 0u);
    let goes = momentum > 0.0 && is_a_number(momentum) && wanted > 0.0 && is_a_number(wanted);
    if !goes {
        return path;
    }
    if charge == 0.0 {
        let direction = (1.0 / momentum) * start.momentum;
        let distance = distance_ahead(start.place, direction);
        path.length = min(wanted, distance);
        path.state.place = start.place + path.length * direction;
        path.crosses = select(0u, 1u, distance <= wanted);
        return path;
    }
    let least = accuracy.least_step;
    var next = wanted;
    while path.length < wanted && path.steps < accuracy.steps {
        path.steps += 1u;
        let left = wanted - path.length;
        // A rest of zero, up to rounding, ends the path.
        let h = select(left, next, next < left);
        let made = in_halves(charge, path.state, h);
        let relative = min(max(accuracy.step_error / h, accuracy.relative.x), accuracy.relative.y);
        let place_bound = relative * max(h, least);
        let momentum_bound = relative * momentum;
        let of_place = dot(made.error.place, made.error.place) / (place_bound * place_bound);
        let of_momentum = dot(made.error.momentum, made.error.momentum) / (momentum_bound * momentum_bound);
        let error = sqrt(max(of_place, of_momentum));
        let sagitta = from_chord(path.state.place, made.end.place, made.middle);
        let may_be_less = h > least;
        if may_be_less && error > 1.0 {
            next = max(h * max(0.9 * pow(error, -0.25), 0.1), least);
            continue;
        }
        if may_be_less && sagitta > accuracy.sagitta {
            next = max(0.98 * h * sqrt(accuracy.sagitta / sagitta), least);
            continue;
        }
        let chord = made.end.place - path.state.place;
        let reach = sqrt(dot(chord, chord));
        let distance = distance_ahead(path.state.place, (1.0 / reach) * chord);
        let beyond = reach - distance;
        if beyond > 0.0 && distance <= TOLERANCE {
            path.crosses = 1u;
            return path;
        }
        if beyond > TOLERANCE {
            // A little beyond, so that the next one need not be aimed again.
            next = h * ((distance + 0.5 * TOLERANCE) / reach);
            continue;
        }
        path.state = made.end;
        path.length = select(path.length + h, wanted, h == left);
        if beyond > 0.0 {
            path.crosses = 1u;
            return path;
        }
        var more = 5.0;
        if error > 0.0 {
            more = 0.9 * pow(error, -0.2);
        }
        next = max(h * min(more, 5.0), least);
    }
    return path;
}
