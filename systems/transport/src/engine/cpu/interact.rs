//! The second half of a step: the energy loss and scattering along it, and the process at its end.
//! Shader: interact.wgsl, whose lines these are.

use super::step_length::momentum;
use crate::geometry::Cell;
use crate::number::{Number, Vector, dot, minus, times};
use crate::philox::Draws;
use crate::physics::ELECTRON_MASS;
use crate::track::{Kind, Process, Track, TrackStatus, child_of};
use crate::world::World;

/// The first random number of processes; earlier numbers choose the step.
pub(crate) const FIRST_DRAW: u32 = 4;
/// The first random number of scattering.
pub(crate) const SCATTER_DRAW: u32 = 1 << 20;
/// The largest number of rejected samples: constant random numbers would be rejected for ever.
pub(crate) const TRIES: u32 = 32;
/// A larger relative loss is computed from ranges.
pub(crate) const SMALL_LOSS: f64 = 0.01;

/// The result of a step, which may still be discarded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effect<T> {
    /// The track after it, or its successor in the same slot; otherwise vacant.
    pub(crate) after: Track<T>,
    /// A track that needs a slot of its own.
    pub(crate) secondary: Option<Track<T>>,
    /// The energy that stays at the end of the step \[MeV\].
    pub(crate) deposited: T,
    /// The energy that leaves the world \[MeV\].
    pub(crate) escaped: T,
    /// The energy of an abandoned track \[MeV\].
    pub(crate) abandoned: T,
}

/// Computes the result of a step of a track.
pub(crate) fn interact<T: Number>(world: &World<T>, track: &Track<T>) -> Effect<T> {
    let zero = T::of(0.0);
    let mut effect = Effect {
        after: Track { status: TrackStatus::Alive, ..*track },
        secondary: None,
        deposited: zero,
        escaped: zero,
        abandoned: zero,
    };
    effect.after.steps += 1;
    if track.kind != Kind::Photon && track.material > 0 && track.step > zero {
        let loss = loss(world, track);
        effect.deposited = loss;
        effect.after.kinetic = track.kinetic - loss;
        effect.settle(world);
        if world.scatters && effect.after.kinetic > zero {
            effect.after.direction = scattered(world, track);
        }
    }
    if effect.after.status == TrackStatus::Alive && track.cell == Cell::OUTSIDE {
        effect.escaped = T::of(effect.after.energy());
        effect.after.status = TrackStatus::Vacant;
    }
    if effect.after.status == TrackStatus::Alive {
        let mut event = Event {
            world,
            number: track.number,
            steps: track.steps,
            draws: world.random.draws(track.number, track.steps).from(FIRST_DRAW),
            effect: &mut effect,
        };
        event.happen(track.process);
    }
    let is_looper = world.most_loops > 0 && effect.after.loops >= world.most_loops;
    if effect.after.status == TrackStatus::Alive && (effect.after.steps >= world.most_steps || is_looper) {
        effect.abandoned = T::of(effect.after.energy());
        effect.after.status = TrackStatus::Vacant;
    }
    effect
}

/// The energy loss of an electron or positron along its step \[MeV\].
fn loss<T: Number>(world: &World<T>, track: &Track<T>) -> T {
    let zero = T::of(0.0);
    let tables = world.tables(track.material);
    let [.., dedx, range] = tables.of_electron(track.kinetic);
    let loss = track.step * dedx;
    if loss <= T::of(SMALL_LOSS) * track.kinetic {
        return loss;
    }
    let left = range.exp() - track.step;
    let kept = if left > zero { tables.energy_of_range(left.ln()) } else { zero };
    (track.kinetic - kept).most(zero).least(track.kinetic)
}

