//! What the process holds: memory, handles, threads. A run of any length must not need more of them.

use std::fs;

use serde::Serialize;

use super::super::memory::resident;

/// At one moment, where the system says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Usage {
    pub(super) memory_bytes: Option<u64>,
    /// Of the finders' buffers on GPUs.
    pub(super) gpu_bytes: Option<u64>,
    /// Open files, devices and the like.
    pub(super) handles: Option<u64>,
    pub(super) threads: Option<u64>,
}

impl Usage {
    /// Linux tells; elsewhere nothing is known but what finders hold.
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

/// Moments of each quarter of a run.
#[derive(Debug, Default)]
pub(super) struct Watch {
    seen: [Vec<Usage>; QUARTERS],
}

/// What may come to the memory while nothing grows: the system's allocator keeps some of what it is given back.
const MEMORY_SHARE: f64 = 0.1;
const MEMORY_BYTES: f64 = 32e6;

/// The second quarter of a run, when everything has been made once, and the last: the memory when new finders have
/// answered the same batches, for buffers are as large as the largest so far, and the most handles and threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Quarters {
    pub(super) second: Usage,
    pub(super) last: Usage,
}

impl Watch {
    pub(super) fn look(&mut self, quarter: usize, gpu_bytes: u64) {
        self.seen[quarter].push(Usage::now(gpu_bytes));
    }

    pub(super) fn quarters(&self) -> Quarters {
        let quarter = |quarter: usize| {
            let part = &self.seen[quarter];
            let first = part.first().copied().unwrap_or_default();
            Usage {
                handles: part.iter().filter_map(|usage| usage.handles).max(),
                threads: part.iter().filter_map(|usage| usage.threads).max(),
                ..first
            }
        };
        Quarters { second: quarter(1), last: quarter(3) }
    }
}

impl Quarters {
    /// What the last quarter needed more of; nothing where too little was seen.
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

    fn usage(memory: u64, handles: u64) -> Usage {
        Usage { memory_bytes: Some(memory), gpu_bytes: Some(0), handles: Some(handles), threads: None }
    }

    #[test]
    fn what_grows_is_told() {
        let quarters = |seen: [(u64, u64); 8]| {
            let mut watch = Watch::default();
            for (i, (memory, handles)) in seen.into_iter().enumerate() {
                watch.seen[i / 2].push(usage(memory << 20, handles));
            }
            watch.quarters()
        };
        let grows = quarters([(100, 9), (300, 20), (900, 11), (100, 12), (100, 30), (100, 9), (5000, 12), (910, 10)]);
        let handles = (grows.second.handles, grows.last.handles);
        assert_eq!(
            (handles, grows.grown().as_deref()),
            ((Some(12), Some(12)), Some("943718400 and then 5242880000 bytes of memory"))
        );
        let flat = quarters([(100, 9), (300, 20), (900, 11), (900, 12), (100, 30), (100, 9), (910, 12), (5000, 10)]);
        assert_eq!(flat.grown(), None);
        let leak = quarters([(9, 1), (9, 1), (9, 1), (9, 1), (9, 1), (9, 1), (9, 2), (9, 1)]);
        assert_eq!(leak.grown().as_deref(), Some("1 and then 2 handles"));
        assert_eq!(Watch::default().quarters().grown(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells() {
        let now = Usage::now(0);
        assert!(now.memory_bytes > Some(0) && now.handles > Some(0) && now.threads > Some(0), "{now:?}");
    }
}
