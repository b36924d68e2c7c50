//! One trait before all formats: events out of a file, one after another.

use std::path::Path;

use super::csv::{self, CsvEvents};
use super::source::{self, Container};
use super::{parquet, root};
use crate::error::{Error, Result};
use zfinder::Detector;
use zfinder::Spacepoint;

/// One event of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    pub(super) event_id: u64,
    /// Its RoIs by their numbers, in the order of their first rows, each with all of its spacepoints.
    pub(super) rois: Vec<(u64, Vec<Spacepoint>)>,
}

/// Events out of one file, in the memory of one event.
pub(super) trait EventReader: Send {
    /// Whether the file itself says which RoI a spacepoint belongs to.
    fn has_rois(&self) -> bool;

    /// The next event; None at the end.
    fn next_event(&mut self) -> Result<Option<Event>>;
}

/// How a file says on which layer a spacepoint lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// By the index of the detector's layer.
    Index,
    /// By volume and layer, apart or in ACTS's geometry id, or by nothing but the position.
    Geometry,
}

/// How a file says on which layer a spacepoint lies, from its header.
///
/// # Errors
/// A file that cannot be read, an empty one, and one that lacks columns.
pub fn addressing(path: &Path) -> Result<Addressing> {
    match container(path)? {
        Container::Csv => csv::addressing(path),
        Container::Parquet => parquet::addressing(path),
        Container::Root => root::addressing(path),
    }
}

/// Opens a file in whichever format its content is.
pub(super) fn open(path: &Path, detector: &Detector) -> Result<Box<dyn EventReader>> {
    Ok(match container(path)? {
        Container::Csv => Box::new(CsvEvents::open(path, detector)?),
        Container::Parquet => parquet::open(path, detector)?,
        Container::Root => root::open(path, detector)?,
    })
}

fn container(path: &Path) -> Result<Container> {
    let container = source::container(path)?;
    if container != Container::Csv && source::is_standard_input(path) {
        let message = format!("{container:?} files are read from their end: save this in a file, and read that");
        return Err(Error::Input { path: source::named(path), row: 0, column: None, message });
    }
    Ok(container)
}

/// The error for a file of a format that this build leaves out.
#[cfg(not(all(feature = "parquet", feature = "root")))]
pub(super) fn not_built<T>(path: &Path, format: &str, feature: &str) -> Result<T> {
    Err(Error::Input {
        path: path.to_owned(),
        row: 0,
        column: None,
        message: format!(
            "this is a {format} file, and this build cannot read them: build with the cargo feature `{feature}`, or write CSV"
        ),
    })
}
