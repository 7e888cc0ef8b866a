/* A synthetic history of 500 commits with planted steps, a drift of the card, another card, a reverted slowdown and
 * one that was reverted in part: what is found, and what is not. */
#include "cli/base/hash.h"
#include "cli/gate/history.h"
#include "tests/compare_data.h"
#include "tests/unit.h"
#include "tests/unit_near.h"

enum { COMMITS = 500, CELLS = 9 };

static uint64_t random_state;

static double uniform(void) { return ((double)(random_next(&random_state) >> 11) + 0.5) * 0x1p-53; }
static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

/* What the kernel of a cell does at a commit, as a difference of logarithms. */
static double planted(size_t cell, size_t commit) {
  switch (cell) {
    case 0: return commit >= 250 ? 0.01 : 0;
    case 1: return commit >= 120 ? 0.02 : 0;
    case 2: return commit >= 400 ? 0.03 : 0;
    case 3: return commit >= 495 ? 0.05 : 0;
    case 4: return commit >= 300 && commit < 340 ? 0.04 : 0;      /* reverted */
    case 5: return commit < 150 ? 0 : commit < 350 ? 0.06 : 0.02; /* partly reverted */
    default: return 0;
  }
}

/* What the card does: it slows down over the months, and is another one from commit 180 on. */
static double of_card(size_t commit) { return 0.0001 * (double)commit + (commit >= 180 ? 0.03 : 0); }

struct world {
  bool in_turns, has_anchor, has_card; /* a reference in turns; rows of cudnn; a card that changes */
  const char *driver;                  /* another driver from commit 250 on */
  double of_reference;                 /* how the time of the reference changes at commit 380, as a logarithm */
  const char *library;                 /* another version of cuDNN from commit 380 on; needs rows of cudnn */
  size_t library_at;                   /* or from this one on */
  const char *reference_library;       /* another version of the library of the reference in turns from 380 on */
  size_t wrong_from;                   /* the kernel of cell 6 is wrong from this commit on; 0: never */
  size_t alone_from;                   /* that of cell 7 has no ratio from this commit on; 0: always one */
};

static void add_run(struct history *history, struct world world, size_t commit) {
  struct journal_data data = data_report(CELLS + 1);
  const double card = (world.has_card ? of_card(commit) : 0) + 0.004 * normal();
  bool is_new;
  snprintf(data.run.git_commit, sizeof data.run.git_commit, "%08zx", commit * 7919 + 0x1000000);
  snprintf(data.run.started_utc, sizeof data.run.started_utc, "%zu-%02zu-%02zuT02:00:00Z", 2025 + commit / 336,
           1 + commit / 28 % 12, 1 + commit % 28);
  snprintf(data.device.uuid, sizeof data.device.uuid, "GPU-%d", world.has_card && commit >= 180);
  if (world.driver != NULL && commit >= 250)
    snprintf(data.device.driver, sizeof data.device.driver, "%s", world.driver);
  for (size_t i = 0; i <= CELLS; ++i) {
    struct record *record = &data.records[i];
    const double us = 100 * exp(planted(i, commit) + card + 0.003 * normal());
    data_observe(record, TIME_HOT, us, 1980);
    record->process[TIME_HOT].count = 0;
    record->time[TIME_HOT].us.ci_low = us * 0.998;
    record->time[TIME_HOT].us.ci_high = us * 1.002;
    if (i == CELLS && world.has_anchor) data_record(record, CELLS + 1, "cudnn", CELL_ok);
    if (i == CELLS && world.has_anchor) data_observe(record, TIME_HOT, us, 1980);
    if (i == CELLS && world.library != NULL) {
      record->plan.pass_count = 1;
      snprintf(record->pass[0].name, sizeof record->pass[0].name, "%s",
               commit >= (world.library_at > 0 ? world.library_at : 380) ? world.library : "cuDNN 9.14.0");
    }
    if (world.reference_library != NULL)
      snprintf(record->speedup.library, sizeof record->speedup.library, "%s",
               commit >= 380 ? world.reference_library : "fa3 3.0.0");
    if (i == 6 && world.wrong_from > 0 && commit >= world.wrong_from) record->status = CELL_wrong;
    if (i == 7 && world.alone_from > 0 && commit >= world.alone_from) continue;
    if (!world.in_turns || i == CELLS) continue;
    snprintf(record->speedup.reference, sizeof record->speedup.reference, "cudnn");
    const double ratio = 90 * exp(card + (commit >= 380 ? world.of_reference : 0) + 0.002 * normal()) / us;
    record->speedup.mode[TIME_HOT] =
        (struct ratio_record){.done = true, .ratio = ratio, .ci_low = ratio * 0.998, .ci_high = ratio * 1.002};
  }
  assert_int_equal(history_add(history, "some.json", &data, &is_new).code, STATUS_OK);
  assert_true(is_new);
  assert_int_equal(history_add(history, "again.json", &data, &is_new).code, STATUS_OK);
  assert_false(is_new);
  journal_free(&data);
}

