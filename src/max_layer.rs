//! The last layer whose spacepoints take part.

use std::fmt;
use std::str::FromStr;

use crate::detector::Sensor;
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

impl fmt::Display for MaxLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MaxLayer::All => f.write_str("all"),
            MaxLayer::Number(last) => last.fmt(f),
            MaxLayer::Sensor(Sensor::Pixel) => f.write_str("pixel"),
            MaxLayer::Sensor(Sensor::ShortStrip) => f.write_str("short-strip"),
            MaxLayer::Sensor(Sensor::LongStrip) => f.write_str("long-strip"),
        }
    }
}

impl FromStr for MaxLayer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        const WORDS: [MaxLayer; 4] = [
            MaxLayer::All,
            MaxLayer::Sensor(Sensor::Pixel),
            MaxLayer::Sensor(Sensor::ShortStrip),
            MaxLayer::Sensor(Sensor::LongStrip),
        ];
        let word = WORDS.into_iter().find(|word| word.to_string() == text);
        word.or_else(|| text.parse().ok().map(Self::Number)).ok_or_else(|| Error::Config {
            key: "max_layer",
            value: text.to_owned(),
            reason: "is none of a layer's number, all, pixel, short-strip and long-strip".into(),
        })
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for MaxLayer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Number(last) => serializer.serialize_u32(*last),
            word => serializer.collect_str(word),
        }
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for MaxLayer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(
            untagged,
            expecting = "a layer's number, \"all\", \"pixel\", \"short-strip\" or \"long-strip\" is expected"
        )]
        enum Value {
            Number(u32),
            Word(String),
        }
        match Value::deserialize(deserializer)? {
            Value::Number(last) => Ok(Self::Number(last)),
            Value::Word(word) => word.parse().map_err(serde::de::Error::custom),
        }
    }
}
