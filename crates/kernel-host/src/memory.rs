//! Counts bytes on the device, and enforces a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of all live buffers, and their limit.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) used: AtomicU64,
    pub(crate) most: AtomicU64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { used: AtomicU64::new(0), most: AtomicU64::new(u64::MAX) }
    }
}

impl Memory {
    /// Counts bytes until the returned value is dropped. The error is the limit.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Result<CountedBytes, u64> {
        let most = self.most.load(Ordering::Relaxed);
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= most);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(CountedBytes { bytes, of: Arc::clone(self) }),
            Err(_) => Err(most),
        }
    }
}

/// Counted bytes.
#[derive(Debug)]
pub(crate) struct CountedBytes {
    bytes: u64,
    of: Arc<Memory>,
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.of.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_never_take_more_than_there_is() {
        let memory = Arc::new(Memory::default());
        memory.most.store(100, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for first in 1..4 {
                let memory = &memory;
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for bytes in (0..40).map(|i| (first * 37 + i * 13) % 60) {
                        match memory.take(bytes) {
                            Ok(taken) => held.push(taken),
                            Err(most) => {
                                assert_eq!(most, 100);
                                held.clear();
                            }
                        }
                        assert!(memory.used.load(Ordering::Relaxed) <= 100);
                    }
                });
            }
        });
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
        let all = memory.take(100).expect("all of it");
        assert!(memory.take(1).is_err() && memory.take(u64::MAX).is_err());
        drop((memory.take(0).expect("nothing"), all));
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
    }
}
