//! Finds tracks in the innermost barrel layers.

use std::cell::Cell;
use std::f64::consts::{PI, TAU};

use zfinder::detector::{LayerKind, Sensor};
use zfinder::internals::normalised;
use zfinder::{Config, Detector, PhiWindow, RoiView};

use super::BeamSpotFinder;
use crate::error::{Error, Result};

/// Number of barrel layers that are used, if the detector has as many.
const LAYERS: usize = 4;
/// Lowest pT \[GeV\]: softer tracks scatter too much.
const LEAST_PT_GEV: f64 = 1.0;
/// Error of a spacepoint across the track \[mm\], and scattering of a 1 GeV track in a layer
/// \[rad\]. Cuts are multiples of both.
const ACROSS_MM: f64 = 0.02;
const SCATTERING: f64 = 0.002;
/// Cuts, in standard deviations.
const CUT: f64 = 3.5;
/// Largest distance of spacepoints from the radius of their layer \[mm\].
const STAGGER_MM: f64 = 6.0;
/// Errors along the beam if the detector does not state them \[mm\].
const PIXEL_Z_MM: f64 = 0.15;
const STRIP_Z_MM: f64 = 1.0;
/// Most combinations that are tried in an RoI. 200 collisions in the generic detector need about as
/// many.
const MOST_COMBINATIONS: u64 = 20_000_000;
/// Spacepoints of the second layer are tried in steps of this many in phi, so that a search that
/// runs out of budget covers all directions.
const STRIDE: usize = 32;
/// Tracks closer than this in direction (phi, cot theta) are one particle, measured twice where
/// modules overlap.
const SAME_PHI: f64 = 0.02;
const SAME_COT: f64 = 0.03;

/// A vector in the plane across the beam \[mm\].
pub(super) type Plane = [f64; 2];

pub(super) fn minus(a: Plane, b: Plane) -> Plane {
    [a[0] - b[0], a[1] - b[1]]
}

pub(super) fn dot(a: Plane, b: Plane) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

fn cross(a: Plane, b: Plane) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

/// A spacepoint in Cartesian coordinates \[mm\].
#[derive(Clone, Copy, Debug)]
struct Hit {
    phi: f64,
    at: Plane,
    z: f64,
}

/// The spacepoints of a layer, by bins of phi, sorted by z in each bin.
#[derive(Default)]
struct LayerHits {
    hits: Vec<Hit>,
    /// The end of each bin.
    ends: Vec<usize>,
}

impl LayerHits {
    const BINS: usize = 256;

    fn new(mut hits: Vec<Hit>) -> Self {
        let bin = |hit: &Hit| (Self::place(hit.phi) as usize).min(Self::BINS - 1);
        hits.sort_by(|a, b| {
            let by_z = bin(a).cmp(&bin(b)).then(a.z.total_cmp(&b.z));
            by_z.then(a.phi.total_cmp(&b.phi)).then(a.at[0].total_cmp(&b.at[0]))
        });
        let ends = (0..Self::BINS).map(|number| hits.partition_point(|hit| bin(hit) <= number)).collect();
        Self { hits, ends }
    }

    /// Returns phi in bins, from -pi.
    fn place(phi: f64) -> f64 {
        (phi + PI) / TAU * Self::BINS as f64
    }

    /// Returns spacepoints with phi within reach and z in a range, until the budget is spent.
    fn near(
        &self,
        phi: f64,
        reach: f64,
        (z_low, z_high): (f64, f64),
        budget: &Budget,
    ) -> impl Iterator<Item = (usize, Hit)> {
        // A reach of pi would visit bins twice.
        let reach = reach.min(3.0);
        let (first, last) = (Self::place(phi - reach).floor() as i64, Self::place(phi + reach).floor() as i64);
        (first..=last)
            .flat_map(move |bin| {
                let bin = bin.rem_euclid(Self::BINS as i64) as usize;
                let begin = if bin == 0 { 0 } else { self.ends[bin - 1] };
                let end = self.ends[bin];
                let begin = begin + self.hits[begin..end].partition_point(|hit| hit.z < z_low);
                (begin..end).take_while(move |&index| self.hits[index].z <= z_high)
            })
            .take_while(|_| budget.take())
            .map(|index| (index, self.hits[index]))
            .filter(move |(_, hit)| normalised(hit.phi - phi).abs() <= reach)
    }
}

