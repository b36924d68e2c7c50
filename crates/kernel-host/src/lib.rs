//! The host side of GPU compute kernels: adapters, assembled WGSL, pipelines, buffers, timers,
//! waiting, errors.
//!
//! It knows neither physics nor graphics. It adds to [`wgpu`] what compute programs need:
//!
//! - an adapter selected by index, name or PCI id, never software by default, and an error that
//!   lists the candidates;
//! - the selection of an engine, which falls back to the CPU without a GPU;
//! - a device with WebGPU's default limits, raised where compute gains;
//! - kernels assembled from WGSL pieces, with faults reported in the piece; bindings by name;
//!   workgroup memory checked against the adapter; pipelines built in parallel; checked and trusted
//!   modules;
//! - buffers that grow, read-back of results, timed passes; a pool of workspaces with
//!   back-pressure;
//! - the bandwidth of the device's memory, a baseline for kernels;
//! - waiting that blocks, spins or awaits, on any executor;
//! - errors as values: no panic and no hang on bad input, a full device or a lost one.
//!
//! On `wasm32-unknown-unknown` the device is the browser's WebGPU. A page must not block: there the
//! async forms work, and a blocking form that would have to wait is [`Error::CannotWait`]. A
//! browser reports errors of a call later, so they are errors of the next submission or of the wait
//! for it. `poll.rs` and `poll_web.rs` are the two forms of all this.
//!
//! ```
//! use kernel_host::{Buffer, Checks, Gpu, Kernel, KernelDescriptor, Readback, KernelSource, wgpu};
//!
//! # fn main() -> Result<(), kernel_host::Error> {
//! const DOUBLE: &str = "
//!     override FACTOR: u32 = 2u;
//!     @group(0) @binding(0) var<storage, read_write> numbers: array<u32>;
//!     @compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3u) {
//!         if id.x < arrayLength(&numbers) { numbers[id.x] *= FACTOR; }
//!     }";
//!
//! let gpu = Gpu::noop()?; // a real program: Gpu::new(&GpuOptions::default())?
//! let source = KernelSource::new("scale").piece("scale.wgsl", DOUBLE);
//! let kernel = Kernel::build(&gpu, &KernelDescriptor {
//!     source: &source,
//!     entry_points: &["scale"],
//!     constants: &[("FACTOR", 3.0)],
//!     checks: Checks::CHECKED,
//! })?;
//!
//! use wgpu::BufferUsages;
//! let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
//! let mut numbers = Buffer::<u32>::new("numbers", usage);
//! numbers.write(&gpu, &[1, 2, 3])?;
//! let mut results = Readback::<u32>::new("results");
//! results.reserve(&gpu, 3)?;
//!
//! let group = kernel.bind_group(&gpu, &[("numbers", numbers.binding()?)])?;
//! let mut encoder = gpu.encoder("scale");
//! {
//!     let mut pass = encoder.begin_compute_pass(&Default::default());
//!     kernel.dispatch(&mut pass, "scale", &group, [1, 1, 1])?;
//! }
//! results.copy_from(&mut encoder, &numbers, 3)?;
//! let submission = gpu.submit(encoder)?;
//! let answer = results.read(&gpu, &submission, 3)?;
//! assert_eq!(answer.len(), 3); // on a real device: [3, 6, 9]
//! # Ok(())
//! # }
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `gpu`, `summary`, `adapter`, `open`, `engine`: choose an adapter and open a [`Gpu`], or fall
//!   back to the CPU.
//! - `source`, `reflect`, `built`, `kernel`: assemble a [`KernelSource`], reflect it, and build a
//!   [`Kernel`].
//! - `buffer`, `upload`, `allocation`, `memory`, `pool`: device memory, [`Buffer`], [`Readback`]
//!   and [`Pool`].
//! - `poll`, `map_wait`, `wait_queue`, `wait`, `status`: submissions, waiting, and errors that the
//!   device reports later.
//! - `joint`: submissions with work of several callers.
//! - `timer`, `bandwidth`: times of passes, and the bandwidth of memory.
//! - `error`, `precision`, `host_memory`: shared values; `testing`, `translate`: support for tests.

mod adapter;
mod allocation;
mod bandwidth;
mod buffer;
mod built;
mod engine;
mod error;
mod gpu;
mod host_memory;
mod joint;
mod kernel;
#[cfg(not(target_arch = "wasm32"))]
mod map_wait;
mod memory;
mod open;
#[cfg_attr(target_arch = "wasm32", path = "poll_web.rs")]
mod poll;
mod pool;
mod precision;
mod reflect;
mod source;
mod status;
mod summary;
#[cfg(feature = "testing")]
pub mod testing;
mod timer;
#[cfg(feature = "testing")]
mod translate;
mod upload;
mod wait;
#[cfg(not(target_arch = "wasm32"))]
mod wait_queue;

pub use adapter::{AdapterChoice, adapters, adapters_async};
pub use bandwidth::{BusBandwidth, bus_bandwidth, read_bandwidth};
pub use buffer::{Buffer, Readback};
pub use built::{Checks, Kernel, KernelDescriptor};
pub use engine::{Engine, Opened};
pub use error::Error;
pub use gpu::{Gpu, capabilities};
pub use host_memory::available_memory;
pub use joint::{JointDevice, JointQueue, JointTicket};
pub use kernel::BindGroupSlot;
pub use open::GpuOptions;
pub use poll::{Instant, Submission, block_on};
pub use pool::{Pool, Pooled, Reserved, Waiting};
pub use precision::{Precision, UnknownPrecision};
pub use reflect::{StructLayout, struct_layout, workgroup_memory};
pub use source::{KernelSource, Parsed, ShaderFiles};
pub use summary::{AdapterKind, AdapterSummary};
pub use timer::Timer;
#[cfg(feature = "testing")]
pub use translate::{Translations, translations};
pub use upload::{Upload, UploadPart, UploadView};

// The versions of crates whose types are in this crate's signatures.
pub use {naga, wgpu};
