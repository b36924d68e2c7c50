//! RoIs out of files, one after another.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;

use super::rois::RoiTable;
use super::spacepoints::{self, FileContent};
use crate::detector::Detector;
use crate::error::{Error, Result};
use crate::spacepoint::{Roi, RoiDescriptor, RoiId, Spacepoint};

/// Yields every RoI of a list of files, a file in memory at a time. Ends after the first error.
///
/// - Rows of an RoI need not follow one another within a file. The same (event, RoI) in two files is an error.
/// - With a [`RoiTable`] and files that have a `roi_id` column, the table's window, eta and z range go to the RoI of
///   the same (event, RoI). An RoI that the table does not have keeps the default window.
/// - With a [`RoiTable`] and a file without that column, each RoI of the table is given all spacepoints of its event,
///   of which its window then selects. An event for which the table has no RoI is left out.
/// - RoIs of the table for which there was no spacepoint come last, and are empty.
///
/// What was left out or stayed empty is counted in [`SpacepointReader::warnings`].
pub struct SpacepointReader {
    files: Vec<PathBuf>,
    /// How many of them were read.
    read: usize,
    detector: Detector,
    rois: Option<RoiTable>,
    pending: VecDeque<Pending>,
    /// Which file every RoI came from.
    origin: HashMap<RoiId, usize>,
    events: HashSet<u64>,
    without_line: u64,
    events_left_out: u64,
    rois_without_event: u64,
    finished: bool,
}

/// Spacepoints, and the RoIs that they are for.
struct Pending {
    spacepoints: Vec<Spacepoint>,
    descriptors: VecDeque<RoiDescriptor>,
}

impl SpacepointReader {
    /// Reads these files, as [`inputs`](super::inputs) lists them. Nothing is opened before the first RoI is asked for.
    pub fn new(files: Vec<PathBuf>, detector: Detector, rois: Option<RoiTable>) -> Self {
        Self {
            files,
            read: 0,
            detector,
            rois,
            pending: VecDeque::new(),
            origin: HashMap::new(),
            events: HashSet::new(),
            without_line: 0,
            events_left_out: 0,
            rois_without_event: 0,
            finished: false,
        }
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// How many files have been read.
    pub fn files_read(&self) -> usize {
        self.read
    }

    /// How many events have been seen in the files.
    pub fn events(&self) -> usize {
        self.events.len()
    }

    /// What a user should know of RoIs and events that did not meet; complete when the reader has ended.
    pub fn warnings(&self) -> Vec<String> {
        let Some(rois) = &self.rois else { return Vec::new() };
        let file = rois.path().display();
        let mut warnings = Vec::new();
        let mut warn = |count: u64, one: &str, many: &str, what: String| {
            if count > 0 {
                warnings.push(format!("{count} {} {what}", if count == 1 { one } else { many }));
            }
        };
        warn(
            self.without_line,
            "RoI of the input has",
            "RoIs of the input have",
            format!("no line in {file}: searched in the default window"),
        );
        warn(
            self.events_left_out,
            "event of the input has",
            "events of the input have",
            format!("no RoI in {file}: not searched"),
        );
        warn(
            self.rois_without_event,
            &format!("RoI of {file} is"),
            &format!("RoIs of {file} are"),
            "of events that the input does not have: status empty".into(),
        );
        warnings
    }

    fn queue_file(&mut self, number: usize, content: FileContent) -> Result<()> {
        for (id, spacepoints) in content.rois {
            self.events.insert(id.event_id);
            let plain = RoiDescriptor { id, ..RoiDescriptor::default() };
            let descriptors: VecDeque<RoiDescriptor> = match &self.rois {
                None => [plain].into(),
                Some(rois) if content.has_rois => {
                    let known = rois.get(id).copied();
                    self.without_line += u64::from(known.is_none());
                    [known.unwrap_or(plain)].into()
                }
                Some(rois) => rois.of_event(id.event_id).copied().collect(),
            };
            self.events_left_out += u64::from(descriptors.is_empty());
            for descriptor in &descriptors {
                let RoiId { event_id, roi_id } = descriptor.id;
                if let Some(other) = self.origin.insert(descriptor.id, number) {
                    return Err(Error::Input {
                        path: self.files[number].clone(),
                        row: 0,
                        column: None,
                        message: format!(
                            "event {event_id}, RoI {roi_id} was read from {} already; all spacepoints of an RoI must \
                             be in one file, and event numbers of one run must differ",
                            self.files[other].display()
                        ),
                    });
                }
            }
            self.pending.push_back(Pending { spacepoints, descriptors });
        }
        Ok(())
    }

    /// RoIs of the table that no file had spacepoints for.
    fn queue_rest(&mut self) {
        let Some(rois) = &self.rois else { return };
        let rest: VecDeque<RoiDescriptor> =
            rois.descriptors().iter().filter(|d| !self.origin.contains_key(&d.id)).copied().collect();
        self.rois_without_event = rest.iter().filter(|d| !self.events.contains(&d.id.event_id)).count() as u64;
        self.pending.push_back(Pending { spacepoints: Vec::new(), descriptors: rest });
    }

    fn next_pending(&mut self) -> Option<Roi> {
        while let Some(pending) = self.pending.front_mut() {
            if let Some(descriptor) = pending.descriptors.pop_front() {
                let last = pending.descriptors.is_empty();
                let spacepoints =
                    if last { std::mem::take(&mut pending.spacepoints) } else { pending.spacepoints.clone() };
                return Some(Roi { descriptor, spacepoints });
            }
            self.pending.pop_front();
        }
        None
    }
}

impl Iterator for SpacepointReader {
    type Item = Result<Roi>;

    fn next(&mut self) -> Option<Result<Roi>> {
        loop {
            if let Some(roi) = self.next_pending() {
                return Some(Ok(roi));
            }
            if self.finished {
                return None;
            }
            let Some(path) = self.files.get(self.read) else {
                self.finished = true;
                self.queue_rest();
                continue;
            };
            let content = spacepoints::read(path, &self.detector);
            let number = self.read;
            self.read += 1;
            if let Err(error) = content.and_then(|content| self.queue_file(number, content)) {
                self.finished = true;
                self.pending.clear();
                return Some(Err(error));
            }
        }
    }
}
