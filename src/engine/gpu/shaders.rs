//! The WGSL of the kernels, assembled: a kernel's file and the small files it needs, some of which
//! are chosen by swapping, and the overrides that go with the choice.

use kernel_host::KernelSource;

use crate::config::{Extrapolation, Triplets, Weighting};
use crate::histogram::PAIR_PARTS;
use crate::options::{Encoding, Precision};
use crate::pt_weight::PtWeight;
use crate::thesis::Accumulate;

/// The choices that select files and overrides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) precision: Precision,
    /// By compare and retry only with numbered pairs.
    pub(crate) accumulate: Accumulate,
    pub(crate) pairing: Pairing,
    /// As far as kernels are concerned: weights count.
    pub(crate) triplets: Triplets,
    /// By pT only by layer or numbered, and in one histogram an RoI.
    pub(crate) weighting: Weighting,
    pub(crate) extrapolation: Extrapolation,
    /// RoIs have histograms of each charge, or of each slice; only by layer or numbered.
    pub(crate) several: bool,
    pub(crate) rounding: Rounding,
}

/// How quotients and square roots come to be rounded as on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// The device does so, or nothing helps.
    Native,
    /// By fused multiply-add.
    Corrected,
}

impl Rounding {
    /// The override of `quotient` in `shaders/types.wgsl`.
    pub(crate) fn constant(self) -> (&'static str, f64) {
        ("CORRECTED", f64::from(self == Self::Corrected))
    }
}

/// How spacepoints lie, and how their pairs are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// By slice and layer, each spacepoint with what follows it: single neighbours, all layers
    /// inner.
    TwoSlices,
    /// The same for few spacepoints, and for pairs only: by slice, layers mixed.
    MixedLayers,
    /// By layer, each inner spacepoint with its outer ones.
    ByLayer,
    /// By layer, all pairs of a group of slices numbered: the thesis's way.
    Numbered,
}

impl Pairing {
    /// Cells of so many slices: `cell_count` in `shaders/types.wgsl`.
    pub(crate) fn cells_of(self, layers: u32, slices: u32) -> u32 {
        if self == Self::MixedLayers { slices + 1 } else { layers * slices + 1 }
    }

    /// The override of `cell_place` in `shaders/types.wgsl`.
    fn constant(self) -> (&'static str, f64) {
        let order = match self {
            Self::ByLayer | Self::Numbered => 0.0,
            Self::TwoSlices => 1.0,
            Self::MixedLayers => 2.0,
        };
        ("CELLS", order)
    }
}

/// How many spacepoints the RoIs of a part have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Density {
    /// At most [`CellTile::FEW`](crate::engine::gpu::sizes::CellTile::FEW) each.
    Low,
    High,
}

impl Density {
    pub(crate) const ALL: [Self; 2] = [Self::Low, Self::High];
}

/// Values of overrides.
pub(crate) type Overrides = Vec<(&'static str, f64)>;

/// A file of WGSL: its name and its text.
type Piece = (&'static str, &'static str);

macro_rules! shader {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../shaders/", $name)))
    };
}

const TYPES: Piece = shader!("types.wgsl");
const TRACKS: Piece = shader!("tracks.wgsl");
const COUNTING_SORT: Piece = shader!("counting_sort.wgsl");
const BENDS: Piece = shader!("bends.wgsl");
const HISTOGRAMS: Piece = shader!("histograms.wgsl");
const WINDOWS: Piece = shader!("windows.wgsl");

impl Variant {
    /// Returns the selection for RoIs of this density.
    pub(crate) fn at(self, density: Density) -> Self {
        match (self.pairing, self.triplets, density) {
            (Pairing::TwoSlices, Triplets::Off, Density::Low) => Self { pairing: Pairing::MixedLayers, ..self },
            _ => self,
        }
    }

    /// Whether find_z adds entries to RoIs' own histograms at once: RoIs have several, or entries
    /// are few.
    pub(crate) fn fills_totals(self) -> bool {
        self.several || (self.weighting == Weighting::Pt && self.pairing != Pairing::Numbered)
    }

