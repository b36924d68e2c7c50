//! Options of the input: files, detector, RoIs and truth.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use zfinder::region::Calorimeter;
use zfinder::{Config, Detector};
use zfinder_io::{
    Addressing, ColumnMap, EventNumbers, Inputs, ObjectTable, OnError, ReadOptions, Regions, RoiTable,
    SpacepointReader, TruthTable, addressing, is_colliderml, is_stream,
};

use super::options::read_text;
use super::search::counted;
use command_host::{Code, Failure, check_distinct, note};

/// Inputs in addition to the spacepoints.
#[derive(Args)]
pub(super) struct InputOptions {
    /// CSV of RoIs: event_id,roi_id,phi_min,phi_max [rad], optionally eta and z_min,z_max [mm]
    ///
    /// phi_min > phi_max is a window across +-pi. If the input has a roi_id column, a line gives
    /// the window of that (event, RoI), and an RoI without a line keeps the default window. Without
    /// this column, each line selects from all spacepoints of its event, and an event without a
    /// line is not searched. An RoI without spacepoints has status `empty`. Warnings count these
    /// cases.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    rois: Option<PathBuf>,
    /// Search the RoIs of each event as one RoI, with the number of the event's first line in
    /// --rois
    ///
    /// The spacepoints in all of their windows fill one histogram, so that two electrons support
    /// one vertex. For spacepoints of whole events, without a roi_id column.
    #[arg(long, requires = "rois", hide_short_help = true, help_heading = "Input")]
    joint: bool,
    /// Objects of the hard scatter, CSV or Parquet: event_id,eta,phi,et [rad, GeV], optionally kind
    /// (electron, photon, muon, jet)
    ///
    /// Each event is searched in the tubes from the beam line to its objects. eta and phi are those
    /// of the object's position on the calorimeter, seen from the origin. An event without objects,
    /// or whose objects are beyond the tracker, is searched whole. Events with photons alone are
    /// also searched in the half circle opposite to them.
    #[arg(long, value_name = "FILE", conflicts_with = "rois", hide_short_help = true, help_heading = "Input")]
    objects: Option<PathBuf>,
    /// Radius of the barrel and |z| of the end-caps on which --objects are measured, in mm
    #[arg(long, value_name = "RHO,Z", value_parser = calorimeter, requires = "objects", hide_short_help = true, help_heading = "Input")]
    calorimeter: Option<Calorimeter>,
    /// Search these events only, by number, as in 3-7,12
    #[arg(long, visible_alias = "event", value_name = "N,N-N", help_heading = "Input")]
    events: Option<EventNumbers>,
    /// Layers: atlas2010, generic, odd or a TOML file [default: by the format of the input]
    ///
    /// The default is odd for ColliderML, generic for ACTS and TrackML, atlas2010 for the own
    /// format. `zfinder detector check FILE.toml` checks a file and draws it.
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Input")]
    detector: Option<String>,
    /// True vertices, to compare with [default: the file beside the input, if there is one]
    ///
    /// CSV event,vz_mm,is_hard_scatter or event_id,roi_id,z [mm], or particles of TrackML. Without
    /// this option truth_vertices.csv, or the particles of TrackML, in the folder of the input. A
    /// named truth adds true_z_mm and delta_mm to CSV, JSON and Parquet.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    truth: Option<PathBuf>,
    /// Most spacepoints of an event: an event with more is an error
    #[arg(long, value_name = "N", default_value_t = MAX_SPACEPOINTS, hide_short_help = true, help_heading = "Input")]
    max_spacepoints: NonZeroUsize,
    /// Tree or RNTuple of ROOT files that is read [default: the only one with spacepoints]
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = "Input")]
    tree: Option<String>,
    /// Names of columns that differ: x=X,layer=lay
    #[arg(long, value_name = "NAME=COLUMN,...", hide_short_help = true, help_heading = "Input")]
    columns: Option<ColumnMap>,
    /// Leave out spacepoints without a position or a layer (NaN, null, empty), as of hits without a
    /// measurement, and count them
    #[arg(long, hide_short_help = true, help_heading = "Input")]
    drop_invalid: bool,
}

