//! Every kernel against its CPU stage, on every adapter: buffers are read back after each stage and held against what
//! the CPU stage makes of the same input. Input is random and adversarial, always seeded.
#![allow(clippy::print_stderr)] // what is skipped is said aloud

mod limits;

use std::f64::consts::PI;

use kernel_host::{AdapterChoice, AdapterSummary, Buffer, Readback};

use super::*;
use crate::config::{Config, Extrapolation, Neighbours, Triplets, Weighting};
use crate::detector::Detector;
use crate::engine::cpu;
use crate::engine::cpu::find_peaks::FindPeaks;
use crate::engine::cpu::find_z::FindZ;
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::packed_histogram::PackedHistogram;
use crate::engine::cpu::slice_spacepoints::SlicedSpacepoints;
use crate::engine::encoding::Encode;
use crate::engine::gpu::workspace::RoiStatus;
use crate::engine::test_cases::{Case, cases, roi, window};
use crate::engine::toy::{Toy, turned};
use crate::histogram::{CompareExchange, FixedPoint, HistogramPair, MAX_COUNT, ZSum};
use crate::spacepoint::{Roi, Spacepoint};
use kernel_host::testing::{on_adapters, shared_device_with};

/// A sorted spacepoint.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SortedPoint<R> {
    inverse_rho: R,
    z_by_rho: R,
    phi: R,
    slice: u32,
    layer: u32,
}

/// The CPU stage's answer in an order of its own.
fn sorted_on_cpu<R: Real>(sliced: &SlicedSpacepoints<R>) -> Vec<SortedPoint<R>> {
    let point = |i: usize| SortedPoint {
        inverse_rho: sliced.inverse_rho[i],
        z_by_rho: sliced.z_by_rho[i],
        phi: sliced.phi[i],
        slice: sliced.slice_number[i].to_f64() as u32,
        layer: sliced.layer_number[i].to_f64() as u32,
    };
    (0..sliced.kept()).map(point).collect()
}

/// The CPU's sum of histograms.
fn summed_on_cpu<Z: Compare>(histograms: &[HistogramPair]) -> HistogramPair {
    let packed: Vec<_> = histograms.iter().map(|part| PackedHistogram::of(part, Z::ACCUMULATE)).collect();
    let mut total = HistogramPair::new(0, 0);
    cpu::sum_histos::sum_histos::<Z>(&packed, &mut total);
    total
}

/// What the CPU stage fills with the pairs of these slices.
fn filled_on_cpu<R: Lanes, Z: Compare>(
    search: &Search,
    plan: &RoiPlan,
    sliced: &SlicedSpacepoints<R>,
    slices: std::ops::Range<u32>,
) -> HistogramPair {
    let mut to = FindZ::default();
    cpu::find_z::find_z(search, plan, Z::ACCUMULATE, sliced, slices, &mut to);
    let mut total = HistogramPair::new(0, 0);
    cpu::sum_histos::sum_histos::<Z>([&to.histogram], &mut total);
    total
}

/// Every stage's output.
struct Stages<R: Real> {
    layout: Layout<R>,
    /// The RoIs that were searched, and their spacepoints as the stages are to see them.
    planned: Vec<(RoiPlan, Vec<R::Spacepoint>)>,
    variant: Variant,
    cells: Vec<u32>,
    points: Vec<[R; 2]>,
    beside: Vec<u32>,
    histograms: Vec<u32>,
    /// The totals before sum_histos: what rows could not hold.
    beyond: Vec<u32>,
    totals: Vec<u32>,
    /// The totals after find_peaks.
    emptied: Vec<u32>,
    peaks: Vec<Peak>,
    status: Vec<RoiStatus>,
}

impl GpuEngine {
    /// Frees what is kept for the next batch.
    pub(in crate::engine) fn free_idle(&self) {
        match self {
            Self::F32(engine) => engine.workspaces.free_idle(),
            Self::F64(engine) => engine.workspaces.free_idle(),
        }
    }
}

