/* The gate decides whether a new report is slower than a base report. It is a pure function of the two reports.
 *
 * The unit of evidence is the process, not the launch: launches of one process share its memory layout and clocks, so
 * a thousand of them are one observation. A report made with --rounds R holds R observations of every cell and mode
 * (record.process). Paired reports (`attnbench ab`, the two programs in random order within each pair) give R ratios
 * new/base that share the drift of the machine; unpaired ones (`--baseline FILE`, `attnbench compare`) are two
 * samples.
 *
 * Per case and mode a verdict needs magnitude and confidence both. It is about time; SM cycles (time x SM clock),
 * estimated in the same way, explain it. All cases together are judged too, by the geometric mean over the rows of
 * each process. A row that fails is measured again in fresh processes (confirm_add).
 *
 * results/gate_rule.md has the rule, the reasons for it and its error rates. `attnbench gate --selftest` measures the
 * rates for one machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/record/journal.h"

/* Ratios of the threshold, and the confidence of each one-sided bound. */
#define COMPARE_LINE_RATIO  0.75
#define COMPARE_BOUND_RATIO 0.1
#define COMPARE_CONFIDENCE  0.95
/* How surely a faster case must exclude a slowdown of the threshold. Where every third process stands out, chance may
 * put all of these on the base's side: 4 % of such gates would pass a slower case for a faster one with the
 * confidence above. */
#define COMPARE_IMPROVED_CONFIDENCE 0.995
/* A slowdown that stays under the line in SM cycles is the clock's when the clock explains at least this much of it.
 */
#define COMPARE_CLOCK_SHARE 0.33
/* The threshold of all cases together, of that of one. */
#define COMPARE_SUITE_RATIO 0.5
/* How often at most one of a family of rows may fail when nothing changed. */
#define COMPARE_FAMILY_ERROR 0.05
/* A floor (--floor-us) that raises a threshold above this hides every slowdown that matters: such a row is not
 * judged. */
#define COMPARE_RAISED_MOST 0.25
/* A time below this share of the shape's physical floor, or this many times shorter than the base's, is no time. */
#define COMPARE_PHYSICAL_SHARE 0.95
#define COMPARE_FASTER_MOST    10.0
/* How often a case without a change of so much looks like one after few pairs, at each look (see above). */
#define COMPARE_FEW_ERROR 0.0025
/* As how many processes the noise of all other rows counts beside a row's own. */
#define COMPARE_FEW_PRIOR 4.0
/* Pairs of a measurement that ends when its verdicts are clear: after the first look, or after two more each. */
enum { COMPARE_FEW_FIRST = 3, COMPARE_FEW_STEP = 2, COMPARE_PAIRS_PLANNED = 7 };
/* Fewest processes that are judged: with fewer no bound reaches the confidence. */
enum { COMPARE_PAIRS_MIN = 5, COMPARE_SIDE_MIN = 3, COMPARE_BASELINE_MIN = 5 };
/* Fewest rows that are judged together, and how often a row is measured again at most. */
enum { COMPARE_SUITE_ROWS_MIN = 8, COMPARE_LOOKS_MAX = 3 };

