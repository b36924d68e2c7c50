//! What one RoI's search needs, worked out once on the host in f64 and used alike by the CPU and the GPU engine:
//! beam spot, phi window, each spacepoint's slice, z bins. Slices are therefore the same on every adapter, however it
//! rounds.

use std::f64::consts::{PI, TAU};

use crate::config::{Config, DefaultWindow, Neighbours, ZBins};
use crate::detector::{Detector, Sensor};
use crate::engine::encoding::{Encode, Source};
use crate::engine::real::{Real, RoiWords, TripletCuts, ZScale};
use crate::error::Result;
use crate::histogram::OFFSET_STEPS;
use crate::pt_weight::PtWeight;
use crate::spacepoint::{PhiWindow, RoiDescriptor, RoiView, Spacepoint, SpacepointsView, normalised, usable};
use crate::vertex::{RoiResult, Status, Vertex};

/// Configuration and detector, boiled down to what the stages ask.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) config: Config,
    pub(crate) detector: Detector,
    /// n(A, B), row A, column B, and [`ENDCAP_PAIR`] where an RoI's eta moves it.
    pub(crate) neighbours: Vec<u32>,
    /// Layers that take part, a bit each.
    taking_part: u64,
}

/// Set in a neighbour count of a pair with a disk.
pub(crate) const ENDCAP_PAIR: u32 = 1 << 31;
/// Set where the outer layer is one of strips.
pub(crate) const STRIP_PAIR: u32 = 1 << 30;
/// What is left is the count.
pub(crate) const NEIGHBOURS: u32 = STRIP_PAIR - 1;

/// One RoI's window and bins.
#[derive(Clone, Debug)]
pub(crate) struct RoiPlan {
    pub(crate) descriptor: RoiDescriptor,
    pub(crate) bins: ZBins,
    pub(crate) slices: u32,
    /// Slices at both ends are neighbours.
    pub(crate) ring: bool,
    pub(crate) endcap_shift: i32,
    /// Histograms of its own: of each charge, and of each slice.
    pub(crate) histograms: u32,
    /// Windows of three bins whose mean is the background: those of the lowest sums.
    pub(crate) background_windows: u32,
    /// Lower edge and width of the phi window \[rad\].
    phi_min: f64,
    width: f64,
    /// Spacepoints, inside the window or not.
    pub(crate) spacepoints: usize,
    /// A spacepoint that cannot be was seen already.
    bad: bool,
}

/// What became of an RoI's spacepoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) kept: usize,
    pub(crate) outside: usize,
    /// One cannot be, so none is taken.
    pub(crate) bad: bool,
    /// One is beyond what the encoding holds: the RoI has to be packed in another.
    pub(crate) too_far: bool,
}

/// Spacepoints that are encoded and written together: a stretch of memory that a bus likes.
pub(crate) const BLOCK: usize = 64;

