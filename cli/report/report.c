/* Builds a report from a journal and hands it to the sinks that were asked for. */
#include "cli/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/output.h"
#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/units.h"

/* ---- building ------------------------------------------------------------------------------------------------ */

static void clear_times(struct record *record) {
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    record->time[mode] = record_time_unknown();
    record->process[mode].count = 0;
  }
  for (size_t i = 0; i < ATTN_PASSES_MAX; ++i) record->pass[i].cold_us = NAN;
  record->speedup = (struct speedup_record){.reference = ""};
  record->data_dependence_ratio = NAN;
}

static const struct device_info *device_of(const struct journal_data *journal, const struct record *record) {
  const bool planned = record->status == CELL_planned || !journal->has_device;
  return planned && journal->has_planned_device ? &journal->planned_device : cards_info(journal, record);
}

/* A time that would not be above 0 is no time. */
static double cold_net_us(const struct journal_data *journal, const struct report_row *row) {
  const struct time_record *cold = &row->record->time[TIME_COLD];
  const double overhead_us = event_overhead_in(TIME_COLD, row->device, cards_event_overhead_us(journal, row->record));
  const double net_us = cold->us.median - overhead_us;
  return cold->done && overhead_us > 0 && net_us > 0 ? net_us : (double)NAN;
}

/* Kernels alone: a hot time also holds the gap between two launches, which differs from kernel to kernel. Only times
 * that one profiler took in one way are held against each other. */
static double kernel_ratio(const struct report *report, const struct report_row *row) {
  const struct record *here = row->record;
  const double here_us = row->metrics.counted.total.gpu_time_us;
  if (!here->counters.done || !(here_us > 0) || !report_has_speedup(row)) return NAN;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct record *there = &report->records[i];
    if (!there->counters.done || strcmp(there->variant, here->speedup.reference) != 0) continue;
    const bool alike = strcmp(there->attn_case.key, here->attn_case.key) == 0 &&
                       strcmp(there->counters.source, here->counters.source) == 0 &&
                       strcmp(there->counters.cache, here->counters.cache) == 0 && record_same_card(there, here);
    if (alike) return report->rows[i].metrics.counted.total.gpu_time_us / here_us;
  }
  return NAN;
}

/* An idle GPU draws less than a quarter of its limit. But the reading of the driver is a mean of the last second, in
 * which the card may have worked. */
double report_idle_power_w(const struct journal_data *journal) {
  const struct device_policy *policy = &journal->policy;
  const bool is_known = journal->card_count == 0 && policy->idle_power_w > 0,
             has_worked = policy->idle_power_w > policy->power_limit_w / 4;
  return is_known && !has_worked ? policy->idle_power_w : (double)NAN;
}

static void fill_energy(const struct journal_data *journal, struct report_row *row) {
  const struct time_record *steady = &row->record->time[TIME_STEADY];
  const double idle_w = report_idle_power_w(journal);
  const double tflop_per_s = row->metrics.mode[TIME_STEADY].tflop_per_s;
  const double power_w = steady->energy_j / steady->elapsed_s;
  row->energy_pj_per_flop = power_w / tflop_per_s;
  row->energy_over_idle_pj_per_flop = (power_w - idle_w) / tflop_per_s;
}

static bool has_times(const struct record *record) {
  const struct speedup_record *speedup = &record->speedup;
  bool has = speedup->reference[0] != '\0' || speedup->reason[0] != '\0' || record->data_dependence_ratio > 0;
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode)
    has = has || speedup->mode[mode].done || record->time[mode].done || record->process[mode].count > 0;
  for (size_t i = 0; i < ATTN_PASSES_MAX; ++i) has = has || !isnan(record->pass[i].cold_us);
  return has;
}

/* The journal's records where no row has times that it must not have. */
static struct status take_records(const struct journal_data *journal, struct report *report) {
  bool are_shared = true;
  report->records = journal->records;
  for (size_t i = 0; i < journal->record_count && are_shared; ++i)
    are_shared = journal->records[i].status == CELL_ok || !has_times(&journal->records[i]);
  if (are_shared) return status_ok();
  TRY(owned_array(&report->copies, journal->record_count, sizeof *report->copies, "rows"));
  for (size_t i = 0; i < journal->record_count; ++i) {
    report->copies[i] = journal->records[i];
    if (report->copies[i].status != CELL_ok) clear_times(&report->copies[i]);
  }
  report->records = report->copies;
  return status_ok();
}

