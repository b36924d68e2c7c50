//! RoIs as the kernels of the thesis read them: spacepoints by layer and slice, and one row of
//! histograms for each slice.

use std::f64::consts::{PI, TAU};

use zfinder::config::DefaultWindow;
use zfinder::internals::{ReferenceEngine, normalised};
use zfinder::{Detector, PhiWindow, Roi, RoiBatch, RoiDescriptor, Spacepoint};

use crate::error::Result;
use crate::step::Search;

/// One RoI of a [`SlicedBatch`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlicedRoi {
    /// Lower end of the range of z \[mm\].
    pub z_min: f64,
    /// Upper end of the range of z \[mm\].
    pub z_max: f64,
    /// Width of a bin \[mm\].
    pub bin_mm: f64,
    /// Bin of z = 0, negated: bin(z) = rint(z / `bin_mm` - offset).
    pub offset: f64,
    /// Number of bins.
    pub bins: u32,
    /// Number of slices; 0 for an RoI without a usable spacepoint.
    pub slices: u32,
    /// Where its cells begin.
    pub first_cell: u32,
    /// Its first row of histograms.
    pub first_row: u32,
}

/// RoIs, sorted for the device.
#[derive(Clone, Debug)]
pub struct SlicedBatch {
    /// Layers of the detector.
    pub layers: u32,
    /// rho and z \[mm\], by RoI, layer and slice.
    pub points: Vec<[f64; 2]>,
    /// phi of each point \[rad\], from the lower edge of the window on, and its
    /// layer * slices + slice.
    pub azimuths: Vec<[f64; 2]>,
    /// Where each cell of a layer and a slice begins among the points, and the end after the last
    /// cell of an RoI.
    pub cells: Vec<u32>,
    /// The RoIs.
    pub rois: Vec<SlicedRoi>,
    /// RoI and slice of each row of histograms.
    pub rows: Vec<[u32; 2]>,
}

impl SlicedBatch {
    /// Sorts the spacepoints of RoIs into slices. An RoI with an invalid spacepoint gets no slice,
    /// as one without spacepoints.
    ///
    /// # Errors
    /// An RoI whose range of z makes no histogram.
    pub fn new(batch: &RoiBatch, detector: &Detector) -> Result<Self> {
        let config = Search::Pairs.config();
        let engine = ReferenceEngine::new(&config, detector)?;
        let layers = detector.layers().len() as u32;
        let mut sliced = Self {
            layers,
            points: Vec::new(),
            azimuths: Vec::new(),
            cells: Vec::new(),
            rois: Vec::new(),
            rows: Vec::new(),
        };
        for roi in batch.iter() {
            let (z_min, z_max) = roi.descriptor.z_range.unwrap_or((config.z_min_mm, config.z_max_mm));
            let bin_mm = config.z_bin_mm + config.z_bin_eta_coeff * roi.descriptor.eta.abs();
            // Without spacepoints, the reference engine only checks the range of z.
            let descriptor = RoiDescriptor { window: Some(PhiWindow::FromSpacepoints), ..*roi.descriptor };
            let empty = Roi { descriptor, spacepoints: Vec::new() };
            let bins = engine.fill((&empty).into())?.bins() as u32;
            let points: Option<Vec<Spacepoint>> =
                roi.spacepoints().map(|point| engine.about_beam(point).filter(|point| point.layer < layers)).collect();
            let window = roi.descriptor.window.unwrap_or(match config.phi_window {
                DefaultWindow::FullScan => PhiWindow::FullScan,
                DefaultWindow::Spacepoints => PhiWindow::FromSpacepoints,
            });
            let first_cell = sliced.cells.len() as u32;
            let slices = sliced.add(&points.unwrap_or_default(), window, config.phi_slice_deg);
            let number = sliced.rois.len() as u32;
            let first_row = sliced.rows.len() as u32;
            let offset = (z_min / bin_mm).floor();
            sliced.rois.push(SlicedRoi { z_min, z_max, bin_mm, offset, bins, slices, first_cell, first_row });
            sliced.rows.extend((0..slices).map(|slice| [number, slice]));
        }
        Ok(sliced)
    }

