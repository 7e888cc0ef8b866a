/* Judges whole gates that were drawn. */
#include "cli/rates/drawn.h"

#include <math.h>
#include <stdlib.h>

#include "cli/base/owned.h"

struct status drawn_open(const struct population *population, const struct compare_settings *settings,
                         size_t most_rows, struct drawn *out) {
  const struct compare empty = {
      .settings = *settings, .base = population->data, .now = population->data, .comparable = true};
  *out = (struct drawn){.population = population, .gate = empty, .again = empty};
  out->gate.settings.only_verdicts = out->again.settings.only_verdicts = true;
  TRY(owned_array(&out->gate.rows, most_rows, sizeof *out->gate.rows, "rows of drawn gates"));
  TRY(owned_array(&out->again.rows, most_rows, sizeof *out->again.rows, "rows of drawn gates"));
  TRY(owned_array(&out->first_base, most_rows, sizeof *out->first_base, "rows of drawn gates"));
  return owned_array(&out->first_now, most_rows, sizeof *out->first_now, "rows of drawn gates");
}

void drawn_close(struct drawn *drawn) {
  compare_free(&drawn->gate);
  compare_free(&drawn->again);
  free(drawn->first_base);
  free(drawn->first_now);
  drawn->first_base = drawn->first_now = NULL;
}

static const struct compare_drawn *new_side(const struct drawn *drawn, size_t place, unsigned look) {
  const bool is_slow = place >= drawn->slow_first && place < drawn->slow_first + drawn->slow_count;
  return is_slow ? &drawn->now[look] : &drawn->still[look];
}

/* Adds a row of the population. */
static struct compare_row *add_row(const struct drawn *drawn, size_t place, struct compare *out) {
  struct compare_row *row = &out->rows[out->row_count++];
  *row = drawn->population->rows[place];
  row->family = out->settings.family;
  return row;
}

void drawn_slow(size_t first, size_t count, struct drawn *drawn) {
  drawn->slow_first = first;
  drawn->slow_count = count;
}

void drawn_select(size_t first, size_t count, struct drawn *drawn) {
  compare_clear(&drawn->gate);
  drawn->first = first;
  for (size_t i = 0; i < count; ++i) {
    struct compare_row *row = add_row(drawn, first + i, &drawn->gate);
    row->base.drawn = &drawn->first_base[i];
    row->now.drawn = &drawn->first_now[i];
  }
  drawn_slow(first, count, drawn);
}

/* Measurement number `look`, of the rows that want it; of all of them when all cases together do, whose mean needs
 * the verdicts of these rows. */
static struct status look_again(unsigned look, struct drawn *drawn) {
  const bool all = confirm_wants_all(&drawn->gate);
  compare_clear(&drawn->again);
  for (size_t i = 0; i < drawn->gate.row_count; ++i) {
    if (!all && !confirm_wants(&drawn->gate.rows[i])) continue;
    struct compare_row *row = add_row(drawn, drawn->first + i, &drawn->again);
    row->base.drawn = &drawn->base[look];
    row->now.drawn = new_side(drawn, drawn->first + i, look);
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
    drawn->first_base[i] = drawn->base[0];
    drawn->first_now[i] = *new_side(drawn, drawn->first + i, 0);
    drawn->first_base[i].count = drawn->first_now[i].count = 0;
  }
  free(drawn->gate.suite.fresh);
}

static bool is_same_cell(const struct compare_row *a, const struct compare_row *b) {
  return a->key == b->key && a->variant == b->variant;
}

/* Adds the pairs up to `to` to the cells with an open row: all of them at first. The rows of a cell are neighbours.
 */
static void measure_open(uint32_t to, struct drawn *drawn) {
  const struct compare *gate = &drawn->gate;
  for (size_t i = 0, next; i < gate->row_count; i = next) {
    bool is_open = drawn->first_now[i].count == 0;
    for (next = i; next < gate->row_count && is_same_cell(&gate->rows[i], &gate->rows[next]); ++next)
      is_open = is_open || compare_is_open(gate, &gate->rows[next]);
    for (; i < next && is_open; ++i) {
      drawn->pairs_of_row += (double)(to - drawn->pairs) / (double)gate->row_count;
      /* What it did not take part in is another cell's: the pairs of a row that opens again are its next ones. */
      drawn->first_base[i].count += to - drawn->pairs;
      drawn->first_now[i].count += to - drawn->pairs;
    }
  }
  drawn->pairs = to;
}

/* The first measurement, which ends when its verdicts are clear. */
static void look_first(uint32_t most, struct drawn *drawn) {
  uint32_t to = drawn->gate.settings.pairs_planned > 0 ? COMPARE_FEW_FIRST : most;
  drawn->pairs = 0;
  drawn->pairs_of_row = 0;
  for (;; to += COMPARE_FEW_STEP) {
    measure_open(to < most ? to : most, drawn);
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
