//! Makes events from columns of spacepoints, for Parquet and ROOT files alike.

use std::collections::HashMap;

use super::event::{Event, EventReader, Faults, INVALID, MISSING, ReadOptions, no_azimuth, not_finite, too_many};
use super::place::{Address, LayerLookup};
use super::schema::{LayerColumns, Schema, Shape};
use crate::error::{Error, Result};
use zfinder::columns::rho_phi_columns;
use zfinder::{Detector, Spacepoint};

/// A chunk of a file: columns of equal length, and the RoIs of their spacepoints.
#[derive(Default)]
pub(super) struct Chunk {
    /// The columns of [`Schema::position`].
    pub(super) position: [Vec<f64>; 3],
    /// The columns of [`Schema::layer_columns`]; the unused ones are empty.
    pub(super) layers: [Vec<u64>; 2],
    pub(super) runs: Vec<RoiRun>,
    /// Rows that cannot be read, in the order of the file.
    pub(super) bad_rows: Vec<BadRow>,
    /// Whether a row whose ids cannot be read is the last one.
    ends_with_lost_row: bool,
}

/// A row that cannot be read.
pub(super) struct BadRow {
    /// The row's run; for a row whose ids cannot be read, the run that follows it.
    pub(super) run: usize,
    /// Index, among the spacepoints of the chunk, of the spacepoint that stands for the row, with
    /// NaN as its first coordinate. None if the ids cannot be read.
    pub(super) at: Option<usize>,
    pub(super) error: Error,
}

/// Consecutive spacepoints of one RoI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoiRun {
    pub(super) event_id: u64,
    pub(super) roi_id: u64,
    pub(super) spacepoints: usize,
    /// The row of the first spacepoint, or the row that holds them all, counted as in error
    /// messages.
    pub(super) row: u64,
    /// Whether a row whose ids cannot be read comes just before.
    pub(super) follows_lost_row: bool,
}

impl Chunk {
    /// Replaces the spacepoints from `at` on, a part of a bad row, by one that stands for the row.
    /// `layers` is the number of columns of layers in use.
    pub(super) fn put_placeholder(&mut self, at: usize, layers: usize) {
        for (column, value) in self.position.iter_mut().zip([f64::NAN, 0.0, 0.0]) {
            column.truncate(at);
            column.push(value);
        }
        for column in &mut self.layers[..layers] {
            column.truncate(at);
            column.push(0);
        }
    }

    /// Adds a run, or joins it to the last one of the same RoI if a row is one spacepoint. A lost
    /// row (`after_lost`) ends a run, so that it is known which runs are next to it.
    pub(super) fn add_run(&mut self, run: RoiRun, whole_rois: bool, after_lost: bool) {
        match self.runs.last_mut() {
            Some(last) if !whole_rois && !after_lost && (last.event_id, last.roi_id) == (run.event_id, run.roi_id) => {
                last.spacepoints += run.spacepoints;
            }
            _ => self.runs.push(run),
        }
    }

    /// Clears the chunk and keeps its memory.
    pub(super) fn clear(&mut self) {
        self.position.iter_mut().for_each(Vec::clear);
        self.layers.iter_mut().for_each(Vec::clear);
        self.runs.clear();
        self.bad_rows.clear();
        self.ends_with_lost_row = false;
    }
}

/// A file that is read chunk by chunk.
pub(super) trait Chunks: Send {
    fn schema(&self) -> &Schema;

    /// Returns whether a run is a whole RoI.
    fn whole_rois(&self) -> bool;

    /// Reads the next chunk; false at the end.
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool>;

    /// Returns an error in a column of the spacepoint at `index` of a run, in the whole run, or in
    /// the file.
    fn error(&self, at: Option<(&RoiRun, Option<usize>)>, column: Option<&str>, message: String) -> Error;
}

