//! Puts an RoI's spacepoints in the order of their slices: a counting sort, as in
//! `shaders/slice_spacepoints/slice_spacepoints.wgsl`.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use crate::detector::MAX_LAYERS;
use crate::engine::real::Real;

/// Spacepoints of one RoI in the order of their slices, as a structure of arrays. A line through
/// the beam at z0 has z / rho = z0 / rho + its slope, so two spacepoints meet the beam where the
/// differences' quotient says.
#[derive(Debug)]
pub(crate) struct SlicedSpacepoints<R: Real> {
    /// 1 / rho \[1/mm\].
    pub(crate) inverse_rho: Vec<R>,
    pub(crate) z_by_rho: Vec<R>,
    /// From the lower edge of the window \[rad\].
    pub(crate) phi: Vec<R>,
    /// As real numbers.
    pub(crate) slice_number: Vec<R>,
    /// As real numbers; behind the last spacepoint [`NO_LAYER`].
    pub(crate) layer_number: Vec<R>,
    /// Where each slice of each zone begins, and where the last one ends.
    pub(crate) begins: Vec<u32>,
    slices: u32,
    pub(crate) zones: Zones<R>,
    /// The least and the largest 1 / rho.
    pub(crate) inverse_rho_range: [R; 2],
    /// The place in `begins` of each spacepoint of the input.
    cells: Vec<u32>,
    /// Spacepoints that take part.
    kept: usize,
    /// The same layer by layer, within it by zone, and within that by slice: one after the other is
    /// met as the outer one.
    by_layer: Vec<OuterSpacepoint<R>>,
    /// Where each layer begins in it.
    layer_begins: [u32; MAX_LAYERS + 1],
    /// Layers with a spacepoint, ascending.
    filled: Vec<usize>,
    /// Sorted by zone and slice. Spacepoints that take no part are at the end.
    sorted: Vec<R::Spacepoint>,
}

/// A spacepoint as pairs have it on their outer layer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OuterSpacepoint<R> {
    pub(crate) inverse_rho: R,
    pub(crate) z_by_rho: R,
    pub(crate) phi: R,
    pub(crate) slice: u32,
}

impl<R: Real> Default for SlicedSpacepoints<R> {
    fn default() -> Self {
        Self {
            inverse_rho: Vec::new(),
            z_by_rho: Vec::new(),
            phi: Vec::new(),
            slice_number: Vec::new(),
            layer_number: Vec::new(),
            begins: vec![0],
            slices: 0,
            zones: Zones::one(),
            inverse_rho_range: [R::from_f64(0.0); 2],
            cells: Vec::new(),
            kept: 0,
            by_layer: Vec::new(),
            layer_begins: [0; MAX_LAYERS + 1],
            filled: Vec::with_capacity(MAX_LAYERS),
            sorted: Vec::new(),
        }
    }
}

impl<R: Real> SlicedSpacepoints<R> {
    pub(crate) fn slices(&self) -> u32 {
        self.slices
    }

    /// Where the slices of a zone begin, and where the last one ends.
    pub(super) fn begins_of(&self, zone: usize) -> &[u32] {
        let slices = self.slices as usize;
        &self.begins[zone * slices..=(zone + 1) * slices]
    }

    /// Spacepoints that take part. Columns of numbers go on behind them.
    pub(crate) fn count_kept(&self) -> usize {
        self.kept
    }

    /// Layers with a spacepoint, ascending.
    pub(crate) fn filled(&self) -> &[usize] {
        &self.filled
    }

    /// The spacepoints of a layer, zone by zone.
    pub(crate) fn of_layer(&self, layer: usize) -> &[OuterSpacepoint<R>] {
        &self.by_layer[self.layer_begins[layer] as usize..self.layer_begins[layer + 1] as usize]
    }

    /// The spacepoints of a layer in a zone and a range of slices, slice by slice.
    pub(crate) fn of_zone(&self, layer: usize, zone: usize, slices: &Range<u32>) -> &[OuterSpacepoint<R>] {
        let all = self.of_layer(layer);
        let [first, end] = [zone, zone + 1].map(|zone| all.partition_point(|b| self.zones.of(b.z_by_rho) < zone));
        let all = &all[first..end];
        let [first, end] = [slices.start, slices.end].map(|slice| all.partition_point(|b| b.slice < slice));
        &all[first..end]
    }
}

/// Zones of z / rho that hold about as many spacepoints each. A line through a spacepoint and the z
/// window passes few of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zones<R> {
    /// Where zones but the first begin, ascending; infinite where there are fewer zones.
    edges: [R; MOST_ZONES - 1],
    pub(crate) count: usize,
}

