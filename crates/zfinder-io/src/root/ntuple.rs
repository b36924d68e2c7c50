//! Reads spacepoints and truth from an RNTuple.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use rntuple::{Array, NTuple, Numbers, RootFile, Selection};

use super::truth::{self, TRUTH};
use crate::column_map::ColumnMap;
use crate::columns::{BadRow, Chunk, Chunks, RoiRun};
use crate::error::{Error, Result};
use crate::event::{MISSING, ReadOptions};
use crate::schema::{Schema, SchemaFault};
use crate::source::{event_of_name, failed};
use crate::truth_vertex::{EventVertices, TruthVertex};
use crate::whole::{whole_of_float, whole_of_integer};
use column_names::{advice, quoted};
use zfinder::RoiId;

/// A chunk ends with the entry that brings it to this many spacepoints, or after this many entries.
const CHUNK: u64 = 1 << 14;
/// A small file may claim any number of entries without stored values.
const MOST_ENTRIES: u64 = 1 << 32;
/// An entry above the limit of spacepoints is left out alone. An entry this many times above the
/// limit ends the file.
const FAR_ABOVE: u64 = 2;

/// Opens the directory of a ROOT file.
pub(super) fn open_file(path: &Path) -> Result<RootFile<BufReader<File>>> {
    let file = File::open(path).map_err(|source| failed(path, source))?;
    let opened = RootFile::new(BufReader::new(file));
    opened.map_err(|error| refuse(path, format!("this is no ROOT file, or a damaged one ({error})")))
}

fn refuse(path: &Path, message: String) -> Error {
    Error::Input { path: path.to_owned(), row: 0, column: None, message }
}

/// The fields of spacepoints in an RNTuple.
pub(super) struct Layout {
    schema: Schema,
    /// Path of each column.
    paths: HashMap<String, String>,
    /// Whether an entry has a list of spacepoints.
    lists: bool,
}

impl Layout {
    /// Returns the layout of an RNTuple with the fields of spacepoints, or the reason why it has
    /// none.
    fn new<R: Read + Seek>(ntuple: &NTuple<R>, columns: &ColumnMap) -> Result<Self, String> {
        let all = ntuple.paths();
        let names = columns.names(all.clone()).map_err(|reason| format!("is refused: {reason}"))?;
        let (known, in_file): (Vec<String>, Vec<String>) = names.into_iter().unzip();
        let (schema, mut paths) = Schema::with_records(&known).map_err(|fault| match fault {
            SchemaFault::Missing(missing) => {
                let there = || all.iter().map(String::as_str);
                let advice = advice(missing.iter().copied(), there());
                format!("lacks {} and has the fields {}{advice}", quoted(missing.into_iter()), quoted(there()))
            }
            SchemaFault::Refused(reason) => format!("is refused: {reason}"),
        })?;
        let own: HashMap<&String, String> = known.iter().zip(in_file).collect();
        paths.values_mut().for_each(|path| path.clone_from(&own[path]));
        let lists_of = |name: &str| match ntuple.select(&paths[name]) {
            Ok(selection) => is_list(&selection.empty()).ok_or_else(|| {
                let kind = ntuple.field(&paths[name]).map_or("", |field| field.type_name()).to_owned();
                format!("has field `{}` of type {kind}; numbers, or lists of numbers, are expected", paths[name])
            }),
            Err(error) => Err(error.to_string()),
        };
        let lists = lists_of(schema.position[0])?;
        for name in schema.position.iter().chain(schema.layer_columns()) {
            if lists_of(name)? != lists {
                let (these, those) = if lists { ("is no list", "is one") } else { ("is a list", "is none") };
                let model = &paths[schema.position[0]];
                return Err(format!("has field `{}`, which {these}, and `{model}` {those}", paths[*name]));
            }
        }
        for name in schema.ids() {
            if lists_of(name)? {
                return Err(format!("has field `{}`, which is a list; one number is expected", paths[name]));
            }
        }
        if lists && schema.event.is_none() {
            return Err("lacks `event_id` (or `event`), the number of each entry's event".into());
        }
        Ok(Self { schema, paths, lists })
    }
}

/// Returns whether values are lists of numbers. None: they are neither numbers nor such lists.
fn is_list(array: &Array) -> Option<bool> {
    match array {
        Array::Numbers(_) => Some(false),
        Array::List { items, .. } | Array::Fixed { items, .. } if matches!(**items, Array::Numbers(_)) => Some(true),
        _ => None,
    }
}

