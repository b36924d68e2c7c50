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

/// The type of a crossing of both beams.
const BOTH_BEAMS: u32 = 3;

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

    /// Averages the samples of crossings of both beams, less their [`Background`]. None if a type
    /// of crossing has no sample.
    #[must_use]
    pub fn less_background(samples: &[Sample], empty_below: f64) -> Option<Self> {
        let background = Background::of(samples, empty_below)?;
        Some(background.subtract_from(&Self::of(&of_type(samples, BOTH_BEAMS), empty_below)?))
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

    /// Averages the crossings of both beams of each bunch, less the [`Background`] of all bunches.
    /// Nothing if a type of crossing has no sample.
    #[must_use]
    pub fn by_bunch_less_background(samples: &[Sample], empty_below: f64) -> Vec<((u16, u32), Self)> {
        let Some(background) = Background::of(samples, empty_below) else { return Vec::new() };
        let bunches = Self::by_bunch(&of_type(samples, BOTH_BEAMS), empty_below);
        bunches.into_iter().map(|(key, averages)| (key, background.subtract_from(&averages))).collect()
    }
}

/// The averages of the crossings with fewer than two beams: beam gas and noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    no_beam: Averages,
    one_beam: [Averages; 2],
}

impl Background {
    /// Averages the samples of crossing types 0 to 2. None if a type has no sample.
    #[must_use]
    pub fn of(samples: &[Sample], empty_below: f64) -> Option<Self> {
        let average = |crossing_type| Averages::of(&of_type(samples, crossing_type), empty_below);
        Some(Self { no_beam: average(0)?, one_beam: [average(1)?, average(2)?] })
    }

    /// Subtracts the background from averages of crossings of both beams: bb - be - eb + ee. Noise
    /// is in all four types, so ee restores what be and eb subtract twice. Errors are added in
    /// quadrature.
    ///
    /// Background events that are all empty have mu = 0 with an error of one event, 1/n.
    #[must_use]
    pub fn subtract_from(&self, both_beams: &Averages) -> Averages {
        let (ee, [be, eb]) = (&self.no_beam, &self.one_beam);
        let means = [both_beams, be, eb, ee].map(|averages| (averages.mean, averages.mean_error));
        let (mean, mean_error) = subtract(means);
        let mu = |averages: &Averages| {
            let found = averages.log_zero.map(|LogZero { mu, error }| (mu, error));
            found.or((averages.empty == averages.events).then(|| (0.0, 1.0 / averages.events as f64)))
        };
        let log_zero = || {
            let LogZero { mu: signal, error } = both_beams.log_zero?;
            let (mu, error) = subtract([(signal, error), mu(be)?, mu(eb)?, mu(ee)?]);
            Some(LogZero { mu, error })
        };
        Averages { mean, mean_error, log_zero: log_zero(), ..*both_beams }
    }
}

/// Returns bb - be - eb + ee and its error.
fn subtract([bb, be, eb, ee]: [(f64, f64); 4]) -> (f64, f64) {
    let error = [bb, be, eb, ee].iter().map(|(_, error)| error * error).sum::<f64>().sqrt();
    (bb.0 - be.0 - eb.0 + ee.0, error)
}

/// Returns the samples of a type of crossing.
fn of_type(samples: &[Sample], crossing_type: u32) -> Vec<Sample> {
    samples.iter().filter(|sample| sample.crossing_type == crossing_type).copied().collect()
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
    /// Divides the time of all samples into `intervals` equal intervals and averages each.
    /// Intervals without samples, and those of which `average` makes None, are left out.
    #[must_use]
    pub fn by_time(samples: &[Sample], intervals: usize, average: impl Fn(&[Sample]) -> Option<Averages>) -> Vec<Self> {
        let times = || samples.iter().map(|sample| sample.time_us);
        let (Some(first), Some(last)) = (times().min(), times().max()) else { return Vec::new() };
        let length = ((last - first) as f64 / intervals.max(1) as f64).max(1.0);
        let mut groups: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
        for sample in samples {
            let at = (((sample.time_us - first) as f64 / length) as usize).min(intervals.max(1) - 1);
            groups.entry(at).or_default().push(*sample);
        }
        let seconds = |at: usize| (first as f64 + at as f64 * length) / 1e6;
        let point = |(at, samples): (usize, Vec<Sample>)| {
            let interval = Interval { begin_s: seconds(at), end_s: seconds(at + 1) };
            Some(Self { interval, averages: average(&samples)? })
        };
        groups.into_iter().filter_map(point).collect()
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
    fn background_is_subtracted_by_types_of_crossings() {
        // In this order: no beam, beam 1, beam 2, both. The first events of each are empty.
        let (events, empty, value) = ([100_u64, 1000, 1000, 1000], [100, 900, 950, 300], 2.0);
        let samples: Vec<Sample> = (0..4_u32)
            .flat_map(|kind| (0..events[kind as usize]).map(move |number| (kind, number)))
            .map(|(crossing_type, number)| {
                let value = if number < empty[crossing_type as usize] { 0.0 } else { value };
                Sample { crossing_type, ..sample(crossing_type as u16, number, value) }
            })
            .collect();
        let found = Averages::less_background(&samples, 1.0).expect("all types");
        assert_eq!((found.events, found.empty), (1000, 300));
        assert!((found.mean - (1.4 - 0.2 - 0.1)).abs() < 1e-12, "{found:?}");
        let variance = |mean: f64| (2.0 - mean) * mean / 999.0;
        let error = (variance(1.4) + variance(0.2) + variance(0.1)).sqrt();
        assert!((found.mean_error - error).abs() < 1e-12, "{found:?}");
        let mu = found.log_zero.expect("an estimate");
        let [be, eb, bb] = [900, 950, 300].map(|empty| LogZero::of(1000, empty).expect("an estimate"));
        // 100 empty events without beams: 0 +- 1/100.
        let error = (be.error.powi(2) + eb.error.powi(2) + bb.error.powi(2) + 1e-4).sqrt();
        assert!((mu.mu - (bb.mu - be.mu - eb.mu)).abs() < 1e-12 && (mu.error - error).abs() < 1e-12, "{mu:?}");
        assert_eq!(Averages::by_bunch_less_background(&samples, 1.0), [((3, 3), found)]);
        // A type of crossing has no sample.
        for missing in 0..4 {
            let rest: Vec<Sample> = samples.iter().filter(|s| s.crossing_type != missing).copied().collect();
            assert_eq!(Averages::less_background(&rest, 1.0), None);
        }
        // A type of crossing has no empty event.
        for kind in 1..4 {
            let busy: Vec<Sample> =
                samples.iter().filter(|s| s.crossing_type != kind || s.value > 0.0).copied().collect();
            assert_eq!(Averages::less_background(&busy, 1.0).expect("all types").log_zero, None);
        }
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
        let average = |samples: &[Sample]| Averages::of(samples, 1.0);
        let points = Point::by_time(&samples, 2, average);
        assert_eq!(points.iter().map(|point| point.averages.events).collect::<Vec<_>>(), [2, 2]);
        assert_eq!((Averages::of(&[], 1.0), Point::by_time(&[], 3, average)), (None, Vec::new()));
    }
}
