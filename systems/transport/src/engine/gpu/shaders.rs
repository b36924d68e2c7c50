//! The assembly of kernels from WGSL files.

use kernel_host::wgpu::Features;
use kernel_host::{Gpu, KernelSource};

use super::layouts::Layout;
use crate::world::SortBy;

macro_rules! piece {
    ($source:expr, $($name:literal),+) => {
        $source$(.piece(concat!("systems/transport/shaders/", $name), include_str!(concat!("../../../shaders/", $name))))+
    };
}

/// Which file defines the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldPiece {
    Uniform,
    Parametrised,
    Map,
}

/// A kernel's source with a field, whose bindings are
/// [`GpuField::bindings`](crate::engine::gpu::field::GpuField::bindings).
pub(crate) fn field(source: KernelSource, piece: FieldPiece) -> KernelSource {
    match piece {
        FieldPiece::Uniform => piece!(source, "field/uniform.wgsl"),
        FieldPiece::Parametrised => piece!(source, "field/parametrised.wgsl"),
        FieldPiece::Map => piece!(source, "field/map.wgsl"),
    }
}

pub(crate) fn probe(piece: FieldPiece) -> KernelSource {
    let source = piece!(KernelSource::new("probe"), "accuracy.wgsl", "boundless.wgsl");
    piece!(field(source, piece), "integrate.wgsl", "probe.wgsl")
}

pub(crate) fn layout(layout: Layout) -> KernelSource {
    let source = field(piece!(KernelSource::new("layout"), "accuracy.wgsl", "boundless.wgsl"), FieldPiece::Uniform);
    let source = piece!(source, "integrate.wgsl");
    let source = match layout {
        Layout::Structures => piece!(source, "layout/structures.wgsl"),
        Layout::Groups => piece!(source, "layout/groups.wgsl"),
        Layout::Columns => piece!(source, "layout/columns.wgsl"),
    };
    piece!(source, "layout.wgsl")
}

/// Pieces that all kernels of a step share.
fn begun(kernel: &str) -> KernelSource {
    piece!(KernelSource::new(kernel), "accuracy.wgsl", "types.wgsl")
}

/// How far tracks go.
fn lengths(source: KernelSource, piece: FieldPiece, products: Products) -> KernelSource {
    let source = philox(piece!(source, "tracks.wgsl", "tables.wgsl", "cells.wgsl", "geometry.wgsl"), products);
    piece!(field(source, piece), "integrate.wgsl", "step_length.wgsl")
}

pub(crate) fn step_length(piece: FieldPiece, products: Products, sort_by: SortBy) -> KernelSource {
    let source = lengths(begun("step_length"), piece, products);
    let source = match sort_by {
        SortBy::Process => piece!(source, "sort_by/process.wgsl"),
        SortBy::Volume => piece!(source, "sort_by/volume.wgsl"),
    };
    piece!(source, "split/step_length.wgsl")
}

pub(crate) fn interact(products: Products) -> KernelSource {
    let source = philox(piece!(begun("interact"), "tracks.wgsl", "tables.wgsl"), products);
    piece!(source, "interact.wgsl", "finish.wgsl", "split/interact.wgsl")
}

pub(crate) fn monolithic(piece: FieldPiece, products: Products) -> KernelSource {
    piece!(lengths(begun("monolithic"), piece, products), "interact.wgsl", "finish.wgsl", "monolithic.wgsl")
}

pub(crate) fn tail(piece: FieldPiece, products: Products) -> KernelSource {
    let source = piece!(lengths(begun("tail"), piece, products), "interact.wgsl", "finish.wgsl");
    piece!(source, "plan/next.wgsl", "tail.wgsl")
}

pub(crate) fn classify() -> KernelSource {
    piece!(begun("classify"), "classify.wgsl")
}

pub(crate) fn plan() -> KernelSource {
    piece!(begun("plan"), "plan/next.wgsl", "plan.wgsl")
}

/// Which file defines the high words of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Products {
    Halves,
    Wide,
}

impl Products {
    /// As the device has them.
    pub(crate) fn on(gpu: &Gpu) -> Self {
        if gpu.has(Features::SHADER_INT64) { Self::Wide } else { Self::Halves }
    }
}

