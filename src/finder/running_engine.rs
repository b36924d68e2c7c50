//! The engine of a finder: one enum, so that the finder calls every engine in the same way.

use crate::batch_view::BatchView;
use crate::engine::cpu::CpuEngine;
#[cfg(feature = "gpu")]
use crate::engine::gpus::Gpus;
use crate::engine::reference::ReferenceEngine;
use crate::error::Result;
use crate::results::Results;

/// The engine that runs. Each call appends answers to `results`.
pub(super) enum RunningEngine {
    #[cfg(feature = "gpu")]
    Gpus(Box<Gpus>),
    Cpu(CpuEngine),
    Reference(ReferenceEngine),
}

impl RunningEngine {
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
            RunningEngine::Gpus(gpus) => gpus.find_batch_async(batch, results).await,
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => self.find_batch(batch, results),
        }
    }
}
