//! The WGSL of the four stages, assembled: a kernel's file and the small files it needs, of which the number type and
//! the accumulation are chosen by swapping.

use kernel_host::Source;

use crate::finder::{Accumulate, Precision};

/// The choices that select files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) precision: Precision,
    pub(crate) accumulate: Accumulate,
}

macro_rules! shader {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../shaders/", $name)))
    };
}

const TYPES: (&str, &str) = shader!("types.wgsl");

impl Variant {
    /// Every variant that there is.
    #[cfg(test)]
    pub(crate) const ALL: [Variant; 4] = [
        Variant { precision: Precision::F32, accumulate: Accumulate::Fixed },
        Variant { precision: Precision::F32, accumulate: Accumulate::CompareExchange },
        Variant { precision: Precision::F64, accumulate: Accumulate::Fixed },
        Variant { precision: Precision::F64, accumulate: Accumulate::CompareExchange },
    ];

    fn real(self) -> (&'static str, &'static str) {
        match self.precision {
            Precision::F32 => shader!("real/f32.wgsl"),
            Precision::F64 => shader!("real/f64.wgsl"),
        }
    }

    fn accumulate(self) -> (&'static str, &'static str) {
        match self.accumulate {
            Accumulate::Fixed => shader!("accumulate/fixed_point.wgsl"),
            Accumulate::CompareExchange => shader!("accumulate/compare_exchange.wgsl"),
        }
    }

    pub(crate) fn slice_spacepoints(self) -> Source {
        assemble("slice_spacepoints", &[self.real(), TYPES, shader!("slice_spacepoints.wgsl")])
    }

    pub(crate) fn find_z(self) -> Source {
        assemble("find_z", &[self.real(), TYPES, self.accumulate(), shader!("find_z.wgsl")])
    }

    pub(crate) fn sum_histos(self) -> Source {
        assemble("sum_histos", &[self.real(), TYPES, self.accumulate(), shader!("sum_histos.wgsl")])
    }

    pub(crate) fn find_peaks(self) -> Source {
        assemble("find_peaks", &[self.real(), TYPES, shader!("find_peaks.wgsl")])
    }
}

fn assemble(kernel: &str, pieces: &[(&str, &str)]) -> Source {
    pieces.iter().fold(Source::new(kernel), |source, (name, text)| source.piece(name, text))
}

#[cfg(test)]
mod tests {
    use kernel_host::naga::valid::Capabilities;
    use kernel_host::{struct_layout, translations};

    use super::*;
    use crate::engine::gpu::workspace::Params;
    use crate::engine::real::{CutsF32, CutsF64, RoiF32, RoiF64, SpacepointF32, SpacepointF64};
    use crate::histogram::{MAX_COUNT, OFFSET_STEPS, Peak};

    /// Every variant of every kernel, with every triplet mode, parses, validates and is written out as SPIR-V; and, in
    /// f32, as MSL and HLSL (naga writes no f64 for those).
    #[test]
    fn every_variant_is_written_out() {
        for variant in Variant::ALL {
            let f32 = variant.precision == Precision::F32;
            let capabilities = if f32 { Capabilities::empty() } else { Capabilities::FLOAT64 };
            let write = |source: Source, entry_points: &[&str], constants: &[(&str, f64)]| {
                let written = translations(&source, entry_points, constants, capabilities, f32)
                    .unwrap_or_else(|error| panic!("{variant:?} {}: {error}", source.kernel()));
                assert!(!written.spirv.is_empty(), "{variant:?} {}", source.kernel());
                assert_eq!(written.msl.is_some_and(|text| !text.is_empty()), f32);
                assert_eq!(written.hlsl.is_some_and(|text| !text.is_empty()), f32);
            };
            write(variant.slice_spacepoints(), &["count_cells", "scan_cells", "scatter_spacepoints"], &[]);
            for triplets in 0..3 {
                write(variant.find_z(), &["find_z"], &[("TRIPLETS", f64::from(triplets)), ("TILE_BINS", 2048.0)]);
            }
            write(variant.sum_histos(), &["sum_histos"], &[]);
            write(variant.find_peaks(), &["find_peaks"], &[]);
        }
    }

    /// The records lie in memory as naga lays them out.
    #[test]
    fn records_match_the_shaders() {
        for variant in Variant::ALL {
            let source = variant.find_z();
            let f32 = variant.precision == Precision::F32;
            let check = |name: &str, size: usize, fields: usize| {
                let layout = struct_layout(&source, name).unwrap_or_else(|error| panic!("{variant:?} {name}: {error}"));
                assert_eq!(layout.size as usize, size, "{variant:?} {name}: {layout:?}");
                assert_eq!(layout.fields.len(), fields, "{name}");
                let real = if f32 { 4 } else { 8 };
                let reals = match name {
                    "Spacepoint" => 3,
                    "Roi" | "Cuts" => 4,
                    _ => 0,
                };
                let mut offset = 0;
                for (i, (field, at)) in layout.fields.iter().enumerate() {
                    assert_eq!(*at as usize, offset, "{name}.{field}");
                    offset += if i < reals { real } else { 4 };
                    if name == "Peak" && i > 0 {
                        offset += 8;
                    }
                }
            };
            if f32 {
                check("Spacepoint", size_of::<SpacepointF32>(), 4);
                check("Roi", size_of::<RoiF32>(), 16);
                check("Cuts", size_of::<CutsF32>(), 4);
            } else {
                check("Spacepoint", size_of::<SpacepointF64>(), 4);
                check("Roi", size_of::<RoiF64>(), 16);
                check("Cuts", size_of::<CutsF64>(), 4);
            }
            check("Params", size_of::<Params>(), size_of::<Params>() / 4);
            check("Peak", size_of::<Peak>(), 3);
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
        for variant in Variant::ALL {
            assert_eq!(constant(variant, "MAX_COUNT"), format!("{MAX_COUNT}u"));
            assert_eq!(constant(variant, "NO_PEAK"), format!("{:#x}u", Peak::NONE));
            assert_eq!(constant(variant, "MAX_LAYERS"), format!("{}u", crate::MAX_LAYERS));
            assert_eq!(constant(variant, "ENDCAP_PAIR"), format!("{:#x}u", crate::engine::plan::ENDCAP_PAIR));
            if variant.accumulate == Accumulate::Fixed {
                assert_eq!(constant(variant, "OFFSET_STEPS"), format!("{OFFSET_STEPS}.0"));
            }
        }
    }
}
