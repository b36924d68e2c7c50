//! Selects single RoIs of the input, for plots and histograms.

use std::path::{Path, PathBuf};

use clap::Args;
use zfinder::{Config, Engine, Roi, RoiId, ZFinder};
use zfinder_io::{OnError, TruthTable, TruthVertex};

use super::beam_spot::{self, RoiSource};
use super::input::{self, InputOptions, Skipped};
use super::options::ConfigOptions;
use command_host::Failure;

/// Options that select one RoI or all. The reference engine computes the plots and histograms.
#[derive(Args)]
pub(super) struct SelectOptions {
    /// Files of spacepoints, or folders of them, as of `zfinder find`
    #[arg(required_unless_present = "print_config", value_name = "FILE|FOLDER")]
    paths: Vec<PathBuf>,
    /// Only RoIs with this number
    #[arg(long, value_name = "N", help_heading = "Input")]
    roi: Option<u64>,
    /// Print only warnings and errors on standard error
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    #[command(flatten)]
    input: InputOptions,

    #[command(flatten)]
    config: ConfigOptions,
}

/// The selected RoIs, and the finder that searches them.
pub(super) struct SelectedRois {
    pub(super) finder: ZFinder,
    pub(super) truth: Option<TruthTable>,
    rois: RoiSource,
    roi: Option<u64>,
}

impl SelectOptions {
    /// Returns None if the configuration was requested and has been printed.
    pub(super) fn config(&self) -> Result<Option<Config>, Failure> {
        let config = self.config.config()?;
        if self.config.print_config {
            self.input.check_detector()?;
            self.config.print(&config)?;
            return Ok(None);
        }
        Ok(Some(config))
    }

    /// Opens the input, and reads truth and RoIs. An input that is also the output is an error.
    pub(super) fn open(&self, mut config: Config, output: Option<&Path>) -> Result<SelectedRois, Failure> {
        let inputs = input::inputs(&self.paths, &mut Skipped::new(OnError::Stop))?;
        let detector = self.input.detector(&inputs.files, OnError::Stop)?;
        let selection = self.input.selection([&config], self.config.beam_spot_events().is_some())?;
        let truth = self.input.truth(&self.paths, &inputs.files)?;
        self.input.check_outputs(&inputs, truth.as_ref(), self.config.file(), output)?;
        let options = self.input.read_options(OnError::Stop);
        let reader = selection.reader(inputs.files, detector.clone(), &config)?.with_options(options);
        let mut rois = RoiSource::new(reader);
        if let Some(events) = self.config.beam_spot_events() {
            let beam = rois.find_beam_spot(events, &detector, &mut config)?;
            if !self.quiet {
                beam_spot::report(&beam);
            }
        }
        let finder = ZFinder::builder(detector).config(config).engine(Engine::Reference).build()?;
        Ok(SelectedRois { finder, truth, rois, roi: self.roi })
    }
}

impl SelectedRois {
    /// Returns the first selected RoI, or an error if the selection is empty.
    pub(super) fn first(&mut self) -> Result<Roi, Failure> {
        match self.next().transpose()? {
            Some(roi) => Ok(roi),
            None => Err(self.nothing()),
        }
    }

    /// Returns the failure for a selection without RoIs.
    pub(super) fn nothing(&self) -> Failure {
        match self.roi {
            None => Failure::usage(
                "the input has no RoI",
                "is there a row below the header? --rois may select none of its events",
            ),
            Some(roi) => Failure::usage(
                format!("no selected event has an RoI {roi}"),
                "`zfinder find` lists the events and RoIs of the input; leave --roi out for the first",
            ),
        }
    }

    /// Returns the true vertices of an RoI; empty if they are unknown.
    pub(super) fn vertices(&self, id: RoiId) -> &[TruthVertex] {
        self.truth.as_ref().map_or(&[], |truth| truth.vertices(id))
    }

    fn is_meant(&self, id: RoiId) -> bool {
        self.roi.is_none_or(|roi| roi == id.roi_id)
    }
}

impl Iterator for SelectedRois {
    type Item = zfinder_io::Result<Roi>;

    fn next(&mut self) -> Option<zfinder_io::Result<Roi>> {
        loop {
            let roi = self.rois.next()?;
            if roi.as_ref().map_or(true, |roi| self.is_meant(roi.descriptor.id)) {
                return Some(roi);
            }
        }
    }
}
