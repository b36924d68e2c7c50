//! Tracklets for the answers of GPUs: GPUs find chains of hits, a part of the batch at a time, and
//! threads of the host fit them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernel_host::{Waiting, block_on};

use crate::batch_view::BatchView;
use crate::engine::cpu::CpuEngine;
use crate::engine::gpu::tracklets::{GpuTracklets, InFlight, KeptChains, PackedHits, Submitted};
use crate::engine::gpus::Gpus;
use crate::engine::threads::in_threads;
use crate::error::Result;
use crate::results::Results;

/// Parts that a thread lets the device have at once: one computes while the other is fitted.
const IN_FLIGHT: usize = 2;
/// RoIs of a part at most, and parts for each thread at least.
const MOST_ROIS: usize = 32;
const PARTS: usize = 3;

/// One thread's share of the work.
struct Worker<'a> {
    host: &'a CpuEngine,
    device: &'a GpuTracklets,
    batch: BatchView<'a>,
    /// The answers of the histogram, whose first `first` are not of this batch.
    found: &'a Results,
    first: usize,
    in_flight: VecDeque<(Vec<usize>, InFlight)>,
    /// Answers with tracklets, by RoI.
    answers: Results,
    rois: Vec<usize>,
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
        match made {
            Ok(parts) => {
                let mut places: Vec<(usize, usize, usize)> = Vec::with_capacity(batch.len());
                for (part, (rois, _)) in parts.iter().enumerate() {
                    places.extend(rois.iter().enumerate().map(|(at, &roi)| (roi, part, at)));
                }
                places.sort_unstable();
                for (_, part, at) in places {
                    results.append(&parts[part].1, at..at + 1);
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the seconds an RoI that each step on the first GPU takes, in a part.
    #[cfg(any(test, feature = "internals"))]
    pub(super) fn time_tracklets(&self, batch: BatchView<'_>, rounds: usize) -> Result<Vec<(String, f64)>> {
        let (Some(host), Some(device)) = (self.host.as_deref(), self.first.tracklets()) else { return Ok(Vec::new()) };
        let batch = batch.rois(0..batch.len().min(MOST_ROIS));
        let mut found = Results::new();
        self.find_shares(batch, &mut found)?;
        let (Some(tracklets), mut part) = (host.tracklets(), PackedHits::default()) else { return Ok(Vec::new()) };
        for roi in 0..batch.len() {
            let Some((plan, z_ranges)) = host.plan_tracklets(batch.roi(roi), found.roi(roi))? else { continue };
            if device.pack(&mut part, tracklets, host.search(), (&plan, &z_ranges), batch.roi(roi)).is_some() {
                break;
            }
        }
        device.time(&part, rounds)
    }

    /// Returns the answers of each thread with their RoIs.
    fn find_tracklets(
        &self,
        host: &CpuEngine,
        worker: Option<usize>,
        batch: BatchView<'_>,
        found: &Results,
    ) -> Result<Vec<(Vec<usize>, Results)>> {
        let most = if worker.is_some() { 1 } else { rayon::current_num_threads() };
        let each = batch.len().div_ceil(PARTS * most).clamp(1, MOST_ROIS);
        let parts = batch.len().div_ceil(each);
        let next = AtomicUsize::new(0);
        let first = found.len() - batch.len();
        let work = |number: usize| {
            let engine = self.engine_for(worker.unwrap_or(number));
            let Some(device) = engine.tracklets() else { return Ok((Vec::new(), Results::new())) };
            let (in_flight, answers, rois) = (VecDeque::new(), Results::new(), Vec::new());
            let mut worker = Worker { host, device, batch, found, first, in_flight, answers, rois };
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= parts {
                    break;
                }
                worker.begin(part * each..((part + 1) * each).min(batch.len()))?;
            }
            while worker.end_one()? {}
            Ok((worker.rois, worker.answers))
        };
        let threads = most.min(parts);
        in_threads((0..threads).collect(), threads, work).into_iter().collect()
    }
}

impl Worker<'_> {
    /// Packs RoIs, and submits them in one part or several.
    fn begin(&mut self, rois: Range<usize>) -> Result<()> {
        let Some(tracklets) = self.host.tracklets() else { return Ok(()) };
        let (mut part, mut packed) = (PackedHits::default(), Vec::new());
        for roi in rois {
            let (view, found) = (self.batch.roi(roi), self.found.roi(self.first + roi));
            let Some((plan, z_ranges)) = self.host.plan_tracklets(view, found)? else {
                self.answer(roi, Some(&[]))?;
                continue;
            };
            let search = self.host.search();
            if let Some(alone) = self.device.pack(&mut part, tracklets, search, (&plan, &z_ranges), view) {
                self.submit(std::mem::replace(&mut part, alone), std::mem::take(&mut packed))?;
            }
            packed.push(roi);
        }
        self.submit(part, packed)
    }

    fn submit(&mut self, mut part: PackedHits, rois: Vec<usize>) -> Result<()> {
        if rois.is_empty() {
            return Ok(());
        }
        loop {
            if self.in_flight.len() < IN_FLIGHT {
                // The future never yields: it blocks where it waits.
                let has_another = !self.in_flight.is_empty();
                match block_on(self.device.submit(part, Waiting::Blocking, has_another))? {
                    Submitted::InFlight(in_flight) => {
                        self.in_flight.push_back((rois, in_flight));
                        return Ok(());
                    }
                    Submitted::Later(again) => part = again,
                    Submitted::TooLarge => return rois.iter().try_for_each(|&roi| self.answer(roi, None)),
                }
            }
            self.end_one()?;
        }
    }

    /// Waits for the first part in flight, and answers its RoIs. Returns whether there was one.
    fn end_one(&mut self) -> Result<bool> {
        let Some((rois, in_flight)) = self.in_flight.pop_front() else { return Ok(false) };
        let chains: Vec<Option<KeptChains>> = block_on(self.device.collect(in_flight, Waiting::Blocking))?;
        for (roi, chains) in rois.into_iter().zip(chains) {
            self.answer(roi, chains.as_deref())?;
        }
        Ok(true)
    }

    /// Answers an RoI with its chains. Without them, the host searches it.
    fn answer(&mut self, roi: usize, chains: Option<&[crate::tracklet::TrackletHits]>) -> Result<()> {
        self.rois.push(roi);
        let (view, found) = (self.batch.roi(roi), self.found.roi(self.first + roi));
        self.host.add_tracklets_to(view, found, chains, &mut self.answers)
    }
}
