//! Charts.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::failure::Failure;
use crate::picture::{Drawing, Picture};

/// The texts of a chart.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// The caption.
    pub caption: &'a str,
    /// The label of the x axis.
    pub x: &'a str,
    /// The label of the y axis.
    pub y: &'a str,
}

/// The colours of lines, in order.
pub const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 90, 160),
    RGBColor(210, 110, 0),
    RGBColor(20, 130, 60),
    RGBColor(170, 30, 60),
    RGBColor(110, 70, 170),
    RGBColor(120, 90, 40),
    RGBColor(0, 150, 160),
    RGBColor(110, 110, 110),
];

/// Draws named lines through points, and writes the file when it is complete; see [`Picture`]. Both
/// axes are logarithmic, so coordinates must be positive.
///
/// # Errors
/// [`Code::Usage`](crate::Code::Usage) if the name does not end in `.png` or `.svg`;
/// [`Code::Data`](crate::Code::Data) if the file cannot be written.
pub fn line_chart(
    path: &Path,
    program: &str,
    chart: Chart<'_>,
    lines: &[(String, Vec<(f64, f64)>)],
) -> Result<(), Failure> {
    Picture::of(path)?.draw(program, &LineChart { chart, lines })
}

/// A face of our own: no system needs to have one.
pub(crate) fn register_face() -> Result<(), String> {
    plotters::style::register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular())
        .map_err(|_| "the crate's own font cannot be read".to_owned())
}

struct LineChart<'a> {
    chart: Chart<'a>,
    lines: &'a [(String, Vec<(f64, f64)>)],
}

impl Drawing for LineChart<'_> {
    fn size(&self) -> (u32, u32) {
        (900, 600)
    }

    fn is_smooth(&self) -> bool {
        true
    }

    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let points = || self.lines.iter().flat_map(|(_, line)| line.iter().copied());
        let range = |of: fn((f64, f64)) -> f64| {
            let (low, high) = points().map(of).fold((f64::MAX, f64::MIN_POSITIVE), |(a, b), v| (a.min(v), b.max(v)));
            low / 1.5..high * 1.5
        };
        let mut chart = ChartBuilder::on(area)
            .caption(self.chart.caption, ("sans-serif", 20))
            .margin(15)
            .x_label_area_size(45)
            .y_label_area_size(80)
            .build_cartesian_2d(range(|point| point.0).log_scale(), range(|point| point.1).log_scale())?;
        chart
            .configure_mesh()
            .x_desc(self.chart.x)
            .y_desc(self.chart.y)
            .x_label_formatter(&|value| format!("{value:.0}"))
            .y_label_formatter(&|value| format!("{value:.0e}"))
            .label_style(("sans-serif", 15))
            .draw()?;
        for ((name, line), colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            chart
                .draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)).point_size(4))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 25, y)], colour.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE)
            .border_style(BLACK)
            .label_font(("sans-serif", 16))
            .draw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Code;

    #[test]
    fn a_picture_has_its_texts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("chart.svg");
        let chart = Chart { caption: "a device", x: "tracks", y: "tracks/s" };
        let lines = [("v1".to_owned(), vec![(10.0, 1e5), (1000.0, 1e7)]), ("v2".to_owned(), vec![(10.0, 2e5)])];
        line_chart(&path, "draws", chart, &lines).expect("it can be written");
        let picture = std::fs::read_to_string(&path).expect("the picture");
        for text in ["a device", "tracks/s", "v1", "v2"] {
            assert!(picture.contains(text), "{text}: {picture}");
        }
        let code =
            |name: &str| line_chart(&folder.path().join(name), "draws", chart, &lines).map_err(|error| error.code());
        assert_eq!(code("none/chart.svg"), Err(Some(Code::Data)));
        assert_eq!(code("chart.pdf"), Err(Some(Code::Usage)));
        assert_eq!(code("chart.png"), Ok(()));
    }
}
