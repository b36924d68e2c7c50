//! The stages in vectors against the same stages without: on events, on input that is none, and on what fills every buffer.

mod lanes;
mod plain;

use std::cmp::Reverse;

use pulp::Arch;

use super::find_peaks::{FindPeaks, find_peaks};
use super::find_z::{Dispatch, FindZ, ROOM};
use super::lanes::Lanes;
use super::packed_histogram::{ENTRY_SHIFT, PackedHistogram};
use super::slice_spacepoints::{SlicedSpacepoints, slice_spacepoints};
use super::sum_histos::sum_histos;
use crate::config::{Config, Extrapolation, Neighbours, Preset, Triplets, Weighting, ZBins};
use crate::detector::Detector;
use crate::engine::encoding::Lossless;
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::test_cases::cases;
use crate::histogram::{Background, CompareExchange, FixedPoint, HistogramPair, MAX_COUNT, OFFSET_STEPS, ZSum};
use crate::options::Accumulate;
use crate::spacepoint::{PhiWindow, Roi, RoiBatch, RoiDescriptor, RoiView, Spacepoint};

/// This machine's vectors, narrower ones, and none.
fn arches() -> Vec<(&'static str, Arch)> {
    #[cfg(target_arch = "x86_64")]
    let narrower = pulp::x86::V3::try_new().map(|v3| ("AVX2", Arch::V3(v3)));
    #[cfg(not(target_arch = "x86_64"))]
    let narrower = None;
    [("vectors", Arch::new()), ("none", Arch::Scalar)].into_iter().chain(narrower).collect()
}

/// An RoI as the stages get it.
fn packed<R: Lanes>(search: &Search, roi: RoiView<'_>) -> (RoiPlan, Vec<R::Spacepoint>) {
    let plan = search.plan(roi).expect("a plan");
    let mut spacepoints = Vec::new();
    search.pack::<R, _>(&Lossless, &plan, roi, |words| spacepoints.extend_from_slice(words));
    (plan, spacepoints)
}

/// The histograms of some slices in these vectors.
fn filled<R: Lanes, Z: ZSum>(
    arch: Arch,
    search: &Search,
    plan: &RoiPlan,
    accumulate: Accumulate,
    spacepoints: &[R::Spacepoint],
    parts: u32,
) -> HistogramPair {
    let mut sliced = SlicedSpacepoints::default();
    slice_spacepoints(spacepoints, plan.slices, &mut sliced);
    let each = plan.slices.div_ceil(parts);
    let find_z = |part: u32| {
        let slices = (part * each).min(plan.slices)..((part + 1) * each).min(plan.slices);
        // Memory that another search used.
        let mut to = FindZ::default();
        arch.dispatch(Dispatch { search, plan, accumulate, sliced: &sliced, slices: 0..plan.slices, to: &mut to });
        arch.dispatch(Dispatch { search, plan, accumulate, sliced: &sliced, slices, to: &mut to });
        to
    };
    let parts: Vec<FindZ<R>> = (0..parts).map(find_z).collect();
    let mut total = HistogramPair::new(0, 0);
    sum_histos::<Z>(parts.iter().map(|part| &part.histogram), &mut total);
    if total.pairs.is_empty() {
        total.pairs = total.n.clone();
    }
    total
}

/// Everything that a configuration may ask of find_z.
fn options() -> Vec<(&'static str, Config)> {
    let default = Config { z_bin_mm: 0.4, ..Config::default() };
    let triplets = |triplets| Config { triplets, ..default.clone() };
    let several = Config { charge_aware: true, histogram_per_slice: true, z_bin_mm: 4.0, ..default.clone() };
    vec![
        ("pairs", default.clone()),
        ("thesis", Config::preset(Preset::Thesis)),
        ("any", triplets(Triplets::Any)),
        ("count", triplets(Triplets::Count)),
        ("jet", Config::preset(Preset::Jet)),
        ("hard scatter", Config { z_bin_mm: 0.4, ..Config::preset(Preset::HardScatter) }),
        (
            "single, all layers, count",
            Config { neighbours: Neighbours::Single, first_layers: 19, ..triplets(Triplets::Count) },
        ),
        ("several", several.clone()),
        ("several, count", Config { triplets: Triplets::Count, ..several }),
        ("wide slices", Config { phi_slice_deg: 30.0, ..triplets(Triplets::Count) }),
        ("wide slices, by pT", Config { phi_slice_deg: 40.0, ..Config::preset(Preset::HardScatter) }),
        ("many steps", Config { z_bin_mm: 0.02, ..default }),
    ]
}

