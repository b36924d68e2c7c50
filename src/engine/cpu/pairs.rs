//! Pairs of spacepoints and their tracks, tested in vectors, and the call of find_z that they
//! belong to: `shaders/find_z/tracks.wgsl` and `shaders/find_z/bends.wgsl`.

use std::f64::consts::TAU;
use std::ops::Range;

use pulp::Simd;

use crate::cancellation::Cancellation;
use crate::config::PairWeight;
use crate::engine::cpu::lanes::{Column, Lanes, MOST_LANES, ROOM, column};
use crate::engine::cpu::slice_index::IndexColumns;
use crate::engine::cpu::slice_spacepoints::{OuterSpacepoint, SlicedSpacepoints};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::records::{TripletCuts, ZScale};

/// One call of find_z.
pub(crate) struct FindZCall<'a, R: Lanes> {
    pub(crate) search: &'a Search,
    pub(crate) plan: &'a RoiPlan,
    pub(crate) sliced: &'a SlicedSpacepoints<R>,
    pub(crate) scale: ZScale<R>,
    pub(crate) cuts: TripletCuts<R>,
    /// A third spacepoint whose z23 differs from z12 by more than this confirms no pair, whatever
    /// the rounding.
    pub(crate) z_apart: R,
    pub(crate) lane_numbers: [R; MOST_LANES],
    /// There are fewer than 2^22 steps to either side of z = 0.
    pub(crate) few_steps: bool,
    /// Entries wait as steps, not as z: there are few steps, and z itself is not summed.
    pub(crate) in_steps: bool,
    pub(crate) cancellation: Cancellation<'a>,
}

impl<R: Lanes> FindZCall<'_, R> {
    /// Whether pairs weigh by the pT of their tracks.
    pub(crate) fn by_pt(&self) -> bool {
        self.search.config.pair_weight == PairWeight::Pt
    }

    /// The zones of the spacepoints further out that make tracks with `b` with z in the range.
    #[inline(always)]
    pub(crate) fn zones_outwards(&self, b: &OuterSpacepoint<R>, [z_min, z_max]: [R; 2]) -> Range<usize> {
        // A line through `b` from z at the beam has z / rho = t_b - z (1 / rho_b - 1 / rho).
        let [least, _] = self.sliced.inverse_rho_range;
        self.zones_of(b, [-z_max, -z_min], b.inverse_rho - least)
    }

    /// The zones of the spacepoints further in that make pairs with `b` with z in the window.
    #[inline(always)]
    pub(crate) fn zones_inwards(&self, b: &OuterSpacepoint<R>) -> Range<usize> {
        let [_, most] = self.sliced.inverse_rho_range;
        self.zones_of(b, [self.scale.z_min, self.scale.z_max], most - b.inverse_rho)
    }

    /// The zones of t_b + z u, with z in the range and u from 0 to `most`.
    #[inline(always)]
    fn zones_of(&self, b: &OuterSpacepoint<R>, [low, high]: [R; 2], most: R) -> Range<usize> {
        let zero = R::from_f64(0.0);
        let (low, high) = (if low < zero { low } else { zero }, if high > zero { high } else { zero });
        // More than rounding takes.
        let margin = R::from_f64(1e-5) * (b.z_by_rho.abs() + (high - low) * most);
        self.sliced.zones.of_range([b.z_by_rho + low * most - margin, b.z_by_rho + high * most + margin])
    }

    /// Returns the whole turns to add to the phi of a spacepoint in the slice `other`, seen from
    /// the slice `origin` the shorter way round. Both slices may lie beyond the ends of a ring.
    pub(crate) fn turn_between(&self, origin: f64, other: f64) -> R {
        if !self.plan.ring {
            return R::from_f64(0.0);
        }
        let slices = f64::from(self.plan.slices);
        // They do by less than a ring.
        let on_ring = |slice: f64| match slice {
            below if below < 0.0 => below + slices,
            above if above >= slices => above - slices,
            _ => slice,
        };
        let straight = on_ring(other) - on_ring(origin);
        let turns = if 2.0 * straight > slices {
            -1.0
        } else if 2.0 * straight <= -slices {
            1.0
        } else {
            0.0
        };
        R::from_f64(turns * TAU)
    }
}

