//! Tests of the pool on a model of a small device.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Instant;

use super::*;
use crate::error::Error;

/// A device with a number of bytes.
struct Device {
    most: u64,
    used: AtomicU64,
    made: AtomicUsize,
}

impl Device {
    fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, used: AtomicU64::new(0), made: AtomicUsize::new(0) })
    }

    fn used(&self) -> u64 {
        self.used.load(Ordering::SeqCst)
    }
}

/// A workspace that holds the most bytes that were requested.
struct Held {
    bytes: u64,
    of: Arc<Device>,
}

impl Held {
    fn new(of: &Arc<Device>) -> Self {
        of.made.fetch_add(1, Ordering::SeqCst);
        Self { bytes: 0, of: Arc::clone(of) }
    }

    fn make_room(&mut self, bytes: u64) -> Result<u64, Error> {
        if bytes > self.bytes {
            let more = |used: u64| Some(used - self.bytes + bytes).filter(|&used| used <= self.of.most);
            let grown = self.of.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
            grown.map_err(|_| none_left())?;
            self.bytes = bytes;
        }
        Ok(bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Freeing takes a while, during which others look.
        thread::sleep(Duration::from_micros(50));
        self.of.used.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

fn none_left() -> Error {
    Error::OutOfMemory { what: "test".into(), bytes: 0, allowed: None }
}

fn is_out_of_memory(error: &Error) -> bool {
    matches!(error, Error::OutOfMemory { .. })
}

type Reservation = Result<Reserved<Held, u64, Error>, Error>;

async fn room(pool: &Pool<Held>, of: &Arc<Device>, waiting: Waiting, has_another: bool, bytes: u64) -> Reservation {
    pool.reserve(waiting, has_another, || Held::new(of), |held| held.make_room(bytes), is_out_of_memory).await
}

fn now(pool: &Pool<Held>, of: &Arc<Device>, has_another: bool, bytes: u64) -> Reservation {
    pollster::block_on(room(pool, of, Waiting::Blocking, has_another, bytes))
}

#[track_caller]
fn inside(found: Reservation) -> Pooled<Held> {
    match found {
        Ok(Reserved::Ready(held, bytes)) => {
            assert!(held.bytes >= bytes);
            held
        }
        Ok(Reserved::Later) => panic!("later"),
        Ok(Reserved::Full(error)) | Err(error) => panic!("{error}"),
    }
}

fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn pool_are_used_again_and_freed_where_memory_is_wanted() {
    let (pool, device) = (Pool::default(), Device::new(100));
    let [a, b] = [30, 40].map(|bytes| inside(now(&pool, &device, false, bytes)));
    a.give_back();
    inside(now(&pool, &device, false, 20)).give_back();
    assert_eq!((device.used(), device.made.load(Ordering::SeqCst)), (70, 2), "the idle one is taken");
    // Dropped: freed.
    drop(b);
    assert_eq!(device.used(), 30);
    // Idle ones go where they are in the way, and all that was kept is freed in the end.
    inside(now(&pool, &device, false, 95)).give_back();
    assert_eq!(device.used(), 95);
    let small = pool.take(|| Held::new(&device));
    assert_eq!(small.bytes, 95, "it is what is idle");
    inside(now(&pool, &device, true, 5)).give_back();
    small.give_back();
    assert_eq!(device.used(), 100);
    inside(now(&pool, &device, false, 100)).give_back();
    drop(pool);
    assert_eq!(device.used(), 0);
}

#[test]
fn who_has_another_gives_that_back_first_and_who_has_none_is_told() {
    let (pool, device) = (Pool::default(), Device::new(100));
    let first = inside(now(&pool, &device, false, 60));
    assert!(matches!(now(&pool, &device, true, 60), Ok(Reserved::Later)));
    first.give_back();
    inside(now(&pool, &device, false, 60)).give_back();
    // A request beyond the total, with nothing in use: it does not wait, and the next request
    // succeeds.
    match now(&pool, &device, false, 101) {
        Ok(Reserved::Full(error)) => assert!(is_out_of_memory(&error), "{error}"),
        _ => panic!("it does not fit"),
    }
    assert_eq!(device.used(), 0);
    inside(now(&pool, &device, false, 100)).give_back();
    // Another error does not take the turn.
    let failing = pool.reserve(
        Waiting::Blocking,
        false,
        || Held::new(&device),
        |_| -> Result<(), Error> { Err(Error::DeviceLost { reason: "test".into() }) },
        is_out_of_memory,
    );
    assert!(matches!(pollster::block_on(failing), Err(Error::DeviceLost { .. })));
    assert!(!pool.shared.turn.is_locked());
    assert_eq!(pool.state().out, 0);
}

/// A waiter keeps its turn: later requests queue even if they would fit.
#[test]
fn nobody_is_passed_over() {
    let (pool, device) = (Pool::default(), Device::new(100));
    let [a, b] = [50, 50].map(|bytes| inside(now(&pool, &device, false, bytes)));
    let mut large = pin!(room(&pool, &device, Waiting::Async, false, 90));
    assert!(poll(large.as_mut()).is_pending());
    drop(a);
    assert!(poll(large.as_mut()).is_pending(), "b is in its way");
    let mut small = pin!(room(&pool, &device, Waiting::Async, false, 10));
    assert!(poll(small.as_mut()).is_pending());
    assert!(matches!(now(&pool, &device, true, 10), Ok(Reserved::Later)), "and so do those that have one already");
    b.give_back();
    assert!(poll(small.as_mut()).is_pending());
    let Poll::Ready(large) = poll(large.as_mut()) else { panic!("all came back") };
    let Poll::Ready(small) = poll(small.as_mut()) else { panic!("it fits beside") };
    assert_eq!(device.used(), 100);
    drop((inside(large), inside(small)));
    // A waiter may give up at any time.
    let kept = inside(now(&pool, &device, false, 100));
    for _ in 0..3 {
        let mut waits = Box::pin(room(&pool, &device, Waiting::Async, false, 10));
        let mut queues = Box::pin(room(&pool, &device, Waiting::Async, false, 10));
        assert!(poll(waits.as_mut()).is_pending() && poll(queues.as_mut()).is_pending());
        drop(waits);
        assert!(pool.shared.turn.is_locked() || poll(queues.as_mut()).is_pending());
    }
    assert!(!pool.shared.turn.is_locked());
    kept.give_back();
    inside(now(&pool, &device, false, 1)).give_back();
}

#[test]
fn a_thread_wakes_when_memory_comes_back() {
    let (pool, device) = (Pool::default(), Device::new(100));
    let (begun, over) = (Barrier::new(2), AtomicBool::new(false));
    let held = inside(now(&pool, &device, false, 60));
    thread::scope(|scope| {
        scope.spawn(|| {
            begun.wait();
            let own = inside(now(&pool, &device, false, 60));
            assert!(over.load(Ordering::SeqCst), "there were not 120 bytes");
            own.give_back();
        });
        begun.wait();
        thread::sleep(Duration::from_millis(30));
        over.store(true, Ordering::SeqCst);
        // A panic frees it too.
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = held;
            std::panic::resume_unwind(Box::new("on purpose"));
        }));
        assert!(panicked.is_err());
    });
    assert_eq!((pool.state().out, device.used()), (0, 60));
}

