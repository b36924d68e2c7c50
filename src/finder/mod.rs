//! The finder: builds an engine once, then answers.

mod builder;
mod running_engine;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::batch_view::BatchView;
use crate::config::Config;
use crate::detector::Detector;
use crate::engine::plan::Search;
use crate::error::Result;
use crate::input_check::{self, InputCheck};
#[cfg(feature = "gpu")]
use crate::options::DeviceTimes;
use crate::options::{Accumulate, Reproducibility};
use crate::spacepoint::{Roi, RoiBatch};
use crate::stream::{Stream, StreamOptions};
use crate::vertex::{RoiResult, Status};

pub use builder::ZFinderBuilder;
use running_engine::RunningEngine;

/// Finds vertices. Built once: it holds compiled shaders and buffers. Shared freely between
/// threads, and cheap to clone: all clones are the same finder.
#[derive(Clone)]
pub struct ZFinder {
    core: Arc<Core>,
}

/// State that clones and streams share.
struct Core {
    config: Config,
    detector: Detector,
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
    fn new(search: Search, accumulate: Accumulate, engine: RunningEngine, fallback: Option<RunningEngine>) -> Self {
        let Search { config, detector, .. } = search;
        let (idle, input_check) = (Mutex::default(), InputCheck::default());
        Self { core: Arc::new(Core { config, detector, accumulate, engine, fallback, idle, input_check }) }
    }

    /// Returns a builder for a finder of this detector's vertices, with the preset
    /// [`Preset::Auto`](crate::Preset::Auto). Built-in detectors are [`Detector::atlas2010`],
    /// [`Detector::generic`] and [`Detector::odd`](Detector::odd).
    pub fn builder(detector: Detector) -> ZFinderBuilder {
        ZFinderBuilder::new(detector)
    }

    /// The configuration that it was built with.
    pub fn config(&self) -> &Config {
        &self.core.config
    }

    /// The detector that it was built with.
    pub fn detector(&self) -> &Detector {
        &self.core.detector
    }

    /// Which runs have the same bits as this finder's.
    pub fn reproducibility(&self) -> Reproducibility {
        match (&self.core.engine, self.core.accumulate) {
            (RunningEngine::Reference(_), _) => Reproducibility::RunToRun,
            (_, Accumulate::CompareExchange) => Reproducibility::NotGuaranteed,
            (_, Accumulate::Fixed) => Reproducibility::CpuToGpu,
        }
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
        input_check::check(batch.into(), &self.core.detector, most)
    }

    /// Which engine runs, and on which adapters; for people.
    pub fn description(&self) -> String {
        match &self.core.engine {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.description(),
            RunningEngine::Cpu(engine) => engine.description(),
            RunningEngine::Reference(_) => "reference engine, serial, f64".into(),
        }
    }

    /// Returns whether GPUs compute, and not an engine of the host.
    pub fn uses_gpu(&self) -> bool {
        !matches!(self.core.engine, RunningEngine::Cpu(_) | RunningEngine::Reference(_))
    }

    /// Returns the bytes of its buffers on its GPUs, in flight or kept for the next batch. 0 on
    /// other engines.
    pub fn gpu_bytes(&self) -> u64 {
        // The engine for second searches allocates on the same devices.
        match &self.core.engine {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.bytes(),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => 0,
        }
    }

