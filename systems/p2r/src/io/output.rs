//! Fitted tracks as arrays and tables.

use std::io::{self, Seek, Write};

use array_file::ArrayWriter;
use npyz::WriterBuilder;

use crate::batch::{Number, STATE};
use crate::engine::{Fitted, Mode};
use crate::io::sample::Labels;
use crate::perigee::{PERIGEE, PERIGEE_NAMES, Perigee};
use crate::quality::{PULLS, degrees_of_freedom, pulls};

/// The numbers of one fitted track in [`write()`]: its state and its status.
pub const COLUMNS: usize = STATE + 1;

/// Writes fitted tracks as an f64 array of shape (events, tracks, [`COLUMNS`]), which `numpy.load`
/// reads.
///
/// The columns are x, y, z \[cm\], 1/pt \[1/GeV\], phi, theta, the lower triangle of their
/// covariance row by row, and the bits of the [`Status`](crate::Status).
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

/// A fitted track.
struct Row {
    state: [f64; STATE],
    status: u32,
    hits: u32,
    chi2: f64,
    ndf: u32,
    pulls: Option<[f64; PULLS]>,
}

fn rows<'a, T: Number>(
    fitted: &'a Fitted<T>,
    mode: Mode,
    labels: &'a Labels,
) -> impl ExactSizeIterator<Item = Row> + Clone + 'a {
    let each = fitted.layout().tracks.max(1);
    (0..labels.track_ids.len()).map(move |i| {
        let (event, slot) = (i / each, i % each);
        let (state, hits) = (fitted.state(event, slot), fitted.updates(event, slot));
        Row {
            state,
            status: fitted.status(event, slot).bits(),
            hits,
            chi2: fitted.chi2(event, slot).unwrap_or(f64::NAN),
            ndf: degrees_of_freedom(hits, mode),
            pulls: labels.truth.as_ref().map(|truth| pulls(&state, &truth[i])),
        }
    })
}

/// Writes the fitted tracks as arrays: `event_id`, `track_id`, `state` (n, 27), `status`, `hits`
/// (updates), `chi2`, `ndf`, `perigee` (n, 5), `perigee_cov` (n, 15), and with a truth `truth` (n,
/// 6) and `pulls` (n, 5).
///
/// # Errors
/// Any error of `out`.
pub fn write_arrays<T: Number>(
    out: impl Write + Seek,
    fitted: &Fitted<T>,
    mode: Mode,
    labels: &Labels,
    perigees: &[Perigee],
) -> io::Result<()> {
    let count = labels.track_ids.len() as u64;
    let rows = || rows(fitted, mode, labels);
    let mut file = ArrayWriter::new(out);
    file.column("event_id", labels.event_ids.iter().copied())?;
    file.column("track_id", labels.track_ids.iter().copied())?;
    file.array("state", &[count, STATE as u64], rows().flat_map(|row| row.state))?;
    file.column("status", rows().map(|row| row.status))?;
    file.column("hits", rows().map(|row| row.hits))?;
    file.column("chi2", rows().map(|row| row.chi2))?;
    file.column("ndf", rows().map(|row| row.ndf))?;
    file.array("perigee", &[count, PERIGEE as u64], perigees.iter().flat_map(|perigee| perigee.par))?;
    file.array("perigee_cov", &[count, 15], perigees.iter().flat_map(|perigee| perigee.cov))?;
    if let Some(truth) = &labels.truth {
        file.array("truth", &[count, 6], truth.iter().flatten().copied())?;
        file.array("pulls", &[count, PULLS as u64], rows().flat_map(|row| row.pulls.unwrap_or([f64::NAN; PULLS])))?;
    }
    file.finish()
}

/// Writes the fitted tracks as CSV: ids, parameters, their errors, status, hits, chi2, degrees of
/// freedom, the parameters at the beam line and their errors, and with a truth the pulls. An error
/// is empty if its variance is below zero. Parameters of [`Perigee::NONE`] are empty.
///
/// # Errors
/// Any error of `out`.
pub fn write_table<T: Number>(
    out: impl Write,
    fitted: &Fitted<T>,
    mode: Mode,
    labels: &Labels,
    perigees: &[Perigee],
) -> io::Result<()> {
    const VARIANCES: [usize; 6] = [6, 8, 11, 15, 20, 26];
    let mut table = csv::Writer::from_writer(out);
    let names = ["x_cm", "y_cm", "z_cm", "ipt_per_gev", "phi", "theta"];
    let pull_names = ["pull_across", "pull_z", "pull_ipt", "pull_phi", "pull_theta"];
    let truth = labels.truth.is_some();
    let header = ["event_id", "track_id"].into_iter().map(str::to_owned).chain(names.map(str::to_owned));
    let header = header.chain(names.map(|name| format!("{name}_error")));
    let header = header.chain(["status", "hits", "chi2", "ndf"].map(str::to_owned));
    let header = header.chain(PERIGEE_NAMES.map(str::to_owned));
    let header = header.chain(PERIGEE_NAMES.map(|name| format!("{name}_error")));
    table.write_record(header.chain(pull_names.iter().filter(|_| truth).map(|name| (*name).to_owned())))?;
    let ids = labels.event_ids.iter().zip(&labels.track_ids);
    let known = |number: f64| if number.is_finite() { number.to_string() } else { String::new() };
    for ((row, (event, track)), perigee) in rows(fitted, mode, labels).zip(ids).zip(perigees) {
        let error = |at: usize| known(row.state[at].sqrt());
        let record = [event, track].map(|id| id.to_string()).into_iter();
        let record = record.chain((0..6).map(|n| row.state[n].to_string())).chain(VARIANCES.map(error));
        let record = record.chain([row.status.to_string(), row.hits.to_string()]);
        let record = record.chain([row.chi2.to_string(), row.ndf.to_string()]);
        let record = record.chain(perigee.par.into_iter().chain(perigee.errors()).map(known));
        let pulls = row.pulls.into_iter().flatten().map(|pull| pull.to_string());
        table.write_record(record.chain(pulls))?;
    }
    table.flush()
}
