//! The areas, lines and texts of a picture as SVG, without axes.

use crate::colour::Colour;
use crate::font::{BASE, Font, runs};
use crate::panel::Line;

/// Verdana has the widths of DejaVu Sans.
const FAMILY: &str = "'DejaVu Sans', Verdana, sans-serif";
/// Width of the stroke that makes letters bold, in units of the size.
const BOLD: f64 = 0.05;

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

/// The data of a path.
pub(crate) struct Path(String);

impl Path {
    pub(crate) fn open(places: &[Place]) -> Self {
        let places: Vec<String> = places.iter().map(|&(x, y)| format!("{} {}", short(x), short(y))).collect();
        Self(format!("M{}", places.join("L")))
    }

    pub(crate) fn closed(places: &[Place]) -> Self {
        Self(Self::open(places).0 + "Z")
    }

    pub(crate) fn circle((x, y): Place, r: f64) -> Self {
        let [left, right, y, r] = [x - r, x + r, y, r].map(short);
        Self(format!("M{right} {y}A{r} {r} 0 0 1 {left} {y}A{r} {r} 0 0 1 {right} {y}Z"))
    }
}

/// Where the anchor of a text is on its line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Turns of a text around its anchor: vertical text reads upwards.
pub(crate) const VERTICAL: &str = " rotate(-90)";
pub(crate) const OBLIQUE: &str = " skewX(-11.3)";

/// A line of text.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// The anchor on the baseline.
    pub(crate) at: Place,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) turn: &'static str,
    pub(crate) is_bold: bool,
}

impl Text {
    pub(crate) fn new(text: impl Into<String>, at: Place, size: f64, anchor: Anchor) -> Self {
        Self { text: text.into(), at, size, anchor, turn: "", is_bold: false }
    }
}

/// A picture in units of its layout.
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    body: String,
    clips: usize,
    /// The font of texts that are outlines. None: texts stay texts.
    outlined: Option<Font>,
}

impl Scene {
    pub(crate) fn new((width, height): (f64, f64), outlined: Option<Font>) -> Self {
        Self { width, height, body: String::new(), clips: 0, outlined }
    }

    /// Returns the SVG in this size \[pixels\].
    pub(crate) fn svg(&self, (width, height): (u32, u32)) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {} {}\" \
             font-family=\"{FAMILY}\" stroke-linejoin=\"bevel\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            short(self.width),
            short(self.height),
            self.body
        )
    }

    pub(crate) fn fill(&mut self, path: &Path, colour: Colour) {
        self.body += &format!("<path d=\"{}\"{}/>\n", path.0, paint("fill", colour));
    }

    /// Fills an area without smooth edges: neighbours leave no seam.
    pub(crate) fn crisp(&mut self, path: &Path, colour: Colour) {
        let fill = paint("fill", colour);
        self.body += &format!("<path d=\"{}\"{fill} shape-rendering=\"crispEdges\"/>\n", path.0);
    }

    pub(crate) fn stroke(&mut self, path: &Path, line: Line) {
        let (path, stroke, width) = (&path.0, paint("stroke", line.colour), short(line.width));
        let dash = line.dash.map(|[on, off]| format!(" stroke-dasharray=\"{} {}\"", short(on), short(off)));
        let dash = dash.unwrap_or_default();
        self.body += &format!("<path d=\"{path}\" fill=\"none\"{stroke} stroke-width=\"{width}\"{dash}/>\n");
    }

    /// Clips the shapes up to `end_clip` to a box.
    pub(crate) fn begin_clip(&mut self, clip: &Box2) {
        self.clips += 1;
        let (id, path) = (self.clips, clip.path().0);
        self.body +=
            &format!("<clipPath id=\"c{id}\"><path d=\"{path}\"/></clipPath>\n<g clip-path=\"url(#c{id})\">\n");
    }

    pub(crate) fn end_clip(&mut self) {
        self.body += "</g>\n";
    }

    pub(crate) fn text(&mut self, text: &Text) {
        let (x, y, size) = (short(text.at.0), short(text.at.1), short(text.size));
        // A stroke: letters of a bold font would be wider.
        let width = short(BOLD * text.size);
        let bold = if text.is_bold { format!(" stroke=\"#000000\" stroke-width=\"{width}\"") } else { String::new() };
        let transform = format!("transform=\"translate({x} {y}){}\"", text.turn);
        if let Some(font) = &self.outlined {
            let part = match text.anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => 0.5,
                Anchor::End => 1.0,
            };
            let begin = -part * font.width(&text.text, text.size);
            let (words, path) = (escaped(&text.text), font.outlines(&text.text, text.size, begin));
            self.body += &format!("<path id=\"text {words}\" {transform} d=\"{path}\"{bold}/>\n");
            return;
        }
        let anchor = match text.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        self.body += &format!("<text {transform} font-size=\"{size}\"{anchor}{bold}>");
        let mut baseline = BASE.0;
        for (run, level) in runs(&text.text) {
            let run = escaped(run);
            let (down, size) = (short(text.size * (baseline - level.0)), short(text.size * level.1));
            if baseline == BASE.0 && level == BASE {
                self.body += &run;
            } else {
                self.body += &format!("<tspan dy=\"{down}\" font-size=\"{size}\">{run}</tspan>");
            }
            baseline = level.0;
        }
        self.body += "</text>\n";
    }
}

/// Returns a text of XML, which has no control characters.
fn escaped(text: &str) -> String {
    let text = text.replace(char::is_control, " ").replace('&', "&amp;");
    text.replace('<', "&lt;").replace('"', "&quot;")
}

fn paint(of: &str, colour: Colour) -> String {
    let ([r, g, b], alpha) = (colour.rgb, short(colour.alpha));
    let opacity = if alpha < 1.0 { format!(" {of}-opacity=\"{alpha}\"") } else { String::new() };
    format!(" {of}=\"#{r:02x}{g:02x}{b:02x}\"{opacity}")
}

/// A number to a hundredth: longer numbers make larger files.
pub(crate) fn short(value: f64) -> f64 {
    // There is no -0.
    (value * 100.0).round() / 100.0 + 0.0
}