/// Number of combinations that may still be tried.
struct Budget(Cell<u64>);

impl Budget {
    /// Takes one combination from the budget; false if the budget is spent.
    fn take(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0
    }

    fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

/// A circle a |q|^2 + b · q = 0, with q relative to a point on the circle.
#[derive(Clone, Copy, Debug)]
struct Circle {
    through: Plane,
    a: f64,
    b: Plane,
    /// |b|, which is 2 a times the radius.
    norm: f64,
}

impl Circle {
    fn new([first, second, third]: [Plane; 3]) -> Self {
        let (q, r) = (minus(second, first), minus(third, first));
        let (q_square, r_square) = (dot(q, q), dot(r, r));
        let b = [r_square * q[1] - q_square * r[1], q_square * r[0] - r_square * q[0]];
        Self { through: first, a: cross(q, r), b, norm: dot(b, b).sqrt() }
    }

    /// Returns the signed curvature \[1/mm\].
    fn curvature(&self) -> f64 {
        2.0 * self.a / self.norm
    }

    /// Returns the signed distance of a point \[mm\], and the unit normal there.
    fn distance(&self, point: Plane) -> (f64, Plane) {
        let q = minus(point, self.through);
        let value = self.a * dot(q, q) + dot(self.b, q);
        let gradient = [2.0 * self.a * q[0] + self.b[0], 2.0 * self.a * q[1] + self.b[1]];
        // |gradient|^2 = norm^2 + 4 a value.
        let steepness = dot(gradient, gradient).sqrt();
        (2.0 * value / (self.norm + steepness), gradient.map(|component| component / steepness))
    }
}

/// A track: the circle through three of its spacepoints, and its line in z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Track {
    circle: Circle,
    inner: (Plane, f64),
    outer: (Plane, f64),
    /// Index of the RoI in the order of RoIs.
    pub(super) roi: u32,
}

/// A track relative to a point near its origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackFromPoint {
    /// Signed distance of the point from the track \[mm\].
    pub(super) d: f64,
    /// Derivative of d with respect to the point: the unit normal.
    pub(super) normal: Plane,
    /// z of the track at its closest approach \[mm\].
    pub(super) z: f64,
    /// cot theta.
    pub(super) cot: f64,
}

impl Track {
    pub(super) fn curvature(&self) -> f64 {
        self.circle.curvature().abs()
    }

    /// Returns the track relative to a point.
    pub(super) fn seen_from(&self, point: Plane) -> TrackFromPoint {
        let (d, normal) = self.circle.distance(point);
        // Distance along the track, from the point to the spacepoint.
        let along = |at: Plane| cross(normal, minus(at, point)).abs();
        let (near, far) = (along(self.inner.0), along(self.outer.0));
        let cot = (self.outer.1 - self.inner.1) / (far - near);
        TrackFromPoint { d, normal, z: self.inner.1 - cot * near, cot }
    }
}

/// A layer that is used.
#[derive(Clone, Copy, Debug)]
struct UsedLayer {
    layer: u32,
    radius: f64,
    z_error: f64,
}

/// Finds tracks RoI by RoI.
#[derive(Clone, Debug)]
pub(super) struct TrackFinder {
    layers: Vec<UsedLayer>,
    most_curvature: f64,
    z_range: (f64, f64),
}

/// Spacepoints that form a track, by layer, and the deviation from a circle and a line.
struct Candidate {
    hits: [usize; LAYERS],
    badness: f64,
}

