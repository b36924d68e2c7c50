//! Fills nHisto and zHisto with the z12 of every pair whose inner spacepoint lies in a group of slices. Twin of
//! `shaders/find_z.wgsl`.
//!
//! An outer spacepoint after the other meets all inner ones that it may pair with at once: those of the first layers, which
//! lie in the order of their slices, in vectors. What is no pair is left out of what is written down; steps and bins are
//! worked out of many pairs at once.

use std::f64::consts::TAU;
use std::mem;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::config::{Extrapolation, Triplets, Weighting};
use crate::engine::cpu::around::{Around, Columns, Reaches};
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::machine::{avx512, pack_places};
use crate::engine::cpu::packed_histogram::{ENTRY_SHIFT, PackedHistogram};
use crate::engine::cpu::slice_spacepoints::{Outer, SlicedSpacepoints};
use crate::engine::cpu::thirds::{Thirds, bends_at_most};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::real::{TripletCuts, ZScale};
use crate::options::Accumulate;

/// Memory of find_z, used over and over.
#[derive(Debug)]
pub(crate) struct FindZ<R> {
    inner: Around<R>,
    reaches: Reaches<R>,
    thirds: Thirds<R>,
    pairs: Pairs<R>,
    entries: Entries<R>,
    pub(crate) histogram: PackedHistogram,
}

/// Pairs of some outer spacepoints of a layer, one after the other, and what is to be known of their inner ones.
#[derive(Debug)]
pub(crate) struct Pairs<R> {
    pub(crate) z12: Column<R>,
    pub(crate) inverse_rho: Column<R>,
    /// Of pairs with weights by pT only.
    z_by_rho: Column<R>,
    pub(crate) phi: Column<R>,
    pub(crate) slice: Column<R>,
    /// On a ring; else 0.
    pub(crate) turn: Column<R>,
    /// Where in the window the inner spacepoint is; of several histograms and of weights by pT only.
    place: Column<u32>,
    /// Third spacepoints that confirm it.
    pub(crate) weight: Column<R>,
    pub(crate) count: usize,
    /// Whose pairs they are.
    outers: Box<[PairsOf<R>; OUTERS + 1]>,
    outer_count: usize,
}

/// An outer spacepoint, and which pairs are its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PairsOf<R> {
    pub(crate) b: Outer<R>,
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// Outer spacepoints and pairs that third ones are looked up for together: enough that one need not wait for what another
/// comes to, little enough to stay near.
const OUTERS: usize = 32;
const ENOUGH_PAIRS: usize = 256;

impl<R: Lanes> Pairs<R> {
    /// Whose pairs they are.
    #[inline(always)]
    pub(crate) fn outers(&self) -> &[PairsOf<R>] {
        &self.outers[..self.outer_count.min(OUTERS)]
    }

    /// The pairs up to `end` that were no other's are those of `b`, if there are any.
    #[inline(always)]
    fn end_outer(&mut self, b: Outer<R>, end: usize) {
        let first = self.count;
        // Without a branch, for nothing foretells whether there are any.
        self.outers[self.outer_count.min(OUTERS)] = PairsOf { b, first, end };
        self.outer_count += usize::from(end > first);
        self.count = end;
    }

    fn clear(&mut self) {
        (self.count, self.outer_count) = (0, 0);
    }

