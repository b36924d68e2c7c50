//! The last layer whose spacepoints take part.

use std::fmt;
use std::str::FromStr;

use crate::config::value::{Field, Value};
use crate::config::words::{Word, not_a_word};
use crate::detector::layers::Sensor;
use crate::error::{Error, Result};

/// The last layer whose spacepoints take part. In files it is a number or a word: `all`, `pixel`,
/// `short-strip` or `long-strip`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxLayer {
    /// All layers take part.
    #[default]
    All,
    /// Layers up to this number.
    Number(u32),
    /// By sensor, in the order pixel, short strip, long strip: layers of later ones take no part.
    Sensor(Sensor),
}

impl MaxLayer {
    /// The words that files may have in place of a number.
    pub const WORDS: &'static [Word] =
        &[Word { word: "all", about: "All layers." }, Sensor::WORDS[0], Sensor::WORDS[1], Sensor::WORDS[2]];
}

impl fmt::Display for MaxLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Number(last) => last.fmt(f),
            Self::Sensor(sensor) => sensor.fmt(f),
        }
    }
}

impl FromStr for MaxLayer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "all" {
            return Ok(Self::All);
        }
        let number = text.parse().map(Self::Number).ok();
        let layer = number.or_else(|| text.parse().map(Self::Sensor).ok());
        layer.ok_or_else(|| not_a_word("max_layer", text, Self::WORDS))
    }
}

impl Field for MaxLayer {
    fn to_value(&self) -> Value {
        match self {
            Self::Number(last) => last.to_value(),
            word => Value::Word(word.to_string()),
        }
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Absent => Some(Self::All),
            Value::Word(word) => word.parse().ok(),
            value => u32::from_value(value).map(Self::Number),
        }
    }
}
