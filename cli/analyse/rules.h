/* For the sources of the diagnosis alone: the row that is diagnosed, with the rows that it is compared with, and the
 * functions that decide each finding. */
#pragma once

#include "cli/analyse/diagnose.h"
#include "cli/analyse/roofs.h"
#include "cli/base/text.h"
#include "cli/base/units.h"

struct rules_row {
  const struct record *record;
  const struct attn_problem *shape;
  const struct metrics *metrics;
  const struct scaling *scaling;
  const struct device_info *device;
  struct roofs roofs;
  /* The time that findings are about, and its mode: hot if there is a hot time, since a cold time includes the event
   * overhead. NAN: the row was not timed. */
  double now_us;
  enum time_mode mode;
  uint32_t pass_count, slowest_pass; /* rules_slowest_pass */
  const struct counted *counted;     /* a profiler's counters; NULL: none */
  char source[80];                   /* "measured by ncu 2025.3.1, cold" for a row with counters */
  /* Rows in which evidence is looked up: those of the row's own report, and those of another one. */
  struct diagnose_evidence here, elsewhere;
  /* This row and another of its scaling group: `narrow` has the smaller B*H, `wide` the larger. NULL: no other row.
   */
  const struct record *narrow, *wide;
  const struct metrics *narrow_metrics, *wide_metrics;
};

/* Write a text to `out`, which has FINDING_TEXT_MAX bytes, or append to it; what does not fit is cut. */
#define rules_put(out, ...)    ((void)snprintf((out), FINDING_TEXT_MAX, __VA_ARGS__))
#define rules_append(out, ...) text_append((out), FINDING_TEXT_MAX, __VA_ARGS__)

/* A text that functions return by value, for use as an argument of rules_put. */
struct rules_text {
  char text[64];
};
/* "1 block", "2 blocks"; "117200 us", "9.95 us". */
struct rules_text rules_count(uint64_t count, const char *noun);
struct rules_text rules_us(double us);
/* "pass split: ", the pass that a text is about, when the row has several passes; else "". */
struct rules_text rules_prefix_of(const struct rules_row *, uint32_t pass);

/* Fills the members of the row that follow from record, metrics and device: time, passes and counters. */
void rules_prepare(struct rules_row *);

/* Fills the finding's gain_ratio and saves_us from the new time; NAN promises nothing. */
void rules_promise(const struct rules_row *, double new_us, struct finding *);
/* Removes the promise and the change from the finding. */
void rules_promise_nothing(struct finding *);
/* How many times as fast the row can become at most by this change, by what the busiest pipe leaves that the change
 * does not relieve: DRAM, and the pipe of the products. At least 1; infinite where nothing is known. */
double rules_headroom(const struct rules_row *, enum finding_change);
/* Holds the finding's promise below its headroom. */
void rules_cap_promise(const struct rules_row *, struct finding *);
/* Fills the promise for a speedup by `ratio` of the row's time, except its fixed part (gain_fixed_us). */
void rules_promise_ratio(const struct rules_row *, double ratio, struct finding *);

/* The counters of a pass; NULL when there are none. */
const struct counter_values *rules_counted_pass(const struct rules_row *, uint32_t pass);
/* Appends ", of which 23 % was reached (measured by ...)" when the occupancy was counted. */
void counter_rules_append_occupancy(const struct rules_row *, uint32_t pass, char out[FINDING_TEXT_MAX]);
/* Appends the top stall reason of the warps. */
void counter_rules_append_stall(const struct rules_row *, char out[FINDING_TEXT_MAX]);
/* Writes one change against the top stall reason; false when none is known. */
bool counter_rules_stall_advice(const struct rules_row *, char out[FINDING_TEXT_MAX]);

/* The pass with the highest badness among passes with enough of the row's time; false when no badness is positive. */
bool rules_worst_pass(const struct rules_row *, double (*badness)(const struct rules_row *, uint32_t pass),
                      uint32_t *pass);
/* Share of the row's time that a pass takes. */
double rules_pass_share(const struct rules_row *, uint32_t pass);
/* The pass that findings about the whole row name: of those that work on query rows, the one that takes most of the
 * time; if passes were not timed separately, the first of them. */
uint32_t rules_slowest_pass(const struct record *);

/* The mode in which both rows of the pair were timed; false when there is none. */
bool rules_pair_mode(const struct rules_row *, enum time_mode *);

/* K/V tiles that the busiest slot of the pass works off one after the other, over all waves and rounds; 0 when its
 * tiles are not known. Where no block waits for another one and none loops, these are the tiles of the longest item;
 * else a mean item stands for each, so that it is no less than the longest. */
double rules_tiles_in_a_row(const struct rules_row *, uint32_t pass);

/* The number of blocks in one full wave of the pass. */
uint64_t rules_slots(const struct rules_row *, uint32_t pass);

/* Advice to split D over blocks, for a D that is longer than the number of keys. Writes the number of chunks and the
 * promised time. False when the grid covers D already or splitting the keys is better. */
bool geometry_rules_split_d(const struct rules_row *, uint32_t pass, uint64_t *chunks, double *new_us);

/* The share of the GPU that stays idle because blocks or items do not fill the last wave or round. Over several waves
 * it is a share of the slots; within one wave, of the SMs or of the rounds of blocks that loop over items. */
double geometry_rules_uneven_share(const struct attn_problem *, const struct pass_metrics *,
                                   const struct device_info *);

/* One function per row of FINDING_MAP. True when the finding applies; its pass, measured and advice are then filled.
 */
#define FINDING_FINDER(file, name, severity, meaning, rule, remedy) \
  bool file##_##name(const struct rules_row *, struct finding *);
FINDING_MAP(FINDING_FINDER)
#undef FINDING_FINDER