/* VERDICT(name, exit code that one such case asks for, what it means) */
#define COMPARE_VERDICT_MAP(X)                                                                                   \
  X(same, EXIT_CODE_OK, "the slowdown is below the threshold with confidence, and no improvement is certain")    \
  X(improved, EXIT_CODE_OK,                                                                                      \
    "faster by at least three quarters of the threshold, with confidence; a slowdown of the threshold is "       \
    "excluded with 99.5 %")                                                                                      \
  X(regressed, EXIT_CODE_REGRESSION,                                                                             \
    "slower by at least three quarters of the threshold (--threshold), with confidence. ab and --baseline then " \
    "measure it again in fresh processes, and it stays regressed only if it is slower in these alone, too")      \
  X(cycles, EXIT_CODE_REGRESSION,                                                                                \
    "as fast, but only because its clock was higher: it needs more SM cycles, also in fresh processes")          \
  X(inconclusive, EXIT_CODE_INCONCLUSIVE, "too noisy, or too few processes, to tell same from regressed")        \
  X(clock, EXIT_CODE_INCONCLUSIVE, "time and SM cycles disagree because the clocks differed: cannot be judged")  \
  X(wrong, EXIT_CODE_WRONG, "the new result did not match the oracle")                                           \
  X(implausible, EXIT_CODE_COVERAGE,                                                                             \
    "faster than the hardware allows, or ten times as fast as the base (said only of enough processes)")         \
  X(missing, EXIT_CODE_COVERAGE,                                                                                 \
    "timed in the base, but not in the new report: absent, skipped, failed or without a time")                   \
  X(added, EXIT_CODE_COVERAGE, "not in the base; allowed with --allow-new")                                      \
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
extern const enum compare_verdict verdict_worst_first[COMPARE_VERDICT_COUNT]; /* the order of rows and of counts */

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
  bool must_settle;       /* times that had not settled are not judged. compare_build sets it for two samples of
                           * times of a GPU. It stays false for pairs, whose sides drift alike, and on a CPU, where
                           * few times settle: for these the spread of the processes is judged instead */
  bool once;              /* no row will be measured again */
  bool only_verdicts;     /* rows get no estimates and no reasons, and stay in the order of their names: for drawn
                           * gates (cli/rates) */
  uint32_t family;        /* number of rows for the Bonferroni correction; 0: no t-test for pairs that are
                           * measured again, and the number of all rows for two samples */
  uint64_t order_seed;    /* of the order within pairs; 0: no pairs */
  uint32_t pairs_planned; /* fewer are judged by the rule for few pairs; 0: by that for any number */
  uint32_t override_count;
  struct compare_override override[COMPARE_OVERRIDES_MAX];
};
struct compare_settings compare_defaults(void);
/* The exit code that a row with this verdict asks for; .allow_new and .noise_is_ok accept some verdicts. */
enum exit_code compare_exit_code_of(const struct compare_settings *, enum compare_verdict);
/* The value of .must_settle for these settings and a new report. */
bool compare_must_settle(const struct compare_settings *, const struct journal_data *now);

/* One field of the reports' identities (device, program, ...) that differs. */
struct compare_difference {
  char key[40], base[96], now[96];
  bool fatal; /* the reports are not comparable (exit 6); false: only a remark */
};

struct compare_process; /* judge.h */

/* For a drawn gate: the processes of its record that a side consists of, and the slowdown that is applied to their
 * times. */
struct compare_drawn {
  uint32_t count;
  const uint8_t *process;        /* indices, from 0 */
  double slowdown, log_slowdown; /* 0.02: 2 % of the time without event_overhead_us; the logarithm of 1.02 */
};

/* The variance of a pair's difference, in squares of the threshold, and the degrees of freedom behind it; 0: unknown.
 */
struct compare_noise {
  double variance, freedom;
};

/* What a row's estimate and bounds are held against: logarithms of the line, of what the lower bound must exceed, and
 * of the threshold. */
struct compare_limits {
  double relative; /* the threshold itself: 0.02 = 2 % */
  double line, bound, threshold;
};

/* One side's observations of a case. Microseconds; point into the report compared, which must outlive the compare. */
struct compare_side {
  const struct record *record;            /* NULL: not in this report */
  const struct compare_drawn *drawn;      /* NULL: all its processes */
  const struct compare_process *measured; /* those to draw from; NULL unless .drawn */
  uint32_t processes;
  double median_us;    /* over processes; NAN when not timed */
  double spread_ratio; /* relative standard deviation of the processes' medians; NAN for fewer than 2 */
  double sm_clock_mhz; /* median over processes; NAN when unknown */
};

struct compare_evidence; /* judge.h */

