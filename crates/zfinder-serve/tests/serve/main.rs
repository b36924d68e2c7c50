//! Tests of a server in this process, with clients.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod answers;
mod common;
mod compressed;
mod ends;
mod hammer;
mod heavy;
mod hostile;
#[cfg(target_os = "linux")]
mod memory;
mod metadata;
mod one_connection;
mod paths;
mod refusals;
#[cfg(target_os = "linux")]
mod shared_memory;