/// A block of an RoI's spacepoints: rho, phi, z and layers, or one by one.
#[derive(Clone, Copy)]
pub(crate) enum Block<'a> {
    Double([&'a [f64; BLOCK]; 3], &'a [u8; BLOCK]),
    Single([&'a [f32; BLOCK]; 3], &'a [u8; BLOCK]),
    Records(&'a [Spacepoint; BLOCK]),
}

/// What says where in an RoI's window a spacepoint lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing {
    /// Lower edge and width of the window \[rad\].
    pub(crate) phi_min: f64,
    pub(crate) width: f64,
    pub(crate) slices_per_rad: f64,
    pub(crate) slices: u32,
    pub(crate) layers: u32,
}

impl Placing {
    /// phi, which is in [-pi, pi], from the lower edge of the window on \[rad\].
    #[inline(always)]
    pub(crate) fn beyond_edge(&self, phi: f64) -> f64 {
        let mut from_edge = phi - self.phi_min;
        from_edge += if from_edge < 0.0 { TAU } else { 0.0 };
        from_edge -= if from_edge >= TAU { TAU } else { 0.0 };
        from_edge
    }
}

impl Search {
    /// # Errors
    /// A configuration that this detector cannot have.
    pub(crate) fn new(config: &Config, detector: &Detector) -> Result<Self> {
        let layers = detector.layers();
        let counts = detector.neighbours(config);
        let neighbours = (0..layers.len() * layers.len())
            .map(|i| {
                let (a, b) = (i / layers.len(), i % layers.len());
                let endcap = layers[a].is_endcap() || layers[b].is_endcap();
                let strips = layers[b].sensor.is_some_and(|sensor| sensor > Sensor::Pixel);
                counts[a][b] | if endcap { ENDCAP_PAIR } else { 0 } | if strips { STRIP_PAIR } else { 0 }
            })
            .collect();
        let taking_part = detector.layers_taking_part(config)?;
        Ok(Self { config: config.clone(), detector: detector.clone(), neighbours, taking_part })
    }

    /// Whether spacepoints of a layer take part.
    fn takes_part(&self, layer: u32) -> bool {
        self.taking_part >> layer & 1 != 0
    }

    /// Whether rho and phi are as they come, and every layer takes part.
    fn is_plain(&self) -> bool {
        self.config.is_beam_at_origin() && self.taking_part.count_ones() as usize == self.layers()
    }

    /// Whether every two spacepoints of different layers in the same or in neighbouring slices are a pair: the thesis's
    /// choice.
    pub(crate) fn is_single(&self) -> bool {
        let layers = self.layers();
        let single = |a: usize| (a + 1..layers).all(|b| self.neighbours[a * layers + b] & NEIGHBOURS == 1);
        self.config.first_layers as usize + 1 >= layers
            && (0..layers).all(single)
            && self.config.neighbours == Neighbours::Single
    }

    pub(crate) fn layers(&self) -> usize {
        self.detector.layers().len()
    }

    /// n(A, B) in an RoI. `reach` in `shaders/find_z.wgsl`.
    pub(crate) fn reach(&self, inner: usize, outer: usize, endcap_shift: i32) -> u32 {
        let n = self.neighbours[inner * self.layers() + outer];
        let count = n & NEIGHBOURS;
        if n & ENDCAP_PAIR == 0 { count } else { (count as i32 - endcap_shift).max(1) as u32 }
    }

    /// Whether a layer is a disk.
    pub(crate) fn is_disk(&self, layer: usize) -> bool {
        self.detector.layers()[layer].is_endcap()
    }

    /// Whether a layer is one of strips.
    pub(crate) fn is_strips(&self, layer: usize) -> bool {
        self.detector.layers()[layer].sensor.is_some_and(|sensor| sensor > Sensor::Pixel)
    }

    pub(crate) fn triplet_cuts<R: Real>(&self) -> TripletCuts<R> {
        TripletCuts {
            dz: R::of(self.config.triplet_dz_mm),
            dk: R::of(self.config.triplet_dk),
            dp: R::of(self.config.triplet_dp),
            gev_mm: R::of(0.0003 * self.config.field_t),
            strip_dz: R::of(self.config.triplet_dz_mm) * R::of(PtWeight::STRIP_DZ),
            resolution_mm: R::of(PtWeight::RESOLUTION_MM),
            per_gev2: R::of(PtWeight::PER_GEV2),
        }
    }

    /// rho and phi about the beam spot, or None for a spacepoint that cannot be.
    fn about_beam(&self, rho: f64, phi: f64, z: f64, layer: u32) -> Option<(f64, f64)> {
        if !usable(rho, phi, z) || layer as usize >= self.layers() {
            return None;
        }
        if self.config.is_beam_at_origin() {
            return Some((rho, normalised(phi)));
        }
        let [x0, y0] = self.config.beam_at(z);
        let (x, y) = (rho * phi.cos() - x0, rho * phi.sin() - y0);
        let rho = (x * x + y * y).sqrt();
        usable(rho, phi, z).then(|| (rho, y.atan2(x)))
    }

    /// Plans an RoI.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    pub(crate) fn plan(&self, roi: RoiView<'_>) -> Result<RoiPlan> {
        let bins = self.config.z_bins(roi.descriptor.eta, roi.descriptor.z_range)?;
        let window = roi.descriptor.window.unwrap_or(match self.config.phi_window {
            DefaultWindow::FullScan => PhiWindow::FullScan,
            DefaultWindow::Spacepoints => PhiWindow::FromSpacepoints,
        });
        let mut bad = false;
        let (phi_min, width) = match window {
            PhiWindow::FullScan => (-PI, TAU),
            PhiWindow::Range { phi_min, phi_max } => PhiWindow::edges(phi_min, phi_max),
            PhiWindow::FromSpacepoints => {
                let mut extremes = Extremes::default();
                let plain = self.is_plain();
                for first in (0..roi.len()).step_by(BLOCK) {
                    // What is left at the end goes with some that went before.
                    let begin = first.min(roi.len().saturating_sub(BLOCK));
                    if plain && block_of(roi, begin).is_some_and(|block| extremes.add_block(block)) {
                        continue;
                    }
                    for s in (first..roi.len().min(first + BLOCK)).map(|i| roi.spacepoint(i)) {
                        match self.about_beam(s.rho, s.phi, s.z, s.layer) {
                            Some((_, phi)) if self.takes_part(s.layer) => extremes.add(0, phi),
                            Some(_) => {}
                            None => bad = true,
                        }
                    }
                }
                extremes.window()
            }
        };
        // The circle over a slice that divides it must not round up to one slice more.
        let slices = (width * self.config.slices_per_rad() - 1e-9).ceil().max(1.0) as u32;
        let histograms = self.config.histograms(slices);
        Ok(RoiPlan {
            descriptor: *roi.descriptor,
            bins,
            slices,
            histograms,
            ring: window == PhiWindow::FullScan && self.config.wrap_full_scan,
            endcap_shift: self.detector.endcap_shift(&self.config, roi.descriptor.eta),
            background_windows: self.config.background_windows(&bins, histograms),
            phi_min,
            width,
            spacepoints: roi.len(),
            bad,
        })
    }

    /// Hands every spacepoint of a planned RoI to `write`, encoded, in order and block by block.
    pub(crate) fn pack<R: Real, E: Encode<R>>(
        &self,
        encoding: &E,
        plan: &RoiPlan,
        roi: RoiView<'_>,
        mut write: impl FnMut(&[E::Word]),
    ) -> Taken {
        let bad = Taken { bad: true, ..Taken::default() };
        if plan.bad {
            return bad;
        }
        let inv = self.config.slices_per_rad();
        let placing = Placing {
            phi_min: plan.phi_min,
            width: plan.width,
            slices_per_rad: inv,
            slices: plan.slices,
            layers: self.layers() as u32,
        };
        let plain = self.is_plain();
        let mut kept = 0;
        let mut block = [encoding.dropped(); BLOCK];
        for first in (0..roi.len()).step_by(BLOCK) {
            let count = BLOCK.min(roi.len() - first);
            // What is left at the end goes with some that went before.
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
                *word = if from_edge < plan.width && self.takes_part(layer) {
                    kept += 1;
                    let slice = ((from_edge * inv) as u32).min(plan.slices - 1);
                    match encoding.encode(rho, from_edge, z, slice, layer) {
                        Some(word) => word,
                        None => return Taken { too_far: true, ..Taken::default() },
                    }
                } else {
                    encoding.dropped()
                };
            }
            write(&block[..count]);
        }
        Taken { kept, outside: roi.len() - kept, ..Taken::default() }
    }
}

