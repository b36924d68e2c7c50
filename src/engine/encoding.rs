//! How a spacepoint travels to the device: losslessly, or in 64 bits. Twins of `shaders/encoding/*.wgsl`.

use bytemuck::Pod;

use crate::config::Triplets;
use crate::detector::LayerKind;
use crate::engine::plan::Search;
use crate::engine::real::{Point, Real};

/// What one spacepoint becomes.
pub(crate) trait Encode<R: Real>: Sync {
    /// `Packed` in the shaders.
    type Word: Pod + Send + Sync;

    /// A spacepoint that takes no part.
    fn dropped(&self) -> Self::Word;

    /// One that does; None if this encoding cannot hold it. phi counts from the lower edge of the window.
    fn encode(&self, rho: f64, phi: f64, z: f64, slice: u32, layer: u32) -> Option<Self::Word>;

    /// What the stages make of it; None for one that takes no part.
    fn decode(&self, word: &Self::Word) -> Option<Point<R>>;
}

/// All that the arithmetic's number type holds: 16 bytes in f32, 32 in f64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lossless;

/// In place of a spacepoint's slice and layer: takes no part. `DROPPED` in `shaders/types.wgsl`.
pub(crate) const DROPPED: u32 = u32::MAX;

impl<R: Real> Encode<R> for Lossless {
    type Word = R::Spacepoint;

    fn dropped(&self) -> R::Spacepoint {
        R::spacepoint(0.0, 0.0, 0.0, DROPPED)
    }

    fn encode(&self, rho: f64, phi: f64, z: f64, slice: u32, layer: u32) -> Option<R::Spacepoint> {
        Some(R::spacepoint(rho, phi, z, slice << 8 | layer))
    }

    fn decode(&self, word: &R::Spacepoint) -> Option<Point<R>> {
        R::point(word)
    }
}

/// 64 bits a spacepoint: from the lowest, z, rho, phi within the slice, slice, layer. The slice is exact, so that the same
/// pairs are made; rho and z share what layer and slice leave, in equal steps of a power of two. phi within the slice is
/// kept for triplets only, in 1/128 slices, far below what their cuts can tell apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Compact {
    pub(crate) z_bits: u32,
    pub(crate) rho_bits: u32,
    pub(crate) phi_bits: u32,
    pub(crate) slice_bits: u32,
    pub(crate) layer_bits: u32,
    /// Of rho and of z \[mm\].
    pub(crate) step_mm: f64,
    /// \[rad\]
    pub(crate) phi_step: f64,
    per_rad: f64,
}

impl Compact {
    /// The bits that suit a search; None where rho and z would be left with steps beyond [`Compact::COARSEST_MM`].
    pub(crate) fn new(search: &Search) -> Option<Self> {
        let bits_for = |values: u64| values.next_power_of_two().trailing_zeros();
        let per_rad = search.config.slices_per_rad();
        let slice_bits = bits_for((std::f64::consts::TAU * per_rad).ceil() as u64 + 1);
        // One value more: takes no part.
        let layer_bits = bits_for(search.layers() as u64 + 1);
        let phi_bits = if search.config.triplets == Triplets::Off { 0 } else { 7 };
        let (rho_mm, z_mm) = extent(search);
        let left = 64u32.checked_sub(slice_bits + layer_bits + phi_bits)?;
        // rho from 0 to its extent, z to either side of 0.
        let (rho_mm, z_mm) = (rho_mm.log2().ceil() as i32, z_mm.log2().ceil() as i32 + 1);
        let step = (rho_mm + z_mm - left as i32).div_euclid(2) + (rho_mm + z_mm - left as i32).rem_euclid(2);
        let step = step.max(z_mm - 31);
        let step_mm = f64::from(step).exp2();
        (step_mm <= Self::COARSEST_MM).then(|| Self {
            z_bits: (z_mm - step) as u32,
            rho_bits: (rho_mm - step) as u32,
            phi_bits,
            slice_bits,
            layer_bits,
            step_mm,
            phi_step: 1.0 / (per_rad * f64::from(1 << phi_bits)),
            per_rad,
        })
    }

