//! How a spacepoint travels to the device: losslessly, or in 64 bits. Twins of
//! `shaders/slice_spacepoints/encoding/*.wgsl`.

use std::f64::consts::{PI, TAU};

use bytemuck::Pod;

use crate::config::{Extrapolation, PairWeight};
use crate::detector::LayerKind;
use crate::engine::plan::{BLOCK, Block, PackSummary, RoiPlan, Search, SlicePlacement, SpacepointSource, block_of};
use crate::engine::real::Real;
use crate::spacepoint::{RoiView, Spacepoint, is_near};

/// An encoding of spacepoints for the upload.
pub(crate) trait Encode<R: Real>: Sync {
    /// `Packed` in the shaders.
    type Word: Pod + PartialEq + Send + Sync;

    /// A spacepoint that takes no part.
    fn dropped(&self) -> Self::Word;

    /// One that does; None if this encoding cannot hold it. phi counts from the lower edge of the
    /// window.
    fn encode(&self, rho: f64, phi: f64, z: f64, slice: u32, layer: u32) -> Option<Self::Word>;

    /// Encodes a block at once, to the same bits as one by one, and tells how many take part. None
    /// if it cannot, or if one of them needs a closer look.
    fn encode_block(&self, _: &SlicePlacement, _: Block<'_>, _: &mut [Self::Word; BLOCK]) -> Option<usize> {
        None
    }

    /// Appends what the stages make of them.
    fn decode(&self, words: &[Self::Word], to: &mut Vec<R::Spacepoint>);
}

/// All that the arithmetic's number type holds: 16 bytes in f32, 32 in f64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lossless;

/// In place of a spacepoint's slice and layer: takes no part. `DROPPED` in
/// `shaders/shared/types.wgsl`.
pub(crate) const DROPPED: u32 = u32::MAX;

impl<R: Real> Encode<R> for Lossless {
    type Word = R::Spacepoint;

    fn dropped(&self) -> R::Spacepoint {
        R::spacepoint(R::from_f64(0.0), R::from_f64(0.0), R::from_f64(0.0), DROPPED)
    }

    fn encode(&self, rho: f64, phi: f64, z: f64, slice: u32, layer: u32) -> Option<R::Spacepoint> {
        Some(R::spacepoint(R::from_f64(rho), R::from_f64(phi), R::from_f64(z), slice << 8 | layer))
    }

    fn encode_block(
        &self,
        placing: &SlicePlacement,
        block: Block<'_>,
        out: &mut [R::Spacepoint; BLOCK],
    ) -> Option<usize> {
        let arch = pulp::Arch::new();
        match block {
            Block::Double(columns, layers) => {
                arch.dispatch(LosslessBlock::<_, R> { placing, block: (columns, layers), out })
            }
            Block::Single(columns, layers) => {
                arch.dispatch(LosslessBlock::<_, R> { placing, block: (columns, layers), out })
            }
            Block::Records(block) => arch.dispatch(LosslessBlock::<_, R> { placing, block, out }),
        }
    }

    fn decode(&self, words: &[R::Spacepoint], to: &mut Vec<R::Spacepoint>) {
        to.extend_from_slice(words);
    }
}

/// [`Lossless::encode`] for a block, without branches, so that the compiler makes it what the
/// machine's vectors can do.
struct LosslessBlock<'a, S, R: Real> {
    placing: &'a SlicePlacement,
    block: S,
    out: &'a mut [R::Spacepoint; BLOCK],
}

