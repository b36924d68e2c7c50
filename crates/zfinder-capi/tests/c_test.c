/* Finds vertices through the C interface: `c_test find CONFIG ENGINE SPACEPOINTS [ROIS]` prints them as the command
   does, `c_test submit ENGINE SPACEPOINTS` checks that each RoI as a submission has the same answer,
   `c_test misuse SPACEPOINTS` checks what a wrong call returns, `c_test adapters` lists adapters.
   With glibc and -DCOUNT_ALLOCATIONS, `c_test allocations SPACEPOINTS` checks that a search takes no new memory. */
#include <pthread.h>
#include <string.h>

#include "table.h"

static void expect(zf_code wanted, zf_code code, const char *call, int line) {
  if (code != wanted) {
    fprintf(stderr, "c_test.c:%d: %s is %s, not %s: %s\n", line, call, zf_code_name(code), zf_code_name(wanted),
            zf_last_error());
    exit(1);
  }
}
#define EXPECT(wanted, call) expect(wanted, call, #call, __LINE__)

static void expect_true(int is_true, const char *what, int line) {
  if (!is_true) {
    fprintf(stderr, "c_test.c:%d: not so: %s (%s)\n", line, what, zf_last_error());
    exit(1);
  }
}
#define EXPECT_TRUE(what) expect_true(what, #what, __LINE__)

