//! Spacepoints of some layers that lie about a slice, side by side for vectors.

use std::f64::consts::TAU;
use std::ops::{Range, RangeInclusive};

use pulp::Simd;

use crate::detector::MAX_LAYERS;
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::slice_spacepoints::SlicedSpacepoints;
use crate::engine::plan::RoiPlan;

/// Room behind the last spacepoint, for a vector that begins at it.
const BEYOND: usize = 16;
/// In place of the layer of what lies there.
const NO_LAYER: u8 = 2 * MAX_LAYERS as u8 - 1;

/// How far from each layer a partner may be, in slices; see [`Reaches::put`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaches<R> {
    of: [R; NO_LAYER as usize + 1],
    /// The most slices to either side.
    pub(crate) most: u32,
}

impl<R: Lanes> Reaches<R> {
    /// To no layer.
    pub(crate) fn none() -> Self {
        Self { of: [R::of(-1.0); NO_LAYER as usize + 1], most: 0 }
    }

    /// To no layer any more.
    pub(crate) fn clear(&mut self) {
        self.of[..MAX_LAYERS].fill(R::of(-1.0));
        self.most = 0;
    }

    /// To a layer: so many slices to either side. On a ring that it goes round, each slice once: from half of the ring below,
    /// which is left out where it is that above, to half of it above.
    pub(crate) fn put(&mut self, layer: usize, slices: u32, plan: &RoiPlan) {
        let ring = plan.ring && slices.saturating_mul(2) >= plan.slices;
        let half = f64::from(plan.slices) / 2.0;
        // Distances are taken from a quarter of a slice beside.
        let (reach, most) = match ring {
            false => (f64::from(slices) + 0.5, slices),
            true if plan.slices.is_multiple_of(2) => (half - 0.25, plan.slices / 2),
            true => (half, plan.slices / 2),
        };
        self.of[layer] = R::of(reach);
        self.most = self.most.max(most);
    }
}

/// Spacepoints of some layers in the order of their slices; on a ring, those of its ends once more beyond the other end.
#[derive(Debug)]
pub(crate) struct Around<R> {
    pub(crate) inverse_rho: Vec<R>,
    pub(crate) z_by_rho: Vec<R>,
    pub(crate) phi: Vec<R>,
    /// The slice, going on beyond the ends of a ring.
    pub(crate) slice: Vec<R>,
    /// What phi then lacks: whole turns \[rad\].
    pub(crate) turn: Vec<R>,
    /// With these turns.
    pub(crate) turned_phi: Vec<R>,
    pub(crate) layer: Vec<u8>,
    /// How far off a partner may be.
    pub(crate) reach: Vec<R>,
    /// Where each slice begins, from `margin` slices before the first, and where the last ends.
    begins: Vec<u32>,
    /// For each spacepoint that was looked at, how many were taken before.
    before: Vec<u32>,
    taken: usize,
    margin: u32,
    slices: u32,
    ring: bool,
}

impl<R> Default for Around<R> {
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
            before: Vec::new(),
            taken: 0,
            margin: 0,
            slices: 0,
            ring: false,
        }
    }
}

impl<R: Lanes> Around<R> {
    /// What distances in slices are taken from, beside the slice itself.
    pub(crate) const BESIDE: f64 = 0.25;

    /// Takes the spacepoints of these layers, a bit each, that lie in these slices. No partner is further than `most` slices.
    pub(crate) fn fill(
        &mut self,
        sliced: &SlicedSpacepoints<R>,
        layers: u64,
        within: &Range<u32>,
        ring: bool,
        most: u32,
    ) {
        (self.slices, self.ring, self.taken) = (sliced.slices(), ring, 0);
        self.margin = if ring { most.min(self.slices / 2) } else { 0 };
        let room = if ring { 2 } else { 1 } * sliced.slice.len() + BEYOND;
        let columns = [&mut self.inverse_rho, &mut self.z_by_rho, &mut self.phi, &mut self.slice, &mut self.turn];
        for column in columns.into_iter().chain([&mut self.reach, &mut self.turned_phi]) {
            column.resize(room.max(column.len()), R::of(0.0));
        }
        self.layer.resize(room.max(self.layer.len()), 0);
        self.begins.clear();
        self.take(sliced, layers, self.slices - self.margin..self.slices, within, -1);
        self.take(sliced, layers, 0..self.slices, within, 0);
        self.take(sliced, layers, 0..self.margin, within, 1);
        self.begins.push(self.taken as u32);
        // Numbers, whatever they are; nothing reaches there.
        self.layer[self.taken..self.taken + BEYOND].fill(NO_LAYER);
    }

