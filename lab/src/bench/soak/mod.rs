//! `zfinder-lab bench --soak`: searches random batches for a given time, checks every answer, and
//! watches the resources of the process.

mod cases;
mod random;
mod table;
mod usage;

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::ops::RangeFrom;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;
use zfinder::config::PairWeight;
use zfinder::gpu::AdapterChoice;
use zfinder::thesis::Accumulate;
use zfinder::{
    Detector, Encoding, Engine, Precision, Results, Roi, RoiResult, RoiView, Status, StreamOptions, ZFinder,
    ZFinderBuilder,
};
use zfinder_cli::bench::check::{Agreement, COMPACT_TRIPLETS, PEAKS, answer, compare, is_a_pair_beside, is_as_high};
use zfinder_cli::bench::report::Adapter;
use zfinder_cli::bench::words::{CaseName, EngineName, or_all, word};
use zfinder_cli::bench::written;
use zfinder_cli::failure::WRONG_ANSWER;
use zfinder_study::inspect::Inspect;

use super::LabBench;
use cases::{SoakCase, extremes, random};
use command_host::{Code, Failure};
use random::{Kind, RandomBatch, RandomBatches};
use usage::{QUARTERS, Quarters, Watch};

/// The report of a soak, as `--json` writes it.
#[derive(Debug, Serialize)]
struct SoakReport {
    version: &'static str,
    debug_build: bool,
    seed: u64,
    cases: Vec<String>,
    encoding: Encoding,
    precision: String,
    accumulate: String,
    adapters: Vec<Adapter>,
    soaked: Vec<SoakResult>,
}

/// An engine with the options of its soak.
struct Soak<'a> {
    duration: Duration,
    seed: u64,
    /// Without a case, every few batches have a random configuration.
    cases: &'a [SoakCase],
    encoding: Encoding,
    /// Whether the same RoIs must give the same bits.
    exact: bool,
    engine: EngineName,
    /// Builder with engine, number type and sums.
    builder: ZFinderBuilder,
    say: &'a (dyn Fn(&str) + Sync),
}

/// Results of the soak of one engine.
#[derive(Debug, Default, Serialize)]
struct SoakResult {
    engine: String,
    /// Indices of GPUs.
    adapters: Vec<usize>,
    seconds: f64,
    batches: u64,
    rois: u64,
    spacepoints: u64,
    vertices: u64,
    /// RoIs by their status.
    statuses: Vec<(String, u64)>,
    /// RoIs by case.
    cases: Vec<(String, u64)>,
    /// Random configurations.
    configurations: u64,
    /// RoIs with the same bits as the CPU engine, which computes them one by one on one thread.
    identical: u64,
    /// RoIs reported as `capacity_exceeded` by a GPU and answered by the CPU engine.
    told: u64,
    /// RoIs with other bits whose answer agrees with the reference engine within rounding.
    rounded: u64,
    /// The first of these RoIs.
    other_bits: Vec<OtherBits>,
    /// RoIs that were compared with the reference engine.
    against_reference: u64,
    /// Of these, another of several equal peaks, and a window shifted by one or two bins.
    ties: u64,
    shifted: u64,
    held: Quarters,
}

/// An RoI with a correct answer whose bits differ from the CPU engine's, with everything needed to
/// repeat it.
#[derive(Debug, PartialEq, Serialize)]
struct OtherBits {
    case: String,
    batch: u64,
    roi: u64,
    kind: Kind,
    spacepoints: usize,
    /// Vertices with all digits.
    found: String,
    cpu: String,
}

/// A case on an engine, with the engines that check it.
struct SoakedCase {
    case: SoakCase,
    finder: ZFinder,
    /// The CPU engine on one thread.
    twin: ZFinder,
    /// The reference engine, configured for more peaks so that ties are known.
    reference: ZFinder,
    /// The CPU engine in f64: the same stages without f32 rounding.
    unrounded: ZFinder,
}

/// Of the GPU answers that equal the CPU engine's, one in this many is also compared with the
/// reference engine. All answers of the CPU engine are compared, except where the reference engine
/// takes about ten milliseconds for each.
const REFERENCE_SHARE: u64 = 32;
/// A run of this length shows whether memory grows.
const LONG: Duration = Duration::from_secs(119);
const MOST_IN_FLIGHT: usize = 4;
const FIRST_BATCHES: u64 = 4;
/// Most RoIs with other bits in the report: sums by compare and retry differ in most RoIs.
const MOST_OTHER_BITS: usize = 32;
/// Most spacepoints of an RoI for the reference engine, which is serial, unless answers differ.
const REFERENCE_SPACEPOINTS: usize = 1500;