/* One case x variant x mode. */
struct compare_row {
  /* What is compared. */
  const char *key, *variant;
  enum time_mode mode;
  struct compare_side base, now;
  bool is_timed;                /* on both sides */
  bool is_unsettled;            /* the time of a side's first process had not settled */
  bool is_single;               /* a process's median is of one sample */
  bool is_other_card;           /* the sides were measured on different cards */
  bool dram_bound;              /* its time does not follow the SM clock */
  uint32_t family;              /* of how many rows one may look slow by chance; 0: no t-test */
  double floor_us;              /* of the settings, for its mode */
  double event_overhead_us;     /* subtracted from the times of both sides before any ratio (event_overhead_off) */
  double physical_us;           /* lower bound of the time of this shape on this device (floor.h); NAN: unknown */
  struct compare_limits limits; /* of the threshold that the settings give it */
  struct compare_noise others;  /* after few pairs: the noise of all rows */
  /* The verdict. */
  enum compare_verdict verdict;
  bool has_ratio;                 /* processes of both sides have times, which .ratio compares */
  bool by_hosts;                  /* undecided, since the verdict depends on the launch overhead of two hosts */
  bool was_suspect;               /* measured again after a first estimate that failed or did not decide */
  uint32_t looks;                 /* how often it was measured again */
  enum compare_verdict first;     /* of a suspect: its first verdict */
  struct compare_evidence *fresh; /* the later measurements; NULL without any. compare_free frees it */
  /* What is shown beside it; not with settings.only_verdicts. */
  double threshold;       /* the effective one: raised where the line would lie below floor_us */
  double ratio;           /* Hodges-Lehmann estimate of new/base time; > 1 is slower; NAN without times */
  double ci_low, ci_high; /* one-sided bounds at `confidence` each */
  double confidence;      /* reached by the rank distribution, at least COMPARE_CONFIDENCE unless inconclusive */
  double cycles_ratio;    /* the same estimate of time x SM clock; NAN when a clock is unknown */
  double least_us;        /* the shortest measured time */
  double first_ratio;     /* the first estimate of a suspect; else NAN */
  uint32_t rounds_needed; /* inconclusive: rounds per side that would probably decide; 0 when not known */
  char reason[COMPARE_TEXT_MAX]; /* one sentence; empty for `same` */
};

struct compare {
  struct compare_settings settings;
  const struct journal_data *base, *now;
  const struct record *unmeasured; /* the first of a loaded variant that the new side skips in every case, or NULL */
  const char *base_path;           /* of the base report, for again_command; NULL: not a file */
  bool is_same_file;               /* both reports were read from one file */
  struct compare_difference difference[COMPARE_DIFFERENCES_MAX];
  uint32_t difference_count;
  bool comparable;            /* no fatal difference */
  struct compare_row suite;   /* all cases together; .key is NULL when there are too few rows */
  size_t suite_rows;          /* number of rows in the geometric mean of `suite` */
  uint32_t pairs, pairs_most; /* of `ab`: measured at first, and at most; 0: no measurement in pairs */
  struct compare_row *rows;   /* worst first: by verdict, then by ratio */
  size_t row_count;
  uint64_t verdict_count[COMPARE_VERDICT_COUNT];
  uint64_t compared;        /* rows with a ratio */
  enum exit_code exit_code; /* 6, then 3, 4, 1, 5, 0; an empty intersection is 4 */
};

/* Compares two reports, which must outlive *out. Free with compare_free. Fails only for lack of memory. When the
 * reports are not comparable, there are no rows. */
struct status compare_build(const struct journal_data *base, const struct journal_data *now,
                            const struct compare_settings *, struct compare *out);
void compare_free(struct compare *);
/* Removes all rows and keeps the memory of the array, for rows that the caller adds (compare_start). */
void compare_clear(struct compare *);

/* Makes the row of two records before it is judged: everything that does not depend on the times. Either record may
 * be NULL. */
struct compare_row compare_start(const struct compare *, const struct record *base, const struct record *now,
                                 enum time_mode);

/* Judges the rows made by compare_start, and all cases together. */
void compare_judge(struct compare *);
/* Which rows of a measurement in steps are measured further: those that are undecided, or all that are compared where
 * all cases together are. A row that is clear keeps its pairs and its verdict. */
bool compare_is_open(const struct compare *, const struct compare_row *);
bool compare_is_clear(const struct compare *); /* none is */
/* Updates the counts, the order of the rows and the exit code after verdicts have changed. */
void compare_conclude(struct compare *);
/* The order by case, variant and mode, for qsort. */
int compare_by_name(const void *, const void *);

/* Each writes the whole comparison in one format. Pure. */
struct status verdict_text_write(const struct compare *, FILE *);
struct status verdict_json_write(const struct compare *, FILE *);     /* attnbench.compare/1 */
struct status verdict_markdown_write(const struct compare *, FILE *); /* at most 900 KiB, worst 50 rows in full */
struct status verdict_junit_write(const struct compare *, FILE *);
struct status verdict_annotations_write(const struct compare *, FILE *); /* GitHub workflow commands, at most 10 */

/* Whether the verdict fails a gate since the case became slower. */
bool compare_is_alarm(enum compare_verdict);
/* Whether the verdict leaves open if the case became slower. */
bool compare_is_undecided(enum compare_verdict);

