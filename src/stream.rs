//! Batches in flight: many are searched at once, and their answers come in the order of the
//! questions.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};

use crate::error::{Error, Result};
use crate::results::Results;
use crate::roi_batch::RoiBatch;

/// How a [`Stream`] works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// Most batches in flight, searched or waiting for the caller, 1 to 1024. Each has a thread,
    /// and on a GPU its own buffers; the thesis's two streams are 2. Each of several GPUs has at
    /// least two. The default is twice the number of cores, 2 to 32, because a GPU thread waits for
    /// the device part of its time.
    pub in_flight: usize,
}

impl StreamOptions {
    /// The largest [`StreamOptions::in_flight`].
    pub const MOST_IN_FLIGHT: usize = 1024;
}

impl Default for StreamOptions {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        Self { in_flight: (2 * cores).clamp(2, 32) }
    }
}

/// A batch with its answers.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedBatch {
    /// The batch that was pushed. [`RoiBatch::clear`] makes it ready for the next RoIs without new
    /// memory.
    pub batch: RoiBatch,
    /// The answers to its RoIs, in its order.
    pub results: Results,
}

/// Batches in flight: [`ZFinder::stream`](crate::ZFinder::stream).
/// [`Stream::push`] sends a batch. With [`StreamOptions::in_flight`] batches in flight, a push
/// first waits for the oldest batch and returns it. The iterator takes the batches in flight,
/// oldest first. It ends when none is left, and continues after another push. Answers come in the
/// order of pushes, and memory is constant for any number of batches. A failed batch is an error in
/// its place; other batches are unaffected.
/// A single thread can do all of this and never waits for itself. (With the CPU engine, do not
/// block on a stream within a task of rayon's global pool: the search needs that pool.) Dropping a
/// stream gives up what is in flight: batches that are being searched are finished first.
///
/// ```
/// use zfinder::{Detector, Engine, RoiBatch, Spacepoint, StreamOptions, ZFinder};
///
/// // A straight track from z = 10 i mm in each of six batches.
/// let batch = |i: u32, mut batch: RoiBatch| {
///     batch.clear();
///     let z = |rho: f64| f64::from(10 * i) + 0.5 * rho;
///     let point = |(layer, rho)| Spacepoint { rho, phi: 0.1, z: z(rho), layer };
///     batch.push(Default::default(), [(0, 50.5), (1, 88.5), (2, 122.5)].map(point));
///     batch
/// };
/// let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
/// let mut stream = finder.stream(StreamOptions { in_flight: 2 })?;
/// let mut found = Vec::new();
/// let mut spare = RoiBatch::new();
/// for i in 0..6 {
///     if let Some(answered) = stream.push(batch(i, spare))? {
///         found.push(answered.results.vertices().z_mm()[0].round());
///         spare = answered.batch; // its memory is used again
///     } else {
///         spare = RoiBatch::new();
///     }
/// }
/// for answered in &mut stream {
///     found.push(answered?.results.vertices().z_mm()[0].round());
/// }
/// assert_eq!(found, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
/// # Ok::<(), zfinder::Error>(())
/// ```
pub struct Stream {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// State that the caller and the workers share.
struct Shared {
    queue: Mutex<Queue>,
    /// A batch was pushed, or the stream ends.
    pushed: Condvar,
    /// The oldest batch in flight was answered.
    answered: Condvar,
}

/// Batches in flight. Once each batch has a place, the queue takes no more memory.
struct Queue {
    /// Batches that no worker has taken.
    jobs: VecDeque<Job>,
    /// A place for the answer to each batch in flight, the oldest first.
    answers: VecDeque<Option<Result<SearchedBatch>>>,
    /// The number of the oldest batch in flight.
    oldest: u64,
    /// Wakes the future that waits for the oldest batch.
    waker: Option<Waker>,
    is_closed: bool,
}

struct Job {
    number: u64,
    batch: RoiBatch,
    /// Their memory is used again.
    results: Results,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, now) = (self.most_in_flight(), self.len());
        f.debug_struct("Stream").field("most_in_flight", &most).field("in_flight", &now).finish_non_exhaustive()
    }
}

