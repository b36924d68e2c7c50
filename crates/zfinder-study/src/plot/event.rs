//! Plots an event in r-z.

use hep_figure::{Axis, Colour, Entry, Figure, Key, Layer, Line, Marker, Panel, Point, Symbol};
use zfinder::detector::LayerKind;
use zfinder::{Detector, Results, Spacepoint, Tracklet, Vertex};
use zfinder_io::TruthVertex;

use super::layers::{LAYER, Window, layer_lines};
use super::marks::{found, of_truth, title, truth_entries};
use crate::inspect::{Inspection, Pair};

/// Height of the left panel beyond its outermost spacepoint, as a fraction. It has room for the
/// markers of vertices.
const MARGIN: f64 = 0.08;
/// Half the width of the right panel, in standard deviations of the pairs' z, and its minimum
/// \[mm\].
const WIDTHS: f64 = 12.0;
const LEAST_MM: f64 = 3.0;
const SPACEPOINT: Colour = Colour::new([110, 110, 110]);

/// Draws an event in r-z: spacepoints, layers, and the pairs of the first peak
/// ([`Inspect::pairs`](crate::inspect::Inspect::pairs)), extended to the beam line, with their
/// third spacepoints. Spacepoints with phi < 0 are below the beam. The right panel enlarges the
/// region where the pairs meet. Found vertices are marked at the upper edge, true ones at the
/// lower.
#[must_use]
pub fn event(inspection: &Inspection, pairs: &[Pair], detector: &Detector, truth: &[TruthVertex]) -> Figure {
    let vertices = inspection.vertices().collect();
    Drawing { inspection, pairs, tracklets: &[], vertices, detector, truth }.figure()
}

/// Draws an event as [`event`] does, with the vertices and tracklets of an answer of one RoI in
/// place of pairs. A tracklet goes from the beam line to its last spacepoint, in the colour of its
/// vertex, or in grey without one.
#[must_use]
pub fn event_with_tracklets(
    inspection: &Inspection,
    answer: &Results,
    detector: &Detector,
    truth: &[TruthVertex],
) -> Figure {
    let vertices = answer.vertices().iter().collect();
    Drawing { inspection, pairs: &[], tracklets: answer.tracklets(), vertices, detector, truth }.figure()
}

struct Drawing<'a> {
    inspection: &'a Inspection,
    pairs: &'a [Pair],
    tracklets: &'a [Tracklet],
    vertices: Vec<Vertex>,
    detector: &'a Detector,
    truth: &'a [TruthVertex],
}

/// Returns the position of a spacepoint in the plot: z, and rho with the sign of phi.
fn place(s: &Spacepoint) -> (f64, f64) {
    (s.z, if s.phi < 0.0 { -s.rho } else { s.rho })
}

impl Drawing<'_> {
    fn figure(&self) -> Figure {
        let mut panels = vec![self.panel("whole", self.whole(), "z [mm]")];
        if let Some(first) = self.vertices.first() {
            panels.push(self.panel("vertex", self.near(first.z_mm), "z near the first vertex [mm]"));
        }
        Figure {
            title: title(self.inspection, &self.vertices, self.truth),
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
        if !self.tracklets.is_empty() {
            let of_first = self.tracklets.iter().filter(|tracklet| tracklet.vertex() == Some(0)).count();
            legend.push(Entry::new(line(of_vertex(Some(0))), format!("{of_first} tracklets of the first vertex")));
            legend.push(Entry::new(line(of_vertex(Some(1))), "of others, in four colours"));
            legend.push(Entry::new(line(of_vertex(None)), "of no vertex"));
        }
        if !self.vertices.is_empty() {
            legend.push(Entry::new(Key::Marker(found()), "found vertex"));
        }
        legend.extend(truth_entries(self.truth));
        legend
    }

    /// Returns the window of all spacepoints, or of the detector without any. With tracklets it
    /// shows them, and the vertices apart.
    fn whole(&self) -> Window {
        if !self.tracklets.is_empty() {
            let hits = self.tracklets.iter().flat_map(Tracklet::hits);
            let rho = hits.filter_map(|&hit| Some(self.inspection.spacepoints.get(hit as usize)?.rho));
            let z = self.vertices.iter().map(|vertex| vertex.z_mm.abs()).fold(30.0, f64::max);
            return Window { low: -4.0 * z, high: 4.0 * z, rho: (1.0 + MARGIN) * rho.fold(1.0, f64::max) };
        }
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
        layers.push(Layer::Segments(
            layer_lines(self.detector, self.detector.layers().iter(), window),
            Line::solid(LAYER, 1.0),
        ));
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
        self.tracklets(layers, window);
        let dot = Marker { symbol: Symbol::Disc, is_filled: true, colour: Colour::BLACK, size: 2.0 };
        layers.push(Layer::Points(points(&mut ends.into_iter()), dot));
        layers.push(Layer::Points(points(&mut thirds.into_iter()), third()));
        layers.push(Layer::Line(vec![(window.low, 0.0), (window.high, 0.0)], Line::solid(Colour::BLACK, 1.0)));
        self.vertices(layers, window);
        panel
    }

    /// Draws tracklets from the beam line to their last spacepoints, with the first vertex on top.
    fn tracklets(&self, layers: &mut Vec<Layer>, window: Window) {
        const ORDER: [Option<usize>; 6] = [None, Some(1), Some(2), Some(3), Some(4), Some(0)];
        let mut segments = [const { Vec::new() }; ORDER.len()];
        for tracklet in self.tracklets {
            let colour = tracklet.vertex().map(|vertex| if vertex == 0 { 0 } else { 1 + (vertex - 1) % 4 });
            let (Some(colour), Some(&last)) = (ORDER.iter().position(|&of| of == colour), tracklet.hits().last())
            else {
                continue;
            };
            let Some(to) = self.inspection.spacepoints.get(last as usize).map(place) else { continue };
            let from = tracklet.z0_mm;
            let share = window.share(from, to);
            segments[colour].push([(from, 0.0), (from + share * (to.0 - from), share * to.1)]);
        }
        for (vertex, segments) in ORDER.into_iter().zip(segments) {
            layers.push(Layer::Segments(segments, Line::solid(of_vertex(vertex), 1.0)));
        }
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
        let vertices = self.vertices.iter();
        layers.push(Layer::Points(vertices.filter_map(|vertex| at(vertex.z_mm, above)).collect(), found()));
    }
}

/// The colour of the tracklets of a vertex: black for the first one, and four colours in turn.
fn of_vertex(vertex: Option<usize>) -> Colour {
    match vertex {
        None => Colour::new([150, 150, 150]).with_alpha(0.3),
        Some(0) => Colour::BLACK.with_alpha(0.7),
        Some(number) => Colour::numbered([1, 3, 5, 0][(number - 1) % 4]).with_alpha(0.5),
    }
}

fn spacepoint() -> Marker {
    Marker { symbol: Symbol::Square, is_filled: true, colour: SPACEPOINT, size: 1.2 }
}

fn third() -> Marker {
    Marker { symbol: Symbol::Square, is_filled: false, colour: Colour::BLACK, size: 3.0 }
}