#ifdef COUNT_ALLOCATIONS
/* The library's calls come here, too. */
static size_t allocations;
void *__libc_malloc(size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_calloc(size_t count, size_t size);
void *malloc(size_t size) {
  allocations++;
  return __libc_malloc(size);
}
void *realloc(void *memory, size_t size) {
  allocations++;
  return __libc_realloc(memory, size);
}
void *calloc(size_t count, size_t size) {
  allocations++;
  return __libc_calloc(count, size);
}
#endif

static zf_results new_results(void) {
  zf_results results;
  EXPECT(ZF_OK, zf_results_create(&results));
  return results;
}

static zf_columns columns_of(zf_results results) {
  zf_columns columns = zf_columns_init();
  EXPECT(ZF_OK, zf_results_columns(results, &columns));
  return columns;
}

static zf_finder create(const char *config, const char *engine, size_t threads) {
  zf_options options = zf_options_init();
  zf_finder finder;
  options.config = config;
  options.detector = "generic";
  options.engine = engine;
  options.adapter = strcmp(engine, "gpu") == 0 ? "0" : NULL;
  options.threads = threads;
  EXPECT(ZF_OK, zf_create(&options, &finder));
  return finder;
}

static void bad_options(void) {
  zf_finder finder = {7};
  zf_options options = zf_options_init();
  EXPECT(ZF_NULL, zf_create(&options, NULL));
  options.config = "no-such-preset";
  EXPECT(ZF_CONFIG, zf_create(&options, &finder));
  EXPECT_TRUE(finder.id == 0);
  EXPECT_TRUE(strstr(zf_last_error(), "hard-scatter") != NULL);
  options.config = NULL;
  options.detector = "generic";
  options.precision = "f16";
  EXPECT(ZF_ARGUMENT, zf_create(&options, &finder));
  EXPECT_TRUE(strstr(zf_last_error(), "f16") != NULL);
  options.precision = NULL, options.engine = "cpu", options.threads = 4294967295u;
  EXPECT(ZF_CONFIG, zf_create(&options, &finder));
  EXPECT_TRUE(strstr(zf_last_error(), "threads") != NULL);
  options.threads = 0;
  options.precision = "f64", options.accumulate = "fixed", options.encoding = "compact", options.engine = "cpu";
  EXPECT(ZF_OK, zf_create(&options, &finder));
  EXPECT(ZF_OK, zf_destroy(finder));
  options.precision = options.accumulate = options.encoding = options.engine = NULL;
  options.config = "peaks = 0";
  EXPECT(ZF_CONFIG, zf_create(&options, &finder));
  options.config = "no_such_key = 1";
  EXPECT(ZF_CONFIG, zf_create(&options, &finder));
  options.config = "\xff";
  EXPECT(ZF_ARGUMENT, zf_create(&options, &finder));
  options.config = NULL;
  options.detector = "no-such-detector";
  EXPECT(ZF_DETECTOR, zf_create(&options, &finder));
  options.detector = "name = 3";
  EXPECT(ZF_DETECTOR, zf_create(&options, &finder));
  options.detector = NULL;
  EXPECT(ZF_DETECTOR, zf_create(&options, &finder));
  EXPECT_TRUE(strstr(zf_last_error(), "atlas2010, generic, odd") != NULL);
  options.detector = "generic";
  options.engine = "abacus";
  EXPECT(ZF_ARGUMENT, zf_create(&options, &finder));
  options.engine = "cpu";
  options.adapter = "0";
  EXPECT(ZF_ARGUMENT, zf_create(&options, &finder));
  options.adapter = NULL;
  options.size--;
  EXPECT(ZF_ARGUMENT, zf_create(&options, &finder));
}

static void bad_handles(zf_finder finder) {
  char text[4];
  size_t wanted = 0;
  const zf_batch batch = table_batch();
  const zf_results results = new_results();
  const zf_finder null = {0}, stale = create(NULL, "cpu", 1);
  zf_stream stream;
  EXPECT(ZF_OK, zf_destroy(stale));
  EXPECT(ZF_BAD_HANDLE, zf_destroy(stale));
  EXPECT(ZF_BAD_HANDLE, zf_destroy(null));
  EXPECT(ZF_BAD_HANDLE, zf_find(stale, &batch, results));
  EXPECT(ZF_BAD_HANDLE, zf_describe(null, text, sizeof text, &wanted));
  EXPECT(ZF_BAD_HANDLE, zf_stream_create(stale, 1, &stream));
  EXPECT(ZF_OK, zf_stream_create(finder, 1, &stream));
  EXPECT(ZF_BAD_HANDLE, zf_destroy((zf_finder){stream.id}));
  EXPECT(ZF_BAD_HANDLE, zf_stream_destroy((zf_stream){finder.id}));
  EXPECT(ZF_OK, zf_stream_destroy(stream));
  EXPECT(ZF_BAD_HANDLE, zf_stream_destroy(stream));
  EXPECT(ZF_BAD_HANDLE, zf_stream_push(stream, &batch));
  EXPECT(ZF_BAD_HANDLE, zf_stream_pop(stream, results));
  EXPECT(ZF_OK, zf_results_destroy(results));
  EXPECT(ZF_CONFIG, zf_stream_create(finder, 100000, &stream));
  EXPECT(ZF_NULL, zf_stream_create(finder, 1, NULL));
  /* Texts. */
  EXPECT(ZF_NO_ROOM, zf_describe(finder, text, sizeof text, &wanted));
  EXPECT_TRUE(wanted > sizeof text);
  EXPECT(ZF_OK, zf_describe(finder, NULL, 0, &wanted));
}

static void configurations_start_from_auto(void) {
  const char *const configs[] = {NULL, "z_bin_mm = 0.3", "preset = \"jet\"", "preset = \"default\"\npeaks = 2"};
  const size_t vertices[] = {4, 4, 3, 2};
  for (size_t i = 0; i < 4; i++) {
    const zf_finder finder = create(configs[i], "cpu", 1);
    size_t most = 0;
    EXPECT(ZF_OK, zf_most_vertices(finder, &most));
    EXPECT_TRUE(most == vertices[i]);
    EXPECT(ZF_OK, zf_destroy(finder));
  }
}

static void wrong_units(void) {
  /* A spacepoint on the first layer, in cm, and three angles in degrees. */
  const double rho[] = {5.05, 5.05, 5.05}, z[] = {1.5, 1.5, 1.5};
  const double radians[] = {0.1, 0.1, 0.1}, degrees[] = {90, 180, 270};
  const uint32_t layer[] = {0, 0, 0};
  const zf_finder finder = create(NULL, "cpu", 1);
  char text[512];
  const zf_results results = new_results();
  zf_batch batch = zf_batch_init();
  batch.rho_or_x = rho;
  batch.phi_or_y = degrees;
  batch.z = z;
  batch.layer = layer;
  batch.spacepoints = 3;
  batch.rois = 1;
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, results));
  EXPECT_TRUE(strstr(zf_last_error(), "are these degrees?") != NULL);
  EXPECT(ZF_OK, zf_input_warning(finder, text, sizeof text, NULL));
  EXPECT_TRUE(text[0] == 0);
  batch.phi_or_y = radians;
  EXPECT(ZF_OK, zf_find(finder, &batch, results));
  EXPECT(ZF_OK, zf_input_warning(finder, text, sizeof text, NULL));
  EXPECT_TRUE(strstr(text, "if their lengths are in cm: give lengths in mm") != NULL);
  EXPECT(ZF_OK, zf_results_destroy(results));
  EXPECT(ZF_OK, zf_destroy(finder));
}