/// Reads events from a file of columns.
pub(super) struct ColumnReader<C> {
    chunks: C,
    place: LayerLookup,
    options: ReadOptions,
    chunk: Chunk,
    /// Index of the next run of the chunk, and of its first spacepoint.
    run: usize,
    spacepoint: usize,
    event: Option<Event>,
    /// Number of spacepoints of the event.
    gathered: usize,
    /// The event exceeds the limit, so none of it is kept.
    is_left_out: bool,
    /// Index of each RoI in the event.
    rois: HashMap<u64, usize>,
    empty: bool,
    /// The error at the first spacepoint on a layer that the detector does not have.
    unplaced: Option<Error>,
    faults: Faults,
    /// The error that ends the file after the current event.
    end: Option<Error>,
    /// The error that ends the file after the chunk, and the event that it makes incomplete.
    bad_event: Option<(Option<u64>, Error)>,
    /// Indices of spacepoints of the chunk whose errors are reported with their rows.
    reported: Vec<usize>,
    /// Whether a row whose ids cannot be read is next to a row of the event. It may belong to any
    /// RoI of the event.
    is_spoilt: bool,
    /// Whether such a row came last in the chunk before.
    after_lost_row: bool,
}

impl<C: Chunks> ColumnReader<C> {
    pub(super) fn new(chunks: C, detector: &Detector, options: &ReadOptions) -> Self {
        Self {
            chunks,
            place: LayerLookup::new(detector),
            options: options.clone(),
            chunk: Chunk::default(),
            run: 0,
            spacepoint: 0,
            event: None,
            gathered: 0,
            is_left_out: false,
            rois: HashMap::new(),
            empty: true,
            unplaced: None,
            faults: Faults::default(),
            end: None,
            bad_event: None,
            reported: Vec::new(),
            is_spoilt: false,
            after_lost_row: false,
        }
    }

    /// Reads the next chunk and converts its positions to cylindrical coordinates.
    fn refill(&mut self) -> Result<bool> {
        self.run = 0;
        self.spacepoint = 0;
        self.chunk.clear();
        if !self.chunks.next_chunk(&mut self.chunk)? {
            return Ok(false);
        }
        let (shape, names) = (self.chunks.schema().shape, self.chunks.schema().position);
        self.take_bad_rows();
        if let Some(first) = self.chunk.runs.first_mut() {
            first.follows_lost_row |= std::mem::take(&mut self.after_lost_row);
        }
        if self.options.drop_invalid {
            self.mark_missing();
        }
        let mut bad = Vec::new();
        for (column, name) in self.chunk.position.iter().zip(names) {
            // Branch-free, unlike `all`, which stops at the first failure: the loop is vectorised.
            if !column.iter().fold(true, |finite, value| finite & value.is_finite()) {
                let is_dropped = |at: usize| self.options.drop_invalid && self.chunk.position[2][at].is_nan();
                let is_bad = |&at: &usize| {
                    !column[at].is_finite() && self.reported.binary_search(&at).is_err() && !is_dropped(at)
                };
                bad.extend((0..column.len()).filter(is_bad).map(|at| (at, name, column[at])));
            }
        }
        self.skip_spacepoints(&mut bad, not_finite);
        let [x, y, _] = &mut self.chunk.position;
        if shape == Shape::Cartesian {
            rho_phi_columns(x, y);
        }
        let good = |rho: f64| rho > 0.0 && rho < f64::INFINITY;
        if !x.iter().fold(true, |all, &rho| all & good(rho)) {
            // NaN was reported above.
            let is_bad = |&at: &usize| !good(x[at]) && !x[at].is_nan();
            bad.extend((0..x.len()).filter(is_bad).map(|at| (at, names[0], x[at])));
        }
        self.skip_spacepoints(&mut bad, |rho| {
            format!("rho, the distance from the z axis, is {rho} mm; it must be above 0 and finite")
        });
        let [rho, phi, _] = &self.chunk.position;
        let good = |phi: f64| phi.abs() <= Spacepoint::MAX_PHI;
        if shape == Shape::Cylindrical && !phi.iter().fold(true, |all, &phi| all & good(phi)) {
            let is_bad = |&at: &usize| !good(phi[at]) && !rho[at].is_nan();
            bad.extend((0..phi.len()).filter(is_bad).map(|at| (at, names[1], phi[at])));
        }
        self.skip_spacepoints(&mut bad, no_azimuth);
        Ok(true)
    }

