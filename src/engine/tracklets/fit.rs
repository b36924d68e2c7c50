//! The fit of tracklets: two lines by generalised least squares, with scattering in the beam pipe
//! and in the layers.

use std::f64::consts::{PI, TAU};
use std::ops::{Add, Div, Mul, Sub};

use pulp::{Arch, Simd, WithSimd};

use crate::engine::tracklets::search::{FitHit, MAX_PT_GEV, MIN_COT_ON_DISK, SCATTERING_GEV, TrackletSearch};
use crate::engine::tracklets::vector::Vector;
use crate::tracklet::{Tracklet, TrackletHits};

const MOST: usize = Tracklet::MOST_HITS;
/// Tracklets that are fitted together: a multiple of the lanes of each machine's vectors.
const GROUP: usize = 8;
type Column = [f64; GROUP];

/// Where tracks cross the beam pipe, and its thickness in layers \[mm\].
const BEAM_PIPE_MM: f64 = 20.0;
const BEAM_PIPE_LAYERS: f64 = 0.16;
/// How far d0 is held near the beam \[mm\].
const D0_PRIOR_MM: f64 = 0.05;

/// Hits of several tracklets, hit by hit.
#[derive(Clone, Copy, Default)]
struct HitColumns {
    rho: [Column; MOST],
    phi: [Column; MOST],
    z: [Column; MOST],
    /// As in [`FitHit`].
    thickness: [Column; MOST],
    resolution: [Column; MOST],
}

impl TrackletSearch {
    /// Fits chains, the longest one first, whose hits are places in `hits` and have these numbers,
    /// and appends the tracklets.
    pub(crate) fn fit<'a>(
        &self,
        hits: &[FitHit],
        numbers: &[u32],
        chains: impl Iterator<Item = &'a TrackletHits>,
        to: &mut Vec<Tracklet>,
    ) {
        let mut columns = HitColumns::default();
        let mut fitted = Fitted::default();
        let none = TrackletHits::default();
        let mut group = [&none; GROUP];
        let mut count = 0;
        let mut fit = |group: &[&TrackletHits]| {
            self.fit_group(hits, group, &mut columns, &mut fitted);
            fitted.append(numbers, group, to);
        };
        for chain in chains {
            if count == GROUP || count > 0 && group[0].len() != chain.len() {
                fit(&group[..count]);
                count = 0;
            }
            group[count] = chain;
            count += 1;
        }
        if count > 0 {
            fit(&group[..count]);
        }
    }

    /// Fits chains with the same number of hits. Lanes without a chain get unspecified numbers.
    fn fit_group(&self, hits: &[FitHit], group: &[&TrackletHits], columns: &mut HitColumns, to: &mut Fitted) {
        for (lane, chain) in group.iter().enumerate() {
            for (i, &hit) in chain.as_slice().iter().enumerate() {
                let hit = &hits[hit as usize];
                columns.rho[i][lane] = hit.rho;
                columns.phi[i][lane] = hit.phi;
                columns.z[i][lane] = hit.z;
                columns.thickness[i][lane] = hit.thickness;
                columns.resolution[i][lane] = hit.resolution;
            }
        }
        let (arch, search, hits) = (Arch::new(), self, &*columns);
        match group[0].len() {
            3 => arch.dispatch(FitGroup::<3> { search, hits, to }),
            4 => arch.dispatch(FitGroup::<4> { search, hits, to }),
            5 => arch.dispatch(FitGroup::<5> { search, hits, to }),
            _ => arch.dispatch(FitGroup::<MOST> { search, hits, to }),
        }
    }
}

/// Properties of tracklets, a lane each.
#[derive(Clone, Copy, Default)]
struct Fitted {
    z0: Column,
    cot: Column,
    phi0: Column,
    kappa: Column,
    d0: Column,
    pt_gev: Column,
    chi2: Column,
    z_covariance: [Column; 3],
    bend_covariance: [Column; 6],
}

