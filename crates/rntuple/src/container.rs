//! Reads the directory of a ROOT file: the names and classes of its objects.
//!
//! Integers are big-endian. A key has these parts:
//!
//! | part | bytes |
//! |---|---|
//! | size of key and object | 4 |
//! | version | 2 |
//! | size of the unpacked object | 4 |
//! | date | 4 |
//! | size of the key | 2 |
//! | cycle | 2 |
//! | position of the key | 4, or 8 above version 1000 |
//! | position of the folder | 4, or 8 above version 1000 |
//! | class, name and title | strings |

use std::io::{Read, Seek};

use crate::block::{Locator, decompress, matches_checksum, read_at};
use crate::bytes::{BigEndian, Bytes};
use crate::error::{Error, Result};
use crate::ntuple::NTuple;

const LARGE_FILE: u32 = 1_000_000;
const LARGE_KEY: u16 = 1000;
/// Large enough for the header, the first key and the description of the top folder.
const HEAD: u64 = 1 << 12;
/// Deepest folder, and most folders, that are read.
const DEPTH: usize = 32;
const FOLDERS: usize = 1 << 12;
/// Most bytes of the paths of all objects. A long name of a folder is repeated in each of them.
const PATH_BYTES: usize = 1 << 28;
/// Most bytes of the anchor of an RNTuple: version 1.0 has 78.
const ANCHOR_BYTES: usize = 1 << 12;
/// The class of the object that says where header and footer of an RNTuple are.
const ANCHOR: &str = "ROOT::RNTuple";

/// An object in a ROOT file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    path: String,
    class: String,
    cycle: u16,
    key: Key,
}

impl Object {
    /// Returns the name, after the names of its folders: `folder/name`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the name of the class: `TTree`, `TH1F`, `ROOT::RNTuple`.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// Returns the version of the object: the highest one was written last.
    pub fn cycle(&self) -> u16 {
        self.cycle
    }

    /// Returns whether the object is an RNTuple.
    pub fn is_ntuple(&self) -> bool {
        self.class == ANCHOR
    }
}

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    position: u64,
    size: u32,
    /// Bytes of the key, before the object.
    header: u16,
    /// Bytes of the unpacked object.
    length: u32,
}

impl Key {
    fn payload(self, what: &str) -> Result<Locator> {
        let size = self.size.checked_sub(self.header.into());
        let position = self.position.checked_add(self.header.into());
        match (size, position) {
            (Some(size), Some(position)) => Ok(Locator { position, size: size.into() }),
            _ => Err(Error::damaged(format!("the key of {what} has an impossible size"))),
        }
    }
}

/// A ROOT file and the list of its objects.
pub struct RootFile<R> {
    file: R,
    objects: Vec<Object>,
}

impl RootFile<std::fs::File> {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that cannot be opened, and those of [`new`](Self::new).
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::new(std::fs::File::open(path)?)
    }
}

impl<R: Read + Seek> RootFile<R> {
    /// Reads the list of the objects, also those in folders.
    ///
    /// # Errors
    /// A file that is not a ROOT file, and one whose directory is damaged.
    pub fn new(mut file: R) -> Result<Self> {
        let file_bytes = file.seek(std::io::SeekFrom::End(0))?;
        file.seek(std::io::SeekFrom::Start(0))?;
        let mut head = Vec::new();
        file.by_ref().take(HEAD).read_to_end(&mut head)?;
        let mut header = BigEndian(Bytes::new(&head, "the header of the file"));
        if header.0.array()? != *b"root" {
            return Err(Error::damaged("it does not begin with `root`: this is not a ROOT file"));
        }
        let is_large = header.u32()? >= LARGE_FILE;
        let begin = header.u32()?;
        let _end = header.position(is_large)?;
        let _free = header.position(is_large)?;
        let (_free_bytes, _free_count, name_bytes) = (header.u32()?, header.u32()?, header.u32()?);
        let folder = u64::from(begin) + u64::from(name_bytes);
        let objects = read_folder(&mut file, folder, file_bytes)?;
        Ok(Self { file, objects })
    }

    /// Returns the objects in the order of the file. Folders are not listed.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Opens the RNTuple of this path, in its highest cycle. The file can be used again afterwards.
    ///
    /// # Errors
    /// A path that is missing or another object, and a damaged or unsupported RNTuple.
    pub fn ntuple(&mut self, path: &str) -> Result<NTuple<&mut R>> {
        let anchor = self.anchor(path)?;
        NTuple::open(&mut self.file, anchor)
    }

    /// Opens the RNTuple of this path, in its highest cycle, and gives it the file.
    ///
    /// # Errors
    /// As [`ntuple`](Self::ntuple).
    pub fn into_ntuple(mut self, path: &str) -> Result<NTuple<R>> {
        let anchor = self.anchor(path)?;
        NTuple::open(self.file, anchor)
    }

    fn anchor(&mut self, path: &str) -> Result<Anchor> {
        let named = self.objects.iter().filter(|object| object.path == path);
        let Some(object) = named.max_by_key(|object| object.cycle) else {
            return Err(Error::NotFound(format!("the file has no object `{path}`")));
        };
        if !object.is_ntuple() {
            return Err(Error::NotFound(format!("`{path}` is a {}, not an RNTuple", object.class)));
        }
        let what = "the anchor of the RNTuple";
        let packed = read_at(&mut self.file, object.key.payload(what)?, what)?;
        let length = object.key.length as usize;
        if length > ANCHOR_BYTES {
            return Err(Error::TooLarge(format!("{what} has {length} bytes; {ANCHOR_BYTES} at most are read")));
        }
        let bytes = if packed.len() == length { packed } else { decompress(&packed, length, what)? };
        Anchor::read(&bytes)
    }
}

