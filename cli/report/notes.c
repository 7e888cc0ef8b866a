/* What stands below the table of the text report: what its marks and intervals mean, and why rows have no times. */
#include "cli/report/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/units.h"

enum { PARAGRAPH_MAX = 1024 };

/* ---- times --------------------------------------------------------------------------------------------------- */

/* How many rows of this variant are doubtful in this mode, how bad the worst of them is, and what stopped any. */
struct doubt {
  size_t rows;
  uint32_t least_samples;
  bool stopped_by[STATS_STOP_COUNT], is_unsettled, is_apart;
  double most_waited, most_load;
};

static struct doubt doubt_of(const struct report *report, const char *variant, enum time_mode mode) {
  struct doubt doubt = {.least_samples = UINT32_MAX};
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct time_record *time = &report->records[i].time[mode];
    if (!columns_is_doubtful(time) || strcmp(report->records[i].variant, variant) != 0) continue;
    ++doubt.rows;
    if (time->us.n < doubt.least_samples) doubt.least_samples = time->us.n;
    doubt.stopped_by[time->stop] = true;
    doubt.is_unsettled = doubt.is_unsettled || (!time->settled && !time->settled_alone && !record_is_busy(time));
    doubt.is_apart = doubt.is_apart || time->settled_alone;
    doubt.most_waited = fmax(doubt.most_waited, time->waited_ratio);
    doubt.most_load = fmax(doubt.most_load, time->others_load);
  }
  return doubt;
}

/* Calls `print` for each variant of the report, in the order of their first rows. */
static void each_variant(FILE *file, const struct report *report,
                         void (*print)(FILE *, const struct report *, const char *variant)) {
  for (size_t i = 0; i < report->row_count; ++i) {
    size_t first = 0;
    while (strcmp(report->records[first].variant, report->records[i].variant) != 0) ++first;
    if (first == i) print(file, report, report->records[i].variant);
  }
}

static void print_doubt(FILE *file, const char *variant, enum time_mode mode, const struct doubt *doubt) {
  const bool budget = doubt->stopped_by[STATS_STOP_BUDGET], wide = budget || doubt->stopped_by[STATS_STOP_SAMPLES];
  char busy[160] = "";
  if (doubt->most_waited > TIME_WAITED_MOST)
    snprintf(busy, sizeof busy, "; up to %.0f %% of the time went to waiting for a processor that others used",
             100 * doubt->most_waited);
  if (doubt->most_load > TIME_LOAD_MOST)
    text_append(busy, sizeof busy, "; other processes kept up to %.1f processors busy", doubt->most_load);
  text_paragraph(file, "* ", "%s %s: %zu %s with %s, from %" PRIu32 " samples or more%s%s", variant,
                 time_mode_name(mode), doubt->rows, doubt->rows == 1 ? "row" : "rows",
                 wide                  ? "a wide interval"
                 : doubt->is_unsettled ? "times that still drifted"
                 : doubt->is_apart     ? "medians that differ from process to process"
                                       : "times of a busy machine",
                 doubt->least_samples,
                 budget ? ", stopped by the time budget"
                 : wide ? ", stopped by the sample limit"
                        : "",
                 busy);
}

static void print_doubts(FILE *file, const struct report *report, const char *variant) {
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    const struct doubt doubt = doubt_of(report, variant, mode);
    if (doubt.rows > 0) print_doubt(file, variant, mode, &doubt);
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
    const struct process_interval interval = row->between[mode];
    const double half_width = (interval.high_us - interval.low_us) / 2 / interval.median_us;
    if (interval.processes == 0 || !(half_width > widest.half_width)) continue;
    widest = (struct spread){.row = row, .mode = mode, .interval = interval, .half_width = half_width};
  }
  return widest;
}

static bool has_time(const struct report_row *row) { return record_is_timed(row->record); }