impl<R: Real> Typed<R> {
    /// Another configuration in the same kernels.
    fn take_case(&mut self, case: &Case) {
        self.search =
            Search::new(&built_in(&self.search.config, &case.config), &case.detector).expect("a valid configuration");
        self.shape.pairs = match self.shape.pairs {
            Pairs::Numbered { .. } => Pairs::Numbered { slices: case.slices_per_histogram },
            Pairs::Streamed { .. } => Pairs::Streamed { share: Some(case.share) },
        };
        self.shape.layers = self.search.layers() as u32;
        self.compact = self.compact.and_then(|_| Compact::new(&self.search));
        let cuts = R::cuts(self.search.triplet_cuts());
        self.constants = Constants::new(&self.gpu, cuts, &self.search.neighbours).expect("small buffers");
    }

    /// The walk of `Typed::encode`, with every buffer read back.
    fn stages(&mut self, batch: &RoiBatch) -> Result<Stages<R>> {
        let room = self.shape.walk.take();
        let stages = self.four_stages(batch);
        self.shape.walk = room;
        stages
    }

    fn four_stages(&self, batch: &RoiBatch) -> Result<Stages<R>> {
        let (batch, waiting, helpers) = (batch.into(), Waiting::Blocking, Helpers::Pool);
        let plans = self.plan(batch, helpers)?;
        let encoding = self.encoding();
        let shape = self.shape_for(self.search.config.peaks);
        let planned = Planned { batch, plans: &plans, encoding, waiting, helpers, spin: Duration::ZERO, shape };
        let wanted: Vec<usize> = (0..plans.len()).filter(|&roi| !plans[roi].is_empty()).collect();
        let cut = batch::cut::<R>(&plans, &wanted, self.packed_bytes(encoding), &self.capacity, &shape);
        assert_eq!((cut.parts.len(), cut.too_large.len()), (1, 0), "test batches fit");
        let rois = &cut.parts[0];
        let decoded = rois.iter().map(|&roi| {
            let mut points = Vec::new();
            let (plan, view) = (&plans[roi], batch.roi(roi));
            let taken = match &self.compact {
                Some(compact) => self.search.pack::<R, _>(compact, plan, view, |words| {
                    Encode::<R>::decode(compact, words, &mut points);
                }),
                None => self.search.pack::<R, _>(&Lossless, plan, view, |words| points.extend_from_slice(words)),
            };
            points.retain(|point| R::point(point).is_some());
            if taken.kept == 0 {
                points.clear();
            }
            (plan.clone(), points)
        });
        let decoded: Vec<_> = decoded.collect();
        // Used ones hold the leavings of other cases, which must not matter.
        let mut workspace = self.workspaces.take(|| self.new_workspace());
        let layout = self.upload(planned, &mut workspace, rois)?;
        let mut encoder = self.gpu.encoder("stages");
        self.begin(&mut encoder, &mut workspace)?;
        self.clear(&mut encoder, &workspace, &layout)?;
        let descriptor = wgpu::ComputePassDescriptor::default();
        let row = layout.params.row_bins as usize;
        let rows = layout.row_rois.len() * layout.row_parts as usize * row;
        let rois = layout.rois.len();
        let mut groups = std::mem::take(&mut workspace.groups);
        let (gpu, w) = (&self.gpu, &workspace);
        let mut encode = |encoder: &mut wgpu::CommandEncoder, stages: &[Stage]| {
            let pass = &mut encoder.begin_compute_pass(&descriptor);
            stages.iter().try_for_each(|&stage| self.encode_stage(stage, pass, encoding, w, &mut groups, &layout))
        };
        encode(&mut encoder, &[Stage::SliceSpacepoints, Stage::FindZ])?;
        let cells = copy(gpu, &mut encoder, &w.cells, layout.cell_words)?;
        let sorted = copy(gpu, &mut encoder, &w.points, layout.spacepoints)?;
        let beside_words = layout.spacepoints * (layout.beside_bytes / 4);
        let beside = copy(gpu, &mut encoder, &w.beside, beside_words)?;
        let histograms = copy(gpu, &mut encoder, &w.histograms, rows)?;
        let words = layout.total_words();
        let beyond = copy(gpu, &mut encoder, &w.totals, words)?;
        let stages = layout.stages();
        encode(&mut encoder, &stages[2..stages.len() - 1])?;
        let totals = copy(gpu, &mut encoder, &w.totals, words)?;
        encode(&mut encoder, &[Stage::FindPeaks])?;
        let emptied = copy(gpu, &mut encoder, &w.totals, words)?;
        let peaks = copy(gpu, &mut encoder, &w.peaks, layout.peaks())?;
        let status = copy(gpu, &mut encoder, &w.status, rois)?;
        let submission = gpu.submit(encoder)?;
        gpu.wait(&submission)?;
        let stages = Stages {
            variant: self.shape.variants[layout.room],
            cells: cells.read_done(gpu, layout.cell_words)?,
            points: sorted.read_done(gpu, layout.spacepoints)?,
            beside: beside.read_done(gpu, beside_words)?,
            histograms: histograms.read_done(gpu, rows)?,
            beyond: beyond.read_done(gpu, words)?,
            totals: totals.read_done(gpu, words)?,
            emptied: emptied.read_done(gpu, words)?,
            peaks: peaks.read_done(gpu, layout.peaks())?,
            status: status.read_done(gpu, rois)?,
            layout,
            planned: decoded,
        };
        workspace.give_back();
        Ok(stages)
    }
}

