//! The search for chains of hits on a device, a part of a batch at a time. An event that has no
//! room, or that would keep the device busy for too long, is left to the host.

mod hits;
pub(crate) mod kernels;
mod records;
#[cfg(test)]
mod tests;
mod workspace;

use std::sync::{Mutex, PoisonError};

use kernel_host::wgpu::{self, BufferUsages};
use kernel_host::{Buffer, Checks, Gpu, Kernel, Pool, Pooled, Reserved, Submission, Timer, Waiting};

use self::hits::Densities;
pub(crate) use self::hits::PackedHits;
use self::kernels::Kernels;
use self::records::{Constants, Counts, Event, KeptChain, Layer};
use self::workspace::{SearchBuffers, Workspace};
use crate::detector::MAX_LAYERS;
use crate::engine::gpu::capacity::is_out_of_memory;
use crate::engine::gpu::shaders::Rounding;
use crate::engine::plan::Search;
use crate::engine::tracklets::roi_hits::RoiHits;
use crate::engine::tracklets::search::{SCATTERING_GEV, TrackletSearch};
use crate::engine::tracklets::z_ranges::ZRanges;
use crate::error::Result;
use crate::tracklet::TrackletHits;

/// Rounds of the choice among chains that all threads of a device take. Few chains are left then.
const ROUNDS: usize = 4;

/// The search for chains on one device, in f32.
pub(crate) struct GpuTracklets {
    gpu: Gpu,
    kernels: Kernels,
    buffers: SearchBuffers,
    /// The number among pixel layers of each layer; 0 for others.
    pixel_layers: Vec<u32>,
    layer_count: usize,
    densities: Densities,
    workspaces: Pool<Workspace>,
    /// Parts that are done, with their memory.
    parts: Mutex<Vec<PackedHits>>,
    /// Of any buffer.
    most_bytes: usize,
}

/// A part that the device works on.
pub(crate) struct InFlight {
    workspace: Pooled<Workspace>,
    submission: Submission,
    part: PackedHits,
}

/// Result of submitting a part.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(crate) enum Submitted {
    InFlight(InFlight),
    /// There is no memory before another part of the caller gives its back.
    Later,
    /// There is no memory for it by itself.
    TooLarge,
}

/// Kept chains of an event, whose hits are numbers of the RoI's spacepoints.
#[derive(Debug, Default)]
pub(crate) struct FoundChains(Vec<KeptChain>);

impl FoundChains {
    /// Returns the hits of the chains, the best chain first.
    pub(crate) fn sorted(mut self) -> Vec<TrackletHits> {
        self.0.sort_unstable_by_key(KeptChain::key);
        self.0.iter().map(|chain| chain.present_hits().collect()).collect()
    }
}

impl GpuTracklets {
    pub(super) fn new(gpu: Gpu, search: &Search, rounding: Rounding, checks: Checks, most_bytes: u64) -> Result<Self> {
        let tracklets = TrackletSearch::new(&search.config, &search.detector);
        let mut layer_count = 0;
        let number = |is_pixel: bool| {
            layer_count += u32::from(is_pixel);
            is_pixel.then(|| layer_count - 1)
        };
        let pixel_layers: Vec<Option<u32>> = tracklets.layers.iter().map(Option::is_some).map(number).collect();
        let mut neighbours = Vec::new();
        let mut layers = Vec::new();
        for layer in tracklets.layers.iter().flatten() {
            let first = neighbours.len() as u32;
            let numbers = |of: &[u32]| of.iter().filter_map(|&layer| pixel_layers[layer as usize]).collect::<Vec<_>>();
            let (inner, outer) = (numbers(&layer.inner), numbers(&layer.outer));
            layers.push(Layer {
                resolution: layer.resolution as f32,
                thickness: layer.thickness as f32,
                first,
                inner: inner.len() as u32,
                outer: outer.len() as u32,
                ..Layer::default()
            });
            neighbours.extend(inner.into_iter().chain(outer));
        }
        layers.resize(MAX_LAYERS, Layer::default());
        let width = search.config.beam_width_mm;
        let constants = Constants {
            max_kappa: tracklets.max_kappa() as f32,
            by_gev_mm: (1.0 / tracklets.gev_mm()) as f32,
            scattering2: (SCATTERING_GEV * SCATTERING_GEV) as f32,
            width2: (width * width) as f32,
            layers: layer_count,
        };
        let uniform = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let mut buffers = SearchBuffers {
            constants: Buffer::new("constants of tracklets", uniform),
            layers: Buffer::new("pixel layers", uniform),
            neighbours: Buffer::new("neighbours of pixel layers", BufferUsages::STORAGE | BufferUsages::COPY_DST),
        };
        buffers.constants.write(&gpu, &[constants])?;
        buffers.layers.write(&gpu, &layers)?;
        neighbours.push(0);
        buffers.neighbours.write(&gpu, &neighbours)?;
        Ok(Self {
            kernels: Kernels::build(&gpu, rounding, checks)?,
            gpu,
            buffers,
            pixel_layers: pixel_layers.into_iter().map(Option::unwrap_or_default).collect(),
            layer_count: layer_count as usize,
            densities: Densities::default(),
            workspaces: Pool::default(),
            parts: Mutex::default(),
            most_bytes: usize::try_from(most_bytes).unwrap_or(usize::MAX),
        })
    }

