//! A problem with coefficients, sources and boundary conditions of the user's.

use std::sync::Arc;

use rayon::prelude::*;

use crate::boundary::{Boundary, Faces};
use crate::error::{Error, Result, check_memory};
use crate::expression::Expression;
use crate::matrix::NodeMatrix;
use crate::mesh::Mesh;
use crate::quadrature::{NODES, POINTS, Tables};

/// A function of the place: a number, an expression, or a number per node. Between nodes it is
/// linear.
#[derive(Clone, Debug)]
pub enum Values {
    /// The same number everywhere.
    Constant(f64),
    /// An expression in x, y and z, which is evaluated at the nodes.
    Expression(Expression),
    /// A number per node.
    Field(Vec<f64>),
}

/// A condition on a part of the boundary.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The part; see [`Boundary`].
    pub part: String,
    /// u on a Dirichlet boundary, or `diffusion` times the normal derivative on a Neumann boundary.
    pub values: Values,
}

/// The problem -div(`diffusion` grad u) + `reaction` u = `source`.
///
/// The boundary is natural, with a normal derivative of zero, where no condition is given. Where
/// two Dirichlet conditions meet, the later one holds. Neumann conditions add up.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Above 0 at every node.
    pub diffusion: Values,
    /// Of either sign. The matrix may be indefinite if it is negative at a node.
    pub reaction: Values,
    /// The right-hand side.
    pub source: Values,
    /// Parts with a given u.
    pub dirichlet: Vec<Condition>,
    /// Parts with a given flux into the mesh.
    pub neumann: Vec<Condition>,
}

impl Default for Problem {
    /// Returns -div grad u + u = 0 with natural boundaries.
    fn default() -> Self {
        Self {
            diffusion: Values::Constant(1.0),
            reaction: Values::Constant(1.0),
            source: Values::Constant(0.0),
            dirichlet: Vec::new(),
            neumann: Vec::new(),
        }
    }
}

/// An assembled problem: the equations of the nodes.
#[derive(Clone, Debug)]
pub struct System {
    /// The symmetric matrix. It is positive definite if no reaction is negative.
    pub matrix: Arc<NodeMatrix<f64>>,
    /// The right-hand side.
    pub rhs: Vec<f64>,
    /// The number of nodes with a Dirichlet condition.
    pub fixed: usize,
}

impl Values {
    /// Returns the value at each node.
    ///
    /// # Errors
    /// [`Error::FieldLength`].
    pub fn at_nodes(&self, mesh: &Mesh) -> Result<Vec<f64>> {
        match self {
            Self::Constant(value) => Ok(vec![*value; mesh.nodes()]),
            Self::Field(field) => {
                mesh.check_field(field.len())?;
                Ok(field.clone())
            }
            Self::Expression(expression) => {
                let mut field = vec![0.0; mesh.nodes()];
                field.par_chunks_mut(mesh.levels()).zip(mesh.vertices()).for_each(|(column, &[x, y])| {
                    let mut stack = Vec::new();
                    for (level, value) in column.iter_mut().enumerate() {
                        *value = expression.evaluate([x, y, mesh.z(level)], &mut stack);
                    }
                });
                Ok(field)
            }
        }
    }

    /// The values at the nodes, all of them finite and within `wanted`. Nodes without prisms count
    /// for nothing.
    fn checked(
        &self,
        mesh: &Mesh,
        name: impl FnOnce() -> String,
        wanted: &'static str,
        is_valid: impl Fn(f64) -> bool + Sync,
    ) -> Result<Vec<f64>> {
        let field = self.at_nodes(mesh)?;
        let levels = mesh.levels();
        let is_used = |node: usize| mesh.triangles_of(node / levels).len() > 0;
        let is_bad = |(node, &value): (usize, &f64)| !(value.is_finite() && is_valid(value)) && is_used(node);
        match field.par_iter().enumerate().find_first(|&at| is_bad(at)) {
            None => Ok(field),
            Some((node, &value)) => {
                let [x, y] = mesh.vertices()[node / levels];
                Err(Error::Value { name: name(), value, node, at: [x, y, mesh.z(node % levels)], wanted })
            }
        }
    }
}

impl Problem {
    /// The bytes that a problem and its solve need on the host, roughly.
    fn bytes(mesh: &Mesh) -> u128 {
        // The matrix is in f64 and, for mixed precision, in f32 too.
        NodeMatrix::bytes(mesh) * 3 / 2 + 14 * 8 * mesh.nodes() as u128
    }