/* For what the intervals of these times hold. */
static void print_intervals(FILE *file, const struct report *report) {
  const struct spread widest = widest_spread(report);
  if (report->journal->run.started_utc[0] == '\0' || report_first(report, has_time) == NULL) return;
  if (widest.row == NULL) {
    text_wrap(
        file, "", 0,
        "one process measured: its intervals hold within it, and the next process may differ by more (--rounds)");
    return;
  }
  text_paragraph(file, "",
                 "%" PRIu32
                 " processes measured, the first is shown; medians over them hold to %.2g %% or better with %.0f %% "
                 "confidence (widest: %s %s at %s)",
                 widest.interval.processes, 100 * widest.half_width, 100 * widest.interval.confidence,
                 widest.row->record->variant, time_mode_name(widest.mode), widest.row->record->attn_case.key);
}

/* ---- rows that moved ------------------------------------------------------------------------------------------- */

static const double clock_off_most = 0.03; /* steps of the clock are 15 MHz, 1 %: less is no finding */

/* How far a row is off; 0 where that is too little to tell. */
static double ratio_off(const struct record *record) {
  const struct ratio_record *ratio = &record->speedup.mode[TIME_HOT];
  return columns_is_unsteady(ratio) ? ratio->drift_ratio : 0;
}

/* A time at another SM clock than the ratio's was taken at one that the GPU cannot sustain under this load. */
static double clock_off(const struct record *record) {
  const struct ratio_record *ratio = &record->speedup.mode[TIME_HOT];
  const struct time_record *time = &record->time[TIME_HOT];
  const double off = ratio->done && time->done ? fabs(ratio->sm_clock_mhz / time->sm_clock_mhz - 1) : 0;
  return off > clock_off_most ? off : 0;
}

/* The row that is off most, of this variant or of all (NULL), and how many are off; NULL when none is. */
static const struct record *find_worst(const struct report *report, const char *variant,
                                       double (*off)(const struct record *), size_t *count) {
  const struct record *worst = NULL;
  *count = 0;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct record *record = &report->records[i];
    if (!(off(record) > 0) || (variant != NULL && strcmp(record->variant, variant) != 0)) continue;
    ++*count;
    if (worst == NULL || off(record) > off(worst)) worst = record;
  }
  return worst;
}

static void print_unsteady_ratios(FILE *file, const struct report *report) {
  size_t count;
  const struct record *worst = find_worst(report, NULL, ratio_off, &count);
  if (worst == NULL) return;
  text_paragraph(
      file, "~ ",
      "%zu vs ref still moved by more than %g %% when the time budget was used up; the most, %.1f %%: %s at %s",
      count, 100 * RATIO_DRIFT_MOST, 100 * ratio_off(worst), worst->variant, worst->attn_case.key);
}

static void print_unsteady_clocks(FILE *file, const struct report *report) {
  size_t count;
  const struct record *worst = find_worst(report, NULL, clock_off, &count);
  if (worst == NULL) return;
  text_paragraph(file, "",
                 "hot times of %zu %s were taken at a clock that the GPU did not keep; furthest: %s at %s, %.0f MHz, "
                 "and %.0f MHz in its ratio. Compare such rows by vs ref, or lock the clock (nvidia-smi -lgc)",
                 count, count == 1 ? "row" : "rows", worst->variant, worst->attn_case.key,
                 worst->time[TIME_HOT].sm_clock_mhz, worst->speedup.mode[TIME_HOT].sm_clock_mhz);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static bool has_kernel_ratio(const struct report_row *row) { return isfinite(row->kernel_ratio); }

static bool lost_ratio(const struct report_row *row) { return failures_lost_ratio(row->record); }

static void print_reference(FILE *file, const struct report *report) {
  const struct report_row *timed = report_first(report, report_has_speedup);
  const char *kernel = "; kernel: as a profiler timed the kernels alone, without the gaps between launches";
  if (timed == NULL) {
    const struct report_row *lost = report_first(report, lost_ratio);
    if (lost != NULL)
      text_paragraph(file, "vs ref: ", "no row has a ratio to the reference, first: %s %s: %s",
                     lost->record->attn_case.key, lost->record->variant, lost->record->speedup.reason);
    return;
  }
  text_paragraph(file, "vs ref = ",
                 "time of %s over the row's, measured in turns in one process: above 1 the row is faster; its "
                 "interval (--json) holds within that process%s",
                 timed->record->speedup.reference, report_first(report, has_kernel_ratio) != NULL ? kernel : "");
}

/* A library that timed plans of its own. */
static void print_choices(FILE *file, const struct report *report, const char *variant) {
  size_t rows = 0, others = 0;
  uint32_t most = 0;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct record *record = &report->records[i];
    const struct pass_facts *facts = &record->pass[0].facts;
    if (strcmp(record->variant, variant) != 0 || record->plan.pass_count == 0 || facts->choices == 0) continue;
    ++rows;
    others += facts->choice > 1;
    most = facts->choices > most ? facts->choices : most;
  }
  if (rows > 0)
    text_paragraph(file, "plans = ",
                   "%s timed the plans that its library offers, up to %" PRIu32
                   " for a case, and took the fastest: another one than the first in %zu of %zu %s",
                   variant, most, others, rows, rows == 1 ? "case" : "cases");
}

