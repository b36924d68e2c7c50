//! An index of the spacepoints of some layers, in which all spacepoints about a slice lie side by
//! side, for vectors.

use std::f64::consts::TAU;
use std::ops::{Range, RangeInclusive};

use pulp::Simd;

use crate::detector::MAX_LAYERS;
use crate::engine::cpu::lanes::{Lanes, MOST_LANES};
use crate::engine::cpu::slice_spacepoints::{NO_LAYER, SlicedSpacepoints};
use crate::engine::plan::RoiPlan;

/// Room behind the last spacepoint for a vector that begins there.
const VECTOR_BEYOND: usize = MOST_LANES;
/// With more spacepoints a slice, the beginnings are computed slice by slice, otherwise spacepoint
/// by spacepoint.
const CROWDED: usize = 2;
/// A reach that excludes every distance.
const NOWHERE: f64 = -1.0;

/// The largest distance of a partner on each layer, in slices; see [`Reaches::put`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaches<R> {
    /// By layer from `first` on; [`NOWHERE`] unless it was put.
    of: [R; MAX_LAYERS],
    first: usize,
    /// Layers from the first to the last one that was put.
    layers: usize,
    /// The most slices to either side.
    pub(crate) most: u32,
}

impl<R: Lanes> Reaches<R> {
    /// Returns the reaches to no layer.
    pub(crate) fn none() -> Self {
        Self { of: [R::from_f64(NOWHERE); MAX_LAYERS], first: 0, layers: 0, most: 0 }
    }

    /// Removes every layer.
    pub(crate) fn clear(&mut self) {
        *self = Self::none();
    }

    /// Adds a layer beyond the earlier ones: `slices` to either side. If they go round a ring, each
    /// slice counts once: from half a ring below, excluding a slice that is also half a ring above,
    /// to half a ring above.
    pub(crate) fn put(&mut self, layer: usize, slices: u32, plan: &RoiPlan) {
        let ring = plan.ring && slices.saturating_mul(2) >= plan.slices;
        let slices = slices.min(plan.slices);
        let half = f64::from(plan.slices) / 2.0;
        // Distances are measured from a quarter of a slice beside the slice.
        let (reach, most) = match ring {
            false => (f64::from(slices) + 0.5, slices),
            true if plan.slices.is_multiple_of(2) => (half - 0.25, plan.slices / 2),
            true => (half, plan.slices / 2),
        };
        if self.layers == 0 {
            self.first = layer;
        }
        self.of[layer - self.first] = R::from_f64(reach);
        self.layers = layer - self.first + 1;
        self.most = self.most.max(most);
    }
}

/// The spacepoints of some layers in the order of their slices. On a ring, the slices at each end
/// are repeated beyond the other end.
#[derive(Debug)]
pub(crate) struct SliceIndex<R> {
    /// See [`IndexColumns`].
    inverse_rho: Vec<R>,
    z_by_rho: Vec<R>,
    phi: Vec<R>,
    slice: Vec<R>,
    turn: Vec<R>,
    turned_phi: Vec<R>,
    layer: Vec<R>,
    reach: Vec<R>,
    /// Zone by zone, where each slice begins, from `margin` slices before the first, and where the
    /// last ends.
    begins: Vec<u32>,
    zones: usize,
    /// The number of spacepoints taken before each vector of the input, and the lanes taken of it.
    looked_at: Vec<[u32; 2]>,
    crowded: bool,
    taken: usize,
    /// Every spacepoint is taken, so that the sliced columns themselves are used.
    whole: bool,
    margin: u32,
    slices: u32,
    ring: bool,
}

impl<R> Default for SliceIndex<R> {
    fn default() -> Self {
        Self {
            inverse_rho: Vec::new(),
            z_by_rho: Vec::new(),
            phi: Vec::new(),
            slice: Vec::new(),
            turn: Vec::new(),
            turned_phi: Vec::new(),
            layer: Vec::new(),
            reach: Vec::new(),
            begins: Vec::new(),
            zones: 1,
            looked_at: Vec::new(),
            crowded: false,
            taken: 0,
            whole: false,
            margin: 0,
            slices: 0,
            ring: false,
        }
    }
}

