//! Couplings between the columns of two vertices.

use rayon::prelude::*;

use crate::mesh::Mesh;

/// Vertices that a thread takes at a time.
const TOGETHER: usize = 4096;

/// The operators of the plane, vertex by vertex.
///
/// All layers are equal and columns are vertical. The mass and stiffness matrices of prisms are
/// therefore products of triangle matrices m and k with tridiagonal matrices Mz and Sz of a column
/// of intervals. They are M = m x Mz, and S = k x Mz + m x Sz. The quadrature of the helmholtz
/// report is exact for these polynomials, so its sums agree up to rounding.
///
/// The pairs of vertex `v` are `offsets[v]..offsets[v + 1]`: the vertices that share a triangle
/// with `v`, itself included, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
    mass: Vec<f64>,
    stiffness: Vec<f64>,
    thirds: Vec<f64>,
}

/// Of some vertices, one after the other.
#[derive(Default)]
struct Part {
    counts: Vec<u32>,
    neighbours: Vec<u32>,
    mass: Vec<f64>,
    stiffness: Vec<f64>,
    thirds: Vec<f64>,
}

impl Pairs {
    /// Finds the pairs of a mesh on all cores. The result does not depend on their number.
    #[must_use]
    pub fn new(mesh: &Mesh) -> Self {
        let vertices = mesh.vertices().len();
        let part = |part: usize| {
            let first = part * TOGETHER;
            Part::of(mesh, first..(first + TOGETHER).min(vertices))
        };
        let parts: Vec<Part> = (0..vertices.div_ceil(TOGETHER)).into_par_iter().map(part).collect();
        let count = parts.iter().map(|part| part.neighbours.len()).sum();
        let mut pairs = Self {
            offsets: Vec::with_capacity(vertices + 1),
            neighbours: Vec::with_capacity(count),
            mass: Vec::with_capacity(count),
            stiffness: Vec::with_capacity(count),
            thirds: Vec::with_capacity(vertices),
        };
        let mut end = 0;
        pairs.offsets.push(end);
        for part in parts {
            for count in part.counts {
                end += count;
                pairs.offsets.push(end);
            }
            pairs.neighbours.extend(part.neighbours);
            pairs.mass.extend(part.mass);
            pairs.stiffness.extend(part.stiffness);
            pairs.thirds.extend(part.thirds);
        }
        pairs
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// Returns whether there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// Returns where the pairs of each vertex begin, followed by their total number.
    #[must_use]
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Returns the second vertex of each pair.
    #[must_use]
    pub fn neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// Returns the mass of each pair: the integral of the product of the two linear functions over
    /// the plane. A common triangle contributes a twelfth of its area, or a sixth if both vertices
    /// are the same.
    #[must_use]
    pub fn mass(&self) -> &[f64] {
        &self.mass
    }

    /// Returns the stiffness of each pair: the integral of the product of the two gradients,
    /// without unit.
    #[must_use]
    pub fn stiffness(&self) -> &[f64] {
        &self.stiffness
    }

    /// Returns the integral of the linear function of each vertex: a third of the area of its
    /// triangles.
    #[must_use]
    pub fn thirds(&self) -> &[f64] {
        &self.thirds
    }

    /// Returns the range of the pairs of a vertex.
    ///
    /// # Panics
    /// If the vertex is out of range.
    #[must_use]
    pub fn range(&self, vertex: usize) -> std::ops::Range<usize> {
        self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize
    }
}

impl Part {
    fn of(mesh: &Mesh, vertices: std::ops::Range<usize>) -> Self {
        let mut part = Self::default();
        // Neighbour, mass and stiffness of each corner of each triangle of a vertex.
        let mut found: Vec<(u32, [f64; 2])> = Vec::new();
        for vertex in vertices {
            found.clear();
            let mut area = 0.0;
            for (triangle, own) in mesh.triangles_of(vertex) {
                let plane = mesh.plane(triangle);
                area += plane.area;
                for (other, &neighbour) in mesh.triangles()[triangle].iter().enumerate() {
                    let [a, b] = [plane.gradients[own], plane.gradients[other]];
                    let mass = plane.area / if own == other { 6.0 } else { 12.0 };
                    found.push((neighbour, [mass, plane.area * (a[0] * b[0] + a[1] * b[1])]));
                }
            }
            // Stable: sums go by triangles in ascending order.
            found.sort_by_key(|&(neighbour, _)| neighbour);
            let before = part.neighbours.len();
            for same in found.chunk_by(|a, b| a.0 == b.0) {
                part.neighbours.push(same[0].0);
                part.mass.push(same.iter().map(|(_, [mass, _])| mass).sum());
                part.stiffness.push(same.iter().map(|(_, [_, stiffness])| stiffness).sum());
            }
            part.counts.push((part.neighbours.len() - before) as u32);
            part.thirds.push(area / 3.0);
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Extrusion, Triangles};

    #[test]
    fn two_triangles_by_hand() {
        let flat = Triangles {
            vertices: vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [5.0, 5.0]],
            triangles: vec![[0, 1, 3], [2, 0, 3]],
        };
        let mesh = Mesh::new(flat, Extrusion::default()).expect("a mesh");
        let pairs = Pairs::new(&mesh);
        assert_eq!(pairs.offsets(), [0, 4, 7, 10, 14, 14]);
        assert_eq!(pairs.neighbours(), [0, 1, 2, 3, 0, 1, 3, 0, 2, 3, 0, 1, 2, 3]);
        let close = |found: &[f64], wanted: &[f64]| {
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}, not {wanted:?}");
        };
        let one = 1.0 / 24.0;
        close(pairs.mass(), &[4.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 4.0].map(|n| n * one));
        close(pairs.stiffness(), &[1.0, -0.5, -0.5, 0.0, -0.5, 1.0, -0.5, -0.5, 1.0, -0.5, 0.0, -0.5, -0.5, 1.0]);
        close(pairs.thirds(), &[1.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 3.0, 0.0]);
    }
}
