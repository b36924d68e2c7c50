//! Joins requests to batches, and distributes them to threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use zfinder::CancellationToken;

use crate::answer::OutputSelection;
use crate::device::{Device, Host};
use crate::error::{Error, Result};
use crate::limits::{BATCH_SPACEPOINTS, CPU_BATCH_ROIS, GPU_BATCH_ROIS, QUEUE_BYTES, QUEUE_REQUESTS};
use crate::queue::{ClientId, FairQueue};
use crate::refusal::{Reason, Refusal};
use crate::rois::RequestRois;
use crate::sending::SendLimits;
use crate::statistics::{Durations, Statistics};
use crate::tensor::Tensor;
use crate::worker::Worker;

/// Options for joining requests to batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    /// How long a request waits for others to join its batch while a thread is idle. 0 disables
    /// waiting. Requests that arrive while all threads are busy always join.
    pub max_delay: Duration,
    /// Number of RoIs at which a batch does not wait for more; by default 512 on the CPU and 2,048
    /// on a GPU. A larger request is searched by itself. Smaller batches overlap better with the
    /// transport of messages.
    pub batch_rois: Option<usize>,
    /// Number of spacepoints at which a batch does not wait for more.
    pub batch_spacepoints: usize,
    /// Most waiting requests. One more is refused.
    pub queue_requests: usize,
    /// Most bytes of waiting tensors. A request above is refused, unless the queue is empty.
    pub queue_bytes: usize,
    /// Batches in flight on each device, and in addition heavy requests; each has a thread. By
    /// default on the CPU half as many batches as cores, 2 to 8, and as many heavy requests as
    /// cores; on a GPU of both twice as many as cores, 2 to 16.
    pub in_flight: Option<usize>,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            max_delay: Duration::ZERO,
            batch_rois: None,
            batch_spacepoints: BATCH_SPACEPOINTS,
            queue_requests: QUEUE_REQUESTS,
            queue_bytes: QUEUE_BYTES,
            in_flight: None,
        }
    }
}

impl BatchOptions {
    /// Returns the RoIs of a batch on these devices.
    pub(crate) fn batch_rois_on(&self, devices: &[Arc<Device>]) -> usize {
        let is_gpu = devices.iter().any(|device| device.is_gpu);
        self.batch_rois.unwrap_or(if is_gpu { GPU_BATCH_ROIS } else { CPU_BATCH_ROIS })
    }

    /// Returns whether a request is larger than a batch.
    fn is_large(&self, request: &RequestRois) -> bool {
        request.len() > self.batch_rois.unwrap_or(CPU_BATCH_ROIS) || request.spacepoints() > self.batch_spacepoints
    }
}

/// Batches in flight on a device.
fn in_flight(options: &BatchOptions, device: &Device) -> usize {
    let cores = thread::available_parallelism().map_or(2, usize::from);
    options.in_flight.unwrap_or(if device.is_gpu { (2 * cores).clamp(2, 16) } else { (cores / 2).clamp(2, 8) })
}

/// Heavy requests in flight on a device.
fn heavy_in_flight(options: &BatchOptions, device: &Device, host: &Host) -> usize {
    options.in_flight.unwrap_or(if device.is_gpu { in_flight(options, device) } else { host.threads() })
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) tensors: Vec<Tensor>,
    /// A warning about the units or the layers of the request's spacepoints.
    pub(crate) warning: Option<String>,
}

/// An answer, or the reason for refusing a request.
pub(crate) type Outcome = Result<Answer, Refusal>;

/// A waiting request.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) client: ClientId,
    pub(crate) rois: RequestRois,
    pub(crate) wanted: OutputSelection,
    pub(crate) arrived: Instant,
    pub(crate) deadline: Option<Instant>,
    /// Cancelled when the request ends.
    pub(crate) cancellation: CancellationToken,
    pub(crate) sending: Arc<SendLimits>,
    pub(crate) answer: oneshot::Sender<Outcome>,
}

/// Which requests a thread searches. Some threads take no large ones and heavy ones have threads of
/// their own, so that no other request waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Batches of requests.
    Light,
    /// Requests that are larger than a batch, one by one. Without any, batches.
    Large,
    /// Requests with much work, one by one.
    Heavy,
}

