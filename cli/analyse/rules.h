/* Shared by the diagnosis sources only: one row with what its findings compare it to, and the finders. */
#ifndef ATTNBENCH_CLI_ANALYSE_RULES_H
#define ATTNBENCH_CLI_ANALYSE_RULES_H

#include "cli/analyse/diagnose.h"

struct diagnose_row {
  const struct record *record;
  const struct attn_shape *shape;
  const struct metrics *metrics;
  const struct scaling *scaling;
  const struct device_info *device;
  /* A pair of one group, this row being one of the two, with fewer and with more B*H; NULL when there is no pair. */
  const struct record *narrow, *wide;
  const struct metrics *narrow_metrics, *wide_metrics;
};

void rules_put(char out[FINDING_TEXT_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same after what stands there already. */
void rules_append(char out[FINDING_TEXT_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a profiler counted of this row, NULL when none did. */
const struct counted *rules_counted(const struct diagnose_row *);
/* Of one of its passes; NULL likewise. */
const struct counter_values *rules_counted_pass(const struct diagnose_row *, uint32_t pass);
/* "measured by ncu 2025.3.1, cold", for a row that has counters. */
struct diagnose_source {
  char text[80];
};
struct diagnose_source rules_source_of(const struct diagnose_row *);
/* "; 23 % of the warps were resident (measured by ...)" where that is known. */
void diagnose_append_occupancy(const struct diagnose_row *, uint32_t pass, char out[FINDING_TEXT_MAX]);

/* What warps waited for, appended to the fact; and one change against it, false when none is known. */
void diagnose_append_stall(const struct diagnose_row *, char out[FINDING_TEXT_MAX]);
bool diagnose_stall_advice(const struct diagnose_row *, char out[FINDING_TEXT_MAX]);

uint32_t rules_pass_count(const struct diagnose_row *);

/* The pass with the highest badness among those that matter for the row's time; false when none is positive. */
bool rules_worst_pass(const struct diagnose_row *, double (*badness)(const struct diagnose_row *, uint32_t pass),
                      uint32_t *pass);
/* The pass that takes most of the row's time; the first when passes were not timed apart. */
uint32_t rules_slowest_pass(const struct diagnose_row *);

/* "pass split: " where a row has several passes, so that the text says which one it is about; else empty. */
struct diagnose_prefix {
  char text[40];
};
struct diagnose_prefix rules_prefix_of(const struct diagnose_row *, uint32_t pass);

/* The mode in which both rows of the pair were timed; false when there is none. */
bool rules_pair_mode(const struct diagnose_row *, enum time_mode *);

/* One concrete change that gives the GPU more blocks, for a pass below one wave. */
void diagnose_fill_advice(const struct diagnose_row *, uint32_t pass, char out[FINDING_TEXT_MAX]);

/* One finder per row of FINDING_MAP: true when it applies; pass, measured and advice are then filled. */
#define FINDING_FINDER(name, severity, help) bool diagnose_##name(const struct diagnose_row *, struct finding *);
FINDING_MAP(FINDING_FINDER)
#undef FINDING_FINDER

#endif
