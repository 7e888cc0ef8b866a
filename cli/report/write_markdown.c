/* A report as Markdown: what a step of a CI shows of a run. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/markup.h"
#include "cli/base/units.h"
#include "cli/report/unsteady.h"

enum { ROWS_SHOWN = 500 };

/* "8 cells: 6 ok, 2 skipped" */
static void put_counts(FILE *file, const struct report *report) {
  const char *between = ":";
  fprintf(file, "%zu of %" PRIu64 " cells", report->row_count, (uint64_t)report->journal->run.cell_count);
  for (enum cell_status status = 0; status < CELL_STATUS_COUNT; ++status) {
    if (report->status_count[status] == 0) continue;
    fprintf(file, "%s %" PRIu64 " %s", between, report->status_count[status], cell_status_name(status));
    between = ",";
  }
}

static void put_head(FILE *file, const struct report *report) {
  const struct run_info *run = &report->journal->run;
  fprintf(file, "**attnbench %s**\n\n", report->exit_code == EXIT_CODE_OK ? "passed" : "failed");
  markup_markdown(file, run->sweep_name);
  fputs(" on ", file);
  markup_markdown(file, report->journal->has_device ? report->journal->device.name : "no device");
  fputs(", ", file);
  put_counts(file, report);
  fputs("\n\n", file);
}

static void put_number(FILE *file, double value, bool is_known) {
  char text[UNITS_TEXT_MAX];
  units_format(is_known ? value : (double)NAN, text);
  fprintf(file, " %s |", text);
}

/* ~: it still moved when the time for it was over. Escaped, since two of them in a row would strike a text through.
 */
static void put_ratio(FILE *file, const struct ratio_record *ratio) {
  char text[UNITS_TEXT_MAX];
  units_format(ratio->done ? ratio->ratio : (double)NAN, text);
  fprintf(file, " %s%s |", unsteady_ratio(ratio) ? "\\~" : "", text);
}

static void put_row(FILE *file, const struct report_row *row) {
  const struct record *record = row->record;
  const struct time_record *hot = &record->time[TIME_HOT], *cold = &record->time[TIME_COLD];
  const enum time_mode mode = hot->done ? TIME_HOT : TIME_COLD;
  const char *mark = row->is_fastest ? "**" : "";
  fputs("| ", file);
  markup_markdown(file, record->attn_case.key);
  fprintf(file, " | %s", mark);
  markup_markdown(file, record->variant);
  fprintf(file, "%s | %s |", mark, cell_status_name(record->status));
  put_number(file, hot->us.median, hot->done);
  put_number(file, cold->us.median, cold->done);
  put_number(file, row->metrics.mode[mode].tflop_per_s, row->metrics.mode[mode].known);
  put_ratio(file, &record->speedup.mode[mode]);
  fputc('\n', file);
}

static void put_rows(FILE *file, const struct report *report) {
  fputs("| case | variant | status | hot us | cold us | TFLOP/s | vs reference |\n|---|---|---|--:|--:|--:|--:|\n",
        file);
  for (size_t i = 0; i < report->row_count && i < ROWS_SHOWN; ++i) put_row(file, &report->rows[i]);
  if (report->row_count > ROWS_SHOWN) fprintf(file, "\nand %zu more\n", report->row_count - ROWS_SHOWN);
}

/* Why rows failed; a skipped one is no news. */
static void put_reasons(FILE *file, const struct report *report) {
  size_t shown = 0;
  for (size_t i = 0; i < report->row_count && shown < ROWS_SHOWN; ++i) {
    const struct record *record = report->rows[i].record;
    if (cell_status_exit_code(record->status) == EXIT_CODE_OK) continue;
    fputs(shown++ == 0 ? "\n- " : "- ", file);
    markup_markdown(file, record->attn_case.key);
    fputc(' ', file);
    markup_markdown(file, record->variant);
    fprintf(file, ": %s: ", cell_status_name(record->status));
    markup_markdown(file, record->reason);
    fputc('\n', file);
  }
}

static void put_all(const void *data, FILE *file) {
  const struct report *report = data;
  put_head(file, report);
  put_rows(file, report);
  put_reasons(file, report);
}

struct status report_write_markdown(const struct report *report, FILE *file) {
  return markup_markdown_file(file, put_all, report);
}
