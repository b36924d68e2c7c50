#![doc = include_str!("../README.md")]

mod array;
mod block;
mod bytes;
mod clusters;
mod column;
mod container;
mod error;
mod ntuple;
mod schema;
mod selection;
#[cfg(feature = "testing")]
pub mod testing;

pub use array::{Array, Numbers};
pub use container::{Object, RootFile};
pub use error::{Error, Result};
pub use ntuple::NTuple;
pub use schema::{Field, Role};
pub use selection::Selection;
