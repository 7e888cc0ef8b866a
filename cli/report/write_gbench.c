/* A report in the form of Google Benchmark's JSON. */
#include <math.h>
#include <string.h>

#include "cli/report/views.h"

/* The JSON of google-benchmark, as its compare.py and the dashboards that take it read it. What they ask for:
 * - "caches" in the context, and real_time and time_unit in every entry, or the file is refused;
 * - cpu_time where no "/real_time" is in the name: there is no CPU time here, so it is the same number;
 * - no counter called bytes_per_second or items_per_second: some would take it for the value itself. */

/* ---- tables -------------------------------------------------------------------------------------------------- */

struct entry {
  char name[CASE_KEY_MAX + VARIANT_SPEC_MAX + 32], run_name[CASE_KEY_MAX + VARIANT_SPEC_MAX + 16];
  uint64_t family, instance;
  uint32_t repetitions, repetition, threads;
  const char *run_type, *aggregate_name, *aggregate_unit, *time_unit;
  uint64_t iterations;
  double real_time;
};

static const struct field name_fields[] = {
    FIELD_TEXT_OF("name", struct entry, name),
    FIELD("family_index", U64, struct entry, family),
    FIELD("per_family_instance_index", U64, struct entry, instance),
    FIELD_TEXT_OF("run_name", struct entry, run_name),
    FIELD("run_type", NAME, struct entry, run_type),
    FIELD("repetitions", U32, struct entry, repetitions),
    {0},
};

static const struct field repetition_fields[] = {FIELD("repetition_index", U32, struct entry, repetition), {0}};

static const struct field threads_fields[] = {FIELD("threads", U32, struct entry, threads), {0}};

static const struct field aggregate_fields[] = {
    FIELD("aggregate_name", NAME, struct entry, aggregate_name),
    FIELD("aggregate_unit", NAME, struct entry, aggregate_unit),
    {0},
};

