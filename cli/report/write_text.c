/* A report as tables and findings for people. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/report/fastest.h"
#include "cli/report/fold.h"
#include "cli/report/unsteady.h"

enum {
  FINDINGS_SHOWN_MAX = 3,
  FINDING_INDENT = 9,
  PARAGRAPH_MAX = 2 * FINDING_TEXT_MAX + 384,
};

/* ---- cells --------------------------------------------------------------------------------------------------- */

static const struct record *record_of(const void *row) { return ((const struct report_row *)row)->record; }

static void cell_case(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", record_of(row)->attn_case.key);
}

static void cell_variant(const void *row, char out[TEXT_CELL_MAX]) {
  const struct record *record = record_of(row);
  const bool has_picked = record->picked[0] != '\0';
  snprintf(out, TEXT_CELL_MAX, "%s%s%s%s", record->variant, has_picked ? " (" : "", record->picked,
           has_picked ? ")" : "");
}

static void cell_status(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", cell_status_name(record_of(row)->status));
}

/* The 95 % interval of such a median is wide, or the time was still drifting. One sample was entered by hand. */
static bool is_doubtful(const struct time_record *time) {
  return time->done && time->us.n > 1 && (time->stop != STATS_STOP_INTERVAL || !time->settled);
}

static void time_text(const struct time_record *time, char out[TEXT_CELL_MAX]) {
  char number[UNITS_TEXT_MAX];
  units_format(time->done ? time->us.median : (double)NAN, number);
  snprintf(out, TEXT_CELL_MAX, "%s%s", is_doubtful(time) ? "*" : "", number);
}

static void cell_hot(const void *row, char out[TEXT_CELL_MAX]) { time_text(&record_of(row)->time[TIME_HOT], out); }
static void cell_cold(const void *row, char out[TEXT_CELL_MAX]) { time_text(&record_of(row)->time[TIME_COLD], out); }

static const struct mode_metrics *hot_metrics(const void *row) {
  return &((const struct report_row *)row)->metrics.mode[TIME_HOT];
}

static void cell_tflop(const void *row, char out[TEXT_CELL_MAX]) {
  const struct mode_metrics *mode = hot_metrics(row);
  units_format(mode->known ? mode->tflop_per_s : (double)NAN, out);
}

static void cell_roof(const void *row, char out[TEXT_CELL_MAX]) {
  const struct mode_metrics *mode = hot_metrics(row);
  char number[UNITS_TEXT_MAX];
  if (!mode->known || mode->roof == ROOF_NONE) {
    snprintf(out, TEXT_CELL_MAX, "-");
    return;
  }
  const char *name = metrics_roof_name(mode->roof);
  units_format_fixed(100 * mode->roof_ratio, 1, number);
  snprintf(out, TEXT_CELL_MAX, "%s %.*s", number, (int)strcspn(name, "_"), name);
}

static bool has_launch(const void *row) { return record_of(row)->plan.pass_count > 0; }

static void cell_grid(const void *row, char out[TEXT_CELL_MAX]) {
  const struct record *record = record_of(row);
  const uint32_t *grid = record->pass[0].pass.grid;
  char more[16] = "";
  if (record->plan.pass_count > 1) snprintf(more, sizeof more, " +%" PRIu32, record->plan.pass_count - 1);
  snprintf(out, TEXT_CELL_MAX, "%" PRIu32 "x%" PRIu32 "x%" PRIu32 "%s", grid[0], grid[1], grid[2], more);
  if (!has_launch(row)) snprintf(out, TEXT_CELL_MAX, "-");
}

static void cell_blocks(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%" PRIu64, ((const struct report_row *)row)->metrics.pass[0].blocks);
  if (!has_launch(row)) snprintf(out, TEXT_CELL_MAX, "-");
}

/* Without the kernel's registers the blocks that fit are an upper bound, so the waves are a lower one. */
static void cell_waves(const void *row, char out[TEXT_CELL_MAX]) {
  const struct pass_metrics *pass = &((const struct report_row *)row)->metrics.pass[0];
  char number[UNITS_TEXT_MAX];
  units_format_fixed(has_launch(row) ? pass->waves : (double)NAN, pass->waves < 0.1 ? 4 : 2, number);
  snprintf(out, TEXT_CELL_MAX, "%s%s", has_launch(row) && !pass->resident_exact ? ">=" : "", number);
}

