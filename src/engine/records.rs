//! Records that Rust and WGSL share, as `shaders/shared/types.wgsl` has them. A test compares the
//! layouts with those of naga.

use bytemuck::{Pod, Zeroable};

/// Constants of one RoI for cuts and binning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ZScale<R> {
    pub(crate) z_min: R,
    pub(crate) z_max: R,
    /// Fixed-point steps per mm, [`crate::engine::histogram::OFFSET_STEPS`] a bin.
    pub(crate) steps_per_mm: R,
    /// Steps of z = 0 above the first bin's lower edge.
    pub(crate) steps_at_0: R,
}

/// Cuts on triplets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TripletCuts<R> {
    pub(crate) dz: R,
    pub(crate) dk: R,
    pub(crate) dp: R,
    /// pT over curvature: 0.0003 B \[GeV mm\].
    pub(crate) gev_mm: R,
    /// Of [`PtWeight`](crate::config::PtWeight): the cut on z in layers of strips, what is added to
    /// the curvature, and the weight of a GeV^2.
    pub(crate) strip_dz: R,
    pub(crate) resolution_mm: R,
    pub(crate) per_gev2: R,
}

/// Whole numbers of one RoI, as `Roi` in `shaders/shared/types.wgsl` has them after its `z`
/// numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct RoiWords {
    pub(crate) spacepoint_first: u32,
    pub(crate) spacepoint_count: u32,
    /// First word of the cells.
    pub(crate) cell_first: u32,
    pub(crate) slices: u32,
    /// 1: slices at both ends are neighbours.
    pub(crate) ring: u32,
    pub(crate) endcap_shift: i32,
    pub(crate) bins: u32,
    /// The middle bin.
    pub(crate) half: u32,
    /// First row of find_z's histograms, and how many.
    pub(crate) histogram_first: u32,
    pub(crate) histogram_count: u32,
    /// First row of sum_histos's first stage, and how many.
    pub(crate) partial_first: u32,
    pub(crate) partial_count: u32,
    /// Windows of the lowest sums that are background.
    pub(crate) background_windows: u32,
    /// First of its own histograms, and how many.
    pub(crate) total_first: u32,
    pub(crate) totals: u32,
    pub(crate) padding: u32,
}

/// Declares the records that depend on the number type: reals first, then words, no padding but
/// what is written here.
macro_rules! records {
    ($real:ident, $Spacepoint:ident, $Stored:ident, $Roi:ident, $Cuts:ident, $pad:expr) => {
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
        pub(crate) struct $Spacepoint {
            pub(crate) rho: $real,
            pub(crate) phi: $real,
            pub(crate) z: $real,
            /// slice << 8 | layer
            pub(crate) slice_layer: u32,
            pub(crate) padding: [u32; $pad],
        }

        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
        pub(crate) struct $Stored {
            pub(crate) x: $real,
            pub(crate) word: u32,
            pub(crate) padding: [u32; $pad],
        }

        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
        pub(crate) struct $Roi {
            pub(crate) z_min: $real,
            pub(crate) z_max: $real,
            pub(crate) steps_per_mm: $real,
            pub(crate) steps_at_0: $real,
            pub(crate) words: RoiWords,
        }

        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
        pub(crate) struct $Cuts {
            pub(crate) dz: $real,
            pub(crate) dk: $real,
            pub(crate) dp: $real,
            pub(crate) gev_mm: $real,
            pub(crate) strip_dz: $real,
            pub(crate) resolution_mm: $real,
            pub(crate) per_gev2: $real,
        }
    };
}

records!(f32, SpacepointF32, StoredF32, RoiF32, CutsF32, 0);
records!(f64, SpacepointF64, StoredF64, RoiF64, CutsF64, 1);

/// `Params` in `shaders/shared/types.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Params {
    pub(crate) layers: u32,
    pub(crate) inner_layers: u32,
    pub(crate) slices_per_histogram: u32,
    pub(crate) share: u32,
    pub(crate) lanes_shift: u32,
    pub(crate) row_first: u32,
    pub(crate) rows: u32,
    pub(crate) row_bins: u32,
    pub(crate) peaks: u32,
    pub(crate) least_weight: u32,
    pub(crate) prefer_central: u32,
    pub(crate) stage: u32,
    pub(crate) row_lanes_shift: u32,
    pub(crate) total_parts: u32,
}

/// `Sums` in `shaders/shared/types.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Sums {
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) windows: u32,
    pub(crate) threshold: u32,
    pub(crate) digits: [u32; 256],
}

/// `Window` in `shaders/find_peaks/windows.wgsl`: sum, distance from the middle, first bin.
pub(crate) type Window = [u32; 3];

/// `RoiStatus` in `shaders/shared/types.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct RoiStatus {
    pub(crate) flags: u32,
    pub(crate) rows: u32,
}

/// A peak as the stages find it: three neighbouring bins, as words.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Peak {
    /// The middle bin, or [`Peak::NONE`].
    pub(crate) bin: u32,
    pub(crate) n: [u32; 3],
    pub(crate) z: [u32; 3],
    /// Pairs, whatever their weight.
    pub(crate) pairs: [u32; 3],
    /// The sum of n; where weights go by pT, the bits of
    /// [`PtWeight::rank`](crate::config::PtWeight::rank).
    pub(crate) rank: u32,
    /// Where weights go by pT, the pairs that z is the mean of; else zero.
    pub(crate) cluster: Cluster,
    /// Failure flags of the RoI, in its first peak, on the GPU only.
    pub(crate) flags: u32,
    /// In the first of an RoI's peaks.
    pub(crate) background: Background,
}

/// The densest pairs near a peak whose weights go by pT: `Cluster` in `shaders/shared/types.wgsl`.
///
/// The weight of a hard track's pair reaches a thousand, but its z is no better. A displaced track
/// may be the hardest. z is therefore the mean of the pairs in the cluster, weighted by the
/// precision of their layers. The search covers the five bins about the peak's middle bin, in
/// windows of five parts of a bin. The window with the largest sum of precisions wins; ties go to
/// the largest sum in 13 parts, then to the window nearest to the middle. A window of 13 parts
/// about the mean is moved to its own mean once: the cluster.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Cluster {
    /// The first part of the window, counted from the first one of the five bins.
    pub(crate) first: u32,
    /// Sum of the pairs' precisions.
    pub(crate) weight: u32,
    /// Sum over the pairs of precision times part, counted from `first` on, and times its square.
    pub(crate) sum: u32,
    pub(crate) squares: u32,
    /// Sectors of phi with soft tracks in the bins that the window touches: independent directions.
    pub(crate) directions: u32,
    /// Sum of the precisions in all five bins.
    pub(crate) around: u32,
}

/// Sums of windows of three bins that are background, added: `Background` in
/// `shaders/shared/types.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Background {
    /// Words of the sum of so many windows, whose own sums are below the threshold.
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) windows: u32,
    /// The sum of each of the others.
    pub(crate) threshold: u32,
}
