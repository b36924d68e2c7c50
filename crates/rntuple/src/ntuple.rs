//! Reads the values of fields.

use std::collections::HashMap;
use std::io::{Read, Seek};
use std::ops::Range;

use crate::array::{Array, Numbers, each};
use crate::block::{MOST_BYTES, read_block};
use crate::clusters::{Cluster, read_page_list};
use crate::column::Elements;
use crate::container::Anchor;
use crate::error::{Error, Result};
use crate::schema::{ClusterGroup, Field, Schema};
use crate::selection::{Node, Scope, Selection};

/// Most bytes of an unpacked envelope. The page list of 16 million pages has this size.
const MOST_ENVELOPE_BYTES: u64 = 1 << 28;
/// An envelope above this size has at most [`MOST_RATIO`] times the bytes that it has in the file.
/// Page lists compress some ten times. Without this limit, a few kB of zstd become 256 MB.
const SMALL_ENVELOPE_BYTES: u64 = 1 << 22;
const MOST_RATIO: u64 = 64;

/// An RNTuple: a table whose columns may be nested.
///
/// The reader holds one page of each column that was read, and the page list of one group of
/// clusters. If these pages exceed [`limit_elements`](Self::limit_elements), it discards them.
pub struct NTuple<R> {
    file: R,
    schema: Schema,
    groups: Vec<ClusterGroup>,
    most_key_bytes: u64,
    most_elements: u64,
    /// The group of clusters whose page list was read last.
    group: Option<usize>,
    clusters: Vec<Cluster>,
    pages: HashMap<usize, DecodedPage>,
    /// Number of elements of `pages`.
    decoded_elements: u64,
}

/// The last page of a column.
struct DecodedPage {
    /// Index of the group, of the cluster and of the page.
    place: [usize; 3],
    count: u64,
    elements: Elements,
}

impl<R: Read + Seek> NTuple<R> {
    /// Most elements of a page and of a call of [`read`](Self::read), unless
    /// [`limit_elements`](Self::limit_elements) sets others.
    pub const MOST_ELEMENTS: u64 = 1 << 26;

    pub(crate) fn open(mut file: R, anchor: Anchor) -> Result<Self> {
        let most = anchor.most_key_bytes;
        let header = read_envelope(&mut file, anchor.header, anchor.header_length, most, "the header of the RNTuple")?;
        let mut schema = Schema::read(&header)?;
        let footer = read_envelope(&mut file, anchor.footer, anchor.footer_length, most, "the footer of the RNTuple")?;
        let groups = schema.read_footer(&footer)?;
        Ok(Self {
            file,
            schema,
            groups,
            most_key_bytes: most,
            most_elements: Self::MOST_ELEMENTS,
            group: None,
            clusters: Vec::new(),
            pages: HashMap::new(),
            decoded_elements: 0,
        })
    }

    /// Sets the most elements of a page, and of all columns together that one call of
    /// [`read`](Self::read) reads. It bounds the memory: an element takes 16 bytes at most, twice
    /// while its page is decoded. A record or an array counts as one element in each cluster: it
    /// may have no columns, and still takes time. 2^30 is the largest limit.
    pub fn limit_elements(&mut self, most: u64) {
        self.most_elements = most.min(MOST_BYTES);
    }

    /// Returns the name of the RNTuple.
    pub fn name(&self) -> &str {
        &self.schema.name
    }

    /// Returns the description of the RNTuple.
    pub fn description(&self) -> &str {
        &self.schema.description
    }