static struct history make(struct world world) {
  struct history history = {.run_count = 0};
  random_state = 26;
  /* Newest first: the order of files is no order of runs. */
  for (size_t commit = COMMITS; commit-- > 0;) add_run(&history, world, commit);
  assert_int_equal(history_judge(&history).code, STATUS_OK);
  return history;
}

/* The series of a cell; its cases differ in B. */
static const struct history_series *series_of(const struct history *history, size_t cell) {
  char start[8];
  snprintf(start, sizeof start, "B%zu.", cell + 1);
  for (size_t i = 0; i < history->series_count; ++i) {
    if (strncmp(history->series[i].key, start, strlen(start)) == 0) return &history->series[i];
  }
  fail_msg("no series of cell %zu", cell);
  return NULL;
}

static size_t commit_of(const struct history *history, const struct history_series *series, size_t point) {
  return (strtoul(history->runs[series->points[point].run].commit, NULL, 16) - 0x1000000) / 7919;
}

static void expect_step(const struct history *history, size_t cell, size_t commit, double step) {
  const struct history_series *series = series_of(history, cell);
  assert_int_equal(series->change_count, 1);
  const struct history_change *change = &series->changes[0];
  assert_true(history_is_regression(series, change));
  assert_near(change->point.shift, step, 0.004);
  assert_near((double)commit_of(history, series, change->point.at), (double)commit, 3);
  /* One range in twenty lacks the commit, then by little. */
  assert_true(commit_of(history, series, change->good) < commit + 3);
  assert_true(commit_of(history, series, change->bad) + 3 >= commit);
  assert_true(change->bad - change->good < 16);
}

static void expect_planted(const struct history *history) {
  expect_step(history, 0, 250, 0.01);
  expect_step(history, 1, 120, 0.02);
  expect_step(history, 2, 400, 0.03);
  expect_step(history, 3, 495, 0.05);
  const struct history_series *reverted = series_of(history, 4);
  assert_int_equal(reverted->change_count, 2);
  assert_int_equal(reverted->changes[0].state, HISTORY_REVERTED);
  assert_false(history_is_regression(reverted, &reverted->changes[0]));
  const struct history_series *partly = series_of(history, 5);
  assert_int_equal(partly->change_count, 2);
  assert_int_equal(partly->changes[0].state, HISTORY_PARTLY);
  assert_true(history_is_regression(partly, &partly->changes[0]));
  assert_near(partly->changes[0].left, 0.02, 0.004);
  assert_int_equal(partly->changes[1].state, HISTORY_STANDS);
  for (size_t cell = 6; cell < CELLS; ++cell) {
    assert_int_equal(series_of(history, cell)->change_count, 0);
    assert_true(isnan(series_of(history, cell)->drift));
  }
}

TEST(the_reference_in_turns_tells_kernels_from_cards) {
  struct history history = make((struct world){.in_turns = true, .has_card = true});
  assert_int_equal(history.run_count, COMMITS);
  assert_int_equal(series_of(&history, 0)->basis, HISTORY_IN_TURNS);
  expect_planted(&history);
  history_free(&history);
}

