//! Every engine end to end, through the public interface: they agree with each other, and with themselves whatever
//! the order, the batch and the number of threads.

use std::f64::consts::{PI, TAU};
use std::sync::OnceLock;

use rayon::prelude::*;
use zfinder::wgpu;
use zfinder::{
    Accumulate, Config, DefaultWindow, Encoding, Engine, Extrapolation, Fallback, MaxLayer, Neighbours, PhiWindow,
    Precision, Preset, Roi, RoiBatch, RoiDescriptor, RoiId, RoiResult, Sensor, Significance, Spacepoint, Status,
    StreamOptions, Triplets, Vertex, Weighting, ZFinder, ZFinderBuilder,
};
use zfinder_testing::engines::on_shared_device;
use zfinder_testing::engines::{
    agree, batch, bits, build, build_with, close, engines, find, find_one, fixed_engines, gpus, rotated,
};
use zfinder_testing::on_adapters;
use zfinder_testing::toy::{Event, Toy, between, turned};

/// Every engine with the default configuration, built once: compiling shaders is what takes long here.
pub(crate) fn finders() -> &'static [(String, ZFinder)] {
    static FINDERS: OnceLock<Vec<(String, ZFinder)>> = OnceLock::new();
    FINDERS.get_or_init(|| {
        let each = |(name, engine): (String, Engine)| {
            let finder = build(&name, &engine, &Config::default());
            (name, finder)
        };
        engines().into_iter().map(each).collect()
    })
}

/// Those of them whose sums are integers.
fn fixed_finders() -> impl Iterator<Item = &'static (String, ZFinder)> {
    finders().iter().filter(|(name, _)| name != "reference")
}

/// Windows of several widths and places, the full circle, other etas and z ranges; one empty.
fn toys(seed: u64) -> Vec<Event> {
    let rng = &mut fastrand::Rng::with_seed(seed);
    let windows = [Some((0.7, 1.7)), Some((PI, 0.8)), Some((-2.0, 0.4)), None, Some((0.0, 3.0)), Some((-1.0, 1.0))];
    let mut events: Vec<Event> =
        (0..9).map(|i| Toy { window: windows[i % windows.len()], ..Toy::default() }.event(rng, i as u64)).collect();
    events[2].roi.descriptor.eta = -1.1;
    events[4].roi.descriptor.z_range = Some((-150.0, 160.1));
    events[5].roi.descriptor.window = Some(PhiWindow::FromSpacepoints);
    events[7].roi.spacepoints.clear();
    events
}

fn rois(events: &[Event]) -> Vec<Roi> {
    events.iter().map(|event| event.roi.clone()).collect()
}

#[test]
fn every_engine_agrees_with_the_reference() {
    let defaults = Config::default();
    let configs = [
        ("default", defaults.clone()),
        ("thesis", Config { peaks: 3, ..Config::preset(Preset::Thesis) }),
        ("triplets any", Config { triplets: Triplets::Any, peaks: 2, ..defaults.clone() }),
        ("triplets counted", Config { triplets: Triplets::Count, prefer_central: false, ..defaults }),
    ];
    let events = toys(1);
    for (case, config) in &configs {
        let one_more = Config { peaks: config.peaks + 1, ..config.clone() };
        let reference = find("reference", &build("reference", &Engine::Reference, &one_more), &batch(&rois(&events)));
        let near = |(result, event): &(&RoiResult, &Event)| {
            result.vertices.first().is_some_and(|vertex| (vertex.z_mm - event.truth[0]).abs() < 0.5)
        };
        let right = reference.iter().zip(&events).filter(near).count();
        assert!(right >= 6, "{case}: the truth in {right} of 8 RoIs");
        for (name, engine) in &fixed_engines() {
            for accumulate in [Accumulate::Fixed, Accumulate::CompareExchange] {
                let place = format!("{name}, {case}, {accumulate:?}");
                let finder = build_with(name, engine, config, |builder| builder.accumulate(accumulate));
                let found = find(&place, &finder, &batch(&rois(&events)));
                let compared = agree(&place, &found, &reference, config.peaks as usize);
                assert!(compared >= 7, "{place}: only {compared} vertices are clear of the next");
            }
        }
    }
}

#[test]
fn f64_agrees_with_the_reference_where_there_is_f64() {
    let events = toys(2);
    let config = Config { peaks: 2, ..Config::default() };
    let one_more = Config { peaks: 3, ..config.clone() };
    let reference = find("reference", &build("reference", &Engine::Reference, &one_more), &batch(&rois(&events)));
    let mut engines = vec![("CPU".to_owned(), Engine::Cpu)];
    for adapter in on_adapters() {
        if adapter.shader_f64 {
            engines.push((adapter.name.clone(), on_shared_device(&adapter)));
        } else {
            eprintln!("SKIPPED: f64 on {}, which has none", adapter.name);
        }
    }
    for (name, engine) in &engines {
        let finder = build_with(name, engine, &config, |builder| builder.precision(Precision::F64));
        assert!(agree(name, &find(name, &finder, &batch(&rois(&events))), &reference, 2) >= 8, "{name}");
    }
}

