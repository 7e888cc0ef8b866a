/* tags: long asan */
/* The rates that the rule of cli/gate/compare.h gives, by synthetic suites that go through the very comparison. The
 * tables in results/gate_rule.md are made here: ATTN_UPDATE_GOLDEN=1 writes them (some minutes), else a row of each
 * is made again. */
#include "cli/base/json.h"
#include "cli/gate/compare.h"
#include "tests/compare_data.h"
#include "tests/unit.h"

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
  double sd_low, sd_high;           /* of a process's offset; each cell has its own in between */
  double outliers;                  /* share of the processes that are 1 to 5 % slower */
  size_t two_groups;                /* so many cells have processes of two kinds, 30 % of them 2 % slower */
  double slowdown;                  /* of the first cell */
  double uniform_slowdown;          /* of all cells */
  double common;                    /* sd of what the cells of one process have in common */
  bool once;                        /* as `attnbench compare`: nothing is measured again */
  double drift;                     /* of the machine, per process that runs */
  double throttled;                 /* share of the processes at a clock 3 % lower, times with it */
  uint32_t load_period, load_phase; /* every so many processes one is 10 % slower; 0: none. The phase is drawn */
  double outlier_size; /* of all outliers alike, and of all cells of a process; 0: 1 to 5 % of one cell */
  bool in_steps;       /* ends when its verdicts are clear: 3, 5 or 7 pairs */
  bool fixed_order;    /* candidate, base, base, candidate, ... instead of a drawn order */
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
  suite->settings.only_verdicts = true;
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

/* One process of all cells, the `at`th that runs. */
static void run_process(const struct world *world, struct journal_data *data, uint32_t at, bool is_new) {
  const bool slow_clock = world->throttled > 0 && uniform() < world->throttled;
  double machine = (1 + world->common * normal()) * (1 + world->drift * at) * (slow_clock ? 1.03 : 1);
  if (world->load_period > 0 && (at + world->load_phase) % world->load_period == 0) machine *= 1.1;
  if (world->outlier_size > 0 && uniform() < world->outliers) machine *= 1 + world->outlier_size;
  for (size_t i = 0; i < world->cells; ++i) {
    const double share = world->cells > 1 ? (double)i / (double)(world->cells - 1) : 1;
    const double sd = world->sd_low + share * (world->sd_high - world->sd_low);
    double us = 100 * machine * (1 + sd * normal());
    if (is_new) us *= (1 + world->uniform_slowdown) * (i == 0 ? 1 + world->slowdown : 1);
    if (world->outlier_size <= 0 && world->outliers > 0 && uniform() < world->outliers) us *= 1.01 + 0.04 * uniform();
    if (i < world->two_groups && uniform() < 0.3) us *= 1.02;
    data_observe(&data->records[i], TIME_HOT, us, world->throttled > 0 ? slow_clock ? 1922 : 1980 : (double)NAN);
  }
}

static void clear(const struct world *world, struct journal_data *data) {
  for (size_t i = 0; i < world->cells; ++i) data->records[i].process[TIME_HOT].count = 0;
}

/* Both sides in turns; or one after the other, which a drift is not forgiven. */
static void measure(struct world *world, struct journal_data *base, struct journal_data *now) {
  bool new_first[PROCESSES_MAX];
  const uint32_t rounds = world->rounds;
  if (world->in_steps) {
    order_draw_steps(random_state, 0, rounds, COMPARE_FEW_FIRST, COMPARE_FEW_STEP, new_first);
  } else {
    order_draw(random_state, 0, rounds, new_first);
  }
  world->load_phase = (uint32_t)(12 * uniform());
  if (base != NULL) clear(world, base);
  clear(world, now);
  for (uint32_t i = 0; i < 2 * rounds; ++i) {
    const uint32_t round = i / 2;
    const bool first = world->fixed_order ? round % 2 == 0 : new_first[round];
    const bool is_new = world->paired ? (i % 2 == 0) == first : i >= rounds;
    if (is_new || base != NULL) run_process(world, is_new ? now : base, i, is_new);
  }
}

/* One more measurement of the suspects. */
static void look_again(struct suite *suite, struct compare *compare) {
  struct world *world = &suite->world;
  struct compare again;
  measure(world, world->paired ? &suite->again_base : NULL, &suite->again_now);
  assert_ok(compare_build(world->paired ? &suite->again_base : &suite->base, &suite->again_now, &compare->settings,
                          &again));
  assert_ok(confirm_add(compare, &again));
  compare_free(&again);
}

