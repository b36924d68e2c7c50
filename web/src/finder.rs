//! Finders on either engine.

use wasm_bindgen::prelude::*;
use zfinder::{AdapterChoice, Encoding, Engine, ZFinder, ZFinderBuilder};

use crate::answers::Answers;
use crate::config::{config_of, detector_of};
use crate::device::Device;
use crate::events::Events;
use crate::exception;

/// A finder on one engine.
#[wasm_bindgen]
pub struct Finder {
    finder: ZFinder,
}

fn builder(config: &str, detector: &str) -> Result<ZFinderBuilder, JsError> {
    Ok(ZFinder::builder().config(config_of(config)?).detector(detector_of(detector)?))
}

#[wasm_bindgen]
impl Finder {
    /// The CPU engine, with a configuration in JSON.
    ///
    /// # Errors
    /// A configuration out of range, an unknown detector.
    pub fn on_cpu(config: &str, detector: &str) -> Result<Finder, JsError> {
        let finder = builder(config, detector)?.engine(Engine::Cpu).build().map_err(exception)?;
        Ok(Finder { finder })
    }

    /// The GPU engine. Its kernels are compiled when they are first used.
    ///
    /// # Errors
    /// As [`Finder::on_cpu`]; a device that lacks what the kernels need.
    pub async fn on_gpu(config: String, detector: String, device: &Device) -> Result<Finder, JsError> {
        let engine = Engine::Gpu(AdapterChoice::Open(device.gpu.clone()));
        let finder = builder(&config, &detector)?.engine(engine).build_async().await.map_err(exception)?;
        Ok(Finder { finder })
    }

    /// [`Finder::on_gpu`] with spacepoints in the compact encoding, and with pairs numbered in
    /// groups of so many slices where that is not 0: for tests of these kernels. On both engines,
    /// so that they agree.
    ///
    /// # Errors
    /// As [`Finder::on_gpu`].
    pub async fn variant(
        config: String,
        detector: String,
        device: Option<Device>,
        compact: bool,
        slices: u32,
    ) -> Result<Finder, JsError> {
        let engine = device.map_or(Engine::Cpu, |device| Engine::Gpu(AdapterChoice::Open(device.gpu)));
        let mut builder = builder(&config, &detector)?.engine(engine);
        if compact {
            builder = builder.encoding(Encoding::Compact);
        }
        if slices > 0 {
            builder = builder.slices_per_histogram(slices);
        }
        Ok(Finder { finder: builder.build_async().await.map_err(exception)? })
    }

    /// Which engine it is, and on which adapter.
    #[must_use]
    pub fn description(&self) -> String {
        self.finder.description()
    }

    /// Searches all RoIs while the caller waits: on the CPU.
    ///
    /// # Errors
    /// An RoI whose z range makes no histogram.
    pub fn find(&self, events: &Events) -> Result<Answers, JsError> {
        Ok(Answers { results: self.finder.find_batch(&events.batch).map_err(exception)? })
    }

    /// [`Finder::find`] as a promise: on either engine.
    ///
    /// # Errors
    /// As [`Finder::find`]; a device that is lost.
    pub async fn find_async(&self, events: &Events) -> Result<Answers, JsError> {
        Ok(Answers { results: self.finder.find_batch_async(&events.batch).await.map_err(exception)? })
    }
}
