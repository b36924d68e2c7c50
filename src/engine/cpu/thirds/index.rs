//! All third spacepoints of an RoI, ready to be searched about a middle spacepoint.

use std::ops::{Range, RangeInclusive};

use pulp::Simd;

use crate::detector::MAX_LAYERS;
use crate::engine::cpu::column::ROOM;
use crate::engine::cpu::find_z::call::FindZCall;
use crate::engine::cpu::find_z::pairs::{OuterPairs, PairBuffer};
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::slice_index::{IndexColumns, Reaches, SliceIndex};
use crate::pt_weight::PtWeight;

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
            let slices = 0..plan.slices;
            self.sets[set].fill(simd, call.sliced, layers, &slices, plan.ring, most.unwrap_or_default(), true);
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

    /// Returns where the third spacepoints lie that may confirm pairs of a middle spacepoint,
    /// without a side on which none of its pairs can be confirmed; and the range of their z23.
    #[inline(always)]
    pub(super) fn window<S: Simd>(
        &self,
        simd: S,
        call: &FindZCall<'_, R>,
        pairs: &PairBuffer<R>,
        of: usize,
    ) -> (Range<usize>, [R; 2]) {
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
        (self.sets[self.current].window(b.slice, sides), [lowest - call.z_apart, highest + call.z_apart])
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

    /// Returns the stretch of third spacepoints in reach of a slice.
    #[inline(always)]
    pub(super) fn reach(&self, slice: u32) -> Range<usize> {
        self.sets[self.current].window(slice, [self.reaches.most; 2])
    }
}
