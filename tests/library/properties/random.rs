//! Random configurations, detectors and events, as strategies of proptest.

use std::f64::consts::{PI, TAU};

use proptest::prelude::*;
use proptest::sample::select;
use zfinder::config::{
    DefaultWindow, Extrapolation, Fallback, MaxLayer, Neighbours, PairWeight, Ranking, Significance, ZEstimate,
};
use zfinder::detector::{BendingPair, BendingTable, Layer, LayerKind, Sensor};
use zfinder::{Config, Detector, PhiWindow, Preset, Roi, RoiDescriptor, RoiId};

use zfinder_testing::toy::Toy;

/// The RoIs, configuration and detector of a search.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) config: Config,
    pub(crate) detector: Detector,
    pub(crate) rois: Vec<Roi>,
}

/// Returns positive numbers of all magnitudes in a range.
fn sizes(low: f64, high: f64) -> impl Strategy<Value = f64> + Clone {
    (low.ln()..high.ln()).prop_map(f64::exp)
}

/// Returns a number that often has this value.
fn often(value: f64, others: impl Strategy<Value = f64> + 'static) -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(value), 3 => others]
}

fn slices_and_z() -> impl Strategy<Value = Config> {
    let slice = prop_oneof![4 => Just(0.2), 4 => 0.1..2.0, 2 => 2.0..360.0, 1 => 0.01..0.1, 1 => select(vec![360.0, 180.0, 90.0])];
    let bin = prop_oneof![3 => Just(0.2), 3 => sizes(0.1, 20.0), 1 => sizes(0.02, 1e4), 1 => sizes(1e-3, 0.02)];
    let z = (often(-200.0, prop_oneof![4 => -600.0..400.0, 1 => -9e4..-600.0]), often(400.0, sizes(0.5, 900.0)));
    let beam = (often(0.0, -5.0..5.0), often(0.0, -5.0..5.0), often(0.0, -0.01..0.01));
    (slice, bin, often(0.1, 0.0..2.0), z, beam).prop_map(
        |(phi_slice_deg, z_bin_mm, z_bin_eta_coeff, (z_min_mm, length), beam)| {
            Config::preset(Preset::Default).with(|c| {
                c.phi_slice_deg = phi_slice_deg;
                c.z_bin_mm = z_bin_mm;
                c.z_bin_eta_coeff = z_bin_eta_coeff;
                c.z_min_mm = z_min_mm;
                c.z_max_mm = z_min_mm + length;
                c.beam_spot_mm = [beam.0, beam.1];
                c.beam_spot_tilt = [beam.2, 0.5 * beam.2];
            })
        },
    )
}

fn pairs() -> impl Strategy<Value = Config> {
    let reach = (often(1.0, prop_oneof![0.0..4.0, sizes(4.0, 1e3)]), prop::option::weighted(0.3, 1..60u32));
    let bending =
        (often(6.0, sizes(0.05, 1e4)), often(2.0, prop_oneof![Just(0.0), 0.1..10.0]), often(-0.02, -0.2..0.0));
    let cut = |default: f64, low, high| prop_oneof![3 => Just(default), 4 => sizes(low, high), 1 => Just(1e6)];
    let cuts = (cut(25.0, 0.05, 300.0), cut(0.005, 1e-6, 0.1), cut(0.05, 1e-4, 2.0));
    let modes = (
        select(vec![Neighbours::Single, Neighbours::Bending, Neighbours::Bending]),
        select(vec![PairWeight::One, PairWeight::One, PairWeight::Any, PairWeight::Count]),
        select(vec![Extrapolation::Linear, Extrapolation::Linear, Extrapolation::Accurate]),
        prop_oneof![Just(3u32), 1..12u32, Just(64u32)],
    );
    (reach, bending, cuts, modes).prop_map(|((neighbour_multiplier, neighbour_max), bending, cuts, modes)| {
        Config::preset(Preset::Default).with(|c| {
            c.neighbour_multiplier = neighbour_multiplier;
            c.neighbour_max = neighbour_max;
            c.bending_pt_gev = bending.0;
            c.field_t = bending.1;
            c.dphi_deta = bending.2;
            c.triplet_dz_mm = cuts.0;
            c.triplet_dk = cuts.1;
            c.triplet_dp = cuts.2;
            c.neighbours = modes.0;
            c.pair_weight = modes.1;
            c.extrapolation = modes.2;
            c.first_layers = modes.3;
        })
    })
}

