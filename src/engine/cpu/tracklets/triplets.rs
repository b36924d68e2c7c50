//! Doublets and triplets of hits, in vectors.

use std::f64::consts::{PI, TAU};

use pulp::{Arch, Simd, WithSimd};

use crate::cancellation::Cancellation;
use crate::engine::cpu::lanes::{Lanes, MOST_LANES};
use crate::engine::cpu::tracklets::hits::{HitRecord, PixelHits, bend_of, cell};
use crate::engine::tracklets::search::{
    MAX_PT_GEV, MAX_TRIPLET_CHI2, MIN_COT_ON_DISK, MOST_TESTS, MOST_TRIPLETS, SCATTERING_GEV, TrackletSearch,
};
use crate::engine::tracklets::z_ranges::ZRanges;

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
    pub(super) begins: Vec<u32>,
    pub(crate) doublets: usize,
    inner: Neighbours<R>,
    outer: Neighbours<R>,
    predictions: Predictions<R>,
    pending: Vec<[u32; 3]>,
    columns: [Vec<R>; COLUMNS],
    numbers: [Vec<R>; 2],
}

impl<R> Default for Triplets<R> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            begins: Vec::new(),
            doublets: 0,
            inner: Neighbours::default(),
            outer: Neighbours::default(),
            predictions: Predictions::default(),
            pending: Vec::new(),
            columns: [const { Vec::new() }; COLUMNS],
            numbers: [const { Vec::new() }; 2],
        }
    }
}

impl<R> Triplets<R> {
    /// The triplets of a middle hit.
    pub(crate) fn of_middle(&self, hit: u32) -> &[Triplet<R>] {
        &self.all[self.begins[hit as usize] as usize..self.begins[hit as usize + 1] as usize]
    }
}

impl<R: Lanes> Triplets<R> {
    /// Finds all triplets. Returns whether there are too many, or the search is cancelled.
    pub(crate) fn fill(
        &mut self,
        search: &TrackletSearch,
        hits: &PixelHits<R>,
        z_ranges: &ZRanges,
        cancellation: Cancellation<'_>,
    ) -> bool {
        self.all.clear();
        if Arch::new().dispatch(FillTriplets { search, hits, z_ranges, cancellation, to: self }) {
            return true;
        }
        self.begins.clear();
        self.begins.resize(hits.len() + 1, 0);
        for triplet in &self.all {
            self.begins[triplet.hits[1] as usize + 1] += 1;
        }
        let mut total = 0;
        for begin in &mut self.begins {
            total += *begin;
            *begin = total;
        }
        false
    }
}

/// Hits that make doublets with a middle hit, side by side, relative to it.
#[derive(Debug)]
struct Neighbours<R> {
    /// Places in [`PixelHits`].
    hits: Vec<u32>,
    /// Differences of outer and inner hit.
    step: Vec<R>,
    turn: Vec<R>,
    dz: Vec<R>,
    rho: Vec<R>,
    inverse_rho: Vec<R>,
    resolution: Vec<R>,
    thickness: Vec<R>,
    /// The step relative to rho.
    step_by_rho: Vec<R>,
    /// The largest distance along z from the hit's own error: on a barrel, and on a disk for each
    /// unit of |cot|.
    z_reach: Vec<R>,
    z_reach_on_disk: Vec<R>,
}

impl<R> Default for Neighbours<R> {
    fn default() -> Self {
        Self {
            hits: Vec::new(),
            step: Vec::new(),
            turn: Vec::new(),
            dz: Vec::new(),
            rho: Vec::new(),
            inverse_rho: Vec::new(),
            resolution: Vec::new(),
            thickness: Vec::new(),
            step_by_rho: Vec::new(),
            z_reach: Vec::new(),
            z_reach_on_disk: Vec::new(),
        }
    }
}

/// Where the third hits of doublets should be, as far beyond the middle hit as their rho is, with
/// the largest distances from there: columns.
#[derive(Debug)]
struct Predictions<R> {
    /// Half the curvature, and the slope of z.
    half_kappa: Vec<R>,
    cot: Vec<R>,
    /// Of the azimuth for each mm: from curvature, and from the kink, which counts relative to rho.
    by_curve: Vec<R>,
    by_kink: Vec<R>,
    /// Of z: at the middle hit, and for each mm beyond it.
    at_middle: Vec<R>,
    by_slope: Vec<R>,
}

