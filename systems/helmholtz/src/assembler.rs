//! The assembler: builds an engine for a mesh once, then assembles and solves.

use std::sync::Arc;

use kernel_host::{Checks, Engine, Gpu, GpuOptions, Opened};

use crate::engine::Action;
use crate::engine::cpu::CpuEngine;
use crate::engine::gpu::trust::TRUSTED;
use crate::engine::gpu::{
    Accumulators, Atomics, ForcingBy, GpuEngine, GpuSettings, Kernels, Loops, Order, Stage, StageTime, Strategy,
    TablesIn,
};
use crate::engine::reference::Reference;
use crate::error::{Result, check_memory};
use crate::mesh::{Mesh, Number};
use crate::solve::{Operator, Solution, SolveOptions, iterate, refine, solve};

/// Options of an [`Assembler`]; see [`Assembler::builder`].
#[derive(Clone, Debug)]
pub struct AssemblerBuilder {
    engine: Engine,
    gpu: GpuSettings,
}

/// Assembles and solves the problem on one mesh.
pub struct Assembler<T: Number> {
    mesh: Arc<Mesh>,
    runs: RunningEngine<T>,
}

enum RunningEngine<T: Number> {
    Gpu(Box<GpuEngine<T>>),
    Cpu(CpuEngine<T>),
    Reference(Box<Reference>),
}

/// The results of the report's stages, each with one number per node.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled<T> {
    /// The forcing f: `expression_1`.
    pub forcing: Vec<T>,
    /// M f: `rhs_1`.
    pub mass: Vec<T>,
    /// S M f: `rhs`.
    pub stiffness: Vec<T>,
    /// The volumes of the nodes: `lhs`.
    pub lumped: Vec<T>,
}

impl AssemblerBuilder {
    /// Sets the engine; [`Engine::Auto`] by default.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets how prisms contribute to nodes on a GPU; [`Strategy::Gather`] by default.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.gpu.strategy = strategy;
        self
    }

    /// Sets how [`Strategy::Scatter`] adds; [`Atomics::Auto`] by default.
    #[must_use]
    pub fn atomics(mut self, atomics: Atomics) -> Self {
        self.gpu.atomics = atomics;
        self
    }

    /// Sets where the quadrature tables are; [`TablesIn::Constants`] by default.
    /// [`Strategy::Gather`] needs no tables.
    #[must_use]
    pub fn tables(mut self, tables: TablesIn) -> Self {
        self.gpu.tables = tables;
        self
    }

    /// Sets the sums that a thread keeps for lumped volumes; [`Accumulators::Factored`] by
    /// default.
    #[must_use]
    pub fn accumulators(mut self, accumulators: Accumulators) -> Self {
        self.gpu.accumulators = accumulators;
        self
    }

    /// Sets the loops over a prism's matrix; [`Loops::ColumnsOutside`] by default.
    #[must_use]
    pub fn loops(mut self, loops: Loops) -> Self {
        self.gpu.loops = loops;
        self
    }

    /// Sets the order in which threads take prisms; [`Order::Columns`] by default.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.gpu.order = order;
        self
    }

    /// Sets the threads that compute the forcing; [`ForcingBy::Nodes`] by default.
    #[must_use]
    pub fn forcing_by(mut self, forcing: ForcingBy) -> Self {
        self.gpu.forcing = forcing;
        self
    }

    /// Sets the kernels of stiffness and lumped volumes; [`Kernels::Separate`] by default.
    #[must_use]
    pub fn kernels(mut self, kernels: Kernels) -> Self {
        self.gpu.kernels = kernels;
        self
    }

    /// Sets the workgroup size on a GPU, a power of two from 4. The default is 256 for one thread a
    /// node, 128 for one thread a prism.
    #[must_use]
    pub fn workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.workgroup_size = Some(threads);
        self
    }

    /// Sets whether kernels have bounds checks; false by default. Checked kernels are slightly
    /// slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.checks = if checked { Checks::CHECKED } else { TRUSTED };
        self
    }

    /// Sets the largest number of bytes of a field on a GPU at once. Larger fields are assembled in
    /// groups of levels. By default the device sets the limit.
    #[must_use]
    pub fn most_field_bytes(mut self, bytes: u64) -> Self {
        self.gpu.most_field_bytes = bytes;
        self
    }

    /// Builds an assembler for f32 or f64. The reference engine computes in f64, whatever the
    /// number type.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu), [`Error::NoF64`](crate::Error::NoF64),
    /// [`Error::NoAtomics`](crate::Error::NoAtomics),
    /// [`Error::WorkgroupSize`](crate::Error::WorkgroupSize).
    /// [`Error::TooLarge`](crate::Error::TooLarge) if the GPU cannot hold five levels of the mesh.
    pub fn build<T: Number>(self, mesh: impl Into<Arc<Mesh>>) -> Result<Assembler<T>> {
        let mesh = mesh.into();
        check_memory(4 * size_of::<T>() as u128 * mesh.nodes() as u128, "the fields of an assembly")?;
        let optional_features = GpuEngine::<T>::FEATURES;
        let runs = match self.engine.open(GpuOptions { optional_features, ..GpuOptions::default() })? {
            Opened::Gpu(gpu) => RunningEngine::Gpu(Box::new(GpuEngine::new(gpu, Arc::clone(&mesh), self.gpu)?)),
            Opened::Cpu => RunningEngine::Cpu(CpuEngine::new(Arc::clone(&mesh))),
            Opened::Reference => RunningEngine::Reference(Box::new(Reference::new(Arc::clone(&mesh)))),
        };
        Ok(Assembler { mesh, runs })
    }
}