static struct status keep_findings(const struct findings *findings, struct report_row *row) {
  if (findings->count == 0) return status_ok();
  TRY(owned_array(&row->findings.item, findings->count, sizeof *findings->item, "findings"));
  memcpy(row->findings.item, findings->item, findings->count * sizeof *findings->item);
  row->findings.count = findings->count;
  return status_ok();
}

/* Derives the rows. metrics and scaling are scratch of row_count entries each. */
static struct status derive_rows(struct report *report, const struct diagnose_evidence *evidence,
                                 struct metrics *metrics, struct scaling *scaling) {
  const struct run_info *run = &report->journal->run;
  for (size_t i = 0; i < report->row_count; ++i) {
    report->rows[i].record = &report->records[i];
    report->rows[i].device = device_of(report->journal, &report->records[i]);
    report->rows[i].cold_net_us = cold_net_us(report->journal, &report->rows[i]);
    metrics_of(&report->records[i], report->rows[i].device, &metrics[i]);
  }
  struct findings findings;
  TRY(scaling_of(report->records, metrics, report->row_count, run->has_baseline ? &run->baseline : NULL, scaling));
  for (size_t i = 0; i < report->row_count; ++i) {
    struct report_row *row = &report->rows[i];
    row->metrics = metrics[i];
    row->scaling = scaling[i];
    row->kernel_ratio = NAN;
    fill_energy(report->journal, row);
    for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode)
      row->between[mode] = process_interval_of(&row->record->process[mode]);
    bound_by_of(row->record, &row->metrics, row->device, cards_policy(report->journal, row->record)->power_limit_w,
                &row->bound_by);
    diagnose(report->records, metrics, scaling, report->row_count, i, row->device, evidence, &findings);
    TRY(keep_findings(&findings, row));
  }
  for (size_t i = 0; i < report->row_count; ++i)
    report->rows[i].kernel_ratio = kernel_ratio(report, &report->rows[i]);
  return status_ok();
}

static void count_statuses(struct report *report) {
  const bool missing = report->row_count < report->journal->run.cell_count;
  enum exit_code worst = missing ? EXIT_CODE_COVERAGE : EXIT_CODE_OK;
  for (size_t i = 0; i < report->row_count; ++i) {
    const enum cell_status status = report->records[i].status;
    const enum exit_code exit = cell_status_exit_code(status);
    ++report->status_count[status];
    if (exit != EXIT_CODE_OK && worst != EXIT_CODE_WRONG) worst = exit;
  }
  /* A plan of rows that are all skipped says just that. */
  if (worst == EXIT_CODE_OK && report->journal->has_device && failures_lack_result(report->journal))
    worst = EXIT_CODE_COVERAGE;
  report->exit_code = worst;
}

static struct status derive(const struct diagnose_evidence *evidence, struct report *out) {
  OWNED_ARRAY(struct metrics, metrics, out->row_count, "rows of a report");
  OWNED_ARRAY(struct scaling, scaling, out->row_count, "rows of a report");
  TRY(owned_array(&out->rows, out->row_count, sizeof *out->rows, "rows of a report"));
  TRY(take_records(out->journal, out));
  return derive_rows(out, evidence, metrics, scaling);
}

static struct status build(const struct journal_data *journal, const struct diagnose_evidence *evidence,
                           struct report *out) {
  *out = (struct report){.journal = journal, .row_count = journal->record_count};
  const struct status status = derive(evidence, out);
  if (status_failed(&status)) {
    report_free(out);
    return status;
  }
  count_statuses(out);
  fastest_mark(out);
  return status;
}

struct status report_build(const struct journal_data *journal, struct report *out) {
  return build(journal, NULL, out);
}

static struct status check_evidence(const struct journal_data *journal, const struct journal_data *evidence,
                                    const char *path) {
  const struct device_info *here = &journal->device, *there = &evidence->device;
  const bool measured = journal->has_device && evidence->has_device;
  if (evidence->run.profiled[0] != '\0')
    return status_make(STATUS_NOT_COMPARABLE,
                       "--evidence %s: was measured under %s, whose work is in its times; give a report without it",
                       path, evidence->run.profiled);
  if (measured && strcmp(here->name, there->name) == 0 && here->sms == there->sms) return status_ok();
  return status_make(STATUS_NOT_COMPARABLE,
                     "--evidence %s: is of %s, the report of %s; times of one device say nothing of another: give a "
                     "report of the same GPU",
                     path, evidence->has_device ? there->name : "no device",
                     journal->has_device ? here->name : "none");
}

