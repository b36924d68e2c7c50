//! Tracklets for the answers of GPUs: GPUs find chains of hits, a part of the batch at a time, and
//! threads of the host fit them. All threads share the parts: one packs the next part or waits for
//! a device only where no RoI is ready to be fitted.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use kernel_host::{Waiting, block_on};
use tracing::trace_span;

use crate::batch_view::BatchView;
use crate::engine::cpu::CpuEngine;
use crate::engine::gpu::GpuEngine;
use crate::engine::gpu::tracklets::{FoundChains, InFlight, Submitted};
use crate::engine::gpus::Gpus;
use crate::engine::threads::in_threads;
use crate::engine::tracklets::roi_hits::RoiHits;
use crate::error::Result;
use crate::results::Results;

/// Parts that are packed, computed or read at once, for each device.
const IN_FLIGHT: usize = 4;
/// RoIs of the first part and of the largest one. Each part has twice the RoIs of the one before,
/// because no thread has anything to fit before the first one is back.
const FIRST_ROIS: usize = 8;
const MOST_ROIS: usize = 64;
/// Parts of a batch at least, so that the host fits one while the device has another.
const LEAST_PARTS: usize = 4;

/// The work of all threads on a batch.
struct Job<'a> {
    host: &'a CpuEngine,
    engines: Vec<&'a GpuEngine>,
    batch: BatchView<'a>,
    /// The answers of the histogram, whose first `first` are not of this batch.
    found: &'a Results,
    first: usize,
    state: Mutex<State>,
    /// Something became ready, or all is done.
    changed: Condvar,
}

/// Work that is left, and work in progress.
#[derive(Default)]
struct State {
    /// RoIs that are not packed, the last ones first.
    unpacked: Vec<Range<usize>>,
    /// Parts in flight, with their engines and RoIs.
    in_flight: VecDeque<(usize, Vec<usize>, InFlight)>,
    /// RoIs whose chains are found; without chains, the host searches.
    ready: Vec<(usize, Option<FoundChains>)>,
    /// Threads that pack, or wait for a device.
    busy: usize,
    /// Parts that are packed, or in flight.
    begun: usize,
    /// There is no memory for one more of them.
    is_full: bool,
    /// The engine of the next part.
    next: usize,
    /// A thread has failed.
    failed: bool,
}

/// The next piece of work of a thread.
enum Step {
    Fit(usize, Option<FoundChains>),
    /// Pack these RoIs for the engine of this number. Whether other parts are begun.
    Pack(Range<usize>, usize, bool),
    Collect(usize, Vec<usize>, Box<InFlight>),
    End,
}

impl Gpus {
    /// Finds tracklets for the answers to a batch, the last ones of `results`, and replaces them by
    /// those with tracklets. A worker has no threads to help.
    pub(super) fn add_tracklets(
        &self,
        worker: Option<usize>,
        batch: BatchView<'_>,
        results: &mut Results,
    ) -> Result<()> {
        let Some(host) = self.host.as_deref() else { return Ok(()) };
        // A browser must not be blocked, and f64 has no kernels.
        if cfg!(target_arch = "wasm32") || self.first.tracklets().is_none() {
            return host.add_tracklets(batch, results);
        }
        let found = std::mem::take(results);
        let first = found.len() - batch.len();
        let made = self.repeat_after_loss(|| self.find_tracklets(host, worker, batch, &found));
        results.append(&found, 0..first);
        let parts = made?;
        if let [(rois, answers)] = &parts[..]
            && rois.is_sorted()
        {
            results.append(answers, 0..answers.len());
            return Ok(());
        }
        // The thread that has answered each RoI, and the place among its answers.
        let mut places = vec![(0, 0); batch.len()];
        for (part, (rois, _)) in parts.iter().enumerate() {
            rois.iter().enumerate().for_each(|(at, &roi)| places[roi] = (part, at));
        }
        places.into_iter().for_each(|(part, at)| results.append(&parts[part].1, at..at + 1));
        Ok(())
    }

    /// Returns the answers of each thread with their RoIs.
    fn find_tracklets(
        &self,
        host: &CpuEngine,
        worker: Option<usize>,
        batch: BatchView<'_>,
        found: &Results,
    ) -> Result<Vec<(Vec<usize>, Results)>> {
        let engines = worker.map_or_else(|| self.working(), |worker| vec![self.engine_for(worker)]);
        let threads = if worker.is_some() { 1 } else { rayon::current_num_threads().min(batch.len()) };
        let mut state = State::default();
        state.put_back(0..batch.len());
        let (first, state, changed) = (found.len() - batch.len(), Mutex::new(state), Condvar::new());
        let job = Job { host, engines, batch, found, first, state, changed };
        in_threads(vec![(); threads], threads, |()| job.work()).into_iter().collect()
    }

    /// Returns the seconds an RoI that each step on the first GPU takes, in a part.
    #[cfg(any(test, feature = "internals"))]
    pub(super) fn time_tracklets(&self, batch: BatchView<'_>, rounds: usize) -> Result<Vec<(String, f64)>> {
        let (Some(host), Some(device)) = (self.host.as_deref(), self.first.tracklets()) else { return Ok(Vec::new()) };
        let batch = batch.rois(0..batch.len().min(MOST_ROIS));
        let mut found = Results::new();
        self.find_shares(batch, &mut found)?;
        let mut part = crate::engine::gpu::tracklets::PackedHits::default();
        let Some(tracklets) = host.tracklets() else { return Ok(Vec::new()) };
        for roi in 0..batch.len() {
            let Some((plan, z_ranges)) = host.plan_tracklets(batch.roi(roi), found.roi(roi))? else { continue };
            let hits = RoiHits::new(tracklets, host.search(), &plan, batch.roi(roi));
            if !device.pack(&mut part, &hits, &z_ranges) {
                break;
            }
        }
        device.time(&part, rounds)
    }
}

