//! `lumi bench`.

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use command_host::{Failure, MessageOptions, bench_heading, median, rate, table, timed, write_json};
use kernel_host::{bus_bandwidth, read_bandwidth};
use lumi::{Engine, EventBatch, EventCounters, LumiCounter, Scheme, is_worth_a_gpu};
use serde::Serialize;

use super::engine::EngineOptions;
use super::simulate::fraction;

/// Times each kernel in each scheme, with the events on the device, and checks the answers
///
/// `float` is the old scheme (a thread an event, 2 workgroups for the calorimeter and 4 for the
/// others), `fixed` and `exact` are the new ones. Times are medians on the device's clock. The
/// fraction compares the bytes of lumi events with the bandwidth of a kernel that only reads. A
/// sample is printed when it is measured.
#[derive(Args)]
pub(super) struct Bench {
    /// Numbers of events
    #[arg(long, value_delimiter = ',', default_value = "1000,10000", value_name = "N,N,...")]
    events: Vec<usize>,
    /// Fractions of lumi events
    #[arg(long, value_delimiter = ',', default_value = "0.1,1", value_name = "F,F,...", value_parser = fraction)]
    lumi_fraction: Vec<f64>,
    /// Rounds of each
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Seed of the simulation
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineOptions,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    debug_build: bool,
    engine: String,
    /// The bandwidth of a kernel that only reads.
    read_gb_per_s: Option<f64>,
    /// The bandwidth of the bus to the device.
    bus_gb_per_s: Option<f64>,
    samples: Vec<Sample>,
}

#[derive(Serialize)]
struct Sample {
    events: usize,
    lumi_events: usize,
    /// The engine that `--engine auto` takes where there is a GPU.
    auto: &'static str,
    schemes: Vec<Timed>,
    /// Of one call on the CPU in the exact scheme, from host memory to counters.
    cpu_events_per_s: f64,
}

#[derive(Serialize)]
struct Timed {
    scheme: &'static str,
    /// From host memory to counters.
    events_per_s: f64,
    /// Bytes of lumi events that are sent to a GPU, per second: the events' columns, without
    /// headers and offsets.
    sent_gb_per_s: f64,
    kernels: Vec<KernelReport>,
}

#[derive(Serialize)]
struct KernelReport {
    kernel: &'static str,
    median_us: f64,
    fastest_us: f64,
    slowest_us: f64,
    gb_per_s: f64,
}

const SCHEMES: [(Scheme, &str); 3] = [(Scheme::Float, "float"), (Scheme::Fixed, "fixed"), (Scheme::Exact, "exact")];

impl Bench {
    pub(super) fn run(&self, messages: MessageOptions) -> Result<(), Failure> {
        let engine = self.engine.timed()?;
        let build = |scheme| LumiCounter::builder().engine(engine.clone()).scheme(scheme).build();
        let counters: Vec<LumiCounter> = SCHEMES.iter().map(|&(scheme, _)| build(scheme)).collect::<Result<_, _>>()?;
        let first = &counters[0];
        let read = match first.gpu() {
            // Larger than the caches, except on slow software adapters.
            Some(gpu) => {
                let wanted = if gpu.summary().kind == kernel_host::AdapterKind::Software { 1 << 26 } else { 1 << 30 };
                let bytes = wanted.min(gpu.limits().max_storage_buffer_binding_size);
                read_bandwidth(gpu, bytes).map_err(lumi::Error::from)?
            }
            None => None,
        };
        let bus = first.gpu().map(bus_bandwidth).transpose().map_err(lumi::Error::from)?;
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            debug_build: cfg!(debug_assertions),
            engine: first.description(),
            read_gb_per_s: read.map(|read| read / 1e9),
            bus_gb_per_s: bus.map(|bus| bus.to_device / 1e9),
            samples: Vec::new(),
        };
        if !self.json {
            print_heading(&mut io::stdout().lock(), &report)?;
        }
        for &events in &self.events {
            for &lumi_fraction in &self.lumi_fraction {
                let simulation =
                    lumi::Simulation { events, lumi_fraction, seed: self.seed, ..lumi::Simulation::default() };
                let batch = simulation.simulate(first.calorimeter())?;
                messages.detail(format_args!("simulated {events} events, {lumi_fraction} of them lumi events"));
                let sample = self.sample(&counters, &batch)?;
                if !self.json {
                    print(&mut io::stdout().lock(), &report, &sample)?;
                }
                report.samples.push(sample);
            }
        }
        if self.json {
            write_json(&mut io::stdout().lock(), &report)?;
        }
        Ok(())
    }

    fn sample(&self, counters: &[LumiCounter], batch: &EventBatch) -> Result<Sample, Failure> {
        let mut schemes = Vec::new();
        let mut cpu_rate = 0.0;
        let mut lumi_events = 0;
        for (counter, (scheme, name)) in counters.iter().zip(SCHEMES) {
            let cpu = LumiCounter::builder().engine(Engine::Cpu).scheme(scheme).build()?;
            let wanted = cpu.count(batch)?;
            let found = counter.count(batch)?;
            let right = if scheme == Scheme::Float { alike(counter, &found, &wanted) } else { found == wanted };
            if !right {
                let what = format!("{name}: {} does not count as the CPU does", counter.description());
                return Err(Failure::wrong_answer(what));
            }
            lumi_events = wanted.len();
            if scheme == Scheme::Exact {
                cpu_rate = self.rate(&cpu, batch)?;
            }
            let kernels = counter.time(batch, self.rounds as usize)?.unwrap_or_default();
            let kernel = |time: lumi::KernelTime| {
                let us = |round: Duration| 1e6 * round.as_secs_f64();
                let median_us = us(median(time.rounds.clone()));
                KernelReport {
                    kernel: time.kernel,
                    median_us,
                    fastest_us: time.rounds.iter().min().copied().map_or(f64::NAN, us),
                    slowest_us: time.rounds.iter().max().copied().map_or(f64::NAN, us),
                    gb_per_s: time.bytes as f64 / median_us / 1e3,
                }
            };
            let events_per_s = self.rate(counter, batch)?;
            schemes.push(Timed {
                scheme: name,
                events_per_s,
                sent_gb_per_s: events_per_s / batch.len().max(1) as f64 * lumi_bytes(batch) / 1e9,
                kernels: kernels.into_iter().map(kernel).collect(),
            });
        }
        let auto = if is_worth_a_gpu(lumi_events) { "gpu" } else { "cpu" };
        Ok(Sample { events: batch.len(), lumi_events, auto, schemes, cpu_events_per_s: cpu_rate })
    }

    /// Returns the rate of the median call, from host memory to counters.
    fn rate(&self, counter: &LumiCounter, batch: &EventBatch) -> Result<f64, Failure> {
        let calls = timed(self.rounds.clamp(1, 5) as usize, || counter.count(batch))?;
        Ok(rate(batch.len(), median(calls)))
    }
}

