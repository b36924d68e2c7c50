//! Pairs that wait for their third spacepoints and histograms.

use pulp::Simd;

use super::partners::extrapolate;
use crate::engine::cpu::column::{Column, ROOM, column};
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::slice_index::IndexColumns;
use crate::engine::cpu::slice_spacepoints::OuterSpacepoint;

/// Pairs of several outer spacepoints of a layer, one outer spacepoint after another, with columns
/// of their inner spacepoints.
#[derive(Debug)]
pub(crate) struct PairBuffer<R> {
    pub(crate) z12: Column<R>,
    pub(crate) inverse_rho: Column<R>,
    /// Filled only where pairs are weighted by pT.
    z_by_rho: Column<R>,
    pub(crate) phi: Column<R>,
    pub(crate) slice: Column<R>,
    /// The layer of the inner spacepoint. Filled only where pairs are weighted by pT.
    pub(crate) layer: Column<R>,
    /// Whole turns to add to phi \[rad\]; 0 without a ring.
    pub(crate) turn: Column<R>,
    /// The place of the inner spacepoint in its columns. Filled only with several histograms or
    /// weights by pT.
    pub(super) place: Column<u32>,
    /// The number of third spacepoints that confirm the pair.
    pub(crate) weight: Column<R>,
    pub(crate) count: usize,
    /// The outer spacepoints.
    outers: Box<[OuterPairs<R>; OUTERS + 1]>,
    outer_count: usize,
}

/// An outer spacepoint and the range of its pairs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OuterPairs<R> {
    pub(crate) b: OuterSpacepoint<R>,
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// Outer spacepoints and pairs whose third spacepoints are searched together: enough to hide
/// latencies, few enough for the first cache.
const OUTERS: usize = 32;
const ENOUGH_PAIRS: usize = 256;

impl<R: Lanes> Default for PairBuffer<R> {
    fn default() -> Self {
        Self {
            z12: column(),
            inverse_rho: column(),
            z_by_rho: column(),
            phi: column(),
            slice: column(),
            layer: column(),
            turn: column(),
            place: column(),
            weight: column(),
            count: 0,
            outers: Box::new([OuterPairs::default(); OUTERS + 1]),
            outer_count: 0,
        }
    }
}

impl<R: Lanes> PairBuffer<R> {
    /// Returns the outer spacepoints.
    #[inline(always)]
    pub(crate) fn outers(&self) -> &[OuterPairs<R>] {
        &self.outers[..self.outer_count.min(OUTERS)]
    }

    /// Assigns the pairs behind those of earlier outer spacepoints, up to `end`, to `b`.
    #[inline(always)]
    pub(super) fn end_outer(&mut self, b: OuterSpacepoint<R>, end: usize) {
        let first = self.count;
        // Branch-free: a branch on whether there are any would be unpredictable.
        self.outers[self.outer_count.min(OUTERS)] = OuterPairs { b, first, end };
        self.outer_count += usize::from(end > first);
        self.count = end;
    }

    /// Whether the pairs should be entered before others are added.
    pub(super) fn is_full(&self) -> bool {
        self.count >= ENOUGH_PAIRS || self.outer_count == OUTERS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outer_count == 0
    }

    pub(super) fn clear(&mut self) {
        (self.count, self.outer_count) = (0, 0);
    }

    /// Adds the pairs of an outer spacepoint with the inner spacepoints at the first `count`
    /// places, if z lies in the range.
    #[inline(always)]
    pub(super) fn make<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        inner: &IndexColumns<'_, R>,
        b: OuterSpacepoint<R>,
        count: usize,
        [z_min, z_max]: [R; 2],
        ring: bool,
    ) {
        let Self { z12, inverse_rho, z_by_rho, phi, slice, layer, turn, place, .. } = self;
        let (lanes, count) = (R::count::<S>(), count.min(ROOM));
        for (i, &place) in place[..count].iter().enumerate() {
            let place = place as usize;
            inverse_rho[i] = inner.inverse_rho[place];
            z_by_rho[i] = inner.z_by_rho[place];
            phi[i] = inner.phi[place];
            slice[i] = inner.slice[place];
            layer[i] = inner.layer[place];
            if ring {
                turn[i] = inner.turn[place];
            }
        }
        let outer = [b.inverse_rho, b.z_by_rho, b.phi].map(|number| R::splat(simd, number));
        let [z_min, z_max] = [z_min, z_max].map(|z| R::splat(simd, z));
        let mut kept = 0;
        for at in (0..count).step_by(lanes) {
            let columns = [&*inverse_rho, &*z_by_rho, &*phi, &*slice, &*layer, &*turn];
            let [u, t, phi_a, slice_a, layer_a, turn_a] = columns.map(|column| R::vectors(simd, &column[at..])[0]);
            let z = extrapolate::<R, S>(simd, ACCURATE, outer, [u, t, phi_a]);
            let within = R::and_less(simd, R::less(simd, z_min, z), z, z_max);
            let bits = R::bits(simd, within) & ((1u64 << (count - at).min(lanes)) - 1) as u32;
            // In place: writes stay behind the vectors still to be read.
            R::pack(simd, bits, z, &mut z12[kept..]);
            R::pack(simd, bits, u, &mut inverse_rho[kept..]);
            R::pack(simd, bits, phi_a, &mut phi[kept..]);
            R::pack(simd, bits, slice_a, &mut slice[kept..]);
            R::pack(simd, bits, layer_a, &mut layer[kept..]);
            R::pack(simd, bits, turn_a, &mut turn[kept..]);
            kept += bits.count_ones() as usize;
        }
        self.end_outer(b, kept);
    }
}
