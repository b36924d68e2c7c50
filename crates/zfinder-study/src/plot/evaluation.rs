//! Plots of the efficiency and resolution that [`evaluate`](crate::evaluate) measures.

use hep_figure::{Axis, Colour, Entry, Figure, Key, Layer, Line, Marker, Panel, Point};

use crate::evaluate::{By, Figures, InBin};

/// The residuals are drawn to at least this many 68 % widths of the narrowest configuration.
const RESIDUAL_WIDTHS: f64 = 10.0;
/// The axis of the efficiency begins here, or where the data begin.
const LEAST_LOW: f64 = 0.8;
/// Number of bins of the distribution of residuals.
const STEPS: usize = 50;
/// Offset between the points of different configurations, as a fraction of the axis: equal values
/// stay visible.
const APART: f64 = 0.025;
/// The x axis is logarithmic if the narrowest bin takes a smaller fraction of a linear one.
const NARROW: f64 = 0.1;
/// Size of the hollow markers, in units of the filled ones: equal values stay visible.
const RING: f64 = 1.5;
/// Error of the 68.3 % width of n residuals, in units of width / sqrt(n). It is that of a quantile,
/// sqrt(p (1 - p) / n) over the density there, for a normal distribution.
const WIDTH_ERROR: f64 = 0.962;

/// One configuration in a plot.
#[derive(Clone, Debug)]
pub struct Plotted<'a> {
    /// Its name in the legend.
    pub name: &'a str,
    /// Figures of all its RoIs.
    pub figures: &'a Figures,
    /// Its figures in the bins of the x axis; may be empty.
    pub bins: &'a [InBin],
    /// Its residuals \[mm\]: [`Evaluation::residuals`](crate::evaluate::Evaluation::residuals); may
    /// be empty.
    pub residuals_mm: &'a [f64],
}

/// Makes up to three panels in a row. With bins, `efficiency` shows the first vertex (filled) and
/// any vertex (hollow) in each bin, with intervals of 68.3 %. `resolution` shows the 68.3 % width
/// of the residuals, with the error for a normal distribution. Points are at the means of their
/// bins, with an offset for each configuration. With residuals, `residuals` shows their
/// distribution within +-`within_mm`.
#[must_use]
pub fn evaluation(configurations: &[Plotted<'_>], by: Option<By>, within_mm: f64) -> Figure {
    let has_bins = configurations.iter().any(|one| !one.bins.is_empty());
    let by = by.filter(|_| has_bins);
    let has_residuals = configurations.iter().any(|one| !one.residuals_mm.is_empty());
    let drawing = Drawing { configurations, within_mm };
    let mut panels = Vec::new();
    if let Some(by) = by {
        panels.extend([drawing.efficiency(by), drawing.resolution(by)]);
    }
    // An empty distribution shows that there are no residuals.
    if has_residuals || by.is_none() {
        panels.push(drawing.residuals());
    }
    let rois = configurations.iter().map(|one| one.figures.rois).max().unwrap_or(0);
    let key = |number| match by {
        Some(_) if has_residuals => Key::Both(Marker::numbered(number), Line::numbered(number)),
        Some(_) => Key::Marker(Marker::numbered(number)),
        None => Key::Line(Line::numbered(number)),
    };
    let names = configurations.iter().enumerate();
    Figure {
        title: format!("{rois} RoIs, right within {within_mm} mm"),
        columns: panels.len(),
        panels,
        panel_size: (540.0, 460.0),
        legend: names.map(|(number, one)| Entry::new(key(number), one.name)).collect(),
        is_full: false,
    }
}

struct Drawing<'a> {
    configurations: &'a [Plotted<'a>],
    within_mm: f64,
}

/// Returns the marker of any vertex, around that of the first.
fn ring(marker: Marker) -> Marker {
    Marker { size: RING * marker.size, ..marker.hollow() }
}