const MAX_SPACEPOINTS: NonZeroUsize = NonZeroUsize::new(ReadOptions::MAX_SPACEPOINTS).expect("the default is not 0");

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OnErrorName {
    /// End with exit code 1; earlier answers are written
    #[default]
    Stop,
    /// Report the error, go on with the next row, event or file, and end with exit code 5
    Skip,
}

/// The reaction to errors in the spacepoints.
#[derive(Args)]
pub(super) struct OnErrorOptions {
    /// Reaction to an error in a file of spacepoints
    ///
    /// With skip, an RoI with a bad row has status `bad_spacepoint`: no RoI is answered from a part
    /// of its spacepoints. An event above --max-spacepoints, and an unreadable file, are left out.
    /// Files of RoIs, truth, configurations and detectors must always be valid.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", hide_short_help = true, help_heading = "Input")]
    on_error: OnErrorName,
}

impl OnErrorOptions {
    pub(super) fn on_error(&self) -> OnError {
        match self.on_error {
            OnErrorName::Stop => OnError::Stop,
            OnErrorName::Skip => OnError::Skip,
        }
    }
}

/// Skipped errors of the input. Each is reported, up to a limit.
pub(super) struct Skipped {
    on_error: OnError,
    errors: u64,
    is_quiet: bool,
}

impl Skipped {
    /// Further errors are only counted.
    const TOLD: u64 = 20;

    pub(super) fn new(on_error: OnError) -> Self {
        Self { on_error, errors: 0, is_quiet: false }
    }

    /// Counts errors without reporting them.
    pub(super) fn quiet(on_error: OnError) -> Self {
        Self { is_quiet: true, ..Self::new(on_error) }
    }

    /// Reports a warning.
    pub(super) fn warn(&self, warning: &str) {
        if !self.is_quiet {
            note(&format!("warning: {warning}"));
        }
    }

    /// Reports an error, or returns it if the run ends there.
    pub(super) fn skip(&mut self, error: zfinder_io::Error) -> zfinder_io::Result<()> {
        if self.on_error == OnError::Stop || error.ends_reading() {
            return Err(error);
        }
        self.errors += 1;
        match self.errors {
            _ if self.is_quiet => {}
            1..=Self::TOLD => note(&format!("warning: skipped: {error}")),
            more if more == Self::TOLD + 1 => note("warning: skipped: more errors, which are counted only"),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn errors(&self) -> u64 {
        self.errors
    }

    /// Sets the number of errors, which includes unreported ones.
    pub(super) fn set_errors(&mut self, errors: u64) {
        self.errors = errors;
    }

    /// Returns the failure that ends a run with errors.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        match self.errors {
            0 => Ok(()),
            errors => Err(Failure::new(
                Code::Skipped,
                format!(
                    "the input has {}, which {} skipped",
                    counted(errors as usize, "error"),
                    if errors == 1 { "was" } else { "were" }
                ),
            )
            .with_help(
                "an RoI with an error has the status `bad_spacepoint`, or no answer if its rows or its file could not be read \
                 (the warnings name them); all others are answered; --on-error stop, the default, ends at the first error",
            )),
        }
    }
}

