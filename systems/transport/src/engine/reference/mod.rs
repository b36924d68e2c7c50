//! The reference engine: track by track in f64, on one core, written from the specification. It
//! shares no stage with the other engines, only the definitions of their input and output, the
//! random numbers, and the cross sections of atoms. They are checked against it.

mod path;
mod rates;
mod world;

use self::path::{Stop, propagate};
use self::rates::{MASS, Table};
use self::world::Places;
use super::ended::{Ended, Status, Tally};
use crate::deposits::Grid;
use crate::geometry::Cell;
use crate::philox::{Draws, Random, philox4x32};
use crate::track::{Kind, Process, Track, TrackStatus};
use crate::world::{Scattering, Settings};

type V = [f64; 3];

fn dot(a: V, b: V) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn unit(a: V) -> V {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}

fn momentum(kinetic: f64) -> f64 {
    ((kinetic + MASS).powi(2) - MASS * MASS).sqrt()
}

struct Reference<'a> {
    settings: &'a Settings,
    grid: &'a Grid,
    places: Places,
    tables: Vec<Table>,
    tally: Tally,
    /// Tracks of the next iteration.
    next: Vec<Track<f64>>,
}

/// Makes at most `iterations` steps of all tracks.
pub(crate) fn run(settings: &Settings, grid: &Grid, tracks: &[Track<f64>], primaries: usize, iterations: u32) -> Ended {
    let scores = primaries * settings.scored_materials();
    let deposits = vec![0; grid.bins[0] * grid.bins[1] + 1 + scores];
    let materials = &settings.geometry.materials;
    let photons = rates::photon_nodes(materials);
    let mut reference = Reference {
        settings,
        grid,
        places: Places::new(&settings.geometry),
        tables: materials.iter().map(|material| Table::new(material, &settings.cuts, &photons)).collect(),
        tally: Tally { deposits, ..Tally::default() },
        next: Vec::new(),
    };
    let (mut left, mut slots, mut made) = (tracks.to_vec(), tracks.len(), 0);
    while made < iterations && !left.is_empty() {
        for track in left {
            reference.step(track);
        }
        left = std::mem::take(&mut reference.next);
        slots = slots.max(left.len());
        made += 1;
    }
    let status = if left.is_empty() { Status::Finished } else { Status::StepsMade };
    Ended { status, tally: reference.tally, left, iterations: made, slots }
}

/// Units of 2^-20 MeV.
fn units(energy: f64) -> u64 {
    (energy * 1_048_576.0) as u64
}

