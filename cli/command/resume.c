/* Compares a run with the journal that it is to continue, and marks the cells that are done. */
#include "cli/command/resume.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/measure/channel.h"

/* ---- what a journal keeps ------------------------------------------------------------------------------------ */

static struct status hash_objects(const struct options *o, char *out, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < o->load.count; ++i) {
    char hash[HASH_TEXT_MAX];
    TRY(hash_file(o->load.item[i], hash));
    used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? " " : "", hash);
  }
  return status_ok();
}

static struct status hash_cells(const struct cells *cells, char out[HASH_TEXT_MAX]) {
  char *names = calloc(cells->count + 1, CELL_NAME_MAX); /* zeros behind a name end it */
  if (names == NULL) return status_make(STATUS_MEMORY, "no memory for the names of %zu cells", cells->count);
  for (size_t i = 0; i < cells->count; ++i) {
    cell_name(cells->items[i].attn_case->key, cells->items[i].spec.text, names + i * CELL_NAME_MAX);
  }
  hash_bytes(names, cells->count * CELL_NAME_MAX, out);
  free(names);
  return status_ok();
}

struct status resume_describe(const struct options *o, const struct cells *cells, const char *reference,
                              struct run_setup *out) {
  *out = (struct run_setup){.known = true, .rounds = (uint32_t)o->rounds.value};
  TRY(hash_file("/proc/self/exe", out->program));
  TRY(hash_objects(o, out->objects, sizeof out->objects));
  TRY(hash_cells(cells, out->cells));
  snprintf(out->reference, sizeof out->reference, "%s", reference);
  if (!o->check_only) snprintf(out->modes, sizeof out->modes, "%s", o->modes);
  if (o->inject != NULL) snprintf(out->inject, sizeof out->inject, "%s", o->inject);
  return status_ok();
}

/* ---- what must be alike -------------------------------------------------------------------------------------- */

enum { ALIKE_TEXT_MAX = 160 };
typedef void alike_text(const struct journal_data *, char out[ALIKE_TEXT_MAX]);

#define TEXT(name_, format_, ...)                                                \
  static void name_(const struct journal_data *data, char out[ALIKE_TEXT_MAX]) { \
    snprintf(out, ALIKE_TEXT_MAX, format_, __VA_ARGS__);                         \
  }
#define NUMBER(value) isfinite(value) ? (value) : 0

TEXT(kind, "%s", data->device.kind == DEVICE_CUDA ? "a GPU" : "the CPU")
TEXT(rounds, "%" PRIu32, data->run.setup.rounds)
TEXT(modes, "%s", data->run.setup.modes[0] != '\0' ? data->run.setup.modes : "none")
TEXT(sweep, "%.64s (%s)", data->run.sweep_name, data->run.sweep_hash)
TEXT(cells, "%" PRIu64 " (%s)", data->run.cell_count, data->run.setup.cells)
TEXT(seed, "%" PRIu64, data->run.seed)
TEXT(reference, "%s", data->run.setup.reference[0] != '\0' ? data->run.setup.reference : "none")
TEXT(inject, "%s", data->run.setup.inject[0] != '\0' ? data->run.setup.inject : "none")
TEXT(quick, "%s", data->run.quick ? "--quick" : "full")
TEXT(planned_gpu, "%s", data->run.planned_gpu)
TEXT(program, "%s, commit %s (%s)", data->run.version, data->run.git_commit, data->run.setup.program)
TEXT(objects, "%s", data->run.setup.objects[0] != '\0' ? data->run.setup.objects : "none")
TEXT(device, "%s %s, %" PRIu32 " SMs, driver %s", data->device.name, data->device.uuid, data->device.sms,
     data->device.driver)
TEXT(policy, "MIG %s, ECC %s, %.0f W, clocks %.0f and %.0f MHz", data->policy.mig, data->policy.ecc,
     NUMBER(data->policy.power_limit_w), NUMBER(data->policy.application_sm_clock_mhz),
     NUMBER(data->policy.application_memory_clock_mhz))
TEXT(host, "%s", data->policy.host_cpu)

static const struct alike {
  const char *name;
  bool of_device;     /* not known before the device's line was written */
  bool is_one_report; /* rows that differ in it cannot stand in one report */
  alike_text *text;
} alike[] = {
    {"kind of device", true, true, kind},    {"number of --rounds", false, true, rounds},
    {"times taken", false, true, modes},     {"sweep", false, false, sweep},
    {"selected cells", false, false, cells}, {"seed", false, false, seed},
    {"reference", false, false, reference},  {"injected slowdown", false, false, inject},
    {"time budget", false, false, quick},    {"planned GPU", false, false, planned_gpu},
    {"program", false, false, program},      {"objects of --load", false, false, objects},
    {"device", true, false, device},         {"device settings", true, false, policy},
    {"host CPU", true, false, host},
};

