//! Learns how a device rounds, with `shaders/shared/probe_rounding.wgsl`. WGSL asks for quotients
//! and square roots only to a few units in the last place; the CPU engine, and so its twin, has all
//! of them.

use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use kernel_host::{Buffer, Gpu, Kernel, KernelDescriptor, KernelSource, Readback, wgpu};

use crate::engine::gpu::shaders::{Rounding, probe_rounding};
use crate::engine::gpu::trust::TRUSTED;
use crate::engine::real::Real;
use crate::error::Result;
use crate::options::Precision;

const ENTRY_POINT: &str = "probe_rounding";

/// A device that takes short cuts has one quotient in ten wrong.
const OPERANDS: u64 = 2048;

/// Vendor, device, driver and backend, which determine how a device rounds.
type Make = (u32, u32, String, String);

/// Probe results of this process.
static LEARNT: Mutex<Vec<(Make, Precision, Rounding)>> = Mutex::new(Vec::new());

/// Returns the corrections that make a device round as the CPU engine does.
pub(crate) async fn choose_rounding<R: Real>(gpu: &Gpu, precision: Precision) -> Result<Rounding> {
    let adapter = gpu.summary();
    let make: Make = (adapter.vendor, adapter.device, adapter.driver.clone(), adapter.backend.clone());
    let learnt = || LEARNT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = learnt().iter().find(|(m, p, _)| *m == make && *p == precision).map(|&(_, _, rounding)| rounding);
    if let Some(rounding) = known {
        return Ok(rounding);
    }
    let operands = operands::<R>(0, OPERANDS);
    let mut found = Rounding::Native;
    for rounding in [Rounding::Native, Rounding::Corrected] {
        if count_wrong(&operands, &run_probe(gpu, &probe_rounding(precision), &[rounding.constant()], &operands).await?)
            == [0; 2]
        {
            found = rounding;
            break;
        }
    }
    tracing::debug!(adapter = %adapter.name, ?precision, rounding = ?found, "how the device rounds");
    learnt().push((make, precision, found));
    Ok(found)
}

/// Numerators of either sign and divisors as tracks have them, any digits.
fn operands<R: Real>(first: u64, count: u64) -> Vec<[R; 2]> {
    let number = |i: u64, powers: u64, top: i32| {
        // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
        let mut word = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        let digits = 1.0 + (word >> 11) as f64 / (1_u64 << 53) as f64;
        let sign = if word & 1 == 0 { 1.0 } else { -1.0 };
        R::from_f64(sign * digits * f64::from(top - ((word >> 1) % powers) as i32).exp2())
    };
    (first..first + count).map(|i| [number(2 * i + 1, 16, 4), number(2 * i + 2, 24, 0)]).collect()
}

/// Runs the probe: quotients and square roots of the operands, as the device rounds them.
async fn run_probe<R: Real, T: Pod>(
    gpu: &Gpu,
    source: &KernelSource,
    constants: &[(&str, f64)],
    operands: &[[R; 2]],
) -> Result<Vec<[T; 2]>> {
    let (entry_points, checks) = (&[ENTRY_POINT][..], TRUSTED);
    let kernel = Kernel::build(gpu, &KernelDescriptor { source, entry_points, constants, checks })?;
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let mut given = Buffer::<[R; 2]>::new("operands", usage);
    given.write(gpu, operands)?;
    let mut made = Buffer::<[T; 2]>::new("rounded", usage);
    made.reserve(gpu, operands.len())?;
    let mut back = Readback::<[T; 2]>::new("rounded back");
    back.reserve(gpu, operands.len())?;
    let group = kernel.bind_group(gpu, &[("operands", given.binding()?), ("rounded", made.binding()?)])?;
    let mut encoder = gpu.encoder(ENTRY_POINT);
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        let groups = operands.len().div_ceil(kernel.workgroup_size(ENTRY_POINT)[0] as usize);
        kernel.dispatch(&mut pass, ENTRY_POINT, &group, [groups as u32, 1, 1])?;
    }
    back.copy_from(&mut encoder, &made, operands.len())?;
    let submission = gpu.submit(encoder)?;
    Ok(back.read_async(gpu, &submission, operands.len()).await?)
}

