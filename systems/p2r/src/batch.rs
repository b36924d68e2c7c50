//! Tracks and hits in memory: arrays of structures of arrays.

use std::fmt;

use bytemuck::Pod;
use kernel_host::{Precision, available_memory};

use crate::error::{Error, Result};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A number type of the computation: `f32` or `f64`.
pub trait Number: Pod + Into<f64> + PartialOrd + Default + fmt::Debug + Send + Sync + sealed::Sealed {
    /// The [`Precision`] that names this type.
    const PRECISION: Precision;

    /// Converts from f64, rounded to the nearest number.
    fn from_f64(value: f64) -> Self;
}

impl Number for f32 {
    const PRECISION: Precision = Precision::F32;

    fn from_f64(value: f64) -> Self {
        value as Self
    }
}

impl Number for f64 {
    const PRECISION: Precision = Precision::F64;

    fn from_f64(value: f64) -> Self {
        value
    }
}

/// The number of parameters of a track: x, y, z \[cm\], 1/pt \[1/GeV\], phi, theta.
pub const PARAMETERS: usize = 6;
/// The number of entries of the covariance matrix: its lower triangle, row by row.
pub const COVARIANCES: usize = 21;
/// The number of values in a track's state: parameters and covariance.
pub const STATE: usize = PARAMETERS + COVARIANCES;
/// The number of values in a track: its state and its charge.
pub const TRACK: usize = STATE + 1;
/// The number of values in a hit: x, y, z \[cm\], and the lower triangle of their covariance.
pub const HIT: usize = 9;
/// The largest number of layers in a batch.
pub const MAX_LAYERS: usize = 22;

/// Ratios of a magnetic field to [`FIELD`](crate::FIELD) that are accepted.
pub(crate) const FIELD_RATIO_LIMITS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// A track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    /// x, y, z \[cm\], 1/pt \[1/GeV\], phi, theta.
    pub par: [f64; PARAMETERS],
    /// The lower triangle of their covariance, row by row.
    pub cov: [f64; COVARIANCES],
    /// 1 or -1 in a field of [`FIELD`](crate::FIELD). In a field of B \[T\], divide by B / `FIELD`:
    /// the radius of the helix is proportional to this number.
    pub charge: f64,
}

/// A hit: on a cylinder around the beam, whose radius is exact, or on a disk across the beam, whose
/// z is exact ([`Hit::is_on_disk`]).
///
/// A track that has no hit in a layer has [`Hit::MISSING`] there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// x, y, z \[cm\].
    pub pos: [f64; 3],
    /// The lower triangle of their covariance, row by row.
    pub cov: [f64; 6],
}

impl Hit {
    /// The mark of a layer without a hit. The fit skips the layer.
    pub const MISSING: Self = Self { pos: [0.0; 3], cov: [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0] };

    /// Returns whether this is the mark of a layer without a hit.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.pos[..2] == Self::MISSING.pos[..2] && self.cov[0] == Self::MISSING.cov[0]
    }

    /// Returns whether the hit lies on a disk: the variance of z is 0, and the variance of x is
    /// above 0. The fit then propagates to the z of the hit, and the hit measures x and y.
    #[must_use]
    pub fn is_on_disk(&self) -> bool {
        self.cov[5] == 0.0 && self.cov[0] > 0.0
    }
}

/// The memory layout of a batch: `events` of `tracks` tracks each, in groups of `bsize`.
///
/// Value `n` of track `i` of an event is at `((event * groups + i / bsize) * TRACK + n) * bsize + i
/// % bsize`. Value `n` of its hit in a layer is at `(((event * groups + i / bsize) * layers +
/// layer) * HIT + n) * bsize + i % bsize`. A `bsize` of 1 gives an array of structures; a `bsize`
/// of `tracks` gives a structure of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The number of events.
    pub events: usize,
    /// The number of tracks in each event.
    pub tracks: usize,
    /// The number of layers, at most [`MAX_LAYERS`]. Each track has one hit in each layer.
    pub layers: usize,
    /// The number of tracks in a group.
    pub bsize: usize,
}