impl InputOptions {
    /// Checks that no output is an input file, another file of an event in an input folder, or
    /// another output.
    pub(super) fn check_outputs<'a>(
        &'a self,
        inputs: &'a Inputs,
        truth: Option<&'a TruthTable>,
        configs: impl IntoIterator<Item = &'a Path>,
        outputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), Failure> {
        let truth = truth.map_or(&[][..], TruthTable::paths);
        let named = [self.rois.as_deref(), self.objects.as_deref(), self.detector.as_deref().map(Path::new)];
        let read = inputs
            .files
            .iter()
            .chain(&inputs.companions)
            .chain(truth)
            .map(PathBuf::as_path)
            .chain(named.into_iter().flatten());
        check_distinct(read.chain(configs), outputs)
    }

    pub(super) fn detector(&self, files: &[PathBuf], on_error: OnError) -> Result<Detector, Failure> {
        detector(self.detector.as_deref(), files, &self.read_options(on_error))
    }

    /// Checks the named detector, for a command that reads no spacepoints.
    pub(super) fn check_detector(&self) -> Result<(), Failure> {
        if self.detector.is_some() {
            self.detector(&[], OnError::Stop)?;
        }
        Ok(())
    }

    pub(super) fn read_options(&self, on_error: OnError) -> ReadOptions {
        ReadOptions {
            on_error,
            max_spacepoints: self.max_spacepoints.get(),
            tree: self.tree.clone(),
            drop_invalid: self.drop_invalid,
            columns: self.columns.clone().unwrap_or_default(),
        }
    }

    /// Reads the RoIs, which must give valid histograms under all of these configurations, and the
    /// objects.
    ///
    /// # Errors
    /// An invalid file, and regions together with `--beam-spot auto`: too few of its tracks would
    /// be left.
    pub(super) fn selection<'a>(
        &self,
        configs: impl IntoIterator<Item = &'a Config>,
        finds_beam_spot: bool,
    ) -> Result<EventSelection, Failure> {
        if finds_beam_spot && (self.joint || self.objects.is_some()) {
            return Err(Failure::usage(
                "--beam-spot auto needs the tracks of whole events, of which --objects and --joint leave a part",
                "let a run without them find the beam spot; it says the options that give it",
            ));
        }
        let rois = self.rois.as_deref().map(RoiTable::read).transpose()?;
        if let Some(rois) = &rois {
            configs.into_iter().try_for_each(|config| rois.validate(config))?;
        }
        let objects = self.objects.as_deref().map(ObjectTable::read).transpose()?;
        let calorimeter = self.calorimeter.unwrap_or_default();
        Ok(EventSelection { rois, objects, calorimeter, joint: self.joint, numbers: self.events.clone() })
    }

    /// Returns whether an event was selected by its number, or all are.
    pub(super) fn has_event(&self, event_id: u64) -> bool {
        self.events.as_ref().is_none_or(|events| events.has(event_id))
    }

    /// Returns the named file of truth.
    pub(super) fn truth_file(&self) -> Option<&Path> {
        self.truth.as_deref()
    }

    /// Reads the named truth, else that in the only folder of the input, else that of each file.
    pub(super) fn truth(&self, paths: &[PathBuf], files: &[PathBuf]) -> Result<Option<TruthTable>, Failure> {
        match &self.truth {
            Some(path) => Ok(Some(TruthTable::read_with(path, &self.read_options(OnError::Stop))?)),
            None => Ok(self.truth_beside(paths, files)?),
        }
    }

    /// Reads truth as [`truth`](Self::truth) does, for a command that needs none: truth that was
    /// not named and cannot be read is a note.
    pub(super) fn optional_truth(&self, paths: &[PathBuf], files: &[PathBuf]) -> Result<Option<TruthTable>, Failure> {
        if self.truth.is_some() {
            return self.truth(paths, files);
        }
        Ok(self.truth_beside(paths, files).unwrap_or_else(|error| {
            note(&format!("warning: the truth next to the input is not read: {error}"));
            None
        }))
    }

    fn truth_beside(&self, paths: &[PathBuf], files: &[PathBuf]) -> Result<Option<TruthTable>, zfinder_io::Error> {
        let options = self.read_options(OnError::Stop);
        // The name of a sample is not a path.
        let named = paths.iter().filter(|path| !is_stream(path) && path.exists());
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
                return TruthTable::read_with(&beside, &options).map(Some);
            }
        }
        TruthTable::beside(files, &options)
    }

    /// Returns a note about truth that was found without being named.
    pub(super) fn found_truth(&self, truth: Option<&TruthTable>) -> Option<String> {
        let truth = truth.filter(|_| self.truth.is_none())?;
        let more = match truth.paths().len() {
            0 | 1 => String::new(),
            files => format!(" and {} more", counted(files - 1, "file")),
        };
        Some(format!("truth found next to the input: {}{more}", truth.path().display()))
    }
}

/// The selection of events and of parts of them.
#[derive(Clone)]
pub(super) struct EventSelection {
    rois: Option<RoiTable>,
    objects: Option<ObjectTable>,
    calorimeter: Calorimeter,
    joint: bool,
    numbers: Option<EventNumbers>,
}

impl EventSelection {
    /// Returns the reader of these files for a configuration.
    pub(super) fn reader(
        self,
        files: Vec<PathBuf>,
        detector: Detector,
        config: &Config,
    ) -> Result<SpacepointReader, Failure> {
        let Self { rois, objects, calorimeter, joint, numbers } = self;
        let (rois, regions) = match (rois, objects) {
            (Some(rois), _) if joint => (None, Some(Regions::of_rois(rois, config))),
            (rois, Some(objects)) => (rois, Some(Regions::of_objects(objects, calorimeter, config)?)),
            (rois, None) => (rois, None),
        };
        Ok(SpacepointReader::new(files, detector, rois).with_regions(regions).with_events(numbers))
    }
}

