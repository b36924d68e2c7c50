//! Events, and batches of them as columns.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Result};

/// The value of an invalid calorimeter digit.
pub const INVALID_ADC: i16 = i16::MIN;

/// The largest number of vertices in an event.
pub const MAX_VERTICES: usize = 256;

/// The properties of an event that are known before counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The event id, independent of the batch. It selects the vertex of
    /// [`VertexCounters::position`](crate::VertexCounters::position).
    pub event_id: u64,
    /// The turn of the beam.
    pub orbit: u32,
    /// Number of the bunch crossing in the orbit, from 0.
    pub bunch: u16,
    /// The type of the crossing, 0 to 3: no beam, two types with one beam, both beams.
    pub crossing: u8,
    /// The GPS time \[us\].
    pub gps_us: u64,
    /// Whether the 30 kHz line selected the event: basic counters are needed.
    pub basic: bool,
    /// Whether the 1 kHz line selected the event: all counters are needed.
    pub full: bool,
    /// Whether the event was reconstructed. Events with too many hits are not: they have no tracks
    /// and no vertices.
    pub reconstructed: bool,
}

impl Header {
    pub(crate) const BASIC: u32 = 1;
    pub(crate) const FULL: u32 = 2;
    pub(crate) const RECONSTRUCTED: u32 = 4;

    /// Returns whether a lumi line selected the event.
    #[must_use]
    pub fn is_lumi(&self) -> bool {
        self.basic || self.full
    }

    pub(crate) fn flags(&self) -> u32 {
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        flag(self.basic, Self::BASIC) | flag(self.full, Self::FULL) | flag(self.reconstructed, Self::RECONSTRUCTED)
    }
}

/// A hit of the fibre tracker. Bits 0 to 10: channel; 11 to 13: module; 14 to 15: quarter; 16 to
/// 17: layer; 18 to 19: station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct SciFiHit(pub u32);

impl SciFiHit {
    /// Makes a hit from `station` 1 to 3, `layer` 0 to 3, `quarter` 0 to 3, `module` 0 to 5 (4 in
    /// the first two stations) and `channel` 0 to 2047. Excess bits are dropped.
    #[must_use]
    pub fn new(station: u32, layer: u32, quarter: u32, module: u32, channel: u32) -> Self {
        Self((station & 3) << 18 | (layer & 3) << 16 | (quarter & 3) << 14 | (module & 7) << 11 | channel & 0x7ff)
    }

    /// Returns the station, 1 to 3; 0 is no station.
    #[must_use]
    pub fn station(self) -> u32 {
        self.0 >> 18 & 3
    }

    /// Returns the quarter, 0 to 3.
    #[must_use]
    pub fn quarter(self) -> u32 {
        self.0 >> 14 & 3
    }

    /// Returns the module, 0 next to the beam.
    #[must_use]
    pub fn module(self) -> u32 {
        self.0 >> 11 & 7
    }
}

/// A cluster of the vertex locator. Bits 0 to 15: position on the sensor; 16 to 23: sensor (0 to
/// 207).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct VeloCluster(pub u32);

impl VeloCluster {
    /// Makes a cluster. Excess bits are dropped.
    #[must_use]
    pub fn new(sensor: u32, place: u32) -> Self {
        Self((sensor & 0xff) << 16 | place & 0xffff)
    }

    /// Returns the sensor. A station has eight: even ones are inner, odd ones are outer.
    #[must_use]
    pub fn sensor(self) -> u32 {
        self.0 >> 16 & 0xff
    }
}

/// The state of a Velo track at its closest approach to the beam line.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct VeloTrack {
    /// x \[mm\]. x and y are clamped to 32 m.
    pub x: f32,
    /// y \[mm\].
    pub y: f32,
    /// z \[mm\].
    pub z: f32,
    /// dx/dz. Both slopes are clamped to 2.
    pub tx: f32,
    /// dy/dz.
    pub ty: f32,
    /// 1 for a track towards negative z, otherwise 0.
    pub backward: u32,
}

/// A reconstructed vertex.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Vertex {
    /// x \[mm\].
    pub x: f32,
    /// y \[mm\].
    pub y: f32,
    /// z \[mm\].
    pub z: f32,
    /// The variance of z \[mm^2\].
    pub z_variance: f32,
    /// The number of tracks of the vertex.
    pub tracks: u32,
}

/// A single event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// The properties of the event.
    pub header: Header,
    /// The ADC values of the calorimeter cells; [`INVALID_ADC`] for an invalid one.
    pub adc: Vec<i16>,
    /// Hits of the fibre tracker.
    pub scifi_hits: Vec<SciFiHit>,
    /// Clusters of the vertex locator.
    pub velo_clusters: Vec<VeloCluster>,
    /// Tracks of the vertex locator.
    pub velo_tracks: Vec<VeloTrack>,
    /// Vertices.
    pub vertices: Vec<Vertex>,
}

/// Elements of all events, one event after the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column<T> {
    pub(crate) elements: Vec<T>,
    /// Where each event's begin, and where the last one's end.
    pub(crate) offsets: Vec<u32>,
}

impl<T: Clone> Column<T> {
    fn new() -> Self {
        Self { elements: Vec::new(), offsets: vec![0] }
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.elements[..]) + size_of_val(&self.offsets[..])
    }

    fn push(&mut self, elements: &[T]) {
        self.elements.extend_from_slice(elements);
        self.offsets.push(self.elements.len() as u32);
    }

    pub(crate) fn of(&self, event: usize) -> &[T] {
        &self.elements[self.offsets[event] as usize..self.offsets[event + 1] as usize]
    }
}