static void cell_error(const void *row, char out[TEXT_CELL_MAX]) {
  const struct check_record *check = &record_of(row)->check;
  units_format_exponent(check->done ? check->compare.max_abs_error : (double)NAN, out);
}

static void cell_speedup(const void *row, char out[TEXT_CELL_MAX]) {
  const struct ratio_record *ratio = &record_of(row)->speedup.mode[TIME_HOT];
  char number[UNITS_TEXT_MAX];
  units_format_fixed(ratio->done ? ratio->ratio : (double)NAN, ratio->ratio < 0.1 ? 3 : 2, number);
  snprintf(out, TEXT_CELL_MAX, "%s%s", unsteady_ratio(ratio) ? "~" : "", number);
}

static void cell_kernel_speedup(const void *row, char out[TEXT_CELL_MAX]) {
  const double ratio = ((const struct report_row *)row)->kernel_ratio;
  units_format_fixed(ratio, ratio < 0.1 ? 3 : 2, out);
}

/* Marked are the fastest of each case, and what failed. */
static enum text_tone tone_of(const void *row) {
  if (cell_status_exit_code(record_of(row)->status) != EXIT_CODE_OK) return TEXT_BAD;
  return ((const struct report_row *)row)->is_fastest ? TEXT_BEST : TEXT_PLAIN;
}

/* The first one is left out where cases head their rows, the last two of a report whose rows were timed against
 * nothing. */
static const struct text_column main_columns[] = {
    {"case", "", true, 0, 20, cell_case},
    {"variant", "", true, 0, 12, cell_variant},
    {"status", "", true, 0, 0, cell_status},
    {"hot", "us", false, 0, 0, cell_hot},
    {"cold", "us", false, 2, 0, cell_cold},
    {"rate", "TFLOP/s", false, 1, 0, cell_tflop},
    {"roof", "% of peak", false, 3, 0, cell_roof},
    {"grid", "x,y,z", false, 7, 0, cell_grid},
    {"blocks", "", false, 6, 0, cell_blocks},
    {"waves", "", false, 5, 0, cell_waves},
    {"error", "max abs", false, 4, 0, cell_error},
    {"vs ref", "hot", false, 0, 0, cell_speedup},
    {"vs ref", "kernel", false, 8, 0, cell_kernel_speedup},
};
enum { MAIN_COLUMN_COUNT = sizeof main_columns / sizeof *main_columns };

/* ---- cells of the scaling table ------------------------------------------------------------------------------ */

static const struct scaling *scaling_at(const void *row) { return &((const struct report_row *)row)->scaling; }

static void cell_bh(const void *row, char out[TEXT_CELL_MAX]) {
  const struct attn_shape *s = &record_of(row)->attn_case.shape;
  snprintf(out, TEXT_CELL_MAX, "%" PRIu64, (uint64_t)s->B * s->Hq);
}

static void cell_work_ratio(const void *row, char out[TEXT_CELL_MAX]) {
  units_format(scaling_at(row)->work_ratio, out);
}
static void cell_wave_ratio(const void *row, char out[TEXT_CELL_MAX]) {
  units_format(scaling_at(row)->wave_ratio, out);
}

/* What heads rows that belong together: they are of one card. */
static void add_card(const void *row, char out[TEXT_CELL_MAX]) {
  if (record_of(row)->card[0] != '\0') text_append(out, TEXT_CELL_MAX, "  on %s", record_of(row)->card);
}
static void group_case(const void *row, char out[TEXT_CELL_MAX]) {
  cell_case(row, out);
  add_card(row, out);
}
static void group_variant(const void *row, char out[TEXT_CELL_MAX]) {
  cell_variant(row, out);
  add_card(row, out);
}

static void scaled_text(const struct scaling *scaling, double value, char out[TEXT_CELL_MAX]) {
  units_format_fixed(scaling->timed ? value : (double)NAN, 2, out);
}

