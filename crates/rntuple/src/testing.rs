//! Writes ROOT files with RNTuples, for tests: any fields and columns, written as the caller says.
//!
//! The encoders follow *RNTuple Binary Format Specification 1.0.0.0* and share no code with the
//! reader. Nothing is validated: a test may write a file that is wrong.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;

use flate2::write::ZlibEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use twox_hash::{XxHash3_64, XxHash64};

/// Structural roles of fields.
pub mod role {
    /// A number, a string, or one subfield.
    pub const LEAF: u16 = 0;
    /// A collection of its subfields.
    pub const COLLECTION: u16 = 1;
    /// A record of its subfields.
    pub const RECORD: u16 = 2;
    /// One of its subfields.
    pub const VARIANT: u16 = 3;
    /// Bytes of ROOT's own serialization.
    pub const STREAMER: u16 = 4;
}

/// The compression of pages and envelopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is named after its method")]
pub enum Packing {
    #[default]
    None,
    Zlib,
    Lz4,
    Zstd,
    Lzma,
}

impl Packing {
    /// Every compression.
    pub const ALL: [Self; 5] = [Self::None, Self::Zlib, Self::Lz4, Self::Zstd, Self::Lzma];
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Most elements of a page.
    pub page_elements: usize,
    /// Pages are followed by their checksums.
    pub has_checksums: bool,
    /// Compression of pages.
    pub pages: Packing,
    /// Compression of headers, footers and page lists.
    pub envelopes: Packing,
    /// Positions in the file have 64 bits.
    pub is_large: bool,
    /// Sizes in locators have 64 bits.
    pub has_large_locators: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            page_elements: 1 << 10,
            has_checksums: true,
            pages: Packing::None,
            envelopes: Packing::None,
            is_large: false,
            has_large_locators: false,
        }
    }
}

/// A field.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the members are those of the specification")]
pub struct Field {
    pub name: String,
    pub type_name: String,
    pub role: u16,
    pub parent: Option<usize>,
    pub repetition: Option<u64>,
    /// The source of a projected field.
    pub source: Option<u32>,
    /// The field is described in the footer.
    pub is_late: bool,
}

/// A column.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the members are those of the specification")]
pub struct Column {
    pub code: u16,
    pub bits: u16,
    pub field: usize,
    pub representation: u16,
    /// The index of the first element of a deferred column.
    pub first_element: Option<i64>,
    pub range: Option<[f64; 2]>,
    /// The column is described in the footer.
    pub is_late: bool,
}

/// Entries that are stored together.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Number of entries.
    pub entries: u64,
    /// The elements of each column, as bits in the lowest places. None: the column is suppressed.
    /// Columns may be missing at the end. An element of a switch is its index in 64 bits, and its
    /// tag above them.
    pub columns: Vec<Option<Vec<u128>>>,
}

/// An RNTuple.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    /// The name, after the names of its folders: `folder/name`.
    pub path: String,
    /// The version of the object.
    pub cycle: u16,
    /// The fields in the order of their identifiers.
    pub fields: Vec<Field>,
    /// The columns in the order of their identifiers.
    pub columns: Vec<Column>,
    /// Column and field of each alias column.
    pub aliases: Vec<[usize; 2]>,
    /// Groups of clusters.
    pub groups: Vec<Vec<Cluster>>,
}

impl Dataset {
    /// Returns an RNTuple without fields.
    pub fn new(path: &str) -> Self {
        Self { path: path.into(), cycle: 1, ..Self::default() }
    }

    /// Adds a field and returns its identifier.
    pub fn field(&mut self, parent: Option<usize>, name: &str, type_name: &str, role: u16) -> usize {
        let (name, type_name) = (name.into(), type_name.into());
        self.fields.push(Field { name, type_name, role, parent, ..Field::default() });
        self.fields.len() - 1
    }

    /// Adds a column and returns its identifier.
    pub fn column(&mut self, field: usize, code: u16, bits: u16) -> usize {
        self.columns.push(Column { code, bits, field, ..Column::default() });
        self.columns.len() - 1
    }

    /// Adds a leaf field with one column, and returns its identifier.
    pub fn leaf(&mut self, parent: Option<usize>, name: &str, type_name: &str, code: u16, bits: u16) -> usize {
        let field = self.field(parent, name, type_name, role::LEAF);
        self.column(field, code, bits);
        field
    }
}

