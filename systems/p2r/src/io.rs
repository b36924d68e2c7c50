//! Fitted tracks in NumPy's `.npy` format.

use std::io::{self, Write};

use npyz::WriterBuilder;

use crate::batch::{Number, STATE};
use crate::engine::Fitted;

/// The numbers of one fitted track: its state and its status.
pub const COLUMNS: usize = STATE + 1;

/// Writes fitted tracks as an f64 array of shape (events, tracks, [`COLUMNS`]), which `numpy.load` reads.
///
/// The columns are x, y, z \[cm\], 1/pt \[1/GeV\], phi, theta, the lower triangle of their covariance row by row, and the
/// bits of the [`Status`](crate::Status).
///
/// The writes are small, so `out` should be buffered.
///
/// # Errors
/// Any error of `out`.
pub fn write<T: Number>(out: impl Write, fitted: &Fitted<T>) -> io::Result<()> {
    let layout = fitted.layout();
    let shape = [layout.events as u64, layout.tracks as u64, COLUMNS as u64];
    let mut array = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
    for (event, track) in (0..layout.events).flat_map(|event| (0..layout.tracks).map(move |track| (event, track))) {
        array.extend(fitted.state(event, track))?;
        array.push(&f64::from(fitted.status(event, track).bits()))?;
    }
    array.finish()
}
