//! Compares found vertices with true vertices.
//!
//! Give an [`Evaluation`] every [`RoiResult`] with the true vertices of its event; it answers with
//! [`Figures`], of all RoIs and of bins of pile-up or of spacepoints.
//!
//! # Definitions
//!
//! z_1, z_2, ... are the vertices found in an RoI, in their order; t_0 is its true primary vertex
//! (the hard scatter), and t_i are the other true vertices of its event, if truth has them. w is
//! [`Options::within_mm`].
//!
//! | figure | is |
//! |---|---|
//! | [`first`](Figures::first) | fraction of RoIs with \|z_1 - t_0\| < w: the efficiency |
//! | [`any`](Figures::any) | fraction of RoIs with \|z_k - t_0\| < w for any k |
//! | [`residual_mm`](Figures::residual_mm) | z_1 - t_0 of RoIs where that is within w: the resolution |
//! | [`pull`](Figures::pull) | (z_1 - t_0) / z_error of the same RoIs, but those whose z_error is 0 |
//! | [`false_vertices`](Figures::false_vertices) | fraction of the z_k with \|z_k - t_i\| >= w for every i, 0 included |
//! | [`false_rois`](Figures::false_rois) | fraction of RoIs with one such z_k at least |
//! | [`pile_up_vertices`](Figures::pile_up_vertices) | fraction of the z_k that are neither false nor within w of t_0 |
//! | [`split`](Figures::split) | fraction of RoIs with two or more z_k within w of t_0 |
//! | [`precision`](Figures::precision) | fraction of the z_k that are matched to a t_i: in their order, each takes the nearest t_i within w that is free |
//! | [`recall`](Figures::recall) | fraction of the t_i, 0 included, that are matched |
//! | [`f1`](Figures::f1) | 2 matches / (number of z_k + number of t_i): harmonic mean of the two |
//! | [`false_per_roi`](Figures::false_per_roi) | mean number of z_k with \|z_k - t_i\| >= w for every i, in an RoI |
//! | [`position`](Figures::position) | mean of the least k with \|z_k - t_0\| < w, of RoIs that have one |
//! | [`roc_significance`](Figures::roc_significance) | probability that a right z_1 has a larger significance than a wrong one |
//! | [`roc_rank_ratio`](Figures::roc_rank_ratio) | the same of rank of z_1 / rank of z_2, infinite without z_2 |
//! | [`list.efficiency`](ListFigures::efficiency) | fraction of the t_i with at least 1, 3, 5, 10 tracks (charged, pT > 0.5 GeV, \|eta\| < 2.5) that are matched one to one to a z_k nearer than m, the nearest pair first; m is [`Options::match_mm`] |
//! | [`list.chance`](ListFigures::chance) | the same of 3 tracks for the z_k mirrored about the mean of the t_i |
//! | [`list.near`](ListFigures::near) | fraction of the t_i with at least 2 tracks that have a z_k within 0.17 mm |
//! | [`list.clean`](ListFigures::clean), [`merged`](ListFigures::merged) | fraction of the z_k that are matched; merged if a t_i with 3 tracks that is not matched is nearer than m, too |
//! | [`list.split`](ListFigures::split) | fraction of the z_k that are not matched, and nearer than m to a t_i |
//! | [`list.fakes_per_roi`](ListFigures::fakes_per_roi) | mean number of z_k that are nearer than m to no t_i, in an RoI |
//! | [`resolution`](VertexFigures::resolution) | distance at which two vertices are found as two: the step in the distances of pairs of the z_k |
//! | [`calibration`](VertexFigures::calibration) | false vertices above a significance, found, and expected by its probability |
//!
//! An RoI in which nothing was found counts as a failure. An RoI without a primary vertex in the
//! truth is left out, and counted separately. If truth lists only the primary vertex, every pile-up
//! vertex is a false vertex.
//!
//! A primary is *isolated* if every t_i of its event is further away than
//! [`Options::isolation_mm`], else *close*. If two true vertices are closer together than w, one
//! found vertex may match both, and two found vertices may be correct. The split rate of isolated
//! primaries is free of this ambiguity.
//!
//! ```
//! use zfinder_study::evaluate::{Evaluation, Options};
//! use zfinder::results::RoiSummary;
//! use zfinder::{Results, RoiId, Status, Vertex};
//! use zfinder_io::TruthVertex;
//!
//! let mut vertex = Vertex::at(12.3);
//! vertex.z_error_mm = 0.1;
//! let mut results = Results::new();
//! results.push(RoiSummary::new(RoiId { event_id: 0, roi_id: 0 }, Status::Ok), [vertex]);
//! let mut evaluation = Evaluation::new(Options::default());
//! let truth = TruthVertex { z_mm: 12.5, is_hard_scatter: true, ..TruthVertex::default() };
//! evaluation.add(results.roi(0), &[truth]);
//! let figures = evaluation.figures();
//! assert_eq!(figures.first.value, Some(1.0));
//! assert!((figures.pull.mean.unwrap() + 2.0).abs() < 1e-9);
//! ```

