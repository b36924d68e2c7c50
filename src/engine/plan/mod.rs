//! The plan of an RoI, made once on the host in f64 for the CPU and the GPU engine: beam spot, phi
//! window, the slice of each spacepoint, z bins. Slices are therefore the same on every adapter,
//! however it rounds.

#[cfg(test)]
mod tests;

use std::f64::consts::{PI, TAU};

use crate::config::{Config, DefaultWindow, Neighbours};
use crate::detector::{Detector, Sensor};
use crate::engine::histogram::OFFSET_STEPS;
use crate::engine::real::Real;
use crate::engine::records::{RoiWords, TripletCuts, ZScale};
use crate::error::Result;
use crate::pt_weight::PtWeight;
use crate::reach::TrackModel;
use crate::results::{Results, RoiSummary, Status};
use crate::spacepoint::{PhiWindow, RoiDescriptor, RoiView, Spacepoint, SpacepointsView, normalised, usable};
use crate::vertex::Vertex;
use crate::z_bins::ZBins;

/// The configuration and the detector, in the form that the stages use.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) config: Config,
    pub(crate) detector: Detector,
    /// n(A, B), row A, column B; with [`ENDCAP_PAIR`] where it depends on the RoI's eta.
    pub(crate) neighbours: Vec<u32>,
    pub(crate) tracks: TrackModel,
    pub(crate) layer_mask: LayerMask,
}

/// Set in a neighbour count of a pair with a disk.
pub(crate) const ENDCAP_PAIR: u32 = 1 << 31;
/// Set where the outer layer is a strip layer.
pub(crate) const STRIP_PAIR: u32 = 1 << 30;
/// The bits of the precision of a pair, which is its weight in the mean z where weights go by pT.
pub(crate) const PRECISION: u32 = STRIP_PAIR - (1 << PRECISION_SHIFT);
pub(crate) const PRECISION_SHIFT: u32 = 25;
/// The bits of the count.
pub(crate) const NEIGHBOURS: u32 = (1 << PRECISION_SHIFT) - 1;

/// The numbers that place a spacepoint in an RoI's window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlicePlacement {
    /// Lower edge and width of the window \[rad\].
    pub(crate) phi_min: f64,
    pub(crate) width: f64,
    pub(crate) slices_per_rad: f64,
    pub(crate) slices: u32,
    pub(crate) layers: LayerMask,
}

/// The layers of a detector, and which of them take part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayerMask {
    count: u32,
    /// A bit each.
    taking_part: u64,
}

impl LayerMask {
    /// Whether the detector has a layer.
    #[inline(always)]
    pub(crate) fn has(self, layer: u32) -> bool {
        layer < self.count
    }

    /// Whether the spacepoints of a layer take part, without a branch.
    #[inline(always)]
    pub(crate) fn takes(self, layer: u32) -> bool {
        self.taking_part >> (layer & 63) & 1 != 0
    }
}

impl SlicePlacement {
    /// phi, which is in [-pi, pi], from the lower edge of the window on \[rad\].
    #[inline(always)]
    pub(crate) fn beyond_edge(&self, phi: f64) -> f64 {
        beyond(self.phi_min, phi)
    }
}

#[inline(always)]
fn beyond(phi_min: f64, phi: f64) -> f64 {
    let mut from_edge = phi - phi_min;
    from_edge += if from_edge < 0.0 { TAU } else { 0.0 };
    from_edge -= if from_edge >= TAU { TAU } else { 0.0 };
    from_edge
}

impl Search {
    /// # Errors
    /// A configuration that this detector cannot have.
    pub(crate) fn new(config: &Config, detector: &Detector) -> Result<Self> {
        let layers = detector.layers();
        let counts = detector.neighbours(config);
        let precisions = detector.pair_precisions();
        let neighbours = (0..layers.len() * layers.len())
            .map(|i| {
                let (a, b) = (i / layers.len(), i % layers.len());
                let endcap = layers[a].is_endcap() || layers[b].is_endcap();
                let strips = layers[b].sensor.is_some_and(|sensor| sensor > Sensor::Pixel);
                let precision = precisions[a][b] << PRECISION_SHIFT;
                counts[a][b] | precision | if endcap { ENDCAP_PAIR } else { 0 } | if strips { STRIP_PAIR } else { 0 }
            })
            .collect();
        let layer_mask = LayerMask { count: layers.len() as u32, taking_part: detector.layers_taking_part(config)? };
        let tracks = detector.track_model(config);
        Ok(Self { config: config.clone(), detector: detector.clone(), neighbours, tracks, layer_mask })
    }

