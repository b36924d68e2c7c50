//! Errors of a figure.

/// The reason why a figure cannot be drawn.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The embedded font cannot be read.
    #[error("the embedded font cannot be read: {0}")]
    Font(String),
    /// A picture with no pixels, or with too many.
    #[error(
        "a picture of {width} x {height} pixels is outside 50 x 50 to 100 million pixels in all; change the size or the dpi"
    )]
    Size {
        /// Width \[pixels\].
        width: u64,
        /// Height \[pixels\].
        height: u64,
    },
    /// A range that is empty, reversed or not finite.
    #[error("the range {low} to {high} of the {axis} axis is empty; give the lower end first")]
    Range {
        /// `x` or `y`.
        axis: &'static str,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// A range that begins at zero or below on a logarithmic axis.
    #[error("the range of the logarithmic {axis} axis begins at {low}; it must begin above 0")]
    LogRange {
        /// `x` or `y`.
        axis: &'static str,
        /// Lower end.
        low: f64,
    },
    /// A panel that the figure does not have.
    #[error("there is no panel `{name}`; the figure has {panels}")]
    Panel {
        /// The requested panel.
        name: String,
        /// The panels of the figure.
        panels: String,
    },
    /// Pixels that cannot be written as PNG.
    #[error("the PNG cannot be written: {0}")]
    Png(#[from] png::EncodingError),
    /// A picture that resvg refuses.
    #[error("the picture cannot be converted: {0}")]
    Svg(#[from] resvg::usvg::Error),
    /// A stream of the PDF that cannot be compressed.
    #[error("the PDF cannot be written: {0}")]
    Pdf(#[from] std::io::Error),
}
