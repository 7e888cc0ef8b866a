/* The measured facts of one cell (case x variant): what the worker saw, nothing derived. A record is one line of the
 * journal; every report is a pure function of the records. field_tables.h says how each struct is written and read.
 */
#ifndef ATTNBENCH_CLI_RECORD_RECORD_H
#define ATTNBENCH_CLI_RECORD_RECORD_H

#include "cli/base/json.h"
#include "cli/base/numbers.h"
#include "cli/base/stats.h"
#include "cli/record/cell_status.h"
#include "cli/record/counter_record.h"
#include "cli/record/time_mode.h"
#include "cli/sweep/sweep.h"
#include "kernels/device.h"

/* The outcome of checking one output. */
struct check_record {
  bool done;
  bool right;
  struct oracle_result oracle; /* name is a static string */
  struct tolerance tolerance;
  struct compare_result compare; /* the worst on random inputs; where one was wrong, the first wrong one */
  struct guard_result guard;     /* the first that found something; first is a static string or NULL */
  bool after_timing;             /* checked after timing too */
  bool known;                    /* what follows; older files do not have it */
  uint32_t launch;               /* of pattern.h, whose comparison `compare` is */
  uint32_t launches;             /* that were checked */
  double hard_ratio;             /* worst error over its bound on hard inputs; NAN where none were launched */
  uint64_t timed_samples;        /* timed samples whose output was looked at */
  uint64_t timed_wrong;          /* of these, stale or wrong */
  double changed_us;             /* a hot launch whose inputs change before it, at best; NAN: not timed */
  double seconds;                /* that the checks took, the oracle's share included */
};

enum { TIME_SAMPLES_MAX = 4096 };

/* One timing mode of one cell. Microseconds per launch of the whole plan. */
struct time_record {
  bool done;
  struct stats us;
  enum stats_stop stop;
  uint32_t launches_per_sample;
  bool settled; /* warm-up reached a steady latency, or the samples did (measure_is_steady) */
  double warmup_s;
  double elapsed_s;          /* wall time of the sampling */
  double sm_clock_mhz;       /* median over batches, measured on the SMs; NAN when unknown */
  double power_w;            /* NVML, largest seen between batches; NAN when unknown */
  double temperature_c;      /* likewise */
  uint64_t throttle_reasons; /* union over batches */
  struct numbers samples_us; /* all of them in the order they were taken, where they were asked for (--samples) */
};

struct pass_record {
  struct attn_pass pass; /* .kernel is NULL once read back; .name points into name */
  char name[24];
  struct pass_facts facts; /* registers 0: nothing is known of the compiled kernel */
  double cold_us;          /* median of the pass alone; NAN for single-pass plans */
};

/* Time of the reference over time of the row, measured in turns: above 1 the row is the faster one. */
struct ratio_record {
  bool done;
  uint32_t rounds;
  double ratio;             /* median over the rounds */
  double ci_low, ci_high;   /* 95 % interval of that median, from order statistics */
  double event_overhead_us; /* that was taken off all times first (event_overhead.h); NAN: not known, none was */
  double drift_ratio;       /* how far the second half of the rounds lies from the first, beyond what their scatter
                               explains, of the ratio; NAN: not known, or not measured in turns */
  double sm_clock_mhz;      /* median over the row's rounds; NAN: not known */
};

/* A ratio that moves by more than this while it is measured was not steady. */
#define RATIO_DRIFT_MOST 0.005

enum { SPEEDUP_REASON_MAX = 240 };

struct speedup_record {
  char reference[VARIANT_SPEC_MAX]; /* spec text; empty when there is none */
  char reason[SPEEDUP_REASON_MAX];  /* why no mode was measured; empty when one was */
  struct ratio_record mode[TIME_MODE_COUNT];
};

/* What each of several rounds measured of the cell, in the order they ran: the evidence of the gate. The first is the
 * round whose statistics are in record.time. ROUND_VALUE(type, name, member of time_record, how it is written) */
