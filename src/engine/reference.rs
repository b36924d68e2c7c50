//! The reference engine: serial, f64, straight from the specification. It shares no stage with the other engines, so
//! that agreement between them means something.

use std::f64::consts::{PI, TAU};

use crate::config::{Config, DefaultWindow, Triplets, ZBins};
use crate::detector::Detector;
use crate::error::Result;
use crate::spacepoint::{PhiWindow, RoiBatch, RoiView, normalised, usable};
use crate::vertex::{RoiResult, Status, Vertex};

pub(crate) struct ReferenceEngine {
    config: Config,
    detector: Detector,
    neighbours: Vec<Vec<u32>>,
}

/// A spacepoint as the search uses it: phi from the lower edge of the window.
#[derive(Clone, Copy)]
struct Point {
    rho: f64,
    phi: f64,
    z: f64,
}

/// Kept spacepoints by layer and slice, and the window they lie in.
struct Sliced {
    /// `cells[layer][slice]`
    cells: Vec<Vec<Vec<Point>>>,
    slices: i64,
    /// Slices at both ends are neighbours.
    ring: bool,
    /// Layers with a spacepoint, ascending.
    filled: Vec<usize>,
    kept: usize,
    outside: usize,
}

struct Histograms {
    n: Vec<u64>,
    z: Vec<f64>,
}

impl ReferenceEngine {
    pub(crate) fn new(config: &Config, detector: &Detector) -> Self {
        Self { config: config.clone(), detector: detector.clone(), neighbours: detector.neighbours(config) }
    }

    pub(crate) fn find_batch(&self, batch: &RoiBatch) -> Result<Vec<RoiResult>> {
        batch.iter().map(|roi| self.find(roi)).collect()
    }

    pub(crate) fn find(&self, roi: RoiView<'_>) -> Result<RoiResult> {
        let bins = self.config.z_bins(roi.descriptor.eta, roi.descriptor.z_range)?;
        let mut result = RoiResult {
            id: roi.descriptor.id,
            vertices: Vec::new(),
            status: Status::BadSpacepoint,
            spacepoints: 0,
            outside_window: 0,
        };
        let Some(sliced) = self.slice_spacepoints(roi) else { return Ok(result) };
        result.spacepoints = sliced.kept;
        result.outside_window = sliced.outside;
        if sliced.kept == 0 {
            result.status = Status::Empty;
            return Ok(result);
        }
        let mut histograms = self.find_z(&sliced, &bins, roi.descriptor.eta);
        result.vertices = self.find_peaks(&mut histograms, &bins);
        result.status = if result.vertices.is_empty() { Status::NoPeak } else { Status::Ok };
        Ok(result)
    }

    /// None: a spacepoint that cannot be.
    fn slice_spacepoints(&self, roi: RoiView<'_>) -> Option<Sliced> {
        let layers = self.detector.layers().len();
        let [x0, y0] = self.config.beam_spot_mm;
        let mut points = Vec::new();
        for s in roi.spacepoints() {
            if !usable(s.rho, s.phi, s.z) || s.layer as usize >= layers {
                return None;
            }
            let (rho, phi) = if x0 == 0.0 && y0 == 0.0 {
                (s.rho, normalised(s.phi))
            } else {
                let (x, y) = (s.rho * s.phi.cos() - x0, s.rho * s.phi.sin() - y0);
                ((x * x + y * y).sqrt(), y.atan2(x))
            };
            if !usable(rho, phi, s.z) {
                return None;
            }
            points.push((s.layer as usize, Point { rho, phi, z: s.z }));
        }

        let window = roi.descriptor.window.unwrap_or(match self.config.phi_window {
            DefaultWindow::FullScan => PhiWindow::FullScan,
            DefaultWindow::Spacepoints => PhiWindow::FromSpacepoints,
        });
        let full = window == PhiWindow::FullScan;
        let (phi_min, width) = match window {
            PhiWindow::FullScan => (-PI, TAU),
            PhiWindow::Range { phi_min, phi_max } => PhiWindow::edges(phi_min, phi_max),
            PhiWindow::FromSpacepoints => window_of(points.iter().map(|(_, p)| p.phi)),
        };
        let inv = self.config.slices_per_rad();
        // 2 pi over a slice that divides the circle must not round up to one slice more.
        let slices = ((width * inv - 1e-9).ceil() as i64).max(1);
        let mut cells = vec![vec![Vec::new(); slices as usize]; layers];
        let (mut kept, mut outside) = (0, 0);
        for (layer, mut point) in points {
            let mut phi = point.phi - phi_min;
            if phi < 0.0 {
                phi += TAU;
            }
            if phi >= TAU {
                phi -= TAU;
            }
            if phi >= width {
                outside += 1;
                continue;
            }
            kept += 1;
            point.phi = phi;
            let slice = ((phi * inv).floor() as i64).min(slices - 1);
            cells[layer][slice as usize].push(point);
        }
        let filled = (0..layers).filter(|&l| cells[l].iter().any(|cell| !cell.is_empty())).collect();
        Some(Sliced { cells, slices, ring: full && self.config.wrap_full_scan, filled, kept, outside })
    }

