/* Prepares every cell in one process and launches all of them in one span for a profiler. */
#include "cli/measure/profile.h"
#include "cli/base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/measure/check.h"
#include "cli/measure/measure.h"

/* Registered once; filters of tools name it. */
static const char span_name[] = "profile";

struct prepared {
  struct bench *bench;
  char range[AXIS_KEY_MAX + VARIANT_SPEC_MAX];
};

struct profile {
  struct device *device;
  struct prepared *cells; /* that will be launched, in order */
  size_t count, room;
};

void profile_close(struct profile *profile) {
  if (profile == NULL) return;
  for (size_t i = 0; i < profile->count; ++i) bench_close(profile->cells[i].bench);
  free(profile->cells);
  free(profile);
}

static void close_unfinished(struct profile **profile) { profile_close(*profile); }

struct status profile_open(struct device *device, size_t room, struct profile **out) {
  OWNED(close_unfinished) struct profile *profile = NULL;
  TRY(owned_array(&profile, 1, sizeof *profile, "profile"));
  TRY(owned_array(&profile->cells, room, sizeof *profile->cells, "cells of a profile"));
  profile->device = device;
  profile->room = room;
  *out = profile;
  profile = NULL;
  return status_ok();
}

bool profile_fits(const struct device *device, const struct cells *cells, uint64_t *need, uint64_t *have) {
  bool countable = true;
  *need = 0;
  *have = device_memory_free(device);
  for (size_t i = 0; i < cells->count && countable; ++i) {
    const struct cell *cell = &cells->items[i];
    struct record record;
    plan_record(cell->attn_case, &cell->spec, device_info(device), &record);
    if (record.status != CELL_planned) continue;
    const uint64_t bytes = bench_bytes(&cell->attn_case->shape, record.plan.workspace_bytes);
    countable = bytes != 0 && !__builtin_add_overflow(*need, bytes, need);
  }
  if (!countable) *need = UINT64_MAX;
  return *need <= *have;
}

/* ---- one cell ------------------------------------------------------------------------------------------------ */

/* What a profiler captures of a vendor's cell can only be mapped back when its launches are known. */
static struct status require_launches(const struct profile *profile, const struct record *record) {
  if (device_info(profile->device)->kind == DEVICE_CPU || record->plan.pass_count > 0) return status_ok();
  return status_make(STATUS_INTERNAL,
                     "its library's launches cannot be read, so captured kernels could not be told apart");
}

static struct status open_and_check(struct profile *profile, const struct variant_spec *spec, uint64_t seed,
                                    struct record *record) {
  struct bench **bench = &profile->cells[profile->count].bench;
  const struct attn_problem *shape = &record->attn_case.shape;
  struct oracle_result oracle;
  TRY(bench_open(profile->device, shape, seed, bench));
  TRY(bench_reference(*bench, &oracle));
  TRY(bind_cell(profile->device, *bench, spec, record));
  TRY(require_launches(profile, record));
  TRY(check_output(*bench, &record->check));
  record->check.oracle = oracle;
  check_settle(record, device_info(profile->device));
  return status_ok();
}

struct status profile_prepare(struct profile *profile, const struct cell *cell, uint64_t seed, struct record *out) {
  const struct variant_spec *spec = &cell->spec;
  const double start_s = clock_now_s();
  plan_record(cell->attn_case, spec, device_info(profile->device), out);
  if (out->status != CELL_planned || bind_library_missing(spec, out)) return status_ok();
  if (profile->count == profile->room) return status_make(STATUS_INTERNAL, "a profile of too many cells");
  struct status status = open_and_check(profile, spec, seed, out);
  status = bind_settle(&status, out);
  if (out->status == CELL_ok) {
    struct prepared *ready = &profile->cells[profile->count++];
    snprintf(ready->range, sizeof ready->range, "%s.%s", out->attn_case.key, out->variant);
    measure_range_name(ready->range);
  } else {
    bench_close(profile->cells[profile->count].bench);
    profile->cells[profile->count].bench = NULL;
  }
  out->gpu_s = out->wall_s = clock_now_s() - start_s;
  return status.code == STATUS_DEVICE ? status : status_ok();
}

/* ---- launching ----------------------------------------------------------------------------------------------- */

static struct status launch_all(struct profile *profile, uint32_t launches) {
  for (size_t i = 0; i < profile->count; ++i) {
    MEASURE_RANGE(profile->device, profile->cells[i].range);
    for (uint32_t n = 0; n < launches; ++n) TRY(bench_launch(profile->cells[i].bench));
  }
  return status_ok();
}

struct status profile_warm_up(struct profile *profile) {
  return launch_all(profile, 1);
}

static struct status launch_in_span(struct profile *profile, uint32_t launches) {
  MEASURE_RANGE(profile->device, span_name);
  const struct status status = launch_all(profile, launches);
  /* nsys ends its program with SIGTERM when the span closes; all that is left to do is to end well. */
  signal(SIGTERM, SIG_IGN);
  return status;
}

struct status profile_capture(struct profile *profile, uint32_t launches) {
  TRY(device_profile_start(profile->device));
  const struct status status = launch_in_span(profile, launches), stopped = device_profile_stop(profile->device);
  return status_failed(&status) ? status : stopped;
}
