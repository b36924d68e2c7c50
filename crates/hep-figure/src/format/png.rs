//! PNG, drawn by tiny-skia.

use tiny_skia::{FillRule, LineCap, LineJoin, Mask, Paint, PathBuilder, Pixmap, StrokeDash, Transform};

use crate::colour::Colour;
use crate::error::Error;
use crate::font::{BOLD, Font};
use crate::scene::{Path, Scene, Segment, Shape, Stroke, Weight};

/// Dots per inch at the requested size.
const BASE_DPI: u64 = 100;
/// 100 million pixels take 700 MB.
const MOST_PIXELS: u64 = 100_000_000;
const LEAST_SIDE: u64 = 50;

pub(super) fn encode(scene: &Scene, font: &Font, size: (u32, u32), dpi: u32) -> Result<Vec<u8>, Error> {
    let pixels = |side: u32| (u64::from(side) * u64::from(dpi)).div_ceil(BASE_DPI);
    let (width, height) = (pixels(size.0), pixels(size.1));
    let refused = Error::Size { width, height };
    if width.min(height) < LEAST_SIDE || width.saturating_mul(height) > MOST_PIXELS {
        return Err(refused);
    }
    let Some(mut pixmap) = Pixmap::new(width as u32, height as u32) else { return Err(refused) };
    pixmap.fill(tiny_skia::Color::WHITE);
    let scale = Transform::from_scale((width as f64 / scene.width) as f32, (height as f64 / scene.height) as f32);
    let mut canvas = Canvas { pixmap, mask: None, scale, font };
    scene.shapes.iter().for_each(|shape| canvas.draw(shape));
    let pixels: Vec<u8> =
        canvas.pixmap.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    compressed(&pixels, (width as u32, height as u32), dpi)
}

fn compressed(pixels: &[u8], (width, height): (u32, u32), dpi: u32) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    let mut encoder = png::Encoder::new(&mut content, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    // Flat colours repeat without a filter; filters would hide the repetition.
    encoder.set_filter(png::Filter::NoFilter);
    let per_metre = (f64::from(dpi) / 0.0254).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit: png::Unit::Meter }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(content)
}

struct Canvas<'a> {
    pixmap: Pixmap,
    mask: Option<Mask>,
    scale: Transform,
    font: &'a Font,
}

impl Canvas<'_> {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Fill { path, colour, is_crisp } => self.fill(path, *colour, !is_crisp),
            Shape::Stroke(path, stroke) => self.stroke(path, stroke),
            Shape::Text(text) => {
                let outlines = self.font.outlines(text);
                self.fill(&outlines, text.colour, true);
                if text.weight == Weight::Bold {
                    self.stroke(&outlines, &Stroke { colour: text.colour, width: BOLD * text.size, dash: None });
                }
            }
            Shape::Clip(None) => self.mask = None,
            Shape::Clip(Some(clip)) => {
                self.mask = Mask::new(self.pixmap.width(), self.pixmap.height());
                if let (Some(mask), Some(path)) = (&mut self.mask, converted(&clip.path())) {
                    mask.fill_path(&path, FillRule::Winding, true, self.scale);
                }
            }
        }
    }

    fn fill(&mut self, path: &Path, colour: Colour, is_smooth: bool) {
        if let Some(path) = converted(path) {
            let paint = paint(colour, is_smooth);
            self.pixmap.fill_path(&path, &paint, FillRule::Winding, self.scale, self.mask.as_ref());
        }
    }

    fn stroke(&mut self, path: &Path, stroke: &Stroke) {
        if let Some(path) = converted(path) {
            let dash = stroke.dash.and_then(|dash| StrokeDash::new(dash.map(|length| length as f32).into(), 0.0));
            let style = tiny_skia::Stroke {
                width: stroke.width as f32,
                line_cap: LineCap::Butt,
                line_join: LineJoin::Bevel,
                dash,
                ..Default::default()
            };
            self.pixmap.stroke_path(&path, &paint(stroke.colour, true), &style, self.scale, self.mask.as_ref());
        }
    }
}

fn paint(colour: Colour, is_smooth: bool) -> Paint<'static> {
    let mut paint = Paint { anti_alias: is_smooth, ..Paint::default() };
    let [r, g, b] = colour.rgb;
    paint.set_color_rgba8(r, g, b, (255.0 * colour.alpha).round() as u8);
    paint
}

fn converted(path: &Path) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    let f = |(x, y): (f64, f64)| (x as f32, y as f32);
    for segment in &path.0 {
        match *segment {
            Segment::Move(to) => builder.move_to(f(to).0, f(to).1),
            Segment::Line(to) => builder.line_to(f(to).0, f(to).1),
            Segment::Cubic(a, b, c) => builder.cubic_to(f(a).0, f(a).1, f(b).0, f(b).1, f(c).0, f(c).1),
            Segment::Close => builder.close(),
        }
    }
    builder.finish()
}
