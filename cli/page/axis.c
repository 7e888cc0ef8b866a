/* Scales, ticks and their labels. */
#include "cli/page/plot.h"

#include <math.h>
#include <stdio.h>

#include "cli/base/units.h"

enum { TICKS_WANTED = 5 };
static const double EXPONENT_BELOW = 1e-3; /* more digits would not fit beside the axis */

/* 1, 2 or 5 times a power of ten: the smallest that is no less than `least`. */
static double round_step(double least) {
  static const double steps[] = {1, 2, 5, 10};
  const double power = pow(10, floor(log10(least)));
  size_t i = 0;
  while (i + 1 < sizeof steps / sizeof *steps && steps[i] * power < least * (1 - 1e-9)) ++i;
  return steps[i] * power;
}

struct axis axis_linear(double most, double from, double to) {
  const double top = isfinite(most) && most > 0 ? most : 1;
  const double step = round_step(top / TICKS_WANTED);
  return (struct axis){
      .low = 0, .high = step * ceil(top / step * (1 - 1e-9)), .from = from, .to = to, .tick_spacing = step};
}

struct axis axis_around(double least, double most, double from, double to) {
  const double low = fmin(least, 0), high = fmax(most, 0);
  const double span = high > low ? high - low : 1;
  return (struct axis){.low = low - span * 0.06,
                       .high = high + span * 0.06,
                       .from = from,
                       .to = to,
                       .tick_spacing = round_step(span / TICKS_WANTED)};
}

double axis_at(const struct axis *axis, double value) {
  const double part = axis->is_log ? log(value / axis->low) / log(axis->high / axis->low)
                                   : (value - axis->low) / (axis->high - axis->low);
  return axis->from + part * (axis->to - axis->from);
}

static size_t linear_ticks(const struct axis *axis, double out[AXIS_TICKS_MAX]) {
  size_t count = 0;
  const double first = ceil(axis->low / axis->tick_spacing * (1 - 1e-9));
  for (double i = first; count < AXIS_TICKS_MAX && i * axis->tick_spacing <= axis->high * (1 + 1e-9); ++i)
    out[count++] = i * axis->tick_spacing;
  return count;
}

/* Powers of ten, with 2 and 5 between where there are few; every second or third where there are many. */
static size_t log_ticks(const struct axis *axis, double out[AXIS_TICKS_MAX]) {
  static const double parts[] = {1, 2, 5};
  const double decades = log10(axis->high / axis->low);
  const size_t per_decade = decades < 2.2 ? 3 : 1;
  const double stride = decades > 12 ? 3 : decades > 7 ? 2 : 1;
  size_t count = 0;
  for (double power = floor(log10(axis->low)); power <= log10(axis->high); power += stride) {
    for (size_t i = 0; i < per_decade && count < AXIS_TICKS_MAX; ++i) {
      const double tick = parts[i] * pow(10, power);
      if (tick >= axis->low * (1 - 1e-9) && tick <= axis->high * (1 + 1e-9)) out[count++] = tick;
    }
  }
  return count;
}

struct axis axis_log(double least, double most, double from, double to) {
  const double low = least > 0 && isfinite(least) ? least : 1;
  const double high = most > low && isfinite(most) ? most : low;
  const double air = pow(fmax(high / low, 2), 0.05);
  struct axis axis = {.is_log = true, .low = low / air, .high = high * air, .from = from, .to = to};
  double tick[AXIS_TICKS_MAX];
  /* A narrow range shows how little it differs: it reaches to the ticks around it. */
  if (log_ticks(&axis, tick) < 2) {
    axis.low = 1 / round_step(1 / low) / air;
    axis.high = round_step(high) * air;
  }
  if (log_ticks(&axis, tick) < 2) axis.high = 2.5 * axis.high;
  return axis;
}

size_t axis_ticks(const struct axis *axis, double out[AXIS_TICKS_MAX]) {
  return axis->is_log ? log_ticks(axis, out) : linear_ticks(axis, out);
}

void axis_label(const struct axis *axis, double tick, char out[AXIS_LABEL_MAX]) {
  const double unit = axis->is_log ? tick : axis->tick_spacing;
  const int decimals = (int)fmax(0, ceil(-log10(unit) - 1e-9));
  if (fabs(tick) < unit * 1e-6) {
    snprintf(out, AXIS_LABEL_MAX, "0");
  } else if (unit < EXPONENT_BELOW) {
    snprintf(out, AXIS_LABEL_MAX, axis->is_log ? "%.0e" : "%.1e", tick);
  } else {
    snprintf(out, AXIS_LABEL_MAX, "%s", units_fixed(tick, decimals).text);
  }
}

struct axis_range axis_range_none(void) {
  return (struct axis_range){INFINITY, -INFINITY};
}

void axis_range_add(struct axis_range *range, double value) {
  if (!isfinite(value)) return;
  range->least = fmin(range->least, value);
  range->most = fmax(range->most, value);
}
