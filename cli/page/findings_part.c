/* Findings, worst first, each with links to the rows that show it. */
#include <string.h>

#include "cli/base/owned.h"
#include "cli/page/parts.h"

enum { LINKS_SHOWN_MAX = 8 };

static bool has_findings(const struct merge_row *row) { return row->row->findings.count > 0; }

bool findings_part_any(const struct page *page) { return rows_any(page, has_findings); }

static bool has_finding(const struct merge_row *row, enum finding_id id) {
  for (size_t i = 0; i < row->row->findings.count; ++i) {
    if (row->row->findings.item[i].id == id) return true;
  }
  return false;
}

static size_t series_of(const struct page *page, size_t source, const char *variant) {
  size_t i = 0;
  while (page->series[i].source != source || strcmp(page->series[i].variant, variant) != 0) ++i;
  return i;
}

static void put_link(FILE *file, const struct merge_row *row, bool is_first, bool is_worst) {
  fprintf(file, "%s<a href=\"#row-%zu\">", is_first ? "" : " &middot; ", row->number);
  html_breakable(file, row->row->record->attn_case.key);
  fputs(is_worst ? "</a> (worst)" : "</a>", file);
}

/* The worst row first; behind a few the others are folded. */
static void put_rows(const struct page *page, FILE *file, const struct fold *fold, size_t series) {
  size_t shown = 0;
  fputs("<div class=\"rows\">Rows: ", file);
  for (size_t i = 0; i < page->row_count; ++i) {
    if (page->rows[i].series == series && page->rows[i].row == fold->worst)
      put_link(file, &page->rows[i], shown++ == 0, fold->count > 1);
  }
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct merge_row *row = &page->rows[i];
    if (row->series != series || row->row == fold->worst || !has_finding(row, (enum finding_id)fold->kind)) continue;
    if (shown == LINKS_SHOWN_MAX)
      fprintf(file, " <details><summary>and %zu more</summary>", fold->count - LINKS_SHOWN_MAX);
    put_link(file, row, shown == LINKS_SHOWN_MAX || shown == 0, false);
    ++shown;
  }
  fputs(shown > LINKS_SHOWN_MAX ? "</details></div>" : "</div>", file);
}

static void put_finding(const struct page *page, FILE *file, size_t source, const struct fold *fold) {
  const enum finding_id id = (enum finding_id)fold->kind;
  const size_t series = series_of(page, source, fold->variant);
  const char *severity = finding_severity_name((enum finding_severity)fold->severity);
  html_put(file,
           "<li id=\"finding-%s-%zu\" class=\"finding %s\"><h3><span class=\"severity\">%s</span> <code>%s</code>",
           finding_name(id), series, severity, severity, rows_series_text(page, series).text);
  markup_put(file, html_prose, ": %s</h3>\n<p>%s</p>", finding_name(id), fold->finding->measured);
  if (fold->finding->advice[0] != '\0')
    markup_put(file, html_prose, "<p class=\"advice\">%s</p>", fold->finding->advice);
  html_put(file, "<p class=\"meaning\">%s</p>", finding_help(id));
  put_rows(page, file, fold, series);
  fputs("</li>\n", file);
}

static struct status put_source(const struct page *page, FILE *file, size_t source) {
  struct report all = *page->source[source].report;
  OWNED(fold_free) struct folds folds = {0};
  all.all_findings = true;
  TRY(fold_findings(&all, &folds));
  for (size_t i = 0; i < folds.count; ++i) put_finding(page, file, source, &folds.item[i]);
  return status_ok();
}

struct status findings_part_write(const struct page *page, FILE *file) {
  fputs(
      "<section id=\"findings\" aria-labelledby=\"findings-h\">\n<h2 id=\"findings-h\">Findings</h2>\n"
      "<p>What the diagnosis says of the rows, worst first: the measured fact, then one change.</p>\n"
      "<ol class=\"findings\">\n",
      file);
  for (size_t i = 0; i < page->source_count; ++i) TRY(put_source(page, file, i));
  fputs("</ol>\n</section>\n", file);
  return status_ok();
}
