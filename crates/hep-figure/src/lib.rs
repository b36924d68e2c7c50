//! Figures in the style of LHC experiments, as PNG, SVG and PDF, free of physics.
//!
//! A [`Figure`] has [`Panel`]s with two [`Axis`] and [`Layer`]s. [`Figure::render`] draws it with
//! the [`Options`] of its picture. Ticks point inwards on four sides, axis titles stand at the
//! ends, and there is no grid. The font is DejaVu Sans, which is part of the program.
//!
//! ```
//! use hep_figure::{Axis, Entry, Figure, Format, Key, Layer, Marker, Options, Panel, Point};
//!
//! let (x, y) = (Axis::new("z [mm]", -1.0, 1.0), Axis::new("events", 0.0, 9.0));
//! let mut panel = Panel::new("rate", x, y);
//! let point = Point { bin: (-0.5, 0.5), interval: (5.0, 8.0), ..Point::new(0.1, 6.5) };
//! panel.layers.push(Layer::Points(vec![point], Marker::numbered(0)));
//! let mut figure = Figure::new("13 TeV", panel);
//! figure.legend.push(Entry::new(Key::Marker(Marker::numbered(0)), "data"));
//! let options = Options { label: Some("Experiment".to_owned()), ..Options::default() };
//! assert!(figure.render(Format::Pdf, &options)?.starts_with(b"%PDF"));
//! # Ok::<(), hep_figure::Error>(())
//! ```

#![forbid(unsafe_code)]

mod axis;
mod colour;
mod draw;
mod error;
mod figure;
mod font;
mod format;
mod layout;
mod legend;
mod panel;
mod pdf;
mod scene;
#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use colour::{Colour, SERIES, Scale};
pub use error::Error;
pub use figure::{Figure, Options};
pub use format::Format;
pub use panel::{ColourBar, Entry, Key, Layer, Line, Marker, Panel, Point, Symbol};
