//! The finder: builds an engine once, then answers.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(feature = "gpu")]
use std::time::Duration;

use crate::batch_view::BatchView;
use crate::config::Config;
use crate::detector::Detector;
use crate::engine::cpu::CpuEngine;
#[cfg(feature = "gpu")]
use crate::engine::gpu::GpuEngine;
#[cfg(feature = "gpu")]
use crate::engine::gpus::Gpus;
use crate::engine::plan::Search;
use crate::engine::reference::ReferenceEngine;
use crate::error::{Error, Result};
use crate::options::{Accumulate, Encoding, Engine, EngineOptions, Precision, Reproducibility};
#[cfg(feature = "gpu")]
use crate::options::{AdapterChoice, DeviceTimes};
use crate::spacepoint::{Roi, RoiBatch};
use crate::stream::{Stream, StreamOptions};
use crate::vertex::{RoiResult, Status};
#[cfg(feature = "gpu")]
use kernel_host::{Gpu, GpuOptions, block_on, wgpu};

/// Options of a [`ZFinder`] to be.
#[derive(Clone, Debug, Default)]
pub struct ZFinderBuilder {
    config: Config,
    detector: Option<Detector>,
    engine: Engine,
    options: EngineOptions,
}

impl ZFinderBuilder {
    /// The physics; the reference program's defaults if not given.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The detector; [`Detector::atlas2010`] if not given.
    pub fn detector(mut self, detector: Detector) -> Self {
        self.detector = Some(detector);
        self
    }

    /// What computes; [`Engine::Auto`] if not given.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    #[cfg(feature = "gpu")]
    /// The caller's own device computes: [`ZFinderBuilder::engine`] with [`AdapterChoice::Open`]. `name` is for messages.
    pub fn device(self, name: &str, device: wgpu::Device, queue: wgpu::Queue) -> Self {
        self.engine(Engine::Gpu(AdapterChoice::Open(Gpu::from_device(name, device, queue))))
    }

    /// How zHisto is summed; [`Accumulate::Fixed`] if not given. The reference engine sums in f64 in any case.
    pub fn accumulate(mut self, accumulate: Accumulate) -> Self {
        self.options.accumulate = accumulate;
        self
    }

