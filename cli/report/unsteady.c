/* Finds rows that moved while they were measured, and says so below the table. */
#include "cli/report/unsteady.h"

#include <math.h>

#include "cli/base/text.h"

enum { NOTE_MAX = 480 };

static const double clock_off_most = 0.03; /* steps of the clock are 15 MHz, 1 %: less is no finding */

bool unsteady_ratio(const struct ratio_record *ratio) { return ratio->done && ratio->drift_ratio > RATIO_DRIFT_MOST; }

double unsteady_clock(const struct record *record) {
  const struct ratio_record *ratio = &record->speedup.mode[TIME_HOT];
  const struct time_record *time = &record->time[TIME_HOT];
  return ratio->done && time->done ? ratio->sm_clock_mhz / time->sm_clock_mhz : (double)NAN;
}

/* How far a row is off; 0 where that is too little to tell. */
static double ratio_off(const struct record *record) {
  const struct ratio_record *ratio = &record->speedup.mode[TIME_HOT];
  return unsteady_ratio(ratio) ? ratio->drift_ratio : 0;
}

static double clock_off(const struct record *record) {
  const double off = fabs(unsteady_clock(record) - 1);
  return off > clock_off_most ? off : 0;
}

/* The row that is off most, and how many are off; NULL when none is. */
static const struct record *find(const struct report *report, double (*off)(const struct record *), size_t *count) {
  const struct record *worst = NULL;
  *count = 0;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct record *record = &report->records[i];
    if (!(off(record) > 0)) continue;
    ++*count;
    if (worst == NULL || off(record) > off(worst)) worst = record;
  }
  return worst;
}

static void print_ratios(FILE *file, const struct report *report) {
  char text[NOTE_MAX];
  size_t count;
  const struct record *worst = find(report, ratio_off, &count);
  if (worst == NULL) return;
  snprintf(text, sizeof text,
           "%zu vs ref still moved by more than %g %% when the time for it was over; most, by %.1f %%: %s at %s",
           count, 100 * RATIO_DRIFT_MOST, 100 * ratio_off(worst), worst->variant, worst->attn_case.key);
  text_wrap(file, "~ ", 2, text);
}

static void print_clocks(FILE *file, const struct report *report) {
  char text[NOTE_MAX];
  size_t count;
  const struct record *worst = find(report, clock_off, &count);
  if (worst == NULL) return;
  snprintf(
      text, sizeof text,
      "hot times of %zu %s were taken at a clock that the GPU did not keep; furthest: %s at %s, %.0f MHz, and %.0f "
      "MHz in its ratio. Compare such rows by vs ref, or lock the clock (nvidia-smi -lgc)",
      count, count == 1 ? "row" : "rows", worst->variant, worst->attn_case.key, worst->time[TIME_HOT].sm_clock_mhz,
      worst->speedup.mode[TIME_HOT].sm_clock_mhz);
  text_wrap(file, "", 0, text);
}

void unsteady_print(FILE *file, const struct report *report) {
  print_ratios(file, report);
  print_clocks(file, report);
}
