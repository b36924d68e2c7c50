//! The output of each stage against the twin, another module of the same kernels, or the walk.

use super::readback::{Readbacks, SortedPoint};
use kernel_host::AdapterKind;

use super::*;
use crate::engine::histogram::{HistogramPair, ZSum};
use crate::engine::twin;
use crate::engine::twin::slice_spacepoints::SlicedSpacepoints;

/// The twin's sorted spacepoints.
fn sorted_by_twin<R: Real>(sliced: &SlicedSpacepoints<R>) -> Vec<SortedPoint<R>> {
    let point = |(&[inverse_rho, z_by_rho], beside): (&[R; 2], &twin::slice_spacepoints::PointAttributes<R>)| {
        let (slice, layer) = (beside.slice_layer >> 8, beside.slice_layer & 0xff);
        SortedPoint { inverse_rho, z_by_rho, phi: beside.phi, slice, layer }
    };
    sliced.points.iter().zip(&sliced.beside).map(point).collect()
}

/// Spacepoints in an order of their own, for that within a cell is free.
fn canonical<R: Real>(points: &[SortedPoint<R>]) -> Vec<SortedPoint<R>> {
    let mut all = points.to_vec();
    let key = |p: &SortedPoint<R>| (p.slice, p.layer, p.phi.to_f64(), p.inverse_rho.to_f64(), p.z_by_rho.to_f64());
    all.sort_by(|a, b| key(a).partial_cmp(&key(b)).expect("numbers"));
    all
}

/// Whether the spacepoints are equal, up to the rounding of a quotient.
fn alike<R: Real>(a: &[SortedPoint<R>], b: &[SortedPoint<R>]) -> bool {
    let near = |a: R, b: R| (a.to_f32() - b.to_f32()).abs() <= 4.0 * f32::EPSILON * a.to_f32().abs();
    let same = |(a, b): (&SortedPoint<R>, &SortedPoint<R>)| {
        let place = (a.slice, a.layer, a.phi) == (b.slice, b.layer, b.phi);
        place && near(a.inverse_rho, b.inverse_rho) && near(a.z_by_rho, b.z_by_rho)
    };
    a.len() == b.len() && canonical(a).iter().zip(&canonical(b)).all(same)
}

/// How far two sums of z may lie apart, and whether they do.
pub(super) trait Compare: ZSum {
    const ACCUMULATE: Accumulate;

    /// z words of two fillings of one bin with the same n: each entry may be a little off.
    fn alike(a: u32, b: u32, n: u32, bin: u32, plan: &RoiPlan) -> bool;
    /// z words of the same n entries in another order.
    fn reordered(a: u32, b: u32, n: u32, bin: u32, plan: &RoiPlan) -> bool;
}

impl Compare for FixedPoint {
    const ACCUMULATE: Accumulate = Accumulate::Fixed;

    fn alike(a: u32, b: u32, n: u32, _bin: u32, plan: &RoiPlan) -> bool {
        // A step an entry for rounding, and what f32 leaves of a place among so many bins.
        let steps = 1.0 + 4.0 * 1024.0 * f64::from(plan.bins.bins) * f64::from(f32::EPSILON);
        f64::from(a.abs_diff(b)) <= f64::from(n) * steps
    }

    fn reordered(a: u32, b: u32, _n: u32, _bin: u32, _plan: &RoiPlan) -> bool {
        a == b
    }
}

/// The largest |z| in a bin.
fn z_of(bin: u32, plan: &RoiPlan) -> f64 {
    ((f64::from(bin) + plan.bins.offset) * plan.bins.width).abs() + plan.bins.width
}

impl Compare for CompareExchange {
    const ACCUMULATE: Accumulate = Accumulate::CompareExchange;

    fn alike(a: u32, b: u32, n: u32, bin: u32, plan: &RoiPlan) -> bool {
        let apart = f64::from(f32::from_bits(a)) - f64::from(f32::from_bits(b));
        apart.abs() <= f64::from(n) * (1e-5 * z_of(bin, plan) + 1e-3)
    }

    fn reordered(a: u32, b: u32, n: u32, bin: u32, plan: &RoiPlan) -> bool {
        let apart = f64::from(f32::from_bits(a)) - f64::from(f32::from_bits(b));
        apart.abs() <= 1e-5 * f64::from(n) * z_of(bin, plan)
    }
}

