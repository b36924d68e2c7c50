//! How good answers are: vertices that were found against the true ones.
//!
//! Give an [`Evaluation`] every [`RoiResult`] with the true vertices of its event; it answers with [`Figures`], of all
//! RoIs and of bins of pile-up or of spacepoints.
//!
//! # Definitions
//!
//! z_1, z_2, ... are the vertices found in an RoI, in their order; t_0 is its true primary vertex (the hard scatter), and
//! t_i are the other true vertices of its event, where truth knows them. w is [`Options::within_mm`].
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
//!
//! An RoI in which nothing was found counts, as one that failed. One without a primary vertex in the truth does not; it
//! is counted apart. Where truth lists the primary vertex only, every vertex of pile-up is a false one.
//!
//! A primary is *isolated* if every t_i of its event is further away than [`Options::isolation_mm`], else *close*. Where
//! two true vertices are nearer to each other than w, one found vertex may stand for both, and two found may be no split:
//! the split rate of isolated primaries is free of that.
//!
//! ```
//! use zfinder_study::evaluate::{Evaluation, Options};
//! use zfinder::{RoiId, RoiResult, Status, Vertex};
//! use zfinder_io::TruthVertex;
//!
//! let vertex = Vertex { z_mm: 12.3, z_error_mm: 0.1, ..Vertex::default() };
//! let id = RoiId { event_id: 0, roi_id: 0 };
//! let result = RoiResult { id, vertices: vec![vertex], status: Status::Ok, spacepoints: 90, outside_window: 0, fallback: false };
//! let mut evaluation = Evaluation::new(Options::default());
//! evaluation.add(&result, &[TruthVertex { z_mm: 12.5, is_hard_scatter: true }]);
//! let figures = evaluation.figures();
//! assert_eq!(figures.first.value, Some(1.0));
//! assert!((figures.pull.mean.unwrap() + 2.0).abs() < 1e-9);
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use zfinder::{RoiResult, Status};
use zfinder_io::{TruthVertex, primary_z};

/// A vertex counts as found if it lies nearer than this to the true one \[mm\], unless said otherwise.
pub const WITHIN_MM: f64 = 1.0;
/// The fraction of a normal distribution within one standard deviation.
const ONE_SIGMA: f64 = 0.682_689_492_137_085_9;
/// Bins, if it is not said how many, and the RoIs that each must have.
const BINS: usize = 5;
const ROIS_IN_A_BIN: usize = 10;

/// What counts as near.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Options {
    /// A found vertex belongs to a true one if it is nearer than this \[mm\]; 1.
    pub within_mm: f64,
    /// A primary is isolated if the other true vertices are further away than this \[mm\]; 10.
    pub isolation_mm: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { within_mm: WITHIN_MM, isolation_mm: 10.0 }
    }
}

/// What figures are shown against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// True vertices of the event, the primary among them.
    PileUp,
    /// Spacepoints that took part in the search.
    Spacepoints,
}

impl By {
    /// The word that files show.
    pub fn as_str(self) -> &'static str {
        match self {
            By::PileUp => "pile-up",
            By::Spacepoints => "spacepoints",
        }
    }

    /// What its numbers count, for people.
    pub fn label(self) -> &'static str {
        match self {
            By::PileUp => "true vertices",
            By::Spacepoints => "spacepoints",
        }
    }
}

/// RoIs whose pile-up or spacepoints lie in a range, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Least number.
    pub low: u64,
    /// Largest number.
    pub high: u64,
}

/// Bins that follow one another, upwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binning {
    /// What is binned.
    pub by: By,
    /// The bins.
    pub bins: Vec<Bin>,
}

/// How often something was so, with what n tries say of its probability: the Wilson score interval of one standard
/// deviation (68.3 %; E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209). With p = passed / n it is
///
/// ```text
/// (p + 1/2n -+ sqrt(p (1 - p) / n + 1/4n^2)) / (1 + 1/n)
/// ```
///
/// so that 0 and all of n have an error too. Vertices are counted as if those of an RoI did not depend on one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fraction {
    /// How often it was so.
    pub passed: u64,
    /// Out of how many.
    pub of: u64,
    /// The fraction; none out of none.
    pub value: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

