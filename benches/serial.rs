//! Compares the CPU engine with a plain serial program: `cargo bench --bench serial`.
//!
//! The experiment's serial program is not available. Known are its times and those of a plain
//! rewrite, on one core of a server. This file therefore has a plain serial program (f64, arrays
//! sorted by layer and slice, every candidate visited). It is timed in the experiment's
//! configuration, alternately with the CPU engine on one and on two threads and with the reference
//! engine. A ratio is the median of the rounds' ratios, followed by the ratio of the fastest
//! rounds: on a shared machine slow rounds show the load, which does not slow all programs alike.
//! The plain program's answers equal the reference engine's, to the last weight.
//!
//! The twin (`src/engine/twin`) is no baseline here. It is built for comparison with the shaders,
//! and takes 1.5 times as long as this program for a lowlum RoI and 2.0 to 2.6 times for a highlum
//! RoI, which would flatter the engine.
//!
//! `-- ROUNDS` sets the number of rounds, 25 by default.

use std::f64::consts::{PI, TAU};
use std::mem;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use zfinder::config::{DefaultWindow, PairWeight};
use zfinder::{
    Config, Detector, Engine, Preset, Results, RoiBatch, RoiDescriptor, RoiResult, RoiView, Spacepoint, ZFinder,
};
use zfinder_study::simulate::Simulation;

/// A row of the experiment's times, on one core of a server \[us an RoI\].
struct Row {
    highlum: bool,
    pair_weight: PairWeight,
    name: &'static str,
    serial_program: f64,
    plain_rewrite: f64,
}

const ROWS: [Row; 6] = [
    Row::new(false, PairWeight::One, "lowlum pairs", [190.0, 46.0]),
    Row::new(false, PairWeight::Any, "lowlum any", [210.0, 67.0]),
    Row::new(false, PairWeight::Count, "lowlum count", [220.0, 76.0]),
    Row::new(true, PairWeight::One, "highlum pairs", [3_200.0, 2_250.0]),
    Row::new(true, PairWeight::Any, "highlum any", [13_600.0, 12_600.0]),
    Row::new(true, PairWeight::Count, "highlum count", [15_600.0, 15_500.0]),
];

impl Row {
    const fn new(highlum: bool, pair_weight: PairWeight, name: &'static str, us: [f64; 2]) -> Self {
        let [serial_program, plain_rewrite] = us;
        Self { highlum, pair_weight, name, serial_program, plain_rewrite }
    }
}

/// Duration of each program in a round.
const TURN: Duration = Duration::from_millis(25);

fn main() {
    // `cargo bench` itself passes `--bench`.
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(25usize).max(1);
    println!(
        "us an RoI, medians of {rounds} rounds in turn; ratios are medians of the rounds' (least to most), and those of the \
         fastest rounds\n\n\
         | | spacepoints | plain | CPU engine | plain / engine | x the serial program | by the fastest | two threads / one | \
         by the fastest | reference / engine |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    for row in &ROWS {
        measure(row, rounds);
    }
}

fn measure(row: &Row, rounds: usize) {
    let config = Config::preset(Preset::Default).with(|c| {
        c.pair_weight = row.pair_weight;
        c.phi_window = DefaultWindow::Spacepoints;
    });
    // The plain program is slow, and threads need work.
    let (few, many) = if row.highlum { (8, 64) } else { (64, 2048) };
    let (few, many) = (rois(row.highlum, few), rois(row.highlum, many));
    let finder = |engine, threads| {
        let threads = NonZeroUsize::new(threads).expect("threads");
        let finder = ZFinder::builder(Detector::atlas2010()).config(config.clone()).engine(engine).threads(threads);
        finder.build().expect("a valid configuration")
    };
    let (one, two, reference) = (finder(Engine::Cpu, 1), finder(Engine::Cpu, 2), finder(Engine::Reference, 1));
    let mut plain = Plain::new(&config);
    check(&mut plain, &few, &reference, &one);
    let [alone, together] = [&one, &two].map(|finder| finder.find_batch(&many).expect("answers"));
    assert!(alone == together, "{}: two threads answer otherwise than one", row.name);

    let spacepoints: Vec<Vec<Spacepoint>> = few.iter().map(|roi| roi.spacepoints().collect()).collect();
    let etas: Vec<f64> = few.iter().map(|roi| roi.descriptor.eta).collect();
    let mut results = Results::new();
    let mut ask = |finder: &ZFinder, batch: &RoiBatch| finder.find_batch_into(batch, &mut results).expect("answers");
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..rounds {
        times[0].push(time(few.len(), || {
            for (points, eta) in spacepoints.iter().zip(&etas) {
                plain.find(points, *eta);
            }
        }));
        times[1].push(time(few.len(), || ask(&one, &few)));
        times[2].push(time(many.len(), || ask(&one, &many)));
        times[3].push(time(many.len(), || ask(&two, &many)));
    }
    // The reference engine takes seconds, and one measurement suffices for a ratio of fifty.
    let asked = Instant::now();
    ask(&reference, &few);
    let asked = asked.elapsed().as_secs_f64() * 1e6 / few.len() as f64;

    let ratios = |above: usize, below: usize| -> Spread {
        Spread::new(times[above].iter().zip(&times[below]).map(|(above, below)| above / below).collect())
    };
    let [plain, engine, alone, together] = times.clone().map(Spread::new);
    let (gain, threads) = (ratios(0, 1), ratios(2, 3));
    let serial = row.serial_program / row.plain_rewrite;
    println!(
        "| {} | {} | {:.1} | {:.2} | {gain} | **{:.1}** | {:.1} | {threads} | {:.2} | {:.0} |",
        row.name,
        few.count_spacepoints() / few.len(),
        plain.median,
        engine.median,
        gain.median * serial,
        plain.least / engine.least * serial,
        alone.least / together.least,
        asked / engine.median,
    );
}