    /// The vertices of one RoI: a batch of one.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    pub fn find(&self, roi: &Roi) -> Result<RoiResult> {
        self.core.check_first(roi)?;
        let result = self.core.engine.find(roi)?;
        match self.core.fallback_for(&result) {
            Some(fallback) => Ok(RoiResult { fallback: true, ..fallback.find(roi)? }),
            None => Ok(result),
        }
    }

    /// Finds the vertices of every RoI of a batch, in the batch's order. Several GPUs share the
    /// batch. The columns of a [`BatchView`] are not copied.
    ///
    /// # Errors
    /// An RoI whose z range makes no histogram, a first batch whose azimuths are likely in degrees,
    /// or a device that is lost or out of memory. A
    /// failure of one RoI is its [`Status`](crate::Status), not an error.
    pub fn find_batch<'a>(&self, batch: impl Into<BatchView<'a>>) -> Result<Vec<RoiResult>> {
        let mut results = Vec::new();
        self.find_batch_into(batch, &mut results)?;
        Ok(results)
    }

    /// [`ZFinder::find_batch`] into results that are there already, whatever they are: their memory
    /// is used again, and where the CPU engine has done with such a batch before, it takes no more.
    /// After an error they mean nothing.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    ///
    /// ```
    /// # use zfinder::{Detector, Engine, RoiBatch, RoiDescriptor, Spacepoint, ZFinder};
    /// # fn main() -> zfinder::Result<()> {
    /// let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
    /// let mut batch = RoiBatch::new();
    /// let spacepoint = Spacepoint { rho: 50.5, phi: 0.1, z: 12.25, layer: 0 };
    /// batch.push(RoiDescriptor::default(), [spacepoint]);
    /// let mut results = Vec::new();
    /// for _ in 0..3 {
    ///     finder.find_batch_into(&batch, &mut results)?;
    /// }
    /// assert_eq!(results.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn find_batch_into<'a>(&self, batch: impl Into<BatchView<'a>>, results: &mut Vec<RoiResult>) -> Result<()> {
        let batch = batch.into();
        self.core.check_batch(batch)?;
        self.core.engine.find_batch_into(batch, results)?;
        if let Some((fallback, mut second)) = self.core.second_search(batch, results) {
            fallback.find_batch_into((&second.batch).into(), &mut second.results)?;
            self.core.replace(results, second);
        }
        Ok(())
    }

    /// Searches a batch as one of many threads, each with batches of its own: in a framework with
    /// an event on each thread, or in a server. The thread packs its batch itself, and sleeps while
    /// the GPU works. So many threads together are as fast as a [`Stream`], but a lone batch takes
    /// longer than with [`ZFinder::find_batch_into`]. `worker` is the number of the thread: several
    /// GPUs are dealt to the threads in turn. The CPU engine searches with the threads that it has
    /// for all callers together. `results` are as of [`ZFinder::find_batch_into`], and the bits are
    /// the same.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    ///
    /// ```
    /// # use zfinder::{Detector, Engine, RoiBatch, RoiDescriptor, Spacepoint, ZFinder};
    /// # fn main() -> zfinder::Result<()> {
    /// let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
    /// let mut batch = RoiBatch::new();
    /// let spacepoint = Spacepoint { rho: 50.5, phi: 0.1, z: 12.25, layer: 0 };
    /// batch.push(RoiDescriptor::default(), [spacepoint]);
    /// std::thread::scope(|scope| {
    ///     let search = |worker| {
    ///         let mut results = Vec::new();
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
        results: &mut Vec<RoiResult>,
    ) -> Result<()> {
        self.core.find_batch_by_worker(worker, batch.into(), results)
    }

    /// [`ZFinder::find`] as a future.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    pub async fn find_async(&self, roi: &Roi) -> Result<RoiResult> {
        self.core.check_first(roi)?;
        let result = self.core.engine.find_async(roi).await?;
        match self.core.fallback_for(&result) {
            Some(fallback) => Ok(RoiResult { fallback: true, ..fallback.find_async(roi).await? }),
            None => Ok(result),
        }
    }

    /// [`ZFinder::find_batch`] as a future, for any executor: while a GPU works, the thread is
    /// free. The CPU engines compute where the future is polled.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    pub async fn find_batch_async(&self, batch: &RoiBatch) -> Result<Vec<RoiResult>> {
        let batch = batch.into();
        self.core.check_batch(batch)?;
        let mut results = self.core.engine.find_batch_async(batch).await?;
        if let Some((fallback, mut second)) = self.core.second_search(batch, &mut results) {
            second.results = fallback.find_batch_async((&second.batch).into()).await?;
            self.core.replace(&mut results, second);
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
        let devices = match &core.engine {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.len(),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => 1,
        };
        let find =
            move |worker, batch: &RoiBatch, results: &mut _| core.find_batch_by_worker(worker, batch.into(), results);
        Stream::start(options, devices, find)
    }

    #[cfg(feature = "gpu")]
    /// Measures the time that the GPU alone takes for a batch of resident spacepoints, searched
    /// `rounds` times. Upload and packing are excluded. Returns `None` on other engines, and for a
    /// batch without work. If a batch exceeds the device's capacity, its first part is measured.
    /// With several GPUs, the first GPU is measured.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    pub fn time_on_device(&self, batch: &RoiBatch, rounds: usize) -> Result<Option<DeviceTimes>> {
        match &self.core.engine {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.time_on_device(batch, rounds),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => Ok(None),
        }
    }

    #[cfg(feature = "gpu")]
    /// Measures how long one host thread takes to plan an RoI and to pack its spacepoints, in
    /// seconds an RoI. The thread writes to host memory, not over the bus. Returns `None` on other
    /// engines, and for an empty batch.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    pub fn time_packing(&self, batch: &RoiBatch) -> Result<Option<f64>> {
        match &self.core.engine {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.time_packing(batch),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => Ok(None),
        }
    }
}

