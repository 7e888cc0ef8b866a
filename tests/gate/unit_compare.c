#include "cli/gate/compare.h"
#include "cli/gate/judge.h"
#include "tests/compare_data.h"
#include "tests/unit.h"

static void assert_ok(struct status status) {
  if (status_failed(&status)) fail_msg("%s", status.text);
}

static void assert_near(double value, double expected, double margin) {
  if (!(fabs(value - expected) <= margin)) fail_msg("%.17g is not within %g of %.17g", value, margin, expected);
}

/* Two reports of the same cells, hot mode only, and their comparison. */
struct pair {
  struct journal_data base, now;
  struct compare_settings settings;
  struct compare compare;
};

static void start(struct pair *out, size_t cells) {
  *out = (struct pair){.base = data_report(cells), .now = data_report(cells), .settings = compare_defaults()};
  out->settings.modes[TIME_COLD] = false;
  out->settings.floor_us[TIME_HOT] = 0;
}

static void build(struct pair *pair) {
  assert_ok(compare_build(&pair->base, &pair->now, &pair->settings, &pair->compare));
}

static void discard(struct pair *pair) {
  compare_free(&pair->compare);
  journal_free(&pair->base);
  journal_free(&pair->now);
}

/* The verdict on cells of 100 us whose new report is slower by `percent`. */
static struct compare_row verdict_of(double percent, unsigned rounds, bool paired) {
  struct pair pair;
  start(&pair, 1);
  pair.settings.paired = paired;
  data_measure(&pair.base, 100, rounds);
  data_measure(&pair.now, 100 * (1 + percent / 100), rounds);
  build(&pair);
  assert_int_equal(pair.compare.row_count, 1);
  struct compare_row row = pair.compare.rows[0];
  discard(&pair);
  row.key = row.variant = NULL;
  return row;
}

static void assert_verdict(enum compare_verdict verdict, enum compare_verdict expected) {
  if (verdict != expected) fail_msg("%s, expected %s", verdict_name(verdict), verdict_name(expected));
}

/* ---- the rule ------------------------------------------------------------------------------------------------ */

TEST(magnitude_decides_between_the_verdicts) {
  static const struct {
    double percent;
    enum compare_verdict expected;
  } cases[] = {{0, COMPARE_same},       {1.2, COMPARE_same},  {1.6, COMPARE_regressed}, {2, COMPARE_regressed},
               {30, COMPARE_regressed}, {-1.2, COMPARE_same}, {-2, COMPARE_improved},   {-30, COMPARE_improved}};
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; ++i) {
    const struct compare_row row = verdict_of(cases[i / 2].percent, 7, i % 2 == 0);
    assert_verdict(row.verdict, cases[i / 2].expected);
    assert_near(row.ratio, 1 + cases[i / 2].percent / 100, 1e-3);
    assert_true(row.ci_low <= row.ratio && row.ratio <= row.ci_high && row.confidence >= 0.95);
    assert_near(row.cycles_ratio, row.ratio, 1e-9);
  }
}

/* As when all processes that stand out are the base's. */
TEST(what_looks_faster_passes_only_without_slower_processes) {
  for (unsigned slower = 0; slower < 2; ++slower) {
    struct pair pair;
    start(&pair, 1);
    pair.settings.paired = true;
    for (unsigned i = 0; i < 7; ++i) {
      data_observe(&pair.base.records[0], TIME_HOT, i < 5 ? 110 : 100, NAN);
      data_observe(&pair.now.records[0], TIME_HOT, slower != 0 ? 103 : 101, NAN);
    }
    build(&pair);
    const struct compare_row *row = &pair.compare.rows[0];
    assert_verdict(row->verdict, slower != 0 ? COMPARE_inconclusive : COMPARE_improved);
    if (slower != 0) assert_non_null(strstr(row->reason, "some processes were slower by the threshold"));
    discard(&pair);
  }
}

/* Of a measurement of 7 pairs that may end before: the first pairs of the base at 100 us, those of the new side
 * slower by so many percent. */
static enum compare_verdict after_few(unsigned pairs, const double *percent) {
  struct pair pair;
  start(&pair, 1);
  pair.settings.paired = true;
  pair.settings.pairs_planned = 7;
  for (unsigned i = 0; i < pairs; ++i) {
    const double base_us = i % 2 == 0 ? 100.1 : 99.9;
    data_observe(&pair.base.records[0], TIME_HOT, base_us, NAN);
    data_observe(&pair.now.records[0], TIME_HOT, base_us * (1 + percent[i] / 100), NAN);
  }
  build(&pair);
  const struct compare_row *row = &pair.compare.rows[0];
  const enum compare_verdict verdict = row->verdict;
  assert_true(row->ci_low <= row->ratio && row->ratio <= row->ci_high);
  assert_int_equal(compare_is_clear(&pair.compare), verdict == COMPARE_same || verdict == COMPARE_regressed);
  discard(&pair);
  return verdict;
}

TEST(few_pairs_decide_what_is_clear) {
  static const struct {
    double percent[5];
    enum compare_verdict expected;
  } cases[] = {
      {{0.1, -0.1, 0, 0.1, 0}, COMPARE_same},
      {{0.9, 0.9, 0.9, 0.9, 0.9}, COMPARE_same},
      {{3, 3.1, 2.9, 3, 3}, COMPARE_regressed},
      {{1.6, 1.6, 1.6, 1.6, 1.6}, COMPARE_inconclusive}, /* over the line by too little */
      {{0, 0, 2.1, 0, 0}, COMPARE_inconclusive},         /* a process stands out, whichever side it is of */
      {{0, 0, -2.1, 0, 0}, COMPARE_inconclusive},
      {{3, 3, 9, 3, 3}, COMPARE_inconclusive},
      {{-3, -3, -3, -3, -3}, COMPARE_inconclusive}, /* faster, or all that stand out are the base's */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    assert_verdict(after_few(3, cases[i].percent), cases[i].expected);
    assert_verdict(after_few(5, cases[i].percent), cases[i].expected);
  }
}

/* Processes that differ within a side by 1 % tell nothing after 3 pairs, however well their pairs agree; beside rows
 * that are steady a row is believed sooner, beside restless ones later. */
TEST(few_pairs_are_judged_by_the_noise_of_all_rows) {
  for (unsigned restless = 0; restless < 2; ++restless) {
    struct pair pair;
    start(&pair, 12);
    pair.settings.paired = true;
    pair.settings.pairs_planned = 7;
    for (unsigned i = 0; i < 3; ++i) {
      for (size_t cell = 0; cell < 12; ++cell) {
        const double off = cell == 0 ? 0.003 : restless != 0 ? 0.012 : 0.0005, us = 100 * (1 + off * (i - 1.0));
        data_observe(&pair.base.records[cell], TIME_HOT, us, NAN);
        data_observe(&pair.now.records[cell], TIME_HOT, us * (cell == 0 ? 1.004 : 1), NAN);
      }
    }
    build(&pair);
    assert_int_equal(pair.compare.verdict_count[COMPARE_same], restless != 0 ? 0 : 12);
    assert_int_equal(pair.compare.verdict_count[COMPARE_inconclusive], restless != 0 ? 12 : 0);
    discard(&pair);
  }
}

