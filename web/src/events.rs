//! Events from files or from the simulation.

use serde::Serialize;
use wasm_bindgen::prelude::*;
use zfinder::{Detector, Roi, RoiBatch, RoiId};
use zfinder_io::{
    Addressing, CsvWriter, MemoryFile, ReadOptions, RoiTable, SpacepointReader, SpacepointWriter, TruthTable,
    TruthVertex, addressing,
};
use zfinder_study::simulate::{Geometry, Simulation};

use crate::config::detector_of;
use crate::{exception, json};

/// The files that a user chose.
#[wasm_bindgen]
#[derive(Default)]
pub struct Files {
    spacepoints: Vec<MemoryFile>,
    truth: Option<MemoryFile>,
    rois: Option<MemoryFile>,
}

/// RoIs, with their truth if it is known.
#[wasm_bindgen]
pub struct Events {
    pub(crate) detector: Detector,
    /// The name of a built-in detector, or TOML.
    detector_text: String,
    pub(crate) batch: RoiBatch,
    truth: Truth,
}

enum Truth {
    Unknown,
    Table(TruthTable),
    /// Vertices of each RoI, in the order of the batch.
    Simulated(Vec<Vec<TruthVertex>>),
}

#[derive(Serialize)]
struct RoiLine {
    /// As text, because an integer of JavaScript has 53 bits.
    event_id: String,
    roi_id: String,
    spacepoints: usize,
}

#[derive(Serialize)]
struct TruthLine {
    z_mm: f64,
    is_hard_scatter: bool,
    tracks: Option<u64>,
}

#[wasm_bindgen]
impl Files {
    /// Creates an empty list.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. Its name gives its content: truth (`…truth….csv`, `…particles.csv`,
    /// `…particles.parquet`), windows of RoIs (`rois.csv`, `…-rois.csv`), else spacepoints.
    ///
    /// # Errors
    /// A ROOT file.
    pub fn add(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), JsError> {
        if bytes.starts_with(b"root") {
            let message = "this is a ROOT file, which the page cannot read. Search it with the command, \
                           `zfinder find FILE.root`. Or write its spacepoints as CSV or Parquet with columns x, y, z \
                           in mm, for example with uproot in Python, and drop that file here.";
            return Err(exception(format!("{name}: {}", message.replace("FILE.root", name))));
        }
        let lower = name.to_lowercase();
        let stem = lower.trim_end_matches(".gz").trim_end_matches(".csv").trim_end_matches(".parquet");
        let file = MemoryFile::new(name, bytes);
        if stem.contains("truth") || stem.ends_with("particles") {
            self.truth = Some(file);
        } else if stem == "rois" || stem.ends_with("-rois") {
            self.rois = Some(file);
        } else {
            self.spacepoints.push(file);
        }
        Ok(())
    }

    /// Reads all files. `detector` is the name of a built-in detector, or TOML. Without it, the
    /// columns of the first file decide.
    ///
    /// # Errors
    /// Invalid input, with file, row and column.
    pub fn read(&self, detector: Option<String>) -> Result<Events, JsError> {
        let (detector, detector_text) = match detector {
            Some(text) => (detector_of(&text)?, text),
            None => {
                let usual = self.usual_detector()?;
                let name = usual.name().to_owned();
                (usual, name)
            }
        };
        let rois = self.rois.as_ref().map(|file| RoiTable::read(file.path())).transpose().map_err(explained)?;
        let mut files: Vec<_> = self.spacepoints.iter().map(|file| file.path().to_owned()).collect();
        files.sort();
        if files.is_empty() {
            return Err(exception("no file of spacepoints was chosen: truth and RoIs alone are not enough"));
        }
        let mut batch = RoiBatch::new();
        for roi in SpacepointReader::new(files, detector.clone(), rois) {
            let Roi { descriptor, spacepoints } = roi.map_err(explained)?;
            batch.push(descriptor, spacepoints);
        }
        if batch.is_empty() {
            return Err(exception("the files contain no spacepoint"));
        }
        let truth = match &self.truth {
            Some(file) => Truth::Table(TruthTable::read(file.path()).map_err(explained)?),
            None => Truth::Unknown,
        };
        Ok(Events { detector, detector_text, batch, truth })
    }

    /// Returns the detector that files with these columns usually describe.
    fn usual_detector(&self) -> Result<Detector, JsError> {
        let Some(first) = self.spacepoints.first() else { return Ok(Detector::atlas2010()) };
        Ok(match addressing(first.path(), &ReadOptions::default()).map_err(explained)? {
            Addressing::Index => Detector::atlas2010(),
            Addressing::Geometry => Detector::generic(),
        })
    }
}