/// Requests of one model that are searched together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) model: usize,
    pub(crate) jobs: Vec<Job>,
    /// Time at which the last job joined.
    pub(crate) begun: Option<Instant>,
}

/// The queues of all models, and the threads that serve them.
pub(crate) struct Scheduler {
    options: BatchOptions,
    queues: Mutex<Queues>,
    /// Wakes the threads that search batches.
    wake: Condvar,
    /// Wakes the threads that search heavy requests.
    wake_heavy: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
    pub(crate) devices: Vec<Arc<Device>>,
    pub(crate) statistics: Arc<[Statistics]>,
}

#[derive(Debug, Default)]
struct Queues {
    models: Vec<ModelQueue>,
    /// Requests that are larger than a batch, with their models.
    large: FairQueue<(usize, Job)>,
    /// Heavy requests, with their models.
    heavy: FairQueue<(usize, Job)>,
    /// The model that is checked first: models take turns.
    next: usize,
    requests: usize,
    bytes: usize,
    /// Whether the server drains, so that requests do not wait for others.
    is_draining: bool,
    is_stopped: bool,
}

#[derive(Debug, Default)]
struct ModelQueue {
    jobs: FairQueue<Job>,
    rois: usize,
    spacepoints: usize,
    /// Arrival of the first request, or earlier.
    since: Option<Instant>,
}