impl Reference<'_> {
    fn step(&mut self, mut track: Track<f64>) {
        let before = track;
        track.material = self.places.material(track.cell);
        track.process = Process::Nothing;
        track.step = 1e4;
        if track.kind == Kind::Positron && track.kinetic == 0.0 {
            (track.process, track.step, track.loops) = (Process::Annihilation, 0.0, 0);
        } else {
            if track.material > 0 {
                self.choose(&mut track);
            }
            self.travel(&mut track, before.loops);
        }
        self.tally.processes[track.process as usize] += 1;
        self.finish(track);
    }

    /// Each process has an exponential path. The shortest one happens, or none within a fifth of
    /// the range.
    fn choose(&self, track: &mut Track<f64>) {
        let table = &self.tables[track.material as usize - 1];
        let cuts = &self.settings.cuts;
        let mut draws = self.settings.random.draws(track.number, track.steps);
        let rates = match track.kind {
            Kind::Photon => {
                let [compton, pair, photoelectric] = table.photon(track.kinetic);
                let pair = if track.kinetic > 2.0 * MASS { pair } else { 0.0 };
                vec![(Process::Compton, compton), (Process::Pair, pair), (Process::Photoelectric, photoelectric)]
            }
            Kind::Electron | Kind::Positron => {
                let [radiates, knocks, ..] = table.electron(track.kinetic);
                let radiates = if track.kinetic > cuts.photon { radiates } else { 0.0 };
                let knocks = if track.kinetic > 2.0 * cuts.electron { knocks } else { 0.0 };
                vec![(Process::Bremsstrahlung, radiates), (Process::Moller, knocks)]
            }
        };
        for (process, rate) in rates {
            let length = -f64::from(draws.uniform()).ln() / rate;
            if length < track.step {
                (track.step, track.process) = (length, process);
            }
        }
        if track.kind != Kind::Photon {
            let range = table.range(track.kinetic);
            let bound = if range <= 1.0 { range } else { 0.2 * range + 0.8 * (2.0 - 1.0 / range) };
            if bound < track.step {
                (track.step, track.process) = (bound, Process::Nothing);
            }
        }
    }

    fn travel(&self, track: &mut Track<f64>, loops: u32) {
        let charge = track.kind.charge();
        let p = if charge == 0.0 { track.kinetic } else { momentum(track.kinetic) };
        let state = (track.place, track.direction.map(|u| u * p));
        let path = propagate(self.settings, &self.places, charge, track.cell, state, track.step);
        track.place = path.place;
        track.direction = unit(path.momentum);
        track.step = path.length;
        track.loops = 0;
        match path.stop {
            Stop::Length => {}
            Stop::Boundary(cell) => (track.cell, track.process) = (cell, Process::Nothing),
            Stop::TooManySteps => {
                track.process = Process::Nothing;
                if track.material == 0 {
                    track.loops = (loops + 1).min(255);
                }
            }
        }
    }

    /// The second half of a step: energy loss, scattering, escape, the process, and the limits of a
    /// track.
    fn finish(&mut self, track: Track<f64>) {
        let mut after = Track { steps: track.steps + 1, status: TrackStatus::Alive, ..track };
        if track.kind != Kind::Photon && track.material > 0 && track.step > 0.0 {
            let loss = self.tables[track.material as usize - 1].loss(track.kinetic, track.step);
            after.kinetic -= loss;
            self.deposit(&track, loss);
            if self.is_stopped(&track, &mut after) {
                return;
            }
            if self.settings.scattering == Scattering::Highland && after.kinetic > 0.0 {
                after.direction = self.scatter(&track);
            }
        }
        if track.cell == Cell::OUTSIDE {
            self.tally.escaped += units(after.energy());
            return;
        }
        let draws = self.settings.random.draws(track.number, track.steps).from(4);
        let mut event = Event { reference: self, track, after: Some(after), draws };
        event.happen();
        let Some(after) = event.after else { return };
        let Settings { most_steps, most_loops, .. } = *self.settings;
        if after.steps >= most_steps || (most_loops > 0 && after.loops >= most_loops) {
            self.tally.abandoned += units(after.energy());
        } else {
            self.next.push(after);
        }
    }

    /// A slow electron ends here. A slow positron stops, and annihilates in its next step.
    fn is_stopped(&mut self, track: &Track<f64>, after: &mut Track<f64>) -> bool {
        if after.kind == Kind::Photon || after.kinetic > self.settings.cuts.stop {
            return false;
        }
        self.deposit(track, after.kinetic);
        after.kinetic = 0.0;
        after.kind == Kind::Electron
    }

    fn deposit(&mut self, track: &Track<f64>, energy: f64) {
        let Grid { r, z, bins } = self.grid;
        let along = |x: f64, range: &[f64; 2], bins: usize| {
            let bin = ((x - range[0]) / (range[1] - range[0]) * bins as f64).floor();
            (bin >= 0.0 && bin < bins as f64).then_some(bin as usize)
        };
        let [x, y, at] = track.place;
        let outside = bins[0] * bins[1];
        let bin = along(x.hypot(y), r, bins[0]).zip(along(at, z, bins[1])).map(|(i, j)| i * bins[1] + j);
        self.tally.deposits[bin.unwrap_or(outside)] += units(energy);
        if self.settings.scores && track.material > 0 {
            let score = track.primary() * self.settings.geometry.materials.len() + track.material as usize;
            self.tally.deposits[outside + score] += units(energy);
        }
    }

    fn scatter(&self, track: &Track<f64>) -> V {
        let mut draws = self.settings.random.draws(track.number, track.steps).from(1 << 20);
        let thickness = track.step / self.settings.geometry.materials[track.material as usize - 1].radiation_length();
        let p = momentum(track.kinetic);
        let beta = p / p.hypot(MASS);
        let correction = 1.0 + 0.038 * (thickness / beta.powi(2)).ln();
        let width = 13.6 / (beta * p) * thickness.sqrt() * correction.max(0.0);
        let angle = width * (-2.0 * f64::from(draws.uniform()).ln()).sqrt();
        let half = (angle / 2.0).min(1.0).asin();
        deflect(track.direction, (2.0 * half).cos(), f64::from(draws.uniform()))
    }
}

