//! The reference engine: serial, f64, straight from the specification. It shares no stage with the other engines, so
//! that agreement between them means something.

use std::f64::consts::{PI, TAU};
use std::ops::{ControlFlow, Range};

use crate::config::{Config, DefaultWindow, Extrapolation, Triplets, Weighting, ZBins};
use crate::detector::Detector;
use crate::detector::Sensor;
use crate::error::Result;
use crate::pt_weight::PtWeight;
use crate::spacepoint::{PhiWindow, RoiBatch, RoiView, Spacepoint, normalised, usable};
use crate::vertex::{RoiResult, Status, Vertex};

/// The reference engine: serial, in f64, straight from the specification.
pub struct ReferenceEngine {
    config: Config,
    detector: Detector,
    neighbours: Vec<Vec<u32>>,
    /// Layers that take part, a bit each.
    layers: u64,
}

/// A spacepoint as the search uses it: phi from the lower edge of the window.
#[derive(Clone, Copy)]
struct Point {
    rho: f64,
    phi: f64,
    z: f64,
    /// Its number in the RoI.
    index: usize,
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

/// Entries by bin of z, of one histogram after the other. There may be thousands: memory in one piece goes back to the
/// system, that of many small ones stays with the thread.
pub struct Histograms {
    /// Of each.
    bins: usize,
    n: Vec<u64>,
    z: Vec<f64>,
    pairs: Vec<u64>,
    /// Where weights go by pT: sectors of phi with soft and with hard tracks, a bit each.
    sectors: Vec<[u32; 2]>,
}

/// One histogram of [`Histograms`].
#[derive(Clone, Copy)]
pub struct Histogram<'a> {
    /// Sums of weights.
    pub n: &'a [u64],
    /// Sums of weight times z \[mm\].
    pub z: &'a [f64],
    /// Pairs, whatever their weight.
    pub pairs: &'a [u64],
    sectors: &'a [[u32; 2]],
}

/// A pair of spacepoints, a on the inner layer, and where it lies.
struct Candidate<'a> {
    a: &'a Point,
    b: Point,
    layer_a: usize,
    layer_b: usize,
    /// The filled layers beyond b's, where third spacepoints may lie.
    outer: &'a [usize],
    /// The slice of a, and slices from there to b.
    s: i64,
    step: i64,
    z12: f64,
    bin: usize,
}

/// A vertex, and where it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The vertex, as in [`RoiResult::vertices`].
    pub vertex: Vertex,
    /// The number of its histogram in [`Filled::histograms`].
    pub histogram: usize,
    /// The first of its three bins. Bins that an earlier peak had as well were empty by then.
    pub first_bin: usize,
}

/// A pair of spacepoints, about the beam, that a peak consists of.
#[cfg(feature = "internals")]
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// On the inner layer.
    pub inner: Spacepoint,
    /// On the outer layer.
    pub outer: Spacepoint,
    /// Those further out that confirm it; none where none are asked for.
    pub thirds: Vec<Spacepoint>,
    /// Where the line through the two meets the beam \[mm\].
    pub z_mm: f64,
    /// What it counts.
    pub weight: u64,
}

/// What a pair enters with.
#[derive(Default)]
struct Entry {
    weight: u64,
    sectors: [u32; 2],
}

/// An RoI in histograms, before peaks are looked for; without any where nothing can be.
pub struct Filled {
    /// The answer, without its vertices.
    pub result: RoiResult,
    /// The histograms of each charge and of each slice.
    pub histograms: Histograms,
    bins: ZBins,
}

#[cfg(feature = "internals")]
impl Filled {
    /// Returns the lower edge of the first bin \[mm\].
    pub fn low_mm(&self) -> f64 {
        (self.bins.offset - 0.5) * self.bins.width
    }

    /// Returns the width of a bin \[mm\].
    pub fn bin_mm(&self) -> f64 {
        self.bins.width
    }

    /// Returns the number of bins of a histogram.
    pub fn bins(&self) -> usize {
        self.bins.bins as usize
    }
}

