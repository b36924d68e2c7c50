//! Third spacepoints that confirm pairs: `shaders/confirmations/*.wgsl`.
//!
//! The third spacepoints of an outer one are the same for all its pairs, but for the side that they may lie on. They are
//! looked up once, and what lies far from every pair is left out; then each meets the pairs in vectors.

use std::ops::{Range, RangeInclusive};

use pulp::Simd;

use crate::config::PtWeight;
use crate::detector::MAX_LAYERS;
use crate::engine::cpu::around::{Around, Reaches};
use crate::engine::cpu::find_z::{
    Call, Column, MOST_LANES, Meeting, Outer, Pairs, ROOM, column, extrapolate, track_bend,
};
use crate::engine::cpu::lanes::{Lanes, pack_places};
use crate::engine::cpu::packed_histogram::PackedHistogram;

/// The third spacepoints of an outer one.
#[derive(Debug)]
pub(crate) struct Thirds<R> {
    /// Those of all layers, of the outer ones, and of the outermost: an outer spacepoint is met by as few as will do.
    sets: [Around<R>; SETS],
    /// The first layer of each, among those that are filled, and the set at hand.
    first_of_set: [usize; SETS],
    set: usize,
    reaches: Reaches<R>,
    /// Slices to either side, layer by layer, and the cut on z there.
    slices: [u32; MAX_LAYERS],
    dz_of: [R; MAX_LAYERS],
    /// The ring is so short that what is out of reach one way may be within it the other way.
    short_ring: bool,
    /// Where the stretch begins in which they are looked up.
    first: usize,
    /// Those that were looked up: as many as fit.
    count: usize,
    z23: Column<R>,
    inverse_rho: Column<R>,
    /// As it is seen from the outer spacepoint.
    phi: Column<R>,
    slice: Column<R>,
    /// Where in the stretch.
    place: Column<u32>,
    k23: Column<R>,
    p23: Column<R>,
    /// Of pairs with weights by pT only.
    dz: Column<R>,
    /// Those of [`Side::Below`] end here, and those of [`Side::Above`] begin: they are in the order of slices.
    beside: Range<usize>,
    /// On a short ring, where they are not.
    side: Column<Side>,
    most_k23: R,
    /// Of pairs with weights by pT: which track is whose, and the highest pT of each track in each layer.
    track_of: Box<[Option<usize>; ROOM + MOST_LANES]>,
    tracks: Vec<[R; MAX_LAYERS]>,
}

const SETS: usize = 3;
/// Fewer spacepoints are not worth another set; tests have few.
const WORTH_A_SET: usize = if cfg!(test) { 50 } else { 1000 };

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

impl<R: Lanes> Default for Thirds<R> {
    fn default() -> Self {
        Self {
            sets: std::array::from_fn(|_| Around::default()),
            first_of_set: [0; SETS],
            set: 0,
            reaches: Reaches::none(),
            slices: [0; MAX_LAYERS],
            dz_of: [R::of(0.0); MAX_LAYERS],
            short_ring: false,
            first: 0,
            count: 0,
            z23: column(),
            inverse_rho: column(),
            phi: column(),
            slice: column(),
            place: column(),
            k23: column(),
            p23: column(),
            dz: column(),
            side: column(),
            beside: 0..0,
            most_k23: R::of(0.0),
            track_of: Box::new([None; ROOM + MOST_LANES]),
            tracks: Vec::new(),
        }
    }
}

/// A vector of pairs.
struct Track<R: Lanes, S: Simd> {
    k12: R::Vector<S>,
    p12: R::Vector<S>,
    turn: R::Vector<S>,
}

