//! Writes spacepoints to a TTree.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
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
        // Creating the file here gives the system's error instead of oxyroot's.
        File::create(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let (to, entries) = sync_channel(WAITING);
        let file = path.to_owned();
        let work = move || quietly(|| write(&file, entries)).unwrap_or_else(Err);
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

fn write(path: &Path, entries: Receiver<Entry>) -> Result<(), String> {
    let mut file = RootFile::create(path).map_err(|error| error.to_string())?;
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
    whole(path).unwrap_or_else(|error| Err(error.to_string()))
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
