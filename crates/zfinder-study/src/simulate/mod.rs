//! A simulation of RoIs and of whole events in a tracker, of the size of the thesis's samples
//! (Table 4.2) by default, for benchmarks and for efficiency against truth. Seeded: on one platform
//! the same knobs give the same bits, on any number of threads (platforms differ in the last digit
//! of a sine).
//!
//! # What is simulated
//!
//! - Collisions along a gaussian beam spot, which may be off the z axis, tilted, and have a width
//!   in x and y: the hard scatter, then a Poisson number of pile-up.
//! - Tracks flat in eta within the RoI's eta window and flat in phi, their number negative
//!   binomial, their transverse momentum falling by [`PtSpectrum`]; helices in a solenoid's field,
//!   followed outwards until they turn back. The hard scatter has a number and a spectrum of its
//!   own, which make its hardness.
//! - Barrel layers of finite length and disks with inner and outer radii, those of [`Geometry`];
//!   each may miss a track, measures it with a gaussian error (r-phi, and z in a barrel or r in a
//!   disk), and scatters it by 13.6 MeV / p * sqrt(x / X0), in which the logarithm is left out
//!   (PDG, *Passage of particles through matter*).
//! - Noise: spacepoints that belong to no track.
//!
//! Not simulated: energy loss, decays, material between layers, modules and their overlaps,
//! digitisation, jets. So a track has one spacepoint a layer, where modules that overlap would give
//! it two. Spacepoints outside the RoI's phi window are left out. Both detectors have the material
//! of [`Simulation::radiation_lengths`] in every layer.
//!
//! # Sources
//!
//! - Layers: [`Detector`]. Lengths of `atlas2010`'s barrels, radii of its disks and resolutions:
//!   ATLAS Collaboration, JINST 3 (2008) S08003. Those of `generic` are measured from events that
//!   ACTS simulated in it, and its resolutions are pitch / sqrt(12): 0.0144 mm of pixels, 0.35 mm
//!   of short and 3.1 mm of long strips along z.
//! - Momenta and number of tracks: CMS Collaboration, Phys. Rev. Lett. 105 (2010) 022002.
//!
//! ```
//! use zfinder::{Config, Engine, ZFinder};
//! use zfinder_study::simulate::Simulation;
//! let (batch, truth) = Simulation { rois: 10, ..Simulation::lowlum() }.batch();
//! let finder = ZFinder::builder().config(Config::default()).engine(Engine::Cpu).build()?;
//! let found = finder.find_batch(&batch)?;
//! let good = found.iter().zip(&truth).filter(|(roi, z)| (roi.vertices[0].z_mm - *z).abs() < 1.0);
//! assert!(good.count() >= 8);
//! # Ok::<(), zfinder::Error>(())
//! ```
//!
//! A sample of any size passes through little memory chunk by chunk:
//!
//! ```
//! use zfinder_study::simulate::{Geometry, Simulation};
//! let sample = Simulation { rois: 20, geometry: Geometry::Generic, ..Simulation::lowlum() }.whole_events();
//! let spacepoints: usize = sample.chunks().flatten().map(|event| event.roi.spacepoints.len()).sum();
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

/// The detectors that are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Geometry {
    /// The 19 layers of [`Detector::atlas2010`].
    #[default]
    Atlas2010,
    /// The 29 layers of [`Detector::generic`].
    Generic,
}

impl Geometry {
    /// Its layers, to which the spacepoints' `layer` refers.
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
/// which is the Tsallis form of minimum-bias collisions for particles whose mass is small against
/// pT: scale = n T and power = n, with T = 0.145 GeV and n = 6.6 at 7 TeV (CMS Collaboration, Phys.
/// Rev. Lett. 105 (2010) 022002).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PtSpectrum {
    /// Where the power law sets in \[GeV\], 0.01 to 1000.
    pub scale_gev: f64,
    /// The power, 3.1 to 100.
    pub power: f64,
}

/// The knobs of a sample. Start from [`Simulation::lowlum`] or [`Simulation::highlum`]. A knob out
/// of its range counts as the nearer end (NaN as the lower); [`Simulation::validate`] names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// Same knobs and same seed, same sample.
    pub seed: u64,
    /// RoIs in the sample, one an event.
    pub rois: usize,
    /// The detector.
    pub geometry: Geometry,
    /// Mean width of the phi window \[degrees\], 1 to 359, or 360: the full circle, and no window.
    /// Its centre is anywhere, so that some wrap at +-pi.
    pub window_deg: f64,
    /// Widths are flat within this of the mean \[degrees\], 0 to 180.
    pub window_spread_deg: f64,
    /// Tracks lie within this of the RoI's centre in eta, 0.01 to 5. (The RoI's descriptor keeps
    /// eta = 0: a region as wide as this asks for neither wider z bins nor another bending.)
    pub eta_half_width: f64,
    /// RoI centres are flat in eta within +- this, 0 to 5.
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
    /// rms over mean of that number between events, beside its Poisson spread, 0 to 1: luminosity
    /// differs.
    pub pile_up_spread: f64,
    /// Mean charged particles of a pile-up collision, a unit of eta over the full circle, 0 to
    /// 1000.
    pub tracks_per_eta: f64,
    /// The same of the hard scatter.
    pub hard_tracks_per_eta: f64,
    /// Momenta of pile-up.
    pub pt: PtSpectrum,
    /// Momenta of the hard scatter.
    pub hard_pt: PtSpectrum,
    /// Mean number of noise spacepoints for one of a track, 0 to 100.
    pub noise: f64,
    /// Probability that a layer sees a track that crosses it, 0 to 1.
    pub efficiency: f64,
    /// Factor on the resolution of all layers, 0 to 100; 0: they measure exactly.
    pub resolution: f64,
    /// Material of a layer at right angles \[radiation lengths\], 0 to 1; 0: no multiple
    /// scattering.
    pub radiation_lengths: f64,
    /// Solenoid field \[T\], 0.01 to 20.
    pub field_t: f64,
}

