//! The counters on the CPU, one function for each shader: an engine, and the reference of the
//! shaders.

use rayon::prelude::*;

use crate::calorimeter::{Calorimeter, Tables};
use crate::counters::{
    CALO, CaloSums, EventCounters, SCIFI, STATIONS, Scheme, Settings, VELO_CLUSTERS, VELO_TRACKS, VERTEX_Z,
    VertexCounters, scifi_counter, scifi_sums, velo_sums,
};
use crate::event::{EventBatch, EventView, INVALID_ADC, SciFiHit, VeloCluster, VeloTrack, Vertex};
use crate::fixed::{eta_bin, is_close, is_near, scaled};

/// The counters of all lumi events, in their order.
pub(crate) fn count(calorimeter: &Calorimeter, settings: Settings, batch: &EventBatch) -> Vec<EventCounters> {
    let events = (0..batch.len()).into_par_iter().filter(|&event| batch.headers[event].is_lumi());
    events.map(|event| count_event(calorimeter, settings, event, batch.event(event))).collect()
}

fn count_event(calorimeter: &Calorimeter, settings: Settings, number: usize, event: EventView<'_>) -> EventCounters {
    let (calo, bad_digits) = calo_counters(calorimeter.tables(), settings.scheme, event.adc);
    let (scifi, bad_hits) = scifi_counters(event.scifi_hits);
    let (velo_clusters, bad_clusters) = velo_cluster_counters(event.velo_clusters);
    let reconstructed = event.header.reconstructed;
    EventCounters {
        event: number,
        event_id: event.header.event_id,
        calo,
        scifi,
        velo_clusters,
        velo_tracks: reconstructed.then(|| velo_track_counters(settings.scheme, event.velo_tracks)),
        vertices: reconstructed.then(|| vertex_counters(event.header.event_id, event.vertices, settings.least_chi2)),
        skipped: [bad_digits, bad_hits, bad_clusters],
    }
}

/// Sums of the calorimeter, and digits that are not to be used.
fn calo_counters(tables: &Tables, scheme: Scheme, adc: &[i16]) -> (CaloSums, u32) {
    let digits = || adc.iter().enumerate().filter(|&(_, &adc)| adc != INVALID_ADC);
    let skipped = adc.iter().filter(|&&adc| adc == INVALID_ADC).count() as u32;
    let count = |cell: usize, adc: i16| i32::from(adc) - i32::from(tables.pedestal[cell]);
    let area = |cell: usize| 2 + usize::from(tables.area[cell]);
    let sums = match scheme {
        Scheme::Float => {
            let mut sums = [0.0_f32; CALO];
            for (cell, &adc) in digits() {
                let energy = tables.gain[cell] * count(cell, adc) as f32;
                let et = energy * tables.sin_theta[cell];
                sums[0] += et;
                sums[1] += energy;
                sums[area(cell)] += et;
            }
            CaloSums::Float(sums)
        }
        Scheme::Fixed => {
            let (mut positive, mut negative) = ([0_u64; CALO], [0_u64; CALO]);
            for (cell, &adc) in digits() {
                let energy = tables.gain[cell] * count(cell, adc) as f32;
                let sums = if energy < 0.0 { &mut negative } else { &mut positive };
                let et = scaled(energy.abs() * tables.sin_theta[cell] * 1e8, 0);
                for (counter, sum) in [(0, et), (1, scaled(energy.abs() * 1e8, 0)), (area(cell), et)] {
                    sums[counter] = sums[counter].wrapping_add(sum);
                }
            }
            CaloSums::Fixed { positive, negative }
        }
        Scheme::Exact => {
            let mut sums = [0_i64; CALO];
            for (cell, &adc) in digits() {
                let count = i64::from(count(cell, adc));
                let et = count * i64::from(tables.et_weight[cell]);
                sums[0] += et;
                sums[1] += count * i64::from(tables.energy_weight[cell]);
                sums[area(cell)] += et;
            }
            CaloSums::Exact(sums)
        }
    };
    (sums, skipped)
}

/// Counters of the fibre tracker, and hits of nothing that there is.
fn scifi_counters(hits: &[SciFiHit]) -> ([u32; SCIFI], u32) {
    let mut counters = [0; SCIFI];
    let mut skipped = 0;
    for hit in hits {
        match scifi_counter(hit.station(), hit.module(), hit.quarter()) {
            Some(counter) => counters[counter] += 1,
            None => skipped += 1,
        }
    }
    scifi_sums(&mut counters);
    (counters, skipped)
}

/// Counters of Velo clusters, and clusters of no sensor.
fn velo_cluster_counters(clusters: &[VeloCluster]) -> ([u32; VELO_CLUSTERS], u32) {
    let mut counters = [0; VELO_CLUSTERS];
    let mut skipped = 0;
    for cluster in clusters {
        let sensor = cluster.sensor() as usize;
        if sensor < 8 * STATIONS {
            counters[2 * (sensor / 8) + sensor % 2] += 1;
        } else {
            skipped += 1;
        }
    }
    velo_sums(&mut counters);
    (counters, skipped)
}

