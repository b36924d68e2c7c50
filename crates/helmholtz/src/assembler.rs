//! The assembler: builds an engine for a mesh once, then assembles and solves.

use std::sync::Arc;

use kernel_host::{Checks, Engine, Gpu, GpuOptions, Opened};

use crate::engine::Action;
use crate::engine::cpu::CpuEngine;
use crate::engine::gpu::{Accumulators, Atomics, GpuEngine, GpuSettings, Order, Stage, StageTime, Strategy};
use crate::engine::reference::Reference;
use crate::error::Result;
use crate::mesh::{Mesh, Number};
use crate::shaders::TablesIn;
use crate::solve::{Operator, Solution, SolveOptions, check_rhs, solve};

/// What an [`Assembler`] is built from.
#[derive(Clone, Debug)]
pub struct AssemblerBuilder {
    engine: Engine,
    gpu: GpuSettings,
}

/// Assembles on a mesh, and solves. Built once for it.
pub struct Assembler<T: Number> {
    mesh: Arc<Mesh>,
    runs: Runs<T>,
}

enum Runs<T: Number> {
    Gpu(Box<GpuEngine<T>>),
    Cpu(CpuEngine<T>),
    Reference(Box<Reference>),
}

/// What the report's stages make, each a number for each node.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled<T> {
    /// The forcing f: `expression_1`.
    pub forcing: Vec<T>,
    /// M f: `rhs_1`.
    pub mass: Vec<T>,
    /// S M f: `rhs`.
    pub stiffness: Vec<T>,
    /// Volumes of nodes: `lhs`.
    pub lumped: Vec<T>,
}

impl AssemblerBuilder {
    /// What assembles; [`Engine::Auto`] if not given.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// How nodes get what prisms have for them, on a GPU; [`Strategy::Gather`] if not given.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.gpu.strategy = strategy;
        self
    }

    /// How [`Strategy::Scatter`] adds; [`Atomics::Auto`] if not given.
    #[must_use]
    pub fn atomics(mut self, atomics: Atomics) -> Self {
        self.gpu.atomics = atomics;
        self
    }

    /// Where tables of quadrature are, except with [`Strategy::Gather`], which needs none; [`TablesIn::Constants`] if not given.
    #[must_use]
    pub fn tables(mut self, tables: TablesIn) -> Self {
        self.gpu.tables = tables;
        self
    }

    /// Sums that a thread keeps for lumped volumes; [`Accumulators::Six`] if not given.
    #[must_use]
    pub fn accumulators(mut self, accumulators: Accumulators) -> Self {
        self.gpu.accumulators = accumulators;
        self
    }

    /// Which prisms neighbouring threads take; [`Order::Columns`] if not given.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.gpu.order = order;
        self
    }

    /// Threads of a workgroup on a GPU, a power of two from 4 on; 256, and 128 where a thread takes a prism, if not given.
    #[must_use]
    pub fn workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.workgroup_size = Some(threads);
        self
    }

    /// Kernels that guard themselves against their own faults; a little slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.checks = if checked { Checks::Checked } else { Checks::Trusted };
        self
    }

    /// At most so many bytes of a field on a GPU at once; as many as it can bind if not given. Of more, some levels are
    /// assembled after the others.
    #[must_use]
    pub fn most_field_bytes(mut self, bytes: u64) -> Self {
        self.gpu.most_field_bytes = bytes;
        self
    }

    /// Builds it, for numbers of f32 or f64. The reference engine computes in f64, whatever the numbers' type.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu), [`Error::NoF64`](crate::Error::NoF64), [`Error::NoAtomics`](crate::Error::NoAtomics),
    /// [`Error::WorkgroupSize`](crate::Error::WorkgroupSize); [`Error::TooLarge`](crate::Error::TooLarge) for a mesh of which a GPU does
    /// not hold five levels.
    pub fn build<T: Number>(self, mesh: impl Into<Arc<Mesh>>) -> Result<Assembler<T>> {
        let mesh = mesh.into();
        let optional_features = GpuEngine::<T>::FEATURES;
        let runs = match self.engine.open(GpuOptions { optional_features, ..GpuOptions::default() })? {
            Opened::Gpu(gpu) => Runs::Gpu(Box::new(GpuEngine::new(gpu, Arc::clone(&mesh), self.gpu)?)),
            Opened::Cpu => Runs::Cpu(CpuEngine::new(Arc::clone(&mesh))),
            Opened::Reference => Runs::Reference(Box::new(Reference::new(Arc::clone(&mesh)))),
        };
        Ok(Assembler { mesh, runs })
    }
}

