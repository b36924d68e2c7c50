//! The ranges of z that tracklets point into.

/// Ranges of z \[mm\], ascending, with space between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ZRanges {
    ranges: [[f64; 2]; Self::MOST],
    count: usize,
}

impl ZRanges {
    /// More ranges than these are one, from the lowest end to the highest.
    pub(crate) const MOST: usize = 4;

    pub(crate) fn one(range: [f64; 2]) -> Self {
        Self { ranges: [range; Self::MOST], count: 1 }
    }

    /// The ranges within a distance of places. Without a place, none.
    pub(crate) fn near(places: impl Iterator<Item = f64>, distance: f64) -> Self {
        let mut all: Vec<[f64; 2]> = places.map(|z| [z - distance, z + distance]).collect();
        all.sort_by(|a, b| a[0].total_cmp(&b[0]));
        all.dedup_by(|next, last| {
            let overlaps = next[0] <= last[1];
            if overlaps {
                last[1] = next[1];
            }
            overlaps
        });
        if let (Some(first), Some(last), true) = (all.first(), all.last(), all.len() > Self::MOST) {
            return Self::one([first[0], last[1]]);
        }
        let mut ranges = [[0.0; 2]; Self::MOST];
        ranges[..all.len()].copy_from_slice(&all);
        Self { ranges, count: all.len() }
    }

    pub(crate) fn as_slice(&self) -> &[[f64; 2]] {
        &self.ranges[..self.count]
    }

    /// The range that has all of them.
    pub(crate) fn hull(&self) -> [f64; 2] {
        match self.as_slice() {
            [] => [0.0; 2],
            all => [all[0][0], all[all.len() - 1][1]],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_are_one() {
        let near = |places: &[f64]| ZRanges::near(places.iter().copied(), 2.0);
        assert_eq!(near(&[5.0]).as_slice(), [[3.0, 7.0]]);
        assert_eq!(near(&[5.0, -9.0, 8.0]).as_slice(), [[-11.0, -7.0], [3.0, 10.0]]);
        assert_eq!(near(&[30.0, 0.0, 10.0, 20.0]).as_slice().len(), 4);
        assert_eq!(near(&[30.0, 0.0, 10.0, 20.0, 40.0]).as_slice(), [[-2.0, 42.0]]);
        assert_eq!(near(&[]).as_slice().len(), 0);
        assert_eq!(near(&[5.0, -9.0]).hull(), [-11.0, 7.0]);
    }
}
