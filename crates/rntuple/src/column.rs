//! Decodes pages: from bytes to the elements of a column.

use crate::array::Numbers;
use crate::bytes::Bytes;
use crate::error::{Error, Result};

/// The type of a column's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bit,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
    /// Ends of collections, counted from the begin of the cluster.
    Index,
    /// Index and alternative of a variant.
    Switch,
    /// Upper bits of an f32.
    Truncated,
    /// Steps of an interval.
    Quantized,
}

/// A column of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// The code of a type that is not known to this version.
    pub(crate) kind: Result<Kind, u16>,
    /// The bytes of the elements are grouped by significance. Signed integers are zigzag encoded,
    /// and indices are differences.
    pub(crate) is_split: bool,
    pub(crate) bits: u16,
    pub(crate) field: u32,
    pub(crate) representation: u16,
    /// The column was added after entries had been written: absent elements at its begin are 0.
    pub(crate) is_deferred: bool,
    /// Least and largest value of a quantized column.
    pub(crate) range: [f64; 2],
}

impl Column {
    /// Reads the description of a column.
    pub(crate) fn read(record: &mut Bytes<'_>) -> Result<Self> {
        const DEFERRED: u16 = 1;
        const RANGED: u16 = 2;
        let (code, bits, field) = (record.u16()?, record.u16()?, record.u32()?);
        let (flags, representation) = (record.u16()?, record.u16()?);
        let is_deferred = flags & DEFERRED != 0 && record.i64()? != 0;
        let range = if flags & RANGED != 0 { [record.f64()?, record.f64()?] } else { [0.0; 2] };
        let widths = |width: u16| width..=width;
        let (kind, is_split, allowed) = match code {
            0x00 => (Kind::Bit, false, widths(1)),
            0x01 | 0x02 | 0x04 => (Kind::U8, false, widths(8)),
            0x03 => (Kind::I8, false, widths(8)),
            0x05 => (Kind::I16, false, widths(16)),
            0x06 => (Kind::U16, false, widths(16)),
            0x07 => (Kind::I32, false, widths(32)),
            0x08 => (Kind::U32, false, widths(32)),
            0x09 => (Kind::I64, false, widths(64)),
            0x0a => (Kind::U64, false, widths(64)),
            0x0b => (Kind::F16, false, widths(16)),
            0x0c => (Kind::F32, false, widths(32)),
            0x0d => (Kind::F64, false, widths(64)),
            0x0e => (Kind::Index, false, widths(32)),
            0x0f => (Kind::Index, false, widths(64)),
            0x10 => (Kind::Switch, false, widths(96)),
            0x11 => (Kind::I16, true, widths(16)),
            0x12 => (Kind::U16, true, widths(16)),
            0x13 => (Kind::I32, true, widths(32)),
            0x14 => (Kind::U32, true, widths(32)),
            0x15 => (Kind::I64, true, widths(64)),
            0x16 => (Kind::U64, true, widths(64)),
            0x17 => (Kind::F16, true, widths(16)),
            0x18 => (Kind::F32, true, widths(32)),
            0x19 => (Kind::F64, true, widths(64)),
            0x1a => (Kind::Index, true, widths(32)),
            0x1b => (Kind::Index, true, widths(64)),
            0x1c => (Kind::Truncated, false, 10..=31),
            0x1d => (Kind::Quantized, false, 1..=32),
            other => {
                let kind = Err(other);
                return Ok(Self { kind, is_split: false, bits, field, representation, is_deferred, range });
            }
        };
        if !allowed.contains(&bits) {
            return Err(record.damaged(&format!("has a column of type {code:#04x} with {bits} bits")));
        }
        Ok(Self { kind: Ok(kind), is_split, bits, field, representation, is_deferred, range })
    }

    /// Returns the bytes of a page of this many elements.
    pub(crate) fn page_bytes(&self, elements: u64) -> u64 {
        (elements * u64::from(self.bits)).div_ceil(8)
    }

    /// Returns elements that a file does not store, because the column was added later.
    pub(crate) fn zeros(&self, elements: usize) -> Result<Elements> {
        self.decode(&vec![0; self.page_bytes(elements as u64) as usize], elements)
    }

