/* The measured facts of one cell (case x variant) as the worker reports them; derived values are not stored. A record
 * is one line of the journal, and every report is a pure function of the records. field_tables.h says how each struct
 * is written and read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/numbers.h"
#include "cli/base/stats.h"
#include "cli/sweep/sweep.h"
#include "kernels/device.h"

/* How a cell ended. */

/* CELL(name, exit code that a report with such a cell must give, what it means) */
#define CELL_STATUS_MAP(X)                                                                                           \
  X(ok, EXIT_CODE_OK, "it ran, and matched the oracle before and after timing")                                      \
  X(wrong, EXIT_CODE_WRONG, "its output did not match the oracle; it has no speed")                                  \
  X(skipped, EXIT_CODE_OK, "the variant does not take this case, or not on this device; the reason says why")        \
  X(planned, EXIT_CODE_OK, "not measured, since its GPU is not here: launch geometry only")                          \
  X(oom_predicted, EXIT_CODE_COVERAGE, "it would not fit into the device's free memory; it was not started")         \
  X(error, EXIT_CODE_COVERAGE, "a call failed, of the device or of the variant's code; the reason names it")         \
  X(crashed, EXIT_CODE_COVERAGE, "its worker process died; the other cells go on in a new one")                      \
  X(timeout, EXIT_CODE_COVERAGE, "its worker process was stopped at the cell's deadline (--timeout)")                \
  X(implausible, EXIT_CODE_COVERAGE,                                                                                 \
    "faster than the tensor cores or DRAM allow, or faster on inputs that it had seen before: work was skipped. It " \
    "has "                                                                                                           \
    "no speed; the reason says which limit it is below")                                                             \
  X(left_out, EXIT_CODE_COVERAGE, "the run's time budget (--time-budget) had no room for it; it was not started")

enum cell_status {
#define CELL_ENUM(name, exit, help) CELL_##name,
  CELL_STATUS_MAP(CELL_ENUM)
#undef CELL_ENUM
      CELL_STATUS_COUNT
};
const char *cell_status_name(uint32_t status); /* NULL past the last */
enum exit_code cell_status_exit_code(enum cell_status);
const char *cell_status_help(enum cell_status);

/* The counters of a profiler that ran a cell's kernels. They are measured facts of a row, like its times, and come
 * from a counter file (counters_read). */

/* How a counter's value for the plan follows from those of its passes: their sum, or their mean weighted by time or
 * by bytes requested of L2. */
enum counter_total { COUNTER_SUM, COUNTER_BY_TIME, COUNTER_BY_L2_BYTES };

/* COUNTER(name, how it is totalled over passes). A _ratio is 0..1. results/format.md says what each is, and which
 * metrics of ncu it comes from. */
#define COUNTER_MAP(X)                 \
  X(gpu_time_us, SUM)                  \
  X(sm_cycles, SUM)                    \
  X(dram_read_bytes, SUM)              \
  X(dram_write_bytes, SUM)             \
  X(l2_bytes, SUM)                     \
  X(l2_hit_ratio, BY_L2_BYTES)         \
  X(tensor_pipe_ratio, BY_TIME)        \
  X(issue_ratio, BY_TIME)              \
  X(achieved_occupancy_ratio, BY_TIME) \
  X(shared_wavefronts, SUM)            \
  X(shared_bank_conflicts, SUM)        \
  X(shared_excess_wavefronts, SUM)     \
  X(global_load_requests, SUM)         \
  X(global_load_sectors, SUM)          \
  X(global_sectors, SUM)               \
  X(global_excess_sectors, SUM)        \
  X(local_bytes, SUM)

/* The value of each counter; NAN: not known. */
struct counter_values {
#define COUNTER_MEMBER(name, how) double name;
  COUNTER_MAP(COUNTER_MEMBER)
#undef COUNTER_MEMBER
};

enum { COUNTER_KERNEL_MAX = 256, COUNTER_STALL_MAX = 40 };

/* The stall reason that took the largest share of the time that warps spent between two instructions. */
struct counter_stall {
  bool known;
  char name[COUNTER_STALL_MAX]; /* ncu's, without prefix: "long_scoreboard" */
  double ratio;
};

struct counter_pass {
  char kernel[COUNTER_KERNEL_MAX]; /* as the profiler names it */
  uint32_t grid[3], block[3];
  struct counter_values values; /* means over the launches */
  struct counter_stall top_stall;
};

struct counter_record {
  bool done;
  char source[48]; /* "ncu 2025.3.1" */
  char cache[8];   /* "cold": caches flushed before each kernel; "hot": left as they were */
  uint32_t launches;
  uint32_t pass_count;
  struct counter_pass pass[ATTN_PASSES_MAX];
};

/* Makes a record in which nothing is known. */
void counter_record_start(struct counter_record *);

/* The values for the whole plan; NAN where some pass has no value. */
struct counter_values counter_record_totals(const struct counter_record *);
/* The stall of the pass that takes longest; not known when that pass has none. */
struct counter_stall counter_record_top_stall(const struct counter_record *);

