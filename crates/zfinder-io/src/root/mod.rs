//! ROOT files: reads spacepoints and truth from a TTree or an RNTuple, and writes spacepoints to a
//! TTree. Requires the feature `root`.

#[cfg(feature = "root")]
mod checksum;
#[cfg(feature = "root")]
mod ntuple;
#[cfg(feature = "root")]
mod objects;
#[cfg(feature = "root")]
mod read;
#[cfg(feature = "root")]
mod tree;
#[cfg(feature = "root")]
mod truth;
#[cfg(feature = "root")]
mod write;

use std::path::Path;

#[cfg(feature = "root")]
use objects::{Entries, find_spacepoints};
use zfinder::{Detector, RoiId};

use super::event::{Addressing, EventReader, ReadOptions};
use super::truth_vertex::EventVertices;
use crate::error::Result;

#[cfg(feature = "root")]
pub use write::RootSpacepoints;

/// Opens a file of spacepoints.
///
/// # Errors
/// A file that is not ROOT, and one without a TTree or RNTuple of spacepoints.
pub(super) fn open(path: &Path, detector: &Detector, options: &ReadOptions) -> Result<Box<dyn EventReader>> {
    #[cfg(feature = "root")]
    let opened = {
        use super::columns::ColumnReader;
        match find_spacepoints(path, options)? {
            Entries::Tree(name) => {
                let tree = read::RootTree::open(path, options, &name)?;
                Ok(Box::new(ColumnReader::new(tree, detector, options)) as _)
            }
            Entries::NTuple(name) => {
                let ntuple = ntuple::NTupleFile::open(path, &name, options)?;
                Ok(Box::new(ColumnReader::new(ntuple, detector, options)) as _)
            }
        }
    };
    #[cfg(not(feature = "root"))]
    let opened = {
        let _ = (detector, options);
        crate::event::not_built(path, "ROOT", "root")
    };
    opened
}

/// Returns how a file gives the layer of a spacepoint.
///
/// # Errors
/// As [`open`].
pub(super) fn addressing(path: &Path, options: &ReadOptions) -> Result<Addressing> {
    #[cfg(feature = "root")]
    let addressing = {
        use super::columns::Chunks;
        Ok(match find_spacepoints(path, options)? {
            Entries::Tree(name) => read::RootTree::open(path, options, &name)?.schema().addressing(),
            Entries::NTuple(name) => ntuple::NTupleFile::open(path, &name, options)?.schema().addressing(),
        })
    };
    #[cfg(not(feature = "root"))]
    let addressing = {
        let _ = options;
        crate::event::not_built(path, "ROOT", "root")
    };
    addressing
}

/// Returns whether any tree of a file has the branches of spacepoints.
pub(super) fn has_spacepoints(path: &Path) -> bool {
    #[cfg(feature = "root")]
    return objects::has_spacepoints(path);
    #[cfg(not(feature = "root"))]
    return {
        let _ = path;
        false
    };
}

/// Calls `visit` with event and RoI of each entry, and with whether the entry is a whole RoI.
///
/// # Errors
/// As [`open`].
pub(super) fn visit_ids(path: &Path, options: &ReadOptions, visit: &mut dyn FnMut(RoiId, bool)) -> Result<()> {
    #[cfg(feature = "root")]
    let visited = match find_spacepoints(path, options)? {
        Entries::Tree(name) => read::visit_ids(path, &name, options, visit),
        Entries::NTuple(name) => ntuple::visit_ids(path, &name, options, visit),
    };
    #[cfg(not(feature = "root"))]
    let visited = {
        let _ = (options, visit);
        crate::event::not_built(path, "ROOT", "root")
    };
    visited
}

/// Returns the primary vertex of each event, in the order of the file, from a tree with the
/// branches of the event number and `truth_pv_z` \[mm\]. None if no tree has them.
///
/// # Errors
/// As [`open`], and a z that is not finite.
pub(super) fn read_truth(path: &Path, options: &ReadOptions) -> Result<Option<EventVertices>> {
    #[cfg(feature = "root")]
    let truth = match objects::find_truth(path, options)? {
        Some(Entries::Tree(name)) => truth::truth(path, &name, &options.columns),
        Some(Entries::NTuple(name)) => ntuple::truth(path, &name, &options.columns),
        None => Ok(None),
    };
    #[cfg(not(feature = "root"))]
    let truth = {
        let _ = options;
        crate::event::not_built(path, "ROOT", "root")
    };
    truth
}
