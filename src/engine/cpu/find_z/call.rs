//! One call of find_z, as its stages and the third spacepoints see it.

use std::f64::consts::TAU;

use crate::config::Weighting;
use crate::engine::cpu::column::MOST_LANES;
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::slice_spacepoints::SlicedSpacepoints;
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::records::{TripletCuts, ZScale};

/// One call of find_z.
pub(crate) struct FindZCall<'a, R: Lanes> {
    pub(crate) search: &'a Search,
    pub(crate) plan: &'a RoiPlan,
    pub(crate) sliced: &'a SlicedSpacepoints<R>,
    pub(crate) scale: ZScale<R>,
    pub(crate) cuts: TripletCuts<R>,
    /// A third spacepoint whose z23 differs from z12 by more than this confirms no pair, whatever
    /// the rounding.
    pub(crate) z_apart: R,
    pub(crate) lane_numbers: [R; MOST_LANES],
    /// There are fewer than 2^22 steps to either side of z = 0.
    pub(crate) few_steps: bool,
    /// Entries wait as steps, not as z: there are few steps, and z itself is not summed.
    pub(crate) in_steps: bool,
}

impl<R: Lanes> FindZCall<'_, R> {
    /// Whether pairs weigh by the pT of their tracks.
    pub(crate) fn by_pt(&self) -> bool {
        self.search.config.weighting == Weighting::Pt
    }

    /// Returns the whole turns to add to the phi of a spacepoint in the slice `other`, seen from
    /// the slice `origin` the shorter way round. Both slices may lie beyond the ends of a ring.
    pub(crate) fn turn_between(&self, origin: f64, other: f64) -> R {
        if !self.plan.ring {
            return R::from_f64(0.0);
        }
        let slices = f64::from(self.plan.slices);
        // They do by less than a ring.
        let on_ring = |slice: f64| match slice {
            below if below < 0.0 => below + slices,
            above if above >= slices => above - slices,
            _ => slice,
        };
        let straight = on_ring(other) - on_ring(origin);
        let turns = if 2.0 * straight > slices {
            -1.0
        } else if 2.0 * straight <= -slices {
            1.0
        } else {
            0.0
        };
        R::from_f64(turns * TAU)
    }
}
