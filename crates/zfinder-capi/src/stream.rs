//! Streams of batches.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use zfinder::{Config, Results, RoiBatch, SearchedBatch, Stream};

use crate::batch::{BatchRois, Input};
use crate::failure::{Failure, Outcome};
use crate::registry::lock;
use crate::types::{zf_batch, zf_code};

/// A stream that several threads push to and pop from.
pub(crate) struct SharedStream {
    in_flight: Mutex<InFlight>,
    spare: Mutex<Spare>,
    /// Held by the thread that pops, because a stream wakes one waiter.
    popping: Mutex<()>,
    config: Config,
}

struct InFlight {
    stream: Stream,
    /// Kinds of the batches in flight, the oldest first.
    kinds: VecDeque<Kind>,
}

/// The number type of a batch.
#[derive(Clone, Copy)]
enum Kind {
    F32,
    F64,
}

/// Memory that the next batches use again.
#[derive(Default)]
struct Spare {
    batches_f32: Vec<RoiBatch>,
    batches_f64: Vec<RoiBatch>,
    results: Vec<Results>,
    rois: Vec<BatchRois>,
}

impl Spare {
    fn take_batch(&mut self, kind: Kind) -> RoiBatch {
        match kind {
            Kind::F32 => self.batches_f32.pop().unwrap_or_else(RoiBatch::with_f32),
            Kind::F64 => self.batches_f64.pop().unwrap_or_default(),
        }
    }

    fn give_batch(&mut self, kind: Kind, mut batch: RoiBatch) {
        batch.clear();
        match kind {
            Kind::F32 => self.batches_f32.push(batch),
            Kind::F64 => self.batches_f64.push(batch),
        }
    }
}

impl InFlight {
    fn check_room(&self) -> Outcome<()> {
        let most = self.stream.most_in_flight();
        if self.stream.len() < most {
            return Ok(());
        }
        Err(Failure::new(zf_code::ZF_FULL, format!("{most} batches are in flight: pop one first")))
    }
}

impl SharedStream {
    /// Shares a stream.
    pub(crate) fn new(stream: Stream, config: Config) -> Self {
        let in_flight = Mutex::new(InFlight { stream, kinds: VecDeque::new() });
        Self { in_flight, spare: Mutex::default(), popping: Mutex::default(), config }
    }

    /// Copies a batch and sends it on its way.
    ///
    /// # Safety
    /// As [`Input::read`].
    pub(crate) unsafe fn push(&self, batch: &zf_batch) -> Outcome<()> {
        lock(&self.in_flight).check_room()?;
        let mut rois = lock(&self.spare).rois.pop().unwrap_or_default();
        // SAFETY: the promise of this function's caller.
        let pushed = unsafe { self.push_with(batch, &mut rois) };
        lock(&self.spare).rois.push(rois);
        pushed
    }

    /// As [`SharedStream::push`], with memory for offsets and descriptors.
    ///
    /// # Safety
    /// As [`Input::read`].
    unsafe fn push_with(&self, batch: &zf_batch, rois: &mut BatchRois) -> Outcome<()> {
        // SAFETY: the promise of this function's caller.
        let input = unsafe { Input::read(batch, rois, &self.config) }?;
        let kind = if input.is_f32() { Kind::F32 } else { Kind::F64 };
        let mut copy = lock(&self.spare).take_batch(kind);
        // The copy is made without the lock, so that other threads push and pop meanwhile.
        let copied = input.append(rois, &mut copy);
        let mut in_flight = lock(&self.in_flight);
        if let Err(failure) = copied.and_then(|()| in_flight.check_room()) {
            drop(in_flight);
            lock(&self.spare).give_batch(kind, copy);
            return Err(failure);
        }
        let results = lock(&self.spare).results.pop().unwrap_or_default();
        // There is room, so no answer comes back.
        in_flight.stream.push_into(copy, results)?;
        in_flight.kinds.push_back(kind);
        Ok(())
    }

    /// Waits for the answers to the oldest batch. The memory of `results` serves a later batch.
    pub(crate) fn pop(&self, results: &mut Results) -> Outcome<()> {
        let (mut answered, kind) = self.wait()?;
        std::mem::swap(results, &mut answered.results);
        let mut spare = lock(&self.spare);
        spare.give_batch(kind, answered.batch);
        spare.results.push(answered.results);
        Ok(())
    }

    /// Waits for the oldest batch. Other threads push meanwhile.
    fn wait(&self) -> Outcome<(SearchedBatch, Kind)> {
        let _turn = lock(&self.popping);
        let next = THREAD_WAKER.with(|waker| {
            let context = &mut Context::from_waker(waker);
            loop {
                let mut in_flight = lock(&self.in_flight);
                let next = pin!(in_flight.stream.next_async()).poll(context);
                if let Poll::Ready(next) = next {
                    break next.zip(in_flight.kinds.pop_front());
                }
                drop(in_flight);
                thread::park();
            }
        });
        let (answered, kind) = next.ok_or_else(|| Failure::new(zf_code::ZF_EMPTY, "no batch is in flight"))?;
        Ok((answered?, kind))
    }
}

thread_local! {
    /// Made once a thread, so that a wait takes no memory.
    static THREAD_WAKER: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}

/// Ends `thread::park` of a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