static const struct field time_fields[] = {
    FIELD("iterations", U64, struct entry, iterations),
    FIELD("real_time", F64, struct entry, real_time),
    FIELD("cpu_time", F64, struct entry, real_time),
    FIELD("time_unit", NAME, struct entry, time_unit),
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

static bool add_finite(cJSON *object, const char *key, double value) {
  if (!isfinite(value)) return true; /* null is no number to these readers */
  json_add_number(object, key, value);
  return cJSON_HasObjectItem(object, key);
}

static struct entry entry_of(const struct report_row *row, uint64_t family, enum time_mode mode) {
  struct entry entry = {.family = family,
                        .instance = (uint64_t)mode,
                        .repetitions = 1,
                        .threads = 1,
                        .run_type = "iteration",
                        .aggregate_unit = "time",
                        .time_unit = "us"};
  snprintf(entry.run_name, sizeof entry.run_name, "%s/%s/%s", row->record->variant, row->record->attn_case.key,
           time_mode_name(mode));
  snprintf(entry.name, sizeof entry.name, "%s", entry.run_name);
  return entry;
}

static bool add_counters(cJSON *object, const struct report_row *row, enum time_mode mode) {
  const struct mode_metrics *metrics = &row->metrics.mode[mode];
  const double roof = metrics->known && metrics->roof != ROOF_NONE ? metrics->roof_ratio : (double)NAN;
  return add_finite(object, "tflop_per_s", metrics->known ? metrics->tflop_per_s : (double)NAN) &&
         add_finite(object, "gb_per_s", metrics->known ? metrics->gb_per_s : (double)NAN) &&
         add_finite(object, "roof_ratio", roof);
}

static bool add_iteration(cJSON *array, const struct report_row *row, const struct entry *entry, enum time_mode mode,
                          double sm_clock_mhz) {
  cJSON *object = json_add_element(array);
  return fields_write(object, name_fields, entry) && fields_write(object, repetition_fields, entry) &&
         fields_write(object, threads_fields, entry) && fields_write(object, time_fields, entry) &&
         (entry->repetition > 0 || add_counters(object, row, mode)) &&
         add_finite(object, "sm_clock_mhz", sm_clock_mhz);
}

static bool add_aggregate(cJSON *array, const struct entry *base, const char *name, double value) {
  struct entry entry = *base;
  const bool is_share = strcmp(name, "cv") == 0;
  entry.run_type = "aggregate";
  entry.aggregate_name = name;
  entry.aggregate_unit = is_share ? "percentage" : "time";
  entry.iterations = base->repetitions;
  entry.real_time = value;
  snprintf(entry.name, sizeof entry.name, "%s_%s", base->run_name, name);
  cJSON *object = json_add_element(array);
  return fields_write(object, name_fields, &entry) && fields_write(object, threads_fields, &entry) &&
         fields_write(object, aggregate_fields, &entry) && fields_write(object, time_fields, &entry);
}

static bool add_aggregates(cJSON *array, const struct entry *entry, const struct process_record *process) {
  double sum = 0, squares = 0;
  const uint32_t n = process->count;
  const double *us = process->median_us;
  for (uint32_t i = 0; i < n; ++i) sum += us[i];
  const double mean = sum / n;
  for (uint32_t i = 0; i < n; ++i) squares += (us[i] - mean) * (us[i] - mean);
  const double median = stats_median(us, n), stddev = sqrt(squares / (n - 1));
  return add_aggregate(array, entry, "mean", mean) && add_aggregate(array, entry, "median", median) &&
         add_aggregate(array, entry, "stddev", stddev) && add_aggregate(array, entry, "cv", stddev / mean);
}

/* One entry per process; a run of one process is one repetition. */
static bool add_timed(cJSON *array, const struct report_row *row, uint64_t family, enum time_mode mode) {
  const struct time_record *time = &row->record->time[mode];
  const struct process_record *process = &row->record->process[mode];
  struct entry entry = entry_of(row, family, mode);
  entry.iterations = (uint64_t)time->us.n * (time->launches_per_sample > 0 ? time->launches_per_sample : 1);
  entry.real_time = time->us.median;
  if (process->count < 2) return add_iteration(array, row, &entry, mode, time->sm_clock_mhz);
  entry.repetitions = process->count;
  bool ok = true;
  for (; entry.repetition < process->count && ok; ++entry.repetition) {
    entry.real_time = process->median_us[entry.repetition];
    ok = add_iteration(array, row, &entry, mode, process->sm_clock_mhz[entry.repetition]);
  }
  return ok && add_aggregates(array, &entry, process);
}

/* A failed row has no mode of its own: one entry, with the times of 0 that google-benchmark writes for an error. */
static bool add_failed(cJSON *array, const struct report_row *row, uint64_t family) {
  struct entry entry = entry_of(row, family, TIME_COLD);
  snprintf(entry.run_name, sizeof entry.run_name, "%s/%s", row->record->variant, row->record->attn_case.key);
  snprintf(entry.name, sizeof entry.name, "%s", entry.run_name);
  char message[RECORD_REASON_MAX + 32];
  snprintf(message, sizeof message, "%s: %s", cell_status_name(row->record->status), row->record->reason);
  cJSON *object = json_add_element(array);
  if (!fields_write(object, name_fields, &entry) || !fields_write(object, repetition_fields, &entry) ||
      !fields_write(object, threads_fields, &entry)) {
    return false;
  }
  json_add_bool(object, "error_occurred", true);
  json_add_string(object, "error_message", message);
  return cJSON_HasObjectItem(object, "error_message") && fields_write(object, time_fields, &entry);
}

/* Rows that were never meant to have a time (skipped, planned) are not there. */
static bool add_row(cJSON *array, const struct report_row *row, uint64_t family) {
  const enum cell_status status = row->record->status;
  bool ok = true;
  if (status != CELL_ok && (cell_status_exit_code(status) != EXIT_CODE_OK)) return add_failed(array, row, family);
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && ok && status == CELL_ok; ++mode) {
    if (row->record->time[mode].done) ok = add_timed(array, row, family, mode);
  }
  return ok;
}

static bool add_context(cJSON *root, const struct journal_data *journal) {
  cJSON *context = cJSON_AddObjectToObject(root, "context");
  return fields_write(context, context_fields, &journal->run) &&
         (!journal->has_device || fields_write(context, device_fields, &journal->device)) &&
         cJSON_AddArrayToObject(context, "caches") != NULL &&
         cJSON_AddStringToObject(context, "library_build_type", "release") != NULL &&
         cJSON_AddNumberToObject(context, "json_schema_version", 1) != NULL;
}

struct status report_write_gbench(const struct report *report, FILE *file) {
  cJSON *root = cJSON_CreateObject();
  bool ok = root != NULL && add_context(root, report->journal);
  cJSON *array = ok ? cJSON_AddArrayToObject(root, "benchmarks") : NULL;
  ok = array != NULL;
  for (size_t i = 0; i < report->row_count && ok; ++i) ok = add_row(array, &report->rows[i], i);
  return json_write(root, ok, "a report", file);
}
