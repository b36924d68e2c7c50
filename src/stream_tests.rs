//! The stream by itself, with engines that answer when the test lets them.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::*;
use crate::results::{RoiSummary, Status};
use crate::spacepoint::{RoiDescriptor, RoiId};

/// A batch of one RoI, whose event is its number.
fn numbered(number: u64) -> RoiBatch {
    let mut batch = RoiBatch::new();
    let id = RoiId { event_id: number, roi_id: 0 };
    batch.push(RoiDescriptor { id, ..RoiDescriptor::default() }, []);
    batch
}

fn number(batch: &RoiBatch) -> u64 {
    batch.roi(0).descriptor.id.event_id
}

fn answer(batch: &RoiBatch) -> Result<Results> {
    let mut results = Results::new();
    for roi in batch.iter() {
        results.push(RoiSummary::new(roi.descriptor.id, Status::Empty), []);
    }
    Ok(results)
}

fn start<F>(options: StreamOptions, devices: usize, find: F) -> Result<Stream>
where
    F: Fn(usize, &RoiBatch) -> Result<Results> + Send + Sync + 'static,
{
    Stream::start(options, devices, move |worker, batch, results| {
        *results = find(worker, batch)?;
        Ok(())
    })
}

/// The number of the batch that came back.
fn number_of(answered: Option<Result<SearchedBatch>>) -> Option<u64> {
    answered.map(|answered| {
        let answered = answered.expect("an answer");
        assert_eq!(answered.results.event_ids()[0], number(&answered.batch), "a batch comes with its own answers");
        number(&answered.batch)
    })
}

/// Doors that stay open once they are.
#[derive(Default)]
struct Doors {
    open: Mutex<Vec<u64>>,
    changed: Condvar,
}

impl Doors {
    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, number: u64) {
        self.lock().push(number);
        self.changed.notify_all();
    }

    fn pass(&self, number: u64) {
        let open = self.lock();
        let limit = Duration::from_secs(60);
        let waited = self.changed.wait_timeout_while(open, limit, |open| !open.contains(&number));
        let (_guard, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!outcome.timed_out(), "door {number} stays shut");
    }
}

#[test]
fn answers_come_in_order_when_the_last_is_done_first() {
    let doors = Arc::new(Doors::default());
    let own = Arc::clone(&doors);
    // Each of three waits for the one after it.
    let mut stream = start(StreamOptions { in_flight: 3 }, 1, move |_, batch| {
        if number(batch) % 3 != 2 {
            own.pass(number(batch) + 1);
        }
        own.open(number(batch));
        answer(batch)
    })
    .expect("threads");
    let mut came = Vec::new();
    for i in 0..30 {
        assert_eq!(stream.len(), (i as usize).min(3));
        // Answers of three are taken before the next three are there to be waited for.
        let oldest = number_of(stream.push(numbered(i)).transpose());
        assert_eq!(oldest, i.checked_sub(3));
        came.extend(oldest);
    }
    came.extend(stream.by_ref().map(|answered| number_of(Some(answered)).expect("one")));
    assert_eq!(came, (0..30).collect::<Vec<_>>());
    assert_eq!((stream.len(), number_of(stream.next())), (0, None));
    // It goes on.
    for i in 30..33 {
        assert_eq!(number_of(stream.push(numbered(i)).transpose()), None);
    }
    assert_eq!(number_of(stream.next()), Some(30));
}

