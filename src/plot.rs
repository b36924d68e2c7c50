//! Pictures of an [evaluation](crate::evaluate), as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::error::{Error, Result};
use crate::evaluate::{Binning, Figures, Fraction, Summary};

/// Width and height of one panel \[pixels\].
const PANEL: (u32, u32) = (620, 460);
/// Steps of the distribution of residuals.
const STEPS: usize = 50;
/// Told apart by most colour-blind people too (M. Okabe and K. Ito, 2008).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// One configuration in a plot.
#[derive(Clone, Debug)]
pub struct Plotted<'a> {
    /// What the legend calls it.
    pub name: &'a str,
    /// Its figures, in the bins that the plot is against.
    pub summary: &'a Summary,
    /// Its residuals \[mm\]: [`Evaluation::residuals`](crate::evaluate::Evaluation::residuals).
    pub residuals_mm: &'a [f64],
}

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = std::result::Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// An SVG document with two panels: efficiency of the first (dots) and of any vertex (rings) with its 68.3 % interval in
/// each bin, and the distribution of the residuals within +-`within_mm`. Without bins it is the second alone.
///
/// # Errors
/// [`Error::Plot`] where the library that draws gives up.
pub fn svg(configurations: &[Plotted], binning: Option<&Binning>, within_mm: f64) -> Result<String> {
    let mut text = String::new();
    draw(&mut text, configurations, binning, within_mm).map_err(|error| Error::Plot(Box::new(error)))?;
    Ok(text)
}

