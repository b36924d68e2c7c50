//! One trait for all formats: reads a file event by event.

use std::path::Path;

use super::csv::{self, CsvEvents};
use super::source::{self, Container};
use super::{parquet, root};
use crate::error::{Error, Result};
use zfinder::{Detector, RoiId, Spacepoint};

/// One event of a file.
pub(super) struct Event {
    pub(super) event_id: u64,
    /// The RoIs by number, in the order of their first rows, each with all of its spacepoints.
    /// Empty if the event is left out because of an error.
    pub(super) rois: Vec<(u64, Vec<Spacepoint>)>,
}

/// Reads events from one file, with one event in memory.
pub(super) trait EventReader: Send {
    /// Returns whether the file says which RoI a spacepoint belongs to.
    fn has_rois(&self) -> bool;

    /// Returns the next event; None at the end.
    ///
    /// # Errors
    /// An error that ends the file. With [`OnError::Skip`], other errors are
    /// [faults](EventReader::take_faults).
    fn next_event(&mut self) -> Result<Option<Event>>;

    /// Takes the errors that were skipped.
    fn take_faults(&mut self) -> Faults;
}

/// The reaction of a reader to an error in a file of spacepoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Reading ends.
    #[default]
    Stop,
    /// The error is reported, and reading continues with the next row, event or file. An RoI is
    /// never answered from a part of its spacepoints: a bad row becomes an invalid spacepoint, so
    /// that the status of its RoI is [`BadSpacepoint`](zfinder::Status::BadSpacepoint).
    Skip,
}

/// Options for reading files of spacepoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The reaction to an error.
    pub on_error: OnError,
    /// Most spacepoints of an event. An event with more is an error, which bounds the memory.
    pub max_spacepoints: usize,
    /// Name of the tree of a ROOT file. None: its only tree with spacepoints.
    pub tree: Option<String>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { on_error: OnError::Stop, max_spacepoints: Self::MAX_SPACEPOINTS, tree: None }
    }
}

impl ReadOptions {
    /// The default of [`ReadOptions::max_spacepoints`]: several times a full event of the HL-LHC.
    pub const MAX_SPACEPOINTS: usize = 2_000_000;

    pub(super) fn skips(&self) -> bool {
        self.on_error == OnError::Skip
    }
}

/// Returns the reason for refusing an event above the limit of spacepoints.
pub(super) fn too_many(event_id: u64, most: usize) -> String {
    format!("event {event_id} has more than {most} spacepoints; if that is right, raise max_spacepoints")
}

/// Returns the reason for refusing an azimuth beyond [`Spacepoint::MAX_PHI`].
pub(super) fn no_azimuth(phi: f64) -> String {
    format!("phi is {phi} and must lie in [-2 pi, 2 pi]: phi is in radians, are these degrees?")
}

/// A spacepoint in place of an unreadable one.
pub(super) const INVALID: Spacepoint = Spacepoint { rho: f64::NAN, phi: 0.0, z: 0.0, layer: 0 };

/// Skipped errors: the first few, and the number of the rest.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) first: Vec<Error>,
    pub(super) more: u64,
}

impl Faults {
    /// A file may have an error in each row.
    const KEPT: usize = 10;

    pub(super) fn add(&mut self, error: Error) {
        if self.is_full() {
            self.more += 1;
        } else {
            self.first.push(error);
        }
    }

    /// Returns whether further errors are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.first.len() >= Self::KEPT
    }
}

/// The way in which a file gives the layer of a spacepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// The index of the detector's layer.
    Index,
    /// Volume and layer, separately or in ACTS's geometry id, or the position alone.
    Geometry,
}

/// Returns how a file gives the layer of a spacepoint, from its header. `tree` is as
/// [`ReadOptions::tree`].
///
/// # Errors
/// A file that cannot be read, an empty one, and one that lacks columns.
pub fn addressing(path: &Path, tree: Option<&str>) -> Result<Addressing> {
    match source::container(path)? {
        Container::Csv => csv::addressing(path),
        Container::Parquet => parquet::addressing(path),
        Container::Root => root::addressing(path, tree),
    }
}

/// Returns whether a file has the columns of spacepoints.
pub(super) fn has_spacepoints(path: &Path) -> bool {
    match source::container(path) {
        Ok(Container::Csv) => csv::addressing(path).is_ok(),
        Ok(Container::Parquet) => parquet::addressing(path).is_ok(),
        Ok(Container::Root) => root::has_spacepoints(path),
        Err(_) => false,
    }
}

/// Calls `visit` with event and RoI of each row, and with whether the row is a whole RoI.
///
/// # Errors
/// An error that ends the file.
pub(super) fn visit_ids(path: &Path, tree: Option<&str>, visit: &mut dyn FnMut(RoiId, bool)) -> Result<()> {
    match source::container(path)? {
        Container::Csv => csv::visit_ids(path, &mut |id| visit(id, false)),
        Container::Parquet => parquet::visit_ids(path, visit),
        Container::Root => root::visit_ids(path, tree, &mut |id| visit(id, true)),
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

/// Returns the error for a file whose format this build leaves out.
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
