//! The formats of a picture.

mod pdf;
mod png;
mod svg;

use std::path::Path;

use crate::error::Error;
use crate::font::Font;
use crate::scene::Scene;

/// The format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Lines and texts; a viewer draws texts with its DejaVu Sans, Verdana or own font.
    Svg,
    /// Lines; texts are outlines, so that every viewer shows the same.
    Pdf,
}

impl Format {
    /// Returns the format that the ending of a file's name means.
    ///
    /// ```
    /// use hep_figure::Format;
    /// assert_eq!(Format::of("event.PNG".as_ref()), Some(Format::Png));
    /// assert_eq!(Format::of("event.jpg".as_ref()), None);
    /// ```
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_lowercase().as_str() {
            "png" => Some(Self::Png),
            "svg" => Some(Self::Svg),
            "pdf" => Some(Self::Pdf),
            _ => None,
        }
    }

    /// Returns whether shapes are stored one by one, so that many of them make a large file.
    #[must_use]
    pub fn is_vector(self) -> bool {
        self != Self::Png
    }

    /// Encodes a scene. `size` is the size at 100 dpi \[pixels\].
    pub(crate) fn encode(self, scene: &Scene, font: &Font, size: (u32, u32), dpi: u32) -> Result<Vec<u8>, Error> {
        match self {
            Self::Png => png::encode(scene, font, size, dpi),
            Self::Svg => Ok(svg::encode(scene, size)),
            Self::Pdf => pdf::encode(scene, font, size),
        }
    }
}
