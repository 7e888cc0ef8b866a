/* Times a cell and its reference in turns and takes the ratio. */
#include "cli/measure/measure.h"

#include <math.h>
#include <stdio.h>

#include "cli/base/clock.h"
#include "cli/measure/check.h"

enum {
  ROUNDS_ENOUGH = 9, /* where the interval, now without both ends, is narrow, and the clock does not move */
  COLD_BATCH = 5,    /* most cold samples per batch; a hot sample is a batch of launches already */
};

static const double budget_s[] = {[DEVICE_CPU] = 0.4, [DEVICE_CUDA] = 0.2}; /* per mode */
static const double cold_batch_us = 20e3; /* a batch of slow launches is a single one */

static const double narrow_relative = 0.0025; /* half of the interval */
static const double full_clock = 0.95;        /* of the highest: no lack of power that may still grow */

/* A GPU that has just got work runs at clocks that it cannot keep, and there one kernel may be further ahead than
 * where power is short: 6 % was seen on an H200. The rounds are taken anew until their ratios stay where they are, if
 * they do within this time. */
static const double settle_s[] = {[DEVICE_CPU] = 0, [DEVICE_CUDA] = 0.5};

/* ---- the reference ------------------------------------------------------------------------------------------- */

/* Of launches that are no longer than their memsets matter. */
static struct status time_memsets(struct bench *bench, double estimate_us, double *us) {
  *us = NAN;
  return estimate_us < SPEEDUP_SHORT_US ? bench_sample_memsets(bench, us) : status_ok();
}

static struct status prepare_timing(struct bench *bench, struct speedup_reference *out) {
  TRY(bench_time_prepare(bench, &out->hot_launches, &out->estimate_us));
  return time_memsets(bench, out->estimate_us, &out->memset_us);
}

/* What is not planned, because it does not take the shape or its plan cannot be launched, is not bound. */
static struct status bind_reference(struct device *device, struct bench *bench, const struct attn_case *attn_case,
                                    const struct variant_spec *spec, struct speedup_reference *out) {
  struct pass_facts facts[ATTN_PASSES_MAX] = {0};
  struct check_record check = {0};
  char reason[RECORD_REASON_MAX];
  struct record record;
  plan_record(attn_case, spec, device_info(device), &record);
  if (record.status != CELL_planned) return status_make(STATUS_UNSUPPORTED, "%s", record.reason);
  TRY(bench_bind(bench, spec->variant, &record.plan, facts));
  if (spec->variant->vendor != NULL)
    snprintf(out->library, sizeof out->library, "%s", spec->variant->vendor->library());
  TRY(check_output(bench, &check));
  if (check.right) return prepare_timing(bench, out);
  check_explain(&check, &attn_case->shape, reason);
  return status_make(STATUS_UNSUPPORTED, "is wrong here: %s", reason);
}

/* Memory that the reference alone would need is no failure of the row. */
static bool is_harmless(const struct status *status) {
  return status->code == STATUS_UNSUPPORTED || status->code == STATUS_MEMORY;
}

struct status speedup_prepare(struct device *device, struct bench *bench, const struct attn_case *attn_case,
                              const struct variant_spec *spec, struct speedup_reference *out) {
  const char *missing = spec->variant->vendor != NULL ? spec->variant->vendor->missing() : NULL;
  *out = (struct speedup_reference){.tried = true};
  bench_swap(bench);
  const struct status status = missing != NULL ? status_make(STATUS_UNSUPPORTED, "%s", missing)
                                               : bind_reference(device, bench, attn_case, spec, out);
  bench_swap(bench);
  if (!is_harmless(&status)) return status;
  snprintf(out->obstacle, sizeof out->obstacle, "%s: %s", spec->text, status.text);
  return status_ok();
}

/* ---- the rounds ---------------------------------------------------------------------------------------------- */

/* One side of the comparison: how its batches are taken. */
struct side {
  uint32_t samples; /* per batch */
  double cost_us;   /* of a batch */
};

