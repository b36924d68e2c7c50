//! Measures callers: threads that each search one RoI after another, as a framework with an event
//! on each thread does.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use tracing::Dispatch;
use tracing::dispatcher::with_default;
use zfinder::{Results, RoiBatch};

use super::measure::MeasuredCase;
use super::report::{CallerRate, CheckReport, Rate};
use command_host::Failure;

/// RoIs that each caller searches in turn.
const ROIS_OF_CALLER: usize = 8;
/// Most rounds for each number of callers.
const MOST_ROUNDS: usize = 3;

/// RoIs of one caller, and the answer to each.
pub(super) struct Caller {
    rois: Vec<RoiBatch>,
    answers: Vec<Results>,
}

impl Caller {
    /// Searches the RoIs in turn until the time is over. Returns the number of calls.
    fn search(&mut self, case: &MeasuredCase<'_>, start: &Barrier, seconds: f64) -> Result<usize, Failure> {
        start.wait();
        let begun = Instant::now();
        let mut calls = 0;
        while begun.elapsed().as_secs_f64() < seconds {
            let at = calls % self.rois.len();
            case.finder.find_batch_into(&self.rois[at], &mut self.answers[at])?;
            calls += 1;
        }
        Ok(calls)
    }
}

impl MeasuredCase<'_> {
    /// Measures 1, 2, 4, ... callers, up to twice the number of `cores`.
    pub(super) fn callers(&self, cores: usize, checked: &mut CheckReport) -> Result<Vec<CallerRate>, Failure> {
        let powers = std::iter::successors(Some(1), |callers| Some(2 * callers)).take_while(|&callers| callers < cores);
        powers
            .chain([cores, 2 * cores])
            .filter_map(|callers| self.rate_of_callers(callers, checked).transpose())
            .collect()
    }

    pub(super) fn some_callers(&self, count: usize) -> Vec<Caller> {
        let caller = |number: usize| {
            let rois: Vec<RoiBatch> =
                (0..ROIS_OF_CALLER).map(|i| self.sample.batch(number * ROIS_OF_CALLER + i, 1)).collect();
            Caller { answers: vec![Results::new(); rois.len()], rois }
        };
        (0..count).map(caller).collect()
    }

    fn rate_of_callers(&self, count: usize, checked: &mut CheckReport) -> Result<Option<CallerRate>, Failure> {
        let mut callers = self.some_callers(count);
        // The first round allocates buffers.
        let seconds = self.seconds / 2.0;
        self.round_of_callers(&mut callers, seconds, None)?;
        let mut times = Vec::new();
        let mut calls = 0;
        for _ in 0..self.rounds.min(MOST_ROUNDS) {
            let start = Instant::now();
            calls = self.round_of_callers(&mut callers, seconds, None)?;
            times.push(start.elapsed().as_secs_f64() / calls.max(1) as f64);
        }
        // Answers of RoIs that a slow engine did not reach are missing.
        for Caller { rois, answers } in &callers {
            let pairs = rois.iter().zip(answers).filter(|(_, answer)| !answer.is_empty());
            let (alone, answers): (Vec<_>, Vec<_>) =
                pairs.map(|(roi, answer)| (self.finder.find_batch(roi), answer.clone())).unzip();
            let alone = alone.into_iter().collect::<zfinder::Result<Vec<_>>>()?;
            self.same(&alone, &answers)?;
        }
        self.check(&callers[0].answers[0], checked)?;
        Ok(Rate::new(calls, 1, count, times).map(|rate| CallerRate { callers: count, rate }))
    }

    /// Returns the number of calls of all callers. `spans` gets the spans of their threads.
    pub(super) fn round_of_callers(
        &self,
        callers: &mut [Caller],
        seconds: f64,
        spans: Option<&Dispatch>,
    ) -> Result<usize, Failure> {
        let start = &Barrier::new(callers.len());
        thread::scope(|scope| {
            let search = |caller: &mut Caller| match spans {
                Some(spans) => with_default(spans, || caller.search(self, start, seconds)),
                None => caller.search(self, start, seconds),
            };
            let threads: Vec<_> = callers.iter_mut().map(|caller| scope.spawn(move || search(caller))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a caller does not panic")).sum()
        })
    }
}