fn copy<T: bytemuck::Pod>(
    gpu: &Gpu,
    encoder: &mut wgpu::CommandEncoder,
    buffer: &Buffer<T>,
    len: usize,
) -> Result<Readback<T>> {
    let mut readback = Readback::new("test");
    readback.reserve(gpu, len)?;
    readback.copy_from(encoder, buffer, len)?;
    Ok(readback)
}

impl<R: Real> Stages<R> {
    /// A row of so many words a bin: n, z, and pairs if they are not n.
    fn row(&self, words: &[u32], row: u32, parts: u32, bins: u32) -> HistogramPair {
        let part = |part: u32| {
            let first = ((row * parts + part) * self.layout.params.row_bins) as usize;
            words[first..first + bins as usize].to_vec()
        };
        let sectors = if parts == 5 { [part(3), part(4)] } else { [const { Vec::new() }; 2] };
        HistogramPair { n: part(0), z: part(1), pairs: part(if parts > 2 { 2 } else { 0 }), sectors }
    }

    /// An RoI's own histograms.
    fn own(&self, words: &[u32], i: usize) -> HistogramPair {
        let roi = &self.layout.words[i];
        let mut all = HistogramPair::new(0, 0);
        for row in roi.total_first..roi.total_first + roi.totals {
            let one = self.row(words, row, self.layout.params.total_parts, roi.bins);
            all.n.extend(one.n);
            all.z.extend(one.z);
            all.pairs.extend(one.pairs);
            all.sectors.iter_mut().zip(one.sectors).for_each(|(all, one)| all.extend(one));
        }
        all
    }

    /// The rows that find_z filled for an RoI.
    fn rows(&self, i: usize) -> Vec<HistogramPair> {
        if self.layout.row_parts == 0 {
            return Vec::new();
        }
        let words = &self.layout.words[i];
        let used = self.status[i].rows;
        assert!(used <= words.histogram_count, "{used} rows of {}", words.histogram_count);
        let bins = words.bins as usize;
        (words.histogram_first..words.histogram_first + used)
            .map(|row| {
                if self.layout.row_parts == 2 {
                    return self.row(&self.histograms, row, 2, words.bins);
                }
                let first = (row * self.layout.params.row_bins) as usize;
                let packed = &self.histograms[first..first + bins];
                let n: Vec<u32> = packed.iter().map(|word| word >> 21).collect();
                let z = packed.iter().map(|word| word & 0x1f_ffff).collect();
                HistogramPair { pairs: n.clone(), n, z, sectors: [const { Vec::new() }; 2] }
            })
            .collect()
    }

    fn total(&self, i: usize) -> HistogramPair {
        self.own(&self.totals, i)
    }

    /// What went wrong with an RoI.
    fn flags(&self, i: usize) -> u32 {
        self.peaks[i * self.layout.params.peaks as usize].flags
    }

    /// The peaks found.
    fn peaks(&self, i: usize) -> Vec<Peak> {
        let each = self.layout.params.peaks as usize;
        self.peaks[i * each..(i + 1) * each].iter().copied().take_while(|peak| peak.bin != Peak::NONE).collect()
    }

    /// phi of the i-th sorted spacepoint, where it is kept, and its slice << 8 | layer.
    fn beside(&self, i: usize) -> (R, u32) {
        let bytes = self.layout.beside_bytes;
        let words = &self.beside[i * bytes / 4..][..bytes / 4];
        match *words {
            [slice_layer] => (R::of(0.0), slice_layer),
            _ => R::stored(&bytemuck::pod_read_unaligned(bytemuck::cast_slice(words))),
        }
    }