/// Returns RoIs like the experiment's, whose windows follow from their spacepoints.
fn rois(highlum: bool, rois: usize) -> RoiBatch {
    // The first RoIs are as large as the experiment's, 7,760 and 360 spacepoints.
    let (simulation, seed) = if highlum { (Simulation::highlum(), 14) } else { (Simulation::lowlum(), 13) };
    let simulated = Simulation { seed, rois, ..simulation }.batch().0;
    let mut batch = RoiBatch::new();
    for roi in simulated.iter() {
        batch.push(RoiDescriptor { window: None, ..*roi.descriptor }, roi.spacepoints());
    }
    batch
}

/// Checks that the plain program finds the reference engine's vertices to the last weight, and that
/// the CPU engine, in f32, finds them except for pairs at a cut.
fn check(plain: &mut Plain, batch: &RoiBatch, reference: &ZFinder, engine: &ZFinder) {
    let vertex = |result: RoiResult<'_>| result.vertices().first().map(|vertex| (vertex.weight, vertex.z_mm));
    let find = |roi: RoiView<'_>| plain.find(&roi.spacepoints().collect::<Vec<_>>(), roi.descriptor.eta);
    let found: Vec<_> = batch.iter().map(find).collect();
    let wanted = reference.find_batch(batch).expect("answers");
    let cpu = engine.find_batch(batch).expect("answers");
    let mut others = 0;
    for ((found, wanted), cpu) in found.iter().zip(wanted.iter().map(vertex)).zip(cpu.iter().map(vertex)) {
        let same = match (found, wanted) {
            (Some((weight, z)), Some((w, z_mm))) => *weight == w && (z - z_mm).abs() < 1e-9,
            (None, None) => true,
            _ => false,
        };
        assert!(same, "plain: {found:?}, reference engine: {wanted:?}");
        let near = |(a, z): (f64, f64), (b, z_mm): (f64, f64)| (a - b).abs() <= 2.0 && (z - z_mm).abs() < 0.01;
        others += usize::from(cpu.is_some() != wanted.is_some() || cpu.zip(wanted).is_some_and(|(a, b)| !near(a, b)));
    }
    assert!(others <= found.len().div_ceil(20), "{others} of {} vertices are others", found.len());
}

/// Returns microseconds per RoI.
fn time(rois: usize, mut run: impl FnMut()) -> f64 {
    // The first run fills the cache.
    run();
    let begun = Instant::now();
    let mut runs = 0;
    while begun.elapsed() < TURN {
        run();
        runs += 1;
    }
    begun.elapsed().as_secs_f64() * 1e6 / (runs * rois) as f64
}

struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self { least: values[0], median: values[values.len() / 2], most: values[values.len() - 1] }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2} to {:.2})", self.median, self.least, self.most)
    }
}

/// The search of a plain serial program of today: contiguous arrays, no vectors, every pair and
/// every third spacepoint in reach visited. It allocates nothing after the first such RoI.
struct Plain {
    config: Config,
    neighbours: Vec<Vec<u32>>,
    endcap: Vec<bool>,
    /// Spacepoints sorted by layer, and by slice within a layer.
    points: Vec<Point>,
    /// Start of each (layer, slice).
    begins: Vec<u32>,
    slices: usize,
    filled: Vec<usize>,
    /// Neighbour slices on either side for (inner layer, outer layer) at the RoI's eta.
    reach: Vec<usize>,
    n: Vec<u64>,
    sums: Vec<f64>,
}

