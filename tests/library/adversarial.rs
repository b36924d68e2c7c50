//! Adversarial input on every engine: each RoI gets the right answer, or a status with the reason.
//! A difference between engines beyond rounding is a wrong answer.

use std::f64::consts::PI;

use zfinder::{
    AdapterKind, AdapterSummary, Config, Engine, Extrapolation, PhiWindow, Precision, Preset, Roi, RoiBatch,
    RoiDescriptor, RoiId, RoiResult, Spacepoint, Status, Triplets, ZFinder, ZFinderBuilder,
};
use zfinder_testing::engines::on_shared_device;
use zfinder_testing::engines::{agree, batch, bits, build_with, find};
use zfinder_testing::on_adapters;
use zfinder_testing::toy::{Toy, between};

/// One slice of the default configuration.
const SLICE: f64 = 0.2 * PI / 180.0;

/// The expected answer of an RoI.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    /// In f32 the reference engine's, up to rounding.
    Alike,
    /// In f64 the reference engine's; f32 cannot distinguish these coordinates.
    BeyondF32,
    /// The last digit decides.
    OnAnEdge,
    /// As `BeyondF32`, or beyond the loop limit of a driver.
    Crowded,
    /// This status, on every engine.
    Is(Status),
}

struct Hostile {
    name: &'static str,
    roi: Roi,
    known: Known,
}

fn point(rho: f64, phi: f64, z: f64, layer: u32) -> Spacepoint {
    Spacepoint { rho, phi, z, layer }
}

fn window(low: f64, high: f64) -> Option<PhiWindow> {
    Some(PhiWindow::new(low, high).expect("a window"))
}

fn roi(window: Option<PhiWindow>, spacepoints: Vec<Spacepoint>) -> Roi {
    Roi { descriptor: RoiDescriptor { window, ..RoiDescriptor::default() }, spacepoints }
}

/// Returns phi, and its neighbours in f64 and in f32.
fn around(phi: f64) -> [f64; 5] {
    let single = phi as f32;
    [phi, phi.next_up(), phi.next_down(), f64::from(single.next_up()), f64::from(single.next_down())]
}

/// Returns straight tracks from z = 3 mm at and around these azimuths, with five spacepoints each.
fn tracks_at(azimuths: impl IntoIterator<Item = f64>) -> Vec<Spacepoint> {
    let layers = [50.5, 88.5, 122.5, 299.0, 371.0].into_iter().zip(0..);
    let each = |(i, phi): (usize, f64)| layers.clone().map(move |(rho, layer)| (i, phi, rho, layer));
    let all = azimuths.into_iter().flat_map(around).enumerate().flat_map(each);
    all.map(|(i, phi, rho, layer)| point(rho, phi, 3.03 + rho * (0.1 * (i % 7) as f64 - 0.3), layer)).collect()
}

/// Returns a spacepoint at a random position in a window of 0.3 rad.
fn anywhere(rng: &mut fastrand::Rng, layer: u32) -> Spacepoint {
    point(between(rng, 30.0, 600.0), between(rng, 0.0, 0.3), between(rng, -300.0, 300.0), layer)
}

