//! Whole numbers in any form that programs write: `7`, `7.0`, `True`.

/// The floats below this number hold all of its whole numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns a float as a whole number.
///
/// # Errors
/// A number that is negative, not whole, not finite, or so large that floats skip whole numbers.
pub(super) fn whole_of_float(number: f64) -> Result<u64, String> {
    if number.fract() == 0.0 && (0.0..EXACT).contains(&number) {
        return Ok(number as u64);
    }
    if number.fract() == 0.0 && number >= EXACT {
        return Err(format!("{number} is a float above 2^53, where floats skip whole numbers: store it as an integer"));
    }
    Err(not_whole(number))
}

/// Returns an integer as a whole number from 0.
///
/// # Errors
/// A negative number.
pub(super) fn whole_of_integer<T: TryInto<u64> + Copy + std::fmt::Display>(number: T) -> Result<u64, String> {
    number.try_into().map_err(|_| not_whole(number))
}

fn not_whole(number: impl std::fmt::Display) -> String {
    format!("{number} is not a whole number from 0")
}

/// Returns a text as a whole number, as [`table_file::whole`] reads it.
///
/// # Errors
/// Any other text.
pub(super) fn whole_of_text(text: &str) -> Result<u64, String> {
    table_file::whole(text).map_err(|reason| match reason {
        reason if reason.contains("float") => format!("`{text}` {reason}"),
        _ => format!("`{text}` is not a whole number from 0 to 2^64 - 1"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_many_forms() {
        let largest = u64::MAX.to_string();
        for (text, number) in [
            ("7", 7),
            ("7.0", 7),
            ("7.", 7),
            ("0.0", 0),
            ("8.76295434e8", 876_295_434),
            ("True", 1),
            ("false", 0),
            ("9007199254740991.0", (1 << 53) - 1),
            (largest.as_str(), u64::MAX),
        ] {
            assert_eq!(whole_of_text(text), Ok(number), "{text}");
        }
        for text in [
            "1.5",
            "-1",
            "-1.0",
            "",
            "nan",
            "inf",
            "yes",
            "9007199254740992.0",
            "1e300",
            "0x10",
            "18446744073709551616",
        ] {
            assert!(whole_of_text(text).is_err(), "{text}");
        }
        for float in [-1.0, 0.5, f64::NAN, f64::INFINITY, EXACT] {
            assert!(whole_of_float(float).is_err(), "{float}");
        }
    }
}
