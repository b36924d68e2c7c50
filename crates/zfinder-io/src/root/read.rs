//! Reads spacepoints and truth from a TTree.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use oxyroot::{Named, ReaderTree, RootFile};

use super::checksum;
use super::tree::{Column, Layout, damaged, kind};
use crate::columns::{BadRow, Chunk, Chunks, RoiRun};
use crate::error::{Error, Result};
use crate::event::too_many;
use crate::guard::quietly;
use crate::schema::{Schema, SchemaFault, WANTED};
use crate::source::failed;
use column_names::quoted;
use zfinder::RoiId;

/// A chunk ends with the entry that brings it to this many spacepoints, or after this many entries.
const CHUNK: usize = 1 << 14;
/// Number of chunks in the queue.
const WAITING: usize = 2;

/// An error and its position: entry and branch.
pub(super) struct Fault {
    pub(super) entry: Option<u64>,
    pub(super) branch: Option<String>,
    pub(super) message: String,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self { entry: None, branch: None, message }
    }
}

/// A tree that a separate thread reads: objects of oxyroot stay on one thread, and its panics end
/// there. One or two baskets of each branch and a few chunks are in memory.
pub(super) struct RootTree {
    path: PathBuf,
    tree: String,
    schema: Schema,
    chunks: Receiver<Result<TreeChunk, Fault>>,
}

/// Whole entries, and the faults of the entries that [`Chunk::bad_rows`] stands for.
#[derive(Default)]
struct TreeChunk {
    chunk: Chunk,
    faults: Vec<EntryFault>,
}

/// An entry that cannot be read: its run and its spacepoint, as [`BadRow`] has them.
struct EntryFault {
    run: usize,
    at: Option<usize>,
    fault: Fault,
}

impl RootTree {
    /// Opens a file, and its tree of this name or else the only one with spacepoints. An entry with
    /// more spacepoints than `most` is an error.
    pub(super) fn open(path: &Path, most: usize, tree: Option<&str>) -> Result<Self> {
        // Opening the file here gives the system's error instead of oxyroot's.
        std::fs::File::open(path).map_err(|source| failed(path, source))?;
        let (found, head) = sync_channel(1);
        let (to, chunks) = sync_channel(WAITING);
        let (file, tree) = (path.to_owned(), tree.map(str::to_owned));
        let work = move || {
            let fault = match quietly(|| read(&file, most, tree.as_deref(), &found, &to)) {
                Ok(Ok(())) => return,
                Ok(Err(fault)) => fault,
                Err(panic) => Fault::from(damaged(&panic)),
            };
            // The error is reported where the tree is awaited.
            let _told = found.try_send(Err(fault.message.clone()));
            drop(found);
            let _gone = to.send(Err(fault));
        };
        thread::Builder::new().name("zfinder root".into()).spawn(work).map_err(zfinder::Error::Thread)?;
        let refuse = |message| Err(Error::Input { path: path.to_owned(), row: 0, column: None, message });
        match head.recv() {
            Ok(Ok((tree, schema))) => Ok(Self { path: path.to_owned(), tree, schema, chunks }),
            Ok(Err(message)) => refuse(message),
            Err(_) => refuse(damaged("no tree was read")),
        }
    }
}

/// Sends the tree's name and its schema, then its chunks.
fn read(
    path: &Path,
    most: usize,
    tree: Option<&str>,
    found: &SyncSender<Result<(String, Schema), String>>,
    to: &SyncSender<Result<TreeChunk, Fault>>,
) -> Result<(), Fault> {
    let mut file = open(path)?;
    let (name, tree, schema) = spacepoints(&mut file, tree)?;
    if found.send(Ok((name, schema.clone()))).is_err() {
        return Ok(());
    }
    checksum::verify(path)?;
    let mut columns = Columns::open(&tree, &schema)?;
    let mut entry = 0;
    loop {
        let mut entries = TreeChunk::default();
        let filled = columns.fill(&mut entries, &mut entry, most);
        let chunk = &mut entries.chunk;
        if filled.is_err() {
            // Entries before the bad one are whole.
            let whole: usize = chunk.runs.iter().map(|run| run.spacepoints).sum();
            chunk.position.iter_mut().for_each(|column| column.truncate(whole));
            chunk.layers.iter_mut().for_each(|column| column.truncate(whole));
        }
        let is_empty = chunk.runs.is_empty() && entries.faults.is_empty();
        // The receiver is gone, so the work ends.
        if !is_empty && to.send(Ok(entries)).is_err() {
            return Ok(());
        }
        filled?;
        if is_empty {
            break;
        }
    }
    let entries = tree.entries().max(0).cast_unsigned();
    if entry != entries {
        let message =
            format!("the tree says that it has {entries} entries, and {entry} were found: the file is cut off");
        return Err(message.into());
    }
    Ok(())
}