/* A row that was clear after 3 pairs keeps them and its verdict, whatever further pairs of other rows are like. */
TEST(a_row_that_is_clear_stays_so) {
  struct pair pair;
  start(&pair, 12);
  pair.settings.paired = true;
  pair.settings.pairs_planned = 7;
  for (unsigned i = 0; i < 7; ++i) {
    for (size_t cell = i < 3 ? 0 : 1; cell < 12; ++cell) {
      const double off = i < 3 ? 0.0005 : 0.02, us = 100 * (1 + off * (i % 3 - 1.0));
      data_observe(&pair.base.records[cell], TIME_HOT, us, NAN);
      data_observe(&pair.now.records[cell], TIME_HOT, us * (i < 3 ? 1 : 1 + 0.05 * (i % 2)), NAN);
    }
    if (i != 2 && i != 6) continue;
    build(&pair);
    assert_int_equal(compare_is_clear(&pair.compare), i == 2);
    for (size_t row = 0; row < 12; ++row) {
      const struct compare_row *at = &pair.compare.rows[row];
      if (at->base.record == &pair.base.records[0]) assert_verdict(at->verdict, COMPARE_same);
      assert_int_equal(compare_is_open(&pair.compare, at), at->base.processes == 7);
    }
    compare_free(&pair.compare);
  }
  journal_free(&pair.base);
  journal_free(&pair.now);
}

TEST(as_many_pairs_as_planned_are_judged_by_rank) {
  struct pair pair[2];
  for (unsigned i = 0; i < 2; ++i) {
    start(&pair[i], 1);
    pair[i].settings.paired = true;
    pair[i].settings.pairs_planned = i == 0 ? 0 : 7;
    data_measure(&pair[i].base, 100, 7);
    data_measure(&pair[i].now, 97, 7);
    build(&pair[i]);
    assert_verdict(pair[i].compare.rows[0].verdict, COMPARE_improved);
  }
  assert_near(pair[0].compare.rows[0].ci_low, pair[1].compare.rows[0].ci_low, 0);
  discard(&pair[0]);
  discard(&pair[1]);
}

TEST(the_order_is_even_at_each_look) {
  bool order[7], again[7];
  bool seen[1 << 7] = {false};
  unsigned patterns = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    unsigned pattern = 0;
    order_draw_steps(seed, 0, 7, 3, 2, order);
    order_draw_steps(seed, 0, 7, 3, 2, again);
    assert_memory_equal(order, again, sizeof order);
    const unsigned first = (unsigned)order[0] + order[1] + order[2];
    assert_true(first == 1 || first == 2);
    assert_true(order[3] != order[4] && order[5] != order[6]);
    for (unsigned i = 0; i < 7; ++i) pattern |= (unsigned)order[i] << i;
    patterns += !seen[pattern];
    seen[pattern] = true;
  }
  assert_int_equal(patterns, 6 * 2 * 2);
}

TEST(few_processes_decide_nothing) {
  for (unsigned rounds = 1; rounds <= 6; ++rounds) {
    for (unsigned paired = 0; paired < 2; ++paired) {
      const bool enough = rounds >= (paired != 0 ? 5u : 3u);
      const struct compare_row slow = verdict_of(50, rounds, paired != 0), same = verdict_of(0, rounds, paired != 0);
      assert_verdict(slow.verdict, enough ? COMPARE_regressed : COMPARE_inconclusive);
      assert_verdict(same.verdict, enough ? COMPARE_same : COMPARE_inconclusive);
      assert_int_equal(slow.rounds_needed, enough ? 0 : 5);
      assert_true(enough || strstr(slow.reason, "at least") != NULL);
      assert_near(slow.ratio, 1.5, 0.01);
    }
  }
}

/* A report without rounds holds one process: what record.time says. */
TEST(a_plain_report_is_one_process) {
  struct pair pair;
  start(&pair, 1);
  for (unsigned side = 0; side < 2; ++side) {
    struct record *record = side == 0 ? pair.base.records : pair.now.records;
    record->time[TIME_HOT].done = true;
    record->time[TIME_HOT].settled = true;
    record->time[TIME_HOT].us.n = 30;
    record->time[TIME_HOT].us.median = 10 + side;
    record->time[TIME_HOT].sm_clock_mhz = NAN;
  }
  build(&pair);
  assert_verdict(pair.compare.rows[0].verdict, COMPARE_inconclusive);
  assert_int_equal(pair.compare.rows[0].base.processes, 1);
  assert_near(pair.compare.rows[0].ratio, 1.1, 1e-12);
  assert_true(isnan(pair.compare.rows[0].cycles_ratio));
  assert_int_equal(pair.compare.exit_code, EXIT_CODE_INCONCLUSIVE);
  discard(&pair);
}

TEST(noise_is_inconclusive_and_says_how_many_rounds) {
  struct pair pair;
  start(&pair, 1);
  for (unsigned i = 0; i < 7; ++i) {
    data_observe(pair.base.records, TIME_HOT, 100, 1980);
    data_observe(pair.now.records, TIME_HOT, 100 + (i % 2 == 0 ? 4.0 : -3.5), 1980);
  }
  build(&pair);
  const struct compare_row *row = pair.compare.rows;
  assert_verdict(row->verdict, COMPARE_inconclusive);
  assert_in_range(row->rounds_needed, 8, PROCESSES_MAX);
  assert_non_null(strstr(row->reason, "rounds would decide"));
  assert_int_equal(pair.compare.exit_code, EXIT_CODE_INCONCLUSIVE);
  compare_free(&pair.compare);
  pair.settings.noise_is_ok = true;
  build(&pair);
  assert_int_equal(pair.compare.exit_code, EXIT_CODE_OK);
  discard(&pair);
}

/* A number that `attnbench ab --rounds` takes: 33 to 64 pairs come of 32 rounds, measured again. */
TEST(rounds_that_pairs_need_can_be_asked_for) {
  uint32_t most[2] = {0};
  for (unsigned wide = 20; wide < 60; ++wide) {
    for (int paired = 0; paired < 2; ++paired) {
      struct pair pair;
      start(&pair, 1);
      pair.settings.paired = paired;
      for (unsigned i = 0; i < 8; ++i) {
        data_observe(pair.base.records, TIME_HOT, 100, 1980);
        data_observe(pair.now.records, TIME_HOT, 100 + (i % 2 == 0 ? 0.1 : -0.1) * wide, 1980);
      }
      build(&pair);
      if (pair.compare.rows->rounds_needed > most[paired]) most[paired] = pair.compare.rows->rounds_needed;
      discard(&pair);
    }
  }
  assert_in_range(most[false], 33, PROCESSES_MAX);
  assert_int_equal(most[true], 32);
}

/* Pairs share the machine's drift; two samples do not. */
TEST(a_drift_cancels_in_pairs_only) {
  struct pair pair;
  start(&pair, 1);
  for (unsigned i = 0; i < 8; ++i) {
    data_observe(pair.base.records, TIME_HOT, 100 * (1 + 0.02 * i), NAN);
    data_observe(pair.now.records, TIME_HOT, 103 * (1 + 0.02 * i), NAN);
  }
  build(&pair);
  assert_verdict(pair.compare.rows[0].verdict, COMPARE_inconclusive);
  compare_free(&pair.compare);
  pair.settings.paired = true;
  build(&pair);
  assert_verdict(pair.compare.rows[0].verdict, COMPARE_regressed);
  assert_near(pair.compare.rows[0].ratio, 1.03, 1e-9);
  discard(&pair);
}