/// The same run twice, batches of one, three and all, in order, reversed and shuffled, and spacepoints shuffled.
#[test]
fn neither_batch_nor_order_changes_a_bit() {
    let events = toys(3);
    let all = rois(&events);
    let mut rng = fastrand::Rng::with_seed(33);
    for (name, finder) in fixed_finders() {
        let whole = find(name, finder, &batch(&all));
        let wanted = bits(&whole);
        assert_eq!(bits(&find(name, finder, &batch(&all))), wanted, "{name}: twice");
        for size in [1, 3] {
            let parts: Vec<RoiResult> = all.chunks(size).flat_map(|rois| find(name, finder, &batch(rois))).collect();
            assert_eq!(bits(&parts), wanted, "{name}: batches of {size}");
        }
        let mut order: Vec<usize> = (0..all.len()).rev().collect();
        for what in ["reversed", "shuffled"] {
            let turned: Vec<Roi> = order.iter().map(|&i| all[i].clone()).collect();
            let turned_wanted: Vec<_> = order.iter().map(|&i| wanted[i].clone()).collect();
            assert_eq!(bits(&find(name, finder, &batch(&turned))), turned_wanted, "{name}: {what}");
            rng.shuffle(&mut order);
        }
        let mut points_shuffled = all.clone();
        points_shuffled.iter_mut().for_each(|roi| rng.shuffle(&mut roi.spacepoints));
        assert_eq!(bits(&find(name, finder, &batch(&points_shuffled))), wanted, "{name}: spacepoints shuffled");
        // A batch that fills buffers with other things in between.
        find(name, finder, &batch(&rois(&toys(4))));
        assert_eq!(bits(&find(name, finder, &batch(&all))), wanted, "{name}: after another batch");
    }
}

/// Where vertices are mixed, more peaks may have to be looked at than came back at first: of the same spacepoints, in the same
/// encoding.
#[test]
fn more_peaks_are_those_of_the_same_encoding() {
    let config = Config {
        peaks: 5,
        charge_aware: true,
        histogram_per_slice: true,
        vertex_separation_bins: 5.0,
        phi_slice_deg: 1.0,
        ..Config::default()
    };
    let all = batch(&rois(&toys(5)));
    let find_compact = |name: &str, engine: &Engine| {
        find(name, &build_with(name, engine, &config, |builder| builder.encoding(Encoding::Compact)), &all)
    };
    let wanted = bits(&find_compact("CPU", &Engine::Cpu));
    assert_ne!(wanted, bits(&find("CPU", &build("CPU", &Engine::Cpu, &config), &all)), "the encoding is seen");
    for (name, engine) in &fixed_engines() {
        assert_eq!(bits(&find_compact(name, engine)), wanted, "{name}");
    }
}

/// Memory that the engine reuses carries nothing from one RoI into the next: rings after windows, crowded RoIs after empty ones.
#[test]
fn a_used_finder_answers_as_a_fresh_one() {
    let mut events = toys(41);
    events.extend(toys(42));
    let mut rng = fastrand::Rng::with_seed(43);
    for i in 0..24 {
        let window = [None, Some((PI, 1.0)), Some((rng.f64() * TAU - PI, 0.3))][i % 3];
        events.push(Toy { window, tracks: rng.usize(2..20), ..Toy::default() }.event(&mut rng, 100 + i as u64));
    }
    let all = rois(&events);
    let bending = |triplets| Config { triplets, ..Config::default() };
    let configs = [Config::preset(Preset::HardScatter), bending(Triplets::Count), bending(Triplets::Any)];
    for config in &configs {
        let build = || build_with("cpu", &Engine::Cpu, config, |builder| builder.threads(std::num::NonZeroUsize::MIN));
        let wanted: Vec<_> = all.iter().map(|roi| bits(&[find_one("fresh", &build(), roi)])).collect();
        let used = build();
        let mut order: Vec<usize> = (0..all.len()).collect();
        for _ in 0..8 {
            rng.shuffle(&mut order);
            for &i in &order {
                let found = bits(&[find_one("used", &used, &all[i])]);
                assert_eq!(found, wanted[i], "{:?}, {:?}: RoI {i}", config.triplets, config.weighting);
            }
        }
    }
}

#[test]
fn options_of_the_gpu_change_no_bit() {
    let all = batch(&rois(&toys(5)));
    for (name, engine) in &gpus() {
        let finder = &finders().iter().find(|(known, _)| known == name).expect("built").1;
        let wanted = bits(&find(name, finder, &all));
        type Change = fn(ZFinderBuilder) -> ZFinderBuilder;
        let changes: [(&str, Change); 6] = [
            ("1 slice a histogram", |b| b.slices_per_histogram(1)),
            ("64 slices a histogram", |b| b.slices_per_histogram(64)),
            ("all slices in a histogram", |b| b.slices_per_histogram(65_536)),
            ("checked", |b| b.checked(true)),
            // The full circle alone takes 225 rows of histograms of 16 KiB each.
            ("buffers of 4 MiB", |b| b.most_buffer_bytes(4 << 20).slices_per_histogram(8)),
            ("buffers of 3.7 MB, checked", |b| b.most_buffer_bytes(3_700_000).slices_per_histogram(8).checked(true)),
        ];
        for (what, change) in changes {
            let place = format!("{name}: {what}");
            let finder = build_with(&place, engine, &Config::default(), change);
            assert_eq!(bits(&find(&place, &finder, &all)), wanted, "{place}");
        }
    }
}

