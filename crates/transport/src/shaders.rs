//! The WGSL, put together.

use kernel_host::Source;

macro_rules! piece {
    ($source:expr, $($name:literal),+) => {
        $source$(.piece(concat!("crates/transport/shaders/", $name), include_str!(concat!("../shaders/", $name))))+
    };
}

/// Which file defines the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldPiece {
    Uniform,
    Parametrised,
    Map,
}

/// A kernel's source with a field. What it binds, [`GpuField::bindings`](crate::engine::gpu::field::GpuField::bindings) has.
pub(crate) fn field(source: Source, piece: FieldPiece) -> Source {
    match piece {
        FieldPiece::Uniform => piece!(source, "field/uniform.wgsl"),
        FieldPiece::Parametrised => piece!(source, "field/parametrised.wgsl"),
        FieldPiece::Map => piece!(source, "field/map.wgsl"),
    }
}

pub(crate) fn probe(piece: FieldPiece) -> Source {
    piece!(field(Source::new("probe"), piece), "integrate.wgsl", "probe.wgsl")
}

pub(crate) fn probe_draws() -> Source {
    piece!(Source::new("probe of random numbers"), "philox.wgsl", "probe_draws.wgsl")
}

#[cfg(test)]
mod tests {
    use kernel_host::naga::valid::Capabilities;
    use kernel_host::{struct_layout, translations};

    use super::*;
    use crate::engine::gpu::field::{GpuAccuracy, MapParams, UniformParams};
    use crate::engine::gpu::probe::{DrawParams, ProbeParams};

    const FIELDS: [FieldPiece; 3] = [FieldPiece::Uniform, FieldPiece::Parametrised, FieldPiece::Map];

    /// They parse, validate and are written out for Vulkan, Metal and DirectX.
    fn written(source: &Source) {
        let written = translations(source, &[], &[], Capabilities::empty(), true)
            .unwrap_or_else(|error| panic!("{error}\n{}", source.text()));
        assert!(!written.spirv.is_empty() && written.msl.is_some() && written.hlsl.is_some());
    }

    #[test]
    fn probes_are_written_out() {
        FIELDS.map(probe).iter().for_each(written);
        written(&probe_draws());
    }

    #[track_caller]
    fn laid_out(source: &Source, name: &str, size: usize, offsets: &[u32]) {
        let layout = struct_layout(source, name).expect("the struct");
        assert_eq!(layout.size as usize, size, "{name}");
        assert_eq!(layout.fields.iter().map(|&(_, at)| at).collect::<Vec<_>>(), offsets, "{name}");
    }

    #[test]
    fn the_host_lays_fields_and_probes_out_alike() {
        laid_out(&probe(FieldPiece::Uniform), "FieldParams", size_of::<UniformParams>(), &[0]);
        laid_out(&probe(FieldPiece::Map), "FieldParams", size_of::<MapParams>(), &[0, 4, 8, 12]);
        laid_out(&probe(FieldPiece::Map), "Accuracy", size_of::<GpuAccuracy>(), &[0, 4, 8, 16, 20, 24]);
        laid_out(&probe(FieldPiece::Map), "ProbeParams", size_of::<ProbeParams>(), &[0, 32, 36, 40, 44, 48, 52]);
        laid_out(&probe_draws(), "DrawParams", size_of::<DrawParams>(), &[0, 8, 12]);
    }
}
