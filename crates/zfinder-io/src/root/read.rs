//! Reads spacepoints and truth from a TTree.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use oxyroot::{ReaderTree, RootFile};

use super::checksum;
use super::tree::{Column, Layout, damaged, kind};
use crate::column_map::ColumnMap;
use crate::columns::{BadRow, Chunk, Chunks, RoiRun};
use crate::error::{Error, Result};
use crate::event::{ReadOptions, too_many};
use crate::guard::quietly;
use crate::schema::{Schema, SchemaFault};
use crate::source::{event_of_name, failed};
use column_names::{advice, quoted};
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
    layout: TreeLayout,
    chunks: Receiver<Result<TreeChunk, Fault>>,
}

/// The branches that are read, and whether an entry is a list of spacepoints or one of them.
#[derive(Clone)]
pub(super) struct TreeLayout {
    schema: Schema,
    /// The branch of each column.
    branches: HashMap<String, String>,
    lists: bool,
}

impl TreeLayout {
    /// Opens the branch of a column. Errors about its values name the column.
    fn column<'a>(&self, tree: &'a ReaderTree, name: &str) -> Result<Column<'a>, String> {
        let branch = &self.branches[name];
        let mut column = Column::open(tree, branch).ok_or_else(|| format!("branch `{branch}` cannot be read"))?;
        name.clone_into(&mut column.name);
        Ok(column)
    }
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
    /// Opens the tree of this name.
    pub(super) fn open(path: &Path, options: &ReadOptions, tree: &str) -> Result<Self> {
        // Opening the file here gives the system's error instead of oxyroot's.
        std::fs::File::open(path).map_err(|source| failed(path, source))?;
        let (found, head) = sync_channel(1);
        let (to, chunks) = sync_channel(WAITING);
        let (file, name, options) = (path.to_owned(), tree.to_owned(), options.clone());
        let work = move || {
            let fault = match quietly(|| read(&file, &options, &name, &found, &to)) {
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
            Ok(Ok(layout)) => Ok(Self { path: path.to_owned(), tree: tree.to_owned(), layout, chunks }),
            Ok(Err(message)) => refuse(message),
            Err(_) => refuse(damaged("no tree was read")),
        }
    }
}

