#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/base/json.h"
#include "cli/gate/power.h"
#include "tests/compare_data.h"
#include "tests/unit_golden.h"

static void assert_ok(struct status status) {
  if (status_failed(&status)) fail_msg("%s", status.text);
}

static void assert_near(double value, double expected, double margin) {
  if (!(fabs(value - expected) <= margin)) fail_msg("%.17g is not within %g of %.17g", value, margin, expected);
}

static uint64_t random_state;
static double uniform(void) {
  uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}
static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

/* Processes of a machine: cell i has a noise of its own, all cells of a process share `drift` times a random walk. */
static struct journal_data evidence(size_t cells, unsigned processes, double sd, double drift) {
  struct journal_data data = data_report(cells);
  double walk = 0;
  random_state = 7;
  for (unsigned process = 0; process < processes; ++process) {
    walk += drift * normal();
    for (size_t i = 0; i < cells; ++i) {
      data_observe(&data.records[i], TIME_HOT, 50 * (1 + sd * normal()) * (1 + walk), 1980);
    }
  }
  return data;
}

static struct compare_power_settings settings(bool paired, uint32_t rounds) {
  struct compare_power_settings out = {
      .compare = compare_defaults(), .rounds = rounds, .suites = 500, .trials = 200, .seed = 1};
  out.compare.paired = paired;
  return out;
}

static struct compare_power measured(const struct journal_data *data, struct compare_power_settings wanted) {
  struct compare_power power;
  assert_ok(power_measure("e.json", data, &wanted, &power));
  return power;
}

/* ---- bounds -------------------------------------------------------------------------------------------------- */

static void the_bound_of_a_rate_is_the_exact_one(void **state) {
  (void)state;
  assert_near(power_upper(0, 100), 1 - pow(0.05, 0.01), 1e-9);
  assert_near(power_upper(1, 20), 0.216106, 1e-5); /* Clopper and Pearson's tables */
  assert_near(power_upper(10, 100), 0.164, 1e-3);
  assert_near(power_upper(20, 20), 1, 0);
  for (uint64_t hits = 0; hits < 50; ++hits) assert_true(power_upper(hits, 50) > (double)hits / 50);
}

/* ---- rates --------------------------------------------------------------------------------------------------- */

static void a_quiet_machine_finds_what_it_should(void **state) {
  (void)state;
  struct journal_data data = evidence(3, 28, 0.002, 0);
  for (unsigned paired = 0; paired < 2; ++paired) {
    struct compare_power power = measured(&data, settings(paired != 0, 7));
    assert_int_equal(power.suites, 500);
    assert_int_equal(power.failed, 0);
    assert_int_equal(power.processes, 28);
    assert_true(power.leftover);
    assert_int_equal(power.row_count, 3);
    assert_true(power.least_3_percent >= 0.99 && power.least_2_percent >= 0.8);
    assert_true(power.least_2_percent <= power.rows[1].found_2_percent);
    for (size_t i = 0; i < 3; ++i) {
      const struct compare_power_row *row = &power.rows[i];
      assert_near(row->median_us, 50, 0.2);
      assert_near(row->spread_ratio, 0.002, 0.001);
      assert_true(row->found_3_percent >= 0.99 && row->found_2_percent >= 0.8);
      /* Around the line, 1.5 %, and certain from the threshold on. */
      assert_true(row->slowdown_80 >= 0.0125 && row->slowdown_80 <= 0.0175);
      assert_true(row->slowdown_99 >= row->slowdown_80 && row->slowdown_99 <= 0.02);
    }
    power_free(&power);
  }
  journal_free(&data);
}

static void a_noisy_machine_is_told_so(void **state) {
  (void)state;
  struct journal_data data = evidence(2, 28, 0.05, 0);
  struct compare_power power = measured(&data, settings(true, 7));
  assert_true(power.undecided > 10);
  assert_true(power.rows[0].inconclusive + power.rows[1].inconclusive > 10);
  assert_true(power.rows[0].found_2_percent < 0.8);
  assert_true(power.rows[0].slowdown_80 > 0.02);
  power_free(&power);
  journal_free(&data);
}