    /// Assembles the equations.
    ///
    /// # Errors
    /// [`Error::FieldLength`], [`Error::Value`], [`Error::Part`], [`Error::Singular`].
    pub fn assemble(&self, mesh: &Arc<Mesh>, boundary: &Boundary) -> Result<System> {
        check_memory(Self::bytes(mesh), "the matrix and the fields of a problem")?;
        let finite = "finite numbers are needed";
        let diffusion =
            self.diffusion.checked(mesh, || "the diffusion".to_owned(), "it must be above 0", |value| value > 0.0)?;
        let reaction = self.reaction.checked(mesh, || "the reaction".to_owned(), finite, |_| true)?;
        if self.dirichlet.is_empty() && reaction.iter().all(|&value| value == 0.0) {
            return Err(Error::Singular);
        }
        let source = self.source.checked(mesh, || "the right-hand side".to_owned(), finite, |_| true)?;
        let mut rhs = load(mesh, &source);
        for Condition { part, values } in &self.neumann {
            let faces = boundary.faces(part)?;
            let flux = values.checked(mesh, || format!("the flux on `{part}`"), finite, |_| true)?;
            add_flux(mesh, &faces, &flux, &mut rhs);
        }
        let mut fixed: Vec<Option<f64>> = vec![None; mesh.nodes()];
        for Condition { part, values } in &self.dirichlet {
            let nodes = nodes_of(mesh, &boundary.faces(part)?);
            let given = values.at_nodes(mesh)?;
            for node in nodes {
                let value = given[node];
                if !value.is_finite() {
                    let [x, y] = mesh.vertices()[node / mesh.levels()];
                    let at = [x, y, mesh.z(node % mesh.levels())];
                    return Err(Error::Value { name: format!("u on `{part}`"), value, node, at, wanted: finite });
                }
                fixed[node] = Some(value);
            }
        }
        let mut matrix = NodeMatrix::assemble(Arc::clone(mesh), &diffusion, &reaction)?;
        let count = fixed.iter().flatten().count();
        if count > 0 {
            matrix.fix(&fixed, &mut rhs)?;
        }
        Ok(System { matrix: Arc::new(matrix), rhs, fixed: count })
    }
}

/// The integrals of a field times each node's function.
fn load(mesh: &Mesh, field: &[f64]) -> Vec<f64> {
    let tables = Tables::new();
    let levels = mesh.levels();
    let mut rhs = vec![0.0; mesh.nodes()];
    rhs.par_chunks_mut(levels).enumerate().for_each(|(vertex, column)| {
        for (triangle, own) in mesh.triangles_of(vertex) {
            let corners = mesh.triangles()[triangle];
            let volume = 2.0 * mesh.plane(triangle).area * mesh.height();
            for layer in 0..levels - 1 {
                let node = |k: usize| mesh.node(corners[k / 2] as usize, layer + k % 2);
                for point in 0..POINTS {
                    let values = &tables.values[point];
                    let here: f64 = (0..NODES).map(|k| field[node(k)] * values[k]).sum();
                    for top in 0..2 {
                        column[layer + top] += volume * tables.weights[point] * values[2 * own + top] * here;
                    }
                }
            }
        }
    });
    rhs
}

/// Adds the integrals of a flux times each node's function over faces. The flux is linear between
/// nodes.
fn add_flux(mesh: &Mesh, faces: &Faces<'_>, flux: &[f64], rhs: &mut [f64]) {
    let last = mesh.levels() - 1;
    for (level, _) in [(0, faces.bottom), (last, faces.top)].into_iter().filter(|&(_, is_part)| is_part) {
        for (triangle, corners) in mesh.triangles().iter().enumerate() {
            let area = mesh.plane(triangle).area;
            let nodes = corners.map(|vertex| mesh.node(vertex as usize, level));
            let sum: f64 = nodes.iter().map(|&node| flux[node]).sum();
            for node in nodes {
                rhs[node] += area / 12.0 * (sum + flux[node]);
            }
        }
    }
    for &[a, b] in faces.edges {
        let [p, q] = [a, b].map(|vertex| mesh.vertices()[vertex as usize]);
        let area = (q[0] - p[0]).hypot(q[1] - p[1]) * mesh.height();
        for layer in 0..last {
            // A third on the same end of an interval and a sixth on the other one, in both
            // directions.
            for (edge, top) in [(a, 0), (a, 1), (b, 0), (b, 1)] {
                let node = mesh.node(edge as usize, layer + top);
                for (other, other_top) in [(a, 0), (a, 1), (b, 0), (b, 1)] {
                    let part = |is_same: bool| if is_same { 1.0 / 3.0 } else { 1.0 / 6.0 };
                    let weight = part(edge == other) * part(top == other_top);
                    rhs[node] += area * weight * flux[mesh.node(other as usize, layer + other_top)];
                }
            }
        }
    }
}

/// The nodes of faces; a node of several faces comes several times.
fn nodes_of(mesh: &Mesh, faces: &Faces<'_>) -> Vec<usize> {
    let levels = mesh.levels();
    let mut nodes = Vec::new();
    for (level, _) in [(0, faces.bottom), (levels - 1, faces.top)].into_iter().filter(|&(_, is_part)| is_part) {
        nodes.extend(mesh.triangles().as_flattened().iter().map(|&vertex| mesh.node(vertex as usize, level)));
    }
    for &vertex in faces.edges.as_flattened() {
        nodes.extend((0..levels).map(|level| mesh.node(vertex as usize, level)));
    }
    nodes
}
