//! Doublets and triplets of hits, in the arithmetic of the engine.

use crate::engine::cpu::tracklets::hits::{BEYOND, PixelHits, larger};
use crate::engine::real::Real;
use crate::engine::tracklets::search::{MAX_PT_GEV, MIN_COT_ON_DISK, PixelLayer, SCATTERING_GEV, TrackletSearch};

/// Three hits of one track, from the beam outwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triplet<R> {
    /// Places in [`PixelHits`].
    pub(crate) hits: [u32; 3],
    /// Of two degrees of freedom: z and curvature.
    pub(crate) chi2: R,
    /// Of the first and the last hit \[1/mm\].
    pub(crate) kappa: R,
}

/// Triplets, middle hit by middle hit.
#[derive(Debug)]
pub(crate) struct Triplets<R> {
    pub(crate) all: Vec<Triplet<R>>,
    /// Where those of each middle hit begin, and where the last ones end.
    pub(crate) begins: Vec<u32>,
    pub(crate) doublets: usize,
    inner: Vec<Neighbour>,
    outer: Vec<Neighbour>,
    columns: OuterColumns<R>,
}

impl<R> Default for Triplets<R> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            begins: Vec::new(),
            doublets: 0,
            inner: Vec::new(),
            outer: Vec::new(),
            columns: OuterColumns::default(),
        }
    }
}

/// A hit that makes a doublet with the middle hit.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    hit: u32,
    layer: u32,
}

/// The outer hits of a middle hit, side by side, relative to it. Lanes behind the last one make no
/// triplet.
#[derive(Debug)]
struct OuterColumns<R> {
    step: Vec<R>,
    inverse_rho: Vec<R>,
    turn: Vec<R>,
    dz: Vec<R>,
    /// Errors of z: `z_error` plus `z_error_by_cot` times |cot|.
    z_error: Vec<R>,
    z_error_by_cot: Vec<R>,
}

impl<R> Default for OuterColumns<R> {
    fn default() -> Self {
        Self {
            step: Vec::new(),
            inverse_rho: Vec::new(),
            turn: Vec::new(),
            dz: Vec::new(),
            z_error: Vec::new(),
            z_error_by_cot: Vec::new(),
        }
    }
}

/// The least distance in rho of two hits of a track \[mm\].
const MIN_STEP_MM: f64 = 3.0;
/// The reach of a doublet's azimuth: the bend of the softest track, an impact parameter \[mm\], and
/// scattering \[rad\].
const BEND: f64 = 0.55;
const D0_MM: f64 = 0.15;
const SCATTERED: f64 = 0.002;
/// The largest distance of a third hit from its prediction, in errors that are added up, and how
/// much longer than rho an arc may be.
const MAX_Z_ERRORS: f64 = 3.0;
const ARC: f64 = 0.01;

/// Constants in the number type, and the hits.
struct Finder<'a, R> {
    hits: &'a PixelHits<R>,
    /// By layer.
    layers: Vec<LayerIn<R>>,
    max_kappa: R,
    by_gev_mm: R,
    scattering2: R,
    width2: R,
    z_range: [R; 2],
    max_chi2: R,
}

/// Constants of a layer in the number type.
#[derive(Clone, Copy)]
struct LayerIn<R> {
    is_disk: bool,
    resolution: R,
}

impl<R: Real> LayerIn<R> {
    fn new(layer: Option<&PixelLayer>) -> Self {
        let (is_disk, resolution) = layer.map_or((false, 0.0), |layer| (layer.is_disk, layer.resolution));
        Self { is_disk, resolution: R::from_f64(resolution) }
    }

    /// The error of z, on a track of this slope.
    #[inline(always)]
    fn z_error(&self, cot: R) -> R {
        if self.is_disk { self.resolution * cot_on_disk(cot) } else { self.resolution }
    }

    /// Its square.
    #[inline(always)]
    fn z_error2(&self, cot: R) -> R {
        let error = self.z_error(cot);
        error * error
    }

    /// The length of a track's way through it, for 1 + cot^2 and its root.
    #[inline(always)]
    fn way(&self, cot: R, root: R) -> R {
        if self.is_disk { root / cot_on_disk(cot) } else { root }
    }
}

/// A doublet (a, b) with what its triplets need.
struct Opening<R> {
    a: usize,
    b: usize,
    /// Of a and of b.
    layers: [LayerIn<R>; 2],
    kappa: R,
    cot: R,
    /// 1 + cot^2, and the length of the way through the middle layer.
    slope2: R,
    way: R,
    /// Errors of the predicted z: at the middle hit, and for each mm beyond it.
    z_errors: [R; 2],
    /// Of the predicted azimuth, for each mm beyond the middle hit: from curvature, and from the
    /// kink, which counts relative to rho.
    curve_error: R,
    kink_error: R,
}