#[test]
fn futures_answer_alike() {
    let all = batch(&rois(&toys(6)));
    for (name, finder) in finders() {
        let wanted = bits(&find(name, finder, &all));
        let found = pollster::block_on(finder.find_batch_async(&all)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(bits(&found), wanted, "{name}");
        let roi = toys(6)[0].roi.clone();
        let one = pollster::block_on(finder.find_async(&roi)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(bits(&[one]), wanted[..1], "{name}");
        // A future that is dropped midway leaves the finder usable.
        drop(finder.find_batch_async(&all));
        {
            use std::future::Future;
            let mut future = std::pin::pin!(finder.find_batch_async(&all));
            let _ = future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
        }
        assert_eq!(bits(&find(name, finder, &all)), wanted, "{name}: after a future was dropped");
    }
}

#[test]
fn the_callers_own_device_answers_alike() {
    let all = batch(&rois(&toys(8)));
    for adapter in on_adapters() {
        let name = &adapter.name;
        let finder = &finders().iter().find(|(known, _)| known == name).expect("built").1;
        let wanted = bits(&find(name, finder, &all));
        // Opened as a program would that knows nothing of this crate: WebGPU's default limits.
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let own = found.iter().find(|own| own.get_info().name == *name).expect("the adapter again");
        let (device, queue) = pollster::block_on(own.request_device(&wgpu::DeviceDescriptor::default()))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let builder = ZFinder::builder().device("my own", device.clone(), queue.clone());
        let finder = pollster::block_on(builder.build_async()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(finder.description().contains("my own"), "{name}: {finder:?}");
        assert_eq!(bits(&find(name, &finder, &all)), wanted, "{name}");
        drop(finder);
        // It is still the caller's.
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap_or_else(|error| panic!("{name}: {error}"));
        queue.submit([]);
    }
}

#[test]
fn every_status_is_told_and_neighbours_are_answered() {
    let good = toys(9)[0].roi.clone();
    let point = |rho, phi, z, layer| Spacepoint { rho, phi, z, layer };
    let with = |spacepoint| {
        let mut roi = good.clone();
        roi.spacepoints.insert(roi.spacepoints.len() / 2, spacepoint);
        roi
    };
    let of = |spacepoints: Vec<Spacepoint>| Roi { spacepoints, ..good.clone() };
    // A window of [-0.15, 1.55].
    let cases = [
        ("good", good.clone(), Status::Ok),
        ("nothing", of(vec![]), Status::Empty),
        ("all outside", of(vec![point(50.0, -2.0, 1.0, 0), point(90.0, 3.0, 1.0, 1)]), Status::Empty),
        ("one", of(vec![point(50.0, 0.1, 1.0, 0)]), Status::NoPeak),
        ("a single pair", of(vec![point(50.0, 0.1, 1.0, 0), point(90.0, 0.1, 1.0, 1)]), Status::NoPeak),
        ("no pair", of(vec![point(50.0, 0.1, 1.0, 0), point(90.0, 1.1, 1.0, 1)]), Status::NoPeak),
        ("z12 outside", of((0..4).map(|i| point(50.0 + 9.0 * f64::from(i), 0.1, 900.0, i)).collect()), Status::NoPeak),
        ("rho NaN", with(point(f64::NAN, 0.1, 1.0, 0)), Status::BadSpacepoint),
        ("phi NaN", with(point(50.0, f64::NAN, 1.0, 0)), Status::BadSpacepoint),
        ("z infinite", with(point(50.0, 0.1, f64::NEG_INFINITY, 0)), Status::BadSpacepoint),
        ("rho 0", with(point(0.0, 0.1, 1.0, 0)), Status::BadSpacepoint),
        ("rho < 0", with(point(-50.0, 0.1, 1.0, 0)), Status::BadSpacepoint),
        ("layer 19", with(point(50.0, 0.1, 1.0, 19)), Status::BadSpacepoint),
        ("layer 200", with(point(50.0, 0.1, 1.0, 200)), Status::BadSpacepoint),
        ("layer 2^32 - 1", with(point(50.0, 0.1, 1.0, u32::MAX)), Status::BadSpacepoint),
        ("good again", good.clone(), Status::Ok),
    ];
    let all: RoiBatch = cases.iter().map(|(_, roi, _)| roi.clone()).collect();
    for (name, finder) in finders() {
        let wanted = find_one(name, finder, &good);
        assert_eq!(find(name, finder, &RoiBatch::new()), [], "{name}: an empty batch");
        assert_eq!(find(name, finder, &batch(&[of(vec![]), of(vec![])]))[1].status, Status::Empty, "{name}");
        for (result, (case, roi, status)) in find(name, finder, &all).iter().zip(&cases) {
            assert_eq!(result.status, *status, "{name}: {case}");
            assert_eq!(result.vertices.is_empty(), *status != Status::Ok, "{name}: {case}: {result:?}");
            if *status == Status::Ok {
                assert_eq!(bits(std::slice::from_ref(result)), bits(std::slice::from_ref(&wanted)), "{name}: {case}");
            }
            if *status != Status::BadSpacepoint {
                let inside = roi.spacepoints.len() - result.outside_window;
                assert_eq!(result.spacepoints, inside, "{name}: {case}");
            }
        }
    }
}

#[test]
fn what_is_beyond_capacity_is_told_and_neighbours_are_answered() {
    let rng = &mut fastrand::Rng::with_seed(10);
    // Where buffers are small, the full circle is too large.
    let narrow = Toy { window: Some((0.7, 0.3)), ..Toy::default() };
    let wide = Toy { window: None, ..Toy::default() };
    let all = [narrow.event(rng, 0).roi, wide.event(rng, 1).roi, narrow.event(rng, 2).roi];
    for (name, engine) in &gpus() {
        let free = &finders().iter().find(|(known, _)| known == name).expect("built").1;
        let wanted = bits(&find(name, free, &batch(&all)));
        let finder = build_with(name, engine, &Config::default(), |builder| {
            builder.most_buffer_bytes(1 << 20).slices_per_histogram(8)
        });
        let found = find(name, &finder, &batch(&all));
        let statuses: Vec<Status> = found.iter().map(|result| result.status).collect();
        assert_eq!(statuses, [Status::Ok, Status::CapacityExceeded, Status::Ok], "{name}");
        assert!(found[1].vertices.is_empty(), "{name}");
        assert_eq!(bits(&found[..1]), wanted[..1], "{name}");
        assert_eq!(bits(&found[2..]), wanted[2..], "{name}");
        assert_eq!(find(name, &finder, &batch(&all[1..2]))[0].status, Status::CapacityExceeded, "{name}: alone");
    }
    // 2^22 pairs in one bin, from 16 slices far apart, are one more than its words hold.
    let full = |each: usize, event_id| {
        let mut spacepoints = Vec::new();
        for slice in (0..128).step_by(8) {
            for layer in 0..2 {
                let phi = (f64::from(slice) + 0.5) * 0.2f64.to_radians();
                let point = Spacepoint { rho: 50.0 * f64::from(layer + 1), phi, z: 3.1, layer };
                spacepoints.extend(std::iter::repeat_n(point, each));
            }
        }
        let window = Some(PhiWindow::new(0.0, 0.5).expect("a window"));
        let id = RoiId { event_id, roi_id: 0 };
        Roi { descriptor: RoiDescriptor { id, window, ..RoiDescriptor::default() }, spacepoints }
    };
    let all = [all[0].clone(), full(512, 3), full(30, 4)];
    for (name, finder) in finders() {
        let found = find(name, finder, &batch(&all));
        // The reference engine counts in 64 bits.
        let expected = if name == "reference" { Status::Ok } else { Status::CapacityExceeded };
        assert_eq!(found[1].status, expected, "{name}");
        assert_eq!(found[1].vertices.is_empty(), name != "reference", "{name}");
        assert_eq!((found[0].status, found[2].status), (Status::Ok, Status::Ok), "{name}");
        assert_eq!(found[2].vertices[0].weight, 16.0 * 900.0, "{name}");
    }
}

#[test]
fn a_window_across_pi_is_a_window_like_others() {
    let rng = &mut fastrand::Rng::with_seed(11);
    let width = 0.8;
    let event = Toy { window: Some((0.0, width)), smear: (0.0, 0.02), ..Toy::default() }.event(rng, 0);
    let at = |centre: f64| {
        let window = PhiWindow::new(turned(centre - width / 2.0), turned(centre + width / 2.0)).expect("a window");
        let descriptor = RoiDescriptor { window: Some(window), ..event.roi.descriptor };
        Roi { descriptor, spacepoints: rotated(&event.roi, centre) }
    };
    for (name, finder) in finders() {
        let wanted = find_one(name, finder, &at(0.0));
        assert!((wanted.vertices[0].z_mm - event.truth[0]).abs() < 0.3, "{name}");
        for centre in [PI, -PI, PI - 0.3, -PI + 0.1, 1.0] {
            let found = find_one(name, finder, &at(centre));
            close(&format!("{name}, about {centre}"), &found, &wanted);
            assert_eq!(found.outside_window, wanted.outside_window, "{name}, about {centre}");
        }
        // Any turn of phi, and of the window, is the same phi.
        let mut more = at(0.5);
        more.spacepoints.iter_mut().for_each(|s| s.phi += 2.0 * TAU);
        close(&format!("{name}, turned twice"), &find_one(name, finder, &more), &wanted);
    }
}

#[test]
fn full_scan_goes_round() {
    let rng = &mut fastrand::Rng::with_seed(12);
    let event = Toy { window: None, tracks: 40, smear: (0.0, 0.02), ..Toy::default() }.event(rng, 0);
    let slice = 0.2f64.to_radians();
    for (name, finder) in finders() {
        let wanted = find_one(name, finder, &event.roi);
        for slices in [1, 450, 900, -1234] {
            let spacepoints = rotated(&event.roi, f64::from(slices) * slice);
            let found = find_one(name, finder, &Roi { spacepoints, ..event.roi.clone() });
            close(&format!("{name}, turned by {slices} slices"), &found, &wanted);
        }
    }
}

/// Tracks along +pi, their spacepoints on either side of it in turn.
fn along_pi() -> Roi {
    let points = (0..12u32).map(|i| {
        let (rho, track) = ([50.5, 88.5, 122.5][i as usize % 3], i / 3);
        let side = if i % 2 == 0 { PI - 1e-4 } else { -PI + 1e-4 };
        Spacepoint { rho, phi: side, z: 20.05 + rho * (f64::from(track) - 1.5), layer: i % 3 }
    });
    let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
    Roi { descriptor, spacepoints: points.collect() }
}

#[test]
fn wrapping_joins_pairs_across_pi_and_can_be_off() {
    let joined = along_pi();
    // Tracks of three spacepoints: three pairs each, of which one lies on one side.
    for (name, finder) in finders() {
        let found = find_one(name, finder, &joined);
        assert_eq!(found.vertices[0].weight, 12.0, "{name}");
        assert!((found.vertices[0].z_mm - 20.05).abs() < 0.01, "{name}: {found:?}");
    }
    let apart = Config { wrap_full_scan: false, ..Config::default() };
    for (name, engine) in &engines() {
        let found = find_one(name, &build(name, engine, &apart), &joined);
        assert_eq!(found.vertices[0].weight, 4.0, "{name}: not wrapped");
        // Triplets keep k and p across the seam.
        for triplets in [Triplets::Any, Triplets::Count] {
            let config =
                Config { triplets, triplet_dp: 2e-3, triplet_dk: 1e-4, triplet_dz_mm: 0.1, ..Config::default() };
            let found = find_one(name, &build(name, engine, &config), &joined);
            // Of each track one pair has a third spacepoint further out.
            assert_eq!(found.vertices[0].weight, 4.0, "{name}: {triplets:?}");
        }
    }
}

/// Ranges of metres have more bins than a workgroup's memory, and places beyond what f32 tells from the next.
#[test]
fn vertices_metres_away_are_found_where_they_are() {
    let mut points = Vec::new();
    for (i, (z, tracks)) in [(-2400.05, 7), (1900.05, 5), (-1700.05, 4), (0.05, 3)].into_iter().enumerate() {
        for track in 0..tracks {
            let phi = 0.8 * f64::from(i as u32) + 0.1 * f64::from(track);
            let layers = [50.0, 90.0, 130.0].into_iter().zip(0..);
            points.extend(layers.map(|(rho, layer)| Spacepoint { rho, phi, z, layer }));
        }
    }
    let z_range = Some((-2500.0, 2500.0));
    let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), z_range, ..RoiDescriptor::default() };
    let config = Config { peaks: 4, ..Config::default() };
    let roi = Roi { descriptor, spacepoints: points };
    let wanted = find_one("reference", &build("reference", &Engine::Reference, &config), &roi);
    let weights: Vec<f64> = wanted.vertices.iter().map(|vertex| vertex.weight).collect();
    assert_eq!(weights, [21.0, 15.0, 12.0, 9.0]);
    for (name, engine) in &fixed_engines() {
        close(name, &find_one(name, &build(name, engine, &config), &roi), &wanted);
    }
}

/// From one slice to the one on the other side of a ring both ways are equally long: the way upwards is taken, whichever of the
/// two slices comes first, so that a track which goes on so bends alike in both of its pairs.
#[test]
fn half_way_round_is_upwards() {
    let config = Config {
        phi_slice_deg: 90.0,
        neighbour_multiplier: 1000.0,
        triplets: Triplets::Any,
        triplet_dk: 1e-3,
        triplet_dp: 0.01,
        peaks: 1,
        ..Config::default()
    };
    // Of 3.2 rad each: two slices on, and two slices on again, across the end of the ring.
    let track = |from: f64| {
        let points = [(50.0, 0.0), (90.0, 3.2), (110.0, 4.8)].into_iter().zip(0..);
        let points = points.map(|((rho, turn), layer)| Spacepoint { rho, phi: turned(from + turn), z: 7.05, layer });
        let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
        Roi { descriptor, spacepoints: points.collect() }
    };
    for (name, engine) in &engines() {
        let finder = build(name, engine, &config);
        for slice in 0..4 {
            let edge = f64::from(slice) * PI / 2.0 - PI;
            let upwards = find_one(name, &finder, &track(edge + 0.1));
            assert_eq!(upwards.vertices.first().map(|vertex| vertex.weight), Some(1.0), "{name}, slice {slice}");
        }
    }
}

#[test]
fn a_spacepoint_at_pi_is_kept() {
    for phi in [PI, -PI, PI.next_down(), (-PI).next_up()] {
        let points =
            [50.5, 88.5, 122.5].into_iter().zip(0..).map(|(rho, layer)| Spacepoint { rho, phi, z: 7.0, layer });
        let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
        let roi = Roi { descriptor, spacepoints: points.collect() };
        for (name, finder) in finders() {
            let found = find_one(name, finder, &roi);
            assert_eq!((found.spacepoints, found.outside_window), (3, 0), "{name}: phi = {phi}");
            assert_eq!(found.vertices[0].weight, 3.0, "{name}: phi = {phi}");
        }
    }
}

#[test]
fn the_beam_spot_is_the_middle() {
    let rng = &mut fastrand::Rng::with_seed(13);
    let event = Toy { window: Some((0.7, 1.2)), smear: (0.0, 0.02), ..Toy::default() }.event(rng, 0);
    let (x0, y0) = (1.3, -0.8);
    let moved = event
        .roi
        .spacepoints
        .iter()
        .map(|s| Spacepoint::from_xyz(s.rho * s.phi.cos() + x0, s.rho * s.phi.sin() + y0, s.z, s.layer));
    let moved = Roi { spacepoints: moved.collect(), ..event.roi.clone() };
    let config = Config { beam_spot_mm: [x0, y0], ..Config::default() };
    for (name, engine) in &engines() {
        let unmoved = &finders().iter().find(|(known, _)| known == name).expect("built").1;
        let wanted = find_one(name, unmoved, &event.roi);
        let finder = build(name, engine, &config);
        let found = find_one(name, &finder, &moved);
        close(name, &found, &wanted);
        // A spacepoint on the beam spot itself has no azimuth.
        let mut on_it = moved.clone();
        on_it.spacepoints[0] = Spacepoint::from_xyz(x0, y0, 0.0, 0);
        let status = find_one(name, &finder, &on_it).status;
        assert!(matches!(status, Status::Ok | Status::BadSpacepoint), "{name}: {status:?}");
    }
}

/// Settings at the ends of what is allowed: answers, and no panic.
#[test]
fn extreme_settings_are_answered_alike() {
    let rng = &mut fastrand::Rng::with_seed(14);
    let event = Toy { tracks: 15, noise: 10, window: Some((0.7, 0.5)), ..Toy::default() }.event(rng, 0);
    let defaults = Config::default();
    let configs = [
        ("narrow slices", Config { phi_slice_deg: 0.01, neighbour_multiplier: 1.5, ..defaults.clone() }),
        ("one slice", Config { phi_slice_deg: 360.0, ..defaults.clone() }),
        ("two bins", Config { z_bin_mm: 300.0, ..defaults.clone() }),
        ("many peaks", Config { peaks: Config::MAX_PEAKS, neighbours: Neighbours::Single, ..defaults.clone() }),
        ("own window", Config { phi_window: DefaultWindow::Spacepoints, ..defaults }),
    ];
    for (case, config) in &configs {
        let mut roi = event.roi.clone();
        if *case == "own window" {
            roi.descriptor.window = None;
        }
        let one_more = Config { peaks: (config.peaks + 1).min(Config::MAX_PEAKS), ..config.clone() };
        let reference = find_one("reference", &build("reference", &Engine::Reference, &one_more), &roi);
        for (name, engine) in &fixed_engines() {
            let place = format!("{name}, {case}");
            let found = find_one(&place, &build(name, engine, config), &roi);
            agree(&place, &[found], std::slice::from_ref(&reference), config.peaks as usize);
        }
    }
}

/// The order of peaks of equal height is the same everywhere.
#[test]
fn ties_are_broken_alike() {
    let mut rng = fastrand::Rng::with_seed(15);
    let mut points = Vec::new();
    for z in [-150.05, -80.05, -3.95, 4.15, 60.05, 170.05] {
        for (layer, rho) in [50.5, 88.5, 122.5].into_iter().enumerate() {
            let phi = between(&mut rng, 0.0, 0.001) + 0.5 + z / 400.0;
            points.push(Spacepoint { rho, phi: 0.001 * (phi / 0.001).round(), z: z + 0.0 * rho, layer: layer as u32 });
        }
    }
    let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
    let roi = Roi { descriptor, spacepoints: points };
    for prefer_central in [true, false] {
        let config = Config { peaks: 6, prefer_central, ..Config::default() };
        let wanted = find_one("reference", &build("reference", &Engine::Reference, &config), &roi);
        let z: Vec<f64> = wanted.vertices.iter().map(|vertex| (vertex.z_mm * 100.0).round() / 100.0).collect();
        let expected = if prefer_central {
            vec![-3.95, 4.15, 60.05, -80.05, -150.05, 170.05]
        } else {
            vec![-150.05, -80.05, -3.95, 4.15, 60.05, 170.05]
        };
        assert_eq!(z, expected, "prefer_central: {prefer_central}");
        for (name, engine) in &fixed_engines() {
            close(&format!("{name}, {prefer_central}"), &find_one(name, &build(name, engine, &config), &roi), &wanted);
        }
    }
}

/// Peaks near to a vertex are mixed into it, on every engine; also where that takes more peaks than were asked for at first.
#[test]
fn near_peaks_are_mixed_alike() {
    let mut points = Vec::new();
    // Tracks of three spacepoints, each far from all others in phi: three pairs a track.
    let mut track = |z: f64, count: usize| {
        for _ in 0..count {
            let phi = 0.02 * (points.len() / 3) as f64 - 3.0;
            points.extend([50.5, 88.5, 122.5].iter().zip(0..).map(|(&rho, layer)| Spacepoint { rho, phi, z, layer }));
        }
    };
    for (z, tracks) in [(10.05, 7), (14.65, 6), (-80.35, 5), (16.05, 4), (-81.15, 3), (30.05, 2)] {
        track(z, tracks);
    }
    for i in 0..40 {
        track(50.05 + 3.0 * f64::from(i), 1);
    }
    let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..RoiDescriptor::default() };
    let roi = Roi { descriptor, spacepoints: points };
    let config = Config { peaks: 4, ..Config::default() };
    for (case, config, wanted) in [
        ("none", config.clone(), vec![(10.05, 21.0), (14.65, 18.0), (-80.35, 15.0), (16.05, 12.0)]),
        (
            "bins",
            Config { vertex_separation_bins: 10.0, vertex_mixing: 0.25, ..config.clone() },
            // 16.05 goes into 14.65 and -81.15 into -80.35, before 30.05 comes.
            vec![(10.05, 21.0), (15.0, 16.5), (-80.55, 13.5), (30.05, 6.0)],
        ),
        (
            "distance",
            Config { vertex_distance_cut: 0.4, ..config.clone() },
            // 14.65 and 16.05 are near 10.05, 50.05 is near 30.05.
            vec![(10.05, 21.0), (-80.35, 15.0), (30.05, 6.0), (53.05, 3.0)],
        ),
        (
            "everything",
            Config { vertex_separation_bins: 1e4, vertex_mixing: 0.0, ..config.clone() },
            vec![(10.05, 21.0)],
        ),
    ] {
        let reference = find_one("reference", &build("reference", &Engine::Reference, &config), &roi);
        let near = |found: &Vertex, wanted: &(f64, f64)| {
            (found.z_mm - wanted.0).abs() < 1e-3 && (found.weight - wanted.1).abs() < 1e-9
        };
        let same = reference.vertices.iter().zip(&wanted).all(|(found, wanted)| near(found, wanted));
        assert!(same && reference.vertices.len() == wanted.len(), "{case}: {:?}", reference.vertices);
        for (name, engine) in &fixed_engines() {
            close(&format!("{name}, {case}"), &find_one(name, &build(name, engine, &config), &roi), &reference);
        }
    }
}

