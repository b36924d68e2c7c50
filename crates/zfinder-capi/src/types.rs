//! The types of `zfinder.h`, named as in C.

#![allow(non_camel_case_types, reason = "these names stand in the header")]

use std::ffi::{c_char, c_void};

/// Result of a call.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum zf_code {
    /// Success.
    ZF_OK = 0,
    /// The handle is null, destroyed, or of another kind.
    ZF_BAD_HANDLE = 1,
    /// A pointer that must not be NULL is NULL.
    ZF_NULL = 2,
    /// An argument is invalid: a size, a flag, an alignment, a text that is not UTF-8.
    ZF_ARGUMENT = 3,
    /// The configuration is invalid.
    ZF_CONFIG = 4,
    /// The detector is invalid.
    ZF_DETECTOR = 5,
    /// Columns, offsets or RoIs of a batch are invalid.
    ZF_COLUMNS = 6,
    /// The GPU, its driver or a shader failed.
    ZF_GPU = 7,
    /// The system gives no thread.
    ZF_THREAD = 8,
    /// A buffer is too small. The wanted sizes are written.
    ZF_NO_ROOM = 9,
    /// No batch is in flight.
    ZF_EMPTY = 10,
    /// As many batches are in flight as allowed.
    ZF_FULL = 11,
    /// The library panicked: a fault of the library, not of its input.
    ZF_PANIC = 12,
    /// Any other failure.
    ZF_OTHER = 13,
}

/// How the search of an RoI ended.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum zf_status {
    /// At least one vertex was found.
    ZF_STATUS_OK = 0,
    /// The RoI holds no spacepoint inside its window.
    ZF_STATUS_EMPTY = 1,
    /// No window of three bins holds a peak.
    ZF_STATUS_NO_PEAK = 2,
    /// A spacepoint is not finite, out of range, or on a layer that the detector does not have.
    ZF_STATUS_BAD_SPACEPOINT = 3,
    /// The work exceeds the capacity of the engine.
    ZF_STATUS_CAPACITY_EXCEEDED = 4,
    /// A status of a newer library.
    ZF_STATUS_OTHER = 5,
}

/// Version of this interface. Programs compare it with `zf_abi_version()`.
pub const ZF_ABI_VERSION: u32 = 0;

/// Flag of a batch: columns are x, y, z [mm]. Without the flag they are rho [mm], phi [rad], z
/// [mm].
pub const ZF_CARTESIAN: u32 = 1;
/// Flag of a batch: coordinates are `float`. Without the flag they are `double`.
pub const ZF_FLOAT: u32 = 2;
/// Flag of a batch: layers are `uint8_t`. Without the flag they are `uint32_t`.
pub const ZF_LAYER_U8: u32 = 4;

/// Window of an RoI: the `phi_window` of the configuration.
pub const ZF_WINDOW_CONFIG: u32 = 0;
/// Window of an RoI: the full circle.
pub const ZF_WINDOW_FULL: u32 = 1;
/// Window of an RoI: from `phi_min` up to `phi_max` [rad]. The window covers +-pi if
/// `phi_min > phi_max`.
pub const ZF_WINDOW_RANGE: u32 = 2;
/// Window of an RoI: the smallest range that holds its spacepoints.
pub const ZF_WINDOW_SPACEPOINTS: u32 = 3;

/// Handle of a finder. 0 is no finder. Numbers are never used again.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_finder {
    /// Number of the finder.
    pub id: u64,
}

/// Handle of a stream. 0 is no stream. Numbers are never used again.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_stream {
    /// Number of the stream.
    pub id: u64,
}

/// Options of a finder. `zf_options_init()` gives the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_options {
    /// `sizeof(zf_options)`.
    pub size: usize,
    /// Name of a preset, or a configuration in TOML; NULL is the preset `auto`. A text with `=` is
    /// TOML.
    pub config: *const c_char,
    /// Name of a built-in detector, or a detector in TOML. It must be given.
    pub detector: *const c_char,
    /// `auto`, `cpu`, `gpu` or `reference`; NULL is `auto`: a hardware GPU if there is one, else
    /// the CPU.
    pub engine: *const c_char,
    /// Index, PCI id or name of an adapter, or `all`; NULL is the best hardware GPU.
    pub adapter: *const c_char,
    /// Threads of the CPU engine. 1 computes on the calling thread, 0 on the library's thread pool.
    pub threads: usize,
}

