//! Plots an event in r-z.

use hep_figure::{Axis, Colour, Entry, Figure, Key, Layer, Line, Marker, Panel, Point, Symbol};
use zfinder::Detector;
use zfinder::Spacepoint;
use zfinder::detector::LayerKind;
use zfinder_io::TruthVertex;

use super::marks::{found, of_truth, title, truth_entries};
use crate::inspect::{Inspection, Pair};

/// Height of the left panel beyond its outermost spacepoint, as a fraction. It has room for the
/// markers of vertices.
const MARGIN: f64 = 0.08;
/// Half the width of the right panel, in standard deviations of the pairs' z, and its minimum
/// \[mm\].
const WIDTHS: f64 = 12.0;
const LEAST_MM: f64 = 3.0;
const LAYER: Colour = Colour::new([205, 205, 205]);
const SPACEPOINT: Colour = Colour::new([110, 110, 110]);

/// Draws an event in r-z: spacepoints, layers, and the pairs of the first peak
/// ([`Inspect::pairs`](crate::inspect::Inspect::pairs)), extended to the beam line, with their
/// third spacepoints. Spacepoints with phi < 0 are below the beam. The right panel enlarges the
/// region where the pairs meet. Found vertices are marked at the upper edge, true ones at the
/// lower.
#[must_use]
pub fn event(inspection: &Inspection, pairs: &[Pair], detector: &Detector, truth: &[TruthVertex]) -> Figure {
    Drawing { inspection, pairs, detector, truth }.figure()
}

struct Drawing<'a> {
    inspection: &'a Inspection,
    pairs: &'a [Pair],
    detector: &'a Detector,
    truth: &'a [TruthVertex],
}

/// Returns the position of a spacepoint in the plot: z, and rho with the sign of phi.
fn place(s: &Spacepoint) -> (f64, f64) {
    (s.z, if s.phi < 0.0 { -s.rho } else { s.rho })
}

/// A rectangle in the r-z plane \[mm\].
#[derive(Clone, Copy)]
struct Window {
    low: f64,
    high: f64,
    /// rho on either side of the beam.
    rho: f64,
}

impl Window {
    fn holds(&self, (z, rho): (f64, f64)) -> bool {
        self.low <= z && z <= self.high && rho.abs() <= self.rho
    }

    /// Returns the fraction, 0 to 1, of a line from the beam at z to this point that is inside the
    /// window.
    fn share(&self, z: f64, to: (f64, f64)) -> f64 {
        let within = |from: f64, to: f64, low: f64, high: f64| match to - from {
            step if step > 0.0 => (high - from) / step,
            step if step < 0.0 => (low - from) / step,
            _ => 1.0,
        };
        within(z, to.0, self.low, self.high).min(within(0.0, to.1, -self.rho, self.rho)).clamp(0.0, 1.0)
    }
}

