//! Reads branches of a TTree as columns: element types, and bytes entry by entry.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::rc::Rc;

use oxyroot::{Branch, RBuffer, ReaderTree};

use crate::event::MISSING;
use crate::guard::quietly;
use crate::whole::{whole_of_float, whole_of_integer};

/// Returns the message for a panic of oxyroot.
pub(super) fn damaged(panic: &str) -> String {
    format!(
        "this ROOT file is damaged, or holds what cannot be read here (oxyroot: {panic}): write its spacepoints as \
         Parquet, or as a TTree compressed with zlib"
    )
}

/// The type of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F32,
    F64,
    /// Whole numbers, by their size in bytes.
    Signed(usize),
    Unsigned(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One value for each entry.
    Scalar,
    /// `x[n]`.
    Array,
    /// `std::vector`.
    Vector,
}

impl Element {
    /// Returns the type with this name in C++, in ROOT or among the sized types of the standard.
    fn from_name(name: &str) -> Option<Self> {
        Some(match name.trim() {
            "float" | "Float_t" => Self::F32,
            "double" | "Double_t" => Self::F64,
            "int8_t" | "signed char" | "char" | "Char_t" => Self::Signed(1),
            "int16_t" | "short" | "Short_t" => Self::Signed(2),
            "int32_t" | "int" | "Int_t" => Self::Signed(4),
            "int64_t" | "long" | "long long" | "Long64_t" => Self::Signed(8),
            "uint8_t" | "unsigned char" | "UChar_t" | "bool" | "Bool_t" => Self::Unsigned(1),
            "uint16_t" | "unsigned short" | "UShort_t" => Self::Unsigned(2),
            "uint32_t" | "unsigned int" | "unsigned" | "UInt_t" => Self::Unsigned(4),
            "uint64_t" | "unsigned long" | "unsigned long long" | "ULong64_t" => Self::Unsigned(8),
            _ => return None,
        })
    }

    pub(super) fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
            Self::Signed(size) | Self::Unsigned(size) => size,
        }
    }

    /// Appends numbers, which ROOT stores in big-endian order.
    pub(super) fn append_numbers(self, bytes: &[u8], to: &mut Vec<f64>) {
        match self {
            Self::F32 => to.extend(bytes.as_chunks().0.iter().map(|&value| f64::from(f32::from_be_bytes(value)))),
            Self::Signed(size) | Self::Unsigned(size) => {
                let is_signed = matches!(self, Self::Signed(_));
                to.extend(bytes.chunks_exact(size).map(|value| {
                    let bits = value.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
                    let unused = 64 - 8 * size;
                    if is_signed { ((bits << unused).cast_signed() >> unused) as f64 } else { bits as f64 }
                }));
            }
            Self::F64 => to.extend(bytes.as_chunks().0.iter().map(|&value| f64::from_be_bytes(value))),
        }
    }

    /// Appends whole numbers, and refuses the first negative one.
    pub(super) fn append_whole_numbers(self, bytes: &[u8], to: &mut Vec<u64>) -> Result<(), (usize, String)> {
        let first = to.len();
        match self {
            Self::Signed(1) => to.extend(bytes.iter().map(|&value| i64::from(value.cast_signed()).cast_unsigned())),
            Self::Unsigned(1) => to.extend(bytes.iter().map(|&value| u64::from(value))),
            Self::Signed(2) => to.extend(signed(bytes, i16::from_be_bytes)),
            Self::Signed(4) => to.extend(signed(bytes, i32::from_be_bytes)),
            Self::Unsigned(2) => to.extend(unsigned(bytes, u16::from_be_bytes)),
            Self::Unsigned(4) => to.extend(unsigned(bytes, u32::from_be_bytes)),
            Self::F32 | Self::F64 => return self.append_whole_floats(bytes, to),
            _ => to.extend(unsigned(bytes, u64::from_be_bytes)),
        }
        if !matches!(self, Self::Signed(_)) {
            return Ok(());
        }
        match to[first..].iter().position(|value| value.cast_signed() < 0) {
            Some(at) => whole_of_integer(to[first + at].cast_signed()).map(drop).map_err(|reason| (at, reason)),
            None => Ok(()),
        }
    }
}

impl Element {
    /// Appends whole numbers as [`Self::append_whole_numbers`], [`MISSING`] for NaN.
    pub(super) fn append_whole_numbers_or_missing(
        self,
        bytes: &[u8],
        to: &mut Vec<u64>,
    ) -> Result<(), (usize, String)> {
        if !matches!(self, Self::F32 | Self::F64) {
            return self.append_whole_numbers(bytes, to);
        }
        let mut numbers = Vec::new();
        self.append_numbers(bytes, &mut numbers);
        for (at, number) in numbers.into_iter().enumerate() {
            let whole = if number.is_nan() { Ok(MISSING) } else { whole_of_float(number) };
            to.push(whole.map_err(|reason| (at, reason))?);
        }
        Ok(())
    }

    /// Appends whole numbers that are stored as floats: see
    /// [`RootSpacepoints`](super::RootSpacepoints).
    fn append_whole_floats(self, bytes: &[u8], to: &mut Vec<u64>) -> Result<(), (usize, String)> {
        let mut numbers = Vec::new();
        self.append_numbers(bytes, &mut numbers);
        for (at, number) in numbers.into_iter().enumerate() {
            to.push(whole_of_float(number).map_err(|reason| (at, reason))?);
        }
        Ok(())
    }
}