/// [`Triplets::fill`] for the vectors of a machine.
pub(crate) struct FillTriplets<'a, R> {
    pub(crate) search: &'a TrackletSearch,
    pub(crate) hits: &'a PixelHits<R>,
    pub(crate) to: &'a mut Triplets<R>,
}

impl<R: Real> pulp::NullaryFnOnce for FillTriplets<'_, R> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.to.fill(self.search, self.hits);
    }
}

impl<R: Real> Triplets<R> {
    /// Finds all triplets.
    #[inline(always)]
    fn fill(&mut self, search: &TrackletSearch, hits: &PixelHits<R>) {
        let number = R::from_f64;
        let [low, high] = search.cuts.z_range;
        let finder = Finder {
            hits,
            layers: search.layers.iter().map(|layer| LayerIn::new(layer.as_ref())).collect(),
            max_kappa: number(search.max_kappa()),
            by_gev_mm: number(1.0 / search.gev_mm()),
            scattering2: number(SCATTERING_GEV * SCATTERING_GEV),
            width2: number(search.config.beam_width_mm * search.config.beam_width_mm),
            z_range: [number(low), number(high)],
            max_chi2: number(search.cuts.max_triplet_chi2),
        };
        self.all.clear();
        self.begins.clear();
        self.doublets = 0;
        let Self { all, begins, doublets, inner, outer, columns } = self;
        for (layer, of_layer) in search.layers.iter().enumerate() {
            let Some(of_layer) = of_layer else { continue };
            for b in hits.of_layer(layer) {
                begins.push(all.len() as u32);
                inner.clear();
                outer.clear();
                for &layer in &of_layer.inner {
                    finder.doublets::<false>(layer, b, inner);
                }
                *doublets += inner.len();
                if inner.is_empty() {
                    continue;
                }
                for &layer in &of_layer.outer {
                    finder.doublets::<true>(layer, b, outer);
                }
                finder.fill_columns(outer, b, columns);
                for &a in &*inner {
                    finder.triplets(&finder.open(a, b, layer), outer, columns, all);
                }
            }
        }
        begins.push(all.len() as u32);
    }

    /// The triplets of a middle hit.
    pub(crate) fn of_middle(&self, hit: u32) -> &[Triplet<R>] {
        &self.all[self.begins[hit as usize] as usize..self.begins[hit as usize + 1] as usize]
    }
}