/* The ways in which a cell is timed: cold, hot and steady. */

const char *time_mode_name(uint32_t mode); /* "cold", "hot", "steady"; NULL past the last */
/* Reads a list such as "hot,cold,steady", in any order; out[mode] says whether the list names the mode. The message
 * of STATUS_USAGE begins with "--modes". */
struct status time_mode_parse_list(const char *text, bool out[TIME_MODE_COUNT]);
enum { TIME_MODE_LIST_MAX = 32 };
/* Writes a list that time_mode_parse_list reads. */
void time_mode_write_list(const bool modes[TIME_MODE_COUNT], char out[TIME_MODE_LIST_MAX]);

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

/* A time with a larger waited_ratio or others_load is that of a busy machine. */
#define TIME_WAITED_MOST 0.1
#define TIME_LOAD_MOST   0.5

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
  bool settled;       /* warm-up reached a steady latency, or the samples did (measure_is_steady); and where several
                         processes measured the row, their medians agree (process_settle) */
  bool settled_alone; /* settled within this process, and .settled is false because the processes do not agree */
  double warmup_s;
  double elapsed_s;    /* wall time of the sampling */
  double sm_clock_mhz; /* median over batches, measured on the SMs; NAN when unknown */
  double power_w; /* largest reading of NVML between batches, steady: the mean (steady_measure); NAN when unknown */
  double temperature_c; /* largest reading; NAN when unknown */
  double energy_j;      /* steady: what the device used in elapsed_s, by the driver's counter; NAN when unknown */
  uint64_t throttle_reasons; /* union over batches */
  double waited_ratio;       /* on a CPU: the part of elapsed_s in which the thread that measures was ready to run and
                                waited for a processor, since other threads ran; NAN or 0: unknown, or none */
  double others_load;        /* on a CPU: how many processors other processes of the control group kept busy in
                                elapsed_s, on average; NAN or 0: unknown, or none */
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
  double event_overhead_us; /* subtracted from all times first (event_overhead_most); NAN: not known, none was */
  double drift_ratio;       /* relative difference of the second half of the rounds from the first, beyond what their
                               scatter explains; NAN: not known, or not measured in turns */
  double sm_clock_mhz;      /* median over the row's rounds; NAN: not known */
  /* Hot, of short launches of which one holds memsets beside its kernels (bench_sample_memsets); else 0. What they
   * take in a launch of the reference and of the row, and the ratio without them. */
  double reference_memset_us, memset_us, kernels_alone;
};

/* The fewest rounds of a ratio, whose range is a 95 % interval of their median. */
enum { RATIO_ROUNDS_MIN = 6 };

/* A ratio with a larger drift_ratio was not steady while it was measured. */
#define RATIO_DRIFT_MOST 0.005

/* A larger data_dependence_ratio is more than what two hot times of one kernel differ by. */
#define RECORD_DEPENDENCE_MOST 1.03

enum { SPEEDUP_REASON_MAX = 240, SPEEDUP_LIBRARY_MAX = 40 };

