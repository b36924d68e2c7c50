//! Groups an RoI's spacepoints by layer and, within a layer, by slice: a counting sort. Twin of
//! `shaders/slice_spacepoints/slice_spacepoints.wgsl` in one tile.

use crate::engine::encoding::DROPPED;
use crate::engine::real::Real;

/// The spacepoints of one RoI in the order of their cells.
pub(crate) struct SlicedSpacepoints<R> {
    /// Where each cell begins, and behind the last cell the number of spacepoints.
    pub(crate) cells: Vec<u32>,
    /// 1 / rho \[1/mm\] and z / rho.
    pub(crate) points: Vec<[R; 2]>,
    pub(crate) beside: Vec<PointAttributes<R>>,
    pub(crate) slices: u32,
}

/// The data of a sorted spacepoint other than its point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PointAttributes<R> {
    /// From the lower edge of the window \[rad\].
    pub(crate) phi: R,
    /// slice << 8 | layer
    pub(crate) slice_layer: u32,
}

impl<R> Default for SlicedSpacepoints<R> {
    fn default() -> Self {
        Self { cells: Vec::new(), points: Vec::new(), beside: Vec::new(), slices: 0 }
    }
}

// shared/types.wgsl, `cell_place` by layer

pub(super) fn cell_place(slices: u32, layer: u32, slice: u32) -> u32 {
    layer * slices + slice
}

fn cell_count(layers: u32, slices: u32) -> u32 {
    layers * slices + 1
}

// slice_spacepoints/counting_sort.wgsl

fn sorted_point<R: Real>(spacepoint: &R::Spacepoint) -> [R; 2] {
    let ([rho, _, z], _) = R::fields(spacepoint);
    let inverse_rho = R::from_f64(1.0) / rho;
    [inverse_rho, z * inverse_rho]
}

fn add_to(cells: &mut [u32], cell: u32) -> u32 {
    let old = cells[cell as usize];
    cells[cell as usize] += 1;
    old
}

/// Counts become beginnings. Returns the sum of all counts.
fn scan_cells(cells: &mut [u32]) -> u32 {
    let mut start = 0;
    for cell in cells {
        start += std::mem::replace(cell, start);
    }
    start
}

// slice_spacepoints/slice_spacepoints.wgsl

/// The cell of a spacepoint, or [`DROPPED`] if it takes no part.
fn cell_of<R: Real>(slices: u32, spacepoint: &R::Spacepoint) -> u32 {
    let (_, slice_layer) = R::fields(spacepoint);
    if slice_layer == DROPPED { DROPPED } else { cell_place(slices, slice_layer & 0xff, slice_layer >> 8) }
}

fn write_out<R: Real>(sliced: &mut SlicedSpacepoints<R>, place: u32, spacepoint: &R::Spacepoint) {
    let ([_, phi, _], slice_layer) = R::fields(spacepoint);
    sliced.points[place as usize] = sorted_point::<R>(spacepoint);
    sliced.beside[place as usize] = PointAttributes { phi, slice_layer };
}

/// Sorts `spacepoints` into `sliced`, whose memory is reused.
pub(crate) fn slice_spacepoints<R: Real>(
    spacepoints: &[R::Spacepoint],
    layers: u32,
    slices: u32,
    sliced: &mut SlicedSpacepoints<R>,
) {
    sliced.slices = slices;
    sliced.cells.clear();
    sliced.cells.resize(cell_count(layers, slices) as usize, 0);
    for spacepoint in spacepoints {
        let cell = cell_of::<R>(slices, spacepoint);
        if cell != DROPPED {
            add_to(&mut sliced.cells, cell);
        }
    }
    let total_points = scan_cells(&mut sliced.cells) as usize;
    sliced.points.resize(total_points, [R::from_f64(0.0); 2]);
    sliced.beside.resize(total_points, PointAttributes::default());
    for spacepoint in spacepoints {
        let cell = cell_of::<R>(slices, spacepoint);
        if cell != DROPPED {
            let at = add_to(&mut sliced.cells, cell);
            write_out(sliced, at, spacepoint);
        }
    }
    // Each cell's word has moved on to the beginning of the next cell.
    sliced.cells.rotate_right(1);
    sliced.cells[0] = 0;
}
