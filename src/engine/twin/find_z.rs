//! Fills nHisto and zHisto with the z12 of every pair whose inner spacepoint lies in a range of
//! slices. Twin of `shaders/find_z/find_z.wgsl` with `find_z/tracks.wgsl`,
//! `find_z/order/by_layer.wgsl`, `find_z/accumulate/totals.wgsl` and `find_z/pairs/streamed.wgsl`.
//! Third spacepoints are in [`pair_weight`](super::pair_weight).

use std::ops::Range as Slices;

use super::slice_spacepoints::{PointAttributes, SlicedSpacepoints, cell_place};
use crate::config::{Extrapolation, PairWeight};
use crate::engine::histogram::{HistogramPair, OFFSET_STEPS, PAIR_PARTS, ZSum};
use crate::engine::plan::{ENDCAP_PAIR, NEIGHBOURS, PRECISION, PRECISION_SHIFT, RoiPlan, Search};
use crate::engine::real::Real;
use crate::engine::records::{TripletCuts, ZScale};
use crate::pt_weight::PtWeight;

/// One call of the stage: the kernel's bindings and its private variables.
pub(super) struct FindZ<'a, R: Real> {
    pub(super) search: &'a Search,
    pub(super) cuts: TripletCuts<R>,
    roi: &'a RoiPlan,
    scale: ZScale<R>,
    cells: &'a [u32],
    pub(super) points: &'a [[R; 2]],
    pub(super) beside: &'a [PointAttributes<R>],
    /// Layers with a spacepoint, ascending.
    pub(super) filled: Vec<u32>,
    totals: HistogramPair,
}

/// A range of spacepoints with one jump: from `first` to `end`, and from `jump_at` on `jump` places
/// further.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) first: u32,
    pub(super) end: u32,
    jump_at: u32,
    jump: u32,
}

fn no_range() -> Range {
    Range { first: 0, end: 0, jump_at: u32::MAX, jump: 0 }
}

fn plain_range(first: u32, end: u32) -> Range {
    Range { first, end, jump_at: u32::MAX, jump: 0 }
}

pub(super) fn place_in(range: Range, i: u32) -> usize {
    i.wrapping_add(if i >= range.jump_at { range.jump } else { 0 }) as usize
}

/// Beside a weight: the pair's direction counts as that of a soft track, or of a hard one.
pub(super) const SOFT_TRACK: u32 = 0x4000_0000;
pub(super) const HARD_TRACK: u32 = 0x8000_0000;

// find_z/tracks.wgsl
impl<R: Real> FindZ<'_, R> {
    fn cell(&self, layer: u32, slice: u32) -> u32 {
        self.cells[cell_place(self.roi.slices, layer, slice) as usize]
    }

    pub(super) fn neighbours_word(&self, inner: u32, outer: u32) -> u32 {
        self.search.neighbours[inner as usize * self.search.layers() + outer as usize]
    }

    /// n(A, B) at the RoI's eta.
    fn reach(&self, inner: u32, outer: u32) -> u32 {
        let word = self.neighbours_word(inner, outer);
        let n = word & NEIGHBOURS;
        if word & ENDCAP_PAIR == 0 {
            return n;
        }
        (n as i32 - self.roi.endcap_shift).max(1) as u32
    }

    /// Slices from `origin` to `other`, on a ring the shorter way round.
    pub(super) fn step_between(&self, origin: u32, other: u32) -> i32 {
        let straight = other as i32 - origin as i32;
        let slices = self.roi.slices as i32;
        if self.roi.ring && 2 * straight > slices {
            return straight - slices;
        }
        if self.roi.ring && 2 * straight <= -slices {
            return straight + slices;
        }
        straight
    }

    /// Returns the whole turns to add to the phi of a spacepoint in slice `other` seen from slice
    /// `origin`.
    pub(super) fn turn_of_step(&self, origin: u32, other: u32) -> R {
        let step = self.step_between(origin, other);
        let straight = other as i32 - origin as i32;
        R::from_f64(f64::from((step - straight).signum()) * std::f64::consts::TAU)
    }

    /// z at the beam of the line through two spacepoints, in either order. Infinite or NaN where
    /// their rho are equal.
    fn track_z(&self, a: usize, b: usize) -> R {
        let ([u, t_a], [v, t_b]) = (self.points[a], self.points[b]);
        (t_b - t_a) / (v - u)
    }

    fn is_searched(&self, z12: R) -> bool {
        z12 > self.scale.z_min && z12 < self.scale.z_max
    }

    /// Enters the pair of an inner spacepoint a and an outer one b.
    fn add_entry<Z: ZSum>(&mut self, a: usize, b: usize, z12: R, weight: u32) {
        let steps = z12.whole_steps(self.scale.steps_per_mm, self.scale.steps_at_0);
        // Rounding may reach the bin behind the last one.
        let bin = (steps / OFFSET_STEPS).min(self.roi.bins.bins - 1);
        let flags = weight & (SOFT_TRACK | HARD_TRACK);
        if flags != 0 {
            self.mark_track(a, b, steps, bin, flags);
        }
        self.accumulate::<Z>(a, b, bin, steps, weight & !(SOFT_TRACK | HARD_TRACK), z12.to_f32());
    }
}