mod all_vertices;
mod figures;
mod statistics;
#[cfg(test)]
mod tests;
mod vertices;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use zfinder::{RoiResult, Status};
use zfinder_io::{TruthVertex, primary_z};

use all_vertices::ListCounts;
pub use all_vertices::ListFigures;
pub use figures::{Figure, Figures, Neighbourhood};
use figures::{Primary, RoiRecord};
pub use statistics::{Fraction, Spread};
use vertices::VertexCounts;
pub use vertices::{Calibration, StepFit, VertexFigures};

/// Default of [`Options::within_mm`] \[mm\].
pub const WITHIN_MM: f64 = 1.0;
/// Default number of bins, and the fewest RoIs in each.
const BINS: usize = 5;
const ROIS_IN_A_BIN: usize = 10;

/// Distances of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Options {
    /// A found vertex belongs to a true one if it is nearer than this \[mm\]; 1.
    pub within_mm: f64,
    /// A primary is isolated if the other true vertices are further away than this \[mm\]; 10.
    pub isolation_mm: f64,
    /// Figures of the list of all vertices match vertices that are nearer than this \[mm\]; 0.2.
    pub match_mm: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { within_mm: WITHIN_MM, isolation_mm: 10.0, match_mm: 0.2 }
    }
}

/// The quantity of the bin axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Number of true vertices of the event, including the primary.
    PileUp,
    /// Number of spacepoints that took part in the search.
    Spacepoints,
    /// Number of charged particles of the true primary with pT > 500 MeV and |eta| < 2.5.
    Tracks,
    /// The largest pT of these particles \[MeV\].
    LeadingPt,
    /// The root of the sum of their pT^2 \[MeV\].
    SumPt,
    /// Distance from the true primary to the nearest other true vertex \[um\].
    Distance,
}

impl By {
    /// Returns the name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            By::PileUp => "pile-up",
            By::Spacepoints => "spacepoints",
            By::Tracks => "tracks",
            By::LeadingPt => "leading-pt",
            By::SumPt => "sum-pt",
            By::Distance => "distance",
        }
    }

    /// Returns the label for plots and tables.
    pub fn label(self) -> &'static str {
        match self {
            By::PileUp => "true vertices",
            By::Spacepoints => "spacepoints",
            By::Tracks => "charged particles of the primary",
            By::LeadingPt => "largest pT of the primary, MeV",
            By::SumPt => "root of the sum of pT^2 of the primary, MeV",
            By::Distance => "distance to the nearest true vertex, um",
        }
    }
}

/// A range of the binned quantity, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Least number.
    pub low: u64,
    /// Largest number.
    pub high: u64,
}

/// Consecutive bins in increasing order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binning {
    /// The binned quantity.
    pub by: By,
    /// The bins.
    pub bins: Vec<Bin>,
}

