//! Finds files of spacepoints.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::colliderml;
use super::formats::has_spacepoints;
use super::source::{failed, file_name, is_stream, named, stream_name};
use crate::error::{Error, Result};

/// The expanded list of a user's files and folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Files of spacepoints: the named files, and those in named folders, sorted by name.
    pub files: Vec<PathBuf>,
    /// Files and folders that were left out of the folders. Hidden files are not listed.
    pub skipped: Vec<PathBuf>,
    /// Files in the folders that accompany spacepoints: truth, RoIs, and the other files of a
    /// TrackML event. A command must not replace them, whether it reads them or not.
    pub companions: Vec<PathBuf>,
}

/// Expands folders into files of spacepoints, sorted by path. A folder contributes each file
/// `*spacepoint*`, and each other file with the columns of a format that
/// [`SpacepointReader`](super::SpacepointReader) reads: CSV (gzipped or not), Parquet or ROOT.
/// `truth_vertices.csv`, RoI files (`rois.csv`, `*-rois.csv`) and the other files of a TrackML
/// event are left out. A folder without files of spacepoints contributes the tracker hits of the
/// sample of ColliderML below it, or else the files of its folders, as partitions of Hive and Spark
/// (`event_id=7/part-0.parquet`) are stored. `colliderml:NAME` is the sample of that name in
/// `$COLLIDERML_DATA_DIR`. `-` is standard input. Pipes and devices are streams, which are read
/// once.
///
/// # Errors
/// A path that is missing or unreadable, a folder without files of spacepoints or with several
/// samples, and a stream that is named twice.
pub fn inputs(paths: &[PathBuf]) -> Result<Inputs> {
    let mut inputs = Inputs::default();
    for path in paths {
        if let Some(folder) = colliderml::by_name(path)? {
            add_folder(&folder, DEPTH, &mut inputs)?;
            continue;
        }
        if is_stream(path) {
            if inputs.files.iter().any(|other| stream_name(other) == stream_name(path)) {
                let message = "is named twice, and a stream can be read once only".into();
                return Err(Error::Input { path: named(path), row: 0, column: None, message });
            }
            inputs.files.push(path.clone());
            continue;
        }
        let metadata = fs::metadata(path).map_err(|source| failed(path, source))?;
        if !metadata.is_dir() {
            inputs.files.push(path.clone());
        } else if !add_folder(path, DEPTH, &mut inputs)? {
            return Err(Error::Input {
                path: path.clone(),
                row: 0,
                column: None,
                message:
                    "the folder and the folders in it hold no `*spacepoint*.csv[.gz]` and no other file of spacepoints \
                     (CSV, Parquet, ROOT)"
                        .into(),
            });
        }
    }
    Ok(inputs)
}

/// Depth of the search below a folder.
const DEPTH: usize = 6;

/// Adds the files of a folder, or those of the sample of ColliderML below it, or those of its
/// folders. Returns whether any were added.
fn add_folder(path: &Path, depth: usize, inputs: &mut Inputs) -> Result<bool> {
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries: Vec<PathBuf> =
        entries.map_err(|source| failed(path, source))?.iter().map(fs::DirEntry::path).collect();
    entries.sort();
    let before = [inputs.files.len(), inputs.skipped.len()];
    for entry in entries {
        let stem = data_stem(&entry).filter(|_| entry.is_file());
        if file_name(&entry).starts_with('.') {
            continue;
        }
        if stem.as_deref().is_some_and(is_companion) {
            inputs.companions.push(entry);
            continue;
        }
        // The name decides for some files; the header decides for all others.
        if stem.is_some_and(|stem| stem.contains("spacepoint") || has_spacepoints(&entry)) {
            inputs.files.push(entry);
        } else {
            inputs.skipped.push(entry);
        }
    }
    if inputs.files.len() > before[0] {
        return Ok(true);
    }
    if let Some(hits) = colliderml::below(path)?.filter(|hits| hits != path) {
        inputs.skipped.truncate(before[1]);
        return add_folder(&hits, depth, inputs);
    }
    let folders: Vec<PathBuf> = inputs.skipped[before[1]..].iter().filter(|path| path.is_dir()).cloned().collect();
    inputs.skipped.retain(|path| !folders.contains(path));
    for folder in folders.into_iter().filter(|folder| !file_name(folder).starts_with('_')) {
        if depth == 0 {
            inputs.skipped.push(folder);
        } else {
            add_folder(&folder, depth - 1, inputs)?;
        }
    }
    Ok(inputs.files.len() > before[0])
}

/// Returns whether files with this name accompany spacepoints and hold none: truth, RoIs, and the
/// other files of a TrackML event.
fn is_companion(stem: &str) -> bool {
    const NAMES: [&str; 3] = ["truth_vertices", "rois", "detectors"];
    const ENDINGS: [&str; 5] = ["-rois", "-cells", "-particles", "-truth", "_particles"];
    NAMES.contains(&stem) || ENDINGS.iter().any(|ending| stem.ends_with(ending))
}

/// Returns the name without `.csv`, `.csv.gz`, `.csv.zst`, `.parquet` or `.root`, in lower case.
fn data_stem(path: &Path) -> Option<String> {
    const ENDINGS: [&str; 5] = [".csv", ".csv.gz", ".csv.zst", ".parquet", ".root"];
    let name = file_name(path).to_lowercase();
    let stem = ENDINGS.into_iter().find_map(|ending| name.strip_suffix(ending))?;
    Some(stem.to_owned())
}
