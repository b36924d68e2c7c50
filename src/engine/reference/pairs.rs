//! Pairs, the third spacepoints that confirm them, and their entries in histograms.

#[cfg(feature = "internals")]
use std::ops::ControlFlow;

use super::engine::ReferenceEngine;
use super::histograms::Histograms;
#[cfg(feature = "internals")]
use super::peaks::Peak;
use super::slices::{Point, Sliced};
use crate::cancellation::Cancellation;
use crate::config::Extrapolation;
use crate::detector::{Layer, LayerKind};
use crate::error::Result;
#[cfg(feature = "internals")]
use crate::spacepoint::{RoiView, Spacepoint};
use crate::z_bins::ZBins;

/// A pair of spacepoints, about the beam, that a peak consists of.
#[cfg(feature = "internals")]
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// On the inner layer.
    pub inner: Spacepoint,
    /// On the outer layer.
    pub outer: Spacepoint,
    /// Third spacepoints that confirm the pair; empty without triplets.
    pub thirds: Vec<Spacepoint>,
    /// Where the line through the two meets the beam \[mm\].
    pub z_mm: f64,
    /// The pair's weight.
    pub weight: u64,
}

/// A pair of spacepoints, a on the inner layer, and where it lies.
pub(super) struct Candidate<'a> {
    pub(super) a: &'a Point,
    pub(super) b: Point,
    pub(super) layer_a: usize,
    pub(super) layer_b: usize,
    /// The filled layers beyond b's, where third spacepoints may lie.
    pub(super) outer: &'a [usize],
    /// The slice of a, and slices from there to b.
    pub(super) s: i64,
    pub(super) step: i64,
    pub(super) z12: f64,
    pub(super) bin: usize,
}

impl ReferenceEngine {
    /// Returns the pairs in the three bins of a peak, in the order of the search.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    #[cfg(feature = "internals")]
    pub fn pairs(&self, roi: RoiView<'_>, peak: &Peak) -> Result<Vec<Pair>> {
        let eta = roi.descriptor.eta;
        let bins = self.config.z_bins(eta, roi.descriptor.z_range)?;
        let mut pairs = Vec::new();
        let Some(sliced) = self.slice_spacepoints(roi) else { return Ok(pairs) };
        let spacepoint = |point: &Point| self.about_beam(roi.spacepoint(point.index)).expect("it was sliced");
        self.each_pair(&sliced, &bins, eta, Cancellation::default(), |pair| {
            if !(peak.first_bin..peak.first_bin + 3).contains(&pair.bin)
                || !self.histograms_of(&sliced, &pair, eta).contains(&peak.histogram)
            {
                return;
            }
            let weight = self.entry(&sliced, &pair, eta).weight;
            if weight > 0 {
                let mut thirds = Vec::new();
                self.each_third(&sliced, &pair, eta, |_, c| {
                    thirds.push(spacepoint(&c));
                    ControlFlow::Continue(())
                });
                let (inner, outer) = (spacepoint(pair.a), spacepoint(&pair.b));
                pairs.push(Pair { inner, outer, thirds, z_mm: pair.z12, weight });
            }
        });
        Ok(pairs)
    }

    /// n(A, B) at the RoI's eta.
    pub(super) fn reach(&self, inner: usize, outer: usize, eta: f64) -> i64 {
        let n = i64::from(self.neighbours[inner][outer]);
        let layers = self.detector.layers();
        if layers[inner].is_endcap() || layers[outer].is_endcap() {
            return (n - i64::from(self.detector.endcap_shift(&self.config, eta))).max(1);
        }
        n
    }

    /// Fills the histograms of each charge and of each slice.
    ///
    /// # Errors
    /// The search is cancelled.
    pub(super) fn find_z(
        &self,
        sliced: &Sliced,
        bins: &ZBins,
        eta: f64,
        cancellation: Cancellation<'_>,
    ) -> Result<Histograms> {
        let mut histograms = Histograms::empty(bins, self.config.histograms(sliced.slices as u32) as usize);
        let precisions = self.precisions();
        self.each_pair(sliced, bins, eta, cancellation, |pair| {
            let entry = self.entry(sliced, &pair, eta);
            let weight = entry.weight;
            for histogram in self.histograms_of(sliced, &pair, eta) {
                let bin = histogram * histograms.bins + pair.bin;
                histograms.n[bin] += weight;
                histograms.z[bin] += weight as f64 * pair.z12;
                histograms.pairs[bin] += u64::from(weight > 0);
                // From the bin's lower edge on.
                let eighth = 8.0 * (pair.z12 / bins.width - bins.offset - pair.bin as f64 + 0.5);
                if weight > 0 {
                    histograms.eighths[bin][(eighth as usize).min(7)] += precisions[pair.layer_a][pair.layer_b];
                }
                for (all, new) in histograms.sectors[bin].iter_mut().zip(entry.sectors) {
                    *all |= new;
                }
            }
        });
        cancellation.check().map(|()| histograms)
    }

