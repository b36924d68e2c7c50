//! Every kernel against its CPU stage, on every adapter: buffers are read back after each stage and held against what
//! the CPU stage makes of the same input. Input is random and adversarial, always seeded.
#![allow(clippy::print_stderr)] // what is skipped is said aloud

use std::f64::consts::PI;

use kernel_host::{AdapterChoice, AdapterSummary, Buffer, GpuOptions, Readback};

use super::*;
use crate::config::{Config, Neighbours, Preset, Triplets};
use crate::detector::Detector;
use crate::engine::cpu;
use crate::histogram::{CompareExchange, FixedPoint, HistogramPair, MAX_COUNT, ZSum};
use crate::spacepoint::{PhiWindow, Roi, RoiDescriptor, RoiId, Spacepoint};

#[path = "../../../tests/common/on_adapters.rs"]
mod on_adapters;
#[path = "../../../tests/common/toy.rs"]
mod toy;

use on_adapters::on_adapters;
use toy::{Toy, between, turned};

/// A batch and how to search it.
struct Case {
    name: &'static str,
    config: Config,
    detector: Detector,
    slices_per_histogram: u32,
    batch: RoiBatch,
    /// Run in every triplet mode, not in pairs alone.
    triplets: bool,
}

impl Case {
    fn new(name: &'static str, config: Config, rois: Vec<Roi>) -> Self {
        let detector = Detector::atlas2010();
        Self { name, config, detector, slices_per_histogram: 8, batch: rois.into_iter().collect(), triplets: false }
    }

    fn slices_per_histogram(self, slices_per_histogram: u32) -> Self {
        Self { slices_per_histogram, ..self }
    }

    fn with_triplets(self) -> Self {
        Self { triplets: true, ..self }
    }
}

fn window(low: f64, high: f64) -> Option<PhiWindow> {
    Some(PhiWindow::new(low, high).expect("a window"))
}

fn roi(window: Option<PhiWindow>, spacepoints: Vec<Spacepoint>) -> Roi {
    Roi { descriptor: RoiDescriptor { window, ..RoiDescriptor::default() }, spacepoints }
}

/// RoIs that are no event: each breaks what some shortcut would take for granted.
fn adversarial(rng: &mut fastrand::Rng) -> Vec<Roi> {
    let slice = 0.2f64.to_radians();
    let anywhere = |rng: &mut fastrand::Rng, layer: u32| Spacepoint {
        rho: between(rng, 30.0, 600.0),
        phi: between(rng, 0.0, 0.3),
        z: between(rng, -300.0, 300.0),
        layer,
    };
    let one_slice = (0..120u32).map(|i| Spacepoint { phi: 0.1 * slice, ..anywhere(rng, i % 19) }).collect();
    let one_layer = (0..80).map(|_| anywhere(rng, 3)).collect();
    let two_layers = (0..80u32).map(|i| anywhere(rng, 17 + i % 2)).collect();
    let mut duplicates: Vec<_> = (0..6u32).map(|i| anywhere(rng, i)).collect();
    duplicates.extend(duplicates.clone());
    duplicates.extend(duplicates.clone());
    duplicates.extend(duplicates.clone());
    let equal_rho = (0..60u32).map(|i| Spacepoint { rho: 100.0, ..anywhere(rng, i % 4) }).collect();
    let nearly_equal_rho = (0..60u32)
        .map(|i| Spacepoint { rho: 100.0 + 1e-5 * f64::from(i), z: between(rng, -1e-3, 1e-3), ..anywhere(rng, i % 4) })
        .collect();
    // On the edges of slices, of the window and of the circle, and an ulp off.
    let edges = |low: f64, high: f64| -> Vec<Spacepoint> {
        let mut points = Vec::new();
        for (i, phi) in
            [low, high, PI, -PI, 0.0, -0.0].into_iter().chain((0..40).map(|i| low + f64::from(i) * slice)).enumerate()
        {
            for (j, phi) in [phi, phi.next_up(), phi.next_down()].into_iter().enumerate() {
                let rho = 50.0 + 40.0 * ((i + j) % 5) as f64;
                points.push(Spacepoint { rho, phi, z: 3.0 + 0.3 * rho, layer: ((i + j) % 5) as u32 });
            }
        }
        points
    };
    // z12 far outside, on the edges of the range and, where arithmetic is exact, on edges of bins; and as far
    // as a spacepoint may be.
    let far = [1e3, -1e5, 1e7, -1e7, 1e9, -1e9, 200.0, -200.0, 199.5, -199.5, 0.5, -0.5, 1.5, 0.0, -0.0]
        .into_iter()
        .flat_map(|z| {
            let radii = [50.5, 88.5, 122.5, 299.0].into_iter().zip(0..);
            radii.map(move |(rho, layer)| Spacepoint { rho, phi: 0.01, z, layer })
        })
        .collect();
    let rho_extremes = [1e-6, 1e-5, 1e-3, 1.0, 1e6, 1e8, 1e9]
        .into_iter()
        .flat_map(|rho| (0..3).map(move |layer| Spacepoint { rho, phi: 0.01, z: 1.5, layer }))
        .collect();
    vec![
        roi(window(0.0, 0.3), one_slice),
        roi(window(0.0, 0.3), one_layer),
        roi(window(0.0, 0.3), two_layers),
        roi(window(0.0, 0.3), duplicates),
        roi(window(0.0, 0.3), equal_rho),
        roi(window(0.0, 0.3), nearly_equal_rho),
        roi(window(-0.1, 0.1), edges(-0.1, 0.1)),
        roi(window(3.0, -3.0), edges(3.0, -3.0)),
        roi(Some(PhiWindow::FullScan), edges(-PI, PI)),
        roi(Some(PhiWindow::FromSpacepoints), edges(-0.2, 0.2)),
        roi(window(0.0, 0.3), far),
        roi(window(0.0, 0.3), rho_extremes),
        roi(window(0.0, 0.3), vec![Spacepoint { rho: 50.5, phi: 0.1, z: 0.0, layer: 0 }]),
        // A window narrower than a slice.
        roi(window(0.1, 0.1001), (0..20u32).map(|i| Spacepoint { phi: 0.10005, ..anywhere(rng, i % 3) }).collect()),
    ]
}

