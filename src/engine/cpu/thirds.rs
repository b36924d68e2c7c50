//! Third spacepoints, and the search of those that may confirm pairs.
//!
//! All pairs of a middle spacepoint, the outer one of each, have the same third spacepoints, except
//! for the side on which these may lie. They are searched once. Third spacepoints far from every
//! pair are left out, and each of the rest is compared with the pairs in vectors.

use std::ops::{Range, RangeInclusive};

use pulp::Simd;

use crate::detector::MAX_LAYERS;
use crate::engine::cpu::lanes::{Column, Lanes, MOST_LANES, ROOM, column, pack_places};
use crate::engine::cpu::pairs::{FindZCall, OuterPairs, PairBuffer, Partners, bend, bends_at_most, extrapolate};
use crate::engine::cpu::slice_index::{IndexColumns, Reaches, SliceIndex};
use crate::engine::cpu::slice_spacepoints::OuterSpacepoint;
use crate::pt_weight::PtWeight;

/// The pairs that a third spacepoint may confirm, by its slice: the bending of a track keeps its
/// sign.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Side {
    /// Outer spacepoints of pairs whose inner spacepoint lies above.
    Below,
    /// Next to it: all.
    SameOrNext,
    /// Outer spacepoints of pairs whose inner spacepoint lies below.
    Above,
    /// Above and, around a ring, below: the inner spacepoint lies in another slice.
    AboveAndBelow,
    /// Out of reach both ways: none.
    #[default]
    Nowhere,
}

impl Side {
    /// Whether the spacepoint may confirm a pair whose slices rise or fall from the beam outwards.
    pub(super) fn may_confirm(self, rises: bool, falls: bool) -> bool {
        match self {
            Side::Below => falls,
            Side::SameOrNext => true,
            Side::Above => rises,
            Side::AboveAndBelow => rises || falls,
            Side::Nowhere => false,
        }
    }
}

/// Returns the side of a spacepoint `step` slices away on a ring of `slices`, where its layer is
/// searched `reach` slices far.
pub(super) fn side_on_ring(step: i32, reach: u32, slices: u32) -> Side {
    let above = step.rem_euclid(slices as i32) as u32;
    let below = (slices - above) % slices;
    let reaches = |most_below: u32, most_above: u32| {
        most_below.saturating_add(most_above) >= slices || above <= most_above || below <= most_below
    };
    match (reaches(1, 1), reaches(1, reach), reaches(reach, 1)) {
        (true, ..) => Side::SameOrNext,
        (_, true, true) => Side::AboveAndBelow,
        (_, true, false) => Side::Above,
        (_, false, true) => Side::Below,
        _ => Side::Nowhere,
    }
}

/// The tracks that third spacepoints make with one pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracks<R> {
    /// A bit for each layer that holds a third spacepoint.
    pub(super) layers: u64,
    /// The highest pT in each of these layers \[GeV\].
    pub(super) best: [R; MAX_LAYERS],
}

/// Tracks of the pairs of one middle spacepoint.
#[derive(Debug)]
pub(super) struct PairTracks<R> {
    /// The place of each pair's tracks in `tracks`, if a third spacepoint confirms the pair.
    pub(super) of_pair: Box<[Option<usize>; ROOM + MOST_LANES]>,
    pub(super) tracks: Vec<Tracks<R>>,
}

impl<R> Default for PairTracks<R> {
    fn default() -> Self {
        Self { of_pair: Box::new([None; ROOM + MOST_LANES]), tracks: Vec::new() }
    }
}

impl<R: Lanes> PairTracks<R> {
    pub(super) fn clear(&mut self, pairs: usize) {
        self.tracks.clear();
        self.of_pair[..pairs].fill(None);
    }

    /// Adds a track of a pair with a third spacepoint of a layer.
    #[inline(always)]
    pub(super) fn add(&mut self, pair: usize, layer: usize, pt: R) {
        let tracks = match self.of_pair[pair] {
            Some(known) => &mut self.tracks[known],
            None => {
                self.of_pair[pair] = Some(self.tracks.len());
                self.tracks.push_mut(Tracks { layers: 0, best: [R::from_f64(0.0); MAX_LAYERS] })
            }
        };
        tracks.layers |= 1 << layer;
        let best = &mut tracks.best[layer];
        *best = if pt > *best { pt } else { *best };
    }
}

