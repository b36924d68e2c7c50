//! Files: events and summary banks in NumPy's `.npz` format, one array for each column.
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

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use npyz::{Deserialize, NpyFile, WriterBuilder};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::error::{Error, Result};
use crate::event::{EventBatch, EventView, Header, SciFiHit, VeloCluster, VeloTrack, Vertex};

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
/// [`Error::File`] if the file cannot be read, if an array is missing or has another type or shape,
/// or if [`EventBatch::push`] refuses an event.
pub fn read_events(path: &Path) -> Result<EventBatch> {
    let mut file = Arrays::open(path)?;
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
        _ => return Err(file.error(format!("`adc` has shape {shape:?}, and there are {events} events"))),
    };
    let scifi_hits: Vec<SciFiHit> = file.column("scifi_hits")?.into_iter().map(SciFiHit).collect();
    let velo_clusters: Vec<VeloCluster> = file.column("velo_clusters")?.into_iter().map(VeloCluster).collect();
    let hits = file.offsets("scifi_offsets", events, scifi_hits.len())?;
    let clusters = file.offsets("cluster_offsets", events, velo_clusters.len())?;
    let x: Vec<f32> = file.column("track_x")?;
    let count = x.len();
    let y: Vec<f32> = file.as_long("track_y", count)?;
    let z: Vec<f32> = file.as_long("track_z", count)?;
    let tx: Vec<f32> = file.as_long("track_tx", count)?;
    let ty: Vec<f32> = file.as_long("track_ty", count)?;
    let backward: Vec<u32> = file.as_long("track_backward", count)?;
    let track = |i: usize| VeloTrack { x: x[i], y: y[i], z: z[i], tx: tx[i], ty: ty[i], backward: backward[i] };
    let velo_tracks: Vec<VeloTrack> = (0..count).map(track).collect();
    let tracks_of = file.offsets("track_offsets", events, count)?;
    let x: Vec<f32> = file.column("vertex_x")?;
    let count = x.len();
    let y: Vec<f32> = file.as_long("vertex_y", count)?;
    let z: Vec<f32> = file.as_long("vertex_z", count)?;
    let z_variance: Vec<f32> = file.as_long("vertex_z_variance", count)?;
    let tracks: Vec<u32> = file.as_long("vertex_tracks", count)?;
    let vertex = |i: usize| Vertex { x: x[i], y: y[i], z: z[i], z_variance: z_variance[i], tracks: tracks[i] };
    let vertices: Vec<Vertex> = (0..count).map(vertex).collect();
    let vertices_of = file.offsets("vertex_offsets", events, count)?;

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
        batch.push(event).map_err(|error| file.error(error.to_string()))?;
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
/// [`Error::File`] if the file cannot be read, or if an array is missing or has another type or
/// shape.
pub fn read_banks(path: &Path) -> Result<Banks> {
    let mut file = Arrays::open(path)?;
    let event_ids: Vec<u64> = file.column("event_id")?;
    let words: Vec<u32> = file.column("words")?;
    let offsets: Vec<u64> = file.as_long("offsets", event_ids.len() + 1)?;
    let bounds = file.bounds("offsets", offsets.into_iter().map(|offset| offset as usize).collect(), words.len())?;
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

fn error(path: &Path, what: impl ToString) -> Error {
    Error::File { path: path.display().to_string(), what: what.to_string() }
}

/// The arrays of a file.
struct Arrays<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<File>>,
}

impl<'a> Arrays<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let file = File::open(path).map_err(|source| error(path, source))?;
        let zip = ZipArchive::new(BufReader::new(file))
            .map_err(|source| error(path, format!("this is no .npz file: {source}")))?;
        Ok(Self { path, zip })
    }

    fn error(&self, what: impl ToString) -> Error {
        error(self.path, what)
    }

    fn array<T: Deserialize>(&mut self, name: &str) -> Result<(Vec<u64>, Vec<T>)> {
        let wrong = |what: String| error(self.path, format!("`{name}`: {what}"));
        let mut entry = self
            .zip
            .by_name(&format!("{name}.npy"))
            .map_err(|_| error(self.path, format!("there is no array `{name}`")))?;
        let mut bytes = Vec::new();
        let size = entry.size();
        // The checksum is verified where the end is read: a byte more is asked for.
        entry
            .by_ref()
            .take(size.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| wrong(source.to_string()))?;
        let mut rest = &bytes[..];
        let header = npyz::NpyHeader::from_reader(&mut rest).map_err(|source| wrong(source.to_string()))?;
        let shape = header.shape().to_vec();
        // What a header says is not believed before memory is asked for.
        let elements = shape.iter().try_fold(1_u64, |product, &length| product.checked_mul(length));
        let there = elements.and_then(|elements| elements.checked_mul(size_of::<T>() as u64));
        if there != Some(rest.len() as u64) {
            return Err(wrong(format!("shape {shape:?} does not go with {} bytes of it", rest.len())));
        }
        if header.order() != npyz::Order::C && shape.len() > 1 {
            return Err(wrong("it is stored by columns (fortran_order), and is wanted by rows".to_owned()));
        }
        let array = NpyFile::with_header(header, rest);
        let data = array.data::<T>().map_err(|source| wrong(source.to_string()))?;
        Ok((shape, data.collect::<io::Result<_>>().map_err(|source| wrong(source.to_string()))?))
    }

    fn column<T: Deserialize>(&mut self, name: &str) -> Result<Vec<T>> {
        let (shape, column) = self.array(name)?;
        match shape.len() {
            1 => Ok(column),
            _ => Err(self.error(format!("`{name}` has shape {shape:?}, and one dimension is wanted"))),
        }
    }

    fn as_long<T: Deserialize>(&mut self, name: &str, length: usize) -> Result<Vec<T>> {
        let column: Vec<T> = self.column(name)?;
        if column.len() == length {
            return Ok(column);
        }
        Err(self.error(format!("`{name}` has {} elements, and {length} are wanted", column.len())))
    }

    fn offsets(&mut self, name: &str, events: usize, elements: usize) -> Result<Vec<usize>> {
        let offsets: Vec<u32> = self.as_long(name, events + 1)?;
        self.bounds(name, offsets.into_iter().map(|offset| offset as usize).collect(), elements)
    }

    fn bounds(&self, name: &str, offsets: Vec<usize>, elements: usize) -> Result<Vec<usize>> {
        if offsets.first() == Some(&0) && offsets.last() == Some(&elements) && offsets.is_sorted() {
            return Ok(offsets);
        }
        Err(self.error(format!("`{name}` does not rise from 0 to {elements}")))
    }
}

/// A writer of `.npz` archives.
struct ArrayWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
}

fn write<W: Write + Seek>(out: W, columns: impl FnOnce(&mut ArrayWriter<W>) -> io::Result<()>) -> io::Result<()> {
    let mut writer = ArrayWriter { zip: ZipWriter::new(out) };
    columns(&mut writer)?;
    writer.zip.finish()?;
    Ok(())
}

impl<W: Write + Seek> ArrayWriter<W> {
    fn array<T: npyz::AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[u64],
        elements: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(format!("{name}.npy"), options)?;
        let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut self.zip).begin_nd()?;
        writer.extend(elements)?;
        writer.finish()
    }

    fn column<T: npyz::AutoSerialize>(&mut self, name: &str, elements: impl Iterator<Item = T>) -> io::Result<()> {
        let elements: Vec<T> = elements.collect();
        self.array(name, &[elements.len() as u64], elements)
    }
}