/// Counters of Velo tracks. Places and slopes are whole numbers, and decisions on them exact; in
/// the float scheme they are made in f32.
fn velo_track_counters(scheme: Scheme, tracks: &[VeloTrack]) -> [u32; VELO_TRACKS] {
    let mut counters = [0; VELO_TRACKS];
    counters[0] = tracks.len() as u32;
    for &VeloTrack { x, y, z, tx, ty, backward } in tracks {
        let (close, bin) = if scheme == Scheme::Float {
            let rho = (tx * tx + ty * ty).sqrt();
            let sign = if backward == 0 { 1.0_f32 } else { -1.0 };
            let eta = sign * (1.0 / rho).asinh();
            let edges = [-4.0, -3.0, -2.0, 2.0, 3.0, 4.0, 5.0];
            let bin = edges.iter().position(|&edge| eta < edge).or_else(|| (eta > 5.0).then_some(7));
            ((ty * x - tx * y).abs() / rho < 3.0, bin)
        } else {
            (is_close(x, y, tx, ty), eta_bin(tx, ty, backward != 0))
        };
        counters[1] += u32::from(z.abs() < 300.0 && close);
        if let Some(bin) = bin {
            counters[2 + bin] += 1;
        }
    }
    counters
}

/// Counters of vertices. Of two that are close the one with fewer tracks is dropped.
fn vertex_counters(event_id: u64, vertices: &[Vertex], least_chi2: f32) -> VertexCounters {
    let is_dropped = |vertex: &Vertex| {
        vertices.iter().any(|other| {
            let distance = vertex.z - other.z;
            // (z_i - z_j)^2 / (var_i + var_j) < least, without the quotient.
            vertex.tracks < other.tracks && distance * distance < least_chi2 * (vertex.z_variance + other.z_variance)
        })
    };
    let mut kept: Vec<&Vertex> = vertices.iter().filter(|vertex| !is_dropped(vertex)).collect();
    // The order does not depend on that of the search: vertices of equal z are ordered by x and y.
    kept.sort_unstable_by_key(|vertex| [vertex.z, vertex.x, vertex.y].map(in_order));
    let mut counters = VertexCounters { vertices: kept.len() as u32, ..VertexCounters::default() };
    counters.fiducial = kept.iter().filter(|v| v.z.abs() < 300.0 && is_near(v.x, v.y)).count() as u32;
    if !kept.is_empty() {
        let named = kept[(event_id % kept.len() as u64) as usize];
        counters.position = [named.x, named.y, named.z];
    }
    for (z, vertex) in counters.z.iter_mut().zip(kept.iter().take(VERTEX_Z)) {
        *z = vertex.z;
    }
    counters
}

/// Whole numbers in the order of the floats.
fn in_order(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_of_each_kind_is_counted_once() {
        let hits = |modules: std::ops::Range<u32>| -> Vec<SciFiHit> {
            let of = |station| modules.clone().map(move |module| (station, module));
            (0..4).flat_map(of).flat_map(|(s, m)| (0..4).map(move |q| SciFiHit::new(s, 0, q, m, 7))).collect()
        };
        let (counters, skipped) = scifi_counters(&hits(0..8));
        // Each kind has two quarters of four; of station 0, and of modules that are not there,
        // nothing.
        assert_eq!(counters[6..], [2; 32]);
        assert_eq!(counters[..6], [12, 12, 12, 4, 4, 8]);
        assert_eq!(skipped, 32 + 2 * 12 + 8);
        // Module 0 is in no sum.
        assert_eq!(scifi_counters(&hits(0..1)).0[..6], [0; 6]);
    }

    #[test]
    fn stations_make_bins() {
        let clusters: Vec<VeloCluster> = (0..256).map(|sensor| VeloCluster::new(sensor, 1)).collect();
        let (counters, skipped) = velo_cluster_counters(&clusters);
        assert_eq!((&counters[..52], skipped), (&[4; 52][..], 48));
        assert_eq!(counters[52..], [16, 16, 40, 40, 24, 24, 24, 24]);
    }

    #[test]
    fn close_vertices_are_cleaned_up() {
        let vertex = |z: f32, tracks: u32| Vertex { x: 0.1 * z, y: 0.0, z, z_variance: 0.005, tracks };
        // The second is close to the first and smaller; the third and the fourth are close and as
        // large as each other.
        let vertices = [vertex(1.0, 30), vertex(1.1, 10), vertex(-20.0, 5), vertex(-20.05, 5), vertex(400.0, 9)];
        let counters = vertex_counters(7, &vertices, 25.0);
        assert_eq!((counters.vertices, counters.fiducial), (4, 3));
        assert_eq!(counters.z[..5], [-20.05, -20.0, 1.0, 400.0, 0.0]);
        assert_eq!(counters.position[2], 400.0, "number 7 mod 4");
        assert_eq!(vertex_counters(7, &[], 25.0), VertexCounters::default());
    }

    #[test]
    fn energies_below_the_pedestal_are_negative() {
        let calorimeter = Calorimeter::lhcb();
        let tables = calorimeter.tables();
        let adc: Vec<i16> = tables.pedestal.iter().map(|pedestal| pedestal - 2).collect();
        for scheme in [Scheme::Float, Scheme::Fixed, Scheme::Exact] {
            let (sums, skipped) = calo_counters(tables, scheme, &adc);
            let mev = sums.mev(&calorimeter);
            assert!(skipped == 0 && mev.iter().all(|&sum| sum < 0.0), "{scheme:?}: {mev:?}");
            // All of the transverse energy is in an area.
            assert!((mev[0] - mev[2..].iter().sum::<f64>()).abs() < 1e-3 * mev[0].abs());
            let exact: f64 = calorimeter.cells().iter().map(|cell| -2.0 * cell.gain).sum();
            assert!((mev[1] / exact - 1.0).abs() < 2e-6, "{scheme:?}: {} {exact}", mev[1]);
        }
        let nothing = vec![INVALID_ADC; adc.len()];
        assert_eq!(calo_counters(tables, Scheme::Exact, &nothing), (CaloSums::Exact([0; 8]), 6016));
    }
}
