//! Parquet files: reads spacepoints, objects, truth and answers, writes spacepoints and answers.
//! Needs the cargo feature `parquet`.

#[cfg(feature = "parquet")]
mod answers;
#[cfg(feature = "parquet")]
mod column;
#[cfg(feature = "parquet")]
mod field;
#[cfg(feature = "parquet")]
mod headers;
#[cfg(feature = "parquet")]
mod objects;
#[cfg(feature = "parquet")]
mod read;
#[cfg(feature = "parquet")]
mod table;
#[cfg(feature = "parquet")]
mod truth;
#[cfg(feature = "parquet")]
mod write;
#[cfg(all(feature = "parquet", any(target_arch = "wasm32", test)))]
mod zstd;

use std::collections::HashMap;
use std::path::Path;

use zfinder::region::SeedObject;
use zfinder::{Detector, Results, RoiId};

use super::event::{Addressing, EventReader, ReadOptions};
use super::truth_vertex::EventVertices;
use crate::column_map::ColumnMap;
use crate::error::Result;

#[cfg(feature = "parquet")]
pub use write::{ParquetSpacepoints, ParquetTracklets, ParquetVertices};

/// Opens a file of spacepoints.
///
/// # Errors
/// A file that is not Parquet, and one without the columns of spacepoints.
pub(super) fn open(path: &Path, detector: &Detector, options: &ReadOptions) -> Result<Box<dyn EventReader>> {
    #[cfg(feature = "parquet")]
    let opened = read::open(path, detector, options).map(|reader| Box::new(reader) as _);
    #[cfg(not(feature = "parquet"))]
    let opened = {
        let _ = (detector, options);
        crate::event::not_built(path, "Parquet", "parquet")
    };
    opened
}

/// Calls `visit` with event and RoI of each row, and with whether the row is a whole RoI.
///
/// # Errors
/// As [`open`].
pub(super) fn visit_ids(path: &Path, columns: &ColumnMap, visit: &mut dyn FnMut(RoiId, bool)) -> Result<()> {
    #[cfg(feature = "parquet")]
    let visited = read::visit_ids(path, columns, visit);
    #[cfg(not(feature = "parquet"))]
    let visited = {
        let _ = (columns, visit);
        crate::event::not_built(path, "Parquet", "parquet")
    };
    visited
}

/// Returns how a file addresses the layers of spacepoints.
///
/// # Errors
/// As [`open`].
pub(super) fn addressing(path: &Path, columns: &ColumnMap) -> Result<Addressing> {
    #[cfg(feature = "parquet")]
    let addressing = read::addressing(path, columns);
    #[cfg(not(feature = "parquet"))]
    let addressing = {
        let _ = columns;
        crate::event::not_built(path, "Parquet", "parquet")
    };
    addressing
}

/// Returns the primary vertices of each event, in the order of the file.
///
/// # Errors
/// As [`open`], and a z that is not finite.
pub(super) fn read_truth(path: &Path, columns: &ColumnMap) -> Result<EventVertices> {
    #[cfg(feature = "parquet")]
    let truth = truth::read(path, columns);
    #[cfg(not(feature = "parquet"))]
    let truth = {
        let _ = columns;
        crate::event::not_built(path, "Parquet", "parquet")
    };
    truth
}

/// Returns the first and the last event of a file, if its statistics tell.
///
/// # Errors
/// A file that is not Parquet.
pub(super) fn event_range(path: &Path) -> Result<Option<[u64; 2]>> {
    #[cfg(feature = "parquet")]
    let range = table::Table::open(path).map(|table| table.range("event_id"));
    #[cfg(not(feature = "parquet"))]
    let range = crate::event::not_built(path, "Parquet", "parquet");
    range
}

/// Returns all objects of a file by their events.
///
/// # Errors
/// A file that is not Parquet, one without the columns of objects, and an object that is invalid.
pub(super) fn read_objects(path: &Path) -> Result<HashMap<u64, Vec<SeedObject>>> {
    #[cfg(feature = "parquet")]
    let objects = objects::read(path);
    #[cfg(not(feature = "parquet"))]
    let objects = crate::event::not_built(path, "Parquet", "parquet");
    objects
}

/// Returns all answers of a file.
///
/// # Errors
/// A file that is not Parquet, and one without the columns of answers.
pub(super) fn read_answers(path: &Path) -> Result<Results> {
    #[cfg(feature = "parquet")]
    let answers = answers::read(path);
    #[cfg(not(feature = "parquet"))]
    let answers = crate::event::not_built(path, "Parquet", "parquet");
    answers
}