/* So many more pairs of each open row are looked at; of every row at first, without a comparison. Returns how many
 * rows that are. */
static size_t look_at(struct suite *suite, const struct compare *so_far, uint32_t pairs) {
  size_t open = 0;
  for (size_t i = 0; i < suite->world.cells; ++i) {
    struct record *base = &suite->base.records[i], *now = &suite->now.records[i];
    bool is_open = so_far == NULL;
    for (size_t row = 0; so_far != NULL && row < so_far->row_count; ++row)
      is_open = is_open || (so_far->rows[row].base.record == base && compare_is_open(so_far, &so_far->rows[row]));
    if (so_far == NULL) base->process[TIME_HOT].count = 0;
    if (is_open) now->process[TIME_HOT].count = base->process[TIME_HOT].count += pairs;
    if (!is_open) now->process[TIME_HOT].count = base->process[TIME_HOT].count;
    open += is_open;
  }
  return open;
}

/* All pairs were drawn; those that are not looked at yet are hidden. Returns how many a row took, in the mean. */
static double judge_in_steps(struct suite *suite, struct compare *out) {
  const uint32_t most = suite->world.rounds;
  double pairs = COMPARE_FEW_FIRST;
  suite->settings.pairs_planned = most;
  look_at(suite, NULL, COMPARE_FEW_FIRST);
  for (uint32_t to = COMPARE_FEW_FIRST;; to += COMPARE_FEW_STEP) {
    assert_ok(compare_build(&suite->base, &suite->now, &suite->settings, out));
    if (to >= most || compare_is_clear(out)) return pairs;
    pairs += COMPARE_FEW_STEP * (double)look_at(suite, out, COMPARE_FEW_STEP) / (double)suite->world.cells;
    compare_free(out);
  }
}

static enum exit_code gate(struct suite *suite, double *pairs) {
  struct compare compare;
  const unsigned looks = suite->world.once ? 0 : COMPARE_LOOKS_MAX;
  measure(&suite->world, &suite->base, &suite->now);
  suite->settings.once = suite->world.once;
  *pairs = suite->world.rounds;
  if (suite->world.in_steps) {
    *pairs = judge_in_steps(suite, &compare);
  } else {
    assert_ok(compare_build(&suite->base, &suite->now, &suite->settings, &compare));
  }
  for (unsigned i = 0; i < looks && confirm_wants_any(&compare); ++i) look_again(suite, &compare);
  const enum exit_code exit_code = compare.exit_code;
  compare_free(&compare);
  return exit_code;
}

struct rates {
  double failed, undecided; /* shares of the suites */
  double processes;         /* of the first measurement, that a row took part in, in the mean */
};

static struct rates run(struct world world, unsigned suites, uint64_t seed) {
  struct suite suite;
  struct rates rates = {0, 0, 0};
  random_state = seed;
  open_suite(&suite, world);
  for (unsigned i = 0; i < suites; ++i) {
    double pairs;
    const enum exit_code code = gate(&suite, &pairs);
    rates.processes += 2.0 * pairs / suites;
    rates.failed += (code == EXIT_CODE_REGRESSION) / (double)suites;
    rates.undecided += (code == EXIT_CODE_INCONCLUSIVE) / (double)suites;
  }
  close_suite(&suite);
  return rates;
}

/* ---- the bars ------------------------------------------------------------------------------------------------ */

static const struct world quiet = {.cells = 20, .rounds = 7, .paired = true, .sd_low = 0.001, .sd_high = 0.0045};

