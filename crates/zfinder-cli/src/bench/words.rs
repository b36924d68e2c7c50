//! Values of the options of `bench`.

use clap::ValueEnum;
use serde::Serialize;
use zfinder::config::{Extrapolation, PairWeight};
use zfinder::{Config, Preset, RoiBatch};
use zfinder_study::simulate::Simulation;

/// Returns a value as the user types it.
pub fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum SampleName {
    /// 340 spacepoints an RoI on average, about 5 collisions at once
    Lowlum,
    /// 7805 spacepoints an RoI on average, about 180 collisions at once
    Highlum,
}

impl SampleName {
    pub fn simulation(self) -> Simulation {
        match self {
            SampleName::Lowlum => Simulation::lowlum(),
            SampleName::Highlum => Simulation::highlum(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum CoordinatesName {
    /// 13 bytes a spacepoint in host memory
    F32,
    /// 25 bytes a spacepoint in host memory
    F64,
}

impl CoordinatesName {
    /// Returns an empty batch with coordinates of this type.
    pub fn batch(self) -> RoiBatch {
        match self {
            CoordinatesName::F32 => RoiBatch::with_f32(),
            CoordinatesName::F64 => RoiBatch::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum CaseName {
    /// Pairs in the thesis's configuration: single neighbours, all layers as inner layers, 1000
    /// bins over +-200 mm
    Pairs,
    /// Triplets (any) in the thesis's configuration
    Triplets,
    /// Pairs in the default configuration: bending neighbours, three inner layers
    BendingPairs,
    /// Triplets (any) in the default configuration
    BendingTriplets,
    /// Triplets (count) in the default configuration
    BendingCount,
    /// The same with histograms of each charge and of each slice, accurate extrapolation about a
    /// beam that is off and tilted, and five separated vertices over the background of the lowest
    /// 95 %
    AllOptions,
    /// The preset hard-scatter: pairs weighted by pT
    HardScatter,
    /// The preset auto: hard-scatter, and full-scan where it finds no peak
    Auto,
    /// The preset all-vertices: all vertices of tracklets
    AllVertices,
}

impl CaseName {
    pub fn config(self) -> Config {
        match self {
            CaseName::Pairs => Config::preset(Preset::Thesis),
            CaseName::Triplets => Config::preset(Preset::Thesis).with(|c| c.pair_weight = PairWeight::Any),
            CaseName::BendingPairs => Config::preset(Preset::Default),
            CaseName::BendingTriplets => Config::preset(Preset::Default).with(|c| c.pair_weight = PairWeight::Any),
            CaseName::BendingCount => Config::preset(Preset::Default).with(|c| c.pair_weight = PairWeight::Count),
            CaseName::AllOptions => Config::preset(Preset::Default).with(|c| {
                c.pair_weight = PairWeight::Any;
                c.charge_aware = true;
                c.histogram_per_slice = true;
                c.extrapolation = Extrapolation::Accurate;
                c.beam_spot_mm = [0.3, -0.2];
                c.beam_spot_tilt = [1e-4, -1e-4];
                c.peaks = 5;
                c.vertex_separation_bins = 5.0;
                c.percentile = 0.95;
            }),
            CaseName::HardScatter => Config::preset(Preset::HardScatter),
            CaseName::Auto => Config::preset(Preset::Auto),
            CaseName::AllVertices => Config::preset(Preset::AllVertices),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum EngineName {
    /// Each GPU that --adapter names, else the first hardware GPU if there is one
    Gpu,
    /// All cores, and in addition one core
    Cpu,
    /// Serial and in f64: one core
    Reference,
}

/// Returns the given values, each once and in order; all values if none is given.
pub fn or_all<T: ValueEnum + PartialEq>(given: &[T]) -> Vec<T> {
    let given = if given.is_empty() { T::value_variants() } else { given };
    given.iter().enumerate().filter(|(i, value)| !given[..*i].contains(value)).map(|(_, value)| value.clone()).collect()
}
