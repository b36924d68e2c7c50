//! Finds the folders of ColliderML samples: tracker hits, and the particles of a file of hits.
//!
//! | layout | tracker hits | particles |
//! |---|---|---|
//! | data folder of the library `colliderml` | `SET/NAME_tracker_hits/data/NAME_tracker_hits/*.parquet` | `SET/NAME_particles/data/NAME_particles` |
//! | the data set's repository | `SET/data/NAME_tracker_hits/*.parquet` | `SET/data/NAME_particles` |
//! | production | `reco/tracker_hits/*.parquet` | `truth/particles` |
//! | production, one folder | `tracker_hits/*.parquet` | `particles` |

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::parquet;
use super::source::failed;
use crate::error::{Error, Result};

/// Prefix of the name of a sample in place of a file or folder.
const PREFIX: &str = "colliderml:";
const HITS: &str = "tracker_hits";
const PARTICLES: &str = "particles";
/// Depth of the search for hits below a data folder.
const DEPTH: usize = 4;
/// Number of samples that a message lists.
const NAMED: usize = 20;

/// Returns the folder of a sample's hits if the path is a name such as `colliderml:ttbar_pu200`,
/// and None otherwise. The sample is looked up in `$COLLIDERML_DATA_DIR`, else in
/// `~/.cache/colliderml`.
///
/// # Errors
/// A missing sample, and a sample that several data sets have.
pub(super) fn by_name(path: &Path) -> Result<Option<PathBuf>> {
    let name = path.to_str().and_then(|path| path.strip_prefix(PREFIX));
    let Some(name) = name.filter(|_| !path.exists()) else { return Ok(None) };
    find(name, data_folder().as_deref()).map(Some)
}

/// Returns the folder of hits below a folder, if it exists. A folder that holds hits itself is not
/// searched.
///
/// # Errors
/// A folder with several samples.
pub(super) fn below(folder: &Path) -> Result<Option<PathBuf>> {
    let mut samples = samples(folder);
    if samples.len() > 1 {
        let message = format!("holds {} samples of ColliderML, and one is expected: {}", samples.len(), list(&samples));
        return Err(Error::Input { path: folder.to_owned(), row: 0, column: None, message });
    }
    Ok(samples.pop())
}

/// Returns whether a file lies in a folder of ColliderML's tracker hits, so that its detector is
/// the Open Data Detector.
pub fn is_colliderml(file: &Path) -> bool {
    folder_of(file).is_some_and(|folder| is_of_hits(&folder))
}

/// Returns the files of particles whose events may be in a file of hits.
///
/// # Errors
/// A folder or file that cannot be read.
pub(super) fn particles(hits: &Path) -> Result<Vec<PathBuf>> {
    let Some(folder) = folder_of(hits).filter(|folder| is_of_hits(folder)) else { return Ok(Vec::new()) };
    let Some(folder) = particles_folder(&folder) else { return Ok(Vec::new()) };
    let mut files = parquet_files(&folder).map_err(|source| failed(&folder, source))?;
    let Some([first, last]) = parquet::event_range(hits)? else { return Ok(files) };
    let mut kept = Vec::new();
    for file in files.drain(..) {
        if parquet::event_range(&file)?.is_none_or(|[from, to]| from <= last && to >= first) {
            kept.push(file);
        }
    }
    Ok(kept)
}

fn find(name: &str, data: Option<&Path>) -> Result<PathBuf> {
    let path = PathBuf::from(format!("{PREFIX}{name}"));
    let refuse = |message| Err(Error::Input { path: path.clone(), row: 0, column: None, message });
    let Some(data) = data else {
        return refuse("set COLLIDERML_DATA_DIR to the folder of ColliderML's data".into());
    };
    let all = samples(data);
    let wanted = format!("{name}_{HITS}");
    let found: Vec<&PathBuf> = all.iter().filter(|folder| folder.file_name() == Some(OsStr::new(&wanted))).collect();
    match found[..] {
        [folder] => Ok(folder.clone()),
        [] => {
            let there = if all.is_empty() { "no sample".into() } else { list(&all) };
            refuse(format!(
                "there are no tracker hits of this sample in {} (COLLIDERML_DATA_DIR), which has: {there}; download them and \
                 the sample's particles, or name the folder of the hits",
                data.display()
            ))
        }
        _ => {
            let found: Vec<PathBuf> = found.into_iter().cloned().collect();
            refuse(format!("several data sets have this sample, name one of these folders: {}", list(&found)))
        }
    }
}

/// Returns the folder that the library `colliderml` downloads to.
fn data_folder() -> Option<PathBuf> {
    match env::var_os("COLLIDERML_DATA_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => Some(folder.into()),
        None => env::home_dir().map(|home| home.join(".cache").join("colliderml")),
    }
}

