//! Fitted tracks as a file of NumPy's.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use command_host::write_file;
use npyz::WriterBuilder;

use crate::batch::{Number, STATE};
use crate::engine::Fitted;
use crate::error::{Error, Result};

/// Numbers of a fitted track in a file: its state, and its status.
pub const COLUMNS: usize = STATE + 1;

/// Writes fitted tracks: an array of f64 of events x tracks x [`COLUMNS`]: x, y, z \[cm\], 1/pt \[1/GeV\], phi, theta, the lower triangle
/// of their covariance row by row, and the bits of the [`Status`](crate::Status). Read it with `numpy.load(path)`. An old file is
/// replaced when the new one is complete.
///
/// # Errors
/// [`Error::File`].
pub fn write<T: Number>(path: &Path, fitted: &Fitted<T>) -> Result<()> {
    let all = |out: &mut BufWriter<&mut File>| {
        let layout = fitted.layout();
        let shape = [layout.events as u64, layout.tracks as u64, COLUMNS as u64];
        let mut array = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
        for (event, track) in (0..layout.events).flat_map(|event| (0..layout.tracks).map(move |track| (event, track))) {
            array.extend(fitted.state(event, track))?;
            array.push(&f64::from(fitted.status(event, track).bits()))?;
        }
        array.finish()
    };
    let wrong = |error: std::io::Error| Error::File { path: path.display().to_string(), what: error.to_string() };
    write_file(path, "p2r", all).map_err(wrong)
}
