//! Nothing: the package exists for its dependencies.
