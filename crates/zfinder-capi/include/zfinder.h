#pragma once

// The C interface of zfinder. cbindgen writes this file from crates/zfinder-capi/src; see docs/how-to/call-from-cpp.md.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Version of this interface. Programs compare it with `zf_abi_version()`.
#define ZF_ABI_VERSION 2

// Flag of a batch: columns are x, y, z [mm]. Without the flag they are rho [mm], phi [rad], z
// [mm].
#define ZF_CARTESIAN 1

// Flag of a batch: coordinates are `float`. Without the flag they are `double`.
#define ZF_FLOAT 2

// Flag of a batch: layers are `uint8_t`. Without the flag they are `uint32_t`.
#define ZF_LAYER_U8 4

// Window of an RoI: the `phi_window` of the configuration.
#define ZF_WINDOW_CONFIG 0

// Window of an RoI: the full circle.
#define ZF_WINDOW_FULL 1

// Window of an RoI: from `phi_min` up to `phi_max` [rad]. The window covers +-pi if
// `phi_min > phi_max`.
#define ZF_WINDOW_RANGE 2

// Window of an RoI: the smallest range that holds its spacepoints.
#define ZF_WINDOW_SPACEPOINTS 3

// Kind of an object: an electron.
#define ZF_ELECTRON 0

// Kind of an object: a photon.
#define ZF_PHOTON 1

// Kind of an object: a muon.
#define ZF_MUON 2

// Kind of an object: a jet.
#define ZF_JET 3

// Result of a call.
enum zf_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Success.
  ZF_OK = 0,
  // The handle is null, destroyed, or of another kind.
  ZF_BAD_HANDLE = 1,
  // A pointer that must not be NULL is NULL.
  ZF_NULL = 2,
  // An argument is invalid: a size, a flag, an alignment, a text that is not UTF-8.
  ZF_ARGUMENT = 3,
  // The configuration is invalid.
  ZF_CONFIG = 4,
  // The detector is invalid.
  ZF_DETECTOR = 5,
  // Columns, offsets or RoIs of a batch are invalid.
  ZF_COLUMNS = 6,
  // The GPU, its driver or a shader failed.
  ZF_GPU = 7,
  // The system gives no thread.
  ZF_THREAD = 8,
  // The buffer of a text is too small. The wanted size is written.
  ZF_NO_ROOM = 9,
  // No batch is in flight.
  ZF_EMPTY = 10,
  // As many batches are in flight as allowed.
  ZF_FULL = 11,
  // The library panicked: a fault of the library, not of its input.
  ZF_PANIC = 12,
  // Any other failure.
  ZF_OTHER = 13,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum zf_code zf_code;
#else
typedef int32_t zf_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How the search of an RoI ended.
enum zf_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // At least one vertex was found.
  ZF_STATUS_OK = 0,
  // The RoI holds no spacepoint inside its window.
  ZF_STATUS_EMPTY = 1,
  // No window of three bins holds a peak.
  ZF_STATUS_NO_PEAK = 2,
  // A spacepoint is not finite, out of range, or on a layer that the detector does not have.
  ZF_STATUS_BAD_SPACEPOINT = 3,
  // The work exceeds the capacity of the engine.
  ZF_STATUS_CAPACITY_EXCEEDED = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum zf_status zf_status;
#else
typedef int32_t zf_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Options of a finder. `zf_options_init()` gives the defaults.
typedef struct zf_options {
  // `sizeof(zf_options)`.
  size_t size;
  // Name of a preset, or a configuration in TOML; NULL is the preset `auto`. A text with `=` is
  // TOML.
  const char *config;
  // Name of a built-in detector, or a detector in TOML. It must be given.
  const char *detector;
  // `auto`, `cpu`, `gpu` or `reference`; NULL is `auto`: a hardware GPU if there is one, else
  // the CPU.
  const char *engine;
  // Index, PCI id or name of an adapter, or `all`; NULL is the best hardware GPU.
  const char *adapter;
  // Threads of the CPU engine. 1 computes on the calling thread, 0 on the library's thread pool.
  size_t threads;
  // Number type of the search, `f32` or `f64`; NULL is `f32`.
  const char *precision;
  // How z is summed, `fixed` or `compare-exchange`; NULL is `fixed`.
  const char *accumulate;
  // How spacepoints travel to a GPU, `lossless` or `compact`; NULL is `lossless`.
  const char *encoding;
} zf_options;

