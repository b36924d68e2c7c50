//! Conjugate gradients and MINRES on a GPU. Shaders: conjugate_gradients.wgsl, minres.wgsl.

use kernel_host::wgpu::{self, BindGroup, BindingResource, ComputePass};
use kernel_host::{Buffer, Checks, Gpu, Kernel, KernelDescriptor, Readback};
use rayon::prelude::*;

use super::shaders::{self, Diagonal, Method};
use super::{GATHERING, GpuEngine, Params, SERVING, storage, uniform, written};
use crate::error::{Error, Result};
use crate::mesh::{Mesh, Number};
use crate::minres::rounding;
use crate::pairs::Pairs;
use crate::solve::{Solution, SolveOptions};

/// The number of iterations in one submission.
const ITERATIONS: usize = 16;
/// Workgroups of a step along fields; a sum has as many parts.
const WORKGROUPS: u32 = 512;
/// The layout of the solver's state, as in shaders/sums_of_fields.wgsl: squares of residuals follow
/// from HISTORY. ROUNDING is of MINRES only.
const HISTORY: usize = 20;
const LIMIT: usize = 3;
const DONE: usize = 4;
const ITERATED: usize = 5;
const ROUNDING: usize = 6;
const MOST: usize = 7;

impl Method {
    /// The kernels of an iteration, in order; `product` is that of the matrix.
    fn kernels(self) -> &'static [&'static str] {
        const ALL: [&str; 8] =
            ["turn", "product", "curvature", "sum_curvature", "advance", "sum_advance", "correct", "sum_correct"];
        match self {
            Self::ConjugateGradients => &ALL[..6],
            Self::Minres => &ALL,
        }
    }
}

/// The buffers and the kernels of an iteration on the fields of one mesh.
pub(super) struct IterativeSolver<T: Number> {
    method: Method,
    kernel: Kernel,
    nodes: usize,
    params: Buffer<Params>,
    scales: Buffer<T>,
    pub(super) u: Buffer<T>,
    r: Buffer<T>,
    pub(super) p: Buffer<T>,
    pub(super) q: Buffer<T>,
    partials: Buffer<[T; 2]>,
    /// Of MINRES only.
    lanczos: Buffer<[T; 4]>,
    readback: Readback<T>,
}

/// The inverse of a matrix's preconditioner.
pub(super) struct Scales<'a, T> {
    pub(super) numbers: &'a [T],
    pub(super) of: Diagonal,
}

impl<T: Number> IterativeSolver<T> {
    pub(super) fn new(
        gpu: &Gpu,
        mesh: &Mesh,
        method: Method,
        scales: Scales<'_, T>,
        size: u32,
        checks: Checks,
    ) -> Result<Self> {
        let kernel = Kernel::build(
            gpu,
            &KernelDescriptor {
                source: &shaders::solver::<T>(method, scales.of),
                entry_points: &[],
                constants: &[("WORKGROUP_SIZE", size.into()), ("WORKGROUPS", WORKGROUPS.into())],
                checks,
            },
        )?;
        let nodes = mesh.nodes();
        let mut params = uniform();
        params.write(gpu, &[whole(mesh)])?;
        let field = |label| {
            let mut buffer = Buffer::<T>::new(label, storage());
            buffer.reserve(gpu, nodes).map(|_| buffer)
        };
        let mut lanczos = Buffer::new("lanczos", storage());
        if method == Method::Minres {
            lanczos.reserve(gpu, nodes)?;
        }
        Ok(Self {
            method,
            kernel,
            nodes,
            params,
            scales: written(gpu, "scales", scales.numbers)?,
            u: field("u")?,
            r: field("r")?,
            p: field("p")?,
            q: field("q")?,
            partials: written(gpu, "partials", &vec![[T::default(); 2]; WORKGROUPS as usize])?,
            lanczos,
            readback: Readback::new("solution"),
        })
    }

