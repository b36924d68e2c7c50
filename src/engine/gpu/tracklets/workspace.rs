//! The buffers of one part of the search for tracklets. They grow to the largest part seen and are
//! used again.

use kernel_host::wgpu::{self, BufferUsages};
use kernel_host::{BindGroupSlot, Buffer, Error as GpuError, Gpu, Kernel, Readback, Upload};

use crate::engine::gpu::capacity::aligned;
use crate::engine::gpu::tracklets::hits::PackedHits;
use crate::engine::gpu::tracklets::records::{
    CHAIN_BYTES, Constants, Counts, DOUBLET_BYTES, HIT_BYTES, KeptChain, Layer, TRIPLET_BYTES,
};
use crate::error::Result;

/// Words of the state of a hit, in `shaders/tracklets/choose_chains.wgsl`.
const STATE_WORDS: usize = 3;

/// Buffers of the search, which all parts share.
pub(super) struct SearchBuffers {
    pub(super) constants: Buffer<Constants>,
    pub(super) layers: Buffer<Layer>,
    pub(super) neighbours: Buffer<u32>,
}

pub(super) struct Workspace {
    staging: Upload<u32>,
    input: Buffer<u32>,
    /// Where packed hits begin in the input \[bytes\].
    packed_first: u64,
    cells: Buffer<u32>,
    hits: Buffer<[u8; HIT_BYTES]>,
    numbers: Buffer<u32>,
    doublets: Buffer<[u8; DOUBLET_BYTES]>,
    outers: Buffer<u32>,
    lists: Buffer<[u32; 4]>,
    triplets: Buffer<[u8; TRIPLET_BYTES]>,
    chains: Buffer<[u8; CHAIN_BYTES]>,
    state: Buffer<[u32; STATE_WORDS]>,
    undecided: Buffer<[u32; 2]>,
    kept: Buffer<KeptChain>,
    counts: Buffer<Counts>,
    /// Counts of all events, and then kept chains.
    pub(super) results: Readback<KeptChain>,
    groups: Vec<(String, BindGroupSlot)>,
}

impl Workspace {
    pub(super) fn new(gpu: &Gpu) -> Self {
        let device = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        Self {
            staging: Upload::new("staged hits").readable_by_shaders(gpu),
            input: Buffer::new("events and packed hits", device),
            packed_first: 0,
            cells: Buffer::new("cells of hits", device),
            hits: Buffer::new("hits", device),
            numbers: Buffer::new("numbers of hits", device),
            doublets: Buffer::new("doublets", device),
            outers: Buffer::new("outer hits", device),
            lists: Buffer::new("lists of hits", device),
            triplets: Buffer::new("triplets", device),
            chains: Buffer::new("chains", device),
            state: Buffer::new("owners of hits", device),
            undecided: Buffer::new("undecided chains", device),
            kept: Buffer::new("kept chains", device),
            counts: Buffer::new("counts of tracklets", device),
            results: Readback::new("chains of tracklets"),
            groups: Vec::new(),
        }
    }

    /// Makes room for a part, and stages it.
    pub(super) fn fill(&mut self, gpu: &Gpu, part: &PackedHits) -> Result<()> {
        let (needs, events) = (part.needs, part.events.len());
        self.packed_first = aligned(size_of_val(&part.events[..]) as u64);
        let words = self.packed_first as usize / 4 + 4 * part.hits.len();
        self.staging.make_room(gpu, words)?;
        // A binding has at least one element.
        self.input.reserve(gpu, words.max(self.packed_first as usize / 4 + 4))?;
        self.cells.reserve(gpu, needs.cells)?;
        self.hits.reserve(gpu, needs.hits)?;
        self.numbers.reserve(gpu, needs.hits)?;
        self.doublets.reserve(gpu, needs.doublets)?;
        self.outers.reserve(gpu, needs.outers)?;
        self.lists.reserve(gpu, needs.hits)?;
        self.triplets.reserve(gpu, needs.triplets)?;
        self.chains.reserve(gpu, needs.triplets)?;
        self.state.reserve(gpu, needs.hits)?;
        self.undecided.reserve(gpu, needs.triplets)?;
        self.kept.reserve(gpu, needs.kept)?;
        self.counts.reserve(gpu, events)?;
        self.results.reserve(gpu, events + needs.kept)?;
        let mut view = self.staging.view(0..words)?;
        let header: &[u32] = bytemuck::cast_slice(&part.events);
        let lengths = [self.packed_first as usize / 4, 4 * part.hits.len()];
        for (mut to, words) in view.parts(lengths).into_iter().zip([header, bytemuck::cast_slice(&part.hits)]) {
            if !to.write(words) {
                let (what, wanted) = ("hits of a submission".to_owned(), words.len());
                return Err(GpuError::BufferTooSmall { what, wanted, held: 0 }.into());
            }
        }
        Ok(())
    }

