/* The command line: a table of verbs and one of options give parsing, defaults, --help and nearest-name hints. */
#ifndef ATTNBENCH_CLI_OPTIONS_H
#define ATTNBENCH_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/status.h"

enum verb { VERB_RUN, VERB_PLAN, VERB_LIST, VERB_REPORT, VERB_WORKER, VERB_COUNT };

enum { OPTIONS_FILTERS_MAX = 16 };

/* Strings point into argv; NULL = not given and no default. */
struct options {
  enum verb verb;
  const char *positional; /* the journal of `report` */
  const char *sweep, *variants, *device, *gpu, *json, *csv, *journal, *seed, *timeout, *reference;
  const char *filter[OPTIONS_FILTERS_MAX];
  size_t filter_count;
  bool check_only, list_json, help, version;
  uint64_t seed_value; /* --seed */
  double timeout_s;    /* --timeout */
};

/* STATUS_USAGE names the option, what is wrong and what to do. */
struct status options_parse(int argc, char **argv, struct options *out);

/* --help: every verb, option, unit, default and exit code. */
void options_help(FILE *);

#endif
