//! Conjugate gradients, and refinement until the true residual is within the tolerance. MINRES:
//! minres.rs.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::mesh::Number;
use crate::minres::minres;

/// A symmetric matrix, given by its products with fields.
pub trait Operator<T: Number> {
    /// Returns the number of rows.
    fn len(&self) -> usize;

    /// Returns whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Computes the product with a field.
    ///
    /// # Errors
    /// [`Error::FieldLength`], and errors of the engine.
    fn apply(&self, field: &[T], out: &mut [T]) -> Result<()>;

    /// Returns whether the matrix is known to have no negative eigenvalue. Conjugate gradients
    /// solve such a matrix, and MINRES solves any other.
    fn is_definite(&self) -> bool {
        true
    }

    /// Computes the diagonal of a definite matrix. For any other matrix, computes the sum of the
    /// absolute values of each row, which is positive where the diagonal may not be. A row with a
    /// zero here is all zeros, and the solution stays 0 there.
    ///
    /// # Errors
    /// As [`Operator::apply`].
    fn preconditioner(&self, out: &mut [T]) -> Result<()>;
}

/// The stopping criteria of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveOptions {
    /// The largest norm of the residual, relative to the norm of the right-hand side.
    pub tolerance: f64,
    /// The largest number of iterations.
    pub iterations: usize,
}

impl Default for SolveOptions {
    /// Returns a tolerance of 1e-8 and 10,000 iterations.
    fn default() -> Self {
        Self { tolerance: 1e-8, iterations: 10_000 }
    }
}

/// The result of a solve.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution<T: Number> {
    /// The solution u.
    pub field: Vec<T>,
    /// The number of iterations of conjugate gradients or MINRES.
    pub iterations: usize,
    /// The norm of the residual relative to the norm of the right-hand side, as the iteration
    /// tracks it: before the first iteration, and after each.
    pub residuals: Vec<f64>,
    /// Whether the true residual is within the tolerance.
    pub converged: bool,
    /// The norm of b - A u, recomputed from the field, relative to the norm of b. In f32 on fine
    /// meshes it stays far above a small tolerance: the rounding of u alone changes A u by about
    /// 1e-7 of its largest eigenvalue.
    pub true_residual: f64,
    /// The number of times that the iteration was started on the true residual.
    pub refinements: usize,
}

/// Numbers that are summed one after the other, so that sums do not depend on the number of
/// threads.
pub(crate) const BLOCK: usize = 1 << 13;

/// Solves A u = b by conjugate gradients, or by MINRES if the operator is not definite, until the
/// true residual is within the tolerance. Sums are in f64, fields in T. A solve that does not
/// converge is not an error: it returns the last field.
///
/// # Errors
/// [`Error::FieldLength`]; [`Error::FieldNotFinite`] if the right-hand side is not finite; errors
/// of the operator.
pub fn solve<T: Number>(operator: &impl Operator<T>, rhs: &[T], options: SolveOptions) -> Result<Solution<T>> {
    refine(operator, rhs, options, |rhs: &[T], options| iterate(operator, rhs, options))
}

/// Solves A u = b in the number type O by corrections that `inner` finds in the number type I.
///
/// The true residual b - A u is computed in O. `inner` solves for the correction, to the tolerance
/// that is still missing or to what I resolves. With O = f64 and I = f32 this is mixed precision by
/// iterative refinement: the result has the accuracy of f64, and nearly all of the work is in f32.
/// It stops if a correction does not halve the true residual.
///
/// # Errors
/// As [`solve`].
pub fn refine<O: Number, I: Number>(
    outer: &impl Operator<O>,
    rhs: &[O],
    options: SolveOptions,
    mut inner: impl FnMut(&[I], SolveOptions) -> Result<Solution<I>>,
) -> Result<Solution<O>> {
    check_rhs(outer.len(), rhs)?;
    let norm = dot(rhs, rhs).sqrt();
    let mut solution = untouched(rhs);
    let mut residual = rhs.to_vec();
    while !solution.converged && solution.iterations < options.iterations {
        // Residuals become small: they are scaled into the range of I.
        let largest = residual.par_iter().map(|&number| number.into().abs()).reduce(|| 0.0, f64::max);
        let scaled: Vec<I> = residual.par_iter().map(|&number| I::from_f64(number.into() / largest)).collect();
        // Slightly below the missing factor, so that rounding rarely requires another round.
        let missing = 0.9 * options.tolerance / solution.true_residual;
        let tolerance = if size_of::<I>() < size_of::<O>() { missing.max(LEAST_IN_F32) } else { missing };
        let iterations = options.iterations - solution.iterations;
        let correction = inner(&scaled, SolveOptions { tolerance: tolerance.min(0.5), iterations })?;
        if correction.iterations == 0 || !correction.field.par_iter().all(|&number| number.into().is_finite()) {
            break;
        }
        let before = solution.true_residual;
        let mut field = solution.field.clone();
        let update = |(u, &step): (&mut O, &I)| *u += O::from_f64(largest * step.into());
        field.par_iter_mut().zip(&correction.field).for_each(update);
        outer.apply(&field, &mut residual)?;
        residual.par_iter_mut().zip(rhs).for_each(|(r, &b)| *r = b - *r);
        let after = dot(&residual, &residual).sqrt() / norm;
        solution.iterations += correction.iterations;
        solution.refinements += 1;
        solution.residuals.extend(correction.residuals[1..].iter().map(|residual| before * residual));
        if after < before {
            (solution.field, solution.true_residual) = (field, after);
        }
        solution.converged = after <= options.tolerance;
        if after.is_nan() || after >= 0.5 * before {
            break;
        }
    }
    Ok(solution)
}

