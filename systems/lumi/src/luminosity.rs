//! Luminosity from summaries: averages of counters, and the mean number of visible collisions by
//! the log-zero method.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::summary::{BUNCHES, CROSSINGS_PER_MS, Summary};

/// A sample of one counter: an event's bunch, its time and the counter's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of the bunch crossing in the orbit.
    pub bunch: u16,
    /// The type of the crossing; see [`Header::crossing`](crate::Header::crossing).
    pub crossing_type: u32,
    /// The GPS time \[us\].
    pub time_us: u64,
    /// The value of the counter.
    pub value: f64,
}

impl Sample {
    /// Returns the sample of a counter in a summary. None if the counter was not stored.
    #[must_use]
    pub fn of(summary: &Summary, counter: &str) -> Option<Self> {
        let value = summary.counters.get(counter).copied().flatten()?;
        Some(Self {
            bunch: (summary.crossing % BUNCHES) as u16,
            crossing_type: summary.crossing_type,
            time_us: time_us(summary),
            value,
        })
    }
}

/// Returns the GPS time of a summary \[us\].
#[must_use]
pub fn time_us(summary: &Summary) -> u64 {
    summary.t0_us.wrapping_add(summary.crossing.wrapping_mul(1000) / CROSSINGS_PER_MS)
}

/// The mean and its error, and the log-zero estimate, of a group of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Averages {
    /// The number of events.
    pub events: u64,
    /// The mean of the counter.
    pub mean: f64,
    /// The statistical error of the mean.
    pub mean_error: f64,
    /// Number of empty events, whose counter is below the threshold.
    pub empty: u64,
    /// The mean number of visible collisions. None if no event is empty or if all are.
    pub log_zero: Option<LogZero>,
}

/// The mean number of visible collisions of a crossing by the log-zero method: mu = -ln(P0),
/// because the number of collisions is Poisson-distributed and a fraction P0 of the events is
/// empty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LogZero {
    /// The estimate, with its bias of second order removed: -ln(P0) - (1/P0 - 1) / 2n.
    pub mu: f64,
    /// The statistical error: sqrt((1/P0 - 1) / n).
    pub error: f64,
}

impl LogZero {
    /// Estimates mu of `events` events of which `empty` are empty. None if no event is empty or if
    /// all are.
    #[must_use]
    pub fn of(events: u64, empty: u64) -> Option<Self> {
        if empty == 0 || empty >= events {
            return None;
        }
        let probability = empty as f64 / events as f64;
        let odds = (1.0 / probability - 1.0) / events as f64;
        Some(Self { mu: (-probability.ln() - odds / 2.0).max(0.0), error: odds.sqrt() })
    }
}

#[derive(Clone, Copy, Default)]
struct Sum {
    events: u64,
    first: f64,
    second: f64,
    empty: u64,
}

impl Sum {
    fn add(&mut self, value: f64, empty_below: f64) {
        self.events += 1;
        self.first += value;
        self.second += value * value;
        self.empty += u64::from(value < empty_below);
    }

    fn averages(self) -> Averages {
        let count = self.events as f64;
        let mean = self.first / count;
        let variance = (self.second / count - mean * mean).max(0.0);
        Averages {
            events: self.events,
            mean,
            mean_error: (variance / (count - 1.0).max(1.0)).sqrt(),
            empty: self.empty,
            log_zero: LogZero::of(self.events, self.empty),
        }
    }
}

impl Averages {
    /// Averages samples. An event is empty if its value is below `empty_below`. None if there are
    /// no samples.
    #[must_use]
    pub fn of(samples: &[Sample], empty_below: f64) -> Option<Self> {
        let mut sum = Sum::default();
        samples.iter().for_each(|sample| sum.add(sample.value, empty_below));
        (sum.events > 0).then(|| sum.averages())
    }

    /// Averages the samples of each bunch and type of crossing, in their order.
    #[must_use]
    pub fn by_bunch(samples: &[Sample], empty_below: f64) -> Vec<((u16, u32), Self)> {
        let mut sums: BTreeMap<(u16, u32), Sum> = BTreeMap::new();
        for sample in samples {
            sums.entry((sample.bunch, sample.crossing_type)).or_default().add(sample.value, empty_below);
        }
        sums.into_iter().map(|(key, sum)| (key, sum.averages())).collect()
    }
}

/// An interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The beginning \[GPS s\].
    pub begin_s: f64,
    /// The end \[GPS s\].
    pub end_s: f64,
}

/// The averages of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The interval.
    #[serde(flatten)]
    pub interval: Interval,
    /// The averages.
    #[serde(flatten)]
    pub averages: Averages,
}

impl Point {
    /// Divides the time of all samples into `intervals` equal intervals and averages each. Empty
    /// intervals are left out.
    #[must_use]
    pub fn by_time(samples: &[Sample], intervals: usize, empty_below: f64) -> Vec<Self> {
        let times = || samples.iter().map(|sample| sample.time_us);
        let (Some(first), Some(last)) = (times().min(), times().max()) else { return Vec::new() };
        let length = ((last - first) as f64 / intervals.max(1) as f64).max(1.0);
        let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
        for sample in samples {
            let at = (((sample.time_us - first) as f64 / length) as usize).min(intervals.max(1) - 1);
            sums.entry(at).or_default().add(sample.value, empty_below);
        }
        let seconds = |at: usize| (first as f64 + at as f64 * length) / 1e6;
        let point = |(at, sum): (usize, Sum)| Self {
            interval: Interval { begin_s: seconds(at), end_s: seconds(at + 1) },
            averages: sum.averages(),
        };
        sums.into_iter().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(bunch: u16, time_us: u64, value: f64) -> Sample {
        Sample { bunch, crossing_type: 3, time_us, value }
    }

    #[test]
    fn a_fraction_of_empty_events_is_a_number_of_collisions() {
        let found = LogZero::of(1_000_000, (1e6 * (-2.5_f64).exp()) as u64).expect("empty events");
        assert!((found.mu - 2.5).abs() < 1e-4 && (found.error - 0.003_344).abs() < 1e-5, "{found:?}");
        assert_eq!(LogZero::of(10, 0), None);
        // 0 +- 0 would claim a perfect measurement.
        assert_eq!(LogZero::of(10, 10), None);
    }

    #[test]
    fn bunches_and_times_are_averaged_apart() {
        let samples = [sample(7, 0, 0.0), sample(7, 10, 4.0), sample(3, 99, 5.0), sample(7, 100, 8.0)];
        let all = Averages::of(&samples, 1.0).expect("samples");
        assert_eq!((all.events, all.mean, all.empty), (4, 4.25, 1));
        let bunches = Averages::by_bunch(&samples, 1.0);
        let means: Vec<_> = bunches.iter().map(|(key, averages)| (*key, averages.mean, averages.events)).collect();
        assert_eq!(means, [((3, 3), 5.0, 1), ((7, 3), 4.0, 3)]);
        assert!((bunches[1].1.mean_error - (32.0_f64 / 3.0 / 2.0).sqrt()).abs() < 1e-9, "{bunches:?}");
        let points = Point::by_time(&samples, 2, 1.0);
        assert_eq!(points.iter().map(|point| point.averages.events).collect::<Vec<_>>(), [2, 2]);
        assert_eq!((Averages::of(&[], 1.0), Point::by_time(&[], 3, 1.0)), (None, Vec::new()));
    }
}