/// The direction after multiple scattering along a step: Highland's width in each of two planes, of
/// the momentum before the step.
fn scattered<T: Number>(world: &World<T>, track: &Track<T>) -> Vector<T> {
    let mut draws = world.random.draws(track.number, track.steps).from(SCATTER_DRAW);
    let mut draw = || T::of(f64::from(draws.uniform()));
    let [zero, one, two] = [0.0, 1.0, 2.0].map(T::of);
    let thickness = track.step / world.tables(track.material).radiation_length;
    let p = momentum(track.kinetic);
    let beta = p / (track.kinetic + T::of(ELECTRON_MASS));
    let correction = (one + T::of(0.038) * (thickness / (beta * beta)).ln()).most(zero);
    let width = T::of(13.6) / (beta * p) * thickness.root() * correction;
    // The radius of two Gaussian angles, taken as twice the sine of half of the angle: no angle is
    // beyond pi.
    let half = (T::of(0.5) * width * (-two * draw().ln()).root()).least(one);
    let cos = one - two * half * half;
    turned(track.direction, cos, two * half * (one - half * half).root(), circle(draw()))
}

impl<T: Number> Effect<T> {
    /// An electron or positron that has too little energy leaves it here. The positron is still
    /// there.
    fn settle(&mut self, world: &World<T>) {
        if self.after.kind != Kind::Photon && self.after.kinetic <= world.stop {
            self.deposited = self.deposited + self.after.kinetic;
            self.after.kinetic = T::of(0.0);
            if self.after.kind == Kind::Electron {
                self.after.status = TrackStatus::Vacant;
            }
        }
    }
}

/// A process that happens.
struct Event<'a, T> {
    world: &'a World<T>,
    /// Of the track that it happens to.
    number: u64,
    steps: u32,
    draws: Draws,
    effect: &'a mut Effect<T>,
}

