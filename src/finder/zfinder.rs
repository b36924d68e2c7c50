//! A finder: holds an engine, and answers.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::batch_view::BatchView;
use crate::config::Config;
use crate::detector::Detector;
use crate::engine::plan::Search;
use crate::error::Result;
use crate::input_check::{self, InputCheck};
#[cfg(all(feature = "gpu", feature = "internals"))]
use crate::options::DeviceTimes;
use crate::results::{Reproducibility, Results, Status};
use crate::roi_batch::RoiBatch;
use crate::spacepoint::Roi;
use crate::stream::{Stream, StreamOptions};
use crate::thesis::Accumulate;

use super::running_engine::RunningEngine;

/// Finds vertices. Built once: it holds compiled shaders and buffers. Shared freely between
/// threads, and cheap to clone: all clones are the same finder.
#[derive(Clone)]
pub struct ZFinder {
    core: Arc<Core>,
}

/// State that clones and streams share.
struct Core {
    search: Search,
    accumulate: Accumulate,
    engine: RunningEngine,
    /// Searches RoIs without a peak again.
    fallback: Option<RunningEngine>,
    /// Memory of second searches.
    idle: Mutex<Vec<SecondSearch>>,
    input_check: InputCheck,
}

impl fmt::Debug for ZFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZFinder").field("engine", &self.description()).finish_non_exhaustive()
    }
}

impl ZFinder {
    pub(super) fn new(
        search: Search,
        accumulate: Accumulate,
        engine: RunningEngine,
        fallback: Option<RunningEngine>,
    ) -> Self {
        let (idle, input_check) = (Mutex::default(), InputCheck::default());
        Self { core: Arc::new(Core { search, accumulate, engine, fallback, idle, input_check }) }
    }

    /// The configuration that it was built with.
    pub fn config(&self) -> &Config {
        &self.core.search.config
    }

    /// The detector that it was built with.
    pub fn detector(&self) -> &Detector {
        &self.core.search.detector
    }

    /// Which runs have the same bits as this finder's.
    pub fn reproducibility(&self) -> Reproducibility {
        self.core.engine.reproducibility(self.core.accumulate)
    }

    /// Returns a warning if the spacepoints of the first batch that was searched lie far from their
    /// layers. It names the built-in detector, the unit of length or the first layer number that
    /// they fit. None before a batch with spacepoints was searched.
    ///
    /// ```
    /// use zfinder::{Detector, Engine, Roi, Spacepoint, ZFinder};
    /// let finder = ZFinder::builder(Detector::generic()).engine(Engine::Cpu).build()?;
    /// // Lengths in cm: layer 0 of the generic detector has a radius of 32 mm.
    /// let spacepoint = Spacepoint { rho: 3.2, phi: 0.1, z: 1.5, layer: 0 };
    /// finder.find(&Roi { spacepoints: vec![spacepoint], ..Roi::default() })?;
    /// let warning = finder.input_warning().expect("wrong unit");
    /// assert!(warning.ends_with("if their lengths are in cm: give lengths in mm"), "{warning}");
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn input_warning(&self) -> Option<&str> {
        self.core.input_check.warning()
    }