/// RoIs without a peak have the answers of the fallback, the others those of the first search, whichever way they are asked.
#[test]
fn rois_without_a_peak_are_searched_again() {
    // Six tracks of two spacepoints: no third one confirms a pair.
    let track = |i: u32| {
        let (phi, slope) = (0.4 + 0.3 * f64::from(i), 0.2 * f64::from(i) - 0.5);
        [(0, 50.5), (1, 88.5)].map(|(layer, rho)| Spacepoint { rho, phi, z: 12.5 + slope * rho, layer })
    };
    let mut soft = Roi { spacepoints: (0..6).flat_map(track).collect(), ..Roi::default() };
    soft.descriptor.id.event_id = 77;
    let lone = Roi { spacepoints: soft.spacepoints[..1].to_vec(), ..Roi::default() };
    let mut rois = rois(&toys(21));
    rois.splice(3..3, [soft, lone]);
    let auto = Config::preset(Preset::Auto);
    let first = Config { fallback: Fallback::None, ..auto.clone() };
    let again = auto.fallback_config().expect("a fallback");
    assert_eq!(again, Config { peaks: 4, ..Config::preset(Preset::FullScan) });
    for (name, engine) in &engines() {
        let [auto, first, again] = [&auto, &first, &again].map(|config| build(name, engine, config));
        let [first, again] = [first, again].map(|finder| find(name, &finder, &batch(&rois)));
        let choose = |(first, again): (&RoiResult, &RoiResult)| {
            let fallback = first.status == Status::NoPeak;
            RoiResult { fallback, ..if fallback { again.clone() } else { first.clone() } }
        };
        let wanted: Vec<RoiResult> = first.iter().zip(&again).map(choose).collect();
        assert_eq!((first[3].status, wanted[3].status), (Status::NoPeak, Status::Ok), "{name}");
        assert!((wanted[3].vertices[0].z_mm - 12.5).abs() < 0.01, "{name}: {:?}", wanted[3]);
        assert_eq!(wanted[4].status, Status::NoPeak, "{name}");
        assert!(first.iter().filter(|result| result.status == Status::Ok).count() >= 4, "{name}");
        let wanted = bits(&wanted);
        // In blocking calls, futures and streams, one by one and together.
        assert_eq!(bits(&find(name, &auto, &batch(&rois))), wanted, "{name}");
        let one_by_one: Vec<RoiResult> = rois.iter().map(|roi| auto.find(roi).expect("an answer")).collect();
        assert_eq!(bits(&one_by_one), wanted, "{name}, one by one");
        let awaited = pollster::block_on(auto.find_async(&rois[3])).expect("an answer");
        assert_eq!(bits(&[awaited]), wanted[3..4], "{name}, awaited");
        let mut stream = auto.stream(StreamOptions::default()).expect("threads");
        assert!(stream.push(batch(&rois)).expect("room").is_none());
        let answered = stream.next().expect("a batch").expect("answers");
        assert_eq!(bits(&answered.results), wanted, "{name}, streamed");
    }
}

