/* Loads the library as a plug-in, beside threads of the program: `dlopen_test LIBRARY`. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "zfinder.h"

enum { THREADS = 4, SEARCHES = 50 };

static zf_code (*find)(zf_finder, const zf_batch *, zf_results);
static zf_code (*results_create)(zf_results *);
static zf_code (*results_columns)(zf_results, zf_columns *);
static zf_code (*results_destroy)(zf_results);
static zf_finder finder;

static void require(int is_true, const char *what) {
  if (!is_true) {
    const char *error = dlerror();
    fprintf(stderr, "dlopen_test: %s: %s\n", what, error ? error : "");
    exit(1);
  }
}

static void *search(void *unused) {
  const float x[] = {50.5f, 88.5f, 122.5f}, y[] = {0, 0, 0}, z[] = {37.25f, 56.25f, 73.25f};
  const uint8_t layer[] = {0, 1, 2};
  zf_batch batch = zf_batch_init();
  batch.flags = ZF_CARTESIAN | ZF_FLOAT | ZF_LAYER_U8;
  batch.rho_or_x = x;
  batch.phi_or_y = y;
  batch.z = z;
  batch.layer = layer;
  batch.spacepoints = 3;
  batch.rois = 1;
  zf_results results;
  require(results_create(&results) == ZF_OK, "zf_results_create");
  for (int i = 0; i < SEARCHES; i++) {
    zf_columns columns = zf_columns_init();
    require(find(finder, &batch, results) == ZF_OK, "zf_find");
    require(results_columns(results, &columns) == ZF_OK && columns.vertices == 1, "one vertex");
    require(columns.z_mm[0] > 11.9 && columns.z_mm[0] < 12.1, "z = 12 mm");
  }
  require(results_destroy(results) == ZF_OK, "zf_results_destroy");
  return unused;
}

int main(int count, char **words) {
  require(count == 2, "usage: dlopen_test LIBRARY");
  for (int again = 0; again < 3; again++) {
    zf_code (*create)(const zf_options *, zf_finder *);
    zf_code (*destroy)(zf_finder);
    zf_options options = zf_options_init();
    options.detector = "generic";
    pthread_t threads[THREADS];
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    require(library != NULL, words[1]);
    /* POSIX wants this form of assignment. */
    *(void **)&create = dlsym(library, "zf_create");
    *(void **)&destroy = dlsym(library, "zf_destroy");
    *(void **)&find = dlsym(library, "zf_find");
    *(void **)&results_create = dlsym(library, "zf_results_create");
    *(void **)&results_columns = dlsym(library, "zf_results_columns");
    *(void **)&results_destroy = dlsym(library, "zf_results_destroy");
    require(create && destroy && find && results_create && results_columns && results_destroy, "symbols");
    options.config = "default";
    options.engine = "cpu";
    options.threads = again == 0; /* on the calling thread first, then on the thread pool */
    require(create(&options, &finder) == ZF_OK, "zf_create");
    for (int i = 0; i < THREADS; i++) {
      require(pthread_create(&threads[i], NULL, search, NULL) == 0, "pthread_create");
    }
    for (int i = 0; i < THREADS; i++) {
      pthread_join(threads[i], NULL);
    }
    require(destroy(finder) == ZF_OK, "zf_destroy");
    require(dlclose(library) == 0, "dlclose");
  }
  return 0;
}
