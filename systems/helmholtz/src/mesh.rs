//! Triangles, and the prisms that they are extruded to.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use bytemuck::Pod;
use kernel_host::Precision;

use crate::error::{Error, Result};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A number type of the computation: `f32` or `f64`.
pub trait Number:
    Pod
    + Into<f64>
    + PartialOrd
    + Default
    + fmt::Debug
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + sealed::Sealed
{
    /// The [`Precision`](crate::Precision) that names this type.
    const PRECISION: Precision;

    /// Converts from f64, rounded to the nearest number.
    fn from_f64(value: f64) -> Self;
}

impl Number for f32 {
    const PRECISION: Precision = Precision::F32;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as Self
    }
}

impl Number for f64 {
    const PRECISION: Precision = Precision::F64;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// Triangles in the plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triangles {
    /// x and y of each vertex.
    pub vertices: Vec<[f64; 2]>,
    /// The three vertices of each triangle, numbered from 0, clockwise or anticlockwise.
    pub triangles: Vec<[u32; 3]>,
}

/// The extrusion of triangles to columns of prisms: straight up from z = 0, in layers of equal
/// height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extrusion {
    /// The number of nodes in a column: one more than layers, at least 2.
    pub levels: usize,
    /// The height of a layer, in the unit of the coordinates.
    pub height: f64,
}

impl Default for Extrusion {
    /// Returns the extrusion of the helmholtz report: 101 levels, 0.1 apart.
    fn default() -> Self {
        Self { levels: 101, height: 0.1 }
    }
}

/// A triangle is degenerate if its area is no more than this part of its longest edge squared.
/// Twice the area is a difference of products of edges, each rounded to some 1e-16 of that square:
/// at 1e-14, a percent of the area, and so of every gradient, is rounding.
const DEGENERATE: f64 = 1e-14;

/// Longest edges and heights are between these, so that no product of them that is made here leaves
/// the range of f64.
const SIZES: [f64; 2] = [1e-90, 1e90];

/// A mesh of prisms in columns on triangles.
///
/// Level `l` of vertex `v` is node `v * levels + l`. The nodes of a column are contiguous, and
/// fields are arrays in that order. Layer `k` of a triangle is the prism between levels `k` and `k
/// + 1`.
///
/// A vertex without triangles is not an error, because mesh generators leave such vertices. Its
/// nodes belong to no prism: assembled fields and solutions are zero there.
/// [`Mesh::unused_vertices`] counts these vertices. Overlapping triangles are not detected.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    flat: Triangles,
    extrusion: Extrusion,
    /// Of each vertex, where its corners begin; one more at the end.
    offsets: Vec<u32>,
    /// 3 * triangle + which of its three vertices it is, in ascending order for each vertex.
    corners: Vec<u32>,
}

/// A triangle in the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plane {
    /// Above 0 in either direction around.
    pub(crate) area: f64,
    /// Of the three functions that are linear on the triangle, 1 at one vertex and 0 at the others.
    pub(crate) gradients: [[f64; 2]; 3],
}

