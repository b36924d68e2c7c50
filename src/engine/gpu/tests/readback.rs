//! The output of each stage of a batch, read back.

use kernel_host::{Buffer, Readback};

use super::*;
use crate::engine::encoding::{DROPPED, Encode};
use crate::engine::histogram::{HistogramPair, PAIR_PARTS};
use crate::engine::records::RoiStatus;

/// A sorted spacepoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SortedPoint<R> {
    pub(super) inverse_rho: R,
    pub(super) z_by_rho: R,
    pub(super) phi: R,
    pub(super) slice: u32,
    pub(super) layer: u32,
}

/// When a test writes to buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before the first stage.
    AfterUpload,
    /// After find_z.
    AfterFindZ,
}

/// Every stage's output.
pub(super) struct Readbacks<R: Real> {
    pub(super) part: PartPlan<R>,
    /// The RoIs that were searched, and their spacepoints as the stages are to see them.
    pub(super) planned: Vec<(RoiPlan, Vec<R::Spacepoint>)>,
    pub(super) cells: Vec<u32>,
    pub(super) points: Vec<[R; 2]>,
    pub(super) beside: Vec<R::Stored>,
    pub(super) histograms: Vec<u32>,
    /// The totals before sum_histos: entries that rows could not hold.
    pub(super) beyond: Vec<u32>,
    pub(super) totals: Vec<u32>,
    /// The totals after find_peaks.
    pub(super) emptied: Vec<u32>,
    pub(super) peaks: Vec<Peak>,
    pub(super) status: Vec<RoiStatus>,
}

impl GpuEngine {
    /// Frees what is kept for the next batch.
    pub(in crate::engine) fn free_idle(&self) {
        match self {
            Self::F32(engine) => engine.workspaces.free_idle(),
            Self::F64(engine) => engine.workspaces.free_idle(),
        }
    }
}

impl<R: Real> TypedEngine<R> {
    /// Another configuration in the same kernels.
    pub(super) fn take_case(&mut self, case: &Case) {
        self.search =
            Search::new(&built_in(&self.search.config, &case.config), &case.detector).expect("a valid configuration");
        self.shape.pairs = match self.shape.pairs {
            RowSharing::Numbered { .. } => RowSharing::Numbered { slices: case.slices_per_histogram },
            RowSharing::Streamed { .. } => RowSharing::Streamed { share: Some(case.share) },
        };
        self.shape.layers = self.search.layers() as u32;
        self.compact = self.compact.and_then(|_| Compact::new(&self.search));
        let cuts = R::cuts(self.search.triplet_cuts());
        self.search_buffers = SearchBuffers::new(&self.gpu, cuts, &self.search.neighbours).expect("small buffers");
    }

    /// The answers of the whole engine.
    pub(super) fn answers(&self, batch: &RoiBatch) -> Result<Results> {
        let mut results = Results::new();
        block_on(self.find_batch(batch.into(), Waiting::Blocking, Helpers::Pool, &mut results))?;
        Ok(results)
    }

    /// The walk of `TypedEngine::encode`, with every buffer read back.
    pub(super) fn stages(&mut self, batch: &RoiBatch) -> Result<Readbacks<R>> {
        self.stages_with(batch, |_, _, _| Ok(()))
    }

    /// The same, with words in buffers that no stage has written: `write` is called before the
    /// first stage and before sum_histos.
    pub(super) fn stages_with(
        &mut self,
        batch: &RoiBatch,
        write: impl FnMut(Moment, &mut Workspace<R>, &PartPlan<R>) -> Result<()>,
    ) -> Result<Readbacks<R>> {
        let room = self.shape.walk.take();
        let stages = self.four_stages(batch, write);
        self.shape.walk = room;
        stages
    }