    /// Gives spacepoints without a position or a layer z = NaN, which [`append`] leaves out. A row
    /// that was reported has z = 0.
    fn mark_missing(&mut self) {
        let Chunk { position: [x, y, z], layers, .. } = &mut self.chunk;
        for at in 0..z.len() {
            let has_layer = layers.iter().all(|layers| layers.get(at) != Some(&MISSING));
            let is_there = x[at].is_finite() && y[at].is_finite() && z[at].is_finite() && has_layer;
            if !is_there && self.reported.binary_search(&at).is_err() {
                (x[at], y[at], z[at]) = (f64::NAN, f64::NAN, f64::NAN);
            }
        }
    }

    /// Reports the bad rows of the chunk. If reading stops at errors, the chunk ends before the
    /// event of the first of them instead.
    fn take_bad_rows(&mut self) {
        self.reported.clear();
        let rows = std::mem::take(&mut self.chunk.bad_rows);
        // A row that is a whole event makes no other event incomplete.
        let is_whole = self.chunks.whole_rois() && self.chunks.schema().roi.is_none();
        if !self.options.skips() {
            let Some(BadRow { run, at, error }) = rows.into_iter().next() else { return };
            let event = match (at, run.checked_sub(1)) {
                (Some(_), _) => Some(self.chunk.runs[run].event_id),
                (None, _) if is_whole => None,
                (None, Some(before)) => Some(self.chunk.runs[before].event_id),
                (None, None) => self.event.as_ref().map(|event| event.event_id),
            };
            self.end_before(run, event, error);
            return;
        }
        for BadRow { run, at, error } in rows {
            self.faults.add(error);
            match (at, self.chunk.runs.get_mut(run)) {
                (Some(at), _) => self.reported.push(at),
                (None, _) if is_whole => {}
                (None, Some(run)) => run.follows_lost_row = true,
                (None, None) => self.chunk.ends_with_lost_row = true,
            }
        }
    }

    /// Ends the chunk before this run, and the file after the chunk. The event is incomplete.
    fn end_before(&mut self, run: usize, event: Option<u64>, error: Error) {
        let runs = &mut self.chunk.runs;
        runs.truncate(run);
        while runs.pop_if(|run| Some(run.event_id) == event).is_some() {}
        // The rest of the chunk is not read, so it may hold any values.
        let left: usize = runs.iter().map(|run| run.spacepoints).sum();
        self.chunk.position.iter_mut().for_each(|column| column.truncate(left));
        self.bad_event = Some((event, error));
    }