static struct side side_of(enum time_mode mode, uint32_t hot_launches, double estimate_us) {
  const double cost_us = measure_sample_us(mode, hot_launches, estimate_us), fit = cold_batch_us / cost_us;
  if (mode != TIME_COLD) return (struct side){1, cost_us};
  const uint32_t samples = fit < 1 ? 1 : fit > COLD_BATCH ? COLD_BATCH : (uint32_t)fit;
  return (struct side){samples, samples * cost_us};
}

static uint32_t rounds_for(enum device_kind kind, const struct side *variant, const struct side *reference) {
  const double fit = budget_s[kind] * 1e6 / (variant->cost_us + reference->cost_us);
  return fit <= RATIO_ROUNDS_MIN ? RATIO_ROUNDS_MIN : fit >= SPEEDUP_ROUNDS_MAX ? SPEEDUP_ROUNDS_MAX : (uint32_t)fit;
}

static struct status take_batch(struct bench *bench, enum time_mode mode, const struct side *side, double *median_us,
                                double *clock_mhz) {
  double us[COLD_BATCH];
  TRY(bench_sample(bench, mode, side->samples, us, clock_mhz));
  *median_us = stats_median(us, side->samples);
  return status_ok();
}

static struct status take_reference(struct bench *bench, enum time_mode mode, const struct side *side,
                                    double *median_us) {
  double clock_mhz;
  bench_swap(bench);
  const struct status status = take_batch(bench, mode, side, median_us, &clock_mhz);
  bench_swap(bench);
  return status;
}

/* What was measured of both sides. */
struct turns {
  uint32_t rounds;
  double reference_us[SPEEDUP_ROUNDS_MAX + 1], variant_us[SPEEDUP_ROUNDS_MAX], clock_mhz[SPEEDUP_ROUNDS_MAX];
};

/* Of the rounds whose clock could be read. */
static double median_clock(const double *mhz, uint32_t rounds) {
  double known[SPEEDUP_ROUNDS_MAX];
  size_t count = 0;
  for (uint32_t i = 0; i < rounds; ++i) {
    if (isfinite(mhz[i])) known[count++] = mhz[i];
  }
  return stats_median(known, count);
}

static bool moves(const struct turns *turns) {
  return speedup_drift(turns->reference_us, turns->variant_us, turns->rounds) > RATIO_DRIFT_MOST;
}

/* One mode of a row against its reference. */
struct match {
  struct device *device;
  struct bench *bench;
  enum time_mode mode;
  struct side variant, reference;
  double overhead_us; /* in every time of this mode */
};

static struct ratio_record ratio_of(const struct match *match, const struct turns *turns) {
  struct ratio_record ratio =
      speedup_of_batches(turns->reference_us, turns->variant_us, turns->rounds, match->overhead_us);
  ratio.sm_clock_mhz = median_clock(turns->clock_mhz, turns->rounds);
  return ratio;
}

static bool is_enough(const struct match *match, const struct turns *turns) {
  if (turns->rounds < ROUNDS_ENOUGH) return false;
  const struct ratio_record ratio = ratio_of(match, turns);
  return ratio.sm_clock_mhz >= full_clock * device_info(match->device)->sm_clock_max_mhz &&
         ratio.ci_high - ratio.ci_low <= 2 * narrow_relative * ratio.ratio;
}

/* The first of the reference is there. */
static struct status take_rounds(const struct match *match, struct turns *out) {
  const uint32_t most = rounds_for(device_info(match->device)->kind, &match->variant, &match->reference);
  for (out->rounds = 0; out->rounds < most && !is_enough(match, out); ++out->rounds) {
    const uint32_t i = out->rounds;
    TRY(take_batch(match->bench, match->mode, &match->variant, &out->variant_us[i], &out->clock_mhz[i]));
    TRY(take_reference(match->bench, match->mode, &match->reference, &out->reference_us[i + 1]));
  }
  return status_ok();
}