    pub(super) fn params(&self) -> Result<BindingResource<'_>> {
        Ok(self.params.binding()?)
    }

    /// Iterates until the iteration's own residual is within the tolerance. `product` encodes q = A
    /// p.
    pub(super) fn solve(
        &mut self,
        gpu: &Gpu,
        rhs: &[T],
        options: SolveOptions,
        product: &dyn Fn(&mut ComputePass<'_>) -> Result<()>,
    ) -> Result<Solution<T>> {
        self.r.write(gpu, rhs)?;
        let most = options.iterations.min(1 << 22);
        let mut state = vec![T::default(); HISTORY + most + 1];
        state[LIMIT] = T::from_f64(options.tolerance * options.tolerance);
        state[ROUNDING] = T::from_f64(rounding::<T>());
        state[MOST] = T::from_f64(most as f64);
        let state = written(gpu, "state", &state)?;
        let group = self.bind(gpu, &state)?;
        let mut read = Readback::<T>::new("state read back");
        read.reserve(gpu, state.capacity())?;
        let mut handed_over = 0;
        let mut head = Vec::new();
        loop {
            let mut encoder = gpu.encoder("solve");
            {
                let descriptor = wgpu::ComputePassDescriptor { label: Some("solve"), timestamp_writes: None };
                let mut pass = encoder.begin_compute_pass(&descriptor);
                let dispatch = |pass: &mut ComputePass<'_>, name: &str| {
                    let workgroups = if name.starts_with("sum_") { 1 } else { WORKGROUPS };
                    self.kernel.dispatch(pass, name, &group, [workgroups, 1, 1])
                };
                if head.is_empty() {
                    dispatch(&mut pass, "begin")?;
                    dispatch(&mut pass, "sum_begin")?;
                }
                // One more than the largest number, which finds that it is reached.
                for _ in 0..ITERATIONS.min(most + 1 - handed_over) {
                    for &name in self.method.kernels() {
                        match name {
                            "product" => product(&mut pass)?,
                            _ => dispatch(&mut pass, name)?,
                        }
                    }
                    handed_over += 1;
                }
            }
            read.copy_from(&mut encoder, &state, HISTORY)?;
            head = read.read(gpu, &gpu.submit(encoder)?, HISTORY)?;
            if head[DONE] != T::default() || handed_over > most {
                break;
            }
        }
        let iterations = Into::<f64>::into(head[ITERATED]) as usize;
        let seen = HISTORY + iterations + 1;
        let mut encoder = gpu.encoder("history");
        read.copy_from(&mut encoder, &state, seen)?;
        let state = read.read(gpu, &gpu.submit(encoder)?, seen)?;
        self.solution(gpu, &state, options)
    }

    /// Reads the field back.
    fn solution(&mut self, gpu: &Gpu, state: &[T], options: SolveOptions) -> Result<Solution<T>> {
        let mut encoder = gpu.encoder("solution");
        self.readback.reserve(gpu, self.nodes)?;
        self.readback.copy_from(&mut encoder, &self.u, self.nodes)?;
        let field = self.readback.read(gpu, &gpu.submit(encoder)?, self.nodes)?;
        let square = |number: &T| -> f64 { (*number).into() };
        let norm = square(&state[HISTORY]).sqrt();
        let relative = |number: &T| if norm == 0.0 { 0.0 } else { square(number).sqrt() / norm };
        let residuals: Vec<f64> = state[HISTORY..].iter().map(relative).collect();
        let last = residuals.last().copied().unwrap_or(f64::NAN);
        Ok(Solution {
            field,
            iterations: residuals.len() - 1,
            residuals,
            converged: last <= options.tolerance,
            true_residual: last,
            refinements: 0,
        })
    }

    fn bind(&self, gpu: &Gpu, state: &Buffer<T>) -> Result<BindGroup> {
        let mut all = vec![
            ("params", self.params.binding()?),
            ("scales", self.scales.binding()?),
            ("u", self.u.binding()?),
            ("r", self.r.binding()?),
            ("p", self.p.binding()?),
            ("q", self.q.binding()?),
            ("partials", self.partials.binding()?),
            ("state", state.binding()?),
        ];
        if self.method == Method::Minres {
            all.push(("lanczos", self.lanczos.binding()?));
        }
        Ok(self.kernel.bind_group(gpu, &all)?)
    }
}

/// The parameters of a mesh whose fields are on the GPU as a whole.
pub(super) fn whole(mesh: &Mesh) -> Params {
    let (levels, vertices) = (mesh.levels() as u32, mesh.vertices().len() as u32);
    Params { levels, vertices, nodes: mesh.nodes() as u32, ..Params::default() }
}

pub(super) fn too_large() -> Error {
    let what = "the fields of a solve must fit on the GPU at once: use fewer levels or vertices, or the CPU engine";
    Error::TooLarge { what: what.to_owned() }
}

impl<T: Number> GpuEngine<T> {
    /// Conjugate gradients for (M + S) u = `rhs`. Products are gathered, whatever the strategy.
    pub(crate) fn solve(&self, rhs: &[T], options: SolveOptions) -> Result<Solution<T>> {
        if self.windows.len() > 1 {
            return Err(too_large());
        }
        let mut solver = self.solver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut gradients = match solver.take() {
            Some(gradients) => gradients,
            None => {
                let scales = scales(&self.mesh, &self.pairs);
                let scales = Scales { numbers: &scales, of: Diagonal::Columns };
                let size = self.settings.workgroup_size.unwrap_or(GATHERING);
                let method = Method::ConjugateGradients;
                Box::new(IterativeSolver::new(&self.gpu, &self.mesh, method, scales, size, self.settings.checks)?)
            }
        };
        let group = self.bind_gather(gradients.params()?, &gradients.p, &gradients.q)?;
        let grid = self.by_columns(self.mesh.levels(), SERVING);
        let product = |pass: &mut ComputePass<'_>| Ok(self.gather.dispatch(pass, "helmholtz", &group, grid)?);
        let solution = gradients.solve(&self.gpu, rhs, options, &product)?;
        *solver = Some(gradients);
        Ok(solution)
    }
}

/// 1 over the diagonal of M + S, at inner levels; 0 for a vertex without triangles.
fn scales<T: Number>(mesh: &Mesh, pairs: &Pairs) -> Vec<T> {
    let height = mesh.height();
    let scale = |vertex: usize| {
        let own = pairs.range(vertex).find(|&pair| pairs.neighbours()[pair] as usize == vertex);
        let [m, k] = own.map_or([0.0; 2], |own| [pairs.mass()[own], pairs.stiffness()[own]]);
        let inner = 2.0 * ((m + k) * height / 3.0 + m / height);
        T::from_f64(if inner > 0.0 { 1.0 / inner } else { 0.0 })
    };
    (0..mesh.vertices().len()).into_par_iter().map(scale).collect()
}
