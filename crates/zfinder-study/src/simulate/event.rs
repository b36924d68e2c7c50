//! Simulates one RoI: its window, the collisions, their tracks, and noise.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, Poisson};

use super::track::{Track, normal, smear};
use super::tracker::Tracker;
use super::{PtSpectrum, SimulatedRoi, SimulatedTrack, SimulatedVertex, Simulation};
use zfinder::internals::normalised;
use zfinder::{PhiWindow, Roi, RoiDescriptor, RoiId, Spacepoint};

/// Lowest pT of a track \[GeV\]: softer tracks stop in the beam pipe and the first layer.
const LEAST_PT_GEV: f64 = 0.05;
/// rms over mean of a collision's number of tracks, in addition to its Poisson spread. It
/// corresponds to a negative binomial of k = 2, about the spread of minimum-bias collisions.
const MULTIPLICITY_SPREAD: f64 = 0.7;
/// The same for the hard scatter, whose trigger requires some tracks.
const HARD_MULTIPLICITY_SPREAD: f64 = 0.35;
/// Margin \[rad\] around the window for multiple scattering.
const SCATTERING_MARGIN: f64 = 0.1;
/// Most directions tried for a noise spacepoint. An RoI outside the tracker has none.
const NOISE_TRIES: usize = 64;

/// Quantities that all tracks of one RoI share.
struct Region<'a> {
    knobs: &'a Simulation,
    tracker: &'a Tracker,
    /// The lower edge as passed to the engines, which use the same arithmetic.
    phi_min: f64,
    width: f64,
    centre: f64,
    eta: (f64, f64),
    spacepoints: Vec<Spacepoint>,
    tracks: Vec<SimulatedTrack>,
}

/// Simulates an RoI. `knobs` must be in range.
pub(super) fn simulate(knobs: &Simulation, index: u64) -> SimulatedRoi {
    // One random stream for each RoI, so that RoIs do not depend on the order of simulation.
    let mut rng = ChaCha8Rng::seed_from_u64(knobs.seed);
    rng.set_stream(index);

    let (window, centre) = window(knobs, &mut rng);
    let eta_centre = knobs.eta_centre_max * rng.random_range(-1.0..=1.0);
    let (phi_min, width) = match window {
        PhiWindow::Range { phi_min, phi_max } => PhiWindow::edges(phi_min, phi_max),
        PhiWindow::FullScan | PhiWindow::FromSpacepoints => (-PI, TAU),
    };
    let mut region = Region {
        knobs,
        tracker: knobs.geometry.tracker(),
        phi_min,
        width,
        centre,
        eta: (eta_centre - knobs.eta_half_width, eta_centre + knobs.eta_half_width),
        spacepoints: Vec::new(),
        tracks: Vec::new(),
    };
    let pile_up = poisson(knobs.pile_up * fluctuation(knobs.pile_up_spread, &mut rng), &mut rng);
    let along_beam: Vec<f64> =
        (0..=pile_up).map(|_| knobs.beam_z_mm + knobs.beam_sigma_z_mm * normal(&mut rng)).collect();
    let truth: Vec<SimulatedVertex> = along_beam.into_iter().map(|z_mm| knobs.vertex(z_mm, &mut rng)).collect();
    for (number, vertex) in truth.iter().enumerate() {
        let (per_eta, spread, pt) = match number {
            0 => (knobs.hard_tracks_per_eta, HARD_MULTIPLICITY_SPREAD, knobs.hard_pt),
            _ => (knobs.tracks_per_eta, MULTIPLICITY_SPREAD, knobs.pt),
        };
        let mean = per_eta * 2.0 * knobs.eta_half_width * fluctuation(spread, &mut rng);
        for _ in 0..poisson(mean, &mut rng) {
            region.add_track(number as u32, vertex, pt, &mut rng);
        }
    }
    let noise = poisson(knobs.noise * region.spacepoints.len() as f64, &mut rng);
    for _ in 0..noise {
        region.add_noise(&mut rng);
    }
    let id = RoiId { event_id: index, roi_id: 0 };
    let descriptor = RoiDescriptor { id, window: Some(window), ..RoiDescriptor::default() };
    SimulatedRoi { roi: Roi { descriptor, spacepoints: region.spacepoints }, truth, tracks: region.tracks }
}

/// Returns the window of an RoI, and its centre \[rad\].
fn window(knobs: &Simulation, rng: &mut ChaCha8Rng) -> (PhiWindow, f64) {
    let spread = knobs.window_spread_deg * rng.random_range(-1.0..=1.0);
    let width = (knobs.window_deg + spread).clamp(0.2, 359.0).to_radians();
    let centre = rng.random_range(-PI..PI);
    if knobs.is_full_scan() {
        return (PhiWindow::FullScan, 0.0);
    }
    let (phi_min, phi_max) = (normalised(centre - 0.5 * width), normalised(centre + 0.5 * width));
    let window = PhiWindow::new(phi_min, phi_max).expect("edges within +-pi that 0.2 to 359 degrees lie between");
    (window, centre)
}

impl Simulation {
    /// Returns a collision at `z_mm`. A beam without width draws no random number.
    fn vertex(&self, z_mm: f64, rng: &mut ChaCha8Rng) -> SimulatedVertex {
        let mut place = |axis: usize, sigma: f64| {
            let beam = self.beam_spot_mm[axis] + self.beam_spot_tilt[axis] * z_mm;
            if sigma > 0.0 { beam + sigma * normal(rng) } else { beam }
        };
        let (x_mm, y_mm) = (place(0, self.beam_sigma_x_mm), place(1, self.beam_sigma_y_mm));
        SimulatedVertex { x_mm, y_mm, z_mm }
    }
}

