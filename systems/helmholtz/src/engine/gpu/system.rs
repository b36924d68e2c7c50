//! Conjugate gradients on a GPU for a matrix that is stored. Shader: matrix.wgsl.

use std::sync::{Arc, Mutex, PoisonError};

use kernel_host::wgpu::ComputePass;
use kernel_host::{Buffer, Gpu, Kernel, KernelDescriptor};

use super::shaders::{self, Diagonal};
use super::solve::{ConjugateGradients, Scales, too_large};
use super::{GATHERING, rows, written};
use crate::engine::gpu::trust::TRUSTED;
use crate::error::{Error, Result};
use crate::matrix::NodeMatrix;
use crate::mesh::{Mesh, Number};
use crate::solve::{Operator, Solution, SolveOptions};

pub(crate) struct GpuSystem<T: Number> {
    gpu: Gpu,
    mesh: Arc<Mesh>,
    kernel: Kernel,
    offsets: Buffer<u32>,
    neighbours: Buffer<u32>,
    values: Buffer<T>,
    gradients: Mutex<ConjugateGradients<T>>,
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
        let mut scales = vec![T::default(); mesh.nodes()];
        matrix.diagonal(&mut scales)?;
        for scale in &mut scales {
            let value: f64 = (*scale).into();
            *scale = T::from_f64(if value > 0.0 { 1.0 / value } else { 0.0 });
        }
        let scales = Scales { numbers: &scales, of: Diagonal::Nodes };
        let gradients = ConjugateGradients::new(&gpu, &mesh, scales, GATHERING, TRUSTED)?;
        Ok(Self {
            offsets: written(&gpu, "offsets", matrix.pairs().offsets())?,
            neighbours: written(&gpu, "neighbours", matrix.pairs().neighbours())?,
            values: written(&gpu, "values", matrix.values())?,
            gradients: Mutex::new(gradients),
            gpu,
            mesh,
            kernel,
        })
    }

    pub(crate) fn solve(&self, rhs: &[T], options: SolveOptions) -> Result<Solution<T>> {
        let mut gradients = self.gradients.lock().unwrap_or_else(PoisonError::into_inner);
        let group = self.kernel.bind_group(
            &self.gpu,
            &[
                ("params", gradients.params()?),
                ("offsets", self.offsets.binding()?),
                ("neighbours", self.neighbours.binding()?),
                ("values", self.values.binding()?),
                ("field", gradients.p.binding()?),
                ("out", gradients.q.binding()?),
            ],
        )?;
        let grid = rows((self.mesh.nodes() as u32).div_ceil(GATHERING));
        let product = |pass: &mut ComputePass<'_>| Ok(self.kernel.dispatch(pass, "product", &group, grid)?);
        gradients.solve(&self.gpu, rhs, options, &product)
    }
}
