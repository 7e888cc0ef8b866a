/* A report as Markdown: what a step of a CI shows of a run. */
#include <math.h>

#include "cli/base/markup.h"
#include "cli/base/units.h"
#include "cli/report/columns.h"

enum { ROWS_SHOWN = 500 };

static void put_head(FILE *file, const struct report *report) {
  const struct run_info *run = &report->journal->run;
  char counts[REPORT_COUNTS_MAX];
  report_counts(report, " cells", counts);
  fprintf(file, "**attnbench %s**\n\n", report->exit_code == EXIT_CODE_OK ? "report: nothing failed" : "failed");
  markup_put(file, markup_markdown, "Sweep %s on %s, %s\n\n", run->sweep_name,
             report->journal->has_device ? report->journal->device.name : "no device", counts);
  if (report_origin(report->journal)[0] != '\0') fprintf(file, "The file %s.\n\n", report_origin(report->journal));
}

static void put_number(FILE *file, double value) { fprintf(file, " %s |", units_short(value).text); }

/* ~: it still moved when the time for it was over. Escaped, since two of them in a row would strike a text through.
 */
static void put_ratio(FILE *file, const struct ratio_record *ratio) {
  fprintf(file, " %s%s |", columns_is_unsteady(ratio) ? "\\~" : "",
          units_short(ratio->done ? ratio->ratio : (double)NAN).text);
}

static void put_row(FILE *file, const struct report_row *row, bool with_steady, bool with_kernels) {
  const struct record *record = row->record;
  const enum time_mode mode = record->time[TIME_HOT].done ? TIME_HOT : TIME_COLD;
  const char *mark = row->is_fastest ? "**" : "";
  markup_put(file, markup_markdown, "| %s | ", record->attn_case.key);
  fputs(mark, file);
  markup_markdown(file, record->variant);
  fprintf(file, "%s | %s |", mark, cell_status_name(record->status));
  put_number(file, columns_number(row, COLUMNS_HOT));
  put_number(file, columns_number(row, COLUMNS_COLD));
  put_number(file, row->metrics.mode[mode].tflop_per_s);
  put_ratio(file, &record->speedup.mode[mode]);
  if (with_kernels) put_number(file, columns_number(row, COLUMNS_KERNEL));
  if (with_steady) {
    put_number(file, columns_number(row, COLUMNS_STEADY));
    put_number(file, columns_number(row, COLUMNS_STEADY_RATE));
    put_ratio(file, &record->speedup.mode[TIME_STEADY]);
  }
  fputc('\n', file);
}

static bool has_steady(const struct report_row *row) { return row->record->time[TIME_STEADY].done; }

static bool has_kernels(const struct report_row *row) { return isfinite(columns_number(row, COLUMNS_KERNEL)); }

static void put_rows(FILE *file, const struct report *report) {
  const bool with_steady = report_first(report, has_steady) != NULL;
  const bool with_kernels = report_first(report, has_kernels) != NULL;
  fprintf(file,
          "| case | variant | status | hot us | cold us | TFLOP/s | vs reference "
          "|%s%s\n|---|---|---|--:|--:|--:|--:|%s%s\n",
          with_kernels ? " kernels alone |" : "",
          with_steady ? " steady us | steady TFLOP/s | vs reference, steady |" : "", with_kernels ? "--:|" : "",
          with_steady ? "--:|--:|--:|" : "");
  for (size_t i = 0; i < report->row_count && i < ROWS_SHOWN; ++i)
    put_row(file, &report->rows[i], with_steady, with_kernels);
  if (report->row_count > ROWS_SHOWN) fprintf(file, "\nand %zu more\n", report->row_count - ROWS_SHOWN);
}

/* Why rows failed; a skipped one is no news. */
static void put_reasons(FILE *file, const struct report *report) {
  size_t shown = 0;
  for (size_t i = 0; i < report->row_count && shown < ROWS_SHOWN; ++i) {
    const struct record *record = report->rows[i].record;
    if (cell_status_exit_code(record->status) == EXIT_CODE_OK) continue;
    if (shown++ == 0) fputc('\n', file);
    markup_put(file, markup_markdown, "- %s %s: %s: %s\n", record->attn_case.key, record->variant,
               cell_status_name(record->status), record->reason);
  }
}

static void put_bounds(FILE *file, const struct report *report) {
  size_t shown = 0;
  for (size_t i = 0; i < report->row_count && shown < ROWS_SHOWN; ++i) {
    const struct report_row *row = &report->rows[i];
    if (!row->leads_case || !row->bound_by.known) continue;
    if (shown++ == 0) fputs("\nWhat bounds the fastest row of each case:\n\n", file);
    markup_put(file, markup_markdown, "- %s %s (%s): %s\n", row->record->attn_case.key, row->record->variant,
               time_mode_name(row->bound_by.mode), row->bound_by.text);
  }
}

static void put_all(const void *data, FILE *file) {
  const struct report *report = data;
  put_head(file, report);
  put_rows(file, report);
  put_bounds(file, report);
  EACH_CONVENTION(axis, report) fprintf(file, "\n`%s`: %s\n", axis->name, axis->convention);
  put_reasons(file, report);
}

struct status report_write_markdown(const struct report *report, FILE *file) {
  return markup_markdown_file(file, put_all, report);
}
