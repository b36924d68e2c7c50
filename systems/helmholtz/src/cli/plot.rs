//! A picture of a field on a slice of the mesh.

use std::path::Path;

use command_host::figure::{Axis, ColourBar, Figure, Layer, Panel, Scale};
use command_host::{Code, Failure, PictureOptions};
use helmholtz::Mesh;

/// Triangles of an SVG or a PDF, at most: more make a file that viewers cannot open.
const MOST_VECTOR: usize = 50_000;
/// The longer side of the slice, and the shorter one at least.
const SIDE: f64 = 560.0;
const LEAST: f64 = 150.0;
/// Width and height of what stands around the slice.
const AROUND: (f64, f64) = (200.0, 70.0);

/// A file that a picture is to be drawn to.
pub(super) struct Picture {
    picture: command_host::Picture,
    name: String,
}

impl Picture {
    /// Opens the file of `--plot`.
    pub(super) fn open(options: &PictureOptions, path: Option<&Path>) -> Result<Option<Self>, Failure> {
        let name = path.map_or_else(String::new, |path| path.display().to_string());
        let picture = options.open_optional(path, "helmholtz")?;
        Ok(picture.map(|picture| Self { picture, name }))
    }

    /// Refuses what cannot be drawn.
    pub(super) fn check(&self, mesh: &Mesh, z: f64) -> Result<(), Failure> {
        let (top, triangles) = (mesh.z(mesh.levels() - 1), mesh.triangles().len());
        // By a rounding above the top is at the top.
        if !(z >= 0.0 && z <= top * (1.0 + 1e-9)) {
            return Err(Failure::new(Code::Usage, format_args!("--z {z}: the mesh goes from 0 to {top}")));
        }
        if self.picture.format().is_vector() && triangles > MOST_VECTOR {
            let what = format!("{triangles} triangles, and an SVG or PDF has {MOST_VECTOR} at most: use .png");
            return Err(Failure::new(Code::Usage, format_args!("--plot {}: {what}", self.name)));
        }
        Ok(())
    }

    /// Draws a field at z: each triangle in the colour of its mean.
    pub(super) fn draw(self, mesh: &Mesh, field: &[f64], z: f64, engine: &str) -> Result<(), Failure> {
        self.picture.draw(&figure(mesh, field, z, engine))
    }
}

fn figure(mesh: &Mesh, field: &[f64], z: f64, engine: &str) -> Figure {
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
    let (range, scale) = scale(&means);
    let corner = |vertex: u32| {
        let [x, y] = mesh.vertices()[vertex as usize];
        (x, y)
    };
    let (mut low, mut high) = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    for (x, y) in mesh.triangles().as_flattened().iter().map(|&vertex| corner(vertex)) {
        (low, high) = ((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)));
    }
    let cells = mesh
        .triangles()
        .iter()
        .zip(&means)
        .map(|(corners, mean)| (corners.map(corner).to_vec(), scale.at((mean - range.0) / (range.1 - range.0))));
    let mut panel = Panel::new("slice", Axis::new("x", low.0, high.0), Axis::new("y", low.1, high.1));
    panel.layers.push(Layer::Cells(cells.collect()));
    panel.colour_bar = Some(ColourBar { axis: Axis::new("u", range.0, range.1), scale });
    let title = format!("z = {z}, {} triangles, {layers} layers, {engine}", means.len());
    // x and y have the same scale, as long as the slice does not become a line.
    let sides = (high.0 - low.0, high.1 - low.1);
    let unit = SIDE / sides.0.max(sides.1);
    let side = |side: f64| (side * unit).clamp(LEAST, SIDE);
    Figure { panel_size: (side(sides.0) + AROUND.0, side(sides.1) + AROUND.1), ..Figure::new(title, panel) }
}

/// The range of the colours, and their scale: diverging about zero for fields of both signs,
/// sequential for fields of one. Rounding errors beyond zero do not make a sign.
fn scale(means: &[f64]) -> ((f64, f64), Scale) {
    let finite = means.iter().copied().filter(|mean| mean.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return ((0.0, 1.0), Scale::Sequential);
    }
    let most = low.abs().max(high.abs());
    if low < -1e-3 * most && high > 1e-3 * most {
        return ((-most, most), Scale::Diverging);
    }
    // A constant field has a range, too.
    if high - low > 1e-9 * most {
        ((low, high), Scale::Sequential)
    } else {
        ((low, low + most.max(1.0)), Scale::Sequential)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_signed_fields_have_a_diverging_scale() {
        assert_eq!(scale(&[-1.0, 0.5]), ((-1.0, 1.0), Scale::Diverging));
        assert_eq!(scale(&[-1e-9, 2.0]), ((-1e-9, 2.0), Scale::Sequential));
        assert_eq!(scale(&[-3.0, -1.0]), ((-3.0, -1.0), Scale::Sequential));
        assert_eq!(scale(&[2.0, 2.0]), ((2.0, 4.0), Scale::Sequential));
        assert_eq!(scale(&[f64::NAN]), ((0.0, 1.0), Scale::Sequential));
    }
}
