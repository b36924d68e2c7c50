//! Third spacepoints that confirm pairs: `shaders/confirmations/*.wgsl`.
//!
//! The third spacepoints of an outer one are the same for all its pairs, but for the side that they may lie on. They are
//! looked up once, and what lies far from every pair is left out; then each meets the pairs in vectors.

mod found;

use std::ops::{Range, RangeInclusive};

use pulp::Simd;

pub(crate) use self::found::bends_at_most;
use self::found::{CountAll, Found};
use crate::detector::MAX_LAYERS;
use crate::engine::cpu::around::{Around, Columns, Reaches};
use crate::engine::cpu::find_z::{Call, MOST_LANES, Meeting, Pairs, PairsOf, ROOM};
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::machine::pack_places;
use crate::engine::cpu::packed_histogram::PackedHistogram;
use crate::engine::cpu::slice_spacepoints::Outer;
use crate::pt_weight::PtWeight;

/// Third spacepoints: those that there are, and those that were found.
#[derive(Debug)]
pub(crate) struct Thirds<R> {
    pub(crate) sets: Sets<R>,
    found: Found<R>,
}

/// Those that there are, and which the outer spacepoints of a layer may meet.
#[derive(Debug)]
pub(crate) struct Sets<R> {
    /// Those of all layers, of the outer ones, and of the outermost: an outer spacepoint is met by as few as will do.
    all: [Around<R>; SETS],
    /// The first layer of each, among those that are filled, and the set at hand.
    first_of_set: [usize; SETS],
    at_hand: usize,
    reaches: Reaches<R>,
    /// Slices to either side, layer by layer, and the cut on z there.
    slices: [u32; MAX_LAYERS],
    dz_of: [R; MAX_LAYERS],
    /// Whether the outer spacepoints lie on a disk.
    disk: bool,
    /// The ring is so short that what is out of reach one way may be within it the other way.
    short_ring: bool,
}

/// Of more third spacepoints, two lie side by side nearly always.
const FEW_THIRDS: usize = 16;
const SETS: usize = 3;
/// Fewer spacepoints are not worth another set; tests have few.
const WORTH_A_SET: usize = if cfg!(test) { 50 } else { 1000 };

impl<R: Lanes> Default for Thirds<R> {
    fn default() -> Self {
        Self {
            sets: Sets {
                all: std::array::from_fn(|_| Around::default()),
                first_of_set: [0; SETS],
                at_hand: 0,
                reaches: Reaches::none(),
                slices: [0; MAX_LAYERS],
                dz_of: [R::of(0.0); MAX_LAYERS],
                disk: false,
                short_ring: false,
            },
            found: Found::default(),
        }
    }
}

/// Where third spacepoints are looked up.
#[derive(Clone, Copy)]
struct Among<'a, R> {
    sets: &'a Sets<R>,
    columns: Columns<'a, R>,
}

impl<R: Lanes> Thirds<R> {
    /// Counts the third spacepoints that confirm each pair, into its weight.
    #[inline(always)]
    pub(crate) fn confirm<S: Simd, const ACCURATE: bool>(&mut self, simd: S, call: &Call<'_, R>, pairs: &mut Pairs<R>) {
        let Self { sets, found } = self;
        let among = sets.among(call);
        // By itself, so that the compiler sees that all are of one length.
        let columns = among.columns;
        for of in 0..pairs.outers().len() {
            let (mut stretch, z23) = sets.window(simd, call, pairs, of);
            loop {
                stretch = found.look::<S, ACCURATE>(simd, columns, pairs, of, stretch, z23, None);
                if found.is_enough() {
                    simd.vectorize(CountAll::<R, ACCURATE> { found, call, among: &among, pairs });
                }
                if stretch.is_empty() {
                    break;
                }
            }
        }
        simd.vectorize(CountAll::<R, ACCURATE> { found, call, among: &among, pairs });
    }

    /// Whether pairs of an outer spacepoint may weigh anything by pT: tracks to third spacepoints of two layers, which bend
    /// little enough, meet the beam side by side.
    #[inline(always)]
    pub(crate) fn may_weigh<S: Simd, const ACCURATE: bool>(
        &self,
        simd: S,
        call: &Call<'_, R>,
        b: &Outer<R>,
        most_k: R,
    ) -> bool {
        let sets = &self.sets;
        let columns = sets.among(call).columns;
        let stretch = sets.all[sets.at_hand].window(b.slice, [sets.reaches.most; 2]);
        let slice = R::of_slice(b.slice) + R::of(Around::<R>::BESIDE);
        let z23 = [call.scale.z_min - call.z_apart, call.scale.z_max + call.z_apart];
        let meeting = Meeting::new::<ACCURATE>(simd, &columns, &stretch, b, slice, z23);
        let phi = Columns::vectors(simd, columns.turned_phi, &stretch);
        let [u_b, _, phi_b] = meeting.b;
        let (mut few, mut count) = ([0u32; FEW_THIRDS + MOST_LANES], 0);
        for i in 0..meeting.len() {
            let outer = [meeting.inverse_rho[i], phi[i]];
            let straight = R::bits(simd, bends_at_most::<R, S>(simd, most_k, [u_b, phi_b], outer));
            let bits = meeting.may_be_pairs::<ACCURATE>(simd, i) & straight;
            count += pack_places(simd, bits, (stretch.start + i * R::count::<S>()) as u32, &mut few[count..]);
            if count > FEW_THIRDS {
                return true;
            }
        }
        // Layer, z where the track meets the beam, and the cut on z.
        let mut tracks = [(0, R::of(0.0), R::of(0.0)); FEW_THIRDS];
        for (track, &place) in tracks.iter_mut().zip(&few[..count]) {
            let at = place as usize;
            let layer = columns.layer[at].to_f64() as usize % MAX_LAYERS;
            let z = (b.z_by_rho - columns.z_by_rho[at]) / (b.inverse_rho - columns.inverse_rho[at]);
            *track = (layer, z, sets.dz_of[layer]);
        }
        let tracks = &tracks[..count];
        // More than rounding.
        let blur = call.z_apart - call.cuts.dz;
        tracks.iter().enumerate().any(|(i, &(layer, z, dz))| {
            tracks[..i].iter().any(|&(other, other_z, other_dz)| {
                other != layer && (ACCURATE || (z - other_z).abs() <= dz + other_dz + blur)
            })
        })
    }