static void bad_batches(zf_finder finder) {
  zf_batch batch = table_batch();
  const zf_results results = new_results();
  uint64_t offsets[MOST_ROIS + 1];
  zf_roi roi;
  EXPECT(ZF_NULL, zf_find(finder, NULL, results));
  batch.rho_or_x = NULL;
  EXPECT(ZF_NULL, zf_find(finder, &batch, results));
  batch = table_batch();
  batch.offsets = NULL;
  EXPECT(ZF_NULL, zf_find(finder, &batch, results));
  batch = table_batch();
  batch.size++;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, results));
  batch = table_batch();
  batch.roi_size = 8;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, results));
  batch = table_batch();
  batch.flags |= 1u << 20;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, results));
  batch = table_batch();
  batch.z = (const char *)input.z + 1;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, results));
  batch = table_batch();
  batch.spacepoints = SIZE_MAX / 4;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, results));
  batch.spacepoints = input.spacepoints;
  batch.rois = SIZE_MAX;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, results));
  /* Offsets. */
  batch = table_batch();
  batch.offsets = offsets;
  memcpy(offsets, input.offsets, sizeof offsets);
  offsets[1] = offsets[2] + 1;
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, results));
  memcpy(offsets, input.offsets, sizeof offsets);
  offsets[input.rois] = UINT64_MAX;
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, results));
  offsets[input.rois] = input.spacepoints - 1;
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, results));
  batch.flags = 0; /* the same for columns that are borrowed */
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, results));
  /* Windows. */
  batch = table_batch();
  batch.rois = 1;
  batch.offsets = NULL;
  batch.roi = &roi;
  roi = input.roi[0];
  roi.window = 9;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, results));
  roi.window = ZF_WINDOW_RANGE;
  roi.phi_min = roi.phi_max = 1;
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, results));
  /* No RoI, and one RoI without spacepoints. */
  batch = zf_batch_init();
  EXPECT(ZF_OK, zf_find(finder, &batch, results));
  EXPECT_TRUE(columns_of(results).rois == 0);
  batch.rois = 1;
  EXPECT(ZF_OK, zf_find(finder, &batch, results));
  EXPECT_TRUE(columns_of(results).rois == 1 && columns_of(results).status[0] == ZF_STATUS_EMPTY);
  EXPECT(ZF_OK, zf_results_destroy(results));
}

/* A spacepoint of a framework. */
typedef struct hit {
  char before[3];
  double x, y, z;
  uint64_t module;
  uint32_t layer;
  char after[5];
} hit;

static int is_same(const zf_columns *a, const zf_columns *b) {
  return a->rois == b->rois && a->vertices == b->vertices && a->vertices > 0 && a->tracklets == b->tracklets &&
         memcmp(a->offsets, b->offsets, (a->rois + 1) * sizeof *a->offsets) == 0 &&
         memcmp(a->spacepoints, b->spacepoints, a->rois * sizeof *a->spacepoints) == 0 &&
         memcmp(a->z_mm, b->z_mm, a->vertices * sizeof *a->z_mm) == 0 &&
         memcmp(a->z_error_mm, b->z_error_mm, a->vertices * sizeof *a->z_error_mm) == 0;
}

/* Members of structures have the answers of columns, in each kind of call. */
static void strides(void) {
  static hit hits[MOST_SPACEPOINTS];
  static float single[MOST_SPACEPOINTS][3];
  static float columns_of_float[3][MOST_SPACEPOINTS];
  const zf_finder finder = create("tracklets = \"all\"", "cpu", 1);
  const zf_results whole = new_results(), strided = new_results();
  zf_batch batch = table_batch();
  zf_stream stream;
  for (size_t i = 0; i < input.spacepoints; i++) {
    hits[i].x = input.x[i], hits[i].y = input.y[i], hits[i].z = input.z[i], hits[i].layer = input.layer[i];
    single[i][0] = columns_of_float[0][i] = (float)hypot(input.x[i], input.y[i]);
    single[i][1] = columns_of_float[1][i] = (float)atan2(input.y[i], input.x[i]);
    single[i][2] = columns_of_float[2][i] = (float)input.z[i];
  }
  EXPECT(ZF_OK, zf_find(finder, &batch, whole));
  batch.rho_or_x = &hits->x, batch.phi_or_y = &hits->y, batch.z = &hits->z, batch.layer = &hits->layer;
  batch.coordinate_stride = batch.layer_stride = sizeof(hit);
  EXPECT(ZF_OK, zf_find(finder, &batch, strided));
  zf_columns a = columns_of(whole), b = columns_of(strided);
  EXPECT_TRUE(is_same(&a, &b));
  EXPECT(ZF_OK, zf_stream_create(finder, 1, &stream));
  EXPECT(ZF_OK, zf_stream_push(stream, &batch));
  EXPECT(ZF_OK, zf_stream_pop(stream, strided));
  b = columns_of(strided);
  EXPECT_TRUE(is_same(&a, &b));
  /* float, with a column of layers. */
  batch.flags = ZF_FLOAT;
  batch.layer = input.layer, batch.layer_stride = 0;
  batch.rho_or_x = columns_of_float[0], batch.phi_or_y = columns_of_float[1], batch.z = columns_of_float[2];
  batch.coordinate_stride = 0;
  EXPECT(ZF_OK, zf_find(finder, &batch, whole));
  batch.rho_or_x = &single[0][0], batch.phi_or_y = &single[0][1], batch.z = &single[0][2];
  batch.coordinate_stride = sizeof single[0];
  EXPECT(ZF_OK, zf_find(finder, &batch, strided));
  a = columns_of(whole), b = columns_of(strided);
  EXPECT_TRUE(is_same(&a, &b));
  batch.coordinate_stride = 2;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, strided));
  batch.coordinate_stride = SIZE_MAX / 2;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, strided));
  batch.coordinate_stride = sizeof single[0];
  batch.z = NULL;
  EXPECT(ZF_NULL, zf_find(finder, &batch, strided));
  batch.z = &single[0][2];
  uint64_t offsets[MOST_ROIS + 1];
  memcpy(offsets, input.offsets, sizeof offsets);
  offsets[1] = offsets[2] + 1;
  batch.offsets = offsets;
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, strided));
  EXPECT(ZF_OK, zf_stream_destroy(stream));
  EXPECT(ZF_OK, zf_results_destroy(whole));
  EXPECT(ZF_OK, zf_results_destroy(strided));
  EXPECT(ZF_OK, zf_destroy(finder));
}

