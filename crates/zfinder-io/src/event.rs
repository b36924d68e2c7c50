//! One trait for all formats: events, the reaction to errors, and the limits of reading.

#[cfg(not(all(feature = "parquet", feature = "root")))]
use std::path::Path;

use crate::column_map::ColumnMap;
use crate::error::{Error, Result};
use zfinder::Spacepoint;

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

    /// Returns the number of bytes of the file, as stored, that were read so far; 0 if unknown.
    fn bytes_read(&self) -> u64 {
        0
    }

    /// Takes the errors that were skipped, and the counts of what was left out.
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
    /// Name of the tree or RNTuple of a ROOT file. None: the only one with spacepoints.
    pub tree: Option<String>,
    /// Leaves out spacepoints whose position or layer is missing: NaN, infinite, null or an empty
    /// field, as of hits without a measurement. [`SpacepointReader::warnings`] counts them. Without
    /// it they are errors.
    ///
    /// [`SpacepointReader::warnings`]: crate::SpacepointReader::warnings
    pub drop_invalid: bool,
    /// Names of columns, branches and fields that differ from those of the formats.
    pub columns: ColumnMap,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            on_error: OnError::Stop,
            max_spacepoints: Self::MAX_SPACEPOINTS,
            tree: None,
            drop_invalid: false,
            columns: ColumnMap::default(),
        }
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

/// Errors and counts that a reader gives beside spacepoints.
#[derive(Default)]
pub(super) struct Faults {
    /// The first skipped errors, and the number of the rest.
    pub(super) first: Vec<Error>,
    pub(super) more: u64,
    /// Number of spacepoints that [`ReadOptions::drop_invalid`] left out.
    pub(super) dropped: u64,
    /// The error of a file without rows, unless other files of the input have some.
    pub(super) empty: Option<Error>,
}

/// A layer in place of a missing one, where [`ReadOptions::drop_invalid`] leaves out its
/// spacepoint.
pub(super) const MISSING: u64 = u64::MAX;

/// The end of an error about a spacepoint without a position.
pub(super) const DROP_ADVICE: &str = "; drop_invalid leaves spacepoints without a position out";

/// Returns the reason for refusing a coordinate that is not finite.
pub(super) fn not_finite(value: f64) -> String {
    let advice = if value.is_nan() { DROP_ADVICE } else { "" };
    format!("{value} is not finite{advice}")
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
