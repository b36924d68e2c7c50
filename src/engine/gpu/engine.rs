//! The GPU engine in one number type: a batch is cut into parts, which the device has a few of at
//! once. Small parts of several callers go there together.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kernel_host::{
    Checks, Gpu, JointDevice, JointQueue, JointTicket, Pool, Pooled, Submission, UploadView, Waiting, block_on, wgpu,
};
use rayon::prelude::*;
use tracing::trace_span;

use crate::batch_view::BatchView;
use crate::config::Config;
use crate::engine::encoding::{Compact, Lossless};
use crate::engine::gpu::TypedEngine;
use crate::engine::gpu::capacity::{self, BufferSizes, Capacity, is_out_of_memory, work_of};
use crate::engine::gpu::kernels::KernelSet;
use crate::engine::gpu::part::{Answers, Planned, Submitted, leave_out};
use crate::engine::gpu::part_plan::{Header, PartPlan, Regions};
use crate::engine::gpu::shaders::Density;
use crate::engine::gpu::shape::{RowSharing, Shape};
use crate::engine::gpu::tracklets::GpuTracklets;
use crate::engine::gpu::trust::TRUSTED;
use crate::engine::gpu::workspace::{SearchBuffers, Workspace};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::real::Real;
use crate::engine::records::Peak;
use crate::engine::threads::{Helpers, in_threads};
use crate::error::{Error, Result};
use crate::options::{Encoding, EngineOptions, Precision};
use crate::results::Results;

/// Parts of a batch that one thread lets the device have at once: one computes while the next is
/// prepared.
const IN_FLIGHT: usize = 2;

/// Threads that prepare parts. More threads saturate the bus (measured on an H200).
const MOST_THREADS: usize = 16;

/// Whether parts of several callers go to the device together. In a browser there is one caller,
/// and its answers are read as futures.
const JOINS: bool = cfg!(not(target_arch = "wasm32"));

/// Largest upload in bytes that the kernel reads over the bus at least as fast as a copy (measured
/// on an H200).
const DIRECT_BYTES: u64 = 256 << 10;

/// Parts of several callers in one submission.
pub(crate) struct JointPart<R: Real> {
    workspace: Pooled<Workspace<R>>,
    encoding: Encoding,
    shape: Shape,
    rois: Vec<RoiPlan>,
    /// RoIs whose spacepoints take no part.
    pub(super) left_out: Vec<usize>,
    needs: BufferSizes,
    work: f64,
    /// The plan of the first caller's part.
    first: Option<PartPlan<R>>,
}

/// Parts that were not searched.
#[derive(Default)]
struct UnsearchedParts {
    /// Parts for which there was no memory, by themselves.
    too_large: Vec<(Vec<usize>, Error)>,
    /// RoIs of parts that were not tried then.
    left: Vec<usize>,
}

impl UnsearchedParts {
    fn and(mut self, other: Self) -> Self {
        self.too_large.extend(other.too_large);
        self.left.extend(other.left);
        self
    }
}

/// An RoI that takes less than this on the device is no large one: where it has no room, nothing
/// has.
const LARGE_ROI_BYTES: u64 = 1 << 20;

/// So many RoIs are planned in less time than it takes to wake another thread.
const PARALLEL_PLANS: usize = 64;

