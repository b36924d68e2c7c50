//! What [`evaluate`](crate::evaluate) says of all found vertices: positions, distances of pairs,
//! ROC curves, calibration.

use plotters::prelude::*;

use super::style::{Key, Line, Mark, axes, titled};
use super::{Area, Drawn, Format, Picture};
use crate::error::Result;
use crate::evaluate::{Figures, VertexFigures};

/// Width and height of one panel \[pixels\].
const PANEL: (u32, u32) = (500, 440);
/// Height of the title and of a line of the legend \[pixels\].
const HEAD: u32 = 74;
/// Pairs are drawn up to this distance \[mm\], in steps of so many bins.
const DISTANCE_MM: f64 = 5.0;
const BINS_IN_A_STEP: usize = 5;
/// The lowest number of false vertices per RoI, as a power of ten.
const LEAST_POWER: f64 = -5.0;

/// One configuration in a plot of vertices.
#[derive(Clone, Copy, Debug)]
pub struct PlottedVertices<'a> {
    /// What the legend calls it.
    pub name: &'a str,
    /// Its figures of all RoIs.
    pub figures: &'a Figures,
    /// Its figures of all vertices.
    pub vertices: &'a VertexFigures,
}

/// Four panels: the position of the right vertex in the list, the distances of pairs of found
/// vertices with the fitted step, the ROC curves of the significance (thick) and of the rank ratio
/// (thin), and the false vertices above a significance, found (marks) and expected (black line).
///
/// # Errors
/// [`Error::Plot`](crate::Error::Plot) where the library that draws gives up.
pub fn vertices(configurations: &[PlottedVertices], format: Format) -> Result<Vec<u8>> {
    Drawing { configurations }.render(format)
}

struct Drawing<'a> {
    configurations: &'a [PlottedVertices<'a>],
}

impl Picture for Drawing<'_> {
    fn size(&self) -> (u32, u32) {
        (2 * PANEL.0, HEAD + 2 * PANEL.1)
    }

    fn draw<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB> {
        let rois = self.configurations.iter().map(|one| one.figures.rois).max().unwrap_or(0);
        let names = self.configurations.iter().enumerate();
        let legend: Vec<(Key, String)> = names
            .map(|(number, one)| (Key::Both(Mark::of(number, true), Line::of(number)), one.name.to_owned()))
            .collect();
        let area = titled(area, &format!("Vertices found in {rois} RoIs with truth"), &legend)?;
        let panels = area.split_evenly((2, 2));
        if let [positions, distances, roc, calibration] = &panels[..] {
            self.positions(positions)?;
            self.distances(distances)?;
            self.roc(roc)?;
            self.calibration(calibration)?;
        }
        Ok(())
    }
}

