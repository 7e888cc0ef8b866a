/* Judges whole gates that were drawn. */
#include "cli/rates/drawn.h"

#include <math.h>
#include <stdlib.h>

#include "cli/gate/confirm.h"

struct status drawn_open(const struct population *population, const struct compare_settings *settings,
                         size_t most_rows, struct drawn *out) {
  const struct compare empty = {
      .settings = *settings, .base = population->data, .now = population->data, .comparable = true};
  *out = (struct drawn){.population = population, .gate = empty, .again = empty};
  out->gate.settings.only_verdicts = out->again.settings.only_verdicts = true;
  out->gate.rows = calloc(most_rows + 1, sizeof *out->gate.rows);
  out->again.rows = calloc(most_rows + 1, sizeof *out->again.rows);
  if (out->gate.rows != NULL && out->again.rows != NULL) return status_ok();
  drawn_close(out);
  return status_make(STATUS_MEMORY, "no memory for drawn gates of %zu rows", most_rows);
}

void drawn_close(struct drawn *drawn) {
  compare_free(&drawn->gate);
  compare_free(&drawn->again);
}

static void take_drawn(const struct drawn *drawn, size_t place, unsigned look, struct compare_row *row) {
  const bool is_slow = place >= drawn->slow_first && place < drawn->slow_first + drawn->slow_count;
  row->base.drawn = &drawn->base[look];
  row->now.drawn = is_slow ? &drawn->now[look] : &drawn->still[look];
}

/* Adds a row of the population, its sides those of measurement number `look`. */
static void add_row(const struct drawn *drawn, size_t place, unsigned look, struct compare *out) {
  struct compare_row *row = &out->rows[out->row_count++];
  *row = drawn->population->rows[place];
  row->family = out->settings.family;
  take_drawn(drawn, place, look, row);
}

void drawn_slow(size_t first, size_t count, struct drawn *drawn) {
  drawn->slow_first = first;
  drawn->slow_count = count;
  for (size_t i = 0; i < drawn->gate.row_count; ++i) take_drawn(drawn, drawn->first + i, 0, &drawn->gate.rows[i]);
}

void drawn_select(size_t first, size_t count, struct drawn *drawn) {
  compare_clear(&drawn->gate);
  drawn->first = first;
  for (size_t i = first; i < first + count; ++i) add_row(drawn, i, 0, &drawn->gate);
  drawn_slow(first, count, drawn);
}

/* Measurement number `look`, of the rows that want it; of all of them when all cases together do, whose mean needs
 * the verdicts of these rows. */
static struct status look_again(unsigned look, struct drawn *drawn) {
  const bool all = confirm_wants_all(&drawn->gate);
  compare_clear(&drawn->again);
  for (size_t i = 0; i < drawn->gate.row_count; ++i) {
    if (all || confirm_wants(&drawn->gate.rows[i])) add_row(drawn, drawn->first + i, look, &drawn->again);
  }
  drawn->judged += drawn->again.row_count;
  if (all) compare_judge(&drawn->again);
  return confirm_add(&drawn->gate, &drawn->again);
}

static void start(const struct draws *draws, double slowdown, struct drawn *drawn) {
  for (unsigned look = 0; look < DRAWS_LOOKS; ++look) {
    drawn->base[look] = (struct compare_drawn){.count = draws->rounds, .process = draws->base[look]};
    drawn->still[look] = (struct compare_drawn){.count = draws->rounds, .process = draws->now[look]};
    drawn->now[look] = (struct compare_drawn){draws->rounds, draws->now[look], slowdown, log1p(slowdown)};
  }
  for (size_t i = 0; i < drawn->gate.row_count; ++i) {
    struct compare_row *row = &drawn->gate.rows[i];
    free(row->fresh);
    row->fresh = NULL;
    row->was_suspect = false;
    row->looks = 0;
    row->family = drawn->gate.settings.family;
  }
  free(drawn->gate.suite.fresh);
}

/* The first measurement, which ends when its verdicts are clear. */
static void look_first(uint32_t most, struct drawn *drawn) {
  drawn->pairs = drawn->gate.settings.pairs_planned > 0 ? COMPARE_FEW_FIRST : most;
  for (;; drawn->pairs += COMPARE_FEW_STEP) {
    if (drawn->pairs > most) drawn->pairs = most;
    drawn->base[0].count = drawn->now[0].count = drawn->still[0].count = drawn->pairs;
    compare_judge(&drawn->gate);
    drawn->judged += drawn->gate.row_count;
    if (drawn->pairs == most || compare_is_clear(&drawn->gate)) return;
  }
}

struct status drawn_judge(const struct draws *draws, double slowdown, struct drawn *drawn) {
  struct status status = status_ok();
  start(draws, slowdown, drawn);
  look_first(draws->rounds, drawn);
  for (unsigned look = 1; look < DRAWS_LOOKS && confirm_wants_any(&drawn->gate) && !status_failed(&status); ++look)
    status = look_again(look, drawn);
  return status;
}

static bool has_verdict(const struct compare *gate, bool (*is)(enum compare_verdict)) {
  for (enum compare_verdict verdict = 0; verdict < COMPARE_VERDICT_COUNT; ++verdict) {
    if (is(verdict) && gate->verdict_count[verdict] > 0) return true;
  }
  return gate->suite.key != NULL && is(gate->suite.verdict);
}

bool drawn_failed(const struct drawn *drawn) { return has_verdict(&drawn->gate, compare_is_alarm); }

bool drawn_undecided(const struct drawn *drawn) {
  return !drawn_failed(drawn) && has_verdict(&drawn->gate, compare_is_undecided);
}
