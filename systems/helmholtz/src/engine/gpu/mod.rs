//! Assembles on a GPU: by gather, by colours, or by scatter as the report does.

mod options;
mod parts;
mod shaders;
mod solve;
pub(crate) mod system;
pub(crate) mod trust;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{self, BindGroup, BindingResource, BufferUsages, ComputePass, Features};
use kernel_host::{Buffer, Gpu, Kernel, KernelDescriptor, Readback, Timer};
use rayon::prelude::*;

use crate::engine::Action;
use crate::error::{Error, Result};
use crate::forcing::{AMPLITUDE, level_factors};
use crate::mesh::{Mesh, Number};
use crate::pairs::Pairs;
pub(crate) use options::GpuSettings;
pub use options::{Accumulators, Atomics, ForcingBy, Kernels, Loops, Order, Strategy, TablesIn};
use parts::{Window, colours, put, windows};
use shaders::Accumulate;
use solve::IterativeSolver;
/// As in shaders/types.wgsl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    levels: u32,
    vertices: u32,
    nodes: u32,
    first: u32,
    triangles: u32,
    layers: u32,
    layer: u32,
    step: u32,
    by_columns: u32,
}
/// Result of a stage, in the order of a whole assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Forcing,
    Act(Action),
    Lumped,
}

impl Stage {
    pub(crate) const ASSEMBLY: [Self; 4] =
        [Self::Forcing, Self::Act(Action::Mass), Self::Act(Action::Stiffness), Self::Lumped];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Forcing => "forcing",
            Self::Act(Action::Mass) => "mass",
            Self::Act(Action::Stiffness) => "stiffness",
            Self::Act(Action::Helmholtz) => "helmholtz",
            Self::Lumped => "lumped",
        }
    }
}

/// The time of a stage on the device's clock, and the size of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct StageTime {
    /// The stage: `forcing`, `mass`, `stiffness` or `lumped`.
    pub stage: &'static str,
    /// The time of each round.
    pub rounds: Vec<Duration>,
    /// The number of bytes of the fields that it reads and writes, each counted once.
    pub bytes: u64,
}
/// Dispatches are rows of so many workgroups.
const ROW: u32 = 32_768;
/// Threads of a workgroup where nodes are gathered, if not given.
const GATHERING: u32 = 256;
/// And where a thread takes a prism.
const SCATTERING: u32 = 128;
/// Levels of a thread that gathers, as in shaders/columns.wgsl; and levels of a block that only
/// serve their neighbours.
const SLOTS: u32 = 4;
const SERVING: u32 = 2;
/// The field of an assembly that the volumes follow if one kernel computes both.
const STIFFNESS: usize = 2;

/// For compare and retry of 64 bits.
const ATOMICS_64: Features = Features::SHADER_INT64.union(Features::SHADER_INT64_ATOMIC_ALL_OPS);
pub(crate) struct GpuEngine<T: Number> {
    gpu: Gpu,
    mesh: Arc<Mesh>,
    pairs: Arc<Pairs>,
    settings: GpuSettings,
    windows: Vec<Window>,
    /// Threads that gather a column together.
    lanes: u32,
    forcing: Kernel,
    forcing_takes_prisms: bool,
    gather: Kernel,
    scatter: Option<Kernel>,
    /// Whether a kernel computes stiffness and volumes of an assembly together.
    is_joined: bool,
    /// The first place in `order` of each colour, and the end. Scatter has one colour.
    colours: Vec<u32>,
    fixed: Fixed<T>,
    workspace: Mutex<Workspace<T>>,
    /// Built by the first solve.
    solver: Mutex<Option<Box<IterativeSolver<T>>>>,
}

/// Buffers that are uploaded once.
struct Fixed<T: Number> {
    offsets: Buffer<u32>,
    neighbours: Buffer<u32>,
    weights: Buffer<[T; 2]>,
    thirds: Buffer<T>,
    heights: Buffer<T>,
    turns: Buffer<[T; 2]>,
    scatter: Option<ScatterBuffers<T>>,
}

