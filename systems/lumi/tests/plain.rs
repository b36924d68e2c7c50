//! The counters against a plain recomputation from the definitions, in f64 and without the engine's
//! tables.

use std::collections::BTreeMap;

use lumi::{Calorimeter, Engine, EventBatch, EventView, Header, INVALID_ADC, LumiCounter, Scheme, Simulation, Vertex};

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

/// Returns the number in the bits of a field, taken one by one.
fn stored(bank: &[u32], field: &lumi::Field) -> u32 {
    let bit = |at: u32| bank[(at / 32) as usize] >> (at % 32) & 1;
    (0..field.size).map(|i| bit(field.offset + i) << i).sum()
}

/// Banks hold counts as they are and measured numbers by shift and scale, truncated; all bits are
/// set where nothing was counted and where a count does not fit.
#[test]
fn banks_are_recomputed() {
    let calorimeter = Calorimeter::lhcb();
    let simulation = Simulation { events: 60, lumi_fraction: 0.7, seed: 98, ..Simulation::default() };
    let simulated = simulation.simulate(&calorimeter).expect("events");
    // Simulated events are nearly all reconstructed; here every fifth is not.
    let mut batch = EventBatch::new(simulated.cells());
    for (number, event) in simulated.iter().enumerate() {
        let header = Header { reconstructed: number % 5 > 0, ..*event.header };
        batch.push(EventView { header: &header, ..event }).expect("an event");
    }
    let counter = LumiCounter::builder().engine(Engine::Cpu).build().expect("the CPU");
    let counted = counter.count(&batch).expect("counters");
    let banks = counter.summaries(&batch, &counted);
    let schemata = counter.schemata();
    let mut seen = BTreeMap::<&str, usize>::new();
    for (counters, bank) in counted.iter().zip(&banks) {
        let event = batch.event(counters.event);
        let header = event.header;
        assert_eq!(bank.len(), if header.full { schemata.full_words() } else { schemata.basic_words() });
        // 3564 crossings a turn, 40.078 crossings a microsecond.
        let crossing = u64::from(header.orbit) * 3564 + u64::from(header.bunch);
        let start = header.gps_us - crossing * 1000 / 40_078;
        let energies = energies(&calorimeter, event.adc);
        let counts: BTreeMap<String, u32> = scifi(&event).into_iter().chain(velo(&event)).collect();
        let kept = vertices(&event);
        let named = kept.get((header.event_id % kept.len().max(1) as u64) as usize);
        let fields = if header.full { &schemata.full().fields[..] } else { schemata.basic_fields() };
        for field in fields.iter().filter(|field| field.spec.name != "encodingKey") {
            let name = field.spec.name.as_str();
            let all = u32::MAX >> (32 - field.size);
            let scaled = |shift: f64, scale: f64, value: f64| (shift + scale * value).clamp(0.0, all.into());
            let is_vertex = name.contains("Vert");
            let (wanted, tolerance, kind) = match name {
                "T0Low" => (f64::from(start as u32), 0.0, "header"),
                "T0High" => (f64::from((start >> 32) as u32), 0.0, "header"),
                "BCIDLow" => (f64::from(crossing as u32), 0.0, "header"),
                "BCIDHigh" => (f64::from((crossing >> 32) as u32), 0.0, "header"),
                "BXType" => (f64::from(header.crossing), 0.0, "header"),
                "GEC" => (f64::from(u8::from(header.reconstructed)), 0.0, "header"),
                _ if (is_vertex || name.starts_with("VeloTracks") || name.starts_with("VeloFid"))
                    && !header.reconstructed =>
                {
                    (all.into(), 0.0, "not reconstructed")
                }
                "ECalEtot" => (scaled(65_536.0, 0.0667, energies[1]), 1.0, "energy"),
                "ECalET" => (scaled(65_536.0, 0.2, energies[0]), 1.0, "energy"),
                _ if name.starts_with("ECalET") => {
                    let area = ["Outer", "Middle", "Inner"].iter().position(|area| name.contains(area)).expect(name);
                    let half = if name.ends_with("Top") { 0 } else { 3 };
                    (scaled(16_384.0, 0.2, energies[2 + area + half]), 1.0, "energy")
                }
                "VeloVertices" => (kept.len() as f64, 0.0, "vertices"),
                "FiducialVeloVertices" => {
                    let is_near = |v: &&Vertex| v.z.abs() < 300.0 && f64::from(v.x).hypot(v.y.into()) < 3.0;
                    (kept.iter().filter(is_near).count() as f64, 0.0, "vertices")
                }
                _ if is_vertex => {
                    let (scale, value) = match (name, name.strip_prefix("VeloVertexZ_")) {
                        ("VeloVertexX", _) => (1638.4, named.map(|v| v.x)),
                        ("VeloVertexY", _) => (1638.4, named.map(|v| v.y)),
                        ("VeloVertexZ", _) => (16.384, named.map(|v| v.z)),
                        (_, Some(number)) => (16.384, kept.get(number.parse::<usize>().expect(name)).map(|v| v.z)),
                        _ => panic!("{name}"),
                    };
                    (scaled(8192.0, scale, value.unwrap_or(0.0).into()).floor(), 0.0, "vertices")
                }
                _ => {
                    let count = counts.get(name).copied().unwrap_or(0);
                    let cut = if name.contains("Eta") || name.contains("Fiducial") { 1.0 } else { 0.0 };
                    (f64::from(count.min(all)), cut, "counts")
                }
            };
            let found = f64::from(stored(bank, field));
            assert!((found - wanted).abs() <= tolerance, "{name}: {found}, not {wanted}");
            *seen.entry(kind).or_default() += 1;
        }
    }
    for kind in ["header", "not reconstructed", "energy", "vertices", "counts"] {
        assert!(seen.get(kind).is_some_and(|&count| count > 20), "{seen:?}");
    }
}
