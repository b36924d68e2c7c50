//! The areas, lines and texts of a picture, without axes and independent of formats.

use crate::colour::Colour;
use crate::font::{CAP, DEPTH, Font};

pub(crate) type Place = (f64, f64);

/// A rectangle of the scene; y runs down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Box2 {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Box2 {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) fn holds(&self, (x, y): Place) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    pub(crate) fn path(&self) -> Path {
        let &Self { left, top, right, bottom } = self;
        Path::closed(&[(left, top), (right, top), (right, bottom), (left, bottom)])
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Segment {
    Move(Place),
    Line(Place),
    Cubic(Place, Place, Place),
    Close,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Path(pub(crate) Vec<Segment>);

impl Path {
    pub(crate) fn open(places: impl IntoIterator<Item = Place>) -> Self {
        let mut path = Self::default();
        for place in places {
            if path.0.is_empty() { path.move_to(place) } else { path.line_to(place) }
        }
        path
    }

    pub(crate) fn closed(places: &[Place]) -> Self {
        let mut path = Self::open(places.iter().copied());
        path.close();
        path
    }

    pub(crate) fn circle((x, y): Place, r: f64) -> Self {
        // Control points of a quarter of a circle.
        let k = 0.552_284_75 * r;
        let mut path = Self::default();
        path.move_to((x + r, y));
        path.cubic_to((x + r, y + k), (x + k, y + r), (x, y + r));
        path.cubic_to((x - k, y + r), (x - r, y + k), (x - r, y));
        path.cubic_to((x - r, y - k), (x - k, y - r), (x, y - r));
        path.cubic_to((x + k, y - r), (x + r, y - k), (x + r, y));
        path.close();
        path
    }

    pub(crate) fn move_to(&mut self, to: Place) {
        self.0.push(Segment::Move(to));
    }

    pub(crate) fn line_to(&mut self, to: Place) {
        self.0.push(Segment::Line(to));
    }

    pub(crate) fn quad_to(&mut self, control: Place, to: Place) {
        let from = match self.0.last() {
            Some(&(Segment::Move(at) | Segment::Line(at) | Segment::Cubic(_, _, at))) => at,
            _ => control,
        };
        let third = |end: Place| (end.0 + 2.0 / 3.0 * (control.0 - end.0), end.1 + 2.0 / 3.0 * (control.1 - end.1));
        self.0.push(Segment::Cubic(third(from), third(to), to));
    }

    pub(crate) fn cubic_to(&mut self, first: Place, second: Place, to: Place) {
        self.0.push(Segment::Cubic(first, second, to));
    }

    pub(crate) fn close(&mut self) {
        self.0.push(Segment::Close);
    }
}

/// Where the anchor of a text is on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// The part of the text before the anchor.
    pub(crate) fn share(self) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Middle => 0.5,
            Self::End => 1.0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
    Oblique,
}

/// A line of text. Vertical text reads upwards.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// The anchor on the baseline.
    pub(crate) at: Place,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) weight: Weight,
    pub(crate) is_vertical: bool,
    pub(crate) colour: Colour,
}

impl Text {
    pub(crate) fn new(text: impl Into<String>, at: Place, size: f64, anchor: Anchor) -> Self {
        let (weight, is_vertical, colour) = (Weight::Regular, false, Colour::BLACK);
        Self { text: text.into(), at, size, anchor, weight, is_vertical, colour }
    }

    /// Returns the area that the text covers.
    pub(crate) fn area(&self, font: &Font) -> Box2 {
        let width = font.width(&self.text, self.size);
        let start = -self.anchor.share() * width;
        // Digits have no depth.
        let is_number = self.text.chars().all(|letter| letter.is_ascii_digit() || ".\u{2212}".contains(letter));
        let (ascent, depth) = (CAP * self.size, if is_number { 0.0 } else { DEPTH * self.size });
        let (x, y) = self.at;
        if self.is_vertical {
            Box2 { left: x - ascent, right: x + depth, top: y - start - width, bottom: y - start }
        } else {
            Box2 { left: x + start, right: x + start + width, top: y - ascent, bottom: y + depth }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// Dash and gap.
    pub(crate) dash: Option<[f64; 2]>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A crisp area has no smooth edges: neighbours leave no seam.
    Fill {
        path: Path,
        colour: Colour,
        is_crisp: bool,
    },
    Stroke(Path, Stroke),
    Text(Text),
    /// Clips the following shapes to this box, until the next clip.
    Clip(Option<Box2>),
}

/// A picture in units of its layout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
}

impl Scene {
    pub(crate) fn fill(&mut self, path: Path, colour: Colour) {
        self.shapes.push(Shape::Fill { path, colour, is_crisp: false });
    }

    pub(crate) fn crisp(&mut self, path: Path, colour: Colour) {
        self.shapes.push(Shape::Fill { path, colour, is_crisp: true });
    }

    pub(crate) fn stroke(&mut self, path: Path, colour: Colour, width: f64) {
        self.shapes.push(Shape::Stroke(path, Stroke { colour, width, dash: None }));
    }

    pub(crate) fn text(&mut self, text: Text) {
        self.shapes.push(Shape::Text(text));
    }

    pub(crate) fn clip(&mut self, clip: Option<Box2>) {
        self.shapes.push(Shape::Clip(clip));
    }
}
