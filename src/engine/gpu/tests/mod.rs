//! Every kernel against its twin, on every adapter: buffers are read back after each stage and
//! compared with the twin's output for the same input. Input is random and adversarial, always
//! seeded.
#![allow(clippy::print_stderr)] // skipped cases are reported

mod limits;
mod readback;
mod stages;
mod words;

use std::f64::consts::PI;
use std::time::Duration;

use kernel_host::testing::{is_slow, on_adapters, shared_device_with};
use kernel_host::{AdapterChoice, AdapterSummary};

use self::readback::{Moment, Readbacks};
use self::stages::{Compare, check_same, check_stages, check_walk};
use super::*;
use crate::config::{Config, Extrapolation, Neighbours, PairWeight, Preset, Ranking, ZEstimate};
use crate::detector::Detector;
use crate::engine::encoding::{Compact, Lossless};
use crate::engine::gpu::capacity;
use crate::engine::gpu::kernels::KernelName;
use crate::engine::gpu::part::Planned;
use crate::engine::gpu::part_plan::{Dispatch, PartPlan, Sharing, choose_method};
use crate::engine::gpu::shaders::Density;
use crate::engine::gpu::shaders::Pairing;
use crate::engine::gpu::shape::CellTile;
use crate::engine::gpu::shape::{RowSharing, SearchMethod};
use crate::engine::gpu::workspace::{SearchBuffers, Workspace};
use crate::engine::histogram::{CompareExchange, FixedPoint, MAX_COUNT};
use crate::engine::plan::RoiPlan;
use crate::engine::real::Real;
use crate::engine::records::Peak;
use crate::engine::test_cases::{Case, cases, roi, window};
use crate::engine::toy::{Toy, turned};
use crate::error::Error;
use crate::options::Encoding;
use crate::roi_batch::RoiBatch;
use crate::spacepoint::{PhiWindow, Roi, Spacepoint};
use crate::thesis::{Accumulate, ThesisOptions};

/// A device on which answers are written where the tests read them: not straight into the host's
/// memory.
fn open(adapter: &AdapterSummary) -> Gpu {
    shared_device_with(adapter, wgpu::Features::SHADER_F64)
}

fn build<R: Real>(gpu: &Gpu, config: &Config, options: &EngineOptions) -> TypedEngine<R> {
    let search = Search::new(config, &Detector::atlas2010()).expect("a valid configuration");
    pollster::block_on(TypedEngine::new(gpu.clone(), search, options))
        .unwrap_or_else(|error| panic!("{}, {options:?}: {error}", gpu.name()))
}

/// Pairs of the default configuration, gone through in one of the ways.
fn pairing_options(pairing: Pairing, pair_weight: PairWeight) -> (Config, EngineOptions) {
    let single = pairing == Pairing::TwoSlices;
    let neighbours = if single { Neighbours::Single } else { Neighbours::Bending };
    let first_layers = if single { 64 } else { 3 };
    let thesis =
        ThesisOptions { slices_per_histogram: (pairing == Pairing::Numbered).then_some(1), ..ThesisOptions::default() };
    (
        Config { pair_weight, neighbours, first_layers, ..Config::preset(Preset::Default) },
        EngineOptions { thesis, ..EngineOptions::default() },
    )
}

/// Peaks as presets for the hard scatter take them.
fn hard_scatter(config: Config) -> Config {
    Config { ranking: Ranking::Directions, z_estimate: ZEstimate::Densest, ..config }
}

/// Every case in one variant of the kernels, checked and trusted.
fn check_variant<R: Real, Z: Compare>(gpu: &Gpu, precision: Precision, pair_weight: PairWeight, pairing: Pairing) {
    check_encoded::<R, Z>(gpu, precision, pair_weight, pairing, Encoding::Lossless);
}

fn check_encoded<R: Real, Z: Compare>(
    gpu: &Gpu,
    precision: Precision,
    pair_weight: PairWeight,
    pairing: Pairing,
    encoding: Encoding,
) {
    let (config, options) = pairing_options(pairing, pair_weight);
    check_configured::<R, Z>(gpu, config, EngineOptions { precision, encoding, ..options }, pairing);
}

/// A case's configuration with what kernels have built in.
fn built_in(kernels: &Config, case: &Config) -> Config {
    let &Config { pair_weight, ranking, z_estimate, extrapolation, charge_aware, histogram_per_slice, .. } = kernels;
    let mut config =
        Config { pair_weight, ranking, z_estimate, extrapolation, charge_aware, histogram_per_slice, ..case.clone() };
    if histogram_per_slice {
        // As many as fit.
        config.phi_slice_deg = config.phi_slice_deg.max(6.0);
        config.z_bin_mm = config.z_bin_mm.max(1.0);
    }
    config
}

