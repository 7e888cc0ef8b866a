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

static bool is_load(enum witness_kind kind) { return kind == WITNESS_others || kind == WITNESS_all; }

/* Seconds that a process does not tell of, or how many processors were busy while it ran. */
static double hidden(const struct witness_side *side, enum witness_kind kind, uint32_t process) {
  const double seen_s = side->seen_s[kind][process];
  return is_load(kind) ? seen_s / side->seen_s[WITNESS_process][process] : seen_s - side->told_s[process];
}

/* What the new side hides more than the base does, over the pairs. */
struct hidden {
  uint32_t count;
  double mean, error, allowed;
};

static struct hidden hidden_more(const struct witness *witness, enum witness_kind kind) {
  const uint32_t count = witness->now.count < witness->base.count ? witness->now.count : witness->base.count;
  const enum witness_kind lasting = kind == WITNESS_journal ? WITNESS_journal : WITNESS_process;
  double sum = 0, squares = 0, lasted_s = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const double more = hidden(&witness->now, kind, i) - hidden(&witness->base, kind, i);
    sum += more;
    squares += more * more;
    lasted_s += witness->now.seen_s[lasting][i] / count;
  }
  const double mean = sum / count, variance = fmax(0, squares / count - mean * mean) / (count - 1);
  const double allowed_s = allowed[kind].seconds + allowed[kind].share * lasted_s;
  return (struct hidden){count, mean, sqrt(variance), is_load(kind) ? allowed_s / lasted_s : allowed_s};
}

/* The mean of the pairs so far is beyond what is allowed. */
static bool is_doubted(const struct witness *witness, enum witness_kind kind) {
  const struct hidden more = hidden_more(witness, kind);
  return more.count > 0 && fabs(more.mean) > more.allowed;
}

/* And there are enough pairs, whose scatter does not explain it. */
static bool is_disproved(const struct witness *witness, enum witness_kind kind) {
  const struct hidden more = hidden_more(witness, kind);
  if (more.count < COMPARE_PAIRS_MIN || !is_doubted(witness, kind)) return false;
  return fabs(more.mean) > student_quantile(false_alarms / 2, more.count - 1) * more.error;
}

static bool holds(const struct witness *witness, enum witness_kind kind,
                  bool (*claim)(const struct witness *, enum witness_kind)) {
  if (kind == WITNESS_all) return false;
  return claim(witness, kind) && (kind != WITNESS_others || claim(witness, WITNESS_all));
}

bool witness_doubts(const struct witness *witness) {
  for (enum witness_kind kind = 0; kind < WITNESS_COUNT; ++kind) {
    if (holds(witness, kind, is_doubted)) return true;
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
    if (!holds(witness, kind, is_disproved)) continue;
    put_side(&witness->base, kind, base, sizeof base);
    put_side(&witness->now, kind, now, sizeof now);
    identity_add_difference(compare, allowed[kind].name, true, base, now);
  }
  if (compare->comparable) return;
  compare_clear(compare);
  compare_judge(compare);
}
