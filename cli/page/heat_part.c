/* The fastest variant beside the reference: a table with a line for each kind of case and a column for each S, or
 * where those are many, with all cells of a line in a row. Where few other variants were measured, a table against
 * each of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/page/parts.h"
#include "cli/report/columns.h"

enum { COLUMNS_MAX = 8, HEADING_MAX = 80, RIVALS_MAX = 2 };
static const double MUCH_FASTER = 1.15;

/* A row of the report and its place in the table. */
struct heat {
  const struct merge_row *row;
  size_t column;
  uint32_t B, Hq;          /* where cases of one kind share an S, so that they have lines of their own; else 0 */
  bool is_against_rival;   /* else against the reference */
  double ratio, low, high; /* times as fast, and its interval */
};

static const struct ratio_record *ratio_of(const struct merge_row *row) {
  return &row->row->record->speedup.mode[TIME_HOT];
}
static const struct ratio_record *steady_of(const struct merge_row *row) {
  return &row->row->record->speedup.mode[TIME_STEADY];
}
static bool is_shown(const struct merge_row *row) { return ratio_of(row)->done && !row->row->is_twin; }
static bool has_reference(const struct merge_row *row, const char *reference) {
  return strcmp(row->row->record->speedup.reference, reference) == 0;
}

static int by_length(const void *left, const void *right) {
  const struct merge_row *a = *(const struct merge_row *const *)left, *b = *(const struct merge_row *const *)right;
  return rows_compare_lengths(rows_shape(a), rows_shape(b));
}
/* By line, then by column, the fastest first. */
static int by_place(const void *left, const void *right) {
  const struct heat *a = left, *b = right;
  return SORTING_FIRST(rows_compare_kinds(rows_shape(a->row), rows_shape(b->row)), SORTING_ORDER(a->B, b->B),
                       SORTING_ORDER(a->Hq, b->Hq), SORTING_ORDER(a->column, b->column),
                       SORTING_ORDER(b->ratio, a->ratio), SORTING_ORDER(a->row->number, b->row->number));
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

/* The rival's row of the same case; NULL: it has none that was timed in turns with the reference. */
static const struct merge_row *rival_of(const struct page *page, const struct merge_row *row, const char *rival) {
  const struct merge_row *found = rows_find(page, row->source, row->row->record->attn_case.key, rival);
  const bool is_known =
      found != NULL && found != row && is_shown(found) && has_reference(found, row->row->record->speedup.reference);
  return is_known ? found : NULL;
}

/* Against a rival by way of the reference, with which either was timed in turns. */
static struct heat heat_of(const struct page *page, const struct merge_row *row, const char *rival, size_t column) {
  const struct ratio_record ratio =
      rival == NULL ? *ratio_of(row) : record_quotient(ratio_of(row), ratio_of(rival_of(page, row, rival)));
  return (struct heat){.row = row,
                       .column = column,
                       .is_against_rival = rival != NULL,
                       .ratio = ratio.ratio,
                       .low = ratio.ci_low,
                       .high = ratio.ci_high};
}

/* Numbers the lengths among rows in their order; returns how many there are, and writes the headings of the first. */
static size_t number_columns(const struct page *page, const char *rival, const struct merge_row *const *rows,
                             size_t count, struct heat *cells, char heading[COLUMNS_MAX][HEADING_MAX]) {
  size_t columns = 0;
  for (size_t i = 0; i < count; ++i) {
    const struct attn_problem *shape = rows_shape(rows[i]);
    if (i == 0 || rows_compare_lengths(rows_shape(rows[i - 1]), shape) != 0) {
      if (columns < COLUMNS_MAX && shape->Skv == shape->Sq)
        snprintf(heading[columns], HEADING_MAX, "S %" PRIu32, shape->Sq);
      else if (columns < COLUMNS_MAX)
        snprintf(heading[columns], HEADING_MAX, "%" PRIu32 " keys <small>%" PRIu32 " %s</small>", shape->Skv,
                 shape->Sq, shape->Sq == 1 ? "query" : "queries");
      ++columns;
    }
    cells[i] = heat_of(page, rows[i], rival, columns - 1);
  }
  return columns;
}

/* Of each case the fastest, which comes first, stays. */
static size_t keep_fastest(struct heat *cells, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (kept == 0 || !is_one_line(&cells[kept - 1], &cells[i]) || cells[kept - 1].column != cells[i].column)
      cells[kept++] = cells[i];
  }
  return kept;
}

/* ---- cells ----------------------------------------------------------------------------------------------------- */

/* The number of a class of style.css, heat-N, by what the cell shows. */
static int shade_of(const struct heat *cell) {
  const double shown = strtod(units_fixed(cell->ratio, 2).text, NULL);
  if ((cell->low <= 1 && cell->high >= 1) || (shown >= 1 && shown <= 1)) return 1;
  return shown < 1 ? 0 : shown <= MUCH_FASTER ? 2 : 3;
}

