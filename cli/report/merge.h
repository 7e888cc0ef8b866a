/* Saved reports side by side: every case once, its rows from all of them below each other, so that what two programs
 * measured on one device can be compared. Reads attnbench.report/1, whoever wrote it, and journals. */
#ifndef ATTNBENCH_CLI_REPORT_MERGE_H
#define ATTNBENCH_CLI_REPORT_MERGE_H

#include <stdio.h>

#include "cli/base/json.h"
#include "cli/record/record.h"

enum { MERGE_SOURCES_MAX = 8 };

/* One report. Texts point into doc. */
struct merge_source {
  struct json_doc doc;
  const char *tool, *version, *sweep;
  const char *device; /* its name; NULL when nothing was measured */
  const char *device_kind;
  uint64_t sms, seed;
  enum exit_code exit_code; /* what its rows ask for */
};

struct merge_row {
  const struct merge_source *source;
  size_t source_number; /* from 1, as the table shows it */
  size_t case_number;   /* order of first appearance */
  size_t order;         /* of reading */
  const char *key, *variant, *status, *reason;
  double us[TIME_MODE_COUNT]; /* medians; NAN when there is none */
  double tflop_per_s;         /* hot */
  double max_abs_error;
  double best_ratio; /* hot median over the smallest of its case on its device, >= 1; NAN without one */
};

struct merge {
  struct merge_source source[MERGE_SOURCES_MAX];
  size_t source_count;
  struct merge_row *rows; /* by case, then by source, then as in the source */
  size_t row_count;
  bool mixed_devices;
  enum exit_code exit_code; /* the worst of the sources': wrong, then coverage */
};

/* Is the file a JSON report, of whatever version? False too when it cannot be read: whoever reads it will say so. */
bool merge_is_report(const char *path);

/* STATUS_INPUT when a file is no report. Reports of unlike devices (kind, name or number of SMs) are refused with
 * STATUS_NOT_COMPARABLE unless across_devices: then times are compared within a device only. On success the caller
 * frees with merge_free; *out must not move. */
struct status merge_load(const char *const *paths, size_t count, bool across_devices, struct merge *out);
void merge_free(struct merge *);

/* Sources, table and reasons for people. */
struct status merge_text_write(const struct merge *, FILE *);

#endif