    /// Makes pairs of an outer spacepoint and the inner ones at so many places, if they have z within the range.
    #[inline(always)]
    fn make<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        inner: &Columns<'_, R>,
        b: Outer<R>,
        count: usize,
        [z_min, z_max]: [R; 2],
        ring: bool,
    ) {
        let Self { z12, inverse_rho, z_by_rho, phi, slice, turn, place, .. } = self;
        let (lanes, count) = (R::count::<S>(), count.min(ROOM));
        for (i, &place) in place[..count].iter().enumerate() {
            let place = place as usize;
            inverse_rho[i] = inner.inverse_rho[place];
            z_by_rho[i] = inner.z_by_rho[place];
            phi[i] = inner.phi[place];
            slice[i] = inner.slice[place];
            if ring {
                turn[i] = inner.turn[place];
            }
        }
        let outer = [b.inverse_rho, b.z_by_rho, b.phi].map(|number| R::splat(simd, number));
        let [z_min, z_max] = [z_min, z_max].map(|z| R::splat(simd, z));
        let mut kept = 0;
        for at in (0..count).step_by(lanes) {
            let columns = [&*inverse_rho, &*z_by_rho, &*phi, &*slice, &*turn];
            let [u, t, phi_a, slice_a, turn_a] = columns.map(|column| R::vectors(simd, &column[at..])[0]);
            let z = extrapolate::<R, S>(simd, ACCURATE, outer, [u, t, phi_a]);
            let within = R::and_less(simd, R::less(simd, z_min, z), z, z_max);
            let bits = R::bits(simd, within) & ((1u64 << (count - at).min(lanes)) - 1) as u32;
            // What is written lies before the vectors that come next.
            R::pack(simd, bits, z, &mut z12[kept..]);
            R::pack(simd, bits, u, &mut inverse_rho[kept..]);
            R::pack(simd, bits, phi_a, &mut phi[kept..]);
            R::pack(simd, bits, slice_a, &mut slice[kept..]);
            R::pack(simd, bits, turn_a, &mut turn[kept..]);
            kept += bits.count_ones() as usize;
        }
        self.end_outer(b, kept);
    }
}

/// Entries that wait for their bins.
#[derive(Debug)]
struct Entries<R> {
    /// z, or its steps as [`PackedHistogram::fill`] takes them: see [`Call::in_steps`].
    z: Column<R, { ENTRIES + MOST_LANES }>,
    weight: Column<R, { ENTRIES + MOST_LANES }>,
    /// Where z itself is summed.
    steps: Column<R, { ENTRIES + MOST_LANES }>,
    count: usize,
}

/// Lanes of the longest vector there is.
pub(crate) const MOST_LANES: usize = 16;
/// What is worked on together: little enough to stay near, enough to be worth a loop.
pub(crate) const ROOM: usize = 1024;
/// The most that one outer spacepoint meets before room is made again.
const PIECE: usize = ROOM / 2;
/// Entries that wait together: more, for they are counted in another way than found, and to change takes its time.
const ENTRIES: usize = 2 * ROOM;
/// Memory of a length that the compiler knows, so that it need not look at it again and again, and a vector more.
pub(crate) type Column<T, const LENGTH: usize = { ROOM + MOST_LANES }> = Box<[T; LENGTH]>;

/// An empty column.
pub(crate) fn column<T: Copy + Default, const LENGTH: usize>() -> Column<T, LENGTH> {
    Box::new([T::default(); LENGTH])
}

impl<R: Lanes> Default for FindZ<R> {
    fn default() -> Self {
        Self {
            inner: Around::default(),
            reaches: Reaches::none(),
            thirds: Thirds::default(),
            pairs: Pairs {
                z12: column(),
                inverse_rho: column(),
                z_by_rho: column(),
                phi: column(),
                slice: column(),
                turn: column(),
                place: column(),
                weight: column(),
                count: 0,
                outers: Box::new([PairsOf::default(); OUTERS + 1]),
                outer_count: 0,
            },
            entries: Entries { z: column(), weight: column(), steps: column(), count: 0 },
            histogram: PackedHistogram::default(),
        }
    }
}

/// One call of find_z.
pub(crate) struct Call<'a, R: Lanes> {
    pub(crate) search: &'a Search,
    pub(crate) plan: &'a RoiPlan,
    pub(crate) sliced: &'a SlicedSpacepoints<R>,
    pub(crate) scale: ZScale<R>,
    pub(crate) cuts: TripletCuts<R>,
    /// z23 further than this from z12 confirms no pair, by more than roundings.
    pub(crate) z_apart: R,
    pub(crate) lane_numbers: [R; MOST_LANES],
    /// There are fewer than 2^22 steps to either side of z = 0.
    few_steps: bool,
    /// Entries are written down as steps: these are few, and z itself is not summed.
    in_steps: bool,
}

/// Fills `to.histogram`.
pub(crate) fn find_z<R: Lanes>(
    search: &Search,
    plan: &RoiPlan,
    accumulate: Accumulate,
    sliced: &SlicedSpacepoints<R>,
    slices: Range<u32>,
    to: &mut FindZ<R>,
) {
    Arch::new().dispatch(Dispatch { search, plan, accumulate, sliced, slices, to });
}