impl Mesh {
    /// Extrudes triangles.
    ///
    /// # Errors
    /// [`Error::Levels`], [`Error::Height`], [`Error::EmptyMesh`], [`Error::NotFinite`].
    /// [`Error::Dangling`], [`Error::Size`] and [`Error::Degenerate`] name the first invalid
    /// triangle. [`Error::TooLarge`] if there are too many vertices, corners or nodes.
    pub fn new(flat: Triangles, extrusion: Extrusion) -> Result<Self> {
        let Extrusion { levels, height } = extrusion;
        if levels < 2 {
            return Err(Error::Levels { levels });
        }
        if !(SIZES[0]..=SIZES[1]).contains(&height) {
            return Err(Error::Height { height });
        }
        let vertices = flat.vertices.len();
        if flat.triangles.is_empty() {
            return Err(Error::EmptyMesh { vertices });
        }
        check_counts(vertices, flat.triangles.len(), levels)?;
        let is_finite = |at: &[f64; 2]| at.iter().all(|coordinate| coordinate.is_finite());
        if let Some(vertex) = flat.vertices.iter().position(|at| !is_finite(at)) {
            return Err(Error::NotFinite { vertex, at: flat.vertices[vertex] });
        }
        for (triangle, corners) in flat.triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|&&vertex| vertex as usize >= vertices) {
                return Err(Error::Dangling { triangle, vertex, vertices });
            }
            check_shape(triangle, corners, &flat.vertices)?;
        }
        let mut offsets = vec![0_u32; vertices + 1];
        for &vertex in flat.triangles.iter().flatten() {
            offsets[vertex as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            offsets[vertex + 1] += offsets[vertex];
        }
        let mut next = offsets.clone();
        let mut corners = vec![0; 3 * flat.triangles.len()];
        for (corner, &vertex) in (0..).zip(flat.triangles.iter().flatten()) {
            corners[next[vertex as usize] as usize] = corner;
            next[vertex as usize] += 1;
        }
        Ok(Self { flat, extrusion, offsets, corners })
    }

    /// Returns x and y of each vertex.
    #[must_use]
    pub fn vertices(&self) -> &[[f64; 2]] {
        &self.flat.vertices
    }

    /// Returns the three vertices of each triangle.
    #[must_use]
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.flat.triangles
    }

    /// Returns the triangles.
    #[must_use]
    pub fn flat(&self) -> &Triangles {
        &self.flat
    }

    /// Returns the extrusion.
    #[must_use]
    pub fn extrusion(&self) -> Extrusion {
        self.extrusion
    }

    /// Returns the number of nodes in a column.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.extrusion.levels
    }

    /// Returns the height of a layer, in the unit of the coordinates.
    #[must_use]
    pub fn height(&self) -> f64 {
        self.extrusion.height
    }

    /// Returns the number of nodes, which is the length of a field.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.vertices().len() * self.levels()
    }

    /// Returns the number of prisms.
    #[must_use]
    pub fn prisms(&self) -> usize {
        self.triangles().len() * (self.levels() - 1)
    }

    /// Returns the index of a node.
    #[must_use]
    pub fn node(&self, vertex: usize, level: usize) -> usize {
        vertex * self.levels() + level
    }

    /// Returns z of a level.
    #[must_use]
    pub fn z(&self, level: usize) -> f64 {
        level as f64 * self.height()
    }

    /// Returns the area of all triangles, in the squared unit of the coordinates.
    #[must_use]
    pub fn area(&self) -> f64 {
        // Partial sums, because rounding errors grow with the length of a sum.
        const TOGETHER: usize = 1024;
        let count = self.triangles().len();
        let part = |first: usize| -> f64 {
            (first..(first + TOGETHER).min(count)).map(|triangle| self.plane(triangle).area).sum()
        };
        (0..count).step_by(TOGETHER).map(part).sum()
    }

    /// Returns the volume of all prisms, in the cubed unit of the coordinates.
    #[must_use]
    pub fn volume(&self) -> f64 {
        self.area() * self.z(self.levels() - 1)
    }

    /// Returns the number of vertices without triangles.
    #[must_use]
    pub fn unused_vertices(&self) -> usize {
        self.offsets.windows(2).filter(|bounds| bounds[0] == bounds[1]).count()
    }

    /// Returns the triangles of a vertex in ascending order, each with the index (0 to 2) of the
    /// vertex in the triangle.
    ///
    /// # Panics
    /// If the vertex is out of range.
    pub fn triangles_of(&self, vertex: usize) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        let corners = &self.corners[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize];
        corners.iter().map(|&corner| (corner as usize / 3, corner as usize % 3))
    }

    /// Returns where the [`Mesh::corners`] of each vertex begin, followed by their total number.
    #[must_use]
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Returns the triangle corners at each vertex, in ascending order: 3 * triangle + index of the
    /// vertex in the triangle.
    #[must_use]
    pub fn corners(&self) -> &[u32] {
        &self.corners
    }

    pub(crate) fn plane(&self, triangle: usize) -> Plane {
        let [a, b, c] = self.triangles()[triangle].map(|vertex| self.vertices()[vertex as usize]);
        let twice = twice_area(a, b, c);
        // Of a function that is 0 along the edge from `from` to `to`.
        let gradient = |from: [f64; 2], to: [f64; 2]| [(from[1] - to[1]) / twice, (to[0] - from[0]) / twice];
        Plane { area: twice.abs() / 2.0, gradients: [gradient(b, c), gradient(c, a), gradient(a, b)] }
    }

    pub(crate) fn is_anticlockwise(&self, triangle: usize) -> bool {
        let [a, b, c] = self.triangles()[triangle].map(|vertex| self.vertices()[vertex as usize]);
        twice_area(a, b, c) > 0.0
    }

    /// That a field has a number for each node.
    pub(crate) fn check_field(&self, found: usize) -> Result<()> {
        let wanted = self.nodes();
        if found == wanted { Ok(()) } else { Err(Error::FieldLength { found, wanted }) }
    }
}

/// Above 0 anticlockwise.
fn twice_area(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
}

/// Vertices, and the pairs of them that triangles make, are numbered in 32 bits, nodes in a usize.
fn check_counts(vertices: usize, triangles: usize, levels: usize) -> Result<()> {
    let wrong = |what: String| Err(Error::TooLarge { what });
    let most = u32::MAX as usize;
    if vertices > most {
        return wrong(format!("{vertices} vertices: a mesh has {most} at most"));
    }
    if triangles.checked_mul(6).and_then(|pairs| pairs.checked_add(vertices)).is_none_or(|pairs| pairs > most) {
        let triangles_at_most = (most - vertices) / 6;
        return wrong(format!("{triangles} triangles: with {vertices} vertices, {triangles_at_most} at most"));
    }
    // That many f64 are one array.
    let words = vertices.max(triangles).checked_mul(levels);
    if words.is_none_or(|words| words > isize::MAX as usize / size_of::<f64>()) {
        return wrong(format!("{levels} levels of {vertices} vertices are too many for one field"));
    }
    Ok(())
}

