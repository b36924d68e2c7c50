//! Third spacepoints that confirm pairs: `shaders/confirmations/*.wgsl`.
//!
//! The third spacepoints of an outer one are the same for all its pairs, but for the side that they may lie on. They are
//! looked up once, and what lies far from every pair is left out; then each meets the pairs in vectors.

use std::ops::RangeInclusive;

use pulp::Simd;

use crate::config::{Extrapolation, PtWeight};
use crate::detector::MAX_LAYERS;
use crate::engine::cpu::around::{Around, Reaches};
use crate::engine::cpu::find_z::{Call, Meeting, Outer, Pairs, make_room, track_bend};
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::packed_histogram::PackedHistogram;

/// The third spacepoints of an outer one, and memory for its pairs.
#[derive(Debug)]
pub(crate) struct Thirds<R> {
    around: Around<R>,
    reaches: Reaches<R>,
    /// Slices to either side, layer by layer, and the cut on z there.
    slices: [u32; MAX_LAYERS],
    dz_of: [R; MAX_LAYERS],
    /// Where the spacepoints lie that were looked up.
    first: usize,
    count: usize,
    z23: Vec<R>,
    inverse_rho: Vec<R>,
    phi: Vec<R>,
    slice: Vec<R>,
    turn: Vec<R>,
    place: Vec<R>,
    k23: Vec<R>,
    p23: Vec<R>,
    /// Of those that may confirm a pair: where they are among the others, and which pairs.
    met: Vec<(u32, Side)>,
    dz: Vec<R>,
    /// z12 of the pairs that third spacepoints of each side may confirm, else NaN.
    z12: [Vec<R>; SIDES],
    k12: Vec<R>,
    p12: Vec<R>,
}

/// Which pairs a third spacepoint may confirm: a track's bending keeps its sign.
#[derive(Clone, Copy, Debug)]
enum Side {
    /// Next to the outer spacepoint: all.
    Beside,
    /// Above: those whose inner spacepoint lies below.
    Above,
    /// Below: those whose inner spacepoint lies above.
    Below,
    /// The other way round a ring as well: those whose inner spacepoint does not lie in the outer's slice.
    Around,
}

const SIDES: usize = 4;