/// A range of bytes whose checksum follows it.
#[derive(Clone, Debug)]
pub struct Seal {
    /// The range.
    pub range: Range<usize>,
    /// The bytes are those of a page.
    pub is_page: bool,
    /// The checksum has its highest byte first.
    is_big_endian: bool,
    /// Where other structures repeat the checksum.
    copies: Vec<usize>,
}

/// A file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The ranges with checksums, in the order of [`reseal`](Self::reseal). Compressed envelopes
    /// are missing.
    pub seals: Vec<Seal>,
}

impl File {
    /// Computes all checksums again, after bytes were changed.
    pub fn reseal(&mut self) {
        for Seal { range, is_big_endian, copies, .. } in &self.seals {
            let sum = XxHash3_64::oneshot(&self.bytes[range.clone()]);
            let sum = if *is_big_endian { sum.to_be_bytes() } else { sum.to_le_bytes() };
            for &at in copies.iter().chain([&range.end]) {
                self.bytes[at..at + 8].copy_from_slice(&sum);
            }
        }
    }
}

/// Returns a file with these RNTuples.
pub fn write(datasets: &[Dataset], options: &Options) -> File {
    const BEGIN: usize = 100;
    let mut writer = Writer { file: File { bytes: vec![0; BEGIN], ..File::default() }, options };
    // The top folder: a key with the names of the file, its description and its identifier.
    let description = writer.key("TFile", "test.root", 1, &[]).len() + strings(&["test.root", ""]).len();
    writer.file.bytes.resize(BEGIN + description + FOLDER_BYTES, 0);
    let members: Vec<(&str, &Dataset)> = datasets.iter().map(|dataset| (dataset.path.as_str(), dataset)).collect();
    let list = writer.folder(&members);
    let mut top = strings(&["test.root", ""]);
    top.extend(writer.description(&list, description as u32, BEGIN as u64));
    let mut top = writer.key("TFile", "test.root", 1, &top);
    // The key says where it is.
    let seek = 18..if options.is_large { 26 } else { 22 };
    let own = position(BEGIN as u64, options.is_large);
    top[seek].copy_from_slice(&own);
    writer.file.bytes[BEGIN..BEGIN + top.len()].copy_from_slice(&top);
    let end = writer.file.bytes.len() as u64;
    let version = 63_400 + if options.is_large { 1_000_000 } else { 0 };
    let mut head = b"root".to_vec();
    head.extend(u32::to_be_bytes(version));
    head.extend(u32::to_be_bytes(BEGIN as u32));
    head.extend(position(end, options.is_large));
    head.extend(position(end, options.is_large));
    for word in [0, 1, description as u32] {
        head.extend(u32::to_be_bytes(word));
    }
    head.push(if options.is_large { 8 } else { 4 });
    writer.file.bytes[..head.len()].copy_from_slice(&head);
    writer.file.reseal();
    writer.file
}

/// Bytes of a folder's description and identifier, with positions of 64 bits.
const FOLDER_BYTES: usize = 60;

const HEADER: u64 = 1;
const FOOTER: u64 = 2;
const PAGE_LIST: u64 = 3;

/// Where an envelope is, and its checksum.
struct Link {
    begin: usize,
    bytes: usize,
    /// Unpacked bytes.
    length: u64,
    sum: [u8; 8],
    /// Index of its seal.
    seal: Option<usize>,
}

struct Writer<'a> {
    file: File,
    options: &'a Options,
}