/// The short form: SwiftShader runs every third case.
fn check_configured<R: Real, Z: Compare>(gpu: &Gpu, config: Config, options: EngineOptions, pairing: Pairing) {
    let step = if is_slow(gpu.name()) { 3 } else { 1 };
    check_cases::<R, Z>(gpu, config, options, pairing, step);
}

/// Runs one of `step` cases.
fn check_cases<R: Real, Z: Compare>(gpu: &Gpu, config: Config, options: EngineOptions, pairing: Pairing, step: usize) {
    let EngineOptions { precision, encoding, .. } = options;
    let pair_weight = config.pair_weight;
    let options = EngineOptions { thesis: ThesisOptions { accumulate: Z::ACCUMULATE, ..options.thesis }, ..options };
    let mut trusted = build::<R>(gpu, &config, &options);
    let mut checked = build::<R>(gpu, &config, &EngineOptions { checked: true, ..options });
    assert_eq!(trusted.shape.variant(Density::High).pairing, pairing);
    let mut eligible = 0;
    let mut count = 0;
    let mut walked = 0;
    for case in cases().iter().filter(|case| pair_weight == PairWeight::One || case.triplets) {
        let place = format!(
            "{}, {precision:?}, {:?}, {encoding:?}, {pairing:?}, pair_weight {pair_weight:?}, {:?}, charge {}, slice {}, {}",
            gpu.name(),
            Z::ACCUMULATE,
            config.extrapolation,
            config.charge_aware,
            config.histogram_per_slice,
            case.name
        );
        // The two-slice scheme is for single neighbours; the bits of the compact encoding are built
        // in.
        let search = Search::new(&built_in(&config, &case.config), &case.detector).expect("a valid configuration");
        let same_bits = encoding == Encoding::Lossless || Compact::new(&search) == trusted.compact;
        if !same_bits || (pairing == Pairing::TwoSlices && !search.has_single_neighbours()) {
            continue;
        }
        eligible += 1;
        if eligible % step != 1 % step {
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
    assert!(count >= 3, "{pairing:?}, {encoding:?}, pair_weight {pair_weight:?}: {count} cases");
    // Cells by layer leave little room for spacepoints on some adapters.
    let must_walk = pairing == Pairing::TwoSlices && trusted.shape.walk.is_some();
    assert!(walked >= 3 || !must_walk, "{pairing:?}, {encoding:?}, pair_weight {pair_weight:?}: {walked} cases walked");
}

const PAIRINGS: [Pairing; 3] = [Pairing::TwoSlices, Pairing::ByLayer, Pairing::Numbered];

/// The variants that the short form tests on an adapter: half of them on a slow one. The long form
/// has them all.
fn short_form<'a, T>(adapter: &str, variants: &'a [T]) -> &'a [T] {
    if is_slow(adapter) { &variants[..variants.len().div_ceil(2)] } else { variants }
}

/// Pairings and pair_weight of the short form, in which each occurs.
const SHORT: [(Pairing, PairWeight); 4] = [
    (Pairing::TwoSlices, PairWeight::Any),
    (Pairing::ByLayer, PairWeight::One),
    (Pairing::ByLayer, PairWeight::Any),
    (Pairing::Numbered, PairWeight::Count),
];

#[test]
fn stages_in_fixed_point() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for &(pairing, pair_weight) in short_form(&adapter.name, &SHORT) {
            check_variant::<f32, FixedPoint>(&gpu, Precision::F32, pair_weight, pairing);
        }
    }
}

#[test]
#[ignore = "long form of the tests of stages: scripts/test full"]
fn stages_in_every_variant() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for pairing in PAIRINGS {
            for pair_weight in [PairWeight::One, PairWeight::Any, PairWeight::Count] {
                let (config, options) = pairing_options(pairing, pair_weight);
                let accurate = Config { extrapolation: Extrapolation::Accurate, ..config.clone() };
                check_cases::<f32, FixedPoint>(&gpu, accurate, options.clone(), pairing, 1);
                let one = [(false, false)];
                let histograms = [(false, false), (true, false), (false, true), (true, true)];
                let histograms = if pairing == Pairing::TwoSlices { &one[..] } else { &histograms[..] };
                for &(charge_aware, histogram_per_slice) in histograms {
                    let config = Config { charge_aware, histogram_per_slice, ..config.clone() };
                    check_cases::<f32, FixedPoint>(&gpu, config.clone(), options.clone(), pairing, 1);
                    if pairing == Pairing::Numbered {
                        check_cases::<f32, CompareExchange>(&gpu, config, options.clone(), pairing, 1);
                    }
                }
            }
        }
        for pairing in [Pairing::ByLayer, Pairing::Numbered] {
            let (config, options) = pairing_options(pairing, PairWeight::Pt);
            check_cases::<f32, FixedPoint>(&gpu, config.clone(), options.clone(), pairing, 1);
            let config = hard_scatter(config);
            check_cases::<f32, FixedPoint>(&gpu, config.clone(), options.clone(), pairing, 1);
            if pairing == Pairing::Numbered {
                check_cases::<f32, CompareExchange>(&gpu, config, options, pairing, 1);
            }
        }
    }
}