    /// Encodes the upload, and clears what is counted in.
    pub(super) fn begin(&mut self, encoder: &mut wgpu::CommandEncoder, part: &PackedHits) -> Result<()> {
        let words = self.packed_first as usize / 4 + 4 * part.hits.len();
        self.staging.copy_to(encoder, &self.input, words)?;
        encoder.clear_buffer(self.cells.raw()?, 0, Some(4 * part.needs.cells as u64));
        encoder.clear_buffer(self.counts.raw()?, 0, Some((size_of::<Counts>() * part.events.len()) as u64));
        let state = size_of::<[u32; STATE_WORDS]>() * part.needs.hits;
        encoder.clear_buffer(self.state.raw()?, 0, Some(state as u64));
        Ok(())
    }

    /// Encodes the copy of the answer to where the host reads it.
    pub(super) fn end(&self, encoder: &mut wgpu::CommandEncoder, part: &PackedHits) -> Result<()> {
        self.results.gather(encoder, &self.counts, part.events.len(), 0)?;
        self.results.gather(encoder, &self.kept, part.needs.kept, part.events.len())?;
        Ok(())
    }

    /// Encodes a dispatch.
    pub(super) fn dispatch(
        &mut self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        buffers: &SearchBuffers,
        (kernel, entry_point): (&Kernel, &str),
        workgroups: [u32; 3],
    ) -> Result<()> {
        let at = self.groups.iter().position(|(name, _)| name == kernel.name());
        let mut slot = at.map(|at| self.groups.swap_remove(at).1).unwrap_or_default();
        let binding = |name| Ok((name, self.binding(buffers, kernel, name)?));
        let bindings = kernel.bindings().map(binding).collect::<Result<Vec<_>>>()?;
        let group = kernel.bind_group_in(gpu, &mut slot, &bindings)?;
        kernel.dispatch(pass, entry_point, group, workgroups)?;
        self.groups.push((kernel.name().to_owned(), slot));
        Ok(())
    }

    fn binding<'a>(
        &'a self,
        buffers: &'a SearchBuffers,
        kernel: &Kernel,
        variable: &str,
    ) -> Result<wgpu::BindingResource<'a>> {
        let input_from = |offset| -> Result<_> {
            Ok(wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: self.input.raw()?, offset, size: None }))
        };
        Ok(match variable {
            "events" => input_from(0)?,
            "packed" => input_from(self.packed_first)?,
            "constants" => buffers.constants.binding()?,
            "layers" => buffers.layers.binding()?,
            "neighbours" => buffers.neighbours.binding()?,
            "cells" => self.cells.binding()?,
            "hits" => self.hits.binding()?,
            "numbers" => self.numbers.binding()?,
            "doublets" => self.doublets.binding()?,
            "outers" => self.outers.binding()?,
            "lists" => self.lists.binding()?,
            "triplets" => self.triplets.binding()?,
            "chains" => self.chains.binding()?,
            "state" => self.state.binding()?,
            "undecided" => self.undecided.binding()?,
            "kept" => self.kept.binding()?,
            "counts" => self.counts.binding()?,
            _ => {
                let (kernel, message) = (kernel.name().to_owned(), format!("there is no buffer for `{variable}`"));
                return Err(GpuError::Binding { kernel, message }.into());
            }
        })
    }
}
