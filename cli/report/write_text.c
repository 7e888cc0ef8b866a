/* A report as tables and findings for people. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/sorting.h"
#include "cli/base/units.h"
#include "cli/report/columns.h"

enum { FINDINGS_SHOWN_MAX = 3, ROWS_SHOWN_MAX = 40, BOUNDS_SHOWN_MAX = 12 };

/* ---- tables of rows -------------------------------------------------------------------------------------------- */

static const struct report_row *row_of(const void *row) { return *(const struct report_row *const *)row; }

static const enum columns_id main_ids[] = {
    COLUMNS_CASE,  COLUMNS_SHORT_CASE, COLUMNS_VARIANT, COLUMNS_STATUS,        COLUMNS_HOT,
    COLUMNS_COLD,  COLUMNS_STEADY,     COLUMNS_RATE,    COLUMNS_ROOF,          COLUMNS_STEADY_RATE,
    COLUMNS_POWER, COLUMNS_ENERGY,     COLUMNS_GRID,    COLUMNS_BLOCKS,        COLUMNS_WAVES,
    COLUMNS_ERROR, COLUMNS_SPEEDUP,    COLUMNS_KERNEL,  COLUMNS_STEADY_SPEEDUP};
enum { MAIN_COLUMN_COUNT = sizeof main_ids / sizeof *main_ids };
_Static_assert((int)MAIN_COLUMN_COUNT <= (int)TEXT_COLUMNS_MAX, "a table has no more columns");

/* A case has two columns: its key and, where that would leave no room for times, its short name. */
enum { NAMES_OF_CASE = 2 };

static void fill_cells(const void *row, char cell[][TEXT_CELL_MAX]) {
  for (size_t i = 0; i < MAIN_COLUMN_COUNT; ++i) columns_text(row_of(row), main_ids[i], cell[i]);
}

/* Of rows that are all ok: the column of their status is left out. */
static void fill_ok_cells(const void *row, char cell[][TEXT_CELL_MAX]) {
  enum { STATUS_CELL = NAMES_OF_CASE + 1 };
  fill_cells(row, cell);
  snprintf(cell[STATUS_CELL], TEXT_CELL_MAX, "-");
}

static bool all_are_ok(const struct report_row *const *rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (rows[i]->record->status != CELL_ok) return false;
  }
  return true;
}

static void group_case(const void *row, char out[TEXT_CELL_MAX]) {
  columns_text(row_of(row), COLUMNS_CASE, out);
  columns_add_card(row_of(row), out);
}

/* Marked are the fastest of each case, and what failed. */
static enum text_tone tone_of(const void *of) {
  const struct report_row *row = row_of(of);
  if (cell_status_exit_code(row->record->status) != EXIT_CODE_OK) return TEXT_BAD;
  return row->is_fastest ? TEXT_BEST : TEXT_PLAIN;
}

/* The names of the case are left out where cases head their rows, the last three of a report whose rows were timed
 * against nothing. */
static const struct text_column main_columns[] = {
    {"case", "", true, 0, 20},          {"case", "B,H,S,D", true, 0, 20}, {"variant", "", true, 0, 12},
    {"status", "", true, 0, 0},         {"hot", "us", false, 0, 0},       {"cold", "us", false, 3, 0},
    {"steady", "us", false, 1, 0},      {"rate", "TFLOP/s", false, 2, 0}, {"roof", "% of peak", false, 4, 0},
    {"steady", "TFLOP/s", false, 1, 0}, {"power", "W", false, 9, 0},      {"energy", "pJ/FLOP", false, 10, 0},
    {"grid", "x,y,z", false, 8, 0},     {"blocks", "", false, 7, 0},      {"waves", "", false, 6, 0},
    {"error", "max abs", false, 5, 0},  {"vs ref", "hot", false, 0, 0},   {"vs ref", "kernel", false, 2, 0},
    {"vs ref", "steady", false, 1, 0},
};

/* Rows that nobody measured: no times, no rates. */
static const enum columns_id planned_ids[] = {COLUMNS_CASE, COLUMNS_VARIANT, COLUMNS_STATUS,
                                              COLUMNS_GRID, COLUMNS_BLOCKS,  COLUMNS_WAVES};
