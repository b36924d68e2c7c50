//! Tracklets and vertices beside those of the reference, in toy events.

use super::triplets::Triplet;
use super::*;
use crate::cancellation::Cancellation;
use crate::config::{Config, Preset};
use crate::detector::Detector;
use crate::engine::plan::Search;
use crate::engine::reference::ReferenceTracklets;
use crate::engine::tracklets::toy::{crowd, doubled_track, event, hostile, uneven_detector};
use crate::spacepoint::{Roi, RoiDescriptor, Spacepoint, normalised};

struct Both {
    reference: ReferenceTracklets,
    tracklets: TrackletSearch,
    search: Search,
}

impl Both {
    fn new(config: &Config) -> Self {
        Self::of(config, &Detector::generic())
    }

    fn of(config: &Config, detector: &Detector) -> Self {
        Self {
            reference: ReferenceTracklets::new(config, detector),
            tracklets: TrackletSearch::new(config, detector),
            search: Search::new(config, detector).expect("valid"),
        }
    }

    /// Checks an event: in f64 the tracklets are the same ones, and the numbers nearly so; in f32
    /// nearly all are the same. Returns the numbers of tracklets and vertices.
    fn check(&self, what: &str, spacepoints: &[Spacepoint], buffers: &mut TrackletBuffers<f64>) -> [usize; 2] {
        let roi = Roi { descriptor: RoiDescriptor::default(), spacepoints: spacepoints.to_vec() };
        let mut wanted = self.reference.find((&roi).into());
        let vertices = self.reference.find_vertices(&mut wanted.tracklets);
        let plan = self.search.plan((&roi).into()).expect("a range");
        let hits = RoiHits::new(&self.tracklets, &self.search, &plan, (&roi).into());
        assert!(!buffers.find(&hits, &ZRanges::one(plan.z_range()), Cancellation::default()), "{what}");
        assert_eq!(buffers.hits.len(), wanted.hits, "{what}");
        assert_eq!(buffers.triplets.doublets, wanted.doublets, "{what}");
        assert_eq!(buffers.triplets.all.len(), wanted.triplets, "{what}");
        assert_eq!(buffers.tracklets.len(), wanted.tracklets.len(), "{what}");
        for (found, wanted) in buffers.tracklets.iter().zip(&wanted.tracklets) {
            assert_eq!(found.hits, wanted.hits, "{what}");
            assert_eq!(found.vertex(), wanted.vertex(), "{what}: {found:?} and {wanted:?}");
            let numbers = |t: &Tracklet| [t.z0_mm, t.cot_theta, t.curvature, t.d0_mm, t.pt_gev, t.chi2];
            for (found, wanted) in numbers(found).into_iter().zip(numbers(wanted)) {
                assert!(found.is_finite(), "{what}");
                assert!((found - wanted).abs() <= 1e-6 * (wanted.abs() + 0.01), "{what}: {found} and {wanted}");
            }
            let covariances = |t: &Tracklet| [&t.z_covariance[..], &t.bend_covariance].concat();
            for (found, wanted) in covariances(found).into_iter().zip(covariances(wanted)) {
                assert!((found - wanted).abs() <= 1e-6 * wanted.abs() + 1e-15, "{what}: {found} and {wanted}");
            }
            assert!(normalised(found.phi0 - wanted.phi0).abs() < 1e-9, "{what}");
        }
        assert_eq!(buffers.vertices.len(), vertices.len(), "{what}");
        for (found, wanted) in buffers.vertices.iter().zip(&vertices) {
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (b.abs() + 1e-3);
            let is_near = near(found.weight, wanted.weight)
                && found.tracklets == wanted.tracklets
                && near(found.significance, wanted.significance)
                && near(found.sum_pt2, wanted.sum_pt2)
                && found.place.iter().zip(wanted.place).all(|(a, b)| (a - b).abs() < 1e-6)
                && found
                    .covariance
                    .as_flattened()
                    .iter()
                    .zip(wanted.covariance.as_flattened())
                    .all(|(&a, &b)| near(a, b));
            assert!(is_near, "{what}: {found:?} and {wanted:?}");
        }
        let mut single = TrackletBuffers::<f32>::default();
        single.find(&hits, &ZRanges::one(plan.z_range()), Cancellation::default());
        let is_same = |t: &&Tracklet| buffers.tracklets.iter().any(|double| double.hits == t.hits);
        let same = single.tracklets.iter().filter(is_same).count();
        let count = buffers.tracklets.len();
        assert!(same + 1 + count / 100 >= count.max(single.tracklets.len()), "{what}: {same} of {count} in f32");
        [count, buffers.vertices.len()]
    }
}

