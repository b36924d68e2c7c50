//! The buffers of runs on a GPU.

use kernel_host::wgpu::{BindGroup, BindingResource, BufferUsages, ComputePassDescriptor};
use kernel_host::{Buffer, Gpu, Readback};

use super::count::{STATUS, refused, storage};
use super::kernels::{GpuEngine, Stages};
use super::params::{Params, at};
use super::sort::{GpuSort, SortBuffers, SortJob};
use crate::engine::ended::Tally;
use crate::error::{Error, Result};
use crate::track::{Process, Slots};

pub(super) type Counters = [u32; at::COUNTERS];

/// Dispatches are rows of so many workgroups, as in shaders/types.wgsl.
const ROW: u32 = 32_768;

pub(super) struct Workspace {
    pub(super) sort: GpuSort,
    pub(super) params: Buffer<Params>,
    pub(super) slots: Groups,
    /// The target of packing.
    pub(super) packed: Groups,
    /// The number of tracks that are packed.
    pub(super) live: Buffer<u32>,
    pub(super) classes: Buffer<u32>,
    pub(super) order: Buffer<u32>,
    pub(super) bounds: Buffer<u32>,
    pub(super) status: Buffer<u32>,
    pub(super) counters: Buffer<u32>,
    pub(super) dispatches: Buffer<u32>,
    pub(super) deposits: Buffer<u32>,
    pub(super) vacancies: Buffer<u32>,
    pub(super) readback: Readback<u32>,
    pub(super) groups: Readback<[f32; 4]>,
    number_of_classes: usize,
}

impl Workspace {
    pub(super) fn new(sort: GpuSort, number_of_classes: u32) -> Self {
        let words = |label| Buffer::<u32>::new(label, storage());
        Self {
            sort,
            params: Buffer::new("params", BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            slots: Groups::new(),
            packed: Groups::new(),
            live: words("live"),
            classes: words("classes"),
            order: words("order"),
            bounds: words("bounds of classes"),
            status: words("status of classes"),
            counters: words("counters"),
            dispatches: Buffer::new("dispatches", storage() | BufferUsages::INDIRECT),
            deposits: words("deposits"),
            vacancies: words("vacancies"),
            readback: Readback::new("words read back"),
            groups: Readback::new("tracks read back"),
            number_of_classes: number_of_classes as usize,
        }
    }
}

/// The bindings of kernels that finish steps.
fn sums(workspace: &Workspace) -> Result<Vec<(&'static str, BindingResource<'_>)>> {
    Ok(vec![("deposits", workspace.deposits.binding()?), ("vacancies", workspace.vacancies.binding()?)])
}

fn sum_at(words: &[u32], at: usize) -> u64 {
    u64::from(words[at]) | u64::from(words[at + 1]) << 32
}

/// The three groups of 16 bytes of tracks.
pub(super) struct Groups {
    pub(super) places: Buffer<[f32; 4]>,
    pub(super) directions: Buffer<[f32; 4]>,
    pub(super) identities: Buffer<[u32; 4]>,
}

impl Groups {
    pub(super) fn new() -> Self {
        Self {
            places: Buffer::new("places", storage()),
            directions: Buffer::new("directions", storage()),
            identities: Buffer::new("identities", storage()),
        }
    }

    fn reserve(&mut self, gpu: &Gpu, slots: usize) -> Result<()> {
        self.places.reserve(gpu, slots)?;
        self.directions.reserve(gpu, slots)?;
        self.identities.reserve(gpu, slots)?;
        Ok(())
    }

