/* The rates of the gate as text. */
#include <inttypes.h>
#include <math.h>

#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/gate/power.h"

/* ---- the cases ----------------------------------------------------------------------------------------------- */

static const struct compare_power_row *row_at(const void *row) { return row; }

static void put_percent(double ratio, int decimals, char out[TEXT_CELL_MAX]) {
  char number[UNITS_TEXT_MAX];
  units_format_fixed(100 * ratio, decimals, number);
  snprintf(out, TEXT_CELL_MAX, "%s", number);
}

static void key_cell(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", row_at(row)->key);
}
static void variant_cell(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", row_at(row)->variant);
}
static void mode_cell(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", time_mode_name(row_at(row)->mode));
}
static void median_cell(const void *row, char out[TEXT_CELL_MAX]) {
  char number[UNITS_TEXT_MAX];
  units_format(row_at(row)->median_us, number);
  snprintf(out, TEXT_CELL_MAX, "%s", number);
}
static void spread_cell(const void *row, char out[TEXT_CELL_MAX]) { put_percent(row_at(row)->spread_ratio, 2, out); }
static void threshold_cell(const void *row, char out[TEXT_CELL_MAX]) { put_percent(row_at(row)->threshold, 2, out); }
static void alarms_cell(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%" PRIu64, row_at(row)->false_alarms);
}
static void undecided_cell(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%" PRIu64, row_at(row)->inconclusive);
}
static void two_cell(const void *row, char out[TEXT_CELL_MAX]) { put_percent(row_at(row)->found_2_percent, 1, out); }
static void three_cell(const void *row, char out[TEXT_CELL_MAX]) {
  put_percent(row_at(row)->found_3_percent, 1, out);
}
static void mde80_cell(const void *row, char out[TEXT_CELL_MAX]) { put_percent(row_at(row)->slowdown_80, 2, out); }
static void mde99_cell(const void *row, char out[TEXT_CELL_MAX]) { put_percent(row_at(row)->slowdown_99, 2, out); }

static const struct text_column columns[] = {
    {"case", "", true, 0, 20, key_cell},
    {"variant", "", true, 0, 10, variant_cell},
    {"mode", "", true, 0, 0, mode_cell},
    {"median", "us", false, 0, 0, median_cell},
    {"sd", "%", false, 0, 0, spread_cell},
    {"threshold", "%", false, 0, 0, threshold_cell},
    {"failed", "suites", false, 0, 0, alarms_cell},
    {"undecided", "suites", false, 0, 0, undecided_cell},
    {"+2 %", "found %", false, 0, 0, two_cell},
    {"+3 %", "found %", false, 0, 0, three_cell},
    {"80 %", "from +%", false, 0, 0, mde80_cell},
    {"99 %", "from +%", false, 0, 0, mde99_cell},
};

static void write_rows(const struct compare_power *power, FILE *file) {
  enum { ROWS_AT_ONCE = 512 };
  const void *rows[ROWS_AT_ONCE];
  for (size_t first = 0; first < power->row_count; first += ROWS_AT_ONCE) {
    const size_t left = power->row_count - first, count = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
    for (size_t i = 0; i < count; ++i) rows[i] = &power->rows[first + i];
    text_table_print(file, columns, sizeof columns / sizeof *columns, rows, count);
  }
}

/* ---- the suites ---------------------------------------------------------------------------------------------- */

static const char *kind_of(const struct compare_power *power) {
  return power->settings.compare.paired ? "ab (pairs)" : "baseline (two samples)";
}

static void write_suites(const struct compare_power *power, FILE *file) {
  const double suites = (double)power->suites;
  fprintf(
      file,
      "%-22s  %" PRIu64 " of %" PRIu64 " suites without any change failed: %.3f %%, at most %.3f %% (95 %%); %" PRIu64
      " did not decide: %.2f %%, at most %.2f %%\n",
      kind_of(power), power->failed, power->suites, 100 * (double)power->failed / suites, 100 * power->failed_upper,
      power->undecided, 100 * (double)power->undecided / suites, 100 * power->undecided_upper);
  if (!isnan(power->uniform_1_percent)) {
    fprintf(file, "%-22s  all cases 1 %% slower: found in %.1f %% of %" PRIu64 " suites, at least %.1f %% (95 %%)\n",
            "", 100 * power->uniform_1_percent, power->uniform_suites, 100 * power->uniform_1_percent_lower);
  }
}

static void write_method(const struct compare_power *power, FILE *file) {
  char text[400];
  snprintf(
      text, sizeof text,
      "%u processes, suites of %u rounds drawn from them; suspects are measured again with processes that %s. "
      "What is drawn cannot be noisier than what was measured: measure again on another day.",
      (unsigned)power->processes, (unsigned)power->settings.rounds,
      power->leftover ? "the first measurement left over" : "are drawn again, since there are too few to leave any");
  text_wrap(file, "", 0, text);
}

/* ---- the controls -------------------------------------------------------------------------------------------- */

static void write_control(const struct compare_power_control *control, FILE *file) {
  char lead[CASE_KEY_MAX + VARIANT_SPEC_MAX + 64], said[COMPARE_TEXT_MAX + 64];
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
  fprintf(file, "\ncontrols: %zu of %zu slowdowns that were put into one cell each were found by a real gate run\n",
          found, controls);
  for (size_t i = 0; i < report->control_count; ++i) write_control(&report->control[i], file);
}

/* ---- slowdowns ----------------------------------------------------------------------------------------------- */

static void write_slowdowns(const struct compare_power *power, FILE *file) {
  char text[600];
  fprintf(
      file,
      "\n%s, one case slower at a time, %u gates for each: +2 %% found in %.1f %% of them or more, +3 %% in %.1f %%, "
      "whichever case it is\n",
      kind_of(power), (unsigned)power->trials, 100 * power->least_2_percent, 100 * power->least_3_percent);
  /* A share of one half is known least: 1.96 standard deviations. */
  snprintf(
      text, sizeof text,
      "From so many gates a share is known to within %.1f %% (95 %%); those two are at least %.1f %% and %.1f %%.",
      100 * 1.96 * 0.5 / sqrt(power->trials), 100 * power->least_2_percent_lower, 100 * power->least_3_percent_lower);
  text_wrap(file, "", 0, text);
  if (power->rows_tried == power->row_count) return;
  snprintf(text, sizeof text,
           "Slowdowns were tried on %" PRIu64
           " of %zu rows: half of these are the noisiest, in which they are found least, the "
           "others are of every noise. The rest have no shares.",
           power->rows_tried, power->row_count);
  text_wrap(file, "", 0, text);
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
