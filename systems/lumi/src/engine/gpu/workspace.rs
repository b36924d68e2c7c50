//! Buffers of a part of a batch, and its packing: the events of the part, one after the other, into
//! staging memory.

use bytemuck::Pod;
use kernel_host::wgpu::{self, BufferUsages};
use kernel_host::{Buffer, Gpu, Readback, Upload, UploadPart, UploadView};
use rayon::prelude::*;

use super::cells::QUAD;
use super::decode::WORDS;
use super::{Params, SELECTED_AT_ONCE};
use crate::error::Result;
use crate::event::{Column, EventBatch, INVALID_ADC, VeloTrack, Vertex};

/// The number of events that a thread packs at a time.
const TOGETHER: usize = 16;

/// A column of a part: staging memory and a buffer of the device.
pub(super) struct Staged<T: Pod> {
    upload: Upload<T>,
    pub(super) buffer: Buffer<T>,
    length: usize,
}

impl<T: Pod> Staged<T> {
    fn new(gpu: &Gpu, label: &str) -> Self {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        Self { upload: Upload::new(label).cached(gpu), buffer: Buffer::new(label, usage), length: 0 }
    }

    fn map(&mut self, gpu: &Gpu, length: usize) -> Result<UploadView<T>> {
        self.length = length;
        self.buffer.reserve(gpu, length.max(1))?;
        Ok(self.upload.map(gpu, length)?)
    }

    fn copy(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
        Ok(self.upload.copy_to(encoder, &self.buffer, self.length)?)
    }
}

/// The elements of a column and where each event's begin.
pub(super) struct Elements<T: Pod> {
    pub(super) offsets: Buffer<u32>,
    pub(super) staged: Staged<T>,
}

impl<T: Pod> Elements<T> {
    fn new(gpu: &Gpu, label: &str) -> Self {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        Self { offsets: Buffer::new("offsets", usage), staged: Staged::new(gpu, label) }
    }

    /// Writes the offsets of events and maps memory for their elements.
    fn prepare<U>(&mut self, gpu: &Gpu, column: &Column<U>, events: &[usize]) -> Result<UploadView<T>> {
        let mut offsets = Vec::with_capacity(events.len() + 1);
        let mut end = 0;
        offsets.push(end);
        for &event in events {
            end += column.offsets[event + 1] - column.offsets[event];
            offsets.push(end);
        }
        self.offsets.write(gpu, &offsets)?;
        self.staged.map(gpu, end as usize)
    }
}

/// The buffers of a part.
pub(super) struct Workspace {
    pub(super) params: Buffer<Params>,
    pub(super) headers: Buffer<[u32; 4]>,
    pub(super) blocks: Buffer<[u32; 2]>,
    pub(super) offsets: Buffer<u32>,
    pub(super) indices: Buffer<u32>,
    pub(super) listed: Buffer<u32>,
    pub(super) dispatches: Buffer<u32>,
    pub(super) digits: Staged<[i16; QUAD]>,
    pub(super) scifi_hits: Elements<u32>,
    pub(super) velo_clusters: Elements<u32>,
    pub(super) velo_tracks: Elements<VeloTrack>,
    pub(super) vertices: Elements<Vertex>,
    pub(super) counters: Buffer<u32>,
    pub(super) results: Readback<u32>,
}

/// Work of one packing thread: some events of one column.
enum Packing<'a> {
    Digits(UploadPart<'a, [i16; QUAD]>, &'a [usize]),
    Words(UploadPart<'a, u32>, &'a [u32], &'a [u32], &'a [usize]),
    Tracks(UploadPart<'a, VeloTrack>, &'a [usize]),
    Vertices(UploadPart<'a, Vertex>, &'a [usize]),
}

impl Packing<'_> {
    fn pack(self, batch: &EventBatch) {
        let fits = match self {
            Self::Digits(mut part, events) => {
                let cells = batch.cells();
                events.iter().all(|&event| {
                    let (quads, rest) = batch.adc[event * cells..(event + 1) * cells].as_chunks::<QUAD>();
                    let mut last = [INVALID_ADC; QUAD];
                    last[..rest.len()].copy_from_slice(rest);
                    part.write(quads) && (rest.is_empty() || part.write(&[last]))
                })
            }
            Self::Words(mut part, words, offsets, events) => {
                events.iter().all(|&event| part.write(&words[offsets[event] as usize..offsets[event + 1] as usize]))
            }
            Self::Tracks(mut part, events) => events.iter().all(|&event| part.write(batch.velo_tracks.of(event))),
            Self::Vertices(mut part, events) => events.iter().all(|&event| part.write(batch.vertices.of(event))),
        };
        debug_assert!(fits, "the memory of a column has room for its events");
    }
}

