/* Merges reports into one table: each case with its rows from all reports below each other, so that the measurements
 * of several programs can be compared. */
#pragma once

#include <stdio.h>

#include "cli/report/measured.h"
#include "cli/report/report.h"

enum { MERGE_SOURCES_MAX = 1024 };

struct merge_source {
  const char *path; /* owned by the caller; NULL: not from a file */
  const struct report *report;
  struct merge_loaded *loaded; /* data that merge_load read; NULL: the report is owned by the caller */
};

struct merge_row {
  size_t source; /* index */
  const struct report *report;
  size_t order;  /* position in the order of reading */
  size_t number; /* from 1, in the order of the rows */
  size_t case_number;
  size_t series; /* what a page draws in one colour; set by the page */
  const struct report_row *row;
  double us[TIME_MODE_COUNT]; /* medians; NAN when there is none */
  double best_ratio;          /* hot median / smallest hot median of its case on its device, twins left out; NAN
                                 without one */
  bool leads_case;            /* it is the fastest of its case, or alone in it */
  bool is_fastest;            /* it leads a case of two rows or more */
};

struct merge {
  struct merge_source source[MERGE_SOURCES_MAX];
  size_t source_count;
  struct merge_row *rows; /* by case, in order of first appearance; then by source, then as in the source */
  size_t row_count;
  bool mixed_devices;
  enum exit_code exit_code; /* what the rows ask for: the worst of the sources', wrong, then coverage */
};

/* Merges files that measured_load can read, of each the rows that are kept. Reports of unlike devices (kind, name or
 * number of SMs) are refused with STATUS_NOT_COMPARABLE unless across_devices: times are then compared only within a
 * device. On success the caller frees with merge_free; the paths must outlive *out. */
struct status merge_load(const char *const *paths, size_t count, const struct keep *, bool across_devices,
                         struct merge *out);
void merge_free(struct merge *);

/* Fills the rows from the sources. Fails only for lack of memory; free with merge_free. */
struct status merge_rows(struct merge *);

/* Whether the times of both devices can be compared: equal kind, name and number of SMs. */
bool merge_is_same_device(const struct device_info *, const struct device_info *);

/* Writes the text report: sources, table, and the reasons of rows without times. */
struct status merge_text_write(const struct merge *, FILE *);
