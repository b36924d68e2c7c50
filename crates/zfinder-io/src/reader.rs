//! Reads RoIs from files, one after another.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::event::{Event, EventReader, Faults, INVALID, ReadOptions};
use super::event_numbers::EventNumbers;
use super::formats;
use super::regions::Regions;
use super::returning::find_returning_rois;
use super::rois::RoiTable;
use super::seen::RoiSet;
use super::shard::Shard;
use super::source;
use crate::error::{Error, Result};
use zfinder::Detector;
use zfinder::{Roi, RoiDescriptor, RoiId, Spacepoint};

/// Yields every RoI of a list of files, with one event in memory at a time. Iteration ends after
/// the first error, unless [`ReadOptions`] skips errors.
///
/// - Rows of an event must be consecutive; within the event they may be in any order. An (event,
///   RoI) that occurs again, in the same file or in another, is an error. If errors are skipped,
///   the ids of all files are read first, and such an RoI has an invalid spacepoint where it occurs
///   first. In a stream, which is read once, this error ends the reading.
/// - With a [`RoiTable`] and files that have a column `roi_id`, each RoI gets window, eta and z
///   range of its row in the table. An RoI that is not in the table keeps the default window.
/// - With a [`RoiTable`] and a file without that column, each RoI of the table gets all spacepoints
///   of its event; its window then selects. An event without RoI in the table is left out.
/// - With [`Regions`] each event is one RoI, reduced to its region. The files must hold whole
///   events: a column `roi_id` is an error.
/// - RoIs of the table without spacepoints come last, and are empty.
///
/// [`SpacepointReader::warnings`] reports left-out events and empty RoIs.
pub struct SpacepointReader {
    files: Vec<PathBuf>,
    /// Number of files read.
    read: usize,
    detector: Detector,
    rois: Option<RoiTable>,
    regions: Option<Regions>,
    options: ReadOptions,
    shard: Shard,
    numbers: Option<EventNumbers>,
    /// Size of the files read before the current one \[bytes\].
    bytes_before: u64,
    /// The current file.
    open: Option<Box<dyn EventReader>>,
    /// Skipped errors that are still to be yielded.
    faults: VecDeque<Error>,
    errors: u64,
    pending: VecDeque<PendingEvent>,
    /// RoIs that occur in several places; None before the first file is opened.
    returning: Option<HashSet<RoiId>>,
    seen: RoiSet,
    /// Events, stored as RoI 0 of each event.
    seen_events: RoiSet,
    has_events: bool,
    events: usize,
    without_line: u64,
    events_left_out: u64,
    rois_without_event: u64,
    rois_left_out: u64,
    /// Number of spacepoints that [`ReadOptions::drop_invalid`] left out.
    dropped: u64,
    /// Number of files without rows, and the error of the first.
    empty_files: usize,
    first_empty: Option<Error>,
    finished: bool,
}

/// Returns the size of a file \[bytes\]. None for a stream.
fn size_of_file(path: &Path) -> Option<u64> {
    if source::is_stream(path) { None } else { Some(fs::metadata(path).map_or(0, |metadata| metadata.len())) }
}

/// Spacepoints, and the RoIs that get them.
struct PendingEvent {
    spacepoints: Vec<Spacepoint>,
    descriptors: VecDeque<RoiDescriptor>,
}

impl SpacepointReader {
    /// Reads these files, as [`inputs`](super::inputs) lists them. Files are opened by the first
    /// call of the iterator.
    pub fn new(files: Vec<PathBuf>, detector: Detector, rois: Option<RoiTable>) -> Self {
        Self {
            files,
            read: 0,
            detector,
            rois,
            regions: None,
            options: ReadOptions::default(),
            shard: Shard::default(),
            numbers: None,
            bytes_before: 0,
            open: None,
            faults: VecDeque::new(),
            errors: 0,
            pending: VecDeque::new(),
            returning: None,
            seen: RoiSet::default(),
            seen_events: RoiSet::default(),
            has_events: false,
            events: 0,
            without_line: 0,
            events_left_out: 0,
            rois_without_event: 0,
            rois_left_out: 0,
            dropped: 0,
            empty_files: 0,
            first_empty: None,
            finished: false,
        }
    }

    /// Sets how files are read.
    #[must_use]
    pub fn with_options(mut self, options: ReadOptions) -> Self {
        self.options = options;
        self
    }

    /// Reduces each event to its region. Replaces a table of RoIs.
    #[must_use]
    pub fn with_regions(mut self, regions: Option<Regions>) -> Self {
        self.regions = regions;
        self
    }

