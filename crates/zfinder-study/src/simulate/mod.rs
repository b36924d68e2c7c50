//! Simulates RoIs and whole events in a tracker, for benchmarks and for efficiency against truth.
//! The default samples have the size of those of the thesis (Table 4.2). Random numbers are seeded:
//! on one platform the same knobs give the same bits, on any number of threads. Platforms differ in
//! the last digit of a sine.
//!
//! # What is simulated
//!
//! - Collisions along a gaussian beam spot, which may be off the z axis, tilted, and have a width
//!   in x and y: the hard scatter, then a Poisson number of pile-up collisions.
//! - Tracks flat in eta within the RoI's eta window and flat in phi. Their number is negative
//!   binomial, and their transverse momentum follows [`PtSpectrum`]. They are helices in a
//!   solenoid's field, followed outwards until they turn back. The hard scatter has its own number
//!   and spectrum.
//! - Barrel layers of finite length, and disks with inner and outer radii, as in [`Geometry`]. A
//!   layer misses a track with some probability. It measures the track with gaussian errors in
//!   r-phi, and in z (barrel) or r (disk). It scatters the track by 13.6 MeV / p * sqrt(x / X0),
//!   without the logarithm (PDG, *Passage of particles through matter*).
//! - Noise: spacepoints that belong to no track.
//!
//! Not simulated: energy loss, decays, material between layers, modules and their overlaps,
//! digitisation, jets. A track has therefore one spacepoint in a layer, where overlapping modules
//! would give two. Spacepoints outside the RoI's phi window are left out. Both detectors have the
//! material of [`Simulation::radiation_lengths`] in every layer.
//!
//! # Sources
//!
//! - Layers: [`Detector`]. Lengths of `atlas2010`'s barrels, radii of its disks and resolutions:
//!   ATLAS Collaboration, JINST 3 (2008) S08003. Lengths and radii of `generic` were measured in
//!   events that ACTS simulated. Its resolutions are pitch / sqrt(12): 0.0144 mm of pixels, 0.35 mm
//!   of short and 3.1 mm of long strips along z.
//! - Momenta and number of tracks: CMS Collaboration, Phys. Rev. Lett. 105 (2010) 022002.
//!
//! ```
//! use zfinder::{Detector, Engine, ZFinder};
//! use zfinder_study::simulate::Simulation;
//! let (batch, truth) = Simulation { rois: 10, ..Simulation::lowlum() }.batch();
//! let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
//! let found = finder.find_batch(&batch)?;
//! let first = found.iter().map(|roi| roi.vertices().z_mm()[0]);
//! assert!(first.zip(&truth).filter(|(z, truth)| (z - *truth).abs() < 1.0).count() >= 8);
//! # Ok::<(), zfinder::Error>(())
//! ```
//!
//! A sample of any size is simulated in chunks, with little memory:
//!
//! ```
//! use zfinder_study::simulate::{Geometry, Simulation};
//! let lowlum = Simulation { rois: 20, geometry: Geometry::Generic, ..Simulation::lowlum() };
//! let events = lowlum.whole_events().chunks().flatten();
//! let spacepoints: usize = events.map(|event| event.roi.spacepoints.len()).sum();
//! assert!(spacepoints > 20 * 500);
//! ```

mod event;
mod knobs;
mod stream;
#[cfg(test)]
mod tests;
mod track;
mod tracker;
mod truth;

use std::f64::consts::TAU;

use zfinder::Detector;
use zfinder::{PhiWindow, Roi, RoiBatch};

pub use stream::Chunks;
pub use truth::{TRACKML_PARTICLES_HEADER, TRUTH_HEADER};

/// A window of this width \[degrees\] is the full circle.
const FULL_CIRCLE_DEG: f64 = 360.0;

/// Detectors that can be simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Geometry {
    /// The 19 layers of [`Detector::atlas2010`].
    #[default]
    Atlas2010,
    /// The 29 layers of [`Detector::generic`].
    Generic,
}

impl Geometry {
    /// Returns the detector, to whose layers the spacepoints' `layer` refers.
    pub fn detector(self) -> Detector {
        match self {
            Geometry::Atlas2010 => Detector::atlas2010(),
            Geometry::Generic => Detector::generic(),
        }
    }
}

/// A falling spectrum of transverse momentum,
///
/// ```text
/// dN/dpT ~ pT (1 + pT / scale)^-power,    mean pT = 2 scale / (power - 3)
/// ```
///
/// which is the Tsallis form of minimum-bias collisions for particles with a mass far below pT:
/// scale = n T and power = n, with T = 0.145 GeV and n = 6.6 at 7 TeV (CMS Collaboration, Phys.
/// Rev. Lett. 105 (2010) 022002).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PtSpectrum {
    /// Scale of the power law \[GeV\], 0.01 to 1000.
    pub scale_gev: f64,
    /// Exponent of the power law, 3.1 to 100.
    pub power: f64,
}