static void cell_hot_ratio(const void *row, char out[TEXT_CELL_MAX]) {
  scaled_text(scaling_at(row), scaling_at(row)->time_ratio[TIME_HOT], out);
}
static void cell_cold_ratio(const void *row, char out[TEXT_CELL_MAX]) {
  scaled_text(scaling_at(row), scaling_at(row)->time_ratio[TIME_COLD], out);
}
static void cell_residual(const void *row, char out[TEXT_CELL_MAX]) {
  scaled_text(scaling_at(row), scaling_at(row)->residual[TIME_HOT], out);
}

static void cell_load_ratio(const void *row, char out[TEXT_CELL_MAX]) {
  units_format(scaling_at(row)->load_ratio, out);
}
static void cell_full(const void *row, char out[TEXT_CELL_MAX]) {
  units_format_fixed(scaling_at(row)->full_bh, 0, out); /* whole pairs */
}

static void cell_per_pair(const void *row, char out[TEXT_CELL_MAX]) {
  const struct scaling *scaling = scaling_at(row);
  const enum time_mode mode = isfinite(scaling->us_per_bh[TIME_HOT]) ? TIME_HOT : TIME_COLD;
  units_format(scaling->timed ? scaling->us_per_bh[mode] : (double)NAN, out);
}

static bool is_on_cpu(const void *row) { return ((const struct report_row *)row)->device->kind == DEVICE_CPU; }

/* The verdicts are about waves of blocks, and about launches that are not known. */
static void cell_verdict(const void *row, char out[TEXT_CELL_MAX]) {
  const struct scaling *scaling = scaling_at(row);
  const bool has_verdict = scaling->verdict != SCALING_none && !is_on_cpu(row);
  const char *verdict = has_verdict ? scaling_verdict_name(scaling->verdict) : "";
  snprintf(out, TEXT_CELL_MAX, "%s", scaling->is_baseline ? "baseline" : verdict);
}

static enum text_tone plain(const void *row) {
  (void)row;
  return TEXT_PLAIN;
}

static const struct text_column scaling_columns[] = {
    {"case", "", true, 0, 20, cell_case},
    {"B*H", "", false, 0, 0, cell_bh},
    {"full at", "B*H", false, 7, 0, cell_full},
    {"work", "ratio", false, 4, 0, cell_work_ratio},
    {"waves", "ratio", false, 1, 0, cell_wave_ratio},
    {"per SM", "ratio", false, 6, 0, cell_load_ratio},
    {"hot", "ratio", false, 0, 0, cell_hot_ratio},
    {"cold", "ratio", false, 2, 0, cell_cold_ratio},
    {"residual", "hot/waves", false, 3, 0, cell_residual},
    {"time", "us/B*H", false, 5, 0, cell_per_pair},
    {"verdict", "", true, 0, 0, cell_verdict},
};

/* ---- parts --------------------------------------------------------------------------------------------------- */

static void print_device(FILE *file, const char *lead, const struct device_info *device) {
  char text[256], clock[UNITS_TEXT_MAX], dram[UNITS_TEXT_MAX];
  units_format(device->sm_clock_max_mhz, clock);
  units_format(device->dram_gb_per_s, dram);
  if (device->kind == DEVICE_CPU) {
    snprintf(text, sizeof text, "%s, %" PRIu32 " threads", device->name, device->sms);
  } else {
    snprintf(text, sizeof text, "%s, cc %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs at up to %s MHz, %s GB/s%s%s",
             device->name, device->cc_major, device->cc_minor, device->sms, clock, dram,
             device->driver[0] != '\0' ? ", driver " : "", device->driver);
  }
  text_wrap(file, lead, strlen(lead), text);
  if (report_roofs_are_unknown(device)) text_wrap(file, "roof      ", 10, REPORT_NO_ROOFS);
}

static void print_cards(FILE *file, const struct report *report) {
  char text[REPORT_CARDS_MAX];
  report_cards(report, text);
  if (text[0] != '\0') text_wrap(file, "cards     ", 10, text);
}

