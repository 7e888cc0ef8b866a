#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/measure/halving.h"
#include "tests/unit.h"

/* Microseconds of a candidate in a round, as somebody would measure them. */
struct world {
  double (*us)(const struct world *, size_t candidate, uint32_t round);
  size_t count, best;
  double noise;          /* relative, uniform, to either side */
  size_t budget;         /* measurements of the search; 0: as many as it wants */
  size_t measured, most; /* what was used; of one candidate */
  uint64_t random;
};

static double uniform(struct world *world) {
  world->random = world->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(world->random >> 11) * 0x1p-53;
}

static void measure_round(struct world *world, struct halving *h) {
  for (size_t turn = 0; turn < h->count; ++turn) {
    const size_t candidate = halving_turn(h, turn);
    const bool is_late = world->budget > 0 && h->round == 0 && world->measured >= world->budget;
    if (!halving_wants(h, candidate) || is_late) continue;
    ++world->measured;
    const double noise = 1 + world->noise * (2 * uniform(world) - 1);
    halving_note(h, candidate, world->us(world, candidate, h->round) * noise);
  }
  halving_end_round(h, world->budget > 0 && world->measured >= world->budget);
}

static struct halving_result search(struct world *world, struct halving *h) {
  struct halving_result result;
  assert_true(halving_start(h, world->count));
  for (size_t rounds = 0; !halving_is_over(h); ++rounds) {
    assert_true(rounds < HALVING_ROUNDS_MAX);
    measure_round(world, h);
  }
  for (size_t i = 0; i < h->count; ++i)
    world->most = h->candidates[i].rounds > world->most ? h->candidates[i].rounds : world->most;
  halving_result(h, &result);
  return result;
}

/* The further from the best one the slower, by 1 % a step. */
static double slope(const struct world *world, size_t candidate, uint32_t round) {
  (void)round;
  const double steps = fabs((double)candidate - (double)world->best);
  return 10 * (1 + 0.01 * steps);
}

/* The machine gets slower by a fifth from round to round. */
static double drifting(const struct world *world, size_t candidate, uint32_t round) {
  return slope(world, candidate, round) * pow(1.2, round);
}

static double flat(const struct world *world, size_t candidate, uint32_t round) {
  (void)world, (void)candidate, (void)round;
  return 5;
}

TEST(the_fastest_of_many_is_found_at_the_price_of_a_few_rounds) {
  for (size_t count = 2; count <= 512; count = count * 3 / 2 + 1) {
    struct world world = {.us = slope, .count = count, .best = count - 1, .random = 1};
    struct halving h;
    const struct halving_result result = search(&world, &h);
    assert_int_equal(h.best, count - 1);
    assert_int_equal(result.tried, count);
    assert_int_equal(result.failed, 0);
    assert_true(world.measured <= halving_expected(count) && world.measured <= 3 * count + 60);
    assert_int_equal(result.gain.n, HALVING_FINAL);
    assert_true(fabs(result.gain.median - (1 + 0.01 * (double)(count - 1))) < 1e-9);
    assert_int_equal(halving_verdict(&h, &result, false), HALVING_better);
    halving_free(&h);
  }
}

TEST(few_are_all_measured_in_every_round_of_the_search) {
  struct world world = {.us = slope, .count = HALVING_FEW, .best = 3, .random = 1};
  struct halving h;
  search(&world, &h);
  for (size_t i = 1; i < h.count; ++i)
    assert_int_equal(h.candidates[i].rounds, i == 3 ? HALVING_SEARCH + HALVING_FINAL : HALVING_SEARCH);
  assert_int_equal(h.final_round, HALVING_SEARCH);
  halving_free(&h);
}

TEST(noise_and_drift_cost_little) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    struct world world = {.us = drifting, .count = 100, .best = 60, .noise = 0.02, .random = seed};
    struct halving h;
    const struct halving_result result = search(&world, &h);
    if (fabs((double)h.best - 60) > 4) fail_msg("seed %u chose %zu of 100", (unsigned)seed, h.best);
    assert_true(fabs(result.gain.median / (1.60 / (1 + 0.01 * fabs((double)h.best - 60))) - 1) < 0.05);
    assert_true(result.gain.ci_low > 1.4);
    halving_free(&h);
  }
}

TEST(of_equals_the_default_is_chosen_and_nothing_is_compared) {
  struct world world = {.us = flat, .count = 40, .random = 1};
  struct halving h;
  const struct halving_result result = search(&world, &h);
  assert_int_equal(h.best, 0);
  assert_int_equal(result.gain.n, 0);
  assert_true(result.best_us == 5 && result.default_us == 5);
  assert_int_equal(halving_verdict(&h, &result, false), HALVING_default_best);
  halving_free(&h);
}

