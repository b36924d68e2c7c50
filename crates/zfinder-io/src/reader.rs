//! RoIs out of files, one after another.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::event::{self, Event, EventReader, Faults, ReadOptions};
use super::regions::Regions;
use super::rois::RoiTable;
use super::seen::Seen;
use super::shard::Shard;
use super::source;
use crate::error::{Error, Result};
use zfinder::Detector;
use zfinder::{Roi, RoiDescriptor, RoiId, Spacepoint};

/// Yields every RoI of a list of files, an event in memory at a time. Ends after the first error, unless
/// [`ReadOptions`] ask to go on.
///
/// - Rows of an event must follow one another; within the event they may be in any order. An (event, RoI) that comes
///   again, in the same file or in another, is an error.
/// - With a [`RoiTable`] and files that have a `roi_id` column, the table's window, eta and z range go to the RoI of
///   the same (event, RoI). An RoI that the table does not have keeps the default window.
/// - With a [`RoiTable`] and a file without that column, each RoI of the table is given all spacepoints of its event,
///   of which its window then selects. An event for which the table has no RoI is left out.
/// - With [`Regions`] each event is one RoI, reduced to its region. The files must be of whole events: a `roi_id` column is an
///   error.
/// - RoIs of the table for which there was no spacepoint come last, and are empty.
///
/// What was left out or stayed empty is counted in [`SpacepointReader::warnings`].
pub struct SpacepointReader {
    files: Vec<PathBuf>,
    /// How many of them were read.
    read: usize,
    detector: Detector,
    rois: Option<RoiTable>,
    regions: Option<Regions>,
    options: ReadOptions,
    shard: Shard,
    /// The file that is being read.
    open: Option<Box<dyn EventReader>>,
    /// Errors that were skipped, and are to be yielded.
    faults: VecDeque<Error>,
    errors: u64,
    pending: VecDeque<Pending>,
    seen: Seen,
    /// Events, each as RoI 0 of its own.
    seen_events: Seen,
    events: usize,
    without_line: u64,
    events_left_out: u64,
    rois_without_event: u64,
    rois_left_out: u64,
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
            regions: None,
            options: ReadOptions::default(),
            shard: Shard::default(),
            open: None,
            faults: VecDeque::new(),
            errors: 0,
            pending: VecDeque::new(),
            seen: Seen::default(),
            seen_events: Seen::default(),
            events: 0,
            without_line: 0,
            events_left_out: 0,
            rois_without_event: 0,
            rois_left_out: 0,
            finished: false,
        }
    }

    /// Changes how files are read.
    #[must_use]
    pub fn with_options(mut self, options: ReadOptions) -> Self {
        self.options = options;
        self
    }

    /// Reduces each event to its region, in place of a table of RoIs.
    #[must_use]
    pub fn with_regions(mut self, regions: Option<Regions>) -> Self {
        self.regions = regions;
        self
    }

    /// Yields the RoIs of a shard's events only. All files are read, and their errors are reported in every shard.
    #[must_use]
    pub fn with_shard(mut self, shard: Shard) -> Self {
        self.shard = shard;
        self
    }

    /// How files are read.
    pub fn options(&self) -> ReadOptions {
        self.options
    }

    /// How many errors there have been. Of an event with many, the iterator yields the first ten.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// How many files have been read.
    pub fn files_read(&self) -> usize {
        self.read
    }

    /// How many events of the shard have been seen in the files.
    pub fn events(&self) -> usize {
        self.events
    }

    /// What a user should know of RoIs and events that did not meet; complete when the reader has ended.
    pub fn warnings(&self) -> Vec<String> {
        let Some(rois) = &self.rois else {
            let known = |event_id| self.is_known(event_id);
            return self.regions.as_ref().map_or_else(Vec::new, |regions| regions.warnings(known));
        };
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
        warn(
            self.rois_left_out,
            &format!("RoI of {file} has"),
            &format!("RoIs of {file} have"),
            "no spacepoints, and parts of the input were not read: left out".into(),
        );
        warnings
    }

    /// Reads on until there is an RoI to give; false when all files are read.
    fn read_on(&mut self) -> Result<bool> {
        let Some(path) = self.files.get(self.read) else { return Ok(false) };
        let reader = match &mut self.open {
            Some(reader) => reader,
            None => {
                tracing::info!("reading {}", source::named(path).display());
                self.open.insert(event::open(path, &self.detector, self.options)?)
            }
        };
        let has_rois = reader.has_rois();
        let event = reader.next_event();
        let faults = reader.take_faults();
        self.add_faults(faults);
        match event? {
            Some(event) => self.queue(event, has_rois)?,
            None => self.end_file(),
        }
        Ok(true)
    }

    fn end_file(&mut self) {
        self.open = None;
        self.read += 1;
    }

    fn add_faults(&mut self, Faults { first, more }: Faults) {
        self.errors += first.len() as u64 + more;
        self.faults.extend(first);
    }

    /// Notes an error of an RoI, or returns it if reading stops there.
    fn skip(&mut self, error: Error) -> Result<()> {
        if !self.options.skips() {
            return Err(error);
        }
        self.errors += 1;
        self.faults.push_back(error);
        Ok(())
    }

    fn queue(&mut self, event: Event, has_rois: bool) -> Result<()> {
        let event_id = event.event_id;
        if self.seen_events.insert(RoiId { event_id, roi_id: 0 }, 0).is_none() && self.shard.has(event_id) {
            self.events += 1;
        }
        if event.rois.is_empty() {
            // Nothing of it is answered, and so none of its RoIs is empty.
            let ids: Vec<RoiId> = self.rois.iter().flat_map(|rois| rois.of_event(event_id)).map(|roi| roi.id).collect();
            ids.into_iter().for_each(|id| {
                self.seen.insert(id, self.read);
            });
        }
        if self.regions.is_some() {
            return self.queue_region(event_id, event.rois, has_rois);
        }
        for (roi_id, spacepoints) in event.rois {
            let id = RoiId { event_id, roi_id };
            let plain = RoiDescriptor { id, ..RoiDescriptor::default() };
            let mut descriptors: VecDeque<RoiDescriptor> = match &self.rois {
                None => [plain].into(),
                Some(rois) if has_rois => {
                    let known = rois.get(id).copied();
                    self.without_line += u64::from(known.is_none());
                    [known.unwrap_or(plain)].into()
                }
                Some(rois) => rois.of_event(event_id).copied().collect(),
            };
            self.events_left_out += u64::from(descriptors.is_empty());
            let again: Vec<(RoiId, usize)> =
                descriptors.iter().filter_map(|roi| Some((roi.id, self.seen.insert(roi.id, self.read)?))).collect();
            for &(id, other) in &again {
                self.skip(self.again(id, other))?;
            }
            descriptors.retain(|roi| again.iter().all(|(id, _)| *id != roi.id));
            self.pending.push_back(Pending { spacepoints, descriptors });
        }
        Ok(())
    }

    /// Queues an event that is reduced to its region.
    fn queue_region(&mut self, event_id: u64, rois: Vec<(u64, Vec<Spacepoint>)>, has_rois: bool) -> Result<()> {
        if has_rois {
            let message = "objects and joint RoIs select from whole events, and the file has RoIs of its own: leave \
                           `roi_id` out";
            let path = source::named(&self.files[self.read]);
            return Err(Error::Input { path, row: 0, column: Some("roi_id".into()), message: message.into() });
        }
        let id = RoiId { event_id, roi_id: 0 };
        for (_, spacepoints) in rois {
            if let Some(other) = self.seen.insert(id, self.read) {
                self.skip(self.again(id, other))?;
                continue;
            }
            let Some(regions) = self.regions.as_mut().filter(|_| self.shard.has(event_id)) else { continue };
            if let Some((descriptor, spacepoints)) = regions.select(event_id, spacepoints)? {
                self.pending.push_back(Pending { spacepoints, descriptors: [descriptor].into() });
            }
        }
        Ok(())
    }

    /// An RoI has come before, in the file of this number.
    fn again(&self, RoiId { event_id, roi_id }: RoiId, other: usize) -> Error {
        let message = if other == self.read {
            format!(
                "event {event_id}, RoI {roi_id} comes again after other events; all rows of an event must follow one \
                 another: sort the file by event_id"
            )
        } else {
            format!(
                "event {event_id}, RoI {roi_id} was read from {} already; all spacepoints of an RoI must be in one \
                 file, and event numbers of one run must differ",
                source::named(&self.files[other]).display()
            )
        };
        Error::Input { path: source::named(&self.files[self.read]), row: 0, column: None, message }
    }

    /// RoIs of the table that no file had spacepoints for.
    fn queue_rest(&mut self) {
        let Some(rois) = &self.rois else { return };
        let rest: VecDeque<RoiDescriptor> =
            rois.descriptors().iter().filter(|d| self.seen.file_of(d.id).is_none()).copied().collect();
        if self.errors > 0 {
            // Their spacepoints may be in what was skipped.
            self.rois_left_out = rest.len() as u64;
            return;
        }
        self.rois_without_event = rest.iter().filter(|d| !self.is_known(d.id.event_id)).count() as u64;
        self.pending.push_back(Pending { spacepoints: Vec::new(), descriptors: rest });
    }

    /// Whether the event was in a file that was read.
    fn is_known(&self, event_id: u64) -> bool {
        self.seen_events.file_of(RoiId { event_id, roi_id: 0 }).is_some()
    }

    fn next_pending(&mut self) -> Option<Roi> {
        while let Some(pending) = self.pending.front_mut() {
            if let Some(descriptor) = pending.descriptors.pop_front() {
                if !self.shard.has(descriptor.id.event_id) {
                    continue;
                }
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
            if let Some(error) = self.faults.pop_front() {
                return Some(Err(error));
            }
            if let Some(roi) = self.next_pending() {
                return Some(Ok(roi));
            }
            if self.finished {
                return None;
            }
            match self.read_on() {
                Ok(true) => {}
                Ok(false) => {
                    self.finished = true;
                    self.queue_rest();
                }
                Err(error) => {
                    self.errors += 1;
                    if self.options.skips() {
                        self.end_file();
                    } else {
                        self.finished = true;
                        self.pending.clear();
                    }
                    return Some(Err(error));
                }
            }
        }
    }
}
