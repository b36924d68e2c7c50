//! Reads true vertices of simulated events.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::colliderml;
use super::source::{self, Container, event_of_name};
use super::table::{Column, Table};
use super::truth_vertex::{EventVertices, TrueZ, TruthVertex};
use super::{parquet, root};
use crate::error::{Error, Result};
use crate::event::ReadOptions;
use zfinder::RoiId;

const WANTED: &str = "`event`, `vz_mm` and `is_hard_scatter` (1 for the primary vertex, else 0); `event_id`, `z` and, \
                      if you like, `roi_id`; or `particle_id` (or `particle_id_pv` and \
                      `particle_id_sv`) and `vz` of particles";

/// A vertex takes 64 bytes, and 150 if it is alone in its event.
const MOST_VERTICES: u64 = 4_000_000;

/// The event and the RoI. Without RoI: all RoIs of the event that have no vertices of their own.
type TruthKey = (u64, Option<u64>);

/// True vertices of events or RoIs, from files in one of these formats. The header decides which.
///
/// | format | columns | vertices |
/// |---|---|---|
/// | ACTS's sets | `event,vz_mm,is_hard_scatter`, optionally `n_charged_pt500_eta25,sum_pt2_GeV2,max_pt_GeV` | all of an event, one hard scatter at most |
/// | own | `event_id,roi_id,z` | the primary vertex of each RoI, and no pile-up |
/// | particles of TrackML and ACTS | `particle_id,vz`, or `particle_id_pv,particle_id_sv,vz` | all with a prompt particle, of the event in the file's name |
///
/// The id of a particle holds its primary vertex from bit 52 on; 1 is the hard scatter. Bits 40 to
/// 51 hold its secondary vertex; 0 is a prompt particle. ACTS 44 and later write the parts of the
/// id as columns.
///
/// z is in mm. In the own format a row without `roi_id` (no such column, or an empty field) applies
/// to all RoIs of its event that have no row of their own. Other columns are ignored.
#[derive(Clone, Debug)]
pub struct TruthTable {
    /// The files of the vertices: at least one.
    paths: Vec<PathBuf>,
    vertices: HashMap<TruthKey, Vec<TruthVertex>>,
}

