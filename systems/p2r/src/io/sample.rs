//! Samples of tracks whose numbers of hits differ.

use std::path::Path;

use array_file::ArrayFile;

use crate::batch::{Batch, COVARIANCES, FIELD_RATIO_LIMITS, Hit, Layout, MAX_LAYERS, Number, PARAMETERS, Track};
use crate::engine::reference::FIELD;
use crate::error::{Error, Result};

/// The tracks of an event of the batch that is made of a sample.
const TRACKS_OF_EVENT: usize = 8192;

/// A track of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleTrack {
    /// The event id of the file.
    pub event_id: u64,
    /// The track id of the file.
    pub track_id: u64,
    /// The charge of the particle.
    pub charge: f64,
    /// The start of the fit.
    pub start: Track,
    /// The hits, in the order in which the track reaches them.
    pub hits: Vec<Hit>,
    /// The true parameters at the last hit.
    pub truth: Option<[f64; PARAMETERS]>,
}

/// Names and truth of tracks, event after event, which the output repeats.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// Event ids.
    pub event_ids: Vec<u64>,
    /// Track ids.
    pub track_ids: Vec<u64>,
    /// Charges of the particles.
    pub charges: Vec<f64>,
    /// The true parameters at the last hit, if they are known.
    pub truth: Option<Vec<[f64; PARAMETERS]>>,
}

/// Tracks and hits of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The tracks.
    pub tracks: Vec<SampleTrack>,
    /// The number of tracks that were left out, because they have too few hits.
    pub left_out: usize,
    /// The number of hits that were left out, because a track has more than [`MAX_LAYERS`].
    pub hits_left_out: usize,
}

impl Sample {
    /// Makes a batch of all tracks in groups of `bsize`. The fit does not use events, so the tracks
    /// are divided into events of equal size, whatever their event ids. Slots after the last track
    /// hold tracks of zeros.
    ///
    /// # Errors
    /// [`Error::Batch`] if `bsize` is 0; [`Error::OutOfMemory`].
    pub fn batch<T: Number>(&self, bsize: usize) -> Result<Batch<T>> {
        let layers = self.tracks.iter().map(|track| track.hits.len()).max().unwrap_or(0);
        let tracks = self.tracks.len().min(TRACKS_OF_EVENT);
        let events = self.tracks.len().div_ceil(TRACKS_OF_EVENT);
        let mut batch = Batch::new(Layout { events, tracks, layers, bsize })?;
        for (i, track) in self.tracks.iter().enumerate() {
            let (event, slot) = (i / TRACKS_OF_EVENT, i % TRACKS_OF_EVENT);
            batch.set_track(event, slot, &track.start);
            for layer in 0..layers {
                batch.set_hit(event, slot, layer, track.hits.get(layer).unwrap_or(&Hit::MISSING));
            }
        }
        Ok(batch)
    }

    /// Returns the labels of all tracks. The truth is that of all or of none.
    #[must_use]
    pub fn labels(&self) -> Labels {
        Labels {
            event_ids: self.tracks.iter().map(|track| track.event_id).collect(),
            track_ids: self.tracks.iter().map(|track| track.track_id).collect(),
            charges: self.tracks.iter().map(|track| track.charge).collect(),
            truth: self.tracks.iter().map(|track| track.truth).collect(),
        }
    }

    /// Returns the number of hits.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.tracks.iter().map(|track| track.hits.len()).sum()
    }

    /// Returns the number of hits that lie on disks.
    #[must_use]
    pub fn disk_hits(&self) -> usize {
        self.tracks.iter().flat_map(|track| &track.hits).filter(|hit| hit.is_on_disk()).count()
    }

    /// Adds a track. Hits beyond [`MAX_LAYERS`] are left out, the first ones of the track.
    pub(super) fn push(&mut self, mut track: SampleTrack) {
        let excess = track.hits.len().saturating_sub(MAX_LAYERS);
        track.hits.drain(..excess);
        self.hits_left_out += excess;
        self.tracks.push(track);
    }
}

