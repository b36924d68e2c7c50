//! A pool of workspaces: the buffers of work in flight, and those of the next work. Where the
//! device has no memory for one more workspace, work waits until another gives its workspace back.

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::{self, Arc, MutexGuard, PoisonError};
use std::time::Duration;

use futures_intrusive::sync::{ManualResetEvent, Mutex};

use crate::poll::block_on_for;

/// How long a thread waits for memory while no workspace comes back. After that, the holders are
/// not expected to return them, for example futures that nobody polls. (A future waits as long as
/// it is polled.)
const PATIENCE: Duration = Duration::from_secs(30);

/// How to wait for the device or for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// On the caller's thread.
    Blocking,
    /// As a future.
    Async,
}

/// Workspaces in use and idle ones, with back-pressure: work that finds no memory waits its turn.
///
/// A workspace `W` holds the device memory of one piece of work, and grows on request.
///
/// ```
/// use kernel_host::{Buffer, Error, Gpu, Pool, Reserved, Waiting, wgpu};
///
/// # fn main() -> Result<(), Error> {
/// let gpu = Gpu::noop()?;
/// gpu.limit_memory(1 << 20);
/// let pool = Pool::<Buffer<u32>>::default();
/// let new = || Buffer::new("numbers", wgpu::BufferUsages::STORAGE);
/// let reserved = pollster::block_on(pool.reserve(
///     Waiting::Blocking,
///     false,
///     new,
///     |buffer| buffer.reserve(&gpu, 1000),
///     |error: &Error| matches!(error, Error::OutOfMemory { .. }),
/// ))?;
/// let Reserved::Ready(buffer, _) = reserved else { panic!("4000 bytes fit") };
/// // ... submit work that uses the buffer, wait for it, and then:
/// buffer.give_back();
/// # Ok(())
/// # }
/// ```
///
/// Clones are the same pool.
#[derive(Debug)]
pub struct Pool<W> {
    shared: Arc<Shared<W>>,
}

impl<W> Clone for Pool<W> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

#[derive(Debug)]
struct Shared<W> {
    state: sync::Mutex<State<W>>,
    /// Held by work that found no memory, until it has some. Work without a workspace queues up
    /// behind it; work with a workspace gives that back first. So every workspace comes back, and
    /// no work starves.
    turn: Mutex<()>,
    /// Set when a workspace has come back.
    returned: ManualResetEvent,
    patience: Duration,
}

#[derive(Debug)]
struct State<W> {
    idle: Vec<W>,
    /// Workspaces in use.
    out: usize,
    /// How often a workspace has come back.
    returns: u64,
}

/// A workspace in use. [`Pooled::give_back`] keeps it for the next work; dropping it frees its
/// memory.
#[derive(Debug)]
pub struct Pooled<W> {
    /// Some, until it is dropped.
    workspace: Option<W>,
    home: Pool<W>,
    /// Whether waiting work is woken when it is dropped.
    wakes: bool,
}

/// Result of [`Pool::reserve`].
#[derive(Debug)]
pub enum Reserved<W, T, E> {
    /// A workspace with enough memory, and what `make_room` returned.
    Ready(Pooled<W>, T),
    /// No memory before other work gives its workspaces back, and the caller holds one of them.
    Later,
    /// No memory even with nothing else in use, or nothing comes back.
    Full(E),
}

impl<W> Deref for Pooled<W> {
    type Target = W;

    fn deref(&self) -> &W {
        self.workspace.as_ref().expect("the workspace is there until it is dropped")
    }
}

impl<W> DerefMut for Pooled<W> {
    fn deref_mut(&mut self) -> &mut W {
        self.workspace.as_mut().expect("the workspace is there until it is dropped")
    }
}

impl<W> Pooled<W> {
    /// Leaves the workspace to the next work. The device must be done with it.
    pub fn give_back(mut self) {
        self.home.state().idle.extend(self.workspace.take());
    }
}

impl<W> Drop for Pooled<W> {
    fn drop(&mut self) {
        // The memory is freed before waiting work is woken.
        self.workspace = None;
        let mut state = self.home.state();
        state.out -= 1;
        state.returns += u64::from(self.wakes);
        drop(state);
        if self.wakes {
            self.home.shared.returned.set();
        }
    }
}

impl<W> Default for Pool<W> {
    fn default() -> Self {
        Self::with_patience(PATIENCE)
    }
}

