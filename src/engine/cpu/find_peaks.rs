//! Takes the highest windows of three bins, one after the other. Twin of `shaders/find_peaks.wgsl`.

use crate::config::Config;
use crate::histogram::{Background, HistogramPair, Peak};

/// Hands peaks to `take_peak` in the order found, as long as it wants more, and the background with the first; their bins
/// are zero in the histogram afterwards.
pub(crate) fn find_peaks(
    histogram: &mut HistogramPair,
    half: u32,
    config: &Config,
    background_windows: u32,
    mut take_peak: impl FnMut(&Peak) -> bool,
) {
    let mut background = match background_windows {
        0 => Background::default(),
        lowest => Background::of(histogram, lowest),
    };
    loop {
        let (mut highest, mut at, mut distance) = (0, 0, u32::MAX);
        for left in 0..histogram.n.len() - 2 {
            let sum: u32 = histogram.n[left..left + 3].iter().sum();
            let from_centre = if config.prefer_central { (left as u32 + 1).abs_diff(half) } else { 0 };
            if sum > highest || (sum == highest && from_centre < distance) {
                (highest, at, distance) = (sum, left, from_centre);
            }
        }
        if highest < config.least_weight() {
            break;
        }
        let take = |words: &mut [u32]| {
            let taken = [words[at], words[at + 1], words[at + 2]];
            words[at..at + 3].fill(0);
            taken
        };
        let (n, z) = (take(&mut histogram.n), take(&mut histogram.z));
        let peak = Peak { bin: at as u32 + 1, n, z, flags: 0, background: std::mem::take(&mut background) };
        if !take_peak(&peak) {
            break;
        }
    }
}