fn check<R: Lanes>(name: &str, search: &Search, roi: RoiView<'_>) {
    let (plan, spacepoints) = packed::<R>(search, roi);
    let wanted = plain::find_z::<R, FixedPoint>(search, &plan, &spacepoints, 0..plan.slices);
    let whole = arches().into_iter().map(|(what, arch)| (what, arch, 1));
    for (what, arch, parts) in whole.chain([("vectors in parts", Arch::new(), 3)]) {
        let found = filled::<R, FixedPoint>(arch, search, &plan, Accumulate::Fixed, &spacepoints, parts);
        let place = format!("{name}, {:?}: {what}", plan.descriptor.id);
        assert!(found.n == wanted.n, "{place}: n");
        assert!(found.z == wanted.z, "{place}: z");
        assert!(found.pairs == wanted.pairs, "{place}: pairs");
        assert!(found.sectors == wanted.sectors, "{place}: sectors");
    }
    let found = filled::<R, CompareExchange>(Arch::new(), search, &plan, Accumulate::CompareExchange, &spacepoints, 2);
    assert!(found.n == wanted.n, "{name}: n by compare and exchange");
    for bin in 0..found.n.len() as u32 {
        let [z, wanted] = [
            CompareExchange::z_mm(found.z[bin as usize], found.n[bin as usize], f64::from(bin), &plan.bins),
            FixedPoint::z_mm(
                wanted.z[bin as usize],
                wanted.n[bin as usize],
                f64::from(bin % plan.bins.bins),
                &plan.bins,
            ),
        ];
        let (most, n) = (plan.bins.z_max.abs().max(plan.bins.z_min.abs()), f64::from(found.n[bin as usize]));
        assert!((z - wanted).abs() <= n * (1e-5 * most + plan.bins.width / 512.0), "{name}: z {z} and {wanted}");
    }
}

#[test]
fn vectors_fill_what_no_vectors_do() {
    vectors_against_none(2, 1);
}

#[test]
#[ignore = "long form of `vectors_fill_what_no_vectors_do`: scripts/test --full"]
fn vectors_fill_what_no_vectors_do_in_many_rois() {
    vectors_against_none(12, 12);
}

/// So many RoIs of each case in f32, and so many in f64, in every option.
fn vectors_against_none(in_f32: usize, in_f64: usize) {
    for case in cases() {
        for (name, config) in options() {
            // The window and the ring of the case, the pairs of the options.
            let config = Config { wrap_full_scan: case.config.wrap_full_scan, ..config };
            let Ok(search) = Search::new(&config, &case.detector) else { continue };
            case.batch
                .iter()
                .take(in_f32)
                .for_each(|roi| check::<f32>(&format!("{}, {name}, f32", case.name), &search, roi));
            case.batch
                .iter()
                .take(in_f64)
                .for_each(|roi| check::<f64>(&format!("{}, {name}, f64", case.name), &search, roi));
        }
    }
}

/// More pairs and third spacepoints about one spacepoint than any buffer holds.
#[test]
fn more_than_a_buffer_holds_is_found_in_pieces() {
    // The f64 forms of the other options are the long form's: the buffers are the same.
    more_than_a_buffer_holds(&["pairs", "count"]);
}

#[test]
#[ignore = "long form of `more_than_a_buffer_holds_is_found_in_pieces`: scripts/test --full"]
fn more_than_a_buffer_holds_is_found_in_pieces_in_f64() {
    let names: Vec<&str> = options().into_iter().map(|(name, _)| name).collect();
    more_than_a_buffer_holds(&names);
}

/// Every option in f32, and those of these names in f64.
fn more_than_a_buffer_holds(in_f64: &[&str]) {
    let rng = &mut fastrand::Rng::with_seed(21);
    let anywhere = |layer: u32, rng: &mut fastrand::Rng| Spacepoint {
        rho: 50.0 + 60.0 * f64::from(layer) + rng.f64(),
        phi: 0.0002 * rng.f64(),
        z: 400.0 * (rng.f64() - 0.5),
        layer,
    };
    let counts = [2 * ROOM as u32 + 7, 2, 2 * ROOM as u32 + 300];
    let spacepoints = (0..3).flat_map(|layer| (0..counts[layer as usize]).map(move |_| layer));
    let spacepoints: Vec<Spacepoint> = spacepoints.map(|layer| anywhere(layer, rng)).collect();
    let window = Some(PhiWindow::new(-0.1, 0.1).expect("a window"));
    let roi = Roi { descriptor: RoiDescriptor { window, ..RoiDescriptor::default() }, spacepoints };
    for (name, config) in options() {
        if config.histogram_per_slice {
            continue;
        }
        let search = Search::new(&config, &Detector::atlas2010()).expect("a valid configuration");
        check::<f32>(name, &search, (&roi).into());
        if in_f64.contains(&name) {
            check::<f64>(name, &search, (&roi).into());
        }
    }
}

