//! find_z as it can be read: pair by pair and third spacepoint by third spacepoint, without vectors. What the engine's is
//! held against, bit by bit.

use std::ops::Range;

use crate::config::{Extrapolation, Triplets, Weighting};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::real::{Point, Real, TripletCuts, weight_in};
use crate::histogram::{HistogramPair, OFFSET_STEPS, ZSum};
use crate::pt_weight::PtWeight;

/// A sorted spacepoint.
#[derive(Clone, Copy)]
struct SortedPoint<R> {
    inverse_rho: R,
    z_by_rho: R,
    phi: R,
    slice: u32,
    layer: u32,
}

/// Spacepoints by layer and, within it, by slice.
struct SlicedSpacepoints<R> {
    points: Vec<SortedPoint<R>>,
    /// Where each (layer, slice) begins.
    cells: Vec<u32>,
    slices: u32,
    filled: Vec<usize>,
}

impl<R> SlicedSpacepoints<R> {
    fn cell(&self, layer: usize, slice: u32) -> u32 {
        self.cells[layer * self.slices as usize + slice as usize]
    }
}

fn sorted<R: Real>(spacepoints: &[R::Spacepoint], layers: usize, slices: u32) -> SlicedSpacepoints<R> {
    let point = |s: &R::Spacepoint| {
        let Point { rho, phi, z, slice, layer } = R::point(s)?;
        let inverse_rho = R::of(1.0) / rho;
        Some(SortedPoint { inverse_rho, z_by_rho: z * inverse_rho, phi, slice, layer })
    };
    let mut points: Vec<_> = spacepoints.iter().filter_map(point).collect();
    points.sort_by_key(|p| (p.layer, p.slice));
    let begin = |cell: usize| points.partition_point(|p| ((p.layer * slices + p.slice) as usize) < cell) as u32;
    let cells: Vec<u32> = (0..=layers * slices as usize).map(begin).collect();
    let filled = (0..layers).filter(|&l| cells[l * slices as usize] != cells[(l + 1) * slices as usize]).collect();
    SlicedSpacepoints { points, cells, slices, filled }
}

pub(super) fn find_z<R: Real, Z: ZSum>(
    search: &Search,
    plan: &RoiPlan,
    spacepoints: &[R::Spacepoint],
    slices: Range<u32>,
) -> HistogramPair {
    let sliced = &sorted::<R>(spacepoints, search.layers(), plan.slices);
    let mut histogram = HistogramPair::new(plan.histograms, plan.bins.bins);
    if search.config.weighting == Weighting::Pt {
        histogram.sectors = [0; 2].map(|_| vec![0; plan.bins.bins as usize]);
    }
    let scale = plan.z_scale::<R>();
    let cuts = search.triplet_cuts::<R>();
    let last_bin = plan.bins.bins - 1;
    let filled = &sliced.filled;
    let inner = (search.config.first_layers as usize).min(filled.len().saturating_sub(1));
    for s in slices {
        for (i, &layer_a) in filled[..inner].iter().enumerate() {
            let (first_a, end_a) = (sliced.cell(layer_a, s), sliced.cell(layer_a, s + 1));
            if first_a == end_a {
                continue;
            }
            for (j, &layer_b) in filled.iter().enumerate().skip(i + 1) {
                let n = search.reach(layer_a, layer_b, plan.endcap_shift);
                let around = slices_around(sliced, plan.ring, layer_b, s, n, n);
                for a in &sliced.points[first_a as usize..end_a as usize] {
                    for k in 0..around.count {
                        let b = around.point(sliced, k);
                        let z12 = extrapolate(search, a, b);
                        if !(scale.z_min < z12 && z12 < scale.z_max) {
                            continue;
                        }
                        let mut sectors = [0; 2];
                        let weight = match search.config.triplets {
                            Triplets::Off => 1,
                            _ if search.config.weighting == Weighting::Pt => {
                                let pt = pt_weight(search, plan, sliced, &cuts, &filled[j + 1..], a, b);
                                let sector = 1 << (s * PtWeight::SECTORS / plan.slices);
                                sectors = pt.directions().map(|counts| if counts { sector } else { 0 });
                                weight_in::<R>(&pt)
                            }
                            mode => confirmations(search, plan, sliced, &cuts, mode, &filled[j + 1..], a, b),
                        };
                        if weight == 0 {
                            continue;
                        }
                        let steps = z12.whole_steps(scale.steps_per_mm, scale.steps_at_0);
                        let bin = (steps / OFFSET_STEPS).min(last_bin);
                        let mut add = |of: u32| {
                            let word = (of * plan.bins.bins + bin) as usize;
                            let (n, z) = (&mut histogram.n[word], &mut histogram.z[word]);
                            *n = n.saturating_add(weight);
                            *z = Z::accumulate(*z, weight, z12.to_f32(), steps % OFFSET_STEPS);
                            histogram.pairs[word] += 1;
                            for (all, new) in histogram.sectors.iter_mut().zip(sectors) {
                                if let Some(all) = all.get_mut(word) {
                                    *all |= new;
                                }
                            }
                        };
                        if plan.histograms == 1 {
                            add(0);
                        } else {
                            histograms_of(search, plan, layer_a, s, b.slice, add);
                        }
                    }
                }
            }
        }
    }
    histogram
}

