//! Whole numbers.

use std::str::FromStr;

/// Whole numbers of f64 are exact below this one.
const EXACT_BELOW: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// Reads a whole number. A float is read if it is whole (`1.0`, `1e3`), and a boolean as 1 or 0.
///
/// # Errors
/// The end of a sentence on the text: `is not a whole number`; out of range; a float of 2^53 or
/// more, which may have been rounded.
pub fn whole<T: FromStr + TryFrom<i128>>(text: &str) -> Result<T, &'static str> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let boolean = match text {
        "True" | "true" | "TRUE" => Some(1),
        "False" | "false" | "FALSE" => Some(0),
        _ => None,
    };
    let whole = match boolean.map_or_else(|| text.parse::<i128>(), Ok) {
        Ok(whole) => whole,
        Err(_) => match text.parse::<f64>() {
            Ok(value) if value.trunc() == value && value.abs() < EXACT_BELOW => value as i128,
            Ok(value) if value.is_finite() && value.trunc() == value => {
                return Err("is too large for a float to be exact: write it as an integer");
            }
            _ => return Err("is not a whole number"),
        },
    };
    T::try_from(whole).map_err(|_| if whole < 0 { "is below the least number" } else { "is too large" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_that_are_whole_are_read() {
        for (text, number) in [
            ("0", 0),
            ("18446744073709551615", u64::MAX),
            ("1.0", 1),
            ("1.", 1),
            ("-0.0", 0),
            ("1e3", 1000),
            ("+7", 7),
            ("True", 1),
            ("false", 0),
            ("9007199254740991.0", (1 << 53) - 1),
        ] {
            assert_eq!(whole::<u64>(text), Ok(number), "{text}");
        }
        for (text, why) in [
            ("1.5", "is not a whole number"),
            ("", "is not a whole number"),
            ("nan", "is not a whole number"),
            ("inf", "is not a whole number"),
            ("yes", "is not a whole number"),
            ("1 ", "is not a whole number"),
            ("-1", "is below the least number"),
            ("-1.0", "is below the least number"),
            ("18446744073709551616", "is too large"),
            ("9007199254740992.0", "is too large for a float to be exact: write it as an integer"),
            ("1.152921504606847e+18", "is too large for a float to be exact: write it as an integer"),
        ] {
            assert_eq!(whole::<u64>(text), Err(why), "{text}");
        }
        assert_eq!((whole::<i16>("-7.0"), whole::<i16>("32768.0")), (Ok(-7), Err("is too large")));
        assert_eq!(whole::<i128>("-1.0"), Ok(-1));
    }
}
