/* Counter files into a report's rows, and back out of the report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/journal.h"
#include "cli/report/report.h"
#include "tests/unit.h"
#include "tests/unit_golden.h"

/* Has rows of one pass and of two. */
#define REPORT "tests/data/report_gpu.jsonl"
#define HEAD \
  "{\"schema\": \"attnbench.counters/1\", \"source\": \"ncu 2025.3.1\", \"cache\": \"cold\", \"launches\": 2, "

static struct journal_data journal;
static struct record *one, *two; /* rows of one and of two passes that are ok */

static int load(void **state) {
  (void)state;
  const struct status status = journal_load(REPORT, &journal);
  one = two = NULL;
  for (size_t i = 0; i < journal.record_count; ++i) {
    struct record *record = &journal.records[i];
    if (record->status != CELL_ok) continue;
    if (one == NULL && record->plan.pass_count == 1) one = record;
    if (two == NULL && record->plan.pass_count == 2) two = record;
  }
  return status_failed(&status) || one == NULL || two == NULL ? -1 : 0;
}

static int unload(void **state) {
  (void)state;
  journal_free(&journal);
  return 0;
}

/* A pass of the record as the file has it, with `values` after its geometry. */
static void put_pass(const struct record *record, uint32_t pass, const char *values, char *out, size_t size) {
  const uint32_t *g = record->pass[pass].pass.grid, *b = record->pass[pass].pass.block;
  snprintf(out, size, "{\"kernel\": \"k%u\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u]%s}", pass, g[0], g[1],
           g[2], b[0], b[1], b[2], values);
}

static struct status read_text(const char *text) {
  struct json_doc doc;
  struct status status = json_parse("c.json", text, strlen(text), &doc);
  if (status_failed(&status)) return status;
  status = counters_read(&doc, &journal);
  json_free(&doc);
  return status;
}

static struct status read_rows(const char *head, const char *rows) {
  char text[4096];
  snprintf(text, sizeof text, "%s\"rows\": [%s]}", head, rows);
  return read_text(text);
}

static void put_row(const struct record *record, const char *passes, char *out, size_t size) {
  snprintf(out, size, "{\"key\": \"%s\", \"variant\": \"%s\", \"passes\": [%s]}", record->attn_case.key,
           record->variant, passes);
}

static void assert_read(const char *rows) {
  const struct status status = read_rows(HEAD, rows);
  if (status_failed(&status)) fail_msg("%s", status.text);
}

static void assert_refused(struct status status, const char *part) {
  assert_int_equal(status.code, STATUS_INPUT);
  if (strstr(status.text, part) == NULL) fail_msg("\"%s\" does not contain \"%s\"", status.text, part);
}

TEST_WITH(values_reach_their_row, load, unload) {
  char pass[512], row[1024];
  put_pass(one, 0,
           ", \"gpu_time_us\": 11.5, \"l2_hit_ratio\": 0.83, \"local_bytes\": null, "
           "\"top_stall\": {\"name\": \"wait\", \"ratio\": 0.4}",
           pass, sizeof pass);
  put_row(one, pass, row, sizeof row);
  assert_read(row);
  assert_true(one->counters.done);
  assert_false(two->counters.done);
  assert_string_equal(one->counters.source, "ncu 2025.3.1");
  assert_string_equal(one->counters.cache, "cold");
  assert_int_equal(one->counters.launches, 2);
  const struct counter_values total = counter_record_totals(&one->counters);
  assert_true(total.gpu_time_us == 11.5 && total.l2_hit_ratio == 0.83);
  assert_true(isnan(total.local_bytes) && isnan(total.dram_read_bytes));
  assert_string_equal(counter_record_top_stall(&one->counters).name, "wait");
}

TEST_WITH(totals_add_up_and_average_over_passes, load, unload) {
  char passes[2][512], both[1100], row[1500];
  put_pass(two, 0,
           ", \"gpu_time_us\": 30, \"dram_read_bytes\": 100, \"l2_bytes\": 1000, \"l2_hit_ratio\": 0.9, "
           "\"issue_ratio\": 0.8, \"sm_cycles\": 5, \"top_stall\": {\"name\": \"wait\", \"ratio\": 0.4}",
           passes[0], sizeof passes[0]);
  put_pass(two, 1,
           ", \"gpu_time_us\": 10, \"dram_read_bytes\": 50, \"l2_bytes\": 3000, \"l2_hit_ratio\": 0.5, "
           "\"issue_ratio\": 0.4, \"top_stall\": {\"name\": \"drain\", \"ratio\": 0.9}",
           passes[1], sizeof passes[1]);
  snprintf(both, sizeof both, "%s, %s", passes[0], passes[1]);
  put_row(two, both, row, sizeof row);
  assert_read(row);
  const struct counter_values total = counter_record_totals(&two->counters);
  assert_true(total.gpu_time_us == 40 && total.dram_read_bytes == 150 && total.l2_bytes == 4000);
  assert_true(fabs(total.l2_hit_ratio - 0.6) < 1e-12);
  assert_true(fabs(total.issue_ratio - 0.7) < 1e-12);
  assert_true(isnan(total.sm_cycles)); /* one pass does not know it */
  assert_string_equal(counter_record_top_stall(&two->counters).name, "wait");
}

