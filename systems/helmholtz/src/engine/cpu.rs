//! All cores: each gathers columns of nodes from the columns around them. Shader: gather.wgsl.

use std::sync::Arc;

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use crate::engine::Action;
use crate::error::{Error, Result};
use crate::forcing::{AMPLITUDE, level_factors, vertex_factors};
use crate::mesh::{Mesh, Number};
use crate::pairs::Pairs;
use crate::solve::Operator;

/// Nodes that a thread takes at a time, at least: some 20 microseconds of work.
const TOGETHER: usize = 1 << 14;

/// The CPU engine: assembles on all cores of rayon's pool, in f32 or f64.
///
/// The value of a node is a sum over the pairs of its vertex in ascending order, and then over
/// three levels. No two threads write the same node, and all operations are rounded sums and
/// products. The bits therefore depend neither on the number of threads nor on the machine.
#[derive(Clone, Debug)]
pub struct CpuEngine<T: Number> {
    mesh: Arc<Mesh>,
    pairs: Arc<Pairs>,
    /// Of each pair, mass and stiffness.
    weights: Vec<[T; 2]>,
    /// A sixth of a layer's height.
    sixth: T,
    /// 1 over a layer's height.
    inverse: T,
}

impl<T: Number> CpuEngine<T> {
    /// Makes the engine of a mesh and finds its pairs.
    #[must_use]
    pub fn new(mesh: impl Into<Arc<Mesh>>) -> Self {
        let mesh = mesh.into();
        let pairs = Arc::new(Pairs::new(&mesh));
        Self::with_pairs(mesh, pairs)
    }

    /// With its pairs, where they have been found.
    pub(crate) fn with_pairs(mesh: Arc<Mesh>, pairs: Arc<Pairs>) -> Self {
        let weights = pairs.mass().iter().zip(pairs.stiffness());
        let weights = weights.map(|(&mass, &stiffness)| [T::from_f64(mass), T::from_f64(stiffness)]).collect();
        let (sixth, inverse) = (T::from_f64(mesh.height() / 6.0), T::from_f64(1.0 / mesh.height()));
        Self { mesh, pairs, weights, sixth, inverse }
    }

    /// Returns the mesh.
    #[must_use]
    pub fn mesh(&self) -> &Arc<Mesh> {
        &self.mesh
    }

    /// Returns the pairs.
    #[must_use]
    pub fn pairs(&self) -> &Arc<Pairs> {
        &self.pairs
    }

    /// Returns a field of zeros.
    #[must_use]
    pub fn zero(&self) -> Vec<T> {
        vec![T::default(); self.mesh.nodes()]
    }

    /// Computes the forcing at every node: (1 + 12 pi^2) cos(2 pi x) cos(2 pi y) cos(2 pi z). It is
    /// the product of a factor of the vertex and a factor of the level, both computed in f64.
    ///
    /// # Errors
    /// [`Error::FieldLength`].
    pub fn forcing(&self, out: &mut [T]) -> Result<()> {
        self.mesh.check_field(out.len())?;
        let vertices: Vec<T> = vertex_factors(&self.mesh);
        let levels: Vec<T> = level_factors(&self.mesh, AMPLITUDE);
        self.columns(out, |first, columns| {
            for (column, &factor) in columns.chunks_exact_mut(levels.len()).zip(&vertices[first..]) {
                column.iter_mut().zip(&levels).for_each(|(out, &level)| *out = factor * level);
            }
        });
        Ok(())
    }

    /// Computes the product of a matrix of the problem with a field.
    ///
    /// # Errors
    /// [`Error::FieldLength`].
    pub fn act(&self, action: Action, field: &[T], out: &mut [T]) -> Result<()> {
        self.mesh.check_field(field.len())?;
        self.mesh.check_field(out.len())?;
        let arch = Arch::new();
        self.columns(out, |first, columns| arch.dispatch(Part { engine: self, action, field, first, columns }));
        Ok(())
    }

    /// Computes the lumped volumes: the integral of each node's function, which is the row sum of
    /// M. The report's `lhs`.
    ///
    /// # Errors
    /// [`Error::FieldLength`].
    pub fn lumped(&self, out: &mut [T]) -> Result<()> {
        self.mesh.check_field(out.len())?;
        let thirds = self.pairs.thirds();
        self.columns(out, |first, columns| {
            for (column, &third) in columns.chunks_exact_mut(self.mesh.levels()).zip(&thirds[first..]) {
                column.fill(T::from_f64(third * self.mesh.height()));
                // Half a layer, not two halves.
                let half = T::from_f64(third * self.mesh.height() / 2.0);
                let last = column.len() - 1;
                (column[0], column[last]) = (half, half);
            }
        });
        Ok(())
    }

    /// Computes the diagonal of a matrix of the problem.
    ///
    /// # Errors
    /// [`Error::FieldLength`].
    pub fn diagonal(&self, action: Action, out: &mut [T]) -> Result<()> {
        self.mesh.check_field(out.len())?;
        let height = self.mesh.height();
        let [mass, stiffness] = [self.pairs.mass(), self.pairs.stiffness()];
        self.columns(out, |first, columns| {
            for (vertex, column) in (first..).zip(columns.chunks_exact_mut(self.mesh.levels())) {
                let own = self.pairs.range(vertex).find(|&pair| self.pairs.neighbours()[pair] as usize == vertex);
                let [m, k] = own.map_or([0.0; 2], |own| [mass[own], stiffness[own]]);
                // Of a level with a layer on one side, and half of that with two.
                let sums = [m * height / 3.0, k * height / 3.0 + m / height];
                let half = match action {
                    Action::Mass => sums[0],
                    Action::Stiffness => sums[1],
                    Action::Helmholtz => sums[0] + sums[1],
                };
                column.fill(T::from_f64(2.0 * half));
                let last = column.len() - 1;
                (column[0], column[last]) = (T::from_f64(half), T::from_f64(half));
            }
        });
        Ok(())
    }

