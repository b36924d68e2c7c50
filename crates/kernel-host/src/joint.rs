//! Joint submissions: work of several callers goes to the device together.
//!
//! A submission keeps a device busy for a while, however small it is. So the work of callers that
//! come while the device works is gathered in one *load*, which leaves when the device has room.
//! The first caller does not wait: its load leaves at once. There is no timer.
//!
//! No caller depends on another one that has to be polled or scheduled. Each goes on by itself: it
//! looks whether its load can leave, or waits for what is on the device. Of the threads of a load
//! one waits in the driver, and the others sleep.

use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use futures_intrusive::sync::ManualResetEvent;

/// A device that works on loads.
pub trait JointDevice {
    /// Work of several callers, and the buffers that it lies in.
    type Load;
    /// A load on the device.
    type Submission: Clone;
    /// Answers to all work of a load.
    type Answers;
    /// An error of the device.
    type Error;

    /// Returns about how much work a load is, in any unit.
    fn size(&self, load: &Self::Load) -> u64;

    /// Submits a load.
    ///
    /// # Errors
    /// The device's. Every caller of the load gets a failure then.
    fn submit(&self, load: &mut Self::Load) -> Result<Self::Submission, Self::Error>;

    /// Blocks until a load is done.
    ///
    /// # Errors
    /// The device's.
    fn wait(&self, submission: &Self::Submission) -> Result<(), Self::Error>;

    /// [`JointDevice::wait`] as a future.
    fn wait_async(&self, submission: &Self::Submission) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Reads the answers of a load that is done.
    ///
    /// # Errors
    /// The device's.
    fn read(&self, load: Self::Load) -> Result<Self::Answers, Self::Error>;
}

/// Loads that are gathered, and loads on the device. At most two are on the device at once. A load
/// that takes more work follows another one only if it is at least half as large: a device that
/// waits a little for the next load costs less than many small ones.
#[derive(Debug)]
pub struct JointQueue<D: JointDevice> {
    state: Mutex<State<D>>,
    /// A load was opened, or could not be.
    opened: Condvar,
}

struct State<D: JointDevice> {
    loads: Vec<Entry<D>>,
    next: u64,
    /// The load that takes more work.
    open: Option<u64>,
    /// A caller opens a load.
    is_opening: bool,
}

struct Entry<D: JointDevice> {
    number: u64,
    stage: Stage<D>,
    size: u64,
    /// Callers that have not left.
    members: usize,
    /// The first caller and no other.
    is_single: bool,
    /// Callers that still write their work.
    writing: usize,
    /// A caller panicked while it wrote.
    is_spoilt: bool,
    /// A thread waits for the device.
    is_watched: bool,
    changed: Arc<Changed>,
}

enum Stage<D: JointDevice> {
    Gathering(D::Load),
    Submitting,
    OnDevice(D::Load, D::Submission),
    /// Done, and not yet read.
    Done(D::Load),
    Reading,
    Answered(Arc<D::Answers>),
    /// The error, for a single caller.
    Failed(Option<D::Error>),
}

/// Tells the callers of a load about it: threads of every change, futures of one each.
#[derive(Debug)]
struct Changed {
    threads: Condvar,
    /// Nobody writes to it.
    written: ManualResetEvent,
    /// It was submitted, or failed.
    left: ManualResetEvent,
    /// It has answers, or failed.
    ended: ManualResetEvent,
}

impl Default for Changed {
    fn default() -> Self {
        let event = || ManualResetEvent::new(false);
        Self { threads: Condvar::new(), written: event(), left: event(), ended: event() }
    }
}

impl<D: JointDevice> std::fmt::Debug for State<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("loads", &self.loads.len()).field("open", &self.open).finish_non_exhaustive()
    }
}

impl<D: JointDevice> Default for JointQueue<D> {
    fn default() -> Self {
        let state = State { loads: Vec::new(), next: 0, open: None, is_opening: false };
        Self { state: Mutex::new(state), opened: Condvar::new() }
    }
}

/// A caller's place in a load. Dropped, the caller leaves the load.
#[derive(Debug)]
pub struct JointTicket<'a, D: JointDevice> {
    queue: &'a JointQueue<D>,
    number: u64,
    changed: Arc<Changed>,
    is_writing: bool,
    is_watching: bool,
}