/// Returns the reason why an RNTuple holds no spacepoints.
pub(super) fn check(path: &Path, name: &str, columns: &ColumnMap) -> Result<(), String> {
    let mut file = open_file(path).map_err(|error| error.to_string())?;
    let ntuple = file.ntuple(name).map_err(|error| format!("cannot be read: {error}"))?;
    Layout::new(&ntuple, columns).map(drop)
}

/// An RNTuple of spacepoints.
pub(super) struct NTupleFile {
    path: PathBuf,
    name: String,
    ntuple: NTuple<BufReader<File>>,
    layout: Layout,
    event: Option<Selection>,
    roi: Option<Selection>,
    position: [Selection; 3],
    layers: Vec<Selection>,
    event_of_file: u64,
    next: u64,
    /// Most spacepoints of an event.
    most: u64,
    /// As [`ReadOptions::drop_invalid`].
    drop_invalid: bool,
}

impl NTupleFile {
    /// Opens the RNTuple of this name.
    pub(super) fn open(path: &Path, name: &str, options: &ReadOptions) -> Result<Self> {
        let wrong = |reason: String| refuse(path, format!("RNTuple `{name}` {reason}"));
        let ntuple = open_file(path)?.into_ntuple(name).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        if ntuple.entries() > MOST_ENTRIES {
            return Err(wrong(format!("has {} entries, and {MOST_ENTRIES} at most are read", ntuple.entries())));
        }
        let layout = Layout::new(&ntuple, &options.columns).map_err(wrong)?;
        let select =
            |name: &str| ntuple.select(&layout.paths[name]).map_err(|error| wrong(format!("cannot be read: {error}")));
        let [x, y, z] = layout.schema.position;
        let (event, roi) = (layout.schema.event.as_deref().map(select), layout.schema.roi.map(select));
        let (event, roi, position) = (event.transpose()?, roi.transpose()?, [select(x)?, select(y)?, select(z)?]);
        let layers = layout.schema.layer_columns().iter().map(|name| select(name)).collect::<Result<_>>()?;
        Ok(Self {
            path: path.to_owned(),
            name: name.to_owned(),
            event,
            roi,
            position,
            layers,
            ntuple,
            layout,
            event_of_file: event_of_name(path),
            next: 0,
            most: options.max_spacepoints as u64,
            drop_invalid: options.drop_invalid,
        })
    }

    fn fault(&self, entry: Option<u64>, column: Option<&str>, message: String) -> Error {
        let at = entry.map_or_else(String::new, |entry| format!("entry {entry} of "));
        let message = format!("{at}RNTuple `{}`: {message}", self.name);
        Error::Input { path: self.path.clone(), row: 0, column: column.map(str::to_owned), message }
    }

    fn damaged(&self, error: &rntuple::Error) -> Error {
        self.fault(None, None, error.to_string())
    }

    /// Returns the end of the entries of the next chunk: at most [`CHUNK`] entries of one cluster,
    /// and no entry after the one that brings it to [`CHUNK`] spacepoints. None at the end.
    fn end_of_chunk(&mut self) -> Result<Option<u64>> {
        let cluster = self.ntuple.cluster_of(self.next).map_err(|error| self.damaged(&error))?;
        let Some(cluster) = cluster else { return Ok(None) };
        let end = cluster.end.min(self.next + CHUNK);
        let lengths = self.ntuple.lengths(&self.position[0], self.next..end).map_err(|error| self.damaged(&error))?;
        let mut spacepoints = 0;
        for (entry, length) in (self.next..).zip(lengths) {
            if length > FAR_ABOVE.saturating_mul(self.most) {
                if entry > self.next {
                    return Ok(Some(entry));
                }
                let most = self.most;
                let message = format!(
                    "the entry has {length} spacepoints, and {most} at most are read; if that is right, raise max_spacepoints"
                );
                return Err(self.fault(Some(entry), None, message));
            }
            spacepoints += length;
            if spacepoints >= CHUNK {
                return Ok(Some(entry + 1));
            }
        }
        Ok(Some(end))
    }

    fn column(&mut self, selection: &Selection, end: u64) -> Result<Values> {
        let entries = self.next..end;
        let array = self.ntuple.read(selection, entries.clone()).map_err(|error| self.damaged(&error))?;
        let count = entries.end - entries.start;
        let (offsets, items) = match array {
            Array::List { offsets, items } => (offsets, *items),
            Array::Fixed { size, items, .. } => ((0..=count).map(|at| at * size).collect(), *items),
            other => ((0..=count).collect(), other),
        };
        match items {
            Array::Numbers(numbers) => Ok(Values { offsets, numbers }),
            _ => Err(self.fault(None, None, "a field holds no numbers".into())),
        }
    }