pub(crate) const MOST_ZONES: usize = 8;

impl<R: Real> Zones<R> {
    fn one() -> Self {
        Self { edges: [R::from_f64(f64::INFINITY); MOST_ZONES - 1], count: 1 }
    }

    /// The most zones, from a sample of spacepoints.
    fn most(spacepoints: &[R::Spacepoint]) -> Self {
        const SAMPLE: usize = 32 * MOST_ZONES;
        if spacepoints.is_empty() {
            return Self::one();
        }
        let mut sample = [R::from_f64(0.0); SAMPLE];
        for (i, z_by_rho) in sample.iter_mut().enumerate() {
            *z_by_rho = z_by_rho_of::<R>(&spacepoints[i * spacepoints.len() / SAMPLE]);
        }
        sample.sort_unstable_by(|a, b| a.to_f64().total_cmp(&b.to_f64()));
        Self { edges: std::array::from_fn(|i| sample[(i + 1) * SAMPLE / MOST_ZONES]), count: MOST_ZONES }
    }

    #[inline(always)]
    pub(crate) fn of(&self, z_by_rho: R) -> usize {
        self.edges.iter().map(|&edge| usize::from(edge <= z_by_rho)).sum()
    }

    /// The zones of a range of z / rho.
    #[inline(always)]
    pub(crate) fn of_range(&self, [low, high]: [R; 2]) -> Range<usize> {
        self.of(low)..self.of(high) + 1
    }
}

#[inline(always)]
fn z_by_rho_of<R: Real>(spacepoint: &R::Spacepoint) -> R {
    let ([rho, _, z], _) = R::fields(spacepoint);
    z * (R::from_f64(1.0) / rho)
}

/// Numbers of columns behind the last spacepoint, for vectors that begin before it.
const BEYOND: usize = 64;
/// In place of the layer of what lies there.
pub(crate) const NO_LAYER: f64 = MAX_LAYERS as f64;

/// Sorts spacepoints into memory that is there already, if there is enough; into the most zones if
/// `zones`.
pub(crate) fn slice_spacepoints<R: Real>(
    spacepoints: &[R::Spacepoint],
    slices: u32,
    zones: bool,
    sliced: &mut SlicedSpacepoints<R>,
) {
    sliced.slices = slices;
    sliced.zones = if zones { Zones::most(spacepoints) } else { Zones::one() };
    let SlicedSpacepoints { begins, sorted, by_layer, layer_begins, filled, cells, .. } = sliced;
    cells.resize(spacepoints.len(), 0);
    Arch::new().dispatch(CellBuilder { spacepoints, slices, zones: sliced.zones, cells });
    // Count; spacepoints that take no part go behind the last slice.
    let last = sliced.zones.count * slices as usize;
    begins.clear();
    begins.resize(last + 1, 0);
    let counts = &mut begins[..=last];
    let mut of_layers = [0u32; 256];
    by_turns(spacepoints, cells, |s, cell| {
        let cell = (cell as usize).min(last);
        counts[cell] += 1;
        of_layers[usize::from(R::fields(s).1 as u8)] += u32::from(cell < last);
    });
    // scan
    let mut total = 0;
    for count in &mut *counts {
        total += *count;
        *count = total;
    }
    // scatter, from each slice's end, so that its beginning is left
    sorted.resize(
        spacepoints.len().max(sorted.len()),
        R::spacepoint(R::from_f64(0.0), R::from_f64(0.0), R::from_f64(0.0), 0),
    );
    let to = &mut sorted[..spacepoints.len()];
    by_turns(spacepoints, cells, |s, cell| {
        let next = &mut counts[(cell as usize).min(last)];
        *next -= 1;
        to[*next as usize] = *s;
    });
    let kept = begins[last] as usize;
    let SlicedSpacepoints { inverse_rho, z_by_rho, phi, slice_number, layer_number, .. } = sliced;
    for column in [inverse_rho, z_by_rho, phi, slice_number, layer_number] {
        column.resize((kept + BEYOND).max(column.len()), R::from_f64(0.0));
    }
    sliced.kept = kept;
    Arch::new().dispatch(ColumnBuilder {
        sorted: &sorted[..kept],
        inverse_rho: &mut sliced.inverse_rho,
        z_by_rho: &mut sliced.z_by_rho,
        phi: &mut sliced.phi,
        slice_number: &mut sliced.slice_number,
        layer_number: &mut sliced.layer_number,
    });
    sliced.layer_number[kept..kept + BEYOND].fill(R::from_f64(NO_LAYER));
    let (lower, larger) = (|a: R, b: R| if b < a { b } else { a }, |a: R, b: R| if b > a { b } else { a });
    let first = sliced.inverse_rho.first().map_or([R::from_f64(0.0); 2], |&first| [first; 2]);
    let wider = |[low, high]: [R; 2], &u: &R| [lower(low, u), larger(high, u)];
    sliced.inverse_rho_range = sliced.inverse_rho[..kept].iter().fold(first, wider);
    // and the same by layer
    filled.clear();
    let mut next = [0; 256];
    for layer in 0..MAX_LAYERS {
        next[layer] = layer_begins[layer];
        layer_begins[layer + 1] = layer_begins[layer] + of_layers[layer];
        if of_layers[layer] > 0 {
            filled.push(layer);
        }
    }
    by_layer.resize(kept, OuterSpacepoint::default());
    let (sorted, by_layer) = (&sorted[..kept], &mut by_layer[..]);
    let (inverse_rho, z_by_rho) = (&sliced.inverse_rho[..kept], &sliced.z_by_rho[..kept]);
    let outer = |i: usize| {
        let ([_, phi, _], slice_layer) = R::fields(&sorted[i]);
        let outer =
            OuterSpacepoint { inverse_rho: inverse_rho[i], z_by_rho: z_by_rho[i], phi, slice: slice_layer >> 8 };
        (usize::from(slice_layer as u8), outer)
    };
    // From both ends by turns, for where the next one goes is waited for too.
    let mut ends = [0; 256];
    ends[..MAX_LAYERS].copy_from_slice(&layer_begins[1..]);
    let half = kept / 2;
    for i in 0..kept - half {
        let (layer, from_first) = outer(i);
        by_layer[next[layer] as usize] = from_first;
        next[layer] += 1;
        if i < half {
            let (layer, from_last) = outer(kept - 1 - i);
            ends[layer] -= 1;
            by_layer[ends[layer] as usize] = from_last;
        }
    }
}