struct ScatterBuffers<T: Number> {
    triangles: Buffer<u32>,
    edges: Buffer<[T; 4]>,
    order: Buffer<u32>,
    tables: Buffer<T>,
}

struct Workspace<T: Number> {
    params: Buffer<Params>,
    /// Of each dispatch of a stage by prisms.
    dispatches: Vec<(Buffer<Params>, u32)>,
    level_factors: Buffer<T>,
    fields: [Buffer<T>; 4],
    readback: Readback<T>,
}

fn storage() -> BufferUsages {
    BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST
}

fn uniform() -> Buffer<Params> {
    Buffer::new("params", BufferUsages::UNIFORM | BufferUsages::COPY_DST)
}

fn written<U: Pod>(gpu: &Gpu, label: &str, data: &[U]) -> Result<Buffer<U>> {
    let mut buffer = Buffer::new(label, storage());
    buffer.write(gpu, data)?;
    Ok(buffer)
}

impl<T: Number> GpuEngine<T> {
    /// Features that are used where they are there.
    pub(crate) const FEATURES: Features =
        Features::TIMESTAMP_QUERY.union(Features::SHADER_F64).union(Features::SHADER_FLOAT32_ATOMIC).union(ATOMICS_64);

    pub(crate) fn new(gpu: Gpu, mesh: Arc<Mesh>, settings: GpuSettings) -> Result<Self> {
        if !gpu.has(T::PRECISION.required_features()) {
            return Err(Error::NoF64 { adapter: gpu.name().to_owned() });
        }
        let limits = gpu.limits();
        let most = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        if let Some(size) = settings.workgroup_size
            && !(size.is_power_of_two() && (4..=most).contains(&size))
        {
            return Err(Error::WorkgroupSize { size, most });
        }
        let accumulate = accumulate::<T>(&gpu, &settings)?;
        let is_joined = accumulate.is_some() && settings.kernels == Kernels::Joined;
        let windows = windows::<T>(&gpu, &mesh, settings.most_field_bytes, 1 + usize::from(is_joined))?;
        let pairs = Arc::new(Pairs::new(&mesh));
        let size = settings.workgroup_size.unwrap_or(GATHERING);
        let lanes = lanes(windows.iter().map(|window| window.all.len()).max().unwrap_or_default()).min(size);
        // No prism writes the nodes of a vertex without triangles.
        let takes_prisms = settings.forcing == ForcingBy::Prisms && mesh.unused_vertices() == 0;
        let forcing_prisms = accumulate.filter(|_| takes_prisms);
        let (forcing, gather) = (shaders::forcing::<T>(forcing_prisms), shaders::gather::<T>());
        let GpuSettings { tables, accumulators, kernels, .. } = settings;
        let scatter = accumulate.map(|accumulate| shaders::scatter::<T>(accumulate, tables, accumulators, kernels));
        let of_size = [("WORKGROUP_SIZE", size.into()), ("LANES", lanes.into())];
        let interchanged = if settings.loops == Loops::RowsOutside { 1.0 } else { 0.0 };
        let of_prisms = [
            ("WORKGROUP_SIZE", f64::from(settings.workgroup_size.unwrap_or(SCATTERING))),
            ("INTERCHANGED", interchanged),
        ];
        // The factored sums have no loops over entries.
        let of_prisms = if settings.accumulators == Accumulators::Factored { &of_prisms[..1] } else { &of_prisms[..] };
        let describe =
            |source, constants| KernelDescriptor { source, entry_points: &[], constants, checks: settings.checks };
        let of_forcing = if forcing_prisms.is_some() { &of_prisms[..1] } else { &of_size[..] };
        let mut descriptors = vec![describe(&forcing, of_forcing), describe(&gather, &of_size[..])];
        descriptors.extend(scatter.as_ref().map(|scatter| describe(scatter, of_prisms)));
        let mut kernels = Kernel::build_all(&gpu, &descriptors)?.into_iter();
        let (Some(forcing), Some(gather)) = (kernels.next(), kernels.next()) else {
            return Err(Error::TooLarge { what: "no kernels".to_owned() });
        };
        let (order, colours) = match settings.strategy {
            Strategy::Coloured => colours(&mesh),
            _ => ((0..mesh.triangles().len() as u32).collect(), vec![0, mesh.triangles().len() as u32]),
        };
        let fixed = Fixed::new(&gpu, &mesh, &pairs, accumulate.is_some().then_some(order))?;
        let workspace = Mutex::new(Workspace {
            params: uniform(),
            dispatches: Vec::new(),
            level_factors: Buffer::new("level factors", storage()),
            fields: ["field a", "field b", "field c", "field d"].map(|label| Buffer::new(label, storage())),
            readback: Readback::new("field read back"),
        });
        Ok(Self {
            gpu,
            mesh,
            pairs,
            settings,
            windows,
            lanes,
            forcing,
            forcing_takes_prisms: forcing_prisms.is_some(),
            gather,
            scatter: kernels.next(),
            is_joined,
            colours,
            fixed,
            workspace,
            solver: Mutex::new(None),
        })
    }

