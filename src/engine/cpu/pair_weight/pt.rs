//! Weights of pairs by the pT of their tracks: `shaders/find_z/pair_weight/pt.wgsl`.

use pulp::Simd;

use crate::detector::MAX_LAYERS;
use crate::engine::cpu::lanes::{Lanes, MOST_LANES, ROOM, pack_places};
use crate::engine::cpu::pairs::{FindZCall, OuterPairs, PairBuffer, Partners, bends_at_most, track_bend, within};
use crate::engine::cpu::slice_index::{IndexColumns, SliceIndex};
use crate::engine::cpu::slice_spacepoints::OuterSpacepoint;
use crate::engine::cpu::sum_histos::PackedHistogram;
use crate::engine::cpu::thirds::{Side, Sides, ThirdBuffer, ThirdSpacepoints, ThirdView, Tracks};
use crate::engine::real::weight_in;
use crate::pt_weight::PtWeight;

impl<R: Lanes> ThirdBuffer<R> {
    /// Enters each pair with its weight by the pT of its track.
    #[inline(always)]
    pub(super) fn weigh<S: Simd, const ACCURATE: bool>(
        &mut self,
        simd: S,
        call: &FindZCall<'_, R>,
        thirds: &ThirdView<'_, R>,
        pairs: &PairBuffer<R>,
        histogram: &mut PackedHistogram,
    ) {
        let most_k = thirds.index.most_k(call);
        let Some(&OuterPairs { b, end, .. }) = pairs.outers().first() else { return };
        self.tracks.clear(end);
        let (sides, z23) = thirds.index.sides(simd, call, pairs, 0);
        for zone in call.zones_outwards(&b, z23) {
            let mut stretch = thirds.index.window(zone, b.slice, sides);
            while !stretch.is_empty() {
                stretch = self.look::<S, ACCURATE>(simd, thirds.columns, pairs, 0, stretch, z23, Some(most_k));
                if self.lookup_count == 0 {
                    continue;
                }
                self.fetch::<ACCURATE>(thirds);
                let lookup = self.lookups[0];
                let sides = self.compute::<S, ACCURATE>(simd, call, thirds, &b, lookup);
                self.find_tracks(simd, call, thirds, &b, pairs, &sides);
                self.clear();
            }
        }
        for i in 0..end {
            let Some(tracks) = self.tracks.of_pair[i] else { continue };
            let Tracks { mut layers, best } = self.tracks.tracks[tracks];
            let mut pt = PtWeight::of_pair(thirds.index.disk);
            let mut hardest = R::from_f64(0.0);
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
                histogram.add(0, steps, z12.to_f32(), weight);
                let layer_a = pairs.layer[i].to_f64() as usize;
                histogram.mark(steps, sectors, call.search.precision(layer_a, thirds.index.layer));
            }
        }
    }

    /// Finds the tracks that each pair makes with the third spacepoints, all of one middle
    /// spacepoint: the highest pT in each layer.
    #[inline(always)]
    fn find_tracks<S: Simd>(
        &mut self,
        simd: S,
        call: &FindZCall<'_, R>,
        thirds: &ThirdView<'_, R>,
        b: &OuterSpacepoint<R>,
        pairs: &PairBuffer<R>,
        sides: &Sides<R>,
    ) {
        let Self { count, z23, k23, p23, dz, side, slice, inverse_rho, place, tracks, .. } = self;
        let lanes = R::count::<S>();
        let count = (*count).min(ROOM);
        // The lanes behind the last third spacepoint confirm no pair.
        z23[count..count + MOST_LANES].fill(R::from_f64(f64::NAN));
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
                    let side = if thirds.index.short_ring {
                        side[i]
                    } else if i < sides.beside.start {
                        Side::Below
                    } else if i < sides.beside.end {
                        Side::SameOrNext
                    } else {
                        Side::Above
                    };
                    if !side.may_confirm(rises, falls) {
                        continue;
                    }
                    // Seen from the inner spacepoint, the shorter way round.
                    let at = place[i] as usize;
                    let phi_c = thirds.columns.phi[at] + call.turn_between(slice_a, slice[i].to_f64());
                    let (k13, _) = track_bend([u, phi_a], [w, phi_c]);
                    // 1 / (rho_a (rho_c - rho_a)) = u u w / (u - w)
                    let pt = cuts.gev_mm / (k13.abs() + cuts.resolution_mm * u * u * w / (u - w));
                    let layer = thirds.columns.layer[at].to_f64() as usize % MAX_LAYERS;
                    tracks.add(pair, layer, pt);
                }
            }
        }
    }
}

/// Of more third spacepoints, two nearly always lie close to each other.
const FEW_THIRDS: usize = 16;

impl<R: Lanes> ThirdSpacepoints<R> {
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
        let slice = R::of_slice(b.slice) + R::from_f64(SliceIndex::<R>::BESIDE);
        let z23 = [call.scale.z_min - call.z_apart, call.scale.z_max + call.z_apart];
        let (mut few, mut count) = ([0u32; FEW_THIRDS + MOST_LANES], 0);
        for zone in call.zones_outwards(b, z23) {
            let stretch = index.window(zone, b.slice, [index.most(); 2]);
            let partners = Partners::new::<ACCURATE>(simd, &columns, &stretch, b, slice, z23);
            let phi = IndexColumns::vectors(simd, columns.turned_phi, &stretch);
            let [u_b, _, phi_b] = partners.b;
            for i in 0..partners.len() {
                let outer = [partners.inverse_rho[i], phi[i]];
                let straight = R::bits(simd, bends_at_most::<R, S>(simd, most_k, [u_b, phi_b], outer));
                let bits = partners.may_be_pairs::<ACCURATE>(simd, i) & straight;
                count += pack_places(simd, bits, (stretch.start + i * R::count::<S>()) as u32, &mut few[count..]);
                if count > FEW_THIRDS {
                    return true;
                }
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
