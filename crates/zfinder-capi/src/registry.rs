//! Handles: numbers that stand for objects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::failure::{Failure, Outcome};
use crate::types::zf_code;

/// The next handle of any kind. A handle of one kind is therefore no handle of another kind.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Objects of one kind by their handles.
pub(crate) struct Registry<T> {
    kind: &'static str,
    objects: RwLock<BTreeMap<u64, Arc<T>>>,
}

impl<T> Registry<T> {
    /// Makes an empty registry.
    pub(crate) const fn new(kind: &'static str) -> Self {
        Self { kind, objects: RwLock::new(BTreeMap::new()) }
    }

    /// Adds an object and returns its handle.
    pub(crate) fn insert(&self, object: T) -> u64 {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        self.objects.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::new(object));
        id
    }

    /// Returns the object of a handle. The object lives at least as long as the returned value.
    pub(crate) fn get(&self, id: u64) -> Outcome<Arc<T>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.get(&id).cloned().ok_or_else(|| self.no_such(id))
    }

    /// Removes an object. Calls that use the object finish first.
    pub(crate) fn remove(&self, id: u64) -> Outcome<()> {
        let removed = self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
        // The object is dropped after the lock, because dropping may wait for a search.
        removed.map(drop).ok_or_else(|| self.no_such(id))
    }

    fn no_such(&self, id: u64) -> Failure {
        Failure::new(
            zf_code::ZF_BAD_HANDLE,
            format!("handle {id} of {} is null, destroyed or of another kind", self.kind),
        )
    }
}

/// Locks a mutex, also after a panic of another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
