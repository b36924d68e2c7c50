//! Keys of the configuration: names, ranges, units and meanings, and the checks of values. Every
//! front end takes them from here.

use std::fmt;

use crate::config::value::{Value, summary};
use crate::config::words::Word;
use crate::error::{Error, Result};

/// Values of a key.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number in this range.
    Whole {
        /// Lowest value.
        low: u32,
        /// Highest value.
        high: u32,
        /// Whether the key may be absent.
        optional: bool,
    },
    /// A number in this range.
    Real {
        /// Lowest value.
        low: f64,
        /// Highest value.
        high: f64,
    },
    /// x and y, each in this range.
    Pair {
        /// Lowest value.
        low: f64,
        /// Highest value.
        high: f64,
    },
    /// One of these words.
    Word(&'static [Word]),
    /// A whole number, or one of these words.
    WholeOrWord(&'static [Word]),
}

/// Headings of keys in help and pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Events, RoIs and pairs of spacepoints.
    Search,
    /// Histograms and their peaks.
    Histogram,
    /// Slices of phi, and the bending of tracks.
    Slices,
    /// Cuts on triplets.
    Triplets,
    /// Tracklets and their vertices.
    Tracklets,
}

impl Group {
    /// All groups, in the order of help and pages.
    pub const ALL: [Self; 5] = [Self::Search, Self::Histogram, Self::Slices, Self::Triplets, Self::Tracklets];

    /// Returns the heading.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "Search",
            Self::Histogram => "Histogram and peaks",
            Self::Slices => "Slices and bending",
            Self::Triplets => "Triplets",
            Self::Tracklets => "Tracklets",
        }
    }
}

/// A key of the configuration: an entry of [`Config::KEYS`](crate::Config::KEYS).
#[non_exhaustive]
pub struct Key {
    /// Name in files and in programs, in snake case, with its unit: `triplet_dz_mm`.
    pub name: &'static str,
    /// Heading under which help and pages show the key.
    pub group: Group,
    /// Values of the key.
    pub kind: Kind,
    /// Unit of the value; empty if it has none.
    pub unit: &'static str,
    /// Meaning of the key: the documentation of the field of [`Config`](crate::Config).
    pub about: &'static str,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Key {
    /// Returns the name without a unit `_mm`.
    pub fn short_name(&self) -> &'static str {
        self.name.strip_suffix("_mm").unwrap_or(self.name)
    }

    /// Returns the meaning in one line, without the full stop.
    pub fn summary(&self) -> String {
        summary(self.about)
    }

    /// Returns the range of values, with the unit: `0.01 to 360 deg`.
    pub fn range(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let words = |words: &[Word]| words.iter().map(|word| word.word).collect::<Vec<_>>().join(", ");
        match self.kind {
            Kind::Flag => "true, false".into(),
            Kind::Whole { low, high: u32::MAX, .. } => format!("{low} and above{unit}"),
            Kind::Whole { low, high, .. } => format!("{low} to {high}{unit}"),
            Kind::Real { low, high } => format!("{low} to {high}{unit}"),
            Kind::Pair { low, high } => format!("two numbers, {low} to {high}{unit}"),
            Kind::Word(all) => words(all),
            Kind::WholeOrWord(all) => format!("a whole number, {}", words(all)),
        }
    }

    /// Checks that a number lies in the range of this key.
    pub(super) fn check(&self, value: &Value) -> Result<()> {
        let is_valid = match (self.kind, value) {
            (Kind::Whole { optional, .. }, Value::Absent) => optional,
            (Kind::Whole { low, high, .. }, &Value::Number(number)) => {
                number.fract() == 0.0 && (f64::from(low)..=f64::from(high)).contains(&number)
            }
            (Kind::WholeOrWord(_), &Value::Number(number)) => {
                number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)
            }
            (Kind::Real { low, high }, Value::Number(number)) => (low..=high).contains(number),
            (Kind::Pair { low, high }, Value::Pair(pair)) => pair.iter().all(|number| (low..=high).contains(number)),
            (Kind::Flag, Value::Flag(_)) | (Kind::Word(_), Value::Word(_)) => true,
            (Kind::WholeOrWord(_), Value::Word(_) | Value::Absent) => true,
            _ => false,
        };
        if is_valid { Ok(()) } else { Err(self.refuse(value)) }
    }

    pub(super) fn refuse(&self, value: &Value) -> Error {
        self.error(value.argument())
    }

    /// The error for a value that this key cannot have.
    pub(super) fn error(&self, value: String) -> Error {
        let range = self.range();
        let reason = match self.kind {
            Kind::Flag | Kind::Word(_) | Kind::WholeOrWord(_) => format!("must be one of {range}"),
            Kind::Whole { .. } => format!("must be a whole number, {range}"),
            Kind::Real { .. } if self.name == "field_t" => {
                format!("must be a number, {range}: the size of the field, without the sign of its direction")
            }
            Kind::Real { .. } => format!("must be a number, {range}"),
            Kind::Pair { .. } => format!("must be {range}"),
        };
        Error::Config { key: self.name, value, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Preset};

    #[test]
    fn every_value_of_every_preset_is_read_back() {
        for &preset in Preset::ALL {
            let config = Config::preset(preset);
            let mut copy = Config::preset(Preset::Thesis);
            for key in Config::KEYS {
                let value = key.get(&config);
                assert_eq!(key.parse(&value.argument()).expect(key.name), value, "{}", key.name);
                key.set(&mut copy, &value).expect(key.name);
                assert_eq!(Key::find(&key.short_name().replace('_', "-")).expect("its own name").name, key.name);
            }
            assert_eq!(copy, config);
        }
    }

    #[test]
    fn values_of_another_type_or_out_of_range_are_refused() {
        for (name, value) in [
            ("peaks", "1.5"),
            ("peaks", "1025"),
            ("peaks", "none"),
            ("neighbour_max", "0"),
            ("field_t", "nan"),
            ("field_t", "two"),
            ("beam_spot_mm", "1"),
            ("beam_spot_tilt", "0,2"),
            ("charge_aware", "1"),
            ("pair_weight", "mass"),
            ("max_layer", "-1"),
            ("max_layer", "gold"),
        ] {
            let mut config = Config::default();
            let error = config.set(name, value).expect_err(value).to_string();
            assert!(error.starts_with(&format!("option `{name}`: {value} must be ")), "{error}");
            assert_eq!(config, Config::default());
        }
        let error = Config::default().set("peeks", "1").expect_err("no such key").to_string();
        assert!(error.starts_with("there is no option `peeks`: the options are preset, peaks"), "{error}");
        assert!(error.ends_with("; did you mean `peaks`?"), "{error}");
    }

    /// Help, errors and pages show it without markup.
    #[test]
    fn meanings_are_plain_lines() {
        let words = |key: &Key| match key.kind {
            Kind::Word(words) | Kind::WholeOrWord(words) => words.iter().map(Word::summary).collect(),
            _ => Vec::new(),
        };
        for key in Config::KEYS {
            for line in [vec![key.summary()], words(key)].concat() {
                assert!(!line.is_empty() && line.len() <= 100 && !line.contains("[`"), "{}: {line}", key.name);
            }
        }
    }
}