impl Writer<'_> {
    fn position(&self) -> usize {
        self.file.bytes.len()
    }

    /// Returns a key of an object that is written next, with the object.
    fn key(&self, class: &str, name: &str, cycle: u16, object: &[u8]) -> Vec<u8> {
        let is_large = self.options.is_large;
        let names = strings(&[class, name, ""]);
        let bytes = 18 + if is_large { 16 } else { 8 } + names.len();
        let mut key = u32::to_be_bytes((bytes + object.len()) as u32).to_vec();
        key.extend(u16::to_be_bytes(if is_large { 1004 } else { 4 }));
        key.extend(u32::to_be_bytes(object.len() as u32));
        key.extend([0; 4]);
        key.extend(u16::to_be_bytes(bytes as u16));
        key.extend(u16::to_be_bytes(cycle));
        key.extend(position(self.position() as u64, is_large));
        key.extend(position(100, is_large));
        key.extend(names);
        key.extend(object);
        key
    }

    /// Appends an object with its key, and returns the key.
    fn object(&mut self, class: &str, name: &str, cycle: u16, object: &[u8]) -> Vec<u8> {
        let mut key = self.key(class, name, cycle, object);
        self.file.bytes.extend(&key);
        key.truncate(key.len() - object.len());
        key
    }

    /// Appends RNTuples, folders and the list of their keys. Returns the range of the list.
    fn folder(&mut self, members: &[(&str, &Dataset)]) -> Range<usize> {
        let mut keys = Vec::new();
        let mut folders: BTreeMap<&str, Vec<(&str, &Dataset)>> = BTreeMap::new();
        for &(path, dataset) in members {
            match path.split_once('/') {
                Some((folder, rest)) => folders.entry(folder).or_default().push((rest, dataset)),
                None => keys.push(self.dataset(path, dataset)),
            }
        }
        for (name, members) in folders {
            let list = self.folder(&members);
            let description = self.description(&list, 0, self.position() as u64);
            keys.push(self.object("TDirectoryFile", name, 1, &description));
        }
        let mut list = u32::to_be_bytes(keys.len() as u32).to_vec();
        list.extend(keys.concat());
        let begin = self.position();
        self.object("TFile", "test.root", 1, &list);
        begin..self.position()
    }

    fn description(&self, list: &Range<usize>, name_bytes: u32, own: u64) -> Vec<u8> {
        let is_large = self.options.is_large;
        let mut bytes = u16::to_be_bytes(if is_large { 1005 } else { 5 }).to_vec();
        for word in [0, 0, list.len() as u32, name_bytes] {
            bytes.extend(u32::to_be_bytes(word));
        }
        for at in [own, 0, list.start as u64] {
            bytes.extend(position(at, is_large));
        }
        // The version of the identifier comes before it.
        bytes.extend([0, 1]);
        bytes.resize(FOLDER_BYTES, 0);
        bytes
    }

    /// Appends an RNTuple and returns the key of its anchor.
    fn dataset(&mut self, name: &str, dataset: &Dataset) -> Vec<u8> {
        let mut header = vec![0; 8];
        for text in [name, "description", "rntuple::testing"] {
            put_text(&mut header, text);
        }
        header.extend(schema(dataset, false));
        let header = self.envelope(HEADER, &header, None);
        let (mut groups, mut first_entry) = (Vec::new(), 0);
        let mut first_elements: Vec<u64> =
            dataset.columns.iter().map(|column| column.first_element.unwrap_or(0).unsigned_abs()).collect();
        for clusters in &dataset.groups {
            let (mut summaries, mut pages) = (Vec::new(), Vec::new());
            let first_of_group = first_entry;
            for cluster in clusters {
                summaries.push(frame(&[first_entry, cluster.entries].map(u64::to_le_bytes).concat()));
                first_entry += cluster.entries;
                let mut columns = Vec::new();
                for (at, elements) in cluster.columns.iter().enumerate() {
                    columns.push(self.pages(&dataset.columns[at], elements.as_deref(), &mut first_elements[at]));
                }
                pages.push(list(&columns));
            }
            let link = self.envelope(PAGE_LIST, &[list(&summaries), list(&pages)].concat(), Some(&header));
            let mut group = [first_of_group, first_entry - first_of_group].map(u64::to_le_bytes).concat();
            group.extend(u32::to_le_bytes(clusters.len() as u32));
            group.extend(u64::to_le_bytes(link.length));
            group.extend(self.locator(link.begin, link.bytes));
            groups.push(frame(&group));
        }
        let extension = schema(dataset, true);
        let footer = self.envelope(FOOTER, &[frame(&extension), list(&groups)].concat(), Some(&header));
        let mut members: Vec<u8> = [1u16, 0, 0, 0].map(u16::to_be_bytes).concat();
        for link in [&header, &footer] {
            members.extend([link.begin as u64, link.bytes as u64, link.length].map(u64::to_be_bytes).concat());
        }
        members.extend(u64::to_be_bytes(1 << 30));
        // ROOT's count of bytes has this bit; the version of the class follows.
        let mut anchor = u32::to_be_bytes(0x4000_0000 | (members.len() as u32 + 2)).to_vec();
        anchor.extend(u16::to_be_bytes(2));
        anchor.extend(&members);
        anchor.extend([0; 8]);
        let key = self.object("ROOT::RNTuple", name, dataset.cycle, &anchor);
        let end = self.position() - 8;
        self.file.seals.push(Seal {
            range: end - members.len()..end,
            is_page: false,
            is_big_endian: true,
            copies: Vec::new(),
        });
        key
    }

    /// Appends the pages of a column in a cluster, and returns their list.
    fn pages(&mut self, column: &Column, elements: Option<&[u128]>, first: &mut u64) -> Vec<u8> {
        let Some(elements) = elements else {
            return list_with(&[], &i64::MIN.to_le_bytes());
        };
        let mut pages = Vec::new();
        for page in elements.chunks(self.options.page_elements) {
            let packed = pack(&encode(column, page), self.options.pages);
            let begin = self.position();
            self.file.bytes.extend(&packed);
            let mut count = page.len() as i32;
            if self.options.has_checksums {
                count = -count;
                let range = begin..self.position();
                self.file.seals.push(Seal { range, is_page: true, is_big_endian: false, copies: Vec::new() });
                self.file.bytes.extend([0; 8]);
            }
            pages.push([count.to_le_bytes().to_vec(), self.locator(begin, packed.len())].concat());
        }
        let mut tail = u64::to_le_bytes(*first).to_vec();
        *first += elements.len() as u64;
        let setting: u32 = match self.options.pages {
            Packing::None => 0,
            Packing::Zlib => 101,
            Packing::Lzma => 207,
            Packing::Lz4 => 404,
            Packing::Zstd => 505,
        };
        tail.extend(setting.to_le_bytes());
        list_with(&pages, &tail)
    }

    /// Appends an envelope. Footers and page lists repeat the checksum of the header.
    fn envelope(&mut self, kind: u64, content: &[u8], header: Option<&Link>) -> Link {
        let mut bytes = vec![0; 8];
        if let Some(header) = header {
            // Feature flags come before the checksum in a footer.
            bytes.resize(if kind == FOOTER { 16 } else { 8 }, 0);
            if let Some(seal) = header.seal {
                let copy = self.position() + bytes.len();
                self.file.seals[seal].copies.push(copy);
            }
            bytes.extend(header.sum);
        }
        bytes.extend(content);
        let length = bytes.len() as u64 + 8;
        bytes[..8].copy_from_slice(&u64::to_le_bytes(length << 16 | kind));
        let sum = XxHash3_64::oneshot(&bytes).to_le_bytes();
        bytes.extend(sum);
        let packed = pack(&bytes, self.options.envelopes);
        let begin = self.position();
        self.file.bytes.extend(&packed);
        let mut seal = None;
        if packed.len() == bytes.len() {
            seal = Some(self.file.seals.len());
            let range = begin..self.position() - 8;
            self.file.seals.push(Seal { range, is_page: false, is_big_endian: false, copies: Vec::new() });
        }
        Link { begin, bytes: packed.len(), length, sum, seal }
    }

    fn locator(&self, begin: usize, bytes: usize) -> Vec<u8> {
        if self.options.has_large_locators {
            // The size of the locator, the type in the highest bits, and the sign.
            let head = -((1 << 24) | 20i32);
            return [&head.to_le_bytes()[..], &(bytes as u64).to_le_bytes(), &(begin as u64).to_le_bytes()].concat();
        }
        [&(bytes as i32).to_le_bytes()[..], &(begin as u64).to_le_bytes()].concat()
    }
}

