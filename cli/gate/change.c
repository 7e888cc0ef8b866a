/* Finds change points by t-tests over seeded intervals. */
#include "cli/gate/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/gate/judge.h"

/* Lengths of the windows of a running median. Three outliers cannot move the median of 7 values, seven cannot move
 * that of 15. The short window is used within 15 values of either end, where the level after a change has few values
 * yet, and everywhere in a series of at most 30 values. */
enum { WINDOW_AT_ENDS = 7, WINDOW = 15 };
/* In standard deviations: how far a value may be from the median of its neighbours, and, once the changes are known,
 * from the median of its level. */
#define CLIP_AMONG_NEIGHBOURS 2
#define CLIP_IN_LEVEL         3
/* The 95 % quantile of the likelihood ratio of a change point's place (Hansen, Econometrica 68, 2000). */
#define PLACE_RATIO 7.35

/* Values with their running sums: sum[i] and square[i] are of the first i values. */
struct series {
  size_t count;
  const double *raw;
  double deviation; /* of the noise */
  double *value, *sum, *square;
};

/* A split of the values from..to - 1 in those before `at` and those from it on. */
struct split {
  size_t from, at, to;
  double t, chance; /* Student's t; the chance of so large a one, either way, when nothing changed */
};

struct found {
  size_t count;
  struct split item[CHANGE_POINTS_MAX]; /* in order; each reaches to its neighbours */
};

/* ---- values -------------------------------------------------------------------------------------------------- */

/* The standard deviation, from differences of neighbours, which hold no change but for a few. */
static struct status deviation_of(const double *value, size_t count, double *out) {
  OWNED(owned_free) double *difference = NULL;
  *out = 0;
  if (count < 2) return status_ok();
  TRY(owned_array(&difference, count, sizeof *difference, "differences"));
  for (size_t i = 1; i < count; ++i) difference[i - 1] = fabs(value[i] - value[i - 1]);
  *out = stats_median(difference, count - 1) / 0.6745 / sqrt(2);
  return status_ok();
}

/* The value, moved to at most so many standard deviations from the median. */
static double clipped(const struct series *series, size_t at, double median, double deviations) {
  const double most = deviations * series->deviation, value = series->raw[at];
  return series->deviation > 0 ? fmin(fmax(value, median - most), median + most) : value;
}

static void add_up(struct series *series) {
  for (size_t i = 0; i < series->count; ++i) {
    const double from_first = series->value[i] - series->raw[0]; /* sums of small numbers keep their digits */
    series->sum[i + 1] = series->sum[i] + from_first;
    series->square[i + 1] = series->square[i] + from_first * from_first;
  }
}

/* Clips the values from..to - 1, each towards the median of one window that contains it: the one whose median is
 * nearest to the value. Beside a change this is a window on the value's own side of it. */
static struct status clip_among_neighbours(struct series *series, size_t from, size_t to, size_t longest) {
  OWNED(owned_free) double *median = NULL;
  const size_t window = longest < series->count ? longest : series->count, windows = series->count - window + 1;
  TRY(owned_array(&median, windows, sizeof *median, "medians"));
  for (size_t i = 0; i < windows; ++i) median[i] = stats_median(series->raw + i, window);
  for (size_t i = from; i < to; ++i) {
    const size_t first = i + 1 > window ? i + 1 - window : 0;
    double nearest = median[first];
    for (size_t j = first; j <= i && j < windows; ++j) {
      if (fabs(median[j] - series->raw[i]) < fabs(nearest - series->raw[i])) nearest = median[j];
    }
    series->value[i] = clipped(series, i, nearest, CLIP_AMONG_NEIGHBOURS);
  }
  return status_ok();
}

static struct status gather(struct series *out) {
  TRY(deviation_of(out->raw, out->count, &out->deviation));
  TRY(owned_array(&out->value, out->count, sizeof *out->value, "values"));
  TRY(owned_array(&out->sum, out->count + 1, sizeof *out->sum, "values"));
  TRY(owned_array(&out->square, out->count + 1, sizeof *out->square, "values"));
  TRY(clip_among_neighbours(out, 0, out->count, WINDOW_AT_ENDS));
  if (out->count > 2 * WINDOW) TRY(clip_among_neighbours(out, WINDOW, out->count - WINDOW, WINDOW));
  add_up(out);
  return status_ok();
}

