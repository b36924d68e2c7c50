//! The solver of assembled problems: chooses the arithmetic and the engine.

use std::sync::Arc;

use kernel_host::{Engine, Gpu, GpuOptions, Opened, Precision};

use crate::assembler::Assembler;
use crate::engine::Action;
use crate::engine::cpu::CpuEngine;
use crate::engine::gpu::GpuEngine;
use crate::engine::gpu::system::GpuSystem;
use crate::error::{Result, check_memory};
use crate::matrix::NodeMatrix;
use crate::mesh::{Mesh, Number};
use crate::problem::System;
use crate::solve::{Solution, SolveOptions, iterate, refine, solve};

/// The arithmetic of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// f64 where the engine has it, otherwise mixed.
    #[default]
    Auto,
    /// f32 alone.
    F32,
    /// f64 alone.
    F64,
    /// Corrections in f32 on the engine, residuals in f64 on the CPU.
    Mixed,
}

/// Solves problems on an engine. Solutions are in f64, whatever the arithmetic.
pub struct Solver {
    opened: Opened,
    arithmetic: Arithmetic,
    description: String,
}

impl Solver {
    /// Opens an engine. [`Arithmetic::Auto`] becomes one of the others.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn new(engine: &Engine, arithmetic: Arithmetic) -> Result<Self> {
        let optional_features = GpuEngine::<f64>::FEATURES;
        let opened = engine.clone().open(GpuOptions { optional_features, ..GpuOptions::default() })?;
        let has_f64 = match &opened {
            Opened::Gpu(gpu) => gpu.has(Precision::F64.required_features()),
            Opened::Cpu | Opened::Reference => true,
        };
        let arithmetic = match arithmetic {
            Arithmetic::Auto if has_f64 => Arithmetic::F64,
            Arithmetic::Auto => Arithmetic::Mixed,
            chosen => chosen,
        };
        let numbers = match arithmetic {
            Arithmetic::F32 => "f32",
            Arithmetic::Mixed => "f32 refined in f64",
            Arithmetic::Auto | Arithmetic::F64 => "f64",
        };
        let description = match &opened {
            Opened::Gpu(gpu) => {
                let adapter = gpu.summary();
                format!("GPU, {numbers}, {} ({}, {})", adapter.name, adapter.kind, adapter.backend)
            }
            Opened::Cpu => format!("CPU, {numbers}, {} threads", rayon::current_num_threads()),
            Opened::Reference => "reference, f64".to_owned(),
        };
        Ok(Self { opened, arithmetic, description })
    }

    /// Returns the arithmetic; never [`Arithmetic::Auto`].
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// Describes the engine in words.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the GPU, if the engine is one.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.opened {
            Opened::Gpu(gpu) => Some(gpu),
            Opened::Cpu | Opened::Reference => None,
        }
    }

    /// Solves (M + S) u = M f without storing a matrix. f is given at the nodes.
    ///
    /// # Errors
    /// As [`Assembler::solve`]; [`Error::NoF64`](crate::Error::NoF64).
    pub fn solve_source(&self, mesh: &Arc<Mesh>, source: &[f64], options: SolveOptions) -> Result<Solution<f64>> {
        mesh.check_field(source.len())?;
        // Of the iteration and of refinement.
        check_memory(12 * 8 * mesh.nodes() as u128, "the fields of a solve")?;
        let engine = match &self.opened {
            Opened::Gpu(gpu) => Engine::Gpu(kernel_host::AdapterChoice::Open(gpu.clone())),
            Opened::Cpu => Engine::Cpu,
            Opened::Reference => Engine::Reference,
        };
        let outer = CpuEngine::<f64>::new(Arc::clone(mesh));
        let mut rhs = outer.zero();
        outer.act(Action::Mass, source, &mut rhs)?;
        let builder = || Assembler::builder().engine(engine.clone());
        match self.arithmetic {
            Arithmetic::Auto | Arithmetic::F64 => builder().build::<f64>(Arc::clone(mesh))?.solve(&rhs, options),
            Arithmetic::Mixed => builder().build::<f32>(Arc::clone(mesh))?.solve_refined(&rhs, options),
            Arithmetic::F32 => {
                let rhs: Vec<f32> = rhs.iter().map(|&number| number as f32).collect();
                Ok(widened(builder().build::<f32>(Arc::clone(mesh))?.solve(&rhs, options)?))
            }
        }
    }

    /// Solves the equations of a problem. Its matrix is stored.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) if the matrix does not fit on the GPU;
    /// [`Error::NoF64`](crate::Error::NoF64), [`Error::Gpu`](crate::Error::Gpu).
    pub fn solve_system(&self, system: &System, options: SolveOptions) -> Result<Solution<f64>> {
        let matrix = &*system.matrix;
        match self.arithmetic {
            Arithmetic::Auto | Arithmetic::F64 => self.corrected(matrix, &system.rhs, options, matrix),
            Arithmetic::Mixed => self.corrected(matrix, &system.rhs, options, &matrix.rounded::<f32>()),
            Arithmetic::F32 => {
                let rounded = matrix.rounded::<f32>();
                let rhs: Vec<f32> = system.rhs.iter().map(|&number| number as f32).collect();
                Ok(widened(self.corrected(&rounded, &rhs, options, &rounded)?))
            }
        }
    }

    /// Corrections on the engine by `inner`, residuals on the CPU by `outer`.
    fn corrected<O: Number, I: Number>(
        &self,
        outer: &NodeMatrix<O>,
        rhs: &[O],
        options: SolveOptions,
        inner: &NodeMatrix<I>,
    ) -> Result<Solution<O>> {
        match &self.opened {
            Opened::Gpu(gpu) => {
                let system = GpuSystem::new(gpu.clone(), inner)?;
                refine(outer, rhs, options, |rhs: &[I], options| system.solve(rhs, options))
            }
            Opened::Cpu => refine(outer, rhs, options, |rhs: &[I], options| iterate(inner, rhs, options)),
            // Prism by prism and f64 throughout: a stored matrix has no slower form.
            Opened::Reference => solve(outer, rhs, options),
        }
    }
}

fn widened<T: Number>(solution: Solution<T>) -> Solution<f64> {
    let Solution { field, iterations, residuals, converged, true_residual, refinements } = solution;
    let field = field.into_iter().map(Into::into).collect();
    Solution { field, iterations, residuals, converged, true_residual, refinements }
}
