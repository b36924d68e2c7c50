//! The finder: builds an engine once, then answers. No other module selects engines.

mod builder;
mod running_engine;
mod zfinder;

pub use builder::ZFinderBuilder;
pub use zfinder::ZFinder;
