//! Faults of fitted tracks.

use std::fmt;

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
    /// The residual's covariance has no inverse. The fit propagates the track to that hit without
    /// an update.
    pub const SINGULAR: Self = Self(8);
    /// The result is not finite. The result is the input track.
    pub const NOT_FINITE: Self = Self(16);
    /// There are no layers. The result is the input track.
    pub const NO_HITS: Self = Self(32);

    pub(crate) const NAMES: [(Self, &'static str); 6] = [
        (Self::BAD_TRACK, "bad_track"),
        (Self::BAD_HIT, "bad_hit"),
        (Self::UNREACHABLE, "unreachable"),
        (Self::SINGULAR, "singular"),
        (Self::NOT_FINITE, "not_finite"),
        (Self::NO_HITS, "no_hits"),
    ];

    /// Returns the bits: one for each fault.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
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