impl Layout {
    /// Returns the number of groups in an event. The last group may have unused slots.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.tracks.div_ceil(self.bsize.max(1))
    }

    /// Returns the number of slots in all events, unused slots included.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.events * self.groups() * self.bsize
    }

    /// Returns the slot of a track.
    #[must_use]
    pub fn slot(&self, event: usize, track: usize) -> usize {
        event * self.groups() * self.bsize + track
    }

    /// Returns whether a slot holds a track.
    #[must_use]
    pub fn is_used(&self, slot: usize) -> bool {
        slot % (self.groups() * self.bsize) < self.tracks
    }

    /// Returns the index of value `n` of a record with `of` values.
    pub(crate) fn at(&self, slot: usize, n: usize, of: usize) -> usize {
        (slot / self.bsize * of + n) * self.bsize + slot % self.bsize
    }

    fn check(self) -> Result<Self> {
        let wrong = |what: &str| Err(Error::Batch { what: what.to_owned() });
        if self.bsize == 0 {
            return wrong("tracks are laid out together in groups of 1 or more, not of 0");
        }
        if self.layers > MAX_LAYERS {
            return wrong(&format!("{} layers, and there are {MAX_LAYERS} at most", self.layers));
        }
        let padded =
            self.tracks.checked_next_multiple_of(self.bsize).and_then(|tracks| tracks.checked_mul(self.events));
        let words = padded.and_then(|slots| slots.checked_mul((self.layers * HIT).max(TRACK)));
        if words.is_none_or(|words| words > 1 << 40) {
            return wrong(&format!("{} events of {} tracks are too many for one batch", self.events, self.tracks));
        }
        Ok(self)
    }

    /// Returns the bytes of the tracks and hits of a batch in a number type.
    #[must_use]
    pub fn bytes<T: Number>(&self) -> u64 {
        let words = self.slots() as u128 * (TRACK + self.layers * HIT) as u128;
        u64::try_from(words * size_of::<T>() as u128).unwrap_or(u64::MAX)
    }
}

/// The tracks of events and their hits in each layer, in the order in which tracks reach them.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<T: Number> {
    layout: Layout,
    tracks: Vec<T>,
    hits: Vec<T>,
    /// Of each hit; empty if tracks do not scatter.
    scatterings: Vec<T>,
    /// Whether a hit on a disk was ever set.
    has_disks: bool,
}

impl<T: Number> Batch<T> {
    /// Makes a batch of zeros.
    ///
    /// # Errors
    /// [`Error::Batch`] if `bsize` is 0, or if there are too many layers or tracks;
    /// [`Error::OutOfMemory`].
    pub fn new(layout: Layout) -> Result<Self> {
        let layout = layout.check()?;
        if let Some(available) = available_memory().filter(|&available| layout.bytes::<T>() > available) {
            return Err(Error::OutOfMemory { bytes: layout.bytes::<T>(), available: Some(available) });
        }
        let slots = layout.slots();
        Ok(Self {
            layout,
            tracks: zeros(slots * TRACK)?,
            hits: zeros(slots * layout.layers * HIT)?,
            scatterings: Vec::new(),
            has_disks: false,
        })
    }

    /// Returns the memory layout.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the values of all tracks, in the order of [`Layout`].
    #[must_use]
    pub fn track_words(&self) -> &[T] {
        &self.tracks
    }

    /// Returns the values of all hits, in the order of [`Layout`].
    #[must_use]
    pub fn hit_words(&self) -> &[T] {
        &self.hits
    }

    /// Returns the scattering at all hits; empty if tracks do not scatter. The value of track `i`
    /// of an event in a layer is at `((event * groups + i / bsize) * layers + layer) * bsize + i %
    /// bsize`.
    #[must_use]
    pub fn scattering_words(&self) -> &[T] {
        &self.scatterings
    }

    /// Returns whether hits may lie on disks. Engines fit batches without disks faster.
    pub(crate) fn has_disks(&self) -> bool {
        self.has_disks
    }

    /// Returns the values of each event, tracks and hits, for writing. Hits that are written so
    /// must not lie on disks.
    pub(crate) fn words_by_event(&mut self) -> (std::slice::ChunksExactMut<'_, T>, std::slice::ChunksExactMut<'_, T>) {
        let slots = (self.layout.groups() * self.layout.bsize).max(1);
        (
            self.tracks.chunks_exact_mut(slots * TRACK),
            self.hits.chunks_exact_mut((slots * self.layout.layers * HIT).max(1)),
        )
    }

