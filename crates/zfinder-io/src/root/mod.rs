//! ROOT files: reads spacepoints and truth from a TTree, and writes spacepoints to one. Requires
//! the feature `root`.

#[cfg(feature = "root")]
mod checksum;
#[cfg(feature = "root")]
mod read;
#[cfg(feature = "root")]
mod tree;
#[cfg(feature = "root")]
mod truth;
#[cfg(feature = "root")]
mod write;

use std::path::Path;

use zfinder::{Detector, RoiId};

use super::event::{Addressing, EventReader, ReadOptions};
use super::truth_vertex::EventVertices;
use crate::error::Result;

#[cfg(feature = "root")]
pub use write::RootSpacepoints;

/// Opens a file of spacepoints.
///
/// # Errors
/// A file that is not ROOT, and one without a tree that has the branches of spacepoints.
pub(super) fn open(path: &Path, detector: &Detector, options: &ReadOptions) -> Result<Box<dyn EventReader>> {
    #[cfg(feature = "root")]
    let opened = read::RootTree::open(path, options.max_spacepoints, options.tree.as_deref())
        .map(|tree| Box::new(super::columns::ColumnReader::new(tree, detector, options)) as _);
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
pub(super) fn addressing(path: &Path, tree: Option<&str>) -> Result<Addressing> {
    #[cfg(feature = "root")]
    let addressing =
        read::RootTree::open(path, usize::MAX, tree).map(|tree| super::columns::Chunks::schema(&tree).addressing());
    #[cfg(not(feature = "root"))]
    let addressing = {
        let _ = tree;
        crate::event::not_built(path, "ROOT", "root")
    };
    addressing
}

/// Returns whether any tree of a file has the branches of spacepoints.
pub(super) fn has_spacepoints(path: &Path) -> bool {
    #[cfg(feature = "root")]
    return read::has_spacepoints(path);
    #[cfg(not(feature = "root"))]
    return {
        let _ = path;
        false
    };
}

/// Calls `visit` with event and RoI of each entry.
///
/// # Errors
/// As [`open`].
pub(super) fn visit_ids(path: &Path, tree: Option<&str>, visit: &mut dyn FnMut(RoiId)) -> Result<()> {
    #[cfg(feature = "root")]
    let visited = read::visit_ids(path, tree, visit);
    #[cfg(not(feature = "root"))]
    let visited = {
        let _ = (tree, visit);
        crate::event::not_built(path, "ROOT", "root")
    };
    visited
}

/// Returns the primary vertex of each event, in the order of the file, from a tree with the
/// branches of the event number and `truth_pv_z` \[mm\]. None if no tree has them.
///
/// # Errors
/// As [`open`], and a z that is not finite.
pub(super) fn read_truth(path: &Path, tree: Option<&str>) -> Result<Option<EventVertices>> {
    #[cfg(feature = "root")]
    let truth = truth::truth(path, tree);
    #[cfg(not(feature = "root"))]
    let truth = {
        let _ = tree;
        crate::event::not_built(path, "ROOT", "root")
    };
    truth
}
