//! Branches of a TTree as columns: what they hold, and their bytes entry by entry.

use std::iter::Peekable;

use oxyroot::{Branch, RBuffer, ReaderTree};

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
    /// One value an entry.
    Scalar,
    /// `x[n]`.
    Array,
    /// `std::vector`.
    Vector,
}

impl Element {
    /// From the names that C++, ROOT and the standard's sized types have for it.
    fn of(name: &str) -> Option<Self> {
        Some(match name.trim() {
            "float" | "Float_t" => Self::F32,
            "double" | "Double_t" => Self::F64,
            "int8_t" | "signed char" | "char" | "Char_t" => Self::Signed(1),
            "int16_t" | "short" | "Short_t" => Self::Signed(2),
            "int32_t" | "int" | "Int_t" => Self::Signed(4),
            "int64_t" | "long" | "long long" | "Long64_t" => Self::Signed(8),
            "uint8_t" | "unsigned char" | "UChar_t" => Self::Unsigned(1),
            "uint16_t" | "unsigned short" | "UShort_t" => Self::Unsigned(2),
            "uint32_t" | "unsigned int" | "unsigned" | "UInt_t" => Self::Unsigned(4),
            "uint64_t" | "unsigned long" | "unsigned long long" | "ULong64_t" => Self::Unsigned(8),
            _ => return None,
        })
    }

    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Signed(_) | Self::Unsigned(_))
    }

    pub(super) fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
            Self::Signed(size) | Self::Unsigned(size) => size,
        }
    }

    /// Appends numbers, of which ROOT stores the highest byte first.
    pub(super) fn append_numbers(self, bytes: &[u8], to: &mut Vec<f64>) {
        match self {
            Self::F32 => to.extend(bytes.as_chunks().0.iter().map(|&value| f64::from(f32::from_be_bytes(value)))),
            _ => to.extend(bytes.as_chunks().0.iter().map(|&value| f64::from_be_bytes(value))),
        }
    }

    /// Appends whole numbers; the first negative one is refused.
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
            Some(at) => Err((at, format!("{} is not a whole number from 0", to[first + at].cast_signed()))),
            None => Ok(()),
        }
    }
}

impl Element {
    /// Whole numbers that are stored as others: see [`RootSpacepoints`](super::RootSpacepoints).
    fn append_whole_floats(self, bytes: &[u8], to: &mut Vec<u64>) -> Result<(), (usize, String)> {
        let mut numbers = Vec::new();
        self.append_numbers(bytes, &mut numbers);
        for (at, number) in numbers.into_iter().enumerate() {
            if !(0.0..1e15).contains(&number) || number.fract() != 0.0 {
                return Err((at, format!("{number} is not a whole number from 0")));
            }
            to.push(number as u64);
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

/// What a branch holds, if it is something of these.
pub(super) fn kind(branch: &Branch) -> Option<(Layout, Element)> {
    let name = branch.item_type_name();
    if let Some(item) = name.strip_prefix("vector<").and_then(|rest| rest.strip_suffix('>')) {
        return Element::of(item).map(|element| (Layout::Vector, element));
    }
    match name.strip_suffix("[]") {
        Some(item) => Element::of(item).map(|element| (Layout::Array, element)),
        None => Element::of(&name).map(|element| (Layout::Scalar, element)),
    }
}

type Entries<'a> = Peekable<Box<dyn Iterator<Item = Result<Vec<u8>, String>> + 'a>>;

/// A branch, entry by entry. It holds the values of one basket.
pub(super) struct Column<'a> {
    pub(super) name: &'static str,
    pub(super) element: Element,
    entries: Entries<'a>,
}

impl<'a> Column<'a> {
    /// None: there is no such branch, or it holds something else.
    pub(super) fn of(tree: &'a ReaderTree, name: &'static str) -> Option<Self> {
        let branch = tree.branch(name)?;
        let (layout, element) = kind(branch)?;
        let entries: Box<dyn Iterator<Item = _> + 'a> = match layout {
            Layout::Scalar => Box::new(branch.get_basket(move |entry| bytes(entry, element.size()))),
            Layout::Array => Box::new(branch.get_basket(move |entry| array(entry, element.size()))),
            Layout::Vector => Box::new(branch.get_basket(move |entry| vector(entry, element.size()))),
        };
        Some(Self { name, element, entries: entries.peekable() })
    }

    /// The values of the next entry. None at the end.
    ///
    /// An array is given only when the next one has been seen as well: see [`array`].
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        let entry = self.entries.next().transpose()?;
        match self.entries.peek() {
            Some(Err(message)) => Err(message.clone()),
            _ => Ok(entry),
        }
    }
}

fn bytes(entry: &mut RBuffer<'_>, length: usize) -> Result<Vec<u8>, String> {
    if length as u64 > entry.len().max(0).cast_unsigned() {
        return Err(format!("has {} bytes where {length} are wanted", entry.len()));
    }
    entry.read_array_u8(length).map(<[u8]>::to_vec).map_err(|error| error.to_string())
}

/// The rest of the buffer, which is the entry's own. But where a basket holds as many values as the tree has entries,
/// oxyroot takes the basket for one value an entry, and hands out all of them at once: the next entry then begins where
/// that one ended, and not at 0.
fn array(entry: &mut RBuffer<'_>, size: usize) -> Result<Vec<u8>, String> {
    let length = entry.len().max(0) as usize;
    if entry.pos() != 0 || !length.is_multiple_of(size) {
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
