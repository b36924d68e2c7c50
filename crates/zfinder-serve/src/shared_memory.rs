//! System shared memory: tensors that a client on the same host puts into `/dev/shm`.
//!
//! A region is read and written as a file instead of being mapped: a client that shortens its
//! region during a read gets a refusal, where a mapping would crash the server.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;

use crate::limits::REGIONS;
use crate::refusal::{Reason, Refusal, check_name, shown};

const NOT_OFFERED: &str = "shared memory is not offered; send tensors in the request, or start the server with \
                           --shared-memory (Linux)";

/// A part of a shared memory object that a client registered.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) key: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    file: File,
}

/// A tensor's place in a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TensorPlace {
    pub(crate) region: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl TensorPlace {
    /// Reads the parameters of a tensor; None if they name no region. `text` and `number` look a
    /// parameter up.
    pub(crate) fn read<'a>(
        tensor: &str,
        text: impl Fn(&str) -> Option<&'a str>,
        number: impl Fn(&str) -> Option<u64>,
    ) -> Result<Option<Self>, Refusal> {
        let Some(region) = text("shared_memory_region") else { return Ok(None) };
        let bytes = number("shared_memory_byte_size").ok_or_else(|| {
            let tensor = shown(tensor);
            Refusal::invalid(format!("tensor {tensor}: shared_memory_byte_size is missing or no number of bytes"))
        })?;
        check_name("a name of a region", region)?;
        let offset = number("shared_memory_offset").unwrap_or(0);
        Ok(Some(Self { region: region.to_owned(), offset, bytes }))
    }
}

/// All regions, by their names.
#[derive(Debug)]
pub(crate) struct Regions {
    is_offered: bool,
    /// Most bytes of the tensors of a request.
    most_bytes: u64,
    named: RwLock<BTreeMap<String, Arc<Region>>>,
}

impl Regions {
    pub(crate) fn new(is_offered: bool, most_bytes: usize) -> Self {
        Self { is_offered, most_bytes: most_bytes as u64, named: RwLock::default() }
    }

    pub(crate) fn is_offered(&self) -> bool {
        self.is_offered
    }

