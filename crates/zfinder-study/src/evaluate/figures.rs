//! The figures of a set of RoIs, and the quantities that they are computed from.

use serde::{Deserialize, Serialize};

use super::By;
use super::all_vertices::{ListCounts, ListFigures};
use super::statistics::{Fraction, Spread, roc_area};

/// The figures that are given for isolated and for close primaries.
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
    fn new<'a>(seen: impl Iterator<Item = &'a RoiRecord> + Clone) -> Self {
        Self {
            first: Fraction::count(seen.clone(), |seen| seen.residual.is_some()),
            any: Fraction::count(seen.clone(), |seen| seen.on_primary > 0),
            split: Fraction::count(seen, |seen| seen.on_primary > 1),
        }
    }
}

/// Figures of merit of the answers for a set of RoIs; [definitions](super#definitions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Number of RoIs with a primary vertex in the truth.
    pub rois: u64,
    /// Number of vertices found in them.
    pub vertices: u64,
    /// Efficiency of the first vertex.
    pub first: Fraction,
    /// Efficiency of any vertex.
    pub any: Fraction,
    /// Residuals of first vertices within the window \[mm\].
    pub residual_mm: Spread,
    /// Residuals over errors.
    pub pull: Spread,
    /// RoIs with at least one false vertex.
    pub false_rois: Fraction,
    /// False vertices among all found.
    pub false_vertices: Fraction,
    /// Pile-up vertices among all found.
    pub pile_up_vertices: Fraction,
    /// RoIs whose primary is split.
    pub split: Fraction,
    /// RoIs whose primary has no true vertex nearby.
    pub isolated: Neighbourhood,
    /// RoIs whose primary has a true vertex nearby.
    pub close: Neighbourhood,
    /// Found vertices that are matched to a true one.
    pub precision: Fraction,
    /// True vertices that are matched to a found one.
    pub recall: Fraction,
    /// Harmonic mean of precision and recall.
    pub f1: Option<f64>,
    /// Mean number of false vertices of an RoI.
    pub false_per_roi: Option<f64>,
    /// Mean position of the first correct vertex in the list, from 1.
    pub position: Option<f64>,
    /// Area under the ROC curve of the significance of first vertices, correct against wrong.
    pub roc_significance: Option<f64>,
    /// The same for the ratio of the ranks of the first and the second vertex.
    pub roc_rank_ratio: Option<f64>,
    /// Figures of the list of all vertices, where truth has numbers of tracks.
    #[serde(default)]
    pub list: ListFigures,
}

/// A figure with its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its name in snake case, its unit included.
    pub name: &'static str,
    /// Label for plots and tables, with unit.
    pub label: &'static str,
    /// Whether it is a [`Fraction`], 0 to 1.
    pub is_fraction: bool,
    /// The value; None if no RoI contributes.
    pub value: Option<f64>,
    /// The interval of 68.3 %, for fractions only.
    pub interval: Option<(f64, f64)>,
}

