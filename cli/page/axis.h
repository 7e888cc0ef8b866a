/* An axis of a drawing: maps values to coordinates and chooses ticks. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { AXIS_TICKS_MAX = 40, AXIS_LABEL_MAX = 24 };

struct axis {
  bool is_log;
  double low, high;    /* values at its ends; low < high, and above 0 when is_log */
  double from, to;     /* the coordinates of its ends */
  double tick_spacing; /* between ticks of a linear axis */
};

/* A linear axis from 0 to a round number at or above `most`, or to 1 unless `most` is finite and above 0. */
struct axis axis_linear(double most, double from, double to);
/* A logarithmic axis that contains both values, with some margin. */
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