enum { PLANNED_COLUMN_COUNT = sizeof planned_ids / sizeof *planned_ids };
static const struct text_column planned_columns[] = {{"case", "", true, 0, 20},   {"variant", "", true, 0, 12},
                                                     {"status", "", true, 0, 0},  {"grid", "x,y,z", false, 3, 0},
                                                     {"blocks", "", false, 2, 0}, {"waves", "", false, 1, 0}};

static void fill_planned_cells(const void *row, char cell[][TEXT_CELL_MAX]) {
  for (size_t i = 0; i < PLANNED_COLUMN_COUNT; ++i) columns_text(row_of(row), planned_ids[i], cell[i]);
}

static bool is_planned(const struct report_row *row) { return row->record->status == CELL_planned; }

/* A row that tells of this machine: measured, or tried in vain. */
static bool is_tried(const struct report_row *row) { return !is_planned(row) && row->record->status != CELL_skipped; }

/* Rows of a report that was only planned, or of one with rows of both kinds. */
static bool has_both(const struct report *report) {
  return report_first(report, is_planned) != NULL && report_first(report, is_tried) != NULL;
}

/* Is there a case with several rows? Then cases head their rows. */
static bool has_groups(const struct report_row *const *rows, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    if (strcmp(rows[i - 1]->record->attn_case.key, rows[i]->record->attn_case.key) == 0) return true;
  }
  return false;
}

/* On a terminal many rows are too much: the fastest of each case, and what failed. */
static size_t keep_marked(const struct report_row **rows, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (rows[i]->leads_case || tone_of(&rows[i]) != TEXT_PLAIN) rows[kept++] = rows[i];
  }
  return kept;
}

/* Writes the rows that are planned, or the others; of a report that has only one of the two kinds all, whatever is
 * asked for. `rows` has room for all rows of the report. */
static struct text_fit print_rows(FILE *file, const struct report *report, const struct report_row **rows,
                                  bool wants_planned) {
  const size_t left_out = report_first(report, report_has_speedup) != NULL ? 0 : 3;
  const bool is_plan = wants_planned || report_first(report, is_tried) == NULL;
  size_t count = 0;
  for (size_t i = 0; i < report->row_count; ++i) {
    if (!has_both(report) || is_planned(&report->rows[i]) == wants_planned) rows[count++] = &report->rows[i];
  }
  const size_t all = count;
  if (text_is_terminal(file) && all > ROWS_SHOWN_MAX && !is_plan) count = keep_marked(rows, count);
  const bool is_grouped = has_groups(rows, count), is_short = text_width(file) < TEXT_WIDTH && !is_grouped;
  struct text_table table =
      TEXT_TABLE(main_columns, MAIN_COLUMN_COUNT - left_out, rows, count, fill_cells,
                 .first = is_grouped ? NAMES_OF_CASE : 0, .group = is_grouped ? group_case : NULL, .tone = tone_of);
  if (is_short && all_are_ok(rows, count)) table.fill = fill_ok_cells;
  if (is_plan) {
    table.columns = planned_columns, table.column_count = PLANNED_COLUMN_COUNT, table.fill = fill_planned_cells;
    table.first = is_grouped ? 1 : 0;
  } else {
    table.short_column = NAMES_OF_CASE - 1;
  }
  const struct text_fit fit = text_table_write(file, &table);
  if (count < all)
    text_paragraph(
        file, "",
        "%zu of %zu rows are left out: these are the fastest of each case and those that failed. A pipe or "
        "a file gets all rows; --filter and --variants choose",
        all - count, all);
  return fit;
}

/* ---- how times grow with B*H ----------------------------------------------------------------------------------- */

enum { GROWTHS_SHOWN_MAX = 12 };

/* A row beside the baseline row of its group. */
struct growth {
  const struct report_row *from, *to;
};

static const enum columns_id growth_ids[] = {
    COLUMNS_VARIANT,    COLUMNS_CASE,       COLUMNS_SHORT_CASE, COLUMNS_BH,        COLUMNS_FULL_BH,
    COLUMNS_WORK_RATIO, COLUMNS_WAVE_RATIO, COLUMNS_LOAD_RATIO, COLUMNS_HOT_RATIO, COLUMNS_COLD_RATIO,
    COLUMNS_RESIDUAL,   COLUMNS_PER_PAIR,   COLUMNS_VERDICT};