/// Many RoIs with hardly anything in them, one with everything among them.
fn unequal(rng: &mut fastrand::Rng) -> Vec<Roi> {
    let mut rois: Vec<Roi> = (0..60)
        .map(|i| {
            let points = (0..i % 6)
                .map(|j| {
                    let rho = 50.0 + 38.0 * f64::from(j);
                    Spacepoint { rho, phi: 0.01 * f64::from(i % 30), z: f64::from(i) + 0.4 * rho, layer: j }
                })
                .collect();
            roi(if i % 29 == 0 { Some(PhiWindow::FullScan) } else { window(0.0, 0.3) }, points)
        })
        .collect();
    let large = Toy { tracks: 150, vertices: 5, noise: 800, window: Some((1.0, 0.8)), ..Toy::default() };
    rois.insert(17, large.event(rng, 0).roi);
    rois
}

/// Windows of some degrees, for software adapters take milliseconds for every workgroup.
fn toys(rng: &mut fastrand::Rng) -> Vec<Roi> {
    let toy = |centre, width| Toy { tracks: 15, noise: 20, window: Some((centre, width)), ..Toy::default() };
    let mut rois: Vec<Roi> = [(0.7, 0.5), (PI, 0.3)].map(|(centre, width)| toy(centre, width).event(rng, 0).roi).into();
    // Another eta, and with it other bins and reaches; another range of z.
    for (eta, z_range) in [(1.4, None), (-2.2, Some((-90.05, 130.0))), (0.2, Some((-20.0, 20.0)))] {
        let mut roi = toy(-1.5, 0.2).event(rng, 0).roi;
        roi.descriptor = RoiDescriptor { eta, z_range, ..roi.descriptor };
        rois.push(roi);
    }
    rois
}

/// Full circles of few tracks.
fn circles(rng: &mut fastrand::Rng) -> Vec<Roi> {
    let toy = Toy { tracks: 9, vertices: 2, noise: 10, window: None, ..Toy::default() };
    (0..2).map(|_| toy.event(rng, 0).roi).collect()
}

