//! Arrays: the values of a field for a range of entries.

/// Numbers of one type.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is named after its element")]
pub enum Numbers {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    U8(Vec<u8>),
    I16(Vec<i16>),
    U16(Vec<u16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Evaluates an expression for the vector of any type.
macro_rules! each {
    ($numbers:expr, $values:ident => $result:expr) => {
        match $numbers {
            Numbers::Bool($values) => $result,
            Numbers::I8($values) => $result,
            Numbers::U8($values) => $result,
            Numbers::I16($values) => $result,
            Numbers::U16($values) => $result,
            Numbers::I32($values) => $result,
            Numbers::U32($values) => $result,
            Numbers::I64($values) => $result,
            Numbers::U64($values) => $result,
            Numbers::F32($values) => $result,
            Numbers::F64($values) => $result,
        }
    };
}
pub(crate) use each;

macro_rules! copy_part {
    ($numbers:expr, $part:expr, $($variant:ident),*) => {
        match $numbers {
            $(Numbers::$variant(values) => Numbers::$variant(values[$part].to_vec()),)*
        }
    };
}

impl Numbers {
    /// Copies a part.
    pub(crate) fn part(&self, part: std::ops::Range<usize>) -> Self {
        copy_part!(self, part, Bool, I8, U8, I16, U16, I32, U32, I64, U64, F32, F64)
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values as f64. Integers above 2^53 are rounded.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Self::Bool(values) => values.iter().map(|&value| f64::from(u8::from(value))).collect(),
            Self::I8(values) => values.iter().map(|&value| value.into()).collect(),
            Self::U8(values) => values.iter().map(|&value| value.into()).collect(),
            Self::I16(values) => values.iter().map(|&value| value.into()).collect(),
            Self::U16(values) => values.iter().map(|&value| value.into()).collect(),
            Self::I32(values) => values.iter().map(|&value| value.into()).collect(),
            Self::U32(values) => values.iter().map(|&value| value.into()).collect(),
            Self::I64(values) => values.iter().map(|&value| value as f64).collect(),
            Self::U64(values) => values.iter().map(|&value| value as f64).collect(),
            Self::F32(values) => values.iter().map(|&value| value.into()).collect(),
            Self::F64(values) => values.clone(),
        }
    }

    /// Returns the integers; None for floats. `true` is 1.
    pub fn to_integers(&self) -> Option<Vec<i128>> {
        Some(match self {
            Self::Bool(values) => values.iter().map(|&value| value.into()).collect(),
            Self::I8(values) => values.iter().map(|&value| value.into()).collect(),
            Self::U8(values) => values.iter().map(|&value| value.into()).collect(),
            Self::I16(values) => values.iter().map(|&value| value.into()).collect(),
            Self::U16(values) => values.iter().map(|&value| value.into()).collect(),
            Self::I32(values) => values.iter().map(|&value| value.into()).collect(),
            Self::U32(values) => values.iter().map(|&value| value.into()).collect(),
            Self::I64(values) => values.iter().map(|&value| value.into()).collect(),
            Self::U64(values) => values.iter().map(|&value| value.into()).collect(),
            Self::F32(_) | Self::F64(_) => return None,
        })
    }
}

/// The values of a field. N values have N + 1 offsets, of which the first is 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Array {
    /// A number for each entry.
    Numbers(Numbers),
    /// A string for each entry: value i has the bytes `offsets[i]..offsets[i + 1]`.
    Text {
        /// Where the values begin and end.
        offsets: Vec<u64>,
        /// The bytes of all values.
        bytes: Vec<u8>,
    },
    /// A list for each entry: value i has the items `offsets[i]..offsets[i + 1]`.
    List {
        /// Where the values begin and end.
        offsets: Vec<u64>,
        /// The items of all values.
        items: Box<Array>,
    },
    /// A list of fixed length for each entry.
    Fixed {
        /// Number of values.
        length: u64,
        /// Number of items of a value.
        size: u64,
        /// The items of all values.
        items: Box<Array>,
    },
    /// A record for each entry.
    Record {
        /// Number of values.
        length: u64,
        /// Names and values of the members.
        fields: Vec<(String, Array)>,
    },
    /// One of several types for each entry.
    Variant {
        /// The alternative of each value, from 1. A variant without a value has 0.
        tags: Vec<u32>,
        /// Index of each value among the values of its alternative.
        indices: Vec<u64>,
        /// The values of each alternative.
        alternatives: Vec<Array>,
    },
}

impl Array {
    /// Returns the number of values.
    pub fn len(&self) -> u64 {
        match self {
            Self::Numbers(numbers) => numbers.len() as u64,
            Self::Text { offsets, .. } | Self::List { offsets, .. } => offsets.len() as u64 - 1,
            Self::Fixed { length, .. } | Self::Record { length, .. } => *length,
            Self::Variant { tags, .. } => tags.len() as u64,
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