/// Rings of few slices, with few spacepoints, whose layers are mixed, and with so many that they
/// are sorted by layers, too.
#[test]
fn rings_of_single_neighbours_are_gone_round_once() {
    let rng = &mut fastrand::Rng::with_seed(54);
    let mut ring = |count: u32| {
        let points = (0..count).map(|_| {
            let layer = rng.u32(0..19);
            let rho = 50.0 + 40.0 * f64::from(layer) + rng.f64();
            Spacepoint { rho, phi: 6.2 * (rng.f64() - 0.5), z: 900.0 * (rng.f64() - 0.5), layer }
        });
        RoiBatch::from_iter([roi(Some(PhiWindow::FullScan), points.collect())])
    };
    let batches = [(Density::Low, ring(300)), (Density::High, ring(CellTile::FEW + 100))];
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        let (config, options) = pairing_options(Pairing::TwoSlices, PairWeight::One);
        let mut engine = build::<f32>(&gpu, &config, &options);
        for degrees in [360.0, 180.0, 120.0] {
            engine.take_case(&Case::new("", Config { phi_slice_deg: degrees, ..config.clone() }, Vec::new()));
            for (density, batch) in &batches {
                let place = format!("{}, slices of {degrees} degrees, {density:?}", adapter.name);
                let stages = engine.stages(batch).unwrap_or_else(|error| panic!("{place}: {error}"));
                assert_eq!(stages.part.method, SearchMethod::Stages(*density), "{place}");
                check_stages::<f32, FixedPoint>(&place, &engine, &stages);
            }
        }
    }
}

#[test]
fn stages_with_compact_spacepoints() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pairing, pair_weight) in [(Pairing::TwoSlices, PairWeight::One), (Pairing::ByLayer, PairWeight::Count)] {
            check_encoded::<f32, FixedPoint>(&gpu, Precision::F32, pair_weight, pairing, Encoding::Compact);
        }
    }
}

#[test]
fn stages_by_compare_and_exchange() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for &pair_weight in short_form(&adapter.name, &[PairWeight::One, PairWeight::Any]) {
            check_variant::<f32, CompareExchange>(&gpu, Precision::F32, pair_weight, Pairing::Numbered);
        }
    }
}

#[test]
fn stages_with_several_histograms() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pair_weight, charge_aware) in [(PairWeight::Any, true), (PairWeight::One, false)] {
            let (config, options) = pairing_options(Pairing::ByLayer, pair_weight);
            let config = Config { charge_aware, histogram_per_slice: true, ..config };
            check_configured::<f32, FixedPoint>(&gpu, config.clone(), options.clone(), Pairing::ByLayer);
        }
    }
}

#[test]
fn stages_weighted_by_pt() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        let (config, options) = pairing_options(Pairing::ByLayer, PairWeight::Pt);
        check_configured::<f32, FixedPoint>(&gpu, hard_scatter(config), options, Pairing::ByLayer);
    }
}

#[test]
fn stages_with_accurate_extrapolation() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pairing, pair_weight) in [(Pairing::TwoSlices, PairWeight::One), (Pairing::ByLayer, PairWeight::Count)] {
            let (config, options) = pairing_options(pairing, pair_weight);
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
            check_variant::<f64, FixedPoint>(&gpu, Precision::F64, PairWeight::One, Pairing::TwoSlices);
            check_variant::<f64, FixedPoint>(&gpu, Precision::F64, PairWeight::Count, Pairing::ByLayer);
            check_variant::<f64, CompareExchange>(&gpu, Precision::F64, PairWeight::Any, Pairing::Numbered);
            let (config, options) = pairing_options(Pairing::ByLayer, PairWeight::Any);
            let (extrapolation, precision) = (Extrapolation::Accurate, Precision::F64);
            let config = Config { extrapolation, charge_aware: true, histogram_per_slice: true, ..config };
            let options = EngineOptions { precision, ..options };
            check_configured::<f64, FixedPoint>(&gpu, config, options, Pairing::ByLayer);
            let (pairing, pair_weight) = (Pairing::ByLayer, PairWeight::Count);
            check_encoded::<f64, FixedPoint>(&gpu, Precision::F64, pair_weight, pairing, Encoding::Compact);
            continue;
        }
        eprintln!("{} has no f64: it must be refused", adapter.name);
        // However it is asked: by choice of adapter, or with a device that was opened without it.
        let chosen = crate::ZFinder::builder(Detector::atlas2010())
            .engine(crate::Engine::Gpu(AdapterChoice::Index(adapter.index)))
            .precision(Precision::F64)
            .build()
            .map(|_| ());
        let gpu = open(&adapter);
        let search =
            Search::new(&Config::preset(Preset::Default), &Detector::atlas2010()).expect("a valid configuration");
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
