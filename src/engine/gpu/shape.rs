//! Properties fixed when an engine is built: the variant of the kernels, and their threads and
//! workgroup memory. naga counts the memory of other tables.

use kernel_host::naga::valid::Capabilities;
use kernel_host::{AdapterKind, Error as GpuError, Gpu, KernelSource, workgroup_memory};

use crate::config::PairWeight;
use crate::engine::gpu::rounding;
use crate::engine::gpu::shaders::{Density, Overrides, Pairing, Variant};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::real::Real;
use crate::error::Result;
use crate::options::{Encoding, EngineOptions, Precision};
use crate::thesis::Accumulate;

/// Bytes of workgroup memory that an entry point takes with these overrides.
fn memory_of(source: &KernelSource, entry_point: &str, variant: Variant, constants: &Overrides) -> Result<u32> {
    let capabilities = match variant.precision {
        Precision::F32 => Capabilities::empty(),
        Precision::F64 => Capabilities::FLOAT64,
    };
    Ok(workgroup_memory(source, entry_point, constants, capabilities)? as u32)
}

/// Threads of a workgroup, as many as wanted where the adapter has them.
fn threads(gpu: &Gpu, wanted: u32) -> u32 {
    gpu.limits().max_compute_invocations_per_workgroup.min(wanted)
}

/// Numbers of bins, spacepoints and words are multiples of this.
const STEP: u32 = 64;

/// Steps of so many bins can be told apart in f32: `whole_steps` in `shaders/shared/real/f32.wgsl`.
const MOST_BINS: u32 = 4096;

/// Of `shaders/find_z/find_z.wgsl`. Little memory lets many workgroups run side by side (measured
/// on an H100: lab/records/2026-11-25-triplets-by-lists.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FindZSize {
    pub(crate) threads: u32,
    /// Bins that a workgroup's memory holds: all of them where they fit, else even tiles of them.
    pub(crate) tile_bins: u32,
    /// Pairs that may wait for a search of their third spacepoints.
    queued: u32,
    /// Words for each of the two tables of marks of `shaders/find_z/pairs/by_pt.wgsl`.
    mark_words: u32,
    /// Partners of a spacepoint that are worth another thread, and most threads that they are
    /// worth.
    pub(crate) partners_a_lane: u32,
    pub(crate) most_lanes: u32,
}

impl FindZSize {
    /// Pairs that the queue of few spacepoints' triplets holds.
    const QUEUED: u32 = 512;
    /// Words of marks that a thread brings into its team: `shaders/find_z/pairs/by_pt.wgsl`.
    const MARK_WORDS: u32 = 4;

    /// 256 threads, which every adapter has, and more if partners are many (measured on an H200).
    pub(crate) fn new(gpu: &Gpu, variant: Variant, bins: u32, density: Density) -> Result<Self> {
        // Software adapters take longer to compile another size than they gain by it.
        let is_high = density == Density::High || gpu.summary().kind == AdapterKind::Software;
        let is_wide = match (variant.pairing, variant.pair_weight) {
            (Pairing::Numbered, _) | (_, PairWeight::Pt) => false,
            (pairing, PairWeight::One) => pairing == Pairing::ByLayer,
            _ => is_high,
        };
        let threads = threads(gpu, if is_wide { 512 } else { 256 });
        let none =
            Self { threads, tile_bins: STEP, queued: 0, mark_words: 0, partners_a_lane: u32::MAX, most_lanes: 1 };
        let least = match (variant.pairing, variant.pair_weight) {
            (Pairing::Numbered, _) | (_, PairWeight::One) => none,
            (_, PairWeight::Any | PairWeight::Count) => {
                Self { queued: if is_high { 2048 } else { Self::QUEUED }, ..none }
            }
            // Two threads a spacepoint only for many partners, which then have finer places: each
            // thread works out the ranges of partners for itself.
            (_, PairWeight::Pt) => {
                let mark_words = Self::MARK_WORDS * threads;
                Self { queued: 256, mark_words, partners_a_lane: 100, most_lanes: 2, ..none }
            }
        };
        let bin_bytes = 4 * variant.row_parts();
        let source = variant.find_z();
        let bytes = memory_of(&source, "find_z", variant, &[variant.find_z_constants(), least.constants()].concat())?;
        let offered = gpu.limits().max_compute_workgroup_storage_size;
        let Some(rest) = (offered + STEP * bin_bytes).checked_sub(bytes).filter(|&rest| rest >= STEP * bin_bytes)
        else {
            return Err(GpuError::Limit {
                adapter: gpu.name().to_owned(),
                limit: "max_compute_workgroup_storage_size",
                wanted: u64::from(bytes),
                offered: u64::from(offered),
            }
            .into());
        };
        // A bin that takes no memory is limited by its number alone.
        let most = rest.checked_div(bin_bytes).unwrap_or(MOST_BINS).min(MOST_BINS) / STEP * STEP;
        Ok(Self { tile_bins: bins.div_ceil(bins.div_ceil(most)).next_multiple_of(STEP).min(most), ..least })
    }

