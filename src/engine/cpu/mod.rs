//! The CPU engine: the four stages, parallel over RoIs and, in a large
//! one, over groups of slices. Each stage does in vectors what `engine/twin` does in scalars.

/// Computes a step of a search within a span of its name, for `zfinder bench --timeline`. The crate
/// for spans comes with the feature `gpu`.
macro_rules! step {
    ($name:literal, $work:expr $(,)?) => {{
        #[cfg(feature = "gpu")]
        let _span = tracing::trace_span!($name).entered();
        $work
    }};
}

pub(crate) mod find_peaks;
pub(crate) mod find_z;
pub(crate) mod lanes;
mod pair_weight;
mod pairs;
mod slice_index;
pub(crate) mod slice_spacepoints;
#[cfg(feature = "internals")]
pub(crate) mod stages;
pub(crate) mod sum_histos;
#[cfg(test)]
mod tests;
mod thirds;
pub(crate) mod tracklets;

use std::num::NonZeroUsize;
#[cfg(feature = "gpu")]
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::batch_view::BatchView;
use crate::cancellation::Cancellation;
use crate::config::{PairWeight, Tracklets};
use crate::engine::cpu::find_peaks::PeakBuffers;
use crate::engine::cpu::find_z::FindZBuffers;
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::slice_spacepoints::SlicedSpacepoints;
use crate::engine::cpu::tracklets::TrackletBuffers;
use crate::engine::encoding::{Compact, Encode, Lossless};
use crate::engine::histogram::{CompareExchange, FixedPoint, HistogramPair, MAX_COUNT};
use crate::engine::plan::{PackSummary, RoiPlan, Search};
use crate::engine::real::Real;
use crate::engine::records::Peak;
use crate::engine::tracklets::answer::TrackletAnswer;
use crate::engine::tracklets::roi_hits::RoiHits;
use crate::engine::tracklets::search::TrackletSearch;
use crate::engine::tracklets::z_ranges::ZRanges;
use crate::engine::vertices::VertexBuilder;
use crate::error::{Error, Result};
use crate::options::{Encoding, EngineOptions, Precision};
use crate::results::Results;
#[cfg(feature = "gpu")]
use crate::results::{RoiResult, Status};
use crate::spacepoint::RoiView;
use crate::thesis::Accumulate;
use crate::tracklet::TrackletHits;
use crate::vertex::Vertex;

pub(crate) struct CpuEngine {
    search: Search,
    accumulate: Accumulate,
    compact: Option<Compact>,
    /// Searches for tracklets, if the configuration asks for them.
    tracklets: Option<TrackletSearch>,
    memory: WorkspacesByPrecision,
    threads: Threads,
    /// Calls in progress.
    callers: AtomicUsize,
    /// Results of the pieces of a batch, reused.
    idle_pieces: Mutex<Vec<Vec<Results>>>,
}

/// The threads that compute.
enum Threads {
    /// The caller's. Of several callers that want one thread together, one has the turn.
    Caller(Mutex<()>),
    /// The threads of its own pool.
    Own(ThreadPool),
    /// The threads of rayon's global pool, or of the pool of the caller.
    Rayon,
}

/// A call in progress, which ends even if it panics.
struct Call<'a>(&'a AtomicUsize);

impl<'a> Call<'a> {
    fn begin(callers: &'a AtomicUsize) -> Self {
        callers.fetch_add(1, Ordering::Relaxed);
        Self(callers)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// By precision.
enum WorkspacesByPrecision {
    Single(IdleWorkspaces<f32>),
    Double(IdleWorkspaces<f64>),
}

impl CpuEngine {
    /// # Errors
    /// A system that has no threads to give.
    pub(crate) fn new(search: Search, options: &EngineOptions) -> Result<Self> {
        let compact = match options.encoding {
            Encoding::Compact => Compact::new(&search),
            Encoding::Lossless => None,
        };
        let memory = match options.precision {
            Precision::F32 => WorkspacesByPrecision::Single(IdleWorkspaces::default()),
            Precision::F64 => WorkspacesByPrecision::Double(IdleWorkspaces::default()),
        };
        let threads = match options.threads {
            None => Threads::Rayon,
            Some(NonZeroUsize::MIN) => Threads::Caller(Mutex::default()),
            Some(threads) => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get());
                let pool = pool.thread_name(|i| format!("zfinder-{i}")).build();
                Threads::Own(pool.map_err(|error| Error::Thread(std::io::Error::other(error)))?)
            }
        };
        let tracklets = search.config.takes_tracklets();
        let tracklets = tracklets.then(|| TrackletSearch::new(&search.config, &search.detector));
        Ok(Self {
            tracklets,
            search,
            accumulate: options.thesis.accumulate,
            compact,
            memory,
            threads,
            callers: AtomicUsize::new(0),
            idle_pieces: Mutex::default(),
        })
    }

