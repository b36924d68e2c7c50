//! One part of a batch on its way: packed, submitted, collected. A small part joins those of other
//! callers in one submission.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kernel_host::{JointTicket, Pooled, Reserved, Submission, Timer, UploadPart, UploadView, Waiting, wgpu};
use rayon::prelude::*;
use tracing::trace_span;

use crate::batch_view::BatchView;
use crate::engine::encoding::Lossless;
use crate::engine::gpu::TypedEngine;
use crate::engine::gpu::capacity::is_out_of_memory;
use crate::engine::gpu::kernels::KernelName;
use crate::engine::gpu::part_plan::{Dispatch, Header, PartPlan, Regions};
use crate::engine::gpu::shape::Shape;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::plan::{BLOCK, PackSummary, RoiPlan};
use crate::engine::real::Real;
use crate::engine::records::{Peak, Sums};
use crate::engine::threads::{Helpers, in_threads};
use crate::engine::vertices::VertexBuilder;
use crate::error::{Error, Result};
use crate::options::Encoding;
use crate::results::Results;

/// A part that the device works on, or will.
pub(super) struct InFlight<'a, R: Real> {
    rois: Vec<usize>,
    /// Of each of them.
    packed: Vec<PackSummary>,
    place: Place<'a, R>,
}

/// Where a part is.
#[expect(clippy::large_enum_variant, reason = "it is taken apart soon; a box would cost each part an allocation")]
enum Place<'a, R: Real> {
    /// In a submission of its own.
    Own(Pooled<Workspace<R>>, Submission),
    /// In a joint submission, from the RoI of this number on.
    Joint(JointTicket<'a, TypedEngine<R>>, usize),
}

/// Result of submitting a part.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once; a box would cost each part an allocation")]
pub(super) enum Submitted<'a, R: Real> {
    InFlight(InFlight<'a, R>),
    /// There is no memory before another part of the caller gives its back.
    Later,
    /// There is no memory for it by itself.
    TooLarge(Error),
}

/// A batch that is planned.
#[derive(Clone, Copy)]
pub(super) struct Planned<'a> {
    pub(super) batch: BatchView<'a>,
    pub(super) plans: &'a [RoiPlan],
    pub(super) encoding: Encoding,
    pub(super) waiting: Waiting,
    pub(super) helpers: Helpers,
    /// How long to ask the device before waiting for it.
    pub(super) spin: Duration,
    /// Whether small parts may join those of other callers.
    pub(super) joins: bool,
    /// The shape, with room for the requested number of peaks.
    pub(super) shape: Shape,
}

/// Answers to RoIs of a batch, in the order of completion.
#[derive(Default)]
pub(super) struct Answers {
    /// The place in the batch of each RoI of `results`.
    pub(super) rois: Vec<usize>,
    pub(super) results: Results,
    /// RoIs whose spacepoints the encoding cannot hold.
    pub(super) too_far: Vec<usize>,
    /// RoIs that may have more peaks than there was room for.
    pub(super) with_more_peaks: Vec<usize>,
    /// RoIs of a joint submission that failed.
    pub(super) to_repeat: Vec<usize>,
}

impl Answers {
    /// Makes room for so many RoIs, in the memory of results if they are empty.
    pub(super) fn new(results: &mut Results, rois: usize, peaks: usize) -> Self {
        let own = if results.is_empty() { std::mem::take(results) } else { Results::new() };
        let mut answers = Self { rois: Vec::with_capacity(rois), results: own, ..Self::default() };
        answers.results.reserve(rois, rois * peaks.min(MOST_RESERVED));
        answers
    }

    /// Appends the answers of another thread.
    pub(super) fn append(&mut self, other: Self) {
        self.rois.extend(other.rois);
        self.results.append(&other.results, 0..other.results.len());
        self.too_far.extend(other.too_far);
        self.with_more_peaks.extend(other.with_more_peaks);
        self.to_repeat.extend(other.to_repeat);
    }

    /// Appends the answers to `results`, in the order of the batch. An RoI without an answer has
    /// nothing to search.
    pub(super) fn finish(self, plans: &[RoiPlan], results: &mut Results) {
        const NONE: usize = usize::MAX;
        if results.is_empty() && self.rois.len() == plans.len() && self.rois.is_sorted() {
            *results = self.results;
            return;
        }
        results.reserve(plans.len(), self.results.vertices().len());
        let mut rows = vec![NONE; plans.len()];
        self.rois.iter().enumerate().for_each(|(row, &roi)| rows[roi] = row);
        let mut roi = 0;
        while roi < rows.len() {
            let row = rows[roi];
            if row == NONE {
                plans[roi].report(plans[roi].nothing_packed(), &[], false, results);
                roi += 1;
                continue;
            }
            // Consecutive RoIs of a part are copied together.
            let count = rows[roi..].iter().zip(row..).take_while(|&(&own, next)| own == next).count();
            results.append(&self.results, row..row + count);
            roi += count;
        }
    }
}

