//! Tests of the GPU against the CPU, on every adapter: the same bits, for any order and division of
//! the work.

use kernel_host::AdapterSummary;
use kernel_host::testing::{on_adapters, on_fast_adapters, shared_device};
use lumi::{
    AdapterChoice, CaloSums, Calorimeter, Cell, Engine, Event, EventBatch, EventCounters, Header, INVALID_ADC,
    LumiCounter, LumiCounterBuilder, MAX_VERTICES, Scheme, SciFiHit, Simulation, VeloCluster, VeloTrack, Vertex,
};

fn cpu(calorimeter: &Calorimeter, scheme: Scheme, batch: &EventBatch) -> Vec<EventCounters> {
    let counter = LumiCounter::builder().engine(Engine::Cpu).calorimeter(calorimeter.clone()).scheme(scheme);
    counter.build().expect("the CPU").count(batch).expect("counters")
}

fn gpu(adapter: &AdapterSummary, calorimeter: &Calorimeter, scheme: Scheme) -> LumiCounterBuilder {
    let counter = LumiCounter::builder().engine(Engine::Gpu(AdapterChoice::Open(shared_device(adapter))));
    counter.calorimeter(calorimeter.clone()).scheme(scheme)
}

/// Returns the same events with their content shuffled.
fn shuffled(batch: &EventBatch, rng: &mut fastrand::Rng) -> EventBatch {
    let mut other = EventBatch::new(batch.cells());
    for event in batch.iter() {
        let mut event = Event {
            header: *event.header,
            adc: event.adc.to_vec(),
            scifi_hits: event.scifi_hits.to_vec(),
            velo_clusters: event.velo_clusters.to_vec(),
            velo_tracks: event.velo_tracks.to_vec(),
            vertices: event.vertices.to_vec(),
        };
        rng.shuffle(&mut event.scifi_hits);
        rng.shuffle(&mut event.velo_clusters);
        rng.shuffle(&mut event.velo_tracks);
        rng.shuffle(&mut event.vertices);
        other.push(event.view()).expect("the same event");
    }
    other
}

fn events(calorimeter: &Calorimeter, seed: u64, events: usize, lumi_fraction: f64) -> EventBatch {
    Simulation { events, lumi_fraction, seed, ..Simulation::default() }.simulate(calorimeter).expect("events")
}

/// Returns events with invalid content.
fn hostile(calorimeter: &Calorimeter) -> EventBatch {
    let cells = calorimeter.cells().len();
    let rng = &mut fastrand::Rng::with_seed(3);
    let header = Header { basic: true, reconstructed: true, ..Header::default() };
    let event = |adc: Vec<i16>| Event { header, adc, ..Event::default() };
    let mut events = [
        event(vec![INVALID_ADC; cells]),
        event(vec![i16::MAX; cells]),
        event(vec![i16::MIN + 1; cells]),
        event((0..cells).map(|i| if i % 2 == 0 { i16::MAX } else { i16::MIN + 1 }).collect()),
        event(vec![0; cells]),
        event((0..cells).map(|_| rng.i16(..)).collect()),
    ];
    // Every word that a hit and a cluster can be, in any order; one of them 200,000 times.
    let words: Vec<u32> = (0..1 << 20).step_by(17).map(|_| rng.u32(..)).collect();
    events[0].scifi_hits = words.iter().map(|&word| SciFiHit(word)).collect();
    events[0].velo_clusters = words.iter().map(|&word| VeloCluster(word)).collect();
    events[1].scifi_hits = vec![SciFiHit::new(2, 1, 3, 4, 5); 200_000];
    events[1].velo_clusters = vec![VeloCluster::new(207, 5); 70_001];
    // Slopes and places at and beside the bounds, huge, tiny, and none.
    let values = |around: f32| [around, around.next_up(), around.next_down(), -around];
    let slopes: Vec<f32> = [2.0, 3.0, 4.0, 5.0_f64]
        .into_iter()
        .flat_map(|eta| values((1.0 / eta.sinh()) as f32))
        .chain([0.0, -0.0, 1e-30, 1e-42, f32::MAX, 2.0, -2.5, 0.3])
        .collect();
    let places = [0.0, -0.0, 1e-42, f32::MAX, -f32::MAX, 40_000.0, 1.5].into_iter().chain(values(3.0));
    for place in places {
        for &tx in &slopes {
            for &ty in &slopes {
                let (x, y) = if tx > ty { (place, -1.0) } else { (0.3, place) };
                let z = *rng.choice([299.99, 300.0, -300.0, 0.0, f32::MAX]).as_ref().expect("one");
                events[2].velo_tracks.push(VeloTrack { x, y, z, tx, ty, backward: rng.u32(0..3) });
            }
        }
    }
    events[3].velo_tracks = (0..20_000)
        .map(|_| VeloTrack {
            x: rng.f32() * 8.0,
            y: rng.f32() * 8.0,
            z: 0.0,
            tx: rng.f32() - 0.5,
            ty: rng.f32() - 0.5,
            backward: 0,
        })
        .collect();
    // As many vertices as may be, some alike, at one place, without an error.
    events[4].vertices = (0..MAX_VERTICES as u32)
        .map(|i| Vertex {
            x: (i % 3) as f32,
            y: 2.99,
            z: (i / 7) as f32 - 20.0,
            z_variance: (i % 2) as f32 * 0.01,
            tracks: i % 5,
        })
        .collect();
    events[5].vertices = vec![Vertex { x: 0.0, y: 0.0, z: -0.0, z_variance: 0.0, tracks: 0 }; 12];
    events[5].vertices.extend([Vertex { x: 3.0, y: 0.0, z: 0.0, z_variance: f32::MAX, tracks: u32::MAX }; 2]);
    for (i, event) in events.iter_mut().enumerate() {
        event.header.event_id = u64::MAX - i as u64 * 0x1234_5678_9abc;
    }
    let mut batch = EventBatch::new(cells);
    for (i, event) in events.iter().enumerate() {
        batch.push(event.view()).expect("nothing that is refused");
        // Between them such as no line took, and such as were not reconstructed.
        let mut other = event.clone();
        other.header.basic = i % 2 == 0;
        other.header.reconstructed = i % 3 == 0;
        batch.push(other.view()).expect("nothing that is refused");
    }
    batch
}