/// [`find_z`] for the vectors of some machine.
pub(crate) struct Dispatch<'a, R: Lanes> {
    pub(crate) search: &'a Search,
    pub(crate) plan: &'a RoiPlan,
    pub(crate) accumulate: Accumulate,
    pub(crate) sliced: &'a SlicedSpacepoints<R>,
    pub(crate) slices: Range<u32>,
    pub(crate) to: &'a mut FindZ<R>,
}

impl<R: Lanes> WithSimd for Dispatch<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { search, plan, accumulate, sliced, slices, to } = self;
        let config = &search.config;
        let by_pt = config.weighting == Weighting::Pt;
        let weighted = by_pt || config.triplets == Triplets::Count;
        // No pair has more third spacepoints than there are.
        to.histogram.clear(plan, accumulate, weighted.then(|| sliced.kept()), by_pt);
        let scale = plan.z_scale::<R>();
        let most_steps = plan.bins.z_min.abs().max(plan.bins.z_max.abs()) * scale.steps_per_mm.to_f64();
        let few_steps = most_steps < f64::from((1 << 22) - 1);
        let in_steps = accumulate == Accumulate::Fixed && few_steps;
        let dz = 1.001 * config.triplet_dz_mm + 1e-4 * plan.bins.z_min.abs().max(plan.bins.z_max.abs()) + 1e-3;
        let lane_numbers = std::array::from_fn(|lane| R::of(lane as f64));
        let call = Call {
            search,
            plan,
            sliced,
            scale,
            cuts: search.triplet_cuts(),
            z_apart: R::of(dz),
            lane_numbers,
            few_steps,
            in_steps,
        };
        let plain = config.triplets == Triplets::Off && plan.histograms == 1 && in_steps;
        let accurate = config.extrapolation == Extrapolation::Accurate;
        match (plain, accurate) {
            (true, false) => simd.vectorize(AllPairs::<R, true, false> { call: &call, slices, to }),
            (true, true) => simd.vectorize(AllPairs::<R, true, true> { call: &call, slices, to }),
            (false, false) => simd.vectorize(AllPairs::<R, false, false> { call: &call, slices, to }),
            (false, true) => simd.vectorize(AllPairs::<R, false, true> { call: &call, slices, to }),
        }
    }
}

/// [`Call::pairs`] as a function of its own: into very large ones the compiler does not put the vectors' operations, but
/// calls them.
struct AllPairs<'a, R: Lanes, const PLAIN: bool, const ACCURATE: bool> {
    call: &'a Call<'a, R>,
    slices: Range<u32>,
    to: &'a mut FindZ<R>,
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

/// [`Call::enter`], for the same reason.
struct Enter<'a, R: Lanes, const ACCURATE: bool> {
    call: &'a Call<'a, R>,
    pairs: &'a mut Pairs<R>,
    layers: &'a [R],
    thirds: &'a mut Thirds<R>,
    entries: &'a mut Entries<R>,
    histogram: &'a mut PackedHistogram,
}

impl<R: Lanes, const ACCURATE: bool> WithSimd for Enter<'_, R, ACCURATE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { call, pairs, layers, thirds, entries, histogram } = self;
        call.enter::<S, ACCURATE>(simd, pairs, layers, thirds, entries, histogram);
    }
}

/// [`Call::flush`], for the same reason.
struct Flush<'a, R: Lanes> {
    call: &'a Call<'a, R>,
    entries: &'a mut Entries<R>,
    histogram: &'a mut PackedHistogram,
}

impl<R: Lanes> WithSimd for Flush<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { call, entries, histogram } = self;
        call.flush(simd, entries, histogram);
    }
}

/// Spacepoints about an outer one, as vectors, and what all of them meet.
pub(crate) struct Meeting<'a, R: Lanes, S: Simd> {
    pub(crate) slices: &'a [R::Vector<S>],
    reaches: &'a [R::Vector<S>],
    pub(crate) inverse_rho: &'a [R::Vector<S>],
    z_by_rho: &'a [R::Vector<S>],
    /// Of an accurate extrapolation only.
    phi: &'a [R::Vector<S>],
    slice: R::Vector<S>,
    pub(crate) b: [R::Vector<S>; 3],
    z_min: R::Vector<S>,
    z_max: R::Vector<S>,
}