/// Names the histograms that a pair goes into: those of its charge, and of the slices that its track may come from.
/// `accumulate` in `shaders/accumulate/totals.wgsl`.
fn histograms_of(search: &Search, plan: &RoiPlan, layer_a: usize, s: u32, slice_b: u32, mut add: impl FnMut(u32)) {
    let config = &search.config;
    let step = step(plan.ring, plan.slices, s, slice_b);
    let m = if layer_a == 0 { 0 } else { search.reach(0, layer_a, plan.endcap_shift) };
    let one = m.min(1);
    for charge in 0..if config.charge_aware { 2 } else { 1 } {
        let bends = if charge == 0 { step } else { -step };
        if config.charge_aware && bends > 1 {
            continue;
        }
        if !config.histogram_per_slice {
            add(charge);
            continue;
        }
        let (below, above) = match (config.charge_aware, charge) {
            (false, _) => (m, m),
            (true, 0) => (one, m),
            (true, _) => (m, one),
        };
        let (first, last) = if !plan.ring {
            (s.saturating_sub(below), s.saturating_add(above).min(plan.slices - 1))
        } else if below >= plan.slices || above >= plan.slices || below + above >= plan.slices {
            (0, plan.slices - 1)
        } else {
            (s + plan.slices - below, s + plan.slices + above)
        };
        for slice in first..=last {
            add(charge * plan.slices + slice % plan.slices);
        }
    }
}

/// Spacepoints of one layer in neighbouring slices: `count` from `first` on, going on at the layer's beginning when
/// they pass its end (on a ring).
struct Around {
    first: u32,
    count: u32,
    layer_end: u32,
    layer_count: u32,
}

impl Around {
    fn point<'a, R>(&self, sliced: &'a SlicedSpacepoints<R>, k: u32) -> &'a SortedPoint<R> {
        let i = self.first + k;
        &sliced.points[if i >= self.layer_end { i - self.layer_count } else { i } as usize]
    }
}

/// The spacepoints of a layer in the slices from `s - below` to `s + above`; on a ring, each slice once.
fn slices_around<R>(sliced: &SlicedSpacepoints<R>, ring: bool, layer: usize, s: u32, below: u32, above: u32) -> Around {
    let slices = sliced.slices;
    let (layer_first, layer_end) = (sliced.cell(layer, 0), sliced.cell(layer, slices));
    let layer_count = layer_end - layer_first;
    if !ring {
        let first = sliced.cell(layer, s.saturating_sub(below));
        let end = sliced.cell(layer, s.saturating_add(above).min(slices - 1) + 1);
        return Around { first, count: end - first, layer_end, layer_count };
    }
    if below >= slices || above >= slices || below + above >= slices {
        return Around { first: layer_first, count: layer_count, layer_end, layer_count };
    }
    let low = if s >= below { s - below } else { s + slices - below };
    let high = if s + above < slices { s + above } else { s + above - slices };
    let (first, end) = (sliced.cell(layer, low), sliced.cell(layer, high + 1));
    let count = if low <= high { end - first } else { layer_end - first + (end - layer_first) };
    Around { first, count, layer_end, layer_count }
}

/// Slices from `from` to `to`, on a ring the shorter way round.
fn step(ring: bool, slices: u32, from: u32, to: u32) -> i32 {
    let step = to as i32 - from as i32;
    if !ring {
        step
    } else if 2 * step > slices as i32 {
        step - slices as i32
    } else if 2 * step <= -(slices as i32) {
        step + slices as i32
    } else {
        step
    }
}

/// What to add to the phi of a spacepoint in slice `other` seen from slice `origin`, `step` away: whole turns.
fn turn_between<R: Real>(origin: u32, other: u32, step: i32) -> R {
    let straight = other as i32 - origin as i32;
    R::of(f64::from((step - straight).signum()) * std::f64::consts::TAU)
}

/// How many third spacepoints confirm the pair (a, b); 1 at most when any will do.
#[expect(clippy::too_many_arguments, reason = "the pair, its data, and where to look")]
fn confirmations<R: Real>(
    search: &Search,
    plan: &RoiPlan,
    sliced: &SlicedSpacepoints<R>,
    cuts: &TripletCuts<R>,
    mode: Triplets,
    outer: &[usize],
    a: &SortedPoint<R>,
    b: &SortedPoint<R>,
) -> u32 {
    let step_b = step(plan.ring, plan.slices, a.slice, b.slice);
    let turn = turn_between(a.slice, b.slice, step_b);
    let z12 = extrapolate(search, a, b);
    let (k12, p12) = track_bend(a, a.phi, b, b.phi + turn);
    let mut confirmations = 0u32;
    for &layer_c in outer {
        let n = search.reach(b.layer as usize, layer_c, plan.endcap_shift);
        // The bending keeps its sign.
        let below = if step_b >= 0 { 1 } else { n };
        let above = if step_b <= 0 { 1 } else { n };
        let around = slices_around(sliced, plan.ring, layer_c, b.slice, below, above);
        for k in 0..around.count {
            let c = around.point(sliced, k);
            // The cut on z first: it needs no azimuth, and hardly any passes it. Written to fail on NaN.
            let near = (extrapolate(search, b, c) - z12).abs() <= cuts.dz;
            if !near {
                continue;
            }
            let turn_c = turn_between(b.slice, c.slice, step(plan.ring, plan.slices, b.slice, c.slice));
            let (k23, p23) = track_bend(b, b.phi, c, c.phi + turn_c);
            let confirms = (k23 - k12).abs() <= cuts.dk && (p23 + turn - p12).abs() < cuts.dp;
            if confirms {
                if mode == Triplets::Any {
                    return 1;
                }
                confirmations = confirmations.saturating_add(1);
            }
        }
    }
    confirmations
}

