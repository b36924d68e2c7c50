//! The buffers of one batch in flight.

use kernel_host::{BindGroupSlot, Buffer, Gpu, Readback, wgpu};

use crate::batch::SlicedBatch;
use crate::error::Result;
use crate::step::Step;
use zfinder::Precision;

/// Words that every uploaded array has at least: a binding must hold one element.
const LEAST_WORDS: usize = 16;

/// A batch in the form of the buffers.
pub(crate) struct Encoded {
    pub(crate) points: Vec<u32>,
    pub(crate) cells: Vec<u32>,
    pub(crate) rois: Vec<u32>,
    pub(crate) rows: Vec<u32>,
}

impl Encoded {
    pub(crate) fn new(batch: &SlicedBatch, precision: Precision) -> Self {
        let push = |words: &mut Vec<u32>, x: f64| match precision {
            Precision::F32 => words.push((x as f32).to_bits()),
            Precision::F64 => words.extend([x.to_bits() as u32, (x.to_bits() >> 32) as u32]),
        };
        let mut points = Vec::with_capacity(4 * batch.points.len());
        for x in batch.points.iter().flatten() {
            push(&mut points, *x);
        }
        let mut rois = Vec::new();
        for roi in &batch.rois {
            for x in [roi.z_min, roi.z_max, 1.0 / roi.bin_mm, roi.offset] {
                push(&mut rois, x);
            }
            rois.extend([roi.first_cell, roi.slices, roi.first_row, roi.bins]);
        }
        let padded = |mut words: Vec<u32>| {
            words.resize(words.len().max(LEAST_WORDS), 0);
            words
        };
        Self {
            points: padded(points),
            cells: padded(batch.cells.clone()),
            rois: padded(rois),
            rows: padded(batch.rows.as_flattened().to_vec()),
        }
    }

    /// Bytes that an upload takes.
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.points.len() + self.cells.len() + self.rois.len() + self.rows.len())
    }
}

/// Sizes of the buffers and of the dispatches.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) layers: u32,
    pub(crate) rois: u32,
    pub(crate) rows: u32,
    pub(crate) row_words: u32,
    /// Groups of the first stage of `sum_histos`.
    pub(crate) groups: u32,
    /// Workgroups of `sum_histos` across a row.
    pub(crate) blocks: u32,
}

impl Layout {
    pub(crate) fn new(batch: &SlicedBatch, step: &Step, row_words: u32) -> Self {
        Self {
            layers: batch.layers,
            rois: batch.rois.len() as u32,
            rows: batch.rows.len() as u32,
            row_words,
            groups: step.groups(batch.most_slices()),
            blocks: row_words.div_ceil(Step::SUM_THREADS),
        }
    }

    /// Params of the shaders, with the groups that `sum_histos` reads and writes.
    fn params(&self, groups_in: u32, groups_out: u32) -> [u32; 8] {
        [self.layers, self.rows, self.row_words, self.rois, groups_in, groups_out, self.blocks, 0]
    }

    /// Words of so many rows of n and z.
    pub(crate) fn words(&self, rows: u32) -> usize {
        2 * rows.max(1) as usize * self.row_words as usize
    }
}

pub(crate) struct Workspace {
    /// Of find_z with the first stage of sum_histos, and of the second stage.
    pub(crate) params: [Buffer<u32>; 2],
    pub(crate) points: Buffer<u32>,
    pub(crate) cells: Buffer<u32>,
    pub(crate) rois: Buffer<u32>,
    pub(crate) rows: Buffer<u32>,
    pub(crate) histograms: Buffer<u32>,
    pub(crate) partial: Buffer<u32>,
    pub(crate) sums: Buffer<u32>,
    pub(crate) readback: Readback<u32>,
    pub(crate) groups: [BindGroupSlot; 3],
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        Self {
            params: ["params", "params of the second stage"].map(|label| Buffer::new(label, uniform)),
            points: Buffer::new("points", storage),
            cells: Buffer::new("cells", storage),
            rois: Buffer::new("rois", storage),
            rows: Buffer::new("rows", storage),
            histograms: Buffer::new("histograms", storage),
            partial: Buffer::new("partial sums", storage),
            sums: Buffer::new("sums", storage),
            readback: Readback::new("sums, read back"),
            groups: Default::default(),
        }
    }

    /// Makes room and sends a batch.
    pub(crate) fn upload(&mut self, gpu: &Gpu, encoded: &Encoded, layout: &Layout) -> Result<()> {
        self.params[0].write(gpu, &layout.params(0, layout.groups))?;
        self.params[1].write(gpu, &layout.params(layout.groups, 1))?;
        self.points.write(gpu, &encoded.points)?;
        self.cells.write(gpu, &encoded.cells)?;
        self.rois.write(gpu, &encoded.rois)?;
        self.rows.write(gpu, &encoded.rows)?;
        self.histograms.reserve(gpu, layout.words(layout.rows))?;
        self.partial.reserve(gpu, layout.words(layout.rois * layout.groups))?;
        self.sums.reserve(gpu, layout.words(layout.rois))?;
        self.readback.reserve(gpu, layout.words(layout.rois))?;
        Ok(())
    }
}