    /// Overrides of `shaders/encoding/compact.wgsl`.
    pub(crate) fn constants(&self) -> [(&'static str, f64); 7] {
        [
            ("Z_BITS", f64::from(self.z_bits)),
            ("RHO_BITS", f64::from(self.rho_bits)),
            ("PHI_BITS", f64::from(self.phi_bits)),
            ("SLICE_BITS", f64::from(self.slice_bits)),
            ("LAYER_BITS", f64::from(self.layer_bits)),
            ("STEP", self.step_mm),
            ("PHI_STEP", f64::from(self.phi_step as f32)),
        ]
    }

    /// A step of z or rho beyond this could be seen in a vertex.
    const COARSEST_MM: f64 = 0.004;
}

/// How far from the beam, and along it, spacepoints of this detector can be \[mm\]. Barrels do not tell how long they
/// are: as long as the outermost disk is far, or twice the largest radius.
fn extent(search: &Search) -> (f64, f64) {
    let (mut rho, mut z) = (0.0f64, 0.0f64);
    for layer in search.detector.layers() {
        match layer.kind {
            LayerKind::Barrel { radius_mm } => rho = rho.max(radius_mm),
            LayerKind::Endcap { z_mm, r_max_mm } => (rho, z) = (rho.max(r_max_mm), z.max(z_mm)),
        }
    }
    (1.2 * rho, 1.2 * z.max(2.0 * rho))
}

impl<R: Real> Encode<R> for Compact {
    /// The lower half first, as the device reads it.
    type Word = [u32; 2];

    fn dropped(&self) -> [u32; 2] {
        [u32::MAX; 2]
    }

    #[inline]
    fn encode(&self, rho: f64, phi: f64, z: f64, slice: u32, layer: u32) -> Option<[u32; 2]> {
        let inverse = 1.0 / self.step_mm;
        let rho_steps = (rho * inverse + 0.5) as u64;
        let z_steps = (z * inverse + f64::from(1u32 << (self.z_bits - 1)) + 0.5).floor();
        if rho_steps == 0
            || rho_steps >> self.rho_bits != 0
            || !(0.0..f64::from(1u32 << self.z_bits)).contains(&z_steps)
        {
            return None;
        }
        // Within the slice that it was given, which rounding at the window's edge may have moved.
        let within = (phi * self.per_rad - f64::from(slice)) * f64::from(1u32 << self.phi_bits);
        let phi_steps = (within.max(0.0) as u64).min((1 << self.phi_bits) - 1);
        let word = z_steps as u64
            | rho_steps << self.z_bits
            | phi_steps << (self.z_bits + self.rho_bits)
            | u64::from(slice) << (self.z_bits + self.rho_bits + self.phi_bits)
            | u64::from(layer) << (64 - self.layer_bits);
        Some([word as u32, (word >> 32) as u32])
    }

    fn decode(&self, word: &[u32; 2]) -> Option<Point<R>> {
        let word = u64::from(word[0]) | u64::from(word[1]) << 32;
        let bits = |at: u32, count: u32| (word >> at & ((1 << count) - 1)) as u32;
        let layer = bits(64 - self.layer_bits, self.layer_bits);
        if layer == (1 << self.layer_bits) - 1 {
            return None;
        }
        let phi_at = self.z_bits + self.rho_bits;
        let z = f64::from(bits(0, self.z_bits)) - f64::from(1u32 << (self.z_bits - 1));
        let phi_steps = R::of(f64::from(bits(phi_at, self.phi_bits + self.slice_bits)));
        Some(Point {
            rho: R::of(f64::from(bits(self.z_bits, self.rho_bits))) * R::of(self.step_mm),
            phi: (phi_steps + R::of(0.5)) * R::of(f64::from(self.phi_step as f32)),
            z: R::of(z) * R::of(self.step_mm),
            slice: bits(phi_at + self.phi_bits, self.slice_bits),
            layer,
        })
    }
}
