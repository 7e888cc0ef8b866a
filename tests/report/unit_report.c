#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/json.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/record/field_tables.h"
#include "cli/report/report.h"
#include "cli/report/views.h"
#include "tests/unit.h"
#include "tests/unit_golden.h"
#include "tests/unit_scratch.h"

typedef struct status writer(const struct report *, FILE *);

struct built {
  struct journal_data journal;
  struct report report;
};

/* To change: the report's own copy or the journal's record. */
static struct record *record_of(const struct built *built, size_t row) {
  return (struct record *)built->report.rows[row].record;
}

static void assert_ok(struct status status) {
  if (status_failed(&status)) fail_msg("%s", status.text);
}

static void build(const char *path, struct built *out) {
  assert_ok(journal_load(path, &out->journal));
  assert_ok(report_build(&out->journal, &out->report));
}

static void discard(struct built *built) {
  report_free(&built->report);
  journal_free(&built->journal);
}

static char *text_of(const struct report *report, writer *write) {
  struct text_stream stream;
  text_open(&stream);
  assert_ok(write(report, stream.file));
  return text_close(&stream);
}

static char *text_of_journal(const char *path, writer *write) {
  struct built built;
  build(path, &built);
  char *text = text_of(&built.report, write);
  discard(&built);
  return text;
}

/* ---- rows that moved while they were measured ---------------------------------------------------------------- */

static void expect_text(const struct built *built, writer *write, const char *wanted, bool is_there) {
  char *text = text_of(&built->report, write);
  if ((strstr(text, wanted) != NULL) != is_there)
    fail_msg("\"%s\" is%s in: %s", wanted, is_there ? " not" : "", text);
  free(text);
}

/* The first row has a hot ratio of 0.031. */
TEST(a_ratio_that_was_not_steady_is_marked_everywhere) {
  static const double drifts[] = {NAN, 0, 0.0049, 0.0051, 0.2};
  struct built built;
  build("tests/data/report_gpu.jsonl", &built);
  struct ratio_record *ratio = &record_of(&built, 0)->speedup.mode[TIME_HOT];
  for (size_t i = 0; i < sizeof drifts / sizeof *drifts; ++i) {
    ratio->drift_ratio = drifts[i];
    const bool moves = drifts[i] > 0.005;
    expect_text(&built, report_write_text, "~0.031", moves);
    expect_text(&built, report_write_text, "1 vs ref still moved by more than 0.5 %", moves);
    expect_text(&built, report_write_markdown, "\\~0.03", moves);
  }
  expect_text(&built, report_write_json, "\"drift_ratio\":\t0.2", true);
  discard(&built);
}

TEST(a_time_at_a_clock_that_was_not_kept_is_told) {
  struct built built;
  build("tests/data/report_gpu.jsonl", &built);
  struct record *record = record_of(&built, 0);
  record->time[TIME_HOT].sm_clock_mhz = 1617;
  record->speedup.mode[TIME_HOT].sm_clock_mhz = 1580;
  expect_text(&built, report_write_text, "at a clock that the GPU did not keep", false);
  record->speedup.mode[TIME_HOT].sm_clock_mhz = 1424;
  expect_text(&built, report_write_text, "hot times of 1 row were taken at a clock that the GPU did not keep", true);
  expect_text(&built, report_write_text, "1617 MHz", true);
  record->speedup.mode[TIME_HOT].sm_clock_mhz = NAN;
  expect_text(&built, report_write_text, "at a clock that the GPU did not keep", false);
  discard(&built);
}

/* ---- building ------------------------------------------------------------------------------------------------ */

TEST(counts_and_exit_code_come_from_the_rows) {
  struct built built;
  build("tests/data/report_gpu.jsonl", &built);
  assert_int_equal(built.report.row_count, 7);
  assert_int_equal(built.report.status_count[CELL_ok], 4);
  assert_int_equal(built.report.status_count[CELL_wrong], 1);
  assert_int_equal(built.report.status_count[CELL_skipped], 1);
  assert_int_equal(built.report.status_count[CELL_crashed], 1);
  assert_int_equal(built.report.exit_code, EXIT_CODE_WRONG);
  discard(&built);
}

TEST(exit_code_is_the_worst_of_the_rows) {
  static const struct {
    enum cell_status first, second;
    uint64_t cells;
    enum exit_code exit;
  } cases[] = {{CELL_ok, CELL_skipped, 2, EXIT_CODE_OK},         {CELL_ok, CELL_planned, 2, EXIT_CODE_OK},
               {CELL_ok, CELL_ok, 3, EXIT_CODE_COVERAGE},        {CELL_crashed, CELL_ok, 2, EXIT_CODE_COVERAGE},
               {CELL_ok, CELL_timeout, 2, EXIT_CODE_COVERAGE},   {CELL_ok, CELL_oom_predicted, 2, EXIT_CODE_COVERAGE},
               {CELL_wrong, CELL_crashed, 2, EXIT_CODE_WRONG},   {CELL_crashed, CELL_wrong, 9, EXIT_CODE_WRONG},
               {CELL_error, CELL_skipped, 2, EXIT_CODE_COVERAGE}};
  struct journal_data journal;
  assert_ok(journal_load("tests/data/report_cpu.jsonl", &journal));
  journal.record_count = 2;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct report report;
    journal.records[0].status = cases[i].first;
    journal.records[1].status = cases[i].second;
    journal.run.cell_count = cases[i].cells;
    assert_ok(report_build(&journal, &report));
    assert_int_equal(report.exit_code, cases[i].exit);
    report_free(&report);
  }
  journal_free(&journal);
}

