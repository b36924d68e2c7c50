//! Named arrays in files that `numpy.load` and `numpy.savez` understand (`.npz`).
//!
//! [`ArrayFile`] reads: a header is checked against the bytes that follow before memory is
//! allocated, and the archive's checksums are verified. [`read_npy`] reads a single array (`.npy`).
//! [`ArrayWriter`] writes.
//!
//! Arrays are converted to the [`Element`] type that the caller asks for. These types are read, in
//! either byte order and by rows or by columns (`fortran_order`): bool, integers of 8 to 64 bits,
//! and floats of 16, 32 and 64 bits.
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
//! - `read`: [`ArrayFile`], [`read_npy`] and [`Error`].
//! - `element`: [`Element`], the types that are read, and conversions.
//! - `write`: [`ArrayWriter`].

#![forbid(unsafe_code)]

mod element;
mod read;
mod write;

pub use element::Element;
pub use read::{ArrayFile, Error, read_npy};
pub use write::{ArrayWriter, ZipStream};