impl<'a, R: Lanes, S: Simd> Meeting<'a, R, S> {
    /// `slice` is that of `b` and a quarter of a slice beside it: see [`Reaches::put`].
    #[inline(always)]
    pub(crate) fn new<const ACCURATE: bool>(
        simd: S,
        columns: &Columns<'a, R>,
        stretch: &Range<usize>,
        b: &Outer<R>,
        slice: R,
        [z_min, z_max]: [R; 2],
    ) -> Self {
        Self {
            slices: Columns::vectors(simd, columns.slice, stretch),
            reaches: Columns::vectors(simd, columns.reach, stretch),
            inverse_rho: Columns::vectors(simd, columns.inverse_rho, stretch),
            z_by_rho: Columns::vectors(simd, columns.z_by_rho, stretch),
            phi: if ACCURATE { Columns::vectors(simd, columns.phi, stretch) } else { &[] },
            slice: R::splat(simd, slice),
            b: [R::splat(simd, b.inverse_rho), R::splat(simd, b.z_by_rho), R::splat(simd, b.phi)],
            z_min: R::splat(simd, z_min),
            z_max: R::splat(simd, z_max),
        }
    }

    /// Vectors.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.slices.len()
    }

    /// Which lanes of a vector are within reach.
    #[inline(always)]
    fn near(&self, simd: S, i: usize) -> R::Mask<S> {
        let apart = R::absolute(simd, R::minus(simd, self.slices[i], self.slice));
        R::at_most(simd, apart, self.reaches[i])
    }

    /// Which lanes of a vector may make pairs with z within the range, and some beside it. Without a quotient, which takes
    /// longer than all else.
    #[inline(always)]
    pub(crate) fn may_be_pairs<const ACCURATE: bool>(&self, simd: S, i: usize) -> u32 {
        if ACCURATE {
            return self.pairs::<ACCURATE>(simd, i).0;
        }
        let half = R::splat(simd, R::of(0.5));
        let middle = R::times(simd, half, R::plus(simd, self.z_min, self.z_max));
        let half_width = R::times(simd, half, R::minus(simd, self.z_max, self.z_min));
        let [v, tb, _] = self.b;
        let below = R::minus(simd, v, self.inverse_rho[i]);
        let above = R::minus(simd, R::minus(simd, tb, self.z_by_rho[i]), R::times(simd, middle, below));
        let most = R::times(simd, half_width, R::absolute(simd, below));
        let within = R::at_most(simd, R::absolute(simd, above), most);
        R::bits(simd, R::both(simd, self.near(simd, i), within))
    }

    /// Which lanes of a vector make pairs with z within the range, and z where their lines meet the beam, or are nearest
    /// to it. The quotient is the same whichever of the two is the inner one.
    #[inline(always)]
    pub(crate) fn pairs<const ACCURATE: bool>(&self, simd: S, i: usize) -> (u32, R::Vector<S>) {
        let near = self.near(simd, i);
        let phi = if ACCURATE { self.phi[i] } else { self.b[2] };
        let z = extrapolate::<R, S>(simd, ACCURATE, self.b, [self.inverse_rho[i], self.z_by_rho[i], phi]);
        let above = R::and_less(simd, near, self.z_min, z);
        (R::bits(simd, R::and_less(simd, above, z, self.z_max)), z)
    }
}

/// z where the line through two spacepoints, 1 / rho, z / rho and phi each, meets the beam, or is nearest to it:
/// `shaders/extrapolation/*.wgsl`. It is the same whichever of the two is the inner one.
#[inline(always)]
pub(crate) fn extrapolate<R: Lanes, S: Simd>(
    simd: S,
    accurate: bool,
    [v, tb, phi_b]: [R::Vector<S>; 3],
    [u, ta, phi_a]: [R::Vector<S>; 3],
) -> R::Vector<S> {
    if !accurate {
        return R::over(simd, R::minus(simd, tb, ta), R::minus(simd, v, u));
    }
    let half = R::splat(simd, R::of(0.5));
    let one = R::splat(simd, R::of(1.0));
    let ss = R::sine_squared(simd, R::times(simd, half, R::minus(simd, phi_b, phi_a)));
    let four_ss = R::times(simd, R::splat(simd, R::of(4.0)), ss);
    let apart = R::minus(simd, u, v);
    let below = R::plus(simd, R::times(simd, apart, apart), R::times(simd, four_ss, R::times(simd, u, v)));
    // The square of the line's distance from the beam, d0.
    let square = R::over(simd, R::times(simd, four_ss, R::minus(simd, one, ss)), below);
    // sqrt(rho^2 - d0^2) = rho w
    let wa = R::root(simd, R::minus(simd, one, R::times(simd, R::times(simd, square, u), u)));
    let wb = R::root(simd, R::minus(simd, one, R::times(simd, R::times(simd, square, v), v)));
    R::over(
        simd,
        R::minus(simd, R::times(simd, tb, wa), R::times(simd, ta, wb)),
        R::minus(simd, R::times(simd, v, wa), R::times(simd, u, wb)),
    )
}