TEST(a_difference_below_the_floor_is_none) {
  struct pair pair;
  start(&pair, 1);
  data_measure(&pair.base, 4, 7);
  data_measure(&pair.now, 4.09, 7); /* +2.25 %, 0.09 us */
  build(&pair);
  assert_verdict(pair.compare.rows[0].verdict, COMPARE_regressed);
  assert_near(pair.compare.rows[0].threshold, 0.02, 0);
  compare_free(&pair.compare);
  pair.settings.floor_us[TIME_HOT] = 0.1;
  build(&pair);
  assert_verdict(pair.compare.rows[0].verdict, COMPARE_same);
  assert_near(pair.compare.rows[0].threshold, 0.1 / 4.045 / 0.75, 1e-4);
  discard(&pair);
}

static double clock_ratio = 1; /* of the new side's clocks */

/* Of a cold cell, of which the events of either side take so long. */
static struct compare_row verdict_of_card(const char *card, double base_overhead, double now_overhead, double base_us,
                                          double now_us) {
  struct pair pair;
  start(&pair, 1);
  snprintf(pair.now.device.uuid, sizeof pair.now.device.uuid, "%s", card);
  pair.settings.modes[TIME_COLD] = true;
  pair.settings.modes[TIME_HOT] = false;
  pair.settings.floor_us[TIME_COLD] = 0;
  pair.settings.paired = true;
  pair.base.device.hides_launches = pair.now.device.hides_launches = true;
  pair.base.event_overhead_us = base_overhead;
  pair.now.event_overhead_us = now_overhead;
  data_measure(&pair.base, base_us, 7);
  data_measure(&pair.now, now_us, 7);
  struct process_record *processes = &pair.now.records[0].process[TIME_COLD];
  for (uint32_t i = 0; i < processes->count; ++i) processes->sm_clock_mhz[i] *= clock_ratio;
  build(&pair);
  struct compare_row row = pair.compare.rows[0];
  discard(&pair);
  row.key = row.variant = NULL;
  return row;
}

static struct compare_row verdict_of_cold(double base_overhead, double now_overhead, double base_us, double now_us) {
  struct pair pair;
  start(&pair, 1);
  char card[sizeof pair.base.device.uuid];
  snprintf(card, sizeof card, "%s", pair.base.device.uuid);
  discard(&pair);
  return verdict_of_card(card, base_overhead, now_overhead, base_us, now_us);
}

/* A launch of 7.5 us on two hosts, whose events take 2.5 and 4.1 us: neither a slowdown nor, the other way, a
 * speed-up; and a real slowdown stays one. */
TEST(events_of_another_host_decide_nothing) {
  const struct compare_row slower = verdict_of_card("GPU-2", 2.5, 4.1, 10, 11.6);
  assert_verdict(slower.verdict, COMPARE_inconclusive);
  assert_true(slower.by_hosts);
  assert_non_null(strstr(slower.reason, "takes 2.5 us on the base's host and 4.1 us on this one"));
  assert_verdict(verdict_of_card("GPU-2", 4.1, 2.5, 11.6, 10).verdict, COMPARE_inconclusive);
  assert_verdict(verdict_of_card("GPU-2", 4.1, 2.5, 11.6, 10.8).verdict,
                 COMPARE_inconclusive); /* hidden by the host */
  assert_verdict(verdict_of_card("GPU-2", 2.5, 4.1, 10, 14).verdict, COMPARE_regressed);
  assert_verdict(verdict_of_card("GPU-2", 2.5, 2.6, 10, 10).verdict, COMPARE_same);
  assert_verdict(verdict_of_cold(2.5, 4.1, 10, 11.6).verdict,
                 COMPARE_regressed); /* one card: nothing else explains it */
}

/* Slower by one host's constant, and by the other's slower in cycles alone: both fail. */
TEST(an_alarm_by_either_host_is_an_alarm) {
  clock_ratio = 1.1;
  const struct compare_row row = verdict_of_card("GPU-2", 2.5, 2.63, 10, 10.23);
  clock_ratio = 1;
  assert_verdict(row.verdict, COMPARE_regressed);
  assert_false(row.by_hosts);
}

TEST(cold_ratios_are_of_the_launch_without_its_events) {
  /* 7.5 us of kernel become 7.63: 1.7 %, which fails, but 1.3 % of the time with its events. */
  const struct compare_row with = verdict_of_cold(0, 0, 10, 10.13), without = verdict_of_cold(2.5, 2.5, 10, 10.13);
  assert_verdict(with.verdict, COMPARE_same);
  assert_near(with.ratio, 1.013, 1e-6);
  assert_verdict(without.verdict, COMPARE_regressed);
  assert_near(without.ratio, 7.63 / 7.5, 1e-5);
  assert_near(without.event_overhead_us, 2.5, 0);
  assert_near(without.base.median_us, 10.01, 1e-9); /* times are shown as they were measured */
}

/* A constant that was measured as 2.5 us once and as 2.9 us the next time is no slowdown and no speed-up. */
TEST(both_sides_lose_the_same_constant) {
  const struct compare_row row = verdict_of_cold(2.5, 2.9, 10, 10);
  assert_verdict(row.verdict, COMPARE_same);
  assert_near(row.ratio, 1, 1e-12);
  assert_near(verdict_of_cold(2.5, 0, 10, 10).event_overhead_us, 2.5, 0); /* whatever the new report says */
  assert_near(verdict_of_cold(0, 2.5, 10, 10).event_overhead_us, 0, 0);
}

/* A report that claims more events than time changes no verdict. */
TEST(a_constant_that_cannot_be_stays_in) {
  assert_near(verdict_of_cold(1e9, 1e9, 10, 10.13).ratio, 1.013, 1e-6);
  assert_near(verdict_of_cold(-5, -5, 10, 10.13).ratio, 1.013, 1e-6);
  assert_near(verdict_of_cold(4.9, 4.9, 10, 9).ratio, 0.9, 1e-6);
}

TEST(a_lower_clock_is_no_regression) {
  static const struct {
    double now_mhz;
    enum compare_verdict expected;
  } cases[] = {{1900, COMPARE_clock}, {1980, COMPARE_regressed}, {2000, COMPARE_regressed}, {NAN, COMPARE_regressed}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct pair pair;
    start(&pair, 1);
    for (unsigned round = 0; round < 7; ++round) {
      data_observe(pair.base.records, TIME_HOT, 100, 1980);
      data_observe(pair.now.records, TIME_HOT, 104, cases[i].now_mhz);
    }
    build(&pair);
    assert_verdict(pair.compare.rows[0].verdict, cases[i].expected);
    assert_int_equal(pair.compare.exit_code, verdict_exit_code(cases[i].expected));
    discard(&pair);
  }
}

