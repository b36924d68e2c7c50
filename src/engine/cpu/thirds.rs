//! Third spacepoints that confirm pairs: `shaders/confirmations/*.wgsl`.
//!
//! The third spacepoints of an outer one are the same for all its pairs, but for the side that they may lie on. They are
//! looked up once, and what lies far from every pair is left out; then each meets the pairs in vectors.

use std::ops::{Range, RangeInclusive};

use pulp::Simd;

use crate::config::PtWeight;
use crate::detector::MAX_LAYERS;
use crate::engine::cpu::around::{Around, Reaches};
use crate::engine::cpu::find_z::{Call, Meeting, Outer, Pairs, extrapolate, make_room, track_bend};
use crate::engine::cpu::lanes::{Lanes, pack_places};
use crate::engine::cpu::packed_histogram::PackedHistogram;

/// The third spacepoints of an outer one.
#[derive(Debug)]
pub(crate) struct Thirds<R> {
    around: Around<R>,
    reaches: Reaches<R>,
    /// Slices to either side, layer by layer, and the cut on z there.
    slices: [u32; MAX_LAYERS],
    dz_of: [R; MAX_LAYERS],
    /// The ring is so short that what is out of reach one way may be within it the other way.
    short_ring: bool,
    /// Where the stretch begins in which they were looked up.
    first: usize,
    count: usize,
    z23: Vec<R>,
    inverse_rho: Vec<R>,
    /// As it is seen from the outer spacepoint.
    phi: Vec<R>,
    slice: Vec<R>,
    /// Where in the stretch.
    place: Vec<u32>,
    k23: Vec<R>,
    p23: Vec<R>,
    /// Of pairs with weights by pT only.
    dz: Vec<R>,
    side: Vec<Side>,
    /// Those of [`Side::Below`] end here, and those of [`Side::Above`] begin.
    beside: Range<usize>,
    most_k23: R,
}

/// Which pairs a third spacepoint may confirm: a track's bending keeps its sign.
#[derive(Clone, Copy, Debug)]
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
    Nowhere,
}

impl<R: Lanes> Default for Thirds<R> {
    fn default() -> Self {
        let [z23, inverse_rho, phi, slice, k23, p23, dz] = [const { Vec::new() }; 7];
        Self {
            around: Around::default(),
            reaches: Reaches::none(),
            slices: [0; MAX_LAYERS],
            dz_of: [R::of(0.0); MAX_LAYERS],
            short_ring: false,
            first: 0,
            count: 0,
            z23,
            inverse_rho,
            phi,
            slice,
            place: Vec::new(),
            k23,
            p23,
            dz,
            side: Vec::new(),
            beside: 0..0,
            most_k23: R::of(0.0),
        }
    }
}

/// A vector of pairs.
struct Track<R: Lanes, S: Simd> {
    /// Of those that third spacepoints of each [`Side`] may confirm, else NaN.
    z12: [R::Vector<S>; 5],
    k12: R::Vector<S>,
    p12: R::Vector<S>,
    turn: R::Vector<S>,
}

impl<R: Lanes> Thirds<R> {
    /// Takes the spacepoints of all layers that third ones may be in.
    #[inline(always)]
    pub(crate) fn fill(&mut self, call: &Call<'_, R>, filled: &[usize]) {
        let (search, plan) = (call.search, call.plan);
        let most = (1..filled.len()).map(|i| self.reaches_of(call, filled[i], &filled[i + 1..]).most).max();
        let layers = filled[2..].iter().fold(0, |layers, layer| layers | 1u64 << layer);
        self.around.fill(call.sliced, layers, &(0..plan.slices), plan.ring, most.unwrap_or_default());
        for (layer, dz) in self.dz_of.iter_mut().enumerate().take(search.layers()) {
            *dz = if call.by_pt() && search.is_strips(layer) {
                call.cuts.dz * R::of(PtWeight::STRIP_DZ)
            } else {
                call.cuts.dz
            };
        }
    }

    fn reaches_of(&mut self, call: &Call<'_, R>, layer_b: usize, outer: &[usize]) -> Reaches<R> {
        let mut reaches = Reaches::none();
        for &layer_c in outer {
            let slices = call.search.reach(layer_b, layer_c, call.plan.endcap_shift);
            self.slices[layer_c] = slices;
            reaches.put(layer_c, slices, call.plan);
        }
        reaches
    }

