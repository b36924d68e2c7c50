//! The counters on a GPU: lumi events are selected there, and then each detector's kernel counts.

mod shaders;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{self, BindGroup, BufferUsages, Features};
use kernel_host::{Buffer, Checks, Gpu, GpuOptions, Kernel, KernelDescriptor, Readback, Source, Timer};

use crate::calorimeter::{Calorimeter, Tables};
use crate::counters::{
    CALO, CaloSums, EventCounters, SCIFI, Scheme, Settings, VELO_CLUSTERS, VELO_TRACKS, VERTEX_Z, VertexCounters,
};
use crate::error::{Error, Result};
use crate::event::{EventBatch, INVALID_ADC, MAX_VERTICES, VeloTrack, Vertex};
use crate::fixed::ETA_BOUNDS;
use crate::schema::Schemata;
use shaders::Subject;

/// Digits of a quad of words.
const QUAD: usize = 8;
/// As in shaders/types.wgsl.
pub(crate) const WORDS: usize = 160;
const CALO_AT: usize = 0;
const SCIFI_AT: usize = 32;
const VELO_TRACKS_AT: usize = 70;
const VELO_CLUSTERS_AT: usize = 80;
const VERTICES_AT: usize = 140;
const SKIPPED_AT: usize = 155;
const ROW: u32 = 32_768;
/// Threads that take a chunk together, and quads of each; as in shaders/calo_exact.wgsl.
const TOGETHER: usize = 8;
const QUADS: usize = 3;
/// Events that a workgroup takes at once there, and the most workgroups, which take events again and again.
const CALO_EVENTS: u32 = 4;
const CALO_GROUPS: u32 = 528;
/// Threads that select events.
const SELECTED_AT_ONCE: u32 = 256;
/// Workgroups of the scheme of a thread an event, as the original had them: of the calorimeter, of the others.
const FEW: [u32; 2] = [2, 4];

/// As in shaders/types.wgsl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    events: u32,
    cells: u32,
    quads: u32,
    full_words: u32,
    basic_words: u32,
    least_chi2: u32,
    chunks: u32,
    unused: u32,
    below: [[u32; 2]; 4],
    above: [[u32; 2]; 4],
}

/// What of the GPU is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuSettings {
    /// Threads of a workgroup; the kernels' own if not given.
    pub(crate) workgroup_size: Option<u32>,
    pub(crate) checks: Checks,
    /// The most bytes of a column that go to the GPU at once.
    pub(crate) most_column_bytes: u64,
}

pub(crate) struct GpuEngine {
    gpu: Gpu,
    settings: Settings,
    most_column_bytes: u64,
    /// Of a full and of a basic summary.
    words: [u32; 2],
    select: Kernel,
    counters: Vec<Counter>,
    /// Of the calorimeter: what does not depend on events.
    cells: Cells,
    workspace: Mutex<Workspace>,
}

/// A kernel that counts, and what it is about.
struct Counter {
    subject: Subject,
    kernel: Kernel,
}

struct Workspace {
    params: Buffer<Params>,
    headers: Buffer<[u32; 4]>,
    blocks: Buffer<[u32; 2]>,
    offsets: Buffer<u32>,
    indices: Buffer<u32>,
    listed: Buffer<u32>,
    dispatches: Buffer<u32>,
    digits: Buffer<i16>,
    elements: [(Buffer<u32>, Buffer<u32>); 2],
    velo_tracks: (Buffer<u32>, Buffer<VeloTrack>),
    vertices: (Buffer<u32>, Buffer<Vertex>),
    counters: Buffer<u32>,
    results: Readback<u32>,
}

/// Events of a batch that are counted at once, and lumi events among them.
#[derive(Clone, Debug)]
struct Part {
    events: std::ops::Range<usize>,
    lumi: Vec<usize>,
}