    /// n(A, B) at the RoI's eta.
    fn reach(&self, inner: usize, outer: usize, eta: f64) -> i64 {
        let n = i64::from(self.neighbours[inner][outer]);
        let layers = self.detector.layers();
        if layers[inner].is_endcap() || layers[outer].is_endcap() {
            return (n - i64::from(self.detector.endcap_shift(&self.config, eta))).max(1);
        }
        n
    }

    fn find_z(&self, sliced: &Sliced, bins: &ZBins, eta: f64) -> Histograms {
        let mut histograms = Histograms { n: vec![0; bins.bins as usize], z: vec![0.0; bins.bins as usize] };
        let filled = &sliced.filled;
        let inner = (self.config.first_layers as usize).min(filled.len().saturating_sub(1));
        for s in 0..sliced.slices {
            for (i, &layer_a) in filled[..inner].iter().enumerate() {
                for a in &sliced.cells[layer_a][s as usize] {
                    for (j, &layer_b) in filled.iter().enumerate().skip(i + 1) {
                        let n = self.reach(layer_a, layer_b, eta);
                        for (step, b) in sliced.around(layer_b, s, n, n) {
                            let z12 = (b.z * a.rho - a.z * b.rho) / (a.rho - b.rho);
                            if !(bins.z_min < z12 && z12 < bins.z_max) {
                                continue;
                            }
                            let weight = match self.config.triplets {
                                Triplets::Off => 1,
                                _ => self.confirmations(sliced, &filled[j + 1..], layer_b, s, step, a, &b, eta),
                            };
                            let bin = (z12 / bins.width - bins.offset).round_ties_even() as usize;
                            histograms.n[bin] += weight;
                            histograms.z[bin] += weight as f64 * z12;
                        }
                    }
                }
            }
        }
        histograms
    }

    /// How many third spacepoints confirm the pair (a, b); 1 at most when any will do. `step`: slices from a to b.
    #[expect(clippy::too_many_arguments, reason = "the pair, where it lies, and where to look")]
    fn confirmations(
        &self,
        sliced: &Sliced,
        outer: &[usize],
        layer_b: usize,
        s: i64,
        step: i64,
        a: &Point,
        b: &Point,
        eta: f64,
    ) -> u64 {
        let (z12, k12, p12) = track(a, b);
        let mut confirmations = 0;
        for &layer_c in outer {
            let n = self.reach(layer_b, layer_c, eta);
            // The bending keeps its sign.
            let below = if step >= 0 { 1 } else { n };
            let above = if step <= 0 { 1 } else { n };
            for (_, c) in sliced.around(layer_c, s + step, below, above) {
                // `around` gives phi near slice s + step of an unrolled circle, as b's is.
                let (z23, k23, p23) = track(b, &c);
                let confirms = (z23 - z12).abs() <= self.config.triplet_dz_mm
                    && (k23 - k12).abs() <= self.config.triplet_dk
                    && (p23 - p12).abs() < self.config.triplet_dp;
                if confirms {
                    if self.config.triplets == Triplets::Any {
                        return 1;
                    }
                    confirmations += 1;
                }
            }
        }
        confirmations
    }

    /// Adds a vertex, or mixes it into the nearest one if that is near. False for one that is not significant.
    fn accept(&self, vertices: &mut Vec<Vertex>, new: Vertex, bins: &ZBins) -> bool {
        let mut nearest = None;
        for (i, old) in vertices.iter().enumerate() {
            let distance = (old.z_mm - new.z_mm).abs();
            if nearest.is_none_or(|(_, least)| distance < least) {
                nearest = Some((i, distance));
            }
        }
        if let Some((i, distance)) = nearest
            && (distance < self.config.vertex_separation_bins * bins.width
                || distance < new.z_mm.abs() * self.config.vertex_distance_cut)
        {
            let (mix, old) = (self.config.vertex_mixing, vertices[i]);
            vertices[i] = Vertex {
                z_mm: mix * new.z_mm + (1.0 - mix) * old.z_mm,
                weight: mix * new.weight + (1.0 - mix) * old.weight,
                ..old
            };
            return true;
        }
        if new.significance.is_some_and(|significance| significance < self.config.min_significance) {
            return false;
        }
        vertices.push(new);
        true
    }