impl<T: Number> Event<'_, T> {
    fn happen(&mut self, process: Process) {
        match process {
            Process::Bremsstrahlung => self.bremsstrahlung(),
            Process::Moller => self.moller(),
            Process::Compton => self.compton(),
            Process::Pair => self.pair(),
            Process::Photoelectric => self.photoelectric(),
            Process::Annihilation => self.annihilation(),
            Process::Nothing | Process::Vacant => {}
        }
    }

    fn draw(&mut self) -> T {
        T::of(f64::from(self.draws.uniform()))
    }

    /// Another track from here.
    fn child(&self, which: u32, kind: Kind, direction: Vector<T>, kinetic: T) -> Track<T> {
        let number = child_of(self.number, self.steps, which, self.world.random);
        Track { number, kind, direction, kinetic, steps: 0, loops: 0, status: TrackStatus::Alive, ..self.effect.after }
    }

    /// One that needs a slot, if it has energy enough to be followed.
    fn emit(&mut self, child: Track<T>) {
        let least = match child.kind {
            Kind::Photon => self.world.photon_cut,
            Kind::Electron => self.world.stop,
            // It is still there when it has stopped.
            Kind::Positron => T::of(-1.0),
        };
        if child.kinetic <= least {
            self.effect.deposited = self.effect.deposited + child.kinetic;
        } else {
            self.effect.secondary = Some(child);
        }
    }

    /// One in place of the track.
    fn become_(&mut self, child: Track<T>) {
        self.effect.after = child;
        if child.kind == Kind::Photon && child.kinetic <= self.world.photon_cut {
            self.effect.deposited = self.effect.deposited + child.kinetic;
            self.effect.after.status = TrackStatus::Vacant;
        }
        self.effect.settle(self.world);
    }

    /// Cosine and sine of the angle at which electrons of a kinetic energy radiate, and pairs are
    /// made: Tsai's, as the Geant4 Physics Reference Manual simplifies it.
    fn narrow_angle(&mut self, kinetic: T) -> (T, T) {
        let [one, two] = [1.0, 2.0].map(T::of);
        let most = two * (one + kinetic / T::of(ELECTRON_MASS));
        let mut u = most;
        for _ in 0..TRIES {
            let [a, b, c] = [self.draw(), self.draw(), self.draw()];
            let sum = -(a * b).ln();
            u = sum * T::of(if c < T::of(0.25) { 1.6 } else { 1.6 / 3.0 });
            if u <= most {
                break;
            }
        }
        let part = u.least(most) / most;
        let square = part * part;
        (one - two * square, two * part * (one - square).most(T::of(0.0)).root())
    }

    fn bremsstrahlung(&mut self) {
        let (kinetic, direction, cut) = (self.effect.after.kinetic, self.effect.after.direction, self.world.photon_cut);
        if kinetic <= cut {
            return;
        }
        let [one, three_quarters] = [1.0, 0.75].map(T::of);
        let logarithm = (kinetic / cut).ln();
        let mut energy = cut;
        for _ in 0..TRIES {
            energy = (cut * (self.draw() * logarithm).exp()).least(kinetic);
            let part = energy / kinetic;
            if self.draw() <= one - part + three_quarters * part * part {
                break;
            }
        }
        let (cos, sin) = self.narrow_angle(kinetic);
        let around = circle(self.draw());
        let towards = turned(direction, cos, sin, around);
        self.effect.after.direction =
            unit(minus(times(momentum(kinetic), direction), times(energy, towards)), direction);
        self.effect.after.kinetic = kinetic - energy;
        self.emit(self.child(0, Kind::Photon, towards, energy));
        self.effect.settle(self.world);
    }

    fn moller(&mut self) {
        let (kinetic, direction, cut) =
            (self.effect.after.kinetic, self.effect.after.direction, self.world.electron_cut);
        let [one, two, half] = [1.0, 2.0, 0.5].map(T::of);
        if kinetic <= two * cut {
            return;
        }
        let gamma = kinetic / T::of(ELECTRON_MASS) + one;
        let g = (two * gamma - one) / (gamma * gamma);
        let shape = |x: T| {
            let y = one - x;
            one - g * x + x * x * (one - g + (one - g * y) / (y * y))
        };
        let (low, most) = (cut / kinetic, shape(half));
        let mut x = low;
        for _ in 0..TRIES {
            let q = self.draw();
            x = low * half / (low * (one - q) + half * q);
            if most * self.draw() <= shape(x) {
                break;
            }
        }
        let energy = x * kinetic;
        let (before, knocked) = (momentum(kinetic), momentum(energy));
        let cos = (energy * (kinetic + T::of(2.0 * ELECTRON_MASS)) / (knocked * before)).least(one);
        let around = circle(self.draw());
        let towards = turned(direction, cos, ((one - cos) * (one + cos)).root(), around);
        self.effect.after.direction = unit(minus(times(before, direction), times(knocked, towards)), direction);
        self.effect.after.kinetic = kinetic - energy;
        self.emit(self.child(0, Kind::Electron, towards, energy));
        self.effect.settle(self.world);
    }

    fn compton(&mut self) {
        let (energy, direction) = (self.effect.after.kinetic, self.effect.after.direction);
        let [zero, one, two] = [0.0, 1.0, 2.0].map(T::of);
        let k = energy / T::of(ELECTRON_MASS);
        let least = one / (one + two * k);
        let (log, flat) = (-least.ln(), T::of(0.5) * (one - least * least));
        let (mut part, mut turn) = (one, zero);
        for _ in 0..TRIES {
            let [a, b, c] = [self.draw(), self.draw(), self.draw()];
            part = if a * (log + flat) < log {
                (-(b * log)).exp()
            } else {
                (least * least + (one - least * least) * b).root()
            };
            // 1 - cos.
            turn = ((one - part) / (k * part)).least(two);
            let sin2 = turn * (two - turn);
            if c <= one - part * sin2 / (one + part * part) {
                break;
            }
        }
        let around = circle(self.draw());
        let towards = turned(direction, one - turn, (turn * (two - turn)).root(), around);
        let scattered = part * energy;
        let knocked = energy - scattered;
        let recoil = unit(minus(times(energy, direction), times(scattered, towards)), direction);
        self.effect.after.direction = towards;
        self.effect.after.kinetic = scattered;
        if scattered <= self.world.photon_cut {
            self.effect.deposited = self.effect.deposited + scattered;
            self.effect.after.status = TrackStatus::Vacant;
        }
        self.emit(self.child(0, Kind::Electron, recoil, knocked));
    }

    fn pair(&mut self) {
        let (energy, direction) = (self.effect.after.kinetic, self.effect.after.direction);
        let [zero, one, mass] = [0.0, 1.0, ELECTRON_MASS].map(T::of);
        if energy <= T::of(2.0) * mass {
            return;
        }
        let least = mass / energy;
        let mut part = T::of(0.5);
        for _ in 0..TRIES {
            part = least + (one - T::of(2.0) * least) * self.draw();
            if self.draw() <= one - T::of(4.0 / 3.0) * part * (one - part) {
                break;
            }
        }
        let electron = (part * energy - mass).most(zero);
        let positron = (energy - T::of(2.0) * mass - electron).most(zero);
        let (c, s) = circle(self.draw());
        let (cos, sin) = self.narrow_angle(electron);
        let one_way = turned(direction, cos, sin, (c, s));
        let (cos, sin) = self.narrow_angle(positron);
        let other_way = turned(direction, cos, sin, (-c, -s));
        let made = self.child(1, Kind::Positron, other_way, positron);
        self.become_(self.child(0, Kind::Electron, one_way, electron));
        self.emit_positron(made);
    }

    /// One that has stopped at once is there as well.
    fn emit_positron(&mut self, mut positron: Track<T>) {
        if positron.kinetic <= self.world.stop {
            self.effect.deposited = self.effect.deposited + positron.kinetic;
            positron.kinetic = T::of(0.0);
        }
        self.effect.secondary = Some(positron);
    }

    /// An electron in the photon's direction gets all of the energy. The binding energy is not
    /// subtracted.
    fn photoelectric(&mut self) {
        let after = self.effect.after;
        self.become_(self.child(0, Kind::Electron, after.direction, after.kinetic));
    }

    /// Two photons back to back.
    fn annihilation(&mut self) {
        let [one, two] = [1.0, 2.0].map(T::of);
        let cos = two * self.draw() - one;
        let sin = ((one - cos) * (one + cos)).root();
        let (c, s) = circle(self.draw());
        let direction = [sin * c, sin * s, cos];
        let mass = T::of(ELECTRON_MASS);
        let other = self.child(1, Kind::Photon, times(-one, direction), mass);
        self.become_(self.child(0, Kind::Photon, direction, mass));
        self.emit(other);
    }
}

