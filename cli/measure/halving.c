/* Chooses among candidates by successive halving. */
#include "cli/measure/halving.h"

#include <math.h>

#include "cli/base/owned.h"

/* ---- candidates ------------------------------------------------------------------------------------------------ */

bool halving_start(struct halving *h, size_t count) {
  *h =
      (struct halving){.candidates = calloc(count, sizeof *h->candidates), .count = count, .final_round = UINT32_MAX};
  for (size_t i = 0; h->candidates != NULL && i < count; ++i) {
    for (size_t round = 0; round < HALVING_ROUNDS_MAX; ++round) h->candidates[i].us[round] = NAN;
  }
  return h->candidates != NULL;
}

void halving_free(struct halving *h) {
  free(h->candidates);
  *h = (struct halving){.count = 0};
}

/* A stride that has no factor in common with `others` visits each of them once. */
static size_t stride_of(size_t others) {
  size_t stride = (size_t)((double)others * 0.618) | 1;
  for (;; stride += 2) {
    size_t a = others, b = stride;
    while (b != 0) {
      const size_t rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1) return stride;
  }
}

size_t halving_turn(const struct halving *h, size_t turn) {
  const size_t others = h->count - 1;
  if (turn == 0 || others == 0) return 0;
  const size_t place = h->round % 2 == 0 ? turn - 1 : others - turn;
  return 1 + place * stride_of(others) % others;
}

bool halving_wants(const struct halving *h, size_t candidate) {
  return !halving_is_over(h) && !h->candidates[candidate].is_out;
}

