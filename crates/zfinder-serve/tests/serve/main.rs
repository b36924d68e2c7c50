//! A server in this process, and clients of it.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod answers;
mod common;
mod ends;
mod hammer;
mod metadata;
mod refusals;
#[cfg(target_os = "linux")]
mod shared_memory;