TEST(suites_without_a_change_pass) {
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
TEST(odd_processes_do_not_fail_a_suite) {
  struct world world = quiet;
  world.outliers = 0.02;
  world.two_groups = 2;
  assert_true(run(world, 1000, 5).failed <= 0.005);
  world.paired = false;
  assert_true(run(world, 1000, 6).failed <= 0.005);
}

TEST(slowdowns_are_found) {
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
TEST(noise_above_the_rule_is_not_decided) {
  struct world world = quiet;
  world.cells = 1;
  world.sd_low = world.sd_high = 0.05;
  const struct rates rates = run(world, 2000, 30);
  assert_true(rates.failed < 0.02);
  assert_true(rates.undecided > 0.2);
}

/* A fixed order falls into step with a load of every fourth process; a drawn one does not. */
TEST(a_periodic_load_hides_nothing) {
  struct world world = {.cells = 1, .rounds = 7, .paired = true, .sd_low = 0.003, .sd_high = 0.003, .load_period = 4};
  assert_true(run(world, 1000, 50).failed <= 0.01);
  world.slowdown = 0.03;
  const struct rates drawn = run(world, 1000, 51);
  const double missed = 1 - drawn.failed - drawn.undecided;
  if (missed > 0.01) fail_msg("missed %g of the slowdowns", missed);
}

/* One process in three 10 % slower: where all of these are the base's, a slower case looks faster. */
TEST(a_third_of_the_processes_hides_nothing) {
  for (unsigned i = 0; i < 4; ++i) {
    struct world world = {
        .cells = 1, .rounds = 7, .paired = true, .sd_low = 0.003, .sd_high = 0.003, .slowdown = 0.03};
    const bool is_periodic = i % 2 == 0;
    if (i >= 2) world.cells = 20;
    if (is_periodic) world.load_period = 3;
    if (!is_periodic) world.outliers = 1.0 / 3;
    if (!is_periodic) world.outlier_size = 0.1;
    const struct rates rates = run(world, i < 2 ? 4000 : 400, 80 + i);
    const double passed = 1 - rates.failed - rates.undecided;
    if (passed > 0.01) fail_msg("%g of the slowdowns passed, world %u", passed, i);
  }
}

/* A measurement that may end after 3 or 5 pairs errs as seldom as one of 7, and takes fewer processes. */
TEST(a_measurement_in_steps_errs_as_seldom) {
  static const struct {
    struct world world;
    double failed_least, failed_most, passed_most;
  } cases[] = {
      {{.cells = 40, .sd_high = 0.0045}, 0, 0.001, 1},
      {{.cells = 40, .sd_high = 0.003, .outliers = 0.02, .two_groups = 2}, 0, 0.005, 1},
      {{.cells = 40, .sd_high = 0.003, .common = 0.003}, 0, 0.002, 1},
      {{.cells = 40, .sd_high = 0.0045, .slowdown = 0.02}, 0.95, 1, 0.05},
      {{.cells = 40, .sd_low = 0.0045, .slowdown = 0.03}, 0.995, 1, 0.002},
      {{.cells = 40, .sd_low = 0.01, .sd_high = 0.003, .slowdown = 0.03}, 0.99, 1, 0.005},
      {{.cells = 40, .common = 0.01, .slowdown = 0.03}, 0.98, 1, 0.005},
      {{.cells = 1, .sd_high = 0.01, .slowdown = 0.03}, 0.99, 1, 0.005},
      {{.cells = 20, .outliers = 0.1, .outlier_size = 0.1, .slowdown = 0.03}, 0, 1, 0.01},
      {{.cells = 20, .outliers = 1.0 / 3, .outlier_size = 0.1, .slowdown = 0.03}, 0, 1, 0.01},
      {{.cells = 1, .sd_high = 0.003, .load_period = 3, .slowdown = 0.03}, 0, 1, 0.01},
      {{.cells = 20, .sd_high = 0.003, .two_groups = 20, .slowdown = 0.03}, 0.98, 1, 0.01},
      {{.cells = 20, .sd_high = 0.003, .common = 0.0015, .uniform_slowdown = 0.01}, 0.98, 1, 0.02},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct world world = cases[i].world;
    world.paired = world.in_steps = true;
    world.rounds = COMPARE_PAIRS_PLANNED;
    if (world.sd_low <= 0) world.sd_low = 0.001;
    if (world.sd_high <= 0) world.sd_high = 0.001;
    const struct rates rates = run(world, world.cells == 1 ? 4000 : 400, 90 + i);
    const double passed = 1 - rates.failed - rates.undecided;
    if (rates.failed < cases[i].failed_least || rates.failed > cases[i].failed_most + 1e-9 ||
        passed > cases[i].passed_most)
      fail_msg("world %zu: failed %g, passed %g", i, rates.failed, passed);
  }
}

TEST(a_quiet_machine_needs_few_processes) {
  struct world world = quiet;
  world.in_steps = true;
  world.cells = 40;
  const double processes = run(world, 1000, 110).processes;
  if (processes > 8) fail_msg("%g processes", processes);
  world.sd_low = world.sd_high = 0.003;
  assert_true(run(world, 1000, 111).processes < 7);
  /* A few restless rows, as short cold ones are, do not keep the others measuring. */
  world.sd_low = 0.009;
  world.sd_high = 0.001;
  const double restless = run(world, 400, 113).processes;
  if (restless > 10) fail_msg("%g processes of a row", restless);
  world.sd_low = 0.003;
  world.sd_high = 0.003;
  world.outliers = 1.0 / 3;
  world.outlier_size = 0.1;
  assert_true(run(world, 200, 112).processes > 12);
}

/* One process in ten 10 % slower: undecided at first, decided by more rounds. */
TEST(outliers_are_outvoted) {
  struct world world = {.cells = 1, .rounds = 7, .paired = true, .sd_low = 0.003, .sd_high = 0.003};
  world.outliers = 0.1;
  world.outlier_size = 0.1;
  const struct rates none = run(world, 1000, 60);
  if (none.undecided > 0.05 || none.failed > 0.01) fail_msg("failed %g, undecided %g", none.failed, none.undecided);
}

/* +1 % of all cases is below the line of each; ten such merges would be +10 %. */
TEST(a_slowdown_of_all_cases_is_found) {
  struct world world = quiet;
  world.common = 0.0015;
  world.uniform_slowdown = 0.01;
  assert_true(run(world, 500, 70).failed >= 0.98);
  world.uniform_slowdown = 0.013;
  assert_true(run(world, 500, 71).failed >= 0.999);
  world.uniform_slowdown = 0;
  assert_true(run(world, 500, 72).failed <= 0.002);
}

/* ---- the tables ---------------------------------------------------------------------------------------------- */

enum { TABLE_SUITES = 1000, TABLE_CELLS = 40, ROW_MAX = 320 };

static int put_shares(char out[ROW_MAX], int used, struct world world) {
  world.cells = TABLE_CELLS;
  const struct rates none = run(world, TABLE_SUITES, 40);
  world.slowdown = 0.02;
  const struct rates two = run(world, TABLE_SUITES, 41);
  world.slowdown = 0.03;
  const struct rates three = run(world, TABLE_SUITES, 42);
  return used + snprintf(out + used, ROW_MAX - (size_t)used, " %.2f | %.2f | %.1f | %.1f |", 100 * none.failed,
                         100 * none.undecided, 100 * two.failed, 100 * three.failed);
}

static const double sds[] = {0.001, 0.003, 0.0045, 0.006, 0.01, 0.015, 0.025};
static const uint32_t rounds[] = {5, 7, 10};

/* "| 0.45 % | 7 | 0.00 | ..." : pairs, two samples that are measured again, two samples judged once */
static void noise_row(double sd, uint32_t count, char out[ROW_MAX]) {
  int used = snprintf(out, ROW_MAX, "| %.2f %% | %u |", 100 * sd, (unsigned)count);
  for (unsigned kind = 0; kind < 3; ++kind)
    used = put_shares(
        out, used,
        (struct world){.rounds = count, .paired = kind == 0, .once = kind == 2, .sd_low = sd, .sd_high = sd});
}

/* "| 0.45 % | 0.00 | 0.00 | 6.9 | ...": pairs in steps, and how many processes they took */
static void steps_row(double sd, char out[ROW_MAX]) {
  static const double slowdowns[] = {0, 0.02, 0.03};
  struct world world = {.rounds = COMPARE_PAIRS_PLANNED,
                        .in_steps = true,
                        .paired = true,
                        .cells = TABLE_CELLS,
                        .sd_low = sd,
                        .sd_high = sd};
  int used = snprintf(out, ROW_MAX, "| %.2f %% |", 100 * sd);
  for (unsigned i = 0; i < 3; ++i) {
    world.slowdown = slowdowns[i];
    const struct rates rates = run(world, TABLE_SUITES, 40 + i);
    used += i == 0
                ? snprintf(out + used, ROW_MAX - (size_t)used, " %.2f | %.2f | %.1f |", 100 * rates.failed,
                           100 * rates.undecided, rates.processes)
                : snprintf(out + used, ROW_MAX - (size_t)used, " %.1f | %.1f |", 100 * rates.failed, rates.processes);
  }
}

static const struct {
  const char *name;
  struct world world;
} worlds[] = {
    {"nothing but the noise", {.rounds = 7}},
    {"the machine slows by 0.1 % per process", {.drift = 0.001}},
    {"the machine slows by 1 % per process", {.drift = 0.01}},
    {"a third of the processes at a clock 3 % lower", {.throttled = 0.33}},
    {"one process in ten 10 % slower", {.outliers = 0.1, .outlier_size = 0.1}},
    {"one process in three 10 % slower", {.outliers = 1.0 / 3, .outlier_size = 0.1}},
    {"every third process 10 % slower", {.load_period = 3}},
    {"every fourth process 10 % slower", {.load_period = 4}},
    {"every fourth process 10 % slower, fixed order", {.load_period = 4, .fixed_order = true}},
    {"every second process 10 % slower", {.load_period = 2}},
    {"cells of a process share 0.3 %", {.common = 0.003}},
    {"all cases 1 % slower", {.common = 0.001, .uniform_slowdown = 0.01}},
    {"all cases 1.3 % slower", {.common = 0.001, .uniform_slowdown = 0.013}},
};
enum { WORLDS = sizeof worlds / sizeof *worlds };

/* "| every fourth process 10 % slower | 0.00 | ..." */
static void world_row(size_t index, char out[ROW_MAX]) {
  struct world world = worlds[index].world;
  world.rounds = COMPARE_PAIRS_PLANNED;
  world.paired = world.in_steps = true;
  world.sd_low = world.sd_high = 0.003;
  world.cells = TABLE_CELLS;
  const struct rates none = run(world, TABLE_SUITES, 40);
  world.slowdown = 0.03;
  const struct rates slow = run(world, TABLE_SUITES, 42);
  snprintf(out, ROW_MAX, "| %s | %.2f | %.2f | %.1f | %.1f | %.1f | %.2f | %.1f |", worlds[index].name,
           100 * none.failed, 100 * none.undecided, none.processes, 100 * slow.failed, 100 * slow.undecided,
           100 * fmax(0, 1 - slow.failed - slow.undecided), slow.processes);
}

static const char page_path[] = "results/gate_rule.md";

/* Writes what stands before the block to `file`, and returns what stands behind it. */
static const char *copy_to(const char *page, const char *name, FILE *file) {
  char begin[64], end[64];
  snprintf(begin, sizeof begin, "<!-- begin %s -->\n", name);
  snprintf(end, sizeof end, "<!-- end %s -->", name);
  const char *from = strstr(page, begin), *to = strstr(page, end);
  assert_true(from != NULL && to != NULL);
  fprintf(file, "%.*s%s", (int)(from - page), page, begin);
  return to;
}

static void rewrite_tables(const char *page) {
  assert_non_null(strstr(page, "<!-- begin gate-simulation -->\n"));
  assert_non_null(strstr(page, "<!-- begin gate-steps -->\n"));
  assert_non_null(strstr(page, "<!-- begin gate-worlds -->\n"));
  FILE *file = fopen(page_path, "wb");
  char row[ROW_MAX];
  assert_non_null(file);
  page = copy_to(page, "gate-simulation", file);
  fputs(
      "| sd of a process | rounds | `ab`: failed | undecided | +2 % | +3 % | `--baseline`: failed | undecided | "
      "+2 % | +3 % | `compare`, once: failed | undecided | +2 % | +3 % |\n"
      "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
      file);
  for (size_t i = 0; i < sizeof sds / sizeof *sds * sizeof rounds / sizeof *rounds; ++i) {
    noise_row(sds[i / 3], rounds[i % 3], row);
    fprintf(file, "%s\n", row);
  }
  page = copy_to(page, "gate-steps", file);
  fputs(
      "| sd of a process | failed | undecided | processes | +2 % | processes | +3 % | processes |\n"
      "|--:|--:|--:|--:|--:|--:|--:|--:|\n",
      file);
  for (size_t i = 0; i < sizeof sds / sizeof *sds; ++i) {
    steps_row(sds[i], row);
    fprintf(file, "%s\n", row);
  }
  page = copy_to(page, "gate-worlds", file);
  fputs(
      "| disturbance | as given: failed | undecided | processes | one of the 40 +3 %: failed | undecided | passed | "
      "processes |\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|\n",
      file);
  for (size_t i = 0; i < WORLDS; ++i) {
    world_row(i, row);
    fprintf(file, "%s\n", row);
  }
  fputs(page, file);
  assert_int_equal(fclose(file), 0);
}

TEST(the_published_tables_are_what_the_rule_gives) {
  char *page, row[3][ROW_MAX];
  size_t length;
  assert_ok(json_read_file(page_path, 1 << 20, &page, &length));
  if (getenv("ATTN_UPDATE_GOLDEN") != NULL) {
    rewrite_tables(page);
  } else {
    noise_row(0.006, 5, row[0]);
    world_row(4, row[1]);
    steps_row(0.0045, row[2]);
    for (size_t i = 0; i < 3; ++i) {
      if (strstr(page, row[i]) == NULL) fail_msg("%s does not have this row: %s", page_path, row[i]);
    }
  }
  free(page);
}
