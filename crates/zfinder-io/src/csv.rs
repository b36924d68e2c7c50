//! Reads CSV files of spacepoints in any of the column sets.

use std::collections::HashMap;
use std::path::Path;

use super::column_map::ColumnMap;
use super::event::{Addressing, DROP_ADVICE, Event, EventReader, Faults, INVALID, ReadOptions, no_azimuth, too_many};
use super::place::{Address, LayerLookup};
use super::source::event_of_name;
use super::table::{Column, Table};
use crate::error::{Error, Result};
use zfinder::columns::rho_phi_columns;
use zfinder::{Detector, RoiId, Spacepoint};

const WANTED: &str = "`x,y,z,layer` or `rho,phi,z,layer` with, if there are several, `event_id` and `roi_id`; \
                      ACTS's `x,y,z,geometry_id_1`, its older `sp_x,sp_y,sp_z`, or its true hits \
                      `tx,ty,tz,geometry_id`; or TrackML's `x,y,z,volume_id,layer_id`";

/// Returns the [`addressing`](super::addressing) of a CSV file.
pub(super) fn addressing(path: &Path, columns: &ColumnMap) -> Result<Addressing> {
    let table = Table::peek(path)?.renamed(columns)?;
    Ok(Schema::new(&table)?.addressing())
}

/// Calls `visit` with event and RoI of each row whose ids can be read.
///
/// # Errors
/// An error that ends the file.
pub(super) fn visit_ids(path: &Path, columns: &ColumnMap, visit: &mut dyn FnMut(RoiId)) -> Result<()> {
    let mut table = Table::open(path)?.renamed(columns)?;
    let schema = Schema::new(&table)?;
    let event_of_file = event_of_name(path);
    loop {
        match table.next() {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) if table.is_broken() => return Err(error),
            Err(_) => continue,
        }
        let event_id = schema.event.map_or(Ok(event_of_file), |column| table.whole_number(column));
        let roi_id = schema.roi.map_or(Ok(0), |column| table.whole_number(column));
        if let (Ok(event_id), Ok(roi_id)) = (event_id, roi_id) {
            visit(RoiId { event_id, roi_id });
        }
    }
}

/// The columns of one file.
struct Schema {
    event: Option<Column>,
    roi: Option<Column>,
    position: Position,
    layer: LayerFrom,
}

#[derive(Clone, Copy)]
enum Position {
    Cartesian([Column; 3]),
    /// Columns of ACTS in single precision, so that coordinates equal those in its binary formats.
    Single([Column; 3]),
    Cylindrical([Column; 3]),
}

#[derive(Clone, Copy)]
enum LayerFrom {
    Index(Column),
    GeometryId(Column),
    VolumeAndLayer([Column; 2]),
    Position(Column),
}

impl Schema {
    fn new(table: &Table) -> Result<Self> {
        let older = table.columns(["sp_x", "sp_y", "sp_z"]);
        let true_hits = || table.columns(["tx", "ty", "tz"]);
        let position = if let Some(columns) = table.columns(["x", "y", "z"]).or(older).or_else(true_hits) {
            Position::Cartesian(columns)
        } else if let Some(columns) = table.columns(["rho", "phi", "z"]) {
            Position::Cylindrical(columns)
        } else {
            // The message names the most complete set of columns. Similar names count as present.
            let sets = [["x", "y", "z"], ["rho", "phi", "z"], ["sp_x", "sp_y", "sp_z"]];
            let missing = sets.map(|set| -> Vec<&str> {
                let mut names: Vec<&str> = set.into_iter().filter(|name| table.column(name).is_none()).collect();
                if set[0] != "sp_x" && LayerFrom::choose(table).is_none() {
                    names.push("layer");
                }
                names
            });
            // ACTS's older columns are named only if the file has one of them.
            let sets = if table.begins_with("sp_") { &missing[..] } else { &missing[..2] };
            let fewest = sets.iter().min_by_key(|names| (table.count_unknown(names), names.len()));
            let fewest = fewest.expect("there are two");
            return Err(table.missing(fewest, WANTED));
        };
        table.refuse_lookalikes(&["roi_id"])?;
        let layer = match (LayerFrom::choose(table), older) {
            (Some(layer), _) => layer,
            (None, Some([x, ..])) => {
                table.refuse_lookalikes(&["layer", "geometry_id_1", "geometry_id", "volume_id", "layer_id"])?;
                LayerFrom::Position(x)
            }
            (None, None) => return Err(table.missing(&["layer"], WANTED)),
        };
        let position = match (position, layer) {
            (Position::Cartesian(columns), LayerFrom::GeometryId(_) | LayerFrom::Position(_)) => {
                Position::Single(columns)
            }
            (position, _) => position,
        };
        Ok(Self { event: table.event_column()?, roi: table.column("roi_id"), position, layer })
    }