static bool has_kernels_alone(const struct report_row *row) {
  return row->record->speedup.mode[TIME_HOT].kernels_alone > 0;
}

/* "2.51 to 2.56 us": the memsets of the reference's launches, over the rows. */
static void print_kernels_alone(FILE *file, const struct report *report) {
  const struct report_row *first = report_first(report, has_kernels_alone);
  double least = INFINITY, most = 0;
  if (first == NULL) return;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct ratio_record *ratio = &report->records[i].speedup.mode[TIME_HOT];
    if (!(ratio->reference_memset_us > 0)) continue;
    least = fmin(least, ratio->reference_memset_us);
    most = fmax(most, ratio->reference_memset_us);
  }
  text_paragraph(file, "kernel = ",
                 "vs ref, hot, with the memset nodes subtracted: %.2f to %.2f us in one of %s, "
                 "timed by one more of them behind each launch",
                 fmin(least, most), most, first->record->speedup.reference);
}

static bool has_steady(const struct report_row *row) { return row->record->time[TIME_STEADY].done; }
static bool has_energy(const struct report_row *row) { return isfinite(row->energy_pj_per_flop); }

static void print_steady(FILE *file, const struct report *report, const struct text_fit *fit) {
  const bool has_power = text_fit_shows(fit, "power", NULL), has_pj = text_fit_shows(fit, "energy", NULL);
  const double idle_w = report_idle_power_w(report->journal);
  char idle[96] = "";
  if (report_first(report, has_steady) == NULL) return;
  text_paragraph(
      file, "steady = ",
      "launches back to back, once their time no longer changed. Its vs ref comes from turns of a second or more, in "
      "which each side runs at the clock that it sustains; the hot one from short turns, in which both run at one "
      "clock");
  if (report_first(report, has_energy) == NULL || !(has_power || has_pj)) return;
  if (idle_w > 0) snprintf(idle, sizeof idle, "; it holds the %.0f W that the card drew before the run", idle_w);
  text_paragraph(file,
                 !has_pj     ? "power = "
                 : has_power ? "power, energy = "
                             : "energy = ",
                 "of the whole card while the steady time was taken, by the driver's counter%s", idle);
}

/* Without a clock, as on a CPU, three times say too little: whoever else has the processor slows them down more. */
static double dependence(const struct record *record) {
  const bool is_known = record->time[TIME_HOT].sm_clock_mhz > 0;
  return is_known && record->data_dependence_ratio > RECORD_DEPENDENCE_MOST ? record->data_dependence_ratio : 0;
}

/* Of each variant the row that growing maxima slow down most. */
static void print_dependence(FILE *file, const struct report *report, const char *variant) {
  size_t rows;
  const struct record *worst = find_worst(report, variant, dependence, &rows);
  if (worst == NULL) return;
  text_paragraph(
      file, "data: ",
      "%s takes longer where the maximum of a row grows from tile to tile: %zu %s by more than %.0f %%, the "
      "most %.2fx at %s",
      variant, rows, rows == 1 ? "row" : "rows", 100 * (RECORD_DEPENDENCE_MOST - 1), worst->data_dependence_ratio,
      worst->attn_case.key);
}