/// The time of a kernel on the device's clock, and its input size.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTime {
    /// The kernel: `select`, or the subject that it counts.
    pub kernel: &'static str,
    /// The time of one dispatch in each round. A pass has sixteen dispatches, except for `select`
    /// and [`Scheme::Float`], which have one.
    pub rounds: Vec<Duration>,
    /// The number of input bytes, each counted once.
    pub bytes: u64,
}

impl Workspace {
    fn new() -> Self {
        let device = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let words = |label: &str| Buffer::new(label, device);
        Self {
            params: Buffer::new("params", BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            headers: Buffer::new("headers", device),
            blocks: Buffer::new("sums of blocks", device),
            offsets: words("summary offsets"),
            indices: words("indices of lumi events"),
            listed: words("lumi events"),
            dispatches: Buffer::new("dispatches", device | BufferUsages::INDIRECT),
            digits: Buffer::new("digits", device),
            elements: ["hits", "clusters"].map(|label| (words("offsets"), words(label))),
            velo_tracks: (words("offsets"), Buffer::new("tracks", device)),
            vertices: (words("offsets"), Buffer::new("vertices", device)),
            counters: words("counters"),
            results: Readback::new("counters read back"),
        }
    }
}

impl GpuEngine {
    /// What is asked of a device.
    pub(crate) fn device() -> GpuOptions {
        GpuOptions { optional_features: Features::TIMESTAMP_QUERY, ..GpuOptions::default() }
    }

    pub(crate) fn new(
        gpu: Gpu,
        calorimeter: &Calorimeter,
        schemata: &Schemata,
        settings: Settings,
        options: GpuSettings,
    ) -> Result<Self> {
        let size = options.workgroup_size.map(|size| ("WORKGROUP_SIZE", f64::from(size)));
        let select = [("CALO_EVENTS", f64::from(CALO_EVENTS)), ("CALO_GROUPS", f64::from(CALO_GROUPS))];
        let sources: Vec<Source> =
            Subject::ALL.iter().map(|&subject| shaders::counter(subject, settings.scheme)).collect();
        let selecting = shaders::select();
        let mut orders = vec![KernelDescriptor {
            source: &selecting,
            entry_points: &["sum_blocks", "scan_blocks", "place_events"],
            constants: &select,
            checks: options.checks,
        }];
        orders.extend(sources.iter().map(|source| KernelDescriptor {
            source,
            entry_points: &[],
            constants: size.as_slice(),
            checks: options.checks,
        }));
        let mut kernels = Kernel::build_all(&gpu, &orders)?.into_iter();
        let select = kernels.next().expect("build_all gives a kernel for each descriptor");
        let counters =
            Subject::ALL.into_iter().zip(kernels).map(|(subject, kernel)| Counter { subject, kernel }).collect();
        let cells = Cells::new(&gpu, calorimeter.tables(), settings.scheme)?;
        Ok(Self {
            most_column_bytes: options.most_column_bytes.min(gpu.limits().max_storage_buffer_binding_size),
            gpu,
            settings,
            words: [schemata.full_words() as u32, schemata.basic_words() as u32],
            select,
            counters,
            cells,
            workspace: Mutex::new(Workspace::new()),
        })
    }

