//! Spacepoints by layer and slice.

use std::collections::HashSet;
use std::f64::consts::{PI, TAU};

use super::engine::ReferenceEngine;
use crate::config::{DefaultWindow, PairWeight};
use crate::engine::candidates::Candidates;
use crate::spacepoint::{PhiWindow, RoiView, Spacepoint};

/// A spacepoint as the search uses it: phi from the lower edge of the window.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) rho: f64,
    pub(super) phi: f64,
    pub(super) z: f64,
    /// Its number in the RoI.
    pub(super) index: usize,
}

/// Kept spacepoints by layer and slice, and the window they lie in.
pub(super) struct Sliced {
    /// `cells[layer][slice]`
    pub(super) cells: Vec<Vec<Vec<Point>>>,
    pub(super) slices: i64,
    /// Slices at both ends are neighbours.
    pub(super) ring: bool,
    /// Layers with a spacepoint, ascending.
    pub(super) filled: Vec<usize>,
    pub(super) kept: usize,
    pub(super) outside: usize,
}

impl Sliced {
    /// Tells whether the spacepoint of a number takes part.
    pub(super) fn is_kept(&self) -> impl Fn(usize) -> bool + use<> {
        let points = self.cells.iter().flatten().flatten();
        let kept: HashSet<usize> = points.map(|point| point.index).collect();
        move |number| kept.contains(&number)
    }
}

impl ReferenceEngine {
    /// Returns the spacepoints by layer and slice; none if one of them is invalid.
    pub(super) fn slice_spacepoints(&self, roi: RoiView<'_>) -> Option<Sliced> {
        let layers = self.detector.layers().len();
        let mut points = Vec::new();
        let mut left_out = 0;
        for (index, s) in roi.spacepoints().enumerate() {
            let Spacepoint { rho, phi, z, layer } = self.about_beam(s).filter(|s| (s.layer as usize) < layers)?;
            if self.layers >> layer & 1 == 0 {
                left_out += 1;
                continue;
            }
            points.push((layer as usize, Point { rho, phi, z, index }));
        }

        let window = roi.descriptor.window.unwrap_or(match self.config.phi_window {
            DefaultWindow::FullScan => PhiWindow::FullScan,
            DefaultWindow::Spacepoints => PhiWindow::FromSpacepoints,
        });
        let full = window == PhiWindow::FullScan;
        let (phi_min, width) = match window {
            PhiWindow::FullScan => (-PI, TAU),
            PhiWindow::Range { phi_min, phi_max } => PhiWindow::edges(phi_min, phi_max),
            PhiWindow::FromSpacepoints => window_of(points.iter().map(|(_, p)| p.phi)),
        };
        let inv = self.config.slices_per_rad();
        // 2 pi over a slice that divides the circle must not round up to one slice more.
        let slices = ((width * inv - 1e-9).ceil() as i64).max(1);
        let mut cells = vec![vec![Vec::new(); slices as usize]; layers];
        let (mut kept, mut outside) = (0, left_out);
        for (layer, mut point) in points {
            let mut phi = point.phi - phi_min;
            if phi < 0.0 {
                phi += TAU;
            }
            if phi >= TAU {
                phi -= TAU;
            }
            if phi >= width {
                outside += 1;
                continue;
            }
            kept += 1;
            point.phi = phi;
            let slice = ((phi * inv).floor() as i64).min(slices - 1);
            cells[layer][slice as usize].push(point);
        }
        let filled = (0..layers).filter(|&l| cells[l].iter().any(|cell| !cell.is_empty())).collect();
        Some(Sliced { cells, slices, ring: full && self.config.wrap_full_scan, filled, kept, outside })
    }
}

impl ReferenceEngine {
    /// Returns the number of candidates of an RoI; none if a spacepoint is invalid.
    #[cfg(test)]
    pub(crate) fn count_candidates_of(&self, roi: RoiView<'_>) -> Option<Candidates> {
        self.slice_spacepoints(roi).map(|sliced| self.count_candidates(&sliced, roi.descriptor.eta))
    }

