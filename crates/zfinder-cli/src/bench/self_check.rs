//! Checks an engine with a few simulated RoIs whose answers are known.

use zfinder::config::PairWeight;
use zfinder::{Config, Encoding, Preset, ZFinder, ZFinderBuilder};

use super::check::Expected;
use super::sample::Sample;
use super::words::{CoordinatesName, SampleName};
use command_host::Failure;

const ROIS: usize = 16;

/// Confirmed pairs in the default configuration, which use all stages, and the answers of the
/// reference engine.
pub struct SelfCheck {
    sample: Sample,
    config: Config,
    expected: Expected,
}

impl SelfCheck {
    pub fn new() -> Result<Self, Failure> {
        let sample = Sample::simulated(SampleName::Lowlum, 1, CoordinatesName::F64, Some(ROIS), None);
        let config = Config::preset(Preset::Default).with(|c| c.pair_weight = PairWeight::Any);
        let expected = Expected::new(&sample, &config, Encoding::Lossless, ROIS)?;
        Ok(Self { sample, config, expected })
    }

    /// Builds the finder with these options and compares its answers.
    pub fn run(&self, options: impl FnOnce(ZFinderBuilder) -> ZFinderBuilder) -> Result<(), Failure> {
        let builder = ZFinder::builder(self.sample.detector().clone()).config(self.config.clone());
        let finder = options(builder).build()?;
        let found = finder.find_batch(&self.sample.batch(0, ROIS))?;
        self.expected.check(&finder.description(), &found).map(|_| ())
    }
}