    /// Returns a part without events.
    pub(crate) fn new_part(&self) -> PackedHits {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Packs an event behind those of a part. Returns whether the part has room for it.
    pub(crate) fn pack(&self, part: &mut PackedHits, hits: &RoiHits<'_>, z_ranges: &ZRanges) -> bool {
        let first = part.hits.len();
        part.push(hits, &self.pixel_layers, z_ranges);
        let needs = self.densities.needs(part.hits.len() - first, self.layer_count);
        if part.events.len() > 1 && part.needs.and(needs).most_bytes() > self.most_bytes {
            part.pop();
            return false;
        }
        part.give_room(needs);
        true
    }

    /// Lets the device begin with a part.
    pub(crate) async fn submit(&self, part: PackedHits, waiting: Waiting, has_another: bool) -> Result<Submitted> {
        let most_groups = self.gpu.limits().max_compute_workgroups_per_dimension;
        if part.events.is_empty()
            || part.needs.most_bytes() > self.most_bytes
            || self.steps(&part).iter().any(|(_, _, grid)| grid.iter().any(|&groups| groups > most_groups))
        {
            return Ok(Submitted::TooLarge);
        }
        let new = || Workspace::new(&self.gpu);
        let fill = |workspace: &mut Workspace| workspace.fill(&self.gpu, &part);
        let mut workspace = match self.workspaces.reserve(waiting, has_another, new, fill, is_out_of_memory).await? {
            Reserved::Ready(workspace, ()) => workspace,
            Reserved::Later => return Ok(Submitted::Later),
            Reserved::Full(_) => return Ok(Submitted::TooLarge),
        };
        let mut encoder = self.gpu.encoder("tracklets");
        self.encode(&mut encoder, &mut workspace, &part, None)?;
        let submission = self.gpu.submit(encoder)?;
        Ok(Submitted::InFlight(InFlight { workspace, submission, part }))
    }

    /// The steps: in one pass, or to be timed, each in its own.
    fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        workspace: &mut Workspace,
        part: &PackedHits,
        mut timer: Option<&mut Timer>,
    ) -> Result<()> {
        workspace.begin(encoder, part)?;
        let steps = self.steps(part);
        for steps in steps.chunks(if timer.is_some() { 1 } else { steps.len() }) {
            let timestamp_writes = timer.as_mut().and_then(|timer| timer.pass(steps[0].1));
            let descriptor = wgpu::ComputePassDescriptor { label: Some("tracklets"), timestamp_writes };
            let pass = &mut encoder.begin_compute_pass(&descriptor);
            for &(kernel, entry_point, [x, y]) in steps {
                workspace.dispatch(&self.gpu, pass, &self.buffers, (kernel, entry_point), [x, y, 1])?;
            }
        }
        workspace.end(encoder, part)
    }

