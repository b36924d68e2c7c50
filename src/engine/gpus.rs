//! One GPU or several: a batch is divided among them, and threads of a stream are dealt out to them.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use kernel_host::Gpu;
use rayon::prelude::*;

use crate::engine::gpu::GpuEngine;
use crate::engine::plan::Search;
use crate::engine::threads::{Helpers, in_threads};
use crate::error::{Error, Result};
use crate::finder::{DeviceTimes, EngineOptions};
use crate::spacepoint::{Roi, RoiBatch, Rois};
use crate::vertex::RoiResult;

/// An engine for each GPU.
pub(crate) struct Gpus {
    first: GpuEngine,
    others: Vec<GpuEngine>,
}

impl Gpus {
    pub(crate) fn new(gpus: Vec<Gpu>, search: &Search, options: &EngineOptions) -> Result<Self> {
        // Compiling shaders takes a while, on each.
        let engines = gpus.into_par_iter().map(|gpu| GpuEngine::new(gpu, search.clone(), options));
        let mut engines = engines.collect::<Result<Vec<_>>>()?.into_iter();
        let Some(first) = engines.next() else {
            return Err(Error::Config { key: "engine", value: "no adapter".into(), reason: "was named".into() });
        };
        Ok(Self { first, others: engines.collect() })
    }

    pub(crate) fn len(&self) -> usize {
        1 + self.others.len()
    }

    fn iter(&self) -> impl Iterator<Item = &GpuEngine> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(crate) fn description(&self) -> String {
        let others: String = self.others.iter().map(|engine| format!(" and {}", engine.device())).collect();
        self.first.description() + &others
    }

    /// One RoI, on the first.
    pub(crate) fn find(&self, roi: &Roi) -> Result<RoiResult> {
        Ok(self.first.find_batch(roi.into(), Helpers::Pool)?.remove(0))
    }

    /// [`Gpus::find`] as a future.
    pub(crate) async fn find_async(&self, roi: &Roi) -> Result<RoiResult> {
        Ok(self.first.find_batch_async(roi.into()).await?.remove(0))
    }

    /// A share of the batch for each GPU, all at once.
    pub(crate) fn find_batch(&self, batch: &RoiBatch) -> Result<Vec<RoiResult>> {
        let shares = Rois::from(batch).split(self.len());
        if shares.len() <= 1 {
            return self.first.find_batch(batch.into(), Helpers::Pool);
        }
        let each = Helpers::Threads((rayon::current_num_threads() / shares.len()).max(2));
        let work: Vec<_> = self.iter().zip(shares).collect();
        let found = in_threads(work, self.len(), |(engine, share)| engine.find_batch(share, each));
        Ok(found.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    /// [`Gpus::find_batch`] as a future.
    pub(crate) async fn find_batch_async(&self, batch: &RoiBatch) -> Result<Vec<RoiResult>> {
        let shares = Rois::from(batch).split(self.len());
        if shares.len() <= 1 {
            return self.first.find_batch_async(batch.into()).await;
        }
        let found = all(self.iter().zip(shares).map(|(engine, share)| engine.find_batch_async(share))).await;
        Ok(found.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    /// The answers to a batch from the thread of this number among many.
    pub(crate) fn find_batch_here(&self, worker: usize, batch: &RoiBatch) -> Result<Vec<RoiResult>> {
        let engine = worker % self.len();
        let engine = if engine == 0 { &self.first } else { &self.others[engine - 1] };
        engine.find_batch(batch.into(), Helpers::NONE)
    }

    /// Of the first.
    pub(crate) fn time_on_device(&self, batch: &RoiBatch, rounds: usize) -> Result<Option<DeviceTimes>> {
        self.first.time_on_device(batch, rounds)
    }

    /// Of the host's way to any of them.
    pub(crate) fn time_packing(&self, batch: &RoiBatch) -> Result<Option<f64>> {
        self.first.time_packing(batch)
    }
}

/// Awaits all of these at once: each is polled whenever one of them can go on.
async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (output, future) in outputs.iter_mut().zip(&mut running).filter(|(output, _)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(context) {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