impl<S: SpacepointSource, R: Real> pulp::NullaryFnOnce for LosslessBlock<'_, S, R> {
    type Output = Option<usize>;

    #[inline(always)]
    fn call(self) -> Option<usize> {
        let Self { placing, block, out } = self;
        let last = f64::from(placing.slices - 1);
        let (mut kept, mut plain) = (0, true);
        for i in 0..BLOCK {
            let (rho, phi, z, layer) = block.at(i);
            let from_edge = placing.beyond_edge(phi);
            let slice = whole_below(from_edge * placing.slices_per_rad);
            let slice = if slice < last { slice } else { last };
            let slice = whole_bits(slice + WHOLE) as u32;
            // |phi| <= pi needs no turn, and is finite.
            plain &= (phi.abs() <= PI) & is_near(rho, z) & placing.layers.has(layer);
            let take = (from_edge < placing.width) & placing.layers.takes(layer);
            kept += usize::from(take);
            let [rho, phi, z] = [rho, from_edge, z].map(|number| R::from_f64(if take { number } else { 0.0 }));
            out[i] = R::spacepoint(rho, phi, z, if take { slice << 8 | layer } else { DROPPED });
        }
        plain.then_some(kept)
    }
}

/// 64 bits a spacepoint: from the lowest, z, rho, phi within the slice, slice, layer. The slice is
/// exact, so that the same pairs are made. rho and z share the bits that layer and slice leave, in
/// equal steps of a power of two. phi within the slice is kept only for searches that need it, in
/// 1/32 slices: at 0.2 degrees, steps of 0.1 mrad, a five-hundredth of the cut on azimuth.
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
    /// The bits that suit a search; None where rho and z would be left with steps beyond
    /// [`Compact::COARSEST_MM`], or where weights go by curvature, which every digit of phi moves.
    pub(crate) fn new(search: &Search) -> Option<Self> {
        if search.config.pair_weight == PairWeight::Pt {
            return None;
        }
        let bits_for = |values: u64| values.next_power_of_two().trailing_zeros();
        let per_rad = search.config.slices_per_rad();
        let slice_bits = bits_for((TAU * per_rad).ceil() as u64 + 1);
        // One value more: takes no part.
        let layer_bits = bits_for(search.layers() as u64 + 1);
        let pairs_only = search.config.pair_weight == PairWeight::One;
        let phi_bits = if pairs_only && search.config.extrapolation == Extrapolation::Linear { 0 } else { 5 };
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

    /// Overrides of `shaders/slice_spacepoints/encoding/compact.wgsl`.
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

    fn z_half(&self) -> f64 {
        f64::from(1u32 << (self.z_bits - 1))
    }

    fn z_values(&self) -> f64 {
        2.0 * self.z_half()
    }

    fn rho_values(&self) -> f64 {
        (f64::from(self.rho_bits)).exp2()
    }

    /// A step of z or rho beyond this could be seen in a vertex.
    const COARSEST_MM: f64 = 0.004;
}

/// How far from the beam, and along it, spacepoints of this detector can be \[mm\]. Barrels do not
/// tell how long they are: as long as the outermost disk is far, or twice the largest radius.
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

    fn encode_block(&self, placing: &SlicePlacement, block: Block<'_>, out: &mut [[u32; 2]; BLOCK]) -> Option<usize> {
        let arch = pulp::Arch::new();
        match block {
            Block::Double(columns, layers) => {
                arch.dispatch(CompactBlock { compact: self, placing, block: (columns, layers), out })
            }
            Block::Single(columns, layers) => {
                arch.dispatch(CompactBlock { compact: self, placing, block: (columns, layers), out })
            }
            Block::Records(block) => arch.dispatch(CompactBlock { compact: self, placing, block, out }),
        }
    }

    fn encode(&self, rho: f64, phi: f64, z: f64, slice: u32, layer: u32) -> Option<[u32; 2]> {
        let inverse = 1.0 / self.step_mm;
        let (rho_steps, z_steps) = (rho * inverse + WHOLE, z * inverse + (WHOLE + self.z_half()));
        let (rho_least, rho_end) = (WHOLE + 1.0, WHOLE + self.rho_values());
        if !(rho_least..rho_end).contains(&rho_steps) || !(WHOLE..WHOLE + self.z_values()).contains(&z_steps) {
            return None;
        }
        // Within the slice that it was given, which rounding at the window's edge may have moved.
        let within_end = f64::from(slice + 1) * f64::from(1u32 << self.phi_bits) - 1.0;
        let fine = whole_below(phi * self.per_rad * f64::from(1u32 << self.phi_bits)).min(within_end);
        let word = whole_bits(z_steps)
            | whole_bits(rho_steps) << self.z_bits
            | (fine as u64) << (self.z_bits + self.rho_bits)
            | u64::from(layer) << (64 - self.layer_bits);
        Some([word as u32, (word >> 32) as u32])
    }

    fn decode(&self, words: &[[u32; 2]], to: &mut Vec<R::Spacepoint>) {
        let first = to.len();
        to.resize(first + words.len(), Encode::<R>::dropped(&Lossless));
        pulp::Arch::new().dispatch(DecodeBlock::<R> { compact: self, words, out: &mut to[first..] });
    }
}

