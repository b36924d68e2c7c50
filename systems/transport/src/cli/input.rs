//! Particles: simulated or from files.

use std::path::{Path, PathBuf};

use clap::Args;
use command_host::{Code, Failure};
use table_file::{RowError, Table};
use transport::{Kind, Primary, simulate};

/// The default number of particles: a second or two on the CPU.
const TRACKS: u64 = 200;
/// Memory for each particle and its shower, at least \[bytes\].
pub(super) const BYTES_A_PARTICLE: u64 = 400;

#[derive(Args)]
pub(super) struct InputOptions {
    /// Number of the prototype's particles: 1290 to 1520 mm from the axis, with momenta of 20 to
    /// 1000 MeV/c outwards [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 28), help_heading = "Particles")]
    tracks: Option<u64>,
    /// Fraction of photons; all other particles are electrons [default: 0.2]
    #[arg(long, value_name = "PART", value_parser = part, help_heading = "Particles")]
    photons: Option<f64>,
    /// Particles from a CSV file, gzipped or not, or from standard input (-), with a header: kind
    /// (photon, electron or positron), x, y, z in mm, px, py, pz in MeV/c. Particles of an event
    /// share a number in the column event_id (or event, eventNumber, entry); without it each
    /// particle is an event
    #[arg(long, value_name = "FILE.csv|-", conflicts_with_all = ["tracks", "photons"], help_heading = "Particles")]
    input: Option<PathBuf>,
    /// Seed of these particles and of all random numbers
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Particles")]
    pub(super) seed: u64,
}

fn part(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(part),
        _ => Err("a part from 0 to 1 is wanted".to_owned()),
    }
}

/// Particles and their origin.
pub(super) struct Particles {
    pub(super) primaries: Vec<Primary>,
    /// The event of each particle.
    pub(super) events: Vec<u64>,
    /// A description.
    pub(super) text: String,
    from: Option<(PathBuf, Vec<u64>)>,
}

impl InputOptions {
    /// The file of particles.
    pub(super) fn file(&self) -> Option<&Path> {
        self.input.as_deref()
    }

    pub(super) fn particles(&self) -> Result<Particles, Failure> {
        if let Some(path) = &self.input {
            let Read { primaries, events, lines } = read(path)?;
            let name = table_file::name(path);
            let name = Path::new(&name).file_name().unwrap_or_default().display();
            let text = format!("{} of {name}, seed {}", counted(primaries.len()), self.seed);
            return Ok(Particles { primaries, events, text, from: Some((path.clone(), lines)) });
        }
        let (tracks, photons) = (self.tracks.unwrap_or(TRACKS) as usize, self.photons.unwrap_or(0.2));
        check_memory(tracks as u64 * BYTES_A_PARTICLE, &counted(tracks))?;
        let text = format!("{} ({} % photons), seed {}", counted(tracks), 100.0 * photons, self.seed);
        let events = (0..tracks as u64).collect();
        Ok(Particles { primaries: simulate(tracks, photons, self.seed), events, text, from: None })
    }
}

/// Refuses more memory than the host has free.
pub(super) fn check_memory(bytes: u64, what: &str) -> Result<(), Failure> {
    match kernel_host::available_memory() {
        Some(free) if bytes > free => {
            let gb = |bytes: u64| bytes as f64 / 1e9;
            let what = format!("{what} need {:.1} GB of memory, and {:.1} GB are free", gb(bytes), gb(free));
            Err(Failure::new(Code::Data, what))
        }
        _ => Ok(()),
    }
}

fn counted(particles: usize) -> String {
    format!("{particles} particle{}", if particles == 1 { "" } else { "s" })
}

impl Particles {
    /// The origin `FILE:LINE` of a particle from a file.
    pub(super) fn place(&self, number: usize) -> Option<String> {
        let (path, lines) = self.from.as_ref()?;
        Some(format!("{}:{}", table_file::name(path), lines.get(number)?))
    }
}

const COLUMNS: [&str; 7] = ["kind", "x", "y", "z", "px", "py", "pz"];

/// The particles of a file, with their events and lines.
#[derive(Default)]
struct Read {
    primaries: Vec<Primary>,
    events: Vec<u64>,
    lines: Vec<u64>,
}

/// Reads particles. The run rejects those that are not finite.
fn read(path: &Path) -> Result<Read, Failure> {
    let told = |what: String| Failure::new(Code::Data, format_args!("{}{what}", table_file::name(path)));
    let broken = |line: u64, error: RowError| match error {
        RowError::Bad(what) if line > 0 => told(format!(":{line}: {what}")),
        error => told(format!(": {error}")),
    };
    let mut table = Table::open(path).map_err(|(line, error)| broken(line, error))?;
    let header = table.header().to_vec();
    let column = |&name: &&str| {
        header.iter().position(|column| column.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let there = header.join(",");
            told(format!(":1: there is no column `{name}`: {} are wanted, and there are `{there}`", COLUMNS.join(",")))
        })
    };
    let at = COLUMNS.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let event = column_names::event_column(header.iter().map(String::as_str))
        .map_err(|reason| told(format!(":1: {reason}")))?;
    let event_at = event.and_then(|event| header.iter().position(|column| column == event));
    let mut particles = Read::default();
    while table.advance().map_err(|error| broken(table.line(), error))? {
        let (line, row) = (table.line(), table.row());
        let wrong = |column: usize, what: &str| {
            told(format!(":{line}: column `{}`: `{}` is {what}", COLUMNS[column], &row[at[column]]))
        };
        let kind = match row[at[0]].as_str() {
            "photon" => Kind::Photon,
            "electron" => Kind::Electron,
            "positron" => Kind::Positron,
            _ => return Err(wrong(0, "none of photon, electron and positron")),
        };
        let mut numbers = [0.0; 6];
        for (column, number) in numbers.iter_mut().enumerate() {
            *number = row[at[column + 1]].parse().map_err(|_| wrong(column + 1, "no number"))?;
        }
        let [x, y, z, px, py, pz] = numbers;
        let number = particles.primaries.len() as u64;
        particles.events.push(match event_at {
            Some(at) => table_file::whole(&row[at])
                .map_err(|reason| told(format!(":{line}: column `{}`: `{}` {reason}", &header[at], &row[at])))?,
            None => number,
        });
        particles.primaries.push(Primary { kind, place: [x, y, z], momentum: [px, py, pz] });
        particles.lines.push(line);
    }
    if particles.primaries.is_empty() {
        return Err(told(": there are no particles in it".to_owned()));
    }
    Ok(particles)
}
