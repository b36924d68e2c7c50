//! Layers, drawn in the frame of a panel.

use crate::axis::Axis;
use crate::colour::Colour;
use crate::font::Font;
use crate::panel::{Layer, Line, Marker, Panel, Point, Symbol};
use crate::scene::{Anchor, Box2, Path, Place, Scene, Shape, Stroke, Text};

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

    fn step_outline(&self, edges: &[f64], heights: &[f64], is_closed: bool) -> Vec<Vec<Place>> {
        let bins = edges.windows(2).zip(heights);
        let corners =
            bins.map(|(edge, &height)| Some([self.corner((edge[0], height))?, self.corner((edge[1], height))?]));
        let corners: Vec<Option<[Place; 2]>> = corners.collect();
        let foot = self.y.foot(0.0).map_or(self.frame.bottom, |position| self.up(position));
        let pieces = corners.split(Option::is_none).map(|piece| {
            let mut outline: Vec<Place> = piece.iter().copied().flatten().flatten().collect();
            if let (true, Some(first), Some(last)) = (is_closed, outline.first().copied(), outline.last().copied()) {
                outline.insert(0, (first.0, foot));
                outline.push((last.0, foot));
            }
            outline
        });
        pieces.filter(|piece| piece.len() > 1).collect()
    }

    fn bar(&self, [from, to]: [(f64, f64); 2]) -> Option<Box2> {
        let (a, b) = (self.corner(from)?, self.corner(to)?);
        Some(Box2 { left: a.0.min(b.0), right: a.0.max(b.0), top: a.1.min(b.1), bottom: a.1.max(b.1) })
    }

    /// Draws all layers.
    pub(crate) fn draw(&self, scene: &mut Scene, panel: &Panel, font: &Font) {
        scene.clip(Some(self.frame));
        panel.layers.iter().for_each(|layer| self.layer(scene, layer, font));
        scene.clip(None);
    }

    fn layer(&self, scene: &mut Scene, layer: &Layer, font: &Font) {
        match layer {
            Layer::Points(points, mark) => points.iter().for_each(|point| self.point(scene, point, *mark)),
            Layer::Line(places, line) => {
                self.pieces(places)
                    .into_iter()
                    .filter(|piece| piece.len() > 1)
                    .for_each(|piece| stroke(scene, piece, *line));
            }
            Layer::Steps { edges, heights, line, fill } => {
                if let Some(colour) = fill {
                    self.step_outline(edges, heights, true).iter().for_each(|o| scene.fill(Path::closed(o), *colour));
                }
                if let Some(line) = line {
                    self.step_outline(edges, heights, true).into_iter().for_each(|o| stroke(scene, o, *line));
                }
            }
            Layer::Bars(bars, colour) => {
                bars.iter().filter_map(|bar| self.bar(*bar)).for_each(|bar| scene.fill(bar.path(), *colour));
            }
            Layer::Cells(cells) => {
                for (corners, colour) in cells {
                    let places: Option<Vec<Place>> = corners.iter().map(|&corner| self.corner(corner)).collect();
                    places.into_iter().for_each(|places| scene.crisp(Path::closed(&places), *colour));
                }
            }
            Layer::Segments(segments, line) => {
                for &[from, to] in segments {
                    let ends = self.place(from).zip(self.place(to));
                    ends.into_iter().for_each(|(from, to)| stroke(scene, vec![from, to], *line));
                }
            }
            Layer::Labels(labels) => self.labels(scene, labels, font),
        }
    }

    fn point(&self, scene: &mut Scene, point: &Point, mark: Marker) {
        let Some(at) = self.place((point.x, point.y)).filter(|&(x, y)| {
            // Half of a marker at the edge would look like an error.
            self.frame.holds((x, y))
        }) else {
            return;
        };
        let line = Line::solid(mark.colour, 1.2);
        let bar = |scene: &mut Scene, from, to| {
            if let (Some(from), Some(to)) = (self.corner(from), self.corner(to))
                && from != to
            {
                stroke(scene, vec![from, to], line);
            }
        };
        bar(scene, (point.x, point.interval.0), (point.x, point.interval.1));
        bar(scene, (point.bin.0, point.y), (point.bin.1, point.y));
        marker(scene, at, mark);
    }

    fn labels(&self, scene: &mut Scene, labels: &[((f64, f64), String)], font: &Font) {
        let mut taken: Vec<Box2> = Vec::new();
        for (place, label) in labels {
            let Some(at) = self.place(*place).filter(|&at| self.frame.holds(at)) else { continue };
            let text = Text::new(label.clone(), (at.0, at.1 - 9.0), LABEL, Anchor::Middle);
            let area = text.area(font);
            if taken.iter().all(|other| area.left > other.right + 3.0 || area.right + 3.0 < other.left) {
                taken.push(area);
                scene.text(text);
            }
        }
    }

    /// Returns places that layers cover, close enough together that no legend is between them.
    pub(crate) fn covered(&self, panel: &Panel) -> Vec<Place> {
        let mut covered = Vec::new();
        for layer in &panel.layers {
            match layer {
                Layer::Points(points, _) => {
                    for point in points {
                        let ends = [
                            [(point.bin.0, point.y), (point.bin.1, point.y)],
                            [(point.x, point.interval.0), (point.x, point.interval.1)],
                        ];
                        for [from, to] in ends {
                            sample(
                                &mut covered,
                                &[from, to].into_iter().filter_map(|end| self.corner(end)).collect::<Vec<_>>(),
                            );
                        }
                    }
                }
                Layer::Line(places, _) => self.pieces(places).iter().for_each(|piece| sample(&mut covered, piece)),
                Layer::Steps { edges, heights, .. } => {
                    self.step_outline(edges, heights, true).iter().for_each(|outline| sample(&mut covered, outline));
                }
                Layer::Bars(bars, _) => {
                    for bar in bars.iter().filter_map(|bar| self.bar(*bar)) {
                        sample(&mut covered, &[(bar.left, bar.top), (bar.right, bar.top)]);
                        sample(&mut covered, &[(bar.left, bar.bottom), (bar.right, bar.bottom)]);
                    }
                }
                Layer::Segments(segments, _) => {
                    for segment in segments {
                        sample(&mut covered, &segment.iter().filter_map(|&end| self.place(end)).collect::<Vec<_>>());
                    }
                }
                Layer::Cells(cells) => {
                    covered
                        .extend(cells.iter().flat_map(|(corners, _)| corners.iter().filter_map(|&c| self.corner(c))));
                }
                Layer::Labels(labels) => {
                    covered.extend(labels.iter().filter_map(|(at, _)| self.place(*at)).map(|(x, y)| (x, y - 14.0)));
                }
            }
        }
        covered
    }
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

pub(crate) fn stroke(scene: &mut Scene, places: Vec<Place>, line: Line) {
    let stroke = Stroke { colour: line.colour, width: line.width, dash: line.dash };
    scene.shapes.push(Shape::Stroke(Path::open(places), stroke));
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
    scene.fill(path.clone(), if mark.is_filled { mark.colour } else { Colour::WHITE });
    if !mark.is_filled {
        scene.stroke(path, mark.colour, (0.35 * r).min(1.5));
    }
}
