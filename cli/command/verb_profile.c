/* run --profile: launches for a profiler, in one process and without times. */
#include <inttypes.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/units.h"
#include "cli/command/run.h"
#include "cli/measure/profile.h"

/* One process does it all: a profiler follows the process that it started, and every cell's tensors live until the
 * launches. */
struct profiling {
  const struct options *options;
  struct sweep sweep;
  struct cells cells;
  struct device *device;
  struct profile *profile;
  struct journal *journal;
  struct journal_file file;
  double start_s;
};

static struct status open_gpu(struct profiling *p) {
  const char *spec = strcmp(p->options->device, "auto") == 0 ? "cuda" : p->options->device;
  if (strcmp(spec, "cpu") == 0)
    return status_make(STATUS_USAGE,
                       "--profile: nsys and ncu capture GPU kernels, --device cpu launches none; leave one out");
  return device_open(spec, &p->device);
}

static struct status select_cells(struct profiling *p) {
  const struct options *o = p->options;
  const struct device_info *device = device_info(p->device);
  uint64_t need = 0, have = 0;
  TRY(cells_select(&p->sweep, o->variants, o->filter.item, o->filter.count, device->kind, device, &p->cells));
  if (profile_fits(p->device, &p->cells, &need, &have)) return status_ok();
  return status_make(STATUS_USAGE,
                     "--profile: the %zu selected cells need %s at the same time, %s are free on %s; select fewer "
                     "with --filter or --variants",
                     p->cells.count, units_bytes((double)need).text, units_bytes((double)have).text, device->name);
}

static struct status open_journal(struct profiling *p, const struct invocation *invocation) {
  struct run_info info;
  describe_run(p->options, invocation, &p->sweep, p->cells.count, &info);
  profiled_tool(info.profiled);
  info.profile_launches = (uint32_t)p->options->profile.value;
  p->file = journal_file_choose(p->options);
  TRY(journal_create(p->file.path, &info, &p->journal));
  struct device_line line = {.info = *device_info(p->device),
                             .event_overhead_us = device_event_overhead_us(p->device)};
  device_policy_read(p->device, &line.policy);
  return journal_device(p->journal, &line);
}

static struct status prepare_cells(struct profiling *p) {
  struct progress progress = progress_start(p->cells.count, p->options->quiet);
  struct status status = profile_open(p->device, p->cells.count, &p->profile);
  for (size_t i = 0; i < p->cells.count && !status_failed(&status); ++i) {
    struct record record;
    progress_cell(&progress, p->cells.items[i].attn_case->key, p->cells.items[i].spec.text);
    status = profile_prepare(p->profile, &p->cells.items[i], p->options->seed.value, &record);
    const struct status written = journal_append(p->journal, &record);
    if (!status_failed(&status)) status = written;
  }
  progress_end(&progress);
  return status_failed(&status) ? status : profile_warm_up(p->profile);
}

/* Of what is in the journal, complete or not. */
static struct status report_journal(const struct profiling *p, struct outcome *outcome) {
  OWNED(journal_free) struct journal_data data = {.records = NULL};
  TRY(journal_read_back(p->journal, &data));
  return outputs_write(p->options, &data, outcome);
}

/* Everything is on disk before the launches: a tool may end the process right after them. */
static struct status write_reports(struct profiling *p, bool complete, struct outcome *outcome) {
  struct status status = journal_end(p->journal, complete ? "complete" : "interrupted", clock_now_s() - p->start_s);
  if (!status_failed(&status)) status = report_journal(p, outcome);
  journal_file_close(&p->file, p->journal);
  p->journal = NULL;
  journal_file_drop(&p->file, &status, false);
  return status;
}

static void close_all(struct profiling *p) {
  journal_close(p->journal);
  profile_close(p->profile);
  cells_free(&p->cells);
  sweep_free(&p->sweep);
  device_close(p->device);
}

struct status verb_profile(const struct options *options, const struct invocation *invocation,
                           struct outcome *outcome) {
  OWNED(close_all) struct profiling p = {.options = options, .start_s = clock_now_s()};
  /* Here, not in a worker: their kernels are launched by this process. */
  for (size_t i = 0; i < options->load.count; ++i) TRY(worker_open_object(options->load.item[i], options->device));
  TRY(sweep_source_load(options, &p.sweep));
  if (options->resume != NULL)
    return status_make(STATUS_USAGE,
                       "--resume: a profiler captures all launches of one process; leave --resume or "
                       "--profile out");
  TRY(outputs_probe(options));
  TRY(open_gpu(&p));
  TRY(select_cells(&p));
  TRY(open_journal(&p, invocation));
  const struct status prepared = prepare_cells(&p);
  const struct status written = write_reports(&p, !status_failed(&prepared), outcome);
  TRY(prepared);
  TRY(written);
  return profile_capture(p.profile, (uint32_t)options->profile.value);
}