/// The spacepoints in the window of an outer or middle spacepoint, as vectors, and the numbers of
/// that spacepoint in every lane.
pub(crate) struct Partners<'a, R: Lanes, S: Simd> {
    pub(crate) slices: &'a [R::Vector<S>],
    reaches: &'a [R::Vector<S>],
    pub(crate) inverse_rho: &'a [R::Vector<S>],
    z_by_rho: &'a [R::Vector<S>],
    /// Empty unless the extrapolation is accurate.
    phi: &'a [R::Vector<S>],
    slice: R::Vector<S>,
    pub(crate) b: [R::Vector<S>; 3],
    z_min: R::Vector<S>,
    z_max: R::Vector<S>,
}

impl<'a, R: Lanes, S: Simd> Partners<'a, R, S> {
    /// `slice` is the slice of `b`, a quarter of a slice off: see
    /// [`Reaches::put`](super::Reaches::put).
    #[inline(always)]
    pub(crate) fn new<const ACCURATE: bool>(
        simd: S,
        columns: &IndexColumns<'a, R>,
        stretch: &Range<usize>,
        b: &OuterSpacepoint<R>,
        slice: R,
        [z_min, z_max]: [R; 2],
    ) -> Self {
        Self {
            slices: IndexColumns::vectors(simd, columns.slice, stretch),
            reaches: IndexColumns::vectors(simd, columns.reach, stretch),
            inverse_rho: IndexColumns::vectors(simd, columns.inverse_rho, stretch),
            z_by_rho: IndexColumns::vectors(simd, columns.z_by_rho, stretch),
            phi: if ACCURATE { IndexColumns::vectors(simd, columns.phi, stretch) } else { &[] },
            slice: R::splat(simd, slice),
            b: [R::splat(simd, b.inverse_rho), R::splat(simd, b.z_by_rho), R::splat(simd, b.phi)],
            z_min: R::splat(simd, z_min),
            z_max: R::splat(simd, z_max),
        }
    }

    /// Returns the number of vectors.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.slices.len()
    }

    /// The lanes of a vector that are within reach.
    #[inline(always)]
    fn near(&self, simd: S, i: usize) -> R::Mask<S> {
        let apart = R::absolute(simd, R::minus(simd, self.slices[i], self.slice));
        R::at_most(simd, apart, self.reaches[i])
    }

    /// The lanes of a vector that may make pairs with z in the range, and a few with z just outside
    /// it. Without a quotient, the slowest operation of all.
    #[inline(always)]
    pub(crate) fn may_be_pairs<const ACCURATE: bool>(&self, simd: S, i: usize) -> u32 {
        if ACCURATE {
            return self.pairs::<ACCURATE>(simd, i).0;
        }
        let half = R::splat(simd, R::from_f64(0.5));
        let middle = R::times(simd, half, R::plus(simd, self.z_min, self.z_max));
        let half_width = R::times(simd, half, R::minus(simd, self.z_max, self.z_min));
        let [v, tb, _] = self.b;
        let below = R::minus(simd, v, self.inverse_rho[i]);
        let above = R::minus(simd, R::minus(simd, tb, self.z_by_rho[i]), R::times(simd, middle, below));
        let most = R::times(simd, half_width, R::absolute(simd, below));
        let within = R::at_most(simd, R::absolute(simd, above), most);
        R::bits(simd, R::both(simd, self.near(simd, i), within))
    }

    /// The lanes of a vector that make pairs with z in the range, and z of all lanes: where the
    /// line meets the beam, or is nearest to it.
    #[inline(always)]
    pub(crate) fn pairs<const ACCURATE: bool>(&self, simd: S, i: usize) -> (u32, R::Vector<S>) {
        let near = self.near(simd, i);
        let phi = if ACCURATE { self.phi[i] } else { self.b[2] };
        let z = extrapolate::<R, S>(simd, ACCURATE, self.b, [self.inverse_rho[i], self.z_by_rho[i], phi]);
        let above = R::and_less(simd, near, self.z_min, z);
        (R::bits(simd, R::and_less(simd, above, z, self.z_max)), z)
    }
}