enum { GROWTH_COLUMN_COUNT = sizeof growth_ids / sizeof *growth_ids };
static const struct text_column growth_columns[] = {
    {"variant", "", true, 0, 12}, {"case", "", true, 0, 20},       {"case", "B,H,S,D", true, 0, 20},
    {"B*H", "", false, 0, 0},     {"full at", "B*H", false, 8, 0}, {"work", "x", false, 5, 0},
    {"waves", "x", false, 0, 0},  {"per SM", "x", false, 7, 0},    {"hot", "x", false, 0, 0},
    {"cold", "x", false, 3, 0},   {"residual", "", false, 4, 0},   {"us/B*H", "", false, 6, 0},
    {"verdict", "", true, 0, 0},
};

static void fill_growth_cells(const void *of, char cell[][TEXT_CELL_MAX]) {
  const struct growth *growth = of;
  for (size_t i = 0; i < GROWTH_COLUMN_COUNT; ++i) {
    const bool has_both_ends = growth_ids[i] == COLUMNS_BH || growth_ids[i] == COLUMNS_PER_PAIR;
    char from[TEXT_CELL_MAX], to[TEXT_CELL_MAX];
    columns_text(growth->from, growth_ids[i], from);
    columns_text(growth->to, growth_ids[i], to);
    const bool is_known = has_both_ends && strcmp(to, "-") != 0;
    snprintf(cell[i], TEXT_CELL_MAX, is_known ? "%s -> %s" : "%.0s%s", is_known ? from : "", to);
  }
  columns_add_card(growth->to, cell[0]);
}

/* By group, then as B*H grows. Rows of one report are contiguous, so addresses are the order of the report. */
static int compare_growth(const void *a, const void *b) {
  const struct report_row *left = ((const struct growth *)a)->to, *right = ((const struct growth *)b)->to;
  return SORTING_FIRST(SORTING_ORDER(left->scaling.baseline_index, right->scaling.baseline_index),
                       SORTING_ORDER(left->scaling.bh_ratio, right->scaling.bh_ratio), SORTING_ORDER(left, right));
}

/* More than the waves of the grid explain, or a grid that has none to explain it. */
static bool deserves_a_look(const struct growth *growth) {
  switch (growth->to->scaling.verdict) {
    case SCALING_serial:
    case SCALING_worse_than_waves:
    case SCALING_linear_without_grid:
    case SCALING_superlinear_without_grid: return growth->to->device->kind != DEVICE_CPU;
    default: return false;
  }
}

/* What each verdict of the table means. */
static void print_verdicts(FILE *file, const struct growth *growths, size_t count) {
  for (enum scaling_verdict verdict = 0; verdict < SCALING_VERDICT_COUNT; ++verdict) {
    char lead[TEXT_CELL_MAX];
    snprintf(lead, sizeof lead, "%s = ", scaling_verdict_name(verdict));
    for (size_t i = 0; i < count; ++i) {
      if (growths[i].to->scaling.verdict != verdict || growths[i].to->device->kind == DEVICE_CPU) continue;
      if (verdict != SCALING_none) text_paragraph(file, lead, "%s", scaling_verdict_help(verdict));
      break;
    }
  }
}

/* "30 more groups are left out: 21 as_blocks_per_sm, 9 flat; ..." */
static void print_growths_left_out(FILE *file, const size_t left_out[SCALING_VERDICT_COUNT]) {
  char text[512] = "";
  size_t count = 0;
  for (enum scaling_verdict verdict = 0; verdict < SCALING_VERDICT_COUNT; ++verdict) {
    const char *name = verdict == SCALING_none ? "without a verdict" : scaling_verdict_name(verdict);
    if (left_out[verdict] > 0)
      text_append(text, sizeof text, "%s%zu %s", count > 0 ? ", " : "", left_out[verdict], name);
    count += left_out[verdict];
  }
  if (count > 0)
    text_paragraph(file, "", "%zu more %s left out: %s; `attnbench diagnose` shows every row", count,
                   count == 1 ? "group is" : "groups are", text);
}

/* Of a diagnosis all rows. Else of each group the row with the most pairs; where these are many, those that deserve
 * a look. Writes a heading and a table, and nothing without groups. Fails only for lack of memory. */
