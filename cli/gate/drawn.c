/* Judges whole gates that were drawn. */
#include "cli/gate/drawn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gate/suite.h"

/* ---- rows that no draw brings near the line ------------------------------------------------------------------ */

static double most_of(const struct trial_row *row, uint32_t i, uint32_t j) {
  const double time = fabs(row->us[0][i] - row->us[0][j]);
  const double cycles =
      row->has_clocks && !row->dram_bound ? fabs(row->us[0][i] + row->mhz[0][i] - row->us[0][j] - row->mhz[0][j]) : 0;
  return fmax(time, cycles);
}

static bool is_regular(const struct drawn *drawn, const struct trial_row *row) {
  return row->is_plain && !row->is_unfit && !row->may_lose_clocks && row->protecting == 0 &&
         drawn->rounds >= COMPARE_PAIRS_MIN;
}

/* Where every difference of a measurement stays below the line, so do its estimates and bounds: `same`. */
static uint64_t far_of_pairs(const struct drawn *drawn, const struct trial_row *row) {
  uint64_t far = 0;
  for (uint32_t pair = 0; pair < drawn->processes / 2; ++pair) {
    if (most_of(row, 2 * pair, 2 * pair + 1) + drawn->shift >= row->limits.line) far |= UINT64_C(1) << pair;
  }
  return far;
}

static uint64_t far_of_samples(const struct drawn *drawn, const struct trial_row *row) {
  for (uint32_t i = 0; i < drawn->processes; ++i) {
    for (uint32_t j = 0; j < i; ++j) {
      if (most_of(row, i, j) + drawn->shift >= row->limits.line) return UINT64_MAX;
    }
  }
  return 0;
}

static uint64_t far_of(const struct drawn *drawn, const struct trial_row *row) {
  if (!is_regular(drawn, row)) return UINT64_MAX;
  return drawn->paired ? far_of_pairs(drawn, row) : far_of_samples(drawn, row);
}

static uint64_t pairs_of(const struct drawn *drawn, const struct draws *draws) {
  uint64_t out = 0;
  for (uint32_t i = 0; i < drawn->rounds; ++i) out |= UINT64_C(1) << (draws->base[0][i] / 2);
  return drawn->paired ? out : UINT64_MAX;
}

/* ---- all cases together -------------------------------------------------------------------------------------- */

/* The means over the rows whose verdicts are counted; verdicts[i] is that of active row i. Returns how many rows. */
static size_t take_means(const struct drawn *drawn, const enum compare_verdict *verdicts, double *us, double *mhz) {
  size_t rows = drawn->count, dram_bound = drawn->dram_bound;
  memcpy(us, drawn->total_us, sizeof drawn->total_us);
  memcpy(mhz, drawn->total_mhz, sizeof drawn->total_mhz);
  for (size_t i = 0; i < drawn->active_count; ++i) {
    const struct trial_row *row = &drawn->rows[drawn->active[i].row];
    if (suite_counts(verdicts[i])) continue;
    --rows;
    dram_bound -= row->dram_bound;
    for (uint32_t p = 0; p < drawn->processes; ++p) {
      us[p] -= row->us[0][p];
      mhz[p] -= row->mhz[0][p];
    }
  }
  for (uint32_t p = 0; p < drawn->processes; ++p) {
    us[p] /= (double)rows;
    mhz[p] = dram_bound == 0 ? mhz[p] / (double)rows : (double)NAN;
  }
  return rows;
}

static size_t look_at_suite(struct drawn *drawn, unsigned look) {
  return take_means(drawn, drawn->verdicts, drawn->mean_us[look], drawn->mean_mhz[look]);
}

/* ---- a gate -------------------------------------------------------------------------------------------------- */

static struct trial trial_of(const struct drawn *drawn, const struct draws *draws) {
  return (struct trial){.draws = draws, .paired = drawn->paired, .rounds = drawn->rounds, .shift = drawn->shift};
}

static uint32_t table_family(const struct drawn *drawn) { return drawn->paired ? 0 : drawn->family; }

static void start(const struct trial *trial, struct drawn *drawn) {
  const uint64_t pairs = pairs_of(drawn, trial->draws);
  for (size_t i = 0; i < drawn->active_count; ++i) {
    struct drawn_row *active = &drawn->active[i];
    active->state = (struct trial_state){.verdict = COMPARE_same};
    if ((active->far & pairs) != 0) {
      trial_forget(&drawn->cache);
      trial_start(trial, &drawn->rows[active->row], table_family(drawn), &drawn->cache, &active->state);
      ++drawn->judged;
    }
    drawn->verdicts[i] = active->state.verdict;
  }
  drawn->suite_rows = look_at_suite(drawn, 0);
  drawn->has_suite = drawn->suite_rows >= COMPARE_SUITE_ROWS_MIN;
  drawn->suite_state = (struct trial_state){.verdict = COMPARE_same};
  trial_forget(&drawn->cache);
  if (drawn->has_suite) trial_start(trial, &drawn->suite, drawn->paired ? 0 : 1, &drawn->cache, &drawn->suite_state);
}

/* Its rows are those of the measurement before, whatever becomes of them in this one. */
static void look_again_at_suite(const struct trial *trial, unsigned look, uint32_t family, struct drawn *drawn) {
  for (size_t i = 0; i < drawn->active_count; ++i) drawn->verdicts[i] = drawn->active[i].state.verdict;
  look_at_suite(drawn, 0);
  for (size_t i = 0; i < drawn->active_count; ++i) {
    trial_forget(&drawn->cache);
    drawn->verdicts[i] =
        trial_verdict(trial, &drawn->rows[drawn->active[i].row], 1u << look, table_family(drawn), &drawn->cache);
  }
  drawn->judged += drawn->active_count;
  trial_forget(&drawn->cache);
  if (look_at_suite(drawn, look) == drawn->suite_rows)
    trial_look(trial, &drawn->suite, look, drawn->paired ? family : 1, &drawn->cache, &drawn->suite_state);
}

