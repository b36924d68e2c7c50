//! Generates random batches from a seed: whole and partial collisions, noise, and hostile RoIs.

use std::f64::consts::{PI, TAU};

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use zfinder::{PhiWindow, Roi, RoiBatch, RoiDescriptor, RoiId, Spacepoint};
use zfinder_study::simulate::Simulation;

/// The content of an RoI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Tracks, for which rounding moves one or two pairs.
    Collision,
    /// Spacepoints at random positions.
    Noise,
    /// Spacepoints on edges, in clusters, far away, or none at all: rounding may move many pairs at
    /// once.
    Hostile,
}

/// A batch, and the content of each of its RoIs.
pub(super) struct RandomBatch {
    pub(super) number: u64,
    pub(super) batch: RoiBatch,
    pub(super) kinds: Vec<Kind>,
}

/// Number of RoIs in the stock, from which others are made.
const FEW: usize = 1000;
const MANY: usize = 8;
/// A batch ends above this many spacepoints.
const MOST_SPACEPOINTS: usize = 100_000;
const MOST_ROIS: f64 = 1024.0;

pub(super) struct RandomBatches {
    seed: u64,
    /// RoIs with few spacepoints, and with many.
    few: Vec<Roi>,
    many: Vec<Roi>,
}

/// A batch that is being made.
struct BatchBuilder<'a> {
    rng: ChaCha8Rng,
    stock: &'a RandomBatches,
}

impl RandomBatches {
    pub(super) fn new(seed: u64) -> Self {
        let rois = |simulation: Simulation, rois| {
            let (batch, _) = Simulation { seed, rois, ..simulation }.batch();
            batch
                .iter()
                .map(|view| Roi { descriptor: *view.descriptor, spacepoints: view.spacepoints().collect() })
                .collect()
        };
        Self { seed, few: rois(Simulation::lowlum(), FEW), many: rois(Simulation::highlum(), MANY) }
    }

    /// Returns the batch of a number, independent of earlier batches. It has one to a thousand
    /// RoIs; short batches are as likely as long ones.
    pub(super) fn batch(&self, number: u64) -> RandomBatch {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(number);
        let mut making = BatchBuilder { rng, stock: self };
        let rois = MOST_ROIS.powf(making.rng.random_range(0.0..1.0)) as usize;
        let batch = if making.rng.random_bool(0.5) { RoiBatch::with_f32() } else { RoiBatch::new() };
        let mut question = RandomBatch { number, batch, kinds: Vec::new() };
        while question.batch.len() < rois && question.batch.count_spacepoints() < MOST_SPACEPOINTS {
            let (kind, mut roi) = making.roi();
            roi.descriptor.id = RoiId { event_id: number, roi_id: question.kinds.len() as u64 };
            question.batch.push(roi.descriptor, roi.spacepoints);
            question.kinds.push(kind);
        }
        question
    }
}