    /// Decodes a page of [`page_bytes`](Self::page_bytes).
    pub(crate) fn decode(&self, page: &[u8], elements: usize) -> Result<Elements> {
        let kind = self.kind.map_err(|code| Error::Unsupported(format!("columns of type {code:#04x} are not read")))?;
        let joined;
        let page = if self.is_split {
            joined = join_bytes(page, elements, usize::from(self.bits) / 8);
            &joined
        } else {
            page
        };
        Ok(Elements::Numbers(match kind {
            Kind::Bit => Numbers::Bool((0..elements).map(|at| page[at / 8] >> (at % 8) & 1 == 1).collect()),
            Kind::I8 => Numbers::I8(page.iter().map(|&byte| byte.cast_signed()).collect()),
            Kind::U8 => Numbers::U8(page.to_vec()),
            Kind::I16 if self.is_split => Numbers::I16(unfolded(page, u16::from_le_bytes)),
            Kind::I32 if self.is_split => Numbers::I32(unfolded(page, u32::from_le_bytes)),
            Kind::I64 if self.is_split => Numbers::I64(unfolded(page, u64::from_le_bytes)),
            Kind::I16 => Numbers::I16(values(page, i16::from_le_bytes)),
            Kind::U16 => Numbers::U16(values(page, u16::from_le_bytes)),
            Kind::I32 => Numbers::I32(values(page, i32::from_le_bytes)),
            Kind::U32 => Numbers::U32(values(page, u32::from_le_bytes)),
            Kind::I64 => Numbers::I64(values(page, i64::from_le_bytes)),
            Kind::U64 => Numbers::U64(values(page, u64::from_le_bytes)),
            Kind::F16 => Numbers::F32(values(page, |bytes| single_of_half(u16::from_le_bytes(bytes)))),
            Kind::F32 => Numbers::F32(values(page, f32::from_le_bytes)),
            Kind::F64 => Numbers::F64(values(page, f64::from_le_bytes)),
            Kind::Truncated => {
                let place = 32 - self.bits;
                Numbers::F32(packed(page, self.bits, elements).map(|bits| f32::from_bits(bits << place)).collect())
            }
            Kind::Quantized => {
                let [least, largest] = self.range;
                let step = (largest - least) / ((1u64 << self.bits) - 1) as f64;
                let value = |bits: u32| (f64::from(bits) * step + least) as f32;
                Numbers::F32(packed(page, self.bits, elements).map(value).collect())
            }
            Kind::Index => {
                let mut ends: Vec<u64> = match self.bits {
                    32 => values(page, |bytes| u32::from_le_bytes(bytes).into()),
                    _ => values(page, u64::from_le_bytes),
                };
                if self.is_split {
                    let mask = if self.bits == 32 { u64::from(u32::MAX) } else { u64::MAX };
                    let mut end = 0u64;
                    for value in &mut ends {
                        end = end.wrapping_add(*value) & mask;
                        *value = end;
                    }
                }
                return Ok(Elements::Index(ends));
            }
            Kind::Switch => {
                let element = |bytes: [u8; 12]| {
                    let (index, tag) = bytes.split_at(8);
                    (fold_le(index), fold_le(tag) as u32)
                };
                return Ok(Elements::Switch(values(page, element)));
            }
        }))
    }
}

/// The elements of a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Elements {
    Numbers(Numbers),
    Index(Vec<u64>),
    Switch(Vec<(u64, u32)>),
}

/// Puts the bytes of each element next to one another.
fn join_bytes(page: &[u8], elements: usize, width: usize) -> Vec<u8> {
    let mut joined = vec![0; page.len()];
    for (byte, group) in page.chunks_exact(elements.max(1)).enumerate() {
        for (to, &from) in joined.iter_mut().skip(byte).step_by(width).zip(group) {
            *to = from;
        }
    }
    joined
}

fn values<const N: usize, T>(page: &[u8], value: impl Fn([u8; N]) -> T) -> Vec<T> {
    page.as_chunks().0.iter().map(|&bytes| value(bytes)).collect()
}