/// The next step of a caller.
enum Step<D: JointDevice> {
    /// Submit this load, which may be one of other callers.
    Submit(u64, D::Load),
    /// Read the own load.
    Read(D::Load),
    /// Wait for a load on the device.
    Wait(u64, D::Submission),
    /// Wait until others have written to the own load.
    WaitForWriters,
    /// Wait until this load was submitted or failed.
    WaitForSubmission(Arc<Changed>),
    /// Wait until another caller has read the own load.
    WaitForReader,
    End(Result<Option<Arc<D::Answers>>, D::Error>),
}

impl<D: JointDevice> JointQueue<D> {
    fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds work to the open load if `join` finds room there, or to a new load. `open` must not
    /// wait for other callers; None where it has no memory for a load. Both return what the caller
    /// needs to write its work, after which it calls [`JointTicket::written`].
    ///
    /// # Errors
    /// The errors of `open`.
    pub fn board<J>(
        &self,
        device: &D,
        mut join: impl FnMut(&mut D::Load) -> Option<J>,
        open: impl FnOnce() -> Result<Option<(D::Load, J)>, D::Error>,
    ) -> Result<Option<(JointTicket<'_, D>, J)>, D::Error> {
        let mut state = self.lock();
        loop {
            if let Some(entry) = state.open_entry()
                && let Stage::Gathering(load) = &mut entry.stage
                && let Some(joined) = join(load)
            {
                entry.size = device.size(load);
                (entry.members, entry.writing, entry.is_single) = (entry.members + 1, entry.writing + 1, false);
                entry.changed.written.reset();
                return Ok(Some((self.ticket(entry), joined)));
            }
            if !state.is_opening {
                break;
            }
            state = self.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_opening = true;
        // A load without room for this caller leaves without it.
        state.open = None;
        drop(state);
        let opening = Opening(self);
        let opened = open();
        let mut state = self.lock();
        let boarded = opened.map(|opened| {
            let (load, joined) = opened?;
            let (number, size) = (state.next, device.size(&load));
            state.next += 1;
            state.open = Some(number);
            let entry = Entry {
                number,
                stage: Stage::Gathering(load),
                size,
                members: 1,
                is_single: true,
                writing: 1,
                is_spoilt: false,
                is_watched: false,
                changed: Arc::default(),
            };
            let ticket = self.ticket(&entry);
            state.loads.push(entry);
            Some((ticket, joined))
        });
        drop(state);
        drop(opening);
        boarded
    }

    fn ticket(&self, entry: &Entry<D>) -> JointTicket<'_, D> {
        let (number, changed) = (entry.number, Arc::clone(&entry.changed));
        JointTicket { queue: self, number, changed, is_writing: true, is_watching: false }
    }

    /// Returns the number of loads.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.lock().loads.len()
    }
}

/// The opening of a load, which ends even if it panics.
struct Opening<'a, D: JointDevice>(&'a JointQueue<D>);

impl<D: JointDevice> Drop for Opening<'_, D> {
    fn drop(&mut self) {
        self.0.lock().is_opening = false;
        self.0.opened.notify_all();
    }
}

impl<D: JointDevice> Entry<D> {
    fn end_writing(&mut self) {
        self.writing -= 1;
        if self.writing == 0 {
            self.changed.written.set();
            self.changed.threads.notify_all();
        }
    }
}

impl<D: JointDevice> State<D> {
    fn open_entry(&mut self) -> Option<&mut Entry<D>> {
        let open = self.open?;
        self.loads.iter_mut().find(|entry| entry.number == open)
    }

    /// The entry of a caller, which is there as long as its caller.
    fn entry(&mut self, number: u64) -> Option<&mut Entry<D>> {
        self.loads.iter_mut().find(|entry| entry.number == number)
    }

