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
//! zf_results results;                           /* memory for any number of searches */
//! zf_columns columns = zf_columns_init();
//! if (zf_results_create(&results) == ZF_OK && zf_find(finder, &batch, results) == ZF_OK &&
//!     zf_results_columns(results, &columns) == ZF_OK && columns.vertices > 0) {
//!   printf("%g mm\n", columns.z_mm[0]);
//! }
//! zf_results_destroy(results), zf_destroy(finder);
//! ```
//!
//! # Map
//!
//! Modules in reading order:
//!
//! - `types`: structures of the header; `options`: options of a finder.
//! - `registry`: finders, results and streams by handle; `failure`: codes and messages.
//! - `batch`, `columns`, `submit`, `stream`: batches, columns of results, and batches in flight.
//! - `memory`: arrays that C passes; `log`: the log for a function of the caller.

#![expect(unsafe_code, reason = "callers in C hand over pointers")]

mod batch;
mod columns;
mod failure;
mod log;
mod memory;
mod options;
mod registry;
mod stream;
mod submit;
mod types;

use std::ffi::{CString, c_char, c_void};
use std::fmt::Write;
use std::sync::{LazyLock, Mutex};

use zfinder::config::Key;
use zfinder::{Config, Results, Status, StreamOptions, ZFinder};

use crate::batch::Scratch;
use crate::failure::{Outcome, guard};
use crate::registry::{Registry, lock};
use crate::stream::SharedStream;
pub use crate::types::*;

/// A finder with memory that its searches use again.
struct SharedFinder {
    finder: ZFinder,
    scratch: Mutex<Vec<Scratch>>,
}

static FINDERS: Registry<SharedFinder> = Registry::new("a finder");
static RESULTS: Registry<Mutex<Results>> = Registry::new("results");
static STREAMS: Registry<SharedStream> = Registry::new("a stream");

/// Fills results. After a failure they hold no RoI.
fn fill(results: zf_results, search: impl FnOnce(&mut Results) -> Outcome<()>) -> Outcome<()> {
    let shared = RESULTS.get(results.id)?;
    let mut results = lock(&shared);
    let outcome = search(&mut results);
    if outcome.is_err() {
        results.clear();
    }
    outcome
}

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
    static NAMES: LazyLock<Vec<CString>> =
        LazyLock::new(|| Status::WORDS.iter().map(|word| CString::new(word.word).unwrap_or_default()).collect());
    let name = usize::try_from(status).ok().and_then(|status| NAMES.get(status));
    name.map_or(c"unknown status".as_ptr(), |name| name.as_ptr())
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
        for adapter in zfinder::gpu::adapters()? {
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
        let built = unsafe { options::build(&options) }?;
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

/// Writes the layer on which each point lies, the nearest barrel at its rho or disk at its z within
/// `tolerance_mm`, or 255. Any thread.
///
/// # Safety
/// `rho` and `z` have `count` elements, and `layers` has room for as many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_layer_at(
    finder: zf_finder,
    rho: *const f64,
    z: *const f64,
    count: usize,
    tolerance_mm: f64,
    layers: *mut u8,
) -> zf_code {
    guard(|| {
        let shared = FINDERS.get(finder.id)?;
        // SAFETY: the caller's promise.
        let (rho, z) = unsafe { (memory::column("rho", rho, count)?, memory::column("z", z, count)?) };
        let layer = |(&rho, &z): (&f64, &f64)| shared.finder.detector().layer_at(rho, z, tolerance_mm);
        // SAFETY: the caller's promise.
        unsafe { memory::write_layers(layers, rho.iter().zip(z).map(layer)) }
    })
}

/// Writes the layer of each geometry identifier of ACTS, whose volume is in bits 56 to 63 and whose
/// layer in 36 to 47, or 255. Any thread.
///
/// # Safety
/// `geometry_id` has `count` elements, and `layers` has room for as many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_layer_of_geometry(
    finder: zf_finder,
    geometry_id: *const u64,
    count: usize,
    layers: *mut u8,
) -> zf_code {
    guard(|| {
        let shared = FINDERS.get(finder.id)?;
        // SAFETY: the caller's promise.
        let ids = unsafe { memory::column("geometry_id", geometry_id, count) }?;
        let layer = |&id: &u64| shared.finder.detector().layer_by_geometry_id(id);
        // SAFETY: the caller's promise.
        unsafe { memory::write_layers(layers, ids.iter().map(layer)) }
    })
}

/// Writes the position of a vertex, counted over all RoIs of the results, with its covariance.
/// Where no tracklets have measured x and y, they are those of the finder's beam at this z, with
/// its width. Any thread.
///
/// `ZF_ARGUMENT`: there is no such vertex.
///
/// # Safety
/// `position` can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_vertex_position(
    finder: zf_finder,
    results: zf_results,
    vertex: usize,
    position: *mut zf_position,
) -> zf_code {
    guard(|| {
        let (shared, results) = (FINDERS.get(finder.id)?, RESULTS.get(results.id)?);
        let found = columns::position(&lock(&results), vertex, shared.finder.config())?;
        // SAFETY: the caller's promise.
        unsafe { memory::write("position", position, found) }
    })
}