impl Fitted {
    /// Appends the tracklets of chains whose hits have these numbers.
    fn append(&self, numbers: &[u32], group: &[&TrackletHits], to: &mut Vec<Tracklet>) {
        let begin = to.len();
        to.resize(begin + group.len(), Tracklet::default());
        for ((lane, chain), tracklet) in group.iter().enumerate().zip(&mut to[begin..]) {
            chain.as_slice().iter().for_each(|&hit| tracklet.hits.push(numbers[hit as usize]));
            tracklet.z0_mm = self.z0[lane];
            tracklet.cot_theta = self.cot[lane];
            tracklet.phi0 = self.phi0[lane];
            tracklet.curvature = self.kappa[lane];
            tracklet.d0_mm = self.d0[lane];
            tracklet.pt_gev = self.pt_gev[lane];
            tracklet.chi2 = self.chi2[lane];
            for (to, of) in tracklet.z_covariance.iter_mut().zip(&self.z_covariance) {
                *to = of[lane];
            }
            for (to, of) in tracklet.bend_covariance.iter_mut().zip(&self.bend_covariance) {
                *to = of[lane];
            }
        }
    }
}

/// The fit of a group of tracklets with N hits for the vectors of a machine.
struct FitGroup<'a, const N: usize> {
    search: &'a TrackletSearch,
    hits: &'a HitColumns,
    to: &'a mut Fitted,
}

impl<const N: usize> WithSimd for FitGroup<'_, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { search, hits, to } = self;
        for first in (0..GROUP).step_by(S::F64_LANES) {
            Lines::<S, N>::new(simd, search, hits, first).fit_twice(to, first);
        }
    }
}

/// Hits of as many tracklets as a vector holds.
struct Lines<'a, S: Simd, const N: usize> {
    simd: S,
    search: &'a TrackletSearch,
    rho: [Vector<S>; N],
    /// Azimuth and z, from the first hit on.
    phi: [Vector<S>; N],
    z: [Vector<S>; N],
    thickness: [Vector<S>; N],
    resolution: [Vector<S>; N],
    first_phi: Vector<S>,
    first_z: Vector<S>,
}

/// Slope in z and covariances of z0 and the slope.
struct LineFit<S: Simd> {
    z0: Vector<S>,
    cot: Vector<S>,
    chi2: Vector<S>,
    covariance: [Vector<S>; 3],
}

/// Azimuth, curvature and d0.
struct BendFit<S: Simd> {
    parameters: [Vector<S>; 3],
    covariance: [[Vector<S>; 3]; 3],
}

impl<'a, S: Simd, const N: usize> Lines<'a, S, N> {
    /// Loads the tracklets from a lane on.
    #[inline(always)]
    fn new(simd: S, search: &'a TrackletSearch, hits: &HitColumns, first: usize) -> Self {
        let load = |column: &Column| Vector::load(simd, &column[first..]);
        let (first_phi, first_z) = (load(&hits.phi[0]), load(&hits.z[0]));
        let zero = [Vector::all(simd, 0.0); N];
        let (rho, phi, z, thickness, resolution) = (zero, zero, zero, zero, zero);
        let mut lines = Self { simd, search, rho, phi, z, thickness, resolution, first_phi, first_z };
        for i in 0..N {
            lines.rho[i] = load(&hits.rho[i]);
            lines.phi[i] = shorter(simd, load(&hits.phi[i]) - first_phi);
            lines.z[i] = load(&hits.z[i]) - first_z;
            lines.thickness[i] = load(&hits.thickness[i]);
            lines.resolution[i] = load(&hits.resolution[i]);
        }
        lines
    }