    /// The number type; [`Precision::F32`] if not given. The reference engine computes in f64 in any case.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.options.precision = precision;
        self
    }

    /// How spacepoints travel to a GPU; [`Encoding::Lossless`] if not given.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.options.encoding = encoding;
        self
    }

    #[cfg(feature = "gpu")]
    /// GPU: the thesis's design, in which a workgroup numbers all pairs of so many phi slices, 1 (the thesis's choice)
    /// to 65,536, and fills a histogram from them. If not given, a workgroup takes a share of the spacepoints instead,
    /// which is faster; the answers are the same.
    pub fn slices_per_histogram(mut self, slices: u32) -> Self {
        self.options.slices_per_histogram = Some(slices);
        self
    }

    #[cfg(feature = "gpu")]
    /// GPU: whether shaders carry bounds checks on every access. The answers are the same, the kernels slower.
    pub fn checked(mut self, checked: bool) -> Self {
        self.options.checked = checked;
        self
    }

    /// CPU: how many threads compute. Where it is one, the caller's does. If not given, those of rayon's pool: one a core,
    /// unless `RAYON_NUM_THREADS` says otherwise, or the pool that the call is made in. Answers are the same to the last bit,
    /// whatever their number, but for sums by [`Accumulate::CompareExchange`].
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.options.threads = Some(threads);
        self
    }

    #[cfg(feature = "gpu")]
    /// GPU: how long a blocking call asks the device again and again for its answer before the thread parks; not at all if
    /// not given. It answers some 25 microseconds sooner and keeps a core busy meanwhile. For the latency of single RoIs:
    /// calls that have several parts in flight, and streams, always park.
    pub fn spin(mut self, longest: Duration) -> Self {
        self.options.spin = longest;
        self
    }

    #[cfg(feature = "gpu")]
    /// GPU: bytes that no buffer may exceed, where less than the adapter offers is wanted. Batches are cut to fit.
    pub fn most_buffer_bytes(mut self, bytes: u64) -> Self {
        self.options.most_buffer_bytes = Some(bytes);
        self
    }

    #[cfg(feature = "gpu")]
    /// GPU: bytes that all buffers on a device may take together, for one that is shared with others; as many as there are
    /// if not given. Answers are the same: where memory does not suffice for what is in flight, parts of a batch wait for
    /// each other, and a part that does not fit by itself is cut into smaller ones. An RoI of more than a megabyte that
    /// does not fit by itself is answered with [`Status::CapacityExceeded`](crate::Status::CapacityExceeded); where not
    /// even a smaller one does, that is an error. The same happens where a device without this limit is full.
    pub fn most_gpu_bytes(mut self, bytes: u64) -> Self {
        self.options.most_gpu_bytes = Some(bytes);
        self
    }

    /// Builds the engine. Blocks while devices are opened and shaders are compiled.
    ///
    /// # Errors
    /// A configuration out of range, no such adapter, an adapter that lacks what was asked for.
    pub fn build(self) -> Result<ZFinder> {
        #[cfg(feature = "gpu")]
        let finder = block_on(self.build_on_any(Gpus::new));
        #[cfg(not(feature = "gpu"))]
        let finder = self.search().and_then(|search| self.build_on_host(search));
        finder
    }

    /// [`ZFinderBuilder::build`] as a future, for any executor. Shaders are compiled on the thread that polls it.
    ///
    /// # Errors
    /// As [`ZFinderBuilder::build`].
    #[allow(clippy::unused_async, reason = "nothing is awaited without a GPU")]
    pub async fn build_async(self) -> Result<ZFinder> {
        #[cfg(feature = "gpu")]
        let finder = self.build_on_any(Gpus::new_async).await;
        #[cfg(not(feature = "gpu"))]
        let finder = self.search().and_then(|search| self.build_on_host(search));
        finder
    }

    /// Checks the options.
    fn search(&self) -> Result<Search> {
        self.config.validate()?;
        if let Some(slices) = self.options.slices_per_histogram.filter(|slices| !(1..=1 << 16).contains(slices)) {
            return Err(Error::Config {
                key: "slices_per_histogram",
                value: slices.to_string(),
                reason: "must lie in [1, 65536]".into(),
            });
        }
        let atlas2010;
        let detector = match &self.detector {
            Some(detector) => detector,
            None => {
                atlas2010 = Detector::atlas2010();
                &atlas2010
            }
        };
        Search::new(&self.config, detector)
    }

    /// Builds whichever engine was asked for. `engines` compiles the kernels for each device.
    #[cfg(feature = "gpu")]
    async fn build_on_any(
        mut self,
        engines: impl AsyncFn(Vec<Gpu>, &Search, &EngineOptions) -> Result<Gpus>,
    ) -> Result<ZFinder> {
        let search = self.search()?;
        let precision = self.options.precision;
        let options = |adapter| GpuOptions {
            adapter,
            required_features: GpuEngine::required_features(precision),
            optional_features: wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::MAPPABLE_PRIMARY_BUFFERS,
        };
        let mut gpus = Vec::new();
        match std::mem::take(&mut self.engine) {
            Engine::Gpu(adapter) => gpus = Gpu::open_all_async(&options(adapter)).await?,
            Engine::Gpus(adapters) => {
                for adapter in adapters {
                    gpus.extend(Gpu::open_all_async(&options(adapter)).await?);
                }
            }
            Engine::Auto => match Gpu::open_hardware_async(options(AdapterChoice::Hardware)).await? {
                Some(gpu) => gpus.push(gpu),
                None => return self.build_on_host(search),
            },
            engine @ (Engine::Cpu | Engine::Reference) => {
                self.engine = engine;
                return self.build_on_host(search);
            }
        }
        let fallback = match search.fallback()? {
            Some(search) => Some(Runs::Gpus(Box::new(engines(gpus.clone(), &search, &self.options).await?))),
            None => None,
        };
        let gpus = engines(gpus, &search, &self.options).await?;
        Ok(ZFinder::new(search, self.options.accumulate, Runs::Gpus(Box::new(gpus)), fallback))
    }

    /// Builds the reference engine if that was asked for, else the CPU engine.
    fn build_on_host(self, search: Search) -> Result<ZFinder> {
        let runs = |search: &Search| -> Result<Runs> {
            Ok(if self.engine == Engine::Reference {
                Runs::Reference(ReferenceEngine::new(&search.config, &search.detector)?)
            } else {
                Runs::Cpu(CpuEngine::new(search.clone(), &self.options)?)
            })
        };
        let fallback = search.fallback()?.as_ref().map(runs).transpose()?;
        let runs = runs(&search)?;
        Ok(ZFinder::new(search, self.options.accumulate, runs, fallback))
    }
}

/// Finds vertices. Built once: it holds compiled shaders and buffers. Shared freely between threads, and cheap to clone:
/// all clones are the same finder.
#[derive(Clone)]
pub struct ZFinder {
    core: Arc<Core>,
}

/// What clones and streams share.
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

/// The engine that runs.
enum Runs {
    #[cfg(feature = "gpu")]
    Gpus(Box<Gpus>),
    Cpu(CpuEngine),
    Reference(ReferenceEngine),
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

    /// Bytes of the buffers that it holds on its GPUs now: those in flight, and those that are kept for the next batch.
    /// None are on other engines.
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

