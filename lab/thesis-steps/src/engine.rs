//! Runs one step on one adapter.

use std::time::{Duration, Instant};

use kernel_host::{AdapterKind, Checks, Gpu, Kernel, KernelDescriptor, KernelSource, Submission, Timer, wgpu};

use crate::batch::SlicedBatch;
use crate::error::Result;
use crate::sources;
use crate::step::{Grid, Histogram, Input, Memory, Search, Step, Sums};
use crate::workspace::{Encoded, Layout, Workspace};

// SAFETY: indices are clamped where they come from arithmetic, and all loops end.
#[expect(unsafe_code, reason = "the crate vouches for its shaders, and nothing else can")]
const TRUSTED: Checks = unsafe { Checks::trusted() };

/// Workgroups in one dimension that every adapter allows.
const MOST_GROUPS: u32 = 65_535;

/// Idle hardware runs slowly for about this long.
const WARM_UP: Duration = Duration::from_millis(300);

/// The kernels and buffers of one [`Step`], for batches no larger in bins and in spacepoints of a
/// slice than the one that it was made for.
pub struct StepEngine {
    gpu: Gpu,
    step: Step,
    find_z: Kernel,
    /// None if the CPU sums.
    sum_histos: Option<Kernel>,
    row_words: u32,
    workspaces: Vec<Workspace>,
}

/// Times of a step, in seconds a batch, round by round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepTimes {
    /// `find_z`, on the device's clock; empty where it has none.
    pub find_z: Vec<f64>,
    /// All stages of `sum_histos`, on the device's clock.
    pub sum_histos: Vec<f64>,
    /// From spacepoints in host memory to sums in host memory, on the host's clock.
    pub with_copies: Vec<f64>,
    /// Bytes that `find_z` has to read and write at least: the spacepoints of each slice and of its
    /// neighbours, and its rows.
    pub find_z_bytes: u64,
    /// Bytes that `sum_histos` reads and writes.
    pub sum_histos_bytes: u64,
    /// Bytes that are uploaded.
    pub upload_bytes: u64,
}

impl StepEngine {
    /// Builds the kernels of a step.
    ///
    /// # Errors
    /// A kernel that the adapter cannot run: f64 without `SHADER_F64`, or more workgroup memory
    /// than it has.
    pub fn new(gpu: &Gpu, step: Step, largest: &SlicedBatch) -> Result<Self> {
        let bins = largest.most_bins();
        let listed = (0..largest.rows.len()).map(|row| largest.read_by(row)).max().unwrap_or(1).max(1);
        let row_words = step.row_words(bins);
        let threads = ("WORKGROUP_SIZE", f64::from(step.group_threads));
        let mut constants = vec![threads];
        if step.memory == Memory::Workgroup {
            constants.push(("BINS", f64::from(bins)));
        }
        if step.has_list() {
            constants.push(("LISTED", listed as f64));
        }
        if step.search == Search::Triplets {
            let config = step.search.config();
            constants.extend([
                ("MOST_DZ", config.triplet_dz_mm),
                ("MOST_DK", config.triplet_dk),
                ("MOST_DP", config.triplet_dp),
            ]);
        }
        let build = |source: &KernelSource, entry_point: &str, constants: &[(&str, f64)]| {
            let entry_points = &[entry_point];
            Kernel::build(gpu, &KernelDescriptor { source, entry_points, constants, checks: TRUSTED })
        };
        let find_z = build(&sources::find_z(&step), "find_z", &constants)?;
        let mut constants = vec![threads, ("GRID", if step.grid == Grid::Linear { 0.0 } else { 1.0 })];
        if step.sums == Sums::Workgroup {
            constants.push(("BINS", f64::from(row_words)));
        }
        let sum_histos =
            sources::sum_histos(&step).map(|source| build(&source, "sum_histos", &constants)).transpose()?;
        let workspaces = (0..step.in_flight.max(1)).map(|_| Workspace::new()).collect();
        Ok(Self { gpu: gpu.clone(), step, find_z, sum_histos, row_words, workspaces })
    }

    /// Returns the bytes of the largest buffer that a batch needs in any step.
    #[must_use]
    pub fn largest_buffer(batch: &SlicedBatch) -> u64 {
        8 * batch.rows.len() as u64 * u64::from(batch.most_bins().next_multiple_of(32))
    }

    /// Returns the histograms of each RoI.
    ///
    /// # Errors
    /// A device that is full or lost.
    pub fn find(&mut self, batch: &SlicedBatch) -> Result<Vec<Histogram>> {
        let (encoded, layout) = self.prepared(batch);
        self.workspaces[0].upload(&self.gpu, &encoded, &layout)?;
        let submission = self.submit(0, &layout)?;
        let words = self.read(0, batch, &layout, &submission)?;
        Ok(batch.rois.iter().enumerate().map(|(i, roi)| histogram(&words, i, &layout, roi.bins)).collect())
    }

