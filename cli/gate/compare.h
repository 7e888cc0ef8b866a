/* The gate: is a new report slower than a base report? A pure function of the two: same bytes in, same bytes out.
 *
 * The unit of evidence is the process, not the launch: launches of one process share its memory layout and clocks, so
 * a thousand of them are one observation. A report made with --rounds R holds R observations of every cell and mode
 * (record.process). Paired reports (`attnbench ab`, the two programs in random order within each pair) give R ratios
 * new/base that share the drift of the machine; unpaired ones (`--baseline FILE`, `attnbench compare`) are two
 * samples.
 *
 * Per case and mode the ratio new/base is the Hodges-Lehmann estimate on logarithms, its bounds come from the exact
 * rank distribution (signed-rank when paired, rank-sum when not). A verdict needs magnitude and confidence both: with
 * a threshold T a case is
 *
 *   regressed     estimate >= 1 + 0.75 T and lower bound > 1 + 0.1 T
 *   improved      the same of base/new
 *   same          estimate < 1 + 0.75 T and upper bound < 1 + T: a slowdown of T is excluded
 *   inconclusive  otherwise, or with fewer than 5 pairs, 3 + 3 processes, or with times that are not fit (throttled,
 *                 not settled, of one sample)
 *
 * Time decides and clocks explain. The same estimate is made of SM cycles (time x SM clock). A slowdown in time that
 * is none in cycles is the candidate's when its clock was lower pair by pair (it draws more power); else it is
 * `clock`. Cycles that grow while the time does not are `cycles` in pairs and `clock` in two samples. Cells bound by
 * DRAM are judged by time alone: their time does not follow the SM clock.
 *
 * All cases together are judged too: the geometric mean over the rows, process by process, by the same rule with half
 * the threshold. It finds a slowdown of all cases that is too small to be seen in any of them.
 *
 * What is regressed must be so again in fresh processes, and what is undecided is measured again up to three times
 * (confirm.h). A row that fails also needs a t-test that holds over all the rows it was picked from (Bonferroni): in
 * fresh pairs over the suspects, in two samples, whose base nobody measures again, over the whole table. The line
 * lies below T so that a true slowdown of T is found nearly always instead of half of the time; the bound keeps
 * processes that fall into two groups from passing for one; the confirmation makes a rare false alarm rarer still.
 * The rates that this gives are in results/README.md, and `attnbench gate --selftest` measures them with the noise of
 * a machine. */
#ifndef ATTNBENCH_CLI_GATE_COMPARE_H
#define ATTNBENCH_CLI_GATE_COMPARE_H

#include <stdio.h>

#include "cli/record/journal.h"

/* The rule above. Ratios of the threshold, and the confidence of each one-sided bound. */
#define COMPARE_LINE_RATIO  0.75
#define COMPARE_BOUND_RATIO 0.1
#define COMPARE_CONFIDENCE  0.95
/* A slowdown that stays under the line in SM cycles is the clock's when the clock explains at least this much of it.
 */
#define COMPARE_CLOCK_SHARE 0.33
/* The threshold of all cases together, of that of one. */
#define COMPARE_SUITE_RATIO 0.5
/* How often at most one of a family of rows may fail when nothing changed. */
#define COMPARE_FAMILY_ERROR 0.05
/* A floor (--floor-us) that raises a threshold above this hides every slowdown that matters: such a row is not
 * judged.
 */
#define COMPARE_RAISED_MOST 0.25
/* A time below this share of the shape's physical floor, or this many times shorter than the base's, is no time. */
#define COMPARE_PHYSICAL_SHARE 0.95
#define COMPARE_FASTER_MOST    10.0
/* Fewest processes that are judged: with fewer no bound reaches the confidence. */
enum { COMPARE_PAIRS_MIN = 5, COMPARE_SIDE_MIN = 3, COMPARE_BASELINE_MIN = 5 };
/* Fewest rows that are judged together, and how often a row is measured again at most. */
enum { COMPARE_SUITE_ROWS_MIN = 8, COMPARE_LOOKS_MAX = 3 };

/* VERDICT(name, exit code that one such case asks for, what it means) */
#define COMPARE_VERDICT_MAP(X)                                                                                     \
  X(same, EXIT_CODE_OK, "not slower and not faster by as much as the threshold")                                   \
  X(improved, EXIT_CODE_OK, "faster by at least the decision line, with confidence")                               \
  X(regressed, EXIT_CODE_REGRESSION, "slower by at least the decision line, with confidence")                      \
  X(cycles, EXIT_CODE_REGRESSION, "needs more SM cycles; a higher clock hid it in the time")                       \
  X(inconclusive, EXIT_CODE_INCONCLUSIVE, "too noisy, or too few processes, to tell same from regressed")          \
  X(clock, EXIT_CODE_INCONCLUSIVE, "time and SM cycles disagree because the clocks differed: cannot be judged")    \
  X(wrong, EXIT_CODE_WRONG, "the new result did not match the oracle")                                             \
  X(implausible, EXIT_CODE_COVERAGE, "faster than the hardware allows, or ten times faster than the base")         \
  X(missing, EXIT_CODE_COVERAGE, "measured in the base, not in the new report (absent, skipped, failed, no time)") \
  X(added, EXIT_CODE_COVERAGE, "not in the base; allowed with --allow-new")                                        \
  X(untimed, EXIT_CODE_OK, "timed on neither side, for the same reason")