/// The figures of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct InBin {
    /// The bin.
    #[serde(flatten)]
    pub bin: Bin,
    /// Mean of the quantity; None for an empty bin.
    #[serde(default)]
    pub mean: Option<f64>,
    /// The figures of its RoIs.
    pub figures: Figures,
}

/// All results of an [`Evaluation`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of RoIs that were left out, because truth has no primary vertex for them.
    pub without_truth: u64,
    /// Number of RoIs for each status ([`Status::as_str`]), without those that were left out.
    pub statuses: BTreeMap<&'static str, u64>,
    /// Figures of all RoIs with truth.
    pub figures: Figures,
    /// Figures of each bin.
    pub bins: Vec<InBin>,
    /// Figures of all found vertices.
    pub vertices: VertexFigures,
}

/// Compares answers with truth, RoI by RoI. An evaluation keeps about 200 bytes for each RoI,
/// because widths and bins need all of them.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    options: Options,
    seen: Vec<RoiRecord>,
    statuses: BTreeMap<&'static str, u64>,
    without_truth: u64,
    vertices: VertexCounts,
}

impl Evaluation {
    /// Makes an evaluation without RoIs.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Adds an answer, with all true vertices of its event
    /// ([`TruthTable::vertices`](zfinder_io::TruthTable::vertices)).
    pub fn add(&mut self, result: RoiResult<'_>, truth: &[TruthVertex]) {
        let Some(primary) = primary_z(truth) else {
            self.without_truth += 1;
            return;
        };
        let within = |z: f64, true_z: f64| (z - true_z).abs() < self.options.within_mm;
        let count = |is_so: &dyn Fn(f64) -> bool| result.vertices().iter().filter(|vertex| is_so(vertex.z_mm)).count();
        let first = result.vertices().first().filter(|vertex| within(vertex.z_mm, primary));
        let others = || truth.iter().filter(|vertex| !vertex.is_hard_scatter);
        let nearest = others().map(|other| (other.z_mm - primary).abs()).min_by(f64::total_cmp);
        let position = result.vertices().iter().position(|vertex| within(vertex.z_mm, primary));
        let matched = matches(result, truth, self.options.within_mm);
        self.vertices.add(result, truth, self.options.within_mm);
        self.seen.push(RoiRecord {
            true_vertices: truth.len() as u64,
            spacepoints: result.summary().spacepoints,
            residual: first.map(|vertex| vertex.z_mm - primary),
            z_error_mm: first.map_or(0.0, |vertex| vertex.z_error_mm),
            vertices: result.vertices().len() as u32,
            on_primary: count(&|z| within(z, primary)) as u32,
            on_nothing: count(&|z| !truth.iter().any(|vertex| within(z, vertex.z_mm))) as u32,
            isolated: others().all(|other| (other.z_mm - primary).abs() > self.options.isolation_mm),
            matched,
            list: ListCounts::new(result.vertices().z_mm(), truth, self.options.match_mm),
            position: position.map(|position| position as u32 + 1),
            significance: result.vertices().first().and_then(|vertex| vertex.significance),
            rank_ratio: rank_ratio(result),
            primary: primary_of(truth, nearest),
        });
        *self.statuses.entry(Status::as_str(result.status())).or_default() += 1;
    }

    /// Returns the number of RoIs with a primary vertex in the truth.
    pub fn rois(&self) -> usize {
        self.seen.len()
    }

    /// Returns the number of RoIs without a primary vertex in the truth.
    pub fn without_truth(&self) -> u64 {
        self.without_truth
    }

