/* SVG of drawings, and the frame of figures. */
#include "cli/page/plot.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cli/base/text.h"

enum { TEXT_MAX = 512 };

/* ---- figures --------------------------------------------------------------------------------------------------- */

/* From the middle on: circle, square, diamond, triangle. */
static const char *const shapes[] = {"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0", "m-2.7-2.7h5.4v5.4h-5.4z",
                                     "m0-3.8l3.8 3.8l-3.8 3.8l-3.8-3.8z", "m0-3.6l3.6 6h-7.2z"};
enum { SHAPE_COUNT = sizeof shapes / sizeof *shapes };

/* A ring leaves the marker of the variant that was picked to be seen. */
static const char *shape_of(const struct page_series *series) {
  return series->is_twin ? "m-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0"
                         : shapes[rows_series_round(series) % SHAPE_COUNT];
}

static void put_legend(const struct page *page, FILE *file) {
  fputs("<ul class=\"legend\">", file);
  for (size_t i = 0; i < page->series_count; ++i) {
    const struct page_series *series = &page->series[i];
    fprintf(file,
            "<li class=\"%s\" data-series=\"%zu\"><svg width=\"26\" height=\"12\" aria-hidden=\"true\"><path "
            "class=\"line\" d=\"M1 6H25\"/><path class=\"mark\" d=\"M13.0 6.0%s\"/>",
            rows_series_style(page, i).text, i, shape_of(series));
    html_put(file, "</svg> <span>%s</span>", rows_series_text(page, i).text);
    fputs(series->is_reference ? " <small>reference</small></li>" : "</li>", file);
  }
  fputs("</ul>\n", file);
}

void plot_figure_open(const struct page *page, FILE *file, const struct plot_figure *figure) {
  const size_t folded = figure->folded;
  html_put(file, "<section id=\"%s\" class=\"figure\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">%s</h2>\n",
           figure->id, figure->id, figure->id, figure->heading);
  fprintf(file, "<p>%s</p>\n", figure->caption);
  if (folded > 0)
    fprintf(file, "<details class=\"folded\"><summary>%zu drawing%s</summary>\n", folded, folded == 1 ? "" : "s");
  if (!figure->is_named) put_legend(page, file);
  fputs("<div class=\"panels\">\n", file);
}

void plot_figure_close(FILE *file, const struct plot_figure *figure) {
  plot_data_close(file);
  fputs(figure->folded > 0 ? "</details>\n</section>\n" : "</section>\n", file);
}

void plot_data_open(FILE *file, const char *header) {
  fprintf(file,
          "</div>\n<details class=\"data\"><summary>Data of this figure as CSV</summary><pre tabindex=\"0\">%s\n",
          header);
}

void plot_data_row(const struct page *page, FILE *file, const struct merge_row *row) {
  html_csv_text(file, rows_series_text(page, row->series).text);
  fputc(',', file);
  html_csv_text(file, row->row->record->attn_case.key);
}

void plot_data_numbers(FILE *file, const double *numbers, size_t count) {
  html_csv_numbers(file, numbers, count);
  fputc('\n', file);
}

void plot_data_close(FILE *file) { fputs("</pre></details>\n", file); }

/* ---- drawings -------------------------------------------------------------------------------------------------- */

void plot_open(const struct plot *plot, int height, const char *title, const char *what) {
  html_put(plot->file, "<figure><figcaption>%s", title);
  if (plot->about != NULL) html_put(plot->file, " <small>%s</small>", plot->about);
  html_put(plot->file, "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\"><title>%s: %s</title>\n", PLOT_WIDTH,
           height, what, title);
}

void plot_close(const struct plot *plot) { fputs("</svg></figure>\n", plot->file); }

/* Our own words or a text of any origin, at a place of the drawing. */
static void put_label(FILE *file, double x, double y, const char *anchor, const char *more, const char *text) {
  if (text[0] == '\0') return;
  fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
  html_put(file, "%s</text>", text);
}