fn barrels(layers: u32) -> Detector {
    let each = |i| format!("[[layer]]\nkind = \"barrel\"\nradius_mm = {}\n", 30.0 + 10.0 * f64::from(i));
    let text: String = (0..layers).map(each).collect();
    Detector::from_toml("barrels", &format!("name = \"barrels\"\n{text}")).expect("valid")
}

fn cases() -> Vec<Case> {
    let rng = &mut fastrand::Rng::with_seed(2010);
    let config = Config { peaks: 3, ..Config::default() };
    let single = Config { neighbours: Neighbours::Single, ..config.clone() };
    let slice = |degrees| Config { phi_slice_deg: degrees, ..config.clone() };
    let mut cases = vec![
        Case::new("toys", config.clone(), toys(rng)).with_triplets(),
        Case::new("toys, thesis", Config { peaks: 3, ..Config::preset(Preset::Thesis) }, toys(rng))
            .slices_per_histogram(1)
            .with_triplets(),
        Case::new("adversarial", config.clone(), adversarial(rng)).slices_per_histogram(50).with_triplets(),
        Case::new("circle", config.clone(), circles(rng)).slices_per_histogram(64).with_triplets(),
        Case::new(
            "adversarial, single, not wrapped",
            Config { wrap_full_scan: false, ..single.clone() },
            adversarial(rng),
        )
        .slices_per_histogram(3),
        Case::new(
            "one inner layer, leftmost",
            Config { first_layers: 1, prefer_central: false, ..config.clone() },
            toys(rng),
        )
        .slices_per_histogram(64),
        Case::new("all inner layers", Config { first_layers: 64, ..config.clone() }, adversarial(rng))
            .slices_per_histogram(300),
        Case::new("unequal", single, unequal(rng)).slices_per_histogram(16),
        Case::new("more peaks than there are", Config { peaks: 300, ..config.clone() }, circles(rng))
            .slices_per_histogram(65_536),
        Case::new("beam spot", Config { beam_spot_mm: [1.5, -0.7], ..config.clone() }, toys(rng)),
    ];
    for (name, degrees) in [
        ("ring of 1", 360.0),
        ("ring of 2", 180.0),
        ("ring of 3", 120.0),
        ("ring of 4", 90.0),
        ("ring of 7 and a bit", 50.0),
        ("ring of 12", 30.0),
    ] {
        let case = Case::new(name, slice(degrees), circles(rng)).slices_per_histogram(3);
        cases.push(if degrees < 100.0 { case.with_triplets() } else { case });
    }
    // Bending over five slices of a ring of twelve and of eight.
    for (name, multiplier) in [("ring, far", 700.0), ("ring, all round", 1000.0)] {
        let config = Config { neighbour_multiplier: multiplier, ..slice(30.0) };
        cases.push(Case::new(name, config, circles(rng)).with_triplets());
    }
    // 25,001 bins beside 11: many tiles, of which most are none of the second RoI's.
    let mut wide = toys(rng);
    wide.truncate(2);
    wide[0].descriptor.z_range = Some((-2500.0, 2500.0));
    wide[1].descriptor.z_range = Some((-1.0, 1.0));
    cases.push(Case::new("wide", config.clone(), wide).slices_per_histogram(100));
    let points = (0..500)
        .map(|_| {
            let layer = rng.u32(0..64);
            let rho = 30.0 + 10.0 * f64::from(layer);
            Spacepoint { rho, phi: between(rng, 0.0, 0.05), z: -7.0 + rho * between(rng, -0.4, 0.4), layer }
        })
        .collect();
    let layers = Case::new("64 layers", Config { first_layers: 64, ..config }, vec![roi(window(0.0, 0.06), points)]);
    cases.push(Case { detector: barrels(64), ..layers });
    for (i, case) in cases.iter_mut().enumerate() {
        // Identities do not matter to the stages, but an answer must be told from its neighbours.
        let rois = (0..case.batch.len()).map(|j| {
            let view = case.batch.roi(j);
            let id = RoiId { event_id: i as u64, roi_id: j as u64 };
            Roi { descriptor: RoiDescriptor { id, ..*view.descriptor }, spacepoints: view.spacepoints().collect() }
        });
        case.batch = rois.collect();
    }
    cases
}