    /// The vertices of every RoI of a batch, in its order. Several GPUs share it. A [`BatchView`] is searched where the
    /// caller's columns are, without a copy.
    ///
    /// # Errors
    /// An RoI whose z range makes no histogram, a device that is lost or out of memory. What one RoI's spacepoints
    /// do wrong is that RoI's [`Status`](crate::Status), and no error.
    pub fn find_batch<'a>(&self, batch: impl Into<BatchView<'a>>) -> Result<Vec<RoiResult>> {
        let mut results = Vec::new();
        self.find_batch_into(batch, &mut results)?;
        Ok(results)
    }

    /// [`ZFinder::find_batch`] into results that are there already, whatever they are: their memory is used again, and where
    /// the CPU engine has done with such a batch before, it takes no more. After an error they mean nothing.
    ///
    /// # Errors
    /// As [`ZFinder::find_batch`].
    ///
    /// ```
    /// # use zfinder::{Engine, RoiBatch, RoiDescriptor, Spacepoint, ZFinder};
    /// # fn main() -> zfinder::Result<()> {
    /// let finder = ZFinder::builder().engine(Engine::Cpu).build()?;
    /// let mut batch = RoiBatch::new();
    /// batch.push(RoiDescriptor::default(), [Spacepoint { rho: 50.5, phi: 0.1, z: 12.25, layer: 0 }]);
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

    /// [`ZFinder::find_batch`] as a future, for any executor: while a GPU works, the thread is free. The CPU engines
    /// compute where the future is polled.
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

    /// Batches in flight: each is planned, packed, sent, awaited and decoded by a thread of its own, so that the host
    /// works on some while the GPU works on others. The stream shares this finder's engine and may outlive the finder.
    ///
    /// # Errors
    /// [`Error::Config`] where `in_flight` is out of range, [`Error::Thread`] where there are no threads to be had.
    pub fn stream(&self, options: StreamOptions) -> Result<Stream> {
        let core = Arc::clone(&self.core);
        let devices = match &core.runs {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => gpus.len(),
            Runs::Cpu(_) | Runs::Reference(_) => 1,
        };
        let find = move |worker, batch: &RoiBatch, results: &mut _| core.find_batch_here(worker, batch, results);
        Stream::start(options, devices, find)
    }

    #[cfg(feature = "gpu")]
    /// What the GPU alone takes for a batch whose spacepoints it holds already, searched `rounds` times over: upload and
    /// packing are not in it. None on other engines, and for a batch with nothing to search. Of a batch that does not fit
    /// the device at once, its beginning; of several GPUs, the first.
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
    /// How long one thread of the host takes to plan an RoI and to pack its spacepoints for a GPU, in seconds an RoI; into
    /// the processor's own memory, not over the bus. None on other engines, and for an empty batch.
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
    /// Answers a batch on the thread of this number among many.
    fn find_batch_here(&self, worker: usize, batch: &RoiBatch, results: &mut Vec<RoiResult>) -> Result<()> {
        let batch = batch.into();
        self.runs.find_batch_here(worker, batch, results)?;
        if let Some((fallback, mut again)) = self.again(batch, results) {
            fallback.find_batch_here(worker, (&again.batch).into(), &mut again.results)?;
            self.replace(results, again);
        }
        Ok(())
    }

    /// The engine that searches an RoI again, if it has no peak.
    fn fallback_for(&self, result: &RoiResult) -> Option<&Runs> {
        self.fallback.as_ref().filter(|_| result.status == Status::NoPeak)
    }

    /// Takes the RoIs that are searched again out of a batch, with their results, and returns the engine for them.
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

impl Runs {
    fn find(&self, roi: &Roi) -> Result<RoiResult> {
        match self {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => gpus.find(roi),
            Runs::Cpu(engine) => {
                let mut result = RoiResult::default();
                engine.find_one(roi.into(), &mut result)?;
                Ok(result)
            }
            Runs::Reference(engine) => engine.find(roi.into()),
        }
    }

    fn find_batch_into(&self, batch: BatchView<'_>, results: &mut Vec<RoiResult>) -> Result<()> {
        match self {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => *results = gpus.find_batch(batch)?,
            Runs::Cpu(engine) => engine.find_batch(batch, results)?,
            Runs::Reference(engine) => *results = engine.find_batch(batch)?,
        }
        Ok(())
    }

    #[cfg_attr(not(feature = "gpu"), allow(unused_variables))]
    fn find_batch_here(&self, worker: usize, batch: BatchView<'_>, results: &mut Vec<RoiResult>) -> Result<()> {
        match self {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => *results = gpus.find_batch_here(worker, batch)?,
            Runs::Cpu(engine) => engine.find_batch_in_turn(batch, results)?,
            Runs::Reference(engine) => *results = engine.find_batch(batch)?,
        }
        Ok(())
    }

    #[allow(clippy::unused_async, reason = "nothing is awaited without a GPU")]
    async fn find_async(&self, roi: &Roi) -> Result<RoiResult> {
        match self {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => gpus.find_async(roi).await,
            Runs::Cpu(_) | Runs::Reference(_) => self.find(roi),
        }
    }

    #[allow(clippy::unused_async, reason = "nothing is awaited without a GPU")]
    async fn find_batch_async(&self, batch: BatchView<'_>) -> Result<Vec<RoiResult>> {
        match self {
            #[cfg(feature = "gpu")]
            Runs::Gpus(gpus) => gpus.find_batch_async(batch).await,
            Runs::Cpu(_) | Runs::Reference(_) => {
                let mut results = Vec::new();
                self.find_batch_into(batch, &mut results)?;
                Ok(results)
            }
        }
    }
}