/* A program of a newer header has longer structures. Fields that this library does not know must be 0. */
static void newer_structures(zf_finder finder) {
  struct {
    zf_batch batch;
    uint64_t later;
  } newer = {table_batch(), 0};
  struct {
    zf_columns columns;
    uint64_t later;
  } wide = {zf_columns_init(), 7};
  static struct {
    zf_roi roi;
    uint64_t later;
  } rois[MOST_ROIS];
  const zf_results results = new_results();
  newer.batch.size = sizeof newer;
  newer.batch.roi = &rois[0].roi;
  newer.batch.roi_size = sizeof rois[0];
  for (size_t i = 0; i < input.rois; i++) {
    rois[i].roi = input.roi[i];
  }
  EXPECT(ZF_OK, zf_find(finder, &newer.batch, results));
  wide.columns.size = sizeof wide;
  EXPECT(ZF_OK, zf_results_columns(results, &wide.columns));
  EXPECT_TRUE(wide.later == 7 && wide.columns.size == sizeof wide && wide.columns.rois == input.rois);
  EXPECT_TRUE(wide.columns.event_id[0] == input.roi[0].event_id && wide.columns.vertices > 0);
  rois[1].later = 1;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &newer.batch, results));
  EXPECT_TRUE(strstr(zf_last_error(), "batch->roi has a field that this library does not know") != NULL);
  rois[1].later = 0;
  newer.later = 1;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &newer.batch, results));
  newer.batch.size = SIZE_MAX - 7;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &newer.batch, results));
  EXPECT(ZF_OK, zf_results_destroy(results));
}

/* The spacepoints near an object are searched. */
static void objects(zf_finder finder) {
  const zf_object electron = {0.5, 1.0, 30.0, ZF_ELECTRON, 0};
  const uint64_t offsets[] = {0, 1};
  const zf_results results = new_results();
  zf_batch batch = table_batch();
  batch.rois = 1;
  batch.spacepoints = input.offsets[1];
  EXPECT(ZF_OK, zf_find(finder, &batch, results));
  const uint64_t whole = columns_of(results).spacepoints[0];
  zf_object object = electron;
  batch.object = &object, batch.object_offsets = offsets;
  uint64_t fewest = whole;
  for (int i = 0; i < 32; i++) {
    object.phi = -3.1 + 0.2 * i;
    EXPECT(ZF_OK, zf_find(finder, &batch, results));
    const uint64_t part = columns_of(results).spacepoints[0];
    EXPECT_TRUE(part <= whole);
    fewest = part > 0 && part < fewest ? part : fewest;
  }
  EXPECT_TRUE(fewest < whole);
  object.kind = 4;
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, results));
  object = electron;
  object.et_gev = -1.0;
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, results));
  object = electron;
  const uint64_t wrong[] = {1, 0};
  batch.object_offsets = wrong;
  EXPECT(ZF_COLUMNS, zf_find(finder, &batch, results));
  batch.object_offsets = NULL;
  EXPECT(ZF_NULL, zf_find(finder, &batch, results));
  batch.object_offsets = offsets;
  batch.object_size = 8;
  EXPECT(ZF_ARGUMENT, zf_find(finder, &batch, results));
  batch.object_size = sizeof object;
  const zf_finder with_tracklets = create("tracklets = \"window\"", "cpu", 1);
  EXPECT(ZF_ARGUMENT, zf_find(with_tracklets, &batch, results));
  EXPECT(ZF_OK, zf_destroy(with_tracklets));
  EXPECT(ZF_OK, zf_results_destroy(results));
}

