/* Calibrates a delay that makes a cell slower by a known share. */
#include "cli/measure/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/timing.h"

enum {
  BATCH_MAX = 24, /* samples of a turn */
  TURNS = 13,
  STEPS_MAX = 4,
};

/* Of a turn. Hot samples are batches of launches already, and agree to a tenth of a percent. */
static const double batch_us[TIME_MODE_COUNT] = {[TIME_COLD] = 5000, [TIME_HOT] = 2800};
static const double least_delay_us = 1e-3;
static const double percent_max = 1000.0;
static const double close_enough = 0.002; /* of the ratio: no further correction */
/* Further off than this, of the ratio and of the slowdown, and the cell is no control. */
static const double allowed_off = 0.005, allowed_off_relative = 0.05;

/* ---- rules --------------------------------------------------------------------------------------------------- */

struct status inject_parse(const char *text, struct inject_rule *out) {
  *out = (struct inject_rule){.glob = ""};
  if (text == NULL) return status_ok();
  const char *colon = strrchr(text, ':');
  if (colon == NULL || colon == text || (size_t)(colon - text) >= sizeof out->glob)
    return status_make(
        STATUS_USAGE,
        "--inject-slowdown: \"%s\" is not GLOB:PERCENT with a glob of 1 to %d bytes; for example '*/wmma:3'", text,
        CELL_GLOB_MAX - 1);
  char *end;
  out->percent = strtod(colon + 1, &end);
  if (end == colon + 1 || *end != '\0' || !(out->percent > 0 && out->percent <= percent_max))
    return status_make(STATUS_USAGE, "--inject-slowdown: \"%s\" is not a percentage above 0, at most %g", colon + 1,
                       percent_max);
  memcpy(out->glob, text, (size_t)(colon - text));
  return status_ok();
}

double inject_percent(const struct inject_rule *rule, const char *key, const char *variant) {
  if (rule->glob[0] == '\0') return 0;
  return cell_name_matches(rule->glob, key, variant) ? rule->percent : 0;
}

/* ---- calibrating --------------------------------------------------------------------------------------------- */

struct trial {
  struct bench *bench;
  enum time_mode mode;
  uint32_t samples;   /* of a turn */
  double overhead_us; /* of the events, in every time: no part of what becomes slower */
  double base_us;     /* without a delay, median of the last turns, and without that */
};

/* A graph holds the delay it was made with. */
static struct status take_turn(const struct trial *trial, double delay_us, double *median_us) {
  double us[BATCH_MAX], unused;
  uint32_t launches;
  TRY(bench_delay(trial->bench, trial->mode, delay_us));
  if (trial->mode == TIME_HOT) TRY(bench_time_prepare(trial->bench, &launches, &unused));
  TRY(bench_sample(trial->bench, trial->mode, trial->samples, us, &unused));
  *median_us = stats_median(us, trial->samples);
  return status_ok();
}

/* Time with the delay over time without it, in turns. */
static struct status try_delay(struct trial *trial, double delay_us, double *ratio) {
  double without[TURNS + 1], with[TURNS];
  TRY(take_turn(trial, 0, &without[0]));
  for (uint32_t i = 0; i < TURNS; ++i) {
    TRY(take_turn(trial, delay_us, &with[i]));
    TRY(take_turn(trial, 0, &without[i + 1]));
  }
  const struct ratio_record faster = speedup_of_batches(without, with, TURNS, trial->overhead_us);
  trial->base_us = stats_median(without, TURNS + 1) - faster.event_overhead_us;
  *ratio = 1 / faster.ratio;
  return status_ok();
}

double inject_next_delay(double delay_us, double added_us, double least_added_us, double wanted_us) {
  const double stretch = (added_us - least_added_us) / delay_us;
  const double trusted = stretch > 0.25 && stretch < 4 ? stretch : 1; /* of a short delay it is mostly noise */
  return fmax(delay_us + (wanted_us - added_us) / trusted, least_delay_us);
}

static struct status too_short(const struct trial *trial, double percent, double ratio) {
  return status_make(STATUS_USAGE,
                     "--inject-slowdown: the delay is a launch of its own, which alone adds %.2f us to this cell's "
                     "%.2f us %s: %.2f %%, more than the %g %% asked for; choose a longer cell or a larger slowdown",
                     (ratio - 1) * trial->base_us, trial->base_us, time_mode_name(trial->mode), (ratio - 1) * 100,
                     percent);
}

/* Steps towards the wanted ratio; *delay_us is then the last delay that was tried. */
static struct status approach(struct trial *trial, double wanted, double *delay_us, double *ratio) {
  *delay_us = least_delay_us;
  TRY(try_delay(trial, *delay_us, ratio));
  if (*ratio > wanted + close_enough) return too_short(trial, (wanted - 1) * 100, *ratio);
  const double least_added_us = (*ratio - 1) * trial->base_us;
  for (int step = 0; step < STEPS_MAX && fabs(*ratio - wanted) > close_enough; ++step) {
    *delay_us =
        inject_next_delay(*delay_us, (*ratio - 1) * trial->base_us, least_added_us, (wanted - 1) * trial->base_us);
    TRY(try_delay(trial, *delay_us, ratio));
  }
  if (fabs(*ratio - wanted) <= allowed_off + allowed_off_relative * (wanted - 1)) return status_ok();
  return status_make(STATUS_USAGE,
                     "--inject-slowdown: this cell's times vary too much: %g %% was asked for, %.2f %% was reached "
                     "%s; choose a longer cell or a quieter machine",
                     (wanted - 1) * 100, (*ratio - 1) * 100, time_mode_name(trial->mode));
}

/* A CPU's delay is as long as its clock says and costs nothing more, and its times vary too much to correct by. */
static struct status compute(struct trial *trial, double wanted, double *delay_us, double *ratio) {
  TRY(try_delay(trial, least_delay_us, ratio));
  *delay_us = (wanted - 1) * trial->base_us;
  return try_delay(trial, *delay_us, ratio);
}

static uint32_t samples_of(enum time_mode mode, double estimate_us) {
  const double cost_us =
      mode == TIME_HOT ? fmax(estimate_us, TIMING_CUDA_HOT_SAMPLE_US) : measure_sample_us(mode, 1, estimate_us);
  const double fit = batch_us[mode] / cost_us;
  return fit < 3 ? 3 : fit > BATCH_MAX ? BATCH_MAX : (uint32_t)fit;
}

struct status inject_calibrate(struct device *device, struct bench *bench, const bool modes[TIME_MODE_COUNT],
                               double percent, double estimate_us, struct injected_record *out) {
  static const enum time_mode order[] = {TIME_HOT, TIME_COLD}; /* hot first: it brings the clocks up */
  const bool exact = device_info(device)->kind == DEVICE_CPU;
  struct injected_record injected = {.done = true, .percent = percent, .ratio = {NAN, NAN, NAN}};
  for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
    const enum time_mode mode = order[i];
    /* Steady launches have the delay of hot ones. */
    if (!modes[mode] && !(mode == TIME_HOT && modes[TIME_STEADY])) continue;
    struct trial trial = {
        .bench = bench,
        .mode = mode,
        .samples = samples_of(mode, estimate_us),
        .overhead_us = event_overhead_in(mode, device_info(device), device_event_overhead_us(device))};
    double delay_us = 0;
    TRY(take_turn(&trial, 0, &trial.base_us)); /* warm-up */
    TRY((exact ? compute : approach)(&trial, 1 + percent / 100, &delay_us, &injected.ratio[mode]));
    TRY(bench_delay(bench, mode, delay_us));
  }
  *out = injected;
  return status_ok();
}