fn hostile() -> Vec<Hostile> {
    let rng = &mut fastrand::Rng::with_seed(7);
    let mut all = Vec::new();
    let mut add = |name, known, roi| all.push(Hostile { name, roi, known });
    let narrow = || window(0.0, 0.3);
    let good = Toy { window: Some((0.7, 0.5)), ..Toy::default() }.event(rng, 0).roi;
    add("an event", Known::Alike, good.clone());

    // Concentrated spacepoints.
    let one_slice = (0..300u32).map(|i| Spacepoint { phi: 0.1 * SLICE, ..anywhere(rng, i % 19) }).collect();
    add("one slice", Known::Alike, roi(narrow(), one_slice));
    let one_layer = (0..300).map(|_| anywhere(rng, 3)).collect();
    add("one layer", Known::Is(Status::NoPeak), roi(narrow(), one_layer));
    let one_bin = (0..240u32).map(|i| point(50.0 + 3.0 * f64::from(i), 0.001 * f64::from(i / 12), 33.07, i % 12));
    add("one bin", Known::Alike, roi(narrow(), one_bin.collect()));
    let twelve: Vec<_> = (0..12u32).map(|i| anywhere(rng, i % 6)).map(|s| Spacepoint { phi: 0.1, ..s }).collect();
    add("each 60 times", Known::Alike, roi(narrow(), twelve.repeat(60)));
    let equal_rho = (0..90u32).map(|i| Spacepoint { rho: 100.0, ..anywhere(rng, i % 4) }).collect();
    add("equal rho", Known::Is(Status::NoPeak), roi(narrow(), equal_rho));
    let pixels_equal =
        (0..90u32).map(|i| Spacepoint { rho: if i % 4 < 3 { 88.5 } else { 299.0 }, ..anywhere(rng, i % 4) });
    add("equal rho of three layers", Known::Alike, roi(narrow(), pixels_equal.collect()));
    let nearly = (0..60u32).map(|i| point(100.0 + 1e-5 * f64::from(i), 0.01, 1e-3 * f64::from(i % 7), i % 4)).collect();
    add("nearly equal rho", Known::BeyondF32, roi(narrow(), nearly));

    // On the edges of slices, windows and the circle: twelve, including the first and the last
    // edge.
    let edges = |low: f64, every: u32| (0..=12).map(move |i| low + f64::from(i * every) * SLICE);
    add("edges of slices", Known::Alike, roi(narrow(), tracks_at(edges(0.0, 7))));
    add("edges of slices, of the circle", Known::Alike, roi(Some(PhiWindow::FullScan), tracks_at(edges(-PI, 150))));
    let ends = [PI, -PI, PI - SLICE, SLICE - PI, 0.0, -0.0];
    add("+-pi in full scan", Known::Alike, roi(Some(PhiWindow::FullScan), tracks_at(ends)));
    add(
        "+-pi in a window across it",
        Known::Alike,
        roi(window(3.0, -3.0), tracks_at(ends.into_iter().chain([3.0, -3.0]))),
    );
    add("a window that ends at pi", Known::Alike, roi(window(3.0, PI), tracks_at(ends.into_iter().chain([3.0, -3.0]))));
    add("a window from -pi on", Known::Alike, roi(window(-PI, -3.0), tracks_at(ends.into_iter().chain([3.0, -3.0]))));
    add("edges of a window", Known::Alike, roi(window(-0.1, 0.1), tracks_at([-0.1, 0.1, 0.0, -0.0])));
    add("own window of both signs", Known::Alike, roi(Some(PhiWindow::FromSpacepoints), tracks_at([-0.2, 0.2, 0.0])));
    add("own window across pi", Known::Alike, roi(Some(PhiWindow::FromSpacepoints), tracks_at([PI, -PI, 3.1, -3.1])));
    add("own window of a single azimuth", Known::Alike, roi(Some(PhiWindow::FromSpacepoints), tracks_at([0.3; 3])));
    add("a window narrower than a slice", Known::Alike, roi(window(0.1, 0.1001), tracks_at([0.1, 0.10005, 0.1001])));
    let turned = tracks_at([0.1, 0.11]).into_iter().map(|s| Spacepoint { phi: s.phi + 8.0 * PI, ..s }).collect();
    add("turned four times", Known::Alike, roi(narrow(), turned));
    let far_turned = tracks_at([0.1]).into_iter().map(|s| Spacepoint { phi: 1e300, ..s }).collect();
    add("phi of 1e300", Known::Alike, roi(Some(PhiWindow::FullScan), far_turned));

    // z and rho at both ends of their valid ranges.
    for z in [
        1e6,
        -1e6,
        1e9,
        -1e9,
        200.1,
        -200.1,
        200.0,
        -200.0,
        199.9,
        0.1,
        -0.0,
        f64::MIN_POSITIVE,
        5e-324,
        f64::from(f32::MIN_POSITIVE),
    ] {
        let inside = z.abs() < 200.0;
        let line = [50.5, 88.5, 122.5, 299.0].into_iter().zip(0..).map(|(rho, layer)| point(rho, 0.01, z, layer));
        let known = if inside { Known::Alike } else { Known::Is(Status::NoPeak) };
        let known = if z.abs() == 200.0 { Known::OnAnEdge } else { known };
        add("z on one line", known, roi(narrow(), line.collect()));
    }
    for rho in [1e-6, 1e-3, 1.0, 1e6, 1e9] {
        let line =
            (0..5u32).map(|layer| point(rho * (1.0 - 0.1 * f64::from(4 - layer)).max(1e-6 / rho), 0.01, 1.5, layer));
        add("rho of one size", Known::Alike, roi(narrow(), line.collect()));
    }
    let sizes = [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9].into_iter().zip(0..).map(|(rho, layer)| point(rho, 0.01, 1.5, layer));
    add("rho of all sizes", Known::Alike, roi(narrow(), sizes.collect()));

    // Counts that exceed a packed word of a workgroup.
    add("2,048 in a bin", Known::Alike, crossing(narrow(), 64, 32));
    add("70,000 in a bin", Known::Alike, crossing(narrow(), 250, 280));
    all
}

