//! Groups an RoI's spacepoints by (layer, slice): a counting sort. Twin of `shaders/slice_spacepoints.wgsl`.

use crate::engine::real::{Point, Real};

/// Spacepoints of one RoI by layer and, within it, by slice, so that neighbouring slices of a layer lie side by side.
pub(crate) struct SlicedSpacepoints<R> {
    pub(crate) points: Vec<Point<R>>,
    /// Where each (layer, slice) begins: `layers * slices + 1` words.
    pub(crate) cells: Vec<u32>,
    pub(crate) slices: u32,
    /// Layers with a spacepoint, ascending.
    pub(crate) filled: Vec<usize>,
}

impl<R> SlicedSpacepoints<R> {
    /// Where a (layer, slice) begins; slice = slices: where the layer ends.
    pub(crate) fn cell(&self, layer: usize, slice: u32) -> u32 {
        self.cells[layer * self.slices as usize + slice as usize]
    }
}

pub(crate) fn slice_spacepoints<R: Real>(spacepoints: &[Point<R>], layers: usize, slices: u32) -> SlicedSpacepoints<R> {
    // count
    let mut cells = vec![0u32; layers * slices as usize + 1];
    let cell_of = |p: &Point<R>| p.layer as usize * slices as usize + p.slice as usize;
    for s in spacepoints {
        cells[cell_of(s)] += 1;
    }
    // scan: inclusive, so that scattering from the end leaves each cell's beginning
    let mut total = 0;
    for cell in &mut cells {
        total += *cell;
        *cell = total;
    }
    // scatter
    let nowhere = Point { rho: R::of(0.0), phi: R::of(0.0), z: R::of(0.0), slice: 0, layer: 0 };
    let mut points = vec![nowhere; spacepoints.len()];
    for s in spacepoints {
        let cell = &mut cells[cell_of(s)];
        *cell -= 1;
        points[*cell as usize] = *s;
    }
    let filled = (0..layers).filter(|&l| cells[l * slices as usize] != cells[(l + 1) * slices as usize]).collect();
    SlicedSpacepoints { points, cells, slices, filled }
}
