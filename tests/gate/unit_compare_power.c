/* tags: asan */
#include "cli/base/json.h"
#include "cli/gate/compare.h"
#include "cli/rates/drawn.h"
#include "cli/rates/power.h"
#include "tests/compare_data.h"
#include "tests/unit.h"
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
    for (size_t i = 0; i < cells; ++i)
      data_observe(&data.records[i], TIME_HOT, 50 * (1 + sd * normal()) * (1 + walk), 1980);
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

TEST(the_bound_of_a_rate_is_the_exact_one) {
  assert_near(power_upper(0, 100), 1 - pow(0.05, 0.01), 1e-9);
  assert_near(power_upper(1, 20), 0.216106, 1e-5); /* Clopper and Pearson's tables */
  assert_near(power_upper(10, 100), 0.164, 1e-3);
  assert_near(power_upper(20, 20), 1, 0);
  for (uint64_t hits = 0; hits < 50; ++hits) assert_true(power_upper(hits, 50) > (double)hits / 50);
}

/* ---- rates --------------------------------------------------------------------------------------------------- */

TEST(a_quiet_machine_finds_what_it_should) {
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

/* The case that is found least, slowed down among all others; the others are as they were measured. */
TEST(a_slowdown_is_asked_of_whole_gates_too) {
  struct journal_data data = evidence(12, 28, 0.002, 0), noisy = evidence(12, 28, 0.02, 0);
  struct compare_power power = measured(&data, settings(true, 7));
  assert_int_equal(power.whole_suites, 200);
  assert_true(power.whole_3_percent >= 0.99 && power.whole_2_percent >= 0.8);
  power_free(&power);
  power = measured(&noisy, settings(true, 7));
  assert_true(power.whole_2_percent < power.least_2_percent); /* many suspects ask for more certainty */
  power_free(&power);
  struct compare_power_settings wanted = settings(true, 7);
  wanted.trials = 0;
  power = measured(&data, wanted);
  assert_true(isnan(power.whole_2_percent) && isnan(power.whole_3_percent));
  power_free(&power);
  journal_free(&data);
  journal_free(&noisy);
}

TEST(only_the_rows_that_are_named_are_slowed_down) {
  struct journal_data data = evidence(12, 28, 0.002, 0);
  struct compare_power_settings wanted = settings(true, 7);
  struct population population;
  struct drawn drawn;
  struct draws draws;
  struct draws_source source = {.paired = true, .processes = 28, .rounds = 7, .random = 3};
  assert_ok(population_open("e.json", &data, &wanted.compare, 7, &population));
  assert_ok(drawn_open(&population, &wanted.compare, population.row_count, &drawn));
  drawn_select(0, population.row_count, &drawn);
  draws_next(&source, &draws);
  for (size_t first = 0; first + 2 <= population.row_count; ++first) {
    drawn_slow(first, 2, &drawn);
    assert_ok(drawn_judge(&draws, 0.1, &drawn));
    for (size_t i = 0; i < population.row_count; ++i) {
      const bool is_slow = i == first || i == first + 1;
      assert_int_equal(drawn.gate.rows[i].verdict, is_slow ? COMPARE_regressed : COMPARE_same);
    }
  }
  drawn_close(&drawn);
  population_close(&population);
  journal_free(&data);
}

TEST(drawn_gates_end_when_they_are_clear) {
  struct journal_data data = evidence(10, 28, 0.002, 0), noisy = evidence(10, 28, 0.02, 0);
  struct compare_power_settings wanted = settings(true, 7);
  wanted.trials = 200;
  struct compare_power power = measured(&data, wanted);
  assert_int_equal(power.pairs, 7 * power.suites);
  power_free(&power);
  wanted.compare.pairs_planned = 7;
  power = measured(&data, wanted);
  assert_true(power.pairs < 4 * power.suites);
  assert_int_equal(power.failed + power.undecided, 0);
  assert_true(power.least_3_percent >= 0.99 && power.least_2_percent >= 0.8);
  power_free(&power);
  power = measured(&noisy, wanted);
  assert_int_equal(power.pairs, 7 * power.suites);
  power_free(&power);
  journal_free(&data);
  journal_free(&noisy);
}

TEST(a_noisy_machine_is_told_so) {
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
TEST(pairs_do_not_see_a_drift_that_samples_see) {
  struct journal_data data = evidence(2, 40, 0.0005, 0.008);
  struct compare_power pairs = measured(&data, settings(true, 7)), samples = measured(&data, settings(false, 7));
  assert_int_equal(pairs.failed + pairs.undecided, 0);
  assert_true(samples.failed + samples.undecided > 0);
  assert_true(pairs.rows[0].slowdown_99 < samples.rows[0].slowdown_99);
  power_free(&pairs);
  power_free(&samples);
  journal_free(&data);
}

TEST(a_floor_above_the_slowdown_hides_it) {
  struct journal_data data = evidence(1, 28, 0.002, 0);
  struct compare_power_settings wanted = settings(true, 7);
  wanted.compare.floor_us[TIME_HOT] = 2.5; /* 5 % of 50 us */
  struct compare_power power = measured(&data, wanted);
  assert_near(power.rows[0].found_3_percent, 0, 0);
  assert_true(power.rows[0].slowdown_99 > 0.045 && power.rows[0].slowdown_99 < 0.06);
  power_free(&power);
  journal_free(&data);
}

TEST(the_same_evidence_gives_the_same_numbers) {
  struct journal_data data = evidence(2, 20, 0.008, 0);
  struct compare_power one = measured(&data, settings(true, 5)), two = measured(&data, settings(true, 5));
  assert_memory_equal(one.rows, two.rows, one.row_count * sizeof *one.rows);
  assert_int_equal(one.undecided, two.undecided);
  power_free(&one);
  power_free(&two);
  journal_free(&data);
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

static char *text_of(const struct compare_power_report *report,
                     struct status (*write)(const struct compare_power_report *, FILE *)) {
  struct text_stream stream;
  text_open(&stream);
  assert_ok(write(report, stream.file));
  return text_close(&stream);
}

/* ---- drawn gates are the comparison ---------------------------------------------------------------------------- */

/* What makes evidence hard to judge; each on rows of its own. */
struct world {
  double sd;
  double slowdown;         /* of the new side, all rows */
  bool paired, has_clocks; /* clocks of all processes, some low with their times */
  unsigned processes, rounds;
  bool has_oddities; /* rows near the floor, impossible times, protected or unknown clocks, unsettled and single
                        samples */
};
enum { CELLS = 24 };

static void make_odd(struct journal_data *data, unsigned processes) {
  for (unsigned i = 0; i < processes; ++i) {
    struct process_record *floor = &data->records[1].process[TIME_HOT], *far = &data->records[2].process[TIME_HOT];
    floor->median_us[i] /= 12;
    if (i == 5) far->median_us[i] /= 11;
    if (i == 3) data->records[3].process[TIME_HOT].throttle_reasons[i] = 0x40;
    if (i % 4 == 2) data->records[4].process[TIME_HOT].sm_clock_mhz[i] = NAN;
    data->records[5].process[TIME_HOT].median_us[i] /= 500; /* below what the shape can take */
    data->records[6].process[TIME_HOT].median_us[i] /= 3000;
    data->records[9].process[TIME_HOT].median_us[i] *= i % 2 == 0 ? 1.05 : 1;
  }
  data->records[7].time[TIME_HOT].settled = false;
  data->records[8].time[TIME_HOT].us.n = 1;
}

static struct journal_data of_world(const struct world *world) {
  struct journal_data data = data_report(CELLS);
  for (unsigned process = 0; process < world->processes; ++process) {
    for (size_t i = 0; i < CELLS; ++i) {
      const double low = world->has_clocks && uniform() < 0.3 ? 0.97 : 1, sd = world->sd * (double)(i % 6) / 3;
      data_observe(&data.records[i], TIME_HOT, 50 * (1 + sd * normal()) / (i % 3 == 0 ? low : 1),
                   world->has_clocks ? 1980 * low : (double)NAN);
    }
  }
  if (world->has_oddities) make_odd(&data, world->processes);
  return data;
}

static void take(const struct journal_data *from, const uint8_t *processes, unsigned rounds, double factor,
                 struct journal_data *to) {
  for (size_t i = 0; i < CELLS; ++i) {
    const struct process_record *all = &from->records[i].process[TIME_HOT];
    struct process_record *some = &to->records[i].process[TIME_HOT];
    some->count = rounds;
    for (unsigned k = 0; k < rounds; ++k) {
      some->median_us[k] = factor * all->median_us[processes[k]];
      some->sm_clock_mhz[k] = all->sm_clock_mhz[processes[k]];
      some->throttle_reasons[k] = all->throttle_reasons[processes[k]];
    }
  }
}

static struct journal_data copy_of(const struct journal_data *data) {
  struct journal_data out = *data;
  out.records = malloc(CELLS * sizeof *out.records);
  memcpy(out.records, data->records, CELLS * sizeof *out.records);
  return out;
}

/* The same processes, given to the comparison. */
static struct compare compared(const struct journal_data *data, const struct world *world,
                               const struct compare_settings *wanted, const struct draws *draws,
                               struct journal_data side[4]) {
  struct compare out, again;
  take(data, draws->base[0], world->rounds, 1, &side[0]);
  take(data, draws->now[0], world->rounds, 1 + world->slowdown, &side[1]);
  assert_ok(compare_build(&side[0], &side[1], wanted, &out));
  for (unsigned look = 1; look < DRAWS_LOOKS && confirm_wants_any(&out); ++look) {
    take(data, draws->base[look], world->rounds, 1, &side[2]);
    take(data, draws->now[look], world->rounds, 1 + world->slowdown, &side[3]);
    assert_ok(compare_build(world->paired ? &side[2] : &side[0], &side[3], wanted, &again));
    assert_ok(confirm_add(&out, &again));
    compare_free(&again);
  }
  return out;
}

static void assert_same_verdicts(const struct compare *drawn, const struct compare *compare, unsigned *seen) {
  assert_int_equal(compare->row_count, drawn->row_count);
  for (size_t i = 0; i < drawn->row_count; ++i) {
    size_t at = 0;
    while (at < compare->row_count && compare_by_name(&compare->rows[at], &drawn->rows[i]) != 0) ++at;
    assert_true(at < compare->row_count);
    const struct compare_row *row = &compare->rows[at];
    if (drawn->rows[i].verdict != row->verdict)
      fail_msg("%s is %s, but drawn %s: %s", row->key, verdict_name(row->verdict),
               verdict_name(drawn->rows[i].verdict), row->reason);
    ++seen[row->verdict];
  }
  assert_int_equal(drawn->suite.key != NULL, compare->suite.key != NULL);
  if (drawn->suite.key != NULL) assert_int_equal(drawn->suite.verdict, compare->suite.verdict);
}

static void try_world(const struct world *world, unsigned gates, unsigned *seen) {
  struct journal_data data = of_world(world);
  struct journal_data side[4] = {copy_of(&data), copy_of(&data), copy_of(&data), copy_of(&data)};
  struct compare_settings wanted = compare_defaults();
  struct population population;
  struct drawn drawn;
  wanted.modes[TIME_COLD] = false;
  wanted.paired = world->paired;
  assert_ok(population_open("e.json", &data, &wanted, world->rounds, &population));
  struct draws_source source = {world->paired, world->processes, world->rounds, 3};
  struct compare_settings settings = wanted;
  settings.must_settle = compare_must_settle(&wanted, &data);
  settings.family = world->paired ? 0 : population.family;
  assert_ok(drawn_open(&population, &settings, population.row_count, &drawn));
  drawn_select(0, population.row_count, &drawn);
  for (unsigned i = 0; i < gates; ++i) {
    struct draws draws;
    draws_next(&source, &draws);
    struct compare compare = compared(&data, world, &wanted, &draws, side);
    assert_ok(drawn_judge(&draws, world->slowdown, &drawn));
    assert_same_verdicts(&drawn.gate, &compare, seen);
    compare_free(&compare);
  }
  drawn_close(&drawn);
  population_close(&population);
  for (unsigned i = 0; i < 4; ++i) free(side[i].records);
  journal_free(&data);
}

/* No slowdown here is a line of the gate: a process drawn twice, once for each side, gives ratios that lie on it, and
 * rounding decides. Every verdict of a row and of all cases, in gates with nothing changed and with slowdowns, is the
 * one that reports of the same processes would get. */
TEST(drawn_verdicts_are_those_of_the_comparison) {
  static const struct world worlds[] = {
      {0.001, 0, true, false, 28, 7, false},      {0.004, 0, true, true, 14, 7, false},
      {0.004, 0, false, true, 21, 7, false},      {0.02, 0, true, false, 20, 5, true},
      {0.02, 0, false, true, 20, 5, true},        {0.006, 0.0203, true, true, 28, 7, true},
      {0.006, 0.0203, false, false, 28, 7, true}, {0.004, 0.0103, true, false, 16, 8, false},
      {0.004, 0.0103, false, true, 16, 8, true},  {0.003, 0.0303, true, true, 64, 32, true},
      {0.01, 0.0153, true, true, 14, 7, true},
  };
  unsigned seen[COMPARE_VERDICT_COUNT] = {0};
  random_state = 11;
  for (size_t i = 0; i < sizeof worlds / sizeof *worlds; ++i)
    try_world(&worlds[i], worlds[i].rounds > 8 ? 4 : 40, seen);
  for (enum compare_verdict verdict = 0; verdict <= COMPARE_clock; ++verdict) {
    if (seen[verdict] == 0) fail_msg("no row was %s, so nothing was tried", verdict_name(verdict));
  }
  assert_true(seen[COMPARE_implausible] > 0);
}

/* ---- many rows ------------------------------------------------------------------------------------------------ */

/* The time is bounded: fewer gates, and slowdowns of some rows only, the noisiest among them. */
TEST(of_many_rows_the_noisiest_are_tried) {
  enum { ROWS = 1400, TRIED = 1000, NOISY = 100 };
  struct journal_data data = evidence(ROWS, 14, 0.002, 0);
  for (size_t i = 0; i < ROWS; ++i) {
    const bool is_noisy = i % 13 == 0 && i / 13 < NOISY;
    /* Times that such large batches can take. */
    for (unsigned k = 0; k < 14; ++k)
      data.records[i].process[TIME_HOT].median_us[k] *= is_noisy && k % 2 == 0 ? 1010 : 1000;
  }
  struct compare_power_settings wanted = settings(true, 7);
  wanted.suites = 50;
  wanted.trials = 1000;
  struct compare_power power = measured(&data, wanted);
  size_t tried = 0, noisy = 0;
  assert_int_equal(power.rows_tried, TRIED);
  assert_int_equal(power.trials, POWER_TRIALS_LEAST);
  assert_int_equal(power.suites, 50);
  for (size_t i = 0; i < power.row_count; ++i) {
    tried += !isnan(power.rows[i].found_2_percent);
    const unsigned long batch = strtoul(power.rows[i].key + 1, NULL, 10) - 1;
    noisy += batch % 13 == 0 && batch / 13 < NOISY && !isnan(power.rows[i].found_2_percent);
    assert_int_equal(isnan(power.rows[i].found_2_percent), isnan(power.rows[i].found_3_percent));
  }
  assert_int_equal(tried, TRIED);
  assert_int_equal(noisy, NOISY);
  assert_true(power.least_2_percent > 0.2 && power.least_2_percent < 0.9);
  assert_true(power.least_2_percent_lower < power.least_2_percent - 0.02);
  assert_true(power.least_2_percent_lower > power.least_2_percent - 0.1);
  char *text = text_of(&(struct compare_power_report){.power = &power, .power_count = 1}, power_text_write);
  assert_non_null(strstr(text, "tried on 1000 of 1400 rows"));
  free(text);
  power_free(&power);
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

TEST(evidence_that_cannot_carry_it_is_refused) {
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

/* Too few processes for a second measurement of their own: said, not hidden. */
TEST(processes_that_serve_twice_are_told) {
  struct journal_data data = evidence(1, 16, 0.002, 0);
  struct compare_power power = measured(&data, settings(true, 7));
  assert_false(power.leftover);
  char *text = text_of(&(struct compare_power_report){.power = &power, .power_count = 1}, power_text_write);
  assert_non_null(strstr(text, "drawn again"));
  free(text);
  power_free(&power);
  journal_free(&data);
}

TEST(the_json_holds_every_number) {
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
TEST(controls_are_told_and_counted) {
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