/// The knobs of a sample. Start from [`Simulation::lowlum`] or [`Simulation::highlum`]. A knob out
/// of its range is clamped (NaN to the lower end); [`Simulation::validate`] reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of RoIs in the sample, one for each event.
    pub rois: usize,
    /// The detector.
    pub geometry: Geometry,
    /// Mean width of the phi window \[degrees\], 1 to 359; 360 is the full circle without a window.
    /// The centre is uniform, so some windows wrap at +-pi.
    pub window_deg: f64,
    /// Half the range of widths about the mean \[degrees\], 0 to 180. Widths are uniform.
    pub window_spread_deg: f64,
    /// Half the width in eta of the region of tracks, 0.01 to 5. The RoI's descriptor keeps eta =
    /// 0, because such a wide region needs neither wider z bins nor another bending.
    pub eta_half_width: f64,
    /// Largest |eta| of the centres of RoIs, 0 to 5. Centres are uniform.
    pub eta_centre_max: f64,
    /// x and y of the beam at z = 0 \[mm\], -10 to 10.
    pub beam_spot_mm: [f64; 2],
    /// dx/dz and dy/dz of the beam, -0.001 to 0.001.
    pub beam_spot_tilt: [f64; 2],
    /// Mean z of the collisions \[mm\], -1000 to 1000.
    pub beam_z_mm: f64,
    /// Standard deviation of the beam spot along x \[mm\], 0 to 1.
    pub beam_sigma_x_mm: f64,
    /// Standard deviation of the beam spot along y \[mm\], 0 to 1.
    pub beam_sigma_y_mm: f64,
    /// Standard deviation of the beam spot along z \[mm\], 0 to 1000.
    pub beam_sigma_z_mm: f64,
    /// Mean number of pile-up collisions, 0 to 10,000.
    pub pile_up: f64,
    /// rms over mean of the number of pile-up collisions, in addition to its Poisson spread, 0 to
    /// 1: luminosity varies.
    pub pile_up_spread: f64,
    /// Mean number of charged particles of a pile-up collision for a unit of eta and the full
    /// circle, 0 to 1000.
    pub tracks_per_eta: f64,
    /// The same for the hard scatter.
    pub hard_tracks_per_eta: f64,
    /// Spectrum of pile-up.
    pub pt: PtSpectrum,
    /// Spectrum of the hard scatter.
    pub hard_pt: PtSpectrum,
    /// Mean number of noise spacepoints for each spacepoint of a track, 0 to 100.
    pub noise: f64,
    /// Probability that a layer measures a track that crosses it, 0 to 1.
    pub efficiency: f64,
    /// Factor on the resolution of all layers, 0 to 100. 0 gives exact positions.
    pub resolution: f64,
    /// Material of a layer at normal incidence \[radiation lengths\], 0 to 1. 0 switches multiple
    /// scattering off.
    pub radiation_lengths: f64,
    /// Solenoid field \[T\], 0.01 to 20.
    pub field_t: f64,
}

/// Position of a collision \[mm\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedVertex {
    /// x.
    pub x_mm: f64,
    /// y.
    pub y_mm: f64,
    /// z.
    pub z_mm: f64,
}

/// A charged particle at its collision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedTrack {
    /// Index of its collision in [`SimulatedRoi::truth`].
    pub vertex: u32,
    /// Transverse momentum \[GeV\].
    pub pt_gev: f64,
    /// Pseudorapidity.
    pub eta: f64,
    /// Azimuth \[rad\].
    pub phi: f64,
    /// Charge, +1 or -1, in a field along +z.
    pub charge: i8,
    /// Number of its spacepoints in the RoI; 0 for a track outside the window.
    pub spacepoints: u32,
}

/// A simulated RoI with its truth.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedRoi {
    /// The RoI: event id = index in the sample, RoI id 0, phi window set.
    pub roi: Roi,
    /// All collisions of the event, the hard scatter first. A pile-up collision may have no track
    /// in the RoI.
    pub truth: Vec<SimulatedVertex>,
    /// All charged particles in the eta window and at any phi, collision by collision.
    pub tracks: Vec<SimulatedTrack>,
}

impl SimulatedRoi {
    /// Returns the width of the phi window \[rad\].
    pub fn window_width(&self) -> f64 {
        match self.roi.descriptor.window {
            Some(PhiWindow::Range { phi_min, phi_max }) => PhiWindow::edges(phi_min, phi_max).1,
            _ => TAU,
        }
    }
}