    /// An RoI's sorted spacepoints.
    fn sorted(&self, i: usize) -> Vec<SortedPoint<R>> {
        let first = self.layout.words[i].spacepoint_first as usize;
        (first..first + self.planned[i].1.len())
            .map(|i| {
                let ([inverse_rho, z_by_rho], (phi, slice_layer)) = (self.points[i], self.beside(i));
                SortedPoint { inverse_rho, z_by_rho, phi, slice: slice_layer >> 8, layer: slice_layer & 0xff }
            })
            .collect()
    }

    /// Where a spacepoint stands in the order that this pairing wants.
    fn cell(&self, point: &SortedPoint<R>, slices: u32) -> u32 {
        match self.variant.pairing {
            Pairing::MixedLayers => point.slice,
            Pairing::TwoSlices => point.slice * self.layout.params.layers + point.layer,
            Pairing::ByLayer | Pairing::Numbered => point.layer * slices + point.slice,
        }
    }
}

/// Spacepoints in an order of their own, for that within a cell is free.
fn canonical<R: Real>(points: &[SortedPoint<R>]) -> Vec<SortedPoint<R>> {
    let mut all = points.to_vec();
    let key = |p: &SortedPoint<R>| (p.slice, p.layer, p.phi.to_f64(), p.inverse_rho.to_f64(), p.z_by_rho.to_f64());
    all.sort_by(|a, b| key(a).partial_cmp(&key(b)).expect("numbers"));
    all
}

/// The same spacepoints, but for the rounding of a quotient.
fn alike<R: Real>(a: &[SortedPoint<R>], b: &[SortedPoint<R>]) -> bool {
    let near = |a: R, b: R| (a.to_f32() - b.to_f32()).abs() <= 4.0 * f32::EPSILON * a.to_f32().abs();
    let same = |(a, b): (&SortedPoint<R>, &SortedPoint<R>)| {
        let place = (a.slice, a.layer, a.phi) == (b.slice, b.layer, b.phi);
        place && near(a.inverse_rho, b.inverse_rho) && near(a.z_by_rho, b.z_by_rho)
    };
    a.len() == b.len() && canonical(a).iter().zip(&canonical(b)).all(same)
}

