//! Bandwidth of memory, the limit with which kernels are compared.

use crate::buffer::{Buffer, Readback};
use crate::built::{Checks, Kernel, KernelDescriptor};
use crate::error::Error;
use crate::gpu::Gpu;
use crate::poll::Instant;
use crate::source::KernelSource;
use crate::timer::Timer;
use crate::upload::Upload;

const READ_ALL: &str = "
    @group(0) @binding(0) var<storage, read> words: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> sums: array<u32>;
    @compute @workgroup_size(256)
    fn read_all(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
        var sum = vec4<u32>();
        let step = groups.x * 256u;
        let end = arrayLength(&words);
        var i = id.x;
        // Four loads at a time keep the memory busy.
        while i + 3u * step < end {
            let a = words[i];
            let b = words[i + step];
            let c = words[i + 2u * step];
            let d = words[i + 3u * step];
            sum += (a ^ b) + (c ^ d);
            i += 4u * step;
        }
        while i < end {
            sum += words[i];
            i += step;
        }
        if any(sum != vec4<u32>()) {
            sums[0] = sum.x ^ sum.y ^ sum.z ^ sum.w;
        }
    }";

// SAFETY: `i` stays below the length of `words`, `sums` has a word, and the loop ends because `i`
// grows.
#[expect(unsafe_code, reason = "bounds checks would be measured, too")]
const TRUSTED: Checks = unsafe { Checks::trusted() };

/// Workgroups that read.
const WORKGROUPS: u32 = 4096;
const ROUNDS: usize = 12;
/// Dispatches of a pass. Several dispatches hide the overhead of the pass.
const DISPATCHES: usize = 16;

/// Returns the bytes a second of a kernel that only reads `bytes` of the device's memory: the
/// fastest of twelve rounds, each of sixteen dispatches in a pass. None if the device has no clock.
/// If `bytes` fit into a cache, the result is the bandwidth of the cache.
///
/// # Errors
/// As [`Kernel::build`] and [`Buffer::reserve`].
pub fn read_bandwidth(gpu: &Gpu, bytes: u64) -> Result<Option<f64>, Error> {
    let Some(mut timer) = Timer::new(gpu, ROUNDS) else { return Ok(None) };
    let source = KernelSource::new("read_all").piece("read_all.wgsl", READ_ALL);
    let kernel = Kernel::build(
        gpu,
        &KernelDescriptor { source: &source, entry_points: &["read_all"], constants: &[], checks: TRUSTED },
    )?;
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    let (mut words, mut sums) = (Buffer::<[u32; 4]>::new("words to read", usage), Buffer::<u32>::new("sums", usage));
    words.reserve(gpu, usize::try_from(bytes / 16).unwrap_or(usize::MAX))?;
    sums.reserve(gpu, 1)?;
    let group = kernel.bind_group(gpu, &[("words", words.binding()?), ("sums", sums.binding()?)])?;
    let mut encoder = gpu.encoder("read_all");
    for _ in 0..ROUNDS {
        let timestamp_writes = timer.pass("read_all");
        let descriptor = wgpu::ComputePassDescriptor { label: Some("read_all"), timestamp_writes };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        for _ in 0..DISPATCHES {
            kernel.dispatch(&mut pass, "read_all", &group, [WORKGROUPS, 1, 1])?;
        }
    }
    timer.resolve(&mut encoder)?;
    let submission = gpu.submit(encoder)?;
    let rounds = timer.read(gpu, &submission)?;
    let fastest = rounds.iter().map(|(_, duration)| duration.as_secs_f64()).fold(f64::INFINITY, f64::min);
    Ok((fastest > 0.0 && fastest.is_finite()).then(|| (DISPATCHES as u64 * words.len_bytes()) as f64 / fastest))
}

/// Bandwidth of the bus for copies by the device, in bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusBandwidth {
    /// From the host's memory to the device.
    pub to_device: f64,
    /// From the device to the host's memory.
    pub to_host: f64,
}

/// Bytes of a copy, and copies of a round.
const COPIED: usize = 32 << 20;
const COPIES: usize = 8;

/// Measures the bandwidth of the bus: the fastest of twelve rounds of copies of staged memory
/// ([`Upload::cached`]), on the host's clock, on an idle device.
///
/// # Errors
/// As [`Upload::map`] and [`Buffer::reserve`].
pub fn bus_bandwidth(gpu: &Gpu) -> Result<BusBandwidth, Error> {
    let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let mut there = Buffer::<u32>::new("bus", usage);
    let mut staged = Upload::<u32>::new("bus, staged").cached(gpu);
    let mut back = Readback::<u32>::new("bus, read back");
    let words = COPIED / 4;
    there.reserve(gpu, words)?;
    back.reserve(gpu, words)?;
    // The system does not copy memory that was never written.
    let written = staged.map(gpu, words)?.parts([words]).iter_mut().all(|part| part.write(&vec![0x2010_2010; words]));
    debug_assert!(written, "there is room");
    staged.unmap();
    let mut fastest = [f64::INFINITY; 2];
    for round in 0..ROUNDS * 2 {
        let way = round % 2;
        let mut encoder = gpu.encoder("bus");
        for _ in 0..COPIES {
            if way == 0 {
                staged.copy_to(&mut encoder, &there, words)?;
            } else {
                back.copy_from(&mut encoder, &there, words)?;
            }
        }
        let start = Instant::now();
        gpu.wait(&gpu.submit(encoder)?)?;
        fastest[way] = fastest[way].min(start.elapsed().as_secs_f64().max(1e-9));
    }
    let rate = |seconds: f64| (COPIED * COPIES) as f64 / seconds;
    Ok(BusBandwidth { to_device: rate(fastest[0]), to_host: rate(fastest[1]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_has_a_rate() {
        let gpu = Gpu::noop().expect("wgpu's noop device");
        let bus = bus_bandwidth(&gpu).expect("it copies");
        assert!(bus.to_device.is_finite() && bus.to_device > 0.0 && bus.to_host > 0.0, "{bus:?}");
    }
}