static struct status refuse(const char *path, const struct alike *row, const char *before, const char *now) {
  const char *remedy = row->is_one_report ? "give the same arguments on the same machine, or begin another journal"
                                          : "restore it, begin another journal, or mark the rows that are measured "
                                            "from now on with --resume=anyway";
  return status_make(STATUS_NOT_COMPARABLE, "--resume: this is not the run of %s: %s was %s there and is %s here; %s",
                     path, row->name, before, now, remedy);
}

static void add_name(const char *name, char differs[RECORD_DIFFERS_MAX]) {
  text_append(differs, RECORD_DIFFERS_MAX, "%s%s", differs[0] != '\0' ? ", " : "", name);
}

struct status resume_check(const char *path, const struct journal_data *earlier, const struct journal_data *now,
                           bool is_anyway, char differs[RECORD_DIFFERS_MAX]) {
  differs[0] = '\0';
  if (!earlier->run.setup.known) {
    return status_make(STATUS_NOT_COMPARABLE,
                       "--resume: the journal %s does not say how its run was set up: a profiler's run or an older "
                       "attnbench wrote it; begin another journal",
                       path);
  }
  for (size_t i = 0; i < sizeof alike / sizeof *alike; ++i) {
    char before_text[ALIKE_TEXT_MAX], now_text[ALIKE_TEXT_MAX];
    if (alike[i].of_device && !earlier->has_device) continue;
    alike[i].text(earlier, before_text);
    alike[i].text(now, now_text);
    if (strcmp(before_text, now_text) == 0) continue;
    if (!is_anyway || alike[i].is_one_report) return refuse(path, &alike[i], before_text, now_text);
    add_name(alike[i].name, differs);
  }
  return status_ok();
}

/* ---- what is done -------------------------------------------------------------------------------------------- */

static bool is_timed(const struct record *record) {
  return record->status == CELL_ok && (record->time[TIME_COLD].done || record->time[TIME_HOT].done);
}

static void mark(const struct record *const *sorted, size_t count, const struct cell *cell, struct record *wanted,
                 struct resume_cell *out) {
  snprintf(wanted->attn_case.key, sizeof wanted->attn_case.key, "%s", cell->attn_case->key);
  snprintf(wanted->variant, sizeof wanted->variant, "%s", cell->spec.text);
  const struct record *key = wanted;
  const struct record *const *found = bsearch(&key, sorted, count, sizeof *sorted, record_order);
  *out = (struct resume_cell){.done = 0};
  if (found == NULL) return;
  out->is_known = true;
  if ((*found)->status == CELL_crashed && channel_was_killed((*found)->reason)) return;
  out->done = process_count(*found);
  out->is_timed = is_timed(*found);
}

struct status resume_mark(const struct journal_data *earlier, const struct cells *cells, struct resume_cell *out) {
  const struct record **sorted = malloc((earlier->record_count + 1) * sizeof *sorted);
  struct record *wanted = malloc(sizeof *wanted);
  if (sorted == NULL || wanted == NULL) {
    free(sorted);
    free(wanted);
    return status_make(STATUS_MEMORY, "no memory for %zu cells", earlier->record_count);
  }
  for (size_t i = 0; i < earlier->record_count; ++i) sorted[i] = &earlier->records[i];
  qsort(sorted, earlier->record_count, sizeof *sorted, record_order);
  for (size_t i = 0; i < cells->count; ++i) mark(sorted, earlier->record_count, &cells->items[i], wanted, &out[i]);
  free(sorted);
  free(wanted);
  return status_ok();
}

uint64_t resume_count(const struct journal_data *earlier, const struct cells *cells,
                      const struct resume_cell *marks) {
  uint64_t both = 0;
  for (size_t i = 0; i < cells->count; ++i) both += marks[i].is_known;
  return earlier->record_count + cells->count - both;
}

struct status resume_check_count(const char *path, const struct journal_data *earlier, uint64_t count) {
  if (count <= earlier->run.cell_count) return status_ok();
  return status_make(STATUS_INPUT,
                     "--resume: %s has cells that its run did not set out to measure; begin another journal", path);
}

double resume_spent_s(const struct journal_data *earlier) {
  double sum_s = 0;
  for (size_t i = 0; i < earlier->record_count; ++i) sum_s += earlier->records[i].wall_s;
  return fmax(sum_s, earlier->wall_s);
}