    /// Overrides of `shaders/find_z/find_z.wgsl` and of what is assembled with it.
    pub(crate) fn constants(&self) -> Overrides {
        let own = vec![("TILE_BINS", f64::from(self.tile_bins)), ("WORKGROUP_SIZE", f64::from(self.threads))];
        [own, self.queue_constants()].concat()
    }

    /// Overrides of `shaders/find_z/pairs/*.wgsl`.
    fn queue_constants(&self) -> Overrides {
        let mut constants = Vec::new();
        if self.queued != 0 {
            constants.push(("QUEUED", f64::from(self.queued)));
        }
        if self.mark_words != 0 {
            constants.push(("MARK_WORDS", f64::from(self.mark_words)));
        }
        constants
    }
}

/// Workgroup memory of `shaders/slice_spacepoints/slice_spacepoints.wgsl`. Less memory gives a
/// higher density (measured on an H200).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellTile {
    /// Words of cells, two a word: all of a usual RoI's, where there is room for them and it has
    /// many spacepoints to go through.
    pub(crate) cell_words: u32,
    /// Words of spacepoints in order, two a word.
    order_words: u32,
    threads: u32,
}

impl CellTile {
    /// Spacepoints of an RoI of low density.
    pub(crate) const FEW: u32 = 1024;
    /// Spacepoints that are sorted in workgroup memory, where there is room for them.
    const MANY: u32 = 11_000;
    /// Slices of a usual RoI, and cells of as many slices of 19 layers.
    const SLICES: u32 = 565;
    const CELLS: u32 = 10_752;
    /// Words of cells where few spacepoints have to be gone through again for every tile.
    const SHORT_TILE: u32 = 1728;
    /// The same where cells are slices: all of a usual RoI's.
    const SLICES_TILE: u32 = 512;
    const LEAST: u32 = 128;
    const MOST_BYTES: u32 = 48 << 10;

    /// For RoIs of at most [`CellTile::FEW`] spacepoints.
    pub(crate) fn few(gpu: &Gpu, variant: Variant) -> Result<Self> {
        let threads = threads(gpu, 128);
        let words = Self::words(gpu, variant, threads)?;
        let order_words = (Self::FEW / 4).min(words / 2);
        let tile = if variant.pairing == Pairing::MixedLayers { Self::SLICES_TILE } else { Self::SHORT_TILE };
        Ok(Self { cell_words: tile.min(words - order_words), order_words, threads })
    }

    /// For any RoI.
    pub(crate) fn many(gpu: &Gpu, variant: Variant) -> Result<Self> {
        let threads = threads(gpu, 512);
        let words = Self::words(gpu, variant, threads)?;
        let cell_words = (Self::CELLS / 2).min((words / 2).max(words.saturating_sub(Self::MANY / 2)));
        Ok(Self { cell_words, order_words: words - cell_words, threads })
    }

    /// Words for cells and for spacepoints in order.
    fn words(gpu: &Gpu, variant: Variant, threads: u32) -> Result<u32> {
        let least = Self { cell_words: STEP, order_words: STEP, threads };
        let source = variant.slice_spacepoints(Encoding::Lossless);
        let constants = [variant.cell_constants(), least.constants()].concat();
        let beside = memory_of(&source, "slice_spacepoints", variant, &constants)? - 8 * STEP;
        let offered = gpu.limits().max_compute_workgroup_storage_size.min(Self::MOST_BYTES);
        Ok((offered.saturating_sub(beside) / 4).max(2 * Self::LEAST))
    }