// Handle of a finder. 0 is no finder. Numbers are never used again.
typedef struct zf_finder {
  // Number of the finder.
  uint64_t id;
} zf_finder;

// Handle of results. 0 is no results. Numbers are never used again.
typedef struct zf_results {
  // Number of the results.
  uint64_t id;
} zf_results;

// Position of a vertex with its covariance.
typedef struct zf_position {
  // x, y and z [mm].
  double xyz_mm[3];
  // xx, xy, xz, yy, yz, zz [mm^2].
  double covariance_mm2[6];
} zf_position;

// Function that gets a line of the log: `level` is 1 (error) to 5 (trace). `user` is that of
// `zf_log()`. It may be called on any thread, and must not call this library.
typedef void (*zf_log_callback)(int32_t level, const char *text, void *user);

// A short track of pixel spacepoints, fitted about the beam. It passes the distance rho from the
// beam at the azimuth phi0 + curvature rho / 2 - d0 / rho and at z0 + cot_theta s, with the arc
// length s = rho (1 + curvature^2 rho^2 / 24).
typedef struct zf_tracklet {
  // z at the beam [mm].
  double z0_mm;
  // Cotangent of the polar angle.
  double cot_theta;
  // Azimuth at the beam [rad].
  double phi0;
  // Curvature [1/mm], positive if the azimuth grows with rho.
  double curvature;
  // Transverse impact parameter [mm].
  double d0_mm;
  // Transverse momentum [GeV].
  double pt_gev;
  // Of the line in z.
  double chi2;
  // Covariance of z0 and cot_theta: (z0, z0), (z0, cot), (cot, cot).
  double z_covariance[3];
  // Covariance of phi0, curvature c and d0: (phi0, phi0), (phi0, c), (phi0, d0), (c, c),
  // (c, d0), (d0, d0).
  double bend_covariance[6];
  // Its spacepoints, from the beam outwards: places in the RoI. The first `hit_count` are used.
  uint32_t hits[6];
  // Number of its spacepoints.
  uint32_t hit_count;
  // Its vertex: a place among the vertices of the RoI, or -1.
  int32_t vertex;
} zf_tracklet;

// Columns of results: memory of the library, which the caller reads. `zf_columns_init()` sets the
// size.
//
// The pointers are valid until the next search into the same results, or until
// `zf_results_destroy()`. A column without elements must not be read.
typedef struct zf_columns {
  // `sizeof(zf_columns)`.
  size_t size;
  // Number of RoIs.
  size_t rois;
  // Number of vertices of all RoIs together.
  size_t vertices;
  // Event number of each RoI.
  const uint64_t *event_id;
  // Number of each RoI in its event.
  const uint64_t *roi_id;
  // One of `zf_status` for each RoI.
  const uint8_t *status;
  // Number of spacepoints of each RoI that took part.
  const uint64_t *spacepoints;
  // Number of spacepoints of each RoI outside the window, or beyond the last layer of the
  // configuration.
  const uint64_t *outside_window;
  // 1 if an RoI has the answer of the second search, which runs where the first search finds no
  // peak; else 0.
  const uint8_t *fallback;
  // `rois + 1` numbers that ascend from 0 to `vertices`: RoI i has the vertices from
  // `offsets[i]` up to `offsets[i + 1]`, the best vertex first.
  const size_t *offsets;
  // Position of each vertex along the beam [mm].
  const double *z_mm;
  // Standard error of each position [mm].
  const double *z_error_mm;
  // Entries of each peak, or the sum of their weights.
  const double *weight;
  // The vertices of an RoI are ordered by this number.
  const double *rank;
  // Significance of each peak in standard deviations; NaN without a background.
  const double *significance;
  // Entries that three bins have without a vertex; NaN if it is not computed.
  const double *background;
  // Pairs of each peak.
  const uint64_t *pairs;
  // x of each vertex [mm]; NaN without tracklets.
  const double *x_mm;
  // y of each vertex [mm]; NaN without tracklets.
  const double *y_mm;
  // Six numbers for each vertex: the covariance xx, xy, xz, yy, yz, zz [mm^2]; NaN without
  // tracklets.
  const double *covariance_mm2;
  // Number of tracklets of each vertex.
  const uint64_t *tracklet_count;
  // Sum of the squared transverse momenta of the tracklets of each vertex [GeV^2].
  const double *sum_pt2_gev2;
  // Number of tracklets of all RoIs together.
  size_t tracklets;
  // `rois + 1` numbers that ascend from 0 to `tracklets`: RoI i has the tracklets from
  // `tracklet_offsets[i]` up to `tracklet_offsets[i + 1]`.
  const size_t *tracklet_offsets;
  // The tracklets, as the key `tracklets` of the configuration says.
  const struct zf_tracklet *tracklet;
} zf_columns;

