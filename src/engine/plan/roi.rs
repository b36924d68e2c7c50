//! The plan of one RoI, and the counts of its spacepoints.

use crate::config::Config;
use crate::engine::real::Real;
use crate::engine::records::{RoiWords, ZScale};
use crate::histogram::OFFSET_STEPS;
use crate::results::{Results, RoiSummary, Status};
use crate::spacepoint::RoiDescriptor;
use crate::vertex::Vertex;
use crate::z_bins::ZBins;

/// One RoI's window and bins.
#[derive(Clone, Debug)]
pub(crate) struct RoiPlan {
    pub(crate) descriptor: RoiDescriptor,
    pub(crate) bins: ZBins,
    pub(crate) slices: u32,
    /// Slices at both ends are neighbours.
    pub(crate) ring: bool,
    pub(crate) endcap_shift: i32,
    /// Histograms of the RoI: one for each charge and each slice, if asked for.
    pub(crate) histograms: u32,
    /// The number of windows of three bins, those with the lowest sums, whose mean is the
    /// background.
    pub(crate) background_windows: u32,
    /// Lower edge and width of the phi window \[rad\].
    pub(super) phi_min: f64,
    pub(super) width: f64,
    /// Spacepoints, inside the window or not.
    pub(crate) spacepoints: usize,
    /// The search for the window met an invalid spacepoint.
    pub(super) bad: bool,
}

/// Counts of an RoI's spacepoints, or why none was packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackSummary {
    pub(crate) kept: usize,
    pub(crate) outside: usize,
    /// One is invalid, so none is packed.
    pub(crate) bad: bool,
    /// One lies outside the range of the encoding: the RoI has to be packed in another one.
    pub(crate) too_far: bool,
}

impl RoiPlan {
    /// Returns whether the RoI is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.spacepoints == 0 || self.bad
    }

    /// Returns the counts of an RoI with nothing to search.
    pub(crate) fn nothing_packed(&self) -> PackSummary {
        PackSummary { bad: self.bad, ..PackSummary::default() }
    }

    pub(crate) fn z_scale<R: Real>(&self) -> ZScale<R> {
        ZScale {
            z_min: R::from_f64(self.bins.z_min),
            z_max: R::from_f64(self.bins.z_max),
            steps_per_mm: R::from_f64(f64::from(OFFSET_STEPS) / self.bins.width),
            steps_at_0: R::from_f64((0.5 - self.bins.offset) * f64::from(OFFSET_STEPS)),
        }
    }

    /// Whether the histograms exceed [`Config::MOST_BINS_OF_ALL`].
    pub(crate) fn is_too_much(&self) -> bool {
        u64::from(self.histograms) * u64::from(self.bins.bins) > Config::MOST_BINS_OF_ALL
    }

    /// The words of the RoI's record that do not depend on where its data lie in a batch.
    pub(crate) fn words(&self) -> RoiWords {
        RoiWords {
            spacepoint_count: self.spacepoints as u32,
            slices: self.slices,
            ring: u32::from(self.ring),
            endcap_shift: self.endcap_shift,
            bins: self.bins.bins,
            half: self.bins.half,
            background_windows: self.background_windows,
            ..RoiWords::default()
        }
    }

    /// Appends the result: these vertices, or the status that explains an empty list.
    pub(crate) fn report(
        &self,
        packed: PackSummary,
        vertices: &[Vertex],
        capacity_exceeded: bool,
        results: &mut Results,
    ) {
        let status = if packed.bad {
            Status::BadSpacepoint
        } else if capacity_exceeded {
            Status::CapacityExceeded
        } else if packed.kept == 0 {
            Status::Empty
        } else if vertices.is_empty() {
            Status::NoPeak
        } else {
            Status::Ok
        };
        let summary = RoiSummary {
            id: self.descriptor.id,
            status,
            spacepoints: packed.kept as u64,
            outside_window: packed.outside as u64,
            is_fallback: false,
        };
        let vertices = if status == Status::Ok { vertices } else { &[] };
        results.push(summary, vertices.iter().copied());
    }
}