impl<R: Lanes> Thirds<R> {
    /// Takes the spacepoints of all layers that third ones may be in.
    #[inline(always)]
    pub(crate) fn fill(&mut self, call: &Call<'_, R>, filled: &[usize]) {
        let (search, plan) = (call.search, call.plan);
        let reach = |b: usize, c: usize| search.reach(filled[b], filled[c], plan.endcap_shift);
        let pairs = (1..filled.len()).flat_map(|b| (b + 1..filled.len()).map(move |c| (b, c)));
        let most = pairs.map(|(b, c)| reach(b, c)).max();
        let count = |layers: &[usize]| layers.iter().map(|&layer| call.sliced.of_layer(layer).len()).sum::<usize>();
        let all = count(&filled[2..]);
        let sets = if all < WORTH_A_SET { 1 } else { SETS };
        // With all of them, with three fifths and with three tenths.
        for (set, most_of_ten) in [10, 6, 3].into_iter().enumerate().take(sets) {
            let first = (2..filled.len()).find(|&first| 10 * count(&filled[first..]) <= most_of_ten * all);
            let first = first.unwrap_or(filled.len());
            let layers = filled[first..].iter().fold(0, |layers, layer| layers | 1u64 << layer);
            let slices = 0..plan.slices;
            self.sets[set].fill(call.sliced, layers, &slices, plan.ring, most.unwrap_or_default());
            self.first_of_set[set] = first;
        }
        self.first_of_set[sets..].fill(usize::MAX);
        for (layer, dz) in self.dz_of.iter_mut().enumerate().take(search.layers()) {
            *dz = if call.by_pt() && search.is_strips(layer) { call.cuts.strip_dz } else { call.cuts.dz };
        }
    }

    fn around(&self) -> &Around<R> {
        &self.sets[self.set]
    }

    /// Makes ready for the outer spacepoints of the i-th filled layer, which lie in these slices.
    #[inline(always)]
    pub(crate) fn set_layer(&mut self, call: &Call<'_, R>, filled: &[usize], i: usize, slices: RangeInclusive<u32>) {
        self.reaches.clear();
        for &layer_c in &filled[i + 1..] {
            let slices = call.search.reach(filled[i], layer_c, call.plan.endcap_shift);
            self.slices[layer_c] = slices;
            self.reaches.put(layer_c, slices, call.plan);
        }
        self.short_ring = call.plan.ring && call.plan.slices <= 2 * self.reaches.most + 2;
        self.set = self.first_of_set.iter().rposition(|&first| first <= i + 1).unwrap_or_default();
        self.sets[self.set].set_reach(slices, &self.reaches);
    }

