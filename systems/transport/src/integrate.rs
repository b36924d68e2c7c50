//! Paths of charged particles in a field: Runge and Kutta's fourth order, with steps halved and
//! lengths controlled, as in the prototype.
//!
//! Lengths in mm, momenta in MeV/c, charges in units of the positron's.

use crate::error::{Error, Result};
use crate::field::Field;
use crate::number::{Number, Vector, cross, dot, minus, plus, times};

/// MeV/c that a charge of 1 gains across 1 mm at right angles to 1 T: the speed of light in mm/ns,
/// over 1000.
pub(crate) const BEND: f64 = 0.299_792_458;

/// The position and the momentum of a particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State<T> {
    /// x, y, z \[mm\].
    pub place: Vector<T>,
    /// The momentum \[MeV/c\].
    pub momentum: Vector<T>,
}

/// The accuracy of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The shortest step of the driver \[mm\]. It is accepted whatever its error.
    pub least_step: f64,
    /// The error of a step \[mm\], which determines the relative error.
    pub step_error: f64,
    /// The bounds of the relative error of a step.
    pub relative: [f64; 2],
    /// The largest distance between the middle of a step and its chord \[mm\].
    pub sagitta: f64,
    /// The largest number of steps.
    pub steps: u32,
}

impl Default for Accuracy {
    /// Returns the accuracy of the prototype.
    fn default() -> Self {
        Self { least_step: 1.0, step_error: 0.01, relative: [5e-5, 1e-3], sagitta: 0.25, steps: 62 }
    }
}

impl Accuracy {
    /// Checks the values.
    ///
    /// # Errors
    /// [`Error::Options`] if they are invalid.
    pub fn check(&self) -> Result<()> {
        let &Self { least_step, step_error, relative: [low, high], sagitta, steps } = self;
        let is_above_0 = |x: f64| x.is_finite() && x > 0.0;
        if ![least_step, step_error, low, high, sagitta].into_iter().all(is_above_0) || low > high || steps == 0 {
            let what = format!(
                "accuracy: least step {least_step} mm, step error {step_error} mm, relative error {low} to {high}, \
                 sagitta {sagitta} mm, {steps} steps: numbers above 0, bounds that rise and one step at least are wanted"
            );
            return Err(Error::Options { what });
        }
        Ok(())
    }
}

/// The end of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path<T> {
    /// The state at the end.
    pub state: State<T>,
    /// The length \[mm\]. It is shorter than requested if there were too many steps.
    pub length: T,
    /// The number of steps, repeated ones included.
    pub steps: u32,
}

/// A step of the driver before the next: its state after and in the middle, and how far it is from
/// that in one piece.
struct Step<T> {
    end: State<T>,
    middle: Vector<T>,
    error: State<T>,
}

fn slope<T: Number>(field: &impl Field<T>, charge: T, at: State<T>) -> State<T> {
    let inverse = T::of(1.0) / dot(at.momentum, at.momentum).root();
    let force = cross(at.momentum, field.at(at.place));
    State { place: times(inverse, at.momentum), momentum: times(charge * T::of(BEND) * inverse, force) }
}

fn ahead<T: Number>(from: State<T>, h: T, slope: State<T>) -> State<T> {
    State { place: plus(from.place, times(h, slope.place)), momentum: plus(from.momentum, times(h, slope.momentum)) }
}

/// The classical fourth order, of a state whose slope is known.
fn once<T: Number>(field: &impl Field<T>, charge: T, from: State<T>, first: State<T>, h: T) -> State<T> {
    let half = h * T::of(0.5);
    let second = slope(field, charge, ahead(from, half, first));
    let third = slope(field, charge, ahead(from, half, second));
    let last = slope(field, charge, ahead(from, h, third));
    let [two, sixth] = [T::of(2.0), h / T::of(6.0)];
    let sum = |a: Vector<T>, b: Vector<T>, c: Vector<T>, d: Vector<T>| plus(plus(a, d), times(two, plus(b, c)));
    State {
        place: plus(from.place, times(sixth, sum(first.place, second.place, third.place, last.place))),
        momentum: plus(
            from.momentum,
            times(sixth, sum(first.momentum, second.momentum, third.momentum, last.momentum)),
        ),
    }
}

fn in_halves<T: Number>(field: &impl Field<T>, charge: T, from: State<T>, h: T) -> Step<T> {
    let first = slope(field, charge, from);
    let half = h * T::of(0.5);
    let middle = once(field, charge, from, first, half);
    let end = once(field, charge, middle, slope(field, charge, middle), half);
    let whole = once(field, charge, from, first, h);
    let error = State { place: minus(end.place, whole.place), momentum: minus(end.momentum, whole.momentum) };
    // Richardson: the error of two halves is a fifteenth of what is between them and the whole.
    let part = T::of(1.0 / 15.0);
    let end = State {
        place: plus(end.place, times(part, error.place)),
        momentum: plus(end.momentum, times(part, error.momentum)),
    };
    Step { end, middle: middle.place, error }
}