/// How closely a histogram of find_z is the twin's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closeness {
    /// Software adapters round quotients as the twin does.
    Bits,
    /// Hardware may round one in some ten million otherwise; and 2^22 steps away from z = 0, a
    /// product of f32 has no digits left.
    Near,
    /// An accurate extrapolation takes another sine, and rounds more often, the more so the further
    /// apart in phi spacepoints are.
    Rounded,
}

impl Closeness {
    fn new<R: Real>(engine: &TypedEngine<R>, plan: &RoiPlan) -> Self {
        let most_mm = plan.bins.z_min.abs().max(plan.bins.z_max.abs());
        let few_steps = most_mm / plan.bins.width * 1024.0 < 4_194_304.0;
        match engine.search.config.extrapolation {
            Extrapolation::Accurate => Self::Rounded,
            Extrapolation::Linear if few_steps && engine.gpu.summary().kind == AdapterKind::Software => Self::Bits,
            Extrapolation::Linear => Self::Near,
        }
    }
}

/// A histogram that find_z filled against the twin's.
fn check_find_z<Z: Compare>(
    place: &str,
    found: &HistogramPair,
    wanted: &HistogramPair,
    plan: &RoiPlan,
    closeness: Closeness,
) {
    let roundings = if closeness == Closeness::Rounded { 64 } else { 1 };
    let entries: u64 = wanted.n.iter().map(|&n| u64::from(n)).sum();
    let moved: u64 = found.n.iter().zip(&wanted.n).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    let allowed = if closeness == Closeness::Bits { 0 } else { 2 + entries / 500 };
    if moved > allowed {
        let differ: Vec<_> = (0..found.n.len())
            .filter(|&bin| found.n[bin] != wanted.n[bin])
            .map(|bin| (bin, found.n[bin], wanted.n[bin]))
            .collect();
        eprintln!("bin, n on the GPU, n on the CPU: {differ:?}");
    }
    assert!(moved <= allowed, "{place}: {moved} of {entries} entries moved");
    let pairs = if wanted.pairs.is_empty() { &wanted.n } else { &wanted.pairs };
    let pairs_moved: u64 = found.pairs.iter().zip(pairs).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    assert!(pairs_moved <= allowed, "{place}: {pairs_moved} pairs moved");
    assert_eq!(found.precisions.len(), wanted.precisions.len(), "{place}");
    let precisions_moved: u64 =
        found.precisions.iter().zip(&wanted.precisions).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    assert!(precisions_moved <= 16 * allowed, "{place}: precisions moved by {precisions_moved}");
    for bin in 0..found.n.len() {
        let (n, a, b) = (wanted.n[bin], found.z[bin], wanted.z[bin]);
        // An entry that came in for one that went out leaves n as it was, and z within a bin each.
        let swapped = moved > 0;
        let same = closeness != Closeness::Bits || Z::ACCUMULATE == Accumulate::CompareExchange || a == b;
        assert!(same, "{place}, bin {bin}: n = {n}, z words {a} and {b}, which are sums of whole numbers");
        assert!(
            found.n[bin] != n || swapped || Z::alike(a, b, roundings * n, bin as u32 % plan.bins.bins, plan),
            "{place}, bin {bin}: n = {n}, z words {a} and {b}"
        );
    }
}

/// Whether llvmpipe ended loops early, as the RoI's status says. It does so after 65,535 rounds.
/// Retries take the more rounds the busier the machine is; numbered pairs take many for a histogram
/// of each slice.
fn is_cut<R: Real, Z: Compare>(gpu: &Gpu, stages: &Readbacks<R>, i: usize) -> bool {
    /// `STATUS_UNFINISHED` in `shaders/shared/types.wgsl`.
    const UNFINISHED: u32 = 4;
    let is_long = stages.part.variant.pairing == Pairing::Numbered && stages.part.variant.several;
    let may_be_cut = is_long || Z::ACCUMULATE == Accumulate::CompareExchange;
    may_be_cut && gpu.name().starts_with("llvmpipe") && stages.flags(i) == UNFINISHED
}