/// The smallest tolerance of a correction in f32: its own rounding keeps the true residual above
/// it.
const LEAST_IN_F32: f64 = 1e-4;

/// Iterates from u = 0, without refinement.
pub(crate) fn iterate<T: Number>(operator: &impl Operator<T>, rhs: &[T], options: SolveOptions) -> Result<Solution<T>> {
    check_rhs(operator.len(), rhs)?;
    if operator.is_definite() { conjugate_gradients(operator, rhs, options) } else { minres(operator, rhs, options) }
}

/// 1 over the preconditioner, and 0 for a row of zeros.
pub(crate) fn inverse<T: Number>(operator: &impl Operator<T>) -> Result<Vec<T>> {
    let mut scale = vec![T::default(); operator.len()];
    operator.preconditioner(&mut scale)?;
    scale.par_iter_mut().for_each(|entry| {
        let value: f64 = (*entry).into();
        *entry = T::from_f64(if value > 0.0 { 1.0 / value } else { 0.0 });
    });
    Ok(scale)
}

/// The solution before the first iteration.
pub(crate) fn untouched<T: Number>(rhs: &[T]) -> Solution<T> {
    let is_zero = dot(rhs, rhs) == 0.0;
    let residual = if is_zero { 0.0 } else { 1.0 };
    Solution {
        field: vec![T::default(); rhs.len()],
        iterations: 0,
        residuals: vec![residual],
        converged: is_zero,
        true_residual: residual,
        refinements: 0,
    }
}

/// Conjugate gradients from u = 0. `converged` and `true_residual` follow the iteration's own
/// residual.
fn conjugate_gradients<T: Number>(
    operator: &impl Operator<T>,
    rhs: &[T],
    options: SolveOptions,
) -> Result<Solution<T>> {
    let scale = inverse(operator)?;
    let mut solution = untouched(rhs);
    if solution.converged {
        return Ok(solution);
    }
    let norm = dot(rhs, rhs).sqrt();
    let zero = || vec![T::default(); rhs.len()];
    let (mut u, mut r, mut q) = (zero(), rhs.to_vec(), zero());
    let mut p: Vec<T> = zero();
    let mut rz = preconditioned(&scale, &r);
    let mut beta = 0.0;
    while solution.iterations < options.iterations {
        // p = z + beta p.
        let factor = T::from_f64(beta);
        p.par_iter_mut().zip(&r).zip(&scale).for_each(|((p, &r), &scale)| *p = scale * r + factor * *p);
        operator.apply(&p, &mut q)?;
        let curvature = dot(&p, &q);
        let alpha = rz / curvature;
        // Nothing is left that numbers of this type can tell from nothing; or the field has left
        // their range.
        if !(curvature > 0.0 && alpha.is_finite()) {
            break;
        }
        let square = step(T::from_f64(alpha), [&p, &q], &mut u, &mut r);
        solution.iterations += 1;
        let residual = square.sqrt() / norm;
        solution.residuals.push(residual);
        if !residual.is_finite() {
            break;
        }
        if residual <= options.tolerance {
            solution.converged = true;
            break;
        }
        let next = preconditioned(&scale, &r);
        beta = next / rz;
        rz = next;
    }
    solution.true_residual = solution.residuals.last().copied().unwrap_or(f64::NAN);
    solution.field = u;
    Ok(solution)
}

