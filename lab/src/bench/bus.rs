//! `zfinder-lab bench --bus`: measures the bandwidth of uploads to each GPU, with the upload path
//! of the engine.

use std::io;
use std::num::NonZeroUsize;
use std::time::Instant;

use kernel_host::{Buffer, Error, Gpu, Submission, Upload, UploadPart, wgpu};
use rayon::prelude::*;

use command_host::{Failure, table};
use serde::Serialize;
use zfinder_cli::bench::report::{Adapter, median};
use zfinder_cli::bench::written;

use super::LabBench;

/// Words of an upload: 64 MiB, more than the caches of a processor hold.
const WORDS: usize = 16 << 20;

/// Words that a thread writes at a time from its cache, so that reads do not limit the rate.
const CHUNK: usize = 8 << 10;

/// Uploads in flight, so that writing and copying overlap.
const IN_FLIGHT: usize = 3;

/// Most writing threads, as in the engine.
const MOST_THREADS: usize = 16;

/// The bandwidth of a GPU, as `--json` writes it.
#[derive(Serialize)]
struct Bus {
    #[serde(flatten)]
    adapter: Adapter,
    /// From host to device, in 1e9 bytes/s.
    bus_gb_per_s: f64,
}

impl LabBench {
    /// Measures the bus of each named GPU; without a name, of the hardware GPU.
    pub(super) fn measure_buses(&self) -> Result<(), Failure> {
        let rounds = self.bench.rounds.map_or(if self.bench.quick { 3 } else { 9 }, NonZeroUsize::get);
        let bar = self.bench.bar();
        let mut buses = Vec::new();
        for gpu in self.bench.single_gpus()? {
            bar.set_message(format!("the bus to {}", gpu.name()));
            let bus_gb_per_s = upload_bandwidth(&gpu, rounds).map_err(zfinder::Error::from)?;
            buses.push(Bus { adapter: Adapter::new(&gpu), bus_gb_per_s });
        }
        bar.finish_and_clear();
        if self.bench.json {
            let json = serde_json::to_string_pretty(&buses).map_err(io::Error::from);
            return written(&(json.map_err(|source| Failure::output("standard output", &source))? + "\n"));
        }
        let mut rows = table(["gpu", "name", "backend", "GB/s to\nthe device"], 3);
        for Bus { adapter, bus_gb_per_s } in &buses {
            let index = adapter.index.to_string();
            rows.add_row([index, adapter.name.clone(), adapter.backend.clone(), format!("{bus_gb_per_s:.1}")]);
        }
        written(&format!("{}\n", rows.trim_fmt()))
    }
}

/// Returns the rate in GB/s from the host's threads into a buffer of the device. Several threads
/// write mapped memory in order, and the device copies it. The rate is the median of `rounds`, each
/// of several uploads.
fn upload_bandwidth(gpu: &Gpu, rounds: usize) -> Result<f64, Error> {
    let limits = gpu.limits();
    let most = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size) / 4;
    let words = WORDS.min(usize::try_from(most).unwrap_or(usize::MAX));
    let mut buffer = Buffer::new("bus", wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST);
    buffer.reserve(gpu, words)?;
    let mut uploads: Vec<(Upload<u32>, Option<Submission>)> =
        (0..IN_FLIGHT).map(|_| (Upload::new("bus"), None)).collect();
    let mut seconds = Vec::new();
    // The first round allocates memory, and does not count.
    for round in 0..=rounds.max(1) {
        let start = Instant::now();
        for (upload, under_way) in &mut uploads {
            if let Some(submission) = under_way.take() {
                gpu.wait(&submission)?;
            }
            *under_way = Some(send(gpu, upload, &buffer, words)?);
        }
        for (_, under_way) in &mut uploads {
            if let Some(submission) = under_way.take() {
                gpu.wait(&submission)?;
            }
        }
        if round > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    seconds.sort_by(f64::total_cmp);
    let bytes = (IN_FLIGHT * words * 4) as f64;
    Ok(median(&seconds).map_or(0.0, |seconds| bytes / seconds.max(1e-12) / 1e9))
}

fn send(gpu: &Gpu, upload: &mut Upload<u32>, buffer: &Buffer<u32>, words: usize) -> Result<Submission, Error> {
    let threads = rayon::current_num_threads().min(MOST_THREADS);
    let mut view = upload.map(gpu, words)?;
    let parts = view.parts(std::iter::repeat_n(words.div_ceil(threads), threads));
    parts.into_par_iter().for_each(fill);
    drop(view);
    let mut encoder = gpu.encoder("bus");
    upload.copy_to(&mut encoder, buffer, words)?;
    gpu.submit(encoder)
}

/// Fills the rest of a part.
fn fill(mut part: UploadPart<'_, u32>) {
    let chunk = vec![0x2010_2010; CHUNK];
    while part.write(&chunk) {}
    while part.write(&chunk[..1]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_rate() {
        let gpu = Gpu::noop().expect("wgpu's noop device");
        let rate = upload_bandwidth(&gpu, 1).expect("it uploads");
        assert!(rate.is_finite() && rate > 0.0, "{rate}");
    }
}
