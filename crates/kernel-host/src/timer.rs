//! How long passes take on the device's own clock.

use std::time::Duration;

use crate::buffer::{Buffer, Readback};
use crate::error::Error;
use crate::gpu::Gpu;
use crate::poll::{Instant, Submission};

/// Until a device runs at its full clock.
const WARM_UP: Duration = Duration::from_millis(600);

/// Times compute passes: mark each with [`Timer::pass`], [`Timer::resolve`] at the end of the
/// encoder, and [`Timer::read`] after the submission.
#[derive(Debug)]
pub struct Timer {
    queries: wgpu::QuerySet,
    resolved: Buffer<u64>,
    readback: Readback<u64>,
    /// Nanoseconds of one tick.
    period: f64,
    passes: usize,
    labels: Vec<String>,
}

impl Timer {
    /// A timer for up to `passes` passes of a submission. None if the device was not opened with
    /// `TIMESTAMP_QUERY`, or cannot hold so many.
    #[must_use]
    pub fn new(gpu: &Gpu, passes: usize) -> Option<Self> {
        if !gpu.has(wgpu::Features::TIMESTAMP_QUERY) || passes == 0 {
            return None;
        }
        let stamps = passes.checked_mul(2)?;
        let count = u32::try_from(stamps).ok().filter(|&count| count <= wgpu::QUERY_SET_MAX_QUERIES)?;
        let descriptor = wgpu::QuerySetDescriptor { label: Some("timer"), ty: wgpu::QueryType::Timestamp, count };
        let queries = gpu.catch(|| gpu.device().create_query_set(&descriptor)).ok()?;
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let mut resolved = Buffer::new("timer", usage);
        let mut readback = Readback::new("timer readback");
        resolved.reserve(gpu, stamps).ok()?;
        readback.reserve(gpu, stamps).ok()?;
        Some(Self {
            queries,
            resolved,
            readback,
            period: f64::from(gpu.queue().get_timestamp_period()),
            passes,
            labels: Vec::with_capacity(passes),
        })
    }

    /// Returns the timestamp writes for the descriptor of the next pass; `None` if all passes are
    /// taken.
    pub fn pass(&mut self, label: &str) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        if self.labels.len() >= self.passes {
            return None;
        }
        let first = 2 * self.labels.len() as u32;
        self.labels.push(label.to_owned());
        Some(wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        })
    }

    /// Measures the passes that `encode` encodes, for so many rounds, each in its own submission.
    /// The rounds follow a warm-up of 0.6 s, because an idle device is slow.
    ///
    /// # Errors
    /// The errors of `encode`, [`Gpu::submit`] and [`Timer::read`].
    pub fn rounds<E: From<Error>>(
        &mut self,
        gpu: &Gpu,
        rounds: usize,
        mut encode: impl FnMut(&mut wgpu::CommandEncoder, &mut Self) -> Result<(), E>,
    ) -> Result<Vec<Vec<(String, Duration)>>, E> {
        let mut seen = Vec::new();
        let begun = Instant::now();
        while begun.elapsed() < WARM_UP || seen.len() < rounds {
            if begun.elapsed() < WARM_UP {
                seen.clear();
            }
            let mut encoder = gpu.encoder("timed");
            encode(&mut encoder, self)?;
            self.resolve(&mut encoder)?;
            let submission = gpu.submit(encoder)?;
            seen.push(self.read(gpu, &submission)?);
        }
        Ok(seen)
    }

    /// Encodes the way of the time stamps to the host, after all passes.
    ///
    /// # Errors
    /// None that can be foreseen.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) -> Result<(), Error> {
        let stamps = 2 * self.labels.len();
        if stamps > 0 {
            encoder.resolve_query_set(&self.queries, 0..stamps as u32, self.resolved.raw()?, 0);
            self.readback.copy_from(encoder, &self.resolved, stamps)?;
        }
        Ok(())
    }

    /// Waits for `submission` and returns label and duration of every pass, in order. The timer is
    /// then free for another submission.
    ///
    /// # Errors
    /// As [`Readback::read`].
    pub fn read(&mut self, gpu: &Gpu, submission: &Submission) -> Result<Vec<(String, Duration)>, Error> {
        let labels = std::mem::take(&mut self.labels);
        let stamps = self.readback.read(gpu, submission, 2 * labels.len())?;
        let durations = stamps.chunks_exact(2).map(|pair| {
            // A clock that was reset between the two gives a pass without length, not an enormous
            // one.
            let ticks = pair[1].saturating_sub(pair[0]);
            Duration::from_nanos((ticks as f64 * self.period) as u64)
        });
        Ok(labels.into_iter().zip(durations).collect())
    }
}