    /// Words of a bin in a row that find_z fills: `ROW_PARTS` in `shaders/histograms.wgsl`.
    pub(crate) fn row_parts(self) -> u32 {
        match self.accumulate {
            _ if self.fills_totals() => 0,
            Accumulate::Fixed => 1,
            Accumulate::CompareExchange => 2,
        }
    }

    /// Words of a bin of an RoI's own histogram: `pairs_part` in `shaders/histograms.wgsl`.
    pub(crate) fn total_parts(self) -> u32 {
        match (self.counts_pairs(), self.weighting) {
            (_, Weighting::Pt) => 5 + PAIR_PARTS,
            (true, Weighting::Count) => 3,
            (false, Weighting::Count) => 2,
        }
    }

    /// Whether pairs are counted beside weights: `counts_pairs` in `shaders/tracks.wgsl`.
    pub(crate) fn counts_pairs(self) -> bool {
        self.triplets == Triplets::Count
    }

    /// Overrides of every kernel that sorts spacepoints.
    pub(crate) fn cell_constants(self) -> Overrides {
        vec![self.rounding.constant(), self.pairing.constant()]
    }

    /// Overrides of every kernel that sums histograms.
    pub(crate) fn sum_histos_constants(self) -> Overrides {
        let is_f32 = self.accumulate == Accumulate::CompareExchange;
        vec![("ROW_PARTS", f64::from(self.row_parts())), ("F32_SUMS", f64::from(is_f32))]
    }

    /// Overrides of every kernel that goes through pairs.
    pub(crate) fn find_z_constants(self) -> Overrides {
        let mode = match self.triplets {
            Triplets::Off => 0.0,
            Triplets::Any => 1.0,
            Triplets::Count => 2.0,
        };
        let mut constants = [self.cell_constants(), self.sum_histos_constants()].concat();
        constants.push(("TRIPLETS", mode));
        constants.push(("ACCURATE", f64::from(self.extrapolation == Extrapolation::Accurate)));
        if self.weighting == Weighting::Pt {
            constants.extend([
                ("SOFT_GEV", PtWeight::GEV[0][0]),
                ("WEIGHED_GEV", PtWeight::GEV[0][1]),
                ("HARD_GEV", PtWeight::GEV[0][2]),
                ("SOFT_DISK_GEV", PtWeight::GEV[1][0]),
                ("WEIGHED_DISK_GEV", PtWeight::GEV[1][1]),
                ("HARD_DISK_GEV", PtWeight::GEV[1][2]),
                ("CAP_GEV", PtWeight::CAP_GEV),
                ("SOFT_LAYERS", f64::from(PtWeight::LAYERS[0][0])),
                ("WEIGHED_LAYERS", f64::from(PtWeight::LAYERS[0][1])),
                ("HARD_LAYERS", f64::from(PtWeight::LAYERS[0][2])),
                ("SOFT_DISK_LAYERS", f64::from(PtWeight::LAYERS[1][0])),
                ("WEIGHED_DISK_LAYERS", f64::from(PtWeight::LAYERS[1][1])),
                ("HARD_DISK_LAYERS", f64::from(PtWeight::LAYERS[1][2])),
            ]);
        }
        constants
    }

    /// Overrides of `shaders/find_peaks.wgsl`.
    pub(crate) fn find_peaks_constants(self) -> Overrides {
        match self.weighting {
            Weighting::Count => Vec::new(),
            Weighting::Pt => vec![("SCALE", PtWeight::SCALE)],
        }
    }

    pub(crate) fn slice_spacepoints(self, encoding: Encoding) -> KernelSource {
        let own = [encoding_piece(encoding), COUNTING_SORT, shader!("slice_spacepoints.wgsl")];
        assemble("slice_spacepoints", &[&self.records(), &own])
    }

    pub(crate) fn find_z(self) -> KernelSource {
        let own = [shader!("find_z.wgsl")];
        assemble("find_z", &[&self.records(), &self.accumulate(), &[TRACKS, self.order()], &self.pairs(), &own])
    }

