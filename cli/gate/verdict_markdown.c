/* A comparison as Markdown. */

#include "cli/gate/sinks.h"

static void put_head(FILE *file, const struct compare *compare) {
  const struct sinks_line pairs = sinks_pairs_text(compare);
  fprintf(file, "**attnbench gate %s**\n\n", sinks_outcome_text(compare).text);
  if (compare->base->is_edited || compare->now->is_edited)
    fprintf(file, "**%s was changed after attnbench wrote it** (--allow-edited).\n\n",
            !compare->now->is_edited    ? "The base report"
            : !compare->base->is_edited ? "The new report"
                                        : "Each report");
  if (sinks_advice(compare)[0] != '\0') fprintf(file, "What to do: %s.\n\n", sinks_advice(compare));
  fprintf(file, "%s\n\n", sinks_counts_text(compare).text);
  if (sinks_has_suite(compare)) markup_put(file, markup_markdown, "%s\n\n", sinks_suite_text(compare).text);
  if (pairs.text[0] != '\0') fprintf(file, "%s\n\n", pairs.text);
  markup_put(file, markup_markdown, "| | report |\n|---|---|\n| base | %s |\n| new | %s |\n",
             sinks_report_text(compare->base).text, sinks_report_text(compare->now).text);
}

static void put_differences(FILE *file, const struct compare *compare, bool fatal, const char *heading) {
  bool any = false;
  for (size_t i = 0; i < compare->difference_count; ++i) {
    const struct compare_difference *difference = &compare->difference[i];
    if (difference->fatal != fatal) continue;
    if (!any) fprintf(file, "\n%s\n\n| | base | new |\n|---|---|---|\n", heading);
    any = true;
    markup_put(file, markup_markdown, "| %s | %s | %s |\n", difference->key, difference->base, difference->now);
  }
}

static void put_row(FILE *file, const struct compare *compare, const struct compare_row *row) {
  const struct sinks_numbers is = sinks_numbers(row);
  markup_put(file, markup_markdown, sinks_row_fails(compare, row) ? "| **%s** |" : "| %s |",
             verdict_name(row->verdict));
  markup_put(file, markup_markdown, " %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", row->key, row->variant,
             time_mode_name(row->mode), is.base, is.now, is.change, is.bounds, is.processes, row->reason);
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
    if (shown++ == 0)
      fputs(
          "\n| verdict | case | variant | mode | base µs | new µs | change | bounds | runs | why |\n"
          "|---|---|---|---|--:|--:|--:|--:|--:|---|\n",
          file);
    put_row(file, compare, row);
  }
  return more;
}

static void put_groups(FILE *file, const struct compare *compare) {
  char line[COMPARE_LINE_MAX];
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (!sinks_group_text(compare, &compare->rows[i], line)) continue;
    markup_put(file, markup_markdown, "\n%s\n", line);
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
    again_command(compare, row, command, sizeof command);
    markup_put(file, markup_put_line, "# %s: %s %s %s\n    %s\n", verdict_name(row->verdict), row->key, row->variant,
               time_mode_name(row->mode), command);
  }
  if (any) fputs("~~~~\n\n</details>\n", file);
}

static void put_all(const void *data, FILE *file) {
  const struct compare *compare = data;
  put_head(file, compare);
  put_differences(file, compare, true, "Not comparable:");
  uint64_t left[COMPARE_VERDICT_COUNT] = {0};
  const size_t more = put_rows(file, compare, left);
  if (more > 0) fprintf(file, "\nand %zu more, none worse than these: %s\n", more, sinks_verdicts_text(left).text);
  put_groups(file, compare);
  put_commands(file, compare);
  put_differences(file, compare, false, "Remarks:");
}

struct status verdict_markdown_write(const struct compare *compare, FILE *file) {
  return markup_markdown_file(file, put_all, compare);
}