#[test]
fn no_more_are_in_flight_than_asked_for() {
    for (in_flight, devices, most) in [(1, 1, 1), (2, 1, 2), (5, 1, 5), (2, 3, 6), (7, 3, 7)] {
        let now = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let own = Arc::clone(&now);
        let stream = start(StreamOptions { in_flight }, devices, move |worker, batch| {
            assert!(worker < most);
            own.1.fetch_max(own.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::yield_now();
            own.0.fetch_sub(1, Ordering::SeqCst);
            answer(batch)
        });
        let mut stream = stream.expect("threads");
        assert_eq!(stream.most_in_flight(), most);
        for i in 0..200 {
            assert_eq!(number_of(stream.push(numbered(i)).transpose()), i.checked_sub(most as u64));
            assert!(stream.len() <= most);
        }
        assert_eq!(stream.len(), most);
        assert!(now.1.load(Ordering::SeqCst) <= most);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for in_flight in [0, StreamOptions::MOST_IN_FLIGHT + 1, usize::MAX] {
        let error = start(StreamOptions { in_flight }, 1, |_, batch| answer(batch)).expect_err("out of range");
        assert!(matches!(error, Error::Config { key: "in_flight", .. }), "{error}");
        assert!(error.to_string().contains("1024"), "{error}");
    }
    assert!((2..=16).contains(&StreamOptions::default().in_flight));
}

#[test]
fn a_panic_is_the_answer_to_its_batch() {
    let stream = start(StreamOptions { in_flight: 2 }, 1, |_, batch| match number(batch) % 4 {
        1 => panic!("said of {}", number(batch)),
        2 => std::panic::panic_any(7),
        3 => Err(Error::Config { key: "z", value: "3".into(), reason: "is no range".into() }),
        _ => answer(batch),
    });
    let answers: Vec<_> = stream.expect("threads").run((0..40).map(numbered)).collect();
    assert_eq!(answers.len(), 40);
    for (i, answered) in answers.into_iter().enumerate() {
        match (i % 4, answered) {
            (0, answered) => assert_eq!(number_of(Some(answered)), Some(i as u64)),
            (1, Err(Error::Panicked { message })) => assert_eq!(message, format!("said of {i}")),
            (2, Err(Error::Panicked { message })) => assert_eq!(message, "without a word"),
            (3, Err(Error::Config { .. })) => {}
            (_, other) => panic!("{i}: {other:?}"),
        }
    }
}

#[test]
fn a_dropped_stream_ends_what_was_begun() {
    let (begun, seen) = channel();
    let doors = Arc::new(Doors::default());
    let own = Arc::clone(&doors);
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    let mut stream = start(StreamOptions { in_flight: 4 }, 1, move |_, batch| {
        begun.send(number(batch)).expect("heard");
        own.pass(0);
        count.fetch_add(1, Ordering::SeqCst);
        answer(batch)
    })
    .expect("threads");
    for i in 0..3 {
        assert_eq!(number_of(stream.push(numbered(i)).transpose()), None);
        seen.recv().expect("begun");
    }
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        doors.open(0);
    });
    drop(stream);
    assert_eq!(ended.load(Ordering::SeqCst), 3, "they were finished before the drop was done");
    // The workers are gone, and with them what they heard of.
    assert!(seen.recv().is_err());
    opener.join().expect("opened");
    // Without work in flight, and without any at all.
    drop(start(StreamOptions { in_flight: 3 }, 1, |_, batch| answer(batch)).expect("threads"));
    let run = start(StreamOptions { in_flight: 3 }, 1, |_, batch| answer(batch)).expect("threads");
    assert_eq!(number_of(run.run((0..9).map(numbered)).next()), Some(0));
}

#[test]
fn a_dropped_future_loses_nothing() {
    let doors = Arc::new(Doors::default());
    let own = Arc::clone(&doors);
    let mut stream = start(StreamOptions { in_flight: 2 }, 1, move |_, batch| {
        own.pass(number(batch));
        answer(batch)
    })
    .expect("threads");
    let mut context = Context::from_waker(Waker::noop());
    for i in 0..2 {
        assert!(matches!(pin!(stream.push_async(numbered(i))).poll(&mut context), Poll::Ready(Ok(None))));
    }
    for _ in 0..2 {
        assert!(pin!(stream.push_async(numbered(9))).poll(&mut context).is_pending());
        assert!(pin!(stream.next_async()).poll(&mut context).is_pending());
        assert_eq!(stream.len(), 2);
    }
    doors.open(0);
    assert_eq!(number_of(pollster::block_on(stream.push_async(numbered(2))).transpose()), Some(0));
    doors.open(2);
    doors.open(1);
    assert_eq!(number_of(pollster::block_on(stream.next_async())), Some(1));
    assert_eq!(number_of(stream.next()), Some(2));
    assert_eq!(number_of(pollster::block_on(stream.next_async())), None);
}