/// Rings of few slices, on which a reach may go round, with everything next to everything.
#[test]
fn rings_of_any_length_are_gone_round_once() {
    let rng = &mut fastrand::Rng::with_seed(22);
    for slices in 1..24 {
        let spacepoints = (0..90u32).map(|i| Spacepoint {
            rho: 50.0 + 40.0 * f64::from(i % 7) + rng.f64(),
            phi: 7.0 * (rng.f64() - 0.5),
            z: 60.0 * (rng.f64() - 0.5),
            layer: i % 7,
        });
        let roi = Roi {
            descriptor: RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() },
            spacepoints: spacepoints.collect(),
        };
        for (triplets, weighting) in
            [(Triplets::Off, Weighting::Count), (Triplets::Count, Weighting::Count), (Triplets::Any, Weighting::Pt)]
        {
            for neighbours in [Neighbours::Single, Neighbours::Bending] {
                let config = Config {
                    phi_slice_deg: 360.0 / f64::from(slices),
                    z_bin_mm: 4.0,
                    bending_pt_gev: 0.4,
                    neighbour_multiplier: 2.0 + f64::from(slices % 5),
                    // Cuts that let much pass, so that what is looked at decides.
                    triplet_dk: 1.0,
                    triplet_dp: 5.0,
                    first_layers: 5,
                    triplets,
                    weighting,
                    neighbours,
                    ..Config::default()
                };
                let search = Search::new(&config, &Detector::atlas2010()).expect("a valid configuration");
                check::<f32>(&format!("{slices} slices, {triplets:?}, {weighting:?}"), &search, (&roi).into());
            }
        }
    }
}

/// The accurate extrapolation has a sine of its own: the same pairs but for rounding.
#[test]
fn an_accurate_extrapolation_is_that_of_the_formula() {
    for case in cases().into_iter().filter(|case| case.name.contains("toy") || case.name.contains("circle")) {
        let config = Config { extrapolation: Extrapolation::Accurate, triplets: Triplets::Count, ..case.config };
        let search = Search::new(&config, &case.detector).expect("a valid configuration");
        for roi in case.batch.iter() {
            let (plan, spacepoints) = packed::<f64>(&search, roi);
            let wanted = plain::find_z::<f64, FixedPoint>(&search, &plan, &spacepoints, 0..plan.slices);
            let found = filled::<f64, FixedPoint>(Arch::new(), &search, &plan, Accumulate::Fixed, &spacepoints, 1);
            assert_eq!(found.n, wanted.n, "{}, {:?}", case.name, plan.descriptor.id);
        }
    }
}

/// Enters steps and weights one by one, or together, in few bins, by one instruction or by several.
fn enter(histogram: &mut PackedHistogram, apart: Option<bool>, entries: &[(u32, u32)]) {
    let Some(apart) = apart else {
        entries.iter().for_each(|&(steps, weight)| histogram.add(0, steps, 1.0, weight, [0; 2]));
        return;
    };
    let (steps, weights): (Vec<_>, Vec<_>) =
        entries.iter().map(|&(steps, weight)| (f32::from_bits(steps << ENTRY_SHIFT), weight as f32)).unzip();
    match (histogram.pairs().is_empty(), apart) {
        (false, _) => histogram.fill_weighted(&steps, &weights),
        (true, false) => histogram.fill::<f32, false>(&steps),
        (true, true) => histogram.fill::<f32, true>(&steps),
    }
}