fn signed<const N: usize, T: Into<i64>>(bytes: &[u8], of: fn([u8; N]) -> T) -> impl Iterator<Item = u64> {
    bytes.as_chunks().0.iter().map(move |&value| of(value).into().cast_unsigned())
}

fn unsigned<const N: usize, T: Into<u64>>(bytes: &[u8], of: fn([u8; N]) -> T) -> impl Iterator<Item = u64> {
    bytes.as_chunks().0.iter().map(move |&value| of(value).into())
}

/// Returns the layout and the element type of a branch, if both are supported.
pub(super) fn kind(branch: &Branch) -> Option<(Layout, Element)> {
    let name = branch.item_type_name();
    if let Some(item) = name.strip_prefix("vector<").and_then(|rest| rest.strip_suffix('>')) {
        return Element::from_name(item).map(|element| (Layout::Vector, element));
    }
    match name.strip_suffix("[]") {
        Some(item) => Element::from_name(item).map(|element| (Layout::Array, element)),
        None => Element::from_name(&name).map(|element| (Layout::Scalar, element)),
    }
}

/// Entries that were read but not yet consumed, or the error of the last.
type Values = VecDeque<Result<Vec<u8>, String>>;

/// A branch that is read entry by entry. It holds the values of one basket.
pub(super) struct Column<'a> {
    pub(super) name: String,
    pub(super) element: Element,
    /// Adds values to the queue below before it yields. None after the end.
    entries: Option<Box<dyn Iterator<Item = ()> + 'a>>,
    values: Rc<RefCell<Values>>,
}

impl<'a> Column<'a> {
    /// Returns None if the branch is missing or of another type.
    pub(super) fn open(tree: &'a ReaderTree, name: &str) -> Option<Self> {
        let branch = tree.branch(name)?;
        let (layout, element) = kind(branch)?;
        let read: fn(&mut RBuffer<'_>, usize) -> Result<Vec<u8>, String> = match layout {
            Layout::Scalar => bytes,
            Layout::Array => array,
            Layout::Vector => vector,
        };
        let values: Rc<RefCell<Values>> = Rc::default();
        let to = Rc::clone(&values);
        // oxyroot allocates room for as many values as a basket claims to have entries, and
        // requests each: in a damaged file, billions. Zero-sized values take no room, and the first
        // missing one ends the loop.
        let take = move |entry: &mut RBuffer<'_>| {
            let value = read(entry, element.size());
            let ends = value.is_err();
            to.borrow_mut().push_back(value);
            if ends {
                resume_unwind(Box::new(()));
            }
        };
        Some(Self { name: name.to_owned(), element, entries: Some(Box::new(branch.get_basket(take))), values })
    }

    /// Returns the values of the next entry; None at the end.
    ///
    /// An array is returned only after the next one has been seen: see [`array`].
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        while self.values.borrow().len() < 2 {
            let Some(entries) = &mut self.entries else { break };
            let more = quietly(|| entries.next());
            if matches!(more, Ok(Some(()))) {
                continue;
            }
            self.entries = None;
            let mut values = self.values.borrow_mut();
            let told = matches!(values.back(), Some(Err(_)));
            if let Err(panic) = more
                && !told
            {
                values.push_back(Err(damaged(&panic)));
            }
        }
        let mut values = self.values.borrow_mut();
        let value = values.pop_front().transpose()?;
        match values.front() {
            Some(Err(message)) => Err(message.clone()),
            _ => Ok(value),
        }
    }
}

fn bytes(entry: &mut RBuffer<'_>, length: usize) -> Result<Vec<u8>, String> {
    if length as u64 > entry.len().max(0).cast_unsigned() {
        return Err(format!("has {} bytes where {length} are expected", entry.len()));
    }
    entry.read_array_u8(length).map(<[u8]>::to_vec).map_err(|error| error.to_string())
}

/// Returns the rest of the buffer, which is the entry. There is one exception: if a basket holds as
/// many values as the tree has entries, oxyroot treats it as one value for each entry, and passes
/// all of them at once. The next entry then begins where this one ended, and not at 0. In such a
/// basket without values every entry would be empty, and it may claim billions of entries.
fn array(entry: &mut RBuffer<'_>, size: usize) -> Result<Vec<u8>, String> {
    let length = entry.len().max(0) as usize;
    let own = entry.skip_header().is_some();
    if entry.pos() != 0 || !length.is_multiple_of(size) || (length == 0 && !own) {
        return Err("cannot be told apart into entries: a basket holds as many values as the tree has entries; write \
                    the file with baskets of another size, or std::vector branches, or Parquet"
            .into());
    }
    bytes(entry, length)
}

fn vector(entry: &mut RBuffer<'_>, size: usize) -> Result<Vec<u8>, String> {
    entry.do_skip_header().map_err(|error| error.to_string())?;
    if entry.len() < 4 {
        return Err("is a std::vector without its length".into());
    }
    let length = entry.read_i32().map_err(|error| error.to_string())?;
    let length = usize::try_from(length).map_err(|_| format!("is a std::vector of length {length}"))?;
    bytes(entry, length.saturating_mul(size))
}