/// Background and significance are the reference engine's, exactly where the counts are; the first peak that is not significant
/// enough ends the search.
#[test]
fn backgrounds_are_alike_and_end_the_search() {
    let events = toys(16);
    for (significance, percentile, min_significance) in [
        (Significance::Gaussian, 1.0, 0.0),
        (Significance::Gaussian, 0.95, 20.0),
        (Significance::Poisson, 0.95, 3.0),
        (Significance::Poisson, 0.3, 0.0),
        (Significance::Poisson, 0.0, 1e6),
    ] {
        let config = Config { peaks: 12, significance, percentile, min_significance, ..Config::default() };
        let reference = find("reference", &build("reference", &Engine::Reference, &config), &batch(&rois(&events)));
        for (name, engine) in &fixed_engines() {
            let place = format!("{name}, {significance:?} of {min_significance}, percentile {percentile}");
            let found = find(&place, &build(name, engine, &config), &batch(&rois(&events)));
            let mut compared = 0;
            for (found, wanted) in found.iter().zip(&reference) {
                for (a, b) in found.vertices.iter().zip(&wanted.vertices) {
                    assert_eq!(a.background.is_some(), percentile > 0.0, "{place}: {a:?}");
                    if (a.weight, a.background) != (b.weight, b.background) {
                        // An entry in the next bin.
                        let near = |a: f64, b: f64, most: f64| (a - b).abs() <= most;
                        let (of_a, of_b) = (a.background.unwrap_or(0.0), b.background.unwrap_or(0.0));
                        assert!(near(of_a, of_b, 0.05 * of_b + 0.05), "{place}: {a:?}, reference {b:?}");
                        continue;
                    }
                    compared += 1;
                    // The reference engine has a formula of its own.
                    match (a.significance, b.significance) {
                        (Some(of_a), Some(of_b)) => assert!((of_a - of_b).abs() < 1e-6, "{place}: {of_a}, {of_b}"),
                        none => assert_eq!(none, (None, None), "{place}"),
                    }
                    assert!((a.z_error_mm - b.z_error_mm).abs() < 1e-3 * b.z_error_mm, "{place}: {a:?}, {b:?}");
                    let least = a.significance.is_none_or(|significance| significance >= min_significance);
                    assert!(least, "{place}: {a:?}");
                }
                let ended = wanted.vertices.len() < config.peaks as usize;
                assert!(![3.0, 20.0].contains(&min_significance) || ended, "{place}: nothing was insignificant");
            }
            assert!(compared >= 8, "{place}: {compared} vertices with equal counts");
        }
    }
}

