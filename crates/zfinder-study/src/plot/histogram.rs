//! Plots the z histogram of an RoI, with found and true vertices.

use hep_figure::{Axis, Colour, Entry, Figure, Key, Layer, Line, Panel, Point};
use zfinder_io::TruthVertex;

use super::marks::{found, of_truth, title, truth_entries};
use crate::inspect::{Inspection, ZHistogram};

/// Number of bins on either side of the first vertex in the lower panel.
const BINS_BESIDE: usize = 30;
/// Most steps of the upper panel: finer steps are invisible.
const STEPS: usize = 500;
const OUTLINE: f64 = 1.0;

/// Draws the histogram of an RoI. The panel `whole` shows the whole range; each step is as high as
/// the highest of its bins. The panel `peak` shows every bin near the first vertex, with the three
/// bins of its peak in black. Found vertices are numbered from 0 in their order, true ones are
/// marked at the bottom. Several histograms of an RoI are summed.
#[must_use]
pub fn histogram(inspection: &Inspection, truth: &[TruthVertex]) -> Figure {
    Drawing { inspection, truth, histogram: inspection.histogram() }.figure()
}

struct Drawing<'a> {
    inspection: &'a Inspection,
    truth: &'a [TruthVertex],
    histogram: ZHistogram,
}

/// A part of the histogram as it is drawn.
struct Steps {
    low_mm: f64,
    step_mm: f64,
    heights: Vec<f64>,
}

impl Drawing<'_> {
    fn figure(&self) -> Figure {
        let histogram = &self.histogram;
        let in_a_step = histogram.weights.len().div_ceil(STEPS).max(1);
        let highest = |bins: &[u64]| bins.iter().copied().max().unwrap_or(0) as f64;
        let whole = Steps {
            low_mm: histogram.low_mm,
            step_mm: in_a_step as f64 * histogram.bin_mm,
            heights: histogram.weights.chunks(in_a_step).map(highest).collect(),
        };
        let mut panels = vec![self.panel("whole", &whole, None)];
        if let Some(peak) = self.inspection.peaks.first() {
            let first = peak.first_bin.saturating_sub(BINS_BESIDE);
            let last = (peak.first_bin + 3 + BINS_BESIDE).min(histogram.weights.len());
            let near = Steps {
                low_mm: histogram.edges_mm(first).0,
                step_mm: histogram.bin_mm,
                heights: histogram.weights[first..last].iter().map(|&weight| weight as f64).collect(),
            };
            panels.push(self.panel("peak", &near, Some(peak.first_bin - first)));
        }
        Figure {
            title: title(self.inspection, &self.inspection.vertices().collect::<Vec<_>>(), self.truth),
            panels,
            columns: 1,
            panel_size: (900.0, 340.0),
            legend: self.legend(),
            is_full: true,
        }
    }

    fn legend(&self) -> Vec<Entry> {
        let mut legend = Vec::new();
        if !self.inspection.peaks.is_empty() {
            legend.push(Entry::new(Key::Marker(found()), "found vertex"));
            legend.push(Entry::new(Key::Area(Colour::BLACK), "bins of the first"));
        }
        legend.extend(truth_entries(self.truth));
        if self.background().is_some() {
            legend.push(Entry::new(Key::Line(Line::dashed(Colour::BLACK, OUTLINE)), "background"));
        }
        legend
    }

    /// Returns the title of the y axis.
    fn heights(&self) -> String {
        let histogram = &self.histogram;
        let what = if histogram.weights == histogram.pairs { "pairs" } else { "weight" };
        let of = match self.inspection.histograms.len() {
            0..=1 => String::new(),
            several => format!(", {several} histograms"),
        };
        // Rounded to a micrometre, because widths that grow with eta have many digits.
        format!("{what} / {} mm{of}", (1e3 * histogram.bin_mm).round() / 1e3)
    }

    /// Returns the background of one bin of the sum of all histograms.
    fn background(&self) -> Option<f64> {
        self.inspection.background.map(|of_three| of_three / 3.0 * self.inspection.histograms.len() as f64)
    }

    /// Makes a panel. `peak` is the first bin of the peak.
    fn panel(&self, name: &'static str, steps: &Steps, peak: Option<usize>) -> Panel {
        let (low, high) = steps.range();
        let top = steps.heights.iter().copied().fold(1.0, f64::max);
        // Space for the markers of found vertices above and of true ones below.
        let (foot, head) = (if self.truth.is_empty() { 0.0 } else { -0.1 * top }, 1.25 * top);
        let mut panel = Panel::new(name, Axis::new("z [mm]", low, high), Axis::new(self.heights(), foot, head));
        let layers = &mut panel.layers;
        layers.push(steps.layer(0..steps.heights.len(), Colour::GREY));
        layers.extend(peak.map(|first| steps.layer(first..(first + 3).min(steps.heights.len()), Colour::BLACK)));
        layers.push(Layer::Line(vec![(low, 0.0), (high, 0.0)], Line::solid(Colour::BLACK, OUTLINE)));
        if let Some(background) = self.background() {
            let dashed = Line::dashed(Colour::BLACK, OUTLINE);
            layers.push(Layer::Line(vec![(low, background), (high, background)], dashed));
        }
        // The hard scatter is drawn last, on top.
        for is_hard_scatter in [false, true] {
            let those = self.truth.iter().filter(|vertex| vertex.is_hard_scatter == is_hard_scatter);
            let points = those.map(|vertex| Point::new(vertex.z_mm, 0.5 * foot)).collect();
            layers.push(Layer::Points(points, of_truth(is_hard_scatter)));
        }
        let vertices = || self.inspection.vertices().map(|vertex| vertex.z_mm).enumerate();
        let height = 1.07 * top;
        layers.push(Layer::Points(vertices().map(|(_, z)| Point::new(z, height)).collect(), found()));
        layers.push(Layer::Labels(vertices().map(|(number, z)| ((z, height), number.to_string())).collect()));
        panel
    }
}

impl Steps {
    /// Returns the range of z. Without a histogram the range is arbitrary.
    fn range(&self) -> (f64, f64) {
        let high = self.low_mm + self.heights.len() as f64 * self.step_mm;
        if high > self.low_mm { (self.low_mm, high) } else { (-1.0, 1.0) }
    }

    fn layer(&self, steps: std::ops::Range<usize>, colour: Colour) -> Layer {
        let edge = |number: usize| self.low_mm + number as f64 * self.step_mm;
        Layer::Steps {
            edges: (steps.start..=steps.end).map(edge).collect(),
            heights: self.heights[steps].to_vec(),
            line: None,
            fill: Some(colour),
        }
    }
}
