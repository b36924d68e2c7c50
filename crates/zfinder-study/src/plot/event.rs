//! The r-z display of an event.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::histogram::{found, of_truth, title};
use super::style::{Key, Line, Mark, Shape, axes, titled};
use super::{Area, Drawn, Format, Picture};
use crate::error::Result;
use crate::inspect::{Inspection, Pair};
use zfinder::Spacepoint;
use zfinder::{Detector, LayerKind};
use zfinder_io::TruthVertex;

/// The left panel is this much higher than its outermost spacepoint: vertices stand at its edges.
const MARGIN: f64 = 0.08;
/// Half of the width of the right panel \[mm\], in standard deviations of the pairs' z; and at
/// least.
const WIDTHS: f64 = 12.0;
const LEAST_MM: f64 = 3.0;
const LAYER: RGBColor = RGBColor(205, 205, 205);
const SPACEPOINT: RGBColor = RGBColor(110, 110, 110);

/// The event in r-z: spacepoints, layers, and the pairs of the first peak
/// ([`Inspect::pairs`](crate::inspect::Inspect::pairs)) drawn to the beam line, with their third
/// spacepoints if they have some. Spacepoints with phi < 0 are below the beam. On the right is the
/// place where the pairs meet. Found vertices stand at the upper edge, true ones at the lower.
///
/// # Errors
/// [`Error::Plot`](crate::Error::Plot) where the library that draws gives up.
pub fn event(
    inspection: &Inspection,
    pairs: &[Pair],
    detector: &Detector,
    truth: &[TruthVertex],
    format: Format,
) -> Result<Vec<u8>> {
    Drawing { inspection, pairs, detector, truth }.render(format)
}

struct Drawing<'a> {
    inspection: &'a Inspection,
    pairs: &'a [Pair],
    detector: &'a Detector,
    truth: &'a [TruthVertex],
}

/// Where a spacepoint is drawn: z, and rho with the sign of phi.
fn place(s: &Spacepoint) -> (f64, f64) {
    (s.z, if s.phi < 0.0 { -s.rho } else { s.rho })
}

type Plane<DB> = DrawingArea<DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A part of the r-z plane \[mm\].
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

    /// How much of a line from the beam at z to this place is inside, 0 to 1.
    fn share(&self, z: f64, to: (f64, f64)) -> f64 {
        let within = |from: f64, to: f64, low: f64, high: f64| match to - from {
            step if step > 0.0 => (high - from) / step,
            step if step < 0.0 => (low - from) / step,
            _ => 1.0,
        };
        within(z, to.0, self.low, self.high).min(within(0.0, to.1, -self.rho, self.rho)).clamp(0.0, 1.0)
    }
}

impl Picture for Drawing<'_> {
    fn size(&self) -> (u32, u32) {
        (1000, 660)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB> {
        let area = titled(area, &title(self.inspection, self.truth), &self.legend())?;
        let Some(peak) = self.inspection.peaks.first() else { return self.panel(&area, self.whole(), "z [mm]") };
        let (left, right) = area.split_horizontally(590);
        self.panel(&left, self.whole(), "z [mm]")?;
        self.panel(&right, self.near(peak.vertex.z_mm), "z [mm], near the first vertex")
    }
}