/* The clocks drift from process to process, for all cells alike: neighbours in time still agree. */
static void pairs_do_not_see_a_drift_that_samples_see(void **state) {
  (void)state;
  struct journal_data data = evidence(2, 40, 0.0005, 0.008);
  struct compare_power pairs = measured(&data, settings(true, 7)), samples = measured(&data, settings(false, 7));
  assert_int_equal(pairs.failed + pairs.undecided, 0);
  assert_true(samples.failed + samples.undecided > 0);
  assert_true(pairs.rows[0].slowdown_99 < samples.rows[0].slowdown_99);
  power_free(&pairs);
  power_free(&samples);
  journal_free(&data);
}

static void a_floor_above_the_slowdown_hides_it(void **state) {
  (void)state;
  struct journal_data data = evidence(1, 28, 0.002, 0);
  struct compare_power_settings wanted = settings(true, 7);
  wanted.compare.floor_us[TIME_HOT] = 2.5; /* 5 % of 50 us */
  struct compare_power power = measured(&data, wanted);
  assert_near(power.rows[0].found_3_percent, 0, 0);
  assert_true(power.rows[0].slowdown_99 > 0.045 && power.rows[0].slowdown_99 < 0.06);
  power_free(&power);
  journal_free(&data);
}

static void the_same_evidence_gives_the_same_numbers(void **state) {
  (void)state;
  struct journal_data data = evidence(2, 20, 0.008, 0);
  struct compare_power one = measured(&data, settings(true, 5)), two = measured(&data, settings(true, 5));
  assert_memory_equal(one.rows, two.rows, one.row_count * sizeof *one.rows);
  assert_int_equal(one.undecided, two.undecided);
  power_free(&one);
  power_free(&two);
  journal_free(&data);
}

/* ---- refusals ------------------------------------------------------------------------------------------------ */