TEST(the_vendors_rows_are_anchors_where_there_is_no_reference) {
  struct history history = make((struct world){.has_anchor = true, .has_card = true});
  assert_int_equal(series_of(&history, 0)->basis, HISTORY_ANCHORED);
  assert_int_equal(series_of(&history, 1)->change_count, 1);
  expect_step(&history, 2, 400, 0.03);
  for (size_t cell = 6; cell < CELLS; ++cell) assert_int_equal(series_of(&history, cell)->change_count, 0);
  history_free(&history);
}

/* Without either a change of the card is seen, and named as what else changed. */
TEST(a_change_with_the_card_is_no_regression) {
  struct history history = make((struct world){.has_card = true});
  const struct history_series *series = series_of(&history, 6);
  assert_int_equal(series->basis, HISTORY_ALONE);
  assert_true(series->change_count > 0 || !isnan(series->drift));
  for (size_t i = 0; i < series->change_count; ++i) {
    const struct history_change *change = &series->changes[i];
    if (change->good < 180 && change->bad >= 180) assert_string_equal(change->besides, "another card");
  }
  history_free(&history);
}

TEST(a_change_with_the_driver_is_no_regression) {
  struct history history = make((struct world){.in_turns = true, .driver = "590.1"});
  const struct history_series *series = series_of(&history, 0);
  assert_int_equal(series->change_count, 1);
  assert_string_equal(series->changes[0].besides, "another driver (580.159.04, then 590.1)");
  assert_false(history_is_regression(series, &series->changes[0]));
  history_free(&history);
}

/* A faster reference looks like slower kernels: it is named, but a kernel that became slower is not excused by it. */
TEST(a_change_of_the_reference_is_named) {
  struct history history = make((struct world){.in_turns = true, .of_reference = -0.05});
  char doubt[HISTORY_DOUBT_MAX];
  struct history_item item = {.history = &history, .series = series_of(&history, 7)};
  assert_int_equal(item.series->change_count, 1);
  item.change = &item.series->changes[0];
  assert_true(item.change->may_be_reference);
  assert_true(history_is_regression(item.series, item.change));
  assert_near(item.change->own, 0, 0.002);
  assert_near(item.change->reference, -0.05, 0.002);
  history_sinks_doubt(&item, doubt);
  assert_non_null(strstr(doubt, "its own time changed by "));
  assert_non_null(strstr(doubt, ", that of the reference cudnn by -4."));

  item.series = series_of(&history, 1);
  assert_int_equal(item.series->change_count, 2);
  item.change = &item.series->changes[0];
  assert_false(item.change->may_be_reference);
  assert_near(item.change->own, 0.02, 0.002);
  history_sinks_doubt(&item, doubt);
  assert_string_equal(doubt, "");
  assert_true(item.series->changes[1].may_be_reference);
  history_free(&history);
}

/* Another version of the reference's library is named like another driver, but excuses no row whose own time changed.
 */
TEST(a_change_of_the_vendors_library_is_no_regression) {
  struct history history =
      make((struct world){.in_turns = true, .has_anchor = true, .of_reference = -0.05, .library = "cuDNN 9.15.1"});
  const struct history_series *series = series_of(&history, 7);
  assert_int_equal(series->change_count, 1);
  assert_string_equal(series->changes[0].besides, "another library (cuDNN 9.14.0, then cuDNN 9.15.1)");
  assert_false(history_is_regression(series, &series->changes[0]));
  history_free(&history);
  history = make((struct world){.in_turns = true, .has_anchor = true, .library = "cuDNN 9.15.1", .library_at = 400});
  series = series_of(&history, 2);
  assert_int_equal(series->change_count, 1);
  assert_string_equal(series->changes[0].besides, "");
  assert_true(history_is_regression(series, &series->changes[0]));
  history_free(&history);
}

TEST(a_change_of_the_library_of_the_reference_is_no_regression) {
  struct history history =
      make((struct world){.in_turns = true, .of_reference = -0.05, .reference_library = "fa3 3.0.1"});
  const struct history_series *series = series_of(&history, 7);
  assert_int_equal(series->change_count, 1);
  assert_string_equal(series->changes[0].besides, "another library (fa3 3.0.0, then fa3 3.0.1)");
  assert_true(history_is_regression(series_of(&history, 1), &series_of(&history, 1)->changes[0]));
  history_free(&history);
}

