//! Peaks and background against the twin's.

use crate::config::{Config, PairWeight, Preset, Ranking, ZEstimate};
use crate::detector::Detector;
use crate::engine::cpu::find_peaks::{PeakBuffers, find_peaks};
use crate::engine::histogram::{HistogramPair, PAIR_PARTS};
use crate::engine::plan::Search;
use crate::engine::twin;
use crate::z_bins::ZBins;

/// Peaks, their background, and the histogram that is left.
pub(super) fn check(name: &str, search: &Search, bins: &ZBins, lowest: u32, histogram: &HistogramPair) {
    let config = &search.config;
    let (mut left, mut left_by_twin) = (histogram.clone(), histogram.clone());
    let mut found = Vec::new();
    find_peaks(&mut left, bins, config, lowest, &mut PeakBuffers::default(), |peak| {
        found.push(*peak);
        found.len() < config.peaks as usize
    });
    let wanted = twin::find_peaks::find_peaks(&mut left_by_twin, bins, config, lowest);
    assert_eq!(found, wanted, "{name}: peaks");
    assert!(left == left_by_twin, "{name}: the histogram without its peaks");
}

/// Histograms of any length, with many equal windows, by sum and by rank, over a background of any
/// share of the windows.
#[test]
fn peaks_are_the_twins() {
    let rng = &mut fastrand::Rng::with_seed(24);
    for bins in [3u32, 4, 5, 33, 34, 35, 66, 67, 500, 2001] {
        for (prefer_central, by_pt) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut config = Config { prefer_central, peaks: 5, ..Config::preset(Preset::Default) };
            if by_pt {
                let (ranking, z_estimate) = (Ranking::Directions, ZEstimate::Densest);
                config = Config { pair_weight: PairWeight::Pt, ranking, z_estimate, ..config };
            }
            let search = Search::new(&config, &Detector::atlas2010()).expect("a valid configuration");
            let zbins = ZBins { z_min: -1.0, z_max: 1.0, width: 1.0, offset: 0.0, half: bins / 2, bins };
            // Weights by pT go with one histogram.
            for histograms in if by_pt { 1..2 } else { 1..4 } {
                let words = histograms * bins;
                let most = [2, 3, 1000, 5000][rng.usize(0..4)];
                let n: Vec<u32> = (0..words).map(|_| rng.u32(0..most)).collect();
                let mut histogram = HistogramPair { z: n.clone(), n, ..HistogramPair::new(histograms, bins) };
                if by_pt {
                    histogram.sectors = [0; 2].map(|_| (0..words).map(|_| rng.u32(0..1 << 24)).collect());
                    histogram.precisions = (0..words * PAIR_PARTS).map(|_| rng.u32(0..most)).collect();
                }
                let windows = histograms * (bins - 2);
                for lowest in [0, 1, windows / 2, windows * 19 / 20, windows] {
                    let name = format!("{histograms} of {bins} bins below {most}, {lowest} lowest, by pT {by_pt}");
                    check(&name, &search, &zbins, lowest, &histogram);
                }
            }
        }
    }
}

/// The background is the mean of the lowest windows, sorted.
#[test]
fn the_background_is_the_mean_of_the_lowest_windows() {
    let rng = &mut fastrand::Rng::with_seed(26);
    let config = Config { peaks: 1, ..Config::preset(Preset::Default) };
    for bins in [3u32, 35, 500] {
        for most in [2, 1000] {
            let zbins = ZBins { z_min: -1.0, z_max: 1.0, width: 1.0, offset: 0.0, half: bins / 2, bins };
            let n: Vec<u32> = (0..bins).map(|_| rng.u32(1..=most)).collect();
            let mut sums: Vec<u32> = n.windows(3).map(|n| n.iter().sum()).collect();
            sums.sort_unstable();
            for lowest in [1, sums.len().div_ceil(2), sums.len()] {
                let mean = sums[..lowest].iter().sum::<u32>() as f64 / lowest as f64;
                let mut histogram = HistogramPair { z: n.clone(), n: n.clone(), ..HistogramPair::new(1, bins) };
                let peaks = twin::find_peaks::find_peaks(&mut histogram, &zbins, &config, lowest as u32);
                let background = peaks[0].background.mean(lowest as u32, bins - 2);
                assert_eq!(
                    background.map(|background| background.entries),
                    Some(mean),
                    "{lowest} of {} windows",
                    sums.len()
                );
            }
        }
    }
}
