//! A thread that searches batches.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use zfinder::{BatchView, CancellationToken, Results, ZFinder};

use crate::device::{Device, Host, is_loss, is_of_device};
use crate::limits::{CHECKED_SPACEPOINTS, CPU_HEAVY_WORK, GPU_HEAVY_WORK};
use crate::refusal::{Reason, Refusal};
use crate::rois::{JoinedBatch, RequestRois};
use crate::scheduler::{Answer, Batch, Job, Scheduler, Weight};
use crate::statistics::{Durations, Statistics};

/// Searches batches on a device.
pub(crate) struct Worker {
    number: usize,
    weight: Weight,
    device: Arc<Device>,
    host: Arc<Host>,
    statistics: Arc<[Statistics]>,
}

/// Memory that is reused.
#[derive(Default)]
struct Scratch {
    joined: JoinedBatch,
    /// Shared with the answers that are not sent yet.
    results: Arc<Results>,
}

/// Returns results that no answer shares: the results of the last batch, or new ones.
fn unshared(results: &mut Arc<Results>) -> &mut Results {
    if Arc::get_mut(results).is_none() {
        *results = Arc::default();
    }
    Arc::make_mut(results)
}

impl Worker {
    pub(crate) fn new(
        number: usize,
        weight: Weight,
        device: Arc<Device>,
        host: Arc<Host>,
        statistics: Arc<[Statistics]>,
    ) -> Self {
        Self { number, weight, device, host, statistics }
    }

