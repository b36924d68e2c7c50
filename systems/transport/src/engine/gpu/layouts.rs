//! Layouts of tracks in device memory, compared by one step of all tracks in a uniform field.

use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{BufferUsages, ComputePassDescriptor, Features};
use kernel_host::{AdapterChoice, Buffer, Gpu, GpuOptions, Kernel, KernelDescriptor, Readback, Timer};

use super::count::storage;
use super::field::GpuField;
use super::shaders;
use crate::engine::gpu::trust::TRUSTED;
use crate::error::{Error, Result};
use crate::field::AnyField;
use crate::integrate::State;

/// A layout of tracks in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// An array of structures of 88 bytes, as the prototype's.
    Structures,
    /// Three arrays of 16 bytes a track, as the engines'.
    Groups,
    /// Twelve arrays of 4 bytes a track.
    Columns,
}

/// The step \[mm\] and the field along z \[T\].
const STEP: f64 = 5.0;
const FIELD: f64 = 3.8;
const WORKGROUP_SIZE: u32 = 128;
/// Dispatches are rows of so many workgroups.
const ROW: u32 = 32_768;
/// Words of position and momentum, as in shaders/layout.
const WORDS: [usize; 6] = [0, 1, 2, 4, 5, 6];

/// As in shaders/layout.wgsl.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LayoutParams {
    count: u32,
    charge: f32,
    length: f32,
    unused: u32,
}

impl Layout {
    /// All layouts.
    pub const ALL: [Self; 3] = [Self::Structures, Self::Groups, Self::Columns];

    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Structures => "structures of 88 bytes",
            Self::Groups => "groups of 16 bytes",
            Self::Columns => "columns of 4 bytes",
        }
    }

    fn words_a_track(self) -> usize {
        if self == Self::Structures { 22 } else { 12 }
    }

    /// The place of a word of a track.
    fn at(self, count: usize, track: usize, word: usize) -> usize {
        match self {
            Self::Structures => self.words_a_track() * track + word,
            Self::Groups => 4 * (word / 4 * count + track) + word % 4,
            Self::Columns => word * count + track,
        }
    }
}

/// The result of [`time_layout`].
#[derive(Clone, Debug)]
pub struct LayoutTime {
    /// The states after one step of 5 mm in 3.8 T along z.
    pub states: Vec<State<f32>>,
    /// The time of each round on the device's clock; none if the device has no timestamps.
    pub rounds: Option<Vec<Duration>>,
}

/// Makes a step of electrons in a layout of memory, and measures how long it takes.
///
/// # Errors
/// [`Error::TooLarge`] if a buffer cannot hold the states; [`Error::Gpu`].
pub fn time_layout(
    adapter: &AdapterChoice,
    layout: Layout,
    states: &[State<f32>],
    rounds: usize,
) -> Result<LayoutTime> {
    let optional_features = Features::TIMESTAMP_QUERY;
    let gpu = Gpu::new(&GpuOptions { adapter: adapter.clone(), optional_features, ..GpuOptions::default() })?;
    let (count, words) = (states.len(), states.len() * layout.words_a_track());
    if count == 0 || 4 * words as u64 > gpu.limits().max_storage_buffer_binding_size {
        return Err(Error::TooLarge { what: format!("{count} states: 1 to a buffer's size are wanted") });
    }
    let mut content = vec![0.0; words];
    for (track, state) in states.iter().enumerate() {
        for (word, number) in WORDS.into_iter().zip(state.place.into_iter().chain(state.momentum)) {
            content[layout.at(count, track, word)] = number;
        }
    }
    let source = shaders::layout(layout);
    let constants: &[_] = &[("WORKGROUP_SIZE", WORKGROUP_SIZE.into())];
    let descriptor = KernelDescriptor { source: &source, entry_points: &[], constants, checks: TRUSTED };
    let kernel = Kernel::build(&gpu, &descriptor)?;
    let field = GpuField::new(&gpu, &AnyField::Uniform([0.0, 0.0, FIELD]))?;
    let mut params = Buffer::new("params", BufferUsages::UNIFORM | BufferUsages::COPY_DST);
    params.write(&gpu, &[LayoutParams { count: count as u32, charge: -1.0, length: STEP as f32, unused: 0 }])?;
    let mut tracks = Buffer::<f32>::new("tracks", storage());
    tracks.write(&gpu, &content)?;
    let mut bindings = vec![("params", params.binding()?), ("tracks", tracks.binding()?)];
    bindings.extend(field.bindings()?);
    let group = kernel.bind_group(&gpu, &bindings)?;
    let workgroups = (count as u32).div_ceil(WORKGROUP_SIZE);
    let rows = [workgroups.min(ROW), workgroups.div_ceil(ROW), 1];

    let mut encoder = gpu.encoder("layout");
    {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        kernel.dispatch(&mut pass, "one_step", &group, rows)?;
    }
    let mut readback = Readback::new("tracks read back");
    readback.reserve(&gpu, words)?;
    readback.copy_from(&mut encoder, &tracks, words)?;
    let submission = gpu.submit(encoder)?;
    let found = readback.read(&gpu, &submission, words)?;
    let state = |track: usize| {
        let [x, y, z, px, py, pz] = WORDS.map(|word| found[layout.at(count, track, word)]);
        State { place: [x, y, z], momentum: [px, py, pz] }
    };
    let rounds = match Timer::new(&gpu, 1) {
        None => None,
        Some(mut timer) => {
            let seen: Vec<_> = timer.rounds(&gpu, rounds, |encoder, timer| -> Result<()> {
                let timestamp_writes = timer.pass("layout");
                let descriptor = ComputePassDescriptor { label: Some("layout"), timestamp_writes };
                let mut pass = encoder.begin_compute_pass(&descriptor);
                Ok(kernel.dispatch(&mut pass, "one_step", &group, rows)?)
            })?;
            let whole = |round: &Vec<(String, Duration)>| round.iter().map(|(_, time)| *time).sum();
            Some(seen[seen.len() - rounds..].iter().map(whole).collect())
        }
    };
    Ok(LayoutTime { states: (0..count).map(state).collect(), rounds })
}