    /// Makes these spacepoints of the chunk invalid. If reading stops at errors, the chunk ends
    /// before the event of the first of them instead.
    fn skip_spacepoints(&mut self, bad: &mut Vec<(usize, &'static str, f64)>, message: impl Fn(f64) -> String) {
        if !self.options.skips() {
            let Some((at, column, value)) = bad.drain(..).min_by_key(|(at, ..)| *at) else { return };
            let error = self.error_at(at, column, message(value));
            let mut before = 0;
            let run = self.chunk.runs.iter().position(|run| {
                before += run.spacepoints;
                at < before
            });
            let run = run.unwrap_or(0);
            self.end_before(run, Some(self.chunk.runs[run].event_id), error);
            return;
        }
        for (at, column, value) in bad.drain(..) {
            if self.faults.is_full() {
                self.faults.more += 1;
            } else {
                let error = self.error_at(at, column, message(value));
                self.faults.add(error);
            }
            self.chunk.position[0][at] = f64::NAN;
        }
    }

    /// Records an error, or returns it if reading stops at errors.
    fn skip(&mut self, error: Error) -> Result<()> {
        if !self.options.skips() {
            return Err(error);
        }
        self.faults.add(error);
        Ok(())
    }

    /// Returns an error of the spacepoint at `at` in the chunk.
    fn error_at(&self, mut at: usize, column: &str, message: String) -> Error {
        for run in &self.chunk.runs {
            if at < run.spacepoints {
                return self.chunks.error(Some((run, Some(at))), Some(column), message);
            }
            at -= run.spacepoints;
        }
        self.chunks.error(None, Some(column), message)
    }

    fn end_event(&mut self) -> Option<Event> {
        self.rois.clear();
        self.gathered = 0;
        self.is_left_out = false;
        let mut event = self.event.take();
        if std::mem::take(&mut self.is_spoilt) {
            event.iter_mut().flat_map(|event| &mut event.rois).for_each(|(_, points)| points.push(INVALID));
        }
        event
    }

    /// Returns whether the current event is yielded if the file ends early: when errors are
    /// skipped, or if a row is a whole event.
    fn gives_cut_event(&self) -> bool {
        let is_whole = self.chunks.whole_rois() && self.chunks.schema().roi.is_none();
        self.event.is_some() && (self.options.skips() || (is_whole && self.unplaced.is_none()))
    }

    /// Returns the current event if the file ends early. The lost part may hold rows of its RoIs,
    /// so these RoIs become invalid.
    fn cut_event(&mut self) -> Option<Event> {
        let mut event = self.end_event()?;
        if !self.chunks.whole_rois() {
            event.rois.iter_mut().for_each(|(_, points)| points.push(INVALID));
        }
        Some(event)
    }

    /// Skips a run without its spacepoints.
    fn pass(&mut self, run: &RoiRun) {
        self.spacepoint += run.spacepoints;
        self.run += 1;
    }

    /// Adds the next run to the event; false if the run belongs to another event.
    fn join(&mut self) -> Result<bool> {
        let run = self.chunk.runs[self.run];
        self.is_spoilt |= run.follows_lost_row;
        let event = self.event.get_or_insert_with(|| Event { event_id: run.event_id, rois: Vec::new() });
        if event.event_id != run.event_id {
            return Ok(false);
        }
        if self.is_left_out {
            self.pass(&run);
            return Ok(true);
        }
        self.gathered += run.spacepoints;
        if self.gathered > self.options.max_spacepoints {
            let message = too_many(run.event_id, self.options.max_spacepoints);
            let error = self.chunks.error(Some((&run, None)), None, message);
            self.skip(error)?;
            self.is_left_out = true;
            self.event = Some(Event { event_id: run.event_id, rois: Vec::new() });
            self.pass(&run);
            return Ok(true);
        }
        let roi = *self.rois.entry(run.roi_id).or_insert(event.rois.len());
        if roi == event.rois.len() {
            event.rois.push((run.roi_id, Vec::new()));
        } else if self.chunks.whole_rois() {
            let roi = match self.chunks.schema().roi {
                Some(_) => format!(", RoI {}", run.roi_id),
                None => String::new(),
            };
            let message =
                format!("event {}{roi} was on an earlier row already; one row each is expected", run.event_id);
            let error = self.chunks.error(Some((&run, None)), self.chunks.schema().event.as_deref(), message);
            self.skip(error)?;
            self.pass(&run);
            return Ok(true);
        }
        let to = &mut event.rois[roi].1;
        let range = self.spacepoint..self.spacepoint + run.spacepoints;
        let position = self.chunk.position.each_ref().map(|column| &column[range.clone()]);
        let [first, second] = self.chunk.layers.each_ref().map(|column| column.get(range.clone()).unwrap_or(&[]));
        let schema = self.chunks.schema();
        let (place, drops) = (&mut self.place, self.options.drop_invalid);
        let joined = match schema.layers {
            LayerColumns::Index(_) => append(to, drops, position, place, |at| Address::Index(first[at])),
            LayerColumns::Id(_) => append(to, drops, position, place, |at| id(first[at], second[at])),
            LayerColumns::GeometryId(_) => append(to, drops, position, place, |at| Address::of_geometry_id(first[at])),
            LayerColumns::Packed(_) => append(to, drops, position, place, |at| id(first[at] >> 8, first[at] & 0xff)),
            LayerColumns::Position => append(to, drops, position, place, |_| Address::Position),
        };
        self.faults.dropped += joined.dropped;
        let column = schema.layer_columns().last().unwrap_or(&schema.position[0]);
        let error = |at, message| self.chunks.error(Some((&run, Some(at))), Some(column), message);
        if let Some(first) = joined.unplaced {
            self.unplaced.get_or_insert_with(|| error(first, String::new()));
        }
        if let Some((at, message)) = joined.bad {
            let error = error(at, message);
            self.skip(error)?;
            self.faults.more += joined.more_bad;
        }
        self.pass(&run);
        Ok(true)
    }
}

/// Returns an address. A volume or layer that exceeds the type is on no detector.
fn id(volume: u64, layer: u64) -> Address {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Address::Id(number(volume), number(layer))
}

/// The invalid spacepoints of a run.
#[derive(Default)]
struct InvalidSpacepoints {
    /// Index of the first spacepoint on a layer that the detector does not have.
    unplaced: Option<usize>,
    /// Number of spacepoints that were left out.
    dropped: u64,
    /// Index of the first spacepoint whose layer index is out of range, and the reason.
    bad: Option<(usize, String)>,
    more_bad: u64,
}

/// Appends spacepoints. Spacepoints without a layer are replaced by invalid ones, and missing ones
/// are left out if `drops`.
fn append(
    to: &mut Vec<Spacepoint>,
    drops: bool,
    [rho, phi, z]: [&[f64]; 3],
    place: &mut LayerLookup,
    address: impl Fn(usize) -> Address,
) -> InvalidSpacepoints {
    to.reserve(rho.len());
    let mut joined = InvalidSpacepoints::default();
    for (at, ((&rho, &phi), &z)) in rho.iter().zip(phi).zip(z).enumerate() {
        // See `ColumnReader::mark_missing`.
        if drops && z.is_nan() {
            joined.dropped += 1;
            continue;
        }
        let point = Spacepoint { rho, phi, z, layer: 0 };
        match place.layer(&point, address(at)) {
            Ok(Some(layer)) => {
                to.push(Spacepoint { layer, ..point });
                continue;
            }
            // A position that is not finite was reported earlier.
            Ok(None) if rho.is_nan() => {}
            Ok(None) => {
                joined.unplaced.get_or_insert(at);
            }
            Err(_) if joined.bad.is_some() => joined.more_bad += 1,
            Err(message) => joined.bad = Some((at, message)),
        }
        to.push(INVALID);
    }
    joined
}

impl<C: Chunks> EventReader for ColumnReader<C> {
    fn has_rois(&self) -> bool {
        self.chunks.schema().roi.is_some()
    }

