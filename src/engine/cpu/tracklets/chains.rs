//! Chains of triplets, and the choice among chains that share hits.

use std::cmp::Ordering;

use crate::cancellation::Cancellation;
use crate::engine::cpu::tracklets::hits::PixelHits;
use crate::engine::cpu::tracklets::triplets::{Triplet, Triplets};
use crate::engine::real::Real;
use crate::engine::tracklets::search::{MAX_STEP_COST, MOST_CHAIN_TESTS, MOST_TRACKLETS};
use crate::tracklet::{Tracklet, TrackletHits};

/// Hits of one track, from the beam outwards: places in [`PixelHits`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain<R> {
    pub(crate) hits: TrackletHits,
    /// Of the first triplet, and the costs of all steps.
    chi2: R,
}

/// Chains of an event.
#[derive(Debug)]
pub(crate) struct Chains<R> {
    /// The kept ones, the best one first.
    pub(crate) kept: Vec<Chain<R>>,
    /// Chains of six hits, of five, of four, of three.
    by_length: [Vec<Chain<R>>; LENGTHS],
    /// Of chains of one length: chi2, and the place among them.
    order: Vec<u64>,
    is_used: Vec<bool>,
}

impl<R> Default for Chains<R> {
    fn default() -> Self {
        Self { kept: Vec::new(), by_length: [const { Vec::new() }; LENGTHS], order: Vec::new(), is_used: Vec::new() }
    }
}

impl<R: Real> Chains<R> {
    /// Continues each triplet, and keeps the best chains. The order is: more hits, lower chi2,
    /// lower numbers of the first three hits. A chain is kept if the kept chains have at most one
    /// of its hits, or none if it has three hits. Returns whether there are too many, or the search
    /// is cancelled.
    pub(crate) fn fill(&mut self, hits: &PixelHits<R>, triplets: &Triplets<R>, cancellation: Cancellation<'_>) -> bool {
        let tests = triplets.all.iter().map(|first| triplets.of_middle(first.hits[2]).len() as u64);
        if tests.sum::<u64>() > MOST_CHAIN_TESTS {
            return true;
        }
        let most = R::from_f64(MAX_STEP_COST);
        self.by_length.iter_mut().for_each(Vec::clear);
        for first in &triplets.all {
            if cancellation.is_requested() {
                return true;
            }
            let chain = chain(first, most, hits, triplets);
            self.by_length[Tracklet::MOST_HITS - chain.hits.len()].push(chain);
        }
        self.choose(hits);
        self.kept.len() > MOST_TRACKLETS
    }

    /// Chooses from the longest chains first. Most of the shorter ones are parts of those that are
    /// kept, so that few remain to be sorted.
    fn choose(&mut self, hits: &PixelHits<R>) {
        let Self { kept, by_length, order, is_used } = self;
        is_used.clear();
        is_used.resize(hits.len(), false);
        kept.clear();
        for chains in by_length {
            order.clear();
            for (place, chain) in chains.iter().enumerate().filter(|(_, chain)| is_free(chain, is_used)) {
                // Bits of numbers that are not negative are in the order of the numbers.
                order.push(u64::from(chain.chi2.to_f32().to_bits()) << PLACE_BITS | place as u64);
            }
            order.sort_unstable();
            let place = |key: &u64| (key & ((1 << PLACE_BITS) - 1)) as usize;
            for alike in order.chunk_by_mut(|a, b| a >> PLACE_BITS == b >> PLACE_BITS) {
                if alike.len() > 1 {
                    alike.sort_unstable_by(|a, b| before(&chains[place(a)], &chains[place(b)], hits));
                }
                for chain in alike.iter().map(|key| &chains[place(key)]) {
                    if is_free(chain, is_used) {
                        chain.hits.as_slice().iter().for_each(|&hit| is_used[hit as usize] = true);
                        kept.push(*chain);
                    }
                }
            }
        }
    }
}

/// Whether kept chains leave the chain enough hits.
fn is_free<R>(chain: &Chain<R>, is_used: &[bool]) -> bool {
    let own = chain.hits.as_slice();
    own.iter().filter(|&&hit| is_used[hit as usize]).count() <= usize::from(own.len() > 3)
}

/// Bits of a chain's place, and so of the number of triplets.
const PLACE_BITS: u32 = 30;
/// Numbers of hits that a chain may have.
const LENGTHS: usize = Tracklet::MOST_HITS - 2;

/// Continues a triplet (a, b, c) with the triplet (b, c, d) of the lowest cost, and so on. Of equal
/// costs, the lower number of d wins.
fn chain<R: Real>(first: &Triplet<R>, most: R, hits: &PixelHits<R>, triplets: &Triplets<R>) -> Chain<R> {
    let mut chain = Chain { hits: first.hits.into_iter().collect(), chi2: first.chi2 };
    let width = R::from_f64(0.15) * first.kappa.abs() + R::from_f64(2e-5);
    let [_, mut inner, mut middle] = first.hits;
    while chain.hits.len() < Tracklet::MOST_HITS {
        let mut best: Option<(R, u32)> = None;
        for next in triplets.of_middle(middle).iter().filter(|next| next.hits[0] == inner) {
            let apart = (next.kappa - first.kappa) / width;
            let cost = next.chi2 + apart * apart;
            let number = |hit: u32| hits.numbers[hit as usize];
            let is_better =
                |&(least, hit): &(R, u32)| cost < least || cost == least && number(next.hits[2]) < number(hit);
            if best.as_ref().is_none_or(is_better) {
                best = Some((cost, next.hits[2]));
            }
        }
        let Some((cost, outer)) = best.filter(|&(cost, _)| cost <= most) else { break };
        chain.hits.push(outer);
        chain.chi2 = chain.chi2 + cost;
        (inner, middle) = (middle, outer);
    }
    chain
}

/// The better one of two chains of one length first.
fn before<R: Real>(a: &Chain<R>, b: &Chain<R>, hits: &PixelHits<R>) -> Ordering {
    let numbers = |chain: &Chain<R>| [0, 1, 2].map(|i| hits.numbers[chain.hits.as_slice()[i] as usize]);
    let by_chi2 = || a.chi2.partial_cmp(&b.chi2).unwrap_or(Ordering::Equal);
    by_chi2().then_with(|| numbers(a).cmp(&numbers(b)))
}
