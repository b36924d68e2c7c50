//! Shards: parts of a set of events, for many machines.

use std::fmt;
use std::str::FromStr;

/// A shard of the input: the events whose number modulo the number of shards equals the number of
/// the shard.
///
/// An event is in exactly one shard, whatever the files are and in whatever order they are read.
///
/// ```
/// use zfinder_io::Shard;
/// let shard: Shard = "1/3".parse()?;
/// assert_eq!((0..7).filter(|&event_id| shard.has(event_id)).collect::<Vec<_>>(), [1, 4]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Default for Shard {
    /// Returns the only shard, which has all events.
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

impl Shard {
    /// Makes shard `index` of `count`, counted from 0. None unless `index < count`.
    pub fn new(index: u64, count: u64) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    /// Returns whether an event is in this shard.
    pub fn has(self, event_id: u64) -> bool {
        event_id % self.count == self.index
    }

    /// Returns the number of this shard, from 0.
    pub fn index(self) -> u64 {
        self.index
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        let (index, count) = parts.ok_or("a shard is written I/N, as in 0/8")?;
        Self::new(index, count).ok_or_else(|| format!("shards of {count} are numbered from 0 up to {count}, exclusive"))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_in_one_shard() {
        let shards: Vec<Shard> = (0..5).filter_map(|index| Shard::new(index, 5)).collect();
        for event_id in [0, 1, 4, 5, 1 << 40, u64::MAX] {
            assert_eq!(shards.iter().filter(|shard| shard.has(event_id)).count(), 1, "{event_id}");
            assert!(Shard::default().has(event_id));
        }
    }

    #[test]
    fn shards_are_written_as_they_are_read() {
        assert_eq!("3/8".parse::<Shard>().map(|shard| shard.to_string()), Ok("3/8".into()));
        for wrong in ["", "3", "8/8", "9/8", "0/0", "-1/8", "a/b", "1/8/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