static void layers(zf_finder finder) {
  const double rho[] = {33.4, 172.0, 50.0}, z[] = {-120.0, 1498.0, 0.0};
  const uint64_t ids[] = {8ull << 56 | 4ull << 36 | 17ull << 8, 0};
  uint8_t found[3];
  EXPECT(ZF_OK, zf_layer_at(finder, rho, z, 3, 10.0, found));
  EXPECT_TRUE(found[0] == 0 && found[1] == 16 && found[2] == 255);
  EXPECT(ZF_OK, zf_layer_of_geometry(finder, ids, 2, found));
  EXPECT_TRUE(found[0] == 1 && found[1] == 255);
  EXPECT(ZF_OK, zf_layer_at(finder, NULL, NULL, 0, 10.0, NULL));
  EXPECT(ZF_NULL, zf_layer_at(finder, rho, NULL, 3, 10.0, found));
  EXPECT(ZF_NULL, zf_layer_of_geometry(finder, ids, 2, NULL));
  EXPECT(ZF_BAD_HANDLE, zf_layer_at((zf_finder){0}, rho, z, 3, 10.0, found));
}

/* x and y are those of tracklets, else those of the beam. */
static void positions(void) {
  const char *const configs[] = {"beam_spot_mm = [0.5, -0.25]\nbeam_spot_tilt = [0.001, 0.0]",
                                 "preset = \"all-vertices\""};
  const zf_batch batch = table_batch();
  for (int i = 0; i < 2; i++) {
    const zf_finder finder = create(configs[i], "cpu", 1);
    const zf_results results = new_results();
    zf_position position;
    EXPECT(ZF_OK, zf_find(finder, &batch, results));
    const zf_columns columns = columns_of(results);
    EXPECT(ZF_OK, zf_vertex_position(finder, results, 0, &position));
    const double z = columns.z_mm[0], error = columns.z_error_mm[0];
    EXPECT_TRUE(position.xyz_mm[2] == z && fabs(position.covariance_mm2[5] - error * error) < 1e-12);
    EXPECT_TRUE(position.covariance_mm2[0] > 0.0 && position.covariance_mm2[3] > 0.0);
    if (i == 0) {
      EXPECT_TRUE(fabs(position.xyz_mm[0] - 0.5 - 0.001 * z) < 1e-12 && position.xyz_mm[1] == -0.25);
    } else {
      EXPECT_TRUE(position.xyz_mm[0] == columns.x_mm[0] && position.xyz_mm[1] == columns.y_mm[0]);
    }
    EXPECT(ZF_ARGUMENT, zf_vertex_position(finder, results, columns.vertices, &position));
    EXPECT(ZF_NULL, zf_vertex_position(finder, results, 0, NULL));
    EXPECT(ZF_OK, zf_results_destroy(results));
    EXPECT(ZF_OK, zf_destroy(finder));
  }
}

static void on_log(int32_t level, const char *text, void *user) {
  EXPECT_TRUE(level >= 1 && level <= 5 && text[0] != '\0');
  __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
}

/* Lines of the log arrive until the function is taken back. */
static void logs(void) {
  static int lines;
  EXPECT(ZF_ARGUMENT, zf_log(on_log, &lines, 6));
  EXPECT(ZF_OK, zf_log(on_log, &lines, 5));
  EXPECT(ZF_OK, zf_destroy(create("auto", "auto", 1)));
  const int heard = __atomic_load_n(&lines, __ATOMIC_RELAXED);
  EXPECT_TRUE(heard > 0);
  EXPECT(ZF_OK, zf_log(NULL, NULL, 0));
  EXPECT(ZF_OK, zf_destroy(create("auto", "auto", 1)));
  EXPECT_TRUE(__atomic_load_n(&lines, __ATOMIC_RELAXED) == heard);
}

static void bad_results(zf_finder finder) {
  const zf_batch batch = table_batch();
  const zf_results results = new_results(), null = {0};
  zf_columns columns = columns_of(results);
  EXPECT_TRUE(columns.rois == 0 && columns.vertices == 0 && columns.offsets[0] == 0);
  EXPECT(ZF_OK, zf_find(finder, &batch, results));
  columns = columns_of(results);
  EXPECT_TRUE(columns.rois == input.rois && columns.offsets[input.rois] == columns.vertices);
  EXPECT_TRUE(columns.vertices > 0 && columns.vertices <= 2 * input.rois);
  EXPECT(ZF_NULL, zf_find(finder, NULL, results));
  EXPECT_TRUE(columns_of(results).rois == 0); /* no RoI after a failure */
  EXPECT(ZF_NULL, zf_results_create(NULL));
  EXPECT(ZF_NULL, zf_results_columns(results, NULL));
  columns.size--;
  EXPECT(ZF_ARGUMENT, zf_results_columns(results, &columns));
  EXPECT(ZF_BAD_HANDLE, zf_find(finder, &batch, null));
  EXPECT(ZF_BAD_HANDLE, zf_results_destroy((zf_results){finder.id}));
  EXPECT(ZF_OK, zf_results_destroy(results));
  EXPECT(ZF_BAD_HANDLE, zf_results_destroy(results));
  EXPECT(ZF_BAD_HANDLE, zf_find(finder, &batch, results));
  columns = zf_columns_init();
  EXPECT(ZF_BAD_HANDLE, zf_results_columns(results, &columns));
}