    /// Takes what lies within these slices and those, so many times round the ring.
    fn take(
        &mut self,
        sliced: &SlicedSpacepoints<R>,
        layers: u64,
        slices: Range<u32>,
        within: &Range<u32>,
        times: i32,
    ) {
        let begin = |slice: u32| sliced.begins[slice as usize] as usize;
        let first = begin(within.start.clamp(slices.start, slices.end));
        let end = begin(within.end.clamp(slices.start, slices.end)).max(first);
        let turn = R::of(f64::from(times) * TAU);
        let shift = R::of(f64::from(times) * f64::from(self.slices));
        self.before.resize(end - first + 1, 0);
        // Slices of the same length, which need not be read again and again.
        let room = self.layer.len();
        let (inverse_rho, z_by_rho) = (&mut self.inverse_rho[..room], &mut self.z_by_rho[..room]);
        let (phi, turned_phi) = (&mut self.phi[..room], &mut self.turned_phi[..room]);
        let (slice, layer) = (&mut self.slice[..room], &mut self.layer[..room]);
        let from = sliced.inverse_rho[first..end].iter().zip(&sliced.z_by_rho[first..end]);
        let from = from.zip(&sliced.phi[first..end]).zip(&sliced.slice_number[first..end]);
        let from = from.zip(&sliced.layer[first..end]).zip(&mut self.before[..]);
        let mut taken = self.taken;
        for (((((u, t), azimuth), number), of), before) in from {
            *before = taken as u32;
            inverse_rho[taken] = *u;
            z_by_rho[taken] = *t;
            phi[taken] = *azimuth;
            turned_phi[taken] = *azimuth + turn;
            slice[taken] = *number + shift;
            layer[taken] = *of;
            taken += (layers >> (of % 64) & 1) as usize;
        }
        self.before[end - first] = taken as u32;
        self.turn[self.taken..taken].fill(turn);
        self.taken = taken;
        let begins = &sliced.begins[slices.start as usize..slices.end as usize];
        if end - first == sliced.layer.len() {
            self.begins.extend(begins.iter().map(|&begin| self.before[begin as usize]));
        } else {
            let before = |begin: u32| self.before[(begin as usize).clamp(first, end) - first];
            self.begins.extend(begins.iter().map(|&begin| before(begin)));
        }
    }

    /// Where the spacepoints of a slice and of its neighbours lie.
    #[inline(always)]
    pub(crate) fn window(&self, slice: u32, most: u32) -> Range<usize> {
        let (low, high) = if self.ring {
            (slice + self.margin - most, slice + self.margin + most + 1)
        } else {
            (slice.saturating_sub(most), slice.saturating_add(most).min(self.slices - 1) + 1)
        };
        self.begins[low as usize] as usize..self.begins[high as usize] as usize
    }

    /// Says how far off partners may be, of the spacepoints that may be about these slices.
    pub(crate) fn set_reach(&mut self, slices: RangeInclusive<u32>, reaches: &Reaches<R>) {
        let first = self.window(*slices.start(), reaches.most).start;
        let end = self.window(*slices.end(), reaches.most).end + BEYOND;
        for (reach, &layer) in self.reach[first..end].iter_mut().zip(&self.layer[first..end]) {
            *reach = reaches.of[usize::from(layer) % reaches.of.len()];
        }
    }

    /// A stretch of a column in whole vectors: what is behind its end is beyond every reach.
    #[inline(always)]
    pub(crate) fn vectors<'a, S: Simd>(simd: S, column: &'a [R], stretch: &Range<usize>) -> &'a [R::Vector<S>] {
        let lanes = R::count::<S>();
        R::vectors(simd, &column[stretch.start..stretch.start + stretch.len().div_ceil(lanes) * lanes])
    }
}
