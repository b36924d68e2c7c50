//! The engine of a finder: one enum, so that the finder calls every engine in the same way. No
//! other file distinguishes engines. A trait object would need futures that are `Send`, which those
//! of the browser's GPU are not.

#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
use std::ops::Deref;
#[cfg(feature = "gpu")]
use std::pin::Pin;

use crate::batch_view::BatchView;
use crate::engine::cpu::CpuEngine;
#[cfg(feature = "gpu")]
use crate::engine::gpus::Gpus;
use crate::engine::reference::ReferenceEngine;
use crate::error::Result;
#[cfg(all(feature = "gpu", feature = "internals"))]
use crate::options::DeviceTimes;
use crate::results::{Reproducibility, Results};
use crate::thesis::Accumulate;

/// GPUs as a trait object: the compiler then proves here that they are `Send` and `Sync`, and at no
/// use of a finder. A proof visits the types of wgpu, which refer to each other. In an async method
/// with lifetimes it takes 20 s, or ends at the limit of recursion.
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
type SharedGpus = Box<dyn Deref<Target = Gpus> + Send + Sync>;
#[cfg(all(feature = "gpu", target_arch = "wasm32"))]
type SharedGpus = Box<Gpus>;

/// The answer of GPUs, for the same reason.
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
type FutureAnswer<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;
#[cfg(all(feature = "gpu", target_arch = "wasm32"))]
type FutureAnswer<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// The engine that runs. Each call appends answers to `results`.
pub(super) enum RunningEngine {
    #[cfg(feature = "gpu")]
    Gpus(SharedGpus),
    Cpu(CpuEngine),
    Reference(ReferenceEngine),
}

impl RunningEngine {
    #[cfg(feature = "gpu")]
    pub(super) fn on_gpus(gpus: Gpus) -> Self {
        let gpus = Box::new(gpus);
        #[cfg(not(target_arch = "wasm32"))]
        let gpus = Box::new(gpus);
        Self::Gpus(gpus)
    }

    pub(super) fn find_batch(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.find_batch(batch, results),
            RunningEngine::Cpu(engine) => engine.find_batch(batch, results),
            RunningEngine::Reference(engine) => engine.find_batch(batch, results),
        }
    }

    #[cfg_attr(not(feature = "gpu"), allow(unused_variables))]
    pub(super) fn find_batch_by_worker(
        &self,
        worker: usize,
        batch: BatchView<'_>,
        results: &mut Results,
    ) -> Result<()> {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.find_batch_by_worker(worker, batch, results),
            RunningEngine::Cpu(engine) => engine.find_batch_in_turn(batch, results),
            RunningEngine::Reference(engine) => engine.find_batch(batch, results),
        }
    }

    #[allow(clippy::unused_async, reason = "nothing is awaited without a GPU")]
    pub(super) async fn find_batch_async(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => {
                let answer: FutureAnswer<'_> = Box::pin(gpus.find_batch_async(batch, results));
                answer.await
            }
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => self.find_batch(batch, results),
        }
    }

    pub(super) fn description(&self) -> String {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.description(),
            RunningEngine::Cpu(engine) => engine.description(),
            RunningEngine::Reference(_) => "reference engine, serial, f64".into(),
        }
    }

    /// Returns which runs have the same bits, with these sums.
    pub(super) fn reproducibility(&self, accumulate: Accumulate) -> Reproducibility {
        match (self, accumulate) {
            (RunningEngine::Reference(_), _) => Reproducibility::RunToRun,
            (_, Accumulate::CompareExchange) => Reproducibility::NotGuaranteed,
            (_, Accumulate::Fixed) => Reproducibility::CpuToGpu,
        }
    }

    /// Returns the number of GPUs that compute.
    pub(super) fn gpus(&self) -> usize {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.len(),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => 0,
        }
    }

    /// Returns the bytes of the buffers on its GPUs.
    pub(super) fn gpu_bytes(&self) -> u64 {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.bytes(),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => 0,
        }
    }

    #[cfg(all(feature = "gpu", feature = "internals"))]
    pub(super) fn plan_parts(&self, batch: BatchView<'_>) -> Result<Option<Vec<String>>> {
        match self {
            RunningEngine::Gpus(gpus) => gpus.plan_parts(batch).map(Some),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => Ok(None),
        }
    }

    #[cfg(all(feature = "gpu", feature = "internals"))]
    pub(super) fn time_on_device(&self, batch: BatchView<'_>, rounds: usize) -> Result<Option<DeviceTimes>> {
        match self {
            RunningEngine::Gpus(gpus) => gpus.time_on_device(batch, rounds),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => Ok(None),
        }
    }

    #[cfg(all(feature = "gpu", feature = "internals"))]
    pub(super) fn time_packing(&self, batch: BatchView<'_>) -> Result<Option<f64>> {
        match self {
            RunningEngine::Gpus(gpus) => gpus.time_packing(batch),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => Ok(None),
        }
    }
}