/// A caller's own parallel loop may hold every thread of the pool that large batches are packed by.
/// Every option that changes what is found: the engines agree, and the option is one that changes something.
#[test]
fn options_are_alike_on_every_engine() {
    let events = toys(31);
    let batch = batch(&rois(&events));
    let config = Config { peaks: 2, phi_slice_deg: 1.0, vertex_separation_bins: 5.0, ..Config::default() };
    let any = Config { triplets: Triplets::Any, ..config.clone() };
    let plain = build("reference", &Engine::Reference, &config);
    let plain = find("reference", &plain, &batch);
    for (name, config) in [
        ("charge aware", Config { charge_aware: true, ..config.clone() }),
        ("per slice", Config { histogram_per_slice: true, percentile: 0.95, ..any.clone() }),
        (
            "charge aware, per slice, not wrapped",
            Config { charge_aware: true, histogram_per_slice: true, wrap_full_scan: false, ..any.clone() },
        ),
        ("pixels", Config { max_layer: Some(MaxLayer::Sensor(Sensor::Pixel)), ..config.clone() }),
        ("four layers", Config { max_layer: Some(MaxLayer::Number(3)), ..config.clone() }),
        (
            "accurate, of a beam that is tilted and off",
            Config {
                extrapolation: Extrapolation::Accurate,
                beam_spot_mm: [1.0, -2.0],
                beam_spot_tilt: [2e-3, -1e-3],
                ..config.clone()
            },
        ),
        ("by pT", Config { weighting: Weighting::Pt, bending_pt_gev: 2.0, ..any.clone() }),
    ] {
        let further = Config { peaks: config.peaks + 1, ..config.clone() };
        let reference = find(name, &build(name, &Engine::Reference, &further), &batch);
        let mut compared = 0;
        for (engine, choice) in fixed_engines() {
            let place = format!("{name}, {engine}");
            let found = find(&place, &build(&place, &choice, &config), &batch);
            compared = agree(&place, &found, &reference, config.peaks as usize);
        }
        assert!(compared >= 6, "{name}: {compared} vertices compared");
        let changed = reference.iter().zip(&plain).filter(|(a, b)| a.vertices.first() != b.vertices.first()).count();
        assert!(changed > 3, "{name} changes {changed} RoIs");
        if name == "by pT" {
            let heavy = reference.iter().filter(|roi| roi.vertices.iter().any(|v| v.weight > 2.0 * v.pairs as f64));
            assert!(heavy.count() > 3, "tracks are hard enough to weigh");
        }
    }
}