/// How far two sums of z may lie apart, and whether they do.
trait Compare: ZSum {
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

/// A histogram that find_z filled against the CPU's. An accurate extrapolation rounds more often than a linear one, the
/// more so the further apart in phi spacepoints are.
fn check_find_z<Z: Compare>(
    place: &str,
    found: &HistogramPair,
    wanted: &HistogramPair,
    plan: &RoiPlan,
    extrapolation: Extrapolation,
) {
    let roundings = if extrapolation == Extrapolation::Linear { 1 } else { 64 };
    let entries: u64 = wanted.n.iter().map(|&n| u64::from(n)).sum();
    let moved: u64 = found.n.iter().zip(&wanted.n).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    let allowed = 2 + entries / 500;
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
    for bin in 0..found.n.len() {
        let (n, a, b) = (wanted.n[bin], found.z[bin], wanted.z[bin]);
        // An entry that came in for one that went out leaves n as it was, and z within a bin each.
        let swapped = moved > 0;
        assert!(
            found.n[bin] != n || swapped || Z::alike(a, b, roundings * n, bin as u32 % plan.bins.bins, plan),
            "{place}, bin {bin}: n = {n}, z words {a} and {b}"
        );
    }
}

/// Whether llvmpipe ended loops early, as the RoI's status says. It does so after 65,535 rounds. Retries take the more rounds
/// the busier the machine is; numbered pairs take many for a histogram of each slice.
fn is_cut<R: Real, Z: Compare>(gpu: &Gpu, stages: &Stages<R>, i: usize) -> bool {
    /// `STATUS_UNFINISHED` in `shaders/types.wgsl`.
    const UNFINISHED: u32 = 4;
    let is_long = stages.variant.pairing == Pairing::Numbered && stages.layout.several;
    let may_be_cut = is_long || Z::ACCUMULATE == Accumulate::CompareExchange;
    may_be_cut && gpu.name().starts_with("llvmpipe") && stages.flags(i) == UNFINISHED
}

/// Each stage against its CPU twin on the same input: the stage before it on the GPU.
fn check_stages<R: Lanes, Z: Compare>(place: &str, engine: &Typed<R>, gpu: &Stages<R>) {
    let search = &engine.search;
    let layers = search.layers();
    for (i, (plan, points)) in gpu.planned.iter().enumerate() {
        let place = format!("{place}, {:?}", plan.descriptor.id);
        let words = &gpu.layout.words[i];
        let bins = words.bins;
        if is_cut::<R, Z>(&engine.gpu, gpu, i) {
            eprintln!("SKIPPED: {place}, whose status says that it is unfinished");
            continue;
        }
        assert_eq!(gpu.flags(i), 0, "{place}: flags");

        let mut wanted_cells = vec![0u32; gpu.variant.cells_of(layers as u32, plan.slices) as usize];
        let mut sliced = SlicedSpacepoints::default();
        cpu::slice_spacepoints::slice_spacepoints::<R>(points, plan.slices, &mut sliced);
        let mut wanted_points = sorted_on_cpu(&sliced);
        if gpu.layout.beside_bytes == size_of::<u32>() {
            wanted_points.iter_mut().for_each(|point| point.phi = R::of(0.0));
        }
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

        let rows = gpu.rows(i);
        if let Pairs::Numbered { slices: each } = engine.shape.pairs
            && gpu.layout.row_parts > 0
        {
            for (group, found) in rows.iter().enumerate() {
                let first = group as u32 * each;
                let slices = first..first.saturating_add(each).min(plan.slices);
                let wanted = filled_on_cpu::<R, Z>(search, plan, &sliced, slices);
                if gpu.beyond.iter().all(|&word| word == 0) {
                    check_find_z::<Z>(
                        &format!("{place}: find_z, group {group}"),
                        found,
                        &wanted,
                        plan,
                        search.config.extrapolation,
                    );
                }
            }
        }
        let wanted = filled_on_cpu::<R, Z>(search, plan, &sliced, 0..plan.slices);
        let total = gpu.total(i);
        check_find_z::<Z>(&format!("{place}: find_z, all rows"), &total, &wanted, plan, search.config.extrapolation);

        let beyond = gpu.own(&gpu.beyond, i);
        let wanted = summed_on_cpu::<Z>(&[&rows[..], &[beyond]].concat());
        assert_eq!(total.n, wanted.n, "{place}: sum_histos, n");
        for bin in 0..total.n.len() {
            let (n, a, b) = (wanted.n[bin], total.z[bin], wanted.z[bin]);
            assert!(
                Z::reordered(a, b, n, bin as u32 % bins, plan),
                "{place}: sum_histos, bin {bin}: n = {n}, z words {a} and {b}"
            );
        }

        let mut emptied = total;
        let mut wanted = Vec::new();
        let (config, windows) = (&search.config, plan.background_windows);
        cpu::find_peaks::find_peaks(&mut emptied, &plan.bins, config, windows, &mut FindPeaks::default(), |peak| {
            wanted.push(*peak);
            wanted.len() < search.config.peaks as usize
        });
        assert_eq!(gpu.peaks(i), wanted, "{place}: find_peaks");
        assert_eq!(gpu.own(&gpu.emptied, i), emptied, "{place}: find_peaks, the totals left");
        assert_eq!(gpu.status[i].flags, 0, "{place}: status, which is for the next");
    }
}

/// Two modules that differ in their guards only.
fn check_same<R: Lanes, Z: Compare>(place: &str, gpu: &Gpu, checked: &Stages<R>, trusted: &Stages<R>) {
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
        if checked.variant.pairing == Pairing::Numbered {
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

/// A device on which answers are written where the tests read them: not straight into the host's memory.
fn open(adapter: &AdapterSummary) -> Gpu {
    shared_device_with(adapter, wgpu::Features::SHADER_F64)
}

fn build<R: Real>(gpu: &Gpu, config: &Config, options: &EngineOptions) -> Typed<R> {
    let search = Search::new(config, &Detector::atlas2010()).expect("a valid configuration");
    pollster::block_on(Typed::new(gpu.clone(), search, options))
        .unwrap_or_else(|error| panic!("{}, {options:?}: {error}", gpu.name()))
}

/// Pairs of the default configuration, gone through in one of the ways.
fn pairing_options(pairing: Pairing, triplets: Triplets) -> (Config, EngineOptions) {
    let single = pairing == Pairing::TwoSlices;
    let neighbours = if single { Neighbours::Single } else { Neighbours::Bending };
    let first_layers = if single { 64 } else { 3 };
    let slices_per_histogram = (pairing == Pairing::Numbered).then_some(1);
    (
        Config { triplets, neighbours, first_layers, ..Config::default() },
        EngineOptions { slices_per_histogram, ..EngineOptions::default() },
    )
}

/// The walk in one workgroup against the four stages, where it can take the batch: whether it can.
fn check_walk<R: Lanes, Z: Compare>(place: &str, engine: &mut Typed<R>, batch: &RoiBatch) -> bool {
    let plans: Vec<RoiPlan> = batch.iter().map(|roi| engine.search.plan(roi).expect("a plan")).collect();
    let fits = |room: walk::Room| plans.iter().all(|plan| plan.is_empty() || room.holds(plan, &engine.shape));
    if plans.iter().all(RoiPlan::is_empty) || !engine.shape.walk.is_some_and(fits) {
        return false;
    }
    let find = |engine: &Typed<R>| {
        let found = pollster::block_on(engine.find_batch(batch.into(), Waiting::Blocking, Helpers::Pool));
        found.unwrap_or_else(|error| panic!("{place}: {error}"))
    };
    let walked = find(engine);
    let room = engine.shape.walk.take();
    let staged = find(engine);
    engine.shape.walk = room;
    let place = format!("{place}: walked, and in stages");
    if Z::ACCUMULATE == Accumulate::Fixed {
        assert_eq!(walked, staged, "{place}");
    }
    for (a, b) in walked.iter().zip(&staged) {
        assert_eq!((a.status, a.vertices.len()), (b.status, b.vertices.len()), "{place}");
        for (a, b) in a.vertices.iter().zip(&b.vertices) {
            assert_eq!(a.weight, b.weight, "{place}");
            let near = f64::abs(a.z_mm - b.z_mm) < 1e-4 * (1.0 + b.z_mm.abs());
            assert!(near, "{place}: {} and {}", a.z_mm, b.z_mm);
        }
    }
    true
}

/// Every case in one variant of the kernels, checked and trusted.
fn check_variant<R: Lanes, Z: Compare>(gpu: &Gpu, precision: Precision, triplets: Triplets, pairing: Pairing) {
    check_encoded::<R, Z>(gpu, precision, triplets, pairing, Encoding::Lossless);
}

fn check_encoded<R: Lanes, Z: Compare>(
    gpu: &Gpu,
    precision: Precision,
    triplets: Triplets,
    pairing: Pairing,
    encoding: Encoding,
) {
    let (config, options) = pairing_options(pairing, triplets);
    check_configured::<R, Z>(gpu, config, EngineOptions { precision, encoding, ..options }, pairing);
}

/// A case's configuration with what kernels have built in.
fn built_in(kernels: &Config, case: &Config) -> Config {
    let &Config { triplets, weighting, extrapolation, charge_aware, histogram_per_slice, .. } = kernels;
    let mut config = Config { triplets, weighting, extrapolation, charge_aware, histogram_per_slice, ..case.clone() };
    if histogram_per_slice {
        // As many as fit.
        config.phi_slice_deg = config.phi_slice_deg.max(6.0);
        config.z_bin_mm = config.z_bin_mm.max(1.0);
    }
    config
}

fn check_configured<R: Lanes, Z: Compare>(gpu: &Gpu, config: Config, options: EngineOptions, pairing: Pairing) {
    let EngineOptions { precision, encoding, .. } = options;
    let triplets = config.triplets;
    let options = EngineOptions { accumulate: Z::ACCUMULATE, ..options };
    let mut trusted = build::<R>(gpu, &config, &options);
    let mut checked = build::<R>(gpu, &config, &EngineOptions { checked: true, ..options });
    assert_eq!(trusted.shape.variants[1].pairing, pairing);
    let mut count = 0;
    let mut walked = 0;
    for case in cases().iter().filter(|case| triplets == Triplets::Off || case.triplets) {
        let place = format!(
            "{}, {precision:?}, {:?}, {encoding:?}, {pairing:?}, triplets {triplets:?}, {:?}, charge {}, slice {}, {}",
            gpu.name(),
            Z::ACCUMULATE,
            config.extrapolation,
            config.charge_aware,
            config.histogram_per_slice,
            case.name
        );
        // The two-slice scheme is for single neighbours; the bits of the compact encoding are built in.
        let search = Search::new(&built_in(&config, &case.config), &case.detector).expect("a valid configuration");
        let same_bits = encoding == Encoding::Lossless || Compact::new(&search) == trusted.compact;
        if !same_bits || (pairing == Pairing::TwoSlices && !search.is_single()) {
            continue;
        }
        count += 1;
        let [a, b] = [&mut trusted, &mut checked].map(|engine| {
            engine.take_case(case);
            let stages = engine.stages(&case.batch).unwrap_or_else(|error| panic!("{place}: {error}"));
            check_stages::<R, Z>(&place, engine, &stages);
            stages
        });
        check_same::<R, Z>(&place, gpu, &b, &a);
        walked += u32::from(check_walk::<R, Z>(&place, &mut trusted, &case.batch));
        if pairing == Pairing::TwoSlices {
            check_walk::<R, Z>(&place, &mut checked, &case.batch);
        }
    }
    assert!(count >= 3, "{pairing:?}, {encoding:?}, triplets {triplets:?}: {count} cases");
    // Cells by layer leave little room for spacepoints on some adapters.
    let must_walk = pairing == Pairing::TwoSlices && trusted.shape.walk.is_some();
    assert!(walked >= 3 || !must_walk, "{pairing:?}, {encoding:?}, triplets {triplets:?}: {walked} cases walked");
}

const PAIRINGS: [Pairing; 3] = [Pairing::TwoSlices, Pairing::ByLayer, Pairing::Numbered];

/// Pairings and triplets of the short form, in which each occurs; the long form has them all.
const SHORT: [(Pairing, Triplets); 4] = [
    (Pairing::TwoSlices, Triplets::Any),
    (Pairing::ByLayer, Triplets::Off),
    (Pairing::ByLayer, Triplets::Any),
    (Pairing::Numbered, Triplets::Count),
];

#[test]
fn stages_in_fixed_point() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pairing, triplets) in SHORT {
            check_variant::<f32, FixedPoint>(&gpu, Precision::F32, triplets, pairing);
        }
    }
}

