/* The command line as values. One table (table.c) has a row per option; parsing, checks, --help, the files that are
 * probed, what `ab` passes on and the commands that a gate prints are made from it. To add an option, add its row and
 * the member that it fills. */
#ifndef ATTNBENCH_CLI_OPTIONS_OPTIONS_H
#define ATTNBENCH_CLI_OPTIONS_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/sweep/selection.h"
#include "kernels/status.h"

/* From VERB_WORKER on, verbs are internal: what a run starts. */
enum verb {
  VERB_RUN,
  VERB_PLAN,
  VERB_LIST,
  VERB_REPORT,
  VERB_MERGE,
  VERB_DIAGNOSE,
  VERB_SELFTEST,
  VERB_AB,
  VERB_COMPARE,
  VERB_GATE,
  VERB_TUNE,
  VERB_DESCRIBE,
  VERB_GENERATE,
  VERB_INPUTS,
  VERB_WORKER,
  VERB_OBJECT,
  VERB_MEASURE_SELF,
  VERB_COUNT
};

enum {
  OPTIONS_FILES_MAX = 48,
  OPTIONS_NAMES_MAX = 16,
  OPTIONS_LIST_MAX = 1024,
  OPTIONS_LOADS_MAX = 8,
  OPTIONS_SHAPES_MAX = 64,
  OPTIONS_THRESHOLDS_MAX = 32
};

/* Each kind of value begins with its text as given, NULL when it was not; texts point into argv. */
struct options_whole {
  const char *text;
  uint64_t value; /* 0 without a text */
};

struct options_number {
  const char *text;
  double value; /* NAN without a text */
};

struct options_list {
  size_t count;
  const char *item[OPTIONS_LIST_MAX];
};

/* --threshold-for GLOB=PERCENT */
struct options_threshold {
  char glob[CELL_GLOB_MAX];
  double percent;
};

/* Defaults are filled in, so NULL is "not given and no default". */
struct options {
  enum verb verb;
  bool verb_named;              /* by its word, not by default */
  struct options_list reports;  /* the words without an option */
  bool sweep_is_kept;           /* it came on stdin: `sweep` is where it is kept for other processes */
  char shipped_sweep[PATH_MAX]; /* where a sweep lies that was given by its name: what `sweep` is then */
  const char *sweep, *variants, *device, *devices, *gpu, *reference, *modes, *mode, *inject, *counters, *evidence;
  struct options_list shape, filter, only, load, base_load;
  const char *baseline, *base, *candidate, *from; /* what a gate compares */
  const char *noise;
  struct options_list threshold_for;
  struct options_threshold threshold_for_value[OPTIONS_THRESHOLDS_MAX]; /* the same, read */
  struct options_number threshold, floor_us;                            /* percent, microseconds */
  struct options_number timeout, budget, time_budget, cool_down;        /* seconds */
  struct options_whole seed, rounds, processes, controls, profile, sentinel;
  const char *json, *csv, *gbench, *html, *journal, *base_json, *keep;
  bool resume_kept;
  const char *shard, *order;
  struct shard shard_value; /* the same, read */
  const char *resume;       /* "anyway", or "" when it was given without a word */
  const char *compare_json, *markdown, *junit, *annotations, *compare_html; /* where a comparison goes */
  bool check_only, quick, samples, allow_new, selftest, list_json, across_devices, quiet, help, short_help, version;
};

/* STATUS_USAGE names the option, what is wrong and what to do. */
struct status options_parse(int argc, char **argv, struct options *out);

/* --help: every verb, option, unit, default and exit code. */
void options_help(FILE *);
/* --help of one verb: its options, without those of others. */
void options_help_verb(FILE *, enum verb);
/* -h: the verbs, a line each, and where more is. */
void options_help_short(FILE *);

/* A file of the command line; of one without an option of its own `option` says what it is. */
struct options_file {
  const char *option, *path;
  bool is_output;
};
/* Every file that is read or written, the standard output ("-") excepted; how many. */
size_t options_files(const struct options *, struct options_file out[OPTIONS_FILES_MAX]);
/* The first option whose output is the standard output, other than `except` (NULL: whichever); NULL: none. */
const char *options_files_on_stdout(const struct options *, const char *except);

/* The words of a `run` that measures what these options say: those of the candidate's process, or of the base's. out
 * NULL only counts; how many. The words point into the options. */
size_t options_relay(const struct options *, bool is_candidate, const char **out);

/* Is this an option that the command for one row of a comparison keeps, and has it a value? */
bool options_relay_stays(const char *name, size_t length, bool *has_value);

#endif