pub(super) fn open(path: &Path) -> Result<RootFile, String> {
    RootFile::open(path).map_err(|error| format!("this is no ROOT file, or a damaged one ({error})"))
}

/// Returns the names of the keys of a class, each once.
fn names_of(file: &RootFile, is_wanted: fn(&str) -> bool) -> Vec<String> {
    let keys = file.keys();
    let mut names: Vec<String> = Vec::new();
    // A key that was written again has the same name.
    for key in keys.iter().filter(|key| is_wanted(key.class_name())) {
        if !names.iter().any(|name| name == key.name()) {
            names.push(key.name().to_owned());
        }
    }
    names
}

/// Returns the names of the tuples of a file, which cannot be read.
fn tuples(file: &RootFile) -> Vec<String> {
    names_of(file, |class| class.contains("RNTuple"))
}

/// Returns the trees of a file, or the reason why it has none.
pub(super) fn trees(file: &mut RootFile) -> Result<Vec<(String, ReaderTree)>, String> {
    let trees = names_of(file, |class| class == "TTree");
    if let ([], [name, ..]) = (trees.as_slice(), tuples(file).as_slice()) {
        return Err(format!(
            "`{name}` is an RNTuple, which cannot be read here: write it as a TTree (uproot: `file.mktree`) or as \
             Parquet (pyarrow: `parquet.write_table`)"
        ));
    }
    if trees.is_empty() {
        let there = file.keys().iter().map(|key| format!("{} `{}`", key.class_name(), key.name())).collect::<Vec<_>>();
        let there = if there.is_empty() { "nothing".into() } else { there.join(", ") };
        return Err(format!("there is no TTree; at the top of the file there is {there}"));
    }
    let tree = |name: String| match file.get_tree(&name) {
        Ok(tree) => Ok((name, tree)),
        Err(error) => Err(format!("tree `{name}` cannot be read ({error})")),
    };
    trees.into_iter().map(tree).collect()
}

/// Returns the tree of this name, or else the only tree that has the branches of spacepoints.
fn spacepoints(file: &mut RootFile, wanted: Option<&str>) -> Result<(String, ReaderTree, Schema), String> {
    let (all, tuples) = (trees(file)?, tuples(file));
    let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let (mut reasons, mut fitting) = (Vec::new(), Vec::new());
    for (name, tree) in all.into_iter().filter(|(name, _)| wanted.is_none_or(|wanted| wanted == name)) {
        match schema(&tree) {
            Ok(schema) => fitting.push((name, tree, schema)),
            Err(reason) => reasons.push(format!("tree `{name}` {reason}")),
        }
    }
    if let Some(wanted) = wanted.filter(|_| reasons.is_empty() && fitting.is_empty()) {
        let names = quoted(names.iter().map(String::as_str));
        return Err(format!("there is no tree `{wanted}`; at the top of the file there are the trees {names}"));
    }
    let may_fit = if wanted.is_none() { fitting.len() + tuples.len() } else { 1 };
    match fitting.pop() {
        Some(only) if may_fit == 1 => Ok(only),
        Some(last) => {
            let trees = fitting.iter().map(|(name, ..)| name).chain([&last.0]).map(|name| format!("tree `{name}`"));
            let tuples = tuples.iter().map(|name| format!("RNTuple `{name}`, which cannot be read here"));
            let names = trees.chain(tuples).collect::<Vec<_>>().join(" and ");
            Err(format!(
                "the file holds several sets of spacepoints: {names}; name the tree that is to be read (--tree)"
            ))
        }
        None => {
            Err(format!("{}; wanted, as jagged arrays or std::vector, but for the ids: {WANTED}", reasons.join("; ")))
        }
    }
}

/// Returns whether any tree of a file has the branches of spacepoints.
pub(super) fn has_spacepoints(path: &Path) -> bool {
    let trees = quietly(|| trees(&mut open(path)?));
    trees.is_ok_and(|trees| trees.is_ok_and(|trees| trees.iter().any(|(_, tree)| schema(tree).is_ok())))
}

