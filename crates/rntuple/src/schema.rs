//! Fields and columns, from the header and the extensions in the footer.

use crate::block::{Locator, matches_checksum};
use crate::bytes::Bytes;
use crate::column::Column;
use crate::error::{Error, Result};

/// How the values of a field are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// A number or a string, or one subfield (an enum).
    Leaf,
    /// A collection of its subfield, or of a record of its subfields.
    Collection,
    /// A record of its subfields.
    Record,
    /// One of its subfields for each value.
    Variant,
    /// Bytes of ROOT's own serialization. They are not read.
    Streamer,
    /// A role that a later version of the format adds.
    Unknown,
}

/// A field: a node of the tree of types.
#[derive(Clone, Debug)]
pub struct Field {
    pub(crate) name: String,
    pub(crate) type_name: String,
    pub(crate) role: Role,
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
    /// Number of items of each value, for a field of fixed length.
    pub(crate) repetition: Option<u64>,
    /// Bytes of the names of the field and of its parents.
    path_bytes: usize,
    /// Columns of each representation, in order.
    pub(crate) columns: Vec<Vec<usize>>,
}

impl Field {
    /// Returns the name, unique among the subfields of a field. Items of collections are `_0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the C++ type; empty for untyped records and collections.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Returns how the values are built.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the number of items of each value, for a field of fixed length.
    pub fn repetition(&self) -> Option<u64> {
        self.repetition
    }
}

/// Fields, columns and names of an RNTuple.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) writer: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) columns: Vec<Column>,
    checksum: u64,
    /// Bytes of the paths of all fields.
    path_bytes: usize,
}

/// A group of clusters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterGroup {
    pub(crate) first_entry: u64,
    pub(crate) entries: u64,
    pub(crate) pages: Locator,
    pub(crate) pages_length: u64,
}

/// Most bytes of the paths of all fields. A long name is repeated in the path of each subfield.
const PATH_BYTES: usize = 1 << 25;
/// Kinds of envelopes.
const HEADER: u16 = 1;
const FOOTER: u16 = 2;
pub(crate) const PAGE_LIST: u16 = 3;

/// Verifies an envelope and returns its payload and its checksum.
pub(crate) fn open_envelope<'a>(bytes: &'a [u8], kind: u16, what: &'static str) -> Result<(Bytes<'a>, u64)> {
    const CHECKSUM: usize = 8;
    let Some((content, sum)) = bytes.split_last_chunk::<CHECKSUM>() else {
        return Err(Error::damaged(format!("{what} ends too early")));
    };
    let checksum = u64::from_le_bytes(*sum);
    if !matches_checksum(content, checksum) {
        return Err(Error::damaged(format!("{what} does not match its checksum")));
    }
    let mut payload = Bytes::new(content, what);
    let word = payload.u64()?;
    if word as u16 != kind || word >> 16 != bytes.len() as u64 {
        return Err(payload.damaged("is another structure, or has another length"));
    }
    Ok((payload, checksum))
}

impl Schema {
    /// Reads the header.
    pub(crate) fn read(header: &[u8]) -> Result<Self> {
        let (mut header, checksum) = open_envelope(header, HEADER, "the header of the RNTuple")?;
        refuse_features(&mut header)?;
        let (name, description, writer) = (header.string()?, header.string()?, header.string()?);
        let mut schema = Self { name, description, writer, checksum, ..Self::default() };
        schema.extend(&mut header)?;
        Ok(schema)
    }

    /// Reads the footer: adds its fields and columns, and returns the groups of clusters.
    pub(crate) fn read_footer(&mut self, footer: &[u8]) -> Result<Vec<ClusterGroup>> {
        let (mut footer, _) = open_envelope(footer, FOOTER, "the footer of the RNTuple")?;
        refuse_features(&mut footer)?;
        self.check_header(&mut footer)?;
        let mut extension = footer.record()?;
        if extension.len() > 0 {
            self.extend(&mut extension)?;
        }
        let (count, mut list) = footer.list()?;
        let mut groups: Vec<ClusterGroup> = Vec::new();
        for _ in 0..count {
            let mut group = list.record()?;
            let (first_entry, entries, _clusters) = (group.u64()?, group.u64()?, group.u32()?);
            let (pages_length, pages) = (group.u64()?, read_locator(&mut group)?);
            let expected = groups.last().map_or(0, |last| last.first_entry + last.entries);
            if first_entry != expected || first_entry.checked_add(entries).is_none() {
                return Err(group.damaged("has groups of clusters that do not follow one another"));
            }
            groups.push(ClusterGroup { first_entry, entries, pages, pages_length });
        }
        Ok(groups)
    }

