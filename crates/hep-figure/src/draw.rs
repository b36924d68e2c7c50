//! Layers, drawn in the frame of a panel.

use crate::axis::Axis;
use crate::colour::Colour;
use crate::font::Font;
use crate::panel::{Layer, Line, Marker, Panel, Point, Symbol};
use crate::scene::{Anchor, Box2, Path, Place, Scene, Text};

const LABEL: f64 = 13.0;

/// A frame and the axes that span it.
pub(crate) struct Plane<'a> {
    pub(crate) frame: Box2,
    pub(crate) x: &'a Axis,
    pub(crate) y: &'a Axis,
}

impl Plane<'_> {
    fn across(&self, position: f64) -> f64 {
        self.frame.left + position * self.frame.width()
    }

    fn up(&self, position: f64) -> f64 {
        self.frame.bottom - position * self.frame.height()
    }

    /// Returns the place of a value, if it has one.
    pub(crate) fn place(&self, (x, y): (f64, f64)) -> Option<Place> {
        Some((self.across(self.x.position(x)?), self.up(self.y.position(y)?)))
    }

    /// Returns the corner of an area: zero on a logarithmic axis is at its foot.
    fn corner(&self, (x, y): (f64, f64)) -> Option<Place> {
        Some((self.across(self.x.foot(x)?), self.up(self.y.foot(y)?)))
    }

    /// Splits a line at values without a place.
    fn pieces(&self, places: &[(f64, f64)]) -> Vec<Vec<Place>> {
        let places: Vec<Option<Place>> = places.iter().map(|&place| self.place(place)).collect();
        places.split(Option::is_none).map(|piece| piece.iter().copied().flatten().collect()).collect()
    }

    /// Returns the corners of an area.
    fn corners(&self, places: &[(f64, f64)]) -> Option<Vec<Place>> {
        places.iter().map(|&place| self.corner(place)).collect()
    }

    fn step_outline(&self, edges: &[f64], heights: &[f64]) -> Vec<Vec<Place>> {
        let bins = edges.windows(2).zip(heights);
        let corners: Vec<Option<Vec<Place>>> =
            bins.map(|(edge, &height)| self.corners(&[(edge[0], height), (edge[1], height)])).collect();
        let foot = self.y.foot(0.0).map_or(self.frame.bottom, |position| self.up(position));
        let pieces = corners.split(Option::is_none).map(|piece| {
            let mut outline: Vec<Place> = piece.iter().flatten().flatten().copied().collect();
            if let (Some(&first), Some(&last)) = (outline.first(), outline.last()) {
                outline.insert(0, (first.0, foot));
                outline.push((last.0, foot));
            }
            outline
        });
        pieces.filter(|piece| piece.len() > 1).collect()
    }

    /// Draws all layers.
    pub(crate) fn draw(&self, scene: &mut Scene, panel: &Panel, font: &Font) {
        scene.begin_clip(&self.frame);
        panel.layers.iter().for_each(|layer| self.layer(scene, layer, font));
        scene.end_clip();
    }

    fn layer(&self, scene: &mut Scene, layer: &Layer, font: &Font) {
        let lines = || self.lines(layer).into_iter().filter(|line| line.len() > 1);
        match layer {
            Layer::Points(points, mark) => points.iter().for_each(|point| self.point(scene, point, *mark)),
            Layer::Line(_, line) | Layer::Segments(_, line) => {
                lines().for_each(|places| scene.stroke(&Path::open(&places), *line));
            }
            Layer::Steps { line, fill, .. } => {
                fill.iter().for_each(|&colour| lines().for_each(|o| scene.fill(&Path::closed(&o), colour)));
                line.iter().for_each(|&line| lines().for_each(|o| scene.stroke(&Path::open(&o), line)));
            }
            Layer::Bars(_, colour) => lines().for_each(|bar| scene.fill(&Path::closed(&bar), *colour)),
            Layer::Cells(cells) => {
                for (corners, colour) in cells {
                    self.corners(corners).iter().for_each(|places| scene.crisp(&Path::closed(places), *colour));
                }
            }
            Layer::Labels(labels) => self.labels(scene, labels, font),
        }
    }

    /// Returns the lines of a layer: its lines, outlines of its areas, and bars of its points.
    fn lines(&self, layer: &Layer) -> Vec<Vec<Place>> {
        match layer {
            Layer::Points(points, _) => points
                .iter()
                .flat_map(bars)
                .map(|bar| bar.iter().filter_map(|&end| self.corner(end)).collect())
                .collect(),
            Layer::Line(places, _) => self.pieces(places),
            Layer::Steps { edges, heights, .. } => self.step_outline(edges, heights),
            Layer::Bars(bars, _) => {
                bars.iter().filter_map(|&[a, b]| self.corners(&[a, (b.0, a.1), b, (a.0, b.1)])).collect()
            }
            Layer::Cells(cells) => cells.iter().filter_map(|(corners, _)| self.corners(corners)).collect(),
            Layer::Segments(segments, _) => {
                segments.iter().filter_map(|ends| ends.iter().map(|&end| self.place(end)).collect()).collect()
            }
            Layer::Labels(labels) => {
                labels.iter().filter_map(|(at, _)| self.place(*at)).map(|(x, y)| vec![(x, y - 14.0)]).collect()
            }
        }
    }

    fn point(&self, scene: &mut Scene, point: &Point, mark: Marker) {
        let Some(at) = self.place((point.x, point.y)).filter(|&(x, y)| {
            // Half of a marker at the edge would look like an error.
            self.frame.holds((x, y))
        }) else {
            return;
        };
        for bar in bars(point).iter().filter_map(|bar| self.corners(bar)).filter(|bar| bar[0] != bar[1]) {
            scene.stroke(&Path::open(&bar), Line::solid(mark.colour, 1.2));
        }
        marker(scene, at, mark);
    }

    fn labels(&self, scene: &mut Scene, labels: &[((f64, f64), String)], font: &Font) {
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for (place, label) in labels {
            let Some(at) = self.place(*place).filter(|&at| self.frame.holds(at)) else { continue };
            let half = font.width(label, LABEL) / 2.0;
            if taken.iter().all(|(other, reach)| (at.0 - other).abs() > half + reach + 3.0) {
                taken.push((at.0, half));
                scene.text(&Text::new(label, (at.0, at.1 - 9.0), LABEL, Anchor::Middle));
            }
        }
    }

    /// Returns places that layers cover, close enough together that no legend is between them.
    pub(crate) fn covered(&self, panel: &Panel) -> Vec<Place> {
        let mut covered = Vec::new();
        panel.layers.iter().flat_map(|layer| self.lines(layer)).for_each(|line| sample(&mut covered, &line));
        covered
    }
}

