//! Measurements and output that benches share.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Returns the median: the upper one of the middle two of an even number, and zero of an empty
/// list.
#[must_use]
pub fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// Returns the rate of `count` events in `time`, in 1/s.
#[must_use]
pub fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.max(Duration::from_nanos(1)).as_secs_f64()
}

/// Measures how long each of `rounds` calls takes, one after the other. For warm-up, make a call
/// before.
///
/// # Errors
/// The first error of `call`.
pub fn timed<T, E>(rounds: usize, mut call: impl FnMut() -> Result<T, E>) -> Result<Vec<Duration>, E> {
    // No capacity is reserved: an absurd number of rounds must not exhaust the memory.
    let mut all = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        black_box(call()?);
        all.push(start.elapsed());
    }
    Ok(all)
}

/// Writes the heading of a bench: the engine, and a warning in a debug build.
///
/// # Errors
/// Any error of `out`.
pub fn bench_heading(out: &mut impl Write, engine: &str) -> io::Result<()> {
    writeln!(out, "{engine}")?;
    if cfg!(debug_assertions) {
        writeln!(out, "built without --release: these times say nothing")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_rates() {
        let ms = Duration::from_millis;
        assert_eq!(median(vec![ms(5), ms(1), ms(3)]), ms(3));
        assert_eq!(median(vec![ms(4), ms(1)]), ms(4));
        assert_eq!(median(Vec::new()), Duration::ZERO);
        assert_eq!(rate(30, ms(10)), 3000.0);
        assert!(rate(1, Duration::ZERO).is_finite());
    }

    #[test]
    fn every_call_is_timed_until_one_fails() {
        let mut calls = 0;
        let mut call = |most: u32| {
            calls += 1;
            if calls <= most { Ok(()) } else { Err(calls) }
        };
        assert_eq!(timed(3, || call(3)).map(|all| all.len()), Ok(3));
        assert_eq!(timed(3, || call(4)).map(|all| all.len()), Err(5));
    }
}
