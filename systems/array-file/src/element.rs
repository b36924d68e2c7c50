//! Types of elements: the types that are read, the types that callers ask for, and conversions.

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar};

/// A number type that arrays are read as: integers of 8 to 64 bits, `f32` and `f64`.
///
/// An array of any type that is read is converted. A number that does not fit is an error: a
/// fraction, NaN or a number out of range as an integer, and a finite number out of range as an
/// `f32`. Other numbers are rounded to the nearest number of a float type. `true` is 1.
pub trait Element: sealed::Convert {}

impl<T: sealed::Convert> Element for T {}

/// A type of stored elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float16,
    Float32,
    Float64,
}

/// A stored number on its way to another type.
#[derive(Clone, Copy)]
pub enum Number {
    Whole(i128),
    Real {
        value: f64,
        /// Whole numbers of the stored type are exact below this one.
        exact_below: f64,
    },
}

mod sealed {
    use super::{Number, Stored};

    pub trait Convert: Copy + std::fmt::Debug {
        /// The stored type with the same values.
        const STORED: Stored;

        /// Decodes elements of the stored type with the same values.
        fn decode(bytes: &[u8], is_big_endian: bool) -> Vec<Self>;

        /// Returns the number; `exact_below` is that of the stored type.
        fn number(self, exact_below: f64) -> Number;

        /// Converts a number; None if it does not fit.
        fn convert(number: Number) -> Option<Self>;

        /// Describes the numbers that fit.
        fn range() -> String;
    }
}

macro_rules! decode {
    () => {
        fn decode(bytes: &[u8], is_big_endian: bool) -> Vec<Self> {
            let (elements, _) = bytes.as_chunks();
            match is_big_endian {
                true => elements.iter().map(|&bytes| Self::from_be_bytes(bytes)).collect(),
                false => elements.iter().map(|&bytes| Self::from_le_bytes(bytes)).collect(),
            }
        }
    };
}

macro_rules! integers {
    ($($integer:ty, $stored:ident;)*) => {$(
        impl sealed::Convert for $integer {
            const STORED: Stored = Stored::$stored;

            decode!();

            fn number(self, _: f64) -> Number {
                Number::Whole(self.into())
            }

            fn convert(number: Number) -> Option<Self> {
                match number {
                    Number::Whole(whole) => Self::try_from(whole).ok(),
                    Number::Real { value, exact_below } => {
                        let is_exact = value.trunc() == value && value.abs() < exact_below;
                        is_exact.then_some(value as i128).and_then(|whole| Self::try_from(whole).ok())
                    }
                }
            }

            fn range() -> String {
                format!("a whole number from {} to {}", Self::MIN, Self::MAX)
            }
        }
    )*};
}

integers! {
    u8, Uint8;
    u16, Uint16;
    u32, Uint32;
    u64, Uint64;
    i8, Int8;
    i16, Int16;
    i32, Int32;
    i64, Int64;
}

macro_rules! floats {
    ($($float:ty, $stored:ident;)*) => {$(
        impl sealed::Convert for $float {
            const STORED: Stored = Stored::$stored;

            decode!();

            fn number(self, exact_below: f64) -> Number {
                Number::Real { value: self.into(), exact_below }
            }

            fn convert(number: Number) -> Option<Self> {
                match number {
                    Number::Whole(whole) => Some(whole as Self),
                    Number::Real { value, .. } => {
                        let rounded = value as Self;
                        (rounded.is_finite() || !value.is_finite()).then_some(rounded)
                    }
                }
            }

            fn range() -> String {
                format!("a number from {:e} to {:e}", Self::MIN, Self::MAX)
            }
        }
    )*};
}

floats! {
    f32, Float32;
    f64, Float64;
}

