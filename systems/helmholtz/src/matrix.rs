//! A matrix with an entry for each pair of neighbouring nodes. Shader: matrix.wgsl.

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Result, check_memory};
use crate::mesh::{Mesh, Number};
use crate::pairs::Pairs;
use crate::quadrature::{NODES, POINTS, Tables};
use crate::solve::Operator;

/// A sparse matrix on the nodes of a mesh.
///
/// Node (v, l) has an entry for each node (w, l - 1), (w, l) and (w, l + 1) whose vertex w shares a
/// triangle with v. The entries of a pair of vertices and a step of -1, 0 or 1 in level are
/// contiguous along the column, so no column indices are stored, and a GPU reads them coalesced.
#[derive(Clone, Debug)]
pub struct NodeMatrix<T: Number> {
    mesh: Arc<Mesh>,
    pairs: Arc<Pairs>,
    /// (3 * pair + step + 1) * levels + level.
    values: Vec<T>,
    /// Whether no coefficient is negative.
    is_definite: bool,
}

/// Compressed sparse rows with ascending columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    /// Where each row begins, followed by the number of entries.
    pub offsets: Vec<u64>,
    /// The column of each entry.
    pub columns: Vec<u64>,
    /// The entries.
    pub values: Vec<f64>,
}

impl NodeMatrix<f64> {
    /// Assembles the integrals of `diffusion` grad u . grad v + `reaction` u v by quadrature. The
    /// coefficients are linear between nodes, and the quadrature is exact for them.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength) if a coefficient has not one number per
    /// node.
    pub fn assemble(mesh: impl Into<Arc<Mesh>>, diffusion: &[f64], reaction: &[f64]) -> Result<Self> {
        let mesh = mesh.into();
        check_memory(Self::bytes(&mesh), "the matrix")?;
        let pairs = Arc::new(Pairs::new(&mesh));
        mesh.check_field(diffusion.len())?;
        mesh.check_field(reaction.len())?;
        let tables = Tables::new();
        let mut values = vec![0.0; 3 * pairs.len() * mesh.levels()];
        rows_of(&pairs, mesh.levels(), &mut values).into_par_iter().enumerate().for_each(|(vertex, row)| {
            let rows = Rows { mesh: &mesh, tables: &tables, diffusion, reaction };
            rows.add(vertex, &pairs.neighbours()[pairs.range(vertex)], row);
        });
        let is_definite = diffusion.iter().chain(reaction).all(|&value| value >= 0.0);
        Ok(Self { mesh, pairs, values, is_definite })
    }

    /// The bytes of the entries, roughly. A vertex has a pair for each corner of its triangles and
    /// one with itself, and most pairs are in two triangles.
    pub(crate) fn bytes(mesh: &Mesh) -> u128 {
        (mesh.vertices().len() + 3 * mesh.triangles().len()) as u128 * 24 * mesh.levels() as u128
    }

    /// Returns the matrix as compressed sparse rows, without the entries beyond the ends of
    /// columns.
    #[must_use]
    pub fn to_csr(&self) -> Csr {
        let levels = self.mesh.levels();
        let mut csr = Csr { offsets: vec![0], columns: Vec::new(), values: Vec::new() };
        for node in 0..self.mesh.nodes() {
            let (vertex, level) = (node / levels, node % levels);
            for pair in self.pairs.range(vertex) {
                for step in 0..3 {
                    let Some(other) = (level + step).checked_sub(1).filter(|&other| other < levels) else { continue };
                    csr.columns.push((self.pairs.neighbours()[pair] as usize * levels + other) as u64);
                    csr.values.push(self.values[(3 * pair + step) * levels + level]);
                }
            }
            csr.offsets.push(csr.columns.len() as u64);
        }
        csr
    }

    /// Fixes nodes: their rows and columns are cleared except for the diagonal, which becomes that
    /// of the preconditioner, and `rhs` is adapted so that the solution is `value` at these nodes.
    /// The matrix stays symmetric, and a definite matrix keeps its diagonal.
    pub(crate) fn fix(&mut self, fixed: &[Option<f64>], rhs: &mut [f64]) -> Result<()> {
        let levels = self.mesh.levels();
        let mut diagonal = vec![0.0; self.mesh.nodes()];
        self.preconditioner(&mut diagonal)?;
        let pairs = &self.pairs;
        let rows = rows_of(pairs, levels, &mut self.values);
        rows.into_par_iter().zip(rhs.par_chunks_mut(levels)).enumerate().for_each(|(vertex, (row, rhs))| {
            for (place, pair) in pairs.range(vertex).enumerate() {
                let other = pairs.neighbours()[pair] as usize;
                for step in 0..3 {
                    let is_own = other == vertex && step == 1;
                    for level in 0..levels {
                        let Some(from) = (level + step).checked_sub(1).filter(|&from| from < levels) else { continue };
                        let entry = &mut row[(3 * place + step) * levels + level];
                        let node = vertex * levels + level;
                        match (fixed[node], fixed[other * levels + from]) {
                            (Some(value), _) if is_own => {
                                *entry = diagonal[node];
                                rhs[level] = *entry * value;
                            }
                            (Some(_), _) => *entry = 0.0,
                            (None, Some(value)) => {
                                rhs[level] -= *entry * value;
                                *entry = 0.0;
                            }
                            (None, None) => {}
                        }
                    }
                }
            }
        });
        Ok(())
    }

    /// Rounds the entries to another number type.
    #[must_use]
    pub fn rounded<T: Number>(&self) -> NodeMatrix<T> {
        let values = self.values.par_iter().map(|&value| T::from_f64(value)).collect();
        let (mesh, pairs) = (Arc::clone(&self.mesh), Arc::clone(&self.pairs));
        NodeMatrix { mesh, pairs, values, is_definite: self.is_definite }
    }
}

