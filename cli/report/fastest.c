/* Finds the fastest row of each case and counts what wins. */
#include "cli/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/units.h"

/* ---- rows of one case ------------------------------------------------------------------------------------------ */

static bool same_case(const struct report_row *a, const struct report_row *b) {
  return strcmp(a->record->attn_case.key, b->record->attn_case.key) == 0;
}

/* One past the last row of the case that begins at `first`. */
static size_t end_of_case(const struct report *report, size_t first) {
  size_t end = first + 1;
  while (end < report->row_count && same_case(&report->rows[first], &report->rows[end])) ++end;
  return end;
}

static double median_us(const struct report_row *row, enum time_mode mode) {
  return row->record->time[mode].done ? row->record->time[mode].us.median : (double)NAN;
}

/* Hot where any row of the case has it, else steady. */
static enum time_mode mode_of_case(const struct report *report, size_t first, size_t end) {
  enum time_mode mode = TIME_COLD;
  for (size_t i = first; i < end && mode != TIME_HOT; ++i) {
    if (record_mode(&report->records[i]) != TIME_COLD) mode = record_mode(&report->records[i]);
  }
  return mode;
}

static bool has_twin(const struct report *report, size_t first, size_t end, size_t row) {
  const char *picked = report->records[row].picked;
  for (size_t i = first; i < end && picked[0] != '\0'; ++i) {
    if (strcmp(report->records[i].variant, picked) == 0) return true;
  }
  return false;
}

/* A run with --devices gives a case to one card; where that died on the way, two cards would be held against each
 * other. */
static bool is_of_one_card(const struct report *report, size_t first, size_t end) {
  for (size_t i = first + 1; i < end; ++i) {
    if (!record_same_card(&report->records[first], &report->records[i])) return false;
  }
  return true;
}

/* Rows that were typed in need not stand by case. */
static bool is_alone(const struct report *report, const struct report_row *row) {
  for (size_t i = 0; i < report->row_count; ++i) {
    if (&report->rows[i] != row && record_is_timed(&report->records[i]) && same_case(&report->rows[i], row))
      return false;
  }
  return true;
}

static void mark_fastest(struct report *report, size_t first, size_t end) {
  const enum time_mode mode = mode_of_case(report, first, end);
  struct report_row *best = NULL;
  size_t timed = 0;
  for (size_t i = first; i < end; ++i) {
    const double us = median_us(&report->rows[i], mode);
    if (isnan(us) || report->rows[i].is_twin) continue;
    ++timed;
    if (best == NULL || us < median_us(best, mode)) best = &report->rows[i];
  }
  if (best == NULL || !is_of_one_card(report, first, end)) return;
  best->is_fastest = timed >= 2;
  best->leads_case = best->is_fastest || is_alone(report, best);
}

void fastest_mark(struct report *report) {
  for (size_t first = 0, end; first < report->row_count; first = end) {
    end = end_of_case(report, first);
    for (size_t i = first; i < end; ++i) report->rows[i].is_twin = has_twin(report, first, end, i);
    mark_fastest(report, first, end);
  }
}

/* ---- all cases ------------------------------------------------------------------------------------------------- */

struct winner {
  const char *variant, *reference; /* NULL: not timed against one in any case that it wins */
  size_t cases;
  double least, most; /* times as fast as the reference */
};

struct winners {
  struct winner *item;
  size_t count, cases;
};

static struct winner *winner_of(struct winners *winners, const char *variant) {
  for (size_t i = 0; i < winners->count; ++i) {
    if (strcmp(winners->item[i].variant, variant) == 0) return &winners->item[i];
  }
  struct winner *winner = &winners->item[winners->count++];
  *winner = (struct winner){.variant = variant, .least = NAN, .most = NAN};
  return winner;
}

static void add_win(struct winners *winners, const struct record *record) {
  const struct ratio_record *ratio = &record->speedup.mode[record_mode(record)];
  struct winner *winner = winner_of(winners, record->variant);
  ++winner->cases;
  if (!ratio->done) return;
  winner->reference = record->speedup.reference;
  winner->least = fmin(winner->least, ratio->ratio);
  winner->most = fmax(winner->most, ratio->ratio);
}

static int more_wins_first(const void *a, const void *b) {
  const struct winner *l = a, *r = b;
  if (l->cases != r->cases) return l->cases > r->cases ? -1 : 1;
  return strcmp(l->variant, r->variant);
}

static void append_winner(const struct winners *winners, size_t index, char out[FASTEST_TEXT_MAX]) {
  const struct winner *winner = &winners->item[index];
  const struct units_text least = units_fixed(winner->least, 2), most = units_fixed(winner->most, 2);
  const bool is_range = strcmp(least.text, most.text) != 0;
  text_append(out, FASTEST_TEXT_MAX, "%s%s", index == 0 ? "fastest: " : "; ", winner->variant);
  if (index == 0 && winners->cases > 1)
    text_append(out, FASTEST_TEXT_MAX, " in %zu of %zu cases", winner->cases, winners->cases);
  if (index > 0) text_append(out, FASTEST_TEXT_MAX, " in %zu", winner->cases);
  if (winner->reference == NULL) return;
  text_append(out, FASTEST_TEXT_MAX, ", %sx%s%s%s as fast as %s", least.text, is_range ? " to " : "",
              is_range ? most.text : "", is_range ? "x" : "", winner->reference);
}

struct status fastest_text(const struct report *report, char out[FASTEST_TEXT_MAX]) {
  OWNED_ARRAY(struct winner, item, report->row_count, "winners");
  struct winners winners = {.item = item};
  out[0] = '\0';
  for (size_t i = 0; i < report->row_count; ++i) {
    if (!report->rows[i].is_fastest) continue;
    ++winners.cases;
    add_win(&winners, report->rows[i].record);
  }
  qsort(winners.item, winners.count, sizeof *winners.item, more_wins_first);
  for (size_t i = 0; i < winners.count; ++i) append_winner(&winners, i, out);
  return status_ok();
}
