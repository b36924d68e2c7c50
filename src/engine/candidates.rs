//! The work of an RoI: pairs and triplets, which are counted before the search.
//!
//! Three counts follow each other, each more exact and slower than the one before: in sectors of
//! the circle, in sectors layer by layer, and in slices layer by layer. The first two are upper
//! bounds, which suffice for almost all RoIs.

use std::cell::RefCell;
use std::f64::consts::{PI, TAU};
use std::ops::Range;

use crate::config::{Config, PairWeight};
use crate::engine::plan::{BLOCK, Block, LayerMask, RoiPlan, Search, SpacepointSource, block_of};
use crate::spacepoint::{RoiView, Spacepoint, normalised};

/// Most sectors of the circle.
const MOST_SECTORS: usize = 512;
/// Sectors within the largest reach.
const SECTORS_OF_REACH: f64 = 4.0;

thread_local! {
    /// Memory of the counts, reused.
    static GRID: RefCell<Grid> = RefCell::default();
}

/// Numbers of pairs and triplets that a search may test, or upper bounds of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Candidates {
    pub(crate) pairs: f64,
    /// 0 unless third spacepoints confirm pairs.
    pub(crate) triplets: f64,
}

impl Candidates {
    /// Whether there are more than the limits of a configuration.
    pub(crate) fn exceed(self, config: &Config) -> bool {
        self.pairs > config.max_pairs || self.triplets > config.max_triplets
    }

    /// A measure of the time of the search, in tests of triplets. An entry in the histogram takes
    /// as long as several tests.
    fn work(self) -> f64 {
        8.0 * self.pairs + self.triplets
    }
}

impl Search {
    /// Whether an RoI has more than `max_pairs` or `max_triplets`.
    pub(crate) fn has_too_many_candidates(&self, plan: &RoiPlan, roi: RoiView<'_>) -> bool {
        let exceed = |candidates: Candidates| candidates.exceed(&self.config);
        exceed(self.most_candidates(plan, roi, |candidates| !exceed(candidates)))
            && exceed(GRID.with_borrow_mut(|grid| grid.count_exactly(self, plan, roi)))
    }

    /// Returns an upper bound of the work of an RoI. A bound of at most `enough` needs no better
    /// one.
    pub(crate) fn most_work(&self, enough: f64, plan: &RoiPlan, roi: RoiView<'_>) -> f64 {
        self.most_candidates(plan, roi, |candidates| candidates.work() <= enough).work()
    }

    /// Returns the first upper bound of the candidates that is good enough, or the last one. They
    /// are in the order of their cost. The exact number is the last one if azimuths are not about
    /// the beam.
    fn most_candidates(&self, plan: &RoiPlan, roi: RoiView<'_>, is_enough: impl Fn(Candidates) -> bool) -> Candidates {
        if plan.bad {
            return Candidates::default();
        }
        let most = self.most_candidates_of(roi.len());
        if is_enough(most) {
            return most;
        }
        GRID.with_borrow_mut(|grid| {
            if !self.config.is_beam_at_origin() {
                return grid.count_exactly(self, plan, roi);
            }
            let reach = grid.fill_sectors(self, plan, roi);
            let most = grid.count_without_layers(self, plan, reach);
            if is_enough(most) { most } else { grid.count(self, plan, reach) }
        })
    }

    /// Whether third spacepoints confirm pairs.
    fn takes_triplets(&self) -> bool {
        self.config.pair_weight != PairWeight::One
    }

    /// Returns the candidates of so many spacepoints if all are in reach of each other.
    fn most_candidates_of(&self, spacepoints: usize) -> Candidates {
        let n = spacepoints as f64;
        Candidates { pairs: n * n / 2.0, triplets: if self.takes_triplets() { n * n * n / 6.0 } else { 0.0 } }
    }

