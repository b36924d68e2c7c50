//! Windows and slices at their edges, where the last digit decides.

use super::*;
use crate::config::{PairWeight, Preset};
use crate::engine::encoding::{Compact, DROPPED, Encode, Lossless};
use crate::engine::test_cases::{roi, window};
use crate::roi_batch::RoiBatch;
use crate::spacepoint::{Roi, Spacepoint};

fn search(config: &Config) -> Search {
    Search::new(config, &Detector::atlas2010()).expect("a valid configuration")
}

/// An RoI of spacepoints at these azimuths, all on one layer.
fn at(window: Option<PhiWindow>, azimuths: &[f64]) -> Roi {
    roi(window, azimuths.iter().map(|&phi| Spacepoint { rho: 50.5, phi, z: 1.0, layer: 0 }).collect())
}

fn plan(search: &Search, roi: &Roi) -> RoiPlan {
    search.plan(roi.into()).expect("a plan")
}

/// The slices of an RoI's spacepoints, None outside of the window; as every encoding has them. Of
/// fewer than [`BLOCK`] spacepoints none is packed in a block, of columns and of records all others
/// are.
fn slices(search: &Search, roi: &Roi) -> Vec<Option<u32>> {
    let plan = plan(search, roi);
    let one_by_one: Vec<Roi> = roi.spacepoints.iter().map(|&s| Roi { spacepoints: vec![s], ..roi.clone() }).collect();
    let window = PhiWindow::Range { phi_min: plan.phi_min, phi_max: plan.phi_min + plan.width };
    let singles = one_by_one.iter().flat_map(|one| {
        let same_window = RoiPlan { spacepoints: 1, ..plan.clone() };
        packed::<f64, _>(search, &Lossless, &same_window, one.into())
    });
    let wanted: Vec<_> = singles.collect();
    let mut repeated = roi.clone();
    while repeated.spacepoints.len() < BLOCK {
        repeated.spacepoints.extend_from_slice(&roi.spacepoints);
    }
    let batch = RoiBatch::from_iter([repeated.clone()]);
    let same_window = RoiPlan { spacepoints: repeated.spacepoints.len(), ..plan };
    let compact = Compact::new(search).expect("room for rho and z");
    for view in [RoiView::from(&repeated), batch.roi(0)] {
        let found = [
            ("f64", packed::<f64, _>(search, &Lossless, &same_window, view)),
            ("f32", packed::<f32, _>(search, &Lossless, &same_window, view)),
            ("compact", packed::<f32, _>(search, &compact, &same_window, view)),
        ];
        for (encoding, found) in found {
            assert_eq!(found[..wanted.len()], wanted, "{encoding}, {window:?}");
        }
    }
    wanted
}

fn packed<R: Real, E: Encode<R>>(search: &Search, encoding: &E, plan: &RoiPlan, roi: RoiView<'_>) -> Vec<Option<u32>> {
    let mut spacepoints = Vec::new();
    let packed = search.pack::<R, _>(encoding, plan, roi, |words| encoding.decode(words, &mut spacepoints));
    let slices: Vec<_> = spacepoints.iter().map(|s| R::fields(s).1).collect();
    assert_eq!(packed.kept, slices.iter().filter(|&&slice| slice != DROPPED).count());
    slices.into_iter().map(|word| (word != DROPPED).then_some(word >> 8)).collect()
}

/// A slice that divides the circle, or the window, makes so many slices and not one more.
#[test]
fn a_slice_that_divides_the_window_leaves_no_sliver() {
    for parts in 1..=1200 {
        let config = Config { phi_slice_deg: 360.0 / f64::from(parts), ..Config::preset(Preset::Default) };
        let search = search(&config);
        assert_eq!(plan(&search, &at(Some(PhiWindow::FullScan), &[])).slices, parts, "the circle");
        if parts % 97 == 0 {
            for of_window in 1..parts {
                let high = f64::from(of_window) * config.phi_slice_deg.to_radians();
                let plan = plan(&search, &at(window(0.0, high), &[]));
                assert_eq!(plan.slices, of_window, "a window of {of_window} of {parts} slices");
            }
        }
    }
}