    /// Verifies that an envelope belongs to the header.
    pub(crate) fn check_header(&self, envelope: &mut Bytes<'_>) -> Result<()> {
        if envelope.u64()? == self.checksum || cfg!(fuzzing) {
            Ok(())
        } else {
            Err(envelope.damaged("belongs to another header"))
        }
    }

    /// Reads fields, columns and alias columns. Information about ROOT's streamers follows, which
    /// is not needed.
    fn extend(&mut self, bytes: &mut Bytes<'_>) -> Result<()> {
        let (count, mut list) = bytes.list()?;
        for _ in 0..count {
            self.add_field(&mut list.record()?)?;
        }
        let (count, mut list) = bytes.list()?;
        for _ in 0..count {
            let column = Column::read(&mut list.record()?)?;
            self.columns.push(column);
            self.attach(column.field, self.columns.len() - 1, bytes)?;
        }
        let (count, mut list) = bytes.list()?;
        for _ in 0..count {
            let mut alias = list.record()?;
            let (column, field) = (alias.u32()? as usize, alias.u32()?);
            if column >= self.columns.len() {
                return Err(alias.damaged("refers to a column that is missing"));
            }
            self.attach(field, column, bytes)?;
        }
        Ok(())
    }

    fn attach(&mut self, field: u32, column: usize, bytes: &Bytes<'_>) -> Result<()> {
        let field = self.fields.get_mut(field as usize);
        let field = field.ok_or_else(|| bytes.damaged("refers to a field that is missing"))?;
        let representation = usize::from(self.columns[column].representation);
        match field.columns.len() {
            length if representation == length => field.columns.push(vec![column]),
            length if representation < length => field.columns[representation].push(column),
            _ => return Err(bytes.damaged("has representations of columns that do not follow one another")),
        }
        Ok(())
    }

    fn add_field(&mut self, record: &mut Bytes<'_>) -> Result<()> {
        const REPETITIVE: u16 = 1;
        let (_version, _type_version, parent) = (record.u32()?, record.u32()?, record.u32()? as usize);
        let (role, flags) = (record.u16()?, record.u16()?);
        let (name, type_name) = (record.string()?, record.string()?);
        let (_alias, _description) = (record.string()?, record.string()?);
        let repetition = if flags & REPETITIVE != 0 { Some(record.u64()?) } else { None };
        let role = match role {
            0 => Role::Leaf,
            1 => Role::Collection,
            2 => Role::Record,
            3 => Role::Variant,
            4 => Role::Streamer,
            _ => Role::Unknown,
        };
        let own = self.fields.len();
        // Parents come first, so that there are no circles.
        let parent = match parent.cmp(&own) {
            std::cmp::Ordering::Less => Some(parent),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => return Err(record.damaged("has a field before its parent")),
        };
        if let Some(parent) = parent {
            self.fields[parent].children.push(own);
        }
        let path_bytes = name.len() + 1 + parent.map_or(0, |parent| self.fields[parent].path_bytes);
        self.path_bytes += path_bytes;
        if self.path_bytes > PATH_BYTES {
            return Err(Error::TooLarge(format!("paths of the fields have more than {PATH_BYTES} bytes")));
        }
        let (children, columns) = (Vec::new(), Vec::new());
        self.fields.push(Field { name, type_name, role, parent, children, repetition, path_bytes, columns });
        Ok(())
    }
}

/// Refuses features that no version of the format up to 1.0 has.
fn refuse_features(bytes: &mut Bytes<'_>) -> Result<()> {
    let flags = bytes.u64()?;
    if flags == 0 {
        return Ok(());
    }
    Err(Error::Unsupported(format!("the RNTuple uses features ({flags:#x}) of a later version of the format")))
}

/// Reads a locator.
pub(crate) fn read_locator(bytes: &mut Bytes<'_>) -> Result<Locator> {
    const LARGE: u32 = 1;
    let size = bytes.i32()?;
    if let Ok(size) = u64::try_from(size) {
        return Ok(Locator { size, position: bytes.u64()? });
    }
    // Of the magnitude, the low 16 bits are the size of the locator with this word, and the high 8
    // its type.
    let head = size.unsigned_abs();
    let length = usize::from(head as u16).checked_sub(4);
    let length = length.ok_or_else(|| bytes.damaged("has a locator of an impossible size"))?;
    let mut payload = Bytes::new(bytes.take(length)?, "a locator of the RNTuple");
    match head >> 24 {
        LARGE => Ok(Locator { size: payload.u64()?, position: payload.u64()? }),
        kind => Err(Error::Unsupported(format!("locators of type {kind:#04x} are not read"))),
    }
}
