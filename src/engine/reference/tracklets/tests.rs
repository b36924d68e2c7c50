//! Tracks whose parameters are known, choices among chains, and vertices.

use std::f64::consts::PI;
use std::sync::LazyLock;

use super::chains::{Chain, select};
use super::*;
use crate::config::{Config, Preset};
use crate::detector::{Detector, Layer};
use crate::engine::tracklets::toy::{Track, event, random_track, smear};
use crate::spacepoint::{Roi, RoiDescriptor, Spacepoint, normalised};
use crate::tracklet::{Tracklet, TrackletVertex};

fn search() -> ReferenceTracklets {
    ReferenceTracklets::new(&Config::preset(Preset::Auto), &Detector::generic())
}

fn find(spacepoints: &[Spacepoint]) -> TrackletsOfEvent {
    static SEARCH: LazyLock<ReferenceTracklets> = LazyLock::new(search);
    let roi = Roi { descriptor: RoiDescriptor::default(), spacepoints: spacepoints.to_vec() };
    SEARCH.find((&roi).into())
}

#[test]
fn a_lone_track_is_found_with_its_parameters() {
    let rng = &mut fastrand::Rng::with_seed(31);
    for i in 0..300 {
        let z0 = 150.0 * (rng.f64() - 0.5);
        let mut track = random_track(rng, z0);
        if i % 3 == 0 {
            // Where azimuths turn over.
            track.phi0 = PI + 0.1 * (rng.f64() - 0.5);
        }
        let spacepoints = track.spacepoints();
        let found = find(&spacepoints);
        if spacepoints.len() < 3 {
            assert!(found.tracklets.is_empty());
            continue;
        }
        let what = format!("track {i}: {:?}", found.tracklets);
        let [tracklet] = &found.tracklets[..] else { panic!("{what}") };
        let hits = tracklet.hits.as_slice();
        assert!(hits.is_sorted_by(|&a, &b| spacepoints[a as usize].rho < spacepoints[b as usize].rho), "{what}");
        // Of two spacepoints close to each other, one is left out.
        let close = spacepoints.windows(2).filter(|pair| pair[1].rho - pair[0].rho < 3.0).count();
        assert_eq!(hits.len(), (spacepoints.len() - close).min(6), "{what}");
        assert!((tracklet.z0_mm - track.z0).abs() < 0.01 + 0.01 * track.cot.abs(), "{what}");
        assert!((tracklet.cot_theta - track.cot).abs() < 1e-3 * (1.0 + track.cot.abs()), "{what}");
        assert!((tracklet.curvature / track.kappa() - 1.0).abs() < 0.02, "{what}");
        assert!(normalised(tracklet.phi0 - track.phi0).abs() < 1e-3, "{what}");
        assert!((tracklet.pt_gev / track.pt - 1.0).abs() < 0.02, "{what}");
        assert!(tracklet.d0_mm.abs() < 0.02 && tracklet.chi2 < 1.0, "{what}");
    }
}

#[test]
fn errors_are_those_of_smeared_hits() {
    let rng = &mut fastrand::Rng::with_seed(32);
    let (mut pulls, mut chi2, mut degrees) = (Vec::new(), 0.0, 0.0);
    for _ in 0..2000 {
        // So hard and so central that scattering does not matter.
        let track = Track { pt: 30.0, cot: rng.f64() - 0.5, ..random_track(rng, 0.0) };
        let spacepoints: Vec<_> = track.spacepoints().iter().map(|s| smear(s, rng)).collect();
        for tracklet in find(&spacepoints).tracklets {
            pulls.push((tracklet.z0_mm - track.z0) / tracklet.z0_error_mm());
            chi2 += tracklet.chi2;
            degrees += tracklet.hits.len() as f64 - 2.0;
        }
    }
    let width = (pulls.iter().map(|pull| pull * pull).sum::<f64>() / pulls.len() as f64).sqrt();
    assert!(pulls.len() > 1800, "{} tracklets", pulls.len());
    assert!((0.9..1.1).contains(&width), "the pull of z0 is {width}");
    assert!((0.8..1.1).contains(&(chi2 / degrees)), "chi2 is {}", chi2 / degrees);
}

