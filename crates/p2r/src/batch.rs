//! Tracks and hits in memory: arrays of structures of arrays.

use std::fmt;

use bytemuck::Pod;

use crate::error::{Error, Result};

mod sealed {
    use super::{Batch, Number};
    use crate::engine::{Fitted, Mode, cpu};

    pub trait Sealed: Sized {
        /// By the CPU engine, which is of f32.
        fn fit_on_cpu(batch: &Batch<Self>, mode: Mode, fitted: &mut Fitted<Self>) -> Option<()>
        where
            Self: Number;
    }

    impl Sealed for f32 {
        fn fit_on_cpu(batch: &Batch<Self>, mode: Mode, fitted: &mut Fitted<Self>) -> Option<()> {
            cpu::fit(batch, mode, fitted);
            Some(())
        }
    }

    impl Sealed for f64 {
        fn fit_on_cpu(_: &Batch<Self>, _: Mode, _: &mut Fitted<Self>) -> Option<()> {
            None
        }
    }
}

/// A number type of the computation.
pub trait Number: Pod + Into<f64> + PartialOrd + Default + fmt::Debug + Send + Sync + sealed::Sealed {
    /// `f32` or `f64`.
    const NAME: &'static str;

    /// Rounded.
    fn from_f64(value: f64) -> Self;
}

impl Number for f32 {
    const NAME: &'static str = "f32";

    fn from_f64(value: f64) -> Self {
        value as Self
    }
}

impl Number for f64 {
    const NAME: &'static str = "f64";

    fn from_f64(value: f64) -> Self {
        value
    }
}

/// Parameters of a track: x, y, z \[cm\], 1/pt \[1/GeV\], phi, theta.
pub const PARAMETERS: usize = 6;
/// Entries of a symmetric matrix of the parameters: its lower triangle, row by row.
pub const COVARIANCES: usize = 21;
/// Numbers of a track's state.
pub const STATE: usize = PARAMETERS + COVARIANCES;
/// Numbers of a track: its state and its charge.
pub const TRACK: usize = STATE + 1;
/// Numbers of a hit: x, y, z \[cm\], and the lower triangle of their covariance.
pub const HIT: usize = 9;
/// The most layers of a batch.
pub const MAX_LAYERS: usize = 22;

/// A track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    /// x, y, z \[cm\], 1/pt \[1/GeV\], phi, theta.
    pub par: [f64; PARAMETERS],
    /// The lower triangle of their covariance, row by row.
    pub cov: [f64; COVARIANCES],
    /// 1 or -1.
    pub charge: f64,
}

/// A hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// x, y, z \[cm\].
    pub pos: [f64; 3],
    /// The lower triangle of their covariance, row by row.
    pub cov: [f64; 6],
}

/// How a batch is laid out: `events` of `tracks` tracks, in groups of `bsize`.
///
/// Number `n` of track `i` of an event is at `((event * groups + i / bsize) * TRACK + n) * bsize + i % bsize`, that of its hit in a
/// layer at `(((event * groups + i / bsize) * layers + layer) * HIT + n) * bsize + i % bsize`. With a `bsize` of 1 that is an array of
/// structures, with one of all tracks of an event a structure of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Events.
    pub events: usize,
    /// Tracks of each event.
    pub tracks: usize,
    /// Layers, of each a hit for each track; [`MAX_LAYERS`] at most.
    pub layers: usize,
    /// Tracks that are laid out together.
    pub bsize: usize,
}

impl Layout {
    /// Groups of an event; the last one may have room that is not used.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.tracks.div_ceil(self.bsize.max(1))
    }

    /// Places for tracks, of all events, those that are not used among them.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.events * self.groups() * self.bsize
    }

    /// The place of a track.
    #[must_use]
    pub fn slot(&self, event: usize, track: usize) -> usize {
        event * self.groups() * self.bsize + track
    }

    /// Whether a track is in a place.
    #[must_use]
    pub fn is_used(&self, slot: usize) -> bool {
        slot % (self.groups() * self.bsize) < self.tracks
    }

    /// Where number `n` of `of` is of what lies in a place.
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
}

/// Tracks of events, and their hits in each layer, in the order in which tracks meet them.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<T: Number> {
    layout: Layout,
    tracks: Vec<T>,
    hits: Vec<T>,
}

impl<T: Number> Batch<T> {
    /// All numbers zero.
    ///
    /// # Errors
    /// [`Error::Batch`] for a `bsize` of 0, too many layers or tracks.
    pub fn new(layout: Layout) -> Result<Self> {
        let layout = layout.check()?;
        let slots = layout.slots();
        Ok(Self {
            layout,
            tracks: vec![T::default(); slots * TRACK],
            hits: vec![T::default(); slots * layout.layers * HIT],
        })
    }

    /// How it is laid out.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// All tracks' numbers, as [`Layout`] says.
    #[must_use]
    pub fn track_words(&self) -> &[T] {
        &self.tracks
    }

    /// All hits' numbers, as [`Layout`] says.
    #[must_use]
    pub fn hit_words(&self) -> &[T] {
        &self.hits
    }

    /// The tracks and hits of an event, to be written.
    pub(crate) fn words_by_event(&mut self) -> (std::slice::ChunksExactMut<'_, T>, std::slice::ChunksExactMut<'_, T>) {
        let slots = (self.layout.groups() * self.layout.bsize).max(1);
        (
            self.tracks.chunks_exact_mut(slots * TRACK),
            self.hits.chunks_exact_mut((slots * self.layout.layers * HIT).max(1)),
        )
    }

    /// A track.
    ///
    /// # Panics
    /// If there is no such one.
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

    /// Puts a track there.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn set_track(&mut self, event: usize, track: usize, value: &Track) {
        let slot = self.checked(event, track);
        for (n, number) in words_of(value).enumerate() {
            let at = self.layout.at(slot, n, TRACK);
            self.tracks[at] = T::from_f64(number);
        }
    }

    /// A hit.
    ///
    /// # Panics
    /// If there is no such one.
    #[must_use]
    pub fn hit(&self, event: usize, track: usize, layer: usize) -> Hit {
        assert!(layer < self.layout.layers, "layer {layer} of {}", self.layout.layers);
        let slot = self.checked(event, track);
        let word = |n: usize| self.hits[self.layout.at(slot, layer * HIT + n, self.layout.layers * HIT)].into();
        Hit { pos: std::array::from_fn(word), cov: std::array::from_fn(|n| word(3 + n)) }
    }

    /// Puts a hit there.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn set_hit(&mut self, event: usize, track: usize, layer: usize, value: &Hit) {
        assert!(layer < self.layout.layers, "layer {layer} of {}", self.layout.layers);
        let slot = self.checked(event, track);
        for (n, &number) in value.pos.iter().chain(&value.cov).enumerate() {
            let at = self.layout.at(slot, layer * HIT + n, self.layout.layers * HIT);
            self.hits[at] = T::from_f64(number);
        }
    }

    fn checked(&self, event: usize, track: usize) -> usize {
        let Layout { events, tracks, .. } = self.layout;
        assert!(event < events && track < tracks, "track {track} of event {event}: {events} events of {tracks} tracks");
        self.layout.slot(event, track)
    }

    /// The same tracks and hits, otherwise laid out, in another number type, or with fewer layers.
    ///
    /// # Errors
    /// [`Error::Batch`] for a `bsize` of 0, or more layers than there are.
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
                }
            }
        }
        Ok(other)
    }
}

/// In the order in which they lie.
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
