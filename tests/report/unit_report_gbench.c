#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/report/report.h"
#include "tests/unit.h"
#include "tests/unit_golden.h"
#include "tests/unit_near.h"

struct built {
  struct journal_data journal;
  struct report report;
  char *text;
  cJSON *root;
};

static void assert_ok(struct status status) {
  if (status_failed(&status)) fail_msg("%s", status.text);
}

/* The first row gets five processes, as a run of five rounds would leave them. */
static void build(struct built *out) {
  static const double medians[] = {10, 12, 11, 14, 13};
  struct text_stream stream;
  assert_ok(journal_load("tests/data/report_gpu.jsonl", &out->journal));
  struct process_record *process = &out->journal.records[0].process[TIME_HOT];
  process->count = 5;
  for (size_t i = 0; i < 5; ++i) {
    process->median_us[i] = medians[i];
    process->sm_clock_mhz[i] = i == 3 ? (double)NAN : 1980;
  }
  assert_ok(report_build(&out->journal, &out->report));
  text_open(&stream);
  assert_ok(report_write_gbench(&out->report, stream.file));
  out->text = text_close(&stream);
  out->root = cJSON_Parse(out->text);
  assert_non_null(out->root);
}

static void discard(struct built *built) {
  cJSON_Delete(built->root);
  free(built->text);
  report_free(&built->report);
  journal_free(&built->journal);
}

static const char *text_of(const cJSON *entry, const char *key) {
  const cJSON *item = json_get(entry, key);
  return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *entry, const char *key) {
  const cJSON *item = json_get(entry, key);
  return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static const cJSON *entry_of(const cJSON *root, const char *name, double repetition) {
  const cJSON *entry = NULL;
  cJSON_ArrayForEach(entry, json_get(root, "benchmarks")) {
    const bool aggregate = strcmp(text_of(entry, "run_type"), "aggregate") == 0;
    if (strcmp(text_of(entry, "name"), name) != 0) continue;
    if (aggregate || fabs(number_of(entry, "repetition_index") - repetition) < 0.5) return entry;
  }
  fail_msg("no entry %s", name);
  return NULL;
}

#define FIRST "serial/B1.H8.Hkv8.Sq512.Skv512.D64.f16.full/hot"

TEST(gbench_is_as_golden) {
  struct built built;
  build(&built);
  compare_golden("tests/data/report_gpu.gbench.json", built.text);
  discard(&built);
}

TEST(processes_are_repetitions_with_their_aggregates) {
  struct built built;
  build(&built);
  const cJSON *fourth = entry_of(built.root, FIRST, 3);
  assert_near(number_of(fourth, "real_time"), 14, 1e-12);
  assert_near(number_of(fourth, "repetitions"), 5, 1e-12);
  assert_null(json_get(fourth, "sm_clock_mhz"));
  assert_null(json_get(fourth, "tflop_per_s"));
  assert_near(number_of(entry_of(built.root, FIRST, 0), "sm_clock_mhz"), 1980, 1e-12);
  assert_near(number_of(entry_of(built.root, FIRST "_mean", 0), "real_time"), 12, 1e-12);
  assert_near(number_of(entry_of(built.root, FIRST "_median", 0), "real_time"), 12, 1e-12);
  assert_near(number_of(entry_of(built.root, FIRST "_stddev", 0), "real_time"), sqrt(2.5), 1e-12);
  const cJSON *cv = entry_of(built.root, FIRST "_cv", 0);
  assert_near(number_of(cv, "real_time"), sqrt(2.5) / 12, 1e-12);
  assert_string_equal(text_of(cv, "aggregate_unit"), "percentage");
  assert_string_equal(text_of(cv, "run_name"), FIRST);
  discard(&built);
}

/* What each reader asks of every entry: a number where it wants one, and no name that it takes for the value. */
TEST(every_entry_has_what_readers_ask_for) {
  static const char *const texts[] = {"name", "run_name", "run_type", "time_unit"}, *const numbers[] = {
                                                                                        "repetitions", "threads",
                                                                                        "iterations", "real_time",
                                                                                        "cpu_time"};
  struct built built;
  const cJSON *entry = NULL, *item = NULL;
  build(&built);
  assert_true(cJSON_IsArray(json_get(json_get(built.root, "context"), "caches")));
  cJSON_ArrayForEach(entry, json_get(built.root, "benchmarks")) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) assert_true(text_of(entry, texts[i])[0] != '\0');
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) assert_true(isfinite(number_of(entry, numbers[i])));
    assert_near(number_of(entry, "cpu_time"), number_of(entry, "real_time"), 1e-12);
    assert_null(json_get(entry, "bytes_per_second"));
    assert_null(json_get(entry, "items_per_second"));
    cJSON_ArrayForEach(item, entry) assert_false(cJSON_IsNull(item));
  }
  discard(&built);
}

TEST(a_failed_row_is_an_error_without_a_time_and_a_skipped_one_is_not_there) {
  struct built built;
  size_t errors = 0, timed = 0;
  const cJSON *entry = NULL;
  build(&built);
  cJSON_ArrayForEach(entry, json_get(built.root, "benchmarks")) {
    const bool failed = cJSON_IsTrue(json_get(entry, "error_occurred"));
    errors += failed;
    timed += !failed;
    assert_true(failed == (number_of(entry, "real_time") <= 0));
    assert_true(failed == (text_of(entry, "error_message")[0] != '\0'));
  }
  /* One wrong, one crashed, one skipped; four right ones in two modes, one of them with five processes and four
   * aggregates. */
  assert_int_equal(errors, 2);
  assert_int_equal(timed, 4 * 2 - 1 + 5 + 4);
  discard(&built);
}

static struct status write_untyped(const void *data, FILE *file) {
  return report_write_gbench((const struct report *)data, file);
}

TEST(gbench_is_whole_or_refused_without_memory) {
  struct built built;
  build(&built);
  const size_t given = assert_whole_or_refused(write_untyped, &built.report, built.text);
  assert_true(given > 200);
  discard(&built);
}
