//! A simulation of RoIs in the detector [`atlas2010`](crate::Detector::atlas2010), of the size of the thesis's samples
//! (Table 4.2), for benchmarks and for efficiency against truth. Seeded: on one platform the same knobs give the same
//! bits, on any number of threads (platforms differ in the last digit of a sine).
//!
//! # What is simulated
//!
//! - Collisions along a gaussian beam spot, at x = y = 0: the hard scatter, then a Poisson number of pile-up.
//! - Tracks flat in eta within the RoI's eta window and flat in phi, their number negative binomial, their transverse
//!   momentum falling by [`PtSpectrum`]; helices in a solenoid's field, followed outwards until they turn back.
//! - Barrel layers of finite length and disks with inner and outer radii; each may miss a track, measures it with a
//!   gaussian error (r-phi, and z in a barrel or r in a disk), and scatters it by 13.6 MeV / p * sqrt(x / X0).
//! - Noise: spacepoints that belong to no track.
//!
//! Not simulated: energy loss, decays, material between layers, modules and their overlaps, jets. Spacepoints outside
//! the RoI's phi window are left out.
//!
//! ```
//! use zfinder::{Config, Engine, ZFinder, simulate::Simulation};
//! let (batch, truth) = Simulation { rois: 10, ..Simulation::lowlum() }.batch();
//! let finder = ZFinder::builder().config(Config::default()).engine(Engine::Cpu).build()?;
//! let found = finder.find_batch(&batch)?;
//! let good = found.iter().zip(&truth).filter(|(roi, z)| (roi.vertices[0].z_mm - *z).abs() < 1.0);
//! assert!(good.count() >= 8);
//! # Ok::<(), zfinder::Error>(())
//! ```

mod event;
#[cfg(test)]
mod tests;
mod track;
mod tracker;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::spacepoint::{Roi, RoiBatch};

/// RoIs made side by side before they move into the batch: enough for any machine's threads, and little memory.
const CHUNK: usize = 128;

/// A falling spectrum of transverse momentum,
///
/// ```text
/// dN/dpT ~ pT (1 + pT / scale)^-power,    mean pT = 2 scale / (power - 3)
/// ```
///
/// which is the Tsallis form of minimum-bias collisions for particles whose mass is small against pT: scale = n T and
/// power = n, with T = 0.145 GeV and n = 6.6 at 7 TeV (CMS Collaboration, Phys. Rev. Lett. 105 (2010) 022002).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PtSpectrum {
    /// Where the power law sets in \[GeV\], 0.01 to 1000.
    pub scale_gev: f64,
    /// The power, 3.1 to 100.
    pub power: f64,
}

/// The knobs of a sample. Start from [`Simulation::lowlum`] or [`Simulation::highlum`]. A knob out of its range counts
/// as the nearer end (NaN as the lower); [`Simulation::validate`] names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// Same knobs and same seed, same sample.
    pub seed: u64,
    /// RoIs in the sample, one an event.
    pub rois: usize,
    /// Mean width of the phi window \[degrees\], 1 to 359. Its centre is anywhere, so that some wrap at +-pi.
    pub window_deg: f64,
    /// Widths are flat within this of the mean \[degrees\], 0 to 180.
    pub window_spread_deg: f64,
    /// Tracks lie within this of the RoI's centre in eta, 0.01 to 5. (The RoI's descriptor keeps eta = 0: a region as
    /// wide as this asks for neither wider z bins nor another bending.)
    pub eta_half_width: f64,
    /// RoI centres are flat in eta within +- this, 0 to 5.
    pub eta_centre_max: f64,
    /// Standard deviation of the beam spot along z \[mm\], 0 to 1000.
    pub beam_sigma_z_mm: f64,
    /// Mean number of pile-up collisions, 0 to 10,000.
    pub pile_up: f64,
    /// rms over mean of that number between events, beside its Poisson spread, 0 to 1: luminosity differs.
    pub pile_up_spread: f64,
    /// Mean charged particles of a pile-up collision, a unit of eta over the full circle, 0 to 1000.
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
    /// Solenoid field \[T\], 0.01 to 20.
    pub field_t: f64,
}

/// One RoI and what was put into it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedRoi {
    /// The RoI: event id = index in the sample, RoI id 0, phi window set.
    pub roi: Roi,
    /// True z of all collisions of the event \[mm\], the hard scatter first; a pile-up collision need not have a track
    /// in the RoI.
    pub truth: Vec<f64>,
}

