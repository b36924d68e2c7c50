//! Histograms of find_z in one word of 64 bits a bin, so that an entry is one addition, and their
//! sum: `shaders/sum_histos/sum_histos.wgsl`, whose two stages are one here.

use std::cell::Cell;
use std::hint::black_box;
use std::mem;

use pulp::{Arch, NullaryFnOnce};

use crate::engine::cpu::lanes::{ENTRY_SHIFT, Lanes};
use crate::engine::histogram::{CompareExchange, HistogramPair, MAX_COUNT, OFFSET_STEPS, PAIR_PARTS, PART_STEPS, ZSum};
use crate::engine::plan::RoiPlan;
use crate::thesis::Accumulate;

/// The pair of histograms while find_z fills it.
///
/// Where z is summed in f32, its sum is the lower half of a word, n the upper. Where steps are
/// summed, an entry adds 2^32 and all its steps above the first bin, so that it need not tell those
/// above its own bin: n (2^32 + steps below the bin) + z. As z is less than 1024 n, and n at most
/// 2^22, n is the quotient and z the rest. A word holds this shifted by [`ENTRY_SHIFT`], as steps
/// come, for then the upper 16 of an entry's 32 bits are its bin.
#[derive(Debug, Default)]
pub(crate) struct PackedHistogram {
    /// And one behind the last bin, where rounding may take the last steps. No fewer than [`FEW`],
    /// of which those behind are not touched.
    words: Vec<u64>,
    /// Pairs, where they are not n.
    pairs: Vec<u32>,
    /// Sums of the precisions of pairs in the parts of each bin, where weights go by pT.
    precisions: Vec<[u32; PAIR_PARTS as usize]>,
    /// Sectors of phi with soft and with hard tracks, where weights go by pT; else empty.
    pub(crate) sectors: [Vec<u32>; 2],
    accumulate: Accumulate,
    /// Of each histogram, and of all.
    bins: usize,
    all_bins: usize,
    weighted: bool,
    /// Entries that are counted without a look at what they come to: together they weigh no more
    /// than [`LOOK_AFTER`].
    piece: usize,
    /// Of all entries.
    weights: u64,
    /// Weights since counts were last looked at.
    unseen: u64,
    /// A count went beyond what its words hold.
    overflows: bool,
}

/// Weights between looks at the counts: a word holds them, as many in one go, and the highest
/// count.
const LOOK_AFTER: u64 = 1 << 24;
/// Count of one entry.
const ONE: u64 = 1 << (32 + ENTRY_SHIFT);
/// As many as there are numbers of 16 bits, so that none need be looked at.
const FEW: usize = 1 << u16::BITS;
/// Entries that are counted without a loop of their own.
const TOGETHER: usize = 16;
/// Bins that are unpacked together.
const BLOCK: usize = 64;

