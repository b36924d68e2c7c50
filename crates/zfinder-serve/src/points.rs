//! The compact encoding of spacepoints on the wire: the tensor `POINTS`, 8 bytes a spacepoint,
//! version 1.
//!
//! | bits | what | value |
//! |---|---|---|
//! | 0 to 5 | layer | 0 to 63 |
//! | 6 to 25 | phi | (code + 1/2) 2 pi / 2^20 - pi \[rad\] |
//! | 26 to 43 | rho | code / 128 \[mm\] |
//! | 44 to 63 | z | (code - 2^19) / 128 \[mm\] |
//!
//! Steps are 7.8 um in rho and z, and 6.0 urad in phi: 3 um at a radius of 500 mm. rho reaches
//! 2,047.99 mm, z from -4,096 mm to 4,095.99 mm. The server computes with the decoded values in
//! f64.

use std::f64::consts::{PI, TAU};

use zfinder::Spacepoint;

const PHI_CODES: f64 = (1u64 << 20) as f64;
const STEPS_PER_MM: f64 = 128.0;
const RHO_CODES: f64 = (1u64 << 18) as f64;
const Z_CODES: f64 = (1u64 << 20) as f64;

/// Encodes a spacepoint as an element of `POINTS`. None if rho, z or the layer is out of the range
/// of the encoding, or a number is not finite.
///
/// ```
/// use zfinder::Spacepoint;
/// let point = Spacepoint { rho: 50.5, phi: 0.1, z: -12.25, layer: 3 };
/// let near = zfinder_serve::decode_point(zfinder_serve::encode_point(&point).expect("in range"));
/// assert_eq!((near.rho, near.z, near.layer), (50.5, -12.25, 3));
/// assert!((near.phi - 0.1).abs() < 3.1e-6);
/// ```
pub fn encode_point(point: &Spacepoint) -> Option<u64> {
    let turned = (point.phi + PI).rem_euclid(TAU);
    // rem_euclid may round up to a full turn.
    let phi = (turned / TAU * PHI_CODES).floor() % PHI_CODES;
    let rho = (point.rho * STEPS_PER_MM).round();
    let z = (point.z * STEPS_PER_MM).round() + Z_CODES / 2.0;
    // Comparisons with NaN are false.
    let fits = phi >= 0.0 && (0.0..RHO_CODES).contains(&rho) && (0.0..Z_CODES).contains(&z) && point.layer < 64;
    fits.then(|| u64::from(point.layer) | (phi as u64) << 6 | (rho as u64) << 26 | (z as u64) << 44)
}

/// Decodes an element of `POINTS`.
pub fn decode_point(word: u64) -> Spacepoint {
    let field = |shift: u32, bits: u32| (word >> shift & ((1 << bits) - 1)) as f64;
    Spacepoint {
        rho: field(26, 18) / STEPS_PER_MM,
        phi: (field(6, 20) + 0.5) * (TAU / PHI_CODES) - PI,
        z: (field(44, 20) - Z_CODES / 2.0) / STEPS_PER_MM,
        layer: (word & 63) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back() {
        let mut random = fastrand::Rng::with_seed(41);
        for _ in 0..10_000 {
            let word = random.u64(..);
            assert_eq!(encode_point(&decode_point(word)), Some(word));
        }
    }

    #[test]
    fn points_out_of_range_have_no_code() {
        let point = Spacepoint { rho: 100.0, phi: 3.0, z: 0.0, layer: 0 };
        assert!(encode_point(&point).is_some());
        for bad in [
            Spacepoint { rho: 2048.0, ..point },
            Spacepoint { rho: -1.0, ..point },
            Spacepoint { rho: f64::NAN, ..point },
            Spacepoint { z: 4096.0, ..point },
            Spacepoint { z: -4097.0, ..point },
            Spacepoint { z: f64::INFINITY, ..point },
            Spacepoint { phi: f64::NAN, ..point },
            Spacepoint { layer: 64, ..point },
        ] {
            assert_eq!(encode_point(&bad), None, "{bad:?}");
        }
        // Any turn has a code.
        for phi in [PI, -PI, 3.0 * PI, -1e-17 - PI, 1e6] {
            assert!(encode_point(&Spacepoint { phi, ..point }).is_some(), "{phi}");
        }
    }
}
