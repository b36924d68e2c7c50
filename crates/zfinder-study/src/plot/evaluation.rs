//! Efficiency and resolution of configurations, as [`evaluate`](crate::evaluate) measures them.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::style::{Key, Line, Mark, axes, titled};
use super::{Area, Drawn, Format, Picture};
use crate::error::Result;
use crate::evaluate::{By, Figures, InBin};

/// Width and height of one panel \[pixels\].
const PANEL: (u32, u32) = (500, 460);
/// What the title needs \[pixels\].
const LEAST_WIDTH: u32 = 760;
/// Height of the title and of a line of the legend \[pixels\].
const HEAD: u32 = 74;
/// Steps of the distribution of residuals.
const STEPS: usize = 50;
/// The part of a bin that the points in it are spread over, so that they do not cover one another.
const SPREAD: f64 = 0.6;
/// Error of the 68.3 % width of n residuals, over width / sqrt(n): that of a quantile, sqrt(p (1 -
/// p) / n) over the density there, if they are spread normally.
const WIDTH_ERROR: f64 = 0.962;

/// One configuration in a plot.
#[derive(Clone, Debug)]
pub struct Plotted<'a> {
    /// What the legend calls it.
    pub name: &'a str,
    /// Its figures of all RoIs.
    pub figures: &'a Figures,
    /// And in the bins that the plot is against; may be empty.
    pub bins: &'a [InBin],
    /// Its residuals \[mm\]: [`Evaluation::residuals`](crate::evaluate::Evaluation::residuals); may
    /// be empty.
    pub residuals_mm: &'a [f64],
}

/// Panels beside one another: where there are bins, the efficiency of the first vertex (filled) and
/// of any (hollow) in each, with intervals of 68.3 %, and the 68.3 % width of the residuals, with
/// the error it would have if they were spread normally; where there are residuals, their
/// distribution within +-`within_mm`.
///
/// # Errors
/// [`Error::Plot`](crate::Error::Plot) where the library that draws gives up.
pub fn evaluation(configurations: &[Plotted], by: Option<By>, within_mm: f64, format: Format) -> Result<Vec<u8>> {
    let has_bins = configurations.iter().any(|one| !one.bins.is_empty());
    let by = by.filter(|_| has_bins);
    let has_residuals = configurations.iter().any(|one| !one.residuals_mm.is_empty());
    // An empty distribution says that there is nothing.
    Drawing { configurations, by, within_mm, has_residuals: has_residuals || by.is_none() }.render(format)
}

struct Drawing<'a> {
    configurations: &'a [Plotted<'a>],
    by: Option<By>,
    within_mm: f64,
    has_residuals: bool,
}

/// A point with its error bar.
struct Point {
    x: f64,
    low: f64,
    value: f64,
    high: f64,
}

impl Picture for Drawing<'_> {
    fn size(&self) -> (u32, u32) {
        ((self.panels() * PANEL.0).max(LEAST_WIDTH), HEAD + PANEL.1)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB> {
        let rois = self.configurations.iter().map(|one| one.figures.rois).max().unwrap_or(0);
        let title = format!("{rois} RoIs with truth; right: within {} mm of the true primary vertex", self.within_mm);
        let area = titled(area, &title, &self.legend())?;
        let panels = area.split_evenly((1, self.panels() as usize));
        let mut panels = panels.iter();
        if let Some(by) = self.by
            && let (Some(left), Some(right)) = (panels.next(), panels.next())
        {
            self.efficiency(left, by)?;
            self.resolution(right, by)?;
        }
        panels.next().map_or(Ok(()), |panel| self.residuals(panel))
    }
}

