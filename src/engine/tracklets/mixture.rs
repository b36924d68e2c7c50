//! Vertices as a mixture: a Gaussian for each vertex and each tracklet, and tracklets of no vertex.
//! Expectation and maximisation moves all vertices together.

use std::f64::consts::LN_2;
use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use crate::engine::tracklets::exp::exp_below_0;
use crate::engine::tracklets::lanes::Eight;
use crate::engine::tracklets::places::{EightPlaces, Places, REACH};

const FIRST_TRACKLETS: f64 = 3.0;
const ROUNDS: usize = 15;
/// Rounds after which vertices closer than [`MERGE`] errors are joined, and those dropped that are
/// far from significant.
const MERGE_AFTER: [usize; 2] = [4, 9];
const MERGE: f64 = 3.0;
/// Added to both errors: tracks of decays make a second place near their vertex \[mm\].
const MERGE_FLOOR_MM: f64 = 0.03;
/// The least number of tracklets, as a sum of probabilities.
const MIN_TRACKLETS: f64 = 1.5;

/// A smaller product of probabilities is divided by this number, 2^-64.
const SMALL: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// A vertex while all are moved together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) z: f64,
    pub(super) z_error: f64,
    /// Sum of probabilities.
    pub(super) tracklets: f64,
    /// How much the logarithm of the likelihood falls without it.
    pub(super) gain: f64,
}

/// Sums of a vertex over tracklets, lane by lane.
#[derive(Clone, Copy, Debug)]
struct Sums {
    tracklets: Eight,
    by_error: Eight,
    z: Eight,
    /// Product of the probabilities that tracklets belong elsewhere, divided by [`SMALL`]^n.
    elsewhere: Eight,
    n: Eight,
}

/// Memory of expectation and maximisation, and its vertices.
#[derive(Debug, Default)]
pub(super) struct Mixture {
    /// Ascending in z.
    pub(super) vertices: Vec<Candidate>,
    sums: Vec<Sums>,
    /// Room for the densities of all vertices.
    pub(super) near: Vec<Eight>,
}

impl Mixture {
    /// Maximises the extended likelihood of all tracklets, from vertices at these z.
    pub(super) fn maximise(&mut self, significance: f64, found: &[f64], places: &Places) {
        let least_gain = 0.5 * significance * significance;
        let vertex = |&z: &f64| Candidate { z, z_error: 0.0, tracklets: FIRST_TRACKLETS, gain: 0.0 };
        self.vertices.clear();
        self.vertices.extend(found.iter().map(vertex));
        self.sort();
        for round in 0..ROUNDS {
            let joins = MERGE_AFTER.contains(&round);
            self.near.resize(self.vertices.len(), Eight::default());
            self.sums.clear();
            self.sums.resize(self.vertices.len(), Sums::EMPTY);
            let Self { vertices, sums, near } = self;
            let with_gain = joins || round + 1 == ROUNDS;
            Arch::new().dispatch(Expect { vertices, places, sums, near, with_gain });
            for (vertex, sums) in self.vertices.iter_mut().zip(&self.sums) {
                *vertex = sums.vertex();
            }
            if joins {
                join(least_gain, &mut self.vertices);
            }
            self.sort();
        }
        self.vertices.retain(|vertex| vertex.tracklets >= MIN_TRACKLETS && vertex.gain >= least_gain);
    }

    fn sort(&mut self) {
        self.vertices.sort_unstable_by(|a, b| a.z.total_cmp(&b.z));
    }
}

impl Sums {
    const EMPTY: Self = {
        let (zero, one) = (Eight([0.0; Eight::LANES]), Eight([1.0; Eight::LANES]));
        Self { tracklets: zero, by_error: zero, z: zero, elsewhere: one, n: zero }
    };

    #[inline(always)]
    fn add(&mut self, probability: Eight, eight: &EightPlaces) {
        let by_error = probability * eight.weight;
        self.tracklets = self.tracklets + probability;
        self.by_error = self.by_error + by_error;
        self.z = self.z + by_error * eight.z;
    }