    /// Overrides of `shaders/slice_spacepoints/slice_spacepoints.wgsl`.
    pub(crate) fn constants(&self) -> Overrides {
        vec![
            ("WORKGROUP_SIZE", f64::from(self.threads)),
            ("TILE_WORDS", f64::from(self.cell_words)),
            ("ORDER_WORDS", f64::from(self.order_words)),
        ]
    }
}

/// Capacity of a workgroup of `shaders/walk/walk.wgsl`, which searches an RoI alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalkSize {
    threads: u32,
    spacepoints: u32,
    /// Of cells, two a word.
    cell_words: u32,
    bins: u32,
    counts_pairs: bool,
    queued: u32,
}

impl WalkSize {
    const THREADS: u32 = 256;
    /// Spacepoints that a thread holds: `AT_ONCE` in
    /// `shaders/slice_spacepoints/counting_sort.wgsl`.
    const AT_ONCE: u32 = 4;
    /// Spacepoints, and words of cells: fewer are not worth a kernel.
    const LEAST: u32 = 128;
    /// Spacepoints that have room before cells have.
    const ENOUGH: u32 = 512;
    const MOST: u32 = 1024;
    const MOST_BYTES: u32 = 48 << 10;

    /// None where the device's workgroups have too little memory.
    pub(crate) fn new<R: Real>(gpu: &Gpu, variant: Variant, layers: u32, bins: u32) -> Result<Option<Self>> {
        if bins > MOST_BINS {
            return Ok(None);
        }
        let least = Self {
            threads: threads(gpu, Self::THREADS),
            spacepoints: STEP,
            cell_words: STEP,
            bins: bins.next_multiple_of(STEP),
            counts_pairs: variant.counts_pairs(),
            queued: if variant.pair_weight == PairWeight::One { 0 } else { FindZSize::QUEUED },
        };
        let each = (2 * size_of::<R>() + size_of::<R::Stored>()) as u32;
        let constants = [variant.find_z_constants(), least.constants()].concat();
        let beside = memory_of(&variant.walk(Encoding::Lossless), "walk", variant, &constants)? - STEP * (each + 4);
        let most_bytes = gpu.limits().max_compute_workgroup_storage_size.min(Self::MOST_BYTES);
        let Some(offered) = most_bytes.checked_sub(beside) else { return Ok(None) };
        // Cells of a usual RoI, or of as many slices as spacepoints leave room for.
        let usual = variant.pairing.cells_of(layers, CellTile::SLICES).div_ceil(2);
        let cell_words = usual.min(offered.saturating_sub(Self::ENOUGH * each).max(4 * Self::LEAST) / 4);
        let Some(rest) = offered.checked_sub(4 * cell_words.next_multiple_of(4)) else { return Ok(None) };
        let spacepoints = (rest / each).min(Self::MOST).min(Self::AT_ONCE * least.threads) / STEP * STEP;
        Ok((spacepoints >= Self::LEAST).then_some(Self { spacepoints, cell_words, ..least }))
    }

    /// Whether an RoI with so many cells fits.
    pub(crate) fn holds(&self, plan: &RoiPlan, cells: u32) -> bool {
        plan.spacepoints <= self.spacepoints as usize && cells <= 2 * self.cell_words && plan.bins.bins <= self.bins
    }

    /// Overrides of `shaders/walk/walk.wgsl` and of what is assembled with it.
    pub(crate) fn constants(&self) -> Overrides {
        let mut constants = vec![
            ("TILE_BINS", f64::from(self.bins)),
            ("WORKGROUP_SIZE", f64::from(self.threads)),
            ("POINTS", f64::from(self.spacepoints)),
            ("TILE_WORDS", f64::from(self.cell_words)),
            ("PAIR_BINS", f64::from(if self.counts_pairs { self.bins } else { 1 })),
        ];
        if self.queued != 0 {
            constants.push(("QUEUED", f64::from(self.queued)));
        }
        constants
    }
}

