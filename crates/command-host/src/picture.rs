//! Pictures as files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::failure::{Code, Failure};
use crate::output::write_file;
use crate::{plot, png};

/// An output file for a picture: PNG or SVG.
#[derive(Clone, Debug)]
pub struct Picture {
    path: PathBuf,
    is_png: bool,
}

/// Something that can be drawn on any plotters backend.
pub trait Drawing {
    /// Returns the width and height \[pixels\].
    fn size(&self) -> (u32, u32);

    /// Returns whether edges are smoothed in an SVG. By default they are not, so that nothing
    /// shines through between areas side by side.
    fn is_smooth(&self) -> bool {
        false
    }

    /// Draws on a white area of that size.
    ///
    /// # Errors
    /// Any error of the area.
    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>>;
}

impl Picture {
    /// Makes the output file of `--plot`. Other endings are rejected before anything is computed.
    ///
    /// # Errors
    /// [`Code::Usage`] if the name does not end in `.png` or `.svg`.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
        let is_png = match ending.as_deref() {
            Some("png") => true,
            Some("svg") => false,
            _ => {
                let what = format!("--plot {}: pictures are .png or .svg", path.display());
                return Err(Failure::new(Code::Usage, what));
            }
        };
        Ok(Self { path: path.to_owned(), is_png })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file is a PNG.
    #[must_use]
    pub fn is_png(&self) -> bool {
        self.is_png
    }

    /// Draws, and writes the file when it is complete; see [`write_file`].
    ///
    /// # Errors
    /// [`Code::Data`] if the file cannot be written.
    pub fn draw(&self, program: &str, drawing: &impl Drawing) -> Result<(), Failure> {
        let told = |what: String| Failure::new(Code::Data, format_args!("{}: {what}", self.path.display()));
        plot::register_face().map_err(told)?;
        let size = drawing.size();
        let content = if self.is_png {
            let mut pixels = vec![0; 3 * size.0 as usize * size.1 as usize];
            draw_on(drawing, BitMapBackend::with_buffer(&mut pixels, size)).map_err(told)?;
            Content::Pixels(pixels, size)
        } else {
            let mut text = String::new();
            draw_on(drawing, SVGBackend::with_string(&mut text, size)).map_err(told)?;
            let crisp = "<svg shape-rendering=\"crispEdges\" ";
            Content::Text(if drawing.is_smooth() { text } else { text.replacen("<svg ", crisp, 1) })
        };
        write_file(&self.path, program, |out| content.write(out))
    }
}

fn draw_on<DB: DrawingBackend>(drawing: &impl Drawing, backend: DB) -> Result<(), String> {
    let area = backend.into_drawing_area();
    let drawn = area.fill(&WHITE).and_then(|()| drawing.draw(&area)).and_then(|()| area.present());
    drawn.map_err(|error| error.to_string())
}

enum Content {
    Text(String),
    Pixels(Vec<u8>, (u32, u32)),
}

impl Content {
    fn write(&self, mut out: impl Write) -> io::Result<()> {
        match self {
            Self::Text(text) => out.write_all(text.as_bytes()),
            Self::Pixels(pixels, size) => png::write(out, pixels, *size),
        }
    }
}

/// Returns the colour at a position from 0 to 1 on a scale of equidistant colours. Positions
/// outside are clamped.
///
/// Returns black if there are no colours.
#[must_use]
pub fn colour(scale: &[[u8; 3]], place: f64) -> RGBColor {
    let Some(last) = scale.len().checked_sub(1) else { return BLACK };
    let place = place.clamp(0.0, 1.0) * last as f64;
    let below = (place as usize).min(last);
    let (low, high) = (scale[below], scale[(below + 1).min(last)]);
    let part = place - below as f64;
    let [r, g, b] = [0, 1, 2].map(|i| {
        let (low, high) = (f64::from(low[i]), f64::from(high[i]));
        (low + part * (high - low)).round() as u8
    });
    RGBColor(r, g, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Square;

    impl Drawing for Square {
        fn size(&self) -> (u32, u32) {
            (30, 20)
        }

        fn draw<DB: DrawingBackend>(
            &self,
            area: &DrawingArea<DB, Shift>,
        ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
            area.draw(&Rectangle::new([(10, 5), (20, 15)], RED.filled()))
        }
    }

    #[test]
    fn a_picture_is_of_pixels_or_of_shapes() {
        let folder = tempfile::tempdir().expect("a folder");
        let drawn = |name: &str| {
            let path = folder.path().join(name);
            Picture::of(&path).and_then(|picture| picture.draw("draws", &Square)).map(|()| std::fs::read(path))
        };
        let png = drawn("a.PNG").expect("drawn").expect("a file");
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xaeB`\x82"));
        let svg = String::from_utf8(drawn("a.svg").expect("drawn").expect("a file")).expect("text");
        assert!(svg.starts_with("<svg ") && svg.contains("crispEdges") && svg.contains("#FF0000"), "{svg}");
        assert_eq!(drawn("a.pdf").map(drop).map_err(|failure| failure.code()), Err(Some(Code::Usage)));
        assert_eq!(drawn("none/a.png").map(drop).map_err(|failure| failure.code()), Err(Some(Code::Data)));
    }

    #[test]
    fn colours_are_between_those_of_the_scale() {
        let scale = [[0, 0, 0], [100, 200, 0], [100, 200, 250]];
        assert_eq!(colour(&scale, 0.25), RGBColor(50, 100, 0));
        assert_eq!(colour(&scale, 0.5), RGBColor(100, 200, 0));
        assert_eq!((colour(&scale, -1.0), colour(&scale, 7.0)), (BLACK, RGBColor(100, 200, 250)));
        assert_eq!(
            (colour(&scale, f64::NAN), colour(&[], 1.0), colour(&scale[2..], 0.3)),
            (BLACK, BLACK, RGBColor(100, 200, 250))
        );
    }
}
