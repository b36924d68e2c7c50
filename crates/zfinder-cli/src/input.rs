//! What is read: which files a user means, of which detector they are, and the RoIs and the truth that go with them.

use std::path::{Path, PathBuf};

use clap::Args;
use zfinder::{Config, Detector};
use zfinder_io::{Addressing, Inputs, RoiTable, TruthTable, addressing};

use super::options::read_text;
use command_host::{Failure, check_distinct, note};

/// What is read beside the spacepoints.
#[derive(Args)]
pub(super) struct InputOptions {
    /// CSV of RoIs: event_id,roi_id,phi_min,phi_max [rad], optionally eta and z_min,z_max [mm]
    ///
    /// phi_min > phi_max is a window across +-pi. If the input has a roi_id column, a line gives the window of that
    /// (event, RoI), and an RoI without a line keeps the default window. If the input has none, each line selects from
    /// all spacepoints of its event, and an event without a line is not searched. An RoI without spacepoints has
    /// status `empty`. Warnings count all of these.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    rois: Option<PathBuf>,
    /// Layers: atlas2010, generic, odd or a TOML file [default: generic for ACTS input, atlas2010 for the own format]
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Input")]
    detector: Option<String>,
    /// True vertices: CSV event,vz_mm,is_hard_scatter or event_id,roi_id,z [mm], or TrackML particles [default:
    /// truth_vertices.csv, or the particles of TrackML, beside the input, if there]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    truth: Option<PathBuf>,
}

impl InputOptions {
    /// Checks that no output is a file that is read, of any kind, nor another output.
    pub(super) fn check_outputs<'a>(
        &'a self,
        files: &'a [PathBuf],
        truth: Option<&'a TruthTable>,
        configs: impl IntoIterator<Item = &'a Path>,
        outputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Failure> {
        let truth = truth.map_or(&[][..], TruthTable::paths);
        let named = [self.rois.as_deref(), self.detector.as_deref().map(Path::new)];
        let read = files.iter().chain(truth).map(PathBuf::as_path).chain(named.into_iter().flatten());
        check_distinct(read.chain(configs), outputs)
    }

    pub(super) fn detector(&self, files: &[PathBuf]) -> Result<Detector, Failure> {
        detector(self.detector.as_deref(), files)
    }

    /// The RoIs, which must make histograms under all of these configurations.
    pub(super) fn rois<'a>(&self, configs: impl IntoIterator<Item = &'a Config>) -> Result<Option<RoiTable>, Failure> {
        let rois = self.rois.as_deref().map(RoiTable::read).transpose()?;
        if let Some(rois) = &rois {
            configs.into_iter().try_for_each(|config| rois.validate(config))?;
        }
        Ok(rois)
    }

    /// The truth that was named, else the one that lies in the only folder of the input, else that of each file.
    pub(super) fn truth(&self, paths: &[PathBuf], files: &[PathBuf]) -> Result<Option<TruthTable>, Failure> {
        if let Some(path) = &self.truth {
            return Ok(Some(TruthTable::read(path)?));
        }
        let named = paths.iter().filter(|path| *path != Path::new("-"));
        let mut folders =
            named.map(
                |path| {
                    if path.is_dir() { path.clone() } else { path.parent().map(Path::to_owned).unwrap_or_default() }
                },
            );
        if let Some(folder) = folders.next()
            && folders.all(|other| other == folder)
        {
            let beside = folder.join("truth_vertices.csv");
            if beside.is_file() {
                return Ok(Some(TruthTable::read(&beside)?));
            }
        }
        Ok(TruthTable::beside(files)?)
    }
}

/// The files that these files and folders stand for; says which it leaves out.
pub(super) fn inputs(paths: &[PathBuf]) -> Result<Inputs, Failure> {
    let inputs = zfinder_io::inputs(paths)?;
    if !inputs.skipped.is_empty() {
        let names: Vec<String> = inputs.skipped.iter().map(|path| path.display().to_string()).collect();
        note(&format!("warning: not files of spacepoints, left out: {}", names.join(", ")));
    }
    Ok(inputs)
}

/// The detector by name or file, else the one that these files are usually of.
pub(super) fn detector(name: Option<&str>, files: &[PathBuf]) -> Result<Detector, Failure> {
    let Some(name) = name else { return default_detector(files) };
    if let Some(detector) = Detector::built_in(name) {
        return Ok(detector);
    }
    if !name.ends_with(".toml") && !Path::new(name).exists() {
        return Err(Failure::usage(
            format!("there is no detector `{name}`"),
            "--detector takes atlas2010, generic, odd or a TOML file like those in data/detectors",
        ));
    }
    Ok(zfinder_io::detector_from_toml(name, &read_text(Path::new(name))?)?)
}

/// The detector that files of these formats are usually of.
fn default_detector(files: &[PathBuf]) -> Result<Detector, Failure> {
    let mut found = Vec::new();
    for file in files {
        found.push(addressing(file)?);
    }
    found.dedup();
    match found[..] {
        [] | [Addressing::Index] => Ok(Detector::atlas2010()),
        [Addressing::Geometry] => Ok(Detector::generic()),
        _ => Err(Failure::usage(
            "some files of the input have a column `layer`, some have geometry ids or volumes",
            "name the detector that all of them are of with --detector",
        )),
    }
}
