//! Fills nHisto and zHisto with the z12 of every pair whose outer spacepoint lies in a group of
//! slices: `shaders/find_z/find_z.wgsl` in vectors.
//!
//! The inner spacepoints of the first layers lie in the order of their slices. Each outer
//! spacepoint is tested against its window of inner spacepoints, a vector at a time, and only the
//! lanes that make pairs are stored. Steps and bins are computed for many pairs at once.

use std::mem;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::cancellation::Cancellation;
use crate::config::{Config, Extrapolation, PairWeight};
use crate::engine::cpu::lanes::{Column, ENTRY_SHIFT, Lanes, MOST_LANES, ROOM, avx512, column, pack_places};
use crate::engine::cpu::pairs::{FindZCall, OuterPairs, PairBuffer, Partners, bends_at_most};
use crate::engine::cpu::slice_index::{IndexColumns, Reaches, SliceIndex};
use crate::engine::cpu::slice_spacepoints::{OuterSpacepoint, SlicedSpacepoints};
use crate::engine::cpu::sum_histos::PackedHistogram;
use crate::engine::cpu::thirds::ThirdSpacepoints;
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::records::ZScale;
use crate::thesis::Accumulate;

/// Memory of find_z, reused by every call.
#[derive(Debug)]
pub(crate) struct FindZBuffers<R> {
    inner: SliceIndex<R>,
    reaches: Reaches<R>,
    thirds: ThirdSpacepoints<R>,
    pairs: PairBuffer<R>,
    entries: PendingEntries<R>,
    pub(crate) histogram: PackedHistogram,
}

/// The most inner spacepoints that an outer one is tested against before full columns are emptied.
const PIECE: usize = ROOM / 2;
impl<R: Lanes> Default for FindZBuffers<R> {
    fn default() -> Self {
        Self {
            inner: SliceIndex::default(),
            reaches: Reaches::none(),
            thirds: ThirdSpacepoints::default(),
            pairs: PairBuffer::default(),
            entries: PendingEntries::default(),
            histogram: PackedHistogram::default(),
        }
    }
}

/// Whether the search may take spacepoints in [`Zones`](super::slice_spacepoints::Zones): lines are
/// straight, and rho grows from each spacepoint of a track to the next.
pub(crate) fn may_take_zones(config: &Config) -> bool {
    config.pair_weight == PairWeight::Pt && config.extrapolation == Extrapolation::Linear
}

/// Whether a thread with so many middle spacepoints should take spacepoints in zones.
pub(crate) fn takes_zones(config: &Config, spacepoints: usize) -> bool {
    may_take_zones(config) && spacepoints >= WORTH_ZONES
}

const WORTH_ZONES: usize = 4096;

/// Fills `to.histogram` with the pairs whose outer spacepoint lies in `slices`. If the search is
/// cancelled, some pairs are missing.
pub(crate) fn find_z<R: Lanes>(
    search: &Search,
    plan: &RoiPlan,
    accumulate: Accumulate,
    sliced: &SlicedSpacepoints<R>,
    slices: Range<u32>,
    cancellation: Cancellation<'_>,
    to: &mut FindZBuffers<R>,
) {
    Arch::new().dispatch(FindZByMachine { search, plan, accumulate, sliced, slices, cancellation, to });
}

/// [`find_z`] for the vectors of a given machine.
pub(crate) struct FindZByMachine<'a, R: Lanes> {
    pub(crate) search: &'a Search,
    pub(crate) plan: &'a RoiPlan,
    pub(crate) accumulate: Accumulate,
    pub(crate) sliced: &'a SlicedSpacepoints<R>,
    pub(crate) slices: Range<u32>,
    pub(crate) cancellation: Cancellation<'a>,
    pub(crate) to: &'a mut FindZBuffers<R>,
}

