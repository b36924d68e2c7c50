//! The columns of spacepoints in Parquet and ROOT files, by name.

use std::collections::HashMap;

use column_names::{advice, event_column, lookalike, quoted, refusal, similar};

use super::event::Addressing;

/// Columns that an error message asks for.
pub(super) const WANTED: &str = "`x,y,z` or `rho,phi,z`, and `layer`, or `volume_id,layer_id`, or `geometry_id`, and, \
                                 if there are several, `event_id` and `roi_id`";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Cartesian,
    Cylindrical,
}

/// Columns that give the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerColumns {
    Index(&'static str),
    Id([&'static str; 2]),
    /// A bit field: the volume in bits 56 to 63, the layer in bits 36 to 47.
    GeometryId(&'static str),
    /// The volume in bits 8 and up, the layer in bits 0 to 7.
    Packed(&'static str),
    Position,
}

/// The names of the columns of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    /// The column that [`event_column`] chooses.
    pub(super) event: Option<String>,
    pub(super) roi: Option<&'static str>,
    pub(super) shape: Shape,
    pub(super) position: [&'static str; 3],
    pub(super) layers: LayerColumns,
}

impl Schema {
    /// Returns the schema of these columns, or what is wrong with them.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<Self, SchemaFault> {
        let has = |name: &str| names.clone().any(|there| there == name);
        let first = |wanted: &[&'static str]| wanted.iter().copied().find(|name| has(name));
        const POSITIONS: [(Shape, [&str; 3]); 4] = [
            (Shape::Cartesian, ["x", "y", "z"]),
            (Shape::Cylindrical, ["rho", "phi", "z"]),
            (Shape::Cartesian, ["sp_x", "sp_y", "sp_z"]),
            (Shape::Cartesian, ["tx", "ty", "tz"]),
        ];
        let layers = if let Some(layer) = first(&["layer"]) {
            Some(LayerColumns::Index(layer))
        } else if has("volume_id") && has("layer_id") {
            Some(LayerColumns::Id(["volume_id", "layer_id"]))
        } else if let Some(id) = first(&["geometry_id_1", "geometry_id"]) {
            Some(LayerColumns::GeometryId(id))
        } else {
            first(&["sp_vollayer"]).map(LayerColumns::Packed)
        };
        let lacks = |set: &[&'static str; 3]| set.iter().copied().filter(|name| !has(name)).collect::<Vec<_>>();
        // The message names the most complete set of columns. Similar names count as present.
        let unknown = |set: &[&'static str; 3]| {
            lacks(set).into_iter().filter(|key| similar(names.clone(), key).is_none()).count()
        };
        let sets = POSITIONS.into_iter();
        let (shape, position) =
            sets.min_by_key(|(_, set)| (unknown(set), lacks(set).len())).expect("there are four of them");
        let mut missing = lacks(&position);
        let layers = layers.or((position[0] == "sp_x").then_some(LayerColumns::Position));
        if layers.is_none() {
            missing.push("layer");
        }
        let Some(layers) = layers.filter(|_| missing.is_empty()) else { return Err(SchemaFault::Missing(missing)) };
        let event = event_column(names.clone()).map_err(SchemaFault::Refused)?;
        if let Some(name) = lookalike(names.clone(), "roi_id") {
            return Err(SchemaFault::Refused(refusal(name, "roi_id")));
        }
        Ok(Self { event: event.map(str::to_owned), roi: first(&["roi_id"]), shape, position, layers })
    }

    /// Returns the schema of a file whose columns may be members of records: `x` for `hits.x`. The
    /// second value is the path of each column. Ids may be outside the records.
    pub(super) fn with_records(paths: &[String]) -> Result<(Self, HashMap<String, String>), SchemaFault> {
        let tops: Vec<&str> = paths.iter().map(String::as_str).filter(|path| !path.contains('.')).collect();
        let own_path = |name: &&str| ((*name).to_owned(), (*name).to_owned());
        let alone = match Self::new(tops.iter().copied()) {
            Ok(schema) => return Ok((schema, tops.iter().map(own_path).collect())),
            Err(fault) => fault,
        };
        let mut records: Vec<&str> = paths.iter().filter_map(|path| Some(path.rsplit_once('.')?.0)).collect();
        records.dedup();
        let has_event = event_column(tops.iter().copied()).is_ok_and(|event| event.is_some());
        let is_outside = |member: &str| {
            let is_event = event_column(std::iter::once(member)) != Ok(None);
            is_event && has_event || member == "roi_id" && tops.contains(&member)
        };
        let (mut fitting, mut faults) = (Vec::new(), vec![alone]);
        for record in records {
            let members = paths.iter().filter_map(|path| Some((path.strip_prefix(record)?.strip_prefix('.')?, path)));
            let members = members.filter(|(member, _)| !member.contains('.') && !is_outside(member));
            let mut columns: HashMap<String, String> = tops.iter().map(own_path).collect();
            columns.extend(members.map(|(member, path)| (member.to_owned(), path.clone())));
            match Self::new(columns.keys().map(String::as_str)) {
                Ok(schema) => fitting.push((record, schema, columns)),
                Err(fault) => faults.push(fault),
            }
        }
        match fitting.len() {
            // The fault of the most complete set.
            0 => Err(faults.into_iter().min_by_key(SchemaFault::missing).expect("that without records")),
            1 => Ok(fitting.pop().map(|(_, schema, columns)| (schema, columns)).expect("there is one")),
            _ => {
                let records = quoted(fitting.iter().map(|(record, ..)| *record));
                Err(SchemaFault::Refused(format!(
                    "the records {records} have columns of spacepoints: write one of them to a file of its own"
                )))
            }
        }
    }

    /// Returns the columns of ids.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.event.as_deref().into_iter().chain(self.roi)
    }

    pub(super) fn addressing(&self) -> Addressing {
        match self.layers {
            LayerColumns::Index(_) => Addressing::Index,
            _ => Addressing::Geometry,
        }
    }

    /// Returns the columns of whole numbers that give the layer: at most two.
    pub(super) fn layer_columns(&self) -> &[&'static str] {
        match &self.layers {
            LayerColumns::Index(column) | LayerColumns::GeometryId(column) | LayerColumns::Packed(column) => {
                std::slice::from_ref(column)
            }
            LayerColumns::Id(columns) => columns,
            LayerColumns::Position => &[],
        }
    }
}

/// The reason for which columns are not those of spacepoints.
pub(super) enum SchemaFault {
    /// The missing columns.
    Missing(Vec<&'static str>),
    /// A column whose name makes it doubtful what to read.
    Refused(String),
}

impl SchemaFault {
    /// Returns the number of missing columns.
    fn missing(&self) -> usize {
        match self {
            Self::Missing(columns) => columns.len(),
            Self::Refused(_) => 0,
        }
    }

    /// Returns the reason in words, for a file with columns of these names.
    pub(super) fn message<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> String {
        match self {
            Self::Missing(columns) => missing(columns, names),
            Self::Refused(reason) => reason.clone(),
        }
    }
}

/// "missing column `layer`; the file has `x`, `y`, `z`; wanted: ..."
fn missing<'a>(missing: &[&'a str], names: impl Iterator<Item = &'a str> + Clone) -> String {
    let plural = if missing.len() == 1 { "column" } else { "columns" };
    let advice = advice(missing.iter().copied(), names.clone());
    format!(
        "missing {plural} {}{advice}; the file has {}; expected: {WANTED}",
        quoted(missing.iter().copied()),
        quoted(names)
    )
}