impl Fraction {
    fn new(passed: u64, of: u64) -> Self {
        if of == 0 {
            return Self::default();
        }
        let (n, p) = (of as f64, passed as f64 / of as f64);
        let (middle, half) = (p + 0.5 / n, (p * (1.0 - p) / n + 0.25 / (n * n)).sqrt());
        let end = |end: f64| end / (1.0 + 1.0 / n);
        // At 0 and 1 an end is p itself, but for rounding.
        let (low, high) = (end(middle - half).clamp(0.0, p), end(middle + half).clamp(p, 1.0));
        Self { passed, of, value: Some(p), low: Some(low), high: Some(high) }
    }

    fn count<T>(all: impl IntoIterator<Item = T>, is_so: impl Fn(T) -> bool) -> Self {
        let (passed, of) = all.into_iter().fold((0, 0), |(passed, of), one| (passed + u64::from(is_so(one)), of + 1));
        Self::new(passed, of)
    }
}

/// How numbers are spread. None where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub number: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Root of the mean of their squares: about 0, not about the mean.
    pub rms: Option<f64>,
    /// Standard deviation about the mean: the root of the mean of (x - mean)^2.
    pub std: Option<f64>,
    /// The least h such that 68.3 % of them at least have \|x\| <= h: what rms is of a normal distribution, and blind to
    /// its tails.
    pub width_68: Option<f64>,
}

impl Spread {
    fn new(mut numbers: Vec<f64>) -> Self {
        if numbers.is_empty() {
            return Self::default();
        }
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let square = |about: f64| (numbers.iter().map(|x| (x - about).powi(2)).sum::<f64>() / n).sqrt();
        let (rms, std) = (square(0.0), square(mean));
        numbers.iter_mut().for_each(|x| *x = x.abs());
        numbers.sort_by(f64::total_cmp);
        let width_68 = numbers[((ONE_SIGMA * n).ceil() as usize).clamp(1, numbers.len()) - 1];
        Self {
            number: numbers.len() as u64,
            mean: Some(mean),
            rms: Some(rms),
            std: Some(std),
            width_68: Some(width_68),
        }
    }
}

/// The figures that tell isolated primaries from close ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbourhood {
    /// First vertex within the window.
    pub first: Fraction,
    /// Any vertex within the window.
    pub any: Fraction,
    /// Two or more vertices within the window.
    pub split: Fraction,
}

impl Neighbourhood {
    fn new<'a>(seen: impl Iterator<Item = &'a Seen> + Clone) -> Self {
        Self {
            first: Fraction::count(seen.clone(), |seen| seen.residual.is_some()),
            any: Fraction::count(seen.clone(), |seen| seen.on_primary > 0),
            split: Fraction::count(seen, |seen| seen.on_primary > 1),
        }
    }
}

/// How good the answers for some RoIs are; [defined above](self#definitions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// RoIs with a primary vertex in the truth.
    pub rois: u64,
    /// Vertices found in them.
    pub vertices: u64,
    /// Efficiency of the first vertex.
    pub first: Fraction,
    /// Efficiency of any vertex.
    pub any: Fraction,
    /// Residuals of first vertices within the window \[mm\].
    pub residual_mm: Spread,
    /// Residuals over errors.
    pub pull: Spread,
    /// RoIs with a false vertex.
    pub false_rois: Fraction,
    /// Vertices that are false.
    pub false_vertices: Fraction,
    /// Vertices that are of pile-up.
    pub pile_up_vertices: Fraction,
    /// RoIs whose primary is split.
    pub split: Fraction,
    /// Those with no true vertex near the primary.
    pub isolated: Neighbourhood,
    /// Those with one near the primary.
    pub close: Neighbourhood,
}

/// One figure by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its name in snake case, its unit included.
    pub name: &'static str,
    /// Words for people, its unit included.
    pub label: &'static str,
    /// Whether it is a [`Fraction`], 0 to 1.
    pub is_fraction: bool,
    /// Its value; none where no RoI says anything of it.
    pub value: Option<f64>,
    /// The ends of its interval of 68.3 %; of fractions only.
    pub interval: Option<(f64, f64)>,
}

