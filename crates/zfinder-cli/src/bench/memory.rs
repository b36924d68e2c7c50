//! How much memory the process holds, where the system says.

use std::fs;

/// Bytes now, and at the most since [`forget_peak`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Resident {
    pub(super) now: Option<u64>,
    pub(super) peak: Option<u64>,
}

/// Linux tells; elsewhere nothing is known.
pub(super) fn resident() -> Resident {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    Resident { now: field(&status, "VmRSS:"), peak: field(&status, "VmHWM:") }
}

/// Lets the peak begin anew. Where the system does not allow that, it is the peak since the
/// beginning.
pub(super) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_found() {
        let status = "Name:\tzfinder\nVmHWM:\t  2048 kB\nVmRSS:\t     12 kB\n";
        assert_eq!((field(status, "VmHWM:"), field(status, "VmRSS:")), (Some(2 << 20), Some(12 << 10)));
        assert_eq!((field(status, "VmSwap:"), field("VmRSS: much", "VmRSS:")), (None, None));
    }
}
