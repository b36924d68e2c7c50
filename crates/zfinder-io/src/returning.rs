//! Finds RoIs whose rows do not follow one another, before they are answered.

use std::collections::HashSet;
use std::path::PathBuf;

use zfinder::RoiId;

use super::event::ReadOptions;
use super::formats::visit_ids;
use super::seen::RoiSet;
use super::source::is_stream;

/// Reads the ids of all files, and returns the RoIs that occur in several places: after other
/// events, on several rows with lists, or in several files. Streams are left out, because they can
/// be read only once. A file that cannot be read contributes the rows before its error.
pub(super) fn find_returning_rois(files: &[PathBuf], options: &ReadOptions) -> HashSet<RoiId> {
    let (mut seen, mut returning) = (RoiSet::default(), HashSet::new());
    for file in files.iter().filter(|file| !is_stream(file)) {
        // The RoIs of the current event since its rows began.
        let (mut event, mut rois) = (None, HashSet::new());
        // Reading the file reports its errors.
        let _reported = visit_ids(file, options, &mut |id, is_whole| {
            if event != Some(id.event_id) {
                event = Some(id.event_id);
                rois.clear();
            }
            let is_first_row = rois.insert(id.roi_id);
            if (is_first_row || is_whole) && seen.insert(id, 0).is_some() {
                returning.insert(id);
            }
        });
    }
    returning
}
