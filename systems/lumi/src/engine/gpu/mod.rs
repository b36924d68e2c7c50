//! The GPU engine: packs lumi events, uploads them, and runs a kernel for each detector.
//!
//! A batch is counted in parts, several in flight. Only lumi events are sent. The kernels still
//! select lumi events themselves, so that their times can be measured with all events on the device
//! ([`GpuEngine::time`]).

mod cells;
mod decode;
mod shaders;
pub(crate) mod trust;
mod workspace;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{self, BindGroup, Features};
use kernel_host::{Checks, Gpu, GpuOptions, Kernel, KernelDescriptor, KernelSource, Submission, Timer};
use rayon::prelude::*;

use crate::calorimeter::Calorimeter;
use crate::counters::{EventCounters, Scheme, Settings};
use crate::error::{Error, Result};
use crate::event::{EventBatch, MAX_VERTICES, VeloTrack, Vertex};
use crate::fixed::ETA_BOUNDS;
use crate::summary::Schemata;
use cells::{Cells, QUAD};
use decode::{WORDS, decode};
use shaders::Subject;
use workspace::{Elements, Workspace};

/// The number of workgroups in a row of a dispatch.
const ROW: u32 = 32_768;
/// Of calo_exact: the number of events that a workgroup takes at once, and the largest number of
/// workgroups.
const CALO_EVENTS: u32 = 4;
const CALO_GROUPS: u32 = 528;
/// The number of threads of a workgroup that selects events.
const SELECTED_AT_ONCE: u32 = 256;
/// The numbers of workgroups of the float scheme, as in the original: for the calorimeter, for the
/// others.
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

/// Options of the GPU engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuSettings {
    /// The number of threads of a workgroup; each kernel's own if None.
    pub(crate) workgroup_size: Option<u32>,
    pub(crate) checks: Checks,
    /// The largest number of bytes of a column in a part.
    pub(crate) most_column_bytes: u64,
}

/// The largest number of bytes of a part that is counted while another one is packed. Larger parts
/// leave the host's caches before the device copies them.
const PART_BYTES: u64 = 32 << 20;
/// The number of parts in flight while another one is packed.
const IN_FLIGHT: usize = 2;

pub(crate) struct GpuEngine {
    gpu: Gpu,
    settings: Settings,
    most_column_bytes: u64,
    /// The words of a full and of a basic summary.
    words: [u32; 2],
    select: Kernel,
    counters: Vec<Counter>,
    cells: Cells,
    idle: Mutex<Vec<Workspace>>,
}

/// A kernel and the subject that it counts.
struct Counter {
    subject: Subject,
    kernel: Kernel,
}

/// Events of a batch that are on the device together.
#[derive(Clone, Debug)]
struct Part {
    events: Vec<usize>,
    /// The number of lumi events among them.
    lumi: usize,
}

/// A part in flight.
type InFlight = (Workspace, Part, Submission);

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

impl GpuEngine {
    /// Returns the options of the device.
    pub(crate) fn device() -> GpuOptions {
        GpuOptions {
            optional_features: Features::TIMESTAMP_QUERY | Features::MAPPABLE_PRIMARY_BUFFERS,
            ..GpuOptions::default()
        }
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
        let sources: Vec<KernelSource> =
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
            idle: Mutex::default(),
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
        let lumi: Vec<usize> = (0..batch.len()).filter(|&event| batch.headers[event].is_lumi()).collect();
        let mut parts = self.parts(batch, &lumi, PART_BYTES)?.into_iter();
        let mut in_flight: VecDeque<InFlight> = VecDeque::new();
        let mut counted = Vec::with_capacity(lumi.len());
        loop {
            let next = parts.next().map(|part| self.submit(batch, part)).transpose()?;
            let is_last = next.is_none();
            in_flight.extend(next);
            if in_flight.len() <= IN_FLIGHT && !is_last {
                continue;
            }
            let Some(oldest) = in_flight.pop_front() else { return Ok(counted) };
            self.finish(batch, oldest, &mut counted)?;
        }
    }

