//! Records of the search for tracklets, as `shaders/tracklets/types.wgsl` has them. A test compares
//! the layouts with those of naga.

use bytemuck::{Pod, Zeroable};

use crate::detector::MAX_LAYERS;
use crate::engine::tracklets::search::{MOST_CHAIN_TESTS, MOST_TESTS, MOST_TRACKLETS, MOST_TRIPLETS};
use crate::engine::tracklets::z_ranges::ZRanges;

/// An event of a part, and where its data lie. Capacities are of lists.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Event {
    pub(super) hit_first: u32,
    pub(super) hit_count: u32,
    pub(super) cell_first: u32,
    pub(super) range_count: u32,
    pub(super) doublet_first: u32,
    pub(super) doublet_capacity: u32,
    pub(super) outer_first: u32,
    pub(super) outer_capacity: u32,
    pub(super) triplet_first: u32,
    pub(super) triplet_capacity: u32,
    pub(super) kept_first: u32,
    pub(super) kept_capacity: u32,
    /// Ranges of z \[mm\].
    pub(super) ranges: [[f32; 2]; ZRanges::MOST],
    /// The least and the largest rho of each pixel layer \[mm\].
    pub(super) extents: [[f32; 2]; MAX_LAYERS],
}

/// Numbers of doublets, triplets and chains of an event.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Counts {
    pub(super) doublets: u32,
    pub(super) outers: u32,
    pub(super) triplets: u32,
    pub(super) kept: u32,
    /// 0, or the device gave up.
    pub(super) flags: u32,
    /// Rounds of the choice among the last chains.
    pub(super) rounds: u32,
    /// The most pairs of an inner and an outer hit of one hit, if more than [`Self::MOST_SMALL`].
    crowd: u32,
    padding: u32,
}

impl Counts {
    /// `shaders/tracklets/types.wgsl`.
    const MOST_SMALL: u32 = 2048;
    /// More hits are left to the host: with at most 16,384 tests each, they keep within half of
    /// what it takes ([`MOST_TESTS`]).
    const MOST_HITS: u32 = 1 << 19;

    /// Whether the device has found all that is there, in an event that the host would not refuse.
    pub(super) fn are_valid(&self, event: &Event) -> bool {
        let fits = self.doublets <= event.doublet_capacity
            && self.outers <= event.outer_capacity
            && self.triplets <= event.triplet_capacity
            && self.kept <= event.kept_capacity;
        let crowd = self.crowd.max(Self::MOST_SMALL);
        let is_taken = event.hit_count <= Self::MOST_HITS
            && u64::from(event.hit_count) * u64::from(crowd) <= MOST_TESTS / 2
            && self.triplets as usize <= MOST_TRIPLETS
            && u64::from(self.triplets) * u64::from(crowd) <= MOST_CHAIN_TESTS
            && self.kept as usize <= MOST_TRACKLETS;
        fits && is_taken && self.flags == 0
    }
}

/// A pixel layer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Layer {
    pub(super) resolution: f32,
    /// In layers of 1 % of a radiation length; of a disk, with a negative sign.
    pub(super) thickness: f32,
    /// Its first word of the list of neighbours: layers further in, and then further out.
    pub(super) first: u32,
    pub(super) inner: u32,
    pub(super) outer: u32,
    pub(super) padding: [u32; 3],
}

/// Constants of a search.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Constants {
    pub(super) max_kappa: f32,
    pub(super) by_gev_mm: f32,
    pub(super) scattering2: f32,
    pub(super) width2: f32,
    /// Of pixels.
    pub(super) layers: u32,
}

/// A kept chain.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct KeptChain {
    /// Places among the packed hits of the event, from the beam outwards; [`Self::NO_HIT`] behind
    /// the last one.
    pub(super) hits: [u32; 6],
    /// Bits of chi2, which are in the order of the numbers.
    pub(super) chi2: u32,
    pub(super) padding: u32,
}

impl KeptChain {
    pub(super) const NO_HIT: u32 = u32::MAX;

    pub(super) fn present_hits(&self) -> impl Iterator<Item = u32> {
        self.hits.iter().copied().take_while(|&hit| hit != Self::NO_HIT)
    }

    /// Replaces places among the packed hits by these numbers, which ascend.
    pub(super) fn renumber(&mut self, numbers: &[u32]) {
        for hit in self.hits.iter_mut().filter(|hit| **hit != Self::NO_HIT) {
            *hit = numbers[*hit as usize];
        }
    }

    /// The best chain has the least key: more hits, lower chi2, lower numbers of the first three
    /// hits.
    pub(super) fn key(&self) -> (usize, u32, [u32; 3]) {
        let [a, b, c, ..] = self.hits;
        (self.hits.len() - self.present_hits().count(), self.chi2, [a, b, c])
    }
}

/// Sizes of the device's records that the host never reads.
pub(super) const HIT_BYTES: usize = 32;
pub(super) const DOUBLET_BYTES: usize = 16;
pub(super) const TRIPLET_BYTES: usize = 16;
pub(super) const CHAIN_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use kernel_host::struct_layout;

    use super::*;
    use crate::engine::gpu::tracklets::kernels;

    #[test]
    fn records_match_the_shaders() {
        let sources = kernels::sources();
        let check = |name: &str, size: usize| {
            let layouts: Vec<_> = sources.iter().filter_map(|source| struct_layout(source, name).ok()).collect();
            assert!(!layouts.is_empty(), "{name}");
            for layout in layouts {
                assert_eq!(layout.size as usize, size, "{name}: {layout:?}");
            }
        };
        check("Event", size_of::<Event>());
        check("Counts", size_of::<Counts>());
        check("Layer", size_of::<Layer>());
        check("Constants", size_of::<Constants>());
        check("StoredHit", HIT_BYTES);
        check("Doublet", DOUBLET_BYTES);
        check("Triplet", TRIPLET_BYTES);
        check("Chain", CHAIN_BYTES);
        assert_eq!(size_of::<KeptChain>(), 32, "an array of eight words");
    }
}