/// Returns the factor of charges in a field \[T\]: the radius of a helix is proportional to the
/// charge in the fit, and inversely proportional to the field.
///
/// # Errors
/// [`Error::Batch`] if the field is zero or not finite.
pub(super) fn field_ratio(field: f64) -> Result<f64> {
    let ratio = FIELD / field;
    if FIELD_RATIO_LIMITS.contains(&ratio.abs()) {
        return Ok(ratio);
    }
    Err(Error::Batch {
        what: format!("a magnetic field of {field} T bends no track: 1e-6 to 1e6 T, or -1e6 to -1e-6 T"),
    })
}

/// Reads the tracks of an `.npz` file in a magnetic field along z \[T\]; see [the module](super).
///
/// # Errors
/// [`Error::File`] if the file cannot be read, or if an array is missing, has another shape, or
/// holds no such numbers; [`Error::Batch`] for a field of zero.
pub fn read_sample(path: &Path, field: f64) -> Result<Sample> {
    let ratio = field_ratio(field)?;
    let mut file = ArrayFile::open(path)?;
    let charge: Vec<f64> = file.column("charge")?;
    let tracks = charge.len();
    let par: Vec<[f64; PARAMETERS]> = rows(&mut file, "par", Some(tracks))?;
    let cov: Vec<[f64; COVARIANCES]> = rows(&mut file, "cov", Some(tracks))?;
    let pos: Vec<[f64; 3]> = rows(&mut file, "hit_pos", None)?;
    let hit_cov: Vec<[f64; 6]> = rows(&mut file, "hit_cov", Some(pos.len()))?;
    let offsets: Vec<u64> = file.as_long("hit_offsets", tracks + 1)?;
    let bounds = file.bounds("hit_offsets", offsets, pos.len())?;
    let truth: Option<Vec<[f64; PARAMETERS]>> =
        if file.has("truth") { Some(rows(&mut file, "truth", Some(tracks))?) } else { None };
    let names: Vec<String> = file.names().collect();
    let event = column_names::event_column(names.iter().map(String::as_str)).map_err(|reason| file.error(reason))?;
    let track = file.has("track_id").then_some("track_id");
    let mut ids = |name: Option<&str>| -> Result<Option<Vec<u64>>> {
        let Some(name) = name else { return Ok(None) };
        Ok(Some(file.as_long(name, tracks)?))
    };
    let (event_ids, track_ids) = (ids(event)?, ids(track)?);
    let mut sample = Sample::default();
    for i in 0..tracks {
        let hits = (bounds[i]..bounds[i + 1]).map(|hit| Hit { pos: pos[hit], cov: hit_cov[hit] }).collect();
        sample.push(SampleTrack {
            event_id: event_ids.as_ref().map_or(0, |ids| ids[i]),
            track_id: track_ids.as_ref().map_or(i as u64, |ids| ids[i]),
            charge: charge[i],
            start: Track { par: par[i], cov: cov[i], charge: charge[i] * ratio },
            hits,
            truth: truth.as_ref().map(|truth| truth[i]),
        });
    }
    Ok(sample)
}

/// Reads an array of rows of `N` numbers.
fn rows<const N: usize>(file: &mut ArrayFile, name: &str, length: Option<usize>) -> Result<Vec<[f64; N]>> {
    let (shape, values) = file.array::<f64>(name)?;
    let found = shape.first().copied().unwrap_or(0) as usize;
    if shape.len() != 2 || shape[1] != N as u64 || length.is_some_and(|length| length != found) {
        let wanted = length.map_or_else(|| "n".to_owned(), |length| length.to_string());
        return Err(file.error(format!("`{name}` has shape {shape:?}, and [{wanted}, {N}] is wanted")).into());
    }
    let (rows, _) = values.as_chunks::<N>();
    Ok(rows.to_vec())
}