static void print_injected(FILE *file, const struct report *report) {
  size_t count = 0;
  for (size_t i = 0; i < report->row_count; ++i) count += report->records[i].injected.done;
  if (count > 0) fprintf(file, "%zu of these rows slowed down on purpose (--inject-slowdown)\n", count);
}

static struct status print_picks(FILE *file, const struct report *report) {
  OWNED(fold_free) struct folds folds = {0};
  char lead[TEXT_CELL_MAX];
  TRY(fold_labels(report, offsetof(struct record, picked), &folds));
  for (size_t i = 0; i < folds.count; ++i) {
    const struct fold *fold = &folds.item[i];
    snprintf(lead, sizeof lead, "%s = ", fold->variant);
    text_paragraph(file, lead, "%s in %zu %s: %s", fold->text, fold->count, fold->count == 1 ? "case" : "cases",
                   fold->worst->record->picked_why);
  }
  return status_ok();
}

/* A label of the rows, where they have it, and what it means. */
static struct status print_label(FILE *file, const struct report *report, size_t label, const char *lead,
                                 const char *meaning) {
  OWNED(fold_free) struct folds folds = {0};
  TRY(fold_labels(report, label, &folds));
  for (size_t i = 0; i < folds.count; ++i) {
    const struct fold *fold = &folds.item[i];
    text_paragraph(file, lead, "%s (%zu %s): %s; %s", fold->variant, fold->count, fold->count == 1 ? "case" : "cases",
                   fold->text, meaning);
  }
  return status_ok();
}

/* Of each case once: its rows follow one another, and have the same inputs. */
static void print_quantisation(FILE *file, const struct report *report) {
  const char *before = "", *worst = "";
  double least = INFINITY, most = 0, max = 0;
  size_t cases = 0;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct record *record = &report->records[i];
    const struct quantisation *error = &record->check.oracle.quantisation;
    if (error->rows == 0 || strcmp(record->attn_case.key, before) == 0) continue;
    before = record->attn_case.key;
    ++cases;
    least = fmin(least, error->rmse);
    if (error->max >= max) worst = before;
    most = fmax(most, error->rmse);
    max = fmax(max, error->max);
  }
  if (cases == 0) return;
  text_paragraph(file,
                 "e4m3 itself: ", "O differs from that of unrounded inputs by %s%s%s (RMSE), %s at most, at %s%s",
                 units_short(least).text, cases > 1 ? " to " : "", cases > 1 ? units_short(most).text : "",
                 units_short(max).text, worst, cases > 1 ? "; --csv and --json have each case" : "");
}

static struct status print_reasons(FILE *file, const struct report *report) {
  OWNED(fold_free) struct folds folds = {0};
  char lead[TEXT_CELL_MAX];
  TRY(fold_reasons(report, &folds));
  for (size_t i = 0; i < folds.count; ++i) {
    const struct fold *fold = &folds.item[i];
    const struct record *record = fold->worst->record;
    const bool unlike = fold->text == NULL && fold->count > 1;
    snprintf(lead, sizeof lead, "%s: ", cell_status_name((enum cell_status)fold->kind));
    text_paragraph(file, lead, "%s (%zu %s)%s%s: %s", fold->variant, fold->count, fold->count == 1 ? "case" : "cases",
                   unlike ? ", such as " : "", unlike ? record->attn_case.key : "", record->reason);
  }
  return status_ok();
}

static bool is_planned(const struct report_row *row) { return row->record->status == CELL_planned; }

/* "hot 19.5 us at first, 20.1 at last (x 1.031), 19.4 to 20.1 between" */
static void put_drift(const struct sentinel *sentinel, enum time_mode mode, char *out, size_t size) {
  const struct sentinel_mode *seen = &sentinel->mode[mode];
  if (!isfinite(seen->first_us)) return;
  text_append(out, size, "; %s %s us at first, %s at last (x %s), from %s to %s", time_mode_name(mode),
              units_short(seen->first_us).text, units_short(seen->last_us).text,
              units_fixed(seen->drift_ratio, 3).text, units_short(seen->min_us).text, units_short(seen->max_us).text);
}