impl Simulation {
    /// Returns the *lowlum* sample of the thesis, 650 RoIs: 341 spacepoints (thesis: 333) and 517
    /// slices of 0.2 degrees (517) on average. The hard scatter is the highest peak in nearly all
    /// RoIs (98 %).
    pub fn lowlum() -> Self {
        Self {
            seed: 1,
            rois: 650,
            geometry: Geometry::Atlas2010,
            window_deg: 103.3,
            window_spread_deg: 5.0,
            eta_half_width: 1.3,
            eta_centre_max: 1.1,
            beam_spot_mm: [0.0; 2],
            beam_spot_tilt: [0.0; 2],
            beam_z_mm: 0.0,
            beam_sigma_x_mm: 0.0,
            beam_sigma_y_mm: 0.0,
            beam_sigma_z_mm: 56.0,
            pile_up: 4.6,
            pile_up_spread: 0.0,
            // Mean of minimum-bias collisions at 7 TeV near eta = 0 (CMS, as for the spectrum).
            tracks_per_eta: 5.8,
            // An RoI surrounds a trigger object, so it is denser and harder than an average hard
            // collision.
            hard_tracks_per_eta: 33.0,
            pt: PtSpectrum { scale_gev: 0.96, power: 6.6 },
            hard_pt: PtSpectrum { scale_gev: 2.5, power: 5.0 },
            noise: 0.15,
            efficiency: 0.97,
            resolution: 1.0,
            // About the material of pixel and strip layers with their supports (ATLAS, JINST 3
            // (2008) S08003).
            radiation_lengths: 0.03,
            field_t: 2.0,
        }
    }

    /// Returns the *highlum* sample of the thesis, 1177 RoIs: 7834 spacepoints (thesis: 8104) and
    /// 542 slices of 0.2 degrees (542) on average. This number of spacepoints needs about 180
    /// collisions. Chance pairs outnumber those of the hard scatter: pairs find it in about a fifth
    /// of the RoIs, triplets in half (thesis preset) to two thirds (defaults).
    pub fn highlum() -> Self {
        Self {
            rois: 1177,
            window_deg: 108.3,
            window_spread_deg: 2.0,
            eta_half_width: 1.4,
            eta_centre_max: 1.2,
            pile_up: 180.0,
            pile_up_spread: 0.18,
            noise: 0.35,
            ..Self::lowlum()
        }
    }

    /// Returns the same sample as whole events: the full circle and |eta| < 2.5, without a window.
    /// The hard scatter has 17 tracks for a unit of eta, as in top pairs of Pythia 8 at 14 TeV (83
    /// charged particles with pT > 500 MeV).
    #[must_use]
    pub fn whole_events(self) -> Self {
        Self {
            window_deg: FULL_CIRCLE_DEG,
            window_spread_deg: 0.0,
            eta_half_width: 2.5,
            eta_centre_max: 0.0,
            hard_tracks_per_eta: 17.0,
            ..self
        }
    }

    /// Returns whether the sample has whole events, without windows.
    pub fn is_full_scan(&self) -> bool {
        self.window_deg >= FULL_CIRCLE_DEG
    }

    /// Returns the detector of the sample.
    pub fn detector(&self) -> Detector {
        self.geometry.detector()
    }

    /// Returns the variances of r and z of a spacepoint \[mm^2\] on each layer: r is exact in a
    /// barrel, z in a disk.
    pub fn variances(&self) -> Vec<[f64; 2]> {
        let tracker = self.geometry.tracker();
        let variance = |along: f64| (self.bounded().resolution * along).powi(2);
        let mut variances = vec![[0.0; 2]; tracker.barrels.len() + tracker.disks.len()];
        for barrel in &tracker.barrels {
            variances[barrel.layer as usize][1] = variance(barrel.sensor.along);
        }
        for disk in &tracker.disks {
            variances[disk.layer as usize][0] = variance(disk.sensor.along);
        }
        variances
    }

    /// Simulates one RoI. Its random numbers derive from the seed and `index` alone.
    pub fn event(&self, index: u64) -> SimulatedRoi {
        event::simulate(&self.bounded(), index)
    }

    /// Returns all RoIs in order, chunk by chunk. All threads of rayon's pool simulate a chunk. A
    /// sample of any size takes the memory of one chunk.
    pub fn chunks(&self) -> Chunks {
        Chunks::new(self.bounded())
    }

    /// Simulates all RoIs of [`Simulation::chunks`] and returns them with the true z of the hard
    /// scatter of each \[mm\].
    pub fn batch(&self) -> (RoiBatch, Vec<f64>) {
        let mut batch = RoiBatch::new();
        let mut z = Vec::with_capacity(self.rois);
        for SimulatedRoi { roi, truth, .. } in self.chunks().flatten() {
            batch.push(roi.descriptor, roi.spacepoints);
            z.extend(truth.first().map(|vertex| vertex.z_mm));
        }
        (batch, z)
    }
}
