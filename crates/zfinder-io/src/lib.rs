//! Reads files of spacepoints, RoIs and truth, and writes answers and spacepoints.
//!
//! [`inputs`] expands files and folders into a list of files. [`SpacepointReader`] yields their
//! RoIs one after another, and holds one event in memory at a time. CSV files may be packed with
//! gzip or zstd.
//! Columns are found by the header, in any order. Every error names file, row (the header is row 1)
//! and column.
//!
//! | format | columns | layer | event, RoI |
//! |---|---|---|---|
//! | own | `x,y,z,layer` or `rho,phi,z,layer` | index into [`Detector::layers`](zfinder::Detector::layers) | `event_id`, `roi_id`, both optional |
//! | ACTS | `x,y,z,geometry_id_1` (or `geometry_id`) | volume and layer bits of the geometry id | `eventNNNNNNNNN` of the file name |
//! | ACTS, older | `sp_x,sp_y,sp_z` | as above with a `geometry_id`, else the layer nearest to the point | as above |
//! | ACTS, true hits | `tx,ty,tz,geometry_id` | as above | as above |
//! | TrackML | `x,y,z,volume_id,layer_id` | volume and layer | as above |
//!
//! Lengths are in mm, azimuths in rad. Without a column `event_id` the event is the number after
//! `event` in the file's name, else 0; without `roi_id` the RoI is 0. Other columns are ignored,
//! but a column with a similar name, such as `Event_ID`, is an error.
//!
//! Parquet files (feature `parquet`), and TTrees and RNTuples of ROOT files (feature `root`), have
//! columns of the same names, with numbers of any type. They may also have `volume_id,layer_id` as
//! two columns, and ROOT's `sp_vollayer` (volume << 8 | layer). A row or entry is a spacepoint, or
//! an event or RoI with lists; then `event_id` (or `event`) is required. Columns may be members of
//! records: `hits.x`. Of a ROOT file the only tree or RNTuple with these columns is read. Rows of
//! Parquet count from 1, and entries of ROOT from 0.
//!
//! Ids and layers may be floats that are whole and booleans, because pandas writes such columns.
//!
//! Samples of ColliderML are found by their folder or their name, with the particles that give
//! their truth; see [`inputs`] and [`is_colliderml`].
//!
//! Standard input, pipes and devices are streams: they are read once and may hold CSV. A
//! [`MemoryFile`] is read like a file. [`ReadOptions`] limits the spacepoints of an event, sets the
//! reaction to errors, and leaves out hits without a measurement. [`Provenance`] records how
//! answers were computed, and [`AnswerDigest`] compares the answers of two runs.
//!
//! [`CsvWriter`], [`EventFiles`], `ParquetSpacepoints` and `RootSpacepoints` write spacepoints.
//!
//! ```no_run
//! use zfinder::{Detector, ZFinder};
//! use zfinder_io as io;
//!
//! let detector = Detector::generic();
//! let finder = ZFinder::builder(detector.clone()).build()?;
//! let inputs = io::inputs(&["data/zee7_mu2".into()])?;
//! for roi in io::SpacepointReader::new(inputs.files, detector, None) {
//!     let results = finder.find(&roi?)?;
//!     println!("event {}: {:?}", results.event_ids()[0], results.vertices());
//! }
//! # Ok::<(), zfinder_io::Error>(())
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `reader`, `formats`, `event`: [`SpacepointReader`] yields RoIs, and a trait reads each format
//!   by events.
//! - `seen`, `returning`: RoIs that were read, and RoIs whose rows do not follow one another.
//! - `source`, `memory`: files and streams; `inputs`, `colliderml`: the files that a folder stands
//!   for.
//! - `csv`, `table`: CSV, from rows to spacepoints.
//! - `whole`: whole numbers in any form.
//! - `column_map`, `schema`, `columns`, `parquet`, `root`, `guard`: columns of spacepoints in
//!   Parquet and ROOT files, and their names.
//! - `place`: the layer of a spacepoint, from the address in its file.
//! - `rois`, `objects`, `regions`, `event_numbers`, `shard`: the RoIs and events that are searched.
//! - `truth_vertex`, `truth`, `answers`: true vertices, and answers of earlier searches.
//! - `answer_columns`, `write`, `csv_writer`, `spacepoint_writer`: answers and spacepoints as text,
//!   and their trait.
//! - `toml`: configurations and detectors; `provenance`, `digest`: the origin of answers.
//! - `error`: failures, with file, row and column.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod answer_columns;
mod answers;
mod colliderml;
mod column_map;
#[cfg(any(feature = "parquet", feature = "root"))]
mod columns;
mod csv;
mod csv_writer;
mod digest;
mod error;
mod event;
mod event_numbers;
mod formats;
#[cfg(any(feature = "parquet", feature = "root"))]
mod guard;
mod inputs;
mod memory;
mod objects;
mod parquet;
mod place;
mod provenance;
mod reader;
mod regions;
mod returning;
mod rois;
mod root;
#[cfg(any(feature = "parquet", feature = "root"))]
mod schema;
mod seen;
mod shard;
mod source;
mod spacepoint_writer;
mod table;
mod toml;
mod truth;
mod truth_vertex;
mod whole;
mod write;

pub use answer_columns::{VertexColumns, tracklet_csv_header, write_tracklets_csv};
pub use answers::read_answers;
pub use colliderml::is_colliderml;
pub use column_map::ColumnMap;
pub use csv_writer::{CsvWriter, EventFiles};
pub use digest::AnswerDigest;
pub use error::{Error, Result};
pub use event::{Addressing, OnError, ReadOptions};
pub use event_numbers::EventNumbers;
pub use formats::addressing;
pub use inputs::{Inputs, inputs};
pub use memory::MemoryFile;
pub use objects::ObjectTable;
#[cfg(feature = "parquet")]
pub use parquet::{ParquetSpacepoints, ParquetTracklets, ParquetVertices};
pub use provenance::Provenance;
pub use reader::SpacepointReader;
pub use regions::Regions;
pub use rois::RoiTable;
#[cfg(feature = "root")]
pub use root::RootSpacepoints;
pub use seen::RoiSet;
pub use shard::Shard;
pub use source::{is_stream, line};
pub use spacepoint_writer::SpacepointWriter;
pub use toml::{config_from_toml, config_summary, config_to_toml, detector_from_toml, detector_to_toml};
pub use truth::{TruthTable, primary_z};
pub use truth_vertex::{TrueZ, TruthVertex};
pub use write::{CSV_HEADER, ROI_HEADER, write_csv, write_json, write_json_line, write_roi};
