//! What one RoI's search needs, worked out once on the host in f64 and used alike by the CPU and the GPU engine:
//! beam spot, phi window, each spacepoint's slice, z bins. Slices are therefore the same on every adapter, however it
//! rounds.

use std::f64::consts::{PI, TAU};

use crate::config::{Config, DefaultWindow, Triplets, ZBins};
use crate::detector::Detector;
use crate::engine::real::{Real, RoiWords, TripletCuts, ZScale};
use crate::error::Result;
use crate::spacepoint::{PhiWindow, RoiDescriptor, RoiView, normalised, usable};
use crate::vertex::{RoiResult, Status};

/// Configuration and detector, boiled down to what the stages ask.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) config: Config,
    pub(crate) detector: Detector,
    /// n(A, B), row A, column B, and [`ENDCAP_PAIR`] where an RoI's eta moves it.
    pub(crate) neighbours: Vec<u32>,
}

/// Set in a neighbour count of a pair with a disk.
pub(crate) const ENDCAP_PAIR: u32 = 1 << 31;

/// One RoI's window, bins and fate.
#[derive(Clone, Debug)]
pub(crate) struct RoiPlan {
    pub(crate) descriptor: RoiDescriptor,
    pub(crate) bins: ZBins,
    pub(crate) slices: u32,
    /// Slices at both ends are neighbours.
    pub(crate) ring: bool,
    pub(crate) endcap_shift: i32,
    /// Spacepoints kept.
    pub(crate) kept: usize,
    outside: usize,
    /// A spacepoint that cannot be.
    bad: bool,
}

impl Search {
    pub(crate) fn new(config: &Config, detector: &Detector) -> Self {
        let layers = detector.layers();
        let counts = detector.neighbours(config);
        let neighbours = (0..layers.len() * layers.len())
            .map(|i| {
                let (a, b) = (i / layers.len(), i % layers.len());
                let endcap = layers[a].is_endcap() || layers[b].is_endcap();
                counts[a][b] | if endcap { ENDCAP_PAIR } else { 0 }
            })
            .collect();
        Self { config: config.clone(), detector: detector.clone(), neighbours }
    }

    pub(crate) fn layers(&self) -> usize {
        self.detector.layers().len()
    }

    /// n(A, B) in an RoI. `reach` in `shaders/neighbours.wgsl`.
    pub(crate) fn reach(&self, inner: usize, outer: usize, endcap_shift: i32) -> u32 {
        let n = self.neighbours[inner * self.layers() + outer];
        if n & ENDCAP_PAIR == 0 { n } else { ((n & !ENDCAP_PAIR) as i32 - endcap_shift).max(1) as u32 }
    }

    pub(crate) fn triplet_cuts<R: Real>(&self) -> TripletCuts<R> {
        TripletCuts {
            dz: R::of(self.config.triplet_dz_mm),
            dk: R::of(self.config.triplet_dk),
            dp: R::of(self.config.triplet_dp),
        }
    }

    /// 0, 1, 2: off, any, count; as the shaders number them.
    pub(crate) fn triplet_mode(&self) -> u32 {
        match self.config.triplets {
            Triplets::Off => 0,
            Triplets::Any => 1,
            Triplets::Count => 2,
        }
    }

    /// rho and phi about the beam spot, or None for a spacepoint that cannot be.
    fn about_beam(&self, rho: f64, phi: f64, z: f64, layer: u32) -> Option<(f64, f64)> {
        if !usable(rho, phi, z) || layer as usize >= self.layers() {
            return None;
        }
        let [x0, y0] = self.config.beam_spot_mm;
        if x0 == 0.0 && y0 == 0.0 {
            return Some((rho, normalised(phi)));
        }
        let (x, y) = (rho * phi.cos() - x0, rho * phi.sin() - y0);
        let rho = (x * x + y * y).sqrt();
        usable(rho, phi, z).then(|| (rho, y.atan2(x)))
    }