/* Writes the command that measures this row again: the command of the run that made the new report, restricted to the
 * cell and with enough rounds to decide. When the base is a file with enough rounds, the command also compares with
 * it. */
void again_command(const struct compare *, const struct compare_row *, char *out, size_t size);
/* Writes the command of a side's run with as many rounds as decide, its report in `report`, so that no file of the
 * comparison is overwritten. "" where the report names no plain command. */
void again_command_of_side(const struct run_info *, const char *report, char *out, size_t size);
/* Whether a shell would do nothing but start one program with this command. People paste commands from reports, which
 * may come from an untrusted source. */
bool again_command_is_plain(const char *command);

/* Checks whether two reports can be compared, and whether a report can be a baseline. */

/* Fills compare->difference, ->difference_count and ->comparable. */
void identity_compare(struct compare *);

/* Adds a difference; with a fatal one the reports are not comparable. */
void identity_add_difference(struct compare *, const char *key, bool fatal, const char *base, const char *now);

/* Checks that this report can be the base of `--baseline`. STATUS_NOT_COMPARABLE when its run is unfinished, was
 * built from a tree with uncommitted changes, ran under a profiler, or has fewer than COMPARE_BASELINE_MIN processes.
 * The message begins with `path` and says how to make a usable one. */
struct status identity_check_baseline(const char *path, const struct journal_data *);

/* Measures rows again in fresh processes before their verdict is final.
 *
 * A row that is regressed (or needs more cycles) remains so only when the fresh processes alone give that verdict
 * too, since its first measurement was selected for being slow. A row that is undecided is judged by all its
 * measurements, and is regressed only when the fresh processes alone are regressed as well; this is repeated up to
 * COMPARE_LOOKS_MAX times. Times that are not fit for a verdict (judge_unfit) are left out. All cases together are
 * treated as a row. */

/* Whether this row has to be measured again before its verdict is final. */
bool confirm_wants(const struct compare_row *);
/* Whether any row has to, or all cases together. */
bool confirm_wants_any(const struct compare *);
/* Whether all cases together have to, so that the whole sweep is measured again. */
bool confirm_wants_all(const struct compare *);

/* Adds one more measurement of the rows that need it and judges them again. `fresh` compares only the fresh
 * processes, with the same settings, and may hold more cells. When paired, its base is measured again too; else it is
 * the same data. *fresh may be freed afterwards; its rows are put in another order. */
struct status confirm_add(struct compare *, struct compare *fresh);

/* The cells to be measured again before the verdicts of a comparison are final: those of the rows that
 * need it, or every cell when all cases together need it. */

struct suspects {
  char (*text)[CELL_NAME_MAX];
  const char **only; /* "KEY/VARIANT", each cell once; points into text */
  size_t count;
  bool modes[TIME_MODE_COUNT]; /* those of the rows that are the reason */
};

/* The caller frees with suspects_free, also on failure. */
struct status suspects_of(const struct compare *, struct suspects *out);
/* The cells that a measurement in steps goes on with: those with a row that is open (compare_is_open). */
struct status suspects_open(const struct compare *, struct suspects *out);
void suspects_free(struct suspects *);

/* The worse one of the exit codes of the comparison and of the new report's cells: a failed cell fails the gate even
 * when the base does not have it. Worst first: 6, 3, 4, 1, 5, 0. */
enum exit_code suspects_exit_code(const struct compare *);

/* The order of the two programs within each pair. It is random, since a fixed order can coincide with a periodic
 * disturbance: with other load during every fourth process, the order candidate-base-base-candidate missed half of
 * the 3 % slowdowns. */

/* Draws in which of `rounds` pairs the candidate runs first: in half of them, rounded up or down at random. The order
 * depends only on the arguments; `measurement` is the number of the measurement, 0 for the first. */
void order_draw(uint64_t seed, uint32_t measurement, uint32_t rounds, bool *candidate_first);

/* The same for a measurement that may end after `first` pairs, or after any `step` more: the candidate runs first in
 * half of the first pairs, and in half of each step. */
void order_draw_steps(uint64_t seed, uint32_t measurement, uint32_t rounds, uint32_t first, uint32_t step,
                      bool *candidate_first);

/* An unpredictable seed; never 0. */
uint64_t order_seed(void);
