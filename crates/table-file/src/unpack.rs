//! Unpacks text, and refuses other formats.

use std::io::{self, BufRead, BufReader, Read};

use crate::packing::{Members, Packing};
use crate::signature::{Foreign, foreign};

/// An error of opening text.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The bytes cannot be read or unpacked.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file has another format. The text names it and a way to convert it.
    #[error("{0}")]
    Foreign(String),
}

/// Returns the unpacked bytes. Files that begin with one of `known` are returned too, if they are
/// not packed: binary formats that the caller reads.
///
/// # Errors
/// Bytes that cannot be read, and files of other formats.
pub fn unpack(mut bytes: impl BufRead + Send + 'static, known: &[&[u8]]) -> Result<Box<dyn Read + Send>, OpenError> {
    let head = fill(&mut bytes)?;
    let Some(packing) = Packing::of(head) else {
        if !known.iter().any(|known| head.starts_with(known)) {
            refuse_foreign(head, None)?;
        }
        return Ok(Box::new(bytes));
    };
    let mut text = BufReader::with_capacity(1 << 16, Members::new(bytes, packing));
    refuse_foreign(fill(&mut text)?, Some(packing))?;
    Ok(Box::new(text))
}

fn fill(bytes: &mut impl BufRead) -> io::Result<&[u8]> {
    // The second call returns the same bytes. The borrow checker would extend a borrow that the
    // loop returns over the whole loop.
    while let Err(error) = bytes.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    bytes.fill_buf()
}

fn refuse_foreign(head: &[u8], packing: Option<Packing>) -> Result<(), OpenError> {
    let Some(Foreign { name, advice }) = foreign(head) else { return Ok(()) };
    Err(OpenError::Foreign(match packing {
        Some(packing) => format!("this is {name} in {}: unpack it; then, {advice}", packing.name()),
        None => format!("this is {name}: {advice}"),
    }))
}