impl TrackFinder {
    pub(super) fn new(detector: &Detector, config: &Config) -> Result<Self> {
        let mut layers: Vec<UsedLayer> = (0..)
            .zip(detector.layers())
            .filter_map(|(layer, about)| {
                let LayerKind::Barrel { radius_mm } = about.kind else { return None };
                let by_sensor = if about.sensor == Some(Sensor::Pixel) { PIXEL_Z_MM } else { STRIP_Z_MM };
                Some(UsedLayer { layer, radius: radius_mm, z_error: about.z_resolution_mm.unwrap_or(by_sensor) })
            })
            .collect();
        layers.sort_by(|a, b| a.radius.total_cmp(&b.radius));
        layers.truncate(LAYERS);
        if layers.len() < 3 {
            return Err(Error::FewBarrels { detector: detector.name().to_owned(), barrels: layers.len() });
        }
        Ok(Self {
            layers,
            most_curvature: 0.0003 * config.field_t / LEAST_PT_GEV,
            z_range: (config.z_min_mm, config.z_max_mm),
        })
    }

    /// Returns pT in units of the lowest pT.
    fn hardness(&self, curvature: f64) -> f64 {
        self.most_curvature / curvature.abs().max(1e-12)
    }

    /// Returns the error of a track's z at the beam \[mm\].
    pub(super) fn z_error(&self, track: &Track, cot: f64) -> f64 {
        let (inner, outer) = (self.layers[0], self.layers[2]);
        let lever = outer.radius - inner.radius;
        let measured = (outer.radius * inner.z_error).hypot(inner.radius * outer.z_error) / lever;
        let scattering = SCATTERING / (LEAST_PT_GEV * self.hardness(track.curvature()).max(1.0));
        measured.hypot(scattering * inner.radius * (1.0 + cot * cot))
    }

    /// Adds the tracks of an RoI.
    pub(super) fn find(&self, roi: RoiView<'_>, number: u32, found: &mut Vec<Track>) {
        let hits = self.hits(roi);
        let mut candidates = self.candidates(&hits);
        candidates.sort_by(|a, b| a.badness.total_cmp(&b.badness).then(a.hits.cmp(&b.hits)));
        let mut used: Vec<Vec<bool>> = hits.iter().map(|layer| vec![false; layer.hits.len()]).collect();
        let mut kept: Vec<(Plane, f64)> = Vec::new();
        for Candidate { hits: indices, .. } in candidates {
            let mut of_layers = used.iter_mut().zip(indices);
            if of_layers.any(|(used, index)| used[index]) {
                continue;
            }
            let hit = |layer: usize| hits[layer].hits[indices[layer]];
            let last = self.layers.len() - 1;
            let middle = last - 1;
            let track = Track {
                circle: Circle::new([hit(0).at, hit(middle).at, hit(last).at]),
                inner: (hit(0).at, hit(0).z),
                outer: (hit(2).at, hit(2).z),
                roi: number,
            };
            let TrackFromPoint { normal, cot, .. } = track.seen_from([0.0; 2]);
            let is_same = |&(other, other_cot): &(Plane, f64)| {
                cross(other, normal).abs() < SAME_PHI && dot(other, normal) > 0.0 && (cot - other_cot).abs() < SAME_COT
            };
            used.iter_mut().zip(indices).for_each(|(used, index)| used[index] = true);
            if !kept.iter().any(is_same) {
                kept.push((normal, cot));
                found.push(track);
            }
        }
    }

