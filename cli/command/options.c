/* The tables of verbs and options, and what is made of them: parsing, checks, help. */
#include "cli/command/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"

static const struct {
  const char *name, *usage, *help;
} verbs[VERB_COUNT] = {
    [VERB_RUN] = {"run", "attnbench [run] --sweep FILE [options]", "measure a sweep (the default)"},
    [VERB_PLAN] = {"plan", "attnbench plan --sweep FILE --gpu NAME [options]",
                   "launch geometry and findings for a named GPU, without one"},
    [VERB_LIST] = {"list", "attnbench list [--json] [--load FILE]", "the kernel variants and where they run"},
    [VERB_REPORT] = {"report", "attnbench report JOURNAL|REPORT.json... [options]",
                     "write reports from a run's journal again; show JSON reports side by side"},
    [VERB_DIAGNOSE] = {"diagnose", "attnbench diagnose REPORT.json [options]",
                       "derive everything again from a JSON report, or from times entered by hand"},
    [VERB_SELFTEST] = {"selftest", "attnbench --selftest [--device NAME] [--json FILE]",
                       "hold the timer itself against launches whose duration is known: is it to be trusted here?"},
    [VERB_AB] = {"ab", "attnbench ab --base PROGRAM --sweep FILE [options]",
                 "is this program slower than another attnbench? Fresh processes of both in turns on one device"},
    [VERB_COMPARE] = {"compare", "attnbench compare BASE NEW [options]",
                      "is the new report slower? Reports or journals of several rounds; the exit code is the answer"},
    [VERB_GATE] = {"gate", "attnbench gate --selftest --sweep FILE|--from FILE [options]",
                   "the gate's false alarms and smallest slowdown found, with the noise of this machine"},
    [VERB_WORKER] = {"worker", NULL, NULL},
    [VERB_DESCRIBE] = {"describe", NULL, NULL},
    [VERB_MEASURE_SELF] = {"measure-self", NULL, NULL},
};

/* KIND_COUNT: a flag that may be given a number, with "=" only; alone it is 1. KIND_LIST: may be repeated. */
enum kind { KIND_STRING, KIND_FLAG, KIND_COUNT, KIND_LIST };

#define IN(verb) (1u << VERB_##verb)
/* Verbs that judge, and those of them that end with one comparison. */
#define JUDGES     (COMPARES | IN(GATE))
#define COMPARES   (IN(COMPARE) | IN(AB) | IN(RUN))
#define AT(member) offsetof(struct options, member)