    /// Makes ready for the outer spacepoints of a layer, which lie in these slices.
    #[inline(always)]
    pub(crate) fn set_layer(
        &mut self,
        call: &Call<'_, R>,
        layer_b: usize,
        outer: &[usize],
        slices: RangeInclusive<u32>,
    ) {
        self.reaches = self.reaches_of(call, layer_b, outer);
        self.short_ring = call.plan.ring && call.plan.slices <= 2 * self.reaches.most + 2;
        self.around.set_reach(slices, &self.reaches);
    }

    /// Looks up the third spacepoints of an outer one. False if there is none.
    #[inline(always)]
    pub(crate) fn look<S: Simd, const ACCURATE: bool>(&mut self, simd: S, call: &Call<'_, R>, b: &Outer<R>) -> bool {
        let stretch = self.around.window(b.slice, self.reaches.most);
        self.first = stretch.start;
        let Self { z23, inverse_rho, phi, slice, place, k23, p23, dz, .. } = self;
        for column in [&mut *z23, inverse_rho, phi, slice, k23, p23, dz] {
            make_room(column, stretch.len());
        }
        make_room(place, stretch.len());
        let (z23, inverse_rho, phi, slice) = (&mut z23[..], &mut inverse_rho[..], &mut phi[..], &mut slice[..]);
        let (place, k23, p23) = (&mut place[..], &mut k23[..], &mut p23[..]);
        // From below, as a step from b to c counts.
        let slice_b = f64::from(b.slice);
        let meeting = Meeting::new(simd, &self.around, &stretch, b, slice_b + Around::<R>::BESIDE, call.z23_range);
        let mut count = 0;
        for i in 0..meeting.len() {
            let (bits, _) = meeting.pairs::<ACCURATE>(simd, i);
            count += pack_places(bits, (i * R::count::<S>()) as u32, &mut place[count..]);
        }
        self.count = count;
        if count == 0 {
            return false;
        }
        // Few are left: they are taken one by one, and met again in vectors.
        let around = &self.around;
                take(&place[..count], &around.inverse_rho[stretch.clone()], inverse_rho);
        take(&place[..count], &around.z_by_rho[stretch.clone()], z23);
        take(&place[..count], &around.turned_phi[stretch.clone()], phi);
        take(&place[..count], &around.slice[stretch.clone()], slice);
        if ACCURATE {
            take(&place[..count], &around.phi[stretch.clone()], k23);
        }
        let lanes = R::count::<S>();
        let end = count.div_ceil(lanes) * lanes;
        // Behind the last: no curvature, and above all slices.
        inverse_rho[count..end].fill(b.inverse_rho * R::of(0.5));
        phi[count..end].fill(b.phi);
        slice[count..end].fill(R::of(f64::INFINITY));
        let [u_b, t_b, phi_b] = meeting.b;
        let two = R::splat(simd, R::of(2.0));
        let (below, above) = (R::splat(simd, R::of(slice_b - 1.0)), R::splat(simd, R::of(slice_b + 1.0)));
        let (u_c, phi_c, slice_c) = (R::vectors(simd, inverse_rho), R::vectors(simd, phi), R::vectors(simd, slice));
        let mut most_k23 = R::splat(simd, R::of(0.0));
        let mut beside = 0..0;
        for i in 0..end / lanes {
            let at = i * lanes;
            let (t_c, plain_phi) = (R::vectors(simd, &z23[at..])[0], R::vectors(simd, &k23[at..])[0]);
            let z = extrapolate::<R, S>(simd, ACCURATE, [u_b, t_b, phi_b], [u_c[i], t_c, plain_phi]);
            let (k, p) = bend::<R, S>(simd, two, [u_b, phi_b], [u_c[i], phi_c[i]]);
            R::store(simd, &mut z23[at..], z);
            R::store(simd, &mut k23[at..], k);
            R::store(simd, &mut p23[at..], p);
            most_k23 = R::larger(simd, most_k23, R::absolute(simd, k));
            // In the order of slices, so that their numbers say where each side ends.
            beside.start += R::bits(simd, R::less(simd, slice_c[i], below)).count_ones() as usize;
            beside.end += R::bits(simd, R::at_most(simd, slice_c[i], above)).count_ones() as usize;
        }
        self.most_k23 = R::largest(simd, most_k23);
        self.side.resize(count.max(self.side.len()), Side::Nowhere);
        self.side[..beside.start].fill(Side::Below);
        self.side[beside.clone()].fill(Side::Beside);
        self.side[beside.end..count].fill(Side::Above);
        self.beside = beside;
        if self.short_ring {
            self.set_sides(call, b);
        }
        if call.by_pt() {
            for i in 0..count {
                self.dz[i] = self.dz_of[self.layer(i)];
            }
        }
        true
    }