// find_z/order/by_layer.wgsl
impl<R: Real> FindZ<'_, R> {
    fn is_filled(&self, layer: u32) -> bool {
        self.cell(layer, 0) != self.cell(layer, self.roi.slices)
    }

    fn begin_order(&mut self) {
        self.filled = (0..self.search.layers() as u32).filter(|&layer| self.is_filled(layer)).collect();
    }

    /// Filled layers that may be inner.
    fn inner_layers(&self) -> usize {
        (self.search.config.first_layers as usize).min(self.filled.len().max(1) - 1)
    }

    /// The spacepoints whose partners are sought.
    fn searched_range(&self) -> [u32; 2] {
        let first = self.cell(0, 0);
        let layers = self.inner_layers();
        if layers == 0 {
            return [first, first];
        }
        [first, self.cell(self.filled[layers - 1], self.roi.slices)]
    }

    /// Ranges of partners of a spacepoint: a layer each.
    fn partner_ranges(&self) -> usize {
        self.filled.len()
    }

    fn partners(&self, slice_layer: u32, part: usize) -> Range {
        let layer = slice_layer & 0xff;
        let outer = self.filled[part];
        if outer <= layer {
            return no_range();
        }
        let n = self.reach(layer, outer);
        self.slices_around(outer, slice_layer >> 8, n, n)
    }

    pub(super) fn third_parts(&self) -> usize {
        self.filled.len()
    }

    /// Spacepoints on a layer beyond that of a second spacepoint, `step` slices from the first one:
    /// the bending keeps its sign.
    pub(super) fn thirds(&self, layer: u32, slice: u32, step: i32, part: usize) -> Range {
        let outer = self.filled[part];
        if outer <= layer {
            return no_range();
        }
        let n = self.reach(layer, outer);
        self.slices_around(outer, slice, if step >= 0 { 1 } else { n }, if step <= 0 { 1 } else { n })
    }

    /// The spacepoints of a layer in the slices from s - below to s + above; on a ring, each slice
    /// once.
    fn slices_around(&self, layer: u32, s: u32, below: u32, above: u32) -> Range {
        let slices = self.roi.slices;
        if !self.roi.ring {
            return plain_range(self.cell(layer, s - s.min(below)), self.cell(layer, (s + above).min(slices - 1) + 1));
        }
        if below + above >= slices {
            return plain_range(self.cell(layer, 0), self.cell(layer, slices));
        }
        let low = if s >= below { s - below } else { s + slices - below };
        let high = if s + above < slices { s + above } else { s + above - slices };
        let first = self.cell(layer, low);
        let end = self.cell(layer, high + 1);
        if low <= high {
            return plain_range(first, end);
        }
        let layer_first = self.cell(layer, 0);
        let layer_end = self.cell(layer, slices);
        let jump = layer_first.wrapping_sub(layer_end);
        Range { first, end: layer_end + end - layer_first, jump_at: layer_end, jump }
    }
}

// find_z/tracks.wgsl, `extrapolate`
impl<R: Real> FindZ<'_, R> {
    /// z at the beam of the line through two spacepoints, or where it is nearest to the beam.
    pub(super) fn extrapolate(&self, a: usize, b: usize) -> R {
        if self.search.config.extrapolation == Extrapolation::Linear {
            return self.track_z(a, b);
        }
        let s = R::from_f64((0.5 * (self.beside[b].phi - self.beside[a].phi).to_f64()).sin());
        let ([u, t_a], [v, t_b]) = (self.points[a], self.points[b]);
        let one = R::from_f64(1.0);
        let ss = s * s;
        let four_ss = R::from_f64(4.0) * ss;
        // The square of the line's distance from the beam, d0.
        let below = (u - v) * (u - v) + four_ss * (u * v);
        let square = four_ss * (one - ss) / below;
        // sqrt(rho^2 - d0^2) = rho w
        let root = |square: R| R::from_f64(square.to_f64().sqrt());
        let wa = root(one - square * u * u);
        let wb = root(one - square * v * v);
        (t_b * wa - t_a * wb) / (v * wa - u * wb)
    }
}

