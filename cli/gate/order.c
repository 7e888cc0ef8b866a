/* Draws the order of the programs within pairs. */
#include "cli/gate/order.h"

#include <time.h>
#include <unistd.h>

/* SplitMix64 (Steele, Lea, Flood). */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

void order_draw(uint64_t seed, uint32_t measurement, uint32_t rounds, bool *candidate_first) {
  uint64_t state = seed + measurement * UINT64_C(0xd1342543de82ef95);
  const bool odd_one = next_random(&state) % 2 == 0;
  for (uint32_t i = 0; i < rounds; ++i)
    candidate_first[i] = i < rounds / 2 || (i == rounds - 1 && odd_one && rounds % 2 == 1);
  for (uint32_t i = rounds; i > 1; --i) {
    const uint32_t j = (uint32_t)(next_random(&state) % i);
    const bool kept = candidate_first[i - 1];
    candidate_first[i - 1] = candidate_first[j];
    candidate_first[j] = kept;
  }
}

uint64_t order_seed(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t state = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec + ((uint64_t)getpid() << 40);
  const uint64_t seed = next_random(&state) >> 12; /* a number that every JSON reader holds exactly */
  return seed != 0 ? seed : 1;
}