/// Which pairs share a row of histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowSharing {
    /// Pairs of a group of so many slices: `thesis/numbered_pairs.wgsl`.
    Numbered { slices: u32 },
    /// Pairs of a share of the spacepoints; `None`: by the amount of work. `find_z/pairs/*.wgsl`.
    Streamed { share: Option<u32> },
}

impl RowSharing {
    /// Groups of slices of a whole turn, by default.
    const GROUPS: f64 = 64.0;

    /// Sums by compare and retry are the thesis's, and so are then its groups of slices.
    fn new(search: &Search, options: &EngineOptions) -> Self {
        let slices = (360.0 / search.config.phi_slice_deg / Self::GROUPS).ceil() as u32;
        match (options.thesis.slices_per_histogram, options.thesis.accumulate) {
            (Some(slices), _) => Self::Numbered { slices },
            (None, Accumulate::CompareExchange) => Self::Numbered { slices },
            (None, Accumulate::Fixed) => Self::Streamed { share: None },
        }
    }
}

/// How the RoIs of a part are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchMethod {
    /// Each in one workgroup and all in one dispatch: `walk/walk.wgsl`.
    Walk,
    /// In the four stages.
    Stages(Density),
}

impl SearchMethod {
    pub(crate) fn density(self) -> Density {
        match self {
            Self::Walk => Density::Low,
            Self::Stages(density) => density,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) pairs: RowSharing,
    variant: Variant,
    /// Of find_z and of slice_spacepoints, for low density and for high.
    find_z: [FindZSize; 2],
    cell_tiles: [CellTile; 2],
    pub(crate) walk: Option<WalkSize>,
    pub(crate) layers: u32,
    /// Most peaks of an RoI that come back.
    pub(crate) peaks: u32,
    /// Histograms of each charge, of each slice.
    pub(crate) charge_aware: bool,
    pub(crate) per_slice: bool,
}

impl Shape {
    pub(crate) async fn new<R: Real>(gpu: &Gpu, search: &Search, options: &EngineOptions) -> Result<Self> {
        let config = &search.config;
        let pairs = RowSharing::new(search, options);
        let several = config.charge_aware || config.histogram_per_slice;
        let by_layer = several || config.pair_weight == PairWeight::Pt || !search.has_single_neighbours();
        let variant = Variant {
            precision: options.precision,
            accumulate: options.thesis.accumulate,
            pairing: match pairs {
                RowSharing::Numbered { .. } => Pairing::Numbered,
                RowSharing::Streamed { .. } if by_layer => Pairing::ByLayer,
                RowSharing::Streamed { .. } => Pairing::TwoSlices,
            },
            pair_weight: config.pair_weight,
            ranking: config.ranking,
            z_estimate: config.z_estimate,
            extrapolation: config.extrapolation,
            several,
            rounding: rounding::choose_rounding::<R>(gpu, options.precision).await?,
        };
        let bins = config.z_bins(0.0, None)?.bins;
        let low = variant.at(Density::Low);
        let has_walk = variant.pairing != Pairing::Numbered && !several && config.pair_weight != PairWeight::Pt;
        let layers = search.layers() as u32;
        Ok(Self {
            pairs,
            variant,
            find_z: [FindZSize::new(gpu, low, bins, Density::Low)?, FindZSize::new(gpu, variant, bins, Density::High)?],
            cell_tiles: [CellTile::few(gpu, low)?, CellTile::many(gpu, variant)?],
            walk: if has_walk { WalkSize::new::<R>(gpu, low, layers, bins)? } else { None },
            layers,
            peaks: config.peaks,
            charge_aware: config.charge_aware,
            per_slice: config.histogram_per_slice,
        })
    }

    /// The same with room for so many peaks an RoI.
    pub(crate) fn with_peaks(&self, peaks: u32) -> Self {
        Self { peaks, ..*self }
    }

    pub(crate) fn variant(&self, density: Density) -> Variant {
        self.variant.at(density)
    }

    pub(crate) fn find_z(&self, density: Density) -> FindZSize {
        self.find_z[density as usize]
    }

    pub(crate) fn cell_tile(&self, density: Density) -> CellTile {
        self.cell_tiles[density as usize]
    }
}