static struct status print_growths(FILE *file, const struct report *report) {
  OWNED_ARRAY(struct growth, growths, report->row_count, "rows of a table");
  size_t count = 0, shown = 0, left_out[SCALING_VERDICT_COUNT] = {0};
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct report_row *row = &report->rows[i];
    const bool is_measured = !is_planned(row) || !has_both(report);
    if (!row->scaling.known || row->scaling.is_baseline || !is_measured) continue;
    /* Its times are those of the variant that it picked. */
    if (row->is_twin && report->rows[row->scaling.baseline_index].is_twin) continue;
    if (report->all_findings || i == row->scaling.widest_index)
      growths[count++] = (struct growth){&report->rows[row->scaling.baseline_index], row};
  }
  const bool is_short = report->all_findings || count <= GROWTHS_SHOWN_MAX;
  for (size_t i = 0; i < count; ++i) {
    if (is_short || (deserves_a_look(&growths[i]) && shown < GROWTHS_SHOWN_MAX)) {
      growths[shown++] = growths[i];
    } else {
      ++left_out[growths[i].to->scaling.verdict];
    }
  }
  if (count == 0) return status_ok();
  if (shown > 0) qsort(growths, shown, sizeof *growths, compare_growth);
  const struct text_table table =
      TEXT_TABLE(growth_columns, GROWTH_COLUMN_COUNT, growths, shown, fill_growth_cells, .short_column = 2);
  fputs("\nscaling over B*H: how many times work, waves of the grid and times grew\n", file);
  if (shown > 0) {
    const struct text_fit fit = text_table_write(file, &table);
    print_verdicts(file, growths, shown);
    text_fit_print(file, &fit, "--csv and --json");
  }
  print_growths_left_out(file, left_out);
  return status_ok();
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

/* What makes the times of a run something else than a kernel's own. */
static void print_profiled(FILE *file, const struct run_info *run) {
  if (run->profiled[0] != '\0')
    text_paragraph(file, "profiled  ", "%s was inside the process that measured: times include the tool's work",
                   run->profiled);
  if (run->profile_launches > 0)
    text_paragraph(file, "profile   ",
                   "%" PRIu32 " launch%s of each row for a profiler to capture, checked, not timed",
                   run->profile_launches, run->profile_launches == 1 ? "" : "es");
}

