//! Files: events and summary banks in NumPy's `.npz` format, one array for each column; counters as
//! `.npz` and Parquet ([`Sums`](crate::Sums)); calorimeters as TOML and CSV ([`read_calorimeter`]).
//!
//! | events | type and shape | |
//! |---|---|---|
//! | `event_id`, `gps_us` | u64 (n) | number of the event, time in us |
//! | `orbit`, `bunch`, `crossing` | u32, u16, u8 (n) | turn, bunch crossing, its kind |
//! | `basic`, `full`, `reconstructed` | u8 (n) | lumi lines that took the event; whether it was reconstructed |
//! | `adc` | i16 (n, cells) | digits, -32768 for none |
//! | `scifi_hits`, `velo_clusters` | u32 | [`SciFiHit`], [`VeloCluster`], event after event |
//! | `track_x`, `_y`, `_z`, `_tx`, `_ty`, `_backward` | f32, and u32 | [`VeloTrack`] |
//! | `vertex_x`, `_y`, `_z`, `_z_variance`, `_tracks` | f32, and u32 | [`Vertex`] |
//! | `scifi_offsets`, `cluster_offsets`, `track_offsets`, `vertex_offsets` | u32 (n + 1) | where each event's begin |
//!
//! | banks | type and shape | |
//! |---|---|---|
//! | `event_id` | u64 (n) | number of the event |
//! | `offsets` | u64 (n + 1) | where each event's words begin |
//! | `words` | u32 | summary banks, one after the other |
//!
//! These types are written. Arrays of numpy's other types of integers, floats and bool are read
//! too, if all numbers fit into these types ([`array_file::Element`]).

mod calorimeter;
mod sums;

use std::io::{self, Seek, Write};
use std::path::Path;

use array_file::{ArrayFile, ArrayWriter};

use crate::error::Result;
use crate::event::{EventBatch, EventView, Header, SciFiHit, VeloCluster, VeloTrack, Vertex};

pub use calorimeter::{calorimeter_cells, read_calorimeter, write_calorimeter, write_cells};
pub use sums::{write_parquet, write_sums};

/// Summary banks and their event ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Banks {
    /// The event ids.
    pub event_ids: Vec<u64>,
    /// One bank for each event.
    pub banks: Vec<Vec<u32>>,
}

/// Reads the events of a file.
///
/// # Errors
/// [`Error::File`](crate::Error::File) if the file cannot be read, if an array is missing, has
/// another shape or a number that does not fit, or if [`EventBatch::push`] refuses an event.
pub fn read_events(path: &Path) -> Result<EventBatch> {
    let mut file = ArrayFile::open(path)?;
    let event_id: Vec<u64> = file.column("event_id")?;
    let events = event_id.len();
    let gps_us: Vec<u64> = file.as_long("gps_us", events)?;
    let orbit: Vec<u32> = file.as_long("orbit", events)?;
    let bunch: Vec<u16> = file.as_long("bunch", events)?;
    let crossing: Vec<u8> = file.as_long("crossing", events)?;
    let basic: Vec<u8> = file.as_long("basic", events)?;
    let full: Vec<u8> = file.as_long("full", events)?;
    let reconstructed: Vec<u8> = file.as_long("reconstructed", events)?;
    let (shape, adc) = file.array::<i16>("adc")?;
    let cells = match shape[..] {
        [rows, cells] if rows as usize == events => cells as usize,
        _ => return Err(file.error(format!("`adc` has shape {shape:?}, and [{events}, cells] is wanted")).into()),
    };
    let scifi_hits: Vec<SciFiHit> = file.column("scifi_hits")?.into_iter().map(SciFiHit).collect();
    let velo_clusters: Vec<VeloCluster> = file.column("velo_clusters")?.into_iter().map(VeloCluster).collect();
    let hits = offsets(&mut file, "scifi_offsets", events, scifi_hits.len())?;
    let clusters = offsets(&mut file, "cluster_offsets", events, velo_clusters.len())?;
    let x: Vec<f32> = file.column("track_x")?;
    let count = x.len();
    let y: Vec<f32> = file.as_long("track_y", count)?;
    let z: Vec<f32> = file.as_long("track_z", count)?;
    let tx: Vec<f32> = file.as_long("track_tx", count)?;
    let ty: Vec<f32> = file.as_long("track_ty", count)?;
    let backward: Vec<u32> = file.as_long("track_backward", count)?;
    let track = |i: usize| VeloTrack { x: x[i], y: y[i], z: z[i], tx: tx[i], ty: ty[i], backward: backward[i] };
    let velo_tracks: Vec<VeloTrack> = (0..count).map(track).collect();
    let tracks_of = offsets(&mut file, "track_offsets", events, count)?;
    let x: Vec<f32> = file.column("vertex_x")?;
    let count = x.len();
    let y: Vec<f32> = file.as_long("vertex_y", count)?;
    let z: Vec<f32> = file.as_long("vertex_z", count)?;
    let z_variance: Vec<f32> = file.as_long("vertex_z_variance", count)?;
    let tracks: Vec<u32> = file.as_long("vertex_tracks", count)?;
    let vertex = |i: usize| Vertex { x: x[i], y: y[i], z: z[i], z_variance: z_variance[i], tracks: tracks[i] };
    let vertices: Vec<Vertex> = (0..count).map(vertex).collect();
    let vertices_of = offsets(&mut file, "vertex_offsets", events, count)?;

    let mut batch = EventBatch::new(cells);
    for i in 0..events {
        let header = Header {
            event_id: event_id[i],
            orbit: orbit[i],
            bunch: bunch[i],
            crossing: crossing[i],
            gps_us: gps_us[i],
            basic: basic[i] != 0,
            full: full[i] != 0,
            reconstructed: reconstructed[i] != 0,
        };
        let event = EventView {
            header: &header,
            adc: &adc[i * cells..(i + 1) * cells],
            scifi_hits: &scifi_hits[hits[i]..hits[i + 1]],
            velo_clusters: &velo_clusters[clusters[i]..clusters[i + 1]],
            velo_tracks: &velo_tracks[tracks_of[i]..tracks_of[i + 1]],
            vertices: &vertices[vertices_of[i]..vertices_of[i + 1]],
        };
        batch.push(event).map_err(|error| file.error(error))?;
    }
    Ok(batch)
}

