/* Finds the fastest row of each case and counts what wins. */
#include "cli/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/sorting.h"
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

/* The variant that rows of the case were timed against in turns; "" for none. */
static const char *reference_of(const struct report *report, size_t first, size_t end, enum time_mode mode) {
  for (size_t i = first; i < end; ++i) {
    if (report->records[i].speedup.mode[mode].done) return report->records[i].speedup.reference;
  }
  return "";
}

/* Whether the row can be the fastest of its case, among the rows of this variant or among the others. */
static bool competes(const struct report_row *row, enum time_mode mode, const char *variant, bool is_of_variant) {
  return !isnan(median_us(row, mode)) && !row->is_twin &&
         (strcmp(row->record->variant, variant) == 0) == is_of_variant;
}

/* The fastest row of this variant, or of the others; NULL: none was timed. Medians were taken one after the other,
 * each at the clock of its moment. Where every row was also timed in turns with the reference, these ratios decide.
 */
static struct report_row *fastest_of(struct report_row *rows, size_t count, enum time_mode mode, const char *variant,
                                     bool is_of_variant) {
  struct report_row *best = NULL;
  bool all_in_turns = true;
  for (size_t i = 0; i < count; ++i) {
    if (competes(&rows[i], mode, variant, is_of_variant))
      all_in_turns = all_in_turns && rows[i].record->speedup.mode[mode].done;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!competes(&rows[i], mode, variant, is_of_variant)) continue;
    if (best == NULL ||
        (all_in_turns ? rows[i].record->speedup.mode[mode].ratio > best->record->speedup.mode[mode].ratio
                      : median_us(&rows[i], mode) < median_us(best, mode)))
      best = &rows[i];
  }
  return best;
}

/* How the row compares with its reference in turns: an interval that holds 1 tells nothing. */
enum turns { TURNS_FASTER, TURNS_TIED, TURNS_SLOWER, TURNS_COUNT };
static enum turns turns_of(const struct ratio_record *ratio) {
  return ratio->ci_low > 1 ? TURNS_FASTER : ratio->ci_high < 1 ? TURNS_SLOWER : TURNS_TIED;
}

/* The ratio in turns decides, since both sides ran at one clock; two medians where it is not known, or a tie. */
static bool is_slower_than(const struct report_row *row, const struct report_row *reference, enum time_mode mode) {
  const struct ratio_record *ratio = &row->record->speedup.mode[mode];
  if (ratio->done && turns_of(ratio) != TURNS_TIED) return turns_of(ratio) == TURNS_SLOWER;
  return median_us(reference, mode) < median_us(row, mode);
}