#[test]
#[ignore = "long form of the tests of stages: scripts/test --full"]
fn stages_in_every_variant() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for pairing in PAIRINGS {
            for triplets in [Triplets::Off, Triplets::Any, Triplets::Count] {
                let (config, options) = pairing_options(pairing, triplets);
                let accurate = Config { extrapolation: Extrapolation::Accurate, ..config.clone() };
                check_configured::<f32, FixedPoint>(&gpu, accurate, options.clone(), pairing);
                check_configured::<f32, FixedPoint>(&gpu, config.clone(), options.clone(), pairing);
                check_configured::<f32, CompareExchange>(&gpu, config.clone(), options.clone(), pairing);
                if pairing != Pairing::TwoSlices {
                    for (charge_aware, histogram_per_slice) in [(true, false), (false, true), (true, true)] {
                        let config = Config { charge_aware, histogram_per_slice, ..config.clone() };
                        check_configured::<f32, FixedPoint>(&gpu, config.clone(), options.clone(), pairing);
                        check_configured::<f32, CompareExchange>(&gpu, config, options.clone(), pairing);
                    }
                }
            }
        }
        let (config, options) = pairing_options(Pairing::Numbered, Triplets::Any);
        let config = Config { weighting: Weighting::Pt, ..config };
        check_configured::<f32, FixedPoint>(&gpu, config, options, Pairing::Numbered);
    }
}