/// The spacepoints, turned about the beam.
fn turned(spacepoints: &[Spacepoint], by: f64) -> Vec<Spacepoint> {
    spacepoints.iter().map(|s| Spacepoint { phi: normalised(s.phi + by), ..*s }).collect()
}

#[test]
fn events_have_the_tracklets_and_vertices_of_the_reference() {
    let both = Both::new(&Config::preset(Preset::Auto));
    let buffers = &mut TrackletBuffers::default();
    let rng = &mut fastrand::Rng::with_seed(41);
    for i in 0..12 {
        let places: Vec<f64> = (0..i).map(|_| 300.0 * (rng.f64() - 0.5)).collect();
        let spacepoints = turned(&event(rng, &places), 6.0 * rng.f64());
        let [tracklets, vertices] = both.check(&format!("event {i}"), &spacepoints, buffers);
        assert!(tracklets >= 8 * i && 10 * vertices >= 9 * i, "event {i}: {tracklets} tracklets, {vertices} vertices");
    }
}

/// Thick layers scatter more, and a layer is followed by those that the detector names.
#[test]
fn layers_have_their_own_thickness_and_followers() {
    let config = Config::preset(Preset::Auto);
    let rng = &mut fastrand::Rng::with_seed(47);
    let spacepoints = event(rng, &[-50.0, -10.0, 20.0, 70.0]);
    let [uneven, thin, thick] =
        [uneven_detector(|number| 0.004 + 0.003 * number as f64), uneven_detector(|_| 0.01), uneven_detector(|_| 0.04)];
    let buffers = &mut TrackletBuffers::default();
    let [tracklets, vertices] = Both::of(&config, &uneven).check("uneven", &spacepoints, buffers);
    assert!(tracklets >= 40 && vertices >= 4, "{tracklets} tracklets, {vertices} vertices");
    let hits = |tracklet: &Tracklet| tracklet.hits().to_vec();
    let mut find = |what: &str, detector| {
        Both::of(&config, detector).check(what, &spacepoints, buffers);
        buffers.tracklets.clone()
    };
    let (thin, thick) = (find("thin", &thin), find("thick", &thick));
    // Of a soft track, scattering is nearly all of the error: twice as much in four times the
    // thickness.
    let error_of = |all: &[Tracklet], of: &Tracklet| {
        let same = all.iter().find(|other| hits(other) == hits(of))?;
        Some(same.z_covariance[0].sqrt())
    };
    let ratios = thin.iter().filter(|tracklet| tracklet.pt_gev < 0.7).filter_map(|tracklet| {
        let thick = error_of(&thick, tracklet)?;
        Some(thick / tracklet.z_covariance[0].sqrt())
    });
    let ratios: Vec<f64> = ratios.collect();
    assert!(ratios.len() > 5 && ratios.iter().all(|ratio| (1.5..2.0).contains(ratio)), "{ratios:?}");
    // Hits of layer 0 are followed by hits of layer 1 alone.
    let layer = |hit: u32| spacepoints[hit as usize].layer;
    let second = |tracklet: &Tracklet| (layer(tracklet.hits()[0]), layer(tracklet.hits()[1]));
    assert!(thin.iter().map(second).all(|(first, second)| first != 0 || second == 1));
}