#[test]
fn the_answer_does_not_depend_on_the_order_of_spacepoints() {
    let rng = &mut fastrand::Rng::with_seed(33);
    let mut spacepoints = event(rng, &[-40.0, 3.0, 4.0, 90.0]);
    let answer = |spacepoints: &[Spacepoint]| {
        let mut found = find(spacepoints);
        let vertices = search().find_vertices(&mut found.tracklets);
        let places = |tracklet: &Tracklet| {
            tracklet.hits.as_slice().iter().map(|&hit| spacepoints[hit as usize].phi.to_bits()).collect()
        };
        let mut tracklets: Vec<Vec<u64>> = found.tracklets.iter().map(places).collect();
        tracklets.sort();
        let round = |vertex: &TrackletVertex| (vertex.z() * 1e6).round();
        (tracklets, vertices.iter().map(round).collect::<Vec<_>>())
    };
    let wanted = answer(&spacepoints);
    assert_eq!(wanted.1.len(), 4, "{:?}", wanted.1);
    for _ in 0..3 {
        rng.shuffle(&mut spacepoints);
        assert_eq!(answer(&spacepoints), wanted);
    }
}

#[test]
fn vertices_are_where_their_tracks_begin() {
    let rng = &mut fastrand::Rng::with_seed(34);
    let places = [-60.0, -59.0, 0.0, 25.0];
    let mut found = find(&event(rng, &places));
    let vertices = search().find_vertices(&mut found.tracklets);
    assert_eq!(vertices.len(), places.len(), "{vertices:?}");
    for (number, (vertex, z)) in vertices.iter().zip(places).enumerate() {
        assert!((vertex.z() - z).abs() < 5.0 * vertex.z_error() && vertex.z_error() < 0.05, "{vertex:?} at {z}");
        let own: Vec<_> = found.tracklets.iter().filter(|tracklet| tracklet.vertex() == Some(number)).collect();
        let sum_pt2: f64 = own.iter().map(|tracklet| tracklet.pt_gev.powi(2)).sum();
        assert!(own.len() >= 8 && (vertex.sum_pt2 / sum_pt2 - 1.0).abs() < 1e-12, "{vertex:?}: {}", own.len());
    }
}

#[test]
fn a_vertex_beside_the_beam_has_its_place() {
    let rng = &mut fastrand::Rng::with_seed(37);
    let [x, y, z] = [0.04, -0.03, 12.0];
    let mut spacepoints = Vec::new();
    for _ in 0..60 {
        let track = Track { pt: 5.0, cot: 2.0 * rng.f64() - 1.0, ..random_track(rng, z) };
        for s in &track.spacepoints() {
            let s = smear(s, rng);
            spacepoints.push(Spacepoint::from_xyz(s.rho * s.phi.cos() + x, s.rho * s.phi.sin() + y, s.z, s.layer));
        }
    }
    let config = Config::preset(Preset::Auto).with(|c| c.beam_width_mm = 0.1);
    let search = ReferenceTracklets::new(&config, &Detector::generic());
    let roi = Roi { descriptor: RoiDescriptor::default(), spacepoints };
    let mut found = search.find((&roi).into());
    let vertices = search.find_vertices(&mut found.tracklets);
    let [vertex] = &vertices[..] else { panic!("{vertices:?}") };
    // The fit of a tracklet draws it to the beam.
    assert!((0.6..1.1).contains(&(vertex.place[0] / x)), "{vertex:?}");
    assert!((0.6..1.1).contains(&(vertex.place[1] / y)), "{vertex:?}");
    assert!((vertex.z() - z).abs() < 5.0 * vertex.z_error(), "{vertex:?}");
}

