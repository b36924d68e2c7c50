//! Random numbers by counter: Philox4x32-10.
//!
//! A random number is a function of the seed, the track, the step and the draw. CPU and GPU
//! therefore draw the same numbers, in any order and with any number of threads, and no state is
//! kept between draws.

/// Multipliers of a round and steps of the key (Salmon, Moraes, Dror and Shaw, SC 2011).
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const ROUNDS: u32 = 10;

/// Returns four random 32-bit words of a counter and a key.
#[must_use]
pub fn philox4x32(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let products = [0, 1].map(|i| u64::from(MULTIPLIERS[i]) * u64::from(counter[2 * i]));
        let (high, low) = (products.map(|product| (product >> 32) as u32), products.map(|product| product as u32));
        counter = [high[1] ^ counter[1] ^ key[0], low[1], high[0] ^ counter[3] ^ key[1], low[0]];
        key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
    }
    counter
}

/// The source of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Random {
    /// Counter-based, with a seed.
    Seeded(u64),
    /// Always 0.123456, as the prototype compares engines.
    Constant,
}

/// The random numbers of one step of a track.
#[derive(Clone, Debug)]
pub struct Draws {
    random: Random,
    track: u64,
    step: u32,
    drawn: u32,
    words: [u32; 4],
}

/// The number that [`Random::Constant`] draws.
pub const CONSTANT: f32 = 0.123_456;

impl Random {
    /// Returns the random numbers of one step of a track.
    #[must_use]
    pub fn draws(self, track: u64, step: u32) -> Draws {
        Draws { random: self, track, step, drawn: 0, words: [0; 4] }
    }
}

impl Draws {
    /// Skips to a number, counted from 0 and a multiple of four.
    pub(crate) fn from(mut self, drawn: u32) -> Self {
        debug_assert!(drawn.is_multiple_of(4), "words come by four");
        self.drawn = drawn;
        self
    }

    /// Draws the next number, above 0 and below 1: one of the 2^23 midpoints of equal intervals,
    /// exact in f32.
    pub fn uniform(&mut self) -> f32 {
        let Random::Seeded(seed) = self.random else { return CONSTANT };
        let place = (self.drawn % 4) as usize;
        if place == 0 {
            let key = [seed as u32, (seed >> 32) as u32];
            self.words = philox4x32([self.drawn / 4, self.step, self.track as u32, (self.track >> 32) as u32], key);
        }
        self.drawn = self.drawn.wrapping_add(1);
        ((self.words[place] >> 9) as f32 + 0.5) * (1.0 / 8_388_608.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of the authors' library.
    #[test]
    fn words_are_philoxs() {
        assert_eq!(philox4x32([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox4x32([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox4x32([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn numbers_are_uniform_and_those_of_their_place() {
        let random = Random::Seeded(7);
        let mut counts = [0_u32; 16];
        let (mut sum, mut squares) = (0.0, 0.0);
        for track in 0..1000 {
            let mut draws = random.draws(track, 3);
            for _ in 0..100 {
                let x = draws.uniform();
                assert!(x > 0.0 && x < 1.0);
                counts[(x * 16.0) as usize] += 1;
                sum += f64::from(x);
                squares += f64::from(x) * f64::from(x);
            }
        }
        // 6,250 are expected in each, 77 is a standard deviation; of the mean, 0.0009.
        assert!(counts.iter().all(|&count| count.abs_diff(6250) < 5 * 77), "{counts:?}");
        assert!((sum / 1e5 - 0.5).abs() < 0.005 && (squares / 1e5 - 1.0 / 3.0).abs() < 0.005);
        let first = |random: Random, track, step| random.draws(track, step).uniform();
        assert_eq!(first(random, 5, 6), first(random, 5, 6));
        for other in [first(random, 6, 5), first(random, 5, 7), first(Random::Seeded(8), 5, 6)] {
            assert_ne!(first(random, 5, 6), other);
        }
        assert_eq!(first(Random::Constant, 1, 2), CONSTANT);
    }
}
