//! Tests of physics performance with simulated events (../shared/data/acts) and the CPU engine. All
//! engines give the same answers.

use zfinder::config::{Neighbours, PairWeight};
use zfinder::{Config, Detector, Engine, Preset, RoiBatch, ZFinder};
use zfinder_io::{SpacepointReader, TruthTable, inputs};
use zfinder_study::evaluate::{Evaluation, Figures, Options};
use zfinder_testing::shared;

/// Returns the figures of a sample in one configuration.
fn figures(set: &str, config: &Config) -> Option<Figures> {
    let dir = shared(&format!("data/acts/{set}"))?;
    let truth = TruthTable::read(&dir.join("truth_vertices.csv")).expect("truth");
    let files = inputs(&[dir]).expect("files of spacepoints").files;
    let finder =
        ZFinder::builder(Detector::generic()).config(config.clone()).engine(Engine::Cpu).build().expect("a finder");
    let mut evaluation = Evaluation::new(Options::default());
    for roi in SpacepointReader::new(files, Detector::generic(), None) {
        let batch: RoiBatch = [roi.expect("spacepoints")].into_iter().collect();
        for result in &finder.find_batch(&batch).expect("an answer") {
            evaluation.add(result, truth.vertices(result.id()));
        }
    }
    Some(evaluation.figures())
}

fn hard_scatter(set: &str) -> Option<Figures> {
    figures(set, &Config::preset(Preset::HardScatter))
}

/// One preset serves all samples.
#[test]
fn the_hard_scatter_comes_first() {
    for (set, rois, least) in [("zee7_mu2", 60, 60), ("tt14_mu46", 8, 8), ("zee14_mu46", 30, 29), ("tt14_mu200", 1, 1)]
    {
        let Some(found) = hard_scatter(set) else { return };
        assert_eq!(found.first.of, rois, "{set}");
        assert!(found.first.passed >= least, "{set}: {:?}", found.first);
        assert!(found.residual_mm.rms.is_some_and(|rms| rms < 0.13), "{set}: {:?}", found.residual_mm);
    }
}

/// The z error describes the residuals.
#[test]
fn pulls_are_about_one() {
    for config in [Config::preset(Preset::Default), Config::preset(Preset::HardScatter)] {
        let Some(found) = figures("zee7_mu2", &config) else { return };
        let width = found.pull.std.expect("pulls");
        assert!((0.8..1.2).contains(&width), "{:?}: {:?}", config.pair_weight, found.pull);
    }
}

/// Plain counting is as efficient as the reference program in its best tuning.
#[test]
fn counting_is_as_good_as_the_reference_program() {
    let config = Config::preset(Preset::Default).with(|c| {
        c.neighbours = Neighbours::Single;
        c.pair_weight = PairWeight::Any;
        c.peaks = 4;
        c.vertex_separation_bins = 6.0;
    });
    for (set, first, any) in [("zee7_mu2", 0.94, 0.995), ("tt14_mu46", 1.0, 1.0), ("zee14_mu46", 0.48, 0.7)] {
        let Some(found) = figures(set, &config) else { return };
        assert!(found.first.value.is_some_and(|value| value >= first), "{set}: {:?}", found.first);
        assert!(found.any.value.is_some_and(|value| value >= any), "{set}: {:?}", found.any);
        assert!(found.residual_mm.rms.is_some_and(|rms| (0.05..0.13).contains(&rms)), "{set}: {:?}", found.residual_mm);
    }
}
