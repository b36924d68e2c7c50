//! Random events under random calorimeters: every engine and scheme that is exact gives the same.

use kernel_host::testing::{on_adapters, shared_device};
use lumi::{
    AdapterChoice, Calorimeter, Cell, Engine, Event, EventBatch, Header, LumiCounter, Scheme, SciFiHit, VeloCluster,
    VeloTrack, Vertex,
};
use proptest::array::uniform2;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn cells() -> impl Strategy<Value = Calorimeter> {
    let cell = (-4000.0..4000.0, -3000.0..3000.0, 1e-3..100.0, any::<i16>()).prop_map(|(x, y, gain, pedestal)| Cell {
        x,
        y,
        gain,
        pedestal,
    });
    (vec(cell, 1..600), 0.0..1.0, 0.0..1.0).prop_map(|(cells, outer, middle): (Vec<Cell>, f64, f64)| {
        let outer = (cells.len() as f64 * outer) as usize;
        let middle = ((cells.len() - outer) as f64 * middle) as usize;
        Calorimeter::new(cells, outer, middle, [0.01, -0.02, 1.0, -12_000.0]).expect("a calorimeter")
    })
}

fn events(cells: usize) -> impl Strategy<Value = Vec<Event>> {
    let header = (any::<u64>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(event_id, basic, full, reconstructed)| Header { event_id, basic, full, reconstructed, ..Header::default() },
    );
    let track = (uniform2(-9.0..9.0_f32), -400.0..400.0_f32, uniform2(-1.0..1.0_f32), 0..2_u32)
        .prop_map(|([x, y], z, [tx, ty], backward)| VeloTrack { x, y, z, tx, ty: ty * ty * ty, backward });
    let vertex = (uniform2(-4.0..4.0_f32), -9.0..9.0_f32, 0.0..0.2_f32, 0..9_u32)
        .prop_map(|([x, y], z, z_variance, tracks)| Vertex { x, y, z, z_variance, tracks });
    let event = (
        header,
        vec(any::<i16>(), cells),
        vec(any::<u32>().prop_map(SciFiHit), 0..300),
        vec(any::<u32>().prop_map(VeloCluster), 0..300),
        vec(track, 0..200),
        vec(vertex, 0..40),
    )
        .prop_map(|(header, adc, scifi_hits, velo_clusters, velo_tracks, vertices)| Event {
            header,
            adc,
            scifi_hits,
            velo_clusters,
            velo_tracks,
            vertices,
        });
    vec(event, 0..70)
}

#[test]
fn engines_agree() {
    let config = Config { failure_persistence: None, ..Config::with_cases(6) };
    let mut runner =
        TestRunner::new_with_rng(config, proptest::test_runner::TestRng::deterministic_rng(Default::default()));
    let adapters = on_adapters();
    let cases = cells().prop_flat_map(|calorimeter| {
        let events = events(calorimeter.cells().len());
        (Just(calorimeter), events)
    });
    runner
        .run(&cases, |(calorimeter, events)| {
            let mut batch = EventBatch::new(calorimeter.cells().len());
            events.iter().for_each(|event| batch.push(event.view()).expect("an event"));
            for scheme in [Scheme::Fixed, Scheme::Exact] {
                let count = |engine: Engine| {
                    let builder = LumiCounter::builder().engine(engine).scheme(scheme).calorimeter(calorimeter.clone());
                    builder.build().expect("an engine").count(&batch).expect("counters")
                };
                let wanted = count(Engine::Cpu);
                for counters in &wanted {
                    // All transverse energy is in an area, and every hit is counted or skipped.
                    let mev = counters.calo.mev(&calorimeter);
                    let areas: f64 = mev[2..].iter().sum();
                    let scale: f64 = mev[2..].iter().map(|sum| sum.abs()).sum();
                    prop_assert!((mev[0] - areas).abs() <= 1e-5 * scale + 1e-6, "{mev:?}");
                    let hits: u32 = counters.scifi[6..].iter().sum();
                    prop_assert_eq!((hits + counters.skipped[1]) as usize, events[counters.event].scifi_hits.len());
                }
                for adapter in &adapters {
                    let found = count(Engine::Gpu(AdapterChoice::Open(shared_device(adapter))));
                    prop_assert_eq!(&found, &wanted, "{}, {:?}", adapter.name, scheme);
                }
            }
            Ok(())
        })
        .expect("they agree");
}
