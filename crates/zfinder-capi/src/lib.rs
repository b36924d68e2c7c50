//! The C interface of zfinder, as `include/zfinder.h` declares it.
//!
//! Handles are numbers in a registry, so that a wrong handle is an error and no crash. A body runs
//! under [`failure::guard`], which turns errors and panics into codes. `scripts/test-c` tests the
//! library from C and C++.
//!
//! A program in C; `docs/how-to/call-from-cpp.md` has a complete one, which is tested:
//!
//! ```c
//! zf_options options = zf_options_init();       /* preset auto */
//! options.detector = "generic";
//! zf_finder finder;
//! if (zf_create(&options, &finder) != ZF_OK) return fprintf(stderr, "%s\n", zf_last_error());
//! zf_batch batch = zf_batch_init();             /* one RoI of n spacepoints in columns */
//! batch.rho_or_x = rho, batch.phi_or_y = phi, batch.z = z, batch.layer = layer;
//! batch.spacepoints = n, batch.rois = 1;
//! zf_answers answers = zf_answers_init();       /* buffers of the caller */
//! answers.result_buffer = &result, answers.result_room = 1;
//! answers.vertex_buffer = vertex, answers.vertex_room = 16;
//! if (zf_find(finder, &batch, &answers) == ZF_OK) printf("%g mm\n", vertex[0].z_mm);
//! zf_destroy(finder);
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `types`: structures of the header; `options`: options of a finder.
//! - `registry`: finders and streams by handle; `failure`: codes and messages.
//! - `batch`, `answers`, `stream`: batches, results, and batches in flight.
//! - `memory`: arrays that C passes.

#![expect(unsafe_code, reason = "callers in C hand over pointers")]

mod answers;
mod batch;
mod failure;
mod memory;
mod options;
mod registry;
mod stream;
mod types;

use std::ffi::c_char;
use std::fmt::Write;
use std::sync::Mutex;

use zfinder::config::Key;
use zfinder::{Config, StreamOptions, ZFinder};

use crate::batch::Scratch;
use crate::failure::guard;
use crate::registry::{Registry, lock};
use crate::stream::SharedStream;
pub use crate::types::*;

/// A finder with memory that its searches use again.
struct SharedFinder {
    finder: ZFinder,
    scratch: Mutex<Vec<Scratch>>,
}

static FINDERS: Registry<SharedFinder> = Registry::new("finder");
static STREAMS: Registry<SharedStream> = Registry::new("stream");

/// Returns the version of the interface that the library has. Any thread, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn zf_abi_version() -> u32 {
    ZF_ABI_VERSION
}

/// Returns the version of the library, such as "0.1.0". Any thread, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn zf_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the text of the last failure of a call on this thread, or an empty text. The text is
/// valid until the next failure on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn zf_last_error() -> *const c_char {
    failure::last_text()
}

/// Returns the name of a code, such as "ZF_OK". Any thread, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn zf_code_name(code: i32) -> *const c_char {
    const NAMES: [&std::ffi::CStr; 14] = [
        c"ZF_OK",
        c"ZF_BAD_HANDLE",
        c"ZF_NULL",
        c"ZF_ARGUMENT",
        c"ZF_CONFIG",
        c"ZF_DETECTOR",
        c"ZF_COLUMNS",
        c"ZF_GPU",
        c"ZF_THREAD",
        c"ZF_NO_ROOM",
        c"ZF_EMPTY",
        c"ZF_FULL",
        c"ZF_PANIC",
        c"ZF_OTHER",
    ];
    usize::try_from(code).ok().and_then(|code| NAMES.get(code)).unwrap_or(&c"unknown code").as_ptr()
}

/// Returns the name of a status, such as "no_peak", as files have it. Any thread, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn zf_status_name(status: i32) -> *const c_char {
    const NAMES: [&std::ffi::CStr; 5] = [c"ok", c"empty", c"no_peak", c"bad_spacepoint", c"capacity_exceeded"];
    usize::try_from(status).ok().and_then(|status| NAMES.get(status)).unwrap_or(&c"other").as_ptr()
}

