//! MINRES, for symmetric matrices that may be indefinite. Shader: minres.wgsl.

use kernel_host::Precision;
use rayon::prelude::*;

use crate::error::Result;
use crate::mesh::Number;
use crate::solve::{BLOCK, Operator, Solution, SolveOptions, block, dot, inverse, preconditioned, total, untouched};

/// Iterates from u = 0 by the preconditioned method of C. C. Paige and M. A. Saunders, SIAM J.
/// Numer. Anal. 12 (1975) 617. `converged` and `true_residual` follow the iteration's own residual.
///
/// The iteration also ends if the rounding of u in T changes A u by more than the residual. Close
/// to an eigenvalue u grows until that happens.
pub(crate) fn minres<T: Number>(operator: &impl Operator<T>, rhs: &[T], options: SolveOptions) -> Result<Solution<T>> {
    let scale = inverse(operator)?;
    let mut solution = untouched(rhs);
    if solution.converged {
        return Ok(solution);
    }
    let norm = dot(rhs, rhs).sqrt();
    let zero = || vec![T::default(); rhs.len()];
    let (mut u, mut r, mut v, mut q) = (zero(), rhs.to_vec(), zero(), zero());
    // Lanczos vectors before their normalization, and the last two directions.
    let (mut before, mut here, mut w1, mut w2) = (zero(), rhs.to_vec(), zero(), zero());
    let (mut beta, mut over_old) = (preconditioned(&scale, &here).sqrt(), 0.0);
    let mut rotation = Rotation { cosine: -1.0, sine: 0.0, dbar: 0.0, epsilon: 0.0, phibar: beta };
    while solution.iterations < options.iterations && beta > 0.0 {
        let over_beta = T::from_f64(1.0 / beta);
        v.par_iter_mut().zip(&here).zip(&scale).for_each(|((v, &here), &scale)| *v = scale * here * over_beta);
        operator.apply(&v, &mut q)?;
        add(T::from_f64(-over_old), &before, &mut q);
        let alpha = dot(&v, &q);
        add(T::from_f64(-alpha / beta), &here, &mut q);
        std::mem::swap(&mut before, &mut here);
        std::mem::swap(&mut here, &mut q);
        let next = preconditioned(&scale, &here).sqrt();
        let Some(step) = rotation.turn(alpha, next) else { break };
        let [one, two, over_gamma, phi] = [step.one, step.two, step.over_gamma, step.phi].map(T::from_f64);
        let directions = w1.par_iter_mut().zip(&w2).zip(u.par_iter_mut().zip(&v));
        directions.for_each(|((w1, &w2), (u, &v))| {
            *w1 = (v - one * *w1 - two * w2) * over_gamma;
            *u += phi * *w1;
        });
        std::mem::swap(&mut w1, &mut w2);
        let residual = reduce(T::from_f64(step.shrink), T::from_f64(step.remove), &here, &mut r).sqrt() / norm;
        (over_old, beta) = (next / beta, next);
        solution.iterations += 1;
        solution.residuals.push(residual);
        solution.converged = residual <= options.tolerance;
        let is_rounded = rounding::<T>() * size(&scale, &u) >= rotation.phibar;
        if solution.converged || is_rounded || !residual.is_finite() {
            break;
        }
    }
    solution.true_residual = solution.residuals.last().copied().unwrap_or(f64::NAN);
    solution.field = u;
    Ok(solution)
}

/// The relative error of a rounded number of T.
pub(crate) fn rounding<T: Number>() -> f64 {
    match T::PRECISION {
        Precision::F32 => f64::from(f32::EPSILON) / 2.0,
        Precision::F64 => f64::EPSILON / 2.0,
    }
}

/// The norm of u in the norm of the preconditioner. No eigenvalue of the preconditioned matrix
/// exceeds 1 ([`Operator::preconditioner`]), so this bounds A u in the norm of the residual.
fn size<T: Number>(scale: &[T], u: &[T]) -> f64 {
    let square = |u: f64, scale: f64| if scale > 0.0 { u * u / scale } else { 0.0 };
    total(u.par_chunks(BLOCK).zip(scale.par_chunks(BLOCK)).map(|(u, scale)| block(u, scale, square))).sqrt()
}

/// The plane rotation of the last iteration.
struct Rotation {
    cosine: f64,
    sine: f64,
    dbar: f64,
    epsilon: f64,
    /// The norm of the residual in the norm of the preconditioner.
    phibar: f64,
}

/// The coefficients of an iteration's updates of w, u and r.
struct Step {
    one: f64,
    two: f64,
    over_gamma: f64,
    phi: f64,
    shrink: f64,
    remove: f64,
}

impl Rotation {
    /// Adds a column of the tridiagonal matrix. Returns None if no field reduces the residual, or
    /// if a number is not finite.
    fn turn(&mut self, alpha: f64, next: f64) -> Option<Step> {
        let one = self.epsilon;
        let two = self.cosine * self.dbar + self.sine * alpha;
        let gbar = self.sine * self.dbar - self.cosine * alpha;
        self.epsilon = self.sine * next;
        self.dbar = -self.cosine * next;
        let gamma = (gbar * gbar + next * next).sqrt();
        if !(gamma > 0.0 && gamma.is_finite()) {
            return None;
        }
        (self.cosine, self.sine) = (gbar / gamma, next / gamma);
        let phi = self.cosine * self.phibar;
        self.phibar *= self.sine;
        let remove = if next > 0.0 { self.cosine * self.phibar / next } else { 0.0 };
        Some(Step { one, two, over_gamma: 1.0 / gamma, phi, shrink: self.sine * self.sine, remove })
    }
}

/// Adds `factor` times `from`.
fn add<T: Number>(factor: T, from: &[T], to: &mut [T]) {
    to.par_iter_mut().zip(from).for_each(|(to, &from)| *to += factor * from);
}

/// r = `shrink` r - `remove` z. Returns the square of r.
fn reduce<T: Number>(shrink: T, remove: T, z: &[T], r: &mut [T]) -> f64 {
    total(r.par_chunks_mut(BLOCK).zip(z.par_chunks(BLOCK)).map(|(r, z)| {
        r.iter_mut().zip(z).for_each(|(r, &z)| *r = shrink * *r - remove * z);
        block(r, r, |a, b| a * b)
    }))
}
