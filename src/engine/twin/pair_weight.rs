//! Weights of pairs, by third spacepoints. Twin of `shaders/find_z/bends.wgsl`,
//! `shaders/find_z/pair_weight/count.wgsl` and `shaders/find_z/pair_weight/pt.wgsl`.

use super::find_z::{FindZ, HARD_TRACK, SOFT_TRACK, place_in};
use crate::config::PairWeight;
use crate::engine::plan::{ENDCAP_PAIR, STRIP_PAIR};
use crate::engine::real::Real;
use crate::pt_weight::PtWeight;

/// Curvature k and azimuth p at the beam line of the track through two spacepoints whose rho
/// differ.
#[derive(Clone, Copy)]
struct TrackBend<R> {
    k: R,
    p: R,
}

// find_z/bends.wgsl

/// With 1 / rho_a - 1 / rho_b = (rho_b - rho_a) / (rho_a rho_b), one quotient serves both.
fn track_bend<R: Real>([u, _]: [R; 2], phi_a: R, [v, _]: [R; 2], phi_b: R) -> TrackBend<R> {
    let turned = (phi_b - phi_a) * v / (v - u);
    TrackBend { k: R::from_f64(2.0) * turned * u, p: phi_a + turned }
}

impl<R: Real> FindZ<'_, R> {
    /// The bend of the track through two sorted spacepoints, p as seen from the second one.
    fn bend_from_second(&self, a: usize, b: usize) -> TrackBend<R> {
        let turn = self.turn_of_step(self.beside[a].slice_layer >> 8, self.beside[b].slice_layer >> 8);
        let bend = track_bend(self.points[a], self.beside[a].phi, self.points[b], self.beside[b].phi + turn);
        TrackBend { k: bend.k, p: bend.p - turn }
    }

    /// p as seen from the first one.
    fn bend_from_first(&self, b: usize, c: usize) -> TrackBend<R> {
        let turn = self.turn_of_step(self.beside[b].slice_layer >> 8, self.beside[c].slice_layer >> 8);
        track_bend(self.points[b], self.beside[b].phi, self.points[c], self.beside[c].phi + turn)
    }

    /// The cuts on k and p.
    fn bend_alike(&self, inner: TrackBend<R>, outer: TrackBend<R>) -> bool {
        (outer.k - inner.k).abs() <= self.cuts.dk && (outer.p - inner.p).abs() < self.cuts.dp
    }

    /// The weight of the pair of spacepoints a and b; 0 if no third spacepoint confirms it.
    pub(super) fn weigh_pair(&self, a: usize, b: usize, z12: R) -> u32 {
        match self.search.config.pair_weight {
            PairWeight::One => 1,
            PairWeight::Any => self.count(a, b, z12, 1),
            PairWeight::Count => self.count(a, b, z12, u32::MAX),
            PairWeight::Pt => self.pt(a, b, z12),
        }
    }

    // find_z/pair_weight/count.wgsl

    /// Returns how many third spacepoints confirm the pair of spacepoints a and b, at most `most`.
    fn count(&self, a: usize, b: usize, z12: R, most: u32) -> u32 {
        let slice_b = self.beside[b].slice_layer >> 8;
        let layer_b = self.beside[b].slice_layer & 0xff;
        let step_b = self.step_between(self.beside[a].slice_layer >> 8, slice_b);
        let inner = self.bend_from_second(a, b);
        let mut found = 0;
        for part in 0..self.third_parts() {
            let among = self.thirds(layer_b, slice_b, step_b, part);
            for i in among.first..among.end {
                let c = place_in(among, i);
                // The cut on z first: it needs no azimuth, and few spacepoints pass it.
                let near = (self.extrapolate(b, c) - z12).abs() <= self.cuts.dz;
                if near && self.bend_alike(inner, self.bend_from_first(b, c)) {
                    found += 1;
                    if found == most {
                        return found;
                    }
                }
            }
        }
        found
    }

    // find_z/pair_weight/pt.wgsl

    /// The cut on z of a third spacepoint.
    fn cut_on_z(&self, layer_b: u32, layer_c: u32) -> R {
        let strips = self.neighbours_word(layer_b, layer_c) & STRIP_PAIR != 0;
        if strips { self.cuts.strip_dz } else { self.cuts.dz }
    }

    fn is_disk(&self, layer: u32) -> bool {
        self.neighbours_word(layer, layer) & ENDCAP_PAIR != 0
    }

    /// The weight of the pair of spacepoints a and b by the pT of its track, and whether its
    /// direction counts; 0 if it is no track's.
    fn pt(&self, a: usize, b: usize, z12: R) -> u32 {
        let slice_b = self.beside[b].slice_layer >> 8;
        let layer_b = self.beside[b].slice_layer & 0xff;
        let step_b = self.step_between(self.beside[a].slice_layer >> 8, slice_b);
        let inner = self.bend_from_second(a, b);
        let [u, _] = self.points[a];
        let [v, _] = self.points[b];
        let resolution = self.cuts.resolution_mm * u * u;
        let disk = self.is_disk(layer_b);
        let [soft_gev, weighed_gev, hard_gev] = PtWeight::GEV[usize::from(disk)].map(R::from_f64);
        let mut hard = 0;
        let mut weighed = 0;
        let mut soft = 0;
        let mut hardest = R::from_f64(0.0);
        let max = |a: R, b: R| if b > a { b } else { a };
        for part in 0..self.third_parts() {
            let among = self.thirds(layer_b, slice_b, step_b, part);
            let dz = self.cut_on_z(layer_b, self.filled[part]);
            let mut best = R::from_f64(0.0);
            for i in among.first..among.end {
                let c = place_in(among, i);
                let [w, _] = self.points[c];
                let near = (self.extrapolate(b, c) - z12).abs() <= dz;
                if near && u > v && v > w && self.bend_alike(inner, self.bend_from_first(b, c)) {
                    // 1 / (rho_a (rho_c - rho_a)) = u u w / (u - w)
                    let blur = resolution * w / (u - w);
                    best = max(best, self.cuts.gev_mm / (self.bend_from_first(a, c).k.abs() + blur));
                }
            }
            hard += u32::from(best >= hard_gev);
            weighed += u32::from(best >= weighed_gev);
            soft += u32::from(best >= soft_gev);
            hardest = max(hardest, best);
        }
        let [soft_layers, weighed_layers, hard_layers] = PtWeight::LAYERS[usize::from(disk)];
        let is_soft = soft >= soft_layers;
        let is_hard = hard >= hard_layers;
        let flags = if is_soft { SOFT_TRACK } else { 0 } | if is_hard { HARD_TRACK } else { 0 };
        if weighed >= weighed_layers {
            let cap = R::from_f64(PtWeight::CAP_GEV);
            let pt = if hardest < cap { hardest } else { cap };
            return flags | (pt * pt * self.cuts.per_gev2 + R::from_f64(0.5)).to_f64() as u32;
        }
        flags | u32::from(is_soft)
    }
}