impl Figures {
    fn new<'a>(seen: impl Iterator<Item = &'a Seen> + Clone) -> Self {
        let sum = |count: fn(&Seen) -> u32| seen.clone().map(|seen| u64::from(count(seen))).sum::<u64>();
        let vertices = sum(|seen| seen.vertices);
        let all = Neighbourhood::new(seen.clone());
        Self {
            rois: seen.clone().count() as u64,
            vertices,
            first: all.first,
            any: all.any,
            residual_mm: Spread::new(seen.clone().filter_map(|seen| seen.residual).collect()),
            pull: Spread::new(seen.clone().filter_map(Seen::pull).collect()),
            false_rois: Fraction::count(seen.clone(), |seen| seen.on_nothing > 0),
            false_vertices: Fraction::new(sum(|seen| seen.on_nothing), vertices),
            pile_up_vertices: Fraction::new(sum(Seen::on_pile_up), vertices),
            split: all.split,
            isolated: Neighbourhood::new(seen.clone().filter(|seen| seen.isolated)),
            close: Neighbourhood::new(seen.filter(|seen| !seen.isolated)),
        }
    }

    /// All of them by name, in a fixed order.
    pub fn named(&self) -> Vec<Figure> {
        let fraction = |name, label, Fraction { value, low, high, .. }: Fraction| Figure {
            name,
            label,
            is_fraction: true,
            value,
            interval: low.zip(high),
        };
        let number = |name, label, value| Figure { name, label, is_fraction: false, value, interval: None };
        vec![
            fraction("efficiency_first", "first vertex right", self.first),
            fraction("efficiency_any", "any vertex right", self.any),
            number("residual_mean_mm", "residual mean, mm", self.residual_mm.mean),
            number("residual_rms_mm", "residual rms, mm", self.residual_mm.rms),
            number("residual_width_68_mm", "residual 68 % width, mm", self.residual_mm.width_68),
            number("pull_mean", "pull mean", self.pull.mean),
            number("pull_width", "pull width", self.pull.std),
            number("pull_width_68", "pull 68 % width", self.pull.width_68),
            fraction("false_rois", "RoIs with a false vertex", self.false_rois),
            fraction("false_vertices", "vertices that are false", self.false_vertices),
            fraction("pile_up_vertices", "vertices of pile-up", self.pile_up_vertices),
            fraction("split", "split", self.split),
            fraction("isolated_efficiency_first", "isolated: first vertex right", self.isolated.first),
            fraction("isolated_efficiency_any", "isolated: any vertex right", self.isolated.any),
            fraction("isolated_split", "isolated: split", self.isolated.split),
            fraction("close_efficiency_first", "close: first vertex right", self.close.first),
            fraction("close_efficiency_any", "close: any vertex right", self.close.any),
            fraction("close_split", "close: split", self.close.split),
        ]
    }
}

/// The figures of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct InBin {
    /// The bin.
    #[serde(flatten)]
    pub bin: Bin,
    /// Its figures.
    pub figures: Figures,
}

/// All that an [`Evaluation`] has to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// RoIs that were left out, for truth has no primary vertex of them.
    pub without_truth: u64,
    /// RoIs by the word of their status ([`Status::as_str`]), those without truth left out.
    pub statuses: BTreeMap<&'static str, u64>,
    /// Of all RoIs with truth.
    pub figures: Figures,
    /// Bin by bin.
    pub bins: Vec<InBin>,
}

/// What is kept of an RoI.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// True vertices of the event.
    true_vertices: u64,
    spacepoints: u64,
    /// z_1 - t_0, where that is within the window.
    residual: Option<f64>,
    /// Error of z_1.
    z_error_mm: f64,
    vertices: u32,
    /// Vertices within the window of the primary.
    on_primary: u32,
    /// Vertices within the window of no true vertex.
    on_nothing: u32,
    isolated: bool,
}

impl Seen {
    fn pull(&self) -> Option<f64> {
        self.residual.filter(|_| self.z_error_mm > 0.0).map(|residual| residual / self.z_error_mm)
    }

    fn on_pile_up(&self) -> u32 {
        self.vertices - self.on_primary - self.on_nothing
    }

    fn number(&self, by: By) -> u64 {
        match by {
            By::PileUp => self.true_vertices,
            By::Spacepoints => self.spacepoints,
        }
    }
}

/// Compares answers with truth, RoI by RoI. It keeps some 60 bytes of each: widths and bins need them all.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    options: Options,
    seen: Vec<Seen>,
    statuses: BTreeMap<&'static str, u64>,
    without_truth: u64,
}

