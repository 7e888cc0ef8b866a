/* Launches a row back to back until its time has settled, and takes it then. */
#include "cli/measure/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "kernels/timing.h"

static const double narrow_relative = 0.005; /* half of the interval */

/* On an H200 at its power limit a time drifts for about two seconds, by up to 14 %; two and a half seconds without a
 * trend are none of that. A CPU has no such limit to wait for. */
struct steady_settings steady_defaults(enum device_kind kind) {
  const struct steady_settings cuda = {.window_s = 0.5, .relative = 0.005, .most_s = 15, .block_s = 1};
  const struct steady_settings cpu = {.window_s = 0.05, .relative = 0.02, .most_s = 1, .block_s = 0.05};
  return kind == DEVICE_CUDA ? cuda : cpu;
}

bool steady_is_reached(const double mean_us[STEADY_WINDOWS], double relative) {
  const double *last = mean_us + STEADY_WINDOWS - 2;
  const double trend = fabs((last[0] + last[1]) / (mean_us[0] + mean_us[1]) - 1);
  double least = INFINITY, most = 0;
  for (uint32_t i = 0; i < STEADY_WINDOWS; ++i) {
    least = fmin(least, mean_us[i]);
    most = fmax(most, mean_us[i]);
  }
  return trend <= relative && most - least <= STEADY_RANGE * relative * least;
}

/* ---- windows ------------------------------------------------------------------------------------------------- */

struct instant {
  double s, j; /* s: the clock; j: the device's counter of energy, read just before the clock */
};

static struct instant instant_now(struct device *device) {
  const double j = device_energy_j(device);
  return (struct instant){clock_now_s(), j};
}

struct window {
  struct instant start;
  double mean_us, median_us, clock_mhz;
  struct device_health health; /* at its end */
  uint32_t samples;
  double us[STEADY_WINDOW_SAMPLES];
};

/* The last windows; number i is in element i % STEADY_WINDOWS. */
struct stretch {
  uint32_t taken;
  struct window window[STEADY_WINDOWS];
  struct instant end; /* of the last window */
};

/* How many samples to queue for about `seconds`. */
static uint32_t chain_for(double seconds, double sample_us, uint32_t room) {
  const double fit = seconds * 1e6 / sample_us, most = fmin(room, TIMING_CUDA_STEADY_CHAIN);
  return fit < 1 ? 1 : fit > most ? (uint32_t)most : (uint32_t)fit;
}

static double mean_of(const double *us, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += us[i];
  return sum / count;
}

/* Samples until the time is up or the window full. The SM clock is that of the last chain. */
static struct status fill_window(struct bench *bench, double seconds, double sample_us, struct window *out) {
  const double start_s = clock_now_s();
  double left_s = seconds;
  out->samples = 0;
  do {
    const uint32_t n = chain_for(left_s, sample_us, STEADY_WINDOW_SAMPLES - out->samples);
    TRY(bench_sample(bench, TIME_STEADY, n, out->us + out->samples, &out->clock_mhz));
    out->samples += n;
    left_s = start_s + seconds - clock_now_s();
  } while (left_s > 0 && out->samples < STEADY_WINDOW_SAMPLES);
  out->mean_us = mean_of(out->us, out->samples);
  out->median_us = stats_median(out->us, out->samples);
  return status_ok();
}

static struct status take_window(struct device *device, struct bench *bench, double seconds, double sample_us,
                                 struct stretch *stretch) {
  struct window *window = &stretch->window[stretch->taken % STEADY_WINDOWS];
  window->start = stretch->end;
  TRY(fill_window(bench, seconds, sample_us, window));
  device_health_read(device, &window->health);
  stretch->end = instant_now(device);
  ++stretch->taken;
  return status_ok();
}