    /// Fits the tracklets twice: errors depend on the fitted momentum and slope.
    #[inline(always)]
    fn fit_twice(&self, to: &mut Fitted, first: usize) {
        let by_step = self.all(1.0) / (self.rho[N - 1] - self.rho[0]);
        let (cot, kappa) = (self.z[N - 1] * by_step, self.all(2.0) * self.phi[N - 1] * by_step);
        let (line, bend) = self.fit(cot, kappa);
        let (line, bend) = self.fit(line.cot, bend.parameters[1]);
        let [phi0, kappa, d0] = bend.parameters;
        let store = |vector: Vector<S>, column: &mut Column| vector.store(&mut column[first..]);
        store(line.z0 + self.first_z, &mut to.z0);
        store(line.cot, &mut to.cot);
        store(phi0 + self.first_phi, &mut to.phi0);
        store(kappa, &mut to.kappa);
        store(d0, &mut to.d0);
        store(self.all(self.search.gev_mm()) / kappa.abs().at_least(1e-6), &mut to.pt_gev);
        store(line.chi2, &mut to.chi2);
        for (number, column) in line.covariance.into_iter().zip(&mut to.z_covariance) {
            store(number, column);
        }
        let [[pp, pk, pd], [_, kk, kd], [_, _, dd]] = bend.covariance;
        for (number, column) in [pp, pk, pd, kk, kd, dd].into_iter().zip(&mut to.bend_covariance) {
            store(number, column);
        }
    }

    #[inline(always)]
    fn all(&self, number: f64) -> Vector<S> {
        Vector::all(self.simd, number)
    }

    /// Fits tracklets that have about this slope and curvature.
    #[inline(always)]
    fn fit(&self, cot: Vector<S>, kappa: Vector<S>) -> (LineFit<S>, BendFit<S>) {
        let (zero, one) = (self.all(0.0), self.all(1.0));
        let (mut arcs, mut curve, mut across) = ([zero; N], [zero; N], [zero; N]);
        for i in 0..N {
            let rho = self.rho[i];
            let bend = kappa * rho;
            arcs[i] = rho * (one + bend * bend * self.all(1.0 / 24.0));
            (curve[i], across[i]) = (self.all(0.5) * rho * rho, rho * self.phi[i]);
        }
        let [along_z, in_bend] = self.covariances(&arcs, cot, kappa);
        let mut columns = [[one; N], arcs, self.z];
        let weights = self.whiten(along_z, &mut columns);
        let [ones, s, z] = &columns;
        let (of_ones, of_s) = (times(ones, &weights), times(s, &weights));
        let (oo, os, ss) = (dot(&of_ones, ones), dot(&of_ones, s), dot(&of_s, s));
        let (oz, sz) = (dot(&of_ones, z), dot(&of_s, z));
        let by = one / (oo * ss - os * os);
        let (z0, cot) = ((ss * oz - os * sz) * by, (oo * sz - os * oz) * by);
        let mut chi2 = zero;
        for i in 0..N {
            let residual = z[i] - z0 * ones[i] - cot * s[i];
            chi2 = chi2 + residual * residual * weights[i];
        }
        let line = LineFit { z0, cot, chi2, covariance: [ss * by, zero - os * by, oo * by] };
        let mut columns = [self.rho, curve, [zero - one; N], across];
        let weights = self.whiten(in_bend, &mut columns);
        let [rho, curve, offset, across] = &columns;
        let columns = [rho, curve, offset];
        let (mut normal, mut right) = ([[zero; 3]; 3], [zero; 3]);
        for i in 0..3 {
            let weighted = times(columns[i], &weights);
            for j in 0..=i {
                normal[i][j] = dot(&weighted, columns[j]);
                normal[j][i] = normal[i][j];
            }
            right[i] = dot(&weighted, across);
        }
        normal[2][2] = normal[2][2] + self.all(1.0 / (D0_PRIOR_MM * D0_PRIOR_MM));
        let covariance = inverse(&normal, one);
        let mut parameters = right;
        for (parameter, row) in parameters.iter_mut().zip(&covariance) {
            *parameter = row[0] * right[0] + row[1] * right[1] + row[2] * right[2];
        }
        (line, BendFit { parameters, covariance })
    }