/* One row per option; the help text states unit and default. */
static const struct option_row {
  const char *group, *name, *value;
  unsigned verbs;
  enum kind kind;
  size_t offset;
  const char *help, *default_value;
} rows[] = {
    {"Input", "--sweep", "FILE", IN(RUN) | IN(PLAN) | IN(AB) | IN(GATE), KIND_STRING, AT(sweep),
     "sweep to run (format: shapes/README.md)", NULL},
    {"Input", "--counters", "FILE", IN(REPORT), KIND_STRING, AT(counters),
     "counters of a profiler, from scripts/profile_sweep.py, for the rows of one report", NULL},
    {"Input", "--base", "PROGRAM", IN(AB), KIND_STRING, AT(base), "the attnbench to compare with", NULL},
    {"Input", "--base-load", "FILE", IN(AB), KIND_LIST, AT(base_load),
     "shared object that the base loads instead of those of --load: a kernel of your own as it was; repeat for more. "
     "Without --base the base is this program",
     NULL},
    {"Input", "--candidate", "PROGRAM", IN(AB), KIND_STRING, AT(candidate),
     "the attnbench to judge; by default this one", NULL},
    {"Input", "--baseline", "FILE", IN(RUN), KIND_STRING, AT(baseline),
     "compare with this report or journal of at least 5 rounds, measured in the same way; the exit code is the "
     "comparison's",
     NULL},
    {"Selection", "--variants", "A,B", IN(RUN) | IN(PLAN) | IN(AB) | IN(GATE), KIND_STRING, AT(variants),
     "variants to run instead of the sweep's: name or name:key=value,key=value, with commas between", NULL},
    {"Selection", "--filter", "KEY=VALUE", IN(RUN) | IN(GATE) | IN(PLAN) | IN(AB), KIND_LIST, AT(filter),
     "only cases with this value; keys B H Hq Hkv S Sq Skv D dtype causal; repeat to narrow", NULL},
    {"Selection", "--only", "KEY/VARIANT", IN(RUN) | IN(GATE) | IN(AB), KIND_LIST, AT(only),
     "only this cell, its key and variant as reports have them; repeat for more", NULL},
    {"Selection", "--load", "FILE", IN(RUN) | IN(GATE) | IN(AB) | IN(PLAN) | IN(LIST) | IN(WORKER) | IN(DESCRIBE),
     KIND_LIST, AT(load), "shared object with variants of your own (kernels/example/README.md); repeat for more",
     NULL},
    {"Device", "--device", "NAME", IN(RUN) | IN(GATE) | IN(AB) | IN(WORKER) | IN(SELFTEST) | IN(MEASURE_SELF),
     KIND_STRING, AT(device), "auto, cpu, cuda or cuda:N; auto takes a GPU when there is one", "auto"},
    {"Device", "--gpu", "NAME", IN(RUN) | IN(PLAN), KIND_STRING, AT(gpu),
     "l4, a100, h100, h200 or rtx4090: the GPU that planned rows are for (run: h200)", NULL},
    {"Measuring", "--reference", "NAME", IN(RUN), KIND_STRING, AT(reference),
     "variant that every row is timed against, in turns (speedup_vs); none: nothing. By default the vendor's library "
     "of the device when it takes the shape, on a CPU none",
     NULL},
    {"Measuring", "--rounds", "N", IN(RUN) | IN(AB), KIND_STRING, AT(rounds),
     "fresh processes that measure every cell, 1 to 64: the evidence of the gate. By default 1, with --baseline 5, "
     "and "
     "7 of each program for ab (5 to 32)",
     NULL},
    {"Measuring", "--modes", "A,B", IN(RUN) | IN(AB), KIND_STRING, AT(modes), "which times are taken: hot, cold",
     "hot,cold"},
    {"Measuring", "--quick", NULL, IN(RUN), KIND_FLAG, AT(quick),
     "a smaller time budget per cell, for many rounds; ab measures like this", NULL},
    {"Measuring", "--seed", "N", IN(RUN) | IN(GATE) | IN(AB), KIND_STRING, AT(seed),
     "seed of the inputs, 0 to 2^64-1", "1"},
    {"Measuring", "--timeout", "SECONDS", IN(RUN) | IN(GATE) | IN(AB) | IN(SELFTEST), KIND_STRING, AT(timeout),
     "deadline of one cell, or of the self-test, seconds", "300"},
    {"Measuring", "--check-only", NULL, IN(RUN), KIND_FLAG, AT(check_only), "check results, take no times", NULL},
    {"Measuring", "--profile", "[=N]", IN(RUN), KIND_COUNT, AT(profile),
     "for nsys and ncu: one process, checks and warm-up first, then exactly N launches of each cell between "
     "cudaProfilerStart and Stop and in the NVTX range profile of domain attnbench; no times, 1 to 1000",
     NULL},
    {"Gate", "--threshold", "PERCENT", JUDGES, KIND_STRING, AT(threshold),
     "slowdown that is to be found, 0.5 to 50; by default the sweep's, else 2", NULL},
    {"Gate", "--threshold-for", "GLOB=P", JUDGES, KIND_LIST, AT(threshold_for),
     "the same for cells whose KEY/VARIANT matches; repeat for more, the last match wins", NULL},
    {"Gate", "--floor-us", "US", JUDGES, KIND_STRING, AT(floor_us),
     "smaller differences are no verdict, microseconds; by default 0.1 hot and 0.15 cold", NULL},
    {"Gate", "--modes", "A,B", IN(COMPARE) | IN(GATE), KIND_STRING, AT(modes), "which times are judged: hot, cold",
     "hot,cold"},
    {"Gate", "--allow-new", NULL, COMPARES, KIND_FLAG, AT(allow_new), "cells that the base lacks are no failure",
     NULL},
    {"Gate", "--noise", "fail|warn", COMPARES, KIND_STRING, AT(noise),
     "what cases do that cannot be decided: end with 5, the default, or be shown only", NULL},
    {"Gate", "--selftest", NULL, IN(GATE), KIND_FLAG, AT(selftest),
     "draw gate runs from measured processes, without any change and with slowdowns, and put real slowdowns in",
     NULL},
    {"Gate", "--from", "FILE", IN(GATE), KIND_STRING, AT(from),
     "report or journal of many rounds instead of a sweep to measure", NULL},
    {"Gate", "--processes", "N", IN(GATE), KIND_STRING, AT(processes),
     "fresh processes that measure the sweep, twice --rounds to 64; four times are better", "28"},
    {"Gate", "--controls", "N", IN(GATE), KIND_STRING, AT(controls),
     "real slowdowns of one and a half thresholds, each put into one of the longest cells of a real gate run, 0 to "
     "20; by default 3, with --from none",
     NULL},
    {"Gate", "--rounds", "N", IN(GATE), KIND_STRING, AT(rounds),
     "processes of each side in a gate run, 5 to 32; by default 7", NULL},
    {"Testing", "--selftest", NULL, IN(SELFTEST), KIND_FLAG, AT(selftest),
     "test the timer, and nothing else: spins of 20 us to 10 ms, events, graphs, the flush, clocks", NULL},
    {"Testing", "--inject-slowdown", "GLOB:PERCENT", IN(RUN) | IN(AB), KIND_STRING, AT(inject),
     "make the launches of cells whose KEY/VARIANT matches PERCENT slower, above 0 to 1000, by a calibrated delay on "
     "the device: a slowdown of known size for a gate to find",
     NULL},
    {"Output", "--json", "FILE", IN(RUN) | IN(PLAN) | IN(REPORT) | IN(DIAGNOSE) | IN(SELFTEST) | JUDGES, KIND_STRING,
     AT(json), "write the report (ab: the candidate's), comparison or self-test as JSON; - is stdout", NULL},
    {"Output", "--base-json", "FILE", IN(AB), KIND_STRING, AT(base_json), "write the base's report as JSON", NULL},
    {"Output", "--compare-json", "FILE", IN(RUN) | IN(AB), KIND_STRING, AT(compare_json),
     "write the comparison as JSON; - is stdout", NULL},
    {"Output", "--markdown", "FILE", COMPARES, KIND_STRING, AT(markdown),
     "write the comparison as Markdown; - is stdout", NULL},
    {"Output", "--junit", "FILE", COMPARES, KIND_STRING, AT(junit), "write the comparison as JUnit XML; - is stdout",
     NULL},
    {"Output", "--annotations", "FILE", COMPARES, KIND_STRING, AT(annotations),
     "write the comparison as GitHub annotations; - is stdout", NULL},
    {"Output", "--csv", "FILE", IN(RUN) | IN(PLAN) | IN(REPORT) | IN(DIAGNOSE), KIND_STRING, AT(csv),
     "write the report as CSV; - is stdout", NULL},
    {"Output", "--gbench", "FILE", IN(RUN) | IN(REPORT) | IN(DIAGNOSE), KIND_STRING, AT(gbench),
     "write times and rates as google-benchmark's JSON, which dashboards read; - is stdout", NULL},
    {"Output", "--journal", "FILE", IN(RUN) | IN(GATE), KIND_STRING, AT(journal),
     "keep the journal here (one JSON line per finished cell)", NULL},
    {"Output", "--keep", "FOLDER", IN(AB), KIND_STRING, AT(keep),
     "keep every process's journal and messages in this new or empty folder", NULL},
    {"Output", "--json", NULL, IN(LIST), KIND_FLAG, AT(list_json), "list as JSON", NULL},
    {"Output", "--across-devices", NULL, IN(REPORT), KIND_FLAG, AT(across_devices),
     "show reports of unlike devices together; times are then compared within a device only", NULL},
    {"Help", "--help", NULL, ~0u, KIND_FLAG, AT(help), "this text", NULL},
    {"Help", "--version", NULL, ~0u, KIND_FLAG, AT(version), "version, git commit, CUDA and cJSON", NULL},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* The KIND_LIST options: where their values and the number of these are, and what is said to one too many. */
static const struct option_list {
  size_t offset, count_offset;
  size_t most;
  const char *advice;
} lists[] = {
    {AT(filter), AT(filter_count), OPTIONS_FILTERS_MAX, "write a narrower sweep"},
    {AT(load), AT(load_count), OPTIONS_LOADS_MAX, "load fewer objects"},
    {AT(base_load), AT(base_load_count), OPTIONS_LOADS_MAX, "load fewer objects"},
    {AT(only), AT(only_count), OPTIONS_ONLY_MAX, "use --variants and --filter"},
    {AT(threshold_for), AT(threshold_for_count), OPTIONS_THRESHOLDS_MAX, "use wider globs"},
};

static const struct {
  enum exit_code code;
  const char *meaning;
} exit_codes[] = {
    {EXIT_CODE_OK, "every selected cell is present and right"},
    {EXIT_CODE_REGRESSION, "confirmed latency regression"},
    {EXIT_CODE_USAGE, "command line not understood, or it selects nothing"},
    {EXIT_CODE_WRONG, "a result did not match the oracle"},
    {EXIT_CODE_COVERAGE, "a cell is missing, failed, crashed, timed out or would not fit"},
    {EXIT_CODE_INCONCLUSIVE, "too noisy to decide"},
    {EXIT_CODE_NOT_COMPARABLE, "baseline is not comparable"},
    {EXIT_CODE_INPUT, "sweep, journal, report or baseline file invalid"},
    {EXIT_CODE_OUTPUT, "an output could not be written"},
    {EXIT_CODE_INTERNAL, "internal error, the device is unusable, or its timer is not right"},
    {EXIT_CODE_NO_GPU, "a GPU was required and there is none"},
    {EXIT_CODE_SIGINT, "interrupted (143: terminated); the partial report is written"},
};

/* ---- parsing ------------------------------------------------------------------------------------------------- */

static const struct option_row *find_row(enum verb verb, const char *name, size_t length) {
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if ((rows[i].verbs & (1u << verb)) != 0 && strlen(rows[i].name) == length &&
        strncmp(rows[i].name, name, length) == 0) {
      return &rows[i];
    }
  }
  return NULL;
}

