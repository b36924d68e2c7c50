//! Reads answers from a Parquet file: a row for each vertex, or a row for each RoI with the list of
//! its vertices.

use std::path::Path;

use zfinder::results::RoiSummary;
use zfinder::{Results, RoiId, Status, Vertex};

use super::column::{Column, Refused};
use super::field::Wanted;
use super::table::Table;
use crate::answers::{self, Answers, status_of};
use crate::error::Result;
use column_names::quoted;

const EVENT: &str = "event_id";
const ROI: &str = "roi_id";
const STATUS: &str = "status";
const SPACEPOINTS: &str = "spacepoints";

/// The columns of vertices, z first.
const FLAT: [&str; 4] = ["z_mm", "z_error_mm", "significance", "rank"];
const NESTED: [&str; 4] = ["vertices.z_mm", "vertices.z_error_mm", "vertices.significance", "vertices.rank"];

/// Reads all answers.
///
/// # Errors
/// A file that is not Parquet, columns that are missing or of other types, nulls in required
/// columns, an unknown status, and an RoI that occurs twice.
pub(crate) fn read(path: &Path) -> Result<Results> {
    let mut table = Table::open(path)?;
    let has = |table: &Table, name: &str| table.names().any(|there| there == name);
    let is_nested = has(&table, NESTED[0]);
    let of_vertices = if is_nested { NESTED } else { FLAT };
    let z = of_vertices[0];
    let missing: Vec<&str> = [EVENT, z].into_iter().filter(|name| !has(&table, name)).collect();
    if !missing.is_empty() {
        let (missing, there) = (quoted(missing.into_iter()), quoted(table.names()));
        let message =
            format!("missing {missing}; the file has {there}; expected: a file of `zfinder find` or pyzfinder");
        return Err(table.error(0, None, message));
    }
    let names = of_vertices.into_iter().chain([EVENT, ROI, STATUS, SPACEPOINTS]);
    let there: Vec<&str> = names.filter(|name| has(&table, name)).collect();
    let is_id = |name: &&str| [EVENT, ROI, SPACEPOINTS].contains(name);
    table.check_ids(there.iter().copied().filter(is_id))?;
    let numbers = there.iter().copied().filter(|name| of_vertices.contains(name));
    if table.all_lists(numbers.map(|name| (name, Wanted::Numbers)))? != is_nested {
        return Err(table.error(0, Some(z), "must hold a number a row".into()));
    }
    let texts = there.iter().copied().filter(|name| *name == STATUS);
    if table.all_lists(texts.map(|name| (name, Wanted::Texts)))? {
        return Err(table.error(0, Some(STATUS), "must hold a text a row".into()));
    }
    table.select(there.iter().copied());
    let (mut answers, mut batch) = (Answers::default(), Batch::default());
    while table.next_batch()? > 0 {
        let column = |name: &str| there.contains(&name).then(|| table.column(name));
        let added =
            batch.read(column, of_vertices).and_then(|()| batch.add_to(&mut answers, table.column(z), is_nested));
        added.map_err(|(column, refused)| table.refuse(column, refused))?;
    }
    Ok(answers.results)
}

type Refusal = (&'static str, Refused);

/// Columns of one batch; empty if the file does not have them.
#[derive(Default)]
struct Batch {
    event: Vec<u64>,
    roi: Vec<u64>,
    spacepoints: Vec<u64>,
    status: Vec<Status>,
    of_vertices: [Vec<Option<f64>>; 4],
}

impl Batch {
    fn read<'a>(
        &mut self,
        column: impl Fn(&'static str) -> Option<&'a Column>,
        of_vertices: [&'static str; 4],
    ) -> Result<(), Refusal> {
        for (name, to) in [(EVENT, &mut self.event), (ROI, &mut self.roi), (SPACEPOINTS, &mut self.spacepoints)] {
            to.clear();
            column(name).map_or(Ok(()), |column| column.whole_numbers(to)).map_err(|refused| (name, refused))?;
        }
        self.status.clear();
        if let Some(column) = column(STATUS) {
            let status = |(row, word): (usize, &str)| status_of(word).map_err(|message| (STATUS, (row, message)));
            let words = column.texts().map_err(|refused| (STATUS, refused))?;
            for status in words.into_iter().enumerate().map(status) {
                self.status.push(status?);
            }
        }
        let model = column(of_vertices[0]);
        for (name, to) in of_vertices.into_iter().zip(&mut self.of_vertices) {
            to.clear();
            let Some(column) = column(name) else { continue };
            model.map_or(Ok(()), |model| column.check_lengths(model)).map_err(|refused| (name, refused))?;
            column.optional_numbers(to);
            if let Some(at) = to.iter().position(|number| number.is_some_and(|number| !number.is_finite())) {
                return Err((name, (column.row(at), "holds a number that is not finite".into())));
            }
        }
        Ok(())
    }

    fn add_to(&self, answers: &mut Answers, z: &Column, is_nested: bool) -> Result<(), Refusal> {
        let vertex = |at: usize| {
            let [z_mm, z_error_mm, significance, rank] =
                self.of_vertices.each_ref().map(|column| column.get(at).copied().flatten());
            let (z_error_mm, rank) = (z_error_mm.unwrap_or(0.0), rank.unwrap_or(0.0));
            z_mm.map(|z_mm| answers::vertex(z_mm, z_error_mm, significance, rank))
        };
        for (row, &event_id) in self.event.iter().enumerate() {
            let id = RoiId { event_id, roi_id: self.roi.get(row).copied().unwrap_or(0) };
            let status = self.status.get(row).copied();
            let added = if is_nested {
                let vertices: Vec<Vertex> = z.values(row).filter_map(vertex).collect();
                if vertices.len() < z.values(row).len() {
                    return Err((NESTED[0], (row, "holds a null; a value is expected".into())));
                }
                let without_status = if vertices.is_empty() { Status::NoPeak } else { Status::Ok };
                let mut roi = RoiSummary::new(id, status.unwrap_or(without_status));
                roi.spacepoints = self.spacepoints.get(row).copied().unwrap_or(0);
                answers.add_roi(roi, vertices)
            } else {
                answers.add_row(id, status, vertex(row))
            };
            added.map_err(|message| (EVENT, (row, message)))?;
        }
        Ok(())
    }
}