/* The neighbours of a change point are of two levels. */
static void clip_levels(const struct found *found, struct series *series) {
  for (size_t i = 0, from = 0; i <= found->count; ++i) {
    const size_t to = i < found->count ? found->item[i].at : series->count;
    const double median = stats_median(series->raw + from, to - from);
    for (size_t j = from; j < to; ++j) series->value[j] = clipped(series, j, median, CLIP_IN_LEVEL);
    from = to;
  }
  add_up(series);
}

static void drop(struct series *series) {
  free(series->value);
  free(series->sum);
  free(series->square);
}

/* ---- tests --------------------------------------------------------------------------------------------------- */

static double mean_of(const struct series *series, size_t from, size_t to) {
  return (series->sum[to] - series->sum[from]) / (double)(to - from);
}

/* The sum of squares around the mean. */
static double squares_of(const struct series *series, size_t from, size_t to) {
  const double mean = mean_of(series, from, to);
  return fmax(series->square[to] - series->square[from] - (double)(to - from) * mean * mean, 0);
}

static double squares_at(const struct series *series, const struct split *split, size_t at) {
  return squares_of(series, split->from, at) + squares_of(series, at, split->to);
}

static double freedom_of(const struct split *split) { return (double)(split->to - split->from - 2); }

static double error_of(const struct series *series, const struct split *split) {
  const double before = (double)(split->at - split->from), after = (double)(split->to - split->at);
  const double variance = squares_at(series, split, split->at) / freedom_of(split);
  /* Among so many splits some have, by chance, hardly any noise around them. */
  return sqrt(fmax(variance, series->deviation * series->deviation) * (1 / before + 1 / after));
}

static double shift_of(const struct series *series, const struct split *split) {
  return mean_of(series, split->at, split->to) - mean_of(series, split->from, split->at);
}

/* The clearest split of from..to - 1, which are at least twice CHANGE_SIDE_LEAST values. */
static struct split best_split(const struct series *series, size_t from, size_t to) {
  struct split best = {.from = from, .to = to, .at = from + CHANGE_SIDE_LEAST};
  double least = INFINITY;
  for (size_t at = from + CHANGE_SIDE_LEAST; at + CHANGE_SIDE_LEAST <= to; ++at) {
    const double squares = squares_at(series, &best, at);
    if (squares >= least) continue;
    least = squares;
    best.at = at;
  }
  const double shift = fabs(shift_of(series, &best)), error = error_of(series, &best);
  best.t = error > 0 ? shift / error : shift > 0 ? INFINITY : 0;
  best.chance = 2 * student_tail(best.t, freedom_of(&best));
  return best;
}

/* ---- intervals ----------------------------------------------------------------------------------------------- */

struct splits {
  size_t count, room, tests;
  struct split *item;
};

static struct status add_interval(const struct series *series, size_t from, size_t to, struct splits *out) {
  TRY(owned_grow(&out->item, out->count, &out->room, sizeof *out->item, "intervals"));
  out->item[out->count++] = best_split(series, from, to);
  out->tests += to - from - CHANGE_VALUES_LEAST + 1;
  return status_ok();
}

/* All of the series, then ever shorter intervals, each of which overlaps the next one by half. */
static struct status seed(const struct series *series, struct splits *out) {
  for (double length = (double)series->count; length >= CHANGE_VALUES_LEAST; length /= sqrt(2)) {
    const size_t long_as = (size_t)ceil(length), count = 2 * (size_t)ceil((double)series->count / length) - 1;
    const double stride = count > 1 ? (double)(series->count - long_as) / (double)(count - 1) : 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t from = (size_t)floor((double)i * stride);
      TRY(add_interval(series, from, from + long_as, out));
    }
  }
  return status_ok();
}

static int by_chance(const void *left, const void *right) {
  const struct split *a = left, *b = right;
  if (a->t != b->t && a->chance == b->chance) return a->t < b->t ? 1 : -1; /* chances that a double cannot hold */
  return (a->chance > b->chance) - (a->chance < b->chance);
}

/* ---- change points ------------------------------------------------------------------------------------------- */

static bool is_inside(const struct found *found, const struct split *split) {
  for (size_t i = 0; i < found->count; ++i) {
    if (found->item[i].at > split->from && found->item[i].at < split->to) return true;
  }
  return false;
}

static void insert(struct found *found, const struct split *split) {
  size_t at = found->count++;
  for (; at > 0 && found->item[at - 1].at > split->at; --at) found->item[at] = found->item[at - 1];
  found->item[at] = *split;
}