    /// Looks up the third spacepoints of an outer one in a stretch, as many as fit. What is left of the stretch is not looked
    /// at yet.
    #[inline(always)]
    fn look<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        b: &Outer<R>,
        stretch: Range<usize>,
    ) -> Range<usize> {
        self.first = stretch.start;
        let lanes = R::count::<S>();
        // From below, as a step from b to c counts.
        let slice_b = f64::from(b.slice);
        let around = &self.sets[self.set];
        let meeting =
            Meeting::new::<ACCURATE>(simd, around, &stretch, b, slice_b + Around::<R>::BESIDE, call.z23_range);
        let mut count = 0;
        let mut looked_at = 0;
        while looked_at < meeting.len() && count <= ROOM - MOST_LANES {
            let (bits, _) = meeting.pairs::<ACCURATE>(simd, looked_at);
            count += pack_places(bits, (looked_at * lanes) as u32, &mut self.place[count..]);
            looked_at += 1;
        }
        let left = (stretch.start + looked_at * lanes).min(stretch.end)..stretch.end;
        self.count = count;
        if count == 0 {
            return left;
        }
        // Few are left: they are taken one by one, and met again in vectors.
        let inverse_rho = &around.inverse_rho[stretch.clone()];
        // As many, which spares looking.
        let z_by_rho = &around.z_by_rho[stretch.clone()][..inverse_rho.len()];
        let turned_phi = &around.turned_phi[stretch.clone()][..inverse_rho.len()];
        let slice = &around.slice[stretch.clone()][..inverse_rho.len()];
        for i in 0..count.min(ROOM) {
            // What a vector has beyond the stretch is out of reach.
            let place = (self.place[i] as usize).min(inverse_rho.len() - 1);
            self.inverse_rho[i] = inverse_rho[place];
            self.z23[i] = z_by_rho[place];
            self.phi[i] = turned_phi[place];
            self.slice[i] = slice[place];
        }
        if ACCURATE {
            let phi = &around.phi[stretch.clone()];
            for i in 0..count.min(ROOM) {
                self.k23[i] = phi[self.place[i] as usize];
            }
        }
        let vectors = count.div_ceil(lanes);
        // Behind the last: no curvature, and above all slices.
        let [u_b, t_b, phi_b] = meeting.b;
        R::store(simd, &mut self.inverse_rho[count..], R::splat(simd, b.inverse_rho * R::of(0.5)));
        R::store(simd, &mut self.phi[count..], phi_b);
        R::store(simd, &mut self.slice[count..], R::splat(simd, R::of(f64::INFINITY)));
        let two = R::splat(simd, R::of(2.0));
        let (below, above) = (R::splat(simd, R::of(slice_b - 1.0)), R::splat(simd, R::of(slice_b + 1.0)));
        let mut most_k23 = R::splat(simd, R::of(0.0));
        let mut beside = 0..0;
        for at in (0..vectors).map(|vector| vector * lanes) {
            let u_c = R::vectors(simd, &self.inverse_rho[at..])[0];
            let phi_c = R::vectors(simd, &self.phi[at..])[0];
            let slice_c = R::vectors(simd, &self.slice[at..])[0];
            let t_c = R::vectors(simd, &self.z23[at..])[0];
            let plain_phi = R::vectors(simd, &self.k23[at..])[0];
            let z = extrapolate::<R, S>(simd, ACCURATE, [u_b, t_b, phi_b], [u_c, t_c, plain_phi]);
            let (k, p) = bend::<R, S>(simd, two, [u_b, phi_b], [u_c, phi_c]);
            R::store(simd, &mut self.z23[at..], z);
            R::store(simd, &mut self.k23[at..], k);
            R::store(simd, &mut self.p23[at..], p);
            most_k23 = R::larger(simd, most_k23, R::absolute(simd, k));
            // In the order of slices, so that their numbers say where each side ends.
            beside.start += R::bits(simd, R::less(simd, slice_c, below)).count_ones() as usize;
            beside.end += R::bits(simd, R::at_most(simd, slice_c, above)).count_ones() as usize;
        }
        self.most_k23 = R::largest(simd, most_k23);
        self.beside = beside;
        if self.short_ring {
            self.set_sides(call, b);
        }
        if call.by_pt() || self.short_ring {
            for i in 0..count {
                self.dz[i] = self.dz_of[self.layer(i)];
            }
        }
        left
    }

    /// Layer of a spacepoint that was looked up.
    fn layer(&self, i: usize) -> usize {
        usize::from(self.around().layer[self.first + self.place[i] as usize]) % MAX_LAYERS
    }

    /// Says which pairs each may confirm on a short ring.
    fn set_sides(&mut self, call: &Call<'_, R>, b: &Outer<R>) {
        for i in 0..self.count {
            let step = self.slice[i].to_f64() as i32 - b.slice as i32;
            self.side[i] = side_on_ring(step, self.slices[self.layer(i)], call.plan.slices);
        }
    }

    /// Counts the third spacepoints that confirm each pair, into its weight. False if there is none at all.
    #[inline(always)]
    pub(crate) fn confirm<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        b: &Outer<R>,
        pairs: &mut Pairs<R>,
    ) -> bool {
        let mut stretch = self.around().window(b.slice, self.reaches.most);
        let mut any = false;
        while !stretch.is_empty() {
            stretch = self.look::<S, ACCURATE>(simd, call, b, stretch);
            if self.count > 0 {
                self.count_into(simd, call, b, pairs, any);
                any = true;
            }
        }
        any
    }

    /// Counts those that were looked up, on top of what there is if `more`.
    #[inline(always)]
    fn count_into<S: Simd>(&mut self, simd: S, call: &Call<'_, R>, b: &Outer<R>, pairs: &mut Pairs<R>, more: bool) {
        let lanes = R::count::<S>();
        let vectors = pairs.count.div_ceil(lanes);
        // Behind the last pair: z12 that nothing confirms, on the same side.
        let count = pairs.count.min(ROOM);
        R::store(simd, &mut pairs.z12[count..], R::splat(simd, R::of(f64::NAN)));
        let last = R::splat(simd, pairs.slice[count.saturating_sub(1)]);
        R::store(simd, &mut pairs.slice[count..], last);
        let (u_b, phi_b) = (R::splat(simd, b.inverse_rho), R::splat(simd, b.phi));
        let (slice_b, two) = (R::splat(simd, R::of(b.slice.into())), R::splat(simd, R::of(2.0)));
        let none = R::splat(simd, R::of(f64::NAN));
        let free_k = R::splat(simd, R::of(0.999) * call.cuts.dk - self.most_k23);
        let all = R::bits(simd, R::at_most(simd, two, two));
        for at in (0..vectors).map(|vector| vector * lanes) {
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
            let beside = self.beside.clone();
            let above = R::select(simd, rises, z12, none);
            let below = R::select(simd, falls, z12, none);
            let parts = if R::bits(simd, rises) == all {
                [(z12, beside.start..self.count), (none, 0..0), (none, 0..0)]
            } else if R::bits(simd, falls) == all {
                [(z12, 0..beside.end), (none, 0..0), (none, 0..0)]
            } else {
                [(below, 0..beside.start), (z12, beside.clone()), (above, beside.end..self.count)]
            };
            let k_is_free = R::bits(simd, R::at_most(simd, R::absolute(simd, k12), free_k)) == all;
            let zero = R::splat(simd, R::of(0.0));
            let found = if self.short_ring {
                let around = R::select(simd, R::either(simd, rises, falls), z12, none);
                let mut found = zero;
                for i in 0..self.count {
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
            let before = R::vectors(simd, &pairs.weight[at..])[0];
            let found = if more { R::plus(simd, before, found) } else { found };
            R::store(simd, &mut pairs.weight[at..], found);
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
    pub(crate) fn weigh<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        b: &Outer<R>,
        pairs: &mut Pairs<R>,
        histogram: &mut PackedHistogram,
    ) {
        // Few pairs are confirmed at all: those are looked at one by one.
        self.tracks.clear();
        self.track_of[..pairs.count].fill(None);
        let mut stretch = self.around().window(b.slice, self.reaches.most);
        while !stretch.is_empty() {
            stretch = self.look::<S, ACCURATE>(simd, call, b, stretch);
            if self.count == 0 {
                continue;
            }
            self.count_into(simd, call, b, pairs, false);
            for i in (0..pairs.count).filter(|&i| pairs.weight[i] > R::of(0.0)) {
                let track = *self.track_of[i].get_or_insert(self.tracks.len());
                if track == self.tracks.len() {
                    self.tracks.push([R::of(0.0); MAX_LAYERS]);
                }
                self.find_pt(call, b, pairs, i, track);
            }
        }
        for i in 0..pairs.count {
            let Some(track) = self.track_of[i] else { continue };
            let mut pt = PtWeight::default();
            let mut hardest = R::of(0.0);
            for &best in &self.tracks[track] {
                for (layers, gev) in pt.layers.iter_mut().zip(PtWeight::GEV) {
                    *layers += u32::from(best >= R::of(gev));
                }
                hardest = if best > hardest { best } else { hardest };
            }
            pt.pt = hardest.to_f64();
            let slices = call.plan.slices;
            let slice_a = (pairs.slice[i].to_f64() as i32).rem_euclid(slices as i32) as u32;
            let sector = 1 << (slice_a * PtWeight::SECTORS / slices);
            let sectors = pt.directions().map(|counts| if counts { sector } else { 0 });
            let weight = pt.weight_in::<R>();
            if weight > 0 {
                let z12 = pairs.z12[i];
                let steps = z12.whole_steps(call.scale.steps_per_mm, call.scale.steps_at_0);
                histogram.add(0, steps, z12.to_f32(), weight, sectors);
            }
        }
    }

    /// The highest pT of a pair with third spacepoints of each layer. `shaders/confirmations/pt.wgsl`.
    fn find_pt(&mut self, call: &Call<'_, R>, b: &Outer<R>, pairs: &Pairs<R>, pair: usize, track: usize) {
        let cuts = &call.cuts;
        let (u, v) = (pairs.inverse_rho[pair], b.inverse_rho);
        let turn = pairs.turn[pair];
        let (k12, p12) = track_bend([u, pairs.phi[pair]], [v, b.phi - turn]);
        let slice_a = pairs.slice[pair].to_f64();
        let (rises, falls) = (slice_a < f64::from(b.slice), slice_a > f64::from(b.slice));
        for i in 0..self.count {
            let w = self.inverse_rho[i];
            let side = if self.short_ring {
                self.side[i]
            } else if i < self.beside.start {
                Side::Below
            } else if i < self.beside.end {
                Side::Beside
            } else {
                Side::Above
            };
            let may = match side {
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
                let (k13, _) = track_bend([u, pairs.phi[pair]], [w, self.around().phi[at] + turn]);
                // 1 / (rho_a (rho_c - rho_a)) = u u w / (u - w)
                let pt = cuts.gev_mm / (k13.abs() + cuts.resolution_mm * u * u * w / (u - w));
                let layer = usize::from(self.around().layer[at]) % MAX_LAYERS;
                let best = &mut self.tracks[track][layer];
                *best = if pt > *best { pt } else { *best };
            }
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
