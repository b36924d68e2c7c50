//! Memory of the process, on systems that report it.

use std::fs;

/// Bytes now, and the peak since [`forget_peak`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Resident {
    pub now: Option<u64>,
    pub peak: Option<u64>,
}

/// Reads the memory on Linux; other systems give nothing.
pub fn resident() -> Resident {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    Resident { now: field(&status, "VmRSS:"), peak: field(&status, "VmHWM:") }
}

/// Resets the peak. If the system does not allow it, the peak counts from the start of the process.
pub fn forget_peak() {
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
