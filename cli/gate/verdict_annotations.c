/* A comparison as annotations of a CI log. */
#include <string.h>

#include "cli/gate/sinks.h"

static void put_data(FILE *file, const char *text) { markup_annotation_text(file, text); }

static void put_start(FILE *file, const struct compare *compare, bool fails, const char *title) {
  markup_annotation_start(file, fails, compare->now->run.sweep_path, title);
}

static void put_difference(FILE *file, const struct compare *compare, const struct compare_difference *difference) {
  put_start(file, compare, true, "attnbench: not comparable");
  put_data(file, difference->key);
  fputs(" is ", file);
  put_data(file, difference->base);
  fputs(" in the base and ", file);
  put_data(file, difference->now);
  fputs(" in the new report\n", file);
}

static void put_row(FILE *file, const struct compare *compare, const struct compare_row *row) {
  char title[64], change[COMPARE_PERCENT_MAX], command[COMPARE_COMMAND_MAX];
  snprintf(title, sizeof title, "attnbench: %s", verdict_name(row->verdict));
  put_start(file, compare, sinks_row_fails(compare, row), title);
  put_data(file, row->key);
  fputc(' ', file);
  put_data(file, row->variant);
  sinks_percent(row->ratio, change);
  fprintf(file, " %s", time_mode_name(row->mode));
  if (strcmp(change, "-") != 0) {
    fputs(" changed by ", file);
    put_data(file, change);
  }
  fputs(": ", file);
  put_data(file, sinks_row_text(row));
  again_command(compare, row, command, sizeof command);
  fputs("%0Aagain: ", file);
  put_data(file, command);
  fputc('\n', file);
}

static bool suite_is_annotated(const struct compare *compare) {
  return sinks_has_suite(compare) && verdict_exit_code(compare->suite.verdict) != EXIT_CODE_OK;
}

static void put_suite(FILE *file, const struct compare *compare) {
  char text[COMPARE_LINE_MAX];
  put_start(file, compare, sinks_row_fails(compare, &compare->suite), "attnbench: all cases together");
  sinks_suite_text(compare, text);
  put_data(file, text);
  fputc('\n', file);
}

/* Rows that fail, and those that only the settings let pass. */
static bool is_annotated(const struct compare_row *row) { return verdict_exit_code(row->verdict) != EXIT_CODE_OK; }

static size_t count_all(const struct compare *compare) {
  size_t count = suite_is_annotated(compare);
  for (size_t i = 0; i < compare->difference_count; ++i) count += compare->difference[i].fatal;
  for (size_t i = 0; i < compare->row_count; ++i) count += is_annotated(&compare->rows[i]);
  return count;
}

/* A comparison that fails without any row or difference to blame compared nothing. */
static void put_outcome(FILE *file, const struct compare *compare) {
  char text[COMPARE_LINE_MAX];
  put_start(file, compare, true, "attnbench: nothing compared");
  sinks_outcome_text(compare, text);
  put_data(file, text);
  fputc('\n', file);
}

struct status verdict_annotations_write(const struct compare *compare, FILE *file) {
  const size_t all = count_all(compare),
               most = all > MARKUP_ANNOTATIONS_MAX ? MARKUP_ANNOTATIONS_MAX - 1 : MARKUP_ANNOTATIONS_MAX;
  size_t shown = 0;
  for (size_t i = 0; i < compare->difference_count && shown < most; ++i) {
    if (!compare->difference[i].fatal) continue;
    put_difference(file, compare, &compare->difference[i]);
    ++shown;
  }
  if (suite_is_annotated(compare) && shown < most) {
    put_suite(file, compare);
    ++shown;
  }
  for (size_t i = 0; i < compare->row_count && shown < most; ++i) {
    if (!is_annotated(&compare->rows[i])) continue;
    put_row(file, compare, &compare->rows[i]);
    ++shown;
  }
  if (all > shown) {
    char counts[COMPARE_LINE_MAX];
    sinks_counts_text(compare, counts);
    put_start(file, compare, compare->exit_code != EXIT_CODE_OK, "attnbench");
    fprintf(file, "and %zu more, none worse than these; ", all - shown);
    put_data(file, counts);
    fputc('\n', file);
  }
  if (all == 0 && compare->exit_code != EXIT_CODE_OK) put_outcome(file, compare);
  return status_ok();
}