fn check_shape(triangle: usize, vertices: &[u32; 3], at: &[[f64; 2]]) -> Result<()> {
    let [a, b, c] = vertices.map(|vertex| at[vertex as usize]);
    let length = |a: [f64; 2], b: [f64; 2]| (b[0] - a[0]).hypot(b[1] - a[1]);
    let edge = length(a, b).max(length(b, c)).max(length(c, a));
    let area = twice_area(a, b, c).abs() / 2.0;
    if edge > 0.0 && !(SIZES[0]..=SIZES[1]).contains(&edge) {
        return Err(Error::Size { triangle, edge });
    }
    if area <= DEGENERATE * edge * edge {
        return Err(Error::Degenerate { triangle, vertices: *vertices, area });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square() -> Triangles {
        Triangles {
            vertices: vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
            // The second one clockwise.
            triangles: vec![[0, 1, 3], [0, 2, 3]],
        }
    }

    fn with(change: impl FnOnce(&mut Triangles, &mut Extrusion)) -> Result<Mesh> {
        let (mut flat, mut extrusion) = (square(), Extrusion::default());
        change(&mut flat, &mut extrusion);
        Mesh::new(flat, extrusion)
    }

    #[test]
    fn corners_are_found_again() {
        let mesh = with(|_, _| ()).expect("a mesh");
        assert_eq!((mesh.nodes(), mesh.prisms(), mesh.node(2, 3)), (404, 200, 205));
        assert_eq!((mesh.area(), mesh.volume(), mesh.unused_vertices()), (1.0, 10.0, 0));
        let of: Vec<Vec<_>> = (0..4).map(|vertex| mesh.triangles_of(vertex).collect()).collect();
        assert_eq!(of, [vec![(0, 0), (1, 0)], vec![(0, 1)], vec![(1, 1)], vec![(0, 2), (1, 2)]]);
    }

    #[test]
    fn gradients_are_of_the_linear_functions() {
        let mesh =
            with(|flat, _| flat.vertices = vec![[0.1, 0.0], [1.3, 0.2], [-0.2, 1.0], [0.9, 1.4]]).expect("a mesh");
        for (triangle, corners) in mesh.triangles().iter().enumerate() {
            let plane = mesh.plane(triangle);
            for (i, gradient) in plane.gradients.iter().enumerate() {
                let value = |corner: usize| {
                    let at = mesh.vertices()[corners[corner] as usize];
                    let from = mesh.vertices()[corners[(i + 1) % 3] as usize];
                    gradient[0] * (at[0] - from[0]) + gradient[1] * (at[1] - from[1])
                };
                for corner in 0..3 {
                    let wanted = f64::from(u8::from(corner == i));
                    assert!((value(corner) - wanted).abs() < 1e-14, "{triangle} {i} {corner}");
                }
            }
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let text = |change: &dyn Fn(&mut Triangles, &mut Extrusion)| with(change).expect_err("nonsense").to_string();
        let starts = |text: String, start: &str| assert!(text.starts_with(start), "{text}");
        starts(text(&|_, extrusion| extrusion.levels = 1), "1 levels: a layer");
        for height in [0.0, -0.1, f64::NAN, f64::INFINITY, 1e-300] {
            starts(text(&|_, extrusion| extrusion.height = height), "layers of height");
        }
        starts(text(&|flat, _| flat.triangles.clear()), "a mesh of 4 vertices and no triangles");
        starts(text(&|flat, _| *flat = Triangles::default()), "a mesh of 0 vertices and no triangles");
        starts(text(&|flat, _| flat.vertices[2][1] = f64::NAN), "vertex 2 is at (0, NaN)");
        starts(text(&|flat, _| flat.triangles[1][2] = 4), "triangle 1 has vertex 4, and there are 4");
        starts(text(&|flat, _| flat.triangles[1] = [1, 1, 2]), "triangle 1 is degenerate: its vertices 1, 1 and 2");
        starts(text(&|flat, _| flat.triangles[0] = [2, 2, 2]), "triangle 0 is degenerate: its vertices 2, 2 and 2");
        starts(text(&|flat, _| flat.vertices[1] = [0.5, 0.5 + 1e-15]), "triangle 0 is degenerate");
        starts(text(&|flat, _| flat.vertices[3] = [1e200, 1.0]), "triangle 0 has an edge of 1e200");
        let tiny = |flat: &mut Triangles, _: &mut Extrusion| {
            flat.vertices.iter_mut().flatten().for_each(|coordinate| *coordinate *= 1e-120);
        };
        starts(text(&tiny), "triangle 0 has an edge of 1.4");
        starts(text(&|_, extrusion| extrusion.levels = usize::MAX), "18446744073709551615 levels of 4 vertices");
        starts(check_counts(1 << 32, 1, 2).expect_err("many").to_string(), "4294967296 vertices");
        starts(check_counts(3, 1 << 31, 2).expect_err("many").to_string(), "2147483648 triangles");
        // Thin, not degenerate; and a vertex that is not used.
        assert!(with(|flat, _| flat.vertices[1] = [0.5, 0.5 - 1e-10]).is_ok());
        assert_eq!(with(|flat, _| flat.vertices.push([7.0, 7.0])).expect("a mesh").unused_vertices(), 1);
    }
}
