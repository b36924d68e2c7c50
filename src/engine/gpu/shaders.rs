//! The WGSL of the four stages, assembled: a kernel's file and the small files it needs, of which the number type and
//! the accumulation are chosen by swapping.

use kernel_host::Source;

use crate::config::{Extrapolation, Triplets, Weighting};
use crate::engine::real::Real;
use crate::options::{Accumulate, Encoding, Precision};

/// The choices that select files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) precision: Precision,
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

/// How spacepoints lie, and how their pairs are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// By slice and layer, each spacepoint with what follows it: single neighbours, all layers inner.
    TwoSlices,
    /// The same for few spacepoints, and for pairs only: by slice, layers mixed.
    MixedLayers,
    /// By layer, each inner spacepoint with its outer ones.
    ByLayer,
    /// By layer, all pairs of a group of slices numbered: the thesis's way.
    Numbered,
}

macro_rules! shader {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../shaders/", $name)))
    };
}

const TYPES: (&str, &str) = shader!("types.wgsl");
const TRACKS: (&str, &str) = shader!("tracks.wgsl");
const COUNTING_SORT: (&str, &str) = shader!("counting_sort.wgsl");
const BENDS: (&str, &str) = shader!("bends.wgsl");
const TOTALS: (&str, &str) = shader!("totals.wgsl");
const WINDOWS: (&str, &str) = shader!("windows.wgsl");

