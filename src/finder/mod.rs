//! The finder: builds an engine once, then answers.

mod builder;
mod runs;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::batch_view::BatchView;
use crate::config::Config;
use crate::detector::Detector;
use crate::engine::plan::Search;
use crate::error::Result;
#[cfg(feature = "gpu")]
use crate::options::DeviceTimes;
use crate::options::{Accumulate, Reproducibility};
use crate::spacepoint::{Roi, RoiBatch};
use crate::stream::{Stream, StreamOptions};
use crate::vertex::{RoiResult, Status};

pub use builder::ZFinderBuilder;
use runs::Runs;

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
    runs: Runs,
    /// Searches RoIs without a peak again.
    fallback: Option<Runs>,
    /// Memory of second searches.
    idle: Mutex<Vec<Again>>,
}

impl fmt::Debug for ZFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZFinder").field("engine", &self.description()).finish_non_exhaustive()
    }
}

impl ZFinder {
    fn new(search: Search, accumulate: Accumulate, runs: Runs, fallback: Option<Runs>) -> Self {
        let Search { config, detector, .. } = search;
        Self { core: Arc::new(Core { config, detector, accumulate, runs, fallback, idle: Mutex::default() }) }
    }

    /// Starts from the defaults.
    pub fn builder() -> ZFinderBuilder {
        ZFinderBuilder::default()
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
        match (&self.core.runs, self.core.accumulate) {
            (Runs::Reference(_), _) => Reproducibility::RunToRun,
            (_, Accumulate::CompareExchange) => Reproducibility::NotGuaranteed,
            (_, Accumulate::Fixed) => Reproducibility::CpuToGpu,
        }
    }

    /// Which engine runs, and on which adapters; for people.
    pub fn description(&self) -> String {
        match &self.core.runs {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => gpus.description(),
            Runs::Cpu(engine) => engine.description(),
            Runs::Reference(_) => "reference engine, serial, f64".into(),
        }
    }

    /// Returns whether GPUs compute, and not an engine of the host.
    pub fn uses_gpu(&self) -> bool {
        !matches!(self.core.runs, Runs::Cpu(_) | Runs::Reference(_))
    }

    /// Returns the bytes of its buffers on its GPUs, in flight or kept for the next batch. 0 on
    /// other engines.
    pub fn gpu_bytes(&self) -> u64 {
        let bytes = |runs: &Runs| match runs {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => gpus.bytes(),
            Runs::Cpu(_) | Runs::Reference(_) => 0,
        };
        bytes(&self.core.runs) + self.core.fallback.as_ref().map_or(0, bytes)
    }

    /// The vertices of one RoI: a batch of one.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    pub fn find(&self, roi: &Roi) -> Result<RoiResult> {
        let result = self.core.runs.find(roi)?;
        match self.core.fallback_for(&result) {
            Some(fallback) => Ok(RoiResult { fallback: true, ..fallback.find(roi)? }),
            None => Ok(result),
        }
    }

    /// Finds the vertices of every RoI of a batch, in the batch's order. Several GPUs share the
    /// batch. The columns of a [`BatchView`] are not copied.
    ///
    /// # Errors
    /// An RoI whose z range makes no histogram, or a device that is lost or out of memory. A
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
    /// # use zfinder::{Engine, RoiBatch, RoiDescriptor, Spacepoint, ZFinder};
    /// # fn main() -> zfinder::Result<()> {
    /// let finder = ZFinder::builder().engine(Engine::Cpu).build()?;
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
        self.core.runs.find_batch_into(batch, results)?;
        if let Some((fallback, mut again)) = self.core.again(batch, results) {
            fallback.find_batch_into((&again.batch).into(), &mut again.results)?;
            self.core.replace(results, again);
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
    /// # use zfinder::{Engine, RoiBatch, RoiDescriptor, Spacepoint, ZFinder};
    /// # fn main() -> zfinder::Result<()> {
    /// let finder = ZFinder::builder().engine(Engine::Cpu).build()?;
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
        let result = self.core.runs.find_async(roi).await?;
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
        let mut results = self.core.runs.find_batch_async(batch).await?;
        if let Some((fallback, mut again)) = self.core.again(batch, &mut results) {
            again.results = fallback.find_batch_async((&again.batch).into()).await?;
            self.core.replace(&mut results, again);
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
        let devices = match &core.runs {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => gpus.len(),
            Runs::Cpu(_) | Runs::Reference(_) => 1,
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
        match &self.core.runs {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => gpus.time_on_device(batch, rounds),
            Runs::Cpu(_) | Runs::Reference(_) => Ok(None),
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
        match &self.core.runs {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => gpus.time_packing(batch),
            Runs::Cpu(_) | Runs::Reference(_) => Ok(None),
        }
    }
}

impl Core {
    fn find_batch_by_worker(&self, worker: usize, batch: BatchView<'_>, results: &mut Vec<RoiResult>) -> Result<()> {
        self.runs.find_batch_by_worker(worker, batch, results)?;
        if let Some((fallback, mut again)) = self.again(batch, results) {
            fallback.find_batch_by_worker(worker, (&again.batch).into(), &mut again.results)?;
            self.replace(results, again);
        }
        Ok(())
    }

    /// The engine that searches an RoI again, if it has no peak.
    fn fallback_for(&self, result: &RoiResult) -> Option<&Runs> {
        self.fallback.as_ref().filter(|_| result.status == Status::NoPeak)
    }

    /// Takes the RoIs that are searched again out of a batch, with their results, and returns the
    /// engine for them.
    fn again(&self, batch: BatchView<'_>, results: &mut [RoiResult]) -> Option<(&Runs, Again)> {
        let fallback = self.fallback.as_ref()?;
        let has_no_peak = |result: &RoiResult| result.status == Status::NoPeak;
        if !results.iter().any(has_no_peak) {
            return None;
        }
        let mut again = self.lock_idle().pop().unwrap_or_default();
        again.places.clear();
        again.places.extend((0..results.len()).filter(|&place| has_no_peak(&results[place])));
        if again.batch.is_single() == batch.is_single() {
            again.batch.clear();
        } else {
            again.batch = if batch.is_single() { RoiBatch::single() } else { RoiBatch::new() };
        }
        again.results.clear();
        for &place in &again.places {
            let view = batch.roi(place);
            again.batch.push(*view.descriptor, view.spacepoints());
            // The second search uses the memory of the first one's result.
            again.results.push(std::mem::take(&mut results[place]));
        }
        Some((fallback, again))
    }

    /// Puts the answers of the second search into their places.
    fn replace(&self, results: &mut [RoiResult], mut again: Again) {
        for (&place, found) in again.places.iter().zip(again.results.drain(..)) {
            results[place] = RoiResult { fallback: true, ..found };
        }
        self.lock_idle().push(again);
    }

    fn lock_idle(&self) -> MutexGuard<'_, Vec<Again>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// RoIs without a peak. Their memory is used again.
#[derive(Default)]
struct Again {
    batch: RoiBatch,
    /// Their numbers in the first batch.
    places: Vec<usize>,
    /// Their results.
    results: Vec<RoiResult>,
}
