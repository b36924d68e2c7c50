//! Builds a finder from the options of a caller.

use std::num::NonZeroUsize;

use zfinder::{AdapterChoice, Config, Detector, Engine, Preset, ZFinder};

use crate::failure::{Failure, Outcome};
use crate::memory;
use crate::types::{zf_code, zf_options};

/// Builds a finder.
///
/// # Safety
/// The texts of the options are NULL or end with NUL.
pub(crate) unsafe fn build(options: &zf_options) -> Outcome<ZFinder> {
    // SAFETY: the promise of this function's caller.
    let text = |name, pointer| unsafe { memory::text(name, pointer) };
    let mut builder = ZFinder::builder()
        .config(config(text("config", options.config)?)?)
        .engine(engine(text("engine", options.engine)?, text("adapter", options.adapter)?)?);
    if let Some(detector) = text("detector", options.detector)? {
        builder = builder.detector(parse_detector(detector)?);
    }
    if let Some(threads) = NonZeroUsize::new(options.threads) {
        builder = builder.threads(threads);
    }
    Ok(builder.build()?)
}

fn config(text: Option<&str>) -> Outcome<Config> {
    let Some(text) = text else { return Ok(Config::preset(Preset::Auto)) };
    if let Ok(preset) = text.trim().parse() {
        return Ok(Config::preset(preset));
    }
    if !text.contains('=') && !text.trim().is_empty() {
        let names = Preset::ALL.map(Preset::as_str).join(", ");
        return Err(Failure::new(zf_code::ZF_CONFIG, format!("{text} is neither TOML nor a preset: {names}")));
    }
    zfinder_io::config_from_toml(text).map_err(|error| Failure::new(zf_code::ZF_CONFIG, error.to_string()))
}

fn parse_detector(text: &str) -> Outcome<Detector> {
    if let Some(detector) = Detector::built_in(text.trim()) {
        return Ok(detector);
    }
    if !text.contains('=') {
        return Err(Failure::new(zf_code::ZF_DETECTOR, format!("{text} is neither TOML nor a built-in detector")));
    }
    let failure = |error: zfinder_io::Error| Failure::new(zf_code::ZF_DETECTOR, error.to_string());
    zfinder_io::detector_from_toml("detector", text).map_err(failure)
}

fn engine(engine: Option<&str>, adapter: Option<&str>) -> Outcome<Engine> {
    let engine = engine.unwrap_or("auto");
    let adapter: Option<AdapterChoice> = adapter.and_then(|adapter| adapter.parse().ok());
    match (engine, adapter) {
        ("auto" | "gpu", Some(adapter)) => Ok(Engine::Gpu(adapter)),
        ("auto", None) => Ok(Engine::Auto),
        ("gpu", None) => Ok(Engine::Gpu(AdapterChoice::Hardware)),
        ("cpu", None) => Ok(Engine::Cpu),
        ("reference", None) => Ok(Engine::Reference),
        ("cpu" | "reference", Some(_)) => Err(Failure::argument(format!("engine {engine} uses no adapter"))),
        _ => Err(Failure::argument(format!("engine {engine} is not auto, cpu, gpu or reference"))),
    }
}