fn schema(tree: &ReaderTree) -> Result<Schema, String> {
    let names: Vec<&str> = tree.branches().map(oxyroot::Branch::name).collect();
    let schema = Schema::new(names.iter().copied()).map_err(|fault| match fault {
        SchemaFault::Missing(missing) => {
            format!("lacks {} and has the branches {}", quoted(missing.into_iter()), quoted(names.iter().copied()))
        }
        SchemaFault::Refused(reason) => format!("is refused: {reason}"),
    })?;
    // Layers may be whole numbers of any type.
    let check = |names: &[&str], jagged: bool, whole: Option<bool>| {
        for name in names {
            let branch = tree.branch(name).ok_or_else(|| format!("lacks `{name}`"))?;
            let right = kind(branch).is_some_and(|(layout, element)| {
                (layout != Layout::Scalar) == jagged && whole.is_none_or(|whole| element.is_whole() == whole)
            });
            if !right {
                let numbers = if whole == Some(false) { "numbers (float or double)" } else { "whole numbers" };
                let wanted = if jagged { format!("jagged {numbers}") } else { numbers.to_owned() };
                return Err(format!("has branch `{name}` of type {}; {wanted} are expected", branch.item_type_name()));
            }
        }
        Ok(())
    };
    check(&schema.position, true, Some(false))?;
    check(schema.layer_columns(), true, None)?;
    check(&schema.ids().collect::<Vec<_>>(), false, Some(true))?;
    if schema.event.is_none() {
        return Err("lacks `event_id` (or `event`), the number of each entry's event".into());
    }
    Ok(schema)
}

/// The branches that are read.
struct Columns<'a> {
    event: Column<'a>,
    roi: Option<Column<'a>>,
    position: [Column<'a>; 3],
    layers: Vec<Column<'a>>,
}

impl<'a> Columns<'a> {
    fn open(tree: &'a ReaderTree, schema: &Schema) -> Result<Self, String> {
        let column = |name: &str| Column::open(tree, name).ok_or_else(|| format!("branch `{name}` cannot be read"));
        let [x, y, z] = schema.position;
        Ok(Self {
            event: column(schema.event.as_deref().unwrap_or("event_id"))?,
            roi: schema.roi.map(column).transpose()?,
            position: [column(x)?, column(y)?, column(z)?],
            layers: schema.layer_columns().iter().map(|name| column(name)).collect::<Result<_, _>>()?,
        })
    }

    /// Appends the next entries and increments `entry`; appends nothing at the end. After an error,
    /// columns may hold a part of an entry that no run counts.
    fn fill(&mut self, to: &mut TreeChunk, entry: &mut u64, most: usize) -> Result<(), Fault> {
        let TreeChunk { chunk, faults } = to;
        while chunk.position[0].len() < CHUNK && chunk.runs.len() + faults.len() < CHUNK {
            let Some(event_id) = self.event.bytes(*entry)? else { break };
            let roi_id = match &mut self.roi {
                Some(roi) => Some(roi.needed_bytes(*entry)?),
                None => None,
            };
            let mut position = [const { Vec::new() }; 3];
            for (column, bytes) in self.position.iter_mut().zip(&mut position) {
                *bytes = column.needed_bytes(*entry)?;
            }
            let layers = self.layers.iter_mut().map(|column| column.needed_bytes(*entry));
            let layers: Vec<Vec<u8>> = layers.collect::<Result<_, _>>()?;
            // Only errors of this entry from here on.
            let ids = self.event.whole_number(*entry, &event_id).and_then(|event_id| {
                let roi_id = self.roi.as_ref().zip(roi_id.as_ref());
                let roi_id = roi_id.map_or(Ok(0), |(roi, bytes)| roi.whole_number(*entry, bytes))?;
                Ok((event_id, roi_id))
            });
            let (event_id, roi_id) = match ids {
                Ok(ids) => ids,
                Err(fault) => {
                    faults.push(EntryFault { run: chunk.runs.len(), at: None, fault });
                    *entry += 1;
                    continue;
                }
            };
            let spacepoints = position[0].len() / self.position[0].element.size();
            if spacepoints > most {
                return Err(self.position[0].fault(*entry, too_many(event_id, most)));
            }
            let at = chunk.position[0].len();
            let appended = self.append(*entry, spacepoints, &position, &layers, chunk);
            let run = RoiRun { event_id, roi_id, spacepoints, row: *entry, follows_lost_row: false };
            chunk.runs.push(if appended.is_ok() { run } else { RoiRun { spacepoints: 1, ..run } });
            if let Err(fault) = appended {
                chunk.put_placeholder(at, self.layers.len());
                faults.push(EntryFault { run: chunk.runs.len() - 1, at: Some(at), fault });
            }
            *entry += 1;
        }
        Ok(())
    }