/// How many operands have a quotient, and how many a root, other than the CPU's.
fn count_wrong<R: Real>(operands: &[[R; 2]], rounded: &[[R; 2]]) -> [usize; 2] {
    // A root in f64 that is rounded to f32 is the root in f32.
    let root_of = |x: R| R::from_f64(x.abs().to_f64().sqrt());
    operands.iter().zip(rounded).fold([0; 2], |[quotients, roots], (&[a, b], &[quotient, root])| {
        [quotients + usize::from(quotient != a / b), roots + usize::from(root != root_of(b))]
    })
}

#[cfg(test)]
#[allow(clippy::print_stderr)] // // prints rates of hardware
mod tests {
    use std::f64::consts::FRAC_PI_2;
    use std::time::Duration;

    use kernel_host::{AdapterChoice, GpuOptions};

    use super::*;
    use crate::engine::cpu::lanes::Lanes;
    use crate::engine::gpu::shaders::real;
    use kernel_host::testing::on_adapters;

    fn gpu(index: usize, precision: Precision) -> Gpu {
        let required_features = super::super::GpuEngine::required_features(precision);
        Gpu::new(&GpuOptions { adapter: AdapterChoice::Index(index), required_features, ..GpuOptions::default() })
            .expect("a device")
    }

    fn check<R: Real>(gpu: &Gpu, precision: Precision, count: u64) {
        let first = OPERANDS;
        let mut left = count;
        let mut all = [[0; 2]; 2];
        while left > 0 {
            let next = left.min(1 << 20);
            let operands = operands::<R>(first + (count - left), next);
            for (rounding, all) in [Rounding::Native, Rounding::Corrected].into_iter().zip(&mut all) {
                let source = probe_rounding(precision);
                let [quotients, roots] = count_wrong(
                    &operands,
                    &pollster::block_on(run_probe(gpu, &source, &[rounding.constant()], &operands)).expect("an answer"),
                );
                *all = [all[0] + quotients, all[1] + roots];
            }
            left -= next;
        }
        let learnt = pollster::block_on(choose_rounding::<R>(gpu, precision)).expect("an answer");
        let [native, corrected] = all;
        eprintln!(
            "{} {precision:?}: {learnt:?}; of {count}, wrong quotients and roots natively {native:?}, corrected {corrected:?}",
            gpu.name()
        );
        match learnt {
            Rounding::Native if corrected == [0; 2] => assert_eq!(native, [0; 2]),
            // Nothing helps there.
            Rounding::Native => assert!(native == [0; 2] || corrected != [0; 2]),
            Rounding::Corrected => {
                assert!(native != [0; 2] && corrected.iter().all(|&wrong| wrong <= (count >> 20) as usize), "{all:?}");
            }
        }
    }

    fn check_all(count: u64) {
        for adapter in on_adapters() {
            check::<f32>(&gpu(adapter.index, Precision::F32), Precision::F32, count);
            if adapter.shader_f64 {
                check::<f64>(&gpu(adapter.index, Precision::F64), Precision::F64, count);
            }
        }
    }

    #[test]
    fn what_is_learnt_of_a_few_numbers_holds_for_others() {
        check_all(1 << 14);
    }

    #[test]
    #[ignore = "for hardware, some 2^28 numbers"]
    fn hardware_rounds_as_it_was_learnt() {
        check_all(1 << 28);
    }

