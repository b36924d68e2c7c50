//! Finders on the CPU engine and on the GPU engine.

use wasm_bindgen::prelude::*;
use zfinder::gpu::AdapterChoice;
use zfinder::thesis::ThesisOptions;
use zfinder::{Encoding, Engine, ZFinder, ZFinderBuilder};

use crate::answers::Answers;
use crate::config::{config_of, detector_of};
use crate::device::Device;
use crate::events::Events;
use crate::exception;

/// A finder with its configuration and detector.
#[wasm_bindgen]
pub struct Finder {
    finder: ZFinder,
}

fn builder(config: &str, detector: &str) -> Result<ZFinderBuilder, JsError> {
    Ok(ZFinder::builder(detector_of(detector)?).config(config_of(config)?))
}

#[wasm_bindgen]
impl Finder {
    /// Builds a finder on the CPU engine, with a configuration in JSON. `detector` is the name of a
    /// built-in detector, or TOML.
    ///
    /// # Errors
    /// An invalid configuration, an unknown detector.
    pub fn on_cpu(config: &str, detector: &str) -> Result<Finder, JsError> {
        let finder = builder(config, detector)?.engine(Engine::Cpu).build().map_err(exception)?;
        Ok(Finder { finder })
    }

    /// Builds a finder on the GPU engine. The browser compiles a kernel before its first use.
    ///
    /// # Errors
    /// The errors of [`Finder::on_cpu`], and a device whose limits are too low for the kernels.
    pub async fn on_gpu(config: String, detector: String, device: &Device) -> Result<Finder, JsError> {
        let engine = Engine::Gpu(AdapterChoice::Open(device.gpu.clone()));
        let finder = builder(&config, &detector)?.engine(engine).build_async().await.map_err(exception)?;
        Ok(Finder { finder })
    }

    /// Builds a finder for tests of kernel variants, on the CPU engine if no device is given.
    /// `compact` selects the compact encoding of spacepoints. `slices` is the number of slices per
    /// histogram, or 0 for the default.
    ///
    /// # Errors
    /// The errors of [`Finder::on_gpu`].
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
            builder = builder.thesis(ThesisOptions::numbered_pairs(slices));
        }
        Ok(Finder { finder: builder.build_async().await.map_err(exception)? })
    }

    /// Returns the engine and its adapter in words.
    #[must_use]
    pub fn description(&self) -> String {
        self.finder.description()
    }

    /// Returns a warning about units and layers of the first spacepoints that were searched, if
    /// there is one.
    #[must_use]
    pub fn input_warning(&self) -> Option<String> {
        self.finder.input_warning().map(str::to_owned)
    }

    /// Searches all RoIs. Blocks, so it works on the CPU engine only.
    ///
    /// # Errors
    /// An RoI with an invalid z range.
    pub fn find(&self, events: &Events) -> Result<Answers, JsError> {
        Ok(Answers { results: self.finder.find_batch(&events.batch).map_err(exception)? })
    }

    /// Searches all RoIs on either engine, and returns a promise.
    ///
    /// # Errors
    /// The errors of [`Finder::find`], and a lost device.
    pub async fn find_async(&self, events: &Events) -> Result<Answers, JsError> {
        Ok(Answers { results: self.finder.find_batch_async(&events.batch).await.map_err(exception)? })
    }
}
