//! The entries of pairs in histograms.

use std::mem;

use pulp::{Simd, WithSimd};

use super::call::FindZCall;
use super::pairs::{OuterPairs, PairBuffer};
use crate::config::Triplets;
use crate::engine::cpu::column::{Column, MOST_LANES, ROOM, column};
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::machine::avx512;
use crate::engine::cpu::packed_histogram::{ENTRY_SHIFT, PackedHistogram};
use crate::engine::cpu::thirds::ThirdSpacepoints;
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::records::ZScale;

/// Entries that are counted together. Counting and searching use different units of a processor, so
/// that changing between them takes time.
pub(super) const ENTRIES: usize = 2 * ROOM;

/// Entries that wait to be counted in their bins.
#[derive(Debug)]
pub(super) struct PendingEntries<R> {
    /// z, or its steps in the form of [`PackedHistogram::fill`]: see [`FindZCall::in_steps`].
    pub(super) z: Column<R, { ENTRIES + MOST_LANES }>,
    weight: Column<R, { ENTRIES + MOST_LANES }>,
    /// Filled only where z itself is summed.
    steps: Column<R, { ENTRIES + MOST_LANES }>,
    pub(super) count: usize,
}

impl<R: Lanes> Default for PendingEntries<R> {
    fn default() -> Self {
        Self { z: column(), weight: column(), steps: column(), count: 0 }
    }
}

/// [`FindZCall::enter`] as a function of its own, like [`AllPairs`](super::AllPairs).
pub(super) struct Enter<'a, R: Lanes, const ACCURATE: bool> {
    pub(super) call: &'a FindZCall<'a, R>,
    pub(super) pairs: &'a mut PairBuffer<R>,
    pub(super) layers: &'a [R],
    pub(super) thirds: &'a mut ThirdSpacepoints<R>,
    pub(super) entries: &'a mut PendingEntries<R>,
    pub(super) histogram: &'a mut PackedHistogram,
}

impl<R: Lanes, const ACCURATE: bool> WithSimd for Enter<'_, R, ACCURATE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { call, pairs, layers, thirds, entries, histogram } = self;
        call.enter::<S, ACCURATE>(simd, pairs, layers, thirds, entries, histogram);
    }
}

/// [`FindZCall::flush`] as a function of its own.
pub(super) struct Flush<'a, R: Lanes> {
    pub(super) call: &'a FindZCall<'a, R>,
    pub(super) entries: &'a mut PendingEntries<R>,
    pub(super) histogram: &'a mut PackedHistogram,
}

impl<R: Lanes> WithSimd for Flush<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { call, entries, histogram } = self;
        call.flush(simd, entries, histogram);
    }
}

