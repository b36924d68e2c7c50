//! The z histogram of an RoI, with found and true vertices.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{FOUND, Key, Line, Mark, Shape, TRUE, axes, text, titled};
use super::{Area, Drawn, Format, Picture};
use crate::error::Result;
use crate::inspect::{Inspection, ZHistogram};
use zfinder_io::TruthVertex;

/// Bins on either side of the first vertex in the lower panel.
const BINS_BESIDE: usize = 30;
/// Steps that the upper panel has at most: more cannot be seen.
const STEPS: usize = 500;
/// Width of a number of a vertex \[pixels\].
const NUMBER: f64 = 22.0;
const GREY: RGBColor = RGBColor(178, 178, 178);

/// The histogram of an RoI: above over the whole range, each step as high as the highest of its
/// bins, and below bin by bin about the first vertex, the three bins of its peak in black. Found
/// vertices are numbered from 0 in their order; true ones stand at the foot. Where the
/// configuration makes several histograms it is their sum.
///
/// # Errors
/// [`Error::Plot`](crate::Error::Plot) where the library that draws gives up.
pub fn histogram(inspection: &Inspection, truth: &[TruthVertex], format: Format) -> Result<Vec<u8>> {
    Drawing { inspection, truth, histogram: inspection.histogram() }.render(format)
}

struct Drawing<'a> {
    inspection: &'a Inspection,
    truth: &'a [TruthVertex],
    histogram: ZHistogram,
}

/// A part of the histogram, as it is drawn.
struct Steps {
    low_mm: f64,
    step_mm: f64,
    heights: Vec<u64>,
}

impl Picture for Drawing<'_> {
    fn size(&self) -> (u32, u32) {
        (1000, if self.inspection.peaks.is_empty() { 420 } else { 740 })
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB> {
        let area = titled(area, &title(self.inspection, self.truth), &self.legend())?;
        let histogram = &self.histogram;
        let in_a_step = histogram.weights.len().div_ceil(STEPS).max(1);
        let whole = Steps {
            low_mm: histogram.low_mm,
            step_mm: in_a_step as f64 * histogram.bin_mm,
            heights: histogram.weights.chunks(in_a_step).map(|bins| bins.iter().copied().max().unwrap_or(0)).collect(),
        };
        let Some(peak) = self.inspection.peaks.first() else { return self.panel(&area, &whole, None) };
        let (above, below) = area.split_vertically(area.dim_in_pixel().1 / 2);
        self.panel(&above, &whole, None)?;
        let first = peak.first_bin.saturating_sub(BINS_BESIDE);
        let last = (peak.first_bin + 3 + BINS_BESIDE).min(histogram.weights.len());
        let near = Steps {
            low_mm: histogram.edges_mm(first).0,
            step_mm: histogram.bin_mm,
            heights: histogram.weights[first..last].to_vec(),
        };
        self.panel(&below, &near, Some(peak.first_bin - first))
    }
}

