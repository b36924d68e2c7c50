//! Panels, and the layers that they show.

use crate::axis::Axis;
use crate::colour::{Colour, Scale};

/// The shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle that points up.
    Up,
    /// A triangle that points down.
    Down,
    /// A diamond.
    Diamond,
}

/// A marker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marker {
    /// Its shape.
    pub symbol: Symbol,
    /// Filled, or white with an outline.
    pub is_filled: bool,
    /// Its colour.
    pub colour: Colour,
    /// Half of its width.
    pub size: f64,
}

impl Marker {
    /// The marker of a series by its number.
    #[must_use]
    pub fn numbered(number: usize) -> Self {
        const SYMBOLS: [Symbol; 5] = [Symbol::Disc, Symbol::Square, Symbol::Up, Symbol::Diamond, Symbol::Down];
        Self { symbol: SYMBOLS[number % 5], is_filled: true, colour: Colour::numbered(number), size: 4.5 }
    }

    /// The same marker, white with an outline.
    #[must_use]
    pub fn hollow(self) -> Self {
        Self { is_filled: false, ..self }
    }
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Its colour.
    pub colour: Colour,
    /// Its width.
    pub width: f64,
    /// Dash and gap.
    pub dash: Option<[f64; 2]>,
}

impl Line {
    /// A solid line.
    #[must_use]
    pub fn solid(colour: Colour, width: f64) -> Self {
        Self { colour, width, dash: None }
    }

    /// A dashed line.
    #[must_use]
    pub fn dashed(colour: Colour, width: f64) -> Self {
        Self { colour, width, dash: Some([7.0, 4.0]) }
    }

    /// The line of a series by its number: colours and dashes differ.
    #[must_use]
    pub fn numbered(number: usize) -> Self {
        let dash = [None, Some([9.0, 4.0]), Some([3.0, 3.0]), Some([14.0, 4.0])][number % 4];
        Self { colour: Colour::numbered(number), width: 1.8, dash }
    }
}

/// A point with its errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// x, and the ends of its bin.
    pub x: f64,
    /// Lower and upper end of the bin; both x without a bin.
    pub bin: (f64, f64),
    /// y.
    pub y: f64,
    /// Lower and upper end of the interval of y.
    pub interval: (f64, f64),
}

impl Point {
    /// A point without errors.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, bin: (x, x), y, interval: (y, y) }
    }
}

/// A drawing in the coordinates of a panel.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// Points with their bars.
    Points(Vec<Point>, Marker),
    /// A line through places.
    Line(Vec<(f64, f64)>, Line),
    /// A histogram: one edge more than heights; an outline and an area from zero.
    Steps {
        /// Edges of the bins.
        edges: Vec<f64>,
        /// Heights of the bins.
        heights: Vec<f64>,
        /// The outline.
        line: Option<Line>,
        /// The area.
        fill: Option<Colour>,
    },
    /// Rectangles from corner to corner.
    Bars(Vec<[(f64, f64); 2]>, Colour),
    /// Areas side by side, each in its colour.
    Cells(Vec<(Vec<(f64, f64)>, Colour)>),
    /// Segments from place to place.
    Segments(Vec<[(f64, f64); 2]>, Line),
    /// Small texts above places. A text that would cover an earlier one is left out.
    Labels(Vec<((f64, f64), String)>),
}

/// The symbol before a name in a legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key {
    /// A marker.
    Marker(Marker),
    /// A line.
    Line(Line),
    /// A marker on a line.
    Both(Marker, Line),
    /// An area.
    Area(Colour),
}

/// A name in a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The symbol before it.
    pub key: Key,
    /// The name.
    pub name: String,
}

impl Entry {
    /// Makes an entry.
    #[must_use]
    pub fn new(key: Key, name: impl Into<String>) -> Self {
        Self { key, name: name.into() }
    }
}

/// A scale of colours beside a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct ColourBar {
    /// The values of the scale.
    pub axis: Axis,
    /// The colours.
    pub scale: Scale,
}

/// A frame with axes and layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The word that selects the panel.
    pub name: &'static str,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Layers, the lowest first.
    pub layers: Vec<Layer>,
    /// Names that concern this panel alone.
    pub legend: Vec<Entry>,
    /// A scale of colours.
    pub colour_bar: Option<ColourBar>,
}

impl Panel {
    /// An empty panel.
    #[must_use]
    pub fn new(name: &'static str, x: Axis, y: Axis) -> Self {
        Self { name, x, y, layers: Vec::new(), legend: Vec::new(), colour_bar: None }
    }

    /// Returns every place of the layers.
    pub(crate) fn places(&self) -> Vec<(f64, f64)> {
        let mut places = Vec::new();
        for layer in &self.layers {
            match layer {
                Layer::Points(points, _) => places.extend(points.iter().flat_map(|point| {
                    [(point.bin.0, point.interval.0), (point.x, point.y), (point.bin.1, point.interval.1)]
                })),
                Layer::Line(line, _) => places.extend(line),
                Layer::Steps { edges, heights, .. } => {
                    places.extend(edges.iter().zip(heights).map(|(&edge, &height)| (edge, height)));
                    places.extend(edges.last().zip(heights.last()).map(|(&edge, &height)| (edge, height)));
                }
                Layer::Bars(bars, _) => places.extend(bars.iter().flatten()),
                Layer::Segments(segments, _) => places.extend(segments.iter().flatten()),
                Layer::Cells(cells) => places.extend(cells.iter().flat_map(|(corners, _)| corners)),
                Layer::Labels(_) => {}
            }
        }
        places
    }
}