TEST(an_empty_journal_makes_an_empty_report) {
  struct journal_data journal = {.state = "partial", .run.cell_count = 2};
  struct report report;
  assert_ok(report_build(&journal, &report));
  assert_int_equal(report.row_count, 0);
  assert_int_equal(report.exit_code, EXIT_CODE_COVERAGE);
  char *text = text_of(&report, report_write_text), *json = text_of(&report, report_write_json);
  assert_non_null(strstr(text, "0 of 2 cells; run partial"));
  assert_non_null(strstr(json, "\"results\":\t[]"));
  free(text);
  free(json);
  report_free(&report);
}

TEST(planned_rows_use_the_model_and_others_the_device) {
  struct built built;
  build("tests/data/report_cpu.jsonl", &built);
  assert_string_equal(built.report.rows[0].device->name, "Some CPU @ 2.0 GHz");
  assert_int_equal(built.report.rows[2].record->status, CELL_planned);
  assert_string_equal(built.report.rows[2].device->name, "NVIDIA H200");
  discard(&built);
}

/* ---- a wrong row has no speed -------------------------------------------------------------------------------- */

static const cJSON *wrong_result(const cJSON *root) {
  const cJSON *result = NULL;
  cJSON_ArrayForEach(result, json_get(root, "results")) {
    if (strcmp(json_get(result, "status")->valuestring, "wrong") == 0) return result;
  }
  return NULL;
}

TEST(a_wrong_row_has_no_speed_in_json) {
  static const char *const speeds[] = {"time", "tflop_per_s", "gb_per_s", "roof", "speedup_vs"};
  char *text = text_of_journal("tests/data/report_gpu.jsonl", report_write_json);
  cJSON *root = cJSON_Parse(text);
  const cJSON *result = wrong_result(root);
  assert_non_null(result);
  for (size_t i = 0; i < sizeof speeds / sizeof *speeds; ++i) assert_true(cJSON_IsNull(json_get(result, speeds[i])));
  assert_true(cJSON_IsNull(json_get(json_get(result, "launches")->child, "cold_us")));
  assert_true(cJSON_IsFalse(json_get(json_get(result, "check"), "right")));
  assert_true(cJSON_IsString(json_get(result, "reason")));
  cJSON_Delete(root);
  free(text);
}

TEST(a_wrong_row_has_no_speed_in_any_report) {
  /* The journal gives the wrong row 20 us cold and 10 us hot; with these instead, each would show. */
  struct built built;
  writer *const writers[] = {report_write_json, report_write_csv, report_write_text};
  build("tests/data/report_gpu.jsonl", &built);
  report_free(&built.report);
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) built.journal.records[2].time[mode].us.median = 77777.0;
  built.journal.records[2].pass[0].cold_us = 77777.0;
  built.journal.records[2].speedup.mode[TIME_HOT].ratio = 77777.0;
  assert_ok(report_build(&built.journal, &built.report));
  for (size_t i = 0; i < sizeof writers / sizeof *writers; ++i) {
    char *text = text_of(&built.report, writers[i]);
    assert_null(strstr(text, "7777"));
    free(text);
  }
  discard(&built);
}

/* ---- no memory ----------------------------------------------------------------------------------------------- */

static struct status write_untyped(const void *data, FILE *file) {
  return report_write_json((const struct report *)data, file);
}

/* Whichever allocation of cJSON fails, the report is refused as a whole, never cut. */
TEST(json_is_whole_or_refused_without_memory) {
  struct built built;
  build("tests/data/report_cpu.jsonl", &built);
  char *whole = text_of(&built.report, report_write_json);
  const size_t given = assert_whole_or_refused(write_untyped, &built.report, whole);
  assert_true(given > 500);
  free(whole);
  discard(&built);
}

/* ---- golden texts -------------------------------------------------------------------------------------------- */

TEST(csv_is_as_golden) {
  char *gpu = text_of_journal("tests/data/report_gpu.jsonl", report_write_csv);
  char *cpu = text_of_journal("tests/data/report_cpu.jsonl", report_write_csv);
  compare_golden("tests/data/report_gpu.csv", gpu);
  compare_golden("tests/data/report_cpu.csv", cpu);
  free(gpu);
  free(cpu);
}

/* Without the first line, which names the build, and without the findings' own words. */
static void cut_text(char *text) {
  char *second = strchr(text, '\n') + 1, *findings = strstr(second, "\nfindings"),
       *scaling = strstr(second, "\nscaling");
  const char *rest = scaling != NULL ? scaling : strrchr(second, '\n');
  assert_non_null(findings);
  memmove(findings, rest, strlen(rest) + 1);
  memmove(text, second, strlen(second) + 1);
}

TEST(text_is_as_golden) {
  char *gpu = text_of_journal("tests/data/report_gpu.jsonl", report_write_text);
  char *cpu = text_of_journal("tests/data/report_cpu.jsonl", report_write_text);
  cut_text(gpu);
  cut_text(cpu);
  compare_golden("tests/data/report_gpu.txt", gpu);
  compare_golden("tests/data/report_cpu.txt", cpu);
  free(gpu);
  free(cpu);
}

