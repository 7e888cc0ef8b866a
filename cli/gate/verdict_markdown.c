/* A comparison as Markdown. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/units.h"
#include "cli/gate/sinks.h"

static void put_us(FILE *file, const struct compare_side *side) {
  char text[UNITS_TEXT_MAX] = "-";
  if (side->record != NULL) units_format(side->median_us, text);
  fputs(text, file);
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

static void put_head(FILE *file, const struct compare *compare) {
  char line[COMPARE_LINE_MAX];
  sinks_outcome_text(compare, line);
  fprintf(file, "**attnbench gate %s**\n\n", line);
  if (sinks_advice(compare)[0] != '\0') fprintf(file, "What to do: %s.\n\n", sinks_advice(compare));
  sinks_counts_text(compare, line);
  fprintf(file, "%s\n\n", line);
  if (sinks_has_suite(compare)) {
    sinks_suite_text(compare, line);
    markup_markdown(file, line);
    fputs("\n\n", file);
  }
  fputs("| | report |\n|---|---|\n", file);
  sinks_report_text(compare->base, line);
  fputs("| base | ", file);
  markup_markdown(file, line);
  sinks_report_text(compare->now, line);
  fputs(" |\n| new | ", file);
  markup_markdown(file, line);
  fputs(" |\n", file);
}

static void put_differences(FILE *file, const struct compare *compare, bool fatal, const char *heading) {
  bool any = false;
  for (size_t i = 0; i < compare->difference_count; ++i) {
    const struct compare_difference *difference = &compare->difference[i];
    if (difference->fatal != fatal) continue;
    if (!any) fprintf(file, "\n%s\n\n| | base | new |\n|---|---|---|\n", heading);
    any = true;
    fputs("| ", file);
    markup_markdown(file, difference->key);
    fputs(" | ", file);
    markup_markdown(file, difference->base);
    fputs(" | ", file);
    markup_markdown(file, difference->now);
    fputs(" |\n", file);
  }
}

static void put_row(FILE *file, const struct compare *compare, const struct compare_row *row) {
  char change[COMPARE_PERCENT_MAX], bounds[COMPARE_PERCENT_MAX], processes[COMPARE_PERCENT_MAX];
  const char *mark = sinks_row_fails(compare, row) ? "**" : "";
  sinks_percent(row->ratio, change);
  sinks_bounds(row, bounds);
  sinks_processes(row, processes);
  fprintf(file, "| %s%s%s | ", mark, verdict_name(row->verdict), mark);
  markup_markdown(file, row->key);
  fputs(" | ", file);
  markup_markdown(file, row->variant);
  fprintf(file, " | %s | ", time_mode_name(row->mode));
  put_us(file, &row->base);
  fputs(" | ", file);
  put_us(file, &row->now);
  fprintf(file, " | %s | %s | %s | ", change, bounds, processes);
  markup_markdown(file, row->reason);
  fputs(" |\n", file);
}

/* The worst rows, without those that say what others say too. How many had no room, by verdict in `left`. */
static size_t put_rows(FILE *file, const struct compare *compare, uint64_t left[COMPARE_VERDICT_COUNT]) {
  size_t shown = 0, more = 0;
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    if (sinks_is_grouped(compare, row)) continue;
    if (shown == COMPARE_ROWS_SHOWN) {
      ++left[row->verdict];
      ++more;
      continue;
    }
    if (shown++ == 0) {
      fputs(
          "\n| verdict | case | variant | mode | base µs | new µs | change | bounds | runs | why |\n"
          "|---|---|---|---|--:|--:|--:|--:|--:|---|\n",
          file);
    }
    put_row(file, compare, row);
  }
  return more;
}

/* What the rows that are not shown are. */
static void put_rest(FILE *file, size_t more, const uint64_t left[COMPARE_VERDICT_COUNT]) {
  char line[COMPARE_LINE_MAX];
  if (more == 0) return;
  sinks_verdicts_text(left, line);
  fprintf(file, "\nand %zu more, none worse than these: %s\n", more, line);
}

static void put_groups(FILE *file, const struct compare *compare) {
  char line[COMPARE_LINE_MAX];
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (!sinks_group_text(compare, &compare->rows[i], line)) continue;
    fputs("\n", file);
    markup_markdown(file, line);
    fputs("\n", file);
  }
}

/* A line of code cannot end its own block: a fence is indented by at most three spaces. */
static void put_commands(FILE *file, const struct compare *compare) {
  char command[COMPARE_COMMAND_MAX];
  bool any = false;
  for (size_t i = 0; i < compare->row_count && i < COMPARE_ROWS_SHOWN; ++i) {
    const struct compare_row *row = &compare->rows[i];
    if (!sinks_row_fails(compare, row)) continue;
    if (!any) fputs("\n<details><summary>Measure these rows again</summary>\n\n~~~~sh\n", file);
    any = true;
    fprintf(file, "# %s: ", verdict_name(row->verdict));
    markup_put_line(file, row->key);
    fputc(' ', file);
    markup_put_line(file, row->variant);
    fprintf(file, " %s\n", time_mode_name(row->mode));
    again_command(compare, row, command, sizeof command);
    fputs("    ", file);
    markup_put_line(file, command);
    fputc('\n', file);
  }
  if (any) fputs("~~~~\n\n</details>\n", file);
}

static void put_all(const void *data, FILE *file) {
  const struct compare *compare = data;
  put_head(file, compare);
  put_differences(file, compare, true, "Not comparable:");
  uint64_t left[COMPARE_VERDICT_COUNT] = {0};
  const size_t more = put_rows(file, compare, left);
  put_rest(file, more, left);
  put_groups(file, compare);
  put_commands(file, compare);
  put_differences(file, compare, false, "Remarks:");
}

struct status verdict_markdown_write(const struct compare *compare, FILE *file) {
  return markup_markdown_file(file, put_all, compare);
}