/* Seven processes of each side with the given times and clocks, candidate against base. */
static struct compare_row of_seven(bool paired, const double us[2], const double mhz[2], uint64_t throttled,
                                   bool settled) {
  struct pair pair;
  start(&pair, 1);
  pair.settings.paired = paired;
  for (unsigned round = 0; round < 7; ++round) {
    const double wobble = 1 + 1e-4 * round;
    data_observe(pair.base.records, TIME_HOT, us[0] * wobble, mhz[0]);
    data_observe(pair.now.records, TIME_HOT, us[1] * wobble, mhz[1]);
  }
  pair.now.records->process[TIME_HOT].throttle_reasons[3] = throttled;
  pair.now.records->time[TIME_HOT].settled = settled;
  build(&pair);
  struct compare_row row = pair.compare.rows[0];
  row.key = row.variant = NULL;
  discard(&pair);
  return row;
}

static struct compare_row in_pairs(const double us[2], const double mhz[2], uint64_t throttled, bool settled) {
  return of_seven(true, us, mhz, throttled, settled);
}

TEST(time_decides_and_clocks_explain) {
  static const struct {
    double us[2], mhz[2];
    enum compare_verdict expected;
  } cases[] = {
      {{100, 104}, {1980, 1980}, COMPARE_regressed},
      {{100, 104}, {1980, 1904}, COMPARE_regressed}, /* draws more power in every pair */
      {{100, 100}, {1800, 1980}, COMPARE_cycles},    /* 10 % more cycles behind a clock 10 % higher */
      {{100, 100}, {1980, 1800}, COMPARE_same},
      {{100, 95}, {1800, 1980}, COMPARE_improved}, /* time decides, whatever it cost */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const struct compare_row row = in_pairs(cases[i].us, cases[i].mhz, 0, true);
    if (row.verdict != cases[i].expected) fail_msg("case %zu: %s: %s", i, verdict_name(row.verdict), row.reason);
  }
}

/* The candidate's processes lie apart, and each of them is slower than the base. */
TEST(processes_that_do_not_agree_are_judged_and_not_excused) {
  struct pair pair;
  start(&pair, 1);
  pair.settings.paired = true;
  for (unsigned round = 0; round < 7; ++round) {
    data_observe(pair.base.records, TIME_HOT, 100 + 0.01 * round, 1980);
    data_observe(pair.now.records, TIME_HOT, round % 2 == 0 ? 120 : 150, 1980);
  }
  process_settle(pair.now.records);
  assert_false(pair.now.records->time[TIME_HOT].settled);
  build(&pair);
  assert_verdict(pair.compare.rows[0].verdict, COMPARE_regressed);
  discard(&pair);
}

TEST(times_that_prove_nothing_do_not_pass) {
  static const double same[] = {100, 100}, slow[] = {100, 105}, clock[] = {1980, 1980}, far[] = {100, 3};
  static const uint64_t cap = 0x4, heat = 0x20, brake = 0x80;
  assert_verdict(in_pairs(same, clock, 0, true).verdict, COMPARE_same);
  assert_verdict(in_pairs(same, clock, cap, true).verdict, COMPARE_same);
  assert_verdict(in_pairs(same, clock, heat, true).verdict, COMPARE_inconclusive);
  assert_verdict(in_pairs(same, clock, brake, true).verdict, COMPARE_inconclusive);
  assert_verdict(in_pairs(slow, clock, heat, true).verdict, COMPARE_regressed);
  assert_verdict(in_pairs(far, clock, 0, true).verdict, COMPARE_implausible);
  assert_verdict(in_pairs(far, clock, heat, true).verdict, COMPARE_inconclusive);
}

/* Pairs share the drift, two samples do not. */
TEST(times_that_had_not_settled_decide_in_pairs_only) {
  static const double same[] = {100, 100}, slow[] = {100, 105}, far[] = {100, 3}, clock[] = {1980, 1980};
  assert_verdict(of_seven(true, same, clock, 0, false).verdict, COMPARE_same);
  assert_verdict(of_seven(true, far, clock, 0, false).verdict, COMPARE_implausible);
  assert_verdict(of_seven(true, slow, clock, 0, false).verdict, COMPARE_regressed);
  assert_verdict(of_seven(false, same, clock, 0, true).verdict, COMPARE_same);
  assert_verdict(of_seven(false, same, clock, 0, false).verdict, COMPARE_inconclusive);
  assert_verdict(of_seven(false, far, clock, 0, false).verdict, COMPARE_inconclusive);
}

TEST(times_that_cannot_be_are_implausible) {
  static const struct {
    double percent;
    enum compare_verdict expected;
  } cases[] = {
      {-50, COMPARE_improved}, {-85, COMPARE_improved}, {-95, COMPARE_implausible}, {-99.9, COMPARE_implausible}};
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; ++i)
    assert_verdict(verdict_of(cases[i / 2].percent, 7, i % 2 == 0).verdict, cases[i / 2].expected);
}

/* One process of each side proves no fault of the other one; a time below the physical floor needs no second. */
TEST(a_time_that_is_far_off_needs_enough_processes_to_be_implausible) {
  assert_verdict(verdict_of(-97, 1, false).verdict, COMPARE_inconclusive);
  assert_verdict(verdict_of(-97, COMPARE_SIDE_MIN - 1, false).verdict, COMPARE_inconclusive);
  assert_verdict(verdict_of(-97, COMPARE_SIDE_MIN, false).verdict, COMPARE_implausible);
  assert_verdict(verdict_of(-97, COMPARE_PAIRS_MIN - 1, true).verdict, COMPARE_inconclusive);
  assert_verdict(verdict_of(-99.9999, 1, false).verdict, COMPARE_implausible);
}

/* Rows of two cards are not held against each other; a time that cannot be is one on any card. */
TEST(another_card_does_not_hide_a_time_that_cannot_be) {
  static const struct {
    double now_us;
    enum compare_verdict verdict;
  } cases[] = {{100, COMPARE_inconclusive}, {200, COMPARE_inconclusive}, {5, COMPARE_implausible}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct pair pair;
    start(&pair, 1);
    data_measure(&pair.base, 100, 7);
    data_measure(&pair.now, cases[i].now_us, 7);
    pair.now.card_count = 1;
    pair.now.card[0].info = pair.now.device;
    snprintf(pair.now.card[0].info.uuid, sizeof pair.now.card[0].info.uuid, "another");
    snprintf(pair.now.records[0].card, sizeof pair.now.records[0].card, "another");
    build(&pair);
    assert_int_equal(pair.compare.rows[0].verdict, cases[i].verdict);
    discard(&pair);
  }
}

TEST(all_cases_together_are_judged) {
  for (int slow = 0; slow < 2; ++slow) {
    for (size_t cells = COMPARE_SUITE_ROWS_MIN - 1; cells <= COMPARE_SUITE_ROWS_MIN; ++cells) {
      struct pair pair;
      start(&pair, cells);
      pair.settings.paired = true;
      data_measure(&pair.base, 100, 7);
      data_measure(&pair.now, slow ? 101.1 : 100.2, 7);
      build(&pair);
      const bool is_judged = cells >= COMPARE_SUITE_ROWS_MIN;
      assert_int_equal(pair.compare.verdict_count[COMPARE_same], cells);
      assert_int_equal(pair.compare.suite.key != NULL, is_judged);
      assert_int_equal(pair.compare.exit_code, is_judged && slow ? EXIT_CODE_REGRESSION : EXIT_CODE_OK);
      assert_int_equal(confirm_wants_all(&pair.compare), is_judged && slow);
      discard(&pair);
    }
  }
}

