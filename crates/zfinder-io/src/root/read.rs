//! Reads spacepoints and truth from a TTree.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use oxyroot::{Named, ReaderTree, RootFile};

use super::checksum;
use super::tree::{Column, Layout, kind};
use crate::columns::{Chunk, Chunks, RoiRun, Schema, WANTED};
use crate::error::{Error, Result};
use crate::event::too_many;
use crate::guard::quietly;
use column_names::{lookalike, quoted, refusal};
use crate::source::failed;
use crate::truth::{EventVertices, TruthVertex};

/// A chunk ends with the entry that brings it to this many spacepoints, or after this many entries.
const CHUNK: usize = 1 << 14;
/// Number of chunks in the queue.
const WAITING: usize = 2;

/// An error and its position: entry and branch.
struct Fault {
    entry: Option<u64>,
    branch: Option<&'static str>,
    message: String,
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
    chunks: Receiver<Result<Chunk, Fault>>,
}

impl RootTree {
    /// Opens a file. An entry with more spacepoints than `most` is an error.
    pub(super) fn open(path: &Path, most: usize) -> Result<Self> {
        // Opening the file here gives the system's error instead of oxyroot's.
        std::fs::File::open(path).map_err(|source| failed(path, source))?;
        let (found, head) = sync_channel(1);
        let (to, chunks) = sync_channel(WAITING);
        let file = path.to_owned();
        let work = move || {
            let fault = match quietly(|| read(&file, most, &found, &to)) {
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

/// Returns the message for a panic of oxyroot.
pub(super) fn damaged(panic: &str) -> String {
    format!(
        "this ROOT file is damaged, or holds what cannot be read here (oxyroot: {panic}): write its spacepoints as \
         Parquet, or as a TTree compressed with zlib"
    )
}

/// Sends the tree's name and its schema, then its chunks.
fn read(
    path: &Path,
    most: usize,
    found: &SyncSender<Result<(String, Schema), String>>,
    to: &SyncSender<Result<Chunk, Fault>>,
) -> Result<(), Fault> {
    let mut file = open(path)?;
    let (name, tree, schema) = spacepoints(&mut file)?;
    if found.send(Ok((name, schema))).is_err() {
        return Ok(());
    }
    checksum::verify(path)?;
    let mut columns = Columns::of(&tree, &schema)?;
    let mut entry = 0;
    loop {
        let mut chunk = Chunk::default();
        let filled = columns.fill(&mut chunk, &mut entry, most);
        if filled.is_err() {
            // Entries before the bad one are whole.
            let whole: usize = chunk.runs.iter().map(|run| run.spacepoints).sum();
            chunk.position.iter_mut().for_each(|column| column.truncate(whole));
            chunk.layers.iter_mut().for_each(|column| column.truncate(whole));
        }
        let is_empty = chunk.runs.is_empty();
        // The receiver is gone, so the work ends.
        if !is_empty && to.send(Ok(chunk)).is_err() {
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

fn open(path: &Path) -> Result<RootFile, String> {
    RootFile::open(path).map_err(|error| format!("this is no ROOT file, or a damaged one ({error})"))
}

/// Returns the trees of a file, or the reason why it has none.
fn trees(file: &mut RootFile) -> Result<Vec<(String, ReaderTree)>, String> {
    let keys = file.keys();
    let of_class = |class: fn(&str) -> bool| {
        let mut names: Vec<String> =
            keys.iter().filter(|key| class(key.class_name())).map(|key| key.name().to_owned()).collect();
        names.dedup();
        names
    };
    let trees = of_class(|class| class == "TTree");
    if let ([], [name, ..]) = (trees.as_slice(), of_class(|class| class.contains("RNTuple")).as_slice()) {
        return Err(format!(
            "`{name}` is an RNTuple, which cannot be read here: write it as a TTree (uproot: `file.mktree`) or as \
             Parquet (pyarrow: `parquet.write_table`)"
        ));
    }
    if trees.is_empty() {
        let there = keys.iter().map(|key| format!("{} `{}`", key.class_name(), key.name())).collect::<Vec<_>>();
        let there = if there.is_empty() { "nothing".into() } else { there.join(", ") };
        return Err(format!("there is no TTree; at the top of the file there is {there}"));
    }
    let tree = |name: String| match file.get_tree(&name) {
        Ok(tree) => Ok((name, tree)),
        Err(error) => Err(format!("tree `{name}` cannot be read ({error})")),
    };
    trees.into_iter().map(tree).collect()
}

/// Returns the first tree that has the branches of spacepoints.
fn spacepoints(file: &mut RootFile) -> Result<(String, ReaderTree, Schema), String> {
    let trees = trees(file)?;
    let mut reasons = Vec::new();
    for (name, tree) in trees {
        match schema(&tree) {
            Ok(schema) => return Ok((name, tree, schema)),
            Err(reason) => reasons.push(format!("tree `{name}` {reason}")),
        }
    }
    Err(format!("{}; wanted, as jagged arrays or std::vector, but for the ids: {WANTED}", reasons.join("; ")))
}

fn schema(tree: &ReaderTree) -> Result<Schema, String> {
    let names: Vec<&str> = tree.branches().map(oxyroot::Branch::name).collect();
    let schema = Schema::of(names.iter().copied()).map_err(|missing| {
        format!("lacks {} and has the branches {}", quoted(missing.into_iter()), quoted(names.iter().copied()))
    })?;
    if let Some(name) = lookalike(names.iter().copied(), "roi_id") {
        return Err(format!("is refused: {}", refusal(name, "roi_id")));
    }
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
    let ids: Vec<&str> = [schema.event, schema.roi].into_iter().flatten().collect();
    check(&ids, false, Some(true))?;
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
    fn of(tree: &'a ReaderTree, schema: &Schema) -> Result<Self, String> {
        let column = |name| Column::of(tree, name).ok_or_else(|| format!("branch `{name}` cannot be read"));
        let [x, y, z] = schema.position;
        Ok(Self {
            event: column(schema.event.unwrap_or("event_id"))?,
            roi: schema.roi.map(column).transpose()?,
            position: [column(x)?, column(y)?, column(z)?],
            layers: schema.layer_columns().iter().map(|name| column(name)).collect::<Result<_, _>>()?,
        })
    }

    /// Appends the next entries and increments `entry`; appends nothing at the end. After an error,
    /// columns may hold a part of an entry that no run counts.
    fn fill(&mut self, chunk: &mut Chunk, entry: &mut u64, most: usize) -> Result<(), Fault> {
        while chunk.position[0].len() < CHUNK && chunk.runs.len() < CHUNK {
            let Some(event_id) = self.event.whole_number(*entry)? else { break };
            let roi_id = match &mut self.roi {
                Some(roi) => roi.whole_number(*entry)?.ok_or_else(|| ends(roi.name, *entry))?,
                None => 0,
            };
            let mut spacepoints = None;
            for (column, to) in self.position.iter_mut().zip(&mut chunk.position) {
                let values = column.values(*entry, &mut spacepoints)?;
                if spacepoints > Some(most) {
                    return Err(column.fault(*entry, too_many(event_id, most)));
                }
                column.element.append_numbers(&values, to);
            }
            for (column, to) in self.layers.iter_mut().zip(&mut chunk.layers) {
                let values = column.values(*entry, &mut spacepoints)?;
                column.element.append_whole_numbers(&values, to).map_err(|(at, message)| Fault {
                    message: format!("value {at}: {message}"),
                    ..column.fault(*entry, String::new())
                })?;
            }
            let spacepoints = spacepoints.unwrap_or(0);
            chunk.runs.push(RoiRun { event_id, roi_id, spacepoints, row: *entry });
            *entry += 1;
        }
        Ok(())
    }
}

fn ends(branch: &'static str, entry: u64) -> Fault {
    Fault { entry: Some(entry), branch: Some(branch), message: "the branch ends before others".into() }
}

impl Column<'_> {
    fn fault(&self, entry: u64, message: String) -> Fault {
        Fault { entry: Some(entry), branch: Some(self.name), message }
    }

    fn whole_number(&mut self, entry: u64) -> Result<Option<u64>, Fault> {
        let Some(bytes) = self.next().map_err(|message| self.fault(entry, message))? else { return Ok(None) };
        let mut number = Vec::with_capacity(1);
        let read = self.element.append_whole_numbers(&bytes, &mut number);
        read.map_err(|(_, message)| self.fault(entry, message))?;
        Ok(number.first().copied())
    }

    /// Returns the bytes of an entry's values. Their number must equal that of the previous
    /// branches.
    fn values(&mut self, entry: u64, spacepoints: &mut Option<usize>) -> Result<Vec<u8>, Fault> {
        let bytes = self.next().map_err(|message| self.fault(entry, message))?.ok_or_else(|| ends(self.name, entry))?;
        let values = bytes.len() / self.element.size();
        let wanted = *spacepoints.get_or_insert(values);
        if values != wanted {
            return Err(self.fault(entry, format!("there are {values} values, and {wanted} in the branches before it")));
        }
        Ok(bytes)
    }
}

impl RootTree {
    fn fault(&self, Fault { entry, branch, message }: Fault) -> Error {
        let at = entry.map_or_else(String::new, |entry| format!("entry {entry} of "));
        let message = format!("{at}tree `{}`: {message}", self.tree);
        Error::Input { path: self.path.clone(), row: 0, column: branch.map(str::to_owned), message }
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
        match self.chunks.recv() {
            Ok(Ok(next)) => *chunk = next,
            Ok(Err(fault)) => return Err(self.fault(fault)),
            Err(_) => return Ok(false),
        }
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

const TRUTH: &str = "truth_pv_z";

pub(super) fn truth(path: &Path) -> Result<Option<EventVertices>> {
    std::fs::File::open(path).map_err(|source| failed(path, source))?;
    let read = quietly(|| read_truth(path)).unwrap_or_else(|panic| Err(Fault::from(damaged(&panic))));
    read.map_err(|Fault { entry, branch, message }| {
        let message = entry.map_or_else(|| message.clone(), |entry| format!("entry {entry}: {message}"));
        Error::Input { path: path.to_owned(), row: 0, column: branch.map(str::to_owned), message }
    })
}

fn read_truth(path: &Path) -> Result<Option<EventVertices>, Fault> {
    checksum::verify(path)?;
    let trees = trees(&mut open(path)?)?;
    let scalar = |tree: &ReaderTree, name: &str, whole: bool| {
        let kind = tree.branch(name).and_then(kind);
        kind.is_some_and(|(layout, element)| layout == Layout::Scalar && element.is_whole() == whole)
    };
    for (_, tree) in &trees {
        let Some(event) = ["event_id", "event"].into_iter().find(|name| scalar(tree, name, true)) else { continue };
        if !scalar(tree, TRUTH, false) {
            continue;
        }
        let column = |name| Column::of(tree, name).ok_or_else(|| format!("branch `{name}` cannot be read"));
        let (mut event, mut z) = (column(event)?, column(TRUTH)?);
        let mut vertices = Vec::new();
        let mut entry = 0;
        while let Some(event_id) = event.whole_number(entry)? {
            let bytes = z.next().map_err(|message| z.fault(entry, message))?.ok_or_else(|| ends(TRUTH, entry))?;
            let mut number = Vec::with_capacity(1);
            z.element.append_numbers(&bytes, &mut number);
            match number.first() {
                Some(&z_mm) if z_mm.is_finite() => {
                    vertices
                        .push((event_id, vec![TruthVertex { z_mm, is_hard_scatter: true, ..TruthVertex::default() }]));
                }
                other => return Err(z.fault(entry, format!("{} is not finite", other.copied().unwrap_or(f64::NAN)))),
            }
            entry += 1;
        }
        return Ok(Some(vertices));
    }
    Ok(None)
}