impl Assembler<f32> {
    /// Returns the default options.
    #[must_use]
    pub fn builder() -> AssemblerBuilder {
        let gpu = GpuSettings {
            strategy: Strategy::default(),
            atomics: Atomics::default(),
            tables: TablesIn::default(),
            accumulators: Accumulators::default(),
            loops: Loops::default(),
            order: Order::default(),
            forcing: ForcingBy::default(),
            kernels: Kernels::default(),
            workgroup_size: None,
            checks: TRUSTED,
            most_field_bytes: u64::MAX,
        };
        AssemblerBuilder { engine: Engine::Auto, gpu }
    }
}

impl<T: Number> Assembler<T> {
    /// Runs the report's stages one after the other.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn assemble(&self) -> Result<Assembled<T>> {
        let stages = match &self.runs {
            RunningEngine::Gpu(engine) => engine.run(&Stage::ASSEMBLY, None)?,
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => {
                let forcing = self.forcing()?;
                let mass = self.act(Action::Mass, &forcing)?;
                let stiffness = self.act(Action::Stiffness, &mass)?;
                vec![forcing, mass, stiffness, self.lumped()?]
            }
        };
        let mut stages = stages.into_iter();
        let mut next = || stages.next().unwrap_or_default();
        Ok(Assembled { forcing: next(), mass: next(), stiffness: next(), lumped: next() })
    }

    /// Returns the forcing at every node.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn forcing(&self) -> Result<Vec<T>> {
        match &self.runs {
            RunningEngine::Gpu(engine) => first(engine.run(&[Stage::Forcing], None)),
            RunningEngine::Cpu(engine) => on(engine, |engine, out| engine.forcing(out)),
            RunningEngine::Reference(reference) => Ok(rounded(&reference.forcing())),
        }
    }

    /// Returns the product of a matrix of the problem with a field.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength); [`Error::Gpu`](crate::Error::Gpu).
    pub fn act(&self, action: Action, field: &[T]) -> Result<Vec<T>> {
        self.mesh.check_field(field.len())?;
        match &self.runs {
            RunningEngine::Gpu(engine) => first(engine.run(&[Stage::Act(action)], Some(field))),
            RunningEngine::Cpu(engine) => on(engine, |engine, out| engine.act(action, field, out)),
            RunningEngine::Reference(reference) => act_plainly(reference, action, field),
        }
    }

    /// Returns the volumes of the nodes.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn lumped(&self) -> Result<Vec<T>> {
        match &self.runs {
            RunningEngine::Gpu(engine) => first(engine.run(&[Stage::Lumped], None)),
            RunningEngine::Cpu(engine) => on(engine, |engine, out| engine.lumped(out)),
            RunningEngine::Reference(reference) => Ok(rounded(&reference.lumped())),
        }
    }

    /// Solves (M + S) u = `rhs` by conjugate gradients, preconditioned by the diagonal, until the
    /// true residual in T is within the tolerance. A solution that has not converged is not an
    /// error: see [`Solution::converged`].
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength),
    /// [`Error::FieldNotFinite`](crate::Error::FieldNotFinite);
    /// [`Error::TooLarge`](crate::Error::TooLarge) if the GPU cannot hold a whole field;
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn solve(&self, rhs: &[T], options: SolveOptions) -> Result<Solution<T>> {
        match &self.runs {
            RunningEngine::Gpu(engine) => {
                refine(&OnGpu(engine), rhs, options, |rhs: &[T], options| engine.solve(rhs, options))
            }
            RunningEngine::Cpu(engine) => solve(engine, rhs, options),
            RunningEngine::Reference(reference) => solve(&Plain(reference), rhs, options),
        }
    }

    /// Solves (M + S) u = `rhs` to the accuracy of f64: corrections are found in T, and their
    /// residuals are computed in f64 on the CPU. With T = f32 this is mixed precision by iterative
    /// refinement.
    ///
    /// # Errors
    /// As [`Assembler::solve`].
    pub fn solve_refined(&self, rhs: &[f64], options: SolveOptions) -> Result<Solution<f64>> {
        let outer = CpuEngine::<f64>::new(Arc::clone(&self.mesh));
        refine(&outer, rhs, options, |rhs: &[T], options| match &self.runs {
            RunningEngine::Gpu(engine) => engine.solve(rhs, options),
            RunningEngine::Cpu(engine) => iterate(engine, rhs, options),
            RunningEngine::Reference(reference) => iterate(&Plain(reference), rhs, options),
        })
    }

    /// Returns how long each stage of an assembly takes in `rounds` rounds, measured by the GPU's
    /// clock, with the input already in device memory. Returns None on the CPU and on a GPU without
    /// timestamps.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn time(&self, rounds: usize) -> Result<Option<Vec<StageTime>>> {
        match &self.runs {
            RunningEngine::Gpu(engine) => engine.time(rounds),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => Ok(None),
        }
    }

    /// Returns the mesh.
    #[must_use]
    pub fn mesh(&self) -> &Arc<Mesh> {
        &self.mesh
    }

    /// Describes the engine in words.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            RunningEngine::Gpu(engine) => engine.description(),
            RunningEngine::Cpu(_) => format!("CPU, {}, {} threads", T::PRECISION, rayon::current_num_threads()),
            RunningEngine::Reference(_) => "reference, f64".to_owned(),
        }
    }

    /// Returns the device if the engine is a GPU.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            RunningEngine::Gpu(engine) => Some(engine.gpu()),
            RunningEngine::Cpu(_) | RunningEngine::Reference(_) => None,
        }
    }
}