    /// The covariances of the hits in z and across the bend.
    #[inline(always)]
    fn covariances(&self, arcs: &[Vector<S>; N], cot: Vector<S>, kappa: Vector<S>) -> [Matrix<S, N>; 2] {
        let zero = self.all(0.0);
        let slope2 = self.all(1.0) + cot * cot;
        let root = slope2.sqrt();
        let pt = (self.all(self.search.gev_mm()) / kappa.abs().at_least(1e-6)).at_most(MAX_PT_GEV);
        let angle = self.all(SCATTERING_GEV) / (pt * root);
        // Times the length of the way through a layer.
        let theta2 = angle * angle * root * slope2;
        let cot_on_disk = cot.abs().at_least(MIN_COT_ON_DISK);
        let on_disk = theta2 / cot_on_disk;
        let mut in_bend = [[zero; N]; N];
        let mut along_z = in_bend;
        // Variances of direction and place, and their covariance: from the beam pipe on.
        let step = arcs[0] - self.all(BEAM_PIPE_MM);
        let mut direction = self.all(BEAM_PIPE_LAYERS) * theta2;
        let mut both = direction * step;
        let mut place = both * step;
        for j in 0..N {
            if j > 0 {
                let step = arcs[j] - arcs[j - 1];
                let thickness = self.thickness[j - 1];
                direction = direction + thickness.below(zero, on_disk, theta2) * thickness.abs();
                place = place + step * (both + both + direction * step);
                both = both + direction * step;
            }
            for i in j..N {
                in_bend[i][j] = place + both * (arcs[i] - arcs[j]);
                along_z[i][j] = in_bend[i][j] * slope2;
            }
            let resolution = self.resolution[j];
            let error = self.thickness[j].below(zero, resolution * cot_on_disk, resolution);
            along_z[j][j] = along_z[j][j] + error * error;
            in_bend[j][j] = in_bend[j][j] + resolution * resolution;
        }
        [along_z, in_bend]
    }

    /// Multiplies columns by the inverse of L, where L D L^T is the covariance and L has ones on
    /// its diagonal. Returns the inverse of D, with which products of columns are weighted.
    #[inline(always)]
    fn whiten<const COLUMNS: usize>(
        &self,
        mut covariance: Matrix<S, N>,
        columns: &mut [[Vector<S>; N]; COLUMNS],
    ) -> [Vector<S>; N] {
        let mut weights = [self.all(0.0); N];
        for j in 0..N {
            weights[j] = self.all(1.0) / covariance[j][j];
            for i in j + 1..N {
                let part = covariance[i][j] * weights[j];
                for k in i..N {
                    covariance[k][i] = covariance[k][i] - covariance[k][j] * part;
                }
                for column in &mut *columns {
                    column[i] = column[i] - column[j] * part;
                }
            }
        }
        weights
    }
}

/// The lower triangle of a covariance.
type Matrix<S, const N: usize> = [[Vector<S>; N]; N];

#[inline(always)]
fn times<S: Simd, const N: usize>(a: &[Vector<S>; N], b: &[Vector<S>; N]) -> [Vector<S>; N] {
    let mut product = *a;
    for i in 0..N {
        product[i] = product[i] * b[i];
    }
    product
}

#[inline(always)]
fn dot<S: Simd, const N: usize>(a: &[Vector<S>; N], b: &[Vector<S>; N]) -> Vector<S> {
    let mut sum = a[0] * b[0];
    for i in 1..N {
        sum = sum + a[i] * b[i];
    }
    sum
}

/// An azimuth, the shorter way round.
#[inline(always)]
fn shorter<S: Simd>(simd: S, phi: Vector<S>) -> Vector<S> {
    let all = |number| Vector::all(simd, number);
    let below = all(PI).below(phi, phi - all(TAU), phi);
    phi.below(all(-PI), phi + all(TAU), below)
}

/// The inverse of a symmetric matrix, by its minors.
#[inline(always)]
pub(super) fn inverse<N>(m: &[[N; 3]; 3], one: N) -> [[N; 3]; 3]
where
    N: Copy + Add<Output = N> + Sub<Output = N> + Mul<Output = N> + Div<Output = N>,
{
    let [[xx, xy, xz], [_, yy, yz], [_, _, zz]] = *m;
    let (a, b, c) = (yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy);
    let (d, e, f) = (xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy);
    let by = one / (xx * a + xy * b + xz * c);
    let (a, b, c, d, e, f) = (a * by, b * by, c * by, d * by, e * by, f * by);
    [[a, b, c], [b, d, e], [c, e, f]]
}