impl ReferenceEngine {
    /// Makes the engine.
    ///
    /// # Errors
    /// A configuration that this detector cannot have.
    pub fn new(config: &Config, detector: &Detector) -> Result<Self> {
        Ok(Self {
            config: config.clone(),
            detector: detector.clone(),
            neighbours: detector.neighbours(config),
            layers: detector.layers_taking_part(config)?,
        })
    }

    /// Finds the vertices of every RoI of a batch.
    ///
    /// # Errors
    /// An RoI whose z range makes no histogram.
    pub fn find_batch(&self, batch: &RoiBatch) -> Result<Vec<RoiResult>> {
        batch.iter().map(|roi| self.find(roi)).collect()
    }

    /// Finds the vertices of an RoI.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    pub fn find(&self, roi: RoiView<'_>) -> Result<RoiResult> {
        let mut filled = self.fill(roi)?;
        let peaks = self.find_peaks(&mut filled);
        filled.result.vertices = peaks.into_iter().map(|peak| peak.vertex).collect();
        Ok(filled.result)
    }

    /// Fills the histograms. The status is that of an RoI without a peak, where peaks can be looked for.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    pub fn fill(&self, roi: RoiView<'_>) -> Result<Filled> {
        let bins = self.config.z_bins(roi.descriptor.eta, roi.descriptor.z_range)?;
        let result = RoiResult {
            id: roi.descriptor.id,
            vertices: Vec::new(),
            status: Status::BadSpacepoint,
            spacepoints: 0,
            outside_window: 0,
        };
        let mut filled = Filled { result, bins, histograms: Histograms::empty(&bins, 0) };
        let Some(sliced) = self.slice_spacepoints(roi) else { return Ok(filled) };
        let result = &mut filled.result;
        result.spacepoints = sliced.kept;
        result.outside_window = sliced.outside;
        if sliced.kept == 0 {
            result.status = Status::Empty;
            return Ok(filled);
        }
        let all_bins = u64::from(self.config.histograms(sliced.slices as u32)) * u64::from(bins.bins);
        if all_bins > Config::MOST_BINS_OF_ALL {
            result.status = Status::CapacityExceeded;
            return Ok(filled);
        }
        result.status = Status::NoPeak;
        filled.histograms = self.find_z(&sliced, &bins, roi.descriptor.eta);
        Ok(filled)
    }

    /// Returns the pairs in the three bins of a peak, in the order of the search.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    #[cfg(feature = "internals")]
    pub fn pairs(&self, roi: RoiView<'_>, peak: &Peak) -> Result<Vec<Pair>> {
        let eta = roi.descriptor.eta;
        let bins = self.config.z_bins(eta, roi.descriptor.z_range)?;
        let mut pairs = Vec::new();
        let Some(sliced) = self.slice_spacepoints(roi) else { return Ok(pairs) };
        let spacepoint = |point: &Point| self.about_beam(roi.spacepoint(point.index)).expect("it was sliced");
        self.each_pair(&sliced, &bins, eta, |pair| {
            if !(peak.first_bin..peak.first_bin + 3).contains(&pair.bin)
                || !self.histograms_of(&sliced, &pair, eta).contains(&peak.histogram)
            {
                return;
            }
            let weight = self.entry(&sliced, &pair, eta).weight;
            if weight > 0 {
                let mut thirds = Vec::new();
                self.each_third(&sliced, &pair, eta, |_, c| {
                    thirds.push(spacepoint(&c));
                    ControlFlow::Continue(())
                });
                let (inner, outer) = (spacepoint(pair.a), spacepoint(&pair.b));
                pairs.push(Pair { inner, outer, thirds, z_mm: pair.z12, weight });
            }
        });
        Ok(pairs)
    }

    /// Returns a spacepoint about the beam; none if it is invalid.
    pub fn about_beam(&self, s: Spacepoint) -> Option<Spacepoint> {
        if !usable(s.rho, s.phi, s.z) {
            return None;
        }
        let [x0, y0] = self.config.beam_at(s.z);
        let about = if self.config.is_beam_at_origin() {
            Spacepoint { phi: normalised(s.phi), ..s }
        } else {
            Spacepoint::from_xyz(s.rho * s.phi.cos() - x0, s.rho * s.phi.sin() - y0, s.z, s.layer)
        };
        usable(about.rho, about.phi, about.z).then_some(about)
    }

    /// None: a spacepoint that cannot be.
    fn slice_spacepoints(&self, roi: RoiView<'_>) -> Option<Sliced> {
        let layers = self.detector.layers().len();
        let mut points = Vec::new();
        let mut left_out = 0;
        for (index, s) in roi.spacepoints().enumerate() {
            let Spacepoint { rho, phi, z, layer } = self.about_beam(s).filter(|s| (s.layer as usize) < layers)?;
            if self.layers >> layer & 1 == 0 {
                left_out += 1;
                continue;
            }
            points.push((layer as usize, Point { rho, phi, z, index }));
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
        let (mut kept, mut outside) = (0, left_out);
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

    /// Histograms of each charge, and of each slice.
    fn find_z(&self, sliced: &Sliced, bins: &ZBins, eta: f64) -> Histograms {
        let mut histograms = Histograms::empty(bins, self.config.histograms(sliced.slices as u32) as usize);
        self.each_pair(sliced, bins, eta, |pair| {
            let Entry { weight, sectors } = self.entry(sliced, &pair, eta);
            for histogram in self.histograms_of(sliced, &pair, eta) {
                let bin = histogram * histograms.bins + pair.bin;
                histograms.n[bin] += weight;
                histograms.z[bin] += weight as f64 * pair.z12;
                histograms.pairs[bin] += u64::from(weight > 0);
                for (all, new) in histograms.sectors[bin].iter_mut().zip(sectors) {
                    *all |= new;
                }
            }
        });
        histograms
    }

    /// Every pair whose z lies in the range.
    fn each_pair(&self, sliced: &Sliced, bins: &ZBins, eta: f64, mut each: impl FnMut(Candidate<'_>)) {
        let filled = &sliced.filled;
        let inner = (self.config.first_layers as usize).min(filled.len().saturating_sub(1));
        for s in 0..sliced.slices {
            for (i, &layer_a) in filled[..inner].iter().enumerate() {
                for a in &sliced.cells[layer_a][s as usize] {
                    for (j, &layer_b) in filled.iter().enumerate().skip(i + 1) {
                        let n = self.reach(layer_a, layer_b, eta);
                        for (step, b) in sliced.around(layer_b, s, n, n) {
                            let z12 = self.extrapolate(a, &b);
                            if !(bins.z_min < z12 && z12 < bins.z_max) {
                                continue;
                            }
                            let bin = (z12 / bins.width - bins.offset).round_ties_even() as usize;
                            each(Candidate { a, b, layer_a, layer_b, outer: &filled[j + 1..], s, step, z12, bin });
                        }
                    }
                }
            }
        }
    }

    fn entry(&self, sliced: &Sliced, pair: &Candidate<'_>, eta: f64) -> Entry {
        let weight = match (self.config.triplets, self.config.weighting) {
            (Triplets::Off, _) => 1,
            (_, Weighting::Pt) => {
                let pt = self.pt_weight(sliced, pair, eta);
                let sector = 1 << (pair.s * i64::from(PtWeight::SECTORS) / sliced.slices);
                let sectors = pt.directions().map(|counts| if counts { sector } else { 0 });
                return Entry { weight: pt.weight().into(), sectors };
            }
            _ => {
                let mut confirmations = 0;
                self.each_third(sliced, pair, eta, |_, _| {
                    confirmations += 1;
                    if self.config.triplets == Triplets::Any {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                });
                confirmations
            }
        };
        Entry { weight, ..Entry::default() }
    }

    /// Histograms that a pair goes into.
    fn histograms_of(&self, sliced: &Sliced, pair: &Candidate<'_>, eta: f64) -> Vec<usize> {
        let &Candidate { layer_a, s, step, .. } = pair;
        let mut histograms = Vec::new();
        let charges = if self.config.charge_aware { 2 } else { 1 };
        for charge in 0..charges {
            if self.config.charge_aware && (if charge == 0 { step > 1 } else { step < -1 }) {
                continue;
            }
            if !self.config.histogram_per_slice {
                histograms.push(charge);
                continue;
            }
            // Where the track may have been at the innermost layer.
            let m = if layer_a == 0 { 0 } else { self.reach(0, layer_a, eta).max(1) };
            let one = m.min(1);
            let (below, above) = match (self.config.charge_aware, charge) {
                (false, _) => (m, m),
                (true, 0) => (one, m),
                (true, _) => (m, one),
            };
            let (below, above) = sliced.once(below, above);
            for slice in s - below..=s + above {
                let slice = if sliced.ring { slice.rem_euclid(sliced.slices) } else { slice };
                if (0..sliced.slices).contains(&slice) {
                    histograms.push(charge * sliced.slices as usize + slice as usize);
                }
            }
        }
        histograms
    }

    /// z where the line through two spacepoints meets the beam, or is nearest to it.
    fn extrapolate(&self, a: &Point, b: &Point) -> f64 {
        let (mut rho_a, mut rho_b) = (a.rho, b.rho);
        if self.config.extrapolation == Extrapolation::Accurate {
            let (xa, ya, xb, yb) = (a.rho * a.phi.cos(), a.rho * a.phi.sin(), b.rho * b.phi.cos(), b.rho * b.phi.sin());
            let d0_squared = (xa * yb - xb * ya).powi(2) / ((xb - xa).powi(2) + (yb - ya).powi(2));
            (rho_a, rho_b) = ((rho_a * rho_a - d0_squared).sqrt(), (rho_b * rho_b - d0_squared).sqrt());
        }
        (b.z * rho_a - a.z * rho_b) / (rho_a - rho_b)
    }

    /// Hands over the third spacepoints that confirm a pair, with their layers, from the inside out, until there is enough;
    /// none where none are asked for.
    fn each_third(
        &self,
        sliced: &Sliced,
        pair: &Candidate<'_>,
        eta: f64,
        mut each: impl FnMut(usize, Point) -> ControlFlow<()>,
    ) {
        if self.config.triplets == Triplets::Off {
            return;
        }
        let &Candidate { a, ref b, layer_b, s, step, z12, .. } = pair;
        let (k12, p12) = bend(a, b);
        let by_pt = self.config.weighting == Weighting::Pt;
        for &layer_c in pair.outer {
            let n = self.reach(layer_b, layer_c, eta);
            // The bending keeps its sign.
            let below = if step >= 0 { 1 } else { n };
            let above = if step <= 0 { 1 } else { n };
            let strips = self.detector.layers()[layer_c].sensor.is_some_and(|sensor| sensor > Sensor::Pixel);
            let dz = self.config.triplet_dz_mm * if by_pt && strips { PtWeight::STRIP_DZ } else { 1.0 };
            for (_, c) in sliced.around(layer_c, s + step, below, above) {
                // `around` gives phi near slice s + step of an unrolled circle, as b's is.
                let near = (self.extrapolate(b, &c) - z12).abs() <= dz;
                if !near {
                    continue;
                }
                let (k23, p23) = bend(b, &c);
                let confirms = (k23 - k12).abs() <= self.config.triplet_dk
                    && (p23 - p12).abs() < self.config.triplet_dp
                    && (!by_pt || a.rho < b.rho && b.rho < c.rho);
                if confirms && each(layer_c, c).is_break() {
                    return;
                }
            }
        }
    }

    /// What third spacepoints make a pair weigh, by the pT of the track.
    fn pt_weight(&self, sliced: &Sliced, pair: &Candidate<'_>, eta: f64) -> PtWeight {
        let a = pair.a;
        let mut weight = PtWeight::of_pair(self.detector.layers()[pair.layer_b].is_endcap());
        // The hardest of each layer.
        let (mut layer, mut best) = (0, 0.0f64);
        let mut end_layer = |best: f64| {
            weight.add_layer(best);
            weight.pt = weight.pt.max(best);
        };
        self.each_third(sliced, pair, eta, |layer_c, c| {
            if layer_c != layer {
                end_layer(best);
                (layer, best) = (layer_c, 0.0);
            }
            let (k13, _) = bend(a, &c);
            let blur = PtWeight::RESOLUTION_MM / (a.rho * (c.rho - a.rho));
            best = best.max(0.0003 * self.config.field_t / (k13.abs() + blur));
            ControlFlow::Continue(())
        });
        end_layer(best);
        weight
    }

    /// Adds a vertex, or mixes it into the nearest one if that is near. False for one that is not significant.
    fn accept(&self, peaks: &mut Vec<Peak>, peak: Peak, bins: &ZBins) -> bool {
        let new = peak.vertex;
        let mut nearest = None;
        for (i, old) in peaks.iter().enumerate() {
            let distance = (old.vertex.z_mm - new.z_mm).abs();
            if nearest.is_none_or(|(_, least)| distance < least) {
                nearest = Some((i, distance));
            }
        }
        if let Some((i, distance)) = nearest
            && (distance < self.config.vertex_separation_bins * bins.width
                || distance < new.z_mm.abs() * self.config.vertex_distance_cut)
        {
            let (mix, old) = (self.config.vertex_mixing, peaks[i].vertex);
            peaks[i].vertex = Vertex {
                z_mm: mix * new.z_mm + (1.0 - mix) * old.z_mm,
                weight: mix * new.weight + (1.0 - mix) * old.weight,
                ..old
            };
            return true;
        }
        if new.significance.is_some_and(|significance| significance < self.config.min_significance) {
            return false;
        }
        peaks.push(peak);
        true
    }

    /// Returns the entries that three bins have without a vertex: the mean of the lowest windows.
    pub fn background(&self, filled: &Filled) -> Option<f64> {
        let Filled { bins, histograms, .. } = filled;
        if histograms.is_empty() {
            return None;
        }
        let windows = histograms.iter().flat_map(|histogram| histogram.n.windows(3));
        let mut sums: Vec<u64> = windows.map(|bins| bins.iter().sum()).collect();
        let lowest = self.config.background_windows(bins, histograms.len() as u32) as usize;
        sums.sort_unstable();
        (lowest > 0).then(|| sums[..lowest].iter().sum::<u64>() as f64 / lowest as f64)
    }

    /// Takes the peaks out of the histograms, and sets the status.
    pub fn find_peaks(&self, filled: &mut Filled) -> Vec<Peak> {
        let mut peaks = Vec::new();
        if filled.histograms.is_empty() {
            return peaks;
        }
        let background = self.background(filled);
        let Filled { bins, histograms, result, .. } = filled;
        // The rank of three bins: their sum, or by their tracks' directions too.
        let rank_of = |histogram: Histogram<'_>, left: usize| {
            let sum: u64 = histogram.n[left..left + 3].iter().sum();
            if self.config.weighting == Weighting::Count {
                return sum as f64;
            }
            let all = |which: usize| {
                let sectors = histogram.sectors[left..left + 3].iter().fold(0, |all, sectors| all | sectors[which]);
                sectors.count_ones()
            };
            PtWeight::rank_of(sum, all(0), all(1)).into()
        };
        // The highest window of each histogram: its rank, distance from the centre and first bin.
        let highest_of = |histogram: Histogram<'_>| {
            let (mut highest, mut at, mut distance) = (0.0, 0, i64::MAX);
            for left in 0..histogram.n.len() - 2 {
                let rank = rank_of(histogram, left);
                let from_centre = (left as i64 + 1 - i64::from(bins.half)).abs();
                if rank > highest || (self.config.prefer_central && rank == highest && from_centre < distance) {
                    (highest, at, distance) = (rank, left, from_centre);
                }
            }
            (highest, at, distance)
        };
        let mut each: Vec<_> = histograms.iter().map(highest_of).collect();
        while peaks.len() < self.config.peaks as usize {
            let mut of = 0;
            for (i, &(highest, _, distance)) in each.iter().enumerate() {
                let (best, _, nearest) = each[of];
                if highest > best || (self.config.prefer_central && highest == best && distance < nearest) {
                    of = i;
                }
            }
            let (_, at, _) = each[of];
            let histogram = histograms.of(of);
            let highest: u64 = histogram.n[at..at + 3].iter().sum();
            if highest < u64::from(self.config.least_weight()) {
                break;
            }
            let z: f64 = histogram.z[at..at + 3].iter().sum();
            let (weight, z_mm) = (highest as f64, z / highest as f64);
            let mut between = 0.0;
            for bin in at..at + 3 {
                if histogram.n[bin] > 0 {
                    let n = histogram.n[bin] as f64;
                    between += n * (histogram.z[bin] / n - z_mm).powi(2);
                }
            }
            let spread = (between / weight + bins.width * bins.width / 12.0).sqrt();
            let signal = weight - background.unwrap_or(0.0);
            let pairs: u64 = histogram.pairs[at..at + 3].iter().sum();
            let entries = if self.config.weighting == Weighting::Pt { pairs as f64 } else { weight };
            let tracks = entries * (signal / weight).powi(2) / self.detector.track_entries(&self.config);
            let vertex = Vertex {
                z_mm,
                z_error_mm: spread / tracks.max(1.0).sqrt(),
                weight,
                pairs,
                significance: Vertex::significance_of(weight, background),
                background,
            };
            if !self.accept(&mut peaks, Peak { vertex, histogram: of, first_bin: at }, bins) {
                break;
            }
            histograms.remove(of, at..at + 3);
            each[of] = highest_of(histograms.of(of));
        }
        result.status = if peaks.is_empty() { Status::NoPeak } else { Status::Ok };
        peaks
    }
}

impl Histograms {
    /// So many without an entry.
    fn empty(bins: &ZBins, count: usize) -> Self {
        let bins = bins.bins as usize;
        let all = bins * count;
        Self { bins, n: vec![0; all], z: vec![0.0; all], pairs: vec![0; all], sectors: vec![[0; 2]; all] }
    }

    fn len(&self) -> usize {
        self.n.len() / self.bins
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n.is_empty()
    }

    fn of(&self, histogram: usize) -> Histogram<'_> {
        let bins = histogram * self.bins..(histogram + 1) * self.bins;
        Histogram {
            n: &self.n[bins.clone()],
            z: &self.z[bins.clone()],
            pairs: &self.pairs[bins.clone()],
            sectors: &self.sectors[bins],
        }
    }

    /// Returns the histograms in order.
    pub fn iter(&self) -> impl Iterator<Item = Histogram<'_>> {
        (0..self.len()).map(|histogram| self.of(histogram))
    }

    /// Takes the entries out of some bins of one.
    fn remove(&mut self, histogram: usize, bins: Range<usize>) {
        let bins = histogram * self.bins + bins.start..histogram * self.bins + bins.end;
        self.n[bins.clone()].fill(0);
        self.z[bins.clone()].fill(0.0);
        self.pairs[bins.clone()].fill(0);
        self.sectors[bins].fill([0; 2]);
    }
}

impl Sliced {
    /// Slices below and above one, so that on a ring none is reached twice.
    fn once(&self, below: i64, above: i64) -> (i64, i64) {
        if self.ring && below + above >= self.slices {
            ((self.slices - 1) / 2, self.slices - 1 - (self.slices - 1) / 2)
        } else {
            (below, above)
        }
    }

    /// Spacepoints of a layer in the slices from `s - below` to `s + above`, each with its distance from s in slices.
    /// On a ring, a slice is reached once, the shorter way round, and phi goes on beyond the ends.
    fn around(&self, layer: usize, s: i64, below: i64, above: i64) -> impl Iterator<Item = (i64, Point)> + '_ {
        let (below, above) = self.once(below, above);
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

/// Curvature k and azimuth p at the beam line of the track through two spacepoints.
fn bend(a: &Point, b: &Point) -> (f64, f64) {
    let d = a.rho - b.rho;
    (2.0 * (b.phi - a.phi) / d, (b.phi * a.rho - a.phi * b.rho) / d)
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