    /// All of the stages in one workgroup; not for numbered pairs, several histograms or weights by
    /// pT.
    pub(crate) fn walk(self, encoding: Encoding) -> KernelSource {
        let tracks = [encoding_piece(encoding), shader!("accumulate/wide.wgsl"), TRACKS, self.order()];
        let peaks =
            [COUNTING_SORT, WINDOWS, shader!("ranks/sum.wgsl"), shader!("peaks/one.wgsl"), shader!("walk.wgsl")];
        assemble("walk", &[&self.records(), &tracks, &self.pairs(), &peaks])
    }

    pub(crate) fn sum_histos(self) -> KernelSource {
        assemble("sum_histos", &[&self.records(), &[shader!("sum_histos.wgsl")]])
    }

    pub(crate) fn find_peaks(self) -> KernelSource {
        let peaks: &[Piece] = match self.weighting {
            _ if self.several => &[shader!("peaks/several.wgsl")],
            Weighting::Count => &[shader!("peaks/one.wgsl"), shader!("ranks/sum.wgsl")],
            Weighting::Pt => &[shader!("peaks/one.wgsl"), shader!("ranks/pt.wgsl")],
        };
        assemble("find_peaks", &[&self.records(), &[WINDOWS], peaks, &[shader!("find_peaks.wgsl")]])
    }

    /// Of several histograms.
    pub(crate) fn highest_windows(self) -> KernelSource {
        assemble("highest_windows", &[&self.records(), &[WINDOWS, shader!("highest_windows.wgsl")]])
    }

    fn records(self) -> [Piece; 3] {
        [real(self.precision), TYPES, HISTOGRAMS]
    }

    fn accumulate(self) -> Vec<Piece> {
        let totals = shader!("accumulate/totals.wgsl");
        match (self.accumulate, self.fills_totals()) {
            (Accumulate::Fixed, false) => vec![shader!("accumulate/fixed_point.wgsl")],
            (Accumulate::CompareExchange, false) => vec![shader!("thesis/f32_accumulate.wgsl")],
            (Accumulate::Fixed, true) => vec![shader!("accumulate/total_fixed_point.wgsl"), totals],
            (Accumulate::CompareExchange, true) => vec![shader!("thesis/f32_totals.wgsl"), totals],
        }
    }

    fn order(self) -> Piece {
        match self.pairing {
            Pairing::TwoSlices => shader!("order/by_slice.wgsl"),
            Pairing::MixedLayers => shader!("order/mixed_layers.wgsl"),
            Pairing::ByLayer | Pairing::Numbered => shader!("order/by_layer.wgsl"),
        }
    }

    fn pairs(self) -> Vec<Piece> {
        let pairs = match (self.pairing, self.triplets, self.weighting) {
            (Pairing::Numbered, ..) => shader!("thesis/numbered_pairs.wgsl"),
            (_, Triplets::Off, _) => return vec![shader!("pairs/streamed.wgsl")],
            (.., Weighting::Pt) => shader!("pairs/by_pt.wgsl"),
            (.., Weighting::Count) => shader!("pairs/by_count.wgsl"),
        };
        let thirds = match self.weighting {
            Weighting::Count => shader!("thirds/count.wgsl"),
            Weighting::Pt => shader!("thirds/pt.wgsl"),
        };
        vec![BENDS, thirds, pairs]
    }
}

fn encoding_piece(encoding: Encoding) -> Piece {
    match encoding {
        Encoding::Lossless => shader!("encoding/lossless.wgsl"),
        Encoding::Compact => shader!("encoding/compact.wgsl"),
    }
}

fn real(precision: Precision) -> Piece {
    match precision {
        Precision::F32 => shader!("real/f32.wgsl"),
        Precision::F64 => shader!("real/f64.wgsl"),
    }
}

/// The probe of a device's rounding.
pub(crate) fn probe_rounding(precision: Precision) -> KernelSource {
    assemble("probe_rounding", &[&[real(precision), TYPES, shader!("probe_rounding.wgsl")]])
}

fn assemble(kernel: &str, pieces: &[&[Piece]]) -> KernelSource {
    pieces.iter().copied().flatten().fold(KernelSource::new(kernel), |source, (name, text)| source.piece(name, text))
}

#[cfg(test)]
#[path = "shaders_tests.rs"]
mod tests;
