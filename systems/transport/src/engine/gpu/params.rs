//! Parameters and counters of the kernels of a step.

use bytemuck::{Pod, Zeroable};

use super::field::GpuAccuracy;
use crate::deposits::{Bins, Grid};
use crate::geometry::{Bounds, Geometry, Mesh};
use crate::philox::Random;
use crate::physics::tables::{NODES, Tables, photon_nodes};
use crate::world::{Scattering, Settings, World};

/// Numbers of edges, four together, and of half planes, as in shaders/types.wgsl.
const EDGES: usize = (Geometry::MOST_LAYERS + 1).div_ceil(4);
const HALF_PLANES: usize = Geometry::MOST_SECTORS as usize + 1;

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
    shells: u32,
    sectors: u32,
    most_loops: u32,
    scatters: u32,
    classes: u32,
    scored_materials: u32,
    regions_row: u32,
    photon_rows: u32,
    bins_low: [f32; 2],
    bins_per_mm: [f32; 2],
    bins: [u32; 2],
    unused_too: [u32; 2],
    surfaces: [[f32; 4]; Geometry::MOST_SHELLS],
    edges: [[f32; 4]; EDGES],
    half_planes: [[f32; 4]; HALF_PLANES],
}

impl Params {
    pub(crate) fn new(settings: &Settings, mesh: &Mesh, grid: &Grid, classes: u32) -> Self {
        let bounds = Bounds::<f32>::new(mesh);
        let bins = Bins::<f32>::new(grid);
        let materials = &settings.geometry.materials;
        let photon_rows = photon_nodes(materials).len();
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
            layers: mesh.layers() as u32,
            shells: bounds.shells.len() as u32,
            sectors: bounds.sectors,
            most_loops: settings.most_loops,
            scatters: u32::from(settings.scattering == Scattering::Highland),
            classes,
            scored_materials: settings.scored_materials() as u32,
            regions_row: (materials.len() * (1 + NODES + photon_rows)) as u32,
            photon_rows: photon_rows as u32,
            bins_low: bins.low,
            bins_per_mm: bins.per_mm,
            bins: bins.counts,
            ..Self::zeroed()
        };
        for (to, shell) in params.surfaces.iter_mut().zip(&bounds.shells) {
            *to = [shell.half[0], shell.half[1], f32::from(u8::from(shell.is_box)), 0.0];
        }
        for (at, &edge) in bounds.edges.iter().enumerate() {
            params.edges[at / 4][at % 4] = edge;
        }
        for (to, &[cos, sin]) in params.half_planes.iter_mut().zip(&bounds.half_planes) {
            *to = [cos, sin, 0.0, 0.0];
        }
        params
    }

    /// Sets the number of slots and the largest number of iterations.
    pub(crate) fn of(self, capacity: u32, iterations: u32) -> Self {
        Self { capacity, iterations, ..self }
    }
}

/// The rows of shaders/tables.wgsl: the tables of each material, then the material of each region.
pub(crate) fn table_rows(world: &World<f32>) -> Vec<[f32; 4]> {
    let rows = world.tables.iter().flat_map(|Tables { electron, photon, radiation_length }| {
        [[*radiation_length, 0.0, 0.0, 0.0]].into_iter().chain(electron.iter().chain(photon).copied())
    });
    let regions = world.bounds.regions.chunks(4).map(|four| {
        let mut row = [0.0; 4];
        row.iter_mut().zip(four).for_each(|(to, &material)| *to = material as f32);
        row
    });
    rows.chain(regions).collect()
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