    pub(super) fn write(&mut self, gpu: &Gpu, slots: &Slots) -> Result<()> {
        self.places.write(gpu, &slots.places)?;
        self.directions.write(gpu, &slots.directions)?;
        self.identities.write(gpu, &slots.identities)?;
        Ok(())
    }
}

/// The bind groups of a step.
pub(super) struct Bound {
    pub(super) first: BindGroup,
    pub(super) sort: SortJob,
    pub(super) last: Option<BindGroup>,
    pub(super) plan: BindGroup,
    pub(super) classify: BindGroup,
}

impl GpuEngine {
    /// Reserves slots, writes tracks and counters, and binds them.
    pub(super) fn prepare(
        &self,
        workspace: &mut Workspace,
        slots: &Slots,
        counters: &Counters,
        capacity: usize,
        iterations: u32,
    ) -> Result<Bound> {
        let gpu = &self.gpu;
        workspace.slots.reserve(gpu, capacity)?;
        workspace.classes.reserve(gpu, capacity.next_multiple_of(4))?;
        let classes = workspace.classes.capacity();
        workspace.order.reserve(gpu, classes)?;
        workspace.bounds.reserve(gpu, 2 * workspace.number_of_classes)?;
        workspace.vacancies.reserve(gpu, capacity)?;
        workspace.dispatches.reserve(gpu, 8)?;
        workspace.slots.write(gpu, slots)?;
        // The first plan sizes the first step.
        let mut counters = *counters;
        counters[at::SIZE] = 0;
        (counters[at::HEAD], counters[at::TAIL], counters[at::STUCK]) = (0, 0, 0);
        workspace.counters.write(gpu, &counters)?;
        workspace.params.write(gpu, &[self.params.of(capacity as u32, iterations)])?;
        self.bind(workspace)
    }

    fn bind(&self, workspace: &mut Workspace) -> Result<Bound> {
        let common = self.common(workspace)?;
        let sums = sums(workspace)?;
        let gpu = &self.gpu;
        let (first, last) = match &self.stages {
            Stages::Split { step_length, interact } => {
                let mut bindings = common.clone();
                bindings.extend(self.field.bindings()?);
                bindings.push(("classes", workspace.classes.binding()?));
                let first = step_length.bind_group(gpu, &bindings)?;
                let mut bindings = common;
                bindings.extend(sums);
                bindings.push(("order", workspace.order.binding()?));
                (first, Some(interact.bind_group(gpu, &bindings)?))
            }
            Stages::Monolithic(kernel) => {
                let mut bindings = common;
                bindings.extend(sums);
                bindings.extend(self.field.bindings()?);
                (kernel.bind_group(gpu, &bindings)?, None)
            }
        };
        let Workspace { sort, params, slots, classes, order, bounds, status, counters, dispatches, .. } = workspace;
        let plan =
            [("params", params.binding()?), ("counters", counters.binding()?), ("dispatches", dispatches.binding()?)];
        let classify = [
            ("params", params.binding()?),
            ("identities", slots.identities.binding()?),
            ("counters", counters.binding()?),
            ("classes", classes.binding()?),
        ];
        Ok(Bound {
            first,
            sort: sort.bind(gpu, SortBuffers { size: counters, classes, order, bounds, status })?,
            last,
            plan: self.plan.bind_group(gpu, &plan)?,
            classify: self.classify.bind_group(gpu, &classify)?,
        })
    }

    /// Binds the tail.
    pub(super) fn bind_tail(&self, workspace: &Workspace) -> Result<BindGroup> {
        let mut bindings = self.common(workspace)?;
        bindings.extend(sums(workspace)?);
        bindings.extend(self.field.bindings()?);
        Ok(self.tail()?.bind_group(&self.gpu, &bindings)?)
    }

    /// The bindings of all kernels of a step.
    fn common<'a>(&'a self, workspace: &'a Workspace) -> Result<Vec<(&'static str, BindingResource<'a>)>> {
        Ok(vec![
            ("params", workspace.params.binding()?),
            ("places", workspace.slots.places.binding()?),
            ("directions", workspace.slots.directions.binding()?),
            ("identities", workspace.slots.identities.binding()?),
            ("tables", self.tables.binding()?),
            ("counters", workspace.counters.binding()?),
        ])
    }

    /// Lets the next plan only size its step.
    pub(super) fn restart(&self, workspace: &mut Workspace, counters: &mut Counters) -> Result<()> {
        counters[at::SIZE] = 0;
        workspace.counters.write(&self.gpu, &counters[..])?;
        Ok(())
    }