    pub(crate) fn mesh(&self) -> &Arc<Mesh> {
        &self.mesh
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn description(&self) -> String {
        let adapter = self.gpu.summary();
        format!("GPU, {}, {} ({}, {})", T::PRECISION, adapter.name, adapter.kind, adapter.backend)
    }

    /// The first stages of an assembly, or one action on a field.
    pub(crate) fn run(&self, stages: &[Stage], field: Option<&[T]>) -> Result<Vec<Vec<T>>> {
        let mut workspace = self.workspace();
        let mut results: Vec<Vec<T>> = stages.iter().map(|_| vec![T::default(); self.mesh.nodes()]).collect();
        for window in &self.windows {
            self.prepare(&mut workspace, window, field)?;
            let mut encoder = self.gpu.encoder("assemble");
            self.encode(&workspace, window, stages, field.is_some(), &mut encoder, &mut None)?;
            let mut submission = self.gpu.submit(encoder)?;
            let count = self.mesh.vertices().len() * window.all.len();
            for (stage, result) in results.iter_mut().enumerate() {
                let mut encoder = self.gpu.encoder("read back");
                let Workspace { readback, fields, .. } = &mut *workspace;
                readback.reserve(&self.gpu, count)?;
                readback.copy_from(&mut encoder, &fields[stage + usize::from(field.is_some())], count)?;
                submission = self.gpu.submit(encoder)?;
                self.gpu.wait(&submission)?;
                readback.look(&self.gpu, count, |found| put(result, self.mesh.levels(), found, window))?;
            }
            self.gpu.wait(&submission)?;
        }
        Ok(results)
    }

    /// Returns the times of an assembly's stages. `None` if the device has no clock.
    pub(crate) fn time(&self, rounds: usize) -> Result<Option<Vec<StageTime>>> {
        let mut workspace = self.workspace();
        let Some(mut timer) = Timer::new(&self.gpu, Stage::ASSEMBLY.len()) else { return Ok(None) };
        let field = (self.mesh.nodes() * size_of::<T>()) as u64;
        let time = |stage: Stage| {
            let bytes = if matches!(stage, Stage::Act(_)) { 2 * field } else { field };
            StageTime { stage: stage.name(), rounds: vec![Duration::ZERO; rounds], bytes }
        };
        let mut times = Stage::ASSEMBLY.map(time);
        for window in &self.windows {
            self.prepare(&mut workspace, window, None)?;
            let seen: Vec<_> = timer.rounds(&self.gpu, rounds, |encoder, timer| {
                self.encode(&workspace, window, &Stage::ASSEMBLY, false, encoder, &mut Some(timer))
            })?;
            // The last ones, should there be more.
            for (round, passes) in seen[seen.len() - rounds..].iter().enumerate() {
                for (time, (_, duration)) in times.iter_mut().zip(passes) {
                    time.rounds[round] += *duration;
                }
            }
        }
        Ok(Some(times.into()))
    }

    fn workspace(&self) -> MutexGuard<'_, Workspace<T>> {
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room and parameters for a window, and the levels of a field that it has.
    fn prepare(&self, workspace: &mut Workspace<T>, window: &Window, field: Option<&[T]>) -> Result<()> {
        let gpu = &self.gpu;
        let levels = window.all.len();
        let count = self.mesh.vertices().len() * levels;
        for (place, buffer) in workspace.fields.iter_mut().enumerate() {
            let fields = if self.is_joined && place == STIFFNESS { 2 } else { 1 };
            buffer.reserve(gpu, fields * count)?;
        }
        let vertices = self.mesh.vertices().len() as u32;
        let params = Params { levels: levels as u32, vertices, nodes: count as u32, ..Params::default() };
        workspace.params.write(gpu, &[params])?;
        let factors: Vec<T> = level_factors(&self.mesh, AMPLITUDE);
        workspace.level_factors.write(gpu, &factors[window.all.clone()])?;
        if self.scatter.is_some() {
            let step = if self.settings.strategy == Strategy::Coloured { 2 } else { 1 };
            let by_columns = u32::from(self.settings.order == Order::Columns);
            let mut place = 0;
            for bounds in self.colours.windows(2) {
                for layer in 0..step {
                    let layers = (levels as u32 - 1).saturating_sub(layer).div_ceil(step);
                    let triangles = bounds[1] - bounds[0];
                    let params = Params { first: bounds[0], triangles, layers, layer, step, by_columns, ..params };
                    if workspace.dispatches.len() <= place {
                        workspace.dispatches.push((uniform(), 0));
                    }
                    let (buffer, prisms) = &mut workspace.dispatches[place];
                    buffer.write(gpu, &[params])?;
                    *prisms = triangles * layers;
                    place += 1;
                }
            }
            workspace.dispatches.truncate(place);
        }
        if let Some(field) = field {
            if levels == self.mesh.levels() {
                workspace.fields[0].write(gpu, field)?;
            } else {
                let mut part = vec![T::default(); count];
                let columns = part.par_chunks_mut(levels).zip(field.par_chunks(self.mesh.levels()));
                columns.for_each(|(to, from)| to.copy_from_slice(&from[window.all.clone()]));
                workspace.fields[0].write(gpu, &part)?;
            }
        }
        Ok(())
    }

    /// Stages one after the other, each of what the one before wrote; the first writes field 0, or
    /// reads it if it is given.
    fn encode(
        &self,
        workspace: &Workspace<T>,
        window: &Window,
        stages: &[Stage],
        is_given: bool,
        encoder: &mut wgpu::CommandEncoder,
        timer: &mut Option<&mut Timer>,
    ) -> Result<()> {
        let is_joined = self.is_joined && stages == Stage::ASSEMBLY;
        for (place, &stage) in stages.iter().enumerate() {
            let to = &workspace.fields[place + usize::from(is_given)];
            // Stages without an input get a field that they do not write.
            let from = &workspace.fields[if is_given { place } else { (place + 3) % 4 }];
            let timestamp_writes = timer.as_mut().and_then(|timer| timer.pass(stage.name()));
            let descriptor = wgpu::ComputePassDescriptor { label: Some(stage.name()), timestamp_writes };
            let mut pass = encoder.begin_compute_pass(&descriptor);
            match stage {
                Stage::Act(Action::Stiffness) if is_joined => {
                    self.prisms(workspace, window, "stiffness_and_lumped", from, to, &mut pass)?;
                }
                Stage::Lumped if is_joined => {
                    drop(pass);
                    let bytes = (self.mesh.vertices().len() * window.all.len() * size_of::<T>()) as u64;
                    encoder.copy_buffer_to_buffer(from.raw()?, bytes, to.raw()?, 0, bytes);
                }
                _ => self.stage(workspace, window, stage, from, to, &mut pass)?,
            }
        }
        Ok(())
    }

    fn stage(
        &self,
        workspace: &Workspace<T>,
        window: &Window,
        stage: Stage,
        from: &Buffer<T>,
        to: &Buffer<T>,
        pass: &mut ComputePass<'_>,
    ) -> Result<()> {
        if stage == Stage::Forcing && !self.forcing_takes_prisms {
            let group = self.forcing.bind_group(
                &self.gpu,
                &[
                    ("params", workspace.params.binding()?),
                    ("turns", self.fixed.turns.binding()?),
                    ("level_factors", workspace.level_factors.binding()?),
                    ("out", to.binding()?),
                ],
            )?;
            self.forcing.dispatch(pass, "forcing", &group, self.by_columns(window.all.len(), 0))?;
            return Ok(());
        }
        if self.scatter.is_some() {
            return self.prisms(workspace, window, stage.name(), from, to, pass);
        }
        let group = self.bind_gather(workspace.params.binding()?, from, to)?;
        let serving = if stage == Stage::Lumped { 0 } else { SERVING };
        self.gather.dispatch(pass, stage.name(), &group, self.by_columns(window.all.len(), serving))?;
        Ok(())
    }

    /// A kernel whose threads take prisms.
    fn prisms(
        &self,
        workspace: &Workspace<T>,
        window: &Window,
        name: &str,
        from: &Buffer<T>,
        to: &Buffer<T>,
        pass: &mut ComputePass<'_>,
    ) -> Result<()> {
        let (Some(scatter), Some(buffers)) = (&self.scatter, &self.fixed.scatter) else { return Ok(()) };
        let kernel = if name == "forcing" { &self.forcing } else { scatter };
        let bind = |params: BindingResource<'_>| -> Result<BindGroup> {
            let mut group = vec![
                ("params", params),
                ("triangles", buffers.triangles.binding()?),
                ("order", buffers.order.binding()?),
                ("out", to.binding()?),
            ];
            if name == "forcing" {
                group.push(("turns", self.fixed.turns.binding()?));
                group.push(("level_factors", workspace.level_factors.binding()?));
            } else {
                // One of a kind for all stages.
                group.push(("edges", buffers.edges.binding()?));
                group.push(("heights", self.fixed.heights.binding()?));
                group.push(("field", from.binding()?));
                if self.settings.tables.is_buffer() {
                    group.push(("tables", buffers.tables.binding()?));
                }
            }
            Ok(kernel.bind_group(&self.gpu, &group)?)
        };
        let size = self.settings.workgroup_size.unwrap_or(SCATTERING);
        if name != "forcing" {
            let fields = if name == "stiffness_and_lumped" { 2 } else { 1 };
            let numbers = fields * (self.mesh.vertices().len() * window.all.len()) as u32;
            kernel.dispatch(pass, "zero", &bind(workspace.params.binding()?)?, rows(numbers.div_ceil(size)))?;
        }
        for (params, prisms) in &workspace.dispatches {
            if *prisms > 0 {
                kernel.dispatch(pass, name, &bind(params.binding()?)?, rows(prisms.div_ceil(size)))?;
            }
        }
        Ok(())
    }