impl<R: Lanes> SliceIndex<R> {
    /// The origin of distances, in slices from the slice itself.
    pub(crate) const BESIDE: f64 = 0.25;

    /// Takes the spacepoints of `layers`, with their azimuths if `phi`. No partner is more than
    /// `most` slices away.
    #[inline(always)]
    pub(crate) fn fill<S: Simd>(
        &mut self,
        simd: S,
        sliced: &SlicedSpacepoints<R>,
        layers: RangeInclusive<usize>,
        ring: bool,
        most: u32,
        phi: bool,
    ) {
        (self.slices, self.ring, self.taken) = (sliced.slices(), ring, 0);
        self.margin = most.min(if ring { self.slices / 2 } else { self.slices });
        self.zones = sliced.zones.count;
        let room = if ring { 2 } else { 1 } * sliced.count_kept() + self.zones * VECTOR_BEYOND;
        for column in [&mut self.reach, &mut self.turn] {
            column.resize(room.max(column.len()), R::from_f64(0.0));
        }
        let (margin, end) = (self.margin, self.slices);
        self.whole = !ring && self.zones == 1 && sliced.filled().iter().all(|layer| layers.contains(layer));
        if self.whole {
            self.taken = sliced.count_kept();
            // The margins on both sides are empty.
            self.begins.clear();
            self.begins.resize(margin as usize, 0);
            self.begins.extend_from_slice(&sliced.begins);
            self.begins.resize(self.begins.len() + margin as usize, self.taken as u32);
            return;
        }
        let columns = [&mut self.inverse_rho, &mut self.z_by_rho, &mut self.phi, &mut self.slice];
        for column in columns.into_iter().chain([&mut self.turned_phi, &mut self.layer]) {
            column.resize(room.max(column.len()), R::from_f64(0.0));
        }
        self.crowded = self.zones > 1 || sliced.count_kept() > CROWDED * end as usize;
        self.begins.clear();
        for zone in 0..self.zones {
            // Vectors that begin in one zone end before the next one.
            self.taken += if zone > 0 { VECTOR_BEYOND } else { 0 };
            if ring {
                self.take(simd, sliced, &layers, zone, end - margin..end, -1, phi);
            } else {
                self.begins.resize(self.begins.len() + margin as usize, self.taken as u32);
            }
            self.take(simd, sliced, &layers, zone, 0..end, 0, phi);
            if ring {
                self.take(simd, sliced, &layers, zone, 0..margin, 1, phi);
            }
            // Any numbers will do, because nothing reaches there.
            self.layer[self.taken..self.taken + VECTOR_BEYOND].fill(R::from_f64(NO_LAYER));
            if self.crowded {
                self.begins.resize((zone + 1) * self.begins_a_zone(), self.taken as u32);
            }
        }
        if self.crowded {
            return;
        }
        let (taken, last) = (self.taken, self.begins_a_zone() - 1);
        // Each slice begins with the first spacepoint in it or in a slice above. A whole vector of
        // words is written each time; the next spacepoint overwrites the surplus.
        self.begins.resize(last + 1 + VECTOR_BEYOND, 0);
        let mut next = 0;
        for (i, slice) in self.slice[..taken].iter().enumerate() {
            let slice = (slice.to_i32() + margin as i32) as usize;
            let mut at = next;
            loop {
                self.begins[at..at + VECTOR_BEYOND].copy_from_slice(&[i as u32; VECTOR_BEYOND]);
                at += VECTOR_BEYOND;
                if at > slice {
                    break;
                }
            }
            next = slice + 1;
        }
        self.begins[next..].fill(taken as u32);
    }

    fn begins_a_zone(&self) -> usize {
        (self.slices + 2 * self.margin + 1) as usize
    }