static bool is_steady(const struct stretch *stretch, double relative) {
  double mean_us[STEADY_WINDOWS];
  if (stretch->taken < STEADY_WINDOWS) return false;
  for (uint32_t i = 0; i < STEADY_WINDOWS; ++i)
    mean_us[i] = stretch->window[(stretch->taken + i) % STEADY_WINDOWS].mean_us; /* the oldest first */
  return steady_is_reached(mean_us, relative);
}

/* ---- the record ---------------------------------------------------------------------------------------------- */

/* Adds what the windows from `first` on tell of the device. */
static void note_health(const struct stretch *stretch, uint32_t first, struct time_record *out) {
  double clock_mhz[STEADY_WINDOWS], power_w = 0;
  const uint32_t count = stretch->taken - first;
  for (uint32_t i = 0; i < count; ++i) {
    const struct window *window = &stretch->window[(first + i) % STEADY_WINDOWS];
    clock_mhz[i] = window->clock_mhz;
    power_w += window->health.power_w / count;
    out->temperature_c = fmax(out->temperature_c, window->health.temperature_c); /* fmax ignores the NAN before */
    out->throttle_reasons |= window->health.throttle_reasons;
  }
  out->sm_clock_mhz = stats_median(clock_mhz, count);
  out->energy_j = stretch->end.j - stretch->window[first % STEADY_WINDOWS].start.j;
  out->power_w = out->energy_j > 0 ? out->energy_j / out->elapsed_s : power_w;
  if (!(out->energy_j > 0)) out->energy_j = NAN;
}

static struct status record_of(const struct stretch *stretch, double begun_s, bool keeps_samples,
                               struct time_record *out) {
  const uint32_t count = stretch->taken < STEADY_WINDOWS ? stretch->taken : STEADY_WINDOWS;
  const uint32_t first = stretch->taken - count;
  const double start_s = stretch->window[first % STEADY_WINDOWS].start.s;
  OWNED_ARRAY(double, us, STEADY_WINDOWS *STEADY_WINDOW_SAMPLES, "steady samples");
  uint32_t samples = 0;
  for (uint32_t i = first; i < stretch->taken; ++i) {
    const struct window *window = &stretch->window[i % STEADY_WINDOWS];
    memcpy(us + samples, window->us, window->samples * sizeof *us);
    samples += window->samples;
  }
  out->us = stats_of(us, samples);
  out->elapsed_s = stretch->end.s - start_s;
  out->warmup_s = start_s - begun_s;
  out->stop = stats_relative_half_width(&out->us) <= narrow_relative ? STATS_STOP_INTERVAL : STATS_STOP_BUDGET;
  out->done = true;
  note_health(stretch, first, out);
  return keeps_samples ? measure_keep_samples(us, samples, &out->samples_us) : status_ok();
}

struct status steady_measure(struct device *device, struct bench *bench, const struct steady_settings *settings,
                             uint32_t hot_launches, double estimate_us, bool keeps_samples, struct time_record *out) {
  MEASURE_RANGE(device, "time.steady");
  const double sample_us = measure_sample_us(TIME_STEADY, hot_launches, estimate_us), begun_s = clock_now_s();
  *out = record_time_unknown();
  OWNED_ARRAY(struct stretch, stretch, 1, "stretch of steady samples");
  out->launches_per_sample = hot_launches;
  stretch->end = instant_now(device);
  while (!out->settled && (stretch->taken == 0 || clock_now_s() - begun_s < settings->most_s)) {
    TRY(take_window(device, bench, settings->window_s, sample_us, stretch));
    out->settled = is_steady(stretch, settings->relative);
  }
  return record_of(stretch, begun_s, keeps_samples, out);
}

struct status steady_block(struct bench *bench, double seconds, double sample_us, double *median_us,
                           double *clock_mhz) {
  OWNED_ARRAY(struct window, window, 1, "window of steady samples");
  TRY(fill_window(bench, seconds / 2, sample_us, window));
  TRY(fill_window(bench, seconds / 2, sample_us, window));
  *median_us = window->median_us;
  *clock_mhz = window->clock_mhz;
  return status_ok();
}
