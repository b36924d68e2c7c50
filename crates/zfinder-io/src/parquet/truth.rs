//! Where the simulated collisions were, out of a Parquet file of particles.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;

use super::arrays::{self, Refused};
use super::read::{all_lists, builder, carefully};
use crate::columns::quoted;
use crate::error::{Error, Result};
use crate::truth::{EventVertices, TruthVertex};

const COLUMNS: [&str; 3] = ["event_id", "vertex_primary", "vz"];

/// The number of the collision of interest among the primary vertices of an event; pile-up has the others.
const HARD_SCATTER: u64 = 1;

/// True vertices of each event, in the order of the file: of every primary vertex the z that most of its particles
/// have, for a particle of a decay or of the detector's material has another. From a file of particles, a row each or
/// a row an event with lists, with the columns `event_id`, `vertex_primary` (0: none; 1: the hard scatter) and `vz`
/// \[mm\].
///
/// # Errors
/// What is no Parquet file, columns that are missing or of other types, nulls, and a vz that is not finite.
pub(crate) fn read(path: &Path) -> Result<EventVertices> {
    let refuse = |row: u64, column: Option<&str>, message: String| Error::Input {
        path: path.to_owned(),
        row,
        column: column.map(str::to_owned),
        message,
    };
    let builder = builder(path)?;
    let names = builder.schema().fields().iter().map(|field| field.name().as_str());
    let missing: Vec<&str> = COLUMNS.into_iter().filter(|name| !names.clone().any(|there| there == *name)).collect();
    if !missing.is_empty() {
        let (missing, there) = (quoted(missing.into_iter()), quoted(names));
        let message = format!("missing {missing}; the file has {there}; wanted: {}", quoted(COLUMNS.into_iter()));
        return Err(refuse(0, None, message));
    }
    let whole: fn(&DataType) -> bool = arrays::is_whole_number;
    let number: fn(&DataType) -> bool = arrays::is_number;
    let kinds = [(COLUMNS[1], whole, "whole numbers"), (COLUMNS[2], number, "numbers (float or double)")];
    let lists = all_lists(path, builder.schema(), kinds.into_iter())?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), COLUMNS);
    let builder = builder.with_projection(mask);
    let mut batches = carefully(|| builder.build()).map_err(|message| refuse(0, None, message))?;

    let mut particles = Particles::default();
    let mut rows = 0;
    let beyond = |rows: u64, message| refuse(0, None, format!("cannot be read beyond row {rows}: {message}"));
    while let Some(batch) = carefully(|| batches.next().transpose()).map_err(|message: String| beyond(rows, message))? {
        let columns = COLUMNS.map(|name| batch.column_by_name(name).expect("it is there").clone());
        particles
            .add(&columns, lists)
            .map_err(|(column, (row, message))| refuse(rows + row as u64 + 1, Some(column), message))?;
        rows += batch.num_rows() as u64;
    }
    Ok(particles.into_vertices())
}

/// How many particles of a primary vertex have which z (its bits), and which of them came first.
type Positions = HashMap<u64, (u64, usize)>;

#[derive(Default)]
struct Particles {
    /// Events in the order of the file.
    events: Vec<u64>,
    /// By event, and by the vertex's number.
    vertices: HashMap<u64, BTreeMap<u64, Positions>>,
    // One batch's columns.
    ids: Vec<u64>,
    numbers: Vec<u64>,
    z: Vec<f64>,
}

impl Particles {
    /// Adds a batch; else which column and row cannot be, and why.
    fn add(&mut self, columns: &[ArrayRef; 3], lists: bool) -> Result<(), (&'static str, Refused)> {
        let [event, number, z] = columns;
        self.ids.clear();
        self.numbers.clear();
        self.z.clear();
        arrays::append_whole_numbers(event, 0, event.len(), &mut self.ids).map_err(|refused| (COLUMNS[0], refused))?;
        if !lists {
            return self.add_particles(number, z, |row| row + 1);
        }
        let lists = [number.as_list::<i32>(), z.as_list::<i32>()];
        for (list, name) in lists.into_iter().zip(&COLUMNS[1..]) {
            arrays::no_null(list).map_err(|refused| (*name, refused))?;
        }
        for row in 0..self.ids.len() {
            let [numbers, positions] = lists.map(|list| list.value_length(row));
            if numbers != positions {
                let message = format!("the list has {positions} values, that of `{}` has {numbers}", COLUMNS[1]);
                return Err((COLUMNS[2], (row, message)));
            }
        }
        let offsets = lists[0].value_offsets();
        let end = |row: usize| (offsets[row + 1] - offsets[0]) as usize;
        let items = lists.map(|list| {
            let offsets = list.value_offsets();
            list.values().slice(offsets[0] as usize, (offsets[offsets.len() - 1] - offsets[0]) as usize)
        });
        self.add_particles(&items[0], &items[1], end)
    }

    /// Of which those of a row end at `end(row)`.
    fn add_particles(
        &mut self,
        numbers: &ArrayRef,
        z: &ArrayRef,
        end: impl Fn(usize) -> usize,
    ) -> Result<(), (&'static str, Refused)> {
        let row_of = |at: usize| (0..self.ids.len()).find(|&row| at < end(row)).unwrap_or(0);
        let at_row = |column, (at, message): Refused| (column, (row_of(at), message));
        arrays::append_whole_numbers(numbers, 0, numbers.len(), &mut self.numbers)
            .map_err(|refused| at_row(COLUMNS[1], refused))?;
        arrays::append_numbers(z, 0, z.len(), &mut self.z).map_err(|refused| at_row(COLUMNS[2], refused))?;
        if let Some(at) = self.z.iter().position(|z| !z.is_finite()) {
            return Err(at_row(COLUMNS[2], (at, format!("{} is not finite", self.z[at]))));
        }
        let mut from = 0;
        for (row, &event_id) in self.ids.iter().enumerate() {
            let vertices = self.vertices.entry(event_id).or_insert_with(|| {
                self.events.push(event_id);
                BTreeMap::new()
            });
            for at in from..end(row) {
                if self.numbers[at] != 0 {
                    let positions = vertices.entry(self.numbers[at]).or_default();
                    let order = positions.len();
                    positions.entry(self.z[at].to_bits()).or_insert((0, order)).0 += 1;
                }
            }
            from = end(row);
        }
        Ok(())
    }

    fn into_vertices(mut self) -> EventVertices {
        let vertex = |(number, positions): (u64, Positions)| {
            // The first of several that as many have.
            let most =
                positions.into_iter().max_by_key(|&(_, (particles, order))| (particles, std::cmp::Reverse(order)));
            let z_mm = f64::from_bits(most.map_or(0, |(bits, _)| bits));
            TruthVertex { z_mm, is_hard_scatter: number == HARD_SCATTER }
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