/// One of each quarter by turns: neighbours are often of one slice or layer, and a count that was
/// just written is waited for.
#[inline(always)]
fn by_turns<T>(all: &[T], cells: &[u32], mut take: impl FnMut(&T, u32)) {
    let quarter = all.len() / 4;
    let cells = &cells[..all.len()];
    for i in 0..quarter {
        for at in [i, quarter + i, 2 * quarter + i, 3 * quarter + i] {
            take(&all[at], cells[at]);
        }
    }
    all[4 * quarter..].iter().zip(&cells[4 * quarter..]).for_each(|(s, &cell)| take(s, cell));
}

/// Computes the cell of each spacepoint, its place in the beginnings of slices: that behind the
/// last one if it takes no part. In vectors.
struct CellBuilder<'a, R: Real> {
    spacepoints: &'a [R::Spacepoint],
    slices: u32,
    zones: Zones<R>,
    cells: &'a mut [u32],
}

impl<R: Real> NullaryFnOnce for CellBuilder<'_, R> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { spacepoints, slices, zones, cells } = self;
        let none = zones.count as u32 * slices;
        let all = spacepoints.iter().zip(cells).map(|(s, cell)| (s, R::fields(s).1 >> 8, cell));
        if zones.count == 1 {
            return all.for_each(|(_, slice, cell)| *cell = slice.min(none));
        }
        for (s, slice, cell) in all {
            let zone = zones.of(z_by_rho_of::<R>(s)) as u32;
            *cell = if slice < slices { zone * slices + slice } else { none };
        }
    }
}

/// Makes columns of sorted spacepoints, in vectors.
struct ColumnBuilder<'a, R: Real> {
    sorted: &'a [R::Spacepoint],
    inverse_rho: &'a mut [R],
    z_by_rho: &'a mut [R],
    phi: &'a mut [R],
    slice_number: &'a mut [R],
    layer_number: &'a mut [R],
}

impl<R: Real> NullaryFnOnce for ColumnBuilder<'_, R> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { sorted, inverse_rho, z_by_rho, phi, slice_number, layer_number } = self;
        let columns = inverse_rho.iter_mut().zip(z_by_rho).zip(phi).zip(slice_number).zip(layer_number);
        for (s, columns) in sorted.iter().zip(columns) {
            let ((((inverse_rho, z_by_rho), phi), slice_number), layer_number) = columns;
            let ([rho, from_edge, z], slice_layer) = R::fields(s);
            *inverse_rho = R::from_f64(1.0) / rho;
            *z_by_rho = z * *inverse_rho;
            *phi = from_edge;
            *slice_number = R::from_f64(f64::from((slice_layer >> 8) as i32));
            *layer_number = R::from_f64(f64::from(slice_layer as u8));
        }
    }
}