    /// Takes the spacepoints of a zone that lie in `slices`, shifted by `times` turns of the ring.
    #[expect(clippy::too_many_arguments, reason = "which spacepoints, and what of them")]
    #[inline(always)]
    fn take<S: Simd>(
        &mut self,
        simd: S,
        sliced: &SlicedSpacepoints<R>,
        layers: &RangeInclusive<usize>,
        zone: usize,
        slices: Range<u32>,
        times: i32,
        phi: bool,
    ) {
        let begins = &sliced.begins_of(zone)[slices.start as usize..=slices.end as usize];
        let (first, end) = (begins[0] as usize, begins[slices.len()] as usize);
        let turn = R::from_f64(f64::from(times) * TAU);
        let (lanes, turns) = (R::count::<S>(), R::splat(simd, turn));
        let shift = R::splat(simd, R::from_f64(f64::from(times) * f64::from(self.slices)));
        let lowest = R::splat(simd, R::from_f64(*layers.start() as f64));
        let highest = R::splat(simd, R::from_f64(*layers.end() as f64));
        let mut taken = self.taken;
        let vectors = (end - first).div_ceil(lanes);
        self.looked_at.resize((vectors + 1).max(self.looked_at.len()), [0; 2]);
        for (at, looked_at) in (first..end).step_by(lanes).zip(&mut self.looked_at) {
            let layer = R::vectors(simd, &sliced.layer_number[at..])[0];
            let takes = R::both(simd, R::at_most(simd, lowest, layer), R::at_most(simd, layer, highest));
            let bits = R::bits(simd, takes) & ((1u64 << (end - at).min(lanes)) - 1) as u32;
            *looked_at = [taken as u32, bits];
            let slice = R::plus(simd, R::vectors(simd, &sliced.slice_number[at..])[0], shift);
            R::pack(simd, bits, R::vectors(simd, &sliced.inverse_rho[at..])[0], &mut self.inverse_rho[taken..]);
            R::pack(simd, bits, R::vectors(simd, &sliced.z_by_rho[at..])[0], &mut self.z_by_rho[taken..]);
            R::pack(simd, bits, slice, &mut self.slice[taken..]);
            R::pack(simd, bits, layer, &mut self.layer[taken..]);
            if phi {
                let azimuth = R::vectors(simd, &sliced.phi[at..])[0];
                R::pack(simd, bits, azimuth, &mut self.phi[taken..]);
                R::pack(simd, bits, R::plus(simd, azimuth, turns), &mut self.turned_phi[taken..]);
            }
            taken += bits.count_ones() as usize;
        }
        if self.crowded {
            self.looked_at[vectors] = [taken as u32, 0];
            self.begin_slices(&begins[..slices.len()], first..end, lanes);
        }
        if self.ring {
            self.turn[self.taken..taken].fill(turn);
        }
        self.taken = taken;
    }

    /// Each slice begins behind the spacepoints taken from the slices before it.
    #[inline(always)]
    fn begin_slices(&mut self, all: &[u32], looked_at: Range<usize>, lanes: usize) {
        let begun = self.begins.len();
        self.begins.resize(begun + all.len(), 0);
        for (begin, all) in self.begins[begun..].iter_mut().zip(all) {
            let at = (*all as usize).clamp(looked_at.start, looked_at.end) - looked_at.start;
            let [before, bits] = self.looked_at[at / lanes];
            *begin = before + (bits & !(u32::MAX << (at % lanes))).count_ones();
        }
    }

    /// Returns where the spacepoints of a zone lie from `below` slices below a slice to `above`
    /// slices above it; neither exceeds the `most` of [`SliceIndex::fill`].
    #[inline(always)]
    pub(crate) fn window(&self, zone: usize, slice: u32, [below, above]: [u32; 2]) -> Range<usize> {
        let slice = zone * self.begins_a_zone() + (slice + self.margin) as usize;
        self.begins[slice - below as usize] as usize..self.begins[slice + above as usize + 1] as usize
    }

    /// Sets the reach of the spacepoints about these slices.
    #[inline(always)]
    pub(crate) fn set_reach<S: Simd>(
        &mut self,
        simd: S,
        sliced: &SlicedSpacepoints<R>,
        slices: RangeInclusive<u32>,
        reaches: &Reaches<R>,
    ) {
        match reaches.layers.div_ceil(R::count::<S>()) {
            0 | 1 => self.look_up_reach::<S, 1>(simd, sliced, slices, reaches),
            2 => self.look_up_reach::<S, 2>(simd, sliced, slices, reaches),
            3 => self.look_up_reach::<S, 3>(simd, sliced, slices, reaches),
            _ => self.look_up_reach::<S, MAX_LAYERS>(simd, sliced, slices, reaches),
        }
    }

