//! The figures of RoIs, and what they are computed from.

use serde::{Deserialize, Serialize};

use super::By;
use super::statistics::{Fraction, Spread};

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
    pub(super) fn new<'a>(seen: impl Iterator<Item = &'a Seen> + Clone) -> Self {
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

/// What is kept of an RoI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// True vertices of the event.
    pub(super) true_vertices: u64,
    pub(super) spacepoints: u64,
    /// z_1 - t_0, where that is within the window.
    pub(super) residual: Option<f64>,
    /// Error of z_1.
    pub(super) z_error_mm: f64,
    pub(super) vertices: u32,
    /// Vertices within the window of the primary.
    pub(super) on_primary: u32,
    /// Vertices within the window of no true vertex.
    pub(super) on_nothing: u32,
    pub(super) isolated: bool,
}

impl Seen {
    fn pull(&self) -> Option<f64> {
        self.residual.filter(|_| self.z_error_mm > 0.0).map(|residual| residual / self.z_error_mm)
    }

    fn on_pile_up(&self) -> u32 {
        self.vertices - self.on_primary - self.on_nothing
    }

    pub(super) fn number(&self, by: By) -> u64 {
        match by {
            By::PileUp => self.true_vertices,
            By::Spacepoints => self.spacepoints,
        }
    }
}
