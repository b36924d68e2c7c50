//! Spacepoints of pixel layers, about the beam, layer by layer in cells of azimuth.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use crate::engine::plan::Search;
use crate::engine::real::Real;
use crate::engine::tracklets::fit::FitHit;
use crate::engine::tracklets::search::TrackletSearch;
use crate::spacepoint::RoiView;

/// Cells of azimuth of a layer.
const CELLS: usize = 512;

/// Hits in the order of layers and cells. Columns go on behind the last hit for [`BEYOND`] numbers.
#[derive(Debug, Default)]
pub(crate) struct PixelHits<R> {
    pub(super) rho: Vec<R>,
    pub(super) inverse_rho: Vec<R>,
    pub(super) phi: Vec<R>,
    pub(super) z: Vec<R>,
    /// In f64.
    pub(crate) exact: Vec<FitHit>,
    /// Numbers of the spacepoints in the event.
    pub(crate) numbers: Vec<u32>,
    /// Where each cell of each layer begins, and where the last one ends.
    begins: Vec<u32>,
    /// The least and the largest rho, and z or, on disks, |z|, of each layer.
    extents: Vec<[[R; 2]; 2]>,
    unsorted: Vec<(u32, FitHit, u32)>,
}

/// Numbers of columns behind the last hit, for vectors that begin before it.
pub(super) const BEYOND: usize = 16;

impl<R: Real> PixelHits<R> {
    /// Takes the valid spacepoints of pixel layers.
    pub(crate) fn fill(&mut self, tracklets: &TrackletSearch, search: &Search, roi: RoiView<'_>) {
        let layers = &tracklets.layers;
        self.unsorted.clear();
        self.begins.clear();
        self.begins.resize(layers.len() * CELLS + 1, 0);
        self.extents.clear();
        self.extents.resize(layers.len(), [[f64::INFINITY, f64::NEG_INFINITY].map(R::from_f64); 2]);
        for (number, s) in (0..).zip(roi.spacepoints()) {
            let Some(Some(layer)) = layers.get(s.layer as usize) else { continue };
            let Some((rho, phi)) = search.about_beam(s.rho, s.phi, s.z, s.layer) else { continue };
            let cell = s.layer as usize * CELLS + cell(R::from_f64(phi).to_f64());
            let hit = FitHit { rho, phi, z: s.z, is_disk: layer.is_disk, resolution: layer.resolution };
            self.begins[cell] += 1;
            self.unsorted.push((cell as u32, hit, number));
            let along = if layer.is_disk { s.z.abs() } else { s.z };
            for ([low, high], number) in self.extents[s.layer as usize].iter_mut().zip([rho, along]) {
                let number = R::from_f64(number);
                (*low, *high) = (smaller(number, *low), larger(number, *high));
            }
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
        let columns = [&mut self.rho, &mut self.inverse_rho, &mut self.phi, &mut self.z];
        let numbers: [fn(&FitHit) -> f64; 4] = [|hit| hit.rho, |hit| 1.0 / hit.rho, |hit| hit.phi, |hit| hit.z];
        for (column, number) in columns.into_iter().zip(numbers) {
            column.clear();
            column.extend(self.exact.iter().map(|hit| R::from_f64(number(hit))));
            column.resize(count + BEYOND, R::from_f64(0.0));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The places of a layer's hits.
    pub(super) fn of_layer(&self, layer: usize) -> Range<usize> {
        self.begins[layer * CELLS] as usize..self.begins[(layer + 1) * CELLS] as usize
    }

    /// The least and the largest rho, and z or, on disks, |z|, of a layer's hits. Infinite the other
    /// way round without a hit.
    pub(super) fn extents(&self, layer: u32) -> [[R; 2]; 2] {
        self.extents[layer as usize]
    }

    /// The places of a layer's hits with an azimuth from `low` to `high`, and some beside them. The
    /// range may pass the ends of the circle.
    #[inline(always)]
    pub(super) fn between(&self, layer: u32, low: R, high: R) -> [Range<usize>; 2] {
        // More than the numbers' rounding.
        let (low, high) = (low.to_f64() - 1e-6, high.to_f64() + 1e-6);
        let first = layer as usize * CELLS;
        let range =
            |low: f64, high: f64| self.begins[first + cell(low)] as usize..self.begins[first + cell(high) + 1] as usize;
        if high - low >= TAU {
            [range(-PI, PI), 0..0]
        } else if low < -PI {
            [range(-PI, high), range(low + TAU, PI)]
        } else if high > PI {
            [range(low, PI), range(-PI, high - TAU)]
        } else {
            [range(low, high), 0..0]
        }
    }
}

/// The cell of an azimuth from -pi to pi.
fn cell(phi: f64) -> usize {
    (((phi + PI) * (CELLS as f64 / TAU)) as usize).min(CELLS - 1)
}

#[inline(always)]
pub(super) fn larger<R: Real>(a: R, b: R) -> R {
    if b > a { b } else { a }
}

#[inline(always)]
pub(super) fn smaller<R: Real>(a: R, b: R) -> R {
    if b < a { b } else { a }
}
