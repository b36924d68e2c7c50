//! Text of tables (CSV), and the whole numbers in them.
//!
//! [`open`] opens a file, or standard input for `-`, and unpacks gzip and zstd, whatever the name.
//! [`unpack`] does the same with any bytes. Both refuse files of other formats by their names:
//! bzip2, Arrow, HDF5, JSON, UTF-16, a pointer of Git LFS. [`whole`] reads whole numbers also in
//! the forms in which pandas writes them: `1.0`, `True`. [`Rows`] splits CSV into rows and fields,
//! [`Table`] reads them with a header, and [`read_whole`] reads a file that is kept in memory. They
//! bound the memory that a hostile file can take.
//!
//! ```
//! use std::io::Read;
//!
//! let mut text = String::new();
//! table_file::unpack(&b"x,y,z\n1,2,3\n"[..], &[])?.read_to_string(&mut text)?;
//! assert_eq!(text, "x,y,z\n1,2,3\n");
//!
//! let error = table_file::unpack(&b"BZh91AY&SY"[..], &[]).err().expect("refused").to_string();
//! assert_eq!(error, "this is a bzip2 file: unpack it; gzip and zstd are read as they are");
//!
//! assert_eq!(table_file::whole::<u64>("7.0"), Ok(7));
//! assert!(table_file::whole::<u64>("7.5").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `source`: [`open`] and [`name`].
//! - `unpack`: [`unpack`].
//! - `packing`: members of gzip, and frames of zstd.
//! - `signature`: first bytes of other formats.
//! - `rows`, `table`: [`Rows`] and [`Table`].
//! - `number`: [`whole`].

#![forbid(unsafe_code)]

mod number;
mod packing;
mod rows;
mod signature;
mod source;
mod table;
mod unpack;

pub use number::whole;
pub use packing::Packing;
pub use rows::{MOST_ROWS, RowError, Rows};
pub use source::{name, open, read_text, read_whole};
pub use table::Table;
pub use unpack::{OpenError, unpack};
