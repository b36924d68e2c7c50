//! The WGSL, put together.

use kernel_host::{KernelSource, Precision};

use crate::engine::Formulas;

macro_rules! piece {
    ($source:expr, $($name:literal),+) => {
        $source$(.piece(concat!("systems/p2r/shaders/", $name), include_str!(concat!("../../../shaders/", $name))))+
    };
}

/// The kernel that fits tracks. Kernels for hits on cylinders only need fewer registers.
pub(crate) fn fit(precision: Precision, formulas: Formulas, has_disks: bool) -> KernelSource {
    let source = KernelSource::new("fit");
    let source = match precision {
        Precision::F32 => piece!(source, "real/f32.wgsl"),
        Precision::F64 => piece!(source, "real/f64.wgsl"),
    };
    let source = piece!(source, "types.wgsl", "update.wgsl");
    let source = match formulas {
        Formulas::Exact => piece!(source, "propagate/exact.wgsl"),
        Formulas::P2r => piece!(source, "propagate/p2r.wgsl"),
    };
    let source = match has_disks {
        true => piece!(source, "surfaces/any.wgsl"),
        false => piece!(source, "surfaces/cylinders.wgsl"),
    };
    piece!(source, "scatter.wgsl", "fit.wgsl")
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
        for (seed_state, bsize, formulas, has_disks) in [
            (0.0, 1.0, Formulas::P2r, false),
            (1.0, 32.0, Formulas::Exact, false),
            (0.0, 9600.0, Formulas::Exact, true),
            (1.0, 1.0, Formulas::P2r, true),
        ] {
            let constants = [("SEED_STATE", seed_state), ("BSIZE", bsize), ("SCATTERS", 1.0 - seed_state)];
            let f32_source = fit(Precision::F32, formulas, has_disks);
            let written = translations(&f32_source, &[], &constants, Capabilities::empty(), true)
                .unwrap_or_else(|error| panic!("f32: {error}"));
            assert!(!written.spirv.is_empty() && written.msl.is_some() && written.hlsl.is_some());
            let f64_source = fit(Precision::F64, formulas, has_disks);
            let written = translations(&f64_source, &[], &constants, Capabilities::FLOAT64, false)
                .unwrap_or_else(|error| panic!("f64: {error}"));
            assert!(!written.spirv.is_empty());
        }
    }

    #[test]
    fn the_host_lays_parameters_out_alike() {
        let layout = struct_layout(&fit(Precision::F32, Formulas::Exact, false), "Params").expect("the struct");
        assert_eq!(layout.size as usize, size_of::<Params>());
        assert_eq!(layout.fields.iter().map(|&(_, at)| at).collect::<Vec<_>>(), [0, 4, 8, 12]);
    }
}
