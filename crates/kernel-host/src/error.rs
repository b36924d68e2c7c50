//! Errors of the host side of kernels.

use std::fmt::Write as _;

use crate::summary::AdapterSummary;

/// Errors of the host side of kernels, with a remedy where one is known.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No adapter fits the choice. Hardware is never silently replaced by a software adapter.
    #[error("{}", no_adapter_text(wanted, candidates))]
    NoAdapter {
        /// The choice, as text.
        wanted: String,
        /// All adapters, in the order of [`adapters`](crate::adapters).
        candidates: Vec<AdapterSummary>,
    },
    /// [`AdapterChoice::All`](crate::AdapterChoice::All) for a call that opens one device.
    #[error("all hardware GPUs were asked for where one device is opened: choose one, or open them with Gpu::open_all")]
    NotOneAdapter,
    /// An environment variable with an invalid value.
    #[error("the environment variable {variable} is `{value}`; expected {expected}")]
    BadEnvironment {
        /// The name of the variable.
        variable: &'static str,
        /// The variable's value.
        value: String,
        /// The valid values.
        expected: String,
    },
    /// An adapter that gives no device.
    #[error("the adapter `{adapter}` gave no device: {source}")]
    Device {
        /// The adapter's name.
        adapter: String,
        /// wgpu's reason.
        source: wgpu::RequestDeviceError,
    },
    /// The adapter lacks a feature that was required.
    #[error("the adapter `{adapter}` does not offer {feature}: {hint}")]
    MissingFeature {
        /// The adapter's name.
        adapter: String,
        /// The features that are missing, in wgpu's names.
        feature: String,
        /// Remedy.
        hint: String,
    },
    /// A request that exceeds a limit of the adapter.
    #[error("{limit} is {offered} on `{adapter}`, and {wanted} was asked for")]
    Limit {
        /// The adapter's name.
        adapter: String,
        /// The limit, in wgpu's name.
        limit: &'static str,
        /// The requested value.
        wanted: u64,
        /// The device's limit.
        offered: u64,
    },
    /// The WGSL of a kernel does not parse or is not valid.
    #[error("kernel {kernel}: {}{message}", place_text(piece, *line, *column))]
    Shader {
        /// The kernel's name.
        kernel: String,
        /// The piece (source file) of the fault, or the kernel's name if naga does not report it.
        piece: String,
        /// Line in that piece, from 1; 0 if naga does not report it.
        line: usize,
        /// Column in that line, in bytes from 1; 0 if naga does not report it.
        column: usize,
        /// naga's message.
        message: String,
    },
    /// The workgroup variables of an entry point do not fit on the adapter.
    #[error(
        "kernel {kernel}: {entry_point} needs {needed} bytes of workgroup memory, and the adapter offers {offered}"
    )]
    WorkgroupMemory {
        /// The kernel's name.
        kernel: String,
        /// The entry point.
        entry_point: String,
        /// Bytes needed, as WebGPU counts them.
        needed: u64,
        /// Bytes offered.
        offered: u64,
    },
    /// A binding is missing, unknown, given twice or of the wrong kind.
    #[error("kernel {kernel}: {message}")]
    Binding {
        /// The kernel's name.
        kernel: String,
        /// The binding and its fault.
        message: String,
    },
    /// An entry point, an override constant or the driver's compiler refused.
    #[error("kernel {kernel}: {message}")]
    Pipeline {
        /// The kernel's name.
        kernel: String,
        /// The refusal, and its source.
        message: String,
    },
    /// A buffer would be larger than the device allows.
    #[error("the buffer `{what}` would need {bytes} bytes, and the device allows {limit}")]
    BufferTooLarge {
        /// The buffer's label.
        what: String,
        /// Bytes needed (saturating).
        bytes: u64,
        /// Bytes that the device allows for a buffer of this use.
        limit: u64,
    },
    /// A buffer was used without memory, or past its end.
    #[error("the buffer `{what}` holds {held} elements, and {wanted} were asked for")]
    BufferTooSmall {
        /// The buffer's label.
        what: String,
        /// Number of requested elements.
        wanted: usize,
        /// Capacity in elements.
        held: usize,
    },
    /// The device has no memory left, or the allowed memory is in use.
    #[error("the device has no memory left for `{what}` ({bytes} bytes{})", allowed_text(*allowed))]
    OutOfMemory {
        /// Purpose of the memory.
        what: String,
        /// Number of requested bytes; 0 if unknown.
        bytes: u64,
        /// The limit of [`Gpu::limit_memory`](crate::Gpu::limit_memory) in bytes, if it is the
        /// cause.
        allowed: Option<u64>,
    },
    /// The device is lost; make a new [`Gpu`](crate::Gpu).
    #[error("the device is lost: {reason}")]
    DeviceLost {
        /// The driver's message.
        reason: String,
    },
    /// A blocking call that would have to wait in a browser, where threads must not block.
    #[error("a page in a browser cannot wait: call the async form")]
    CannotWait,
    /// wgpu refused a call: a fault of the program, not of its input.
    #[error("wgpu refused a call: {message}")]
    Validation {
        /// wgpu's message.
        message: String,
    },
    /// A buffer could not be mapped for reading.
    #[error("the buffer `{what}` could not be mapped: {message}")]
    Map {
        /// The buffer's label.
        what: String,
        /// wgpu's message.
        message: String,
    },
}

impl Error {
    /// Returns whether a program that prefers a GPU may fall back to the CPU: no usable GPU exists,
    /// and the user named none (`WGPU_ADAPTER_NAME`).
    #[must_use]
    pub fn leaves_the_cpu(&self) -> bool {
        let named = std::env::var_os("WGPU_ADAPTER_NAME").is_some_and(|name| !name.is_empty());
        !named && !matches!(self, Self::BadEnvironment { .. })
    }
}

/// Returns `file:line:column: `, or an empty text if the position is unknown.
fn place_text(piece: &str, line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!("{piece}:{line}:{column}: ") }
}

/// Text of the limit in [`Error::OutOfMemory`].
fn allowed_text(allowed: Option<u64>) -> String {
    allowed.map_or_else(String::new, |bytes| format!(", where buffers may take {bytes} in all"))
}

/// Returns the text of [`Error::NoAdapter`]: the candidates, one for each line, and how to choose
/// one.
fn no_adapter_text(wanted: &str, candidates: &[AdapterSummary]) -> String {
    if candidates.is_empty() {
        return format!(
            "no GPU adapter is {wanted}: there are no adapters at all; install a Vulkan, Metal or DirectX 12 driver \
             (on Linux, Mesa's Vulkan drivers include a software one), and check WGPU_BACKEND if it is set"
        );
    }
    let mut text = format!("no GPU adapter is {wanted}; there are:\n");
    for candidate in candidates {
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {candidate}");
    }
    text.push_str(
        "choose one by its index, by a part of its name, or by its PCI id (vendor:device in hexadecimal); \
         WGPU_ADAPTER_NAME chooses by name. A software adapter is used only when it is chosen like this",
    );
    text
}
