//! The engines that assemble.

pub(crate) mod cpu;
pub(crate) mod gpu;
pub(crate) mod reference;

/// A matrix of the problem, applied to a field. No matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// M u: integrals of u times each node's function. The report's `rhs_1`.
    Mass,
    /// S u: integrals of the gradient of u times that of each node's function. The report's `rhs`.
    Stiffness,
    /// (M + S) u: the left-hand side of the Helmholtz problem.
    Helmholtz,
}

impl Action {
    /// All actions.
    pub const ALL: [Self; 3] = [Self::Mass, Self::Stiffness, Self::Helmholtz];
}
