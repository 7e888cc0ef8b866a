/* What options and verbs require of each other. */
#include <string.h>

#include "cli/options/table.h"

static struct status check_reports(const struct options *o) {
  const struct verb_row *verb = options_table_verb(o->verb);
  if (o->reports.count >= verb->reports_least) return status_ok();
  return status_make(STATUS_USAGE, "%s needs %zu %s%s, %zu given; for example: %s", verb->name, verb->reports_least,
                     verb->word != NULL ? verb->word : "report", verb->reports_least == 1 ? "" : "s",
                     o->reports.count, verb->example);
}

/* Is the option given that takes the place of this one? */
static bool is_replaced(const struct options *o, const struct option_row *row) {
  const struct option_row *instead =
      row->instead != NULL ? options_table_find(o->verb, row->instead, strlen(row->instead)) : NULL;
  return instead != NULL && options_table_is_given(instead, o);
}

static struct status check_instead(const struct options *o, const struct option_row *row) {
  if (!options_table_is_given(row, o) || !is_replaced(o, row)) return status_ok();
  return status_make(STATUS_USAGE, "%s and %s are both given; leave one of the two out", row->name, row->instead);
}

static struct status check_required(const struct options *o, const struct option_row *row) {
  if ((row->required_by & (1u << o->verb)) == 0 || options_table_is_given(row, o)) return status_ok();
  if (is_replaced(o, row)) return status_ok();
  if (row->choices != NULL) return status_make(STATUS_USAGE, "%s is missing; one of %s", row->name, row->choices());
  return status_make(STATUS_USAGE, "%s is missing; for example: %s", row->name, options_table_verb(o->verb)->example);
}

static struct status check_needs(const struct options *o, const struct option_row *row) {
  if (row->needs == NULL || !options_table_is_given(row, o)) return status_ok();
  const struct option_row *needed = options_table_find(o->verb, row->needs, strlen(row->needs));
  if (needed == NULL || options_table_is_given(needed, o)) return status_ok();
  return status_make(STATUS_USAGE, "%s does nothing without %s; give %s %s too", row->name, needed->name,
                     needed->name, needed->value);
}

static struct status check_timed(const struct options *o, const struct option_row *untimed) {
  const struct option_row *row;
  if ((untimed->flags & OPTION_UNTIMED) == 0 || !options_table_is_given(untimed, o)) return status_ok();
  for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
    if (!option_is_of(row, o->verb) || (row->flags & OPTION_TIMED) == 0 || !options_table_is_given(row, o)) continue;
    return status_make(STATUS_USAGE, "%s is about times, and %s takes no times; leave one of the two out", row->name,
                       untimed->name);
  }
  return status_ok();
}

static struct status check_stdout(const struct options *o) {
  const char *first = options_files_on_stdout(o, NULL);
  const char *second = first != NULL ? options_files_on_stdout(o, first) : NULL;
  if (second == NULL) return status_ok();
  return status_make(STATUS_USAGE, "%s - and %s - cannot share stdout; write one to a file", first, second);
}

static bool is_stdin(const char *path) { return path != NULL && strcmp(path, "-") == 0; }

/* The name of the option, or of what else is read; NULL when it is a file. */
static const char *read_from_stdin(const struct options *o, const struct option_row *row) {
  const bool is_file = option_is_of(row, o->verb) && (row->flags & OPTION_READS) != 0 && row->kind == OPTION_TEXT;
  return is_file && is_stdin(*options_table_text(row, o)) ? row->name : NULL;
}

static struct status check_stdin(const struct options *o) {
  const char *names[OPTIONS_LIST_MAX + 8];
  const struct option_row *row;
  size_t count = 0;
  for (size_t i = 0; i < o->reports.count; ++i) {
    if (is_stdin(o->reports.item[i])) names[count++] = "the report";
  }
  for (size_t i = 0; (row = options_table_row(i)) != NULL && count < 2; ++i) {
    if (read_from_stdin(o, row) != NULL) names[count++] = row->name;
  }
  if (count < 2) return status_ok();
  return status_make(STATUS_USAGE, "%s - and %s - would both read stdin, which can be read once; give one as a file",
                     names[0], names[1]);
}

static bool has_cases(const struct options *o) { return o->sweep != NULL || o->shape.count > 0; }

static struct status check_gate(const struct options *o) {
  if (o->verb == VERB_GATE && o->from != NULL && o->journal != NULL)
    return status_make(STATUS_USAGE, "--journal: nothing is measured with --from, so there is no journal to write");
  if (o->verb != VERB_GATE || (o->selftest && (o->from == NULL) != !has_cases(o))) return status_ok();
  return status_make(
      STATUS_USAGE,
      "gate needs --selftest and one of --sweep, --shape and --from, for example: %s; to judge a change use "
      "attnbench ab or compare",
      options_table_verb(VERB_GATE)->example);
}

static struct status check_base(const struct options *o) {
  if (o->verb != VERB_AB || o->base != NULL || o->base_load.count > 0) return status_ok();
  return status_make(STATUS_USAGE,
                     "--base is missing; for example: attnbench ab --base ../main/attnbench %s %s; or --base-load "
                     "for a kernel of your own",
                     o->sweep != NULL ? "--sweep" : "--shape", o->sweep != NULL ? o->sweep : o->shape.item[0]);
}

/* What is about one device. */
static struct status check_devices(const struct options *o) {
  const struct {
    const char *option;
    bool is_given;
    const char *remedy;
  } rows[] = {
      {"--baseline", o->baseline != NULL, "a comparison is of one device: name it with --device"},
      {"--profile", o->profile.text != NULL, "a profiler captures one process: name its device with --device"},
      {"--sentinel", o->sentinel.text != NULL, "a sentinel watches one device: name it with --device"},
      {"--shard", o->shard != NULL, "a shard is of one device: name it with --device"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows && o->devices != NULL; ++i) {
    if (rows[i].is_given)
      return status_make(STATUS_USAGE, "--devices and %s are both given; %s", rows[i].option, rows[i].remedy);
  }
  return status_ok();
}

/* Neither a comparison nor a profiler has use for a part of a run. */
static struct status check_whole(const struct options *o) {
  if (o->shard == NULL || (o->baseline == NULL && o->profile.text == NULL)) return status_ok();
  return status_make(STATUS_USAGE, "--shard and %s are both given; %s",
                     o->baseline != NULL ? "--baseline" : "--profile",
                     o->baseline != NULL ? "compare the report of attnbench merge with the baseline"
                                         : "a profiler captures all launches of one process, so leave one out");
}

struct status options_checks(const struct options *o) {
  const struct option_row *row;
  TRY(check_reports(o));
  for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
    if (!option_is_of(row, o->verb)) continue;
    TRY(check_required(o, row));
    TRY(check_instead(o, row));
    TRY(check_needs(o, row));
    TRY(check_timed(o, row));
  }
  TRY(check_stdout(o));
  TRY(check_stdin(o));
  TRY(check_whole(o));
  TRY(check_devices(o));
  TRY(check_gate(o));
  return check_base(o);
}