    /// Packs the tracks into the first slots: kernels look at all slots that were ever used.
    pub(super) fn pack(&self, workspace: &mut Workspace, bound: &Bound, counters: &mut Counters) -> Result<Bound> {
        let gpu = &self.gpu;
        let live = counters[at::USED] - counters[at::ROOM];
        let capacity = workspace.slots.places.capacity();
        workspace.packed.reserve(gpu, capacity)?;
        workspace.live.write(gpu, &[live])?;
        let mut encoder = gpu.encoder("pack");
        {
            let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            let Workspace { sort, slots, packed, live, order, .. } = &*workspace;
            let [threads, ..] = self.classify.workgroup_size("classify");
            let groups = counters[at::USED].div_ceil(threads);
            let rows = [groups.min(ROW), groups.div_ceil(ROW), 1];
            self.classify.dispatch(&mut pass, "classify", &bound.classify, rows)?;
            sort.encode(&mut pass, &bound.sort)?;
            let of_places = self.gather.bind(gpu, live, order, &slots.places, &packed.places)?;
            let of_directions = self.gather.bind(gpu, live, order, &slots.directions, &packed.directions)?;
            let of_identities = self.gather.bind(gpu, live, order, &slots.identities, &packed.identities)?;
            for job in [of_places, of_directions, of_identities] {
                self.gather.encode(&mut pass, &job)?;
            }
        }
        let submission = gpu.submit(encoder)?;
        gpu.wait(&submission)?;
        std::mem::swap(&mut workspace.slots, &mut workspace.packed);
        (counters[at::USED], counters[at::ROOM], counters[at::SIZE]) = (live, 0, 0);
        (counters[at::HEAD], counters[at::TAIL]) = (0, 0);
        workspace.counters.write(gpu, &counters[..])?;
        self.bind(workspace)
    }

    /// Reads the slots in use.
    pub(super) fn slots(&self, workspace: &mut Workspace, counters: &Counters) -> Result<Slots> {
        let used = counters[at::USED] as usize;
        let Workspace { slots: on_gpu, groups, .. } = workspace;
        groups.reserve(&self.gpu, 3 * used)?;
        let mut encoder = self.gpu.encoder("tracks");
        groups.gather(&mut encoder, &on_gpu.places, used, 0)?;
        groups.gather(&mut encoder, &on_gpu.directions, used, used)?;
        groups.gather(&mut encoder, &on_gpu.identities, used, 2 * used)?;
        let submission = self.gpu.submit(encoder)?;
        let mut places = groups.read(&self.gpu, &submission, 3 * used)?;
        let identities = places.split_off(2 * used).into_iter().map(|group| group.map(f32::to_bits)).collect();
        let directions = places.split_off(used);
        Ok(Slots { places, directions, identities })
    }

    /// Reads the sums.
    pub(super) fn tally(&self, workspace: &mut Workspace, counters: &Counters, sums: usize) -> Result<Tally> {
        let words = 2 * sums;
        let Workspace { deposits, status, readback, .. } = workspace;
        readback.reserve(&self.gpu, words + STATUS)?;
        let mut encoder = self.gpu.encoder("deposits");
        readback.gather(&mut encoder, deposits, words, 0)?;
        readback.gather(&mut encoder, status, STATUS, words)?;
        let submission = self.gpu.submit(encoder)?;
        let found = readback.read(&self.gpu, &submission, words + STATUS)?;
        if let Some(element) = refused(&found[words..]) {
            let classes = Process::COUNT as u32;
            return Err(Error::Class { element: element as usize, class: classes, classes });
        }
        Ok(Tally {
            deposits: (0..words).step_by(2).map(|at| sum_at(&found, at)).collect(),
            escaped: sum_at(counters, at::ESCAPED),
            abandoned: sum_at(counters, at::ABANDONED),
            processes: std::array::from_fn(|process| sum_at(counters, at::DONE + 2 * process)),
            secondaries: sum_at(counters, at::SECONDARIES),
        })
    }
}
