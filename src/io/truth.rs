//! Where the simulated collisions were.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::table::Table;
use crate::error::Result;
use crate::spacepoint::RoiId;

const WANTED: &str = "`event`, `vz_mm` and `is_hard_scatter` (1 for the primary vertex, else 0), or `event_id`, `z` \
                      and, if you like, `roi_id`";

/// A simulated primary vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruthVertex {
    /// Its position along the beam \[mm\].
    pub z_mm: f64,
    /// Whether it is the collision of interest, and not pile-up.
    pub is_hard_scatter: bool,
}

/// Of which event, and of which RoI; None: of all RoIs of the event that have no vertices of their own.
type Whose = (u64, Option<u64>);

/// True vertices of events or RoIs, from a file in one of two formats, which its header tells apart:
///
/// | format | columns | vertices |
/// |---|---|---|
/// | ACTS's sets | `event,vz_mm,is_hard_scatter` | all of an event, one hard scatter at most |
/// | own | `event_id,roi_id,z` | the primary vertex of each RoI, and no pile-up |
///
/// z is in mm. In the own format a row without `roi_id` (no such column, or an empty field) is for all RoIs of its
/// event, but those that have a row of their own. Other columns are not looked at.
#[derive(Clone, Debug)]
pub struct TruthTable {
    path: PathBuf,
    vertices: HashMap<Whose, Vec<TruthVertex>>,
}

impl TruthTable {
    /// Reads a CSV file of either format, gzipped or not. One with a column `event_id` is in the own format.
    ///
    /// # Errors
    /// Missing columns, fields that are no numbers, two hard scatters in an event, two rows for an (event, RoI) in the
    /// own format, and a file without vertices.
    pub fn read(path: &Path) -> Result<Self> {
        let mut table = Table::open(path)?;
        let mut truth = Self { path: path.to_owned(), vertices: HashMap::new() };
        match table.column("event_id") {
            Some(_) => truth.read_own(&mut table)?,
            None => truth.read_acts(&mut table)?,
        }
        if truth.vertices.is_empty() {
            return Err(table.whole("there is a header and no vertex below it".into()));
        }
        Ok(truth)
    }

    fn read_acts(&mut self, table: &mut Table) -> Result<()> {
        let [event, z, hard] = table.need(["event", "vz_mm", "is_hard_scatter"], WANTED)?;
        while table.next()? {
            let event_id = table.whole_number(event)?;
            let is_hard_scatter = match table.whole_number(hard)? {
                0 => false,
                1 => true,
                other => return Err(table.error(hard, format!("{other} must be 0 or 1"))),
            };
            let vertices = self.vertices.entry((event_id, None)).or_default();
            if is_hard_scatter && primary(vertices).is_some() {
                return Err(table.error(hard, format!("event {event_id} has a hard scatter already")));
            }
            vertices.push(TruthVertex { z_mm: table.number(z)?, is_hard_scatter });
        }
        Ok(())
    }

    fn read_own(&mut self, table: &mut Table) -> Result<()> {
        let [event, z] = table.need(["event_id", "z"], WANTED)?;
        let roi = table.column("roi_id");
        while table.next()? {
            let event_id = table.whole_number(event)?;
            let roi_id = match roi {
                Some(roi) if !table.text(roi)?.is_empty() => Some(table.whole_number(roi)?),
                _ => None,
            };
            let vertex = TruthVertex { z_mm: table.number(z)?, is_hard_scatter: true };
            if self.vertices.insert((event_id, roi_id), vec![vertex]).is_some() {
                let whose = roi_id.map_or_else(String::new, |roi_id| format!(", RoI {roi_id}"));
                let message = format!("event {event_id}{whose} has a vertex already; one row each is wanted");
                return Err(table.error(roi.unwrap_or(event), message));
            }
        }
        Ok(())
    }

    /// The file that it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All true vertices that are known for an RoI, those of its whole event, in the order of the file.
    pub fn vertices(&self, id: RoiId) -> &[TruthVertex] {
        let own = self.vertices.get(&(id.event_id, Some(id.roi_id)));
        own.or_else(|| self.vertices.get(&(id.event_id, None))).map_or(&[], Vec::as_slice)
    }

    /// Where the collision of interest was \[mm\].
    pub fn hard_scatter_z(&self, id: RoiId) -> Option<f64> {
        primary(self.vertices(id))
    }

    /// Whether any event has vertices beside its hard scatter: then pile-up is known.
    pub fn has_pile_up(&self) -> bool {
        self.vertices.values().flatten().any(|vertex| !vertex.is_hard_scatter)
    }
}

/// z of the collision of interest among the vertices of an event \[mm\].
pub(crate) fn primary(vertices: &[TruthVertex]) -> Option<f64> {
    vertices.iter().find(|vertex| vertex.is_hard_scatter).map(|vertex| vertex.z_mm)
}