static void assert_refused(const struct journal_data *data, uint32_t rounds, const char *says) {
  struct compare_power power;
  const struct compare_power_settings wanted = settings(true, rounds);
  const struct status status = power_measure("e.json", data, &wanted, &power);
  assert_int_equal(status.code, STATUS_NOT_COMPARABLE);
  if (strstr(status.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", status.text, says);
}

static void evidence_that_cannot_carry_it_is_refused(void **state) {
  (void)state;
  struct journal_data data = evidence(2, 13, 0.002, 0);
  assert_refused(&data, 7, "at least 14");
  data.records[1].process[TIME_HOT].count = 12;
  assert_refused(&data, 5, "12 processes and other cells of 13");
  data.records[0].process[TIME_HOT].count = 0;
  assert_refused(&data, 5, "holds one process");
  data.record_count = 0;
  assert_refused(&data, 5, "no times");
  journal_free(&data);
}

static char *text_of(const struct compare_power_report *report,
                     struct status (*write)(const struct compare_power_report *, FILE *)) {
  struct text_stream stream;
  text_open(&stream);
  assert_ok(write(report, stream.file));
  return text_close(&stream);
}

/* Too few processes for a second measurement of their own: said, not hidden. */
static void processes_that_serve_twice_are_told(void **state) {
  (void)state;
  struct journal_data data = evidence(1, 16, 0.002, 0);
  struct compare_power power = measured(&data, settings(true, 7));
  assert_false(power.leftover);
  char *text = text_of(&(struct compare_power_report){.power = &power, .power_count = 1}, power_text_write);
  assert_non_null(strstr(text, "drawn again"));
  free(text);
  power_free(&power);
  journal_free(&data);
}

static void the_json_holds_every_number(void **state) {
  (void)state;
  struct journal_data data = evidence(2, 28, 0.002, 0);
  struct compare_power power[] = {measured(&data, settings(true, 7)), measured(&data, settings(false, 7))};
  struct json_doc doc;
  const struct compare_power_report report = {.evidence = &data, .power = power, .power_count = 2};
  char *text = text_of(&report, power_json_write);
  assert_ok(json_parse("selftest", text, strlen(text), &doc));
  assert_string_equal(json_get(doc.root, "schema")->valuestring, "attnbench.selftest/1");
  assert_int_equal(cJSON_GetArraySize(json_get(doc.root, "suites")), 2);
  assert_int_equal(cJSON_GetArraySize(json_get(doc.root, "cases")), 2);
  const cJSON *row = json_get(doc.root, "cases")->child;
  assert_string_equal(json_get(row, "mode")->valuestring, "hot");
  assert_near(json_get(row, "slowdown_99")->valuedouble, power[0].rows[0].slowdown_99, 0);
  json_free(&doc);
  free(text);
  power_free(&power[0]);
  power_free(&power[1]);
  journal_free(&data);
}

/* A slowdown that could not be put in is told, but is neither found nor missed. */
static void controls_are_told_and_counted(void **state) {
  (void)state;
  struct journal_data data = evidence(2, 28, 0.002, 0);
  struct compare_power power = measured(&data, settings(true, 7));
  const struct compare_power_control controls[] = {
      {"A", "wmma", TIME_HOT, 3, 1.031, 1.029, COMPARE_regressed, "+2.90 %"},
      {"B", "wmma", TIME_HOT, 3, 1.03, 1.004, COMPARE_same, ""},
      {"C", "wmma", TIME_HOT, 3, NAN, NAN, COMPARE_missing, "--inject-slowdown: too short"},
  };
  const struct compare_power_report report = {&data, &power, 1, controls, 3};
  char *text = text_of(&report, power_text_write), *json = text_of(&report, power_json_write);
  struct json_doc doc;
  assert_non_null(strstr(text, "controls: 1 of 2 slowdowns"));
  assert_non_null(strstr(text, "A wmma hot: +3.10 % put in, regressed, seen as +2.90 %"));
  assert_non_null(strstr(text, "B wmma hot: +3.00 % put in, same, seen as +0.40 %"));
  assert_non_null(
      strstr(text, "C wmma hot: could not be put in, so it does not count: --inject-slowdown: too short"));
  assert_ok(json_parse("selftest", json, strlen(json), &doc));
  const cJSON *written = json_get(doc.root, "controls");
  assert_int_equal(cJSON_GetArraySize(written), 3);
  assert_string_equal(json_get(cJSON_GetArrayItem(written, 0), "verdict")->valuestring, "regressed");
  assert_true(cJSON_IsNull(json_get(cJSON_GetArrayItem(written, 1), "reason")));
  assert_true(cJSON_IsNull(json_get(cJSON_GetArrayItem(written, 2), "injected_ratio")));
  json_free(&doc);
  free(text);
  free(json);
  power_free(&power);
  journal_free(&data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_bound_of_a_rate_is_the_exact_one),
      cmocka_unit_test(a_quiet_machine_finds_what_it_should),
      cmocka_unit_test(a_noisy_machine_is_told_so),
      cmocka_unit_test(pairs_do_not_see_a_drift_that_samples_see),
      cmocka_unit_test(a_floor_above_the_slowdown_hides_it),
      cmocka_unit_test(the_same_evidence_gives_the_same_numbers),
      cmocka_unit_test(evidence_that_cannot_carry_it_is_refused),
      cmocka_unit_test(processes_that_serve_twice_are_told),
      cmocka_unit_test(the_json_holds_every_number),
      cmocka_unit_test(controls_are_told_and_counted),
  };
  unsetenv("COLUMNS"); /* the width of golden texts */
  return cmocka_run_group_tests_name("compare_power", tests, NULL, NULL);
}
