//! Inputs of the stages' tests: events, and invalid or random RoIs.

use std::f64::consts::PI;

use crate::config::{Config, Neighbours, Preset};
use crate::detector::{Detector, Layer, LayerKind};
use crate::engine::toy::{Toy, between};
use crate::roi_batch::RoiBatch;
use crate::spacepoint::{PhiWindow, Roi, RoiDescriptor, RoiId, Spacepoint};

/// A batch and how to search it.
pub(in crate::engine) struct Case {
    pub(in crate::engine) name: &'static str,
    pub(in crate::engine) config: Config,
    pub(in crate::engine) detector: Detector,
    pub(in crate::engine) slices_per_histogram: u32,
    pub(in crate::engine) share: u32,
    pub(in crate::engine) batch: RoiBatch,
    /// Run in every triplet mode, not in pairs alone.
    pub(in crate::engine) triplets: bool,
}

impl Case {
    pub(in crate::engine) fn new(name: &'static str, config: Config, rois: Vec<Roi>) -> Self {
        let detector = Detector::atlas2010();
        let (slices_per_histogram, share) = (8, 96);
        Self { name, config, detector, slices_per_histogram, share, batch: rois.into_iter().collect(), triplets: false }
    }

    fn slices_per_histogram(self, slices_per_histogram: u32) -> Self {
        Self { slices_per_histogram, share: 40 * slices_per_histogram, ..self }
    }

    fn with_triplets(self) -> Self {
        Self { triplets: true, ..self }
    }
}

pub(in crate::engine) fn window(low: f64, high: f64) -> Option<PhiWindow> {
    Some(PhiWindow::new(low, high).expect("a window"))
}

pub(in crate::engine) fn roi(window: Option<PhiWindow>, spacepoints: Vec<Spacepoint>) -> Roi {
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
    // z12 far outside, on the edges of the range and, where arithmetic is exact, on edges of bins;
    // and as far as a spacepoint may be.
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

/// Many nearly empty RoIs, and one full RoI among them.
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

/// Many pairs in few slices, a fifth of them from one vertex.
fn dense(rng: &mut fastrand::Rng) -> Roi {
    let points = (0..180)
        .map(|i| {
            let layer = rng.u32(0..10);
            // Some are straight to the last bit.
            let phi = if i % 7 == 0 { 0.02 } else { between(rng, 0.0, 0.04) };
            let rho = 40.0 + 50.0 * f64::from(layer) + rng.f64();
            let z = if i % 5 < 2 { 31.0 + rho * between(rng, -1.0, 1.0) } else { between(rng, -400.0, 400.0) };
            Spacepoint { rho, phi, z, layer }
        })
        .collect();
    roi(window(0.0, 0.05), points)
}

fn barrels(layers: u32) -> Detector {
    let barrel = |i| LayerKind::Barrel { radius_mm: 30.0 + 10.0 * f64::from(i) };
    let layer = |i| Layer {
        kind: barrel(i),
        sensor: None,
        z_resolution_mm: None,
        radiation_lengths: None,
        next: None,
        ids: Vec::new(),
    };
    Detector::new("barrels", (0..layers).map(layer).collect(), None).expect("valid")
}

pub(in crate::engine) fn cases() -> Vec<Case> {
    let rng = &mut fastrand::Rng::with_seed(2010);
    let config = &Config { peaks: 3, ..Config::preset(Preset::Default) };
    let thesis = &Config { peaks: 3, ..Config::preset(Preset::Thesis) };
    let mut cases = events(rng, config, thesis);
    cases.extend(rings(rng, config, thesis));
    cases.extend(cuts(rng, config, thesis));
    cases.extend(extremes(rng, config, thesis));
    for (i, case) in cases.iter_mut().enumerate() {
        case.config.percentile = [1.0, 0.95, 0.5, 0.0, 1e-4][i % 5];
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

/// Events and random RoIs, in different configurations.
fn events(rng: &mut fastrand::Rng, config: &Config, thesis: &Config) -> Vec<Case> {
    let single = Config { neighbours: Neighbours::Single, ..config.clone() };
    vec![
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
        Case::new("adversarial, thesis", thesis.clone(), adversarial(rng)).slices_per_histogram(3).with_triplets(),
        Case::new("circle, thesis", thesis.clone(), circles(rng)).slices_per_histogram(9).with_triplets(),
        Case::new("unequal, thesis", thesis.clone(), unequal(rng)).slices_per_histogram(2),
        Case::new("beam spot", Config { beam_spot_mm: [1.5, -0.7], ..config.clone() }, toys(rng)),
    ]
}

/// Rings of few slices.
fn rings(rng: &mut fastrand::Rng, config: &Config, thesis: &Config) -> Vec<Case> {
    let slice = |degrees| Config { phi_slice_deg: degrees, ..config.clone() };
    let mut cases = Vec::new();
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
        let config = Config { phi_slice_deg: degrees, ..thesis.clone() };
        let case = Case::new(name, config, circles(rng)).slices_per_histogram(2);
        cases.push(if degrees < 200.0 { case.with_triplets() } else { case });
    }
    // Bending over five slices of a ring of twelve and of eight.
    for (name, multiplier) in [("ring, far", 700.0), ("ring, all round", 1000.0)] {
        let config = Config { neighbour_multiplier: multiplier, ..slice(30.0) };
        cases.push(Case::new(name, config, circles(rng)).with_triplets());
    }
    cases
}

/// Cuts on triplets from one that nothing passes to ones that everything passes.
fn cuts(rng: &mut fastrand::Rng, config: &Config, thesis: &Config) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, dz, dk, dp) in [
        ("no dz", 0.0, 0.005, 0.05),
        ("no dp", 25.0, 0.005, 0.0),
        ("no dk", 25.0, 0.0, 0.05),
        ("narrow cuts", 1.5, 1e-4, 4e-3),
        ("cut on p", 60.0, 1.0, 2e-3),
        ("cut on k", 25.0, 5e-5, 1.0),
        ("wide cuts", 1e4, 10.0, 10.0),
    ] {
        for config in [config, thesis] {
            let config = Config { triplet_dz_mm: dz, triplet_dk: dk, triplet_dp: dp, ..config.clone() };
            cases.push(Case::new(name, config, vec![dense(rng)]).with_triplets());
        }
    }
    cases
}

/// Far from z = 0, very many bins and as many layers as there may be.
fn extremes(rng: &mut fastrand::Rng, config: &Config, thesis: &Config) -> Vec<Case> {
    let mut cases = Vec::new();
    // Far from z = 0, where f32 has coarser steps.
    for config in [config, thesis] {
        let mut far = dense(rng);
        far.spacepoints.iter_mut().for_each(|point| point.z -= 600.0);
        far.descriptor.z_range = Some((-800.0, -400.0));
        let config = Config { triplet_dz_mm: 3.0, ..config.clone() };
        cases.push(Case::new("far", config, vec![far]).with_triplets());
    }
    // 25,001 bins beside 11: the second RoI has none of most tiles.
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
    let layers =
        Case::new("64 layers", Config { first_layers: 64, ..config.clone() }, vec![roi(window(0.0, 0.06), points)]);
    cases.push(Case { detector: barrels(64), ..layers });
    cases
}