    /// Returns a track.
    ///
    /// # Panics
    /// If the event, the track or the layer is out of range.
    #[must_use]
    pub fn track(&self, event: usize, track: usize) -> Track {
        let slot = self.checked(event, track);
        let word = |n: usize| self.tracks[self.layout.at(slot, n, TRACK)].into();
        Track {
            par: std::array::from_fn(word),
            cov: std::array::from_fn(|n| word(PARAMETERS + n)),
            charge: word(STATE),
        }
    }

    /// Sets a track.
    ///
    /// # Panics
    /// If the event, the track or the layer is out of range.
    pub fn set_track(&mut self, event: usize, track: usize, value: &Track) {
        let slot = self.checked(event, track);
        for (n, number) in words_of(value).enumerate() {
            let at = self.layout.at(slot, n, TRACK);
            self.tracks[at] = T::from_f64(number);
        }
    }

    /// Returns a hit.
    ///
    /// # Panics
    /// If the event, the track or the layer is out of range.
    #[must_use]
    pub fn hit(&self, event: usize, track: usize, layer: usize) -> Hit {
        assert!(layer < self.layout.layers, "layer {layer} of {}", self.layout.layers);
        let slot = self.checked(event, track);
        let word = |n: usize| self.hits[self.layout.at(slot, layer * HIT + n, self.layout.layers * HIT)].into();
        Hit { pos: std::array::from_fn(word), cov: std::array::from_fn(|n| word(3 + n)) }
    }

    /// Sets a hit.
    ///
    /// # Panics
    /// If the event, the track or the layer is out of range.
    pub fn set_hit(&mut self, event: usize, track: usize, layer: usize, value: &Hit) {
        assert!(layer < self.layout.layers, "layer {layer} of {}", self.layout.layers);
        let slot = self.checked(event, track);
        self.has_disks |= value.is_on_disk();
        for (n, &number) in value.pos.iter().chain(&value.cov).enumerate() {
            let at = self.layout.at(slot, layer * HIT + n, self.layout.layers * HIT);
            self.hits[at] = T::from_f64(number);
        }
    }

    /// Returns the scattering of a track behind its hit in a layer.
    ///
    /// # Panics
    /// If the event, the track or the layer is out of range.
    #[must_use]
    pub fn scattering(&self, event: usize, track: usize, layer: usize) -> f64 {
        let at = self.scattering_at(event, track, layer);
        self.scatterings.get(at).map_or(0.0, |&value| value.into())
    }

    /// Sets the scattering of a track behind its hit in a layer: the variance of the projected
    /// angle times (beta p)^2 \[rad^2 GeV^2\]. A fit in [`Mode::Sequential`](crate::Mode) adds it
    /// to the covariance after the update with this hit. So the result lies behind the last hit.
    /// [`Material`](crate::io::Material) sets the scattering at all hits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    ///
    /// # Panics
    /// If the event, the track or the layer is out of range.
    pub fn set_scattering(&mut self, event: usize, track: usize, layer: usize, value: f64) -> Result<()> {
        let at = self.scattering_at(event, track, layer);
        if self.scatterings.is_empty() {
            self.scatterings = zeros(self.layout.slots() * self.layout.layers)?;
        }
        self.scatterings[at] = T::from_f64(value);
        Ok(())
    }

    fn scattering_at(&self, event: usize, track: usize, layer: usize) -> usize {
        assert!(layer < self.layout.layers, "layer {layer} of {}", self.layout.layers);
        self.layout.at(self.checked(event, track), layer, self.layout.layers)
    }

    fn checked(&self, event: usize, track: usize) -> usize {
        let Layout { events, tracks, .. } = self.layout;
        assert!(event < events && track < tracks, "track {track} of event {event}: {events} events of {tracks} tracks");
        self.layout.slot(event, track)
    }