impl Scheduler {
    /// Starts the threads of all devices.
    pub(crate) fn start(mut options: BatchOptions, devices: Vec<Arc<Device>>, host: Host) -> Result<Arc<Self>> {
        options.batch_rois = Some(options.batch_rois_on(&devices));
        let models = host.models();
        let queues = Queues { models: (0..models).map(|_| ModelQueue::default()).collect(), ..Queues::default() };
        let scheduler = Arc::new(Self {
            options,
            queues: Mutex::new(queues),
            wake: Condvar::new(),
            wake_heavy: Condvar::new(),
            threads: Mutex::default(),
            devices,
            statistics: (0..models).map(|_| Statistics::default()).collect(),
        });
        let host = Arc::new(host);
        for device in &scheduler.devices {
            let light = in_flight(&scheduler.options, device);
            let heavy = heavy_in_flight(&scheduler.options, device, &host);
            // More large searches at a time gain nothing, and small requests wait for cores.
            let small_only = light / 2;
            for number in 0..light + heavy {
                let weight = match number {
                    _ if number >= light => Weight::Heavy,
                    _ if number >= small_only => Weight::Large,
                    _ => Weight::Light,
                };
                let statistics = Arc::clone(&scheduler.statistics);
                let worker = Worker::new(number, weight, Arc::clone(device), Arc::clone(&host), statistics);
                let queues = Arc::clone(&scheduler);
                let thread = thread::Builder::new().name(format!("zfinder search {number}"));
                let thread = thread.spawn(move || worker.run(&queues)).map_err(Error::System)?;
                scheduler.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
            }
        }
        Ok(scheduler)
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request of a model. `job.answer` receives its answer or refusal in every case.
    pub(crate) fn submit(&self, model: usize, job: Job) {
        let mut queues = self.queues();
        if let Err(refusal) = queues.admit(&job, &self.options) {
            drop(queues);
            // The receiver is gone if the client has left.
            let _ = job.answer.send(Err(refusal));
            return;
        }
        queues.requests += 1;
        queues.bytes += job.rois.bytes();
        self.statistics[model].pending.add(1);
        if self.options.is_large(&job.rois) {
            queues.large.push(job.client, job.rois.work(), (model, job));
            drop(queues);
            // Some of the threads do not take it.
            self.wake.notify_all();
            return;
        }
        let queue = &mut queues.models[model];
        queue.rois += job.rois.len();
        queue.spacepoints += job.rois.spacepoints();
        queue.since.get_or_insert(job.arrived);
        queue.jobs.push(job.client, job.rois.work(), job);
        drop(queues);
        self.wake.notify_one();
    }

    /// Gives a request to the threads for heavy ones.
    pub(crate) fn put_back(&self, model: usize, job: Job) {
        let mut queues = self.queues();
        if queues.is_stopped {
            drop(queues);
            let _ = job.answer.send(Err(Refusal::stopping()));
            return;
        }
        queues.requests += 1;
        queues.bytes += job.rois.bytes();
        self.statistics[model].pending.add(1);
        queues.heavy.push(job.client, job.rois.work(), (model, job));
        drop(queues);
        self.wake_heavy.notify_one();
    }

    /// Waits for the next batch. False: the server has ended.
    pub(crate) fn next_batch(&self, weight: Weight, batch: &mut Batch) -> bool {
        batch.jobs.clear();
        let mut queues = self.queues();
        loop {
            let now = Instant::now();
            if weight != Weight::Light {
                queues.take_one(weight, now, &self.statistics, batch);
            }
            let mut next_due = None;
            if weight != Weight::Heavy && batch.jobs.is_empty() {
                next_due = queues.take_due(now, &self.options, &self.statistics, batch);
            }
            if !batch.jobs.is_empty() {
                // Other threads may find work left.
                if weight != Weight::Heavy && queues.requests > 0 {
                    self.wake.notify_one();
                }
                return true;
            }
            if queues.is_stopped {
                return false;
            }
            let wake = if weight == Weight::Heavy { &self.wake_heavy } else { &self.wake };
            queues = match next_due {
                Some(due) => {
                    let wait = due.saturating_duration_since(now);
                    wake.wait_timeout(queues, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => wake.wait(queues).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Searches waiting requests at once. From now on no request waits for others.
    pub(crate) fn drain(&self) {
        self.queues().is_draining = true;
        self.wake.notify_all();
    }

    /// Refuses waiting requests and all later ones, and ends the threads after their batches.
    pub(crate) fn stop(&self) {
        let mut queues = self.queues();
        queues.is_stopped = true;
        let mut refused = Vec::new();
        for (queue, statistics) in queues.models.iter_mut().zip(self.statistics.iter()) {
            while let Some(job) = queue.jobs.pop_if(|_| true) {
                statistics.pending.subtract(1);
                refused.push(job);
            }
            *queue = ModelQueue::default();
        }
        let Queues { large, heavy, .. } = &mut *queues;
        for queue in [large, heavy] {
            while let Some((model, job)) = queue.pop_if(|_| true) {
                self.statistics[model].pending.subtract(1);
                refused.push(job);
            }
        }
        (queues.requests, queues.bytes) = (0, 0);
        drop(queues);
        self.wake.notify_all();
        self.wake_heavy.notify_all();
        for job in refused {
            let _ = job.answer.send(Err(Refusal::stopping()));
        }
        for device in &self.devices {
            device.close();
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A worker catches panics of the engine; another panic has no receiver.
            let _ = thread.join();
        }
    }
}

impl Queues {
    /// Checks a request against the limits of the queue.
    fn admit(&self, job: &Job, options: &BatchOptions) -> Result<(), Refusal> {
        if self.is_stopped {
            return Err(Refusal::stopping());
        }
        let full = |what: String, option| {
            let message =
                format!("the queue is full: {what}; try again later, or start zfinder serve with a larger {option}");
            Err(Refusal::new(Reason::Full, message))
        };
        if self.requests >= options.queue_requests {
            return full(format!("{} requests wait", self.requests), "--queue");
        }
        if self.requests > 0 && self.bytes.saturating_add(job.rois.bytes()) > options.queue_bytes {
            return full(format!("{} bytes wait", self.bytes), "--queue-mib");
        }
        Ok(())
    }

    /// Returns a model whose batch is due, or else the time at which the first one will be due.
    fn due(&self, now: Instant, options: &BatchOptions) -> (Option<usize>, Option<Instant>) {
        let mut next_due = None;
        let batch_rois = options.batch_rois.unwrap_or(CPU_BATCH_ROIS);
        for turn in 0..self.models.len() {
            let model = (self.next + turn) % self.models.len();
            let queue = &self.models[model];
            let Some(since) = queue.since else { continue };
            let due = since + options.max_delay;
            let is_full = queue.rois >= batch_rois || queue.spacepoints >= options.batch_spacepoints;
            if is_full || due <= now || self.is_draining {
                return (Some(model), None);
            }
            next_due = Some(next_due.map_or(due, |next: Instant| next.min(due)));
        }
        (None, next_due)
    }

    /// Takes the batch that is due, unless all of its requests were cancelled. Without one, returns
    /// the time at which the next one will be due.
    fn take_due(
        &mut self,
        now: Instant,
        options: &BatchOptions,
        statistics: &[Statistics],
        batch: &mut Batch,
    ) -> Option<Instant> {
        loop {
            match self.due(now, options) {
                (Some(model), _) => self.take(model, now, options, &statistics[model], batch),
                (None, next_due) => return next_due,
            }
            if !batch.jobs.is_empty() {
                return None;
            }
        }
    }

    /// Takes a large or heavy request as a batch, if one waits that was not cancelled.
    fn take_one(&mut self, weight: Weight, now: Instant, statistics: &[Statistics], batch: &mut Batch) {
        let queue = if weight == Weight::Heavy { &mut self.heavy } else { &mut self.large };
        while let Some((model, job)) = queue.pop_if(|_| true) {
            (batch.model, batch.begun) = (model, Some(now));
            self.requests -= 1;
            self.bytes -= job.rois.bytes();
            statistics[model].pending.subtract(1);
            if let Some(job) = job.unless_over(now, &statistics[model]) {
                batch.jobs.push(job);
                break;
            }
        }
    }

    /// Takes a batch from the queue of a model: at least one request, unless all were cancelled.
    fn take(&mut self, model: usize, now: Instant, options: &BatchOptions, statistics: &Statistics, batch: &mut Batch) {
        batch.model = model;
        batch.begun = Some(now);
        batch.jobs.clear();
        self.next = (model + 1) % self.models.len();
        let queue = &mut self.models[model];
        let batch_rois = options.batch_rois.unwrap_or(CPU_BATCH_ROIS);
        let (mut rois, mut spacepoints) = (0, 0);
        loop {
            let fits = |job: &Job| {
                rois + job.rois.len() <= batch_rois && spacepoints + job.rois.spacepoints() <= options.batch_spacepoints
            };
            let Some(job) = queue.jobs.pop_if(fits) else { break };
            self.requests -= 1;
            self.bytes -= job.rois.bytes();
            queue.rois -= job.rois.len();
            queue.spacepoints -= job.rois.spacepoints();
            statistics.pending.subtract(1);
            if let Some(job) = job.unless_over(now, statistics) {
                rois += job.rois.len().max(1);
                spacepoints += job.rois.spacepoints();
                batch.jobs.push(job);
            }
        }
        if queue.jobs.len() == 0 {
            queue.since = None;
        }
    }
}

impl Job {
    /// Returns the request, unless its client has left or its deadline has passed.
    fn unless_over(self, now: Instant, statistics: &Statistics) -> Option<Self> {
        if self.answer.is_closed() {
            statistics.cancelled.add(1);
        } else if self.deadline.is_some_and(|deadline| deadline <= now) {
            let _ = self.answer.send(Err(Refusal::expired()));
        } else {
            return Some(self);
        }
        None
    }

    /// Sends the answer, and counts it. Refuses the request if too many answers wait to be sent.
    pub(crate) fn succeed(self, mut answer: Answer, durations: &Durations, statistics: &Statistics) {
        let bytes = answer.tensors.iter().map(|tensor| tensor.data.len()).sum();
        let held = match self.sending.take(bytes) {
            Ok(held) => held,
            Err(refusal) => {
                let _ = self.answer.send(Err(refusal));
                return;
            }
        };
        // The tensors of an answer are dropped together.
        if let Some(tensor) = answer.tensors.iter_mut().max_by_key(|tensor| tensor.data.len()) {
            tensor.data = held.attach(std::mem::take(&mut tensor.data));
        }
        statistics.rois.add(self.rois.len() as u64);
        statistics.spacepoints.add(self.rois.spacepoints() as u64);
        statistics.succeed(durations, self.arrived.elapsed());
        let _ = self.answer.send(Ok(answer));
    }
}