fn first<T>(fields: Result<Vec<Vec<T>>>) -> Result<Vec<T>> {
    Ok(fields?.into_iter().next().unwrap_or_default())
}

fn on<T: Number>(engine: &CpuEngine<T>, make: impl FnOnce(&CpuEngine<T>, &mut [T]) -> Result<()>) -> Result<Vec<T>> {
    let mut out = engine.zero();
    make(engine, &mut out)?;
    Ok(out)
}

fn rounded<T: Number>(field: &[f64]) -> Vec<T> {
    field.iter().map(|&number| T::from_f64(number)).collect()
}

fn act_plainly<T: Number>(reference: &Reference, action: Action, field: &[T]) -> Result<Vec<T>> {
    let field: Vec<f64> = field.iter().map(|&number| number.into()).collect();
    let found = match action {
        Action::Mass => reference.mass(&field),
        Action::Stiffness => reference.stiffness(&field),
        Action::Helmholtz => reference.helmholtz(&field),
    };
    Ok(rounded(&found?))
}

/// A GPU as an operator.
struct OnGpu<'a, T: Number>(&'a GpuEngine<T>);

impl<T: Number> Operator<T> for OnGpu<'_, T> {
    fn len(&self) -> usize {
        self.0.mesh().nodes()
    }

    fn apply(&self, field: &[T], out: &mut [T]) -> Result<()> {
        out.copy_from_slice(&first(self.0.run(&[Stage::Act(Action::Helmholtz)], Some(field)))?);
        Ok(())
    }

    fn preconditioner(&self, out: &mut [T]) -> Result<()> {
        CpuEngine::new(Arc::clone(self.0.mesh())).diagonal(Action::Helmholtz, out)
    }
}

/// The reference engine as an operator. The diagonal comes from the CPU engine: it only
/// preconditions.
struct Plain<'a>(&'a Reference);

impl<T: Number> Operator<T> for Plain<'_> {
    fn len(&self) -> usize {
        self.0.mesh().nodes()
    }

    fn apply(&self, field: &[T], out: &mut [T]) -> Result<()> {
        out.copy_from_slice(&act_plainly(self.0, Action::Helmholtz, field)?);
        Ok(())
    }

    fn preconditioner(&self, out: &mut [T]) -> Result<()> {
        CpuEngine::new(Arc::clone(self.0.mesh())).diagonal(Action::Helmholtz, out)
    }
}
