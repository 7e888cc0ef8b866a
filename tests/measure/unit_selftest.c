#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/measure/selftest.h"
#include "kernels/gpu_models.h"
#include "tests/unit.h"
#include "tests/unit_golden.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- a sound device ------------------------------------------------------------------------------------------ */

static void fill_timing(struct selftest_timing *timing, uint32_t launches, double truth_us, double constant_us) {
  *timing = (struct selftest_timing){.launches = launches, .count = SELFTEST_SAMPLES, .constant_us = constant_us};
  for (uint32_t i = 0; i < SELFTEST_SAMPLES; ++i) {
    const double jitter_us = 0.032 * (double)(i % 3) - 0.032; /* an event's step to either side */
    timing->sample[i] = (struct selftest_sample){truth_us + constant_us + jitter_us, truth_us};
  }
}

/* As an H200 measures itself, in round figures. */
static struct selftest_result sound_gpu(void) {
  struct selftest_result r = {.device = {.info = gpu_model_find("h200")->info, .event_overhead_us = 2.88}};
  r.device.info.hides_launches = true;
  r.facts = (struct selftest_facts){.spin_count = SELFTEST_SPINS,
                                    .tick_us = 0.032,
                                    .event_step_us = 0.032,
                                    .event_pair_us = 1.28,
                                    .event_kernel_us = 2.85,
                                    .graph_launch_us = 2.5,
                                    .graph_node_us = 0.53,
                                    .read_bytes = 31e6,
                                    .flushed_us = 13.9,
                                    .unflushed_us = 7.9,
                                    .read_constant_us = 2.85,
                                    .spin_mhz = 1980,
                                    .stamp_mhz = 1979.5,
                                    .nvml_mhz = 1980};
  for (size_t i = 0; i < SELFTEST_SPINS; ++i) {
    r.facts.spin[i].target_us = selftest_spin_us[i];
    fill_timing(&r.facts.spin[i].timing[TIME_COLD], 1, selftest_spin_us[i] + 0.1, 2.88);
    fill_timing(&r.facts.spin[i].timing[TIME_HOT], 10, selftest_spin_us[i] + 0.1, 0.75);
  }
  return r;
}

static const struct selftest_line *line_named(const struct selftest_judgement *judgement, const char *name) {
  for (size_t i = 0; i < judgement->line_count; ++i) {
    if (strcmp(judgement->line[i].name, name) == 0) return &judgement->line[i];
  }
  return NULL;
}

/* Exactly this line fails. */
static void expect_only_failure(const struct selftest_result *r, const char *name) {
  struct selftest_judgement judgement;
  selftest_judge(r, &judgement);
  for (size_t i = 0; i < judgement.line_count; ++i) {
    const struct selftest_line *line = &judgement.line[i];
    const bool failed = line->verdict == SELFTEST_FAIL;
    if (failed != (strcmp(line->name, name) == 0)) fail_msg("%s: %s %g", name, line->name, line->value);
  }
  if (judgement.verdict_count[SELFTEST_FAIL] != 1) fail_msg("%s did not fail", name);
  assert_int_equal(judgement.exit_code, EXIT_CODE_INTERNAL);
}

TEST(a_sound_device_passes_every_line) {
  const struct selftest_result r = sound_gpu();
  struct selftest_judgement judgement;
  selftest_judge(&r, &judgement);
  for (size_t i = 0; i < judgement.line_count; ++i) {
    const struct selftest_line *line = &judgement.line[i];
    if (line->verdict != SELFTEST_PASS) fail_msg("%s: %g", line->name, line->value);
    assert_true(line->about[0] != '\0' && isfinite(line->value));
  }
  assert_int_equal(judgement.line_count, 2 * SELFTEST_SPINS + 11);
  assert_int_equal(judgement.verdict_count[SELFTEST_PASS], judgement.line_count);
  assert_int_equal(judgement.exit_code, EXIT_CODE_OK);
}

/* ---- what a broken timer looks like -------------------------------------------------------------------------- */

static void add_to_time(struct selftest_timing *timing, double us) {
  for (uint32_t i = 0; i < timing->count; ++i) timing->sample[i].time_us += us;
}