    /// Adds the points and cells of one RoI; returns its number of slices.
    fn add(&mut self, points: &[Spacepoint], window: PhiWindow, slice_deg: f64) -> u32 {
        let (low, width) = match window {
            PhiWindow::FullScan => (-PI, TAU),
            PhiWindow::Range { phi_min, phi_max } => PhiWindow::edges(phi_min, phi_max),
            PhiWindow::FromSpacepoints => window_of(points),
        };
        let inverse = 180.0 / (PI * slice_deg);
        let slices = ((width * inverse - 1e-9).ceil() as u32).max(1);
        let cell_of = |point: &Spacepoint| {
            let phi = (normalised(point.phi) - low).rem_euclid(TAU);
            let slice = ((phi * inverse) as u32).min(slices - 1);
            (phi < width).then_some((phi, (point.layer * slices + slice) as usize))
        };
        let placed: Vec<Option<(f64, usize)>> = points.iter().map(cell_of).collect();
        // A counting sort: the numbers of points, then where each cell begins, then where its next
        // point goes.
        let mut places = vec![0; (self.layers * slices) as usize + 1];
        for &(_, cell) in placed.iter().flatten() {
            places[cell + 1] += 1;
        }
        let begin = self.points.len();
        places[0] = begin;
        for cell in 1..places.len() {
            places[cell] += places[cell - 1];
        }
        let end = places[places.len() - 1];
        if end == begin {
            return 0;
        }
        self.cells.extend(places.iter().map(|&place| place as u32));
        self.points.resize(end, [0.0; 2]);
        self.azimuths.resize(end, [0.0; 2]);
        for (point, placed) in points.iter().zip(placed) {
            if let Some((phi, cell)) = placed {
                self.points[places[cell]] = [point.rho, point.z];
                self.azimuths[places[cell]] = [phi, cell as f64];
                places[cell] += 1;
            }
        }
        slices
    }

    /// Returns the most bins of an RoI.
    #[must_use]
    pub fn most_bins(&self) -> u32 {
        self.rois.iter().map(|roi| roi.bins).max().unwrap_or(1)
    }

    /// Returns the most slices of an RoI.
    #[must_use]
    pub fn most_slices(&self) -> u32 {
        self.rois.iter().map(|roi| roi.slices).max().unwrap_or(0)
    }

    /// Returns where the spacepoints of a layer and some slices lie.
    pub(crate) fn cell(&self, roi: &SlicedRoi, layer: u32, slices: std::ops::Range<u32>) -> std::ops::Range<usize> {
        let at = |slice| self.cells[(roi.first_cell + layer * roi.slices + slice) as usize] as usize;
        at(slices.start)..at(slices.end)
    }

    /// Returns the spacepoints that the slice of a row reads: its own and those of its neighbours.
    #[must_use]
    pub fn read_by(&self, row: usize) -> usize {
        let [roi, slice] = self.rows[row];
        let roi = &self.rois[roi as usize];
        (0..self.layers).map(|layer| self.cell(roi, layer, around(roi, slice)).len()).sum()
    }
}

/// Returns the RoIs with the full circle as their window.
#[must_use]
pub fn full_circle(batch: &RoiBatch) -> RoiBatch {
    let mut circles = RoiBatch::new();
    for roi in batch.iter() {
        let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..*roi.descriptor };
        circles.push(descriptor, roi.spacepoints());
    }
    circles
}

/// A slice and its neighbours.
pub(crate) fn around(roi: &SlicedRoi, slice: u32) -> std::ops::Range<u32> {
    slice.saturating_sub(1)..(slice + 2).min(roi.slices)
}

/// Lower edge and width of the smallest window about the spacepoints, positive and negative
/// azimuths taken separately.
fn window_of(points: &[Spacepoint]) -> (f64, f64) {
    const PAD: f64 = 1e-10;
    let range = |is_in: fn(f64) -> bool| {
        let of_sign = || points.iter().map(|point| normalised(point.phi)).filter(move |&phi| is_in(phi));
        of_sign().reduce(f64::min).zip(of_sign().reduce(f64::max))
    };
    let (low, high) = match (range(|phi| phi > 0.0), range(|phi| phi <= 0.0)) {
        (None, None) => (0.0, 0.0),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(positive), Some(negative)) if positive.0 - negative.1 < PI => (negative.0, positive.1),
        (Some(positive), Some(negative)) => (positive.0, negative.1 + TAU),
    };
    (low - PAD, (high - low + 2.0 * PAD).min(TAU))
}