    /// Packs a part and submits its kernels.
    fn submit(&self, batch: &EventBatch, part: Part) -> Result<InFlight> {
        let mut workspace = self.workspace();
        workspace.pack(&self.gpu, batch, &part.events, part.lumi, self.params(batch, &part))?;
        let groups = self.bind(&workspace)?;
        let words = part.lumi * WORDS;
        workspace.results.reserve(&self.gpu, words + 1)?;
        let mut encoder = self.gpu.encoder("count");
        workspace.encode_upload(&mut encoder)?;
        self.encode(&workspace, &groups, &part, &mut encoder, None)?;
        workspace.results.gather(&mut encoder, &workspace.counters, words, 0)?;
        workspace.results.gather(&mut encoder, &workspace.listed, 1, words)?;
        Ok((workspace, part, self.gpu.submit(encoder)?))
    }

    /// Waits for a part and adds its counters.
    fn finish(
        &self,
        batch: &EventBatch,
        (workspace, part, submission): InFlight,
        counted: &mut Vec<EventCounters>,
    ) -> Result<()> {
        self.gpu.wait(&submission)?;
        let scheme = self.settings.scheme;
        workspace.results.look(&self.gpu, part.lumi * WORDS + 1, |results| {
            debug_assert_eq!(results[part.lumi * WORDS] as usize, part.lumi, "lumi events selected there and here");
            let events = part.events.par_iter().zip(results.par_chunks_exact(WORDS));
            counted.par_extend(events.map(|(&event, words)| decode(scheme, batch, event, words)));
        })?;
        locked(&self.idle).push(workspace);
        Ok(())
    }

    fn workspace(&self) -> Workspace {
        locked(&self.idle).pop().unwrap_or_else(|| Workspace::new(&self.gpu))
    }