impl<R: Lanes> Call<'_, R> {
    /// Whether pairs weigh by the pT of their tracks.
    pub(crate) fn by_pt(&self) -> bool {
        self.search.config.weighting == Weighting::Pt
    }

    /// What to add to the phi of a spacepoint in the slice `other` seen from the slice `origin`, both of which may go on
    /// beyond the ends of a ring: whole turns, so that it is seen the shorter way round.
    pub(crate) fn turn_between(&self, origin: f64, other: f64) -> R {
        if !self.plan.ring {
            return R::of(0.0);
        }
        let slices = f64::from(self.plan.slices);
        // By less than a ring.
        let on_ring = |slice: f64| match slice {
            below if below < 0.0 => below + slices,
            above if above >= slices => above - slices,
            _ => slice,
        };
        let straight = on_ring(other) - on_ring(origin);
        let turns = if 2.0 * straight > slices {
            -1.0
        } else if 2.0 * straight <= -slices {
            1.0
        } else {
            0.0
        };
        R::of(turns * TAU)
    }

    /// All pairs. `PLAIN`: they count as they are, in one histogram, and are entered in steps ([`Call::in_steps`]).
    /// `ACCURATE`: of the extrapolation. Both are known to the compiler: asked at run time, pairs take a fifth longer.
    #[inline(always)]
    fn pairs<S: Simd, const PLAIN: bool, const ACCURATE: bool>(&self, simd: S, slices: &Range<u32>, to: &mut FindZ<R>) {
        let Self { search, plan, sliced, scale, .. } = *self;
        let FindZ { inner, reaches, thirds, pairs, entries, histogram } = to;
        let filled = sliced.filled();
        let triplets = search.config.triplets != Triplets::Off;
        if filled.len() < if triplets { 3 } else { 2 } {
            return;
        }
        let first_layers = &filled[..(search.config.first_layers as usize).min(filled.len() - 1)];
        // Outer layers are those behind the first; where a third spacepoint is asked for, not the last.
        let outer_layers = 1..filled.len() - usize::from(triplets);
        let inner_layers = |layer_b: usize| first_layers.iter().copied().take_while(move |&layer_a| layer_a < layer_b);
        let reach = |layer_a: usize, layer_b: usize| search.reach(layer_a, layer_b, plan.endcap_shift);
        let most = filled[outer_layers.clone()].iter().flat_map(|&b| inner_layers(b).map(move |a| reach(a, b))).max();
        let most = most.unwrap_or_default();
        let Some((&innermost, &last_inner)) = first_layers.first().zip(first_layers.last()) else { return };
        inner.fill(simd, sliced, innermost..=last_inner, slices, plan.ring, most, !PLAIN || ACCURATE);
        if triplets {
            thirds.sets.fill(simd, self, filled);
        }
        entries.count = 0;
        pairs.clear();
        let steps = R::steps(simd, scale.steps_per_mm, scale.steps_at_0);
        if !PLAIN && !plan.ring {
            pairs.turn.fill(R::of(0.0));
        }
        for i in outer_layers {
            let layer_b = filled[i];
            reaches.clear();
            inner_layers(layer_b).for_each(|layer_a| reaches.put(layer_a, reach(layer_a, layer_b), plan));
            let all = sliced.of_layer(layer_b);
            let (Some(first), Some(last)) = (all.first(), all.last()) else { continue };
            let of_layer = first.slice..=last.slice;
            inner.set_reach(simd, sliced, of_layer.clone(), reaches);
            if triplets {
                thirds.sets.set_layer(simd, self, filled, i, of_layer);
            }
            let columns = inner.columns(sliced);
            let most_k = thirds.sets.most_k(self);
            // With weights by pT, pairs are tested without a quotient first, with a margin for its rounding.
            let margin = R::of(1e-5 * plan.bins.z_min.abs().max(plan.bins.z_max.abs()) + 1e-4);
            let z_range = match self.by_pt() {
                true => [scale.z_min - margin, scale.z_max + margin],
                false => [scale.z_min, scale.z_max],
            };
            let (mut next, mut from) = (0, 0);
            // What the next one meets is looked up before this one's vectors: how many they are is asked as soon as these end, and
            // by then it should be known.
            let about = |b: &Outer<R>| (*b, inner.window(b.slice, [reaches.most; 2]));
            let mut ahead = about(first);
            while next < all.len() {
                let (b, Range { start, end }) = ahead;
                // A long stretch is met in pieces, each as if by an outer spacepoint of its own.
                let begin = start.max(from);
                let stretch = begin..end.min(begin + PIECE);
                let last = stretch.end == end;
                (next, from) = (next + usize::from(last), if last { 0 } else { stretch.end });
                ahead = about(all.get(next).unwrap_or(first));
                if self.by_pt() && begin == start && !thirds.may_weigh::<S, ACCURATE>(simd, self, &b, most_k) {
                    (next, from) = (next + usize::from(!last), 0);
                    ahead = about(all.get(next).unwrap_or(first));
                    continue;
                }
                // From above, as a step from a to b counts.
                let beside = R::of_slice(b.slice) - R::of(Around::<R>::BESIDE);
                // One vector at least, which spares a branch that nothing foretells.
                let meeting = Meeting::new::<ACCURATE>(simd, &columns, &stretch, &b, beside, z_range);
                if PLAIN {
                    let mut count = entries.count;
                    let z = &mut *entries.z;
                    for i in 0..meeting.len() {
                        let (bits, z12) = meeting.pairs::<ACCURATE>(simd, i);
                        R::pack(simd, bits, R::entries_of(simd, z12, steps), &mut z[count.min(ENTRIES)..]);
                        count += bits.count_ones() as usize;
                    }
                    entries.count = count;
                    if count > ENTRIES - PIECE {
                        simd.vectorize(Flush { call: self, entries, histogram });
                    }
                } else if self.by_pt() {
                    // Few are left of those that are looked at: they are taken one by one, and met again in vectors.
                    let phi = Columns::vectors(simd, columns.turned_phi, &stretch);
                    let [u_b, _, phi_b] = meeting.b;
                    let mut count = 0;
                    for i in 0..meeting.len() {
                        let inner = [meeting.inverse_rho[i], phi[i]];
                        let straight = bends_at_most::<R, S>(simd, most_k, inner, [u_b, phi_b]);
                        let bits = meeting.may_be_pairs::<ACCURATE>(simd, i) & R::bits(simd, straight);
                        let first = (stretch.start + i * R::count::<S>()) as u32;
                        count += pack_places(simd, bits, first, &mut pairs.place[count.min(ROOM)..]);
                    }
                    let within = [scale.z_min, scale.z_max];
                    pairs.make::<S, ACCURATE>(simd, &columns, b, count, within, plan.ring);
                    // Weights are those of one outer spacepoint at a time.
                    if pairs.count > 0 {
                        let layers = columns.layer;
                        simd.vectorize(Enter::<R, ACCURATE> { call: self, pairs, layers, thirds, entries, histogram });
                    }
                } else {
                    let turns = Columns::vectors(simd, columns.turn, &stretch);
                    let phi = Columns::vectors(simd, columns.phi, &stretch);
                    let lanes = R::count::<S>();
                    let mut count = pairs.count;
                    for i in 0..meeting.len() {
                        let (bits, z12) = meeting.pairs::<ACCURATE>(simd, i);
                        let at = count.min(ROOM);
                        R::pack(simd, bits, z12, &mut pairs.z12[at..]);
                        R::pack(simd, bits, meeting.inverse_rho[i], &mut pairs.inverse_rho[at..]);
                        R::pack(simd, bits, phi[i], &mut pairs.phi[at..]);
                        R::pack(simd, bits, meeting.slices[i], &mut pairs.slice[at..]);
                        if plan.ring {
                            R::pack(simd, bits, turns[i], &mut pairs.turn[at..]);
                        }
                        if plan.histograms > 1 {
                            pack_places(simd, bits, (stretch.start + i * lanes) as u32, &mut pairs.place[at..]);
                        }
                        count += bits.count_ones() as usize;
                    }
                    pairs.end_outer(b, count);
                    if pairs.count >= ENOUGH_PAIRS || pairs.outer_count == OUTERS {
                        let layers = columns.layer;
                        simd.vectorize(Enter::<R, ACCURATE> { call: self, pairs, layers, thirds, entries, histogram });
                    }
                }
                if histogram.overflows() {
                    return;
                }
            }
            if !PLAIN {
                let layers = columns.layer;
                simd.vectorize(Enter::<R, ACCURATE> { call: self, pairs, layers, thirds, entries, histogram });
            }
        }
        simd.vectorize(Flush { call: self, entries, histogram });
    }

    /// Enters the pairs that third spacepoints confirm, or all, whichever histograms they go into. None are left.
    #[inline(always)]
    fn enter<S: Simd, const ACCURATE: bool>(
        &self,
        simd: S,
        pairs: &mut Pairs<R>,
        layers: &[R],
        thirds: &mut Thirds<R>,
        entries: &mut Entries<R>,
        histogram: &mut PackedHistogram,
    ) {
        let config = &self.search.config;
        if pairs.outer_count == 0 {
            return;
        }
        if self.by_pt() {
            thirds.weigh::<S, ACCURATE>(simd, self, pairs, histogram);
            pairs.clear();
            return;
        }
        // Behind the last pair, nothing.
        let found = pairs.count.min(ROOM);
        let count = found.next_multiple_of(R::count::<S>());
        pairs.weight[..count].fill(R::of(0.0));
        if config.triplets == Triplets::Off {
            pairs.weight[..found].fill(R::of(1.0));
        } else {
            thirds.confirm::<S, ACCURATE>(simd, self, pairs);
        }
        if self.plan.histograms > 1 {
            for &PairsOf { b, first, end } in pairs.outers() {
                for i in first..end {
                    let weight = pairs.weight[i].to_f64() as u32;
                    let weight = if config.triplets == Triplets::Any { weight.min(1) } else { weight };
                    if weight == 0 {
                        continue;
                    }
                    let z12 = pairs.z12[i];
                    let steps = z12.whole_steps(self.scale.steps_per_mm, self.scale.steps_at_0);
                    let layer_a = layers[pairs.place[i] as usize].to_f64() as usize;
                    let slice_a = pairs.slice[i].to_f64() as i32;
                    histograms_of(self.search, self.plan, layer_a, slice_a, b.slice, |of| {
                        histogram.add(of, steps, z12.to_f32(), weight, [0; 2]);
                    });
                }
            }
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
            let bits = R::bits(simd, R::less(simd, R::splat(simd, R::of(0.0)), weight));
            let entry = if self.in_steps { R::entries_of(simd, z12, steps) } else { z12 };
            R::pack(simd, bits, entry, &mut entries.z[to..]);
            R::pack(simd, bits, weight, &mut entries.weight[to..]);
            to = (to + bits.count_ones() as usize).min(ENTRIES);
        }
        entries.count = to;
        pairs.clear();
    }

    /// Counts the entries that wait in their bins.
    #[inline(always)]
    fn flush<S: Simd>(&self, simd: S, entries: &mut Entries<R>, histogram: &mut PackedHistogram) {
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

/// Curvature k and azimuth p there of the track through two spacepoints, 1 / rho and phi each, whose rho differ.
pub(crate) fn track_bend<R: Lanes>([u, phi]: [R; 2], [v, phi_outer]: [R; 2]) -> (R, R) {
    let turned = (phi_outer - phi) * v / (v - u);
    (R::of(2.0) * turned * u, phi + turned)
}

/// Names the histograms that a pair goes into: those of its charge, and of the slices that its track may come from.
/// `accumulate` in `shaders/accumulate/totals.wgsl`. The slice of the inner spacepoint goes on beyond the ends of a ring.
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