/// [`Compact::decode`], without branches.
struct DecodeBlock<'a, R: Real> {
    compact: &'a Compact,
    words: &'a [[u32; 2]],
    out: &'a mut [R::Spacepoint],
}

impl<R: Real> pulp::NullaryFnOnce for DecodeBlock<'_, R> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { compact, words, out } = self;
        let (phi_at, layer_at) = (compact.z_bits + compact.rho_bits, 64 - compact.layer_bits);
        let slice_at = phi_at + compact.phi_bits;
        let dropped = (1 << compact.layer_bits) - 1;
        let (step, phi_step) = (R::from_f64(compact.step_mm), R::from_f64(f64::from(compact.phi_step as f32)));
        for (out, word) in out.iter_mut().zip(words) {
            let word = u64::from(word[0]) | u64::from(word[1]) << 32;
            let bits = |at: u32, count: u32| (word >> at & ((1 << count) - 1)) as u32;
            // Whole numbers of less than 31 bits.
            let number = |bits: u32| R::from_f64(f64::from(bits as i32));
            let z = R::from_f64(f64::from(bits(0, compact.z_bits) as i32) - compact.z_half());
            let rho = number(bits(compact.z_bits, compact.rho_bits));
            let phi_steps = number(bits(phi_at, compact.phi_bits + compact.slice_bits));
            let phi = (phi_steps + R::from_f64(0.5)) * phi_step;
            let (slice, layer) = (bits(slice_at, compact.slice_bits), bits(layer_at, compact.layer_bits));
            let slice_layer = if layer == dropped { DROPPED } else { slice << 8 | layer };
            *out = R::spacepoint(rho * step, phi, z * step, slice_layer);
        }
    }
}

/// [`Compact::encode`] for a block, without branches, so that the compiler makes it what the
/// machine's vectors can do.
struct CompactBlock<'a, S> {
    compact: &'a Compact,
    placing: &'a SlicePlacement,
    block: S,
    out: &'a mut [[u32; 2]; BLOCK],
}

/// 2^52: a number from 0 to this, added to it, leaves its nearest whole number in the low bits.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// The whole number at or below x, for 0 <= x < 2^51.
#[inline(always)]
fn whole_below(x: f64) -> f64 {
    let nearest = (x + WHOLE) - WHOLE;
    if nearest > x { nearest - 1.0 } else { nearest }
}

/// The whole number that [`WHOLE`] was added to.
#[inline(always)]
fn whole_bits(sum: f64) -> u64 {
    sum.to_bits() & ((1 << 52) - 1)
}

