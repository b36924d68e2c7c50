//! Devices: a GPU with the finders of all models, or the CPU. A lost GPU is opened again in the
//! background.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};
use zfinder::gpu::kernel_host::{self, Gpu, GpuOptions};
use zfinder::gpu::{AdapterChoice, wgpu};
use zfinder::{Config, Detector, Engine, ZFinder};

use crate::error::{Error, Result};
use crate::limits::{FIRST_RETRY, LONGEST_RETRY};
use crate::model::Model;
use crate::scheduler::Weight;

/// The finders of all models, in their order.
pub(crate) type Finders = Arc<[ZFinder]>;

/// Opens a device again and builds the finders of all models on it.
pub(crate) type Reopen = Arc<dyn Fn() -> Result<Finders> + Send + Sync>;

/// The CPU engine of all models, which searches if there is no GPU, or a GPU fails.
///
/// Heavy requests have a pool of threads of their own. The system shares the cores between both
/// pools, so that no other request waits until a heavy one has ended.
pub(crate) struct Host {
    light: Finders,
    heavy: Finders,
    heavy_threads: ThreadPool,
}

impl Host {
    /// Builds the finders of all models, on the CPU unless `engine` is the reference engine.
    pub(crate) fn new(
        models: &[Model],
        detector: &Detector,
        engine: &Engine,
        threads: Option<NonZeroUsize>,
    ) -> Result<Self> {
        let engine = if matches!(engine, Engine::Reference) { Engine::Reference } else { Engine::Cpu };
        let light = finders(models, detector, &engine, threads)?;
        // Without threads of their own, they search in the pool of their caller.
        let heavy = finders(models, detector, &engine, None)?;
        let pool = ThreadPoolBuilder::new().num_threads(threads.map_or(0, NonZeroUsize::get));
        let pool = pool.thread_name(|number| format!("zfinder heavy {number}")).build();
        let heavy_threads = pool.map_err(|error| Error::System(std::io::Error::other(error)))?;
        Ok(Self { light, heavy, heavy_threads })
    }

    /// Returns the number of models.
    pub(crate) fn models(&self) -> usize {
        self.light.len()
    }

    /// Returns the threads of the pool for heavy requests.
    pub(crate) fn threads(&self) -> usize {
        self.heavy_threads.current_num_threads()
    }

    /// Returns a finder that does not search: for questions about a batch.
    pub(crate) fn finder(&self, model: usize) -> &ZFinder {
        &self.light[model]
    }

    /// Searches with the finder, and on the threads, for requests of this weight.
    pub(crate) fn search<T: Send>(&self, weight: Weight, model: usize, search: impl FnOnce(&ZFinder) -> T + Send) -> T {
        match weight {
            Weight::Light | Weight::Large => search(&self.light[model]),
            Weight::Heavy => self.heavy_threads.install(|| search(&self.heavy[model])),
        }
    }
}

/// A device that may be lost and come back.
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) is_gpu: bool,
    state: Mutex<State>,
    reopen: Reopen,
    searches: AtomicUsize,
}

/// A search that runs on a device.
pub(crate) struct Searching<'a> {
    searches: &'a AtomicUsize,
    /// Whether no other one ran when it began.
    pub(crate) is_alone: bool,
}

impl Drop for Searching<'_> {
    fn drop(&mut self) {
        self.searches.fetch_sub(1, Ordering::Relaxed);
    }
}

enum State {
    Ready(Finders),
    Lost,
    /// The server has ended: the device is not opened again.
    Closed,
}

impl Device {
    pub(crate) fn new(name: String, is_gpu: bool, finders: Finders, reopen: Reopen) -> Arc<Self> {
        Arc::new(Self { name, is_gpu, state: Mutex::new(State::Ready(finders)), reopen, searches: AtomicUsize::new(0) })
    }

    /// Counts a search until the answer is dropped.
    pub(crate) fn begin_search(&self) -> Searching<'_> {
        let others = self.searches.fetch_add(1, Ordering::Relaxed);
        Searching { searches: &self.searches, is_alone: others == 0 }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the finders, unless the device is lost.
    pub(crate) fn finders(&self) -> Option<Finders> {
        match &*self.state() {
            State::Ready(finders) => Some(Arc::clone(finders)),
            State::Lost | State::Closed => None,
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        !matches!(&*self.state(), State::Ready(_))
    }

    /// Ends attempts to open the device again.
    pub(crate) fn close(&self) {
        *self.state() = State::Closed;
    }

    /// Marks the device of these finders as lost, and opens it again in the background.
    pub(crate) fn lose(self: &Arc<Self>, finders: &Finders) {
        {
            let mut state = self.state();
            match &*state {
                State::Ready(current) if Arc::ptr_eq(current, finders) => *state = State::Lost,
                // Another thread was first.
                _ => return,
            }
        }
        tracing::error!(device = self.name, "the device is lost; the CPU engine answers until it is back");
        let device = Arc::clone(self);
        let retry = move || device.retry();
        if let Err(error) = thread::Builder::new().name("zfinder reopen".into()).spawn(retry) {
            tracing::error!(%error, "no thread to open the device again");
        }
    }

    fn retry(&self) {
        let mut pause = FIRST_RETRY;
        loop {
            thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_RETRY);
            if matches!(&*self.state(), State::Closed) {
                return;
            }
            // Bindings may panic if the driver is gone.
            match catch_unwind(AssertUnwindSafe(|| (self.reopen)())) {
                Ok(Ok(finders)) => {
                    let mut state = self.state();
                    if matches!(&*state, State::Lost) {
                        *state = State::Ready(finders);
                        tracing::info!(device = self.name, "the device is back");
                    }
                    return;
                }
                Ok(Err(error)) => tracing::warn!(device = self.name, %error, "the device is still lost"),
                Err(_) => tracing::warn!(device = self.name, "opening the device panicked"),
            }
        }
    }
}

