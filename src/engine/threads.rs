//! Work shared out to threads of our own, where a pool's would not do: a thread outside of a pool
//! that waits for the pool waits for ever when all of the pool's threads wait for it.

use std::panic::resume_unwind;
use std::thread;

/// Threads that help the calling one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helpers {
    /// Rayon's pool. For the thread that was called and no other.
    Pool,
    /// So many threads, the one that was called among them.
    Threads(usize),
}

impl Helpers {
    /// It is one of many threads, each with work of its own.
    pub(crate) const NONE: Self = Self::Threads(1);

    pub(crate) fn threads(self) -> usize {
        match self {
            Self::Pool => rayon::current_num_threads(),
            Self::Threads(threads) => threads,
        }
    }
}

/// Returns the results of `work` for each item, in order.
pub(crate) fn in_threads<T: Send, R: Send>(items: Vec<T>, threads: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let each = items.len().div_ceil(threads.max(1)).max(1);
    let mut rest = items.into_iter();
    let mut chunk = || rest.by_ref().take(each).collect::<Vec<T>>();
    let all = |chunk: Vec<T>| chunk.into_iter().map(&work).collect::<Vec<R>>();
    let own = chunk();
    thread::scope(|scope| {
        let mut helpers = Vec::new();
        loop {
            let chunk = chunk();
            if chunk.is_empty() {
                break;
            }
            helpers.push(scope.spawn(|| all(chunk)));
        }
        let mut made = all(own);
        for helper in helpers {
            made.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_whatever_the_number_of_threads() {
        for threads in [0, 1, 2, 3, 7, 100] {
            for count in [0, 1, 2, 10, 64] {
                let items: Vec<u32> = (0..count).collect();
                let wanted: Vec<u32> = items.iter().map(|i| 3 * i).collect();
                assert_eq!(in_threads(items, threads, |i| 3 * i), wanted, "{count} items, {threads} threads");
            }
        }
    }
}
