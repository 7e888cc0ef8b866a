/* A comparison as annotations of a CI log. */
#include <math.h>

#include "cli/gate/sinks.h"

static void put_start(FILE *file, const struct compare *compare, bool fails, const char *title) {
  markup_annotation_start(file, fails, compare->now->run.sweep_path, title);
}

static void put_difference(FILE *file, const struct compare *compare, const struct compare_difference *difference) {
  put_start(file, compare, true, "attnbench: not comparable");
  markup_put(file, markup_annotation_text, "%s is %s in the base and %s in the new report\n", difference->key,
             difference->base, difference->now);
}

static void put_row(FILE *file, const struct compare *compare, const struct compare_row *row) {
  char title[64], command[COMPARE_COMMAND_MAX];
  snprintf(title, sizeof title, "attnbench: %s", verdict_name(row->verdict));
  put_start(file, compare, sinks_row_fails(compare, row), title);
  again_command(compare, row, command, sizeof command);
  markup_put(file, markup_annotation_text, "%s %s %s", row->key, row->variant, time_mode_name(row->mode));
  if (isfinite(row->ratio))
    markup_put(file, markup_annotation_text, " changed by %s", sinks_percent(row->ratio).text);
  markup_put(file, markup_annotation_text, ": %s%%0Aagain: %s\n", sinks_row_text(row), command);
}

static bool suite_is_annotated(const struct compare *compare) {
  return sinks_has_suite(compare) && verdict_exit_code(compare->suite.verdict) != EXIT_CODE_OK;
}

static void put_suite(FILE *file, const struct compare *compare) {
  put_start(file, compare, sinks_row_fails(compare, &compare->suite), "attnbench: all cases together");
  markup_put(file, markup_annotation_text, "%s\n", sinks_suite_text(compare).text);
}

/* Rows that fail, and those that only the settings let pass. */
static bool is_annotated(const struct compare_row *row) { return verdict_exit_code(row->verdict) != EXIT_CODE_OK; }

/* Writes the first of them, and returns how many there are in all. */
static size_t put_first(FILE *file, const struct compare *compare, size_t most) {
  size_t all = 0;
  for (size_t i = 0; i < compare->difference_count; ++i) {
    if (compare->difference[i].fatal && all++ < most) put_difference(file, compare, &compare->difference[i]);
  }
  if (suite_is_annotated(compare) && all++ < most) put_suite(file, compare);
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (is_annotated(&compare->rows[i]) && all++ < most) put_row(file, compare, &compare->rows[i]);
  }
  return all;
}

/* A comparison that fails without any row or difference to blame compared nothing. */
static void put_outcome(FILE *file, const struct compare *compare) {
  put_start(file, compare, true, "attnbench: nothing compared");
  markup_put(file, markup_annotation_text, "%s\n", sinks_outcome_text(compare).text);
}

struct status verdict_annotations_write(const struct compare *compare, FILE *file) {
  const size_t all = put_first(file, compare, 0),
               most = all > MARKUP_ANNOTATIONS_MAX ? MARKUP_ANNOTATIONS_MAX - 1 : MARKUP_ANNOTATIONS_MAX;
  put_first(file, compare, most);
  if (all > most) {
    put_start(file, compare, compare->exit_code != EXIT_CODE_OK, "attnbench");
    markup_put(file, markup_annotation_text, "and %zu more, none worse than these; %s\n", all - most,
               sinks_counts_text(compare).text);
  }
  if (all == 0 && compare->exit_code != EXIT_CODE_OK) put_outcome(file, compare);
  return status_ok();
}