    fn named(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<Region>>> {
        self.named.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens an object, and registers `bytes` of it from `offset` on under a name.
    pub(crate) fn register(&self, name: &str, key: &str, offset: u64, bytes: u64) -> Result<(), Refusal> {
        if !self.is_offered {
            return Err(Refusal::new(Reason::Unsupported, NOT_OFFERED));
        }
        check_name("the name of the region", name)?;
        check_name("the key of the region", key)?;
        let refuse = |why: String| Refusal::invalid(format!("shared memory region `{}`: {why}", shown(name)));
        if name.is_empty() {
            return Err(refuse("the name is empty".into()));
        }
        let file = open(key);
        let object = shown(key);
        let file = file.map_err(|error| refuse(format!("cannot open the object `{object}`: {error}")))?;
        let metadata = file.metadata().map_err(|error| refuse(error.to_string()))?;
        if !metadata.is_file() {
            return Err(refuse(format!("`{object}` is no shared memory object")));
        }
        let end = offset.checked_add(bytes).filter(|&end| bytes > 0 && end <= metadata.len());
        if end.is_none() {
            let held = metadata.len();
            return Err(refuse(format!("{bytes} bytes from {offset} on do not lie in `{object}`, which has {held}")));
        }
        let mut named = self.named.write().unwrap_or_else(PoisonError::into_inner);
        if named.contains_key(name) {
            let message = "the name is taken; unregister it first".to_owned();
            return Err(refuse(message));
        }
        if named.len() >= REGIONS {
            let message = format!("{REGIONS} shared memory regions are registered; unregister one");
            return Err(Refusal::new(Reason::Full, message));
        }
        named.insert(name.to_owned(), Arc::new(Region { key: key.to_owned(), offset, bytes, file }));
        Ok(())
    }

    /// Unregisters a region, or all if the name is empty. An unknown name is no error.
    pub(crate) fn unregister(&self, name: &str) {
        let mut named = self.named.write().unwrap_or_else(PoisonError::into_inner);
        if name.is_empty() {
            named.clear();
        } else {
            named.remove(name);
        }
    }

    /// Returns a region with its name, or all if the name is empty.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<(String, Arc<Region>)>, Refusal> {
        if name.is_empty() {
            return Ok(self.named().iter().map(|(name, region)| (name.clone(), Arc::clone(region))).collect());
        }
        Ok(vec![(name.to_owned(), self.find(name)?)])
    }

    fn find(&self, name: &str) -> Result<Arc<Region>, Refusal> {
        if !self.is_offered {
            return Err(Refusal::new(Reason::Unsupported, NOT_OFFERED));
        }
        let region = self.named().get(name).map(Arc::clone);
        region.ok_or_else(|| {
            let name = shown(name);
            Refusal::new(Reason::NotFound, format!("there is no shared memory region `{name}`; register it"))
        })
    }

    /// Returns the region of a place, and the start of the place in its object.
    fn locate(&self, place: &TensorPlace) -> Result<(Arc<Region>, u64), Refusal> {
        let region = self.find(&place.region)?;
        let fits = place.offset.checked_add(place.bytes).is_some_and(|end| end <= region.bytes);
        if !fits {
            let TensorPlace { offset, bytes, .. } = place;
            let (name, held) = (shown(&place.region), region.bytes);
            let message = format!("{bytes} bytes from {offset} on do not lie in region `{name}`, which has {held}");
            return Err(Refusal::invalid(message));
        }
        let offset = region.offset + place.offset;
        Ok((region, offset))
    }

    /// Copies a tensor from its place. `read` counts the bytes of the request.
    pub(crate) fn read(&self, place: &TensorPlace, read: &mut u64) -> Result<Bytes, Refusal> {
        let (region, offset) = self.locate(place)?;
        *read = read.saturating_add(place.bytes);
        if *read > self.most_bytes {
            let most = self.most_bytes;
            return Err(Refusal::invalid(format!(
                "tensors in shared memory are larger than {most} bytes; send fewer RoIs"
            )));
        }
        let mut data = vec![0; place.bytes as usize];
        read_at(&region.file, &mut data, offset).map_err(|error| {
            Refusal::invalid(format!("shared memory region `{}` cannot be read: {error}", shown(&place.region)))
        })?;
        Ok(data.into())
    }

    /// Copies a tensor of an answer to its place.
    pub(crate) fn write(&self, tensor: &str, place: &TensorPlace, data: &[u8]) -> Result<(), Refusal> {
        let (region, offset) = self.locate(place)?;
        if data.len() as u64 > place.bytes {
            let (needed, held) = (data.len(), place.bytes);
            let tensor = shown(tensor);
            let message = format!("output {tensor} has {needed} bytes, and its shared memory has room for {held}");
            return Err(Refusal::invalid(message));
        }
        write_at(&region.file, data, offset).map_err(|error| {
            Refusal::invalid(format!("shared memory region `{}` cannot be written: {error}", shown(&place.region)))
        })
    }
}

/// Opens the object of a key as `shm_open` does.
#[cfg(target_os = "linux")]
fn open(key: &str) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let name = key.strip_prefix('/').unwrap_or(key);
    if name.is_empty() || name.contains(['/', '\0']) || name == "." || name == ".." {
        let message = "a key is one name, with or without a slash before it";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, message));
    }
    let path = std::path::Path::new("/dev/shm").join(name);
    // A link could name any file of the server's user, and a pipe would block.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    std::fs::OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

#[cfg(not(target_os = "linux"))]
fn open(_: &str) -> std::io::Result<File> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn read_at(file: &File, data: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, data, offset)
}

#[cfg(unix)]
fn write_at(file: &File, data: &[u8], offset: u64) -> std::io::Result<()> {
    // A write beyond the end would grow the object, but its owner sets the size.
    if file.metadata()?.len() < offset + data.len() as u64 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    std::os::unix::fs::FileExt::write_all_at(file, data, offset)
}

