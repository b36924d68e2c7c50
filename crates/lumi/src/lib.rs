//! Luminosity counters.
mod calorimeter;
mod counter;
mod counters;
mod engine;
mod error;
mod event;
mod fixed;
pub mod io;
mod schema;
mod shaders;
mod simulate;

pub use calorimeter::{Calorimeter, Cell};
pub use counter::{Engine, LumiCounter, LumiCounterBuilder};
pub use counters::{
    CALO, CaloSums, EventCounters, SCIFI, Scheme, VELO_CLUSTERS, VELO_TRACKS, VERTEX_Z, VertexCounters,
};
pub use engine::gpu::KernelTime;
pub use error::{Error, Result};
pub use event::{
    Event, EventBatch, EventView, Header, INVALID_ADC, MAX_VERTICES, SciFiHit, VeloCluster, VeloTrack, Vertex,
};
pub use kernel_host::AdapterChoice;
pub use schema::{BUNCHES, Field, FieldSpec, Schema, Schemata, Summary};
pub use simulate::Simulation;
