//! What kernels of a step are told, and what they count.

use bytemuck::{Pod, Zeroable};

use super::field::GpuAccuracy;
use crate::deposits::{Bins, Grid};
use crate::geometry::{Bounds, Geometry};
use crate::philox::Random;
use crate::world::Settings;

/// Numbers of edges, four together, and of half planes, as in shaders/types.wgsl.
const EDGES: usize = (Geometry::MOST as usize + 3).div_ceil(4);
const HALF_PLANES: usize = Geometry::MOST as usize + 1;

/// As in shaders/types.wgsl.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    accuracy: GpuAccuracy,
    seed: [u32; 2],
    child_seed: [u32; 2],
    is_constant: u32,
    most_steps: u32,
    iterations: u32,
    capacity: u32,
    electron_cut: f32,
    photon_cut: f32,
    stop: f32,
    layers: u32,
    radii: [f32; 2],
    sectors: u32,
    unused: u32,
    world: [f32; 4],
    bins_low: [f32; 2],
    bins_per_mm: [f32; 2],
    bins: [u32; 2],
    unused_too: [u32; 2],
    edges: [[f32; 4]; EDGES],
    half_planes: [[f32; 4]; HALF_PLANES],
}

impl Params {
    pub(crate) fn new(settings: &Settings, grid: &Grid) -> Self {
        let bounds = Bounds::<f32>::new(&settings.geometry);
        let bins = Bins::<f32>::new(grid);
        let (seed, child_seed, is_constant) = match settings.random {
            Random::Seeded(seed) => (seed, !seed, 0),
            Random::Constant => (0, 0, 1),
        };
        let mut params = Self {
            accuracy: (&settings.accuracy).into(),
            seed: halves(seed),
            child_seed: halves(child_seed),
            is_constant,
            most_steps: settings.most_steps,
            electron_cut: settings.cuts.electron as f32,
            photon_cut: settings.cuts.photon as f32,
            stop: settings.cuts.stop as f32,
            layers: bounds.layers,
            radii: bounds.radii,
            sectors: bounds.sectors,
            world: [bounds.world[0], bounds.world[1], bounds.world[2], 0.0],
            bins_low: bins.low,
            bins_per_mm: bins.per_mm,
            bins: bins.counts,
            ..Self::zeroed()
        };
        for (at, &edge) in bounds.edges.iter().enumerate() {
            params.edges[at / 4][at % 4] = edge;
        }
        for (to, &[cos, sin]) in params.half_planes.iter_mut().zip(&bounds.half_planes) {
            *to = [cos, sin, 0.0, 0.0];
        }
        params
    }

    /// For so many slots, and steps of all tracks.
    pub(crate) fn of(self, capacity: u32, iterations: u32) -> Self {
        Self { capacity, iterations, ..self }
    }
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// Words of the counters, as in shaders/types.wgsl.
pub(crate) mod at {
    pub(crate) const SIZE: usize = 0;
    pub(crate) const USED: usize = 1;
    pub(crate) const ROOM: usize = 3;
    pub(crate) const HEAD: usize = 4;
    pub(crate) const TAIL: usize = 5;
    pub(crate) const ITERATIONS: usize = 6;
    pub(crate) const STUCK: usize = 7;
    pub(crate) const WAITED: usize = 9;
    pub(crate) const ESCAPED: usize = 10;
    pub(crate) const ABANDONED: usize = 12;
    pub(crate) const SECONDARIES: usize = 14;
    pub(crate) const DONE: usize = 16;
    pub(crate) const COUNTERS: usize = 32;
}