    fn threads(&self) -> usize {
        match &self.threads {
            Threads::Caller(_) => 1,
            Threads::Own(pool) => pool.current_num_threads(),
            Threads::Rayon => rayon::current_num_threads(),
        }
    }

    pub(crate) fn description(&self) -> String {
        let precision = match self.memory {
            WorkspacesByPrecision::Single(_) => "f32",
            WorkspacesByPrecision::Double(_) => "f64",
        };
        let threads = self.threads();
        format!("CPU engine, {threads} thread{}, {precision}", if threads == 1 { "" } else { "s" })
    }

    /// Answers one of many callers at once: no more threads compute than one caller alone would
    /// have.
    pub(crate) fn find_batch_in_turn(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        match &self.threads {
            Threads::Caller(turn) => {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                self.find_batch(batch, results)
            }
            Threads::Own(pool) => pool.install(|| self.find_batch(batch, results)),
            Threads::Rayon => rayon::scope(|_| self.find_batch(batch, results)),
        }
    }

    /// Returns the threads that each call in progress may use.
    fn share(&self) -> usize {
        self.threads() / self.callers.load(Ordering::Relaxed).max(1)
    }

    fn has_idle_threads(&self) -> bool {
        self.callers.load(Ordering::Relaxed) < self.threads()
    }

    /// Searches on the thread of the caller. Threads of the pool help while there are fewer callers
    /// than threads. Appends the answers to `results`.
    pub(crate) fn find_batch(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        let _call = Call::begin(&self.callers);
        self.find_rois(batch, results)
    }

    fn find_rois(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        for (i, roi) in batch.iter().enumerate() {
            // Other callers come and go: idle threads are looked for before each RoI.
            if self.has_idle_threads() && i + 1 < batch.len() {
                return self.find_in_pieces(batch.rois(i..batch.len()), results);
            }
            batch.cancellation.check()?;
            self.find(roi, self.share(), batch.cancellation, results)?;
        }
        Ok(())
    }

    /// Searches several RoIs with the threads of the pool.
    fn find_in_pieces(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        let threads = self.threads();
        // Where there are fewer RoIs than threads, threads share RoIs.
        let helpers = self.share() / batch.len();
        let each = batch.len().div_ceil(PIECES * threads);
        let mut pieces = self.lock_idle_pieces().pop().unwrap_or_default();
        let count = batch.len().div_ceil(each);
        pieces.resize_with(count.max(pieces.len()), Results::new);
        let find = || {
            // One by one, because one thread searches the rest of a longer piece alone when all
            // others have ended.
            pieces[..count].par_iter_mut().with_max_len(1).enumerate().try_for_each(|(number, piece)| {
                piece.clear();
                let rois = batch.rois(number * each..((number + 1) * each).min(batch.len()));
                rois.iter().try_for_each(|roi| {
                    batch.cancellation.check()?;
                    self.find(roi, helpers, batch.cancellation, piece)
                })
            })
        };
        let found = self.in_pool(find);
        if found.is_ok() {
            pieces[..count].iter().for_each(|piece| results.append(piece, 0..piece.len()));
        }
        self.lock_idle_pieces().push(pieces);
        found
    }

