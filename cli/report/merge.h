/* Saved reports side by side: every case once, its rows from all of them below each other, so that what two programs
 * measured on one device can be compared. */
#ifndef ATTNBENCH_CLI_REPORT_MERGE_H
#define ATTNBENCH_CLI_REPORT_MERGE_H

#include <stdio.h>

#include "cli/report/report.h"

enum { MERGE_SOURCES_MAX = 8 };

/* One file. */
struct merge_source {
  const char *path; /* the caller's */
  struct journal_data data;
  struct report report;
};

struct merge_row {
  const struct merge_source *source;
  size_t source_number; /* from 1, as the table shows it */
  size_t case_number;   /* order of first appearance */
  size_t order;         /* of reading */
  const struct report_row *row;
  double us[TIME_MODE_COUNT]; /* medians; NAN when there is none */
  double best_ratio;          /* hot median over the smallest of its case on its device; NAN without one */
  bool is_fastest;            /* it is the smallest of two or more */
};

struct merge {
  struct merge_source source[MERGE_SOURCES_MAX];
  size_t source_count;
  struct merge_row *rows; /* by case, then by source, then as in the source */
  size_t row_count;
  bool mixed_devices;
  enum exit_code exit_code; /* what the rows ask for: the worst of the sources', wrong, then coverage */
};

/* Of anything that measured_load reads. Reports of unlike devices (kind, name or number of SMs) are refused with
 * STATUS_NOT_COMPARABLE unless across_devices: then times are compared within a device only. On success the caller
 * frees with merge_free; *out and the paths must not move. */
struct status merge_load(const char *const *paths, size_t count, bool across_devices, struct merge *out);
void merge_free(struct merge *);

/* Sources, table and reasons for people. */
struct status merge_text_write(const struct merge *, FILE *);

#endif