impl Assembler<f32> {
    /// What is to be said before it is built.
    #[must_use]
    pub fn builder() -> AssemblerBuilder {
        let gpu = GpuSettings {
            strategy: Strategy::default(),
            atomics: Atomics::default(),
            tables: TablesIn::default(),
            accumulators: Accumulators::default(),
            order: Order::default(),
            workgroup_size: None,
            checks: Checks::Trusted,
            most_field_bytes: u64::MAX,
        };
        AssemblerBuilder { engine: Engine::Auto, gpu }
    }
}

impl<T: Number> Assembler<T> {
    /// The report's stages, one after the other.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn assemble(&self) -> Result<Assembled<T>> {
        let stages = match &self.runs {
            Runs::Gpu(engine) => engine.run(&Stage::ASSEMBLY, None)?,
            Runs::Cpu(_) | Runs::Reference(_) => {
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

    /// The forcing at every node.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn forcing(&self) -> Result<Vec<T>> {
        match &self.runs {
            Runs::Gpu(engine) => first(engine.run(&[Stage::Forcing], None)),
            Runs::Cpu(engine) => on(engine, |engine, out| engine.forcing(out)),
            Runs::Reference(reference) => Ok(rounded(&reference.forcing())),
        }
    }

    /// The product of a field with a matrix of the problem.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength); [`Error::Gpu`](crate::Error::Gpu).
    pub fn act(&self, action: Action, field: &[T]) -> Result<Vec<T>> {
        self.mesh.check_field(field.len())?;
        match &self.runs {
            Runs::Gpu(engine) => first(engine.run(&[Stage::Act(action)], Some(field))),
            Runs::Cpu(engine) => on(engine, |engine, out| engine.act(action, field, out)),
            Runs::Reference(reference) => act_plainly(reference, action, field),
        }
    }

    /// Volumes of nodes.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn lumped(&self) -> Result<Vec<T>> {
        match &self.runs {
            Runs::Gpu(engine) => first(engine.run(&[Stage::Lumped], None)),
            Runs::Cpu(engine) => on(engine, |engine, out| engine.lumped(out)),
            Runs::Reference(reference) => Ok(rounded(&reference.lumped())),
        }
    }

    /// Solves (M + S) u = `rhs` by conjugate gradients, preconditioned by the diagonal. One that has not converged is no error.
    ///
    /// # Errors
    /// [`Error::FieldLength`](crate::Error::FieldLength), [`Error::FieldNotFinite`](crate::Error::FieldNotFinite);
    /// [`Error::TooLarge`](crate::Error::TooLarge) for fields that a GPU does not hold at once; [`Error::Gpu`](crate::Error::Gpu).
    pub fn solve(&self, rhs: &[T], options: SolveOptions) -> Result<Solution<T>> {
        match &self.runs {
            Runs::Gpu(engine) => {
                check_rhs(self.mesh.nodes(), rhs)?;
                engine.solve(rhs, options)
            }
            Runs::Cpu(engine) => solve(engine, rhs, options),
            Runs::Reference(reference) => solve(&Plain(reference), rhs, options),
        }
    }

    /// How long each stage of an assembly takes on the GPU's clock, `rounds` times over, with everything there. None on the CPU,
    /// and on a GPU without such a clock.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn time(&self, rounds: usize) -> Result<Option<Vec<StageTime>>> {
        match &self.runs {
            Runs::Gpu(engine) => engine.time(rounds),
            Runs::Cpu(_) | Runs::Reference(_) => Ok(None),
        }
    }

    /// That it is for.
    #[must_use]
    pub fn mesh(&self) -> &Arc<Mesh> {
        &self.mesh
    }

    /// What assembles, for people.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            Runs::Gpu(engine) => engine.description(),
            Runs::Cpu(_) => format!("CPU, {}, {} threads", T::NAME, rayon::current_num_threads()),
            Runs::Reference(_) => "reference, f64".to_owned(),
        }
    }

    /// The device, if it is a GPU that assembles.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            Runs::Gpu(engine) => Some(engine.gpu()),
            Runs::Cpu(_) | Runs::Reference(_) => None,
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

/// The reference engine's products; the diagonal is the CPU engine's, and decides nothing but the way to the solution.
struct Plain<'a>(&'a Reference);

impl<T: Number> Operator<T> for Plain<'_> {
    fn len(&self) -> usize {
        self.0.mesh().nodes()
    }

    fn apply(&self, field: &[T], out: &mut [T]) -> Result<()> {
        out.copy_from_slice(&act_plainly(self.0, Action::Helmholtz, field)?);
        Ok(())
    }

    fn diagonal(&self, out: &mut [T]) -> Result<()> {
        CpuEngine::new(Arc::clone(self.0.mesh())).diagonal(Action::Helmholtz, out)
    }
}
