//! Pictures: points with errors, and bars.

use command_host::plotters::coord::Shift;
use command_host::plotters::prelude::*;
use command_host::{COLOURS, Drawing};

/// A point and its error.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) error: f64,
}

/// Points with errors.
pub(super) struct Points {
    pub(super) caption: String,
    pub(super) x: String,
    pub(super) y: String,
    pub(super) marks: Vec<Mark>,
}

/// A histogram.
pub(super) struct Bars<'a> {
    pub(super) name: &'a str,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) counts: &'a [u64],
}

const SIZE: (u32, u32) = (900, 600);

/// Returns a number as short as it is read.
fn short(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e6).contains(&value.abs()) {
        format!("{value:.1e}")
    } else {
        format!("{}", (value * 1e4).round() / 1e4)
    }
}

/// Returns a range with a margin; of a unit where all values are equal.
fn widened(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    let margin = if high > low { 0.05 * (high - low) } else { 0.5 };
    (low - margin, high + margin)
}

impl Drawing for Points {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn is_smooth(&self) -> bool {
        true
    }

    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let x = widened(self.marks.iter().map(|mark| mark.x));
        let y = widened(self.marks.iter().flat_map(|mark| [mark.y - mark.error, mark.y + mark.error]));
        let mut chart = ChartBuilder::on(area)
            .caption(&self.caption, ("sans-serif", 20))
            .margin(15)
            .x_label_area_size(45)
            .y_label_area_size(80)
            .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
        let mut mesh = chart.configure_mesh();
        let (x_text, y_text) = (|value: &f64| short(*value), |value: &f64| short(*value));
        mesh.x_desc(&self.x).y_desc(&self.y).x_label_formatter(&x_text).y_label_formatter(&y_text);
        mesh.label_style(("sans-serif", 15)).draw()?;
        chart.draw_series(self.marks.iter().map(|mark| {
            let (low, high) = (mark.y - mark.error, mark.y + mark.error);
            PathElement::new([(mark.x, low), (mark.x, high)], COLOURS[0].stroke_width(1))
        }))?;
        chart.draw_series(self.marks.iter().map(|mark| Circle::new((mark.x, mark.y), 3, COLOURS[0].filled())))?;
        Ok(())
    }
}

impl Drawing for Bars<'_> {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let highest = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let mut chart = ChartBuilder::on(area)
            .caption(self.name, ("sans-serif", 20))
            .margin(15)
            .x_label_area_size(45)
            .y_label_area_size(80)
            .build_cartesian_2d(self.from..self.to, 0.0..1.05 * highest)?;
        let (x_text, y_text) = (|value: &f64| short(*value), |value: &f64| short(*value));
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().x_desc(self.name).y_desc("events").x_label_formatter(&x_text);
        mesh.y_label_formatter(&y_text).label_style(("sans-serif", 15)).draw()?;
        let width = (self.to - self.from) / self.counts.len().max(1) as f64;
        chart.draw_series(self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bin, &count)| {
            let edge = |bin: usize| self.from + bin as f64 * width;
            Rectangle::new([(edge(bin), 0.0), (edge(bin + 1), count as f64)], COLOURS[0].filled())
        }))?;
        Ok(())
    }
}