/// The rounds that [`select`] promises: each decides the chains that are the best undecided one on
/// each of their hits.
fn select_in_rounds(chains: &[Chain]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..chains.len()).collect();
    order.sort_by(|&a, &b| chains[a].before(&chains[b]).then(a.cmp(&b)));
    let hits = chains.iter().flat_map(|chain| &chain.hits).max().map_or(0, |most| most + 1);
    let mut rank = vec![0; chains.len()];
    order.iter().enumerate().for_each(|(place, &chain)| rank[chain] = place);
    let (mut used, mut undecided, mut kept) = (vec![false; hits], order.clone(), Vec::new());
    while !undecided.is_empty() {
        let mut best = vec![usize::MAX; hits];
        for &chain in &undecided {
            chains[chain].hits.iter().for_each(|&hit| best[hit] = best[hit].min(rank[chain]));
        }
        let wins = |&chain: &usize| chains[chain].hits.iter().all(|&hit| best[hit] == rank[chain]);
        let (winners, left): (Vec<usize>, _) = undecided.into_iter().partition(wins);
        for chain in winners {
            let shared = chains[chain].hits.iter().filter(|&&hit| used[hit]).count();
            if shared <= usize::from(chains[chain].hits.len() > 3) {
                kept.push(chain);
                chains[chain].hits.iter().for_each(|&hit| used[hit] = true);
            }
        }
        undecided = left;
    }
    kept.sort_by_key(|&chain| rank[chain]);
    kept.into_iter().map(|chain| chains[chain].hits.clone()).collect()
}

#[test]
fn rounds_keep_the_same_chains_as_the_order() {
    let rng = &mut fastrand::Rng::with_seed(35);
    for hits in [8, 20, 60] {
        for _ in 0..200 {
            let chain = |rng: &mut fastrand::Rng| {
                let mut all: Vec<usize> = (0..hits).collect();
                rng.shuffle(&mut all);
                all.truncate(rng.usize(3..=6));
                // Equal chi2 are frequent.
                Chain { hits: all, chi2: f64::from(rng.u32(0..4)) }
            };
            let chains: Vec<Chain> = (0..rng.usize(0..60)).map(|_| chain(rng)).collect();
            let kept: Vec<Vec<usize>> = select(chains.clone()).into_iter().map(|chain| chain.hits).collect();
            assert_eq!(kept, select_in_rounds(&chains));
        }
    }
}

#[test]
fn what_is_no_pixel_spacepoint_takes_no_part() {
    let rng = &mut fastrand::Rng::with_seed(36);
    let track = Track { z0: 5.0, cot: 0.3, phi0: 3.1, pt: 1.0, charge: 1.0 };
    let mut spacepoints = track.spacepoints();
    let wanted = find(&spacepoints);
    assert_eq!(wanted.tracklets.len(), 1);
    for (rho, z, layer) in [(260.0, 83.0, 4), (f64::NAN, 0.0, 0), (72.0, f64::INFINITY, 1), (72.0, 27.0, 99)] {
        spacepoints.push(Spacepoint { rho, phi: rng.f64(), z, layer });
    }
    let found = find(&spacepoints);
    assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
    assert!(find(&[]).tracklets.is_empty());
    assert!(search().find_vertices(&mut []).is_empty());
}

#[test]
fn a_detector_without_pixels_has_no_tracklets() {
    let detector = Detector::atlas2010();
    let layers = detector.layers().iter().cloned().map(|layer| Layer { sensor: None, ..layer });
    let detector = Detector::new("strips", layers.collect(), None).expect("valid");
    let search = ReferenceTracklets::new(&Config::preset(Preset::Auto), &detector);
    let spacepoints = Track { z0: 5.0, cot: 0.3, phi0: 3.1, pt: 1.0, charge: 1.0 }.spacepoints();
    let roi = Roi { descriptor: RoiDescriptor::default(), spacepoints };
    assert_eq!(search.find((&roi).into()).hits, 0);
}