/// A future that is not polled keeps its memory. A thread that waits for it gives up instead of
/// hanging.
#[test]
fn patience_has_an_end() {
    let device = Device::new(100);
    let pool = Pool::with_patience(Duration::from_millis(50));
    let kept = inside(now(&pool, &device, false, 60));
    assert!(matches!(now(&pool, &device, false, 60), Ok(Reserved::Full(_))));
    // A thread does not wait for ever for the turn of another waiter either.
    let mut waits = pin!(room(&pool, &device, Waiting::Async, false, 60));
    assert!(poll(waits.as_mut()).is_pending());
    assert!(matches!(now(&pool, &device, false, 60), Ok(Reserved::Full(_))));
    inside(now(&pool, &device, false, 40)).give_back();
    kept.give_back();
    assert!(poll(waits.as_mut()).is_ready());
}

/// Threads and futures, of all sizes, that drop, panic and give up: whatever fits alone is
/// answered, and nothing leaks.
#[test]
fn any_order_of_events_ends() {
    let (pool, device) = (Pool::default(), Device::new(1000));
    thread::scope(|scope| {
        for seed in 0..6 {
            let (pool, device) = (&pool, &device);
            scope.spawn(move || {
                let rng = &mut fastrand::Rng::with_seed(seed);
                for _ in 0..if cfg!(miri) { 10 } else { 300 } {
                    let bytes = if rng.u8(..) < 40 { rng.u64(900..1100) } else { rng.u64(1..400) };
                    let waiting = if rng.bool() { Waiting::Async } else { Waiting::Blocking };
                    let mut future = Box::pin(room(pool, device, waiting, false, bytes));
                    if waiting == Waiting::Async && rng.u8(..) < 60 {
                        // Given up after one poll, if it waits.
                        drop(poll(future.as_mut()));
                        continue;
                    }
                    match pollster::block_on(future) {
                        Ok(Reserved::Ready(held, _)) => {
                            assert!(bytes <= 1000);
                            match rng.u8(0..4) {
                                0 => thread::yield_now(),
                                1 => thread::sleep(Duration::from_micros(rng.u64(0..200))),
                                _ => {}
                            }
                            if rng.u8(0..5) > 0 {
                                held.give_back();
                            }
                        }
                        Ok(Reserved::Full(error)) => assert!(bytes > 1000, "{bytes} bytes: {error}"),
                        Ok(Reserved::Later) => panic!("it has no other"),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(pool.state().out, 0);
    assert!(!pool.shared.turn.is_locked());
    drop(pool);
    assert_eq!(device.used(), 0);
}

#[test]
fn a_future_is_waited_for_only_so_long() {
    assert_eq!(block_on_for(pin!(async { 7 }), Duration::ZERO), Some(7));
    let event = ManualResetEvent::new(false);
    let mut later = pin!(event.wait());
    let start = Instant::now();
    assert_eq!(block_on_for(later.as_mut(), Duration::from_millis(20)), None);
    assert!(start.elapsed() >= Duration::from_millis(20));
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            event.set();
        });
        assert_eq!(block_on_for(later.as_mut(), Duration::from_secs(60)), Some(()));
    });
}
