#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gate/witness.h"
#include "tests/unit.h"

enum { PAIRS = 5 };

/* Five pairs: each process of the base takes 2.1 s and says 2 s, and `of_them` of the new side as given. */
static bool is_believed(double told_s, double seen_s, uint32_t of_them) {
  static struct journal_data base, now;
  struct witness witness = {.now.count = 0};
  struct compare compare = {.base = &base, .now = &now, .comparable = true};
  base.wall_s = 2;
  for (uint32_t i = 0; i < PAIRS; ++i) {
    now.wall_s = i < of_them ? told_s : 2;
    witness_add(&witness.base, &base, (const double[WITNESS_COUNT]){2.05, 2.1});
    witness_add(&witness.now, &now,
                (const double[WITNESS_COUNT]){i < of_them ? seen_s - 0.05 : 2.05, i < of_them ? seen_s : 2.1});
  }
  witness_judge(&witness, &compare);
  assert_int_equal(compare.difference_count > 0, !compare.comparable);
  assert_true(compare.comparable || compare.difference[0].fatal);
  assert_true(compare.comparable || compare.exit_code == EXIT_CODE_NOT_COMPARABLE);
  return compare.comparable;
}

TEST(time_that_both_sides_spend_outside_is_no_lie) {
  assert_true(is_believed(2, 2.1, PAIRS));
  assert_true(is_believed(1, 1.1, PAIRS));
  assert_true(is_believed(4, 4.2, PAIRS));
}

TEST(a_clock_of_ones_own_is_seen) {
  assert_false(is_believed(1, 2.1, PAIRS));
  assert_false(is_believed(1.6, 2.1, PAIRS));
  assert_false(is_believed(2.6, 2.1, PAIRS));
}

TEST(a_machine_that_was_busy_now_and_then_is_no_lie) {
  assert_true(is_believed(2, 9, 1));
  assert_true(is_believed(2, 9, 2));
  assert_false(is_believed(2, 9, PAIRS));
}

/* The mean is 3.3 standard errors away from 0, which the scatter of five pairs reaches by chance in 3 % of all cases.
 */
TEST(scatter_of_few_pairs_is_no_lie) {
  static const double seen_s[PAIRS] = {2.2, 2.9, 2.4, 3.3, 2.6};
  static struct journal_data base = {.wall_s = 2}, now = {.wall_s = 2};
  struct witness witness = {.now.count = 0};
  struct compare compare = {.base = &base, .now = &now, .comparable = true};
  for (uint32_t i = 0; i < PAIRS; ++i) {
    witness_add(&witness.base, &base, (const double[WITNESS_COUNT]){2.05, 2.1});
    witness_add(&witness.now, &now, (const double[WITNESS_COUNT]){seen_s[i], seen_s[i] + 0.05});
  }
  assert_true(witness_doubts(&witness));
  witness_judge(&witness, &compare);
  assert_true(compare.comparable);
}

/* Fewer pairs than a verdict needs: what they say is doubted, and more have to tell. */
TEST(few_pairs_leave_a_doubt) {
  static struct journal_data base = {.wall_s = 2}, now;
  for (unsigned lies = 0; lies < 2; ++lies) {
    struct witness witness = {.now.count = 0};
    struct compare compare = {.base = &base, .now = &now, .comparable = true};
    now.wall_s = lies != 0 ? 1 : 2;
    assert_false(witness_doubts(&witness));
    for (uint32_t i = 0; i < 3; ++i) {
      witness_add(&witness.base, &base, (const double[WITNESS_COUNT]){2.05, 2.1});
      witness_add(&witness.now, &now, (const double[WITNESS_COUNT]){2.05, 2.1});
    }
    assert_int_equal(witness_doubts(&witness), lies != 0);
    witness_judge(&witness, &compare);
    assert_true(compare.comparable);
  }
}

TEST(what_was_written_late_is_seen_by_the_process) {
  static struct journal_data base = {.wall_s = 2}, now = {.wall_s = 2};
  struct witness witness = {.now.count = 0};
  struct compare compare = {.base = &base, .now = &now, .comparable = true};
  for (uint32_t i = 0; i < PAIRS; ++i) {
    witness_add(&witness.base, &base, (const double[WITNESS_COUNT]){2, 2.1});
    witness_add(&witness.now, &now, (const double[WITNESS_COUNT]){2, 4.1});
  }
  witness_judge(&witness, &compare);
  assert_int_equal(compare.difference_count, 1);
  assert_string_equal(compare.difference[0].key, "time of the processes");
}

/* Others keep so many processors busy beside `of_them` processes of the base, which take 2.1 s each, and beside none
 * of the new side, which take `new_s`. Each process of the base uses one processor, and each of the new side so many.
 */
static bool is_fair_to(double load, uint32_t of_them, double used_by_new, double new_s) {
  static struct journal_data base = {.wall_s = 2}, now;
  struct witness witness = {.now.count = 0};
  struct compare compare = {.base = &base, .now = &now, .comparable = true};
  now.wall_s = new_s - 0.1;
  for (uint32_t i = 0; i < PAIRS; ++i) {
    const double others_s = i < of_them ? 2.1 * load : 0.01 * i;
    witness_add(&witness.base, &base, (const double[WITNESS_COUNT]){2, 2.1, others_s, others_s + 2.1});
    witness_add(&witness.now, &now, (const double[WITNESS_COUNT]){new_s, new_s, 0.02, 0.02 + new_s * used_by_new});
  }
  witness_judge(&witness, &compare);
  if (!compare.comparable) assert_string_equal(compare.difference[0].key, "load of other processes");
  if (!compare.comparable) assert_non_null(strstr(compare.difference[0].base, "processors busy"));
  return compare.comparable;
}

static bool is_fair(double load, uint32_t of_them, double used_by_new) {
  return is_fair_to(load, of_them, used_by_new, 2.1);
}

TEST(load_beside_one_side_alone_is_no_comparison) {
  assert_true(is_fair(0.3, PAIRS, 1));
  assert_true(is_fair(1, 1, 1));
  assert_true(is_fair(1, 3, 1));
  assert_false(is_fair(1, PAIRS, 1));
  assert_true(is_fair(NAN, PAIRS, 1)); /* it is not known */
  assert_true(is_fair(NAN, 1, 1));
}

TEST(a_side_that_takes_processors_away_from_others_is_no_load) {
  assert_true(is_fair(1, PAIRS, 2));
  assert_true(is_fair(0, 0, 3));        /* on a machine with idle ones */
  assert_true(is_fair_to(0, 0, 1, 21)); /* a longer process, with as many busy in each second */
  assert_false(is_fair_to(2, PAIRS, 1, 21));
}

TEST(samples_cannot_take_longer_than_the_process) {
  struct record record;
  record_start(&record);
  record.time[TIME_HOT] = record_time_unknown();
  record.time[TIME_HOT].done = true;
  record.time[TIME_HOT].us.n = 100;
  record.time[TIME_HOT].us.median = 1e5;
  record.time[TIME_HOT].launches_per_sample = 2;
  const struct journal_data told = {.records = &record, .record_count = 1, .wall_s = 2};
  struct witness_side side = {.count = 0};
  witness_add(&side, &told, (const double[WITNESS_COUNT]){2, 2.1});
  assert_true(side.told_s[0] > 19.9 && side.told_s[0] < 20.1);
}
