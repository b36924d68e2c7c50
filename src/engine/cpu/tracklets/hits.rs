//! Spacepoints of pixel layers, about the beam, layer by layer in cells of azimuth.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use crate::engine::cpu::lanes::MOST_LANES;
use crate::engine::real::Real;
use crate::engine::tracklets::roi_hits::RoiHits;
use crate::engine::tracklets::search::PixelLayer;

/// Cells of azimuth of a layer.
const CELLS: usize = 512;

/// Hits in the order of layers and cells. Columns go on behind the last hit for a vector.
#[derive(Debug, Default)]
pub(crate) struct PixelHits<R> {
    pub(super) rho: Vec<R>,
    pub(super) phi: Vec<R>,
    pub(super) z: Vec<R>,
    /// See [`bend_of`].
    pub(super) bend: Vec<R>,
    /// The numbers of each hit side by side, for those that are looked up one by one.
    pub(super) records: Vec<HitRecord<R>>,
    /// Numbers of the spacepoints in the event.
    pub(crate) numbers: Vec<u32>,
    /// Where each cell of each layer begins, and where the last one ends.
    begins: Vec<u32>,
    /// The least and the largest rho of each layer.
    extents: Vec<[R; 2]>,
    unsorted: Vec<Unsorted<R>>,
}

/// The numbers of a hit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HitRecord<R> {
    pub(super) rho: R,
    pub(super) inverse_rho: R,
    pub(super) phi: R,
    pub(super) z: R,
    pub(super) resolution: R,
    /// In layers of 1 % of a radiation length; of a disk, with a negative sign.
    pub(super) thickness: R,
}

/// A hit that has no place yet.
#[derive(Clone, Copy, Debug)]
struct Unsorted<R> {
    cell: u32,
    number: u32,
    rho: R,
    phi: R,
    z: R,
}

impl<R: Real> PixelHits<R> {
    /// Takes the hits of an RoI.
    pub(crate) fn fill(&mut self, hits: &RoiHits<'_>) {
        let number = R::from_f64;
        let layers = &hits.tracklets.layers;
        self.unsorted.clear();
        self.begins.clear();
        self.begins.resize(layers.len() * CELLS + 1, 0);
        self.extents.clear();
        self.extents.resize(layers.len(), [f64::INFINITY, f64::NEG_INFINITY].map(number));
        hits.for_each(|of, layer, place| {
            let [rho, phi, z] = place.map(number);
            let cell = layer as usize * CELLS + cell(phi.to_f64());
            self.begins[cell] += 1;
            self.unsorted.push(Unsorted { cell: cell as u32, number: of, rho, phi, z });
            let [least, largest] = &mut self.extents[layer as usize];
            (*least, *largest) = (smaller(rho, *least), larger(rho, *largest));
        });
        let mut total = 0;
        for begin in &mut self.begins {
            total += *begin;
            *begin = total;
        }
        let count = self.unsorted.len();
        let columns = [&mut self.rho, &mut self.phi, &mut self.z, &mut self.bend];
        columns.into_iter().for_each(|column| column.resize(count + MOST_LANES, number(1.0)));
        self.records.resize(count, HitRecord::default());
        self.numbers.resize(count, 0);
        let max_kappa = number(hits.tracklets.max_kappa());
        let of_layers: Vec<[R; 2]> = layers
            .iter()
            .map(|layer| {
                let of = |layer: &PixelLayer| [layer.resolution, layer.thickness].map(number);
                layer.as_ref().map(of).unwrap_or_default()
            })
            .collect();
        // From each cell's end, so that its beginning is left; backwards, so that the order of the
        // event stays.
        for &Unsorted { cell, number: of, rho, phi, z } in self.unsorted.iter().rev() {
            let begin = &mut self.begins[cell as usize];
            *begin -= 1;
            let (place, [resolution, thickness]) = (*begin as usize, of_layers[cell as usize / CELLS]);
            self.records[place] = HitRecord { rho, inverse_rho: number(1.0) / rho, phi, z, resolution, thickness };
            self.numbers[place] = of;
            (self.rho[place], self.phi[place], self.z[place]) = (rho, phi, z);
            self.bend[place] = bend_of(max_kappa, rho);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The places of a layer's hits.
    pub(super) fn of_layer(&self, layer: usize) -> Range<usize> {
        self.begins[layer * CELLS] as usize..self.begins[(layer + 1) * CELLS] as usize
    }

    /// The least and the largest rho of a layer's hits. Without a hit they are infinite, the other
    /// way round.
    pub(super) fn extents(&self, layer: u32) -> [R; 2] {
        self.extents[layer as usize]
    }

    /// The places of a layer's hits whose azimuth is at most `reach` from that of a cell, and of
    /// some next to these hits. The range may pass the ends of the circle.
    #[inline(always)]
    pub(super) fn around(&self, layer: u32, cell: usize, reach: R) -> [Range<usize>; 2] {
        let first = layer as usize * CELLS;
        let range =
            |cells: Range<usize>| self.begins[first + cells.start] as usize..self.begins[first + cells.end] as usize;
        // Rounded up, for the numbers' rounding too.
        let cells = (reach.to_f32() * (CELLS as f64 / TAU) as f32) as usize + 2;
        if 2 * cells >= CELLS {
            [range(0..CELLS), 0..0]
        } else if cell < cells {
            [range(0..cell + cells + 1), range(cell + CELLS - cells..CELLS)]
        } else if cell + cells >= CELLS {
            [range(cell - cells..CELLS), range(0..cell + cells + 1 - CELLS)]
        } else {
            [range(cell - cells..cell + cells + 1), 0..0]
        }
    }
}

/// The cell of an azimuth from -pi to pi.
pub(super) fn cell(phi: f64) -> usize {
    (((phi + PI) * (CELLS as f64 / TAU)) as usize).min(CELLS - 1)
}

#[inline(always)]
fn larger<R: Real>(a: R, b: R) -> R {
    if b > a { b } else { a }
}

#[inline(always)]
fn smaller<R: Real>(a: R, b: R) -> R {
    if b < a { b } else { a }
}

/// The azimuth that the softest track turns up to rho, with an impact parameter. The reach of a
/// doublet is the difference of two, and scattering.
#[inline(always)]
pub(super) fn bend_of<R: Real>(max_kappa: R, rho: R) -> R {
    R::from_f64(BEND) * max_kappa * rho - R::from_f64(D0_MM) / rho
}

const BEND: f64 = 0.55;
/// Impact parameter \[mm\].
const D0_MM: f64 = 0.15;
