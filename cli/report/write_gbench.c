/* A report in the form of Google Benchmark's JSON. */
#include <math.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/report/views.h"

/* The JSON of google-benchmark, as its compare.py and the dashboards that take it read it. What they ask for:
 * - "caches" in the context, and real_time and time_unit in every entry, or the file is refused;
 * - cpu_time where no "/real_time" is in the name: there is no CPU time here, so it is the same number;
 * - no counter called bytes_per_second or items_per_second: some would take it for the value itself. */

/* ---- tables -------------------------------------------------------------------------------------------------- */

struct entry {
  char name[AXIS_KEY_MAX + VARIANT_SPEC_MAX + 32], run_name[AXIS_KEY_MAX + VARIANT_SPEC_MAX + 16];
  uint64_t family, instance, repetition; /* UINT64_MAX: of all repetitions */
  uint32_t repetitions, threads;
  const char *run_type, *aggregate_name, *aggregate_unit, *time_unit;
  bool failed;
  char message[RECORD_REASON_MAX + 32];
  uint64_t iterations;
  double real_time, tflop_per_s, gb_per_s, roof_ratio, sm_clock_mhz;
};

/* What is not known is left out: null is no number to these readers. */
static const struct field entry_fields[] = {
    FIELD_TEXT_OF("name", struct entry, name),
    FIELD("family_index", U64, struct entry, family),
    FIELD("per_family_instance_index", U64, struct entry, instance),
    FIELD_TEXT_OF("run_name", struct entry, run_name),
    FIELD("run_type", NAME, struct entry, run_type),
    FIELD("repetitions", U32, struct entry, repetitions),
    FIELD("repetition_index", INDEX, struct entry, repetition, .left_out = true),
    FIELD("threads", U32, struct entry, threads),
    FIELD("aggregate_name", NAME, struct entry, aggregate_name, .left_out = true),
    FIELD("aggregate_unit", NAME, struct entry, aggregate_unit, .left_out = true),
    FIELD("error_occurred", BOOL, struct entry, failed, .left_out = true),
    FIELD_LABEL_OF("error_message", struct entry, message, .left_out = true),
    FIELD("iterations", U64, struct entry, iterations),
    FIELD("real_time", F64, struct entry, real_time),
    FIELD("cpu_time", F64, struct entry, real_time),
    FIELD("time_unit", NAME, struct entry, time_unit),
    FIELD("tflop_per_s", F64, struct entry, tflop_per_s, .left_out = true),
    FIELD("gb_per_s", F64, struct entry, gb_per_s, .left_out = true),
    FIELD("roof_ratio", F64, struct entry, roof_ratio, .left_out = true),
    FIELD("sm_clock_mhz", F64, struct entry, sm_clock_mhz, .left_out = true),
    {0},
};

static const struct field context_fields[] = {
    FIELD_TEXT_OF("date", struct run_info, started_utc),
    FIELD_TEXT_OF("executable", struct run_info, command),
    FIELD_TEXT_OF("attnbench_version", struct run_info, version),
    FIELD_TEXT_OF("git_commit", struct run_info, git_commit),
    FIELD_TEXT_OF("cuda", struct run_info, cuda),
    FIELD_TEXT_OF("sweep", struct run_info, sweep_name),
    FIELD_TEXT_OF("sweep_hash", struct run_info, sweep_hash),
    FIELD("seed", U64, struct run_info, seed),
    {0},
};

static const struct field device_fields[] = {
    FIELD_TEXT_OF("device", struct device_info, name),
    FIELD_TEXT_OF("driver", struct device_info, driver),
    {0},
};

/* ---- entries ------------------------------------------------------------------------------------------------- */

static struct entry entry_of(const struct report_row *row, uint64_t family, enum time_mode mode) {
  struct entry entry = {.family = family,
                        .instance = (uint64_t)mode,
                        .repetitions = 1,
                        .threads = 1,
                        .run_type = "iteration",
                        .time_unit = "us",
                        .tflop_per_s = NAN,
                        .gb_per_s = NAN,
                        .roof_ratio = NAN,
                        .sm_clock_mhz = NAN};
  snprintf(entry.run_name, sizeof entry.run_name, "%s/%s", row->record->variant, row->record->attn_case.key);
  return entry;
}