/// Returns the bytes of the columns of lumi events.
fn lumi_bytes(batch: &EventBatch) -> f64 {
    let lumi = batch.iter().filter(|event| event.header.is_lumi());
    let bytes = lumi.map(|event| {
        size_of_val(event.adc)
            + size_of_val(event.scifi_hits)
            + size_of_val(event.velo_clusters)
            + size_of_val(event.velo_tracks)
            + size_of_val(event.vertices)
    });
    bytes.sum::<usize>() as f64
}

/// Returns whether float sums agree within their rounding, tracks within two beside a bound, and
/// all else exactly.
fn alike(counter: &LumiCounter, found: &[EventCounters], wanted: &[EventCounters]) -> bool {
    let mev = |counters: &EventCounters| counters.calo.mev(counter.calorimeter());
    let same = |(a, b): (&EventCounters, &EventCounters)| {
        let counts = |c: &EventCounters| (c.event, c.scifi, c.velo_clusters, c.vertices, c.skipped);
        let tracks = |c: &EventCounters| c.velo_tracks.unwrap_or_default();
        counts(a) == counts(b)
            && mev(a).iter().zip(mev(b)).all(|(a, b)| (a - b).abs() <= 1e-3 * (1.0 + b.abs()))
            && tracks(a).iter().zip(tracks(b)).all(|(a, b)| a.abs_diff(b) <= 2)
    };
    found.len() == wanted.len() && found.iter().zip(wanted).all(same)
}

fn print_heading(out: &mut impl Write, report: &Report) -> io::Result<()> {
    bench_heading(out, &report.engine)?;
    if let (Some(read), Some(bus)) = (report.read_gb_per_s, report.bus_gb_per_s) {
        writeln!(out, "reading alone: {read:.0} GB/s; the bus to the device: {bus:.1} GB/s")?;
    }
    Ok(())
}

fn print(out: &mut impl Write, report: &Report, sample: &Sample) -> io::Result<()> {
    writeln!(out, "\n{} events, {} of them lumi events", sample.events, sample.lumi_events)?;
    let header = [
        "kernel",
        "float [us]",
        "fixed [us]",
        "exact [us]",
        "float/fixed",
        "float/exact",
        "exact [GB/s]",
        "of reading",
    ];
    let mut table = table(header, 1);
    let [float, fixed, exact] = &sample.schemes[..] else { return Ok(()) };
    for ((old, new), newest) in float.kernels.iter().zip(&fixed.kernels).zip(&exact.kernels) {
        table.add_row([
            old.kernel.to_owned(),
            format!("{:.1}", old.median_us),
            format!("{:.1}", new.median_us),
            format!("{:.1}", newest.median_us),
            format!("{:.2}", old.median_us / new.median_us),
            format!("{:.2}", old.median_us / newest.median_us),
            format!("{:.0}", newest.gb_per_s),
            report.read_gb_per_s.map_or_else(String::new, |read| format!("{:.0} %", 100.0 * newest.gb_per_s / read)),
        ]);
    }
    // The CPU has no such clock.
    if !exact.kernels.is_empty() {
        writeln!(out, "{table}")?;
    }
    let rates: Vec<String> =
        sample.schemes.iter().map(|timed| format!("{} {:.0}", timed.scheme, timed.events_per_s)).collect();
    let Sample { auto, cpu_events_per_s, .. } = sample;
    let rates = rates.join(", ");
    writeln!(out, "events/s from host memory: {rates}; CPU, exact {cpu_events_per_s:.0}; auto takes the {auto}")?;
    if let Some(bus) = report.bus_gb_per_s {
        let sent = exact.sent_gb_per_s;
        writeln!(out, "exact sends {sent:.1} GB/s, {:.0} % of the bus", 100.0 * sent / bus)?;
    }
    out.flush()
}
