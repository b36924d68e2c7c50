//! Threads that wait for submissions: one of them waits in the driver, for all.
//!
//! Drivers serialise waits with each other and with submissions, so that many threads in the driver
//! hold each other up. Here the other threads sleep, and the leader wakes them.

use std::sync::Mutex;
use std::thread::{self, Thread};

use crate::error::Error;
use crate::status::lock;

/// Threads that wait for submissions. `I` is what the driver waits for.
#[derive(Debug)]
pub(crate) struct WaitQueue<I> {
    state: Mutex<State<I>>,
}

#[derive(Debug)]
struct State<I> {
    /// All submissions before this number are done.
    done: u64,
    /// A thread waits in the driver.
    is_led: bool,
    waiting: Vec<Waiter<I>>,
}

#[derive(Debug)]
struct Waiter<I> {
    sequence: u64,
    index: I,
    thread: Thread,
}

impl<I> Default for WaitQueue<I> {
    fn default() -> Self {
        Self { state: Mutex::new(State { done: 0, is_led: false, waiting: Vec::new() }) }
    }
}

impl<I: Clone> WaitQueue<I> {
    /// Blocks until the submission of this number, from 0, is done. Submissions are done in the
    /// order of their numbers. `is_done` waits for a while in the driver.
    ///
    /// # Errors
    /// The errors of `is_done`.
    pub(crate) fn wait(
        &self,
        (sequence, index): (u64, &I),
        is_done: impl Fn(&I) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let me = thread::current();
        let mut state = lock(&self.state);
        if state.done > sequence {
            return Ok(());
        }
        state.waiting.push(Waiter { sequence, index: index.clone(), thread: me.clone() });
        loop {
            if state.done > sequence {
                state.leave(&me);
                return Ok(());
            }
            if state.is_led {
                drop(state);
                thread::park();
                state = lock(&self.state);
                continue;
            }
            let Some(first) = state.waiting.iter().min_by_key(|waiter| waiter.sequence) else { return Ok(()) };
            let (first, index) = (first.sequence, first.index.clone());
            state.is_led = true;
            drop(state);
            let led = Led(self);
            let found = is_done(&index);
            drop(led);
            state = lock(&self.state);
            match found {
                Ok(true) => state.finish(first, &me),
                Ok(false) => {}
                Err(error) => {
                    state.leave(&me);
                    return Err(error);
                }
            }
        }
    }
}

/// The lead of a thread in the driver, which ends even if the driver panics.
struct Led<'a, I>(&'a WaitQueue<I>);

impl<I> Drop for Led<'_, I> {
    fn drop(&mut self) {
        lock(&self.0.state).is_led = false;
    }
}

impl<I> State<I> {
    /// Wakes the threads whose submissions are done.
    fn finish(&mut self, sequence: u64, me: &Thread) {
        self.done = self.done.max(sequence + 1);
        let done = self.waiting.iter().filter(|waiter| waiter.sequence < self.done && waiter.thread.id() != me.id());
        done.for_each(|waiter| waiter.thread.unpark());
    }

    /// Removes a thread, and wakes another one to lead.
    fn leave(&mut self, me: &Thread) {
        self.waiting.retain(|waiter| waiter.thread.id() != me.id());
        if !self.is_led
            && let Some(next) = self.waiting.iter().min_by_key(|waiter| waiter.sequence)
        {
            next.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;

    /// A device that finishes a submission after each wait. Only one thread may wait at a time.
    #[derive(Default)]
    struct Device {
        finished: AtomicU64,
        busy: AtomicBool,
    }

    impl Device {
        fn is_done(&self, sequence: u64) -> Result<bool, Error> {
            assert!(!self.busy.swap(true, Ordering::SeqCst), "one thread waits in the driver");
            thread::sleep(Duration::from_micros(50));
            let finished = self.finished.fetch_add(1, Ordering::SeqCst) + 1;
            self.busy.store(false, Ordering::SeqCst);
            Ok(finished > sequence)
        }
    }

    #[test]
    fn one_thread_waits_for_all() {
        let (queue, device, next) = (WaitQueue::default(), Device::default(), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let sequence = next.fetch_add(1, Ordering::SeqCst);
                        queue.wait((sequence, &sequence), |&index| device.is_done(index)).expect("no failure");
                        assert!(device.finished.load(Ordering::SeqCst) > sequence);
                    }
                });
            }
        });
        let state = lock(&queue.state);
        assert!(state.waiting.is_empty() && !state.is_led && state.done == 800, "{state:?}");
    }

    #[test]
    fn each_thread_gets_the_failure() {
        let queue = WaitQueue::default();
        let lost = |_: &u64| Err(Error::DeviceLost { reason: "unplugged".to_owned() });
        thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|sequence| {
                    scope.spawn({
                        let queue = &queue;
                        move || queue.wait((sequence, &sequence), lost)
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| assert!(thread.join().expect("no panic").is_err()));
        });
        assert!(lock(&queue.state).waiting.is_empty());
    }
}
