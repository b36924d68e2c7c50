//! Figures: points with errors, and a histogram.

use command_host::figure::{Axis, Colour, Entry, Figure, Key, Layer, Line, Marker, Panel, Point};

/// Points with errors.
pub(super) struct Points {
    pub(super) caption: String,
    pub(super) x: String,
    pub(super) y: String,
    pub(super) points: Vec<Point>,
}

/// A histogram of a counter.
pub(super) struct Bars<'a> {
    /// The counter and its unit.
    pub(super) title: String,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) counts: &'a [u64],
}

/// Returns a range with a margin; of a unit where all values are equal.
fn widened(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    let margin = if high > low { 0.05 * (high - low) } else { 0.5 * low.abs().max(1e-3) };
    (low - margin, high + margin)
}

impl Points {
    pub(super) fn figure(self) -> Figure {
        let x = widened(self.points.iter().flat_map(|point| [point.bin.0, point.bin.1]));
        let y = widened(self.points.iter().flat_map(|point| [point.interval.0, point.interval.1]));
        let (x, y) = (Axis::new(self.x, x.0, x.1), Axis::new(self.y, y.0, y.1).with_headroom());
        let mut panel = Panel::new("points", x, y);
        panel.layers.push(Layer::Points(self.points, Marker::numbered(0)));
        let mut figure = Figure::new("", panel);
        figure.legend.push(Entry::new(Key::Marker(Marker::numbered(0)), self.caption));
        figure
    }
}

impl Bars<'_> {
    pub(super) fn figure(&self) -> Figure {
        let highest = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let bins = self.counts.len();
        let width = (self.to - self.from) / bins.max(1) as f64;
        let y = Axis::new("events", 0.0, 1.08 * highest).with_headroom();
        let mut panel = Panel::new("histogram", Axis::new(&*self.title, self.from, self.to), y);
        panel.layers.push(Layer::Steps {
            edges: (0..=bins).map(|bin| self.from + bin as f64 * width).collect(),
            heights: self.counts.iter().map(|&count| count as f64).collect(),
            line: Some(Line::solid(Colour::numbered(0), 1.5)),
            fill: Some(Colour::numbered(0).with_alpha(0.4)),
        });
        Figure::new(format!("{} events", self.counts.iter().sum::<u64>()), panel)
    }
}
