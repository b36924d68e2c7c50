//! Files that a program holds in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static HELD: Mutex<BTreeMap<PathBuf, Arc<[u8]>>> = Mutex::new(BTreeMap::new());

fn held() -> MutexGuard<'static, BTreeMap<PathBuf, Arc<[u8]>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file in memory. While it lives, the readers of CSV and Parquet find it by its name, before any
/// file of the system. A page in a browser has no other files. A second file of the same name
/// replaces the first. ROOT files in memory are not read.
///
/// ```
/// use zfinder::Detector;
/// use zfinder_io::{MemoryFile, SpacepointReader};
///
/// let file = MemoryFile::new("event7.csv", b"x,y,z,layer\n30,40,5,0\n".as_slice());
/// let files = vec![file.path().to_owned()];
/// let mut reader = SpacepointReader::new(files, Detector::atlas2010(), None);
/// let roi = reader.next().expect("there is one")?;
/// assert_eq!((roi.descriptor.id.event_id, roi.spacepoints[0].rho), (7, 50.0));
/// # Ok::<(), zfinder_io::Error>(())
/// ```
#[derive(Debug)]
pub struct MemoryFile {
    path: PathBuf,
    bytes: Arc<[u8]>,
}

impl MemoryFile {
    /// Holds these bytes under this name, which may be any but an empty one.
    pub fn new(name: impl Into<PathBuf>, bytes: impl Into<Arc<[u8]>>) -> Self {
        let file = Self { path: name.into(), bytes: bytes.into() };
        held().insert(file.path.clone(), Arc::clone(&file.bytes));
        file
    }

    /// Returns the name, for readers.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let mut held = held();
        // Another file may have taken its name.
        if held.get(&self.path).is_some_and(|bytes| Arc::ptr_eq(bytes, &self.bytes)) {
            held.remove(&self.path);
        }
    }
}

/// Returns the bytes of a file in memory.
pub(super) fn bytes(path: &Path) -> Option<Arc<[u8]>> {
    held().get(path).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;
    use crate::{Addressing, addressing, is_stream, line};

    #[test]
    fn a_file_in_memory_is_there_as_long_as_it_lives() {
        let path = Path::new("memory-lives.csv");
        let first = MemoryFile::new(path, b"x,y,z,layer\n".as_slice());
        assert_eq!(addressing(path, &ReadOptions::default()).expect("a header"), Addressing::Index);
        let second = MemoryFile::new(path, b"x,y,z,geometry_id\n1,2,3,4\n".as_slice());
        drop(first);
        assert_eq!(addressing(path, &ReadOptions::default()).expect("a header"), Addressing::Geometry);
        assert_eq!(line(path, 2).as_deref(), Some("1,2,3,4"));
        drop(second);
        assert!(addressing(path, &ReadOptions::default()).is_err());
    }

    /// A name from elsewhere may be that of a stream here.
    #[test]
    fn a_file_in_memory_is_no_stream() {
        let _file = MemoryFile::new("-", b"x,y,z,layer\n".as_slice());
        assert!(!is_stream(Path::new("-")));
        assert_eq!(addressing(Path::new("-"), &ReadOptions::default()).expect("a header"), Addressing::Index);
    }
}
