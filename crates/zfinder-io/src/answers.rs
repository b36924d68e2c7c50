//! Reads the answers of an earlier search from a file.

use std::collections::HashSet;
use std::path::Path;

use zfinder::results::RoiSummary;
use zfinder::{Results, RoiId, Status, Vertex};

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
/// Other columns are ignored. Columns of [`Results`] that are missing hold 0 or NaN.
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
/// assert_eq!((answers.len(), answers.roi(0).vertices().z_mm()), (2, &[12.5, -3.0][..]));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_answers(path: &Path) -> Result<Results> {
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

fn read_csv(path: &Path) -> Result<Results> {
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
        let found = if table.text(z)?.is_empty() {
            None
        } else {
            let number = |column: Option<Column>| match column {
                Some(column) if !table.text(column)?.is_empty() => table.number(column).map(Some),
                _ => Ok(None),
            };
            let (z_error_mm, rank) = (number(z_error)?.unwrap_or(0.0), number(rank)?.unwrap_or(0.0));
            let significance = number(significance)?;
            Some(vertex(table.number(z)?, z_error_mm, significance, rank))
        };
        answers.add_row(id, status, found).map_err(|message| table.error(event, message))?;
    }
    Ok(answers.results)
}

/// Returns the status with this name in files.
pub(crate) fn status_of(word: &str) -> Result<Status, String> {
    let words = || Status::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(", ");
    word.parse().map_err(|_| format!("`{word}` is none of {}", words()))
}

/// Makes a vertex of the columns that files have.
pub(crate) fn vertex(z_mm: f64, z_error_mm: f64, significance: Option<f64>, rank: f64) -> Vertex {
    let mut vertex = Vertex::at(z_mm);
    (vertex.z_error_mm, vertex.significance, vertex.rank) = (z_error_mm, significance, rank);
    vertex
}

/// Collects answers from consecutive rows.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) results: Results,
    seen: HashSet<RoiId>,
}

impl Answers {
    /// Adds the row of a vertex, or of an RoI without vertices.
    ///
    /// # Errors
    /// The reason why the row is refused.
    pub(crate) fn add_row(&mut self, id: RoiId, status: Option<Status>, vertex: Option<Vertex>) -> Result<(), String> {
        if self.results.iter().next_back().is_some_and(|last| last.id() == id && !last.vertices().is_empty()) {
            let Some(vertex) = vertex else { return Err(again(id)) };
            self.results.push_vertex(vertex);
            return Ok(());
        }
        let status = status.unwrap_or(if vertex.is_some() { Status::Ok } else { Status::NoPeak });
        self.add_roi(RoiSummary::new(id, status), vertex)
    }

    /// Adds a whole RoI.
    ///
    /// # Errors
    /// An RoI that was added before.
    pub(crate) fn add_roi(
        &mut self,
        roi: RoiSummary,
        vertices: impl IntoIterator<Item = Vertex>,
    ) -> Result<(), String> {
        if !self.seen.insert(roi.id) {
            return Err(again(roi.id));
        }
        self.results.push(roi, vertices);
        Ok(())
    }
}

fn again(RoiId { event_id, roi_id }: RoiId) -> String {
    format!("event {event_id}, RoI {roi_id} comes again")
}
