//! Finds the z of primary vertices from raw tracker spacepoints, at trigger rates. Its GPU engine
//! runs on any vendor's GPU (WGSL compute shaders through wgpu: Vulkan, Metal, DirectX 12), and its
//! CPU engine gives the same answers without a GPU.
//!
//! # Theory
//!
//! Many proton collisions happen along the beam at each bunch crossing. Two spacepoints of one
//! track, a on an inner and b on an outer layer, point back at the beam line:
//!
//! ```text
//! z12 = (z_b rho_a - z_a rho_b) / (rho_a - rho_b)
//! ```
//!
//! Tracks are nearly straight, so only spacepoints in the same narrow slice of phi, or in as many
//! neighbour slices as a track bends across, are paired. The z12 of all pairs fill a histogram;
//! tracks of one vertex agree and make a peak, chance pairs spread out. The highest window of three
//! bins is the first vertex, at the mean z of its entries. Asking for a third spacepoint on the
//! same track ([`PairWeight`](config::PairWeight)) keeps the peak when there are many collisions.
//! The algorithm is the ATLAS Level-2 z-finder (Konstantinidis and Drevermann, ATLAS-DAQ-2002-014),
//! its GPU form that of C. Jones, *Porting the z-finder algorithm to GPU* (MSc thesis, Edinburgh
//! 2010).
//!
//! Sums are integers: z is accumulated as a fixed-point offset within its bin
//! ([`Accumulate::Fixed`](thesis::Accumulate::Fixed)), so that the order of additions, the size of
//! a batch and the number of threads change no bit of the answer.
//!
//! # Practice
//!
//! Build a [`ZFinder`] once; it compiles the shaders and keeps its buffers. Then give it RoIs, best
//! in batches:
//!
//! ```
//! use zfinder::{Detector, Engine, Roi, Spacepoint, ZFinder};
//!
//! // Four straight tracks from z = 12.5 mm through three barrel layers.
//! let mut roi = Roi::default();
//! for (phi, slope) in [(0.1, 0.5), (0.7, -0.3), (1.5, 0.2), (2.5, -1.0)] {
//!     for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
//!         roi.spacepoints.push(Spacepoint { rho, phi, z: 12.5 + slope * rho, layer });
//!     }
//! }
//! let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
//! let results = finder.find(&roi)?;
//! assert!((results.vertices().z_mm()[0] - 12.5).abs() < 0.01);
//! # Ok::<(), zfinder::Error>(())
//! ```
//!
//! A [`Stream`] keeps several batches in flight: [`ZFinder::stream`]. The repository's `examples`
//! are programs: one RoI (`find_one`), a batch out of files (`find_batch`), a stream under tokio
//! (`async_stream`), the caller's own wgpu device (`own_device`), your own detector
//! (`custom_detector`).
//!
//! [`Engine::Auto`] takes a hardware GPU if there is one, else the CPU. [`Results`] are columns,
//! with a [`Status`] for every RoI; an error means that nothing could be answered.
//!
//! The stages are the same on every engine: spacepoints → `slice_spacepoints` → `find_z` →
//! `sum_histos` → `find_peaks` → vertices. Each stage is a file of that name among the shaders, in
//! the CPU engine and in the GPU engine.
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `spacepoint`, [`columns`], `batch_view`, `roi_batch`, `azimuth`: input, [`Spacepoint`],
//!   [`Roi`], [`RoiBatch`], [`BatchView`], columns of the caller, and the azimuth of x and y.
//! - [`region`]: regions, the parts of an event that are searched as one RoI.
//! - [`detector`]: [`Detector`], its layers, and the bending of tracks between them.
//! - [`config`], `z_bins`, `pt_weight`: the physics, [`Config`] with the table of its keys,
//!   [`Preset`] and [`PtWeight`](config::PtWeight); `options`: [`Engine`], number type, encoding.
//! - `reach`: the layers and slices that a configuration selects in a detector.
//! - [`results`], `vertex`, `tracklet`, `error`: [`Results`], their views [`RoiResult`] and
//!   [`Vertices`], [`Vertex`], [`Tracklet`], [`Status`]; failures, [`enum@Error`].
//! - `engine`: the stages. Read `plan` (decisions of the host), `twin` (plain code, line by line as
//!   the shaders), then `cpu`, `gpu` and `reference`.
//! - `input_check`: units and layers of the first spacepoints.
//! - `finder`, `stream`, `cancellation`: [`ZFinder`] answers batches, [`Stream`] keeps several in
//!   flight, [`CancellationToken`] ends searches.
//! - [`gpu`]: adapters and the types of wgpu.
//! - [`thesis`]: the design of 2010, to compare with.
//! - `internals`: parts for benchmarks and studies, with the feature `internals`.

//! # Features
//!
//! - `gpu` (default): the GPU engine, with [`wgpu`] and [`kernel_host`], whose types stand in
//!   signatures. Without it the library is a CPU library that depends on nothing of a GPU.
//! - `serde`: `Serialize` and `Deserialize` for [`Config`] and results.
//! - `internals`: parts of the engines for benchmarks and studies, in the module `internals`. They
//!   are no part of the promise of compatibility: any release may change them.
//!
//! Files of spacepoints and configurations in TOML are read by the crate `zfinder-io`;
//! `zfinder-study` simulates events and measures efficiencies.

// Dead code is checked with the feature `gpu`, because the GPU engine alone calls some items.
#![cfg_attr(not(feature = "gpu"), allow(dead_code))]
#![cfg_attr(docsrs, feature(doc_cfg))]
// The library prints nothing; the command reports.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

// `toy`, of the crate zfinder-testing, names this crate as its users do.
#[cfg(test)]
extern crate self as zfinder;

mod azimuth;
mod batch_view;
mod cancellation;
pub mod columns;
pub mod config;
pub mod detector;
mod engine;
mod error;
mod finder;
mod input_check;
#[cfg(feature = "internals")]
pub mod internals;
mod options;
mod pt_weight;
mod reach;
pub mod region;
pub mod results;
mod roi_batch;
mod spacepoint;
mod stream;
pub mod thesis;
mod tracklet;
mod vertex;
mod z_bins;

pub use batch_view::BatchView;
pub use cancellation::CancellationToken;
pub use columns::Columns;
pub use config::{Config, Preset};
pub use detector::Detector;
pub use error::{Error, Result};
pub use finder::{ZFinder, ZFinderBuilder};
pub use options::{Encoding, Engine, Precision};
pub use results::{Results, RoiResult, Status, Vertices};
pub use roi_batch::RoiBatch;
pub use spacepoint::{PhiWindow, Roi, RoiDescriptor, RoiId, RoiView, Spacepoint};
pub use stream::{SearchedBatch, Stream, StreamOptions};
pub use tracklet::Tracklet;
pub use vertex::Vertex;

/// Adapters, and the crates whose types stand in signatures.
#[cfg(feature = "gpu")]
pub mod gpu {
    pub use kernel_host::{self, AdapterChoice, AdapterKind, AdapterSummary, adapters, adapters_async, wgpu};
}