/// Returns the title of an axis.
fn axis_title(by: By) -> &'static str {
    match by {
        By::LeadingPt => "largest p_{T} of the primary [MeV]",
        By::SumPt => "(Σp_{T}^{2})^{1/2} of the primary [MeV]",
        By::Distance => "distance to the nearest true vertex [µm]",
        By::PileUp | By::Spacepoints | By::Tracks => by.label(),
    }
}

impl Drawing<'_> {
    fn x(&self, by: By) -> Axis {
        let bins = || self.configurations.iter().flat_map(|one| one.bins).map(edges);
        let low = bins().map(|bin| bin.0).fold(f64::INFINITY, f64::min);
        let high = bins().map(|bin| bin.1).fold(f64::NEG_INFINITY, f64::max);
        let narrowest = bins().map(|bin| bin.1 - bin.0).fold(f64::INFINITY, f64::min);
        if low > 0.0 && narrowest < NARROW * (high - low) {
            let margin = (high / low).powf(0.03);
            return Axis::new(axis_title(by), low / margin, high * margin).log();
        }
        let margin = 0.03 * (high - low);
        Axis::new(axis_title(by), low - margin, high + margin)
    }

    /// Returns a point for each bin, next to the points of other configurations.
    fn points(&self, by: By, number: usize, value: impl Fn(&Figures) -> Option<(f64, f64, f64)>) -> Vec<Point> {
        let (axis, middle) = (self.x(by), 0.5 * (self.configurations.len() as f64 - 1.0));
        let ((low, high), beside) = (axis.range, APART * (number as f64 - middle));
        let point = |in_bin: &InBin| {
            let bin = edges(in_bin);
            let mean = in_bin.mean.unwrap_or(0.5 * (bin.0 + bin.1));
            let x = if axis.is_log { mean * (high / low).powf(beside) } else { mean + beside * (high - low) };
            value(&in_bin.figures).map(|(low, y, high)| Point { x, bin, y, interval: (low, high) })
        };
        self.configurations[number].bins.iter().filter_map(point).collect()
    }

    fn efficiency(&self, by: By) -> Panel {
        let any = |f: &Figures| Some((f.any.low?, f.any.value?, f.any.high?));
        let first = |f: &Figures| Some((f.first.low?, f.first.value?, f.first.high?));
        let points = (0..self.configurations.len()).flat_map(|number| self.points(by, number, first));
        let lowest = points.fold(LEAST_LOW, |lowest: f64, point| lowest.min(point.interval.0));
        let y = Axis::new("efficiency", ((lowest * 10.0).floor() / 10.0).max(0.0), 1.05).with_headroom();
        let mut panel = Panel::new("efficiency", self.x(by), y);
        for number in 0..self.configurations.len() {
            panel.layers.push(Layer::Points(self.points(by, number, any), ring(Marker::numbered(number))));
            panel.layers.push(Layer::Points(self.points(by, number, first), Marker::numbered(number)));
        }
        let black = Marker { colour: Colour::BLACK, ..Marker::numbered(0) };
        panel.legend.push(Entry::new(Key::Marker(black), "first vertex"));
        panel.legend.push(Entry::new(Key::Marker(ring(black)), "any vertex"));
        panel
    }

    fn resolution(&self, by: By) -> Panel {
        let width_68 = |f: &Figures| {
            let width = 1000.0 * f.residual_mm.width_68?;
            let error = WIDTH_ERROR * width / (f.residual_mm.number as f64).sqrt();
            Some(((width - error).max(0.0), width, width + error))
        };
        let all: Vec<Vec<Point>> =
            (0..self.configurations.len()).map(|number| self.points(by, number, width_68)).collect();
        let top = all.iter().flatten().fold(0.0, |top: f64, point| top.max(point.interval.1));
        let y = Axis::new("68 % width of right first vertices [µm]", 0.0, positive(1.1 * top)).with_headroom();
        let mut panel = Panel::new("resolution", self.x(by), y);
        panel.layers.extend(
            all.into_iter().enumerate().map(|(number, points)| Layer::Points(points, Marker::numbered(number))),
        );
        panel
    }

    /// Returns the range of residuals that fits the narrowest configuration \[mm\].
    fn residual_range_mm(&self) -> f64 {
        let widths = self.configurations.iter().filter_map(|one| one.figures.residual_mm.width_68);
        let narrowest = widths.filter(|&width| width > 0.0).fold(f64::INFINITY, f64::min);
        round_up(RESIDUAL_WIDTHS * narrowest).min(self.within_mm)
    }

    fn residuals(&self) -> Panel {
        let range_mm = self.residual_range_mm();
        let width = 2.0 * range_mm / STEPS as f64;
        let all: Vec<[f64; STEPS]> = self.configurations.iter().map(|one| distribution(one, range_mm)).collect();
        let top = all.iter().flatten().fold(0.0, |top: f64, &fraction| top.max(fraction));
        let what = format!("fraction of RoIs / {} mm", (1e4 * width).round() / 1e4);
        let mut title = "first vertex less true z [mm]".to_owned();
        let outside = self.configurations.iter().map(|one| {
            let outside = one.residuals_mm.iter().filter(|residual| residual.abs() > range_mm).count();
            100.0 * outside as f64 / one.figures.rois.max(1) as f64
        });
        let outside: Vec<f64> = outside.collect();
        if outside.iter().any(|&percent| percent > 0.0) {
            let percents: Vec<String> = outside.iter().map(|percent| format!("{percent:.0}")).collect();
            title.push_str(&format!(", outside: {} %", percents.join(", ")));
        }
        let x = Axis::new(title, -range_mm, range_mm);
        let mut panel = Panel::new("residuals", x, Axis::new(what, 0.0, positive(1.1 * top)).with_headroom());
        panel.layers.extend(all.iter().enumerate().map(|(number, fractions)| Layer::Steps {
            edges: (0..=STEPS).map(|step| -range_mm + width * step as f64).collect(),
            heights: fractions.to_vec(),
            line: Some(Line::numbered(number)),
            fill: None,
        }));
        panel
    }
}