    fn addressing(&self) -> Addressing {
        match self.layer {
            LayerFrom::Index(_) => Addressing::Index,
            _ => Addressing::Geometry,
        }
    }
}

impl LayerFrom {
    /// Returns the columns that give the layer, or None.
    fn choose(table: &Table) -> Option<Self> {
        let geometry_id = || table.column("geometry_id_1").or_else(|| table.column("geometry_id"));
        let index = table.column("layer").map(Self::Index);
        index
            .or_else(|| geometry_id().map(Self::GeometryId))
            .or_else(|| table.columns(["volume_id", "layer_id"]).map(Self::VolumeAndLayer))
    }

    /// Returns the column that an error about a layer names.
    fn column(self) -> Column {
        match self {
            Self::Index(column) | Self::GeometryId(column) | Self::Position(column) => column,
            Self::VolumeAndLayer([_, layer]) => layer,
        }
    }

    fn address(self, table: &Table) -> Result<Address> {
        let small = |column| -> Result<u32> {
            let number = table.whole_number(column)?;
            u32::try_from(number).map_err(|_| table.error(column, format!("{number} is not the number of a layer")))
        };
        Ok(match self {
            Self::Index(column) => Address::Index(table.whole_number(column)?),
            Self::GeometryId(column) => Address::of_geometry_id(table.whole_number(column)?),
            Self::VolumeAndLayer([volume, layer]) => Address::Id(small(volume)?, small(layer)?),
            Self::Position(_) => Address::Position,
        })
    }
}

/// Reads events from a CSV file.
pub(super) struct CsvEvents {
    table: Table,
    schema: Schema,
    place: LayerLookup,
    options: ReadOptions,
    /// The position of the first spacepoint without a layer.
    first_unplaced: Option<Error>,
    event_of_file: u64,
    /// The event of the current row, which is the first row of the next event.
    ahead: Option<u64>,
    /// Whether a row without event was skipped before that row. It may belong to either event.
    is_ahead_spoilt: bool,
    /// Whether a row has been read.
    begun: bool,
    faults: Faults,
    /// The error that ends the file after the current event.
    end: Option<Error>,
}

/// An event that is being read.
struct PartialEvent {
    event: Event,
    /// Index of each RoI in the event.
    index: HashMap<u64, usize>,
    /// Index of the RoI of the last row.
    at: usize,
    spacepoints: usize,
    /// Whether a row without event or RoI was skipped. It may belong to any RoI of the event.
    is_spoilt: bool,
    /// The event exceeds the limit, so none of it is kept.
    is_left_out: bool,
}

impl PartialEvent {
    fn new(event_id: u64, is_spoilt: bool) -> Self {
        let event = Event { event_id, rois: Vec::new() };
        Self { event, index: HashMap::new(), at: 0, spacepoints: 0, is_spoilt, is_left_out: false }
    }

    /// Selects an RoI, and adds it if it is new.
    fn select(&mut self, roi_id: u64) {
        // Rows of an RoI usually follow one another.
        let rois = &mut self.event.rois;
        if rois.get(self.at).is_none_or(|(current, _)| *current != roi_id) {
            self.at = *self.index.entry(roi_id).or_insert(rois.len());
            if self.at == rois.len() {
                rois.push((roi_id, Vec::new()));
            }
        }
    }

    fn push(&mut self, point: Spacepoint) {
        self.event.rois[self.at].1.push(point);
        self.spacepoints += 1;
    }

    fn leave_out(&mut self) {
        self.is_left_out = true;
        self.event.rois = Vec::new();
        self.index = HashMap::new();
    }

    fn finish(mut self, is_cartesian: bool) -> Event {
        for (_, points) in &mut self.event.rois {
            if self.is_spoilt {
                points.push(INVALID);
            }
            if is_cartesian {
                to_cylindrical(points);
            }
        }
        self.event
    }
}

