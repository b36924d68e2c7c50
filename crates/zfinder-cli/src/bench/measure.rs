//! Measures a case on an engine. Answers are checked before anything is timed.

use crate::failure::WRONG_ANSWER;
use std::num::NonZeroUsize;
use std::time::Instant;

use zfinder::internals;
use zfinder::{Config, Engine, Results, RoiBatch, ZFinder, ZFinderBuilder};
use zfinder_io::config_summary;

use super::check::Expected;
use super::report::{
    Adapter, CaseReport, CheckReport, KernelTime, Latency, OneCore, Rate, Transfer, median, percentile,
};
use super::sample::Sample;
use super::words::{CaseName, EngineName, word};
use command_host::Failure;

/// Largest ratio of the duration of a round to the requested one, on hardware.
pub(super) const LONGEST: usize = 8;
/// Fewest batches of a round. Batches of a slow engine are made small enough for this.
const LEAST_BATCHES: usize = 4;

/// Number of calls whose latency is reported: on hardware if time allows, and at least.
const HARDWARE_CALLS: usize = 200;
const MOST_CALLS: usize = 1000;
const LEAST_CALLS: usize = 5;

/// Calls before those that count, on hardware.
const WARM_UP_CALLS: usize = 20;

/// Approximate number of searches of a batch by `time_on_device` in a round.
const RESIDENT_SEARCHES: f64 = 5.0;
/// Most spacepoints that a GPU holds while its kernels are timed.
const RESIDENT_SPACEPOINTS: usize = 32_000_000;

/// A case on an engine, with the options of the measurement.
pub(super) struct MeasuredCase<'a> {
    pub(super) sample: &'a Sample,
    pub(super) case: CaseName,
    pub(super) engine: EngineName,
    /// GPUs that work together; empty for other engines.
    pub(super) adapters: &'a [Adapter],
    pub(super) config: &'a Config,
    pub(super) finder: &'a ZFinder,
    /// The builder of the finder.
    pub(super) builder: &'a ZFinderBuilder,
    pub(super) expected: &'a Expected,
    pub(super) rounds: usize,
    /// Requested duration of a round.
    pub(super) seconds: f64,
    /// Number of batches of a stream.
    pub(super) in_flight: usize,
    pub(super) stream_rois: &'a [usize],
    /// Whether the steps of calls are timed.
    pub(super) times_steps: bool,
    /// Most threads that search one RoI each at once.
    pub(super) cores: usize,
    /// Whether the same RoIs must give the same bits.
    pub(super) exact: bool,
    pub(super) say: &'a (dyn Fn(&str) + Sync),
}

/// The batches of one round.
pub(super) struct Load {
    batches: Vec<RoiBatch>,
    /// RoIs of each batch.
    pub(super) batch_rois: usize,
    /// Number of batches in a round, in which `batches` repeat.
    pub(super) batches_a_round: usize,
}

impl Load {
    pub(super) fn rois(&self) -> usize {
        self.batch_rois * self.batches_a_round
    }
}