static void add_entry(cJSON *array, struct entry entry) {
  snprintf(entry.name, sizeof entry.name, "%s%s%s", entry.run_name, entry.aggregate_name != NULL ? "_" : "",
           entry.aggregate_name != NULL ? entry.aggregate_name : "");
  fields_write(json_add_element(array), entry_fields, &entry);
}

static void add_aggregate(cJSON *array, const struct entry *base, const char *name, double value) {
  struct entry entry = *base;
  entry.repetition = UINT64_MAX;
  entry.run_type = "aggregate";
  entry.aggregate_name = name;
  entry.aggregate_unit = strcmp(name, "cv") == 0 ? "percentage" : "time";
  entry.iterations = base->repetitions;
  entry.real_time = value;
  add_entry(array, entry);
}

static void add_aggregates(cJSON *array, const struct entry *entry, const struct process_record *process) {
  double sum = 0, squares = 0;
  const uint32_t n = process->count;
  const double *us = process->median_us;
  for (uint32_t i = 0; i < n; ++i) sum += us[i];
  const double mean = sum / n;
  for (uint32_t i = 0; i < n; ++i) squares += (us[i] - mean) * (us[i] - mean);
  const double median = stats_median(us, n), stddev = sqrt(squares / (n - 1));
  add_aggregate(array, entry, "mean", mean);
  add_aggregate(array, entry, "median", median);
  add_aggregate(array, entry, "stddev", stddev);
  add_aggregate(array, entry, "cv", stddev / mean);
}

/* One entry per process; a run of one process is one repetition. The first one has the rates. */
static void add_timed(cJSON *array, const struct report_row *row, uint64_t family, enum time_mode mode) {
  const struct time_record *time = &row->record->time[mode];
  const struct process_record *process = &row->record->process[mode];
  const bool is_one = process->count < 2;
  struct entry entry = entry_of(row, family, mode);
  text_append(entry.run_name, sizeof entry.run_name, "/%s", time_mode_name(mode));
  entry.repetitions = is_one ? 1 : process->count;
  entry.iterations = (uint64_t)time->us.n * (time->launches_per_sample > 0 ? time->launches_per_sample : 1);
  for (uint32_t i = 0; i < entry.repetitions; ++i) {
    struct entry repetition = entry;
    repetition.repetition = i;
    if (i == 0) {
      repetition.tflop_per_s = row->metrics.mode[mode].tflop_per_s;
      repetition.gb_per_s = row->metrics.mode[mode].gb_per_s;
      repetition.roof_ratio = row->metrics.mode[mode].roof_ratio;
    }
    repetition.real_time = is_one ? time->us.median : process->median_us[i];
    repetition.sm_clock_mhz = is_one ? time->sm_clock_mhz : process->sm_clock_mhz[i];
    add_entry(array, repetition);
  }
  if (!is_one) add_aggregates(array, &entry, process);
}

/* A failed row has no mode of its own: one entry, with the times of 0 that google-benchmark writes for an error. */
static void add_failed(cJSON *array, const struct report_row *row, uint64_t family) {
  struct entry entry = entry_of(row, family, TIME_COLD);
  entry.failed = true;
  snprintf(entry.message, sizeof entry.message, "%s: %s", cell_status_name(row->record->status), row->record->reason);
  add_entry(array, entry);
}

/* Rows that were never meant to have a time (skipped, planned) are not there. */
static void add_row(cJSON *array, const struct report_row *row, uint64_t family) {
  const enum cell_status status = row->record->status;
  if (status != CELL_ok && cell_status_exit_code(status) != EXIT_CODE_OK) add_failed(array, row, family);
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && status == CELL_ok; ++mode) {
    if (row->record->time[mode].done) add_timed(array, row, family, mode);
  }
}

static void add_context(cJSON *root, const struct journal_data *journal) {
  cJSON *context = cJSON_AddObjectToObject(root, "context");
  fields_write(context, context_fields, &journal->run);
  if (journal->has_device) fields_write(context, device_fields, &journal->device);
  cJSON_AddArrayToObject(context, "caches");
  json_add_string(context, "library_build_type", "release");
  json_add_uint(context, "json_schema_version", 1);
}

struct status report_write_gbench(const struct report *report, FILE *file) {
  cJSON *root = cJSON_CreateObject();
  add_context(root, report->journal);
  cJSON *array = cJSON_AddArrayToObject(root, "benchmarks");
  for (size_t i = 0; i < report->row_count; ++i) add_row(array, &report->rows[i], i);
  return json_write(root, "a report", file);
}
