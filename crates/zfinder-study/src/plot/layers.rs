//! The layers of a detector in r-z, and which of them may follow which.

use hep_figure::{Axis, Colour, Entry, Figure, Key, Layer, Line, Panel};
use zfinder::Detector;
use zfinder::detector::{LayerKind, Sensor};

pub(super) const LAYER: Colour = Colour::new([205, 205, 205]);
/// Room beyond the outermost layers, as a fraction.
const MARGIN: f64 = 0.08;

/// A rectangle in the r-z plane \[mm\].
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) low: f64,
    pub(super) high: f64,
    /// rho on either side of the beam.
    pub(super) rho: f64,
}

impl Window {
    pub(super) fn holds(&self, (z, rho): (f64, f64)) -> bool {
        self.low <= z && z <= self.high && rho.abs() <= self.rho
    }

    /// Returns the fraction, 0 to 1, of a line from the beam at z to this point that is inside the
    /// window.
    pub(super) fn share(&self, z: f64, to: (f64, f64)) -> f64 {
        let within = |from: f64, to: f64, low: f64, high: f64| match to - from {
            step if step > 0.0 => (high - from) / step,
            step if step < 0.0 => (low - from) / step,
            _ => 1.0,
        };
        within(z, to.0, self.low, self.high).min(within(0.0, to.1, -self.rho, self.rho)).clamp(0.0, 1.0)
    }
}

/// Returns both ends of each line of a layer in this window. Barrels extend to the first disk
/// with as large a radius, disks begin at the innermost barrel.
pub(super) fn layer_lines<'a>(
    detector: &Detector,
    layers: impl Iterator<Item = &'a zfinder::detector::Layer> + Clone,
    window: Window,
) -> Vec<[(f64, f64); 2]> {
    let radii = layers.clone().filter_map(|layer| match layer.kind {
        LayerKind::Barrel { radius_mm } => Some(radius_mm),
        LayerKind::Endcap { .. } => None,
    });
    let innermost = radii.fold(f64::INFINITY, f64::min);
    let mut lines = Vec::new();
    for layer in layers {
        for side in [-1.0, 1.0] {
            match layer.kind {
                LayerKind::Barrel { radius_mm } if radius_mm < window.rho => {
                    let end = detector.barrel_end(radius_mm);
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

/// Draws the pixel layers of a detector in a quarter of the r-z plane, and a line from each layer
/// to those that may follow it on a track from this range of the beam \[mm\].
#[must_use]
pub fn detector(detector: &Detector, z_range: [f64; 2]) -> Figure {
    let layers = detector.layers();
    let pixels = || layers.iter().filter(|layer: &&zfinder::detector::Layer| layer.sensor == Some(Sensor::Pixel));
    let reach = |kind: LayerKind| match kind {
        LayerKind::Barrel { radius_mm } => (0.0, radius_mm),
        LayerKind::Endcap { z_mm, r_max_mm } => (z_mm, r_max_mm),
    };
    let furthest = pixels().map(|layer| reach(layer.kind));
    let (z, rho) = furthest.fold((0.0, 0.0), |(z, rho): (f64, f64), (z1, rho1)| (z.max(z1), rho.max(rho1)));
    let (z, rho) = (if z > 0.0 { z } else { 4.0 * rho }.max(1.0), rho.max(1.0));
    let window = Window { low: 0.0, high: (1.0 + MARGIN) * z, rho: (1.0 + MARGIN) * rho };
    let radii = pixels().filter(|layer| !layer.is_endcap()).map(|layer| reach(layer.kind).1);
    let innermost = radii.fold(f64::INFINITY, f64::min);
    // The place on a layer where its lines end. On layers of odd number it is shifted, so that no
    // line hides another one.
    let node = |number: u32| {
        let aside = 0.12 * f64::from(number % 2);
        match layers[number as usize].kind {
            LayerKind::Barrel { radius_mm } => {
                let end = detector.barrel_end(radius_mm).min(window.high);
                (end * (0.2 + 0.5 * radius_mm / rho + aside), radius_mm)
            }
            LayerKind::Endcap { z_mm, r_max_mm } => {
                let from = if innermost < r_max_mm { innermost } else { 0.0 };
                (z_mm, from + (r_max_mm - from) * (0.44 + aside))
            }
        }
    };
    let graph = detector.layer_graph(z_range);
    let edges: Vec<_> = graph.edges().map(|(inner, outer)| [node(inner), node(outer)]).collect();
    let mut panel =
        Panel::new("layers", Axis::new("z [mm]", window.low, window.high), Axis::new("ρ [mm]", 0.0, window.rho));
    let lines = layer_lines(detector, pixels(), window).into_iter().filter(|[from, to]| from.1.min(to.1) >= 0.0);
    panel.layers.push(Layer::Segments(lines.collect(), Line::solid(LAYER, 2.0)));
    let edge = Line::solid(Colour::numbered(2).with_alpha(0.8), 1.0);
    panel.layers.push(Layer::Segments(edges, edge));
    Figure {
        title: format!(
            "detector {}: {} pixel layers, {} pairs",
            detector.name(),
            pixels().count(),
            graph.edges().count()
        ),
        columns: 1,
        panels: vec![panel],
        panel_size: (900.0, 420.0),
        legend: vec![
            Entry::new(Key::Line(Line::solid(LAYER, 2.0)), "layer"),
            Entry::new(Key::Line(edge), "may follow on a tracklet"),
        ],
        is_full: true,
    }
}