    /// Enters each pair with the weight that the transverse momentum of its track gives it.
    #[inline(always)]
    pub(crate) fn weigh<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
        pairs: &mut Pairs<R>,
        histogram: &mut PackedHistogram,
    ) {
        let among = self.sets.among(call);
        self.found.weigh::<S, ACCURATE>(simd, call, &among, pairs, histogram);
    }
}

impl<R: Lanes> Sets<R> {
    /// Takes the spacepoints of all layers that third ones may be in.
    #[inline(always)]
    pub(crate) fn fill<S: Simd>(&mut self, simd: S, call: &Call<'_, R>, filled: &[usize]) {
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
            // There may be none. Of few it takes longer to leave some out.
            let layers = if sets == 1 { 0 } else { filled.get(first).copied().unwrap_or(MAX_LAYERS) }..=MAX_LAYERS;
            let slices = 0..plan.slices;
            self.all[set].fill(simd, call.sliced, layers, &slices, plan.ring, most.unwrap_or_default(), true);
            self.first_of_set[set] = first;
        }
        self.first_of_set[sets..].fill(usize::MAX);
        for (layer, dz) in self.dz_of.iter_mut().enumerate().take(search.layers()) {
            *dz = if call.by_pt() && search.is_strips(layer) { call.cuts.strip_dz } else { call.cuts.dz };
        }
    }

    /// The largest curvature that the two pairs of a track may have where weights go by pT: the track's own lies between theirs,
    /// which differ by the cut at most, and a track softer than the softest that counts is none.
    pub(crate) fn most_k(&self, call: &Call<'_, R>) -> R {
        let [softest, ..] = PtWeight::GEV[usize::from(self.disk)];
        call.cuts.gev_mm / R::of(softest) + call.cuts.dk
    }

    /// Those that the outer spacepoints at hand meet.
    #[inline(always)]
    fn among<'a>(&'a self, call: &Call<'a, R>) -> Among<'a, R> {
        Among { sets: self, columns: self.all[self.at_hand].columns(call.sliced) }
    }

    /// Where the third spacepoints are that may confirm pairs of an outer one: about it, but for a side where none of its pairs
    /// wants any; and the range of their z23.
    #[inline(always)]
    fn window<S: Simd>(&self, simd: S, call: &Call<'_, R>, pairs: &Pairs<R>, of: usize) -> (Range<usize>, [R; 2]) {
        let &PairsOf { b, first, end } = &pairs.outers()[of];
        let most = self.reaches.most;
        let (mut sides, mut z12) = ([most; 2], [call.scale.z_min, call.scale.z_max]);
        // Of many, some want either side, and any z.
        if end - first <= R::count::<S>() && !self.short_ring {
            let count = R::splat(simd, R::of((end - first) as f64));
            let there = R::less(simd, R::vectors(simd, &call.lane_numbers)[0], count);
            let slice_a = R::vectors(simd, &pairs.slice[first.min(ROOM)..])[0];
            let slice_b = R::splat(simd, R::of_slice(b.slice));
            let falls = R::bits(simd, R::both(simd, there, R::less(simd, slice_b, slice_a)));
            let rises = R::bits(simd, R::both(simd, there, R::less(simd, slice_a, slice_b)));
            // Next to it any will do.
            sides = [falls, rises].map(|wanted| if wanted == 0 { most.min(1) } else { most });
            let [z_min, z_max] = z12.map(|z| R::splat(simd, z));
            let z = R::vectors(simd, &pairs.z12[first.min(ROOM)..])[0];
            z12 = [
                R::smallest(simd, R::select(simd, there, z, z_max)),
                R::largest(simd, R::select(simd, there, z, z_min)),
            ];
        }
        let [lowest, highest] = z12;
        (self.all[self.at_hand].window(b.slice, sides), [lowest - call.z_apart, highest + call.z_apart])
    }

    /// Makes ready for the outer spacepoints of the i-th filled layer, which lie in these slices.
    #[inline(always)]
    pub(crate) fn set_layer<S: Simd>(
        &mut self,
        simd: S,
        call: &Call<'_, R>,
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
        self.disk = call.search.is_disk(filled[i]);
        self.short_ring = call.plan.ring && call.plan.slices <= 2 * self.reaches.most + 2;
        self.at_hand = self.first_of_set.iter().rposition(|&first| first <= i + 1).unwrap_or_default();
        self.all[self.at_hand].set_reach(simd, call.sliced, slices, &self.reaches);
    }
}
