//! `zfinder verify`: checks that this machine gives the published answers, bit by bit.

mod rois;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use command_host::{Failure, note};
use kernel_host::{Gpu, GpuOptions, wgpu};
use serde::Serialize;
use zfinder::gpu::{AdapterChoice, AdapterKind};
use zfinder::{Detector, Encoding, Engine, RoiBatch, ZFinder};
use zfinder_io::AnswerDigest;

use crate::bench::{CaseName, or_all, word};

/// Searches a built-in set of RoIs on the CPU and on each GPU, and compares the answers with the
/// published ones to the last bit
///
/// The set is the same on every machine: windows of few spacepoints in one batch and alone, full
/// circles, empty RoIs and an invalid one. It runs in every case of `zfinder bench` and both
/// encodings, so that every kernel runs. Digests of the answers are compared, as of `zfinder find
/// --digest`.
#[derive(Args)]
#[command(after_help = "Exit code 4 if an answer is wrong.")]
pub(super) struct Verify {
    /// GPU to verify in addition to the CPU engine, by index, part of its name, or PCI id; may be
    /// repeated [default: every hardware GPU]
    #[arg(long, value_name = "INDEX|NAME|PCI|all")]
    adapter: Vec<AdapterChoice>,
    /// Case to verify, as of `zfinder bench`; may be repeated [default: all]
    #[arg(long, value_enum, value_name = "CASE", value_delimiter = ',')]
    case: Vec<CaseName>,
    /// Then continue for an hour with new RoIs, which are compared with the CPU engine's answers
    #[arg(long)]
    long: bool,
    /// One JSON document on standard output instead of a table
    #[arg(long)]
    json: bool,
}

/// Published digests of the answers to seed 0 in f32: case, encoding, digest.
const PUBLISHED: &str = include_str!("published.csv");

const LONG: Duration = Duration::from_secs(3600);

/// A case and an encoding, with the answers of each engine.
#[derive(Serialize)]
struct VerifiedCase {
    case: CaseName,
    encoding: Encoding,
    published: Option<&'static str>,
    engines: Vec<EngineAnswers>,
}

/// The answers of an engine.
#[derive(Serialize)]
struct EngineAnswers {
    engine: String,
    digest: String,
    rois: u64,
    is_right: bool,
}

/// An engine in a case and an encoding.
struct Finder {
    name: String,
    finder: ZFinder,
}

impl Verify {
    pub(super) fn run(self) -> Result<(), Failure> {
        let gpus = self.gpus()?;
        let detector = Detector::atlas2010();
        let batches = rois::batches(0, &detector);
        let (mut all, mut kept) = (Vec::new(), Vec::new());
        for case in or_all(&self.case) {
            for encoding in [Encoding::Lossless, Encoding::Compact] {
                let finders = finders(case, encoding, &gpus)?;
                let published = published(case, encoding);
                let engines =
                    finders.iter().map(|finder| finder.verify(&batches, published)).collect::<Result<_, _>>()?;
                all.push(VerifiedCase { case, encoding, published, engines });
                kept.push(finders);
            }
        }
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer_pretty(&mut out, &all).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            writeln!(out, "{}", table(&all).trim_fmt())?;
        }
        let wrong: Vec<String> = all.iter().flat_map(VerifiedCase::mismatches).collect();
        if !wrong.is_empty() {
            return Err(Failure::wrong_answer(format!("other answers than the published ones: {}", wrong.join("; "))));
        }
        if self.long { go_on(&kept, &detector) } else { Ok(()) }
    }

    /// Opens the GPUs of each adapter option once, because a driver has few devices for a process.
    fn gpus(&self) -> Result<Vec<Engine>, Failure> {
        let choices = if self.adapter.is_empty() {
            let all = zfinder::gpu::adapters().map_err(zfinder::Error::from)?;
            let hardware = all.iter().filter(|adapter| adapter.kind != AdapterKind::Software);
            hardware.map(|adapter| AdapterChoice::Index(adapter.index)).collect()
        } else {
            self.adapter.clone()
        };
        let open = |adapter| {
            // The features with which a finder opens a GPU.
            let optional_features = wgpu::Features::MAPPABLE_PRIMARY_BUFFERS;
            let options = GpuOptions { adapter, optional_features, ..GpuOptions::default() };
            let gpus = Gpu::open_all(&options).map_err(zfinder::Error::from)?;
            Ok(Engine::Gpus(gpus.into_iter().map(AdapterChoice::Open).collect()))
        };
        choices.into_iter().map(open).collect()
    }
}