TEST(text_says_why_a_time_is_doubtful) {
  static const struct {
    uint32_t n;
    enum stats_stop stop;
    const char *says;
  } cases[] = {
      {5, STATS_STOP_BUDGET, " with a wide interval, from 5 samples or more, stopped by the time budget\n"},
      {600, STATS_STOP_SAMPLES, " with a wide interval, from 600 samples or more, stopped by the sample limit\n"},
      {6, STATS_STOP_INTERVAL, " with times that still drifted, from 6 samples or more\n"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct built built;
    build("tests/data/report_cpu.jsonl", &built);
    for (size_t row = 0; row < built.report.row_count; ++row) {
      for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
        record_of(&built, row)->time[mode].us.n = cases[i].n;
        record_of(&built, row)->time[mode].stop = cases[i].stop;
        record_of(&built, row)->time[mode].settled = cases[i].stop != STATS_STOP_INTERVAL;
      }
    }
    char *text = text_of(&built.report, report_write_text);
    assert_non_null(strstr(text, cases[i].says));
    free(text);
    discard(&built);
  }
}

TEST(text_says_where_processes_do_not_agree) {
  struct built built;
  build("tests/data/report_cpu.jsonl", &built);
  for (size_t i = 0; i < built.report.row_count * TIME_MODE_COUNT; ++i) {
    struct time_record *time = &record_of(&built, i / TIME_MODE_COUNT)->time[i % TIME_MODE_COUNT];
    time->stop = STATS_STOP_INTERVAL;
    time->settled = false;
    time->settled_alone = true;
  }
  char *text = text_of(&built.report, report_write_text);
  assert_non_null(strstr(text, " with medians that differ from process to process, from "));
  free(text);
  discard(&built);
}

TEST(few_slow_samples_of_a_narrow_interval_are_no_doubt) {
  struct built built;
  build("tests/data/report_cpu.jsonl", &built);
  for (size_t i = 0; i < built.report.row_count * TIME_MODE_COUNT; ++i) {
    struct time_record *time = &record_of(&built, i / TIME_MODE_COUNT)->time[i % TIME_MODE_COUNT];
    time->us.n = 6;
    time->stop = STATS_STOP_INTERVAL;
    time->settled = true;
  }
  char *text = text_of(&built.report, report_write_text);
  assert_null(strstr(text, "\n* "));
  free(text);
  discard(&built);
}

TEST(the_events_in_cold_times_are_shown) {
  struct built built;
  build("tests/data/report_gpu.jsonl", &built);
  char *text = text_of(&built.report, report_write_text), *json = text_of(&built.report, report_write_json);
  const struct report_row *row = &built.report.rows[0];
  assert_true(built.journal.event_overhead_us > 0 && row->record->time[TIME_COLD].done);
  assert_true(row->cold_net_us == row->record->time[TIME_COLD].us.median - built.journal.event_overhead_us);
  assert_non_null(strstr(text, "events    cold times include "));
  assert_non_null(strstr(json, "\"cold_net_us\""));
  free(text);
  free(json);
  discard(&built);
}

static void count_gpu_time(struct record *record, double us, const char *cache) {
  counter_record_start(&record->counters);
  record->counters.done = true;
  record->counters.pass_count = record->counters.launches = 1;
  snprintf(record->counters.source, sizeof record->counters.source, "ncu 2025.3.1");
  snprintf(record->counters.cache, sizeof record->counters.cache, "%s", cache);
  record->counters.pass[0].values.gpu_time_us = us;
}

/* 12 us against 8 us: only if one profiler took both in one way. */
TEST(kernels_alone_are_compared_where_both_were_counted) {
  static const struct {
    bool has_reference;
    const char *cache;
    double ratio;
  } cases[] = {{true, "hot", 1.5}, {true, "cold", NAN}, {false, "hot", NAN}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    struct built built;
    build("tests/data/report_gpu.jsonl", &built);
    report_free(&built.report);
    struct record *row = NULL, *reference = NULL;
    for (size_t i = 0; i < built.journal.record_count; ++i) {
      struct record *record = &built.journal.records[i];
      if (row == NULL && record->status == CELL_ok)
        row = record;
      else if (row != NULL && reference == NULL && record->status == CELL_ok)
        reference = record;
    }
    /* The second row becomes the reference of the first one's case. */
    row->speedup = (struct speedup_record){.reference = "cudnn", .mode[TIME_HOT] = {.done = true, .ratio = 1.2}};
    reference->attn_case = row->attn_case;
    snprintf(reference->variant, sizeof reference->variant, "cudnn");
    count_gpu_time(row, 8, "hot");
    if (cases[c].has_reference) count_gpu_time(reference, 12, cases[c].cache);
    assert_ok(report_build(&built.journal, &built.report));
    const double ratio = built.report.rows[row - built.journal.records].kernel_ratio;
    char *text = text_of(&built.report, report_write_text), *json = text_of(&built.report, report_write_json);
    assert_true(isnan(cases[c].ratio) ? isnan(ratio) : ratio == cases[c].ratio);
    assert_true((strstr(text, "  kernel\n") != NULL) == !isnan(ratio));
    assert_true((strstr(json, "\"kernel_speedup_ratio\":\t1.5") != NULL) == !isnan(ratio));
    free(text);
    free(json);
    discard(&built);
  }
}