    /// Appends the spacepoints of an entry. After an error, columns may hold a part of them.
    fn append(
        &self,
        entry: u64,
        spacepoints: usize,
        position: &[Vec<u8>; 3],
        layers: &[Vec<u8>],
        chunk: &mut Chunk,
    ) -> Result<(), Fault> {
        let check =
            |column: &Column<'_>, bytes: &[u8]| match bytes.len() / column.element.size() {
                values if values == spacepoints => Ok(()),
                values => Err(column
                    .fault(entry, format!("there are {values} values, and {spacepoints} in the branches before it"))),
            };
        for ((column, bytes), to) in self.position.iter().zip(position).zip(&mut chunk.position) {
            check(column, bytes)?;
            column.element.append_numbers(bytes, to);
        }
        for ((column, bytes), to) in self.layers.iter().zip(layers).zip(&mut chunk.layers) {
            check(column, bytes)?;
            let appended = column.element.append_whole_numbers(bytes, to);
            appended.map_err(|(at, message)| column.fault(entry, format!("value {at}: {message}")))?;
        }
        Ok(())
    }
}

fn ends(branch: &str, entry: u64) -> Fault {
    Fault { entry: Some(entry), branch: Some(branch.to_owned()), message: "the branch ends before others".into() }
}

impl Column<'_> {
    pub(super) fn fault(&self, entry: u64, message: String) -> Fault {
        Fault { entry: Some(entry), branch: Some(self.name.to_owned()), message }
    }

    /// Returns the bytes of the next entry; None at the end.
    pub(super) fn bytes(&mut self, entry: u64) -> Result<Option<Vec<u8>>, Fault> {
        self.next().map_err(|message| self.fault(entry, message))
    }

    /// Returns the bytes of the next entry, which must exist.
    pub(super) fn needed_bytes(&mut self, entry: u64) -> Result<Vec<u8>, Fault> {
        self.bytes(entry)?.ok_or_else(|| ends(&self.name, entry))
    }

    /// Returns the only value of an entry.
    pub(super) fn whole_number(&self, entry: u64, bytes: &[u8]) -> Result<u64, Fault> {
        let mut number = Vec::with_capacity(1);
        let read = self.element.append_whole_numbers(bytes, &mut number);
        read.map_err(|(_, message)| self.fault(entry, message))?;
        number.first().copied().ok_or_else(|| self.fault(entry, "has no value".into()))
    }
}

impl RootTree {
    fn fault(&self, Fault { entry, branch, message }: Fault) -> Error {
        let at = entry.map_or_else(String::new, |entry| format!("entry {entry} of "));
        let message = format!("{at}tree `{}`: {message}", self.tree);
        Error::Input { path: self.path.clone(), row: 0, column: branch, message }
    }
}

impl Chunks for RootTree {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn whole_rois(&self) -> bool {
        true
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let TreeChunk { chunk: next, faults } = match self.chunks.recv() {
            Ok(Ok(entries)) => entries,
            Ok(Err(fault)) => return Err(self.fault(fault)),
            Err(_) => return Ok(false),
        };
        *chunk = next;
        let bad_row = |EntryFault { run, at, fault }| BadRow { run, at, error: self.fault(fault) };
        chunk.bad_rows.extend(faults.into_iter().map(bad_row));
        Ok(true)
    }

    fn error(&self, at: Option<(&RoiRun, Option<usize>)>, column: Option<&str>, message: String) -> Error {
        let (entry, message) = match at {
            Some((run, Some(value))) => (Some(run.row), format!("value {value}: {message}")),
            Some((run, None)) => (Some(run.row), message),
            None => (None, message),
        };
        let error = self.fault(Fault { entry, branch: None, message });
        match error {
            Error::Input { path, row, message, .. } => {
                Error::Input { path, row, column: column.map(str::to_owned), message }
            }
            other => other,
        }
    }
}

/// Calls `visit` with event and RoI of each entry whose ids can be read.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn visit_ids(path: &Path, tree: Option<&str>, visit: &mut dyn FnMut(RoiId)) -> Result<()> {
    let read = quietly(|| {
        let (_, tree, schema) = spacepoints(&mut open(path)?, tree)?;
        let column = |name: &str| Column::open(&tree, name).ok_or_else(|| format!("branch `{name}` cannot be read"));
        let mut event = column(schema.event.as_deref().unwrap_or("event_id"))?;
        let mut roi = schema.roi.map(column).transpose()?;
        let mut entry = 0;
        while let Some(bytes) = event.bytes(entry)? {
            let event_id = event.whole_number(entry, &bytes);
            let roi_id = match &mut roi {
                Some(roi) => roi.needed_bytes(entry).and_then(|bytes| roi.whole_number(entry, &bytes)),
                None => Ok(0),
            };
            if let (Ok(event_id), Ok(roi_id)) = (event_id, roi_id) {
                visit(RoiId { event_id, roi_id });
            }
            entry += 1;
        }
        Ok::<_, Fault>(())
    });
    read.unwrap_or_else(|panic| Err(Fault::from(damaged(&panic)))).map_err(|Fault { branch, message, .. }| {
        Error::Input { path: path.to_owned(), row: 0, column: branch, message }
    })
}
