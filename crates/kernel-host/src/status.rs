//! Errors that the device reports outside of a call, and errors of wgpu within a call.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// Reports of the device's callbacks.
#[derive(Debug, Default)]
pub(crate) struct Status {
    pub(crate) lost: Mutex<Option<String>>,
    pub(crate) error: Mutex<Option<Error>>,
}

/// A lock whose data stays usable after another thread panicked: each holds a single value.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Status {
    pub(crate) fn lost(&self) -> Option<String> {
        lock(&self.lost).clone()
    }

    pub(crate) fn lose(&self, reason: String) {
        lock(&self.lost).get_or_insert(reason);
    }

    /// An error for as long as the device is lost; any other error once.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(reason) = self.lost() {
            return Err(Error::DeviceLost { reason });
        }
        match lock(&self.error).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// An error that an error scope caught.
#[derive(Debug)]
pub(crate) enum Caught {
    OutOfMemory,
    Refused(String),
    Lost(String),
}

impl Caught {
    /// The error for what was attempted; `refused` makes it from wgpu's message.
    pub(crate) fn into_error(self, what: &str, bytes: u64, refused: impl FnOnce(String) -> Error) -> Error {
        match self {
            Self::OutOfMemory => Error::OutOfMemory { what: what.to_owned(), bytes, allowed: None },
            Self::Lost(reason) => Error::DeviceLost { reason },
            Self::Refused(message) => refused(message),
        }
    }
}

impl From<wgpu::Error> for Caught {
    fn from(error: wgpu::Error) -> Self {
        match error {
            wgpu::Error::OutOfMemory { .. } => Self::OutOfMemory,
            wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
                Self::Refused(one_line(&description))
            }
        }
    }
}

/// wgpu's indented list of causes on one line.
fn one_line(description: &str) -> String {
    description
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && *line != "Validation Error" && *line != "Caused by:")
        .collect::<Vec<_>>()
        .join(": ")
}