/* The luck of the search must not become a claim: of 300 searches among equals few may find a better one. */
TEST(equals_that_differ_by_luck_are_no_better_than_the_default) {
  size_t better = 0, compared = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    struct world world = {.us = flat, .count = 30, .noise = 0.05, .random = seed};
    struct halving h;
    const struct halving_result result = search(&world, &h);
    const enum halving_verdict verdict = halving_verdict(&h, &result, false);
    compared += result.gain.n > 0;
    better += verdict == HALVING_better;
    halving_free(&h);
  }
  assert_true(compared > 250);
  if (better > 15) fail_msg("%zu of %zu equals were called better", better, compared);
}

TEST(a_spent_budget_chooses_among_what_was_tried_and_still_compares) {
  struct world world = {.us = slope, .count = 200, .best = 199, .budget = 20, .random = 1};
  struct halving h;
  const struct halving_result result = search(&world, &h);
  size_t fastest = 0;
  for (size_t i = 0; i < h.count; ++i) fastest = h.candidates[i].rounds > 0 ? i : fastest;
  assert_int_equal(result.tried, 20);
  assert_int_equal(result.failed, 0);
  assert_int_equal(h.best, fastest);
  assert_true(fastest > 150); /* the first ones are spread over all of them */
  assert_int_equal(world.measured, 20 + 2 * HALVING_FINAL);
  assert_int_equal(halving_verdict(&h, &result, false), HALVING_better);
  halving_free(&h);
}

/* The fastest ones fail: at once, in the search, and when they are compared. */
static double failing(const struct world *world, size_t candidate, uint32_t round) {
  if (candidate == 5) return NAN;
  if (candidate == 4 && round == 1) return NAN;
  if (candidate == 3 && round == 5) return NAN;
  return slope(world, candidate, round);
}

TEST(what_fails_is_never_the_best) {
  struct world world = {.us = failing, .count = 6, .best = 5, .random = 1};
  struct halving h;
  struct halving_result result = search(&world, &h);
  assert_int_equal(h.best, 3);
  assert_int_equal(result.failed, 3);
  assert_int_equal(halving_verdict(&h, &result, false), HALVING_worse);
  halving_free(&h);
  world = (struct world){.us = failing, .count = 20, .best = 5, .random = 1};
  result = search(&world, &h);
  assert_false(h.candidates[h.best].has_failed && h.best != 3);
  halving_free(&h);
}

static double without_default(const struct world *world, size_t candidate, uint32_t round) {
  return candidate == 0 ? (double)NAN : slope(world, candidate, round);
}

static double hopeless(const struct world *world, size_t candidate, uint32_t round) {
  (void)world, (void)candidate, (void)round;
  return NAN;
}

TEST(a_default_that_does_not_run_leaves_a_best_without_a_comparison) {
  struct world world = {.us = without_default, .count = 20, .best = 7, .random = 1};
  struct halving h;
  struct halving_result result = search(&world, &h);
  assert_int_equal(h.best, 7);
  assert_true(result.best_us == 10 && isnan(result.default_us) && result.gain.n == 0);
  assert_int_equal(halving_verdict(&h, &result, true), HALVING_no_default);
  halving_free(&h);
  world = (struct world){.us = hopeless, .count = 20, .random = 1};
  result = search(&world, &h);
  assert_int_equal(world.measured, 20);
  assert_int_equal(result.failed, 20);
  assert_int_equal(halving_verdict(&h, &result, true), HALVING_none);
  assert_int_equal(halving_verdict(&h, &result, false), HALVING_not_taken);
  halving_free(&h);
}

TEST(a_search_that_was_cut_off_claims_nothing) {
  struct world world = {.us = slope, .count = 4, .best = 3, .random = 1};
  struct halving h;
  struct halving_result result;
  assert_true(halving_start(&h, world.count));
  for (size_t round = 0; round < HALVING_SEARCH + 2; ++round) {
    halving_result(&h, &result);
    assert_int_equal(halving_verdict(&h, &result, false), HALVING_unfinished);
    measure_round(&world, &h);
  }
  halving_free(&h);
}

TEST(turns_are_everybody_once_the_default_first_and_then_the_other_way_round) {
  for (size_t count = 1; count <= 130; ++count) {
    struct halving h;
    bool seen[130] = {false};
    assert_true(halving_start(&h, count));
    for (size_t turn = 0; turn < count; ++turn) {
      const size_t candidate = halving_turn(&h, turn);
      assert_true(candidate < count && !seen[candidate]);
      seen[candidate] = true;
      assert_true(turn > 0 || candidate == 0);
    }
    for (size_t turn = 1; turn < count; ++turn) {
      h.round = 0;
      const size_t forward = halving_turn(&h, turn);
      h.round = 1;
      assert_int_equal(halving_turn(&h, count - turn), forward);
    }
    halving_free(&h);
  }
}
