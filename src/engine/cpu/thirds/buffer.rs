//! Third spacepoints of several middle spacepoints, side by side for vectors.

use std::ops::Range;

use pulp::Simd;

use super::index::ThirdView;
use super::pair_tracks::PairTracks;
use super::side::{Side, side_on_ring};
use crate::detector::MAX_LAYERS;
use crate::engine::cpu::bend::{bend, bends_at_most};
use crate::engine::cpu::column::{Column, MOST_LANES, ROOM, column};
use crate::engine::cpu::find_z::call::FindZCall;
use crate::engine::cpu::find_z::pairs::PairBuffer;
use crate::engine::cpu::find_z::partners::{Partners, extrapolate};
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::machine::pack_places;
use crate::engine::cpu::slice_index::{IndexColumns, SliceIndex};
use crate::engine::cpu::slice_spacepoints::OuterSpacepoint;

/// Third spacepoints of several middle spacepoints, fetched from a [`ThirdView`].
#[derive(Debug)]
pub(super) struct ThirdBuffer<R> {
    pub(super) count: usize,
    /// The middle spacepoints.
    pub(super) lookups: Box<[Lookup; LOOKUPS + 1]>,
    pub(super) lookup_count: usize,
    pub(super) inverse_rho: Column<R>,
    pub(super) z_by_rho: Column<R>,
    /// As seen from the middle spacepoint, with turns.
    pub(super) phi: Column<R>,
    /// Without turns. Filled only for an accurate extrapolation.
    pub(super) plain_phi: Column<R>,
    pub(super) slice: Column<R>,
    /// The place in the columns of the view.
    pub(super) place: Column<u32>,
    pub(super) z23: Column<R>,
    pub(super) k23: Column<R>,
    pub(super) p23: Column<R>,
    /// Filled only on a short ring, or where pairs are weighted by pT.
    pub(super) dz: Column<R>,
    /// Filled only on a short ring, where the order of slices is not that of sides.
    pub(super) side: Column<Side>,
    /// Filled only where pairs are weighted by pT.
    pub(super) tracks: PairTracks<R>,
}

/// The third spacepoints of one middle spacepoint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lookup {
    /// The number of the middle spacepoint in [`PairBuffer::outers`].
    pub(super) of: usize,
    pub(super) first: usize,
    pub(super) end: usize,
}

/// The sides of the third spacepoints of one middle spacepoint, and their largest |k23|.
pub(super) struct Sides<R> {
    /// Where those of [`Side::Below`] end and those of [`Side::Above`] begin: they are in the order
    /// of slices.
    pub(super) beside: Range<usize>,
    pub(super) most_k23: R,
}

/// Middle spacepoints, and third spacepoints, that are processed together.
pub(super) const LOOKUPS: usize = 32;
const ENOUGH_THIRDS: usize = 256;

impl<R: Lanes> Default for ThirdBuffer<R> {
    fn default() -> Self {
        Self {
            count: 0,
            lookups: Box::new([Lookup::default(); LOOKUPS + 1]),
            lookup_count: 0,
            inverse_rho: column(),
            z_by_rho: column(),
            phi: column(),
            plain_phi: column(),
            slice: column(),
            place: column(),
            z23: column(),
            k23: column(),
            p23: column(),
            dz: column(),
            side: column(),
            tracks: PairTracks::default(),
        }
    }
}

