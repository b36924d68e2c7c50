//! Writes spacepoints to a TTree.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use oxyroot::{RootFile, WriterTree};

use crate::SpacepointWriter;
use crate::error::{Error, Result};
use crate::guard::quietly;
use zfinder::RoiView;

/// Number of RoIs in the queue.
const WAITING: usize = 4;

/// One entry of the tree.
struct Entry {
    event_id: u64,
    roi_id: u64,
    position: [Vec<f64>; 3],
    layer: Vec<f32>,
}

/// Writes spacepoints as a TTree `spacepoints`: an entry for each RoI, with the branches
/// `event_id`, `roi_id` (u64), `rho`, `phi`, `z` (`std::vector<double>`) and `layer`
/// (`std::vector<float>`). Layers are whole numbers in floats, because oxyroot gives a vector of
/// integers a type name that uproot does not know. oxyroot limits files to uncompressed data below
/// 2 GB.
pub struct RootSpacepoints {
    path: PathBuf,
    /// The sender of entries; None after the end.
    to: Option<SyncSender<Entry>>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl RootSpacepoints {
    /// Begins a file, and a thread that writes it: oxyroot requests entries, so it needs a thread
    /// of its own.
    ///
    /// # Errors
    /// A file that cannot be created, and a system that gives no thread.
    pub fn create(path: &Path) -> Result<Self> {
        Self::create_named(path, path)
    }

    /// Begins a file as [`RootSpacepoints::create`] does, which will have another path in the end.
    /// On Linux the file holds the last part of this name, so that its bytes do not depend on the
    /// temporary path.
    ///
    /// # Errors
    /// As [`RootSpacepoints::create`].
    pub fn create_named(path: &Path, name: &Path) -> Result<Self> {
        // Creating the file here gives the system's error instead of oxyroot's.
        let created = File::create(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (to, entries) = sync_channel(WAITING);
        let file = path.to_owned();
        let work = move || quietly(|| write(&file, &created, &name, entries)).unwrap_or_else(Err);
        let thread = thread::Builder::new().name("zfinder root".into()).spawn(work).map_err(zfinder::Error::Thread)?;
        Ok(Self { path: path.to_owned(), to: Some(to), thread: Some(thread) })
    }

    /// Waits for the thread, and returns its error.
    fn end(&mut self) -> Result<()> {
        self.to = None;
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let ended = thread.join().unwrap_or_else(|_| Err("the thread that writes it is gone".into()));
        ended.map_err(|message| Error::Io { path: self.path.clone(), source: io::Error::other(message) })
    }
}

impl SpacepointWriter for RootSpacepoints {
    fn write(&mut self, roi: RoiView<'_>) -> Result<()> {
        let id = roi.descriptor.id;
        let mut position = [(); 3].map(|()| Vec::with_capacity(roi.len()));
        let mut layer = Vec::with_capacity(roi.len());
        for point in roi.spacepoints() {
            for (to, value) in position.iter_mut().zip([point.rho, point.phi, point.z]) {
                to.push(value);
            }
            layer.push(point.layer as f32);
        }
        let entry = Entry { event_id: id.event_id, roi_id: id.roi_id, position, layer };
        match &self.to {
            Some(to) if to.send(entry).is_ok() => Ok(()),
            _ => self.end(),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.end()
    }
}

fn write(path: &Path, created: &File, name: &str, entries: Receiver<Entry>) -> Result<(), String> {
    let alias = Alias::new(created, name);
    let opened = alias.as_ref().map_or(path, |alias| Path::new(&alias.path));
    let mut file = RootFile::create(opened).map_err(|error| error.to_string())?;
    let mut tree = WriterTree::new("spacepoints");
    // For each entry, branches are called in order: the first receives the entry.
    let entry: Rc<RefCell<Option<Entry>>> = Rc::default();
    let first = entry.clone();
    let event = std::iter::from_fn(move || {
        let next = entries.recv().ok();
        let event_id = next.as_ref().map(|entry| entry.event_id);
        *first.borrow_mut() = next;
        event_id
    });
    tree.new_branch("event_id", event);
    let of = |part: fn(&mut Entry) -> Vec<f64>| {
        let entry = entry.clone();
        std::iter::from_fn(move || entry.borrow_mut().as_mut().map(part))
    };
    let roi = entry.clone();
    tree.new_branch("roi_id", std::iter::from_fn(move || roi.borrow().as_ref().map(|entry| entry.roi_id)));
    tree.new_branch("rho", of(|entry| std::mem::take(&mut entry.position[0])));
    tree.new_branch("phi", of(|entry| std::mem::take(&mut entry.position[1])));
    tree.new_branch("z", of(|entry| std::mem::take(&mut entry.position[2])));
    let layer = entry.clone();
    let layer = std::iter::from_fn(move || layer.borrow_mut().as_mut().map(|entry| std::mem::take(&mut entry.layer)));
    tree.new_branch("layer", layer);
    tree.write(&mut file).map_err(|error| error.to_string())?;
    file.close().map_err(|error| error.to_string())?;
    // Dropping the writer writes the last bytes and hides errors, so the length is checked below.
    drop(file);
    whole(path).unwrap_or_else(|error| Err(error.to_string()))?;
    alias.map_or(Ok(()), |alias| alias.replace(path).map_err(|error| error.to_string()))
}

/// A path by which oxyroot opens the file, and the name of the same length that replaces it in the
/// file: oxyroot writes the path into the file, and offers no other name.
struct Alias {
    path: String,
    name: String,
}

impl Alias {
    /// Returns the alias of an open file; None on systems without one, and for a name that is too
    /// long.
    fn new(file: &File, name: &str) -> Option<Self> {
        /// The length of a path with a descriptor of four digits. Descriptors of all processes give
        /// the same length.
        const LEAST: usize = "/dev/fd/1234".len();
        /// ROOT writes the length of a longer text in four more bytes.
        const MOST: usize = 254;
        let path = descriptor_path(file)?;
        let mut name = name.to_owned();
        while name.len() < path.len().max(LEAST) {
            // The same file: ROOT's texts cannot be made longer in any other way.
            name.insert_str(0, "./");
        }
        let path = "/".repeat(name.len() - path.len()) + &path;
        (name.len() <= MOST).then_some(Self { path, name })
    }

    /// Replaces the path in the first record and in the keys of the file's own records.
    fn replace(&self, file: &Path) -> io::Result<()> {
        /// The header and the record of the file end before this byte.
        const HEAD: u64 = 1024;
        const CHUNK: usize = 1 << 20;
        let with_length = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        let wanted = with_length(&self.path);
        let keys = ["TFile", "TDirectory"].map(|class| [with_length(class), wanted.clone()].concat());
        let mut file = File::options().read(true).write(true).open(file)?;
        let (mut at, mut bytes) = (0, Vec::new());
        loop {
            file.seek(SeekFrom::Start(at))?;
            bytes.clear();
            (&file).take(CHUNK as u64).read_to_end(&mut bytes)?;
            for start in places_of(&bytes, &wanted) {
                let place = at + start as u64;
                if place < HEAD || keys.iter().any(|key| bytes[..start + wanted.len()].ends_with(key)) {
                    file.seek(SeekFrom::Start(place + 1))?;
                    file.write_all(self.name.as_bytes())?;
                }
            }
            if bytes.len() < CHUNK {
                return Ok(());
            }
            // A pattern across the end is in the next chunk.
            at += (CHUNK - keys[1].len()) as u64;
        }
    }
}

/// Returns the places of a pattern.
fn places_of<'a>(bytes: &'a [u8], pattern: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(pattern.len()).enumerate().filter(move |(_, window)| *window == pattern).map(|(start, _)| start)
}

#[cfg(target_os = "linux")]
fn descriptor_path(file: &File) -> Option<String> {
    use std::os::fd::AsRawFd;
    let path = format!("/dev/fd/{}", file.as_raw_fd());
    Path::new(&path).exists().then_some(path)
}

/// Other systems open no second file by the path of a descriptor.
#[cfg(not(target_os = "linux"))]
fn descriptor_path(_: &File) -> Option<String> {
    None
}

/// Returns whether the file has the length that its header states.
fn whole(path: &Path) -> io::Result<Result<(), String>> {
    let mut file = File::open(path)?;
    let mut head = [[0; 4]; 4];
    for word in &mut head {
        file.read_exact(word)?;
    }
    let (end, length) = (u64::from(u32::from_be_bytes(head[3])), file.metadata()?.len());
    if head[0] == *b"root" && end == length {
        return Ok(Ok(()));
    }
    Ok(Err(format!("{length} of {end} bytes were written")))
}
