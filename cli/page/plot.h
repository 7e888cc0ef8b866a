/* One drawing: frame, ticks, lines and points as inline SVG; and what stands around the drawings of a figure:
 * heading, legend, data. */
#ifndef ATTNBENCH_CLI_PAGE_PLOT_H
#define ATTNBENCH_CLI_PAGE_PLOT_H

#include "cli/page/axis.h"
#include "cli/page/rows.h"

enum {
  PLOT_WIDTH = 400,
  PLOT_HEIGHT = 260,
  PLOT_TURNED_HEIGHT = 330, /* with room for labels that are turned */
  PLOT_LEFT = 46,
  PLOT_RIGHT = 392,
  PLOT_TOP = 22,
  PLOT_BOTTOM = 216
};

struct plot {
  FILE *file;
  const struct page *page;
  const char *about; /* a second line of the title; NULL: none */
  struct axis x, y;
};

/* ---- a figure: <section> with its drawings --------------------------------------------------------------------- */

/* id is an anchor, a word; heading and caption are our own texts. */
void plot_figure_open(const struct page *, FILE *, const char *id, const char *heading, const char *caption);
/* Between these: the data as CSV, which the caller writes. */
void plot_data_open(FILE *);
/* Begins a line of it: the series and the case. */
void plot_data_row(const struct page *, FILE *, const struct page_row *);
void plot_data_close(FILE *);
void plot_figure_close(FILE *);

/* ---- a drawing ------------------------------------------------------------------------------------------------- */

/* title is shown above it, and with `what` it is the name of the drawing. Texts are of any origin. */
void plot_open(const struct plot *, const char *title, const char *what);
/* The same with a height of its own. */
void plot_open_sized(const struct plot *, int width, int height, const char *title, const char *what);
void plot_close(const struct plot *);
/* Lines and labels across at the ticks of the axis; name is what the axis shows. */
void plot_y_ticks(const struct plot *, const char *name);
void plot_x_ticks(const struct plot *, const char *name);
/* One label of the x axis, in up to two lines, with a line up; turned when there is little room. */
void plot_x_label(const struct plot *, double x, const char *first, const char *second, bool turned);
void plot_x_name(const struct plot *, const char *name);

/* A group of one series: its colour, and what a click on the legend hides. */
void plot_series_open(const struct plot *, size_t series);
void plot_series_close(const struct plot *);
void plot_line(const struct plot *, const char *style, double x1, double y1, double x2, double y2);
/* A row's marker with its interval (NAN: none), a link to the row, and a text that a pointer over it shows. */
void plot_point(const struct plot *, const struct page_row *, double x, double y, double low, double high,
                const char *text);
/* A text at a place in values; anchor is "start", "middle" or "end". */
void plot_note(const struct plot *, double x, double y, const char *anchor, const char *text);

/* A marker of the series at a place of the drawing. */
void plot_marker(FILE *, const struct page_series *, double x, double y);

#endif