/* Columns are where they were after a second search of the same batch. */
static void memory_is_reused(void) {
  const zf_finder finder = create("default", "cpu", 1);
  const zf_batch batch = table_batch();
  const zf_results results = new_results();
  EXPECT(ZF_OK, zf_find(finder, &batch, results));
  const zf_columns first = columns_of(results);
  EXPECT(ZF_OK, zf_find(finder, &batch, results));
  const zf_columns second = columns_of(results);
  EXPECT_TRUE(first.vertices > 0);
  EXPECT_TRUE(memcmp(&first, &second, sizeof first) == 0);
  EXPECT(ZF_OK, zf_results_destroy(results));
  EXPECT(ZF_OK, zf_destroy(finder));
}

static void statuses_have_names(void) {
  EXPECT_TRUE(strcmp(zf_status_name(ZF_STATUS_OK), "ok") == 0);
  EXPECT_TRUE(strcmp(zf_status_name(ZF_STATUS_EMPTY), "empty") == 0);
  EXPECT_TRUE(strcmp(zf_status_name(ZF_STATUS_NO_PEAK), "no_peak") == 0);
  EXPECT_TRUE(strcmp(zf_status_name(ZF_STATUS_BAD_SPACEPOINT), "bad_spacepoint") == 0);
  EXPECT_TRUE(strcmp(zf_status_name(ZF_STATUS_CAPACITY_EXCEEDED), "capacity_exceeded") == 0);
  EXPECT_TRUE(strcmp(zf_status_name(-1), "unknown status") == 0);
  EXPECT_TRUE(strcmp(zf_status_name(ZF_STATUS_CAPACITY_EXCEEDED + 1), "unknown status") == 0);
}

static void streams(zf_finder finder) {
  const zf_batch batch = table_batch();
  zf_batch one = table_batch(), wrong = table_batch();
  const zf_results results = new_results();
  zf_stream stream;
  one.rois = 1;
  one.spacepoints = (size_t)input.offsets[1];
  wrong.offsets = NULL;
  EXPECT(ZF_OK, zf_stream_create(finder, 2, &stream));
  EXPECT(ZF_EMPTY, zf_stream_pop(stream, results));
  EXPECT(ZF_NULL, zf_stream_push(stream, NULL));
  EXPECT(ZF_NULL, zf_stream_push(stream, &wrong));
  for (int i = 0; i < 20; i++) {
    EXPECT(ZF_OK, zf_stream_push(stream, &batch));
    EXPECT(ZF_OK, zf_stream_push(stream, &one));
    EXPECT(ZF_FULL, zf_stream_push(stream, &batch));
    EXPECT(ZF_BAD_HANDLE, zf_stream_pop(stream, (zf_results){0})); /* the batch stays the oldest */
    EXPECT(ZF_OK, zf_stream_pop(stream, results));
    EXPECT_TRUE(columns_of(results).rois == input.rois);
    EXPECT(ZF_OK, zf_stream_pop(stream, results));
    EXPECT_TRUE(columns_of(results).rois == 1);
  }
  EXPECT(ZF_EMPTY, zf_stream_pop(stream, results));
  EXPECT_TRUE(columns_of(results).rois == 0);
  EXPECT(ZF_OK, zf_stream_push(stream, &batch));
  EXPECT(ZF_OK, zf_stream_destroy(stream));
  EXPECT(ZF_OK, zf_results_destroy(results));
}

/* Submissions that were answered. */
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int answered;
} Answers;

typedef struct {
  Answers *answers;
  zf_results results;
  zf_code code;
  char text[200];
} Submission;

static void on_answer(zf_code code, void *user) {
  Submission *submission = user;
  Answers *answers = submission->answers;
  submission->code = code;
  if (code != ZF_OK) {
    strncpy(submission->text, zf_last_error(), sizeof submission->text - 1);
  }
  pthread_mutex_lock(&answers->mutex);
  answers->answered++;
  pthread_cond_signal(&answers->changed);
  pthread_mutex_unlock(&answers->mutex);
}

static void wait_for(Answers *answers, int wanted) {
  pthread_mutex_lock(&answers->mutex);
  while (answers->answered < wanted) {
    pthread_cond_wait(&answers->changed, &answers->mutex);
  }
  pthread_mutex_unlock(&answers->mutex);
}

