//! Puts an RoI's spacepoints in the order of their slices: a counting sort. Twin of `shaders/slice_spacepoints.wgsl`.

use crate::detector::MAX_LAYERS;
use crate::engine::real::{Point, Real};

/// Spacepoints of one RoI in the order of their slices, as a structure of arrays. A line through the beam at z0 has
/// z / rho = z0 / rho + its slope, so two spacepoints meet the beam where the differences' quotient says.
#[derive(Debug)]
pub(crate) struct SlicedSpacepoints<R> {
    /// 1 / rho \[1/mm\].
    pub(crate) inverse_rho: Vec<R>,
    pub(crate) z_by_rho: Vec<R>,
    /// From the lower edge of the window \[rad\].
    pub(crate) phi: Vec<R>,
    pub(crate) slice: Vec<u32>,
    pub(crate) layer: Vec<u8>,
    /// Where each slice begins: `slices + 1` words.
    pub(crate) begins: Vec<u32>,
    /// Where the spacepoints of each layer stand, layer by layer, and within it by slice.
    by_layer: Vec<u32>,
    /// Where each layer begins in it.
    layer_begins: [u32; MAX_LAYERS + 1],
    /// Layers with a spacepoint, ascending.
    filled: Vec<usize>,
}

impl<R> Default for SlicedSpacepoints<R> {
    fn default() -> Self {
        Self {
            inverse_rho: Vec::new(),
            z_by_rho: Vec::new(),
            phi: Vec::new(),
            slice: Vec::new(),
            layer: Vec::new(),
            begins: vec![0],
            by_layer: Vec::new(),
            layer_begins: [0; MAX_LAYERS + 1],
            filled: Vec::with_capacity(MAX_LAYERS),
        }
    }
}

impl<R> SlicedSpacepoints<R> {
    pub(crate) fn slices(&self) -> u32 {
        self.begins.len() as u32 - 1
    }

    /// Layers with a spacepoint, ascending.
    pub(crate) fn filled(&self) -> &[usize] {
        &self.filled
    }

    /// Where the spacepoints of a layer stand, slice by slice.
    pub(crate) fn of_layer(&self, layer: usize) -> &[u32] {
        &self.by_layer[self.layer_begins[layer] as usize..self.layer_begins[layer + 1] as usize]
    }
}

/// Sorts spacepoints into memory that is there already, if there is enough.
pub(crate) fn slice_spacepoints<R: Real>(spacepoints: &[Point<R>], slices: u32, sliced: &mut SlicedSpacepoints<R>) {
    let SlicedSpacepoints { inverse_rho, z_by_rho, phi, slice, layer, begins, by_layer, layer_begins, filled } = sliced;
    // count
    begins.clear();
    begins.resize(slices as usize + 1, 0);
    let mut of_layers = [0u32; MAX_LAYERS];
    for s in spacepoints {
        begins[s.slice as usize] += 1;
        of_layers[s.layer as usize % MAX_LAYERS] += 1;
    }
    // scan
    let mut total = 0;
    for begin in begins.iter_mut() {
        total += *begin;
        *begin = total;
    }
    // scatter, from each slice's end, so that its beginning is left
    for column in [&mut *inverse_rho, z_by_rho, phi] {
        column.resize(spacepoints.len(), R::of(0.0));
    }
    slice.resize(spacepoints.len(), 0);
    layer.resize(spacepoints.len(), 0);
    for s in spacepoints {
        let next = &mut begins[s.slice as usize];
        *next -= 1;
        let at = *next as usize;
        let inverse = R::of(1.0) / s.rho;
        (inverse_rho[at], z_by_rho[at], phi[at]) = (inverse, s.z * inverse, s.phi);
        (slice[at], layer[at]) = (s.slice, s.layer as u8);
    }
    // and the same by layer
    filled.clear();
    let mut next = [0; MAX_LAYERS];
    for of in 0..MAX_LAYERS {
        next[of] = layer_begins[of];
        layer_begins[of + 1] = layer_begins[of] + of_layers[of];
        if of_layers[of] > 0 {
            filled.push(of);
        }
    }
    by_layer.resize(spacepoints.len(), 0);
    for (at, &layer) in layer.iter().enumerate() {
        let next = &mut next[layer as usize % MAX_LAYERS];
        by_layer[*next as usize] = at as u32;
        *next += 1;
    }
}
