//! Adversarial input on every engine: each RoI gets the right answer, or a status with the reason.
//! A difference between engines beyond rounding is a wrong answer.

mod rois;
mod sizes;

use std::f64::consts::PI;

use zfinder::config::{Extrapolation, PairWeight};
use zfinder::gpu::{AdapterKind, AdapterSummary};
use zfinder::thesis::ThesisOptions;
use zfinder::{
    Config, Engine, PhiWindow, Precision, Preset, Results, Roi, RoiBatch, RoiDescriptor, RoiId, Spacepoint, Status,
    ZFinder, ZFinderBuilder,
};
use zfinder_testing::engines::on_shared_device;
use zfinder_testing::engines::{agree, bits, build_with, find};
use zfinder_testing::on_adapters;

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

/// An RoI that is hard to answer.
#[derive(Clone)]
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

/// The finders of a configuration.
struct Finders {
    reference: ZFinder,
    double: ZFinder,
    single: ZFinder,
    gpus: Vec<(AdapterSummary, ZFinder)>,
}

impl Finders {
    fn new(config: &Config, options: impl Fn(ZFinderBuilder) -> ZFinderBuilder) -> Self {
        let one_more = config.clone().with(|c| c.peaks = config.peaks + 1);
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
        let check = |engine: &str, found: &Results, single: bool| {
            for (i, Hostile { name, known, .. }) in hostile.iter().enumerate() {
                let place = format!("{place}, {i}, {name}, {engine}");
                match *known {
                    Known::Is(status) => {
                        for result in [reference.roi(i), found.roi(i)] {
                            assert_eq!((result.status(), result.vertices().len()), (status, 0), "{place}: {result:?}");
                        }
                    }
                    Known::OnAnEdge => {}
                    Known::BeyondF32 | Known::Crowded if single => {}
                    Known::BeyondF32 | Known::Crowded | Known::Alike => {
                        agree(&place, [found.roi(i)], [reference.roi(i)], peaks);
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
                let told = *known == Known::Crowded && found.roi(i).status() == Status::CapacityExceeded;
                let same = bits([found.roi(i)]) == bits([single.roi(i)]);
                let exact = adapter.kind == AdapterKind::Software && !told;
                let place = format!("{place}, {i}, {name}, {}", adapter.name);
                assert!(!exact || same, "{place}: {:?}, the CPU's {:?}", found.roi(i), single.roi(i));
                // On another device, rounding moves some of billions of pairs across a bin's edge.
                let [weights, expected] = [&found, &single].map(|results| results.roi(i).vertices().weight());
                let alike = weights.len() == expected.len()
                    && weights.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1.0 + 1e-4 * b);
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
#[ignore = "long form of `hostile_rois_are_answered_alike`: scripts/test full"]
fn hostile_rois_are_answered_alike_in_every_mode() {
    hostile_rois(&["pairs, numbered", "thesis", "histograms of each charge and slice", "accurate"]);
}

fn hostile_rois(modes: &[&str]) {
    let hostile = rois::hostile();
    let default = Config::preset(Preset::Default).with(|c| c.peaks = 2);
    let coarse = |pair_weight| {
        default.clone().with(|c| {
            c.pair_weight = pair_weight;
            c.z_bin_mm = 1.0;
        })
    };
    let several = coarse(PairWeight::Any).with(|c| {
        c.charge_aware = true;
        c.histogram_per_slice = true;
        c.phi_slice_deg = 2.0;
    });
    type Options = fn(ZFinderBuilder) -> ZFinderBuilder;
    let plain: Options = |builder| builder;
    let cases: [(&str, Config, Options); 7] = [
        ("pairs", default.clone(), plain),
        ("pairs, numbered", coarse(PairWeight::One), |builder| builder.thesis(ThesisOptions::numbered_pairs(16))),
        ("thesis", Config::preset(Preset::Thesis).with(|c| c.peaks = 2), plain),
        ("triplets counted", coarse(PairWeight::Count), plain),
        ("histograms of each charge and slice", several, plain),
        (
            "by pT",
            Config::preset(Preset::HardScatter).with(|c| {
                c.peaks = 2;
                c.z_bin_mm = 1.0;
            }),
            plain,
        ),
        ("accurate", coarse(PairWeight::One).with(|c| c.extrapolation = Extrapolation::Accurate), plain),
    ];
    for (case, config, options) in cases.into_iter().filter(|(case, ..)| modes.contains(case)) {
        let finders = Finders::new(&config, options);
        finders.compare(case, &hostile);
        if case == "pairs" {
            finders.compare("bad", &rois::bad());
        }
    }
}