static void print_head(FILE *file, const struct report *report) {
  const struct journal_data *journal = report->journal;
  const struct run_info *run = &journal->run;
  char cards[REPORT_CARDS_MAX], events[REPORT_EVENTS_MAX];
  /* A journal has a start; a table that was typed in has none. */
  if (run->started_utc[0] == '\0') {
    text_paragraph(file, "attnbench ", "did not measure this: times entered by hand");
  } else {
    text_paragraph(file, "attnbench ", "%s (commit %s), CUDA %s", run->version, run->git_commit, run->cuda);
    if (run->commit[0] != '\0') text_paragraph(file, "kernel    ", "commit %s", run->commit);
  }
  if (report_origin(journal)[0] != '\0') text_paragraph(file, "file      ", "%s", report_origin(journal));
  if (journal->has_device) notes_device(file, &journal->device);
  if (!has_both(report)) notes_planned(file, report);
  report_cards(report, cards);
  if (cards[0] != '\0') text_paragraph(file, "cards     ", "%s", cards);
  text_paragraph(file, "sweep     ", "%s (%s)%s%s", run->sweep_name, run->sweep_path,
                 run->sweep_about[0] != '\0' ? ": " : "", run->sweep_about);
  print_profiled(file, run);
  report_events(report, events);
  if (events[0] != '\0') text_paragraph(file, "events    ", "%s; --json and --csv have them without it too", events);
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

/* Those of planned rows, or of the others. Those of timed rows come by the time that they stand for, whatever their
 * severity. */
static struct status print_findings(FILE *file, const struct report *report, bool of_plan) {
  OWNED(fold_free) struct folds folds = {0};
  size_t shown = 0, more = 0;
  TRY(fold_findings(report, false, &folds));
  for (size_t i = 0; i < folds.count; ++i) {
    if (is_planned(folds.item[i].worst) != of_plan) continue;
    if (shown == FINDINGS_SHOWN_MAX && !report->all_findings) {
      ++more;
      continue;
    }
    if (shown++ == 0) fprintf(file, "\nfindings, %s first\n", of_plan ? "worst" : "most time");
    print_finding(file, report, &folds.item[i]);
  }
  if (shown == 0 && report->all_findings && !of_plan) fputs("\nno findings\n", file);
  if (more > 0)
    text_paragraph(
        file, "", "%zu more findings stand for less time; `attnbench diagnose` on the report or journal has them all",
        more);
  return status_ok();
}

/* A line for each case; where these are many, for each limit of a variant. */
static struct status print_bounds(FILE *file, const struct report *report) {
  OWNED(fold_free) struct folds folds = {0}, limits = {0};
  TRY(fold_bounds(report, true, &folds));
  TRY(fold_bounds(report, false, &limits));
  const struct folds *shown = folds.count > BOUNDS_SHOWN_MAX && !report->all_findings ? &limits : &folds;
  if (shown->count > 0) fputs("\nwhat bounds the fastest row of each case\n", file);
  for (size_t i = 0; i < shown->count; ++i) {
    const struct fold *fold = &shown->item[i];
    const struct bound_by *bound = &fold->worst->bound_by;
    char more[48] = "";
    if (fold->count > 1) snprintf(more, sizeof more, ", slowest of %zu cases", fold->count);
    text_paragraph(file, "  ", "%s %s (%s%s): %s", fold->worst->record->attn_case.key, fold->variant,
                   time_mode_name(bound->mode), more, bound->text);
  }
  if (shown != &folds)
    text_wrap(file, "", 0, "one line for each limit of a variant; `attnbench diagnose`, --json and --csv have all");
  return status_ok();
}

/* "24 of 24 cells: 20 ok, 4 wrong; 10.8 s wall, 2.7 s of it GPU work" */
static void print_counts(FILE *file, const struct report *report) {
  const struct journal_data *journal = report->journal;
  char text[REPORT_COUNTS_MAX + 256];
  double gpu_s = 0;
  report_counts(report, " cells", text);
  for (size_t i = 0; i < report->row_count; ++i) gpu_s += report->records[i].gpu_s;
  const char *what = journal->has_device && journal->device.kind == DEVICE_CUDA ? "GPU" : "device";
  if (strcmp(journal->state, "complete") != 0) text_append(text, sizeof text, "; run %s", journal->state);
  if (journal->wall_s > 0)
    text_append(text, sizeof text, "; %s s wall, %s s of %s %s work", units_fixed(journal->wall_s, 2).text,
                units_fixed(gpu_s, 2).text, journal->card_count > 1 ? "all cards'" : "it", what);
  text_paragraph(file, "", "%s", text);
}

static struct status print_answer(FILE *file, const struct report *report) {
  char fastest[FASTEST_TEXT_MAX];
  TRY(fastest_text(report, fastest));
  if (fastest[0] != '\0') {
    fputc('\n', file);
    text_paragraph(file, "", "%s", fastest);
  }
  return status_ok();
}

/* Who named the device asked for no other one's rows. */
static bool hides_planned(const struct report *report) {
  const char *command = report->journal->run.command;
  const bool is_named = strstr(command, " --device ") != NULL || strstr(command, " --device=") != NULL;
  return has_both(report) && is_named && !report->all_findings;
}

/* Where rows were measured, those that were only planned follow by themselves. */
static struct status print_planned(FILE *file, const struct report *report, const struct report_row **rows) {
  if (hides_planned(report)) {
    fputc('\n', file);
    text_paragraph(file, "", "%" PRIu64 " planned rows for %s: see --json, or `attnbench plan`",
                   report->status_count[CELL_planned], report_first(report, is_planned)->device->name);
    return status_ok();
  }
  if (has_both(report)) {
    fputc('\n', file);
    notes_planned(file, report);
    const struct text_fit fit = print_rows(file, report, rows, true);
    text_fit_print(file, &fit, "--csv and --json");
  }
  return print_findings(file, report, true);
}

/* The table of times, and what there is to say of it. */
static struct status print_times(FILE *file, const struct report *report, const struct report_row **rows) {
  fputc('\n', file);
  const struct text_fit fit = print_rows(file, report, rows, false);
  return notes_print(file, report, &fit);
}

struct status report_write_text(const struct report *report, FILE *file) {
  OWNED_ARRAY(const struct report_row *, rows, report->row_count, "rows of a table");
  const bool is_diagnosis = report->all_findings;
  print_head(file, report);
  TRY(print_answer(file, report));
  if (is_diagnosis) TRY(print_findings(file, report, false));
  TRY(is_diagnosis ? notes_print(file, report, NULL) : print_times(file, report, rows));
  TRY(print_bounds(file, report));
  if (!is_diagnosis) TRY(print_findings(file, report, false));
  TRY(print_growths(file, report));
  TRY(print_planned(file, report, rows));
  fputc('\n', file);
  print_counts(file, report);
  return status_ok();
}