    /// Plans an RoI and appends those of its spacepoints that take part to `packed`.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    pub(crate) fn plan<R: Real>(&self, roi: RoiView<'_>, packed: &mut Vec<R::Spacepoint>) -> Result<RoiPlan> {
        let bins = self.config.z_bins(roi.descriptor.eta, roi.descriptor.z_range)?;
        let mut plan = RoiPlan {
            descriptor: *roi.descriptor,
            bins,
            slices: 1,
            ring: false,
            endcap_shift: self.detector.endcap_shift(&self.config, roi.descriptor.eta),
            kept: 0,
            outside: 0,
            bad: true,
        };
        let before = packed.len();
        let window = roi.descriptor.window.unwrap_or(match self.config.phi_window {
            DefaultWindow::FullScan => PhiWindow::FullScan,
            DefaultWindow::Spacepoints => PhiWindow::FromSpacepoints,
        });
        let (phi_min, width) = match window {
            PhiWindow::FullScan => (-PI, TAU),
            PhiWindow::Range { phi_min, phi_max } => PhiWindow::edges(phi_min, phi_max),
            PhiWindow::FromSpacepoints => {
                let mut extremes = Extremes::default();
                for s in roi.spacepoints() {
                    let Some((_, phi)) = self.about_beam(s.rho, s.phi, s.z, s.layer) else { return Ok(plan) };
                    extremes.add(phi);
                }
                extremes.window()
            }
        };
        let full = window == PhiWindow::FullScan;
        let inv = self.config.slices_per_rad();
        // The circle over a slice that divides it must not round up to one slice more.
        plan.slices = ((width * inv - 1e-9).ceil()).max(1.0) as u32;
        plan.ring = full && self.config.wrap_full_scan;
        for i in 0..roi.len() {
            let (z, layer) = (roi.z[i], roi.layer[i]);
            let Some((rho, phi)) = self.about_beam(roi.rho[i], roi.phi[i], z, layer) else {
                packed.truncate(before);
                return Ok(plan);
            };
            let mut from_edge = phi - phi_min;
            if from_edge < 0.0 {
                from_edge += TAU;
            }
            if from_edge >= TAU {
                from_edge -= TAU;
            }
            if from_edge < width {
                let slice = ((from_edge * inv) as u32).min(plan.slices - 1);
                packed.push(R::spacepoint(rho, from_edge, z, slice, layer));
            }
        }
        plan.bad = false;
        plan.kept = packed.len() - before;
        plan.outside = roi.len() - plan.kept;
        Ok(plan)
    }
}

impl RoiPlan {
    /// Whether there is anything to search.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept == 0
    }

    pub(crate) fn z_scale<R: Real>(&self) -> ZScale<R> {
        ZScale {
            z_min: R::of(self.bins.z_min),
            z_max: R::of(self.bins.z_max),
            inverse_width: R::of(1.0 / self.bins.width),
            offset: R::of(self.bins.offset),
        }
    }

    /// The words of the RoI's record that do not depend on where its data lie in a batch.
    pub(crate) fn words(&self) -> RoiWords {
        RoiWords {
            spacepoint_count: self.kept as u32,
            slices: self.slices,
            ring: u32::from(self.ring),
            endcap_shift: self.endcap_shift,
            bins: self.bins.bins,
            half: self.bins.half,
            ..RoiWords::default()
        }
    }

    /// The answer: these vertices, or why there is none.
    pub(crate) fn result(&self, vertices: Vec<crate::vertex::Vertex>, capacity_exceeded: bool) -> RoiResult {
        let status = if self.bad {
            Status::BadSpacepoint
        } else if self.kept == 0 {
            Status::Empty
        } else if capacity_exceeded {
            Status::CapacityExceeded
        } else if vertices.is_empty() {
            Status::NoPeak
        } else {
            Status::Ok
        };
        let vertices = if status == Status::Ok { vertices } else { Vec::new() };
        RoiResult { id: self.descriptor.id, vertices, status, spacepoints: self.kept, outside_window: self.outside }
    }
}

/// Lowest and highest phi, of positive and of other values apart.
#[derive(Default)]
struct Extremes {
    positive: Option<(f64, f64)>,
    negative: Option<(f64, f64)>,
}

impl Extremes {
    fn add(&mut self, phi: f64) {
        let side = if phi > 0.0 { &mut self.positive } else { &mut self.negative };
        let (low, high) = side.unwrap_or((phi, phi));
        *side = Some((low.min(phi), high.max(phi)));
    }

    /// Lower edge and width: through 0 if the two sides are nearer to each other there than at pi.
    fn window(&self) -> (f64, f64) {
        const PAD: f64 = 1e-10;
        let (low, high) = match (self.positive, self.negative) {
            (None, None) => (0.0, 0.0),
            (Some(side), None) | (None, Some(side)) => side,
            (Some(p), Some(n)) if p.0 - n.1 < PI => (n.0, p.1),
            (Some(p), Some(n)) => (p.0, n.1 + TAU),
        };
        (low - PAD, (high - low + 2.0 * PAD).min(TAU))
    }
}