impl TruthTable {
    /// Reads a CSV file of any of these formats, gzipped or not. A file with a
    /// column of the event number and without the columns of ACTS's sets has the own format. The
    /// column may have any name that [`event_column`](column_names::event_column) takes.
    ///
    /// # Errors
    /// Missing columns, fields that are no numbers, two hard scatters in an event, and two rows for
    /// an (event, RoI) in the own format. A file without vertices is an error too, unless it is
    /// TrackML's.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_with(path, &ReadOptions::default())
    }

    /// Reads a file as [`TruthTable::read`] does, with the `tree` and the `columns` of the options
    /// for spacepoints. A name of a column counts where the file has that column.
    ///
    /// # Errors
    /// As [`TruthTable::read`].
    pub fn read_with(path: &Path, options: &ReadOptions) -> Result<Self> {
        let mut truth = Self { paths: vec![path.to_owned()], vertices: HashMap::new() };
        let mut table = match source::container(path)? {
            Container::Csv => Table::open(path)?.renamed_where_there(&options.columns)?,
            Container::Parquet => return truth.with_events(parquet::read_truth(path, &options.columns)?),
            Container::Root => {
                let none = "no tree has the branches `event_id` and `truth_pv_z`";
                return truth.with_events(root::read_truth(path, options)?.ok_or_else(|| Error::Input {
                    path: path.to_owned(),
                    row: 0,
                    column: None,
                    message: none.into(),
                })?);
            }
        };
        table.limit_rows(MOST_VERTICES);
        let has = |name| table.column(name).is_some();
        let has_event = table.event_column()?.is_some();
        if has_event && !has("vz_mm") && !has("is_hard_scatter") {
            truth.read_own(&mut table)?;
        } else if (has("particle_id") || has("particle_id_pv")) && !has_event {
            truth.read_particles(&mut table, event_of_name(path))?;
            return Ok(truth);
        } else {
            truth.read_acts(&mut table)?;
        }
        if truth.vertices.is_empty() {
            return Err(table.whole("there is a header and no vertex below it".into()));
        }
        Ok(truth)
    }

    /// Adds the vertices of whole events, in the order of a file.
    fn with_events(mut self, events: EventVertices) -> Result<Self> {
        let path = self.path().to_owned();
        let refuse = |message| Err(Error::Input { path: path.clone(), row: 0, column: None, message });
        for (event_id, vertices) in events {
            if self.vertices.insert((event_id, None), vertices).is_some() {
                return refuse(format!("event {event_id} comes twice"));
            }
        }
        if self.vertices.is_empty() {
            return refuse("there is no vertex in it".into());
        }
        Ok(self)
    }

    /// Returns the truth that accompanies files of spacepoints; None if no file has any.
    /// `NAME-hits.csv` and `NAME-spacepoint.csv` of TrackML and ACTS have `NAME-particles.csv` in
    /// the same folder. ColliderML's `NAME_tracker_hits.parquet` has `NAME_particles.parquet`, or
    /// those files in the sample's folder of particles whose events may be in the file. A ROOT file
    /// has its own `truth_pv_z`, in the tree of the options or else in the only tree that has it.
    ///
    /// # Errors
    /// Errors of [`TruthTable::read_with`].
    pub fn beside(files: &[PathBuf], options: &ReadOptions) -> Result<Option<Self>> {
        let mut all: Option<Self> = None;
        for file in files.iter().filter(|file| !source::is_stream(file)) {
            let beside = particles_of(file)?;
            for path in &beside {
                // Several files of hits may share a file of particles.
                if !all.as_ref().is_some_and(|all| all.paths.contains(path)) {
                    Self::read_with(path, options)?.add_to(&mut all);
                }
            }
            if beside.is_empty()
                // The reader of spacepoints reports a file that cannot be read.
                && source::container(file).is_ok_and(|container| container == Container::Root)
                && let Some(events) = root::read_truth(file, options)?
            {
                let truth = Self { paths: vec![file.clone()], vertices: HashMap::new() };
                truth.with_events(events)?.add_to(&mut all);
            }
        }
        Ok(all)
    }

    fn add_to(self, all: &mut Option<Self>) {
        match all {
            Some(all) => {
                all.vertices.extend(self.vertices);
                all.paths.extend(self.paths);
            }
            None => *all = Some(self),
        }
    }

    fn read_particles(&mut self, table: &mut Table, event_id: u64) -> Result<()> {
        let parts = table.columns(["particle_id_pv", "particle_id_sv"]);
        let [particle, z] = match parts {
            Some([primary, _]) => [primary, table.need(["vz"], WANTED)?[0]],
            None => table.need(["particle_id", "vz"], WANTED)?,
        };
        let mut vertices: BTreeMap<u64, f64> = BTreeMap::new();
        while table.next()? {
            let id = table.whole_number(particle)?;
            let (primary, secondary) = match parts {
                Some([_, secondary]) => (id, table.whole_number(secondary)?),
                None => (id >> 52, (id >> 40) & 0xfff),
            };
            // Vertex 0 is noise.
            if secondary == 0 && primary > 0 && !vertices.contains_key(&primary) {
                vertices.insert(primary, table.number(z)?);
            }
        }
        let vertices: Vec<TruthVertex> = vertices
            .into_iter()
            .map(|(id, z_mm)| TruthVertex { z_mm, is_hard_scatter: id == 1, ..TruthVertex::default() })
            .collect();
        if !vertices.is_empty() {
            self.vertices.insert((event_id, None), vertices);
        }
        Ok(())
    }

    fn read_acts(&mut self, table: &mut Table) -> Result<()> {
        let (event, [z, hard]) = table.need_with_event(["vz_mm", "is_hard_scatter"], WANTED)?;
        let [tracks, sum_pt2, leading_pt] =
            ["n_charged_pt500_eta25", "sum_pt2_GeV2", "max_pt_GeV"].map(|name| table.column(name));
        while table.next()? {
            let event_id = table.whole_number(event)?;
            let is_hard_scatter = match table.whole_number(hard)? {
                0 => false,
                1 => true,
                other => return Err(table.error(hard, format!("{other} must be 0 or 1"))),
            };
            let vertices = self.vertices.entry((event_id, None)).or_default();
            if is_hard_scatter && primary_z(vertices).is_some() {
                return Err(table.error(hard, format!("event {event_id} has a hard scatter already")));
            }
            vertices.push(TruthVertex {
                z_mm: table.number(z)?,
                is_hard_scatter,
                tracks: optional(table, tracks, Table::whole_number)?,
                sum_pt2_gev2: optional(table, sum_pt2, Table::number)?,
                leading_pt_gev: optional(table, leading_pt, Table::number)?,
            });
        }
        Ok(())
    }

    fn read_own(&mut self, table: &mut Table) -> Result<()> {
        let (event, [z]) = table.need_with_event(["z"], WANTED)?;
        table.refuse_lookalikes(&["roi_id"])?;
        let roi = table.column("roi_id");
        while table.next()? {
            let event_id = table.whole_number(event)?;
            let roi_id = match roi {
                Some(roi) if !table.text(roi)?.is_empty() => Some(table.whole_number(roi)?),
                _ => None,
            };
            let vertex = TruthVertex { z_mm: table.number(z)?, is_hard_scatter: true, ..TruthVertex::default() };
            if self.vertices.insert((event_id, roi_id), vec![vertex]).is_some() {
                let whose = roi_id.map_or_else(String::new, |roi_id| format!(", RoI {roi_id}"));
                let message = format!("event {event_id}{whose} has a vertex already; one row each is expected");
                return Err(table.error(roi.unwrap_or(event), message));
            }
        }
        Ok(())
    }

    /// Returns the file of the vertices, or the first of several.
    pub fn path(&self) -> &Path {
        self.paths.first().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Returns all files of the vertices.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns the true vertices of an RoI, or else of its whole event, in the order of the file.
    pub fn vertices(&self, id: RoiId) -> &[TruthVertex] {
        let own = self.vertices.get(&(id.event_id, Some(id.roi_id)));
        own.or_else(|| self.vertices.get(&(id.event_id, None))).map_or(&[], Vec::as_slice)
    }

    /// Returns z of the hard scatter \[mm\].
    pub fn hard_scatter_z(&self, id: RoiId) -> Option<f64> {
        primary_z(self.vertices(id))
    }

    /// Returns whether this quantity is known for the hard scatter of any event.
    pub fn knows<T>(&self, what: impl Fn(&TruthVertex) -> Option<T>) -> bool {
        self.vertices.values().flatten().any(|vertex| vertex.is_hard_scatter && what(vertex).is_some())
    }

    /// Returns whether any event has vertices in addition to its hard scatter, so that pile-up is
    /// known.
    pub fn has_pile_up(&self) -> bool {
        self.vertices.values().flatten().any(|vertex| !vertex.is_hard_scatter)
    }
}