impl Drawing<'_> {
    fn legend(&self) -> Vec<(Key, String)> {
        let mut legend = Vec::new();
        if !self.inspection.peaks.is_empty() {
            legend.push((Key::Mark(found()), "found vertex".to_owned()));
            legend.push((Key::Area(BLACK), "bins of the first".into()));
        }
        if self.truth.iter().any(|vertex| vertex.is_hard_scatter) {
            legend.push((Key::Mark(of_truth(true)), "true hard scatter".into()));
        }
        if self.truth.iter().any(|vertex| !vertex.is_hard_scatter) {
            legend.push((Key::Mark(of_truth(false)), "true pile-up".into()));
        }
        if self.background().is_some() {
            legend.push((Key::Line(Line::dashed(BLACK, 1)), "background".into()));
        }
        legend
    }

    /// What the heights are.
    fn of_what(&self) -> String {
        let histogram = &self.histogram;
        let what = if histogram.weights == histogram.pairs { "pairs" } else { "weight" };
        let of = match self.inspection.histograms.len() {
            0..=1 => String::new(),
            several => format!(", {several} histograms"),
        };
        // To a micrometre: widths that grow with eta have many digits.
        format!("{what} / {} mm{of}", (1e3 * histogram.bin_mm).round() / 1e3)
    }

    /// Of a bin of the sum of all histograms.
    fn background(&self) -> Option<f64> {
        self.inspection.background.map(|of_three| of_three / 3.0 * self.inspection.histograms.len() as f64)
    }

    /// `peak`: the first of its bins.
    fn panel<DB: DrawingBackend>(&self, area: &Area<'_, DB>, steps: &Steps, peak: Option<usize>) -> Drawn<DB> {
        let (low, high) = steps.range();
        let top = steps.heights.iter().copied().max().unwrap_or(0).max(1) as f64;
        // Room for found vertices above, and for true ones below.
        let (foot, head) = (if self.truth.is_empty() { 0.0 } else { -0.1 * top }, 1.2 * top);
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(24)
            .x_label_area_size(48)
            .y_label_area_size(76)
            .build_cartesian_2d(low..high, foot..head)?;
        axes(&mut chart, "z [mm]", &self.of_what(), (10, 6))?;
        let plane = chart.plotting_area();
        plane.draw(&steps.polygon(0..steps.heights.len(), GREY))?;
        if let Some(first) = peak {
            plane.draw(&steps.polygon(first..first + 3, BLACK))?;
        }
        Line::solid(BLACK, 1).draw(plane, vec![(low, 0.0), (high, 0.0)])?;
        if let Some(background) = self.background() {
            Line::dashed(BLACK, 1).draw(plane, vec![(low, background), (high, background)])?;
        }
        let inside = |z: f64| low <= z && z <= high;
        // The hard scatter last, so that it is on top.
        for is_hard_scatter in [false, true] {
            let those = self.truth.iter().filter(|v| v.is_hard_scatter == is_hard_scatter && inside(v.z_mm));
            of_truth(is_hard_scatter).draw(plane, those.map(|vertex| (vertex.z_mm, 0.5 * foot)))?;
        }
        let vertices = self.inspection.result.vertices.iter().map(|vertex| vertex.z_mm).enumerate();
        let vertices: Vec<(usize, f64)> = vertices.filter(|&(_, z)| inside(z)).collect();
        found().draw(plane, vertices.iter().map(|&(_, z)| (z, 1.05 * top)))?;
        // Of numbers that would overlap, that of the vertex found first.
        let apart = NUMBER * (high - low) / f64::from(plane.dim_in_pixel().0);
        let mut numbered: Vec<f64> = Vec::new();
        for (number, z) in vertices {
            if numbered.iter().all(|other| (other - z).abs() > apart) {
                numbered.push(z);
                let label = Text::new(number.to_string(), (0, -12), text(17).pos(Pos::new(HPos::Center, VPos::Bottom)));
                plane.draw(&(EmptyElement::at((z, 1.05 * top)) + label))?;
            }
        }
        Ok(())
    }
}

impl Steps {
    /// Of an RoI without a histogram there is nothing, in some range.
    fn range(&self) -> (f64, f64) {
        let high = self.low_mm + self.heights.len() as f64 * self.step_mm;
        if high > self.low_mm { (self.low_mm, high) } else { (-1.0, 1.0) }
    }

    fn polygon(&self, steps: std::ops::Range<usize>, colour: RGBColor) -> Polygon<(f64, f64)> {
        let edge = |number: usize| self.low_mm + number as f64 * self.step_mm;
        let mut corners = vec![(edge(steps.start), 0.0)];
        for step in steps.clone() {
            let height = self.heights[step] as f64;
            corners.extend([(edge(step), height), (edge(step + 1), height)]);
        }
        corners.push((edge(steps.end), 0.0));
        Polygon::new(corners, colour.filled())
    }
}

pub(super) fn title(inspection: &Inspection, truth: &[TruthVertex]) -> String {
    let result = &inspection.result;
    let mut title = format!(
        "event {}, RoI {}: {} spacepoints, {} found",
        result.id.event_id,
        result.id.roi_id,
        result.spacepoints,
        match result.vertices.len() {
            1 => "1 vertex".to_owned(),
            number => format!("{number} vertices"),
        }
    );
    if !truth.is_empty() {
        title.push_str(&format!(", {} true", truth.len()));
    }
    if result.vertices.is_empty() {
        title.push_str(&format!(" (status {})", result.status));
    }
    title
}

pub(super) fn found() -> Mark {
    Mark { shape: Shape::Down, filled: true, colour: FOUND, size: 7 }
}

pub(super) fn of_truth(is_hard_scatter: bool) -> Mark {
    if is_hard_scatter {
        Mark { shape: Shape::Diamond, filled: true, colour: TRUE, size: 8 }
    } else {
        Mark { shape: Shape::Disc, filled: false, colour: TRUE, size: 4 }
    }
}
