use super::*;
use crate::translate::translations;

const TILES: &str = "
struct Params { count: u32, scale: f32, origin: vec3f, last: u32 }
override TILE: u32 = 64u;
override BINS: u32;
var<workgroup> wg_tile: array<f32, TILE>;
var<workgroup> wg_flag: u32;
var<workgroup> wg_bins: array<atomic<u32>, BINS>;
@group(0) @binding(3) var<uniform> params: Params;
@group(0) @binding(0) var<storage> points: array<vec2f>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;
fn load(i: u32) { wg_tile[i] = points[i].x * params.scale; }
@compute @workgroup_size(TILE) fn tile(@builtin(local_invocation_index) i: u32) {
    load(i);
    if i == 0u { wg_flag = arrayLength(&sums); }
    workgroupBarrier();
    sums[i] = wg_tile[i] + f32(wg_flag);
}
@compute @workgroup_size(8, 4) fn bin(@builtin(local_invocation_index) i: u32) { atomicAdd(&wg_bins[i], 1u); }
";

fn tiles() -> KernelSource {
    KernelSource::new("tiles").piece("tiles.wgsl", TILES)
}

#[test]
fn workgroup_memory_is_that_of_the_entry_point_and_its_constants() {
    let memory =
        |entry: &str, constants: &[(&str, f64)]| workgroup_memory(&tiles(), entry, constants, Capabilities::empty());
    // The flag counts for 16 bytes, and the bins that are not reached for nothing.
    assert_eq!(memory("tile", &[]).expect("tile"), 64 * 4 + 16);
    assert_eq!(memory("tile", &[("TILE", 5.0)]).expect("tile"), 32 + 16);
    assert_eq!(memory("bin", &[("BINS", 1000.0)]).expect("bin"), 4000);
    for (entry, constants) in [
        ("bin", &[][..]),
        ("tile", &[("TILES", 5.0)]),
        ("tile", &[("TILE", 0.0)]),
        ("tile", &[("TILE", -1.0)]),
        ("tile", &[("TILE", f64::NAN)]),
        ("bin", &[("BINS", 4e9)]),
        ("fill", &[]),
    ] {
        let error = memory(entry, constants).expect_err(entry);
        assert!(matches!(error, Error::Pipeline { .. }), "{error}");
    }
}

#[test]
fn entry_points_and_bindings_are_found() {
    let source = tiles();
    let parsed = source.parse(Capabilities::empty()).expect("valid");
    let found = bindings(&source, &parsed).expect("bindings");
    let found: Vec<_> = found.iter().map(|b| (b.name.as_str(), b.number, b.kind, b.min_size)).collect();
    let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
    assert_eq!(
        found,
        [
            ("points", 0, storage(true), NonZeroU64::new(8)),
            ("sums", 1, storage(false), NonZeroU64::new(4)),
            ("params", 3, wgpu::BufferBindingType::Uniform, NonZeroU64::new(32)),
        ]
    );
    let bin = entry_point(&source, &parsed, "bin", &[("BINS", 8.0)]).expect("bin");
    assert_eq!(bin.workgroup_size, [8, 4, 1]);
    let tile = entry_point(&source, &parsed, "tile", &[("TILE", 32.0)]).expect("tile");
    assert_eq!(tile.workgroup_size, [32, 1, 1]);
}

#[test]
fn bindings_outside_the_rules_are_errors() {
    for text in [
        "@group(1) @binding(0) var<uniform> a: u32;",
        "@group(0) @binding(0) var a: texture_2d<f32>;",
        "@group(0) @binding(0) var<uniform> a: u32; @group(0) @binding(0) var<uniform> b: u32;",
    ] {
        let source = KernelSource::new("odd").piece("odd.wgsl", text);
        let parsed = source.parse(Capabilities::empty()).expect("valid");
        let error = bindings(&source, &parsed).expect_err(text);
        assert!(matches!(error, Error::Binding { .. }), "{error}");
    }
}

#[test]
fn every_language_is_written() {
    let constants = [("BINS", 16.0), ("TILE", 32.0)];
    let both = translations(&tiles(), &[], &constants, Capabilities::empty(), true).expect("all languages");
    assert_eq!(both.spirv.first(), Some(&0x0723_0203), "SPIR-V's magic number");
    assert!(both.msl.is_some_and(|text| text.contains("tile") && text.contains("bin")));
    assert!(both.hlsl.is_some_and(|text| text.contains("numthreads(32, 1, 1)")));
    // BINS has no value here, and `tile` does not need one.
    let one = translations(&tiles(), &["tile"], &[], Capabilities::empty(), true).expect("tile alone");
    assert!(one.msl.is_some_and(|text| !text.contains("wg_bins")));
    assert!(translations(&tiles(), &["bin"], &[], Capabilities::empty(), false).is_err());
    assert!(translations(&tiles(), &["none"], &[], Capabilities::empty(), false).is_err());
}

#[test]
fn double_precision_is_refused_for_metal_and_not_a_panic() {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<f64>;
        @compute @workgroup_size(1) fn main() { x[0] = x[1] + 1.0lf; }";
    let source = KernelSource::new("double").piece("double.wgsl", text);
    assert!(translations(&source, &[], &[], Capabilities::FLOAT64, false).is_ok());
    let error = translations(&source, &[], &[], Capabilities::FLOAT64, true).expect_err("no f64 in Metal");
    assert!(error.to_string().contains("f64"), "{error}");
}

#[test]
fn structs_are_laid_out_as_naga_does() {
    let layout = struct_layout(&tiles(), "Params").expect("Params");
    assert_eq!(layout.size, 32);
    let fields: Vec<(&str, u32)> = layout.fields.iter().map(|(name, offset)| (name.as_str(), *offset)).collect();
    assert_eq!(fields, [("count", 0), ("scale", 4), ("origin", 16), ("last", 28)]);
    assert!(struct_layout(&tiles(), "Nothing").is_err());
}
