//! Runs one step on one adapter.

use std::time::{Duration, Instant};

use kernel_host::{AdapterKind, Checks, Gpu, Kernel, KernelDescriptor, Submission, Timer, wgpu};

use crate::batch::SlicedBatch;
use crate::error::Result;
use crate::sources;
use crate::step::{Grid, Histogram, Memory, Stages, Step, Threads};
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
    sum_histos: Kernel,
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
    /// From sorted spacepoints in host memory to sums in host memory, on the host's clock.
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
        let mut constants = vec![("WORKGROUP_SIZE", f64::from(Step::FIND_Z_THREADS))];
        if step.memory == Memory::Workgroup {
            constants.push(("BINS", f64::from(bins)));
        }
        if step.has_list() {
            constants.push(("LISTED", listed as f64));
        }
        let grid = if step.grid == Grid::Linear { 0.0 } else { 1.0 };
        let (find_z, sum_histos) = (sources::find_z(&step), sources::sum_histos(&step));
        let kernels = Kernel::build_all(
            gpu,
            &[
                KernelDescriptor { source: &find_z, entry_points: &["find_z"], constants: &constants, checks: TRUSTED },
                KernelDescriptor {
                    source: &sum_histos,
                    entry_points: &["sum_histos"],
                    constants: &[("WORKGROUP_SIZE", f64::from(Step::SUM_THREADS)), ("GRID", grid)],
                    checks: TRUSTED,
                },
            ],
        )?;
        let [find_z, sum_histos] = <[Kernel; 2]>::try_from(kernels)
            .map_err(|_| kernel_host::Error::Validation { message: "two kernels were asked for".into() })?;
        let workspaces = (0..step.in_flight.max(1)).map(|_| Workspace::new()).collect();
        Ok(Self { gpu: gpu.clone(), step, find_z, sum_histos, row_words: step.row_words(bins), workspaces })
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
        let words = self.read(0, &layout, &submission)?;
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

    /// Measures a batch, which is sent `batches` times in each round.
    ///
    /// # Errors
    /// As [`StepEngine::find`].
    pub fn time(&mut self, batch: &SlicedBatch, rounds: usize, batches: usize) -> Result<StepTimes> {
        let (encoded, layout) = self.prepared(batch);
        let sums = layout.words(layout.rows) + layout.words(layout.rois);
        let partial = if self.step.stages == Stages::Two { 2 * layout.words(layout.rois * layout.groups) } else { 0 };
        let read: usize = (0..batch.rows.len()).map(|row| batch.read_by(row)).sum();
        let point = 4 * encoded.points.len().checked_div(batch.points.len()).unwrap_or(0);
        let mut times = StepTimes {
            find_z_bytes: (read * point + 4 * layout.words(layout.rows)) as u64,
            sum_histos_bytes: 4 * (sums + partial) as u64,
            upload_bytes: encoded.bytes() as u64,
            ..StepTimes::default()
        };
        let start = Instant::now();
        let is_hardware = self.gpu.summary().kind != AdapterKind::Software;
        while times.with_copies.is_empty() || (is_hardware && start.elapsed() < WARM_UP) {
            times.with_copies = vec![self.round(&encoded, &layout, 1)?];
        }
        times.with_copies.clear();
        if let Some(mut timer) = Timer::new(&self.gpu, 3) {
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
            times.with_copies.push(self.round(&encoded, &layout, batches.max(1))?);
        }
        Ok(times)
    }

    /// Sends a batch this many times, with the step's number in flight; returns the seconds of one.
    fn round(&mut self, encoded: &Encoded, layout: &Layout, batches: usize) -> Result<f64> {
        let mut pending: Vec<Option<Submission>> = self.workspaces.iter().map(|_| None).collect();
        let start = Instant::now();
        for i in 0..batches {
            let place = i % pending.len();
            if let Some(submission) = pending[place].take() {
                self.read(place, layout, &submission)?;
            }
            self.workspaces[place].upload(&self.gpu, encoded, layout)?;
            pending[place] = Some(self.submit(place, layout)?);
        }
        for i in 0..pending.len() {
            let place = (batches + i) % pending.len();
            if let Some(submission) = pending[place].take() {
                self.read(place, layout, &submission)?;
            }
        }
        Ok(start.elapsed().as_secs_f64() / batches as f64)
    }

    fn prepared(&self, batch: &SlicedBatch) -> (Encoded, Layout) {
        (Encoded::new(batch, self.step.precision), Layout::new(batch, &self.step, self.row_words))
    }

    fn submit(&mut self, place: usize, layout: &Layout) -> Result<Submission> {
        let mut encoder = self.gpu.encoder(self.step.name);
        self.encode(place, layout, &mut encoder, None)?;
        let Workspace { sums, readback, .. } = &self.workspaces[place];
        readback.copy_from(&mut encoder, sums, layout.words(layout.rois))?;
        Ok(self.gpu.submit(encoder)?)
    }

    fn read(&self, place: usize, layout: &Layout, submission: &Submission) -> Result<Vec<u32>> {
        Ok(self.workspaces[place].readback.read(&self.gpu, submission, layout.words(layout.rois))?)
    }

    fn encode(
        &mut self,
        place: usize,
        layout: &Layout,
        encoder: &mut wgpu::CommandEncoder,
        mut timer: Option<&mut Timer>,
    ) -> Result<()> {
        let gpu = &self.gpu;
        let Workspace { params, points, cells, rois, rows, histograms, partial, sums, groups, .. } =
            &mut self.workspaces[place];
        let [slot, first_slot, second_slot] = groups;
        let is_single = self.step.stages == Stages::One;
        let group = self.find_z.bind_group_in(
            gpu,
            slot,
            &[
                ("params", params[0].binding()?),
                ("rois", rois.binding()?),
                ("rows", rows.binding()?),
                ("points", points.binding()?),
                ("cells", cells.binding()?),
                ("histograms", histograms.binding()?),
            ],
        )?;
        let workgroups = match self.step.threads {
            Threads::Slice => layout.rows.div_ceil(Step::FIND_Z_THREADS),
            _ => layout.rows,
        };
        {
            let mut pass = pass(encoder, "find_z", timer.as_deref_mut());
            let grid = [workgroups.clamp(1, MOST_GROUPS), workgroups.div_ceil(MOST_GROUPS).max(1), 1];
            self.find_z.dispatch(&mut pass, "find_z", group, grid)?;
        }
        let stages = [
            (&params[0], &*histograms, if is_single { &*sums } else { &*partial }, layout.groups, first_slot),
            (&params[1], &*partial, &*sums, 1, second_slot),
        ];
        for (params, from, to, groups, slot) in stages.into_iter().take(if is_single { 1 } else { 2 }) {
            let group = self.sum_histos.bind_group_in(
                gpu,
                slot,
                &[
                    ("params", params.binding()?),
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
            self.sum_histos.dispatch(&mut pass, "sum_histos", group, grid)?;
        }
        Ok(())
    }
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
