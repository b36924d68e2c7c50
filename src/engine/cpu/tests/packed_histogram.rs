//! Counts in packed words: whole, split, and beyond what a word holds.

use crate::config::{Config, Preset};
use crate::detector::Detector;
use crate::engine::cpu::lanes::ENTRY_SHIFT;
use crate::engine::cpu::sum_histos::{PackedHistogram, sum_histos};
use crate::engine::histogram::{FixedPoint, HistogramPair, MAX_COUNT, OFFSET_STEPS};
use crate::engine::plan::Search;
use crate::roi_batch::RoiBatch;
use crate::spacepoint::Roi;
use crate::thesis::Accumulate;

/// Enters steps and weights one by one, or together, in few bins, by one instruction or by several.
fn enter(histogram: &mut PackedHistogram, apart: Option<bool>, entries: &[(u32, u32)]) {
    let Some(apart) = apart else {
        entries.iter().for_each(|&(steps, weight)| histogram.add(0, steps, 1.0, weight));
        return;
    };
    let (steps, weights): (Vec<_>, Vec<_>) =
        entries.iter().map(|&(steps, weight)| (f32::from_bits(steps << ENTRY_SHIFT), weight as f32)).unzip();
    match (histogram.pairs().is_empty(), apart) {
        (false, _) => histogram.fill_weighted(&steps, &weights),
        (true, false) => histogram.fill::<f32, false>(&steps),
        (true, true) => histogram.fill::<f32, true>(&steps),
    }
}

/// Counts beyond what a word holds are seen, however they come about.
#[test]
fn counts_that_are_too_high_are_seen() {
    let search = Search::new(&Config::preset(Preset::Default), &Detector::atlas2010()).expect("a valid configuration");
    let batch: RoiBatch = [Roi::default()].into_iter().collect();
    let plan = search.plan(batch.roi(0)).expect("a plan");
    let steps = 5 * OFFSET_STEPS + 1023;
    use Accumulate::{CompareExchange, Fixed};
    for (accumulate, apart) in [(Fixed, None), (Fixed, Some(false)), (Fixed, Some(true)), (CompareExchange, None)] {
        let mut histogram = PackedHistogram::default();
        histogram.clear(&plan, accumulate, None, false);
        let mut filled = 0;
        while filled + (1 << 16) <= MAX_COUNT as usize {
            enter(&mut histogram, apart, &[(steps, 1); 1 << 16]);
            filled += 1 << 16;
        }
        histogram.look();
        assert!(!histogram.overflows(), "{filled} entries");
        enter(&mut histogram, apart, &[(steps, 1); 1 << 16]);
        histogram.look();
        assert!(histogram.overflows());
        for (weight, overflows) in [(63, false), (64, true), (u32::MAX, true)] {
            histogram.clear(&plan, accumulate, Some(weight as usize), false);
            enter(&mut histogram, apart, &[(steps, weight); 1 << 16]);
            histogram.look();
            assert_eq!(histogram.overflows(), overflows, "{weight}");
            let pairs: u32 = histogram.pairs().iter().sum();
            assert_eq!((histogram.weights(), pairs), (u64::from(weight.min(MAX_COUNT + 1)) << 16, 1 << 16));
        }
        // In one go, as many as there are: more than a word of 32 bits holds.
        for weight in [63, 64, u32::MAX] {
            histogram.clear(&plan, accumulate, Some(weight as usize), false);
            histogram.fill_any(std::iter::repeat_n((steps, 1.0, weight), 1 << 16));
            histogram.look();
            assert_eq!(histogram.overflows(), weight > 63, "{weight}");
        }
        // By weights that a word cannot even hold: seen on the way.
        histogram.clear(&plan, accumulate, Some(1), false);
        for _ in 0..2000 {
            histogram.add(0, steps, 1.0, u32::MAX);
        }
        assert!(histogram.overflows());
    }
}

/// A bin may hold as many as a word of z allows, whatever else is in the histogram, and no more; of
/// rows as of their sum.
#[test]
fn the_fullest_bin_is_no_overflow() {
    let search = Search::new(&Config::preset(Preset::Default), &Detector::atlas2010()).expect("a valid configuration");
    let batch: RoiBatch = [Roi::default()].into_iter().collect();
    let plan = search.plan(batch.roi(0)).expect("a plan");
    let at = |bin: u32| bin * OFFSET_STEPS + 1023;
    for accumulate in [Accumulate::Fixed, Accumulate::CompareExchange] {
        for (more, overflows) in [(0, false), (1, true)] {
            let mut histogram = PackedHistogram::default();
            histogram.clear(&plan, accumulate, Some(MAX_COUNT as usize), false);
            enter(&mut histogram, None, &[(at(5), MAX_COUNT), (at(7), 12), (at(5), more)]);
            histogram.look();
            assert_eq!(histogram.overflows(), overflows, "{accumulate:?}: {more} more");
            let mut total = HistogramPair::new(0, 0);
            sum_histos::<FixedPoint>([&histogram], &mut total);
            assert_eq!((total.n[5], total.overflows()), (MAX_COUNT + more, overflows), "{accumulate:?}: {more} more");
        }
    }
}

