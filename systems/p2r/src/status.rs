//! Faults of fitted tracks.

use std::fmt;

/// One update in an engine's word of a track.
pub(crate) const UPDATE: u32 = 1 << 16;

/// The faults of a fitted track, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status(u32);

impl Status {
    /// The track cannot be propagated: a value is not finite, or 1/pt or the charge is 0. The
    /// result is the input track.
    pub const BAD_TRACK: Self = Self(1);
    /// The radius of a hit is 0 or not finite. The fit skips its layer.
    pub const BAD_HIT: Self = Self(2);
    /// The helix does not reach a hit's radius. The fit skips its layer.
    pub const UNREACHABLE: Self = Self(4);
    /// The residual's covariance is zero or too large: there is no gain. The fit propagates the
    /// track to that hit without an update.
    pub const SINGULAR: Self = Self(8);
    /// The result is not finite. The result is the input track.
    pub const NOT_FINITE: Self = Self(16);
    /// The track has no hits. The result is the input track.
    pub const NO_HITS: Self = Self(32);
    /// A covariance is not positive definite. If it is a residual's, the fit propagates the track
    /// to that hit without an update. If it is the result's, a variance is below zero.
    pub const NOT_POSITIVE: Self = Self(64);

    pub(crate) const NAMES: [(Self, &'static str); 7] = [
        (Self::BAD_TRACK, "bad_track"),
        (Self::BAD_HIT, "bad_hit"),
        (Self::UNREACHABLE, "unreachable"),
        (Self::SINGULAR, "singular"),
        (Self::NOT_FINITE, "not_finite"),
        (Self::NO_HITS, "no_hits"),
        (Self::NOT_POSITIVE, "not_positive"),
    ];

    /// Returns the bits: one for each fault.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns the status in an engine's word: the faults below, the number of updates above.
    pub(crate) fn of_word(word: u32) -> Self {
        Self(word & 0xffff)
    }

    /// Returns the number of updates in an engine's word.
    pub(crate) fn updates(word: u32) -> u32 {
        word / UPDATE
    }

    /// Returns whether there is no fault.
    #[must_use]
    pub fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Returns whether this status has every fault of `other`.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Writes `ok`, or the names of the faults.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            Self::NAMES.iter().filter(|(status, _)| self.contains(*status)).map(|(_, name)| *name).collect();
        f.write_str(if names.is_empty() { "ok" } else { "" })?;
        f.write_str(&names.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_wrong() {
        let mut status = Status::default();
        assert_eq!((status.to_string(), status.is_ok()), ("ok".to_owned(), true));
        status.add(Status::BAD_HIT);
        status.add(Status::SINGULAR);
        assert_eq!((status.to_string(), status.bits()), ("bad_hit+singular".to_owned(), 10));
        assert!(status.contains(Status::SINGULAR) && !status.contains(Status::BAD_TRACK));
    }
}