void plot_y_ticks(const struct plot *plot, const char *name) {
  double tick[AXIS_TICKS_MAX];
  char label[AXIS_LABEL_MAX];
  const size_t count = axis_ticks(&plot->y, tick);
  for (size_t i = 0; i < count; ++i) {
    const double y = axis_at(&plot->y, tick[i]);
    axis_label(&plot->y, tick[i], label);
    fprintf(plot->file, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", plot->x.from, y, plot->x.to);
    put_label(plot->file, plot->x.from - 5, y + 3.5, "end", "", label);
  }
  put_label(plot->file, 4, 11, "start", " class=\"name\"", name);
  fputc('\n', plot->file);
}

void plot_x_ticks(const struct plot *plot, const char *name) {
  double tick[AXIS_TICKS_MAX];
  char label[AXIS_LABEL_MAX];
  const size_t count = axis_ticks(&plot->x, tick);
  for (size_t i = 0; i < count; ++i) {
    axis_label(&plot->x, tick[i], label);
    plot_x_label(plot, tick[i], label, "", false);
  }
  plot_x_name(plot, PLOT_HEIGHT, name);
}

void plot_x_label(const struct plot *plot, double value, const char *first, const char *second, bool turned) {
  const double x = axis_at(&plot->x, value), y = plot->y.from;
  char turn[64];
  fprintf(plot->file, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, y, plot->y.to);
  snprintf(turn, sizeof turn, " transform=\"rotate(-60 %.1f %.1f)\"", x + 4, y + 12);
  /* The last label of an axis is not cut at the edge. */
  const double middle = fmin(x, PLOT_WIDTH - (double)strlen(first) * PLOT_LETTER / 2);
  put_label(plot->file, turned ? x + 4 : middle, y + (turned ? 12 : 14), turned ? "end" : "middle",
            turned ? turn : "", first);
  put_label(plot->file, x, y + 26, "middle", "", second);
}

void plot_x_name(const struct plot *plot, int height, const char *name) {
  put_label(plot->file, plot->x.to, height - 4, "end", " class=\"name\"", name);
  fputc('\n', plot->file);
}

/* ---- series ---------------------------------------------------------------------------------------------------- */

void plot_series_open(const struct plot *plot, size_t index) {
  fprintf(plot->file, "<g class=\"%s\" data-series=\"%zu\">", rows_series_style(plot->page, index).text, index);
}

void plot_series_close(const struct plot *plot) { fputs("</g>\n", plot->file); }

void plot_line(const struct plot *plot, const char *style, double x1, double y1, double x2, double y2) {
  if (!isfinite(x1) || !isfinite(y1) || !isfinite(x2) || !isfinite(y2)) return;
  fprintf(plot->file, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>", style, axis_at(&plot->x, x1),
          axis_at(&plot->y, y1), axis_at(&plot->x, x2), axis_at(&plot->y, y2));
}

static void put_mark(const struct plot *plot, const struct merge_row *row, double x, double y, const char *text) {
  html_put(plot->file, "<path class=\"mark\" d=\"M%.1f %.1f%s\"><title>%s at %s: %s</title></path>", x, y,
           shape_of(&plot->page->series[row->series]), rows_series_text(plot->page, row->series).text,
           row->row->record->attn_case.key, text);
}

void plot_point(const struct plot *plot, const struct merge_row *row, double x, double y, double low, double high,
                const char *format, ...) {
  const double at = axis_at(&plot->x, x);
  char text[TEXT_MAX] = "";
  va_list list;
  if (!isfinite(x) || !isfinite(y)) return;
  /* The table has the same links for a keyboard. */
  fprintf(plot->file, "<a href=\"#row-%zu\" tabindex=\"-1\">", row->number);
  if (isfinite(low) && isfinite(high)) {
    const double top = axis_at(&plot->y, high), bottom = axis_at(&plot->y, low);
    fprintf(plot->file, "<path class=\"bar\" d=\"M%.1f %.1fV%.1fm-2.5 0h5M%.1f %.1fh5\"/>", at, top, bottom, at - 2.5,
            top);
  }
  va_start(list, format);
  text_append_list(text, sizeof text, format, list);
  va_end(list);
  put_mark(plot, row, at, axis_at(&plot->y, y), text);
  fputs("</a>", plot->file);
}

void plot_rows(const struct plot *plot, void (*put)(const struct plot *, const struct merge_row *, const void *of),
               const void *of) {
  for (size_t s = 0; s < plot->page->series_count; ++s) {
    plot_series_open(plot, s);
    for (size_t i = 0; i < plot->page->row_count; ++i) {
      if (plot->page->rows[i].series == s) put(plot, &plot->page->rows[i], of);
    }
    plot_series_close(plot);
  }
}

void plot_note(const struct plot *plot, double x, double y, const char *anchor, const char *text) {
  put_label(plot->file, axis_at(&plot->x, x), axis_at(&plot->y, y), anchor, " class=\"note\"", text);
}

/* ---- strips ---------------------------------------------------------------------------------------------------- */

void plot_strips_open(const struct plot *plot, const char *title, const char *unit, const char *last) {
  double tick[AXIS_TICKS_MAX];
  char label[AXIS_LABEL_MAX];
  html_put(plot->file,
           "<figure class=\"strips\"><figcaption>%s</figcaption>\n<div class=\"strip\"><span>%s</span><svg "
           "height=\"16\" aria-hidden=\"true\">",
           title, unit);
  const size_t count = axis_ticks(&plot->x, tick);
  for (size_t i = 0; i < count; ++i) {
    const double x = axis_at(&plot->x, tick[i]);
    axis_label(&plot->x, tick[i], label);
    fprintf(plot->file, "<text x=\"%.1f%%\" y=\"12\" text-anchor=\"%s\">%s</text>", x,
            x < 10   ? "start"
            : x > 90 ? "end"
                     : "middle",
            label);
  }
  html_put(plot->file, "</svg><span class=\"n\">%s</span></div>\n", last);
}

void plot_strips_close(const struct plot *plot) { fputs("</figure>\n", plot->file); }

void plot_strip_open(const struct plot *plot, const char *name) {
  double tick[AXIS_TICKS_MAX];
  const size_t count = axis_ticks(&plot->x, tick);
  fputs("<div class=\"strip\"><span>", plot->file);
  html_breakable(plot->file, name);
  html_put(plot->file, "</span><svg height=\"22\" role=\"img\"><title>%s</title>", name);
  for (size_t i = 0; i < count; ++i)
    plot_strip_line(plot, plot->x.low < 0 && fabs(tick[i]) < 1e-9 ? "zero" : "grid", tick[i]);
}

void plot_strip_line(const struct plot *plot, const char *style, double x) {
  fprintf(plot->file, "<svg x=\"%.1f%%\"><path class=\"%s\" d=\"M0 0V22\"/></svg>", axis_at(&plot->x, x), style);
}

void plot_strip_close(const struct plot *plot, const char *text) {
  html_put(plot->file, "</svg><span class=\"n\">%s</span></div>\n", text);
}

void plot_strip_bar(const struct plot *plot, double low, double high) {
  if (!isfinite(low) || !isfinite(high)) return;
  const double from = axis_at(&plot->x, low), to = axis_at(&plot->x, high);
  fprintf(plot->file,
          "<svg x=\"%.2f%%\" width=\"%.2f%%\" viewBox=\"0 0 1 22\" preserveAspectRatio=\"none\"><path class=\"bar\" "
          "d=\"M0 11H1\"/></svg>",
          from, to - from);
}

void plot_strip_mark(const struct plot *plot, double x) {
  fprintf(plot->file, "<svg x=\"%.2f%%\"><path class=\"mark\" d=\"M0 11%s\"/></svg>", axis_at(&plot->x, x),
          shapes[0]);
}

void plot_strip_point(const struct plot *plot, const struct merge_row *row, double x, double low, double high,
                      const char *text) {
  if (!isfinite(x)) return;
  plot_series_open(plot, row->series);
  plot_strip_bar(plot, low, high);
  fprintf(plot->file, "<a href=\"#row-%zu\" tabindex=\"-1\"><svg x=\"%.2f%%\">", row->number, axis_at(&plot->x, x));
  put_mark(plot, row, 0, 11, text);
  fputs("</svg></a>", plot->file);
  plot_series_close(plot);
}