impl PackedHistogram {
    /// All zero, for an RoI whose pairs weigh 1 or, if `weighted`, no more than that.
    pub(crate) fn clear(&mut self, plan: &RoiPlan, accumulate: Accumulate, weighted: Option<usize>, by_pt: bool) {
        self.piece = weighted.map_or(usize::MAX, |most| (LOOK_AFTER as usize / most.max(1)).max(1));
        let weighted = weighted.is_some();
        (self.accumulate, self.weighted, self.overflows) = (accumulate, weighted, false);
        (self.bins, self.all_bins) = (plan.bins.bins as usize, plan.histograms as usize * plan.bins.bins as usize);
        (self.weights, self.unseen) = (0, 0);
        let used = self.all_bins + 1;
        clear(&mut self.words, used);
        if weighted {
            clear(&mut self.pairs, used);
        }
        let by_pt = if by_pt { self.all_bins } else { 0 };
        for column in &mut self.sectors {
            column.clear();
            column.resize(by_pt, 0);
        }
        self.precisions.clear();
        self.precisions.resize(by_pt, [0; PAIR_PARTS as usize]);
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

    /// Sums of the precisions of pairs in the parts of each bin, where weights go by pT; else none.
    pub(crate) fn precisions(&self) -> &[u32] {
        self.precisions.as_flattened()
    }

    /// Looks at all counts, where any could be too high.
    pub(crate) fn look(&mut self) {
        self.weights += mem::take(&mut self.unseen);
        let [last, beyond] = [self.all_bins - 1, self.all_bins];
        let entries = mem::take(&mut self.words[beyond]) >> ENTRY_SHIFT;
        if entries > 0 {
            // To the last bin of the only histogram, with what they are above an edge.
            let (n, z) = (entries / one_in(beyond), entries % one_in(beyond));
            let more = n.wrapping_mul(one_in(last)).wrapping_add(z) << ENTRY_SHIFT;
            self.words[last] = self.words[last].wrapping_add(more);
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

    /// Entries of weight 1 in few bins of the only histogram, in the low bits of numbers.
    ///
    /// `APART`: a word is read, added to and written by an instruction each, and the bin is read,
    /// not worked out. Of these a Xeon begins an entry's in one cycle, while one instruction for
    /// all three takes it half as long again; an EPYC (Zen 3) is faster with the one.
    #[inline(always)]
    pub(crate) fn fill<R: Lanes, const APART: bool>(&mut self, entries: &[R]) {
        let words = Cell::from_mut(&mut self.words[..FEW]).as_slice_of_cells();
        // Hidden from the compiler, which would make one instruction of it again: that the bins lie
        // in the entries' own memory, and that it is the words that are written.
        let hidden = if APART { black_box((R::halves(entries), words)) } else { (R::halves(entries), words) };
        let (halves, written) = (hidden.0, &hidden.1[..FEW]);
        let of_each = size_of::<R>() / size_of::<u16>();
        let enter = |entry: &R, halves: &[u16]| {
            let entry = entry.low_bits();
            let upper = halves[if cfg!(target_endian = "little") { 1 } else { of_each - 2 }];
            let bin = usize::from(if APART { upper } else { (entry >> u16::BITS) as u16 });
            written[bin].set(words[bin].get().wrapping_add(ONE + u64::from(entry)));
        };
        let (blocks, rest) = entries.as_chunks::<TOGETHER>();
        let (of_blocks, of_rest) = halves.split_at(blocks.len() * TOGETHER * of_each);
        for (block, halves) in blocks.iter().zip(of_blocks.chunks_exact(TOGETHER * of_each)) {
            for (i, entry) in block.iter().enumerate() {
                enter(entry, &halves[i * of_each..(i + 1) * of_each]);
            }
        }
        rest.iter().zip(of_rest.chunks_exact(of_each)).for_each(|(entry, halves)| enter(entry, halves));
        self.count(entries.len() as u64);
    }

    /// [`PackedHistogram::fill`] with entries of these weights.
    #[inline(always)]
    pub(crate) fn fill_weighted<R: Lanes>(&mut self, entries: &[R], weights: &[R]) {
        for (entries, weights) in entries.chunks(self.piece).zip(weights.chunks(self.piece)) {
            let (words, pairs) = (&mut self.words[..FEW], &mut self.pairs[..FEW]);
            let mut sum = 0;
            for (entry, weight) in entries.iter().zip(weights) {
                let entry = entry.low_bits();
                let bin = usize::from((entry >> u16::BITS) as u16);
                let weight = u64::from((weight.to_f64() as u32).min(MAX_WEIGHT));
                words[bin] = words[bin].wrapping_add((ONE + u64::from(entry)).wrapping_mul(weight));
                pairs[bin] = pairs[bin].wrapping_add(1);
                sum += weight;
            }
            self.count(sum);
        }
    }

    /// Entries of the only histogram, however many bins it has: steps, z and weight of each.
    #[inline(always)]
    pub(crate) fn fill_any(&mut self, entries: impl Iterator<Item = (u32, f32, u32)>) {
        if self.accumulate == Accumulate::Fixed {
            entries.for_each(|(steps, z, weight)| self.add(0, steps, z, weight));
            return;
        }
        let (words, pairs) = (&mut self.words[..self.all_bins], &mut self.pairs[..]);
        let mut sum = 0;
        for (steps, z, weight) in entries {
            let bin = ((steps / OFFSET_STEPS) as usize).min(words.len() - 1);
            let weight = weight.min(MAX_WEIGHT);
            words[bin] = compared_and_exchanged(words[bin], weight, z);
            if self.weighted {
                pairs[bin] = pairs[bin].wrapping_add(1);
            }
            sum += u64::from(weight);
        }
        self.count(sum);
    }

    /// Counts weights, and looks at the counts after many.
    #[inline(always)]
    fn count(&mut self, weights: u64) {
        self.unseen += weights;
        if self.unseen >= LOOK_AFTER {
            self.look();
        }
    }

    /// The sectors and the precision of an entry by pT in the only histogram.
    #[inline(always)]
    pub(crate) fn mark(&mut self, steps: u32, sectors: [u32; 2], precision: u32) {
        let bin = ((steps / OFFSET_STEPS) as usize).min(self.bins - 1);
        let part = &mut self.precisions[bin][(steps % OFFSET_STEPS / PART_STEPS) as usize];
        *part = part.wrapping_add(precision);
        for (masks, mask) in self.sectors.iter_mut().zip(sectors) {
            masks[bin] |= mask;
        }
    }

    /// An entry of some weight in one of several histograms.
    #[inline(always)]
    pub(crate) fn add(&mut self, histogram: u32, steps: u32, z: f32, weight: u32) {
        let bin = ((steps / OFFSET_STEPS) as usize).min(self.bins - 1);
        let at = histogram as usize * self.bins + bin;
        let weight = weight.min(MAX_WEIGHT);
        let word = &mut self.words[at];
        *word = match self.accumulate {
            Accumulate::Fixed => {
                let entry = one_in(bin) + u64::from(steps % OFFSET_STEPS);
                word.wrapping_add(u64::from(weight).wrapping_mul(entry << ENTRY_SHIFT))
            }
            Accumulate::CompareExchange => compared_and_exchanged(*word, weight, z),
        };
        if self.weighted {
            self.pairs[at] = self.pairs[at].wrapping_add(1);
        }
        self.count(u64::from(weight));
    }
}

/// One more than fits is as much as can be told.
const MAX_WEIGHT: u32 = MAX_COUNT + 1;

/// So many zeros at the beginning of a column that has [`FEW`] numbers at least.
fn clear<T: Copy + Default>(column: &mut Vec<T>, used: usize) {
    let room = used.max(FEW);
    if column.len() < room {
        // Zeros as the machine hands them out take no memory before they are touched.
        *column = vec![T::default(); room];
    } else {
        column[..used].fill(T::default());
    }
}

/// Value of an entry at the lower edge of a bin, not shifted.
fn one_in(bin: usize) -> u64 {
    (1 << 32) + bin as u64 * u64::from(OFFSET_STEPS)
}

/// A word with an entry more.
#[inline(always)]
fn compared_and_exchanged(word: u64, weight: u32, z: f32) -> u64 {
    let n = (word >> 32) as u32;
    // As high as it goes, for many are entered before counts are looked at.
    u64::from(n.saturating_add(weight)) << 32 | u64::from(CompareExchange::accumulate(word as u32, weight, z, 0))
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
            // The bins of one histogram.
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
                let word = word >> ENTRY_SHIFT;
                *n = (word >> 32) as u32;
                *z = (word as u32).wrapping_sub(n.wrapping_mul(bin * OFFSET_STEPS));
                most = most.max(*n);
            }
            if most >= few {
                for (bin, ((word, n), z)) in (bin..).zip(words.iter().zip(n).zip(z)) {
                    let word = word >> ENTRY_SHIFT;
                    (*n, *z) = ((word / one_in(bin)) as u32, (word % one_in(bin)) as u32);
                }
            }
        }
    }
}