impl<R> Default for Predictions<R> {
    fn default() -> Self {
        Self {
            half_kappa: Vec::new(),
            cot: Vec::new(),
            by_curve: Vec::new(),
            by_kink: Vec::new(),
            at_middle: Vec::new(),
            by_slope: Vec::new(),
        }
    }
}

/// The least distance in rho of two hits of a track \[mm\].
const MIN_STEP_MM: f64 = 3.0;
/// Scattering in the reach of a doublet's azimuth \[rad\].
const SCATTERED: f64 = 0.002;
/// The largest distance of a third hit from its prediction, in errors of z that are added up, and
/// how much longer than rho an arc may be.
const MAX_Z_ERRORS: f64 = 3.0;
const ARC: f64 = 0.01;
/// The same in errors of azimuth, and more \[rad\].
const MAX_PHI_ERRORS: f64 = 3.5;
const PHI_MARGIN: f64 = 0.0005;
/// Triplets that are computed together.
const PENDING: usize = 256;
/// Columns of a pending triplet: rho, 1 / rho, phi, z, resolution and thickness of each hit.
const COLUMNS: usize = 18;

struct FillTriplets<'a, R> {
    search: &'a TrackletSearch,
    hits: &'a PixelHits<R>,
    z_ranges: &'a ZRanges,
    cancellation: Cancellation<'a>,
    to: &'a mut Triplets<R>,
}

impl<R: Lanes> WithSimd for FillTriplets<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { search, hits, z_ranges, cancellation, to } = self;
        let finder = Finder::new(simd, search, hits, z_ranges);
        let mut tests = 0_u64;
        let Triplets { all, doublets, inner, outer, predictions, pending, columns, numbers, .. } = to;
        pending.clear();
        *doublets = 0;
        for (layer, of_layer) in search.layers.iter().enumerate() {
            let Some(of_layer) = of_layer else { continue };
            for b in hits.of_layer(layer) {
                inner.hits.clear();
                let cell = cell(hits.phi[b].to_f64());
                for &layer in &of_layer.inner {
                    tests += finder.doublets::<false>(layer, b, cell, &mut inner.hits) as u64;
                }
                *doublets += inner.hits.len();
                if inner.hits.is_empty() {
                    continue;
                }
                outer.hits.clear();
                for &layer in &of_layer.outer {
                    tests += finder.doublets::<true>(layer, b, cell, &mut outer.hits) as u64;
                }
                tests += inner.hits.len() as u64 * outer.hits.len() as u64;
                if tests > MOST_TESTS || all.len() > MOST_TRIPLETS || cancellation.is_requested() {
                    return true;
                }
                if outer.hits.is_empty() {
                    continue;
                }
                inner.fill::<S, false>(hits, b);
                outer.fill::<S, true>(hits, b);
                finder.predict(inner, b, predictions);
                for (i, &a) in inner.hits.iter().enumerate() {
                    finder.find_thirds(predictions, i, [a, b as u32], outer, pending);
                }
                if pending.len() >= PENDING {
                    finder.compute(pending, columns, numbers, all);
                }
            }
        }
        finder.compute(pending, columns, numbers, all);
        all.len() > MOST_TRIPLETS
    }
}