/* What makes the times of a run something else than a kernel's own. */
static void print_profiled(FILE *file, const struct run_info *run) {
  char text[256];
  if (run->profiled[0] != '\0') {
    snprintf(text, sizeof text, "%s was inside the process that measured: times hold the tool's work too",
             run->profiled);
    text_wrap(file, "profiled  ", 10, text);
  }
  if (run->profile_launches > 0) {
    snprintf(text, sizeof text, "%" PRIu32 " launch%s of each row for a profiler to capture, checked, not timed",
             run->profile_launches, run->profile_launches == 1 ? "" : "es");
    text_wrap(file, "profile   ", 10, text);
  }
}

/* What cold times hold besides the launch, where the device tells. */
static void print_events(FILE *file, const struct report *report) {
  char text[PARAGRAPH_MAX], number[UNITS_TEXT_MAX];
  bool any = false;
  for (size_t i = 0; i < report->row_count; ++i) any = any || isfinite(report->rows[i].cold_net_us);
  if (!any) return;
  units_format(report->journal->event_overhead_us, number);
  snprintf(text, sizeof text,
           "cold times hold %s us of the events around a launch; --json and --csv have them without it too", number);
  text_wrap(file, "events    ", 10, text);
}

static void print_head(FILE *file, const struct report *report) {
  const struct journal_data *journal = report->journal;
  const struct run_info *run = &journal->run;
  char text[PARAGRAPH_MAX + SWEEP_ABOUT_MAX];
  snprintf(text, sizeof text, "%s (commit %s), CUDA %s", run->version, run->git_commit, run->cuda);
  /* A journal has a start; a table that was typed in has none. */
  if (run->started_utc[0] == '\0') snprintf(text, sizeof text, "did not measure this: times entered by hand");
  text_wrap(file, "attnbench ", 10, text);
  if (journal->has_device) print_device(file, "device    ", &journal->device);
  print_cards(file, report);
  snprintf(text, sizeof text, "%s (%s)%s%s", run->sweep_name, run->sweep_path,
           run->sweep_about[0] != '\0' ? ": " : "", run->sweep_about);
  text_wrap(file, "sweep     ", 10, text);
  print_profiled(file, run);
  print_events(file, report);
  fputc('\n', file);
}

/* How many rows of this variant are doubtful in this mode, how bad the worst of them is, and what stopped any. */
struct doubt {
  size_t rows;
  uint32_t least_samples;
  bool stopped_by[STATS_STOP_COUNT];
};

static struct doubt doubt_of(const struct report *report, const char *variant, enum time_mode mode) {
  struct doubt doubt = {.least_samples = UINT32_MAX};
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct time_record *time = &report->records[i].time[mode];
    if (!is_doubtful(time) || strcmp(report->records[i].variant, variant) != 0) continue;
    ++doubt.rows;
    if (time->us.n < doubt.least_samples) doubt.least_samples = time->us.n;
    doubt.stopped_by[time->stop] = true;
  }
  return doubt;
}

/* Is this row its variant's first? */
static bool leads_variant(const struct report *report, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (strcmp(report->records[i].variant, report->records[index].variant) == 0) return false;
  }
  return true;
}

static void print_doubt(FILE *file, const char *variant, enum time_mode mode, const struct doubt *doubt) {
  char text[PARAGRAPH_MAX];
  const bool budget = doubt->stopped_by[STATS_STOP_BUDGET], wide = budget || doubt->stopped_by[STATS_STOP_SAMPLES];
  snprintf(text, sizeof text, "%s %s: %zu %s with %s, fewest n=%" PRIu32 "%s", variant, time_mode_name(mode),
           doubt->rows, doubt->rows == 1 ? "row" : "rows", wide ? "a wide interval" : "times that still drifted",
           doubt->least_samples,
           budget ? ", stopped by the time budget"
           : wide ? ", stopped by the sample limit"
                  : "");
  text_wrap(file, "* ", 2, text);
}

static void print_doubts(FILE *file, const struct report *report) {
  const bool by_hand = report->journal->run.started_utc[0] == '\0';
  for (size_t i = 0; i < report->row_count && !by_hand; ++i) {
    if (!leads_variant(report, i)) continue;
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      const struct doubt doubt = doubt_of(report, report->records[i].variant, mode);
      if (doubt.rows > 0) print_doubt(file, report->records[i].variant, mode, &doubt);
    }
  }
}

