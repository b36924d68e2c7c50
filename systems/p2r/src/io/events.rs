//! Events in the CSV files of TrackML and of ACTS.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::batch::{COVARIANCES, Hit, PARAMETERS, Track};
use crate::error::Result;
use crate::io::sample::{Sample, SampleTrack, field_ratio};
use crate::io::surfaces::{Layer, Surfaces, Volume};
use crate::io::table::{Table, failed};

/// How tracks are made of events.
///
/// A folder has for each event `eventNNN-hits.csv` and `eventNNN-particles.csv` (also
/// `-particles_initial.csv` or `-particles_simulated.csv`), each also as `.csv.gz`. In TrackML's
/// form there is `eventNNN-truth.csv` besides, and hits are measured; in ACTS's form the hits are
/// true ones with a `particle_id`, and are smeared here. Lengths are in mm.
///
/// The hits of a charged particle make a track, ordered from the outermost to the innermost. The
/// fit starts at the outermost hit with the true state, smeared with the covariance of the start.
/// The truth is the state at the innermost hit. Columns `volume_id` and `layer_id`, or
/// `geometry_id`, tell which hits lie on disks; without them all hits are taken as on cylinders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventOptions {
    /// The magnetic field along z \[T\].
    pub field: f64,
    /// The error of hits across the direction from the beam \[mm\].
    pub across_mm: f64,
    /// The error of hits along the beam; on disks, along the direction from the beam \[mm\].
    pub along_mm: f64,
    /// The smallest transverse momentum of a particle \[GeV\].
    pub min_pt: f64,
    /// The smallest number of hits of a track.
    pub min_hits: usize,
    /// The seed of the smearing.
    pub seed: u64,
}

impl Default for EventOptions {
    fn default() -> Self {
        Self { field: 2.0, across_mm: 0.05, along_mm: 0.5, min_pt: 0.5, min_hits: 5, seed: 1 }
    }
}

/// Reads all events of a folder.
///
/// # Errors
/// [`File`](crate::Error::File) if the folder has no events, or if a file cannot be read, has no
/// such column or a wrong number; [`Batch`](crate::Error::Batch) for a field of zero.
pub fn read_events(folder: &Path, options: &EventOptions) -> Result<Sample> {
    let ratio = field_ratio(options.field)?;
    let mut surfaces = Surfaces::default();
    let mut events = Vec::new();
    for (event, path) in events_of(folder)? {
        events.push(Event::read(event, &path, &mut surfaces)?);
    }
    // All events together tell which volumes have disks.
    let disks = surfaces.volumes_of_disks();
    let mut sample = Sample::default();
    for event in events {
        event.add_to(&mut sample, options, ratio, &disks);
    }
    Ok(sample)
}

/// Returns the numbers of the events and the paths of their hits, in order.
fn events_of(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let entries = std::fs::read_dir(folder).map_err(|source| failed(folder, None, source))?;
    let mut events = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| failed(folder, None, source))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_suffix(".gz").unwrap_or(name).strip_suffix("-hits.csv");
        if let Some(number) = number.and_then(|name| name.strip_prefix("event")) {
            let number = number.parse().map_err(|_| failed(&path, None, format!("`{number}` is no event number")))?;
            events.push((number, path));
        }
    }
    events.sort();
    match events.is_empty() {
        true => Err(failed(folder, None, "there is no file eventNNN-hits.csv or eventNNN-hits.csv.gz")),
        false => Ok(events),
    }
}

/// A true hit of a particle.
struct TrueHit {
    volume: Volume,
    /// \[mm\], measured if it was.
    measured: Option<[f64; 3]>,
    place: [f64; 3],
    /// \[GeV\].
    momentum: [f64; 3],
}

/// The columns that name the layer of a hit.
enum LayerColumns {
    /// Of TrackML: volume and layer.
    Named([usize; 2]),
    /// Of ACTS: an identifier whose bits are volume, boundary, layer and others.
    Packed(usize),
    None,
}

impl LayerColumns {
    fn of(table: &Table<'_>) -> Self {
        match (table.columns(["volume_id", "layer_id"]), table.columns(["geometry_id"])) {
            (Ok(columns), _) => Self::Named(columns),
            (_, Ok([column])) => Self::Packed(column),
            _ => Self::None,
        }
    }

    fn read(&self, table: &Table<'_>) -> Result<Option<Layer>> {
        Ok(match *self {
            Self::Named([volume, layer]) => Some((table.whole(volume)?, table.whole(layer)?)),
            Self::Packed(column) => {
                let id = table.whole(column)?;
                Some((id >> 56, id >> 36 & 0xfff))
            }
            Self::None => None,
        })
    }
}