/// The lower edge belongs to a window, the upper one does not.
#[test]
fn a_window_ends_before_its_upper_edge() {
    let search = search(&Config::preset(Preset::Default));
    for (low, high) in [(0.25, 0.75), (-0.5, 0.125), (3.0, -3.0), (-PI, -3.0), (2.0, PI)] {
        let last = search.plan((&at(window(low, high), &[])).into()).expect("a plan").slices - 1;
        let wanted = [Some(0), None, None, Some(last)];
        let azimuths = [low, high, low - 1e-12, high - 1e-12];
        assert_eq!(slices(&search, &at(window(low, high), &azimuths)), wanted, "[{low}, {high}]");
    }
}

/// The rest of a window beyond its last slice is less than a thousand-millionth of a slice, and
/// belongs to that slice.
#[test]
fn the_last_slice_takes_what_is_left_of_a_window() {
    for pair_weight in [PairWeight::One, PairWeight::Any] {
        let search = search(&Config { pair_weight, ..Config::preset(Preset::Default) });
        let slice = search.config.phi_slice_deg.to_radians();
        for count in [1u32, 2, 50, 449, 900] {
            let high = slice * (f64::from(count) + 4e-10);
            let roi = at(window(0.0, high), &[slice * (f64::from(count) + 2e-10), 0.0]);
            assert_eq!(plan(&search, &roi).slices, count);
            assert_eq!(slices(&search, &roi), [Some(count - 1), Some(0)], "{count} slices");
        }
    }
}

/// The smallest window about spacepoints on both sides of phi = 0 contains 0, or pi if that is
/// nearer; all of them are in it.
#[test]
fn a_window_goes_round_the_nearer_way() {
    let search = search(&Config::preset(Preset::Default));
    for (positive, negative) in [
        // Less than pi apart across 0, pi or more across pi.
        ([1.6, 1.61], [-1.5, -1.51]),
        ([1.56, 2.0], [-1.58, -0.1]),
        ([0.1, 3.1], [-3.0, -3.05]),
        ([1.5, 1.5], [-1.6, -1.6]),
        ([1.571, 3.0], [-1.572, -3.0]),
        ([3.0, 3.1], [-3.1, -3.0]),
        ([2.0, 2.1], [-1.13, -1.12]),
    ] {
        let azimuths = [positive, negative].concat();
        let ends =
            |all: &[f64]| (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(f64::MIN, f64::max));
        let ((low, top), (bottom, high)) = (ends(&positive), ends(&negative));
        let wanted = if low - high < PI { (bottom, top) } else { (low, high + TAU) };
        let roi = at(Some(PhiWindow::FromSpacepoints), &azimuths);
        let plan = plan(&search, &roi);
        approx::assert_abs_diff_eq!(plan.phi_min, wanted.0, epsilon = 1e-9);
        approx::assert_abs_diff_eq!(plan.phi_min + plan.width, wanted.1, epsilon = 1e-9);
        assert!(slices(&search, &roi).iter().all(Option::is_some), "{azimuths:?}");
    }
}

/// However far an RoI's eta turns tracks into the end-caps, a pair with a disk keeps the slices
/// beside its own.
#[test]
fn pairs_with_disks_reach_the_next_slice() {
    let search = search(&Config::preset(Preset::Default));
    let mut disks = 0;
    for inner in 0..search.layers() {
        for outer in inner + 1..search.layers() {
            let least = search.reach(inner, outer, 1000);
            let is_disk = search.is_disk(inner) || search.is_disk(outer);
            assert!(least == if is_disk { 1 } else { search.reach(inner, outer, 0) }, "{inner}, {outer}: {least}");
            disks += usize::from(is_disk);
        }
    }
    assert!(disks > 50, "{disks} pairs with a disk");
}