/* Two rows of one case, of which the second becomes the reference; the first has the shorter median. */
TEST(the_ratio_in_turns_decides_against_the_reference) {
  static const struct {
    double ratio, low, high;
    const char *text;
  } cases[] = {
      {1.2, 1.19, 1.21, "fastest: split_kv:splits=4; faster than cudnn in 1 of 1 (1.20x)\n"},
      {1.0, 0.99, 1.01, "fastest: split_kv:splits=4; the best other variant is as fast as cudnn in 1 of 1 (1.00x)\n"},
      {0.9, 0.89, 0.91, "fastest: cudnn; the best other variant is slower than cudnn in 1 of 1 (0.90x)\n"}};
  struct built built;
  build("tests/data/report_gpu.jsonl", &built);
  struct record *reference = &built.journal.records[0], *row = &built.journal.records[1];
  built.journal.record_count = 2;
  snprintf(reference->variant, sizeof reference->variant, "cudnn");
  reference->speedup = (struct speedup_record){.reason = ""};
  assert_true(row->time[TIME_HOT].us.median < reference->time[TIME_HOT].us.median);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[FASTEST_TEXT_MAX];
    row->speedup = (struct speedup_record){.reference = "cudnn"};
    row->speedup.mode[TIME_HOT] = (struct ratio_record){
        .done = true, .ratio = cases[i].ratio, .ci_low = cases[i].low, .ci_high = cases[i].high};
    report_free(&built.report);
    assert_ok(report_build(&built.journal, &built.report));
    assert_ok(fastest_text(&built.report, text));
    text_append(text, sizeof text, "\n");
    assert_string_equal(text, cases[i].text);
    assert_true(built.report.rows[cases[i].ratio < 0.95 ? 0 : 1].is_fastest);
  }
  discard(&built);
}

/* Two rows of one case beside their reference: the one with the longer median had the higher ratio in turns. */
TEST(the_ratio_in_turns_decides_between_two_rows_of_one_reference) {
  struct built built;
  build("tests/data/report_gpu.jsonl", &built);
  struct record *reference = &built.journal.records[0], *slower = &built.journal.records[1],
                *faster = &built.journal.records[2];
  built.journal.record_count = 3;
  *slower = *faster = *reference;
  snprintf(reference->variant, sizeof reference->variant, "cudnn");
  snprintf(faster->variant, sizeof faster->variant, "first");
  snprintf(slower->variant, sizeof slower->variant, "second");
  reference->speedup = (struct speedup_record){.reason = ""};
  slower->time[TIME_HOT].us.median *= 0.99;
  struct record *const rows[] = {slower, faster};
  for (size_t i = 0; i < 2; ++i) {
    rows[i]->speedup = (struct speedup_record){.reference = "cudnn"};
    rows[i]->speedup.mode[TIME_HOT] =
        (struct ratio_record){.done = true, .ratio = 1.2 + 0.1 * (double)i, .ci_low = 1.1, .ci_high = 1.4};
  }
  for (size_t without = 0; without < 2; ++without) {
    slower->speedup.mode[TIME_HOT].done = without == 0; /* one row without a ratio: medians decide */
    report_free(&built.report);
    assert_ok(report_build(&built.journal, &built.report));
    assert_int_equal(built.report.rows[2].is_fastest, without == 0);
    assert_int_equal(built.report.rows[1].is_fastest, without == 1);
  }
  discard(&built);
}

TEST(a_case_of_one_variant_is_told_apart) {
  struct built built;
  char text[FASTEST_TEXT_MAX];
  build("tests/data/report_gpu.jsonl", &built);
  report_free(&built.report);
  built.journal.records[4].status = CELL_ok;
  built.journal.records[5].status = CELL_left_out;
  built.journal.records[3].status = CELL_left_out;
  built.journal.records[4].time[TIME_HOT] = built.journal.records[1].time[TIME_HOT];
  assert_ok(report_build(&built.journal, &built.report));
  assert_ok(fastest_text(&built.report, text));
  assert_string_equal(text, "fastest: split_kv:splits=4; split_kv:splits=4 alone in 1 more");
  discard(&built);
}

TEST(text_names_the_worst_finding_first_and_folds_cases) {
  char *text = text_of_journal("tests/data/report_gpu.jsonl", report_write_text);
  const char *findings = strstr(text, "findings, most time first\n");
  assert_non_null(findings);
  assert_non_null(strstr(
      findings, "severe   serial: grid_misses_bh at B8.H16.Hkv16.Sq512.Skv512.D64.f16.full (worst of 2 cases)\n"));
  const char *severe = strstr(findings, "\nsevere "), *warning = strstr(findings, "\nwarning "),
             *note = strstr(findings, "\nnote ");
  assert_true(severe != NULL && warning != NULL && severe < warning);
  assert_true(note == NULL || warning < note);
  free(text);
}