/// Where a collision was \[mm\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedVertex {
    /// x.
    pub x_mm: f64,
    /// y.
    pub y_mm: f64,
    /// z.
    pub z_mm: f64,
}

/// A charged particle as its collision made it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedTrack {
    /// Its collision: index into [`SimulatedRoi::truth`].
    pub vertex: u32,
    /// Transverse momentum \[GeV\].
    pub pt_gev: f64,
    /// Pseudorapidity.
    pub eta: f64,
    /// Azimuth \[rad\].
    pub phi: f64,
    /// +1 or -1, in a field along +z.
    pub charge: i8,
    /// How many spacepoints of the RoI are its own; none of a track that passes beside the window.
    pub spacepoints: u32,
}

/// One RoI and what was put into it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedRoi {
    /// The RoI: event id = index in the sample, RoI id 0, phi window set.
    pub roi: Roi,
    /// All collisions of the event, the hard scatter first; a pile-up collision need not have a
    /// track in the RoI.
    pub truth: Vec<SimulatedVertex>,
    /// All charged particles in the eta window and at any phi, collision by collision.
    pub tracks: Vec<SimulatedTrack>,
}

impl SimulatedRoi {
    /// Width of its phi window \[rad\].
    pub fn window_width(&self) -> f64 {
        match self.roi.descriptor.window {
            Some(PhiWindow::Range { phi_min, phi_max }) => PhiWindow::edges(phi_min, phi_max).1,
            _ => TAU,
        }
    }
}

impl Simulation {
    /// The thesis's *lowlum*, 650 RoIs: 341 spacepoints (thesis: 333) and 517 slices of 0.2 degrees
    /// (517) on average. The hard scatter is the highest peak of nearly all (98%).
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
            // An RoI lies about what made the trigger fire: denser and harder than an average hard
            // collision.
            hard_tracks_per_eta: 33.0,
            pt: PtSpectrum { scale_gev: 0.96, power: 6.6 },
            hard_pt: PtSpectrum { scale_gev: 2.5, power: 5.0 },
            noise: 0.15,
            efficiency: 0.97,
            resolution: 1.0,
            // About that of the pixel and strip layers with their supports (ATLAS, JINST 3 (2008)
            // S08003).
            radiation_lengths: 0.03,
            field_t: 2.0,
        }
    }

    /// The thesis's *highlum*, 1177 RoIs: 7834 spacepoints (thesis: 8104) and 542 slices of 0.2
    /// degrees (542) on average. So many spacepoints take some 180 collisions at once. Chance pairs
    /// then outnumber those of the hard scatter: pairs find it in about a fifth of the RoIs,
    /// triplets in half (thesis preset) to two thirds (defaults).
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

    /// The same as whole events: the full circle and |eta| < 2.5, without a window; a hard scatter
    /// of 17 tracks a unit of eta, as many as Pythia 8 gives top pairs at 14 TeV (83 charged
    /// particles of pT > 500 MeV there).
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

    /// Whether it is of whole events, which have no window.
    pub fn is_full_scan(&self) -> bool {
        self.window_deg >= FULL_CIRCLE_DEG
    }

    /// The detector of the sample.
    pub fn detector(&self) -> Detector {
        self.geometry.detector()
    }

    /// The variances of r and z of a spacepoint \[mm^2\] on every layer: r is exact in a barrel, z
    /// in a disk.
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

    /// One RoI, the same whatever else is made: its random numbers derive from the seed and `index`
    /// alone.
    pub fn event(&self, index: u64) -> SimulatedRoi {
        event::simulate(&self.bounded(), index)
    }

    /// All RoIs in order, some at a time, made side by side by all threads of rayon's pool. What
    /// was taken is forgotten: a sample of any size takes the memory of one chunk.
    pub fn chunks(&self) -> Chunks {
        Chunks::new(self.bounded())
    }

    /// All RoIs in order, and the true z of the hard scatter of each \[mm\]:
    /// [`Simulation::chunks`], all kept.
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
