//! Plots of the figures of all found vertices: positions, distances of pairs, ROC curves,
//! calibration.

use hep_figure::{Axis, Colour, Entry, Figure, Key, Layer, Line, Marker, Panel, Point};

use crate::evaluate::{Calibration, Figures, VertexFigures};

/// Largest distance of pairs in the plot \[mm\], and the bins of a step.
const DISTANCE_MM: f64 = 5.0;
const BINS_IN_A_STEP: usize = 5;
/// Lower end of the axis of false vertices per RoI.
const LEAST: f64 = 1e-5;

/// One configuration in a plot of vertices.
#[derive(Clone, Copy, Debug)]
pub struct PlottedVertices<'a> {
    /// Its name in the legend.
    pub name: &'a str,
    /// Figures of all its RoIs.
    pub figures: &'a Figures,
    /// Figures of all its vertices.
    pub vertices: &'a VertexFigures,
}

/// Makes four panels. `positions` shows the position of the correct vertex in the list. `distances`
/// shows distances of pairs of found vertices with the fitted step. `roc` shows ROC curves of the
/// significance (thick) and of the rank ratio (thin). `calibration` shows the false vertices above
/// a significance, found (markers) and expected (black line).
#[must_use]
pub fn vertices(configurations: &[PlottedVertices<'_>]) -> Figure {
    let rois = configurations.iter().map(|one| one.figures.rois).max().unwrap_or(0);
    let names = configurations.iter().enumerate();
    Figure {
        title: format!("vertices found in {rois} RoIs with truth"),
        panels: vec![
            positions(configurations),
            distances(configurations),
            roc(configurations),
            calibration(configurations),
        ],
        columns: 2,
        panel_size: (500.0, 420.0),
        legend: names
            .map(|(number, one)| Entry::new(Key::Both(Marker::numbered(number), Line::numbered(number)), one.name))
            .collect(),
        is_full: false,
    }
}

fn points(places: &[(f64, f64)]) -> Vec<Point> {
    places.iter().map(|&(x, y)| Point::new(x, y)).collect()
}

fn positions(configurations: &[PlottedVertices<'_>]) -> Panel {
    let most = configurations.iter().map(|one| one.vertices.positions.len()).max().unwrap_or(0).max(3);
    let x = Axis::new("position of the right vertex in the list", 0.0, most as f64);
    let x = Axis { categories: (1..=most).map(|position| position.to_string()).collect(), ..x };
    let mut panel = Panel::new("positions", x, Axis::new("fraction of RoIs", 0.0, 1.05));
    for (number, one) in configurations.iter().enumerate() {
        let rois = one.figures.rois.max(1) as f64;
        let places = one.vertices.positions.iter().enumerate();
        let places: Vec<(f64, f64)> = places.map(|(at, &count)| (at as f64 + 0.5, count as f64 / rois)).collect();
        panel.layers.push(Layer::Points(points(&places), Marker::numbered(number)));
        panel.layers.insert(0, Layer::Line(places, Line::numbered(number)));
    }
    panel
}

fn distances(configurations: &[PlottedVertices<'_>]) -> Panel {
    let all: Vec<Vec<(f64, f64)>> = configurations.iter().map(|one| steps(one.vertices)).collect();
    let top = all.iter().flatten().fold(0.0, |top: f64, point| top.max(point.1));
    let top = if top > 0.0 { 1.1 * top } else { 1.0 };
    let width = configurations.first().map_or(0.25, |one| step_mm(one.vertices));
    let x = Axis::new("distance of two found vertices [mm]", 0.0, DISTANCE_MM);
    let y = Axis::new(format!("pairs / {width:.2} mm"), 0.0, top);
    let mut panel = Panel::new("distances", x, y);
    for (number, (one, steps)) in configurations.iter().zip(all).enumerate() {
        let width = step_mm(one.vertices);
        let end = steps.last().map(|(low, _)| low + width);
        panel.layers.push(Layer::Steps {
            edges: steps.iter().map(|step| step.0).chain(end).collect(),
            heights: steps.iter().map(|step| step.1).collect(),
            line: Some(Line::numbered(number)),
            fill: None,
        });
        if let Some(fit) = one.vertices.resolution {
            let at = fit.distance_mm;
            panel.layers.push(Layer::Line(vec![(at, 0.0), (at, top)], Line::dashed(Colour::numbered(number), 1.0)));
        }
    }
    if configurations.iter().any(|one| one.vertices.resolution.is_some()) {
        panel.legend.push(Entry::new(Key::Line(Line::dashed(Colour::BLACK, 1.0)), "fitted step"));
    }
    panel
}

fn roc(configurations: &[PlottedVertices<'_>]) -> Panel {
    const THICK: f64 = 2.4;
    const THIN: f64 = 1.0;
    let x = Axis::new("fraction of wrong first vertices kept", 0.0, 1.0);
    let mut panel = Panel::new("roc", x, Axis::new("fraction of right first vertices kept", 0.0, 1.02));
    for (number, one) in configurations.iter().enumerate() {
        for (curve, width) in [(&one.vertices.roc_significance, THICK), (&one.vertices.roc_rank_ratio, THIN)] {
            let line = Line { width, ..Line::numbered(number) };
            panel.layers.push(Layer::Line(curve.iter().map(|&[wrong, right]| (wrong, right)).collect(), line));
        }
    }
    for (name, width) in [("significance", THICK), ("rank ratio", THIN)] {
        panel.legend.push(Entry::new(Key::Line(Line::solid(Colour::BLACK, width)), name));
    }
    panel
}

fn calibration(configurations: &[PlottedVertices<'_>]) -> Panel {
    let all = || configurations.iter().flat_map(|one| &one.vertices.calibration);
    let most = all().map(|one| one.above).fold(1.0, f64::max);
    let x = Axis::new("least significance", -0.2, most + 0.2);
    let mut panel = Panel::new("calibration", x, Axis::new("false vertices per RoI", LEAST, 10.0).log());
    for (number, one) in configurations.iter().enumerate() {
        let rois = one.figures.rois.max(1) as f64;
        let places = |value: fn(&Calibration) -> f64| -> Vec<(f64, f64)> {
            one.vertices.calibration.iter().map(|one| (one.above, value(one) / rois)).collect()
        };
        if number == 0 {
            panel.layers.push(Layer::Line(places(|one| one.expected_false), Line::solid(Colour::BLACK, 1.0)));
        }
        panel.layers.push(Layer::Points(points(&places(|one| one.false_vertices as f64)), Marker::numbered(number)));
    }
    let found = Marker { colour: Colour::BLACK, ..Marker::numbered(0) };
    panel.legend.push(Entry::new(Key::Marker(found), "found"));
    panel.legend.push(Entry::new(Key::Line(Line::solid(Colour::BLACK, 1.0)), "expected"));
    panel
}

fn step_mm(vertices: &VertexFigures) -> f64 {
    BINS_IN_A_STEP as f64 * vertices.distance_bin_mm
}

/// Returns the lower edges of the steps of the distribution of distances, and their numbers of
/// pairs.
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
