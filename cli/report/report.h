/* A report: journal data with everything that is derived from it, and functions that write it in each format. */
#pragma once

#include <stdio.h>

#include "cli/analyse/bound_by.h"
#include "cli/analyse/diagnose.h"
#include "cli/record/journal.h"

#define REPORT_SCHEMA "attnbench.report/1"

struct report_row {
  const struct record *record;
  const struct device_info *device; /* the device of this row: measured, or the model of planned rows */
  double kernel_ratio; /* time of the reference's kernels / time of the row's, from one profiler; NAN without it */
  double cold_net_us;  /* cold median less the overhead of the events around a launch; NAN when unknown */
  /* Of the steady mode; NAN when the device does not count energy. The second is without what the device drew while
   * it was idle, before the run; NAN when that is not known. */
  double energy_pj_per_flop, energy_over_idle_pj_per_flop;
  struct process_interval between[TIME_MODE_COUNT]; /* of the median, over the processes that measured the mode */
  struct metrics metrics;
  struct scaling scaling;
  struct {
    size_t count;
    struct finding *item; /* the row's own */
  } findings;
  struct bound_by bound_by;
  bool is_fastest;      /* of its case */
  bool leads_case;      /* the fastest, or the only one that was timed */
  bool leads_reference; /* the fastest of its case beside the reference, with which it was timed in turns */
  bool is_twin; /* it picked a variant that has its own row in the case, so that this one was measured twice */
};

struct report {
  const struct journal_data *journal;
  const struct record *records; /* those of the journal, or `copies` */
  struct record *copies;        /* records in which rows that are not ok have no times; NULL: not needed */
  struct report_row *rows;      /* one per record, pointing into records */
  size_t row_count;
  uint64_t status_count[CELL_STATUS_COUNT];
  bool all_findings;        /* the text report shows all findings, not only the first ones of each row */
  enum exit_code exit_code; /* the worst that a row asks for: wrong, coverage, ok; missing cells ask for coverage */
};

/* Derives the report from the journal, which must outlive it. Free with report_free. */
struct status report_build(const struct journal_data *journal, struct report *out);
/* The same, with advice that also uses the measurements in `evidence`, which was read from `path`. All must outlive
 * the report. STATUS_NOT_COMPARABLE when another kind of device measured the evidence. */
struct status report_build_with(const struct journal_data *journal, const struct journal_data *evidence,
                                const char *path, struct report *out);
void report_free(struct report *);

/* What the one device of the run drew while it was idle; NAN where that is not known. */
double report_idle_power_w(const struct journal_data *);

/* "GPU-1: 12 rows, GPU-2: 9 rows" of a run with --devices, "" of others. */
enum { REPORT_CARDS_MAX = JOURNAL_CARDS_MAX * (RECORD_CARD_MAX + 16) };
void report_cards(const struct report *, char out[REPORT_CARDS_MAX]);
/* "24 of 24 cells: 20 ok, 4 wrong", where `what` is " cells". */
enum { REPORT_COUNTS_MAX = 256 };
void report_counts(const struct report *, const char *what, char out[REPORT_COUNTS_MAX]);
/* Describes the overhead in cold times; "" when the device does not report it. */
enum { REPORT_EVENTS_MAX = 96 };
void report_events(const struct report *, char out[REPORT_EVENTS_MAX]);
/* The first row for which `is` returns true; NULL when there is none. */
const struct report_row *report_first(const struct report *, bool (*is)(const struct report_row *));
/* Whether the row was timed against a reference, in either mode. */
bool report_has_speedup(const struct report_row *);
/* The next axis whose convention (attn_axis.convention) the report has to state, since a row uses it. Pass NULL for
 * the first; returns NULL after the last. */
const struct attn_axis *report_next_convention(const struct report *, const struct attn_axis *);
#define EACH_CONVENTION(axis, report) \
  for (const struct attn_axis *axis = NULL; ((axis) = report_next_convention((report), (axis))) != NULL;)
/* Whether the peak rates of this GPU's SMs are unknown. DRAM is then the only roof of its rows. */
bool report_roofs_are_unknown(const struct device_info *);
#define REPORT_NO_ROOFS "attnbench does not know the peak rates of this GPU's SMs, so DRAM is the only roof"

/* What the report's file lacks to be as attnbench wrote it, in one sentence; "" for nothing. */
const char *report_origin(const struct journal_data *);