/// Every stage's output.
struct Stages<R: Real> {
    layout: Layout<R>,
    /// The RoIs that were searched.
    planned: Vec<(RoiPlan, Vec<R::Spacepoint>)>,
    cells: Vec<u32>,
    spacepoints: Vec<R::Spacepoint>,
    histograms: Vec<u32>,
    totals: Vec<u32>,
    /// The totals after find_peaks.
    emptied: Vec<u32>,
    peaks: Vec<Peak>,
    status: Vec<u32>,
}

impl<R: Real> Typed<R> {
    /// Another configuration in the same kernels; the triplet mode is built in.
    fn take_case(&mut self, case: &Case) {
        let config = Config { triplets: self.search.config.triplets, ..case.config.clone() };
        self.search = Search::new(&config, &case.detector);
        self.shape.slices_per_histogram = Some(case.slices_per_histogram);
        self.shape.layers = self.search.layers() as u32;
        self.shape.peaks = config.peaks;
    }

    /// The walk of [`Typed::encode`], with every buffer read back.
    fn stages(&self, batch: &RoiBatch) -> Result<Stages<R>> {
        let plans = self.plan(batch)?;
        let cut = batch::cut::<R>(&plans, &self.capacity, &self.shape);
        assert_eq!((cut.parts.len(), cut.too_large.len()), (1, 0), "test batches fit");
        let rois = &cut.parts[0];
        let planned = rois.iter().map(|&roi| {
            let mut packed = Vec::new();
            self.search.pack::<R>(&plans[roi], batch.roi(roi), |block| packed.extend_from_slice(block));
            (plans[roi].clone(), packed)
        });
        let planned: Vec<_> = planned.collect();
        // Used ones hold the leavings of other cases, which must not matter.
        let mut workspace = self.idle().pop().unwrap_or_else(|| Workspace::new(self.capacity.buffer_bytes));
        let (layout, _) = self.upload(&mut workspace, rois, batch, &plans)?;
        let mut encoder = self.gpu.encoder("stages");
        self.begin(&mut encoder, &mut workspace, &layout)?;
        let descriptor = wgpu::ComputePassDescriptor::default();
        let row = 2 * layout.params.row_bins as usize;
        let rois = layout.rois.len();
        let (gpu, w) = (&self.gpu, &workspace);
        {
            let pass = &mut encoder.begin_compute_pass(&descriptor);
            slice_spacepoints::encode(&self.slice_spacepoints, gpu, pass, w, &layout)?;
            find_z::encode(&self.find_z, gpu, pass, w, &layout)?;
            sum_histos::encode(&self.sum_histos, gpu, pass, w, &layout)?;
        }
        let cells = copy(gpu, &mut encoder, &w.cells, layout.cells)?;
        let spacepoints = copy(gpu, &mut encoder, &w.spacepoints, layout.spacepoints)?;
        let histograms = copy(gpu, &mut encoder, &w.histograms, layout.histogram_rows * row)?;
        let totals = copy(gpu, &mut encoder, &w.totals, rois * row)?;
        find_peaks::encode(&self.find_peaks, gpu, &mut encoder.begin_compute_pass(&descriptor), w, &layout)?;
        let emptied = copy(gpu, &mut encoder, &w.totals, rois * row)?;
        let peaks = copy(gpu, &mut encoder, &w.peaks, rois * layout.params.peaks as usize)?;
        let status = copy(gpu, &mut encoder, &w.status, rois)?;
        let submission = gpu.submit(encoder)?;
        gpu.wait(&submission)?;
        let stages = Stages {
            cells: cells.read_done(gpu, layout.cells)?,
            spacepoints: spacepoints.read_done(gpu, layout.spacepoints)?,
            histograms: histograms.read_done(gpu, layout.histogram_rows * row)?,
            totals: totals.read_done(gpu, rois * row)?,
            emptied: emptied.read_done(gpu, rois * row)?,
            peaks: peaks.read_done(gpu, rois * layout.params.peaks as usize)?,
            status: status.read_done(gpu, rois)?,
            layout,
            planned,
        };
        self.idle().push(workspace);
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
    fn row(&self, words: &[u32], row: u32, bins: u32) -> HistogramPair {
        let n = (row * 2 * self.layout.params.row_bins) as usize;
        let z = n + self.layout.params.row_bins as usize;
        let bins = bins as usize;
        HistogramPair { n: words[n..n + bins].to_vec(), z: words[z..z + bins].to_vec() }
    }

    /// The rows that find_z filled for an RoI.
    fn rows(&self, i: usize) -> Vec<HistogramPair> {
        let words = &self.layout.words[i];
        (0..words.histogram_count)
            .map(|group| self.row(&self.histograms, words.histogram_first + group, words.bins))
            .collect()
    }

    fn total(&self, i: usize) -> HistogramPair {
        self.row(&self.totals, i as u32, self.layout.words[i].bins)
    }

    /// The peaks found.
    fn peaks(&self, i: usize) -> Vec<Peak> {
        let each = self.layout.params.peaks as usize;
        self.peaks[i * each..(i + 1) * each].iter().copied().take_while(|peak| peak.bin != Peak::NONE).collect()
    }

    /// An RoI's sorted spacepoints as bytes, without padding; sorted further, for their order within a cell is free.
    fn sorted(&self, i: usize) -> Vec<Vec<u8>> {
        let first = self.layout.words[i].spacepoint_first as usize;
        canonical::<R>(&self.spacepoints[first..first + self.planned[i].1.len()])
    }
}

/// (layer, slice) of each.
fn places<R: Real>(spacepoints: &[R::Spacepoint]) -> Vec<(u32, u32)> {
    spacepoints.iter().map(R::point).map(|point| (point.layer, point.slice)).collect()
}

fn canonical<R: Real>(spacepoints: &[R::Spacepoint]) -> Vec<Vec<u8>> {
    let bytes = |s: &R::Spacepoint| bytemuck::bytes_of(s)[..3 * size_of::<R>() + 4].to_vec();
    let mut all: Vec<Vec<u8>> = spacepoints.iter().map(bytes).collect();
    all.sort_unstable();
    all
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

/// Each stage against its CPU twin on the same input: the stage before it on the GPU.
fn check_stages<R: Real, Z: Compare>(place: &str, engine: &Typed<R>, gpu: &Stages<R>) {
    let search = &engine.search;
    let layers = search.layers();
    for (i, (plan, packed)) in gpu.planned.iter().enumerate() {
        let place = format!("{place}, {:?}", plan.descriptor.id);
        let words = &gpu.layout.words[i];
        let bins = words.bins;

        let sliced = cpu::slice_spacepoints::slice_spacepoints::<R>(packed, layers, plan.slices);
        let cells = &gpu.cells[words.cell_first as usize..][..sliced.cells.len()];
        for (cell, (&found, &wanted)) in cells.iter().zip(&sliced.cells).enumerate() {
            assert_eq!(found, wanted + words.spacepoint_first, "{place}: slice_spacepoints, cell {cell}");
        }
        let sorted = &gpu.spacepoints[words.spacepoint_first as usize..][..packed.len()];
        let wanted: Vec<_> = sliced.points.iter().map(|point| (point.layer, point.slice)).collect();
        assert_eq!(places::<R>(sorted), wanted, "{place}: slice_spacepoints, places");
        assert_eq!(gpu.sorted(i), canonical::<R>(packed), "{place}: slice_spacepoints, spacepoints");

        let rows = gpu.rows(i);
        let each = gpu.layout.params.slices_per_histogram;
        for (group, found) in rows.iter().enumerate() {
            let first = group as u32 * each;
            let slices = first..first.saturating_add(each).min(plan.slices);
            let wanted = cpu::find_z::find_z::<R, Z>(search, plan, &sliced, slices);
            let entries: u64 = wanted.n.iter().map(|&n| u64::from(n)).sum();
            let moved: u64 = found.n.iter().zip(&wanted.n).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            let allowed = 2 + entries / 500;
            if moved > allowed {
                let differ: Vec<_> = (0..bins as usize)
                    .filter(|&bin| found.n[bin] != wanted.n[bin])
                    .map(|bin| (bin, found.n[bin], wanted.n[bin]))
                    .collect();
                eprintln!("bin, n on the GPU, n on the CPU: {differ:?}");
            }
            assert!(moved <= allowed, "{place}: find_z, group {group}: {moved} of {entries} entries moved");
            for bin in 0..bins as usize {
                let (n, a, b) = (wanted.n[bin], found.z[bin], wanted.z[bin]);
                // An entry that came in for one that went out leaves n as it was, and z within a bin each.
                let swapped = moved > 0;
                assert!(
                    found.n[bin] != n || swapped || Z::alike(a, b, n, bin as u32, plan),
                    "{place}: find_z, group {group}, bin {bin}: n = {n}, z words {a} and {b}"
                );
            }
        }

        let total = gpu.total(i);
        let wanted = cpu::sum_histos::sum_histos::<Z>(&rows, bins);
        assert_eq!(total.n, wanted.n, "{place}: sum_histos, n");
        for bin in 0..bins as usize {
            let (n, a, b) = (wanted.n[bin], total.z[bin], wanted.z[bin]);
            assert!(
                Z::reordered(a, b, n, bin as u32, plan),
                "{place}: sum_histos, bin {bin}: n = {n}, z words {a} and {b}"
            );
        }

        let mut emptied = total;
        let wanted = cpu::find_peaks::find_peaks(&mut emptied, plan.bins.half, &search.config);
        assert_eq!(gpu.peaks(i), wanted, "{place}: find_peaks");
        assert_eq!(gpu.row(&gpu.emptied, i as u32, bins), emptied, "{place}: find_peaks, the totals left");
        assert_eq!(gpu.status[i], 0, "{place}: status");
    }
}

/// Two modules that differ in their guards only.
fn check_same<R: Real, Z: Compare>(place: &str, checked: &Stages<R>, trusted: &Stages<R>) {
    assert_eq!(checked.cells, trusted.cells, "{place}: cells, checked and trusted");
    assert_eq!(checked.status, trusted.status, "{place}: status, checked and trusted");
    let same = |what: &str, plan: &RoiPlan, a: &HistogramPair, b: &HistogramPair| {
        let place = format!("{place}, {:?}: {what}, checked and trusted", plan.descriptor.id);
        assert_eq!(a.n, b.n, "{place}");
        for bin in 0..a.n.len() {
            let (n, a, b) = (a.n[bin], a.z[bin], b.z[bin]);
            assert!(Z::reordered(a, b, n, bin as u32, plan), "{place}: bin {bin}, n = {n}, z words {a} and {b}");
        }
    };
    for (i, (plan, _)) in checked.planned.iter().enumerate() {
        assert_eq!(checked.sorted(i), trusted.sorted(i), "{place}: spacepoints, checked and trusted");
        for (a, b) in checked.rows(i).iter().zip(&trusted.rows(i)) {
            same("histograms", plan, a, b);
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

fn open(adapter: &AdapterSummary, precision: Precision) -> Gpu {
    Gpu::new(&GpuOptions {
        adapter: AdapterChoice::Index(adapter.index),
        required_features: GpuEngine::required_features(precision),
        ..GpuOptions::default()
    })
    .unwrap_or_else(|error| panic!("{}: {error}", adapter.name))
}

fn build<R: Real>(gpu: &Gpu, triplets: Triplets, options: &EngineOptions) -> Typed<R> {
    let search = Search::new(&Config { triplets, ..Config::default() }, &Detector::atlas2010());
    Typed::new(gpu.clone(), search, options).unwrap_or_else(|error| panic!("{}, {options:?}: {error}", gpu.name()))
}

/// Every case in one variant of the kernels, checked and trusted.
fn check_variant<R: Real, Z: Compare>(gpu: &Gpu, precision: Precision, triplets: Triplets) {
    let options = EngineOptions { precision, accumulate: Z::ACCUMULATE, ..EngineOptions::default() };
    let mut trusted = build::<R>(gpu, triplets, &options);
    let mut checked = build::<R>(gpu, triplets, &EngineOptions { checked: true, ..options });
    for case in cases().iter().filter(|case| triplets == Triplets::Off || case.triplets) {
        let place = format!("{}, {precision:?}, {:?}, triplets {triplets:?}, {}", gpu.name(), Z::ACCUMULATE, case.name);
        let [a, b] = [&mut trusted, &mut checked].map(|engine| {
            engine.take_case(case);
            let stages = engine.stages(&case.batch).unwrap_or_else(|error| panic!("{place}: {error}"));
            check_stages::<R, Z>(&place, engine, &stages);
            stages
        });
        check_same::<R, Z>(&place, &b, &a);
    }
}

#[test]
fn stages_in_fixed_point() {
    for adapter in on_adapters() {
        let gpu = open(&adapter, Precision::F32);
        for triplets in [Triplets::Off, Triplets::Any, Triplets::Count] {
            check_variant::<f32, FixedPoint>(&gpu, Precision::F32, triplets);
        }
    }
}

#[test]
fn stages_by_compare_and_exchange() {
    for adapter in on_adapters() {
        let gpu = open(&adapter, Precision::F32);
        for triplets in [Triplets::Off, Triplets::Count] {
            check_variant::<f32, CompareExchange>(&gpu, Precision::F32, triplets);
        }
    }
}

#[test]
fn stages_in_f64() {
    for adapter in on_adapters() {
        if adapter.shader_f64 {
            let gpu = open(&adapter, Precision::F64);
            check_variant::<f64, FixedPoint>(&gpu, Precision::F64, Triplets::Off);
            check_variant::<f64, FixedPoint>(&gpu, Precision::F64, Triplets::Count);
            check_variant::<f64, CompareExchange>(&gpu, Precision::F64, Triplets::Any);
            continue;
        }
        eprintln!("{} has no f64: it must be refused", adapter.name);
        // However it is asked: by choice of adapter, or with a device that was opened without it.
        let chosen = crate::ZFinder::builder()
            .engine(crate::Engine::Gpu(AdapterChoice::Index(adapter.index)))
            .precision(Precision::F64)
            .build()
            .map(|_| ());
        let gpu = open(&adapter, Precision::F32);
        let search = Search::new(&Config::default(), &Detector::atlas2010());
        let options = EngineOptions { precision: Precision::F64, ..EngineOptions::default() };
        let given = GpuEngine::new(gpu, search, &options).map(|_| ());
        for refused in [chosen, given] {
            match refused {
                Err(crate::Error::Gpu(kernel_host::Error::MissingFeature { adapter: name, feature, hint })) => {
                    assert_eq!(name, adapter.name);
                    assert!(feature.contains("SHADER_F64"), "{}: {feature}", adapter.name);
                    assert!(hint.contains("f32") || hint.contains("without"), "{}: {hint}", adapter.name);
                }
                other => panic!("{}: f64 without SHADER_F64 gave {other:?}", adapter.name),
            }
        }
    }
}

/// `counts` spacepoints on two layers in every `apart`-th slice, all pairs at `z`.
fn crossings(counts: &[[u32; 2]], apart: u32, z: f64) -> Roi {
    let slice = 0.2f64.to_radians();
    let mut points = Vec::new();
    for (i, counts) in counts.iter().enumerate() {
        let phi = (f64::from(i as u32 * apart) + 0.5) * slice;
        for layer in 0..2 {
            let point = Spacepoint { rho: 50.0 * f64::from(layer + 1), phi, z, layer };
            points.extend((0..counts[layer as usize]).map(|_| point));
        }
    }
    roi(window(0.0, 0.2), points)
}

/// More pairs in a slice than can be numbered: said in the status word of that RoI, and of no other.
#[test]
fn too_many_pairs_are_reported() {
    for adapter in on_adapters() {
        let gpu = open(&adapter, Precision::F32);
        let batch = [[10, 10], [65_536, 65_536], [3, 3]].map(|counts| crossings(&[counts], 1, 5.0));
        let batch = RoiBatch::from_iter(batch);
        for checked in [false, true] {
            let engine = build::<f32>(&gpu, Triplets::Off, &EngineOptions { checked, ..EngineOptions::default() });
            let stages = engine.stages(&batch).unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
            assert_eq!(stages.status, [0, 1, 0], "{}, checked: {checked}", adapter.name);
            let weight = |i: usize| stages.peaks(i)[0].n.iter().sum::<u32>();
            assert_eq!((weight(0), weight(2)), (100, 9), "{}, checked: {checked}", adapter.name);
        }
    }
}

/// The fullest bin that words hold, each entry at the bin's upper edge, is counted; one entry more is reported.
#[test]
fn counts_up_to_the_last_are_exact() {
    // 16 slices of 2^18 pairs are one too many.
    let over = [[512, 512]; 16];
    let mut exact = over;
    exact[5] = [511, 513];
    let pairs = |counts: &[[u32; 2]]| counts.iter().map(|[a, b]| a * b).sum::<u32>();
    assert_eq!((pairs(&exact), pairs(&over)), (MAX_COUNT, MAX_COUNT + 1));
    let batch = RoiBatch::from_iter([crossings(&exact, 3, 0.1), crossings(&over, 3, 0.1)]);
    for adapter in on_adapters() {
        let gpu = open(&adapter, Precision::F32);
        let mut engine = build::<f32>(&gpu, Triplets::Off, &EngineOptions::default());
        engine.shape.slices_per_histogram = Some(3);
        let stages = engine.stages(&batch).unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
        assert_eq!(stages.status, [0, 2], "{}", adapter.name);
        let peak = stages.peaks(0)[0];
        assert_eq!(peak.n.iter().sum::<u32>(), MAX_COUNT, "{}", adapter.name);
        let vertex = peak.vertex(&stages.planned[0].0.bins, Accumulate::Fixed);
        assert!((vertex.z_mm - 0.1).abs() < 1e-3, "{}: {vertex:?}", adapter.name);
    }
}

/// A pair with very many third spacepoints, and a slice with very many pairs: all are counted, or the RoI's status says
/// otherwise. (llvmpipe ends the loops of an invocation after 65,535 rounds altogether, without a word.)
#[test]
fn what_takes_long_is_counted_or_reported() {
    let thirds = {
        let point = |layer| Spacepoint { rho: 50.0 * f64::from(layer + 1), phi: 0.001, z: 5.0, layer };
        let mut points = vec![point(0), point(1)];
        points.extend((0..100_000).map(|_| point(2)));
        roi(window(0.0, 0.1), points)
    };
    let cases = [
        ("thirds", Triplets::Count, Config { first_layers: 1, ..Config::default() }, thirds, 100_000),
        ("pairs", Triplets::Off, Config::default(), crossings(&[[3000, 1500]], 1, 5.0), 4_500_000),
    ];
    for adapter in on_adapters() {
        let gpu = open(&adapter, Precision::F32);
        for (case, triplets, config, roi, wanted) in cases.clone() {
            let mut engine = build::<f32>(&gpu, triplets, &EngineOptions::default());
            engine.take_case(&Case::new(case, config, Vec::new()));
            let batch = RoiBatch::from_iter([roi, crossings(&[[3, 3]], 1, 5.0)]);
            let place = format!("{}, {case}", adapter.name);
            let stages = engine.stages(&batch).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(stages.status[1], 0, "{place}");
            let found = stages.peaks(0).first().map_or(0, |peak| peak.n.iter().sum::<u32>());
            assert!(
                stages.status[0] != 0 || found == wanted,
                "{place}: {found} of {wanted} entries, and nothing in the status word"
            );
        }
    }
}

/// The smallest buffers that a user allows are never exceeded, not by growth either.
#[test]
fn buffers_stay_within_what_is_allowed() {
    for adapter in on_adapters() {
        let gpu = open(&adapter, Precision::F32);
        let bytes = 1 << 20;
        let options =
            EngineOptions { most_buffer_bytes: Some(bytes), slices_per_histogram: Some(8), ..EngineOptions::default() };
        let engine = build::<f32>(&gpu, Triplets::Off, &options);
        // Histograms of 0.6 MB, then of 0.9 MB: twice the first would be too much.
        for width in [1.0, 1.5] {
            let rng = &mut fastrand::Rng::with_seed(1);
            let event = Toy { window: Some((0.0, width)), ..Toy::default() }.event(rng, 0);
            let batch = RoiBatch::from_iter([event.roi]);
            let results = pollster::block_on(engine.find_batch(&batch, Waiting::Blocking));
            results.unwrap_or_else(|error| panic!("{}: {error}", adapter.name));
        }
        for workspace in engine.idle().iter() {
            let sizes = [
                workspace.packed.len_bytes(),
                workspace.cells.len_bytes(),
                workspace.histograms.len_bytes(),
                workspace.partials.len_bytes(),
                workspace.totals.len_bytes(),
                workspace.peaks.len_bytes(),
            ];
            assert!(sizes.iter().all(|&size| size <= bytes), "{}: {sizes:?} of {bytes}", adapter.name);
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