impl<R: Real> TypedEngine<R> {
    pub(super) async fn new(gpu: Gpu, search: Search, options: &EngineOptions) -> Result<Self> {
        let shape = Shape::new::<R>(&gpu, &search, options).await?;
        let compact = match options.encoding {
            Encoding::Compact => Compact::new(&search),
            Encoding::Lossless => None,
        };
        let checks = if options.checked { Checks::CHECKED } else { TRUSTED };
        let kernels = KernelSet::build(&gpu, &shape, compact.as_ref(), checks)?;
        let mut capacity = Capacity::new(&gpu);
        if let Some(bytes) = options.most_buffer_bytes {
            capacity.buffer_bytes = capacity.buffer_bytes.min(bytes);
        }
        let tracklets = || {
            let rounding = shape.variant(Density::High).rounding;
            GpuTracklets::new(gpu.clone(), &search, rounding, checks, capacity.buffer_bytes)
        };
        let takes_tracklets = options.precision == Precision::F32 && search.config.takes_tracklets();
        Ok(Self {
            tracklets: takes_tracklets.then(tracklets).transpose()?,
            accumulate: options.thesis.accumulate,
            direct_bytes: if gpu.has(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) { DIRECT_BYTES } else { 0 },
            spin: options.spin,
            workspaces: Pool::default(),
            joint: JointQueue::default(),
            joint_words: AtomicUsize::new(1),
            packing: AtomicUsize::new(0),
            search_buffers: SearchBuffers::new(&gpu, R::cuts(search.triplet_cuts()), &search.neighbours)?,
            gpu,
            search,
            compact,
            shape,
            capacity,
            kernels,
        })
    }

    pub(super) fn new_workspace(&self) -> Workspace<R> {
        Workspace::new(&self.gpu, self.capacity.buffer_bytes)
    }

    pub(super) fn plan(&self, batch: BatchView<'_>, helpers: Helpers) -> Result<Vec<RoiPlan>> {
        let plan = |i| self.search.plan(batch.roi(i));
        if helpers == Helpers::Pool && batch.len() > PARALLEL_PLANS {
            return (0..batch.len()).into_par_iter().with_min_len(PARALLEL_PLANS).map(plan).collect();
        }
        // Collecting results does not know how many there will be.
        let mut plans = Vec::with_capacity(batch.len());
        for i in 0..batch.len() {
            plans.push(plan(i)?);
        }
        Ok(plans)
    }

    /// The encoding that is tried first.
    pub(super) fn encoding(&self) -> Encoding {
        if self.compact.is_some() { Encoding::Compact } else { Encoding::Lossless }
    }

    /// Bytes of a spacepoint on its way.
    pub(super) fn packed_bytes(&self, encoding: Encoding) -> usize {
        match encoding {
            Encoding::Compact => size_of::<[u32; 2]>(),
            Encoding::Lossless => size_of::<R::Spacepoint>(),
        }
    }

    /// Finds the vertices of a batch, and appends them to `results` if all parts succeed.
    pub(super) async fn find_batch(
        &self,
        batch: BatchView<'_>,
        waiting: Waiting,
        helpers: Helpers,
        results: &mut Results,
    ) -> Result<()> {
        let plans = trace_span!("plan").in_scope(|| self.plan(batch, helpers))?;
        let spin = if waiting == Waiting::Blocking && helpers != Helpers::NONE { self.spin } else { Duration::ZERO };
        let shape = self.shape.with_peaks(self.search.config.first_peaks());
        let planned =
            Planned { batch, plans: &plans, encoding: self.encoding(), waiting, helpers, spin, joins: JOINS, shape };
        let mut rounds = vec![(planned, (0..plans.len()).filter(|&roi| !plans[roi].is_empty()).collect::<Vec<_>>())];
        // Answers that come in the order of the batch stay in the memory of the caller.
        let mut answers = Answers::new(results, plans.len(), self.search.config.peaks as usize);
        while let Some((planned, rois)) = rounds.pop() {
            self.find_round(planned, rois, &mut answers).await?;
            let too_far = std::mem::take(&mut answers.too_far);
            if !too_far.is_empty() {
                rounds.push((Planned { encoding: Encoding::Lossless, ..planned }, too_far));
            }
            let to_repeat = std::mem::take(&mut answers.to_repeat);
            if !to_repeat.is_empty() {
                rounds.push((Planned { joins: false, ..planned }, to_repeat));
            }
            let with_more_peaks = std::mem::take(&mut answers.with_more_peaks);
            if !with_more_peaks.is_empty() {
                let peaks = planned.shape.peaks.saturating_mul(8).min(Config::MAX_BINS);
                rounds.push((Planned { shape: self.shape.with_peaks(peaks), ..planned }, with_more_peaks));
            }
        }
        answers.finish(&plans, results);
        Ok(())
    }