/// The charge of a particle, and its hits.
#[derive(Default)]
struct Particle {
    charge: f64,
    hits: Vec<TrueHit>,
}

/// An event: its particles by id, in the order of the file.
struct Event {
    number: u64,
    ids: Vec<String>,
    particles: HashMap<String, Particle>,
}

impl Event {
    fn read(number: u64, hits_path: &Path, surfaces: &mut Surfaces) -> Result<Self> {
        let mut event = Self { number, ids: Vec::new(), particles: HashMap::new() };
        let names = ["particles", "particles_initial", "particles_simulated"];
        let Some(particles) = names.iter().find_map(|name| beside(hits_path, name)) else {
            return Err(failed(hits_path, None, "there is no eventNNN-particles.csv beside it"));
        };
        let mut table = Table::open(&particles)?;
        let [charge] = table.columns(["q"])?;
        while table.next()? {
            let id = table.particle()?;
            let particle = Particle { charge: table.number(charge)?, hits: Vec::new() };
            if event.particles.insert(id.clone(), particle).is_none() {
                event.ids.push(id);
            }
        }
        match beside(hits_path, "truth") {
            Some(truth) => event.read_trackml(hits_path, &truth, surfaces)?,
            None => event.read_acts(hits_path, surfaces)?,
        }
        Ok(event)
    }

    /// Measured hits, and what is true of them in another file.
    fn read_trackml(&mut self, hits: &Path, truth: &Path, surfaces: &mut Surfaces) -> Result<()> {
        let mut table = Table::open(hits)?;
        let [id, x, y, z] = table.columns(["hit_id", "x", "y", "z"])?;
        let layer = LayerColumns::of(&table);
        let mut measured: HashMap<String, ([f64; 3], Volume)> = HashMap::new();
        while table.next()? {
            let place = [table.number(x)?, table.number(y)?, table.number(z)?];
            let volume = surfaces.add(layer.read(&table)?, place);
            measured.insert(table.id(id)?, (place, volume));
        }
        let mut table = Table::open(truth)?;
        let [id] = table.columns(["hit_id"])?;
        let columns = table.columns(["tx", "ty", "tz", "tpx", "tpy", "tpz"])?;
        while table.next()? {
            let Some(&(place, volume)) = measured.get(&table.id(id)?) else {
                return Err(table.wrong(format!("there is no hit `{}` in {}", table.text(id), hits.display())));
            };
            self.add_hit(&table, columns, Some(place), |_| Ok(volume))?;
        }
        Ok(())
    }

    /// True hits.
    fn read_acts(&mut self, hits: &Path, surfaces: &mut Surfaces) -> Result<()> {
        let mut table = Table::open(hits)?;
        if !table.has_particles() {
            let what = "it has no column particle_id, and there is no eventNNN-truth.csv beside it";
            return Err(failed(hits, Some(1), what));
        }
        let columns = table.columns(["tx", "ty", "tz", "tpx", "tpy", "tpz"])?;
        let layer = LayerColumns::of(&table);
        while table.next()? {
            self.add_hit(&table, columns, None, |place| Ok(surfaces.add(layer.read(&table)?, place)))?;
        }
        Ok(())
    }

    fn add_hit(
        &mut self,
        table: &Table<'_>,
        columns: [usize; 6],
        measured: Option<[f64; 3]>,
        volume: impl FnOnce([f64; 3]) -> Result<Volume>,
    ) -> Result<()> {
        let mut numbers = [0.0; 6];
        for (number, column) in numbers.iter_mut().zip(columns) {
            *number = table.number(column)?;
        }
        let [tx, ty, tz, px, py, pz] = numbers;
        let volume = volume([tx, ty, tz])?;
        // Noise has a particle that is in no list.
        if let Some(particle) = self.particles.get_mut(&table.particle()?) {
            particle.hits.push(TrueHit { volume, measured, place: [tx, ty, tz], momentum: [px, py, pz] });
        }
        Ok(())
    }

    fn add_to(mut self, sample: &mut Sample, options: &EventOptions, ratio: f64, disks: &HashSet<Volume>) {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        rng.set_stream(self.number);
        for (number, id) in self.ids.iter().enumerate() {
            let Some(particle) = self.particles.remove(id) else { continue };
            match particle.track(options, ratio, disks, &mut rng) {
                Some((start, hits, truth)) => sample.push(SampleTrack {
                    event_id: self.number,
                    track_id: id.parse().unwrap_or(number as u64),
                    charge: start.charge / ratio,
                    start,
                    hits,
                    truth: Some(truth),
                }),
                None => sample.left_out += 1,
            }
        }
    }
}

