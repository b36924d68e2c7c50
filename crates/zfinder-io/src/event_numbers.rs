//! Numbers of events that are searched: `3-7,12`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A selection of events by their numbers: single ones and ranges, which include both ends.
///
/// ```
/// use zfinder_io::EventNumbers;
/// let numbers: EventNumbers = "3-5,12".parse()?;
/// assert_eq!((0..20).filter(|&event| numbers.has(event)).collect::<Vec<_>>(), [3, 4, 5, 12]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNumbers {
    /// In the order of the text. Ranges may overlap.
    ranges: Vec<RangeInclusive<u64>>,
}

impl EventNumbers {
    /// Returns whether an event is selected.
    pub fn has(&self, event_id: u64) -> bool {
        self.ranges.iter().any(|range| range.contains(&event_id))
    }

    /// Returns the numbers and ranges without a known event. None if each has one.
    pub(crate) fn without(&self, is_known: impl Fn(&RangeInclusive<u64>) -> bool) -> Option<Self> {
        let ranges: Vec<_> = self.ranges.iter().filter(|range| !is_known(range)).cloned().collect();
        (!ranges.is_empty()).then_some(Self { ranges })
    }
}

impl FromStr for EventNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
            Some(range).filter(|range| !range.is_empty())
        };
        let ranges = text.split(',').map(|part| range(part).ok_or(part)).collect::<Result<_, _>>();
        ranges.map(|ranges| Self { ranges }).map_err(|part| {
            format!("`{part}` is no event number and no range FIRST-LAST; events are written as in 3-7,12")
        })
    }
}

impl fmt::Display for EventNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.ranges.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match (range.start(), range.end()) {
                (first, last) if first == last => write!(f, "{comma}{first}")?,
                (first, last) => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for text in ["3", "3-7,12", "0,0-18446744073709551615", "9,2-2"] {
            let numbers: EventNumbers = text.parse().expect("numbers");
            assert_eq!(numbers.to_string(), text.replace("2-2", "2"));
        }
        assert_eq!(" 3 - 5, 7".parse::<EventNumbers>().map(|numbers| numbers.to_string()), Ok("3-5,7".into()));
        for wrong in ["", "3,", "7-3", "-3", "3-", "a", "3-5-7", "1.5", "18446744073709551616"] {
            assert!(wrong.parse::<EventNumbers>().is_err(), "{wrong}");
        }
    }
}