// Description of an RoI.
typedef struct zf_roi {
  // Event number.
  uint64_t event_id;
  // Number of the RoI in the event.
  uint64_t roi_id;
  // Pseudorapidity of the centre.
  double eta;
  // One of `ZF_WINDOW_*`.
  uint32_t window;
  // Not 0 if `z_min_mm` and `z_max_mm` replace the range of the configuration.
  uint32_t has_z_range;
  // Lower edge of the window [rad], with `ZF_WINDOW_RANGE`.
  double phi_min;
  // Upper edge of the window [rad], with `ZF_WINDOW_RANGE`.
  double phi_max;
  // Lower end of the range of z [mm].
  double z_min_mm;
  // Upper end of the range of z [mm].
  double z_max_mm;
} zf_roi;

// An object of the calorimeter or the muon system that comes from the hard scatter.
typedef struct zf_object {
  // Pseudorapidity of its position on the calorimeter, seen from the origin.
  double eta;
  // Azimuth of the position [rad].
  double phi;
  // Transverse energy, or transverse momentum of a muon [GeV].
  double et_gev;
  // One of `ZF_ELECTRON`, `ZF_PHOTON`, `ZF_MUON` and `ZF_JET`.
  uint32_t kind;
  // 0.
  uint32_t reserved;
} zf_object;

// RoIs whose spacepoints lie in columns of the caller. `zf_batch_init()` sets the sizes.
//
// Columns rho, phi, z are searched where they are; layers of `uint32_t` and columns x, y are
// converted in one copy.
typedef struct zf_batch {
  // `sizeof(zf_batch)`.
  size_t size;
  // `sizeof(zf_roi)`.
  size_t roi_size;
  // Sum of `ZF_CARTESIAN`, `ZF_FLOAT` and `ZF_LAYER_U8`.
  uint32_t flags;
  // 0.
  uint32_t reserved;
  // Column of rho or x: `spacepoints` elements of `double` or `float`.
  const void *rho_or_x;
  // Column of phi or y.
  const void *phi_or_y;
  // Column of z.
  const void *z;
  // Column of layers: `uint32_t` or `uint8_t`.
  const void *layer;
  // Number of spacepoints.
  size_t spacepoints;
  // Number of RoIs.
  size_t rois;
  // `rois + 1` numbers that ascend from 0 to `spacepoints`: RoI i has the spacepoints from
  // `offsets[i]` up to `offsets[i + 1]`. NULL is allowed for one RoI, which has all spacepoints.
  const uint64_t *offsets;
  // `rois` descriptions. NULL gives RoI i the event number i and the window of the
  // configuration.
  const struct zf_roi *roi;
  // Bytes from one element of a column of coordinates to the next one, for members of
  // structures, which are converted in one copy; 0 if nothing lies between them.
  size_t coordinate_stride;
  // Bytes from one layer to the next one; 0 if nothing lies between them.
  size_t layer_stride;
  // `sizeof(zf_object)`.
  size_t object_size;
  // Objects of the hard scatter: each RoI is then a whole event, and its spacepoints near its
  // objects are searched. NULL without objects. The configuration must have no tracklets.
  const struct zf_object *object;
  // `rois + 1` numbers that ascend from 0: RoI i has the objects from `object_offsets[i]` up to
  // `object_offsets[i + 1]`, and is searched whole if it has none.
  const uint64_t *object_offsets;
  // Radius of the calorimeter's barrel, on which positions of objects lie [mm]; 0 is 1500.
  double calorimeter_rho_mm;
  // |z| of the calorimeter's end-caps [mm]; 0 is 3700.
  double calorimeter_z_mm;
} zf_batch;