/// Returns whether an error means that the device is lost.
pub(crate) fn is_loss(error: &zfinder::Error) -> bool {
    matches!(error, zfinder::Error::Gpu(kernel_host::Error::DeviceLost { .. }))
}

/// Returns whether an error comes from the device, so that the CPU engine may answer.
pub(crate) fn is_of_device(error: &zfinder::Error) -> bool {
    matches!(error, zfinder::Error::Gpu(_))
}

/// Builds the finders of all models on one engine.
fn finders(models: &[Model], detector: &Detector, engine: &Engine, threads: Option<NonZeroUsize>) -> Result<Finders> {
    let build = |config: &Config| {
        let mut builder = ZFinder::builder(detector.clone()).config(config.clone()).engine(engine.clone());
        if let Some(threads) = threads {
            builder = builder.threads(threads);
        }
        builder.build()
    };
    let finder =
        |model: &Model| build(&model.config).map_err(|source| Error::Finder { model: model.name.clone(), source });
    models.iter().map(finder).collect()
}

/// Opens the devices of an engine: one for each GPU, or the host.
pub(crate) fn open(
    engine: &Engine,
    models: &Arc<[Model]>,
    detector: &Arc<Detector>,
    host: &Host,
) -> Result<Vec<Arc<Device>>> {
    let choices = match engine {
        Engine::Gpu(choice) => vec![choice.clone()],
        Engine::Gpus(choices) => choices.clone(),
        Engine::Auto => {
            let gpu = kernel_host_block(Gpu::open_hardware_async(options(AdapterChoice::Hardware)))?;
            return match gpu {
                Some(gpu) => Ok(vec![of_gpu(&gpu, AdapterChoice::Hardware, models, detector)?]),
                None => Ok(vec![of_host(host)]),
            };
        }
        _ => return Ok(vec![of_host(host)]),
    };
    let mut devices = Vec::new();
    for choice in choices {
        for gpu in Gpu::open_all(&options(choice.clone()))? {
            // With `all`, each GPU is opened again by its own index.
            let again = match choice {
                AdapterChoice::All => AdapterChoice::Index(gpu.summary().index),
                _ => choice.clone(),
            };
            devices.push(of_gpu(&gpu, again, models, detector)?);
        }
    }
    Ok(devices)
}

/// Returns the host as a device, which is never lost.
fn of_host(host: &Host) -> Arc<Device> {
    let finders = Arc::clone(&host.light);
    let name = finders.first().map(ZFinder::description).unwrap_or_default();
    let again = Arc::clone(&finders);
    Device::new(name, false, finders, Arc::new(move || Ok(Arc::clone(&again))))
}

fn kernel_host_block<T>(future: impl Future<Output = Result<T, kernel_host::Error>>) -> Result<T> {
    Ok(pollster::block_on(future)?)
}

fn options(adapter: AdapterChoice) -> GpuOptions {
    GpuOptions {
        adapter,
        required_features: wgpu::Features::empty(),
        optional_features: wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::MAPPABLE_PRIMARY_BUFFERS,
    }
}

/// Builds the finders of all models on one open GPU, which they share.
fn of_gpu(gpu: &Gpu, again: AdapterChoice, models: &Arc<[Model]>, detector: &Arc<Detector>) -> Result<Arc<Device>> {
    let on = |gpu: &Gpu, models: &[Model], detector: &Detector| {
        finders(models, detector, &Engine::Gpu(AdapterChoice::Open(gpu.clone())), None)
    };
    let built = on(gpu, models, detector)?;
    let (models, detector) = (Arc::clone(models), Arc::clone(detector));
    let reopen = move || on(&Gpu::new(&options(again.clone()))?, &models, &detector);
    Ok(Device::new(gpu.name().to_owned(), true, built, Arc::new(reopen)))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use zfinder::Preset;

    use super::*;

    /// A lost device is opened until it works again, and then it searches again.
    #[test]
    fn a_lost_device_comes_back() {
        let models = [Model::preset(Preset::Default)];
        let build = move || finders(&models, &Detector::atlas2010(), &Engine::Cpu, None);
        let tries = Arc::new(AtomicUsize::new(0));
        let (tried, rebuild) = (Arc::clone(&tries), build.clone());
        let reopen = move || match tried.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Error::Models("the driver is not back".into())),
            1 => panic!("a driver may panic"),
            _ => rebuild(),
        };
        let first = build().expect("a CPU engine");
        let device = Device::new("test".into(), true, Arc::clone(&first), Arc::new(reopen));
        device.lose(&first);
        assert!(device.is_lost() && device.finders().is_none());
        let begin = Instant::now();
        while device.is_lost() {
            assert!(begin.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(5));
        }
        let second = device.finders().expect("it is back");
        assert_eq!(tries.load(Ordering::Relaxed), 3);
        // The loss of the first device is already known.
        device.lose(&first);
        assert!(!device.is_lost());
        device.lose(&second);
        device.close();
        assert!(device.finders().is_none());
    }
}
