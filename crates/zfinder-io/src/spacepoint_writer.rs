//! The trait of all writers of spacepoints.

use crate::error::Result;
use zfinder::RoiView;

/// Writes RoIs with their spacepoints, one after another, in one format.
pub trait SpacepointWriter {
    /// Accepts the next RoI. Writers may buffer it.
    ///
    /// # Errors
    /// An RoI that the format cannot represent, and output that cannot be written.
    fn write(&mut self, roi: RoiView<'_>) -> Result<()>;

    /// Writes all buffered RoIs. A writer that is dropped before leaves its output incomplete.
    ///
    /// # Errors
    /// Output that cannot be written.
    fn finish(self: Box<Self>) -> Result<()>;
}
