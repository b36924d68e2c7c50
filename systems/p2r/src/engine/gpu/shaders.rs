//! The WGSL, put together.

use kernel_host::{Precision, Source};

macro_rules! piece {
    ($source:expr, $($name:literal),+) => {
        $source$(.piece(concat!("systems/p2r/shaders/", $name), include_str!(concat!("../../../shaders/", $name))))+
    };
}

/// The kernel that fits tracks.
pub(crate) fn fit(precision: Precision) -> Source {
    let source = Source::new("fit");
    let source = match precision {
        Precision::F32 => piece!(source, "real/f32.wgsl"),
        Precision::F64 => piece!(source, "real/f64.wgsl"),
    };
    piece!(source, "types.wgsl", "propagate.wgsl", "update.wgsl", "fit.wgsl")
}

#[cfg(test)]
mod tests {
    use kernel_host::naga::valid::Capabilities;
    use kernel_host::{struct_layout, translations};

    use super::super::Params;
    use super::*;

    /// Both number types, with all constants that change the code, parse, validate and are written
    /// out.
    #[test]
    fn every_variant_is_written_out() {
        for seed_state in [0.0, 1.0] {
            for bsize in [1.0, 32.0, 9600.0] {
                let constants = [("SEED_STATE", seed_state), ("BSIZE", bsize)];
                let written = translations(&fit(Precision::F32), &[], &constants, Capabilities::empty(), true)
                    .unwrap_or_else(|error| panic!("f32: {error}"));
                assert!(!written.spirv.is_empty() && written.msl.is_some() && written.hlsl.is_some());
                let written = translations(&fit(Precision::F64), &[], &constants, Capabilities::FLOAT64, false)
                    .unwrap_or_else(|error| panic!("f64: {error}"));
                assert!(!written.spirv.is_empty());
            }
        }
    }

    #[test]
    fn the_host_lays_parameters_out_alike() {
        let layout = struct_layout(&fit(Precision::F32), "Params").expect("the struct");
        assert_eq!(layout.size as usize, size_of::<Params>());
        assert_eq!(layout.fields.iter().map(|&(_, at)| at).collect::<Vec<_>>(), [0, 4, 8, 12]);
    }
}