TEST(text_lines_fit_and_carry_no_control_bytes) {
  static const char *const journals[] = {"tests/data/report_gpu.jsonl", "tests/data/report_cpu.jsonl"};
  for (size_t i = 0; i < 2; ++i) {
    char *text = text_of_journal(journals[i], report_write_text);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
      if (strlen(line) > TEXT_WIDTH) fail_msg("too wide: %s", line);
      for (const char *c = line; *c != '\0'; ++c) assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
      assert_int_not_equal(line[strlen(line) - 1], ' ');
    }
    free(text);
  }
}

/* ---- reading back -------------------------------------------------------------------------------------------- */

/* Whatever is derived is derived again, so a report that is read and written is the same bytes. */
TEST(a_report_read_back_is_the_same_report) {
  static const char *const journals[] = {"tests/data/report_gpu.jsonl", "tests/data/report_cpu.jsonl"};
  for (size_t i = 0; i < 2; ++i) {
    struct json_doc doc;
    struct built built, again;
    build(journals[i], &built);
    report_free(&built.report);
    if (i == 0)
      built.journal.records[0].time[TIME_HOT].throttle_reasons = 1u << 2 | 1u << 5; /* names in the report */
    snprintf(built.journal.run.filter, sizeof built.journal.run.filter, "B=1 H=8");
    assert_ok(report_build(&built.journal, &built.report));
    char *first = text_of(&built.report, report_write_json);
    discard(&built);
    assert_int_equal(strstr(first, "[\"sw_power_cap\", \"sw_thermal_slowdown\"]") != NULL, i == 0);
    assert_ok(json_parse("report", first, strlen(first), &doc));
    assert_ok(report_read(&doc, &again.journal));
    json_free(&doc);
    assert_ok(report_build(&again.journal, &again.report));
    char *second = text_of(&again.report, report_write_json);
    assert_string_equal(first, second);
    discard(&again);
    free(first);
    free(second);
  }
}

static void replace_once(char *text, const char *from, const char *to) {
  char *at = strstr(text, from);
  assert_non_null(at);
  assert_int_equal(strlen(from), strlen(to));
  memcpy(at, to, strlen(to));
}

TEST(bytes_that_a_report_does_not_know_are_none) {
  struct json_doc doc;
  struct journal_data journal;
  struct built built;
  build("tests/data/report_gpu.jsonl", &built);
  report_free(&built.report);
  built.journal.records[0].pass[0].facts.static_smem_bytes = 1024;
  assert_ok(report_build(&built.journal, &built.report));
  char *text = text_of(&built.report, report_write_json);
  discard(&built);
  replace_once(text, "\"static_smem_bytes\":\t1024", "\"static_smem_bytes\":\tnull");
  assert_ok(json_parse("r.json", text, strlen(text), &doc));
  assert_ok(report_read(&doc, &journal));
  assert_true(journal.records[0].pass[0].facts.registers > 0);
  assert_int_equal(journal.records[0].pass[0].facts.static_smem_bytes, 0);
  json_free(&doc);
  journal_free(&journal);
  free(text);
}

static void fill_processes(struct process_record *process, uint32_t count, double us) {
  process->count = count;
  for (uint32_t i = 0; i < count; ++i) {
    process->median_us[i] = us * (1 + i / 3.0);
    process->sm_clock_mhz[i] = i == 1 ? (double)NAN : 1980.0 / (i + 3);
    process->throttle_reasons[i] = i == 0 ? 1u << 2 | 1u << 5 : 0;
  }
}

TEST(several_processes_a_policy_and_quick_survive_bit_for_bit) {
  struct json_doc doc;
  struct built built, again;
  build("tests/data/report_gpu.jsonl", &built);
  report_free(&built.report);
  struct record *record = &built.journal.records[0];
  fill_processes(&record->process[TIME_COLD], PROCESSES_MAX, record->time[TIME_COLD].us.median);
  fill_processes(&record->process[TIME_HOT], PROCESSES_MAX, record->time[TIME_HOT].us.median);
  record->time[TIME_STEADY] = record->time[TIME_HOT];
  record->time[TIME_STEADY].energy_j = 2100.0 / 7;
  record->time[TIME_STEADY].power_w = 2100.0 / 7 / record->time[TIME_STEADY].elapsed_s;
  record->wall_s += record->time[TIME_STEADY].warmup_s + record->time[TIME_STEADY].elapsed_s;
  fill_processes(&record->process[TIME_STEADY], PROCESSES_MAX, record->time[TIME_STEADY].us.median);
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    record->process[mode].sm_clock_mhz[0] = record->time[mode].sm_clock_mhz;
    record->process[mode].throttle_reasons[0] = record->time[mode].throttle_reasons;
    record->process[mode].throttle_reasons[1] = 1u << 2 | 1u << 5;
  }
  process_settle(record);
  snprintf(built.journal.state, sizeof built.journal.state, "partial"); /* the other cells have one process */
  built.journal.run.quick = true;
  built.journal.policy = (struct device_policy){.known = true,
                                                .mig = "off",
                                                .power_limit_w = 2100.0 / 3,
                                                .idle_power_w = 500.0 / 3,
                                                .application_sm_clock_mhz = NAN,
                                                .host_kernel = "Linux \"6\""};
  assert_ok(report_build(&built.journal, &built.report));
  char *first = text_of(&built.report, report_write_json);
  assert_ok(json_parse("report", first, strlen(first), &doc));
  assert_ok(report_read(&doc, &again.journal));
  json_free(&doc);
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    const struct process_record *a = &record->process[mode], *b = &again.journal.records[0].process[mode];
    assert_int_equal(b->count, a->count);
    assert_memory_equal(b->median_us, a->median_us, a->count * sizeof *a->median_us);
    assert_memory_equal(b->throttle_reasons, a->throttle_reasons, a->count * sizeof *a->throttle_reasons);
    assert_true(b->sm_clock_mhz[0] == a->sm_clock_mhz[0] && isnan(b->sm_clock_mhz[1]));
  }
  assert_true(again.journal.records[0].time[TIME_STEADY].energy_j == 2100.0 / 7);
  assert_true(again.journal.policy.idle_power_w == 500.0 / 3);
  assert_int_equal(again.journal.records[1].process[TIME_HOT].count, 0);
  assert_true(again.journal.run.quick && again.journal.policy.known);
  assert_true(again.journal.policy.power_limit_w == 700.0 && isnan(again.journal.policy.application_sm_clock_mhz));
  assert_string_equal(again.journal.policy.mig, "off");
  assert_string_equal(again.journal.policy.ecc, "");
  assert_string_equal(again.journal.policy.host_kernel, "Linux \"6\"");
  assert_ok(report_build(&again.journal, &again.report));
  char *second = text_of(&again.report, report_write_json);
  assert_string_equal(first, second);
  discard(&again);
  discard(&built);
  free(first);
  free(second);
}

