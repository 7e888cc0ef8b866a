/* Draws the order of the programs within pairs. */
#include "cli/gate/compare.h"

#include <time.h>
#include <unistd.h>

static void draw(uint64_t *state, uint32_t rounds, bool *candidate_first) {
  const bool odd_one = random_next(state) % 2 == 0;
  for (uint32_t i = 0; i < rounds; ++i)
    candidate_first[i] = i < rounds / 2 || (i == rounds - 1 && odd_one && rounds % 2 == 1);
  for (uint32_t i = rounds; i > 1; --i) {
    const uint32_t j = random_below(state, i);
    const bool kept = candidate_first[i - 1];
    candidate_first[i - 1] = candidate_first[j];
    candidate_first[j] = kept;
  }
}

static uint64_t state_of(uint64_t seed, uint32_t measurement) {
  return seed + measurement * UINT64_C(0xd1342543de82ef95);
}

void order_draw(uint64_t seed, uint32_t measurement, uint32_t rounds, bool *candidate_first) {
  uint64_t state = state_of(seed, measurement);
  draw(&state, rounds, candidate_first);
}

void order_draw_steps(uint64_t seed, uint32_t measurement, uint32_t rounds, uint32_t first, uint32_t step,
                      bool *candidate_first) {
  uint64_t state = state_of(seed, measurement);
  for (uint32_t from = 0, to = first; from < rounds; from = to, to += step) {
    if (to > rounds) to = rounds;
    draw(&state, to - from, candidate_first + from);
  }
}

uint64_t order_seed(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t state = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec + ((uint64_t)getpid() << 40);
  const uint64_t seed = random_next(&state) >> 12; /* a number that every JSON reader holds exactly */
  return seed != 0 ? seed : 1;
}