    /// Whole columns at a time, with the vertex of the first.
    fn columns(&self, out: &mut [T], make: impl Fn(usize, &mut [T]) + Sync) {
        let levels = self.mesh.levels();
        let together = TOGETHER.div_ceil(levels);
        out.par_chunks_mut(together * levels).enumerate().for_each(|(chunk, columns)| make(chunk * together, columns));
    }
}

impl<T: Number> Operator<T> for CpuEngine<T> {
    fn len(&self) -> usize {
        self.mesh.nodes()
    }

    fn apply(&self, field: &[T], out: &mut [T]) -> Result<(), Error> {
        self.act(Action::Helmholtz, field, out)
    }

    fn preconditioner(&self, out: &mut [T]) -> Result<(), Error> {
        CpuEngine::diagonal(self, Action::Helmholtz, out)
    }
}

/// Columns that lie one after the other.
struct Part<'a, T: Number> {
    engine: &'a CpuEngine<T>,
    action: Action,
    field: &'a [T],
    /// The vertex of the first.
    first: usize,
    columns: &'a mut [T],
}

/// Everything below is `inline(always)`: only what is inlined here is compiled for this machine's
/// vectors.
impl<T: Number> NullaryFnOnce for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let levels = self.engine.mesh.levels();
        let mut scratch = vec![T::default(); 2 * levels];
        let (m, k) = scratch.split_at_mut(levels);
        for (vertex, column) in (self.first..).zip(self.columns.chunks_exact_mut(levels)) {
            m.fill(T::default());
            match self.action {
                Action::Mass => {
                    self.engine.gather_mass(self.field, vertex, m);
                    self.engine.upwards_mass(m, column);
                }
                Action::Stiffness => {
                    k.fill(T::default());
                    self.engine.gather_both(self.field, vertex, m, k);
                    self.engine.upwards_both(m, k, column);
                }
                Action::Helmholtz => {
                    k.fill(T::default());
                    self.engine.gather_both(self.field, vertex, m, k);
                    k.iter_mut().zip(&*m).for_each(|(k, &m)| *k += m);
                    self.engine.upwards_both(m, k, column);
                }
            }
        }
    }
}

impl<T: Number> CpuEngine<T> {
    /// m x u of a column.
    #[inline(always)]
    fn gather_mass(&self, field: &[T], vertex: usize, m: &mut [T]) {
        for pair in self.pairs.range(vertex) {
            let [mass, _] = self.weights[pair];
            for (m, &u) in m.iter_mut().zip(self.column(field, self.pairs.neighbours()[pair])) {
                *m += mass * u;
            }
        }
    }

    /// m x u and k x u of a column. Rows of k sum to 0, so that differences to the column itself do
    /// as well, and are exactly 0 where the field is constant.
    #[inline(always)]
    fn gather_both(&self, field: &[T], vertex: usize, m: &mut [T], k: &mut [T]) {
        let own = self.column(field, vertex as u32);
        for pair in self.pairs.range(vertex) {
            let [mass, stiffness] = self.weights[pair];
            let other = self.column(field, self.pairs.neighbours()[pair]);
            for (((m, k), &u), &own) in m.iter_mut().zip(k.iter_mut()).zip(other).zip(own) {
                *m += mass * u;
                *k += stiffness * (u - own);
            }
        }
    }

    #[inline(always)]
    fn column<'a>(&self, field: &'a [T], vertex: u32) -> &'a [T] {
        let levels = self.mesh.levels();
        &field[vertex as usize * levels..][..levels]
    }

    /// Mz m: a sixth of the height times 1, 4, 1; 2, 1 at the ends.
    #[inline(always)]
    fn upwards_mass(&self, m: &[T], out: &mut [T]) {
        let (last, sixth) = (m.len() - 1, self.sixth);
        for (out, (below, (here, above))) in out[1..last].iter_mut().zip(m.iter().zip(m[1..].iter().zip(&m[2..]))) {
            *out = sixth * (*below + *above + four(*here));
        }
        out[0] = sixth * (m[0] + m[0] + m[1]);
        out[last] = sixth * (m[last] + m[last] + m[last - 1]);
    }

    /// Mz k + Sz m: the latter 1 over the height times -1, 2, -1; 1, -1 at the ends.
    #[inline(always)]
    fn upwards_both(&self, m: &[T], k: &[T], out: &mut [T]) {
        let last = m.len() - 1;
        let (sixth, inverse) = (self.sixth, self.inverse);
        let inner = out[1..last].iter_mut().zip(m.iter().zip(m[1..].iter().zip(&m[2..])));
        for ((out, (m0, (m1, m2))), (k0, (k1, k2))) in inner.zip(k.iter().zip(k[1..].iter().zip(&k[2..]))) {
            *out = sixth * (*k0 + *k2 + four(*k1)) + inverse * ((*m1 - *m0) + (*m1 - *m2));
        }
        out[0] = sixth * (k[0] + k[0] + k[1]) + inverse * (m[0] - m[1]);
        out[last] = sixth * (k[last] + k[last] + k[last - 1]) + inverse * (m[last] - m[last - 1]);
    }
}

#[inline(always)]
fn four<T: Number>(value: T) -> T {
    let twice = value + value;
    twice + twice
}
