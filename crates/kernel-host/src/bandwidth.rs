//! What memory gives: the limit that kernels are held against.

use crate::buffer::Buffer;
use crate::error::Error;
use crate::gpu::Gpu;
use crate::kernel::{Checks, Kernel, KernelDescriptor};
use crate::source::Source;
use crate::timer::Timer;

const READ_ALL: &str = "
    @group(0) @binding(0) var<storage, read> words: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> sums: array<u32>;
    @compute @workgroup_size(256)
    fn read_all(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
        var sum = vec4<u32>();
        let step = groups.x * 256u;
        let end = arrayLength(&words);
        var i = id.x;
        // Four at a time, for memory to have enough to do.
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

/// Workgroups that read.
const WORKGROUPS: u32 = 4096;
const ROUNDS: usize = 12;

/// Bytes a second of a kernel that reads `bytes` of the device's memory and does nothing else: the fastest of twelve rounds.
/// None if the device has no clock. Of less than its caches hold, it is their bandwidth.
///
/// # Errors
/// As [`Kernel::build`] and [`Buffer::reserve`].
pub fn read_bandwidth(gpu: &Gpu, bytes: u64) -> Result<Option<f64>, Error> {
    let Some(mut timer) = Timer::new(gpu, ROUNDS) else { return Ok(None) };
    let source = Source::new("read_all").piece("read_all.wgsl", READ_ALL);
    let kernel = Kernel::build(
        gpu,
        &KernelDescriptor { source: &source, entry_points: &["read_all"], constants: &[], checks: Checks::Trusted },
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
        kernel.dispatch(&mut pass, "read_all", &group, [WORKGROUPS, 1, 1])?;
    }
    timer.resolve(&mut encoder)?;
    let submission = gpu.submit(encoder)?;
    let rounds = timer.read(gpu, &submission)?;
    let fastest = rounds.iter().map(|(_, duration)| duration.as_secs_f64()).fold(f64::INFINITY, f64::min);
    Ok((fastest > 0.0 && fastest.is_finite()).then(|| words.len_bytes() as f64 / fastest))
}