impl<R: Lanes> Neighbours<R> {
    /// Fills the columns for the hits. Whole vectors may be loaded, with any numbers at the end.
    #[inline(always)]
    fn fill<S: Simd, const OUTWARDS: bool>(&mut self, from: &PixelHits<R>, middle: usize) {
        let count = self.hits.len().next_multiple_of(R::count::<S>());
        if self.step.len() < count {
            let Self { step, turn, dz, rho, inverse_rho, resolution, thickness, .. } = self;
            let Self { step_by_rho, z_reach, z_reach_on_disk, .. } = self;
            let columns =
                [step, turn, dz, rho, inverse_rho, resolution, thickness, step_by_rho, z_reach, z_reach_on_disk];
            for column in columns {
                column.resize(2 * count, R::from_f64(1.0));
            }
        }
        let middle = &from.records[middle];
        for i in 0..self.hits.len() {
            let hit = &from.records[self.hits[i] as usize];
            let (a, b) = if OUTWARDS { (middle, hit) } else { (hit, middle) };
            let step = b.rho - a.rho;
            self.step[i] = step;
            self.turn[i] = shorter(b.phi - a.phi);
            self.dz[i] = b.z - a.z;
            if OUTWARDS {
                let reach = R::from_f64(MAX_Z_ERRORS) * hit.resolution;
                self.step_by_rho[i] = step * hit.inverse_rho;
                let zero = R::from_f64(0.0);
                let (on_barrel, on_disk) = if hit.thickness < zero { (zero, reach) } else { (reach, zero) };
                (self.z_reach[i], self.z_reach_on_disk[i]) = (on_barrel, on_disk);
            } else {
                self.rho[i] = hit.rho;
                self.inverse_rho[i] = hit.inverse_rho;
                self.resolution[i] = hit.resolution;
                self.thickness[i] = hit.thickness;
            }
        }
    }
}

/// Constants in the number type, and the hits.
struct Finder<'a, R: Lanes, S: Simd> {
    simd: S,
    hits: &'a PixelHits<R>,
    max_kappa: R,
    by_gev_mm: R,
    scattering2: R,
    width2: R,
    /// Ends of the first so many ranges of z.
    z_ranges: [[R; 2]; ZRanges::MOST],
    range_count: usize,
    max_chi2: R,
}

impl<'a, R: Lanes, S: Simd> Finder<'a, R, S> {
    #[inline(always)]
    fn new(simd: S, search: &TrackletSearch, hits: &'a PixelHits<R>, z_ranges: &ZRanges) -> Self {
        let number = R::from_f64;
        let mut ends = [[number(0.0); 2]; ZRanges::MOST];
        for (ends, range) in ends.iter_mut().zip(z_ranges.as_slice()) {
            *ends = range.map(number);
        }
        Self {
            simd,
            hits,
            max_kappa: number(search.max_kappa()),
            by_gev_mm: number(1.0 / search.gev_mm()),
            scattering2: number(SCATTERING_GEV * SCATTERING_GEV),
            width2: number(search.config.beam_width_mm * search.config.beam_width_mm),
            z_ranges: ends,
            range_count: z_ranges.as_slice().len(),
            max_chi2: number(MAX_TRIPLET_CHI2),
        }
    }

    #[inline(always)]
    fn all(&self, number: f64) -> R::Vector<S> {
        R::splat(self.simd, R::from_f64(number))
    }

    /// A column's vector that begins at `first`.
    #[inline(always)]
    fn load(&self, column: &[R], first: usize) -> R::Vector<S> {
        R::vectors(self.simd, &column[first..])[0]
    }

    /// Differences of azimuths, the shorter way round.
    #[inline(always)]
    fn shorter(&self, phi: R::Vector<S>) -> R::Vector<S> {
        let simd = self.simd;
        let (pi, turn) = (self.all(PI), self.all(TAU));
        let below = R::select(simd, R::less(simd, pi, phi), R::minus(simd, phi, turn), phi);
        R::select(simd, R::less(simd, phi, self.all(-PI)), R::plus(simd, phi, turn), below)
    }

