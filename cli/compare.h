/* The gate: is a new report slower than a base report? A pure function of the two: same bytes in, same bytes out.
 *
 * The unit of evidence is the process, not the launch: launches of one process share its memory layout and clocks, so
 * a thousand of them are one observation. A report made with --rounds R holds R observations of every cell and mode
 * (record.process). Paired reports (`attnbench ab`, rounds in ABBA order) give R ratios new/base that share the drift
 * of the machine; unpaired ones (`--baseline FILE`, `attnbench compare`) are two samples.
 *
 * Per case and mode the ratio new/base is the Hodges-Lehmann estimate on logarithms, its bounds come from the exact
 * rank distribution (signed-rank when paired, rank-sum when not). A verdict needs magnitude and confidence both. */
#ifndef ATTNBENCH_CLI_COMPARE_H
#define ATTNBENCH_CLI_COMPARE_H

#include <stdio.h>

#include "cli/journal.h"

/* VERDICT(name, exit code that one such case asks for, what it means) */
#define COMPARE_VERDICT_MAP(X)                                                                                     \
  X(same, EXIT_CODE_OK, "not slower and not faster by as much as the threshold")                                   \
  X(improved, EXIT_CODE_OK, "faster by at least the decision line, with confidence")                               \
  X(regressed, EXIT_CODE_REGRESSION, "slower by at least the decision line, with confidence, in time and cycles")  \
  X(inconclusive, EXIT_CODE_INCONCLUSIVE, "too noisy, or too few processes, to tell same from regressed")          \
  X(clock, EXIT_CODE_INCONCLUSIVE, "slower in time but not in SM cycles: the clock dropped, not the kernel")       \
  X(wrong, EXIT_CODE_WRONG, "the new result did not match the oracle")                                             \
  X(missing, EXIT_CODE_COVERAGE, "measured in the base, not in the new report (absent, skipped, failed, no time)") \
  X(added, EXIT_CODE_COVERAGE, "not in the base; allowed with --allow-new")                                        \
  X(untimed, EXIT_CODE_OK, "timed on neither side, for the same reason")

enum compare_verdict {
#define COMPARE_ENUM(name, exit, help) COMPARE_##name,
  COMPARE_VERDICT_MAP(COMPARE_ENUM)
#undef COMPARE_ENUM
      COMPARE_VERDICT_COUNT
};
const char *compare_verdict_name(enum compare_verdict);
enum exit_code compare_verdict_exit_code(enum compare_verdict);
const char *compare_verdict_help(enum compare_verdict);

enum { COMPARE_OVERRIDES_MAX = 64, COMPARE_GLOB_MAX = 192, COMPARE_DIFFERENCES_MAX = 32, COMPARE_TEXT_MAX = 400 };

/* The threshold of cases whose "KEY/VARIANT" matches the glob (fnmatch); the last match wins. */
struct compare_override {
  char glob[COMPARE_GLOB_MAX];
  double threshold; /* relative: 0.02 = 2 % */
};

struct compare_settings {
  double threshold;                 /* relative, default 0.02; a slowdown of this size is to be found */
  double floor_us[TIME_MODE_COUNT]; /* smaller differences are never a verdict: event and graph resolution */
  bool modes[TIME_MODE_COUNT];      /* which are judged; default both */
  bool paired;                      /* observation i of the base belongs to observation i of the new report */
  bool allow_new, noise_is_ok;      /* added -> exit 0; inconclusive and clock -> exit 0 (--noise=warn) */
  size_t override_count;
  struct compare_override override[COMPARE_OVERRIDES_MAX];
};
struct compare_settings compare_defaults(void);

/* One identity key that differs. */
struct compare_difference {
  char key[40], base[96], now[96];
  bool fatal; /* not comparable (exit 6); else a remark */
};

/* One side's observations of a case. Microseconds; point into the report compared, which must outlive the compare. */
struct compare_side {
  const struct record *record; /* NULL: not in this report */
  uint32_t processes;
  double median_us;    /* over processes; NAN when not timed */
  double spread_ratio; /* relative standard deviation of the processes' medians; NAN for fewer than 2 */
  double sm_clock_mhz; /* median over processes; NAN when unknown */
};

/* One case x variant x mode. */
struct compare_row {
  const char *key, *variant;
  enum time_mode mode;
  struct compare_side base, now;
  double threshold;       /* that applied */
  double ratio;           /* Hodges-Lehmann estimate of new/base time; > 1 is slower; NAN without times */
  double ci_low, ci_high; /* one-sided bounds at `confidence` each */
  double confidence;      /* reached by the rank distribution, <= 0.99 */
  double cycles_ratio;    /* the same estimate of time x SM clock; NAN when a clock is unknown */
  enum compare_verdict verdict;
  uint32_t rounds_needed;        /* inconclusive: rounds per side that would probably decide; 0 when not known */
  bool was_suspect;              /* failed once and was measured again; verdict is that of the new processes */
  double first_ratio;            /* the estimate that made it a suspect; NAN otherwise */
  char reason[COMPARE_TEXT_MAX]; /* one sentence; empty for `same` */
};

struct compare {
  struct compare_settings settings;
  const struct journal_data *base, *now;
  struct compare_difference difference[COMPARE_DIFFERENCES_MAX];
  size_t difference_count;
  bool comparable;          /* no fatal difference */
  struct compare_row *rows; /* worst first: by verdict's weight, then by ratio */
  size_t row_count;
  uint64_t verdict_count[COMPARE_VERDICT_COUNT];
  uint64_t compared;        /* rows with a ratio */
  enum exit_code exit_code; /* 6, then 3, 4, 1, 5, 0; an empty intersection is 4 */
};

/* Both must outlive the compare; free with compare_free. Fails only for lack of memory. When the reports are not
 * comparable there are no rows. */
struct status compare_build(const struct journal_data *base, const struct journal_data *now,
                            const struct compare_settings *, struct compare *out);
void compare_free(struct compare *);

/* Puts the rows of suspects measured again (`again`, a compare of fresh processes only) in the place of the first
 * ones: regressed only when both failed. */
void compare_confirm(struct compare *, const struct compare *again);

/* Sinks, each the whole comparison; pure. */
struct status compare_write_text(const struct compare *, FILE *);
struct status compare_write_json(const struct compare *, FILE *);     /* attnbench.compare/1 */
struct status compare_write_markdown(const struct compare *, FILE *); /* at most 900 KiB, worst 50 rows in full */
struct status compare_write_junit(const struct compare *, FILE *);
struct status compare_write_annotations(const struct compare *, FILE *); /* GitHub workflow commands, at most 10 */

/* The command that measures this row again, for `command` of the run that made the new report. */
void compare_row_command(const struct compare *, const struct compare_row *, char *out, size_t size);

#endif