/// A calorimeter whose areas and sides are mixed from cell to cell, and whose number of cells fills
/// no quad.
fn mixed() -> Calorimeter {
    let rng = &mut fastrand::Rng::with_seed(5);
    let cell = |rng: &mut fastrand::Rng| Cell {
        x: rng.f64() * 3000.0,
        y: rng.f64() - 0.5,
        gain: 1e-3 + rng.f64() * 40.0,
        pedestal: rng.i16(..),
    };
    let cells = (0..13_003).map(|_| cell(rng)).collect();
    Calorimeter::new(cells, 3000, 5001, [0.01, 0.02, 1.0, -9000.0]).expect("a calorimeter")
}

#[test]
fn counters_are_the_same_bits() {
    let lhcb = Calorimeter::lhcb();
    let mixed = mixed();
    let few = events(&lhcb, 1, 300, 0.3);
    let cases = [
        ("lumi events among others", &lhcb, few.clone()),
        ("all lumi events", &lhcb, events(&lhcb, 2, 70, 1.0)),
        ("no lumi event", &lhcb, events(&lhcb, 3, 40, 0.0)),
        ("no events", &lhcb, EventBatch::new(6016)),
        ("one event", &lhcb, events(&lhcb, 4, 1, 1.0)),
        ("hostile", &lhcb, hostile(&lhcb)),
        ("mixed cells", &mixed, events(&mixed, 5, 9, 1.0)),
        ("mixed cells, hostile", &mixed, hostile(&mixed)),
    ];
    for adapter in on_adapters() {
        for scheme in [Scheme::Fixed, Scheme::Exact] {
            for (case, calorimeter, batch) in &cases {
                let wanted = cpu(calorimeter, scheme, batch);
                assert_eq!(wanted.len(), batch.iter().filter(|event| event.header.is_lumi()).count());
                for checked in [false, true] {
                    let builder = gpu(&adapter, calorimeter, scheme).checked(checked);
                    let counter = builder.build().expect("a GPU");
                    let found = counter.count(batch).expect("counters");
                    for (found, wanted) in found.iter().zip(&wanted) {
                        assert_eq!(found, wanted, "{}, {scheme:?}, {case}, checked: {checked}", adapter.name);
                    }
                    assert_eq!(found.len(), wanted.len(), "{}, {scheme:?}, {case}", adapter.name);
                }
            }
        }
    }
}

