//! Text of tables (CSV), and the whole numbers in them.
//!
//! [`open`] opens a file, or standard input for `-`, and decompresses gzip, whatever the name.
//! [`whole`] reads whole numbers also in the form in which pandas writes a column with missing
//! values: `1.0`.
//!
//! ```
//! assert_eq!(table_file::whole::<u64>("7"), Ok(7));
//! assert_eq!(table_file::whole::<u64>("7.0"), Ok(7));
//! assert!(table_file::whole::<u64>("7.5").is_err());
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `source`: [`open`] and [`name`].
//! - `gzip`: decompression.
//! - `number`: [`whole`].

#![forbid(unsafe_code)]

mod gzip;
mod number;
mod source;

pub use number::whole;
pub use source::{name, open};
