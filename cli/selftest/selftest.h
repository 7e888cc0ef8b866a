/* Is the timer to be trusted? Judges what a device's self-test measured (kernels/timer_facts.h), line by line, each
 * against bounds that are part of the line. Pure; the measuring is a worker's. */
#ifndef ATTNBENCH_CLI_SELFTEST_SELFTEST_H
#define ATTNBENCH_CLI_SELFTEST_SELFTEST_H

#include <stdio.h>

#include "cli/record/field_tables.h"
#include "cli/record/record.h"
#include "kernels/timer_facts.h"

#define SELFTEST_SCHEMA "attnbench.timer_selftest/1"

/* What a worker answers. */
struct selftest_result {
  struct device_line device;
  struct selftest_facts facts;
};

extern const struct field selftest_fields[]; /* struct selftest_result */

/* One line of JSON, malloc'ed, the caller's; NULL without memory. And the reverse. */
char *selftest_to_line(const struct selftest_result *);
struct status selftest_from_line(const char *line, size_t length, struct selftest_result *out);

enum selftest_verdict { SELFTEST_PASS, SELFTEST_FAIL, SELFTEST_UNKNOWN, SELFTEST_VERDICT_COUNT };
const char *selftest_verdict_name(enum selftest_verdict); /* "pass", "fail", "unknown" */

enum { SELFTEST_LINES_MAX = 2 * SELFTEST_SPINS + 16, SELFTEST_TEXT_MAX = 160 };

struct selftest_line {
  char name[40];    /* "cold 20 us", "event step" */
  const char *unit; /* "us", "ratio", "" */
  double value;     /* NAN when unknown */
  double low, high; /* passes within; -INFINITY and INFINITY: no bound */
  enum selftest_verdict verdict;
  char about[SELFTEST_TEXT_MAX]; /* what the value is made of */
};

struct selftest_judgement {
  struct selftest_line line[SELFTEST_LINES_MAX];
  size_t line_count;
  uint64_t verdict_count[SELFTEST_VERDICT_COUNT];
  enum exit_code exit_code; /* 0, or 9 when a line fails: the times of this device are not to be trusted */
};

/* What must be known of this kind of device and is not, fails; what it may not tell is unknown and fails nothing. */
void selftest_judge(const struct selftest_result *, struct selftest_judgement *out);

/* Time less truth less constant, of one mode of one spin: the mean of the middle half of its samples, in which the
 * ticks of a coarse clock nearly average out and no outlier counts. NAN without samples. */
double selftest_residual_us(const struct selftest_timing *);

struct selftest_report {
  const struct selftest_result *result;
  const struct selftest_judgement *judgement;
};
struct status selftest_print_text(const struct selftest_report *, FILE *);
struct status selftest_print_json(const struct selftest_report *, FILE *);

#endif
