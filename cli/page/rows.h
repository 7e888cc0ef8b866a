/* The rows of a page as all its parts see them. */
#ifndef ATTNBENCH_CLI_PAGE_ROWS_H
#define ATTNBENCH_CLI_PAGE_ROWS_H

#include "cli/page/page.h"

enum { PAGE_NAME_MAX = VARIANT_SPEC_MAX + 16, PAGE_COLOURS = 12 /* of style.css */ };

/* What is drawn in one colour: a variant as one source has it. */
struct page_series {
  const char *variant;
  size_t source;
  size_t number;     /* of the variant, the same in every source: its colour */
  bool is_reference; /* that other rows were timed against */
};

struct page_row {
  const struct report_row *row;
  size_t source, series;
  size_t case_number; /* one for each case, in the order of their first appearance */
  size_t number;      /* from 1: its place in the table, and its anchor */
  bool is_fastest;    /* hot, of its case among the rows of its device */
};

struct page_source {
  const char *path; /* NULL: not known */
  const struct report *report;
};

struct page {
  struct page_source source[MERGE_SOURCES_MAX];
  size_t source_count;
  struct page_row *rows;
  size_t row_count;
  struct page_series *series;
  size_t series_count;
  const struct compare *compare; /* NULL: nothing is compared */
};

/* Fills rows and series from the sources; the caller frees with rows_free. STATUS_MEMORY. */
struct status rows_gather(struct page *);
void rows_free(struct page *);

/* "wgmma", or "wgmma (2)" on a page of several sources. */
void rows_series_text(const struct page *, size_t series, char out[PAGE_NAME_MAX]);
bool rows_is_same_device(const struct page_row *, const struct page_row *);
/* NULL when this mode of the row was not timed. */
const struct time_record *rows_time(const struct page_row *, enum time_mode);
/* The median that stands for a timed mode, and its interval: over the processes where several measured, else within
 * the one that did. */
struct page_interval {
  uint32_t processes; /* 0: one */
  double median_us, low_us, high_us;
};
struct page_interval rows_interval_of(const struct page_row *, enum time_mode);
/* The row of this cell as that source has it; NULL when there is none. */
const struct page_row *rows_find(const struct page *, size_t source, const char *key, const char *variant);

#endif
