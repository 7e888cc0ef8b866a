/* Formats numbers to a few significant digits. */
#include "cli/base/units.h"

#include <math.h>
#include <stdio.h>

enum { SIGNIFICANT_DIGITS = 4, DECIMALS_MAX = 9 };

void units_format_exponent(double value, char out[UNITS_TEXT_MAX]) {
  snprintf(out, UNITS_TEXT_MAX, isfinite(value) ? "%.2e" : "-", value);
}

void units_format_fixed(double value, int decimals, char out[UNITS_TEXT_MAX]) {
  const int length = snprintf(out, UNITS_TEXT_MAX, "%.*f", decimals, value);
  if (!isfinite(value) || length >= UNITS_TEXT_MAX) units_format_exponent(value, out);
}

void units_format(double value, char out[UNITS_TEXT_MAX]) {
  const double magnitude = fabs(value);
  const int leading = magnitude > 0 && isfinite(magnitude) ? (int)floor(log10(magnitude)) + 1 : 1;
  const int decimals = SIGNIFICANT_DIGITS - leading;
  units_format_fixed(value, decimals < 0 ? 0 : decimals > DECIMALS_MAX ? DECIMALS_MAX : decimals, out);
}

void units_format_bytes(double bytes, char out[UNITS_TEXT_MAX]) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  enum { UNITS = sizeof units / sizeof *units };
  const double shown_as_next = 999.5; /* what three digits would write as 1000 */
  char number[UNITS_TEXT_MAX];
  size_t unit = 0;
  for (; fabs(bytes) >= shown_as_next && unit + 1 < UNITS; ++unit) bytes /= 1000;
  const double magnitude = fabs(bytes);
  units_format_fixed(bytes, unit == 0 || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2, number);
  snprintf(out, UNITS_TEXT_MAX, "%.18s%s%s", number, isfinite(bytes) ? " " : "", isfinite(bytes) ? units[unit] : "");
}