void halving_note(struct halving *h, size_t candidate, double us) {
  struct halving_candidate *c = &h->candidates[candidate];
  c->us[h->round] = us;
  ++c->rounds;
  if (!isnan(us)) return;
  c->is_out = c->has_failed = true;
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

/* Its times over those of the default in the same rounds; without a default that runs, its times. */
static double score_of(const struct halving *h, size_t candidate) {
  const struct halving_candidate *c = &h->candidates[candidate], *unit = &h->candidates[0];
  double scores[HALVING_ROUNDS_MAX];
  size_t count = 0;
  for (size_t round = 0; round <= h->round; ++round) {
    const double score = unit->has_failed ? c->us[round] : c->us[round] / unit->us[round];
    if (!isnan(score)) scores[count++] = score;
  }
  return count > 0 ? stats_median(scores, count) : INFINITY;
}

/* How many of the others in play are faster; of equals the earlier one counts as faster. */
static size_t rank_of(const struct halving *h, const double *scores, size_t candidate) {
  size_t rank = 0;
  for (size_t i = 1; i < h->count; ++i) {
    if (h->candidates[i].is_out || i == candidate) continue;
    rank += scores[i] < scores[candidate] || (i < candidate && !(scores[i] > scores[candidate]));
  }
  return rank;
}

/* The fastest `most` stay beside the default, which they are held against. Without memory all stay. */
static void keep_fastest(struct halving *h, size_t most) {
  OWNED(owned_free) double *scores = malloc(h->count * sizeof *scores);
  OWNED(owned_free) bool *stays = calloc(h->count, sizeof *stays);
  if (scores == NULL || stays == NULL) return;
  for (size_t i = 1; i < h->count; ++i) scores[i] = score_of(h, i);
  for (size_t i = 1; i < h->count; ++i) stays[i] = rank_of(h, scores, i) < most;
  for (size_t i = 1; i < h->count; ++i) h->candidates[i].is_out |= !stays[i];
}

/* Without the default. */
static size_t others_in_play(const struct halving *h) {
  size_t count = 0;
  for (size_t i = 1; i < h->count; ++i) count += !h->candidates[i].is_out;
  return count;
}

/* How many of so many others stay after a round. */
static size_t half_of(size_t others) {
  const size_t few = HALVING_FEW - 1, half = (others + 1) / 2;
  return others <= few ? others : half > few ? half : few;
}

size_t halving_fastest(const struct halving *h) {
  size_t best = 0;
  double least = h->candidates[0].is_out ? INFINITY : score_of(h, 0);
  for (size_t i = 1; i < h->count; ++i) {
    if (h->candidates[i].is_out || !(score_of(h, i) < least)) continue;
    best = i;
    least = score_of(h, i);
  }
  return best;
}

static void choose(struct halving *h) {
  h->best = halving_fastest(h);
  h->final_round = h->round + 1;
  for (size_t i = 1; i < h->count; ++i) h->candidates[i].is_out = h->candidates[i].is_out || i != h->best;
}

void halving_end_round(struct halving *h, bool stops) {
  const bool is_last = h->round + 1 + HALVING_FINAL >= HALVING_ROUNDS_MAX;
  for (size_t i = 0; i < h->count; ++i) h->candidates[i].is_out |= h->candidates[i].rounds == 0;
  if (halving_is_searching(h)) {
    const size_t others = others_in_play(h);
    const bool is_few = half_of(others) == others;
    if (stops || is_last || others == 0 || (is_few && h->round + 1 >= HALVING_SEARCH)) {
      choose(h);
    } else {
      keep_fastest(h, half_of(others));
    }
  }
  ++h->round;
}

bool halving_is_searching(const struct halving *h) { return h->final_round == UINT32_MAX; }

/* A default that was chosen, or does not run, has nothing to be held against. */
bool halving_is_over(const struct halving *h) {
  if (halving_is_searching(h)) return false;
  const bool has_pair = h->best != 0 && !h->candidates[0].is_out && !h->candidates[h->best].is_out;
  return !has_pair || h->round >= h->final_round + HALVING_FINAL;
}

size_t halving_expected(size_t count) {
  size_t sum = 0, others = count - 1;
  for (uint32_t round = 1;; ++round) {
    sum += 1 + others;
    if (half_of(others) == others && round >= HALVING_SEARCH) return sum + 2 * HALVING_FINAL;
    others = half_of(others);
  }
}

/* ---- the result ------------------------------------------------------------------------------------------------ */

static double median_from(const struct halving *h, size_t candidate, uint32_t first_round) {
  double us[HALVING_ROUNDS_MAX];
  size_t count = 0;
  for (uint32_t round = first_round; round < HALVING_ROUNDS_MAX; ++round) {
    const double value = h->candidates[candidate].us[round];
    if (!isnan(value)) us[count++] = value;
  }
  return count > 0 ? stats_median(us, count) : (double)NAN;
}

void halving_result(const struct halving *h, struct halving_result *out) {
  double gain[HALVING_ROUNDS_MAX];
  size_t count = 0;
  *out = (struct halving_result){.best_us = NAN, .default_us = NAN};
  for (size_t i = 0; i < h->count; ++i) {
    out->tried += h->candidates[i].rounds > 0;
    out->failed += h->candidates[i].has_failed;
  }
  for (uint32_t round = h->final_round; round < HALVING_ROUNDS_MAX; ++round) {
    const double ratio = h->candidates[0].us[round] / h->candidates[h->best].us[round];
    if (h->best != 0 && !isnan(ratio)) gain[count++] = ratio;
  }
  if (count > 0) out->gain = stats_of(gain, count);
  const uint32_t first = count > 0 ? h->final_round : 0;
  if (!h->candidates[h->best].has_failed) out->best_us = median_from(h, h->best, first);
  if (!h->candidates[0].has_failed) out->default_us = median_from(h, 0, first);
}

enum halving_verdict halving_verdict(const struct halving *h, const struct halving_result *result, bool any_failed) {
  const bool has_default = !isnan(result->default_us), has_best = !isnan(result->best_us);
  if (!halving_is_over(h)) return HALVING_unfinished;
  if (!has_default && (h->best == 0 || !has_best)) return any_failed ? HALVING_none : HALVING_not_taken;
  if (h->best == 0) return HALVING_default_best;
  if (!has_default) return HALVING_no_default;
  if (!has_best) return HALVING_worse;
  if (result->gain.n < HALVING_FINAL) return HALVING_unfinished;
  if (result->gain.ci_low > 1) return HALVING_better;
  return result->gain.ci_high < 1 ? HALVING_worse : HALVING_no_better;
}