impl Evaluation {
    /// With no RoI in it.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Takes an answer, and all true vertices that are known of its event
    /// ([`TruthTable::vertices`](zfinder_io::TruthTable::vertices)).
    pub fn add(&mut self, result: &RoiResult, truth: &[TruthVertex]) {
        let Some(primary) = primary_z(truth) else {
            self.without_truth += 1;
            return;
        };
        let within = |z: f64, true_z: f64| (z - true_z).abs() < self.options.within_mm;
        let count = |is_so: &dyn Fn(f64) -> bool| result.vertices.iter().filter(|vertex| is_so(vertex.z_mm)).count();
        let first = result.vertices.first().filter(|vertex| within(vertex.z_mm, primary));
        let mut others = truth.iter().filter(|vertex| !vertex.is_hard_scatter);
        self.seen.push(Seen {
            true_vertices: truth.len() as u64,
            spacepoints: result.spacepoints as u64,
            residual: first.map(|vertex| vertex.z_mm - primary),
            z_error_mm: first.map_or(0.0, |vertex| vertex.z_error_mm),
            vertices: result.vertices.len() as u32,
            on_primary: count(&|z| within(z, primary)) as u32,
            on_nothing: count(&|z| !truth.iter().any(|vertex| within(z, vertex.z_mm))) as u32,
            isolated: others.all(|other| (other.z_mm - primary).abs() > self.options.isolation_mm),
        });
        *self.statuses.entry(Status::as_str(result.status)).or_default() += 1;
    }

    /// RoIs with a primary vertex in the truth.
    pub fn rois(&self) -> usize {
        self.seen.len()
    }

    /// RoIs without.
    pub fn without_truth(&self) -> u64 {
        self.without_truth
    }

    /// Bins of about as many RoIs each, `most` at most; if none is asked for 5, with 10 RoIs or more in each. RoIs of the
    /// same number are in the same bin. Without RoIs there are no bins.
    pub fn binning(&self, by: By, most: Option<usize>) -> Binning {
        let mut numbers: Vec<u64> = self.seen.iter().map(|seen| seen.number(by)).collect();
        numbers.sort_unstable();
        let Some(&last) = numbers.last() else { return Binning { by, bins: Vec::new() } };
        let wanted = most.unwrap_or(BINS.min(numbers.len() / ROIS_IN_A_BIN)).clamp(1, numbers.len());
        let mut lows: Vec<u64> = (0..wanted).map(|bin| numbers[bin * numbers.len() / wanted]).collect();
        lows.dedup();
        let highs = lows.iter().skip(1).map(|next| next - 1).chain([last]);
        Binning { by, bins: lows.iter().zip(highs).map(|(&low, high)| Bin { low, high }).collect() }
    }

    /// The figures of all RoIs.
    pub fn figures(&self) -> Figures {
        Figures::new(self.seen.iter())
    }

    /// All figures, also in these bins. Bins of one evaluation may be used in another, so that the two can be compared:
    /// what lies beyond them is in the nearest.
    pub fn summary(&self, binning: Option<&Binning>) -> Summary {
        let bins = binning.map_or(Vec::new(), |Binning { by, bins }| {
            let bin_of = |seen: &Seen| bins.partition_point(|bin| bin.low <= seen.number(*by)).saturating_sub(1);
            let in_bin = |(number, &bin): (usize, &Bin)| {
                let seen = self.seen.iter().filter(|seen| bin_of(seen) == number);
                InBin { bin, figures: Figures::new(seen) }
            };
            bins.iter().enumerate().map(in_bin).collect()
        });
        Summary { without_truth: self.without_truth, statuses: self.statuses.clone(), figures: self.figures(), bins }
    }

