//! Every assembled shader, for those who compile all of them: tests, and other compilers of WGSL.

use kernel_host::KernelSource;

use crate::config::{Extrapolation, PairWeight, Ranking, ZEstimate};
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
                pair_weight: PairWeight::One,
                ranking: Ranking::Entries,
                z_estimate: ZEstimate::Mean,
                extrapolation: Extrapolation::Linear,
                several: false,
                rounding: Rounding::Native,
            };
            let mut of_pairing = vec![one];
            if pairing != Pairing::MixedLayers {
                of_pairing
                    .extend([PairWeight::Any, PairWeight::Count].map(|pair_weight| Variant { pair_weight, ..one }));
            }
            if matches!(pairing, Pairing::ByLayer | Pairing::Numbered) {
                let several: Vec<_> = of_pairing.iter().map(|&one| Variant { several: true, ..one }).collect();
                of_pairing.extend(several);
                let by_pt = Variant { pair_weight: PairWeight::Pt, ..one };
                let rankings = Ranking::ALL.iter().map(|&ranking| Variant { ranking, ..by_pt });
                let z_estimates =
                    |one: Variant| ZEstimate::ALL.iter().map(move |&z_estimate| Variant { z_estimate, ..one });
                of_pairing.extend(rankings.flat_map(z_estimates));
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
    } else if variant.pairing != Pairing::Numbered && variant.pair_weight != PairWeight::Pt {
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