/* Each writes the whole report to an open stream; the caller checks ferror. */
struct status report_write_json(const struct report *, FILE *);
struct status report_write_csv(const struct report *, FILE *);
struct status report_write_text(const struct report *, FILE *);
/* The JSON format of google-benchmark, with times and rates only. */
struct status report_write_gbench(const struct report *, FILE *);
/* JUnit XML with a test case per row. */
struct status report_write_junit(const struct report *, FILE *);
struct status report_write_annotations(const struct report *, FILE *); /* GitHub workflow commands, at most 10 */
/* A table of the rows. */
struct status report_write_markdown(const struct report *, FILE *);

/* Reads a report that report_write_json wrote: its measured facts, from which report_build derives the rest again, so
 * that writing it gives the same report. STATUS_INPUT names the place of an error. The caller frees with
 * journal_free. */
struct status report_read(const struct json_doc *, struct journal_data *out);
/* Is this number what it should be, to the digits that a report has? True where there is none, or `value` is NAN: not
 * known. */
bool derived_follows(const cJSON *item, double value);
/* Are the derived values that others quote (operations, bytes, rates, roofs, device time) those that follow from the
 * facts `data`, which were read from this document? STATUS_INPUT names the first that is not. For files that nobody
 * is known to have changed: older versions had the same formulas. */
struct status derived_check(const struct json_doc *, const struct journal_data *data);

/* Writes to `path` atomically: a temporary file beside it, synced, then renamed over it; "-" is stdout. An existing
 * file is untouched until the new one is complete. STATUS_OUTPUT on failure. */
struct status report_save(const struct report *, const char *path,
                          struct status (*write)(const struct report *, FILE *));
/* Checks that `path` can be written, before anything is measured. Leaves no file behind. */
struct status report_probe(const char *path, const char *option);

/* The fastest row of each case. */

/* Sets is_twin, is_fastest, leads_case and leads_reference of the rows. The fastest row of a case has the highest
 * ratio to the reference in turns, or the shortest median where a row has no such ratio; both hot if the case has hot
 * times. Against the reference its ratio decides where the interval is on one side of 1. Twins are left out, and
 * cases with fewer than two timed rows have none. The rows of a case must be adjacent. */
void fastest_mark(struct report *);

enum { FASTEST_TEXT_MAX = 1024 };
/* "fastest: wgmma in 30 of 36 cases, cudnn in 6; mma alone in 2 more; faster than cudnn in 30 of 36 (1.02x to 1.80x),
 * slower in 6 (0.85x to 0.98x)": the winners by how many cases they win, and how the fastest row of each case beside
 * the reference compares with it in turns; then how it compares with each other library, by the quotient of their
 * ratios to the reference. "" when no case has two rows to choose from, and no row a reference. */
struct status fastest_text(const struct report *, char out[FASTEST_TEXT_MAX]);

/* Groups rows with the same message about one variant into one entry, which shows the worst row. For the text report.
 */

struct fold {
  uint32_t kind;       /* a finding id, a limit or a status (fold_findings, fold_bounds, fold_reasons) */
  const char *variant; /* of the first row */
  const char *text;    /* only rows with equal text share an entry; may be NULL */
  size_t count;        /* rows in the entry */
  uint32_t severity;
  const struct report_row *worst; /* of findings the one with the most microseconds; else the slowest; without times
                                     the one that fills the fewest SMs */
  const struct finding *finding;  /* of the worst row; NULL unless from fold_findings */
};

struct folds {
  struct fold *item;
  size_t count, room;
};

/* Each fills *out, which must be empty. Fails only for lack of memory. The caller frees with fold_free, also after a
 * failure. */

/* One entry per finding id and variant, over the findings that the report shows. The worst come first, by
 * microseconds, then by severity. Twins may be left out: the variant that a twin picked has a row of its own, which
 * says the same. */
struct status fold_findings(const struct report *, bool with_twins, struct folds *out);
/* One entry per limit, variant and mode, over what bounds the rows that lead their cases, in the order of the report;
 * with `is_whole` rows share an entry only if all that is said of them is equal. */
struct status fold_bounds(const struct report *, bool is_whole, struct folds *out);
/* One entry per status, variant and reason, over the rows that are neither ok nor planned. Wrong rows have one entry
 * per variant, since the numbers in their reasons differ. */
struct status fold_reasons(const struct report *, struct folds *out);
/* One entry per variant and text, over the rows that have one; `label` is the text's place in struct record. */
struct status fold_labels(const struct report *, size_t label, struct folds *out);
void fold_free(struct folds *);
