//! PDF of one page. Texts are outlines.

use std::collections::BTreeSet;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};

use crate::colour::Colour;
use crate::error::Error;
use crate::font::{BOLD, Font};
use crate::scene::{Path, Scene, Segment, Shape, Stroke, Weight};

/// Points of a pixel at 100 dpi.
const POINTS: f64 = 0.72;
/// Neighbouring areas overlap by one pixel at 100 dpi. Viewers smooth the edges of each area, and
/// would show a seam where none of the two covers a pixel.
const OVERLAP: f64 = 1.0;

pub(super) fn encode(scene: &Scene, font: &Font, (width, height): (u32, u32)) -> Result<Vec<u8>, Error> {
    let [catalog, pages, page, content] = [1, 2, 3, 4].map(Ref::new);
    let mut writer = Writer { content: Content::new(), alphas: BTreeSet::new(), is_clipped: false };
    let (page_width, page_height) = ((f64::from(width) * POINTS) as f32, (f64::from(height) * POINTS) as f32);
    let scale = [page_width / scene.width as f32, page_height / scene.height as f32];
    // y of the scene runs down.
    writer.content.transform([scale[0], 0.0, 0.0, -scale[1], 0.0, page_height]);
    writer.content.set_line_cap(LineCapStyle::ButtCap).set_line_join(LineJoinStyle::BevelJoin);
    scene.shapes.iter().for_each(|shape| writer.draw(shape, font));
    writer.end_clip();
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(&writer.content.finish())?;
    let compressed = compressed.finish()?;

    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut first = pdf.page(page);
    first.media_box(Rect::new(0.0, 0.0, page_width, page_height)).parent(pages).contents(content);
    let mut resources = first.resources();
    let mut states = resources.ext_g_states();
    for &alpha in &writer.alphas {
        let opacity = f32::from(alpha) / 255.0;
        let mut state =
            states.insert(Name(name(alpha).as_bytes())).start::<pdf_writer::writers::ExtGraphicsState<'_>>();
        state.non_stroking_alpha(opacity).stroking_alpha(opacity);
    }
    states.finish();
    resources.finish();
    first.finish();
    pdf.stream(content, &compressed).filter(Filter::FlateDecode);
    Ok(pdf.finish())
}

/// The graphics state of an opacity.
fn name(alpha: u8) -> String {
    format!("a{alpha}")
}

struct Writer {
    content: Content,
    alphas: BTreeSet<u8>,
    is_clipped: bool,
}

impl Writer {
    fn draw(&mut self, shape: &Shape, font: &Font) {
        match shape {
            Shape::Fill { path, colour, is_crisp } => {
                self.fill(path, *colour);
                if *is_crisp {
                    self.stroke(path, &Stroke { colour: *colour, width: OVERLAP, dash: None });
                }
            }
            Shape::Stroke(path, stroke) => self.stroke(path, stroke),
            Shape::Text(text) => {
                let outlines = font.outlines(text);
                self.fill(&outlines, text.colour);
                if text.weight == Weight::Bold {
                    self.stroke(&outlines, &Stroke { colour: text.colour, width: BOLD * text.size, dash: None });
                }
            }
            Shape::Clip(clip) => {
                self.end_clip();
                if let Some(clip) = clip {
                    self.content.save_state();
                    self.path(&clip.path());
                    self.content.clip_nonzero().end_path();
                    self.is_clipped = true;
                }
            }
        }
    }

    fn end_clip(&mut self) {
        if std::mem::take(&mut self.is_clipped) {
            self.content.restore_state();
        }
    }

    fn alpha(&mut self, colour: Colour) {
        let alpha = (255.0 * colour.alpha).round() as u8;
        self.alphas.insert(alpha);
        self.content.set_parameters(Name(name(alpha).as_bytes()));
    }

    fn fill(&mut self, path: &Path, colour: Colour) {
        self.alpha(colour);
        let [r, g, b] = colour.rgb.map(|part| f32::from(part) / 255.0);
        self.content.set_fill_rgb(r, g, b);
        self.path(path);
        self.content.fill_nonzero();
    }

    fn stroke(&mut self, path: &Path, stroke: &Stroke) {
        self.alpha(stroke.colour);
        let [r, g, b] = stroke.colour.rgb.map(|part| f32::from(part) / 255.0);
        self.content.set_stroke_rgb(r, g, b).set_line_width(stroke.width as f32);
        let dash = stroke.dash.map(|dash| dash.map(|length| length as f32));
        self.content.set_dash_pattern(dash.iter().flatten().copied(), 0.0);
        self.path(path);
        self.content.stroke();
    }

    fn path(&mut self, path: &Path) {
        // To a hundredth: longer numbers make larger files.
        let f = |value: f64| ((value * 100.0).round() / 100.0) as f32;
        for segment in &path.0 {
            match *segment {
                Segment::Move((x, y)) => self.content.move_to(f(x), f(y)),
                Segment::Line((x, y)) => self.content.line_to(f(x), f(y)),
                Segment::Cubic(a, b, c) => self.content.cubic_to(f(a.0), f(a.1), f(b.0), f(b.1), f(c.0), f(c.1)),
                Segment::Close => self.content.close_path(),
            };
        }
    }
}
