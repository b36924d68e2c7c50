//! The engine of a finder: one enum, so that the finder calls every engine in the same way.

use crate::batch_view::BatchView;
use crate::engine::cpu::CpuEngine;
#[cfg(feature = "gpu")]
use crate::engine::gpus::Gpus;
use crate::engine::reference::ReferenceEngine;
use crate::error::Result;
use crate::spacepoint::Roi;
use crate::vertex::RoiResult;

/// The engine that runs.
pub(super) enum RunningEngine {
    #[cfg(feature = "gpu")]
    Gpus(Box<Gpus>),
    Cpu(CpuEngine),
    Reference(ReferenceEngine),
}

impl RunningEngine {
    pub(super) fn find(&self, roi: &Roi) -> Result<RoiResult> {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.find(roi),
            RunningEngine::Cpu(engine) => {
                let mut result = RoiResult::default();
                engine.find_one(roi.into(), &mut result)?;
                Ok(result)
            }
            RunningEngine::Reference(engine) => engine.find(roi.into()),
        }
    }

    pub(super) fn find_batch_into(&self, batch: BatchView<'_>, results: &mut Vec<RoiResult>) -> Result<()> {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => *results = gpus.find_batch(batch)?,
            RunningEngine::Cpu(engine) => engine.find_batch(batch, results)?,
            RunningEngine::Reference(engine) => *results = engine.find_batch(batch)?,
        }
        Ok(())
    }

    #[cfg_attr(not(feature = "gpu"), allow(unused_variables))]
    pub(super) fn find_batch_by_worker(
        &self,
        worker: usize,
        batch: BatchView<'_>,
        results: &mut Vec<RoiResult>,
    ) -> Result<()> {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => *results = gpus.find_batch_by_worker(worker, batch)?,
            RunningEngine::Cpu(engine) => engine.find_batch_in_turn(batch, results)?,
            RunningEngine::Reference(engine) => *results = engine.find_batch(batch)?,
        }
        Ok(())
    }

    #[allow(clippy::unused_async, reason = "nothing is awaited without a GPU")]
    pub(super) async fn find_async(&self, roi: &Roi) -> Result<RoiResult> {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.find_async(roi).await,
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => self.find(roi),
        }
    }

    #[allow(clippy::unused_async, reason = "nothing is awaited without a GPU")]
    pub(super) async fn find_batch_async(&self, batch: BatchView<'_>) -> Result<Vec<RoiResult>> {
        match self {
            #[cfg(feature = "gpu")]
            RunningEngine::Gpus(gpus) => gpus.find_batch_async(batch).await,
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => {
                let mut results = Vec::new();
                self.find_batch_into(batch, &mut results)?;
                Ok(results)
            }
        }
    }
}