impl Simulation {
    /// The thesis's *lowlum*: 650 RoIs of 340 spacepoints and 517 slices of 0.2 degrees on average. The
    /// hard scatter is the highest peak of nearly all (98%).
    pub fn lowlum() -> Self {
        Self {
            seed: 1,
            rois: 650,
            window_deg: 103.3,
            window_spread_deg: 5.0,
            eta_half_width: 1.3,
            eta_centre_max: 1.1,
            beam_sigma_z_mm: 56.0,
            pile_up: 4.6,
            pile_up_spread: 0.0,
            // Mean of minimum-bias collisions at 7 TeV near eta = 0 (CMS, as for the spectrum).
            tracks_per_eta: 5.8,
            // An RoI lies about what made the trigger fire: denser and harder than an average hard collision.
            hard_tracks_per_eta: 33.0,
            pt: PtSpectrum { scale_gev: 0.96, power: 6.6 },
            hard_pt: PtSpectrum { scale_gev: 2.5, power: 5.0 },
            noise: 0.15,
            efficiency: 0.97,
            field_t: 2.0,
        }
    }

    /// The thesis's *highlum*: 1177 RoIs of 7805 spacepoints and 542 slices of 0.2 degrees on average. So many
    /// spacepoints take some 180 collisions at once. Chance pairs then outnumber those of the hard scatter: pairs find
    /// it in about a fifth of the RoIs, triplets in half (thesis preset) to two thirds (defaults).
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

    /// One RoI, the same whatever else is made: its random numbers derive from the seed and `index` alone.
    pub fn event(&self, index: u64) -> SimulatedRoi {
        event::simulate(&self.bounded(), index)
    }

    /// All RoIs in order, and the true z of the hard scatter of each \[mm\]. Made by all threads of rayon's pool.
    pub fn batch(&self) -> (RoiBatch, Vec<f64>) {
        let knobs = self.bounded();
        let mut batch = RoiBatch::new();
        let mut truth = Vec::with_capacity(self.rois);
        for start in (0..self.rois).step_by(CHUNK) {
            let end = (start + CHUNK).min(self.rois);
            let made: Vec<_> =
                (start..end).into_par_iter().map(|index| event::simulate(&knobs, index as u64)).collect();
            for SimulatedRoi { roi, truth: vertices } in made {
                batch.push(roi.descriptor, roi.spacepoints);
                truth.extend(vertices.first());
            }
        }
        (batch, truth)
    }

    /// Checks every knob.
    ///
    /// # Errors
    /// [`Error::Config`] with the knob, its value and its range.
    pub fn validate(&self) -> Result<()> {
        for (key, value, low, high) in self.clone().ranges() {
            // Not a number is in no range.
            if !(low..=high).contains(value) {
                let reason = format!("must lie in [{low}, {high}]");
                return Err(Error::Config { key, value: value.to_string(), reason });
            }
        }
        Ok(())
    }

    /// Every knob in its range, so that no distribution lacks a parameter and no loop an end.
    fn bounded(&self) -> Self {
        let mut bounded = self.clone();
        for (_, value, low, high) in bounded.ranges() {
            *value = if value.is_nan() { low } else { value.clamp(low, high) };
        }
        bounded
    }

    fn ranges(&mut self) -> [(&'static str, &mut f64, f64, f64); 16] {
        [
            ("window_deg", &mut self.window_deg, 1.0, 359.0),
            ("window_spread_deg", &mut self.window_spread_deg, 0.0, 180.0),
            ("eta_half_width", &mut self.eta_half_width, 0.01, 5.0),
            ("eta_centre_max", &mut self.eta_centre_max, 0.0, 5.0),
            ("beam_sigma_z_mm", &mut self.beam_sigma_z_mm, 0.0, 1e3),
            ("pile_up", &mut self.pile_up, 0.0, 1e4),
            ("pile_up_spread", &mut self.pile_up_spread, 0.0, 1.0),
            ("tracks_per_eta", &mut self.tracks_per_eta, 0.0, 1e3),
            ("hard_tracks_per_eta", &mut self.hard_tracks_per_eta, 0.0, 1e3),
            ("pt.scale_gev", &mut self.pt.scale_gev, 0.01, 1e3),
            ("pt.power", &mut self.pt.power, 3.1, 100.0),
            ("hard_pt.scale_gev", &mut self.hard_pt.scale_gev, 0.01, 1e3),
            ("hard_pt.power", &mut self.hard_pt.power, 3.1, 100.0),
            ("noise", &mut self.noise, 0.0, 100.0),
            ("efficiency", &mut self.efficiency, 0.0, 1.0),
            ("field_t", &mut self.field_t, 0.01, 20.0),
        ]
    }
}
