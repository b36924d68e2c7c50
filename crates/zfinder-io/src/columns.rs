//! Spacepoints that lie in columns, in Parquet and in ROOT files alike: which columns hold what, and the events that
//! are made of them.

use std::collections::HashMap;

use super::event::{Addressing, Event, EventReader};
use super::names::quoted;
use super::place::{Address, Place};
use crate::error::{Error, Result};
use zfinder::Detector;
use zfinder::Spacepoint;
use zfinder::rho_phi_columns;

/// What a user who lacks columns is told.
pub(super) const WANTED: &str = "`x,y,z` or `rho,phi,z`, and `layer`, or `volume_id,layer_id`, or `geometry_id`, and, \
                                 if there are several, `event_id` and `roi_id`";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Cartesian,
    Cylindrical,
}

/// How the layer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layers {
    Index(&'static str),
    Id([&'static str; 2]),
    /// A bit field: the volume in bits 56 to 63, the layer in bits 36 to 47.
    GeometryId(&'static str),
    /// The volume in bits 8 and up, the layer in bits 0 to 7.
    Packed(&'static str),
    Position,
}

/// Which columns hold what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    pub(super) event: Option<&'static str>,
    pub(super) roi: Option<&'static str>,
    pub(super) shape: Shape,
    pub(super) position: [&'static str; 3],
    pub(super) layers: Layers,
}

impl Schema {
    /// From the names of the columns that there are; else those that are missing.
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<Self, Vec<&'static str>> {
        let has = |name: &str| names.clone().any(|there| there == name);
        let first = |wanted: &[&'static str]| wanted.iter().copied().find(|name| has(name));
        const POSITIONS: [(Shape, [&str; 3]); 3] = [
            (Shape::Cartesian, ["x", "y", "z"]),
            (Shape::Cylindrical, ["rho", "phi", "z"]),
            (Shape::Cartesian, ["sp_x", "sp_y", "sp_z"]),
        ];
        let layers = if let Some(layer) = first(&["layer"]) {
            Some(Layers::Index(layer))
        } else if has("volume_id") && has("layer_id") {
            Some(Layers::Id(["volume_id", "layer_id"]))
        } else if let Some(id) = first(&["geometry_id_1", "geometry_id"]) {
            Some(Layers::GeometryId(id))
        } else {
            first(&["sp_vollayer"]).map(Layers::Packed)
        };
        let lacks = |set: &[&'static str; 3]| set.iter().copied().filter(|name| !has(name)).collect::<Vec<_>>();
        // Speak of the set of which most is there.
        let (shape, position) =
            POSITIONS.into_iter().min_by_key(|(_, set)| lacks(set).len()).expect("there are three of them");
        let mut missing = lacks(&position);
        let layers = layers.or((position[0] == "sp_x").then_some(Layers::Position));
        if layers.is_none() {
            missing.push("layer");
        }
        match layers {
            Some(layers) if missing.is_empty() => {
                Ok(Self { event: first(&["event_id", "event"]), roi: first(&["roi_id"]), shape, position, layers })
            }
            _ => Err(missing),
        }
    }

    pub(super) fn addressing(&self) -> Addressing {
        match self.layers {
            Layers::Index(_) => Addressing::Index,
            _ => Addressing::Geometry,
        }
    }

    /// The columns of whole numbers that tell the layer: two at most.
    pub(super) fn layer_columns(&self) -> &[&'static str] {
        match &self.layers {
            Layers::Index(column) | Layers::GeometryId(column) | Layers::Packed(column) => std::slice::from_ref(column),
            Layers::Id(columns) => columns,
            Layers::Position => &[],
        }
    }
}

/// "missing column `layer`; the file has `x`, `y`, `z`; wanted: ..."
pub(super) fn missing<'a>(missing: &[&str], names: impl Iterator<Item = &'a str>) -> String {
    let plural = if missing.len() == 1 { "column" } else { "columns" };
    format!("missing {plural} {}; the file has {}; wanted: {WANTED}", quoted(missing.iter().copied()), quoted(names))
}

/// A piece of a file: spacepoints in columns of equal length, and whose they are.
#[derive(Default)]
pub(super) struct Chunk {
    /// As [`Schema::position`].
    pub(super) position: [Vec<f64>; 3],
    /// As [`Schema::layer_columns`]; empty where there are fewer.
    pub(super) layers: [Vec<u64>; 2],
    pub(super) runs: Vec<Run>,
}

/// Spacepoints of one RoI that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) event_id: u64,
    pub(super) roi_id: u64,
    pub(super) spacepoints: usize,
    /// The row of the first of them, or the row that holds them all, counted as the file's errors do.
    pub(super) row: u64,
}

impl Chunk {
    /// Takes all out and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.position.iter_mut().for_each(Vec::clear);
        self.layers.iter_mut().for_each(Vec::clear);
        self.runs.clear();
    }
}

/// A file, piece by piece.
pub(super) trait Chunks: Send {
    fn schema(&self) -> &Schema;

    /// Whether a run is a whole RoI, and not some of its rows.
    fn whole_rois(&self) -> bool;

    /// Replaces the chunk by the next; false at the end.
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool>;

    /// An error in a column of the spacepoint at `index` of a run, or of the run as a whole, or of the file.
    fn error(&self, at: Option<(&Run, Option<usize>)>, column: Option<&str>, message: String) -> Error;
}

/// Events of a file of columns.
pub(super) struct ColumnReader<C> {
    chunks: C,
    place: Place,
    chunk: Chunk,
    /// The next run of the chunk, and the first of its spacepoints.
    run: usize,
    spacepoint: usize,
    event: Option<Event>,
    /// Where in the event its RoIs are.
    rois: HashMap<u64, usize>,
    empty: bool,
    /// Points at the first spacepoint that the detector has no layer for.
    unplaced: Option<Error>,
}

impl<C: Chunks> ColumnReader<C> {
    pub(super) fn new(chunks: C, detector: &Detector) -> Self {
        Self {
            chunks,
            place: Place::new(detector),
            chunk: Chunk::default(),
            run: 0,
            spacepoint: 0,
            event: None,
            rois: HashMap::new(),
            empty: true,
            unplaced: None,
        }
    }

    /// Fills the chunk and makes its positions cylindrical.
    fn refill(&mut self) -> Result<bool> {
        self.run = 0;
        self.spacepoint = 0;
        self.chunk.clear();
        if !self.chunks.next_chunk(&mut self.chunk)? {
            return Ok(false);
        }
        let schema = *self.chunks.schema();
        for (column, name) in self.chunk.position.iter().zip(schema.position) {
            // Not `all`, which stops at the first and so takes one at a time.
            if !column.iter().fold(true, |finite, value| finite & value.is_finite()) {
                let at = column.iter().position(|value| !value.is_finite()).unwrap_or(0);
                return Err(self.error_at(at, name, format!("{} is not finite", column[at])));
            }
        }
        let [x, y, _] = &mut self.chunk.position;
        if schema.shape == Shape::Cartesian {
            rho_phi_columns(x, y);
        }
        let good = |rho: f64| rho > 0.0 && rho < f64::INFINITY;
        if !x.iter().fold(true, |all, &rho| all & good(rho)) {
            let at = x.iter().position(|&rho| !good(rho)).unwrap_or(0);
            let message = format!("rho, the distance from the z axis, is {} mm; it must be above 0 and finite", x[at]);
            return Err(self.error_at(at, schema.position[0], message));
        }
        Ok(true)
    }

    /// An error of the spacepoint at `at` in the chunk.
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
        self.event.take()
    }

    /// The next run joins the event; false where it is of another event.
    fn join(&mut self) -> Result<bool> {
        let run = self.chunk.runs[self.run];
        let event = self.event.get_or_insert_with(|| Event { event_id: run.event_id, rois: Vec::new() });
        let whole = self.chunks.whole_rois();
        if event.event_id != run.event_id {
            return Ok(false);
        }
        let roi = *self.rois.entry(run.roi_id).or_insert(event.rois.len());
        if roi == event.rois.len() {
            event.rois.push((run.roi_id, Vec::new()));
        } else if whole {
            let roi = match self.chunks.schema().roi {
                Some(_) => format!(", RoI {}", run.roi_id),
                None => String::new(),
            };
            let message = format!("event {}{roi} was on an earlier row already; one row each is wanted", run.event_id);
            return Err(self.chunks.error(Some((&run, None)), self.chunks.schema().event, message));
        }
        let to = &mut event.rois[roi].1;
        let range = self.spacepoint..self.spacepoint + run.spacepoints;
        let position = self.chunk.position.each_ref().map(|column| &column[range.clone()]);
        let [first, second] = self.chunk.layers.each_ref().map(|column| column.get(range.clone()).unwrap_or(&[]));
        let schema = self.chunks.schema();
        let place = &mut self.place;
        let joined = match schema.layers {
            Layers::Index(_) => append(to, position, place, |at| Address::Index(first[at])),
            Layers::Id(_) => append(to, position, place, |at| id(first[at], second[at])),
            Layers::GeometryId(_) => append(to, position, place, |at| Address::of_geometry_id(first[at])),
            Layers::Packed(_) => append(to, position, place, |at| id(first[at] >> 8, first[at] & 0xff)),
            Layers::Position => append(to, position, place, |_| Address::Position),
        };
        let column = schema.layer_columns().last().unwrap_or(&schema.position[0]);
        let error = |at, message| self.chunks.error(Some((&run, Some(at))), Some(column), message);
        match joined {
            Ok(None) => {}
            Ok(Some(first)) => {
                self.unplaced.get_or_insert_with(|| error(first, String::new()));
            }
            Err((at, message)) => return Err(error(at, message)),
        }
        self.spacepoint = range.end;
        self.run += 1;
        Ok(true)
    }
}

/// A volume or layer beyond what an id can be is one that no detector has.
fn id(volume: u64, layer: u64) -> Address {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Address::Id(number(volume), number(layer))
}

/// Adds the spacepoints, and says which was the first that the detector has no layer for; else which cannot be, and why.
fn append(
    to: &mut Vec<Spacepoint>,
    [rho, phi, z]: [&[f64]; 3],
    place: &mut Place,
    address: impl Fn(usize) -> Address,
) -> Result<Option<usize>, (usize, String)> {
    to.reserve(rho.len());
    let mut unplaced = None;
    for (at, ((&rho, &phi), &z)) in rho.iter().zip(phi).zip(z).enumerate() {
        let mut point = Spacepoint { rho, phi, z, layer: 0 };
        match place.layer(&point, address(at)).map_err(|message| (at, message))? {
            Some(layer) => {
                point.layer = layer;
                to.push(point);
            }
            None => {
                unplaced.get_or_insert(at);
            }
        }
    }
    Ok(unplaced)
}

impl<C: Chunks> EventReader for ColumnReader<C> {
    fn has_rois(&self) -> bool {
        self.chunks.schema().roi.is_some()
    }

    fn next_event(&mut self) -> Result<Option<Event>> {
        loop {
            if self.run == self.chunk.runs.len() && !self.refill()? {
                break;
            }
            while self.run < self.chunk.runs.len() {
                self.empty = false;
                if self.join()? {
                    continue;
                }
                let event = self.end_event();
                // Such spacepoints of the whole file are counted, and told at its end.
                if self.unplaced.is_none() {
                    return Ok(event);
                }
            }
        }
        if self.empty {
            return Err(self.chunks.error(None, None, "there are columns of spacepoints and no row in them".into()));
        }
        match self.unplaced.take() {
            None => Ok(self.end_event()),
            Some(mut error) => {
                if let Error::Input { message, .. } = &mut error {
                    message.push_str(&self.place.error());
                }
                Err(error)
            }
        }
    }
}