impl<T: Number> NodeMatrix<T> {
    /// Returns the mesh.
    #[must_use]
    pub fn mesh(&self) -> &Arc<Mesh> {
        &self.mesh
    }

    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }
}

impl<T: Number> Operator<T> for NodeMatrix<T> {
    fn len(&self) -> usize {
        self.mesh.nodes()
    }

    fn apply(&self, field: &[T], out: &mut [T]) -> Result<()> {
        self.mesh.check_field(field.len())?;
        self.mesh.check_field(out.len())?;
        let levels = self.mesh.levels();
        out.par_chunks_mut(levels).enumerate().for_each(|(vertex, out)| {
            out.fill(T::default());
            for pair in self.pairs.range(vertex) {
                let other = &field[self.pairs.neighbours()[pair] as usize * levels..][..levels];
                let entries = &self.values[3 * pair * levels..][..3 * levels];
                let (below, rest) = entries.split_at(levels);
                let (here, above) = rest.split_at(levels);
                for ((out, &entry), &u) in out.iter_mut().zip(here).zip(other) {
                    *out += entry * u;
                }
                for ((out, &entry), &u) in out[1..].iter_mut().zip(&below[1..]).zip(other) {
                    *out += entry * u;
                }
                for ((out, &entry), &u) in out.iter_mut().zip(above).zip(&other[1..]) {
                    *out += entry * u;
                }
            }
        });
        Ok(())
    }

    fn is_definite(&self) -> bool {
        self.is_definite
    }

    fn preconditioner(&self, out: &mut [T]) -> Result<()> {
        self.mesh.check_field(out.len())?;
        let levels = self.mesh.levels();
        out.par_chunks_mut(levels).enumerate().for_each(|(vertex, out)| {
            out.fill(T::default());
            let range = self.pairs.range(vertex);
            if !self.is_definite {
                let rows = &self.values[3 * levels * range.start..3 * levels * range.end];
                let size = |entry: T| if entry < T::default() { -entry } else { entry };
                rows.chunks(levels).for_each(|row| {
                    out.iter_mut().zip(row).for_each(|(out, &entry)| *out += size(entry));
                });
                return;
            }
            let own = range.into_iter().find(|&pair| self.pairs.neighbours()[pair] as usize == vertex);
            if let Some(own) = own {
                out.copy_from_slice(&self.values[(3 * own + 1) * levels..][..levels]);
            }
        });
        Ok(())
    }
}

/// The entries of each vertex, which are contiguous.
fn rows_of<'a, T>(pairs: &Pairs, levels: usize, mut values: &'a mut [T]) -> Vec<&'a mut [T]> {
    let offsets = pairs.offsets().windows(2);
    offsets
        .map(|bounds| {
            let count = 3 * (bounds[1] - bounds[0]) as usize * levels;
            let (row, rest) = std::mem::take(&mut values).split_at_mut(count);
            values = rest;
            row
        })
        .collect()
}

/// The rows of a vertex, as sums over the prisms around it.
struct Rows<'a> {
    mesh: &'a Mesh,
    tables: &'a Tables,
    diffusion: &'a [f64],
    reaction: &'a [f64],
}

impl Rows<'_> {
    fn add(&self, vertex: usize, neighbours: &[u32], row: &mut [f64]) {
        let levels = self.mesh.levels();
        for (triangle, own) in self.mesh.triangles_of(vertex) {
            let corners = self.mesh.triangles()[triangle];
            // Of the pairs of this vertex.
            let places = corners.map(|corner| neighbours.binary_search(&corner).unwrap_or_default());
            let (volumes, gradients) = self.points(triangle);
            for layer in 0..levels - 1 {
                let nodes: [usize; NODES] =
                    std::array::from_fn(|k| self.mesh.node(corners[k / 2] as usize, layer + k % 2));
                for point in 0..POINTS {
                    let values = &self.tables.values[point];
                    let at = |field: &[f64]| (0..NODES).map(|k| field[nodes[k]] * values[k]).sum::<f64>();
                    let (diffusion, reaction) = (at(self.diffusion), at(self.reaction));
                    let gradients = &gradients[point];
                    for top in 0..2 {
                        let j = 2 * own + top;
                        for k in 0..NODES {
                            let slopes: f64 = (0..3).map(|axis| gradients[j][axis] * gradients[k][axis]).sum();
                            let entry = volumes[point] * (diffusion * slopes + reaction * values[j] * values[k]);
                            let step = 1 + k % 2 - top;
                            row[(3 * places[k / 2] + step) * levels + layer + top] += entry;
                        }
                    }
                }
            }
        }
    }

    /// The volume of each point of quadrature and the gradients of the functions there: the same in
    /// every layer.
    fn points(&self, triangle: usize) -> ([f64; POINTS], [[[f64; 3]; NODES]; POINTS]) {
        let plane = self.mesh.plane(triangle);
        let height = self.mesh.height();
        let volumes = self.tables.weights.map(|weight| 2.0 * plane.area * height * weight);
        let gradients = std::array::from_fn(|point| {
            std::array::from_fn(|k| {
                // The values at bottom and top sum to the linear function of the triangle.
                let [bottom, top] = [2 * (k / 2), 2 * (k / 2) + 1].map(|node| self.tables.values[point][node]);
                let upwards = self.tables.values[point][k] / (bottom + top);
                let [x, y] = plane.gradients[k / 2];
                [x * upwards, y * upwards, self.tables.derivatives[point][2][k] / height]
            })
        });
        (volumes, gradients)
    }
}