TEST_WITH(what_does_not_belong_to_the_report_is_refused, load, unload) {
  char pass[512], row[1200], twice[2500];
  put_pass(one, 0, "", pass, sizeof pass);
  assert_refused(read_rows(HEAD, "{\"key\": \"B1\", \"variant\": \"x\", \"passes\": []}"),
                 "which the report does not have");
  put_row(two, pass, row, sizeof row);
  assert_refused(read_rows(HEAD, row), "has 1 passes, but");
  put_row(one, "", row, sizeof row);
  assert_refused(read_rows(HEAD, row), "has 0 passes, but");
  put_row(one, pass, row, sizeof row);
  snprintf(twice, sizeof twice, "%s, %s", row, row);
  assert_refused(read_rows(HEAD, twice), "appears twice");
  for (size_t i = 0; i < journal.record_count; ++i) {
    if (journal.records[i].status != CELL_skipped) continue;
    put_row(&journal.records[i], "", row, sizeof row);
    assert_refused(read_rows(HEAD, row), "whose status is skipped");
  }
  put_row(one, "{\"kernel\": null, \"grid\": [1, 2, 3], \"block\": [32, 1, 1]}", row, sizeof row);
  assert_refused(read_rows(HEAD, row), "has grid (1,2,3) and block (32,1,1), but the report's pass");
}

TEST_WITH(values_that_no_counter_has_are_refused, load, unload) {
  static const char *const cases[][2] = {
      {", \"l2_hit_ratio\": 83", "divide a percentage by 100"},
      {", \"dram_read_bytes\": -1", "is below 0"},
      {", \"dram_reads\": 1", "dram_read"},
      {", \"issue_ratio\": \"0.5\"", "must be a number or null"},
      {", \"top_stall\": {\"name\": \"wait\"}", "has no \"ratio\""},
      {", \"top_stall\": {\"name\": \"wait\", \"ratio\": 40}", "divide a percentage by 100"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char pass[512], row[1200];
    put_pass(one, 0, cases[i][0], pass, sizeof pass);
    put_row(one, pass, row, sizeof row);
    assert_refused(read_rows(HEAD, row), cases[i][1]);
  }
}

TEST_WITH(files_that_are_no_counter_files_are_refused, load, unload) {
  assert_refused(read_text("{}"), "is not a counter file; its \"schema\" must be \"attnbench.counters/1\"");
  assert_refused(read_text("{\"schema\": \"attnbench.counters/2\"}"), "is not a counter file");
  assert_refused(read_text(HEAD "\"x\": 1}"), "x is not a key known here");
  assert_refused(read_text(HEAD "\"rows\": 1}"), "has no array \"rows\"");
  assert_refused(read_text("{\"schema\": \"attnbench.counters/1\", \"source\": \"s\", \"cache\": \"warm\", "
                           "\"launches\": 1, \"rows\": []}"),
                 "must be \"cold\" or \"hot\"");
  assert_refused(read_text("{\"schema\": \"attnbench.counters/1\", \"source\": \"\", \"cache\": \"hot\", "
                           "\"launches\": 1, \"rows\": []}"),
                 "name the profiler");
  assert_refused(read_text("{\"schema\": \"attnbench.counters/1\", \"source\": \"s\", \"cache\": \"hot\", "
                           "\"launches\": 0, \"rows\": []}"),
                 "launches");
}

static char *json_of(const struct journal_data *data) {
  struct report report;
  struct text_stream stream;
  assert_int_equal(report_build(data, &report).code, STATUS_OK);
  text_open(&stream);
  assert_int_equal(report_write_json(&report, stream.file).code, STATUS_OK);
  report_free(&report);
  return text_close(&stream);
}

TEST_WITH(a_report_with_counters_reads_back_to_itself, load, unload) {
  struct journal_data again;
  struct json_doc doc;
  char pass[512], row[1200];
  put_pass(one, 0,
           ", \"gpu_time_us\": 0.1, \"shared_wavefronts\": 3, \"top_stall\": {\"name\": \"wait\", \"ratio\": 0.3}",
           pass, sizeof pass);
  put_row(one, pass, row, sizeof row);
  assert_read(row);
  char *text = json_of(&journal);
  assert_non_null(strstr(text, "\"counters\""));
  assert_int_equal(json_parse("r.json", text, strlen(text), &doc).code, STATUS_OK);
  const struct status status = report_read(&doc, &again);
  if (status_failed(&status)) fail_msg("%s", status.text);
  char *second = json_of(&again);
  assert_string_equal(text, second);
  json_free(&doc);
  journal_free(&again);
  free(second);
  free(text);
}

TEST_WITH(a_report_without_counters_does_not_mention_them, load, unload) {
  char *text = json_of(&journal);
  assert_null(strstr(text, "\"counters\""));
  free(text);
}