    fn four_stages(
        &self,
        batch: &RoiBatch,
        mut write: impl FnMut(Moment, &mut Workspace<R>, &PartPlan<R>) -> Result<()>,
    ) -> Result<Readbacks<R>> {
        let (batch, waiting, helpers) = (batch.into(), Waiting::Blocking, Helpers::Pool);
        let plans = self.plan(batch, helpers)?;
        let encoding = self.encoding();
        let shape = self.shape.with_peaks(self.search.config.peaks);
        let planned =
            Planned { batch, plans: &plans, encoding, waiting, helpers, spin: Duration::ZERO, joins: false, shape };
        let wanted: Vec<usize> = (0..plans.len()).filter(|&roi| !plans[roi].is_empty()).collect();
        let cut = capacity::cut::<R>(&plans, &wanted, self.packed_bytes(encoding), &self.capacity, &shape);
        assert_eq!((cut.parts.len(), cut.too_large.len()), (1, 0), "test batches fit");
        let rois = &cut.parts[0];
        let decoded = rois.iter().map(|&roi| {
            let mut points = Vec::new();
            let (plan, view) = (&plans[roi], batch.roi(roi));
            let packed = match &self.compact {
                Some(compact) => self.search.pack::<R, _>(compact, plan, view, |words| {
                    Encode::<R>::decode(compact, words, &mut points);
                }),
                None => self.search.pack::<R, _>(&Lossless, plan, view, |words| points.extend_from_slice(words)),
            };
            points.retain(|point| R::fields(point).1 != DROPPED);
            if packed.kept == 0 {
                points.clear();
            }
            (plan.clone(), points)
        });
        let decoded: Vec<_> = decoded.collect();
        // Used ones hold the leavings of other cases, which must not matter.
        let mut workspace = self.workspaces.take(|| self.new_workspace());
        let part = self.upload(planned, &mut workspace, rois)?;
        write(Moment::AfterUpload, &mut workspace, &part)?;
        let mut encoder = self.gpu.encoder("stages");
        self.begin(&mut encoder, &mut workspace)?;
        self.clear(&mut encoder, &workspace, &part)?;
        let rois = part.rois.len();
        let (cell_words, spacepoints) = (part.needs.cell_words as usize, part.needs.spacepoints as usize);
        let (rows, words) = (part.row_words(), part.total_words());
        let gpu = &self.gpu;
        let all = &part.dispatches;
        let of_find_z =
            |dispatch: &Dispatch| matches!(dispatch.kernel, KernelName::SliceSpacepoints(..) | KernelName::FindZ(_));
        let pairs_end = all.iter().take_while(|dispatch| of_find_z(dispatch)).count();
        self.encode_some(&mut encoder, &mut workspace, &all[..pairs_end])?;
        let cells = copy(gpu, &mut encoder, &workspace.cells, cell_words)?;
        let sorted = copy(gpu, &mut encoder, &workspace.points, spacepoints)?;
        let beside = copy(gpu, &mut encoder, &workspace.beside, spacepoints)?;
        // Writes to a buffer take effect before later submissions.
        gpu.submit(encoder)?;
        write(Moment::AfterFindZ, &mut workspace, &part)?;
        let mut encoder = gpu.encoder("the other stages");
        let histograms = copy(gpu, &mut encoder, &workspace.histograms, rows)?;
        let beyond = copy(gpu, &mut encoder, &workspace.totals, words)?;
        self.encode_some(&mut encoder, &mut workspace, &all[pairs_end..all.len() - 1])?;
        let totals = copy(gpu, &mut encoder, &workspace.totals, words)?;
        self.encode_some(&mut encoder, &mut workspace, &all[all.len() - 1..])?;
        let emptied = copy(gpu, &mut encoder, &workspace.totals, words)?;
        let peaks = copy(gpu, &mut encoder, &workspace.peaks, part.peaks())?;
        let status = copy(gpu, &mut encoder, &workspace.status, rois)?;
        let submission = gpu.submit(encoder)?;
        gpu.wait(&submission)?;
        let stages = Readbacks {
            cells: cells.read_done(gpu, cell_words)?,
            points: sorted.read_done(gpu, spacepoints)?,
            beside: beside.read_done(gpu, spacepoints)?,
            histograms: histograms.read_done(gpu, rows)?,
            beyond: beyond.read_done(gpu, words)?,
            totals: totals.read_done(gpu, words)?,
            emptied: emptied.read_done(gpu, words)?,
            peaks: peaks.read_done(gpu, part.peaks())?,
            status: status.read_done(gpu, rois)?,
            part,
            planned: decoded,
        };
        workspace.give_back();
        Ok(stages)
    }
}

impl<R: Real> TypedEngine<R> {
    fn encode_some(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        workspace: &mut Workspace<R>,
        dispatches: &[Dispatch],
    ) -> Result<()> {
        let pass = &mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        self.dispatch_all(pass, workspace, dispatches)
    }
}