/* Every RoI as a submission, all at once, twice, and each has the answer of the batch. */
static void submissions(const char *engine) {
  enum { COPIES = 2 };
  static Submission all[COPIES * MOST_ROIS];
  Answers answers = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
  const zf_finder finder = create("default", engine, 0);
  const zf_batch batch = table_batch();
  const zf_results results = new_results();
  const size_t count = COPIES * input.rois;
  EXPECT(ZF_OK, zf_find(finder, &batch, results));
  const zf_columns wanted = columns_of(results);
  for (size_t i = 0; i < count; i++) {
    const size_t roi = i % input.rois, first = (size_t)input.offsets[roi];
    zf_batch one = table_batch();
    const zf_roi description = input.roi[roi]; /* copied by the call */
    one.rho_or_x = input.x + first;
    one.phi_or_y = input.y + first;
    one.z = input.z + first;
    one.layer = input.layer + first;
    one.spacepoints = (size_t)input.offsets[roi + 1] - first;
    one.rois = 1;
    one.offsets = NULL;
    one.roi = &description;
    all[i] = (Submission){&answers, new_results(), ZF_OTHER, ""};
    EXPECT(ZF_OK, zf_submit(finder, &one, all[i].results, on_answer, &all[i]));
  }
  EXPECT(ZF_OK, zf_destroy(finder)); /* submissions go on */
  wait_for(&answers, (int)count);
  for (size_t i = 0; i < count; i++) {
    const size_t roi = i % input.rois, first = wanted.offsets[roi];
    EXPECT(ZF_OK, all[i].code);
    const zf_columns found = columns_of(all[i].results);
    EXPECT_TRUE(found.rois == 1 && found.event_id[0] == wanted.event_id[roi]);
    EXPECT_TRUE(found.vertices == wanted.offsets[roi + 1] - first);
    EXPECT_TRUE(memcmp(found.z_mm, wanted.z_mm + first, found.vertices * sizeof(double)) == 0);
    EXPECT(ZF_OK, zf_results_destroy(all[i].results));
  }
  EXPECT(ZF_OK, zf_results_destroy(results));
}

static void bad_submissions(zf_finder finder) {
  Answers answers = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
  Submission submission = {&answers, new_results(), ZF_OTHER, ""};
  zf_batch batch = table_batch();
  EXPECT(ZF_NULL, zf_submit(finder, NULL, submission.results, on_answer, &submission));
  EXPECT(ZF_NULL, zf_submit(finder, &batch, submission.results, NULL, &submission));
  EXPECT(ZF_BAD_HANDLE, zf_submit((zf_finder){0}, &batch, submission.results, on_answer, &submission));
  EXPECT(ZF_BAD_HANDLE, zf_submit(finder, &batch, (zf_results){0}, on_answer, &submission));
  batch.z = NULL;
  EXPECT(ZF_NULL, zf_submit(finder, &batch, submission.results, on_answer, &submission));
  /* What a search alone finds comes with the callback. */
  uint64_t offsets[MOST_ROIS + 1];
  memcpy(offsets, input.offsets, sizeof offsets);
  offsets[1] = offsets[2] + 1;
  batch = table_batch();
  batch.offsets = offsets;
  EXPECT_TRUE(answers.answered == 0);
  EXPECT(ZF_OK, zf_submit(finder, &batch, submission.results, on_answer, &submission));
  wait_for(&answers, 1);
  EXPECT_TRUE(submission.code == ZF_COLUMNS && strstr(submission.text, "offset") != NULL);
  EXPECT_TRUE(columns_of(submission.results).rois == 0);
  EXPECT(ZF_OK, zf_results_destroy(submission.results));
}

/* Finds one RoI after the other, until the finder is destroyed. */
static void *find_until_destroyed(void *argument) {
  const zf_finder finder = *(const zf_finder *)argument;
  const zf_results results = new_results();
  zf_batch batch = table_batch();
  batch.rois = 1;
  batch.spacepoints = (size_t)input.offsets[1];
  for (;;) {
    const zf_code code = zf_find(finder, &batch, results);
    if (code == ZF_BAD_HANDLE) {
      EXPECT(ZF_OK, zf_results_destroy(results));
      return NULL;
    }
    EXPECT(ZF_OK, code);
    EXPECT_TRUE(columns_of(results).event_id[0] == input.roi[0].event_id);
  }
}

/* Pops until the stream is destroyed. */
static void *pop_until_destroyed(void *argument) {
  const zf_stream stream = *(const zf_stream *)argument;
  const zf_results results = new_results();
  for (;;) {
    const zf_code code = zf_stream_pop(stream, results);
    if (code == ZF_BAD_HANDLE) {
      EXPECT(ZF_OK, zf_results_destroy(results));
      return NULL;
    }
    EXPECT_TRUE(code == ZF_OK || code == ZF_EMPTY);
  }
}

