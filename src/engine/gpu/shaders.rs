//! The WGSL of the kernels. A kernel's file imports other files. A variant chooses among files that
//! replace each other, and sets overrides.

use kernel_host::{KernelSource, ShaderFiles, shader_files};

use crate::config::{Extrapolation, PairWeight, Ranking, ZEstimate};
use crate::engine::histogram::PAIR_PARTS;
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
    /// By pT only by layer or numbered, and in one histogram an RoI.
    pub(crate) pair_weight: PairWeight,
    pub(crate) ranking: Ranking,
    pub(crate) z_estimate: ZEstimate,
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
    /// The override of `quotient` in `shaders/shared/types.wgsl`.
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
    /// Cells of so many slices: `cell_count` in `shaders/shared/types.wgsl`.
    pub(crate) fn cells_of(self, layers: u32, slices: u32) -> u32 {
        if self == Self::MixedLayers { slices + 1 } else { layers * slices + 1 }
    }

    /// The override of `cell_place` in `shaders/shared/types.wgsl`.
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
    /// At most [`CellTile::FEW`](crate::engine::gpu::shape::CellTile::FEW) each.
    Low,
    High,
}

impl Density {
    pub(crate) const ALL: [Self; 2] = [Self::Low, Self::High];
}

/// Values of overrides.
pub(crate) type Overrides = Vec<(&'static str, f64)>;

/// All files of WGSL.
const FILES: &ShaderFiles = shader_files![
    "../../../shaders/":
    "shared/types", "shared/histograms", "shared/real/f32", "shared/real/f64", "shared/probe_rounding",
    "slice_spacepoints/slice_spacepoints", "slice_spacepoints/counting_sort", "slice_spacepoints/encoding/compact", "slice_spacepoints/encoding/lossless",
    "find_z/find_z", "find_z/tracks", "find_z/bends", "find_z/order/by_layer", "find_z/order/by_slice", "find_z/order/mixed_layers",
    "find_z/pairs/streamed", "find_z/pairs/by_count", "find_z/pairs/by_pt", "find_z/pair_weight/one", "find_z/pair_weight/count", "find_z/pair_weight/pt",
    "find_z/accumulate/fixed_point", "find_z/accumulate/totals", "find_z/accumulate/wide", "find_z/total_sums/fixed_point",
    "sum_histos/sum_histos",
    "find_peaks/find_peaks", "find_peaks/highest_windows", "find_peaks/windows", "find_peaks/peaks/one", "find_peaks/peaks/several", "find_peaks/ranking/entries", "find_peaks/ranking/directions", "find_peaks/z_estimate/mean", "find_peaks/z_estimate/densest",
    "walk/walk",
    "tracklets/types", "tracklets/sort_hits", "tracklets/find_doublets", "tracklets/find_triplets", "tracklets/build_chains", "tracklets/choose_chains",
    "thesis/f32_accumulate", "thesis/f32_totals", "thesis/numbered_pairs",
];

/// A folder of files that replace each other, and the file to take.
type Choice = (&'static str, &'static str);

impl Variant {
    /// Returns the selection for RoIs of this density.
    pub(crate) fn at(self, density: Density) -> Self {
        match (self.pairing, self.pair_weight, density) {
            (Pairing::TwoSlices, PairWeight::One, Density::Low) => Self { pairing: Pairing::MixedLayers, ..self },
            _ => self,
        }
    }

    /// Whether find_z adds entries to RoIs' own histograms at once: RoIs have several, or entries
    /// are few.
    pub(crate) fn fills_totals(self) -> bool {
        self.several || (self.pair_weight == PairWeight::Pt && self.pairing != Pairing::Numbered)
    }

    /// Words of a bin in a row that find_z fills: `ROW_PARTS` in `shaders/shared/histograms.wgsl`.
    pub(crate) fn row_parts(self) -> u32 {
        match self.accumulate {
            _ if self.fills_totals() => 0,
            Accumulate::Fixed => 1,
            Accumulate::CompareExchange => 2,
        }
    }

    /// Words of a bin of an RoI's own histogram: `pairs_part` in `shaders/shared/histograms.wgsl`.
    pub(crate) fn total_parts(self) -> u32 {
        match self.pair_weight {
            PairWeight::One | PairWeight::Any => 2,
            PairWeight::Count => 3,
            PairWeight::Pt => 5 + PAIR_PARTS,
        }
    }

    /// Whether pairs are counted beside weights: `counts_pairs` in
    /// `shaders/find_z/pair_weight/*.wgsl`.
    pub(crate) fn counts_pairs(self) -> bool {
        matches!(self.pair_weight, PairWeight::Count | PairWeight::Pt)
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
        let mut constants = [self.cell_constants(), self.sum_histos_constants()].concat();
        constants.push(("ACCURATE", f64::from(self.extrapolation == Extrapolation::Accurate)));
        if self.pair_weight == PairWeight::Count {
            constants.push(("COUNTS_ALL", 1.0));
        }
        if self.pair_weight == PairWeight::Pt {
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

    /// Overrides of `shaders/find_peaks/find_peaks.wgsl`.
    pub(crate) fn find_peaks_constants(self) -> Overrides {
        match self.ranking {
            Ranking::Directions => vec![("SCALE", PtWeight::SCALE)],
            Ranking::Entries => Vec::new(),
        }
    }

    pub(crate) fn slice_spacepoints(self, encoding: Encoding) -> KernelSource {
        self.assemble("slice_spacepoints::slice_spacepoints", &[encoding_choice(encoding)])
    }

    pub(crate) fn find_z(self) -> KernelSource {
        let accumulate = match (self.accumulate, self.fills_totals()) {
            (_, true) => "find_z::accumulate::totals",
            (Accumulate::Fixed, false) => "find_z::accumulate::fixed_point",
            (Accumulate::CompareExchange, false) => "thesis::f32_accumulate",
        };
        let total_sums = match self.accumulate {
            Accumulate::Fixed => "find_z::total_sums::fixed_point",
            Accumulate::CompareExchange => "thesis::f32_totals",
        };
        self.assemble("find_z::find_z", &[("find_z::accumulate", accumulate), ("find_z::total_sums", total_sums)])
    }

    /// All of the stages in one workgroup; not for numbered pairs, several histograms or weights by
    /// pT.
    pub(crate) fn walk(self, encoding: Encoding) -> KernelSource {
        self.assemble("walk::walk", &[encoding_choice(encoding), ("find_z::accumulate", "find_z::accumulate::wide")])
    }

    pub(crate) fn sum_histos(self) -> KernelSource {
        self.assemble("sum_histos::sum_histos", &[])
    }

    pub(crate) fn find_peaks(self) -> KernelSource {
        self.assemble("find_peaks::find_peaks", &[])
    }

    /// Of several histograms.
    pub(crate) fn highest_windows(self) -> KernelSource {
        self.assemble("find_peaks::highest_windows", &[])
    }

    /// Assembles a kernel with the files of this variant, and with choices of its own.
    fn assemble(self, kernel: &str, own: &[Choice]) -> KernelSource {
        let order = match self.pairing {
            Pairing::TwoSlices => "find_z::order::by_slice",
            Pairing::MixedLayers => "find_z::order::mixed_layers",
            Pairing::ByLayer | Pairing::Numbered => "find_z::order::by_layer",
        };
        let pairs = match (self.pairing, self.pair_weight) {
            (Pairing::Numbered, _) => "thesis::numbered_pairs",
            (_, PairWeight::One) => "find_z::pairs::streamed",
            (_, PairWeight::Any | PairWeight::Count) => "find_z::pairs::by_count",
            (_, PairWeight::Pt) => "find_z::pairs::by_pt",
        };
        let pair_weight = match self.pair_weight {
            PairWeight::One => "find_z::pair_weight::one",
            PairWeight::Any | PairWeight::Count => "find_z::pair_weight::count",
            PairWeight::Pt => "find_z::pair_weight::pt",
        };
        let ranking = match self.ranking {
            Ranking::Entries => "find_peaks::ranking::entries",
            Ranking::Directions => "find_peaks::ranking::directions",
        };
        let z_estimate = match self.z_estimate {
            ZEstimate::Mean => "find_peaks::z_estimate::mean",
            ZEstimate::Densest => "find_peaks::z_estimate::densest",
        };
        let peaks = if self.several { "find_peaks::peaks::several" } else { "find_peaks::peaks::one" };
        let choices = [
            real_choice(self.precision),
            ("find_z::order", order),
            ("find_z::pairs", pairs),
            ("find_z::pair_weight", pair_weight),
            ("find_peaks::peaks", peaks),
            ("find_peaks::ranking", ranking),
            ("find_peaks::z_estimate", z_estimate),
        ];
        KernelSource::assemble(kernel, FILES, &[own, &choices].concat())
    }
}

fn encoding_choice(encoding: Encoding) -> Choice {
    let file = match encoding {
        Encoding::Lossless => "slice_spacepoints::encoding::lossless",
        Encoding::Compact => "slice_spacepoints::encoding::compact",
    };
    ("slice_spacepoints::encoding", file)
}

fn real_choice(precision: Precision) -> Choice {
    let file = match precision {
        Precision::F32 => "shared::real::f32",
        Precision::F64 => "shared::real::f64",
    };
    ("shared::real", file)
}

/// A kernel of the search for tracklets.
pub(crate) fn tracklets(name: &str) -> KernelSource {
    KernelSource::assemble(&format!("tracklets::{name}"), FILES, &[real_choice(Precision::F32)])
}

/// The number type alone, for kernels of tests.
#[cfg(test)]
pub(crate) fn real(precision: Precision) -> KernelSource {
    KernelSource::assemble(real_choice(precision).1, FILES, &[])
}

/// The probe of a device's rounding.
pub(crate) fn probe_rounding(precision: Precision) -> KernelSource {
    KernelSource::assemble("shared::probe_rounding", FILES, &[real_choice(precision)])
}

#[cfg(test)]
#[path = "shaders_tests.rs"]
mod tests;