/// Writes events.
///
/// The writes are small, so `out` should be buffered.
///
/// # Errors
/// Any error of `out`.
pub fn write_events(out: impl Write + Seek, batch: &EventBatch) -> io::Result<()> {
    write(out, |file| {
        let headers = &batch.headers;
        let events = headers.len() as u64;
        file.column("event_id", headers.iter().map(|header| header.event_id))?;
        file.column("gps_us", headers.iter().map(|header| header.gps_us))?;
        file.column("orbit", headers.iter().map(|header| header.orbit))?;
        file.column("bunch", headers.iter().map(|header| header.bunch))?;
        file.column("crossing", headers.iter().map(|header| header.crossing))?;
        file.column("basic", headers.iter().map(|header| u8::from(header.basic)))?;
        file.column("full", headers.iter().map(|header| u8::from(header.full)))?;
        file.column("reconstructed", headers.iter().map(|header| u8::from(header.reconstructed)))?;
        file.array("adc", &[events, batch.cells() as u64], batch.adc.iter().copied())?;
        file.column("scifi_hits", batch.scifi_hits.elements.iter().map(|hit| hit.0))?;
        file.column("scifi_offsets", batch.scifi_hits.offsets.iter().copied())?;
        file.column("velo_clusters", batch.velo_clusters.elements.iter().map(|cluster| cluster.0))?;
        file.column("cluster_offsets", batch.velo_clusters.offsets.iter().copied())?;
        let tracks = &batch.velo_tracks.elements;
        file.column("track_x", tracks.iter().map(|track| track.x))?;
        file.column("track_y", tracks.iter().map(|track| track.y))?;
        file.column("track_z", tracks.iter().map(|track| track.z))?;
        file.column("track_tx", tracks.iter().map(|track| track.tx))?;
        file.column("track_ty", tracks.iter().map(|track| track.ty))?;
        file.column("track_backward", tracks.iter().map(|track| track.backward))?;
        file.column("track_offsets", batch.velo_tracks.offsets.iter().copied())?;
        let vertices = &batch.vertices.elements;
        file.column("vertex_x", vertices.iter().map(|vertex| vertex.x))?;
        file.column("vertex_y", vertices.iter().map(|vertex| vertex.y))?;
        file.column("vertex_z", vertices.iter().map(|vertex| vertex.z))?;
        file.column("vertex_z_variance", vertices.iter().map(|vertex| vertex.z_variance))?;
        file.column("vertex_tracks", vertices.iter().map(|vertex| vertex.tracks))?;
        file.column("vertex_offsets", batch.vertices.offsets.iter().copied())
    })
}

/// Reads summary banks.
///
/// # Errors
/// [`Error::File`](crate::Error::File) if the file cannot be read, or if an array is missing, has
/// another shape or a number that does not fit.
pub fn read_banks(path: &Path) -> Result<Banks> {
    let mut file = ArrayFile::open(path)?;
    let event_ids: Vec<u64> = file.column("event_id")?;
    let words: Vec<u32> = file.column("words")?;
    let offsets: Vec<u64> = file.as_long("offsets", event_ids.len() + 1)?;
    let bounds = file.bounds("offsets", offsets, words.len())?;
    let banks = bounds.windows(2).map(|pair| words[pair[0]..pair[1]].to_vec()).collect();
    Ok(Banks { event_ids, banks })
}

/// Writes summary banks.
///
/// The writes are small, so `out` should be buffered.
///
/// # Errors
/// Any error of `out`.
pub fn write_banks(out: impl Write + Seek, banks: &Banks) -> io::Result<()> {
    let mut offsets = vec![0_u64];
    for bank in &banks.banks {
        offsets.push(offsets[offsets.len() - 1] + bank.len() as u64);
    }
    write(out, |file| {
        file.column("event_id", banks.event_ids.iter().copied())?;
        file.column("offsets", offsets.iter().copied())?;
        file.column("words", banks.banks.iter().flatten().copied())
    })
}

fn offsets(file: &mut ArrayFile, name: &str, events: usize, elements: usize) -> Result<Vec<usize>> {
    let offsets: Vec<u32> = file.as_long(name, events + 1)?;
    Ok(file.bounds(name, offsets.into_iter().map(u64::from), elements)?)
}

fn write<W: Write + Seek>(out: W, columns: impl FnOnce(&mut ArrayWriter<W>) -> io::Result<()>) -> io::Result<()> {
    let mut writer = ArrayWriter::new(out);
    columns(&mut writer)?;
    writer.finish()
}