static void look_again_at_row(const struct trial *trial, unsigned look, uint32_t suspects, struct drawn *drawn,
                              struct drawn_row *active) {
  const uint32_t family = drawn->paired ? suspects * (active->state.looks + 1) : drawn->family;
  trial_forget(&drawn->cache);
  trial_look(trial, &drawn->rows[active->row], look, family, &drawn->cache, &active->state);
  drawn->judged += 2; /* alone, and with all that came before */
}

/* An alarm that was confirmed stays one. */
static bool is_confirmed(const struct trial_state *state) {
  return state->looks > 0 && compare_is_alarm(state->verdict);
}

/* Measurement number `look` of what wants it. False when nothing does, or what is asked is known. */
static bool look_again(const struct trial *trial, unsigned look, bool only_whether, struct drawn *drawn) {
  const bool suite = drawn->has_suite && trial_wants(&drawn->suite_state);
  uint32_t suspects = suite;
  for (size_t i = 0; i < drawn->active_count; ++i) suspects += trial_wants(&drawn->active[i].state);
  if (suite) look_again_at_suite(trial, look, suspects * (drawn->suite_state.looks + 1), drawn);
  if (only_whether && is_confirmed(&drawn->suite_state)) return false;
  bool known = false;
  for (size_t i = 0; i < drawn->active_count && !known; ++i) {
    struct drawn_row *active = &drawn->active[i];
    if (!trial_wants(&active->state)) continue;
    look_again_at_row(trial, look, suspects, drawn, active);
    known = only_whether && is_confirmed(&active->state);
  }
  return suspects > 0 && !known;
}

static void run(const struct draws *draws, bool only_whether, struct drawn *drawn) {
  const struct trial trial = trial_of(drawn, draws);
  start(&trial, drawn);
  for (unsigned look = 1; look < DRAWS_LOOKS && look_again(&trial, look, only_whether, drawn); ++look) continue;
}

void drawn_run(const struct draws *draws, struct drawn *drawn) { run(draws, false, drawn); }

static bool has_row(const struct drawn *drawn, bool (*is)(enum compare_verdict)) {
  for (size_t i = 0; i < drawn->active_count; ++i) {
    if (is(drawn->active[i].state.verdict)) return true;
  }
  return drawn->has_suite && is(drawn->suite_state.verdict);
}

static bool is_undecided(enum compare_verdict verdict) {
  return verdict_exit_code(verdict) == EXIT_CODE_INCONCLUSIVE;
}

bool drawn_failed(const struct drawn *drawn) { return has_row(drawn, compare_is_alarm); }

bool drawn_fails(const struct draws *draws, struct drawn *drawn) {
  run(draws, true, drawn);
  return drawn_failed(drawn);
}

bool drawn_undecided(const struct drawn *drawn) { return !drawn_failed(drawn) && has_row(drawn, is_undecided); }

/* ---- opening ------------------------------------------------------------------------------------------------- */

static void add_totals(struct drawn *drawn) {
  for (size_t i = 0; i < drawn->count; ++i) {
    const struct trial_row *row = &drawn->rows[i];
    drawn->dram_bound += row->dram_bound;
    for (uint32_t p = 0; p < drawn->processes; ++p) {
      drawn->total_us[p] += row->us[0][p];
      drawn->total_mhz[p] += row->mhz[0][p];
    }
  }
}

static void prepare_suite(double threshold, struct drawn *drawn) {
  struct trial_row *suite = &drawn->suite;
  *suite = (struct trial_row){
      .processes = drawn->processes, .threshold = COMPARE_SUITE_RATIO * threshold, .physical_us = NAN};
  for (unsigned look = 0; look < DRAWS_LOOKS; ++look) {
    suite->us[look] = drawn->mean_us[look];
    suite->mhz[look] = drawn->mean_mhz[look];
  }
  take_means(drawn, NULL, drawn->mean_us[0], drawn->mean_mhz[0]);
  trial_prepare(expm1(drawn->shift), suite);
}

static void list_active(struct drawn *drawn) {
  for (size_t i = 0; i < drawn->count; ++i) {
    const uint64_t far = far_of(drawn, &drawn->rows[i]);
    if (far != 0) drawn->active[drawn->active_count++] = (struct drawn_row){.row = i, .far = far};
  }
}

struct status drawn_open(const struct draws_source *source, const struct trial_row *rows, size_t count,
                         uint32_t family, double threshold, double shift, struct drawn *out) {
  *out = (struct drawn){.rows = rows,
                        .count = count,
                        .paired = source->paired,
                        .rounds = source->rounds,
                        .processes = source->processes,
                        .family = family,
                        .shift = shift,
                        .active = calloc(count + 1, sizeof *out->active),
                        .verdicts = calloc(count + 1, sizeof *out->verdicts)};
  if (out->active == NULL || out->verdicts == NULL) {
    drawn_close(out);
    return status_make(STATUS_MEMORY, "no memory for drawn gates of %zu rows", count);
  }
  add_totals(out);
  prepare_suite(threshold, out);
  list_active(out);
  return status_ok();
}

void drawn_close(struct drawn *drawn) {
  free(drawn->active);
  free(drawn->verdicts);
  drawn->active = NULL;
  drawn->verdicts = NULL;
}
