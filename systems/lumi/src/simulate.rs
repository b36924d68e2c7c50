//! Simulated events for benches and tests. The numbers of elements are realistic; there is no more
//! physics in them.

use kernel_host::available_memory;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal, Poisson};
use rayon::prelude::*;

use crate::calorimeter::Calorimeter;
use crate::error::{Error, Result};
use crate::event::{Event, EventBatch, Header, INVALID_ADC, SciFiHit, VeloCluster, VeloTrack, Vertex};
use crate::summary::BUNCHES;

/// A simulation of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulation {
    /// The number of events.
    pub events: usize,
    /// The fraction of events that a lumi line selects. The full line also selects one in thirty of
    /// these.
    pub lumi_fraction: f64,
    /// The mean number of collisions in a crossing; the number is Poisson-distributed.
    pub collisions: f64,
    /// The seed. Equal seeds give equal events.
    pub seed: u64,
}

impl Default for Simulation {
    fn default() -> Self {
        Self { events: 1000, lumi_fraction: 0.1, collisions: 5.3, seed: 1 }
    }
}

/// Velo tracks, fibre hits and calorimeter showers of a collision, on average.
const TRACKS: f64 = 46.0;
const HITS: f64 = 700.0;
const SHOWERS: f64 = 90.0;
/// An event with more fibre hits is not reconstructed.
const FULL_HITS: usize = 9750;
/// GPS time in us of the first crossing.
const BEGIN_US: u64 = 1_400_000_000_000_000;

impl Simulation {
    /// Simulates all events.
    ///
    /// # Errors
    /// [`Error::BatchTooLarge`]; [`Error::OutOfMemory`] after the first events, if all events would
    /// exceed the memory.
    pub fn simulate(&self, calorimeter: &Calorimeter) -> Result<EventBatch> {
        self.simulate_with(calorimeter, |_| {})
    }

    /// Simulates all events. `progress` is called with the number of events so far.
    ///
    /// # Errors
    /// As [`Simulation::simulate`].
    pub fn simulate_with(&self, calorimeter: &Calorimeter, mut progress: impl FnMut(usize)) -> Result<EventBatch> {
        let mut batch = EventBatch::new(calorimeter.cells().len());
        let mut first = 0;
        while first < self.events {
            // In groups, because a batch is built in order.
            let end = self.events.min(first + 256);
            let events: Vec<Event> = (first..end).into_par_iter().map(|i| self.event(calorimeter, i as u64)).collect();
            for event in &events {
                batch.push(event.view())?;
            }
            if first == 0 {
                self.check_memory(&batch)?;
            }
            first = end;
            progress(end);
        }
        Ok(batch)
    }

    /// Compares the memory of all events, estimated from the first ones, with what is free.
    fn check_memory(&self, first: &EventBatch) -> Result<()> {
        let each = (first.bytes() / first.len().max(1)) as u64;
        // Columns grow by doubling.
        let bytes = each.saturating_mul(self.events as u64).saturating_mul(3) / 2;
        match available_memory() {
            Some(available) if bytes > available => Err(Error::OutOfMemory { events: self.events, bytes, available }),
            _ => Ok(()),
        }
    }

    /// Simulates one event, independently of the other events.
    #[must_use]
    pub fn event(&self, calorimeter: &Calorimeter, number: u64) -> Event {
        let rng = &mut ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(number);
        let lumi = rng.random_bool(self.lumi_fraction.clamp(0.0, 1.0));
        let full = lumi && rng.random_ratio(1, 30);
        // The line of full summaries takes one turn in thirty.
        let orbit = rng.random_range(0..1 << 20) * 30 + if full { 1 } else { rng.random_range(2..31) };
        let bunch = rng.random_range(0..BUNCHES as u16);
        let crossing = u64::from(orbit) * BUNCHES + u64::from(bunch);
        let collisions = poisson(self.collisions, rng);
        let mut event = Event {
            header: Header {
                event_id: number,
                orbit,
                bunch,
                crossing: 3,
                gps_us: BEGIN_US + crossing * 1000 / 40_078,
                basic: lumi,
                full,
                reconstructed: true,
            },
            adc: digits(calorimeter, poisson(SHOWERS * collisions as f64, rng), rng),
            ..Event::default()
        };
        for _ in 0..collisions {
            event.add_collision(rng);
        }
        event.scifi_hits.extend((0..poisson(60.0, rng)).map(|_| hit(rng)));
        // Decoding goes through the detectors in order.
        event.scifi_hits.sort_unstable_by_key(|hit| hit.0);
        event.velo_clusters.sort_unstable_by_key(|cluster| cluster.0);
        event.header.reconstructed = event.scifi_hits.len() <= FULL_HITS;
        event
    }
}

