/* An axis: values to places on it, and where its ticks are. Pure. */
#ifndef ATTNBENCH_CLI_PAGE_AXIS_H
#define ATTNBENCH_CLI_PAGE_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { AXIS_TICKS_MAX = 40, AXIS_LABEL_MAX = 24 };

struct axis {
  bool is_log;
  double low, high;    /* values at its ends; low < high, and above 0 when is_log */
  double from, to;     /* their places in the drawing */
  double tick_spacing; /* between ticks of a linear axis */
};

/* From 0 to a round number at or above `most`; with no finite `most` above 0 up to 1. */
struct axis axis_linear(double most, double from, double to);
/* Around both values with some air, in logarithms. */
struct axis axis_log(double least, double most, double from, double to);
/* Around both and 0, linear, with some air. */
struct axis axis_around(double least, double most, double from, double to);
double axis_at(const struct axis *, double value);
/* How many; their values in rising order. */
size_t axis_ticks(const struct axis *, double out[AXIS_TICKS_MAX]);
/* "0.2", "1000". */
void axis_label(const struct axis *, double tick, char out[AXIS_LABEL_MAX]);

/* A range that grows by what it is shown; not finite is passed over. */
struct axis_range {
  double least, most;
};
struct axis_range axis_range_none(void);
void axis_range_add(struct axis_range *, double value);

#endif
