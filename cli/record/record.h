/* The measured facts of one cell (case x variant): what the worker saw, nothing derived. A record is one line of the
 * journal; every report is a pure function of the records. */
#ifndef ATTNBENCH_CLI_RECORD_RECORD_H
#define ATTNBENCH_CLI_RECORD_RECORD_H

#include "cli/base/stats.h"
#include "cli/record/counter_record.h"
#include "cli/sweep/sweep.h"
#include "kernels/device.h"

/* CELL(name, exit code that a report with such a cell must give, what it means) */
#define CELL_STATUS_MAP(X)                                                                       \
  X(ok, EXIT_CODE_OK, "ran, matched the oracle before and after timing")                         \
  X(wrong, EXIT_CODE_WRONG, "did not match the oracle; has no speed")                            \
  X(skipped, EXIT_CODE_OK, "the variant does not take this shape; the reason says why")          \
  X(planned, EXIT_CODE_OK, "geometry only, not measured: no GPU here")                           \
  X(oom_predicted, EXIT_CODE_COVERAGE, "would not fit in the device's free memory; not started") \
  X(error, EXIT_CODE_COVERAGE, "a call failed; the reason names it")                             \
  X(crashed, EXIT_CODE_COVERAGE, "the worker process died on this cell")                         \
  X(timeout, EXIT_CODE_COVERAGE, "the worker was stopped at the cell's deadline")

enum cell_status {
#define CELL_ENUM(name, exit, help) CELL_##name,
  CELL_STATUS_MAP(CELL_ENUM)
#undef CELL_ENUM
      CELL_STATUS_COUNT
};
const char *cell_status_name(enum cell_status);
enum exit_code cell_status_exit_code(enum cell_status);
const char *cell_status_help(enum cell_status);

/* The outcome of checking one output. */
struct check_record {
  bool done;
  bool right;
  struct oracle_result oracle; /* name is a static string */
  struct tolerance tolerance;
  struct compare_result compare; /* the worse of before and after timing */
  struct guard_result guard;     /* likewise; first is a static string or NULL */
  bool after_timing;             /* the second check ran too */
};

/* One timing mode of one cell. Microseconds per launch of the whole plan. */
struct time_record {
  bool done;
  struct stats us;
  enum stats_stop stop;
  uint32_t launches_per_sample;
  bool settled; /* warm-up reached a steady latency */
  double warmup_s;
  double elapsed_s;          /* wall time of the sampling */
  double sm_clock_mhz;       /* median over batches, measured on the SMs; NAN when unknown */
  double power_w;            /* NVML, largest seen between batches; NAN when unknown */
  double temperature_c;      /* likewise */
  uint64_t throttle_reasons; /* union over batches */
};

struct pass_record {
  struct attn_pass pass; /* .kernel is NULL once read back; .name points into name */
  char name[24];
  struct pass_facts facts;
  bool facts_known; /* registers and resident blocks are real, not assumed */
  double cold_us;   /* median of the pass alone; NAN for single-pass plans */
};

/* Time of the reference over time of the row, measured in turns: above 1 the row is the faster one. */
struct ratio_record {
  bool done;
  uint32_t rounds;
  double ratio;           /* median over the rounds */
  double ci_low, ci_high; /* 95 % interval of that median, from order statistics */
};

enum { SPEEDUP_REASON_MAX = 240 };

struct speedup_record {
  char reference[VARIANT_SPEC_MAX]; /* spec text; empty when there is none */
  char reason[SPEEDUP_REASON_MAX];  /* why no mode was measured; empty when one was */
  struct ratio_record mode[TIME_MODE_COUNT];
};

/* The medians of several fresh processes that measured the cell, in the order they ran: the evidence of the gate. The
 * first is the process whose statistics stand in record.time. */
enum { PROCESSES_MAX = 64 };

struct process_record {
  uint32_t count; /* 0: one process, known by record.time alone */
  double median_us[PROCESSES_MAX];
  double sm_clock_mhz[PROCESSES_MAX];       /* NAN when unknown */
  uint64_t throttle_reasons[PROCESSES_MAX]; /* union over the process's batches */
};

/* A slowdown that was put in on purpose (--inject-slowdown): the row's times are longer by it. */
struct injected_record {
  bool done;
  double percent;                /* that was asked for */
  double ratio[TIME_MODE_COUNT]; /* time with over time without, as last measured in turns */
};

enum { RECORD_REASON_MAX = 400 };

struct record {
  struct attn_case attn_case;
  char variant[VARIANT_SPEC_MAX]; /* spec text */
  char variant_name[40];
  enum attn_math math;
  enum cell_status status;
  char reason[RECORD_REASON_MAX]; /* empty only when status is ok */
  struct check_record check;
  struct time_record time[TIME_MODE_COUNT];
  struct process_record process[TIME_MODE_COUNT];
  struct speedup_record speedup;
  struct injected_record injected;
  struct attn_plan plan; /* .pass[].kernel NULL once read back; tiles, splits, stages, workspace */
  struct pass_record pass[ATTN_PASSES_MAX];
  struct counter_record counters; /* from a profiler; not in the journal */
  double wall_s;                  /* of the whole cell, over all its processes */
  double gpu_s;                   /* of which launches, flushes and checks kept the device busy or waited on it */
};

/* One JSON object without newline, malloc'ed, caller frees; NULL without memory. Non-finite numbers become null. The
 * processes stay out: each has a line of its own (record_process.h). */
char *record_to_line(const struct record *);
/* The reverse; STATUS_INPUT when the line is not a record. Numbers survive bit for bit. */
struct status record_from_line(const char *line, size_t length, struct record *out);

/* An empty record in which nothing is known. */
void record_start(struct record *);
/* For readers of other formats: once the fields are filled, the pass names that point into the record, which must not
 * move afterwards. STATUS_INPUT when the key does not name the shape. */
struct status record_finish(struct record *);

/* device_info the same way (the journal's and the worker's first line). policy may be NULL when writing. */
char *device_info_to_line(const struct device_info *, const struct device_policy *, double event_overhead_us);
struct status device_info_from_line(const char *line, size_t length, struct device_info *out,
                                    struct device_policy *policy, double *event_overhead_us);

const char *time_mode_name(enum time_mode); /* "cold", "hot" */
/* "hot,cold": the modes named, in any order. STATUS_USAGE leads with --modes. */
struct status time_modes_parse(const char *text, bool out[TIME_MODE_COUNT]);

#endif
