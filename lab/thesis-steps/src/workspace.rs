//! The buffers of one batch in flight.

use kernel_host::{BindGroupSlot, Buffer, Gpu, Readback, wgpu};

use crate::batch::SlicedBatch;
use crate::error::Result;
use crate::step::{Search, Step, Sums};
use zfinder::Precision;

/// Words that every uploaded array has at least: a binding must hold one element.
const LEAST_WORDS: usize = 16;

/// A batch in the form of the buffers.
pub(crate) struct Encoded {
    pub(crate) points: Vec<u32>,
    /// Empty for pairs.
    pub(crate) azimuths: Vec<u32>,
    pub(crate) cells: Vec<u32>,
    pub(crate) rois: Vec<u32>,
    pub(crate) rows: Vec<u32>,
}

impl Encoded {
    pub(crate) fn new(batch: &SlicedBatch, step: &Step) -> Self {
        let push = |words: &mut Vec<u32>, x: f64| match step.precision {
            Precision::F32 => words.push((x as f32).to_bits()),
            Precision::F64 => words.extend([x.to_bits() as u32, (x.to_bits() >> 32) as u32]),
        };
        let encoded = |reals: &[[f64; 2]]| {
            let mut words = Vec::with_capacity(4 * reals.len());
            reals.iter().flatten().for_each(|x| push(&mut words, *x));
            words
        };
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
            points: padded(encoded(&batch.points)),
            azimuths: if step.search == Search::Triplets { padded(encoded(&batch.azimuths)) } else { Vec::new() },
            cells: padded(batch.cells.clone()),
            rois: padded(rois),
            rows: padded(batch.rows.as_flattened().to_vec()),
        }
    }

    /// Bytes that an upload takes.
    pub(crate) fn bytes(&self) -> usize {
        let Self { points, azimuths, cells, rois, rows } = self;
        4 * (points.len() + azimuths.len() + cells.len() + rois.len() + rows.len())
    }
}

/// Sizes of the buffers and of the dispatches.
pub(crate) struct Layout {
    pub(crate) layers: u32,
    pub(crate) rois: u32,
    pub(crate) rows: u32,
    pub(crate) row_words: u32,
    /// Groups of an RoI's rows in each stage of `sum_histos`.
    pub(crate) groups: Vec<u32>,
    /// Workgroups of `sum_histos` across a row.
    pub(crate) blocks: u32,
    /// Rows that are read back.
    pub(crate) rows_read: u32,
}

impl Layout {
    pub(crate) fn new(batch: &SlicedBatch, step: &Step, row_words: u32) -> Self {
        Self {
            layers: batch.layers,
            rois: batch.rois.len() as u32,
            rows: batch.rows.len() as u32,
            row_words,
            groups: step.groups(batch.most_slices()),
            blocks: if step.sums_words() { 1 } else { row_words.div_ceil(step.group_threads) },
            rows_read: if step.sums == Sums::Cpu { batch.rows.len() } else { batch.rois.len() } as u32,
        }
    }

    /// Params of the shaders, with the groups that a stage of `sum_histos` reads and writes.
    fn params(&self, stage: usize) -> [u32; 8] {
        let groups_in = stage.checked_sub(1).map_or(0, |before| self.groups[before]);
        let groups_out = self.groups.get(stage).copied().unwrap_or(0);
        [self.layers, self.rows, self.row_words, self.rois, groups_in, groups_out, self.blocks, 0]
    }

    /// Words of the sums after a stage, if they are not the last ones.
    pub(crate) fn partial_words(&self, stage: usize) -> usize {
        let is_partial = stage + 1 < self.groups.len();
        if is_partial { self.words(self.rois * self.groups[stage]) } else { 0 }
    }

    /// Words of so many rows of n and z.
    pub(crate) fn words(&self, rows: u32) -> usize {
        2 * rows.max(1) as usize * self.row_words as usize
    }
}

pub(crate) struct Workspace {
    /// Of each stage of sum_histos; the first are find_z's too.
    pub(crate) params: [Buffer<u32>; Step::MOST_STAGES],
    pub(crate) points: Buffer<u32>,
    pub(crate) azimuths: Buffer<u32>,
    pub(crate) cells: Buffer<u32>,
    pub(crate) rois: Buffer<u32>,
    pub(crate) rows: Buffer<u32>,
    pub(crate) histograms: Buffer<u32>,
    /// Sums of a stage, by turns.
    pub(crate) partial: [Buffer<u32>; 2],
    pub(crate) sums: Buffer<u32>,
    pub(crate) readback: Readback<u32>,
    /// Of find_z.
    pub(crate) group: BindGroupSlot,
    /// Of each stage of sum_histos.
    pub(crate) stage_groups: [BindGroupSlot; Step::MOST_STAGES],
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        Self {
            params: [0; Step::MOST_STAGES].map(|_| Buffer::new("params", uniform)),
            points: Buffer::new("points", storage),
            azimuths: Buffer::new("azimuths", storage),
            cells: Buffer::new("cells", storage),
            rois: Buffer::new("rois", storage),
            rows: Buffer::new("rows", storage),
            histograms: Buffer::new("histograms", storage),
            partial: [0; 2].map(|_| Buffer::new("partial sums", storage)),
            sums: Buffer::new("sums", storage),
            readback: Readback::new("sums, read back"),
            group: BindGroupSlot::default(),
            stage_groups: Default::default(),
        }
    }

    /// Makes room and sends a batch.
    pub(crate) fn upload(&mut self, gpu: &Gpu, encoded: &Encoded, layout: &Layout) -> Result<()> {
        for stage in 0..layout.groups.len().max(1) {
            self.params[stage].write(gpu, &layout.params(stage))?;
            self.partial[stage % 2].reserve(gpu, layout.partial_words(stage))?;
        }
        self.points.write(gpu, &encoded.points)?;
        self.azimuths.write(gpu, &encoded.azimuths)?;
        self.cells.write(gpu, &encoded.cells)?;
        self.rois.write(gpu, &encoded.rois)?;
        self.rows.write(gpu, &encoded.rows)?;
        self.histograms.reserve(gpu, layout.words(layout.rows))?;
        self.sums.reserve(gpu, layout.words(layout.rois))?;
        self.readback.reserve(gpu, layout.words(layout.rows_read))?;
        Ok(())
    }
}
