/* Parses the words of the command line into options. */
#include <string.h>

#include "cli/base/text.h"
#include "cli/options/table.h"

static struct status unknown_option(enum verb verb, const char *name) {
  const char *names[256] = {0};
  size_t count = 0;
  EACH_OPTION(row, verb) {
    if (count < 255) names[count++] = row->name;
  }
  const char *nearest = json_nearest(name, names), *of = options_table_verb(verb)->name;
  const struct option_row *other = options_table_find(VERB_COUNT, name, strcspn(name, "="));
  if (other != NULL && other->kind == OPTION_FLAG)
    return status_make(STATUS_USAGE, "%s: unknown option of attnbench %s; other verbs have it: %s", name, of,
                       other->help);
  return nearest != NULL
             ? status_make(STATUS_USAGE, "%s: unknown option of attnbench %s; did you mean %s?", name, of, nearest)
             : status_make(STATUS_USAGE, "%s: unknown option of attnbench %s; see attnbench --help all", name, of);
}

static struct status append(const struct option_row *row, const char *value, struct options_list *list) {
  if (list->count == (size_t)row->most)
    return status_make(STATUS_USAGE, "%s %s is one too many; give it at most %g times", row->name, value, row->most);
  list->item[list->count++] = value;
  return status_ok();
}

static struct status store(const struct option_row *row, const char *value, struct options *out) {
  if (row->kind == OPTION_LIST) return append(row, value, options_table_list(row, out));
  if (row->kind == OPTION_FLAG) {
    *(bool *)((char *)out + row->offset) = true;
    return status_ok();
  }
  const char **text = options_table_text(row, out);
  if (*text != NULL) return status_make(STATUS_USAGE, "%s: given twice; give it once", row->name);
  *text = value;
  return status_ok();
}

/* "--help all", or one screen. */
static void take_help_words(int argc, char **argv, int *i, struct options *out) {
  const bool is_all = *i + 1 < argc && strcmp(argv[*i + 1], "all") == 0;
  out->short_help = !is_all;
  *i += is_all;
}

/* Takes argv[*i] and, when it needs one, its value. */
static struct status take_option(int argc, char **argv, int *i, struct options *out) {
  const char *text = argv[*i], *equals = strchr(text, '=');
  const size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
  const struct option_row *row = options_table_find(out->verb, text, length);
  if (row == NULL) return unknown_option(out->verb, text);
  if (row->offset == offsetof(struct options, help) && row->kind == OPTION_FLAG) take_help_words(argc, argv, i, out);
  if (row->kind == OPTION_FLAG) {
    if (equals != NULL) return status_make(STATUS_USAGE, "%s: takes no value", row->name);
    return store(row, NULL, out);
  }
  if (row->kind == OPTION_COUNT && equals == NULL) return store(row, "1", out);
  if (row->kind == OPTION_WORD && equals == NULL) return store(row, "", out);
  const char *value = equals != NULL ? equals + 1 : *i + 1 < argc ? argv[++*i] : NULL;
  if (value == NULL || *value == '\0')
    return status_make(STATUS_USAGE, "%s: needs a value: %s%s%s", row->name, row->name,
                       options_table_is_joined(row) ? "" : " ", row->value);
  return store(row, value, out);
}

static bool is_sweep(const char *text) {
  const size_t length = strlen(text);
  bool is_shipped = false;
  for (size_t i = 0; shipped_name(i) != NULL; ++i) is_shipped = is_shipped || strcmp(shipped_name(i), text) == 0;
  return is_shipped || (length > 5 && strcmp(text + length - 5, ".json") == 0);
}

static struct status not_understood(const char *text, bool has_shape) {
  const char *names[VERB_COUNT + 1] = {0};
  char verbs[256] = "";
  for (size_t i = 0; i < VERB_WORKER; ++i) {
    names[i] = options_table_verb((enum verb)i)->name;
    text_append(verbs, sizeof verbs, "%s%s", i > 0 ? " " : "", names[i]);
  }
  const char *nearest = json_nearest(text, names);
  if (strchr(text, '=') != NULL && has_shape)
    return status_make(STATUS_USAGE,
                       "\"%s\": not understood here; keys of --shape have commas between them: --shape B=1,H=8,%s",
                       text, text);
  if (is_sweep(text))
    return status_make(STATUS_USAGE, "\"%s\": not understood here; a sweep is given as --sweep %s", text, text);
  return nearest != NULL
             ? status_make(
                   STATUS_USAGE,
                   "\"%s\": not understood here; did you mean the verb %s, as the first word? See attnbench --help",
                   text, nearest)
             : status_make(STATUS_USAGE,
                           "\"%s\": not understood here; the first word may be a verb (%s), all else is options: "
                           "see attnbench --help all",
                           text, verbs);
}

static struct status take_report(const char *text, struct options *out) {
  const struct verb_row *verb = options_table_verb(out->verb);
  if (verb->reports_most == 0) return not_understood(text, out->shape.count > 0);
  if (out->reports.count == verb->reports_most)
    return status_make(STATUS_USAGE, "%s is one %s too many; attnbench %s takes at most %zu", text,
                       verb->word != NULL ? verb->word : "report", verb->name, verb->reports_most);
  out->reports.item[out->reports.count++] = text;
  return status_ok();
}

/* The verb may be the first word, or, of the self-test, an option anywhere. */
static int take_verb(int argc, char **argv, struct options *out) {
  for (int verb = 0; argc > 1 && verb < VERB_COUNT; ++verb) {
    if (strcmp(argv[1], options_table_verb((enum verb)verb)->name) != 0) continue;
    out->verb = (enum verb)verb;
    out->verb_named = true;
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--selftest") == 0) out->verb = VERB_SELFTEST;
  }
  return 1;
}

/* "help", "help all", "help VERB" and "version" are --help, --help all, VERB --help and --version. */
static bool take_about(int argc, char **argv, struct options *out, struct status *status) {
  const bool is_help = argc > 1 && strcmp(argv[1], "help") == 0;
  const bool is_version = argc == 2 && strcmp(argv[1], "version") == 0;
  if (!is_help && !is_version) return false;
  const bool is_all = is_help && argc == 3 && strcmp(argv[2], "all") == 0;
  out->help = is_help;
  out->short_help = is_help && !is_all;
  out->version = is_version;
  if (is_all) return true;
  if (argc > 3) {
    *status = not_understood(argv[3], false);
  } else if (argc > 2 && (take_verb(2, argv + 1, out) == 1 || out->verb >= VERB_WORKER)) {
    *status = status_make(STATUS_USAGE, "help %s: there is no verb of that name; attnbench -h has them", argv[2]);
  }
  return true;
}

struct status options_parse(int argc, char **argv, struct options *out) {
  struct status about = status_ok();
  *out = (struct options){.verb = VERB_RUN};
  if (take_about(argc, argv, out, &about)) return about;
  for (int i = take_verb(argc, argv, out); i < argc; ++i) {
    const bool is_option = out->verb != VERB_COMPLETE && argv[i][0] == '-' && argv[i][1] != '\0';
    TRY(is_option ? take_option(argc, argv, &i, out) : take_report(argv[i], out));
  }
  if (out->help || out->version) return status_ok();
  TRY(options_checks(out));
  return options_values(out);
}