/// Each stage against its twin on the same input: the output of the stage before it on the GPU.
pub(super) fn check_stages<R: Real, Z: Compare>(place: &str, engine: &TypedEngine<R>, gpu: &Readbacks<R>) {
    for (i, (plan, points)) in gpu.planned.iter().enumerate() {
        let place = format!("{place}, {:?}", plan.descriptor.id);
        if is_cut::<R, Z>(&engine.gpu, gpu, i) {
            eprintln!("SKIPPED: {place}, whose status says that it is unfinished");
            continue;
        }
        assert_eq!(gpu.flags(i), 0, "{place}: flags");
        let mut sliced = SlicedSpacepoints::default();
        let layers = engine.search.layers() as u32;
        twin::slice_spacepoints::slice_spacepoints(points, layers, plan.slices, &mut sliced);
        check_sliced(&place, gpu, i, layers, &sliced);
        check_rows::<R, Z>(&place, engine, gpu, i, &sliced);
        check_totals::<R, Z>(&place, engine, gpu, i, &sliced);
        check_peaks(&place, engine, gpu, i);
        assert_eq!(gpu.status[i].flags, 0, "{place}: status, which is for the next");
    }
}

/// Cells, and the spacepoints in them.
fn check_sliced<R: Real>(place: &str, gpu: &Readbacks<R>, i: usize, layers: u32, sliced: &SlicedSpacepoints<R>) {
    let (plan, points) = &gpu.planned[i];
    let words = &gpu.part.words[i];
    let mut wanted_cells = vec![0u32; gpu.part.variant.pairing.cells_of(layers, plan.slices) as usize];
    let wanted_points = sorted_by_twin(sliced);
    for point in &wanted_points {
        wanted_cells[gpu.cell(point, plan.slices) as usize + 1] += 1;
    }
    let mut before = 0;
    let halves = points.is_empty() || words.spacepoint_count <= 0xffff;
    for (cell, count) in wanted_cells.iter().enumerate() {
        before += count;
        let word = |at: usize| gpu.cells[words.cell_first as usize + at];
        let found = if halves { word(cell / 2) >> (16 * (cell % 2)) & 0xffff } else { word(cell) };
        assert_eq!(found, before, "{place}: slice_spacepoints, cell {cell}");
    }
    let sorted = gpu.sorted(i);
    assert!(
        sorted.is_sorted_by_key(|point| gpu.cell(point, plan.slices)),
        "{place}: slice_spacepoints, the order of spacepoints"
    );
    assert!(alike(&sorted, &wanted_points), "{place}: slice_spacepoints, spacepoints");
}

/// The rows of find_z, where each is that of a group of slices.
fn check_rows<R: Real, Z: Compare>(
    place: &str,
    engine: &TypedEngine<R>,
    gpu: &Readbacks<R>,
    i: usize,
    sliced: &SlicedSpacepoints<R>,
) {
    let (search, (plan, _)) = (&engine.search, &gpu.planned[i]);
    let RowSharing::Numbered { slices: each } = engine.shape.pairs else { return };
    if gpu.part.variant.row_parts() == 0 || gpu.beyond.iter().any(|&word| word != 0) {
        return;
    }
    for (group, found) in gpu.rows(i).iter().enumerate() {
        let first = group as u32 * each;
        let slices = first..first.saturating_add(each).min(plan.slices);
        let wanted = twin::find_z::find_z::<R, Z>(search, plan, sliced, slices);
        let place = format!("{place}: find_z, group {group}");
        check_find_z::<Z>(&place, found, &wanted, plan, Closeness::new(engine, plan));
    }
}

/// All pairs, and the sum of the rows.
fn check_totals<R: Real, Z: Compare>(
    place: &str,
    engine: &TypedEngine<R>,
    gpu: &Readbacks<R>,
    i: usize,
    sliced: &SlicedSpacepoints<R>,
) {
    let (search, (plan, _)) = (&engine.search, &gpu.planned[i]);
    let wanted = twin::find_z::find_z::<R, Z>(search, plan, sliced, 0..plan.slices);
    let total = gpu.total(i);
    check_find_z::<Z>(&format!("{place}: find_z, all rows"), &total, &wanted, plan, Closeness::new(engine, plan));

    let mut wanted = gpu.own(&gpu.beyond, i);
    let overflow = twin::sum_histos::sum_histos::<Z>(&gpu.rows(i), &mut wanted);
    assert!(!overflow, "{place}: sum_histos, counts beyond a word and no flag");
    assert_eq!(total.n, wanted.n, "{place}: sum_histos, n");
    for bin in 0..total.n.len() {
        let (n, a, b) = (wanted.n[bin], total.z[bin], wanted.z[bin]);
        assert!(
            Z::reordered(a, b, n, bin as u32 % plan.bins.bins, plan),
            "{place}: sum_histos, bin {bin}: n = {n}, z words {a} and {b}"
        );
    }
}

