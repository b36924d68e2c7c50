//! PNG, which plotters writes only with a crate for all formats of pictures.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Writes so many pixels across and down, each of red, green and blue, row by row.
pub(crate) fn write(mut out: impl Write, pixels: &[u8], (width, height): (u32, u32)) -> io::Result<()> {
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // 8 bits a colour, three colours, the one way to compress and to filter that there is, not interlaced.
    header.extend([8, 2, 0, 0, 0]);
    let mut data = ZlibEncoder::new(Vec::new(), Compression::best());
    for row in pixels.chunks(3 * width.max(1) as usize) {
        // Unfiltered: flat colours repeat as they are.
        data.write_all(&[0])?;
        data.write_all(row)?;
    }
    out.write_all(b"\x89PNG\r\n\x1a\n")?;
    for (kind, content) in [(b"IHDR", header), (b"IDAT", data.finish()?), (b"IEND", Vec::new())] {
        let length = u32::try_from(content.len()).map_err(io::Error::other)?;
        let checked = [&kind[..], &content].concat();
        let mut sum = flate2::Crc::new();
        sum.update(&checked);
        out.write_all(&length.to_be_bytes())?;
        out.write_all(&checked)?;
        out.write_all(&sum.sum().to_be_bytes())?;
    }
    Ok(())
}
