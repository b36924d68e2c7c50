//! Counts of the third spacepoints that confirm pairs: `shaders/find_z/pair_weight/count.wgsl`.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::engine::cpu::lanes::{Lanes, ROOM};
use crate::engine::cpu::pairs::{FindZCall, OuterPairs, PairBuffer, bend, within};
use crate::engine::cpu::thirds::{LOOKUPS, Lookup, Side, Sides, ThirdBuffer, ThirdSpacepoints, ThirdView};

/// [`ThirdBuffer::count_all`] as a function of its own.
pub(super) struct CountAll<'a, R: Lanes, const ACCURATE: bool> {
    pub(super) buffer: &'a mut ThirdBuffer<R>,
    pub(super) call: &'a FindZCall<'a, R>,
    pub(super) thirds: &'a ThirdView<'a, R>,
    pub(super) pairs: &'a mut PairBuffer<R>,
}

impl<R: Lanes, const ACCURATE: bool> WithSimd for CountAll<'_, R, ACCURATE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.buffer.count_all::<S, ACCURATE>(simd, self.call, self.thirds, self.pairs);
    }
}

/// The tracks of a vector of pairs.
struct Track<R: Lanes, S: Simd> {
    k12: R::Vector<S>,
    p12: R::Vector<S>,
    turn: R::Vector<S>,
}