/// Writes a line of text for each adapter of this machine: index, kind, backend, name and driver,
/// with tabs between. Any thread.
///
/// `wanted` gets the bytes of the text with its NUL; `wanted` may be NULL. A NULL `buffer` asks for
/// the size alone.
///
/// # Safety
/// `buffer` has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_adapters(buffer: *mut c_char, room: usize, wanted: *mut usize) -> zf_code {
    guard(|| {
        let mut text = String::new();
        for adapter in zfinder::adapters()? {
            let (index, kind, backend) = (adapter.index, adapter.kind, &adapter.backend);
            // A String takes all text.
            let _ = writeln!(text, "{index}\t{kind}\t{backend}\t{}\t{}", adapter.name, adapter.driver);
        }
        // SAFETY: the caller's promise.
        unsafe { memory::write_text(&text, buffer, room, wanted) }
    })
}

/// Writes a line of text for each key of a configuration: name, values with their unit, and
/// meaning, with tabs between. Any thread. Buffers are those of `zf_adapters()`.
///
/// # Safety
/// `buffer` has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_keys(buffer: *mut c_char, room: usize, wanted: *mut usize) -> zf_code {
    guard(|| {
        let line = |key: &Key| format!("{}\t{}\t{}\n", key.name, key.range(), key.summary());
        let text: String = Config::KEYS.iter().map(line).collect();
        // SAFETY: the caller's promise.
        unsafe { memory::write_text(&text, buffer, room, wanted) }
    })
}

/// Builds a finder. Opens devices and compiles shaders, so build a finder once. Any thread.
///
/// `options` must name the detector. `finder` gets the handle; destroy it with `zf_destroy()`.
///
/// # Safety
/// `options` has valid texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_create(options: *const zf_options, finder: *mut zf_finder) -> zf_code {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { memory::write("finder", finder, zf_finder { id: 0 }) }?;
        // SAFETY: the caller's promise.
        let options = unsafe { memory::structure("options", options) }?;
        // SAFETY: the caller's promise.
        let built = unsafe { options::build(options) }?;
        let id = FINDERS.insert(SharedFinder { finder: built, scratch: Mutex::default() });
        // SAFETY: the caller's promise.
        unsafe { memory::write("finder", finder, zf_finder { id }) }
    })
}

/// Destroys a finder. Any thread, also while other threads search: their calls finish. Streams of
/// the finder go on.
#[unsafe(no_mangle)]
pub extern "C" fn zf_destroy(finder: zf_finder) -> zf_code {
    guard(|| FINDERS.remove(finder.id))
}

/// Writes which engine runs, and on which adapters. Any thread. Buffers are those of
/// `zf_adapters()`.
///
/// # Safety
/// `buffer` has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_describe(
    finder: zf_finder,
    buffer: *mut c_char,
    room: usize,
    wanted: *mut usize,
) -> zf_code {
    guard(|| {
        let text = FINDERS.get(finder.id)?.finder.description();
        // SAFETY: the caller's promise.
        unsafe { memory::write_text(&text, buffer, room, wanted) }
    })
}

/// Writes a warning if the first spacepoints that were searched lie far from their layers, with the
/// detector, the unit of length or the first layer number that they fit; else an empty text. Any
/// thread. Buffers are those of `zf_adapters()`.
///
/// # Safety
/// `buffer` has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_input_warning(
    finder: zf_finder,
    buffer: *mut c_char,
    room: usize,
    wanted: *mut usize,
) -> zf_code {
    guard(|| {
        let shared = FINDERS.get(finder.id)?;
        let text = shared.finder.input_warning().unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe { memory::write_text(text, buffer, room, wanted) }
    })
}