    /// Returns the largest reach of two layers that take part, in slices.
    fn most_reach(&self, plan: &RoiPlan) -> u32 {
        let layers = || (0..self.layers()).filter(|&layer| self.layer_mask.takes(layer as u32));
        let pairs = layers().flat_map(|b| layers().take_while(move |&a| a < b).map(move |a| (a, b)));
        pairs.map(|(a, b)| self.reach(a, b, plan.endcap_shift)).max().unwrap_or(0)
    }
}

/// Columns of a grid within reach of a column.
#[derive(Clone, Copy, Debug)]
struct ColumnReach {
    /// For each slice.
    per_slice: f64,
    /// Slices that are added, because partners may lie at the far ends of their slices.
    more: f64,
}

impl ColumnReach {
    const EXACT: Self = Self { per_slice: 1.0, more: 0.0 };

    fn columns(self, slices: u32) -> usize {
        ((f64::from(slices) + self.more) * self.per_slice).ceil() as usize
    }
}

/// Numbers of spacepoints by layer and column: a slice, or a sector of the circle.
#[derive(Default)]
struct Grid {
    columns: usize,
    /// Whether the first and the last column are neighbours.
    ring: bool,
    /// `counts[layer * columns + column]`
    counts: Vec<u32>,
    /// Layers with a spacepoint, ascending.
    filled: Vec<usize>,
    /// The sums of the counts of each filled layer up to each column, with a margin on both sides.
    sums: Vec<u32>,
    /// Of one middle layer, by column: spacepoints further in and further out within reach.
    inner: Vec<u32>,
    outer: Vec<u32>,
}

impl Grid {
    fn clear(&mut self, layers: usize, columns: usize, ring: bool) {
        (self.columns, self.ring) = (columns, ring);
        self.counts.clear();
        self.counts.resize(layers * columns, 0);
    }

    fn of_layer(&self, layer: usize) -> &[u32] {
        &self.counts[layer * self.columns..(layer + 1) * self.columns]
    }

    /// Counts spacepoints in sectors of the circle. More spacepoints may be counted than take part.
    fn fill_sectors(&mut self, search: &Search, plan: &RoiPlan, roi: RoiView<'_>) -> ColumnReach {
        let reach_rad = (f64::from(search.most_reach(plan)) + 2.0) / search.config.slices_per_rad();
        let sectors = ((SECTORS_OF_REACH * TAU / reach_rad) as usize).clamp(1, MOST_SECTORS);
        let per_rad = sectors as f64 / TAU;
        self.clear(search.layers(), sectors, true);
        let counter = SectorCounter { sectors, per_rad, layers: search.layer_mask };
        for first in (0..roi.len()).step_by(BLOCK) {
            let counted = block_of(roi, first).is_some_and(|block| counter.count_block(block, &mut self.counts));
            if !counted {
                let rest = first..roi.len().min(first + BLOCK);
                rest.for_each(|i| counter.count(roi.spacepoint(i), &mut self.counts));
            }
        }
        ColumnReach { per_slice: per_rad / search.config.slices_per_rad(), more: 2.0 }
    }

    /// Counts the candidates in slices; none if a spacepoint is invalid.
    fn count_exactly(&mut self, search: &Search, plan: &RoiPlan, roi: RoiView<'_>) -> Candidates {
        let slices = plan.slices as usize;
        self.clear(search.layers(), slices, plan.ring);
        let placement = search.placement(plan);
        for s in roi.spacepoints() {
            let Some((_, phi)) = search.about_beam(s.rho, s.phi, s.z, s.layer) else { return Candidates::default() };
            let from_edge = placement.beyond_edge(phi);
            if from_edge < plan.width && search.layer_mask.takes(s.layer) {
                let slice = ((from_edge * placement.slices_per_rad) as usize).min(slices - 1);
                self.counts[s.layer as usize * slices + slice] += 1;
            }
        }
        self.count(search, plan, ColumnReach::EXACT)
    }

