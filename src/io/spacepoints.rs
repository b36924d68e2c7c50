//! One file of spacepoints, in any of the formats.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::source::event_of_name;
use super::table::{Column, Table};
use crate::detector::Detector;
use crate::error::{Error, Result};
use crate::spacepoint::{RoiId, Spacepoint};

/// A family of formats: how a file says on which layer a spacepoint lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A `layer` column with indices of the detector's layers.
    Own,
    /// ACTS: geometry ids, or (older) nothing but the position.
    Acts,
}

const WANTED: &str = "`x,y,z,layer` or `rho,phi,z,layer` with, if there are several, `event_id` and `roi_id`; \
                      or ACTS's `x,y,z,geometry_id_1`; or ACTS's older `sp_x,sp_y,sp_z`";

/// A spacepoint without a layer of its own lies within this \[mm\] of the layer that it is given.
const LAYER_TOLERANCE_MM: f64 = 10.0;

/// The format of a file, from its header.
///
/// # Errors
/// A file that cannot be read, an empty one, and one that lacks columns.
pub fn format(path: &Path) -> Result<Format> {
    let table = Table::open(path)?;
    Ok(Schema::of(&table)?.format())
}

/// Which columns hold what.
struct Schema {
    event: Option<Column>,
    roi: Option<Column>,
    position: Position,
    layer: LayerFrom,
}

#[derive(Clone, Copy)]
enum Position {
    Cartesian([Column; 3]),
    Cylindrical([Column; 3]),
}

#[derive(Clone, Copy)]
enum LayerFrom {
    Index(Column),
    GeometryId(Column),
    Position,
}

impl Schema {
    fn of(table: &Table) -> Result<Self> {
        let older = table.columns(["sp_x", "sp_y", "sp_z"]);
        let position = if let Some(columns) = table.columns(["x", "y", "z"]).or(older) {
            Position::Cartesian(columns)
        } else if let Some(columns) = table.columns(["rho", "phi", "z"]) {
            Position::Cylindrical(columns)
        } else {
            // Speak of the set of which most is there.
            let sets = [["x", "y", "z"], ["rho", "phi", "z"], ["sp_x", "sp_y", "sp_z"]];
            let missing = sets.map(|set| -> Vec<&str> {
                let mut names: Vec<&str> = set.into_iter().filter(|name| table.column(name).is_none()).collect();
                let layer = ["layer", "geometry_id_1", "geometry_id"].iter().any(|name| table.column(name).is_some());
                if set[0] != "sp_x" && !layer {
                    names.push("layer");
                }
                names
            });
            let fewest = missing.iter().min_by_key(|names| names.len()).expect("there are three");
            return Err(table.missing(fewest, WANTED));
        };
        let geometry_id = table.column("geometry_id_1").or_else(|| table.column("geometry_id"));
        let layer = match (table.column("layer"), geometry_id) {
            (Some(column), _) => LayerFrom::Index(column),
            (None, Some(column)) => LayerFrom::GeometryId(column),
            (None, None) if older.is_some() => LayerFrom::Position,
            (None, None) => return Err(table.missing(&["layer"], WANTED)),
        };
        Ok(Self { event: table.column("event_id"), roi: table.column("roi_id"), position, layer })
    }

    fn format(&self) -> Format {
        match self.layer {
            LayerFrom::Index(_) => Format::Own,
            LayerFrom::GeometryId(_) | LayerFrom::Position => Format::Acts,
        }
    }
}

/// All that one file holds.
pub(super) struct FileContent {
    /// Whether the file itself says which RoI a spacepoint belongs to.
    pub(super) has_rois: bool,
    /// Its RoIs in the order of their first rows, each with all of its spacepoints.
    pub(super) rois: Vec<(RoiId, Vec<Spacepoint>)>,
}

/// Spacepoints for which the detector has no layer: all of a file are named together.
#[derive(Default)]
struct Unplaced {
    first: Option<(u64, Column, String)>,
    by_id: BTreeMap<(u32, u32), u64>,
    spacepoints: u64,
}

/// Reads a whole file.
pub(super) fn read(path: &Path, detector: &Detector) -> Result<FileContent> {
    let mut table = Table::open(path)?;
    let schema = Schema::of(&table)?;
    let event_of_file = event_of_name(path);
    let mut rois: Vec<(RoiId, Vec<Spacepoint>)> = Vec::new();
    let mut index: HashMap<RoiId, usize> = HashMap::new();
    let mut unplaced = Unplaced::default();
    let mut at = 0;
    while table.next()? {
        let id = RoiId {
            event_id: schema.event.map_or(Ok(event_of_file), |column| table.whole_number(column))?,
            roi_id: schema.roi.map_or(Ok(0), |column| table.whole_number(column))?,
        };
        // Rows of an RoI mostly follow one another.
        if rois.get(at).is_none_or(|(current, _)| *current != id) {
            at = *index.entry(id).or_insert(rois.len());
            if at == rois.len() {
                rois.push((id, Vec::new()));
            }
        }
        let mut point = position(&table, schema.position)?;
        if let Some(layer) = layer(&table, &schema, &point, detector, &mut unplaced)? {
            point.layer = layer;
            rois[at].1.push(point);
        }
    }
    if let Some(error) = unplaced.into_error(&table, detector) {
        return Err(error);
    }
    if rois.is_empty() {
        if schema.format() == Format::Own {
            return Err(table.whole("there is a header and no spacepoint below it".into()));
        }
        // One file is one event, and an event may be empty.
        rois.push((RoiId { event_id: event_of_file, roi_id: 0 }, Vec::new()));
    }
    Ok(FileContent { has_rois: schema.roi.is_some(), rois })
}

