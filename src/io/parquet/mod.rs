//! Parquet files: spacepoints and truth read, spacepoints and vertices written.

mod arrays;
mod headers;
mod read;
mod truth;
mod write;

pub(super) use read::{addressing, open};
pub(super) use truth::read as read_truth;
pub use write::{ParquetSpacepoints, ParquetVertices};
