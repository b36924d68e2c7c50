/* Reads the columns event_id, roi_id, x, y, z, layer of a CSV file, and windows of RoIs, and prints results. C and C++. */
#ifndef TABLE_H
#define TABLE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "zfinder.h"

enum { MOST_SPACEPOINTS = 200000, MOST_ROIS = 1000 };

typedef struct table {
  double x[MOST_SPACEPOINTS], y[MOST_SPACEPOINTS], z[MOST_SPACEPOINTS];
  uint32_t layer[MOST_SPACEPOINTS];
  size_t spacepoints, rois;
  uint64_t offsets[MOST_ROIS + 1];
  zf_roi roi[MOST_ROIS];
} table;

static table input;

static FILE *open_or_exit(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) {
    perror(path);
    exit(2);
  }
  return file;
}

/* Rows of an RoI lie one after the other. `rois` is NULL or a file event_id, roi_id, phi_min, phi_max. */
static void read_table(const char *spacepoints, const char *rois) {
  char line[256];
  unsigned long long event, roi;
  unsigned layer;
  double a, b, c;
  FILE *file = open_or_exit(spacepoints);
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "%llu,%llu,%lf,%lf,%lf,%u", &event, &roi, &a, &b, &c, &layer) != 6) {
      continue; /* the header */
    }
    if (input.rois == 0 || input.roi[input.rois - 1].event_id != event || input.roi[input.rois - 1].roi_id != roi) {
      input.roi[input.rois].event_id = event;
      input.roi[input.rois].roi_id = roi;
      input.rois++;
    }
    input.x[input.spacepoints] = a;
    input.y[input.spacepoints] = b;
    input.z[input.spacepoints] = c;
    input.layer[input.spacepoints] = layer;
    input.spacepoints++;
    input.offsets[input.rois] = input.spacepoints;
  }
  fclose(file);
  if (!rois) {
    return;
  }
  file = open_or_exit(rois);
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "%llu,%llu,%lf,%lf", &event, &roi, &a, &b) != 4) {
      continue;
    }
    for (size_t i = 0; i < input.rois; i++) {
      if (input.roi[i].event_id == event && input.roi[i].roi_id == roi) {
        input.roi[i].window = ZF_WINDOW_RANGE;
        input.roi[i].phi_min = a;
        input.roi[i].phi_max = b;
      }
    }
  }
  fclose(file);
}

static zf_batch table_batch(void) {
  zf_batch batch = zf_batch_init();
  batch.flags = ZF_CARTESIAN;
  batch.rho_or_x = input.x;
  batch.phi_or_y = input.y;
  batch.z = input.z;
  batch.layer = input.layer;
  batch.spacepoints = input.spacepoints;
  batch.rois = input.rois;
  batch.offsets = input.offsets;
  batch.roi = input.roi;
  return batch;
}

static void print_number(const char *name, double number) {
  if (isnan(number)) {
    printf(",\"%s\":null", name);
  } else {
    printf(",\"%s\":%.17g", name, number);
  }
}

static void print_tracklets(const zf_tracklet *first, const zf_tracklet *end) {
  static const char *const of_z[] = {"cov_z0_z0", "cov_z0_cot", "cov_cot_cot"};
  static const char *const of_bend[] = {"cov_phi0_phi0",           "cov_phi0_curvature", "cov_phi0_d0",
                                        "cov_curvature_curvature", "cov_curvature_d0",   "cov_d0_d0"};
  printf(",\"tracklets\":[");
  for (const zf_tracklet *t = first; t < end; t++) {
    printf("%s{\"vertex\":", t > first ? "," : "");
    if (t->vertex < 0) {
      printf("null");
    } else {
      printf("%d", (int)t->vertex);
    }
    printf(",\"hits\":[");
    for (uint32_t i = 0; i < t->hit_count; i++) {
      printf("%s%lu", i > 0 ? "," : "", (unsigned long)t->hits[i]);
    }
    printf("]");
    print_number("z0_mm", t->z0_mm);
    print_number("cot_theta", t->cot_theta);
    print_number("phi0", t->phi0);
    print_number("curvature", t->curvature);
    print_number("d0_mm", t->d0_mm);
    print_number("pt_gev", t->pt_gev);
    print_number("chi2", t->chi2);
    for (size_t i = 0; i < 3; i++) {
      print_number(of_z[i], t->z_covariance[i]);
    }
    for (size_t i = 0; i < 6; i++) {
      print_number(of_bend[i], t->bend_covariance[i]);
    }
    printf("}");
  }
  printf("]");
}

/* Prints a line of JSON for each RoI, as the command does. */
static void print_results(const zf_columns *c) {
  for (size_t i = 0; i < c->rois; i++) {
    printf("{\"event_id\":%llu,\"roi_id\":%llu,\"status\":\"%s\",\"spacepoints\":%llu,\"outside_window\":%llu,",
           (unsigned long long)c->event_id[i], (unsigned long long)c->roi_id[i], zf_status_name(c->status[i]),
           (unsigned long long)c->spacepoints[i], (unsigned long long)c->outside_window[i]);
    printf("\"fallback\":%s,\"vertices\":[", c->fallback[i] ? "true" : "false");
    for (size_t j = c->offsets[i]; j < c->offsets[i + 1]; j++) {
      printf("%s{\"pairs\":%llu", j > c->offsets[i] ? "," : "", (unsigned long long)c->pairs[j]);
      print_number("z_mm", c->z_mm[j]);
      print_number("z_error_mm", c->z_error_mm[j]);
      print_number("weight", c->weight[j]);
      print_number("rank", c->rank[j]);
      print_number("significance", c->significance[j]);
      print_number("background", c->background[j]);
      if (!isnan(c->x_mm[j])) {
        static const char *const names[] = {"cov_xx_mm2", "cov_xy_mm2", "cov_xz_mm2",
                                            "cov_yy_mm2", "cov_yz_mm2", "cov_zz_mm2"};
        printf(",\"tracklet_count\":%llu", (unsigned long long)c->tracklet_count[j]);
        print_number("x_mm", c->x_mm[j]);
        print_number("y_mm", c->y_mm[j]);
        print_number("sum_pt2_gev2", c->sum_pt2_gev2[j]);
        for (size_t k = 0; k < 6; k++) {
          print_number(names[k], c->covariance_mm2[6 * j + k]);
        }
      }
      printf("}");
    }
    printf("]");
    if (c->tracklet_offsets[i] < c->tracklet_offsets[i + 1]) {
      print_tracklets(c->tracklet + c->tracklet_offsets[i], c->tracklet + c->tracklet_offsets[i + 1]);
    }
    printf("}\n");
  }
}

#endif