/// Sends the log to a function: lines up to `level`, 1 (error), 2 (warning), 3 (info), 4 (debug) or
/// 5 (trace). 0 or a NULL function ends the log. One function serves the whole process. Any thread.
///
/// # Safety
/// `callback` may be called on any thread with `user`, until another call of this function returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_log(callback: zf_log_callback, user: *mut c_void, level: i32) -> zf_code {
    // SAFETY: the caller's promise.
    guard(|| unsafe { log::send_to(callback, user, level) })
}

/// Makes results without RoIs. Searches fill them and reuse their memory. Any thread.
///
/// `results` gets the handle; destroy it with `zf_results_destroy()`.
///
/// # Safety
/// `results` can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_results_create(results: *mut zf_results) -> zf_code {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { memory::write("results", results, zf_results { id: 0 }) }?;
        let id = RESULTS.insert(Mutex::default());
        // SAFETY: the caller's promise.
        unsafe { memory::write("results", results, zf_results { id }) }
    })
}

/// Writes pointers to the columns of results; nothing is copied. Any thread.
///
/// The pointers are valid until the next search into the same results, or until
/// `zf_results_destroy()`.
///
/// # Safety
/// `columns` has the size that it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_results_columns(results: zf_results, columns: *mut zf_columns) -> zf_code {
    guard(|| {
        let shared = RESULTS.get(results.id)?;
        // SAFETY: the caller's promise.
        unsafe { memory::write_structure("columns", columns, &columns::borrow(&lock(&shared))) }
    })
}

/// Destroys results. Pointers to their columns become invalid. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn zf_results_destroy(results: zf_results) -> zf_code {
    guard(|| RESULTS.remove(results.id))
}

/// Finds the vertices of all RoIs of a batch, and blocks until they are there. Any thread, and many
/// threads at once with the same finder, each with its own `results`.
///
/// An invalid spacepoint is no failure of the call, but the status of its RoI. After a failure
/// `results` hold no RoI.
///
/// # Safety
/// Columns have the sizes that `batch` states, and nobody changes them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_find(finder: zf_finder, batch: *const zf_batch, results: zf_results) -> zf_code {
    guard(|| {
        let shared = FINDERS.get(finder.id)?;
        fill(results, |results| {
            // SAFETY: the caller's promise.
            let batch = unsafe { memory::structure("batch", batch) }?;
            let mut scratch = lock(&shared.scratch).pop().unwrap_or_default();
            // SAFETY: the caller's promise.
            let searched = unsafe { scratch.search(&shared.finder, &batch, results) };
            lock(&shared.scratch).push(scratch);
            searched
        })
    })
}

/// Starts the search of a batch, and returns. The library calls `callback` when the search is done,
/// once, on a thread of its own, possibly before this function returns. For frameworks that suspend
/// an event while a GPU works. Any thread, and any number of batches at once: small ones go to the
/// GPU together.
///
/// After `ZF_OK` the columns of `batch` must stay as they are, and nobody uses `results`, until the
/// callback. Offsets and descriptions of RoIs are copied. After another code there is no callback.
///
/// # Safety
/// As `zf_find()`, until the callback. `callback` may be called on any thread with `user`, and does
/// not throw. It may call any function of this library, but should be short: it holds up the
/// answers of others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zf_submit(
    finder: zf_finder,
    batch: *const zf_batch,
    results: zf_results,
    callback: zf_callback,
    user: *mut c_void,
) -> zf_code {
    guard(|| {
        let (shared, results) = (FINDERS.get(finder.id)?, RESULTS.get(results.id)?);
        // SAFETY: the caller's promise.
        let batch = unsafe { memory::structure("batch", batch) }?;
        // SAFETY: the caller's promise.
        unsafe { submit::submit(shared, &batch, results, callback, user) }
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
        let shared = FINDERS.get(finder.id)?;
        let config = shared.finder.config().clone();
        let id = STREAMS.insert(SharedStream::new(shared.finder.stream(options)?, config));
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
        unsafe { shared.push(&batch) }
    })
}

/// Fills `results` with the answers to the oldest batch, and blocks until they are there. Any
/// thread; answers come in the order of the pushes. The stream reuses the earlier memory of
/// `results`.
///
/// `ZF_EMPTY`: no batch is in flight. With any other failure of the search, the batch is gone, and
/// the next call waits for the next batch. After a failure `results` hold no RoI.
#[unsafe(no_mangle)]
pub extern "C" fn zf_stream_pop(stream: zf_stream, results: zf_results) -> zf_code {
    guard(|| {
        let shared = STREAMS.get(stream.id)?;
        fill(results, |results| shared.pop(results))
    })
}

/// Destroys a stream. Batches that are being searched are finished, the other batches are
/// discarded. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn zf_stream_destroy(stream: zf_stream) -> zf_code {
    guard(|| STREAMS.remove(stream.id))
}