/// A spacepoint whose layer is still to be found.
fn position(table: &Table, position: Position) -> Result<Spacepoint> {
    match position {
        Position::Cartesian([x, y, z]) => {
            let point = Spacepoint::from_xyz(table.number(x)?, table.number(y)?, table.number(z)?, 0);
            if point.rho.is_nan() || point.rho <= 0.0 || point.rho.is_infinite() {
                return Err(table.error(
                    x,
                    format!("rho, the distance from the z axis, is {} mm; it must be above 0 and finite", point.rho),
                ));
            }
            Ok(point)
        }
        Position::Cylindrical([rho, phi, z]) => {
            let point = Spacepoint { rho: table.number(rho)?, phi: table.number(phi)?, z: table.number(z)?, layer: 0 };
            if point.rho <= 0.0 {
                return Err(table.error(rho, format!("rho is {} mm; it must be above 0", point.rho)));
            }
            Ok(point)
        }
    }
}

/// None: the detector has no such layer, and `unplaced` knows of it.
fn layer(
    table: &Table,
    schema: &Schema,
    point: &Spacepoint,
    detector: &Detector,
    unplaced: &mut Unplaced,
) -> Result<Option<u32>> {
    match schema.layer {
        LayerFrom::Index(column) => {
            let layer = table.whole_number(column)?;
            let layers = detector.layers().len();
            if layer >= layers as u64 {
                let name = detector.name();
                let message =
                    format!("layer {layer} is not one of detector `{name}`, which has layers 0 to {}", layers - 1);
                return Err(table.error(column, message));
            }
            Ok(Some(layer as u32))
        }
        LayerFrom::GeometryId(column) => {
            let id = table.whole_number(column)?;
            let (volume, layer) = ((id >> 56) as u32, ((id >> 36) & 0xfff) as u32);
            let found = detector.layer_by_id(volume, layer);
            if found.is_none() {
                unplaced.first.get_or_insert_with(|| (table.byte(), column, String::new()));
                *unplaced.by_id.entry((volume, layer)).or_default() += 1;
                unplaced.spacepoints += 1;
            }
            Ok(found)
        }
        LayerFrom::Position => {
            let found = detector.layer_at(point.rho, point.z, LAYER_TOLERANCE_MM);
            if found.is_none() {
                let Position::Cartesian([x, ..]) = schema.position else { return Ok(None) };
                let place = format!("rho = {:.1} mm, z = {:.1} mm", point.rho, point.z);
                unplaced.first.get_or_insert_with(|| (table.byte(), x, place));
                unplaced.spacepoints += 1;
            }
            Ok(found)
        }
    }
}

impl Unplaced {
    fn into_error(self, table: &Table, detector: &Detector) -> Option<Error> {
        const NAMED: usize = 10;
        let (byte, column, place) = self.first?;
        let spacepoints = match self.spacepoints {
            1 => "1 spacepoint lies".into(),
            n => format!("{n} spacepoints lie"),
        };
        let name = detector.name();
        let message = if self.by_id.is_empty() {
            format!(
                "{spacepoints} further than {LAYER_TOLERANCE_MM} mm from every layer of detector `{name}`, this one \
                 the first, at {place}"
            )
        } else {
            let mut named: Vec<String> =
                self.by_id.iter().take(NAMED).map(|((volume, layer), n)| format!("({volume}, {layer}): {n}")).collect();
            if self.by_id.len() > NAMED {
                named.push(format!("and {} more", self.by_id.len() - NAMED));
            }
            let volumes: Vec<String> = detector.volumes().iter().map(u32::to_string).collect();
            let volumes = if volumes.is_empty() {
                "it knows no volumes".into()
            } else {
                format!("its volumes are {}", volumes.join(", "))
            };
            format!(
                "{spacepoints} on {} (volume, layer) that detector `{name}` does not have, this one the first \
                 ({volumes}); (volume, layer) and spacepoints: {}",
                self.by_id.len(),
                named.join(", ")
            )
        };
        Some(table.error_at(byte, Some(column), message))
    }
}
