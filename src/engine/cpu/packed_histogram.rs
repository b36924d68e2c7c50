//! nHisto and zHisto in one word of 64 bits a bin: one addition an entry.

use std::mem;

use pulp::{Arch, NullaryFnOnce};

use crate::engine::plan::RoiPlan;
use crate::finder::Accumulate;
use crate::histogram::{CompareExchange, MAX_COUNT, OFFSET_STEPS, ZSum};

/// The pair of histograms while find_z fills it.
///
/// Where z is summed in f32, its sum is the lower half of a word, n the upper. Where steps are summed, an entry adds 2^32 and
/// all its steps above the first bin, so that it need not tell those above its own bin: n (2^32 + steps below the bin) + z.
/// As z is less than 1024 n, and n at most 2^22, n is the quotient and z the rest.
#[derive(Debug, Default)]
pub(crate) struct PackedHistogram {
    /// And one behind the last bin, where rounding may take the last steps. No fewer than [`FEW`].
    words: Vec<u64>,
    /// Pairs, where they are not n.
    pairs: Vec<u32>,
    /// Sectors of phi with soft and with hard tracks, where weights go by pT; else empty.
    pub(crate) sectors: [Vec<u32>; 2],
    accumulate: Accumulate,
    /// Of each histogram, and of all.
    bins: usize,
    all_bins: usize,
    weighted: bool,
    /// Of all entries.
    weights: u64,
    /// Weights since counts were last looked at.
    unseen: u64,
    /// A count went beyond what its words hold.
    overflows: bool,
}

/// Weights between looks at the counts: a word holds them and more.
const LOOK_AFTER: u64 = 1 << 31;
/// Of fewer bins the compiler knows the words' number, which spares a look at whether an entry's is among them.
const FEW: usize = 4096;
/// Bins that are unpacked together.
const BLOCK: usize = 64;

impl PackedHistogram {
    /// What fills these.
    #[cfg(test)]
    pub(crate) fn of(histogram: &crate::histogram::HistogramPair, accumulate: Accumulate) -> Self {
        let word = |(bin, (&n, &z)): (usize, (&u32, &u32))| match accumulate {
            Accumulate::Fixed => u64::from(n) * one_in(bin) + u64::from(z),
            Accumulate::CompareExchange => u64::from(n) << 32 | u64::from(z),
        };
        let bins = histogram.n.len();
        Self {
            words: histogram.n.iter().zip(&histogram.z).enumerate().map(word).collect(),
            pairs: histogram.pairs.clone(),
            sectors: histogram.sectors.clone(),
            accumulate,
            bins,
            all_bins: bins,
            weighted: !histogram.pairs.is_empty(),
            ..Self::default()
        }
    }

    /// All zero, for an RoI whose pairs weigh 1 or not.
    pub(crate) fn clear(&mut self, plan: &RoiPlan, accumulate: Accumulate, weighted: bool, sectors: bool) {
        (self.accumulate, self.weighted, self.overflows) = (accumulate, weighted, false);
        (self.bins, self.all_bins) = (plan.bins.bins as usize, plan.histograms as usize * plan.bins.bins as usize);
        (self.weights, self.unseen) = (0, 0);
        let used = self.all_bins + 1;
        clear(&mut self.words, used);
        if weighted {
            clear(&mut self.pairs, used);
        }
        for column in &mut self.sectors {
            column.clear();
            column.resize(if sectors { self.all_bins } else { 0 }, 0);
        }
    }

    /// Whether a count is beyond what its words hold. Nothing more counts then.
    pub(crate) fn overflows(&self) -> bool {
        self.overflows
    }

    /// Of all entries: no count is higher.
    pub(crate) fn weights(&self) -> u64 {
        self.weights + self.unseen
    }

    /// Bins of all histograms.
    pub(crate) fn all_bins(&self) -> usize {
        self.all_bins
    }

