//! Every assembled shader, for those who compile all of them: tests, and other compilers of WGSL.

use kernel_host::KernelSource;

use crate::config::{Extrapolation, Triplets, Weighting};
use crate::engine::gpu::shaders::{Pairing, Rounding, Variant, probe_rounding};
use crate::options::{Encoding, Precision};
use crate::thesis::Accumulate;

const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];

/// Returns every variant, at one value of each override.
pub(crate) fn variants() -> Vec<Variant> {
    let mut all = Vec::new();
    for precision in PRECISIONS {
        for pairing in [Pairing::TwoSlices, Pairing::MixedLayers, Pairing::ByLayer, Pairing::Numbered] {
            let one = Variant {
                precision,
                accumulate: Accumulate::Fixed,
                pairing,
                triplets: Triplets::Off,
                weighting: Weighting::Count,
                extrapolation: Extrapolation::Linear,
                several: false,
                rounding: Rounding::Native,
            };
            let mut of_pairing = vec![one];
            if pairing != Pairing::MixedLayers {
                of_pairing.extend([Triplets::Any, Triplets::Count].map(|triplets| Variant { triplets, ..one }));
            }
            if matches!(pairing, Pairing::ByLayer | Pairing::Numbered) {
                let several: Vec<_> = of_pairing.iter().map(|&one| Variant { several: true, ..one }).collect();
                of_pairing.extend(several);
                of_pairing.push(Variant { triplets: Triplets::Count, weighting: Weighting::Pt, ..one });
            }
            if pairing == Pairing::Numbered {
                let accumulate = Accumulate::CompareExchange;
                let thesis: Vec<_> = of_pairing.iter().map(|&one| Variant { accumulate, ..one }).collect();
                of_pairing.extend(thesis);
            }
            all.extend(of_pairing);
        }
    }
    all
}

/// The kernels of a variant.
pub(crate) fn kernels(variant: Variant) -> Vec<KernelSource> {
    let encodings = [Encoding::Lossless, Encoding::Compact];
    let mut all = vec![variant.find_z(), variant.find_peaks(), probe_rounding(variant.precision)];
    all.extend(encodings.map(|encoding| variant.slice_spacepoints(encoding)));
    if variant.several {
        all.push(variant.highest_windows());
    } else if variant.pairing != Pairing::Numbered && variant.weighting == Weighting::Count {
        all.extend(encodings.map(|encoding| variant.walk(encoding)));
    }
    if !variant.fills_totals() {
        all.push(variant.sum_histos());
    }
    all
}

/// Kernel and WGSL of every shader of a precision, each once.
#[cfg(feature = "internals")]
pub fn shader_sources(precision: Precision) -> Vec<(String, String)> {
    let mut seen = std::collections::HashSet::new();
    let variants = variants().into_iter().filter(|variant| variant.precision == precision);
    let sources = variants.flat_map(kernels).map(|source| (source.kernel().to_owned(), source.text()));
    sources.filter(|source| seen.insert(source.clone())).collect()
}