    /// The search of RoIs without a peak; none if they are not searched again.
    ///
    /// # Errors
    /// As [`Search::new`].
    pub(crate) fn fallback(&self) -> Result<Option<Self>> {
        self.config.fallback_config().map(|config| Self::new(&config, &self.detector)).transpose()
    }

    /// Whether every two spacepoints of different layers in the same or in neighbouring slices are
    /// a pair: the thesis's choice.
    pub(crate) fn has_single_neighbours(&self) -> bool {
        let layers = self.layers();
        let single = |a: usize| (a + 1..layers).all(|b| self.neighbours[a * layers + b] & NEIGHBOURS == 1);
        self.config.first_layers as usize + 1 >= layers
            && (0..layers).all(single)
            && self.config.neighbours == Neighbours::Single
    }

    pub(crate) fn layers(&self) -> usize {
        self.detector.layers().len()
    }

    /// n(A, B) in an RoI. `reach` in `shaders/find_z/find_z.wgsl`.
    pub(crate) fn reach(&self, inner: usize, outer: usize, endcap_shift: i32) -> u32 {
        let n = self.neighbours[inner * self.layers() + outer];
        let count = n & NEIGHBOURS;
        if n & ENDCAP_PAIR == 0 { count } else { (count as i32 - endcap_shift).max(1) as u32 }
    }

    /// The precision of a pair of layers: [`Detector::pair_precisions`].
    pub(crate) fn precision(&self, inner: usize, outer: usize) -> u32 {
        (self.neighbours[inner * self.layers() + outer] & PRECISION) >> PRECISION_SHIFT
    }

    /// Whether a layer is a disk.
    pub(crate) fn is_disk(&self, layer: usize) -> bool {
        self.detector.layers()[layer].is_endcap()
    }

    /// Whether a layer is a strip layer.
    pub(crate) fn is_strips(&self, layer: usize) -> bool {
        self.detector.layers()[layer].sensor.is_some_and(|sensor| sensor > Sensor::Pixel)
    }

    pub(crate) fn triplet_cuts<R: Real>(&self) -> TripletCuts<R> {
        TripletCuts {
            dz: R::from_f64(self.config.triplet_dz_mm),
            dk: R::from_f64(self.config.triplet_dk),
            dp: R::from_f64(self.config.triplet_dp),
            gev_mm: R::from_f64(0.0003 * self.config.field_t),
            strip_dz: R::from_f64(self.config.triplet_dz_mm) * R::from_f64(PtWeight::STRIP_DZ),
            resolution_mm: R::from_f64(PtWeight::RESOLUTION_MM),
            per_gev2: R::from_f64(PtWeight::PER_GEV2),
        }
    }