    /// Returns the weight of each pair of layers in the mean z of a peak (`docs/physics.md`).
    fn precisions(&self) -> Vec<Vec<u64>> {
        let layers = self.detector.layers();
        let inverse_square = |a: &Layer, b: &Layer| {
            let (LayerKind::Barrel { radius_mm: r1 }, LayerKind::Barrel { radius_mm: r2 }) = (a.kind, b.kind) else {
                return None;
            };
            let (s1, s2) = a.z_resolution_mm.zip(b.z_resolution_mm).filter(|_| r1 != r2)?;
            Some((r2 - r1).powi(2) / ((s1 * r2).powi(2) + (s2 * r1).powi(2)))
        };
        let all = layers.iter().flat_map(|a| layers.iter().filter_map(move |b| inverse_square(a, b)));
        let best = all.fold(0.0, f64::max);
        let precision = |a, b| inverse_square(a, b).map_or(1.0, |one| (16.0 * one / best).round().max(1.0)) as u64;
        layers.iter().map(|a| layers.iter().map(|b| precision(a, b)).collect()).collect()
    }

    /// Hands every pair whose z lies in the range to `each`, until the search is cancelled.
    pub(super) fn each_pair(
        &self,
        sliced: &Sliced,
        bins: &ZBins,
        eta: f64,
        cancellation: Cancellation<'_>,
        mut each: impl FnMut(Candidate<'_>),
    ) {
        let filled = &sliced.filled;
        let inner = (self.config.first_layers as usize).min(filled.len().saturating_sub(1));
        for s in 0..sliced.slices {
            for (i, &layer_a) in filled[..inner].iter().enumerate() {
                for a in &sliced.cells[layer_a][s as usize] {
                    for (j, &layer_b) in filled.iter().enumerate().skip(i + 1) {
                        let n = self.reach(layer_a, layer_b, eta);
                        for (step, b) in sliced.around(layer_b, s, n, n) {
                            let z12 = self.extrapolate(a, &b);
                            if !(bins.z_min < z12 && z12 < bins.z_max) {
                                continue;
                            }
                            if cancellation.is_requested() {
                                return;
                            }
                            let bin = (z12 / bins.width - bins.offset).round_ties_even() as usize;
                            each(Candidate { a, b, layer_a, layer_b, outer: &filled[j + 1..], s, step, z12, bin });
                        }
                    }
                }
            }
        }
    }

    /// Returns the numbers of the histograms that a pair goes into.
    pub(super) fn histograms_of(&self, sliced: &Sliced, pair: &Candidate<'_>, eta: f64) -> Vec<usize> {
        let &Candidate { layer_a, s, step, .. } = pair;
        let mut histograms = Vec::new();
        let charges = if self.config.charge_aware { 2 } else { 1 };
        for charge in 0..charges {
            if self.config.charge_aware && (if charge == 0 { step > 1 } else { step < -1 }) {
                continue;
            }
            if !self.config.histogram_per_slice {
                histograms.push(charge);
                continue;
            }
            // Where the track may have been at the innermost layer.
            let m = if layer_a == 0 { 0 } else { self.reach(0, layer_a, eta).max(1) };
            let one = m.min(1);
            let (below, above) = match (self.config.charge_aware, charge) {
                (false, _) => (m, m),
                (true, 0) => (one, m),
                (true, _) => (m, one),
            };
            let (below, above) = sliced.once(below, above);
            for slice in s - below..=s + above {
                let slice = if sliced.ring { slice.rem_euclid(sliced.slices) } else { slice };
                if (0..sliced.slices).contains(&slice) {
                    histograms.push(charge * sliced.slices as usize + slice as usize);
                }
            }
        }
        histograms
    }

    /// z where the line through two spacepoints meets the beam, or is nearest to it.
    pub(super) fn extrapolate(&self, a: &Point, b: &Point) -> f64 {
        let (mut rho_a, mut rho_b) = (a.rho, b.rho);
        if self.config.extrapolation == Extrapolation::Accurate {
            let (xa, ya, xb, yb) = (a.rho * a.phi.cos(), a.rho * a.phi.sin(), b.rho * b.phi.cos(), b.rho * b.phi.sin());
            let d0_squared = (xa * yb - xb * ya).powi(2) / ((xb - xa).powi(2) + (yb - ya).powi(2));
            (rho_a, rho_b) = ((rho_a * rho_a - d0_squared).sqrt(), (rho_b * rho_b - d0_squared).sqrt());
        }
        (b.z * rho_a - a.z * rho_b) / (rho_a - rho_b)
    }
}