impl<R: Lanes> WithSimd for FindZByMachine<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { search, plan, accumulate, sliced, slices, cancellation, to } = self;
        let config = &search.config;
        let by_pt = config.pair_weight == PairWeight::Pt;
        let weighted = by_pt || config.pair_weight == PairWeight::Count;
        // A pair has at most as many third spacepoints as the RoI has spacepoints.
        to.histogram.clear(plan, accumulate, weighted.then(|| sliced.count_kept()), by_pt);
        let scale = plan.z_scale::<R>();
        let most_steps = plan.bins.z_min.abs().max(plan.bins.z_max.abs()) * scale.steps_per_mm.to_f64();
        let few_steps = most_steps < f64::from((1 << 22) - 1);
        let in_steps = accumulate == Accumulate::Fixed && few_steps;
        let dz = 1.001 * config.triplet_dz_mm + 1e-4 * plan.bins.z_min.abs().max(plan.bins.z_max.abs()) + 1e-3;
        let lane_numbers = std::array::from_fn(|lane| R::from_f64(lane as f64));
        let call = FindZCall {
            search,
            plan,
            sliced,
            scale,
            cuts: search.triplet_cuts(),
            z_apart: R::from_f64(dz),
            lane_numbers,
            few_steps,
            in_steps,
            cancellation,
        };
        let plain = config.pair_weight == PairWeight::One && plan.histograms == 1 && in_steps;
        let accurate = config.extrapolation == Extrapolation::Accurate;
        match (plain, accurate) {
            (true, false) => simd.vectorize(AllPairs::<R, true, false> { call: &call, slices, to }),
            (true, true) => simd.vectorize(AllPairs::<R, true, true> { call: &call, slices, to }),
            (false, false) => simd.vectorize(AllPairs::<R, false, false> { call: &call, slices, to }),
            (false, true) => simd.vectorize(AllPairs::<R, false, true> { call: &call, slices, to }),
        }
    }
}

/// [`FindZCall::pairs`] as a function of its own: in very large functions the compiler calls vector
/// operations instead of inlining them.
struct AllPairs<'a, R: Lanes, const PLAIN: bool, const ACCURATE: bool> {
    call: &'a FindZCall<'a, R>,
    slices: Range<u32>,
    to: &'a mut FindZBuffers<R>,
}

impl<R: Lanes, const PLAIN: bool, const ACCURATE: bool> WithSimd for AllPairs<'_, R, PLAIN, ACCURATE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { call, slices, to } = self;
        call.pairs::<S, PLAIN, ACCURATE>(simd, &slices, to);
        to.histogram.look();
    }
}