/// A spacepoint; phi is relative to the window's lower edge.
#[derive(Clone, Copy, Default)]
struct Point {
    rho: f64,
    phi: f64,
    z: f64,
    slice: usize,
}

impl Plain {
    fn new(config: &Config) -> Self {
        let detector = Detector::atlas2010();
        Self {
            config: config.clone(),
            neighbours: detector.neighbours(config),
            endcap: detector.layers().iter().map(|layer| layer.is_endcap()).collect(),
            points: Vec::new(),
            begins: Vec::new(),
            slices: 0,
            filled: Vec::new(),
            reach: Vec::new(),
            n: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Returns weight and z of the highest peak.
    fn find(&mut self, spacepoints: &[Spacepoint], eta: f64) -> Option<(f64, f64)> {
        self.slice_spacepoints(spacepoints);
        let Config { z_min_mm, z_max_mm, z_bin_mm, z_bin_eta_coeff, .. } = self.config;
        let width = z_bin_mm + z_bin_eta_coeff * eta.abs();
        let half = (0.5 * (z_max_mm - z_min_mm) / width).ceil() as usize;
        self.n.clear();
        self.n.resize(2 * half + 1, 0);
        self.sums.clear();
        self.sums.resize(2 * half + 1, 0.0);
        self.set_reach(eta);
        match self.config.pair_weight {
            PairWeight::One => self.find_z::<false>(width),
            _ => self.find_z::<true>(width),
        }
        self.find_peak(half)
    }

    fn slice_spacepoints(&mut self, spacepoints: &[Spacepoint]) {
        // Positive and negative azimuths are separate, so that an RoI around phi = pi is
        // contiguous.
        let mut sides = [(f64::MAX, f64::MIN); 2];
        for s in spacepoints {
            let side = &mut sides[usize::from(s.phi > 0.0)];
            *side = (side.0.min(s.phi), side.1.max(s.phi));
        }
        let [negative, positive] = sides;
        let (low, high) = if negative.0 > negative.1 {
            positive
        } else if positive.0 > positive.1 {
            negative
        } else if positive.0 - negative.1 < PI {
            (negative.0, positive.1)
        } else {
            (positive.0, negative.1 + TAU)
        };
        let (low, high) = (low - 1e-10, high + 1e-10);
        let inv = 180.0 / (PI * self.config.phi_slice_deg);
        self.slices = (((high - low) * inv - 1e-9).ceil() as usize).max(1);
        let place = |s: &Spacepoint| {
            let phi = if s.phi < low { s.phi - low + TAU } else { s.phi - low };
            (phi, ((phi * inv) as usize).min(self.slices - 1))
        };

        let layers = self.endcap.len();
        let cells = layers * self.slices;
        let cell = |layer: u32, slice: usize| layer as usize * self.slices + slice;
        self.begins.clear();
        self.begins.resize(cells + 2, 0);
        for s in spacepoints {
            self.begins[cell(s.layer, place(s).1) + 2] += 1;
        }
        let mut sum = 0;
        for begin in &mut self.begins {
            sum += *begin;
            *begin = sum;
        }
        self.points.resize(spacepoints.len(), Point::default());
        // The start of each cell is stored one further on, and advances to the start of the next
        // cell.
        for s in spacepoints {
            let (phi, slice) = place(s);
            let next = &mut self.begins[cell(s.layer, slice) + 1];
            self.points[*next as usize] = Point { rho: s.rho, phi, z: s.z, slice };
            *next += 1;
        }
        self.filled.clear();
        let filled = |&layer: &usize| self.begins[layer * self.slices] < self.begins[(layer + 1) * self.slices];
        self.filled.extend((0..layers).filter(filled));
    }

    /// Returns the spacepoints of a layer in a range of slices.
    fn around(&self, layer: usize, slice: usize, below: usize, above: usize) -> &[Point] {
        let last = (slice + above).min(self.slices - 1);
        let first = layer * self.slices;
        let [begin, end] =
            [first + slice.saturating_sub(below), first + last + 1].map(|cell| self.begins[cell] as usize);
        &self.points[begin..end]
    }

    fn set_reach(&mut self, eta: f64) {
        let Config { dphi_deta, neighbour_multiplier, phi_slice_deg, .. } = self.config;
        let inv = 180.0 / (PI * phi_slice_deg);
        let shift = ((0.9 - eta.abs()) * dphi_deta * inv * neighbour_multiplier).floor() as i64;
        self.reach.clear();
        for (inner, neighbours) in self.neighbours.iter().enumerate() {
            for (outer, &n) in neighbours.iter().enumerate() {
                let shift = if self.endcap[inner] || self.endcap[outer] { shift } else { 0 };
                self.reach.push((i64::from(n) - shift).max(1) as usize);
            }
        }
    }

    fn find_z<const TRIPLETS: bool>(&mut self, width: f64) {
        // Adding this to a number below 2^31 leaves the number rounded, half to even, in the last
        // bits.
        const ROUNDED: f64 = (1u64 << 52) as f64;
        let Config { z_min_mm, z_max_mm, first_layers, .. } = self.config;
        let (scale, offset) = (1.0 / width, (z_min_mm / width).floor());
        let layers = self.endcap.len();
        let inner = (first_layers as usize).min(self.filled.len().saturating_sub(1));
        // Moved out, so that the borrows of arrays that are filled and read are separate.
        let (mut n, mut sums) = (mem::take(&mut self.n), mem::take(&mut self.sums));
        for s in 0..self.slices {
            for (i, &layer_a) in self.filled[..inner].iter().enumerate() {
                for a in self.around(layer_a, s, 0, 0) {
                    for (j, &layer_b) in self.filled.iter().enumerate().skip(i + 1) {
                        let reach = self.reach[layer_a * layers + layer_b];
                        for b in self.around(layer_b, s, reach, reach) {
                            let z12 = (b.z * a.rho - a.z * b.rho) / (a.rho - b.rho);
                            if !(z_min_mm < z12 && z12 < z_max_mm) {
                                continue;
                            }
                            let mut weight = 1;
                            if TRIPLETS {
                                weight = self.confirmations(a, b, z12, layer_b, &self.filled[j + 1..]);
                                if weight == 0 {
                                    continue;
                                }
                            }
                            let bin = (z12 * scale - offset + ROUNDED).to_bits() as u32 as usize;
                            n[bin] += weight;
                            sums[bin] += weight as f64 * z12;
                        }
                    }
                }
            }
        }
        (self.n, self.sums) = (n, sums);
    }

    /// Counts third spacepoints on the line of a pair, with its bending and at its azimuth, in
    /// these layers beyond its outer one: all, or the first.
    fn confirmations(&self, a: &Point, b: &Point, z12: f64, layer_b: usize, outer: &[usize]) -> u64 {
        let Config { pair_weight, triplet_dz_mm, triplet_dk, triplet_dp, .. } = self.config;
        let inverse = 1.0 / (a.rho - b.rho);
        let (k12, p12) = (2.0 * (b.phi - a.phi) * inverse, (b.phi * a.rho - a.phi * b.rho) * inverse);
        let mut weight = 0;
        for &layer_c in outer {
            let n = self.reach[layer_b * self.endcap.len() + layer_c];
            // The bending keeps its sign.
            let (below, above) = (if b.slice >= a.slice { 1 } else { n }, if b.slice <= a.slice { 1 } else { n });
            for c in self.around(layer_c, b.slice, below, above) {
                let inverse = 1.0 / (b.rho - c.rho);
                let confirms = ((c.z * b.rho - b.z * c.rho) * inverse - z12).abs() <= triplet_dz_mm
                    && (2.0 * (c.phi - b.phi) * inverse - k12).abs() <= triplet_dk
                    && ((c.phi * b.rho - b.phi * c.rho) * inverse - p12).abs() < triplet_dp;
                if confirms {
                    weight += 1;
                    if pair_weight == PairWeight::Any {
                        return weight;
                    }
                }
            }
        }
        weight
    }

    /// Returns the highest three bins; of equal ones, those nearest to the middle.
    fn find_peak(&self, half: usize) -> Option<(f64, f64)> {
        let (mut highest, mut at) = (0, 0usize);
        for (left, bins) in self.n.windows(3).enumerate() {
            let sum: u64 = bins.iter().sum();
            let nearer = (left + 1).abs_diff(half) < (at + 1).abs_diff(half);
            if sum > highest || (sum == highest && nearer) {
                (highest, at) = (sum, left);
            }
        }
        let least = if self.config.pair_weight == PairWeight::One { 2 } else { 1 };
        (highest >= least).then(|| (highest as f64, self.sums[at..at + 3].iter().sum::<f64>() / highest as f64))
    }
}