/// Makes one classical fourth-order Runge-Kutta step of a length \[mm\]. It evaluates four fields;
/// [`step`] evaluates eleven.
#[must_use]
pub fn plain_step<T: Number>(field: &impl Field<T>, charge: T, from: State<T>, length: T) -> State<T> {
    once(field, charge, from, slope(field, charge, from), length)
}

/// Makes one step of a length \[mm\] as two half steps, corrected by the error estimate from a step
/// in one piece.
#[must_use]
pub fn step<T: Number>(field: &impl Field<T>, charge: T, from: State<T>, length: T) -> State<T> {
    in_halves(field, charge, from, length).end
}

/// How far a point is from the line through two others.
fn from_chord<T: Number>(from: Vector<T>, to: Vector<T>, point: Vector<T>) -> T {
    let (chord, side) = (minus(to, from), minus(point, from));
    let length = dot(chord, chord);
    let zero = T::of(0.0);
    let along = if length > zero { dot(chord, side) / length } else { zero };
    let off = minus(side, times(along, chord));
    dot(off, off).root()
}

/// Follows a path of a length \[mm\] in steps that satisfy the bounds on error and sagitta.
///
/// A particle without charge moves straight. A particle without momentum stays.
#[must_use]
pub fn follow<T: Number>(field: &impl Field<T>, charge: T, from: State<T>, length: T, accuracy: &Accuracy) -> Path<T> {
    follow_to_boundary(field, charge, from, length, accuracy, |_, _| T::of(1e30)).0
}

/// How far beyond a boundary a path may end, and how near to one it is at it \[mm\].
pub(crate) const TOLERANCE: f64 = 0.01;

/// Follows a path as [`follow`] does, up to a boundary. `ahead` returns the distance to the
/// boundary from a place in a direction. Returns also whether the path ends there.
pub(crate) fn follow_to_boundary<T: Number>(
    field: &impl Field<T>,
    charge: T,
    from: State<T>,
    length: T,
    accuracy: &Accuracy,
    ahead: impl Fn(Vector<T>, Vector<T>) -> T,
) -> (Path<T>, bool) {
    let [zero, one] = [0.0, 1.0].map(T::of);
    let momentum = dot(from.momentum, from.momentum).root();
    let mut path = Path { state: from, length: zero, steps: 0 };
    // A particle whose numbers are NaN stays.
    let goes = momentum > zero && momentum.is_a_number() && length > zero && length.is_a_number();
    if !goes {
        return (path, false);
    }
    if charge == zero {
        let direction = times(one / momentum, from.momentum);
        let distance = ahead(from.place, direction);
        path.length = length.least(distance);
        path.state.place = plus(from.place, times(path.length, direction));
        return (path, distance <= length);
    }
    let [least, tolerance] = [accuracy.least_step, TOLERANCE].map(T::of);
    let [low, high] = accuracy.relative.map(T::of);
    let mut next = length;
    while path.length < length && path.steps < accuracy.steps {
        path.steps += 1;
        let left = length - path.length;
        // A rest of zero, up to rounding, ends the path.
        let h = if next < left { next } else { left };
        let made = in_halves(field, charge, path.state, h);
        let relative = (T::of(accuracy.step_error) / h).most(low).least(high);
        let of_place = dot(made.error.place, made.error.place) / square(relative * h.most(least));
        let of_momentum = dot(made.error.momentum, made.error.momentum) / square(relative * momentum);
        let error = of_place.most(of_momentum).root();
        let sagitta = from_chord(path.state.place, made.end.place, made.middle);
        let may_be_less = h > least;
        if may_be_less && error > one {
            let less = T::of(0.9) * error.power(T::of(-0.25));
            next = (h * less.most(T::of(0.1))).most(least);
            continue;
        }
        if may_be_less && sagitta > T::of(accuracy.sagitta) {
            next = (T::of(0.98) * h * (T::of(accuracy.sagitta) / sagitta).root()).most(least);
            continue;
        }
        let chord = minus(made.end.place, path.state.place);
        let reach = dot(chord, chord).root();
        let distance = ahead(path.state.place, times(one / reach, chord));
        let crosses = distance < reach;
        if crosses && distance <= tolerance {
            return (path, true);
        }
        if crosses && reach - distance > tolerance {
            // A little beyond, so that the next one need not be aimed again.
            next = h * ((distance + T::of(0.5) * tolerance) / reach);
            continue;
        }
        path.state = made.end;
        path.length = if h == left { length } else { path.length + h };
        if crosses {
            return (path, true);
        }
        let more = if error > zero { T::of(0.9) * error.power(T::of(-0.2)) } else { T::of(5.0) };
        next = (h * more.least(T::of(5.0))).most(least);
    }
    (path, false)
}

fn square<T: Number>(x: T) -> T {
    x * x
}
