//! PDF of one page. Texts are outlines.

use std::collections::BTreeSet;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};
use resvg::tiny_skia::{Path, PathSegment, Point};
use resvg::usvg::{Color, Group, Node, Opacity, Paint, ShapeRendering, Transform, Tree};

use crate::error::Error;

/// Points of 100 pixels at 100 dpi.
const POINTS: f32 = 72.0;
/// Neighbouring areas overlap by one unit of the layout. Viewers smooth the edges of each area, and
/// would show a seam where none of the two covers a pixel.
const OVERLAP: f32 = 1.0;

pub(crate) fn encode(tree: &Tree) -> Result<Vec<u8>, Error> {
    let [catalog, pages, page, content] = [1, 2, 3, 4].map(Ref::new);
    let (width, height) = (tree.size().width() * POINTS / 100.0, tree.size().height() * POINTS / 100.0);
    let mut writer = Writer { content: Content::new(), alphas: BTreeSet::new() };
    // y of the picture runs down.
    writer.content.transform([POINTS / 100.0, 0.0, 0.0, -POINTS / 100.0, 0.0, height]);
    writer.draw(tree.root());
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(&writer.content.finish())?;
    let compressed = compressed.finish()?;

    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut first = pdf.page(page);
    first.media_box(Rect::new(0.0, 0.0, width, height)).parent(pages).contents(content);
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
}

impl Writer {
    fn draw(&mut self, group: &Group) {
        let Transform { sx, ky, kx, sy, tx, ty } = group.transform();
        self.content.save_state().transform([sx, ky, kx, sy, tx, ty]);
        if let Some(clip) = group.clip_path() {
            for node in clip.root().children() {
                if let Node::Path(path) = node {
                    self.path(path.data());
                }
            }
            self.content.clip_nonzero().end_path();
        }
        for node in group.children() {
            match node {
                Node::Group(group) => self.draw(group),
                Node::Path(path) => self.shape(path),
                // Texts are outlines.
                Node::Image(_) | Node::Text(_) => {}
            }
        }
        self.content.restore_state();
    }

    fn shape(&mut self, path: &resvg::usvg::Path) {
        let is_crisp = path.rendering_mode() == ShapeRendering::CrispEdges;
        if let Some((fill, Paint::Color(colour))) = path.fill().map(|fill| (fill, fill.paint())) {
            let [r, g, b] = self.colour(*colour, fill.opacity());
            self.content.set_fill_rgb(r, g, b);
            self.path(path.data());
            if is_crisp {
                self.content.set_stroke_rgb(r, g, b).set_line_width(OVERLAP).set_dash_pattern([], 0.0);
                self.content.fill_nonzero_and_stroke();
            } else {
                self.content.fill_nonzero();
            }
        }
        if let Some((stroke, Paint::Color(colour))) = path.stroke().map(|stroke| (stroke, stroke.paint())) {
            let [r, g, b] = self.colour(*colour, stroke.opacity());
            let dash = stroke.dasharray().unwrap_or_default().iter().copied();
            self.content.set_stroke_rgb(r, g, b).set_line_width(stroke.width().get()).set_dash_pattern(dash, 0.0);
            self.path(path.data());
            self.content.stroke();
        }
    }

    /// Sets an opacity, and returns the parts of a colour.
    fn colour(&mut self, Color { red, green, blue }: Color, opacity: Opacity) -> [f32; 3] {
        let alpha = opacity.to_u8();
        self.alphas.insert(alpha);
        self.content.set_parameters(Name(name(alpha).as_bytes()));
        [red, green, blue].map(|part| f32::from(part) / 255.0)
    }

    fn path(&mut self, path: &Path) {
        // To a hundredth: longer numbers make larger files.
        let f = |value: f32| (value * 100.0).round() / 100.0;
        let mut at = Point::default();
        for segment in path.segments() {
            at = match segment {
                PathSegment::MoveTo(to) => {
                    self.content.move_to(f(to.x), f(to.y));
                    to
                }
                PathSegment::LineTo(to) => {
                    self.content.line_to(f(to.x), f(to.y));
                    to
                }
                PathSegment::QuadTo(c, to) => {
                    let third = |from: f32, control: f32| f((from + 2.0 * control) / 3.0);
                    let (ax, ay, bx, by) = (third(at.x, c.x), third(at.y, c.y), third(to.x, c.x), third(to.y, c.y));
                    self.content.cubic_to(ax, ay, bx, by, f(to.x), f(to.y));
                    to
                }
                PathSegment::CubicTo(a, b, to) => {
                    self.content.cubic_to(f(a.x), f(a.y), f(b.x), f(b.y), f(to.x), f(to.y));
                    to
                }
                PathSegment::Close => {
                    self.content.close_path();
                    at
                }
            };
        }
    }
}
