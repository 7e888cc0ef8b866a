/* Compares what processes say of their own time with what was seen from outside. */
#include "cli/gate/witness.h"

#include <math.h>
#include <stdio.h>

#include "cli/gate/judge.h"

static const struct {
  const char *name;
  double share, seconds;
} allowed[WITNESS_COUNT] = {
#define WITNESS_ROW(name, words, share, seconds) [WITNESS_##name] = {words, share, seconds},
    WITNESS_MAP(WITNESS_ROW)
#undef WITNESS_ROW
};

/* How often the scatter of a busy machine alone may look like a clock of its own, for each kind of time. */
static const double false_alarms = 0.001;

static double sampled_s(const struct journal_data *told) {
  double sum_s = 0;
  for (size_t i = 0; i < told->record_count * TIME_MODE_COUNT; ++i) {
    const struct time_record *time = &told->records[i / TIME_MODE_COUNT].time[i % TIME_MODE_COUNT];
    if (time->done) sum_s += 1e-6 * (double)time->us.n * time->us.median * time->launches_per_sample;
  }
  return sum_s;
}

void witness_add(struct witness_side *side, const struct journal_data *told, const double seen_s[WITNESS_COUNT]) {
  if (side->count == PROCESSES_MAX) return;
  side->told_s[side->count] = fmax(told->wall_s, sampled_s(told));
  for (size_t kind = 0; kind < WITNESS_COUNT; ++kind) side->seen_s[kind][side->count] = seen_s[kind];
  ++side->count;
}

/* No process tells what others use. */
static double hidden_s(const struct witness_side *side, enum witness_kind kind, uint32_t process) {
  return side->seen_s[kind][process] - (kind == WITNESS_others ? 0 : side->told_s[process]);
}

/* What the new side hides more than the base does, over the pairs. */
struct hidden {
  uint32_t count;
  double mean_s, error_s, allowed_s;
};

static struct hidden hidden_more(const struct witness *witness, enum witness_kind kind) {
  const uint32_t count = witness->now.count < witness->base.count ? witness->now.count : witness->base.count;
  double sum_s = 0, squares = 0, seen_s = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const double more_s = hidden_s(&witness->now, kind, i) - hidden_s(&witness->base, kind, i);
    sum_s += more_s;
    squares += more_s * more_s;
    seen_s += witness->now.seen_s[kind == WITNESS_journal ? WITNESS_journal : WITNESS_process][i];
  }
  const double mean_s = sum_s / count, variance = fmax(0, squares / count - mean_s * mean_s) / (count - 1);
  return (struct hidden){count, mean_s, sqrt(variance), allowed[kind].seconds + allowed[kind].share * seen_s / count};
}

static bool is_believed(const struct witness *witness, enum witness_kind kind) {
  const struct hidden more = hidden_more(witness, kind);
  if (more.count < COMPARE_PAIRS_MIN || isnan(more.mean_s)) return true;
  const double errors = student_quantile(false_alarms / 2, more.count - 1);
  return fabs(more.mean_s) <= more.allowed_s || fabs(more.mean_s) <= errors * more.error_s;
}

bool witness_doubts(const struct witness *witness) {
  for (enum witness_kind kind = 0; kind < WITNESS_COUNT; ++kind) {
    const struct hidden more = hidden_more(witness, kind);
    if (more.count > 0 && fabs(more.mean_s) > more.allowed_s) return true;
  }
  return false;
}

static void put_side(const struct witness_side *side, enum witness_kind kind, char *out, size_t size) {
  double told_s = 0, seen_s = 0, process_s = 0;
  for (uint32_t i = 0; i < side->count; ++i) {
    told_s += side->told_s[i];
    seen_s += side->seen_s[kind][i];
    process_s += side->seen_s[WITNESS_process][i];
  }
  if (kind == WITNESS_others) {
    snprintf(out, size, "%.2f processors busy with other processes, on average", seen_s / process_s);
  } else {
    snprintf(out, size, "%.2f s by its own account, %.2f s by the clock of the judge", told_s, seen_s);
  }
}

void witness_judge(const struct witness *witness, struct compare *compare) {
  char base[96], now[96];
  for (enum witness_kind kind = 0; kind < WITNESS_COUNT; ++kind) {
    if (is_believed(witness, kind)) continue;
    put_side(&witness->base, kind, base, sizeof base);
    put_side(&witness->now, kind, now, sizeof now);
    identity_add_difference(compare, allowed[kind].name, true, base, now);
  }
  if (compare->comparable) return;
  compare_clear(compare);
  compare_judge(compare);
}
