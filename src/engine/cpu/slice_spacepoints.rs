//! Puts an RoI's spacepoints in the order of their slices: a counting sort. Twin of
//! `shaders/slice_spacepoints.wgsl`.

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
    /// Where each slice begins: `slices + 1` words.
    pub(crate) begins: Vec<u32>,
    /// Spacepoints that take part.
    kept: usize,
    /// The same layer by layer, and within it by slice: one after the other is met as the outer
    /// one.
    by_layer: Vec<OuterSpacepoint<R>>,
    /// Where each layer begins in it.
    layer_begins: [u32; MAX_LAYERS + 1],
    /// Layers with a spacepoint, ascending.
    filled: Vec<usize>,
    /// Sorted by slice, in the input's order within a slice. Spacepoints that take no part are at
    /// the end.
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
        self.begins.len() as u32 - 1
    }

    /// Spacepoints that take part. Columns of numbers go on behind them.
    pub(crate) fn count_kept(&self) -> usize {
        self.kept
    }

    /// Layers with a spacepoint, ascending.
    pub(crate) fn filled(&self) -> &[usize] {
        &self.filled
    }

    /// The spacepoints of a layer, slice by slice.
    pub(crate) fn of_layer(&self, layer: usize) -> &[OuterSpacepoint<R>] {
        &self.by_layer[self.layer_begins[layer] as usize..self.layer_begins[layer + 1] as usize]
    }
}

/// Numbers of columns behind the last spacepoint, for vectors that begin before it.
const BEYOND: usize = 64;
/// In place of the layer of what lies there.
pub(crate) const NO_LAYER: f64 = MAX_LAYERS as f64;

/// Sorts spacepoints into memory that is there already, if there is enough.
pub(crate) fn slice_spacepoints<R: Real>(
    spacepoints: &[R::Spacepoint],
    slices: u32,
    sliced: &mut SlicedSpacepoints<R>,
) {
    let SlicedSpacepoints { begins, sorted, by_layer, layer_begins, filled, .. } = sliced;
    // Count; spacepoints that take no part go behind the last slice.
    begins.clear();
    begins.resize(slices as usize + 1, 0);
    let slice_of = |s: &R::Spacepoint| (R::fields(s).1 >> 8).min(slices) as usize;
    let counts = &mut begins[..=slices as usize];
    let mut of_layers = [0u32; 256];
    by_turns(spacepoints, |s| {
        let slice = slice_of(s);
        counts[slice] += 1;
        of_layers[usize::from(R::fields(s).1 as u8)] += u32::from(slice < slices as usize);
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
    by_turns(spacepoints, |s| {
        let next = &mut counts[slice_of(s)];
        *next -= 1;
        to[*next as usize] = *s;
    });
    let kept = begins[slices as usize] as usize;
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
fn by_turns<T>(all: &[T], mut take: impl FnMut(&T)) {
    let quarter = all.len() / 4;
    let (first, second) = all.split_at(2 * quarter);
    let [(a, b), (c, d)] = [first, second].map(|half| half.split_at(quarter));
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        [a, b, c, d].into_iter().for_each(&mut take);
    }
    d[quarter..].iter().for_each(take);
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