/// Description of an RoI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_roi {
    /// Event number.
    pub event_id: u64,
    /// Number of the RoI in the event.
    pub roi_id: u64,
    /// Pseudorapidity of the centre.
    pub eta: f64,
    /// One of `ZF_WINDOW_*`.
    pub window: u32,
    /// Not 0 if `z_min_mm` and `z_max_mm` replace the range of the configuration.
    pub has_z_range: u32,
    /// Lower edge of the window [rad], with `ZF_WINDOW_RANGE`.
    pub phi_min: f64,
    /// Upper edge of the window [rad], with `ZF_WINDOW_RANGE`.
    pub phi_max: f64,
    /// Lower end of the range of z [mm].
    pub z_min_mm: f64,
    /// Upper end of the range of z [mm].
    pub z_max_mm: f64,
}

/// RoIs whose spacepoints lie in columns of the caller. `zf_batch_init()` sets the sizes.
///
/// Columns rho, phi, z are searched where they are; layers of `uint32_t` and columns x, y are
/// converted in one copy.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_batch {
    /// `sizeof(zf_batch)`.
    pub size: usize,
    /// `sizeof(zf_roi)`.
    pub roi_size: usize,
    /// Sum of `ZF_CARTESIAN`, `ZF_FLOAT` and `ZF_LAYER_U8`.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
    /// Column of rho or x: `spacepoints` elements of `double` or `float`.
    pub rho_or_x: *const c_void,
    /// Column of phi or y.
    pub phi_or_y: *const c_void,
    /// Column of z.
    pub z: *const c_void,
    /// Column of layers: `uint32_t` or `uint8_t`.
    pub layer: *const c_void,
    /// Number of spacepoints.
    pub spacepoints: usize,
    /// Number of RoIs.
    pub rois: usize,
    /// `rois + 1` numbers that ascend from 0 to `spacepoints`: RoI i has the spacepoints from
    /// `offsets[i]` up to `offsets[i + 1]`. NULL is allowed for one RoI, which has all spacepoints.
    pub offsets: *const u64,
    /// `rois` descriptions. NULL gives RoI i the event number i and the window of the
    /// configuration.
    pub roi: *const zf_roi,
}

/// Answer of an RoI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_result {
    /// Event number.
    pub event_id: u64,
    /// Number of the RoI in the event.
    pub roi_id: u64,
    /// One of `zf_status`.
    pub status: i32,
    /// 1 if this is the answer of the second search, which runs where the first search finds no
    /// peak; else 0.
    pub fallback: u32,
    /// Index of the first vertex of the RoI among the vertices of the batch.
    pub first_vertex: u64,
    /// Number of vertices. The best vertex comes first.
    pub vertices: u64,
    /// Number of spacepoints that took part.
    pub spacepoints: u64,
    /// Number of spacepoints outside the window, or beyond the last layer of the configuration.
    pub outside_window: u64,
}

/// Vertex candidate on the beam line.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_vertex {
    /// Position along the beam [mm].
    pub z_mm: f64,
    /// Standard error of the position [mm].
    pub z_error_mm: f64,
    /// Entries of the peak, or the sum of their weights.
    pub weight: f64,
    /// Vertices are ordered by this number.
    pub rank: f64,
    /// Significance of the peak in standard deviations; NaN without a background.
    pub significance: f64,
    /// Entries that three bins have without a vertex; NaN if it is not computed.
    pub background: f64,
    /// Pairs of the peak.
    pub pairs: u64,
}

/// Buffers of the caller for the answers to a batch. `zf_answers_init()` sets the sizes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_answers {
    /// `sizeof(zf_answers)`.
    pub size: usize,
    /// `sizeof(zf_result)`.
    pub result_size: usize,
    /// `sizeof(zf_vertex)`.
    pub vertex_size: usize,
    /// In: buffer for one `zf_result` for each RoI.
    pub result_buffer: *mut zf_result,
    /// In: elements of `result_buffer`.
    pub result_room: usize,
    /// In: buffer for the vertices of all RoIs. RoIs times `zf_most_vertices()` elements are
    /// enough.
    pub vertex_buffer: *mut zf_vertex,
    /// In: elements of `vertex_buffer`.
    pub vertex_room: usize,
    /// Out: number of results, written or, with `ZF_NO_ROOM`, wanted.
    pub results: usize,
    /// Out: number of vertices, written or, with `ZF_NO_ROOM`, wanted.
    pub vertices: usize,
}