    /// Workgroups for all columns, in blocks of which so many levels only serve their neighbours.
    fn by_columns(&self, levels: usize, serving: u32) -> [u32; 3] {
        let size = self.settings.workgroup_size.unwrap_or(GATHERING);
        let blocks = (levels as u32).saturating_sub(serving).div_ceil(self.lanes * SLOTS - serving).max(1);
        rows((self.mesh.vertices().len() as u32 * blocks).div_ceil(size / self.lanes))
    }

    fn bind_gather(&self, params: BindingResource<'_>, from: &Buffer<T>, to: &Buffer<T>) -> Result<BindGroup> {
        Ok(self.gather.bind_group(
            &self.gpu,
            &[
                ("params", params),
                ("heights", self.fixed.heights.binding()?),
                ("offsets", self.fixed.offsets.binding()?),
                ("neighbours", self.fixed.neighbours.binding()?),
                ("weights", self.fixed.weights.binding()?),
                ("thirds", self.fixed.thirds.binding()?),
                ("field", from.binding()?),
                ("out", to.binding()?),
            ],
        )?)
    }
}

impl<T: Number> Fixed<T> {
    fn new(gpu: &Gpu, mesh: &Mesh, pairs: &Pairs, order: Option<Vec<u32>>) -> Result<Self> {
        let real = T::from_f64;
        let weights = pairs.mass().iter().zip(pairs.stiffness()).map(|(&m, &k)| [real(m), real(k)]);
        let thirds = pairs.thirds().iter().map(|&third| real(third));
        // In f32 a large coordinate loses digits, so whole turns are subtracted first.
        let turns = mesh.vertices().iter().map(|at| at.map(|x| real(x - x.round_ties_even())));
        let scatter = match order {
            None => None,
            Some(order) => Some(ScatterBuffers::new(gpu, mesh, &order)?),
        };
        Ok(Self {
            offsets: written(gpu, "offsets", pairs.offsets())?,
            neighbours: written(gpu, "neighbours", pairs.neighbours())?,
            weights: written(gpu, "weights", &weights.collect::<Vec<_>>())?,
            thirds: written(gpu, "thirds", &thirds.collect::<Vec<_>>())?,
            heights: written(gpu, "heights", &[real(mesh.height() / 6.0), real(1.0 / mesh.height())])?,
            turns: written(gpu, "turns", &turns.collect::<Vec<_>>())?,
            scatter,
        })
    }
}