static void print_sentinel(FILE *file, const struct report *report) {
  const struct sentinel *sentinel = &report->journal->run.sentinel;
  char text[PARAGRAPH_MAX];
  if (!sentinel->known) return;
  snprintf(text, sizeof text, "%s of %s, measured %" PRIu32 " times", sentinel->variant, sentinel->key,
           sentinel->count);
  put_drift(sentinel, TIME_HOT, text, sizeof text);
  put_drift(sentinel, TIME_COLD, text, sizeof text);
  text_paragraph(file, "sentinel: ", "%s", text);
}

static void print_conventions(FILE *file, const struct report *report) {
  char names[256] = "";
  const char *first = NULL;
  EACH_CONVENTION(axis, report) {
    text_append(names, sizeof names, "%s%s", first != NULL ? ", " : "", axis->name);
    if (first == NULL) first = axis->name;
  }
  if (first != NULL) text_paragraph(file, "conventions: ", "%s (`attnbench describe %s` explains one)", names, first);
}

/* ---- the whole ----------------------------------------------------------------------------------------------- */

static void print_device(FILE *file, const char *lead, const char *before, const struct device_info *device) {
  char text[256];
  if (device->kind == DEVICE_CPU) {
    snprintf(text, sizeof text, "%s, %" PRIu32 " threads", device->name, device->sms);
  } else {
    snprintf(text, sizeof text, "%s, cc %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs at up to %s MHz, %s GB/s%s%s",
             device->name, device->cc_major, device->cc_minor, device->sms,
             units_short(device->sm_clock_max_mhz).text, units_short(device->dram_gb_per_s).text,
             device->driver[0] != '\0' ? ", driver " : "", device->driver);
  }
  text_paragraph(file, lead, "%s%s", before, text);
  if (report_roofs_are_unknown(device)) text_paragraph(file, "roof      ", REPORT_NO_ROOFS);
}

void notes_device(FILE *file, const struct device_info *device) { print_device(file, "device    ", "", device); }

/* Whoever reads a file or a pipe has seen it before. */
static void print_legend(FILE *file, const struct report *report, const struct text_fit *fit) {
  static const struct text_meaning meanings[] = {
      {"hot", "median of one launch of many back to back"},
      {"cold", "after a flush of L2"},
      {"roof", "share of the limit that binds the row, at the highest clock"},
      {"waves", "blocks over those that the GPU holds at once"},
      {NULL, NULL}};
  if (!text_is_terminal(file) || report_first(report, has_time) == NULL) return;
  text_legend(file, fit, meanings,
              "; > fastest, ! failed, * doubtful. `attnbench describe hot` explains a column, and every other word "
              "of a report");
}

void notes_planned(FILE *file, const struct report *report) {
  const struct report_row *planned = report_first(report, is_planned);
  if (planned != NULL) print_device(file, "planned = ", "not measured, geometry for ", planned->device);
}

struct status notes_print(FILE *file, const struct report *report, const struct text_fit *fit) {
  if (fit == NULL) return print_reasons(file, report);
  print_legend(file, report, fit);
  if (report->journal->run.started_utc[0] != '\0') each_variant(file, report, print_doubts);
  print_intervals(file, report);
  print_reference(file, report);
  if (text_fit_shows(fit, "vs ref", "kernel")) print_kernels_alone(file, report);
  each_variant(file, report, print_choices);
  print_steady(file, report, fit);
  print_unsteady_ratios(file, report);
  print_unsteady_clocks(file, report);
  print_sentinel(file, report);
  print_injected(file, report);
  each_variant(file, report, print_dependence);
  print_quantisation(file, report);
  print_conventions(file, report);
  text_fit_print(file, fit, "--csv and --json");
  TRY(print_picks(file, report));
  TRY(print_label(file, report, offsetof(struct record, left),
                  "left behind: ", "its process was ended before the next cell"));
  TRY(print_label(file, report, offsetof(struct record, uncaptured),
                  "not captured: ", "timed launch by launch, the host's time included"));
  return print_reasons(file, report);
}
