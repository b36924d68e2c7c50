//! Conjugate gradients on a GPU. Shader: conjugate_gradients.wgsl.

use kernel_host::wgpu::{self, ComputePass};
use kernel_host::{Buffer, Kernel, KernelDescriptor, Readback};
use rayon::prelude::*;

use super::shaders;
use super::{GATHERING, GpuEngine, SERVING, storage, written};
use crate::error::{Error, Result};
use crate::mesh::Number;
use crate::solve::{Solution, SolveOptions};

/// Iterations that are handed over at once.
const ITERATIONS: usize = 16;
/// Workgroups of a step along fields; a sum is of as many parts.
const WORKGROUPS: u32 = 512;
/// Where the squares of residuals begin in the solver's state, and what is before them: as in shaders/conjugate_gradients.wgsl.
const HISTORY: usize = 8;
const LIMIT: usize = 3;
const DONE: usize = 4;
const ITERATED: usize = 5;
const DEFECT: usize = 6;
const MOST: usize = 7;

impl<T: Number> GpuEngine<T> {
    /// Conjugate gradients on the device; products by gather, whatever the strategy.
    pub(crate) fn solve(&self, rhs: &[T], options: SolveOptions) -> Result<Solution<T>> {
        let [window] = &self.windows[..] else {
            let what =
                "the fields of a solve have to fit on the GPU at once: fewer levels or vertices, or the CPU engine";
            return Err(Error::TooLarge { what: what.to_owned() });
        };
        let gpu = &self.gpu;
        let mut workspace = self.workspace();
        self.prepare(&mut workspace, window, Some(rhs))?;
        let kernel = Kernel::build(
            gpu,
            &KernelDescriptor {
                source: &shaders::conjugate_gradients::<T>(),
                entry_points: &[],
                constants: &[
                    ("WORKGROUP_SIZE", self.settings.workgroup_size.unwrap_or(GATHERING).into()),
                    ("WORKGROUPS", WORKGROUPS.into()),
                ],
                checks: self.settings.checks,
            },
        )?;
        let count = self.mesh.nodes();
        let mut q = Buffer::<T>::new("q", storage());
        q.reserve(gpu, count)?;
        let scales = written(gpu, "scales", &self.scales())?;
        let partials = written(gpu, "partials", &vec![[T::default(); 2]; WORKGROUPS as usize])?;
        let most = options.iterations.min(1 << 22);
        let mut state = vec![T::default(); HISTORY + most + 1];
        state[LIMIT] = T::from_f64(options.tolerance * options.tolerance);
        state[MOST] = T::from_f64(most as f64);
        let state = written(gpu, "state", &state)?;
        let [b, u, r, p] = &workspace.fields;
        let group = kernel.bind_group(
            gpu,
            &[
                ("params", workspace.params.binding()?),
                ("rhs", b.binding()?),
                ("scales", scales.binding()?),
                ("u", u.binding()?),
                ("r", r.binding()?),
                ("p", p.binding()?),
                ("q", q.binding()?),
                ("partials", partials.binding()?),
                ("state", state.binding()?),
            ],
        )?;
        let rows_of_product = self.by_columns(self.mesh.levels(), SERVING);
        let product = |pass: &mut ComputePass<'_>, from: &Buffer<T>| -> Result<()> {
            let group = self.bind_gather(workspace.params.binding()?, from, &q)?;
            Ok(self.gather.dispatch(pass, "helmholtz", &group, rows_of_product)?)
        };
        let all = |pass: &mut ComputePass<'_>, name: &str| kernel.dispatch(pass, name, &group, [WORKGROUPS, 1, 1]);
        let one = |pass: &mut ComputePass<'_>, name: &str| kernel.dispatch(pass, name, &group, [1, 1, 1]);
        let mut read = Readback::<T>::new("state read back");
        read.reserve(gpu, state.capacity())?;
        let mut handed_over = 0;
        let mut head = Vec::new();
        loop {
            let mut encoder = gpu.encoder("solve");
            {
                let descriptor = wgpu::ComputePassDescriptor { label: Some("solve"), timestamp_writes: None };
                let mut pass = encoder.begin_compute_pass(&descriptor);
                if head.is_empty() {
                    all(&mut pass, "begin")?;
                    one(&mut pass, "sum_begin")?;
                }
                // One more than the most, which finds that it is.
                for _ in 0..ITERATIONS.min(most + 1 - handed_over) {
                    all(&mut pass, "turn")?;
                    product(&mut pass, p)?;
                    all(&mut pass, "curvature")?;
                    one(&mut pass, "sum_curvature")?;
                    all(&mut pass, "advance")?;
                    one(&mut pass, "sum_advance")?;
                    handed_over += 1;
                }
            }
            read.copy_from(&mut encoder, &state, HISTORY)?;
            head = read.read(gpu, &gpu.submit(encoder)?, HISTORY)?;
            if head[DONE] != T::default() || handed_over > most {
                break;
            }
        }
        let mut encoder = gpu.encoder("what is left");
        {
            let descriptor = wgpu::ComputePassDescriptor { label: Some("what is left"), timestamp_writes: None };
            let mut pass = encoder.begin_compute_pass(&descriptor);
            product(&mut pass, u)?;
            all(&mut pass, "defect")?;
            one(&mut pass, "sum_defect")?;
        }
        let iterations = Into::<f64>::into(head[ITERATED]) as usize;
        let seen = HISTORY + iterations + 1;
        read.copy_from(&mut encoder, &state, seen)?;
        let state = read.read(gpu, &gpu.submit(encoder)?, seen)?;
        let mut encoder = gpu.encoder("solution");
        let mut readback = Readback::<T>::new("solution");
        readback.reserve(gpu, count)?;
        readback.copy_from(&mut encoder, u, count)?;
        let field = readback.read(gpu, &gpu.submit(encoder)?, count)?;
        let number = |at: usize| -> f64 { state[at].into() };
        let norm = number(HISTORY).sqrt();
        if norm == 0.0 {
            return Ok(Solution { field, iterations: 0, residuals: vec![0.0], converged: true, true_residual: 0.0 });
        }
        let residuals: Vec<f64> = (HISTORY..seen).map(|at| number(at).sqrt() / norm).collect();
        let converged = residuals.last().is_some_and(|&residual| iterations > 0 && residual <= options.tolerance);
        Ok(Solution { field, iterations, residuals, converged, true_residual: number(DEFECT).sqrt() / norm })
    }

    /// 1 over the diagonal of M + S, at inner levels; 0 where there is none.
    fn scales(&self) -> Vec<T> {
        let height = self.mesh.height();
        let scale = |vertex: usize| {
            let own = self.pairs.range(vertex).find(|&pair| self.pairs.neighbours()[pair] as usize == vertex);
            let [m, k] = own.map_or([0.0; 2], |own| [self.pairs.mass()[own], self.pairs.stiffness()[own]]);
            let inner = 2.0 * ((m + k) * height / 3.0 + m / height);
            T::from_f64(if inner > 0.0 { 1.0 / inner } else { 0.0 })
        };
        (0..self.mesh.vertices().len()).into_par_iter().map(scale).collect()
    }
}