    /// Layer of a spacepoint that was looked up.
    fn layer(&self, i: usize) -> usize {
        usize::from(self.around.layer[self.first + self.place[i] as usize]) % MAX_LAYERS
    }

    /// Says which pairs each may confirm on a short ring.
    fn set_sides(&mut self, call: &Call<'_, R>, b: &Outer<R>) {
        for i in 0..self.count {
            let step = self.slice[i].to_f64() as i32 - b.slice as i32;
            self.side[i] = side_on_ring(step, self.slices[self.layer(i)], call.plan.slices);
        }
    }

    /// Counts the third spacepoints that confirm each pair, into its weight.
    #[inline(always)]
    pub(crate) fn confirm<S: Simd>(&mut self, simd: S, call: &Call<'_, R>, b: &Outer<R>, pairs: &mut Pairs<R>) {
        let lanes = R::count::<S>();
        let vectors = pairs.count.div_ceil(lanes);
        // Behind the last pair: z12 that nothing confirms.
        pairs.z12[pairs.count..vectors * lanes].fill(R::of(f64::NAN));
        let Pairs { z12, inverse_rho, phi, slice, turn, weight, .. } = pairs;
        let (z12, u_a, phi_a) = (R::vectors(simd, z12), R::vectors(simd, inverse_rho), R::vectors(simd, phi));
        let (slice_a, turn) = (R::vectors(simd, slice), R::vectors(simd, turn));
        let (u_b, phi_b) = (R::splat(simd, b.inverse_rho), R::splat(simd, b.phi));
        let (slice_b, two) = (R::splat(simd, R::of(b.slice.into())), R::splat(simd, R::of(2.0)));
        let none = R::splat(simd, R::of(f64::NAN));
        let free_k = R::splat(simd, R::of(0.999) * call.cuts.dk - self.most_k23);
        let all = R::bits(simd, R::at_most(simd, two, two));
        for v in 0..vectors {
            let turn = if call.plan.ring { turn[v] } else { R::splat(simd, R::of(0.0)) };
            let (k12, p12) = bend::<R, S>(simd, two, [u_a[v], phi_a[v]], [u_b, R::minus(simd, phi_b, turn)]);
            let (rises, falls) = (R::less(simd, slice_a[v], slice_b), R::less(simd, slice_b, slice_a[v]));
            let of = |mask| R::select(simd, mask, z12[v], none);
            let track = Track {
                z12: [of(falls), z12[v], of(rises), of(R::either(simd, rises, falls)), none],
                k12,
                p12,
                turn,
            };
            let first = if R::bits(simd, falls) == 0 { self.beside.start } else { 0 };
            let end = if R::bits(simd, rises) == 0 { self.beside.end } else { self.count };
            let thirds = if self.short_ring { 0..self.count } else { first..end };
            let k_is_free = R::bits(simd, R::at_most(simd, R::absolute(simd, k12), free_k)) == all;
            let found = match (call.by_pt(), k_is_free) {
                (false, true) => self.meet::<S, false, false>(simd, call, &track, thirds),
                (false, false) => self.meet::<S, false, true>(simd, call, &track, thirds),
                (true, _) => self.meet::<S, true, true>(simd, call, &track, thirds),
            };
            R::store(simd, &mut weight[v * lanes..], found);
        }
    }

    /// How many third spacepoints confirm each of a vector's pairs. `BY_PT`: the cut on z depends on the layer. `CUT_K`: the
    /// cut on curvature may matter.
    #[inline(always)]
    fn meet<S: Simd, const BY_PT: bool, const CUT_K: bool>(
        &self,
        simd: S,
        call: &Call<'_, R>,
        track: &Track<R, S>,
        thirds: Range<usize>,
    ) -> R::Vector<S> {
        let (dz, dk) = (R::splat(simd, call.cuts.dz), R::splat(simd, call.cuts.dk));
        let dp = R::splat(simd, call.cuts.dp);
        let (one, zero) = (R::splat(simd, R::of(1.0)), R::splat(simd, R::of(0.0)));
        let mut found = zero;
        let side = &self.side[thirds.clone()];
        // As many, which spares looking.
        let z23 = &self.z23[thirds.clone()][..side.len()];
        let k23 = &self.k23[thirds.clone()][..side.len()];
        let p23 = &self.p23[thirds.clone()][..side.len()];
        let dz_of = &self.dz[thirds][..side.len()];
        for i in 0..side.len() {
            let dz = if BY_PT { R::splat(simd, dz_of[i]) } else { dz };
            let apart = R::minus(simd, R::splat(simd, z23[i]), track.z12[side[i] as usize]);
            let mut confirms = within::<R, S>(simd, apart, dz);
            let apart = R::minus(simd, R::minus(simd, R::splat(simd, p23[i]), track.turn), track.p12);
            confirms = R::both(simd, confirms, R::less(simd, R::absolute(simd, apart), dp));
            if CUT_K {
                let alike = within::<R, S>(simd, R::minus(simd, R::splat(simd, k23[i]), track.k12), dk);
                confirms = R::both(simd, confirms, alike);
            }
            found = R::plus(simd, found, R::select(simd, confirms, one, zero));
        }
        found
    }