    /// Returns the histograms of each slice, as `find_z` leaves them.
    ///
    /// # Errors
    /// As [`StepEngine::find`].
    pub fn find_rows(&mut self, batch: &SlicedBatch) -> Result<Vec<Histogram>> {
        let (encoded, layout) = self.prepared(batch);
        self.workspaces[0].upload(&self.gpu, &encoded, &layout)?;
        let submission = self.submit(0, &layout)?;
        self.gpu.wait(&submission)?;
        let mut readback = kernel_host::Readback::new("histograms, read back");
        let words = layout.words(layout.rows);
        readback.reserve(&self.gpu, words)?;
        let mut encoder = self.gpu.encoder("read back");
        readback.copy_from(&mut encoder, &self.workspaces[0].histograms, words)?;
        let submission = self.gpu.submit(encoder)?;
        let words = readback.read(&self.gpu, &submission, words)?;
        let bins = |[roi, _]: [u32; 2]| batch.rois[roi as usize].bins;
        Ok(batch.rows.iter().enumerate().map(|(i, &row)| histogram(&words, i, &layout, bins(row))).collect())
    }

    /// Measures a batch, which is sent `batches` times in each round. `sort` makes the batch; with
    /// [`Input::Unsorted`] it is called for each one that is sent.
    ///
    /// # Errors
    /// As [`StepEngine::find`], and those of `sort`.
    pub fn time(&mut self, sort: &dyn Fn() -> Result<SlicedBatch>, rounds: usize, batches: usize) -> Result<StepTimes> {
        let batch = &sort()?;
        let (encoded, layout) = self.prepared(batch);
        let sums = layout.words(layout.rows) + layout.words(layout.rois);
        let partial: usize = (0..layout.groups.len()).map(|stage| 2 * layout.partial_words(stage)).sum();
        let read: usize = (0..batch.rows.len()).map(|row| batch.read_by(row)).sum();
        let point = 4 * encoded.points.len().checked_div(batch.points.len()).unwrap_or(0);
        let mut times = StepTimes {
            find_z_bytes: (read * point + 4 * layout.words(layout.rows)) as u64,
            sum_histos_bytes: 4 * (sums + partial) as u64,
            upload_bytes: encoded.bytes() as u64,
            ..StepTimes::default()
        };
        let start = Instant::now();
        while self.gpu.summary().kind != AdapterKind::Software && start.elapsed() < WARM_UP {
            self.round(sort, batch, 1)?;
        }
        self.workspaces[0].upload(&self.gpu, &encoded, &layout)?;
        if let Some(mut timer) = Timer::new(&self.gpu, 1 + Step::MOST_STAGES) {
            for _ in 0..rounds {
                let mut encoder = self.gpu.encoder("timed");
                self.encode(0, &layout, &mut encoder, Some(&mut timer))?;
                timer.resolve(&mut encoder)?;
                let submission = self.gpu.submit(encoder)?;
                let passes = timer.read(&self.gpu, &submission)?;
                let sum = |name: &str| {
                    let of_name = passes.iter().filter(|(label, _)| label == name);
                    of_name.map(|(_, duration)| duration.as_secs_f64()).sum::<f64>()
                };
                times.find_z.push(sum("find_z"));
                times.sum_histos.push(sum("sum_histos"));
            }
        }
        for _ in 0..rounds {
            times.with_copies.push(self.round(sort, batch, batches.max(1))?);
        }
        Ok(times)
    }

    /// Sends a batch this many times, with the step's number in flight; returns the seconds of one.
    fn round(&mut self, sort: &dyn Fn() -> Result<SlicedBatch>, batch: &SlicedBatch, batches: usize) -> Result<f64> {
        let (encoded, layout) = self.prepared(batch);
        let mut pending: Vec<Option<Submission>> = self.workspaces.iter().map(|_| None).collect();
        let start = Instant::now();
        for i in 0..batches {
            let place = i % pending.len();
            if let Some(submission) = pending[place].take() {
                self.read(place, batch, &layout, &submission)?;
            }
            match self.step.input {
                Input::Sorted => self.workspaces[place].upload(&self.gpu, &encoded, &layout)?,
                Input::Unsorted => {
                    let sorted = Encoded::new(&sort()?, &self.step);
                    self.workspaces[place].upload(&self.gpu, &sorted, &layout)?;
                }
            }
            pending[place] = Some(self.submit(place, &layout)?);
        }
        for i in 0..pending.len() {
            let place = (batches + i) % pending.len();
            if let Some(submission) = pending[place].take() {
                self.read(place, batch, &layout, &submission)?;
            }
        }
        Ok(start.elapsed().as_secs_f64() / batches as f64)
    }

    fn prepared(&self, batch: &SlicedBatch) -> (Encoded, Layout) {
        (Encoded::new(batch, &self.step), Layout::new(batch, &self.step, self.row_words))
    }