    /// Returns the spacepoints of each used layer, sorted by phi.
    fn hits(&self, roi: RoiView<'_>) -> Vec<LayerHits> {
        let window = match roi.descriptor.window {
            Some(PhiWindow::Range { phi_min, phi_max }) => Some(PhiWindow::edges(phi_min, phi_max)),
            _ => None,
        };
        let mut hits = vec![Vec::new(); self.layers.len()];
        for point in roi.spacepoints() {
            let Some(used) = self.layers.iter().position(|used| used.layer == point.layer) else { continue };
            let radius = self.layers[used].radius;
            if !point.phi.is_finite() || !point.z.is_finite() || (point.rho - radius).abs().is_nan() {
                continue;
            }
            let phi = normalised(point.phi);
            let is_near = (point.rho - radius).abs() < 0.2 * radius;
            if is_near && window.is_none_or(|(low, width)| (phi - low).rem_euclid(TAU) < width) {
                let (sin, cos) = phi.sin_cos();
                hits[used].push(Hit { phi, at: [point.rho * cos, point.rho * sin], z: point.z });
            }
        }
        hits.into_iter().map(LayerHits::new).collect()
    }

    /// Returns all combinations of spacepoints that form a track. The search starts from pairs on
    /// the second and third layer, and continues inwards and outwards.
    fn candidates(&self, hits: &[LayerHits]) -> Vec<Candidate> {
        let [second, third] = [1, 2].map(|used| self.layers[used]);
        let most_off = BeamSpotFinder::MOST_OFF_MM;
        // Along a track with impact parameter d0, phi changes by d0 / rho, and by bending.
        let asin = |x: f64| x.min(1.0).asin();
        let reach = asin(most_off / second.radius) - asin(most_off / third.radius)
            + 0.5 * self.most_curvature * (third.radius - second.radius)
            + 0.002;
        let (z_low, z_high) = self.z_range;
        let z_slack = 20.0;
        let (mut candidates, mut triplets) = (Vec::new(), Vec::new());
        let budget = Budget(Cell::new(MOST_COMBINATIONS));
        let count = hits[1].hits.len();
        for index in (0..STRIDE.min(count)).flat_map(|start| (start..count).step_by(STRIDE)) {
            let b = hits[1].hits[index];
            let onwards = third.radius / second.radius - 1.0;
            let z_window = [z_high + z_slack, z_low - z_slack].map(|z0| b.z + (b.z - z0) * onwards);
            for (index_c, c) in hits[2].near(b.phi, reach, z_window.into(), &budget) {
                let step = minus(c.at, b.at);
                let length = dot(step, step).sqrt();
                let across = cross(step, b.at) / length;
                if across.abs() > 1.2 * most_off + 2.0 {
                    continue;
                }
                triplets.clear();
                self.inwards(&hits[0], b, c, &budget, &mut triplets);
                for &(index_a, a, badness) in &triplets {
                    let indices = [index_a, index, index_c];
                    candidates.extend(self.outwards(hits, indices, [a, b, c], badness, &budget));
                }
            }
            if budget.is_spent() {
                break;
            }
        }
        candidates
    }

    /// Finds spacepoints of the first layer that match a pair.
    fn inwards(&self, hits: &LayerHits, b: Hit, c: Hit, budget: &Budget, found: &mut Vec<(usize, Hit, f64)>) {
        let [first, second, third] = [0, 1, 2].map(|used| self.layers[used]);
        let step = minus(c.at, b.at);
        let length = dot(step, step).sqrt();
        let direction = step.map(|component| component / length);
        // Intersection of the line with the first layer.
        let (along, across) = (dot(b.at, direction), cross(direction, b.at));
        let radial = (first.radius * first.radius - across * across).max(0.0).sqrt();
        let back = along - radial;
        let expected = minus(b.at, direction.map(|component| component * back));
        let sagitta = 0.5 * self.most_curvature * (second.radius - first.radius) * (third.radius - first.radius);
        let margin = STAGGER_MM * across.abs() / first.radius;
        let reach = (sagitta + margin + 0.2) / first.radius;
        let slope = (c.z - b.z) / length;
        let ratio = back / length;
        let measured = first.z_error.hypot(second.z_error * (1.0 + ratio)).hypot(third.z_error * ratio);
        let error = measured.hypot(SCATTERING * back * (1.0 + slope * slope));
        // The radius of the spacepoint may differ from that of the layer.
        let slack = CUT * error + STAGGER_MM * slope.abs();
        let z = b.z - slope * back;
        for (index, a) in hits.near(expected[1].atan2(expected[0]), reach, (z - slack, z + slack), budget) {
            let to_a = dot(minus(b.at, a.at), direction);
            let off = (a.z - (b.z - slope * to_a)) / error;
            if off.abs() < CUT {
                found.push((index, a, off * off));
            }
        }
    }