impl BatchBuilder<'_> {
    fn roi(&mut self) -> (Kind, Roi) {
        match self.rng.random_range(0..100) {
            0..70 => (Kind::Collision, self.collision()),
            70..85 => (Kind::Noise, self.noise()),
            _ => (Kind::Hostile, self.hostile()),
        }
    }

    /// Returns a collision of the stock: rotated, shifted, and usually thinned out.
    fn collision(&mut self) -> Roi {
        let rng = &mut self.rng;
        let stock = if rng.random_bool(1.0 / 1024.0) { &self.stock.many } else { &self.stock.few };
        let mut roi = stock.choose(rng).cloned().unwrap_or_default();
        let keep: f64 = if rng.random_bool(0.1) { 1.0 } else { rng.random_range(0.0..1.0) };
        let keep = keep * keep;
        roi.spacepoints.retain(|_| rng.random_bool(keep));
        let (angle, step) = (rng.random_range(-PI..PI), rng.random_range(-30.0..30.0));
        for point in &mut roi.spacepoints {
            point.phi = turned(point.phi + angle);
            point.z += step;
        }
        if let Some(PhiWindow::Range { phi_min, phi_max }) = roi.descriptor.window {
            let window = PhiWindow::new(turned(phi_min + angle), turned(phi_max + angle));
            roi.descriptor.window = window.ok().or(roi.descriptor.window);
        }
        roi.spacepoints.shuffle(rng);
        roi
    }

    fn noise(&mut self) -> Roi {
        let rng = &mut self.rng;
        let phi_min = rng.random_range(-PI..PI);
        let width = TAU * rng.random_range(0.03_f64..1.0).powi(3);
        let window = match rng.random_range(0..64) {
            0 => Some(PhiWindow::FullScan),
            1 => Some(PhiWindow::FromSpacepoints),
            _ => PhiWindow::new(phi_min, turned(phi_min + width)).ok(),
        };
        let count = rng.random_range(0..200);
        let spacepoints = (0..count).map(|_| Spacepoint {
            rho: rng.random_range(30.0..600.0),
            phi: turned(phi_min + width * rng.random_range(-0.1..1.1)),
            z: rng.random_range(-600.0..600.0),
            layer: rng.random_range(0..13),
        });
        let spacepoints = spacepoints.collect();
        let descriptor = RoiDescriptor { window, eta: rng.random_range(-2.5..2.5), ..RoiDescriptor::default() };
        Roi { descriptor, spacepoints }
    }

    fn hostile(&mut self) -> Roi {
        let mut roi = if self.rng.random_bool(0.5) { self.collision() } else { self.noise() };
        let (phi_min, phi_max) = match roi.descriptor.window {
            Some(PhiWindow::Range { phi_min, phi_max }) => (phi_min, phi_max),
            _ => (-PI, PI),
        };
        let rng = &mut self.rng;
        let points = &mut roi.spacepoints;
        let some = |rng: &mut ChaCha8Rng| rng.random_bool(0.1);
        match rng.random_range(0..12) {
            // All in one slice, on one layer, at one rho, or at one point.
            0 => points.iter_mut().for_each(|point| point.phi = phi_min),
            1 => points.iter_mut().for_each(|point| point.layer = 3),
            2 => points.iter_mut().for_each(|point| point.rho = 100.0),
            3 => points.iter_mut().for_each(|point| (point.rho, point.z) = (50.0 + 40.0 * f64::from(point.layer), 7.0)),
            4 => {
                let times = rng.random_range(2..9);
                *points = points.iter().take(200).flat_map(|point| std::iter::repeat_n(*point, times)).collect();
            }
            // On the edges of the window, a rounding away from them, and at +-pi.
            5 => {
                let edges = [phi_min, phi_min.next_up(), phi_min.next_down(), phi_max, phi_max.next_up(), PI, -PI];
                points.iter_mut().for_each(|point| point.phi = *edges.choose(rng).unwrap_or(&0.0));
            }
            // Beyond any detector, and beyond finite numbers.
            6 => points.iter_mut().filter(|_| some(rng)).for_each(|point| point.z *= 1e5),
            7 => points.iter_mut().filter(|_| some(rng)).for_each(|point| point.rho *= 1e4),
            8 => {
                let values = [f64::NAN, f64::INFINITY, 1e300, -1e300, 5e-324, 0.0, -0.0, 1e-7];
                let value = *values.choose(rng).unwrap_or(&0.0);
                let at = rng.random_range(0..points.len().max(1));
                let axis = rng.random_range(0..3);
                if let Some(point) = points.get_mut(at) {
                    match axis {
                        0 => point.rho = value,
                        1 => point.phi = value,
                        _ => point.z = value,
                    }
                }
            }
            9 => points.iter_mut().step_by(10).for_each(|point| point.layer = rng.random_range(0..70)),
            10 => points.clear(),
            // A z range that holds almost nothing.
            _ => {
                let low = rng.random_range(-150.0..150.0);
                roi.descriptor.z_range = Some((low, low + rng.random_range(0.3..30.0)));
            }
        }
        roi
    }
}

/// Normalises phi to [-pi, pi).
fn turned(phi: f64) -> f64 {
    let turned = (phi + PI).rem_euclid(TAU) - PI;
    if turned >= PI { -PI } else { turned }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_batches_of_every_kind() {
        let (one, other) = (RandomBatches::new(3), RandomBatches::new(3));
        let mut kinds = Vec::new();
        let mut empty = 0;
        for number in (0..20).rev() {
            let (a, b) = (one.batch(number), other.batch(number));
            assert_eq!((a.batch.len(), &a.kinds), (b.batch.len(), &b.kinds));
            for (x, y) in a.batch.iter().zip(b.batch.iter()) {
                assert_eq!(x.descriptor, y.descriptor);
                // Compared as text, because some are NaN.
                let text = |points: Vec<Spacepoint>| format!("{points:?}");
                assert_eq!(text(x.spacepoints().collect()), text(y.spacepoints().collect()));
                empty += usize::from(x.is_empty());
            }
            kinds.extend(a.kinds);
        }
        for kind in [Kind::Collision, Kind::Noise, Kind::Hostile] {
            assert!(kinds.contains(&kind), "{kind:?}");
        }
        assert!(empty > 0);
    }
}
