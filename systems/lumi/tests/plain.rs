//! The counters against a plain recomputation from the definitions, in f64 and without the engine's
//! tables.

use std::collections::BTreeMap;

use lumi::{Calorimeter, Engine, EventView, INVALID_ADC, LumiCounter, Scheme, Simulation, Vertex};

/// Energies \[MeV\]: transverse, total, and transverse by area at the top and at the bottom.
fn energies(calorimeter: &Calorimeter, adc: &[i16]) -> [f64; 8] {
    let [a, b, c, d] = calorimeter.plane();
    let (outer, middle) = calorimeter.areas();
    let mut sums = [0.0; 8];
    for (number, (cell, &adc)) in
        calorimeter.cells().iter().zip(adc).enumerate().filter(|(_, (_, adc))| **adc != INVALID_ADC)
    {
        let z = (-a * cell.x - b * cell.y - d) / c;
        let across = cell.x.hypot(cell.y);
        let energy = cell.gain * (f64::from(adc) - f64::from(cell.pedestal));
        let transverse = energy * across / across.hypot(z);
        let area = [outer, outer + middle].iter().filter(|&&end| number >= end).count();
        sums[0] += transverse;
        sums[1] += energy;
        sums[2 + area + if cell.y > 0.0 { 0 } else { 3 }] += transverse;
    }
    sums
}

fn scifi(event: &EventView<'_>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    let mut add = |name: String| *counts.entry(name).or_insert(0) += 1;
    for hit in event.scifi_hits {
        let (station, module) = (hit.station(), hit.module());
        if station == 0 || module > if station == 3 { 5 } else { 4 } {
            continue;
        }
        add(format!("SciFiT{station}{}M{module}", if hit.quarter() % 2 == 0 { "Q02" } else { "Q13" }));
        match (station, module) {
            (_, 1..=3) => add(format!("SciFiT{station}M123")),
            (1 | 2, 4) => add(format!("SciFiT{station}M4")),
            (3, 4 | 5) => add("SciFiT3M45".to_owned()),
            _ => {}
        }
    }
    counts
}

fn velo(event: &EventView<'_>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    let mut add = |name: String| *counts.entry(name).or_insert(0) += 1;
    for cluster in event.velo_clusters.iter().filter(|cluster| cluster.sensor() < 208) {
        let (station, side) = (cluster.sensor() / 8, if cluster.sensor() % 2 == 0 { "Inner" } else { "Outer" });
        let bin = [3, 13, 19].iter().filter(|&&last| station > last).count();
        add(format!("VeloClusters{side}S{station:02}"));
        add(format!("VeloClusters{side}Bin{bin:02}"));
    }
    for track in event.velo_tracks {
        let [x, y, z, tx, ty] = [track.x, track.y, track.z, track.tx, track.ty].map(f64::from);
        let slope = tx.hypot(ty);
        let eta = (1.0 / slope).asinh() * if track.backward == 0 { 1.0 } else { -1.0 };
        let bin = [-4.0, -3.0, -2.0, 2.0, 3.0, 4.0, 5.0].iter().filter(|&&edge| eta >= edge).count();
        add("VeloTracks".to_owned());
        add(format!("VeloTracksEtaBin{bin}"));
        if z.abs() < 300.0 && (ty * x - tx * y).abs() / slope < 3.0 {
            add("VeloFiducialTracks".to_owned());
        }
    }
    counts
}

/// The vertices that stay, in the order of z.
fn vertices(event: &EventView<'_>) -> Vec<Vertex> {
    let is_close = |a: &Vertex, b: &Vertex| {
        let chi2 = f64::from(a.z - b.z).powi(2) / f64::from(a.z_variance + b.z_variance);
        chi2 < 25.0 && a.tracks < b.tracks
    };
    let stays = |a: &&Vertex| !event.vertices.iter().any(|b| is_close(a, b));
    let mut kept: Vec<Vertex> = event.vertices.iter().filter(stays).copied().collect();
    kept.sort_by(|a, b| a.z.total_cmp(&b.z));
    kept
}

/// Counts are equal, except tracks within a rounding of a cut; energies agree to the rounding of
/// gains, 2^-20 of the largest, and for the f32 schemes to n/2 roundings of 2^-24.
#[test]
fn counters_are_recomputed() {
    let calorimeter = Calorimeter::lhcb();
    let simulation = Simulation { events: 150, lumi_fraction: 0.7, seed: 99, ..Simulation::default() };
    let batch = simulation.simulate(&calorimeter).expect("events");
    for (scheme, rounding) in [(Scheme::Exact, 1e-6), (Scheme::Fixed, 1e-6), (Scheme::Float, 2e-4)] {
        let counter = LumiCounter::builder().engine(Engine::Cpu).scheme(scheme).build().expect("the CPU");
        let counted = counter.count(&batch).expect("counters");
        let sums = lumi::Sums::of(counter.schemata(), &calorimeter, &batch, &counted);
        assert!(counted.len() > 80);
        for (row, counters) in counted.iter().enumerate() {
            let event = batch.event(counters.event);
            let column = |name: &str| match sums.columns.iter().find(|column| column.name == name).map(|c| &c.values) {
                Some(lumi::Values::Numbers(values)) => values[row],
                other => panic!("{name}: {other:?}"),
            };
            let wanted = energies(&calorimeter, event.adc);
            let size: f64 = event.adc.iter().zip(calorimeter.cells()).map(|(_, cell)| cell.gain).sum::<f64>() * 100.0;
            for (found, wanted) in counters.calo.mev(&calorimeter).into_iter().zip(wanted) {
                assert!((found - wanted).abs() < rounding * size, "{scheme:?}: {found}, not {wanted}");
            }
            for (name, count) in scifi(&event) {
                assert_eq!(column(&name), f64::from(count), "{name}");
            }
            for (name, count) in velo(&event) {
                if !event.header.reconstructed && !name.starts_with("VeloClusters") {
                    assert!(column(&name).is_nan(), "{name} of an event that was not reconstructed");
                    continue;
                }
                let is_cut = name.contains("Eta") || name.contains("Fiducial");
                assert!((column(&name) - f64::from(count)).abs() <= f64::from(u8::from(is_cut)), "{name}");
            }
            if !event.header.reconstructed {
                continue;
            }
            let kept = vertices(&event);
            assert_eq!(column("VeloVertices"), kept.len() as f64);
            let near = kept.iter().filter(|v| v.z.abs() < 300.0 && f64::from(v.x).hypot(v.y.into()) < 3.0).count();
            assert_eq!(column("FiducialVeloVertices"), near as f64);
            for (i, vertex) in kept.iter().take(10).enumerate() {
                assert_eq!(column(&format!("VeloVertexZ_{i:02}")), f64::from(vertex.z));
            }
            if let Some(named) = kept.get((event.header.event_id % kept.len().max(1) as u64) as usize) {
                assert_eq!(column("VeloVertexX"), f64::from(named.x));
            }
        }
    }
}
