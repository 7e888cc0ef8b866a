/* Draws the processes of gates at random. */
#include "cli/rates/drawn.h"

#include <string.h>

static void shuffle(uint64_t *state, uint8_t *items, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) items[i] = (uint8_t)i;
  for (uint32_t i = count; i > 1; --i) {
    const uint32_t j = random_below(state, i);
    const uint8_t kept = items[i - 1];
    items[i - 1] = items[j];
    items[j] = kept;
  }
}

bool draws_leave_over(const struct draws_source *source) {
  return source->processes >= (source->paired ? 4 : 3) * source->rounds;
}

/* Neighbours in time, each pair in random order. */
static void take_pairs(struct draws_source *source, const uint8_t *pairs, uint8_t *base, uint8_t *now) {
  for (uint32_t i = 0; i < source->rounds; ++i) {
    const uint32_t turned = random_below(&source->random, 2);
    base[i] = (uint8_t)(2 * pairs[i] + turned);
    now[i] = (uint8_t)(2 * pairs[i] + 1 - turned);
  }
}

static void draw_paired(struct draws_source *source, struct draws *out) {
  uint8_t pairs[DRAWS_ROUNDS_MAX];
  shuffle(&source->random, pairs, source->processes / 2);
  take_pairs(source, pairs, out->base[0], out->now[0]);
  for (unsigned look = 1; look < DRAWS_LOOKS; ++look) {
    const bool left = look == 1 && draws_leave_over(source);
    if (!left) shuffle(&source->random, pairs, source->processes / 2);
    take_pairs(source, left ? pairs + source->rounds : pairs, out->base[look], out->now[look]);
  }
}

static void draw_samples(struct draws_source *source, struct draws *out) {
  uint8_t items[PROCESSES_MAX], others[PROCESSES_MAX];
  const uint32_t rounds = source->rounds, rest = source->processes - rounds;
  shuffle(&source->random, items, source->processes);
  for (unsigned look = 0; look < DRAWS_LOOKS; ++look) {
    const bool left = look == 1 && draws_leave_over(source);
    memcpy(out->base[look], items, rounds);
    if (look > 0 && !left) shuffle(&source->random, others, rest);
    for (uint32_t i = 0; i < rounds; ++i)
      out->now[look][i] = look == 0 ? items[rounds + i] : left ? items[2 * rounds + i] : items[rounds + others[i]];
  }
}

void draws_next(struct draws_source *source, struct draws *out) {
  out->rounds = source->rounds;
  if (source->paired) {
    draw_paired(source, out);
  } else {
    draw_samples(source, out);
  }
}
