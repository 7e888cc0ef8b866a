/* The parts of a page. */
#pragma once

#include <stdio.h>

#include "cli/base/markup.h"
#include "cli/base/sorting.h"
#include "cli/page/page.h"

/* The rows of a page, which all its parts use. */

enum { PAGE_NAME_MAX = VARIANT_SPEC_MAX + 16, PAGE_COLOURS = 12, PAGE_DASHES = 4 /* of style.css */ };

/* A series: the rows of one variant in one source. */
struct page_series {
  const char *variant;
  size_t source;
  size_t number;     /* of the variant, the same in every source; selects the colour */
  bool is_reference; /* other rows were timed against this variant */
  bool is_twin;      /* each of its rows repeats the variant that it picked */
};

struct page {
  const struct merge_source *source;
  size_t source_count;
  struct merge_row *rows; /* copies of the rows of the merge, with their series set */
  size_t row_count;
  struct page_series *series;
  size_t series_count;
  const struct compare *compare; /* NULL: nothing is compared */
  bool is_memory_bound;          /* tensor cores bound no row */
};

/* Makes the page of a merge, which must outlive it; the caller frees with rows_free, also on failure.
 * STATUS_MEMORY. */
struct status rows_gather(const struct merge *, const struct compare *, struct page *out);
void rows_free(struct page *);

/* "wgmma", or "wgmma (2)" on a page of several sources. */
struct page_name {
  char text[PAGE_NAME_MAX];
};
struct page_name rows_series_text(const struct page *, size_t series);
/* Its classes of style.css: the colour of its variant, the dash of its round, what it is. */
struct page_name rows_series_style(const struct page *, size_t series);
/* 0 in the first source; above it in others, and where variants have to share a colour. */
size_t rows_series_round(const struct page_series *);
/* The times of a mode; NULL when it was not timed. */
const struct time_record *rows_time(const struct merge_row *, enum time_mode);
/* The median of a timed mode and its interval: over the processes when several measured it, else over the samples of
 * the one process; .processes is then 0, though there is an interval. */
struct process_interval rows_interval_of(const struct merge_row *, enum time_mode);
/* Writes the rows for which `is` returns true to out, which has room for all, in the order of `compare`, as for qsort
 * over pointers to rows. Returns their number. */
size_t rows_pick(const struct page *, bool (*is)(const struct merge_row *),
                 int (*compare)(const void *left, const void *right), const struct merge_row **out);
/* Whether `is` returns true for any row. */
bool rows_any(const struct page *, bool (*is)(const struct merge_row *));
/* The row of this cell as that source has it; NULL when there is none. */
const struct merge_row *rows_find(const struct page *, size_t source, const char *key, const char *variant);

/* The problem of a row's case. */
const struct attn_problem *rows_shape(const struct merge_row *);
/* By the number of queries, then of keys. */
int rows_compare_lengths(const struct attn_problem *, const struct attn_problem *);
/* Cases of one kind have the same D, dtype, query heads per KV head and traits (axes_compare_traits). Only B, H and S
 * differ. rows_compare_kinds orders as for qsort; 0: one kind. rows_kind_text writes "D 64, f16, causal mask". */
int rows_compare_kinds(const struct attn_problem *, const struct attn_problem *);
/* The same whatever mask they have; and by the mask alone, narrow ones first. */
int rows_compare_unmasked(const struct attn_problem *, const struct attn_problem *);
int rows_compare_masks(const struct attn_problem *, const struct attn_problem *);
bool rows_has_window(const struct attn_problem *); /* not that of a causal mask */
void rows_kind_text(const struct attn_problem *, char *out, size_t size);
enum { ROWS_TEXT_MAX = AXIS_TRAITS_MAX + 256 };
/* Leaves in `common` the parts of its text that the case has too; is_first: all of the case, "D 64, f16, causal mask,
 * B 4, H 32, S 512", with other keys "1 query, 4096 keys". */
void rows_share(const struct attn_problem *, bool is_first, char common[ROWS_TEXT_MAX]);
/* What else the case has. */
void rows_rest(const struct attn_problem *, const char *common, char out[ROWS_TEXT_MAX]);
/* The parts of such a text that `other` has too (shared) or lacks; `out` may be either text. */
void rows_parts(const char *text, const char *other, bool shared, char out[ROWS_TEXT_MAX]);
/* Whether DRAM is the roof of the hot row; where tensor cores bound no row of the page, also a DRAM roof that a cold
 * L2 alone has, so that all rows have one unit. */
bool rows_is_memory_bound(const struct page *, const struct merge_row *);

/* Everything before the parts and behind them; a part of <header>, up to <main>, is the caller's. */
void page_open(FILE *, const char *title);
void page_close(FILE *);

void head_write(const struct page *, FILE *);

/* The parts below the head, and whether each of them has anything to show. */
struct status verdict_part_write(const struct page *, FILE *);
struct status heat_part_write(const struct page *, FILE *);
bool heat_part_any(const struct page *);
struct status rate_figures_write(const struct page *, FILE *);
bool rate_figures_any(const struct page *);
bool rate_figures_any_latency(const struct page *); /* not where every case is the only one of its kind */
struct status roofline_figure_write(const struct page *, FILE *);
bool roofline_figure_any(const struct page *);
struct status scaling_figure_write(const struct page *, FILE *);
bool scaling_figure_any(const struct page *);
struct status cold_figure_write(const struct page *, FILE *);
bool cold_figure_any(const struct page *);
struct status table_part_write(const struct page *, FILE *);
struct status findings_part_write(const struct page *, FILE *);
bool findings_part_any(const struct page *);

/* How many findings of each severity a report has, those of one variant counted once, and those of a twin
 * with the variant that it picked. STATUS_MEMORY. */
struct status findings_part_count(const struct report *, size_t out[FINDING_SEVERE + 1]);

/* Writes texts and numbers as HTML, and as CSV within HTML. Texts may come from untrusted files. */

/* Escapes a text for element content and for attributes in double quotes. Invalid characters, and those that change
 * the direction of the following text, are replaced by U+FFFD. */
void html_text(FILE *, const char *text);
/* A sentence of attnbench itself, in which `words` in backquotes become <code>. */
void html_prose(FILE *, const char *text);
/* A text in which a line may break between its parts, such as a case's key or a variant's options: behind each dot,
 * colon and comma, but within no number. */
void html_breakable(FILE *, const char *text);
/* Like fprintf, but each %s is escaped (markup_put). */
#define html_put(file, ...) markup_put((file), html_text, __VA_ARGS__)
/* <tag>text</tag>; the tag may have attributes. */
void html_element(FILE *, const char *tag, const char *text);
/* A column of a table: its heading is HTML, and the script sorts by its "text" or "number" (NULL: not). */
struct html_heading {
  const char *heading, *sort;
  bool is_number;
};
/* Opens a table in a region that scrolls, up to its rows; the row past the last heading has none. */
void html_table_open(FILE *, const char *label, const char *caption, const struct html_heading *);
/* Opens a table's cell of a number, by which the script sorts; NAN: it has none. `style` are classes of style.css;
 * `label` and `unit`, which may be "", stand around the number on a narrow page, where rows are cards. */
void html_labelled_cell(FILE *, const char *style, const char *label, const char *unit, double value);

/* A field of CSV (markup_csv). */
void html_csv_text(FILE *, const char *text);
/* For each number, a comma and the shortest decimal text that reads back as it; nothing when it is not finite. */
void html_csv_numbers(FILE *, const double *numbers, size_t count);
