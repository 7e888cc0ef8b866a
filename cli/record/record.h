/* The measured facts of one cell (case x variant) as the worker reports them; derived values are not stored. A record
 * is one line of the journal, and every report is a pure function of the records. field_tables.h says how each struct
 * is written and read. */
#pragma once

#include "cli/base/json.h"
#include "cli/base/numbers.h"
#include "cli/base/stats.h"
#include "cli/record/cell_status.h"
#include "cli/record/counter_record.h"
#include "cli/record/time_mode.h"
#include "cli/sweep/sweep.h"
#include "kernels/device.h"

/* How seldom the mistake is that check_record.race_found_ratio is about. */
enum { CHECK_RACE_LAUNCHES = 50 };

/* The outcome of checking one output. */
struct check_record {
  bool done;
  bool right;
  struct oracle_result oracle; /* name is a static string */
  struct tolerance tolerance;
  struct compare_result compare; /* the first wrong comparison, else the worst one on random inputs */
  struct guard_result guard;     /* the first result with a changed byte; its .first is a static string or NULL */
  bool after_timing;             /* checked after timing too */
  bool known;                    /* the members below are known; older files lack them */
  uint32_t launch;               /* the launch (pattern.h) that `compare` is about */
  uint32_t launches;             /* number of launches that were checked */
  double hard_ratio; /* largest ratio of error to its bound on hard inputs (pattern.h); NAN: none were launched */
  uint64_t timed_samples;  /* timed samples whose output was checked */
  uint64_t timed_wrong;    /* of these, stale or wrong */
  double timed_rows_ratio; /* the least part of the rows that was compared after a timed sample; NAN: not known */
  double race_found_ratio; /* probability that these samples show a mistake in one row of one launch in
                              CHECK_RACE_LAUNCHES; NAN: not known */
  double changed_us; /* shortest time of a hot launch whose inputs were changed just before it; NAN: not timed */
  double seconds;    /* duration of the checks, with that of the oracle */
};

enum { TIME_SAMPLES_MAX = 4096 };

/* A time with a larger waited_ratio is that of a busy machine. */
#define TIME_WAITED_MOST 0.1

/* Bits of throttle_reasons, which are NVML's clocks-event reasons. THROTTLE_PROTECTING: the device protects itself
 * (hardware slowdown, thermal slowdown, power brake). A power cap is no fault: every kernel that draws much power
 * meets it. */
enum { THROTTLE_POWER_CAP = 0x4, THROTTLE_PROTECTING = 0x8 | 0x20 | 0x40 | 0x80 };

/* One timing mode of one cell. Steady: the warm-up is the time until it was reached. Microseconds per launch of the
 * whole plan. */
struct time_record {
  bool done;
  struct stats us;
  enum stats_stop stop;
  uint32_t launches_per_sample;
  bool settled; /* warm-up reached a steady latency, or the samples did (measure_is_steady) */
  double warmup_s;
  double elapsed_s;     /* wall time of the sampling */
  double sm_clock_mhz;  /* median over batches, measured on the SMs; NAN when unknown */
  double power_w;       /* largest reading of NVML between batches, steady: the mean (steady.h); NAN when unknown */
  double temperature_c; /* largest reading; NAN when unknown */
  double energy_j;      /* steady: what the device used in elapsed_s, by the driver's counter; NAN when unknown */
  uint64_t throttle_reasons; /* union over batches */
  double waited_ratio;       /* on a CPU: the part of elapsed_s in which the thread that measures was ready to run and
                                waited for a processor, since other threads ran; NAN or 0: unknown, or none */
  struct numbers samples_us; /* all samples in the order in which they were taken; only with --samples */
};

struct pass_record {
  struct attn_pass pass; /* as it was launched; .name and .kernel are NULL */
  char name[24];
  struct pass_facts facts; /* registers 0: nothing is known of the compiled kernel */
  double cold_us;          /* median of the pass alone; NAN for single-pass plans */
};

/* Time of the reference divided by time of the row: above 1 the row is faster. */
struct ratio_record {
  bool done;
  uint32_t rounds;
  double ratio;             /* median over the rounds */
  double ci_low, ci_high;   /* 95 % interval of that median, from order statistics */
  double event_overhead_us; /* subtracted from all times first (event_overhead.h); NAN: not known, none was */
  double drift_ratio;       /* relative difference of the second half of the rounds from the first, beyond what their
                               scatter explains; NAN: not known, or not measured in turns */
  double sm_clock_mhz;      /* median over the row's rounds; NAN: not known */
  /* Hot, of short launches of which one holds memsets beside its kernels (bench_sample_memsets); else 0. What they
   * take in a launch of the reference and of the row, and the ratio without them. */
  double reference_memset_us, memset_us, kernels_alone;
};

/* A ratio with a larger drift_ratio was not steady while it was measured. */
#define RATIO_DRIFT_MOST 0.005

/* A larger data_dependence_ratio is more than what two hot times of one kernel differ by. */
#define RECORD_DEPENDENCE_MOST 1.03

enum { SPEEDUP_REASON_MAX = 240 };

