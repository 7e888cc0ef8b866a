/* Judges whether a device's timer is right: compares each value that the device's self-test measured
 * (kernels/timer_facts.h) with bounds, and makes one line of it. Pure; a worker does the measuring. */
#pragma once

#include <stdio.h>

#include "cli/record/field_tables.h"
#include "kernels/timer_facts.h"

#define SELFTEST_SCHEMA "attnbench.timer_selftest/1"

/* The answer of a worker. */
struct selftest_result {
  struct device_line device;
  struct selftest_facts facts;
};

extern const struct field selftest_fields[]; /* struct selftest_result */

enum selftest_verdict { SELFTEST_PASS, SELFTEST_FAIL, SELFTEST_UNKNOWN, SELFTEST_VERDICT_COUNT };

enum { SELFTEST_LINES_MAX = 2 * SELFTEST_SPINS + 16, SELFTEST_TEXT_MAX = 160 };

struct selftest_line {
  char name[40];    /* "cold 20 us", "event step" */
  const char *unit; /* "us", "ratio", "" */
  double value;     /* NAN when unknown */
  double low, high; /* a value within these passes; -INFINITY and INFINITY: no bound */
  enum selftest_verdict verdict;
  char about[SELFTEST_TEXT_MAX]; /* how the value was obtained */
};

struct selftest_judgement {
  struct selftest_line line[SELFTEST_LINES_MAX];
  size_t line_count;
  uint64_t verdict_count[SELFTEST_VERDICT_COUNT];
  enum exit_code exit_code; /* 0, or 9 when a line fails: the times of this device are not reliable */
};

/* A value that this kind of device must report and does not report fails. Any other missing value is `unknown`, which
 * does not change the exit code. */
void selftest_judge(const struct selftest_result *, struct selftest_judgement *out);

/* The timer's error for one mode of one spin: time_us - truth_us - constant_us, in microseconds, as the mean of the
 * middle half of the samples. This mean averages out the ticks of a coarse clock and ignores outliers. NAN without
 * samples. */
double selftest_residual_us(const struct selftest_timing *);

struct selftest_report {
  const struct selftest_result *result;
  const struct selftest_judgement *judgement;
};
struct status selftest_print_text(const struct selftest_report *, FILE *);
struct status selftest_print_json(const struct selftest_report *, FILE *);
