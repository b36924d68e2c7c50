//! The fit of tracklets: two lines by generalised least squares, with scattering in the beam pipe
//! and in the layers.

use std::array;
use std::ops::{Add, Div, Mul, Sub};

use pulp::{Arch, NullaryFnOnce};

use crate::engine::tracklets::lanes::Eight;
use crate::engine::tracklets::search::{FitHit, MAX_PT_GEV, MIN_COT_ON_DISK, SCATTERING_GEV, TrackletSearch};
use crate::tracklet::{Tracklet, TrackletHits};

const MOST: usize = Tracklet::MOST_HITS;
type Columns = [Eight; MOST];
type Matrix = [Columns; MOST];

/// Where tracks cross the beam pipe, and its thickness in layers \[mm\].
const BEAM_PIPE_MM: f64 = 20.0;
const BEAM_PIPE_LAYERS: f64 = 0.16;
/// How far d0 is held near the beam \[mm\].
const D0_PRIOR_MM: f64 = 0.05;
/// Rounds of the fit: errors depend on the fitted momentum and slope.
const ROUNDS: usize = 2;

/// Hits of several tracklets, hit by hit.
#[derive(Clone, Copy, Default)]
struct HitColumns {
    rho: Columns,
    phi: Columns,
    z: Columns,
    /// 1 on a disk, 0 on a barrel.
    disk: Columns,
    resolution: Columns,
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
        let mut group = [TrackletHits::default(); Eight::LANES];
        let mut count = 0;
        for chain in chains {
            if count == Eight::LANES || count > 0 && group[0].len() != chain.len() {
                self.fit_group(hits, numbers, &group[..count], to);
                count = 0;
            }
            group[count] = *chain;
            count += 1;
        }
        if count > 0 {
            self.fit_group(hits, numbers, &group[..count], to);
        }
    }

    /// Fits chains with the same number of hits.
    fn fit_group(&self, hits: &[FitHit], numbers: &[u32], group: &[TrackletHits], to: &mut Vec<Tracklet>) {
        let mut columns = HitColumns::default();
        for lane in 0..Eight::LANES {
            // Lanes without a chain repeat the last one.
            let chain = &group[lane.min(group.len() - 1)];
            for (i, &hit) in chain.as_slice().iter().enumerate() {
                let hit = &hits[hit as usize];
                columns.rho[i].0[lane] = hit.rho;
                columns.phi[i].0[lane] = hit.phi;
                columns.z[i].0[lane] = hit.z;
                columns.disk[i].0[lane] = f64::from(u8::from(hit.is_disk));
                columns.resolution[i].0[lane] = hit.resolution;
            }
        }
        let fitted = Arch::new().dispatch(FitGroup { search: self, hits: &columns, count: group[0].len() });
        for (lane, chain) in group.iter().enumerate() {
            let of = |number: Eight| number.0[lane];
            to.push(Tracklet {
                hits: chain.as_slice().iter().map(|&hit| numbers[hit as usize]).collect(),
                z0_mm: of(fitted.z0),
                cot_theta: of(fitted.cot),
                phi0: of(fitted.phi0),
                curvature: of(fitted.kappa),
                d0_mm: of(fitted.d0),
                pt_gev: of(fitted.pt_gev),
                chi2: of(fitted.chi2),
                z_covariance: fitted.z_covariance.map(of),
                bend_covariance: fitted.bend_covariance.map(of),
                ..Tracklet::default()
            });
        }
    }

    /// The covariances of the hits in z and across the bend.
    #[inline(always)]
    fn covariances(&self, hits: &HitColumns, count: usize, arcs: &Columns, cot: Eight, kappa: Eight) -> [Matrix; 2] {
        let slope2 = Eight::all(1.0) + cot * cot;
        let root = slope2.sqrt();
        let p = (Eight::all(self.gev_mm()) / kappa.abs().at_least(1e-6)).at_most(MAX_PT_GEV) * root;
        let angle = Eight::all(SCATTERING_GEV) / p;
        // Times the length of the way through a layer.
        let theta2 = angle * angle * root;
        let cot_on_disk = cot.abs().at_least(MIN_COT_ON_DISK);
        let on_disk = theta2 / cot_on_disk;
        let mut in_bend = Matrix::default();
        for layer in 0..=count {
            // The beam pipe, and the layers.
            let (at, theta2, behind) = match layer {
                0 => (Eight::all(BEAM_PIPE_MM), Eight::all(BEAM_PIPE_LAYERS) * theta2, 0),
                _ => (arcs[layer - 1], Eight::choose(hits.disk[layer - 1], on_disk, theta2), layer),
            };
            for i in behind..count {
                for j in behind..=i {
                    in_bend[i][j] = in_bend[i][j] + (arcs[i] - at) * (arcs[j] - at) * theta2 * slope2;
                }
            }
        }
        let mut along_z = in_bend;
        for i in 0..count {
            for j in 0..=i {
                along_z[i][j] = along_z[i][j] * slope2;
            }
            let resolution = hits.resolution[i];
            let error = Eight::choose(hits.disk[i], resolution * cot_on_disk, resolution);
            along_z[i][i] = along_z[i][i] + error * error;
            in_bend[i][i] = in_bend[i][i] + resolution * resolution;
        }
        [along_z, in_bend]
    }
}

/// Properties of tracklets, a lane each.
#[derive(Clone, Copy, Default)]
struct Fitted {
    z0: Eight,
    cot: Eight,
    phi0: Eight,
    kappa: Eight,
    d0: Eight,
    pt_gev: Eight,
    chi2: Eight,
    z_covariance: [Eight; 3],
    bend_covariance: [Eight; 6],
}

