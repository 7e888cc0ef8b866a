/* Rows written down by hand for the tests of metrics, scaling and diagnosis. */
#ifndef ATTNBENCH_TESTS_UNIT_ROWS_H
#define ATTNBENCH_TESTS_UNIT_ROWS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/analyse/diagnose.h"
#include "kernels/gpu_models.h"
#include "tests/unit_near.h"

/* What a test says about a row with one pass; everything left out is 0, and a time of 0 is not measured. */
struct row_spec {
  const char *variant;
  uint32_t B, H, S, D;
  enum attn_math math;
  uint32_t grid[3];
  uint32_t threads;
  unsigned covers[3];
  uint32_t row_threads, producer_threads, smem_bytes, registers, local_bytes, resident_blocks;
  double cold_us, hot_us;
};

static inline void rows_set_time(struct time_record *t, double us, double clock_mhz) {
  *t = (struct time_record){.done = us > 0, .us.n = 30, .us.median = us, .sm_clock_mhz = clock_mhz};
}

static inline struct record rows_record(const struct row_spec *spec) {
  struct record r = {.math = spec->math, .status = CELL_planned};
  r.attn_case.shape =
      (struct attn_problem)ATTN_DENSE(spec->B, spec->H, spec->H, spec->S, spec->S, spec->D, ATTN_F16, false);
  axes_key(&r.attn_case.shape, r.attn_case.key);
  snprintf(r.variant, sizeof r.variant, "%s", spec->variant ? spec->variant : "some");
  r.plan.pass_count = 1;
  r.plan.tile_q = r.plan.tile_kv = 64;
  r.plan.splits = r.plan.stages = 1;
  struct pass_record *p = &r.pass[0];
  snprintf(p->name, sizeof p->name, "main");
  p->cold_us = NAN;
  p->pass.row_threads = spec->row_threads;
  p->pass.producer_threads = spec->producer_threads;
  p->pass.dynamic_smem_bytes = spec->smem_bytes;
  for (int axis = 0; axis < 3; axis++) {
    p->pass.grid[axis] = spec->grid[axis] > 0 ? spec->grid[axis] : 1;
    p->pass.block[axis] = axis == 0 && spec->threads > 0 ? spec->threads : 1;
    p->pass.cluster[axis] = 1;
    p->pass.covers[axis] = spec->covers[axis];
  }
  p->facts = (struct pass_facts){
      .registers = spec->registers, .local_bytes = spec->local_bytes, .resident_blocks = spec->resident_blocks};
  rows_set_time(&r.time[TIME_COLD], spec->cold_us, NAN);
  rows_set_time(&r.time[TIME_HOT], spec->hot_us, NAN);
  if (spec->cold_us > 0 || spec->hot_us > 0) r.status = CELL_ok;
  return r;
}

enum { ROWS_MAX = 8 };

/* A small report: records with everything derived from them. Too large for a stack frame per test, so static. */
struct rows {
  struct record record[ROWS_MAX];
  struct metrics metrics[ROWS_MAX];
  struct scaling scaling[ROWS_MAX];
  struct findings findings[ROWS_MAX];
  size_t count;
};

static inline void rows_derive(struct rows *rows, const char *gpu, const struct sweep_baseline *baseline) {
  const struct device_info *device = &gpu_model_find(gpu)->info;
  for (size_t i = 0; i < rows->count; i++) metrics_of(&rows->record[i], device, &rows->metrics[i]);
  const struct status status = scaling_of(rows->record, rows->metrics, rows->count, baseline, rows->scaling);
  assert_int_equal(status.code, STATUS_OK);
  for (size_t i = 0; i < rows->count; i++)
    diagnose(rows->record, rows->metrics, rows->scaling, rows->count, i, device, NULL, &rows->findings[i]);
}

static inline void rows_build(struct rows *rows, const struct row_spec *specs, size_t count, const char *gpu,
                              const struct sweep_baseline *baseline) {
  memset(rows, 0, sizeof *rows);
  rows->count = count;
  for (size_t i = 0; i < count; i++) rows->record[i] = rows_record(&specs[i]);
  rows_derive(rows, gpu, baseline);
}

/* The finding of a row; NULL: there is none. */
static inline const struct finding *rows_finding(const struct rows *rows, size_t row, enum finding_id id) {
  for (size_t i = 0; i < rows->findings[row].count; i++)
    if (rows->findings[row].item[i].id == id) return &rows->findings[row].item[i];
  return NULL;
}

/* Is it made, and do its fact and its advice contain this? */
static inline void assert_finding_says(const struct finding *f, const char *part) {
  if (f == NULL)
    fail_msg("no finding that says \"%s\"", part);
  else if (strstr(f->measured, part) == NULL && strstr(f->advice, part) == NULL)
    fail_msg("\"%s: %s\" does not contain \"%s\"", f->measured, f->advice, part);
}

#define ROWS_COUNT(array) (sizeof(array) / sizeof(array)[0])
#endif
