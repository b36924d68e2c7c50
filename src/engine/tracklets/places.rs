//! z of tracklets on the beam, in vectors of eight tracklets with similar errors.
//!
//! Tracklets of one vector reach about as far, so that few lanes are idle.

use std::f64::consts::TAU;
use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use crate::engine::tracklets::lanes::Eight;
use crate::engine::tracklets::vertex_fit::ERROR_FLOOR_MM;
use crate::tracklet::Tracklet;

/// Tracklets with larger errors name no vertex \[mm\].
const MAX_ERROR_MM: f64 = 1.0;
/// A tracklet farther than so many errors does not belong to a vertex.
pub(super) const REACH: f64 = 6.5;
/// Classes of tracklets: their largest errors are powers of 2.
pub(super) const CLASSES: usize = 5;
/// The density of tracklets is counted in cells of 1 mm, so many to both sides.
const DENSITY_REACH: usize = 30;
/// Tracklets of no vertex as a part of the density: with more than three hits, and with three,
/// which are mostly wrong combinations where they are steep.
const BACKGROUND: f64 = 0.02;
const BACKGROUND_OF_THREE: f64 = 0.6;
const STEEP: f64 = 2.0;

/// Places of eight tracklets. Lanes without a tracklet repeat the last one with an infinite
/// background, and are not free.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EightPlaces {
    pub(super) z: Eight,
    pub(super) error: Eight,
    /// 1 / error^2.
    pub(super) weight: Eight,
    /// Density of tracklets of its kind that belong to no vertex, over the largest density of the
    /// tracklet.
    pub(super) background: Eight,
    /// 1 until a dense place takes the tracklet, and 0 afterwards.
    pub(super) free: Eight,
    /// The least and the largest z of vertices that they may belong to.
    pub(super) reach: [f64; 2],
    /// The tracklets' places in the list.
    pub(super) of: [u32; Eight::LANES],
}

/// The places of tracklets that may name a vertex.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Class by class, ascending in z.
    pub(super) all: Vec<EightPlaces>,
    /// The least and the largest z of each of them.
    ends: Vec<[f64; 2]>,
    /// Where the places of each class are, the smallest errors first.
    classes: [Range<usize>; CLASSES],
    /// Class and z, and the place in the list.
    order: Vec<(u64, u32)>,
    /// By the tracklets' places in the list.
    errors2: Vec<f64>,
    /// Of each cell: the tracklets in it and in those before it.
    counts: Vec<u32>,
}

impl Places {
    /// Takes the tracklets that may name a vertex.
    pub(super) fn fill(&mut self, beam_width: f64, [z_min, z_max]: [f64; 2], tracklets: &[Tracklet]) {
        let Self { all, ends, classes, order, errors2, counts } = self;
        let cells = (z_max - z_min).ceil() as usize + 1;
        let cell = |z: f64| (z - z_min).clamp(0.0, (cells - 1) as f64) as usize;
        counts.clear();
        counts.resize(cells + 1, 0);
        order.clear();
        errors2.clear();
        for (of, tracklet) in (0..).zip(tracklets) {
            let width = beam_width * tracklet.cot_theta;
            let error2 = tracklet.z_covariance[0] + 0.5 * width * width + ERROR_FLOOR_MM * ERROR_FLOOR_MM;
            errors2.push(error2);
            if error2 < MAX_ERROR_MM * MAX_ERROR_MM {
                counts[cell(tracklet.z0_mm) + 1] += 1;
                order.push((key(class(error2), tracklet.z0_mm), of));
            }
        }
        order.sort_unstable();
        for i in 0..cells {
            counts[i + 1] += counts[i];
        }
        all.clear();
        ends.clear();
        let mut rest = &order[..];
        for (number, range) in classes.iter_mut().enumerate() {
            let count = rest.partition_point(|&(key, _)| key >> CLASS_SHIFT <= number as u64);
            let begin = all.len();
            for group in rest[..count].chunks(Eight::LANES) {
                let mut places = EightPlaces { background: Eight::all(f64::INFINITY), ..EightPlaces::default() };
                for lane in 0..Eight::LANES {
                    let of = group[lane.min(group.len() - 1)].1;
                    let tracklet = &tracklets[of as usize];
                    places.z.0[lane] = tracklet.z0_mm;
                    places.error.0[lane] = errors2[of as usize];
                    places.of[lane] = of;
                    if lane < group.len() {
                        let middle = cell(tracklet.z0_mm);
                        let end = (middle + DENSITY_REACH + 1).min(cells);
                        let near = counts[end] - counts[middle.saturating_sub(DENSITY_REACH)];
                        let steep = tracklet.cot_theta / STEEP;
                        let part = match tracklet.hits.len() {
                            3 => BACKGROUND_OF_THREE * (1.0 + steep * steep),
                            _ => BACKGROUND,
                        };
                        places.background.0[lane] = part * f64::from(near) / (2 * DENSITY_REACH + 1) as f64;
                        places.free.0[lane] = 1.0;
                    }
                }
                ends.push([places.z.0[0], places.z.0[Eight::LANES - 1]]);
                all.push(places);
            }
            *range = begin..all.len();
            rest = &rest[count..];
        }
        Arch::new().dispatch(FromErrors(all));
    }