impl Drawing<'_> {
    fn legend(&self) -> Vec<(Key, String)> {
        let mut legend = vec![
            (Key::Mark(spacepoint()), "spacepoint".to_owned()),
            (Key::Line(Line::solid(LAYER, 1)), "layer".into()),
        ];
        if !self.pairs.is_empty() {
            let what = format!("{} pairs of the first vertex", self.pairs.len());
            legend.push((Key::Line(Line::solid(BLACK, 1)), what));
        }
        if self.pairs.iter().any(|pair| !pair.thirds.is_empty()) {
            legend.push((Key::Mark(third()), "third spacepoint".into()));
        }
        if !self.inspection.peaks.is_empty() {
            legend.push((Key::Mark(found()), "found vertex".into()));
        }
        if self.truth.iter().any(|vertex| vertex.is_hard_scatter) {
            legend.push((Key::Mark(of_truth(true)), "true hard scatter".into()));
        }
        if self.truth.iter().any(|vertex| !vertex.is_hard_scatter) {
            legend.push((Key::Mark(of_truth(false)), "true pile-up".into()));
        }
        legend
    }

    /// All spacepoints; the detector where there is none.
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

    /// About a vertex, as far as the pairs' z are spread.
    fn near(&self, z_mm: f64) -> Window {
        let square = self.pairs.iter().map(|pair| (pair.z_mm - z_mm).powi(2)).sum::<f64>();
        let width = (WIDTHS * (square / self.pairs.len().max(1) as f64).sqrt()).max(LEAST_MM);
        let innermost = self.pairs.iter().map(|pair| pair.inner.rho).fold(f64::INFINITY, f64::min);
        let rho = if innermost.is_finite() { (0.5 * innermost).min(4.0 * width) } else { width };
        Window { low: z_mm - width, high: z_mm + width, rho }
    }

    fn panel<DB: DrawingBackend>(&self, area: &Area<'_, DB>, window: Window, z: &str) -> Drawn<DB> {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(20)
            .x_label_area_size(48)
            .y_label_area_size(76)
            .build_cartesian_2d(window.low..window.high, -window.rho..window.rho)?;
        axes(&mut chart, z, "ρ [mm], negative where φ < 0", (8, 9))?;
        let plane = chart.plotting_area();
        self.layers(window).into_iter().try_for_each(|ends| Line::solid(LAYER, 1).draw(plane, ends))?;
        let inside = |place: &(f64, f64)| window.holds(*place);
        let spacepoints = self.inspection.spacepoints.iter().map(place).filter(inside);
        spacepoints.into_iter().try_for_each(|place| {
            plane.draw(&(EmptyElement::at(place) + Rectangle::new([(-1, -1), (1, 1)], SPACEPOINT.filled())))
        })?;
        // The more there are, the fainter.
        let ink = BLACK.mix((60.0 / self.pairs.len() as f64).clamp(0.25, 0.8));
        for pair in self.pairs {
            // On one side, though phi may change its sign along a track.
            let side = if pair.inner.phi < 0.0 { -1.0 } else { 1.0 };
            let on_side = |s: &Spacepoint| (s.z, side * s.rho);
            let end = pair.thirds.last().unwrap_or(&pair.outer);
            let (from, to) = (pair.z_mm, on_side(end));
            let share = window.share(from, to);
            let end = (from + share * (to.0 - from), share * to.1);
            plane.draw(&PathElement::new(vec![(from, 0.0), end], ink))?;
            for place in [&pair.inner, &pair.outer].map(on_side).into_iter().filter(inside) {
                plane.draw(&Circle::new(place, 2, BLACK.filled()))?;
            }
            third().draw(plane, pair.thirds.iter().map(on_side).filter(inside))?;
        }
        Line::solid(BLACK, 1).draw(plane, vec![(window.low, 0.0), (window.high, 0.0)])?;
        self.vertices(plane, window)
    }

    /// Found vertices at the upper edge, true ones at the lower.
    fn vertices<DB: DrawingBackend>(&self, plane: &Plane<DB>, window: Window) -> Drawn<DB> {
        let (above, below) = (0.97 * window.rho, -0.97 * window.rho);
        let inside = |z: &f64| window.holds((*z, 0.0));
        for is_hard_scatter in [false, true] {
            let those = self.truth.iter().filter(|vertex| vertex.is_hard_scatter == is_hard_scatter);
            let places = those.map(|vertex| vertex.z_mm).filter(inside).map(|z| (z, below));
            of_truth(is_hard_scatter).draw(plane, places)?;
        }
        let vertices = self.inspection.result.vertices.iter().map(|vertex| vertex.z_mm);
        found().draw(plane, vertices.filter(inside).map(|z| (z, above)))
    }

    /// The two ends of every line that a layer is in this window: barrels up to the first disk that
    /// reaches as far out, disks from the innermost barrel on.
    fn layers(&self, window: Window) -> Vec<Vec<(f64, f64)>> {
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
                        lines.push(vec![(low, side * radius_mm), (high, side * radius_mm)]);
                    }
                    LayerKind::Endcap { z_mm, r_max_mm } if window.holds((side * z_mm, 0.0)) => {
                        let (from, to) = (if innermost < r_max_mm { innermost } else { 0.0 }, r_max_mm.min(window.rho));
                        lines.extend([-1.0, 1.0].map(|up| vec![(side * z_mm, up * from), (side * z_mm, up * to)]));
                    }
                    _ => {}
                }
            }
        }
        lines
    }
}

fn spacepoint() -> Mark {
    Mark { shape: Shape::Square, filled: true, colour: SPACEPOINT, size: 1 }
}

fn third() -> Mark {
    Mark { shape: Shape::Square, filled: false, colour: BLACK, size: 3 }
}
