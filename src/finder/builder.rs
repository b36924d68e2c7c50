//! The builder of a finder: its options, and the choice of its engine.

use std::num::NonZeroUsize;
#[cfg(feature = "gpu")]
use std::time::Duration;

#[cfg(feature = "gpu")]
use kernel_host::{Gpu, GpuOptions, block_on, wgpu};

use super::running_engine::RunningEngine;
use super::zfinder::ZFinder;
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
#[cfg(feature = "gpu")]
use crate::options::AdapterChoice;
use crate::options::{Encoding, Engine, EngineOptions, Precision};
use crate::thesis::ThesisOptions;

/// Builds a [`ZFinder`].
#[derive(Clone, Debug)]
pub struct ZFinderBuilder {
    config: Config,
    detector: Detector,
    engine: Engine,
    options: EngineOptions,
}

impl ZFinder {
    /// Returns a builder for a finder of this detector's vertices, with the preset
    /// [`Preset::Auto`](crate::Preset::Auto). Built-in detectors are [`Detector::atlas2010`],
    /// [`Detector::generic`] and [`Detector::odd`](Detector::odd).
    pub fn builder(detector: Detector) -> ZFinderBuilder {
        ZFinderBuilder::new(detector)
    }
}

impl ZFinderBuilder {
    fn new(detector: Detector) -> Self {
        Self { config: Config::default(), detector, engine: Engine::default(), options: EngineOptions::default() }
    }

    /// Sets the physics; the preset [`Preset::Auto`](crate::Preset::Auto) by default.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the engine; [`Engine::Auto`] by default.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    #[cfg(feature = "gpu")]
    /// The caller's own device computes: [`ZFinderBuilder::engine`] with [`AdapterChoice::Open`].
    /// `name` is for messages.
    pub fn device(self, name: &str, device: wgpu::Device, queue: wgpu::Queue) -> Self {
        self.engine(Engine::Gpu(AdapterChoice::Open(Gpu::from_device(name, device, queue))))
    }

    /// Sets the parts of the thesis's design that the engine uses; none by default.
    pub fn thesis(mut self, options: impl Into<ThesisOptions>) -> Self {
        self.options.thesis = options.into();
        self
    }

    /// The number type; [`Precision::F32`] if not given. The reference engine computes in f64 in
    /// any case.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.options.precision = precision;
        self
    }

    /// How spacepoints travel to a GPU; [`Encoding::Lossless`] if not given.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.options.encoding = encoding;
        self
    }

    /// GPU: whether shaders carry bounds checks on every access. The answers are the same, the
    /// kernels slower.
    #[cfg(all(feature = "gpu", feature = "internals"))]
    pub fn checked(mut self, checked: bool) -> Self {
        self.options.checked = checked;
        self
    }

    /// CPU: sets the number of threads. With one thread, or with as many callers as threads, the
    /// callers' own threads compute. By default, the engine uses the rayon pool of the caller, or
    /// the global one with a thread a core (`RAYON_NUM_THREADS` overrides it). Answers are
    /// bit-identical for any number of threads, except with
    /// [`Accumulate::CompareExchange`](crate::thesis::Accumulate::CompareExchange).
    ///
    /// [`ZFinderBuilder::build`] rejects more threads than [`ZFinderBuilder::most_threads`].
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.options.threads = Some(threads);
        self
    }

    /// Returns the largest number that [`ZFinderBuilder::threads`] may set: 8 for each core of this
    /// host, and at least 64. More threads cost memory without any gain.
    #[must_use]
    pub fn most_threads() -> usize {
        const PER_CORE: usize = 8;
        const LEAST: usize = 64;
        (PER_CORE * std::thread::available_parallelism().map_or(1, NonZeroUsize::get)).max(LEAST)
    }

    #[cfg(feature = "gpu")]
    /// GPU: how long a blocking call asks the device again and again for its answer before the
    /// thread parks; not at all if not given. It answers some 25 microseconds sooner and keeps a
    /// core busy meanwhile. For the latency of single RoIs: calls that have several parts in
    /// flight, and streams, always park.
    pub fn spin(mut self, longest: Duration) -> Self {
        self.options.spin = longest;
        self
    }

    #[cfg(feature = "gpu")]
    /// GPU: bytes that no buffer may exceed, where less than the adapter offers is wanted. Batches
    /// are cut to fit.
    pub fn most_buffer_bytes(mut self, bytes: u64) -> Self {
        self.options.most_buffer_bytes = Some(bytes);
        self
    }

    #[cfg(feature = "gpu")]
    /// GPU: bytes that all buffers on a device may take together, for one that is shared with
    /// others; as many as there are if not given. Answers are the same: where memory does not
    /// suffice for what is in flight, parts of a batch wait for each other, and a part that does
    /// not fit by itself is cut into smaller ones. An RoI of more than a megabyte that does not fit
    /// by itself is answered with [`Status::CapacityExceeded`](crate::Status::CapacityExceeded);
    /// where not even a smaller one does, that is an error. The same happens where a device without
    /// this limit is full.
    pub fn most_gpu_bytes(mut self, bytes: u64) -> Self {
        self.options.most_gpu_bytes = Some(bytes);
        self
    }

    /// Builds the engine. Blocks while devices are opened and shaders are compiled.
    ///
    /// # Errors
    /// An invalid configuration, too many threads, no such adapter, or an adapter without a
    /// required feature.
    pub fn build(self) -> Result<ZFinder> {
        #[cfg(feature = "gpu")]
        let finder = block_on(self.build_on_any(Gpus::new));
        #[cfg(not(feature = "gpu"))]
        let finder = self.search().and_then(|search| self.build_on_host(search));
        finder
    }

    /// [`ZFinderBuilder::build`] as a future, for any executor. Shaders are compiled on the thread
    /// that polls it.
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
        if let Some(slices) = self.options.thesis.slices_per_histogram.filter(|slices| !(1..=1 << 16).contains(slices))
        {
            return Err(Error::Config {
                key: "slices_per_histogram",
                value: slices.to_string(),
                reason: "must lie in [1, 65536]".into(),
            });
        }
        let most = Self::most_threads();
        if let Some(threads) = self.options.threads.filter(|threads| threads.get() > most) {
            return Err(Error::Config {
                key: "threads",
                value: threads.to_string(),
                reason: format!("must lie in [1, {most}]: 8 for each core, or 64"),
            });
        }
        Search::new(&self.config, &self.detector)
    }

    /// Builds the requested engine. `engines` compiles the kernels for each device.
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
            Some(search) => Some(RunningEngine::on_gpus(engines(gpus.clone(), &search, &self.options).await?)),
            None => None,
        };
        let gpus = RunningEngine::on_gpus(engines(gpus, &search, &self.options).await?);
        Ok(ZFinder::new(search, self.options.thesis.accumulate, gpus, fallback))
    }

    /// Builds the reference engine if `engine` is [`Engine::Reference`], otherwise the CPU engine.
    fn build_on_host(self, search: Search) -> Result<ZFinder> {
        let runs = |search: &Search| -> Result<RunningEngine> {
            Ok(if self.engine == Engine::Reference {
                RunningEngine::Reference(ReferenceEngine::new(&search.config, &search.detector)?)
            } else {
                RunningEngine::Cpu(CpuEngine::new(search.clone(), &self.options)?)
            })
        };
        let fallback = search.fallback()?.as_ref().map(runs).transpose()?;
        let runs = runs(&search)?;
        Ok(ZFinder::new(search, self.options.thesis.accumulate, runs, fallback))
    }
}
