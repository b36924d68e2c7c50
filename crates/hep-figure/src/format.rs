//! The formats of a picture: SVG, and its conversion to PNG and PDF.

use std::path::Path;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Tree};

use crate::error::Error;
use crate::pdf;

/// Dots per inch at the requested size.
const BASE_DPI: u64 = 100;
/// 100 million pixels take 700 MB.
const MOST_PIXELS: u64 = 100_000_000;
const LEAST_SIDE: u64 = 50;

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
    /// assert_eq!(Format::from_path("event.PNG".as_ref()), Some(Format::Png));
    /// assert_eq!(Format::from_path("event.jpg".as_ref()), None);
    /// ```
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
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

    /// Converts an SVG. `size` is the size at 100 dpi \[pixels\].
    pub(crate) fn encode(self, svg: String, size: (u32, u32), dpi: u32) -> Result<Vec<u8>, Error> {
        match self {
            Self::Png => png(&svg, size, dpi),
            Self::Svg => Ok(svg.into_bytes()),
            Self::Pdf => pdf::encode(&tree(&svg)?),
        }
    }
}

/// Parses an SVG whose texts are outlines.
pub(crate) fn tree(svg: &str) -> Result<Tree, Error> {
    Ok(Tree::from_str(svg, &usvg::Options::default())?)
}

fn png(svg: &str, size: (u32, u32), dpi: u32) -> Result<Vec<u8>, Error> {
    let pixels = |side: u32| (u64::from(side) * u64::from(dpi)).div_ceil(BASE_DPI);
    let (width, height) = (pixels(size.0), pixels(size.1));
    let refused = Error::Size { width, height };
    if width.min(height) < LEAST_SIDE || width.saturating_mul(height) > MOST_PIXELS {
        return Err(refused);
    }
    let Some(mut pixmap) = Pixmap::new(width as u32, height as u32) else { return Err(refused) };
    let tree = tree(svg)?;
    let scale = Transform::from_scale(width as f32 / tree.size().width(), height as f32 / tree.size().height());
    resvg::render(&tree, scale, &mut pixmap.as_mut());
    let pixels: Vec<u8> = pixmap.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    let mut content = Vec::new();
    let mut encoder = png::Encoder::new(&mut content, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    // Flat colours repeat without a filter; filters would hide the repetition.
    encoder.set_filter(png::Filter::NoFilter);
    let per_metre = (f64::from(dpi) / 0.0254).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit: png::Unit::Meter }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(content)
}
