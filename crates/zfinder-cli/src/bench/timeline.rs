//! Times the steps of calls by the spans of the library: `--timeline`.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

use super::measure::MeasuredCase;
use super::report::{SpanTime, TimelineReport};
use command_host::Failure;

thread_local! {
    /// When each span that this thread is in began.
    static BEGUN: RefCell<Vec<Instant>> = const { RefCell::new(Vec::new()) };
}

/// Sums the times that threads spend in spans, by name.
#[derive(Debug, Default)]
struct SpanSums(Mutex<Vec<(&'static str, Duration, usize)>>);

impl SpanSums {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<(&'static str, Duration, usize)>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subscriber for SpanSums {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("zfinder")
    }

    /// All spans of a name have the same id, because times are summed by name.
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let name = span.metadata().name();
        let at = self.with(|sums| {
            let known = sums.iter().position(|(other, ..)| *other == name);
            known.unwrap_or_else(|| {
                sums.push((name, Duration::ZERO, 0));
                sums.len() - 1
            })
        });
        Id::from_u64(at as u64 + 1)
    }

    fn enter(&self, _: &Id) {
        BEGUN.with_borrow_mut(|begun| begun.push(Instant::now()));
    }

    fn exit(&self, span: &Id) {
        let Some(begun) = BEGUN.with_borrow_mut(Vec::pop) else { return };
        self.with(|sums| {
            let (_, time, count) = &mut sums[span.into_u64() as usize - 1];
            (*time, *count) = (*time + begun.elapsed(), *count + 1);
        });
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}

impl MeasuredCase<'_> {
    /// Times the steps of calls of one caller, and of as many callers as cores.
    pub(super) fn timeline(&self) -> Result<Vec<TimelineReport>, Failure> {
        [1, self.cores].into_iter().map(|callers| self.timeline_of(callers)).collect()
    }

    fn timeline_of(&self, callers: usize) -> Result<TimelineReport, Failure> {
        let sums = Arc::new(SpanSums::default());
        let mut all = self.some_callers(callers);
        self.round_of_callers(&mut all, self.seconds, None)?;
        let start = Instant::now();
        let calls = self.round_of_callers(&mut all, self.seconds, Some(&Dispatch::new(Arc::clone(&sums))))?;
        let each = |time: Duration| 1e6 * time.as_secs_f64() / calls.max(1) as f64;
        let span = |&(name, time, count): &(&str, Duration, usize)| SpanTime {
            name: name.to_owned(),
            per_call: count as f64 / calls.max(1) as f64,
            us_per_call: each(time),
        };
        Ok(TimelineReport {
            callers,
            calls,
            us_per_call: callers as f64 * each(start.elapsed()),
            spans: sums.with(|sums| sums.iter().map(span).collect()),
        })
    }
}
