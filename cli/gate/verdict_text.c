/* A comparison as text. */
#include <math.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/gate/sinks.h"

/* ---- columns ------------------------------------------------------------------------------------------------- */

enum { REASONS_SHOWN_MAX = 8 };
static const struct text_column columns[] = {
    {"verdict", "", true, 0, 0}, {"case", "", true, 0, 24},   {"variant", "", true, 0, 12},
    {"mode", "", true, 0, 0},    {"base", "us", false, 1, 0}, {"new", "us", false, 1, 0},
    {"change", "", false, 0, 0}, {"bounds", "", false, 2, 0}, {"runs", "", false, 3, 0},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };
static const struct text_meaning meanings[] = {{"change", "how much longer the new time is"},
                                               {"bounds", "its 95 % confidence bounds"},
                                               {"runs", "processes of base + new"},
                                               {NULL, NULL}};

static void fill_cells(const void *of, char cell[][TEXT_CELL_MAX]) {
  const struct compare_row *row = *(const struct compare_row *const *)of;
  const struct sinks_numbers is = sinks_numbers(row);
  TEXT_CELLS(cell, verdict_name(row->verdict), row->key, row->variant, time_mode_name(row->mode), is.base, is.now,
             is.change, is.bounds, is.processes);
  if (row->was_suspect) text_append(cell[0], TEXT_CELL_MAX, "*");
}

/* Where one process of each side cannot decide, changes that would fail or pass as faster are still worth a look. */
static bool has_line(const struct compare *compare, const struct compare_row *row) {
  const bool is_undecided = row->verdict == COMPARE_inconclusive && row->has_ratio;
  const bool has_change = fabs(log(row->ratio)) >= log1p(COMPARE_LINE_RATIO * row->threshold);
  return !sinks_is_grouped(compare, row) || (is_undecided && has_change && compare->settings.once);
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

/* On one line, so that it can be pasted. */
static void print_command(FILE *file, const char *lead, const struct run_info *run, const char *report) {
  char command[COMPARE_COMMAND_MAX];
  again_command_of_side(run, report, command, sizeof command);
  fputs(lead, file);
  markup_put_line(file, command[0] != '\0' ? command : "its report names no plain command; measure it as it was");
  fputc('\n', file);
}

/* The verdict, and what to do about it. */
static void print_answer(FILE *file, const struct compare *compare) {
  const char *advice = sinks_advice(compare);
  text_paragraph(file, "", "%s", sinks_outcome_text(compare).text);
  if (compare->is_same_file && advice[0] == '\0') text_paragraph(file, "", "both sides are one file");
  if (advice[0] != '\0') text_paragraph(file, "what to do: ", "%s", advice);
  if (!sinks_needs_processes(compare)) return;
  print_command(file, "  base: ", &compare->base->run, "again-base.json");
  print_command(file, "  new:  ", &compare->now->run, "again-new.json");
  fputs("  then: attnbench compare again-base.json again-new.json\n", file);
}

static void print_head(FILE *file, const struct compare *compare) {
  const struct sinks_line pairs = sinks_pairs_text(compare);
  print_answer(file, compare);
  fprintf(file, "\n%s\n", sinks_counts_text(compare).text);
  if (sinks_has_suite(compare)) text_paragraph(file, "", "%s", sinks_suite_text(compare).text);
  if (pairs.text[0] != '\0') text_paragraph(file, "", "%s", pairs.text);
  text_paragraph(file, "base  ", "%s", sinks_report_text(compare->base).text);
  text_paragraph(file, "new   ", "%s", sinks_report_text(compare->now).text);
}

static void print_differences(FILE *file, const struct compare *compare) {
  if (!compare->comparable) fputs("\nnot comparable: what differs, base | new\n", file);
  for (size_t i = 0; i < compare->difference_count; ++i) {
    const struct compare_difference *difference = &compare->difference[i];
    text_paragraph(file, difference->fatal ? "  differs  " : "  remark   ", "%s: %s | %s", difference->key,
                   difference->base, difference->now);
  }
}

static bool is_worth_a_word(const struct compare *compare, const struct compare_row *row) {
  return !sinks_is_grouped(compare, row) && (sinks_row_fails(compare, row) || row->reason[0] != '\0');
}

static void print_reason(FILE *file, const struct compare *compare, const struct compare_row *row) {
  char lead[48], command[COMPARE_COMMAND_MAX];
  snprintf(lead, sizeof lead, "%s: ", verdict_name(row->verdict));
  text_paragraph(file, lead, "%s %s %s: %s", row->key, row->variant, time_mode_name(row->mode), sinks_row_text(row));
  /* The answer above has the commands of both sides. */
  if (!sinks_row_fails(compare, row) || sinks_needs_processes(compare)) return;
  again_command(compare, row, command, sizeof command);
  fputs("  again: ", file);
  markup_put_line(file, command);
  fputc('\n', file);
}

static void print_reasons(FILE *file, const struct compare *compare) {
  size_t shown = 0, more = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (!is_worth_a_word(compare, &compare->rows[i])) continue;
    if (shown == REASONS_SHOWN_MAX) {
      ++more;
      continue;
    }
    if (shown++ == 0) fputc('\n', file);
    print_reason(file, compare, &compare->rows[i]);
  }
  if (more > 0) fprintf(file, "and %zu more, none worse than these; --json has them all\n", more);
}

