//! Third spacepoints that were looked up, and the pairs that they confirm.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::Among;
use crate::detector::MAX_LAYERS;
use crate::engine::cpu::around::{Around, Columns};
use crate::engine::cpu::find_z::{
    Call, Column, MOST_LANES, Meeting, Pairs, PairsOf, ROOM, column, extrapolate, track_bend,
};
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::machine::pack_places;
use crate::engine::cpu::packed_histogram::PackedHistogram;
use crate::engine::cpu::slice_spacepoints::Outer;
use crate::engine::real::weight_in;
use crate::pt_weight::PtWeight;

/// The third spacepoints of some outer ones.
#[derive(Debug)]
pub(super) struct Found<R> {
    count: usize,
    /// Whose they are.
    lookups: Box<[Lookup; LOOKUPS + 1]>,
    lookup_count: usize,
    inverse_rho: Column<R>,
    z_by_rho: Column<R>,
    /// As it is seen from the outer spacepoint.
    phi: Column<R>,
    /// As it is; of an accurate extrapolation only.
    plain_phi: Column<R>,
    slice: Column<R>,
    /// Where in the set.
    place: Column<u32>,
    z23: Column<R>,
    k23: Column<R>,
    p23: Column<R>,
    /// Of pairs with weights by pT only.
    dz: Column<R>,
    /// On a short ring, where those of an outer spacepoint are not in the order of their sides.
    side: Column<Side>,
    /// Of pairs with weights by pT: the index of each pair's tracks, if a third spacepoint confirms it.
    tracks_of: Box<[Option<usize>; ROOM + MOST_LANES]>,
    tracks: Vec<Tracks<R>>,
}

/// The tracks that third spacepoints make of a pair.
#[derive(Clone, Copy, Debug)]
struct Tracks<R> {
    /// A bit for each layer that holds a third spacepoint.
    layers: u64,
    /// The highest pT in each of these layers \[GeV\].
    best: [R; MAX_LAYERS],
}

/// Third spacepoints of an outer one that were looked up.
#[derive(Clone, Copy, Debug, Default)]
struct Lookup {
    /// Which of those whose pairs there are.
    of: usize,
    first: usize,
    end: usize,
}

/// Which sides the third spacepoints of an outer one lie on, and the largest |k23|.
struct Sides<R> {
    /// Those of [`Side::Below`] end here, and those of [`Side::Above`] begin: they are in the order of slices.
    beside: Range<usize>,
    most_k23: R,
}

/// Lookups whose third spacepoints are worked out together, and third spacepoints.
const LOOKUPS: usize = 32;
const ENOUGH_THIRDS: usize = 256;

/// Which pairs a third spacepoint may confirm: a track's bending keeps its sign.
#[derive(Clone, Copy, Debug, Default)]
enum Side {
    /// Below the outer spacepoint: those whose inner spacepoint lies above.
    Below,
    /// Next to it: all.
    Beside,
    /// Above: those whose inner spacepoint lies below.
    Above,
    /// Above and below, the other way round a ring: those whose inner spacepoint does not lie in the outer's slice.
    Around,
    /// Out of reach either way: none.
    #[default]
    Nowhere,
}

impl<R: Lanes> Default for Found<R> {
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
            tracks_of: Box::new([None; ROOM + MOST_LANES]),
            tracks: Vec::new(),
        }
    }
}

/// [`Found::count_all`] as a function of its own.
pub(super) struct CountAll<'a, R: Lanes, const ACCURATE: bool> {
    pub(super) found: &'a mut Found<R>,
    pub(super) call: &'a Call<'a, R>,
    pub(super) among: &'a Among<'a, R>,
    pub(super) pairs: &'a mut Pairs<R>,
}

impl<R: Lanes, const ACCURATE: bool> WithSimd for CountAll<'_, R, ACCURATE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.found.count_all::<S, ACCURATE>(simd, self.call, self.among, self.pairs);
    }
}

/// A vector of pairs.
struct Track<R: Lanes, S: Simd> {
    k12: R::Vector<S>,
    p12: R::Vector<S>,
    turn: R::Vector<S>,
}

