//! The stages in vectors against the twin, buffer by buffer: on events, on adversarial input, and
//! on input that fills every buffer.

mod find_peaks;
mod lanes;
mod packed_histogram;

use pulp::Arch;

use super::find_z::{FindZBuffers, FindZByMachine, may_take_zones};
use super::lanes::{Lanes, ROOM};
use super::slice_spacepoints::{SlicedSpacepoints, slice_spacepoints};
use super::sum_histos::sum_histos;
use crate::cancellation::Cancellation;
use crate::config::{Config, Extrapolation, Neighbours, PairWeight, Preset};
use crate::detector::Detector;
use crate::engine::encoding::Lossless;
use crate::engine::histogram::{CompareExchange, FixedPoint, HistogramPair, ZSum};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::real::Real;
use crate::engine::test_cases::cases;
use crate::engine::twin;
use crate::spacepoint::{PhiWindow, Roi, RoiDescriptor, RoiView, Spacepoint};
use crate::thesis::Accumulate;

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

/// The twin's sorted spacepoints.
fn twin_sliced<R: Real>(
    search: &Search,
    plan: &RoiPlan,
    spacepoints: &[R::Spacepoint],
) -> twin::slice_spacepoints::SlicedSpacepoints<R> {
    let mut sliced = Default::default();
    twin::slice_spacepoints::slice_spacepoints(spacepoints, search.layers() as u32, plan.slices, &mut sliced);
    sliced
}

/// The histograms of each of `parts` groups of slices, found in these vectors.
fn rows<R: Lanes>(
    arch: Arch,
    search: &Search,
    plan: &RoiPlan,
    accumulate: Accumulate,
    sliced: &SlicedSpacepoints<R>,
    parts: u32,
) -> Vec<FindZBuffers<R>> {
    let each = plan.slices.div_ceil(parts);
    let cancellation = Cancellation::default();
    let find_z = |part: u32| {
        let slices = (part * each).min(plan.slices)..((part + 1) * each).min(plan.slices);
        // Memory that another search used.
        let mut to = FindZBuffers::default();
        arch.dispatch(FindZByMachine {
            search,
            plan,
            accumulate,
            sliced,
            slices: 0..plan.slices,
            cancellation,
            to: &mut to,
        });
        arch.dispatch(FindZByMachine { search, plan, accumulate, sliced, slices, cancellation, to: &mut to });
        to
    };
    (0..parts).map(find_z).collect()
}

/// The sum of rows, with its pairs even where they are n.
fn total<R, Z: ZSum>(rows: &[FindZBuffers<R>]) -> HistogramPair {
    let mut total = HistogramPair::new(0, 0);
    sum_histos::<Z>(rows.iter().map(|row| &row.histogram), &mut total);
    if total.pairs.is_empty() {
        total.pairs = total.n.clone();
    }
    total
}

/// Everything that a configuration may ask of find_z.
fn options() -> Vec<(&'static str, Config)> {
    let default = Config { z_bin_mm: 0.4, ..Config::preset(Preset::Default) };
    let weight = |pair_weight| Config { pair_weight, ..default.clone() };
    let several = Config { charge_aware: true, histogram_per_slice: true, z_bin_mm: 4.0, ..default.clone() };
    vec![
        ("pairs", default.clone()),
        ("thesis", Config::preset(Preset::Thesis)),
        ("any", weight(PairWeight::Any)),
        ("count", weight(PairWeight::Count)),
        ("jet", Config::preset(Preset::Jet)),
        ("hard scatter", Config { z_bin_mm: 0.4, ..Config::preset(Preset::HardScatter) }),
        (
            "single, all layers, count",
            Config { neighbours: Neighbours::Single, first_layers: 19, ..weight(PairWeight::Count) },
        ),
        ("several", several.clone()),
        ("several, count", Config { pair_weight: PairWeight::Count, ..several }),
        ("wide slices", Config { phi_slice_deg: 30.0, ..weight(PairWeight::Count) }),
        ("wide slices, by pT", Config { phi_slice_deg: 40.0, ..Config::preset(Preset::HardScatter) }),
        ("many steps", Config { z_bin_mm: 0.02, ..default }),
    ]
}

fn assert_same(place: &str, found: &HistogramPair, wanted: &HistogramPair) {
    assert!(found.n == wanted.n, "{place}: n");
    assert!(found.z == wanted.z, "{place}: z");
    assert!(found.pairs == wanted.pairs, "{place}: pairs");
    assert!(found.precisions == wanted.precisions, "{place}: precisions");
    assert!(found.sectors == wanted.sectors, "{place}: sectors");
}

