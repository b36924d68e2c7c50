//! The embedded font, and the layout of one line of text.

use ttf_parser::{Face, OutlineBuilder};

use crate::error::Error;
use crate::scene::short;

/// Height of capitals and digits, in units of the size.
pub(crate) const CAP: f64 = 0.73;
/// Height of the baseline, and the size of letters, in units of the text's size.
pub(crate) type Level = (f64, f64);
pub(crate) const BASE: Level = (0.0, 1.0);
const EXPONENT: Level = (0.36, 0.7);
const INDEX: Level = (-0.16, 0.7);

/// Splits a text at `^{…}` and `_{…}`.
pub(crate) fn runs(text: &str) -> Vec<(&str, Level)> {
    let mut runs = Vec::new();
    let mut rest = text;
    loop {
        let next = [("^{", EXPONENT), ("_{", INDEX)]
            .into_iter()
            .filter_map(|(mark, level)| rest.find(mark).map(|at| (at, level)))
            .min_by_key(|(at, _)| *at);
        let Some((at, level)) = next else { break };
        let Some(end) = rest[at..].find('}') else { break };
        runs.extend([(&rest[..at], BASE), (&rest[at + 2..at + end], level)]);
        rest = &rest[at + end + 1..];
    }
    runs.push((rest, BASE));
    runs.retain(|(run, _)| !run.is_empty());
    runs
}

/// DejaVu Sans.
#[derive(Clone)]
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

    fn advance(&self, letter: char) -> f64 {
        let glyph = self.face.glyph_index(letter).unwrap_or_default();
        f64::from(self.face.glyph_hor_advance(glyph).unwrap_or(0)) / self.units
    }

    /// Returns the width of a text with exponents and indices.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        let width = |(run, level): (&str, Level)| level.1 * run.chars().map(|c| self.advance(c)).sum::<f64>();
        size * runs(text).into_iter().map(width).sum::<f64>()
    }

    /// Returns the outlines of a text as the data of a path, from this x on the baseline.
    pub(crate) fn outlines(&self, text: &str, size: f64, x: f64) -> String {
        let mut pen = Pen { x, ..Pen::default() };
        for (run, (baseline, level)) in runs(text) {
            pen.baseline = -size * baseline;
            pen.scale = size * level / self.units;
            for letter in run.chars() {
                let letter = if letter.is_control() { ' ' } else { letter };
                self.face.outline_glyph(self.face.glyph_index(letter).unwrap_or_default(), &mut pen);
                pen.x += size * level * self.advance(letter);
            }
        }
        pen.path
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
}

/// Writes the outlines of letters at a place. y of letters runs up, and y of a path down.
#[derive(Default)]
struct Pen {
    path: String,
    x: f64,
    baseline: f64,
    scale: f64,
}

impl Pen {
    fn write(&mut self, command: char, places: &[(f32, f32)]) {
        let place = |&(x, y): &(f32, f32)| {
            let (x, y) = (self.x + self.scale * f64::from(x), self.baseline - self.scale * f64::from(y));
            format!("{} {}", short(x), short(y))
        };
        let places: Vec<String> = places.iter().map(place).collect();
        self.path.push(command);
        self.path += &places.join(" ");
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.write('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.write('L', &[(x, y)]);
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        self.write('Q', &[(cx, cy), (x, y)]);
    }

    fn curve_to(&mut self, ax: f32, ay: f32, bx: f32, by: f32, x: f32, y: f32) {
        self.write('C', &[(ax, ay), (bx, by), (x, y)]);
    }

    fn close(&mut self) {
        self.write('Z', &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_and_indices_are_runs() {
        assert_eq!(
            runs("10^{−3} p_{T} [GeV]"),
            [("10", BASE), ("−3", EXPONENT), (" p", BASE), ("T", INDEX), (" [GeV]", BASE)]
        );
        assert_eq!(runs("a ^{ b"), [("a ^{ b", BASE)]);
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
