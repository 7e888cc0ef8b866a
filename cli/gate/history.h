/* The times of cells over many runs: a series for each case, variant, mode, kind of card and reference, and where its
 * level changed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/record/journal.h"

/* Change points: where the level of a series of values changed for good. Pure.
 *
 * Every split of every seeded interval (Kovacs and others: Seeded binary segmentation, 2023) is a Student's t-test of
 * the values before against those after it. All tests together raise a false alarm in at most CHANGE_FALSE_ALARMS of
 * the series in which nothing changes (Bonferroni), however long they are. Values far from the median of their
 * neighbours are moved towards it first, so that a few disturbed runs are no change. */

enum { CHANGE_POINTS_MAX = 32, CHANGE_SIDE_LEAST = 3 };
/* In fewer values no change can be found. */
enum { CHANGE_VALUES_LEAST = 2 * CHANGE_SIDE_LEAST };
#define CHANGE_FALSE_ALARMS 0.05
/* A smaller change, as a difference of logarithms, is nobody's business. */
#define CHANGE_SHIFT_LEAST 0.005

struct change_point {
  size_t at;               /* index of the first value of the new level */
  size_t earliest, latest; /* between which `at` lies with a confidence of 95 % */
  double before, after;    /* the levels: means, of the values up to the neighbouring change points */
  double shift, low, high; /* after - before, and its 95 % interval */
};

struct change_points {
  size_t count;
  struct change_point item[CHANGE_POINTS_MAX]; /* in the order of the series; of more, the clearest ones */
  bool is_drift; /* a line fits the values better than the steps that were found; count is 0 then */
  double drift;  /* along that line, from the first to the last value */
};

/* STATUS_MEMORY. `count` may be 0. All values are finite. */
struct status change_find(const double *value, size_t count, struct change_points *out);

/* What is known of one file. */
struct history_run {
  char *path;
  uint64_t identity;           /* a journal and the report that was made from it have the same one */
  size_t place;                /* of its commit in the list of history_order; 0 without a list */
  char commit[RUN_COMMIT_MAX]; /* of the measured kernels */
  bool is_foreign;             /* they lie in another repository than attnbench (--commit) */
  char program[72];            /* the attnbench that measured them; "" where its commit is theirs */
  char date[24], card[64], card_id[48], driver[32], cuda[16], version[32], host[132];
  char library[SPEEDUP_LIBRARY_MAX]; /* behind the reference in turns, else the vendor's of which there is a row; ""
                                        for none */
  bool has_library_in_turns;
  double anchor[TIME_MODE_COUNT]; /* how much slower than usual the vendor's libraries were, as a difference of
                                     logarithms; NAN: none was timed */
};

struct history_point {
  uint32_t run;    /* index in the runs, which history_judge puts in order */
  float low, high; /* the interval of the ratio where the series has a reference, else of the time */
  double us;
  double ratio; /* time of the reference in turns / time; NAN in a series without a reference */
};

/* What the values of a series are, as logarithms; larger is slower. */
enum history_basis {
  HISTORY_IN_TURNS, /* time / time of the reference in turns */
  HISTORY_ANCHORED, /* time, less how much slower than usual the vendor's libraries were in the same run */
  HISTORY_ALONE,    /* time: a slower card or host looks the same */
};

enum { HISTORY_BESIDES_MAX = 192 };
/* How much of a change the newest level of its series still has. */
enum history_state {
  HISTORY_STANDS,   /* more than half of it */
  HISTORY_PARTLY,   /* at most half of it, but surely (95 %) more than CHANGE_SHIFT_LEAST */
  HISTORY_REVERTED, /* at most half of it, and not surely more than that */
};
struct history_change {
  struct change_point point;
  enum history_state state;
  double left; /* the newest level of the series, less the level before the change */
  /* Points: the commit of `good` is surely before the change and that of `bad` surely after it (95 %). */
  size_t good, bad;
  char besides[HISTORY_BESIDES_MAX]; /* what else changed there, so that no kernel is to blame; "" for nothing */
  /* Of a series with a reference in turns: how the row's own time and that of the reference changed, as differences
   * of logarithms. NAN in other series. */
  double own, reference;
  bool own_is_slower; /* by more than CHANGE_SHIFT_LEAST, with a confidence of 95 % */
  /* The reference surely changed, and the row's own time by less than half of the change. A card that changed its
   * speed at the same commit as the kernel looks the same, so such a slowdown is still a regression. */
  bool may_be_reference;
};

struct history_series {
  char key[AXIS_KEY_MAX], variant[VARIANT_SPEC_MAX];
  char reference[VARIANT_SPEC_MAX]; /* "" for none */
  char card[64];
  enum time_mode mode;
  bool is_anchor; /* a vendor's library */
  uint64_t hash;
  struct history_point *points; /* in the order of the runs once they are judged */
  size_t count, room;
  enum history_basis basis;
  struct history_change *changes;
  size_t change_count;
  double drift; /* of a series that drifts, from its first point to its last; NAN for others */
};