/// Writes the largest number of vertices that an RoI gets. Any thread.
///
/// # Safety
/// `vertices` can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_most_vertices(finder: zf_finder, vertices: *mut usize) -> zf_code {
    guard(|| {
        let most = FINDERS.get(finder.id)?.finder.config().peaks as usize;
        // SAFETY: the caller's promise.
        unsafe { memory::write("vertices", vertices, most) }
    })
}

/// Finds the vertices of all RoIs of a batch, and blocks until they are there. Any thread, and many
/// threads at once with the same finder, each with its own `answers`.
///
/// With `ZF_NO_ROOM` no buffer is written, and `answers->results` and `answers->vertices` are the
/// wanted sizes. An invalid spacepoint is no failure of the call, but the status of its RoI.
///
/// # Safety
/// Columns and buffers have the sizes that `batch` and `answers` say, and nobody changes them
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_find(finder: zf_finder, batch: *const zf_batch, answers: *mut zf_answers) -> zf_code {
    guard(|| {
        let shared = FINDERS.get(finder.id)?;
        // SAFETY: the caller's promise.
        let batch = unsafe { memory::structure("batch", batch) }?;
        // SAFETY: the caller's promise.
        let answers = unsafe { memory::structure_mut("answers", answers) }?;
        answers::check(answers)?;
        let mut scratch = lock(&shared.scratch).pop().unwrap_or_default();
        // SAFETY: the caller's promise.
        let written = unsafe { scratch.search(&shared.finder, batch) }.and_then(|()| {
            // SAFETY: the caller's promise.
            unsafe { answers::write(answers, &scratch.results) }
        });
        lock(&shared.scratch).push(scratch);
        written
    })
}

/// Starts a stream, which keeps `in_flight` batches in flight, 1 to 1024, each with a thread. 0 is
/// twice the number of cores. Any thread.
///
/// `stream` gets the handle; destroy it with `zf_stream_destroy()`.
///
/// # Safety
/// `stream` can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_stream_create(finder: zf_finder, in_flight: usize, stream: *mut zf_stream) -> zf_code {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { memory::write("stream", stream, zf_stream { id: 0 }) }?;
        let options = if in_flight == 0 { StreamOptions::default() } else { StreamOptions { in_flight } };
        let started = FINDERS.get(finder.id)?.finder.stream(options)?;
        let id = STREAMS.insert(SharedStream::new(started));
        // SAFETY: the caller's promise.
        unsafe { memory::write("stream", stream, zf_stream { id }) }
    })
}

/// Copies a batch and sends it on its way. Does not wait for answers. Any thread, also while
/// another thread pops.
///
/// `ZF_FULL`: as many batches are in flight as allowed; pop one first.
///
/// # Safety
/// As `zf_find()`. After the call, the columns belong to the caller again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_stream_push(stream: zf_stream, batch: *const zf_batch) -> zf_code {
    guard(|| {
        let shared = STREAMS.get(stream.id)?;
        // SAFETY: the caller's promise.
        let batch = unsafe { memory::structure("batch", batch) }?;
        // SAFETY: the caller's promise.
        unsafe { shared.push(batch) }
    })
}

/// Writes the answers to the oldest batch, and blocks until they are there. Any thread; answers
/// come in the order of the pushes.
///
/// `ZF_EMPTY`: no batch is in flight. `ZF_NO_ROOM`: the batch stays the oldest. With any other
/// failure of the search, the batch is gone, and the next call waits for the next batch.
///
/// # Safety
/// As `zf_find()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_stream_pop(stream: zf_stream, answers: *mut zf_answers) -> zf_code {
    guard(|| {
        let shared = STREAMS.get(stream.id)?;
        // SAFETY: the caller's promise.
        let answers = unsafe { memory::structure_mut("answers", answers) }?;
        answers::check(answers)?;
        // SAFETY: the caller's promise.
        unsafe { shared.pop(answers) }
    })
}

/// Destroys a stream. Batches that are being searched are finished, the other batches are
/// discarded. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn zf_stream_destroy(stream: zf_stream) -> zf_code {
    guard(|| STREAMS.remove(stream.id))
}
