//! Reads the file of RoIs: window, eta and z range of each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::table::{Column, Table};
use crate::error::{Error, Result};
use zfinder::Config;
use zfinder::{PhiWindow, RoiDescriptor, RoiId};

const WANTED: &str = "`event_id,roi_id,phi_min,phi_max` and, if you like, `eta` and `z_min,z_max`";
/// An RoI in a table takes about 200 bytes.
const MOST_ROIS: u64 = 4_000_000;
/// No tracker reaches further; a larger number is a mistake.
const MAX_ETA: f64 = 20.0;

/// RoIs as read from a CSV file `event_id,roi_id,phi_min,phi_max` \[rad\], optionally with `eta`
/// and with `z_min,z_max` \[mm\]. An empty field of the optional columns stands for eta 0 and the
/// configuration's z range.
#[derive(Clone, Debug)]
pub struct RoiTable {
    path: PathBuf,
    descriptors: Vec<RoiDescriptor>,
    /// The row of each RoI.
    rows: Vec<u64>,
    by_id: HashMap<RoiId, usize>,
    by_event: HashMap<u64, Vec<usize>>,
}

impl RoiTable {
    /// Reads a file, gzipped or not.
    ///
    /// # Errors
    /// Missing columns, fields that are no numbers, windows that [`PhiWindow::new`] refuses, an
    /// invalid z range, an (event, RoI) that occurs twice, and a file without RoIs.
    pub fn read(path: &Path) -> Result<Self> {
        let mut table = Table::open(path)?;
        table.limit_rows(MOST_ROIS);
        let (event, [roi, phi_min, phi_max]) = table.need_with_event(["roi_id", "phi_min", "phi_max"], WANTED)?;
        table.refuse_lookalikes(&["eta", "z_min", "z_max"])?;
        let eta = table.column("eta");
        let z_columns = match (table.column("z_min"), table.column("z_max")) {
            (Some(z_min), Some(z_max)) => Some([z_min, z_max]),
            (None, None) => None,
            (Some(_), None) => return Err(table.missing(&["z_max"], WANTED)),
            (None, Some(_)) => return Err(table.missing(&["z_min"], WANTED)),
        };
        let mut rois = Self {
            path: path.to_owned(),
            descriptors: Vec::new(),
            rows: Vec::new(),
            by_id: HashMap::new(),
            by_event: HashMap::new(),
        };
        while table.next()? {
            let id = RoiId { event_id: table.whole_number(event)?, roi_id: table.whole_number(roi)? };
            let window = PhiWindow::new(table.number(phi_min)?, table.number(phi_max)?)
                .map_err(|error| table.error(phi_min, error.to_string()))?;
            let eta = eta.map_or(Ok(0.0), |column| eta_of(&table, column))?;
            let z_range = z_columns.map_or(Ok(None), |columns| z_range_of(&table, columns))?;
            let at = rois.descriptors.len();
            if let Some(earlier) = rois.by_id.insert(id, at) {
                let row = rois.rows[earlier];
                let message = format!("event {}, RoI {} is on row {row} already", id.event_id, id.roi_id);
                return Err(table.error(roi, message));
            }
            rois.by_event.entry(id.event_id).or_default().push(at);
            rois.rows.push(table.row());
            rois.descriptors.push(RoiDescriptor { id, window: Some(window), eta, z_range });
        }
        if rois.descriptors.is_empty() {
            return Err(table.whole("there is a header and no RoI below it".into()));
        }
        Ok(rois)
    }

    /// Checks that z range and eta of each RoI give a valid histogram under this configuration.
    ///
    /// # Errors
    /// The first invalid RoI, with its row.
    pub fn validate(&self, config: &Config) -> Result<()> {
        for (descriptor, &row) in self.descriptors.iter().zip(&self.rows) {
            config.validate_z_range(descriptor.eta, descriptor.z_range).map_err(|error| Error::Input {
                path: self.path.clone(),
                row,
                column: None,
                message: error.to_string(),
            })?;
        }
        Ok(())
    }

    /// Returns the file of the table.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns all RoIs in the order of the file.
    pub fn descriptors(&self) -> &[RoiDescriptor] {
        &self.descriptors
    }

    /// Returns an RoI.
    pub fn get(&self, id: RoiId) -> Option<&RoiDescriptor> {
        self.by_id.get(&id).map(|&at| &self.descriptors[at])
    }

    /// Returns the RoIs of an event, in the order of the file.
    pub fn of_event(&self, event_id: u64) -> impl Iterator<Item = &RoiDescriptor> {
        self.by_event.get(&event_id).into_iter().flatten().map(|&at| &self.descriptors[at])
    }
}

fn eta_of(table: &Table, column: Column) -> Result<f64> {
    if table.text(column)?.is_empty() {
        return Ok(0.0);
    }
    let eta = table.number(column)?;
    if eta.abs() > MAX_ETA {
        return Err(table.error(column, format!("{eta} must lie in [-{MAX_ETA}, {MAX_ETA}]")));
    }
    Ok(eta)
}

fn z_range_of(table: &Table, [z_min, z_max]: [Column; 2]) -> Result<Option<(f64, f64)>> {
    if table.text(z_min)?.is_empty() && table.text(z_max)?.is_empty() {
        return Ok(None);
    }
    let (low, high) = (table.number(z_min)?, table.number(z_max)?);
    if low >= high {
        return Err(table.error(z_max, format!("{high} mm must be above z_min, which is {low} mm")));
    }
    Ok(Some((low, high)))
}
