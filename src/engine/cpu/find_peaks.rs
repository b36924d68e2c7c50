//! Takes the highest windows of three bins, one after the other:
//! `shaders/find_peaks/find_peaks.wgsl` in vectors.

use std::cmp::Reverse;

use pulp::{Arch, Simd, WithSimd};

use crate::config::{Config, Ranking};
use crate::engine::histogram::HistogramPair;
use crate::engine::records::{Background, Peak};
use crate::z_bins::ZBins;

/// Three neighbouring bins of a histogram: their rank, how far from the middle of the range they
/// are (if that counts), and the first of them. The greatest is the highest, then the nearest to
/// the middle, then the first.
type Window = (u32, Reverse<u32>, Reverse<u32>);

/// Memory of find_peaks, used over and over.
#[derive(Debug, Default)]
pub(crate) struct PeakBuffers {
    windows: Vec<Window>,
    sums: Vec<u32>,
}

/// The highest window of the histogram that begins at a word, in the vectors of some machine.
struct HighestWindow<'a> {
    histogram: &'a HistogramPair,
    first: usize,
    bins: &'a ZBins,
    ranking: Ranking,
    prefer_central: bool,
}

/// Windows that are looked at together.
const TOGETHER: usize = 32;

impl WithSimd for HighestWindow<'_> {
    type Output = Window;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Window {
        let Self { histogram, first, bins, ranking, prefer_central } = self;
        let windows = bins.bins as usize - 2;
        let window = |rank: u32, left: usize| {
            let from_centre = if prefer_central { (left as u32 + 1).abs_diff(bins.half) } else { 0 };
            (rank, Reverse(from_centre), Reverse(left as u32))
        };
        if ranking != Ranking::Entries {
            let windows = (0..windows).map(|left| window(ranking.rank(histogram, first, left), left));
            return windows.max().unwrap_or_default();
        }
        // Loops over lengths that the compiler knows, without calls, so that it makes vectors of
        // them.
        let n = &histogram.n[first..first + windows + 2];
        let whole = windows - windows % TOGETHER;
        let mut most = [0; TOGETHER];
        for left in (0..whole).step_by(TOGETHER) {
            let n = &n[left..left + TOGETHER + 2];
            for i in 0..TOGETHER {
                let sum = n[i].wrapping_add(n[i + 1]).wrapping_add(n[i + 2]);
                most[i] = if sum > most[i] { sum } else { most[i] };
            }
        }
        let mut highest = 0;
        for i in 0..TOGETHER {
            highest = if most[i] > highest { most[i] } else { highest };
        }
        for left in whole..windows {
            let sum = n[left].wrapping_add(n[left + 1]).wrapping_add(n[left + 2]);
            highest = if sum > highest { sum } else { highest };
        }
        let mut best = Window::default();
        for first in (0..windows).step_by(TOGETHER) {
            let end = if first < whole {
                let n = &n[first..first + TOGETHER + 2];
                let mut any = false;
                for i in 0..TOGETHER {
                    any |= n[i].wrapping_add(n[i + 1]).wrapping_add(n[i + 2]) == highest;
                }
                if any { first + TOGETHER } else { first }
            } else {
                windows
            };
            for left in first..end {
                if n[left].wrapping_add(n[left + 1]).wrapping_add(n[left + 2]) == highest {
                    best = best.max(window(highest, left));
                }
            }
        }
        best
    }
}

/// Hands peaks to `take_peak` in the order found, as long as it wants more, and the background with
/// the first; their bins are zero in the histogram afterwards.
pub(crate) fn find_peaks(
    histogram: &mut HistogramPair,
    bins: &ZBins,
    config: &Config,
    background_windows: u32,
    memory: &mut PeakBuffers,
    mut take_peak: impl FnMut(&Peak) -> bool,
) {
    let PeakBuffers { windows, sums } = memory;
    let mut background = match background_windows {
        0 => Background::default(),
        lowest => Background::measure(histogram, bins.bins, lowest, sums),
    };
    let each = bins.bins as usize;
    let &Config { ranking, z_estimate, prefer_central, .. } = config;
    let arch = Arch::new();
    let highest = |histogram: &HistogramPair, first: usize| {
        arch.dispatch(HighestWindow { histogram, first, bins, ranking, prefer_central })
    };
    windows.clear();
    windows.extend((0..histogram.n.len()).step_by(each).map(|first| highest(histogram, first)));
    loop {
        let before = |i: usize| {
            let (rank, from_centre, _) = windows[i];
            (rank, from_centre, Reverse(i))
        };
        let of = (0..windows.len()).max_by_key(|&i| before(i)).unwrap_or_default();
        let Some(&(rank, _, Reverse(left))) = windows.get(of) else { break };
        if rank < config.least_weight() {
            break;
        }
        let at = of * each + left as usize;
        let cluster = z_estimate.find_cluster(histogram, at + 1);
        let peak = Peak::take(histogram, cluster, rank, left, at);
        let peak = Peak { background: std::mem::take(&mut background), ..peak };
        if !take_peak(&peak) {
            break;
        }
        windows[of] = highest(histogram, of * each);
    }
}
