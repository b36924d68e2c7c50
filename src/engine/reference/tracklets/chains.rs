//! Chains of triplets, and the choice among chains that share hits.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::search::ReferenceTracklets;
use super::triplets::Triplet;

/// Hits of one track, from the beam outwards.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) hits: Vec<usize>,
    /// Of the first triplet, and the costs of all steps.
    pub(super) chi2: f64,
}

impl Chain {
    /// The better chain first: more hits, then lower chi2.
    pub(super) fn before(&self, other: &Self) -> Ordering {
        other.hits.len().cmp(&self.hits.len()).then(self.chi2.total_cmp(&other.chi2))
    }
}

/// The most hits of a chain.
const MAX_HITS: usize = 6;
/// The largest cost of adding a hit to a chain: the chi2 of its triplet and of its curvature.
const MAX_COST: f64 = 20.0;

impl ReferenceTracklets {
    /// Continues each triplet (a, b, c) with the triplet (b, c, d) of the lowest cost, and so on.
    /// Of equal costs, the first triplet wins.
    pub(super) fn build_chains(&self, triplets: &[Triplet]) -> Vec<Chain> {
        let mut beginning: HashMap<[usize; 2], Vec<&Triplet>> = HashMap::new();
        for triplet in triplets {
            let [a, b, _] = triplet.hits;
            beginning.entry([a, b]).or_default().push(triplet);
        }
        let chain = |first: &Triplet| {
            let mut chain = Chain { hits: first.hits.to_vec(), chi2: first.chi2 };
            while chain.hits.len() < MAX_HITS {
                let last = chain.hits.len() - 2;
                let next = beginning.get(&[chain.hits[last], chain.hits[last + 1]]);
                let cost = |next: &Triplet| {
                    let apart = (next.kappa - first.kappa) / (0.15 * first.kappa.abs() + 2e-5);
                    next.chi2 + apart.powi(2)
                };
                let costs = next.into_iter().flatten().map(|&next| (cost(next), next));
                let best = costs.min_by(|(a, _), (b, _)| a.total_cmp(b));
                let Some((cost, next)) = best.filter(|&(cost, _)| cost <= MAX_COST) else { break };
                chain.hits.push(next.hits[2]);
                chain.chi2 += cost;
            }
            chain
        };
        triplets.iter().map(chain).collect()
    }
}

/// Keeps the best chains. In the order of more hits, lower chi2, lower index, a chain is kept if
/// the kept chains have at most one of its hits, or none if it has three hits.
///
/// The order alone decides. An engine may decide, in any round, all chains that are the best
/// undecided one on each of their hits: the result is the same.
pub(super) fn select(mut chains: Vec<Chain>) -> Vec<Chain> {
    // Stable, so that the lower index goes first.
    chains.sort_by(Chain::before);
    let mut used = HashSet::new();
    chains.retain(|chain| {
        let shared = chain.hits.iter().filter(|hit| used.contains(*hit)).count();
        let keeps = shared <= if chain.hits.len() == 3 { 0 } else { 1 };
        if keeps {
            used.extend(chain.hits.iter().copied());
        }
        keeps
    });
    chains
}
