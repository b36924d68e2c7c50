//! The open connections: their number, and the ones that are closed so that others find room.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::limits::{EVICTION_PART, EVICTION_RETRY_PART, RESERVE_PART};
use crate::queue::ClientId;
use crate::sending::{Held, SendLimits};

/// All open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
    /// Longest time without a first request.
    idle: Duration,
    sending: Arc<SendLimits>,
}

/// Permits for connections. Ports that share them also evict each other's connections.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<Permits>);

#[derive(Debug)]
struct Permits {
    what: &'static str,
    most: usize,
    free: Arc<Semaphore>,
    /// The last time without a free place. None after an idle time with free places.
    full: Mutex<Option<Instant>>,
}

impl Room {
    pub(crate) fn new(what: &'static str, most: usize) -> Self {
        let free = Arc::new(Semaphore::new(most));
        Self(Arc::new(Permits { what, most, free, full: Mutex::default() }))
    }

    /// Logs that the room becomes full, or has been free for this time: one line a change.
    fn log(&self, is_full: bool, idle: Duration) {
        let Permits { what, most, full, .. } = &*self.0;
        let mut full = full.lock().unwrap_or_else(PoisonError::into_inner);
        if is_full {
            if full.replace(Instant::now()).is_none() {
                tracing::warn!("all {most} {what} are in use: idle ones are closed for new ones");
            }
        } else if full.take_if(|last| last.elapsed() > idle).is_some() {
            tracing::info!("{what} are free again");
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: ClientId,
    room: Room,
    opened: Instant,
    is_http2: AtomicBool,
    state: Mutex<State>,
    began: Notify,
    close: Notify,
}

#[derive(Debug)]
struct State {
    /// Requests without a complete answer.
    busy: usize,
    has_begun: bool,
    is_closing: bool,
    idle_since: Instant,
    /// Parts of answers that are not written yet, and when they were given to hyper.
    unsent: BTreeMap<u64, Instant>,
    next_part: u64,
}

impl Connection {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request until its answer is given to hyper, or dropped.
    pub(crate) fn begin(self: &Arc<Self>, is_http2: bool) -> Busy {
        self.is_http2.store(is_http2, Ordering::Relaxed);
        let mut state = self.state();
        state.busy += 1;
        state.has_begun = true;
        drop(state);
        self.began.notify_one();
        Busy(Arc::clone(self))
    }

    pub(crate) fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Waits until a request is in progress.
    pub(crate) async fn next_request(&self) {
        while self.state().busy == 0 {
            // Earlier requests have notified too.
            self.began.notified().await;
        }
    }

    /// Waits until the connection must close.
    pub(crate) async fn closing(&self) {
        self.close.notified().await;
    }

    /// Whether it has had a request.
    pub(crate) fn has_begun(&self) -> bool {
        self.state().has_begun
    }

    fn close(&self, why: &str) {
        self.state().is_closing = true;
        self.close.notify_one();
        tracing::debug!(client = self.client.0, why, "a connection is closed");
    }

    /// Returns the start of an idle time, unless a request is in progress.
    fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.busy == 0 && state.unsent.is_empty() && !state.is_closing).then_some(state.idle_since)
    }
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Connection>);

impl Busy {
    /// Returns a part of the answer, which counts until it is written.
    pub(crate) fn send(&self, bytes: Bytes, held: &Arc<Held>) -> Bytes {
        let mut state = self.0.state();
        let number = state.next_part;
        state.next_part += 1;
        state.unsent.insert(number, Instant::now());
        drop(state);
        Bytes::from_owner(Part { bytes, number, connection: Arc::clone(&self.0), _held: Arc::clone(held) })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.busy -= 1;
        state.idle_since = Instant::now();
    }
}

/// A part of an answer that hyper holds.
struct Part {
    bytes: Bytes,
    number: u64,
    connection: Arc<Connection>,
    _held: Arc<Held>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut state = self.connection.state();
        state.unsent.remove(&self.number);
        state.idle_since = Instant::now();
    }
}

/// The place of a connection among all. Its drop gives the place back.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) connection: Arc<Connection>,
    connections: Arc<Connections>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open().remove(&self.connection.client.0);
    }
}

impl Connections {
    pub(crate) fn new(idle: Duration, sending: Arc<SendLimits>) -> Self {
        // `ClientId::default` has the number 0.
        Self { open: Mutex::default(), next: AtomicU64::new(1), idle, sending }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn len(&self) -> usize {
        self.open().len()
    }

    /// Waits for a place. If few are free, the connection that has been idle longest ends: the next
    /// one need not wait until it has.
    pub(crate) async fn admit(self: &Arc<Self>, room: &Room) -> Option<Place> {
        let free = &room.0.free;
        let permit = match Arc::clone(free).try_acquire_owned() {
            Ok(permit) => {
                room.log(false, self.idle);
                if free.available_permits() < room.0.most / RESERVE_PART {
                    self.evict(Some(room));
                }
                permit
            }
            Err(_) => {
                room.log(true, self.idle);
                let mut waiting = std::pin::pin!(Arc::clone(free).acquire_owned());
                loop {
                    self.evict(Some(room));
                    if let Ok(permit) = timeout(self.idle / EVICTION_RETRY_PART, waiting.as_mut()).await {
                        break permit.ok()?;
                    }
                }
            }
        };
        let now = Instant::now();
        let connection = Arc::new(Connection {
            client: ClientId(self.next.fetch_add(1, Ordering::Relaxed)),
            room: room.clone(),
            opened: now,
            is_http2: AtomicBool::new(false),
            state: Mutex::new(State {
                busy: 0,
                has_begun: false,
                is_closing: false,
                idle_since: now,
                unsent: BTreeMap::new(),
                next_part: 0,
            }),
            began: Notify::new(),
            close: Notify::new(),
        });
        self.open().insert(connection.client.0, Arc::clone(&connection));
        Some(Place { connection, connections: Arc::clone(self), _permit: permit })
    }

    /// Closes the connection that has been idle longest, if it has been idle for a while.
    pub(crate) fn evict(&self, room: Option<&Room>) {
        let open = self.open();
        let of_room = open.values().filter(|connection| room.is_none_or(|room| connection.room.is_same(room)));
        let idle = of_room.filter_map(|connection| Some((connection.idle_since()?, connection)));
        if let Some((since, connection)) = idle.min_by_key(|(since, _)| *since)
            && since.elapsed() >= self.idle / EVICTION_PART
        {
            connection.close("another one needs its place");
        }
    }

    /// Closes connections without a first request, and connections whose client does not read,
    /// until the future is dropped.
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(self.idle / 10).await;
            // A stream of HTTP/2 that is not read is reset before.
            let patience = self.sending.patience() * 2;
            for connection in self.open().values() {
                let state = connection.state();
                if state.is_closing {
                    continue;
                }
                let is_silent = !state.has_begun && connection.opened.elapsed() > self.idle;
                let oldest = state.unsent.values().next();
                let is_unread = oldest.is_some_and(|oldest| oldest.elapsed() > patience);
                drop(state);
                if is_silent {
                    connection.close("its first request is missing");
                } else if is_unread {
                    connection.close("its client does not read");
                }
            }
        }
    }
}
