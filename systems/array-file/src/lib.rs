//! Named arrays in files that `numpy.load` and `numpy.savez` understand (`.npz`).
//!
//! [`ArrayFile`] reads: a header is checked against the bytes that follow before memory is
//! allocated, and the archive's checksums are verified. [`ArrayWriter`] writes.
//!
//! ```
//! use std::io::Cursor;
//!
//! use array_file::ArrayWriter;
//!
//! let mut bytes = Cursor::new(Vec::new());
//! let mut file = ArrayWriter::new(&mut bytes);
//! file.array("place", &[2, 3], [1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! file.column("charge", [1_i64, -1])?;
//! file.finish()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `read`: [`ArrayFile`] and [`Error`].
//! - `write`: [`ArrayWriter`].

#![forbid(unsafe_code)]

mod read;
mod write;

pub use read::{ArrayFile, Error};
pub use write::ArrayWriter;