impl CsvEvents {
    pub(super) fn open(path: &Path, detector: &Detector, options: &ReadOptions) -> Result<Self> {
        let table = Table::open(path)?.renamed(&options.columns)?;
        let schema = Schema::new(&table)?;
        Ok(Self {
            table,
            schema,
            place: LayerLookup::new(detector),
            options: options.clone(),
            first_unplaced: None,
            event_of_file: event_of_name(path),
            ahead: None,
            is_ahead_spoilt: false,
            begun: false,
            faults: Faults::default(),
            end: None,
        })
    }

    fn event_of_row(&self) -> Result<u64> {
        self.schema.event.map_or(Ok(self.event_of_file), |column| self.table.whole_number(column))
    }

    /// Goes to the next row that has an event, and returns the event; None at the end. Sets
    /// `is_spoilt` if a row without event was skipped.
    fn next_row(&mut self, is_spoilt: &mut bool) -> Result<Option<u64>> {
        loop {
            let row = match self.table.next() {
                Ok(false) => return Ok(None),
                Ok(true) => self.event_of_row(),
                Err(error) => Err(error),
            };
            self.begun = true;
            match row {
                Ok(event_id) => return Ok(Some(event_id)),
                Err(error) if self.table.is_broken() => return Err(error),
                Err(error) => self.skip(error)?,
            }
            *is_spoilt = true;
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

    /// Adds the spacepoint of the current row to the event.
    fn gather(&mut self, to: &mut PartialEvent) -> Result<()> {
        if to.is_left_out {
            return Ok(());
        }
        if to.spacepoints == self.options.max_spacepoints {
            let message = too_many(to.event.event_id, self.options.max_spacepoints);
            self.skip(self.table.row_error(message))?;
            to.leave_out();
            return Ok(());
        }
        match self.schema.roi.map_or(Ok(0), |column| self.table.whole_number(column)) {
            Ok(roi_id) => to.select(roi_id),
            Err(error) => {
                to.is_spoilt = true;
                return self.skip(error);
            }
        }
        match self.spacepoint() {
            Ok(Some(point)) => to.push(point),
            Err(_) if self.options.drop_invalid && self.is_missing() => self.faults.dropped += 1,
            Ok(None) if self.options.skips() => to.push(INVALID),
            Ok(None) => return Err(self.unplaced()),
            Err(mut error) => {
                if let Error::Input { message, .. } = &mut error
                    && self.is_missing()
                {
                    message.push_str(DROP_ADVICE);
                }
                self.skip(error)?;
                to.push(INVALID);
            }
        }
        Ok(())
    }

    /// Returns the spacepoint of the row, or None if its layer is not in the detector. For
    /// Cartesian columns, rho and phi still hold x and y.
    fn spacepoint(&mut self) -> Result<Option<Spacepoint>> {
        let mut point = position(&self.table, self.schema.position)?;
        let from = self.schema.layer;
        let address = from.address(&self.table)?;
        let at = match address {
            Address::Position => Spacepoint { rho: (point.rho * point.rho + point.phi * point.phi).sqrt(), ..point },
            _ => point,
        };
        let found = self.place.layer(&at, address).map_err(|message| self.table.error(from.column(), message))?;
        if found.is_none() && self.first_unplaced.is_none() {
            self.first_unplaced = Some(self.table.error(from.column(), String::new()));
        }
        Ok(found.map(|layer| {
            point.layer = layer;
            point
        }))
    }

    /// Returns whether the spacepoint of the row has no position or no layer.
    fn is_missing(&self) -> bool {
        let position = match self.schema.position {
            Position::Cartesian(columns) | Position::Single(columns) | Position::Cylindrical(columns) => columns,
        };
        let layers = match self.schema.layer {
            LayerFrom::Index(column) | LayerFrom::GeometryId(column) => [column; 2],
            LayerFrom::VolumeAndLayer(columns) => columns,
            LayerFrom::Position(_) => [position[0]; 2],
        };
        position.iter().chain(&layers).any(|&column| self.table.is_missing(column))
    }

    /// Counts the remaining spacepoints without a layer, and returns the error for all of them.
    fn unplaced(&mut self) -> Error {
        loop {
            match self.table.next().and_then(|more| if more { self.spacepoint().map(|_| true) } else { Ok(false) }) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return error,
            }
        }
        let first = self.first_unplaced.take();
        first.map_or_else(|| self.table.whole(self.place.error()), |error| self.unplaced_error(error))
    }

    /// Returns the error of all spacepoints without a layer, at the position of the first.
    fn unplaced_error(&self, mut first: Error) -> Error {
        if let Error::Input { message, .. } = &mut first {
            *message = self.place.error();
        }
        first
    }

    /// Ends the file. A file without any row is an error, unless one file is one event.
    fn finish(&mut self) -> Result<Option<Event>> {
        if let Some(first) = self.first_unplaced.take() {
            self.faults.add(self.unplaced_error(first));
        }
        if std::mem::replace(&mut self.begun, true) {
            return Ok(None);
        }
        if self.schema.addressing() == Addressing::Index {
            self.faults.empty = Some(self.table.whole("there is a header and no spacepoint below it".into()));
            return Ok(None);
        }
        // One file is one event, which may be empty.
        Ok(Some(Event { event_id: self.event_of_file, rois: vec![(0, Vec::new())] }))
    }
}

impl EventReader for CsvEvents {
    fn has_rois(&self) -> bool {
        self.schema.roi.is_some()
    }