#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
fn write_at(_: &File, _: &[u8], _: u64) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// An object that ends with the test.
    struct Object(String);

    impl Object {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let key = format!("/zfinder-{name}-{}", std::process::id());
            std::fs::write(format!("/dev/shm{key}"), bytes).expect("an object");
            Self(key)
        }
    }

    impl Drop for Object {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(format!("/dev/shm{}", self.0));
        }
    }

    fn place(offset: u64, bytes: u64) -> TensorPlace {
        TensorPlace { region: "r".into(), offset, bytes }
    }

    #[test]
    fn tensors_are_read_and_written_in_their_region_alone() {
        let object = Object::new("tensors", b"0123456789");
        let regions = Regions::new(true, 5);
        regions.register("r", &object.0, 2, 6).expect("a region");
        assert_eq!(regions.read(&place(1, 4), &mut 0).expect("read")[..], *b"3456");
        regions.write("Z", &place(5, 1), b"x").expect("written");
        let listed = regions.list("").expect("all");
        assert_eq!((listed.len(), listed[0].1.offset, listed[0].1.bytes), (1, 2, 6));
        for (outcome, words) in [
            (regions.read(&place(3, 4), &mut 0).map(drop), "do not lie in region"),
            (regions.read(&place(u64::MAX, 4), &mut 0).map(drop), "do not lie in region"),
            (regions.read(&place(0, 4), &mut 2).map(drop), "larger than 5 bytes"),
            (regions.write("Z", &place(0, 2), b"abc"), "has room for 2"),
            (regions.register("r", &object.0, 0, 1), "the name is taken"),
            (regions.register("s", &object.0, 5, 6), "do not lie in `/zfinder-tensors"),
            (regions.register("s", &object.0, u64::MAX, 6), "do not lie in `/zfinder-tensors"),
            (regions.register("s", "/../../etc/passwd", 0, 1), "one name"),
            (regions.register("s", "", 0, 1), "one name"),
            (regions.register("s", "zfinder-nothing", 0, 1), "cannot open"),
            (regions.register("", &object.0, 0, 1), "the name is empty"),
        ] {
            let message = outcome.expect_err(words).message;
            assert!(message.contains(words), "{message}");
        }
        assert_eq!(std::fs::read(format!("/dev/shm{}", object.0)).expect("the object"), b"0123456x89");
        regions.unregister("r");
        assert_eq!(regions.read(&place(0, 1), &mut 0).expect_err("gone").reason, Reason::NotFound);
    }

    #[test]
    fn an_object_that_shrinks_is_refused() {
        let object = Object::new("shrinks", &[7; 100]);
        let regions = Regions::new(true, 1000);
        regions.register("r", &object.0, 0, 100).expect("a region");
        std::fs::write(format!("/dev/shm{}", object.0), [7; 10]).expect("shorter");
        assert!(regions.read(&place(0, 100), &mut 0).is_err());
        assert!(regions.write("Z", &place(50, 10), &[1; 10]).is_err());
        assert_eq!(regions.read(&place(0, 10), &mut 0).expect("what is left")[..], [7; 10]);
    }

    #[test]
    fn links_and_folders_are_no_objects() {
        let target = Object::new("target", b"secret");
        let link = format!("/dev/shm/zfinder-link-{}", std::process::id());
        std::os::unix::fs::symlink(format!("/dev/shm{}", target.0), &link).expect("a link");
        let folder = format!("/dev/shm/zfinder-folder-{}", std::process::id());
        std::fs::create_dir(&folder).expect("a folder");
        let regions = Regions::new(true, 1000);
        let [of_link, of_folder] =
            [&link, &folder].map(|path| regions.register("r", path.trim_start_matches("/dev/shm"), 0, 1));
        std::fs::remove_file(&link).expect("removed");
        std::fs::remove_dir(&folder).expect("removed");
        assert!(of_link.is_err() && of_folder.is_err());
    }

    #[test]
    fn without_the_option_nothing_is_offered() {
        let object = Object::new("unoffered", b"0");
        let refused = Regions::new(false, 10).register("r", &object.0, 0, 1).expect_err("not offered");
        assert_eq!(refused.reason, Reason::Unsupported);
    }
}