    /// Returns the places of each class, and its largest error.
    pub(super) fn classes(&self) -> impl Iterator<Item = (&[EightPlaces], f64)> {
        self.classes.iter().enumerate().map(|(class, range)| (&self.all[range.clone()], max_error(class)))
    }

    /// The places of a class that may lie within so many of their errors from z.
    #[inline(always)]
    pub(super) fn near(&self, class: usize, z: f64, errors: f64) -> Range<usize> {
        let reach = errors * max_error(class);
        let Range { start, end } = self.classes[class];
        let ends = &self.ends[start..end];
        let first = ends.partition_point(|&[_, last]| last < z - reach);
        let count = ends[first..].iter().take_while(|&&[first, _]| first <= z + reach).count();
        start + first..start + first + count
    }
}

/// The largest error of a class \[mm\].
fn max_error(class: usize) -> f64 {
    MAX_ERROR_MM / (1 << (CLASSES - 1 - class)) as f64
}

fn class(error2: f64) -> usize {
    (0..CLASSES - 1).filter(|&class| error2 >= max_error(class) * max_error(class)).count()
}

/// Bits of z in a key.
const CLASS_SHIFT: u32 = 61;

/// A number in the order of classes, and of z in a class.
fn key(class: usize, z: f64) -> u64 {
    let bits = z.to_bits();
    let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    (class as u64) << CLASS_SHIFT | ascending >> (64 - CLASS_SHIFT)
}

/// Computes what follows from the squares of errors, which are where errors will be.
struct FromErrors<'a>(&'a mut [EightPlaces]);

impl NullaryFnOnce for FromErrors<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for places in self.0 {
            places.weight = Eight::all(1.0) / places.error;
            places.error = places.error.sqrt();
            let reach = Eight::all(REACH) * places.error;
            places.reach = [(places.z - reach).least(), (places.z + reach).most()];
            places.background = places.background * places.error * Eight::all(TAU.sqrt());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_near_a_z_are_found_in_their_classes() {
        let rng = &mut fastrand::Rng::with_seed(46);
        let tracklet = |rng: &mut fastrand::Rng| Tracklet {
            z0_mm: 40.0 * (rng.f64() - 0.5),
            z_covariance: [rng.f64().powi(6), 0.0, 0.0],
            ..Tracklet::default()
        };
        let tracklets: Vec<Tracklet> = (0..500).map(|_| tracklet(rng)).collect();
        let mut places = Places::default();
        places.fill(0.0, [-30.0, 30.0], &tracklets);
        assert_eq!(places.all.iter().map(|eight| eight.free.sum()).sum::<f64>(), tracklets.len() as f64);
        for (class, max_error) in places.classes() {
            assert!(class.iter().all(|eight| eight.error.most() < max_error));
            assert!(class.is_sorted_by(|a, b| a.z.most() <= b.z.least()));
        }
        for _ in 0..100 {
            let (z, errors) = (40.0 * (rng.f64() - 0.5), 7.0 * rng.f64());
            let near: Vec<usize> = (0..CLASSES).flat_map(|class| places.near(class, z, errors)).collect();
            for (number, eight) in places.all.iter().enumerate() {
                let is_near = (0..Eight::LANES).any(|i| (eight.z.0[i] - z).abs() < errors * eight.error.0[i]);
                assert!(!is_near || near.contains(&number), "{z}: {eight:?}");
            }
        }
    }
}