/* Runs of old commits, measured today in any order. */
TEST(a_list_of_commits_orders_the_runs) {
  struct history history = {.run_count = 0};
  char list[64 * 32] = "", line[32];
  size_t dropped;
  random_state = 1;
  for (size_t commit = 0; commit < 64; ++commit) add_run(&history, (struct world){.in_turns = true}, commit);
  for (size_t commit = 60; commit-- > 0;) {
    snprintf(line, sizeof line, "%08zxffff 2026\n", commit * 7919 + 0x1000000);
    strncat(list, line, sizeof list - strlen(list) - 1);
  }
  assert_int_equal(history_order(&history, list, &dropped).code, STATUS_OK);
  assert_int_equal(dropped, 4);
  assert_int_equal(history_judge(&history).code, STATUS_OK);
  const struct history_series *series = series_of(&history, 0);
  assert_int_equal(series->count, 60);
  assert_int_equal(commit_of(&history, series, 0), 59);
  assert_int_equal(commit_of(&history, series, 59), 0);
  history_free(&history);
}

/* A command for each slowdown that was not wholly reverted, the largest first. */
TEST(bisect_names_the_pair) {
  struct history history = make((struct world){.in_turns = true});
  char *text = NULL;
  size_t length = 0, lines = 0;
  FILE *file = open_memstream(&text, &length);
  assert_int_equal(history_sinks_bisect(&history, file).code, STATUS_OK);
  fclose(file);
  for (size_t i = 0; i < length; ++i) lines += text[i] == '\n';
  assert_int_equal(lines, 10);
  assert_non_null(strstr(text, "# B4.H8.Hkv8.Sq512.Skv512.D64.f16.full wmma hot: +"));
  assert_non_null(strstr(text, "--modes hot --shape B4.H8.Hkv8.Sq512.Skv512.D64.f16.full --variants wmma\n"));
  assert_true(strstr(text, "# B4.") < strstr(text, "# B3.") && strstr(text, "# B3.") < strstr(text, "# B2."));
  free(text);
  history_free(&history);
}

static struct status add_other_sweep(struct history *history) {
  struct journal_data data = data_report(1);
  bool is_new;
  snprintf(data.run.started_utc, sizeof data.run.started_utc, "2030-01-01T00:00:00Z");
  data_record(&data.records[0], 77, "other", CELL_ok);
  data_observe(&data.records[0], TIME_HOT, 10, 1980);
  const struct status status = history_add(history, "other.json", &data, &is_new);
  journal_free(&data);
  return status;
}

TEST(a_kernel_that_the_newest_runs_have_no_time_of_is_named) {
  struct history_gone *gone = NULL;
  size_t count;
  char line[HISTORY_LINE_MAX];
  struct history history = make(
      (struct world){.in_turns = true, .has_anchor = true, .wrong_from = COMMITS - 3, .alone_from = COMMITS - 9});
  assert_int_equal(gone_list(&history, &gone, &count).code, STATUS_OK);
  /* A row that lost its ratio begins another series, and is timed all the same. */
  assert_int_equal(count, 1);
  assert_string_equal(gone[0].key, series_of(&history, 6)->key);
  assert_int_equal(gone[0].cases, 1);
  assert_int_equal(gone[0].runs, 3);
  assert_int_equal(gone[0].last, COMMITS - 4);
  history_sinks_gone(&history, &gone[0], line);
  assert_non_null(strstr(line, " has no time in the newest 3 runs at B7."));
  free(gone);
  history_free(&history);
}

TEST(runs_of_another_sweep_say_nothing_of_a_kernel) {
  struct history_gone *gone = NULL;
  struct history history = {.run_count = 0};
  size_t count;
  random_state = 26;
  for (size_t commit = 0; commit < 3; ++commit) add_run(&history, (struct world){.has_anchor = true}, commit);
  assert_int_equal(add_other_sweep(&history).code, STATUS_OK);
  assert_int_equal(history_judge(&history).code, STATUS_OK);
  assert_int_equal(gone_list(&history, &gone, &count).code, STATUS_OK);
  assert_int_equal(count, 0);
  free(gone);
  history_free(&history);
}
