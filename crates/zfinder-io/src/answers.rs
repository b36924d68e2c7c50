//! Reads the answers of an earlier search from a file.

use std::collections::HashSet;
use std::path::Path;

use zfinder::{RoiId, RoiResult, Status, Vertex};

use super::parquet;
use super::source::{self, Container};
use super::table::{Column, Table};
use crate::error::{Error, Result};

const WANTED: &str = "`event_id`, `z_mm` and, if you like, `roi_id`, `status`, `z_error_mm`, `significance` and `rank`: a file of `zfinder find`";

/// An answer in memory takes about 200 bytes.
const MOST_ROWS: u64 = 20_000_000;

/// Reads answers from a file that `zfinder find` or the Python package wrote.
///
/// | format | rows | columns |
/// |---|---|---|
/// | CSV, Parquet | a vertex, or an RoI without a vertex | `event_id`, `z_mm`; optional: `roi_id`, `status`, `z_error_mm`, `significance`, `rank` |
/// | Parquet | an RoI | `event_id`, `vertices`: a list of structs with `z_mm`; optional: `roi_id`, `status`, `spacepoints`, and of a vertex `z_error_mm`, `significance`, `rank` |
///
/// Other columns are ignored. The members of [`RoiResult`] that they would fill are 0 or None.
/// Without a column `status` the status is [`Status::Ok`] or [`Status::NoPeak`].
///
/// # Errors
/// A file that cannot be read, missing columns, fields that are no numbers, an unknown status, rows
/// of one (event, RoI) that do not follow one another, and a ROOT file.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("zfinder-answers-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("vertices.csv");
/// std::fs::write(&path, "event_id,z_mm\n7,12.5\n7,-3\n8,\n")?;
/// let answers = zfinder_io::read_answers(&path)?;
/// assert_eq!((answers.len(), answers[0].vertices[1].z_mm), (2, -3.0));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_answers(path: &Path) -> Result<Vec<RoiResult>> {
    match source::container(path)? {
        Container::Csv => read_csv(path),
        Container::Parquet => parquet::read_answers(path),
        Container::Root => Err(Error::Input {
            path: path.to_owned(),
            row: 0,
            column: None,
            message: "this is a ROOT file; answers are read from CSV and Parquet".into(),
        }),
    }
}

fn read_csv(path: &Path) -> Result<Vec<RoiResult>> {
    let mut table = Table::open(path)?;
    table.limit_rows(MOST_ROWS);
    let [event, z] = table.need(["event_id", "z_mm"], WANTED)?;
    let [roi, status, z_error, significance, rank] =
        ["roi_id", "status", "z_error_mm", "significance", "rank"].map(|name| table.column(name));
    let mut answers = Answers::default();
    while table.next()? {
        let roi_id = roi.map_or(Ok(0), |roi| table.whole_number(roi))?;
        let id = RoiId { event_id: table.whole_number(event)?, roi_id };
        let status = match status {
            Some(column) => Some(status_of(table.text(column)?).map_err(|message| table.error(column, message))?),
            None => None,
        };
        let vertex = if table.text(z)?.is_empty() {
            None
        } else {
            let number = |column: Option<Column>| match column {
                Some(column) if !table.text(column)?.is_empty() => table.number(column).map(Some),
                _ => Ok(None),
            };
            let (z_error_mm, rank) = (number(z_error)?.unwrap_or(0.0), number(rank)?.unwrap_or(0.0));
            let significance = number(significance)?;
            Some(Vertex { z_mm: table.number(z)?, z_error_mm, significance, rank, ..Vertex::default() })
        };
        answers.add_row(id, status, vertex).map_err(|message| table.error(event, message))?;
    }
    Ok(answers.rois)
}

/// Returns the status with this name in files.
pub(crate) fn status_of(word: &str) -> Result<Status, String> {
    let words = || Status::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(", ");
    word.parse().map_err(|_| format!("`{word}` is none of {}", words()))
}

/// Collects answers from consecutive rows.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) rois: Vec<RoiResult>,
    seen: HashSet<RoiId>,
}

impl Answers {
    /// Adds the row of a vertex, or of an RoI without vertices.
    ///
    /// # Errors
    /// The reason why the row is refused.
    pub(crate) fn add_row(&mut self, id: RoiId, status: Option<Status>, vertex: Option<Vertex>) -> Result<(), String> {
        match self.rois.last_mut().filter(|roi| roi.id == id && !roi.vertices.is_empty()) {
            Some(roi) => {
                let Some(vertex) = vertex else { return Err(again(id)) };
                roi.vertices.push(vertex);
                Ok(())
            }
            None => self.add_roi(RoiResult {
                id,
                status: status.unwrap_or(if vertex.is_some() { Status::Ok } else { Status::NoPeak }),
                vertices: vertex.into_iter().collect(),
                ..RoiResult::default()
            }),
        }
    }

    /// Adds a whole RoI.
    ///
    /// # Errors
    /// An RoI that was added before.
    pub(crate) fn add_roi(&mut self, roi: RoiResult) -> Result<(), String> {
        if !self.seen.insert(roi.id) {
            return Err(again(roi.id));
        }
        self.rois.push(roi);
        Ok(())
    }
}

fn again(RoiId { event_id, roi_id }: RoiId) -> String {
    format!("event {event_id}, RoI {roi_id} comes again")
}