/// Turns a direction by an angle of a cosine, around itself by a part of a turn.
fn deflect(axis: V, cos: f64, part: f64) -> V {
    let sin = ((1.0 - cos) * (1.0 + cos)).max(0.0).sqrt();
    let (s, c) = (std::f64::consts::TAU * part).sin_cos();
    let [u, v, w] = axis;
    let across = u.hypot(v);
    // Two unit vectors at right angles to the axis.
    let (e1, e2) = if across * across > 1e-10 {
        ([u * w / across, v * w / across, -across], [-v / across, u / across, 0.0])
    } else {
        ([w.signum(), 0.0, 0.0], [0.0, 1.0, 0.0])
    };
    unit([0, 1, 2].map(|i| sin * (c * e1[i] + s * e2[i]) + cos * axis[i]))
}

/// A process that happens to a track.
struct Event<'a, 'b> {
    reference: &'a mut Reference<'b>,
    /// At the end of its step.
    track: Track<f64>,
    /// None if it has ended.
    after: Option<Track<f64>>,
    draws: Draws,
}

/// Rejected samples are drawn so often at most.
const TRIES: usize = 32;

impl Event<'_, '_> {
    fn draw(&mut self) -> f64 {
        f64::from(self.draws.uniform())
    }

    fn happen(&mut self) {
        let Some(after) = self.after else { return };
        let (kinetic, direction) = (after.kinetic, after.direction);
        let cuts = self.reference.settings.cuts;
        match self.track.process {
            Process::Bremsstrahlung if kinetic > cuts.photon => self.radiate(after),
            Process::Moller if kinetic > 2.0 * cuts.electron => self.knock(after),
            Process::Compton => self.compton(after),
            Process::Pair if kinetic > 2.0 * MASS => self.pair(after),
            Process::Photoelectric => self.replace(Kind::Electron, direction, kinetic),
            Process::Annihilation => {
                let cos = 2.0 * self.draw() - 1.0;
                let direction = deflect([0.0, 0.0, 1.0], cos, self.draw());
                self.replace(Kind::Photon, direction, MASS);
                self.add(1, Kind::Photon, direction.map(|u| -u), MASS);
            }
            _ => {}
        }
    }

    fn number(&self, which: u32) -> u64 {
        let key = match self.reference.settings.random {
            Random::Seeded(seed) => !seed,
            Random::Constant => 0,
        };
        let (primary, low) = (self.track.number >> 32, self.track.number as u32);
        let words = philox4x32([which, self.track.steps, low, primary as u32], [key as u32, (key >> 32) as u32]);
        primary << 32 | u64::from(words[0])
    }

    fn child(&self, which: u32, kind: Kind, direction: V, kinetic: f64) -> Track<f64> {
        let status = TrackStatus::Alive;
        let number = self.number(which);
        Track { number, kind, status, direction, kinetic, steps: 0, loops: 0, ..self.track }
    }

    /// Adds a secondary, or deposits its energy if it is below the cut.
    fn add(&mut self, which: u32, kind: Kind, direction: V, kinetic: f64) {
        let cuts = self.reference.settings.cuts;
        let cut = if kind == Kind::Photon { cuts.photon } else { cuts.stop };
        self.reference.tally.secondaries += u64::from(kinetic > cut);
        if kinetic > cut {
            let child = self.child(which, kind, direction, kinetic);
            self.reference.next.push(child);
        } else {
            self.reference.deposit(&self.track, kinetic);
        }
    }

    /// Puts a secondary in place of the track.
    fn replace(&mut self, kind: Kind, direction: V, kinetic: f64) {
        let mut child = self.child(0, kind, direction, kinetic);
        let is_absorbed = kind == Kind::Photon && kinetic <= self.reference.settings.cuts.photon;
        if is_absorbed {
            self.reference.deposit(&self.track, kinetic);
        }
        let ends = is_absorbed || self.reference.is_stopped(&self.track, &mut child);
        self.after = (!ends).then_some(child);
    }

    /// Ends an interaction in which the track loses energy and recoils.
    fn recoil(&mut self, mut after: Track<f64>, lost: V, energy: f64) {
        let p = momentum(after.kinetic);
        let left = [0, 1, 2].map(|i| p * after.direction[i] - lost[i]);
        if dot(left, left) > 0.0 {
            after.direction = unit(left);
        }
        after.kinetic -= energy;
        let ends = self.reference.is_stopped(&self.track, &mut after);
        self.after = (!ends).then_some(after);
    }

