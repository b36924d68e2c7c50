//! ROOT files: spacepoints and truth out of a TTree, and spacepoints into one. With the cargo feature `root`.

#[cfg(feature = "root")]
mod read;
#[cfg(feature = "root")]
mod tree;
#[cfg(feature = "root")]
mod write;

use std::path::Path;

use super::event::{Addressing, EventReader};
use super::truth::EventVertices;
use crate::detector::Detector;
use crate::error::Result;

#[cfg(feature = "root")]
pub use write::RootSpacepoints;

/// Opens a file of spacepoints.
///
/// # Errors
/// What is no ROOT file, and one without a tree that has the branches of spacepoints.
#[cfg(feature = "root")]
pub(super) fn open(path: &Path, detector: &Detector) -> Result<Box<dyn EventReader>> {
    Ok(Box::new(super::columns::ColumnReader::new(read::RootTree::open(path)?, detector)))
}

/// How a file says on which layer a spacepoint lies.
///
/// # Errors
/// Those of [`open`].
#[cfg(feature = "root")]
pub(super) fn addressing(path: &Path) -> Result<Addressing> {
    Ok(super::columns::Chunks::schema(&read::RootTree::open(path)?).addressing())
}

/// The primary vertex of each event, in the order of the file, from a tree with the branches `event_id` (or `event`) and
/// `truth_pv_z` \[mm\]; None where no tree has them.
///
/// # Errors
/// Those of [`open`], and a z that is not finite.
#[cfg(feature = "root")]
pub(super) fn read_truth(path: &Path) -> Result<Option<EventVertices>> {
    read::truth(path)
}

#[cfg(not(feature = "root"))]
mod absent {
    use super::*;

    fn absent<T>(path: &Path) -> Result<T> {
        Err(crate::error::Error::Input {
            path: path.to_owned(),
            row: 0,
            column: None,
            message: "this is a ROOT file, and this build cannot read them: build with the cargo feature `root`, or \
                      write Parquet or CSV"
                .into(),
        })
    }

    pub(in crate::io) fn open(path: &Path, _: &Detector) -> Result<Box<dyn EventReader>> {
        absent(path)
    }

    pub(in crate::io) fn addressing(path: &Path) -> Result<Addressing> {
        absent(path)
    }

    pub(in crate::io) fn read_truth(path: &Path) -> Result<Option<EventVertices>> {
        absent(path)
    }
}

#[cfg(not(feature = "root"))]
pub(super) use absent::{addressing, open, read_truth};
