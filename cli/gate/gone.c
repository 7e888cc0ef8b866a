/* Finds the kernels of a history that its newest runs have no time of. */
#include <string.h>

#include "cli/base/owned.h"
#include "cli/gate/history.h"

static size_t last_run(const struct history_series *series) { return series->points[series->count - 1].run; }

static bool has_run(const struct history_series *series, size_t run) {
  for (size_t i = series->count; i-- > 0 && series->points[i].run >= run;) {
    if (series->points[i].run == run) return true;
  }
  return false;
}

/* Of each run, the newest run that timed something that this one timed too, on the same kind of card: runs of other
 * sweeps say nothing of a kernel. */
static void find_successors(const struct history *history, size_t *newest) {
  for (size_t i = 0; i < history->series_count; ++i) {
    const struct history_series *series = &history->series[i];
    for (size_t j = 0; j < series->count; ++j) {
      size_t *of = &newest[series->points[j].run];
      *of = last_run(series) > *of ? last_run(series) : *of;
    }
  }
}

static bool is_same_kernel(const struct history_series *a, const struct history_series *b) {
  return strcmp(a->key, b->key) == 0 && strcmp(a->variant, b->variant) == 0;
}

/* The newest run of the kernel in this case: in any mode, against any reference. */
static size_t newest_of(const struct history *history, size_t first, size_t end, const char *card) {
  size_t newest = 0;
  for (size_t i = first; i < end; ++i) {
    const struct history_series *series = &history->series[i];
    if (series->count > 0 && strcmp(series->card, card) == 0 && last_run(series) > newest) newest = last_run(series);
  }
  return newest;
}

static bool is_first_of_card(const struct history *history, size_t first, size_t at) {
  for (size_t i = first; i < at; ++i) {
    if (history->series[i].count > 0 && strcmp(history->series[i].card, history->series[at].card) == 0) return false;
  }
  return true;
}

static void add_case(const struct history_series *series, size_t last, struct history_gone *out, size_t *count) {
  size_t i = 0;
  while (i < *count && strcmp(out[i].variant, series->variant) != 0) ++i;
  if (i == *count) out[(*count)++] = (struct history_gone){.variant = series->variant};
  ++out[i].cases;
  if (last >= out[i].last) {
    out[i].last = last;
    out[i].key = series->key;
  }
}

/* How many runs after its last one timed something that this one timed too. */
static struct status count_runs(const struct history *history, struct history_gone *gone) {
  OWNED_ARRAY(bool, is_later, history->run_count, "runs");
  for (size_t i = 0; i < history->series_count; ++i) {
    const struct history_series *series = &history->series[i];
    if (!has_run(series, gone->last)) continue;
    for (size_t j = series->count; j-- > 0 && series->points[j].run > gone->last;)
      is_later[series->points[j].run] = true;
  }
  for (size_t i = 0; i < history->run_count; ++i) gone->runs += is_later[i];
  return status_ok();
}

struct status gone_list(const struct history *history, struct history_gone **out, size_t *count) {
  OWNED_ARRAY(size_t, newest, history->run_count, "runs");
  TRY(owned_array(out, history->series_count, sizeof **out, "kernels"));
  *count = 0;
  find_successors(history, newest);
  for (size_t first = 0, end; first < history->series_count; first = end) {
    for (end = first + 1; end < history->series_count;) {
      if (!is_same_kernel(&history->series[first], &history->series[end])) break;
      ++end;
    }
    for (size_t i = first; i < end; ++i) {
      const struct history_series *series = &history->series[i];
      if (series->count == 0 || !is_first_of_card(history, first, i)) continue;
      const size_t last = newest_of(history, first, end, series->card);
      if (newest[last] > last) add_case(series, last, *out, count);
    }
  }
  for (size_t i = 0; i < *count; ++i) TRY(count_runs(history, &(*out)[i]));
  return status_ok();
}
