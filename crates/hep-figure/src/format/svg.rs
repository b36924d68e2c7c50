//! SVG. Texts stay texts.

use std::fmt::Write;

use crate::colour::Colour;
use crate::font::{BOLD, runs};
use crate::scene::{Anchor, Path, Scene, Segment, Shape, Text, Weight};

/// Verdana has the widths of DejaVu Sans.
const FAMILY: &str = "'DejaVu Sans', Verdana, sans-serif";

pub(super) fn encode(scene: &Scene, (width, height): (u32, u32)) -> Vec<u8> {
    let mut svg = Svg { text: String::new(), clips: 0, is_clipped: false };
    svg.put(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {} {}\" \
         font-family=\"{FAMILY}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        ShortNumber(scene.width),
        ShortNumber(scene.height)
    ));
    scene.shapes.iter().for_each(|shape| svg.draw(shape));
    svg.end_clip();
    svg.text.push_str("</svg>\n");
    svg.text.into_bytes()
}

struct Svg {
    text: String,
    clips: usize,
    is_clipped: bool,
}

impl Svg {
    fn put(&mut self, what: std::fmt::Arguments<'_>) {
        // A String takes everything.
        let _ = self.text.write_fmt(what);
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Fill { path, colour, is_crisp } => {
                let crisp = if *is_crisp { " shape-rendering=\"crispEdges\"" } else { "" };
                self.put(format_args!(
                    "<path d=\"{}\" fill=\"{}\"{}{crisp}/>\n",
                    D(path),
                    Hex(*colour),
                    opacity("fill", *colour)
                ));
            }
            Shape::Stroke(path, stroke) => {
                let dash = stroke
                    .dash
                    .map(|[on, off]| format!(" stroke-dasharray=\"{} {}\"", ShortNumber(on), ShortNumber(off)));
                self.put(format_args!(
                    "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"bevel\"{}{}/>\n",
                    D(path),
                    Hex(stroke.colour),
                    ShortNumber(stroke.width),
                    opacity("stroke", stroke.colour),
                    dash.unwrap_or_default()
                ));
            }
            Shape::Text(text) => self.write(text),
            Shape::Clip(clip) => {
                self.end_clip();
                if let Some(clip) = clip {
                    self.clips += 1;
                    let number = self.clips;
                    self.put(format_args!(
                        "<clipPath id=\"c{number}\"><path d=\"{}\"/></clipPath>\n<g clip-path=\"url(#c{number})\">\n",
                        D(&clip.path())
                    ));
                    self.is_clipped = true;
                }
            }
        }
    }

    fn end_clip(&mut self) {
        if std::mem::take(&mut self.is_clipped) {
            self.text.push_str("</g>\n");
        }
    }

    fn write(&mut self, text: &Text) {
        let (x, y) = text.at;
        let place = if text.is_vertical {
            format!("transform=\"translate({} {}) rotate(-90)\"", ShortNumber(x), ShortNumber(y))
        } else {
            format!("x=\"{}\" y=\"{}\"", ShortNumber(x), ShortNumber(y))
        };
        let anchor = match text.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = match text.weight {
            Weight::Regular => String::new(),
            // A stroke, as in the other formats: letters of a bold font would be wider.
            Weight::Bold => {
                format!(" stroke=\"{}\" stroke-width=\"{}\"", Hex(text.colour), ShortNumber(BOLD * text.size))
            }
            Weight::Oblique => " font-style=\"oblique\"".to_owned(),
        };
        self.put(format_args!(
            "<text {place} font-size=\"{}\"{anchor}{weight} fill=\"{}\">",
            ShortNumber(text.size),
            Hex(text.colour)
        ));
        let mut baseline = 0.0;
        for run in runs(&text.text) {
            let (height, size) = run.level.place();
            if height == baseline && size == 1.0 {
                self.escaped(&run.text);
            } else {
                let (down, size) = (text.size * (baseline - height), text.size * size);
                self.put(format_args!("<tspan dy=\"{}\" font-size=\"{}\">", ShortNumber(down), ShortNumber(size)));
                self.escaped(&run.text);
                self.text.push_str("</tspan>");
                baseline = height;
            }
        }
        self.text.push_str("</text>\n");
    }

    fn escaped(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                // XML has no other control characters.
                letter if letter.is_control() => self.text.push(' '),
                letter => self.text.push(letter),
            }
        }
    }
}

fn opacity(of: &str, colour: Colour) -> String {
    if colour.alpha < 1.0 { format!(" {of}-opacity=\"{}\"", ShortNumber(colour.alpha)) } else { String::new() }
}

struct Hex(Colour);

impl std::fmt::Display for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [r, g, b] = self.0.rgb;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

/// A number to a hundredth, without zeros at its end.
pub(super) struct ShortNumber(pub(super) f64);

impl std::fmt::Display for ShortNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // There is no -0.
        write!(f, "{}", (self.0 * 100.0).round() / 100.0 + 0.0)
    }
}

struct D<'a>(&'a Path);

impl std::fmt::Display for D<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let s = |(x, y): (f64, f64)| format!("{} {}", ShortNumber(x), ShortNumber(y));
        for segment in &self.0.0 {
            match *segment {
                Segment::Move(to) => write!(f, "M{}", s(to))?,
                Segment::Line(to) => write!(f, "L{}", s(to))?,
                Segment::Cubic(a, b, c) => write!(f, "C{} {} {}", s(a), s(b), s(c))?,
                Segment::Close => f.write_str("Z")?,
            }
        }
        Ok(())
    }
}