static struct status unknown_option(enum verb verb, const char *name) {
  const char *names[ROW_COUNT + 1];
  size_t count = 0;
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if ((rows[i].verbs & (1u << verb)) != 0) names[count++] = rows[i].name;
  }
  names[count] = NULL;
  const char *nearest = json_nearest(name, names);
  if (nearest != NULL) {
    return status_make(STATUS_USAGE, "%s: unknown option of attnbench %s; did you mean %s?", name, verbs[verb].name,
                       nearest);
  }
  return status_make(STATUS_USAGE, "%s: unknown option of attnbench %s; see attnbench --help", name,
                     verbs[verb].name);
}

static const struct option_list *list_of(const struct option_row *row) {
  const struct option_list *list = lists;
  while (list->offset != row->offset) ++list;
  return list;
}

static struct status append(const struct option_row *row, const char *value, struct options *out) {
  const struct option_list *list = list_of(row);
  const char **values = (const char **)((char *)out + list->offset);
  size_t *count = (size_t *)((char *)out + list->count_offset);
  if (*count == list->most) {
    return status_make(STATUS_USAGE, "%s: given more than %zu times; %s", row->name, list->most, list->advice);
  }
  values[(*count)++] = value;
  return status_ok();
}

static struct status store(const struct option_row *row, const char *value, struct options *out) {
  char *at = (char *)out + row->offset;
  if (row->kind == KIND_LIST) return append(row, value, out);
  if (row->kind == KIND_FLAG) {
    *(bool *)at = true;
  } else if (*(const char **)at != NULL) {
    return status_make(STATUS_USAGE, "%s: given twice; give it once", row->name);
  } else {
    *(const char **)at = value;
  }
  return status_ok();
}

