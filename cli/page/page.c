/* Writes the parts of a page in order. */
#include "cli/page/page.h"

#include "cli/page/assets.h"
#include "cli/page/html.h"
#include "cli/page/parts.h"

static void add_source(struct page *page, const char *path, const struct report *report) {
  page->source[page->source_count++] = (struct page_source){path, report};
}

/* ---- the page -------------------------------------------------------------------------------------------------- */

/* "v3 on NVIDIA H200" */
static void put_title(const struct page *page, FILE *file) {
  const struct journal_data *journal = page->source[page->source_count - 1].report->journal;
  html_text(file, page->compare != NULL ? "comparison of " : "");
  html_text(file, journal->run.sweep_name);
  fputs(" on ", file);
  html_text(file, journal->has_device ? journal->device.name : "no device");
}

static void put_opening(const struct page *page, FILE *file) {
  fputs(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>attnbench: ",
      file);
  put_title(page, file);
  fprintf(file, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", assets_style);
  fputs("<header>\n<p class=\"brand\">attnbench</p>\n<h1>", file);
  put_title(page, file);
  fputs("</h1>\n", file);
}

/* Links to the parts that are there. */
static void put_contents(const struct page *page, FILE *file) {
  const struct {
    const char *id, *name;
    bool is_there;
  } parts[] = {
      {"verdict", "Verdict", page->compare != NULL},
      {"rows", "Table", true},
      {"rate", "Rate", rate_figures_any(page)},
      {"latency", "Latency", rate_figures_any(page)},
      {"roofline", "Roofline", roofline_figure_any(page)},
      {"scaling", "Scaling", scaling_figure_any(page)},
      {"cold", "Cold and hot", cold_figure_any(page)},
      {"findings", "Findings", findings_part_any(page)},
  };
  fputs("<nav aria-label=\"Parts of this page\"><ul>", file);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (parts[i].is_there) fprintf(file, "<li><a href=\"#%s\">%s</a></li>", parts[i].id, parts[i].name);
  }
  fputs("</ul></nav>\n</header>\n<main>\n", file);
}

static struct status put_figures(const struct page *page, FILE *file) {
  if (rate_figures_any(page)) TRY(rate_figures_write(page, file));
  if (roofline_figure_any(page)) roofline_figure_write(page, file);
  if (scaling_figure_any(page)) TRY(scaling_figure_write(page, file));
  if (cold_figure_any(page)) cold_figure_write(page, file);
  return status_ok();
}

static struct status put_page(const struct page *page, FILE *file) {
  put_opening(page, file);
  head_write(page, file);
  put_contents(page, file);
  if (page->compare != NULL) verdict_part_write(page, file);
  table_part_write(page, file);
  TRY(put_figures(page, file));
  if (findings_part_any(page)) TRY(findings_part_write(page, file));
  fprintf(file, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", assets_script);
  return status_ok();
}

static struct status write_page(struct page *page, FILE *file) {
  TRY(rows_gather(page));
  const struct status status = put_page(page, file);
  rows_free(page);
  return status;
}

struct status page_write_report(const struct report *report, FILE *file) {
  struct page page = {.compare = NULL};
  add_source(&page, NULL, report);
  return write_page(&page, file);
}

struct status page_write_merge(const struct merge *merge, const struct compare *compare, FILE *file) {
  struct page page = {.compare = compare};
  for (size_t i = 0; i < merge->source_count; ++i) {
    add_source(&page, merge->source[i].path, &merge->source[i].report);
  }
  return write_page(&page, file);
}

/* base and now are built. */
static struct status write_compared(const struct compare *compare, const struct report *base,
                                    const struct report *now, FILE *file) {
  struct page page = {.compare = compare};
  add_source(&page, compare->base_path, base);
  add_source(&page, NULL, now);
  return write_page(&page, file);
}

static struct status write_with_base(const struct compare *compare, const struct report *base, FILE *file) {
  struct report now;
  TRY(report_build(compare->now, &now));
  const struct status status = write_compared(compare, base, &now, file);
  report_free(&now);
  return status;
}

struct status page_write_compare(const struct compare *compare, FILE *file) {
  struct report base;
  TRY(report_build(compare->base, &base));
  const struct status status = write_with_base(compare, &base, file);
  report_free(&base);
  return status;
}