/// Reads the objects below the folder whose description is at `position`.
fn read_folder(file: &mut (impl Read + Seek), position: u64, file_bytes: u64) -> Result<Vec<Object>> {
    let mut objects = Vec::new();
    let mut folders = vec![(String::new(), position, 0)];
    let mut read = 0;
    // Lists of keys do not overlap, so that together they are shorter than the file. A folder
    // within itself would be listed again and again.
    let mut list_bytes = file_bytes;
    let mut path_bytes = 0;
    while let Some((path, position, depth)) = folders.pop() {
        read += 1;
        if depth > DEPTH || read > FOLDERS {
            return Err(Error::TooLarge(format!(
                "more than {FOLDERS} folders, or {DEPTH} in one another, are not read"
            )));
        }
        for (name, class, cycle, key) in read_keys(file, position, &mut list_bytes)? {
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            path_bytes += path.len();
            if path_bytes > PATH_BYTES {
                return Err(Error::TooLarge(format!("paths of objects have more than {PATH_BYTES} bytes")));
            }
            if class == "TDirectoryFile" || class == "TDirectory" {
                folders.push((path, key.payload("a folder")?.position, depth + 1));
            } else {
                objects.push(Object { path, class, cycle, key });
            }
        }
    }
    Ok(objects)
}

/// Reads the keys of a folder. The list takes its bytes from `left`.
fn read_keys(file: &mut (impl Read + Seek), position: u64, left: &mut u64) -> Result<Vec<(String, String, u16, Key)>> {
    const WHAT: &str = "the folder of the file";
    /// Bytes of a folder's description with positions of 8 bytes.
    const DESCRIPTION: u64 = 42;
    const SMALL_DESCRIPTION: u64 = 30;
    let at = |size| Locator { position, size };
    let bytes = read_at(file, at(DESCRIPTION), WHAT).or_else(|_| read_at(file, at(SMALL_DESCRIPTION), WHAT))?;
    let mut folder = BigEndian(Bytes::new(&bytes, WHAT));
    let is_large = folder.u16()? > LARGE_KEY;
    let (_created, _changed) = (folder.u32()?, folder.u32()?);
    let (list_bytes, _name_bytes) = (folder.u32()?, folder.u32()?);
    let (_own, _parent) = (folder.position(is_large)?, folder.position(is_large)?);
    let list = folder.position(is_large)?;
    // A folder without objects may have no list.
    if list == 0 || list_bytes == 0 {
        return Ok(Vec::new());
    }
    let overlaps = || Error::damaged("the folders of the file list more objects than it has room for");
    *left = left.checked_sub(list_bytes.into()).ok_or_else(overlaps)?;
    let bytes = read_at(file, Locator { position: list, size: list_bytes.into() }, WHAT)?;
    let mut rest = BigEndian(Bytes::new(&bytes, WHAT));
    read_key(&mut rest)?;
    let count = rest.u32()?;
    let mut keys = Vec::new();
    for _ in 0..count {
        keys.push(read_key(&mut rest)?);
    }
    Ok(keys)
}

fn read_key(bytes: &mut BigEndian<'_>) -> Result<(String, String, u16, Key)> {
    let size = bytes.u32()?;
    let version = bytes.u16()?;
    let length = bytes.u32()?;
    let _date = bytes.u32()?;
    let (header, cycle) = (bytes.u16()?, bytes.u16()?);
    let is_large = version > LARGE_KEY;
    let (position, _folder) = (bytes.position(is_large)?, bytes.position(is_large)?);
    let (class, name, _title) = (bytes.string()?, bytes.string()?, bytes.string()?);
    Ok((name, class, cycle, Key { position, size, header, length }))
}

/// Where the header and the footer of an RNTuple are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    pub(crate) header: Locator,
    pub(crate) header_length: u64,
    pub(crate) footer: Locator,
    pub(crate) footer_length: u64,
    /// Most bytes of one key: larger objects are split.
    pub(crate) most_key_bytes: u64,
}

impl Anchor {
    /// Reads the anchor: ROOT's count of bytes and version of the class, 6 bytes; the members; and
    /// their XXH3.
    fn read(bytes: &[u8]) -> Result<Self> {
        const WHAT: &str = "the anchor of the RNTuple";
        const PREFIX: usize = 6;
        const MEMBERS: usize = 64;
        const CHECKSUM: usize = 8;
        let mut all = Bytes::new(bytes, WHAT);
        all.take(PREFIX)?;
        // Later versions append members before the checksum.
        let length = all.len().checked_sub(CHECKSUM).filter(|&length| length >= MEMBERS);
        let members = all.take(length.ok_or_else(|| all.damaged("is cut off"))?)?;
        if !matches_checksum(members, u64::from_be_bytes(all.array()?)) {
            return Err(all.damaged("does not match its checksum"));
        }
        let mut members = BigEndian(Bytes::new(members, WHAT));
        let version = [members.u16()?, members.u16()?, members.u16()?, members.u16()?];
        if version[0] != 1 {
            let [epoch, major, minor, patch] = version;
            return Err(Error::Unsupported(format!(
                "the RNTuple has format version {epoch}.{major}.{minor}.{patch}; 1.x is read"
            )));
        }
        let mut link = || -> Result<(Locator, u64)> {
            let (position, size, length) = (members.u64()?, members.u64()?, members.u64()?);
            Ok((Locator { position, size }, length))
        };
        let ((header, header_length), (footer, footer_length)) = (link()?, link()?);
        // uproot writes 0: it splits no objects.
        let most_key_bytes = match members.u64()? {
            0 => u64::MAX,
            most => most,
        };
        Ok(Self { header, header_length, footer, footer_length, most_key_bytes })
    }
}
