/* The table of the text report that shows how times grow with B*H. */
#include "cli/report/scaling_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/report/columns.h"

/* ---- cells --------------------------------------------------------------------------------------------------- */

static const struct report_row *row_of(const void *row) { return *(const struct report_row *const *)row; }

static const enum columns_id ids[] = {COLUMNS_CASE,       COLUMNS_BH,         COLUMNS_FULL_BH,   COLUMNS_WORK_RATIO,
                                      COLUMNS_WAVE_RATIO, COLUMNS_LOAD_RATIO, COLUMNS_HOT_RATIO, COLUMNS_COLD_RATIO,
                                      COLUMNS_RESIDUAL,   COLUMNS_PER_PAIR,   COLUMNS_VERDICT};

static void fill_cells(const void *row, char cell[][TEXT_CELL_MAX]) {
  for (size_t i = 0; i < sizeof ids / sizeof *ids; ++i) columns_text(row_of(row), ids[i], cell[i]);
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

/* ---- groups -------------------------------------------------------------------------------------------------- */

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
                                   .fill = fill_cells,
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

struct status scaling_text_print(FILE *file, const struct report *report) {
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
