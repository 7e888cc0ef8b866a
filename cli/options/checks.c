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

static bool is_given(const struct options *o, const char *name) {
  const struct option_row *row = name != NULL ? options_table_find(o->verb, name, strlen(name)) : NULL;
  return row != NULL && options_table_is_given(row, o);
}

static struct status check_required(const struct options *o, const struct option_row *row) {
  if ((row->required_by & (1u << o->verb)) == 0 || options_table_is_given(row, o) || is_given(o, row->instead))
    return status_ok();
  if (row->choices != NULL) return status_make(STATUS_USAGE, "%s is missing; one of %s", row->name, row->choices());
  return status_make(STATUS_USAGE, "%s%s%s is missing; for example: %s; see attnbench --help", row->name,
                     row->instead != NULL ? " or " : "", row->instead != NULL ? row->instead : "",
                     options_table_verb(o->verb)->example);
}

static struct status check_needs(const struct options *o, const struct option_row *row) {
  const struct option_row *needed =
      row->needs != NULL ? options_table_find(o->verb, row->needs, strlen(row->needs)) : NULL;
  if (needed == NULL || options_table_is_given(needed, o)) return status_ok();
  return status_make(STATUS_USAGE, "%s does nothing without %s; give %s %s too", row->name, needed->name,
                     needed->name, needed->value);
}

static struct status check_timed(const struct options *o, const struct option_row *untimed) {
  if ((untimed->flags & OPTION_UNTIMED) == 0) return status_ok();
  EACH_OPTION(row, o->verb) {
    if ((row->flags & OPTION_TIMED) == 0 || !options_table_is_given(row, o)) continue;
    return status_make(STATUS_USAGE, "%s is about times, and %s takes no times; leave one of the two out", row->name,
                       untimed->name);
  }
  return status_ok();
}

static struct status check_given(const struct options *o, const struct option_row *row) {
  if (is_given(o, row->instead))
    return status_make(STATUS_USAGE, "%s and %s are both given; leave one of the two out", row->name, row->instead);
  TRY(check_needs(o, row));
  return check_timed(o, row);
}

static struct status check_stdout(const struct options *o) {
  const char *first = options_files_on_stdout(o, NULL);
  const char *second = first != NULL ? options_files_on_stdout(o, first) : NULL;
  if (second == NULL) return status_ok();
  return status_make(STATUS_USAGE, "%s - and %s - cannot share stdout; write one to a file", first, second);
}

static bool is_stdin(const char *path) { return path != NULL && strcmp(path, "-") == 0; }

static struct status check_stdin(const struct options *o) {
  const char *names[OPTIONS_FILES_MAX];
  size_t count = 0;
  for (size_t i = 0; i < o->reports.count; ++i) {
    if (is_stdin(o->reports.item[i])) names[count++] = "the report";
  }
  EACH_OPTION(row, o->verb) {
    const bool is_file = (row->flags & OPTION_READS) != 0 && row->kind == OPTION_TEXT;
    if (is_file && count < 2 && is_stdin(*options_table_text(row, o))) names[count++] = row->name;
  }
  if (count < 2) return status_ok();
  return status_make(STATUS_USAGE, "%s - and %s - would both read stdin, which can be read once; give one as a file",
                     names[0], names[1]);
}

static struct status check_gate(const struct options *o) {
  const bool has_cases = o->sweep != NULL || o->shape.count > 0;
  if (o->verb == VERB_GATE && o->from != NULL && o->journal != NULL)
    return status_make(STATUS_USAGE, "--journal: nothing is measured with --from, so there is no journal to write");
  if (o->verb != VERB_GATE || (o->selftest && (o->from == NULL) != !has_cases)) return status_ok();
  return status_make(STATUS_USAGE,
                     "gate needs --selftest and one of --sweep, --shape and --from, for example: %s; to judge a "
                     "change use attnbench ab or compare",
                     options_table_verb(VERB_GATE)->example);
}

static struct status check_base(const struct options *o) {
  if (o->verb != VERB_AB || o->base != NULL || o->base_load.count > 0) return status_ok();
  return status_make(STATUS_USAGE,
                     "--base is missing; for example: attnbench ab --base ../main/attnbench %s %s; or --base-load "
                     "for a kernel of your own",
                     o->sweep != NULL ? "--sweep" : "--shape", o->sweep != NULL ? o->sweep : o->shape.item[0]);
}

/* What is about the whole of a run, or about one device. */
static struct status check_together(const struct options *o) {
  static const struct {
    const char *option, *other, *remedy;
  } rows[] = {
      {"--shard", "--baseline", "compare the report of attnbench merge with the baseline"},
      {"--shard", "--profile", "a profiler captures all launches of one process, so leave one out"},
      {"--devices", "--baseline", "a comparison is of one device: name it with --device"},
      {"--devices", "--profile", "a profiler captures one process: name its device with --device"},
      {"--devices", "--sentinel", "a sentinel watches one device: name it with --device"},
      {"--devices", "--shard", "a shard is of one device: name it with --device"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (!is_given(o, rows[i].option) || !is_given(o, rows[i].other)) continue;
    return status_make(STATUS_USAGE, "%s and %s are both given; %s", rows[i].option, rows[i].other, rows[i].remedy);
  }
  return status_ok();
}

struct status options_checks(const struct options *o) {
  TRY(check_reports(o));
  EACH_OPTION(row, o->verb) {
    TRY(check_required(o, row));
    if (options_table_is_given(row, o)) TRY(check_given(o, row));
  }
  TRY(check_stdout(o));
  TRY(check_stdin(o));
  TRY(check_together(o));
  TRY(check_gate(o));
  return check_base(o);
}