    /// Yields the RoIs of a shard's events only. All files are read, and their errors are reported
    /// in every shard.
    #[must_use]
    pub fn with_shard(mut self, shard: Shard) -> Self {
        self.shard = shard;
        self
    }

    /// Yields the RoIs of these events only. All files are read, and all their errors are reported.
    /// If the input has none of the events, this is the last error; an event that is missing among
    /// others is a warning.
    #[must_use]
    pub fn with_events(mut self, numbers: Option<EventNumbers>) -> Self {
        self.numbers = numbers;
        self
    }

    /// Returns how files are read.
    pub fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// Returns the number of errors so far. The iterator yields the first ten errors of an event.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Returns the size of all files \[bytes\], as they are stored. None if one is a stream.
    pub fn total_bytes(&self) -> Option<u64> {
        self.files.iter().map(|path| size_of_file(path)).sum()
    }

    /// Returns the number of bytes read so far, of [`total_bytes`](Self::total_bytes). Of a file in
    /// a format other than CSV they are counted when it has been read.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_before + self.open.as_ref().map_or(0, |file| file.bytes_read())
    }

    /// Returns the number of events of the shard and the selection in the files read so far.
    pub fn events(&self) -> usize {
        self.events
    }

    /// Returns warnings about RoIs without events, events without RoIs, empty files, and
    /// spacepoints that were left out; complete when the reader has ended.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(numbers) = self.missing() {
            warnings.push(format!("the input has no event {numbers}: {}", self.describe_events()));
        }
        if self.dropped > 0 {
            let count = self.dropped;
            warnings.push(format!("spacepoints without a position or a layer were left out (drop_invalid): {count}"));
        }
        if let Some(Error::Input { path, .. }) = &self.first_empty {
            let (count, files, path) = (self.empty_files, self.files.len(), path.display());
            warnings.push(format!("{count} of {files} files have no row of spacepoints, {path} first"));
        }
        let Some(rois) = &self.rois else {
            let known = |event_id| self.is_known(event_id);
            warnings.extend(self.regions.iter().flat_map(|regions| regions.warnings(known)));
            return warnings;
        };
        let file = rois.path().display();
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

    /// Reads until an RoI is ready; false when all files are read.
    fn read_on(&mut self) -> Result<bool> {
        if self.returning.is_none() && self.options.skips() {
            self.returning = Some(find_returning_rois(&self.files, &self.options));
        }
        let Some(path) = self.files.get(self.read) else {
            // An input without any row is an error, and so is one without a selected event.
            if let Some(error) = self.first_empty.take_if(|_| !self.has_events) {
                return self.skip(error).map(|()| true);
            }
            return match self.missing() {
                Some(numbers) if self.has_events && self.numbers.as_ref() == Some(&numbers) => {
                    Err(Error::NoEvent { numbers, events: self.describe_events() })
                }
                _ => Ok(false),
            };
        };
        let reader = match &mut self.open {
            Some(reader) => reader,
            None => {
                tracing::info!("reading {}", source::named(path).display());
                self.open.insert(formats::open(path, &self.detector, &self.options)?)
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

    /// Returns whether the RoIs of an event are yielded.
    fn is_selected(&self, event_id: u64) -> bool {
        self.shard.has(event_id) && self.numbers.as_ref().is_none_or(|numbers| numbers.has(event_id))
    }

    /// Returns the selected numbers and ranges of which neither the files nor the table of RoIs has
    /// an event.
    fn missing(&self) -> Option<EventNumbers> {
        let descriptors = self.rois.as_ref().map_or(&[][..], RoiTable::descriptors);
        self.numbers.as_ref()?.without(|range| {
            self.seen_events.has_any(0, range) || descriptors.iter().any(|roi| range.contains(&roi.id.event_id))
        })
    }

    fn describe_events(&self) -> String {
        match self.seen_events.events() {
            None => "it has none".into(),
            Some((1, first, _)) => format!("its only event is {first}"),
            Some((count, first, last)) => format!("it has {count}, with numbers from {first} to {last}"),
        }
    }

    fn end_file(&mut self) {
        self.open = None;
        self.bytes_before += self.files.get(self.read).and_then(|path| size_of_file(path)).unwrap_or(0);
        self.read += 1;
    }

    fn add_faults(&mut self, Faults { first, more, dropped, empty }: Faults) {
        self.dropped += dropped;
        if let Some(error) = empty {
            self.empty_files += 1;
            self.first_empty.get_or_insert(error);
        }
        self.errors += first.len() as u64 + more;
        self.faults.extend(first);
    }

    /// Records an error of an RoI, or returns it if reading stops at errors.
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
        self.has_events = true;
        if self.seen_events.insert(RoiId { event_id, roi_id: 0 }, 0).is_none() && self.is_selected(event_id) {
            self.events += 1;
        }
        if event.rois.is_empty() {
            // The event is not answered, so its RoIs do not count as empty.
            let ids: Vec<RoiId> = self.rois.iter().flat_map(|rois| rois.of_event(event_id)).map(|roi| roi.id).collect();
            ids.into_iter().for_each(|id| {
                self.seen.insert(id, self.read);
            });
        }
        if self.regions.is_some() {
            return self.queue_region(event_id, event.rois, has_rois);
        }
        let is_selected = self.is_selected(event_id);
        for (roi_id, mut spacepoints) in event.rois {
            let id = RoiId { event_id, roi_id };
            let is_returning = self.is_returning(id);
            if is_returning {
                spacepoints.push(INVALID);
            }
            let plain = RoiDescriptor { id, ..RoiDescriptor::default() };
            let mut descriptors: VecDeque<RoiDescriptor> = match &self.rois {
                None => [plain].into(),
                Some(rois) if has_rois => {
                    let known = rois.get(id).copied();
                    self.without_line += u64::from(known.is_none() && is_selected);
                    [known.unwrap_or(plain)].into()
                }
                Some(rois) => rois.of_event(event_id).copied().collect(),
            };
            self.events_left_out += u64::from(descriptors.is_empty() && is_selected);
            let again: Vec<(RoiId, usize)> =
                descriptors.iter().filter_map(|roi| Some((roi.id, self.seen.insert(roi.id, self.read)?))).collect();
            for &(id, other) in &again {
                self.skip_again(id, other, is_returning)?;
            }
            descriptors.retain(|roi| is_selected && again.iter().all(|(id, _)| *id != roi.id));
            self.pending.push_back(PendingEvent { spacepoints, descriptors });
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
            let is_returning = self.is_returning(id);
            if let Some(other) = self.seen.insert(id, self.read) {
                self.skip_again(id, other, is_returning)?;
                continue;
            }
            if !self.is_selected(event_id) {
                continue;
            }
            let Some(regions) = self.regions.as_mut() else { continue };
            if let Some((descriptor, mut spacepoints)) = regions.select(event_id, spacepoints)? {
                if is_returning {
                    spacepoints.push(INVALID);
                }
                self.pending.push_back(PendingEvent { spacepoints, descriptors: [descriptor].into() });
            }
        }
        Ok(())
    }

    /// Returns whether an RoI occurs in several places, so that it is not answered from one of
    /// them.
    fn is_returning(&self, id: RoiId) -> bool {
        self.returning.as_ref().is_some_and(|returning| returning.contains(&id))
    }

    /// Records the error of an RoI that occurred earlier, in the file with this number. Returns it
    /// unless the earlier rows were known to be a part (`is_returning`).
    fn skip_again(&mut self, RoiId { event_id, roi_id }: RoiId, other: usize, is_returning: bool) -> Result<()> {
        let mut message = if other == self.read {
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
        let path = source::named(&self.files[self.read]);
        if is_returning {
            return self.skip(Error::Input { path, row: 0, column: None, message });
        }
        if self.options.skips() {
            message.push_str("; a stream is read once: save it in a file, and read that");
        }
        Err(Error::Returned { path, message })
    }

    /// Queues RoIs of the table for which no file had spacepoints.
    fn queue_rest(&mut self) {
        let Some(rois) = &self.rois else { return };
        let rest =
            rois.descriptors().iter().filter(|d| self.seen.file_of(d.id).is_none() && self.is_selected(d.id.event_id));
        let rest: VecDeque<RoiDescriptor> = rest.copied().collect();
        if self.errors > 0 {
            // The skipped part may hold their spacepoints.
            self.rois_left_out = rest.len() as u64;
            return;
        }
        self.rois_without_event = rest.iter().filter(|d| !self.is_known(d.id.event_id)).count() as u64;
        self.pending.push_back(PendingEvent { spacepoints: Vec::new(), descriptors: rest });
    }

    /// Returns whether the event was in a file that was read.
    fn is_known(&self, event_id: u64) -> bool {
        self.seen_events.file_of(RoiId { event_id, roi_id: 0 }).is_some()
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
                    if self.options.skips() && !error.ends_reading() {
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