/* Takes argv[*i] and, when it needs one, its value. */
static struct status take_option(int argc, char **argv, int *i, struct options *out) {
  const char *text = argv[*i], *equals = strchr(text, '=');
  const size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
  const struct option_row *row = find_row(out->verb, text, length);
  if (row == NULL) return unknown_option(out->verb, text);
  if (row->kind == KIND_FLAG) {
    if (equals != NULL) return status_make(STATUS_USAGE, "%s: takes no value", row->name);
    return store(row, NULL, out);
  }
  if (row->kind == KIND_COUNT && equals == NULL) return store(row, "1", out);
  const char *value = equals != NULL ? equals + 1 : *i + 1 < argc ? argv[++*i] : NULL;
  if (value == NULL || *value == '\0') {
    return status_make(STATUS_USAGE, "%s: needs a value: %s%s%s", row->name, row->name,
                       row->kind == KIND_COUNT ? "" : " ", row->value);
  }
  return store(row, value, out);
}

/* How many files a verb takes. */
static size_t files_taken(enum verb verb) {
  static const size_t most[VERB_COUNT] = {
      [VERB_REPORT] = OPTIONS_POSITIONALS_MAX, [VERB_DIAGNOSE] = 1, [VERB_COMPARE] = 2};
  return most[verb];
}

