/* merge: the journals of a run's shards as the report of one run. */
#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/command/commands.h"
#include "cli/command/cover.h"
#include "cli/command/outputs.h"

static void print_gaps(const struct cover_gaps *gaps, FILE *file) {
  const size_t more = gaps->missing + gaps->twice + gaps->unfinished - gaps->told_count;
  for (size_t i = 0; i < gaps->told_count; ++i) text_say(file, "%s %s", gaps->told[i].cell, gaps->told[i].where);
  if (more > 0) text_say(file, "and %zu more", more);
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
  return status_make(STATUS_COVERAGE,
                     "of %zu cells %s; nothing was written. Measure what is missing with the same --shard and "
                     "--journal and with --resume, and name the journal of each shard once",
                     gaps->selected, what);
}

static struct status check(const struct options *options, const struct cover *cover) {
  OWNED(owned_free) struct cover_gaps *gaps = malloc(sizeof *gaps);
  if (gaps == NULL) return status_make(STATUS_MEMORY, "no memory to compare %zu journals", cover->count);
  TRY(cover_check(cover, options->across_devices));
  TRY(cover_find_gaps(cover, gaps));
  return check_gaps(gaps);
}

static void free_parts(struct cover *cover) {
  for (size_t i = 0; i < cover->count; ++i) journal_free(&cover->part[i]);
  free(cover->part);
}

struct status verb_merge(const struct options *options, struct outcome *outcome) {
  const size_t count = options->reports.count;
  OWNED(free_parts) struct cover cover = {.paths = options->reports.item};
  OWNED(journal_free) struct journal_data joined = {.records = NULL};
  TRY(outputs_probe(options));
  TRY(owned_array(&cover.part, count, sizeof *cover.part, "journals"));
  for (; cover.count < count; ++cover.count) TRY(journal_load(cover.paths[cover.count], &cover.part[cover.count]));
  TRY(check(options, &cover));
  TRY(cover_join(&cover, &joined));
  return outputs_write(options, &joined, outcome);
}