/// That a right-hand side has a finite number for each node.
pub(crate) fn check_rhs<T: Number>(wanted: usize, rhs: &[T]) -> Result<()> {
    if rhs.len() != wanted {
        return Err(Error::FieldLength { found: rhs.len(), wanted });
    }
    match rhs.par_iter().position_first(|&number| !number.into().is_finite()) {
        Some(node) => Err(Error::FieldNotFinite { node }),
        None => Ok(()),
    }
}

/// In f64.
pub(crate) fn dot<T: Number>(a: &[T], b: &[T]) -> f64 {
    total(a.par_chunks(BLOCK).zip(b.par_chunks(BLOCK)).map(|(a, b)| block(a, b, |a, b| a * b)))
}

/// r z, where z = r times `scale`.
pub(crate) fn preconditioned<T: Number>(scale: &[T], r: &[T]) -> f64 {
    total(scale.par_chunks(BLOCK).zip(r.par_chunks(BLOCK)).map(|(scale, r)| block(scale, r, |scale, r| scale * r * r)))
}

/// u + alpha p and r - alpha q; the square of the latter.
fn step<T: Number>(alpha: T, [p, q]: [&[T]; 2], u: &mut [T], r: &mut [T]) -> f64 {
    let blocks = u.par_chunks_mut(BLOCK).zip(r.par_chunks_mut(BLOCK)).zip(p.par_chunks(BLOCK).zip(q.par_chunks(BLOCK)));
    total(blocks.map(|((u, r), (p, q))| {
        u.iter_mut().zip(p).for_each(|(u, &p)| *u += alpha * p);
        r.iter_mut().zip(q).for_each(|(r, &q)| *r += -(alpha * q));
        block(r, r, |a, b| a * b)
    }))
}

/// Blocks are made by whoever has time, and added in their order.
pub(crate) fn total(blocks: impl IndexedParallelIterator<Item = f64>) -> f64 {
    let sums: Vec<f64> = blocks.collect();
    sums.iter().sum()
}

/// Eight sums side by side, as vectors have them.
#[inline(always)]
pub(crate) fn block<T: Number>(a: &[T], b: &[T], product: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let (a_eights, a_rest) = a.as_chunks::<8>();
    let (b_eights, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_eights.iter().zip(b_eights) {
        for lane in 0..8 {
            sums[lane] += product(a[lane].into(), b[lane].into());
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(&a, &b)| product(a.into(), b.into())).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Diagonal(Vec<f64>);

    impl Operator<f64> for Diagonal {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn apply(&self, field: &[f64], out: &mut [f64]) -> Result<()> {
            out.iter_mut().zip(field).zip(&self.0).for_each(|((out, field), entry)| *out = entry * field);
            Ok(())
        }

        fn preconditioner(&self, out: &mut [f64]) -> Result<()> {
            out.copy_from_slice(&self.0);
            Ok(())
        }
    }

    #[test]
    fn a_diagonal_is_solved_at_once() {
        let solution =
            solve(&Diagonal(vec![2.0, 0.0, 4.0]), &[2.0, 0.0, 2.0], SolveOptions::default()).expect("solved");
        assert_eq!((solution.field.as_slice(), solution.iterations), ([1.0, 0.0, 0.5].as_slice(), 1));
        assert!(solution.converged && solution.true_residual == 0.0);
        assert_eq!(solution.residuals, [1.0, 0.0]);
    }

    #[test]
    fn what_cannot_be_solved_is_said() {
        let matrix = Diagonal(vec![1.0, 0.0]);
        let zero = solve(&matrix, &[0.0, 0.0], SolveOptions::default()).expect("solved");
        assert!(zero.converged && zero.field == [0.0, 0.0]);
        // Nothing solves the second row.
        let none = solve(&matrix, &[1.0, 1.0], SolveOptions::default()).expect("a solution");
        assert!(!none.converged && none.field == [1.0, 0.0] && none.true_residual > 0.5, "{none:?}");
        let at_most = SolveOptions { iterations: 0, ..SolveOptions::default() };
        let none = solve(&matrix, &[1.0, 0.0], at_most).expect("a solution");
        assert!(!none.converged && none.true_residual == 1.0);
        let text = |rhs: &[f64]| solve(&matrix, rhs, SolveOptions::default()).expect_err("nonsense").to_string();
        assert_eq!(text(&[1.0]), "a field of 1 numbers, and the mesh has 2 nodes");
        assert!(text(&[1.0, f64::NAN]).starts_with("the right-hand side is not finite at node 1"));
    }

    #[test]
    fn sums_do_not_depend_on_threads() {
        let numbers: Vec<f32> = (0..100_003).map(|i| (i as f32 * 0.37).sin()).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| dot(&numbers, &numbers))
        };
        assert_eq!((on(1), on(1)), (on(2), on(5)));
    }
}
