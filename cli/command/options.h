/* The command line: a table of verbs and one of options give parsing, defaults, --help and nearest-name hints. */
#ifndef ATTNBENCH_CLI_COMMAND_OPTIONS_H
#define ATTNBENCH_CLI_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/status.h"

/* From VERB_WORKER on, verbs are internal: what a run starts. */
enum verb {
  VERB_RUN,
  VERB_PLAN,
  VERB_LIST,
  VERB_REPORT,
  VERB_DIAGNOSE,
  VERB_SELFTEST,
  VERB_AB,
  VERB_COMPARE,
  VERB_GATE,
  VERB_WORKER,
  VERB_DESCRIBE,
  VERB_MEASURE_SELF,
  VERB_COUNT
};

enum {
  OPTIONS_FILTERS_MAX = 16,
  OPTIONS_LOADS_MAX = 8,
  OPTIONS_POSITIONALS_MAX = 8,
  OPTIONS_ONLY_MAX = 1024,
  OPTIONS_THRESHOLDS_MAX = 32,
  OPTIONS_PROFILE_MAX = 1000
};
#define OPTIONS_THRESHOLD_MIN 0.5
#define OPTIONS_THRESHOLD_MAX 50.0

/* --threshold-for GLOB=PERCENT */
struct options_threshold {
  char glob[192];
  double percent;
};

/* Strings point into argv; NULL = not given and no default. */
struct options {
  enum verb verb;
  const char *positional[OPTIONS_POSITIONALS_MAX]; /* the files of `report`, `diagnose`, `compare` */
  size_t positional_count;
  const char *sweep, *variants, *device, *gpu, *json, *csv, *gbench, *journal, *seed, *timeout, *reference;
  const char *inject, *profile, *counters;
  const char *filter[OPTIONS_FILTERS_MAX];
  size_t filter_count;
  const char *load[OPTIONS_LOADS_MAX]; /* --load: shared objects with variants */
  size_t load_count;
  const char *base_load[OPTIONS_LOADS_MAX]; /* --base-load: what the base loads instead */
  size_t base_load_count;
  const char *only[OPTIONS_ONLY_MAX]; /* --only: cells as "KEY/VARIANT" */
  size_t only_count;
  const char *rounds, *modes;                                 /* how often and what is timed */
  const char *baseline, *base, *candidate, *keep, *base_json; /* of the gate: a file, programs, outputs */
  const char *compare_json, *markdown, *junit, *annotations;  /* where the comparison goes */
  const char *threshold, *floor_us, *noise, *from, *processes, *controls;
  const char *threshold_for[OPTIONS_THRESHOLDS_MAX];
  size_t threshold_for_count;
  struct options_threshold threshold_for_value[OPTIONS_THRESHOLDS_MAX]; /* --threshold-for */
  double threshold_value, floor_us_value;                               /* --threshold, --floor-us; NAN: not given */
  bool allow_new, selftest;
  bool check_only, quick, list_json, across_devices, help, version;
  uint64_t seed_value;       /* --seed */
  double timeout_s;          /* --timeout */
  uint32_t rounds_value;     /* --rounds, or the default of what is done */
  uint32_t processes_value;  /* --processes */
  uint32_t controls_value;   /* --controls */
  uint32_t profile_launches; /* --profile; 0: not given */
};

/* STATUS_USAGE names the option, what is wrong and what to do. */
struct status options_parse(int argc, char **argv, struct options *out);

/* A file that the command line names; of those without an option of their own `option` says what they are. */
struct options_file {
  const char *option, *path;
  bool is_output;
};
enum { OPTIONS_FILES_MAX = 48 };
/* Every file that is read or written, the standard output ("-") excepted; how many. */
size_t options_files(const struct options *, struct options_file out[OPTIONS_FILES_MAX]);

/* The gate's options, from their texts; options_parse calls it. */
struct status options_parse_gate(struct options *);

/* --help: every verb, option, unit, default and exit code. */
void options_help(FILE *);

#endif
