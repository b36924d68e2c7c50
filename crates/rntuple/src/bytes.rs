//! Reads integers and strings from a slice of bytes, with bounds checks.

use crate::error::{Error, Result};

/// The unread rest of a slice, and the name of the structure for error messages.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    pub(crate) fn damaged(&self, problem: &str) -> Error {
        Error::damaged(format!("{} {problem}", self.what))
    }

    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.damaged("ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(|| self.damaged("ends too early"))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    pub(crate) fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// Reads a string of an envelope: its length in 32 bits, and UTF-8.
    pub(crate) fn string(&mut self) -> Result<String> {
        let length = self.u32()? as usize;
        let text = str::from_utf8(self.take(length)?).map_err(|_| self.damaged("has a name that is not UTF-8"))?;
        Ok(text.to_owned())
    }

    /// Reads the frame of a record.
    pub(crate) fn record(&mut self) -> Result<Self> {
        match self.frame()? {
            (None, payload) => Ok(payload),
            (Some(_), _) => Err(self.damaged("has a list where a record is expected")),
        }
    }

    /// Reads the frame of a list: the number of its items, and their bytes.
    pub(crate) fn list(&mut self) -> Result<(u32, Self)> {
        match self.frame()? {
            (Some(items), payload) => Ok((items, payload)),
            (None, _) => Err(self.damaged("has a record where a list is expected")),
        }
    }

    /// Reads a frame. The size includes the size itself; a negative size marks a list.
    fn frame(&mut self) -> Result<(Option<u32>, Self)> {
        const SIZE: u64 = 8;
        let size = self.i64()?;
        let payload = size.unsigned_abs().checked_sub(SIZE).and_then(|length| usize::try_from(length).ok());
        let payload = payload.ok_or_else(|| self.damaged("has a frame of an impossible size"))?;
        let mut payload = Self { rest: self.take(payload)?, what: self.what };
        let items = if size < 0 { Some(payload.u32()?) } else { None };
        Ok((items, payload))
    }
}

/// Reads big-endian integers of a ROOT file's own structures.
pub(crate) struct BigEndian<'a>(pub(crate) Bytes<'a>);

impl BigEndian<'_> {
    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.0.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.0.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.0.array()?))
    }

    /// Reads a position in the file, of 4 or of 8 bytes.
    pub(crate) fn position(&mut self, is_large: bool) -> Result<u64> {
        if is_large { self.u64() } else { Ok(self.u32()?.into()) }
    }

    /// Reads a string: its length in one byte, or in four after 255. Bytes that are not UTF-8 are
    /// replaced.
    pub(crate) fn string(&mut self) -> Result<String> {
        let length = match self.0.array::<1>()?[0] {
            255 => self.u32()? as usize,
            short => short.into(),
        };
        Ok(String::from_utf8_lossy(self.0.take(length)?).into_owned())
    }
}
