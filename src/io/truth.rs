//! Where the simulated collisions were.

use std::collections::HashMap;
use std::path::Path;

use super::table::Table;
use crate::error::Result;

const WANTED: &str = "`event`, `vz_mm` and `is_hard_scatter` (1 for the primary vertex, else 0)";

/// A simulated primary vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruthVertex {
    /// Its position along the beam \[mm\].
    pub z_mm: f64,
    /// Whether it is the collision of interest, and not pile-up.
    pub is_hard_scatter: bool,
}

/// True vertices by event, as in `truth_vertices.csv`.
#[derive(Clone, Debug, Default)]
pub struct TruthTable {
    vertices: HashMap<u64, Vec<TruthVertex>>,
}

impl TruthTable {
    /// Reads the columns `event`, `vz_mm` \[mm\] and `is_hard_scatter` of a CSV file, gzipped or not.
    ///
    /// # Errors
    /// Missing columns, fields that are no numbers, two hard scatters in an event, and a file without vertices.
    pub fn read(path: &Path) -> Result<Self> {
        let mut table = Table::open(path)?;
        let [event, z, hard] = table.need(["event", "vz_mm", "is_hard_scatter"], WANTED)?;
        let mut truth = Self::default();
        while table.next()? {
            let event_id = table.whole_number(event)?;
            let is_hard_scatter = match table.whole_number(hard)? {
                0 => false,
                1 => true,
                other => return Err(table.error(hard, format!("{other} must be 0 or 1"))),
            };
            if is_hard_scatter && truth.hard_scatter_z(event_id).is_some() {
                return Err(table.error(hard, format!("event {event_id} has a hard scatter already")));
            }
            let vertex = TruthVertex { z_mm: table.number(z)?, is_hard_scatter };
            truth.vertices.entry(event_id).or_default().push(vertex);
        }
        if truth.vertices.is_empty() {
            return Err(table.whole("there is a header and no vertex below it".into()));
        }
        Ok(truth)
    }

    /// All vertices of an event, in the order of the file.
    pub fn vertices(&self, event_id: u64) -> &[TruthVertex] {
        self.vertices.get(&event_id).map_or(&[], Vec::as_slice)
    }

    /// Where the collision of interest was \[mm\].
    pub fn hard_scatter_z(&self, event_id: u64) -> Option<f64> {
        self.vertices(event_id).iter().find(|vertex| vertex.is_hard_scatter).map(|vertex| vertex.z_mm)
    }
}