#[test]
fn no_order_changes_a_bit() {
    let calorimeter = Calorimeter::lhcb();
    let batch = events(&calorimeter, 7, 60, 0.5);
    let rng = &mut fastrand::Rng::with_seed(8);
    let shuffled = shuffled(&batch, rng);
    let mut order: Vec<usize> = (0..batch.len()).collect();
    rng.shuffle(&mut order);
    let mut moved = EventBatch::new(batch.cells());
    order.iter().for_each(|&event| moved.push(batch.event(event)).expect("the same event"));
    for adapter in on_fast_adapters() {
        for scheme in [Scheme::Fixed, Scheme::Exact] {
            let wanted = cpu(&calorimeter, scheme, &batch);
            for workgroup_size in [32, 64, 128, 256] {
                let builder = || gpu(&adapter, &calorimeter, scheme).workgroup_size(workgroup_size);
                let counter = builder().build().expect("a GPU");
                let place = format!("{}, {scheme:?}, {workgroup_size}", adapter.name);
                assert_eq!(counter.count(&shuffled).expect("counters"), wanted, "{place}");
                // Twice, for what a call leaves behind must not matter; then in small parts.
                assert_eq!(counter.count(&batch).expect("counters"), wanted, "{place}");
                let parts = builder().most_column_bytes(100_000).build().expect("a GPU");
                assert_eq!(parts.count(&batch).expect("counters"), wanted, "{place}");
                let mut found = counter.count(&moved).expect("counters");
                found.iter_mut().for_each(|counters| counters.event = order[counters.event]);
                found.sort_by_key(|counters| counters.event);
                assert_eq!(found, wanted, "{place}");
            }
        }
    }
}

/// Cells in another order, each with its digit: sums of integers do not change, sums of floats do.
#[test]
fn floats_vary_with_the_order_within_their_error() {
    let calorimeter = Calorimeter::lhcb();
    let batch = events(&calorimeter, 9, 40, 1.0);
    let rng = &mut fastrand::Rng::with_seed(10);
    let (outer, middle) = calorimeter.areas();
    let mut order: Vec<usize> = (0..calorimeter.cells().len()).collect();
    let (first, rest) = order.split_at_mut(outer);
    let (second, third) = rest.split_at_mut(middle);
    for area in [first, second, third] {
        rng.shuffle(area);
    }
    let cells = order.iter().map(|&cell| calorimeter.cells()[cell]).collect();
    let other = Calorimeter::new(cells, outer, middle, calorimeter.plane()).expect("the same calorimeter");
    let mut moved = EventBatch::new(batch.cells());
    for event in batch.iter() {
        let adc: Vec<i16> = order.iter().map(|&cell| event.adc[cell]).collect();
        moved.push(lumi::EventView { adc: &adc, ..event }).expect("the same event");
    }
    for adapter in on_fast_adapters() {
        for scheme in [Scheme::Fixed, Scheme::Exact, Scheme::Float] {
            let count = |calorimeter: &Calorimeter, batch: &EventBatch| {
                gpu(&adapter, calorimeter, scheme).build().expect("a GPU").count(batch).expect("counters")
            };
            let (before, after) = (count(&calorimeter, &batch), count(&other, &moved));
            let varied = before.iter().zip(&after).filter(|(a, b)| a.calo != b.calo).count();
            if scheme != Scheme::Float {
                assert_eq!(varied, 0, "{}, {scheme:?}", adapter.name);
                continue;
            }
            assert!(varied > 30, "{}: {varied} of 40 events vary", adapter.name);
            // A sum of n floats is off by n/2 roundings of the sum of what is added, without its
            // sign, at most.
            for (counted, event) in before.iter().zip(batch.iter()) {
                let exact = cpu(&calorimeter, Scheme::Exact, &one(event))[0].calo.mev(&calorimeter);
                let added: f64 = (event.adc.iter().zip(calorimeter.cells()))
                    .filter(|(adc, _)| **adc != INVALID_ADC)
                    .map(|(&adc, cell)| (f64::from(adc) - f64::from(cell.pedestal)).abs() * cell.gain)
                    .sum();
                let error = 3008.0 * f64::from(f32::EPSILON) * added + 1e-5 * added;
                for (sum, exact) in counted.calo.mev(&calorimeter).into_iter().zip(exact) {
                    assert!((sum - exact).abs() <= error, "{}: {sum}, {exact}, {error}", adapter.name);
                }
            }
        }
    }
}

fn one(event: lumi::EventView<'_>) -> EventBatch {
    let mut batch = EventBatch::new(event.adc.len());
    batch.push(event).expect("an event of another batch");
    batch
}

