//! Reads objects: electrons, photons, muons and jets of each event.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::parquet;
use super::source::{self, Container};
use super::table::Table;
use crate::error::Result;
use zfinder::region::{ObjectKind, SeedObject};

pub(super) const WANTED: &str = "`event_id,eta,phi,et` and, if you like, `kind` (electron, photon, muon or jet)";
/// An object in a table takes about 100 bytes.
pub(super) const MOST_OBJECTS: u64 = 4_000_000;

/// Objects of a CSV or Parquet file `event_id,eta,phi,et` (rad, GeV), optionally with `kind`.
/// Without `kind`, or where it is empty, an object is an electron. A row of a Parquet file is an
/// object, or an event with lists of the other columns.
#[derive(Clone, Debug)]
pub struct ObjectTable {
    path: PathBuf,
    by_event: HashMap<u64, Vec<SeedObject>>,
}

impl ObjectTable {
    /// Reads a file; CSV may be gzipped.
    ///
    /// # Errors
    /// Missing columns, fields that are no numbers, objects that [`SeedObject::new`] refuses, an
    /// unknown kind, and a file without any object.
    pub fn read(path: &Path) -> Result<Self> {
        if source::container(path)? == Container::Parquet {
            return Ok(Self { path: path.to_owned(), by_event: parquet::read_objects(path)? });
        }
        let mut table = Table::open(path)?;
        table.limit_rows(MOST_OBJECTS);
        let (event, [eta, phi, et]) = table.need_with_event(["eta", "phi", "et"], WANTED)?;
        table.refuse_lookalikes(&["kind"])?;
        let kind = table.column("kind");
        let mut by_event: HashMap<u64, Vec<SeedObject>> = HashMap::new();
        while table.next()? {
            let event_id = table.whole_number(event)?;
            let kind_of = match kind {
                Some(column) if !table.text(column)?.is_empty() => {
                    let word = table.text(column)?;
                    word.parse().map_err(|error: zfinder::Error| table.error(column, error.to_string()))?
                }
                _ => ObjectKind::Electron,
            };
            let object = SeedObject::new(table.number(eta)?, table.number(phi)?, table.number(et)?, kind_of);
            let object = object.map_err(|error| table.row_error(error.to_string()))?;
            by_event.entry(event_id).or_default().push(object);
        }
        if by_event.is_empty() {
            return Err(table.whole("there is a header and no object below it".into()));
        }
        Ok(Self { path: path.to_owned(), by_event })
    }

    /// Returns the file of the table.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the objects of an event, in the order of the file.
    pub fn of_event(&self, event_id: u64) -> &[SeedObject] {
        self.by_event.get(&event_id).map_or(&[], Vec::as_slice)
    }
}
