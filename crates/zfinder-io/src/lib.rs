//! Files of spacepoints, RoIs and truth, and answers and histograms written out.
//!
//! [`inputs`] turns what a user names (files, folders) into a list of files, and [`SpacepointReader`] yields their
//! RoIs one after another; it holds one event in memory at a time. CSV files may be gzipped, columns are found by the
//! header in any order, and every error names file, row (the header being row 1) and column.
//!
//! | format | columns | layer | event, RoI |
//! |---|---|---|---|
//! | own | `x,y,z,layer` or `rho,phi,z,layer` | index into [`Detector::layers`](zfinder::Detector::layers) | `event_id`, `roi_id`, both optional |
//! | ACTS | `x,y,z,geometry_id_1` (or `geometry_id`) | volume and layer bits of the geometry id | `eventNNNNNNNNN` of the file name |
//! | ACTS, older | `sp_x,sp_y,sp_z` | as above with a `geometry_id`, else the layer nearest to the point | as above |
//! | TrackML | `x,y,z,volume_id,layer_id` | volume and layer | as above |
//!
//! Lengths are in mm, azimuths in rad. Without an `event_id` column the event is the number after `event` in the
//! file's name, else 0; without `roi_id` the RoI is 0. Other columns are not looked at, but a column
//! that looks like one of these, as `Event_ID` does, is an error.
//!
//! Parquet files and TTrees of ROOT files (with the cargo feature `root`) have columns and branches of the same names, in
//! any type of numbers; also `volume_id,layer_id` apart, and ROOT's `sp_vollayer` (volume << 8 | layer). A Parquet file
//! has a row a spacepoint, or a row an event or RoI with lists; a TTree has an entry an event or RoI, with jagged arrays
//! or `std::vector`, and it is the first tree of the file that has such branches. There `event_id` (or `event`) is wanted.
//! Rows of Parquet count from 1, and entries of ROOT from 0.
//!
//! Samples of ColliderML are found by their folder or their name, and so are the particles that give their truth; see
//! [`inputs`] and [`is_colliderml`].
//!
//! Standard input, pipes and devices are streams, which are read once and may hold CSV. A [`MemoryFile`] is read as a file is. [`ReadOptions`] limit the
//! spacepoints of an event, and say whether reading goes on after an error. [`Provenance`] says how answers came about,
//! and [`AnswerDigest`] whether two runs have the same.
//!
//! [`CsvWriter`], [`EventFiles`], [`ParquetSpacepoints`] and, with that feature, `RootSpacepoints` write spacepoints.
//!
//! ```no_run
//! use zfinder::{Detector, ZFinder};
//! use zfinder_io as io;
//!
//! let detector = Detector::generic();
//! let finder = ZFinder::builder().detector(detector.clone()).build()?;
//! let inputs = io::inputs(&["data/zee7_mu2".into()])?;
//! for roi in io::SpacepointReader::new(inputs.files, detector, None) {
//!     let result = finder.find(&roi?)?;
//!     println!("event {}: {:?}", result.id.event_id, result.vertices);
//! }
//! # Ok::<(), zfinder_io::Error>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod answers;
mod colliderml;
#[cfg(any(feature = "parquet", feature = "root"))]
mod columns;
mod csv;
mod csv_writer;
mod digest;
mod error;
mod event;
#[cfg(any(feature = "parquet", feature = "root"))]
mod guard;
mod memory;
mod names;
mod objects;
mod parquet;
mod place;
mod provenance;
mod reader;
mod regions;
mod rois;
mod root;
mod rows;
mod seen;
mod shard;
mod source;
mod spacepoint_writer;
mod table;
mod toml;
mod truth;
mod write;

pub use answers::read_answers;
pub use colliderml::is_colliderml;
pub use csv_writer::{CsvWriter, EventFiles};
pub use digest::AnswerDigest;
pub use error::{Error, Result};
pub use event::{Addressing, OnError, ReadOptions, addressing};
pub use memory::MemoryFile;
pub use objects::ObjectTable;
#[cfg(feature = "parquet")]
pub use parquet::{ParquetSpacepoints, ParquetVertices};
pub use provenance::Provenance;
pub use reader::SpacepointReader;
pub use regions::Regions;
pub use rois::RoiTable;
#[cfg(feature = "root")]
pub use root::RootSpacepoints;
pub use shard::Shard;
pub use source::{Inputs, inputs, is_stream, line};
pub use spacepoint_writer::SpacepointWriter;
pub use toml::{config_from_toml, config_to_toml, detector_from_toml, detector_to_toml};
pub use truth::{TruthTable, TruthVertex, primary_z};
pub use write::{CSV_HEADER, ROI_HEADER, write_csv, write_json_line, write_roi};