    fn lock_idle_pieces(&self) -> MutexGuard<'_, Vec<Vec<Results>>> {
        self.idle_pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_pool<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.threads {
            Threads::Own(pool) => pool.install(work),
            Threads::Caller(_) | Threads::Rayon => work(),
        }
    }

    fn find(
        &self,
        roi: RoiView<'_>,
        helpers: usize,
        cancellation: Cancellation<'_>,
        results: &mut Results,
    ) -> Result<()> {
        match &self.memory {
            WorkspacesByPrecision::Single(idle) => {
                idle.with(|workspace| self.find_in(roi, helpers, cancellation, workspace, results))
            }
            WorkspacesByPrecision::Double(idle) => {
                idle.with(|workspace| self.find_in(roi, helpers, cancellation, workspace, results))
            }
        }
    }

    fn find_in<R: Lanes>(
        &self,
        roi: RoiView<'_>,
        helpers: usize,
        cancellation: Cancellation<'_>,
        workspace: &mut Workspace<R>,
        results: &mut Results,
    ) -> Result<()> {
        let plan = step!("plan", self.search.plan(roi))?;
        let packed = step!("pack", self.pack::<R>(&plan, roi, &mut workspace.spacepoints));
        if packed.kept == 0 || plan.is_too_much() {
            plan.report(packed, &[], packed.kept > 0, results);
            return Ok(());
        }
        let mut vertices = std::mem::take(&mut workspace.vertices);
        let mut builder = VertexBuilder::new(&self.search, &plan, self.accumulate, &mut vertices);
        let helpers = helpers.min(packed.kept / self.spacepoints_a_helper()).max(1);
        let too_many = match helpers {
            1 => self.search_roi(&plan, 1, cancellation, workspace, |peak| builder.take(peak)),
            _ => self.in_pool(|| self.search_roi(&plan, helpers, cancellation, workspace, |peak| builder.take(peak))),
        };
        cancellation.check()?;
        builder.finish();
        let too_many = match &self.tracklets {
            Some(tracklets) if !too_many => {
                self.find_tracklets(tracklets, &plan, roi, None, cancellation, workspace, &mut vertices)
            }
            _ => too_many,
        };
        cancellation.check()?;
        plan.report(packed, &vertices, too_many, results);
        if self.tracklets.is_some() && !packed.bad && !too_many {
            results.push_tracklets(workspace.answer.tracklets.iter().copied());
        }
        workspace.vertices = vertices;
        Ok(())
    }

    /// Finds tracklets for the answers of another engine to the same RoIs, and replaces the answers
    /// by those with tracklets.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    #[cfg(feature = "gpu")]
    pub(crate) fn add_tracklets(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        let _call = Call::begin(&self.callers);
        let found = std::mem::take(results);
        // Answers before those of this batch stay.
        let first = found.len() - batch.len();
        results.append(&found, 0..first);
        let add = |rois: Range<usize>, piece: &mut Results| {
            rois.into_iter().try_for_each(|roi| {
                let (view, found) = (batch.roi(roi), found.roi(first + roi));
                self.add_tracklets_to(view, found, None, batch.cancellation, piece)
            })
        };
        if !self.has_idle_threads() || batch.len() == 1 {
            return add(0..batch.len(), results);
        }
        let each = batch.len().div_ceil(PIECES * self.threads()).max(1);
        let mut pieces = vec![Results::new(); batch.len().div_ceil(each)];
        self.in_pool(|| {
            let pieces = pieces.par_iter_mut().with_max_len(1).enumerate();
            pieces.try_for_each(|(number, piece)| add(number * each..((number + 1) * each).min(batch.len()), piece))
        })?;
        pieces.iter().for_each(|piece| results.append(piece, 0..piece.len()));
        Ok(())
    }

    /// Finds the tracklets of an RoI, or takes the chains that a GPU found: numbers of the RoI's
    /// spacepoints, the best chain first.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    #[cfg(feature = "gpu")]
    pub(crate) fn add_tracklets_to(
        &self,
        roi: RoiView<'_>,
        found: RoiResult<'_>,
        chains: Option<&[TrackletHits]>,
        cancellation: Cancellation<'_>,
        results: &mut Results,
    ) -> Result<()> {
        cancellation.check()?;
        match &self.memory {
            WorkspacesByPrecision::Single(idle) => {
                idle.with(|workspace| self.add_tracklets_in(roi, found, chains, cancellation, workspace, results))
            }
            WorkspacesByPrecision::Double(idle) => {
                idle.with(|workspace| self.add_tracklets_in(roi, found, chains, cancellation, workspace, results))
            }
        }
    }

    /// The search for tracklets, if the configuration asks for them.
    #[cfg(feature = "gpu")]
    pub(crate) fn tracklets(&self) -> Option<&TrackletSearch> {
        self.tracklets.as_ref()
    }

    /// Returns the plan of an RoI and the ranges of z of its tracklets, given another engine's
    /// answer; none if nothing is to be searched for.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    #[cfg(feature = "gpu")]
    pub(crate) fn plan_tracklets(&self, roi: RoiView<'_>, found: RoiResult<'_>) -> Result<Option<(RoiPlan, ZRanges)>> {
        if !matches!(found.status(), Status::Ok | Status::NoPeak) {
            return Ok(None);
        }
        let plan = self.search.plan(roi)?;
        let z_ranges = self.z_ranges(&plan, found.vertices().iter().map(|vertex| vertex.z_mm));
        Ok((!z_ranges.as_slice().is_empty()).then_some((plan, z_ranges)))
    }

    /// The configuration and the detector.
    #[cfg(feature = "gpu")]
    pub(crate) fn search(&self) -> &Search {
        &self.search
    }

    #[cfg(feature = "gpu")]
    fn add_tracklets_in<R: Lanes>(
        &self,
        roi: RoiView<'_>,
        found: RoiResult<'_>,
        chains: Option<&[TrackletHits]>,
        cancellation: Cancellation<'_>,
        workspace: &mut Workspace<R>,
        results: &mut Results,
    ) -> Result<()> {
        let mut summary = found.summary();
        let mut vertices = std::mem::take(&mut workspace.vertices);
        vertices.clear();
        vertices.extend(found.vertices());
        workspace.answer.clear();
        if let (Some(tracklets), Status::Ok | Status::NoPeak) = (&self.tracklets, summary.status) {
            let plan = self.search.plan(roi)?;
            let too_many = self.find_tracklets(tracklets, &plan, roi, chains, cancellation, workspace, &mut vertices);
            cancellation.check()?;
            summary.status = match vertices.is_empty() {
                _ if too_many => Status::CapacityExceeded,
                true => Status::NoPeak,
                false => Status::Ok,
            };
            if too_many {
                vertices.clear();
                workspace.answer.clear();
            }
        }
        results.push(summary, vertices.iter().copied());
        results.push_tracklets(workspace.answer.tracklets.iter().copied());
        workspace.vertices = vertices;
        Ok(())
    }

    /// The ranges of z that tracklets point into; `peaks` are the vertices of the histogram.
    fn z_ranges(&self, plan: &RoiPlan, peaks: impl Iterator<Item = f64>) -> ZRanges {
        let config = &self.search.config;
        match config.all_vertices || config.tracklets == Tracklets::All {
            true => ZRanges::one(plan.z_range()),
            false => TrackletAnswer::z_ranges_near(peaks),
        }
    }

    /// Finds tracklets, or takes those of these chains, and with them all vertices, or x, y and z
    /// of the vertices of peaks. Returns whether there are too many, or the search is cancelled.
    #[expect(clippy::too_many_arguments, reason = "an RoI, its answer so far, and memory")]
    fn find_tracklets<R: Lanes>(
        &self,
        tracklets: &TrackletSearch,
        plan: &RoiPlan,
        roi: RoiView<'_>,
        chains: Option<&[TrackletHits]>,
        cancellation: Cancellation<'_>,
        workspace: &mut Workspace<R>,
        vertices: &mut Vec<Vertex>,
    ) -> bool {
        let Workspace { tracklets: buffers, answer, .. } = workspace;
        let config = &self.search.config;
        answer.clear();
        let z_ranges = self.z_ranges(plan, vertices.iter().map(|vertex| vertex.z_mm));
        let hits = RoiHits::new(tracklets, &self.search, plan, roi);
        match chains {
            Some(chains) => buffers.fit_chains(&hits, chains, z_ranges.hull()),
            None => {
                if buffers.find(&hits, &z_ranges, cancellation) {
                    return true;
                }
            }
        }
        if config.all_vertices {
            answer.take_all(config, vertices, buffers.found());
            vertices.clone_from(&answer.vertices);
        } else {
            answer.refine(config, vertices, buffers.found());
        }
        false
    }

    /// Encodes the spacepoints of an RoI as a GPU gets them, and decodes them.
    fn pack<R: Lanes>(&self, plan: &RoiPlan, roi: RoiView<'_>, spacepoints: &mut Vec<R::Spacepoint>) -> PackSummary {
        spacepoints.clear();
        let mut packed = PackSummary { too_far: true, ..PackSummary::default() };
        if let Some(compact) = &self.compact {
            packed = self.search.pack::<R, _>(compact, plan, roi, |words| {
                Encode::<R>::decode(compact, words, spacepoints);
            });
        }
        // The lossless encoding holds RoIs that the compact one cannot hold.
        if packed.too_far {
            spacepoints.clear();
            packed = self
                .search
                .pack::<R, _>(&Lossless, plan, roi, |words| Encode::<R>::decode(&Lossless, words, spacepoints));
        }
        packed
    }

    /// Spacepoints that are worth another thread.
    fn spacepoints_a_helper(&self) -> usize {
        if self.search.config.pair_weight == PairWeight::One { 2048 } else { 512 }
    }

    /// Runs the four stages on one RoI, with threads that share the outer spacepoints, and calls
    /// `take_peak` with peaks while it wants more. Returns whether counts overflowed, in which case
    /// no peak is valid. Neither is one if the search is cancelled.
    fn search_roi<R: Lanes>(
        &self,
        plan: &RoiPlan,
        helpers: usize,
        cancellation: Cancellation<'_>,
        workspace: &mut Workspace<R>,
        take_peak: impl FnMut(&Peak) -> bool,
    ) -> bool {
        let Workspace { spacepoints, sliced, parts, .. } = &mut *workspace;
        // Each helper prepares the zones for itself.
        let zones = find_z::takes_zones(&self.search.config, spacepoints.len() / helpers);
        step!("slice_spacepoints", slice_spacepoints::slice_spacepoints(spacepoints, plan.slices, zones, sliced));
        // Several histograms take much memory: one set of them.
        let count = if plan.histograms == 1 { helpers.min(plan.slices as usize) } else { 1 };
        parts.resize_with(count.max(parts.len()), FindZBuffers::default);
        let parts = &mut parts[..count];
        let each = plan.slices.div_ceil(count as u32);
        let find_z = |(part, to): (usize, &mut FindZBuffers<R>)| {
            let first = (part as u32 * each).min(plan.slices);
            let slices = first..(first + each).min(plan.slices);
            find_z::find_z(&self.search, plan, self.accumulate, sliced, slices, cancellation, to);
        };
        step!(
            "find_z",
            match count {
                1 => parts.iter_mut().enumerate().for_each(find_z),
                _ => parts.par_iter_mut().enumerate().for_each(find_z),
            }
        );
        step!("sum_histos and find_peaks", self.find_peaks(plan, workspace, count, take_peak))
    }

    /// The last two stages of [`CpuEngine::search_roi`], of so many parts.
    fn find_peaks<R: Lanes>(
        &self,
        plan: &RoiPlan,
        workspace: &mut Workspace<R>,
        count: usize,
        take_peak: impl FnMut(&Peak) -> bool,
    ) -> bool {
        let Workspace { parts, total, find_peaks, .. } = workspace;
        let parts = &parts[..count];
        let histograms = || parts.iter().map(|part| &part.histogram);
        if histograms().any(sum_histos::PackedHistogram::overflows) {
            return true;
        }
        match self.accumulate {
            Accumulate::Fixed => sum_histos::sum_histos::<FixedPoint>(histograms(), total),
            Accumulate::CompareExchange => sum_histos::sum_histos::<CompareExchange>(histograms(), total),
        }
        let weights: u64 = parts.iter().map(|part| part.histogram.weights()).sum();
        if weights > u64::from(MAX_COUNT) && total.overflows() {
            return true;
        }
        find_peaks::find_peaks(total, &plan.bins, &self.search.config, plan.background_windows, find_peaks, take_peak);
        false
    }
}

