//! The types of `zfinder.h`, named as in C.

#![allow(non_camel_case_types, reason = "these names stand in the header")]

use std::ffi::{c_char, c_void};

use zfinder::region::ObjectKind;
use zfinder::{Status, Tracklet};

use crate::memory::Structure;

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
    /// The buffer of a text is too small. The wanted size is written.
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
}

// The numbers are those of the library.
const _: () = {
    assert!(Status::ALL.len() == 5);
    assert!(Status::Ok.code() as i32 == zf_status::ZF_STATUS_OK as i32);
    assert!(Status::Empty.code() as i32 == zf_status::ZF_STATUS_EMPTY as i32);
    assert!(Status::NoPeak.code() as i32 == zf_status::ZF_STATUS_NO_PEAK as i32);
    assert!(Status::BadSpacepoint.code() as i32 == zf_status::ZF_STATUS_BAD_SPACEPOINT as i32);
    assert!(Status::CapacityExceeded.code() as i32 == zf_status::ZF_STATUS_CAPACITY_EXCEEDED as i32);
};

/// Version of this interface. Programs compare it with `zf_abi_version()`.
pub const ZF_ABI_VERSION: u32 = 2;

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

/// Function that the library calls when a submitted batch is done, with `ZF_OK` or the code of the
/// failure, whose text is `zf_last_error()` within the call. `user` is that of `zf_submit()`.
pub type zf_callback = Option<unsafe extern "C" fn(code: zf_code, user: *mut c_void)>;

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
    /// Number type of the search, `f32` or `f64`; NULL is `f32`.
    pub precision: *const c_char,
    /// How z is summed, `fixed` or `compare-exchange`; NULL is `fixed`.
    pub accumulate: *const c_char,
    /// How spacepoints travel to a GPU, `lossless` or `compact`; NULL is `lossless`.
    pub encoding: *const c_char,
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
    /// Bytes from one element of a column of coordinates to the next one, for members of
    /// structures, which are converted in one copy; 0 if nothing lies between them.
    pub coordinate_stride: usize,
    /// Bytes from one layer to the next one; 0 if nothing lies between them.
    pub layer_stride: usize,
    /// `sizeof(zf_object)`.
    pub object_size: usize,
    /// Objects of the hard scatter: each RoI is then a whole event, and its spacepoints near its
    /// objects are searched. NULL without objects. The configuration must have no tracklets.
    pub object: *const zf_object,
    /// `rois + 1` numbers that ascend from 0: RoI i has the objects from `object_offsets[i]` up to
    /// `object_offsets[i + 1]`, and is searched whole if it has none.
    pub object_offsets: *const u64,
    /// Radius of the calorimeter's barrel, on which positions of objects lie [mm]; 0 is 1500.
    pub calorimeter_rho_mm: f64,
    /// |z| of the calorimeter's end-caps [mm]; 0 is 3700.
    pub calorimeter_z_mm: f64,
}

/// Kind of an object: an electron.
pub const ZF_ELECTRON: u32 = 0;
/// Kind of an object: a photon.
pub const ZF_PHOTON: u32 = 1;
/// Kind of an object: a muon.
pub const ZF_MUON: u32 = 2;
/// Kind of an object: a jet.
pub const ZF_JET: u32 = 3;

/// An object of the calorimeter or the muon system that comes from the hard scatter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_object {
    /// Pseudorapidity of its position on the calorimeter, seen from the origin.
    pub eta: f64,
    /// Azimuth of the position [rad].
    pub phi: f64,
    /// Transverse energy, or transverse momentum of a muon [GeV].
    pub et_gev: f64,
    /// One of `ZF_ELECTRON`, `ZF_PHOTON`, `ZF_MUON` and `ZF_JET`.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
}

// The numbers are those of the library.
const _: () = assert!(
    matches!(ObjectKind::ALL[ZF_ELECTRON as usize], ObjectKind::Electron)
        && matches!(ObjectKind::ALL[ZF_PHOTON as usize], ObjectKind::Photon)
        && matches!(ObjectKind::ALL[ZF_MUON as usize], ObjectKind::Muon)
        && matches!(ObjectKind::ALL[ZF_JET as usize], ObjectKind::Jet)
);

/// Position of a vertex with its covariance.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_position {
    /// x, y and z [mm].
    pub xyz_mm: [f64; 3],
    /// xx, xy, xz, yy, yz, zz [mm^2].
    pub covariance_mm2: [f64; 6],
}

/// Function that gets a line of the log: `level` is 1 (error) to 5 (trace). `user` is that of
/// `zf_log()`. It may be called on any thread, and must not call this library.
pub type zf_log_callback = Option<unsafe extern "C" fn(level: i32, text: *const c_char, user: *mut c_void)>;

