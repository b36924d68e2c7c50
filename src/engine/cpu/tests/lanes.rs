//! Operations in the lanes of vectors, compared with scalar ones.

use std::fmt::Debug;

use pulp::{Simd, WithSimd};

use super::arches;
use crate::engine::cpu::lanes::{ENTRY_SHIFT, Lanes, pack_places};
use crate::engine::histogram::OFFSET_STEPS;
use crate::engine::real::Real;
use crate::z_bins::ZBins;

#[test]
fn masks_packings_and_look_ups_are_those_of_each_lane() {
    let rng = &mut fastrand::Rng::with_seed(29);
    for (what, arch) in arches() {
        for _ in 0..200 {
            let numbers: [f64; 16] = std::array::from_fn(|_| f64::from(rng.i32(-1000..1000)));
            let bounds: [f64; 16] = std::array::from_fn(|_| f64::from(rng.i32(-1000..1000)));
            let places: [f64; 16] = std::array::from_fn(|_| f64::from(rng.u32(0..64)));
            arch.dispatch(LaneOperations { what, columns: [numbers, bounds, places] });
            arch.dispatch(LaneOperations {
                what,
                columns: [numbers, bounds, places].map(|column| column.map(|x| x as f32)),
            });
        }
    }
}

/// Numbers, what they are compared with, and which lanes are looked up.
struct LaneOperations<R> {
    what: &'static str,
    columns: [[R; 16]; 3],
}

impl<R: Lanes + Debug> WithSimd for LaneOperations<R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { what, columns } = self;
        let lanes = R::count::<S>();
        let [numbers, bounds, places] = columns.each_ref().map(|column| R::vectors(simd, column)[0]);
        let [number, bound, place] = columns;
        let wanted = |holds: &dyn Fn(usize) -> bool| (0..lanes).fold(0, |bits, i| bits | u32::from(holds(i)) << i);

        let less = R::less(simd, numbers, bounds);
        let bits = R::bits(simd, less);
        assert_eq!(bits, wanted(&|i| number[i] < bound[i]), "{what}: {columns:?}");
        let zero = R::splat(simd, R::from_f64(0.0));
        let and_less = R::bits(simd, R::and_less(simd, less, numbers, zero));
        assert_eq!(and_less, wanted(&|i| number[i] < bound[i] && number[i] < R::from_f64(0.0)), "{what}: {columns:?}");

        let mut packed = [R::from_f64(0.0); 16];
        R::pack(simd, bits, numbers, &mut packed);
        let kept: Vec<R> = (0..lanes).filter(|&i| number[i] < bound[i]).map(|i| number[i]).collect();
        assert_eq!(packed[..kept.len()], kept, "{what}: {columns:?}");

        let mut found = [R::from_f64(0.0); 16];
        R::store(simd, &mut found, R::look_up(simd, numbers, places));
        let of: Vec<R> = (0..lanes).map(|i| number[place[i].to_f64() as usize % lanes]).collect();
        assert_eq!(found[..lanes], of, "{what}: {columns:?}");
    }
}

/// Results of a kernel, lane by lane.
struct Sines<'a>(&'a [f64], &'a mut Vec<f64>);

impl WithSimd for Sines<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut out = [0.0; 16];
        for &x in self.0 {
            let sines = <f64 as Lanes>::sine_squared(simd, f64::splat(simd, x));
            f64::store(simd, &mut out, sines);
            self.1.push(out[0]);
            let sines = <f32 as Lanes>::sine_squared(simd, f32::splat(simd, x as f32));
            let mut out = [0.0f32; 16];
            f32::store(simd, &mut out, sines);
            assert!((f64::from(out[0]) - x.sin().powi(2)).abs() < 5e-7, "{x}: {}", out[0]);
        }
    }
}

#[test]
fn sines_are_right() {
    let x: Vec<f64> = (-1000..=1000).map(|i| f64::from(i) * std::f64::consts::PI / 1000.0).collect();
    for (_, arch) in arches() {
        let mut squares = Vec::new();
        arch.dispatch(Sines(&x, &mut squares));
        for (x, square) in x.iter().zip(squares) {
            assert!((square - x.sin().powi(2)).abs() < 1e-15, "{x}: {square}");
        }
    }
}

#[test]
fn steps_of_many_are_those_of_each() {
    let rng = &mut fastrand::Rng::with_seed(23);
    for (width, z_min, z_max) in
        [(0.2, -200.0, 200.0), (0.2, -30.0, 819.0), (0.1, -300.0, -100.0), (7.0, -2.8e4, 2.8e4)]
    {
        let bins = ZBins::new((z_min, z_max), width).expect("a range");
        let (scale, offset) = (f64::from(OFFSET_STEPS) / bins.width, (0.5 - bins.offset) * f64::from(OFFSET_STEPS));
        let edge = |rng: &mut fastrand::Rng| (z_min / width).ceil() * width + width * f64::from(rng.u32(0..100)) / 2.0;
        let z: Vec<f64> = (0..20_000)
            .map(|i| match i % 4 {
                0 => edge(rng),
                1 => edge(rng).next_up(),
                _ => z_min + (z_max - z_min) * rng.f64(),
            })
            .map(|z| z.clamp(z_min, z_max))
            .collect();
        let single: Vec<f32> = z.iter().map(|&z| z as f32).collect();
        for (what, arch) in arches() {
            let mut found = z.clone();
            arch.dispatch(StepConversion { numbers: &mut found, scale, offset });
            for (z, steps) in z.iter().zip(&found) {
                assert_eq!(steps.low_bits(), z.whole_steps(scale, offset) << ENTRY_SHIFT, "{what}: {z}");
            }
            let (scale, offset) = (scale as f32, offset as f32);
            let mut found = single.clone();
            arch.dispatch(StepConversion { numbers: &mut found, scale, offset });
            for (z, steps) in single.iter().zip(&found) {
                assert_eq!(steps.low_bits(), z.whole_steps(scale, offset) << ENTRY_SHIFT, "{what}: {z}");
            }
        }
    }
}

/// Steps in place of z, of whole vectors.
struct StepConversion<'a, R> {
    numbers: &'a mut [R],
    scale: R,
    offset: R,
}

impl<R: Lanes> WithSimd for StepConversion<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let steps = R::steps(simd, self.scale, self.offset);
        for numbers in self.numbers.chunks_exact_mut(R::count::<S>()) {
            let z = R::vectors(simd, numbers)[0];
            R::store(simd, numbers, R::entries_of(simd, z, steps));
        }
    }
}

#[test]
fn places_of_lanes_are_told() {
    for (what, arch) in arches() {
        for bits in 0..1u32 << 16 {
            let mut places = [0; 16];
            let Some(count) = arch.dispatch(PlacePacking { bits, first: 100, to: &mut places }) else { break };
            let wanted: Vec<u32> = (0..16).filter(|lane| bits >> lane & 1 == 1).map(|lane| 100 + lane).collect();
            assert_eq!(&places[..count], &wanted, "{what}");
        }
    }
}

struct PlacePacking<'a> {
    bits: u32,
    first: u32,
    to: &'a mut [u32],
}

impl WithSimd for PlacePacking<'_> {
    /// None beyond the lanes of a vector.
    type Output = Option<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<usize> {
        let there = self.bits >> f32::count::<S>() == 0;
        there.then(|| pack_places(simd, self.bits, self.first, self.to))
    }
}