/// Checks that the elements of an array take `found` bytes, before memory is allocated for them.
///
/// # Errors
/// The reason, if the type is not read or if the number of bytes is wrong.
pub(crate) fn check_size(header: &NpyHeader, found: u64) -> Result<(), String> {
    let shape = header.shape();
    let (stored, _) = stored_type(&header.dtype())?;
    let elements = shape.iter().try_fold(1_u64, |product, &length| product.checked_mul(length));
    let wanted = elements.and_then(|elements| elements.checked_mul(stored.size()));
    if wanted == Some(found) {
        return Ok(());
    }
    let descr = header.dtype().descr();
    let wanted = wanted.map_or_else(|| "more than 2^64".to_owned(), |wanted| wanted.to_string());
    // An array may have any number of dimensions.
    let shape: String = format!("{shape:?}").chars().take(120).collect();
    Err(format!("shape {shape} of type {descr} takes {wanted} bytes, and there are {found}: the file is damaged"))
}

/// Decodes the elements of an array and converts them. Returns them row by row.
///
/// # Errors
/// As [`check_size`]; a number that does not fit.
pub(crate) fn decode<T: Element>(header: &NpyHeader, bytes: &[u8]) -> Result<Vec<T>, String> {
    check_size(header, bytes.len() as u64)?;
    let shape = header.shape();
    let (stored, is_big_endian) = stored_type(&header.dtype())?;
    let values = match stored {
        _ if stored == T::STORED => Ok(T::decode(bytes, is_big_endian)),
        Stored::Bool => convert(bytes.iter().map(|&byte| u8::from(byte != 0)), 0.0),
        Stored::Int8 => convert_all::<i8, T>(bytes, is_big_endian, 0.0),
        Stored::Int16 => convert_all::<i16, T>(bytes, is_big_endian, 0.0),
        Stored::Int32 => convert_all::<i32, T>(bytes, is_big_endian, 0.0),
        Stored::Int64 => convert_all::<i64, T>(bytes, is_big_endian, 0.0),
        Stored::Uint8 => convert_all::<u8, T>(bytes, is_big_endian, 0.0),
        Stored::Uint16 => convert_all::<u16, T>(bytes, is_big_endian, 0.0),
        Stored::Uint32 => convert_all::<u32, T>(bytes, is_big_endian, 0.0),
        Stored::Uint64 => convert_all::<u64, T>(bytes, is_big_endian, 0.0),
        Stored::Float16 => {
            convert(<u16 as sealed::Convert>::decode(bytes, is_big_endian).into_iter().map(half), 2048.0)
        }
        Stored::Float32 => convert_all::<f32, T>(bytes, is_big_endian, f64::from(1_u32 << f32::MANTISSA_DIGITS)),
        Stored::Float64 => convert_all::<f64, T>(bytes, is_big_endian, (1_u64 << f64::MANTISSA_DIGITS) as f64),
    };
    match values {
        Ok(values) if header.order() == Order::Fortran => Ok(by_rows(values, shape)),
        Ok(values) => Ok(values),
        Err(Misfit { place, value, what }) => {
            Err(format!("{} is {value}, and {what}", element_name(place, shape, header.order())))
        }
    }
}

/// A number that does not fit.
struct Misfit {
    /// Its place in the file.
    place: usize,
    value: String,
    what: String,
}

fn convert_all<S: Element, T: Element>(bytes: &[u8], is_big_endian: bool, exact_below: f64) -> Result<Vec<T>, Misfit> {
    convert(S::decode(bytes, is_big_endian).into_iter(), exact_below)
}

fn convert<S: Element, T: Element>(
    values: impl ExactSizeIterator<Item = S>,
    exact_below: f64,
) -> Result<Vec<T>, Misfit> {
    let mut converted = Vec::with_capacity(values.len());
    for (place, value) in values.enumerate() {
        let number = value.number(exact_below);
        let Some(fitting) = T::convert(number) else {
            let what = match number {
                Number::Real { value, .. } if value.is_finite() && value.abs() >= exact_below && value <= 1e20 => {
                    format!("whole numbers in floats of this size are exact below {exact_below}: save them as integers")
                }
                _ => format!("{} is wanted", T::range()),
            };
            return Err(Misfit { place, value: format!("{value:?}"), what });
        };
        converted.push(fitting);
    }
    Ok(converted)
}