    /// Returns at most `most` bins with about equal numbers of RoIs. The default is 5 bins with at
    /// least 10 RoIs each. RoIs with equal values are in the same bin. Without RoIs there are no
    /// bins.
    pub fn binning(&self, by: By, most: Option<usize>) -> Binning {
        let mut numbers: Vec<u64> = self.seen.iter().filter_map(|seen| seen.number(by)).collect();
        numbers.sort_unstable();
        let Some(&last) = numbers.last() else { return Binning { by, bins: Vec::new() } };
        let wanted = most.unwrap_or(BINS.min(numbers.len() / ROIS_IN_A_BIN)).clamp(1, numbers.len());
        let mut lows: Vec<u64> = (0..wanted).map(|bin| numbers[bin * numbers.len() / wanted]).collect();
        lows.dedup();
        let highs = lows.iter().skip(1).map(|next| next - 1).chain([last]);
        Binning { by, bins: lows.iter().zip(highs).map(|(&low, high)| Bin { low, high }).collect() }
    }

    /// Returns the figures of all RoIs.
    pub fn figures(&self) -> Figures {
        Figures::new(self.seen.iter())
    }

    /// Returns all figures, also in these bins. Bins of one evaluation may be used for another,
    /// which makes the two comparable: values beyond all bins count in the nearest bin.
    pub fn summary(&self, binning: Option<&Binning>) -> Summary {
        let bins = binning.map_or(Vec::new(), |Binning { by, bins }| {
            let bin_of = |seen: &RoiRecord| {
                let number = seen.number(*by)?;
                Some(bins.partition_point(|bin| bin.low <= number).saturating_sub(1))
            };
            let in_bin = |(number, &bin): (usize, &Bin)| {
                let seen = self.seen.iter().filter(|seen| bin_of(seen) == Some(number));
                let numbers = || seen.clone().filter_map(|seen| seen.number(*by));
                let count = numbers().count();
                let mean = (count > 0).then(|| numbers().sum::<u64>() as f64 / count as f64);
                InBin { bin, mean, figures: Figures::new(seen.clone()) }
            };
            bins.iter().enumerate().map(in_bin).collect()
        });
        Summary {
            without_truth: self.without_truth,
            statuses: self.statuses.clone(),
            figures: self.figures(),
            bins,
            vertices: VertexFigures::new(&self.vertices, &self.seen),
        }
    }

    /// Returns z_1 - t_0 \[mm\] of each RoI where it is within the window, in the order of the
    /// RoIs.
    pub fn residuals(&self) -> impl Iterator<Item = f64> {
        self.seen.iter().filter_map(|seen| seen.residual)
    }
}

/// Returns the number of matched pairs of a found and a true vertex: in the order found, each takes
/// the nearest free true vertex within the distance.
fn matches(result: RoiResult<'_>, truth: &[TruthVertex], within_mm: f64) -> u32 {
    let mut is_free = vec![true; truth.len()];
    let mut matched = 0;
    for vertex in result.vertices().iter() {
        let distance = |index: &usize| (vertex.z_mm - truth[*index].z_mm).abs();
        let near = (0..truth.len()).filter(|index| is_free[*index] && distance(index) < within_mm);
        if let Some(nearest) = near.min_by(|a, b| distance(a).total_cmp(&distance(b))) {
            is_free[nearest] = false;
            matched += 1;
        }
    }
    matched
}

/// Returns the rank of the first vertex over that of the second.
fn rank_ratio(result: RoiResult<'_>) -> Option<f64> {
    let first = result.vertices().first()?;
    Some(result.vertices().get(1).map_or(f64::INFINITY, |second| first.rank / second.rank))
        .filter(|ratio| !ratio.is_nan())
}

/// Returns the known quantities of the primary; `nearest_mm` is the distance of the nearest other
/// true vertex.
fn primary_of(truth: &[TruthVertex], nearest_mm: Option<f64>) -> Primary {
    let vertex = truth.iter().find(|vertex| vertex.is_hard_scatter).copied().unwrap_or_default();
    let thousandths = |value: f64| (1e3 * value).round() as u64;
    Primary {
        tracks: vertex.tracks,
        leading_pt_mev: vertex.leading_pt_gev.map(thousandths),
        sum_pt_mev: vertex.sum_pt2_gev2.map(|squares| thousandths(squares.sqrt())),
        nearest_um: nearest_mm.map(thousandths),
    }
}
