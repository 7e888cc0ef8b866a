/* The fastest variant beside the reference: a table with a line for each kind of case and a column for each S. */
#include <inttypes.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/page/parts.h"

enum { COLUMNS_MAX = 24, HEADING_MAX = 32, LABEL_MAX = 512 };

/* What stands in a line and a column, and the row that it is of. */
struct heat {
  const struct merge_row *row;
  size_t column;
  uint64_t heads; /* B * Hq, by which the cases of one kind have lines of their own where they share an S; else 0 */
};

static const struct attn_problem *shape_of(const struct merge_row *row) { return &row->row->record->attn_case.shape; }
static const struct ratio_record *ratio_of(const struct merge_row *row) {
  return &row->row->record->speedup.mode[TIME_HOT];
}
static bool is_shown(const struct merge_row *row) { return ratio_of(row)->done && !row->row->is_twin; }

static int order_of(uint64_t a, uint64_t b) { return (a > b) - (a < b); }
static int compare_lengths(const struct attn_problem *a, const struct attn_problem *b) {
  const int by_queries = order_of(a->Sq, b->Sq);
  return by_queries != 0 ? by_queries : order_of(a->Skv, b->Skv);
}
static uint64_t heads_of(const struct merge_row *row) { return (uint64_t)shape_of(row)->B * shape_of(row)->Hq; }

static int by_length(const void *left, const void *right) {
  const struct merge_row *a = *(const struct merge_row *const *)left, *b = *(const struct merge_row *const *)right;
  return compare_lengths(shape_of(a), shape_of(b));
}
/* By line, then column, the fastest beside the reference first. */
static int by_place(const void *left, const void *right) {
  const struct heat *a = left, *b = right;
  const int orders[] = {rows_compare_kinds(shape_of(a->row), shape_of(b->row)), order_of(a->heads, b->heads),
                        order_of(a->column, b->column)};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i) {
    if (orders[i] != 0) return orders[i];
  }
  const double x = ratio_of(a->row)->ratio, y = ratio_of(b->row)->ratio;
  return (x < y) - (x > y);
}

static bool is_one_line(const struct heat *a, const struct heat *b) {
  return rows_compare_kinds(shape_of(a->row), shape_of(b->row)) == 0 && a->heads == b->heads;
}

/* Gives cases of one kind and one S, but of unlike B * H, lines of their own. */
static void split_lines(struct heat *cells, size_t count) {
  for (size_t start = 0, end; start < count; start = end) {
    bool is_split = false;
    for (end = start; end < count && is_one_line(&cells[start], &cells[end]); ++end)
      is_split = is_split || (end > start && cells[end].column == cells[end - 1].column &&
                              heads_of(cells[end].row) != heads_of(cells[end - 1].row));
    for (size_t i = start; is_split && i < end; ++i) cells[i].heads = heads_of(cells[i].row);
  }
  qsort(cells, count, sizeof *cells, by_place);
}

/* Numbers the lengths among rows in their order; returns how many there are, and writes "S512" or "S1x4096" of each.
 */
static size_t number_columns(const struct merge_row *const *rows, size_t count, struct heat *cells,
                             char heading[COLUMNS_MAX][HEADING_MAX]) {
  size_t columns = 0;
  for (size_t i = 0; i < count; ++i) {
    const struct attn_problem *shape = shape_of(rows[i]);
    if (i == 0 || compare_lengths(shape_of(rows[i - 1]), shape) != 0) {
      if (columns == COLUMNS_MAX) return COLUMNS_MAX + 1;
      snprintf(heading[columns], HEADING_MAX, "S%" PRIu32, shape->Sq);
      if (shape->Skv != shape->Sq) text_append(heading[columns], HEADING_MAX, "x%" PRIu32, shape->Skv);
      ++columns;
    }
    cells[i] = (struct heat){.row = rows[i], .column = columns - 1};
  }
  return columns;
}

/* Of style.css: slower than the reference, as fast, faster, much faster. */
static int shade_of(double ratio) { return ratio < 0.98 ? 0 : ratio < 1.02 ? 1 : ratio < 1.15 ? 2 : 3; }

static void put_cell(const struct page *page, FILE *file, const struct heat *cell, bool has_several) {
  const double ratio = ratio_of(cell->row)->ratio;
  fprintf(file, "<td class=\"n heat-%d\"><a href=\"#row-%zu\">%.2f</a>", shade_of(ratio), cell->row->number, ratio);
  if (has_several) html_put(file, "<small>%s</small>", page->series[cell->row->series].variant);
  fputs("</td>", file);
}

static void put_line(const struct page *page, FILE *file, const struct heat *cells, size_t count, size_t columns,
                     bool has_several) {
  char label[LABEL_MAX];
  rows_kind_text(shape_of(cells[0].row), label, sizeof label);
  if (cells[0].heads != 0) text_append(label, sizeof label, ", B*H %" PRIu64, cells[0].heads);
  html_put(file, "<tr><th scope=\"row\">%s</th>", label);
  size_t at = 0;
  for (size_t column = 0; column < columns; ++column) {
    while (at < count && cells[at].column < column) ++at; /* slower variants of the column before */
    if (at < count && cells[at].column == column) {
      put_cell(page, file, &cells[at], has_several);
    } else {
      fputs("<td></td>", file);
    }
  }
  fputs("</tr>\n", file);
}

bool heat_part_any(const struct page *page) { return page->source_count == 1 && rows_any(page, is_shown); }

struct status heat_part_write(const struct page *page, FILE *file) {
  OWNED_ARRAY(const struct merge_row *, rows, page->row_count, "rows of a table");
  OWNED_ARRAY(struct heat, cells, page->row_count, "cells of a table");
  char heading[COLUMNS_MAX][HEADING_MAX];
  struct html_heading headings[COLUMNS_MAX + 2] = {{.heading = "case"}};
  const size_t count = rows_pick(page, is_shown, by_length, rows);
  const size_t columns = number_columns(rows, count, cells, heading);
  const char *reference = rows[0]->row->record->speedup.reference;
  bool has_several = false;
  html_put(file, "<section id=\"heat\" aria-labelledby=\"heat-h\">\n<h2 id=\"heat-h\">Beside %s</h2>\n", reference);
  if (columns > COLUMNS_MAX) {
    fprintf(file, "<p>There are more than %d lengths; the table below has the ratio of each row.</p>\n</section>\n",
            COLUMNS_MAX);
    return status_ok();
  }
  for (size_t i = 0; i < columns; ++i)
    headings[i + 1] = (struct html_heading){.heading = heading[i], .is_number = true};
  for (size_t i = 1; i < count; ++i) has_several = has_several || rows[i]->series != rows[0]->series;
  qsort(cells, count, sizeof *cells, by_place);
  split_lines(cells, count);
  html_put(
      file,
      "<p>The hot time of <code>%s</code> over that of the fastest other variant of the case, the two measured in "
      "turns: above 1 the variant is faster. A number leads to its row.</p>\n",
      reference);
  html_table_open(file, "Beside the reference", "Hot ratio by kind of case and by S", headings);
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && is_one_line(&cells[start], &cells[end]);) ++end;
    put_line(page, file, cells + start, end - start, columns, has_several);
  }
  fputs("</tbody></table></div>\n</section>\n", file);
  return status_ok();
}