static struct status take_positional(const char *text, struct options *out) {
  const size_t most = files_taken(out->verb);
  if (most > 0) {
    if (out->positional_count == most) {
      return status_make(STATUS_USAGE, "%s: more than %zu reports; name fewer", text, most);
    }
    out->positional[out->positional_count++] = text;
    return status_ok();
  }
  const char *names[VERB_COUNT + 1] = {0};
  for (size_t i = 0; i < VERB_WORKER; ++i) names[i] = verbs[i].name;
  const char *nearest = json_nearest(text, names);
  return status_make(STATUS_USAGE, "\"%s\": not understood here%s%s%s; see attnbench --help", text,
                     nearest != NULL ? "; did you mean the verb " : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? ", as the first word?" : "");
}

static void apply_defaults(struct options *out) {
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    const char **at = (const char **)((char *)out + rows[i].offset);
    if (rows[i].default_value != NULL && *at == NULL) *at = rows[i].default_value;
  }
}

/* What a round is worth depends on what the rounds are for. ab may measure a cell twice as often to decide. */
static struct status parse_rounds(struct options *out) {
  if (out->verb == VERB_GATE) return status_ok(); /* options_parse_gate's */
  const bool is_gate = out->verb == VERB_AB || out->baseline != NULL;
  const unsigned long least = is_gate ? 5 : 1, most = out->verb == VERB_AB ? 32 : 64;
  char *end = NULL;
  out->rounds_value = out->verb == VERB_AB ? 7 : out->baseline != NULL ? 5 : 1;
  if (out->rounds == NULL) return status_ok();
  const unsigned long value = strtoul(out->rounds, &end, 10);
  out->rounds_value = (uint32_t)value;
  if (out->rounds[0] >= '0' && out->rounds[0] <= '9' && *end == '\0' && value >= least && value <= most)
    return status_ok();
  return status_make(STATUS_USAGE, "--rounds: \"%s\" is not a whole number from %lu to %lu%s", out->rounds, least,
                     most, is_gate ? "; fewer than 5 processes are no evidence" : "");
}