/// Returns spacepoints on the two ends of a line: all pairs are in one bin.
fn crossing(window: Option<PhiWindow>, inner: usize, outer: usize) -> Roi {
    let on = |layer: u32, count| vec![point(50.0 * f64::from(layer + 1), 0.5 * SLICE, 3.15, layer); count];
    roi(window, [on(0, inner), on(1, outer)].concat())
}

/// Returns RoIs with an invalid spacepoint among valid ones.
fn bad() -> Vec<Hostile> {
    let rng = &mut fastrand::Rng::with_seed(8);
    let good = Toy { tracks: 5, noise: 5, window: Some((0.7, 0.2)), ..Toy::default() }.event(rng, 0).roi;
    let mut all = vec![Hostile { name: "an event", roi: good.clone(), known: Known::Alike }];
    let mut add_bad = |name, bad: Spacepoint| {
        let mut with = good.clone();
        with.spacepoints.insert(40, bad);
        all.push(Hostile { name, roi: with, known: Known::Is(Status::BadSpacepoint) });
    };
    for nonsense in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        add_bad("rho that is no number", point(nonsense, 0.7, 1.0, 0));
        add_bad("phi that is no number", point(50.5, nonsense, 1.0, 0));
        add_bad("z that is no number", point(50.5, 0.7, nonsense, 0));
    }
    for far in [1e9f64.next_up(), 1e30, f64::from(f32::MAX), f64::MAX] {
        add_bad("z too far", point(50.5, 0.7, far, 0));
        add_bad("z too far back", point(50.5, 0.7, -far, 0));
        add_bad("rho too far", point(far, 0.7, 0.0, 0));
    }
    for near in [0.0, -0.0, -50.5, 1e-6f64.next_down(), f64::MIN_POSITIVE, 5e-324] {
        add_bad("rho too small", point(near, 0.7, 0.0, 0));
    }
    for layer in [19, 63, 64, 254, 255, 256, 1 << 24, u32::MAX] {
        add_bad("a layer that there is not", point(50.5, 0.7, 0.0, layer));
    }
    // A bad spacepoint far outside the window counts too.
    add_bad("a bad one outside of the window", point(50.5, -2.0, f64::NAN, 0));
    all
}

/// The finders of a configuration.
struct Finders {
    reference: ZFinder,
    double: ZFinder,
    single: ZFinder,
    gpus: Vec<(AdapterSummary, ZFinder)>,
}