/// z where the line through two spacepoints, given as 1 / rho, z / rho and phi, meets the beam or
/// is nearest to it: `shaders/find_z/tracks.wgsl`. The order of the two spacepoints does not
/// matter.
#[inline(always)]
pub(crate) fn extrapolate<R: Lanes, S: Simd>(
    simd: S,
    accurate: bool,
    [v, tb, phi_b]: [R::Vector<S>; 3],
    [u, ta, phi_a]: [R::Vector<S>; 3],
) -> R::Vector<S> {
    if !accurate {
        return R::over(simd, R::minus(simd, tb, ta), R::minus(simd, v, u));
    }
    let half = R::splat(simd, R::from_f64(0.5));
    let one = R::splat(simd, R::from_f64(1.0));
    let ss = R::sine_squared(simd, R::times(simd, half, R::minus(simd, phi_b, phi_a)));
    let four_ss = R::times(simd, R::splat(simd, R::from_f64(4.0)), ss);
    let apart = R::minus(simd, u, v);
    let below = R::plus(simd, R::times(simd, apart, apart), R::times(simd, four_ss, R::times(simd, u, v)));
    // The square of the line's distance from the beam, d0.
    let square = R::over(simd, R::times(simd, four_ss, R::minus(simd, one, ss)), below);
    // sqrt(rho^2 - d0^2) = rho w
    let wa = R::root(simd, R::minus(simd, one, R::times(simd, R::times(simd, square, u), u)));
    let wb = R::root(simd, R::minus(simd, one, R::times(simd, R::times(simd, square, v), v)));
    R::over(
        simd,
        R::minus(simd, R::times(simd, tb, wa), R::times(simd, ta, wb)),
        R::minus(simd, R::times(simd, v, wa), R::times(simd, u, wb)),
    )
}

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

/// Curvature k and azimuth p at the beam of the track through two spacepoints whose rho differ,
/// given as 1 / rho and phi.
pub(crate) fn track_bend<R: Lanes>([u, phi]: [R; 2], [v, phi_outer]: [R; 2]) -> (R, R) {
    let turned = (phi_outer - phi) * v / (v - u);
    (R::from_f64(2.0) * turned * u, phi + turned)
}

/// More than the rounding error of a difference of two azimuths \[rad\].
const BLUR_RAD: f64 = 4e-6;

/// The lanes in which rho grows from an inner spacepoint to an outer one, given as 1 / rho and phi,
/// and the curvature of their track is at most `most_k`, with a margin for rounding. Without a
/// quotient.
#[inline(always)]
pub(crate) fn bends_at_most<R: Lanes, S: Simd>(
    simd: S,
    most_k: R,
    [u, phi]: [R::Vector<S>; 2],
    [v, phi_outer]: [R::Vector<S>; 2],
) -> R::Mask<S> {
    let zero = R::splat(simd, R::from_f64(0.0));
    let turned = R::absolute(simd, R::minus(simd, phi_outer, phi));
    let turned = R::larger(simd, R::minus(simd, turned, R::splat(simd, R::from_f64(BLUR_RAD))), zero);
    let apart = R::minus(simd, u, v);
    let most = R::times(simd, R::splat(simd, R::from_f64(0.5005) * most_k), apart);
    let bent = R::times(simd, R::times(simd, turned, u), v);
    R::both(simd, R::less(simd, zero, apart), R::at_most(simd, bent, most))
}

/// |a| <= b.
#[inline(always)]
pub(crate) fn within<R: Lanes, S: Simd>(simd: S, a: R::Vector<S>, b: R::Vector<S>) -> R::Mask<S> {
    R::at_most(simd, R::absolute(simd, a), b)
}

/// [`track_bend`] of two spacepoints in every lane.
#[inline(always)]
pub(crate) fn bend<R: Lanes, S: Simd>(
    simd: S,
    two: R::Vector<S>,
    [u, phi]: [R::Vector<S>; 2],
    [v, phi_outer]: [R::Vector<S>; 2],
) -> (R::Vector<S>, R::Vector<S>) {
    let turned = R::times(simd, R::minus(simd, phi_outer, phi), v);
    let turned = R::over(simd, turned, R::minus(simd, v, u));
    (R::times(simd, R::times(simd, two, turned), u), R::plus(simd, phi, turned))
}