impl Drawing<'_> {
    fn panels(&self) -> u32 {
        2 * u32::from(self.by.is_some()) + u32::from(self.has_residuals)
    }

    fn legend(&self) -> Vec<(Key, String)> {
        let key = |number| match (self.by, self.has_residuals) {
            (Some(_), true) => Key::Both(Mark::of(number, true), Line::of(number)),
            (Some(_), false) => Key::Mark(Mark::of(number, true)),
            (None, _) => Key::Line(Line::of(number)),
        };
        let names = self.configurations.iter().enumerate();
        names.map(|(number, one)| (key(number), one.name.to_owned())).collect()
    }

    /// Ends of all bins, and the mean width of one.
    fn range(&self) -> (f64, f64, f64) {
        let bins = || self.configurations.iter().flat_map(|one| one.bins).map(|in_bin| in_bin.bin);
        let low = bins().map(|bin| bin.low).min().unwrap_or(0) as f64;
        let high = bins().map(|bin| bin.high).max().unwrap_or(0) as f64;
        let most = self.configurations.iter().map(|one| one.bins.len()).max().unwrap_or(0);
        (low, high, (high - low).max(1.0) / most.max(1) as f64)
    }

    /// A point for each bin, beside those of the other series of the same bin.
    fn points(
        &self,
        configuration: usize,
        (series, of): (usize, usize),
        value: impl Fn(&Figures) -> Option<(f64, f64, f64)>,
    ) -> Vec<Point> {
        let beside = SPREAD * self.range().2 * (series as f64 - 0.5 * (of as f64 - 1.0)) / of as f64;
        let bins = self.configurations[configuration].bins.iter();
        let points = bins.filter_map(|in_bin| {
            let x = 0.5 * (in_bin.bin.low as f64 + in_bin.bin.high as f64) + beside;
            value(&in_bin.figures).map(|(low, value, high)| Point { x, low, value, high })
        });
        points.collect()
    }

    fn efficiency<DB: DrawingBackend>(&self, area: &Area<'_, DB>, by: By) -> Drawn<DB> {
        let (low, high, width) = self.range();
        let margin = 0.5 * SPREAD * width;
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(48)
            .y_label_area_size(76)
            .build_cartesian_2d(low - margin..high + margin, 0.0..1.05)?;
        axes(&mut chart, by.label(), "fraction right (filled: first, hollow: any vertex)", (8, 11))?;
        let series = 2 * self.configurations.len();
        for number in 0..self.configurations.len() {
            let any = |f: &Figures| Some((f.any.low?, f.any.value?, f.any.high?));
            let first = |f: &Figures| Some((f.first.low?, f.first.value?, f.first.high?));
            draw(&mut chart, Mark::of(number, false), self.points(number, (2 * number + 1, series), any))?;
            draw(&mut chart, Mark::of(number, true), self.points(number, (2 * number, series), first))?;
        }
        Ok(())
    }

    fn resolution<DB: DrawingBackend>(&self, area: &Area<'_, DB>, by: By) -> Drawn<DB> {
        let (low, high, width) = self.range();
        let margin = 0.5 * SPREAD * width;
        let all = self.configurations.len();
        let width_68 = |f: &Figures| {
            let width = 1000.0 * f.residual_mm.width_68?;
            let error = WIDTH_ERROR * width / (f.residual_mm.number as f64).sqrt();
            Some(((width - error).max(0.0), width, width + error))
        };
        let points: Vec<Vec<Point>> = (0..all).map(|number| self.points(number, (number, all), width_68)).collect();
        let top = points.iter().flatten().fold(0.0, |top: f64, point| top.max(point.high));
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(48)
            .y_label_area_size(76)
            .build_cartesian_2d(low - margin..high + margin, 0.0..positive(1.05 * top))?;
        axes(&mut chart, by.label(), "68 % width of right first vertices [µm]", (8, 10))?;
        points.into_iter().enumerate().try_for_each(|(number, points)| draw(&mut chart, Mark::of(number, true), points))
    }

    fn residuals<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB> {
        let within_mm = self.within_mm;
        let width = 2.0 * within_mm / STEPS as f64;
        let fractions: Vec<[f64; STEPS]> = self.configurations.iter().map(|one| distribution(one, within_mm)).collect();
        let top = fractions.iter().flatten().fold(0.0, |top: f64, &fraction| top.max(fraction));
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(48)
            .y_label_area_size(76)
            .build_cartesian_2d(-within_mm..within_mm, 0.0..positive(1.1 * top))?;
        let what = format!("fraction of RoIs / {} mm", (1e3 * width).round() / 1e3);
        axes(&mut chart, "first vertex less true z [mm]", &what, (8, 8))?;
        for (number, fractions) in fractions.iter().enumerate() {
            let edge = |step: usize| -within_mm + width * step as f64;
            let steps = fractions.iter().enumerate();
            let corners = steps.flat_map(|(step, &fraction)| [(edge(step), fraction), (edge(step + 1), fraction)]);
            Line::of(number).draw(chart.plotting_area(), corners.collect())?;
        }
        Ok(())
    }
}

type Chart<'a, DB> = ChartContext<'a, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn draw<DB: DrawingBackend>(chart: &mut Chart<'_, DB>, mark: Mark, points: Vec<Point>) -> Drawn<DB> {
    for Point { x, low, value, high } in points {
        Line::solid(mark.colour, 1).draw(chart.plotting_area(), vec![(x, low), (x, high)])?;
        mark.draw(chart.plotting_area(), [(x, value)])?;
    }
    Ok(())
}

/// An upper end of an axis from 0.
fn positive(top: f64) -> f64 {
    if top > 0.0 { top } else { 1.0 }
}

/// Fractions of all RoIs with truth whose residual is in each step from -`within_mm` to
/// `within_mm`.
fn distribution(configuration: &Plotted, within_mm: f64) -> [f64; STEPS] {
    let mut fractions = [0.0; STEPS];
    for residual in configuration.residuals_mm {
        let step = (residual + within_mm) / (2.0 * within_mm) * STEPS as f64;
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
    }
}