impl<R: Real> TypedEngine<R> {
    /// Packs a part straight into memory that the device reads, and lets the device begin.
    pub(super) async fn submit(
        &self,
        planned: Planned<'_>,
        rois: &[usize],
        has_another: bool,
    ) -> Result<Submitted<'_, R>> {
        if planned.joins
            && let Some(part) = self.submit_joint(planned, rois)?
        {
            return Ok(Submitted::InFlight(part));
        }
        let mut plan = self.plan_part(planned, rois, Header::Exact)?;
        let make_room = |w: &mut Workspace<R>| self.make_room(w, &plan);
        let new = || self.new_workspace();
        let room = self.workspaces.reserve(planned.waiting, has_another, new, make_room, is_out_of_memory).await?;
        let (mut workspace, view) = match room {
            Reserved::Ready(workspace, view) => (workspace, view),
            Reserved::Later => return Ok(Submitted::Later),
            Reserved::Full(error) => return Ok(Submitted::TooLarge(error)),
        };
        let packed = self.pack(planned, view, rois);
        leave_out(&mut plan, empty_rois(&packed));
        let submission = self.send(&mut workspace, &plan)?;
        Ok(Submitted::InFlight(InFlight { rois: rois.to_vec(), packed, place: Place::Own(workspace, submission) }))
    }

    /// Makes room for a part by itself, and returns where its spacepoints are staged.
    pub(super) fn make_room(&self, workspace: &mut Workspace<R>, plan: &PartPlan<R>) -> Result<UploadView<u32>> {
        workspace.make_room(&self.gpu, plan, self.direct_bytes)?;
        let [first, end] = [plan.regions.spacepoints, plan.regions.end].map(|byte| byte as usize / 4);
        workspace.staging.make_room(&self.gpu, end)?;
        Ok(workspace.staging.view(first..end)?)
    }

    /// Packs a part into a joint submission. None if there is no memory for one.
    fn submit_joint(&self, planned: Planned<'_>, rois: &[usize]) -> Result<Option<InFlight<'_, R>>> {
        let Some((mut ticket, (first, view))) = self.board(planned, rois)? else { return Ok(None) };
        let packed = self.pack(planned, view, rois);
        ticket.written(self, |load| load.left_out.extend(empty_rois(&packed).map(|roi| first + roi)));
        Ok(Some(InFlight { rois: rois.to_vec(), packed, place: Place::Joint(ticket, first) }))
    }

    /// Writes the header of a part whose spacepoints are staged, and lets the device begin.
    pub(super) fn send(&self, workspace: &mut Workspace<R>, plan: &PartPlan<R>) -> Result<Submission> {
        let encoder = trace_span!("record").in_scope(|| {
            self.write_header(workspace, plan)?;
            let mut encoder = self.gpu.encoder("zfinder");
            self.begin(&mut encoder, workspace)?;
            self.encode(&mut encoder, workspace, plan, None)?;
            Ok::<_, Error>(encoder)
        })?;
        let _span = trace_span!("submit").entered();
        Ok(self.gpu.submit(encoder)?)
    }

    fn write_header(&self, workspace: &Workspace<R>, plan: &PartPlan<R>) -> Result<()> {
        let Regions { rois, row_rois, spacepoints, .. } = plan.regions;
        let mut view = workspace.staging.view(0..spacepoints as usize / 4)?;
        let lengths = [rois, row_rois - rois, spacepoints - row_rois].map(|bytes| bytes as usize / 4);
        let (params, rois, row_rois) = plan.header();
        for (mut part, words) in view.parts(lengths).into_iter().zip([&params, rois, row_rois]) {
            if !part.write(words) {
                let (what, wanted) = ("header of a submission".to_owned(), words.len());
                return Err(kernel_host::Error::BufferTooSmall { what, wanted, held: 0 }.into());
            }
        }
        Ok(())
    }

    #[cfg(any(test, feature = "internals"))]
    /// Fills a workspace with a part. [`TypedEngine::begin`] copies the staged data on the device.
    pub(super) fn upload(
        &self,
        planned: Planned<'_>,
        workspace: &mut Workspace<R>,
        rois: &[usize],
    ) -> Result<PartPlan<R>> {
        let mut plan = self.plan_part(planned, rois, Header::Exact)?;
        let view = self.make_room(workspace, &plan)?;
        leave_out(&mut plan, empty_rois(&self.pack(planned, view, rois)));
        self.write_header(workspace, &plan)?;
        Ok(plan)
    }

    pub(super) fn plan_part(&self, planned: Planned<'_>, rois: &[usize], header: Header) -> Result<PartPlan<R>> {
        self.plan_rois(&planned.shape, planned.encoding, header, rois.iter().map(|&roi| &planned.plans[roi]))
    }

    pub(super) fn plan_rois<'a>(
        &self,
        shape: &Shape,
        encoding: Encoding,
        header: Header,
        rois: impl Iterator<Item = &'a RoiPlan> + Clone,
    ) -> Result<PartPlan<R>> {
        let form = (encoding, self.packed_bytes(encoding));
        let sum_threads = || Ok(self.kernels.get(&self.gpu, KernelName::SumHistos)?.workgroup_size("sum_histos")[0]);
        PartPlan::new(&self.search, shape, &self.capacity, form, header, rois, sum_threads)
    }

    /// Writes the spacepoints of a part to where they are staged. Many of them are written by
    /// several threads, also those of a single RoI.
    fn pack(&self, planned: Planned<'_>, mut view: UploadView<u32>, rois: &[usize]) -> Vec<PackSummary> {
        let _span = trace_span!("pack").entered();
        let packing = self.packing.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.packed_bytes(planned.encoding);
        let spacepoints: usize = rois.iter().map(|&roi| planned.plans[roi].spacepoints).sum();
        let helps = match planned.helpers {
            Helpers::Pool => 2 * packing <= rayon::current_num_threads(),
            Helpers::Threads(threads) => threads > 1,
        };
        let many = helps && spacepoints >= PARALLEL_PACKING;
        let each = if many { PIECE } else { usize::MAX };
        let pieces = rois.iter().enumerate().flat_map(|(at, &roi)| {
            let end = planned.plans[roi].spacepoints;
            (0..end.max(1)).step_by(each).map(move |first| Piece {
                at,
                roi,
                range: first..end.min(first.saturating_add(each)),
            })
        });
        let pieces: Vec<Piece> = pieces.collect();
        let words = pieces.iter().map(|piece| piece.range.len() * bytes / 4);
        let pack = |(mut part, piece): (UploadPart<'_, u32>, &Piece)| {
            let plan = &planned.plans[piece.roi];
            let view = planned.batch.roi(piece.roi).range(piece.range.clone());
            let mut fits = true;
            let packed = match (&self.compact, planned.encoding) {
                (Some(compact), Encoding::Compact) => self.search.pack::<R, _>(compact, plan, view, |block| {
                    fits &= part.write(bytemuck::cast_slice(block));
                }),
                _ => self.search.pack::<R, _>(&Lossless, plan, view, |block| {
                    fits &= part.write(bytemuck::cast_slice(block));
                }),
            };
            debug_assert!(fits, "a part has room for all spacepoints of its RoI");
            packed
        };
        let parts: Vec<_> = view.parts(words).into_iter().zip(&pieces).collect();
        let packed: Vec<_> = match planned.helpers {
            _ if !many => parts.into_iter().map(pack).collect(),
            Helpers::Pool => parts.into_par_iter().with_min_len(pieces.len() / 64 + 1).map(pack).collect(),
            Helpers::Threads(threads) => in_threads(parts, threads, pack),
        };
        self.packing.fetch_sub(1, Ordering::Relaxed);
        let mut all = vec![PackSummary::default(); rois.len()];
        pieces.iter().zip(packed).for_each(|(piece, packed)| all[piece.at] = all[piece.at].and(packed));
        all
    }

    /// Encodes what the stages rely on: the input on the device.
    pub(super) fn begin(&self, encoder: &mut wgpu::CommandEncoder, workspace: &mut Workspace<R>) -> Result<()> {
        if workspace.direct {
            workspace.staging.unmap();
        } else {
            workspace.staging.copy_to(encoder, &workspace.input, workspace.regions.end as usize / 4)?;
        }
        Ok(())
    }

    /// The stages: in one pass, or to be timed, each in its own. The peaks lie where the host reads
    /// them then.
    pub(super) fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        workspace: &mut Workspace<R>,
        plan: &PartPlan<R>,
        timer: Option<&mut Timer>,
    ) -> Result<()> {
        self.clear(encoder, workspace, plan)?;
        match timer {
            Some(timer) => {
                for stage in plan.dispatches.chunk_by(|a, b| a.kernel == b.kernel) {
                    let name = stage[0].kernel.stage();
                    let timestamp_writes = timer.pass(name);
                    let descriptor = wgpu::ComputePassDescriptor { label: Some(name), timestamp_writes };
                    self.dispatch_all(&mut encoder.begin_compute_pass(&descriptor), workspace, stage)?;
                }
            }
            None => {
                let pass = &mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                self.dispatch_all(pass, workspace, &plan.dispatches)?;
            }
        }
        if !workspace.direct {
            workspace.results.copy_from(encoder, &workspace.peaks, plan.peaks())?;
        }
        Ok(())
    }

    /// Clears several histograms an RoI; of one, slice_spacepoints does it.
    pub(super) fn clear(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        workspace: &Workspace<R>,
        plan: &PartPlan<R>,
    ) -> Result<()> {
        if plan.variant.several {
            let sums = plan.rois.len() * size_of::<Sums>();
            encoder.clear_buffer(workspace.totals.raw()?, 0, Some(4 * plan.total_words() as u64));
            encoder.clear_buffer(workspace.sums.raw()?, 0, Some(sums as u64));
        }
        Ok(())
    }

    /// Binds each kernel's variables by their names.
    pub(super) fn dispatch_all(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        workspace: &mut Workspace<R>,
        dispatches: &[Dispatch],
    ) -> Result<()> {
        for dispatch in dispatches {
            let kernel = self.kernels.get(&self.gpu, dispatch.kernel)?;
            let mut group = workspace.take_group(dispatch);
            let binding = |name| Ok((name, workspace.binding(&self.search_buffers, dispatch, name)?));
            let bindings = kernel.bindings().map(binding).collect::<Result<Vec<_>>>()?;
            let bound = kernel.bind_group_in(&self.gpu, &mut group, &bindings)?;
            kernel.dispatch(pass, dispatch.entry_point, bound, dispatch.grid)?;
            workspace.keep_group(dispatch, group);
        }
        Ok(())
    }

    /// Waits for a part and decodes its answers.
    pub(super) async fn collect(
        &self,
        planned: Planned<'_>,
        part: Option<InFlight<'_, R>>,
        answers: &mut Answers,
    ) -> Result<()> {
        let Some(InFlight { rois, packed, place }) = part else { return Ok(()) };
        let each = planned.shape.peaks as usize;
        let count = rois.len() * each;
        let (peaks, first) = match (place, planned.waiting) {
            (Place::Own(workspace, submission), waiting) => {
                let peaks = match waiting {
                    Waiting::Blocking => {
                        trace_span!("device").in_scope(|| self.gpu.wait_spinning(&submission, planned.spin))?;
                        workspace.results.read_done(&self.gpu, count)?
                    }
                    Waiting::Async => workspace.results.read_async(&self.gpu, &submission, count).await?,
                };
                workspace.give_back();
                (Arc::new(peaks), 0)
            }
            (Place::Joint(mut ticket, first), waiting) => {
                let peaks = match waiting {
                    Waiting::Blocking => trace_span!("wait").in_scope(|| ticket.wait(self))?,
                    Waiting::Async => ticket.wait_async(self).await?,
                };
                let Some(peaks) = peaks else {
                    answers.to_repeat.extend(rois);
                    return Ok(());
                };
                (peaks, first)
            }
        };
        let peaks = &peaks[first * each..][..count];
        let _span = trace_span!("decode").entered();
        let mut vertices = Vec::new();
        for ((roi, packed), peaks) in rois.into_iter().zip(packed).zip(peaks.chunks_exact(each)) {
            if packed.too_far {
                answers.too_far.push(roi);
                continue;
            }
            let plan = &planned.plans[roi];
            let mut builder = VertexBuilder::new(&self.search, plan, self.accumulate, &mut vertices);
            let mut found = peaks.iter().take_while(|peak| peak.bin != Peak::NONE);
            let all = found.by_ref().take_while(|peak| builder.take(peak)).count() == each;
            let capacity_exceeded = peaks[0].flags != 0;
            // No peak came after the last one: there may be more.
            if all && !capacity_exceeded {
                answers.with_more_peaks.push(roi);
                continue;
            }
            builder.finish();
            answers.rois.push(roi);
            plan.report(packed, &vertices, capacity_exceeded, &mut answers.results);
        }
        Ok(())
    }
}

/// Vertices of an RoI for which there is room from the beginning.
const MOST_RESERVED: usize = 8;

/// Spacepoints of a part that are worth more than one thread.
const PARALLEL_PACKING: usize = 1 << 16;
/// Spacepoints that a thread packs together then, in whole blocks.
const PIECE: usize = 128 * BLOCK;

/// Some of an RoI's spacepoints.
struct Piece {
    /// Place of the RoI in its part.
    at: usize,
    /// And in the batch.
    roi: usize,
    range: Range<usize>,
}

/// Places in a part of RoIs whose spacepoints take no part.
fn empty_rois(packed: &[PackSummary]) -> impl Iterator<Item = usize> {
    packed.iter().enumerate().filter(|(_, packed)| packed.kept == 0).map(|(roi, _)| roi)
}

pub(super) fn leave_out<R: Real>(plan: &mut PartPlan<R>, rois: impl IntoIterator<Item = usize>) {
    rois.into_iter().for_each(|roi| R::leave_out(&mut plan.rois[roi]));
}
