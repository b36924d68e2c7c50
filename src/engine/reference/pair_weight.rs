//! Third spacepoints that confirm pairs, and the weights of pairs.

use std::ops::ControlFlow;

use super::engine::ReferenceEngine;
use super::pairs::Candidate;
use super::slices::{Point, Sliced};
use crate::config::PairWeight;
use crate::detector::Sensor;
use crate::pt_weight::PtWeight;

/// A pair's entry in a bin.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) weight: u64,
    pub(super) sectors: [u32; 2],
}

impl ReferenceEngine {
    /// Returns the entry of a pair.
    pub(super) fn entry(&self, sliced: &Sliced, pair: &Candidate<'_>, eta: f64) -> Entry {
        let weight = match self.config.pair_weight {
            PairWeight::One => 1,
            PairWeight::Any => self.count_thirds(sliced, pair, eta).min(1),
            PairWeight::Count => self.count_thirds(sliced, pair, eta),
            PairWeight::Pt => {
                let pt = self.pt_weight(sliced, pair, eta);
                let sector = 1 << (pair.s * i64::from(PtWeight::SECTORS) / sliced.slices);
                let sectors = pt.directions().map(|counts| if counts { sector } else { 0 });
                return Entry { weight: pt.weight().into(), sectors };
            }
        };
        Entry { weight, ..Entry::default() }
    }

    fn count_thirds(&self, sliced: &Sliced, pair: &Candidate<'_>, eta: f64) -> u64 {
        let mut thirds = 0;
        self.each_third(sliced, pair, eta, |_, _| {
            thirds += 1;
            ControlFlow::Continue(())
        });
        thirds
    }

    /// Hands the third spacepoints that confirm a pair, with their layers, to `each`, from the
    /// inside out, until it breaks. Without triplets, no spacepoint confirms.
    pub(super) fn each_third(
        &self,
        sliced: &Sliced,
        pair: &Candidate<'_>,
        eta: f64,
        mut each: impl FnMut(usize, Point) -> ControlFlow<()>,
    ) {
        if self.config.pair_weight == PairWeight::One {
            return;
        }
        let &Candidate { a, ref b, layer_b, s, step, z12, .. } = pair;
        let (k12, p12) = bend(a, b);
        let by_pt = self.config.pair_weight == PairWeight::Pt;
        for &layer_c in pair.outer {
            let n = self.reach(layer_b, layer_c, eta);
            // The bending keeps its sign.
            let below = if step >= 0 { 1 } else { n };
            let above = if step <= 0 { 1 } else { n };
            let strips = self.detector.layers()[layer_c].sensor.is_some_and(|sensor| sensor > Sensor::Pixel);
            let dz = self.config.triplet_dz_mm * if by_pt && strips { PtWeight::STRIP_DZ } else { 1.0 };
            for (_, c) in sliced.around(layer_c, s + step, below, above) {
                // `around` gives phi near slice s + step of an unrolled circle, as b's is.
                let near = (self.extrapolate(b, &c) - z12).abs() <= dz;
                if !near {
                    continue;
                }
                let (k23, p23) = bend(b, &c);
                let confirms = (k23 - k12).abs() <= self.config.triplet_dk
                    && (p23 - p12).abs() < self.config.triplet_dp
                    && (!by_pt || a.rho < b.rho && b.rho < c.rho);
                if confirms && each(layer_c, c).is_break() {
                    return;
                }
            }
        }
    }

    /// Returns the weight of a pair by the pT of its track.
    fn pt_weight(&self, sliced: &Sliced, pair: &Candidate<'_>, eta: f64) -> PtWeight {
        let a = pair.a;
        let mut weight = PtWeight::of_pair(self.detector.layers()[pair.layer_b].is_endcap());
        // The hardest of each layer.
        let (mut layer, mut best) = (0, 0.0f64);
        let mut end_layer = |best: f64| {
            weight.add_layer(best);
            weight.pt = weight.pt.max(best);
        };
        self.each_third(sliced, pair, eta, |layer_c, c| {
            if layer_c != layer {
                end_layer(best);
                (layer, best) = (layer_c, 0.0);
            }
            let (k13, _) = bend(a, &c);
            let blur = PtWeight::RESOLUTION_MM / (a.rho * (c.rho - a.rho));
            best = best.max(0.0003 * self.config.field_t / (k13.abs() + blur));
            ControlFlow::Continue(())
        });
        end_layer(best);
        weight
    }
}

/// Curvature k and azimuth p at the beam line of the track through two spacepoints.
fn bend(a: &Point, b: &Point) -> (f64, f64) {
    let d = a.rho - b.rho;
    (2.0 * (b.phi - a.phi) / d, (b.phi * a.rho - a.phi * b.rho) / d)
}