impl TrueZ for TruthTable {
    fn true_z_mm(&self, id: RoiId) -> Option<f64> {
        self.hard_scatter_z(id)
    }
}

/// Reads a field of an optional column, which may be empty.
fn optional<T>(
    table: &Table,
    column: Option<Column>,
    field: impl Fn(&Table, Column) -> Result<T>,
) -> Result<Option<T>> {
    match column {
        Some(column) if !table.text(column)?.is_empty() => field(table, column).map(Some),
        _ => Ok(None),
    }
}

/// Returns the files of particles of a file of hits from TrackML, ACTS or ColliderML; none for
/// other files.
fn particles_of(hits: &Path) -> Result<Vec<PathBuf>> {
    let Some(name) = hits.file_name().and_then(OsStr::to_str) else { return Ok(Vec::new()) };
    let beside = |name: String| Some(hits.with_file_name(name)).filter(|path| path.is_file());
    let found = if let Some(stem) = name.strip_suffix("_tracker_hits.parquet") {
        beside(format!("{stem}_particles.parquet"))
    } else {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let stem = ["-hits.csv", "-spacepoint.csv"].into_iter().find_map(|ending| name.strip_suffix(ending));
        stem.and_then(|stem| ["", ".gz"].into_iter().find_map(|end| beside(format!("{stem}-particles.csv{end}"))))
    };
    found.map_or_else(|| colliderml::particles(hits), |path| Ok(vec![path]))
}

/// Returns z of the hard scatter among the vertices of an event \[mm\].
pub fn primary_z(vertices: &[TruthVertex]) -> Option<f64> {
    vertices.iter().find(|vertex| vertex.is_hard_scatter).map(|vertex| vertex.z_mm)
}
