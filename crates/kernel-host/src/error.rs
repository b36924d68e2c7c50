//! Every way in which the host side of a kernel can fail.

use std::fmt::Write as _;

use crate::summary::AdapterSummary;

/// Errors of the host side of kernels, with a remedy where one is known.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No adapter fits the choice. Hardware is never replaced by a software adapter behind the
    /// user's back.
    #[error("{}", no_adapter_text(wanted, candidates))]
    NoAdapter {
        /// The choice, in words.
        wanted: String,
        /// Every adapter that there is, in the order of [`adapters`](crate::adapters).
        candidates: Vec<AdapterSummary>,
    },
    /// [`AdapterChoice::All`](crate::AdapterChoice::All) where one device is opened.
    #[error("all hardware GPUs were asked for where one device is opened: choose one, or open them with Gpu::open_all")]
    NotOneAdapter,
    /// An environment variable holds something that cannot be understood.
    #[error("the environment variable {variable} is `{value}`; expected {expected}")]
    BadEnvironment {
        /// The name of the variable.
        variable: &'static str,
        /// The variable's value.
        value: String,
        /// The valid values.
        expected: String,
    },
    /// The adapter is there but gives no device.
    #[error("the adapter `{adapter}` gave no device: {source}")]
    Device {
        /// The adapter's name.
        adapter: String,
        /// Why, as wgpu has it.
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
    /// More was asked than a limit of the adapter allows.
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
        /// The piece (source file) of the fault; the kernel's name where naga does not say.
        piece: String,
        /// Line in that piece, from 1; 0 where naga does not say.
        line: usize,
        /// Column in that line, in bytes from 1; 0 where naga does not say.
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
        /// Which binding, and what about it.
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
    /// A buffer was used before it was given room, or past its end.
    #[error("the buffer `{what}` holds {held} elements, and {wanted} were asked for")]
    BufferTooSmall {
        /// The buffer's label.
        what: String,
        /// Elements asked for.
        wanted: usize,
        /// Elements that it has room for.
        held: usize,
    },
    /// The device has no memory left, or as much is used as is allowed.
    #[error("the device has no memory left for `{what}` ({bytes} bytes{})", allowed_text(*allowed))]
    OutOfMemory {
        /// Purpose of the memory.
        what: String,
        /// Bytes asked for; 0 where it is not known.
        bytes: u64,
        /// Bytes that all buffers may take together, where these do not leave enough:
        /// [`Gpu::limit_memory`](crate::Gpu::limit_memory).
        allowed: Option<u64>,
    },
    /// The device is gone; a new [`Gpu`](crate::Gpu) has to be made.
    #[error("the device is lost: {reason}")]
    DeviceLost {
        /// The driver's message.
        reason: String,
    },
    /// A blocking call that would have to wait, in a browser, where no thread may.
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

/// `file:line:column: `, or nothing where the place is not known.
fn place_text(piece: &str, line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!("{piece}:{line}:{column}: ") }
}

/// Text of the limit in [`Error::OutOfMemory`].
fn allowed_text(allowed: Option<u64>) -> String {
    allowed.map_or_else(String::new, |bytes| format!(", where buffers may take {bytes} in all"))
}

/// The text of [`Error::NoAdapter`]: the candidates, one a line, and how to choose one.
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