/// Errors of the start: across the direction from the beam and along the beam \[cm\], of 1/pt in
/// parts of it, of phi and theta.
const START: [f64; 5] = [0.05, 0.2, 0.05, 0.005, 0.005];

impl Particle {
    /// Returns the start, the hits and the true end of the track; None if it is not wanted.
    fn track(
        mut self,
        options: &EventOptions,
        ratio: f64,
        disks: &HashSet<Volume>,
        rng: &mut ChaCha8Rng,
    ) -> Option<(Track, Vec<Hit>, [f64; PARAMETERS])> {
        let radius = |hit: &TrueHit| hit.place[0].hypot(hit.place[1]);
        self.hits.sort_by(|a, b| radius(b).total_cmp(&radius(a)));
        let pt = |hit: &TrueHit| hit.momentum[0].hypot(hit.momentum[1]);
        let is_fast = self.hits.iter().all(|hit| pt(hit) >= options.min_pt.max(1e-6));
        if self.charge == 0.0 || !is_fast || self.hits.len() < options.min_hits.max(1) {
            return None;
        }
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        let (first, last) = (self.hits.first()?, self.hits.last()?);
        let mut par = state(first);
        let sigma = [START[0], START[1], START[2] * par[3], START[3], START[4]];
        let mut cov = [0.0; COVARIANCES];
        [cov[0], cov[1], cov[2]] = rotated(&par, sigma[0], LEAST_PART * sigma[0]);
        let (sin, cos) = direction(&par);
        let off = sigma[0] * normal();
        (par[0], par[1]) = (par[0] - sin * off, par[1] + cos * off);
        for (parameter, sigma) in (2..).zip(&sigma[1..]) {
            cov[parameter * (parameter + 3) / 2] = sigma * sigma;
            par[parameter] += sigma * normal();
        }
        let truth = state(last);
        let hits = self.hits.iter().map(|hit| measured(hit, options, disks.contains(&hit.volume), &mut normal));
        let hits = hits.collect();
        Some((Track { par, cov, charge: self.charge.signum() * ratio }, hits, truth))
    }
}

/// The true parameters at a hit: x, y, z \[cm\], 1/pt, phi, theta.
fn state(hit: &TrueHit) -> [f64; PARAMETERS] {
    let [x, y, z] = hit.place.map(|length| length / 10.0);
    let [px, py, pz] = hit.momentum;
    let pt = px.hypot(py);
    [x, y, z, 1.0 / pt, py.atan2(px), pt.atan2(pz)]
}

/// Sine and cosine of the direction from the beam.
fn direction(par: &[f64]) -> (f64, f64) {
    let radius = par[0].hypot(par[1]).max(f64::MIN_POSITIVE);
    (par[1] / radius, par[0] / radius)
}

/// The error of a position along a direction in which it is exact, as a part of the error across.
const LEAST_PART: f64 = 1e-2;

/// The covariance of x and y for errors across the direction from the beam and along it: xx, yx,
/// yy.
fn rotated(par: &[f64], across: f64, along: f64) -> [f64; 3] {
    let (sin, cos) = direction(par);
    let (a, b) = (across * across, along * along);
    [sin * sin * a + cos * cos * b, sin * cos * (b - a), cos * cos * a + sin * sin * b]
}

fn measured(hit: &TrueHit, options: &EventOptions, is_on_disk: bool, normal: &mut impl FnMut() -> f64) -> Hit {
    let [sigma_across, sigma_along] = [options.across_mm, options.along_mm].map(|length| length / 10.0);
    let pos = hit.measured.map_or_else(
        || {
            let [x, y, z] = hit.place.map(|length| length / 10.0);
            let (sin, cos) = direction(&[x, y]);
            let (across, along) = (sigma_across * normal(), sigma_along * normal());
            let (radial, axial) = if is_on_disk { (along, 0.0) } else { (0.0, along) };
            [x - sin * across + cos * radial, y + cos * across + sin * radial, z + axial]
        },
        |place| place.map(|length| length / 10.0),
    );
    let (radial, axial) = if is_on_disk { (sigma_along, 0.0) } else { (LEAST_PART * sigma_across, sigma_along) };
    let [xx, yx, yy] = rotated(&pos, sigma_across, radial);
    Hit { pos, cov: [xx, yx, yy, 0.0, 0.0, axial * axial] }
}

/// Returns the file of the same event with another name, plain or compressed.
fn beside(hits: &Path, name: &str) -> Option<PathBuf> {
    let event = hits.file_name()?.to_str()?.split("-hits.csv").next()?;
    [".csv", ".csv.gz"]
        .iter()
        .map(|ending| hits.with_file_name(format!("{event}-{name}{ending}")))
        .find(|path| path.exists())
}
