/* Findings, the most severe first, each with a line for every variant and links to the rows that show it. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/page/parts.h"

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

/* Whether it is told of the variant that this one picked. */
static bool is_twin(const struct fold *fold) { return fold->worst->is_twin; }

/* A finding of one variant in one source. */
struct entry {
  struct fold fold;
  size_t series;
};

struct entries {
  struct entry *item;
  size_t count, room;
};

static void entries_free(struct entries *entries) { free(entries->item); }

/* Also those that a text report leaves out. */
static struct status fold_all(const struct report *report, struct folds *out) {
  struct report all = *report;
  all.all_findings = true;
  return fold_findings(&all, true, out);
}

static struct status add_source(const struct page *page, size_t source, struct entries *out) {
  OWNED(fold_free) struct folds folds = {0};
  TRY(fold_all(page->source[source].report, &folds));
  for (size_t i = 0; i < folds.count; ++i) {
    TRY(owned_grow(&out->item, out->count, &out->room, sizeof *out->item, "findings of a page"));
    out->item[out->count++] = (struct entry){folds.item[i], series_of(page, source, folds.item[i].variant)};
  }
  return status_ok();
}

struct status findings_part_count(const struct report *report, size_t out[FINDING_SEVERE + 1]) {
  OWNED(fold_free) struct folds folds = {0};
  TRY(fold_all(report, &folds));
  for (size_t i = 0; i <= FINDING_SEVERE; ++i) out[i] = 0;
  for (size_t i = 0; i < folds.count; ++i) out[folds.item[i].severity] += !is_twin(&folds.item[i]);
  return status_ok();
}

/* ---- a variant's line ------------------------------------------------------------------------------------------ */

static void put_link(FILE *file, const struct merge_row *row, bool is_first, bool is_worst) {
  fprintf(file, "%s<a href=\"#row-%zu\">", is_first ? "" : " &middot; ", row->number);
  html_breakable(file, row->row->record->attn_case.key);
  fputs(is_worst ? "</a> (worst)" : "</a>", file);
}

/* The worst row first; behind it the others are folded. */
static void put_rows(const struct page *page, FILE *file, const struct entry *entry) {
  bool is_first = true;
  fputs("<div class=\"rows\">", file);
  for (size_t i = 0; i < page->row_count; ++i) {
    if (page->rows[i].series == entry->series && page->rows[i].row == entry->fold.worst)
      put_link(file, &page->rows[i], true, entry->fold.count > 1);
  }
  if (entry->fold.count > 1) fprintf(file, " <details><summary>and %zu more</summary>", entry->fold.count - 1);
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct merge_row *row = &page->rows[i];
    if (row->series != entry->series || row->row == entry->fold.worst) continue;
    if (!has_finding(row, (enum finding_id)entry->fold.kind)) continue;
    put_link(file, row, is_first, false);
    is_first = false;
  }
  fputs(entry->fold.count > 1 ? "</details></div>" : "</div>", file);
}

static void put_entry(const struct page *page, FILE *file, const struct entry *entry) {
  const struct finding *finding = entry->fold.finding;
  html_put(file, "<li id=\"finding-%s-%zu\"><code>%s</code>: ", finding_name((enum finding_id)entry->fold.kind),
           entry->series, rows_series_text(page, entry->series).text);
  if (is_twin(&entry->fold)) {
    fputs("as the variants that it picked</li>\n", file);
    return;
  }
  markup_put(file, html_prose, "%s", finding->measured);
  if (finding->advice[0] != '\0') markup_put(file, html_prose, " <span class=\"advice\">%s</span>", finding->advice);
  put_rows(page, file, entry);
  fputs("</li>\n", file);
}

/* ---- the part -------------------------------------------------------------------------------------------------- */

/* All lines of the finding of entry `first`; nothing where an entry before it has the same. */
static void put_finding(const struct page *page, FILE *file, const struct entries *entries, size_t first) {
  const uint32_t kind = entries->item[first].fold.kind;
  const char *severity = finding_severity_name((enum finding_severity)entries->item[first].fold.severity);
  for (size_t i = 0; i < first; ++i) {
    if (entries->item[i].fold.kind == kind) return;
  }
  html_put(file, "<li class=\"finding %s\"><h3><span class=\"severity\">%s</span> %s</h3>\n", severity, severity,
           finding_name((enum finding_id)kind));
  html_put(file, "<p class=\"meaning\">%s</p>\n<ul>\n", finding_help((enum finding_id)kind));
  for (int twins = 0; twins < 2; ++twins) {
    for (size_t i = first; i < entries->count; ++i) {
      const struct entry *entry = &entries->item[i];
      if (entry->fold.kind == kind && is_twin(&entry->fold) == twins) put_entry(page, file, entry);
    }
  }
  fputs("</ul></li>\n", file);
}

static void put_severity(const struct page *page, FILE *file, const struct entries *entries,
                         enum finding_severity severity, size_t others) {
  size_t count = 0, told = 0;
  for (size_t i = 0; i < entries->count; ++i) {
    if (entries->item[i].fold.severity != severity) continue;
    ++count;
    told += !is_twin(&entries->item[i].fold);
  }
  if (count == 0) return;
  const bool is_folded = severity == FINDING_NOTE && others > 0;
  if (is_folded) fprintf(file, "<details><summary>%zu note%s</summary>\n", told, told == 1 ? "" : "s");
  fputs("<ol class=\"findings\">\n", file);
  for (size_t i = 0; i < entries->count; ++i) {
    if (entries->item[i].fold.severity == severity) put_finding(page, file, entries, i);
  }
  fprintf(file, "</ol>\n%s", is_folded ? "</details>\n" : "");
}

struct status findings_part_write(const struct page *page, FILE *file) {
  OWNED(entries_free) struct entries entries = {0};
  size_t notes = 0;
  for (size_t i = 0; i < page->source_count; ++i) TRY(add_source(page, i, &entries));
  for (size_t i = 0; i < entries.count; ++i) notes += entries.item[i].fold.severity == FINDING_NOTE;
  fputs(
      "<section id=\"findings\" aria-labelledby=\"findings-h\">\n<h2 id=\"findings-h\">Findings</h2>\n"
      "<p>What the diagnosis says of the rows, the most severe first: of each variant the measured fact of its worst "
      "row, then one change.</p>\n",
      file);
  for (size_t severity = FINDING_SEVERE + 1; severity-- > 0;)
    put_severity(page, file, &entries, (enum finding_severity)severity, entries.count - notes);
  fputs("</section>\n", file);
  return status_ok();
}
