//! Charts.

use std::fmt::Display;
use std::path::Path;

use plotters::prelude::*;

use crate::failure::{Code, Failure};
use crate::output::write_file;

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

const COLOURS: [RGBColor; 3] = [RGBColor(0, 90, 160), RGBColor(210, 110, 0), RGBColor(20, 130, 60)];

/// Draws named lines through points as SVG, and writes the file when it is complete; see
/// [`write_file`]. Both axes are logarithmic, so coordinates must be positive.
///
/// # Errors
/// [`Code::Data`] if the file cannot be written.
pub fn line_chart(
    path: &Path,
    program: &str,
    chart: Chart<'_>,
    lines: &[(String, Vec<(f64, f64)>)],
) -> Result<(), Failure> {
    let drawn = draw(chart, lines);
    let text = drawn.map_err(|what| Failure::new(Code::Data, format_args!("{}: {what}", path.display())))?;
    write_file(path, program, |out| out.write_all(text.as_bytes()))
}

/// A face of our own: no system needs to have one.
pub(crate) fn register_face() -> Result<(), String> {
    plotters::style::register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular())
        .map_err(|_| "the crate's own font cannot be read".to_owned())
}

fn draw(texts: Chart<'_>, lines: &[(String, Vec<(f64, f64)>)]) -> Result<String, String> {
    let told = |error: &dyn Display| error.to_string();
    register_face()?;
    let points = || lines.iter().flat_map(|(_, line)| line.iter().copied());
    let range = |of: fn((f64, f64)) -> f64| {
        let (low, high) = points().map(of).fold((f64::MAX, f64::MIN_POSITIVE), |(a, b), v| (a.min(v), b.max(v)));
        low / 1.5..high * 1.5
    };
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, (900, 600)).into_drawing_area();
    area.fill(&WHITE).map_err(|error| told(&error))?;
    let mut chart = ChartBuilder::on(&area)
        .caption(texts.caption, ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(range(|point| point.0).log_scale(), range(|point| point.1).log_scale())
        .map_err(|error| told(&error))?;
    chart
        .configure_mesh()
        .x_desc(texts.x)
        .y_desc(texts.y)
        .x_label_formatter(&|value| format!("{value:.0}"))
        .y_label_formatter(&|value| format!("{value:.0e}"))
        .label_style(("sans-serif", 15))
        .draw()
        .map_err(|error| told(&error))?;
    for ((name, line), colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        chart
            .draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)).point_size(4))
            .map_err(|error| told(&error))?
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
        .map_err(|error| told(&error))?;
    area.present().map_err(|error| told(&error))?;
    drop(chart);
    drop(area);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(line_chart(&folder.path().join("none/chart.svg"), "draws", chart, &lines).is_err());
    }
}
