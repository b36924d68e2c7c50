//! PNG in memory. plotters itself writes it only to a file, by a crate for all image formats.

#[cfg(test)]
pub(super) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Returns the PNG of this width and height from its pixels, red, green and blue, row by row.
pub(super) fn encode(pixels: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>, png::EncodingError> {
    let mut content = Vec::new();
    let mut encoder = png::Encoder::new(&mut content, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    // Flat colours repeat as they are: filters would only hide that.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(content)
}
