//! Measures a sample as a [`ZFinder::stream`](zfinder::ZFinder::stream), with batches in flight,
//! for one round or for long.

use std::collections::VecDeque;
use std::time::Instant;

use zfinder::{Results, SearchedBatch, Stream, StreamOptions};

use super::measure::{LONGEST, Load, MeasuredCase};
use super::memory;
use super::report::{CheckReport, LongStream, Rate};
use command_host::Failure;

/// Batches of a round on hardware for each batch in flight, and fewest batches of any round.
const BATCHES_IN_FLIGHT: usize = 8;
const MOST_BATCHES: usize = 1 << 20;

/// A stream and its queue of waiting batches. Answered batches return to the end of the queue with
/// their answers, whose memory the next search reuses.
struct Flow {
    stream: Stream,
    waiting: VecDeque<SearchedBatch>,
}

impl Flow {
    /// Sends this many batches through the stream and waits for the last. Sends fewer if the queue
    /// is empty. Returns the number of RoIs answered.
    fn run(&mut self, batches: usize) -> Result<usize, Failure> {
        let Self { stream, waiting } = self;
        let mut rois = 0;
        let mut give_back = |answered: SearchedBatch, waiting: &mut VecDeque<SearchedBatch>| {
            rois += answered.results.len();
            waiting.push_back(answered);
        };
        for _ in 0..batches {
            let Some(SearchedBatch { batch, results }) = waiting.pop_front() else { break };
            if let Some(answered) = stream.push_into(batch, results)? {
                give_back(answered, waiting);
            }
        }
        for answered in stream {
            give_back(answered?, waiting);
        }
        Ok(rois)
    }
}

impl MeasuredCase<'_> {
    /// Makes batches of the whole sample, at least one more than can be in flight, and at most
    /// `most` of that number.
    fn flow(&self, batch_rois: usize, most: impl FnOnce(usize) -> usize) -> Result<Flow, Failure> {
        let stream = self.finder.stream(StreamOptions { in_flight: self.in_flight })?;
        let needed = stream.most_in_flight() + 1;
        let different = self.sample.len().div_ceil(batch_rois).max(needed).min(most(needed));
        let batches = (0..different).map(|i| self.sample.batch(i * batch_rois, batch_rois));
        let waiting = batches.map(|batch| SearchedBatch { batch, results: Results::new() }).collect();
        Ok(Flow { stream, waiting })
    }

    /// Measures from batches in host memory to vertices in host memory, with several batches in
    /// flight.
    pub(super) fn streamed(&self, load: &Load, checked: &mut CheckReport) -> Result<Option<Rate>, Failure> {
        let mut flow = self.flow(load.batch_rois, |needed| load.batches_a_round.max(needed))?;
        // After one run of all batches, the first one is at the front again.
        flow.run(flow.waiting.len())?;
        if let Some(first) = flow.waiting.front() {
            self.check(&first.results, checked)?;
        }
        // A stream is faster than single batches, so it gets as many batches as the time allows,
        // and enough to make its filling and draining phases negligible.
        let in_flight = flow.stream.most_in_flight();
        let warm = flow.waiting.len();
        let start = Instant::now();
        flow.run(warm)?;
        let fit = (self.seconds * warm as f64 / start.elapsed().as_secs_f64().max(1e-12)) as usize;
        let enough = (BATCHES_IN_FLIGHT * in_flight).min((LONGEST * fit).max(warm));
        let least = if self.hardware() { enough } else { load.batches_a_round };
        let batches = fit.clamp(least, least.max(MOST_BATCHES));
        let mut times = Vec::new();
        for _ in 0..self.rounds {
            let start = Instant::now();
            let rois = flow.run(batches)?;
            times.push(start.elapsed().as_secs_f64() / rois.max(1) as f64);
            // The batch that was answered last is at the end of the queue.
            if let Some(SearchedBatch { batch, results }) = flow.waiting.back() {
                self.same(&[self.finder.find_batch(batch)?], std::slice::from_ref(results))?;
            }
        }
        Ok(Rate::new(batches * load.batch_rois, load.batch_rois, in_flight, times))
    }

    /// Streams the sample repeatedly: neither time per RoI nor memory may grow with the length.
    pub(super) fn long_stream(&self, rois: usize, batch_rois: usize) -> Result<LongStream, Failure> {
        let batch_rois = batch_rois.min(rois);
        let batches = rois / batch_rois;
        let mut flow = self.flow(batch_rois, |_| batches)?;
        let rest = self.sample.batch(0, rois % batch_rois);
        memory::forget_peak();
        let start = Instant::now();
        let answered = flow.run(batches)? + self.finder.find_batch(&rest)?.len();
        let us_per_roi = 1e6 * start.elapsed().as_secs_f64() / answered.max(1) as f64;
        let memory::Resident { now, peak } = memory::resident();
        Ok(LongStream { rois, us_per_roi, peak_memory_bytes: peak, memory_bytes: now })
    }
}