impl<R: Lanes> ThirdBuffer<R> {
    /// Counts the third spacepoints into the weights of their pairs, and clears the buffer.
    #[inline(always)]
    fn count_all<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &FindZCall<'_, R>,
        thirds: &ThirdView<'_, R>,
        pairs: &mut PairBuffer<R>,
    ) {
        self.fetch::<ACCURATE>(thirds);
        for i in 0..self.lookup_count.min(LOOKUPS) {
            let lookup = self.lookups[i];
            let of = pairs.outers()[lookup.of];
            let sides = self.compute::<S, ACCURATE>(simd, call, thirds, &of.b, lookup);
            self.count_into(simd, call, thirds, &of, pairs, lookup, &sides);
        }
        self.clear();
    }

    /// Adds the third spacepoints of one middle spacepoint to the weights of its pairs.
    #[expect(clippy::too_many_arguments, reason = "pairs, and what may confirm them")]
    #[inline(always)]
    fn count_into<S: Simd>(
        &mut self,
        simd: S,
        call: &FindZCall<'_, R>,
        thirds: &ThirdView<'_, R>,
        &OuterPairs { b, first, end }: &OuterPairs<R>,
        pairs: &mut PairBuffer<R>,
        lookup: Lookup,
        sides: &Sides<R>,
    ) {
        let lanes = R::count::<S>();
        let (u_b, phi_b) = (R::splat(simd, b.inverse_rho), R::splat(simd, b.phi));
        let (slice_b, two) = (R::splat(simd, R::from_f64(b.slice.into())), R::splat(simd, R::from_f64(2.0)));
        let none = R::splat(simd, R::from_f64(f64::NAN));
        let free_k = R::splat(simd, R::from_f64(0.999) * call.cuts.dk - sides.most_k23);
        let all = R::bits(simd, R::at_most(simd, two, two));
        let lane_numbers = R::vectors(simd, &call.lane_numbers)[0];
        let mut at = first;
        while at < end.min(ROOM) {
            // Lanes behind the last pair belong to another spacepoint, and may take any branch.
            let beyond = all & !(((1u64 << (end - at).min(lanes)) - 1) as u32);
            let z12 = R::vectors(simd, &pairs.z12[at..])[0];
            let u_a = R::vectors(simd, &pairs.inverse_rho[at..])[0];
            let phi_a = R::vectors(simd, &pairs.phi[at..])[0];
            let slice_a = R::vectors(simd, &pairs.slice[at..])[0];
            // 0 where there is no ring.
            let turn = R::vectors(simd, &pairs.turn[at..])[0];
            let (k12, p12) = bend::<R, S>(simd, two, [u_a, phi_a], [u_b, R::minus(simd, phi_b, turn)]);
            let (rises, falls) = (R::less(simd, slice_a, slice_b), R::less(simd, slice_b, slice_a));
            let track = Track { k12, p12, turn };
            // Which third spacepoints may confirm which of the pairs.
            let beside = sides.beside.clone();
            let above = R::select(simd, rises, z12, none);
            let below = R::select(simd, falls, z12, none);
            let parts = if R::bits(simd, rises) | beyond == all {
                [(z12, beside.start..lookup.end), (none, 0..0), (none, 0..0)]
            } else if R::bits(simd, falls) | beyond == all {
                [(z12, lookup.first..beside.end), (none, 0..0), (none, 0..0)]
            } else {
                [(below, lookup.first..beside.start), (z12, beside.clone()), (above, beside.end..lookup.end)]
            };
            let k_is_free = R::bits(simd, R::at_most(simd, R::absolute(simd, k12), free_k)) | beyond == all;
            let zero = R::splat(simd, R::from_f64(0.0));
            let found = if thirds.index.short_ring {
                let around = R::select(simd, R::either(simd, rises, falls), z12, none);
                let sides = [below, z12, above, around, none];
                self.meet_on_short_ring(simd, call, &track, lookup.first..lookup.end, sides)
            } else if call.by_pt() {
                self.meet::<S, true, true>(simd, call, &track, parts, zero)
            } else if k_is_free && !call.plan.ring {
                self.meet::<S, false, false>(simd, call, &track, parts, zero)
            } else {
                self.meet::<S, false, true>(simd, call, &track, parts, zero)
            };
            let there = R::less(simd, lane_numbers, R::splat(simd, R::from_f64((end - at) as f64)));
            let found = R::select(simd, there, found, zero);
            let before = R::vectors(simd, &pairs.weight[at..])[0];
            R::store(simd, &mut pairs.weight[at..], R::plus(simd, before, found));
            at += lanes;
        }
    }

    /// [`Self::meet`] on a short ring, with the z12 of the pairs that third spacepoints of each
    /// [`Side`] may confirm.
    #[inline(always)]
    fn meet_on_short_ring<S: Simd>(
        &self,
        simd: S,
        call: &FindZCall<'_, R>,
        track: &Track<R, S>,
        thirds: Range<usize>,
        [below, beside, above, around, nowhere]: [R::Vector<S>; 5],
    ) -> R::Vector<S> {
        let mut found = R::splat(simd, R::from_f64(0.0));
        for i in thirds {
            let z12 = match self.side[i] {
                Side::Below => below,
                Side::SameOrNext => beside,
                Side::Above => above,
                Side::AboveAndBelow => around,
                Side::Nowhere => nowhere,
            };
            found = self.meet::<S, true, true>(simd, call, track, [(z12, i..i + 1)], found);
        }
        found
    }

    /// Adds the number of third spacepoints that confirm each pair of a vector. The spacepoints of
    /// a part are compared with the z12 of the part. `DZ`: the cut on z depends on the layer.
    /// `ALL`: the cut on curvature and turns may matter.
    #[inline(always)]
    fn meet<S: Simd, const DZ: bool, const ALL: bool>(
        &self,
        simd: S,
        call: &FindZCall<'_, R>,
        track: &Track<R, S>,
        parts: impl IntoIterator<Item = (R::Vector<S>, Range<usize>)>,
        mut found: R::Vector<S>,
    ) -> R::Vector<S> {
        let (dz, dk) = (R::splat(simd, call.cuts.dz), R::splat(simd, call.cuts.dk));
        let dp = R::splat(simd, call.cuts.dp);
        let (one, zero) = (R::splat(simd, R::from_f64(1.0)), R::splat(simd, R::from_f64(0.0)));
        for (z12, thirds) in parts {
            let z23 = &self.z23[thirds.clone()];
            // Of one length, which spares bounds checks.
            let k23 = &self.k23[thirds.clone()][..z23.len()];
            let p23 = &self.p23[thirds.clone()][..z23.len()];
            let dz_of = &self.dz[thirds][..z23.len()];
            for i in 0..z23.len() {
                let dz = if DZ { R::splat(simd, dz_of[i]) } else { dz };
                let mut confirms = within::<R, S>(simd, R::minus(simd, R::splat(simd, z23[i]), z12), dz);
                // Without a ring the turn is 0.
                let p23 = R::splat(simd, p23[i]);
                let p23 = if ALL { R::minus(simd, p23, track.turn) } else { p23 };
                let apart = R::minus(simd, p23, track.p12);
                confirms = R::both(simd, confirms, R::less(simd, R::absolute(simd, apart), dp));
                if ALL {
                    let alike = within::<R, S>(simd, R::minus(simd, R::splat(simd, k23[i]), track.k12), dk);
                    confirms = R::both(simd, confirms, alike);
                }
                found = R::plus(simd, found, R::select(simd, confirms, one, zero));
            }
        }
        found
    }
}

impl<R: Lanes> ThirdSpacepoints<R> {
    /// Counts the third spacepoints that confirm each pair, into its weight.
    #[inline(always)]
    pub(crate) fn confirm<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &FindZCall<'_, R>,
        pairs: &mut PairBuffer<R>,
    ) {
        let Self { index, buffer } = self;
        let thirds = &index.view(call);
        // A copy, so that the compiler knows that all columns have one length.
        let columns = thirds.columns;
        for of in 0..pairs.outers().len() {
            let (sides, z23) = index.sides(simd, call, pairs, of);
            let mut stretch = index.window(0, pairs.outers()[of].b.slice, sides);
            loop {
                stretch = buffer.look::<S, ACCURATE>(simd, columns, pairs, of, stretch, z23, None);
                if buffer.is_full() {
                    simd.vectorize(CountAll::<R, ACCURATE> { buffer, call, thirds, pairs });
                }
                if stretch.is_empty() {
                    break;
                }
            }
        }
        simd.vectorize(CountAll::<R, ACCURATE> { buffer, call, thirds, pairs });
    }
}