impl Job<'_> {
    /// Works until nothing is left. Returns the answers of this thread, and their RoIs.
    fn work(&self) -> Result<(Vec<usize>, Results)> {
        let _ends_for_all = EndsForAll(self);
        let (mut rois, mut answers) = (Vec::new(), Results::new());
        let done = self.work_into(&mut rois, &mut answers);
        if done.is_err() {
            self.fail();
        }
        done.map(|()| (rois, answers))
    }

    /// Lets all threads end.
    fn fail(&self) {
        self.state().failed = true;
        self.changed.notify_all();
    }

    fn work_into(&self, rois: &mut Vec<usize>, answers: &mut Results) -> Result<()> {
        loop {
            match self.next() {
                Step::End => return Ok(()),
                Step::Fit(roi, chains) => {
                    let (view, found) = (self.batch.roi(roi), self.found.roi(self.first + roi));
                    let chains = chains.map(|chains| chains.sorted());
                    rois.push(roi);
                    self.host.add_tracklets_to(view, found, chains.as_deref(), self.batch.cancellation, answers)?;
                }
                Step::Pack(part, engine, has_others) => {
                    self.batch.cancellation.check()?;
                    self.pack(part, engine, has_others)?;
                }
                Step::Collect(engine, rois, in_flight) => self.collect(engine, rois, *in_flight)?,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses the next step of a thread: first what keeps the devices busy, then what is ready.
    fn next(&self) -> Step {
        let mut state = self.state();
        loop {
            if state.failed {
                return Step::End;
            }
            let most = if state.is_full { 1 } else { IN_FLIGHT * self.engines.len() };
            if state.begun < most
                && let Some(mut part) = state.unpacked.pop()
            {
                let most = MOST_ROIS.min(FIRST_ROIS << state.next.min(8));
                let each = self.batch.len().div_ceil(LEAST_PARTS).clamp(1, most);
                state.put_back(part.start + each..part.end);
                part.end = part.end.min(part.start + each);
                let (engine, has_others) = (state.next % self.engines.len(), state.begun > 0);
                state.next += 1;
                state.begun += 1;
                state.busy += 1;
                return Step::Pack(part, engine, has_others);
            }
            if let Some((roi, chains)) = state.ready.pop() {
                return Step::Fit(roi, chains);
            }
            if let Some((engine, rois, in_flight)) = state.in_flight.pop_front() {
                state.busy += 1;
                return Step::Collect(engine, rois, Box::new(in_flight));
            }
            if state.busy == 0 {
                return Step::End;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends a step of packing or waiting.
    fn end(&self, ended_parts: usize, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        state.busy -= 1;
        state.begun -= ended_parts;
        change(&mut state);
        drop(state);
        self.changed.notify_all();
    }

    /// Packs RoIs, and submits them. The host searches what has no room by itself.
    fn pack(&self, part: Range<usize>, engine: usize, has_others: bool) -> Result<()> {
        let (Some(tracklets), Some(device)) = (self.host.tracklets(), self.engines[engine].tracklets()) else {
            self.end(1, |state| state.ready.extend(part.map(|roi| (roi, None))));
            return Ok(());
        };
        let _span = trace_span!("pack hits").entered();
        let (mut packed, mut rois) = (device.new_part(), Vec::new());
        let mut ready = Vec::new();
        let mut left = part.end..part.end;
        for roi in part {
            let (view, found) = (self.batch.roi(roi), self.found.roi(self.first + roi));
            let Some((plan, z_ranges)) = self.host.plan_tracklets(view, found)? else {
                ready.push((roi, Some(FoundChains::default())));
                continue;
            };
            let hits = RoiHits::new(tracklets, self.host.search(), &plan, view);
            if !device.pack(&mut packed, &hits, &z_ranges) {
                left.start = roi;
                break;
            }
            rois.push(roi);
        }
        let submitted = match packed.is_empty() {
            true => None,
            // The future never yields: it blocks where it waits.
            false => Some(block_on(device.submit(packed, Waiting::Blocking, has_others))?),
        };
        let is_in_flight = matches!(submitted, Some(Submitted::InFlight(_)));
        self.end(usize::from(!is_in_flight), |state| {
            state.put_back(left);
            state.ready.extend(ready);
            match submitted {
                Some(Submitted::InFlight(in_flight)) => state.in_flight.push_back((engine, rois, in_flight)),
                Some(Submitted::Later) => {
                    state.is_full = true;
                    state.unpacked.extend(rois.into_iter().map(|roi| roi..roi + 1));
                }
                Some(Submitted::TooLarge) | None => state.ready.extend(rois.into_iter().map(|roi| (roi, None))),
            }
        });
        Ok(())
    }

    /// Waits for a part, whose RoIs are ready then.
    fn collect(&self, engine: usize, rois: Vec<usize>, in_flight: InFlight) -> Result<()> {
        let Some(device) = self.engines[engine].tracklets() else { return Ok(()) };
        let found =
            trace_span!("chains on the device").in_scope(|| block_on(device.collect(in_flight, Waiting::Blocking)))?;
        self.end(1, |state| state.ready.extend(rois.into_iter().zip(found)));
        Ok(())
    }
}

/// Ends the work of all threads if the one that holds it panics.
struct EndsForAll<'a>(&'a Job<'a>);

impl Drop for EndsForAll<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail();
        }
    }
}

impl State {
    fn put_back(&mut self, rois: Range<usize>) {
        if !rois.is_empty() {
            self.unpacked.push(rois);
        }
    }
}