    /// [`SliceIndex::set_reach`] with reaches in at most `VECTORS` vectors.
    #[inline(always)]
    fn look_up_reach<S: Simd, const VECTORS: usize>(
        &mut self,
        simd: S,
        sliced: &SlicedSpacepoints<R>,
        slices: RangeInclusive<u32>,
        reaches: &Reaches<R>,
    ) {
        let lanes = R::count::<S>();
        let splat = |number: f64| R::splat(simd, R::from_f64(number));
        let (nowhere, zero, first_layer) = (splat(NOWHERE), splat(0.0), splat(reaches.first as f64));
        let of = R::vectors(simd, &reaches.of);
        let layers = if self.whole { &sliced.layer_number } else { &self.layer };
        let vectors = if VECTORS < MAX_LAYERS { VECTORS } else { reaches.layers.div_ceil(lanes).min(of.len()) };
        for zone in 0..self.zones {
            let [first, last] =
                [slices.start(), slices.end()].map(|slice| self.window(zone, *slice, [reaches.most; 2]));
            let (first, end) = (first.start, last.end + VECTOR_BEYOND);
            let (layers, to) = (&layers[..end], &mut self.reach[..end]);
            // The last vector ends with the last spacepoint.
            for at in (first..end).step_by(lanes) {
                let at = at.min(end - lanes);
                let layer = R::minus(simd, R::vectors(simd, &layers[at..])[0], first_layer);
                let mut found = nowhere;
                for i in (0..vectors).rev() {
                    let these = R::less(simd, layer, splat(((i + 1) * lanes) as f64));
                    found = R::select(simd, these, R::look_up(simd, of[i], layer), found);
                }
                // A look-up below the first layer returned any lane.
                let found = R::select(simd, R::less(simd, layer, zero), nowhere, found);
                R::store(simd, &mut to[at..], found);
            }
        }
    }

    /// Returns the columns of the spacepoints taken.
    #[inline(always)]
    pub(crate) fn columns<'a>(&'a self, sliced: &'a SlicedSpacepoints<R>) -> IndexColumns<'a, R> {
        let columns = if self.whole {
            let SlicedSpacepoints { inverse_rho, z_by_rho, phi, slice_number, layer_number, .. } = sliced;
            [inverse_rho, z_by_rho, phi, phi, slice_number, layer_number]
        } else {
            let Self { inverse_rho, z_by_rho, phi, turned_phi, slice, layer, .. } = self;
            [inverse_rho, z_by_rho, phi, turned_phi, slice, layer]
        };
        let [inverse_rho, z_by_rho, phi, turned_phi, slice, layer] = columns;
        // Of one length, so that one bounds check of a stretch is enough.
        let count = self.taken + VECTOR_BEYOND;
        IndexColumns {
            inverse_rho: &inverse_rho[..count],
            z_by_rho: &z_by_rho[..count],
            phi: &phi[..count],
            slice: &slice[..count],
            turn: &self.turn[..count],
            turned_phi: &turned_phi[..count],
            layer: &layer[..count],
            reach: &self.reach[..count],
        }
    }
}

/// Columns of one length, of a [`SliceIndex`].
#[derive(Clone, Copy)]
pub(crate) struct IndexColumns<'a, R> {
    pub(crate) inverse_rho: &'a [R],
    pub(crate) z_by_rho: &'a [R],
    pub(crate) phi: &'a [R],
    /// May lie beyond the ends of a ring.
    pub(crate) slice: &'a [R],
    /// Whole turns to add to phi where the slice does \[rad\].
    pub(crate) turn: &'a [R],
    /// phi with these turns.
    pub(crate) turned_phi: &'a [R],
    pub(crate) layer: &'a [R],
    /// The largest distance of a partner, in slices.
    pub(crate) reach: &'a [R],
}

impl<R: Lanes> IndexColumns<'_, R> {
    /// A stretch of a column in whole vectors, at least one. Lanes behind its end are beyond every
    /// reach.
    #[inline(always)]
    pub(crate) fn vectors<'a, S: Simd>(simd: S, column: &'a [R], stretch: &Range<usize>) -> &'a [R::Vector<S>] {
        let lanes = R::count::<S>();
        R::vectors(simd, &column[stretch.start..stretch.start + stretch.len().div_ceil(lanes).max(1) * lanes])
    }
}