/// Returns a position of 64 or 32 bits.
fn position(at: u64, is_large: bool) -> Vec<u8> {
    if is_large { at.to_be_bytes().to_vec() } else { (at as u32).to_be_bytes().to_vec() }
}

/// Returns strings as ROOT stores them: a byte with the length, and the characters.
fn strings(texts: &[&str]) -> Vec<u8> {
    texts.iter().flat_map(|text| [&[text.len() as u8], text.as_bytes()].concat()).collect()
}

fn put_text(to: &mut Vec<u8>, text: &str) {
    to.extend(u32::to_le_bytes(text.len() as u32));
    to.extend(text.as_bytes());
}

/// Returns the frame of a record.
fn frame(payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as i64 + 8).to_le_bytes(), payload].concat()
}

/// Returns the frame of a list.
fn list(items: &[Vec<u8>]) -> Vec<u8> {
    list_with(items, &[])
}

/// Returns the frame of a list with bytes after the items.
fn list_with(items: &[Vec<u8>], tail: &[u8]) -> Vec<u8> {
    let payload = [&items.concat(), tail].concat();
    [&(-(payload.len() as i64) - 12).to_le_bytes(), &(items.len() as u32).to_le_bytes()[..], &payload].concat()
}

/// Describes the fields and columns of the header or of the footer.
fn schema(dataset: &Dataset, is_late: bool) -> Vec<u8> {
    let mut fields = Vec::new();
    for (own, field) in dataset.fields.iter().enumerate().filter(|(_, field)| field.is_late == is_late) {
        let parent = field.parent.unwrap_or(own) as u32;
        let flags = u16::from(field.repetition.is_some()) | u16::from(field.source.is_some()) << 1;
        let mut bytes = [0, 0, parent].map(u32::to_le_bytes).concat();
        bytes.extend([field.role, flags].map(u16::to_le_bytes).concat());
        for text in [&field.name, &field.type_name, "", ""] {
            put_text(&mut bytes, text);
        }
        bytes.extend(field.repetition.map_or(Vec::new(), |size| size.to_le_bytes().to_vec()));
        bytes.extend(field.source.map_or(Vec::new(), |source| source.to_le_bytes().to_vec()));
        fields.push(frame(&bytes));
    }
    let mut columns = Vec::new();
    for column in dataset.columns.iter().filter(|column| column.is_late == is_late) {
        let flags = u16::from(column.first_element.is_some()) | u16::from(column.range.is_some()) << 1;
        let mut bytes = [column.code, column.bits].map(u16::to_le_bytes).concat();
        bytes.extend(u32::to_le_bytes(column.field as u32));
        bytes.extend([flags, column.representation].map(u16::to_le_bytes).concat());
        bytes.extend(column.first_element.map_or(Vec::new(), |first| first.to_le_bytes().to_vec()));
        bytes.extend(column.range.map_or(Vec::new(), |range| range.map(f64::to_le_bytes).concat()));
        columns.push(frame(&bytes));
    }
    let is_late_alias = |&&[_, field]: &&[usize; 2]| dataset.fields[field].is_late == is_late;
    let alias = |ids: &[usize; 2]| frame(&ids.map(|id| u32::to_le_bytes(id as u32)).concat());
    let aliases: Vec<Vec<u8>> = dataset.aliases.iter().filter(is_late_alias).map(alias).collect();
    [list(&fields), list(&columns), list(&aliases), list(&[])].concat()
}