impl Finders {
    fn new(config: &Config, options: impl Fn(ZFinderBuilder) -> ZFinderBuilder) -> Self {
        let one_more = Config { peaks: config.peaks + 1, ..config.clone() };
        let gpu = |adapter: AdapterSummary| {
            let engine = on_shared_device(&adapter);
            let finder = build_with(&adapter.name, &engine, config, &options);
            (adapter, finder)
        };
        Self {
            reference: build_with("reference", &Engine::Reference, &one_more, |builder| builder),
            double: build_with("CPU, f64", &Engine::Cpu, config, |builder| options(builder).precision(Precision::F64)),
            single: build_with("CPU", &Engine::Cpu, config, &options),
            gpus: on_adapters().into_iter().map(gpu).collect(),
        }
    }

    /// Compares every engine's answers: f64 with the reference engine, GPUs with the CPU in f32.
    /// Software adapters divide as processors do, so their answers are bit-identical.
    fn compare(&self, place: &str, hostile: &[Hostile]) {
        let peaks = self.single.config().peaks as usize;
        let batch = &numbered(hostile);
        let reference = find(place, &self.reference, batch);
        let check = |engine: &str, found: &[RoiResult], single: bool| {
            for (i, Hostile { name, known, .. }) in hostile.iter().enumerate() {
                let place = format!("{place}, {i}, {name}, {engine}");
                let one = i..i + 1;
                match *known {
                    Known::Is(status) => {
                        for result in [&reference[i], &found[i]] {
                            assert_eq!((result.status, result.vertices.len()), (status, 0), "{place}: {result:?}");
                        }
                    }
                    Known::OnAnEdge => {}
                    Known::BeyondF32 | Known::Crowded if single => {}
                    Known::BeyondF32 | Known::Crowded | Known::Alike => {
                        agree(&place, &found[one.clone()], &reference[one], peaks);
                    }
                }
            }
        };
        check("CPU, f64", &find(place, &self.double, batch), false);
        let single = find(place, &self.single, batch);
        check("CPU", &single, true);
        for (adapter, finder) in &self.gpus {
            let found = find(&format!("{place}, {}", adapter.name), finder, batch);
            check(&adapter.name, &found, true);
            for (i, Hostile { name, known, .. }) in hostile.iter().enumerate() {
                let told = *known == Known::Crowded && found[i].status == Status::CapacityExceeded;
                let same = bits(&found[i..=i]) == bits(&single[i..=i]);
                let exact = adapter.kind == AdapterKind::Software && !told;
                let place = format!("{place}, {i}, {name}, {}", adapter.name);
                assert!(!exact || same, "{place}: {:?}, the CPU's {:?}", found[i], single[i]);
                // On another device, rounding moves some of billions of pairs across a bin's edge.
                let weights = |result: &RoiResult| result.vertices.iter().map(|v| v.weight).collect::<Vec<_>>();
                let (weights, expected) = (weights(&found[i]), weights(&single[i]));
                let alike = weights.len() == expected.len()
                    && weights.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1.0 + 1e-4 * b);
                assert!(*known != Known::Crowded || told || alike, "{place}: {weights:?}, the CPU's {expected:?}");
            }
        }
    }
}

/// Returns a batch of numbered RoIs.
fn numbered(hostile: &[Hostile]) -> RoiBatch {
    let mut batch = RoiBatch::new();
    for (i, Hostile { roi, .. }) in hostile.iter().enumerate() {
        let id = RoiId { event_id: i as u64, roi_id: 7 };
        batch.push(RoiDescriptor { id, ..roi.descriptor }, roi.spacepoints.iter().copied());
    }
    batch
}

#[test]
fn hostile_rois_are_answered_alike() {
    hostile_rois(&["pairs", "triplets counted", "by pT"]);
}

#[test]
#[ignore = "long form of `hostile_rois_are_answered_alike`: scripts/test --full"]
fn hostile_rois_are_answered_alike_in_every_mode() {
    hostile_rois(&["pairs, numbered", "thesis", "histograms of each charge and slice", "accurate"]);
}