    /// Appends the hits of a layer that make doublets with the middle hit. It lies in this cell,
    /// and is the inner one of them if `OUTWARDS`. Returns the number of hits that were tested.
    #[inline(always)]
    fn doublets<const OUTWARDS: bool>(&self, layer: u32, middle: usize, cell: usize, to: &mut Vec<u32>) -> usize {
        let (simd, number, hits) = (self.simd, R::from_f64, self.hits);
        let (rho_m, phi_m, z_m) = (hits.rho[middle], hits.phi[middle], hits.z[middle]);
        let [least, most] = hits.extents(layer);
        let far = if OUTWARDS { most } else { least };
        let step = if OUTWARDS { far - rho_m } else { rho_m - far };
        if step < number(MIN_STEP_MM) {
            return 0;
        }
        let bend_m = if OUTWARDS { -hits.bend[middle] } else { hits.bend[middle] };
        let apart = if OUTWARDS { bend_of(self.max_kappa, far) } else { -bend_of(self.max_kappa, far) };
        let most = bend_m + apart + number(SCATTERED);
        let half = number(0.5);
        // Of each range: the distance from its middle, and half of its width.
        let mut ranges = [[R::splat(simd, half); 2]; ZRanges::MOST];
        for k in 0..self.range_count {
            let [low, high] = self.z_ranges[k];
            let from_mid = z_m - half * (low + high);
            ranges[k] = [from_mid, half * (high - low) + half].map(|number| R::splat(simd, number));
        }
        let bend_m = R::splat(simd, bend_m + number(SCATTERED));
        let [rho_m, z_m, phi_m] = [rho_m, z_m, phi_m].map(|number| R::splat(simd, number));
        let (tenth, min_step) = (self.all(0.1), self.all(MIN_STEP_MM));
        let mut tests = 0;
        for range in hits.around(layer, cell, most) {
            tests += range.len();
            for first in range.clone().step_by(R::count::<S>()) {
                let [rho, bend] = [&hits.rho, &hits.bend].map(|column| self.load(column, first));
                let [phi, z] = [&hits.phi, &hits.z].map(|column| self.load(column, first));
                let difference = |m, other| if OUTWARDS { R::minus(simd, other, m) } else { R::minus(simd, m, other) };
                let (step, dz) = (difference(rho_m, rho), difference(z_m, z));
                let turn = R::absolute(simd, self.shorter(R::minus(simd, phi_m, phi)));
                let reach = if OUTWARDS { R::plus(simd, bend_m, bend) } else { R::minus(simd, bend_m, bend) };
                let across = R::times(simd, dz, rho_m);
                let tolerance = R::times(simd, tenth, R::absolute(simd, dz));
                let keeps = R::both(simd, R::at_most(simd, min_step, step), R::at_most(simd, turn, reach));
                let mut points_into_a_range = 0;
                for &[from_mid, z_half] in &ranges[..self.range_count] {
                    // From the middle of the range, times the step.
                    let z0 = R::minus(simd, R::times(simd, from_mid, step), across);
                    let margin = R::plus(simd, R::times(simd, z_half, step), tolerance);
                    points_into_a_range |= R::bits(simd, R::at_most(simd, R::absolute(simd, z0), margin));
                }
                let mut bits = first_lanes(R::bits(simd, keeps) & points_into_a_range, range.end - first);
                while bits != 0 {
                    to.push(first as u32 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
        tests
    }

    /// |cot| on a disk.
    #[inline(always)]
    fn on_disk(&self, cot: R::Vector<S>) -> R::Vector<S> {
        R::larger(self.simd, R::absolute(self.simd, cot), self.all(MIN_COT_ON_DISK))
    }

    /// The error of z of hits on tracks of these slopes.
    #[inline(always)]
    fn z_error(&self, resolution: R::Vector<S>, thickness: R::Vector<S>, on_disk: R::Vector<S>) -> R::Vector<S> {
        let simd = self.simd;
        let is_disk = R::less(simd, thickness, self.all(0.0));
        R::select(simd, is_disk, R::times(simd, resolution, on_disk), resolution)
    }

    /// The square of the scattering angle across the bend, for 1 + cot^2.
    #[inline(always)]
    fn kink2(
        &self,
        kappa: R::Vector<S>,
        slope2: R::Vector<S>,
        thickness: R::Vector<S>,
        on_disk: R::Vector<S>,
    ) -> R::Vector<S> {
        let simd = self.simd;
        let by_pt = R::times(simd, R::absolute(simd, kappa), R::splat(simd, self.by_gev_mm));
        let by_pt = R::larger(simd, by_pt, self.all(1.0 / MAX_PT_GEV));
        // The length of the way through the layer, times its thickness.
        let root = R::root(simd, slope2);
        let is_disk = R::less(simd, thickness, self.all(0.0));
        let way = R::select(simd, is_disk, R::over(simd, root, on_disk), root);
        let way = R::times(simd, way, R::absolute(simd, thickness));
        R::times(simd, R::times(simd, R::splat(simd, self.scattering2), R::times(simd, by_pt, by_pt)), way)
    }

    /// Predicts the third hits of all doublets of a middle hit.
    #[inline(always)]
    fn predict(&self, inner: &Neighbours<R>, b: usize, to: &mut Predictions<R>) {
        let simd = self.simd;
        let HitRecord { inverse_rho, resolution, thickness, .. } = self.hits.records[b];
        let [u_b, resolution_b, thickness_b] =
            [inverse_rho, resolution, thickness].map(|number| R::splat(simd, number));
        let Predictions { half_kappa, cot, by_curve, by_kink, at_middle, by_slope } = to;
        let columns = [half_kappa, cot, by_curve, by_kink, at_middle, by_slope];
        let (lanes, count) = (R::count::<S>(), inner.hits.len());
        let columns = columns.map(|column| {
            column.resize((count + lanes).max(column.len()), R::from_f64(0.0));
            &mut column[..]
        });
        for first in (0..count).step_by(lanes) {
            let [step, turn, dz] = [&inner.step, &inner.turn, &inner.dz].map(|column| self.load(column, first));
            let [rho_a, u_a] = [&inner.rho, &inner.inverse_rho].map(|column| self.load(column, first));
            let [resolution_a, thickness_a] =
                [&inner.resolution, &inner.thickness].map(|column| self.load(column, first));
            let by_step = R::over(simd, self.all(1.0), step);
            let kappa = R::times(simd, R::times(simd, self.all(2.0), turn), by_step);
            let cot = R::times(simd, dz, by_step);
            let slope2 = R::plus(simd, self.all(1.0), R::times(simd, cot, cot));
            let on_disk = self.on_disk(cot);
            let kink2 = self.kink2(kappa, slope2, thickness_b, on_disk);
            let d02 = R::times(simd, R::times(simd, rho_a, rho_a), kink2);
            let d0 = R::root(simd, R::plus(simd, R::splat(simd, self.width2), d02));
            let of_hits = R::times(simd, R::times(simd, R::times(simd, self.all(4.0), resolution_b), u_a), by_step);
            let of_d0 = R::times(simd, R::times(simd, self.all(2.0), d0), R::times(simd, u_a, u_b));
            let curve_error = R::times(simd, self.all(0.5), R::plus(simd, of_hits, of_d0));
            let e_a = self.z_error(resolution_a, thickness_a, on_disk);
            let e_b = self.z_error(resolution_b, thickness_b, on_disk);
            // The kink counts more, for the triplet's curvature may be larger; so do arcs.
            let kink = R::times(simd, self.all(1.5), R::root(simd, R::times(simd, kink2, slope2)));
            let arcs = R::times(simd, self.all(ARC / MAX_Z_ERRORS), R::absolute(simd, cot));
            let slope_error = R::plus(simd, R::times(simd, R::plus(simd, e_a, e_b), by_step), kink);
            let slope_error = R::plus(simd, slope_error, arcs);
            let half_kappa = R::times(simd, self.all(0.5), kappa);
            let (in_phi, in_z) = (self.all(MAX_PHI_ERRORS), self.all(MAX_Z_ERRORS));
            R::store(simd, &mut columns[0][first..], half_kappa);
            R::store(simd, &mut columns[1][first..], cot);
            R::store(simd, &mut columns[2][first..], R::times(simd, in_phi, curve_error));
            R::store(simd, &mut columns[3][first..], R::times(simd, in_phi, R::root(simd, kink2)));
            R::store(simd, &mut columns[4][first..], R::times(simd, in_z, e_b));
            R::store(simd, &mut columns[5][first..], R::times(simd, in_z, slope_error));
        }
    }

    /// Appends the triplets of the i-th doublet whose third hits are where they should be.
    #[inline(always)]
    fn find_thirds(
        &self,
        predictions: &Predictions<R>,
        i: usize,
        [a, b]: [u32; 2],
        outer: &Neighbours<R>,
        to: &mut Vec<[u32; 3]>,
    ) {
        let simd = self.simd;
        let of = |column: &[R]| R::splat(simd, column[i]);
        let (half_kappa, cot) = (of(&predictions.half_kappa), of(&predictions.cot));
        let (by_curve, by_kink) = (of(&predictions.by_curve), of(&predictions.by_kink));
        let (at_middle, by_slope) = (of(&predictions.at_middle), of(&predictions.by_slope));
        let on_disk = self.on_disk(cot);
        let margin = self.all(PHI_MARGIN);
        for first in (0..outer.hits.len()).step_by(R::count::<S>()) {
            let [step, by_rho, turn] = [&outer.step, &outer.step_by_rho, &outer.turn].map(|c| self.load(c, first));
            let [dz, on_barrel, disk] =
                [&outer.dz, &outer.z_reach, &outer.z_reach_on_disk].map(|c| self.load(c, first));
            let apart = R::absolute(simd, R::minus(simd, turn, R::times(simd, half_kappa, step)));
            let most = R::plus(simd, R::times(simd, by_curve, step), R::times(simd, by_kink, by_rho));
            let keeps = R::at_most(simd, apart, R::plus(simd, most, margin));
            let z_apart = R::absolute(simd, R::minus(simd, dz, R::times(simd, cot, step)));
            let z_most = R::plus(simd, on_barrel, R::times(simd, disk, on_disk));
            let z_most = R::plus(simd, R::plus(simd, z_most, at_middle), R::times(simd, by_slope, step));
            let bits = R::bits(simd, R::both(simd, keeps, R::at_most(simd, z_apart, z_most)));
            let mut bits = first_lanes(bits, outer.hits.len() - first);
            while bits != 0 {
                to.push([a, b, outer.hits[first + bits.trailing_zeros() as usize]]);
                bits &= bits - 1;
            }
        }
    }

    /// Computes the pending triplets, and appends those that are kept.
    #[inline(always)]
    fn compute(
        &self,
        pending: &mut Vec<[u32; 3]>,
        columns: &mut [Vec<R>; COLUMNS],
        numbers: &mut [Vec<R>; 2],
        to: &mut Vec<Triplet<R>>,
    ) {
        let simd = self.simd;
        let lanes = R::count::<S>();
        let count = pending.len().next_multiple_of(lanes);
        for column in columns.iter_mut().chain(numbers.iter_mut()) {
            column.resize(count.max(column.len()), R::from_f64(1.0));
        }
        for (i, hits) in pending.iter().enumerate() {
            for (place, &hit) in hits.iter().enumerate() {
                let HitRecord { rho, inverse_rho, phi, z, resolution, thickness } = self.hits.records[hit as usize];
                for (column, number) in [rho, inverse_rho, phi, z, resolution, thickness].into_iter().enumerate() {
                    columns[3 * column + place][i] = number;
                }
            }
        }
        let max_kappa = R::splat(simd, self.max_kappa);
        let [one, two, half] = [1.0, 2.0, 0.5].map(|number| self.all(number));
        for first in (0..pending.len()).step_by(lanes) {
            let hit = |i: usize| [0, 1, 2].map(|place| self.load(&columns[3 * i + place], first));
            let ([rho_a, rho_b, rho_c], [u_a, u_b, u_c]) = (hit(0), hit(1));
            let ([phi_a, phi_b, phi_c], [z_a, z_b, z_c]) = (hit(2), hit(3));
            let ([resolution_a, resolution_b, resolution_c], [thickness_a, thickness_b, thickness_c]) =
                (hit(4), hit(5));
            let cot = R::times(simd, R::minus(simd, z_b, z_a), R::over(simd, one, R::minus(simd, rho_b, rho_a)));
            let slope2 = R::plus(simd, one, R::times(simd, cot, cot));
            let on_disk = self.on_disk(cot);
            let by_ac = R::over(simd, one, R::minus(simd, rho_c, rho_a));
            let by_bc = R::over(simd, one, R::minus(simd, rho_c, rho_b));
            let turn_ac = self.shorter(R::minus(simd, phi_c, phi_a));
            let kappa = R::times(simd, R::times(simd, two, turn_ac), by_ac);
            let turn_bc = self.shorter(R::minus(simd, phi_c, phi_b));
            let kappa_bc = R::times(simd, R::times(simd, two, turn_bc), by_bc);
            let dkappa = R::minus(simd, kappa_bc, kappa);
            // Arc lengths.
            let curve = R::times(simd, R::times(simd, kappa, kappa), self.all(1.0 / 24.0));
            let arc = |rho| R::times(simd, rho, R::plus(simd, one, R::times(simd, curve, R::times(simd, rho, rho))));
            let (s_a, s_b, s_c) = (arc(rho_a), arc(rho_b), arc(rho_c));
            let step = R::minus(simd, s_c, s_b);
            let ratio = R::over(simd, step, R::minus(simd, s_b, s_a));
            let dz = R::minus(simd, z_c, z_b);
            let dz = R::minus(simd, dz, R::times(simd, R::minus(simd, z_b, z_a), ratio));
            let kink2 = self.kink2(kappa, slope2, thickness_b, on_disk);
            let square = |x| R::times(simd, x, x);
            let e_a = square(self.z_error(resolution_a, thickness_a, on_disk));
            let e_b = square(self.z_error(resolution_b, thickness_b, on_disk));
            let e_c = square(self.z_error(resolution_c, thickness_c, on_disk));
            let z_error2 = R::plus(simd, e_c, R::times(simd, e_b, square(R::plus(simd, one, ratio))));
            let z_error2 = R::plus(simd, z_error2, R::times(simd, e_a, square(ratio)));
            let kink = R::times(simd, R::times(simd, kink2, slope2), square(step));
            let z_error2 = R::plus(simd, z_error2, kink);
            // Of the curvature: from d0, from the kink, and from the hits.
            let d02 = R::plus(simd, R::splat(simd, self.width2), R::times(simd, square(rho_a), kink2));
            let lever = R::times(simd, u_c, R::minus(simd, u_a, u_b));
            let of_c = R::times(simd, R::times(simd, resolution_c, u_c), R::minus(simd, by_bc, by_ac));
            let of_b = R::times(simd, R::times(simd, resolution_b, u_b), by_bc);
            let of_a = R::times(simd, R::times(simd, resolution_a, u_a), by_ac);
            let of_hits = R::plus(simd, R::plus(simd, square(of_c), square(of_b)), square(of_a));
            let others = R::plus(simd, R::times(simd, d02, square(lever)), R::times(simd, kink2, square(u_c)));
            let kappa_error2 = R::times(simd, self.all(4.0), R::plus(simd, others, of_hits));
            let chi2_z = R::over(simd, square(dz), z_error2);
            let chi2 = R::plus(simd, chi2_z, R::over(simd, square(dkappa), kappa_error2));
            let slope = R::over(simd, R::minus(simd, z_c, z_a), R::minus(simd, s_c, s_a));
            let z0 = R::minus(simd, z_a, R::times(simd, slope, s_a));
            let margin = R::times(simd, half, R::larger(simd, R::absolute(simd, cot), one));
            let mut keeps = R::at_most(simd, R::absolute(simd, kappa), max_kappa);
            keeps = R::both(simd, keeps, R::at_most(simd, chi2, R::splat(simd, self.max_chi2)));
            let mut points_into_a_range = 0;
            for [low, high] in &self.z_ranges[..self.range_count] {
                let [low, high] = [R::splat(simd, *low), R::splat(simd, *high)];
                let above = R::at_most(simd, R::minus(simd, low, margin), z0);
                let below = R::at_most(simd, z0, R::plus(simd, high, margin));
                points_into_a_range |= R::bits(simd, R::both(simd, above, below));
            }
            let mut bits = first_lanes(R::bits(simd, keeps) & points_into_a_range, pending.len() - first);
            R::store(simd, &mut numbers[0][first..], chi2);
            R::store(simd, &mut numbers[1][first..], kappa);
            while bits != 0 {
                let i = first + bits.trailing_zeros() as usize;
                to.push(Triplet { hits: pending[i], chi2: numbers[0][i], kappa: numbers[1][i] });
                bits &= bits - 1;
            }
        }
        pending.clear();
    }
}

/// The bits of the first `count` lanes.
#[inline(always)]
fn first_lanes(bits: u32, count: usize) -> u32 {
    bits & ((1u64 << count.min(MOST_LANES)) - 1) as u32
}

/// A difference of azimuths, the shorter way round.
#[inline(always)]
fn shorter<R: Lanes>(phi: R) -> R {
    let (pi, turn) = (R::from_f64(PI), R::from_f64(TAU));
    let below = if phi > pi { phi - turn } else { phi };
    if phi < -pi { phi + turn } else { below }
}