struct history {
  struct history_run *runs;
  size_t run_count, run_room;
  struct history_series *series;
  size_t series_count, series_room;
  size_t hint;     /* the series that was found last */
  size_t left_out; /* files */
};

/* Adds the timed rows of a run. *is_new is false for one that is there already, under another path. */
struct status history_add(struct history *, const char *path, const struct journal_data *, bool *is_new);
/* Orders the runs by their commits instead of their dates. `commits` is a text with a commit in front of each line,
 * oldest first. Runs of other commits are dropped, and their number is written to *dropped. Before history_judge. */
struct status history_order(struct history *, const char *commits, size_t *dropped);
/* Orders runs and points, and finds the changes. Once. */
struct status history_judge(struct history *);
void history_free(struct history *);

/* The level of a point as its series counts it, a logarithm; NAN where that is not known. */
double history_value(const struct history *, const struct history_series *, const struct history_point *);
/* Has the series enough points for a change to be found? */
bool history_is_judged(const struct history_series *);
size_t history_count_judged(const struct history *);
/* Is it a slowdown that was not reverted, or not wholly, and for which a kernel is to blame? */
bool history_is_regression(const struct history_series *, const struct history_change *);
/* Series with such a change. */
bool history_is_slower(const struct history_series *);
size_t history_count_slower(const struct history *);

/* A variant that newer runs have no time of, in some of its cases: it was removed, failed, or was not asked for. */
struct history_gone {
  const char *variant, *key; /* of the history; one of the cases */
  size_t cases;
  size_t last; /* the newest run with a time of it in any of these cases */
  size_t runs; /* later runs that timed something that the last one timed too */
};
/* Of a judged history. The caller frees *out, also on failure. */
struct status gone_list(const struct history *, struct history_gone **out, size_t *count);

/* A history as text, JSON and CSV, and the commands that search a commit between two runs. */

#define HISTORY_SCHEMA "attnbench.history/1"

/* Each writes to an open stream; the caller checks ferror. */
struct status history_sinks_text(const struct history *, FILE *);
struct status history_sinks_json(const struct history *, FILE *);
struct status history_sinks_csv(const struct history *, FILE *);
/* For each slowdown for which a kernel is to blame, the largest first, a line for a shell that lets git bisect find
 * its commit. */
struct status history_sinks_bisect(const struct history *, FILE *);

/* A change with its series, for lists of all changes. */
struct history_item {
  const struct history *history;
  const struct history_series *series;
  const struct history_change *change; /* NULL: the series drifts, and the three runs below are NULL */
  const struct history_run *first, *good,
      *bad;     /* runs: the first of the new level; those of change->good and ->bad */
  double shift; /* of the change, or the drift */
};
struct history_item history_sinks_item(const struct history *, const struct history_series *,
                                       const struct history_change *);
/* All changes and drifts, worst first: regressions, then other changes that were not reverted, then those that were.
 * The caller frees *out, also on failure. */
struct status history_sinks_list(const struct history *, struct history_item **out, size_t *count);
/* "slower", "faster", "slower, partly reverted", "slower, reverted", "drifts". */
const char *history_sinks_word(const struct history_item *);
/* The change in percent, "+3.1 %", as an argument of a message. */
struct history_percent {
  char text[32];
};
struct history_percent history_sinks_percent(double shift);
/* Why it may not be a kernel that changed: what else changed there, and how the row's own time and that of the
 * reference changed where the reference may be the cause. "" where nothing speaks against the kernel. */
enum { HISTORY_DOUBT_MAX = HISTORY_BESIDES_MAX + VARIANT_SPEC_MAX + 128 };
void history_sinks_doubt(const struct history_item *, char out[HISTORY_DOUBT_MAX]);
/* "3 series of 2 cases in 40 runs, 2026-01-02 to 2026-03-04; 1 file left out", or "in 40 runs of commits A to B"
 * where they are in that order, and the answer: "2 series are slower since a commit; 6 changes in 4 series in all",
 * "cannot tell: 3 of 3 series have fewer than 6 runs". */
enum { HISTORY_LINE_MAX = 512 };
void history_sinks_counts(const struct history *, char out[HISTORY_LINE_MAX]);
void history_sinks_answer(const struct history *, char out[HISTORY_LINE_MAX]);
/* "wmma has no time in the newest 3 runs in 2 cases, such as KEY; the last is of commit 1234567, 2026-01-02". */
void history_sinks_gone(const struct history *, const struct history_gone *, char out[HISTORY_LINE_MAX]);