static struct status measure_turns(const struct match *match, struct ratio_record *out) {
  const double most_s = settle_s[device_info(match->device)->kind];
  struct bench *bench = match->bench;
  struct turns turns;
  /* The first turn of each side finds the other mode's caches and clocks: taken, and taken again. */
  TRY(take_reference(bench, match->mode, &match->reference, &turns.reference_us[0]));
  TRY(take_batch(bench, match->mode, &match->variant, &turns.variant_us[0], &turns.clock_mhz[0]));
  TRY(take_reference(bench, match->mode, &match->reference, &turns.reference_us[0]));
  const double start_s = clock_now_s();
  TRY(take_rounds(match, &turns));
  while (clock_now_s() - start_s < most_s && moves(&turns)) {
    turns.reference_us[0] = turns.reference_us[turns.rounds];
    TRY(take_rounds(match, &turns));
  }
  *out = ratio_of(match, &turns);
  return status_ok();
}

/* The first sample finds the other mode's caches and clocks, and does not count. */
static struct status measure_apart(const struct match *match, const struct time_record *own,
                                   struct ratio_record *out) {
  double us[RATIO_ROUNDS_MIN];
  TRY(take_reference(match->bench, match->mode, &match->reference, &us[0]));
  for (uint32_t i = 0; i < RATIO_ROUNDS_MIN; ++i)
    TRY(take_reference(match->bench, match->mode, &match->reference, &us[i]));
  *out = speedup_of_apart(us, RATIO_ROUNDS_MIN, own, match->overhead_us);
  return status_ok();
}

static struct status take_reference_block(const struct match *match, double seconds, double *median_us) {
  double clock_mhz;
  bench_swap(match->bench);
  const struct status status = steady_block(match->bench, seconds, match->reference.cost_us, median_us, &clock_mhz);
  bench_swap(match->bench);
  return status;
}

/* In turns that are so long that each side comes to the clock that it keeps alone. */
static struct status measure_steady(const struct match *match, struct ratio_record *out) {
  const double seconds = steady_defaults(device_info(match->device)->kind).block_s;
  struct turns turns = {.rounds = RATIO_ROUNDS_MIN};
  TRY(take_reference_block(match, seconds, &turns.reference_us[0]));
  for (uint32_t i = 0; i < turns.rounds; ++i) {
    TRY(steady_block(match->bench, seconds, match->variant.cost_us, &turns.variant_us[i], &turns.clock_mhz[i]));
    TRY(take_reference_block(match, seconds, &turns.reference_us[i + 1]));
  }
  *out = ratio_of(match, &turns);
  return status_ok();
}

/* The reference's memsets were timed when it was bound. */
static struct status note_memsets(const struct match *match, const struct speedup_reference *reference,
                                  double estimate_us, double own_us, struct ratio_record *ratio) {
  double memset_us;
  if (match->mode != TIME_HOT) return status_ok();
  TRY(time_memsets(match->bench, estimate_us, &memset_us));
  ratio->kernels_alone = record_kernels_alone(ratio->ratio, own_us, reference->memset_us, memset_us);
  if (!(ratio->kernels_alone > 0)) return status_ok();
  ratio->reference_memset_us = fmax(reference->memset_us, 0);
  ratio->memset_us = fmax(memset_us, 0);
  return status_ok();
}

static bool is_far(double one_us, double other_us) {
  return one_us >= SPEEDUP_FAR * other_us || other_us >= SPEEDUP_FAR * one_us;
}

struct status speedup_measure(struct device *device, struct bench *bench, const struct speedup_reference *reference,
                              uint32_t hot_launches, double estimate_us, const bool modes[TIME_MODE_COUNT],
                              const struct time_record own[TIME_MODE_COUNT], struct speedup_record *out) {
  static const enum time_mode order[] = {TIME_HOT, TIME_COLD, TIME_STEADY};
  const struct device_info *info = device_info(device);
  snprintf(out->library, sizeof out->library, "%s", reference->library);
  for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
    const enum time_mode mode = order[i];
    if (!modes[mode]) continue;
    const struct match match = {.device = device,
                                .bench = bench,
                                .mode = mode,
                                .variant = side_of(mode, hot_launches, estimate_us),
                                .reference = side_of(mode, reference->hot_launches, reference->estimate_us),
                                .overhead_us = event_overhead_in(mode, info, device_event_overhead_us(device))};
    const bool apart = own[mode].done && is_far(estimate_us, reference->estimate_us);
    struct ratio_record *ratio = &out->mode[mode];
    TRY(mode == TIME_STEADY ? measure_steady(&match, ratio)
        : apart             ? measure_apart(&match, &own[mode], ratio)
                            : measure_turns(&match, ratio));
    TRY(note_memsets(&match, reference, estimate_us, own[mode].us.median, ratio));
  }
  return status_ok();
}

