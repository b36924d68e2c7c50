//! Tables of `bench` with at most 120 columns.

use std::fmt::Write as _;

use comfy_table::Table;

use super::super::engine::DesignName;
use super::report::{CaseReport, CheckReport, Report, SampleReport};
use super::words::{EngineName, word};
use command_host::table as plain;

const NONE: &str = "-";

/// Returns the tables of a sample.
pub(super) fn of_sample(sample: &SampleReport, report: &Report) -> String {
    let mut text = String::new();
    let mean = sample.spacepoints as f64 / sample.rois as f64;
    let source = match sample.seed {
        Some(seed) => format!("simulated, seed {seed}"),
        None => format!("{} files", sample.files.len()),
    };
    let settings = &report.settings;
    let _ = writeln!(
        text,
        "{} ({source}, detector {}): {} RoIs of {mean:.0} spacepoints, in batches of at most {}.\n\
         {} in host memory, {} encoding, {}, {} sums{}; {} batches in flight.\n\
         Medians and extremes of {} rounds of about {} s.\n",
        sample.name,
        sample.detector,
        sample.rois,
        sample.batch_rois,
        word(settings.coordinates),
        settings.encoding,
        settings.precision,
        settings.accumulate,
        if settings.design == DesignName::Thesis { ", the thesis's design" } else { "" },
        settings.in_flight,
        settings.rounds,
        settings.seconds
    );
    let tables = [throughput(sample), callers(sample), timelines(sample), device(sample), streams(sample)];
    for table in tables.into_iter().flatten() {
        let _ = writeln!(text, "{}\n", table.trim_fmt());
    }
    text
}

/// Returns the text below all tables.
pub(super) fn closing(report: &Report) -> String {
    let mut text = String::new();
    for adapter in &report.adapters {
        let _ = writeln!(text, "gpu {}: {} ({}, {})", adapter.index, adapter.name, adapter.kind, adapter.backend);
    }
    for missing in &report.not_measured {
        let _ = writeln!(text, "{}: not measured: {}", word(missing.engine), missing.reason);
    }
    let _ = writeln!(text, "host: {} threads, {} {}", report.host.threads, report.host.os, report.host.arch);
    let checks = || report.samples.iter().flat_map(|sample| &sample.results).filter_map(|result| result.check.as_ref());
    let sum = |value: fn(&CheckReport) -> usize| checks().map(value).sum::<usize>();
    let most = |value: fn(&CheckReport) -> f64| checks().map(value).fold(0.0, f64::max);
    if sum(|check| check.rois) > 0 {
        let _ = writeln!(
            text,
            "answers checked against the reference engine: {}, all right; {} took another of equal peaks, {} the \
             peak's bins shifted;\nlargest differences of the others {} in weight and {:.4} mm in z",
            sum(|check| check.rois),
            sum(|check| check.ties),
            sum(|check| check.shifted),
            most(|check| check.max_weight_difference),
            most(|check| check.max_z_difference_mm)
        );
    }
    text
}

fn throughput(sample: &SampleReport) -> Option<Table> {
    let mut table = plain(
        [
            "case",
            "engine",
            "RoI/s\nstreamed",
            "\nslowest",
            "\nfastest",
            "RoI/s batch\nby batch",
            "latency\np50 us",
            "latency\np99 us",
            "one core\nus/RoI",
            "x refe-\nrence",
            "RoIs\nchecked",
        ],
        2,
    );
    for result in &sample.results {
        let stream = result.streamed.as_ref();
        table.add_row([
            word(result.case),
            engine(result),
            or_none(stream, |rate| grouped(rate.roi_per_s)),
            or_none(stream, |rate| grouped(rate.slowest_roi_per_s)),
            or_none(stream, |rate| grouped(rate.fastest_roi_per_s)),
            or_none(result.end_to_end.as_ref(), |rate| grouped(rate.roi_per_s)),
            or_none(result.latency.as_ref(), |latency| short(latency.p50_us)),
            or_none(result.latency.as_ref(), |latency| short(latency.p99_us)),
            or_none(result.one_core.as_ref(), |core| short(core.us_per_roi)),
            or_none(result.one_core.as_ref().and_then(|core| core.times_faster_than_reference.as_ref()), |&x| short(x)),
            or_none(result.check.as_ref(), |check| check.rois.to_string()),
        ]);
    }
    Some(table)
}

/// Returns the rates of threads with one RoI each.
fn callers(sample: &SampleReport) -> Option<Table> {
    let counts = sample.results.iter().map(|result| &result.callers).max_by_key(|callers| callers.len())?;
    let mut header = vec!["case".to_owned(), "engine".into()];
    header.extend(counts.iter().map(|one| match one.callers {
        1 => "RoI/s of\n1 caller".to_owned(),
        callers => format!("{callers}\ncallers"),
    }));
    let mut table = plain(header, 2);
    for result in sample.results.iter().filter(|result| !result.callers.is_empty()) {
        let rates = result.callers.iter().map(|one| grouped(one.rate.roi_per_s));
        table.add_row([word(result.case), engine(result)].into_iter().chain(rates));
    }
    (!counts.is_empty()).then_some(table)
}