fn peaks() -> impl Strategy<Value = Config> {
    let count = prop_oneof![6 => 1..6u32, 1 => Just(50u32), 1 => Just(Config::MAX_PEAKS - 1)];
    let mixed = prop_oneof![
        3 => Just((0.0, 0.0, 0.0)),
        1 => (0.0..30.0, Just(0.0), 0.0..1.0),
        1 => (Just(0.0), 0.0..0.3, 0.0..1.0),
    ];
    let background =
        (often(0.0, sizes(0.5, 100.0)), prop_oneof![3 => Just(1.0), 2 => 0.0..1.0, 1 => Just(0.0)], any::<bool>());
    let histograms = (prop::bool::weighted(0.2), prop::bool::weighted(0.15), prop::bool::weighted(0.2));
    let choices = (any::<bool>(), any::<bool>(), any::<bool>());
    let by_pt = (select(Ranking::ALL.to_vec()), select(ZEstimate::ALL.to_vec()));
    let all = (count, mixed, background, histograms, choices, by_pt);
    all.prop_map(|(peaks, mixed, background, histograms, choices, by_pt)| {
        Config::preset(Preset::Default).with(|c| {
            c.peaks = peaks;
            c.vertex_separation_bins = mixed.0;
            c.vertex_distance_cut = mixed.1;
            c.vertex_mixing = mixed.2;
            c.min_significance = background.0;
            c.percentile = background.1;
            c.significance = if background.2 { Significance::Gaussian } else { Significance::Poisson };
            c.charge_aware = histograms.0;
            c.histogram_per_slice = histograms.1;
            c.pair_weight = if histograms.2 { PairWeight::Pt } else { PairWeight::One };
            c.ranking = by_pt.0;
            c.z_estimate = by_pt.1;
            c.prefer_central = choices.0;
            c.wrap_full_scan = choices.1;
            c.phi_window = if choices.2 { DefaultWindow::FullScan } else { DefaultWindow::Spacepoints };
        })
    })
}

/// Returns any valid configuration; one of four is a preset.
pub(crate) fn config() -> impl Strategy<Value = Config> {
    let last = prop_oneof![
        4 => Just(MaxLayer::All),
        1 => (1..20u32).prop_map(MaxLayer::Number),
        1 => select(vec![Sensor::Pixel, Sensor::ShortStrip]).prop_map(MaxLayer::Sensor),
    ];
    let any = (slices_and_z(), pairs(), peaks(), last).prop_map(|(z, pairs, peaks, max_layer)| {
        let by_pt = peaks.pair_weight == PairWeight::Pt;
        peaks.with(|c| {
            c.phi_slice_deg = z.phi_slice_deg;
            c.z_bin_mm = z.z_bin_mm;
            c.z_bin_eta_coeff = z.z_bin_eta_coeff;
            c.z_min_mm = z.z_min_mm;
            c.z_max_mm = z.z_max_mm;
            c.beam_spot_mm = z.beam_spot_mm;
            c.beam_spot_tilt = z.beam_spot_tilt;
            // Weights by pT need one histogram; directions and precisions need weights by pT.
            if !by_pt {
                (c.pair_weight, c.ranking, c.z_estimate) = (pairs.pair_weight, Ranking::Entries, ZEstimate::Mean);
            }
            c.charge_aware &= !by_pt;
            c.histogram_per_slice &= !by_pt;
            c.max_layer = max_layer;
            c.neighbours = pairs.neighbours;
            c.neighbour_multiplier = pairs.neighbour_multiplier;
            c.neighbour_max = pairs.neighbour_max;
            c.bending_pt_gev = pairs.bending_pt_gev;
            c.field_t = pairs.field_t;
            c.dphi_deta = pairs.dphi_deta;
            c.triplet_dz_mm = pairs.triplet_dz_mm;
            c.triplet_dk = pairs.triplet_dk;
            c.triplet_dp = pairs.triplet_dp;
            c.extrapolation = pairs.extrapolation;
            c.fallback = if c.peaks == 2 { Fallback::FullScan } else { Fallback::None };
            c.first_layers = pairs.first_layers;
        })
    });
    let preset = select(Preset::ALL.to_vec()).prop_map(Config::preset);
    prop_oneof![1 => preset, 3 => any]
}