/// Events as columns.
#[derive(Clone, Debug, PartialEq)]
pub struct EventBatch {
    cells: usize,
    pub(crate) headers: Vec<Header>,
    pub(crate) adc: Vec<i16>,
    pub(crate) scifi_hits: Column<SciFiHit>,
    pub(crate) velo_clusters: Column<VeloCluster>,
    pub(crate) velo_tracks: Column<VeloTrack>,
    pub(crate) vertices: Column<Vertex>,
}

/// A view of one event of a batch.
#[derive(Clone, Copy, Debug)]
pub struct EventView<'a> {
    /// The properties of the event.
    pub header: &'a Header,
    /// The ADC values of the calorimeter cells.
    pub adc: &'a [i16],
    /// Hits of the fibre tracker.
    pub scifi_hits: &'a [SciFiHit],
    /// Clusters of the vertex locator.
    pub velo_clusters: &'a [VeloCluster],
    /// Tracks of the vertex locator.
    pub velo_tracks: &'a [VeloTrack],
    /// Vertices.
    pub vertices: &'a [Vertex],
}

impl EventBatch {
    /// Makes an empty batch for events of `cells` calorimeter cells.
    #[must_use]
    pub fn new(cells: usize) -> Self {
        Self {
            cells,
            headers: Vec::new(),
            adc: Vec::new(),
            scifi_hits: Column::new(),
            velo_clusters: Column::new(),
            velo_tracks: Column::new(),
            vertices: Column::new(),
        }
    }

    /// Returns the number of calorimeter cells of each event.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.headers.len()
    }

    /// Returns whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Returns the number of lumi events.
    #[must_use]
    pub fn lumi_events(&self) -> usize {
        self.headers.iter().filter(|header| header.is_lumi()).count()
    }

    /// Returns the bytes of all columns.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.headers[..])
            + size_of_val(&self.adc[..])
            + self.scifi_hits.bytes()
            + self.velo_clusters.bytes()
            + self.velo_tracks.bytes()
            + self.vertices.bytes()
    }

    /// Adds an event.
    ///
    /// # Errors
    /// [`Error::Event`] for a wrong number of digits, a track or vertex with a value that is not
    /// finite, a variance below zero, or more than [`MAX_VERTICES`] vertices.
    /// [`Error::BatchTooLarge`] if a column would have 2^32 elements. The batch is unchanged after
    /// an error.
    pub fn push(&mut self, event: EventView<'_>) -> Result<()> {
        let at = self.len();
        let wrong = |what: String| Err(Error::Event { event: at, what });
        if event.adc.len() != self.cells {
            return wrong(format!("{} digits, and {} calorimeter cells", event.adc.len(), self.cells));
        }
        if event.vertices.len() > MAX_VERTICES {
            return wrong(format!("{} vertices, and no more than {MAX_VERTICES} can be counted", event.vertices.len()));
        }
        let finite = |t: &VeloTrack| [t.x, t.y, t.z, t.tx, t.ty].iter().all(|value| value.is_finite());
        if let Some(track) = event.velo_tracks.iter().position(|track| !finite(track)) {
            return wrong(format!("Velo track {track} has a value that is no finite number"));
        }
        let sound = |v: &Vertex| [v.x, v.y, v.z, v.z_variance].iter().all(|x| x.is_finite()) && v.z_variance >= 0.0;
        if let Some(vertex) = event.vertices.iter().position(|vertex| !sound(vertex)) {
            return wrong(format!("vertex {vertex} has a value that is no finite number, or a variance below zero"));
        }
        let full = |elements: usize, more: usize| elements + more > u32::MAX as usize;
        if full(self.scifi_hits.elements.len(), event.scifi_hits.len())
            || full(self.velo_clusters.elements.len(), event.velo_clusters.len())
            || full(self.velo_tracks.elements.len(), event.velo_tracks.len())
        {
            return Err(Error::BatchTooLarge);
        }
        self.headers.push(*event.header);
        self.adc.extend_from_slice(event.adc);
        self.scifi_hits.push(event.scifi_hits);
        self.velo_clusters.push(event.velo_clusters);
        self.velo_tracks.push(event.velo_tracks);
        self.vertices.push(event.vertices);
        Ok(())
    }

    /// Returns an event.
    ///
    /// # Panics
    /// If the index is out of range.
    #[must_use]
    pub fn event(&self, event: usize) -> EventView<'_> {
        EventView {
            header: &self.headers[event],
            adc: &self.adc[event * self.cells..(event + 1) * self.cells],
            scifi_hits: self.scifi_hits.of(event),
            velo_clusters: self.velo_clusters.of(event),
            velo_tracks: self.velo_tracks.of(event),
            vertices: self.vertices.of(event),
        }
    }

    /// Iterates over all events.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = EventView<'_>> {
        (0..self.len()).map(|event| self.event(event))
    }
}

impl Event {
    /// Returns a view of the event.
    #[must_use]
    pub fn view(&self) -> EventView<'_> {
        EventView {
            header: &self.header,
            adc: &self.adc,
            scifi_hits: &self.scifi_hits,
            velo_clusters: &self.velo_clusters,
            velo_tracks: &self.velo_tracks,
            vertices: &self.vertices,
        }
    }
}
