//! One or several GPUs: a batch is divided among them, and threads of a stream are assigned to
//! them. If a GPU is lost, the remaining GPUs repeat its work and continue.

mod tracklets;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use kernel_host::{Gpu, block_on};
use rayon::prelude::*;

use crate::batch_view::BatchView;
use crate::engine::cpu::CpuEngine;
use crate::engine::gpu::GpuEngine;
use crate::engine::plan::Search;
use crate::engine::threads::{Helpers, in_threads};
use crate::error::{Error, Result};
#[cfg(any(test, feature = "internals"))]
use crate::options::DeviceTimes;
use crate::options::EngineOptions;
use crate::results::Results;

/// An engine for each GPU.
pub(crate) struct Gpus {
    first: GpuEngine,
    others: Vec<GpuEngine>,
    /// Batches that were too small to be divided: GPUs take turns.
    undivided: AtomicUsize,
    /// Finds tracklets for the answers of GPUs, with the chains that they find, if the
    /// configuration asks for tracklets.
    host: Option<Box<CpuEngine>>,
}

impl Gpus {
    /// Builds the engines side by side on the pool's threads: compiling shaders takes a while.
    #[expect(clippy::unused_async, reason = "a twin of `new_async`")]
    pub(crate) async fn new(gpus: Vec<Gpu>, search: &Search, options: &EngineOptions) -> Result<Self> {
        let engines = gpus.into_par_iter().map(|gpu| block_on(GpuEngine::new(gpu, search.clone(), options)));
        Self::from_engines(engines.collect::<Result<Vec<_>>>()?, search, options)
    }

    /// Builds the engines on the thread that polls.
    pub(crate) async fn new_async(gpus: Vec<Gpu>, search: &Search, options: &EngineOptions) -> Result<Self> {
        let mut engines = Vec::new();
        for gpu in gpus {
            engines.push(GpuEngine::new(gpu, search.clone(), options).await?);
        }
        Self::from_engines(engines, search, options)
    }

    fn from_engines(engines: Vec<GpuEngine>, search: &Search, options: &EngineOptions) -> Result<Self> {
        let mut engines = engines.into_iter();
        let Some(first) = engines.next() else {
            return Err(Error::Config { key: "engine", value: "no adapter".into(), reason: "was named".into() });
        };
        let host = search.config.takes_tracklets().then(|| CpuEngine::new(search.clone(), options).map(Box::new));
        Ok(Self { first, others: engines.collect(), undivided: AtomicUsize::new(0), host: host.transpose()? })
    }

    pub(crate) fn len(&self) -> usize {
        1 + self.others.len()
    }

    fn iter(&self) -> impl Iterator<Item = &GpuEngine> + Clone {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Returns the GPUs that are not lost. If all are lost, returns all, so that a search reports
    /// the loss.
    fn working(&self) -> Vec<&GpuEngine> {
        let working: Vec<&GpuEngine> = self.iter().filter(|engine| !engine.is_lost()).collect();
        if working.is_empty() { self.iter().collect() } else { working }
    }

    pub(crate) fn description(&self) -> String {
        let others: String = self.others.iter().map(|engine| format!(" and {}", engine.device())).collect();
        let host = self.host.as_ref().map(|host| format!("; fits of tracklets: {}", host.description()));
        self.first.description() + &others + &host.unwrap_or_default()
    }

    /// Bytes of the buffers on all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.iter().map(GpuEngine::bytes).sum()
    }

    /// Returns whether a search is to be repeated: its GPU was lost, and another GPU works. A
    /// search is repeated only once, because its batch may be the cause of the loss.
    fn is_worth_repeating<T>(&self, found: &Result<T>) -> bool {
        let is_loss = matches!(found, Err(Error::Gpu(kernel_host::Error::DeviceLost { .. })));
        is_loss && self.iter().any(|engine| !engine.is_lost())
    }