TEST(a_card_that_had_just_worked_was_not_idle) {
  struct journal_data journal = {.policy = {.known = true, .power_limit_w = 700, .idle_power_w = 83}};
  assert_true(report_idle_power_w(&journal) == 83);
  journal.policy.idle_power_w = 232;
  assert_true(isnan(report_idle_power_w(&journal)));
  journal.policy.power_limit_w = NAN;
  assert_true(report_idle_power_w(&journal) == 232);
  journal.policy.idle_power_w = NAN;
  assert_true(isnan(report_idle_power_w(&journal)));
}

/* Seven processes of 10 to 30 us: the interval is the first to the seventh, and holds with 1 - 2/128. */
TEST(intervals_between_processes_come_from_their_medians) {
  struct built built;
  struct json_doc doc;
  build("tests/data/report_gpu.jsonl", &built);
  char *one = text_of(&built.report, report_write_text);
  report_free(&built.report);
  fill_processes(&built.journal.records[0].process[TIME_HOT], 7, 10);
  assert_ok(report_build(&built.journal, &built.report));
  char *several = text_of(&built.report, report_write_text), *json = text_of(&built.report, report_write_json);
  assert_non_null(strstr(one, "one process measured: its intervals hold within it"));
  assert_null(strstr(several, "one process measured"));
  assert_non_null(
      strstr(several, "7 processes measured, the first is shown; medians over them hold to 50 % or better"));
  assert_ok(json_parse("report", json, strlen(json), &doc));
  const cJSON *results = json_get(doc.root, "results"), *between = json_get(results->child, "between_processes");
  const cJSON *hot = json_get(between, "hot");
  assert_true(cJSON_IsNull(json_get(between, "cold")));
  assert_true(json_get(hot, "median_us")->valuedouble == 20);
  assert_true(json_get(hot, "ci_low_us")->valuedouble == 10 && json_get(hot, "ci_high_us")->valuedouble == 30);
  assert_true(json_get(hot, "confidence_ratio")->valuedouble == 1 - 2.0 / 128);
  assert_null(json_get(results->child->next, "between_processes"));
  json_free(&doc);
  free(one);
  free(several);
  free(json);
  discard(&built);
}

TEST(a_row_of_one_process_has_no_processes_and_a_failed_one_neither) {
  struct built built;
  char *plain = text_of_journal("tests/data/report_gpu.jsonl", report_write_json);
  assert_null(strstr(plain, "\"processes\""));
  assert_null(strstr(plain, "\"policy\""));
  assert_null(strstr(plain, "\"quick\""));
  free(plain);
  build("tests/data/report_gpu.jsonl", &built);
  report_free(&built.report);
  fill_processes(&built.journal.records[0].process[TIME_HOT], 5, 1.5);
  built.journal.records[0].status = CELL_wrong;
  snprintf(built.journal.records[0].reason, RECORD_REASON_MAX, "round 4: wrong");
  assert_ok(report_build(&built.journal, &built.report));
  char *text = text_of(&built.report, report_write_json);
  assert_null(strstr(text, "\"processes\""));
  free(text);
  discard(&built);
}