fn hostile_rois(modes: &[&str]) {
    let hostile = hostile();
    let default = Config { peaks: 2, ..Config::default() };
    let coarse = |triplets| Config { triplets, z_bin_mm: 1.0, ..default.clone() };
    let several = Config { charge_aware: true, histogram_per_slice: true, phi_slice_deg: 2.0, ..coarse(Triplets::Any) };
    type Options = fn(ZFinderBuilder) -> ZFinderBuilder;
    let plain: Options = |builder| builder;
    let cases: [(&str, Config, Options); 7] = [
        ("pairs", default.clone(), plain),
        ("pairs, numbered", coarse(Triplets::Off), |builder| builder.slices_per_histogram(16)),
        ("thesis", Config { peaks: 2, ..Config::preset(Preset::Thesis) }, plain),
        ("triplets counted", coarse(Triplets::Count), plain),
        ("histograms of each charge and slice", several, plain),
        ("by pT", Config { peaks: 2, z_bin_mm: 1.0, ..Config::preset(Preset::HardScatter) }, plain),
        ("accurate", Config { extrapolation: Extrapolation::Accurate, ..coarse(Triplets::Off) }, plain),
    ];
    for (case, config, options) in cases.into_iter().filter(|(case, ..)| modes.contains(case)) {
        let finders = Finders::new(&config, options);
        finders.compare(case, &hostile);
        if case == "pairs" {
            finders.compare("bad", &bad());
        }
    }
}

/// Returns RoIs of two to six spacepoints on a track; all RoIs outside `filled` are empty.
fn small_rois(count: usize, filled: usize) -> RoiBatch {
    let rng = &mut fastrand::Rng::with_seed(9);
    let mut batch = RoiBatch::new();
    for i in 0..count {
        let (z, phi, slope) = (between(rng, -15.0, 15.0), between(rng, 0.0, 0.05), between(rng, -1.0, 1.0));
        let on = |layer: usize| {
            let rho = [50.5, 88.5, 122.5, 299.0, 371.0, 443.0][layer];
            point(rho, phi, z + slope * rho, layer as u32)
        };
        let layers = if i % filled == 0 { 2 + i / filled % 5 } else { 0 };
        let id = RoiId { event_id: i as u64, roi_id: 3 };
        batch.push(RoiDescriptor { id, window: window(0.0, 0.05), ..RoiDescriptor::default() }, (0..layers).map(on));
    }
    batch
}

/// The first RoIs of a batch.
fn first_of(batch: &RoiBatch, count: usize) -> RoiBatch {
    let mut first = RoiBatch::new();
    batch.iter().take(count).for_each(|roi| first.push(*roi.descriptor, roi.spacepoints()));
    first
}

/// Searches the first RoIs of the batch on every GPU, for each size: the bits are the CPU's.
fn check_sizes(all: &RoiBatch, sizes: &[usize]) {
    let config = Config { z_min_mm: -20.0, z_max_mm: 20.0, z_bin_mm: 0.4, ..Config::default() };
    let finders = Finders::new(&config, |builder| builder);
    let wanted = find("CPU", &finders.single, all);
    agree("CPU", &wanted, &find("reference", &finders.reference, all), 1);
    let filled = all.iter().filter(|roi| !roi.is_empty()).count();
    let count = |status| wanted.iter().filter(|result| result.status == status).count();
    // A single pair is not a peak.
    assert_eq!((count(Status::Empty), count(Status::Ok)), (all.len() - filled, filled - filled.div_ceil(5)));
    for (adapter, finder) in &finders.gpus {
        for &size in sizes {
            let place = format!("{}, batch of {size}", adapter.name);
            let (found, wanted) = (find(&place, finder, &first_of(all, size)), &wanted[..size]);
            agree(&place, &found, wanted, 1);
            let wrong = bits(&found).into_iter().zip(bits(wanted)).find(|(found, wanted)| found != wanted);
            assert!(adapter.kind != AdapterKind::Software || wrong.is_none(), "{place}, GPU and CPU: {wrong:?}");
        }
    }
}

/// Batches up to the limit of one workgroup for each RoI, and beyond.
#[test]
fn batches_of_few_rois_are_answered() {
    check_sizes(&small_rois(600, 1), &[0, 1, 2, 255, 256, 257, 600]);
}