/// A vector by its length; the other one if it has none.
fn unit<T: Number>(vector: Vector<T>, other: Vector<T>) -> Vector<T> {
    let length = dot(vector, vector).root();
    if length > T::of(0.0) { times(T::of(1.0) / length, vector) } else { other }
}

/// A direction turned away from another one, by an angle of a cosine and sine, to a side.
fn turned<T: Number>(from: Vector<T>, cos: T, sin: T, (c, s): (T, T)) -> Vector<T> {
    let [x, y, z] = from;
    let across2 = x * x + y * y;
    let (a, b) = (sin * c, sin * s);
    let found = if across2 > T::of(1e-10) {
        let across = across2.root();
        [(x * z * a - y * b) / across + x * cos, (y * z * a + x * b) / across + y * cos, z * cos - across * a]
    } else if z < T::of(0.0) {
        [-a, b, -cos]
    } else {
        [a, b, cos]
    };
    unit(found, from)
}

/// Cosine and sine of a part of a whole turn, from series. The accuracy of a GPU's own functions is
/// only 1e-3.
fn circle<T: Number>(part: T) -> (T, T) {
    let quarters = T::of(4.0) * part;
    let quarter = quarters.down().least(T::of(3.0));
    // From the middle of the quarter, an eighth of a turn to either side.
    let angle = (quarters - quarter - T::of(0.5)) * T::of(std::f64::consts::FRAC_PI_2);
    let x = angle * angle;
    let series = |terms: [f64; 6]| terms.iter().rev().fold(T::of(0.0), |sum, &term| sum * x + T::of(term));
    let cos = series([1.0, -1.0 / 2.0, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0]);
    let sin = angle * series([1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0]);
    let eighth = T::of(std::f64::consts::FRAC_1_SQRT_2);
    let (a, b) = (eighth * (cos - sin), eighth * (cos + sin));
    // The quarter's middle is at 45 degrees and so many quarters.
    match Into::<f64>::into(quarter) as u32 {
        0 => (a, b),
        1 => (-b, a),
        2 => (-a, -b),
        _ => (b, -a),
    }
}