    fn ids(&mut self, selection: Option<Selection>, otherwise: u64, end: u64) -> Result<Vec<Result<u64, String>>> {
        match selection {
            Some(selection) => Ok(self.column(&selection, end)?.whole_numbers()),
            None => Ok(vec![Ok(otherwise); (end - self.next) as usize]),
        }
    }
}

/// Numbers of entries.
struct Values {
    offsets: Vec<u64>,
    numbers: Numbers,
}

impl Values {
    fn whole_numbers(&self) -> Vec<Result<u64, String>> {
        match self.numbers.to_integers() {
            Some(integers) => integers.into_iter().map(whole_of_integer).collect(),
            None => self.numbers.to_f64().into_iter().map(whole_of_float).collect(),
        }
    }

    fn range(&self, entry: usize) -> std::ops::Range<usize> {
        self.offsets[entry] as usize..self.offsets[entry + 1] as usize
    }
}

impl Chunks for NTupleFile {
    fn schema(&self) -> &Schema {
        &self.layout.schema
    }

    fn whole_rois(&self) -> bool {
        self.layout.lists
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let Some(end) = self.end_of_chunk()? else { return Ok(false) };
        let events = self.ids(self.event.clone(), self.event_of_file, end)?;
        let rois = self.ids(self.roi.clone(), 0, end)?;
        let [x, y, z] = self.position.clone();
        let position = [self.column(&x, end)?, self.column(&y, end)?, self.column(&z, end)?];
        let coordinates = position.each_ref().map(|values| values.numbers.to_f64());
        let mut layers = Vec::new();
        for selection in self.layers.clone() {
            let values = self.column(&selection, end)?;
            let mut numbers = values.whole_numbers();
            if self.drop_invalid && values.numbers.to_integers().is_none() {
                let floats = values.numbers.to_f64();
                numbers
                    .iter_mut()
                    .zip(floats)
                    .filter(|(_, float)| float.is_nan())
                    .for_each(|(number, _)| *number = Ok(MISSING));
            }
            layers.push((numbers, values));
        }
        let names = self.layout.schema.position;
        let layer_names = self.layout.schema.layer_columns().to_vec();
        for (at, entry) in (self.next..end).enumerate() {
            let names_of_ids = (self.layout.schema.event.as_deref(), self.layout.schema.roi);
            let ids = match (&events[at], &rois[at]) {
                (Ok(event_id), Ok(roi_id)) => Ok((*event_id, *roi_id)),
                (Err(reason), _) => Err((names_of_ids.0, reason)),
                (_, Err(reason)) => Err((names_of_ids.1, reason)),
            };
            let (event_id, roi_id) = match ids {
                Ok(ids) => ids,
                Err((name, reason)) => {
                    let error = self.fault(Some(entry), name, reason.clone());
                    chunk.bad_rows.push(BadRow { run: chunk.runs.len(), at: None, error });
                    continue;
                }
            };
            let begin = chunk.position[0].len();
            let count = position[0].range(at).len();
            let mut wrong: Option<(&str, String)> = None;
            let others = position
                .iter()
                .zip(names)
                .chain(layers.iter().map(|(_, values)| values).zip(layer_names.iter().copied()));
            for (values, name) in others {
                let own = values.range(at).len();
                if own != count {
                    let reason = format!("there are {own} values, and {count} of `{}`", names[0]);
                    wrong.get_or_insert((name, reason));
                }
            }
            for ((numbers, name), to) in layers.iter().zip(&layer_names).zip(&mut chunk.layers) {
                for (value, number) in numbers.0[numbers.1.range(at)].iter().enumerate() {
                    match number {
                        Ok(number) => to.push(*number),
                        Err(reason) if self.layout.lists => {
                            wrong.get_or_insert((name, format!("value {value}: {reason}")));
                        }
                        Err(reason) => {
                            wrong.get_or_insert((name, reason.clone()));
                        }
                    }
                }
            }
            for ((numbers, values), to) in coordinates.iter().zip(&position).zip(&mut chunk.position) {
                to.extend_from_slice(&numbers[values.range(at)]);
            }
            let spacepoints = if wrong.is_none() { count } else { 1 };
            let after_lost = chunk.bad_rows.last().is_some_and(|bad| bad.run == chunk.runs.len());
            let run = RoiRun { event_id, roi_id, spacepoints, row: entry, follows_lost_row: false };
            chunk.add_run(run, self.layout.lists, after_lost);
            if let Some((name, reason)) = wrong {
                chunk.put_placeholder(begin, layers.len());
                let error = self.fault(Some(entry), Some(name), reason);
                chunk.bad_rows.push(BadRow { run: chunk.runs.len() - 1, at: Some(begin), error });
            }
        }
        self.next = end;
        Ok(true)
    }

