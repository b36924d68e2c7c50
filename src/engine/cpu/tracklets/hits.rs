//! Spacepoints of pixel layers, about the beam, layer by layer in cells of azimuth.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use crate::engine::cpu::lanes::MOST_LANES;
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::real::Real;
use crate::engine::tracklets::search::{FitHit, TrackletSearch};
use crate::spacepoint::RoiView;

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
    /// In f64.
    pub(crate) exact: Vec<FitHit>,
    /// Numbers of the spacepoints in the event.
    pub(crate) numbers: Vec<u32>,
    /// Where each cell of each layer begins, and where the last one ends.
    begins: Vec<u32>,
    /// The least and the largest rho of each layer.
    extents: Vec<[R; 2]>,
    unsorted: Vec<(u32, FitHit, u32)>,
}

/// The numbers of a hit.
#[derive(Clone, Copy, Debug)]
pub(super) struct HitRecord<R> {
    pub(super) rho: R,
    pub(super) inverse_rho: R,
    pub(super) phi: R,
    pub(super) z: R,
    pub(super) resolution: R,
    /// 1 on a disk, 0 on a barrel.
    pub(super) disk: R,
}

impl<R: Real> HitRecord<R> {
    fn new(hit: &FitHit) -> Self {
        let number = R::from_f64;
        let rho = number(hit.rho);
        Self {
            rho,
            inverse_rho: number(1.0) / rho,
            phi: number(hit.phi),
            z: number(hit.z),
            resolution: number(hit.resolution),
            disk: number(f64::from(u8::from(hit.is_disk))),
        }
    }
}

impl<R: Real> PixelHits<R> {
    /// Takes the valid spacepoints of pixel layers within the RoI's window.
    pub(crate) fn fill(&mut self, tracklets: &TrackletSearch, search: &Search, plan: &RoiPlan, roi: RoiView<'_>) {
        let layers = tracklets.layers.len();
        self.unsorted.clear();
        self.begins.clear();
        self.begins.resize(layers * CELLS + 1, 0);
        self.extents.clear();
        self.extents.resize(layers, [f64::INFINITY, f64::NEG_INFINITY].map(R::from_f64));
        for (number, s) in (0..).zip(roi.spacepoints()) {
            let Some(hit) = tracklets.pixel_hit(search, plan, s) else { continue };
            let cell = s.layer as usize * CELLS + cell(R::from_f64(hit.phi).to_f64());
            self.begins[cell] += 1;
            self.unsorted.push((cell as u32, hit, number));
            let [least, largest] = &mut self.extents[s.layer as usize];
            let rho = R::from_f64(hit.rho);
            (*least, *largest) = (smaller(rho, *least), larger(rho, *largest));
        }
        let mut total = 0;
        for begin in &mut self.begins {
            total += *begin;
            *begin = total;
        }
        let count = self.unsorted.len();
        self.exact.resize(count, FitHit::default());
        self.numbers.resize(count, 0);
        // From each cell's end, so that its beginning is left; backwards, so that the order of the
        // event stays.
        for &(cell, hit, number) in self.unsorted.iter().rev() {
            let begin = &mut self.begins[cell as usize];
            *begin -= 1;
            (self.exact[*begin as usize], self.numbers[*begin as usize]) = (hit, number);
        }
        self.records.clear();
        self.records.extend(self.exact.iter().map(HitRecord::new));
        let max_kappa = R::from_f64(tracklets.max_kappa());
        let columns = [&mut self.rho, &mut self.phi, &mut self.z, &mut self.bend];
        columns.into_iter().for_each(Vec::clear);
        for hit in &self.records {
            self.rho.push(hit.rho);
            self.phi.push(hit.phi);
            self.z.push(hit.z);
            self.bend.push(bend_of(max_kappa, hit.rho));
        }
        for column in [&mut self.rho, &mut self.phi, &mut self.z, &mut self.bend] {
            column.resize(count + MOST_LANES, R::from_f64(1.0));
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