static void threads(void) {
  const zf_batch batch = table_batch();
  zf_finder finder = create(NULL, "cpu", 1);
  const zf_results results = new_results();
  pthread_t thread[4];
  zf_stream stream;
  for (int i = 0; i < 3; i++) {
    EXPECT_TRUE(pthread_create(&thread[i], NULL, find_until_destroyed, &finder) == 0);
  }
  EXPECT(ZF_OK, zf_stream_create(finder, 2, &stream));
  EXPECT_TRUE(pthread_create(&thread[3], NULL, pop_until_destroyed, &stream) == 0);
  for (int i = 0; i < 20; i++) {
    EXPECT(ZF_OK, zf_find(finder, &batch, results));
    const zf_code code = zf_stream_push(stream, &batch);
    EXPECT_TRUE(code == ZF_OK || code == ZF_FULL);
  }
  EXPECT(ZF_OK, zf_destroy(finder));
  EXPECT(ZF_OK, zf_stream_destroy(stream));
  for (int i = 0; i < 4; i++) {
    pthread_join(thread[i], NULL);
  }
  EXPECT(ZF_OK, zf_results_destroy(results));
}

#ifdef COUNT_ALLOCATIONS
static void searches_take_no_memory(void) {
  const zf_finder finder = create("peaks = 2", "cpu", 1);
  const zf_results results = new_results();
  zf_batch batch = table_batch();
  EXPECT_TRUE(allocations > 0);
  for (int i = 0; i < 3; i++) {
    EXPECT(ZF_OK, zf_find(finder, &batch, results));
  }
  size_t before = allocations;
  for (int i = 0; i < 100; i++) {
    EXPECT(ZF_OK, zf_find(finder, &batch, results));
  }
  EXPECT_TRUE(allocations == before);
  /* Members of structures. */
  batch.coordinate_stride = sizeof(double);
  for (int i = 0; i < 3; i++) {
    EXPECT(ZF_OK, zf_find(finder, &batch, results));
  }
  before = allocations;
  for (int i = 0; i < 100; i++) {
    EXPECT(ZF_OK, zf_find(finder, &batch, results));
  }
  EXPECT_TRUE(allocations == before);
  EXPECT(ZF_OK, zf_results_destroy(results));
  EXPECT(ZF_OK, zf_destroy(finder));
}
#endif

int main(int count, char **words) {
  EXPECT_TRUE(zf_abi_version() == ZF_ABI_VERSION);
  if (count > 4 && strcmp(words[1], "find") == 0) {
    const zf_finder finder = create(words[2], words[3], 0);
    const zf_results results = new_results();
    read_table(words[4], count > 5 ? words[5] : NULL);
    const zf_batch batch = table_batch();
    EXPECT(ZF_OK, zf_find(finder, &batch, results));
    const zf_columns columns = columns_of(results);
    print_results(&columns);
    EXPECT(ZF_OK, zf_results_destroy(results));
    EXPECT(ZF_OK, zf_destroy(finder));
    return 0;
  }
  if (count == 2 && strcmp(words[1], "adapters") == 0) {
    static char text[1 << 16];
    EXPECT(ZF_OK, zf_adapters(text, sizeof text, NULL));
    fputs(text, stdout);
    return 0;
  }
  if (count == 4 && strcmp(words[1], "submit") == 0) {
    read_table(words[3], NULL);
    submissions(words[2]);
    puts("submit: ok");
    return 0;
  }
#ifdef COUNT_ALLOCATIONS
  if (count == 3 && strcmp(words[1], "allocations") == 0) {
    read_table(words[2], NULL);
    searches_take_no_memory();
    puts("allocations: ok");
    return 0;
  }
#endif
  if (count == 3 && strcmp(words[1], "misuse") == 0) {
    read_table(words[2], NULL);
    const zf_finder finder = create("peaks = 2", "cpu", 0);
    static char keys[1 << 14];
    EXPECT(ZF_OK, zf_keys(keys, sizeof keys, NULL));
    EXPECT_TRUE(strstr(keys, "\ntriplet_dz_mm\t0 to 1000000 mm\tLargest difference") != NULL);
    bad_options();
    bad_handles(finder);
    bad_batches(finder);
    bad_results(finder);
    strides();
    newer_structures(finder);
    objects(finder);
    layers(finder);
    positions();
    logs();
    memory_is_reused();
    statuses_have_names();
    configurations_start_from_auto();
    wrong_units();
    streams(finder);
    submissions("cpu");
    bad_submissions(finder);
    threads();
    EXPECT(ZF_OK, zf_destroy(finder));
    puts("misuse: ok");
    return 0;
  }
  fprintf(stderr, "usage: c_test find CONFIG ENGINE SPACEPOINTS [ROIS] | submit ENGINE SPACEPOINTS | misuse SPACEPOINTS | adapters\n");
  return 2;
}
