//! What all pictures share: colours, shapes, dashes, and the line that explains them.

use plotters::coord::CoordTranslate;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Area, Drawn};

pub(super) const FONT: &str = "sans-serif";
/// Told apart by most colour-blind people too (M. Okabe and K. Ito, 2008).
pub(super) const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
/// What is found, and what is true.
pub(super) const FOUND: RGBColor = COLOURS[1];
pub(super) const TRUE: RGBColor = COLOURS[0];
/// Dashes and gaps \[pixels\], in the order of configurations; a solid line first.
const DASHES: [Option<(i32, i32)>; 4] = [None, Some((10, 5)), Some((3, 4)), Some((16, 4))];

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Disc,
    Square,
    Up,
    Down,
    Diamond,
}

/// How points look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) shape: Shape,
    pub(super) filled: bool,
    pub(super) colour: RGBColor,
    /// Half of its width \[pixels\].
    pub(super) size: i32,
}

/// A line that may be dashed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) colour: RGBColor,
    pub(super) width: u32,
    dashes: Option<(i32, i32)>,
}

/// What stands before a word of the legend.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key {
    Mark(Mark),
    Line(Line),
    Both(Mark, Line),
    Area(RGBColor),
}

impl Mark {
    /// Those of the configuration of this number.
    pub(super) fn of(number: usize, filled: bool) -> Self {
        let shape = [Shape::Disc, Shape::Square, Shape::Up, Shape::Diamond, Shape::Down][number % 5];
        Self { shape, filled, colour: COLOURS[number % COLOURS.len()], size: 5 }
    }

    /// The corners about the middle \[pixels\]; none of a disc.
    fn corners(self) -> Vec<(i32, i32)> {
        let r = self.size;
        match self.shape {
            Shape::Disc => Vec::new(),
            Shape::Square => vec![(-r, -r), (r, -r), (r, r), (-r, r), (-r, -r)],
            Shape::Up => vec![(-r, r), (r, r), (0, -r), (-r, r)],
            Shape::Down => vec![(-r, -r), (r, -r), (0, r), (-r, -r)],
            Shape::Diamond => vec![(0, -r), (r, 0), (0, r), (-r, 0), (0, -r)],
        }
    }

    pub(super) fn draw<DB: DrawingBackend, T: CoordTranslate>(
        self,
        area: &DrawingArea<DB, T>,
        places: impl IntoIterator<Item = T::From>,
    ) -> Drawn<DB>
    where
        T::From: Clone,
    {
        let inside = if self.filled { self.colour } else { WHITE }.filled();
        let line = self.colour.stroke_width(if self.size > 4 { 2 } else { 1 });
        let corners = self.corners();
        places.into_iter().try_for_each(|at| match self.shape {
            Shape::Disc => {
                let disc = Circle::new((0, 0), self.size, inside);
                area.draw(&(EmptyElement::at(at) + disc + Circle::new((0, 0), self.size, line)))
            }
            _ => {
                let outline = PathElement::new(corners.clone(), line);
                area.draw(&(EmptyElement::at(at) + Polygon::new(corners.clone(), inside) + outline))
            }
        })
    }
}

impl Line {
    pub(super) fn solid(colour: RGBColor, width: u32) -> Self {
        Self { colour, width, dashes: None }
    }

    pub(super) fn dashed(colour: RGBColor, width: u32) -> Self {
        Self { colour, width, dashes: DASHES[1] }
    }

    /// That of the configuration of this number.
    pub(super) fn of(number: usize) -> Self {
        Self { colour: COLOURS[number % COLOURS.len()], width: 2, dashes: DASHES[number % DASHES.len()] }
    }

    /// The same line in another width \[pixels\].
    pub(super) fn of_width(self, width: u32) -> Self {
        Self { width, ..self }
    }

    pub(super) fn draw<DB: DrawingBackend, T: CoordTranslate>(
        self,
        area: &DrawingArea<DB, T>,
        points: Vec<T::From>,
    ) -> Drawn<DB>
    where
        T::From: Clone,
    {
        let style = self.colour.stroke_width(self.width);
        match self.dashes {
            None => area.draw(&PathElement::new(points, style)),
            Some((on, off)) => area.draw(&DashedPathElement::new(points, on, off, style)),
        }
    }
}

pub(super) fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().into()
}

/// A title, and below it what marks and lines mean; yields what is left of the area.
pub(super) fn titled<'a, DB: DrawingBackend>(
    area: &Area<'a, DB>,
    title: &str,
    legend: &[(Key, String)],
) -> Result<Area<'a, DB>, DrawingAreaErrorKind<DB::ErrorType>> {
    const MARGIN: i32 = 14;
    const LINE: i32 = 26;
    let middle = Pos::new(HPos::Left, VPos::Center);
    area.draw(&Text::new(title.to_owned(), (MARGIN, 22), text(22).pos(middle)))?;
    let style = text(17).pos(middle);
    let width = area.dim_in_pixel().0 as i32;
    let (mut x, mut y) = (MARGIN, 22 + LINE + 4);
    for (number, (key, words)) in legend.iter().enumerate() {
        let wide = 44 + area.estimate_text_size(words, &style)?.0 as i32 + 26;
        if number > 0 && x + wide > width {
            (x, y) = (MARGIN, y + LINE);
        }
        match *key {
            Key::Mark(mark) => mark.draw(area, [(x + 18, y)])?,
            Key::Line(line) => line.draw(area, vec![(x, y), (x + 34, y)])?,
            Key::Both(mark, line) => {
                line.draw(area, vec![(x, y), (x + 36, y)])?;
                mark.draw(area, [(x + 18, y)])?;
            }
            Key::Area(colour) => area.draw(&Rectangle::new([(x + 6, y - 8), (x + 30, y + 8)], colour.filled()))?,
        }
        area.draw(&Text::new(words.clone(), (x + 44, y), style.clone()))?;
        x += wide;
    }
    let used = if legend.is_empty() { 22 + LINE / 2 } else { y + LINE / 2 };
    Ok(area.split_vertically(used).1)
}

/// Axes of numbers with what they are, a frame, and faint lines across.
pub(super) fn axes<DB, X, Y>(
    chart: &mut ChartContext<'_, DB, Cartesian2d<X, Y>>,
    x: &str,
    y: &str,
    labels: (usize, usize),
) -> Drawn<DB>
where
    DB: DrawingBackend,
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(labels.0)
        .y_labels(labels.1)
        .x_label_formatter(&|value| number(*value))
        .y_label_formatter(&|value| number(*value))
        .axis_desc_style(text(18))
        .label_style(text(16))
        .x_desc(x)
        .y_desc(y)
        .draw()
}

/// A number of an axis: without the digits that rounding leaves.
fn number(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    // There is no -0.
    (rounded + 0.0).to_string()
}