/// What a pair weighs by its pT is rounded to a whole number: 85.49999 and 85.50001, which a last digit tells apart, are two.
#[test]
fn weights_beside_a_half_are_alike() {
    let config = Config::preset(Preset::HardScatter);
    let window = PhiWindow::new(1.7252148491684247, 1.8242394852621242).ok();
    let descriptor = RoiDescriptor { window, eta: 1.9657475578008903, ..RoiDescriptor::default() };
    // The first a soak found: SwiftShader made a product with 1 / 6 of a quotient by 6. Of the second the CPU engine in f32
    // computed the weight in f64.
    for (rho, phi) in [(490.0, 1.8066086143331583), (480.01, 1.8064327543331584)] {
        let spacepoints = [
            (210.0, 1.8008113230714216, 4),
            (370.0, 1.8052330088894522, 8),
            (410.0, 1.8054225180160843, 9),
            (rho, phi, 11),
            (530.0, 1.816214301588964, 12),
        ];
        let spacepoints = spacepoints.map(|(rho, phi, layer)| Spacepoint { rho, phi, z: 7.0, layer }).to_vec();
        let roi = Roi { descriptor, spacepoints };
        let cpu = find_one("CPU", &build("CPU", &Engine::Cpu, &config), &roi);
        assert_eq!(
            cpu.vertices.iter().map(|vertex| (vertex.pairs, vertex.weight > 80.0)).collect::<Vec<_>>(),
            [(1, true)]
        );
        for (name, engine) in &gpus() {
            assert_eq!(find_one(name, &build(name, engine, &config), &roi), cpu, "{name}");
        }
    }
}