static struct status parse_numbers(struct options *out) {
  char *end;
  errno = 0;
  out->seed_value = strtoull(out->seed, &end, 10);
  if (errno != 0 || *end != '\0' || out->seed[0] < '0' || out->seed[0] > '9') {
    return status_make(STATUS_USAGE, "--seed: \"%s\" is not a whole number from 0 to 2^64-1", out->seed);
  }
  out->timeout_s = strtod(out->timeout, &end);
  if (*end != '\0' || !(out->timeout_s > 0) || out->timeout_s > 86400) {
    return status_make(STATUS_USAGE, "--timeout: \"%s\" is not a number of seconds above 0, at most 86400",
                       out->timeout);
  }
  const struct status status = parse_rounds(out);
  return status_failed(&status) ? status : options_parse_gate(out);
}

/* Options that only make sense with a comparison, and comparisons that only make sense with times. */
static struct status require_gate(const struct options *o) {
  const bool is_gate = o->verb == VERB_AB || o->baseline != NULL;
  const struct {
    const char *name, *value;
  } needing[] = {
      {"--compare-json", o->compare_json}, {"--markdown", o->markdown},   {"--junit", o->junit},
      {"--annotations", o->annotations},   {"--threshold", o->threshold}, {"--threshold-for", o->threshold_for[0]},
      {"--floor-us", o->floor_us},         {"--noise", o->noise},         {"--allow-new", o->allow_new ? "" : NULL}};
  for (size_t i = 0; i < sizeof needing / sizeof *needing && o->verb == VERB_RUN && !is_gate; ++i) {
    if (needing[i].value != NULL)
      return status_make(STATUS_USAGE, "%s: nothing is compared; give --baseline FILE", needing[i].name);
  }
  if (o->verb == VERB_AB && o->base == NULL && o->base_load_count == 0) {
    return status_make(
        STATUS_USAGE,
        "--base is missing; for example: attnbench ab --base ../main/attnbench --sweep %s; or --base-load for a "
        "kernel of your own",
        o->sweep);
  }
  if (o->check_only && (is_gate || o->rounds_value > 1))
    return status_make(STATUS_USAGE, "--check-only takes no times, which --rounds and --baseline are about");
  return status_ok();
}

static struct status parse_profile(struct options *out) {
  char *end;
  if (out->profile == NULL) return status_ok();
  const unsigned long launches =
      out->profile[0] >= '0' && out->profile[0] <= '9' ? strtoul(out->profile, &end, 10) : 0;
  if (launches < 1 || launches > OPTIONS_PROFILE_MAX || *end != '\0') {
    return status_make(STATUS_USAGE, "--profile: \"%s\" is not a number of launches from 1 to %d", out->profile,
                       OPTIONS_PROFILE_MAX);
  }
  out->profile_launches = (uint32_t)launches;
  const struct {
    const char *name, *value;
  } of_times[] = {{"--reference", out->reference}, {"--baseline", out->baseline}, {"--rounds", out->rounds}};
  for (size_t i = 0; i < sizeof of_times / sizeof *of_times; ++i) {
    if (of_times[i].value == NULL) continue;
    return status_make(STATUS_USAGE, "%s: a run with --profile times nothing; leave one of the two out",
                       of_times[i].name);
  }
  return status_ok();
}

static struct status one_on_stdout(const struct options *o) {
  const char *first = NULL;
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    const bool is_file =
        rows[i].kind == KIND_STRING && (rows[i].verbs & (1u << o->verb)) != 0 && strcmp(rows[i].group, "Output") == 0;
    const char *path = is_file ? *(const char *const *)((const char *)o + rows[i].offset) : NULL;
    if (path == NULL || strcmp(path, "-") != 0) continue;
    if (first != NULL) {
      return status_make(STATUS_USAGE, "%s - and %s - cannot share stdout; write one to a file", first, rows[i].name);
    }
    first = rows[i].name;
  }
  return status_ok();
}

