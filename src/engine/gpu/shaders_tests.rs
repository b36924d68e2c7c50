use std::collections::HashSet;

use kernel_host::naga::valid::Capabilities;
use kernel_host::{struct_layout, translations};

use super::*;
use crate::engine::encoding::DROPPED;
use crate::engine::gpu::all_shaders::{kernels, variants};
use crate::engine::histogram::{MAX_COUNT, OFFSET_STEPS};
use crate::engine::records::{
    Cluster, CutsF32, CutsF64, Params, Peak, RoiF32, RoiF64, RoiStatus, SpacepointF32, SpacepointF64, StoredF32,
    StoredF64,
};

/// A kernel is read in a few ways, not in hundreds.
#[test]
fn there_are_few_kernels() {
    let texts: HashSet<String> = variants().into_iter().flat_map(kernels).map(|source| source.text()).collect();
    assert!(texts.len() <= 80, "{} kernels", texts.len());
}

/// Every variant of every kernel, with either value of each override, parses, validates and is
/// written out as SPIR-V; and, in f32, as MSL and HLSL (naga writes no f64 for those).
#[test]
fn every_variant_is_written_out() {
    // Variants share most of their kernels.
    let mut seen = HashSet::new();
    for variant in variants() {
        let f32 = variant.precision == Precision::F32;
        let capabilities = if f32 { Capabilities::empty() } else { Capabilities::FLOAT64 };
        let other = Variant { extrapolation: Extrapolation::Accurate, rounding: Rounding::Corrected, ..variant };
        for source in
            [variant, other].into_iter().flat_map(|variant| kernels(variant).into_iter().map(move |s| (variant, s)))
        {
            let (variant, source) = source;
            let text = source.text();
            let declared = |overrides: Overrides| -> Overrides {
                overrides.into_iter().filter(|(name, _)| text.contains(&format!("override {name}:"))).collect()
            };
            let mut overrides = declared(variant.find_z_constants());
            overrides.extend(declared(vec![("TILE_BINS", 2048.0), ("TILE_WORDS", 2048.0)]));
            if !seen.insert((text.clone(), format!("{overrides:?}"))) {
                continue;
            }
            let written = translations(&source, &[], &overrides, capabilities, f32)
                .unwrap_or_else(|error| panic!("{variant:?} {}: {error}", source.kernel()));
            assert!(!written.spirv.is_empty(), "{variant:?} {}", source.kernel());
            assert_eq!(written.msl.is_some_and(|text| !text.is_empty()), f32);
            assert_eq!(written.hlsl.is_some_and(|text| !text.is_empty()), f32);
        }
    }
}

/// The records lie in memory as naga lays them out.
#[test]
fn records_match_the_shaders() {
    let mut seen = HashSet::new();
    for variant in variants() {
        let (find_z, slice) = (variant.find_z(), variant.slice_spacepoints(Encoding::Lossless));
        // The pieces that define records; other pieces are irrelevant here.
        let layouts = (variant.precision, variant.pair_weight, variant.several, variant.accumulate);
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
                if name == "Peak" {
                    offset += [0, 8, 8, 8, 0, 20, 0, 0][i];
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
        check("Cluster", size_of::<Cluster>(), 6);
        check("Peak", size_of::<Peak>(), 8);
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
    for variant in variants() {
        assert_eq!(constant(variant, "MAX_COUNT"), format!("{MAX_COUNT}u"));
        assert_eq!(constant(variant, "NO_PEAK"), format!("{:#x}u", Peak::NONE));
        if !matches!(variant.pairing, Pairing::TwoSlices | Pairing::MixedLayers) {
            assert_eq!(constant(variant, "MAX_LAYERS"), format!("{}u", crate::detector::MAX_LAYERS));
        }
        assert_eq!(constant(variant, "DROPPED"), format!("{DROPPED:#x}u"));
        assert_eq!(constant(variant, "ENDCAP_PAIR"), format!("{:#x}u", crate::engine::plan::ENDCAP_PAIR));
        assert_eq!(constant(variant, "NEIGHBOURS"), format!("{:#x}u", crate::engine::plan::NEIGHBOURS));
        assert_eq!(constant(variant, "PRECISION"), format!("{:#x}u", crate::engine::plan::PRECISION));
        assert_eq!(constant(variant, "PRECISION_SHIFT"), format!("{}u", crate::engine::plan::PRECISION_SHIFT));
        assert_eq!(constant(variant, "SECTORS"), format!("{}u", PtWeight::SECTORS));
        if variant.pair_weight == PairWeight::Pt {
            assert_eq!(constant(variant, "STRIP_PAIR"), format!("{:#x}u", crate::engine::plan::STRIP_PAIR));
        }
        assert_eq!(constant(variant, "OFFSET_STEPS"), format!("{OFFSET_STEPS}u"));
        assert_eq!(constant(variant, "STEP_BITS"), format!("{}u", OFFSET_STEPS.ilog2()));
    }
}