    /// Returns the library or program that wrote the RNTuple.
    pub fn writer(&self) -> &str {
        &self.schema.writer
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.first_entry + group.entries)
    }

    /// Returns the paths of the top fields and of the members of records, also of records in
    /// collections, in the order of the file: `event`, `hits`, `hits.x`.
    pub fn paths(&self) -> Vec<String> {
        let fields = &self.schema.fields;
        let tops = (0..fields.len()).rev().filter(|&field| fields[field].parent.is_none());
        let mut pending: Vec<(usize, String)> = tops.map(|top| (top, fields[top].name.clone())).collect();
        let mut paths = Vec::new();
        while let Some((field, path)) = pending.pop() {
            let members = self.schema.members(field).into_iter().rev();
            pending.extend(members.map(|member| (member, format!("{path}.{}", fields[member].name))));
            paths.push(path);
        }
        paths
    }

    /// Returns the field of a path.
    ///
    /// # Errors
    /// A path that is missing.
    pub fn field(&self, path: &str) -> Result<&Field> {
        let chain = self.schema.chain(path)?;
        Ok(&self.schema.fields[*chain.last().expect("a chain has a field")])
    }

    /// Selects the values of a path.
    ///
    /// The array of `hits.x`, where `hits` is a collection of records, is a list of numbers for
    /// each entry.
    ///
    /// # Errors
    /// A path that is missing, and a field of a type that is not read: serialized by ROOT's
    /// streamers, or of a later version of the format.
    pub fn select(&self, path: &str) -> Result<Selection> {
        Selection::new(&self.schema, path)
    }

    /// Reads the values of entries.
    ///
    /// # Errors
    /// Entries beyond the end, more elements than [`limit_elements`](Self::limit_elements) allows,
    /// and a file that is damaged or cannot be read.
    pub fn read(&mut self, selection: &Selection, entries: Range<u64>) -> Result<Array> {
        if entries.start > entries.end || entries.end > self.entries() {
            let (Range { start, end }, have) = (entries, self.entries());
            return Err(Error::NotFound(format!("entries {start} to {end} are not among the {have} of the RNTuple")));
        }
        let mut array = selection.root.empty();
        let mut left = self.most_elements;
        let mut next = entries.start;
        while next < entries.end {
            let cluster = self.find_cluster(next)?;
            let Cluster { first_entry, entries: count, .. } = self.clusters[cluster];
            let end = entries.end.min(first_entry + count);
            self.fill(&selection.root, cluster, next - first_entry..end - first_entry, &mut left, &mut array)?;
            next = end;
        }
        Ok(array)
    }

    /// Returns the number of items of each entry, without reading them: for a field that is a
    /// collection. Other fields have one item, and arrays their fixed number.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn lengths(&mut self, selection: &Selection, entries: Range<u64>) -> Result<Vec<u64>> {
        let sizes = selection.sizes();
        let array = self.read(&sizes, entries)?;
        let size = match array {
            Array::Numbers(Numbers::U64(lengths)) => return Ok(lengths),
            Array::Fixed { size, .. } => size,
            _ => 1,
        };
        // No column was read, which would have counted.
        if array.len() > self.most_elements {
            return Err(self.too_many());
        }
        Ok(vec![size; array.len() as usize])
    }

    /// Returns the entries of the cluster that holds this entry: reading a range that ends there
    /// touches no page of another cluster. None for an entry beyond the end.
    ///
    /// # Errors
    /// A page list that is damaged or cannot be read.
    pub fn cluster_of(&mut self, entry: u64) -> Result<Option<Range<u64>>> {
        if entry >= self.entries() {
            return Ok(None);
        }
        let cluster = self.find_cluster(entry)?;
        let Cluster { first_entry, entries, .. } = self.clusters[cluster];
        Ok(Some(first_entry..first_entry + entries))
    }

    /// Returns the index of the cluster of an entry, and reads its page list.
    fn find_cluster(&mut self, entry: u64) -> Result<usize> {
        let group = self.groups.partition_point(|group| group.first_entry + group.entries <= entry);
        if self.group != Some(group) {
            let ClusterGroup { first_entry, entries, pages, pages_length } = self.groups[group];
            let what = "the page list of the RNTuple";
            let envelope = read_envelope(&mut self.file, pages, pages_length, self.most_key_bytes, what)?;
            self.clusters = read_page_list(&envelope, &self.schema, first_entry, entries)?;
            self.group = Some(group);
        }
        Ok(self.clusters.partition_point(|cluster| cluster.first_entry + cluster.entries <= entry))
    }

    /// Appends the values `range` of a cluster, counted in values of this node.
    fn fill(&mut self, node: &Node, cluster: usize, range: Range<u64>, left: &mut u64, to: &mut Array) -> Result<()> {
        match (node, to) {
            (Node::Numbers { columns, scope, .. }, Array::Numbers(numbers)) => {
                let column = self.representation(columns, cluster, |column| *column)?;
                self.visit(column, scope, cluster, range, left, &mut |elements, part| {
                    append(numbers, elements, part).map_err(|problem| Error::damaged(format!("field {node} {problem}")))
                })
            }
            (Node::Cardinality { columns, scope, .. }, Array::Numbers(numbers)) => {
                let column = self.representation(columns, cluster, |column| *column)?;
                let ends = self.ends(column, scope, cluster, range, left)?;
                let lengths = Numbers::U64(ends.array_windows().map(|[begin, end]| end - begin).collect());
                let all = 0..lengths.len();
                append(numbers, &Elements::Numbers(lengths), all).map_err(Error::damaged)
            }
            (Node::Text { columns, scope, items, .. }, Array::Text { offsets, bytes }) => {
                let [index, chars] = self.representation(columns, cluster, |columns| columns[0])?;
                let ends = self.ends(index, scope, cluster, range, left)?;
                extend_offsets(offsets, &ends)?;
                self.visit(chars, items, cluster, span(&ends), left, &mut |elements, part| match elements {
                    Elements::Numbers(Numbers::U8(chars)) => {
                        bytes.extend_from_slice(&chars[part]);
                        Ok(())
                    }
                    _ => Err(Error::damaged("a string has characters of another type")),
                })
            }
            (Node::List { columns, scope, item, .. }, Array::List { offsets, items }) => {
                let column = self.representation(columns, cluster, |column| *column)?;
                let ends = self.ends(column, scope, cluster, range, left)?;
                extend_offsets(offsets, &ends)?;
                self.fill(item, cluster, span(&ends), left, items)
            }
            (Node::Fixed { size, item }, Array::Fixed { length, items, .. }) => {
                *length = self.sum(*length, range.end - range.start)?;
                *left = left.checked_sub(1).ok_or_else(|| self.too_many())?;
                let times = |at: u64| at.checked_mul(*size).ok_or_else(|| self.too_many());
                let range = times(range.start)?..times(range.end)?;
                self.fill(item, cluster, range, left, items)
            }
            (Node::Record { members }, Array::Record { length, fields }) => {
                // Without members, memory would not follow the length.
                *length = self.sum(*length, range.end - range.start)?;
                *left = left.checked_sub(1).ok_or_else(|| self.too_many())?;
                for ((_, member), (_, array)) in members.iter().zip(fields) {
                    self.fill(member, cluster, range.clone(), left, array)?;
                }
                Ok(())
            }
            (
                Node::Variant { columns, scope, alternatives },
                Array::Variant { tags, indices, alternatives: arrays },
            ) => {
                let column = self.representation(columns, cluster, |column| *column)?;
                let mut switches = Vec::new();
                self.visit(column, scope, cluster, range, left, &mut |elements, part| match elements {
                    Elements::Switch(all) => {
                        switches.extend_from_slice(&all[part]);
                        Ok(())
                    }
                    _ => Err(Error::damaged("a variant has tags of another type")),
                })?;
                // The least and the largest index of each alternative.
                let mut spans: Vec<Option<(u64, u64)>> = vec![None; alternatives.len()];
                for &(at, tag) in switches.iter().filter(|&&(_, tag)| tag != 0) {
                    let Some(span) = spans.get_mut(tag as usize - 1) else {
                        return Err(Error::damaged("a variant has a tag without alternative"));
                    };
                    let (least, most) = span.unwrap_or((at, at));
                    *span = Some((least.min(at), most.max(at)));
                }
                let mut bases = vec![(0, 0); alternatives.len()];
                for (((span, base), alternative), array) in spans.iter().zip(&mut bases).zip(alternatives).zip(arrays) {
                    let &Some((least, most)) = span else { continue };
                    *base = (least, array.len());
                    self.fill(alternative, cluster, least..self.sum(most, 1)?, left, array)?;
                }
                for (at, tag) in switches.iter_mut().filter(|(_, tag)| *tag != 0) {
                    let (least, before) = bases[*tag as usize - 1];
                    *at = *at - least + before;
                }
                tags.extend(switches.iter().map(|switch| switch.1));
                indices.extend(switches.iter().map(|switch| switch.0));
                Ok(())
            }
            _ => unreachable!("arrays are made from their nodes"),
        }
    }

    /// Returns the columns of the representation that has the elements in this cluster.
    fn representation<C: Copy>(&self, all: &[C], cluster: usize, first: impl Fn(&C) -> usize) -> Result<C> {
        let columns = &self.clusters[cluster].columns;
        let has_elements = |column: &&C| columns.get(first(column)).is_none_or(|column| !column.is_suppressed);
        let used = all.iter().find(has_elements);
        used.copied().ok_or_else(|| Error::damaged("a field has no elements in one of the clusters"))
    }

    /// Reads where values begin and end: n values have n + 1 numbers.
    fn ends(
        &mut self,
        column: usize,
        scope: &Scope,
        cluster: usize,
        range: Range<u64>,
        left: &mut u64,
    ) -> Result<Vec<u64>> {
        let mut ends = Vec::new();
        if range.start == 0 {
            ends.push(0);
        }
        self.visit(column, scope, cluster, range.start.saturating_sub(1)..range.end, left, &mut |elements, part| {
            match elements {
                Elements::Index(all) => {
                    ends.extend_from_slice(&all[part]);
                    Ok(())
                }
                _ => Err(Error::damaged("a collection has sizes of another type")),
            }
        })?;
        if ends.is_sorted() { Ok(ends) } else { Err(Error::damaged("a collection has a negative size")) }
    }

    /// Calls `take` with pages and ranges within them, in order, until all elements of `range` were
    /// passed.
    fn visit(
        &mut self,
        column: usize,
        scope: &Scope,
        cluster: usize,
        range: Range<u64>,
        left: &mut u64,
        take: &mut dyn FnMut(&Elements, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let count = range.end - range.start;
        *left = left.checked_sub(count).ok_or_else(|| self.too_many())?;
        // The number of values is needed for deferred columns alone.
        let values = if self.schema.columns[column].is_deferred { self.count(scope, cluster)? } else { 0 };
        self.visit_values(column, values, cluster, range, take)
    }

    /// As [`visit`](Self::visit), in a cluster with this number of values.
    fn visit_values(
        &mut self,
        column: usize,
        values: u64,
        cluster: usize,
        mut range: Range<u64>,
        take: &mut dyn FnMut(&Elements, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let absent = self.absent_elements(column, values, cluster)?;
        if range.start < absent.min(range.end) {
            let zeros = range.end.min(absent) - range.start;
            let zeros_page = self.schema.columns[column].zeros(zeros as usize)?;
            take(&zeros_page, 0..zeros as usize)?;
            range.start += zeros;
        }
        while range.start < range.end {
            let (start, end) = (range.start - absent, range.end - absent);
            let pages = self.clusters[cluster].columns.get(column).map_or(&[][..], |column| &column.pages);
            let page = pages.partition_point(|page| page.end <= start);
            let Some(found) = pages.get(page) else {
                return Err(Error::damaged("a column has fewer elements than its field"));
            };
            let first = found.end - found.elements;
            let part = start - first..end.min(found.end) - first;
            range.start += part.end - part.start;
            take(self.page(column, cluster, page)?, part.start as usize..part.end as usize)?;
        }
        Ok(())
    }

    /// Returns the number of elements at the begin of a cluster that are not stored, because their
    /// column was added later. They are 0.
    fn absent_elements(&self, column: usize, values: u64, cluster: usize) -> Result<u64> {
        if !self.schema.columns[column].is_deferred {
            return Ok(0);
        }
        let stored = self.clusters[cluster].columns.get(column).map_or(0, |pages| pages.elements());
        values.checked_sub(stored).ok_or_else(|| Error::damaged("a column has more elements than its field"))
    }

    /// Returns the number of values of a scope in a cluster.
    fn count(&mut self, scope: &Scope, cluster: usize) -> Result<u64> {
        match scope {
            Scope::Entries => Ok(self.clusters[cluster].entries),
            Scope::Times(size, scope) => self.count(scope, cluster)?.checked_mul(*size).ok_or_else(|| self.too_many()),
            Scope::Items(columns, scope) => {
                let lists = self.count(scope, cluster)?;
                if lists == 0 {
                    return Ok(0);
                }
                let column = self.representation(columns, cluster, |column| *column)?;
                // Calling `ends` would count the lists again, twice for each level of nesting.
                let mut end = 0;
                self.visit_values(column, lists, cluster, lists - 1..lists, &mut |elements, part| match elements {
                    Elements::Index(all) => {
                        end = all[part.start];
                        Ok(())
                    }
                    _ => Err(Error::damaged("a collection has sizes of another type")),
                })?;
                Ok(end)
            }
            Scope::Alternative => {
                Err(Error::Unsupported("a variant whose alternatives were added later is not read".into()))
            }
        }
    }

    /// Returns a page of a column.
    fn page(&mut self, column: usize, cluster: usize, page: usize) -> Result<&Elements> {
        let place = [self.group.unwrap_or(0), cluster, page];
        if self.pages.get(&column).is_none_or(|decoded| decoded.place != place) {
            // The old page goes before the new one is there.
            if let Some(old) = self.pages.remove(&column) {
                self.decoded_elements -= old.count;
            }
            let found = &self.clusters[cluster].columns[column].pages[page];
            if found.elements > self.most_elements {
                return Err(self.too_many());
            }
            let description = &self.schema.columns[column];
            let length = description.page_bytes(found.elements);
            let (at, has_checksum) = (found.at, found.has_checksum);
            if at.size > self.most_key_bytes {
                return Err(split_over_keys("a page of the RNTuple"));
            }
            let count = found.elements;
            // A file of a few pages, which all columns share, would take memory for each of them.
            if self.decoded_elements + count > self.most_elements {
                self.pages.clear();
                self.decoded_elements = 0;
            }
            let bytes = read_block(&mut self.file, at, length, has_checksum, "a page of the RNTuple")?;
            let elements = description.decode(&bytes, count as usize)?;
            self.pages.insert(column, DecodedPage { place, count, elements });
            self.decoded_elements += count;
        }
        Ok(&self.pages[&column].elements)
    }

    fn sum(&self, one: u64, other: u64) -> Result<u64> {
        one.checked_add(other).ok_or_else(|| self.too_many())
    }

    fn too_many(&self) -> Error {
        Error::TooLarge(format!(
            "a page, or the values of these entries, have more than {} elements: read fewer entries at once",
            self.most_elements
        ))
    }
}

fn split_over_keys(what: &str) -> Error {
    Error::Unsupported(format!("{what} is split over several keys, which is not read"))
}

fn read_envelope(
    file: &mut (impl Read + Seek),
    at: crate::block::Locator,
    length: u64,
    most_key_bytes: u64,
    what: &str,
) -> Result<Vec<u8>> {
    if at.size > most_key_bytes.min(MOST_BYTES) {
        return Err(split_over_keys(what));
    }
    let most = MOST_ENVELOPE_BYTES.min(SMALL_ENVELOPE_BYTES.max(at.size * MOST_RATIO));
    if length > most {
        return Err(Error::TooLarge(format!("{what} has {length} bytes; {most} at most are read")));
    }
    read_block(file, at, length, false, what)
}

/// Returns the items of values that begin and end there.
fn span(ends: &[u64]) -> Range<u64> {
    match ends {
        [first, .., last] => *first..*last,
        _ => 0..0,
    }
}

fn extend_offsets(offsets: &mut Vec<u64>, ends: &[u64]) -> Result<()> {
    let base = offsets.last().copied().unwrap_or(0);
    let (first, last) = (ends.first().copied().unwrap_or(0), ends.last().copied().unwrap_or(0));
    if base.checked_add(last - first).is_none() {
        return Err(Error::damaged("collections have more than 2^64 items together"));
    }
    offsets.extend(ends.iter().skip(1).map(|end| base + (end - first)));
    Ok(())
}

/// Appends elements as another type of numbers. The error is the rest of a sentence.
fn append(to: &mut Numbers, elements: &Elements, part: Range<usize>) -> Result<(), String> {
    macro_rules! copy {
        ($($variant:ident),*) => {
            match (&mut *to, elements) {
                $((Numbers::$variant(to), Elements::Numbers(Numbers::$variant(from))) => {
                    to.extend_from_slice(&from[part]);
                    return Ok(());
                })*
                (_, Elements::Numbers(from)) => from,
                _ => return Err("has elements that are not numbers".into()),
            }
        };
    }
    let from = copy!(Bool, I8, U8, I16, U16, I32, U32, I64, U64, F32, F64);
    match to {
        Numbers::F32(to) => to.extend(from.part(part).to_f64().iter().map(|&value| value as f32)),
        Numbers::F64(to) => to.extend(from.part(part).to_f64()),
        whole => {
            let integers = from.part(part).to_integers().ok_or("is whole and has elements that are not")?;
            each!(whole, to => extend_whole(to, &integers))?;
        }
    }
    Ok(())
}

/// A type that integers are converted to.
trait FromInteger: Sized {
    fn from_integer(integer: i128) -> Option<Self>;
}

macro_rules! from_integer {
    ($($number:ty),*) => {
        $(impl FromInteger for $number {
            fn from_integer(integer: i128) -> Option<Self> {
                integer.try_into().ok()
            }
        })*
    };
}
from_integer!(i8, u8, i16, u16, i32, u32, i64, u64);

impl FromInteger for bool {
    fn from_integer(integer: i128) -> Option<Self> {
        Some(integer != 0)
    }
}

impl FromInteger for f32 {
    fn from_integer(integer: i128) -> Option<Self> {
        Some(integer as f32)
    }
}

impl FromInteger for f64 {
    fn from_integer(integer: i128) -> Option<Self> {
        Some(integer as f64)
    }
}

fn extend_whole<T: FromInteger>(to: &mut Vec<T>, integers: &[i128]) -> Result<(), String> {
    for &integer in integers {
        to.push(T::from_integer(integer).ok_or_else(|| format!("has {integer}, which its type cannot hold"))?);
    }
    Ok(())
}