static void add_file(const char *option, const char *path, bool is_output, struct options_file *out, size_t *count) {
  if (path == NULL || strcmp(path, "-") == 0 || *count == OPTIONS_FILES_MAX) return;
  out[(*count)++] = (struct options_file){option, path, is_output};
}

size_t options_files(const struct options *o, struct options_file out[OPTIONS_FILES_MAX]) {
  size_t count = 0;
  for (size_t i = 0; i < o->positional_count; ++i) add_file("the report", o->positional[i], false, out, &count);
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    const struct option_row *row = &rows[i];
    const bool takes_value = row->kind == KIND_STRING || row->kind == KIND_LIST;
    if (!takes_value || (row->verbs & (1u << o->verb)) == 0) continue;
    if (strcmp(row->value, "FILE") != 0 && strcmp(row->value, "PROGRAM") != 0) continue;
    const char *const *paths = (const char *const *)((const char *)o + row->offset);
    const size_t given = row->kind == KIND_LIST ? *(const size_t *)((const char *)o + list_of(row)->count_offset) : 1;
    for (size_t j = 0; j < given; ++j) {
      add_file(row->name, paths[j], strcmp(row->group, "Output") == 0, out, &count);
    }
  }
  return count;
}

static const char *sweep_example(enum verb verb) {
  return verb == VERB_RUN    ? "attnbench --sweep shapes/v3.json"
         : verb == VERB_PLAN ? "attnbench plan --sweep shapes/v3.json --gpu h200"
                             : "attnbench ab --base ../main/attnbench --sweep shapes/v3.json";
}

static struct status require(const struct options *o) {
  const bool wants_sweep = o->verb == VERB_RUN || o->verb == VERB_PLAN || o->verb == VERB_AB;
  if (wants_sweep && o->sweep == NULL)
    return status_make(STATUS_USAGE, "--sweep is missing; for example: %s", sweep_example(o->verb));
  if (o->verb == VERB_PLAN && o->gpu == NULL) {
    return status_make(STATUS_USAGE, "--gpu is missing; one of l4, a100, h100, h200, rtx4090");
  }
  if (o->verb == VERB_REPORT && o->positional_count == 0) {
    return status_make(STATUS_USAGE, "the journal is missing; for example: attnbench report run.journal --json -");
  }
  if (o->verb == VERB_DIAGNOSE && o->positional_count == 0) {
    return status_make(STATUS_USAGE, "the report is missing; for example: attnbench diagnose report.json");
  }
  if (o->inject != NULL && o->check_only) {
    return status_make(STATUS_USAGE,
                       "--inject-slowdown: --check-only takes no times that it could change; leave one out");
  }
  if (o->verb == VERB_COMPARE && o->positional_count < 2) {
    return status_make(STATUS_USAGE, "two reports are needed; for example: attnbench compare base.json new.json");
  }
  if (o->verb == VERB_GATE && (!o->selftest || (o->from == NULL) == (o->sweep == NULL))) {
    return status_make(STATUS_USAGE,
                       "gate needs --selftest and one of --sweep and --from, for example: attnbench gate --selftest "
                       "--sweep shapes/v3.json; to gate a change use attnbench ab or compare");
  }
  const struct status status = require_gate(o);
  return status_failed(&status) ? status : one_on_stdout(o);
}

/* The verb may be the first word, or, of the self-test, an option anywhere. */
static int take_verb(int argc, char **argv, struct options *out) {
  for (int verb = 0; argc > 1 && verb < VERB_COUNT; ++verb) {
    if (strcmp(argv[1], verbs[verb].name) != 0) continue;
    out->verb = (enum verb)verb;
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--selftest") == 0) out->verb = VERB_SELFTEST;
  }
  return 1;
}