impl<R: Lanes> Default for Thirds<R> {
    fn default() -> Self {
        let [z23, inverse_rho, phi, slice, turn, place, k23, p23, dz, k12, p12] = [const { Vec::new() }; 11];
        Self {
            around: Around::default(),
            reaches: Reaches::none(),
            slices: [0; MAX_LAYERS],
            dz_of: [R::of(0.0); MAX_LAYERS],
            first: 0,
            count: 0,
            z23,
            inverse_rho,
            phi,
            slice,
            turn,
            place,
            k23,
            p23,
            met: Vec::new(),
            dz,
            z12: [const { Vec::new() }; SIDES],
            k12,
            p12,
        }
    }
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
        self.around.set_reach(slices, &self.reaches);
    }

    /// Looks up the third spacepoints of an outer one. False if there is none.
    #[inline(always)]
    pub(crate) fn look<S: Simd>(&mut self, simd: S, call: &Call<'_, R>, b: &Outer<R>) -> bool {
        let stretch = self.around.window(b.slice, self.reaches.most);
        self.first = stretch.start;
        for column in [&mut self.z23, &mut self.inverse_rho, &mut self.phi, &mut self.slice, &mut self.turn] {
            make_room(column, stretch.len());
        }
        for column in [&mut self.place, &mut self.k23, &mut self.p23, &mut self.dz] {
            make_room(column, stretch.len());
        }
        // From below, as a step from b to c counts.
        let slice = f64::from(b.slice) + Around::<R>::BESIDE;
        let meeting = Meeting::new(simd, &self.around, &stretch, b, slice, call.z23_range);
        let [slices, turns] =
            [&self.around.slice, &self.around.turn].map(|column| Around::vectors(simd, column, &stretch));
        let mut count = 0;
        for i in 0..meeting.len() {
            let (bits, z23) = if call.search.config.extrapolation == Extrapolation::Accurate {
                meeting.pairs::<true>(simd, i)
            } else {
                meeting.pairs::<false>(simd, i)
            };
            if bits == 0 {
                continue;
            }
            R::pack(simd, bits, z23, &mut self.z23[count..]);
            R::pack(simd, bits, meeting.inverse_rho[i], &mut self.inverse_rho[count..]);
            R::pack(simd, bits, meeting.phi[i], &mut self.phi[count..]);
            R::pack(simd, bits, slices[i], &mut self.slice[count..]);
            R::pack(simd, bits, turns[i], &mut self.turn[count..]);
            R::pack(simd, bits, meeting.places(simd, i), &mut self.place[count..]);
            count += bits.count_ones() as usize;
        }
        self.count = count;
        if count == 0 {
            return false;
        }
        let [u_b, phi_b, two] = [b.inverse_rho, b.phi, R::of(2.0)].map(|number| R::splat(simd, number));
        let [u_c, phi_c, turn] = [&self.inverse_rho, &self.phi, &self.turn].map(|column| R::vectors(simd, column));
        let lanes = R::count::<S>();
        for i in 0..count.div_ceil(lanes) {
            let (k, p) = bend::<R, S>(simd, two, [u_b, phi_b], [u_c[i], R::plus(simd, phi_c[i], turn[i])]);
            R::store(simd, &mut self.k23[i * lanes..], k);
            R::store(simd, &mut self.p23[i * lanes..], p);
        }
        self.met.clear();
        for i in 0..count {
            let layer = self.layer(i);
            self.dz[i] = self.dz_of[layer];
            let step = self.slice[i].to_f64() as i32 - b.slice as i32;
            if let Some(side) = side(step, self.slices[layer], self.reaches.most, call.plan.ring, call.plan.slices) {
                self.met.push((i as u32, side));
            }
        }
        true
    }

    /// Layer of a spacepoint that was looked up.
    fn layer(&self, i: usize) -> usize {
        usize::from(self.around.layer[self.first + self.place[i].to_f64() as usize]) % MAX_LAYERS
    }

    /// Makes vectors of an outer spacepoint's pairs. Returns how many.
    #[inline(always)]
    fn meet<S: Simd>(&mut self, simd: S, b: &Outer<R>, pairs: &Pairs<R>) -> usize {
        let lanes = R::count::<S>();
        let vectors = pairs.count.div_ceil(lanes);
        let [beside, above, below, around] = &mut self.z12;
        for column in [&mut *beside, above, below, around, &mut self.k12, &mut self.p12] {
            make_room(column, pairs.count);
        }
        let [u_b, phi_b, slice_b, two, none] =
            [b.inverse_rho, b.phi, R::of(b.slice.into()), R::of(2.0), R::of(f64::NAN)]
                .map(|number| R::splat(simd, number));
        let [z12, u_a, phi_a, slice_a, turn] =
            [&pairs.z12, &pairs.inverse_rho, &pairs.phi, &pairs.slice, &pairs.turn]
                .map(|column| R::vectors(simd, column));
        for i in 0..vectors {
            let at = i * lanes;
            let (k, p) = bend::<R, S>(simd, two, [u_a[i], phi_a[i]], [u_b, R::minus(simd, phi_b, turn[i])]);
            R::store(simd, &mut self.k12[at..], k);
            R::store(simd, &mut self.p12[at..], p);
            let rises = R::less(simd, slice_a[i], slice_b);
            let falls = R::less(simd, slice_b, slice_a[i]);
            R::store(simd, &mut beside[at..], z12[i]);
            R::store(simd, &mut above[at..], R::select(simd, rises, z12[i], none));
            R::store(simd, &mut below[at..], R::select(simd, falls, z12[i], none));
            R::store(simd, &mut around[at..], R::select(simd, R::either(simd, rises, falls), z12[i], none));
        }
        for column in &mut self.z12 {
            column[pairs.count..vectors * lanes].fill(R::of(f64::NAN));
        }
        vectors
    }

    /// Counts the third spacepoints that confirm each pair, into its weight.
    #[inline(always)]
    pub(crate) fn confirm<S: Simd>(&mut self, simd: S, call: &Call<'_, R>, b: &Outer<R>, pairs: &mut Pairs<R>) {
        let vectors = self.meet(simd, b, pairs);
        let lanes = R::count::<S>();
        let [dk, dp, one, zero] =
            [call.cuts.dk, call.cuts.dp, R::of(1.0), R::of(0.0)].map(|number| R::splat(simd, number));
        let [k12, p12, turn] = [&self.k12, &self.p12, &pairs.turn].map(|column| R::vectors(simd, column));
        let z12 = self.z12.each_ref().map(|column| R::vectors(simd, column));
        for v in 0..vectors {
            let z12 = z12.map(|column| column[v]);
            let (k12, p12, turn) = (k12[v], p12[v], turn[v]);
            let mut found = zero;
            for &(i, side) in &self.met {
                let i = i as usize;
                let [z23, k23, p23, dz] =
                    [self.z23[i], self.k23[i], self.p23[i], self.dz[i]].map(|number| R::splat(simd, number));
                let near = within::<R, S>(simd, R::minus(simd, z23, z12[side as usize]), dz);
                let alike = within::<R, S>(simd, R::minus(simd, k23, k12), dk);
                let apart = R::absolute(simd, R::minus(simd, R::minus(simd, p23, turn), p12));
                let confirms = R::both(simd, R::both(simd, near, alike), R::less(simd, apart, dp));
                found = R::plus(simd, found, R::select(simd, confirms, one, zero));
            }
            R::store(simd, &mut pairs.weight[v * lanes..], found);
        }
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
        let mut best = [R::of(0.0); MAX_LAYERS];
        let mut layers = 0u64;
        for &(i, side) in &self.met {
            let i = i as usize;
            let w = self.inverse_rho[i];
            let near = (self.z23[i] - self.z12[side as usize][pair]).abs() <= self.dz[i];
            let confirms = near
                && (self.k23[i] - self.k12[pair]).abs() <= cuts.dk
                && (self.p23[i] - pairs.turn[pair] - self.p12[pair]).abs() < cuts.dp;
            if confirms && u > v && v > w {
                // Whole turns between the slices of a and c, the shorter way round.
                let [slice_a, slice_c] = [pairs.slice[pair], self.slice[i]].map(|slice| slice.to_f64());
                let turn = call.turn_between(slice_a, slice_c);
                let (k13, _) = track_bend([u, pairs.phi[pair]], [w, self.phi[i] + turn]);
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

/// Which pairs a spacepoint so many slices away may confirm, in a layer that many are reached in; none if it may not.
fn side(step: i32, reach: u32, most: u32, ring: bool, slices: u32) -> Option<Side> {
    if !ring || slices > 2 * most + 2 {
        return Some(match step {
            -1..=1 => Side::Beside,
            2.. => Side::Above,
            _ => Side::Below,
        });
    }
    // On a ring that is as short as this, what is out of reach one way may be within it the other way.
    let above = step.rem_euclid(slices as i32) as u32;
    let below = (slices - above) % slices;
    let reaches = |most_below: u32, most_above: u32| {
        most_below.saturating_add(most_above) >= slices || above <= most_above || below <= most_below
    };
    match (reaches(1, 1), reaches(1, reach), reaches(reach, 1)) {
        (true, ..) => Some(Side::Beside),
        (_, true, true) => Some(Side::Around),
        (_, true, false) => Some(Side::Above),
        (_, false, true) => Some(Side::Below),
        _ => None,
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
