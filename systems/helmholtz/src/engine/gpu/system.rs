//! Solves on a GPU with a stored matrix. Shader: matrix.wgsl.

use std::sync::{Arc, Mutex, PoisonError};

use kernel_host::wgpu::ComputePass;
use kernel_host::{Buffer, Gpu, Kernel, KernelDescriptor};

use super::shaders::{self, Diagonal, Method};
use super::solve::{IterativeSolver, Scales, too_large};
use super::{GATHERING, rows, written};
use crate::engine::gpu::trust::TRUSTED;
use crate::error::{Error, Result};
use crate::matrix::NodeMatrix;
use crate::mesh::{Mesh, Number};
use crate::solve::{Operator, Solution, SolveOptions, inverse};

pub(crate) struct GpuSystem<T: Number> {
    gpu: Gpu,
    mesh: Arc<Mesh>,
    kernel: Kernel,
    offsets: Buffer<u32>,
    neighbours: Buffer<u32>,
    values: Buffer<T>,
    solver: Mutex<IterativeSolver<T>>,
}

impl<T: Number> GpuSystem<T> {
    pub(crate) fn new(gpu: Gpu, matrix: &NodeMatrix<T>) -> Result<Self> {
        if !gpu.has(T::PRECISION.required_features()) {
            return Err(Error::NoF64 { adapter: gpu.name().to_owned() });
        }
        let limits = gpu.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let mesh = Arc::clone(matrix.mesh());
        if size_of_val(matrix.values()) as u64 > most || matrix.values().len() > u32::MAX as usize {
            return Err(too_large());
        }
        let kernel = Kernel::build(
            &gpu,
            &KernelDescriptor {
                source: &shaders::matrix::<T>(),
                entry_points: &[],
                constants: &[("WORKGROUP_SIZE", GATHERING.into())],
                checks: TRUSTED,
            },
        )?;
        let scales = Scales { numbers: &inverse(matrix)?, of: Diagonal::Nodes };
        let method = if matrix.is_definite() { Method::ConjugateGradients } else { Method::Minres };
        let solver = IterativeSolver::new(&gpu, &mesh, method, scales, GATHERING, TRUSTED)?;
        Ok(Self {
            offsets: written(&gpu, "offsets", matrix.pairs().offsets())?,
            neighbours: written(&gpu, "neighbours", matrix.pairs().neighbours())?,
            values: written(&gpu, "values", matrix.values())?,
            solver: Mutex::new(solver),
            gpu,
            mesh,
            kernel,
        })
    }

    pub(crate) fn solve(&self, rhs: &[T], options: SolveOptions) -> Result<Solution<T>> {
        let mut solver = self.solver.lock().unwrap_or_else(PoisonError::into_inner);
        let group = self.kernel.bind_group(
            &self.gpu,
            &[
                ("params", solver.params()?),
                ("offsets", self.offsets.binding()?),
                ("neighbours", self.neighbours.binding()?),
                ("values", self.values.binding()?),
                ("field", solver.p.binding()?),
                ("out", solver.q.binding()?),
            ],
        )?;
        let grid = rows((self.mesh.nodes() as u32).div_ceil(GATHERING));
        let product = |pass: &mut ComputePass<'_>| Ok(self.kernel.dispatch(pass, "product", &group, grid)?);
        solver.solve(&self.gpu, rhs, options, &product)
    }
}
