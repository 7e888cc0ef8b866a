/* A report as tables and findings for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/report/columns.h"
#include "cli/report/fastest.h"
#include "cli/report/fold.h"
#include "cli/report/notes.h"
#include "cli/report/scaling_text.h"

enum { FINDINGS_SHOWN_MAX = 3 };

/* ---- cells --------------------------------------------------------------------------------------------------- */

static const enum columns_id main_ids[] = {
    COLUMNS_CASE,   COLUMNS_VARIANT, COLUMNS_STATUS,      COLUMNS_HOT,     COLUMNS_COLD,   COLUMNS_STEADY,
    COLUMNS_RATE,   COLUMNS_ROOF,    COLUMNS_STEADY_RATE, COLUMNS_POWER,   COLUMNS_ENERGY, COLUMNS_GRID,
    COLUMNS_BLOCKS, COLUMNS_WAVES,   COLUMNS_ERROR,       COLUMNS_SPEEDUP, COLUMNS_KERNEL, COLUMNS_STEADY_SPEEDUP};
enum { MAIN_COLUMN_COUNT = sizeof main_ids / sizeof *main_ids };
_Static_assert((int)MAIN_COLUMN_COUNT <= (int)TEXT_COLUMNS_MAX, "a table has no more columns");

static void fill_cells(const void *row, char cell[][TEXT_CELL_MAX]) {
  for (size_t i = 0; i < MAIN_COLUMN_COUNT; ++i) columns_text(row, main_ids[i], cell[i]);
}

static void group_case(const void *row, char out[TEXT_CELL_MAX]) {
  columns_text(row, COLUMNS_CASE, out);
  columns_add_card(row, out);
}

/* Marked are the fastest of each case, and what failed. */
static enum text_tone tone_of(const void *of) {
  const struct report_row *row = of;
  if (cell_status_exit_code(row->record->status) != EXIT_CODE_OK) return TEXT_BAD;
  return row->is_fastest ? TEXT_BEST : TEXT_PLAIN;
}

/* The first one is left out where cases head their rows, the last three of a report whose rows were timed against
 * nothing. */
static const struct text_column main_columns[] = {
    {"case", "", true, 0, 20},        {"variant", "", true, 0, 12},        {"status", "", true, 0, 0},
    {"hot", "us", false, 0, 0},       {"cold", "us", false, 3, 0},         {"steady", "us", false, 1, 0},
    {"rate", "TFLOP/s", false, 2, 0}, {"roof", "% of peak", false, 4, 0},  {"steady", "TFLOP/s", false, 1, 0},
    {"power", "W", false, 9, 0},      {"energy", "pJ/FLOP", false, 10, 0}, {"grid", "x,y,z", false, 8, 0},
    {"blocks", "", false, 7, 0},      {"waves", "", false, 6, 0},          {"error", "max abs", false, 5, 0},
    {"vs ref", "hot", false, 0, 0},   {"vs ref", "kernel", false, 2, 0},   {"vs ref", "steady", false, 1, 0},
};

/* ---- parts --------------------------------------------------------------------------------------------------- */

static void print_cards(FILE *file, const struct report *report) {
  char text[REPORT_CARDS_MAX];
  report_cards(report, text);
  if (text[0] != '\0') text_paragraph(file, "cards     ", "%s", text);
}

/* What makes the times of a run something else than a kernel's own. */
static void print_profiled(FILE *file, const struct run_info *run) {
  if (run->profiled[0] != '\0')
    text_paragraph(file, "profiled  ", "%s was inside the process that measured: times hold the tool's work too",
                   run->profiled);
  if (run->profile_launches > 0)
    text_paragraph(file, "profile   ",
                   "%" PRIu32 " launch%s of each row for a profiler to capture, checked, not timed",
                   run->profile_launches, run->profile_launches == 1 ? "" : "es");
}

static void print_head(FILE *file, const struct report *report) {
  const struct journal_data *journal = report->journal;
  const struct run_info *run = &journal->run;
  char events[REPORT_EVENTS_MAX];
  /* A journal has a start; a table that was typed in has none. */
  if (run->started_utc[0] == '\0') {
    text_paragraph(file, "attnbench ", "did not measure this: times entered by hand");
  } else {
    text_paragraph(file, "attnbench ", "%s (commit %s), CUDA %s", run->version, run->git_commit, run->cuda);
  }
  if (report_origin(journal)[0] != '\0') text_paragraph(file, "file      ", "%s", report_origin(journal));
  if (journal->has_device) notes_device(file, &journal->device);
  print_cards(file, report);
  text_paragraph(file, "sweep     ", "%s (%s)%s%s", run->sweep_name, run->sweep_path,
                 run->sweep_about[0] != '\0' ? ": " : "", run->sweep_about);
  print_profiled(file, run);
  report_events(report, events);
  if (events[0] != '\0') text_paragraph(file, "events    ", "%s; --json and --csv have them without it too", events);
  fputc('\n', file);
}