/* One case 30 % faster, all others 1.1 % slower: the first does not pay for them. */
TEST(a_faster_case_does_not_hide_that_all_others_are_slower) {
  for (size_t cells = COMPARE_SUITE_ROWS_MIN; cells <= COMPARE_SUITE_ROWS_MIN + 1; ++cells) {
    struct pair pair;
    start(&pair, cells);
    pair.settings.paired = true;
    data_measure(&pair.base, 100, 7);
    data_measure(&pair.now, 101.1, 7);
    for (uint32_t i = 0; i < 7; ++i) pair.now.records[0].process[TIME_HOT].median_us[i] *= 0.7;
    build(&pair);
    assert_int_equal(pair.compare.verdict_count[COMPARE_improved], 1);
    assert_int_equal(pair.compare.suite_rows, cells - 1);
    assert_int_equal(pair.compare.exit_code, cells > COMPARE_SUITE_ROWS_MIN ? EXIT_CODE_REGRESSION : EXIT_CODE_OK);
    discard(&pair);
  }
}

/* A sweep's thresholds stand in its reports: two that have unequal ones at one hash were tampered with. */
TEST(unequal_gate_settings_are_not_compared) {
  struct pair pair;
  start(&pair, 1);
  data_measure(&pair.base, 100, 5);
  data_measure(&pair.now, 100, 5);
  pair.now.run.gate = (struct sweep_gate){.known = true, .threshold_percent = 50};
  build(&pair);
  assert_int_equal(pair.compare.exit_code, EXIT_CODE_NOT_COMPARABLE);
  assert_string_equal(pair.compare.difference[0].key, "gate settings");
  discard(&pair);
}

TEST(half_of_the_pairs_begin_with_the_candidate) {
  unsigned first[7] = {0};
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    bool order[7], again[7];
    unsigned begins = 0;
    order_draw(seed, 0, 7, order);
    order_draw(seed, 0, 7, again);
    assert_memory_equal(order, again, sizeof order);
    for (unsigned i = 0; i < 7; ++i) {
      begins += order[i];
      first[i] += order[i];
    }
    assert_in_range(begins, 3, 4);
  }
  for (unsigned i = 0; i < 7; ++i) assert_in_range(first[i], 430, 570);
}

TEST(student_is_that_of_the_tables) {
  static const double one[] = {1, 2, 3, 4, 5}, two[] = {3, 4, 5, 6, 7};
  assert_near(student_tail(2.776445, 4), 0.025, 1e-6);
  assert_near(student_tail(1.812461, 10), 0.05, 1e-6);
  assert_near(student_tail(-1.812461, 10), 0.95, 1e-6);
  assert_near(student_quantile(0.025, 4), 2.776445, 1e-6);
  assert_near(student_quantile(0.0005, 1), 636.6193, 1e-3);
  const struct student_score welch = student_welch(one, 5, two, 5), paired = student_paired(two, 5);
  assert_near(student_chance(&welch, 0), 0.040258, 1e-4); /* t = 2 with 8 degrees of freedom */
  assert_near(student_chance(&paired, 5), 0.5, 1e-12);
}

TEST(the_last_matching_glob_sets_the_threshold) {
  struct pair pair;
  start(&pair, 3);
  data_measure(&pair.base, 100, 7);
  data_measure(&pair.now, 104, 7);
  pair.settings.override_count = 2;
  pair.settings.override[0] = (struct compare_override){"*/wmma", 0.2};
  pair.settings.override[1] = (struct compare_override){"B2.*", 0.01};
  build(&pair);
  assert_string_equal(pair.compare.rows[0].key, "B2.H8.Hkv8.Sq512.Skv512.D64.f16.full");
  assert_verdict(pair.compare.rows[0].verdict, COMPARE_regressed);
  assert_near(pair.compare.rows[0].threshold, 0.01, 0);
  assert_verdict(pair.compare.rows[1].verdict, COMPARE_same);
  assert_near(pair.compare.rows[1].threshold, 0.2, 0);
  discard(&pair);
}

/* A time of zero, or one that is not a number, is no observation. */
TEST(broken_times_are_not_observations) {
  struct pair pair;
  start(&pair, 1);
  data_measure(&pair.base, 100, 5);
  data_measure(&pair.now, 100, 5);
  pair.base.records->process[TIME_HOT].median_us[0] = 0;
  pair.now.records->process[TIME_HOT].median_us[1] = NAN;
  pair.settings.paired = true;
  build(&pair);
  assert_verdict(pair.compare.rows[0].verdict, COMPARE_inconclusive);
  assert_non_null(strstr(pair.compare.rows[0].reason, "3 pairs"));
  discard(&pair);
}

/* ---- coverage ------------------------------------------------------------------------------------------------ */

enum side { ABSENT = -1 };

/* A cell that both sides lost for reasons that are as long as there are: the row says both, and that they are cut. */
TEST(long_reasons_are_cut_to_a_whole_sentence) {
  static const char end[] = " ...) in the new report";
  struct pair pair;
  start(&pair, 1);
  struct journal_data *sides[] = {&pair.base, &pair.now};
  for (unsigned side = 0; side < 2; ++side) {
    struct record *record = &sides[side]->records[0];
    data_record(record, 2, "wmma", side == 0 ? CELL_skipped : CELL_planned);
    memset(record->reason, 'x', sizeof record->reason - 1);
    record->reason[sizeof record->reason - 1] = '\0';
    sides[side]->record_count = 1;
  }
  build(&pair);
  const char *reason = pair.compare.rows[0].reason;
  assert_non_null(strstr(reason, " ...); planned (xxx"));
  assert_string_equal(reason + strlen(reason) - (sizeof end - 1), end);
  discard(&pair);
}

/* The verdict on a second cell that has these statuses (or ABSENT) beside a first one that is the same. */
static enum compare_verdict beside(int base, int now, bool base_timed, bool now_timed, enum exit_code *exit_code,
                                   bool allow_new) {
  struct pair pair;
  start(&pair, 2);
  pair.settings.allow_new = allow_new;
  for (unsigned side = 0; side < 2; ++side) {
    struct journal_data *data = side == 0 ? &pair.base : &pair.now;
    const int status = side == 0 ? base : now;
    data->record_count = 1;
    data_measure(data, 100, 5);
    if (status == ABSENT) continue;
    data->record_count = 2;
    data_record(&data->records[1], 2, "wmma", (enum cell_status)status);
    for (unsigned i = 0; i < 5 && (side == 0 ? base_timed : now_timed); ++i)
      data_observe(&data->records[1], TIME_HOT, 100, 1980);
  }
  pair.base.run.cell_count = pair.base.record_count;
  build(&pair);
  enum compare_verdict found = COMPARE_VERDICT_COUNT;
  for (size_t i = 0; i < pair.compare.row_count; ++i) {
    if (strncmp(pair.compare.rows[i].key, "B2.", 3) == 0) found = pair.compare.rows[i].verdict;
    assert_true(pair.compare.rows[i].verdict == COMPARE_same || pair.compare.rows[i].reason[0] != '\0');
  }
  *exit_code = pair.compare.exit_code;
  discard(&pair);
  return found;
}