static void take_clearest(const struct splits *splits, double level, struct found *out) {
  for (size_t i = 0; i < splits->count && splits->item[i].chance <= level; ++i) {
    if (out->count < CHANGE_POINTS_MAX && !is_inside(out, &splits->item[i])) insert(out, &splits->item[i]);
  }
}

/* Places each change point anew between its neighbours. */
static void place(const struct series *series, struct found *found) {
  for (size_t i = 0; i < found->count; ++i) {
    const size_t from = i > 0 ? found->item[i - 1].at : 0;
    const size_t to = i + 1 < found->count ? found->item[i + 1].at : series->count;
    if (to - from >= CHANGE_VALUES_LEAST) {
      found->item[i] = best_split(series, from, to);
    } else {
      found->item[i] = (struct split){.from = from, .at = found->item[i].at, .to = to, .chance = 1};
    }
  }
}

/* The change point that is the least of one: too small, else too likely to be chance; count: none. */
static size_t weakest(const struct series *series, const struct found *found, double level) {
  size_t weakest = found->count;
  double least = INFINITY;
  for (size_t i = 0; i < found->count; ++i) {
    const struct split *split = &found->item[i];
    const double size = fabs(shift_of(series, split));
    if ((size >= CHANGE_SHIFT_LEAST && split->chance <= level) || size >= least) continue;
    least = size;
    weakest = i;
  }
  return weakest;
}

static void settle(const struct series *series, double level, struct found *found) {
  for (;;) {
    for (int i = 0; i < 3; ++i) place(series, found);
    const size_t at = weakest(series, found, level);
    if (at == found->count) return;
    memmove(&found->item[at], &found->item[at + 1], (--found->count - at) * sizeof *found->item);
  }
}

/* Does a line explain the values better than the steps? By Schwarz's criterion. */
static bool is_line(const struct series *series, const struct found *found, double *drift) {
  const double count = (double)series->count, middle = (count - 1) / 2;
  double product = 0, squares = squares_of(series, 0, found->item[0].at);
  for (size_t i = 0; i < series->count; ++i) product += ((double)i - middle) * (series->value[i] - series->raw[0]);
  for (size_t i = 0; i < found->count; ++i) squares += squares_of(series, found->item[i].at, found->item[i].to);
  const double slope = product * 12 / (count * (count * count - 1));
  const double of_line = squares_of(series, 0, series->count) - slope * product;
  *drift = slope * (count - 1);
  return count * log(of_line) + 3 * log(count) < count * log(squares) + (2 * (double)found->count + 2) * log(count);
}

static struct change_point point_of(const struct series *series, const struct split *split) {
  const double least = squares_at(series, split, split->at);
  const double most = least * (1 + PLACE_RATIO / freedom_of(split));
  const double half = student_quantile(0.025, freedom_of(split)) * error_of(series, split);
  struct change_point out = {.at = split->at,
                             .earliest = split->at,
                             .latest = split->at,
                             .before = series->raw[0] + mean_of(series, split->from, split->at),
                             .after = series->raw[0] + mean_of(series, split->at, split->to),
                             .shift = shift_of(series, split)};
  out.low = out.shift - half;
  out.high = out.shift + half;
  for (size_t at = split->from + 1; at < split->to; ++at) {
    if (squares_at(series, split, at) > most) continue;
    if (at < out.earliest) out.earliest = at;
    if (at > out.latest) out.latest = at;
  }
  return out;
}

static void tell(const struct series *series, const struct found *found, struct change_points *out) {
  if (found->count == 0) return;
  out->is_drift = is_line(series, found, &out->drift);
  if (out->is_drift) return;
  out->drift = 0;
  out->count = found->count;
  for (size_t i = 0; i < found->count; ++i) out->item[i] = point_of(series, &found->item[i]);
}

static void free_splits(struct splits *splits) { free(splits->item); }

struct status change_find(const double *value, size_t count, struct change_points *out) {
  OWNED(drop) struct series series = {.count = count, .raw = value};
  OWNED(free_splits) struct splits splits = {.count = 0};
  struct found found = {.count = 0};
  *out = (struct change_points){.count = 0};
  if (count < CHANGE_VALUES_LEAST) return status_ok();
  TRY(gather(&series));
  TRY(seed(&series, &splits));
  const double level = CHANGE_FALSE_ALARMS / (double)splits.tests;
  qsort(splits.item, splits.count, sizeof *splits.item, by_chance);
  take_clearest(&splits, level, &found);
  settle(&series, level, &found);
  clip_levels(&found, &series);
  place(&series, &found);
  tell(&series, &found, out);
  return status_ok();
}