#define PROCESS_MAP(X)                          \
  X(double, median_us, us.median, number)       \
  X(double, sm_clock_mhz, sm_clock_mhz, number) \
  X(uint64_t, throttle_reasons, throttle_reasons, reasons)

enum { PROCESSES_MAX = 64 };

struct process_record {
  uint32_t count; /* 0: one round, known by record.time alone */
#define PROCESS_MEMBER(type, name, from, element) type name[PROCESSES_MAX];
  PROCESS_MAP(PROCESS_MEMBER)
#undef PROCESS_MEMBER
};

/* A slowdown that was put in on purpose (--inject-slowdown): the row's times are longer by it. */
struct injected_record {
  bool done;
  double percent;                /* that was asked for */
  double ratio[TIME_MODE_COUNT]; /* time with over time without, as last measured in turns */
};

enum { RECORD_CARD_MAX = 48, RECORD_REASON_MAX = 400, RECORD_DIFFERS_MAX = 192, RECORD_PICKED_WHY_MAX = 240 };

struct record {
  struct attn_case attn_case;
  char variant[VARIANT_SPEC_MAX]; /* spec text */
  char variant_name[40];
  char card[RECORD_CARD_MAX];             /* uuid of the card that measured it, of a run with --devices; else "" */
  char picked[VARIANT_SPEC_MAX];          /* of a variant that picks others: whose plan it is; "" of all others */
  char picked_why[RECORD_PICKED_WHY_MAX]; /* and why, with the table that says so */
  enum attn_math math;
  enum cell_status status;
  char reason[RECORD_REASON_MAX]; /* empty only when status is ok */
  struct check_record check;
  struct time_record time[TIME_MODE_COUNT];
  struct process_record process[TIME_MODE_COUNT];
  struct speedup_record speedup;
  char resumed_with_other[RECORD_DIFFERS_MAX]; /* "device, seed": measured after --resume=anyway, and what was then
                                                  not as in the rest of the run; "" otherwise */
  struct injected_record injected;
  struct attn_plan plan; /* .pass[].kernel NULL once read back; tiles, splits, stages, workspace */
  struct pass_record pass[ATTN_PASSES_MAX];
  struct counter_record counters; /* from a profiler */
  double wall_s;                  /* of the whole cell, over all its rounds */
  double gpu_s;                   /* of which launches, flushes and checks kept the device busy or waited on it */
};

/* A record points into itself; so does its copy. */
void record_copy(struct record *to, const struct record *from);
/* A record in which nothing is known; no time was spent on it. */
void record_start(struct record *);
/* Were both measured on one card? Rows of a run without --devices were. */
bool record_same_card(const struct record *, const struct record *);
/* Is it of this cell? */
bool record_is_cell(const struct record *, const char *key, const char *variant);
/* For qsort over `const struct record *`: by case, then by variant; 0 for two records of one cell. */
int record_order(const void *, const void *);
/* Pointers to the records in that order, malloc'ed, caller frees; NULL without memory. */
const struct record **record_sorted(const struct record *records, size_t count);
/* Of sorted records the one of this cell, NULL when there is none; any of several. */
const struct record *record_find(const struct record *const *sorted, size_t count, const char *key,
                                 const char *variant);
/* A mode that was not timed. */
struct time_record record_time_unknown(void);

/* One JSON object without newline, malloc'ed, caller frees; NULL without memory. */
char *record_to_line(const struct record *);
/* The reverse; STATUS_INPUT when the line is not a record. Numbers survive bit for bit. */
struct status record_from_line(const char *line, size_t length, struct record *out);

/* The record in an object that has derived keys too, which are not looked at: a result of a report. The record must
 * not move afterwards, as its pass names point into it. */
struct status record_read(const struct json_doc *, const cJSON *object, struct record *out);
/* For readers of other formats: what the tables cannot say, once the fields are filled. STATUS_INPUT when they
 * contradict each other. The record must not move afterwards. */
struct status record_finish(struct record *);

#endif