#[test]
fn crowds_have_the_tracklets_and_vertices_of_the_reference() {
    let both = Both::new(&Config::preset(Preset::Auto));
    let buffers = &mut TrackletBuffers::default();
    let rng = &mut fastrand::Rng::with_seed(42);
    for i in 0..6 {
        let spacepoints = crowd(rng);
        both.check(&format!("crowd {i}"), &turned(&spacepoints, f64::from(i)), buffers);
    }
}

/// Spacepoints that are there twice make chains of equal cost: the lower numbers are taken.
#[test]
fn equal_chains_are_decided_by_their_numbers() {
    let both = Both::new(&Config::preset(Preset::Auto));
    let buffers = &mut TrackletBuffers::default();
    let rng = &mut fastrand::Rng::with_seed(43);
    for i in 0..20 {
        let spacepoints = doubled_track(rng);
        both.check(&format!("track {i}"), &spacepoints, buffers);
    }
}

#[test]
fn the_beam_may_lie_beside_the_origin() {
    let config =
        Config::preset(Preset::Auto).with(|c| (c.beam_spot_mm, c.beam_spot_tilt) = ([0.9, -0.4], [1e-4, -2e-4]));
    let (both, buffers) = (Both::new(&config), &mut TrackletBuffers::default());
    let rng = &mut fastrand::Rng::with_seed(44);
    let about_beam = event(rng, &[-30.0, 5.0, 60.0]);
    let beside = |s: &Spacepoint| {
        let [x0, y0] = config.beam_at(s.z);
        Spacepoint::from_xyz(s.rho * s.phi.cos() + x0, s.rho * s.phi.sin() + y0, s.z, s.layer)
    };
    let spacepoints: Vec<Spacepoint> = about_beam.iter().map(beside).collect();
    assert_eq!(both.check("a beam", &spacepoints, buffers)[1], 3);
}

#[test]
fn hostile_spacepoints_take_no_part_or_make_no_tracklet() {
    let both = Both::new(&Config::preset(Preset::Auto));
    let buffers = &mut TrackletBuffers::default();
    for (what, spacepoints) in hostile() {
        both.check(&what, &spacepoints, buffers);
    }
}

/// Two chains of equal chi2 that share a hit: the one whose hits have the lower numbers is kept.
#[test]
fn chains_of_equal_chi2_are_decided_by_their_numbers() {
    for numbers in [[5, 4, 3, 2, 1], [1, 2, 3, 4, 5]] {
        let mut hits = PixelHits::<f64>::default();
        hits.numbers = numbers.to_vec();
        let mut triplets = Triplets::default();
        for hits in [[0, 1, 2], [2, 3, 4]] {
            triplets.all.push(Triplet { hits, chi2: 1.5, kappa: 1e-4 });
        }
        triplets.begins = vec![0, 0, 1, 1, 2, 2];
        let mut chains = Chains::default();
        chains.fill(&hits, &triplets, Cancellation::default());
        let [kept] = &chains.kept[..] else { panic!("{:?}", chains.kept) };
        let wanted = if numbers[0] < numbers[2] { [0, 1, 2] } else { [2, 3, 4] };
        assert_eq!(kept.hits.as_slice(), wanted);
    }
}

/// Without a field no curvature is allowed, so that hits with errors make no tracklet; in the
/// strongest one soft tracks are wide arcs.
#[test]
fn any_field_is_searched() {
    let rng = &mut fastrand::Rng::with_seed(45);
    let spacepoints = event(rng, &[-30.0, 5.0]);
    let buffers = &mut TrackletBuffers::default();
    for (field_t, least) in [(0.0, 0), (0.5, 5), (4.0, 10), (100.0, 0)] {
        let both = Both::new(&Config::preset(Preset::Auto).with(|c| c.field_t = field_t));
        let [tracklets, _] = both.check(&format!("{field_t} T"), &spacepoints, buffers);
        assert!(tracklets >= least && (field_t > 0.0 || tracklets == 0), "{field_t} T: {tracklets}");
    }
}