/* Where the median over several processes is known least well: half of its interval, of itself. */
struct spread {
  const struct report_row *row;
  enum time_mode mode;
  struct process_interval interval;
  double half_width;
};

static struct spread widest_spread(const struct report *report) {
  struct spread widest = {.row = NULL, .half_width = -1};
  for (size_t i = 0; i < report->row_count * TIME_MODE_COUNT; ++i) {
    const struct report_row *row = &report->rows[i / TIME_MODE_COUNT];
    const enum time_mode mode = (enum time_mode)(i % TIME_MODE_COUNT);
    const struct process_interval interval = process_interval_of(&row->record->process[mode]);
    const double half_width = (interval.high_us - interval.low_us) / 2 / interval.median_us;
    if (interval.processes == 0 || !(half_width > widest.half_width)) continue;
    widest = (struct spread){.row = row, .mode = mode, .interval = interval, .half_width = half_width};
  }
  return widest;
}

static bool any_time(const struct report *report) {
  for (size_t i = 0; i < report->row_count; ++i) {
    if (report->records[i].time[TIME_HOT].done || report->records[i].time[TIME_COLD].done) return true;
  }
  return false;
}

/* For what the intervals of these times hold. */
static void print_intervals(FILE *file, const struct report *report) {
  const struct spread widest = widest_spread(report);
  char text[PARAGRAPH_MAX];
  if (report->journal->run.started_utc[0] == '\0' || !any_time(report)) return;
  if (widest.row == NULL) {
    text_wrap(
        file, "", 0,
        "one process measured: its intervals hold within it, and the next process may differ by more (--rounds)");
    return;
  }
  snprintf(text, sizeof text,
           "%" PRIu32
           " processes measured, the first is shown; medians over them hold to %.2g %% or better with %.0f %% "
           "confidence (widest: %s %s at %s)",
           widest.interval.processes, 100 * widest.half_width, 100 * widest.interval.confidence,
           widest.row->record->variant, time_mode_name(widest.mode), widest.row->record->attn_case.key);
  text_wrap(file, "", 0, text);
}

/* The reference of the first row that was timed against one; NULL when none was. */
static const struct speedup_record *first_speedup(const struct report *report) {
  for (size_t i = 0; i < report->row_count; ++i) {
    if (report_has_speedup(&report->records[i].speedup)) return &report->records[i].speedup;
  }
  return NULL;
}

static bool any_kernel_ratio(const struct report *report) {
  for (size_t i = 0; i < report->row_count; ++i) {
    if (isfinite(report->rows[i].kernel_ratio)) return true;
  }
  return false;
}

static void print_reference(FILE *file, const struct report *report) {
  const struct speedup_record *speedup = first_speedup(report);
  char text[PARAGRAPH_MAX];
  if (speedup == NULL) return;
  snprintf(
      text, sizeof text,
      "time of %s over the row's, measured in turns in one process: above 1 the row is faster; its interval (--json) "
      "holds within that process%s",
      speedup->reference,
      any_kernel_ratio(report) ? "; kernel: as a profiler timed the kernels alone, without the gaps between launches"
                               : "");
  text_wrap(file, "vs ref = ", 9, text);
}

static void print_injected(FILE *file, const struct report *report) {
  size_t count = 0;
  for (size_t i = 0; i < report->row_count; ++i) count += report->records[i].injected.done;
  if (count > 0) fprintf(file, "%zu of these rows slowed down on purpose (--inject-slowdown)\n", count);
}

static struct status print_picks(FILE *file, const struct report *report) {
  struct folds folds;
  char text[PARAGRAPH_MAX], lead[TEXT_CELL_MAX];
  const struct status status = fold_picks(report, &folds);
  for (size_t i = 0; i < folds.count; ++i) {
    const struct fold *fold = &folds.item[i];
    snprintf(lead, sizeof lead, "%s = ", fold->variant);
    snprintf(text, sizeof text, "%s in %zu %s: %s", fold->text, fold->count, fold->count == 1 ? "case" : "cases",
             fold->worst->record->picked_why);
    text_wrap(file, lead, strlen(lead), text);
  }
  fold_free(&folds);
  return status;
}

