//! Deposited energy as files: histograms, and sums of events.

use std::collections::HashMap;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use array_file::ZipStream;
use command_host::{Code, Failure, ending, write_file};
use npyz::WriterBuilder;
use transport::{Deposits, Outcome};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::input::Particles;

/// A file that deposits are to be written to.
#[derive(Clone, Debug)]
pub(super) struct Output {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Csv,
    Npz,
}

impl Format {
    /// Returns the format of a name; None for another ending. `.csv.gz` is CSV in gzip.
    fn of(path: &Path) -> Option<Self> {
        match ending(path).as_str() {
            "csv" => Some(Self::Csv),
            "npz" => Some(Self::Npz),
            _ => None,
        }
    }
}

/// Checks before a long run that the folder of an output exists.
pub(super) fn check_folder(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            let what = format!("{}: there is no folder {}", path.display(), folder.display());
            Err(Failure::new(Code::Data, what))
        }
        _ => Ok(()),
    }
}

/// Refuses scores of another ending than .csv and .csv.gz before anything is computed.
pub(super) fn check_scores(path: &Path) -> Result<(), Failure> {
    if !matches!(Format::of(path), Some(Format::Csv)) {
        return Err(Failure::new(
            Code::Usage,
            format_args!("--scores {}: scores are written as .csv or .csv.gz (a row an event)", path.display()),
        ));
    }
    check_folder(path)
}

/// The bounds of bins.
pub(super) fn edges([low, high]: [f64; 2], bins: usize) -> Vec<f64> {
    (0..=bins).map(|bin| if bin == bins { high } else { low + bin as f64 * (high - low) / bins as f64 }).collect()
}

impl Output {
    /// Of `--output`: refuses another ending before anything is computed.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        let Some(format) = Format::of(path) else {
            let what = "deposits are written as .csv (a row a bin), .csv.gz or .npz (for numpy.load)";
            return Err(Failure::new(Code::Usage, format_args!("--output {}: {what}", path.display())));
        };
        check_folder(path)?;
        Ok(Self { path: path.to_owned(), format })
    }

    /// As `.csv` and `.csv.gz` a row for each bin: its bounds, and MeV. As `.npz` the arrays
    /// `energies` (MeV, bins of r x bins of z), `r_edges` and `z_edges` (mm), and `beyond` (MeV
    /// beyond all bins).
    pub(super) fn write(&self, deposits: &Deposits) -> Result<(), Failure> {
        write_file(&self.path, "transport", |out| match self.format {
            Format::Npz => archive(out, deposits),
            Format::Csv => rows(out, deposits),
        })
    }
}

fn rows(mut out: impl Write, deposits: &Deposits) -> io::Result<()> {
    let grid = deposits.grid();
    let (r, z) = (edges(grid.r, grid.bins[0]), edges(grid.z, grid.bins[1]));
    writeln!(out, "r_low_mm,r_high_mm,z_low_mm,z_high_mm,energy_mev")?;
    for (bin, energy) in deposits.energies().iter().enumerate() {
        let (i, j) = (bin / grid.bins[1], bin % grid.bins[1]);
        writeln!(out, "{},{},{},{},{energy}", r[i], r[i + 1], z[j], z[j + 1])?;
    }
    Ok(())
}

fn archive(out: impl Write + Seek, deposits: &Deposits) -> io::Result<()> {
    let grid = deposits.grid();
    let mut zip = ZipWriter::new(ZipStream::new(out));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let mut array = |name: &str, shape: &[usize], numbers: &[f64]| -> io::Result<()> {
        zip.start_file(format!("{name}.npy"), options)?;
        let shape: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
        let mut array = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut zip).begin_nd()?;
        array.extend(numbers.iter().copied())?;
        array.finish()
    };
    array("energies", &grid.bins, &deposits.energies())?;
    array("r_edges", &[grid.bins[0] + 1], &edges(grid.r, grid.bins[0]))?;
    array("z_edges", &[grid.bins[1] + 1], &edges(grid.z, grid.bins[1]))?;
    array("beyond", &[], &[deposits.beyond()])?;
    zip.finish()?.finish()
}

/// The sums of an event \[MeV\].
struct Event {
    number: u64,
    particles: usize,
    initial: f64,
    deposited: Vec<f64>,
}

/// Writes a row an event, in the order of the particles: its number, its particles, their kinetic
/// energy, and the energy deposited in each material.
pub(super) fn write_scores(
    path: &Path,
    particles: &Particles,
    outcome: &Outcome,
    materials: &[String],
) -> Result<(), Failure> {
    let mut rows: Vec<Event> = Vec::new();
    let mut row_of = HashMap::new();
    for ((primary, &number), scores) in particles.primaries.iter().zip(&particles.events).zip(&outcome.scores) {
        let row = *row_of.entry(number).or_insert(rows.len());
        if row == rows.len() {
            rows.push(Event { number, particles: 0, initial: 0.0, deposited: vec![0.0; materials.len()] });
        }
        let event = &mut rows[row];
        event.particles += 1;
        event.initial += primary.kinetic();
        event.deposited.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
    }
    write_file(path, "transport", |out| {
        let mut csv = csv::Writer::from_writer(out);
        let fixed = ["event", "particles", "kinetic_mev"].map(str::to_owned);
        csv.write_record(fixed.into_iter().chain(materials.iter().map(|name| format!("{name}_mev"))))?;
        for Event { number, particles, initial, deposited } in &rows {
            let fixed = [number.to_string(), particles.to_string(), initial.to_string()];
            csv.write_record(fixed.into_iter().chain(deposited.iter().map(f64::to_string)))?;
        }
        csv.flush()
    })
}