    /// Multiplies by the probability of belonging elsewhere: one logarithm at the end is faster
    /// than one for each tracklet.
    #[inline(always)]
    fn add_gain(&mut self, probability: Eight) {
        let product = self.elsewhere * (Eight::all(1.0) - probability).at_least(1e-12);
        self.elsewhere = product.select_at_least(SMALL, product, product * Eight::all(1.0 / SMALL));
        self.n = self.n + product.select_at_least(SMALL, Eight::all(0.0), Eight::all(1.0));
    }

    fn vertex(&self) -> Candidate {
        let by_error = self.by_error.sum().max(1e-12);
        let tracklets = self.tracklets.sum();
        let of_tracklets = 64.0 * LN_2 * self.n.sum() - libm::log(self.elsewhere.product());
        // Without the vertex, its tracklets are not expected either.
        let gain = of_tracklets - tracklets;
        Candidate { z: self.z.sum() / by_error, z_error: 1.0 / by_error.sqrt(), tracklets, gain }
    }
}

/// Sums up the tracklets' probabilities of belonging to each vertex.
struct Expect<'a> {
    /// Ascending in z.
    vertices: &'a [Candidate],
    places: &'a Places,
    sums: &'a mut [Sums],
    near: &'a mut [Eight],
    with_gain: bool,
}

impl NullaryFnOnce for Expect<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { vertices, places, sums, near, with_gain } = self;
        for (class, max_error) in places.classes() {
            let mut first = 0;
            for eight in class {
                let (range, by_total) = densities(eight, max_error, vertices, &mut first, near);
                for (sums, &density) in sums[range].iter_mut().zip(&*near) {
                    let probability = density * by_total;
                    sums.add(probability, eight);
                    if with_gain {
                        sums.add_gain(probability);
                    }
                }
            }
        }
    }
}

/// Computes the densities that the vertices near tracklets make at their places, over the largest
/// density of each tracklet. `near` has room for all vertices. Returns the range of these vertices,
/// and the inverse of the sum of all densities, with the background.
///
/// Vertices before `first` are out of reach. It grows from place to place of a class, which ascend
/// in z.
#[inline(always)]
pub(super) fn densities(
    eight: &EightPlaces,
    max_error: f64,
    vertices: &[Candidate],
    first: &mut usize,
    near: &mut [Eight],
) -> (Range<usize>, Eight) {
    while *first < vertices.len() && vertices[*first].z < eight.z.0[0] - REACH * max_error {
        *first += 1;
    }
    let [low, high] = eight.reach;
    let from = *first + vertices[*first..].iter().take_while(|vertex| vertex.z < low).count();
    let by = Eight::all(-0.5) * eight.weight;
    let mut total = eight.background;
    let mut count = 0;
    for (vertex, near) in vertices[from..].iter().take_while(|vertex| vertex.z <= high).zip(&mut *near) {
        let apart = eight.z - Eight::all(vertex.z);
        let exponent = by * apart * apart;
        let density = Eight::all(vertex.tracklets) * exp_below_0(exponent);
        *near = exponent.select_at_least(-0.5 * REACH * REACH, density, Eight::all(0.0));
        total = total + *near;
        count += 1;
    }
    (from..from + count, Eight::all(1.0) / total)
}

/// Drops vertices that are far from significant, and those close to one with more tracklets.
fn join(least_gain: f64, vertices: &mut Vec<Candidate>) {
    vertices.sort_unstable_by(|a, b| b.tracklets.total_cmp(&a.tracklets).then(a.z.total_cmp(&b.z)));
    let mut kept = 0;
    for i in 0..vertices.len() {
        let vertex = vertices[i];
        let is_apart = |other: &Candidate| {
            let (apart, errors2) = (vertex.z - other.z, vertex.z_error.powi(2) + other.z_error.powi(2));
            apart * apart > MERGE * MERGE * (errors2 + MERGE_FLOOR_MM * MERGE_FLOOR_MM)
        };
        let may_stay = vertex.tracklets >= 0.75 * MIN_TRACKLETS && vertex.gain >= 0.5 * least_gain;
        if may_stay && vertices[..kept].iter().all(is_apart) {
            vertices[kept] = vertex;
            kept += 1;
        }
    }
    vertices.truncate(kept);
}
