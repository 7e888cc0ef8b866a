/* The fastest variant beside the reference: a table with a line for each kind of case and a column for each S. */
#include <inttypes.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/page/parts.h"
#include "cli/report/columns.h"

enum { COLUMNS_MAX = 24, HEADING_MAX = 32, LABEL_MAX = 512 };

/* A row of the report and its place in the table. */
struct heat {
  const struct merge_row *row;
  size_t column;
  uint32_t B, Hq; /* where cases of one kind share an S, so that they have lines of their own; else 0 */
};

static const struct ratio_record *ratio_of(const struct merge_row *row) {
  return &row->row->record->speedup.mode[TIME_HOT];
}
static bool is_shown(const struct merge_row *row) { return ratio_of(row)->done && !row->row->is_twin; }
static bool has_reference(const struct merge_row *row, const char *reference) {
  return strcmp(row->row->record->speedup.reference, reference) == 0;
}

static int compare_lengths(const struct attn_problem *a, const struct attn_problem *b) {
  const int by_queries = rows_order(a->Sq, b->Sq);
  return by_queries != 0 ? by_queries : rows_order(a->Skv, b->Skv);
}
static int by_length(const void *left, const void *right) {
  const struct merge_row *a = *(const struct merge_row *const *)left, *b = *(const struct merge_row *const *)right;
  return compare_lengths(rows_shape(a), rows_shape(b));
}
/* By line, then by column, the fastest first. */
static int by_place(const void *left, const void *right) {
  const struct heat *a = left, *b = right;
  const double x = a->row->best_ratio, y = b->row->best_ratio;
  const int orders[] = {rows_compare_kinds(rows_shape(a->row), rows_shape(b->row)),
                        rows_order(a->B, b->B),
                        rows_order(a->Hq, b->Hq),
                        rows_order(a->column, b->column),
                        (x > y) - (x < y),
                        rows_order(a->row->number, b->row->number)};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i) {
    if (orders[i] != 0) return orders[i];
  }
  return 0;
}

static bool is_one_line(const struct heat *a, const struct heat *b) {
  return rows_compare_kinds(rows_shape(a->row), rows_shape(b->row)) == 0 && a->B == b->B && a->Hq == b->Hq;
}

static bool is_one_batch(const struct attn_problem *a, const struct attn_problem *b) {
  return a->B == b->B && a->Hq == b->Hq;
}

/* Gives cases of one kind and one S that differ in B or H lines of their own. */
static void split_lines(struct heat *cells, size_t count) {
  for (size_t start = 0, end; start < count; start = end) {
    bool is_split = false;
    for (end = start; end < count && is_one_line(&cells[start], &cells[end]); ++end)
      is_split = is_split || (end > start && cells[end].column == cells[end - 1].column &&
                              !is_one_batch(rows_shape(cells[end].row), rows_shape(cells[end - 1].row)));
    for (size_t i = start; is_split && i < end; ++i)
      cells[i].B = rows_shape(cells[i].row)->B, cells[i].Hq = rows_shape(cells[i].row)->Hq;
  }
  qsort(cells, count, sizeof *cells, by_place);
}

/* Numbers the lengths among rows in their order; returns how many there are, and writes "S512" or "S1x4096" of each.
 */
static size_t number_columns(const struct merge_row *const *rows, size_t count, struct heat *cells,
                             char heading[COLUMNS_MAX][HEADING_MAX]) {
  size_t columns = 0;
  for (size_t i = 0; i < count; ++i) {
    const struct attn_problem *shape = rows_shape(rows[i]);
    if (i == 0 || compare_lengths(rows_shape(rows[i - 1]), shape) != 0) {
      if (columns == COLUMNS_MAX) return COLUMNS_MAX + 1;
      snprintf(heading[columns], HEADING_MAX, "S%" PRIu32, shape->Sq);
      if (shape->Skv != shape->Sq) text_append(heading[columns], HEADING_MAX, "x%" PRIu32, shape->Skv);
      ++columns;
    }
    cells[i] = (struct heat){.row = rows[i], .column = columns - 1};
  }
  return columns;
}

/* The number of a class of style.css, heat-N: 0 slower than the reference, 1 as fast or not known to be otherwise, 2
 * faster, 3 much faster. */
static int shade_of(const struct ratio_record *ratio) {
  if (ratio->ci_low <= 1 && ratio->ci_high >= 1) return 1;
  return ratio->ratio < 1 ? 0 : ratio->ratio < 1.15 ? 2 : 3;
}

static void put_cell(const struct page *page, FILE *file, const struct heat *cell, bool has_several) {
  char text[TEXT_CELL_MAX];
  columns_text(cell->row->row, COLUMNS_SPEEDUP, text);
  html_put(file, "<td class=\"n heat-%d\"><a href=\"#row-%zu\">%s</a>", shade_of(ratio_of(cell->row)),
           cell->row->number, text);
  if (has_several) html_put(file, "<small>%s</small>", page->series[cell->row->series].variant);
  fputs("</td>", file);
}

static void put_line(const struct page *page, FILE *file, const struct heat *cells, size_t count, size_t columns,
                     bool has_several) {
  char label[LABEL_MAX];
  rows_kind_text(rows_shape(cells[0].row), label, sizeof label);
  if (cells[0].B != 0) text_append(label, sizeof label, ", B %" PRIu32 ", H %" PRIu32, cells[0].B, cells[0].Hq);
  html_put(file, "<tr><th scope=\"row\">%s</th>", label);
  size_t at = 0;
  for (size_t column = 0; column < columns; ++column) {
    while (at < count && cells[at].column < column) ++at; /* slower rows of the column before */
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
  const size_t all = rows_pick(page, is_shown, by_length, rows);
  const char *reference = rows[0]->row->record->speedup.reference;
  size_t count = 0;
  for (size_t i = 0; i < all; ++i) {
    if (has_reference(rows[i], reference)) rows[count++] = rows[i];
  }
  const size_t columns = number_columns(rows, count, cells, heading);
  bool has_several = false;
  html_put(file, "<section id=\"heat\" aria-labelledby=\"heat-h\">\n<h2 id=\"heat-h\">Speed against %s</h2>\n",
           reference);
  if (columns > COLUMNS_MAX) {
    fprintf(file,
            "<p>The cases have more than %d different S, too many for columns. The column \"vs ref\" of the "
            "<a href=\"#rows\">table</a> has the ratio of each row.</p>\n</section>\n",
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
      "<p>Each number is the hot time of <code>%s</code> divided by that of the fastest other variant of the case. "
      "The two were timed in turns. Above 1 the variant is faster: light green up to 1.15, dark green from there "
      "on. Red is slower. Grey is a ratio whose interval includes 1. Each number is a link to its row.</p>\n",
      reference);
  html_table_open(file, "Speed against the reference", "Hot time of the reference / hot time of the variant",
                  headings);
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && is_one_line(&cells[start], &cells[end]);) ++end;
    put_line(page, file, cells + start, end - start, columns, has_several);
  }
  fputs("</tbody></table></div>\n</section>\n", file);
  return status_ok();
}
