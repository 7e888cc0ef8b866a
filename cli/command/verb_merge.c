/* merge: the journals of a run's shards as the report of one run. */
#include <stdlib.h>

#include "cli/base/text.h"
#include "cli/command/commands.h"
#include "cli/command/cover.h"
#include "cli/command/outputs.h"

static void print_gaps(const struct cover_gaps *gaps, FILE *file) {
  char cell[CELL_NAME_MAX], where[COVER_WHERE_MAX];
  const size_t more = gaps->missing + gaps->twice + gaps->unfinished - gaps->told_count;
  for (size_t i = 0; i < gaps->told_count; ++i) {
    text_clean(gaps->told[i].cell, cell, sizeof cell);
    text_clean(gaps->told[i].where, where, sizeof where);
    fprintf(file, "attnbench: %s %s\n", cell, where);
  }
  if (more > 0) fprintf(file, "attnbench: and %zu more\n", more);
}

static struct status check_gaps(const struct cover_gaps *gaps) {
  const struct {
    size_t count;
    const char *what;
  } parts[] = {{gaps->missing, "missing"}, {gaps->twice, "there more than once"}, {gaps->unfinished, "unfinished"}};
  char what[128] = "";
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (parts[i].count == 0) continue;
    text_append(what, sizeof what, "%s%zu %s", what[0] != '\0' ? ", " : "", parts[i].count, parts[i].what);
  }
  if (what[0] == '\0') return status_ok();
  print_gaps(gaps, stderr);
  return status_make(
      STATUS_COVERAGE,
      "of %zu cells %s; nothing was written. Measure what is missing with the same --shard and --journal "
      "and with --resume, and name the journal of each shard once",
      gaps->selected, what);
}

static struct status check(const struct options *options, const struct cover *cover) {
  struct cover_gaps *gaps = malloc(sizeof *gaps);
  if (gaps == NULL) return status_make(STATUS_MEMORY, "no memory to compare %zu journals", cover->count);
  struct status status = cover_check(cover, options->across_devices);
  if (!status_failed(&status)) status = cover_find_gaps(cover, gaps);
  if (!status_failed(&status)) status = check_gaps(gaps);
  free(gaps);
  return status;
}

static struct status join_and_write(const struct options *options, const struct cover *cover,
                                    struct outcome *outcome) {
  struct journal_data joined;
  struct status status = cover_join(cover, &joined);
  if (!status_failed(&status)) status = outputs_write(options, &joined, outcome);
  journal_free(&joined);
  return status;
}

static struct status load_and_merge(const struct options *options, struct cover *cover, struct outcome *outcome) {
  const size_t count = options->reports.count;
  for (; cover->count < count; ++cover->count)
    TRY(journal_load(cover->paths[cover->count], &cover->part[cover->count]));
  TRY(check(options, cover));
  return join_and_write(options, cover, outcome);
}

struct status verb_merge(const struct options *options, struct outcome *outcome) {
  struct cover cover = {.paths = options->reports.item};
  TRY(outputs_probe(options));
  cover.part = calloc(options->reports.count, sizeof *cover.part);
  if (cover.part == NULL) return status_make(STATUS_MEMORY, "no memory for %zu journals", options->reports.count);
  const struct status status = load_and_merge(options, &cover, outcome);
  for (size_t i = 0; i < cover.count; ++i) journal_free(&cover.part[i]);
  free(cover.part);
  return status;
}