/// What third spacepoints make the pair (a, b) weigh, by the pT of the track. Twin of `shaders/confirmations/pt.wgsl`.
fn pt_weight<R: Real>(
    search: &Search,
    plan: &RoiPlan,
    sliced: &SlicedSpacepoints<R>,
    cuts: &TripletCuts<R>,
    outer: &[usize],
    a: &SortedPoint<R>,
    b: &SortedPoint<R>,
) -> PtWeight {
    let turned = |from: &SortedPoint<R>, to: &SortedPoint<R>| {
        turn_between::<R>(from.slice, to.slice, step(plan.ring, plan.slices, from.slice, to.slice))
    };
    let step_b = step(plan.ring, plan.slices, a.slice, b.slice);
    let turn = turned(a, b);
    let z12 = extrapolate(search, a, b);
    let (k12, p12) = track_bend(a, a.phi, b, b.phi + turn);
    let mut weight = PtWeight::of_pair(search.is_disk(b.layer as usize));
    let mut hardest = R::of(0.0);
    for &layer_c in outer {
        let n = search.reach(b.layer as usize, layer_c, plan.endcap_shift);
        let below = if step_b >= 0 { 1 } else { n };
        let above = if step_b <= 0 { 1 } else { n };
        let around = slices_around(sliced, plan.ring, layer_c, b.slice, below, above);
        let dz = if search.is_strips(layer_c) { cuts.strip_dz } else { cuts.dz };
        let mut best = R::of(0.0);
        for k in 0..around.count {
            let c = around.point(sliced, k);
            let near = (extrapolate(search, b, c) - z12).abs() <= dz;
            if !near {
                continue;
            }
            let (k23, p23) = track_bend(b, b.phi, c, c.phi + turned(b, c));
            let confirms = (k23 - k12).abs() <= cuts.dk && (p23 + turn - p12).abs() < cuts.dp;
            let (u, v, w) = (a.inverse_rho, b.inverse_rho, c.inverse_rho);
            if confirms && u > v && v > w {
                let (k13, _) = track_bend(a, a.phi, c, c.phi + turned(a, c));
                // 1 / (rho_a (rho_c - rho_a)) = u u w / (u - w)
                let pt = cuts.gev_mm / (k13.abs() + cuts.resolution_mm * u * u * w / (u - w));
                best = if pt > best { pt } else { best };
            }
        }
        weight.add_layer(best.to_f64());
        hardest = if best > hardest { best } else { hardest };
    }
    PtWeight { pt: hardest.to_f64(), ..weight }
}

/// z where the line through two spacepoints meets the beam, or is nearest to it: `shaders/extrapolation/*.wgsl`.
fn extrapolate<R: Real>(search: &Search, a: &SortedPoint<R>, b: &SortedPoint<R>) -> R {
    match search.config.extrapolation {
        Extrapolation::Linear => track_z(a, b),
        Extrapolation::Accurate => {
            let s = R::of((0.5 * (b.phi - a.phi).to_f64()).sin());
            let (u, v, one, four) = (a.inverse_rho, b.inverse_rho, R::of(1.0), R::of(4.0));
            // The square of the line's distance from the beam, d0.
            let square = four * s * s * (one - s * s) / ((u - v) * (u - v) + four * u * v * s * s);
            // sqrt(rho^2 - d0^2) = rho w
            let root = |square: R| R::of(square.to_f64().sqrt());
            let (wa, wb) = (root(one - square * u * u), root(one - square * v * v));
            (b.z_by_rho * wa - a.z_by_rho * wb) / (v * wa - u * wb)
        }
    }
}

/// z at the beam of the line through two spacepoints, in either order: z12 of the specification. Infinite or NaN where
/// their rho do not differ.
fn track_z<R: Real>(a: &SortedPoint<R>, b: &SortedPoint<R>) -> R {
    (b.z_by_rho - a.z_by_rho) / (b.inverse_rho - a.inverse_rho)
}

/// Curvature k and azimuth p there of the track through two spacepoints whose rho differ.
fn track_bend<R: Real>(a: &SortedPoint<R>, phi_a: R, b: &SortedPoint<R>, phi_b: R) -> (R, R) {
    let turned = (phi_b - phi_a) * b.inverse_rho / (b.inverse_rho - a.inverse_rho);
    (R::of(2.0) * turned * a.inverse_rho, phi_a + turned)
}
