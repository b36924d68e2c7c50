//! Tests of the library through its public interface. One program has all tests, so that they share
//! the cores.
#![allow(clippy::print_stderr)] // skipped cases are reported

mod adversarial;
mod cancellation;
mod concurrency;
mod configuration_page;
mod conformance;
mod embedding;
mod engines;
mod properties;
mod real_collision;
mod regions;
mod stream;
mod threads;
mod tracklets;