    /// z_1 - t_0 \[mm\] of every RoI where that is within the window, in the order of the RoIs.
    pub fn residuals(&self) -> impl Iterator<Item = f64> {
        self.seen.iter().filter_map(|seen| seen.residual)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;
    use zfinder::RoiId;
    use zfinder::Vertex;

    /// An answer of vertices (z, error).
    fn answer(vertices: &[(f64, f64)], spacepoints: usize) -> RoiResult {
        let vertex = |&(z_mm, z_error_mm): &(f64, f64)| Vertex { z_mm, z_error_mm, ..Vertex::default() };
        RoiResult {
            id: RoiId { event_id: 0, roi_id: 0 },
            vertices: vertices.iter().map(vertex).collect(),
            status: if vertices.is_empty() { Status::NoPeak } else { Status::Ok },
            spacepoints,
            outside_window: 3,
            fallback: false,
        }
    }

    /// The primary vertex first, though it need not be.
    fn truth(z: &[f64]) -> Vec<TruthVertex> {
        let vertex = |(number, &z_mm): (usize, &f64)| TruthVertex { z_mm, is_hard_scatter: number == 0 };
        z.iter().enumerate().map(vertex).rev().collect()
    }

    fn six() -> Evaluation {
        let mut evaluation = Evaluation::new(Options::default());
        // Right, with a vertex of pile-up and a false one.
        evaluation.add(&answer(&[(10.2, 0.1), (30.4, 0.1), (50.0, 0.1)], 100), &truth(&[10.0, 30.0, 31.5]));
        // Pile-up first; close.
        evaluation.add(&answer(&[(5.1, 0.1), (-0.4, 0.2)], 200), &truth(&[0.0, 5.0]));
        // Split.
        evaluation.add(&answer(&[(-20.3, 0.1), (-19.5, 0.1)], 300), &truth(&[-20.0]));
        // Nothing found; close, for the other is not further away than 10 mm.
        evaluation.add(&answer(&[], 5), &truth(&[7.0, 17.0]));
        // False, for it is not nearer than 1 mm.
        evaluation.add(&answer(&[(2.0, 0.1)], 400), &truth(&[1.0, 40.0]));
        // Right, without an error.
        evaluation.add(&answer(&[(1.5, 0.0)], 500), &truth(&[1.0]));
        evaluation
    }

    fn counts(fraction: Fraction) -> (u64, u64) {
        (fraction.passed, fraction.of)
    }

    #[test]
    fn figures_are_those_of_the_definitions() {
        let mut evaluation = six();
        let of_pile_up = [TruthVertex { z_mm: 0.0, is_hard_scatter: false }];
        for without_primary in [&[][..], &of_pile_up] {
            evaluation.add(&answer(&[(0.0, 0.1)], 1), without_primary);
        }
        let summary = evaluation.summary(None);
        assert_eq!((evaluation.rois(), summary.without_truth), (6, 2));
        assert_eq!(summary.statuses, BTreeMap::from([("ok", 5), ("no_peak", 1)]));
        let figures = summary.figures;
        assert_eq!((figures.rois, figures.vertices), (6, 9));
        assert_eq!([figures.first, figures.any, figures.split].map(counts), [(3, 6), (4, 6), (1, 6)]);
        assert_eq!([figures.false_rois, figures.false_vertices].map(counts), [(2, 6), (2, 9)]);
        assert_eq!(counts(figures.pile_up_vertices), (2, 9));
        let isolated = figures.isolated;
        assert_eq!([isolated.first, isolated.any, isolated.split].map(counts), [(3, 4), (3, 4), (1, 4)]);
        let close = figures.close;
        assert_eq!([close.first, close.any, close.split].map(counts), [(0, 2), (1, 2), (0, 2)]);

        let residual = figures.residual_mm;
        let some = |value: Option<f64>| value.expect("a value");
        assert_eq!(residual.number, 3);
        assert_abs_diff_eq!(some(residual.mean), 0.4 / 3.0, epsilon = 1e-12);
        assert_abs_diff_eq!(some(residual.rms), (0.38_f64 / 3.0).sqrt(), epsilon = 1e-12);
        assert_abs_diff_eq!(some(residual.width_68), 0.5, epsilon = 1e-12);
        let pull = figures.pull;
        assert_eq!(pull.number, 2, "none without an error");
        assert_abs_diff_eq!(some(pull.mean), -0.5, epsilon = 1e-9);
        assert_abs_diff_eq!(some(pull.std), 2.5, epsilon = 1e-9);
        assert_abs_diff_eq!(some(pull.rms), 6.5_f64.sqrt(), epsilon = 1e-9);
        assert_abs_diff_eq!(some(pull.width_68), 3.0, epsilon = 1e-9);
    }

    #[test]
    fn lengths_are_options() {
        let mut evaluation = Evaluation::new(Options { within_mm: 0.25, isolation_mm: 3.0 });
        evaluation.add(&answer(&[(0.2, 0.1)], 1), &truth(&[0.0, 5.0]));
        evaluation.add(&answer(&[(0.3, 0.1)], 1), &truth(&[0.0, 2.0]));
        let figures = evaluation.figures();
        assert_eq!([figures.first, figures.isolated.first, figures.close.first].map(counts), [(1, 2), (1, 1), (0, 1)]);
    }

    #[test]
    fn where_truth_has_no_pile_up_its_vertices_are_false_and_all_primaries_isolated() {
        let mut evaluation = Evaluation::new(Options::default());
        evaluation.add(&answer(&[(0.2, 0.1), (5.0, 0.1)], 1), &truth(&[0.0]));
        let figures = evaluation.figures();
        assert_eq!([figures.false_vertices, figures.pile_up_vertices].map(counts), [(1, 2), (0, 2)]);
        assert_eq!([figures.isolated.first, figures.close.first].map(counts), [(1, 1), (0, 0)]);
        assert_eq!(figures.close.first.value, None);
    }

    #[test]
    fn nothing_gives_no_figure() {
        let evaluation = Evaluation::new(Options::default());
        assert!(evaluation.figures().named().iter().all(|figure| figure.value.is_none() && figure.interval.is_none()));
        assert_eq!(evaluation.binning(By::PileUp, Some(3)).bins, []);
    }

    #[test]
    fn intervals_are_wilsons() {
        for (passed, of) in [(0, 4), (1, 1), (8, 10), (3, 1000), (1000, 1000)] {
            let Fraction { value: Some(p), low: Some(low), high: Some(high), .. } = Fraction::new(passed, of) else {
                panic!("{passed} of {of}");
            };
            assert!(0.0 <= low && low <= p && p <= high && high <= 1.0, "{passed} of {of}: {low} {high}");
            // p is one standard deviation of the true probability away from either end.
            for end in [low, high] {
                assert_abs_diff_eq!((p - end).powi(2), end * (1.0 - end) / of as f64, epsilon = 1e-12);
            }
        }
        assert_eq!((Fraction::new(0, 4).low, Fraction::new(4, 4).high), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn widths_hold_68_percent() {
        let spread = Spread::new((1..=100).map(|x| f64::from(x) * if x % 2 == 0 { 1.0 } else { -1.0 }).collect());
        assert_eq!((spread.number, spread.width_68), (100, Some(69.0)));
        let ones = Spread::new([1.0, -1.0].repeat(50));
        assert_eq!((ones.mean, ones.std, ones.rms, ones.width_68), (Some(0.0), Some(1.0), Some(1.0), Some(1.0)));
        let tail = Spread::new([vec![0.1; 90], vec![9.0; 10]].concat());
        assert_eq!(tail.width_68, Some(0.1));
    }

    #[test]
    fn bins_hold_as_many_rois_each() {
        let evaluation = six();
        let bin = |low, high| Bin { low, high };
        let bins = |by, most| evaluation.binning(by, most).bins;
        assert_eq!(bins(By::PileUp, None), [bin(1, 3)], "few RoIs, one bin");
        // 1, 1, 2, 2, 2, 3 true vertices: equal numbers stay together.
        assert_eq!(bins(By::PileUp, Some(2)), [bin(1, 1), bin(2, 3)]);
        assert_eq!(bins(By::PileUp, Some(99)), [bin(1, 1), bin(2, 2), bin(3, 3)]);
        assert_eq!(bins(By::Spacepoints, Some(3)), [bin(5, 199), bin(200, 399), bin(400, 500)]);
        let binning = evaluation.binning(By::Spacepoints, Some(3));
        let first = |evaluation: &Evaluation| {
            let bins = evaluation.summary(Some(&binning)).bins;
            bins.iter().map(|bin| counts(bin.figures.first)).collect::<Vec<_>>()
        };
        assert_eq!(first(&evaluation), [(1, 2), (1, 2), (1, 2)]);
        // What is beyond them is in the nearest.
        let mut other = Evaluation::new(Options::default());
        other.add(&answer(&[(0.0, 0.1)], 1), &truth(&[0.0]));
        other.add(&answer(&[(0.0, 0.1)], 9999), &truth(&[0.0]));
        assert_eq!(first(&other), [(1, 1), (0, 0), (1, 1)]);

        let mut many = Evaluation::new(Options::default());
        (0..100).for_each(|number| many.add(&answer(&[], number), &truth(&[0.0])));
        let fives: Vec<Bin> = (0..5).map(|number| bin(20 * number, 20 * number + 19)).collect();
        assert_eq!(many.binning(By::Spacepoints, None).bins, fives);
    }
}