    /// Products are rounded before they are added, those of a number with itself as well.
    #[test]
    fn products_are_not_fused() {
        const SUMS: &str = "
            @group(0) @binding(0) var<storage, read> operands: array<vec2<real>>;
            @group(0) @binding(1) var<storage, read_write> rounded: array<vec2<real>>;
            @compute @workgroup_size(64) fn probe_rounding(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&rounded) {
                    let a = operands[id.x].x;
                    let b = operands[id.x].y;
                    rounded[id.x] = vec2<real>(real(1.0) - product(b, b), product(a - b, a - b) + product(a, b));
                }
            }";
        fn check<R: Real>(gpu: &Gpu, precision: Precision) {
            let one = R::from_f64(1.0);
            let given = operands::<R>(0, 1 << 16);
            let made: Vec<[R; 2]> =
                pollster::block_on(run_probe(gpu, &instead(precision, SUMS), &[], &given)).expect("an answer");
            let others = given
                .iter()
                .zip(&made)
                .filter(|&(&[a, b], &[rest, sum])| rest != one - b * b || sum != (a - b) * (a - b) + a * b);
            assert_eq!(others.count(), 0, "{}, {precision:?}", gpu.name());
        }
        for adapter in on_adapters() {
            check::<f32>(&gpu(adapter.index, Precision::F32), Precision::F32);
            if adapter.shader_f64 {
                check::<f64>(&gpu(adapter.index, Precision::F64), Precision::F64);
            }
        }
    }

    /// The number type's functions, and a kernel of the tests instead of the probe.
    fn instead(precision: Precision, kernel: &'static str) -> KernelSource {
        real(precision).piece("kernel", kernel)
    }

    /// Steps are whole numbers below on every device, however it orders sums and fuses products
    /// with them, and each is a step of one tile.
    #[test]
    fn steps_are_those_of_the_cpu() {
        /// Of the largest tile.
        const MOST_STEPS: u32 = 4_194_304;
        const STEPS: &str = "
            @group(0) @binding(0) var<storage, read> operands: array<vec2<real>>;
            @group(0) @binding(1) var<storage, read_write> rounded: array<vec2<u32>>;
            @compute @workgroup_size(64) fn probe_rounding(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&rounded) {
                    let first = u32(operands[1].y) * 1024u;
                    rounded[id.x] = vec2<u32>(whole_steps(operands[id.x].x, operands[2].y, operands[0].y, first), 0u);
                }
            }";
        fn check<R: Real>(gpu: &Gpu, precision: Precision) {
            let source = instead(precision, STEPS);
            // The last ones are of the widest ranges, of whose bins a tile is some.
            for (scale, offset, tile) in [
                (5120.0, 512_000.0, 0u32),
                (1024.0 / 0.34, 921_600.0, 512),
                (204.8, 2048.0, 0),
                (5120.0, 7_168_512.0, 0),
                (5120.0, 12_800_512.0, 0),
                (5120.0, 12_800_512.0, 4096),
                (5120.0, 12_800_512.0, 8192),
                (102_400.0, 61_440_512.0, 57_344),
                (1_024_000.0, 1_073_742_336.0, 0),
                (1_024_000.0, 1_073_742_336.0, 4096),
                (1_024_000.0, 1_073_742_336.0, 1_048_576),
            ] {
                let half = offset / scale;
                // All along the range, and edges of steps of the tile.
                let along = (0..60_000).map(|i| half * (f64::from(i) / 3e4 - 1.0));
                let edges =
                    (0..4_000).map(|i| (f64::from(tile * 1024 + i / 2 * 1024) - offset - f64::from(i % 2)) / scale);
                let mut given: Vec<[R; 2]> = along.chain(edges).map(|x| [R::from_f64(x), R::from_f64(0.0)]).collect();
                (given[0][1], given[1][1], given[2][1]) =
                    (R::from_f64(offset), R::from_f64(f64::from(tile)), R::from_f64(scale));
                let made: Vec<[u32; 2]> = pollster::block_on(run_probe(gpu, &source, &[], &given)).expect("an answer");
                let mut in_tile = 0;
                for (&[x, _], [steps, _]) in given.iter().zip(made) {
                    let place =
                        || format!("{}, {precision:?}, {offset} steps, tile {tile}: {}", gpu.name(), x.to_f64());
                    if x.to_f64() * scale + offset < 256.0 {
                        // Below the range: nothing is entered there, and the CPU engine's number is
                        // not negative.
                        continue;
                    }
                    let wanted = x.whole_steps(R::from_f64(scale), R::from_f64(offset)).wrapping_sub(tile * 1024);
                    if wanted < MOST_STEPS {
                        in_tile += 1;
                        assert_eq!(steps, wanted, "{}", place());
                    } else {
                        assert!(steps >= MOST_STEPS, "{}: {steps}", place());
                    }
                }
                assert!(in_tile > 100, "{offset} steps, tile {tile}: {in_tile} in it");
            }
        }
        for adapter in on_adapters() {
            check::<f32>(&gpu(adapter.index, Precision::F32), Precision::F32);
            if adapter.shader_f64 {
                check::<f64>(&gpu(adapter.index, Precision::F64), Precision::F64);
            }
        }
    }

    /// Sines have the bits of the CPU engine's, whose squares are what is needed of them.
    #[test]
    fn sines_are_those_of_the_cpu() {
        const SINES: &str = "
            @group(0) @binding(0) var<storage, read> operands: array<vec2<real>>;
            @group(0) @binding(1) var<storage, read_write> rounded: array<vec2<real>>;
            @compute @workgroup_size(64) fn probe_rounding(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&rounded) {
                    let s = sine(operands[id.x].x);
                    rounded[id.x] = vec2<real>(product(s, s), s);
                }
            }";
        fn check<R: Lanes>(gpu: &Gpu, precision: Precision) {
            let given: Vec<[R; 2]> =
                (0..=40_000).map(|i| [R::from_f64(f64::from(i) / 40_000.0 * FRAC_PI_2), R::from_f64(0.0)]).collect();
            let made: Vec<[R; 2]> =
                pollster::block_on(run_probe(gpu, &instead(precision, SINES), &[], &given)).expect("an answer");
            let simd = pulp::Scalar::new();
            for (&[x, _], [square, sine]) in given.iter().zip(made) {
                let mut wanted = [R::from_f64(0.0)];
                // Beyond pi / 2 the CPU engine's comes back, which rounding may reach.
                R::store(simd, &mut wanted, R::sine_squared(simd, R::splat(simd, x)));
                let apart = (sine.to_f64() - x.to_f64().sin()).abs();
                assert!(square == wanted[0], "{}, {precision:?}: {}", gpu.name(), x.to_f64());
                assert!(apart <= 2e-7, "{}, {precision:?}: {}, {apart:e} off", gpu.name(), x.to_f64());
            }
        }
        for adapter in on_adapters() {
            check::<f32>(&gpu(adapter.index, Precision::F32), Precision::F32);
            if adapter.shader_f64 {
                check::<f64>(&gpu(adapter.index, Precision::F64), Precision::F64);
            }
        }
    }

    #[test]
    fn a_wrong_last_digit_is_noticed() {
        let operands = operands::<f32>(0, 100);
        let right: Vec<[f32; 2]> = operands.iter().map(|&[a, b]| [a / b, b.abs().sqrt()]).collect();
        assert_eq!(count_wrong(&operands, &right), [0, 0]);
        let mut other = right.clone();
        other[17][0] = other[17][0].next_up();
        other[18][1] = other[18][1].next_down();
        assert_eq!(count_wrong(&operands, &other), [1, 1]);
        assert!(operands.iter().flatten().all(|x| x.is_finite() && x.abs() > 1e-8 && x.abs() < 64.0));
    }

    /// A device of the noop backend computes nothing: nothing helps, and that is no error.
    #[test]
    fn a_device_that_computes_nothing_is_left_alone() {
        let gpu = Gpu::noop().expect("wgpu's noop backend");
        assert_eq!(pollster::block_on(choose_rounding::<f32>(&gpu, Precision::F32)).ok(), Some(Rounding::Native));
        gpu.wait_spinning(&gpu.submit(gpu.encoder("nothing")).expect("nothing"), Duration::ZERO).expect("no wait");
    }
}
