//! The hits of an RoI: valid spacepoints of pixel layers within its window, about the beam.

use std::f64::consts::{PI, TAU};

use crate::engine::plan::{RoiPlan, Search};
use crate::engine::tracklets::search::{FitHit, TrackletSearch};
use crate::spacepoint::{RoiView, SpacepointsView, is_near};

/// An RoI with all that says which of its spacepoints are hits.
#[derive(Clone, Copy)]
pub(crate) struct RoiHits<'a> {
    pub(crate) tracklets: &'a TrackletSearch,
    search: &'a Search,
    plan: &'a RoiPlan,
    roi: RoiView<'a>,
    /// A bit for each pixel layer that takes part.
    layers: u64,
}

impl<'a> RoiHits<'a> {
    pub(crate) fn new(tracklets: &'a TrackletSearch, search: &'a Search, plan: &'a RoiPlan, roi: RoiView<'a>) -> Self {
        let takes = |(number, layer): (usize, &Option<_>)| layer.is_some() && search.layer_mask.takes(number as u32);
        let bits = tracklets.layers.iter().enumerate().map(|of| u64::from(takes(of)) << of.0);
        Self { tracklets, search, plan, roi, layers: bits.sum() }
    }

    /// The spacepoint of this number, which is a hit.
    pub(crate) fn fit_hit(&self, number: u32) -> FitHit {
        let s = self.roi.spacepoint(number as usize);
        let about_beam = self.search.about_beam(s.rho, s.phi, s.z, s.layer);
        let (Some((rho, phi)), Some(layer)) = (about_beam, &self.tracklets.layers[s.layer as usize]) else {
            return FitHit::default();
        };
        FitHit { rho, phi, z: s.z, thickness: layer.thickness, resolution: layer.resolution }
    }

    /// Calls `take` with the number, the layer, and rho, phi and z of each hit.
    #[inline(always)]
    pub(crate) fn for_each(&self, take: impl FnMut(u32, u32, [f64; 3])) {
        match self.roi.spacepoints {
            SpacepointsView::Double([rho, phi, z], layers) => {
                self.each(layers.len(), |i| ([rho[i], phi[i], z[i]], u32::from(layers[i])), take);
            }
            SpacepointsView::Single([rho, phi, z], layers) => {
                self.each(layers.len(), |i| ([rho[i], phi[i], z[i]].map(f64::from), u32::from(layers[i])), take);
            }
            SpacepointsView::Records(records) => {
                let at = |i: usize| ([records[i].rho, records[i].phi, records[i].z], records[i].layer);
                self.each(records.len(), at, take);
            }
        }
    }

    #[inline(always)]
    fn each(&self, count: usize, at: impl Fn(usize) -> ([f64; 3], u32), mut take: impl FnMut(u32, u32, [f64; 3])) {
        let is_beam_at_origin = self.search.config.is_beam_at_origin();
        let holds_all = self.plan.width >= TAU;
        for i in 0..count {
            let ([rho, phi, z], layer) = at(i);
            if layer > 63 || self.layers >> layer & 1 == 0 {
                continue;
            }
            // Valid, with phi from -pi to pi: most spacepoints.
            let (rho, phi) = if is_beam_at_origin && is_near(rho, z) && phi.abs() <= PI {
                (rho, phi)
            } else {
                let Some(about_beam) = self.search.about_beam(rho, phi, z, layer) else { continue };
                about_beam
            };
            if holds_all || self.plan.holds(phi) {
                take(i as u32, layer, [rho, phi, z]);
            }
        }
    }
}