impl Drawing<'_> {
    fn figure(&self) -> Figure {
        let mut panels = vec![self.panel("whole", self.whole(), "z [mm]")];
        if let Some(peak) = self.inspection.peaks.first() {
            panels.push(self.panel("vertex", self.near(peak.vertex.z_mm), "z near the first vertex [mm]"));
        }
        Figure {
            title: title(self.inspection, self.truth),
            columns: panels.len(),
            panels,
            panel_size: (600.0, 560.0),
            legend: self.legend(),
            is_full: true,
        }
    }

    fn legend(&self) -> Vec<Entry> {
        let line = |colour| Key::Line(Line::solid(colour, 1.0));
        let mut legend = vec![
            Entry::new(Key::Marker(Marker { size: 2.5, ..spacepoint() }), "spacepoint"),
            Entry::new(line(LAYER), "layer"),
        ];
        if !self.pairs.is_empty() {
            legend.push(Entry::new(line(Colour::BLACK), format!("{} pairs of the first vertex", self.pairs.len())));
        }
        if self.pairs.iter().any(|pair| !pair.thirds.is_empty()) {
            legend.push(Entry::new(Key::Marker(third()), "third spacepoint"));
        }
        if !self.inspection.peaks.is_empty() {
            legend.push(Entry::new(Key::Marker(found()), "found vertex"));
        }
        legend.extend(truth_entries(self.truth));
        legend
    }

    /// Returns the window of all spacepoints, or of the detector without any.
    fn whole(&self) -> Window {
        let spacepoints = self.inspection.spacepoints.iter().map(place);
        let layers = self.detector.layers().iter().map(|layer| match layer.kind {
            LayerKind::Barrel { radius_mm } => (radius_mm, radius_mm),
            LayerKind::Endcap { z_mm, r_max_mm } => (z_mm, r_max_mm),
        });
        let furthest = |of: &mut dyn Iterator<Item = (f64, f64)>| {
            of.fold((0.0, 0.0), |(z, rho): (f64, f64), (z1, rho1)| (z.max(z1.abs()), rho.max(rho1.abs())))
        };
        let (mut z, mut rho) = furthest(&mut spacepoints.into_iter());
        if rho == 0.0 {
            (z, rho) = furthest(&mut layers.into_iter());
        }
        let (z, rho) = ((z * (1.0 + MARGIN)).max(1.0), (rho * (1.0 + MARGIN)).max(1e-3));
        Window { low: -z, high: z, rho }
    }

    /// Returns the window around a vertex, which the spread of the pairs' z determines.
    fn near(&self, z_mm: f64) -> Window {
        let square = self.pairs.iter().map(|pair| (pair.z_mm - z_mm).powi(2)).sum::<f64>();
        let width = (WIDTHS * (square / self.pairs.len().max(1) as f64).sqrt()).max(LEAST_MM);
        let innermost = self.pairs.iter().map(|pair| pair.inner.rho).fold(f64::INFINITY, f64::min);
        let rho = if innermost.is_finite() { (0.5 * innermost).min(4.0 * width) } else { width };
        Window { low: z_mm - width, high: z_mm + width, rho }
    }

    fn panel(&self, name: &'static str, window: Window, z: &str) -> Panel {
        let (x, y) =
            (Axis::new(z, window.low, window.high), Axis::new("ρ, negative where φ < 0 [mm]", -window.rho, window.rho));
        let mut panel = Panel::new(name, x, y);
        let inside = |place: &(f64, f64)| window.holds(*place);
        let points = |places: &mut dyn Iterator<Item = (f64, f64)>| -> Vec<Point> {
            places.filter(inside).map(|(z, rho)| Point::new(z, rho)).collect()
        };
        let layers = &mut panel.layers;
        layers.push(Layer::Segments(self.layers(window), Line::solid(LAYER, 1.0)));
        layers.push(Layer::Points(points(&mut self.inspection.spacepoints.iter().map(place)), spacepoint()));
        // Many lines are drawn fainter.
        let ink = Colour::BLACK.with_alpha((60.0 / self.pairs.len() as f64).clamp(0.25, 0.8));
        let (mut segments, mut ends, mut thirds) = (Vec::new(), Vec::new(), Vec::new());
        for pair in self.pairs {
            // The whole pair is on one side, even if phi changes its sign along the track.
            let side = if pair.inner.phi < 0.0 { -1.0 } else { 1.0 };
            let on_side = |s: &Spacepoint| (s.z, side * s.rho);
            let end = pair.thirds.last().unwrap_or(&pair.outer);
            let (from, to) = (pair.z_mm, on_side(end));
            let share = window.share(from, to);
            segments.push([(from, 0.0), (from + share * (to.0 - from), share * to.1)]);
            ends.extend([&pair.inner, &pair.outer].map(on_side));
            thirds.extend(pair.thirds.iter().map(on_side));
        }
        layers.push(Layer::Segments(segments, Line::solid(ink, 1.0)));
        let dot = Marker { symbol: Symbol::Disc, is_filled: true, colour: Colour::BLACK, size: 2.0 };
        layers.push(Layer::Points(points(&mut ends.into_iter()), dot));
        layers.push(Layer::Points(points(&mut thirds.into_iter()), third()));
        layers.push(Layer::Line(vec![(window.low, 0.0), (window.high, 0.0)], Line::solid(Colour::BLACK, 1.0)));
        self.vertices(layers, window);
        panel
    }

    /// Marks found vertices at the upper edge, true ones at the lower.
    fn vertices(&self, layers: &mut Vec<Layer>, window: Window) {
        let (above, below) = (0.95 * window.rho, -0.95 * window.rho);
        let at = |z: f64, rho: f64| window.holds((z, 0.0)).then(|| Point::new(z, rho));
        for is_hard_scatter in [false, true] {
            let those = self.truth.iter().filter(|vertex| vertex.is_hard_scatter == is_hard_scatter);
            let points = those.filter_map(|vertex| at(vertex.z_mm, below)).collect();
            layers.push(Layer::Points(points, of_truth(is_hard_scatter)));
        }
        let vertices = self.inspection.vertices();
        layers.push(Layer::Points(vertices.filter_map(|vertex| at(vertex.z_mm, above)).collect(), found()));
    }

    /// Returns both ends of each line of a layer in this window. Barrels extend to the first disk
    /// with as large a radius, disks begin at the innermost barrel.
    fn layers(&self, window: Window) -> Vec<[(f64, f64); 2]> {
        let layers = self.detector.layers();
        let radii = layers.iter().filter_map(|layer| match layer.kind {
            LayerKind::Barrel { radius_mm } => Some(radius_mm),
            LayerKind::Endcap { .. } => None,
        });
        let innermost = radii.fold(f64::INFINITY, f64::min);
        let mut lines = Vec::new();
        for layer in layers {
            for side in [-1.0, 1.0] {
                match layer.kind {
                    LayerKind::Barrel { radius_mm } if radius_mm < window.rho => {
                        let end = self.detector.barrel_end(radius_mm);
                        let (low, high) = (window.low.max(-end), window.high.min(end));
                        lines.push([(low, side * radius_mm), (high, side * radius_mm)]);
                    }
                    LayerKind::Endcap { z_mm, r_max_mm } if window.holds((side * z_mm, 0.0)) => {
                        let (from, to) = (if innermost < r_max_mm { innermost } else { 0.0 }, r_max_mm.min(window.rho));
                        lines.extend([-1.0, 1.0].map(|up| [(side * z_mm, up * from), (side * z_mm, up * to)]));
                    }
                    _ => {}
                }
            }
        }
        lines
    }
}

fn spacepoint() -> Marker {
    Marker { symbol: Symbol::Square, is_filled: true, colour: SPACEPOINT, size: 1.2 }
}

fn third() -> Marker {
    Marker { symbol: Symbol::Square, is_filled: false, colour: Colour::BLACK, size: 3.0 }
}