/// Returns all folders of hits below a folder, in order. An unreadable folder counts as empty.
fn samples(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, DEPTH, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if is_of_hits(folder) && parquet_files(folder).is_ok_and(|files| !files.is_empty()) {
        return found.push(folder.to_owned());
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|_| depth > 0) {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let may_be_folder = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
        if may_be_folder && !is_hidden && entry.path().is_dir() {
            collect(&entry.path(), depth - 1, found);
        }
    }
}

/// Returns the name of the sample if a folder has the name of a folder of hits. The name is empty
/// in the layout of the production.
fn sample_of(folder: &Path) -> Option<&str> {
    let sample = folder.file_name()?.to_str()?.strip_suffix(HITS)?;
    if sample.is_empty() { Some(sample) } else { sample.strip_suffix('_') }
}

fn is_of_hits(folder: &Path) -> bool {
    sample_of(folder).is_some()
}

/// Returns the folder of a file as an absolute path. Links are not followed.
fn folder_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    fs::canonicalize(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).ok()
}

fn particles_folder(hits: &Path) -> Option<PathBuf> {
    let above = |levels| hits.ancestors().nth(levels);
    let candidates = match sample_of(hits)? {
        "" => [above(1)?.join(PARTICLES), above(2)?.join("truth").join(PARTICLES)],
        sample => {
            let name = format!("{sample}_{PARTICLES}");
            let downloaded = above(3).map(|set| set.join(&name).join("data").join(&name));
            [above(1)?.join(&name), downloaded.unwrap_or_default()]
        }
    };
    candidates.into_iter().find(|folder| folder.is_dir())
}

fn parquet_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let files = entries.iter().map(fs::DirEntry::path);
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension() == Some(OsStr::new("parquet"))).collect();
    files.sort();
    Ok(files)
}

fn list(folders: &[PathBuf]) -> String {
    let names = folders.iter().take(NAMED).map(|folder| folder.display().to_string());
    let mut text = names.collect::<Vec<_>>().join(", ");
    if folders.len() > NAMED {
        text.push_str(&format!(" and {} more", folders.len() - NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn with_files(files: &[&str]) -> TempDir {
        let dir = TempDir::new().expect("a folder");
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, "").expect("written");
        }
        dir
    }

    #[test]
    fn samples_are_found_by_name() {
        let dir = with_files(&[
            "CERN__R1/ttbar_pu0_tracker_hits/data/ttbar_pu0_tracker_hits/train-0.parquet",
            "CERN__R1/ttbar_pu0_tracker_hits/metadata.json",
            "CERN__R1/ggf_pu0_tracker_hits/data/ggf_pu0_tracker_hits/train-0.parquet",
            "CERN__R1/zee_pu0_particles/data/zee_pu0_particles/train-0.parquet",
            "local/data/ggf_pu0_tracker_hits/train-0.parquet",
            ".hidden/zmumu_pu0_tracker_hits/train-0.parquet",
        ]);
        let found = find("ttbar_pu0", Some(dir.path())).expect("one");
        assert!(found.ends_with("CERN__R1/ttbar_pu0_tracker_hits/data/ttbar_pu0_tracker_hits"), "{found:?}");
        let message = |name| find(name, Some(dir.path())).expect_err("refused").to_string();
        for name in ["zee_pu0", "zmumu_pu0"] {
            let message = message(name);
            assert!(message.starts_with(&format!("colliderml:{name}: there are no tracker hits")), "{message}");
            assert!(message.contains("ttbar_pu0_tracker_hits") && !message.contains("hidden"), "{message}");
        }
        assert!(message("ggf_pu0").contains("several data sets"), "{}", message("ggf_pu0"));
        let error = find("ttbar_pu0", None).expect_err("no folder").to_string();
        assert!(error.contains("COLLIDERML_DATA_DIR"), "{error}");
        assert_eq!(by_name(Path::new("ttbar_pu0")).expect("no name"), None);
    }

    #[test]
    fn particles_lie_beside_hits_in_each_layout() {
        for (hits, particles) in [
            ("R1/a_pu0_tracker_hits/data/a_pu0_tracker_hits", "R1/a_pu0_particles/data/a_pu0_particles"),
            ("data/a_pu0_tracker_hits", "data/a_pu0_particles"),
            ("parquet/reco/tracker_hits", "parquet/truth/particles"),
            ("run/tracker_hits", "run/particles"),
        ] {
            let files = [format!("{hits}/train-0.parquet"), format!("{particles}/train-0.parquet")];
            let dir = with_files(&files.each_ref().map(String::as_str));
            let root = fs::canonicalize(dir.path()).expect("there");
            assert!(is_colliderml(&root.join(&files[0])) && !is_colliderml(&root.join(&files[1])));
            assert_eq!(particles_folder(&root.join(hits)), Some(root.join(particles)));
            assert_eq!(below(dir.path()).expect("one"), Some(dir.path().join(hits)));
        }
        let dir = with_files(&["sample/a_tracker_hits.parquet"]);
        assert!(!is_colliderml(&dir.path().join("sample/a_tracker_hits.parquet")));
        assert_eq!(below(dir.path()).expect("none"), None);
    }
}
