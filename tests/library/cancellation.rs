//! Tests of searches that are refused or cancelled because they take too long.

use std::thread;
use std::time::{Duration, Instant};

use zfinder::config::{PairWeight, Tracklets};
use zfinder::{
    BatchView, CancellationToken, Config, Error, PhiWindow, Preset, Results, Roi, RoiBatch, RoiDescriptor, Spacepoint,
    Status, ZFinder,
};
use zfinder_testing::engines::{batch, bits, build, engines, find, find_one, fixed_engines};
use zfinder_testing::toy::Toy;

/// Spacepoints of one azimuth, at all z, on all layers of the barrel.
fn crowd(count: usize) -> Roi {
    let rng = &mut fastrand::Rng::with_seed(60_000);
    let mut spacepoint = |i: usize| {
        let layer = (i % 7) as u32;
        let rho = 50.0 + 70.0 * f64::from(layer) + rng.f64();
        Spacepoint { rho, phi: 0.1, z: 700.0 * rng.f64() - 350.0, layer }
    };
    let window = Some(PhiWindow::new(0.0, 0.2).expect("a window"));
    let descriptor = RoiDescriptor { window, ..RoiDescriptor::default() };
    Roi { descriptor, spacepoints: (0..count).map(&mut spacepoint).collect() }
}

/// Every engine refuses the same RoIs, and answers their neighbours.
#[test]
fn rois_with_too_many_pairs_or_triplets_are_told() {
    let rng = &mut fastrand::Rng::with_seed(70);
    let small = Toy { noise: 0, tracks: 3, vertices: 1, ..Toy::default() };
    let large = Toy { noise: 300, ..Toy::default() };
    let rois = [small.event(rng, 0).roi, large.event(rng, 1).roi, small.event(rng, 2).roi];
    let presets = [Preset::Default, Preset::Auto, Preset::Egamma];
    for config in presets.map(Config::preset) {
        let has_triplets = config.pair_weight != PairWeight::One;
        let limited =
            |most: f64| config.clone().with(|c| if has_triplets { c.max_triplets = most } else { c.max_pairs = most });
        let is_refused = |most: f64| {
            let finder = build("reference", &zfinder::Engine::Reference, &limited(most));
            find_one("reference", &finder, &rois[1]).roi(0).status() == Status::CapacityExceeded
        };
        // The number of pairs or triplets, by bisection.
        let (mut refused, mut searched) = (1.0, 1e9);
        while searched - refused > 1.0 {
            let middle = f64::midpoint(refused, searched).floor();
            if is_refused(middle) { refused = middle } else { searched = middle }
        }
        for (name, engine) in engines() {
            let name = format!("{name}, {}", config.preset);
            let free = find(&name, &build(&name, &engine, &config), &batch(&rois));
            let exact = find(&name, &build(&name, &engine, &limited(searched)), &batch(&rois));
            assert_eq!(bits(&exact), bits(&free), "{name}");
            let limited = find(&name, &build(&name, &engine, &limited(refused)), &batch(&rois));
            assert_eq!(limited.roi(1).status(), Status::CapacityExceeded, "{name}");
            assert_eq!(limited.roi(1).summary().spacepoints, free.roi(1).summary().spacepoints, "{name}");
            assert!(limited.roi(1).vertices().is_empty(), "{name}");
            for i in [0, 2] {
                assert_eq!(bits([limited.roi(i)]), bits([free.roi(i)]), "{name}: {i}");
            }
        }
    }
}

/// By default, an RoI that would take minutes is refused at once.
#[test]
fn crowds_are_refused_by_default() {
    let roi = crowd(1 << 18);
    let defaults = [Preset::Default, Preset::Auto, Preset::AllVertices].map(Config::preset);
    for (name, engine) in engines() {
        for config in &defaults {
            let finder = build(&name, &engine, config);
            let begun = Instant::now();
            assert_eq!(find_one(&name, &finder, &roi).roi(0).status(), Status::CapacityExceeded, "{name}");
            assert!(begun.elapsed() < Duration::from_secs(20), "{name}: {:?}", begun.elapsed());
        }
    }
}