// Function that the library calls when a submitted batch is done, with `ZF_OK` or the code of the
// failure, whose text is `zf_last_error()` within the call. `user` is that of `zf_submit()`.
typedef void (*zf_callback)(zf_code code, void *user);

// Handle of a stream. 0 is no stream. Numbers are never used again.
typedef struct zf_stream {
  // Number of the stream.
  uint64_t id;
} zf_stream;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the interface that the library has. Any thread, at any time.
uint32_t zf_abi_version(void);

// Returns the version of the library, such as "0.1.0". Any thread, at any time.
const char *zf_version(void);

// Returns the text of the last failure of a call on this thread, or an empty text. The text is
// valid until the next failure on this thread.
const char *zf_last_error(void);

// Returns the name of a code, such as "ZF_OK". Any thread, at any time.
const char *zf_code_name(int32_t code);

// Returns the name of a status, such as "no_peak", as files have it. Any thread, at any time.
const char *zf_status_name(int32_t status);

// Writes a line of text for each adapter of this machine: index, kind, backend, name and driver,
// with tabs between. Any thread.
//
// `wanted` gets the bytes of the text with its NUL; `wanted` may be NULL. A NULL `buffer` asks for
// the size alone.
//
// # Safety
// `buffer` has `room` bytes.
zf_code zf_adapters(char *buffer, size_t room, size_t *wanted);

// Writes a line of text for each key of a configuration: name, values with their unit, and
// meaning, with tabs between. Any thread. Buffers are those of `zf_adapters()`.
//
// # Safety
// `buffer` has `room` bytes.
zf_code zf_keys(char *buffer, size_t room, size_t *wanted);

// Builds a finder. Opens devices and compiles shaders, so build a finder once. Any thread.
//
// `options` must name the detector. `finder` gets the handle; destroy it with `zf_destroy()`.
//
// # Safety
// `options` has valid texts.
zf_code zf_create(const struct zf_options *options, struct zf_finder *finder);

// Destroys a finder. Any thread, also while other threads search: their calls finish. Streams of
// the finder go on.
zf_code zf_destroy(struct zf_finder finder);

// Writes which engine runs, and on which adapters. Any thread. Buffers are those of
// `zf_adapters()`.
//
// # Safety
// `buffer` has `room` bytes.
zf_code zf_describe(struct zf_finder finder, char *buffer, size_t room, size_t *wanted);

// Writes a warning if the first spacepoints that were searched lie far from their layers, with the
// detector, the unit of length or the first layer number that they fit; else an empty text. Any
// thread. Buffers are those of `zf_adapters()`.
//
// # Safety
// `buffer` has `room` bytes.
zf_code zf_input_warning(struct zf_finder finder, char *buffer, size_t room, size_t *wanted);

// Writes the largest number of vertices that an RoI gets. Any thread.
//
// # Safety
// `vertices` can be written to.
zf_code zf_most_vertices(struct zf_finder finder, size_t *vertices);

// Writes the layer on which each point lies, the nearest barrel at its rho or disk at its z within
// `tolerance_mm`, or 255. Any thread.
//
// # Safety
// `rho` and `z` have `count` elements, and `layers` has room for as many.
zf_code zf_layer_at(struct zf_finder finder,
                    const double *rho,
                    const double *z,
                    size_t count,
                    double tolerance_mm,
                    uint8_t *layers);

// Writes the layer of each geometry identifier of ACTS, whose volume is in bits 56 to 63 and whose
// layer in 36 to 47, or 255. Any thread.
//
// # Safety
// `geometry_id` has `count` elements, and `layers` has room for as many.
zf_code zf_layer_of_geometry(struct zf_finder finder,
                             const uint64_t *geometry_id,
                             size_t count,
                             uint8_t *layers);

// Writes the position of a vertex, counted over all RoIs of the results, with its covariance.
// Where no tracklets have measured x and y, they are those of the finder's beam at this z, with
// its width. Any thread.
//
// `ZF_ARGUMENT`: there is no such vertex.
//
// # Safety
// `position` can be written to.
zf_code zf_vertex_position(struct zf_finder finder,
                           struct zf_results results,
                           size_t vertex,
                           struct zf_position *position);

