//! The smallest phi window about an RoI's spacepoints.

use std::f64::consts::{PI, TAU};

use super::block::{BLOCK, Block, SpacepointSource};

/// The lowest and the highest phi, the lowest positive phi and the highest other phi, lane by lane.
/// Infinite where a lane has no value.
#[derive(Clone, Copy)]
pub(super) struct PhiExtremes {
    lowest: [f64; LANES],
    highest: [f64; LANES],
    low_positive: [f64; LANES],
    high_negative: [f64; LANES],
}

/// Lanes of [`PhiExtremes`].
const LANES: usize = 8;

impl Default for PhiExtremes {
    fn default() -> Self {
        let (low, high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        Self { lowest: low, highest: high, low_positive: low, high_negative: high }
    }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Adds a block's azimuths unless one of them lies outside [-pi, pi]. Branch-free, so that the
/// compiler vectorises it. Other errors of a spacepoint are found when it is packed.
struct AddBlock<'a, S> {
    extremes: &'a mut PhiExtremes,
    block: S,
}

impl<S: SpacepointSource> pulp::NullaryFnOnce for AddBlock<'_, S> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { extremes, block } = self;
        let mut with = *extremes;
        let mut plain = true;
        for first in (0..BLOCK).step_by(LANES) {
            for lane in 0..LANES {
                let (_, phi, _, _) = block.at(first + lane);
                plain &= phi.abs() <= PI;
                with.add(lane, phi);
            }
        }
        if plain {
            *extremes = with;
        }
        plain
    }
}

impl PhiExtremes {
    #[inline(always)]
    pub(super) fn add(&mut self, lane: usize, phi: f64) {
        let Self { lowest, highest, low_positive, high_negative } = self;
        let positive = phi > 0.0;
        lowest[lane] = smaller(lowest[lane], phi);
        highest[lane] = larger(highest[lane], phi);
        low_positive[lane] = smaller(low_positive[lane], if positive { phi } else { f64::INFINITY });
        high_negative[lane] = larger(high_negative[lane], if positive { f64::NEG_INFINITY } else { phi });
    }

    /// Adds a whole block. Returns false, and adds nothing, if a phi lies outside [-pi, pi].
    pub(super) fn add_block(&mut self, block: Block<'_>) -> bool {
        let (arch, extremes) = (pulp::Arch::new(), self);
        match block {
            Block::Double(columns, at) => arch.dispatch(AddBlock { extremes, block: (columns, at) }),
            Block::Single(columns, at) => arch.dispatch(AddBlock { extremes, block: (columns, at) }),
            Block::Records(block) => arch.dispatch(AddBlock { extremes, block }),
        }
    }

    /// Returns the lower edge and the width of the smallest window. It contains 0 if the positive
    /// and the negative side are nearer to each other there than at pi.
    pub(super) fn window(&self) -> (f64, f64) {
        const PAD: f64 = 1e-10;
        let least = |lanes: [f64; LANES]| lanes.into_iter().fold(f64::INFINITY, smaller);
        let most = |lanes: [f64; LANES]| lanes.into_iter().fold(f64::NEG_INFINITY, larger);
        // If there is no positive phi, `low` is infinite and above `end`. The negative side is
        // symmetric.
        let (low, end) = (least(self.low_positive), most(self.highest));
        let (first, high) = (least(self.lowest), most(self.high_negative));
        let (low, high) = match (low <= end, first <= high) {
            (false, false) => (0.0, 0.0),
            (true, false) => (low, end),
            (false, true) => (first, high),
            (true, true) if low - high < PI => (first, end),
            (true, true) => (low, high + TAU),
        };
        (low - PAD, (high - low + 2.0 * PAD).min(TAU))
    }
}