enum compare_verdict {
#define COMPARE_ENUM(name, exit, help) COMPARE_##name,
  COMPARE_VERDICT_MAP(COMPARE_ENUM)
#undef COMPARE_ENUM
      COMPARE_VERDICT_COUNT
};
const char *verdict_name(enum compare_verdict);
const char *verdict_at(uint32_t index); /* the same by number; NULL past the last */
enum exit_code verdict_exit_code(enum compare_verdict);
const char *verdict_help(enum compare_verdict);

enum { COMPARE_OVERRIDES_MAX = 64, COMPARE_DIFFERENCES_MAX = 32, COMPARE_TEXT_MAX = 400 };

/* The threshold of cases whose "KEY/VARIANT" matches the glob (fnmatch); the last match wins. */
struct compare_override {
  char glob[CELL_GLOB_MAX];
  double threshold; /* relative: 0.02 = 2 % */
};

struct compare_settings {
  double threshold;                 /* relative, default 0.02: slowdowns of this size or more fail */
  double floor_us[TIME_MODE_COUNT]; /* smaller differences are never a verdict: resolution of events and graphs */
  bool modes[TIME_MODE_COUNT];      /* which are judged; default both */
  bool paired;                      /* observation i of the base belongs to observation i of the new report */
  bool allow_new, noise_is_ok;      /* added -> exit 0; inconclusive and clock -> exit 0 (--noise=warn) */
  bool must_settle;    /* times that still drifted prove nothing. compare_build says so for a GPU; on a CPU,
                        * whose clocks nobody holds, few warm-ups settle, and its processes tell how far */
  bool once;           /* nothing is measured again: the two reports are all there is */
  uint32_t family;     /* rows of which one may look slow by chance; 0: do not ask, for pairs that
                        * are measured again, and for two samples as many as there are rows */
  uint64_t order_seed; /* of the order within pairs; 0: no pairs */
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

struct compare_evidence; /* judge.h */

/* One case x variant x mode. */
struct compare_row {
  const char *key, *variant;
  enum time_mode mode;
  struct compare_side base, now;
  double threshold;         /* that applied: raised where the line would lie below the absolute floor */
  double ratio;             /* Hodges-Lehmann estimate of new/base time; > 1 is slower; NAN without times */
  double ci_low, ci_high;   /* one-sided bounds at `confidence` each */
  double confidence;        /* reached by the rank distribution, at least COMPARE_CONFIDENCE unless inconclusive */
  double cycles_ratio;      /* the same estimate of time x SM clock; NAN when a clock is unknown */
  double event_overhead_us; /* taken off the times of both sides before any ratio (event_overhead.h) */
  double physical_us;       /* no launch of this shape on this device is shorter; NAN when not known */
  double least_us;          /* the shortest time seen of it */
  bool dram_bound;          /* its time does not follow the SM clock */
  bool by_hosts;            /* the verdict hangs on what a launch costs on two hosts, which is no kernel's time */
  enum compare_verdict verdict;
  uint32_t rounds_needed;         /* inconclusive: rounds per side that would probably decide; 0 when not known */
  bool was_suspect;               /* measured again after a first estimate that failed or did not decide */
  uint32_t looks;                 /* how often */
  double first_ratio;             /* that first estimate; NAN otherwise */
  enum compare_verdict first;     /* and its verdict */
  struct compare_evidence *fresh; /* what was measured since; NULL when nothing was. compare_free frees it */
  char reason[COMPARE_TEXT_MAX];  /* one sentence; empty for `same` */
};

struct compare {
  struct compare_settings settings;
  const struct journal_data *base, *now;
  const char *base_path; /* of the base report, for commands that compare with it again; NULL: not a file */
  struct compare_difference difference[COMPARE_DIFFERENCES_MAX];
  size_t difference_count;
  bool comparable;          /* no fatal difference */
  struct compare_row suite; /* all cases together; .key is NULL when there are too few rows */
  size_t suite_rows;        /* how many it is the mean of */
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

/* A row of these two before it is judged: what holds for it whatever was measured. Either record may be NULL. */
struct compare_row compare_start(const struct compare *, const struct record *base, const struct record *now,
                                 enum time_mode);

/* Verdicts have changed: counts, order of the rows and exit code anew. */
void compare_conclude(struct compare *);
/* The threshold that the settings give the cell of this record. */
double compare_threshold(const struct compare_settings *, const struct record *);
/* The row of this case, variant and mode; NULL when there is none. */
const struct compare_row *compare_find(const struct compare *, const struct compare_row *like);

/* Sinks, each the whole comparison; pure. */
struct status verdict_text_write(const struct compare *, FILE *);
struct status verdict_json_write(const struct compare *, FILE *);     /* attnbench.compare/1 */
struct status verdict_markdown_write(const struct compare *, FILE *); /* at most 900 KiB, worst 50 rows in full */
struct status verdict_junit_write(const struct compare *, FILE *);
struct status verdict_annotations_write(const struct compare *, FILE *); /* GitHub workflow commands, at most 10 */

/* Does the verdict fail a gate for a case that became slower? */
bool compare_is_alarm(enum compare_verdict);

/* The command that measures this row again: that of the run that made the new report, narrowed to the cell, with
 * enough rounds to decide. Where the base is a file of enough rounds, it also compares with it. */
void again_command(const struct compare *, const struct compare_row *, char *out, size_t size);
/* Would a shell do no more than start one program? People paste commands that are shown, and a report may come from
 * anywhere. */
bool again_command_is_plain(const char *command);

#endif
