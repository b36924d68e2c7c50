//! Groups an RoI's spacepoints by (layer, slice): a counting sort. Twin of `shaders/slice_spacepoints.wgsl`.

use crate::engine::real::{Point, Real};

/// A sorted spacepoint. A line through the beam at z0 has z / rho = z0 / rho + its slope, so two of these meet the beam where
/// the differences' quotient says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SortedPoint<R> {
    /// 1 / rho \[1/mm\].
    pub(crate) inverse_rho: R,
    pub(crate) z_by_rho: R,
    /// From the lower edge of the window \[rad\].
    pub(crate) phi: R,
    pub(crate) slice: u32,
    pub(crate) layer: u32,
}

impl<R: Real> From<&Point<R>> for SortedPoint<R> {
    fn from(point: &Point<R>) -> Self {
        let inverse_rho = R::of(1.0) / point.rho;
        let &Point { phi, z, slice, layer, .. } = point;
        Self { inverse_rho, z_by_rho: z * inverse_rho, phi, slice, layer }
    }
}

/// Spacepoints of one RoI by layer and, within it, by slice, so that neighbouring slices of a layer lie side by side.
pub(crate) struct SlicedSpacepoints<R> {
    pub(crate) points: Vec<SortedPoint<R>>,
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
    let nowhere = Point { rho: R::of(1.0), phi: R::of(0.0), z: R::of(0.0), slice: 0, layer: 0 };
    let mut points = vec![SortedPoint::from(&nowhere); spacepoints.len()];
    for s in spacepoints {
        let cell = &mut cells[cell_of(s)];
        *cell -= 1;
        points[*cell as usize] = s.into();
    }
    let filled = (0..layers).filter(|&l| cells[l * slices as usize] != cells[(l + 1) * slices as usize]).collect();
    SlicedSpacepoints { points, cells, slices, filled }
}
