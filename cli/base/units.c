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

struct units_text units_bytes(double bytes) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  enum { UNITS = sizeof units / sizeof *units };
  const double shown_as_next = 999.5; /* what three digits would write as 1000 */
  struct units_text out;
  size_t unit = 0;
  for (; fabs(bytes) >= shown_as_next && unit + 1 < UNITS; ++unit) bytes /= 1000;
  const double magnitude = fabs(bytes);
  const int decimals = unit == 0 || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  snprintf(out.text, sizeof out.text, "%.18s%s%s", units_fixed(bytes, decimals).text, isfinite(bytes) ? " " : "",
           isfinite(bytes) ? units[unit] : "");
  return out;
}

struct units_text units_short(double value) {
  struct units_text out;
  units_format(value, out.text);
  return out;
}

struct units_text units_fixed(double value, int decimals) {
  struct units_text out;
  units_format_fixed(value, decimals, out.text);
  return out;
}