    /// Returns an upper bound of the candidates: each spacepoint is the middle one of all pairs and
    /// triplets within the largest reach.
    fn count_without_layers(&mut self, search: &Search, plan: &RoiPlan, reach: ColumnReach) -> Candidates {
        let Self { columns, counts, inner: all, outer: near, sums, .. } = self;
        all.clear();
        all.resize(*columns, 0);
        for of_layer in counts.chunks_exact(*columns) {
            all.iter_mut().zip(of_layer).for_each(|(all, &n)| *all += n);
        }
        let reach = reach.columns(search.most_reach(plan)).min(*columns);
        sums.clear();
        append_sums(all, reach, true, sums);
        near.clear();
        near.resize(*columns, 0);
        add_in_reach(sums, *columns, reach, reach, true, near);
        let (mut pairs, mut triplets) = (0.0, 0.0);
        for (&own, &near) in all.iter().zip(&*near) {
            let (own, near) = (f64::from(own), f64::from(near));
            pairs += own * near;
            // Inner spacepoints times outer ones.
            triplets += own * near * near / 4.0;
        }
        Candidates { pairs, triplets: if search.takes_triplets() { triplets } else { 0.0 } }
    }

    /// Returns the number of candidates. A middle spacepoint makes pairs with the inner spacepoints
    /// in reach, and triplets of each with the outer spacepoints in reach.
    fn count(&mut self, search: &Search, plan: &RoiPlan, reach: ColumnReach) -> Candidates {
        let mut filled = std::mem::take(&mut self.filled);
        filled.clear();
        filled.extend((0..search.layers()).filter(|&layer| self.of_layer(layer).iter().any(|&n| n > 0)));
        let columns = self.columns;
        let reach = |a: usize, b: usize| {
            let (a, b) = (filled[a], filled[b]);
            reach.columns(search.reach(a, b, plan.endcap_shift)).min(columns)
        };
        let pairs = (0..filled.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let margin = pairs.map(|(a, b)| reach(a, b)).max().unwrap_or(0);
        let Self { ring, counts, sums, inner, outer, .. } = self;
        let ring = *ring;
        let of_layer = |layer: usize| &counts[layer * columns..(layer + 1) * columns];
        sums.clear();
        filled.iter().for_each(|&layer| append_sums(of_layer(layer), margin, ring, sums));
        let sums_of = |i: usize| {
            let length = columns + 2 * margin + 1;
            &sums[i * length..(i + 1) * length]
        };
        let first_layers = (search.config.first_layers as usize).min(filled.len().saturating_sub(1));
        let (mut pairs, mut triplets) = (0_u128, 0_u128);
        for b in 0..filled.len() {
            for near in [&mut *inner, &mut *outer] {
                near.clear();
                near.resize(columns, 0);
            }
            for a in 0..b.min(first_layers) {
                add_in_reach(sums_of(a), columns, margin, reach(a, b), ring, inner);
            }
            let outer_layers = if search.takes_triplets() { b + 1..filled.len() } else { 0..0 };
            for c in outer_layers {
                add_in_reach(sums_of(c), columns, margin, reach(b, c), ring, outer);
            }
            for ((&own, &inner), &outer) in of_layer(filled[b]).iter().zip(&*inner).zip(&*outer) {
                let pairs_here = u128::from(own) * u128::from(inner);
                pairs += pairs_here;
                triplets += pairs_here * u128::from(outer);
            }
        }
        self.filled = filled;
        Candidates { pairs: pairs as f64, triplets: triplets as f64 }
    }
}

/// Appends the sums of counts up to each column, with a margin on both sides: the other end of a
/// ring, or nothing.
fn append_sums(counts: &[u32], margin: usize, ring: bool, sums: &mut Vec<u32>) {
    let beyond = |range: Range<usize>| counts[range].iter().map(|&n| if ring { n } else { 0 });
    let extended = beyond(counts.len() - margin..counts.len()).chain(counts.iter().copied()).chain(beyond(0..margin));
    let mut sum = 0_u32;
    sums.push(0);
    sums.extend(extended.map(|n| {
        sum = sum.wrapping_add(n);
        sum
    }));
}

/// Adds to each column the counts of a layer within `reach` of it, each column once.
fn add_in_reach(sums: &[u32], columns: usize, margin: usize, reach: usize, ring: bool, to: &mut [u32]) {
    if ring && 2 * reach >= columns {
        let all = sums[margin + columns].wrapping_sub(sums[margin]);
        to.iter_mut().for_each(|to| *to += all);
        return;
    }
    let (begins, ends) = (&sums[margin - reach..], &sums[margin + reach + 1..]);
    to.iter_mut().zip(begins.iter().zip(ends)).for_each(|(to, (begin, end))| *to += end.wrapping_sub(*begin));
}

/// Counts spacepoints by layer and sector of the circle.
struct SectorCounter {
    sectors: usize,
    per_rad: f64,
    layers: LayerMask,
}

impl SectorCounter {
    /// Counts one spacepoint. The sector of an azimuth that is not finite is of no matter: its RoI
    /// is not searched.
    fn count(&self, s: Spacepoint, counts: &mut [u32]) {
        if self.layers.has(s.layer) && self.layers.takes(s.layer) {
            let sector = ((normalised(s.phi) + PI) * self.per_rad) as usize;
            counts[s.layer as usize * self.sectors + sector.min(self.sectors - 1)] += 1;
        }
    }