impl Variant {
    /// Every variant that there is.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Variant> {
        let pairings = [Pairing::TwoSlices, Pairing::ByLayer, Pairing::Numbered];
        [Precision::F32, Precision::F64].into_iter().flat_map(move |precision| {
            [Accumulate::Fixed, Accumulate::CompareExchange].into_iter().flat_map(move |accumulate| {
                pairings.into_iter().flat_map(move |pairing| {
                    [Triplets::Off, Triplets::Any, Triplets::Count].into_iter().flat_map(move |triplets| {
                        let (extrapolation, several) = (Extrapolation::Linear, false);
                        let weighting = Weighting::Count;
                        let rounding = Rounding::Native;
                        let many = Variant {
                            precision,
                            accumulate,
                            pairing,
                            triplets,
                            weighting,
                            extrapolation,
                            several,
                            rounding,
                        };
                        let few = many.of_few();
                        let accurate = Variant { extrapolation: Extrapolation::Accurate, ..many };
                        let several = Variant { several: pairing != Pairing::TwoSlices, ..many };
                        let both = Variant { several: several.several, ..accurate };
                        let by_pt = triplets == Triplets::Count && pairing != Pairing::TwoSlices;
                        let weighting = if by_pt { Weighting::Pt } else { weighting };
                        let weighted = [Variant { weighting, ..many }, Variant { weighting, ..accurate }];
                        let corrected = weighted.map(|variant| Variant { rounding: Rounding::Corrected, ..variant });
                        let mut all = vec![many, few, accurate, accurate.of_few(), several, both];
                        all.extend(weighted);
                        all.extend(corrected);
                        all.dedup();
                        all
                    })
                })
            })
        })
    }

    fn real(self) -> (&'static str, &'static str) {
        real(self.precision)
    }

    fn rounding(self) -> (&'static str, &'static str) {
        round(self.rounding)
    }

    /// Whether find_z adds entries to RoIs' own histograms at once: RoIs have several, or entries are few.
    pub(crate) fn fills_totals(self) -> bool {
        self.several || (self.weighting == Weighting::Pt && self.pairing != Pairing::Numbered)
    }

    fn histogram(self) -> (&'static str, &'static str) {
        match self.accumulate {
            Accumulate::Fixed => shader!("histogram/fixed_point.wgsl"),
            Accumulate::CompareExchange => shader!("histogram/compare_exchange.wgsl"),
        }
    }

    fn accumulate(self) -> Vec<(&'static str, &'static str)> {
        let totals = shader!("accumulate/totals.wgsl");
        match (self.accumulate, self.fills_totals()) {
            (Accumulate::Fixed, false) => vec![shader!("accumulate/fixed_point.wgsl")],
            (Accumulate::CompareExchange, false) => vec![shader!("accumulate/compare_exchange.wgsl")],
            (Accumulate::Fixed, true) => vec![shader!("accumulate/total_fixed_point.wgsl"), totals],
            (Accumulate::CompareExchange, true) => vec![shader!("accumulate/total_compare_exchange.wgsl"), totals],
        }
    }

    fn extrapolation(self) -> (&'static str, &'static str) {
        match self.extrapolation {
            Extrapolation::Linear => shader!("extrapolation/linear.wgsl"),
            Extrapolation::Accurate => shader!("extrapolation/accurate.wgsl"),
        }
    }

    /// Words of a bin in a row that find_z fills: `ROW_PARTS` in `shaders/histogram/*.wgsl`.
    pub(crate) fn row_parts(self) -> u32 {
        match self.accumulate {
            _ if self.fills_totals() => 0,
            Accumulate::Fixed => 1,
            Accumulate::CompareExchange => 2,
        }
    }

    fn cells(self) -> (&'static str, &'static str) {
        match self.pairing {
            Pairing::TwoSlices => shader!("cells/by_slice.wgsl"),
            Pairing::MixedLayers => shader!("cells/slices.wgsl"),
            Pairing::ByLayer | Pairing::Numbered => shader!("cells/by_layer.wgsl"),
        }
    }

    fn order(self) -> (&'static str, &'static str) {
        match self.pairing {
            Pairing::TwoSlices => shader!("order/by_slice.wgsl"),
            Pairing::MixedLayers => shader!("order/two_slices.wgsl"),
            Pairing::ByLayer | Pairing::Numbered => shader!("order/by_layer.wgsl"),
        }
    }

    /// Words of a bin of an RoI's own histogram: `pairs_part` in `shaders/totals.wgsl`.
    pub(crate) fn total_parts(self) -> u32 {
        match (self.counts_pairs(), self.weighting) {
            (_, Weighting::Pt) => 5,
            (true, Weighting::Count) => 3,
            (false, Weighting::Count) => 2,
        }
    }

    /// Whether pairs are counted beside weights: `counts_pairs` in `shaders/tracks.wgsl`.
    pub(crate) fn counts_pairs(self) -> bool {
        self.triplets == Triplets::Count
    }

    /// What suits RoIs of few spacepoints.
    pub(crate) fn of_few(self) -> Self {
        match (self.pairing, self.triplets) {
            (Pairing::TwoSlices, Triplets::Off) if self.has_slices_only() => {
                Self { pairing: Pairing::MixedLayers, ..self }
            }
            _ => self,
        }
    }

    /// Whether pairs are streamed, so that nothing asks for a third spacepoint.
    fn is_pairs_only(self) -> bool {
        self.pairing != Pairing::Numbered && self.triplets == Triplets::Off
    }

    /// Whether nothing asks for phi.
    fn has_slices_only(self) -> bool {
        self.is_pairs_only() && self.extrapolation == Extrapolation::Linear
    }

    fn beside(self) -> (&'static str, &'static str) {
        if self.has_slices_only() { shader!("beside/slice_layer.wgsl") } else { shader!("beside/phi.wgsl") }
    }

    /// Bytes of `Beside` in `shaders/beside/*.wgsl`.
    pub(crate) fn beside_bytes<R: Real>(self) -> usize {
        if self.has_slices_only() { size_of::<u32>() } else { size_of::<R::Stored>() }
    }

    /// Cells of so many slices: `cell_count` in `shaders/cells/*.wgsl`.
    pub(crate) fn cells_of(self, layers: u32, slices: u32) -> u32 {
        if self.pairing == Pairing::MixedLayers { slices + 1 } else { layers * slices + 1 }
    }

    fn encoding(encoding: Encoding) -> (&'static str, &'static str) {
        match encoding {
            Encoding::Lossless => shader!("encoding/lossless.wgsl"),
            Encoding::Compact => shader!("encoding/compact.wgsl"),
        }
    }

    pub(crate) fn slice_spacepoints(self, encoding: Encoding) -> Source {
        let pieces = [
            self.real(),
            self.rounding(),
            TYPES,
            TOTALS,
            self.beside(),
            Self::encoding(encoding),
            self.cells(),
            COUNTING_SORT,
            shader!("slice_spacepoints.wgsl"),
        ];
        assemble("slice_spacepoints", &pieces)
    }

    pub(crate) fn find_z(self) -> Source {
        let histogram = if self.fills_totals() { shader!("histogram/totals.wgsl") } else { self.histogram() };
        let mut pieces = vec![self.real(), self.rounding(), TYPES, TOTALS, self.beside(), histogram];
        pieces.extend(self.accumulate());
        pieces.extend([self.cells(), TRACKS, self.extrapolation(), self.order()]);
        pieces.extend(self.pairs());
        pieces.push(shader!("find_z.wgsl"));
        assemble("find_z", &pieces)
    }

    fn pairs(self) -> Vec<(&'static str, &'static str)> {
        if self.is_pairs_only() {
            return vec![shader!("pairs/streamed.wgsl")];
        }
        let pairs = match self.pairing {
            Pairing::Numbered => shader!("pairs/numbered.wgsl"),
            _ if self.weighting == Weighting::Pt => shader!("pairs/by_pt.wgsl"),
            _ => shader!("pairs/confirmed.wgsl"),
        };
        let confirmations = match self.weighting {
            Weighting::Count => shader!("confirmations/count.wgsl"),
            Weighting::Pt => shader!("confirmations/pt.wgsl"),
        };
        vec![BENDS, confirmations, pairs]
    }

    /// All of the stages in one workgroup; not for numbered pairs, several histograms or weights
    /// by pT.
    pub(crate) fn walk(self, encoding: Encoding) -> Source {
        let accumulate = match self.accumulate {
            Accumulate::Fixed => shader!("accumulate/wide.wgsl"),
            Accumulate::CompareExchange => shader!("accumulate/compare_exchange.wgsl"),
        };
        let mut pieces = vec![
            self.real(),
            self.rounding(),
            TYPES,
            self.beside(),
            Self::encoding(encoding),
            self.histogram(),
            accumulate,
            self.cells(),
            TRACKS,
            self.extrapolation(),
            self.order(),
        ];
        pieces.extend(self.pairs());
        let peaks = shader!("peaks/one.wgsl");
        pieces.extend([COUNTING_SORT, WINDOWS, shader!("ranks/sum.wgsl"), peaks, shader!("walk.wgsl")]);
        assemble("walk", &pieces)
    }

    pub(crate) fn sum_histos(self) -> Source {
        assemble("sum_histos", &[self.real(), TYPES, self.histogram(), shader!("sum_histos.wgsl")])
    }

    pub(crate) fn find_peaks(self) -> Source {
        let peaks = if self.several { shader!("peaks/several.wgsl") } else { shader!("peaks/one.wgsl") };
        let mut pieces = vec![self.real(), TYPES, TOTALS, WINDOWS, peaks, shader!("find_peaks.wgsl")];
        match self.weighting {
            _ if self.several => {}
            Weighting::Count => pieces.push(shader!("ranks/sum.wgsl")),
            Weighting::Pt => pieces.push(shader!("ranks/pt.wgsl")),
        }
        assemble("find_peaks", &pieces)
    }

    /// Of several histograms.
    pub(crate) fn highest_windows(self) -> Source {
        let pieces = [self.real(), TYPES, TOTALS, WINDOWS, shader!("highest_windows.wgsl")];
        assemble("highest_windows", &pieces)
    }
}