    /// Returns the number of pairs within reach and, where third spacepoints confirm pairs, of the
    /// pairs with a third spacepoint within reach of the outer one.
    pub(super) fn count_candidates(&self, sliced: &Sliced, eta: f64) -> Candidates {
        let filled = &sliced.filled;
        let inner_layers = (self.config.first_layers as usize).min(filled.len().saturating_sub(1));
        let (mut pairs, mut triplets) = (0, 0);
        for (i, &b) in filled.iter().enumerate() {
            for s in (0..sliced.slices).filter(|&s| !sliced.cells[b][s as usize].is_empty()) {
                let count = |layers: &[usize]| -> u128 {
                    let reach = |layer: usize| self.reach(layer.min(b), layer.max(b), eta);
                    layers.iter().map(|&layer| sliced.count_around(layer, s, reach(layer)) as u128).sum()
                };
                let pairs_here = sliced.cells[b][s as usize].len() as u128 * count(&filled[..i.min(inner_layers)]);
                pairs += pairs_here;
                triplets += pairs_here * count(&filled[i + 1..]);
            }
        }
        let confirms = self.config.pair_weight != PairWeight::One;
        Candidates { pairs: pairs as f64, triplets: if confirms { triplets as f64 } else { 0.0 } }
    }
}

impl Sliced {
    /// Returns the number of spacepoints of a layer within `reach` slices of one.
    fn count_around(&self, layer: usize, s: i64, reach: i64) -> usize {
        let (below, above) = self.once(reach, reach);
        let slices = s - below..=s + above;
        let slices = slices.filter_map(|slice| match self.ring {
            true => Some(slice.rem_euclid(self.slices)),
            false => (0..self.slices).contains(&slice).then_some(slice),
        });
        slices.map(|slice| self.cells[layer][slice as usize].len()).sum()
    }

    /// Slices below and above one, so that on a ring none is reached twice.
    pub(super) fn once(&self, below: i64, above: i64) -> (i64, i64) {
        if self.ring && below + above >= self.slices {
            ((self.slices - 1) / 2, self.slices - 1 - (self.slices - 1) / 2)
        } else {
            (below, above)
        }
    }

    /// Spacepoints of a layer in the slices from `s - below` to `s + above`, each with its distance
    /// from s in slices. On a ring, a slice is reached once, the shorter way round, and phi goes on
    /// beyond the ends.
    pub(super) fn around(
        &self,
        layer: usize,
        s: i64,
        below: i64,
        above: i64,
    ) -> impl Iterator<Item = (i64, Point)> + '_ {
        let (below, above) = self.once(below, above);
        let (from, to) =
            if self.ring { (s - below, s + above) } else { ((s - below).max(0), (s + above).min(self.slices - 1)) };
        (from..=to).flat_map(move |unrolled| {
            let slice = unrolled.rem_euclid(self.slices);
            let mut step = (slice - s).rem_euclid(self.slices);
            if !self.ring {
                step = slice - s;
            } else if 2 * step > self.slices {
                step -= self.slices;
            }
            // Whole turns between where the slice lies and where it is seen from s.
            let turns = (s + step - slice) / self.slices;
            self.cells[layer][slice as usize]
                .iter()
                .map(move |&point| (step, Point { phi: point.phi + turns as f64 * TAU, ..point }))
        })
    }
}

/// Lower edge and width of the smallest window about these azimuths, positive and negative ones
/// taken separately.
fn window_of(azimuths: impl Iterator<Item = f64>) -> (f64, f64) {
    const PAD: f64 = 1e-10;
    let (mut positive, mut negative) = (None::<(f64, f64)>, None::<(f64, f64)>);
    for phi in azimuths {
        let side = if phi > 0.0 { &mut positive } else { &mut negative };
        let (low, high) = side.get_or_insert((phi, phi));
        *low = low.min(phi);
        *high = high.max(phi);
    }
    let (low, high) = match (positive, negative) {
        (None, None) => (0.0, 0.0),
        (Some(range), None) | (None, Some(range)) => range,
        (Some(p), Some(n)) if p.0 - n.1 < PI => (n.0, p.1),
        (Some(p), Some(n)) => (p.0, n.1 + TAU),
    };
    let low = low - PAD;
    (low, (high + PAD - low).min(TAU))
}