    /// Returns the seconds an event that each step takes by the device's own clock.
    #[cfg(any(test, feature = "internals"))]
    pub(crate) fn time(&self, part: &PackedHits, rounds: usize) -> Result<Vec<(String, f64)>> {
        let Some(mut timer) = Timer::new(&self.gpu, self.steps(part).len()) else { return Ok(Vec::new()) };
        let mut workspace = self.workspaces.take(|| Workspace::new(&self.gpu));
        let rounds = timer.rounds(&self.gpu, rounds, |encoder, timer| {
            workspace.fill(&self.gpu, part)?;
            self.encode(encoder, &mut workspace, part, Some(timer))
        })?;
        let events = part.events.len().max(1) as f64;
        let last = rounds.into_iter().next_back().unwrap_or_default();
        let mut steps: Vec<(String, f64)> = Vec::new();
        for (name, time) in last {
            let seconds = time.as_secs_f64() / events;
            match steps.iter_mut().find(|(other, _)| *other == name) {
                Some((_, sum)) => *sum += seconds,
                None => steps.push((name, seconds)),
            }
        }
        Ok(steps)
    }

    /// Kernels and entry points in order, with their numbers of workgroups.
    fn steps(&self, part: &PackedHits) -> Vec<(&Kernel, &'static str, [u32; 2])> {
        let kernels = &self.kernels;
        let events = part.events.len() as u32;
        let most = |count: fn(&Event) -> u32| part.events.iter().map(count).max().unwrap_or(0).max(1);
        let each = |kernel: &'_ Kernel, entry_point, count: u32| {
            [count.div_ceil(kernel.workgroup_size(entry_point)[0]), events]
        };
        let (hits, doublets) = (most(|event| event.hit_count), most(|event| event.doublet_capacity));
        let triplets = most(|event| event.triplet_capacity);
        let mut steps = vec![
            (&kernels.sort_hits, "count_hits", each(&kernels.sort_hits, "count_hits", hits)),
            (&kernels.sort_hits, "scan_cells", [events, 1]),
            (&kernels.sort_hits, "place_hits", each(&kernels.sort_hits, "place_hits", hits)),
            (&kernels.find_doublets, "find_doublets", each(&kernels.find_doublets, "find_doublets", hits)),
            (&kernels.find_triplets, "find_triplets", each(&kernels.find_triplets, "find_triplets", doublets)),
            (&kernels.build_chains, "build_chains", each(&kernels.build_chains, "build_chains", triplets)),
        ];
        for round in 0..ROUNDS {
            // Nothing is to be dropped before the first one.
            let names = &["drop_chains", "bid_for_hits", "own_hits", "keep_chains"][usize::from(round == 0)..];
            let choose = &kernels.choose_chains;
            steps.extend(names.iter().map(|name| (choose, *name, each(choose, name, triplets))));
        }
        steps.push((&kernels.choose_chains, "choose_rest", [events, 1]));
        steps
    }

    /// Waits for a part. Returns the chains of each of its events; none for an event that the host
    /// has to search.
    pub(crate) async fn collect(&self, in_flight: InFlight, waiting: Waiting) -> Result<Vec<Option<FoundChains>>> {
        let InFlight { workspace, submission, mut part } = in_flight;
        let len = part.events.len() + part.needs.kept;
        let chains = match waiting {
            Waiting::Blocking => {
                self.gpu.wait(&submission)?;
                workspace.results.look(&self.gpu, len, |words| self.decode(&part, words))?
            }
            Waiting::Async => self.decode(&part, &workspace.results.read_async(&self.gpu, &submission, len).await?),
        };
        workspace.give_back();
        part.clear();
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
        Ok(chains)
    }

    fn decode(&self, part: &PackedHits, words: &[KeptChain]) -> Vec<Option<FoundChains>> {
        let (counts, kept) = words.split_at(part.events.len());
        let counts: &[Counts] = bytemuck::cast_slice(counts);
        let decode = |(event, counts): (&Event, &Counts)| {
            let hits = event.hit_count as usize;
            self.densities.learn(hits, counts);
            if !counts.are_valid(event) {
                return None;
            }
            let mut chains = kept[event.kept_first as usize..][..counts.kept as usize].to_vec();
            let numbers = &part.numbers[event.hit_first as usize..][..hits];
            chains.iter_mut().for_each(|chain| chain.renumber(numbers));
            Some(FoundChains(chains))
        };
        part.events.iter().zip(counts).map(decode).collect()
    }
}