    /// Takes the oldest load that may leave. A load for which the device has room takes no more
    /// work, even if its callers still write.
    fn take_next(&mut self) -> Option<(u64, D::Load)> {
        let mut there =
            self.loads.iter().filter(|entry| matches!(entry.stage, Stage::Submitting | Stage::OnDevice(..)));
        let least = match (there.next(), there.next()) {
            (None, _) => 0,
            (Some(first), None) => first.size / 2,
            _ => return None,
        };
        if self.open_entry().is_some_and(|open| open.size >= least) {
            self.open = None;
        }
        let open = self.open;
        let may_leave = |entry: &&mut Entry<D>| {
            matches!(entry.stage, Stage::Gathering(_)) && entry.writing == 0 && Some(entry.number) != open
        };
        loop {
            let entry = self.loads.iter_mut().find(may_leave)?;
            let (number, is_spoilt) = (entry.number, entry.is_spoilt);
            match std::mem::replace(&mut entry.stage, Stage::Submitting) {
                Stage::Gathering(load) if !is_spoilt => return Some((number, load)),
                _ => self.change(number, Stage::Failed(None)),
            }
        }
    }

    /// Puts a load in the next stage.
    fn change(&mut self, number: u64, stage: Stage<D>) {
        let Some(entry) = self.entry(number) else { return };
        let has_ended = matches!(stage, Stage::Answered(_) | Stage::Failed(_));
        let has_left = has_ended || matches!(stage, Stage::OnDevice(..));
        entry.stage = stage;
        entry.changed.threads.notify_all();
        if has_left {
            entry.changed.left.set();
        }
        if has_ended {
            entry.changed.ended.set();
        }
    }

    /// The device is done with a load, or the wait for it failed.
    fn finish(&mut self, number: u64, failure: Option<D::Error>) {
        let Some(entry) = self.entry(number).filter(|entry| matches!(entry.stage, Stage::OnDevice(..))) else { return };
        let stage = match (std::mem::replace(&mut entry.stage, Stage::Reading), failure) {
            (Stage::OnDevice(load, _), None) => Stage::Done(load),
            (_, failure) => Stage::Failed(failure),
        };
        self.change(number, stage);
    }

    /// Returns what a caller of this load does next.
    fn step(&mut self, number: u64) -> Step<D> {
        if let Some((number, load)) = self.take_next() {
            return Step::Submit(number, load);
        }
        let Some(entry) = self.entry(number) else { return Step::End(Ok(None)) };
        match &mut entry.stage {
            Stage::Done(_) => match std::mem::replace(&mut entry.stage, Stage::Reading) {
                Stage::Done(load) => Step::Read(load),
                _ => Step::WaitForReader,
            },
            Stage::Answered(answers) => Step::End(Ok(Some(Arc::clone(answers)))),
            Stage::Failed(error) => match error.take().filter(|_| entry.is_single) {
                Some(error) => Step::End(Err(error)),
                None => Step::End(Ok(None)),
            },
            Stage::OnDevice(_, submission) => Step::Wait(number, submission.clone()),
            Stage::Submitting => Step::WaitForSubmission(Arc::clone(&entry.changed)),
            Stage::Reading => Step::WaitForReader,
            Stage::Gathering(_) => {
                let there = |entry: &Entry<D>| match &entry.stage {
                    Stage::OnDevice(_, submission) => Some(Step::Wait(entry.number, submission.clone())),
                    Stage::Submitting => Some(Step::WaitForSubmission(Arc::clone(&entry.changed))),
                    _ => None,
                };
                // With nothing on the device the load would leave if it were written.
                self.loads.iter().find_map(there).unwrap_or(Step::WaitForWriters)
            }
        }
    }
}