impl Event {
    fn add_collision(&mut self, rng: &mut ChaCha8Rng) {
        let place = [0.04, 0.04, 50.0].map(|rms| normal(rms, rng));
        // The fluctuation of the number of tracks is larger than that of a counter.
        let scale = rng.random_range(0.2..1.8);
        let tracks = poisson(TRACKS * scale, rng);
        for _ in 0..tracks {
            let eta = if rng.random_bool(0.3) { -rng.random_range(1.0..4.5) } else { rng.random_range(1.5..5.5) };
            let eta: f64 = eta;
            let (rho, phi) = (1.0 / eta.abs().sinh(), rng.random_range(0.0..std::f64::consts::TAU));
            // One in ten is of something that decayed further out.
            let off = if rng.random_bool(0.1) { 5.0 } else { 0.1 };
            self.velo_tracks.push(VeloTrack {
                x: (place[0] + normal(off, rng)) as f32,
                y: (place[1] + normal(off, rng)) as f32,
                z: (place[2] + normal(0.5, rng)) as f32,
                tx: (rho * phi.cos()) as f32,
                ty: (rho * phi.sin()) as f32,
                backward: u32::from(eta < 0.0),
            });
            for _ in 0..poisson(9.0, rng) {
                let station = if eta < 0.0 { rng.random_range(0..8) } else { rng.random_range(4..26) };
                self.velo_clusters
                    .push(VeloCluster::new(8 * station + rng.random_range(0..8), rng.random_range(0..65_536)));
            }
        }
        self.scifi_hits.extend((0..poisson(HITS * scale, rng)).map(|_| hit(rng)));
        if tracks > 4 {
            let error: f64 = 0.25 / (tracks as f64).sqrt();
            self.vertices.push(Vertex {
                x: place[0] as f32,
                y: place[1] as f32,
                z: (place[2] + normal(error, rng)) as f32,
                z_variance: (error * error) as f32,
                tracks: tracks as u32,
            });
        }
    }
}

/// A hit of the fibre tracker, more of them next to the beam.
fn hit(rng: &mut ChaCha8Rng) -> SciFiHit {
    let station = rng.random_range(1..4);
    let modules: f64 = if station == 3 { 6.0 } else { 5.0 };
    let outwards: f64 = rng.random();
    let module = (modules * outwards * outwards) as u32;
    SciFiHit::new(station, rng.random_range(0..4), rng.random_range(0..4), module, rng.random_range(0..2048))
}

/// Digits of so many showers, with noise; one cell in a thousand is dead.
fn digits(calorimeter: &Calorimeter, showers: u64, rng: &mut ChaCha8Rng) -> Vec<i16> {
    let cells = calorimeter.cells();
    let noise = Normal::new(0.0, 1.5).expect("a width above 0");
    let mut counts: Vec<f64> = cells.iter().map(|cell| f64::from(cell.pedestal) + noise.sample(rng)).collect();
    for _ in 0..if cells.is_empty() { 0 } else { showers } {
        let middle = rng.random_range(0..cells.len());
        // Counts are transverse energy, in about 2.4 MeV.
        let et = 40.0 - 120.0 * rng.random::<f64>().max(1e-9).ln();
        for (cell, share) in [(middle, 0.8), (middle + 1, 0.1), (middle.wrapping_sub(1), 0.1)] {
            if let Some(count) = counts.get_mut(cell) {
                *count += et * share;
            }
        }
    }
    let digit = |count: f64| count.round().clamp(0.0, 4095.0) as i16;
    counts.into_iter().map(|count| if rng.random_ratio(1, 1000) { INVALID_ADC } else { digit(count) }).collect()
}

fn poisson(mean: f64, rng: &mut ChaCha8Rng) -> u64 {
    Poisson::new(mean).map_or(0, |poisson| poisson.sample(rng) as u64)
}

fn normal(rms: f64, rng: &mut ChaCha8Rng) -> f64 {
    Normal::new(0.0, rms).map_or(0.0, |normal| normal.sample(rng))
}