#[test]
fn stages_with_compact_spacepoints() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pairing, triplets) in [(Pairing::TwoSlices, Triplets::Off), (Pairing::ByLayer, Triplets::Count)] {
            check_encoded::<f32, FixedPoint>(&gpu, Precision::F32, triplets, pairing, Encoding::Compact);
        }
    }
}

#[test]
fn stages_by_compare_and_exchange() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pairing, triplets) in [(Pairing::Numbered, Triplets::Off), (Pairing::TwoSlices, Triplets::Any)] {
            check_variant::<f32, CompareExchange>(&gpu, Precision::F32, triplets, pairing);
        }
    }
}

#[test]
fn stages_with_several_histograms() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (triplets, charge_aware) in [(Triplets::Any, true), (Triplets::Off, false)] {
            let (config, options) = pairing_options(Pairing::ByLayer, triplets);
            let config = Config { charge_aware, histogram_per_slice: true, ..config };
            check_configured::<f32, FixedPoint>(&gpu, config.clone(), options.clone(), Pairing::ByLayer);
        }
    }
}

#[test]
fn stages_weighted_by_pt() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        let (config, options) = pairing_options(Pairing::ByLayer, Triplets::Any);
        let config = Config { weighting: Weighting::Pt, ..config };
        check_configured::<f32, FixedPoint>(&gpu, config, options, Pairing::ByLayer);
    }
}