/// Peaks, and the totals without them.
pub(super) fn check_peaks<R: Real>(place: &str, engine: &TypedEngine<R>, gpu: &Readbacks<R>, i: usize) {
    let (plan, _) = &gpu.planned[i];
    let mut emptied = gpu.total(i);
    let config = &engine.search.config;
    let wanted = twin::find_peaks::find_peaks(&mut emptied, &plan.bins, config, plan.background_windows);
    assert_eq!(gpu.peaks(i), wanted, "{place}: find_peaks");
    assert_eq!(gpu.own(&gpu.emptied, i), emptied, "{place}: find_peaks, the totals left");
}

/// Two modules that differ in their guards only.
pub(super) fn check_same<R: Real, Z: Compare>(place: &str, gpu: &Gpu, checked: &Readbacks<R>, trusted: &Readbacks<R>) {
    assert_eq!(checked.cells, trusted.cells, "{place}: cells, checked and trusted");
    let same = |what: &str, plan: &RoiPlan, a: &HistogramPair, b: &HistogramPair| {
        let place = format!("{place}, {:?}: {what}, checked and trusted", plan.descriptor.id);
        assert_eq!(a.n, b.n, "{place}");
        for bin in 0..a.n.len() {
            let (n, a, b) = (a.n[bin], a.z[bin], b.z[bin]);
            assert!(
                Z::reordered(a, b, n, bin as u32 % plan.bins.bins, plan),
                "{place}: bin {bin}, n = {n}, z words {a} and {b}"
            );
        }
    };
    for (i, (plan, _)) in checked.planned.iter().enumerate() {
        if is_cut::<R, Z>(gpu, checked, i) || is_cut::<R, Z>(gpu, trusted, i) {
            continue;
        }
        assert_eq!(checked.status[i], trusted.status[i], "{place}: status, checked and trusted");
        let (a, b) = (checked.sorted(i), trusted.sorted(i));
        assert!(canonical(&a) == canonical(&b), "{place}: spacepoints, checked and trusted");
        if checked.part.variant.pairing == Pairing::Numbered {
            // Shares of spacepoints differ with their order within cells, slices do not.
            for (a, b) in checked.rows(i).iter().zip(&trusted.rows(i)) {
                same("histograms", plan, a, b);
            }
        }
        same("totals", plan, &checked.total(i), &trusted.total(i));
        let (a, b) = (checked.peaks(i), trusted.peaks(i));
        let counts = |peaks: &[Peak]| peaks.iter().map(|peak| (peak.bin, peak.n)).collect::<Vec<_>>();
        assert_eq!(counts(&a), counts(&b), "{place}: peaks, checked and trusted");
        if Z::ACCUMULATE == Accumulate::Fixed {
            assert_eq!(a, b, "{place}: peaks, checked and trusted");
        }
    }
}

/// The walk in one workgroup against the four stages, where it can take the batch: whether it can.
pub(super) fn check_walk<R: Real, Z: Compare>(place: &str, engine: &mut TypedEngine<R>, batch: &RoiBatch) -> bool {
    let plans: Vec<RoiPlan> = batch.iter().map(|roi| engine.search.plan(roi).expect("a plan")).collect();
    let wanted = plans.iter().filter(|plan| !plan.is_empty());
    if wanted.clone().count() == 0 || choose_method(&engine.shape, wanted) != SearchMethod::Walk {
        return false;
    }
    let find = |engine: &TypedEngine<R>| {
        let found = engine.answers(batch);
        found.unwrap_or_else(|error| panic!("{place}: {error}"))
    };
    let walked = find(engine);
    let room = engine.shape.walk.take();
    let staged = find(engine);
    engine.shape.walk = room;
    let place = format!("{place}: walked, and in stages");
    if Z::ACCUMULATE == Accumulate::Fixed {
        assert_eq!(walked, staged, "{place}");
        return true;
    }
    for (a, b) in walked.iter().zip(&staged) {
        assert_eq!((a.status(), a.vertices().len()), (b.status(), b.vertices().len()), "{place}");
        for (a, b) in a.vertices().iter().zip(b.vertices().iter()) {
            assert_eq!(a.weight, b.weight, "{place}");
            let near = f64::abs(a.z_mm - b.z_mm) < 1e-4 * (1.0 + b.z_mm.abs());
            assert!(near, "{place}: {} and {}", a.z_mm, b.z_mm);
        }
    }
    true
}