/// Sends the tree's layout, then its chunks.
fn read(
    path: &Path,
    options: &ReadOptions,
    tree: &str,
    found: &SyncSender<Result<TreeLayout, String>>,
    to: &SyncSender<Result<TreeChunk, Fault>>,
) -> Result<(), Fault> {
    let tree = get_tree(path, tree)?;
    let layout = layout(&tree, &options.columns)?;
    if found.send(Ok(layout.clone())).is_err() {
        return Ok(());
    }
    checksum::verify(path)?;
    let mut columns = Columns::open(&tree, layout, event_of_name(path), options.drop_invalid)?;
    let mut entry = 0;
    loop {
        let mut entries = TreeChunk::default();
        let filled = columns.fill(&mut entries, &mut entry, options.max_spacepoints);
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

pub(super) fn get_tree(path: &Path, name: &str) -> Result<ReaderTree, String> {
    open(path)?.get_tree(name).map_err(|error| format!("cannot be read ({error})"))
}

/// Returns the branches of spacepoints, or the reason why a tree has none.
pub(super) fn layout(tree: &ReaderTree, columns: &ColumnMap) -> Result<TreeLayout, String> {
    let in_file: Vec<String> = tree.branches().map(|branch| branch.name().to_owned()).collect();
    let there = || in_file.iter().map(String::as_str);
    let branches = columns.names(in_file.clone()).map_err(|reason| format!("is refused: {reason}"))?;
    let schema = Schema::new(branches.iter().map(|(name, _)| name.as_str())).map_err(|fault| match fault {
        SchemaFault::Missing(missing) => {
            let advice = advice(missing.iter().copied(), there());
            format!("lacks {} and has the branches {}{advice}", quoted(missing.into_iter()), quoted(there()))
        }
        SchemaFault::Refused(reason) => format!("is refused: {reason}"),
    })?;
    let branches: HashMap<String, String> = branches.into_iter().collect();
    let find = |name: &str| {
        let branch = tree.branch(&branches[name]).ok_or_else(|| format!("lacks `{name}`"))?;
        Ok::<_, String>((branch, kind(branch)))
    };
    let lists = find(schema.position[0])?.1.is_some_and(|(layout, _)| layout != Layout::Scalar);
    let check = |names: &[&str], lists: bool| {
        for name in names {
            let (branch, kind) = find(name)?;
            if kind.is_none_or(|(layout, _)| (layout != Layout::Scalar) != lists) {
                let wanted = if lists { "jagged numbers" } else { "numbers" };
                let name = &branches[*name];
                return Err(format!("has branch `{name}` of type {}; {wanted} are expected", branch.item_type_name()));
            }
        }
        Ok(())
    };
    check(&schema.position, lists)?;
    check(schema.layer_columns(), lists)?;
    check(&schema.ids().collect::<Vec<_>>(), false)?;
    if lists && schema.event.is_none() {
        return Err("lacks `event_id` (or `event`), the number of each entry's event".into());
    }
    Ok(TreeLayout { schema, branches, lists })
}

/// The branches that are read.
struct Columns<'a> {
    lists: bool,
    /// As [`ReadOptions::drop_invalid`].
    drop_invalid: bool,
    /// None: all entries are of the event in the file's name.
    event: Option<Column<'a>>,
    event_of_file: u64,
    roi: Option<Column<'a>>,
    position: [Column<'a>; 3],
    layers: Vec<Column<'a>>,
}

impl<'a> Columns<'a> {
    fn open(tree: &'a ReaderTree, layout: TreeLayout, event_of_file: u64, drop_invalid: bool) -> Result<Self, String> {
        let column = |name: &str| layout.column(tree, name);
        let TreeLayout { schema, lists, .. } = &layout;
        let [x, y, z] = schema.position;
        Ok(Self {
            lists: *lists,
            drop_invalid,
            event: schema.event.as_deref().map(column).transpose()?,
            event_of_file,
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
            let [x, y, z] = &mut self.position;
            let Some(x) = x.bytes(*entry)? else { break };
            let position = [x, y.needed_bytes(*entry)?, z.needed_bytes(*entry)?];
            let event_id = self.event.as_mut().map(|event| event.needed_bytes(*entry)).transpose()?;
            let roi_id = self.roi.as_mut().map(|roi| roi.needed_bytes(*entry)).transpose()?;
            let layers = self.layers.iter_mut().map(|column| column.needed_bytes(*entry));
            let layers: Vec<Vec<u8>> = layers.collect::<Result<_, _>>()?;
            // Only errors of this entry from here on.
            let id = |column: &Option<Column<'_>>, bytes: &Option<Vec<u8>>, otherwise| match (column, bytes) {
                (Some(column), Some(bytes)) => column.whole_number(*entry, bytes),
                _ => Ok(otherwise),
            };
            let event_id = id(&self.event, &event_id, self.event_of_file);
            let (event_id, roi_id) = match event_id.and_then(|event_id| Ok((event_id, id(&self.roi, &roi_id, 0)?))) {
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
            let spacepoints = if appended.is_ok() { spacepoints } else { 1 };
            let after_lost = faults.last().is_some_and(|fault| fault.run == chunk.runs.len());
            let run = RoiRun { event_id, roi_id, spacepoints, row: *entry, follows_lost_row: false };
            chunk.add_run(run, self.lists, after_lost);
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
            let appended = match self.drop_invalid {
                true => column.element.append_whole_numbers_or_missing(bytes, to),
                false => column.element.append_whole_numbers(bytes, to),
            };
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
        &self.layout.schema
    }

    fn whole_rois(&self) -> bool {
        self.layout.lists
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
            Some((run, Some(value))) if self.layout.lists => (Some(run.row), format!("value {value}: {message}")),
            Some((run, Some(value))) => (Some(run.row + value as u64), message),
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

/// Calls `visit` with event and RoI of each entry whose ids can be read, and with whether the entry
/// is a whole RoI.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn visit_ids(
    path: &Path,
    tree: &str,
    options: &ReadOptions,
    visit: &mut dyn FnMut(RoiId, bool),
) -> Result<()> {
    let event_of_file = event_of_name(path);
    let read = quietly(|| {
        let tree = get_tree(path, tree)?;
        let layout = layout(&tree, &options.columns)?;
        let column = |name: &str| layout.column(&tree, name);
        let TreeLayout { schema, lists, .. } = &layout;
        let mut event = schema.event.as_deref().map(column).transpose()?;
        let mut roi = schema.roi.map(column).transpose()?;
        if event.is_none() && roi.is_none() {
            visit(RoiId { event_id: event_of_file, roi_id: 0 }, *lists);
            return Ok(());
        }
        for entry in 0.. {
            let mut ids = [event_of_file, 0];
            let mut is_lost = false;
            for (id, column) in ids.iter_mut().zip([&mut event, &mut roi]) {
                let Some(column) = column else { continue };
                let Some(bytes) = column.bytes(entry)? else { return Ok(()) };
                match column.whole_number(entry, &bytes) {
                    Ok(number) => *id = number,
                    Err(_) => is_lost = true,
                }
            }
            if !is_lost {
                visit(RoiId { event_id: ids[0], roi_id: ids[1] }, *lists);
            }
        }
        Ok::<_, Fault>(())
    });
    read.unwrap_or_else(|panic| Err(Fault::from(damaged(&panic)))).map_err(|Fault { branch, message, .. }| {
        Error::Input { path: path.to_owned(), row: 0, column: branch, message }
    })
}