    /// Returns rho and phi about the beam spot; None for an invalid spacepoint.
    pub(crate) fn about_beam(&self, rho: f64, phi: f64, z: f64, layer: u32) -> Option<(f64, f64)> {
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

    /// How spacepoints are placed in the window of an RoI.
    pub(super) fn placement(&self, plan: &RoiPlan) -> SlicePlacement {
        SlicePlacement {
            phi_min: plan.phi_min,
            width: plan.width,
            slices_per_rad: self.config.slices_per_rad(),
            slices: plan.slices,
            layers: self.layer_mask,
        }
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
                let mut extremes = PhiExtremes::default();
                // Blocks can be taken as they are.
                let plain = self.config.is_beam_at_origin();
                for first in (0..roi.len()).step_by(BLOCK) {
                    // The last block overlaps the one before it, so that it is whole.
                    let begin = first.min(roi.len().saturating_sub(BLOCK));
                    if plain && block_of(roi, begin).is_some_and(|block| extremes.add_block(self.layer_mask, block)) {
                        continue;
                    }
                    for s in (first..roi.len().min(first + BLOCK)).map(|i| roi.spacepoint(i)) {
                        match self.about_beam(s.rho, s.phi, s.z, s.layer) {
                            Some((_, phi)) if self.layer_mask.takes(s.layer) => extremes.add(0, phi),
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
        let plan = RoiPlan {
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
            has_too_many_candidates: false,
            bad,
        };
        Ok(RoiPlan { has_too_many_candidates: self.has_too_many_candidates(&plan, roi), ..plan })
    }
}

/// Spacepoints that are encoded and written together, so that writes to mapped memory are long.
pub(crate) const BLOCK: usize = 64;

/// A block of an RoI's spacepoints: columns of rho, phi, z and layers, or records.
#[derive(Clone, Copy)]
pub(crate) enum Block<'a> {
    Double([&'a [f64; BLOCK]; 3], &'a [u8; BLOCK]),
    Single([&'a [f32; BLOCK]; 3], &'a [u8; BLOCK]),
    Records(&'a [Spacepoint; BLOCK]),
}

/// Where a block's spacepoints come from.
pub(crate) trait SpacepointSource: Copy {
    /// rho, phi, z and layer.
    fn at(self, i: usize) -> (f64, f64, f64, u32);
}

impl<T: Copy + Into<f64>> SpacepointSource for ([&[T; BLOCK]; 3], &[u8; BLOCK]) {
    #[inline(always)]
    fn at(self, i: usize) -> (f64, f64, f64, u32) {
        let ([rho, phi, z], layers) = self;
        (rho[i].into(), phi[i].into(), z[i].into(), u32::from(layers[i]))
    }
}

impl SpacepointSource for &[Spacepoint; BLOCK] {
    #[inline(always)]
    fn at(self, i: usize) -> (f64, f64, f64, u32) {
        let Spacepoint { rho, phi, z, layer } = self[i];
        (rho, phi, z, layer)
    }
}

/// Returns the block that begins at `first`, if enough spacepoints follow.
pub(crate) fn block_of(roi: RoiView<'_>, first: usize) -> Option<Block<'_>> {
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

/// The lowest and the highest phi, the lowest positive phi and the highest other phi, lane by lane.
/// Infinite where a lane has no value.
#[derive(Clone, Copy)]
pub(super) struct PhiExtremes {
    lowest: [f64; LANES],
    highest: [f64; LANES],
    low_positive: [f64; LANES],
    high_negative: [f64; LANES],
}

/// Lanes of [`PhiExtremes`].
const LANES: usize = 8;

impl Default for PhiExtremes {
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

/// Adds a block's azimuths unless one of them lies outside [-pi, pi]. Branch-free, so that the
/// compiler vectorises it. Other errors of a spacepoint are found when it is packed.
struct AddBlock<'a, S> {
    extremes: &'a mut PhiExtremes,
    layers: LayerMask,
    block: S,
}

impl<S: SpacepointSource> pulp::NullaryFnOnce for AddBlock<'_, S> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { extremes, layers, block } = self;
        let mut with = *extremes;
        let mut plain = true;
        for first in (0..BLOCK).step_by(LANES) {
            for lane in 0..LANES {
                let (_, phi, _, layer) = block.at(first + lane);
                plain &= phi.abs() <= PI;
                // NaN is neither less nor more than another azimuth.
                with.add(lane, if layers.takes(layer) { phi } else { f64::NAN });
            }
        }
        if plain {
            *extremes = with;
        }
        plain
    }
}

impl PhiExtremes {
    #[inline(always)]
    pub(super) fn add(&mut self, lane: usize, phi: f64) {
        let Self { lowest, highest, low_positive, high_negative } = self;
        let positive = phi > 0.0;
        lowest[lane] = smaller(lowest[lane], phi);
        highest[lane] = larger(highest[lane], phi);
        low_positive[lane] = smaller(low_positive[lane], if positive { phi } else { f64::INFINITY });
        high_negative[lane] = larger(high_negative[lane], if positive { f64::NEG_INFINITY } else { phi });
    }

    /// Adds a whole block. Returns false, and adds nothing, if a phi lies outside [-pi, pi].
    pub(super) fn add_block(&mut self, layers: LayerMask, block: Block<'_>) -> bool {
        let (arch, extremes) = (pulp::Arch::new(), self);
        match block {
            Block::Double(columns, at) => arch.dispatch(AddBlock { extremes, layers, block: (columns, at) }),
            Block::Single(columns, at) => arch.dispatch(AddBlock { extremes, layers, block: (columns, at) }),
            Block::Records(block) => arch.dispatch(AddBlock { extremes, layers, block }),
        }
    }

    /// Returns the lower edge and the width of the smallest window. It contains 0 if the positive
    /// and the negative side are nearer to each other there than at pi.
    pub(super) fn window(&self) -> (f64, f64) {
        const PAD: f64 = 1e-10;
        let least = |lanes: [f64; LANES]| lanes.into_iter().fold(f64::INFINITY, smaller);
        let most = |lanes: [f64; LANES]| lanes.into_iter().fold(f64::NEG_INFINITY, larger);
        // If there is no positive phi, `low` is infinite and above `end`. The negative side is
        // symmetric.
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

/// One RoI's window and bins.
#[derive(Clone, Debug)]
pub(crate) struct RoiPlan {
    pub(crate) descriptor: RoiDescriptor,
    pub(crate) bins: ZBins,
    pub(crate) slices: u32,
    /// Slices at both ends are neighbours.
    pub(crate) ring: bool,
    pub(crate) endcap_shift: i32,
    /// Histograms of the RoI: one for each charge and each slice, if asked for.
    pub(crate) histograms: u32,
    /// The number of windows of three bins, those with the lowest sums, whose mean is the
    /// background.
    pub(crate) background_windows: u32,
    /// Lower edge and width of the phi window \[rad\].
    pub(super) phi_min: f64,
    pub(super) width: f64,
    /// Spacepoints, inside the window or not.
    pub(crate) spacepoints: usize,
    /// The RoI has more candidates than the configuration allows.
    has_too_many_candidates: bool,
    /// The search for the window met an invalid spacepoint.
    pub(super) bad: bool,
}

/// Counts of an RoI's spacepoints, or why none was packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackSummary {
    pub(crate) kept: usize,
    pub(crate) outside: usize,
    /// One is invalid, so none is packed.
    pub(crate) bad: bool,
    /// One lies outside the range of the encoding: the RoI has to be packed in another one.
    pub(crate) too_far: bool,
}

impl PackSummary {
    /// Of two pieces of an RoI.
    pub(crate) fn and(self, other: Self) -> Self {
        let (bad, too_far) = (self.bad || other.bad, self.too_far || other.too_far);
        if bad || too_far {
            return Self { bad, too_far: too_far && !bad, ..Self::default() };
        }
        Self { kept: self.kept + other.kept, outside: self.outside + other.outside, ..self }
    }
}

impl RoiPlan {
    /// Whether the window holds this phi, which is in [-pi, pi].
    pub(crate) fn holds(&self, phi: f64) -> bool {
        beyond(self.phi_min, phi) < self.width
    }

    /// The range of z \[mm\].
    pub(crate) fn z_range(&self) -> [f64; 2] {
        [self.bins.z_min, self.bins.z_max]
    }

    /// Returns whether the RoI is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.spacepoints == 0 || self.bad
    }

    #[cfg(test)]
    pub(crate) fn window(&self) -> [f64; 2] {
        [self.phi_min, self.width]
    }

    /// Returns the counts of an RoI with nothing to search.
    pub(crate) fn nothing_packed(&self) -> PackSummary {
        PackSummary { bad: self.bad, ..PackSummary::default() }
    }

    pub(crate) fn z_scale<R: Real>(&self) -> ZScale<R> {
        ZScale {
            z_min: R::from_f64(self.bins.z_min),
            z_max: R::from_f64(self.bins.z_max),
            steps_per_mm: R::from_f64(f64::from(OFFSET_STEPS) / self.bins.width),
            steps_at_0: R::from_f64((0.5 - self.bins.offset) * f64::from(OFFSET_STEPS)),
        }
    }

    /// Whether the histograms exceed [`Config::MOST_BINS_OF_ALL`], or candidates
    /// exceed `max_pairs` or `max_triplets`.
    pub(crate) fn is_too_much(&self) -> bool {
        self.has_too_many_candidates
            || u64::from(self.histograms) * u64::from(self.bins.bins) > Config::MOST_BINS_OF_ALL
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

    /// Appends the result: these vertices, or the status that explains an empty list.
    pub(crate) fn report(
        &self,
        packed: PackSummary,
        vertices: &[Vertex],
        capacity_exceeded: bool,
        results: &mut Results,
    ) {
        let status = if packed.bad {
            Status::BadSpacepoint
        } else if capacity_exceeded {
            Status::CapacityExceeded
        } else if packed.kept == 0 {
            Status::Empty
        } else if vertices.is_empty() {
            Status::NoPeak
        } else {
            Status::Ok
        };
        let summary = RoiSummary {
            id: self.descriptor.id,
            status,
            spacepoints: packed.kept as u64,
            outside_window: packed.outside as u64,
            is_fallback: false,
        };
        let vertices = if status == Status::Ok { vertices } else { &[] };
        results.push(summary, vertices.iter().copied());
    }
}