impl<R: Lanes> FindZCall<'_, R> {
    /// Searches all pairs. `PLAIN`: pairs weigh 1 in one histogram and wait in steps
    /// ([`FindZCall::in_steps`]). `ACCURATE`: of the extrapolation. Both are known to the compiler:
    /// asked at run time, pairs take a fifth longer.
    #[inline(always)]
    fn pairs<S: Simd, const PLAIN: bool, const ACCURATE: bool>(
        &self,
        simd: S,
        slices: &Range<u32>,
        to: &mut FindZBuffers<R>,
    ) {
        let Self { search, plan, sliced, .. } = *self;
        let filled = sliced.filled();
        let triplets = search.config.pair_weight != PairWeight::One;
        if filled.len() < if triplets { 3 } else { 2 } {
            return;
        }
        let first_layers = &filled[..(search.config.first_layers as usize).min(filled.len() - 1)];
        // Outer layers begin behind the first layer. With triplets they end before the last one.
        let outer_layers = 1..filled.len() - usize::from(triplets);
        let inner_layers = |layer_b: usize| first_layers.iter().copied().take_while(move |&layer_a| layer_a < layer_b);
        let reach = |layer_a: usize, layer_b: usize| search.reach(layer_a, layer_b, plan.endcap_shift);
        let most = filled[outer_layers.clone()].iter().flat_map(|&b| inner_layers(b).map(move |a| reach(a, b))).max();
        let most = most.unwrap_or_default();
        let Some((&innermost, &last_inner)) = first_layers.first().zip(first_layers.last()) else { return };
        to.inner.fill(simd, sliced, innermost..=last_inner, plan.ring, most, !PLAIN || ACCURATE);
        if triplets {
            to.thirds.index.fill(simd, self, filled);
        }
        to.entries.count = 0;
        to.pairs.clear();
        if !PLAIN && !plan.ring {
            to.pairs.turn.fill(R::from_f64(0.0));
        }
        for i in outer_layers {
            let layer_b = filled[i];
            to.reaches.clear();
            inner_layers(layer_b).for_each(|layer_a| to.reaches.put(layer_a, reach(layer_a, layer_b), plan));
            let of_zone = |zone| sliced.of_zone(layer_b, zone, slices);
            let ends = (0..sliced.zones.count).filter_map(|zone| of_zone(zone).first().zip(of_zone(zone).last()));
            let ends = ends.map(|(first, last)| (first.slice, last.slice));
            let Some((first, last)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { continue };
            let of_layer = first..=last;
            to.inner.set_reach(simd, sliced, of_layer.clone(), &to.reaches);
            if triplets {
                to.thirds.index.set_layer(simd, self, filled, i, of_layer);
            }
            for zone in 0..sliced.zones.count {
                match self.by_pt() {
                    true => self.pairs_by_pt::<S, ACCURATE>(simd, of_zone(zone), to),
                    false => self.pairs_of_layer::<S, PLAIN, ACCURATE>(simd, of_zone(zone), to),
                }
                if to.histogram.overflows() || self.cancellation.is_requested() {
                    return;
                }
            }
        }
        simd.vectorize(Flush { call: self, entries: &mut to.entries, histogram: &mut to.histogram });
    }

    /// Searches the pairs of the outer spacepoints of a layer, where they weigh by pT.
    #[inline(always)]
    fn pairs_by_pt<S: Simd, const ACCURATE: bool>(
        &self,
        simd: S,
        all: &[OuterSpacepoint<R>],
        to: &mut FindZBuffers<R>,
    ) {
        let FindZBuffers { inner, reaches, thirds, pairs, entries, histogram } = to;
        let (scale, columns) = (self.scale, inner.columns(self.sliced));
        let most_k = thirds.index.most_k(self);
        // Pairs are tested without a quotient first, with a margin for its rounding.
        let margin = R::from_f64(1e-5 * self.plan.bins.z_min.abs().max(self.plan.bins.z_max.abs()) + 1e-4);
        let (z_ends, z_range) = ([scale.z_min, scale.z_max], [scale.z_min - margin, scale.z_max + margin]);
        let layers = columns.layer;
        for b in all {
            if !thirds.may_weigh::<S, ACCURATE>(simd, self, b, most_k) {
                continue;
            }
            // From above, as a step from a to b counts.
            let beside = R::of_slice(b.slice) - R::from_f64(SliceIndex::<R>::BESIDE);
            let mut count = 0;
            for zone in self.zones_inwards(b) {
                let Range { mut start, end } = inner.window(zone, b.slice, [reaches.most; 2]);
                while start < end {
                    // A long window is tested in pieces, each as if it belonged to another outer
                    // spacepoint.
                    if count > ROOM - PIECE {
                        pairs.make::<S, ACCURATE>(simd, &columns, *b, count, z_ends, self.plan.ring);
                        simd.vectorize(Enter::<R, ACCURATE> { call: self, pairs, layers, thirds, entries, histogram });
                        count = 0;
                        if self.cancellation.is_requested() {
                            return;
                        }
                    }
                    let stretch = start..end.min(start + PIECE);
                    start = stretch.end;
                    let partners = Partners::new::<ACCURATE>(simd, &columns, &stretch, b, beside, z_range);
                    count =
                        Self::find_straight::<S, ACCURATE>(simd, &partners, &columns, &stretch, most_k, pairs, count);
                }
            }
            pairs.make::<S, ACCURATE>(simd, &columns, *b, count, z_ends, self.plan.ring);
            simd.vectorize(Enter::<R, ACCURATE> { call: self, pairs, layers, thirds, entries, histogram });
            if histogram.overflows() || self.cancellation.is_requested() {
                return;
            }
        }
    }

    /// Searches the pairs of the outer spacepoints of a layer.
    #[inline(always)]
    fn pairs_of_layer<S: Simd, const PLAIN: bool, const ACCURATE: bool>(
        &self,
        simd: S,
        all: &[OuterSpacepoint<R>],
        to: &mut FindZBuffers<R>,
    ) {
        let FindZBuffers { inner, reaches, thirds, pairs, entries, histogram } = to;
        let (scale, columns) = (self.scale, inner.columns(self.sliced));
        let z_range = [scale.z_min, scale.z_max];
        let steps = R::steps(simd, scale.steps_per_mm, scale.steps_at_0);
        let Some(first) = all.first() else { return };
        let (mut next, mut from) = (0, 0);
        // The window of the next spacepoint is looked up before the vectors of this one: the length
        // of a loop should be known when the loop before it ends.
        let with_window = |b: &OuterSpacepoint<R>| (*b, inner.window(0, b.slice, [reaches.most; 2]));
        let mut ahead = with_window(first);
        while next < all.len() {
            let (b, Range { start, end }) = ahead;
            // A long window is tested in pieces, each as if it belonged to another outer
            // spacepoint.
            let begin = start.max(from);
            let stretch = begin..end.min(begin + PIECE);
            let last = stretch.end == end;
            (next, from) = (next + usize::from(last), if last { 0 } else { stretch.end });
            ahead = with_window(all.get(next).unwrap_or(first));
            // From above, as a step from a to b counts.
            let beside = R::of_slice(b.slice) - R::from_f64(SliceIndex::<R>::BESIDE);
            // At least one vector, which spares an unpredictable branch.
            let partners = Partners::new::<ACCURATE>(simd, &columns, &stretch, &b, beside, z_range);
            let layers = columns.layer;
            if PLAIN {
                Self::add_entries::<S, ACCURATE>(simd, &partners, steps, entries);
                if entries.count > ENTRIES - PIECE {
                    simd.vectorize(Flush { call: self, entries, histogram });
                }
            } else {
                self.add_pairs::<S, ACCURATE>(simd, &partners, &columns, &stretch, b, pairs);
                if pairs.is_full() {
                    simd.vectorize(Enter::<R, ACCURATE> { call: self, pairs, layers, thirds, entries, histogram });
                    if self.cancellation.is_requested() {
                        return;
                    }
                }
            }
            if histogram.overflows() || next % 64 == 0 && self.cancellation.is_requested() {
                return;
            }
        }
        if !PLAIN {
            let layers = columns.layer;
            simd.vectorize(Enter::<R, ACCURATE> { call: self, pairs, layers, thirds, entries, histogram });
        }
    }

    /// Adds the entries of an outer spacepoint's pairs.
    #[inline(always)]
    fn add_entries<S: Simd, const ACCURATE: bool>(
        simd: S,
        partners: &Partners<'_, R, S>,
        steps: [R::Vector<S>; 2],
        entries: &mut PendingEntries<R>,
    ) {
        let mut count = entries.count;
        let z = &mut *entries.z;
        for i in 0..partners.len() {
            let (bits, z12) = partners.pairs::<ACCURATE>(simd, i);
            R::pack(simd, bits, R::entries_of(simd, z12, steps), &mut z[count.min(ENTRIES)..]);
            count += bits.count_ones() as usize;
        }
        entries.count = count;
    }

    /// Appends the places of the inner spacepoints that make a pair with an outer one, whose
    /// curvature is at most `most_k`, to the first `count` ones. Returns how many there are then.
    /// Few spacepoints of a window are left: they are fetched one by one, and tested again in
    /// vectors.
    #[inline(always)]
    fn find_straight<S: Simd, const ACCURATE: bool>(
        simd: S,
        partners: &Partners<'_, R, S>,
        columns: &IndexColumns<'_, R>,
        stretch: &Range<usize>,
        most_k: R,
        pairs: &mut PairBuffer<R>,
        mut count: usize,
    ) -> usize {
        let phi = IndexColumns::vectors(simd, columns.turned_phi, stretch);
        let [u_b, _, phi_b] = partners.b;
        for i in 0..partners.len() {
            let inner = [partners.inverse_rho[i], phi[i]];
            let straight = bends_at_most::<R, S>(simd, most_k, inner, [u_b, phi_b]);
            let bits = partners.may_be_pairs::<ACCURATE>(simd, i) & R::bits(simd, straight);
            let first = (stretch.start + i * R::count::<S>()) as u32;
            count += pack_places(simd, bits, first, &mut pairs.place[count.min(ROOM)..]);
        }
        count
    }

    /// Adds the pairs of an outer spacepoint.
    #[inline(always)]
    fn add_pairs<S: Simd, const ACCURATE: bool>(
        &self,
        simd: S,
        partners: &Partners<'_, R, S>,
        columns: &IndexColumns<'_, R>,
        stretch: &Range<usize>,
        b: OuterSpacepoint<R>,
        pairs: &mut PairBuffer<R>,
    ) {
        let turns = IndexColumns::vectors(simd, columns.turn, stretch);
        let phi = IndexColumns::vectors(simd, columns.phi, stretch);
        let lanes = R::count::<S>();
        let mut count = pairs.count;
        for i in 0..partners.len() {
            let (bits, z12) = partners.pairs::<ACCURATE>(simd, i);
            let at = count.min(ROOM);
            R::pack(simd, bits, z12, &mut pairs.z12[at..]);
            R::pack(simd, bits, partners.inverse_rho[i], &mut pairs.inverse_rho[at..]);
            R::pack(simd, bits, phi[i], &mut pairs.phi[at..]);
            R::pack(simd, bits, partners.slices[i], &mut pairs.slice[at..]);
            if self.plan.ring {
                R::pack(simd, bits, turns[i], &mut pairs.turn[at..]);
            }
            if self.plan.histograms > 1 {
                pack_places(simd, bits, (stretch.start + i * lanes) as u32, &mut pairs.place[at..]);
            }
            count += bits.count_ones() as usize;
        }
        pairs.end_outer(b, count);
    }
}

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

/// [`FindZCall::enter`] as a function of its own, like [`AllPairs`].
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
        if config.pair_weight == PairWeight::One {
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
                let weight = if self.search.config.pair_weight == PairWeight::Any { weight.min(1) } else { weight };
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
        let weighted = self.search.config.pair_weight == PairWeight::Count;
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
/// of the slices that its track may come from. `accumulate` in
/// `shaders/find_z/accumulate/totals.wgsl`. The slice of the inner spacepoint may lie beyond the
/// ends of a ring.
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
