//! Serial, in f64, straight from the formulas: prism by prism, a sum over points of quadrature, scattered to nodes. What everything else
//! is checked against.
//!
//! The stages are those that PyOP2 generated for the helmholtz report. Shaders: scatter.wgsl.

use std::sync::Arc;

use crate::error::Result;
use crate::forcing::AMPLITUDE;
use crate::mesh::Mesh;

/// Nodes of a prism: 2 * vertex of the triangle + 1 at the top.
pub(crate) const NODES: usize = 6;
/// Points of quadrature: 4 * which of two across + 2 * which of two along + which of two upwards.
pub(crate) const POINTS: usize = 8;

/// The functions of the reference prism at the points of quadrature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tables {
    /// Sum to the prism's volume, 1/2.
    pub(crate) weights: [f64; POINTS],
    pub(crate) values: [[f64; NODES]; POINTS],
    /// Along the triangle's two axes, and upwards.
    pub(crate) derivatives: [[[f64; NODES]; 3]; POINTS],
}

impl Tables {
    /// Gauss-Legendre upwards; Gauss-Jacobi and Gauss-Legendre on the triangle, a square with one side shrunk to a point. Exact for
    /// polynomials of degree 2 in the plane times those of degree 3 upwards: all products of these functions.
    pub(crate) fn new() -> Self {
        let half = 1.0 / (2.0 * 3.0_f64.sqrt());
        let legendre = [0.5 - half, 0.5 + half];
        let root = 6.0_f64.sqrt();
        // Of the integral of (1 - t) f(t) from 0 to 1.
        let jacobi = [((4.0 - root) / 10.0, (9.0 + root) / 36.0), ((4.0 + root) / 10.0, (9.0 - root) / 36.0)];
        let mut tables =
            Self { weights: [0.0; POINTS], values: [[0.0; NODES]; POINTS], derivatives: [[[0.0; NODES]; 3]; POINTS] };
        for point in 0..POINTS {
            let across = legendre[point / 4];
            let (eta, weight) = jacobi[point / 2 % 2];
            let zeta = legendre[point % 2];
            let xi = (1.0 - eta) * across;
            tables.weights[point] = weight / 4.0;
            let linear = [1.0 - xi - eta, xi, eta];
            let along = [[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]];
            for vertex in 0..3 {
                for top in 0..2 {
                    let node = 2 * vertex + top;
                    let (upwards, sign) = if top == 1 { (zeta, 1.0) } else { (1.0 - zeta, -1.0) };
                    tables.values[point][node] = linear[vertex] * upwards;
                    tables.derivatives[point][0][node] = along[0][vertex] * upwards;
                    tables.derivatives[point][1][node] = along[1][vertex] * upwards;
                    tables.derivatives[point][2][node] = sign * linear[vertex];
                }
            }
        }
        tables
    }
}

/// A prism's map from the reference prism.
struct Jacobian {
    /// Of the prism's volume over the reference prism's.
    det: f64,
    inverse: [[f64; 3]; 3],
}

impl Jacobian {
    /// From the places of nodes: linear, with columns from node 0 to nodes 2, 4 and 1.
    fn of(at: &[[f64; 3]; NODES]) -> Self {
        let column = |node: usize, axis: usize| at[node][axis] - at[0][axis];
        let j: [[f64; 3]; 3] = std::array::from_fn(|axis| [column(2, axis), column(4, axis), column(1, axis)]);
        let cofactor = |row: usize, column: usize| {
            let (r, s) = ((row + 1) % 3, (row + 2) % 3);
            let (c, d) = ((column + 1) % 3, (column + 2) % 3);
            j[r][c] * j[s][d] - j[r][d] * j[s][c]
        };
        let det = (0..3).map(|row| j[row][0] * cofactor(row, 0)).sum::<f64>();
        Self { det: det.abs(), inverse: std::array::from_fn(|r| std::array::from_fn(|c| cofactor(c, r) / det)) }
    }
}