    /// Enters each pair with the weight that the transverse momentum of its track gives it.
    #[inline(always)]
    pub(crate) fn weigh<S: Simd>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        b: &Outer<R>,
        pairs: &mut Pairs<R>,
        histogram: &mut PackedHistogram,
    ) {
        // Few pairs are confirmed at all: those are looked at one by one.
        self.confirm(simd, call, b, pairs);
        for i in 0..pairs.count {
            if pairs.weight[i] == R::of(0.0) {
                continue;
            }
            let pt = self.pt_weight(call, b, pairs, i);
            let slices = call.plan.slices;
            let slice_a = (pairs.slice[i].to_f64() as i32).rem_euclid(slices as i32) as u32;
            let sector = 1 << (slice_a * PtWeight::SECTORS / slices);
            let sectors = pt.directions().map(|counts| if counts { sector } else { 0 });
            if pt.weight() > 0 {
                let z12 = pairs.z12[i];
                let steps = z12.whole_steps(call.scale.steps_per_mm, call.scale.steps_at_0);
                histogram.add(0, steps, z12.to_f32(), pt.weight(), sectors);
            }
        }
    }

    /// What third spacepoints make a pair weigh. Twin of `shaders/confirmations/pt.wgsl`.
    fn pt_weight(&self, call: &Call<'_, R>, b: &Outer<R>, pairs: &Pairs<R>, pair: usize) -> PtWeight {
        let cuts = &call.cuts;
        let (u, v) = (pairs.inverse_rho[pair], b.inverse_rho);
        let turn = if call.plan.ring { pairs.turn[pair] } else { R::of(0.0) };
        let (k12, p12) = track_bend([u, pairs.phi[pair]], [v, b.phi - turn]);
        let slice_a = pairs.slice[pair].to_f64();
        let (rises, falls) = (slice_a < f64::from(b.slice), slice_a > f64::from(b.slice));
        let mut best = [R::of(0.0); MAX_LAYERS];
        let mut layers = 0u64;
        for i in 0..self.count {
            let w = self.inverse_rho[i];
            let may = match self.side[i] {
                Side::Below => falls,
                Side::Beside => true,
                Side::Above => rises,
                Side::Around => rises || falls,
                Side::Nowhere => false,
            };
            let confirms = may
                && (self.z23[i] - pairs.z12[pair]).abs() <= self.dz[i]
                && (self.k23[i] - k12).abs() <= cuts.dk
                && (self.p23[i] - turn - p12).abs() < cuts.dp;
            if confirms && u > v && v > w {
                // As it is seen from the inner spacepoint, the shorter way round.
                let at = self.first + self.place[i] as usize;
                let turn = call.turn_between(slice_a, self.slice[i].to_f64());
                let (k13, _) = track_bend([u, pairs.phi[pair]], [w, self.around.phi[at] + turn]);
                // 1 / (rho_a (rho_c - rho_a)) = u u w / (u - w)
                let pt = cuts.gev_mm / (k13.abs() + R::of(PtWeight::RESOLUTION_MM) * u * u * w / (u - w));
                let layer = self.layer(i);
                layers |= 1 << layer;
                best[layer] = if pt > best[layer] { pt } else { best[layer] };
            }
        }
        let mut weight = PtWeight::default();
        let mut hardest = R::of(0.0);
        while layers != 0 {
            let best = best[layers.trailing_zeros() as usize];
            layers &= layers - 1;
            for (layers, gev) in weight.layers.iter_mut().zip(PtWeight::GEV) {
                *layers += u32::from(best >= R::of(gev));
            }
            hardest = if best > hardest { best } else { hardest };
        }
        PtWeight { pt: hardest.to_f64(), ..weight }
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

/// The numbers at these places, one after the other.
#[inline(always)]
fn take<R: Copy>(places: &[u32], from: &[R], to: &mut [R]) {
    for (to, &place) in to.iter_mut().zip(places) {
        *to = from[place as usize];
    }
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