struct status speedup_none(struct speedup_record *out, const char *why) {
  snprintf(out->reason, sizeof out->reason, "%s", why);
  return status_ok();
}

/* off_us is in every time and no kernel's own. */
static void ratios_of(const double *reference_us, const double *variant_us, uint32_t rounds, double off_us,
                      double ratio[SPEEDUP_ROUNDS_MAX]) {
  for (uint32_t i = 0; i < rounds; ++i)
    ratio[i] = ((reference_us[i] + reference_us[i + 1]) / 2 - off_us) / (variant_us[i] - off_us);
}

/* From round to round a drift is small and scatter is not. */
static double scatter_of(const double *ratio, uint32_t rounds) {
  const double normal = 0.6745 * 1.4142; /* median of |x - y| over the deviation of each, of normal numbers */
  double step[SPEEDUP_ROUNDS_MAX];
  for (uint32_t i = 0; i + 1 < rounds; ++i) step[i] = fabs(ratio[i + 1] - ratio[i]);
  return stats_median(step, rounds - 1) / normal;
}

double speedup_drift(const double *reference_us, const double *variant_us, uint32_t rounds) {
  const double of_median = 1.2533; /* its deviation over that of the mean of so many normal numbers */
  double ratio[SPEEDUP_ROUNDS_MAX];
  if (rounds > SPEEDUP_ROUNDS_MAX) rounds = SPEEDUP_ROUNDS_MAX;
  if (rounds < 4) return NAN;
  ratios_of(reference_us, variant_us, rounds, 0, ratio);
  const uint32_t half = rounds / 2;
  const double first = stats_median(ratio, half), second = stats_median(ratio + rounds - half, half);
  const double chance = of_median * scatter_of(ratio, rounds) * sqrt(2.0 / half);
  return fmax(fabs(first - second) - chance, 0) / fmin(first, second);
}

struct ratio_record speedup_of_batches(const double *reference_us, const double *variant_us, uint32_t rounds,
                                       double overhead_us) {
  double ratio[SPEEDUP_ROUNDS_MAX];
  const uint32_t used = rounds < SPEEDUP_ROUNDS_MAX ? rounds : SPEEDUP_ROUNDS_MAX;
  const double shortest_us =
      fmin(event_overhead_shortest(reference_us, used + 1), event_overhead_shortest(variant_us, used));
  const double off_us = event_overhead_most(overhead_us, shortest_us);
  ratios_of(reference_us, variant_us, used, off_us, ratio);
  const struct stats stats = stats_of(ratio, used);
  return (struct ratio_record){.done = true,
                               .rounds = used,
                               .ratio = stats.median,
                               .ci_low = stats.ci_low,
                               .ci_high = stats.ci_high,
                               .event_overhead_us = off_us,
                               .drift_ratio = speedup_drift(reference_us, variant_us, used),
                               .sm_clock_mhz = NAN};
}

struct ratio_record speedup_of_apart(const double *reference_us, uint32_t count, const struct time_record *own,
                                     double overhead_us) {
  const double shortest_us =
      fmin(event_overhead_shortest(reference_us, count), event_overhead_shortest(&own->us.min, 1));
  const double off_us = event_overhead_most(overhead_us, shortest_us);
  const struct stats other = stats_of(reference_us, count);
  return (struct ratio_record){.done = true,
                               .rounds = count,
                               .ratio = (other.median - off_us) / (own->us.median - off_us),
                               .ci_low = (other.ci_low - off_us) / (own->us.ci_high - off_us),
                               .ci_high = (other.ci_high - off_us) / (own->us.ci_low - off_us),
                               .event_overhead_us = off_us,
                               .drift_ratio = NAN,
                               .sm_clock_mhz = own->sm_clock_mhz};
}