    pub(crate) fn description(&self) -> String {
        let adapter = self.gpu.summary();
        format!("GPU, {} ({}, {})", adapter.name, adapter.kind, adapter.backend)
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn count(&self, batch: &EventBatch) -> Result<Vec<EventCounters>> {
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counted = Vec::new();
        for part in self.parts(batch)? {
            counted.extend(self.count_part(&mut workspace, batch, &part)?);
        }
        Ok(counted)
    }

    /// Each kernel's time, `rounds` times over, with the batch on the device already. None if the device has no clock.
    pub(crate) fn time(&self, batch: &EventBatch, rounds: usize) -> Result<Option<Vec<KernelTime>>> {
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = self.parts(batch)?;
        let Some(mut timer) = Timer::new(&self.gpu, 1 + self.counters.len()) else { return Ok(None) };
        let mut times: Vec<KernelTime> = Vec::new();
        for part in &parts {
            self.upload(&mut workspace, batch, part)?;
            let groups = self.bind(&workspace)?;
            let seen: Vec<_> = timer.rounds(&self.gpu, rounds, |encoder, timer| {
                self.encode(&workspace, &groups, part, encoder, Some(timer))
            })?;
            let names = std::iter::once("select").chain(self.counters.iter().map(|counter| counter.subject.name()));
            let bytes = self.bytes(batch, part);
            for (place, (kernel, bytes)) in names.zip(bytes).enumerate() {
                let dispatches = if place == 0 { 1 } else { self.timed_dispatches() };
                let rounds = seen.iter().filter_map(|round| Some(round.get(place)?.1 / dispatches));
                let rounds: Vec<Duration> = rounds.collect();
                match times.get_mut(place) {
                    None => times.push(KernelTime { kernel, rounds, bytes }),
                    Some(time) => {
                        time.bytes += bytes;
                        time.rounds.iter_mut().zip(rounds).for_each(|(sum, more)| *sum += more);
                    }
                }
            }
        }
        Ok(Some(times))
    }

    /// Dispatches of a counter in a pass that is timed, one after the other: what begins and ends a pass is as long as a short
    /// kernel. The old way takes milliseconds.
    fn timed_dispatches(&self) -> u32 {
        if self.settings.scheme == Scheme::Float { 1 } else { 16 }
    }

    /// What each kernel has to read of a part: of lumi events, and of headers.
    fn bytes(&self, batch: &EventBatch, part: &Part) -> Vec<u64> {
        let of = |offsets: &[u32], size: usize| -> u64 {
            part.lumi.iter().map(|&event| u64::from(offsets[event + 1] - offsets[event]) * size as u64).sum()
        };
        vec![
            16 * part.events.len() as u64,
            part.lumi.len() as u64 * 2 * batch.cells() as u64,
            of(&batch.scifi_hits.offsets, 4),
            of(&batch.velo_clusters.offsets, 4),
            of(&batch.velo_tracks.offsets, size_of::<VeloTrack>()),
            of(&batch.vertices.offsets, size_of::<Vertex>()),
        ]
    }

    /// As many events each as fit.
    fn parts(&self, batch: &EventBatch) -> Result<Vec<Part>> {
        let mut parts: Vec<Part> = Vec::new();
        let bytes = |first: usize, end: usize| {
            let of = |offsets: &[u32], size: usize| u64::from(offsets[end] - offsets[first]) * size as u64;
            let digits = (end - first) * batch.cells().div_ceil(QUAD) * QUAD * 2;
            [
                digits as u64,
                (end - first) as u64 * 4 * WORDS as u64,
                of(&batch.scifi_hits.offsets, 4),
                of(&batch.velo_clusters.offsets, 4),
                of(&batch.velo_tracks.offsets, size_of::<VeloTrack>()),
                of(&batch.vertices.offsets, size_of::<Vertex>()),
            ]
            .into_iter()
            .fold(0, u64::max)
        };
        let mut first = 0;
        while first < batch.len() {
            // Doubling and then halving steps find the last event that still fits.
            let mut end = first;
            let mut step = 1;
            while step > 0 {
                if end + step <= batch.len() && bytes(first, end + step) <= self.most_column_bytes {
                    end += step;
                    step *= 2;
                } else {
                    step /= 2;
                }
            }
            if end == first {
                return Err(Error::EventTooLarge { event: first, bytes: bytes(first, first + 1) });
            }
            let lumi = (first..end).filter(|&event| batch.headers[event].is_lumi()).collect();
            parts.push(Part { events: first..end, lumi });
            first = end;
        }
        Ok(parts)
    }

    fn count_part(&self, workspace: &mut Workspace, batch: &EventBatch, part: &Part) -> Result<Vec<EventCounters>> {
        self.upload(workspace, batch, part)?;
        let groups = self.bind(workspace)?;
        let words = part.lumi.len() * WORDS;
        workspace.results.reserve(&self.gpu, words + 1)?;
        let mut encoder = self.gpu.encoder("count");
        self.encode(workspace, &groups, part, &mut encoder, None)?;
        workspace.results.gather(&mut encoder, &workspace.counters, words, 0)?;
        workspace.results.gather(&mut encoder, &workspace.listed, 1, words)?;
        let submission = self.gpu.submit(encoder)?;
        let results = workspace.results.read(&self.gpu, &submission, words + 1)?;
        debug_assert_eq!(results[words] as usize, part.lumi.len(), "lumi events selected there and here");
        let events = part.lumi.iter().zip(results.chunks_exact(WORDS));
        Ok(events.map(|(&event, words)| self.decode(batch, event, words)).collect())
    }

    fn upload(&self, workspace: &mut Workspace, batch: &EventBatch, part: &Part) -> Result<()> {
        let gpu = &self.gpu;
        let events = part.events.clone();
        let bounds = |bounds: [u64; 4]| bounds.map(|bound| [bound as u32, (bound >> 32) as u32]);
        let params = Params {
            events: events.len() as u32,
            cells: batch.cells() as u32,
            quads: batch.cells().div_ceil(QUAD) as u32,
            full_words: self.words[0],
            basic_words: self.words[1],
            least_chi2: self.settings.least_chi2.to_bits(),
            chunks: self.cells.chunks,
            unused: 0,
            below: bounds(ETA_BOUNDS.below),
            above: bounds(ETA_BOUNDS.above),
        };
        workspace.params.write(gpu, &[params])?;
        let headers: Vec<[u32; 4]> = batch.headers[events.clone()]
            .iter()
            .map(|header| [header.flags(), header.event_id as u32, (header.event_id >> 32) as u32, 0])
            .collect();
        workspace.headers.write(gpu, &headers)?;
        workspace.blocks.reserve(gpu, events.len() / SELECTED_AT_ONCE as usize + 1)?;
        workspace.offsets.reserve(gpu, events.len() + 1)?;
        workspace.indices.reserve(gpu, events.len() + 1)?;
        workspace.listed.reserve(gpu, events.len() + 1)?;
        workspace.dispatches.reserve(gpu, 6)?;
        workspace.counters.reserve(gpu, part.lumi.len() * WORDS)?;
        let cells = batch.cells();
        let digits = &batch.adc[events.start * cells..events.end * cells];
        if cells.is_multiple_of(QUAD) {
            workspace.digits.write(gpu, digits)?;
        } else {
            let row = cells.div_ceil(QUAD) * QUAD;
            let mut padded = vec![INVALID_ADC; events.len() * row];
            for (row, digits) in padded.chunks_exact_mut(row).zip(digits.chunks_exact(cells)) {
                row[..cells].copy_from_slice(digits);
            }
            workspace.digits.write(gpu, &padded)?;
        }
        let within = |offsets: &[u32]| -> (Vec<u32>, std::ops::Range<usize>) {
            let (first, end) = (offsets[events.start], offsets[events.end]);
            let own = offsets[events.start..=events.end].iter().map(|offset| offset - first).collect();
            (own, first as usize..end as usize)
        };
        let [hits, clusters] = &mut workspace.elements;
        let (offsets, range) = within(&batch.scifi_hits.offsets);
        hits.0.write(gpu, &offsets)?;
        hits.1.write(gpu, bytemuck::cast_slice(&batch.scifi_hits.elements[range]))?;
        let (offsets, range) = within(&batch.velo_clusters.offsets);
        clusters.0.write(gpu, &offsets)?;
        clusters.1.write(gpu, bytemuck::cast_slice(&batch.velo_clusters.elements[range]))?;
        let (offsets, range) = within(&batch.velo_tracks.offsets);
        workspace.velo_tracks.0.write(gpu, &offsets)?;
        workspace.velo_tracks.1.write(gpu, &batch.velo_tracks.elements[range])?;
        let (offsets, range) = within(&batch.vertices.offsets);
        workspace.vertices.0.write(gpu, &offsets)?;
        workspace.vertices.1.write(gpu, &batch.vertices.elements[range])?;
        Ok(())
    }

    /// Of select, and of each counter.
    fn bind(&self, workspace: &Workspace) -> Result<Vec<BindGroup>> {
        let params = ("params", workspace.params.binding()?);
        let headers = ("headers", workspace.headers.binding()?);
        let counters = ("counters", workspace.counters.binding()?);
        let events = if self.settings.scheme == Scheme::Exact {
            ("listed", workspace.listed.binding()?)
        } else {
            ("indices", workspace.indices.binding()?)
        };
        let mut groups = vec![self.select.bind_group(
            &self.gpu,
            &[
                params.clone(),
                headers.clone(),
                ("blocks", workspace.blocks.binding()?),
                ("offsets", workspace.offsets.binding()?),
                ("indices", workspace.indices.binding()?),
                ("listed", workspace.listed.binding()?),
                ("dispatches", workspace.dispatches.binding()?),
            ],
        )?];
        for Counter { subject, kernel } in &self.counters {
            let own = match subject {
                Subject::Calo => {
                    let mut own = vec![("digits", workspace.digits.binding()?)];
                    for (name, buffer) in &self.cells.buffers {
                        own.push((name, buffer.binding()?));
                    }
                    own
                }
                Subject::SciFi | Subject::VeloClusters => {
                    let (offsets, elements) = &workspace.elements[usize::from(*subject == Subject::VeloClusters)];
                    vec![("element_offsets", offsets.binding()?), ("elements", elements.binding()?)]
                }
                Subject::VeloTracks => {
                    let (offsets, tracks) = &workspace.velo_tracks;
                    vec![headers.clone(), ("element_offsets", offsets.binding()?), ("tracks", tracks.binding()?)]
                }
                Subject::Vertices => {
                    let (offsets, vertices) = &workspace.vertices;
                    vec![headers.clone(), ("element_offsets", offsets.binding()?), ("vertices", vertices.binding()?)]
                }
            };
            let all = [vec![params.clone(), events.clone(), counters.clone()], own].concat();
            groups.push(kernel.bind_group(&self.gpu, &all)?);
        }
        Ok(groups)
    }

    fn encode(
        &self,
        workspace: &Workspace,
        groups: &[BindGroup],
        part: &Part,
        encoder: &mut wgpu::CommandEncoder,
        mut timer: Option<&mut Timer>,
    ) -> Result<()> {
        let events = part.events.len() as u32;
        let rows = |workgroups: u32| [workgroups.min(ROW), workgroups.div_ceil(ROW), 1];
        {
            let timestamp_writes = timer.as_mut().and_then(|timer| timer.pass("select"));
            let descriptor = wgpu::ComputePassDescriptor { label: Some("select"), timestamp_writes };
            let mut pass = encoder.begin_compute_pass(&descriptor);
            let blocks = rows(events / SELECTED_AT_ONCE + 1);
            self.select.dispatch(&mut pass, "sum_blocks", &groups[0], blocks)?;
            self.select.dispatch(&mut pass, "scan_blocks", &groups[0], [1, 1, 1])?;
            self.select.dispatch(&mut pass, "place_events", &groups[0], blocks)?;
        }
        let dispatches = if timer.is_some() { self.timed_dispatches() } else { 1 };
        for (Counter { subject, kernel }, group) in self.counters.iter().zip(&groups[1..]) {
            let timestamp_writes = timer.as_mut().and_then(|timer| timer.pass(subject.name()));
            let descriptor = wgpu::ComputePassDescriptor { label: Some(subject.name()), timestamp_writes };
            let mut pass = encoder.begin_compute_pass(&descriptor);
            let calo = *subject == Subject::Calo;
            for _ in 0..dispatches {
                match self.settings.scheme {
                    Scheme::Float if *subject != Subject::Vertices => {
                        kernel.dispatch(&mut pass, "count", group, [FEW[usize::from(!calo)], 1, 1])?;
                    }
                    Scheme::Float | Scheme::Fixed => kernel.dispatch(&mut pass, "count", group, rows(events))?,
                    Scheme::Exact => {
                        let dispatch = if calo { 3 } else { 0 };
                        kernel.dispatch_indirect(&mut pass, "count", group, &workspace.dispatches, dispatch)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn decode(&self, batch: &EventBatch, event: usize, words: &[u32]) -> EventCounters {
        let array = |from: usize| move |i: usize| words[from + i];
        let float = |at: usize| f32::from_bits(words[at]);
        let long =
            |from: usize| move |i: usize| u64::from(words[from + 2 * i]) | u64::from(words[from + 2 * i + 1]) << 32;
        let calo = match self.settings.scheme {
            Scheme::Float => CaloSums::Float(std::array::from_fn(|i| float(CALO_AT + i))),
            Scheme::Fixed => CaloSums::Fixed {
                positive: std::array::from_fn(long(CALO_AT)),
                negative: std::array::from_fn(long(CALO_AT + 2 * CALO)),
            },
            Scheme::Exact => CaloSums::Exact(std::array::from_fn(|i| long(CALO_AT)(i) as i64)),
        };
        let header = &batch.headers[event];
        EventCounters {
            event,
            event_id: header.event_id,
            calo,
            scifi: std::array::from_fn::<_, SCIFI, _>(array(SCIFI_AT)),
            velo_clusters: std::array::from_fn::<_, VELO_CLUSTERS, _>(array(VELO_CLUSTERS_AT)),
            velo_tracks: header.reconstructed.then(|| std::array::from_fn::<_, VELO_TRACKS, _>(array(VELO_TRACKS_AT))),
            vertices: header.reconstructed.then(|| VertexCounters {
                vertices: words[VERTICES_AT],
                fiducial: words[VERTICES_AT + 1],
                position: std::array::from_fn(|i| float(VERTICES_AT + 2 + i)),
                z: std::array::from_fn::<_, VERTEX_Z, _>(|i| float(VERTICES_AT + 5 + i)),
            }),
            skipped: std::array::from_fn(array(SKIPPED_AT)),
        }
    }
}

const _: () = assert!(MAX_VERTICES == 256, "as in shaders/vertices.wgsl");

/// Of each cell: gain, sine, pedestal, area.
fn gains(tables: &Tables) -> Vec<u32> {
    let cell = |i: usize| {
        let pedestal = i32::from(tables.pedestal[i]) as u32;
        [tables.gain[i].to_bits(), tables.sin_theta[i].to_bits(), pedestal, tables.area[i].into()]
    };
    (0..tables.gain.len()).flat_map(cell).collect()
}

/// Quads that lie side by side and their cells of an area: as many as threads take together. A quad with cells of several areas
/// is in a chunk of each.
struct Chunk {
    first: usize,
    quads: usize,
    area: u8,
}

/// Pedestals as digits are taken.
fn biased(pedestal: i16) -> u16 {
    pedestal.wrapping_sub(INVALID_ADC) as u16
}

impl Chunk {
    /// The cell of a byte of a four of a thread's quad.
    fn cell(&self, tables: &Tables, thread: usize, quad: usize, four: usize, byte: usize) -> Option<usize> {
        let quad = thread + quad * TOGETHER;
        // As bytes of two words side by side come to lie.
        let i = (self.first + quad) * QUAD + four * 4 + [0, 2, 1, 3][byte];
        (quad < self.quads && tables.area.get(i) == Some(&self.area)).then_some(i)
    }

    fn words(&self) -> [u32; 2] {
        [self.first as u32, self.area.into()]
    }

    /// Quads in words of four cells; of each four words, the threads.
    fn quads(&self, tables: &Tables) -> Vec<[u32; 4]> {
        let word = |thread: usize, quad: usize, four: usize, byte: &dyn Fn(usize) -> u8| {
            u32::from_le_bytes(std::array::from_fn(|place| {
                self.cell(tables, thread, quad, four, place).map_or(0, byte)
            }))
        };
        let words = |thread: usize, quad: usize| -> Vec<u32> {
            let mut words = Vec::new();
            for weights in [&tables.energy_weight, &tables.et_weight] {
                for (four, shift) in [(0, 0), (0, 8), (0, 16), (1, 0), (1, 8), (1, 16)] {
                    words.push(word(thread, quad, four, &|i| (weights[i] >> shift) as u8));
                }
            }
            for (shift, four) in [(0, 0), (0, 1), (8, 0), (8, 1)] {
                words.push(word(thread, quad, four, &|i| (biased(tables.pedestal[i]) >> shift) as u8));
            }
            words
        };
        let mut all = vec![[0; 4]; QUADS * 4 * TOGETHER];
        for (thread, quad) in (0..TOGETHER).flat_map(|thread| (0..QUADS).map(move |quad| (thread, quad))) {
            for (vector, four) in words(thread, quad).chunks_exact(4).enumerate() {
                all[(quad * 4 + vector) * TOGETHER + thread].copy_from_slice(four);
            }
        }
        all
    }

    /// Of each thread: whether there are cells, fours in turn as bits of bytes.
    fn there(&self, tables: &Tables) -> Vec<u32> {
        let of = |thread: usize| {
            let places = (0..QUADS * 2).flat_map(|four| (0..4).map(move |byte| (four, byte)));
            let bits = places.filter(|&(four, byte)| self.cell(tables, thread, four / 2, four % 2, byte).is_some());
            bits.fold(0, |all, (four, byte)| all | 1 << (8 * byte + four))
        };
        (0..TOGETHER).map(of).collect()
    }
}

/// What the calorimeter's kernel reads of cells, by its names there.
struct Cells {
    /// Of the exact scheme.
    chunks: u32,
    buffers: Vec<(&'static str, Buffer<u32>)>,
}

impl Cells {
    fn new(gpu: &Gpu, tables: &Tables, scheme: Scheme) -> Result<Self> {
        let (chunks, columns) = if scheme == Scheme::Exact {
            let chunks = chunks(tables);
            let columns = vec![
                ("chunks", chunks.iter().flat_map(Chunk::words).collect()),
                ("quads", chunks.iter().flat_map(|chunk| chunk.quads(tables)).flatten().collect()),
                ("there", chunks.iter().flat_map(|chunk| chunk.there(tables)).collect()),
                ("pedestals", pedestals(tables)),
            ];
            (chunks.len() as u32, columns)
        } else {
            (0, vec![("cells", gains(tables))])
        };
        let mut buffers = Vec::new();
        for (name, words) in columns {
            let words: Vec<u32> = words;
            let mut buffer = Buffer::new(name, BufferUsages::STORAGE | BufferUsages::COPY_DST);
            buffer.write(gpu, &words)?;
            buffers.push((name, buffer));
        }
        Ok(Self { chunks, buffers })
    }
}

/// Biased pedestals times weights: of areas, and for energy.
fn pedestals(tables: &Tables) -> Vec<u32> {
    let mut sums = [0; 7];
    for (i, &area) in tables.area.iter().enumerate() {
        let pedestal = u64::from(biased(tables.pedestal[i]));
        sums[usize::from(area)] += tables.et_weight[i] as u64 * pedestal;
        sums[6] += tables.energy_weight[i] as u64 * pedestal;
    }
    sums.iter().flat_map(|sum: &u64| [*sum as u32, (sum >> 32) as u32]).collect()
}

fn chunks(tables: &Tables) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for area in 0..6 {
        // Of this area the last one stays open.
        let mut open = None;
        for (quad, areas) in tables.area.chunks(QUAD).enumerate() {
            if !areas.contains(&area) {
                open = None;
                continue;
            }
            match open.and_then(|at: usize| chunks.get_mut(at)).filter(|chunk| chunk.quads < TOGETHER * QUADS) {
                Some(chunk) => chunk.quads += 1,
                None => {
                    open = Some(chunks.len());
                    chunks.push(Chunk { first: quad, quads: 1, area });
                }
            }
        }
    }
    chunks
}