#[test]
fn stages_with_accurate_extrapolation() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pairing, triplets) in [(Pairing::TwoSlices, Triplets::Off), (Pairing::ByLayer, Triplets::Count)] {
            let (config, options) = pairing_options(pairing, triplets);
            let config = Config { extrapolation: Extrapolation::Accurate, ..config };
            check_configured::<f32, FixedPoint>(&gpu, config, options, pairing);
        }
    }
}

#[test]
fn stages_in_f64() {
    for adapter in on_adapters() {
        if adapter.shader_f64 {
            let gpu = open(&adapter);
            check_variant::<f64, FixedPoint>(&gpu, Precision::F64, Triplets::Off, Pairing::TwoSlices);
            check_variant::<f64, FixedPoint>(&gpu, Precision::F64, Triplets::Count, Pairing::ByLayer);
            check_variant::<f64, CompareExchange>(&gpu, Precision::F64, Triplets::Any, Pairing::Numbered);
            let (config, options) = pairing_options(Pairing::ByLayer, Triplets::Any);
            let (extrapolation, precision) = (Extrapolation::Accurate, Precision::F64);
            let config = Config { extrapolation, charge_aware: true, histogram_per_slice: true, ..config };
            let options = EngineOptions { precision, ..options };
            check_configured::<f64, FixedPoint>(&gpu, config, options, Pairing::ByLayer);
            let (pairing, triplets) = (Pairing::ByLayer, Triplets::Count);
            check_encoded::<f64, FixedPoint>(&gpu, Precision::F64, triplets, pairing, Encoding::Compact);
            continue;
        }
        eprintln!("{} has no f64: it must be refused", adapter.name);
        // However it is asked: by choice of adapter, or with a device that was opened without it.
        let chosen = crate::ZFinder::builder()
            .engine(crate::Engine::Gpu(AdapterChoice::Index(adapter.index)))
            .precision(Precision::F64)
            .build()
            .map(|_| ());
        let gpu = open(&adapter);
        let search = Search::new(&Config::default(), &Detector::atlas2010()).expect("a valid configuration");
        let options = EngineOptions { precision: Precision::F64, ..EngineOptions::default() };
        let given = pollster::block_on(GpuEngine::new(gpu, search, &options)).map(|_| ());
        for refused in [chosen, given] {
            match refused {
                Err(Error::Gpu(kernel_host::Error::MissingFeature { adapter: name, feature, hint })) => {
                    assert_eq!(name, adapter.name);
                    assert!(feature.contains("SHADER_F64"), "{}: {feature}", adapter.name);
                    assert!(hint.contains("f32") || hint.contains("without"), "{}: {hint}", adapter.name);
                }
                other => panic!("{}: f64 without SHADER_F64 gave {other:?}", adapter.name),
            }
        }
    }
}

/// A toy's azimuths are where its window is: the generator itself.
#[test]
fn toys_lie_in_their_windows() {
    let rng = &mut fastrand::Rng::with_seed(3);
    let event = Toy { window: Some((PI, 0.9)), ..Toy::default() }.event(rng, 0);
    assert_eq!(event.truth.len(), 4);
    let inside = event.roi.spacepoints.iter().filter(|s| turned(s.phi - PI).abs() < 0.45).count();
    assert!(event.roi.spacepoints.len() > 200 && 10 * inside > 8 * event.roi.spacepoints.len(), "{inside}");
}
