//! Takes the highest windows of three bins, one after the other. Twin of `shaders/find_peaks.wgsl`.

use std::cmp::Reverse;

use crate::config::{Config, ZBins};
use crate::histogram::{Background, HistogramPair, Peak};

/// Three neighbouring bins of a histogram: their rank, how far from the middle of the range they are (if that counts), and
/// the first of them. The greatest is the highest, then the nearest to the middle, then the first.
type Window = (u32, Reverse<u32>, Reverse<u32>);

/// The highest window of the histogram that begins at a word.
fn highest(histogram: &HistogramPair, first: usize, bins: &ZBins, config: &Config) -> Window {
    let window = |left: u32| {
        let from_centre = if config.prefer_central { (left + 1).abs_diff(bins.half) } else { 0 };
        (histogram.rank(first + left as usize), Reverse(from_centre), Reverse(left))
    };
    (0..bins.bins - 2).map(window).max().unwrap_or_default()
}

/// Hands peaks to `take_peak` in the order found, as long as it wants more, and the background with the first; their bins
/// are zero in the histogram afterwards.
pub(crate) fn find_peaks(
    histogram: &mut HistogramPair,
    bins: &ZBins,
    config: &Config,
    background_windows: u32,
    mut take_peak: impl FnMut(&Peak) -> bool,
) {
    let mut background = match background_windows {
        0 => Background::default(),
        lowest => Background::of(histogram, bins.bins, lowest),
    };
    let each = bins.bins as usize;
    let firsts = (0..histogram.n.len()).step_by(each);
    let mut windows: Vec<Window> = firsts.map(|first| highest(histogram, first, bins, config)).collect();
    loop {
        let before = |i: usize| {
            let (rank, from_centre, _) = windows[i];
            (rank, from_centre, Reverse(i))
        };
        let of = (0..windows.len()).max_by_key(|&i| before(i)).unwrap_or_default();
        let (rank, _, Reverse(left)) = windows[of];
        if rank < config.least_weight() {
            break;
        }
        let at = of * each + left as usize;
        let take = |words: &mut [u32]| {
            let taken = [words[at], words[at + 1], words[at + 2]];
            words[at..at + 3].fill(0);
            taken
        };
        let (n, z) = (take(&mut histogram.n), take(&mut histogram.z));
        let pairs = take(&mut histogram.pairs);
        for masks in histogram.sectors.iter_mut().filter(|masks| !masks.is_empty()) {
            take(masks);
        }
        let peak = Peak { bin: left + 1, n, z, pairs, flags: 0, background: std::mem::take(&mut background) };
        if !take_peak(&peak) {
            break;
        }
        windows[of] = highest(histogram, of * each, bins, config);
    }
}
