//! Counters of events as columns, before they are packed into banks.

use crate::calorimeter::Calorimeter;
use crate::counters::EventCounters;
use crate::event::EventBatch;
use crate::summary::Schemata;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Ids, times and flags.
    Integers(Vec<u64>),
    /// Counters: counts, energies \[MeV\] and positions \[mm\]. NaN for a counter that was not
    /// counted, because the event was not reconstructed.
    Numbers(Vec<f64>),
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name: that of the field of the summary bank for a counter.
    pub name: String,
    /// A value for each lumi event.
    pub values: Values,
}

/// The counters of the lumi events of a batch.
///
/// The columns are `event_id`, `gps_us`, `orbit`, `bunch`, `crossing_type`, `full` and
/// `reconstructed`, and then all counters of a full summary, whether the event has a full or a
/// basic one. The values are neither scaled nor clamped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// The columns, of equal length.
    pub columns: Vec<Column>,
}

impl Sums {
    /// Makes columns of counted events.
    #[must_use]
    pub fn of(schemata: &Schemata, calorimeter: &Calorimeter, batch: &EventBatch, counted: &[EventCounters]) -> Self {
        let header = |counters: &EventCounters| batch.event(counters.event).header;
        let integers = |name: &str, of: &dyn Fn(&crate::event::Header) -> u64| Column {
            name: name.to_owned(),
            values: Values::Integers(counted.iter().map(|counters| of(header(counters))).collect()),
        };
        let mut columns = vec![
            integers("event_id", &|header| header.event_id),
            integers("gps_us", &|header| header.gps_us),
            integers("orbit", &|header| header.orbit.into()),
            integers("bunch", &|header| header.bunch.into()),
            integers("crossing_type", &|header| header.crossing.into()),
            integers("full", &|header| header.full.into()),
            integers("reconstructed", &|header| header.reconstructed.into()),
        ];
        columns.extend(schemata.counter_columns(calorimeter, counted));
        Self { columns }
    }
}