impl<R: Lanes> Found<R> {
    /// Looks up the third spacepoints of an outer one, behind those that there are, in a stretch; as many as fit. What is left
    /// of the stretch is not looked at yet. With weights by pT, a third spacepoint whose track with the outer one has a
    /// curvature above `most_k` is left out.
    #[expect(clippy::too_many_arguments, reason = "an outer spacepoint, and which third ones it wants")]
    #[inline(always)]
    pub(super) fn look<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        among: Columns<'_, R>,
        pairs: &Pairs<R>,
        of: usize,
        stretch: Range<usize>,
        z23: [R; 2],
        most_k: Option<R>,
    ) -> Range<usize> {
        let b = &pairs.outers()[of].b;
        let lanes = R::count::<S>();
        // From below, as a step from b to c counts.
        let slice = R::of_slice(b.slice) + R::of(Around::<R>::BESIDE);
        let meeting = Meeting::new::<ACCURATE>(simd, &among, &stretch, b, slice, z23);
        let first = self.count.min(ROOM - MOST_LANES);
        let mut end = first;
        let mut looked_at = 0;
        let phi = Columns::vectors(simd, among.turned_phi, &stretch);
        let [u_b, _, phi_b] = meeting.b;
        while looked_at < meeting.len() && end <= ROOM - MOST_LANES {
            let mut bits = meeting.may_be_pairs::<ACCURATE>(simd, looked_at);
            if let Some(most_k) = most_k {
                let outer = [meeting.inverse_rho[looked_at], phi[looked_at]];
                bits &= R::bits(simd, bends_at_most::<R, S>(simd, most_k, [u_b, phi_b], outer));
            }
            end += pack_places(simd, bits, (stretch.start + looked_at * lanes) as u32, &mut self.place[end..]);
            looked_at += 1;
        }
        self.lookups[self.lookup_count.min(LOOKUPS)] = Lookup { of, first, end };
        self.lookup_count += usize::from(end > first);
        self.count = end;
        (stretch.start + looked_at * lanes).min(stretch.end)..stretch.end
    }

    /// Whether it is time to work out what was looked up.
    pub(super) fn is_enough(&self) -> bool {
        self.count >= ENOUGH_THIRDS || self.lookup_count == LOOKUPS
    }

    fn clear(&mut self) {
        (self.count, self.lookup_count) = (0, 0);
    }

    /// Fetches what is to be known of the third spacepoints that were looked up. Few of those that were looked at are left:
    /// they are taken one by one, and met again in vectors.
    #[inline(always)]
    fn fetch<const ACCURATE: bool>(&mut self, among: &Among<'_, R>) {
        let Columns { inverse_rho, z_by_rho, turned_phi, slice, phi, .. } = among.columns;
        // As many, which spares looking.
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

    /// Works out z23, k23 and p23 of the third spacepoints of an outer one, which were fetched. What is written behind them is
    /// written over with what belongs to the next.
    #[inline(always)]
    fn work_out<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        among: &Among<'_, R>,
        b: &Outer<R>,
        Lookup { first, end, .. }: Lookup,
    ) -> Sides<R> {
        let lanes = R::count::<S>();
        let (u_b, t_b, phi_b) = (R::splat(simd, b.inverse_rho), R::splat(simd, b.z_by_rho), R::splat(simd, b.phi));
        let two = R::splat(simd, R::of(2.0));
        let slice_b = f64::from(b.slice);
        let (below, above) = (R::splat(simd, R::of(slice_b - 1.0)), R::splat(simd, R::of(slice_b + 1.0)));
        let lane_numbers = R::vectors(simd, &call.lane_numbers)[0];
        let zero = R::splat(simd, R::of(0.0));
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
            let there = R::less(simd, lane_numbers, R::splat(simd, R::of((end - at) as f64)));
            most_k23 = R::larger(simd, most_k23, R::select(simd, there, R::absolute(simd, k), zero));
            // In the order of slices, so that their numbers say where each side ends.
            let is_below = R::both(simd, there, R::less(simd, slice_c, below));
            let is_not_above = R::both(simd, there, R::at_most(simd, slice_c, above));
            beside.start += R::bits(simd, is_below).count_ones() as usize;
            beside.end += R::bits(simd, is_not_above).count_ones() as usize;
            at += lanes;
        }
        let short_ring = among.sets.short_ring;
        if short_ring {
            self.set_sides(call, among, b, first..end);
        }
        if call.by_pt() || short_ring {
            for i in first..end {
                self.dz[i] = among.sets.dz_of[self.layer(among, i)];
            }
        }
        Sides { beside, most_k23: R::largest(simd, most_k23) }
    }

    /// Layer of a spacepoint that was looked up.
    fn layer(&self, among: &Among<'_, R>, i: usize) -> usize {
        among.columns.layer[self.place[i] as usize].to_f64() as usize % MAX_LAYERS
    }

    /// Says which pairs each may confirm on a short ring.
    fn set_sides(&mut self, call: &Call<'_, R>, among: &Among<'_, R>, b: &Outer<R>, thirds: Range<usize>) {
        for i in thirds {
            let step = self.slice[i].to_f64() as i32 - b.slice as i32;
            self.side[i] = side_on_ring(step, among.sets.slices[self.layer(among, i)], call.plan.slices);
        }
    }

    /// Counts those that were looked up. None are left.
    #[inline(always)]
    fn count_all<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        among: &Among<'_, R>,
        pairs: &mut Pairs<R>,
    ) {
        self.fetch::<ACCURATE>(among);
        for i in 0..self.lookup_count.min(LOOKUPS) {
            let lookup = self.lookups[i];
            let of = pairs.outers()[lookup.of];
            let sides = self.work_out::<S, ACCURATE>(simd, call, among, &of.b, lookup);
            self.count_into(simd, call, among, &of, pairs, lookup, &sides);
        }
        self.clear();
    }

    /// Counts the third spacepoints of an outer one on top of its pairs' weights.
    #[expect(clippy::too_many_arguments, reason = "pairs, and what may confirm them")]
    #[inline(always)]
    fn count_into<S: Simd>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        among: &Among<'_, R>,
        &PairsOf { b, first, end }: &PairsOf<R>,
        pairs: &mut Pairs<R>,
        lookup: Lookup,
        sides: &Sides<R>,
    ) {
        let lanes = R::count::<S>();
        let (u_b, phi_b) = (R::splat(simd, b.inverse_rho), R::splat(simd, b.phi));
        let (slice_b, two) = (R::splat(simd, R::of(b.slice.into())), R::splat(simd, R::of(2.0)));
        let none = R::splat(simd, R::of(f64::NAN));
        let free_k = R::splat(simd, R::of(0.999) * call.cuts.dk - sides.most_k23);
        let all = R::bits(simd, R::at_most(simd, two, two));
        let lane_numbers = R::vectors(simd, &call.lane_numbers)[0];
        let mut at = first;
        while at < end.min(ROOM) {
            // Behind the last pair any will do: those are another's.
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
            let zero = R::splat(simd, R::of(0.0));
            let found = if among.sets.short_ring {
                let around = R::select(simd, R::either(simd, rises, falls), z12, none);
                let mut found = zero;
                for i in lookup.first..lookup.end {
                    let z12 = match self.side[i] {
                        Side::Below => below,
                        Side::Beside => z12,
                        Side::Above => above,
                        Side::Around => around,
                        Side::Nowhere => none,
                    };
                    found = self.meet::<S, true, true>(simd, call, &track, [(z12, i..i + 1)], found);
                }
                found
            } else if call.by_pt() {
                self.meet::<S, true, true>(simd, call, &track, parts, zero)
            } else if k_is_free && !call.plan.ring {
                self.meet::<S, false, false>(simd, call, &track, parts, zero)
            } else {
                self.meet::<S, false, true>(simd, call, &track, parts, zero)
            };
            let there = R::less(simd, lane_numbers, R::splat(simd, R::of((end - at) as f64)));
            let found = R::select(simd, there, found, zero);
            let before = R::vectors(simd, &pairs.weight[at..])[0];
            R::store(simd, &mut pairs.weight[at..], R::plus(simd, before, found));
            at += lanes;
        }
    }

    /// Adds how many third spacepoints confirm each of a vector's pairs: those of a part meet pairs with its z12. `DZ`: the
    /// cut on z depends on the layer. `ALL`: the cut on curvature may matter, and turns.
    #[inline(always)]
    fn meet<S: Simd, const DZ: bool, const ALL: bool>(
        &self,
        simd: S,
        call: &Call<'_, R>,
        track: &Track<R, S>,
        parts: impl IntoIterator<Item = (R::Vector<S>, Range<usize>)>,
        mut found: R::Vector<S>,
    ) -> R::Vector<S> {
        let (dz, dk) = (R::splat(simd, call.cuts.dz), R::splat(simd, call.cuts.dk));
        let dp = R::splat(simd, call.cuts.dp);
        let (one, zero) = (R::splat(simd, R::of(1.0)), R::splat(simd, R::of(0.0)));
        for (z12, thirds) in parts {
            let z23 = &self.z23[thirds.clone()];
            // As many, which spares looking.
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

    /// Enters each pair with the weight that the transverse momentum of its track gives it.
    #[inline(always)]
    pub(super) fn weigh<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        among: &Among<'_, R>,
        pairs: &Pairs<R>,
        histogram: &mut PackedHistogram,
    ) {
        let most_k = among.sets.most_k(call);
        let Some(&PairsOf { b, end, .. }) = pairs.outers().first() else { return };
        self.tracks.clear();
        self.tracks_of[..end].fill(None);
        let (mut stretch, z23) = among.sets.window(simd, call, pairs, 0);
        while !stretch.is_empty() {
            stretch = self.look::<S, ACCURATE>(simd, among.columns, pairs, 0, stretch, z23, Some(most_k));
            if self.lookup_count == 0 {
                continue;
            }
            self.fetch::<ACCURATE>(among);
            let lookup = self.lookups[0];
            let sides = self.work_out::<S, ACCURATE>(simd, call, among, &b, lookup);
            self.find_tracks(simd, call, among, &b, pairs, &sides);
            self.clear();
        }
        for i in 0..end {
            let Some(tracks) = self.tracks_of[i] else { continue };
            let Tracks { mut layers, best } = self.tracks[tracks];
            let mut pt = PtWeight::of_pair(among.sets.disk);
            let mut hardest = R::of(0.0);
            while layers != 0 {
                let best = best[layers.trailing_zeros() as usize];
                layers &= layers - 1;
                pt.add_layer(best.to_f64());
                hardest = if best > hardest { best } else { hardest };
            }
            pt.pt = hardest.to_f64();
            let weight = weight_in::<R>(&pt);
            if weight > 0 {
                let slices = call.plan.slices;
                let slice_a = (pairs.slice[i].to_f64() as i32).rem_euclid(slices as i32) as u32;
                let sector = 1 << (slice_a * PtWeight::SECTORS / slices);
                let sectors = pt.directions().map(|counts| if counts { sector } else { 0 });
                let z12 = pairs.z12[i];
                let steps = z12.whole_steps(call.scale.steps_per_mm, call.scale.steps_at_0);
                histogram.add(0, steps, z12.to_f32(), weight, sectors);
            }
        }
    }

    /// Finds the tracks that each pair makes with the third spacepoints that were looked up, all of one outer spacepoint: the
    /// highest pT in each layer. `shaders/confirmations/pt.wgsl`.
    #[inline(always)]
    fn find_tracks<S: Simd>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        among: &Among<'_, R>,
        b: &Outer<R>,
        pairs: &Pairs<R>,
        sides: &Sides<R>,
    ) {
        let Self { count, z23, k23, p23, dz, side, slice, inverse_rho, place, tracks_of, tracks, .. } = self;
        let lanes = R::count::<S>();
        let count = (*count).min(ROOM);
        // The last vector's other lanes are near no pair.
        z23[count..count + MOST_LANES].fill(R::of(f64::NAN));
        let all = ..count.next_multiple_of(lanes);
        let [z23, dz] = [z23, dz].map(|column| R::vectors(simd, &column[all]));
        let cuts = &call.cuts;
        for pair in 0..pairs.count.min(ROOM) {
            let z12 = R::splat(simd, pairs.z12[pair]);
            for (vector, (&z23, &dz)) in z23.iter().zip(dz).enumerate() {
                let mut near = R::bits(simd, within::<R, S>(simd, R::minus(simd, z23, z12), dz));
                if near == 0 {
                    continue;
                }
                let (u, v) = (pairs.inverse_rho[pair], b.inverse_rho);
                let (phi_a, turn) = (pairs.phi[pair], pairs.turn[pair]);
                let (k12, p12) = track_bend([u, phi_a], [v, b.phi - turn]);
                let slice_a = pairs.slice[pair].to_f64();
                let (rises, falls) = (slice_a < f64::from(b.slice), slice_a > f64::from(b.slice));
                while near != 0 {
                    let i = vector * lanes + near.trailing_zeros() as usize;
                    near &= near - 1;
                    let confirms = (k23[i] - k12).abs() <= cuts.dk && (p23[i] - turn - p12).abs() < cuts.dp;
                    let w = inverse_rho[i];
                    if !confirms || v <= w {
                        continue;
                    }
                    let side = if among.sets.short_ring {
                        side[i]
                    } else if i < sides.beside.start {
                        Side::Below
                    } else if i < sides.beside.end {
                        Side::Beside
                    } else {
                        Side::Above
                    };
                    if !side.may_confirm(rises, falls) {
                        continue;
                    }
                    // As it is seen from the inner spacepoint, the shorter way round.
                    let at = place[i] as usize;
                    let phi_c = among.columns.phi[at] + call.turn_between(slice_a, slice[i].to_f64());
                    let (k13, _) = track_bend([u, phi_a], [w, phi_c]);
                    // 1 / (rho_a (rho_c - rho_a)) = u u w / (u - w)
                    let pt = cuts.gev_mm / (k13.abs() + cuts.resolution_mm * u * u * w / (u - w));
                    let layer = among.columns.layer[at].to_f64() as usize % MAX_LAYERS;
                    let tracks = match tracks_of[pair] {
                        Some(known) => &mut tracks[known],
                        None => {
                            tracks_of[pair] = Some(tracks.len());
                            tracks.push_mut(Tracks { layers: 0, best: [R::of(0.0); MAX_LAYERS] })
                        }
                    };
                    tracks.layers |= 1 << layer;
                    let best = &mut tracks.best[layer];
                    *best = if pt > *best { pt } else { *best };
                }
            }
        }
    }
}