impl VerifiedCase {
    /// Returns the engines with wrong answers, as text.
    fn mismatches(&self) -> impl Iterator<Item = String> {
        let wrong = self.engines.iter().filter(|engine| !engine.is_right);
        wrong.map(|engine| format!("{} in {}, {}", engine.engine, word(self.case), self.encoding))
    }
}

/// Returns the finders of the CPU engine and of each adapter.
fn finders(case: CaseName, encoding: Encoding, gpus: &[Engine]) -> Result<Vec<Finder>, Failure> {
    let engines = [Engine::Cpu].into_iter().chain(gpus.iter().cloned());
    let finder = |engine| {
        let builder = ZFinder::builder(Detector::atlas2010()).engine(engine).config(case.config()).encoding(encoding);
        let finder = builder.build()?;
        Ok(Finder { name: finder.description(), finder })
    };
    engines.map(finder).collect()
}

fn published(case: CaseName, encoding: Encoding) -> Option<&'static str> {
    let key = format!("{},{},", word(case), encoding);
    PUBLISHED.lines().find_map(|line| line.strip_prefix(&key))
}

impl Finder {
    fn digest(&self, batches: &[RoiBatch]) -> Result<AnswerDigest, Failure> {
        let mut digest = AnswerDigest::default();
        for batch in batches {
            self.finder.find_batch(batch)?.iter().for_each(|result| digest.add(result));
        }
        Ok(digest)
    }

    fn verify(&self, batches: &[RoiBatch], published: Option<&str>) -> Result<EngineAnswers, Failure> {
        let digest = self.digest(batches)?;
        let (engine, rois, digest) = (self.name.clone(), digest.rois(), digest.to_string());
        Ok(EngineAnswers { is_right: published == Some(digest.as_str()), engine, digest, rois })
    }
}

/// Returns a table with a row for each case and encoding, and a column for each engine.
fn table(all: &[VerifiedCase]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let engines = all.first().map_or(&[][..], |verified| &verified.engines);
    let header = ["case", "encoding", "digest"].map(str::to_owned).into_iter();
    table.set_header(header.chain(engines.iter().map(|engine| engine.engine.clone())));
    for verified in all {
        let digest = verified.published.unwrap_or("none published");
        let short = digest.get(..digest.len().min(19)).unwrap_or(digest).to_owned();
        let answers = verified.engines.iter().map(|engine| match engine.is_right {
            true => "equal".to_owned(),
            false => format!("WRONG: {}", engine.digest),
        });
        table.add_row([word(verified.case), verified.encoding.to_string(), short].into_iter().chain(answers));
    }
    table
}

/// Compares engines with one another in RoIs of one seed after another.
fn go_on(kept: &[Vec<Finder>], detector: &Detector) -> Result<(), Failure> {
    let start = Instant::now();
    let mut rois = 0;
    for seed in 1_u64.. {
        let batches = rois::batches(seed, detector);
        for finders in kept {
            let mut digests = Vec::new();
            for finder in finders {
                digests.push(finder.digest(&batches)?);
            }
            rois += digests.iter().map(AnswerDigest::rois).sum::<u64>();
            if let Some(at) = digests.iter().position(|digest| *digest != digests[0]) {
                let text = format!("{} and {} differ in seed {seed}", finders[0].name, finders[at].name);
                return Err(Failure::wrong_answer(text));
            }
        }
        if start.elapsed() >= LONG {
            break;
        }
    }
    note(&format!("{rois} answers more are equal"));
    Ok(())
}