    fn find_peaks(&self, histograms: &mut Histograms, bins: &ZBins) -> Vec<Vertex> {
        let mut sums: Vec<u64> = histograms.n.windows(3).map(|bins| bins.iter().sum()).collect();
        sums.sort_unstable();
        let lowest = self.config.background_windows(bins) as usize;
        let background = (lowest > 0).then(|| sums[..lowest].iter().sum::<u64>() as f64 / lowest as f64);
        let mut vertices = Vec::new();
        while vertices.len() < self.config.peaks as usize {
            let (mut highest, mut at, mut distance) = (0, 0, i64::MAX);
            for left in 0..histograms.n.len() - 2 {
                let sum: u64 = histograms.n[left..left + 3].iter().sum();
                let from_centre = (left as i64 + 1 - i64::from(bins.half)).abs();
                if sum > highest || (self.config.prefer_central && sum == highest && from_centre < distance) {
                    (highest, at, distance) = (sum, left, from_centre);
                }
            }
            if highest < u64::from(self.config.least_weight()) {
                break;
            }
            let z: f64 = histograms.z[at..at + 3].iter().sum();
            let (weight, z_mm) = (highest as f64, z / highest as f64);
            let mut between = 0.0;
            for bin in at..at + 3 {
                if histograms.n[bin] > 0 {
                    let n = histograms.n[bin] as f64;
                    between += n * (histograms.z[bin] / n - z_mm).powi(2);
                }
            }
            let spread = (between / weight + bins.width * bins.width / 12.0).sqrt();
            let signal = weight - background.unwrap_or(0.0);
            let tracks = (signal.powi(2) / weight / self.detector.track_entries(&self.config)).max(1.0);
            let significance = Vertex::significance_of(weight, background);
            let vertex = Vertex { z_mm, z_error_mm: spread / tracks.sqrt(), weight, significance, background };
            if !self.accept(&mut vertices, vertex, bins) {
                break;
            }
            histograms.n[at..at + 3].fill(0);
            histograms.z[at..at + 3].fill(0.0);
        }
        vertices
    }
}

impl Sliced {
    /// Spacepoints of a layer in the slices from `s - below` to `s + above`, each with its distance from s in slices.
    /// On a ring, a slice is reached once, the shorter way round, and phi goes on beyond the ends.
    fn around(&self, layer: usize, s: i64, below: i64, above: i64) -> impl Iterator<Item = (i64, Point)> + '_ {
        let (below, above) = if self.ring && below + above >= self.slices {
            ((self.slices - 1) / 2, self.slices - 1 - (self.slices - 1) / 2)
        } else {
            (below, above)
        };
        let (from, to) =
            if self.ring { (s - below, s + above) } else { ((s - below).max(0), (s + above).min(self.slices - 1)) };
        (from..=to).flat_map(move |unrolled| {
            let slice = unrolled.rem_euclid(self.slices);
            let mut step = (slice - s).rem_euclid(self.slices);
            if !self.ring {
                step = slice - s;
            } else if 2 * step > self.slices {
                step -= self.slices;
            }
            // Whole turns between where the slice lies and where it is seen from s.
            let turns = (s + step - slice) / self.slices;
            self.cells[layer][slice as usize]
                .iter()
                .map(move |&point| (step, Point { phi: point.phi + turns as f64 * TAU, ..point }))
        })
    }
}

/// z, curvature k and azimuth p at the beam line of the track through two spacepoints.
fn track(a: &Point, b: &Point) -> (f64, f64, f64) {
    let d = a.rho - b.rho;
    ((b.z * a.rho - a.z * b.rho) / d, 2.0 * (b.phi - a.phi) / d, (b.phi * a.rho - a.phi * b.rho) / d)
}

/// Lower edge and width of the smallest window about these azimuths, positive and negative ones taken separately.
fn window_of(azimuths: impl Iterator<Item = f64>) -> (f64, f64) {
    const PAD: f64 = 1e-10;
    let (mut positive, mut negative) = (None::<(f64, f64)>, None::<(f64, f64)>);
    for phi in azimuths {
        let side = if phi > 0.0 { &mut positive } else { &mut negative };
        let (low, high) = side.get_or_insert((phi, phi));
        *low = low.min(phi);
        *high = high.max(phi);
    }
    let (low, high) = match (positive, negative) {
        (None, None) => (0.0, 0.0),
        (Some(range), None) | (None, Some(range)) => range,
        (Some(p), Some(n)) if p.0 - n.1 < PI => (n.0, p.1),
        (Some(p), Some(n)) => (p.0, n.1 + TAU),
    };
    let low = low - PAD;
    (low, (high + PAD - low).min(TAU))
}
