//! Vertices of the z-finder become luminosity counters: reads simulated spacepoints, and writes a
//! summary bank.
//!
//! `cargo run --release --manifest-path lab/Cargo.toml --example count_vertices`

use std::error::Error;

use lumi::{Engine, Event, EventBatch, Header, INVALID_ADC, LumiCounter, Vertex};
use zfinder::{Config, Preset, ZFinder};
use zfinder_study::simulate::Simulation;

fn main() -> Result<(), Box<dyn Error>> {
    let simulation = Simulation::lowlum().whole_events();
    let config = Config::preset(Preset::FullScan).with(|c| c.peaks = 8);
    let finder = ZFinder::builder(simulation.detector()).config(config).build()?;
    let counter = LumiCounter::builder().engine(Engine::Auto).build()?;

    let mut batch = EventBatch::new(counter.calorimeter().cells().len());
    for index in 0..20 {
        let found = finder.find(&simulation.event(index).roi)?;
        let vertices = found.vertices().iter().map(|vertex| Vertex {
            x: 0.0,
            y: 0.0,
            z: vertex.z_mm as f32,
            z_variance: (vertex.z_error_mm * vertex.z_error_mm) as f32,
            // Decides which of two close vertices is kept.
            tracks: vertex.weight as u32,
        });
        let event = Event {
            header: Header { event_id: found.event_ids()[0], basic: true, reconstructed: true, ..Header::default() },
            adc: vec![INVALID_ADC; batch.cells()],
            vertices: vertices.collect(),
            ..Event::default()
        };
        batch.push(event.view())?;
    }

    let counted = counter.count(&batch)?;
    let banks = counter.summaries(&batch, &counted);
    for (counters, bank) in counted.iter().zip(&banks) {
        let summary = counter.schemata().decode(bank)?;
        let stored = summary.counters["VeloVertices"];
        let z = summary.counters["VeloVertexZ"].unwrap_or(f64::NAN);
        println!("event {}: {} vertices, one of them at z = {z:.2} mm", counters.event_id, stored.unwrap_or(0.0));
        assert_eq!(stored, counters.vertices.map(|vertices| f64::from(vertices.vertices)));
    }
    Ok(())
}