impl Shared {
    fn new(most_in_flight: usize) -> Self {
        let queue = Queue {
            jobs: VecDeque::with_capacity(most_in_flight),
            answers: VecDeque::with_capacity(most_in_flight),
            oldest: 0,
            waker: None,
            is_closed: false,
        };
        Self { queue: Mutex::new(queue), pushed: Condvar::new(), answered: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, batch: RoiBatch, results: Results) {
        let mut queue = self.lock();
        let number = queue.oldest + queue.answers.len() as u64;
        queue.answers.push_back(None);
        queue.jobs.push_back(Job { number, batch, results });
        drop(queue);
        self.pushed.notify_one();
    }

    /// Returns the answer to the oldest batch in flight; None when nothing is in flight.
    fn poll_next(&self, context: &Context<'_>) -> Poll<Option<Result<SearchedBatch>>> {
        let mut queue = self.lock();
        match queue.take_oldest() {
            Poll::Pending => {
                queue.waker = Some(context.waker().clone());
                Poll::Pending
            }
            ready => ready,
        }
    }

    /// As [`Shared::poll_next`], and blocks until the answer is there.
    fn wait_next(&self) -> Option<Result<SearchedBatch>> {
        let mut queue = self.lock();
        loop {
            if let Poll::Ready(answer) = queue.take_oldest() {
                return answer;
            }
            queue = self.answered.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Blocks until there is a batch to search; None when the stream ends.
    fn take_job(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.is_closed {
                return None;
            }
            queue = self.pushed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn answer(&self, number: u64, answer: Result<SearchedBatch>) {
        let mut queue = self.lock();
        let place = number - queue.oldest;
        queue.answers[place as usize] = Some(answer);
        if place == 0 {
            let waker = queue.waker.take();
            drop(queue);
            self.answered.notify_one();
            // Without the lock, because the future may go on at once, on this thread.
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Discards the batches that no worker has taken, and ends the workers.
    fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        queue.jobs.clear();
        drop(queue);
        self.pushed.notify_all();
    }
}

impl Queue {
    fn take_oldest(&mut self) -> Poll<Option<Result<SearchedBatch>>> {
        match self.answers.front_mut().map(Option::take) {
            None => Poll::Ready(None),
            Some(None) => Poll::Pending,
            Some(answer) => {
                self.answers.pop_front();
                self.oldest += 1;
                Poll::Ready(answer)
            }
        }
    }
}

impl Stream {
    /// Starts the threads. `find` answers a batch on the thread of the number that it is given,
    /// into results whose memory it uses again.
    pub(crate) fn start<F>(options: StreamOptions, devices: usize, find: F) -> Result<Self>
    where
        F: Fn(usize, &RoiBatch, &mut Results) -> Result<()> + Send + Sync + 'static,
    {
        if !(1..=StreamOptions::MOST_IN_FLIGHT).contains(&options.in_flight) {
            return Err(Error::Config {
                key: "in_flight",
                value: options.in_flight.to_string(),
                reason: format!("must lie in [1, {}]", StreamOptions::MOST_IN_FLIGHT),
            });
        }
        // One device with one worker is a choice; one that waits while another has two is not.
        let least = if devices > 1 { 2 * devices } else { 1 };
        let most_in_flight = options.in_flight.max(least);
        let mut stream = Self { shared: Arc::new(Shared::new(most_in_flight)), workers: Vec::new() };
        let find = Arc::new(find);
        for worker in 0..most_in_flight {
            let (find, shared) = (Arc::clone(&find), Arc::clone(&stream.shared));
            let work = move || work(&shared, |batch, results| find(worker, batch, results));
            let thread = thread::Builder::new().name(format!("zfinder stream {worker}"));
            stream.workers.push(thread.spawn(work).map_err(Error::Thread)?);
        }
        Ok(stream)
    }

    /// Most batches that are in flight at once.
    pub fn most_in_flight(&self) -> usize {
        self.workers.len()
    }

    /// Sends a batch. If the stream is full, first waits for the oldest batch and returns it.
    ///
    /// # Errors
    /// The errors of [`ZFinder::find_batch`](crate::ZFinder::find_batch), and [`Error::Panicked`],
    /// of the *oldest* batch. The pushed batch is in flight in any case.
    pub fn push(&mut self, batch: RoiBatch) -> Result<Option<SearchedBatch>> {
        self.push_into(batch, Results::new())
    }

    /// [`Stream::push`], with the results of an earlier batch: their memory is used again. With one
    /// thread, and a batch and results that were there before, the CPU engine takes no more memory.
    ///
    /// # Errors
    /// As [`Stream::push`].
    ///
    /// ```
    /// # use zfinder::{Detector, Engine, Results, RoiBatch, RoiDescriptor, StreamOptions, ZFinder};
    /// # let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
    /// let mut stream = finder.stream(StreamOptions { in_flight: 2 })?;
    /// let mut spare = (RoiBatch::new(), Results::new());
    /// for _ in 0..5 {
    ///     let (mut batch, results) = std::mem::take(&mut spare);
    ///     batch.clear();
    ///     batch.push(RoiDescriptor::default(), []);
    ///     if let Some(answered) = stream.push_into(batch, results)? {
    ///         assert_eq!(answered.results.len(), 1);
    ///         spare = (answered.batch, answered.results);
    ///     }
    /// }
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn push_into(&mut self, batch: RoiBatch, results: Results) -> Result<Option<SearchedBatch>> {
        let oldest = if self.is_full() { self.shared.wait_next() } else { None };
        self.shared.push(batch, results);
        oldest.transpose()
    }

    /// [`Stream::push`] as a future, for any executor. Dropped before it is done, it sends nothing
    /// and loses nothing but `batch`.
    ///
    /// # Errors
    /// As [`Stream::push`].
    pub async fn push_async(&mut self, batch: RoiBatch) -> Result<Option<SearchedBatch>> {
        let oldest = if self.is_full() { self.next_async().await } else { None };
        self.shared.push(batch, Results::new());
        oldest.transpose()
    }

    fn is_full(&self) -> bool {
        self.len() == self.most_in_flight()
    }

    /// The next answer as a future, for any executor; None when nothing is in flight. Dropped
    /// before it is done, it loses nothing. (Blocking: [`Stream::next`](Iterator::next).)
    pub async fn next_async(&mut self) -> Option<Result<SearchedBatch>> {
        poll_fn(|context| self.shared.poll_next(context)).await
    }

    /// The answers to all of these batches, one after the other, as many in flight as may be.
    ///
    /// ```
    /// # use zfinder::{Detector, Engine, Roi, RoiBatch, StreamOptions, ZFinder};
    /// # let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
    /// let batches = (0..5).map(|_| RoiBatch::from_iter([Roi::default()]));
    /// for answered in finder.stream(StreamOptions::default())?.run(batches) {
    ///     assert_eq!(answered?.results.len(), 1);
    /// }
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn run<I>(mut self, batches: I) -> impl Iterator<Item = Result<SearchedBatch>>
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

/// Takes batches in flight, oldest first. Blocks until the batch is answered.
impl Iterator for Stream {
    type Item = Result<SearchedBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.shared.wait_next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let in_flight = self.shared.lock().answers.len();
        (in_flight, Some(in_flight))
    }
}

/// `len()`: batches in flight.
impl ExactSizeIterator for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.close();
        for worker in self.workers.drain(..) {
            // A future that was woken on a worker may hold the stream: a thread cannot wait for
            // itself.
            if worker.thread().id() != thread::current().id() {
                let _ = worker.join();
            }
        }
    }
}

/// Answers batches until the stream ends.
fn work(shared: &Shared, find: impl Fn(&RoiBatch, &mut Results) -> Result<()>) {
    while let Some(Job { number, batch, mut results }) = shared.take_job() {
        // An engine holds what it has in mutexes that outlive a panic, and gives no half of an
        // answer.
        let found = catch_unwind(AssertUnwindSafe(|| find(&batch, &mut results)))
            .unwrap_or_else(|panic| Err(Error::Panicked { message: message(&*panic) }));
        shared.answer(number, found.map(|()| SearchedBatch { batch, results }));
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word").to_owned()
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