static struct status print_reasons(FILE *file, const struct report *report) {
  struct folds folds;
  char text[PARAGRAPH_MAX], lead[TEXT_CELL_MAX];
  const struct status status = fold_reasons(report, &folds);
  for (size_t i = 0; i < folds.count; ++i) {
    const struct fold *fold = &folds.item[i];
    const struct record *record = fold->worst->record;
    const bool unlike = fold->text == NULL && fold->count > 1;
    snprintf(lead, sizeof lead, "%s: ", cell_status_name((enum cell_status)fold->kind));
    snprintf(text, sizeof text, "%s (%zu %s)%s%s: %s", fold->variant, fold->count,
             fold->count == 1 ? "case" : "cases", unlike ? ", such as " : "", unlike ? record->attn_case.key : "",
             record->reason);
    text_wrap(file, lead, strlen(lead), text);
  }
  fold_free(&folds);
  return status;
}

static const struct device_info *planned_device_of(const struct report *report) {
  for (size_t i = 0; i < report->row_count; ++i) {
    if (report->records[i].status == CELL_planned) return report->rows[i].device;
  }
  return NULL;
}

/* "hot 19.5 us at first, 20.1 at last (x 1.031), 19.4 to 20.1 between" */
static void put_drift(const struct sentinel *sentinel, enum time_mode mode, char *out, size_t size) {
  const struct sentinel_mode *seen = &sentinel->mode[mode];
  const double values[] = {seen->first_us, seen->last_us, seen->min_us, seen->max_us};
  char text[4][UNITS_TEXT_MAX], ratio[UNITS_TEXT_MAX];
  if (!isfinite(seen->first_us)) return;
  for (size_t i = 0; i < 4; ++i) units_format(values[i], text[i]);
  units_format_fixed(seen->drift_ratio, 3, ratio);
  text_append(out, size, "; %s %s us at first, %s at last (x %s), from %s to %s", time_mode_name(mode), text[0],
              text[1], ratio, text[2], text[3]);
}

static void print_sentinel(FILE *file, const struct report *report) {
  const struct sentinel *sentinel = &report->journal->run.sentinel;
  char text[PARAGRAPH_MAX];
  if (!sentinel->known) return;
  snprintf(text, sizeof text, "%s of %s, measured %" PRIu32 " times", sentinel->variant, sentinel->key,
           sentinel->count);
  put_drift(sentinel, TIME_HOT, text, sizeof text);
  put_drift(sentinel, TIME_COLD, text, sizeof text);
  text_wrap(file, "sentinel: ", strlen("sentinel: "), text);
}

static struct status print_notes(FILE *file, const struct report *report, const struct text_fit *fit) {
  const struct device_info *planned = planned_device_of(report);
  print_doubts(file, report);
  print_intervals(file, report);
  print_reference(file, report);
  unsteady_print(file, report);
  print_sentinel(file, report);
  print_injected(file, report);
  if (planned != NULL) print_device(file, "planned = not measured, geometry for ", planned);
  text_fit_print(file, fit, "--csv and --json");
  TRY(print_picks(file, report));
  return print_reasons(file, report);
}

static const void **row_pointers(const struct report *report) {
  const void **rows = malloc((report->row_count + 1) * sizeof *rows);
  for (size_t i = 0; rows != NULL && i < report->row_count; ++i) rows[i] = &report->rows[i];
  return rows;
}

static void print_finding(FILE *file, const struct report *report, const struct fold *fold) {
  const char *where = fold->worst->record->attn_case.key;
  char text[PARAGRAPH_MAX], lead[32], more[48] = "", planned[288] = "";
  if (fold->count > 1) snprintf(more, sizeof more, " (worst of %zu cases)", fold->count);
  snprintf(lead, sizeof lead, "%-8s ", finding_severity_name((enum finding_severity)fold->severity));
  /* Beside rows that another device measured, a finding says which one it is about. */
  if (fold->worst->record->status == CELL_planned && report->journal->has_device)
    snprintf(planned, sizeof planned, ", as planned for %s", fold->worst->device->name);
  snprintf(text, sizeof text, "%s: %s at %s%s%s", fold->variant, finding_name((enum finding_id)fold->kind), where,
           more, planned);
  text_wrap(file, lead, FINDING_INDENT, text);
  text_wrap(file, "         ", FINDING_INDENT, fold->finding->measured);
  text_wrap(file, "         -> ", FINDING_INDENT + 3, fold->finding->advice);
}