struct status options_parse(int argc, char **argv, struct options *out) {
  *out = (struct options){.verb = VERB_RUN};
  for (int i = take_verb(argc, argv, out); i < argc; ++i) {
    const struct status status = argv[i][0] == '-' ? take_option(argc, argv, &i, out) : take_positional(argv[i], out);
    if (status_failed(&status)) return status;
  }
  if (out->help || out->version) return status_ok();
  apply_defaults(out);
  struct status status = parse_numbers(out);
  if (!status_failed(&status)) status = parse_profile(out);
  return status_failed(&status) ? status : require(out);
}

/* ---- help ---------------------------------------------------------------------------------------------------- */

enum { HELP_WIDTH = 79, HELP_INDENT = 26 };

/* Words of text from column HELP_INDENT, wrapped at HELP_WIDTH. */
static void print_wrapped(FILE *out, const char *text) {
  size_t column = HELP_INDENT;
  while (*text != '\0') {
    const size_t word = strcspn(text, " ");
    if (column > HELP_INDENT && column + 1 + word > HELP_WIDTH) {
      fprintf(out, "\n%*s", HELP_INDENT, "");
      column = HELP_INDENT;
    } else if (column > HELP_INDENT) {
      fputc(' ', out);
      ++column;
    }
    fprintf(out, "%.*s", (int)word, text);
    column += word;
    text += word + (text[word] == ' ');
  }
  fputc('\n', out);
}

static void print_option(FILE *out, const struct option_row *row) {
  char head[64], text[256], where[64] = "";
  snprintf(head, sizeof head, "  %s%s%s", row->name, row->kind == KIND_COUNT ? "" : " ",
           row->value != NULL ? row->value : "");
  if (row->verbs != ~0u && (row->verbs & IN(RUN)) == 0) {
    snprintf(where, sizeof where, " (%s)",
             (row->verbs & IN(LIST)) != 0     ? "list"
             : (row->verbs & IN(REPORT)) != 0 ? "report"
             : (row->verbs & IN(AB)) != 0     ? "ab"
             : row->verbs == IN(SELFTEST)     ? "selftest"
             : row->verbs == IN(GATE)         ? "gate"
             : (row->verbs & COMPARES) != 0   ? "compare"
                                              : "plan");
  }
  snprintf(text, sizeof text, "%s%s%s%s%s", row->help, where, row->default_value != NULL ? " [default: " : "",
           row->default_value != NULL ? row->default_value : "", row->default_value != NULL ? "]" : "");
  fprintf(out, "%-*s", HELP_INDENT, head);
  if (strlen(head) >= HELP_INDENT) fprintf(out, "\n%*s", HELP_INDENT, "");
  print_wrapped(out, text);
}

void options_help(FILE *out) {
  fputs("attnbench: benchmark and profiling harness for attention kernels on NVIDIA GPUs\n\nUsage\n", out);
  for (size_t i = 0; i < VERB_WORKER; ++i) {
    fprintf(out, "  %s\n%*s", verbs[i].usage, HELP_INDENT, "");
    print_wrapped(out, verbs[i].help);
  }
  const char *group = "";
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if (strcmp(group, rows[i].group) != 0) fprintf(out, "\n%s\n", rows[i].group);
    group = rows[i].group;
    print_option(out, &rows[i]);
  }
  fputs(
      "\nWithout --json, --csv and --gbench a table is printed on stdout. Progress goes\n"
      "to stderr, on a terminal only.\n\nExit codes\n",
      out);
  for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; ++i) {
    fprintf(out, "  %3d  %s\n", exit_codes[i].code, exit_codes[i].meaning);
  }
  fputs(
      "\nExamples\n"
      "  attnbench --sweep shapes/v3.json\n"
      "  attnbench --sweep shapes/n6.json --variants wmma,split_kv:splits=8\n"
      "  attnbench plan --sweep shapes/n6.json --gpu l4\n",
      out);
}