impl Region<'_> {
    /// Adds a track in a random direction. Most tracks miss the window and are not followed.
    fn add_track(&mut self, number: u32, vertex: &SimulatedVertex, pt: PtSpectrum, rng: &mut ChaCha8Rng) {
        let phi0 = rng.random_range(-PI..PI);
        let turn = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
        let eta = rng.random_range(self.eta.0..=self.eta.1);
        let pt_gev = pt.sample(rng);
        let before = self.spacepoints.len();
        if pt_gev >= LEAST_PT_GEV {
            // R [m] = pT [GeV] / (0.3 B [T])
            let diameter = 2.0 * pt_gev / (0.0003 * self.knobs.field_t);
            let (z0, start) = (vertex.z_mm, (vertex.x_mm, vertex.y_mm));
            self.follow(&Track { z0, start, phi0, cot: eta.sinh(), pt_gev, diameter, turn }, rng);
        }
        self.tracks.push(SimulatedTrack {
            vertex: number,
            pt_gev,
            eta,
            phi: phi0,
            // A field along +z turns positive charges towards smaller phi.
            charge: if turn > 0.0 { -1 } else { 1 },
            spacepoints: (self.spacepoints.len() - before) as u32,
        });
    }

    /// Follows a track through the layers, if it comes close to the window.
    fn follow(&mut self, track: &Track, rng: &mut ChaCha8Rng) {
        let from = normalised(track.phi0 - self.centre);
        let to = from + track.turn * track.bend(self.tracker);
        let reach = 0.5 * self.width + SCATTERING_MARGIN + self.offset_margin(track);
        let meets =
            |full_turns: f64| from.min(to) < reach + full_turns * TAU && from.max(to) > full_turns * TAU - reach;
        if meets(0.0) || meets(1.0) || meets(-1.0) {
            let (phi_min, width, spacepoints) = (self.phi_min, self.width, &mut self.spacepoints);
            track.walk(self.tracker, self.knobs, rng, |s| {
                if inside(phi_min, width, s.phi) {
                    spacepoints.push(s);
                }
            });
        }
    }

    /// Returns the largest change of phi because the track starts off the z axis: the arc sine of
    /// offset / radius, which is below pi / 2 times that ratio.
    fn offset_margin(&self, track: &Track) -> f64 {
        let offset = track.start.0.abs() + track.start.1.abs();
        let innermost = self.tracker.barrels.first().map_or(offset, |barrel| barrel.radius);
        FRAC_PI_2 * offset / innermost
    }

    /// Adds a spacepoint that belongs to no track (secondaries, ghosts of the strips' stereo angle,
    /// electronics). Noise and tracks have the same density in eta.
    fn add_noise(&mut self, rng: &mut ChaCha8Rng) {
        let barrels = self.tracker.barrels.len();
        let layers = barrels + self.tracker.disks.len();
        for _ in 0..NOISE_TRIES {
            let phi = normalised(self.phi_min + self.width * rng.random::<f64>());
            let z0 = self.knobs.beam_z_mm + self.knobs.beam_sigma_z_mm * normal(rng);
            let cot = rng.random_range(self.eta.0..=self.eta.1).sinh();
            // Soft secondaries and loopers accumulate in inner layers: the inner of two random
            // layers.
            let layer = rng.random_range(0..layers).min(rng.random_range(0..layers));
            let spacepoint = if layer < barrels {
                let b = self.tracker.barrels[layer];
                let z = z0 + cot * b.radius;
                if z.abs() > b.half_length {
                    continue;
                }
                Spacepoint { rho: b.radius, phi, z: z + smear(b.sensor, self.knobs.resolution, rng).1, layer: b.layer }
            } else {
                let d = self.tracker.disks[layer - barrels];
                let z = d.z.copysign(cot);
                let rho = (z - z0) / cot;
                if rho.is_nan() || rho < d.r_min || rho > d.r_max {
                    continue;
                }
                Spacepoint { rho: rho + smear(d.sensor, self.knobs.resolution, rng).1, phi, z, layer: d.layer }
            };
            if inside(self.phi_min, self.width, phi) {
                self.spacepoints.push(spacepoint);
                return;
            }
        }
    }
}

impl PtSpectrum {
    /// Draws a pT. With v = 1 / (1 + pT / scale) the spectrum is a beta distribution, v^(power - 3)
    /// (1 - v). A product of powers of two uniform numbers has this distribution.
    pub(super) fn sample(self, rng: &mut ChaCha8Rng) -> f64 {
        // 0 < flat <= 1, so momenta are finite.
        let mut flat = || 1.0 - rng.random::<f64>();
        let v = flat().powf(1.0 / (self.power - 2.0)) * flat().powf(1.0 / (self.power - 1.0));
        self.scale_gev * (1.0 / v - 1.0)
    }
}

/// Returns whether the engines will keep the spacepoint: specification, section 2, with the same
/// order of operations.
pub(super) fn inside(phi_min: f64, width: f64, phi: f64) -> bool {
    let from_edge = phi - phi_min;
    let from_edge = if from_edge < 0.0 { from_edge + TAU } else { from_edge };
    from_edge < width
}

fn poisson(mean: f64, rng: &mut ChaCha8Rng) -> u64 {
    // A mean of zero has no distribution.
    Poisson::new(mean).map_or(0, |distribution| distribution.sample(rng) as u64)
}

/// Draws a positive number of mean 1 and the given rms.
fn fluctuation(rms: f64, rng: &mut ChaCha8Rng) -> f64 {
    let variance = rms * rms;
    Gamma::new(1.0 / variance, variance).map_or(1.0, |distribution| distribution.sample(rng))
}
