//! A figure: panels, a legend, a label, and the options of its picture.

use crate::axis::Axis;
use crate::error::Error;
use crate::font::Font;
use crate::format::Format;
use crate::layout;
use crate::panel::{Entry, Panel};
use crate::scene::Scene;

/// Options of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Width and height at 100 dpi \[pixels\]; texts and lines scale with the picture.
    pub size: Option<(u32, u32)>,
    /// Dots per inch of a PNG; a PNG has size x dpi / 100 pixels.
    pub dpi: u32,
    /// The experiment, in bold letters above the frame.
    pub label: Option<String>,
    /// The status after the experiment, in oblique letters.
    pub label_text: Option<String>,
    /// Whether x is logarithmic.
    pub log_x: bool,
    /// Whether y is logarithmic.
    pub log_y: bool,
    /// The range of x.
    pub x_range: Option<(f64, f64)>,
    /// The range of y.
    pub y_range: Option<(f64, f64)>,
    /// The one panel that is drawn; all of them by default.
    pub panel: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: None,
            dpi: 100,
            label: None,
            label_text: None,
            log_x: false,
            log_y: false,
            x_range: None,
            y_range: None,
            panel: None,
        }
    }
}

/// Panels with a title and a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The text above the frame, at its right end.
    pub title: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// Panels of a row.
    pub columns: usize,
    /// Width and height of a panel.
    pub panel_size: (f64, f64),
    /// The legend of all panels.
    pub legend: Vec<Entry>,
    /// Whether the legend of a single panel stands above it too, for panels without free space.
    pub is_full: bool,
}

impl Figure {
    /// A figure of one panel.
    #[must_use]
    pub fn new(title: impl Into<String>, panel: Panel) -> Self {
        let title = title.into();
        Self { title, panels: vec![panel], columns: 1, panel_size: (640.0, 500.0), legend: Vec::new(), is_full: false }
    }

    /// Draws the picture. Ranges and logarithmic axes are those of the first panel that is drawn.
    ///
    /// # Errors
    /// [`Error`] if a size, a range or the panel is refused.
    pub fn render(&self, format: Format, options: &Options) -> Result<Vec<u8>, Error> {
        let (svg, size) = self.svg(format, options)?;
        format.encode(svg, size, options.dpi)
    }

    /// Returns the SVG that is converted to a format, and its size \[pixels\].
    pub(crate) fn svg(&self, format: Format, options: &Options) -> Result<(String, (u32, u32)), Error> {
        let font = Font::load()?;
        let figure = self.with(options)?;
        let natural = figure.natural_size();
        let size = options.size.unwrap_or((natural.0.round() as u32, natural.1.round() as u32));
        let scale = (f64::from(size.0) / natural.0).min(f64::from(size.1) / natural.1);
        let refused = Error::Size { width: size.0.into(), height: size.1.into() };
        if scale <= 0.0 || size.0.min(size.1) < 50 {
            return Err(refused);
        }
        let outlined = (format != Format::Svg).then(|| font.clone());
        let mut scene = Scene::new((f64::from(size.0) / scale, f64::from(size.1) / scale), outlined);
        layout::draw(&mut scene, &figure, options, &font);
        Ok((scene.svg(size), size))
    }

    /// Width and height at which texts have their size.
    pub(crate) fn natural_size(&self) -> (f64, f64) {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let rows = self.panels.len().div_ceil(columns).max(1);
        (columns as f64 * self.panel_size.0, rows as f64 * self.panel_size.1 + layout::HEAD)
    }

    /// Returns the figure with the panel and the axes of the options.
    pub(crate) fn with(&self, options: &Options) -> Result<Self, Error> {
        let mut figure = self.clone();
        if let Some(name) = &options.panel {
            figure.panels.retain(|panel| panel.name == name);
            figure.columns = 1;
            if figure.panels.is_empty() {
                let names: Vec<&str> = self.panels.iter().map(|panel| panel.name).collect();
                return Err(Error::Panel { name: name.clone(), panels: names.join(", ") });
            }
        }
        if let Some(panel) = figure.panels.first_mut() {
            let places = panel.places();
            let least = |of: fn(&(f64, f64)) -> f64| {
                places.iter().map(of).filter(|v| *v > 0.0 && v.is_finite()).fold(f64::INFINITY, f64::min)
            };
            adapt(&mut panel.x, "x", options.log_x, options.x_range, least(|place| place.0))?;
            adapt(&mut panel.y, "y", options.log_y, options.y_range, least(|place| place.1))?;
        }
        for panel in &mut figure.panels {
            for (axis, name) in [(&mut panel.x, "x"), (&mut panel.y, "y")] {
                if axis.is_log && axis.range.0.min(axis.range.1) <= 0.0 {
                    return Err(Error::LogRange { axis: name, low: axis.range.0 });
                }
            }
        }
        Ok(figure)
    }
}

/// Room above a logarithmic axis, as a fraction of the axis.
const LOG_MARGIN: f64 = 0.05;

/// Applies range and logarithm to an axis. `least` is the smallest positive value that is drawn.
fn adapt(axis: &mut Axis, name: &'static str, log: bool, range: Option<(f64, f64)>, least: f64) -> Result<(), Error> {
    if let Some((low, high)) = range {
        if !(low < high && low.is_finite() && high.is_finite()) {
            return Err(Error::Range { axis: name, low, high });
        }
        let is_down = axis.range.0 > axis.range.1;
        axis.range = if is_down { (high, low) } else { (low, high) };
        axis.has_headroom = false;
    }
    if log && axis.categories.is_empty() {
        axis.is_log = true;
        let (low, high) = axis.range;
        if range.is_none() && low <= 0.0 {
            let low = if least.is_finite() { 0.7 * least } else { 0.1 };
            let high = high.max(10.0 * low);
            // Room above the data, which the margin of a linear axis leaves only in its own scale.
            let margin = 10_f64.powf(LOG_MARGIN * (high.log10() - low.log10()));
            axis.range = (low, (high * margin).min(f64::MAX));
        }
    }
    Ok(())
}