struct speedup_record {
  char reference[VARIANT_SPEC_MAX];  /* spec text; empty when there is none */
  char library[SPEEDUP_LIBRARY_MAX]; /* behind the reference, "cuDNN 9.14.0"; empty where it has none */
  char reason[SPEEDUP_REASON_MAX];   /* why no mode was measured; empty when one was */
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
/* Whether waited_ratio or others_load is above its limit. */
bool record_is_busy(const struct time_record *);
/* The mode that a cell is told by where one has to do: hot, else steady, else cold; cold when it was not timed. */
enum time_mode record_mode(const struct record *);
/* Two rows that were timed in turns with one reference: how many times as fast the first one is as the other. The
 * interval is the widest that theirs allow. */
struct ratio_record record_quotient(const struct ratio_record *, const struct ratio_record *of_other);
/* Is the record of this cell? */
bool record_is_cell(const struct record *, const char *key, const char *variant);
/* The ratio without the memsets of the two launches, whose times may be NAN: none. own_us is the time of the row with
 * its memsets. 0 when there are none, or when they would leave no time for a kernel. Pure. */
double record_kernels_alone(double ratio, double own_us, double reference_memset_us, double memset_us);
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

/* Adds the measurements of further rounds to a cell's record. A round is a fresh process that measures the cell once
 * more. Rounds are numbered in the order in which they ran; round 0 made the record. */

/* The number of rounds in the record; 1 for a record of the first round alone. */
uint32_t process_count(const struct record *);

/* The median over the processes that measured a mode, and its confidence interval. Launches of one process share its
 * memory layout and clocks, so the interval of one process (record.time) does not cover the variation between
 * processes; this interval does. */
struct process_interval {
  uint32_t processes; /* 0: fewer than two processes, and no interval */
  double median_us, low_us, high_us;
  double confidence; /* at least 0.95 from six processes on; lower with fewer, whose range the interval is */
};
struct process_interval process_interval_of(const struct process_record *);

/* Processes whose interval is wider than this part of its lower end do not agree. Four times the change by which two
 * windows of a settled time on a CPU may differ: a steady time may range as far over its windows. The medians of one
 * kernel on a GPU lie closer by far. */
#define PROCESS_APART_MOST 0.08

/* Sets .settled and .settled_alone of each time from what its own process found and from whether the processes agree.
 * The same when it is called again. */
void process_settle(struct record *);

/* Adds the result `next` of round number `round`: its status, reason, times, wall_s and gpu_s. When that round found
 * the cell wrong or did not measure it, the record gets its status, and its reason after "round N: ". STATUS_INPUT
 * leaves the record unchanged: the record is not ok or has no times, `round` is not the next number, the modes that
 * were timed differ from the first round's, or there would be more than PROCESSES_MAX rounds. */
struct status process_add(struct record *, uint32_t round, const struct record *next);

/* Planning of a cell, which needs no GPU: does the variant take the shape, and what does it launch? Pure. */

/* Starts the record of one cell: its names, plan and passes, and the facts of compiled kernels that the build knows.
 * The status is `skipped` when the variant does not take the shape on this device. It is `error` when a loaded
 * variant's plan exceeds the limits of a launch, or when the variant is a stand-in, whose code runs in workers only.
 * Else it is `planned`. The reason says why. */
void plan_record(const struct attn_case *, const struct variant_spec *, const struct device_info *,
                 struct record *out);

/* Sets the record's status and its reason. A character that is not printable ASCII becomes '?', since the text may
 * come from a loaded object. */
void plan_outcome(struct record *, enum cell_status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Fills record->pass from record->plan. A vendor's plan has passes only after it was bound. */
void plan_passes(const struct device_info *, struct record *);

/* Rules that a record must keep, in the order in which they are told. */

struct rule {
  bool is_broken;
  const char *problem;
};
/* The problem of the first rule that is broken; NULL: none is. */
const char *rule_first_broken(const struct rule *rules, size_t count);
#define RULE_FIRST_BROKEN(rules) rule_first_broken(rules, sizeof(rules) / sizeof *(rules))

/* What the check of an `ok` cell must have looked at. Pure. */

/* NULL, or why an `ok` cell cannot have been checked like this: something that was found wrong, or fewer elements,
 * rows, launches or samples than a check of its shape looks at. `is_capture`: the cell was launched for a profiler,
 * and checked once. */
const char *checked_problem(const struct record *, bool is_capture);

/* A race makes one output row wrong in one of CHECK_RACE_LAUNCHES launches. Returns the probability that at least one
 * of the samples shows it, where each sample compares the share rows_ratio of the rows of its last launch. */
double checked_race_found(uint64_t samples, double rows_ratio);

/* Did this check look at less than the one of `base`, a check of the same cell? */
bool checked_is_weaker(const struct check_record *, const struct check_record *base);

/* The failed cells of a run in one line, for a reader who sees only the end of a log. */

enum { FAILURES_TEXT_MAX = 1280 };

/* Writes "2 of 4 cells failed (1 implausible, 1 timeout), first: KEY VARIANT: reason". `expected` is the number of
 * cells of the run; missing records are counted too. A cell failed when its status has an exit code other than 0;
 * where all of them were left out they "have no result". The named cell is the first `wrong` one, else the first that
 * failed. Says so where every row is skipped, or every row of a loaded variant, and where no row has a ratio to a
 * loaded reference. "" for nothing of all this. */
void failures_text(const struct record *, size_t count, uint64_t expected, char out[FAILURES_TEXT_MAX]);

/* A right row without a ratio, though there was a reference, with whose name the reason begins. */
bool failures_lost_ratio(const struct record *);
/* The first row of a loaded variant of which every row is skipped; NULL: there is none. */
const struct record *failures_loaded_skipped(const struct record *, size_t count);

/* The event overhead: the time that the pair of events around a launch adds to a cold time. It is measured with an
 * empty kernel (event_overhead_us of the device line). A hot time is the mean of a graph of launches and has none. */

/* The overhead in a time of this mode, in microseconds; 0 when there is none or it is not known. */
double event_overhead_in(enum time_mode, const struct device_info *, double event_overhead_us);

/* The overhead to subtract from times for a verdict. shortest_us is the shortest of these times. 0 when the overhead
 * is more than half of shortest_us, since the remainder would be noise. */
double event_overhead_off(double overhead_us, double shortest_us);

/* The overhead to subtract from times for a ratio that is shown: at most half of shortest_us. Unlike
 * event_overhead_off it does not jump to 0, so that ratios of times near twice the overhead agree from run to run. */
double event_overhead_most(double overhead_us, double shortest_us);

/* The shortest of `count` times; times that are not above 0 are ignored. Infinite when there is none. */
double event_overhead_shortest(const double *us, size_t count);