/// A whole block from `first` on, if there are so many.
fn block_of(roi: RoiView<'_>, first: usize) -> Option<Block<'_>> {
    Some(match roi.spacepoints {
        SpacepointsView::Double([rho, phi, z], layers) => Block::Double(
            [rho[first..].first_chunk()?, phi[first..].first_chunk()?, z[first..].first_chunk()?],
            layers[first..].first_chunk()?,
        ),
        SpacepointsView::Single([rho, phi, z], layers) => Block::Single(
            [rho[first..].first_chunk()?, phi[first..].first_chunk()?, z[first..].first_chunk()?],
            layers[first..].first_chunk()?,
        ),
        SpacepointsView::Records(records) => Block::Records(records[first..].first_chunk()?),
    })
}

impl RoiPlan {
    /// Whether there is nothing to search.
    pub(crate) fn is_empty(&self) -> bool {
        self.spacepoints == 0 || self.bad
    }

    /// What is taken of an RoI with nothing to search.
    pub(crate) fn nothing_taken(&self) -> Taken {
        Taken { bad: self.bad, ..Taken::default() }
    }

    pub(crate) fn z_scale<R: Real>(&self) -> ZScale<R> {
        ZScale {
            z_min: R::of(self.bins.z_min),
            z_max: R::of(self.bins.z_max),
            steps_per_mm: R::of(f64::from(OFFSET_STEPS) / self.bins.width),
            steps_at_0: R::of((0.5 - self.bins.offset) * f64::from(OFFSET_STEPS)),
        }
    }

    /// Whether its histograms are more than memory should hold.
    pub(crate) fn is_too_much(&self) -> bool {
        u64::from(self.histograms) * u64::from(self.bins.bins) > Config::MOST_BINS_OF_ALL
    }

    /// The words of the RoI's record that do not depend on where its data lie in a batch.
    pub(crate) fn words(&self) -> RoiWords {
        RoiWords {
            spacepoint_count: self.spacepoints as u32,
            slices: self.slices,
            ring: u32::from(self.ring),
            endcap_shift: self.endcap_shift,
            bins: self.bins.bins,
            half: self.bins.half,
            background_windows: self.background_windows,
            ..RoiWords::default()
        }
    }

    /// The answer: these vertices, or why there is none.
    pub(crate) fn result(&self, taken: Taken, mut vertices: Vec<Vertex>, capacity_exceeded: bool) -> RoiResult {
        let status = if taken.bad {
            Status::BadSpacepoint
        } else if capacity_exceeded {
            Status::CapacityExceeded
        } else if taken.kept == 0 {
            Status::Empty
        } else if vertices.is_empty() {
            Status::NoPeak
        } else {
            Status::Ok
        };
        if status != Status::Ok {
            vertices.clear();
        }
        RoiResult { id: self.descriptor.id, vertices, status, spacepoints: taken.kept, outside_window: taken.outside }
    }
}

/// Lowest and highest phi, the lowest of positive and the highest of other values, of some lanes each; infinite where there is none.
#[derive(Clone, Copy)]
struct Extremes {
    lowest: [f64; LANES],
    highest: [f64; LANES],
    low_positive: [f64; LANES],
    high_negative: [f64; LANES],
}

/// Lanes of extremes.
const LANES: usize = 8;

impl Default for Extremes {
    fn default() -> Self {
        let (low, high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        Self { lowest: low, highest: high, low_positive: low, high_negative: high }
    }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Adds a block's azimuths, without branches, so that the compiler makes it what the machine's vectors can do; not if one of
/// its spacepoints needs a closer look. What else is wrong with one is seen where it is packed.
struct AddBlock<'a, S> {
    extremes: &'a mut Extremes,
    block: S,
}

impl<S: Source> pulp::NullaryFnOnce for AddBlock<'_, S> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { extremes, block } = self;
        let mut with = *extremes;
        let mut plain = true;
        for first in (0..BLOCK).step_by(LANES) {
            for lane in 0..LANES {
                let (_, phi, _, _) = block.at(first + lane);
                plain &= phi.abs() <= PI;
                with.add(lane, phi);
            }
        }
        if plain {
            *extremes = with;
        }
        plain
    }
}

