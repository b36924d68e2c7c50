//! Samples of RoIs to measure: simulated, or from files.

use crate::failure::NO_ROI;
use command_host::Code;
use std::path::{Path, PathBuf};

use zfinder::{Config, Detector, Preset, Roi, RoiBatch};
use zfinder_io::{OnError, ReadOptions, RoiTable, SpacepointReader};
use zfinder_study::simulate::Simulation;

use super::super::input::{self, Skipped};
use super::words::{CoordinatesName, SampleName, word};
use command_host::Failure;
use command_host::note;

/// Approximate number of spacepoints in a batch of a sample from files.
const BATCH_SPACEPOINTS: usize = 2_000_000;
const MOST_BATCH_ROIS: usize = 8192;

/// A sample with at least this many spacepoints per RoI is busy.
const BUSY: usize = 2000;

/// RoIs in memory, and the sizes of batches.
pub struct Sample {
    name: String,
    seed: Option<u64>,
    files: Vec<PathBuf>,
    detector: Detector,
    rois: RoiBatch,
    coordinates: CoordinatesName,
    batch: usize,
    /// The user chose the size of a batch.
    has_fixed_batch: bool,
}

/// Returns the same RoIs with coordinates of this type.
fn kept(rois: &RoiBatch, coordinates: CoordinatesName) -> RoiBatch {
    let mut batch = coordinates.batch();
    for view in rois.iter() {
        batch.push(*view.descriptor, view.spacepoints());
    }
    batch
}

impl Sample {
    /// Returns a simulated sample, or its first RoIs.
    pub fn simulated(
        name: SampleName,
        seed: u64,
        coordinates: CoordinatesName,
        limit: Option<usize>,
        batch: Option<usize>,
    ) -> Self {
        let simulation = name.simulation();
        let rois = limit.map_or(simulation.rois, |limit| limit.min(simulation.rois));
        let (rois, _) = Simulation { seed, rois, ..simulation }.batch();
        let default_batch = match name {
            SampleName::Lowlum => 8192,
            SampleName::Highlum => 512,
        };
        Self {
            name: word(name),
            seed: Some(seed),
            files: Vec::new(),
            detector: Detector::atlas2010(),
            rois: kept(&rois, coordinates),
            coordinates,
            batch: batch.unwrap_or(default_batch),
            has_fixed_batch: batch.is_some(),
        }
    }

    /// Returns the RoIs of files, or the first of them, read as in `find`.
    pub fn read(
        paths: &[PathBuf],
        rois: Option<&Path>,
        detector: Option<&str>,
        coordinates: CoordinatesName,
        limit: Option<usize>,
        batch: Option<usize>,
    ) -> Result<Self, Failure> {
        let inputs = input::inputs(paths, &mut Skipped::new(OnError::Stop))?;
        let detector = input::detector(detector, &inputs.files, &ReadOptions::default())?;
        let table = rois.map(RoiTable::read).transpose()?;
        if let Some(table) = &table {
            table.validate(&Config::preset(Preset::Default))?;
        }
        let mut reader = SpacepointReader::new(inputs.files.clone(), detector.clone(), table);
        let rois: RoiBatch = reader.by_ref().take(limit.unwrap_or(usize::MAX)).collect::<zfinder_io::Result<_>>()?;
        for warning in reader.warnings() {
            note(&format!("warning: {warning}"));
        }
        if rois.count_spacepoints() == 0 {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let lack = if rois.is_empty() { "no RoI" } else { "no RoI with a spacepoint" };
            return Err(
                Failure::new(Code::Data, format!("{lack} in the input ({})", names.join(", "))).with_help(NO_ROI)
            );
        }
        let of_this_size = BATCH_SPACEPOINTS * rois.len() / rois.count_spacepoints();
        Ok(Self {
            name: "input".into(),
            seed: None,
            files: inputs.files,
            detector,
            batch: batch.unwrap_or(of_this_size.clamp(1, MOST_BATCH_ROIS)),
            has_fixed_batch: batch.is_some(),
            rois: kept(&rois, coordinates),
            coordinates,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    pub fn detector(&self) -> &Detector {
        &self.detector
    }

    /// Returns the number of RoIs, at least one.
    pub fn len(&self) -> usize {
        self.rois.len()
    }

    pub fn spacepoints(&self) -> usize {
        self.rois.count_spacepoints()
    }

    pub fn is_busy(&self) -> bool {
        self.spacepoints() > BUSY * self.len()
    }

    /// Returns the number of RoIs of most batches. If the user chose it, all batches have as many.
    pub fn batch_rois(&self) -> usize {
        self.batch
    }

    pub fn has_fixed_batch(&self) -> bool {
        self.has_fixed_batch
    }

    /// Returns an RoI; the sample repeats.
    pub fn roi(&self, index: usize) -> Roi {
        let view = self.rois.roi(index % self.len());
        Roi { descriptor: *view.descriptor, spacepoints: view.spacepoints().collect() }
    }

    /// Returns `count` RoIs from `start`; the sample repeats.
    pub fn batch(&self, start: usize, count: usize) -> RoiBatch {
        let mut batch = self.coordinates.batch();
        for index in start..start + count {
            let view = self.rois.roi(index % self.len());
            batch.push(*view.descriptor, view.spacepoints());
        }
        batch
    }
}