    fn submit(&mut self, place: usize, layout: &Layout) -> Result<Submission> {
        let mut encoder = self.gpu.encoder(self.step.name);
        self.encode(place, layout, &mut encoder, None)?;
        let Workspace { histograms, sums, readback, .. } = &self.workspaces[place];
        let read = if self.step.sums == Sums::Cpu { histograms } else { sums };
        readback.copy_from(&mut encoder, read, layout.words(layout.rows_read))?;
        Ok(self.gpu.submit(encoder)?)
    }

    /// Returns the sums of each RoI.
    fn read(&self, place: usize, batch: &SlicedBatch, layout: &Layout, submission: &Submission) -> Result<Vec<u32>> {
        self.gpu.wait(submission)?;
        let then = |words: &[u32]| match self.step.sums {
            Sums::Cpu => summed(words, batch, layout),
            _ => words.to_vec(),
        };
        Ok(self.workspaces[place].readback.look(&self.gpu, layout.words(layout.rows_read), then)?)
    }

    fn encode(
        &mut self,
        place: usize,
        layout: &Layout,
        encoder: &mut wgpu::CommandEncoder,
        mut timer: Option<&mut Timer>,
    ) -> Result<()> {
        let gpu = &self.gpu;
        let Workspace {
            params,
            points,
            azimuths,
            cells,
            rois,
            rows,
            histograms,
            partial,
            sums,
            group,
            stage_groups,
            ..
        } = &mut self.workspaces[place];
        let mut bindings = vec![
            ("params", params[0].binding()?),
            ("rois", rois.binding()?),
            ("rows", rows.binding()?),
            ("points", points.binding()?),
            ("cells", cells.binding()?),
            ("histograms", histograms.binding()?),
        ];
        if self.step.search == Search::Triplets {
            bindings.push(("azimuths", azimuths.binding()?));
        }
        let group = self.find_z.bind_group_in(gpu, group, &bindings)?;
        {
            let mut pass = pass(encoder, "find_z", timer.as_deref_mut());
            let grid = [layout.rows.clamp(1, MOST_GROUPS), layout.rows.div_ceil(MOST_GROUPS).max(1), 1];
            self.find_z.dispatch(&mut pass, "find_z", group, grid)?;
        }
        let Some(sum_histos) = &self.sum_histos else { return Ok(()) };
        if self.step.sums_words() {
            encoder.clear_buffer(sums.raw()?, 0, None);
        }
        for (stage, &groups) in layout.groups.iter().enumerate() {
            let from = if stage == 0 { &*histograms } else { &partial[(stage - 1) % 2] };
            let to = if stage + 1 == layout.groups.len() { &*sums } else { &partial[stage % 2] };
            let group = sum_histos.bind_group_in(
                gpu,
                &mut stage_groups[stage],
                &[
                    ("params", params[stage].binding()?),
                    ("rois", rois.binding()?),
                    ("histograms", from.binding()?),
                    ("summed", to.binding()?),
                ],
            )?;
            let mut pass = pass(encoder, "sum_histos", timer.as_deref_mut());
            let grid = match self.step.grid {
                Grid::Linear => [layout.rois.saturating_mul(groups * layout.blocks), 1, 1],
                Grid::Blocks => [groups, layout.blocks, layout.rois],
            };
            sum_histos.dispatch(&mut pass, "sum_histos", group, grid)?;
        }
        Ok(())
    }
}

/// Sums the histograms of each RoI's slices.
fn summed(words: &[u32], batch: &SlicedBatch, layout: &Layout) -> Vec<u32> {
    let row = layout.row_words as usize;
    let mut sums = vec![0u32; layout.words(layout.rois)];
    for (roi, sum) in batch.rois.iter().zip(sums.chunks_exact_mut(2 * row)) {
        let (n, z) = sum.split_at_mut(row);
        let first = 2 * row * roi.first_row as usize;
        for slice in words[first..first + 2 * row * roi.slices as usize].chunks_exact(2 * row) {
            // Words beyond the bins of a padded row hold anything.
            n.iter_mut().zip(&slice[..row]).for_each(|(sum, &n)| *sum = sum.wrapping_add(n));
            for (sum, &z) in z.iter_mut().zip(&slice[row..]) {
                *sum = (f32::from_bits(*sum) + f32::from_bits(z)).to_bits();
            }
        }
    }
    sums
}

fn pass<'a>(encoder: &'a mut wgpu::CommandEncoder, label: &str, timer: Option<&mut Timer>) -> wgpu::ComputePass<'a> {
    let timestamp_writes = timer.and_then(|timer| timer.pass(label));
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some(label), timestamp_writes })
}

/// The histograms of row `number`.
fn histogram(words: &[u32], number: usize, layout: &Layout, bins: u32) -> Histogram {
    let row = layout.row_words as usize;
    let (first, bins) = (2 * number * row, bins as usize);
    let z = &words[first + row..first + row + bins];
    Histogram { n: words[first..first + bins].to_vec(), z: z.iter().map(|&z| f32::from_bits(z)).collect() }
}