/// All third spacepoints in the order of their slices, and the distances in which those of a middle
/// layer are searched.
#[derive(Debug)]
pub(crate) struct ThirdIndex<R> {
    /// Sets of all layers, of the outer layers and of the outermost layers: the smallest sufficient
    /// set is searched.
    sets: [SliceIndex<R>; SETS],
    /// The first layer of each set, among the filled layers.
    first_of_set: [usize; SETS],
    /// The set of the current middle layer.
    current: usize,
    reaches: Reaches<R>,
    /// Slices to either side, layer by layer.
    pub(super) slices: [u32; MAX_LAYERS],
    /// The cut on z, layer by layer.
    pub(super) dz_of: [R; MAX_LAYERS],
    /// The layer of the middle spacepoints, and whether it is a disk.
    pub(super) layer: usize,
    pub(super) disk: bool,
    /// The ring is so short that a spacepoint out of reach one way may be in reach the other way.
    pub(super) short_ring: bool,
}

const SETS: usize = 3;
/// The fewest third spacepoints for which further sets pay; tests have few.
const WORTH_A_SET: usize = if cfg!(test) { 50 } else { 1000 };

impl<R: Lanes> Default for ThirdIndex<R> {
    fn default() -> Self {
        Self {
            sets: std::array::from_fn(|_| SliceIndex::default()),
            first_of_set: [0; SETS],
            current: 0,
            reaches: Reaches::none(),
            slices: [0; MAX_LAYERS],
            dz_of: [R::from_f64(0.0); MAX_LAYERS],
            layer: 0,
            disk: false,
            short_ring: false,
        }
    }
}

/// The third spacepoints that the middle spacepoints of a layer may have.
#[derive(Clone, Copy)]
pub(super) struct ThirdView<'a, R> {
    pub(super) index: &'a ThirdIndex<R>,
    pub(super) columns: IndexColumns<'a, R>,
}

impl<R: Lanes> ThirdIndex<R> {
    /// Fills the sets with the spacepoints of all layers that may hold third spacepoints.
    #[inline(always)]
    pub(crate) fn fill<S: Simd>(&mut self, simd: S, call: &FindZCall<'_, R>, filled: &[usize]) {
        let (search, plan) = (call.search, call.plan);
        let reach = |b: usize, c: usize| search.reach(filled[b], filled[c], plan.endcap_shift);
        let pairs = (1..filled.len()).flat_map(|b| (b + 1..filled.len()).map(move |c| (b, c)));
        let most = pairs.map(|(b, c)| reach(b, c)).max();
        let count = |layers: &[usize]| layers.iter().map(|&layer| call.sliced.of_layer(layer).len()).sum::<usize>();
        let all = count(&filled[2..]);
        let sets = if all < WORTH_A_SET { 1 } else { SETS };
        // Sets of all third spacepoints, of at most three fifths and of at most three tenths.
        for (set, most_of_ten) in [10, 6, 3].into_iter().enumerate().take(sets) {
            let first = (2..filled.len()).find(|&first| 10 * count(&filled[first..]) <= most_of_ten * all);
            let first = first.unwrap_or(filled.len());
            // The set may be empty. For few spacepoints, leaving some out costs more than it saves.
            let layers = if sets == 1 { 0 } else { filled.get(first).copied().unwrap_or(MAX_LAYERS) }..=MAX_LAYERS;
            self.sets[set].fill(simd, call.sliced, layers, plan.ring, most.unwrap_or_default(), true);
            self.first_of_set[set] = first;
        }
        self.first_of_set[sets..].fill(usize::MAX);
        for (layer, dz) in self.dz_of.iter_mut().enumerate().take(search.layers()) {
            *dz = if call.by_pt() && search.is_strips(layer) { call.cuts.strip_dz } else { call.cuts.dz };
        }
    }

    /// Returns the largest curvature of the two pairs of a track that counts, where weights go by
    /// pT. The curvature of the track lies between those of its pairs, which differ by at most the
    /// cut.
    pub(crate) fn most_k(&self, call: &FindZCall<'_, R>) -> R {
        let [softest, ..] = PtWeight::GEV[usize::from(self.disk)];
        call.cuts.gev_mm / R::from_f64(softest) + call.cuts.dk
    }