static bool any_suspect(const struct compare *compare) {
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (compare->rows[i].was_suspect) return true;
  }
  return compare->suite.was_suspect;
}

static void print_groups(FILE *file, const struct compare *compare) {
  char line[COMPARE_LINE_MAX];
  bool any = false;
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (!sinks_group_text(compare, &compare->rows[i], line)) continue;
    if (!any) fputc('\n', file);
    any = true;
    text_paragraph(file, "", "%s", line);
  }
}

/* The times are shown as they were measured; the change is that of the launch. */
static void print_events(FILE *file, const struct compare *compare) {
  double overhead_us = 0;
  for (size_t i = 0; i < compare->row_count; ++i) overhead_us = fmax(overhead_us, compare->rows[i].event_overhead_us);
  if (!(overhead_us > 0)) return;
  text_paragraph(file, "",
                 "cold times include %.3g us of the events around a launch; change and bounds are without it",
                 overhead_us);
}

/* The rows that do not say what others say too, the worst first. */
static void print_rows(FILE *file, const struct compare *compare, const struct compare_row **rows) {
  size_t count = 0, more = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (!has_line(compare, &compare->rows[i])) continue;
    if (count < COMPARE_ROWS_SHOWN) {
      rows[count++] = &compare->rows[i];
    } else {
      ++more;
    }
  }
  if (count > 0) {
    fputc('\n', file);
    const struct text_table table = TEXT_TABLE(columns, COLUMN_COUNT, rows, count, fill_cells);
    const struct text_fit fit = text_table_write(file, &table);
    text_legend(file, &fit, meanings, "");
    print_events(file, compare);
    text_fit_print(file, &fit, "--json and --markdown");
    if (more > 0) fprintf(file, "and %zu more rows, none worse than these; --json has them all\n", more);
  }
  print_groups(file, compare);
  if (any_suspect(compare)) fputs("* measured again in fresh processes before this verdict\n", file);
}

struct status verdict_text_write(const struct compare *compare, FILE *file) {
  OWNED_ARRAY(const struct compare_row *, rows, compare->row_count, "rows of a table");
  print_head(file, compare);
  print_differences(file, compare);
  print_rows(file, compare, rows);
  print_reasons(file, compare);
  if (compare->settings.once && compare->comparable)
    text_wrap(file, "", 0,
              "Two reports, judged once: when nothing changed, at most one comparison in twenty fails "
              "(results/gate_rule.md has the rates for each number of processes).");
  return status_ok();
}