/// Counts beyond what a word holds are seen, however they come about.
#[test]
fn counts_that_are_too_high_are_seen() {
    let search = Search::new(&Config::default(), &Detector::atlas2010()).expect("a valid configuration");
    let batch: RoiBatch = [Roi::default()].into_iter().collect();
    let plan = search.plan(batch.roi(0)).expect("a plan");
    let steps = 5 * OFFSET_STEPS + 1023;
    use Accumulate::{CompareExchange, Fixed};
    for (accumulate, apart) in [(Fixed, None), (Fixed, Some(false)), (Fixed, Some(true)), (CompareExchange, None)] {
        let mut histogram = PackedHistogram::default();
        histogram.clear(&plan, accumulate, None, false);
        let mut filled = 0;
        while filled + (1 << 16) <= MAX_COUNT as usize {
            enter(&mut histogram, apart, &[(steps, 1); 1 << 16]);
            filled += 1 << 16;
        }
        histogram.look();
        assert!(!histogram.overflows(), "{filled} entries");
        enter(&mut histogram, apart, &[(steps, 1); 1 << 16]);
        histogram.look();
        assert!(histogram.overflows());
        for (weight, overflows) in [(63, false), (64, true), (u32::MAX, true)] {
            histogram.clear(&plan, accumulate, Some(weight as usize), false);
            enter(&mut histogram, apart, &[(steps, weight); 1 << 16]);
            histogram.look();
            assert_eq!(histogram.overflows(), overflows, "{weight}");
            let pairs: u32 = histogram.pairs().iter().sum();
            assert_eq!((histogram.weights(), pairs), (u64::from(weight.min(MAX_COUNT + 1)) << 16, 1 << 16));
        }
        // In one go, as many as there are: more than a word of 32 bits holds.
        for weight in [63, 64, u32::MAX] {
            histogram.clear(&plan, accumulate, Some(weight as usize), false);
            histogram.fill_any(std::iter::repeat_n((steps, 1.0, weight), 1 << 16));
            histogram.look();
            assert_eq!(histogram.overflows(), weight > 63, "{weight}");
        }
        // By weights that a word cannot even hold: seen on the way.
        histogram.clear(&plan, accumulate, Some(1), false);
        for _ in 0..2000 {
            histogram.add(0, steps, 1.0, u32::MAX, [0; 2]);
        }
        assert!(histogram.overflows());
    }
}

/// As many as are counted together, some more and some less, in f32 and f64.
#[test]
fn entries_together_are_those_one_by_one() {
    let rng = &mut fastrand::Rng::with_seed(32);
    let search = Search::new(&Config::default(), &Detector::atlas2010()).expect("a valid configuration");
    let batch: RoiBatch = [Roi::default()].into_iter().collect();
    let plan = search.plan(batch.roi(0)).expect("a plan");
    let bins = plan.bins.bins;
    for count in 0..100 {
        let steps: Vec<u32> = (0..count).map(|_| rng.u32(0..bins * OFFSET_STEPS)).collect();
        let single: Vec<f32> = steps.iter().map(|steps| f32::from_bits(steps << ENTRY_SHIFT)).collect();
        // What is above the low bits of an f64 is not looked at.
        let double: Vec<f64> = steps.iter().map(|&steps| f64::from(steps << ENTRY_SHIFT) + 2f64.powi(52)).collect();
        let fill = |fill: &dyn Fn(&mut PackedHistogram)| {
            let mut histogram = PackedHistogram::default();
            histogram.clear(&plan, Accumulate::Fixed, None, false);
            fill(&mut histogram);
            histogram.look();
            let (mut n, mut z) = (vec![0; bins as usize], vec![0; bins as usize]);
            histogram.unpack(0, &mut n, &mut z);
            (n, z, histogram.weights())
        };
        let one_by_one = fill(&|to| steps.iter().for_each(|&steps| to.add(0, steps, 1.0, 1, [0; 2])));
        assert_eq!(one_by_one.2, count as u64);
        assert!(fill(&|to| to.fill::<f32, false>(&single)) == one_by_one, "{count}");
        assert!(fill(&|to| to.fill::<f32, true>(&single)) == one_by_one, "{count}");
        assert!(fill(&|to| to.fill::<f64, false>(&double)) == one_by_one, "{count}");
        assert!(fill(&|to| to.fill::<f64, true>(&double)) == one_by_one, "{count}");
    }
}

