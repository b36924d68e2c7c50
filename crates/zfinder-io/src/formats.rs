//! Reads a file in the format of its content.

use std::path::Path;

use super::column_map::ColumnMap;
use super::csv::{self, CsvEvents};
use super::event::{Addressing, EventReader, ReadOptions};
use super::source::{self, Container};
use super::{parquet, root};
use crate::error::Result;
use zfinder::{Detector, RoiId};

/// Returns how a file gives the layer of a spacepoint, from its header.
///
/// # Errors
/// A file that cannot be read, an empty one, and one that lacks columns.
pub fn addressing(path: &Path, options: &ReadOptions) -> Result<Addressing> {
    match source::container(path)? {
        Container::Csv => csv::addressing(path, &options.columns),
        Container::Parquet => parquet::addressing(path, &options.columns),
        Container::Root => root::addressing(path, options),
    }
}

/// Returns whether a file has the columns of spacepoints.
pub(super) fn has_spacepoints(path: &Path) -> bool {
    match source::container(path) {
        Ok(Container::Csv) => csv::addressing(path, &ColumnMap::default()).is_ok(),
        Ok(Container::Parquet) => parquet::addressing(path, &ColumnMap::default()).is_ok(),
        Ok(Container::Root) => root::has_spacepoints(path),
        Err(_) => false,
    }
}

/// Calls `visit` with event and RoI of each row, and with whether the row is a whole RoI.
///
/// # Errors
/// An error that ends the file.
pub(super) fn visit_ids(path: &Path, options: &ReadOptions, visit: &mut dyn FnMut(RoiId, bool)) -> Result<()> {
    match source::container(path)? {
        Container::Csv => csv::visit_ids(path, &options.columns, &mut |id| visit(id, false)),
        Container::Parquet => parquet::visit_ids(path, &options.columns, visit),
        Container::Root => root::visit_ids(path, options, visit),
    }
}

/// Opens a file in the format of its content.
pub(super) fn open(path: &Path, detector: &Detector, options: &ReadOptions) -> Result<Box<dyn EventReader>> {
    Ok(match source::container(path)? {
        Container::Csv => Box::new(CsvEvents::open(path, detector, options)?),
        Container::Parquet => parquet::open(path, detector, options)?,
        Container::Root => root::open(path, detector, options)?,
    })
}