    fn repeat_after_loss<T>(&self, mut search: impl FnMut() -> Result<T>) -> Result<T> {
        let found = search();
        if self.is_worth_repeating(&found) { search() } else { found }
    }

    /// Searches a share of the batch on each GPU, all at once. Appends the answers to `results`.
    pub(crate) fn find_batch(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        self.repeat_after_loss(|| self.find_shares(batch, results))?;
        self.add_tracklets(None, batch, results)
    }

    /// The GPU whose turn it is.
    fn next_of<'a>(&self, working: &[&'a GpuEngine]) -> &'a GpuEngine {
        working[self.undivided.fetch_add(1, Ordering::Relaxed) % working.len()]
    }

    fn find_shares(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        let working = self.working();
        let shares = batch.split(working.len());
        if shares.len() <= 1 {
            return self.next_of(&working).find_batch(batch, Helpers::Pool, results);
        }
        let each = Helpers::Threads((rayon::current_num_threads() / shares.len()).max(2));
        let work: Vec<_> = working.into_iter().zip(shares).collect();
        let found = in_threads(work, self.len(), |(engine, share)| {
            let mut own = Results::new();
            engine.find_batch(share, each, &mut own).map(|()| own)
        });
        append_all(found, results)
    }

    /// [`Gpus::find_batch`] as a future.
    pub(crate) async fn find_batch_async(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        let found = self.find_shares_async(batch, results).await;
        if self.is_worth_repeating(&found) { self.find_shares_async(batch, results).await } else { found }?;
        self.add_tracklets(None, batch, results)
    }

    async fn find_shares_async(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        let working = self.working();
        let shares = batch.split(working.len());
        if shares.len() <= 1 {
            return self.next_of(&working).find_batch_async(batch, results).await;
        }
        let work = working.into_iter().zip(shares).map(|(engine, share)| async move {
            let mut own = Results::new();
            engine.find_batch_async(share, &mut own).await.map(|()| own)
        });
        append_all(all(work).await, results)
    }

    /// Answers a batch from the thread of this number among many. Appends the answers to `results`.
    pub(crate) fn find_batch_by_worker(
        &self,
        worker: usize,
        batch: BatchView<'_>,
        results: &mut Results,
    ) -> Result<()> {
        self.repeat_after_loss(|| self.engine_for(worker).find_batch(batch, Helpers::NONE, results))?;
        self.add_tracklets(Some(worker), batch, results)
    }

    /// The engine for the thread of this number.
    fn engine_for(&self, worker: usize) -> &GpuEngine {
        let mut engines = self.iter().cycle().skip(worker % self.len()).take(self.len());
        engines.find(|engine| !engine.is_lost()).unwrap_or(&self.first)
    }

    /// Describes the plan of each part of a batch on the first GPU.
    #[cfg(feature = "internals")]
    pub(crate) fn plan_parts(&self, batch: BatchView<'_>) -> Result<Vec<String>> {
        self.first.plan_parts(batch)
    }

    /// Of the first.
    #[cfg(any(test, feature = "internals"))]
    pub(crate) fn time_on_device(&self, batch: BatchView<'_>, rounds: usize) -> Result<Option<DeviceTimes>> {
        let times = self.first.time_on_device(batch, rounds)?;
        let Some(mut times) = times else { return Ok(None) };
        times.stages.extend(self.time_tracklets(batch, rounds)?);
        Ok(Some(times))
    }

    /// Of the host's way to any of them.
    #[cfg(feature = "internals")]
    pub(crate) fn time_packing(&self, batch: BatchView<'_>) -> Result<Option<f64>> {
        self.first.time_packing(batch)
    }
}

/// Appends the answers of all shares, unless one failed.
fn append_all(shares: Vec<Result<Results>>, results: &mut Results) -> Result<()> {
    let shares = shares.into_iter().collect::<Result<Vec<_>>>()?;
    shares.iter().for_each(|share| results.append(share, 0..share.len()));
    Ok(())
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

#[cfg(test)]
#[path = "gpus_tests.rs"]
mod tests;
