//! What `find` and `bench` read: which files a user means, and of which detector they are.

use std::path::{Path, PathBuf};

use zfinder::Detector;
use zfinder::io::Inputs;

use super::failure::Failure;
use super::options::read_text;
use super::output::note;

/// The files that these files and folders stand for; says which it leaves out.
pub(super) fn inputs(paths: &[PathBuf]) -> Result<Inputs, Failure> {
    let inputs = zfinder::io::inputs(paths)?;
    if !inputs.skipped.is_empty() {
        let names: Vec<String> = inputs.skipped.iter().map(|path| path.display().to_string()).collect();
        note(&format!("warning: not files of spacepoints, left out: {}", names.join(", ")));
    }
    Ok(inputs)
}

/// The detector by name or file, else the one that these files are usually of.
pub(super) fn detector(name: Option<&str>, files: &[PathBuf]) -> Result<Detector, Failure> {
    let Some(name) = name else { return default_detector(files) };
    if let Some(detector) = Detector::built_in(name) {
        return Ok(detector);
    }
    if !name.ends_with(".toml") && !Path::new(name).exists() {
        return Err(Failure::Usage {
            message: format!("there is no detector `{name}`"),
            help: "--detector takes atlas2010, generic, or a TOML file like those in data/detectors",
        });
    }
    Ok(Detector::from_toml(name, &read_text(Path::new(name))?)?)
}

/// The detector that files of these formats are usually of.
fn default_detector(files: &[PathBuf]) -> Result<Detector, Failure> {
    let mut formats = Vec::new();
    for file in files {
        formats.push(zfinder::io::format(file)?);
    }
    formats.dedup();
    match formats[..] {
        [] | [zfinder::io::Format::Own] => Ok(Detector::atlas2010()),
        [zfinder::io::Format::Acts] => Ok(Detector::generic()),
        _ => Err(Failure::Usage {
            message: "the input has files with `layer` and files of ACTS".into(),
            help: "name the detector that all of them are of with --detector",
        }),
    }
}