/// As many as are counted together, some more and some less, in f32 and f64.
#[test]
fn entries_together_are_those_one_by_one() {
    let rng = &mut fastrand::Rng::with_seed(32);
    let search = Search::new(&Config::preset(Preset::Default), &Detector::atlas2010()).expect("a valid configuration");
    let batch: RoiBatch = [Roi::default()].into_iter().collect();
    let plan = search.plan(batch.roi(0)).expect("a plan");
    let bins = plan.bins.bins;
    for count in 0..100 {
        let steps: Vec<u32> = (0..count).map(|_| rng.u32(0..bins * OFFSET_STEPS)).collect();
        let single: Vec<f32> = steps.iter().map(|steps| f32::from_bits(steps << ENTRY_SHIFT)).collect();
        // The bits above the low bits of an f64 are ignored.
        let double: Vec<f64> = steps.iter().map(|&steps| f64::from(steps << ENTRY_SHIFT) + 2f64.powi(52)).collect();
        let fill = |fill: &dyn Fn(&mut PackedHistogram)| {
            let mut histogram = PackedHistogram::default();
            histogram.clear(&plan, Accumulate::Fixed, None, false);
            fill(&mut histogram);
            histogram.look();
            let (mut n, mut z) = (vec![0; bins as usize], vec![0; bins as usize]);
            histogram.unpack(0, &mut n, &mut z);
            (n, z, histogram.weights())
        };
        let one_by_one = fill(&|to| steps.iter().for_each(|&steps| to.add(0, steps, 1.0, 1)));
        assert_eq!(one_by_one.2, count as u64);
        assert!(fill(&|to| to.fill::<f32, false>(&single)) == one_by_one, "{count}");
        assert!(fill(&|to| to.fill::<f32, true>(&single)) == one_by_one, "{count}");
        assert!(fill(&|to| to.fill::<f64, false>(&double)) == one_by_one, "{count}");
        assert!(fill(&|to| to.fill::<f64, true>(&double)) == one_by_one, "{count}");
    }
}

/// Few entries in a bin and as many as there may be, in few bins and in many, in the last one and
/// beyond it.
#[test]
fn words_tell_n_from_z() {
    let rng = &mut fastrand::Rng::with_seed(25);
    let batch: RoiBatch = [Roi::default()].into_iter().collect();
    for (z_bin_mm, most) in [(0.2, 500), (0.2, 4_000), (0.2, MAX_COUNT), (0.02, 30), (0.02, 3_000), (40.0, MAX_COUNT)] {
        let config = Config { z_bin_mm, ..Config::preset(Preset::Default) };
        let search = Search::new(&config, &Detector::atlas2010()).expect("a valid configuration");
        let plan = search.plan(batch.roi(0)).expect("a plan");
        let bins = plan.bins.bins;
        // Bins as full as may be, and all of them a little.
        let full = [0, bins / 2, bins - 1].map(|bin| (bin, most));
        let few: Vec<_> = (0..2_000).map(|_| (rng.u32(0..=bins), rng.u32(0..20))).collect();
        let mut histogram = PackedHistogram::default();
        histogram.clear(&plan, Accumulate::Fixed, Some(MAX_COUNT as usize), false);
        let (mut n, mut z) = (vec![0u64; bins as usize], vec![0u64; bins as usize]);
        let mut pairs = vec![0u32; bins as usize];
        for (bin, count) in full.into_iter().chain(few) {
            let at = bin.min(bins - 1) as usize;
            let count = u64::from(count).min(u64::from(MAX_COUNT) - n[at]) as u32;
            let any = [0, OFFSET_STEPS - 1, rng.u32(0..OFFSET_STEPS)][rng.usize(0..3)];
            let steps = if bin == bins { 0 } else { any };
            let together = (bins < 4096).then_some(false);
            enter(&mut histogram, together, &[(bin * OFFSET_STEPS + steps, count)]);
            n[at] += u64::from(count);
            z[at] += u64::from(count) * u64::from(steps);
            pairs[at] += 1;
        }
        histogram.look();
        assert!(!histogram.overflows());
        let mut total = HistogramPair::new(0, 0);
        sum_histos::<FixedPoint>([&histogram], &mut total);
        let words = |column: &[u32]| column.iter().map(|&word| u64::from(word)).collect::<Vec<_>>();
        assert!(words(&total.n) == n, "{z_bin_mm}, {most}: n");
        assert!(words(&total.z) == z, "{z_bin_mm}, {most}: z");
        assert!(total.pairs == pairs, "{z_bin_mm}, {most}: pairs");
        // Of two parts, block by block.
        sum_histos::<FixedPoint>([&histogram, &histogram], &mut total);
        assert!(words(&total.n).iter().zip(&n).all(|(two, one)| *two == 2 * one), "{z_bin_mm}, {most}: n of two");
        assert!(total.z.iter().zip(&z).all(|(two, one)| *two == (2 * one) as u32), "{z_bin_mm}, {most}: z of two");
    }
}