/// The float scheme counts the same hits and clusters, and the same tracks except for those at a
/// bound.
#[test]
fn the_old_scheme_counts_alike() {
    let calorimeter = Calorimeter::lhcb();
    let batch = events(&calorimeter, 11, 700, 0.1);
    let wanted = cpu(&calorimeter, Scheme::Float, &batch);
    for adapter in on_adapters() {
        let counter = gpu(&adapter, &calorimeter, Scheme::Float).build().expect("a GPU");
        let found = counter.count(&batch).expect("counters");
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!((found.scifi, found.velo_clusters), (wanted.scifi, wanted.velo_clusters));
            assert_eq!((found.vertices, found.skipped), (wanted.vertices, wanted.skipped));
            let off = |i: usize| {
                found.velo_tracks.map(|t| t[i]).unwrap_or(0).abs_diff(wanted.velo_tracks.map_or(0, |t| t[i]))
            };
            assert!((0..10).map(off).sum::<u32>() <= 2, "{}: {found:?}, {wanted:?}", adapter.name);
            let (CaloSums::Float(found), CaloSums::Float(wanted)) = (found.calo, wanted.calo) else {
                panic!("sums of another scheme");
            };
            for (a, b) in found.into_iter().zip(wanted) {
                assert!((a - b).abs() <= 1e-3 * (1.0 + b.abs()), "{}: {a} {b}", adapter.name);
            }
        }
    }
}

/// More events than a row of workgroups, and than a block of the selection.
#[test]
fn many_events_are_selected() {
    let cell = Cell { x: 1.0, y: 1.0, gain: 1.0, pedestal: 3 };
    let calorimeter = Calorimeter::new(vec![cell; 8], 2, 2, [0.0, 0.0, 1.0, -10.0]).expect("a calorimeter");
    let rng = &mut fastrand::Rng::with_seed(12);
    let mut batch = EventBatch::new(8);
    for event_id in 0..100_000 {
        let basic = rng.u8(..) < 100;
        let header = Header { event_id, basic, full: rng.u8(..) < 5, ..Header::default() };
        let hits = vec![SciFiHit::new(1, 0, 0, 1, 0); rng.usize(0..3)];
        let adc = (0..8).map(|_| rng.i16(..)).collect();
        batch.push(Event { header, adc, scifi_hits: hits, ..Event::default() }.view()).expect("an event");
    }
    let wanted = cpu(&calorimeter, Scheme::Exact, &batch);
    assert!(wanted.len() > 33_000);
    for adapter in on_adapters() {
        let counter = gpu(&adapter, &calorimeter, Scheme::Exact).build().expect("a GPU");
        assert!(counter.count(&batch).expect("counters") == wanted, "{}", adapter.name);
    }
}

#[test]
fn what_cannot_be_counted_is_told() {
    let calorimeter = Calorimeter::lhcb();
    let counter = LumiCounter::builder().engine(Engine::Cpu).build().expect("the CPU");
    assert!(counter.count(&EventBatch::new(10)).is_err());
    let mut batch = EventBatch::new(6016);
    let event = Event { adc: vec![0; 6016], ..Event::default() };
    let vertex = Vertex { x: 0.0, y: 0.0, z: 0.0, z_variance: 0.0, tracks: 1 };
    let track = VeloTrack { x: 0.0, y: 0.0, z: 0.0, tx: 0.0, ty: 0.0, backward: 0 };
    for bad in [
        Event { adc: vec![0; 6015], ..event.clone() },
        Event { velo_tracks: vec![track, VeloTrack { ty: f32::NAN, ..track }], ..event.clone() },
        Event { vertices: vec![Vertex { z_variance: -1.0, ..vertex }], ..event.clone() },
        Event { vertices: vec![Vertex { x: f32::INFINITY, ..vertex }], ..event.clone() },
        Event { vertices: vec![vertex; MAX_VERTICES + 1], ..event.clone() },
    ] {
        let error = batch.push(bad.view()).expect_err("it is bad").to_string();
        assert!(error.starts_with("event 0 of the batch: "), "{error}");
    }
    assert!(batch.is_empty());
    let batch = events(&calorimeter, 13, 1, 1.0);
    for adapter in on_fast_adapters() {
        let small = gpu(&adapter, &calorimeter, Scheme::Exact).most_column_bytes(1000).build().expect("a GPU");
        let error = small.count(&batch).expect_err("it is too large").to_string();
        assert!(error.contains("event 0 of the batch is larger"), "{error}");
    }
}