    fn next_event(&mut self) -> Result<Option<Event>> {
        if let Some(error) = self.end.take() {
            return Err(error);
        }
        loop {
            if self.run == self.chunk.runs.len() {
                // The row may belong to the current event, or to the next one.
                let lost = std::mem::take(&mut self.chunk.ends_with_lost_row);
                self.is_spoilt |= lost && self.event.is_some();
                self.after_lost_row |= lost;
                if let Some((event_id, error)) = self.bad_event.take() {
                    let is_good = |event: &Event| Some(event.event_id) != event_id && self.unplaced.is_none();
                    let is_good = self.event.as_ref().is_some_and(is_good);
                    let event = self.end_event().filter(|_| is_good);
                    if event.is_none() {
                        return Err(error);
                    }
                    self.end = Some(error);
                    return Ok(event);
                }
                match self.refill() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) if self.gives_cut_event() => {
                        self.end = Some(error);
                        return Ok(self.cut_event());
                    }
                    Err(error) => return Err(error),
                }
            }
            while self.run < self.chunk.runs.len() {
                self.empty = false;
                if self.join()? {
                    continue;
                }
                let event = self.end_event();
                // These spacepoints are counted, and reported together at the end of the file.
                if self.unplaced.is_none() || self.options.skips() {
                    return Ok(event);
                }
            }
        }
        if self.empty {
            let error = self.chunks.error(None, None, "there are columns of spacepoints and no row in them".into());
            self.faults.empty = Some(error);
            return Ok(None);
        }
        if let Some(mut error) = self.unplaced.take() {
            if let Error::Input { message, .. } = &mut error {
                message.push_str(&self.place.error());
            }
            self.skip(error)?;
        }
        Ok(self.end_event())
    }

    fn take_faults(&mut self) -> Faults {
        std::mem::take(&mut self.faults)
    }
}