/// More workgroups than a dispatch allows, most of them empty: 0.5 ms each in software.
#[test]
fn batches_of_many_rois_are_answered() {
    check_sizes(&small_rois(70_000, 100), &[65_535, 65_536, 70_000]);
}

/// The same without empty RoIs: minutes in software, seconds on hardware.
#[test]
#[ignore = "long form of `batches_of_many_rois_are_answered`: scripts/test --full"]
fn batches_of_many_filled_rois_are_answered() {
    check_sizes(&small_rois(70_000, 1), &[65_535, 65_536, 70_000]);
}

/// More rows of histograms than a dispatch allows workgroups in one dimension.
#[test]
#[ignore = "minutes on software adapters: scripts/test --full"]
fn more_rows_than_a_dimension_has_are_filled() {
    let coarse = Config { z_min_mm: -20.0, z_max_mm: 20.0, z_bin_mm: 0.5, ..Config::default() };
    let rng = &mut fastrand::Rng::with_seed(10);
    let mut event = Toy { window: None, vertices: 1, noise: 100, ..Toy::default() }.event(rng, 0);
    event.roi.spacepoints.iter_mut().for_each(|s| s.z -= event.truth[0]);
    let full_circle = || Hostile { name: "full circle", roi: event.roi.clone(), known: Known::Alike };
    let finders = Finders::new(&Config { phi_slice_deg: 0.01, ..coarse }, |builder| builder.slices_per_histogram(1));
    finders.compare("36,000 rows each", &[full_circle(), full_circle()]);
}

/// Returns an RoI with these numbers of spacepoints on each layer, at one azimuth on a line along
/// the beam.
fn column(counts: &[usize]) -> Roi {
    let on = |(layer, &count): (u32, &usize)| vec![point(50.0 * f64::from(layer + 1), 0.5 * SLICE, 3.15, layer); count];
    roi(window(0.0, 0.02), (0..).zip(counts).flat_map(on).collect())
}

/// The fullest bin that words can hold, and one entry more: the excess gives a status, and other
/// RoIs are answered. The reference engine counts in 64 bits.
#[test]
fn counts_beyond_words_are_told() {
    // 2^22 - 1 = 2047 * 2049.
    let pairs = [column(&[2047, 2049]), column(&[2048, 2048]), column(&[30, 30])];
    // Three more layers confirm each pair with the greatest weight, 1,042.
    let heavy = [column(&[63, 63, 1, 1, 1]), column(&[64, 64, 1, 1, 1]), column(&[3, 3, 1, 1, 1])];
    let by_pt = Config { first_layers: 1, triplet_dz_mm: 10.0, ..Config::preset(Preset::HardScatter) };
    for (case, config, rois, most) in [
        ("pairs", Config::default(), &pairs, [4_194_303.0, 4_194_304.0, 900.0]),
        // A pair with the third layer, which two confirm, weighs 1.
        ("by pT", by_pt, &heavy, [63.0, 64.0, 3.0].map(|each| 1042.0 * each * each + each)),
    ] {
        let weights = |name: &str, finder: &ZFinder| {
            let found = find(&format!("{case}, {name}"), finder, &batch(rois));
            [0, 1, 2].map(|i| {
                let told = found[i].status == Status::CapacityExceeded;
                assert_eq!(told, found[i].vertices.is_empty(), "{case}, {name}: {:?}", found[i]);
                found[i].vertices.first().map(|vertex| vertex.weight)
            })
        };
        let finders = Finders::new(&config, |builder| builder);
        assert_eq!(weights("reference", &finders.reference), most.map(Some), "{case}");
        let words = [Some(most[0]), None, Some(most[2])];
        for finder in [&finders.single, &finders.double] {
            assert_eq!(weights("CPU", finder), words, "{case}");
        }
        for (adapter, finder) in &finders.gpus {
            assert_eq!(weights(&adapter.name, finder), words, "{case}, {}", adapter.name);
        }
    }
}

