//! Choices that are fixed when the engine is built: kernels and their sizes.

use kernel_host::Gpu;

use crate::config::{Triplets, Weighting};
use crate::engine::gpu::rounding;
use crate::engine::gpu::shaders::{Density, Pairing, Variant};
use crate::engine::gpu::sizes::{CellTile, FindZSize, WalkSize};
use crate::engine::plan::Search;
use crate::engine::real::Real;
use crate::error::Result;
use crate::options::EngineOptions;
use crate::thesis::Accumulate;

/// Which pairs share a row of histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowSharing {
    /// Pairs of a group of so many slices: `thesis/numbered_pairs.wgsl`.
    Numbered { slices: u32 },
    /// Pairs of a share of the spacepoints; `None`: by the amount of work. `pairs/*.wgsl`.
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
    /// Each in one workgroup and all in one dispatch: `walk.wgsl`.
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
        let by_layer = several || config.weighting == Weighting::Pt || !search.is_single();
        let variant = Variant {
            precision: options.precision,
            accumulate: options.thesis.accumulate,
            pairing: match pairs {
                RowSharing::Numbered { .. } => Pairing::Numbered,
                RowSharing::Streamed { .. } if by_layer => Pairing::ByLayer,
                RowSharing::Streamed { .. } => Pairing::TwoSlices,
            },
            // A weight is counted.
            triplets: if config.weighting == Weighting::Pt { Triplets::Count } else { config.triplets },
            weighting: config.weighting,
            extrapolation: config.extrapolation,
            several,
            rounding: rounding::choose_rounding::<R>(gpu, options.precision).await?,
        };
        let bins = config.z_bins(0.0, None)?.bins;
        let low = variant.at(Density::Low);
        let has_walk = variant.pairing != Pairing::Numbered && !several && config.weighting == Weighting::Count;
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