impl Drawing<'_> {
    fn positions<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB> {
        let most = self.configurations.iter().map(|one| one.vertices.positions.len()).max().unwrap_or(0).max(3);
        let mut chart = builder(area).build_cartesian_2d(0.5..most as f64 + 0.5, 0.0..1.05)?;
        axes(&mut chart, "position of the right vertex in the list", "fraction of RoIs", (most.min(10), 11))?;
        for (number, one) in self.configurations.iter().enumerate() {
            let rois = one.figures.rois.max(1) as f64;
            let points = one.vertices.positions.iter().enumerate();
            let points: Vec<(f64, f64)> = points.map(|(at, &count)| (at as f64 + 1.0, count as f64 / rois)).collect();
            Line::of(number).draw(chart.plotting_area(), points.clone())?;
            Mark::of(number, true).draw(chart.plotting_area(), points)?;
        }
        Ok(())
    }

    fn distances<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB> {
        let steps: Vec<Vec<(f64, f64)>> = self.configurations.iter().map(|one| steps(one.vertices)).collect();
        let top = steps.iter().flatten().fold(0.0, |top: f64, point| top.max(point.1));
        let mut chart =
            builder(area).build_cartesian_2d(0.0..DISTANCE_MM, 0.0..if top > 0.0 { 1.1 * top } else { 1.0 })?;
        axes(&mut chart, "distance of two found vertices [mm]", "pairs / 0.25 mm", (8, 8))?;
        for (number, (one, steps)) in self.configurations.iter().zip(steps).enumerate() {
            let corners = steps.iter().flat_map(|&(low, count)| [(low, count), (low + step_mm(one.vertices), count)]);
            Line::of(number).draw(chart.plotting_area(), corners.collect())?;
            if let Some(fit) = one.vertices.resolution {
                let at = fit.distance_mm;
                Line::dashed(Line::of(number).colour, 1)
                    .draw(chart.plotting_area(), vec![(at, 0.0), (at, 1.1 * top)])?;
            }
        }
        Ok(())
    }

    fn roc<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB> {
        let mut chart = builder(area).build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
        axes(&mut chart, "fraction of wrong first vertices kept", "fraction of right first vertices kept", (6, 6))?;
        for (number, one) in self.configurations.iter().enumerate() {
            for (curve, width) in [(&one.vertices.roc_significance, 3), (&one.vertices.roc_rank_ratio, 1)] {
                if !curve.is_empty() {
                    let points = curve.iter().map(|&[wrong, right]| (wrong, right)).collect();
                    Line::of(number).of_width(width).draw(chart.plotting_area(), points)?;
                }
            }
        }
        Ok(())
    }

    fn calibration<DB: DrawingBackend>(&self, area: &Area<'_, DB>) -> Drawn<DB> {
        let all = self.configurations.iter().flat_map(|one| &one.vertices.calibration);
        let most = all.map(|one| one.above).fold(1.0, f64::max);
        let mut chart = builder(area).build_cartesian_2d(-0.2..most + 0.2, LEAST_POWER..1.0)?;
        axes(&mut chart, "significance above", "log10 of false vertices per RoI (line: expected)", (8, 7))?;
        let power = |number: f64, rois: u64| (number / rois.max(1) as f64).log10();
        for (number, one) in self.configurations.iter().enumerate() {
            let (rois, calibration) = (one.figures.rois, &one.vertices.calibration);
            let points = |value: fn(&crate::evaluate::Calibration) -> f64| -> Vec<(f64, f64)> {
                let points = calibration.iter().map(|one| (one.above, power(value(one), rois)));
                points.filter(|(_, power)| *power >= LEAST_POWER).collect()
            };
            if number == 0 {
                let expected = points(|one| one.expected_false);
                if !expected.is_empty() {
                    Line::solid(BLACK, 1).draw(chart.plotting_area(), expected)?;
                }
            }
            Mark::of(number, true).draw(chart.plotting_area(), points(|one| one.false_vertices as f64))?;
        }
        Ok(())
    }
}

fn builder<'a, 'b, DB: DrawingBackend>(area: &'a Area<'b, DB>) -> ChartBuilder<'a, 'b, DB> {
    let mut builder = ChartBuilder::on(area);
    builder.margin(12).x_label_area_size(48).y_label_area_size(76);
    builder
}

fn step_mm(vertices: &VertexFigures) -> f64 {
    BINS_IN_A_STEP as f64 * vertices.distance_bin_mm
}

/// Lower edges of the steps of the distribution of distances, and the pairs in them.
fn steps(vertices: &VertexFigures) -> Vec<(f64, f64)> {
    let width = step_mm(vertices);
    let steps = vertices.distances.chunks(BINS_IN_A_STEP).map(|bins| bins.iter().sum::<u64>() as f64);
    steps
        .enumerate()
        .map(|(step, pairs)| (width * step as f64, pairs))
        .take_while(|(low, _)| *low < DISTANCE_MM - 1e-9)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_sums_of_bins() {
        let vertices =
            VertexFigures { distances: (0..200).collect(), distance_bin_mm: 0.05, ..VertexFigures::default() };
        let steps = steps(&vertices);
        assert_eq!((steps.len(), steps[0], steps[1]), (20, (0.0, 10.0), (0.25, 35.0)));
    }
}
