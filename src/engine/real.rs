//! The number type of the arithmetic: the thesis's `real` switch.

use std::ops::{Add, Div, Mul, Neg, Sub};

use bytemuck::Pod;

use crate::engine::records::{
    CutsF32, CutsF64, RoiF32, RoiF64, RoiWords, SpacepointF32, SpacepointF64, StoredF32, StoredF64, TripletCuts, ZScale,
};
use crate::pt_weight::PtWeight;

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
    + Neg<Output = Self>
{
    /// `Packed` in `shaders/slice_spacepoints/encoding/lossless.wgsl`.
    type Spacepoint: Pod + PartialEq + Send + Sync;
    /// `Stored` in `shaders/shared/real/*.wgsl`.
    type Stored: Pod + Send + Sync;
    /// `Roi` in `shaders/shared/types.wgsl`.
    type Roi: Pod + Send + Sync;
    /// `Cuts` in `shaders/shared/types.wgsl`.
    type Cuts: Pod + Send + Sync;

    fn from_f64(value: f64) -> Self;
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
    /// `whole_steps` in `shaders/shared/real/*.wgsl`.
    fn whole_steps(self, scale: Self, offset: Self) -> u32;
    fn roi(scale: ZScale<Self>, words: RoiWords) -> Self::Roi;
    /// Takes an RoI's spacepoints out of the search.
    fn leave_out(roi: &mut Self::Roi);
    fn cuts(cuts: TripletCuts<Self>) -> Self::Cuts;
}

/// The weight of a pair as all engines that compute in `R` round it: beside a half, a last digit
/// decides. `shaders/find_z/pair_weight/pt.wgsl`.
pub(crate) fn weight_in<R: Real>(pt_weight: &PtWeight) -> u32 {
    pt_weight.weight_by(|pt| {
        let pt = R::from_f64(pt);
        (pt * pt * R::from_f64(PtWeight::PER_GEV2) + R::from_f64(0.5)).to_f64() as u32
    })
}

macro_rules! real {
    ($real:ident, $Spacepoint:ident, $Stored:ident, $Roi:ident, $Cuts:ident, $pad:expr, $whole:expr) => {
        impl Real for $real {
            type Spacepoint = $Spacepoint;
            type Stored = $Stored;
            type Roi = $Roi;
            type Cuts = $Cuts;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
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
            #[inline(always)]
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
real!(f32, SpacepointF32, StoredF32, RoiF32, CutsF32, 0, |product: f64, offset: f64| {
    (f64::from(product as f32 - 0.5) + offset).round_ties_even() as u32
});
real!(f64, SpacepointF64, StoredF64, RoiF64, CutsF64, 1, |product: f64, offset: f64| {
    (product + offset).floor() as u32
});
