/* A report as tables and findings for people. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/report/columns.h"
#include "cli/report/fastest.h"
#include "cli/report/fold.h"
#include "cli/report/notes.h"
#include "cli/report/report.h"

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

/* ---- how times grow with B*H ----------------------------------------------------------------------------------- */

static const struct report_row *row_of(const void *row) { return *(const struct report_row *const *)row; }

static const enum columns_id scaling_ids[] = {COLUMNS_CASE,       COLUMNS_BH,         COLUMNS_FULL_BH,
                                              COLUMNS_WORK_RATIO, COLUMNS_WAVE_RATIO, COLUMNS_LOAD_RATIO,
                                              COLUMNS_HOT_RATIO,  COLUMNS_COLD_RATIO, COLUMNS_RESIDUAL,
                                              COLUMNS_PER_PAIR,   COLUMNS_VERDICT};

static void fill_scaling_cells(const void *row, char cell[][TEXT_CELL_MAX]) {
  for (size_t i = 0; i < sizeof scaling_ids / sizeof *scaling_ids; ++i)
    columns_text(row_of(row), scaling_ids[i], cell[i]);
}

static void group_variant(const void *row, char out[TEXT_CELL_MAX]) {
  columns_text(row_of(row), COLUMNS_VARIANT, out);
  columns_add_card(row_of(row), out);
}

static enum text_tone plain(const void *row) {
  (void)row;
  return TEXT_PLAIN;
}

static const struct text_column scaling_columns[] = {
    {"case", "", true, 0, 20},       {"B*H", "", false, 0, 0},        {"full at", "B*H", false, 7, 0},
    {"work", "ratio", false, 4, 0},  {"waves", "ratio", false, 1, 0}, {"per SM", "ratio", false, 6, 0},
    {"hot", "ratio", false, 0, 0},   {"cold", "ratio", false, 2, 0},  {"residual", "hot/waves", false, 3, 0},
    {"time", "us/B*H", false, 5, 0}, {"verdict", "", true, 0, 0},
};

/* By group, then as B*H grows. Rows of one report are contiguous, so addresses are the order of the report. */
static int compare_scaling(const void *a, const void *b) {
  const struct report_row *left = row_of(a), *right = row_of(b);
  const struct scaling *l = &left->scaling, *r = &right->scaling;
  if (l->baseline_index != r->baseline_index) return l->baseline_index < r->baseline_index ? -1 : 1;
  if (l->bh_ratio < r->bh_ratio || l->bh_ratio > r->bh_ratio) return l->bh_ratio < r->bh_ratio ? -1 : 1;
  return (left > right) - (left < right);
}

static bool same_group(const struct report_row *left, const struct report_row *right) {
  return left->scaling.baseline_index == right->scaling.baseline_index;
}

/* Does another group have the same variant? */
static bool has_siblings(const struct report_row *const *rows, size_t count, const struct report_row *row) {
  for (size_t i = 0; i < count; ++i) {
    const bool alike =
        strcmp(rows[i]->record->variant, row->record->variant) == 0 && record_same_card(rows[i]->record, row->record);
    if (alike && !same_group(rows[i], row)) return true;
  }
  return false;
}

static bool has_launch(const struct report_row *row) { return row->record->plan.pass_count > 0; }

/* "1.157 us per B*H at 8 (0.16 waves)" */
static void price_text(const struct report_row *row, char *out, size_t size) {
  char price[TEXT_CELL_MAX], bh[TEXT_CELL_MAX], waves[UNITS_TEXT_MAX];
  const double number = columns_number(row, COLUMNS_WAVES);
  columns_text(row, COLUMNS_PER_PAIR, price);
  columns_text(row, COLUMNS_BH, bh);
  units_format_fixed(number, number < 0.1 ? 4 : 2, waves);
  snprintf(out, size, has_launch(row) ? "%s us per B*H at %s (%s waves)" : "%s us per B*H at %s", price, bh, waves);
}

/* What the rows of a group say together: where its grid fills the GPU, and the price of a (batch, head) pair below
 * and above. rows are in the order of B*H. is_named: the baseline row
 * tells the group from others of its variant. */
static void print_group(FILE *file, const struct report_row *const *rows, size_t count, bool is_named) {
  const struct report_row *first = rows[0], *last = rows[count - 1];
  char full[TEXT_CELL_MAX], low[TEXT_CELL_MAX * 2], high[TEXT_CELL_MAX * 2], lead[TEXT_CELL_MAX];
  char baseline[TEXT_CELL_MAX * 2] = "";
  const bool is_full = isfinite(last->scaling.full_bh);
  if (!first->scaling.timed) return;
  columns_text(last, COLUMNS_FULL_BH, full);
  price_text(first, low, sizeof low);
  price_text(last, high, sizeof high);
  snprintf(lead, sizeof lead, "%s", first->record->variant);
  columns_add_card(first, lead);
  text_append(lead, sizeof lead, ": ");
  if (is_named) snprintf(baseline, sizeof baseline, "baseline %s: ", first->record->attn_case.key);
  if (first->device->kind == DEVICE_CPU) {
    text_paragraph(file, lead, "%s%s, %s", baseline, low, high);
    return;
  }
  text_paragraph(file, lead, "%s%s%s; %s, %s: %s", baseline, is_full ? "one wave is full at B*H = " : "",
                 is_full             ? full
                 : has_launch(first) ? "the grid does not grow with B*H"
                                     : "the launches are not known",
                 low, high, scaling_verdict_help(last->scaling.verdict));
}

static void print_table(FILE *file, const struct report_row **rows, size_t count) {
  const struct text_table table = {.columns = scaling_columns,
                                   .column_count = sizeof scaling_columns / sizeof *scaling_columns,
                                   .rows = rows,
                                   .row_bytes = sizeof *rows,
                                   .row_count = count,
                                   .fill = fill_scaling_cells,
                                   .group = group_variant,
                                   .tone = plain};
  qsort(rows, count, sizeof *rows, compare_scaling);
  fputs("\nscaling over B*H, against each group's baseline row\n", file);
  const struct text_fit fit = text_table_write(file, &table);
  text_fit_print(file, &fit, "--csv and --json");
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && same_group(rows[start], rows[end]);) ++end;
    print_group(file, rows + start, end - start, has_siblings(rows, count, rows[start]));
  }
}

/* Prints a heading, a table and a paragraph for each group of rows, and nothing without such groups. Fails only for
 * lack of memory. */
static struct status print_scaling(FILE *file, const struct report *report) {
  const struct report_row **rows = malloc((report->row_count + 1) * sizeof *rows);
  size_t count = 0;
  if (rows == NULL) return status_make(STATUS_MEMORY, "no memory for a table of %zu rows", report->row_count);
  for (size_t i = 0; i < report->row_count; ++i) {
    if (report->rows[i].scaling.known) rows[count++] = &report->rows[i];
  }
  if (count > 0) print_table(file, rows, count);
  free(rows);
  return status_ok();
}

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
  TRY(print_scaling(file, report));
  return print_summary(file, report);
}
