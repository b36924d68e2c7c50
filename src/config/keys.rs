//! Keys of the configuration: names, ranges, units and meanings, and the reading, writing and
//! checking of their values. Every front end takes them from here.

use std::fmt;

use crate::config::{Config, Word};
use crate::error::{Error, Result};

/// A value of a key, as files, command lines and programs give it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value, of a key that may be absent.
    Absent,
    /// `true` or `false`.
    Flag(bool),
    /// A number.
    Number(f64),
    /// Two numbers, x and y.
    Pair([f64; 2]),
    /// A word.
    Word(String),
}

impl Value {
    /// Returns the value as a command line has it, which [`Key::parse`] reads.
    pub fn argument(&self) -> String {
        match self {
            Self::Pair([x, y]) => format!("{x},{y}"),
            Self::Word(word) => word.clone(),
            value => value.to_string(),
        }
    }
}

/// Writes a value in the form of TOML. An absent value, which TOML leaves out, is `none`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("none"),
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Pair([x, y]) => write!(f, "[{x}, {y}]"),
            Self::Word(word) => write!(f, "\"{word}\""),
        }
    }
}

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
}

impl Group {
    /// All groups, in the order of help and pages.
    pub const ALL: [Self; 4] = [Self::Search, Self::Histogram, Self::Slices, Self::Triplets];

    /// Returns the heading.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "Search",
            Self::Histogram => "Histogram and peaks",
            Self::Slices => "Slices and bending",
            Self::Triplets => "Triplets",
        }
    }
}

/// A key of the configuration: an entry of [`Config::KEYS`].
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
    /// Meaning of the key: the documentation of the field of [`Config`].
    pub about: &'static str,
    pub(super) get: fn(&Config) -> Value,
    /// Returns whether the value is of the key's type.
    pub(super) set: fn(&mut Config, &Value) -> bool,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Key {
    /// Finds a key by its name. Hyphens stand for underscores, and a unit `_mm` at the end
    /// of the name may be left out.
    ///
    /// # Errors
    /// [`Error::UnknownKey`].
    ///
    /// ```
    /// use zfinder::config::Key;
    /// assert_eq!(Key::find("triplet-dz")?.name, "triplet_dz_mm");
    /// assert!(Key::find("triplet_dx").is_err());
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn find(name: &str) -> Result<&'static Self> {
        let snake = name.replace('-', "_");
        let known = Config::KEYS.iter().find(|key| key.name == snake || key.short_name() == snake);
        known.ok_or_else(|| Error::UnknownKey { name: name.to_owned() })
    }

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

    /// Returns the value of this key in a configuration.
    pub fn get(&self, config: &Config) -> Value {
        (self.get)(config)
    }

    /// Sets this key in a configuration.
    ///
    /// # Errors
    /// [`Error::Config`] if the value is of another type or out of range. The configuration is then
    /// unchanged.
    pub fn set(&self, config: &mut Config, value: &Value) -> Result<()> {
        self.check(value)?;
        if (self.set)(config, value) { Ok(()) } else { Err(self.refuse(value)) }
    }

    /// Reads a value as a command line has it: two numbers with a comma between them are a pair.
    ///
    /// # Errors
    /// [`Error::Config`] if the text is no value of this key.
    pub fn parse(&self, text: &str) -> Result<Value> {
        let number = || text.trim().parse().ok().map(Value::Number);
        let pair = || {
            let (x, y) = text.split_once(',')?;
            Some(Value::Pair([x.trim().parse().ok()?, y.trim().parse().ok()?]))
        };
        let word = || Some(Value::Word(text.to_owned()));
        let value = match self.kind {
            Kind::Flag => text.parse().ok().map(Value::Flag),
            Kind::Whole { optional: true, .. } if text == "none" => Some(Value::Absent),
            Kind::Whole { .. } | Kind::Real { .. } => number(),
            Kind::Pair { .. } => pair(),
            Kind::Word(_) => word(),
            Kind::WholeOrWord(_) => number().or_else(word),
        };
        let value = value.ok_or_else(|| self.error(text.to_owned()))?;
        // Words and ranges are checked where values are set.
        self.set(&mut Config::default(), &value).map_err(|_| self.error(text.to_owned()))?;
        Ok(value)
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

    fn refuse(&self, value: &Value) -> Error {
        self.error(value.argument())
    }

    /// The error for a value that this key cannot have.
    fn error(&self, value: String) -> Error {
        let range = self.range();
        let reason = match self.kind {
            Kind::Flag | Kind::Word(_) | Kind::WholeOrWord(_) => format!("must be one of {range}"),
            Kind::Whole { .. } => format!("must be a whole number, {range}"),
            Kind::Real { .. } => format!("must be a number, {range}"),
            Kind::Pair { .. } => format!("must be {range}"),
        };
        Error::Config { key: self.name, value, reason }
    }
}

/// Returns the first paragraph of a documentation comment, without its full stop and line breaks.
pub(crate) fn summary(about: &str) -> String {
    let paragraph = about.trim().split("\n\n").next().unwrap_or_default();
    let words: Vec<_> = paragraph.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// A type of the fields of [`Config`].
pub(crate) trait Field: Sized {
    fn to_value(&self) -> Value;
    fn from_value(value: &Value) -> Option<Self>;
}

impl Field for bool {
    fn to_value(&self) -> Value {
        Value::Flag(*self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Flag(flag) = value { Some(*flag) } else { None }
    }
}

impl Field for f64 {
    fn to_value(&self) -> Value {
        Value::Number(*self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Number(number) = value { Some(*number) } else { None }
    }
}

impl Field for u32 {
    fn to_value(&self) -> Value {
        Value::Number(f64::from(*self))
    }

    fn from_value(value: &Value) -> Option<Self> {
        let number = f64::from_value(value)?;
        // A cast saturates, so a number that is not whole, or out of range, is not its own cast.
        let whole = number as u32;
        (f64::from(whole) == number).then_some(whole)
    }
}

impl Field for Option<u32> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Absent, Field::to_value)
    }

    fn from_value(value: &Value) -> Option<Self> {
        if *value == Value::Absent { Some(None) } else { u32::from_value(value).map(Some) }
    }
}

impl Field for [f64; 2] {
    fn to_value(&self) -> Value {
        Value::Pair(*self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Pair(pair) = value { Some(*pair) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;

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
            ("weighting", "mass"),
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