    /// Plans a batch, and describes the plan of each part.
    #[cfg(feature = "internals")]
    pub(super) fn plan_parts(&self, batch: BatchView<'_>) -> Result<Vec<String>> {
        let plans = self.plan(batch, Helpers::NONE)?;
        let shape = self.shape.with_peaks(self.search.config.first_peaks());
        let (encoding, waiting, helpers, spin) = (self.encoding(), Waiting::Blocking, Helpers::NONE, Duration::ZERO);
        let planned = Planned { batch, plans: &plans, encoding, waiting, helpers, spin, joins: false, shape };
        let wanted: Vec<usize> = (0..plans.len()).filter(|&roi| !plans[roi].is_empty()).collect();
        let cut = capacity::cut::<R>(&plans, &wanted, self.packed_bytes(encoding), &self.capacity, &shape);
        cut.parts.iter().map(|rois| Ok(self.plan_part(planned, rois, Header::Exact)?.to_string())).collect()
    }

    /// Searches RoIs of a batch in one encoding, in parts for which there is memory.
    async fn find_round(&self, planned: Planned<'_>, rois: Vec<usize>, answers: &mut Answers) -> Result<()> {
        let (plans, bytes) = (planned.plans, self.packed_bytes(planned.encoding));
        // The answer counts its spacepoints all the same.
        let refuse = |roi: usize, answers: &mut Answers| {
            let packed = self.search.pack::<R, _>(&Lossless, &plans[roi], planned.batch.roi(roi), |_| {});
            answers.rois.push(roi);
            plans[roi].report(packed, &[], packed.kept > 0, &mut answers.results);
        };
        let mut capacity = self.capacity;
        let mut left = rois;
        while !left.is_empty() {
            let cut = capacity::cut::<R>(plans, &left, bytes, &capacity, &planned.shape);
            cut.too_large.into_iter().for_each(|roi| refuse(roi, answers));
            let joins = planned.joins && self.is_small(&planned, &cut.parts);
            let found = self.find_parts(Planned { joins, ..planned }, cut.parts, answers).await?;
            left = found.left;
            for (part, error) in found.too_large {
                match part[..] {
                    [roi] if capacity::bytes_of::<R>(&plans[roi], &planned.shape) < LARGE_ROI_BYTES => {
                        return Err(error);
                    }
                    [roi] => refuse(roi, answers),
                    _ => {
                        let spacepoints: usize = part.iter().map(|&roi| plans[roi].spacepoints).sum();
                        capacity.upload_bytes = capacity.upload_bytes.min((spacepoints * bytes) as u64 / 2);
                        left.extend(part);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether these parts are one small part, which joins those of other callers.
    fn is_small(&self, planned: &Planned<'_>, parts: &[Vec<usize>]) -> bool {
        let [rois] = parts else { return false };
        let spacepoints: usize = rois.iter().map(|&roi| planned.plans[roi].spacepoints).sum();
        let bytes = spacepoints * self.packed_bytes(planned.encoding);
        // Shares of another size could make too many rows.
        planned.shape.pairs == RowSharing::Streamed { share: None }
            && rois.len() <= Regions::JOINT_ROIS / 4
            && bytes as u64 <= self.capacity.upload_bytes / 4
    }

    /// Searches parts, until there is no memory for one of them.
    async fn find_parts(
        &self,
        planned: Planned<'_>,
        parts: Vec<Vec<usize>>,
        answers: &mut Answers,
    ) -> Result<UnsearchedParts> {
        let mut unsearched = UnsearchedParts::default();
        if planned.waiting == Waiting::Blocking && planned.helpers != Helpers::NONE && parts.len() > 1 {
            return self.find_in_threads(planned, parts, answers);
        }
        let mut in_flight = VecDeque::new();
        let mut parts = parts.into_iter();
        while let Some(rois) = parts.next() {
            planned.batch.cancellation.check()?;
            loop {
                if in_flight.len() < IN_FLIGHT {
                    match self.submit(planned, &rois, !in_flight.is_empty()).await? {
                        Submitted::InFlight(part) => {
                            in_flight.push_back(part);
                            break;
                        }
                        Submitted::Later => {}
                        // Nothing else is in flight here.
                        Submitted::TooLarge(error) => {
                            unsearched.too_large.push((rois, error));
                            unsearched.left.extend(parts.flatten());
                            return Ok(unsearched);
                        }
                    }
                }
                self.collect(planned, in_flight.pop_front(), answers).await?;
            }
        }
        while !in_flight.is_empty() {
            self.collect(planned, in_flight.pop_front(), answers).await?;
        }
        Ok(unsearched)
    }

    /// Searches parts in several threads. Each thread prepares a part, submits it, waits, decodes,
    /// and takes the next one.
    fn find_in_threads(
        &self,
        planned: Planned<'_>,
        parts: Vec<Vec<usize>>,
        answers: &mut Answers,
    ) -> Result<UnsearchedParts> {
        let all = planned.helpers.threads();
        let threads = all.clamp(IN_FLIGHT, MOST_THREADS).min(parts.len());
        let planned = Planned { helpers: Helpers::Threads((all / threads).max(1)), spin: Duration::ZERO, ..planned };
        let parts = Mutex::new(parts.into_iter());
        let parts = || parts.lock().unwrap_or_else(PoisonError::into_inner);
        let work = |_| {
            let (mut own, mut unsearched) = (Answers::default(), UnsearchedParts::default());
            loop {
                let Some(rois) = parts().next() else { return Ok((own, unsearched)) };
                planned.batch.cancellation.check()?;
                // The futures never yield: they block where they wait.
                match block_on(self.submit(planned, &rois, false))? {
                    Submitted::InFlight(part) => block_on(self.collect(planned, Some(part), &mut own))?,
                    Submitted::Later => unsearched.left.extend(rois),
                    Submitted::TooLarge(error) => {
                        unsearched.too_large.push((rois, error));
                        unsearched.left.extend(parts().by_ref().flatten());
                    }
                }
            }
        };
        let found = in_threads(vec![(); threads], threads, work).into_iter().collect::<Result<Vec<_>>>()?;
        Ok(found.into_iter().fold(UnsearchedParts::default(), |all, (own, unsearched)| {
            answers.append(own);
            all.and(unsearched)
        }))
    }

    /// Gives a part a place in a joint submission, from the RoI of the returned number on. None if
    /// there is no memory for one.
    #[expect(clippy::type_complexity, reason = "the values of `JointQueue::board`")]
    pub(super) fn board(
        &self,
        planned: Planned<'_>,
        rois: &[usize],
    ) -> Result<Option<(JointTicket<'_, Self>, (usize, UploadView<u32>))>> {
        let _span = trace_span!("place").entered();
        let join = |load: &mut JointPart<R>| self.join(load, planned, rois);
        self.joint.board(self, join, || self.open(planned, rois))
    }

    /// Starts a joint submission with a part.
    #[expect(clippy::type_complexity, reason = "the values of `JointQueue::board`")]
    fn open(&self, planned: Planned<'_>, rois: &[usize]) -> Result<Option<(JointPart<R>, (usize, UploadView<u32>))>> {
        let plan = self.plan_part(planned, rois, Header::Joint)?;
        let make_room = |w: &mut Workspace<R>| {
            w.staging.make_room(&self.gpu, self.joint_words.load(Ordering::Relaxed))?;
            self.make_room(w, &plan)
        };
        let room = self.workspaces.try_reserve(|| self.new_workspace(), make_room, is_out_of_memory)?;
        let Some((workspace, view)) = room else { return Ok(None) };
        let plans = rois.iter().map(|&roi| planned.plans[roi].clone()).collect();
        let (needs, work) = sizes(&planned, rois);
        let (encoding, shape) = (planned.encoding, planned.shape);
        let load =
            JointPart { workspace, encoding, shape, rois: plans, left_out: Vec::new(), needs, work, first: Some(plan) };
        Ok(Some((load, (0, view))))
    }

    /// Adds a part to a joint submission. Returns the number of its first RoI there, and where its
    /// spacepoints are staged. None if there is no room.
    fn join(&self, load: &mut JointPart<R>, planned: Planned<'_>, rois: &[usize]) -> Option<(usize, UploadView<u32>)> {
        let (needs, work) = sizes(&planned, rois);
        let (needs, work) = (load.needs.and(needs), load.work + work);
        let first = load.rois.len();
        let bytes = self.packed_bytes(planned.encoding);
        let word = |spacepoints: u64| (Regions::joint::<R>().spacepoints as usize + spacepoints as usize * bytes) / 4;
        let (begin, end) = (word(load.needs.spacepoints), word(needs.spacepoints));
        if load.encoding != planned.encoding
            || load.shape.peaks != planned.shape.peaks
            || first + rois.len() > Regions::JOINT_ROIS
            || 4 * end as u64 > self.capacity.upload_bytes
            || work > self.capacity.work
            || !self.capacity.holds::<R>(&needs, &planned.shape)
        {
            return None;
        }
        if end > load.workspace.staging.capacity() {
            // The next submission has room for more.
            let most = self.capacity.upload_bytes as usize / 4;
            self.joint_words.fetch_max((2 * end).min(most), Ordering::Relaxed);
            return None;
        }
        let view = load.workspace.staging.view(begin..end).ok()?;
        load.rois.extend(rois.iter().map(|&roi| planned.plans[roi].clone()));
        (load.needs, load.work, load.first) = (needs, work, None);
        Some((first, view))
    }
}

/// Room and work of a part.
fn sizes(planned: &Planned<'_>, rois: &[usize]) -> (BufferSizes, f64) {
    let shape = &planned.shape;
    let plans = || rois.iter().map(|&roi| &planned.plans[roi]);
    let needs =
        plans().map(|plan| BufferSizes::most(plan, shape, shape.pairs)).fold(BufferSizes::default(), BufferSizes::and);
    (needs, plans().map(work_of).sum())
}

/// Joint submissions on this engine's device.
impl<R: Real> JointDevice for TypedEngine<R> {
    type Load = JointPart<R>;
    type Submission = Submission;
    type Answers = Vec<Peak>;
    type Error = Error;

    fn size(&self, load: &JointPart<R>) -> u64 {
        load.needs.spacepoints
    }

    fn submit(&self, load: &mut JointPart<R>) -> Result<Submission> {
        let mut plan = match load.first.take() {
            Some(plan) => plan,
            None => {
                let plan = self.plan_rois(&load.shape, load.encoding, Header::Joint, load.rois.iter())?;
                load.workspace.make_room(&self.gpu, &plan, self.direct_bytes)?;
                plan
            }
        };
        leave_out(&mut plan, load.left_out.drain(..));
        let submission = self.send(&mut load.workspace, &plan)?;
        load.workspace.results.map_when_done(&self.gpu, plan.peaks())?;
        load.workspace.staging.map_when_done(&self.gpu);
        Ok(submission)
    }

    fn wait(&self, submission: &Submission) -> Result<()> {
        let _span = trace_span!("device").entered();
        Ok(self.gpu.wait_spinning(submission, self.spin)?)
    }

    fn wait_async(&self, submission: &Submission) -> impl Future<Output = Result<()>> + Send {
        let done = self.gpu.wait_async(submission);
        async move { Ok(done.await?) }
    }

    fn read(&self, load: JointPart<R>) -> Result<Vec<Peak>> {
        let _span = trace_span!("read").entered();
        let count = load.rois.len() * load.shape.peaks as usize;
        let peaks = load.workspace.results.read_done(&self.gpu, count)?;
        load.workspace.give_back();
        Ok(peaks)
    }
}
