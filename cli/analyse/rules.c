/* What the rules share: writing a finding, picking the pass and the mode that it is about. */
#include "cli/analyse/rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/analyse/gain.h"
#include "cli/base/text.h"
#include "cli/base/units.h"

/* A pass with less of the row's time than this is not worth a finding. */
static const double PASS_SHARE_MIN = 0.10;

void rules_put(char out[FINDING_TEXT_MAX], const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out, FINDING_TEXT_MAX, format, arguments);
  va_end(arguments);
}

void rules_append(char out[FINDING_TEXT_MAX], const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  text_append_list(out, FINDING_TEXT_MAX, format, arguments);
  va_end(arguments);
}

struct rules_text rules_count(uint64_t count, const char *noun) {
  struct rules_text out;
  snprintf(out.text, sizeof out.text, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
  return out;
}

struct rules_text rules_bytes(double bytes) {
  struct rules_text out;
  units_format_bytes(bytes, out.text);
  return out;
}

struct rules_text rules_us(double us) {
  struct rules_text out;
  snprintf(out.text, sizeof out.text, "%.*f us", us >= 99.95 ? 0 : us >= 9.995 ? 1 : 2, us);
  return out;
}

double rules_time_us(const struct rules_row *row, enum time_mode *mode) {
  *mode = row->metrics->mode[TIME_HOT].known ? TIME_HOT : TIME_COLD;
  return row->metrics->mode[*mode].known ? row->record->time[*mode].us.median : (double)NAN;
}

void rules_promise(const struct rules_row *row, double new_us, struct finding *f) {
  enum time_mode mode;
  const double now_us = rules_time_us(row, &mode);
  f->gain_ratio = now_us / new_us;
  f->saves_us = now_us - new_us;
}

void rules_promise_ratio(const struct rules_row *row, double ratio, struct finding *f) {
  enum time_mode mode;
  const double now_us = rules_time_us(row, &mode);
  const double fixed_us = fmin(now_us, gain_fixed_us(mode, rules_pass_count(row)));
  rules_promise(row, fixed_us + (now_us - fixed_us) / ratio, f);
  if (!isfinite(now_us)) f->gain_ratio = ratio;
}

const struct counted *rules_counted(const struct rules_row *row) {
  return row->metrics->counted.known && row->record->status == CELL_ok ? &row->metrics->counted : NULL;
}

const struct counter_values *rules_counted_pass(const struct rules_row *row, uint32_t pass) {
  const bool known = rules_counted(row) != NULL && pass < row->record->counters.pass_count;
  return known ? &row->record->counters.pass[pass].values : NULL;
}

struct rules_source rules_source_of(const struct rules_row *row) {
  struct rules_source source;
  snprintf(source.text, sizeof source.text, "measured by %s, %s", row->record->counters.source,
           row->record->counters.cache);
  return source;
}

uint32_t rules_pass_count(const struct rules_row *row) {
  const uint32_t count = row->record->plan.pass_count;
  return count < ATTN_PASSES_MAX ? count : ATTN_PASSES_MAX;
}

/* Share of the row's time that a pass takes; 1 when passes were not timed apart. Beside passes that work on query
 * rows, one that only prepares memory has none: its grid is no reason for anything. */
double rules_pass_share(const struct rules_row *row, uint32_t pass) {
  if (rules_pass_count(row) > 1 && row->record->pass[pass].pass.row_threads == 0) return 0;
  double total_us = 0;
  for (uint32_t i = 0; i < rules_pass_count(row); i++) total_us += row->record->pass[i].cold_us;
  const bool timed =
      row->record->status == CELL_ok && rules_pass_count(row) > 1 && isfinite(total_us) && total_us > 0;
  return timed ? row->record->pass[pass].cold_us / total_us : 1;
}

bool rules_worst_pass(const struct rules_row *row, double (*badness)(const struct rules_row *, uint32_t),
                      uint32_t *pass) {
  double worst = 0;
  for (uint32_t i = 0; i < rules_pass_count(row); i++) {
    const double here = rules_pass_share(row, i) >= PASS_SHARE_MIN ? badness(row, i) : 0;
    if (here > worst) worst = here, *pass = i;
  }
  return worst > 0;
}

struct rules_prefix rules_prefix_of(const struct rules_row *row, uint32_t pass) {
  struct rules_prefix prefix = {""};
  if (rules_pass_count(row) > 1) snprintf(prefix.text, sizeof prefix.text, "pass %s: ", row->record->pass[pass].name);
  return prefix;
}

uint32_t rules_slowest_pass(const struct rules_row *row) {
  uint32_t slowest = 0;
  for (uint32_t i = 1; i < rules_pass_count(row); i++)
    if (rules_pass_share(row, i) > rules_pass_share(row, slowest)) slowest = i;
  return slowest;
}

/* Hot first: a cold sample carries a constant that hides growth. */
bool rules_pair_mode(const struct rules_row *row, enum time_mode *mode) {
  static const enum time_mode preference[] = {TIME_HOT, TIME_COLD};
  if (row->narrow == NULL) return false;
  for (size_t i = 0; i < sizeof preference / sizeof preference[0]; i++) {
    *mode = preference[i];
    if (row->narrow_metrics->mode[*mode].known && row->wide_metrics->mode[*mode].known) return true;
  }
  return false;
}

uint64_t rules_slots(const struct rules_row *row, uint32_t pass) {
  return (uint64_t)row->device->sms * row->metrics->pass[pass].resident_blocks;
}
