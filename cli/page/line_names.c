/* Names at the right of a drawing, each beside the end of its line: colours alone do not tell many lines apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/page/plot.h"

enum { NAME_LETTERS = 21, NAME_MAX_BYTES = NAME_LETTERS + 8 };
static const double LETTER = 5.4, GAP = 10.5; /* of a letter of style.css; from one name to the next */
static const double LEADER = 16;              /* from the end of the axis to the names */

/* "mma_swizzle:1,0,0,2": the values of its tunables without their names; " (2)" of the second source stays. */
static void drop_tunables(const char *text, char *out, size_t size) {
  const char *rest = strchr(text, ':');
  snprintf(out, size, "%.*s", rest != NULL ? (int)(rest - text) : (int)strlen(text), text);
  for (const char *before = ":"; rest != NULL && *rest != '\0'; before = ",") {
    const char *value = strchr(rest, '=');
    if (value == NULL) break;
    rest = value + strcspn(value, ",");
    text_append(out, size, "%s%.*s", before, (int)(rest - value - 1), value + 1);
  }
}

/* The end of a long text, where those of one variant differ. */
static void cut(const char *text, char out[NAME_MAX_BYTES]) {
  const size_t length = strlen(text);
  if (length <= NAME_LETTERS)
    snprintf(out, NAME_MAX_BYTES, "%s", text);
  else
    snprintf(out, NAME_MAX_BYTES, "\xe2\x80\xa6%s", text + length - (NAME_LETTERS - 1));
}

static bool is_told_apart(const struct page *page, size_t series, const char *bare) {
  char other[PAGE_NAME_MAX];
  for (size_t i = 0; i < page->series_count; ++i) {
    drop_tunables(rows_series_text(page, i).text, other, sizeof other);
    if (i != series && strcmp(other, bare) == 0) return false;
  }
  return true;
}

static void name_of(const struct page *page, size_t series, char out[NAME_MAX_BYTES]) {
  const struct page_name whole = rows_series_text(page, series);
  char bare[PAGE_NAME_MAX];
  drop_tunables(whole.text, bare, sizeof bare);
  const bool is_bare = strlen(whole.text) > NAME_LETTERS && is_told_apart(page, series, bare);
  cut(is_bare ? bare : whole.text, out);
}

double line_names_width(const struct page *page, const struct line_name *names, size_t count) {
  size_t longest = 0;
  for (size_t i = 0; i < count; ++i) {
    char name[NAME_MAX_BYTES];
    name_of(page, names[i].series, name);
    longest = strlen(name) > longest ? strlen(name) : longest;
  }
  return LEADER + LETTER * fmin((double)longest, NAME_LETTERS);
}

double line_names_height(size_t count) { return GAP * (double)(count - 1); }

static int from_above(const void *left, const void *right) {
  const struct line_name *a = left, *b = right;
  return SORTING_FIRST(SORTING_ORDER(a->y, b->y), SORTING_ORDER(a->series, b->series));
}

/* Each as near to the end of its line as the others leave room for. */
static void spread(const struct plot *plot, struct line_name *names, size_t count) {
  double least = plot->y.to;
  qsort(names, count, sizeof *names, from_above);
  for (size_t i = 0; i < count; ++i) {
    names[i].at = fmax(names[i].y, least);
    least = names[i].at + GAP;
  }
  double most = plot->y.from;
  for (size_t i = count; i-- > 0;) {
    names[i].at = fmin(names[i].at, most);
    most = names[i].at - GAP;
  }
}

void line_names_put(const struct plot *plot, struct line_name *names, size_t count) {
  const double from = plot->x.to, to = from + LEADER - 3;
  spread(plot, names, count);
  for (size_t i = 0; i < count; ++i) {
    char name[NAME_MAX_BYTES];
    name_of(plot->page, names[i].series, name);
    plot_series_open(plot, names[i].series);
    fprintf(plot->file, "<path class=\"leader\" d=\"M%.1f %.1fH%.1fL%.1f %.1f\"/>", names[i].x + 4, names[i].y,
            fmax(from, names[i].x + 4), to, names[i].at);
    fprintf(plot->file, "<text class=\"line-name\" x=\"%.1f\" y=\"%.1f\">", to + 2, names[i].at + 3.2);
    html_put(plot->file, "%s</text>", name);
    plot_series_close(plot);
  }
}
