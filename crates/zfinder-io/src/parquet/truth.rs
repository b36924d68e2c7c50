//! Reads the true vertices from a Parquet file of particles.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::column::Refused;
use super::field::Wanted;
use super::table::Table;
use crate::column_map::ColumnMap;
use crate::error::Result;
use crate::truth_vertex::{EventVertices, TruthVertex};
use column_names::quoted;

const NUMBER: &str = "vertex_primary";
const Z: &str = "vz";

/// The number of the hard scatter among the primary vertices of an event. Other numbers are
/// pile-up.
const HARD_SCATTER: u64 = 1;

/// Returns the true vertices of each event, in the order of the file. The z of a primary vertex is
/// that of most of its particles, because particles of decays and of secondary interactions have
/// another z. A file of particles has a row for each particle, or a row with lists for each event,
/// with the columns `event_id`, `vertex_primary` (0: none; 1: the hard scatter) and `vz` \[mm\].
/// They may have the names of `columns`.
///
/// # Errors
/// A file that is not Parquet, columns that are missing or of other types, nulls, and a vz that is
/// not finite.
pub(crate) fn read(path: &Path, columns: &ColumnMap) -> Result<EventVertices> {
    let mut table = Table::open(path)?;
    let columns = columns.of_those(table.names());
    table.rename_columns(&columns)?;
    let event = table.event_with([NUMBER, Z], &quoted(["event_id", NUMBER, Z].into_iter()))?;
    table.all_lists([(NUMBER, Wanted::WholeNumbers), (Z, Wanted::Numbers)].into_iter())?;
    table.check_ids([event.as_str()].into_iter())?;
    table.select([Z, NUMBER, &event].into_iter());
    let mut particles = Particles::default();
    while table.next_batch()? > 0 {
        particles.add(&table, &event).map_err(|(column, refused)| table.refuse(column, refused))?;
    }
    Ok(particles.into_vertices())
}

/// The bits of each z of a primary vertex, with the number of its particles and the index of the
/// first.
type Positions = HashMap<u64, (u64, usize)>;

#[derive(Default)]
struct Particles {
    /// Events in the order of the file.
    events: Vec<u64>,
    /// Positions by event and by number of the vertex.
    vertices: HashMap<u64, BTreeMap<u64, Positions>>,
    // Columns of one batch.
    ids: Vec<u64>,
    numbers: Vec<u64>,
    z: Vec<f64>,
}

impl Particles {
    /// Adds a batch.
    fn add<'a>(&mut self, table: &Table, event_name: &'a str) -> Result<(), (&'a str, Refused)> {
        let [event, number, z] = [event_name, NUMBER, Z].map(|name| table.column(name));
        self.ids.clear();
        self.numbers.clear();
        self.z.clear();
        event.whole_numbers(&mut self.ids).map_err(|refused| (event_name, refused))?;
        for (name, column) in [(NUMBER, number), (Z, z)] {
            column.check_lengths(number).map_err(|refused| (name, refused))?;
        }
        number.whole_numbers(&mut self.numbers).map_err(|refused| (NUMBER, refused))?;
        z.numbers(&mut self.z).map_err(|refused| (Z, refused))?;
        if let Some(at) = self.z.iter().position(|z| !z.is_finite()) {
            return Err((Z, (z.row(at), format!("{} is not finite", self.z[at]))));
        }
        for (row, &event_id) in self.ids.iter().enumerate() {
            let vertices = self.vertices.entry(event_id).or_insert_with(|| {
                self.events.push(event_id);
                BTreeMap::new()
            });
            for at in number.values(row).filter(|&at| self.numbers[at] != 0) {
                let positions = vertices.entry(self.numbers[at]).or_default();
                let order = positions.len();
                positions.entry(self.z[at].to_bits()).or_insert((0, order)).0 += 1;
            }
        }
        Ok(())
    }

    fn into_vertices(mut self) -> EventVertices {
        let vertex = |(number, positions): (u64, Positions)| {
            // The first of several equally frequent positions.
            let most =
                positions.into_iter().max_by_key(|&(_, (particles, order))| (particles, std::cmp::Reverse(order)));
            let z_mm = f64::from_bits(most.map_or(0, |(bits, _)| bits));
            TruthVertex { z_mm, is_hard_scatter: number == HARD_SCATTER, ..TruthVertex::default() }
        };
        let events = std::mem::take(&mut self.events).into_iter();
        events
            .map(|event| {
                let vertices = self.vertices.remove(&event).unwrap_or_default();
                (event, vertices.into_iter().map(vertex).collect())
            })
            .collect()
    }
}