impl LabBench {
    /// Soaks every engine for this duration.
    pub(super) fn soak_for(&self, duration: Duration) -> Result<(), Failure> {
        if self.bench.engine.contains(&EngineName::Reference) {
            return Err(Failure::usage(
                "--soak checks engines against the reference engine, which cannot be checked so",
                "leave it out of --engine",
            ));
        }
        let mut report = self.bench.report()?;
        let bar = self.bench.bar();
        let gpus = self.bench.gpus(&mut report.not_measured)?;
        let encoding = self.bench.encoding.unwrap_or(Encoding::Lossless);
        let named = or_all(&self.bench.case).into_iter();
        let mut cases: Vec<SoakCase> = named
            .filter(|&case| case != CaseName::AllOptions || !self.bench.case.is_empty())
            .map(SoakCase::from)
            .collect();
        if self.extremes {
            cases.extend(extremes());
        }
        if self.random_configurations {
            cases.clear();
        }
        let mut soak = SoakReport {
            version: report.version,
            debug_build: report.debug_build,
            seed: self.bench.seed,
            cases: cases.iter().map(|case| case.name.clone()).collect(),
            encoding,
            precision: report.settings.precision.clone(),
            accumulate: report.settings.accumulate.clone(),
            adapters: gpus.iter().flatten().cloned().collect(),
            soaked: Vec::new(),
        };
        let mut ended = Ok(());
        for (engine, adapters) in
            self.bench.engines(&gpus).into_iter().filter(|(engine, _)| *engine != EngineName::Reference)
        {
            let indices: Vec<usize> = adapters.iter().map(|adapter| adapter.index).collect();
            let choices = indices.iter().map(|&index| AdapterChoice::Index(index)).collect();
            let builder = ZFinder::builder(Detector::atlas2010())
                .engine(if engine == EngineName::Gpu { Engine::Gpus(choices) } else { Engine::Cpu })
                .encoding(encoding)
                .precision(self.bench.precision);
            let builder = self.bench.design.apply(builder, self.bench.accumulate);
            let one = Soak {
                duration,
                seed: self.bench.seed,
                cases: &cases,
                encoding,
                exact: self.bench.accumulate() == Accumulate::Fixed,
                engine,
                builder: self.bench.threads.map_or(builder.clone(), |threads| builder.threads(threads)),
                say: &|step| bar.set_message(format!("{}: {step}", word(engine))),
            };
            let mut soaked = SoakResult { adapters: indices, ..SoakResult::default() };
            ended = one.run(&mut soaked);
            // Results before a failure are reported too.
            if !self.bench.json && soaked.batches > 0 {
                bar.suspend(|| written(&table::format(&soaked)))?;
            }
            soak.soaked.push(soaked);
            if ended.is_err() {
                break;
            }
        }
        bar.finish_and_clear();
        if self.bench.json && soak.soaked.iter().any(|soaked| soaked.batches > 0) {
            let json = serde_json::to_string_pretty(&soak).map_err(io::Error::from);
            written(&(json.map_err(|source| Failure::output("standard output", &source))? + "\n"))?;
        }
        // The large histograms of extreme options are spread over the allocator's arenas, which
        // looks like growth. Random configurations have no quarters.
        if self.extremes || self.random_configurations {
            return ended;
        }
        ended.and_then(|()| soak.soaked.iter().try_for_each(SoakResult::verdict))
    }
}

