//! Batches in flight: many are searched at once, and their answers come in the order of the questions.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::error::{Error, Result};
use crate::spacepoint::RoiBatch;
use crate::vertex::RoiResult;

/// How a [`Stream`] works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// Most batches in flight, 1 to 1024: being searched, or answered and not taken yet. Each has a thread, and on a GPU
    /// the buffers of a batch; the thesis's two streams are 2. On several GPUs there are at least two a GPU, whatever is
    /// asked for. By default twice as many as cores, 2 to 32: on a GPU, each waits for the device part of its time.
    pub in_flight: usize,
}

impl Default for StreamOptions {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        Self { in_flight: (2 * cores).clamp(2, 32) }
    }
}

/// Most batches in flight that can be asked for: each takes a thread.
const MOST_IN_FLIGHT: usize = 1024;

/// A batch with its answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The batch that was pushed. [`RoiBatch::clear`] makes it ready for the next RoIs without new memory.
    pub batch: RoiBatch,
    /// The answer to each of its RoIs, in its order.
    pub results: Vec<RoiResult>,
}

/// Batches in flight: [`ZFinder::stream`](crate::ZFinder::stream).
///
/// [`Stream::push`] a batch; once as many as [`StreamOptions::in_flight`] are on their way, every push first waits for
/// the oldest and returns it. Iterating takes what is still in flight, the oldest first: it ends when there is none, and
/// goes on after another push. Answers come in the order pushed, whatever is done first, and memory stays the same for
/// any number of batches. What is wrong with one batch is its answer; others are not touched by it.
///
/// A single thread can do all of this and never waits for itself. (With the CPU engine, do not block on a stream within
/// a task of rayon's global pool: the search needs that pool.) Dropping a stream gives up what is in flight: batches that
/// are being searched are finished first.
///
/// ```
/// use zfinder::{Engine, Roi, RoiBatch, Spacepoint, StreamOptions, ZFinder};
///
/// // A straight track from z = 10 i mm in each of six batches.
/// let batch = |i: u32, mut batch: RoiBatch| {
///     batch.clear();
///     let point = |(layer, rho)| Spacepoint { rho, phi: 0.1, z: f64::from(10 * i) + 0.5 * rho, layer };
///     batch.push(Default::default(), [(0, 50.5), (1, 88.5), (2, 122.5)].map(point));
///     batch
/// };
/// let finder = ZFinder::builder().engine(Engine::Cpu).build()?;
/// let mut stream = finder.stream(StreamOptions { in_flight: 2 })?;
/// let mut found = Vec::new();
/// let mut spare = RoiBatch::new();
/// for i in 0..6 {
///     if let Some(answered) = stream.push(batch(i, spare))? {
///         found.push(answered.results[0].vertices[0].z_mm.round());
///         spare = answered.batch; // its memory is used again
///     } else {
///         spare = RoiBatch::new();
///     }
/// }
/// for answered in &mut stream {
///     found.push(answered?.results[0].vertices[0].z_mm.round());
/// }
/// assert_eq!(found, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
/// # Ok::<(), zfinder::Error>(())
/// ```
pub struct Stream {
    /// None: no more work.
    jobs: Option<Sender<Job>>,
    waiting: Arc<Mutex<Receiver<Job>>>,
    /// Where the answers will be, the oldest first.
    in_flight: VecDeque<oneshot::AsyncReceiver<Result<Answered>>>,
    workers: Vec<JoinHandle<()>>,
}

struct Job {
    batch: RoiBatch,
    answer: oneshot::Sender<Result<Answered>>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, now) = (self.most_in_flight(), self.in_flight.len());
        f.debug_struct("Stream").field("most_in_flight", &most).field("in_flight", &now).finish_non_exhaustive()
    }
}

impl Stream {
    /// Starts the threads. `find` answers a batch on the thread of the number that it is given.
    pub(crate) fn start<F>(options: StreamOptions, devices: usize, find: F) -> Result<Self>
    where
        F: Fn(usize, &RoiBatch) -> Result<Vec<RoiResult>> + Send + Sync + 'static,
    {
        if !(1..=MOST_IN_FLIGHT).contains(&options.in_flight) {
            return Err(Error::Config {
                key: "in_flight",
                value: options.in_flight.to_string(),
                reason: format!("must lie in [1, {MOST_IN_FLIGHT}]"),
            });
        }
        // One device with one worker is a choice; one that waits while another has two is not.
        let least = if devices > 1 { 2 * devices } else { 1 };
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut stream = Self { jobs: Some(jobs), waiting, in_flight: VecDeque::new(), workers: Vec::new() };
        let find = Arc::new(find);
        for worker in 0..options.in_flight.max(least) {
            let (find, waiting) = (Arc::clone(&find), Arc::clone(&stream.waiting));
            let work = move || while work(&waiting, |batch| find(worker, batch)) {};
            let thread = thread::Builder::new().name(format!("zfinder stream {worker}"));
            stream.workers.push(thread.spawn(work).map_err(Error::Thread)?);
        }
        Ok(stream)
    }

