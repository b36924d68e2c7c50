//! The number type of the arithmetic (the thesis's `real` switch), and the records that depend on
//! it.

use std::ops::{Add, Div, Mul, Sub};

use bytemuck::{Pod, Zeroable};

use crate::pt_weight::PtWeight;

/// Constants of one RoI for cuts and binning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ZScale<R> {
    pub(crate) z_min: R,
    pub(crate) z_max: R,
    /// Fixed-point steps per mm, [`crate::histogram::OFFSET_STEPS`] a bin.
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

/// Whole numbers of one RoI, as `Roi` in `shaders/types.wgsl` has them after its `z` numbers.
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

/// f32 or f64, with the records that shaders know under the same names.
pub(crate) trait Real:
    Pod
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// `Packed` in `shaders/encoding/lossless.wgsl`.
    type Spacepoint: Pod + PartialEq + Send + Sync;
    /// `Stored` in `shaders/real/*.wgsl`.
    type Stored: Pod + Send + Sync;
    /// `Roi` in `shaders/types.wgsl`.
    type Roi: Pod + Send + Sync;
    /// `Cuts` in `shaders/types.wgsl`.
    type Cuts: Pod + Send + Sync;

    fn of(value: f64) -> Self;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
    /// Of a whole number.
    fn to_i32(self) -> i32;
    fn abs(self) -> Self;

    /// `slice_layer`: slice << 8 | layer, or [`DROPPED`](crate::engine::encoding::DROPPED).
    fn spacepoint(rho: Self, phi: Self, z: Self, slice_layer: u32) -> Self::Spacepoint;
    /// rho, phi, z and `slice_layer`.
    fn fields(spacepoint: &Self::Spacepoint) -> ([Self; 3], u32);
    /// The number and the word.
    #[cfg(test)]
    fn stored(stored: &Self::Stored) -> (Self, u32);
    /// The whole number below `scale * self + offset`, which is not negative; `offset` is whole.
    /// `whole_steps` in `shaders/real/*.wgsl`.
    fn whole_steps(self, scale: Self, offset: Self) -> u32;
    fn roi(scale: ZScale<Self>, words: RoiWords) -> Self::Roi;
    /// Takes an RoI's spacepoints out of the search.
    fn leave_out(roi: &mut Self::Roi);
    fn cuts(cuts: TripletCuts<Self>) -> Self::Cuts;
}

/// The weight of a pair as all engines that compute in `R` round it: beside a half, a last digit
/// decides. `shaders/confirmations/pt.wgsl`.
pub(crate) fn weight_in<R: Real>(pt_weight: &PtWeight) -> u32 {
    pt_weight.weight_by(|pt| {
        let pt = R::of(pt);
        (pt * pt * R::of(PtWeight::PER_GEV2) + R::of(0.5)).to_f64() as u32
    })
}

/// Records as the shaders lay them out: reals first, then words, no padding but what is written
/// here.
macro_rules! records {
    ($real:ident, $Spacepoint:ident, $Stored:ident, $Roi:ident, $Cuts:ident, $pad:expr, $whole:expr) => {
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
        pub(crate) struct $Spacepoint {
            rho: $real,
            phi: $real,
            z: $real,
            /// slice << 8 | layer
            slice_layer: u32,
            padding: [u32; $pad],
        }

        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
        pub(crate) struct $Stored {
            x: $real,
            word: u32,
            padding: [u32; $pad],
        }

        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
        pub(crate) struct $Roi {
            z_min: $real,
            z_max: $real,
            steps_per_mm: $real,
            steps_at_0: $real,
            words: RoiWords,
        }

        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
        pub(crate) struct $Cuts {
            dz: $real,
            dk: $real,
            dp: $real,
            gev_mm: $real,
            strip_dz: $real,
            resolution_mm: $real,
            per_gev2: $real,
        }

        impl Real for $real {
            type Spacepoint = $Spacepoint;
            type Stored = $Stored;
            type Roi = $Roi;
            type Cuts = $Cuts;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $real
            }
            fn to_f32(self) -> f32 {
                self as f32
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn to_i32(self) -> i32 {
                self as i32
            }
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn spacepoint(rho: Self, phi: Self, z: Self, slice_layer: u32) -> Self::Spacepoint {
                $Spacepoint { rho, phi, z, slice_layer, padding: [0; $pad] }
            }
            #[inline(always)]
            fn fields(s: &Self::Spacepoint) -> ([Self; 3], u32) {
                ([s.rho, s.phi, s.z], s.slice_layer)
            }
            #[cfg(test)]
            fn stored(stored: &Self::Stored) -> (Self, u32) {
                (stored.x, stored.word)
            }
            #[inline(always)]
            fn whole_steps(self, scale: Self, offset: Self) -> u32 {
                $whole(f64::from(self) * f64::from(scale), f64::from(offset))
            }
            fn roi(scale: ZScale<Self>, words: RoiWords) -> Self::Roi {
                let ZScale { z_min, z_max, steps_per_mm, steps_at_0 } = scale;
                $Roi { z_min, z_max, steps_per_mm, steps_at_0, words }
            }
            fn leave_out(roi: &mut Self::Roi) {
                roi.words.spacepoint_count = 0;
            }
            fn cuts(cuts: TripletCuts<Self>) -> Self::Cuts {
                let TripletCuts { dz, dk, dp, gev_mm, strip_dz, resolution_mm, per_gev2 } = cuts;
                $Cuts { dz, dk, dp, gev_mm, strip_dz, resolution_mm, per_gev2 }
            }
        }
    };
}

// Product and difference are each rounded to f32; a product of two f32 is exact in f64, and so is
// the sum.
records!(f32, SpacepointF32, StoredF32, RoiF32, CutsF32, 0, |product: f64, offset: f64| {
    (f64::from(product as f32 - 0.5) + offset).round_ties_even() as u32
});
records!(f64, SpacepointF64, StoredF64, RoiF64, CutsF64, 1, |product: f64, offset: f64| {
    (product + offset).floor() as u32
});
