/* Compares a run with the journal that it is to continue, and marks the cells that are done. */
#include "cli/command/run.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/measure/channel.h"
#include "cli/sweep/callable_spec.h"

/* ---- what a journal keeps ------------------------------------------------------------------------------------ */

static struct status hash_objects(const struct options *o, char *out, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < o->load.count; ++i) {
    char hash[HASH_TEXT_MAX];
    TRY(callable_spec_hash(o->load.item[i], hash));
    used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? " " : "", hash);
  }
  return status_ok();
}

struct status resume_describe(const struct options *o, const struct selection *selection, const char *reference,
                              struct run_setup *out) {
  *out = (struct run_setup){.known = true, .rounds = (uint32_t)o->rounds.value};
  TRY(hash_file(program_path(), out->program));
  TRY(hash_objects(o, out->objects, sizeof out->objects));
  selection_hash(selection, out->cells);
  snprintf(out->reference, sizeof out->reference, "%s", reference);
  if (!o->check_only) snprintf(out->modes, sizeof out->modes, "%s", o->modes);
  if (o->inject != NULL) snprintf(out->inject, sizeof out->inject, "%s", o->inject);
  return status_ok();
}

/* ---- is it the same run? ------------------------------------------------------------------------------------- */

static struct status refuse(const char *path, const struct alike_difference *row) {
  const char *remedy =
      row->is_one_report
          ? "give the same arguments on the same machine, or begin another journal"
          : "restore it, begin another journal, or mark the rows that are measured from now on with --resume=anyway";
  return status_make(STATUS_NOT_COMPARABLE, "--resume: this is not the run of %s: %s was %s there and is %s here; %s",
                     path, row->name, row->first, row->second, remedy);
}

struct status resume_check(const char *path, const struct journal_data *earlier, const struct journal_data *now,
                           bool is_anyway, char differs[RECORD_DIFFERS_MAX]) {
  struct alike_difference found[ALIKE_MAX];
  differs[0] = '\0';
  if (!earlier->run.setup.known)
    return status_make(STATUS_NOT_COMPARABLE,
                       "--resume: the journal %s does not say how its run was set up: a profiler's run or an older "
                       "attnbench wrote it; begin another journal",
                       path);
  for (size_t i = 0, count = alike_compare(ALIKE_RUN, earlier, now, found); i < count; ++i) {
    if (!is_anyway || found[i].is_one_report) return refuse(path, &found[i]);
    alike_add_name(found[i].name, differs);
  }
  return status_ok();
}

/* ---- what is done -------------------------------------------------------------------------------------------- */

static struct resume_cell mark(const struct record *found) {
  struct resume_cell out = {.is_known = found != NULL};
  if (found == NULL || found->status == CELL_left_out) return out;
  if (found->status == CELL_crashed && channel_was_killed(found->reason)) return out;
  out.done = process_count(found);
  out.is_timed = record_is_timed(found);
  memcpy(out.card, found->card, sizeof out.card);
  return out;
}

struct status resume_mark(const struct journal_data *earlier, const struct cells *cells, struct resume_cell *out) {
  OWNED(owned_free) const struct record **sorted = record_sorted(earlier->records, earlier->record_count);
  if (sorted == NULL) return status_make(STATUS_MEMORY, "no memory for %zu cells", earlier->record_count);
  for (size_t i = 0; i < cells->count; ++i) {
    const struct cell *cell = &cells->items[i];
    out[i] = mark(record_find(sorted, earlier->record_count, cell->attn_case->key, cell->spec.text));
  }
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