    /// Returns the warning of [`ZFinder::input_warning`] for the first spacepoints of a batch, at
    /// most
    /// `most`. The batch is not searched.
    ///
    /// # Errors
    /// [`Error::Columns`](crate::Error::Columns) if azimuths are likely in degrees.
    pub fn check_input<'a>(&self, batch: impl Into<BatchView<'a>>, most: usize) -> Result<Option<String>> {
        input_check::check(batch.into(), self.detector(), most)
    }

    /// Returns whether the search of an RoI of a batch may take more than so much work: its
    /// triplets, and eight times its pairs ([`Config::max_pairs`], [`Config::max_triplets`]). 10⁹
    /// are about a second of one core. The answer takes a small part of the time of the search.
    ///
    /// # Errors
    /// An RoI whose z range makes no histogram.
    ///
    /// ```
    /// use zfinder::{Detector, Engine, Roi, Spacepoint, ZFinder};
    /// let finder = ZFinder::builder(Detector::generic()).engine(Engine::Cpu).build()?;
    /// // As many spacepoints, at one azimuth and all around the beam.
    /// let at = |i: u32, phi| Spacepoint { rho: 32.0, phi, z: 0.0, layer: i % 4 };
    /// let crowd = Roi { spacepoints: (0..5000).map(|i| at(i, 0.1)).collect(), ..Roi::default() };
    /// let around = (0..5000).map(|i| at(i, f64::from(i) * 0.00125));
    /// let spread = Roi { spacepoints: around.collect(), ..Roi::default() };
    /// assert!(finder.may_take_more_than(1e8, &crowd)?);
    /// assert!(!finder.may_take_more_than(1e8, &spread)?);
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn may_take_more_than<'a>(&self, work: f64, batch: impl Into<BatchView<'a>>) -> Result<bool> {
        let search = &self.core.search;
        for roi in batch.into().iter() {
            if search.most_work(work, &search.plan(roi)?, roi) > work {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Which engine runs, and on which adapters; for people.
    pub fn description(&self) -> String {
        self.core.engine.description()
    }

    /// Returns whether GPUs compute, and not an engine of the host.
    pub fn uses_gpu(&self) -> bool {
        self.core.engine.gpus() > 0
    }

    /// Returns the bytes of its buffers on its GPUs, in flight or kept for the next batch. 0 on
    /// other engines.
    pub fn gpu_bytes(&self) -> u64 {
        // The engine for second searches allocates on the same devices.
        self.core.engine.gpu_bytes()
    }

    /// Finds the vertices of one RoI: a batch of one.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    pub fn find(&self, roi: &Roi) -> Result<Results> {
        self.find_batch(roi)
    }

    /// Finds the vertices of every RoI of a batch, in the batch's order. Several GPUs share the
    /// batch. The columns of a [`BatchView`] are not copied.
    ///
    /// # Errors
    /// An RoI whose z range makes no histogram, a first batch whose azimuths are likely in degrees,
    /// or a device that is lost or out of memory. A failure of one RoI is its [`Status`], not an
    /// error.
    pub fn find_batch<'a>(&self, batch: impl Into<BatchView<'a>>) -> Result<Results> {
        let mut results = Results::new();
        self.find_batch_into(batch, &mut results)?;
        Ok(results)
    }

    /// [`ZFinder::find_batch`] that reuses the memory of earlier results. In the steady state the
    /// CPU engine allocates nothing, and the GPU engine nothing for an RoI. The search of tracklets
    /// allocates. After an error the contents of `results` are unspecified.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    ///
    /// ```
    /// # use zfinder::{Detector, Engine, Results, RoiBatch, RoiDescriptor, Spacepoint, ZFinder};
    /// # fn main() -> zfinder::Result<()> {
    /// let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
    /// let mut batch = RoiBatch::new();
    /// let spacepoint = Spacepoint { rho: 50.5, phi: 0.1, z: 12.25, layer: 0 };
    /// batch.push(RoiDescriptor::default(), [spacepoint]);
    /// let mut results = Results::new();
    /// for _ in 0..3 {
    ///     finder.find_batch_into(&batch, &mut results)?;
    /// }
    /// assert_eq!(results.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn find_batch_into<'a>(&self, batch: impl Into<BatchView<'a>>, results: &mut Results) -> Result<()> {
        let find = |engine: &RunningEngine, batch: BatchView<'_>, results: &mut _| engine.find_batch(batch, results);
        self.core.find_batch(batch.into(), results, find)
    }

    /// Searches a batch as one of many threads, each with large batches of its own, as a server
    /// does. (Threads with an event each call [`ZFinder::find_batch_into`].) The thread packs its
    /// batch itself, and sleeps while the GPU works. So many threads together are as fast as a
    /// [`Stream`], but a lone batch takes longer than with [`ZFinder::find_batch_into`]. `worker`
    /// is the number of the thread: several GPUs are dealt to the threads in turn. The CPU engine
    /// searches with the threads that it has for all callers together. `results` are as of
    /// [`ZFinder::find_batch_into`], and the bits are the same.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    ///
    /// ```
    /// # use zfinder::{Detector, Engine, Results, RoiBatch, RoiDescriptor, Spacepoint, ZFinder};
    /// # fn main() -> zfinder::Result<()> {
    /// let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
    /// let mut batch = RoiBatch::new();
    /// let spacepoint = Spacepoint { rho: 50.5, phi: 0.1, z: 12.25, layer: 0 };
    /// batch.push(RoiDescriptor::default(), [spacepoint]);
    /// std::thread::scope(|scope| {
    ///     let search = |worker| {
    ///         let mut results = Results::new();
    ///         finder.find_batch_by_worker(worker, &batch, &mut results).map(|()| results)
    ///     };
    ///     let threads = [0, 1].map(|worker| scope.spawn(move || search(worker)));
    ///     let [first, second] = threads.map(|thread| thread.join().expect("no panic"));
    ///     assert_eq!(first?, second?);
    ///     Ok(())
    /// })
    /// # }
    /// ```
    pub fn find_batch_by_worker<'a>(
        &self,
        worker: usize,
        batch: impl Into<BatchView<'a>>,
        results: &mut Results,
    ) -> Result<()> {
        self.core.find_batch_by_worker(worker, batch.into(), results)
    }

    /// [`ZFinder::find_batch`] as a future, for any executor: while a GPU works, the thread is
    /// free. The CPU engines compute where the future is polled.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    pub async fn find_batch_async<'a>(&self, batch: impl Into<BatchView<'a>>) -> Result<Results> {
        let (batch, core, mut results) = (batch.into(), &self.core, Results::new());
        core.check_batch(batch)?;
        core.engine.find_batch_async(batch, &mut results).await?;
        if let Some((fallback, mut second)) = core.second_search(batch, &results) {
            let again = BatchView::from(&second.batch).with_cancellation(batch.cancellation);
            fallback.find_batch_async(again, &mut second.results).await?;
            core.replace(&mut results, second);
        }
        Ok(results)
    }

    /// Batches in flight: each is planned, packed, sent, awaited and decoded by a thread of its
    /// own, so that the host works on some while the GPU works on others. The stream shares this
    /// finder's engine and may outlive the finder.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where `in_flight` is out of range,
    /// [`Error::Thread`](crate::Error::Thread) where there are no threads to be had.
    pub fn stream(&self, options: StreamOptions) -> Result<Stream> {
        let core = Arc::clone(&self.core);
        let devices = core.engine.gpus().max(1);
        let find =
            move |worker, batch: &RoiBatch, results: &mut _| core.find_batch_by_worker(worker, batch.into(), results);
        Stream::start(options, devices, find)
    }

    /// [`plan_parts`](crate::internals::plan_parts).
    #[cfg(all(feature = "gpu", feature = "internals"))]
    pub(crate) fn plan_parts(&self, batch: BatchView<'_>) -> Result<Option<Vec<String>>> {
        self.core.engine.plan_parts(batch)
    }

    /// [`time_on_device`](crate::internals::time_on_device).
    #[cfg(all(feature = "gpu", feature = "internals"))]
    pub(crate) fn time_on_device(&self, batch: BatchView<'_>, rounds: usize) -> Result<Option<DeviceTimes>> {
        self.core.engine.time_on_device(batch, rounds)
    }

    /// [`time_packing`](crate::internals::time_packing).
    #[cfg(all(feature = "gpu", feature = "internals"))]
    pub(crate) fn time_packing(&self, batch: BatchView<'_>) -> Result<Option<f64>> {
        self.core.engine.time_packing(batch)
    }
}