/// Whatever lies on layers that take no part changes nothing.
#[test]
fn layers_beyond_the_last_take_no_part() {
    let events = toys(32);
    for (engine, choice) in engines() {
        let config = Config {
            max_layer: Some(MaxLayer::Number(6)),
            phi_window: DefaultWindow::Spacepoints,
            ..Config::default()
        };
        let finder = build(&engine, &choice, &config);
        let all = find(&engine, &finder, &batch(&rois(&events)));
        let mut left = rois(&events);
        left.iter_mut().for_each(|roi| roi.spacepoints.retain(|point| point.layer <= 6));
        let kept = find(&engine, &finder, &batch(&left));
        for (a, b) in all.iter().zip(&kept) {
            assert_eq!((&a.vertices, a.spacepoints), (&b.vertices, b.spacepoints), "{engine}: {:?}", a.id);
        }
        assert!(all.iter().zip(&kept).any(|(a, b)| a.outside_window > b.outside_window), "{engine}");
    }
    for (max_layer, word) in [(MaxLayer::Number(0), "two"), (MaxLayer::Sensor(Sensor::Pixel), "sensor")] {
        let text = "name = \"two\"\n[[layer]]\nkind = \"barrel\"\nradius_mm = 50.0\n[[layer]]\nkind = \"barrel\"\nradius_mm = 90.0";
        let detector = zfinder_io::detector_from_toml("two", text).expect("valid");
        let config = Config { max_layer: Some(max_layer), ..Config::default() };
        let error = ZFinder::builder().config(config).detector(detector).engine(Engine::Cpu).build().err();
        let error = error.expect("refused").to_string();
        assert!(error.contains("max_layer") && error.contains(word), "{error}");
    }
}

/// Histograms beyond what memory should hold are told, on every engine.
#[test]
fn too_many_histograms_are_told() {
    let config = Config { histogram_per_slice: true, phi_slice_deg: 0.01, z_bin_mm: 0.01, ..Config::default() };
    let point = Spacepoint { rho: 50.0, phi: 0.1, z: 1.0, layer: 0 };
    let roi = Roi { descriptor: RoiDescriptor::default(), spacepoints: vec![point; 3] };
    for (engine, choice) in engines() {
        let found = find_one(&engine, &build(&engine, &choice, &config), &roi);
        assert_eq!((found.status, found.vertices.len()), (Status::CapacityExceeded, 0), "{engine}");
    }
}

#[test]
fn batches_are_found_from_within_a_busy_pool() {
    let rng = &mut fastrand::Rng::with_seed(15);
    let mut batch = RoiBatch::single();
    for _ in 0..4 {
        let spacepoints: Vec<Spacepoint> = (0..60_000)
            .map(|_| {
                let (rho, phi, z) = (between(rng, 40.0, 500.0), between(rng, -PI, PI), between(rng, -300.0, 300.0));
                Spacepoint { rho, phi, z, layer: rng.u32(0..7) }
            })
            .collect();
        batch.push(RoiDescriptor::default(), spacepoints);
    }
    for (name, engine) in gpus() {
        // Two parts, each with enough spacepoints for several threads.
        let finder = build_with(&name, &engine, &Config::preset(Preset::Thesis), |b| b.most_buffer_bytes(2 << 20));
        let expected = finder.find_batch(&batch).expect("answers");
        let (done, answers) = std::sync::mpsc::channel();
        let batch = batch.clone();
        std::thread::spawn(move || {
            let calls = 0..2 * rayon::current_num_threads();
            let found: Vec<_> = calls.into_par_iter().map(|_| finder.find_batch(&batch).expect("answers")).collect();
            // Nobody listens any more where it took too long.
            let _ = done.send(found);
        });
        let found = answers.recv_timeout(std::time::Duration::from_secs(120));
        let found = found.unwrap_or_else(|error| panic!("{name}: {error}: threads wait for each other"));
        assert!(found.iter().all(|results| *results == expected), "{name}");
    }
}