TEST(every_way_to_lose_a_cell_has_its_verdict) {
  static const struct {
    int base, now;
    bool base_timed, now_timed, allow_new;
    enum compare_verdict verdict;
    enum exit_code exit_code;
  } cases[] = {
      {CELL_ok, CELL_ok, true, true, false, COMPARE_same, EXIT_CODE_OK},
      {CELL_ok, ABSENT, true, false, false, COMPARE_missing, EXIT_CODE_COVERAGE},
      {CELL_ok, ABSENT, true, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
      {CELL_ok, CELL_skipped, true, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
      {CELL_ok, CELL_ok, true, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
      {CELL_ok, CELL_crashed, true, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
      {CELL_ok, CELL_timeout, true, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
      {CELL_ok, CELL_oom_predicted, true, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
      {CELL_ok, CELL_wrong, true, false, true, COMPARE_wrong, EXIT_CODE_WRONG},
      {ABSENT, CELL_wrong, false, false, true, COMPARE_wrong, EXIT_CODE_WRONG},
      {ABSENT, CELL_error, false, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
      {CELL_error, CELL_error, false, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
      {ABSENT, CELL_ok, false, true, false, COMPARE_added, EXIT_CODE_COVERAGE},
      {ABSENT, CELL_ok, false, true, true, COMPARE_added, EXIT_CODE_OK},
      {CELL_skipped, CELL_ok, false, true, false, COMPARE_added, EXIT_CODE_COVERAGE},
      {CELL_crashed, CELL_ok, false, true, true, COMPARE_added, EXIT_CODE_OK},
      {CELL_skipped, CELL_skipped, false, false, false, COMPARE_untimed, EXIT_CODE_OK},
      {CELL_planned, CELL_planned, false, false, false, COMPARE_untimed, EXIT_CODE_OK},
      {CELL_ok, CELL_ok, false, false, false, COMPARE_untimed, EXIT_CODE_OK},
      {CELL_error, CELL_skipped, false, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
      {CELL_skipped, ABSENT, false, false, true, COMPARE_missing, EXIT_CODE_COVERAGE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    enum exit_code exit_code;
    const enum compare_verdict verdict =
        beside(cases[i].base, cases[i].now, cases[i].base_timed, cases[i].now_timed, &exit_code, cases[i].allow_new);
    if (verdict != cases[i].verdict || exit_code != cases[i].exit_code)
      fail_msg("case %zu: %s with exit code %d", i, verdict_name(verdict), (int)exit_code);
  }
}

TEST(comparing_nothing_is_no_success) {
  struct pair pair;
  start(&pair, 0);
  build(&pair);
  assert_int_equal(pair.compare.exit_code, EXIT_CODE_COVERAGE);
  discard(&pair);
  start(&pair, 2); /* timed nowhere */
  build(&pair);
  assert_int_equal(pair.compare.verdict_count[COMPARE_untimed], 2);
  assert_int_equal(pair.compare.exit_code, EXIT_CODE_COVERAGE);
  discard(&pair);
}

/* ---- outcome ------------------------------------------------------------------------------------------------- */

/* Cells 1 to 5: inconclusive, regressed, missing, wrong, improved; then everything else is taken away one by one. */
TEST(the_worst_row_decides_the_exit_code) {
  static const enum exit_code expected[] = {EXIT_CODE_WRONG, EXIT_CODE_COVERAGE, EXIT_CODE_REGRESSION,
                                            EXIT_CODE_INCONCLUSIVE, EXIT_CODE_OK};
  static const enum compare_verdict verdicts[] = {COMPARE_wrong, COMPARE_missing, COMPARE_regressed,
                                                  COMPARE_inconclusive, COMPARE_improved};
  for (unsigned left = 5; left >= 1; --left) {
    struct pair pair;
    start(&pair, left);
    data_measure(&pair.base, 100, 5);
    for (unsigned i = 0; i < left; ++i) {
      const enum compare_verdict wanted = verdicts[4 - i];
      const double slower = wanted == COMPARE_regressed ? 1.05 : wanted == COMPARE_improved ? 0.5 : 1;
      for (unsigned round = 0; round < 5; ++round) {
        const double noise = wanted == COMPARE_inconclusive ? 1 + 0.05 * round : 1;
        data_observe(&pair.now.records[i], TIME_HOT, 100 * slower * noise, 1980);
      }
      if (wanted == COMPARE_missing) data_record(&pair.now.records[i], i + 1, "wmma", CELL_crashed);
      if (wanted == COMPARE_wrong) data_record(&pair.now.records[i], i + 1, "wmma", CELL_wrong);
    }
    build(&pair);
    for (unsigned i = 0; i < left; ++i) assert_verdict(pair.compare.rows[i].verdict, verdicts[5 - left + i]);
    assert_int_equal(pair.compare.exit_code, expected[5 - left]);
    discard(&pair);
  }
}

/* ---- identity ------------------------------------------------------------------------------------------------ */

static void change_name(struct journal_data *d) { d->device.name[0] = 'X'; }
static void change_cc(struct journal_data *d) { d->device.cc_minor = 3; }
static void change_sms(struct journal_data *d) { d->device.sms = 114; }
static void change_memory(struct journal_data *d) { d->device.memory_bytes /= 2; }
static void change_branch(struct journal_data *d) { d->device.driver[0] = '6'; }
static void change_runtime(struct journal_data *d) { d->device.runtime_version = 12040; }
static void change_method(struct journal_data *d) { d->device.hides_launches = !d->device.hides_launches; }
static void change_kind(struct journal_data *d) { d->device.kind = DEVICE_CPU; }
static void change_sweep(struct journal_data *d) { d->run.sweep_hash[3] = 'f'; }
static void change_seed(struct journal_data *d) { d->run.seed = 2; }
static void lose_device(struct journal_data *d) { d->has_device = false; }
static void change_patch(struct journal_data *d) { d->device.driver[9] = '9'; }
static void change_commit(struct journal_data *d) { d->run.git_commit[0] = 'f'; }
static void change_version(struct journal_data *d) { d->run.version[0] = '9'; }
static void change_mig(struct journal_data *d) { snprintf(d->policy.mig, sizeof d->policy.mig, "on"); }
static void change_ecc(struct journal_data *d) { snprintf(d->policy.ecc, sizeof d->policy.ecc, "off"); }
static void change_power(struct journal_data *d) { d->policy.power_limit_w = 500; }
static void change_clocks(struct journal_data *d) { d->policy.application_sm_clock_mhz = 1500; }
static void change_limits(struct journal_data *d) { d->policy.max_memory_clock_mhz = 2600; }
static void change_kernel(struct journal_data *d) { snprintf(d->policy.host_kernel, 64, "Linux 7"); }
static void change_budget(struct journal_data *d) { d->run.quick = true; }
static void forget_policy(struct journal_data *d) { d->policy = (struct device_policy){.known = false}; }
static void forget_power(struct journal_data *d) { d->policy.power_limit_w = NAN; }
static void change_profiled(struct journal_data *d) { snprintf(d->run.profiled, sizeof d->run.profiled, "nsys"); }
static void change_card(struct journal_data *d) { snprintf(d->device.uuid, sizeof d->device.uuid, "GPU-2"); }

static const struct {
  void (*change)(struct journal_data *);
  const char *key; /* NULL: no difference at all */
  bool fatal;
} changes[] = {
    {change_name, "device", true},
    {change_cc, "compute capability", true},
    {change_sms, "SMs", true},
    {change_memory, "memory", true},
    {change_branch, "driver branch", true},
    {change_runtime, "CUDA runtime", true},
    {change_method, "cold times", true},
    {change_kind, "device kind", true},
    {change_sweep, "sweep", true},
    {change_seed, "input seed", true},
    {change_profiled, "profiler", true},
    {lose_device, "device", true},
    {change_patch, "driver", false},
    {change_commit, "commit", false},
    {change_version, "attnbench", false},
    {change_card, "card", false},
    {change_mig, "MIG", true},
    {change_ecc, "ECC", true},
    {change_power, "power limit", true},
    {change_clocks, "clocks asked for", true},
    {change_limits, "clock limits", true},
    {change_kernel, "host kernel", false},
    {change_budget, "time budget", false},
    {forget_policy, NULL, false},
    {forget_power, NULL, false},
};

TEST(unlike_machines_are_not_compared) {
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    struct pair pair;
    start(&pair, 1);
    snprintf(pair.base.device.uuid, sizeof pair.base.device.uuid, "GPU-1");
    snprintf(pair.now.device.uuid, sizeof pair.now.device.uuid, "GPU-1");
    data_measure(&pair.base, 100, 5);
    data_measure(&pair.now, 100, 5);
    changes[i].change(&pair.now);
    build(&pair);
    const struct compare *compare = &pair.compare;
    assert_int_equal(compare->difference_count > 0, changes[i].key != NULL);
    if (changes[i].key != NULL) {
      assert_string_equal(compare->difference[0].key, changes[i].key);
      assert_int_equal(compare->difference[0].fatal, changes[i].fatal);
      assert_string_not_equal(compare->difference[0].base, compare->difference[0].now);
    }
    assert_int_equal(compare->comparable, !changes[i].fatal);
    assert_int_equal(compare->exit_code, changes[i].fatal ? EXIT_CODE_NOT_COMPARABLE : EXIT_CODE_OK);
    assert_int_equal(compare->row_count, changes[i].fatal ? 0 : 1);
    discard(&pair);
  }
}

TEST(a_base_that_was_cut_short_is_no_base) {
  struct pair pair;
  start(&pair, 1);
  data_measure(&pair.base, 100, 5);
  data_measure(&pair.now, 100, 5);
  pair.base.run.cell_count = 2;
  build(&pair);
  assert_int_equal(pair.compare.exit_code, EXIT_CODE_NOT_COMPARABLE);
  assert_string_equal(pair.compare.difference[0].base, "1 of 2 cells");
  discard(&pair);
}

TEST(a_baseline_is_whole_clean_and_repeated) {
  struct journal_data data = data_report(2);
  data_measure(&data, 100, 5);
  assert_ok(identity_check_baseline("b.json", &data));
  struct status status = status_ok();
  --data.records[1].process[TIME_HOT].count;
  status = identity_check_baseline("b.json", &data);
  assert_int_equal(status.code, STATUS_NOT_COMPARABLE);
  assert_non_null(strstr(status.text, "--rounds 5"));
  ++data.records[1].process[TIME_HOT].count;
  snprintf(data.run.git_commit, sizeof data.run.git_commit, "0123abc+dirty");
  status = identity_check_baseline("b.json", &data);
  assert_int_equal(status.code, STATUS_NOT_COMPARABLE);
  data.run.git_commit[7] = '\0';
  snprintf(data.state, sizeof data.state, "interrupted");
  status = identity_check_baseline("b.json", &data);
  assert_int_equal(status.code, STATUS_NOT_COMPARABLE);
  snprintf(data.state, sizeof data.state, "complete");
  data.record_count = 0;
  status = identity_check_baseline("b.json", &data);
  assert_int_equal(status.code, STATUS_NOT_COMPARABLE);
  journal_free(&data);
}

/* ---- the second measurement ---------------------------------------------------------------------------------- */

/* First +`first` %, then +`second` % in fresh processes; noise: the first does not decide. */
static struct compare_row confirmed(double first, double second, double noise, bool share_base, double second_mhz) {
  struct pair pair, again;
  start(&pair, 1);
  start(&again, 1);
  for (unsigned i = 0; i < 7; ++i) {
    const double wobble = i % 2 == 0 ? 1 + noise : 1 - noise;
    data_observe(pair.base.records, TIME_HOT, 100, 1980);
    data_observe(pair.now.records, TIME_HOT, (100 + first) * wobble, 1980);
    data_observe(again.base.records, TIME_HOT, 100, 1980);
    data_observe(again.now.records, TIME_HOT, 100 + second, second_mhz);
  }
  build(&pair);
  assert_ok(compare_build(share_base ? &pair.base : &again.base, &again.now, &pair.settings, &again.compare));
  assert_ok(confirm_add(&pair.compare, &again.compare));
  discard(&again);
  assert_int_equal(pair.compare.verdict_count[pair.compare.rows[0].verdict], 1);
  struct compare_row row = pair.compare.rows[0];
  assert_true(row.base.record == pair.base.records && row.now.record == pair.now.records);
  discard(&pair);
  return row;
}

TEST(a_suspect_must_fail_twice) {
  const struct compare_row twice = confirmed(4, 5, 0, false, 1980), once = confirmed(4, 0, 0, false, 1980);
  assert_verdict(twice.verdict, COMPARE_regressed);
  assert_true(twice.was_suspect);
  assert_near(twice.ratio, 1.05, 1e-9);
  assert_near(twice.first_ratio, 1.04, 1e-9);
  assert_int_equal(twice.now.processes, 7);
  assert_verdict(once.verdict, COMPARE_same);
  assert_true(once.was_suspect);
  assert_non_null(strstr(once.reason, "+4.00 % at first"));
  assert_verdict(confirmed(4, 4, 0, false, 1800).verdict, COMPARE_clock);
}

TEST(what_did_not_decide_is_judged_over_both) {
  const struct compare_row same = confirmed(0, 0, 0.04, false, 1980);
  assert_verdict(same.verdict, COMPARE_same);
  assert_int_equal(same.now.processes, 14);
  assert_int_equal(same.base.processes, 14);
  assert_true(same.was_suspect);
  assert_int_equal(confirmed(0, 0, 0.04, true, 1980).base.processes, 7);
  assert_verdict(confirmed(3, 3, 0.03, false, 1980).verdict, COMPARE_regressed);
}

TEST(rows_that_decided_keep_their_verdict) {
  const struct compare_row row = confirmed(0, 9, 0, false, 1980);
  assert_verdict(row.verdict, COMPARE_same);
  assert_false(row.was_suspect);
}

TEST(a_suspect_that_fails_otherwise_says_so) {
  struct pair pair, again;
  start(&pair, 1);
  start(&again, 1);
  data_measure(&pair.base, 100, 5);
  data_measure(&pair.now, 110, 5);
  data_measure(&again.base, 100, 5);
  data_record(again.now.records, 1, "wmma", CELL_wrong);
  build(&pair);
  assert_true(confirm_wants(&pair.compare.rows[0]));
  build(&again);
  assert_ok(confirm_add(&pair.compare, &again.compare));
  assert_verdict(pair.compare.rows[0].verdict, COMPARE_wrong);
  assert_int_equal(pair.compare.exit_code, EXIT_CODE_WRONG);
  discard(&again);
  discard(&pair);
}

/* ---- properties ---------------------------------------------------------------------------------------------- */

/* xorshift64*: a test's own, so that it draws the same everywhere. */
static uint64_t random_state;
static double uniform(void) {
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return (double)((random_state * UINT64_C(0x2545F4914F6CDD1D)) >> 11) * 0x1p-53;
}

enum { CELLS = 6, TRIALS = 200 };

/* Cells that differ by -6 % to +6 %, with noise of up to 3 %. */
static void randomise(struct pair *pair, uint64_t seed) {
  random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  start(pair, CELLS);
  pair->settings.paired = seed % 2 == 0;
  pair->settings.floor_us[TIME_HOT] = seed % 3 == 0 ? 1 : 0;
  const unsigned rounds = 3 + (unsigned)(seed % 8);
  for (size_t i = 0; i < CELLS; ++i) {
    const double us = 20 + 300 * uniform(), slower = 0.94 + 0.12 * uniform(), noise = 0.03 * uniform() * uniform();
    for (unsigned round = 0; round < rounds; ++round) {
      data_observe(&pair->base.records[i], TIME_HOT, us * (1 + noise * (uniform() - 0.5)), NAN);
      data_observe(&pair->now.records[i], TIME_HOT, us * slower * (1 + noise * (uniform() - 0.5)), NAN);
    }
  }
}

static const struct compare_row *row_of(const struct compare *compare, const char *key) {
  for (size_t i = 0; i < compare->row_count; ++i) {
    if (strcmp(compare->rows[i].key, key) == 0) return &compare->rows[i];
  }
  return NULL;
}

static enum compare_verdict mirrored(enum compare_verdict verdict) {
  return verdict == COMPARE_regressed ? COMPARE_improved : verdict == COMPARE_improved ? COMPARE_regressed : verdict;
}

/* Only whether a slowdown is excluded is asked one way, so `same` and `inconclusive` may change places. */
TEST(swapping_the_reports_mirrors_the_verdicts) {
  unsigned decided = 0;
  for (uint64_t seed = 1; seed <= TRIALS; ++seed) {
    struct pair pair;
    struct compare back;
    randomise(&pair, seed);
    build(&pair);
    assert_ok(compare_build(&pair.now, &pair.base, &pair.settings, &back));
    for (size_t i = 0; i < CELLS; ++i) {
      const struct compare_row *forth = &pair.compare.rows[i], *reverse = row_of(&back, forth->key);
      assert_near(forth->ratio * reverse->ratio, 1, 1e-12);
      assert_near(forth->ci_low * reverse->ci_high, 1, 1e-12);
      if (mirrored(forth->verdict) == forth->verdict && mirrored(reverse->verdict) == reverse->verdict) continue;
      /* An improvement needs no proof against chance, so its mirror image may be undecided. */
      if (!pair.settings.paired &&
          (forth->verdict == COMPARE_inconclusive || reverse->verdict == COMPARE_inconclusive))
        continue;
      assert_verdict(reverse->verdict, mirrored(forth->verdict));
      ++decided;
    }
    compare_free(&back);
    discard(&pair);
  }
  assert_in_range(decided, TRIALS, TRIALS * CELLS);
}

/* Microseconds or years: only the floor knows units. */
TEST(the_unit_of_time_does_not_matter) {
  for (uint64_t seed = 1; seed <= TRIALS; ++seed) {
    struct pair pair;
    struct compare scaled;
    randomise(&pair, seed);
    build(&pair);
    for (size_t i = 0; i < CELLS * PROCESSES_MAX; ++i) {
      pair.base.records[i / PROCESSES_MAX].process[TIME_HOT].median_us[i % PROCESSES_MAX] *= 1024;
      pair.now.records[i / PROCESSES_MAX].process[TIME_HOT].median_us[i % PROCESSES_MAX] *= 1024;
    }
    pair.settings.floor_us[TIME_HOT] *= 1024;
    assert_ok(compare_build(&pair.base, &pair.now, &pair.settings, &scaled));
    for (size_t i = 0; i < CELLS; ++i) {
      assert_string_equal(scaled.rows[i].key, pair.compare.rows[i].key);
      assert_verdict(scaled.rows[i].verdict, pair.compare.rows[i].verdict);
      assert_near(scaled.rows[i].ratio / pair.compare.rows[i].ratio, 1, 1e-12);
    }
    compare_free(&scaled);
    discard(&pair);
  }
}

TEST(slower_is_never_judged_better) {
  static const int rank[COMPARE_VERDICT_COUNT] = {
      [COMPARE_improved] = 0, [COMPARE_same] = 1, [COMPARE_inconclusive] = 2, [COMPARE_regressed] = 3};
  for (uint64_t seed = 1; seed <= TRIALS; ++seed) {
    struct pair pair;
    randomise(&pair, seed);
    int before[CELLS] = {0};
    double ratio[CELLS] = {0};
    for (unsigned step = 0; step < 20; ++step) {
      build(&pair);
      for (size_t i = 0; i < CELLS; ++i) {
        const struct compare_row *row = row_of(&pair.compare, pair.base.records[i].attn_case.key);
        assert_true(row->ratio > ratio[i]);
        /* Being sure of an improvement needs more than being sure of no slowdown. */
        if (rank[row->verdict] < before[i]) fail_msg("seed %u, step %u", (unsigned)seed, step);
        ratio[i] = row->ratio;
        before[i] = rank[row->verdict];
        for (unsigned round = 0; round < PROCESSES_MAX; ++round)
          pair.now.records[i].process[TIME_HOT].median_us[round] *= 1.004;
      }
      compare_free(&pair.compare);
    }
    discard(&pair);
  }
}

TEST(the_order_of_cells_and_of_calls_does_not_matter) {
  struct pair pair;
  struct compare twin;
  randomise(&pair, 12);
  build(&pair);
  /* The keys point into the records: compare them by what they say. */
  struct record *turned = calloc(CELLS, sizeof *turned);
  assert_non_null(turned);
  for (size_t i = 0; i < CELLS; ++i) turned[i] = pair.now.records[CELLS - 1 - i];
  struct journal_data reversed = pair.now;
  reversed.records = turned;
  assert_ok(compare_build(&pair.base, &reversed, &pair.settings, &twin));
  for (size_t i = 0; i < CELLS; ++i) {
    struct compare_row a = pair.compare.rows[i], b = twin.rows[i];
    assert_string_equal(a.key, b.key);
    assert_memory_equal(&a.ratio, &b.ratio, sizeof a.ratio);
    assert_memory_equal(&a.ci_low, &b.ci_low, sizeof a.ci_low);
    assert_int_equal(a.verdict, b.verdict);
    assert_string_equal(a.reason, b.reason);
  }
  compare_free(&twin);
  free(turned);
  discard(&pair);
}