impl Soak<'_> {
    fn run(&self, soaked: &mut SoakResult) -> Result<(), Failure> {
        soaked.cases = self.cases.iter().map(|case| (case.name.clone(), 0)).collect();
        let mut watch = Watch::default();
        let start = Instant::now();
        let ended = if self.cases.is_empty() { self.configurations(soaked) } else { self.quarters(soaked, &mut watch) };
        soaked.seconds = start.elapsed().as_secs_f64();
        soaked.held = watch.quarters();
        ended
    }

    /// Searches a few batches with each of many random configurations.
    fn configurations(&self, soaked: &mut SoakResult) -> Result<(), Failure> {
        let batches = RandomBatches::new(self.seed);
        let mut numbers = 0..;
        let begun = Instant::now();
        while begun.elapsed() < self.duration {
            let subject = self.subject(random(self.seed, soaked.configurations))?;
            soaked.engine = subject.finder.description();
            self.spell(&subject, &batches, &mut numbers, soaked)?;
            soaked.configurations += 1;
        }
        Ok(())
    }

    fn quarters(&self, soaked: &mut SoakResult, watch: &mut Watch) -> Result<(), Failure> {
        let random = RandomBatches::new(self.seed);
        let mut spent = vec![Duration::ZERO; self.cases.len()];
        let mut numbers = 0..;
        let mut subjects: Vec<SoakedCase> = Vec::new();
        for quarter in 0..QUARTERS {
            // The memory of a finder grows to the largest batch so far. New finders start with the
            // same batches in each quarter, so that additional memory in a later quarter is a leak.
            if subjects.is_empty() || self.duration > LONG {
                subjects.clear();
                subjects = self.cases.iter().map(|case| self.subject(case.clone())).collect::<Result<_, _>>()?;
            }
            soaked.engine = subjects.first().map(|subject| subject.finder.description()).unwrap_or_default();
            for subject in &subjects {
                self.first_batches(subject, &random)?;
            }
            watch.look(quarter, gpu_bytes(&subjects));
            let begun = Instant::now();
            let mut said = begun;
            while begun.elapsed() < self.duration / QUARTERS as u32 {
                // Each case gets the same time. The number of batches depends on the machine, their
                // content does not.
                let case = (0..subjects.len()).min_by_key(|&case| spent[case]).unwrap_or(0);
                let begun = Instant::now();
                let before = soaked.rois;
                let ended = self.spell(&subjects[case], &random, &mut numbers, soaked);
                spent[case] += begun.elapsed();
                soaked.cases[case].1 += soaked.rois - before;
                ended?;
                if said.elapsed() > self.duration / 400 {
                    said = Instant::now();
                    (self.say)(&format!("{} RoIs", soaked.rois));
                }
            }
        }
        Ok(())
    }

    fn subject(&self, case: SoakCase) -> Result<SoakedCase, Failure> {
        (self.say)(&format!("building {}", case.name));
        let config = case.config.clone();
        let builder = self.builder.clone().config(config.clone());
        let peaks = config.peaks.max(PEAKS);
        let reference = builder.clone().config(config.with(|c| c.peaks = peaks)).engine(Engine::Reference).build()?;
        Ok(SoakedCase {
            case,
            finder: builder.clone().build()?,
            twin: builder.clone().engine(Engine::Cpu).threads(NonZeroUsize::MIN).build()?,
            unrounded: builder.engine(Engine::Cpu).threads(NonZeroUsize::MIN).precision(Precision::F64).build()?,
            reference,
        })
    }

    /// Searches the batches that begin each quarter. They are checked but not counted, because they
    /// repeat.
    fn first_batches(&self, subject: &SoakedCase, random: &RandomBatches) -> Result<(), Failure> {
        (0..FIRST_BATCHES).try_for_each(|back| {
            let question = random.batch(u64::MAX - back);
            let results = subject.finder.find_batch(&question.batch)?;
            self.check(subject, &question, &results, &mut SoakResult::default())
        })
    }

    /// Searches a few batches by one of the calls of the library.
    fn spell(
        &self,
        subject: &SoakedCase,
        random: &RandomBatches,
        numbers: &mut RangeFrom<u64>,
        soaked: &mut SoakResult,
    ) -> Result<(), Failure> {
        let finder = &subject.finder;
        let mut next = || random.batch(numbers.next().unwrap_or_default());
        let first = next();
        // The order of the calls does not matter.
        match first.number % 8 {
            0..4 => {
                let in_flight = 1 + first.number as usize / 8 % MOST_IN_FLIGHT;
                let gives_up = first.number.is_multiple_of(11);
                let mut stream = finder.stream(StreamOptions { in_flight })?;
                let mut asked = VecDeque::new();
                for question in std::iter::once(first).chain((0..4 + 2 * in_flight).map(|_| next())) {
                    let RandomBatch { number, batch, kinds } = question;
                    asked.push_back((number, kinds));
                    if let Some(answered) = stream.push(batch)? {
                        let Some((number, kinds)) = asked.pop_front() else { break };
                        let question = RandomBatch { number, batch: answered.batch, kinds };
                        self.check(subject, &question, &answered.results, soaked)?;
                    }
                }
                // Some batches in flight are cancelled.
                while let Some((number, kinds)) = asked.pop_front().filter(|_| !gives_up) {
                    let Some(answered) = stream.next().transpose()? else { break };
                    let question = RandomBatch { number, batch: answered.batch, kinds };
                    self.check(subject, &question, &answered.results, soaked)?;
                }
            }
            4..6 => {
                let results = finder.find_batch(&first.batch)?;
                self.check(subject, &first, &results, soaked)?;
            }
            6 => {
                let results = pollster::block_on(finder.find_batch_async(&first.batch))?;
                self.check(subject, &first, &results, soaked)?;
            }
            _ => {
                let results = first.batch.iter().map(|view| finder.find(&roi_of(view)));
                let results: Vec<Results> = results.collect::<zfinder::Result<_>>()?;
                self.check(subject, &first, &results.iter().flatten().collect(), soaked)?;
            }
        }
        Ok(())
    }

    /// Checks every answer of a batch.
    fn check(
        &self,
        subject: &SoakedCase,
        question: &RandomBatch,
        results: &Results,
        soaked: &mut SoakResult,
    ) -> Result<(), Failure> {
        let wrong = |message: String| {
            Failure::wrong_answer(format!(
                "{}, {}, seed {}, batch {}: {message}",
                subject.finder.description(),
                subject.case.name,
                self.seed,
                question.number
            ))
            .with_help(WRONG_ANSWER)
        };
        if results.len() != question.batch.len() {
            return Err(wrong(format!("{} answers to {} RoIs", results.len(), question.batch.len())));
        }
        let checked: Vec<Result<Verdict, Failure>> = (0..results.len())
            .into_par_iter()
            .map(|i| self.verdict(subject, question.batch.roi(i), question.kinds[i], results.roi(i), &wrong))
            .collect();
        let checked = checked.into_iter().collect::<Result<Vec<Verdict>, Failure>>()?;
        for (verdict, result) in checked.into_iter().zip(results) {
            soaked.count(verdict, result);
        }
        soaked.batches += 1;
        soaked.rois += results.len() as u64;
        soaked.spacepoints += question.batch.count_spacepoints() as u64;
        Ok(())
    }

    fn verdict(
        &self,
        subject: &SoakedCase,
        view: RoiView<'_>,
        kind: Kind,
        found: RoiResult<'_>,
        wrong: &(dyn Fn(String) -> Failure + Sync),
    ) -> Result<Verdict, Failure> {
        let roi = roi_of(view);
        let (twin, reference) = (subject.twin.find(&roi)?, || subject.reference.find(&roi));
        let twin = twin.roi(0);
        let id = found.id();
        let place = || format!("RoI {} of {} spacepoints ({kind:?})", id.roi_id, roi.spacepoints.len());
        let counts = |r: RoiResult<'_>| (r.id(), r.status(), r.summary().spacepoints, r.summary().outside_window);
        // A reported lack of capacity is not a wrong answer.
        if self.engine == EngineName::Gpu
            && found.status() == Status::CapacityExceeded
            && found.status() != twin.status()
        {
            return Ok(Verdict { told: true, ..Verdict::default() });
        }
        let identical = found == twin;
        if counts(found) != counts(twin) || (!identical && self.exact && self.engine == EngineName::Cpu) {
            return Err(wrong(format!("{}: {found:?}; the CPU engine on one thread: {twin:?}", place())));
        }
        if subject.case.is_extreme {
            return match identical || !self.exact {
                true => Ok(Verdict { identical, ..Verdict::default() }),
                false => Err(wrong(format!("{}: {found:?}; the CPU engine on one thread: {twin:?}", place()))),
            };
        }
        let config = &subject.case.config;
        let dear = config.histogram_per_slice || self.engine == EngineName::Gpu;
        let wanted = !dear || id.roi_id.is_multiple_of(REFERENCE_SHARE);
        let wanted = wanted && kind != Kind::Hostile && roi.spacepoints.len() <= REFERENCE_SPACEPOINTS;
        if identical && !wanted {
            return Ok(Verdict { identical, ..Verdict::default() });
        }
        // In hostile RoIs, rounding may move many pairs at once: there the CPU engine and the GPU
        // check each other.
        let hostile = kind == Kind::Hostile && !identical;
        let mut expected = if hostile { [twin].into_iter().collect() } else { reference()? };
        let coarse = self.encoding == Encoding::Compact && config.pair_weight != PairWeight::One;
        let share = if coarse { COMPACT_TRIPLETS } else { 0.0 };
        let bin = config.z_bin_mm + config.z_bin_eta_coeff * roi.descriptor.eta.abs();
        let mut compared = compare(found, expected.roi(0), bin, share);
        if compared.is_none() && hostile {
            expected = reference()?;
            compared = compare(found, expected.roi(0), bin, share);
        }
        // With few spacepoints, more peaks than requested may be equal, or one pair may form a peak
        // with others.
        if compared.is_none() && is_as_high(found, &subject.reference.inspect(&roi)?.histograms) {
            compared = Some((Agreement::Tie, 0.0, 0.0));
        }
        // A pair at a cut counts as rounding only if the same stages in f64 agree with the
        // reference engine.
        if compared.is_none() && is_a_pair_beside(found, expected.roi(0), bin) {
            let same = compare(subject.unrounded.find(&roi)?.roi(0), expected.roi(0), bin, 0.0);
            compared = same.filter(|&(agreement, weight, _)| agreement == Agreement::Same && weight == 0.0);
        }
        match compared {
            Some((agreement, ..)) => {
                let other_bits = (!identical).then(|| OtherBits {
                    case: subject.case.name.clone(),
                    batch: id.event_id,
                    roi: id.roi_id,
                    kind,
                    spacepoints: roi.spacepoints.len(),
                    found: format!("{:?}", found.vertices()),
                    cpu: format!("{:?}", twin.vertices()),
                });
                Ok(Verdict { identical, other_bits, agreement: Some(agreement), ..Verdict::default() })
            }
            None => Err(wrong(format!(
                "{}: {}; the CPU engine on one thread: {}; the reference engine: {}",
                place(),
                answer(found, 2),
                answer(twin, 2),
                answer(expected.roi(0), 4)
            ))),
        }
    }
}

