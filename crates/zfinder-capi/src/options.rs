//! Builds a finder from the options of a caller.

use std::num::NonZeroUsize;
use std::str::FromStr;

use zfinder::thesis::Accumulate;
use zfinder::{Config, Detector, Engine, Error, Preset, ZFinder};

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
    let config = config(text("config", options.config)?)?;
    let detector = parse_detector(text("detector", options.detector)?)?;
    let mut builder = ZFinder::builder(detector)
        .config(config)
        .engine(engine(text("engine", options.engine)?, text("adapter", options.adapter)?)?);
    if let Some(word) = text("precision", options.precision)? {
        builder = builder.precision(parse(word)?);
    }
    if let Some(word) = text("accumulate", options.accumulate)? {
        builder = builder.thesis(parse::<Accumulate>(word)?);
    }
    if let Some(word) = text("encoding", options.encoding)? {
        builder = builder.encoding(parse(word)?);
    }
    if let Some(threads) = NonZeroUsize::new(options.threads) {
        builder = builder.threads(threads);
    }
    Ok(builder.build()?)
}

/// Reads the word of an option.
fn parse<T: FromStr<Err = Error>>(word: &str) -> Outcome<T> {
    word.parse().map_err(|error: Error| Failure::argument(error.to_string()))
}

fn config(text: Option<&str>) -> Outcome<Config> {
    let Some(text) = text else { return Ok(Config::preset(Preset::Auto)) };
    if let Ok(preset) = text.trim().parse() {
        return Ok(Config::preset(preset));
    }
    if !text.contains('=') && !text.trim().is_empty() {
        let names = Preset::ALL.iter().map(|preset| preset.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Failure::new(zf_code::ZF_CONFIG, format!("{text} is neither TOML nor a preset: {names}")));
    }
    zfinder_io::config_from_toml(text).map_err(|error| Failure::new(zf_code::ZF_CONFIG, error.to_string()))
}

fn parse_detector(text: Option<&str>) -> Outcome<Detector> {
    let failure = |message: String| Failure::new(zf_code::ZF_DETECTOR, message);
    let Some(text) = text else {
        let names = Detector::BUILT_IN.join(", ");
        return Err(failure(format!("no detector is given: set `detector` to {names} or TOML text")));
    };
    if text.contains('=') {
        return zfinder_io::detector_from_toml("detector", text).map_err(|error| failure(error.to_string()));
    }
    Detector::built_in(text.trim()).map_err(|error| failure(error.to_string()))
}

fn engine(engine: Option<&str>, adapter: Option<&str>) -> Outcome<Engine> {
    let engine: Engine =
        engine.unwrap_or("auto").parse().map_err(|error: Error| Failure::argument(error.to_string()))?;
    let adapters = adapter.and_then(|adapter| adapter.parse().ok()).into_iter().collect();
    engine.on(adapters).map_err(|error| Failure::argument(error.to_string()))
}