static struct status print_findings(FILE *file, const struct report *report) {
  struct folds folds;
  const struct status status = fold_findings(report, &folds);
  if (status_failed(&status) || folds.count == 0) return status;
  const size_t shown = report->all_findings || folds.count < FINDINGS_SHOWN_MAX ? folds.count : FINDINGS_SHOWN_MAX;
  fputs("\nfindings, worst first\n", file);
  for (size_t i = 0; i < shown; ++i) print_finding(file, report, &folds.item[i]);
  if (folds.count > shown) {
    char text[PARAGRAPH_MAX];
    snprintf(text, sizeof text, "%zu more stand for less; `attnbench diagnose` on the report or journal has them all",
             folds.count - shown);
    text_wrap(file, "", 0, text);
  }
  fold_free(&folds);
  return status;
}

/* By group, then as B*H grows. Rows of one report are contiguous, so addresses are the order of the report. */
static int compare_scaling(const void *a, const void *b) {
  const struct report_row *left = *(const struct report_row *const *)a, *right = *(const struct report_row *const *)b;
  const struct scaling *l = &left->scaling, *r = &right->scaling;
  if (l->baseline_index != r->baseline_index) return l->baseline_index < r->baseline_index ? -1 : 1;
  if (l->bh_ratio < r->bh_ratio || l->bh_ratio > r->bh_ratio) return l->bh_ratio < r->bh_ratio ? -1 : 1;
  return (left > right) - (left < right);
}

static bool same_group(const void *left, const void *right) {
  return scaling_at(left)->baseline_index == scaling_at(right)->baseline_index;
}

/* "1.157 us per B*H at 8 (0.16 wave)" */
static void put_pair_price(const void *row, char *out, size_t size) {
  const struct pass_metrics *pass = &((const struct report_row *)row)->metrics.pass[0];
  char price[TEXT_CELL_MAX], bh[TEXT_CELL_MAX], waves[UNITS_TEXT_MAX];
  cell_per_pair(row, price);
  cell_bh(row, bh);
  units_format_fixed(pass->waves, pass->waves < 0.1 ? 4 : 2, waves);
  if (has_launch(row)) {
    snprintf(out, size, "%s us per B*H at %s (%s waves)", price, bh, waves);
  } else {
    snprintf(out, size, "%s us per B*H at %s", price, bh);
  }
}

/* What the rows of a group say together: where its grid fills the GPU, and the price of a (batch, head) pair below
 * and above. rows are in the order of B*H. */
static void print_group(FILE *file, const void *const *rows, size_t count) {
  const void *first = rows[0], *last = rows[count - 1];
  char text[PARAGRAPH_MAX], full[TEXT_CELL_MAX], low[TEXT_CELL_MAX * 2], high[TEXT_CELL_MAX * 2], lead[TEXT_CELL_MAX];
  const double full_bh = scaling_at(last)->full_bh;
  if (!scaling_at(first)->timed) return;
  cell_full(last, full);
  put_pair_price(first, low, sizeof low);
  put_pair_price(last, high, sizeof high);
  snprintf(lead, sizeof lead, "%s", record_of(first)->variant);
  add_card(first, lead);
  text_append(lead, sizeof lead, ": ");
  snprintf(text, sizeof text, "%s%s; %s, %s: %s", isfinite(full_bh) ? "one wave is full at B*H = " : "",
           isfinite(full_bh)   ? full
           : has_launch(first) ? "the grid does not grow with B*H"
                               : "the launches are not known",
           low, high, scaling_verdict_help(scaling_at(last)->verdict));
  if (is_on_cpu(first)) snprintf(text, sizeof text, "%s, %s", low, high);
  text_wrap(file, lead, strlen(lead), text);
}