/// The way in which an answer was correct.
#[derive(Default)]
struct Verdict {
    identical: bool,
    other_bits: Option<OtherBits>,
    /// The device reported a lack of capacity.
    told: bool,
    /// Agreement with the reference engine, if it was compared.
    agreement: Option<Agreement>,
}

impl SoakResult {
    fn count(&mut self, verdict: Verdict, result: RoiResult<'_>) {
        self.vertices += result.vertices().len() as u64;
        let status = result.status().to_string();
        match self.statuses.iter_mut().find(|(name, _)| *name == status) {
            Some((_, count)) => *count += 1,
            None => self.statuses.push((status, 1)),
        }
        self.identical += u64::from(verdict.identical);
        self.told += u64::from(verdict.told);
        self.rounded += u64::from(verdict.other_bits.is_some());
        self.other_bits.extend(verdict.other_bits.filter(|_| self.other_bits.len() < MOST_OTHER_BITS));
        self.against_reference += u64::from(verdict.agreement.is_some());
        self.ties += u64::from(verdict.agreement == Some(Agreement::Tie));
        self.shifted += u64::from(verdict.agreement == Some(Agreement::Shifted));
    }

    /// Returns an error if a resource of the process grew. A short run is still allocating.
    fn verdict(&self) -> Result<(), Failure> {
        match self.held.grown().filter(|_| self.seconds > LONG.as_secs_f64()) {
            None => Ok(()),
            Some(what) => Err(Failure::new(
                Code::WrongAnswer,
                format!("{}: {what}, in the second and the last quarter of the run", self.engine),
            )),
        }
    }
}

fn gpu_bytes(subjects: &[SoakedCase]) -> u64 {
    subjects.iter().map(|subject| subject.finder.gpu_bytes()).sum()
}

fn roi_of(view: RoiView<'_>) -> Roi {
    Roi { descriptor: *view.descriptor, spacepoints: view.spacepoints().collect() }
}

#[cfg(test)]
mod tests;