impl Core {
    /// Checks units and layers, if the batch is the first one.
    fn check_batch(&self, batch: BatchView<'_>) -> Result<()> {
        self.input_check.look_at(batch, &self.search.detector)
    }

    fn find_batch_by_worker(&self, worker: usize, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        self.find_batch(batch, results, |engine, batch, results| engine.find_batch_by_worker(worker, batch, results))
    }

    /// Searches a batch, and the RoIs without a peak a second time.
    fn find_batch(
        &self,
        batch: BatchView<'_>,
        results: &mut Results,
        find: impl Fn(&RunningEngine, BatchView<'_>, &mut Results) -> Result<()>,
    ) -> Result<()> {
        self.check_batch(batch)?;
        results.clear();
        find(&self.engine, batch, results)?;
        if let Some((fallback, mut second)) = self.second_search(batch, results) {
            let again = BatchView::from(&second.batch).with_cancellation(batch.cancellation);
            find(fallback, again, &mut second.results)?;
            self.replace(results, second);
        }
        Ok(())
    }

    /// Returns the RoIs that are searched again, and the engine for them.
    fn second_search(&self, batch: BatchView<'_>, results: &Results) -> Option<(&RunningEngine, SecondSearch)> {
        let fallback = self.fallback.as_ref()?;
        let has_no_peak = |status: &Status| *status == Status::NoPeak;
        if !results.statuses().iter().any(has_no_peak) {
            return None;
        }
        let mut second = self.lock_idle().pop().unwrap_or_default();
        if second.batch.is_f32() == batch.is_f32() {
            second.batch.clear();
        } else {
            second.batch = if batch.is_f32() { RoiBatch::with_f32() } else { RoiBatch::new() };
        }
        second.results.clear();
        let statuses = results.statuses().iter().enumerate();
        for (roi, _) in statuses.filter(|(_, status)| has_no_peak(status)) {
            let view = batch.roi(roi);
            second.batch.push(*view.descriptor, view.spacepoints());
        }
        Some((fallback, second))
    }

    /// Puts the answers of the second search in place of the RoIs without a peak.
    fn replace(&self, results: &mut Results, mut second: SecondSearch) {
        let SecondSearch { results: found, merged, .. } = &mut second;
        found.set_fallback();
        merged.clear();
        let mut next = 0;
        for (roi, &status) in results.statuses().iter().enumerate() {
            if status == Status::NoPeak {
                merged.append(found, next..next + 1);
                next += 1;
            } else {
                merged.append(results, roi..roi + 1);
            }
        }
        std::mem::swap(results, merged);
        self.lock_idle().push(second);
    }

    fn lock_idle(&self) -> MutexGuard<'_, Vec<SecondSearch>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory of a second search, reused.
#[derive(Default)]
struct SecondSearch {
    /// RoIs without a peak.
    batch: RoiBatch,
    /// Their results.
    results: Results,
    /// The results of both searches.
    merged: Results,
}