impl<R: Real> Finder<'_, R> {
    /// Appends the hits of a layer that make doublets with the middle hit, which is the inner one of
    /// them if `OUTWARDS`.
    #[inline(always)]
    fn doublets<const OUTWARDS: bool>(&self, layer: u32, middle: usize, to: &mut Vec<Neighbour>) {
        let number = R::from_f64;
        let hits = self.hits;
        let (rho_m, u_m, phi_m, z_m) = (hits.rho[middle], hits.inverse_rho[middle], hits.phi[middle], hits.z[middle]);
        let sign = number(if OUTWARDS { -1.0 } else { 1.0 });
        let bend = number(BEND) * self.max_kappa;
        let reach = |step: R, u: R| bend * step + number(D0_MM) * (sign * (u - u_m)) + number(SCATTERED);
        let [[least, most], _] = hits.extents(layer);
        let far = if OUTWARDS { most } else { least };
        let step = sign * (rho_m - far);
        if step < number(MIN_STEP_MM) {
            return;
        }
        let most = reach(step, number(1.0) / far);
        let [low, high] = self.z_range;
        let most_kappa = number(1.3) * self.max_kappa;
        for range in hits.between(layer, phi_m - most, phi_m + most) {
            for first in range.clone().step_by(BEYOND) {
                let block = |column: &[R]| -> [R; BEYOND] { std::array::from_fn(|i| column[first..first + BEYOND][i]) };
                let (rho, u, phi, z) = (block(&hits.rho), block(&hits.inverse_rho), block(&hits.phi), block(&hits.z));
                let mut keeps = [0u32; BEYOND];
                for i in 0..BEYOND {
                    let step = sign * (rho_m - rho[i]);
                    let bend = turn(phi_m - phi[i]);
                    let dz = sign * (z_m - z[i]);
                    // z0 times the step.
                    let z0 = z_m * step - dz * rho_m;
                    let margin = number(0.5) * step + number(0.1) * dz.abs();
                    let keep = (step >= number(MIN_STEP_MM))
                        & (bend.abs() <= reach(step, u[i]))
                        & (number(2.0) * bend.abs() <= (most_kappa + number(0.3) * (u[i] * u_m)) * step)
                        & (low * step - margin <= z0)
                        & (z0 <= high * step + margin);
                    keeps[i] = u32::from(keep);
                }
                let mut bits = bits_of(&keeps, range.end - first);
                while bits != 0 {
                    to.push(Neighbour { hit: first as u32 + bits.trailing_zeros(), layer });
                    bits &= bits - 1;
                }
            }
        }
    }

    /// The outer hits of a middle hit, side by side.
    #[inline(always)]
    fn fill_columns(&self, outer: &[Neighbour], b: usize, columns: &mut OuterColumns<R>) {
        let (number, hits) = (R::from_f64, self.hits);
        let OuterColumns { step, inverse_rho, turn: turns, dz, z_error, z_error_by_cot } = columns;
        let count = outer.len().next_multiple_of(BEYOND);
        for column in [&mut *step, inverse_rho, turns, dz, z_error, z_error_by_cot] {
            column.clear();
            column.resize(count, number(-1.0));
        }
        for (i, c) in outer.iter().enumerate() {
            let (hit, LayerIn { is_disk, resolution }) = (c.hit as usize, self.layers[c.layer as usize]);
            step[i] = hits.rho[hit] - hits.rho[b];
            inverse_rho[i] = hits.inverse_rho[hit];
            turns[i] = turn(hits.phi[hit] - hits.phi[b]);
            dz[i] = hits.z[hit] - hits.z[b];
            z_error[i] = if is_disk { number(0.0) } else { resolution };
            z_error_by_cot[i] = if is_disk { resolution } else { number(0.0) };
        }
    }

    /// S^2 / pT^2.
    #[inline(always)]
    fn scattering2(&self, kappa: R) -> R {
        let by_pt = larger(kappa.abs() * self.by_gev_mm, R::from_f64(1.0 / MAX_PT_GEV));
        self.scattering2 * (by_pt * by_pt)
    }

    #[inline(always)]
    fn open(&self, a: Neighbour, b: usize, layer_b: usize) -> Opening<R> {
        let number = R::from_f64;
        let (a, hits, layers) =
            (a.hit as usize, self.hits, [a.layer as usize, layer_b].map(|layer| self.layers[layer]));
        let step = hits.rho[b] - hits.rho[a];
        let by_step = number(1.0) / step;
        let kappa = number(2.0) * turn(hits.phi[b] - hits.phi[a]) * by_step;
        let cot = (hits.z[b] - hits.z[a]) * by_step;
        let slope2 = number(1.0) + cot * cot;
        let way = layers[1].way(cot, slope2.sqrt());
        let kink2 = self.scattering2(kappa) * way;
        let d0 = (self.width2 + (hits.rho[a] * hits.rho[a]) * kink2).sqrt();
        let (u_a, u_b) = (hits.inverse_rho[a], hits.inverse_rho[b]);
        let [e_a, e_b] = layers.map(|layer| layer.z_error(cot));
        // The kink counts more, for the triplet's curvature may be larger; so do arcs.
        let kink = number(1.5) * (kink2 * slope2).sqrt();
        let z_errors = [e_b, (e_a + e_b) * by_step + kink + number(ARC / MAX_Z_ERRORS) * cot.abs()];
        let of_hits = number(4.0) * layers[1].resolution * u_a * by_step;
        let curve_error = number(0.5) * (of_hits + number(2.0) * d0 * (u_a * u_b));
        Opening { a, b, layers, kappa, cot, slope2, way, z_errors, curve_error, kink_error: kink2.sqrt() }
    }

    /// Appends the triplets of a doublet with the outer hits.
    #[inline(always)]
    fn triplets(&self, opening: &Opening<R>, outer: &[Neighbour], columns: &OuterColumns<R>, to: &mut Vec<Triplet<R>>) {
        let number = R::from_f64;
        let &Opening { kappa, cot, curve_error, kink_error, z_errors: [e_b, e_beyond], .. } = opening;
        let (half, most, cot_on_disk) = (number(0.5) * kappa, number(MAX_Z_ERRORS), cot_on_disk(cot));
        for first in (0..outer.len()).step_by(BEYOND) {
            let block = |column: &[R]| -> [R; BEYOND] { std::array::from_fn(|i| column[first..first + BEYOND][i]) };
            let (step, u, turn) = (block(&columns.step), block(&columns.inverse_rho), block(&columns.turn));
            let (dz, e_c, e_c_by_cot) = (block(&columns.dz), block(&columns.z_error), block(&columns.z_error_by_cot));
            let mut keeps = [0u32; BEYOND];
            for i in 0..BEYOND {
                let apart = turn[i] - half * step[i];
                let tolerance = number(3.5) * (curve_error * step[i] + kink_error * (step[i] * u[i])) + number(0.0005);
                let z_apart = dz[i] - cot * step[i];
                let z_error = (e_c[i] + e_c_by_cot[i] * cot_on_disk) + e_b + e_beyond * step[i];
                keeps[i] = u32::from((apart.abs() <= tolerance) & (z_apart.abs() <= most * z_error));
            }
            let mut bits = bits_of(&keeps, outer.len() - first);
            while bits != 0 {
                let Neighbour { hit, layer } = outer[first + bits.trailing_zeros() as usize];
                bits &= bits - 1;
                if let Some(triplet) = self.triplet(opening, hit as usize, self.layers[layer as usize]) {
                    to.push(triplet);
                }
            }
        }
    }

    #[inline(always)]
    fn triplet(&self, opening: &Opening<R>, c: usize, outer: LayerIn<R>) -> Option<Triplet<R>> {
        let (number, hits) = (R::from_f64, self.hits);
        let &Opening { a, b, layers: [inner, middle], cot, slope2, way, .. } = opening;
        let [rho_a, rho_b, rho_c] = [a, b, c].map(|hit| hits.rho[hit]);
        let [u_a, u_b, u_c] = [a, b, c].map(|hit| hits.inverse_rho[hit]);
        let [z_a, z_b, z_c] = [a, b, c].map(|hit| hits.z[hit]);
        let [by_ac, by_bc] = [rho_a, rho_b].map(|rho| number(1.0) / (rho_c - rho));
        let kappa = number(2.0) * turn(hits.phi[c] - hits.phi[a]) * by_ac;
        if kappa.abs() > self.max_kappa {
            return None;
        }
        // Arc lengths.
        let curve = kappa * kappa * number(1.0 / 24.0);
        let [s_a, s_b, s_c] = [rho_a, rho_b, rho_c].map(|rho| rho * (number(1.0) + curve * (rho * rho)));
        let step = s_c - s_b;
        let ratio = step / (s_b - s_a);
        let dz = z_c - z_b - (z_b - z_a) * ratio;
        let kink2 = self.scattering2(kappa) * way;
        let one_and_ratio = number(1.0) + ratio;
        let z_error2 = outer.z_error2(cot)
            + middle.z_error2(cot) * (one_and_ratio * one_and_ratio)
            + inner.z_error2(cot) * (ratio * ratio)
            + kink2 * slope2 * (step * step);
        let dkappa = number(2.0) * turn(hits.phi[c] - hits.phi[b]) * by_bc - kappa;
        // Of the curvature: from d0, from the kink, and from the hits.
        let d02 = self.width2 + (rho_a * rho_a) * kink2;
        let lever = u_c * (u_a - u_b);
        let of_hits =
            [outer.resolution * u_c * (by_bc - by_ac), middle.resolution * u_b * by_bc, inner.resolution * u_a * by_ac];
        let of_hits = of_hits[0] * of_hits[0] + of_hits[1] * of_hits[1] + of_hits[2] * of_hits[2];
        let kappa_error2 = number(4.0) * (d02 * (lever * lever) + kink2 * (u_c * u_c) + of_hits);
        let chi2 = dz * dz / z_error2 + dkappa * dkappa / kappa_error2;
        let z0 = z_a - (z_c - z_a) / (s_c - s_a) * s_a;
        let margin = number(0.5) * larger(cot.abs(), number(1.0));
        let [low, high] = self.z_range;
        let keeps = chi2 <= self.max_chi2 && low - margin <= z0 && z0 <= high + margin;
        keeps.then_some(Triplet { hits: [a, b, c].map(|hit| hit as u32), chi2, kappa })
    }
}

#[inline(always)]
fn cot_on_disk<R: Real>(cot: R) -> R {
    larger(cot.abs(), R::from_f64(MIN_COT_ON_DISK))
}

/// The bits of the lanes that are kept, of the first `count` ones.
#[inline(always)]
fn bits_of(keeps: &[u32; BEYOND], count: usize) -> u32 {
    let mut bits = 0;
    for (i, keep) in keeps.iter().enumerate() {
        bits |= keep << i;
    }
    bits & ((1u32 << count.min(BEYOND)) - 1)
}

/// A difference of azimuths, the shorter way round.
#[inline(always)]
fn turn<R: Real>(phi: R) -> R {
    let (pi, tau) = (R::from_f64(std::f64::consts::PI), R::from_f64(std::f64::consts::TAU));
    let below = if phi > pi { phi - tau } else { phi };
    if phi < -pi { phi + tau } else { below }
}
