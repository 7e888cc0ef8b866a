/* The rates that the rule of cli/gate/compare.h gives, by synthetic suites that go through the very comparison. The
 * table in results/README.md is made here: ATTN_UPDATE_GOLDEN=1 writes it (half a minute), else one of its rows is
 * made again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/base/json.h"
#include "tests/compare_data.h"

static void assert_ok(struct status status) {
  if (status_failed(&status)) fail_msg("%s", status.text);
}

/* ---- noise --------------------------------------------------------------------------------------------------- */

static uint64_t random_state;

/* SplitMix64: in (0, 1). */
static double uniform(void) {
  uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

struct world {
  size_t cells;
  uint32_t rounds;
  bool paired;
  double sd_low, sd_high; /* of a process's offset; each cell has its own in between */
  double outliers;        /* share of the processes that are 1 to 5 % slower */
  size_t two_groups;      /* so many cells have processes of two kinds, 30 % of them 2 % slower */
  double slowdown;        /* of the first cell */
};

/* ---- suites -------------------------------------------------------------------------------------------------- */

struct suite {
  struct world world;
  struct journal_data base, now, again_base, again_now;
  struct compare_settings settings;
};

static void open_suite(struct suite *suite, struct world world) {
  *suite = (struct suite){.world = world, .settings = compare_defaults()};
  suite->settings.paired = world.paired;
  suite->settings.modes[TIME_COLD] = false;
  struct journal_data *sides[] = {&suite->base, &suite->now, &suite->again_base, &suite->again_now};
  for (size_t i = 0; i < 4; ++i) *sides[i] = data_report(world.cells);
}

static void close_suite(struct suite *suite) {
  journal_free(&suite->base);
  journal_free(&suite->now);
  journal_free(&suite->again_base);
  journal_free(&suite->again_now);
}

static void measure(const struct world *world, struct journal_data *data, double slowdown) {
  for (size_t i = 0; i < world->cells; ++i) {
    const double share = world->cells > 1 ? (double)i / (double)(world->cells - 1) : 1;
    const double sd = world->sd_low + share * (world->sd_high - world->sd_low);
    data->records[i].process[TIME_HOT].count = 0;
    for (uint32_t round = 0; round < world->rounds; ++round) {
      double us = 100 * (1 + sd * normal()) * (i == 0 ? 1 + slowdown : 1);
      if (world->outliers > 0 && uniform() < world->outliers) us *= 1.01 + 0.04 * uniform();
      if (i < world->two_groups && uniform() < 0.3) us *= 1.02;
      data_observe(&data->records[i], TIME_HOT, us, NAN);
    }
  }
}

static enum exit_code gate(struct suite *suite) {
  struct compare compare, again;
  const struct world *world = &suite->world;
  bool wanted = false;
  measure(world, &suite->base, 0);
  measure(world, &suite->now, world->slowdown);
  assert_ok(compare_build(&suite->base, &suite->now, &suite->settings, &compare));
  for (size_t i = 0; i < compare.row_count; ++i) wanted = wanted || compare_wants_again(&compare.rows[i]);
  if (wanted) {
    measure(world, &suite->again_base, 0);
    measure(world, &suite->again_now, world->slowdown);
    assert_ok(compare_build(world->paired ? &suite->again_base : &suite->base, &suite->again_now, &suite->settings,
                            &again));
    compare_confirm(&compare, &again);
    compare_free(&again);
  }
  compare_free(&compare);
  return compare.exit_code;
}

struct rates {
  double failed, undecided; /* shares of the suites */
};

static struct rates run(struct world world, unsigned suites, uint64_t seed) {
  struct suite suite;
  struct rates rates = {0, 0};
  random_state = seed;
  open_suite(&suite, world);
  for (unsigned i = 0; i < suites; ++i) {
    const enum exit_code code = gate(&suite);
    rates.failed += (code == EXIT_CODE_REGRESSION) / (double)suites;
    rates.undecided += (code == EXIT_CODE_INCONCLUSIVE) / (double)suites;
  }
  close_suite(&suite);
  return rates;
}

/* ---- the bars ------------------------------------------------------------------------------------------------ */

static const struct world quiet = {.cells = 20, .rounds = 7, .paired = true, .sd_low = 0.001, .sd_high = 0.0045};

static void suites_without_a_change_pass(void **state) {
  (void)state;
  struct world world = quiet;
  const struct rates rates = run(world, 2000, 1);
  assert_true(rates.failed <= 0.001 && rates.undecided <= 0.005);
  world.rounds = 5;
  assert_true(run(world, 1000, 2).failed <= 0.002);
  world.paired = false;
  assert_true(run(world, 1000, 3).failed <= 0.002);
  world.cells = 200;
  assert_true(run(world, 200, 4).failed <= 0.005);
}

/* Processes that stand out, and cells whose processes fall into two groups. */
static void odd_processes_do_not_fail_a_suite(void **state) {
  (void)state;
  struct world world = quiet;
  world.outliers = 0.02;
  world.two_groups = 2;
  assert_true(run(world, 1000, 5).failed <= 0.005);
  world.paired = false;
  assert_true(run(world, 1000, 6).failed <= 0.005);
}

static void slowdowns_are_found(void **state) {
  (void)state;
  for (unsigned i = 0; i < 8; ++i) {
    const struct world world = {.cells = 1,
                                .rounds = i % 2 == 0 ? 5 : 10,
                                .paired = i / 2 % 2 == 0,
                                .sd_low = 0.0045,
                                .sd_high = i < 4 ? 0.0045 : 0.001,
                                .slowdown = 0.03};
    struct world smaller = world;
    smaller.slowdown = 0.02;
    assert_true(run(world, 1000, 10 + i).failed >= 0.99);
    assert_true(run(smaller, 1000, 20 + i).failed >= 0.8);
  }
}

/* What keeps a rule honest: with noise far above what it is made for it fails no suite, it does not decide. */
static void noise_above_the_rule_is_not_decided(void **state) {
  (void)state;
  struct world world = quiet;
  world.cells = 1;
  world.sd_low = world.sd_high = 0.03;
  const struct rates rates = run(world, 2000, 30);
  assert_true(rates.failed < 0.02);
  assert_true(rates.undecided > 0.2);
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

static const double sds[] = {0.001, 0.002, 0.003, 0.0045, 0.006, 0.01};
static const uint32_t rounds[] = {5, 7, 10};
enum { TABLE_SUITES = 2000, TABLE_CELLS = 40, ROW_MAX = 256 };

/* "| 0.45 % | 7 | 0.00 | ..." */
static void table_row(double sd, uint32_t count, char out[ROW_MAX]) {
  int used = snprintf(out, ROW_MAX, "| %.2f %% | %u |", 100 * sd, (unsigned)count);
  for (unsigned kind = 0; kind < 2; ++kind) {
    struct world world = {
        .cells = TABLE_CELLS, .rounds = count, .paired = kind == 0, .sd_low = sd, .sd_high = sd, .slowdown = 0};
    const struct rates none = run(world, TABLE_SUITES, 40);
    world.cells = 1;
    world.slowdown = 0.02;
    const struct rates two = run(world, TABLE_SUITES, 41);
    world.slowdown = 0.03;
    const struct rates three = run(world, TABLE_SUITES, 42);
    used += snprintf(out + used, ROW_MAX - (size_t)used, " %.2f | %.2f | %.1f | %.1f |", 100 * none.failed,
                     100 * none.undecided, 100 * two.failed, 100 * three.failed);
  }
}

static const char page_path[] = "results/README.md";
static const char begin[] = "<!-- begin gate-simulation -->\n", end[] = "<!-- end gate-simulation -->";

static void rewrite_table(const char *page) {
  const char *from = strstr(page, begin), *to = strstr(page, end);
  assert_true(from != NULL && to != NULL);
  FILE *file = fopen(page_path, "wb");
  assert_non_null(file);
  fprintf(file, "%.*s%s", (int)(from - page), page, begin);
  fputs(
      "| sd of a process | rounds | pairs: A/A failed | undecided | +2 % found | +3 % found | two samples: A/A "
      "failed | "
      "undecided | +2 % found | +3 % found |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
      file);
  for (size_t i = 0; i < sizeof sds / sizeof *sds; ++i) {
    for (size_t j = 0; j < sizeof rounds / sizeof *rounds; ++j) {
      char row[ROW_MAX];
      table_row(sds[i], rounds[j], row);
      fprintf(file, "%s\n", row);
    }
  }
  fputs(to, file);
  assert_int_equal(fclose(file), 0);
}

static void the_published_table_is_what_the_rule_gives(void **state) {
  (void)state;
  char *page, row[ROW_MAX];
  size_t length;
  assert_ok(json_read_file(page_path, 1 << 20, &page, &length));
  if (getenv("ATTN_UPDATE_GOLDEN") != NULL) {
    rewrite_table(page);
  } else {
    table_row(0.006, 5, row);
    if (strstr(page, row) == NULL) fail_msg("%s does not have this row: %s", page_path, row);
  }
  free(page);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(suites_without_a_change_pass),
      cmocka_unit_test(odd_processes_do_not_fail_a_suite),
      cmocka_unit_test(slowdowns_are_found),
      cmocka_unit_test(noise_above_the_rule_is_not_decided),
      cmocka_unit_test(the_published_table_is_what_the_rule_gives),
  };
  return cmocka_run_group_tests_name("compare_rates", tests, NULL, NULL);
}