fn is_cancelled(searched: &zfinder::Result<()>) -> bool {
    matches!(searched, Err(Error::Cancelled))
}

#[test]
fn a_cancelled_token_ends_every_form_of_a_search() {
    let token = CancellationToken::default();
    let rois = batch(&[crowd(30), crowd(20)]);
    for (name, engine) in engines() {
        for config in [Preset::Auto, Preset::AllVertices].map(Config::preset) {
            let finder = build(&name, &engine, &config);
            let wanted = find(&name, &finder, &rois);
            let view = BatchView::from(&rois).cancelled_by(&token);
            let token = token.clone();
            assert_eq!(bits(&finder.find_batch(view).expect("not cancelled")), bits(&wanted), "{name}");
            let cancelled = CancellationToken::default();
            cancelled.cancel();
            assert!(cancelled.is_cancelled() && !token.is_cancelled());
            let view = view.cancelled_by(&cancelled);
            let mut results = Results::new();
            assert!(is_cancelled(&finder.find_batch_into(view, &mut results)), "{name}");
            assert!(is_cancelled(&finder.find_batch_into(view.rois(1..2), &mut results)), "{name}");
            assert!(is_cancelled(&finder.find_batch_by_worker(1, view, &mut results)), "{name}");
            assert!(is_cancelled(&pollster::block_on(finder.find_batch_async(view)).map(drop)), "{name}");
            // The finder goes on.
            assert_eq!(bits(&find(&name, &finder, &rois)), bits(&wanted), "{name}");
        }
    }
}

/// Searches a crowd for a moment, and returns how long its end takes.
fn time_of_end(finder: &ZFinder, roi: &RoiBatch) -> Duration {
    let token = CancellationToken::default();
    thread::scope(|scope| {
        let search = scope.spawn(|| finder.find_batch(BatchView::from(roi).cancelled_by(&token)).map(drop));
        thread::sleep(Duration::from_millis(100));
        assert!(!search.is_finished(), "the search is over before it is cancelled");
        let cancelled = Instant::now();
        token.cancel();
        assert!(is_cancelled(&search.join().expect("no panic")));
        cancelled.elapsed()
    })
}

/// A search within one RoI ends at once, in each mode of weighing pairs, with one thread and with
/// many.
#[test]
fn a_search_of_one_roi_can_be_cancelled() {
    let roi = batch(&[crowd(60_000)]);
    type Change = fn(&mut Config);
    let modes: [(&str, Change); 5] = [
        ("one", |c| c.pair_weight = PairWeight::One),
        ("one, accurate", |c| c.extrapolation = zfinder::config::Extrapolation::Accurate),
        ("count", |c| c.pair_weight = PairWeight::Count),
        ("pt", |c| *c = Config::preset(Preset::Auto)),
        ("tracklets", |c| c.tracklets = Tracklets::All),
    ];
    for (mode, change) in modes {
        let config =
            Config::preset(Preset::Default).with(change).with(|c| (c.max_pairs, c.max_triplets) = (1e18, 1e18));
        for (name, engine) in fixed_engines().into_iter().filter(|(name, _)| name == "CPU") {
            for threads in [1, 2] {
                let threads = std::num::NonZeroUsize::new(threads).expect("a number");
                let builder = ZFinder::builder(zfinder::Detector::atlas2010()).config(config.clone());
                let finder = builder.engine(engine.clone()).threads(threads).build().expect("an engine");
                let end = time_of_end(&finder, &roi);
                assert!(end < Duration::from_secs(1), "{name}, {mode}, {threads} threads: {end:?}");
            }
        }
        let finder = build("reference", &zfinder::Engine::Reference, &config);
        let end = time_of_end(&finder, &roi);
        assert!(end < Duration::from_secs(1), "reference, {mode}: {end:?}");
    }
}
