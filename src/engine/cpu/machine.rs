//! Vector capabilities of the machine, and permutations of lanes.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::any::Any;

use pulp::Simd;

/// Which words go where, a byte each: for each set of four lanes of two words, the lanes in it one
/// after the other, and for each of eight of one word.
#[cfg(target_arch = "x86_64")]
pub(crate) const PAIRS: [u64; 16] = packings(2);
pub(crate) const WORDS: [u64; 256] = packings(1);

const fn packings<const SETS: usize>(words: u32) -> [u64; SETS] {
    let mut table = [0; SETS];
    let mut bits = 0;
    while bits < SETS {
        let (mut word, mut to) = (0, 0);
        while word < 8 {
            if bits >> (word / words) & 1 == 1 {
                table[bits] |= (word as u64) << (8 * to);
                to += 1;
            }
            word += 1;
        }
        bits += 1;
    }
    table
}

/// Which bytes of 16 go where, of lanes of so many: for each set of lanes, those in it one after
/// the other.
#[cfg(target_arch = "aarch64")]
pub(crate) const fn bytes_of<const SETS: usize>(bytes_a_lane: usize) -> [[u8; 16]; SETS] {
    let mut table = [[0; 16]; SETS];
    let mut bits = 0;
    while bits < SETS {
        let (mut byte, mut to) = (0, 0);
        while byte < 16 {
            if bits >> (byte / bytes_a_lane) & 1 == 1 {
                table[bits][to] = byte as u8;
                to += 1;
            }
            byte += 1;
        }
        bits += 1;
    }
    table
}

/// Writes where the lanes are whose bits are set, of a vector whose first lane is `first`, and
/// leavings behind them.
#[inline(always)]
pub(crate) fn pack_places<S: Simd>(simd: S, bits: u32, first: u32, to: &mut [u32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(v4) = known::<S, pulp::x86::V4>(simd) {
        // In one go: whether there are any beyond the eighth lane is a branch that nothing
        // foretells.
        const LANES: [i32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        let avx512 = v4.avx512f;
        let places = avx512._mm512_add_epi32(avx512._mm512_set1_epi32(first as i32), pulp::cast(LANES));
        let packed = avx512._mm512_maskz_compress_epi32(bits as u16, places);
        to[..16].copy_from_slice(&pulp::cast::<_, [u32; 16]>(packed));
        return bits.count_ones() as usize;
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = known::<S, pulp::x86::V3>(simd) {
        let avx2 = v3.avx2;
        let lanes = avx2._mm256_cvtepu8_epi32(pulp::cast([WORDS[bits as usize % 256], 0]));
        let places = avx2._mm256_add_epi32(v3.avx._mm256_set1_epi32(first as i32), lanes);
        to[..8].copy_from_slice(&pulp::cast::<_, [u32; 8]>(places));
        return bits.count_ones() as usize;
    }
    let _ = simd;
    // Vectors of no more than eight lanes. All places are made before one is written, so that the
    // compiler makes a vector of them.
    let places = WORDS[bits as usize % 256].to_le_bytes().map(|place| u32::from(place) + first);
    to[..8].copy_from_slice(&places);
    bits.count_ones() as usize
}

/// Whether a machine's vectors are those of AVX-512.
#[inline(always)]
pub(crate) fn avx512<S: Simd>(simd: S) -> bool {
    #[cfg(target_arch = "x86_64")]
    return known::<S, pulp::x86::V4>(simd).is_some();
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = simd;
        false
    }
}

/// Whether vectors have a product and a sum that are rounded once.
#[inline(always)]
pub(crate) fn fuses<S: Simd>(simd: S) -> bool {
    #[cfg(target_arch = "x86_64")]
    return known::<S, pulp::x86::V3>(simd).is_some() || known::<S, pulp::x86::V4>(simd).is_some();
    #[cfg(target_arch = "aarch64")]
    return known::<S, pulp::aarch64::Neon>(simd).is_some();
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = simd;
        false
    }
}

/// This machine's vectors, or what they are made of, where they are these.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn known<S: Any, V: Any + Copy>(simd: S) -> Option<V> {
    (&simd as &dyn Any).downcast_ref().copied()
}
