//! Free memory of the host.

use std::fs;

/// Returns the free memory of the host \[bytes\], within the limit of the process's control group.
/// None where the system does not report it, as outside Linux.
///
/// A system that overcommits grants larger allocations and ends the process when it writes to them.
/// A batch whose size a user chooses is compared with this before it is allocated.
#[must_use]
pub fn available_memory() -> Option<u64> {
    let free = of_system(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).unwrap_or_default();
    Some(free.min(of_group(&read("memory.max"), &read("memory.current")).unwrap_or(u64::MAX)))
}

fn of_system(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// None if there is no limit.
fn of_group(limit: &str, used: &str) -> Option<u64> {
    let limit: u64 = limit.trim().parse().ok()?;
    Some(limit.saturating_sub(used.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_limit_counts() {
        assert_eq!(of_system("MemTotal: 8 kB\nMemAvailable:    3 kB\n"), Some(3072));
        assert_eq!(of_system("MemTotal: 8 kB"), None);
        assert_eq!((of_group("100\n", "30\n"), of_group("max\n", "30\n")), (Some(70), None));
        assert_eq!(of_group("10", "30"), Some(0));
    }
}