    /// Most batches that are in flight at once.
    pub fn most_in_flight(&self) -> usize {
        self.workers.len()
    }

    /// Sends a batch on its way. With as many in flight as may be, first waits for the oldest and returns it.
    ///
    /// # Errors
    /// Those of [`ZFinder::find_batch`](crate::ZFinder::find_batch), and [`Error::Panicked`], of the *oldest* batch, in
    /// whose place they stand. The batch that is pushed is on its way all the same.
    pub fn push(&mut self, batch: RoiBatch) -> Result<Option<Answered>> {
        pollster::block_on(self.push_async(batch))
    }

    /// [`Stream::push`] as a future, for any executor. Dropped before it is done, it sends nothing and loses nothing but
    /// `batch`.
    ///
    /// # Errors
    /// As [`Stream::push`].
    pub async fn push_async(&mut self, batch: RoiBatch) -> Result<Option<Answered>> {
        let full = self.in_flight.len() == self.most_in_flight();
        let oldest = if full { self.next_async().await } else { None };
        let (answer, in_flight) = oneshot::async_channel();
        if let Some(jobs) = &self.jobs {
            // Without a worker to take it, the sender of its answer is dropped, which is an answer.
            let _ = jobs.send(Job { batch, answer });
        }
        self.in_flight.push_back(in_flight);
        oldest.transpose()
    }

    /// The next answer as a future, for any executor; None when nothing is in flight. Dropped before it is done, it loses
    /// nothing. (Blocking: [`Stream::next`](Iterator::next).)
    pub async fn next_async(&mut self) -> Option<Result<Answered>> {
        let answer = self.in_flight.front_mut()?.await;
        // Only now: a future that is dropped meanwhile leaves the answer where it is.
        self.in_flight.pop_front();
        Some(answer.unwrap_or_else(|_| Err(Error::Panicked { message: "the thread of the batch has ended".into() })))
    }

    /// The answers to all of these batches, one after the other, as many in flight as may be.
    ///
    /// ```
    /// # use zfinder::{Engine, Roi, RoiBatch, StreamOptions, ZFinder};
    /// # let finder = ZFinder::builder().engine(Engine::Cpu).build()?;
    /// let batches = (0..5).map(|_| RoiBatch::from_iter([Roi::default()]));
    /// for answered in finder.stream(StreamOptions::default())?.run(batches) {
    ///     assert_eq!(answered?.results.len(), 1);
    /// }
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn run<I>(mut self, batches: I) -> impl Iterator<Item = Result<Answered>>
    where
        I: IntoIterator<Item = RoiBatch>,
    {
        let mut batches = batches.into_iter().fuse();
        std::iter::from_fn(move || {
            for batch in batches.by_ref() {
                if let Some(answered) = self.push(batch).transpose() {
                    return Some(answered);
                }
            }
            self.next()
        })
    }
}

/// What is in flight, the oldest first; blocks until it is answered.
impl Iterator for Stream {
    type Item = Result<Answered>;

    fn next(&mut self) -> Option<Self::Item> {
        pollster::block_on(self.next_async())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.in_flight.len(), Some(self.in_flight.len()))
    }
}

/// `len()`: batches in flight.
impl ExactSizeIterator for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        self.jobs = None;
        // What nobody has begun is not begun any more.
        while lock(&self.waiting).try_recv().is_ok() {}
        for worker in self.workers.drain(..) {
            // A future that was woken on a worker may hold the stream: a thread cannot wait for itself.
            if worker.thread().id() != thread::current().id() {
                let _ = worker.join();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one batch, when there is one. False: there will be none any more.
fn work(waiting: &Mutex<Receiver<Job>>, find: impl FnOnce(&RoiBatch) -> Result<Vec<RoiResult>>) -> bool {
    // One worker waits for a batch and the others for their turn to wait.
    let Ok(Job { batch, answer }) = lock(waiting).recv() else { return false };
    // An engine holds what it has in mutexes that outlive a panic, and gives no half of an answer.
    let results = catch_unwind(AssertUnwindSafe(|| find(&batch)))
        .unwrap_or_else(|panic| Err(Error::Panicked { message: message(&*panic) }));
    // Nobody takes it when the stream was dropped.
    let _ = answer.send(results.map(|results| Answered { batch, results }));
    true
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word").to_owned()
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
