//! The log of the library, for a function of the caller.

use std::ffi::{CString, c_char, c_void};
use std::fmt::{Debug, Write};
use std::sync::{PoisonError, RwLock};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::failure::{Failure, Outcome};
use crate::types::zf_log_callback;

/// The function that gets the log, and its argument.
struct Sink {
    function: unsafe extern "C" fn(i32, *const c_char, *mut c_void),
    user: *mut c_void,
    level: i32,
}

// SAFETY: the caller of `zf_log` promises that the function may be called on any thread.
unsafe impl Send for Sink {}
// SAFETY: as above.
unsafe impl Sync for Sink {}

static SINK: RwLock<Option<Sink>> = RwLock::new(None);

/// Sends the log to a function, or ends it.
///
/// # Safety
/// As `zf_log()`.
pub(crate) unsafe fn send_to(callback: zf_log_callback, user: *mut c_void, level: i32) -> Outcome<()> {
    if !(0..=5).contains(&level) {
        return Err(Failure::argument(format!("level {level} is not from 0 to 5")));
    }
    let sink = callback.filter(|_| level > 0).map(|function| Sink { function, user, level });
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink;
    // The first call; later ones keep it. A program in Rust may have its own.
    let _ = tracing::subscriber::set_global_default(Log);
    Ok(())
}

fn number(level: Level) -> i32 {
    match level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        Level::TRACE => 5,
    }
}

/// Writes events as lines. Spans are left out.
struct Log;

impl Subscriber for Log {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> tracing::subscriber::Interest {
        // The level may change later.
        tracing::subscriber::Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let sink = SINK.read().unwrap_or_else(PoisonError::into_inner);
        metadata.is_event() && sink.as_ref().is_some_and(|sink| number(*metadata.level()) <= sink.level)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{}: ", event.metadata().target()));
        event.record(&mut line);
        let text = CString::new(line.0.replace('\0', "")).unwrap_or_default();
        let sink = SINK.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Sink { function, user, .. }) = &*sink {
            // SAFETY: the caller of `zf_log` promises a function for this argument.
            unsafe { function(number(*event.metadata().level()), text.as_ptr(), *user) };
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The text of an event: its message, then its other fields.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // A String takes all text.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?} "),
            name => write!(self.0, "{name}={value:?} "),
        };
    }
}
