//! Tests of the command as a process. One program has all tests, so that they share the cores.

mod beam_spot;
mod bench;
mod common;
mod docs;
mod evaluate;
mod find;
mod formats;
mod heavy_ions;
mod inspect;
mod messages;
mod objects;
mod outputs;
mod plot;
mod provenance;
mod serve;
mod simulate;
mod streams;
#[cfg(unix)]
mod terminal;
mod thesis;
mod verify;
mod wrong_inputs;