fn copy<T: bytemuck::Pod>(
    gpu: &Gpu,
    encoder: &mut wgpu::CommandEncoder,
    buffer: &Buffer<T>,
    len: usize,
) -> Result<Readback<T>> {
    let mut readback = Readback::new("test");
    readback.reserve(gpu, len)?;
    readback.copy_from(encoder, buffer, len)?;
    Ok(readback)
}

impl<R: Real> Readbacks<R> {
    /// A row of so many words a bin: n, z, and pairs if they are not n.
    pub(super) fn row(&self, words: &[u32], row: u32, parts: u32, bins: u32) -> HistogramPair {
        let part = |part: u32| {
            let first = ((row * parts + part) * self.part.params.row_bins) as usize;
            words[first..first + bins as usize].to_vec()
        };
        if parts <= 3 {
            return HistogramPair {
                n: part(0),
                z: part(1),
                pairs: part(if parts > 2 { 2 } else { 0 }),
                ..HistogramPair::new(0, 0)
            };
        }
        let precisions: Vec<_> = (3..3 + PAIR_PARTS).map(part).collect();
        let precisions = (0..bins as usize).flat_map(|bin| precisions.iter().map(move |part| part[bin])).collect();
        let sectors = [3, 4].map(|i| part(PAIR_PARTS + i));
        HistogramPair { n: part(0), z: part(1), pairs: part(2), precisions, sectors }
    }

    /// An RoI's own histograms.
    pub(super) fn own(&self, words: &[u32], i: usize) -> HistogramPair {
        let roi = &self.part.words[i];
        let mut all = HistogramPair::new(0, 0);
        for row in roi.total_first..roi.total_first + roi.totals {
            let one = self.row(words, row, self.part.params.total_parts, roi.bins);
            all.n.extend(one.n);
            all.z.extend(one.z);
            all.pairs.extend(one.pairs);
            all.precisions.extend(one.precisions);
            all.sectors.iter_mut().zip(one.sectors).for_each(|(all, one)| all.extend(one));
        }
        all
    }

    /// The rows that find_z filled for an RoI.
    pub(super) fn rows(&self, i: usize) -> Vec<HistogramPair> {
        if self.part.variant.row_parts() == 0 {
            return Vec::new();
        }
        let words = &self.part.words[i];
        let used = self.status[i].rows;
        assert!(used <= words.histogram_count, "{used} rows of {}", words.histogram_count);
        let bins = words.bins as usize;
        (words.histogram_first..words.histogram_first + used)
            .map(|row| {
                if self.part.variant.row_parts() == 2 {
                    return self.row(&self.histograms, row, 2, words.bins);
                }
                let first = (row * self.part.params.row_bins) as usize;
                let packed = &self.histograms[first..first + bins];
                let n: Vec<u32> = packed.iter().map(|word| word >> 21).collect();
                let z = packed.iter().map(|word| word & 0x1f_ffff).collect();
                HistogramPair { pairs: n.clone(), n, z, ..HistogramPair::new(0, 0) }
            })
            .collect()
    }

    pub(super) fn total(&self, i: usize) -> HistogramPair {
        self.own(&self.totals, i)
    }

    /// The error flags of an RoI.
    pub(super) fn flags(&self, i: usize) -> u32 {
        self.peaks[i * self.part.params.peaks as usize].flags
    }

    /// The peaks found.
    pub(super) fn peaks(&self, i: usize) -> Vec<Peak> {
        let each = self.part.params.peaks as usize;
        self.peaks[i * each..(i + 1) * each].iter().copied().take_while(|peak| peak.bin != Peak::NONE).collect()
    }

    /// An RoI's sorted spacepoints.
    pub(super) fn sorted(&self, i: usize) -> Vec<SortedPoint<R>> {
        let first = self.part.words[i].spacepoint_first as usize;
        (first..first + self.planned[i].1.len())
            .map(|i| {
                let ([inverse_rho, z_by_rho], (phi, slice_layer)) = (self.points[i], R::stored(&self.beside[i]));
                SortedPoint { inverse_rho, z_by_rho, phi, slice: slice_layer >> 8, layer: slice_layer & 0xff }
            })
            .collect()
    }

    /// Where a spacepoint stands in the order that this pairing wants.
    pub(super) fn cell(&self, point: &SortedPoint<R>, slices: u32) -> u32 {
        match self.part.variant.pairing {
            Pairing::MixedLayers => point.slice,
            Pairing::TwoSlices => point.slice * self.part.params.layers + point.layer,
            Pairing::ByLayer | Pairing::Numbered => point.layer * slices + point.slice,
        }
    }
}