/// A short track of pixel spacepoints, fitted about the beam. It passes the distance rho from the
/// beam at the azimuth phi0 + curvature rho / 2 - d0 / rho and at z0 + cot_theta s, with the arc
/// length s = rho (1 + curvature^2 rho^2 / 24).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_tracklet {
    /// z at the beam [mm].
    pub z0_mm: f64,
    /// Cotangent of the polar angle.
    pub cot_theta: f64,
    /// Azimuth at the beam [rad].
    pub phi0: f64,
    /// Curvature [1/mm], positive if the azimuth grows with rho.
    pub curvature: f64,
    /// Transverse impact parameter [mm].
    pub d0_mm: f64,
    /// Transverse momentum [GeV].
    pub pt_gev: f64,
    /// Of the line in z.
    pub chi2: f64,
    /// Covariance of z0 and cot_theta: (z0, z0), (z0, cot), (cot, cot).
    pub z_covariance: [f64; 3],
    /// Covariance of phi0, curvature c and d0: (phi0, phi0), (phi0, c), (phi0, d0), (c, c),
    /// (c, d0), (d0, d0).
    pub bend_covariance: [f64; 6],
    /// Its spacepoints, from the beam outwards: places in the RoI. The first `hit_count` are used.
    pub hits: [u32; 6],
    /// Number of its spacepoints.
    pub hit_count: u32,
    /// Its vertex: a place among the vertices of the RoI, or -1.
    pub vertex: i32,
}

// The columns borrow tracklets of the library.
const _: () = assert!(size_of::<zf_tracklet>() == size_of::<Tracklet>() && Tracklet::MOST_HITS == 6);

/// Handle of results. 0 is no results. Numbers are never used again.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_results {
    /// Number of the results.
    pub id: u64,
}

/// Columns of results: memory of the library, which the caller reads. `zf_columns_init()` sets the
/// size.
///
/// The pointers are valid until the next search into the same results, or until
/// `zf_results_destroy()`. A column without elements must not be read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct zf_columns {
    /// `sizeof(zf_columns)`.
    pub size: usize,
    /// Number of RoIs.
    pub rois: usize,
    /// Number of vertices of all RoIs together.
    pub vertices: usize,
    /// Event number of each RoI.
    pub event_id: *const u64,
    /// Number of each RoI in its event.
    pub roi_id: *const u64,
    /// One of `zf_status` for each RoI.
    pub status: *const u8,
    /// Number of spacepoints of each RoI that took part.
    pub spacepoints: *const u64,
    /// Number of spacepoints of each RoI outside the window, or beyond the last layer of the
    /// configuration.
    pub outside_window: *const u64,
    /// 1 if an RoI has the answer of the second search, which runs where the first search finds no
    /// peak; else 0.
    pub fallback: *const u8,
    /// `rois + 1` numbers that ascend from 0 to `vertices`: RoI i has the vertices from
    /// `offsets[i]` up to `offsets[i + 1]`, the best vertex first.
    pub offsets: *const usize,
    /// Position of each vertex along the beam [mm].
    pub z_mm: *const f64,
    /// Standard error of each position [mm].
    pub z_error_mm: *const f64,
    /// Entries of each peak, or the sum of their weights.
    pub weight: *const f64,
    /// The vertices of an RoI are ordered by this number.
    pub rank: *const f64,
    /// Significance of each peak in standard deviations; NaN without a background.
    pub significance: *const f64,
    /// Entries that three bins have without a vertex; NaN if it is not computed.
    pub background: *const f64,
    /// Pairs of each peak.
    pub pairs: *const u64,
    /// x of each vertex [mm]; NaN without tracklets.
    pub x_mm: *const f64,
    /// y of each vertex [mm]; NaN without tracklets.
    pub y_mm: *const f64,
    /// Six numbers for each vertex: the covariance xx, xy, xz, yy, yz, zz [mm^2]; NaN without
    /// tracklets.
    pub covariance_mm2: *const f64,
    /// Number of tracklets of each vertex.
    pub tracklet_count: *const u64,
    /// Sum of the squared transverse momenta of the tracklets of each vertex [GeV^2].
    pub sum_pt2_gev2: *const f64,
    /// Number of tracklets of all RoIs together.
    pub tracklets: usize,
    /// `rois + 1` numbers that ascend from 0 to `tracklets`: RoI i has the tracklets from
    /// `tracklet_offsets[i]` up to `tracklet_offsets[i + 1]`.
    pub tracklet_offsets: *const usize,
    /// The tracklets, as the key `tracklets` of the configuration says.
    pub tracklet: *const zf_tracklet,
}

macro_rules! structures {
    ($($name:ident),*) => {$(
        // SAFETY: plain numbers and pointers, of which 0 is a value.
        unsafe impl Structure for $name {
            // No field was added since the first header of this version.
            const LEAST: usize = size_of::<Self>();
        }
    )*};
}
structures!(zf_options, zf_batch, zf_roi, zf_object, zf_columns);