/// Returns a built-in detector, or barrels and disks of any size in any order, with or without a
/// table of bending.
fn detector() -> impl Strategy<Value = Detector> {
    let layer =
        (prop::bool::weighted(0.3), 20.0..1000.0, 100.0..3000.0, 0..3usize).prop_map(|(disk, size, z_mm, sensor)| {
            let sensor = [Sensor::Pixel, Sensor::ShortStrip, Sensor::LongStrip][sensor];
            let kind =
                if disk { LayerKind::Endcap { z_mm, r_max_mm: size } } else { LayerKind::Barrel { radius_mm: size } };
            Layer {
                kind,
                sensor: Some(sensor),
                z_resolution_mm: None,
                radiation_lengths: None,
                next: None,
                ids: Vec::new(),
            }
        });
    let pair = (0..6u32, 6..12u32, 0.0..0.1, -2.0..2.0).prop_map(|(inner, outer, dphi_rad, eta)| BendingPair {
        inner,
        outer,
        dphi_rad,
        eta: Some(eta),
    });
    let bending = prop::option::of(prop::collection::vec(pair, 0..20));
    let own = (prop::collection::vec(layer, 12..=64), bending).prop_map(|(layers, pairs)| {
        let bending = pairs.map(|pairs| BendingTable { pt_gev: 6.0, field_t: 2.0, pairs });
        Detector::new("random", layers, bending).expect("valid")
    });
    prop_oneof![4 => Just(Detector::atlas2010()), 1 => Just(Detector::generic()), 2 => own]
}

/// Returns tracks and noise in an RoI of any position and width. Some spacepoints are far outside
/// any detector.
fn roi() -> impl Strategy<Value = Roi> {
    let window = prop_oneof![
        6 => (-PI..PI, 0.01..1.5).prop_map(Some),
        1 => Just(None),
    ];
    let toy = (any::<u64>().no_shrink(), 0..25usize, 1..5usize, 0..80usize, window);
    let wild = prop_oneof![3 => Just(0), 1 => 1..10usize];
    let own = (often(0.0, -3.0..3.0), prop::option::weighted(0.2, (-250.0..100.0, 1.0..400.0)), 0..10u32, wild);
    (toy, own).prop_map(|((seed, tracks, vertices, noise, window), (eta, z_range, kind, wild))| {
        let rng = &mut fastrand::Rng::with_seed(seed);
        let event = Toy { tracks, vertices, noise, window, ..Toy::default() }.event(rng, 0);
        let mut roi = event.roi;
        for _ in 0..wild.min(roi.spacepoints.len()) {
            let i = rng.usize(0..roi.spacepoints.len());
            let point = &mut roi.spacepoints[i];
            match rng.u32(0..4) {
                0 => point.z *= 1e3 * rng.f64(),
                1 => point.rho *= 10.0 * rng.f64() + 1e-3,
                2 => point.phi -= TAU.copysign(point.phi),
                _ => point.phi += 0.1 * (rng.f64() - 0.5),
            }
        }
        let window = match kind {
            0 => None,
            1 => Some(PhiWindow::FromSpacepoints),
            2 if roi.spacepoints.len() < 400 => Some(PhiWindow::FullScan),
            _ => roi.descriptor.window,
        };
        let z_range = z_range.map(|(low, length)| (low, low + length));
        roi.descriptor = RoiDescriptor { eta, z_range, window, ..roi.descriptor };
        roi
    })
}

/// Returns a valid search of one to four numbered RoIs, on layers that the detector has.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let legal = |(config, detector, mut rois): (Config, Detector, Vec<Roi>)| {
        let layers = detector.layers().len() as u32;
        for (i, roi) in rois.iter_mut().enumerate() {
            roi.descriptor.id = RoiId { event_id: i as u64, roi_id: 1 };
            roi.spacepoints.iter_mut().for_each(|s| s.layer %= layers);
        }
        let finder = zfinder::ZFinder::builder(detector.clone()).config(config.clone());
        let finder = finder.engine(zfinder::Engine::Cpu).build().ok()?;
        // Ranges of z without a valid histogram are errors.
        rois.retain(|roi| finder.find(&Roi { spacepoints: Vec::new(), ..roi.clone() }).is_ok());
        (!rois.is_empty()).then_some(Case { config, detector, rois })
    };
    (config(), detector(), prop::collection::vec(roi(), 1..5)).prop_filter_map("a legal search", legal)
}