    fn next_event(&mut self) -> Result<Option<Event>> {
        let mut is_spoilt = std::mem::take(&mut self.is_ahead_spoilt);
        let first = match (self.end.take(), self.ahead.take()) {
            (Some(error), _) => return Err(error),
            (None, Some(event_id)) => Some(event_id),
            (None, None) => self.next_row(&mut is_spoilt)?,
        };
        let Some(event_id) = first else { return self.finish() };
        let mut gathering = PartialEvent::new(event_id, is_spoilt);
        loop {
            self.gather(&mut gathering)?;
            let mut is_lost = false;
            let next = match self.next_row(&mut is_lost) {
                Err(error) if self.options.skips() => {
                    is_lost = true;
                    self.end = Some(error);
                    None
                }
                next => next?,
            };
            gathering.is_spoilt |= is_lost;
            if next != Some(event_id) {
                (self.ahead, self.is_ahead_spoilt) = (next, is_lost);
                let is_cartesian = !matches!(self.schema.position, Position::Cylindrical(_));
                return Ok(Some(gathering.finish(is_cartesian)));
            }
        }
    }

    fn bytes_read(&self) -> u64 {
        self.table.bytes_read()
    }

    fn take_faults(&mut self) -> Faults {
        std::mem::take(&mut self.faults)
    }
}

/// Converts x and y, which are stored in rho and phi, to cylindrical coordinates. Converting many
/// at once takes a small part of the time.
fn to_cylindrical(points: &mut [Spacepoint]) {
    const MANY: usize = 256;
    let (mut x, mut y) = ([0.0; MANY], [0.0; MANY]);
    for points in points.chunks_mut(MANY) {
        let (x, y) = (&mut x[..points.len()], &mut y[..points.len()]);
        for (i, point) in points.iter().enumerate() {
            (x[i], y[i]) = (point.rho, point.phi);
        }
        rho_phi_columns(x, y);
        for (i, point) in points.iter_mut().enumerate() {
            (point.rho, point.phi) = (x[i], y[i]);
        }
    }
}

/// Reads a position. Its layer is still to be found. For Cartesian columns, rho and phi hold x and
/// y until [`to_cylindrical`].
fn position(table: &Table, position: Position) -> Result<Spacepoint> {
    let of_xyz = |x_column, [x, y, z]: [f64; 3]| {
        let square = x * x + y * y;
        if square > 0.0 && square.is_finite() {
            return Ok(Spacepoint { rho: x, phi: y, z, layer: 0 });
        }
        let rho = square.sqrt();
        let message = format!("rho, the distance from the z axis, is {rho} mm; it must be above 0 and finite");
        Err(table.error(x_column, message))
    };
    match position {
        Position::Cartesian([x, y, z]) => of_xyz(x, [table.number(x)?, table.number(y)?, table.number(z)?]),
        Position::Single([x, y, z]) => of_xyz(x, [table.single(x)?, table.single(y)?, table.single(z)?]),
        Position::Cylindrical([rho, phi, z]) => {
            let point = Spacepoint { rho: table.number(rho)?, phi: table.number(phi)?, z: table.number(z)?, layer: 0 };
            if point.rho <= 0.0 {
                return Err(table.error(rho, format!("rho is {} mm; it must be above 0", point.rho)));
            }
            if point.phi.abs() > Spacepoint::MAX_PHI {
                return Err(table.error(phi, no_azimuth(point.phi)));
            }
            Ok(point)
        }
    }
}