    /// Pairs, where they are not n; else none.
    pub(crate) fn pairs(&self) -> &[u32] {
        if self.weighted { &self.pairs[..self.all_bins] } else { &[] }
    }

    /// Looks at all counts, where any could be too high.
    pub(crate) fn look(&mut self) {
        self.weights += mem::take(&mut self.unseen);
        let [last, beyond] = [self.all_bins - 1, self.all_bins];
        let entries = mem::take(&mut self.words[beyond]);
        if entries > 0 {
            // To the last bin of the only histogram, with what they are above an edge.
            let (n, z) = (entries / one_in(beyond), entries % one_in(beyond));
            self.words[last] = self.words[last].wrapping_add(n.wrapping_mul(one_in(last)).wrapping_add(z));
        }
        if self.weighted {
            self.pairs[last] = self.pairs[last].wrapping_add(mem::take(&mut self.pairs[beyond]));
        }
        if self.weights > u64::from(MAX_COUNT) {
            let mut overflows = self.overflows;
            self.for_blocks(|_, n, _| overflows |= n.iter().any(|&n| n > MAX_COUNT));
            self.overflows = overflows;
        }
    }

    /// Tells n from z of as many bins as there is room for, from the first on, in vectors.
    pub(crate) fn unpack(&self, first: usize, n: &mut [u32], z: &mut [u32]) {
        Arch::new().dispatch(Unpack { histogram: self, first, n, z });
    }

    /// n and z of blocks of bins, with the bin that each begins at.
    pub(crate) fn for_blocks(&self, mut take: impl FnMut(usize, &[u32], &[u32])) {
        let (mut n, mut z) = ([0; BLOCK], [0; BLOCK]);
        for first in (0..self.all_bins).step_by(BLOCK) {
            let count = BLOCK.min(self.all_bins - first);
            let (n, z) = (&mut n[..count], &mut z[..count]);
            self.unpack(first, n, z);
            take(first, n, z);
        }
    }

