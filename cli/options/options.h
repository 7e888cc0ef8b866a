/* The command line as values. The table in table.c has a row per option. Parsing, checks, --help, the list of files,
 * the options that `ab` passes to its processes and the commands that a gate prints are made from the rows. To add an
 * option, add its row and the member that it fills. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/sweep/cells.h"

/* The verbs from VERB_WORKER on are internal: attnbench starts its own processes with them, and shells ask one of
 * them how to complete a word. */
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
  VERB_HISTORY,
  VERB_GATE,
  VERB_TUNE,
  VERB_DESCRIBE,
  VERB_GENERATE,
  VERB_INPUTS,
  VERB_WORKER,
  VERB_OBJECT,
  VERB_MEASURE_SELF,
  VERB_COMPLETE,
  VERB_COUNT
};

enum {
  OPTIONS_NAMES_MAX = 16,
  OPTIONS_LIST_MAX = 1024,
  OPTIONS_FILES_MAX = OPTIONS_LIST_MAX + 48,
  OPTIONS_LOADS_MAX = 8,
  OPTIONS_SHAPES_MAX = 64,
  OPTIONS_THRESHOLDS_MAX = 32
};

/* Each struct of a value begins with the text as given, NULL when the option was not given. Texts point into argv. */
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

/* Defaults are filled in, so NULL means that the option was not given and has no default. */
struct options {
  enum verb verb;
  bool verb_named;              /* the command line names the verb; false: it is the default */
  struct options_list reports;  /* the words that belong to no option */
  bool sweep_is_kept;           /* the sweep came on stdin; `sweep` is a copy for other processes */
  char shipped_sweep[PATH_MAX]; /* the path of a shipped sweep that was given by name; `sweep` points here then */
  const char *sweep, *variants, *device, *devices, *gpu, *reference, *modes, *mode, *inject, *counters, *evidence;
  struct options_list shape, filter, only, load, base_load;
  const char *baseline, *base, *candidate, *start_with, *from; /* what a gate compares */
  const char *noise;
  struct options_list threshold_for;
  struct options_threshold threshold_for_value[OPTIONS_THRESHOLDS_MAX]; /* the same, read */
  struct options_number threshold, floor_us;                            /* percent, microseconds */
  struct options_number timeout, budget, time_budget, cool_down;        /* seconds */
  struct options_whole seed, rounds, processes, controls, profile, sentinel;
  bool rounds_in_steps; /* no --rounds: a comparison in pairs may end before `rounds`, once its verdicts are clear */
  const char *json, *csv, *gbench, *html, *journal, *base_json, *keep;
  bool resume_kept;
  const char *shard, *order;
  struct shard shard_value;    /* the same, read */
  const char *commit;          /* of what a run measures */
  const char *since, *commits; /* of a history */
  const char *resume;          /* "anyway", or "" when it was given without a word */
  const char *compare_json, *markdown, *junit, *annotations,
      *compare_html; /* files that a comparison is written to */
  bool check_only, quick, samples, allow_new, allow_edited, bisect, selftest, list_json, across_devices, quiet, help,
      short_help, version;
};

/* STATUS_USAGE names the option, what is wrong and what to do. */
struct status options_parse(int argc, char **argv, struct options *out);

/* --help all: every verb, option, unit, default and exit code. */
void options_help(FILE *);
/* --help of one verb: its options, without those of others. */
void options_help_verb(FILE *, enum verb);
/* What --help all says of the options of this name without its dashes, of all verbs; false: there is none. */
bool options_help_option(FILE *, const char *name);
/* --help and -h, one screen: the verbs, a line each, the options that most runs need, and how to get more. */
void options_help_short(FILE *);

/* A file that the command line names. For a file without an option, `option` is "the report". */
struct options_file {
  const char *option, *path;
  bool is_output;
};
/* Lists every file that is read or written, except the standard output ("-"), and returns their number. */
size_t options_files(const struct options *, struct options_file out[OPTIONS_FILES_MAX]);
/* The first option, other than `except`, whose output is the standard output; NULL when there is none. `except` may
 * be NULL. */
const char *options_files_on_stdout(const struct options *, const char *except);

/* Writes the option words for the `run` process of a comparison, the candidate's or the base's, and returns their
 * number. With `out` NULL it only counts. The words point into the options. */
size_t options_relay(const struct options *, bool is_candidate, const char **out);

/* Does the printed command that measures one row of a comparison keep this option (OPTION_STAYS)? *has_value: the
 * option takes a value. */
bool options_relay_stays(const char *name, size_t length, bool *has_value);
/* Does this option of a run name a file that is written (OPTION_WRITES)? */
bool options_relay_writes(const char *name, size_t length, bool *has_value);

/* Texts for other programs that are made from the tables of options: the man page, and the completion scripts of
 * shells with what they ask for. */

/* Writes the text named `what`. "man": attnbench(1) in roff; "bash", "zsh" or "fish": the completion script of that
 * shell. STATUS_USAGE for any other name. */
struct status generate_text(const char *what, FILE *);

/* Writes what the last of the words can become, a line each: the word, a tab and what it is. The words are those of
 * the command line after the program's name. The line FILE says that a file may stand there. */
void generate_words(const char *const *words, size_t count, FILE *);