impl<W> Pool<W> {
    fn with_patience(patience: Duration) -> Self {
        let state = sync::Mutex::new(State { idle: Vec::new(), out: 0, returns: 0 });
        let (turn, returned) = (Mutex::new((), true), ManualResetEvent::new(false));
        Self { shared: Arc::new(Shared { state, turn, returned, patience }) }
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an idle workspace, or a new one.
    pub fn take(&self, new: impl FnOnce() -> W) -> Pooled<W> {
        self.take_from(self.state(), new)
    }

    fn take_from(&self, mut state: MutexGuard<'_, State<W>>, new: impl FnOnce() -> W) -> Pooled<W> {
        let idle = state.idle.pop();
        state.out += 1;
        drop(state);
        let mut pooled = Pooled { workspace: idle, home: self.clone(), wakes: true };
        pooled.workspace.get_or_insert_with(new);
        pooled
    }

    /// Returns a workspace in which `make_room` found memory. `has_another` says whether the caller
    /// holds a workspace already. `is_out_of_memory` recognises the error after which a smaller
    /// request, or a later one, may succeed.
    ///
    /// # Errors
    /// The errors of `make_room`, except that being out of memory is [`Reserved::Full`].
    pub async fn reserve<T, E>(
        &self,
        waiting: Waiting,
        has_another: bool,
        new: impl Fn() -> W,
        make_room: impl Fn(&mut W) -> Result<T, E>,
        is_out_of_memory: impl Fn(&E) -> bool,
    ) -> Result<Reserved<W, T, E>, E> {
        match self.attempt(false, &new, &make_room, &is_out_of_memory) {
            None => {}
            Some(Err(error)) if is_out_of_memory(&error) => {}
            Some(outcome) => return outcome.map(|(workspace, room)| Reserved::Ready(workspace, room)),
        }
        if has_another {
            return Ok(Reserved::Later);
        }
        // Out of patience, it is tried all the same.
        let _turn = self.patiently(waiting, self.shared.turn.lock()).await;
        loop {
            self.shared.returned.reset();
            let alone = self.state().out == 0;
            let error = match self.attempt(true, &new, &make_room, &is_out_of_memory) {
                None => continue,
                Some(Err(error)) if is_out_of_memory(&error) => error,
                Some(outcome) => return outcome.map(|(workspace, room)| Reserved::Ready(workspace, room)),
            };
            if alone || self.patiently(waiting, self.shared.returned.wait()).await.is_none() {
                return Ok(Reserved::Full(error));
            }
        }
    }

    /// [`Pool::reserve`] that does not wait. None if there is no memory now, or if other work waits
    /// for some.
    ///
    /// # Errors
    /// The errors of `make_room`, except that of being out of memory.
    pub fn try_reserve<T, E>(
        &self,
        new: impl Fn() -> W,
        make_room: impl Fn(&mut W) -> Result<T, E>,
        is_out_of_memory: impl Fn(&E) -> bool,
    ) -> Result<Option<(Pooled<W>, T)>, E> {
        match self.attempt(false, new, make_room, &is_out_of_memory).transpose() {
            Err(error) if is_out_of_memory(&error) => Ok(None),
            outcome => outcome,
        }
    }

    /// Tries to make room, as a last resort without idle workspaces. None if other work has the
    /// turn.
    fn attempt<T, E>(
        &self,
        in_turn: bool,
        new: impl Fn() -> W,
        make_room: impl Fn(&mut W) -> Result<T, E>,
        is_out_of_memory: impl Fn(&E) -> bool,
    ) -> Option<Result<(Pooled<W>, T), E>> {
        let attempt = || {
            // The turn is checked with the state locked, so that the work that has it sees all
            // workspaces taken before.
            let state = self.state();
            if !in_turn && self.shared.turn.is_locked() {
                return None;
            }
            let mut workspace = self.take_from(state, &new);
            // Work that has the turn is not woken by its own failure.
            workspace.wakes = !in_turn;
            let room = make_room(&mut workspace);
            workspace.wakes |= room.is_ok();
            Some(room.map(|room| (workspace, room)))
        };
        match attempt()? {
            Err(error) if is_out_of_memory(&error) => {
                self.free_idle();
                attempt()
            }
            outcome => Some(outcome),
        }
    }

    /// Frees the memory of idle workspaces.
    pub fn free_idle(&self) {
        // The state stays locked until the memory is freed, so that other work sees both.
        self.state().idle.clear();
    }

    /// Removes and returns the idle workspaces.
    pub fn take_idle(&self) -> Vec<W> {
        std::mem::take(&mut self.state().idle)
    }

    /// Awaits a future. Returns `None` if no workspace came back within [`PATIENCE`].
    async fn patiently<T>(&self, waiting: Waiting, future: impl Future<Output = T>) -> Option<T> {
        if waiting == Waiting::Async {
            return Some(future.await);
        }
        let mut future = pin!(future);
        loop {
            let before = self.state().returns;
            match block_on_for(future.as_mut(), self.shared.patience) {
                None if self.state().returns != before => {}
                outcome => return outcome,
            }
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