    /// Entries in the only histogram: steps above the first bin, weights unless all are 1, and z if that is summed.
    #[inline(always)]
    pub(crate) fn fill<const WEIGHTED: bool>(
        &mut self,
        steps: impl ExactSizeIterator<Item = u32>,
        weights: impl Iterator<Item = u32>,
        z: impl Iterator<Item = f32>,
    ) {
        let bins = self.all_bins;
        match self.accumulate {
            Accumulate::Fixed => {
                let (words, pairs) = (&mut self.words[..], &mut self.pairs[..]);
                let few_pairs = if WEIGHTED { pairs.first_chunk_mut() } else { Some(&mut [0; FEW]) };
                let weights = match (words.first_chunk_mut::<FEW>(), few_pairs) {
                    (Some(words), Some(pairs)) if bins < FEW => {
                        let bin = |steps: u32| (steps / OFFSET_STEPS) as usize % FEW;
                        enter::<WEIGHTED>(steps, weights, |steps, entry| {
                            let word = &mut words[bin(steps)];
                            *word = word.wrapping_add(entry);
                            if WEIGHTED {
                                let pairs = &mut pairs[bin(steps)];
                                *pairs = pairs.wrapping_add(1);
                            }
                        })
                    }
                    _ => enter::<WEIGHTED>(steps, weights, |steps, entry| {
                        let bin = ((steps / OFFSET_STEPS) as usize).min(bins);
                        words[bin] = words[bin].wrapping_add(entry);
                        if WEIGHTED {
                            pairs[bin] = pairs[bin].wrapping_add(1);
                        }
                    }),
                };
                self.unseen += weights;
            }
            Accumulate::CompareExchange => {
                for ((steps, z), weight) in steps.zip(z).zip(weights) {
                    let bin = ((steps / OFFSET_STEPS) as usize).min(bins - 1);
                    self.words[bin] = compared_and_exchanged(self.words[bin], weight, z);
                    if WEIGHTED {
                        self.pairs[bin] = self.pairs[bin].wrapping_add(1);
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
        let bin = ((steps / OFFSET_STEPS) as usize).min(self.bins - 1);
        let at = histogram as usize * self.bins + bin;
        // One more than fits is as much as can be told.
        let weight = weight.min(MAX_COUNT + 1);
        let word = &mut self.words[at];
        *word = match self.accumulate {
            Accumulate::Fixed => word.wrapping_add(u64::from(weight) * (one_in(bin) + u64::from(steps % OFFSET_STEPS))),
            Accumulate::CompareExchange => compared_and_exchanged(*word, weight, z),
        };
        if self.weighted {
            self.pairs[at] = self.pairs[at].wrapping_add(1);
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

/// So many zeros at the beginning of a column that has [`FEW`] numbers at least.
fn clear<T: Copy + Default>(column: &mut Vec<T>, used: usize) {
    column.resize(used.max(FEW).max(column.len()), T::default());
    column[..used].fill(T::default());
}

/// What an entry adds at the lower edge of a bin.
fn one_in(bin: usize) -> u64 {
    (1 << 32) + bin as u64 * u64::from(OFFSET_STEPS)
}

/// Works out entries and hands them over with their steps. Returns the sum of their weights.
#[inline(always)]
fn enter<const WEIGHTED: bool>(
    steps: impl ExactSizeIterator<Item = u32>,
    weights: impl Iterator<Item = u32>,
    mut add: impl FnMut(u32, u64),
) -> u64 {
    if !WEIGHTED {
        let count = steps.len() as u64;
        steps.for_each(|steps| add(steps, (1 << 32) + u64::from(steps)));
        return count;
    }
    let mut sum = 0;
    for (steps, weight) in steps.zip(weights) {
        let weight = u64::from(weight);
        add(steps, weight.wrapping_mul((1 << 32) + u64::from(steps)));
        sum += weight;
    }
    sum
}

/// A word with an entry more.
#[inline(always)]
fn compared_and_exchanged(word: u64, weight: u32, z: f32) -> u64 {
    let n = (word >> 32) as u32;
    u64::from(n.wrapping_add(weight)) << 32 | u64::from(CompareExchange::accumulate(word as u32, weight, z, 0))
}

/// [`PackedHistogram::unpack`].
struct Unpack<'a> {
    histogram: &'a PackedHistogram,
    first: usize,
    n: &'a mut [u32],
    z: &'a mut [u32],
}

impl NullaryFnOnce for Unpack<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { histogram, first, n, z } = self;
        let bins = histogram.bins;
        // The steps of fewer entries of a bin are less than 2^32 together.
        let few = (1 << 22) / bins as u32;
        let mut next = 0;
        while next < n.len() {
            let bin = (first + next) % bins;
            // Those of one histogram.
            let these = next..(next + bins - bin).min(n.len());
            let words = &histogram.words[first + these.start..first + these.end];
            let (n, z) = (&mut n[these.clone()], &mut z[these.clone()]);
            next = these.end;
            if histogram.accumulate == Accumulate::CompareExchange {
                for ((word, n), z) in words.iter().zip(n).zip(z) {
                    (*n, *z) = ((word >> 32) as u32, *word as u32);
                }
                continue;
            }
            let mut most = 0;
            for (bin, ((word, n), z)) in (bin as u32..).zip(words.iter().zip(&mut *n).zip(&mut *z)) {
                *n = (word >> 32) as u32;
                *z = (*word as u32).wrapping_sub(n.wrapping_mul(bin * OFFSET_STEPS));
                most = most.max(*n);
            }
            if most >= few {
                for (bin, ((word, n), z)) in (bin..).zip(words.iter().zip(n).zip(z)) {
                    (*n, *z) = ((word / one_in(bin)) as u32, (word % one_in(bin)) as u32);
                }
            }
        }
    }
}