    /// Applies the cuts on the circle of a triplet, and finds its best confirmation.
    fn outwards(
        &self,
        hits: &[LayerHits],
        [index_a, index_b, index_c]: [usize; 3],
        [a, b, c]: [Hit; 3],
        badness: f64,
        budget: &Budget,
    ) -> Option<Candidate> {
        let circle = Circle::new([a.at, b.at, c.at]);
        let is_track = circle.norm > 0.0
            && circle.curvature().abs() <= self.most_curvature
            && circle.distance([0.0; 2]).0.abs() <= BeamSpotFinder::MOST_OFF_MM;
        if !is_track {
            return None;
        }
        let Some(&fourth) = self.layers.get(3) else {
            return Some(Candidate { hits: [index_a, index_b, index_c, 0], badness });
        };
        let [r0, r1, r2] = [0, 1, 2].map(|used| self.layers[used].radius);
        let r = fourth.radius;
        // Error of the circle at its intersection with the fourth layer.
        let weights = [
            (r - r1) * (r - r2) / ((r0 - r1) * (r0 - r2)),
            (r - r0) * (r - r2) / ((r1 - r0) * (r1 - r2)),
            (r - r0) * (r - r1) / ((r2 - r0) * (r2 - r1)),
        ];
        let measured = ACROSS_MM * (1.0 + weights.iter().map(|w| w * w).sum::<f64>()).sqrt();
        let scattering = SCATTERING * (r - r1) / self.hardness(circle.curvature()).max(1.0);
        let across_error = measured.hypot(1.5 * scattering);
        let length = dot(minus(c.at, a.at), minus(c.at, a.at)).sqrt();
        let slope = (c.z - a.z) / length;
        let ratio = (r - r2) / (r2 - r0);
        let z_error = (fourth.z_error.hypot(self.layers[2].z_error * (1.0 + ratio)))
            .hypot(self.layers[0].z_error * ratio)
            .hypot(SCATTERING * (r - r2) * (1.0 + slope * slope));
        // A straight continuation from the third spacepoint, within the bending.
        let direction = minus(c.at, a.at).map(|component| component / length);
        let (along, off) = (dot(c.at, direction), cross(direction, c.at));
        let on = (r * r - off * off).max(0.0).sqrt() - along;
        let expected = [c.at[0] + on * direction[0], c.at[1] + on * direction[1]];
        let bend = 0.5 * circle.curvature().abs() * (r - r2) * (r - r0);
        let reach = (bend + CUT * across_error + STAGGER_MM * off.abs() / r + 0.2) / r;
        let mut best: Option<(f64, usize)> = None;
        let (z, slack) = (c.z + slope * on, CUT * z_error + STAGGER_MM * slope.abs());
        for (index, hit) in hits[3].near(expected[1].atan2(expected[0]), reach, (z - slack, z + slack), budget) {
            let across = circle.distance(hit.at).0 / across_error;
            let to_hit = dot(minus(hit.at, c.at), direction);
            let along_z = (hit.z - (c.z + slope * to_hit)) / z_error;
            if across.abs() < CUT && along_z.abs() < CUT {
                let badness = badness + across * across + along_z * along_z;
                if best.is_none_or(|(least, _)| badness < least) {
                    best = Some((badness, index));
                }
            }
        }
        best.map(|(badness, index)| Candidate { hits: [index_a, index_b, index_c, index], badness })
    }
}