/// The fit of a group for the vectors of a machine.
struct FitGroup<'a> {
    search: &'a TrackletSearch,
    hits: &'a HitColumns,
    count: usize,
}

impl NullaryFnOnce for FitGroup<'_> {
    type Output = Fitted;

    #[inline(always)]
    fn call(self) -> Fitted {
        let Self { search, hits, count } = self;
        let rho = &hits.rho;
        let mut phi = Columns::default();
        let mut z = Columns::default();
        for i in 0..count {
            (phi[i], z[i]) = ((hits.phi[i] - hits.phi[0]).shorter(), hits.z[i] - hits.z[0]);
        }
        let step = rho[count - 1] - rho[0];
        let mut fitted =
            Fitted { cot: z[count - 1] / step, kappa: Eight::all(2.0) * phi[count - 1] / step, ..Fitted::default() };
        for _ in 0..ROUNDS {
            let mut arcs = Columns::default();
            for i in 0..count {
                let bend = fitted.kappa * rho[i];
                arcs[i] = rho[i] * (Eight::all(1.0) + bend * bend / Eight::all(24.0));
            }
            let [mut along_z, mut in_bend] = search.covariances(hits, count, &arcs, fitted.cot, fitted.kappa);
            let [ones, s, z] = whiten(&mut along_z, count, [[Eight::all(1.0); MOST], arcs, z]);
            let (oo, os, ss) = (dot(&ones, &ones, count), dot(&ones, &s, count), dot(&s, &s, count));
            let (oz, sz, zz) = (dot(&ones, &z, count), dot(&s, &z, count), dot(&z, &z, count));
            let determinant = oo * ss - os * os;
            let z0 = (ss * oz - os * sz) / determinant;
            fitted.cot = (oo * sz - os * oz) / determinant;
            fitted.z0 = z0 + hits.z[0];
            fitted.z_covariance = [ss / determinant, Eight::all(0.0) - os / determinant, oo / determinant];
            fitted.chi2 = (zz - z0 * oz - fitted.cot * sz).at_least(0.0);
            let (mut curve, mut across) = (Columns::default(), Columns::default());
            for i in 0..count {
                (curve[i], across[i]) = (Eight::all(0.5) * rho[i] * rho[i], rho[i] * phi[i]);
            }
            let columns = [*rho, curve, [Eight::all(-1.0); MOST], across];
            let [slope, curve, offset, across] = whiten(&mut in_bend, count, columns);
            let columns = [&slope, &curve, &offset];
            let mut normal = columns.map(|a| columns.map(|b| dot(a, b, count)));
            normal[2][2] = normal[2][2] + Eight::all(1.0 / (D0_PRIOR_MM * D0_PRIOR_MM));
            let covariance = inverse(&normal, Eight::all(1.0));
            let right = columns.map(|a| dot(a, &across, count));
            let of = |row: &[Eight; 3]| row[0] * right[0] + row[1] * right[1] + row[2] * right[2];
            (fitted.phi0, fitted.kappa, fitted.d0) =
                (of(&covariance[0]) + hits.phi[0], of(&covariance[1]), of(&covariance[2]));
            let [[pp, pk, pd], [_, kk, kd], [_, _, dd]] = covariance;
            fitted.bend_covariance = [pp, pk, pd, kk, kd, dd];
        }
        fitted.pt_gev = Eight::all(search.gev_mm()) / fitted.kappa.abs().at_least(1e-6);
        fitted
    }
}

/// Multiplies columns by the inverse of the lower triangle L, where L L^T is the covariance, so
/// that their products are weighted by its inverse.
#[inline(always)]
fn whiten<const COLUMNS: usize>(
    covariance: &mut Matrix,
    count: usize,
    mut columns: [Columns; COLUMNS],
) -> [Columns; COLUMNS] {
    for j in 0..count {
        for k in 0..j {
            for i in j..count {
                covariance[i][j] = covariance[i][j] - covariance[i][k] * covariance[j][k];
            }
        }
        let by = Eight::all(1.0) / covariance[j][j].sqrt();
        for i in j..count {
            covariance[i][j] = covariance[i][j] * by;
        }
    }
    for column in &mut columns {
        for i in 0..count {
            for k in 0..i {
                column[i] = column[i] - covariance[i][k] * column[k];
            }
            column[i] = column[i] / covariance[i][i];
        }
    }
    columns
}

#[inline(always)]
fn dot(a: &Columns, b: &Columns, count: usize) -> Eight {
    let mut sum = a[0] * b[0];
    for i in 1..count {
        sum = sum + a[i] * b[i];
    }
    sum
}

/// The inverse of a symmetric matrix, by its minors.
#[inline(always)]
pub(super) fn inverse<N>(m: &[[N; 3]; 3], one: N) -> [[N; 3]; 3]
where
    N: Copy + Add<Output = N> + Sub<Output = N> + Mul<Output = N> + Div<Output = N>,
{
    let minor = |i: usize, j: usize| {
        let ([a, b], [c, d]) = ([(i + 1) % 3, (i + 2) % 3], [(j + 1) % 3, (j + 2) % 3]);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let by = one / (m[0][0] * minor(0, 0) + m[0][1] * minor(0, 1) + m[0][2] * minor(0, 2));
    array::from_fn(|i| array::from_fn(|j| minor(j, i) * by))
}