/// Returns the bytes of a page.
fn encode(column: &Column, elements: &[u128]) -> Vec<u8> {
    let bits = u32::from(column.bits);
    let mask = u128::MAX >> (128 - bits);
    let sign = 1u128 << (bits - 1);
    let mut previous = 0;
    let mut numbers = elements.iter().map(|&element| match column.code {
        // 2x of a positive x, and -(2x + 1) of a negative one.
        0x11 | 0x13 | 0x15 if element & sign == 0 => element << 1 & mask,
        0x11 | 0x13 | 0x15 => !(element << 1) & mask,
        0x1a | 0x1b => element.wrapping_sub(std::mem::replace(&mut previous, element)) & mask,
        _ => element & mask,
    });
    if (0x11..=0x1b).contains(&column.code) {
        let numbers: Vec<u128> = numbers.collect();
        return (0..bits).step_by(8).flat_map(|bit| numbers.iter().map(move |number| (number >> bit) as u8)).collect();
    }
    if bits.is_multiple_of(8) {
        return numbers.flat_map(|number| number.to_le_bytes().into_iter().take(bits as usize / 8)).collect();
    }
    // Elements follow one another without gaps, lowest bit first.
    let (mut bytes, mut pending, mut count) = (Vec::new(), 0u128, 0);
    loop {
        while count >= 8 {
            bytes.push(pending as u8);
            (pending, count) = (pending >> 8, count - 8);
        }
        let Some(number) = numbers.next() else { break };
        pending |= number << count;
        count += bits;
    }
    if count > 0 {
        bytes.push(pending as u8);
    }
    bytes
}

