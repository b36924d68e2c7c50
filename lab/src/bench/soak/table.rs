//! Tables of a soak.

use super::usage::Usage;
use super::{OtherBits, SoakResult};
use command_host::table as plain;

pub(super) fn format(soaked: &SoakResult) -> String {
    let share = 100.0 * soaked.identical as f64 / soaked.rois.max(1) as f64;
    let statuses: Vec<String> = soaked.statuses.iter().map(|(status, rois)| format!("{rois} {status}")).collect();
    let cases: Vec<String> = soaked.cases.iter().map(|(case, rois)| format!("{case} {rois}")).collect();
    let quarters = |of: fn(&Usage) -> Option<u64>| {
        let known = |value: Option<u64>| value.map_or("unknown".into(), |value| value.to_string());
        format!("{}, {}", known(of(&soaked.held.second)), known(of(&soaked.held.last)))
    };
    let rows = [
        ("seconds", format!("{:.0}", soaked.seconds)),
        ("batches", soaked.batches.to_string()),
        ("RoIs", format!("{}, of {} spacepoints", soaked.rois, soaked.spacepoints)),
        ("answers", statuses.join(", ")),
        ("cases", cases.join(", ")),
        ("random configurations", soaked.configurations.to_string()),
        ("the CPU engine's bits", format!("{} ({share:.4} %)", soaked.identical)),
        ("capacity exceeded, of the GPU alone", soaked.told.to_string()),
        ("else equal within rounding", soaked.rounded.to_string()),
        (
            "against the reference engine",
            format!("{}: {} ties, {} in a neighbouring bin", soaked.against_reference, soaked.ties, soaked.shifted),
        ),
        ("memory, quarters 2 and 4 [MB]", quarters(|usage| usage.memory_bytes.map(|bytes| bytes / 1_000_000))),
        ("on GPUs, quarters 2 and 4 [MB]", quarters(|usage| usage.gpu_bytes.map(|bytes| bytes / 1_000_000))),
        ("handles, quarters 2 and 4", quarters(|usage| usage.handles)),
        ("threads, quarters 2 and 4", quarters(|usage| usage.threads)),
    ];
    let mut table = plain(["engine", &soaked.engine], 2);
    for (name, value) in rows {
        table.add_row([name.to_owned(), value]);
    }
    let others = soaked.other_bits.iter().map(|other| {
        let OtherBits { case, batch, roi, kind, spacepoints, found, cpu } = other;
        format!(
            "other bits: {case}, batch {batch}, RoI {roi} of {spacepoints} spacepoints ({kind:?})\n  {found}\n  the CPU engine: {cpu}\n"
        )
    });
    format!("{}\n{}\n", table.trim_fmt(), others.collect::<String>())
}