impl<R: Lanes> FindZCall<'_, R> {
    /// Enters the pairs into their histograms, with triplets only those that third spacepoints
    /// confirm, and clears `pairs`.
    #[inline(always)]
    pub(super) fn enter<S: Simd, const ACCURATE: bool>(
        &self,
        simd: S,
        pairs: &mut PairBuffer<R>,
        layers: &[R],
        thirds: &mut ThirdSpacepoints<R>,
        entries: &mut PendingEntries<R>,
        histogram: &mut PackedHistogram,
    ) {
        let config = &self.search.config;
        if pairs.is_empty() {
            return;
        }
        if self.by_pt() {
            thirds.weigh::<S, ACCURATE>(simd, self, pairs, histogram);
            pairs.clear();
            return;
        }
        // The lanes behind the last pair weigh nothing.
        let found = pairs.count.min(ROOM);
        let count = found.next_multiple_of(R::count::<S>());
        pairs.weight[..count].fill(R::from_f64(0.0));
        if config.triplets == Triplets::Off {
            pairs.weight[..found].fill(R::from_f64(1.0));
        } else {
            thirds.confirm::<S, ACCURATE>(simd, self, pairs);
        }
        if self.plan.histograms > 1 {
            self.enter_several(pairs, layers, histogram);
            pairs.clear();
            return;
        }
        if entries.count + count > ENTRIES {
            simd.vectorize(Flush { call: self, entries, histogram });
        }
        let (z12, weight) = (R::vectors(simd, &pairs.z12[..count]), R::vectors(simd, &pairs.weight[..count]));
        let steps = R::steps(simd, self.scale.steps_per_mm, self.scale.steps_at_0);
        let mut to = entries.count.min(ENTRIES);
        for (&z12, &weight) in z12.iter().zip(weight) {
            let bits = R::bits(simd, R::less(simd, R::splat(simd, R::from_f64(0.0)), weight));
            let entry = if self.in_steps { R::entries_of(simd, z12, steps) } else { z12 };
            R::pack(simd, bits, entry, &mut entries.z[to..]);
            R::pack(simd, bits, weight, &mut entries.weight[to..]);
            to = (to + bits.count_ones() as usize).min(ENTRIES);
        }
        entries.count = to;
        pairs.clear();
    }

    /// Enters pairs into the histograms of their charges and slices.
    fn enter_several(&self, pairs: &PairBuffer<R>, layers: &[R], histogram: &mut PackedHistogram) {
        for &OuterPairs { b, first, end } in pairs.outers() {
            for i in first..end {
                let weight = pairs.weight[i].to_f64() as u32;
                let weight = if self.search.config.triplets == Triplets::Any { weight.min(1) } else { weight };
                if weight == 0 {
                    continue;
                }
                let z12 = pairs.z12[i];
                let steps = z12.whole_steps(self.scale.steps_per_mm, self.scale.steps_at_0);
                let layer_a = layers[pairs.place[i] as usize].to_f64() as usize;
                let slice_a = pairs.slice[i].to_f64() as i32;
                histograms_of(self.search, self.plan, layer_a, slice_a, b.slice, |of| {
                    histogram.add(of, steps, z12.to_f32(), weight);
                });
            }
        }
    }

    /// Counts the waiting entries in their bins.
    #[inline(always)]
    pub(super) fn flush<S: Simd>(&self, simd: S, entries: &mut PendingEntries<R>, histogram: &mut PackedHistogram) {
        let count = mem::take(&mut entries.count).min(ENTRIES);
        let (z, weights) = (&entries.z[..count], &entries.weight[..count]);
        let weighted = self.search.config.triplets == Triplets::Count;
        if self.in_steps {
            match (weighted, avx512(simd)) {
                (true, _) => histogram.fill_weighted(z, weights),
                (false, true) => histogram.fill::<R, true>(z),
                (false, false) => histogram.fill::<R, false>(z),
            }
            return;
        }
        let ZScale { steps_per_mm, steps_at_0, .. } = self.scale;
        if self.few_steps {
            let (lanes, scale) = (R::count::<S>(), R::steps(simd, steps_per_mm, steps_at_0));
            let vectors = R::vectors(simd, &entries.z[..count.next_multiple_of(lanes)]);
            for (i, &z) in vectors.iter().enumerate() {
                R::store(simd, &mut entries.steps[i * lanes..], R::entries_of(simd, z, scale));
            }
        }
        let entry = |((z, weight), steps): ((&R, &R), &R)| {
            let few = steps.low_bits() >> ENTRY_SHIFT;
            let steps = if self.few_steps { few } else { z.whole_steps(steps_per_mm, steps_at_0) };
            (steps, z.to_f32(), if weighted { weight.to_f64() as u32 } else { 1 })
        };
        histogram.fill_any(z.iter().zip(weights).zip(&entries.steps[..count]).map(entry));
    }
}

/// Hands `add` the numbers of the histograms that a pair enters: the histograms of its charge and
/// of the slices that its track may come from. `accumulate` in `shaders/accumulate/totals.wgsl`.
/// The slice of the inner spacepoint may lie beyond the ends of a ring.
fn histograms_of(
    search: &Search,
    plan: &RoiPlan,
    layer_a: usize,
    slice_a: i32,
    slice_b: u32,
    mut add: impl FnMut(u32),
) {
    let config = &search.config;
    let step = slice_b as i32 - slice_a;
    let s = slice_a.rem_euclid(plan.slices as i32) as u32;
    let m = if layer_a == 0 { 0 } else { search.reach(0, layer_a, plan.endcap_shift) };
    let one = m.min(1);
    for charge in 0..if config.charge_aware { 2 } else { 1 } {
        let bends = if charge == 0 { step } else { -step };
        if config.charge_aware && bends > 1 {
            continue;
        }
        if !config.histogram_per_slice {
            add(charge);
            continue;
        }
        let (below, above) = match (config.charge_aware, charge) {
            (false, _) => (m, m),
            (true, 0) => (one, m),
            (true, _) => (m, one),
        };
        let (first, last) = if !plan.ring {
            (s.saturating_sub(below), s.saturating_add(above).min(plan.slices - 1))
        } else if below >= plan.slices || above >= plan.slices || below + above >= plan.slices {
            (0, plan.slices - 1)
        } else {
            (s + plan.slices - below, s + plan.slices + above)
        };
        for slice in first..=last {
            add(charge * plan.slices + slice % plan.slices);
        }
    }
}