/// Pieces of a batch for each thread: enough that all end together.
const PIECES: usize = 64;

/// Memory of the stages of one RoI.
pub(crate) struct Workspace<R: Real> {
    pub(crate) spacepoints: Vec<R::Spacepoint>,
    pub(crate) sliced: SlicedSpacepoints<R>,
    /// One for each group of slices.
    pub(crate) parts: Vec<FindZBuffers<R>>,
    pub(crate) total: HistogramPair,
    pub(crate) find_peaks: PeakBuffers,
    pub(crate) vertices: Vec<Vertex>,
    tracklets: TrackletBuffers<R>,
    answer: TrackletAnswer,
}

impl<R: Real> Default for Workspace<R> {
    fn default() -> Self {
        Self {
            spacepoints: Vec::new(),
            sliced: SlicedSpacepoints::default(),
            parts: Vec::new(),
            total: HistogramPair::new(0, 0),
            find_peaks: PeakBuffers::default(),
            vertices: Vec::new(),
            tracklets: TrackletBuffers::default(),
            answer: TrackletAnswer::default(),
        }
    }
}

/// Workspaces that wait for work.
pub(crate) struct IdleWorkspaces<R: Real>(Mutex<Vec<Box<Workspace<R>>>>);

impl<R: Real> Default for IdleWorkspaces<R> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<R: Real> IdleWorkspaces<R> {
    /// Works in one of them, or in a new one.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Workspace<R>) -> T) -> T {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = all().pop();
        let mut workspace = idle.unwrap_or_default();
        let made = work(&mut workspace);
        all().push(workspace);
        made
    }
}
