/* Orders cells, and predicts how long they take. */
#include "cli/command/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/problem/work.h"

/* ---- order --------------------------------------------------------------------------------------------------- */

const char *schedule_order_name(const struct options *o) {
  if (o->order == NULL) return o->time_budget.text != NULL ? "shortest" : "";
  return strcmp(o->order, "sweep") == 0 ? "" : o->order;
}

struct ordered {
  struct cell cell;
  size_t at;
  double flops;
  char hash[HASH_TEXT_MAX];
};

static int by_place(const struct ordered *left, const struct ordered *right) {
  return (left->at > right->at) - (left->at < right->at);
}

static int by_hash(const void *a, const void *b) {
  const struct ordered *left = a, *right = b;
  const int order = strcmp(left->hash, right->hash);
  return order != 0 ? order : by_place(left, right);
}

static int by_work(const void *a, const void *b) {
  const struct ordered *left = a, *right = b;
  const int order = (left->flops > right->flops) - (left->flops < right->flops);
  return order != 0 ? order : by_place(left, right);
}

/* The same seed orders the same cells in the same way. */
static void hash_cell(const struct cell *cell, uint64_t seed, char out[HASH_TEXT_MAX]) {
  char text[CELL_NAME_MAX + 24], name[CELL_NAME_MAX];
  cell_name(cell->attn_case->key, cell->spec.text, name);
  const int length = snprintf(text, sizeof text, "%" PRIu64 " %s", seed, name);
  hash_bytes(text, (size_t)length, out);
}

struct status schedule_order(const struct options *o, struct cells *cells) {
  const char *name = schedule_order_name(o);
  if (name[0] == '\0') return status_ok();
  OWNED_ARRAY(struct ordered, ordered, cells->count, "cells");
  for (size_t i = 0; i < cells->count; ++i) {
    const struct cell *cell = &cells->items[i];
    ordered[i] = (struct ordered){.cell = *cell, .at = i, .flops = work_flops(&cell->attn_case->shape)};
    hash_cell(cell, o->seed.value, ordered[i].hash);
  }
  qsort(ordered, cells->count, sizeof *ordered, strcmp(name, "seeded") == 0 ? by_hash : by_work);
  for (size_t i = 0; i < cells->count; ++i) cells->items[i] = ordered[i].cell;
  return status_ok();
}

/* ---- time ---------------------------------------------------------------------------------------------------- */

static const struct schedule_variant *find(const struct schedule *schedule, const char *name) {
  for (size_t i = 0; i < schedule->variant_count; ++i) {
    if (strcmp(schedule->variant[i].name, name) == 0) return &schedule->variant[i];
  }
  return NULL;
}

static double launch_us_of(const struct record *record) {
  double us = 0;
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) us = fmax(us, record->time[mode].us.median);
  return us;
}

void schedule_learn(struct schedule *schedule, const struct cell *cell, double wall_s, const struct record *record) {
  const struct schedule_variant *found = find(schedule, cell->spec.text);
  const size_t at = found != NULL ? (size_t)(found - schedule->variant) : schedule->variant_count;
  schedule->sum_s += wall_s;
  schedule->longest_s = fmax(schedule->longest_s, wall_s);
  if (at == SWEEP_VARIANTS_MAX) return;
  schedule->variant_count += found == NULL;
  schedule->variant[at] = (struct schedule_variant){
      .name = cell->spec.text,
      .flops = work_flops(&cell->attn_case->shape),
      .wall_s = wall_s,
      .launch_us = launch_us_of(record),
  };
}

double schedule_predict(const struct schedule *schedule, const struct cell *cell) {
  const struct schedule_variant *last = find(schedule, cell->spec.text);
  if (last == NULL) return schedule->longest_s;
  /* Launches of a cell at least: checks, warming up, and the fewest samples of each mode. */
  static const double launches = 100;
  const double more = fmax(work_flops(&cell->attn_case->shape) / last->flops - 1, 0), longer_s = more * last->wall_s;
  if (!(last->launch_us > 0)) return last->wall_s + longer_s;
  return last->wall_s + fmin(longer_s, more * launches * 1e-6 * last->launch_us);
}

bool schedule_has_room(const struct schedule *schedule, const struct cell *cell, uint64_t rounds, double left_s) {
  const double cell_s = schedule_predict(schedule, cell);
  return cell_s + (double)(rounds - 1) * (schedule->sum_s + cell_s) <= left_s;
}

void schedule_leave_out(const struct schedule *schedule, const struct options *o, const struct cell *cell,
                        struct record *record) {
  plan_outcome(
      record, CELL_left_out,
      "--time-budget %s has no room for its %.3g s or so; the same command with --journal and --resume measures it",
      o->time_budget.text, schedule_predict(schedule, cell));
}
