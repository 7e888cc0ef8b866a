/* The rates of the gate as text. */
#include <inttypes.h>
#include <math.h>

#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/rates/power.h"

/* ---- the cases ----------------------------------------------------------------------------------------------- */

static const struct text_column columns[] = {
    {"case", "", true, 0, 20},         {"variant", "", true, 0, 10},
    {"mode", "", true, 0, 0},          {"median", "us", false, 0, 0},
    {"sd", "%", false, 0, 0},          {"threshold", "%", false, 0, 0},
    {"failed", "suites", false, 0, 0}, {"undecided", "suites", false, 0, 0},
    {"+2 %", "found %", false, 0, 0},  {"+3 %", "found %", false, 0, 0},
    {"80 %", "from +%", false, 0, 0},  {"99 %", "from +%", false, 0, 0},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static void fill_cells(const void *of, char cell[][TEXT_CELL_MAX]) {
  const struct compare_power_row *row = of;
  TEXT_CELLS(cell, row->key, row->variant, time_mode_name(row->mode), units_short(row->median_us).text,
             units_fixed(100 * row->spread_ratio, 2).text, units_fixed(100 * row->threshold, 2).text,
             units_fixed((double)row->false_alarms, 0).text, units_fixed((double)row->inconclusive, 0).text,
             units_fixed(100 * row->found_2_percent, 1).text, units_fixed(100 * row->found_3_percent, 1).text,
             units_fixed(100 * row->slowdown_80, 2).text, units_fixed(100 * row->slowdown_99, 2).text);
}

static void write_rows(const struct compare_power *power, FILE *file) {
  enum { ROWS_AT_ONCE = 512 };
  for (size_t first = 0; first < power->row_count; first += ROWS_AT_ONCE) {
    const size_t left = power->row_count - first;
    const struct text_table table =
        TEXT_TABLE(columns, COLUMN_COUNT, power->rows + first, left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE, fill_cells);
    text_table_write(file, &table);
  }
}

/* ---- the suites ---------------------------------------------------------------------------------------------- */

static const char *kind_of(const struct compare_power *power) {
  return power->settings.compare.paired ? "ab (pairs)" : "baseline (two samples)";
}

static void write_suites(const struct compare_power *power, FILE *file) {
  const double suites = (double)power->suites;
  char lead[32];
  snprintf(lead, sizeof lead, "%-22s  ", kind_of(power));
  text_paragraph(file, lead,
                 "%" PRIu64 " of %" PRIu64
                 " suites without any change failed: %.3f %%, at most %.3f %% (95 %%); %" PRIu64
                 " did not decide: %.2f %%, at most %.2f %%",
                 power->failed, power->suites, 100 * (double)power->failed / suites, 100 * power->failed_upper,
                 power->undecided, 100 * (double)power->undecided / suites, 100 * power->undecided_upper);
  snprintf(lead, sizeof lead, "%-22s  ", "");
  if (power->settings.compare.pairs_planned > 0)
    text_paragraph(
        file, lead, "these took %.1f processes of at most %u at first, and each case %.1f of them, in the mean",
        2 * (double)power->pairs / suites, 2 * (unsigned)power->settings.rounds, 2 * power->pairs_of_row / suites);
  if (isnan(power->uniform_1_percent)) return;
  text_paragraph(file, lead,
                 "all cases 1 %% slower: found in %.1f %% of %" PRIu64 " suites, at least %.1f %% (95 %%)",
                 100 * power->uniform_1_percent, power->uniform_suites, 100 * power->uniform_1_percent_lower);
}

static void write_method(const struct compare_power *power, FILE *file) {
  text_paragraph(
      file, "",
      "%u processes, suites of %u rounds drawn from them; suspects are measured again with processes that %s. What "
      "is drawn cannot be noisier than what was measured: measure again on another day.",
      (unsigned)power->processes, (unsigned)power->settings.rounds,
      power->leftover ? "the first measurement left over" : "are drawn again, since there are too few to leave any");
}

/* ---- the controls -------------------------------------------------------------------------------------------- */

static void write_control(const struct compare_power_control *control, FILE *file) {
  char lead[AXIS_KEY_MAX + VARIANT_SPEC_MAX + 64], said[COMPARE_TEXT_MAX + 64];
  snprintf(lead, sizeof lead, "%s %s %s", control->key, control->variant, time_mode_name(control->mode));
  if (power_is_control(control)) {
    snprintf(said, sizeof said, "%s: %+.2f %% put in, %s, seen as %+.2f %%", lead,
             100 * (control->injected_ratio - 1), verdict_name(control->verdict), 100 * (control->time_ratio - 1));
  } else {
    snprintf(said, sizeof said, "%s: could not be put in, so it does not count: %s", lead, control->reason);
  }
  text_wrap(file, "  ", 4, said);
}

static void write_controls(const struct compare_power_report *report, FILE *file) {
  size_t controls = 0, found = 0;
  for (size_t i = 0; i < report->control_count; ++i) {
    controls += power_is_control(&report->control[i]);
    found += power_is_found(&report->control[i]);
  }
  if (report->control_count == 0) return;
  fputc('\n', file);
  text_paragraph(file,
                 "controls: ", "%zu of %zu slowdowns that were put into one cell each were found by a real gate run",
                 found, controls);
  for (size_t i = 0; i < report->control_count; ++i) write_control(&report->control[i], file);
}

/* ---- slowdowns ----------------------------------------------------------------------------------------------- */

static void write_slowdowns(const struct compare_power *power, FILE *file) {
  fputc('\n', file);
  text_paragraph(
      file, "",
      "%s, gates of one case that is slower, %u for each: +2 %% found in %.1f %% of them or more, +3 %% in "
      "%.1f %%, whichever case it is",
      kind_of(power), (unsigned)power->trials, 100 * power->least_2_percent, 100 * power->least_3_percent);
  /* A share of one half is known least: 1.96 standard deviations. */
  text_paragraph(
      file, "",
      "From so many gates a share is known to within %.1f %% (95 %%); those two are at least %.1f %% and %.1f %%.",
      100 * 1.96 * 0.5 / sqrt(power->trials), 100 * power->least_2_percent_lower, 100 * power->least_3_percent_lower);
  if (!isnan(power->whole_2_percent))
    text_paragraph(
        file, "",
        "Whole gates in which the case that is found least is slower, in all its modes: +2 %% found in %.1f %% of "
        "%" PRIu64 ", +3 %% in %.1f %%.",
        100 * power->whole_2_percent, power->whole_suites, 100 * power->whole_3_percent);
  if (power->rows_tried == power->row_count) return;
  text_paragraph(file, "",
                 "Slowdowns were tried on %" PRIu64
                 " of %zu rows: half of these are the noisiest, in which they are found least, the others are of "
                 "every noise. The rest have no shares.",
                 power->rows_tried, power->row_count);
}

/* ---- the whole ----------------------------------------------------------------------------------------------- */

struct status power_text_write(const struct compare_power_report *report, FILE *file) {
  const struct compare_power *power = report->power;
  write_method(power, file);
  fputc('\n', file);
  for (size_t i = 0; i < report->power_count; ++i) write_suites(&power[i], file);
  write_controls(report, file);
  write_slowdowns(power, file);
  write_rows(power, file);
  return status_ok();
}
