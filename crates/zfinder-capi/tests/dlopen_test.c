/* Loads the library as a plug-in, beside threads of the program: `dlopen_test LIBRARY`. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "zfinder.h"

enum { THREADS = 4, SEARCHES = 50 };

static zf_code (*find)(zf_finder, const zf_batch *, zf_answers *);
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
  for (int i = 0; i < SEARCHES; i++) {
    zf_result result;
    zf_vertex vertex[16];
    zf_answers answers = zf_answers_init();
    answers.result_buffer = &result;
    answers.result_room = 1;
    answers.vertex_buffer = vertex;
    answers.vertex_room = 16;
    require(find(finder, &batch, &answers) == ZF_OK && answers.vertices == 1, "one vertex");
    require(vertex[0].z_mm > 11.9 && vertex[0].z_mm < 12.1, "z = 12 mm");
  }
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
    require(create && destroy && find, "symbols");
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