struct speedup_record {
  char reference[VARIANT_SPEC_MAX]; /* spec text; empty when there is none */
  char reason[SPEEDUP_REASON_MAX];  /* why no mode was measured; empty when one was */
  struct ratio_record mode[TIME_MODE_COUNT];
};

/* The values of each of several rounds of the cell, in the order in which they ran; the gate decides by them. Element
 * 0 is the round whose statistics are in record.time. PROCESS(type, name, member of time_record, how it is written)
 */
#define PROCESS_MAP(X)                          \
  X(double, median_us, us.median, number)       \
  X(double, sm_clock_mhz, sm_clock_mhz, number) \
  X(uint64_t, throttle_reasons, throttle_reasons, reasons)

enum { PROCESSES_MAX = 64 };

struct process_record {
  uint32_t count; /* 0: one round, which is in record.time alone */
#define PROCESS_MEMBER(type, name, from, element) type name[PROCESSES_MAX];
  PROCESS_MAP(PROCESS_MEMBER)
#undef PROCESS_MEMBER
};

/* A deliberate slowdown (--inject-slowdown), which the row's times include. */
struct injected_record {
  bool done;
  double percent;                /* as given */
  double ratio[TIME_MODE_COUNT]; /* time with over time without, as last measured in turns */
};

enum {
  RECORD_CARD_MAX = 48,
  RECORD_REASON_MAX = 400,
  RECORD_DIFFERS_MAX = 192,
  RECORD_PICKED_WHY_MAX = 240,
  RECORD_LEFT_MAX = 400,
  RECORD_UNCAPTURED_MAX = 240
};

struct record {
  struct attn_case attn_case;
  char variant[VARIANT_SPEC_MAX]; /* spec text */
  char variant_name[40];
  char card[RECORD_CARD_MAX];             /* UUID of the card that measured it, in a run with --devices; else "" */
  char picked[VARIANT_SPEC_MAX];          /* for a variant that picks another one: the spec of that one; else "" */
  char picked_why[RECORD_PICKED_WHY_MAX]; /* why it was picked, with the version of the table of rules */
  enum attn_math math;
  enum cell_status status;
  char reason[RECORD_REASON_MAX]; /* empty only when status is ok */
  struct check_record check;
  struct time_record time[TIME_MODE_COUNT];
  struct process_record process[TIME_MODE_COUNT];
  struct speedup_record speedup;
  char resumed_with_other[RECORD_DIFFERS_MAX]; /* properties that differed from the rest of the run, "device,
                                                  seed", when measured after --resume=anyway; else "" */
  char left[RECORD_LEFT_MAX];             /* what a loaded variant, or the reference beside it, left in its worker,
                                             "left 4 threads running; changed the umask"; else "" */
  char uncaptured[RECORD_UNCAPTURED_MAX]; /* why the launches of a library could not be captured, so that the times
                                             include the host's; else "" */
  double data_dependence_ratio; /* hot time on inputs whose maxima grow over that on random ones; NAN: not measured */
  struct injected_record injected;
  struct attn_plan plan; /* .pass is for binding the plan, and empty when the record was read back */
  struct pass_record pass[ATTN_PASSES_MAX];
  struct counter_record counters; /* from a profiler */
  double wall_s;                  /* of the whole cell, over all its rounds */
  double gpu_s; /* the part of wall_s in which launches, flushes and checks used the device or waited for it */
};

/* A record in which nothing is known; no time was spent on it. */
void record_start(struct record *);
/* Were both measured on one card? True for two rows of a run without --devices. */
bool record_same_card(const struct record *, const struct record *);
/* Is the record `ok`, and timed in some mode? */
bool record_is_timed(const struct record *);
/* The mode that a cell is told by where one has to do: hot, else steady, else cold; cold when it was not timed. */
enum time_mode record_mode(const struct record *);
/* Is the record of this cell? */
bool record_is_cell(const struct record *, const char *key, const char *variant);
/* For qsort over `const struct record *`: by case, then by variant; 0 for two records of one cell. */
int record_order(const void *, const void *);
/* Pointers to the records in that order, malloc'ed, caller frees; NULL without memory. */
const struct record **record_sorted(const struct record *records, size_t count);
/* The record of this cell among records in the order of record_order; any of several; NULL when there is none. */
const struct record *record_find(const struct record *const *sorted, size_t count, const char *key,
                                 const char *variant);
/* The time of a mode that was not timed. */
struct time_record record_time_unknown(void);

/* One JSON object without newline, malloc'ed, caller frees; NULL without memory. */
char *record_to_line(const struct record *);
/* The reverse; STATUS_INPUT when the line is not a record. Numbers survive bit for bit. */
struct status record_from_line(const char *line, size_t length, struct record *out);

/* Reads the record from a result of a report. Its derived keys are ignored. */
struct status record_read(const struct json_doc *, const cJSON *object, struct record *out);
/* Completes the shape, fills variant_name from variant, and checks that the members agree. For readers of other
 * formats, once the fields are filled. STATUS_INPUT when members contradict each other. */
struct status record_finish(struct record *);