impl<S: SpacepointSource> pulp::NullaryFnOnce for CompactBlock<'_, S> {
    type Output = Option<usize>;

    #[inline(always)]
    fn call(self) -> Option<usize> {
        let Self { compact, placing, block, out } = self;
        let inverse = 1.0 / compact.step_mm;
        let z_middle = WHOLE + compact.z_half();
        let (z_end, rho_least, rho_end) = (WHOLE + compact.z_values(), WHOLE + 1.0, WHOLE + compact.rho_values());
        let within = f64::from(1u32 << compact.phi_bits);
        let last = f64::from(placing.slices) * within - 1.0;
        let (rho_at, fine_at, layer_at) = (compact.z_bits, compact.z_bits + compact.rho_bits, 64 - compact.layer_bits);
        // The bits of 2^52 itself are in each of the sums; all of them together are taken off at
        // the end.
        let whole = WHOLE.to_bits();
        let off = whole.wrapping_add(whole << rho_at).wrapping_add(whole << fine_at);
        let mut kept = 0u64;
        let mut plain = true;
        for i in 0..BLOCK {
            let (rho, phi, z, layer) = block.at(i);
            let from_edge = placing.beyond_edge(phi);
            let fine = whole_below(from_edge * placing.slices_per_rad * within);
            let fine = (if fine < last { fine } else { last }) + WHOLE;
            let rho_steps = rho * inverse + WHOLE;
            let z_steps = z * inverse + z_middle;
            // Comparisons are written to fail on NaN. Spacepoints within these bounds are valid,
            // and |phi| <= pi needs no turn.
            plain &= (phi.abs() <= PI)
                & (rho_steps >= rho_least)
                & (rho_steps < rho_end)
                & (z_steps >= WHOLE)
                & (z_steps < z_end)
                & placing.layers.has(layer);
            let take = (from_edge < placing.width) & placing.layers.takes(layer);
            kept += u64::from(take);
            let word = z_steps
                .to_bits()
                .wrapping_add(rho_steps.to_bits() << rho_at)
                .wrapping_add(fine.to_bits() << fine_at)
                .wrapping_add(u64::from(layer) << layer_at)
                .wrapping_sub(off);
            let word = if take { word } else { u64::MAX };
            out[i] = [word as u32, (word >> 32) as u32];
        }
        plain.then_some(kept as usize)
    }
}

#[cfg(test)]
#[path = "encoding_tests.rs"]
mod tests;

impl Search {
    /// Hands every spacepoint of a planned RoI to `write`, encoded, in order and block by block.
    pub(crate) fn pack<R: Real, E: Encode<R>>(
        &self,
        encoding: &E,
        plan: &RoiPlan,
        roi: RoiView<'_>,
        mut write: impl FnMut(&[E::Word]),
    ) -> PackSummary {
        let bad = PackSummary { bad: true, ..PackSummary::default() };
        if plan.bad {
            return bad;
        }
        let inv = self.config.slices_per_rad();
        let placing = self.placement(plan);
        // Blocks can be taken as they are.
        let plain = self.config.is_beam_at_origin();
        let mut kept = 0;
        let mut block = [encoding.dropped(); BLOCK];
        for first in (0..roi.len()).step_by(BLOCK) {
            let count = BLOCK.min(roi.len() - first);
            // The last block overlaps the one before it, so that it is whole.
            let begin = first - (BLOCK - count).min(first);
            if let Some(spacepoints) = block_of(roi, begin).filter(|_| plain)
                && let Some(taken) = encoding.encode_block(&placing, spacepoints, &mut block)
            {
                let (before, words) = block.split_at(first - begin);
                kept += taken - before.iter().filter(|&word| *word != encoding.dropped()).count();
                write(words);
                continue;
            }
            for (word, i) in block[..count].iter_mut().zip(first..) {
                let Spacepoint { rho, phi, z, layer } = roi.spacepoint(i);
                let Some((rho, phi)) = self.about_beam(rho, phi, z, layer) else { return bad };
                let from_edge = placing.beyond_edge(phi);
                *word = if from_edge < plan.width && self.layer_mask.takes(layer) {
                    kept += 1;
                    let slice = ((from_edge * inv) as u32).min(plan.slices - 1);
                    match encoding.encode(rho, from_edge, z, slice, layer) {
                        Some(word) => word,
                        None => return PackSummary { too_far: true, ..PackSummary::default() },
                    }
                } else {
                    encoding.dropped()
                };
            }
            write(&block[..count]);
        }
        PackSummary { kept, outside: roi.len() - kept, ..PackSummary::default() }
    }
}
