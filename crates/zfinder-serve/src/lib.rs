//! Serves zfinder by the KServe v2 inference protocol, over gRPC and HTTP, on any GPU or on the
//! CPU.
//!
//! A [`Server`] has one [`Model`] for each preset, and models of configurations in TOML. Requests
//! of many clients join batches; see [`BatchOptions`]. The answers have the bits of the library,
//! whichever batch a request joins and whichever engine answers. The page `docs/how-to/serve.md`
//! describes the tensors and the command `zfinder serve`.
//!
//! ```no_run
//! use zfinder::Detector;
//! use zfinder_serve::{Options, Server};
//! let server = Server::start(Options::new(Detector::generic()))?;
//! server.wait();
//! # Ok::<(), zfinder_serve::Error>(())
//! ```
//!
//! The crate logs with `tracing`, and has no command line. [`proto`] has the messages and a client
//! of the protocol.
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `server`, `listener`, `connections`, `tls`: [`Server`], its ports and their connections.
//! - `limits`: all constants that limit requests, answers and connections, and the defaults of
//!   [`Options`].
//! - `grpc`, `http`, `path`, `json`, `service`: both forms of the protocol, and the operations they
//!   share.
//! - `schema`, `tensor`, `points`, `rois`, `answer`: tensors, from requests to RoIs and back.
//! - `received`, `encoding`, `messages`, `codec`, `shared_memory`: limits on incoming bytes and on
//!   their memory, compressed requests, and tensors in shared memory.
//! - `sending`: limits on answers that wait to be sent; `origin`: refusals of web pages.
//! - `common`: health checks and reflection; `drain`: the phases of a server, and the end of
//!   streams when it drains.
//! - `scheduler`, `queue`, `worker`, `device`: batches of many requests, and their search.
//! - `model`: [`Model`]; `metrics`, `statistics`: counts and durations.
//! - `error`, `refusal`: errors at the start, and reasons for refusing a request.
//! - `proto`: messages of the protocol, generated from its definition.
//!
//! # Features
//!
//! - `tls` (default): TLS and mutual TLS by rustls.

#![forbid(unsafe_code)]
// The proof that a finder is Send visits all types of wgpu.
#![recursion_limit = "256"]
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod answer;
mod codec;
mod common;
mod connections;
mod device;
mod drain;
mod encoding;
mod error;
mod grpc;
mod http;
mod json;
mod limits;
mod listener;
mod messages;
mod metrics;
mod model;
mod origin;
mod path;
mod points;
mod queue;
mod received;
mod refusal;
mod rois;
mod scheduler;
mod schema;
mod sending;
mod server;
mod service;
mod shared_memory;
mod statistics;
mod tensor;
#[cfg(feature = "tls")]
mod tls;
mod worker;

/// Messages, client and service of the protocol, generated from `proto/inference.proto`.
#[allow(clippy::all, missing_docs, unreachable_pub, unused_qualifications, reason = "generated")]
#[rustfmt::skip]
#[path = "generated/inference.rs"]
pub mod proto;

pub use error::{Error, Result};
pub use model::Model;
pub use points::{decode_point, encode_point};
pub use scheduler::BatchOptions;
pub use server::{Options, Server, ServerHandle};
#[cfg(feature = "tls")]
pub use tls::TlsOptions;