/// The bars of a point: its interval and its bin.
fn bars(point: &Point) -> [[(f64, f64); 2]; 2] {
    let &Point { x, bin, y, interval } = point;
    [[(x, interval.0), (x, interval.1)], [(bin.0, y), (bin.1, y)]]
}

/// Adds places along a line, at most 6 apart.
fn sample(covered: &mut Vec<Place>, line: &[Place]) {
    covered.extend(line.first());
    for pair in line.windows(2) {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        let steps = ((to_x - x).hypot(to_y - y) / 6.0).ceil().clamp(1.0, 2000.0) as u32;
        covered.extend((1..=steps).map(|step| {
            let part = f64::from(step) / f64::from(steps);
            (x + part * (to_x - x), y + part * (to_y - y))
        }));
    }
}

pub(crate) fn marker(scene: &mut Scene, (x, y): Place, mark: Marker) {
    let r = mark.size;
    let corners: &[(f64, f64)] = match mark.symbol {
        Symbol::Disc => &[],
        Symbol::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        Symbol::Up => &[(-1.1, 0.9), (1.1, 0.9), (0.0, -1.1)],
        Symbol::Down => &[(-1.1, -0.9), (1.1, -0.9), (0.0, 1.1)],
        Symbol::Diamond => &[(0.0, -1.3), (1.0, 0.0), (0.0, 1.3), (-1.0, 0.0)],
    };
    let path = match mark.symbol {
        Symbol::Disc => Path::circle((x, y), r),
        _ => Path::closed(&corners.iter().map(|(dx, dy)| (x + r * dx, y + r * dy)).collect::<Vec<_>>()),
    };
    scene.fill(&path, if mark.is_filled { mark.colour } else { Colour::WHITE });
    if !mark.is_filled {
        scene.stroke(&path, Line::solid(mark.colour, (0.35 * r).min(1.5)));
    }
}