impl Side {
    /// Whether it may confirm a pair whose slices rise or fall from the beam outwards.
    fn may_confirm(self, rises: bool, falls: bool) -> bool {
        match self {
            Side::Below => falls,
            Side::Beside => true,
            Side::Above => rises,
            Side::Around => rises || falls,
            Side::Nowhere => false,
        }
    }
}

/// Which pairs a spacepoint so many slices away may confirm, in a layer that many are reached in, on a ring of so many.
fn side_on_ring(step: i32, reach: u32, slices: u32) -> Side {
    let above = step.rem_euclid(slices as i32) as u32;
    let below = (slices - above) % slices;
    let reaches = |most_below: u32, most_above: u32| {
        most_below.saturating_add(most_above) >= slices || above <= most_above || below <= most_below
    };
    match (reaches(1, 1), reaches(1, reach), reaches(reach, 1)) {
        (true, ..) => Side::Beside,
        (_, true, true) => Side::Around,
        (_, true, false) => Side::Above,
        (_, false, true) => Side::Below,
        _ => Side::Nowhere,
    }
}

/// More than rounding takes from a difference of two azimuths \[rad\].
const BLUR_RAD: f64 = 4e-6;

/// Whether rho grows outwards, from 1 / rho and phi of an inner spacepoint to those of an outer one, and the curvature of
/// their track is at most `most_k`, with a margin for rounding: what is left out has a greater one. Without a quotient.
#[inline(always)]
pub(crate) fn bends_at_most<R: Lanes, S: Simd>(
    simd: S,
    most_k: R,
    [u, phi]: [R::Vector<S>; 2],
    [v, phi_outer]: [R::Vector<S>; 2],
) -> R::Mask<S> {
    let zero = R::splat(simd, R::of(0.0));
    let turned = R::absolute(simd, R::minus(simd, phi_outer, phi));
    let turned = R::larger(simd, R::minus(simd, turned, R::splat(simd, R::of(BLUR_RAD))), zero);
    let apart = R::minus(simd, u, v);
    let most = R::times(simd, R::splat(simd, R::of(0.5005) * most_k), apart);
    let bent = R::times(simd, R::times(simd, turned, u), v);
    R::both(simd, R::less(simd, zero, apart), R::at_most(simd, bent, most))
}

/// |a| <= b.
#[inline(always)]
fn within<R: Lanes, S: Simd>(simd: S, a: R::Vector<S>, b: R::Vector<S>) -> R::Mask<S> {
    R::at_most(simd, R::absolute(simd, a), b)
}

/// [`track_bend`] from 1 / rho and phi of an inner spacepoint to those of an outer one.
#[inline(always)]
fn bend<R: Lanes, S: Simd>(
    simd: S,
    two: R::Vector<S>,
    [u, phi]: [R::Vector<S>; 2],
    [v, phi_outer]: [R::Vector<S>; 2],
) -> (R::Vector<S>, R::Vector<S>) {
    let turned = R::times(simd, R::minus(simd, phi_outer, phi), v);
    let turned = R::over(simd, turned, R::minus(simd, v, u));
    (R::times(simd, R::times(simd, two, turned), u), R::plus(simd, phi, turned))
}