TEST(processes_that_cannot_be_are_refused) {
  static const struct {
    const char *from, *to, *message;
  } cases[] = {{"\"count\":\t5", "\"count\":\t4", "must be an array of 4 values"},
               {"\"count\":\t5", "\"count\":\t0", "count"},
               {"\"median_us\":\t[1.5,", "\"median_us\":\t[\"1\",", "must be a number"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct json_doc doc;
    struct journal_data journal;
    struct built built;
    build("tests/data/report_gpu.jsonl", &built);
    report_free(&built.report);
    fill_processes(&built.journal.records[0].process[TIME_HOT], 5, 1.5);
    assert_ok(report_build(&built.journal, &built.report));
    char *text = text_of(&built.report, report_write_json);
    discard(&built);
    replace_once(text, cases[i].from, cases[i].to);
    assert_ok(json_parse("r.json", text, strlen(text), &doc));
    const struct status status = report_read(&doc, &journal);
    assert_int_equal(status.code, STATUS_INPUT);
    if (strstr(status.text, cases[i].message) == NULL) fail_msg("%s", status.text);
    json_free(&doc);
    free(text);
  }
}

TEST(a_damaged_report_is_refused_with_its_place) {
  static const struct {
    const char *from, *to, *message;
  } cases[] = {{"\"D\":\t64", "\"D\":\t65", "does not name its shape"},
               {"\"variant\"", "\"varianz\"", "has no \"variant\""},
               {"\"axis_covers\":\t[\"Q\"", "\"axis_covers\":\t[\"X\"", "give a product of B*H*Q*split"},
               {"\"status\":\t\"ok\"", "\"status\":\t\"no\"", "must be one of: ok, wrong"},
               {"\"launches\"", "\"launched\"", "has no \"launches\""},
               {"\"results\"", "\"resultz\"", "has no array \"results\""},
               {"\"sweep\"", "\"sweet\"", "has no \"sweep\""},
               {"\"sms\":\t132", "\"sms\":\t-32", "sms"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct json_doc doc;
    struct journal_data journal;
    char *text = text_of_journal("tests/data/report_gpu.jsonl", report_write_json);
    replace_once(text, cases[i].from, cases[i].to);
    assert_ok(json_parse("r.json", text, strlen(text), &doc));
    const struct status status = report_read(&doc, &journal);
    assert_int_equal(status.code, STATUS_INPUT);
    if (strstr(status.text, cases[i].message) == NULL) fail_msg("%s", status.text);
    assert_non_null(strstr(status.text, "r.json:"));
    json_free(&doc);
    free(text);
  }
}

/* Members of a check lay in one object `compare` in older files: it is offered once. */
TEST(an_unknown_key_is_told_the_others_once) {
  struct json_doc doc;
  struct journal_data journal;
  char *text = text_of_journal("tests/data/report_gpu.jsonl", report_write_json);
  replace_once(text, "\"right\":", "\"zqxzq\":");
  assert_ok(json_parse("r.json", text, strlen(text), &doc));
  const struct status status = report_read(&doc, &journal);
  assert_int_equal(status.code, STATUS_INPUT);
  assert_non_null(strstr(status.text, "zqxzq is not a key known here"));
  const char *first = strstr(status.text, " compare,");
  assert_non_null(first);
  assert_null(strstr(first + 1, " compare,"));
  json_free(&doc);
  free(text);
}

TEST(hostile_text_is_quoted_and_defused_in_csv) {
  static const struct {
    const char *reason, *cell;
  } cases[] = {{"=1+1", ",'=1+1,"},
               {"+1", ",'+1,"},
               {"-1", ",'-1,"},
               {"@x", ",'@x,"},
               {"\tx", ",' x,"},
               {"\rx", ",' x,"},
               {"a,b", ",\"a,b\","},
               {"a\nb\xc2\x9b", ",a b\xef\xbf\xbd,"},
               {"::x", ",\"::x\","},
               {"##[x", ",## [x,"},
               {"say \"hi\"", ",\"say \"\"hi\"\"\","},
               {"=\"a\"", ",\"'=\"\"a\"\"\","},
               {"plain - text", ",plain - text,"}};
  struct built built;
  build("tests/data/report_gpu.jsonl", &built);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct record *record = record_of(&built, 2);
    snprintf(record->reason, sizeof record->reason, "%s", cases[i].reason);
    char *text = text_of(&built.report, report_write_csv);
    if (strstr(text, cases[i].cell) == NULL) fail_msg("%s is not in:\n%s", cases[i].cell, text);
    free(text);
  }
  discard(&built);
}

/* Splits by RFC 4180; returns the number of fields of the row and moves *at past its CRLF. */
static size_t csv_fields(const char **at) {
  size_t fields = 1;
  bool quoted = false;
  for (const char *c = *at;; ++c) {
    assert_int_not_equal(*c, '\0');
    if (*c == '"') quoted = !quoted;
    if (quoted) continue;
    fields += *c == ',';
    if (c[0] != '\r' || c[1] != '\n') continue;
    *at = c + 2;
    return fields;
  }
}

TEST(csv_has_one_row_per_cell_and_mode) {
  char *text = text_of_journal("tests/data/report_gpu.jsonl", report_write_csv);
  const char *at = text;
  const size_t columns = csv_fields(&at);
  size_t rows = 0;
  for (; *at != '\0'; ++rows) assert_int_equal(csv_fields(&at), columns);
  assert_int_equal(rows, 7 * 2); /* a steady row of cells that have such a time alone */
  free(text);
}

/* Findings are worded when the report is built; what is under test here are the sinks. */
TEST(a_comma_locale_changes_no_report) {
  static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  writer *const writers[] = {report_write_json, report_write_csv, report_write_text};
  struct built built;
  const char *set = NULL;
  char *plain[3], *under_locale[3];
  build("tests/data/report_gpu.jsonl", &built);
  for (size_t i = 0; i < 3; ++i) plain[i] = text_of(&built.report, writers[i]);
  for (size_t i = 0; i < sizeof locales / sizeof *locales && set == NULL; ++i) set = setlocale(LC_ALL, locales[i]);
  for (size_t i = 0; i < 3; ++i) under_locale[i] = text_of(&built.report, writers[i]);
  setlocale(LC_ALL, "C");
  for (size_t i = 0; i < 3; ++i) {
    assert_string_equal(plain[i], under_locale[i]);
    free(plain[i]);
    free(under_locale[i]);
  }
  discard(&built);
  if (set == NULL) skip(); /* no such locale here */
}

TEST(units_read_well) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0.000"},       {1, "1.000"},         {12.345, "12.35"},  {1234.5, "1234"},
               {123456, "123456"}, {0.01234, "0.01234"}, {NAN, "-"},         {INFINITY, "-"},
               {-2.5, "-2.500"},   {1e30, "1.00e+30"},   {9.9999, "10.000"}, {1e-12, "0.000000000"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[UNITS_TEXT_MAX];
    units_format(cases[i].value, text);
    assert_string_equal(text, cases[i].text);
  }
}