impl Core {
    /// Checks units and layers, if the batch is the first one.
    fn check_batch(&self, batch: BatchView<'_>) -> Result<()> {
        self.input_check.look_at(batch, &self.detector)
    }

    /// Checks units and layers of an RoI, if it is the first one.
    fn check_first(&self, roi: &Roi) -> Result<()> {
        if self.input_check.is_pending() {
            let mut batch = RoiBatch::new();
            batch.push(roi.descriptor, roi.spacepoints.iter().copied());
            self.check_batch((&batch).into())?;
        }
        Ok(())
    }

    fn find_batch_by_worker(&self, worker: usize, batch: BatchView<'_>, results: &mut Vec<RoiResult>) -> Result<()> {
        self.check_batch(batch)?;
        self.engine.find_batch_by_worker(worker, batch, results)?;
        if let Some((fallback, mut second)) = self.second_search(batch, results) {
            fallback.find_batch_by_worker(worker, (&second.batch).into(), &mut second.results)?;
            self.replace(results, second);
        }
        Ok(())
    }

    /// The engine that searches an RoI again, if it has no peak.
    fn fallback_for(&self, result: &RoiResult) -> Option<&RunningEngine> {
        self.fallback.as_ref().filter(|_| result.status == Status::NoPeak)
    }

    /// Takes the RoIs that are searched again out of a batch, with their results, and returns the
    /// engine for them.
    fn second_search(&self, batch: BatchView<'_>, results: &mut [RoiResult]) -> Option<(&RunningEngine, SecondSearch)> {
        let fallback = self.fallback.as_ref()?;
        let has_no_peak = |result: &RoiResult| result.status == Status::NoPeak;
        if !results.iter().any(has_no_peak) {
            return None;
        }
        let mut second = self.lock_idle().pop().unwrap_or_default();
        second.places.clear();
        second.places.extend((0..results.len()).filter(|&place| has_no_peak(&results[place])));
        if second.batch.is_single() == batch.is_single() {
            second.batch.clear();
        } else {
            second.batch = if batch.is_single() { RoiBatch::single() } else { RoiBatch::new() };
        }
        second.results.clear();
        for &place in &second.places {
            let view = batch.roi(place);
            second.batch.push(*view.descriptor, view.spacepoints());
            // The second search uses the memory of the first one's result.
            second.results.push(std::mem::take(&mut results[place]));
        }
        Some((fallback, second))
    }

    /// Puts the answers of the second search into their places.
    fn replace(&self, results: &mut [RoiResult], mut second: SecondSearch) {
        for (&place, found) in second.places.iter().zip(second.results.drain(..)) {
            results[place] = RoiResult { fallback: true, ..found };
        }
        self.lock_idle().push(second);
    }

    fn lock_idle(&self) -> MutexGuard<'_, Vec<SecondSearch>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// RoIs without a peak. Their memory is used again.
#[derive(Default)]
struct SecondSearch {
    batch: RoiBatch,
    /// Their numbers in the first batch.
    places: Vec<usize>,
    /// Their results.
    results: Vec<RoiResult>,
}