    /// Counts a block. Returns false, and counts nothing, if an azimuth lies outside [-pi, pi] or
    /// there is no such layer.
    fn count_block(&self, block: Block<'_>, counts: &mut [u32]) -> bool {
        let mut cells = [0; BLOCK];
        let arch = pulp::Arch::new();
        let plain = match block {
            Block::Double(columns, layers) => {
                arch.dispatch(Cells { counter: self, block: (columns, layers), cells: &mut cells })
            }
            Block::Single(columns, layers) => {
                arch.dispatch(Cells { counter: self, block: (columns, layers), cells: &mut cells })
            }
            Block::Records(block) => arch.dispatch(Cells { counter: self, block, cells: &mut cells }),
        };
        if plain {
            for cell in cells {
                if let Some(count) = counts.get_mut(cell as usize) {
                    *count += 1;
                }
            }
        }
        plain
    }
}

/// Computes the place of each spacepoint of a block among the counts; beyond them for spacepoints
/// that take no part. Branch-free, so that the compiler vectorises it.
struct Cells<'a, S> {
    counter: &'a SectorCounter,
    block: S,
    cells: &'a mut [u32; BLOCK],
}

impl<S: SpacepointSource> pulp::NullaryFnOnce for Cells<'_, S> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { counter: &SectorCounter { sectors, per_rad, layers }, block, cells } = self;
        // 2^52: the nearest whole number is in the low bits of a sum with it.
        const WHOLE: f64 = 4_503_599_627_370_496.0;
        let last = (sectors - 1) as f64;
        let mut plain = true;
        for (i, cell) in cells.iter_mut().enumerate() {
            let (_, phi, _, layer) = block.at(i);
            plain &= (phi.abs() <= PI) & layers.has(layer);
            // Rounding at an edge of a sector is less than the slices that are added to the reach.
            let sector = (phi + PI) * per_rad - 0.5;
            let sector = if sector > 0.0 { sector } else { 0.0 };
            let sector = if sector < last { sector } else { last };
            let sector = ((sector + WHOLE).to_bits() & 0xffff) as u32;
            *cell = if layers.takes(layer) { layer * sectors as u32 + sector } else { u32::MAX };
        }
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;
    use crate::detector::Detector;
    use crate::engine::reference::ReferenceEngine;
    use crate::roi_batch::RoiBatch;
    use crate::spacepoint::{PhiWindow, Roi, RoiDescriptor, Spacepoint};

    /// Spacepoints on random layers, most of them near a few azimuths.
    fn crowd(rng: &mut fastrand::Rng, layers: u32) -> Vec<Spacepoint> {
        let crowds: Vec<f64> = (0..rng.usize(1..5)).map(|_| rng.f64() * TAU - PI).collect();
        let width = [1e-9, 0.01, 0.3][rng.usize(0..3)];
        let spacepoint = |rng: &mut fastrand::Rng| {
            let near = normalised(crowds[rng.usize(0..crowds.len())] + width * rng.f64());
            let phi = if rng.u8(0..4) == 0 { rng.f64() * TAU - PI } else { near };
            Spacepoint { rho: 30.0 + 500.0 * rng.f64(), phi, z: 400.0 * rng.f64() - 200.0, layer: rng.u32(0..layers) }
        };
        (0..rng.usize(0..300)).map(|_| spacepoint(rng)).collect()
    }

    #[test]
    fn candidates_are_those_of_the_reference_and_below_the_bounds() {
        let rng = &mut fastrand::Rng::with_seed(69);
        let detector = Detector::generic();
        let presets = [Preset::Default, Preset::Auto, Preset::FullScan, Preset::Egamma];
        for round in 0..60 {
            let config = Config::preset(presets[round % presets.len()]).with(|c| {
                c.phi_slice_deg = [0.2, 1.0, 40.0, 360.0][rng.usize(0..4)];
                c.neighbour_multiplier = [1.0, 5.0, 300.0][rng.usize(0..3)];
                c.wrap_full_scan = rng.bool();
                c.first_layers = rng.u32(1..6);
                c.beam_spot_mm = if rng.u8(0..4) == 0 { [1.0, -0.5] } else { [0.0; 2] };
            });
            let window = match rng.u8(0..3) {
                0 => Some(PhiWindow::FullScan),
                1 => Some(PhiWindow::FromSpacepoints),
                _ => Some(PhiWindow::new(-0.5, 1.5).expect("a window")),
            };
            let eta = if rng.bool() { 2.2 } else { 0.0 };
            let descriptor = RoiDescriptor { window, eta, ..RoiDescriptor::default() };
            let roi = Roi { descriptor, spacepoints: crowd(rng, detector.layers().len() as u32) };
            let reference = ReferenceEngine::new(&config, &detector).expect("a valid configuration");
            let search = Search::new(&config, &detector).expect("a valid configuration");
            let mut single = RoiBatch::with_f32();
            single.push(roi.descriptor, roi.spacepoints.iter().copied());
            for view in [RoiView::from(&roi), RoiBatch::from_iter([roi.clone()]).roi(0), single.roi(0)] {
                let plan = search.plan(view).expect("a plan");
                let wanted = reference.count_candidates_of(view).expect("valid spacepoints");
                let grid = &mut Grid::default();
                let counted = grid.count_exactly(&search, &plan, view);
                assert_eq!(counted, wanted, "round {round}: {config:?}");
                let mut bounds = vec![search.most_candidates_of(view.len())];
                if config.is_beam_at_origin() {
                    let reach = grid.fill_sectors(&search, &plan, view);
                    bounds
                        .extend([grid.count_without_layers(&search, &plan, reach), grid.count(&search, &plan, reach)]);
                }
                for most in bounds {
                    assert!(most.pairs >= counted.pairs, "round {round}: {config:?}");
                    assert!(most.triplets >= counted.triplets, "round {round}: {config:?}");
                }
                for enough in [0.0, counted.work(), 1e18] {
                    assert!(search.most_work(enough, &plan, view) >= counted.work(), "round {round}");
                }
                let Candidates { pairs, triplets } = counted;
                for (max_pairs, max_triplets, is_too_many) in [
                    (pairs, triplets, false),
                    ((pairs - 1.0).max(0.0), triplets, pairs > 0.0),
                    (pairs, (triplets - 1.0).max(0.0), triplets > 0.0),
                ] {
                    let limits = |c: &mut Config| (c.max_pairs, c.max_triplets) = (max_pairs, max_triplets);
                    let limited = Search { config: config.clone().with(limits), ..search.clone() };
                    assert_eq!(limited.has_too_many_candidates(&plan, view), is_too_many, "round {round}");
                }
            }
        }
    }
}