impl MeasuredCase<'_> {
    pub(super) fn measure(&self) -> Result<CaseReport, Failure> {
        let mut measured = CaseReport {
            case: self.case,
            engine: self.engine,
            adapters: self.adapters.iter().map(|adapter| adapter.index).collect(),
            description: format!("{}; {}", self.finder.description(), config_summary(self.config)),
            config: self.config.clone(),
            check: None,
            streamed: None,
            end_to_end: None,
            resident: None,
            latency: None,
            callers: Vec::new(),
            timeline: Vec::new(),
            one_core: None,
            kernels: Vec::new(),
            transfer: None,
            long_streams: Vec::new(),
        };
        if self.engine == EngineName::Reference {
            (self.say)("one core");
            measured.one_core = self.one_core(self.finder, self.sample.len())?;
            return Ok(measured);
        }
        (self.say)("check");
        let mut checked = CheckReport::default();
        let load = self.load(&mut checked)?;
        (self.say)("end to end");
        measured.end_to_end = self.end_to_end(&load, &mut checked)?;
        (self.say)("streamed");
        measured.streamed = self.streamed(&load, &mut checked)?;
        let rates = [&measured.end_to_end, &measured.streamed];
        let rate = rates.into_iter().flatten().map(|rate| rate.roi_per_s).max_by(f64::total_cmp);
        (self.say)("latency");
        measured.latency = self.latency(&mut checked)?;
        (self.say)("callers");
        measured.callers = self.callers(self.cores, &mut checked)?;
        if self.times_steps {
            (self.say)("timeline");
            measured.timeline = self.timeline()?;
        }
        measured.check = Some(checked);
        if let Some(rate) = rate.filter(|_| self.engine == EngineName::Gpu) {
            (self.say)("on the device");
            self.on_device(&mut measured, &load, rate)?;
        }
        if self.engine == EngineName::Cpu {
            (self.say)("one core");
            measured.one_core = self.against_reference(load.batch_rois)?;
        }
        for &rois in self.stream_rois {
            (self.say)(&format!("stream of {rois} RoIs"));
            measured.long_streams.push(self.long_stream(rois, load.batch_rois)?);
        }
        Ok(measured)
    }

    fn what(&self) -> String {
        let summary = config_summary(self.config);
        format!("{}, {}, {}; {summary}", self.sample.name(), word(self.case), self.finder.description())
    }

    /// Compares answers for the first RoIs of the sample.
    pub(super) fn check(&self, found: &Results, checked: &mut CheckReport) -> Result<(), Failure> {
        checked.include(&self.expected.check(&self.what(), found)?);
        Ok(())
    }

    pub(super) fn hardware(&self) -> bool {
        !self.adapters.is_empty() && self.adapters.iter().all(|adapter| adapter.hardware)
    }

    /// Returns as many RoIs as fit into a round. Warms the engine up and checks it.
    fn load(&self, checked: &mut CheckReport) -> Result<Load, Failure> {
        let few = self.sample.batch(0, self.expected.len());
        // The first search allocates buffers.
        self.check(&self.finder.find_batch(&few)?, checked)?;
        let mut seconds_per_roi = self.seconds_of(&few)? / few.len() as f64;
        let fit = |seconds_per_roi: f64| (self.seconds / seconds_per_roi.max(1e-12)) as usize;
        let most = self.sample.batch_rois();
        // Hardware should be fully occupied, but batches in flight must not take too long.
        let batches = if self.hardware() { self.in_flight.div_ceil(LONGEST) } else { LEAST_BATCHES };
        let fitting = (fit(seconds_per_roi) / batches).clamp(1, most);
        let batch_rois = if self.sample.has_fixed_batch() { most } else { fitting };
        let first = self.sample.batch(0, batch_rois);
        self.finder.find_batch(&first)?;
        seconds_per_roi = self.seconds_of(&first)? / first.len() as f64;
        let wanted = (fit(seconds_per_roi) / batch_rois).max(1);
        let different = wanted.min(self.sample.len().div_ceil(batch_rois));
        let mut batches = vec![first];
        batches.extend((1..different).map(|i| self.sample.batch(i * batch_rois, batch_rois)));
        // If there is time for the whole sample, all its parts occur equally often.
        Ok(Load { batches, batch_rois, batches_a_round: wanted - wanted % different })
    }

    fn seconds_of(&self, batch: &RoiBatch) -> Result<f64, Failure> {
        let start = Instant::now();
        self.finder.find_batch(batch)?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Measures from a batch in host memory to vertices in host memory, one batch after another.
    fn end_to_end(&self, load: &Load, checked: &mut CheckReport) -> Result<Option<Rate>, Failure> {
        let answers: zfinder::Result<Vec<_>> = load.batches.iter().map(|batch| self.finder.find_batch(batch)).collect();
        let answers = answers?;
        self.check(&answers[0], checked)?;
        let mut last = answers.clone();
        let mut times = Vec::new();
        for _ in 0..self.rounds {
            let start = Instant::now();
            for i in 0..load.batches_a_round {
                let i = i % load.batches.len();
                last[i] = self.finder.find_batch(&load.batches[i])?;
            }
            times.push(start.elapsed().as_secs_f64() / load.rois() as f64);
        }
        self.same(&answers, &last)?;
        Ok(Rate::new(load.rois(), load.batch_rois, 1, times))
    }

    /// Checks that timed batches gave the same answers as before.
    pub(super) fn same(&self, before: &[Results], after: &[Results]) -> Result<(), Failure> {
        let count = |answers: &[Results]| answers.iter().map(Results::len).sum::<usize>();
        if count(before) != count(after) {
            let message = format!("{}: {} answers, and later {}", self.what(), count(before), count(after));
            return Err(Failure::wrong_answer(message).with_help(WRONG_ANSWER));
        }
        let differs = before.iter().flatten().zip(after.iter().flatten()).find(|(before, after)| before != after);
        match differs {
            Some((before, after)) if self.exact => {
                Err(Failure::wrong_answer(format!("{}: the same RoI gave {before:?} and later {after:?}", self.what()))
                    .with_help(WRONG_ANSWER))
            }
            _ => Ok(()),
        }
    }

    /// Measures single RoIs, one call after another, each with another RoI of the sample.
    fn latency(&self, checked: &mut CheckReport) -> Result<Option<Latency>, Failure> {
        let call = |roi: &RoiBatch| -> Result<(f64, Results), Failure> {
            let start = Instant::now();
            let results = self.finder.find_batch(roi)?;
            Ok((start.elapsed().as_secs_f64(), results))
        };
        let first = self.sample.batch(0, 1);
        let mut warm = call(&first)?.0;
        for _ in 0..if self.hardware() { WARM_UP_CALLS } else { 1 } {
            warm = call(&first)?.0;
        }
        let least = if self.hardware() { HARDWARE_CALLS } else { LEAST_CALLS };
        let calls = ((2.0 * self.seconds / warm.max(1e-12)) as usize).clamp(least, MOST_CALLS);
        let rois: Vec<RoiBatch> = (0..calls.min(self.sample.len())).map(|i| self.sample.batch(i, 1)).collect();
        let mut seconds = Vec::with_capacity(calls);
        let mut results = Results::new();
        for i in 0..calls {
            let (time, result) = call(&rois[i % rois.len()])?;
            seconds.push(time);
            if i < rois.len() {
                results.extend(&result);
            }
        }
        self.check(&results, checked)?;
        seconds.sort_by(f64::total_cmp);
        let us = |share| percentile(&seconds, share).map(|seconds| 1e6 * seconds);
        Ok(us(0.5).zip(us(0.99)).map(|(p50_us, p99_us)| Latency { calls, p50_us, p99_us }))
    }

    /// Measures kernels with resident data, and the bytes that are uploaded.
    fn on_device(&self, measured: &mut CaseReport, load: &Load, rate: f64) -> Result<(), Failure> {
        // A GPU gets enough data to be occupied, a software adapter as much as time allows.
        let fit = (self.seconds * rate / RESIDENT_SEARCHES) as usize;
        let full = RESIDENT_SPACEPOINTS * self.sample.len() / self.sample.spacepoints();
        let rois = if self.hardware() { full.max(load.batch_rois) } else { fit.clamp(1, load.batch_rois) };
        let batch = self.sample.batch(0, rois);
        let Some(times) = internals::time_on_device(self.finder, &batch, self.rounds)? else { return Ok(()) };
        measured.resident = Rate::new(times.rois, times.rois, 1, times.resident);
        let alone = internals::time_on_device(self.finder, &self.sample.batch(0, 1), 1)?.unwrap_or_default();
        let kernel = |(name, seconds): (String, f64)| {
            let alone = alone.stages.iter().find(|(other, _)| *other == name);
            KernelTime { alone_us: alone.map(|(_, seconds)| 1e6 * seconds), name, us_per_roi: 1e6 * seconds }
        };
        measured.kernels = times.stages.into_iter().map(kernel).collect();
        let bytes_per_roi = times.bytes as f64 / times.rois.max(1) as f64;
        let gb_per_s = bytes_per_roi * rate / 1e9;
        let packing_us_per_roi = internals::time_packing(self.finder, &load.batches[0])?.map(|seconds| 1e6 * seconds);
        measured.transfer = Some(Transfer { bytes_per_roi, gb_per_s, packing_us_per_roi });
        Ok(())
    }

    /// Measures the CPU engine on one thread and the reference engine alternately, so that changes
    /// of the machine's speed affect both.
    fn against_reference(&self, most: usize) -> Result<Option<OneCore>, Failure> {
        let builder = self.builder.clone().threads(NonZeroUsize::MIN);
        let (finder, reference) = (builder.clone().build()?, builder.engine(Engine::Reference).build()?);
        let Some(one_core) = self.one_core(&finder, most)? else { return Ok(None) };
        let slow = self.one_core(&reference, one_core.rois)?;
        let Some(rois) = slow.map(|slow| slow.rois) else { return Ok(None) };
        let batch = self.sample.batch(0, rois);
        // Each repeats often enough to fill a round.
        let repeat = ((self.seconds * 1e6 / (rois as f64 * one_core.us_per_roi)) as usize).max(1);
        let mut results = Results::new();
        let mut time = |finder: &ZFinder, repeat: usize| -> Result<f64, Failure> {
            let start = Instant::now();
            for _ in 0..repeat {
                finder.find_batch_into(&batch, &mut results)?;
            }
            Ok(start.elapsed().as_secs_f64() / repeat as f64)
        };
        let ratios: Result<Vec<f64>, Failure> =
            (0..self.rounds).map(|_| Ok(time(&reference, 1)? / time(&finder, repeat)?.max(1e-12))).collect();
        let mut ratios = ratios?;
        ratios.sort_by(f64::total_cmp);
        Ok(Some(OneCore { times_faster_than_reference: median(&ratios), ..one_core }))
    }

    /// Measures a few RoIs on one core.
    fn one_core(&self, finder: &ZFinder, most: usize) -> Result<Option<OneCore>, Failure> {
        let mut results = Results::new();
        let mut time = |rois: usize| -> Result<f64, Failure> {
            let batch = self.sample.batch(0, rois);
            let start = Instant::now();
            finder.find_batch_into(&batch, &mut results)?;
            Ok(start.elapsed().as_secs_f64() / rois as f64)
        };
        // The first search allocates buffers.
        time(1)?;
        let rois = ((self.seconds / time(1)?.max(1e-12)) as usize).clamp(1, most.max(1));
        let mut seconds: Vec<f64> = (0..self.rounds.min(3)).map(|_| time(rois)).collect::<Result<_, _>>()?;
        seconds.sort_by(f64::total_cmp);
        let core = |seconds| OneCore { rois, us_per_roi: 1e6 * seconds, times_faster_than_reference: None };
        Ok(median(&seconds).map(core))
    }
}

impl CheckReport {
    /// Adds the results of another check. RoIs that both compared count once.
    fn include(&mut self, other: &CheckReport) {
        self.rois = self.rois.max(other.rois);
        self.ties = self.ties.max(other.ties);
        self.shifted = self.shifted.max(other.shifted);
        self.max_weight_difference = self.max_weight_difference.max(other.max_weight_difference);
        self.max_z_difference_mm = self.max_z_difference_mm.max(other.max_z_difference_mm);
    }
}