impl Extremes {
    #[inline(always)]
    fn add(&mut self, lane: usize, phi: f64) {
        let Self { lowest, highest, low_positive, high_negative } = self;
        let positive = phi > 0.0;
        lowest[lane] = smaller(lowest[lane], phi);
        highest[lane] = larger(highest[lane], phi);
        low_positive[lane] = smaller(low_positive[lane], if positive { phi } else { f64::INFINITY });
        high_negative[lane] = larger(high_negative[lane], if positive { f64::NEG_INFINITY } else { phi });
    }

    /// Adds a whole block. False, and nothing added, if one of its spacepoints needs a closer look.
    fn add_block(&mut self, block: Block<'_>) -> bool {
        let (arch, extremes) = (pulp::Arch::new(), self);
        match block {
            Block::Double(columns, at) => arch.dispatch(AddBlock { extremes, block: (columns, at) }),
            Block::Single(columns, at) => arch.dispatch(AddBlock { extremes, block: (columns, at) }),
            Block::Records(block) => arch.dispatch(AddBlock { extremes, block }),
        }
    }

    /// Lower edge and width: through 0 if the two sides are nearer to each other there than at pi.
    fn window(&self) -> (f64, f64) {
        const PAD: f64 = 1e-10;
        let least = |lanes: [f64; LANES]| lanes.into_iter().fold(f64::INFINITY, smaller);
        let most = |lanes: [f64; LANES]| lanes.into_iter().fold(f64::NEG_INFINITY, larger);
        // Without positive ones the lowest of these is above them all, without negative ones likewise.
        let (low, end) = (least(self.low_positive), most(self.highest));
        let (first, high) = (least(self.lowest), most(self.high_negative));
        let (low, high) = match (low <= end, first <= high) {
            (false, false) => (0.0, 0.0),
            (true, false) => (low, end),
            (false, true) => (first, high),
            (true, true) if low - high < PI => (first, end),
            (true, true) => (low, high + TAU),
        };
        (low - PAD, (high - low + 2.0 * PAD).min(TAU))
    }
}