static void print_finding(FILE *file, const struct report *report, const struct fold *fold) {
  const char *where = fold->worst->record->attn_case.key;
  char lead[32], more[48] = "", planned[288] = "";
  if (fold->count > 1) snprintf(more, sizeof more, " (worst of %zu cases)", fold->count);
  snprintf(lead, sizeof lead, "%-8s ", finding_severity_name((enum finding_severity)fold->severity));
  /* Beside rows that another device measured, a finding says which one it is about. */
  if (fold->worst->record->status == CELL_planned && report->journal->has_device)
    snprintf(planned, sizeof planned, ", as planned for %s", fold->worst->device->name);
  text_paragraph(file, lead, "%s: %s at %s%s%s", fold->variant, finding_name((enum finding_id)fold->kind), where,
                 more, planned);
  text_paragraph(file, "         ", "%s", fold->finding->measured);
  text_paragraph(file, "         -> ", "%s", fold->finding->advice);
}

static struct status print_findings(FILE *file, const struct report *report) {
  OWNED(fold_free) struct folds folds = {0};
  TRY(fold_findings(report, &folds));
  if (folds.count == 0) return status_ok();
  const size_t shown = report->all_findings || folds.count < FINDINGS_SHOWN_MAX ? folds.count : FINDINGS_SHOWN_MAX;
  fputs("\nfindings, worst first\n", file);
  for (size_t i = 0; i < shown; ++i) print_finding(file, report, &folds.item[i]);
  if (folds.count > shown)
    text_paragraph(file, "", "%zu more stand for less; `attnbench diagnose` on the report or journal has them all",
                   folds.count - shown);
  return status_ok();
}

static bool is_bounded(const struct report_row *row) { return row->leads_case && row->bound_by.known; }

/* One line for each case. */
static void print_bounds(FILE *file, const struct report *report) {
  if (report_first(report, is_bounded) != NULL) fputs("\nwhat bounds the fastest row of each case\n", file);
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct report_row *row = &report->rows[i];
    if (!is_bounded(row)) continue;
    text_paragraph(file, "  ", "%s %s (%s): %s", row->record->attn_case.key, row->record->variant,
                   time_mode_name(row->bound_by.mode), row->bound_by.text);
  }
}

/* "24 of 24 cells: 20 ok, 4 wrong; 10.8 s wall, 2.7 s of it GPU work" */
static void print_counts(FILE *file, const struct report *report) {
  const struct journal_data *journal = report->journal;
  char wall[UNITS_TEXT_MAX], gpu[UNITS_TEXT_MAX], text[REPORT_COUNTS_MAX + 256];
  double gpu_s = 0;
  report_counts(report, " cells", text);
  for (size_t i = 0; i < report->row_count; ++i) gpu_s += report->records[i].gpu_s;
  units_format_fixed(journal->wall_s, 2, wall);
  units_format_fixed(gpu_s, 2, gpu);
  const char *what = journal->has_device && journal->device.kind == DEVICE_CUDA ? "GPU" : "device";
  if (strcmp(journal->state, "complete") != 0) text_append(text, sizeof text, "; run %s", journal->state);
  if (journal->wall_s > 0)
    text_append(text, sizeof text, "; %s s wall, %s s of %s %s work", wall, gpu,
                journal->card_count > 1 ? "all cards'" : "it", what);
  text_paragraph(file, "", "%s", text);
}

static struct status print_summary(FILE *file, const struct report *report) {
  char fastest[FASTEST_TEXT_MAX];
  TRY(fastest_text(report, fastest));
  fputc('\n', file);
  if (fastest[0] != '\0') text_paragraph(file, "", "%s", fastest);
  print_counts(file, report);
  return status_ok();
}

/* Is there a case with several rows? Then cases head their rows. */
static bool has_groups(const struct report *report) {
  for (size_t i = 1; i < report->row_count; ++i) {
    if (strcmp(report->records[i - 1].attn_case.key, report->records[i].attn_case.key) == 0) return true;
  }
  return false;
}

static struct text_fit print_rows(FILE *file, const struct report *report) {
  const bool is_grouped = has_groups(report);
  const size_t left_out = report_first(report, report_has_speedup) != NULL ? 0 : 3;
  const struct text_table table = {.columns = main_columns,
                                   .first = is_grouped ? 1 : 0,
                                   .column_count = MAIN_COLUMN_COUNT - left_out,
                                   .rows = report->rows,
                                   .row_bytes = sizeof *report->rows,
                                   .row_count = report->row_count,
                                   .fill = fill_cells,
                                   .group = is_grouped ? group_case : NULL,
                                   .tone = tone_of};
  return text_table_write(file, &table);
}

struct status report_write_text(const struct report *report, FILE *file) {
  print_head(file, report);
  const struct text_fit fit = print_rows(file, report);
  TRY(notes_print(file, report, &fit));
  print_bounds(file, report);
  TRY(print_findings(file, report));
  TRY(scaling_text_print(file, report));
  return print_summary(file, report);
}
