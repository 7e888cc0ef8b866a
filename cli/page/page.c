/* Writes the parts of a page in order. */
#include "cli/page/page.h"

#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/page/parts.h"

/* style.css and script.js, as the Makefile turns them into numbers. */
static const char style[] = {
#include "style.css.inc"
    0};
static const char script[] = {
#include "script.js.inc"
    0};

void page_open(FILE *file, const char *title) {
  html_put(file,
           "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
           "script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>attnbench: "
           "%s</title>\n<style>\n",
           title);
  fputs(style, file);
  html_put(file, "</style>\n</head>\n<body>\n<header>\n<p class=\"brand\">attnbench</p>\n<h1>%s</h1>\n", title);
}

void page_close(FILE *file) { fprintf(file, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", script); }

static const struct journal_data *journal_of(const struct page *page, size_t source) {
  return page->source[source].report->journal;
}

static bool is_named_before(const struct page *page, size_t source) {
  for (size_t i = 0; i < source; ++i) {
    if (strcmp(journal_of(page, i)->run.sweep_name, journal_of(page, source)->run.sweep_name) == 0) return true;
  }
  return false;
}

/* "v3 on NVIDIA H200", "decode, v3 on NVIDIA H200". */
static void open_of(const struct page *page, FILE *file) {
  const struct journal_data *last = journal_of(page, page->source_count - 1);
  char title[1024] = "";
  const char *before = page->compare != NULL ? "comparison of " : "";
  for (size_t i = 0; i < page->source_count; ++i) {
    if (is_named_before(page, i)) continue;
    text_append(title, sizeof title, "%s%s", before, journal_of(page, i)->run.sweep_name);
    before = ", ";
  }
  text_append(title, sizeof title, " on %s", last->has_device ? last->device.name : "no device");
  page_open(file, title);
}

static bool is_comparison(const struct page *page) { return page->compare != NULL; }

/* The parts in their order; write NULL: the part before it writes this one too. */
static const struct part {
  const char *id, *name;
  bool (*is_there)(const struct page *); /* NULL: always */
  struct status (*write)(const struct page *, FILE *);
} parts[] = {
    {"verdict", "Verdict", is_comparison, verdict_part_write},
    {"heat", "Against the reference", heat_part_any, heat_part_write},
    {"rate", "Rate", rate_figures_any, rate_figures_write},
    {"latency", "Latency", rate_figures_any_latency, NULL},
    {"roofline", "Roofline", roofline_figure_any, roofline_figure_write},
    {"scaling", "Scaling", scaling_figure_any, scaling_figure_write},
    {"cold", "Cold and hot", cold_figure_any, cold_figure_write},
    {"rows", "Table", NULL, table_part_write},
    {"findings", "Findings", findings_part_any, findings_part_write},
};
enum { PART_COUNT = sizeof parts / sizeof *parts };

static bool is_there(const struct page *page, const struct part *part) {
  return part->is_there == NULL || part->is_there(page);
}

static struct status put_page(const struct page *page, FILE *file) {
  open_of(page, file);
  head_write(page, file);
  fputs("<nav aria-label=\"Parts of this page\"><ul>", file);
  for (size_t i = 0; i < PART_COUNT; ++i) {
    if (is_there(page, &parts[i])) fprintf(file, "<li><a href=\"#%s\">%s</a></li>", parts[i].id, parts[i].name);
  }
  fputs("</ul></nav>\n</header>\n<main>\n", file);
  for (size_t i = 0; i < PART_COUNT; ++i) {
    if (parts[i].write != NULL && is_there(page, &parts[i])) TRY(parts[i].write(page, file));
  }
  page_close(file);
  return status_ok();
}

struct status page_write_merge(const struct merge *merge, const struct compare *compare, FILE *file) {
  OWNED(rows_free) struct page page = {.row_count = 0};
  TRY(rows_gather(merge, compare, &page));
  return put_page(&page, file);
}

/* Reports that are built, beside each other. */
static struct status write_sources(const struct merge *sources, const struct compare *compare, FILE *file) {
  OWNED(merge_free) struct merge merge = *sources;
  TRY(merge_rows(&merge));
  return page_write_merge(&merge, compare, file);
}

struct status page_write_report(const struct report *report, FILE *file) {
  return write_sources(&(struct merge){.source = {{.report = report}}, .source_count = 1}, NULL, file);
}

struct status page_write_compare(const struct compare *compare, FILE *file) {
  OWNED(report_free) struct report base = {.row_count = 0}, now = {.row_count = 0};
  TRY(report_build(compare->base, &base));
  TRY(report_build(compare->now, &now));
  const struct merge sources = {.source = {{.path = compare->base_path, .report = &base}, {.report = &now}},
                                .source_count = 2};
  return write_sources(&sources, compare, file);
}