    /// The angle of a photon or an electron of a pair: Tsai's, as the Geant4 Physics Reference
    /// Manual simplifies it.
    fn tsai(&mut self, kinetic: f64) -> f64 {
        let most = 2.0 * (kinetic / MASS + 1.0);
        let mut u = most;
        for _ in 0..TRIES {
            let [a, b, c] = [self.draw(), self.draw(), self.draw()];
            u = -(a * b).ln() * if c < 0.25 { 1.6 } else { 1.6 / 3.0 };
            if u <= most {
                break;
            }
        }
        1.0 - 2.0 * (u.min(most) / most).powi(2)
    }

    fn radiate(&mut self, after: Track<f64>) {
        let (total, cut) = (after.kinetic, self.reference.settings.cuts.photon);
        let mut k = cut;
        for _ in 0..TRIES {
            k = (cut * (total / cut).powf(self.draw())).min(total);
            let y = k / total;
            if self.draw() <= 1.0 - y + 0.75 * y * y {
                break;
            }
        }
        let cos = self.tsai(total);
        let photon = deflect(after.direction, cos, self.draw());
        self.recoil(after, photon.map(|u| k * u), k);
        self.add(0, Kind::Photon, photon, k);
    }

    fn knock(&mut self, after: Track<f64>) {
        let total = after.kinetic;
        let least = self.reference.settings.cuts.electron / total;
        let gamma = 1.0 + total / MASS;
        let weight = |x: f64| x * x * rates::moller(gamma, x);
        let mut x = least;
        for _ in 0..TRIES {
            let q = self.draw();
            // As 1 / x^2 between the bounds.
            x = 1.0 / (q / least + (1.0 - q) / 0.5);
            if weight(0.5) * self.draw() <= weight(x) {
                break;
            }
        }
        let energy = x * total;
        let p = momentum(energy);
        let cos = (energy * (total + 2.0 * MASS) / (momentum(total) * p)).min(1.0);
        let electron = deflect(after.direction, cos, self.draw());
        self.recoil(after, electron.map(|u| p * u), energy);
        self.add(0, Kind::Electron, electron, energy);
    }

    fn compton(&mut self, mut after: Track<f64>) {
        let energy = after.kinetic;
        let k = energy / MASS;
        let least = 1.0 / (1.0 + 2.0 * k);
        let weights = [-least.ln(), (1.0 - least * least) / 2.0];
        let (mut part, mut versine) = (1.0, 0.0);
        for _ in 0..TRIES {
            let [a, b, c] = [self.draw(), self.draw(), self.draw()];
            part = if a * (weights[0] + weights[1]) < weights[0] {
                least.powf(b)
            } else {
                (least * least + (1.0 - least * least) * b).sqrt()
            };
            versine = ((1.0 / part - 1.0) / k).min(2.0);
            if c <= 1.0 - part * versine * (2.0 - versine) / (1.0 + part * part) {
                break;
            }
        }
        let photon = deflect(after.direction, 1.0 - versine, self.draw());
        let scattered = part * energy;
        let knocked = [0, 1, 2].map(|i| energy * after.direction[i] - scattered * photon[i]);
        let recoil = if dot(knocked, knocked) > 0.0 { unit(knocked) } else { after.direction };
        (after.direction, after.kinetic) = (photon, scattered);
        if scattered <= self.reference.settings.cuts.photon {
            self.reference.deposit(&self.track, scattered);
            self.after = None;
        } else {
            self.after = Some(after);
        }
        self.add(0, Kind::Electron, recoil, energy - scattered);
    }

    fn pair(&mut self, after: Track<f64>) {
        let energy = after.kinetic;
        let least = MASS / energy;
        let mut x = 0.5;
        for _ in 0..TRIES {
            x = least + (1.0 - 2.0 * least) * self.draw();
            if self.draw() <= 1.0 - 4.0 / 3.0 * x * (1.0 - x) {
                break;
            }
        }
        let electron = (x * energy - MASS).max(0.0);
        let positron = (energy - 2.0 * MASS - electron).max(0.0);
        let around = self.draw();
        let cos = self.tsai(electron);
        let one = deflect(after.direction, cos, around);
        let cos = self.tsai(positron);
        let other = deflect(after.direction, cos, around + 0.5);
        let mut made = self.child(1, Kind::Positron, other, positron);
        self.reference.is_stopped(&self.track, &mut made);
        self.reference.tally.secondaries += 1;
        self.reference.next.push(made);
        self.replace(Kind::Electron, one, electron);
    }
}
