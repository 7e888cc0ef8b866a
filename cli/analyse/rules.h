/* Shared by the diagnosis sources only: one row with what its findings compare it to, and the finders. */
#ifndef ATTNBENCH_CLI_ANALYSE_RULES_H
#define ATTNBENCH_CLI_ANALYSE_RULES_H

#include "cli/analyse/diagnose.h"
#include "cli/analyse/roofs.h"

struct rules_row {
  const struct record *record;
  const struct attn_shape *shape;
  const struct metrics *metrics;
  const struct scaling *scaling;
  const struct device_info *device;
  struct roofs roofs;
  /* What evidence is looked up in: all rows of the report, and those of another one. */
  struct diagnose_evidence here, elsewhere;
  /* A pair of one group, this row being one of the two, with fewer and with more B*H; NULL when there is no pair. */
  const struct record *narrow, *wide;
  const struct metrics *narrow_metrics, *wide_metrics;
};

void rules_put(char out[FINDING_TEXT_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same after what is there already. */
void rules_append(char out[FINDING_TEXT_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "1 block", "2 blocks"; "8.66 GB", "12.6 MB"; "117200 us", "9.95 us". */
struct rules_text {
  char text[64];
};
struct rules_text rules_count(uint64_t count, const char *noun);
struct rules_text rules_bytes(double bytes);
struct rules_text rules_us(double us);

/* The time that findings speak of: hot where there is one, since a cold time contains the events around it; NAN where
 * the row was not timed. */
double rules_time_us(const struct rules_row *, enum time_mode *);

/* Fills gain_ratio and saves_us of the time now; a new time of NAN promises nothing. */
void rules_promise(const struct rules_row *, double new_us, struct finding *);
/* The same by a ratio, of all but what no change shortens. */
void rules_promise_ratio(const struct rules_row *, double ratio, struct finding *);

/* What a profiler counted of this row, NULL when none did. */
const struct counted *rules_counted(const struct rules_row *);
/* Of one of its passes; NULL likewise. */
const struct counter_values *rules_counted_pass(const struct rules_row *, uint32_t pass);
/* "measured by ncu 2025.3.1, cold", for a row that has counters. */
struct rules_source {
  char text[80];
};
struct rules_source rules_source_of(const struct rules_row *);
/* ", of which 23 % was reached (measured by ...)" where that is known. */
void counter_rules_append_occupancy(const struct rules_row *, uint32_t pass, char out[FINDING_TEXT_MAX]);
/* What warps waited for, appended to the fact; and one change against it, false when none is known. */
void counter_rules_append_stall(const struct rules_row *, char out[FINDING_TEXT_MAX]);
bool counter_rules_stall_advice(const struct rules_row *, char out[FINDING_TEXT_MAX]);

uint32_t rules_pass_count(const struct rules_row *);
/* The pass with the highest badness among those that matter for the row's time; false when none is positive. */
bool rules_worst_pass(const struct rules_row *, double (*badness)(const struct rules_row *, uint32_t pass),
                      uint32_t *pass);
/* The pass that takes most of the row's time; the first when passes were not timed apart. */
uint32_t rules_slowest_pass(const struct rules_row *);
/* Share of the row's time that a pass takes. */
double rules_pass_share(const struct rules_row *, uint32_t pass);

/* "pass split: " where a row has several passes, so that the text says which one it is about; else empty. */
struct rules_prefix {
  char text[40];
};
struct rules_prefix rules_prefix_of(const struct rules_row *, uint32_t pass);

/* The mode in which both rows of the pair were timed; false when there is none. */
bool rules_pair_mode(const struct rules_row *, enum time_mode *);

/* Blocks of one wave. */
uint64_t rules_slots(const struct rules_row *, uint32_t pass);

/* Splitting D over blocks that share K and V between queries: for a D that is longer than the keys. False where D is
 * on the grid already or keys are the better choice; else the chunks, and the time that is promised. */
bool geometry_rules_split_d(const struct rules_row *, uint32_t pass, uint64_t *chunks, double *new_us);

/* One finder per row of FINDING_MAP: true when it applies; pass, measured and advice are then filled. */
#define FINDING_FINDER(file, name, severity, meaning, rule, remedy) \
  bool file##_##name(const struct rules_row *, struct finding *);
FINDING_MAP(FINDING_FINDER)
#undef FINDING_FINDER

#endif