impl<R: Lanes> ThirdBuffer<R> {
    /// Appends the third spacepoints of a middle spacepoint in a stretch of the columns, as many as
    /// fit. Returns the rest of the stretch. With `most_k`, third spacepoints whose track with the
    /// middle one has a higher curvature are left out.
    #[expect(clippy::too_many_arguments, reason = "a middle spacepoint, and the cuts on third ones")]
    #[inline(always)]
    pub(super) fn look<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        columns: IndexColumns<'_, R>,
        pairs: &PairBuffer<R>,
        of: usize,
        stretch: Range<usize>,
        z23: [R; 2],
        most_k: Option<R>,
    ) -> Range<usize> {
        let b = &pairs.outers()[of].b;
        let lanes = R::count::<S>();
        // From below, as a step from b to c counts.
        let slice = R::of_slice(b.slice) + R::from_f64(SliceIndex::<R>::BESIDE);
        let partners = Partners::new::<ACCURATE>(simd, &columns, &stretch, b, slice, z23);
        let first = self.count.min(ROOM - MOST_LANES);
        let mut end = first;
        let mut vector = 0;
        let phi = IndexColumns::vectors(simd, columns.turned_phi, &stretch);
        let [u_b, _, phi_b] = partners.b;
        while vector < partners.len() && end <= ROOM - MOST_LANES {
            let mut bits = partners.may_be_pairs::<ACCURATE>(simd, vector);
            if let Some(most_k) = most_k {
                let outer = [partners.inverse_rho[vector], phi[vector]];
                bits &= R::bits(simd, bends_at_most::<R, S>(simd, most_k, [u_b, phi_b], outer));
            }
            end += pack_places(simd, bits, (stretch.start + vector * lanes) as u32, &mut self.place[end..]);
            vector += 1;
        }
        self.lookups[self.lookup_count.min(LOOKUPS)] = Lookup { of, first, end };
        self.lookup_count += usize::from(end > first);
        self.count = end;
        (stretch.start + vector * lanes).min(stretch.end)..stretch.end
    }

    /// Whether the buffer should be processed before more is appended.
    pub(super) fn is_full(&self) -> bool {
        self.count >= ENOUGH_THIRDS || self.lookup_count == LOOKUPS
    }

    pub(super) fn clear(&mut self) {
        (self.count, self.lookup_count) = (0, 0);
    }

    /// Fetches the columns of the third spacepoints. Few spacepoints of a stretch are left, so they
    /// are fetched one by one.
    #[inline(always)]
    pub(super) fn fetch<const ACCURATE: bool>(&mut self, thirds: &ThirdView<'_, R>) {
        let IndexColumns { inverse_rho, z_by_rho, turned_phi, slice, phi, .. } = thirds.columns;
        // Of one length, which spares bounds checks.
        let last = inverse_rho.len() - 1;
        let (z_by_rho, turned_phi) = (&z_by_rho[..=last], &turned_phi[..=last]);
        let (slice, phi) = (&slice[..=last], &phi[..=last]);
        let count = self.count.min(ROOM);
        for i in 0..count {
            let place = (self.place[i] as usize).min(last);
            self.inverse_rho[i] = inverse_rho[place];
            self.z_by_rho[i] = z_by_rho[place];
            self.phi[i] = turned_phi[place];
            self.slice[i] = slice[place];
        }
        if ACCURATE {
            for i in 0..count {
                self.plain_phi[i] = phi[(self.place[i] as usize).min(last)];
            }
        }
    }

    /// Computes z23, k23 and p23 of the fetched third spacepoints of a middle spacepoint. The last
    /// vector also writes numbers behind them, which the next call overwrites.
    #[inline(always)]
    pub(super) fn compute<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &FindZCall<'_, R>,
        thirds: &ThirdView<'_, R>,
        b: &OuterSpacepoint<R>,
        Lookup { first, end, .. }: Lookup,
    ) -> Sides<R> {
        let lanes = R::count::<S>();
        let (u_b, t_b, phi_b) = (R::splat(simd, b.inverse_rho), R::splat(simd, b.z_by_rho), R::splat(simd, b.phi));
        let two = R::splat(simd, R::from_f64(2.0));
        let slice_b = f64::from(b.slice);
        let (below, above) = (R::splat(simd, R::from_f64(slice_b - 1.0)), R::splat(simd, R::from_f64(slice_b + 1.0)));
        let lane_numbers = R::vectors(simd, &call.lane_numbers)[0];
        let zero = R::splat(simd, R::from_f64(0.0));
        let mut most_k23 = zero;
        let mut beside = first..first;
        let mut at = first;
        while at < end.min(ROOM) {
            let u_c = R::vectors(simd, &self.inverse_rho[at..])[0];
            let phi_c = R::vectors(simd, &self.phi[at..])[0];
            let slice_c = R::vectors(simd, &self.slice[at..])[0];
            let t_c = R::vectors(simd, &self.z_by_rho[at..])[0];
            let plain_phi = R::vectors(simd, &self.plain_phi[at..])[0];
            let z = extrapolate::<R, S>(simd, ACCURATE, [u_b, t_b, phi_b], [u_c, t_c, plain_phi]);
            let (k, p) = bend::<R, S>(simd, two, [u_b, phi_b], [u_c, phi_c]);
            R::store(simd, &mut self.z23[at..], z);
            R::store(simd, &mut self.k23[at..], k);
            R::store(simd, &mut self.p23[at..], p);
            let there = R::less(simd, lane_numbers, R::splat(simd, R::from_f64((end - at) as f64)));
            most_k23 = R::larger(simd, most_k23, R::select(simd, there, R::absolute(simd, k), zero));
            // They are in the order of slices, so that counts say where each side ends.
            let is_below = R::both(simd, there, R::less(simd, slice_c, below));
            let is_not_above = R::both(simd, there, R::at_most(simd, slice_c, above));
            beside.start += R::bits(simd, is_below).count_ones() as usize;
            beside.end += R::bits(simd, is_not_above).count_ones() as usize;
            at += lanes;
        }
        let short_ring = thirds.index.short_ring;
        if short_ring {
            self.set_sides(call, thirds, b, first..end);
        }
        if call.by_pt() || short_ring {
            for i in first..end {
                self.dz[i] = thirds.index.dz_of[self.layer(thirds, i)];
            }
        }
        Sides { beside, most_k23: R::largest(simd, most_k23) }
    }

    /// Returns the layer of a third spacepoint.
    pub(super) fn layer(&self, thirds: &ThirdView<'_, R>, i: usize) -> usize {
        thirds.columns.layer[self.place[i] as usize].to_f64() as usize % MAX_LAYERS
    }

    /// Sets the sides on a short ring.
    fn set_sides(
        &mut self,
        call: &FindZCall<'_, R>,
        thirds: &ThirdView<'_, R>,
        b: &OuterSpacepoint<R>,
        places: Range<usize>,
    ) {
        for i in places {
            let step = self.slice[i].to_f64() as i32 - b.slice as i32;
            self.side[i] = side_on_ring(step, thirds.index.slices[self.layer(thirds, i)], call.plan.slices);
        }
    }
}