/// Converts a number of 16 bits.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2.0_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2.0_f32.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

impl Stored {
    /// The bytes of an element.
    fn size(self) -> u64 {
        match self {
            Self::Bool | Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 | Self::Float16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }
}

/// Returns the type of the elements, and whether they are big-endian.
fn stored_type(dtype: &DType) -> Result<(Stored, bool), String> {
    let refuse = |kind: &str| {
        // npyz writes a comma after the last field, and numpy does not.
        let descr: String = dtype.descr().replace(", ]", "]").chars().take(120).collect();
        Err(format!(
            "type {descr} ({kind}) is not read: bool, integers of 8 to 64 bits and floats of 16, 32 and 64 bits are; \
             convert the array with numpy's astype"
        ))
    };
    let DType::Plain(plain) = dtype else { return refuse("records") };
    let stored = match (plain.type_char(), plain.size_field()) {
        (TypeChar::Bool, 1) => Stored::Bool,
        (TypeChar::Int, 1) => Stored::Int8,
        (TypeChar::Int, 2) => Stored::Int16,
        (TypeChar::Int, 4) => Stored::Int32,
        (TypeChar::Int, 8) => Stored::Int64,
        (TypeChar::Uint, 1) => Stored::Uint8,
        (TypeChar::Uint, 2) => Stored::Uint16,
        (TypeChar::Uint, 4) => Stored::Uint32,
        (TypeChar::Uint, 8) => Stored::Uint64,
        (TypeChar::Float, 2) => Stored::Float16,
        (TypeChar::Float, 4) => Stored::Float32,
        (TypeChar::Float, 8) => Stored::Float64,
        (TypeChar::Float, _) => return refuse("long doubles"),
        (TypeChar::Complex, _) => return refuse("complex numbers"),
        (TypeChar::TimeDelta | TypeChar::DateTime, _) => return refuse("times"),
        (TypeChar::ByteStr | TypeChar::UnicodeStr, _) => return refuse("strings"),
        (TypeChar::Object, _) => return refuse("Python objects"),
        _ => return refuse("raw bytes"),
    };
    Ok((stored, plain.endianness() == Endianness::Big))
}

/// Reorders elements that are stored column by column.
fn by_rows<T: Copy>(stored: Vec<T>, shape: &[u64]) -> Vec<T> {
    if shape.len() < 2 || stored.is_empty() {
        return stored;
    }
    let lengths: Vec<usize> = shape.iter().map(|&length| length as usize).collect();
    let strides: Vec<usize> = (0..lengths.len()).map(|axis| lengths[..axis].iter().product()).collect();
    let mut index = vec![0; lengths.len()];
    let mut place = 0;
    let next = |_| {
        let element = stored[place];
        for axis in (0..lengths.len()).rev() {
            index[axis] += 1;
            place += strides[axis];
            if index[axis] < lengths[axis] {
                break;
            }
            place -= strides[axis] * lengths[axis];
            index[axis] = 0;
        }
        element
    };
    (0..stored.len()).map(next).collect()
}

/// Names an element as numpy indexes it.
fn element_name(mut place: usize, shape: &[u64], order: Order) -> String {
    let mut index = vec![0; shape.len()];
    let mut split = |axis: usize| {
        let length = shape[axis] as usize;
        index[axis] = place % length;
        place /= length;
    };
    match order {
        Order::C => (0..shape.len()).rev().for_each(&mut split),
        Order::Fortran => (0..shape.len()).for_each(&mut split),
    }
    match index[..] {
        [] => "the number".to_owned(),
        _ => format!("element {index:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_16_bits_are_exact() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ] {
            assert_eq!(half(bits).to_bits(), f32::to_bits(value), "{bits:x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