/// Undoes the zigzag encoding: 0, 1, 2, 3 are 0, -1, 1, -2.
fn unfolded<const N: usize, U: Into<u64>, T: TryFrom<i64, Error: std::fmt::Debug>>(
    page: &[u8],
    folded: impl Fn([u8; N]) -> U,
) -> Vec<T> {
    values(page, |bytes| {
        let folded: u64 = folded(bytes).into();
        let value = (folded >> 1 ^ (folded & 1).wrapping_neg()).cast_signed();
        T::try_from(value).expect("it has as many bits as the folded number")
    })
}

/// Yields numbers of `bits` bits each, the lowest bit first.
fn packed(page: &[u8], bits: u16, elements: usize) -> impl Iterator<Item = u32> {
    let mask = (1u64 << bits) - 1;
    (0..elements).map(move |at| {
        let begin = at * usize::from(bits);
        let bytes = &page[begin / 8..page.len().min(begin / 8 + 5)];
        (fold_le(bytes) >> (begin % 8) & mask) as u32
    })
}

fn fold_le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Converts IEEE 754 half precision.
fn single_of_half(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let (exponent, mantissa) = (u32::from(half >> 10 & 0x1f), u32::from(half & 0x3ff));
    let magnitude = match exponent {
        // 2^-24 is the smallest subnormal.
        0 => return f32::from_bits(sign | (mantissa as f32 * 2f32.powi(-24)).to_bits()),
        0x1f => 0x7f80_0000 | mantissa << 13,
        _ => (exponent + 112) << 23 | mantissa << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: Kind, is_split: bool, bits: u16) -> Column {
        let range = [-1.0, 3.0];
        Column { kind: Ok(kind), is_split, bits, field: 0, representation: 0, is_deferred: false, range }
    }

    fn split(bytes: &[u8], width: usize) -> Vec<u8> {
        (0..width).flat_map(|byte| bytes.iter().skip(byte).step_by(width).copied()).collect()
    }

    #[test]
    fn split_integers_are_joined_and_unfolded() {
        let signed = [0, -1, 1, i64::MAX, i64::MIN, -123_456_789_012];
        let zigzag: Vec<u8> = signed.iter().flat_map(|x| (x << 1 ^ x >> 63).to_le_bytes()).collect();
        let decoded = column(Kind::I64, true, 64).decode(&split(&zigzag, 8), signed.len()).expect("decoded");
        assert_eq!(decoded, Elements::Numbers(Numbers::I64(signed.to_vec())));
        let ends = [3u32, 3, 7, 100_000];
        let deltas: Vec<u8> = [3u32, 0, 4, 99_993].iter().flat_map(|x| x.to_le_bytes()).collect();
        let decoded = column(Kind::Index, true, 32).decode(&split(&deltas, 4), ends.len()).expect("decoded");
        assert_eq!(decoded, Elements::Index(ends.map(u64::from).to_vec()));
    }

    #[test]
    fn packed_numbers_of_any_width_come_back() {
        for bits in 1..=32u16 {
            let mut random = fastrand::Rng::with_seed(bits.into());
            let numbers: Vec<u32> = (0..100).map(|_| (random.u64(..) & ((1 << bits) - 1)) as u32).collect();
            let mut page = vec![0u8; (100 * usize::from(bits)).div_ceil(8)];
            for (at, number) in numbers.iter().enumerate() {
                for bit in (0..bits).filter(|bit| number >> bit & 1 == 1) {
                    let place = at * usize::from(bits) + usize::from(bit);
                    page[place / 8] |= 1 << (place % 8);
                }
            }
            assert_eq!(packed(&page, bits, 100).collect::<Vec<_>>(), numbers);
        }
    }

    #[test]
    fn halves_are_exact() {
        for (half, single) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x8000, -0.0),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(single_of_half(half).to_bits(), f32::to_bits(single), "{half:#x}");
        }
        assert!(single_of_half(0x7e00).is_nan());
    }

    #[test]
    fn quantized_numbers_span_their_range() {
        let decoded = column(Kind::Quantized, false, 2).decode(&[0b1110_0100], 4).expect("decoded");
        let wanted = [-1.0, -1.0 + 4.0 / 3.0, -1.0 + 8.0 / 3.0, 3.0].map(|value: f64| value as f32);
        assert_eq!(decoded, Elements::Numbers(Numbers::F32(wanted.to_vec())));
    }
}