fn real(precision: Precision) -> (&'static str, &'static str) {
    match precision {
        Precision::F32 => shader!("real/f32.wgsl"),
        Precision::F64 => shader!("real/f64.wgsl"),
    }
}

fn round(rounding: Rounding) -> (&'static str, &'static str) {
    match rounding {
        Rounding::Native => shader!("rounding/native.wgsl"),
        Rounding::Corrected => shader!("rounding/corrected.wgsl"),
    }
}

/// What learns how a device rounds.
pub(crate) fn probe_rounding(precision: Precision, rounding: Rounding) -> Source {
    assemble("probe_rounding", &[real(precision), round(rounding), shader!("probe_rounding.wgsl")])
}

fn assemble(kernel: &str, pieces: &[(&str, &str)]) -> Source {
    pieces.iter().fold(Source::new(kernel), |source, (name, text)| source.piece(name, text))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use kernel_host::naga::valid::Capabilities;
    use kernel_host::{struct_layout, translations};

    use super::*;
    use crate::engine::encoding::DROPPED;
    use crate::engine::gpu::workspace::{Params, RoiStatus};
    use crate::engine::real::{CutsF32, CutsF64, RoiF32, RoiF64, SpacepointF32, SpacepointF64, StoredF32, StoredF64};
    use crate::histogram::{MAX_COUNT, OFFSET_STEPS, Peak};

    /// Every variant of every kernel parses, validates and is written out as SPIR-V; and, in
    /// f32, as MSL and HLSL (naga writes no f64 for those).
    #[test]
    fn every_variant_is_written_out() {
        // Variants share most of their kernels.
        let mut seen = HashSet::new();
        for variant in Variant::all() {
            let f32 = variant.precision == Precision::F32;
            let capabilities = if f32 { Capabilities::empty() } else { Capabilities::FLOAT64 };
            let mut write = |source: Source, entry_points: &[&str], constants: &[(&str, f64)]| {
                if !seen.insert((source.text(), f32, format!("{constants:?}"))) {
                    return;
                }
                let written = translations(&source, entry_points, constants, capabilities, f32)
                    .unwrap_or_else(|error| panic!("{variant:?} {}: {error}", source.kernel()));
                assert!(!written.spirv.is_empty(), "{variant:?} {}", source.kernel());
                assert_eq!(written.msl.is_some_and(|text| !text.is_empty()), f32);
                assert_eq!(written.hlsl.is_some_and(|text| !text.is_empty()), f32);
            };
            for encoding in [Encoding::Lossless, Encoding::Compact] {
                write(variant.slice_spacepoints(encoding), &["slice_spacepoints"], &[("TILE_WORDS", 2048.0)]);
            }
            let mode = variant.triplets as u32;
            let constants = [("TRIPLETS", f64::from(mode)), ("TILE_BINS", 2048.0)];
            write(variant.find_z(), &["find_z"], &constants);
            if variant.several {
                write(variant.highest_windows(), &["count_sums", "highest_windows"], &[]);
            } else if variant.pairing != Pairing::Numbered && variant.weighting == Weighting::Count {
                write(variant.walk(Encoding::Compact), &["walk"], &constants);
                write(variant.walk(Encoding::Lossless), &["walk"], &constants);
            }
            if !variant.fills_totals() {
                write(variant.sum_histos(), &["sum_histos"], &[]);
            }
            write(variant.find_peaks(), &["find_peaks"], &[]);
            write(probe_rounding(variant.precision, variant.rounding), &["probe_rounding"], &[]);
        }
    }

    /// The records lie in memory as naga lays them out.
    #[test]
    fn records_match_the_shaders() {
        let mut seen = HashSet::new();
        for variant in Variant::all() {
            let (find_z, slice) = (variant.find_z(), variant.slice_spacepoints(Encoding::Lossless));
            // The pieces that lay out records; the others do not matter here.
            let layouts = (variant.precision, variant.weighting, variant.several, variant.triplets, variant.accumulate);
            if !seen.insert(format!("{layouts:?}")) {
                continue;
            }
            let f32 = variant.precision == Precision::F32;
            let check = |name: &str, size: usize, fields: usize| {
                let source = if name == "Packed" { &slice } else { &find_z };
                let layout = struct_layout(source, name).unwrap_or_else(|error| panic!("{variant:?} {name}: {error}"));
                assert_eq!(layout.size as usize, size, "{variant:?} {name}: {layout:?}");
                assert_eq!(layout.fields.len(), fields, "{name}");
                let real = if f32 { 4 } else { 8 };
                let reals = match name {
                    "Packed" => 3,
                    "Stored" => 1,
                    "Roi" => 4,
                    "Cuts" => 7,
                    _ => 0,
                };
                let mut offset = 0;
                for (i, (field, at)) in layout.fields.iter().enumerate() {
                    assert_eq!(*at as usize, offset, "{name}.{field}");
                    offset += if i < reals { real } else { 4 };
                    if name == "Peak" && (1..=3).contains(&i) {
                        offset += 8;
                    }
                }
            };
            if f32 {
                check("Packed", size_of::<SpacepointF32>(), 4);
                assert_eq!(size_of::<StoredF32>(), 8, "Stored is a vec2<u32>");
                check("Roi", size_of::<RoiF32>(), 20);
                check("Cuts", size_of::<CutsF32>(), 7);
            } else {
                check("Packed", size_of::<SpacepointF64>(), 4);
                check("Stored", size_of::<StoredF64>(), 2);
                check("Roi", size_of::<RoiF64>(), 20);
                check("Cuts", size_of::<CutsF64>(), 7);
            }
            check("Params", size_of::<Params>(), size_of::<Params>() / 4);
            check("RoiStatus", size_of::<RoiStatus>(), 2);
            check("Peak", size_of::<Peak>(), 6);
        }
    }

    /// Constants that stand in Rust and in WGSL are the same.
    #[test]
    fn constants_match_the_shaders() {
        let constant = |variant: Variant, name: &str| {
            let text = variant.find_z().text();
            let line = text.lines().find(|line| line.starts_with(&format!("const {name}:"))).map(str::to_owned);
            let value = line.and_then(|line| Some(line.split('=').nth(1)?.trim().trim_end_matches(';').to_owned()));
            value.unwrap_or_else(|| panic!("no const {name}"))
        };
        for variant in Variant::all() {
            assert_eq!(constant(variant, "MAX_COUNT"), format!("{MAX_COUNT}u"));
            assert_eq!(constant(variant, "NO_PEAK"), format!("{:#x}u", Peak::NONE));
            if !matches!(variant.pairing, Pairing::TwoSlices | Pairing::MixedLayers) {
                assert_eq!(constant(variant, "MAX_LAYERS"), format!("{}u", crate::MAX_LAYERS));
            }
            assert_eq!(constant(variant, "DROPPED"), format!("{DROPPED:#x}u"));
            assert_eq!(constant(variant, "ROW_PARTS"), format!("{}u", variant.row_parts()));
            assert_eq!(constant(variant, "ENDCAP_PAIR"), format!("{:#x}u", crate::engine::plan::ENDCAP_PAIR));
            assert_eq!(constant(variant, "NEIGHBOURS"), format!("{:#x}u", crate::engine::plan::NEIGHBOURS));
            assert_eq!(constant(variant, "SECTORS"), format!("{}u", crate::PtWeight::SECTORS));
            if variant.weighting == Weighting::Pt {
                assert_eq!(constant(variant, "STRIP_PAIR"), format!("{:#x}u", crate::engine::plan::STRIP_PAIR));
            }
            assert_eq!(constant(variant, "OFFSET_STEPS"), format!("{OFFSET_STEPS}u"));
            assert_eq!(constant(variant, "STEP_BITS"), format!("{}u", OFFSET_STEPS.ilog2()));
        }
    }
}
