//! Codes, texts of errors, and the boundary that no panic crosses.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use zfinder::Error;

use crate::types::zf_code;

/// A code with its text.
#[derive(Debug)]
pub(crate) struct Failure {
    code: zf_code,
    text: String,
}

/// A result with a [`Failure`].
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// Makes a failure.
    pub(crate) fn new(code: zf_code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Makes the failure of an argument.
    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(zf_code::ZF_ARGUMENT, text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Config { .. } | Error::UnknownKey { .. } => zf_code::ZF_CONFIG,
            Error::Detector { .. } => zf_code::ZF_DETECTOR,
            Error::PhiWindow { .. } | Error::Columns { .. } => zf_code::ZF_COLUMNS,
            Error::Panicked { .. } => zf_code::ZF_PANIC,
            Error::Thread(_) => zf_code::ZF_THREAD,
            Error::Gpu(_) => zf_code::ZF_GPU,
            _ => zf_code::ZF_OTHER,
        };
        Self::new(code, error.to_string())
    }
}

impl From<zfinder::gpu::kernel_host::Error> for Failure {
    fn from(error: zfinder::gpu::kernel_host::Error) -> Self {
        Self::new(zf_code::ZF_GPU, error.to_string())
    }
}

thread_local! {
    /// Text of the last failure on this thread.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Returns the text of the last failure on this thread.
pub(crate) fn last_text() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"the thread ends".as_ptr())
}

fn remember(text: String) {
    let bytes: Vec<u8> = text.into_bytes().into_iter().filter(|&byte| byte != 0).collect();
    let text = CString::new(bytes).unwrap_or_default();
    // A thread that ends has no text any more.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// Runs the body of a C function. Failures and panics become codes, and their text is remembered.
pub(crate) fn guard(body: impl FnOnce() -> Outcome<()>) -> zf_code {
    // Registries and spare memory are behind locks that outlive a panic, and hold no half-written
    // values.
    code_of(catch_unwind(AssertUnwindSafe(body)))
}

/// Returns the code of an outcome or a panic, and remembers its text on this thread.
pub(crate) fn code_of(ended: thread::Result<Outcome<()>>) -> zf_code {
    match ended {
        Ok(Ok(())) => zf_code::ZF_OK,
        Ok(Err(Failure { code, text })) => {
            remember(text);
            code
        }
        Err(panic) => {
            remember(format!("the library panicked: {}", panic_text(&*panic)));
            zf_code::ZF_PANIC
        }
    }
}