impl Figures {
    pub(super) fn new<'a>(seen: impl Iterator<Item = &'a RoiRecord> + Clone) -> Self {
        let sum = |count: fn(&RoiRecord) -> u32| seen.clone().map(|seen| u64::from(count(seen))).sum::<u64>();
        let vertices = sum(|seen| seen.vertices);
        let all = Neighbourhood::new(seen.clone());
        let rois = seen.clone().count() as u64;
        let (matched, true_vertices) = (sum(|seen| seen.matched), seen.clone().map(|seen| seen.true_vertices).sum());
        let false_vertices = sum(|seen| seen.on_nothing);
        let mean = |sum: f64, of: u64| (of > 0).then(|| sum / of as f64);
        Self {
            precision: Fraction::new(matched, vertices),
            recall: Fraction::new(matched, true_vertices),
            f1: mean(2.0 * matched as f64, vertices + true_vertices),
            false_per_roi: mean(false_vertices as f64, rois),
            position: mean(sum(|seen| seen.position.unwrap_or(0)) as f64, all.any.passed),
            roc_significance: roc_area(seen.clone().filter_map(RoiRecord::significance).collect()),
            roc_rank_ratio: roc_area(seen.clone().filter_map(RoiRecord::rank_ratio).collect()),
            list: ListFigures::new(seen.clone().map(|seen| &seen.list)),
            rois,
            vertices,
            first: all.first,
            any: all.any,
            residual_mm: Spread::new(seen.clone().filter_map(|seen| seen.residual).collect()),
            pull: Spread::new(seen.clone().filter_map(RoiRecord::pull).collect()),
            false_rois: Fraction::count(seen.clone(), |seen| seen.on_nothing > 0),
            false_vertices: Fraction::new(false_vertices, vertices),
            pile_up_vertices: Fraction::new(sum(RoiRecord::on_pile_up), vertices),
            split: all.split,
            isolated: Neighbourhood::new(seen.clone().filter(|seen| seen.isolated)),
            close: Neighbourhood::new(seen.filter(|seen| !seen.isolated)),
        }
    }

    /// Returns all figures by name, in a fixed order.
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
            fraction("precision", "precision, all true vertices", self.precision),
            fraction("recall", "recall, all true vertices", self.recall),
            number("f1", "F1, all true vertices", self.f1),
            number("false_vertices_per_roi", "false vertices per RoI", self.false_per_roi),
            number("position_mean", "mean position of the right vertex", self.position),
            number("roc_area_significance", "ROC area of the significance", self.roc_significance),
            number("roc_area_rank_ratio", "ROC area of the rank ratio", self.roc_rank_ratio),
            fraction("list_efficiency_1", "found, 1 track or more", self.list.efficiency[0]),
            fraction("list_efficiency_3", "found, 3 tracks or more", self.list.efficiency[1]),
            fraction("list_efficiency_5", "found, 5 tracks or more", self.list.efficiency[2]),
            fraction("list_efficiency_10", "found, 10 tracks or more", self.list.efficiency[3]),
            fraction("list_chance_3", "found by chance, 3 tracks", self.list.chance),
            fraction("list_close_3", "found, 3 tracks, close", self.list.with_neighbour),
            fraction("list_apart_3", "found, 3 tracks, apart", self.list.without_neighbour),
            fraction("list_near_2", "found in 0.17 mm, 2 tracks", self.list.near),
            fraction("list_clean", "clean vertices", self.list.clean),
            fraction("list_merged", "merged vertices", self.list.merged),
            fraction("list_split", "split vertices", self.list.split),
            number("list_fakes_per_roi", "fake vertices per RoI", self.list.fakes_per_roi),
        ]
    }
}

/// Quantities of an RoI that figures need.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoiRecord {
    /// Number of true vertices of the event.
    pub(super) true_vertices: u64,
    pub(super) spacepoints: u64,
    /// z_1 - t_0, if it is within the window.
    pub(super) residual: Option<f64>,
    /// Error of z_1.
    pub(super) z_error_mm: f64,
    pub(super) vertices: u32,
    /// Number of vertices within the window of the primary.
    pub(super) on_primary: u32,
    /// Number of vertices that are within the window of no true vertex.
    pub(super) on_nothing: u32,
    pub(super) isolated: bool,
    /// Number of matched pairs of a found and a true vertex.
    pub(super) matched: u32,
    pub(super) list: ListCounts,
    /// Position of the first correct vertex, from 1.
    pub(super) position: Option<u32>,
    /// Significance of the first vertex, if there is one.
    pub(super) significance: Option<f64>,
    /// Rank of the first vertex over that of the second; infinite without a second vertex.
    pub(super) rank_ratio: Option<f64>,
    pub(super) primary: Primary,
}

/// Quantities of the true primary that figures are binned in, where they are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Primary {
    pub(super) tracks: Option<u64>,
    pub(super) leading_pt_mev: Option<u64>,
    pub(super) sum_pt_mev: Option<u64>,
    pub(super) nearest_um: Option<u64>,
}

impl RoiRecord {
    fn pull(&self) -> Option<f64> {
        self.residual.filter(|_| self.z_error_mm > 0.0).map(|residual| residual / self.z_error_mm)
    }

    /// Returns the significance of the first vertex, and whether the vertex is correct.
    pub(super) fn significance(&self) -> Option<(f64, bool)> {
        self.significance.map(|significance| (significance, self.residual.is_some()))
    }

    /// Returns the rank ratio of the first vertex, and whether the vertex is correct.
    pub(super) fn rank_ratio(&self) -> Option<(f64, bool)> {
        self.rank_ratio.map(|ratio| (ratio, self.residual.is_some()))
    }

    fn on_pile_up(&self) -> u32 {
        self.vertices - self.on_primary - self.on_nothing
    }

    /// Returns the quantity of the bin axis, or None if truth does not have it.
    pub(super) fn number(&self, by: By) -> Option<u64> {
        match by {
            By::PileUp => Some(self.true_vertices),
            By::Spacepoints => Some(self.spacepoints),
            By::Tracks => self.primary.tracks,
            By::LeadingPt => self.primary.leading_pt_mev,
            By::SumPt => self.primary.sum_pt_mev,
            By::Distance => self.primary.nearest_um,
        }
    }
}