/* ---- saving -------------------------------------------------------------------------------------------------- */

static char folder[PATH_MAX], target[PATH_MAX + 16];

static int make_folder(void **state) {
  (void)state;
  scratch_name(folder);
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(target, sizeof target, "%s/out.json", folder);
  return 0;
}

/* Fails when anything but the target was left behind. */
static int remove_folder(void **state) {
  (void)state;
  unlink(target);
  return rmdir(folder);
}

static void assert_content(const char *path, const char *expected) {
  char *text;
  size_t length;
  assert_ok(json_read_file(path, GOLDEN_BYTES_MAX, &text, &length));
  assert_string_equal(text, expected);
  free(text);
}

static struct status write_word(const struct report *report, FILE *file) {
  (void)report;
  fputs("word", file);
  return status_ok();
}

static struct status write_and_fail(const struct report *report, FILE *file) {
  (void)report;
  fputs("half", file);
  return status_make(STATUS_MEMORY, "no memory");
}

TEST_WITH(saving_replaces_the_whole_file, make_folder, remove_folder) {
  struct stat info;
  const mode_t mask = umask(027);
  assert_ok(report_save(NULL, target, write_word));
  umask(mask);
  assert_content(target, "word");
  assert_int_equal(stat(target, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
}

TEST_WITH(a_failed_writer_leaves_the_old_file, make_folder, remove_folder) {
  assert_ok(report_save(NULL, target, write_word));
  assert_int_equal(report_save(NULL, target, write_and_fail).code, STATUS_MEMORY);
  assert_content(target, "word");
}

TEST_WITH(a_symbolic_link_stays_one, make_folder, remove_folder) {
  char link_path[PATH_MAX + 16];
  struct stat info;
  snprintf(link_path, sizeof link_path, "%s/link", folder);
  assert_ok(report_save(NULL, target, write_word));
  assert_int_equal(symlink(target, link_path), 0);
  assert_ok(report_save(NULL, link_path, write_word));
  assert_int_equal(lstat(link_path, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  unlink(link_path);
}

TEST_WITH(outputs_that_cannot_be_written_are_refused, make_folder, remove_folder) {
  char missing[PATH_MAX + 16];
  snprintf(missing, sizeof missing, "%s/none/out.json", folder);
  const struct {
    const char *path, *says;
  } cases[] = {{missing, "does not exist"}, {folder, "is a directory"}, {"", "empty"}, {"/proc/out.json", "/proc"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const struct status probed = report_probe(cases[i].path, "--json"),
                        saved = report_save(NULL, cases[i].path, write_word);
    assert_int_equal(probed.code, STATUS_OUTPUT);
    assert_int_equal(saved.code, STATUS_OUTPUT);
    if (strstr(probed.text, cases[i].says) == NULL)
      fail_msg("\"%s\" does not say \"%s\"", probed.text, cases[i].says);
    assert_non_null(strstr(probed.text, "--json"));
  }
}

TEST_WITH(probing_leaves_nothing_and_touches_nothing, make_folder, remove_folder) {
  assert_ok(report_probe(target, "--json"));
  assert_int_equal(access(target, F_OK), -1);
  assert_ok(report_save(NULL, target, write_word));
  assert_ok(report_probe(target, "--json"));
  assert_content(target, "word");
  assert_ok(report_probe("-", "--json"));
}

TEST_WITH(a_full_device_is_an_output_failure, make_folder, remove_folder) {
  if (access("/dev/full", W_OK) != 0) skip();
  const struct status status = report_save(NULL, "/dev/full", write_word);
  assert_int_equal(status.code, STATUS_OUTPUT);
  assert_non_null(strstr(status.text, "No space left"));
  assert_ok(report_save(NULL, "/dev/null", write_word));
}

TEST(a_grid_axis_names_all_that_it_covers) {
  static const struct {
    unsigned covers;
    const char *text;
  } rows[] = {{ATTN_COVERS_NOTHING, "-"},
              {ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q, "B*H*Q"},
              {ATTN_COVERS_Q | ATTN_COVERS_D, "Q*D"},
              {31, "B*H*Q*split*D"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char text[FIELDS_SET_TEXT_MAX];
    fields_set_text(rows[i].covers, attn_cover_name, text);
    assert_string_equal(text, rows[i].text);
  }
}