/// Into memory that is there already, if there is enough.
pub(crate) fn sum_histos<'a, Z: ZSum>(parts: impl IntoIterator<Item = &'a PackedHistogram>, total: &mut HistogramPair) {
    let HistogramPair { n, z, pairs, precisions, sectors } = total;
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return };
    n.resize(first.all_bins(), 0);
    z.resize(first.all_bins(), 0);
    first.unpack(0, n, z);
    pairs.clear();
    pairs.extend_from_slice(first.pairs());
    precisions.clear();
    precisions.extend_from_slice(first.precisions());
    sectors.clone_from(&first.sectors);
    for part in parts {
        part.for_blocks(|bin, more_n, more_z| {
            n[bin..].iter_mut().zip(more_n).for_each(|(n, more)| *n = n.saturating_add(*more));
            z[bin..].iter_mut().zip(more_z).for_each(|(z, more)| *z = Z::sum(*z, *more));
        });
        pairs.iter_mut().zip(part.pairs()).for_each(|(all, part)| *all = all.saturating_add(*part));
        precisions.iter_mut().zip(part.precisions()).for_each(|(all, part)| *all = all.saturating_add(*part));
        for (all, part) in sectors.iter_mut().zip(&part.sectors) {
            all.iter_mut().zip(part).for_each(|(all, part)| *all |= part);
        }
    }
}