static void mark_fastest(struct report *report, size_t first, size_t end) {
  const enum time_mode mode = mode_of_case(report, first, end);
  const char *name = reference_of(report, first, end, mode);
  struct report_row *best = fastest_of(&report->rows[first], end - first, mode, name, false);
  struct report_row *reference = fastest_of(&report->rows[first], end - first, mode, name, true);
  size_t timed = 0;
  if (!is_of_one_card(report, first, end)) return;
  if (best != NULL) best->leads_reference = best->record->speedup.mode[mode].done;
  if (best == NULL || (reference != NULL && is_slower_than(best, reference, mode))) best = reference;
  if (best == NULL) return;
  for (size_t i = first; i < end; ++i) timed += !isnan(median_us(&report->rows[i], mode)) && !report->rows[i].is_twin;
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

/* Cases that a variant leads. */
struct winner {
  const char *variant;
  size_t wins, alone; /* over other variants; cases of which nothing else was timed */
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
  *winner = (struct winner){.variant = variant};
  return winner;
}

static int more_wins_first(const void *a, const void *b) {
  const struct winner *l = a, *r = b;
  return SORTING_FIRST(SORTING_ORDER(r->wins, l->wins), strcmp(l->variant, r->variant));
}

static void append_winners(const struct winners *winners, char out[FASTEST_TEXT_MAX]) {
  const char *before = "fastest: ";
  for (size_t i = 0; i < winners->count; ++i) {
    const struct winner *winner = &winners->item[i];
    if (winner->wins == 0) continue;
    text_append(out, FASTEST_TEXT_MAX, "%s%s", before, winner->variant);
    if (i > 0) text_append(out, FASTEST_TEXT_MAX, " in %zu", winner->wins);
    if (i == 0 && winners->cases > 1)
      text_append(out, FASTEST_TEXT_MAX, " in %zu of %zu cases", winner->wins, winners->cases);
    before = ", ";
  }
  before = "; ";
  for (size_t i = 0; i < winners->count && winners->cases > 0; ++i) {
    const struct winner *winner = &winners->item[i];
    if (winner->alone == 0) continue;
    text_append(out, FASTEST_TEXT_MAX, "%s%s alone in %zu more", before, winner->variant, winner->alone);
    before = ", ";
  }
}

/* Cases by how their fastest row compares with one other variant: the reference, or a library beside it. */
struct rivalry {
  const char *variant; /* NULL: nothing was compared */
  size_t cases[TURNS_COUNT];
  double least[TURNS_COUNT], most[TURNS_COUNT]; /* times as fast */
};

static const struct ratio_record *ratio_of(const struct record *record) {
  return &record->speedup.mode[record_mode(record)];
}

static void add_ratio(struct rivalry *rivalry, const char *variant, const struct ratio_record *ratio) {
  const enum turns turns = turns_of(ratio);
  const bool is_first = rivalry->cases[turns]++ == 0;
  rivalry->variant = variant;
  rivalry->least[turns] = is_first ? ratio->ratio : fmin(rivalry->least[turns], ratio->ratio);
  rivalry->most[turns] = is_first ? ratio->ratio : fmax(rivalry->most[turns], ratio->ratio);
}

/* "; faster than cudnn in 45 of 46 (1.01x to 11.83x), slower in 1 (0.99x)" */
static void append_rivalry(const struct rivalry *rivalry, char out[FASTEST_TEXT_MAX]) {
  static const struct {
    const char *first, *next;
  } words[] = {[TURNS_FASTER] = {"faster than", "faster"},
               [TURNS_TIED] = {"the best other variant is as fast as", "as fast"},
               [TURNS_SLOWER] = {"the best other variant is slower than", "slower"}};
  const size_t cases = rivalry->cases[TURNS_FASTER] + rivalry->cases[TURNS_TIED] + rivalry->cases[TURNS_SLOWER];
  bool is_first = true;
  for (enum turns turns = 0; turns < TURNS_COUNT; ++turns) {
    const struct units_text least = units_fixed(rivalry->least[turns], 2),
                            most = units_fixed(rivalry->most[turns], 2);
    const bool is_range = strcmp(least.text, most.text) != 0;
    if (rivalry->cases[turns] == 0) continue;
    if (is_first) {
      text_append(out, FASTEST_TEXT_MAX, "%s%s %s in %zu of %zu", out[0] != '\0' ? "; " : "", words[turns].first,
                  rivalry->variant, rivalry->cases[turns], cases);
    } else {
      text_append(out, FASTEST_TEXT_MAX, ", %s in %zu", words[turns].next, rivalry->cases[turns]);
    }
    text_append(out, FASTEST_TEXT_MAX, " (%s%s%sx)", least.text, is_range ? "x to " : "", is_range ? most.text : "");
    is_first = false;
  }
}

/* ---- libraries beside the reference ---------------------------------------------------------------------------- */

enum { RIVALS_MAX = 4 };
struct rivals {
  struct rivalry item[RIVALS_MAX];
  size_t count;
};

/* What its launches cover is not known to attnbench, and it was timed in turns with the reference. */
static bool is_library(const struct record *record) { return metrics_is_opaque(record) && ratio_of(record)->done; }

/* NULL: as many as there may be are others. */
static struct rivalry *rivalry_with(struct rivals *rivals, const char *variant) {
  for (size_t i = 0; i < rivals->count; ++i) {
    if (strcmp(rivals->item[i].variant, variant) == 0) return &rivals->item[i];
  }
  if (rivals->count == RIVALS_MAX) return NULL;
  rivals->item[rivals->count] = (struct rivalry){.variant = variant};
  return &rivals->item[rivals->count++];
}

/* The fastest row that is no library and was timed in turns with the reference; NULL: there is none. */
static const struct record *best_own(const struct report *report, size_t first, size_t end) {
  const struct record *best = NULL;
  for (size_t i = first; i < end; ++i) {
    const struct record *record = &report->records[i];
    if (report->rows[i].is_twin || is_library(record) || !ratio_of(record)->done) continue;
    if (best == NULL || ratio_of(record)->ratio > ratio_of(best)->ratio) best = record;
  }
  return best;
}

static void add_case(const struct report *report, size_t first, size_t end, struct rivals *rivals) {
  const struct record *own = best_own(report, first, end);
  for (size_t i = first; i < end && own != NULL; ++i) {
    const struct record *library = &report->records[i];
    if (!is_library(library) || record_mode(library) != record_mode(own) || !record_same_card(own, library)) continue;
    const struct ratio_record ratio = record_quotient(ratio_of(own), ratio_of(library));
    struct rivalry *rivalry = rivalry_with(rivals, library->variant);
    if (rivalry != NULL) add_ratio(rivalry, library->variant, &ratio);
  }
}

static void append_rivals(const struct report *report, char out[FASTEST_TEXT_MAX]) {
  struct rivals rivals = {.count = 0};
  for (size_t first = 0, end; first < report->row_count; first = end) {
    end = end_of_case(report, first);
    add_case(report, first, end, &rivals);
  }
  for (size_t i = 0; i < rivals.count; ++i) append_rivalry(&rivals.item[i], out);
}

struct status fastest_text(const struct report *report, char out[FASTEST_TEXT_MAX]) {
  OWNED_ARRAY(struct winner, item, report->row_count, "winners");
  struct winners winners = {.item = item};
  struct rivalry rivalry = {.variant = NULL};
  out[0] = '\0';
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct report_row *row = &report->rows[i];
    if (row->leads_reference) add_ratio(&rivalry, row->record->speedup.reference, ratio_of(row->record));
    if (!row->leads_case) continue;
    struct winner *winner = winner_of(&winners, row->record->variant);
    winners.cases += row->is_fastest;
    winner->wins += row->is_fastest;
    winner->alone += !row->is_fastest;
  }
  qsort(winners.item, winners.count, sizeof *winners.item, more_wins_first);
  append_winners(&winners, out);
  append_rivalry(&rivalry, out);
  append_rivals(report, out);
  return status_ok();
}