/// Random numbers.
fn philox(source: KernelSource, products: Products) -> KernelSource {
    let source = match products {
        Products::Halves => piece!(source, "products/halves.wgsl"),
        Products::Wide => piece!(source, "products/wide.wgsl"),
    };
    piece!(source, "philox.wgsl")
}

pub(crate) fn probe_draws(products: Products) -> KernelSource {
    piece!(philox(KernelSource::new("probe of random numbers"), products), "probe_draws.wgsl")
}

/// Which files define how elements are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountPiece {
    Atomics,
    Tree,
    Subgroups,
    Workgroup,
}

pub(crate) fn count(piece: CountPiece) -> KernelSource {
    let source = KernelSource::new("count");
    let source = match piece {
        CountPiece::Atomics => piece!(source, "count/atomics.wgsl"),
        CountPiece::Tree => piece!(source, "count/packed.wgsl", "count/tree.wgsl"),
        CountPiece::Subgroups => piece!(source, "count/packed.wgsl", "count/subgroups.wgsl"),
        CountPiece::Workgroup => piece!(source, "count/workgroup.wgsl"),
    };
    piece!(source, "count.wgsl")
}

pub(crate) fn histogram() -> KernelSource {
    piece!(KernelSource::new("histogram"), "sort.wgsl", "sort/histogram.wgsl")
}

pub(crate) fn scan() -> KernelSource {
    piece!(KernelSource::new("scan"), "sort.wgsl", "sort/scan.wgsl")
}

/// Which file defines what a sort brings to its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScatterPiece {
    Alone,
    Moved,
    Carried,
}

pub(crate) fn scatter(piece: ScatterPiece) -> KernelSource {
    let source = piece!(KernelSource::new("scatter"), "sort.wgsl");
    let source = match piece {
        ScatterPiece::Alone => piece!(source, "sort/alone.wgsl"),
        ScatterPiece::Moved => piece!(source, "sort/moved.wgsl"),
        ScatterPiece::Carried => piece!(source, "sort/carried.wgsl"),
    };
    piece!(source, "sort/scatter.wgsl")
}

