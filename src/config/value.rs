//! Values of keys, and the types of fields that hold them.

use std::fmt;

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
    /// Returns the value as a command line has it, which
    /// [`Key::parse`](crate::config::Key::parse) reads.
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

/// Returns the first paragraph of a documentation comment, without its full stop and line breaks.
pub(crate) fn summary(about: &str) -> String {
    let paragraph = about.trim().split("\n\n").next().unwrap_or_default();
    let words: Vec<_> = paragraph.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// A type of the fields of [`Config`](crate::Config).
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