    /// Searches until the server ends.
    pub(crate) fn run(&self, scheduler: &Scheduler) {
        let mut scratch = Scratch::default();
        let mut batch = Batch::default();
        while scheduler.next_batch(self.weight, &mut batch) {
            let begun = batch.begun.unwrap_or_else(Instant::now);
            let answer = || self.answer(scheduler, batch.model, &mut batch.jobs, begun, &mut scratch);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(answer)) {
                // A fault of the program. Dropped jobs are refused.
                tracing::error!(message = message(&*panic), "the answers of a batch panicked");
                batch.jobs.clear();
                scratch = Scratch::default();
            }
        }
    }

    /// Answers requests together, or one by one if they fail together. Puts heavy requests back,
    /// unless they are for this thread.
    fn answer(&self, scheduler: &Scheduler, model: usize, jobs: &mut Vec<Job>, begun: Instant, scratch: &mut Scratch) {
        let Scratch { joined, results } = scratch;
        let requests: Vec<&RequestRois> = jobs.iter().map(|job| &job.rois).collect();
        let filled = joined.fill(&requests).map_err(|error| Refusal::from(Failure::Search(error)));
        let heavy = filled.as_ref().map_or_else(|_| Vec::new(), |batch| self.find_heavy(model, jobs, *batch));
        if !heavy.is_empty() {
            heavy.into_iter().rev().for_each(|place| scheduler.put_back(model, jobs.remove(place)));
            if !jobs.is_empty() {
                self.answer(scheduler, model, jobs, begun, scratch);
            }
            return;
        }
        let searching = Instant::now();
        let token = CancellationToken::all(jobs.iter().map(|job| job.cancellation.clone()));
        let mut search = |batch: BatchView<'_>| self.search(model, batch.cancelled_by(&token), unshared(results));
        let outcome = filled.and_then(|batch| search(batch).map(|()| batch));
        let searched = Instant::now();
        let statistics = &self.statistics[model];
        statistics.batches.add(1);
        match outcome {
            Ok(batch) => {
                let parts = parts(jobs);
                let check = |rois| self.host.finder(model).check_input(batch.rois(rois), CHECKED_SPACEPOINTS);
                let checks: Vec<_> = parts.map(|rois| (rois.clone(), check(rois))).collect();
                for (job, (rois, checked)) in jobs.drain(..).zip(checks) {
                    let output = Instant::now();
                    let tensors = job.wanted.tensors(results, rois);
                    let durations = Durations {
                        queue: begun.saturating_duration_since(job.arrived),
                        input: searching - begun,
                        search: searched - searching,
                        output: output.elapsed(),
                    };
                    match checked {
                        Ok(warning) => job.succeed(Answer { tensors, warning }, &durations, statistics),
                        Err(error) => {
                            let _ = job.answer.send(Err(Failure::Search(error).into()));
                        }
                    }
                }
            }
            // One of the requests may be at fault, so each is searched alone.
            Err(_) if jobs.len() > 1 => {
                for job in std::mem::take(jobs) {
                    self.answer(scheduler, model, &mut vec![job], Instant::now(), scratch);
                }
            }
            Err(refusal) => jobs.drain(..).for_each(|job| {
                if job.answer.send(Err(refusal.clone())).is_err() {
                    statistics.cancelled.add(1);
                }
            }),
        }
    }

    /// Returns the places of the requests that would keep a thread busy for long, in ascending
    /// order. Invalid requests stay in the batch, whose search refuses them.
    fn find_heavy(&self, model: usize, jobs: &[Job], batch: BatchView<'_>) -> Vec<usize> {
        if self.weight == Weight::Heavy {
            return Vec::new();
        }
        let work = if self.device.is_gpu { GPU_HEAVY_WORK } else { CPU_HEAVY_WORK };
        let is_heavy = |rois| self.host.finder(model).may_take_more_than(work, batch.rois(rois)).unwrap_or(false);
        parts(jobs).enumerate().filter(|(_, rois)| is_heavy(rois.clone())).map(|(place, _)| place).collect()
    }

    /// Searches on the device, or on the host if the device fails.
    fn search(&self, model: usize, batch: BatchView<'_>, results: &mut Results) -> Result<(), Refusal> {
        // A lone batch is answered soonest by all threads of the host. Several would fight for
        // them.
        let searching = self.device.begin_search();
        let find = |finder: &ZFinder, results: &mut _| match searching.is_alone {
            true => finder.find_batch_into(batch, results),
            false => finder.find_batch_by_worker(self.number, batch, results),
        };
        let on_host =
            |results: &mut _| search_once(|| self.host.search(self.weight, model, |finder| find(finder, results)));
        if !self.device.is_gpu {
            return Ok(on_host(results)?);
        }
        if let Some(finders) = self.device.finders() {
            match search_once(|| find(&finders[model], results)) {
                Err(Failure::Search(error)) if is_of_device(&error) => {
                    if is_loss(&error) {
                        self.device.lose(&finders);
                    } else {
                        tracing::warn!(device = self.device.name, %error, "the CPU engine answers instead");
                    }
                }
                Err(Failure::Panic(message)) => {
                    let device = &self.device.name;
                    tracing::error!(device, message, "a search panicked; the CPU engine answers instead");
                }
                outcome => return outcome.map_err(Refusal::from),
            }
        }
        self.statistics[model].fallback_batches.add(1);
        Ok(on_host(results)?)
    }
}

/// Returns the RoIs of each request in their batch.
fn parts(jobs: &[Job]) -> impl Iterator<Item = Range<usize>> {
    jobs.iter().scan(0, |end, job| {
        *end += job.rois.len();
        Some(*end - job.rois.len()..*end)
    })
}

/// The reason why a search gave no answer.
enum Failure {
    Search(zfinder::Error),
    Panic(String),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Search(error) if is_of_device(&error) => Self::new(Reason::Failed, error.to_string()),
            Failure::Search(error) => Self::invalid(error.to_string()),
            Failure::Panic(message) => Self::new(Reason::Failed, format!("the engine panicked: {message}")),
        }
    }
}

fn search_once(search: impl FnOnce() -> zfinder::Result<()>) -> Result<(), Failure> {
    // Mutexes of an engine outlive a panic, and an engine never returns partial answers.
    match catch_unwind(AssertUnwindSafe(search)) {
        Ok(outcome) => outcome.map_err(Failure::Search),
        Err(panic) => Err(Failure::Panic(message(&*panic))),
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word").to_owned()
}
