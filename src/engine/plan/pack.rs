//! Packs the spacepoints of a planned RoI.

use super::block::{BLOCK, block_of};
use super::{PackSummary, RoiPlan, Search, SlicePlacement};
use crate::engine::encoding::Encode;
use crate::engine::real::Real;
use crate::spacepoint::{RoiView, Spacepoint};

impl Search {
    /// Hands every spacepoint of a planned RoI to `write`, encoded, in order and block by block.
    pub(crate) fn pack<R: Real, E: Encode<R>>(
        &self,
        encoding: &E,
        plan: &RoiPlan,
        roi: RoiView<'_>,
        mut write: impl FnMut(&[E::Word]),
    ) -> PackSummary {
        let bad = PackSummary { bad: true, ..PackSummary::default() };
        if plan.bad {
            return bad;
        }
        let inv = self.config.slices_per_rad();
        let placing = SlicePlacement {
            phi_min: plan.phi_min,
            width: plan.width,
            slices_per_rad: inv,
            slices: plan.slices,
            layers: self.layers() as u32,
        };
        let plain = self.is_plain();
        let mut kept = 0;
        let mut block = [encoding.dropped(); BLOCK];
        for first in (0..roi.len()).step_by(BLOCK) {
            let count = BLOCK.min(roi.len() - first);
            // The last block overlaps the one before it, so that it is whole.
            let begin = first - (BLOCK - count).min(first);
            if let Some(spacepoints) = block_of(roi, begin).filter(|_| plain)
                && let Some(taken) = encoding.encode_block(&placing, spacepoints, &mut block)
            {
                let (before, words) = block.split_at(first - begin);
                kept += taken - before.iter().filter(|&word| *word != encoding.dropped()).count();
                write(words);
                continue;
            }
            for (word, i) in block[..count].iter_mut().zip(first..) {
                let Spacepoint { rho, phi, z, layer } = roi.spacepoint(i);
                let Some((rho, phi)) = self.about_beam(rho, phi, z, layer) else { return bad };
                let from_edge = placing.beyond_edge(phi);
                *word = if from_edge < plan.width && self.takes_part(layer) {
                    kept += 1;
                    let slice = ((from_edge * inv) as u32).min(plan.slices - 1);
                    match encoding.encode(rho, from_edge, z, slice, layer) {
                        Some(word) => word,
                        None => return PackSummary { too_far: true, ..PackSummary::default() },
                    }
                } else {
                    encoding.dropped()
                };
            }
            write(&block[..count]);
        }
        PackSummary { kept, outside: roi.len() - kept, ..PackSummary::default() }
    }
}
