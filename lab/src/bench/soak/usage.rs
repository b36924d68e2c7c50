//! Resources of the process: memory, handles, threads. They must not grow with the length of a run.

use std::fs;

use serde::Serialize;

use zfinder_cli::bench::memory::resident;

/// Resources at one moment, on systems that report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Usage {
    pub(super) memory_bytes: Option<u64>,
    /// Bytes of the finders' buffers on GPUs.
    pub(super) gpu_bytes: Option<u64>,
    /// Open files, devices and similar objects.
    pub(super) handles: Option<u64>,
    pub(super) threads: Option<u64>,
}

impl Usage {
    /// Reads the resources on Linux; other systems give only the buffers of finders.
    pub(super) fn now(gpu_bytes: u64) -> Self {
        let count = |folder| fs::read_dir(folder).ok().map(|entries| entries.count() as u64);
        Self {
            memory_bytes: resident().now,
            gpu_bytes: Some(gpu_bytes),
            handles: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
        }
    }
}

pub(super) const QUARTERS: usize = 4;

/// Resources in each quarter of a run.
#[derive(Debug, Default)]
pub(super) struct Watch {
    seen: [Option<Usage>; QUARTERS],
}

/// Tolerated growth of memory, as a fraction: the system's allocator keeps some of the freed
/// memory.
const MEMORY_SHARE: f64 = 0.1;
const MEMORY_BYTES: f64 = 32e6;

/// Resources in the second quarter of a run, when everything is allocated, and in the last. Each is
/// read after new finders have answered the same batches. Later in a quarter the comparison would
/// be unfair: buffers have the size of the largest batch so far, and each device that a future used
/// has a waiting thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Quarters {
    pub(super) second: Usage,
    pub(super) last: Usage,
}

impl Watch {
    pub(super) fn look(&mut self, quarter: usize, gpu_bytes: u64) {
        self.seen[quarter] = Some(Usage::now(gpu_bytes));
    }

    pub(super) fn quarters(&self) -> Quarters {
        Quarters { second: self.seen[1].unwrap_or_default(), last: self.seen[QUARTERS - 1].unwrap_or_default() }
    }
}

impl Quarters {
    /// Returns the resources that grew up to the last quarter; None if the run was too short.
    pub(super) fn grown(&self) -> Option<String> {
        let both = |of: fn(&Usage) -> Option<u64>| of(&self.second).zip(of(&self.last));
        let much = |&(before, after): &(u64, u64)| after as f64 > before as f64 * (1.0 + MEMORY_SHARE) + MEMORY_BYTES;
        let memory = both(|usage| usage.memory_bytes).filter(much);
        let gpu = both(|usage| usage.gpu_bytes).filter(much);
        let more = |(before, after): &(u64, u64)| after > before;
        let handles = both(|usage| usage.handles).filter(more);
        let threads = both(|usage| usage.threads).filter(more);
        let named = [("bytes of memory", memory), ("bytes on GPUs", gpu), ("handles", handles), ("threads", threads)];
        let grown: Vec<String> = named
            .into_iter()
            .filter_map(|(what, quarters)| quarters.map(|(before, after)| format!("{before} and then {after} {what}")))
            .collect();
        (!grown.is_empty()).then(|| grown.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_told() {
        let grown = |second: (u64, u64, u64), last: (u64, u64, u64)| {
            let [second, last] = [second, last].map(|(memory, handles, threads)| Usage {
                memory_bytes: Some(memory << 20),
                gpu_bytes: Some(0),
                handles: Some(handles),
                threads: Some(threads),
            });
            Watch { seen: [None, Some(second), None, Some(last)] }.quarters().grown()
        };
        assert_eq!(grown((900, 12, 24), (910, 12, 24)), None);
        assert_eq!(grown((900, 12, 24), (100, 9, 20)), None);
        assert_eq!(
            grown((900, 12, 24), (5000, 12, 24)).as_deref(),
            Some("943718400 and then 5242880000 bytes of memory")
        );
        assert_eq!(grown((9, 1, 1), (9, 2, 3)).as_deref(), Some("1 and then 2 handles, 1 and then 3 threads"));
        assert_eq!(Watch::default().quarters().grown(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells() {
        let now = Usage::now(0);
        assert!(now.memory_bytes > Some(0) && now.handles > Some(0) && now.threads > Some(0), "{now:?}");
    }
}