// find_z/accumulate/totals.wgsl
impl<R: Real> FindZ<'_, R> {
    /// Adds the entry of a pair (a, b) to the histograms of its charge and of the slices that its
    /// track may come from.
    fn accumulate<Z: ZSum>(&mut self, a: usize, b: usize, bin: u32, steps: u32, weight: u32, z: f32) {
        let (charge_aware, per_slice) = (self.search.config.charge_aware, self.search.config.histogram_per_slice);
        let slice = self.beside[a].slice_layer >> 8;
        let layer = self.beside[a].slice_layer & 0xff;
        let step = self.step_between(slice, self.beside[b].slice_layer >> 8);
        let slices = self.roi.slices;
        // How far the track may have been from here on the innermost layer.
        let m = if per_slice && layer != 0 { self.reach(0, layer) } else { 0 };
        for charge in 0..=u32::from(charge_aware) {
            if charge_aware && (if charge == 0 { step } else { -step }) > 1 {
                continue;
            }
            if !per_slice {
                self.add_to_histogram::<Z>(charge, bin, steps, weight, z);
                continue;
            }
            let below = if !charge_aware || charge == 1 { m } else { m.min(1) };
            let above = if !charge_aware || charge == 0 { m } else { m.min(1) };
            let mut first = slice - slice.min(below);
            let mut last = (slice + above).min(slices - 1);
            if self.roi.ring {
                first = if slice < below { (slice + slices).wrapping_sub(below) } else { slice - below };
                last = first.wrapping_add(below + above);
                if below + above >= slices {
                    first = 0;
                    last = slices - 1;
                }
            }
            for s in first..=last {
                self.add_to_histogram::<Z>(charge * slices + s % slices, bin, steps, weight, z);
            }
        }
    }

    fn add_to_histogram<Z: ZSum>(&mut self, histogram: u32, bin: u32, steps: u32, weight: u32, z: f32) {
        let word = (histogram * self.roi.bins.bins + bin) as usize;
        let HistogramPair { n, z: sums, pairs, .. } = &mut self.totals;
        n[word] = n[word].saturating_add(weight);
        sums[word] = Z::accumulate(sums[word], weight, z, steps % OFFSET_STEPS);
        pairs[word] += 1;
    }
}

// find_z/pairs/streamed.wgsl
impl<R: Real> FindZ<'_, R> {
    /// Enters the pairs whose inner spacepoint lies in these slices, if third spacepoints confirm
    /// them where asked for.
    fn add_pairs<Z: ZSum>(&mut self, slices: &Slices<u32>) {
        self.begin_order();
        let all = self.searched_range();
        let ranges = self.partner_ranges();
        for a in all[0] as usize..all[1] as usize {
            let slice_layer = self.beside[a].slice_layer;
            if !slices.contains(&(slice_layer >> 8)) {
                continue;
            }
            for part in 0..ranges {
                let range = self.partners(slice_layer, part);
                for i in range.first..range.end {
                    let b = place_in(range, i);
                    let z12 = self.extrapolate(a, b);
                    if self.is_searched(z12) {
                        let weight = self.weigh_pair(a, b, z12);
                        if weight != 0 {
                            self.add_entry::<Z>(a, b, z12, weight);
                        }
                    }
                }
            }
        }
    }
}

// find_z/find_z.wgsl
impl<R: Real> FindZ<'_, R> {
    /// Adds the precision of a pair. Sets the bit of the sector of the RoI's window in which its
    /// track begins.
    fn mark_track(&mut self, a: usize, b: usize, steps: u32, bin: u32, flags: u32) {
        let layers = [a, b].map(|place| self.beside[place].slice_layer & 0xff);
        let precision = (self.neighbours_word(layers[0], layers[1]) & PRECISION) >> PRECISION_SHIFT;
        self.totals.precisions[(bin * PAIR_PARTS + steps % OFFSET_STEPS * PAIR_PARTS / OFFSET_STEPS) as usize] +=
            precision;
        let sector = 1 << ((self.beside[a].slice_layer >> 8) * PtWeight::SECTORS / self.roi.slices);
        if flags & SOFT_TRACK != 0 {
            self.totals.sectors[0][bin as usize] |= sector;
        }
        if flags & HARD_TRACK != 0 {
            self.totals.sectors[1][bin as usize] |= sector;
        }
    }
}

/// Returns the histograms of the pairs whose inner spacepoint lies in `slices`.
pub(crate) fn find_z<R: Real, Z: ZSum>(
    search: &Search,
    roi: &RoiPlan,
    sliced: &SlicedSpacepoints<R>,
    slices: Slices<u32>,
) -> HistogramPair {
    let SlicedSpacepoints { cells, points, beside, .. } = sliced;
    let mut totals = HistogramPair::new(roi.histograms, roi.bins.bins);
    if search.config.pair_weight == PairWeight::Pt {
        totals.sectors = [0; 2].map(|_| vec![0; roi.bins.bins as usize]);
        totals.precisions = vec![0; (PAIR_PARTS * roi.bins.bins) as usize];
    }
    let (cuts, scale) = (search.triplet_cuts(), roi.z_scale());
    let mut kernel = FindZ { search, cuts, roi, scale, cells, points, beside, filled: Vec::new(), totals };
    kernel.add_pairs::<Z>(&slices);
    kernel.totals
}