/// The stages one after the other, on one core: slow, and plain.
#[derive(Clone, Debug)]
pub struct Reference {
    mesh: Arc<Mesh>,
    tables: Tables,
}

impl Reference {
    /// For a mesh.
    #[must_use]
    pub fn new(mesh: impl Into<Arc<Mesh>>) -> Self {
        Self { mesh: mesh.into(), tables: Tables::new() }
    }

    /// That it is for.
    #[must_use]
    pub fn mesh(&self) -> &Arc<Mesh> {
        &self.mesh
    }

    /// `expression_1`: (1 + 12 pi^2) cos(2 pi x) cos(2 pi y) cos(2 pi z) at every node.
    #[must_use]
    pub fn forcing(&self) -> Vec<f64> {
        let mut field = self.zero();
        for (vertex, &[x, y]) in self.mesh.vertices().iter().enumerate() {
            for level in 0..self.mesh.levels() {
                let at = [x, y, self.mesh.z(level)];
                let cosines = at.map(|coordinate| (std::f64::consts::TAU * coordinate).cos());
                field[self.mesh.node(vertex, level)] = AMPLITUDE * cosines[0] * cosines[1] * cosines[2];
            }
        }
        field
    }

    /// `zero_1`.
    #[must_use]
    pub fn zero(&self) -> Vec<f64> {
        vec![0.0; self.mesh.nodes()]
    }

    /// `expression_2`.
    #[must_use]
    pub fn copy(&self, field: &[f64]) -> Vec<f64> {
        field.to_vec()
    }

    /// `rhs_1`: M u.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength).
    pub fn mass(&self, field: &[f64]) -> Result<Vec<f64>> {
        self.mesh.check_field(field.len())?;
        let mut out = self.zero();
        self.prisms(|nodes, jacobian| {
            for point in 0..POINTS {
                let weight = jacobian.det * self.tables.weights[point];
                let values = &self.tables.values[point];
                let here: f64 = (0..NODES).map(|r| field[nodes[r]] * values[r]).sum();
                for j in 0..NODES {
                    out[nodes[j]] += weight * values[j] * here;
                }
            }
        });
        Ok(out)
    }

    /// `rhs`: S w1 + M (w1 - w0), as PyOP2 wrote it out.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength).
    pub fn residual(&self, w0: &[f64], w1: &[f64]) -> Result<Vec<f64>> {
        self.mesh.check_field(w0.len())?;
        self.mesh.check_field(w1.len())?;
        let mut out = self.zero();
        self.prisms(|nodes, jacobian| {
            for point in 0..POINTS {
                let weight = jacobian.det * self.tables.weights[point];
                let values = &self.tables.values[point];
                let gradients = self.gradients(point, jacobian);
                let at = |field: &[f64]| -> f64 { (0..NODES).map(|r| field[nodes[r]] * values[r]).sum() };
                let (w0, w1_here) = (at(w0), at(w1));
                let slope: [f64; 3] = std::array::from_fn(|c| (0..NODES).map(|r| w1[nodes[r]] * gradients[r][c]).sum());
                for j in 0..NODES {
                    let product: f64 = (0..3).map(|c| gradients[j][c] * slope[c]).sum();
                    out[nodes[j]] += weight * (values[j] * w1_here + product - values[j] * w0);
                }
            }
        });
        Ok(out)
    }

    /// `rhs` with both fields the same, as the report runs it: S u.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength).
    pub fn stiffness(&self, field: &[f64]) -> Result<Vec<f64>> {
        self.residual(field, field)
    }

    /// `rhs` with nothing to be taken off: (M + S) u.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength).
    pub fn helmholtz(&self, field: &[f64]) -> Result<Vec<f64>> {
        self.residual(&self.zero(), field)
    }

