//! The threads of rayon, also in a process that was forked.

use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::error::engine_error;

/// The process that loaded this module.
static LOADED_BY: OnceLock<u32> = OnceLock::new();

/// The pool of a forked process, with the number of that process.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Remembers which process loads the module.
pub(crate) fn remember_process() {
    LOADED_BY.get_or_init(process::id);
}

/// Runs `work` without the GIL. `work` may use rayon's threads.
///
/// A fork copies rayon's global pool, but none of its threads, so that a forked process needs a
/// pool of its own.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if LOADED_BY.get() == Some(&process::id()) {
        return Ok(py.detach(work));
    }
    let pool = forked_pool()?;
    Ok(py.detach(|| pool.install(work)))
}

fn forked_pool() -> PyResult<Arc<ThreadPool>> {
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((process, pool)) = &*forked
        && *process == process::id()
    {
        return Ok(Arc::clone(pool));
    }
    let pool = rayon::ThreadPoolBuilder::new().build().map_err(|error| engine_error(&error.to_string()))?;
    let pool = Arc::new(pool);
    // The pool of a parent process is never dropped: dropping would wait for threads that do not
    // exist here.
    if let Some(parents) = forked.replace((process::id(), Arc::clone(&pool))) {
        std::mem::forget(parents);
    }
    Ok(pool)
}
