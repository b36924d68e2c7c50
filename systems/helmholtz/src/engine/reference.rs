//! The reference engine: serial, in f64, straight from the formulas. Prism by prism, a sum over
//! points of quadrature is scattered to nodes. All other engines are checked against it.
//!
//! The stages are those that PyOP2 generated for the helmholtz report. Shaders: scatter.wgsl.

use std::sync::Arc;

use crate::error::Result;
use crate::forcing::AMPLITUDE;
use crate::mesh::Mesh;
use crate::quadrature::{NODES, POINTS, Tables};

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

/// The reference engine: all stages on one core, straight from the formulas.
#[derive(Clone, Debug)]
pub struct Reference {
    mesh: Arc<Mesh>,
    tables: Tables,
}

impl Reference {
    /// Makes the reference engine of a mesh.
    #[must_use]
    pub fn new(mesh: impl Into<Arc<Mesh>>) -> Self {
        Self { mesh: mesh.into(), tables: Tables::new() }
    }

    /// Returns the mesh.
    #[must_use]
    pub fn mesh(&self) -> &Arc<Mesh> {
        &self.mesh
    }

    /// Returns `expression_1`: (1 + 12 pi^2) cos(2 pi x) cos(2 pi y) cos(2 pi z) at every node.
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

    /// Returns `zero_1`: a field of zeros.
    #[must_use]
    pub fn zero(&self) -> Vec<f64> {
        vec![0.0; self.mesh.nodes()]
    }

    /// Returns `expression_2`: a copy of a field.
    #[must_use]
    pub fn copy(&self, field: &[f64]) -> Vec<f64> {
        field.to_vec()
    }

    /// Returns `rhs_1`: M u.
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

    /// Returns `rhs`: S w1 + M (w1 - w0), as PyOP2 wrote it.
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

    /// Returns `rhs` with both fields equal, as in the report: S u.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength).
    pub fn stiffness(&self, field: &[f64]) -> Result<Vec<f64>> {
        self.residual(field, field)
    }

    /// Returns `rhs` with w0 = 0: (M + S) u.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength).
    pub fn helmholtz(&self, field: &[f64]) -> Result<Vec<f64>> {
        self.residual(&self.zero(), field)
    }

    /// Returns `lhs`: the row sums of each prism's matrix of M + S, added to the nodes. Gradients
    /// cancel, and the integral of the node's function remains: its volume.
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
