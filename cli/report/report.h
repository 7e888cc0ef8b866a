/* Journal data with everything derived from it, and the sinks that write it: pure functions of the report. */
#ifndef ATTNBENCH_CLI_REPORT_REPORT_H
#define ATTNBENCH_CLI_REPORT_REPORT_H

#include <stdio.h>

#include "cli/analyse/diagnose.h"
#include "cli/base/json.h"
#include "cli/record/journal.h"

#define REPORT_SCHEMA "attnbench.report/1"

struct report_row {
  const struct record *record;
  const struct device_info *device; /* the device of this row: measured, or the model of planned rows */
  double kernel_ratio; /* the reference's kernels over the row's, as one profiler timed both; NAN when it did not */
  double cold_net_us;  /* cold median less what the events around a launch take; NAN when that is not known */
  struct metrics metrics;
  struct scaling scaling;
  struct {
    size_t count;
    struct finding *item; /* the row's own */
  } findings;
  bool is_fastest; /* of its case */
  bool is_twin;    /* it picked a variant that has a row of its own in its case: that one, measured twice */
};

/* Was the row timed against a reference, in either mode? */
static inline bool report_has_speedup(const struct speedup_record *speedup) {
  return speedup->mode[TIME_COLD].done || speedup->mode[TIME_HOT].done;
}

struct report {
  const struct journal_data *journal;
  const struct record *records; /* the journal's; or copies without the times of rows that are not ok, which have no
                                   speed anywhere */
  struct record *copies;        /* NULL: there are none */
  struct report_row *rows;      /* one per record, pointing into records */
  size_t row_count;
  uint64_t status_count[CELL_STATUS_COUNT];
  bool all_findings;        /* the text shows all, not the first of each row */
  enum exit_code exit_code; /* what the rows ask for: worst of wrong, coverage, ok; missing cells are coverage */
};

/* journal must outlive the report. */
struct status report_build(const struct journal_data *journal, struct report *out);
/* The same; advice is also looked up in `evidence`, which was read from `path`. Both must outlive the report.
 * STATUS_NOT_COMPARABLE when another kind of device measured it. */
struct status report_build_with(const struct journal_data *journal, const struct journal_data *evidence,
                                const char *path, struct report *out);
void report_free(struct report *);

/* "GPU-1: 12 rows, GPU-2: 9 rows" of a run with --devices, "" of others. */
enum { REPORT_CARDS_MAX = JOURNAL_CARDS_MAX * (RECORD_CARD_MAX + 16) };
void report_cards(const struct report *, char out[REPORT_CARDS_MAX]);
/* Does attnbench know no peak rate of this GPU's SMs? DRAM is the only roof of its rows then. */
bool report_roofs_are_unknown(const struct device_info *);
#define REPORT_NO_ROOFS "attnbench does not know the peak rates of this GPU's SMs, so DRAM is the only roof"

/* Each writes the whole report to an open stream; the caller checks ferror. */
struct status report_write_json(const struct report *, FILE *);
struct status report_write_csv(const struct report *, FILE *);
struct status report_write_text(const struct report *, FILE *);
/* google-benchmark's JSON, for what reads that: times and rates only. */
struct status report_write_gbench(const struct report *, FILE *);
/* For a CI: a test case per row, and a table of the rows. */
struct status report_write_junit(const struct report *, FILE *);
struct status report_write_annotations(const struct report *, FILE *); /* GitHub workflow commands, at most 10 */
struct status report_write_markdown(const struct report *, FILE *);

/* The reverse of report_write_json: the measured facts of a report, from which everything derived is derived again;
 * what is written of them is the same report. STATUS_INPUT names the place. The caller frees with journal_free. */
struct status report_read(const struct json_doc *, struct journal_data *out);

/* Writes to `path` atomically: a temporary file beside it, synced, then renamed over it; "-" is stdout. An existing
 * file is untouched until the new one is complete. STATUS_OUTPUT on failure. */
struct status report_save(const struct report *, const char *path,
                          struct status (*write)(const struct report *, FILE *));
/* Can `path` be written? Checked before anything is measured; leaves nothing behind. */
struct status report_probe(const char *path, const char *option);

#endif