static void print_scaling(FILE *file, const struct report *report, const void **rows) {
  size_t count = 0;
  for (size_t i = 0; i < report->row_count; ++i) {
    if (report->rows[i].scaling.known) rows[count++] = &report->rows[i];
  }
  if (count == 0) return;
  qsort(rows, count, sizeof *rows, compare_scaling);
  fputs("\nscaling over B*H, against each group's baseline row\n", file);
  const struct text_table table = {.columns = scaling_columns,
                                   .column_count = sizeof scaling_columns / sizeof *scaling_columns,
                                   .rows = rows,
                                   .row_count = count,
                                   .group = group_variant,
                                   .tone = plain};
  const struct text_fit fit = text_table_write(file, &table);
  text_fit_print(file, &fit, "--csv and --json");
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && same_group(rows[start], rows[end]);) ++end;
    print_group(file, rows + start, end - start);
  }
}

/* "24 of 24 cells: 20 ok, 4 wrong; 10.8 s wall, 2.7 s of it GPU work" */
static void print_counts(FILE *file, const struct report *report) {
  const struct journal_data *journal = report->journal;
  char wall[UNITS_TEXT_MAX], gpu[UNITS_TEXT_MAX], text[PARAGRAPH_MAX] = "";
  double gpu_s = 0;
  const char *separator = ":";
  text_append(text, sizeof text, "%zu of %" PRIu64 " cells", report->row_count, journal->run.cell_count);
  for (enum cell_status status = 0; status < CELL_STATUS_COUNT; ++status) {
    if (report->status_count[status] == 0) continue;
    text_append(text, sizeof text, "%s %" PRIu64 " %s", separator, report->status_count[status],
                cell_status_name(status));
    separator = ",";
  }
  for (size_t i = 0; i < report->row_count; ++i) gpu_s += report->records[i].gpu_s;
  units_format_fixed(journal->wall_s, 2, wall);
  units_format_fixed(gpu_s, 2, gpu);
  const char *what = journal->has_device && journal->device.kind == DEVICE_CUDA ? "GPU" : "device";
  if (strcmp(journal->state, "complete") != 0) text_append(text, sizeof text, "; run %s", journal->state);
  if (journal->wall_s > 0)
    text_append(text, sizeof text, "; %s s wall, %s s of %s %s work", wall, gpu,
                journal->card_count > 1 ? "all cards'" : "it", what);
  text_wrap(file, "", 0, text);
}

static struct status print_summary(FILE *file, const struct report *report) {
  char fastest[FASTEST_TEXT_MAX];
  TRY(fastest_text(report, fastest));
  fputc('\n', file);
  if (fastest[0] != '\0') text_wrap(file, "", 0, fastest);
  print_counts(file, report);
  return status_ok();
}

/* Is there a case with several rows? Then cases head their rows. */
static bool has_groups(const struct report *report) {
  for (size_t i = 1; i < report->row_count; ++i) {
    if (strcmp(report->records[i - 1].attn_case.key, report->records[i].attn_case.key) == 0) return true;
  }
  return false;
}

static struct text_fit print_rows(FILE *file, const struct report *report, const void **rows) {
  const size_t first = has_groups(report) ? 1 : 0, left_out = first_speedup(report) != NULL ? 0 : 2;
  const struct text_table table = {.columns = main_columns + first,
                                   .column_count = MAIN_COLUMN_COUNT - first - left_out,
                                   .rows = rows,
                                   .row_count = report->row_count,
                                   .group = first > 0 ? group_case : NULL,
                                   .tone = tone_of};
  return text_table_write(file, &table);
}

struct status report_write_text(const struct report *report, FILE *file) {
  const void **rows = row_pointers(report);
  if (rows == NULL) return status_make(STATUS_MEMORY, "no memory for a table of %zu rows", report->row_count);
  print_head(file, report);
  const struct text_fit fit = print_rows(file, report, rows);
  struct status status = print_notes(file, report, &fit);
  if (!status_failed(&status)) status = print_findings(file, report);
  if (!status_failed(&status)) print_scaling(file, report, rows);
  if (!status_failed(&status)) status = print_summary(file, report);
  free(rows);
  return status;
}