/// Few entries in a bin and as many as there may be, in few bins and in many, in the last one and beyond it.
#[test]
fn words_tell_n_from_z() {
    let rng = &mut fastrand::Rng::with_seed(25);
    let batch: RoiBatch = [Roi::default()].into_iter().collect();
    for (z_bin_mm, most) in [(0.2, 500), (0.2, 4_000), (0.2, MAX_COUNT), (0.02, 30), (0.02, 3_000), (40.0, MAX_COUNT)] {
        let config = Config { z_bin_mm, ..Config::default() };
        let search = Search::new(&config, &Detector::atlas2010()).expect("a valid configuration");
        let plan = search.plan(batch.roi(0)).expect("a plan");
        let bins = plan.bins.bins;
        // Bins as full as may be, and all of them a little.
        let full = [0, bins / 2, bins - 1].map(|bin| (bin, most));
        let few: Vec<_> = (0..2_000).map(|_| (rng.u32(0..=bins), rng.u32(0..20))).collect();
        let mut histogram = PackedHistogram::default();
        histogram.clear(&plan, Accumulate::Fixed, Some(MAX_COUNT as usize), false);
        let (mut n, mut z) = (vec![0u64; bins as usize], vec![0u64; bins as usize]);
        let mut pairs = vec![0u32; bins as usize];
        for (bin, count) in full.into_iter().chain(few) {
            let at = bin.min(bins - 1) as usize;
            let count = u64::from(count).min(u64::from(MAX_COUNT) - n[at]) as u32;
            let any = [0, OFFSET_STEPS - 1, rng.u32(0..OFFSET_STEPS)][rng.usize(0..3)];
            let steps = if bin == bins { 0 } else { any };
            let together = (bins < 4096).then_some(false);
            enter(&mut histogram, together, &[(bin * OFFSET_STEPS + steps, count)]);
            n[at] += u64::from(count);
            z[at] += u64::from(count) * u64::from(steps);
            pairs[at] += 1;
        }
        histogram.look();
        assert!(!histogram.overflows());
        let mut total = HistogramPair::new(0, 0);
        sum_histos::<FixedPoint>([&histogram], &mut total);
        let words = |column: &[u32]| column.iter().map(|&word| u64::from(word)).collect::<Vec<_>>();
        assert!(words(&total.n) == n, "{z_bin_mm}, {most}: n");
        assert!(words(&total.z) == z, "{z_bin_mm}, {most}: z");
        assert!(total.pairs == pairs, "{z_bin_mm}, {most}: pairs");
        // Of two parts, block by block.
        sum_histos::<FixedPoint>([&histogram, &histogram], &mut total);
        assert!(words(&total.n).iter().zip(&n).all(|(two, one)| *two == 2 * one), "{z_bin_mm}, {most}: n of two");
        assert!(total.z.iter().zip(&z).all(|(two, one)| *two == (2 * one) as u32), "{z_bin_mm}, {most}: z of two");
    }
}

/// The highest window and the background against the plainest way to find them.
#[test]
fn windows_are_found_as_one_by_one() {
    let rng = &mut fastrand::Rng::with_seed(24);
    for bins in [3u32, 4, 5, 33, 34, 35, 66, 67, 500, 2001] {
        for prefer_central in [false, true] {
            let config = Config { prefer_central, ..Config::default() };
            let zbins = ZBins { z_min: -1.0, z_max: 1.0, width: 1.0, offset: 0.0, half: bins / 2, bins };
            let most = [2, 3, 1000][rng.usize(0..3)];
            let n: Vec<u32> = (0..bins).map(|_| rng.u32(0..most)).collect();
            let histogram = HistogramPair { z: n.clone(), n, ..HistogramPair::new(1, bins) };
            let sums: Vec<u32> = histogram.n.windows(3).map(|n| n.iter().sum()).collect();
            let key = |left: usize| {
                let apart = if prefer_central { (left as u32 + 1).abs_diff(bins / 2) } else { 0 };
                (sums[left], Reverse(apart), Reverse(left))
            };
            let wanted = (0..sums.len()).max_by_key(|&left| key(left)).expect("a window");
            for lowest in [0, 1, sums.len() as u32 / 2, sums.len() as u32 * 19 / 20, sums.len() as u32] {
                let mut sorted = sums.clone();
                sorted.sort_unstable();
                let mean = sorted[..lowest as usize].iter().sum::<u32>() as f64 / f64::from(lowest);
                let mut found = None;
                let memory = &mut FindPeaks::default();
                find_peaks(&mut histogram.clone(), &zbins, &config, lowest, memory, |peak| {
                    found = Some(*peak);
                    false
                });
                let least = config.least_weight();
                assert_eq!(found.map(|peak| peak.bin), (sums[wanted] >= least).then_some(wanted as u32 + 1));
                if lowest > 0 {
                    let background = Background::of(&histogram, bins, lowest, &mut Vec::new()).mean(lowest);
                    assert_eq!(background, Some(mean), "{lowest} of {} windows", sums.len());
                }
            }
        }
    }
}