/// Every stage against the twin, each on the output of the stage before it.
fn check<R: Lanes>(name: &str, search: &Search, roi: RoiView<'_>) {
    let (plan, spacepoints) = packed::<R>(search, roi);
    let name = &format!("{name}, {:?}", plan.descriptor.id);
    let twin_sliced = twin_sliced::<R>(search, &plan, &spacepoints);
    let wanted = twin::find_z::find_z::<R, FixedPoint>(search, &plan, &twin_sliced, 0..plan.slices);
    find_peaks::check(name, search, &plan.bins, plan.background_windows, &wanted);
    for zones in [false, true] {
        if zones && !may_take_zones(&search.config) {
            continue;
        }
        let name = &format!("{name}, {} zones", if zones { "most" } else { "no" });
        let mut sliced = SlicedSpacepoints::default();
        slice_spacepoints(&spacepoints, plan.slices, zones, &mut sliced);
        check_sliced(name, &sliced, &twin_sliced);
        check_find_z(name, search, &plan, &sliced, &wanted);
    }
}

/// find_z on sorted spacepoints against the twin.
fn check_find_z<R: Lanes>(
    name: &str,
    search: &Search,
    plan: &RoiPlan,
    sliced: &SlicedSpacepoints<R>,
    wanted: &HistogramPair,
) {
    let whole = arches().into_iter().map(|(what, arch)| (what, arch, 1));
    for (what, arch, parts) in whole.chain([("vectors in parts", Arch::new(), 3)]) {
        let rows = rows::<R>(arch, search, plan, Accumulate::Fixed, sliced, parts);
        let found = total::<R, FixedPoint>(&rows);
        assert_same(&format!("{name}: {what}"), &found, wanted);
        if parts > 1 {
            check_sum(name, &rows, &found);
        }
    }
    let rows = rows::<R>(Arch::new(), search, plan, Accumulate::CompareExchange, sliced, 2);
    check_compare_exchange(name, plan, &total::<R, CompareExchange>(&rows), wanted);
}

fn check_sliced<R: Lanes>(
    name: &str,
    sliced: &SlicedSpacepoints<R>,
    twin: &twin::slice_spacepoints::SlicedSpacepoints<R>,
) {
    let (slices, layers) = (twin.slices as usize, (twin.cells.len() - 1) / twin.slices.max(1) as usize);
    // The order within a cell is free.
    let canonical = |mut points: Vec<[f64; 5]>| {
        points.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        points
    };
    let of_twin = |i: usize| {
        let ([inverse_rho, z_by_rho], beside) = (twin.points[i], twin.beside[i]);
        let cell = [beside.slice_layer >> 8, beside.slice_layer & 0xff].map(f64::from);
        [cell[0], cell[1], inverse_rho.to_f64(), z_by_rho.to_f64(), beside.phi.to_f64()]
    };
    let of_columns = |i: usize| {
        let SlicedSpacepoints { slice_number, layer_number, inverse_rho, z_by_rho, phi, .. } = sliced;
        [slice_number, layer_number, inverse_rho, z_by_rho, phi].map(|column| column[i].to_f64())
    };
    let wanted = canonical((0..twin.points.len()).map(of_twin).collect());
    assert_eq!(canonical((0..sliced.count_kept()).map(of_columns).collect()), wanted, "{name}: sorted spacepoints");
    assert_eq!(sliced.begins.len(), sliced.zones.count * slices + 1, "{name}: zones and slices");
    for (cell, ends) in sliced.begins.windows(2).enumerate() {
        let (zone, slice) = (cell / slices, (cell % slices) as f64);
        let of_cell = (ends[0]..ends[1]).map(|i| of_columns(i as usize));
        let all_in =
            of_cell.fold(true, |all, point| all && point[0] == slice && sliced.zones.of(R::from_f64(point[3])) == zone);
        assert!(all_in, "{name}: slice {slice} of zone {zone}");
    }
    for layer in 0..layers {
        let cells = layer * slices..(layer + 1) * slices;
        let [first, end] = [cells.start, cells.end].map(|cell| twin.cells[cell] as usize);
        let outer = |point: &crate::engine::cpu::slice_spacepoints::OuterSpacepoint<R>| {
            let numbers = [point.inverse_rho, point.z_by_rho, point.phi].map(Real::to_f64);
            [f64::from(point.slice), layer as f64, numbers[0], numbers[1], numbers[2]]
        };
        let found: Vec<_> = sliced.of_layer(layer).iter().map(outer).collect();
        let order = |point: &[f64; 5]| (sliced.zones.of(R::from_f64(point[3])), point[0] as u32);
        assert!(found.is_sorted_by_key(order), "{name}: the order of layer {layer}");
        let wanted = canonical((first..end).map(of_twin).collect());
        assert_eq!(canonical(found), wanted, "{name}: layer {layer}");
        assert_eq!(sliced.filled().contains(&layer), first < end, "{name}: layer {layer} is filled");
    }
}