/// Returns the smallest of 1, 2, 5, 10, 20, ... times a power of ten that is at least `length`.
fn round_up(length: f64) -> f64 {
    let unit = 10f64.powf(length.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * unit).find(|&round| round >= length).unwrap_or(length)
}

/// Returns the edges of a bin of whole numbers, half a unit beyond its first and last number.
fn edges(in_bin: &InBin) -> (f64, f64) {
    (in_bin.bin.low as f64 - 0.5, in_bin.bin.high as f64 + 0.5)
}

/// Returns a valid upper end for an axis from 0.
fn positive(top: f64) -> f64 {
    if top > 0.0 { top } else { 1.0 }
}

/// Returns the fraction of RoIs with truth whose residual is in each bin from -`range_mm` to
/// `range_mm`.
fn distribution(configuration: &Plotted, range_mm: f64) -> [f64; STEPS] {
    let mut fractions = [0.0; STEPS];
    for residual in configuration.residuals_mm.iter().filter(|residual| residual.abs() <= range_mm) {
        let step = (residual + range_mm) / (2.0 * range_mm) * STEPS as f64;
        fractions[(step as usize).min(STEPS - 1)] += 1.0 / configuration.figures.rois.max(1) as f64;
    }
    fractions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_are_fractions_of_all_rois() {
        let figures = Figures { rois: 4, ..Figures::default() };
        let plotted = Plotted { name: "", figures: &figures, bins: &[], residuals_mm: &[0.01, 0.02, -0.999] };
        let fractions = distribution(&plotted, 1.0);
        assert_eq!((fractions[0], fractions[STEPS / 2], fractions.iter().sum::<f64>()), (0.25, 0.5, 0.75));
        assert_eq!(distribution(&plotted, 0.5).iter().sum::<f64>(), 0.5);
        assert_eq!([0.15, 0.2, 3.0, 0.7].map(round_up), [0.2, 0.2, 5.0, 1.0]);
    }
}