static void put_legend(FILE *file) {
  static const char *const words[] = {"slower", "no difference: 1.00, or the interval includes 1",
                                      "faster, up to 1.15", "above 1.15"};
  fputs("<ul class=\"swatches\">", file);
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
    fprintf(file, "<li><i class=\"heat-%zu\"></i>%s</li>", i, words[i]);
  fputs("</ul>\n", file);
}

/* `name` is what of the case the line does not say; NULL in a column. */
static void put_cell(const struct page *page, FILE *file, const struct heat *cell, const char *name,
                     bool has_several) {
  char text[TEXT_CELL_MAX];
  const char *tag = name != NULL ? "span" : "td";
  if (cell->is_against_rival) {
    units_format_fixed(cell->ratio, 2, text);
  } else {
    columns_text(cell->row->row, COLUMNS_SPEEDUP, text);
  }
  fprintf(file, "<%s class=\"%sheat-%d\">", tag, name != NULL ? "" : "n ", shade_of(cell));
  if (name != NULL && name[0] != '\0') html_put(file, "<small>%s</small> ", name);
  html_put(file, "<a href=\"#row-%zu\">%s</a>", cell->row->number, text);
  if (steady_of(cell->row)->done && !cell->is_against_rival)
    fprintf(file, " <small>steady %s</small>", units_fixed(steady_of(cell->row)->ratio, 2).text);
  if (has_several) {
    fputs(" <small>", file);
    html_breakable(file, page->series[cell->row->series].variant);
    fputs("</small>", file);
  }
  fprintf(file, "</%s>", tag);
}

/* Writes a line's name for a narrow screen: "D128 f16 causal GQA4" of "D 128, f16, causal mask, 4 query heads per KV
 * head". */
static void put_short_name(FILE *file, const char *name) {
  char part[ROWS_TEXT_MAX];
  bool is_first = true;
  for (const char *at = name; *at != '\0'; at += strcspn(at, ","), at += strspn(at, ", ")) {
    const size_t length = strcspn(at, ",");
    const int heads = (int)strspn(at, "0123456789");
    snprintf(part, sizeof part, "%.*s", (int)length, at);
    if (strcmp(part, "no mask") == 0) continue;
    if (!is_first) fputc(' ', file);
    is_first = false;
    if (heads > 0 && strstr(part, " query heads per KV head") == part + heads) {
      fprintf(file, "GQA%.*s", heads, part);
    } else if (strcmp(part, "causal mask") == 0) {
      fputs("causal", file);
    } else if (part[0] >= 'A' && part[0] <= 'Z' && part[1] == ' ') {
      fputc(part[0], file);
      html_text(file, part + 2);
    } else {
      html_text(file, part);
    }
  }
}

static void put_columns(const struct page *page, FILE *file, const struct heat *cells, size_t count, size_t columns,
                        bool has_several) {
  size_t at = 0;
  for (size_t column = 0; column < columns; ++column) {
    if (at < count && cells[at].column == column) {
      put_cell(page, file, &cells[at++], NULL, has_several);
    } else {
      fputs("<td></td>", file);
    }
  }
}

static void put_row_of_cells(const struct page *page, FILE *file, const struct heat *cells, size_t count,
                             const char *line, bool has_several) {
  char name[ROWS_TEXT_MAX];
  fputs("<td class=\"cells\">", file);
  for (size_t i = 0; i < count; ++i) {
    rows_rest(rows_shape(cells[i].row), line, name);
    put_cell(page, file, &cells[i], name, has_several);
  }
  fputs("</td>", file);
}