/// Reads `RHO,Z`.
fn calorimeter(text: &str) -> Result<Calorimeter, String> {
    let size = |text: &str| text.trim().parse().ok().filter(|size: &f64| size.is_finite() && *size > 0.0);
    let sizes = text.split_once(',').and_then(|(rho, z)| Some((size(rho)?, size(z)?)));
    let (barrel_rho_mm, endcap_z_mm) = sizes.ok_or("two lengths in mm above 0 are expected, as 1500,3700")?;
    Ok(Calorimeter { barrel_rho_mm, endcap_z_mm, ..Calorimeter::default() })
}

/// Expands files and folders, and warns about files that are left out.
pub(super) fn inputs(paths: &[PathBuf], skipped: &mut Skipped) -> Result<Inputs, Failure> {
    let mut inputs = Inputs::default();
    match zfinder_io::inputs(paths) {
        Ok(all) => inputs = all,
        Err(error) if paths.len() < 2 || skipped.on_error == OnError::Stop => skipped.skip(error)?,
        // Path by path, so that the other paths are read.
        Err(_) => {
            for (number, path) in paths.iter().enumerate() {
                if is_stream(path) && paths[..number].contains(path) {
                    continue;
                }
                match zfinder_io::inputs(std::slice::from_ref(path)) {
                    Ok(Inputs { files, skipped, companions }) => {
                        inputs.files.extend(files);
                        inputs.skipped.extend(skipped);
                        inputs.companions.extend(companions);
                    }
                    Err(error) => skipped.skip(error)?,
                }
            }
        }
    }
    if !inputs.skipped.is_empty() {
        let names = inputs.skipped.iter().take(NAMED).map(|path| path.display().to_string());
        let mut names = names.collect::<Vec<_>>().join(", ");
        if inputs.skipped.len() > NAMED {
            names.push_str(&format!(" and {} more", inputs.skipped.len() - NAMED));
        }
        note(&format!("warning: not files of spacepoints, left out: {names}"));
    }
    Ok(inputs)
}

/// Number of files that a message lists.
const NAMED: usize = 20;

/// Returns the detector by name or file, else the usual detector of these files.
pub(super) fn detector(name: Option<&str>, files: &[PathBuf], options: &ReadOptions) -> Result<Detector, Failure> {
    let Some(name) = name else { return default_detector(files, options) };
    if let Ok(detector) = Detector::built_in(name) {
        return Ok(detector);
    }
    if !name.ends_with(".toml") && !Path::new(name).exists() {
        return Err(Failure::usage(
            format!("there is no detector `{name}`"),
            "name atlas2010, generic, odd or a TOML file; `zfinder detector print generic` prints one to copy",
        ));
    }
    Ok(zfinder_io::detector_from_toml(name, &read_text(Path::new(name))?)?)
}

/// Returns the usual detector of files of these formats.
fn default_detector(files: &[PathBuf], options: &ReadOptions) -> Result<Detector, Failure> {
    let mut found = Vec::new();
    for file in files {
        match addressing(file, options) {
            Ok(addressing) => found.push(addressing),
            // Reading the file will report the error.
            Err(_) if options.on_error == OnError::Skip => {}
            Err(error) => return Err(error.into()),
        }
    }
    found.dedup();
    let of_colliderml = files.iter().filter(|file| is_colliderml(file)).count();
    match found[..] {
        [] | [Addressing::Index] => Ok(Detector::atlas2010()),
        [Addressing::Geometry] if of_colliderml == 0 => Ok(Detector::generic()),
        [Addressing::Geometry] if of_colliderml == files.len() => Ok(Detector::odd()),
        [Addressing::Geometry] => Err(Failure::usage(
            "some files of the input are ColliderML's, and some are not",
            "name the detector that all of them are of with --detector",
        )),
        _ => Err(Failure::usage(
            "some files of the input have a column `layer`, some have geometry ids or volumes",
            "name the detector that all of them are of with --detector",
        )),
    }
}
