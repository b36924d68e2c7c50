//! PNG. plotters itself writes it only to a file, by a crate for all image formats.

use std::io::{self, Write};

/// Writes an image of this width and height from its pixels, red, green and blue, row by row.
pub(crate) fn write(out: impl Write, pixels: &[u8], (width, height): (u32, u32)) -> io::Result<()> {
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    // Flat colours repeat as they are: filters would only hide that.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}
