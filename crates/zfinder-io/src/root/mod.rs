//! ROOT files: reads spacepoints and truth from a TTree, and writes spacepoints to one. Requires
//! the feature `root`.

#[cfg(feature = "root")]
mod checksum;
#[cfg(feature = "root")]
mod read;
#[cfg(feature = "root")]
mod tree;
#[cfg(feature = "root")]
mod write;

use std::path::Path;

use zfinder::Detector;

use super::event::{Addressing, EventReader, ReadOptions};
use super::truth::EventVertices;
use crate::error::Result;

#[cfg(feature = "root")]
pub use write::RootSpacepoints;

/// Opens a file of spacepoints.
///
/// # Errors
/// A file that is not ROOT, and one without a tree that has the branches of spacepoints.
pub(super) fn open(path: &Path, detector: &Detector, options: ReadOptions) -> Result<Box<dyn EventReader>> {
    #[cfg(feature = "root")]
    let opened = read::RootTree::open(path, options.max_spacepoints)
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
pub(super) fn addressing(path: &Path) -> Result<Addressing> {
    #[cfg(feature = "root")]
    let addressing =
        read::RootTree::open(path, usize::MAX).map(|tree| super::columns::Chunks::schema(&tree).addressing());
    #[cfg(not(feature = "root"))]
    let addressing = crate::event::not_built(path, "ROOT", "root");
    addressing
}

/// Returns the primary vertex of each event, in the order of the file, from a tree with the
/// branches `event_id` (or `event`) and `truth_pv_z` \[mm\]. None if no tree has them.
///
/// # Errors
/// As [`open`], and a z that is not finite.
pub(super) fn read_truth(path: &Path) -> Result<Option<EventVertices>> {
    #[cfg(feature = "root")]
    let truth = read::truth(path);
    #[cfg(not(feature = "root"))]
    let truth = crate::event::not_built(path, "ROOT", "root");
    truth
}