/// Returns an exception that quotes the invalid row.
fn explained(error: zfinder_io::Error) -> JsError {
    let row = match &error {
        zfinder_io::Error::Input { path, row, .. } if *row > 0 => zfinder_io::line(path, *row),
        _ => None,
    };
    match row {
        Some(row) => exception(format!("{error}\nThe row reads: {}", row.chars().take(200).collect::<String>())),
        None => exception(error),
    }
}

#[wasm_bindgen]
impl Events {
    /// Simulates whole events as `zfinder simulate --full-scan` does. `pile_up` is the mean number
    /// of pile-up collisions.
    ///
    /// # Errors
    /// A detector that the simulation lacks, and options out of range.
    pub fn simulated(detector: &str, events: usize, seed: u32, pile_up: f64) -> Result<Events, JsError> {
        let geometry = match detector {
            "atlas2010" => Geometry::Atlas2010,
            "generic" => Geometry::Generic,
            _ => return Err(exception(format!("detector `{detector}` is not simulated"))),
        };
        let knobs =
            Simulation { geometry, rois: events, seed: seed.into(), pile_up, ..Simulation::lowlum() }.whole_events();
        knobs.validate().map_err(exception)?;
        let (mut batch, mut truth) = (RoiBatch::new(), Vec::new());
        for made in knobs.chunks().flatten() {
            batch.push(made.roi.descriptor, made.roi.spacepoints);
            let vertex = |(number, vertex): (usize, &zfinder_study::simulate::SimulatedVertex)| TruthVertex {
                z_mm: vertex.z_mm,
                is_hard_scatter: number == 0,
                ..TruthVertex::default()
            };
            truth.push(made.truth.iter().enumerate().map(vertex).collect());
        }
        let detector_text = detector.to_owned();
        Ok(Events { detector: knobs.detector(), detector_text, batch, truth: Truth::Simulated(truth) })
    }

    /// Returns the name of the detector.
    #[must_use]
    pub fn detector(&self) -> String {
        self.detector.name().to_owned()
    }

    /// Returns the detector for finders: the name of a built-in detector, or TOML.
    #[must_use]
    pub fn detector_text(&self) -> String {
        self.detector_text.clone()
    }

    /// Returns ids and numbers of spacepoints of all RoIs as JSON.
    ///
    /// # Errors
    /// A failed serialization.
    pub fn rois(&self) -> Result<String, JsError> {
        let line = |roi: zfinder::RoiView<'_>| {
            let RoiId { event_id, roi_id } = roi.descriptor.id;
            RoiLine { event_id: event_id.to_string(), roi_id: roi_id.to_string(), spacepoints: roi.len() }
        };
        json(&self.batch.iter().map(line).collect::<Vec<_>>())
    }

    /// Returns x, y, z \[mm\] and layer of each spacepoint of an RoI: 4 numbers per spacepoint.
    #[must_use]
    pub fn points(&self, roi: usize) -> Vec<f32> {
        if roi >= self.batch.len() {
            return Vec::new();
        }
        let point = |s: zfinder::Spacepoint| {
            [s.rho * s.phi.cos(), s.rho * s.phi.sin(), s.z, f64::from(s.layer)].map(|number| number as f32)
        };
        self.batch.roi(roi).spacepoints().flat_map(point).collect()
    }

    /// Returns the true vertices of an RoI as JSON: an empty list if truth is not known.
    ///
    /// # Errors
    /// A failed serialization.
    pub fn truth(&self, roi: usize) -> Result<String, JsError> {
        let vertices = match &self.truth {
            Truth::Table(table) if roi < self.batch.len() => table.vertices(self.batch.roi(roi).descriptor.id),
            Truth::Simulated(all) => all.get(roi).map_or(&[][..], Vec::as_slice),
            _ => &[],
        };
        let line = |vertex: &TruthVertex| TruthLine {
            z_mm: vertex.z_mm,
            is_hard_scatter: vertex.is_hard_scatter,
            tracks: vertex.tracks,
        };
        json(&vertices.iter().map(line).collect::<Vec<_>>())
    }

    /// Returns all spacepoints as CSV that `zfinder find` reads.
    ///
    /// # Errors
    /// A failed serialization.
    pub fn csv(&self) -> Result<String, JsError> {
        let mut text = Vec::new();
        let mut writer = Box::new(CsvWriter::new(&mut text, "spacepoints.csv"));
        for roi in self.batch.iter() {
            writer.write(roi).map_err(exception)?;
        }
        writer.finish().map_err(exception)?;
        String::from_utf8(text).map_err(exception)
    }
}