    /// `lhs`: all of each row of a prism's matrix of M + S, added to the row's node. Gradients cancel, and what is left is the integral
    /// of the node's function: its volume.
    #[must_use]
    pub fn lumped(&self) -> Vec<f64> {
        let mut out = self.zero();
        self.prisms(|nodes, jacobian| {
            let mut matrix = [[0.0; NODES]; NODES];
            for point in 0..POINTS {
                let weight = jacobian.det * self.tables.weights[point];
                let values = &self.tables.values[point];
                let gradients = self.gradients(point, jacobian);
                for j in 0..NODES {
                    for k in 0..NODES {
                        let [a, b] = [gradients[j], gradients[k]];
                        let product = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
                        matrix[j][k] += weight * (values[j] * values[k] + product);
                    }
                }
            }
            for j in 0..NODES {
                for k in 0..NODES {
                    out[nodes[j]] += matrix[j][k];
                }
            }
        });
        out
    }

    /// Of a prism's functions at a point.
    fn gradients(&self, point: usize, jacobian: &Jacobian) -> [[f64; 3]; NODES] {
        let [d0, d1, d2] = &self.tables.derivatives[point];
        let k = &jacobian.inverse;
        std::array::from_fn(|j| std::array::from_fn(|c| k[0][c] * d0[j] + k[1][c] * d1[j] + k[2][c] * d2[j]))
    }

    /// Each prism's nodes and Jacobian, upwards, triangle after triangle.
    fn prisms(&self, mut act: impl FnMut(&[usize; NODES], &Jacobian)) {
        let mesh = &*self.mesh;
        for corners in mesh.triangles() {
            let mut nodes: [usize; NODES] = std::array::from_fn(|j| mesh.node(corners[j / 2] as usize, j % 2));
            for layer in 0..mesh.levels() - 1 {
                let at: [[f64; 3]; NODES] = std::array::from_fn(|j| {
                    let [x, y] = mesh.vertices()[corners[j / 2] as usize];
                    [x, y, mesh.z(layer + j % 2)]
                });
                act(&nodes, &Jacobian::of(&at));
                nodes.iter_mut().for_each(|node| *node += 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_the_reports() {
        let tables = Tables::new();
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-15, "{found}, not {wanted}");
        for point in 0..POINTS {
            close(tables.weights[point], [0.0795103454359941, 0.0454896545640056][point / 2 % 2]);
            close(tables.values[point].iter().sum(), 1.0);
            for derivatives in &tables.derivatives[point] {
                close(derivatives.iter().sum(), 0.0);
            }
        }
        close(tables.weights.iter().sum(), 0.5);
        // The first point: 0.2113248654051871 and 0.1550510257216822.
        let (g, eta) = (0.2113248654051871, 0.1550510257216822);
        let xi = (1.0 - eta) * g;
        close(tables.values[0][0], (1.0 - xi - eta) * (1.0 - g));
        close(tables.values[0][3], xi * g);
        close(tables.values[6][4], 0.6449489742783178 * (1.0 - g));
        close(tables.derivatives[1][1][0], -g);
        close(tables.derivatives[1][2][4], -eta);
    }

    /// All products of two functions and of their derivatives have degree 2 in the plane and 2 upwards.
    #[test]
    fn quadrature_is_exact() {
        let tables = Tables::new();
        for (a, b, c) in (0..=2).flat_map(|a| (0..=2 - a).flat_map(move |b| (0..=3).map(move |c| (a, b, c)))) {
            let sum: f64 = (0..POINTS)
                .map(|point| {
                    let values = &tables.values[point];
                    let (xi, eta) = (values[2] + values[3], values[4] + values[5]);
                    let zeta = values[1] + values[3] + values[5];
                    tables.weights[point] * xi.powi(a) * eta.powi(b) * zeta.powi(c)
                })
                .sum();
            let factorial = |n: i32| (1..=n).product::<i32>();
            let wanted = f64::from(factorial(a) * factorial(b)) / f64::from(factorial(a + b + 2)) / f64::from(c + 1);
            assert!((sum - wanted).abs() < 1e-15, "{a} {b} {c}: {sum}, not {wanted}");
        }
    }
}