impl<D: JointDevice> JointTicket<'_, D> {
    /// The caller has written its work, and tells the load about it. Submits the load if it may
    /// leave.
    pub fn written(&mut self, device: &D, tell: impl FnOnce(&mut D::Load)) {
        let mut state = self.queue.lock();
        self.is_writing = false;
        if let Some(entry) = state.entry(self.number) {
            entry.end_writing();
            if let Stage::Gathering(load) = &mut entry.stage {
                tell(load);
            }
        }
        if let Some((number, load)) = state.take_next() {
            drop(state);
            self.submit(device, number, load);
        }
    }

    fn submit(&self, device: &D, number: u64, mut load: D::Load) {
        let mut moving = Moving { queue: self.queue, number, stage: None };
        moving.stage = Some(match device.submit(&mut load) {
            Ok(submission) => Stage::OnDevice(load, submission),
            Err(error) => Stage::Failed(Some(error)),
        });
    }

    fn read(&self, device: &D, load: D::Load) {
        let mut moving = Moving { queue: self.queue, number: self.number, stage: None };
        moving.stage = Some(match device.read(load) {
            Ok(answers) => Stage::Answered(Arc::new(answers)),
            Err(error) => Stage::Failed(Some(error)),
        });
    }

    /// After waiting for a load.
    fn after_wait(&mut self, number: u64, waited: Result<(), D::Error>) {
        let mut state = self.queue.lock();
        if let Some(entry) = state.entry(self.number).filter(|_| self.is_watching) {
            entry.is_watched = false;
        }
        self.is_watching = false;
        state.finish(number, waited.err());
    }

    /// Blocks until the load has answers. None if it failed with several callers: then each is to
    /// repeat its work alone.
    ///
    /// # Errors
    /// The device's, to a caller that is alone in its load.
    pub fn wait(&mut self, device: &D) -> Result<Option<Arc<D::Answers>>, D::Error> {
        loop {
            let mut state = self.queue.lock();
            match state.step(self.number) {
                Step::Submit(number, load) => {
                    drop(state);
                    self.submit(device, number, load);
                }
                Step::Read(load) => {
                    drop(state);
                    self.read(device, load);
                }
                Step::End(end) => return end,
                Step::Wait(number, submission) => {
                    let Some(entry) = state.entry(self.number).filter(|entry| !entry.is_watched) else {
                        drop(self.changed.threads.wait(state));
                        continue;
                    };
                    (entry.is_watched, self.is_watching) = (true, true);
                    drop(state);
                    let waited = device.wait(&submission);
                    self.after_wait(number, waited);
                }
                Step::WaitForSubmission(changed) => drop(changed.threads.wait(state)),
                Step::WaitForWriters | Step::WaitForReader => drop(self.changed.threads.wait(state)),
            }
        }
    }

    /// [`JointTicket::wait`] as a future. It may be dropped at any time.
    ///
    /// # Errors
    /// As [`JointTicket::wait`].
    pub async fn wait_async(&mut self, device: &D) -> Result<Option<Arc<D::Answers>>, D::Error> {
        loop {
            let step = self.queue.lock().step(self.number);
            match step {
                Step::Submit(number, load) => self.submit(device, number, load),
                Step::Read(load) => self.read(device, load),
                Step::End(end) => return end,
                Step::Wait(number, submission) => {
                    let waited = device.wait_async(&submission).await;
                    self.after_wait(number, waited);
                }
                Step::WaitForWriters => self.changed.written.wait().await,
                Step::WaitForSubmission(changed) => changed.left.wait().await,
                Step::WaitForReader => self.changed.ended.wait().await,
            }
        }
    }
}

/// A load between two stages. It fails if the thread that moves it panics.
struct Moving<'a, D: JointDevice> {
    queue: &'a JointQueue<D>,
    number: u64,
    stage: Option<Stage<D>>,
}

impl<D: JointDevice> Drop for Moving<'_, D> {
    fn drop(&mut self) {
        let stage = self.stage.take().unwrap_or(Stage::Failed(None));
        self.queue.lock().change(self.number, stage);
    }
}

impl<D: JointDevice> Drop for JointTicket<'_, D> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        let Some(entry) = state.entry(self.number) else { return };
        entry.members -= 1;
        if self.is_writing {
            // It panicked. Others repeat their work alone.
            entry.is_spoilt = true;
            entry.end_writing();
        }
        if self.is_watching {
            entry.is_watched = false;
            entry.changed.threads.notify_all();
        }
        if entry.members == 0 {
            // Another caller may be about to submit it, and others may wait for that.
            entry.changed.left.set();
            entry.changed.threads.notify_all();
            // The device may still work on it: the load's buffers are not given to others.
            state.open = state.open.filter(|&open| open != self.number);
            let number = self.number;
            let gone = state.loads.iter().position(|entry| entry.number == number).map(|at| state.loads.remove(at));
            drop(state);
            drop(gone);
        }
    }
}

#[cfg(test)]
#[path = "joint_tests.rs"]
mod tests;