// Sends the log to a function: lines up to `level`, 1 (error), 2 (warning), 3 (info), 4 (debug) or
// 5 (trace). 0 or a NULL function ends the log. One function serves the whole process. Any thread.
//
// # Safety
// `callback` may be called on any thread with `user`, until another call of this function returns.
zf_code zf_log(zf_log_callback callback, void *user, int32_t level);

// Makes results without RoIs. Searches fill them and reuse their memory. Any thread.
//
// `results` gets the handle; destroy it with `zf_results_destroy()`.
//
// # Safety
// `results` can be written to.
zf_code zf_results_create(struct zf_results *results);

// Writes pointers to the columns of results; nothing is copied. Any thread.
//
// The pointers are valid until the next search into the same results, or until
// `zf_results_destroy()`.
//
// # Safety
// `columns` has the size that it states.
zf_code zf_results_columns(struct zf_results results, struct zf_columns *columns);

// Destroys results. Pointers to their columns become invalid. Any thread.
zf_code zf_results_destroy(struct zf_results results);

// Finds the vertices of all RoIs of a batch, and blocks until they are there. Any thread, and many
// threads at once with the same finder, each with its own `results`.
//
// An invalid spacepoint is no failure of the call, but the status of its RoI. After a failure
// `results` hold no RoI.
//
// # Safety
// Columns have the sizes that `batch` states, and nobody changes them during the call.
zf_code zf_find(struct zf_finder finder, const struct zf_batch *batch, struct zf_results results);

// Starts the search of a batch, and returns. The library calls `callback` when the search is done,
// once, on a thread of its own, possibly before this function returns. For frameworks that suspend
// an event while a GPU works. Any thread, and any number of batches at once: small ones go to the
// GPU together.
//
// After `ZF_OK` the columns of `batch` must stay as they are, and nobody uses `results`, until the
// callback. Offsets and descriptions of RoIs are copied. After another code there is no callback.
//
// # Safety
// As `zf_find()`, until the callback. `callback` may be called on any thread with `user`, and does
// not throw. It may call any function of this library, but should be short: it holds up the
// answers of others.
zf_code zf_submit(struct zf_finder finder,
                  const struct zf_batch *batch,
                  struct zf_results results,
                  zf_callback callback,
                  void *user);

// Starts a stream, which keeps `in_flight` batches in flight, 1 to 1024, each with a thread. 0 is
// twice the number of cores. Any thread.
//
// `stream` gets the handle; destroy it with `zf_stream_destroy()`.
//
// # Safety
// `stream` can be written to.
zf_code zf_stream_create(struct zf_finder finder, size_t in_flight, struct zf_stream *stream);

// Copies a batch and sends it on its way. Does not wait for answers. Any thread, also while
// another thread pops.
//
// `ZF_FULL`: as many batches are in flight as allowed; pop one first.
//
// # Safety
// As `zf_find()`. After the call, the columns belong to the caller again.
zf_code zf_stream_push(struct zf_stream stream, const struct zf_batch *batch);

// Fills `results` with the answers to the oldest batch, and blocks until they are there. Any
// thread; answers come in the order of the pushes. The stream reuses the earlier memory of
// `results`.
//
// `ZF_EMPTY`: no batch is in flight. With any other failure of the search, the batch is gone, and
// the next call waits for the next batch. After a failure `results` hold no RoI.
zf_code zf_stream_pop(struct zf_stream stream, struct zf_results results);

// Destroys a stream. Batches that are being searched are finished, the other batches are
// discarded. Any thread.
zf_code zf_stream_destroy(struct zf_stream stream);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#ifdef __cplusplus
extern "C" {
#endif

// Returns options with the sizes set and all else 0.
static inline zf_options zf_options_init(void) {
  zf_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  return options;
}

// Returns a batch with the sizes set and all else 0.
static inline zf_batch zf_batch_init(void) {
  zf_batch batch;
  memset(&batch, 0, sizeof batch);
  batch.size = sizeof batch;
  batch.roi_size = sizeof(zf_roi);
  batch.object_size = sizeof(zf_object);
  return batch;
}

// Returns columns with the size set and all else 0.
static inline zf_columns zf_columns_init(void) {
  zf_columns columns;
  memset(&columns, 0, sizeof columns);
  columns.size = sizeof columns;
  return columns;
}

#ifdef __cplusplus
}
#endif
