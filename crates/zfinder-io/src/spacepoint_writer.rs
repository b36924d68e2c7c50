//! What every writer of spacepoints does.

use crate::error::Result;
use zfinder::RoiView;

/// Writes RoIs with their spacepoints, one after another, in one format.
pub trait SpacepointWriter {
    /// Takes the next RoI; when it reaches the file is the writer's business.
    ///
    /// # Errors
    /// An RoI that the format has no room for, and output that cannot be written.
    fn write(&mut self, roi: RoiView<'_>) -> Result<()>;

    /// Writes what is left. A writer that is dropped without it leaves its output incomplete.
    ///
    /// # Errors
    /// Output that cannot be written.
    fn finish(self: Box<Self>) -> Result<()>;
}