    /// Returns the third spacepoints of the current middle layer.
    #[inline(always)]
    pub(super) fn view<'a>(&'a self, call: &FindZCall<'a, R>) -> ThirdView<'a, R> {
        ThirdView { index: self, columns: self.sets[self.current].columns(call.sliced) }
    }

    /// Returns how many slices below and above a middle spacepoint the third spacepoints lie that
    /// may confirm its pairs, without a side on which none can be confirmed; and the range of z23.
    #[inline(always)]
    pub(super) fn sides<S: Simd>(
        &self,
        simd: S,
        call: &FindZCall<'_, R>,
        pairs: &PairBuffer<R>,
        of: usize,
    ) -> ([u32; 2], [R; 2]) {
        let &OuterPairs { b, first, end } = &pairs.outers()[of];
        let most = self.reaches.most;
        let (mut sides, mut z12) = ([most; 2], [call.scale.z_min, call.scale.z_max]);
        // Of many pairs, some can be confirmed on either side, and at any z.
        if end - first <= R::count::<S>() && !self.short_ring {
            let count = R::splat(simd, R::from_f64((end - first) as f64));
            let there = R::less(simd, R::vectors(simd, &call.lane_numbers)[0], count);
            let slice_a = R::vectors(simd, &pairs.slice[first.min(ROOM)..])[0];
            let slice_b = R::splat(simd, R::of_slice(b.slice));
            let falls = R::bits(simd, R::both(simd, there, R::less(simd, slice_b, slice_a)));
            let rises = R::bits(simd, R::both(simd, there, R::less(simd, slice_a, slice_b)));
            // The neighbouring slices belong to both sides.
            sides = [falls, rises].map(|wanted| if wanted == 0 { most.min(1) } else { most });
            let [z_min, z_max] = z12.map(|z| R::splat(simd, z));
            let z = R::vectors(simd, &pairs.z12[first.min(ROOM)..])[0];
            z12 = [
                R::smallest(simd, R::select(simd, there, z, z_max)),
                R::largest(simd, R::select(simd, there, z, z_min)),
            ];
        }
        let [lowest, highest] = z12;
        (sides, [lowest - call.z_apart, highest + call.z_apart])
    }

    /// Prepares the search for the middle spacepoints of the i-th filled layer, which lie in these
    /// slices.
    #[inline(always)]
    pub(crate) fn set_layer<S: Simd>(
        &mut self,
        simd: S,
        call: &FindZCall<'_, R>,
        filled: &[usize],
        i: usize,
        slices: RangeInclusive<u32>,
    ) {
        self.reaches.clear();
        for &layer_c in &filled[i + 1..] {
            let slices = call.search.reach(filled[i], layer_c, call.plan.endcap_shift);
            self.slices[layer_c] = slices;
            self.reaches.put(layer_c, slices, call.plan);
        }
        self.layer = filled[i];
        self.disk = call.search.is_disk(filled[i]);
        self.short_ring = call.plan.ring && call.plan.slices <= 2 * self.reaches.most + 2;
        self.current = self.first_of_set.iter().rposition(|&first| first <= i + 1).unwrap_or_default();
        self.sets[self.current].set_reach(simd, call.sliced, slices, &self.reaches);
    }

    /// Returns where the third spacepoints of a zone lie on both sides of a slice.
    #[inline(always)]
    pub(super) fn window(&self, zone: usize, slice: u32, sides: [u32; 2]) -> Range<usize> {
        self.sets[self.current].window(zone, slice, sides)
    }

    /// The most slices to either side.
    pub(super) fn most(&self) -> u32 {
        self.reaches.most
    }
}

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

/// The third spacepoints of an RoI, and those of the current middle spacepoints.
#[derive(Debug)]
pub(crate) struct ThirdSpacepoints<R> {
    pub(crate) index: ThirdIndex<R>,
    pub(super) buffer: ThirdBuffer<R>,
}

impl<R: Lanes> Default for ThirdSpacepoints<R> {
    fn default() -> Self {
        Self { index: ThirdIndex::default(), buffer: ThirdBuffer::default() }
    }
}
