//! Models: configurations under a name and a version.

use std::path::Path;

use zfinder::{Config, Preset};

use crate::error::{Error, Result};

/// A configuration with the name under which it is served.
#[derive(Clone, Debug)]
pub struct Model {
    /// Name in requests.
    pub name: String,
    /// Version, a positive number. A request without a version gets the highest one.
    pub version: u32,
    /// Configuration of the search.
    pub config: Config,
}

/// Prefix of the names of models that are presets.
const PREFIX: &str = "zfinder-";

impl Model {
    /// Returns the model of a preset: `zfinder-hard-scatter`, version 1.
    pub fn preset(preset: Preset) -> Self {
        Self { name: format!("{PREFIX}{preset}"), version: 1, config: Config::preset(preset) }
    }

    /// Returns the models of all presets.
    pub fn presets() -> Vec<Self> {
        Preset::ALL.iter().copied().map(Self::preset).collect()
    }

    /// Reads the models of a folder: `NAME.toml` is version 1 of model `NAME`, and
    /// `NAME/VERSION.toml` is another version. Files with other names are ignored.
    ///
    /// # Errors
    /// [`Error::Folder`]: the folder or a file is unreadable, a file is not a configuration, a
    /// version is not a number, or the folder holds no model. version is no number, or the folder
    /// holds no model.
    pub fn folder(folder: &Path) -> Result<Vec<Self>> {
        let mut models = Vec::new();
        for path in entries(folder)? {
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            if path.is_dir() {
                for path in entries(&path)?.into_iter().filter(|path| is_toml(path)) {
                    let version = path.file_stem().and_then(|version| version.to_str()?.parse().ok());
                    let Some(version @ 1..) = version else {
                        return Err(refuse(&path, "a version is a number from 1: NAME/2.toml"));
                    };
                    models.push(Self::read(name, version, &path)?);
                }
            } else if is_toml(&path) {
                models.push(Self::read(name, 1, &path)?);
            }
        }
        if models.is_empty() {
            return Err(refuse(folder, "there is no model in it: NAME.toml or NAME/VERSION.toml"));
        }
        Ok(models)
    }

    fn read(name: &str, version: u32, path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| refuse(path, error))?;
        let config = zfinder_io::config_from_toml(&text).map_err(|error| refuse(path, error))?;
        Ok(Self { name: name.to_owned(), version, config })
    }
}

fn refuse(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::Folder { path: path.to_owned(), reason: reason.to_string() }
}

fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// The paths in a folder, in order.
fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| refuse(folder, error))?;
    let paths: std::io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(|error| refuse(folder, error))?;
    paths.sort();
    Ok(paths)
}