/// Returns an RoI with this many spacepoints of every layer in one slice. Their z12 cover 8,000
/// bins.
fn crowded(each: usize) -> Hostile {
    let rng = &mut fastrand::Rng::with_seed(11);
    let layers = (0..19u32).flat_map(|layer| std::iter::repeat_n(layer, each));
    let spacepoints =
        layers.map(|layer| point(50.0 * f64::from(layer + 1), 0.5 * SLICE, between(rng, -300.0, 300.0), layer));
    let mut roi = roi(window(0.0, 0.02), spacepoints.collect());
    roi.descriptor.z_range = Some((-1600.0, 1600.0));
    Hostile { name: "crowded", roi, known: Known::Crowded }
}

/// Checks a crowded slice, with spacepoints distributed to workgroups or with numbered pairs.
fn check_crowded(each: usize, numbered: bool) {
    let options = |builder: ZFinderBuilder| if numbered { builder.slices_per_histogram(1) } else { builder };
    let finders = Finders::new(&Config::preset(Preset::Thesis), options);
    finders.compare(&format!("{each} on each layer, numbered: {numbered}"), &[crowded(each)]);
}

/// 171 pairs of layers: four million pairs of spacepoints.
#[test]
fn a_crowded_slice_is_answered() {
    check_crowded(150, false);
    check_crowded(150, true);
}

/// 100,016 spacepoints in one slice: 4.7 thousand million pairs, more than 32 bits number.
#[test]
#[ignore = "ten minutes of the serial engines, and longer on software adapters"]
fn a_slice_of_a_hundred_thousand_is_answered() {
    check_crowded(5264, false);
}

#[test]
#[ignore = "ten minutes of the serial engines, and longer on software adapters"]
fn numbered_pairs_of_a_hundred_thousand_are_answered() {
    check_crowded(5264, true);
}

/// More histograms than the memory limit: a status, except for empty or invalid RoIs.
#[test]
fn what_never_fits_is_told_alike() {
    let too_many = Config { histogram_per_slice: true, phi_slice_deg: 0.01, z_bin_mm: 0.01, ..Config::default() };
    let finders = Finders::new(&too_many, |builder| builder);
    let inside = point(50.5, 0.1, 1.0, 0);
    let outside = Spacepoint { phi: -2.0, ..inside };
    let rois =
        [vec![], vec![inside; 3], vec![outside; 3], vec![inside, point(50.5, 0.1, f64::NAN, 0)], vec![inside, outside]];
    let rois = rois.map(|spacepoints| roi(window(0.0, 3.0), spacepoints));
    let wanted = bits(&find("reference", &finders.reference, &batch(&rois)));
    let statuses =
        [Status::Empty, Status::CapacityExceeded, Status::Empty, Status::BadSpacepoint, Status::CapacityExceeded];
    assert_eq!(wanted.iter().map(|roi| roi.1).collect::<Vec<_>>(), statuses);
    assert_eq!(bits(&find("CPU", &finders.single, &batch(&rois))), wanted);
    for (adapter, finder) in &finders.gpus {
        assert_eq!(bits(&find(&adapter.name, finder, &batch(&rois))), wanted, "{}", adapter.name);
    }
}

/// llvmpipe silently ends all loops of an invocation after 65,535 rounds together. The status must
/// report it. Here the limit falls near the end of the third spacepoints on one layer.
#[test]
fn what_a_driver_cuts_short_is_told() {
    let config = Config { first_layers: 1, triplets: Triplets::Count, z_bin_mm: 4.0, ..Config::default() };
    let finders = Finders::new(&config, |builder| builder);
    let all = [52_342, 52_366].map(|thirds| column(&[1, 1, thirds, 1, 1]));
    let wanted = find("CPU", &finders.single, &batch(&all));
    for (adapter, finder) in &finders.gpus {
        for (found, wanted) in find(&adapter.name, finder, &batch(&all)).iter().zip(&wanted) {
            let told = found.status == Status::CapacityExceeded;
            assert!(told || found == wanted, "{}: {found:?}, the CPU's {wanted:?}", adapter.name);
        }
    }
}