/// Returns the steps of calls.
fn timelines(sample: &SampleReport) -> Option<Table> {
    let mut table = plain(["case", "engine", "callers", "step", "us/call", "times\na call"], 2);
    let mut any = false;
    for result in &sample.results {
        for timeline in &result.timeline {
            any = true;
            let row = |step: &str, us: f64, count: f64| {
                [
                    word(result.case),
                    engine(result),
                    timeline.callers.to_string(),
                    step.to_owned(),
                    short(us),
                    short(count),
                ]
            };
            table.add_row(row("a call", timeline.us_per_call, 1.0));
            for span in &timeline.spans {
                table.add_row(row(&format!("  {}", span.name), span.us_per_call, span.per_call));
            }
        }
    }
    any.then_some(table)
}

/// Returns the table of GPUs with resident data, kernel by kernel, and the uploads.
fn device(sample: &SampleReport) -> Option<Table> {
    // One kernel searches small RoIs, four stages search larger ones.
    let mut kernels: Vec<&str> = Vec::new();
    for kernel in sample.results.iter().flat_map(|result| &result.kernels) {
        if !kernels.contains(&kernel.name.as_str()) {
            kernels.push(&kernel.name);
        }
    }
    let mut header = vec!["case".to_owned(), "engine".into(), "RoI/s with\ndata there".into()];
    header.extend(kernels.iter().map(|name| format!("{}\nus/RoI", name.replace('_', "\n"))));
    header.extend(["bytes up\nan RoI", "GB/s end\nto end"].map(str::to_owned));
    let packing = |result: &CaseReport| result.transfer.as_ref().and_then(|transfer| transfer.packing_us_per_roi);
    let with_packing = sample.results.iter().any(|result| packing(result).is_some());
    header.extend(with_packing.then(|| "packing\nus/RoI".to_owned()));
    let mut table = plain(header, 2);
    let results: Vec<&CaseReport> = sample.results.iter().filter(|result| result.resident.is_some()).collect();
    for result in &results {
        let mut row =
            vec![word(result.case), engine(result), or_none(result.resident.as_ref(), |rate| grouped(rate.roi_per_s))];
        for name in &kernels {
            let kernel = result.kernels.iter().find(|kernel| kernel.name == *name);
            row.push(or_none(kernel, |kernel| short(kernel.us_per_roi)));
        }
        let transfer = result.transfer.as_ref();
        row.push(or_none(transfer, |transfer| grouped(transfer.bytes_per_roi)));
        row.push(or_none(transfer, |transfer| short(transfer.gb_per_s)));
        row.extend(with_packing.then(|| or_none(packing(result).as_ref(), |&us| short(us))));
        table.add_row(row);
        let alone = |name: &&str| result.kernels.iter().find(|kernel| kernel.name == *name)?.alone_us;
        let times = kernels.iter().map(|name| or_none(alone(name).as_ref(), |&us| short(us)));
        table.add_row([String::new(), "one RoI".into(), String::new()].into_iter().chain(times));
    }
    (!results.is_empty()).then_some(table)
}

fn streams(sample: &SampleReport) -> Option<Table> {
    let mut table = plain(["case", "engine", "RoIs\nstreamed", "us/RoI", "peak memory\nMiB", "memory after\nMiB"], 2);
    let mut any = false;
    for result in &sample.results {
        for stream in &result.long_streams {
            any = true;
            let mib = |bytes: Option<u64>| or_none(bytes.as_ref(), |&bytes| format!("{:.0}", bytes as f64 / 1048576.0));
            table.add_row([
                word(result.case),
                engine(result),
                grouped(stream.rois as f64),
                short(stream.us_per_roi),
                mib(stream.peak_memory_bytes),
                mib(stream.memory_bytes),
            ]);
        }
    }
    any.then_some(table)
}

fn engine(result: &CaseReport) -> String {
    name(result.engine, &result.adapters)
}

/// Returns the name of an engine with its GPUs.
pub(super) fn name(engine: EngineName, adapters: &[usize]) -> String {
    let indices: Vec<String> = adapters.iter().map(usize::to_string).collect();
    format!("{} {}", word(engine), indices.join("+")).trim_end().to_owned()
}

fn or_none<T>(value: Option<&T>, text: impl FnOnce(&T) -> String) -> String {
    value.map_or(NONE.into(), text)
}

/// Formats a whole number with commas between thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats numbers below a hundred with three digits.
fn short(value: f64) -> String {
    match value {
        value if value >= 99.95 => grouped(value),
        value if value >= 9.995 => format!("{value:.1}"),
        value if value >= 0.9995 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{grouped, short};

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0.0, 999.4, 1000.0, 1234567.0].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0123, 1.234, 12.34, 99.96, 12345.6].map(short), ["0.012", "1.23", "12.3", "100", "12,346"]);
    }
}
