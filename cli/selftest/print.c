/* The timer's self-test as text and as JSON. */
#include <inttypes.h>
#include <math.h>

#include "cli/base/json.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/base/version.h"
#include "cli/selftest/selftest.h"

/* ---- text ---------------------------------------------------------------------------------------------------- */

static void cell_check(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", ((const struct selftest_line *)row)->name);
}

static void cell_value(const void *row, char out[TEXT_CELL_MAX]) {
  const struct selftest_line *line = row;
  char text[UNITS_TEXT_MAX];
  units_format_fixed(line->value, 3, text);
  snprintf(out, TEXT_CELL_MAX, "%s", text);
}

static void cell_unit(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", ((const struct selftest_line *)row)->unit);
}

static void cell_bounds(const void *row, char out[TEXT_CELL_MAX]) {
  const struct selftest_line *line = row;
  char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
  units_format(line->low, low);
  units_format(line->high, high);
  if (!isfinite(line->high)) {
    snprintf(out, TEXT_CELL_MAX, "at least %s", low);
  } else {
    snprintf(out, TEXT_CELL_MAX, "%s to %s", low, high);
  }
}

static void cell_verdict(const void *row, char out[TEXT_CELL_MAX]) {
  static const char *const shown[SELFTEST_VERDICT_COUNT] = {"PASS", "FAIL", "unknown"};
  snprintf(out, TEXT_CELL_MAX, "%s", shown[((const struct selftest_line *)row)->verdict]);
}

static void cell_about(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", ((const struct selftest_line *)row)->about);
}

static const struct text_column columns[] = {
    {"check", "", true, 0, 0, cell_check},     {"value", "", false, 0, 0, cell_value},
    {"", "", true, 0, 0, cell_unit},           {"bounds", "", true, 1, 0, cell_bounds},
    {"verdict", "", true, 0, 0, cell_verdict}, {"", "", true, 0, 20, cell_about},
};

struct status selftest_print_text(const struct selftest_report *report, FILE *file) {
  const struct selftest_judgement *judgement = report->judgement;
  const void *rows[SELFTEST_LINES_MAX];
  const uint64_t *count = judgement->verdict_count;
  char sum[160], title[sizeof report->result->device.info.name + 80];
  snprintf(title, sizeof title, "attnbench %s: is the timer of %s to be trusted?", version_string(),
           report->result->device.info.name);
  text_wrap(file, "", 0, title);
  fputc('\n', file);
  for (size_t i = 0; i < judgement->line_count; ++i) rows[i] = &judgement->line[i];
  const struct text_table table = {.columns = columns,
                                   .column_count = sizeof columns / sizeof *columns,
                                   .rows = rows,
                                   .row_count = judgement->line_count};
  const struct text_fit fit = text_table_write(file, &table);
  text_fit_print(file, &fit, "--json");
  text_wrap(file, "\ncold and hot lines: ", 0,
            "time of a launch that spins, less what it wrote down itself, less what a launch costs that does "
            "nothing; within 1 us or 1 % of the truth. xN: launches that a sample averages over");
  snprintf(sum, sizeof sum, "%zu checks: %" PRIu64 " pass, %" PRIu64 " fail, %" PRIu64 " unknown: %s",
           judgement->line_count, count[SELFTEST_PASS], count[SELFTEST_FAIL], count[SELFTEST_UNKNOWN],
           count[SELFTEST_FAIL] == 0 ? "the timer is right" : "the times of this device are not to be trusted");
  text_wrap(file, "", 0, sum);
  return status_ok();
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static void add_line(cJSON *array, const struct selftest_line *line) {
  cJSON *object = json_add_element(array);
  json_add_string(object, "name", line->name);
  json_add_string(object, "unit", line->unit);
  json_add_number(object, "value", line->value);
  json_add_number(object, "low", line->low);
  json_add_number(object, "high", line->high);
  json_add_string(object, "verdict", selftest_verdict_name(line->verdict));
  json_add_string(object, "about", line->about);
}

static void add_tool(cJSON *root) {
  cJSON *tool = cJSON_AddObjectToObject(root, "tool");
  json_add_string(tool, "name", "attnbench");
  json_add_string(tool, "version", version_string());
  json_add_string(tool, "git_commit", version_git_commit());
  json_add_string(tool, "cuda", device_build_cuda());
}

static void add_summary(cJSON *root, const struct selftest_judgement *judgement) {
  cJSON *summary = cJSON_AddObjectToObject(root, "summary");
  for (enum selftest_verdict v = 0; v < SELFTEST_VERDICT_COUNT; ++v) {
    json_add_uint(summary, selftest_verdict_name(v), judgement->verdict_count[v]);
  }
  json_add_uint(summary, "exit_code", judgement->exit_code);
}

struct status selftest_print_json(const struct selftest_report *report, FILE *file) {
  cJSON *root = cJSON_CreateObject();
  json_add_string(root, "schema", SELFTEST_SCHEMA);
  add_tool(root);
  const bool written = fields_write(root, selftest_fields, report->result);
  cJSON *lines = cJSON_AddArrayToObject(root, "lines");
  for (size_t i = 0; i < report->judgement->line_count; ++i) add_line(lines, &report->judgement->line[i]);
  add_summary(root, report->judgement);
  return json_write(root, written && lines != NULL, "the self-test's report", file);
}
