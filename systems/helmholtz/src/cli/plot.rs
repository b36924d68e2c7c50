//! A picture of a field on a slice of the mesh.

use std::path::Path;

use command_host::plotters::coord::Shift;
use command_host::plotters::prelude::*;
use command_host::{Code, Drawing, Failure, colour};
use helmholtz::Mesh;

/// A file that a picture is to be drawn to.
#[derive(Clone, Debug)]
pub(super) struct Picture(command_host::Picture);

/// An SVG of more triangles is of no use to those who look at it.
const MOST_IN_SVG: usize = 50_000;

/// The longer side of the slice \[pixels\].
const SIDE: f64 = 700.0;
const MARGIN: u32 = 20;
const TITLES: u32 = 75;
const LABELS: u32 = 55;
/// The scale of colours, with its numbers.
const BAR: u32 = 25;
const BAR_LABELS: u32 = 65;

/// From the least to the greatest, white between them, told apart by colour-blind people too (C.
/// Brewer, RdBu).
const COLOURS: [[u8; 3]; 11] = [
    [5, 48, 97],
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [247, 247, 247],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
    [103, 0, 31],
];

/// Of a value from -1 to 1.
fn signed(value: f64) -> RGBColor {
    colour(&COLOURS, (value + 1.0) / 2.0)
}

impl Picture {
    /// Of `--plot`: refuses another ending before anything is computed.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        command_host::Picture::of(path).map(Self)
    }

    /// Whether it can be drawn.
    pub(super) fn check(&self, mesh: &Mesh, z: f64) -> Result<(), Failure> {
        let (top, triangles) = (mesh.z(mesh.levels() - 1), mesh.triangles().len());
        // By a rounding above the top is at the top.
        if !(z >= 0.0 && z <= top * (1.0 + 1e-9)) {
            return Err(Failure::new(Code::Usage, format_args!("--z {z}: the mesh goes from 0 to {top}")));
        }
        if !self.0.is_png() && triangles > MOST_IN_SVG {
            let what = format!("{triangles} triangles, and an SVG is drawn of {MOST_IN_SVG} at most: use .png");
            return Err(Failure::new(Code::Usage, format_args!("--plot {}: {what}", self.0.path().display())));
        }
        Ok(())
    }

    /// Draws a field at z: each triangle in the colour of its mean.
    pub(super) fn draw(&self, mesh: &Mesh, field: &[f64], z: f64, engine: &str) -> Result<(), Failure> {
        self.0.draw("helmholtz", &Slice::of(mesh, field, z, engine))
    }
}

/// What is drawn.
struct Slice<'a> {
    mesh: &'a Mesh,
    /// Of each triangle.
    means: Vec<f64>,
    /// The largest of them without its sign; above 0.
    most: f64,
    low: [f64; 2],
    high: [f64; 2],
    titles: [String; 2],
}

impl<'a> Slice<'a> {
    fn of(mesh: &'a Mesh, field: &[f64], z: f64, engine: &str) -> Self {
        let layers = mesh.levels() - 1;
        let place = (z / mesh.height()).clamp(0.0, layers as f64);
        let level = (place as usize).min(layers - 1);
        let part = place - level as f64;
        let value = |vertex: u32| -> f64 {
            let at = |level: usize| field[mesh.node(vertex as usize, level)];
            (1.0 - part) * at(level) + part * at(level + 1)
        };
        let mean = |corners: &[u32; 3]| corners.iter().map(|&vertex| value(vertex)).sum::<f64>() / 3.0;
        let means: Vec<f64> = mesh.triangles().iter().map(mean).collect();
        let most = means.iter().fold(f64::MIN_POSITIVE, |most, mean| most.max(mean.abs()));
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for &vertex in mesh.triangles().as_flattened() {
            for (axis, &at) in mesh.vertices()[vertex as usize].iter().enumerate() {
                (low[axis], high[axis]) = (low[axis].min(at), high[axis].max(at));
            }
        }
        let titles =
            [format!("u at z = {z}: {} triangles, {layers} layers", mesh.triangles().len()), engine.to_owned()];
        Self { mesh, means, most, low, high, titles }
    }

    /// Of the map itself \[pixels\]: x and y have the same scale, as long as it does not become a
    /// line.
    fn map_size(&self) -> (u32, u32) {
        let sides = [self.high[0] - self.low[0], self.high[1] - self.low[1]];
        let scale = SIDE / sides[0].max(sides[1]);
        let [width, height] = sides.map(|side| (side * scale).round().clamp(150.0, SIDE) as u32);
        (width, height)
    }

    /// Of the scale of colours.
    fn label(&self, value: f64) -> String {
        if value.abs() < 1e-6 * self.most {
            " 0".to_owned()
        } else if (0.02..1e3).contains(&self.most) {
            format!(" {value:.2}")
        } else {
            format!(" {value:.0e}")
        }
    }
}

impl Drawing for Slice<'_> {
    fn size(&self) -> (u32, u32) {
        let (width, height) = self.map_size();
        (width + 3 * MARGIN + LABELS + BAR + BAR_LABELS, height + 2 * MARGIN + TITLES + LABELS)
    }

    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let (width, height) = self.map_size();
        let left = (MARGIN + LABELS) as i32;
        area.draw(&Text::new(self.titles[0].as_str(), (left, MARGIN as i32), ("sans-serif", 22)))?;
        let quiet = ("sans-serif", 15).into_font().color(&RGBColor(90, 90, 90));
        area.draw(&Text::new(self.titles[1].as_str(), (left, MARGIN as i32 + 32), quiet))?;
        let below = area.margin(MARGIN + TITLES, MARGIN, MARGIN, MARGIN);
        let (map, bar) = below.split_horizontally(LABELS + width);
        let mut chart = ChartBuilder::on(&map)
            .x_label_area_size(LABELS)
            .y_label_area_size(LABELS)
            .build_cartesian_2d(self.low[0]..self.high[0], self.low[1]..self.high[1])?;
        let corner = |vertex: u32| {
            let [x, y] = self.mesh.vertices()[vertex as usize];
            (x, y)
        };
        let triangles = self.mesh.triangles().iter().zip(&self.means);
        chart.draw_series(
            triangles.map(|(corners, mean)| Polygon::new(corners.map(corner), signed(mean / self.most).filled())),
        )?;
        // Over what pixels stand out.
        let frame = [(self.low[0], self.low[1]), (self.high[0], self.high[1])];
        chart.draw_series([Rectangle::new(frame, BLACK)])?;
        chart.configure_mesh().disable_mesh().x_desc("x").y_desc("y").label_style(("sans-serif", 15)).draw()?;
        // As high as the map.
        let bar = bar.margin(0, LABELS, MARGIN, 0);
        let mut chart = ChartBuilder::on(&bar)
            .right_y_label_area_size(BAR_LABELS)
            .build_cartesian_2d(0.0..1.0, -self.most..self.most)?;
        let step = 2.0 * self.most / f64::from(height);
        chart.draw_series((0..height).map(|row| {
            let low = f64::from(row) * step - self.most;
            Rectangle::new([(0.0, low), (1.0, low + step)], signed((low + step / 2.0) / self.most).filled())
        }))?;
        chart.draw_series([Rectangle::new([(0.0, -self.most), (1.0, self.most)], BLACK)])?;
        let label = |value: &f64| self.label(*value);
        let mut axis = chart.configure_mesh();
        axis.disable_mesh()
            .disable_x_axis()
            .y_labels(9)
            .y_label_formatter(&label)
            .label_style(("sans-serif", 15))
            .draw()
    }
}