fn draw(text: &mut String, configurations: &[Plotted], binning: Option<&Binning>, within_mm: f64) -> Drawn {
    let binning = binning.filter(|binning| !binning.bins.is_empty());
    let panels = 1 + u32::from(binning.is_some());
    let root = SVGBackend::with_string(text, (panels * PANEL.0, PANEL.1)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut areas = root.split_evenly((1, panels as usize)).into_iter();
    if let Some((binning, area)) = binning.and_then(|binning| Some((binning, areas.next()?))) {
        efficiency(&area, configurations, binning, within_mm)?;
    }
    if let Some(area) = areas.next() {
        residuals(&area, configurations, within_mm)?;
    }
    root.present()
}

fn efficiency(area: &Panel, configurations: &[Plotted], binning: &Binning, within_mm: f64) -> Drawn {
    let (low, high) = (binning.bins[0].low as f64, binning.bins[binning.bins.len() - 1].high as f64);
    let margin = 0.05 * (high - low).max(1.0);
    let mut chart = ChartBuilder::on(area)
        .caption(format!("found within {within_mm} mm: dots first, rings any vertex"), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d(low - margin..high + margin, 0.0..1.05)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_desc(binning.by.label())
        .y_desc("fraction of RoIs")
        .draw()?;
    for (number, configuration) in configurations.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points = |of: fn(&Figures) -> Fraction, place: usize| {
            // Beside each other, where they are the same.
            let beside = 0.3 * margin * (place as f64 + 0.5 - configurations.len() as f64);
            configuration.summary.bins.iter().filter_map(move |in_bin| {
                let middle = 0.5 * (in_bin.bin.low as f64 + in_bin.bin.high as f64);
                let fraction = of(&in_bin.figures);
                Some((middle + beside, fraction.low?, fraction.value?, fraction.high?))
            })
        };
        let first = points(|figures| figures.first, 2 * number)
            .map(|(x, low, value, high)| ErrorBar::new_vertical(x, low, value, high, colour.filled(), 6));
        let any = points(|figures| figures.any, 2 * number + 1)
            .map(|(x, low, value, high)| ErrorBar::new_vertical(x, low, value, high, colour.stroke_width(1), 6));
        chart.draw_series(any)?;
        chart
            .draw_series(first)?
            .label(configuration.name)
            .legend(move |(x, y)| Circle::new((x + 10, y), 4, colour.filled()));
    }
    let legend = SeriesLabelPosition::LowerLeft;
    chart.configure_series_labels().position(legend).background_style(WHITE.mix(0.8)).border_style(BLACK).draw()
}

fn residuals(area: &Panel, configurations: &[Plotted], within_mm: f64) -> Drawn {
    let width = 2.0 * within_mm / STEPS as f64;
    let fractions: Vec<[f64; STEPS]> = configurations.iter().map(|one| distribution(one, within_mm)).collect();
    let top = fractions.iter().flatten().fold(0.0, |top: f64, &fraction| top.max(fraction));
    let mut chart = ChartBuilder::on(area)
        .caption("first vertex less true z", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(-within_mm..within_mm, 0.0..if top > 0.0 { 1.1 * top } else { 1.0 })?;
    let what = format!("fraction of RoIs in {width:.3} mm");
    chart.configure_mesh().disable_mesh().x_desc("residual, mm").y_desc(what).draw()?;
    for (number, (configuration, fractions)) in configurations.iter().zip(&fractions).enumerate() {
        let style = COLOURS[number % COLOURS.len()].stroke_width(2);
        let steps = fractions
            .iter()
            .enumerate()
            .flat_map(|(step, &fraction)| [step, step + 1].map(|edge| (-within_mm + width * edge as f64, fraction)));
        chart
            .draw_series(LineSeries::new(steps, style))?
            .label(configuration.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    let legend = SeriesLabelPosition::UpperRight;
    chart.configure_series_labels().position(legend).background_style(WHITE.mix(0.8)).border_style(BLACK).draw()
}

/// Fractions of all RoIs with truth whose residual is in each step from -`within_mm` to `within_mm`.
fn distribution(configuration: &Plotted, within_mm: f64) -> [f64; STEPS] {
    let mut fractions = [0.0; STEPS];
    for residual in configuration.residuals_mm {
        let step = (residual + within_mm) / (2.0 * within_mm) * STEPS as f64;
        fractions[(step as usize).min(STEPS - 1)] += 1.0 / configuration.summary.figures.rois.max(1) as f64;
    }
    fractions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{By, Evaluation, Options};
    use crate::io::TruthVertex;
    use crate::{RoiId, RoiResult, Status, Vertex};

    fn evaluation(residuals: &[f64]) -> Evaluation {
        let mut evaluation = Evaluation::new(Options::default());
        for (event, &z_mm) in residuals.iter().enumerate() {
            let id = RoiId { event_id: event as u64, roi_id: 0 };
            let vertices = vec![Vertex { z_mm, ..Vertex::default() }];
            let result = RoiResult { id, vertices, status: Status::Ok, spacepoints: 10 * event, outside_window: 0 };
            evaluation.add(&result, &[TruthVertex { z_mm: 0.0, is_hard_scatter: true }]);
        }
        evaluation
    }

    #[test]
    fn residuals_are_fractions_of_all_rois() {
        let evaluation = evaluation(&[0.01, 0.02, -0.999, 7.0]);
        let residuals_mm: Vec<f64> = evaluation.residuals().collect();
        let summary = evaluation.summary(None);
        let fractions = distribution(&Plotted { name: "", summary: &summary, residuals_mm: &residuals_mm }, 1.0);
        assert_eq!((fractions[0], fractions[STEPS / 2], fractions.iter().sum::<f64>()), (0.25, 0.5, 0.75));
    }

    #[test]
    fn one_panel_without_bins_and_two_with() {
        let good = evaluation(&[0.1; 30]);
        let none = evaluation(&[]);
        for (evaluation, binning, panels) in [
            (&good, Some(good.binning(By::Spacepoints, None)), 2),
            (&good, Some(good.binning(By::PileUp, None)), 2),
            (&good, None, 1),
            (&none, Some(none.binning(By::PileUp, None)), 1),
        ] {
            let summary = evaluation.summary(binning.as_ref());
            let residuals_mm: Vec<f64> = evaluation.residuals().collect();
            let plotted = Plotted { name: "a < b & c", summary: &summary, residuals_mm: &residuals_mm };
            let text = svg(&[plotted], binning.as_ref(), 1.0).expect("drawn");
            assert!(text.starts_with(&format!("<svg width=\"{}\"", panels * PANEL.0)), "{text:.200}");
            assert!(text.trim_end().ends_with("</svg>") && text.contains("a &lt; b &amp; c"), "{text:.200}");
        }
    }
}