    /// Returns each kernel's time in each of `rounds` rounds, with all events of the batch on the
    /// device. None if the device has no clock.
    pub(crate) fn time(&self, batch: &EventBatch, rounds: usize) -> Result<Option<Vec<KernelTime>>> {
        let Some(mut timer) = Timer::new(&self.gpu, 1 + self.counters.len()) else { return Ok(None) };
        let all: Vec<usize> = (0..batch.len()).collect();
        let mut times: Vec<KernelTime> = Vec::new();
        for part in &self.parts(batch, &all, u64::MAX)? {
            let mut workspace = self.workspace();
            workspace.pack(&self.gpu, batch, &part.events, part.lumi, self.params(batch, part))?;
            let groups = self.bind(&workspace)?;
            let mut encoder = self.gpu.encoder("upload");
            workspace.encode_upload(&mut encoder)?;
            self.gpu.wait(&self.gpu.submit(encoder)?)?;
            let seen: Vec<_> = timer.rounds(&self.gpu, rounds, |encoder, timer| {
                self.encode(&workspace, &groups, part, encoder, Some(timer))
            })?;
            locked(&self.idle).push(workspace);
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

    /// Returns the number of dispatches of a counter in a timed pass. The beginning and the end of
    /// a pass take as long as a short kernel, so short kernels are dispatched several times.
    fn timed_dispatches(&self) -> u32 {
        if self.settings.scheme == Scheme::Float { 1 } else { 16 }
    }

    /// Returns the bytes that each kernel reads of a part: headers, and elements of lumi events.
    fn bytes(&self, batch: &EventBatch, part: &Part) -> Vec<u64> {
        let lumi = || part.events.iter().filter(|&&event| batch.headers[event].is_lumi());
        let of = |offsets: &[u32], size: usize| -> u64 {
            lumi().map(|&event| u64::from(offsets[event + 1] - offsets[event]) * size as u64).sum()
        };
        vec![
            16 * part.events.len() as u64,
            part.lumi as u64 * 2 * batch.cells() as u64,
            of(&batch.scifi_hits.offsets, 4),
            of(&batch.velo_clusters.offsets, 4),
            of(&batch.velo_tracks.offsets, size_of::<VeloTrack>()),
            of(&batch.vertices.offsets, size_of::<Vertex>()),
        ]
    }

    /// Divides events into parts. A part has at most `most_bytes`, unless it is a single event, and
    /// no column of it is larger than the device allows.
    fn parts(&self, batch: &EventBatch, events: &[usize], most_bytes: u64) -> Result<Vec<Part>> {
        let bytes = |event: usize| -> [u64; 6] {
            let of = |offsets: &[u32], size: usize| u64::from(offsets[event + 1] - offsets[event]) * size as u64;
            [
                (batch.cells().next_multiple_of(QUAD) * size_of::<i16>()) as u64,
                (WORDS * size_of::<u32>()) as u64,
                of(&batch.scifi_hits.offsets, 4),
                of(&batch.velo_clusters.offsets, 4),
                of(&batch.velo_tracks.offsets, size_of::<VeloTrack>()),
                of(&batch.vertices.offsets, size_of::<Vertex>()),
            ]
        };
        let mut parts: Vec<Part> = Vec::new();
        let mut used = [0; 6];
        for &event in events {
            let own = bytes(event);
            let largest = own.into_iter().fold(0, u64::max);
            if largest > self.most_column_bytes {
                return Err(Error::EventTooLarge { event, bytes: largest });
            }
            let together: [u64; 6] = std::array::from_fn(|column| used[column] + own[column]);
            let fits = together.iter().all(|&bytes| bytes <= self.most_column_bytes)
                && together.iter().sum::<u64>() <= most_bytes;
            let is_lumi = usize::from(batch.headers[event].is_lumi());
            match parts.last_mut().filter(|_| fits) {
                Some(part) => {
                    part.events.push(event);
                    part.lumi += is_lumi;
                    used = together;
                }
                None => {
                    parts.push(Part { events: vec![event], lumi: is_lumi });
                    used = own;
                }
            }
        }
        Ok(parts)
    }

    fn params(&self, batch: &EventBatch, part: &Part) -> Params {
        let bounds = |bounds: [u64; 4]| bounds.map(|bound| [bound as u32, (bound >> 32) as u32]);
        Params {
            events: part.events.len() as u32,
            cells: batch.cells() as u32,
            quads: batch.cells().div_ceil(QUAD) as u32,
            full_words: self.words[0],
            basic_words: self.words[1],
            least_chi2: self.settings.least_chi2.to_bits(),
            chunks: self.cells.chunks,
            unused: 0,
            below: bounds(ETA_BOUNDS.below),
            above: bounds(ETA_BOUNDS.above),
        }
    }

    /// Returns the bind groups of the selection and of each counter.
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
                    let mut own = vec![("digits", workspace.digits.buffer.binding()?)];
                    for (name, buffer) in &self.cells.buffers {
                        own.push((name, buffer.binding()?));
                    }
                    own
                }
                Subject::SciFi => bindings(&workspace.scifi_hits, "elements")?.to_vec(),
                Subject::VeloClusters => bindings(&workspace.velo_clusters, "elements")?.to_vec(),
                Subject::VeloTracks => {
                    [std::slice::from_ref(&headers), &bindings(&workspace.velo_tracks, "tracks")?[..]].concat()
                }
                Subject::Vertices => {
                    [std::slice::from_ref(&headers), &bindings(&workspace.vertices, "vertices")?[..]].concat()
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
                        // SAFETY: `select.wgsl` limits the numbers of workgroups to rows of 32,768.
                        #[expect(unsafe_code, reason = "an earlier kernel counts workgroups")]
                        unsafe {
                            kernel.dispatch_indirect(&mut pass, "count", group, &workspace.dispatches, dispatch)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

const _: () = assert!(MAX_VERTICES == 256, "as in shaders/vertices.wgsl");

/// Returns the bindings of a column: where each event's elements begin, and the elements.
fn bindings<'a, T: Pod>(
    elements: &'a Elements<T>,
    name: &'static str,
) -> Result<[(&'static str, wgpu::BindingResource<'a>); 2]> {
    Ok([("element_offsets", elements.offsets.binding()?), (name, elements.staged.buffer.binding()?)])
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