/* columns 0: all cells in a row. */
static void put_line(const struct page *page, FILE *file, const struct heat *cells, size_t count, size_t columns,
                     bool has_several) {
  char line[ROWS_TEXT_MAX];
  for (size_t i = 0; i < count && columns == 0; ++i) rows_share(rows_shape(cells[i].row), i == 0, line);
  if (columns > 0) rows_kind_text(rows_shape(cells[0].row), line, sizeof line);
  if (columns > 0 && cells[0].B != 0)
    text_append(line, sizeof line, ", B %" PRIu32 ", H %" PRIu32, cells[0].B, cells[0].Hq);
  html_put(file, "<tr><th scope=\"row\"><span class=\"wide\">%s</span><span class=\"narrow\">", line);
  put_short_name(file, line);
  fputs("</span></th>", file);
  if (columns > 0) {
    put_columns(page, file, cells, count, columns, has_several);
  } else {
    put_row_of_cells(page, file, cells, count, line, has_several);
  }
  fputs("</tr>\n", file);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

bool heat_part_any(const struct page *page) { return page->source_count == 1 && rows_any(page, is_shown); }

static void put_table(const struct page *page, FILE *file, const struct heat *cells, size_t count, size_t columns,
                      char heading[COLUMNS_MAX][HEADING_MAX]) {
  struct html_heading headings[COLUMNS_MAX + 2] = {{.heading = "case"}, {.heading = "ratio of each case"}};
  bool has_several = false;
  for (size_t i = 1; i < count; ++i) has_several = has_several || cells[i].row->series != cells[0].row->series;
  for (size_t i = 0; i < columns; ++i)
    headings[i + 1] = (struct html_heading){.heading = heading[i], .is_number = true};
  if (!has_several)
    html_put(file, "<p>The fastest other variant of every case is <code>%s</code>.</p>\n",
             page->series[cells[0].row->series].variant);
  if (cells[0].is_against_rival) {
    html_table_open(
        file, "Speed against another variant",
        "Hot time of this variant / that of the fastest other one beside the reference. Each was timed in "
        "turns with the reference, and the number is the quotient of their ratios.",
        headings);
  } else {
    put_legend(file);
    html_table_open(file, "Speed against the reference",
                    "Hot time of the reference / that of the fastest other variant. The two were timed in turns. "
                    "Each number is a link to its row.",
                    headings);
  }
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && is_one_line(&cells[start], &cells[end]);) ++end;
    put_line(page, file, cells + start, end - start, columns, has_several);
  }
  fputs("</tbody></table></div>\n", file);
}

/* The table against the rival, or the reference (NULL). */
static struct status put_against(const struct page *page, FILE *file, const char *reference, const char *rival) {
  OWNED_ARRAY(const struct merge_row *, rows, page->row_count, "rows of a table");
  OWNED_ARRAY(struct heat, cells, page->row_count, "cells of a table");
  char heading[COLUMNS_MAX][HEADING_MAX];
  const size_t all = rows_pick(page, is_shown, by_length, rows);
  size_t count = 0;
  for (size_t i = 0; i < all; ++i) {
    if (has_reference(rows[i], reference) && (rival == NULL || rival_of(page, rows[i], rival) != NULL))
      rows[count++] = rows[i];
  }
  if (count == 0) return status_ok();
  size_t columns = number_columns(page, rival, rows, count, cells, heading), lines = 1;
  qsort(cells, count, sizeof *cells, by_place);
  split_lines(cells, count);
  count = keep_fastest(cells, count);
  for (size_t i = 1; i < count; ++i) lines += !is_one_line(&cells[i - 1], &cells[i]);
  if (columns > COLUMNS_MAX || 2 * count < lines * columns) columns = 0; /* too wide, or nearly empty */
  put_table(page, file, cells, count, columns, heading);
  return status_ok();
}

/* Cases in which a series is the fastest beside the reference. */
static size_t leads_of(const struct page *page, size_t series) {
  size_t leads = 0;
  for (size_t i = 0; i < page->row_count; ++i)
    leads += page->rows[i].series == series && page->rows[i].row->leads_reference;
  return leads;
}

static bool has_ratio(const struct page *page, size_t series) {
  for (size_t i = 0; i < page->row_count; ++i) {
    if (page->rows[i].series == series && is_shown(&page->rows[i])) return true;
  }
  return false;
}

/* Tunings of one variant are no rivals. */
static bool is_one_variant(const char *a, const char *b) {
  const size_t length = strcspn(a, ":");
  return strcspn(b, ":") == length && strncmp(a, b, length) == 0;
}

/* The variants beside the one that leads most cases, if they are few. */
static size_t rivals_of(const struct page *page, const char *out[RIVALS_MAX]) {
  size_t leader = 0, count = 0;
  for (size_t s = 1; s < page->series_count; ++s) {
    if (leads_of(page, s) > leads_of(page, leader)) leader = s;
  }
  for (size_t s = 0; s < page->series_count; ++s) {
    const char *variant = page->series[s].variant;
    if (!has_ratio(page, s) || is_one_variant(variant, page->series[leader].variant)) continue;
    if (count == RIVALS_MAX) return 0;
    out[count++] = variant;
  }
  return count;
}

struct status heat_part_write(const struct page *page, FILE *file) {
  const char *rivals[RIVALS_MAX];
  const size_t count = rivals_of(page, rivals);
  size_t first = 0;
  while (!is_shown(&page->rows[first])) ++first;
  const char *reference = page->rows[first].row->record->speedup.reference;
  html_put(file, "<section id=\"heat\" aria-labelledby=\"heat-h\">\n<h2 id=\"heat-h\">Speed against %s</h2>\n",
           reference);
  TRY(put_against(page, file, reference, NULL));
  for (size_t i = 0; i < count; ++i) {
    html_put(file, "<details><summary>Speed against %s</summary>\n", rivals[i]);
    TRY(put_against(page, file, reference, rivals[i]));
    fputs("</details>\n", file);
  }
  fputs("</section>\n", file);
  return status_ok();
}
