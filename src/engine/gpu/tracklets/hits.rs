//! The pixel hits of several events, packed for the device, with room for what it finds.

use std::sync::{Mutex, PoisonError};

use crate::detector::MAX_LAYERS;
use crate::engine::gpu::tracklets::records::{CHAIN_BYTES, Counts, DOUBLET_BYTES, Event, HIT_BYTES};
use crate::engine::tracklets::roi_hits::RoiHits;
use crate::engine::tracklets::z_ranges::ZRanges;

/// Cells of azimuth of a layer, in `shaders/tracklets/types.wgsl`.
const CELLS: usize = 512;

/// Elements that events take in the buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    pub(super) hits: usize,
    pub(super) cells: usize,
    pub(super) doublets: usize,
    pub(super) outers: usize,
    pub(super) triplets: usize,
    pub(super) kept: usize,
}

impl Needs {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            hits: self.hits + other.hits,
            cells: self.cells + other.cells,
            doublets: self.doublets + other.doublets,
            outers: self.outers + other.outers,
            triplets: self.triplets + other.triplets,
            kept: self.kept + other.kept,
        }
    }

    /// Bytes of the largest buffer.
    pub(super) fn most_bytes(self) -> usize {
        let hits = self.hits * HIT_BYTES;
        let lists = self.doublets.max(self.triplets * CHAIN_BYTES / DOUBLET_BYTES) * DOUBLET_BYTES;
        hits.max(lists).max(4 * self.outers).max(4 * self.cells)
    }
}

/// Events of a part. Their lists lie one after the other.
#[derive(Debug, Default)]
pub(crate) struct PackedHits {
    /// rho, phi, z, and the number among pixel layers.
    pub(super) hits: Vec<[u32; 4]>,
    /// The number of each in its event.
    pub(super) numbers: Vec<u32>,
    pub(super) events: Vec<Event>,
    pub(super) needs: Needs,
}

impl PackedHits {
    /// Packs an event behind the others. Its lists get no room yet.
    pub(super) fn push(&mut self, hits: &RoiHits<'_>, pixel_layers: &[u32], z_ranges: &ZRanges) {
        let first = self.hits.len();
        let mut extents = [[f32::INFINITY, f32::NEG_INFINITY]; MAX_LAYERS];
        hits.for_each(|number, layer, place| {
            let layer = pixel_layers[layer as usize];
            let [rho, phi, z] = place.map(|number| number as f32);
            let [least, largest] = &mut extents[layer as usize];
            (*least, *largest) = (least.min(rho), largest.max(rho));
            self.hits.push([rho.to_bits(), phi.to_bits(), z.to_bits(), layer]);
            self.numbers.push(number);
        });
        let mut ranges = [[0.0; 2]; ZRanges::MOST];
        for (to, range) in ranges.iter_mut().zip(z_ranges.as_slice()) {
            *to = range.map(|z| z as f32);
        }
        self.events.push(Event {
            hit_first: first as u32,
            hit_count: (self.hits.len() - first) as u32,
            range_count: z_ranges.as_slice().len() as u32,
            ranges,
            extents,
            ..bytemuck::Zeroable::zeroed()
        });
    }

    /// Gives the last event room for its lists.
    pub(super) fn give_room(&mut self, needs: Needs) {
        let taken = self.needs;
        if let Some(event) = self.events.last_mut() {
            event.cell_first = taken.cells as u32;
            (event.doublet_first, event.doublet_capacity) = (taken.doublets as u32, needs.doublets as u32);
            (event.outer_first, event.outer_capacity) = (taken.outers as u32, needs.outers as u32);
            (event.triplet_first, event.triplet_capacity) = (taken.triplets as u32, needs.triplets as u32);
            (event.kept_first, event.kept_capacity) = (taken.kept as u32, needs.kept as u32);
        }
        self.needs = taken.and(needs);
    }

    /// Takes the last event out again, which has got no room yet.
    pub(super) fn pop(&mut self) {
        if let Some(event) = self.events.pop() {
            self.hits.truncate(event.hit_first as usize);
            self.numbers.truncate(event.hit_first as usize);
        }
    }

    /// Takes all events out, and keeps the memory.
    pub(super) fn clear(&mut self) {
        let Self { hits, numbers, events, needs } = self;
        hits.clear();
        numbers.clear();
        events.clear();
        *needs = Needs::default();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// How long lists become: the part of all pairs of an event's hits that they hold, at most so far,
/// for events with 1, 2 to 3, 4 to 7, ... hits.
#[derive(Debug, Default)]
pub(super) struct Densities(Mutex<[[f64; 3]; 32]>);

/// Doublets, outer hits and triplets, before an event was seen: half more than the detector
/// `generic` has.
const FIRST_DENSITIES: [f64; 3] = [5e-4, 3e-4, 3e-4];
/// Room beyond the longest lists so far, and for small events.
const MARGIN: f64 = 1.3;
const SMALL: f64 = 256.0;

impl Densities {
    /// Elements of an event with so many hits.
    pub(super) fn needs(&self, hits: usize, pixel_layers: usize) -> Needs {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner)[size_class(hits)];
        let number = hits as f64;
        let room = |i: usize| {
            let density = if seen[i] > 0.0 { MARGIN * seen[i] } else { FIRST_DENSITIES[i] };
            (density * number * number + 2.0 * number + SMALL) as usize
        };
        Needs {
            hits,
            cells: pixel_layers * CELLS + 1,
            doublets: room(0),
            outers: room(1),
            triplets: room(2),
            kept: hits / 6 + 64,
        }
    }

    /// Learns from an event.
    pub(super) fn learn(&self, hits: usize, counts: &Counts) {
        let pairs = (hits as f64 * hits as f64).max(1.0);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (seen, count) in seen[size_class(hits)].iter_mut().zip([counts.doublets, counts.outers, counts.triplets]) {
            *seen = seen.max((f64::from(count) - 2.0 * hits as f64) / pairs);
        }
    }
}

fn size_class(hits: usize) -> usize {
    hits.max(1).ilog2().min(31) as usize
}
