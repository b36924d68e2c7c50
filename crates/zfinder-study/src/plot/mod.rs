//! Pictures, as SVG and PNG: of an [evaluation] and its [vertices], of the [histogram] of an RoI
//! and of its [event]; and the histogram in characters, for a [terminal].
//!
//! Everything is told apart by its shape or its dashes too, so that the pictures can be read in
//! black and white. The font of a PNG is DejaVu Sans, which is part of the program; that of an SVG
//! is the viewer's.
//!
//! ```
//! use zfinder_study::plot::{self, Format};
//! use zfinder::{Engine, Roi, ZFinder};
//! use zfinder_study::inspect::Inspect;
//!
//! let finder = ZFinder::builder().engine(Engine::Reference).build()?;
//! let picture = plot::histogram(&finder.inspect(&Roi::default())?, &[], Format::Png)?;
//! assert!(picture.starts_with(b"\x89PNG"));
//! # Ok::<(), zfinder_study::Error>(())
//! ```

mod evaluation;
mod event;
mod histogram;
mod png;
mod style;
mod terminal;
#[cfg(test)]
mod tests;
mod vertices;

use std::path::Path;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::error::{Error, Result};

pub use evaluation::{Plotted, evaluation};
pub use event::event;
pub use histogram::histogram;
pub use terminal::terminal;
pub use vertices::{PlottedVertices, vertices};

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines, in any size.
    Svg,
    /// Pixels: smaller where there are thousands of points.
    Png,
}

impl Format {
    /// What a file's name asks for: it ends in `.svg` or `.png`.
    ///
    /// ```
    /// use zfinder_study::plot::Format;
    /// assert_eq!(Format::of(std::path::Path::new("event.PNG")), Some(Format::Png));
    /// assert_eq!(Format::of(std::path::Path::new("event.pdf")), None);
    /// ```
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_lowercase().as_str() {
            "svg" => Some(Format::Svg),
            "png" => Some(Format::Png),
            _ => None,
        }
    }
}

type Area<'a, DB> = DrawingArea<DB, Shift>;
type Drawn<DB> = std::result::Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Something that can be drawn on any backend.
trait Picture {
    /// Width and height \[pixels\].
    fn size(&self) -> (u32, u32);

    fn draw<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB>;

    fn render(&self, format: Format) -> Result<Vec<u8>> {
        static FONT: Once = Once::new();
        FONT.call_once(|| {
            let registered = register_font(style::FONT, FontStyle::Normal, dejavu::sans::regular());
            debug_assert!(registered.is_ok(), "a whole font");
        });
        match format {
            Format::Svg => {
                let mut text = String::new();
                self.draw_on(SVGBackend::with_string(&mut text, self.size()))?;
                Ok(text.into_bytes())
            }
            Format::Png => {
                let (width, height) = self.size();
                let mut pixels = vec![0; 3 * width as usize * height as usize];
                self.draw_on(BitMapBackend::with_buffer(&mut pixels, (width, height)))?;
                png::encode(&pixels, (width, height)).map_err(|error| Error::Plot(Box::new(error)))
            }
        }
    }

    fn draw_on<DB: DrawingBackend>(&self, backend: DB) -> Result<()> {
        let area = backend.into_drawing_area();
        let drawn = area.fill(&WHITE).and_then(|()| self.draw(&area)).and_then(|()| area.present());
        drawn.map_err(|error| Error::Plot(error.to_string().into()))
    }
}