struct status report_build_with(const struct journal_data *journal, const struct journal_data *evidence,
                                const char *path, struct report *out) {
  struct diagnose_evidence rows = {.records = evidence->records, .count = evidence->record_count, .source = path};
  TRY(check_evidence(journal, evidence, path));
  OWNED_ARRAY(struct metrics, metrics, rows.count, "rows of evidence");
  for (size_t i = 0; i < rows.count; ++i)
    metrics_of(&rows.records[i], cards_info(evidence, &rows.records[i]), &metrics[i]);
  rows.metrics = metrics;
  return build(journal, &rows, out);
}

void report_free(struct report *report) {
  for (size_t i = 0; i < report->row_count && report->rows != NULL; ++i) free(report->rows[i].findings.item);
  free(report->copies);
  free(report->rows);
  report->copies = NULL;
  report->records = NULL;
  report->rows = NULL;
  report->row_count = 0;
}

bool report_roofs_are_unknown(const struct device_info *device) {
  return device->kind == DEVICE_CUDA && !(device->tensor_flop_per_clk_sm > 0) && !(device->fp32_flop_per_clk_sm > 0);
}

void report_cards(const struct report *report, char out[REPORT_CARDS_MAX]) {
  const struct journal_data *journal = report->journal;
  out[0] = '\0';
  for (size_t i = 0; i < journal->card_count; ++i) {
    const char *uuid = journal->card[i].info.uuid;
    size_t rows = 0;
    for (size_t j = 0; j < report->row_count; ++j) rows += strcmp(report->records[j].card, uuid) == 0;
    text_append(out, REPORT_CARDS_MAX, "%s%s: %zu %s", i > 0 ? ", " : "", uuid, rows, rows == 1 ? "row" : "rows");
  }
}

void report_counts(const struct report *report, const char *what, char out[REPORT_COUNTS_MAX]) {
  const char *separator = ":";
  snprintf(out, REPORT_COUNTS_MAX, "%zu of %" PRIu64 "%s", report->row_count, report->journal->run.cell_count, what);
  for (enum cell_status status = 0; status < CELL_STATUS_COUNT; ++status) {
    if (report->status_count[status] == 0) continue;
    text_append(out, REPORT_COUNTS_MAX, "%s %" PRIu64 " %s", separator, report->status_count[status],
                cell_status_name(status));
    separator = ",";
  }
}

const char *report_origin(const struct journal_data *data) {
  if (data->is_edited)
    return "was changed after attnbench wrote it (its checksum does not match), or made of such a report";
  return data->lacks_checksum ? "has no checksum: an older version or another program wrote it" : "";
}

static bool has_net_time(const struct report_row *row) { return isfinite(row->cold_net_us); }

void report_events(const struct report *report, char out[REPORT_EVENTS_MAX]) {
  snprintf(out, REPORT_EVENTS_MAX, "cold times include %s us of the events around a launch",
           units_short(report->journal->event_overhead_us).text);
  if (report_first(report, has_net_time) == NULL) out[0] = '\0';
}

const struct report_row *report_first(const struct report *report, bool (*is)(const struct report_row *)) {
  for (size_t i = 0; i < report->row_count; ++i) {
    if (is(&report->rows[i])) return &report->rows[i];
  }
  return NULL;
}

bool report_has_speedup(const struct report_row *row) {
  const struct ratio_record *mode = row->record->speedup.mode;
  return mode[TIME_COLD].done || mode[TIME_HOT].done || mode[TIME_STEADY].done;
}

const struct attn_axis *report_next_convention(const struct report *report, const struct attn_axis *axis) {
  for (unsigned id = axis != NULL ? axes_id_of(axis) + 1 : 0; id < AXIS_COUNT; ++id) {
    const struct attn_axis *next = axes_at(id);
    for (size_t i = 0; i < report->row_count && next->convention != NULL; ++i) {
      if (axes_needs_words(next, &report->records[i].attn_case.shape)) return next;
    }
  }
  return NULL;
}

/* ---- saving -------------------------------------------------------------------------------------------------- */

struct status report_save(const struct report *report, const char *path,
                          struct status (*write)(const struct report *, FILE *)) {
  OUTPUT_TRY(path, out, write(report, out));
  return status_ok();
}

struct status report_probe(const char *path, const char *option) {
  const struct status status = output_probe(path);
  return status_failed(&status) ? status_make(status.code, "%s %s", option, status.text) : status;
}
