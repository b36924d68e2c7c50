//! The workspaces of an engine: those that parts in flight use, and idle ones. Where the device has no memory for one
//! more, a part waits for its turn, and then for others to give theirs back.

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::{self, MutexGuard, PoisonError};
use std::time::Duration;

use futures_intrusive::sync::{ManualResetEvent, Mutex};

use crate::engine::gpu::Waiting;
use crate::engine::threads::block_on_for;
use crate::error::{Error, Result};

/// How long a thread that found no memory waits without any workspace coming back: whoever has them is then not going to
/// give them back, such as a future that nobody polls. (A future that found no memory waits for as long as it is polled.)
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Workspaces<W> {
    state: sync::Mutex<State<W>>,
    /// Of a part that found no memory, until it has some. Others that hold no workspace queue up behind it; who holds one
    /// gives it back first. So all come back in the end, and nobody is passed over for ever.
    turn: Mutex<()>,
    /// A workspace has come back.
    returned: ManualResetEvent,
    patience: Duration,
}

struct State<W> {
    /// Those that no part uses now.
    idle: Vec<W>,
    /// How many parts use one.
    out: usize,
    /// How often one has come back.
    returns: u64,
}

/// A workspace in use. Dropped, its memory is freed.
pub(crate) struct InUse<'a, W> {
    /// Some, until it is dropped.
    workspace: Option<W>,
    home: &'a Workspaces<W>,
    /// Whether who waits for memory is to hear of its end.
    told: bool,
}

/// Whether there is memory for a part.
pub(crate) enum Place<'a, W, T> {
    /// In this workspace.
    In(InUse<'a, W>, T),
    /// Not before others give theirs back, and one of them is the caller's.
    Later,
    /// Not even with nothing else in use; or nothing of it comes back.
    Nowhere(Error),
}

impl<W> Deref for InUse<'_, W> {
    type Target = W;

    fn deref(&self) -> &W {
        self.workspace.as_ref().expect("it is there until it is dropped")
    }
}

impl<W> DerefMut for InUse<'_, W> {
    fn deref_mut(&mut self) -> &mut W {
        self.workspace.as_mut().expect("it is there until it is dropped")
    }
}

impl<W> InUse<'_, W> {
    /// Leaves it to the next part. The device must be done with it.
    pub(crate) fn give_back(mut self) {
        self.home.state().idle.extend(self.workspace.take());
    }
}

impl<W> Drop for InUse<'_, W> {
    fn drop(&mut self) {
        // First, so that who waits finds its memory.
        self.workspace = None;
        let mut state = self.home.state();
        state.out -= 1;
        state.returns += u64::from(self.told);
        drop(state);
        if self.told {
            self.home.returned.set();
        }
    }
}

impl<W> Default for Workspaces<W> {
    fn default() -> Self {
        Self {
            state: sync::Mutex::new(State { idle: Vec::new(), out: 0, returns: 0 }),
            turn: Mutex::new((), true),
            returned: ManualResetEvent::new(false),
            patience: PATIENCE,
        }
    }
}

impl<W> Workspaces<W> {
    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that is idle, else a new one.
    pub(crate) fn take(&self, new: impl FnOnce() -> W) -> InUse<'_, W> {
        self.take_from(self.state(), new)
    }

    fn take_from<'a>(&'a self, mut state: MutexGuard<'a, State<W>>, new: impl FnOnce() -> W) -> InUse<'a, W> {
        let idle = state.idle.pop();
        state.out += 1;
        drop(state);
        let mut taken = InUse { workspace: idle, home: self, told: true };
        taken.workspace.get_or_insert_with(new);
        taken
    }

    /// One in which `make_room` finds memory, and what it returned. `has_another`: whether the caller has one already.
    ///
    /// # Errors
    /// Those of `make_room`, but for [`Place::Nowhere`].
    pub(crate) async fn with_room<T>(
        &self,
        waiting: Waiting,
        has_another: bool,
        new: impl Fn() -> W,
        make_room: impl Fn(&mut W) -> Result<T>,
    ) -> Result<Place<'_, W, T>> {
        match self.attempt(false, &new, &make_room) {
            None => {}
            Some(Err(error)) if is_out_of_memory(&error) => {}
            Some(outcome) => return outcome.map(|(workspace, room)| Place::In(workspace, room)),
        }
        if has_another {
            return Ok(Place::Later);
        }
        // Without patience for it, it is tried all the same.
        let _turn = self.patiently(waiting, self.turn.lock()).await;
        loop {
            self.returned.reset();
            let alone = self.state().out == 0;
            let error = match self.attempt(true, &new, &make_room) {
                None => continue,
                Some(Err(error)) if is_out_of_memory(&error) => error,
                Some(outcome) => return outcome.map(|(workspace, room)| Place::In(workspace, room)),
            };
            if alone || self.patiently(waiting, self.returned.wait()).await.is_none() {
                return Ok(Place::Nowhere(error));
            }
        }
    }

    /// Tries to make room, at the worst without any idle ones. None where it is another's turn.
    fn attempt<T>(
        &self,
        in_turn: bool,
        new: impl Fn() -> W,
        make_room: impl Fn(&mut W) -> Result<T>,
    ) -> Option<Result<(InUse<'_, W>, T)>> {
        let attempt = || {
            // Looked at with the state locked: whoever has the turn sees all that were taken before.
            let state = self.state();
            if !in_turn && self.turn.is_locked() {
                return None;
            }
            let mut workspace = self.take_from(state, &new);
            // Who has the turn is not woken by its own failure.
            workspace.told = !in_turn;
            let room = make_room(&mut workspace);
            workspace.told |= room.is_ok();
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

    /// Frees the memory of those that are idle.
    pub(crate) fn free_idle(&self) {
        // With the state locked: nobody sees them gone before their memory is.
        self.state().idle.clear();
    }

    /// What a future brings. None on a thread that has waited for [`PATIENCE`] without any workspace coming back.
    async fn patiently<T>(&self, waiting: Waiting, future: impl Future<Output = T>) -> Option<T> {
        if waiting == Waiting::Async {
            return Some(future.await);
        }
        let mut future = pin!(future);
        loop {
            let before = self.state().returns;
            match block_on_for(future.as_mut(), self.patience) {
                None if self.state().returns != before => {}
                outcome => return outcome,
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn idle(&self) -> Vec<W> {
        std::mem::take(&mut self.state().idle)
    }
}

/// Whether the device had no memory to give: nothing was begun, and less may fit.
fn is_out_of_memory(error: &Error) -> bool {
    matches!(error, Error::Gpu(kernel_host::Error::OutOfMemory { .. }))
}

#[cfg(test)]
#[path = "workspaces_tests.rs"]
mod tests;