TEST(a_spin_fails_beyond_a_microsecond_or_a_percent) {
  static const struct {
    size_t spin;
    enum time_mode mode;
    double off_us;
    const char *fails; /* NULL: passes */
  } rows[] = {
      {0, TIME_COLD, 1.1, "cold 20 us"},
      {0, TIME_COLD, 0.9, NULL},
      {0, TIME_COLD, -1.1, "cold 20 us"},
      {0, TIME_HOT, 1.1, "hot 20 us"},
      {2, TIME_HOT, 0.9, NULL},
      {4, TIME_COLD, 4.9, NULL},
      {4, TIME_COLD, 5.1, "cold 500 us"},
      {8, TIME_HOT, 99, NULL},
      {8, TIME_HOT, 101, "hot 10000 us"},
      {8, TIME_COLD, -99, NULL},
      {8, TIME_COLD, -101, "cold 10000 us"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    struct selftest_result r = sound_gpu();
    struct selftest_judgement judgement;
    add_to_time(&r.facts.spin[rows[i].spin].timing[rows[i].mode], rows[i].off_us);
    selftest_judge(&r, &judgement);
    if (rows[i].fails != NULL) expect_only_failure(&r, rows[i].fails);
    if (rows[i].fails == NULL) assert_int_equal(judgement.exit_code, EXIT_CODE_OK);
  }
}

TEST(each_fact_fails_its_own_line) {
  struct selftest_result r;
  const struct {
    double *fact, value;
    const char *name;
  } rows[] = {
      {&r.facts.tick_us, 0, "timer tick"},
      {&r.facts.tick_us, 2.1, "timer tick"},
      {&r.facts.event_step_us, 1.1, "event step"},
      {&r.facts.event_step_us, (double)INFINITY, "event step"},
      {&r.facts.event_pair_us, 11, "event pair"},
      {&r.facts.event_pair_us, -0.1, "event pair"},
      {&r.facts.event_kernel_us, 3.5, "event constant"},
      {&r.facts.event_kernel_us, 2.2, "event constant"},
      {&r.facts.graph_launch_us, 21, "graph launch"},
      {&r.facts.graph_node_us, 3.1, "graph node"},
      {&r.facts.graph_node_us, -0.1, "graph node"},
      {&r.facts.unflushed_us, 13.5, "flush"},         /* the flush does nothing */
      {&r.facts.unflushed_us, 2.0, "flush"},          /* nonsense: less than an empty kernel */
      {&r.facts.read_bytes, 70e6, "flushed to DRAM"}, /* faster than DRAM can */
      {&r.facts.stamp_mhz, 1900, "clock by stamps"},
      {&r.facts.stamp_mhz, (double)NAN, "clock by stamps"},
      {&r.facts.nvml_mhz, 1755, "clock by NVML"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    r = sound_gpu();
    *rows[i].fact = rows[i].value;
    expect_only_failure(&r, rows[i].name);
  }
  r = sound_gpu();
  r.device.info.hides_launches = false;
  expect_only_failure(&r, "launches hidden");
}

TEST(spins_that_were_not_measured_fail) {
  struct selftest_judgement judgement;
  struct selftest_result r = sound_gpu();
  r.facts.spin[3].timing[TIME_HOT].count = 0;
  expect_only_failure(&r, "hot 200 us");
  r = sound_gpu();
  r.facts.spin_count = 0;
  selftest_judge(&r, &judgement);
  assert_int_equal(judgement.verdict_count[SELFTEST_FAIL], 2);
}

TEST(what_a_machine_need_not_tell_is_unknown) {
  struct selftest_judgement judgement;
  struct selftest_result r = sound_gpu();
  r.facts.nvml_mhz = (double)NAN;
  r.device.info.dram_gb_per_s = 0;
  selftest_judge(&r, &judgement);
  assert_int_equal(judgement.verdict_count[SELFTEST_UNKNOWN], 2);
  assert_int_equal(judgement.exit_code, EXIT_CODE_OK);
  assert_int_equal(line_named(&judgement, "clock by NVML")->verdict, SELFTEST_UNKNOWN);
}

TEST(a_cpu_has_no_lines_of_events_graphs_and_sm_clocks) {
  struct selftest_judgement judgement;
  struct selftest_result r = sound_gpu();
  r.device.info.kind = DEVICE_CPU;
  r.facts.event_step_us = r.facts.stamp_mhz = r.facts.graph_node_us = (double)NAN;
  selftest_judge(&r, &judgement);
  assert_int_equal(judgement.line_count, 2 * SELFTEST_SPINS + 2);
  assert_null(line_named(&judgement, "event step"));
  assert_non_null(line_named(&judgement, "flush"));
  assert_int_equal(judgement.exit_code, EXIT_CODE_OK);
}

/* ---- the residual -------------------------------------------------------------------------------------------- */

TEST(outliers_do_not_move_the_residual) {
  struct selftest_timing timing;
  fill_timing(&timing, 1, 100, 2);
  const double clean_us = selftest_residual_us(&timing);
  for (uint32_t i = 0; i < 7; ++i) timing.sample[4 * i].time_us += 1000;
  assert_true(fabs(selftest_residual_us(&timing) - clean_us) < 0.033);
}

/* A clock of 1 us: the truth of each sample is wrong by up to one tick, their middle by a quarter of one. */
TEST(a_coarse_truth_averages_out) {
  struct selftest_timing timing;
  for (uint32_t tenths = 0; tenths <= 10; ++tenths) {
    fill_timing(&timing, 1, 20 + 0.1 * tenths, 2);
    for (uint32_t i = 0; i < SELFTEST_SAMPLES; ++i) timing.sample[i].truth_us = 3 * i % 10 < tenths ? 21 : 20;
    assert_true(fabs(selftest_residual_us(&timing)) < 0.3);
  }
}

/* ---- lines and files ----------------------------------------------------------------------------------------- */

TEST(a_result_survives_its_line) {
  struct selftest_result r = sound_gpu(), back = {.facts = {.spin_count = 0}};
  r.facts.nvml_mhz = (double)NAN;
  char *line = fields_to_line(selftest_fields, &r);
  assert_non_null(line);
  assert_int_equal(fields_from_line("self-test", line, strlen(line), selftest_fields, &back).code, STATUS_OK);
  assert_int_equal(back.facts.spin_count, SELFTEST_SPINS);
  assert_true(back.facts.spin[8].timing[TIME_HOT].sample[30].time_us ==
              r.facts.spin[8].timing[TIME_HOT].sample[30].time_us);
  assert_true(isnan(back.facts.nvml_mhz) && back.facts.flushed_us == r.facts.flushed_us);
  assert_string_equal(back.device.info.name, r.device.info.name);
  assert_int_equal(fields_from_line("self-test", line, strlen(line) - 1, selftest_fields, &back).code, STATUS_INPUT);
  free(line);
}

static char *written(struct status (*write)(const struct selftest_report *, FILE *),
                     const struct selftest_result *r) {
  struct selftest_judgement judgement;
  const struct selftest_report report = {r, &judgement};
  struct text_stream stream;
  text_open(&stream);
  selftest_judge(r, &judgement);
  assert_int_equal(write(&report, stream.file).code, STATUS_OK);
  return text_close(&stream);
}

TEST(the_table_says_what_failed) {
  struct selftest_result r = sound_gpu();
  char *text = written(selftest_print_text, &r);
  assert_non_null(strstr(text, "29 checks: 29 pass, 0 fail, 0 unknown: the timer is right"));
  assert_null(strstr(text, "FAIL"));
  free(text);
  r.facts.unflushed_us = 13.5;
  text = written(selftest_print_text, &r);
  assert_non_null(strstr(text, "FAIL"));
  assert_non_null(strstr(text, "28 pass, 1 fail, 0 unknown: the times of this device are not to be trusted"));
  free(text);
}

TEST(the_json_holds_lines_facts_and_exit_code) {
  struct selftest_result r = sound_gpu();
  struct json_doc doc;
  r.facts.stamp_mhz = 1900;
  char *text = written(selftest_print_json, &r);
  assert_int_equal(json_parse("selftest", text, strlen(text), &doc).code, STATUS_OK);
  assert_string_equal(json_get(doc.root, "schema")->valuestring, SELFTEST_SCHEMA);
  assert_int_equal(cJSON_GetArraySize(json_get(doc.root, "lines")), 2 * SELFTEST_SPINS + 11);
  assert_int_equal(cJSON_GetArraySize(json_get(json_get(doc.root, "facts"), "spins")), SELFTEST_SPINS);
  assert_true(json_get(json_get(doc.root, "summary"), "fail")->valuedouble == 1);
  assert_true(json_get(json_get(doc.root, "summary"), "exit_code")->valuedouble == EXIT_CODE_INTERNAL);
  json_free(&doc);
  free(text);
}
