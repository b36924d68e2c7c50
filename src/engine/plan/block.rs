//! Blocks of spacepoints, which are encoded together.

use crate::spacepoint::{RoiView, Spacepoint, SpacepointsView};

/// Spacepoints that are encoded and written together, so that writes to mapped memory are long.
pub(crate) const BLOCK: usize = 64;

/// A block of an RoI's spacepoints: columns of rho, phi, z and layers, or records.
#[derive(Clone, Copy)]
pub(crate) enum Block<'a> {
    Double([&'a [f64; BLOCK]; 3], &'a [u8; BLOCK]),
    Single([&'a [f32; BLOCK]; 3], &'a [u8; BLOCK]),
    Records(&'a [Spacepoint; BLOCK]),
}

/// Where a block's spacepoints come from.
pub(crate) trait SpacepointSource: Copy {
    /// rho, phi, z and layer.
    fn at(self, i: usize) -> (f64, f64, f64, u32);
}

impl<T: Copy + Into<f64>> SpacepointSource for ([&[T; BLOCK]; 3], &[u8; BLOCK]) {
    #[inline(always)]
    fn at(self, i: usize) -> (f64, f64, f64, u32) {
        let ([rho, phi, z], layers) = self;
        (rho[i].into(), phi[i].into(), z[i].into(), u32::from(layers[i]))
    }
}

impl SpacepointSource for &[Spacepoint; BLOCK] {
    #[inline(always)]
    fn at(self, i: usize) -> (f64, f64, f64, u32) {
        let Spacepoint { rho, phi, z, layer } = self[i];
        (rho, phi, z, layer)
    }
}

/// Returns the block that begins at `first`, if enough spacepoints follow.
pub(crate) fn block_of(roi: RoiView<'_>, first: usize) -> Option<Block<'_>> {
    Some(match roi.spacepoints {
        SpacepointsView::Double([rho, phi, z], layers) => Block::Double(
            [rho[first..].first_chunk()?, phi[first..].first_chunk()?, z[first..].first_chunk()?],
            layers[first..].first_chunk()?,
        ),
        SpacepointsView::Single([rho, phi, z], layers) => Block::Single(
            [rho[first..].first_chunk()?, phi[first..].first_chunk()?, z[first..].first_chunk()?],
            layers[first..].first_chunk()?,
        ),
        SpacepointsView::Records(records) => Block::Records(records[first..].first_chunk()?),
    })
}
