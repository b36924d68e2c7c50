//! Third spacepoints that confirm pairs: `shaders/thirds/*.wgsl`.
//!
//! All pairs of a middle spacepoint, the outer one of each, have the same third spacepoints, except
//! for the side on which these may lie. They are searched once, those far from every pair are left
//! out, and each of the rest is compared with the pairs in vectors.

mod buffer;
mod counts;
mod index;
mod pair_tracks;
mod side;
mod tracks;

use pulp::Simd;

use self::buffer::ThirdBuffer;
use self::counts::CountAll;
use self::index::ThirdIndex;
use crate::detector::MAX_LAYERS;
use crate::engine::cpu::bend::bends_at_most;
use crate::engine::cpu::column::MOST_LANES;
use crate::engine::cpu::find_z::call::FindZCall;
use crate::engine::cpu::find_z::pairs::PairBuffer;
use crate::engine::cpu::find_z::partners::Partners;
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::machine::pack_places;
use crate::engine::cpu::packed_histogram::PackedHistogram;
use crate::engine::cpu::slice_index::{IndexColumns, SliceIndex};
use crate::engine::cpu::slice_spacepoints::OuterSpacepoint;

/// The third spacepoints of an RoI, and those of the current middle spacepoints.
#[derive(Debug)]
pub(crate) struct ThirdSpacepoints<R> {
    pub(crate) index: ThirdIndex<R>,
    buffer: ThirdBuffer<R>,
}

/// Of more third spacepoints, two nearly always lie close to each other.
const FEW_THIRDS: usize = 16;

impl<R: Lanes> Default for ThirdSpacepoints<R> {
    fn default() -> Self {
        Self { index: ThirdIndex::default(), buffer: ThirdBuffer::default() }
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
            let (mut stretch, z23) = index.window(simd, call, pairs, of);
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

    /// Whether a pair of a middle spacepoint may have a weight by pT: two straight tracks to third
    /// spacepoints of different layers meet the beam close to each other.
    #[inline(always)]
    pub(crate) fn may_weigh<S: Simd, const ACCURATE: bool>(
        &self,
        simd: S,
        call: &FindZCall<'_, R>,
        b: &OuterSpacepoint<R>,
        most_k: R,
    ) -> bool {
        let index = &self.index;
        let columns = index.view(call).columns;
        let stretch = index.reach(b.slice);
        let slice = R::of_slice(b.slice) + R::from_f64(SliceIndex::<R>::BESIDE);
        let z23 = [call.scale.z_min - call.z_apart, call.scale.z_max + call.z_apart];
        let partners = Partners::new::<ACCURATE>(simd, &columns, &stretch, b, slice, z23);
        let phi = IndexColumns::vectors(simd, columns.turned_phi, &stretch);
        let [u_b, _, phi_b] = partners.b;
        let (mut few, mut count) = ([0u32; FEW_THIRDS + MOST_LANES], 0);
        for i in 0..partners.len() {
            let outer = [partners.inverse_rho[i], phi[i]];
            let straight = R::bits(simd, bends_at_most::<R, S>(simd, most_k, [u_b, phi_b], outer));
            let bits = partners.may_be_pairs::<ACCURATE>(simd, i) & straight;
            count += pack_places(simd, bits, (stretch.start + i * R::count::<S>()) as u32, &mut few[count..]);
            if count > FEW_THIRDS {
                return true;
            }
        }
        // The layer, z at the beam and the cut on z of each track.
        let mut tracks = [(0, R::from_f64(0.0), R::from_f64(0.0)); FEW_THIRDS];
        for (track, &place) in tracks.iter_mut().zip(&few[..count]) {
            let at = place as usize;
            let layer = columns.layer[at].to_f64() as usize % MAX_LAYERS;
            let z = (b.z_by_rho - columns.z_by_rho[at]) / (b.inverse_rho - columns.inverse_rho[at]);
            *track = (layer, z, index.dz_of[layer]);
        }
        let tracks = &tracks[..count];
        // More than the rounding error.
        let blur = call.z_apart - call.cuts.dz;
        tracks.iter().enumerate().any(|(i, &(layer, z, dz))| {
            tracks[..i].iter().any(|&(other, other_z, other_dz)| {
                other != layer && (ACCURATE || (z - other_z).abs() <= dz + other_dz + blur)
            })
        })
    }

    /// Enters each pair with its weight by the pT of its track.
    #[inline(always)]
    pub(crate) fn weigh<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &FindZCall<'_, R>,
        pairs: &mut PairBuffer<R>,
        histogram: &mut PackedHistogram,
    ) {
        let thirds = self.index.view(call);
        self.buffer.weigh::<S, ACCURATE>(simd, call, &thirds, pairs, histogram);
    }
}