    /// Returns the same tracks and hits in another layout, in another number type, or with fewer
    /// layers.
    ///
    /// # Errors
    /// [`Error::Batch`] if `bsize` is 0, or if `layers` exceeds the number of layers.
    pub fn relaid<U: Number>(&self, bsize: usize, layers: usize) -> Result<Batch<U>> {
        if layers > self.layout.layers {
            return Err(Error::Batch { what: format!("{layers} layers of a batch with {}", self.layout.layers) });
        }
        let mut other = Batch::new(Layout { bsize, layers, ..self.layout })?;
        for event in 0..self.layout.events {
            for track in 0..self.layout.tracks {
                other.set_track(event, track, &self.track(event, track));
                for layer in 0..layers {
                    other.set_hit(event, track, layer, &self.hit(event, track, layer));
                    if !self.scatterings.is_empty() {
                        other.set_scattering(event, track, layer, self.scattering(event, track, layer))?;
                    }
                }
            }
        }
        Ok(other)
    }
}

/// Allocates zeros.
pub(crate) fn zeros<T: Pod>(length: usize) -> Result<Vec<T>> {
    // The allocator takes zeroed pages from the system. Without memory `vec!` would abort.
    let bytes = length.saturating_mul(size_of::<T>()) as u64;
    let mut probe = Vec::<T>::new();
    probe.try_reserve_exact(length).map_err(|_| Error::OutOfMemory { bytes, available: None })?;
    drop(probe);
    Ok(vec![T::zeroed(); length])
}

/// Returns the values of a track in the order of memory.
pub(crate) fn words_of(track: &Track) -> impl Iterator<Item = f64> {
    track.par.into_iter().chain(track.cov).chain([track.charge])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_place() {
        for bsize in [1, 3, 8, 10, 16] {
            let layout = Layout { events: 2, tracks: 10, layers: 3, bsize };
            let mut batch = Batch::<f64>::new(layout).expect("a batch");
            let track = |event: usize, i: usize| {
                let number = |n: usize| (event * 1000 + i * 50 + n) as f64;
                Track {
                    par: std::array::from_fn(number),
                    cov: std::array::from_fn(|n| number(n + 6)),
                    charge: number(27),
                }
            };
            let hit = |event: usize, i: usize, layer: usize| {
                let number = |n: usize| (event * 10_000 + i * 100 + layer * 10 + n) as f64 + 0.5;
                Hit { pos: std::array::from_fn(number), cov: std::array::from_fn(|n| number(n + 3)) }
            };
            for (event, i) in (0..2).flat_map(|event| (0..10).map(move |i| (event, i))) {
                batch.set_track(event, i, &track(event, i));
                (0..3).for_each(|layer| batch.set_hit(event, i, layer, &hit(event, i, layer)));
            }
            // As the page says.
            let at = |event: usize, i: usize, n: usize| {
                ((event * layout.groups() + i / bsize) * TRACK + n) * bsize + i % bsize
            };
            assert_eq!(batch.track_words()[at(1, 7, 5)], track(1, 7).par[5]);
            let other: Batch<f64> = batch.relaid(4, 2).expect("relaid");
            for (event, i) in (0..2).flat_map(|event| (0..10).map(move |i| (event, i))) {
                assert_eq!((batch.track(event, i), other.track(event, i)), (track(event, i), track(event, i)));
                assert_eq!((batch.hit(event, i, 1), other.hit(event, i, 1)), (hit(event, i, 1), hit(event, i, 1)));
            }
            assert_eq!((0..layout.slots()).filter(|&slot| layout.is_used(slot)).count(), 20);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let layout = Layout { events: 1, tracks: 1, layers: 1, bsize: 1 };
        for wrong in [
            Layout { bsize: 0, ..layout },
            Layout { layers: 23, ..layout },
            Layout { events: usize::MAX, tracks: 2, ..layout },
            Layout { tracks: usize::MAX, bsize: 7, ..layout },
            Layout { events: 1 << 20, tracks: 1 << 20, ..layout },
        ] {
            assert!(Batch::<f32>::new(wrong).is_err(), "{wrong:?}");
        }
        let batch = Batch::<f32>::new(layout).expect("a batch");
        assert!(batch.relaid::<f32>(1, 2).is_err() && batch.relaid::<f32>(0, 1).is_err());
    }
}