/// Compresses bytes in chunks. Bytes that do not become fewer stay as they are.
fn pack(bytes: &[u8], packing: Packing) -> Vec<u8> {
    /// Small, so that tests have several chunks.
    const CHUNK: usize = 1 << 12;
    const LARGEST_CHUNK: usize = (1 << 24) - 1;
    const INFALLIBLE: &str = "memory takes all bytes";
    let mut all = Vec::new();
    for chunk in bytes.chunks(if bytes.len() < 1 << 20 { CHUNK } else { LARGEST_CHUNK }) {
        let (method, packed) = match packing {
            Packing::None => return bytes.to_vec(),
            Packing::Zlib => {
                let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(chunk).expect(INFALLIBLE);
                (b"ZL\x08", encoder.finish().expect(INFALLIBLE))
            }
            Packing::Lzma => {
                let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(0)).expect(INFALLIBLE);
                encoder.write_all(chunk).expect(INFALLIBLE);
                (b"XZ\x00", encoder.finish().expect(INFALLIBLE))
            }
            Packing::Lz4 => {
                let packed = lz4_flex::block::compress(chunk);
                (b"L4\x01", [&XxHash64::oneshot(0, &packed).to_be_bytes(), &packed[..]].concat())
            }
            Packing::Zstd => (b"ZS\x01", compress_to_vec(chunk, CompressionLevel::Fastest)),
        };
        all.extend(method);
        all.extend(&u32::to_le_bytes(packed.len() as u32)[..3]);
        all.extend(&u32::to_le_bytes(chunk.len() as u32)[..3]);
        all.extend(packed);
    }
    if all.len() < bytes.len() { all } else { bytes.to_vec() }
}

/// How spacepoints are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// An entry is a spacepoint: `event_id`, `x`, `y`, `z`, `layer`.
    Flat,
    /// An entry is an event: `event_id`, and vectors `x`, `y`, `z`, `layer`.
    Jagged,
    /// An entry is an event: `event_id`, and a collection `hits` of records with the members `x`,
    /// `y`, `z`, `layer`.
    Records,
}

/// A spacepoint.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the members are named after the fields")]
pub struct Spacepoint {
    pub x: f64,
    pub y: f64,
    pub z: f64,
    pub layer: u32,
}

/// Returns an RNTuple `events` of the spacepoints of events with these numbers. Each cluster has
/// `events_per_cluster` events.
pub fn spacepoints(layout: Layout, events: &[(u64, Vec<Spacepoint>)], events_per_cluster: usize) -> Dataset {
    let mut dataset = Dataset::new("events");
    dataset.leaf(None, "event_id", "std::uint64_t", 0x16, 64);
    let mut parent = None;
    if layout == Layout::Records {
        let hits = dataset.field(None, "hits", "std::vector<Hit>", role::COLLECTION);
        dataset.column(hits, 0x1b, 64);
        parent = Some(dataset.field(Some(hits), "_0", "Hit", role::RECORD));
    }
    for (name, item, code, bits) in [
        ("x", "double", 0x19, 64),
        ("y", "double", 0x19, 64),
        ("z", "double", 0x19, 64),
        ("layer", "std::uint32_t", 0x14, 32),
    ] {
        if layout == Layout::Jagged {
            let vector = dataset.field(None, name, &format!("std::vector<{item}>"), role::COLLECTION);
            dataset.column(vector, 0x1b, 64);
            dataset.leaf(Some(vector), "_0", item, code, bits);
        } else {
            dataset.leaf(parent, name, item, code, bits);
        }
    }
    let clusters = events.chunks(events_per_cluster).map(|events| {
        let points = || events.iter().flat_map(|(_, points)| points);
        let members = [
            points().map(|point| point.x.to_bits().into()).collect(),
            points().map(|point| point.y.to_bits().into()).collect(),
            points().map(|point| point.z.to_bits().into()).collect(),
            points().map(|point| point.layer.into()).collect::<Vec<u128>>(),
        ];
        let mut end = 0;
        let ends = events.iter().map(|(_, points)| {
            end += points.len() as u128;
            end
        });
        let ends: Vec<u128> = ends.collect();
        let copies = |points: &[Spacepoint]| if layout == Layout::Flat { points.len() } else { 1 };
        let ids = events.iter().flat_map(|(id, points)| std::iter::repeat_n(u128::from(*id), copies(points)));
        let mut columns = vec![ids.collect::<Vec<u128>>()];
        for (at, member) in members.into_iter().enumerate() {
            if layout == Layout::Jagged || layout == Layout::Records && at == 0 {
                columns.push(ends.clone());
            }
            columns.push(member);
        }
        Cluster { entries: columns[0].len() as u64, columns: columns.into_iter().map(Some).collect() }
    });
    dataset.groups = vec![clusters.collect()];
    dataset
}
