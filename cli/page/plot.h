/* Figures of the page. A figure is a section with a heading, a legend, one or more drawings and their data as CSV; a
 * drawing is inline SVG with a frame, ticks, lines and points. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/page/parts.h"

/* An axis of a drawing: maps values to coordinates and chooses ticks. Pure. */

enum { AXIS_TICKS_MAX = 40, AXIS_LABEL_MAX = 24 };

struct axis {
  bool is_log;
  double low, high;    /* values at its ends; low < high, and above 0 when is_log */
  double from, to;     /* the coordinates of its ends */
  double tick_spacing; /* between ticks of a linear axis */
};

/* A linear axis from 0 to a round number at or above `most`, or to 1 unless `most` is finite and above 0. */
struct axis axis_linear(double most, double from, double to);
/* A logarithmic axis that contains both values, with some margin, and at least two ticks. */
struct axis axis_log(double least, double most, double from, double to);
/* A linear axis that contains both values and 0, with some margin. */
struct axis axis_around(double least, double most, double from, double to);
/* The coordinate of a value. */
double axis_at(const struct axis *, double value);
/* Writes the values of the ticks in rising order and returns their number. */
size_t axis_ticks(const struct axis *, double out[AXIS_TICKS_MAX]);
/* Formats the value of a tick: "0.2", "1000". */
void axis_label(const struct axis *, double tick, char out[AXIS_LABEL_MAX]);

/* The range of the values that were added; values that are not finite are ignored. */
struct axis_range {
  double least, most;
};
struct axis_range axis_range_none(void);
void axis_range_add(struct axis_range *, double value);

enum { PLOT_WIDTH = 400, PLOT_HEIGHT = 260, PLOT_LEFT = 46, PLOT_RIGHT = 392, PLOT_TOP = 22, PLOT_BOTTOM = 216 };
static const double PLOT_LETTER = 6.5; /* width of a label's letter, with a little air */

struct plot {
  FILE *file;
  const struct page *page;
  const char *about; /* a second line of the title; NULL: none */
  struct axis x, y;
};

/* ---- a figure: <section> with its drawings --------------------------------------------------------------------- */

struct plot_figure {
  const char *id;      /* its anchor, one word */
  const char *heading; /* is escaped */
  const char *caption; /* is HTML */
  bool is_named;       /* its drawings have the names of the series, so that there is no legend */
  size_t folded;       /* so many drawings, and all else below the caption, are folded; 0: nothing is */
};

void plot_figure_open(const struct page *, FILE *, const struct plot_figure *);
/* The data must be open: it is closed first. */
void plot_figure_close(FILE *, const struct plot_figure *);
/* Opens the data as CSV with its header line. The caller writes the lines. plot_figure_close closes the data; without
 * a figure the caller calls plot_data_close. */
void plot_data_open(FILE *, const char *header);
/* Begins a line of the data with the series and the case. */
void plot_data_row(const struct page *, FILE *, const struct merge_row *);
/* Ends the line with the numbers, each after a comma. */
void plot_data_numbers(FILE *, const double *numbers, size_t count);
void plot_data_close(FILE *);

/* ---- a drawing ------------------------------------------------------------------------------------------------- */

/* `title` is shown above the drawing; `title` and `what` together are its accessible name. Texts are escaped. */
void plot_open(const struct plot *, int height, const char *title, const char *what);
void plot_close(const struct plot *);
/* Draws grid lines and labels at the ticks of the axis; `name` is the title of the axis. */
void plot_y_ticks(const struct plot *, const char *name);
void plot_x_ticks(const struct plot *, const char *name);
/* Draws one label of the x axis in up to two lines, with a grid line; `turned` rotates it. */
void plot_x_label(const struct plot *, double x, const char *first, const char *second, bool turned);
/* In a drawing of this height. */
void plot_x_name(const struct plot *, int height, const char *name);

/* Opens the SVG group of a series, which sets its colour and is hidden by a click on the legend. */
void plot_series_open(const struct plot *, size_t series);
void plot_series_close(const struct plot *);
void plot_line(const struct plot *, const char *style, double x1, double y1, double x2, double y2);
/* Draws the marker of a row with its interval from low to high (NAN: none) and a link to the row. Its tooltip is
 * "wgmma at KEY: " and the formatted text. */
void plot_point(const struct plot *, const struct merge_row *, double x, double y, double low, double high,
                const char *format, ...) __attribute__((format(printf, 7, 8)));
/* Calls `put` for every row of the page, series by series. */
void plot_rows(const struct plot *, void (*put)(const struct plot *, const struct merge_row *, const void *of),
               const void *of);
/* Writes a text at (x, y) in values of the axes; `anchor` is "start", "middle" or "end". */
void plot_note(const struct plot *, double x, double y, const char *anchor, const char *text);

/* Names beside the ends of lines, right of the axis. */
enum { LINE_NAMES_LEAST = 5 }; /* of fewer lines the colours are told apart */
struct line_name {
  size_t series;
  double x, y; /* the end of its line, in coordinates of the drawing */
  double at;   /* set by line_names_put: where the name stands */
};
/* How wide the names are, with the lines that lead to them, and how far the first is from the last. */
double line_names_width(const struct page *, const struct line_name *, size_t count);
double line_names_height(size_t count);
/* Orders them by their place. */
void line_names_put(const struct plot *, struct line_name *, size_t count);

/* ---- a drawing with a line of HTML for each row: its name, a strip with points, a text ------------------------- */

enum { PLOT_STRIP_LEFT = 1, PLOT_STRIP_RIGHT = 98 }; /* the ends of the x axis, in percent of the strip */

/* Opens the drawing with the ticks of the x axis in `unit`. `last` is the heading of the texts. */
void plot_strips_open(const struct plot *, const char *title, const char *unit, const char *last);
void plot_strips_close(const struct plot *);
/* Opens a line; the caller draws points, then closes it with its text. */
void plot_strip_open(const struct plot *, const char *name);
void plot_strip_close(const struct plot *, const char *text);
/* As plot_point, in the group of its series. */
void plot_strip_point(const struct plot *, const struct merge_row *, double x, double low, double high,
                      const char *text);
/* A line across the strip. */
void plot_strip_line(const struct plot *, const char *style, double x);
/* A line from low to high, and a round marker, in the colour of the group around them. */
void plot_strip_bar(const struct plot *, double low, double high);
void plot_strip_mark(const struct plot *, double x);