/// The sum of rows against the twin's sum of the same rows.
fn check_sum<R>(name: &str, rows: &[FindZBuffers<R>], found: &HistogramPair) {
    let rows: Vec<_> = rows.iter().map(|row| total::<R, FixedPoint>(std::slice::from_ref(row))).collect();
    let mut wanted = HistogramPair::new(1, found.n.len() as u32);
    assert!(!twin::sum_histos::sum_histos::<FixedPoint>(&rows, &mut wanted), "{name}: overflow");
    assert_same(&format!("{name}: sum_histos"), found, &wanted);
}

/// f32 sums of z, which depend on the order of entries, against sums of steps.
fn check_compare_exchange(name: &str, plan: &RoiPlan, found: &HistogramPair, wanted: &HistogramPair) {
    assert!(found.n == wanted.n, "{name}: n by compare and exchange");
    for (i, &n) in found.n.iter().enumerate() {
        let bin = f64::from(i as u32 % plan.bins.bins);
        let z = CompareExchange::z_mm(found.z[i], n, bin, &plan.bins);
        let wanted = FixedPoint::z_mm(wanted.z[i], n, bin, &plan.bins);
        let most = plan.bins.z_max.abs().max(plan.bins.z_min.abs());
        let tolerance = f64::from(n) * (1e-5 * most + plan.bins.width / 512.0);
        assert!((z - wanted).abs() <= tolerance, "{name}: z {z} and {wanted}");
    }
}

#[test]
fn stages_are_the_twins() {
    vectors_against_twin(2, 1);
}

#[test]
#[ignore = "long form of `stages_are_the_twins`: scripts/test full"]
fn stages_are_the_twins_in_many_rois() {
    vectors_against_twin(12, 12);
}

/// So many RoIs of each case in f32, and so many in f64, in every option.
fn vectors_against_twin(in_f32: usize, in_f64: usize) {
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
#[ignore = "long form of `more_than_a_buffer_holds_is_found_in_pieces`: scripts/test full"]
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
            rho: 50.0 + 150.0 * f64::from(i % 7) + rng.f64(),
            phi: 7.0 * (rng.f64() - 0.5),
            z: 60.0 * (rng.f64() - 0.5),
            layer: i % 7,
        });
        let roi = Roi {
            descriptor: RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() },
            spacepoints: spacepoints.collect(),
        };
        for pair_weight in [PairWeight::One, PairWeight::Count, PairWeight::Pt] {
            for neighbours in [Neighbours::Single, Neighbours::Bending] {
                let config = Config {
                    phi_slice_deg: 360.0 / f64::from(slices),
                    z_bin_mm: 4.0,
                    bending_pt_gev: 0.4,
                    // So strong that what goes half round the ring has a pT that weighs.
                    field_t: if pair_weight == PairWeight::Pt { 100.0 } else { 2.0 },
                    neighbour_multiplier: 2.0 + f64::from(slices % 5),
                    // Cuts that let much pass, so that what is looked at decides.
                    triplet_dk: 1.0,
                    triplet_dp: 5.0,
                    first_layers: 5,
                    pair_weight,
                    neighbours,
                    ..Config::preset(Preset::Default)
                };
                let search = Search::new(&config, &Detector::atlas2010()).expect("a valid configuration");
                check::<f32>(&format!("{slices} slices, {pair_weight:?}"), &search, (&roi).into());
            }
        }
    }
}

/// The accurate extrapolation has its own sine: the pairs are the same within rounding.
#[test]
fn an_accurate_extrapolation_is_that_of_the_formula() {
    for case in cases().into_iter().filter(|case| case.name.contains("toy") || case.name.contains("circle")) {
        let config = Config { extrapolation: Extrapolation::Accurate, pair_weight: PairWeight::Count, ..case.config };
        let search = Search::new(&config, &case.detector).expect("a valid configuration");
        for roi in case.batch.iter() {
            let (plan, spacepoints) = packed::<f64>(&search, roi);
            let wanted = twin_sliced::<f64>(&search, &plan, &spacepoints);
            let wanted = twin::find_z::find_z::<f64, FixedPoint>(&search, &plan, &wanted, 0..plan.slices);
            let mut sliced = SlicedSpacepoints::default();
            slice_spacepoints(&spacepoints, plan.slices, false, &mut sliced);
            let found = rows::<f64>(Arch::new(), &search, &plan, Accumulate::Fixed, &sliced, 1);
            let found = total::<f64, FixedPoint>(&found);
            assert_eq!(found.n, wanted.n, "{}, {:?}", case.name, plan.descriptor.id);
        }
    }
}