pub(crate) fn gather() -> KernelSource {
    piece!(KernelSource::new("gather"), "sort/gather.wgsl")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kernel_host::naga::valid::Capabilities;
    use kernel_host::{struct_layout, translations};

    use super::*;
    use crate::engine::gpu::field::{GpuAccuracy, MapParams, UniformParams};
    use crate::engine::gpu::params::Params;
    use crate::engine::gpu::probe::{DrawParams, ProbeParams};
    use crate::engine::gpu::sort::Settings;

    const FIELDS: [FieldPiece; 3] = [FieldPiece::Uniform, FieldPiece::Parametrised, FieldPiece::Map];

    /// They parse, validate and are written out for Vulkan, Metal and DirectX.
    fn written(source: &KernelSource) {
        written_with(source, &[], Capabilities::empty());
    }

    fn written_with(source: &KernelSource, constants: &[(&str, f64)], capabilities: Capabilities) {
        let written = translations(source, &[], constants, capabilities, true)
            .unwrap_or_else(|error| panic!("{error}\n{}", source.text()));
        assert!(!written.spirv.is_empty() && written.msl.is_some() && written.hlsl.is_some());
    }

    /// Sources with 64-bit numbers are for Vulkan only.
    fn written_wide(source: &KernelSource) {
        let written = translations(source, &[], &[], Capabilities::SHADER_INT64, false)
            .unwrap_or_else(|error| panic!("{error}\n{}", source.text()));
        assert!(!written.spirv.is_empty());
    }

    #[test]
    fn steps_are_written_out() {
        for field in FIELDS {
            [monolithic, tail].map(|kernel| kernel(field, Products::Halves)).iter().for_each(written);
            [monolithic, tail].map(|kernel| kernel(field, Products::Wide)).iter().for_each(written_wide);
            written(&step_length(field, Products::Halves, SortBy::Process));
            written_wide(&step_length(field, Products::Wide, SortBy::Volume));
        }
        [interact(Products::Halves), plan(), classify()].iter().for_each(written);
        written_wide(&interact(Products::Wide));
        let offsets: Vec<u32> = [0, 32, 40].into_iter().chain((48..112).step_by(4)).collect();
        let offsets = [&offsets[..], &[112, 120, 128, 136, 144, 384, 1408]].concat();
        laid_out(&plan(), "Params", size_of::<Params>(), &offsets);
    }

    /// Numbers that a shader gives names to.
    fn constants(source: &KernelSource) -> BTreeMap<String, f64> {
        use kernel_host::naga::{Expression, Literal, front::wgsl};
        let module = wgsl::parse_str(&source.text()).unwrap_or_else(|error| panic!("{error}"));
        let named = module.constants.iter().filter_map(|(_, constant)| {
            let value = match module.global_expressions[constant.init] {
                Expression::Literal(Literal::U32(value)) => value.into(),
                Expression::Literal(Literal::F32(value)) => value.into(),
                _ => return None,
            };
            Some((constant.name.clone()?, value))
        });
        named.collect()
    }

    #[test]
    fn constants_are_the_hosts() {
        use crate::engine::cpu::{interact as ends, step_length as lengths};
        use crate::engine::gpu::params::at;
        use crate::physics::{ELECTRON_MASS, tables};
        use crate::{geometry, integrate, philox, track};
        let number = |value: f64| f64::from(value as f32);
        let word = |value: u32| f64::from(value);
        let count = |value: usize| value as f64;
        let mut wanted = vec![
            ("NODES", count(tables::NODES)),
            ("ELECTRON_MASS", number(ELECTRON_MASS)),
            ("LOG_LOWEST", number(tables::LOWEST.ln())),
            ("NODES_PER_LOG", number(tables::PER_DECADE / std::f64::consts::LN_10)),
            ("LOG_PER_NODE", number(std::f64::consts::LN_10 / tables::PER_DECADE)),
            ("PHOTON_NODES", count(tables::PHOTON_NODES)),
            ("LOG_LOWEST_PHOTON", number(tables::PHOTON_RANGE[0].ln())),
            ("LOG_HIGHEST_PHOTON", number(tables::PHOTON_RANGE[1].ln())),
            ("PHOTON_NODES_PER_LOG", number(tables::PHOTONS_PER_DECADE / std::f64::consts::LN_10)),
            ("PHOTON", word(track::Kind::Photon as u32)),
            ("ELECTRON", word(track::Kind::Electron as u32)),
            ("POSITRON", word(track::Kind::Positron as u32)),
            ("IS_VACANT", word(track::TrackStatus::Vacant as u32)),
            ("IS_ALIVE", word(track::TrackStatus::Alive as u32)),
            ("IS_WAITING", word(track::TrackStatus::Waiting as u32)),
            ("STATUS_AT", word(track::STATUS_AT)),
            ("MATERIAL_AT", word(track::MATERIAL_AT)),
            ("PROCESS_AT", word(track::PROCESS_AT)),
            ("CELL_AT", word(track::CELL_AT)),
            ("BORN_AT", word(track::BORN_AT)),
            ("LONG_AGO", word(track::LONG_AGO)),
            ("PROCESSES", count(track::Process::COUNT)),
            ("OUTSIDE", word(geometry::Cell::OUTSIDE.0)),
            ("OUTSIDE_WORLD", word(geometry::Cell::OUTSIDE.0)),
            ("LAYER_AT", word(geometry::LAYER_AT)),
            ("SECTOR_AT", word(geometry::SECTOR_AT)),
            ("ENTRY_TOLERANCE", number(geometry::ENTRY_TOLERANCE)),
            ("MOST_STEPS", word(track::MOST_STEPS)),
            ("MOST_LOOPS", word(track::MOST_LOOPS)),
            ("LOOPS_AT", word(track::LOOPS_AT)),
            ("SCATTER_DRAW", word(ends::SCATTER_DRAW)),
            ("TAIL_TURNS", word(crate::engine::gpu::run::TAIL_TURNS)),
            ("LONGEST", number(lengths::LONGEST)),
            ("LAST_RANGE", number(lengths::LAST_RANGE)),
            ("RANGE_PART", number(lengths::RANGE_PART)),
            ("FIRST_DRAW", word(ends::FIRST_DRAW)),
            ("TRIES", word(ends::TRIES)),
            ("SMALL_LOSS", number(ends::SMALL_LOSS)),
            ("BEND", number(integrate::BEND)),
            ("TOLERANCE", number(integrate::TOLERANCE)),
            ("CONSTANT_DRAW", philox::CONSTANT.into()),
            ("SIZE", count(at::SIZE)),
            ("USED", count(at::USED)),
            ("ROOM", count(at::ROOM)),
            ("HEAD", count(at::HEAD)),
            ("TAIL", count(at::TAIL)),
            ("ITERATIONS", count(at::ITERATIONS)),
            ("STUCK", count(at::STUCK)),
            ("WAITED", count(at::WAITED)),
            ("ESCAPED", count(at::ESCAPED)),
            ("ABANDONED", count(at::ABANDONED)),
            ("SECONDARIES", count(at::SECONDARIES)),
            ("DONE", count(at::DONE)),
            ("COUNTERS", count(at::COUNTERS)),
        ];
        let upper = track::Process::ALL.map(|process| (process.name().to_uppercase(), word(process as u32)));
        wanted.extend(upper.iter().map(|(name, number)| (name.as_str(), *number)));
        let found = constants(&tail(FieldPiece::Uniform, Products::Halves));
        for (name, number) in wanted {
            assert_eq!(found.get(name), Some(&number), "{name}");
        }
    }

    #[test]
    fn probes_are_written_out() {
        FIELDS.map(probe).iter().for_each(written);
        Layout::ALL.map(layout).iter().for_each(written);
        laid_out(
            &layout(Layout::Groups),
            "LayoutParams",
            size_of::<crate::engine::gpu::layouts::LayoutParams>(),
            &[0, 4, 8, 12],
        );
        written(&probe_draws(Products::Halves));
        written_wide(&probe_draws(Products::Wide));
    }

    #[test]
    fn counts_are_written_out() {
        use CountPiece::{Atomics, Subgroups, Tree, Workgroup};
        for (piece, classes) in [(Atomics, 1.0), (Atomics, 1e6), (Tree, 8.0), (Subgroups, 8.0), (Workgroup, 300.0)] {
            let capabilities = if piece == Subgroups { Capabilities::SUBGROUP } else { Capabilities::empty() };
            let constants = [("THREADS", 64.0), ("CLASSES", classes), ("SIZE_AT", 3.0)];
            written_with(&count(piece), &constants, capabilities);
        }
    }

    #[test]
    fn sorts_are_written_out() {
        use ScatterPiece::{Alone, Carried, Moved};
        let scatters = [Alone, Moved, Carried].map(scatter);
        [histogram(), scan(), gather()].iter().chain(&scatters).for_each(written);
    }

    #[track_caller]
    fn laid_out(source: &KernelSource, name: &str, size: usize, offsets: &[u32]) {
        let layout = struct_layout(source, name).expect("the struct");
        assert_eq!(layout.size as usize, size, "{name}");
        assert_eq!(layout.fields.iter().map(|&(_, at)| at).collect::<Vec<_>>(), offsets, "{name}");
    }

    #[test]
    fn the_host_lays_settings_of_sorts_out_alike() {
        laid_out(&histogram(), "Settings", size_of::<Settings>(), &[0, 4, 8, 12, 16]);
    }

    #[test]
    fn the_host_lays_fields_and_probes_out_alike() {
        laid_out(&probe(FieldPiece::Uniform), "FieldParams", size_of::<UniformParams>(), &[0]);
        laid_out(&probe(FieldPiece::Map), "FieldParams", size_of::<MapParams>(), &[0, 4, 8, 12]);
        laid_out(&probe(FieldPiece::Map), "Accuracy", size_of::<GpuAccuracy>(), &[0, 4, 8, 16, 20, 24]);
        laid_out(&probe(FieldPiece::Map), "ProbeParams", size_of::<ProbeParams>(), &[0, 32, 36, 40, 44, 48, 52]);
        laid_out(&probe_draws(Products::Halves), "DrawParams", size_of::<DrawParams>(), &[0, 8, 12]);
    }
}
