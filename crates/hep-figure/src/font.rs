//! The embedded font, and the layout of one line of text.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::error::Error;
use crate::scene::{Path, Text, Weight};

/// Height of capitals and digits, in units of the size.
pub(crate) const CAP: f64 = 0.73;
/// Depth of letters below the baseline, in units of the size.
pub(crate) const DEPTH: f64 = 0.24;
/// Size of exponents and indices, in units of the size.
pub(crate) const SCRIPT: f64 = 0.7;
/// Slope of oblique text.
pub(crate) const SLOPE: f64 = 0.2;
/// Width of the stroke that makes outlines bold, in units of the size.
pub(crate) const BOLD: f64 = 0.05;

/// A part of a text on one baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextRun {
    pub(crate) text: String,
    pub(crate) level: Level,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Base,
    Exponent,
    Index,
}

impl Level {
    /// Height of the baseline, and the size of letters, in units of the text's size.
    pub(crate) fn place(self) -> (f64, f64) {
        match self {
            Self::Base => (0.0, 1.0),
            Self::Exponent => (0.36, SCRIPT),
            Self::Index => (-0.16, SCRIPT),
        }
    }
}

/// Splits a text at `^{…}` and `_{…}`.
pub(crate) fn runs(text: &str) -> Vec<TextRun> {
    let mut runs = Vec::new();
    let mut push = |text: &str, level| {
        if !text.is_empty() {
            runs.push(TextRun { text: text.to_owned(), level });
        }
    };
    let mut rest = text;
    loop {
        let next = [("^{", Level::Exponent), ("_{", Level::Index)]
            .into_iter()
            .filter_map(|(mark, level)| rest.find(mark).map(|at| (at, level)))
            .min_by_key(|(at, _)| *at);
        let Some((at, level)) = next else { break };
        let Some(end) = rest[at..].find('}') else { break };
        push(&rest[..at], Level::Base);
        push(&rest[at + 2..at + end], level);
        rest = &rest[at + end + 1..];
    }
    push(rest, Level::Base);
    runs
}

/// DejaVu Sans.
pub(crate) struct Font {
    face: Face<'static>,
    units: f64,
}

impl Font {
    pub(crate) fn load() -> Result<Self, Error> {
        let face = Face::parse(dejavu::sans::regular(), 0).map_err(|error| Error::Font(error.to_string()))?;
        let units = f64::from(face.units_per_em());
        Ok(Self { face, units })
    }

    fn glyph(&self, letter: char) -> GlyphId {
        self.face.glyph_index(letter).unwrap_or_default()
    }

    fn advance(&self, letter: char) -> f64 {
        f64::from(self.face.glyph_hor_advance(self.glyph(letter)).unwrap_or(0)) / self.units
    }

    /// Returns the width of a text with exponents and indices.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        let run =
            |run: &TextRun| run.level.place().1 * run.text.chars().map(|letter| self.advance(letter)).sum::<f64>();
        size * runs(text).iter().map(run).sum::<f64>()
    }

    /// Returns the text, shortened until it is no wider than this.
    pub(crate) fn shortened(&self, text: &str, size: f64, width: f64) -> String {
        if self.width(text, size) <= width {
            return text.to_owned();
        }
        let mut letters: Vec<char> = text.chars().collect();
        while letters.pop().is_some() {
            let short: String = letters.iter().collect::<String>() + "…";
            if self.width(&short, size) <= width {
                return short;
            }
        }
        String::new()
    }

    /// Returns the outlines of a text at its place in the scene.
    pub(crate) fn outlines(&self, text: &Text) -> Path {
        let mut pen = Pen {
            path: Path::default(),
            font: self,
            text,
            x: -text.anchor.share() * self.width(&text.text, text.size),
            y: 0.0,
            size: text.size,
        };
        for run in runs(&text.text) {
            let (height, size) = run.level.place();
            (pen.y, pen.size) = (text.size * height, text.size * size);
            for letter in run.text.chars() {
                self.face.outline_glyph(self.glyph(letter), &mut pen);
                pen.x += pen.size * self.advance(letter);
            }
        }
        pen.path
    }
}

/// Takes outlines of glyphs into the scene.
struct Pen<'a> {
    path: Path,
    font: &'a Font,
    text: &'a Text,
    /// Where the glyph begins on the line, its baseline, and its size.
    x: f64,
    y: f64,
    size: f64,
}

impl Pen<'_> {
    fn place(&self, x: f32, y: f32) -> (f64, f64) {
        let scale = self.size / self.font.units;
        let (mut x, y) = (self.x + scale * f64::from(x), self.y + scale * f64::from(y));
        if self.text.weight == Weight::Oblique {
            x += SLOPE * y;
        }
        let (at_x, at_y) = self.text.at;
        if self.text.is_vertical { (at_x - y, at_y - x) } else { (at_x + x, at_y - y) }
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let to = self.place(x, y);
        self.path.move_to(to);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let to = self.place(x, y);
        self.path.line_to(to);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (control, to) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(control, to);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (first, second, to) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(first, second, to);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_and_indices_are_runs() {
        let run = |text: &str, level| TextRun { text: text.to_owned(), level };
        assert_eq!(
            runs("10^{−3} p_{T} [GeV]"),
            [
                run("10", Level::Base),
                run("−3", Level::Exponent),
                run(" p", Level::Base),
                run("T", Level::Index),
                run(" [GeV]", Level::Base)
            ]
        );
        assert_eq!(runs("a ^{ b"), [run("a ^{ b", Level::Base)]);
        assert_eq!(runs(""), []);
    }

    #[test]
    fn long_texts_are_shortened() {
        let font = Font::load().expect("the font");
        let wide = font.width("default", 10.0);
        assert!((20.0..60.0).contains(&wide), "{wide}");
        assert_eq!(font.shortened("default", 10.0, wide), "default");
        let short = font.shortened("default", 10.0, 0.7 * wide);
        assert!(short.ends_with('…') && short.starts_with("de") && font.width(&short, 10.0) <= 0.7 * wide, "{short}");
        assert_eq!(font.shortened("default", 10.0, 0.0), "");
    }
}