impl<T: Number> ScatterBuffers<T> {
    fn new(gpu: &Gpu, mesh: &Mesh, order: &[u32]) -> Result<Self> {
        // f64 differences: f32 coordinates leave them few digits on fine meshes.
        let edge = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|vertex| mesh.vertices()[vertex as usize]);
            [b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]].map(T::from_f64)
        };
        let mut tables = Buffer::new("tables", storage() | BufferUsages::UNIFORM);
        tables.write(gpu, &shaders::tables::<T>())?;
        let edges: Vec<[T; 4]> = mesh.triangles().par_iter().map(edge).collect();
        Ok(Self {
            triangles: written(gpu, "triangles", bytemuck::cast_slice(mesh.triangles()))?,
            edges: written(gpu, "edges", &edges)?,
            order: written(gpu, "order", order)?,
            tables,
        })
    }
}

/// As few as hold a column of so many levels, if that is not many.
fn lanes(levels: usize) -> u32 {
    match (levels as u32).div_ceil(SLOTS) {
        few @ 0..=64 => few.max(2),
        _ => 32,
    }
}

fn rows(workgroups: u32) -> [u32; 3] {
    [workgroups.min(ROW), workgroups.div_ceil(ROW), 1]
}

/// How prisms add to nodes; none if nodes gather.
fn accumulate<T: Number>(gpu: &Gpu, settings: &GpuSettings) -> Result<Option<Accumulate>> {
    if settings.strategy != Strategy::Scatter {
        return Ok((settings.strategy == Strategy::Coloured).then_some(Accumulate::Plain));
    }
    let bits = 8 * size_of::<T>() as u32;
    let has_native = bits == 32 && gpu.has(Features::SHADER_FLOAT32_ATOMIC);
    let retries = match bits {
        32 => Some(Accumulate::CompareExchange),
        _ => gpu.has(ATOMICS_64).then_some(Accumulate::CompareExchange64),
    };
    let found = match settings.atomics {
        Atomics::Auto if has_native => Some(Accumulate::Native),
        Atomics::Auto | Atomics::CompareExchange => retries,
        Atomics::Native => has_native.then_some(Accumulate::Native),
    };
    found.map(Some).ok_or_else(|| Error::NoAtomics { adapter: gpu.name().to_owned(), bits })
}
