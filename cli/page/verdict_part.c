/* How two reports compare: verdict, what differs between the runs, every row, and the changes as a figure. */
#include <math.h>

#include "cli/gate/sinks.h"
#include "cli/page/plot.h"

enum { DRAWN_MAX = 40 };

/* What a verdict means for the gate: the classes of style.css of its row, and of its marker. */
enum meaning { FAILS, UNDECIDED, FASTER, AS_FAST, MEANING_COUNT };
static const struct {
  const char *text, *style, *colour;
} row_meanings[MEANING_COUNT] = {[FAILS] = {"fails", "fails", "c7"},
                                 [UNDECIDED] = {"undecided", "undecided", "c10"},
                                 [FASTER] = {"faster", "passes", "c2"},
                                 [AS_FAST] = {"no change is certain", "passes", "c0"}};

static enum meaning meaning_of(const struct compare *compare, enum compare_verdict verdict) {
  switch (compare_exit_code_of(&compare->settings, verdict)) {
    case EXIT_CODE_OK: return verdict == COMPARE_improved ? FASTER : AS_FAST;
    case EXIT_CODE_INCONCLUSIVE: return UNDECIDED;
    default: return FAILS;
  }
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

static void put_outcome(FILE *file, const struct compare *compare) {
  const char *style = compare->exit_code == EXIT_CODE_OK             ? "passed"
                      : compare->exit_code == EXIT_CODE_INCONCLUSIVE ? "undecided"
                                                                     : "failed";
  html_put(file, "<p class=\"outcome %s\"><strong>%s</strong></p>\n", style, sinks_outcome_text(compare).text);
  if (sinks_advice(compare)[0] != '\0')
    markup_put(file, html_prose, "<p>What to do: %s.</p>\n", sinks_advice(compare));
  html_element(file, "p", sinks_counts_text(compare).text);
  if (sinks_has_suite(compare)) html_element(file, "p", sinks_suite_text(compare).text);
}

static void put_differences(FILE *file, const struct compare *compare) {
  if (compare->difference_count == 0) return;
  static const struct html_heading headings[] = {{"what", NULL, false},
                                                 {"base", NULL, false},
                                                 {"new", NULL, false},
                                                 {"meaning", NULL, false},
                                                 {NULL, NULL, false}};
  html_table_open(file, "What differs", "What differs between the two runs", headings);
  for (size_t i = 0; i < compare->difference_count; ++i) {
    const struct compare_difference *difference = &compare->difference[i];
    html_put(file,
             "<tr><th scope=\"row\">%s</th><td data-label=\"base\">%s</td><td data-label=\"new\">%s</td><td>%s</td>"
             "</tr>\n",
             difference->key, difference->base, difference->now, difference->fatal ? "not comparable" : "remark");
  }
  fputs("</tbody></table></div>\n", file);
}

/* ---- table ----------------------------------------------------------------------------------------------------- */

static void put_side(FILE *file, const char *label, const struct compare_side *side, const char *text) {
  const double us = side->record != NULL ? side->median_us : (double)NAN;
  html_labelled_cell(file, isfinite(us) ? "n" : "n unknown", label, "us", us);
  html_put(file, "%s</td>", text);
}

static void put_name(const struct page *page, FILE *file, const struct compare_row *row) {
  const struct merge_row *shown = rows_find(page, 1, row->key, row->variant);
  if (shown == NULL) shown = rows_find(page, 0, row->key, row->variant);
  if (shown != NULL) fprintf(file, "<a href=\"#row-%zu\">", shown->number);
  html_breakable(file, row->key);
  if (shown != NULL) fputs("</a>", file);
}

static void put_row(const struct page *page, FILE *file, const struct compare_row *row) {
  const struct sinks_numbers is = sinks_numbers(row);
  fprintf(file, "<tr class=\"%s\"><td>%s</td>", row_meanings[meaning_of(page->compare, row->verdict)].style,
          verdict_name(row->verdict));
  html_labelled_cell(file, isfinite(row->ratio) ? "n" : "n unknown", "change", "", row->ratio);
  html_put(file, "%s</td><th scope=\"row\">", is.change);
  put_name(page, file, row);
  html_put(file, "</th><td>%s</td><td>%s</td>", row->variant, time_mode_name(row->mode));
  put_side(file, "base", &row->base, is.base);
  put_side(file, "new", &row->now, is.now);
  html_put(file,
           "<td class=\"n\" data-label=\"bounds\">%s</td><td class=\"n\" data-label=\"processes\">%s</td>"
           "<td class=\"why\">%s</td></tr>\n",
           is.bounds, is.processes, row->reason);
}

static void put_table(const struct page *page, FILE *file) {
  static const struct html_heading headings[] = {{"verdict", "text", false},
                                                 {"change", "number", true},
                                                 {"case", "text", false},
                                                 {"variant", "text", false},
                                                 {"mode", "text", false},
                                                 {"base <small>us</small>", "number", true},
                                                 {"new <small>us</small>", "number", true},
                                                 {"bounds", NULL, true},
                                                 {"processes", NULL, true},
                                                 {"why", NULL, false},
                                                 {NULL, NULL, false}};
  html_table_open(file, "Comparison", "Every case, variant and mode, worst first", headings);
  for (size_t i = 0; i < page->compare->row_count; ++i) put_row(page, file, &page->compare->rows[i]);
  fputs("</tbody></table></div>\n", file);
}

/* ---- figure ---------------------------------------------------------------------------------------------------- */

static double percent(double ratio) { return (ratio - 1) * 100; }

static void put_change(const struct plot *plot, const struct compare_row *row) {
  char name[AXIS_KEY_MAX + VARIANT_SPEC_MAX + 16];
  const struct sinks_numbers is = sinks_numbers(row);
  snprintf(name, sizeof name, "%s %s %s", row->variant, row->key, time_mode_name(row->mode));
  plot_strip_open(plot, name);
  html_put(plot->file, "<g class=\"%s\"><title>%s: %s, bounds %s: %s</title>",
           row_meanings[meaning_of(plot->page->compare, row->verdict)].colour, name, is.change, is.bounds,
           verdict_name(row->verdict));
  plot_strip_bar(plot, percent(row->ci_low), percent(row->ci_high));
  plot_strip_mark(plot, percent(row->ratio));
  fputs("</g>", plot->file);
  plot_strip_close(plot, is.change);
}

static void put_data(FILE *file, const struct compare *compare) {
  plot_data_open(file, "verdict,key,variant,mode,ratio,low,high");
  for (size_t i = 0; i < compare->row_count; ++i) {
    const struct compare_row *row = &compare->rows[i];
    const double numbers[] = {row->ratio, row->ci_low, row->ci_high};
    fprintf(file, "%s,", verdict_name(row->verdict));
    html_csv_text(file, row->key);
    fputc(',', file);
    html_csv_text(file, row->variant);
    fprintf(file, ",%s", time_mode_name(row->mode));
    plot_data_numbers(file, numbers, sizeof numbers / sizeof *numbers);
  }
  plot_data_close(file);
}

/* What the colours of these rows mean: of each its verdicts, the worst first. */
static void put_colours(FILE *file, const struct compare *compare, const struct compare_row *const *rows,
                        size_t count) {
  fputs("<ul class=\"swatches\">", file);
  for (enum meaning meaning = 0; meaning < MEANING_COUNT; ++meaning) {
    size_t verdicts = 0;
    for (size_t v = 0; v < COMPARE_VERDICT_COUNT; ++v) {
      const enum compare_verdict verdict = verdict_worst_first[v];
      bool is_drawn = false;
      for (size_t i = 0; i < count; ++i) is_drawn = is_drawn || rows[i]->verdict == verdict;
      if (!is_drawn || meaning_of(compare, verdict) != meaning) continue;
      if (verdicts == 0)
        fprintf(file, "<li><i class=\"%s\"></i>%s: ", row_meanings[meaning].colour, row_meanings[meaning].text);
      fprintf(file, "%s%s", verdicts++ > 0 ? ", " : "", verdict_name(verdict));
    }
    if (verdicts > 0) fputs("</li>", file);
  }
  fputs("</ul>\n", file);
}

static void put_figure(const struct page *page, FILE *file) {
  struct axis_range range = axis_range_none();
  const struct compare_row *drawn[DRAWN_MAX];
  char title[96];
  size_t count = 0, all = 0;
  for (size_t i = 0; i < page->compare->row_count; ++i) {
    const struct compare_row *row = &page->compare->rows[i];
    if (!isfinite(row->ratio)) continue;
    if (++all > DRAWN_MAX) continue;
    drawn[count++] = row;
    axis_range_add(&range, percent(row->ratio));
    axis_range_add(&range, percent(row->ci_low));
    axis_range_add(&range, percent(row->ci_high));
  }
  if (count == 0) return;
  const struct plot plot = {
      .file = file, .page = page, .x = axis_around(range.least, range.most, PLOT_STRIP_LEFT, PLOT_STRIP_RIGHT)};
  fputs(
      "<h3>Change of time from base to new</h3>\n<p>Right is slower. A bar holds the bounds where there are "
      "any.</p>\n",
      file);
  put_colours(file, page->compare, drawn, count);
  fputs("<div class=\"panels\">\n", file);
  if (count < all) {
    snprintf(title, sizeof title, "The %zu worst of %zu rows", count, all);
  } else {
    snprintf(title, sizeof title, "All %zu rows, worst first", all);
  }
  plot_strips_open(&plot, title, "change, %", "change");
  for (size_t i = 0; i < count; ++i) put_change(&plot, drawn[i]);
  plot_strips_close(&plot);
  put_data(file, page->compare);
}

struct status verdict_part_write(const struct page *page, FILE *file) {
  fputs("<section id=\"verdict\" class=\"cards\" aria-labelledby=\"verdict-h\">\n<h2 id=\"verdict-h\">Verdict</h2>\n",
        file);
  put_outcome(file, page->compare);
  put_differences(file, page->compare);
  if (page->compare->row_count > 0) put_table(page, file);
  put_figure(page, file);
  fputs("</section>\n", file);
  return status_ok();
}
