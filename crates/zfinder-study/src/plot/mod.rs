//! Plots of an [evaluation] and its [vertices], of the [histogram] and the [event] of an RoI, and
//! of a [detector]; and the histogram as text, for a [terminal].
//!
//! A [`Figure`] is written as PNG, SVG or PDF. Series also differ by marker or dash, so that
//! figures are readable in black and white.
//!
//! ```
//! use zfinder_study::plot::{self, Format, Options};
//! use zfinder::{Detector, Engine, Roi, ZFinder};
//! use zfinder_study::inspect::Inspect;
//!
//! let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Reference).build()?;
//! let figure = plot::histogram(&finder.inspect(&Roi::default())?, &[]);
//! let picture = figure.render(Format::Png, &Options::default())?;
//! assert!(picture.starts_with(b"\x89PNG"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod evaluation;
mod event;
mod histogram;
mod layers;
mod marks;
mod terminal;
#[cfg(test)]
mod tests;
mod vertices;

pub use evaluation::{Plotted, evaluation};
pub use event::{event, event_with_tracklets};
pub use hep_figure::{Error, Figure, Format, Options};
pub use histogram::histogram;
pub use layers::detector;
pub use terminal::terminal;
pub use vertices::{PlottedVertices, vertices};
