//! nHisto and zHisto in one word of 64 bits a bin: one addition an entry.

use std::mem;

use crate::engine::plan::RoiPlan;
use crate::finder::Accumulate;
use crate::histogram::{CompareExchange, FixedPoint, MAX_COUNT, OFFSET_STEPS, ZSum};

/// The pair of histograms while find_z fills it: n in the upper half of a word, z in the lower.
#[derive(Debug, Default)]
pub(crate) struct PackedHistogram {
    pub(crate) words: Vec<u64>,
    /// Pairs, where they are not n; else empty.
    pub(crate) pairs: Vec<u32>,
    /// Sectors of phi with soft and with hard tracks, where weights go by pT; else empty.
    pub(crate) sectors: [Vec<u32>; 2],
    accumulate: Accumulate,
    /// The bin where rounding ends.
    last: u32,
    /// Of all entries.
    weights: u64,
    /// Weights since counts were last looked at.
    unseen: u64,
    /// A count went beyond what its words hold.
    overflows: bool,
}

/// Weights between looks at the counts: a word of 32 bits holds them and one more.
const LOOK_AFTER: u64 = 1 << 31;

impl PackedHistogram {
    /// Of these words.
    #[cfg(test)]
    pub(crate) fn of(words: Vec<u64>, pairs: Vec<u32>, sectors: [Vec<u32>; 2]) -> Self {
        Self { words, pairs, sectors, ..Self::default() }
    }

    /// All zero, for an RoI whose pairs weigh 1 or not.
    pub(crate) fn clear(&mut self, plan: &RoiPlan, accumulate: Accumulate, weighted: bool, sectors: bool) {
        let words = plan.histograms as usize * plan.bins.bins as usize;
        self.words.clear();
        self.words.resize(words, 0);
        let [soft, hard] = &mut self.sectors;
        for (column, wanted) in [(&mut self.pairs, weighted), (soft, sectors), (hard, sectors)] {
            column.clear();
            column.resize(if wanted { words } else { 0 }, 0);
        }
        (self.accumulate, self.last, self.overflows) = (accumulate, plan.bins.bins - 1, false);
        (self.weights, self.unseen) = (0, 0);
    }

    /// Whether a count is beyond what its words hold. Nothing more counts then.
    pub(crate) fn overflows(&self) -> bool {
        self.overflows
    }

    /// Of all entries: no count is higher.
    pub(crate) fn weights(&self) -> u64 {
        self.weights + self.unseen
    }

    /// Looks at all counts, where any could be too high.
    pub(crate) fn look(&mut self) {
        self.weights += mem::take(&mut self.unseen);
        if self.weights <= u64::from(MAX_COUNT) {
            return;
        }
        self.overflows |= self.words.iter().any(|word| word >> 32 > u64::from(MAX_COUNT));
    }

    /// Entries in the only histogram: steps above the first bin, weights unless all are 1, and z if that is summed.
    #[inline(always)]
    pub(crate) fn fill<const WEIGHTED: bool>(
        &mut self,
        steps: &[u32],
        weights: impl Iterator<Item = u32>,
        z: impl Iterator<Item = f32>,
    ) {
        let (words, pairs) = (&mut self.words[..], &mut self.pairs[..]);
        match self.accumulate {
            Accumulate::Fixed if !WEIGHTED => {
                for &steps in steps {
                    let entry = 1 << 32 | u64::from(steps % OFFSET_STEPS);
                    if let Some(word) = of_bin(words, steps) {
                        *word = word.wrapping_add(entry);
                    }
                }
                self.unseen += steps.len() as u64;
            }
            Accumulate::Fixed => {
                for (&steps, weight) in steps.iter().zip(weights) {
                    // What n counts to, z has room for.
                    let weight = u64::from(weight);
                    let z = weight * u64::from(steps % OFFSET_STEPS);
                    if let Some((word, pairs)) = of_bin(words, steps).zip(of_bin(pairs, steps)) {
                        *word = word.wrapping_add(weight << 32 | z);
                        *pairs = pairs.wrapping_add(1);
                    }
                    self.unseen += weight;
                }
            }
            Accumulate::CompareExchange => {
                for ((&steps, z), weight) in steps.iter().zip(z).zip(weights) {
                    if let Some(word) = of_bin(words, steps) {
                        *word = entered::<CompareExchange>(*word, weight, z, steps);
                    }
                    if let Some(pairs) = of_bin(pairs, steps) {
                        *pairs = pairs.wrapping_add(1);
                    }
                    self.unseen += u64::from(weight);
                }
            }
        }
        if self.unseen >= LOOK_AFTER {
            self.look();
        }
    }

    /// An entry of some weight in one of several histograms, with the sectors that it marks.
    #[inline(always)]
    pub(crate) fn add(&mut self, histogram: u32, steps: u32, z: f32, weight: u32, sectors: [u32; 2]) {
        let bin = (steps / OFFSET_STEPS).min(self.last);
        let at = histogram as usize * (self.last as usize + 1) + bin as usize;
        // One more than fits is as much as can be told.
        let weight = weight.min(MAX_COUNT + 1);
        let word = &mut self.words[at];
        *word = match self.accumulate {
            Accumulate::Fixed => entered::<FixedPoint>(*word, weight, z, steps),
            Accumulate::CompareExchange => entered::<CompareExchange>(*word, weight, z, steps),
        };
        if let Some(pairs) = self.pairs.get_mut(at) {
            *pairs = pairs.wrapping_add(1);
        }
        for (masks, mask) in self.sectors.iter_mut().zip(sectors) {
            if let Some(all) = masks.get_mut(at) {
                *all |= mask;
            }
        }
        self.unseen += u64::from(weight);
        if self.unseen >= LOOK_AFTER {
            self.look();
        }
    }
}

/// What belongs to the bin that is so many steps above the first; rounding may take the last steps beyond their bin.
#[inline(always)]
fn of_bin<T>(bins: &mut [T], steps: u32) -> Option<&mut T> {
    let bin = (steps / OFFSET_STEPS) as usize;
    if bin < bins.len() { bins.get_mut(bin) } else { bins.last_mut() }
}

/// A word with an entry more.
#[inline(always)]
fn entered<Z: ZSum>(word: u64, weight: u32, z: f32, steps: u32) -> u64 {
    let n = (word >> 32) as u32;
    let z = Z::accumulate(word as u32, weight, z, steps % OFFSET_STEPS);
    u64::from(n.wrapping_add(weight)) << 32 | u64::from(z)
}