    fn error(&self, at: Option<(&RoiRun, Option<usize>)>, column: Option<&str>, message: String) -> Error {
        match at {
            Some((run, Some(value))) if self.layout.lists => {
                self.fault(Some(run.row), column, format!("value {value}: {message}"))
            }
            Some((run, Some(value))) => self.fault(Some(run.row + value as u64), column, message),
            Some((run, None)) => self.fault(Some(run.row), column, message),
            None => self.fault(None, column, message),
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
    name: &str,
    options: &ReadOptions,
    visit: &mut dyn FnMut(RoiId, bool),
) -> Result<()> {
    let mut file = NTupleFile::open(path, name, options)?;
    let lists = file.layout.lists;
    if file.event.is_none() && file.roi.is_none() {
        visit(RoiId { event_id: file.event_of_file, roi_id: 0 }, lists);
        return Ok(());
    }
    while let Some(cluster) = file.ntuple.cluster_of(file.next).map_err(|error| file.damaged(&error))? {
        let end = cluster.end.min(file.next + CHUNK);
        let events = file.ids(file.event.clone(), file.event_of_file, end)?;
        let rois = file.ids(file.roi.clone(), 0, end)?;
        for (event_id, roi_id) in events.into_iter().zip(rois) {
            if let (Ok(event_id), Ok(roi_id)) = (event_id, roi_id) {
                visit(RoiId { event_id, roi_id }, lists);
            }
        }
        file.next = end;
    }
    Ok(())
}

/// Returns whether an RNTuple has the fields of the truth: one event number and one z an entry.
pub(super) fn has_truth(path: &Path, name: &str, columns: &ColumnMap) -> bool {
    truth_fields(path, name, columns).is_ok_and(|fields| fields.is_some())
}

type TruthFields = (NTuple<BufReader<File>>, Selection, Selection);

fn truth_fields(path: &Path, name: &str, columns: &ColumnMap) -> Result<Option<TruthFields>> {
    let wrong = |error: rntuple::Error| refuse(path, format!("RNTuple `{name}`: {error}"));
    let ntuple = open_file(path)?.into_ntuple(name).map_err(wrong)?;
    let Some([event, z]) = truth::names(ntuple.paths(), columns) else { return Ok(None) };
    let (event, z) = (ntuple.select(&event).map_err(wrong)?, ntuple.select(&z).map_err(wrong)?);
    let are_numbers = [&event, &z].iter().all(|selection| is_list(&selection.empty()) == Some(false));
    Ok(are_numbers.then_some((ntuple, event, z)))
}

/// Returns the primary vertex of each event.
pub(super) fn truth(path: &Path, name: &str, columns: &ColumnMap) -> Result<Option<EventVertices>> {
    let Some((mut ntuple, event, z)) = truth_fields(path, name, columns)? else { return Ok(None) };
    let wrong = |error: rntuple::Error| refuse(path, format!("RNTuple `{name}`: {error}"));
    let fault = |entry: u64, column: &str, reason: String| {
        let message = format!("entry {entry} of RNTuple `{name}`: {reason}");
        Error::Input { path: path.to_owned(), row: 0, column: Some(column.to_owned()), message }
    };
    let mut vertices = Vec::new();
    let mut next = 0;
    while let Some(cluster) = ntuple.cluster_of(next).map_err(wrong)? {
        let end = cluster.end.min(next + CHUNK);
        let numbers = |array| match array {
            Array::Numbers(numbers) => numbers,
            _ => Numbers::F64(Vec::new()),
        };
        let events = Values { offsets: Vec::new(), numbers: numbers(ntuple.read(&event, next..end).map_err(wrong)?) };
        let z = numbers(ntuple.read(&z, next..end).map_err(wrong)?).to_f64();
        for (entry, (event_id, z_mm)) in (next..).zip(events.whole_numbers().into_iter().zip(z)) {
            let event_id = event_id.map_err(|reason| fault(entry, "event_id", reason))?;
            if !z_mm.is_finite() {
                return Err(fault(entry, TRUTH, format!("{z_mm} is not finite")));
            }
            vertices.push((event_id, vec![TruthVertex { z_mm, is_hard_scatter: true, ..TruthVertex::default() }]));
        }
        next = end;
    }
    Ok(Some(vertices))
}