#[test]
fn streams_and_their_futures_go_to_other_threads() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let stream = start(StreamOptions { in_flight: 2 }, 1, |_, batch| answer(batch)).expect("threads");
    let mut stream = is_send::<Stream>(stream);
    assert_eq!(number_of(pollster::block_on(is_send(stream.push_async(numbered(1)))).transpose()), None);
    let next = thread::spawn(move || number_of(pollster::block_on(is_send(stream.next_async()))));
    assert_eq!(next.join().expect("no panic"), Some(1));
}

/// Counts of searches that started and ended.
#[derive(Clone, Default)]
struct SearchCounts {
    started: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl SearchCounts {
    /// Answers after a random delay, and panics for each seventh batch.
    fn search(&self, batch: &RoiBatch) -> Result<Results> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let rng = &mut fastrand::Rng::with_seed(number(batch));
        match rng.u8(0..20) {
            0..4 => thread::sleep(Duration::from_micros(rng.u64(0..300))),
            4..8 => thread::yield_now(),
            _ => {}
        }
        self.ended.fetch_add(1, Ordering::SeqCst);
        if number(batch) % 7 == 3 {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        answer(batch)
    }

    /// Checks that the answer is that of the batch with this number.
    fn check(wanted: u64, answered: Result<SearchedBatch>) {
        match answered {
            Err(Error::Panicked { message }) => assert_eq!((wanted % 7, message.as_str()), (3, "on purpose")),
            other => assert_eq!(number_of(Some(other)), Some(wanted)),
        }
    }
}

/// Pushes, takes, cancels and drops at random, on several threads at once, with an engine that
/// delays and panics: every answer comes, in order, and is its batch's.
#[test]
fn any_order_of_calls_keeps_the_order_of_answers() {
    let counts = SearchCounts::default();
    let check = SearchCounts::check;
    let one_stream = |rng: &mut fastrand::Rng| {
        let (in_flight, devices) = (rng.usize(1..6), rng.usize(1..3));
        let own = counts.clone();
        let find = move |_: usize, batch: &RoiBatch| own.search(batch);
        let mut stream = start(StreamOptions { in_flight }, devices, find).expect("threads");
        let most = stream.most_in_flight();
        // Numbers of the next that is pushed, and of the next that is answered.
        let (mut next, mut oldest) = (0, 0);
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..rng.usize(0..80) {
            match rng.u8(0..10) {
                0..6 => {
                    let full = (next - oldest) as usize == most;
                    let answered = stream.push(numbered(next)).transpose();
                    next += 1;
                    assert_eq!(answered.is_some(), full);
                    if let Some(answered) = answered {
                        check(oldest, answered);
                        oldest += 1;
                    }
                }
                6 => {
                    // Dropped before it is done, it sends nothing.
                    if let Poll::Ready(answered) = pin!(stream.push_async(numbered(next))).poll(&mut context) {
                        next += 1;
                        if let Some(answered) = answered.transpose() {
                            check(oldest, answered);
                            oldest += 1;
                        }
                    }
                }
                7 => {
                    if let Poll::Ready(Some(answered)) = pin!(stream.next_async()).poll(&mut context) {
                        check(oldest, answered);
                        oldest += 1;
                    }
                }
                8 => {
                    if let Some(answered) = stream.next() {
                        check(oldest, answered);
                        oldest += 1;
                    }
                }
                _ => assert_eq!(stream.len() as u64, next - oldest),
            }
        }
        if rng.bool() {
            for answered in stream {
                check(oldest, answered);
                oldest += 1;
            }
            assert_eq!(oldest, next);
        }
    };
    thread::scope(|scope| {
        for seed in 0..4 {
            let one_stream = &one_stream;
            scope.spawn(move || {
                let rng = &mut fastrand::Rng::with_seed(seed);
                (0..if cfg!(miri) { 1 } else { 25 }).for_each(|_| one_stream(rng));
            });
        }
    });
    let [started, ended] = [counts.started, counts.ended].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(started, ended, "a dropped stream waits for its searches");
    assert!(started > if cfg!(miri) { 10 } else { 1000 }, "{started}");
}