/// Divides mapped memory: a part for each group of events.
fn divided<'a, T: Pod, U>(
    view: &'a mut UploadView<T>,
    column: &Column<U>,
    events: &'a [usize],
) -> impl Iterator<Item = (UploadPart<'a, T>, &'a [usize])> + use<'a, T, U> {
    let length = |event: usize| (column.offsets[event + 1] - column.offsets[event]) as usize;
    let lengths: Vec<usize> =
        events.chunks(TOGETHER).map(|events| events.iter().map(|&event| length(event)).sum()).collect();
    view.parts(lengths).into_iter().zip(events.chunks(TOGETHER))
}

impl Workspace {
    pub(super) fn new(gpu: &Gpu) -> Self {
        let device = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let words = |label: &str| Buffer::new(label, device);
        Self {
            params: Buffer::new("params", BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            headers: Buffer::new("headers", device),
            blocks: Buffer::new("sums of blocks", device),
            offsets: words("summary offsets"),
            indices: words("indices of lumi events"),
            listed: words("lumi events"),
            dispatches: Buffer::new("dispatches", device | BufferUsages::INDIRECT),
            digits: Staged::new(gpu, "digits"),
            scifi_hits: Elements::new(gpu, "hits"),
            velo_clusters: Elements::new(gpu, "clusters"),
            velo_tracks: Elements::new(gpu, "tracks"),
            vertices: Elements::new(gpu, "vertices"),
            counters: words("counters"),
            results: Readback::new("counters read back"),
        }
    }

    /// Packs events of a batch, of which `lumi` are lumi events, into staging memory. All threads
    /// pack.
    pub(super) fn pack(
        &mut self,
        gpu: &Gpu,
        batch: &EventBatch,
        events: &[usize],
        lumi: usize,
        params: Params,
    ) -> Result<()> {
        self.params.write(gpu, &[params])?;
        let header = |&event: &usize| {
            let header = &batch.headers[event];
            [header.flags(), header.event_id as u32, (header.event_id >> 32) as u32, 0]
        };
        self.headers.write(gpu, &events.iter().map(header).collect::<Vec<_>>())?;
        self.blocks.reserve(gpu, events.len() / SELECTED_AT_ONCE as usize + 1)?;
        for buffer in [&mut self.offsets, &mut self.indices, &mut self.listed] {
            buffer.reserve(gpu, events.len() + 1)?;
        }
        self.dispatches.reserve(gpu, 6)?;
        self.counters.reserve(gpu, (lumi * WORDS).max(1))?;
        let row = batch.cells().div_ceil(QUAD);
        let mut digits = self.digits.map(gpu, events.len() * row)?;
        let mut hits = self.scifi_hits.prepare(gpu, &batch.scifi_hits, events)?;
        let mut clusters = self.velo_clusters.prepare(gpu, &batch.velo_clusters, events)?;
        let mut tracks = self.velo_tracks.prepare(gpu, &batch.velo_tracks, events)?;
        let mut vertices = self.vertices.prepare(gpu, &batch.vertices, events)?;
        let rows = digits.parts(events.chunks(TOGETHER).map(|events| events.len() * row));
        let digits = rows.into_iter().zip(events.chunks(TOGETHER)).map(|(part, events)| Packing::Digits(part, events));
        let words = |elements| bytemuck::cast_slice::<_, u32>(elements);
        let hit_words: &[u32] = bytemuck::cast_slice(&batch.scifi_hits.elements);
        let cluster_words: &[u32] = words(&batch.velo_clusters.elements);
        let hits = divided(&mut hits, &batch.scifi_hits, events)
            .map(|(part, events)| Packing::Words(part, hit_words, &batch.scifi_hits.offsets, events));
        let clusters = divided(&mut clusters, &batch.velo_clusters, events)
            .map(|(part, events)| Packing::Words(part, cluster_words, &batch.velo_clusters.offsets, events));
        let tracks =
            divided(&mut tracks, &batch.velo_tracks, events).map(|(part, events)| Packing::Tracks(part, events));
        let vertices =
            divided(&mut vertices, &batch.vertices, events).map(|(part, events)| Packing::Vertices(part, events));
        let all: Vec<Packing<'_>> = digits.chain(hits).chain(clusters).chain(tracks).chain(vertices).collect();
        all.into_par_iter().for_each(|packing| packing.pack(batch));
        Ok(())
    }

    /// Encodes the copies from staging memory to the device's own.
    pub(super) fn encode_upload(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
        self.digits.copy(encoder)?;
        self.scifi_hits.staged.copy(encoder)?;
        self.velo_clusters.staged.copy(encoder)?;
        self.velo_tracks.staged.copy(encoder)?;
        self.vertices.staged.copy(encoder)
    }
}
