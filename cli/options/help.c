/* --help, from the tables. */
#include <string.h>

#include "cli/base/text.h"
#include "cli/options/table.h"

enum { HELP_WIDTH = 79, HELP_INDENT = 26, HELP_TEXT_MAX = 512 };

/* The length of the next word. A text in brackets counts as one word if it fits in a line. */
static size_t word_length(const char *text, size_t indent) {
  const size_t bracketed = *text == '[' ? strcspn(text, "]") + 1 : 0;
  return bracketed > 0 && indent + bracketed <= HELP_WIDTH ? bracketed : strcspn(text, " ");
}

/* Words of text from column `indent`, where the line stands, wrapped at HELP_WIDTH. */
static void print_wrapped(FILE *out, size_t indent, const char *text) {
  size_t column = indent;
  while (*text != '\0') {
    const size_t word = word_length(text, indent);
    if (column > indent && column + 1 + word > HELP_WIDTH) {
      fprintf(out, "\n%*s", (int)indent, "");
      column = indent;
    } else if (column > indent) {
      fputc(' ', out);
      ++column;
    }
    fprintf(out, "%.*s", (int)word, text);
    column += word;
    text += word + (text[word] == ' ');
  }
  fputc('\n', out);
}

/* "; 1 to 64; default 7 [run, ab]": what the row says beyond its help. */
static void append_facts(const struct option_row *row, bool has_verbs, char *text) {
  const bool is_number = row->kind == OPTION_WHOLE || row->kind == OPTION_NUMBER || row->kind == OPTION_COUNT;
  const char *before = " [";
  char range[OPTION_RANGE_MAX];
  options_table_range(row, range);
  if (row->choices != NULL) text_append(text, HELP_TEXT_MAX, "%s%s", " ", row->choices());
  if (is_number) text_append(text, HELP_TEXT_MAX, "%s%s", "; ", range);
  if (row->default_value != NULL) text_append(text, HELP_TEXT_MAX, "%s%s", "; default ", row->default_value);
  if (row->verbs == ~0u || !has_verbs) return;
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    if (!option_is_of(row, verb)) continue;
    text_append(text, HELP_TEXT_MAX, "%s%s", before, options_table_verb(verb)->name);
    before = " ";
  }
  text_append(text, HELP_TEXT_MAX, "]");
}

static void print_option(FILE *out, const struct option_row *row, bool has_verbs) {
  char head[64], text[HELP_TEXT_MAX] = "";
  snprintf(head, sizeof head, "  %s%s%s%s%s", row->letter != NULL ? row->letter : "", row->letter != NULL ? ", " : "",
           row->name, options_table_is_joined(row) ? "" : " ", row->value != NULL ? row->value : "");
  text_append(text, sizeof text, "%s", row->help);
  append_facts(row, has_verbs, text);
  fprintf(out, "%-*s", HELP_INDENT, head);
  if (strlen(head) >= HELP_INDENT) fprintf(out, "\n%*s", HELP_INDENT, "");
  print_wrapped(out, HELP_INDENT, text);
}

static void print_verbs(FILE *out) {
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    fprintf(out, "  %s\n%*s", options_table_verb(verb)->usage, HELP_INDENT, "");
    print_wrapped(out, HELP_INDENT, options_table_verb(verb)->help);
  }
}

/* Of one verb, or with VERB_COUNT of all, each with its verbs. */
static void print_options(FILE *out, enum verb verb) {
  const char *group = "";
  EACH_OPTION(row, verb) {
    if (strcmp(group, row->group) != 0) fprintf(out, "\n%s\n", row->group);
    group = row->group;
    print_option(out, row, verb == VERB_COUNT);
  }
}

#define IN(verb) (1u << VERB_##verb)
#define TRIES    (IN(RUN) | IN(AB) | IN(GATE) | IN(TUNE))
#define SHOWS    (IN(REPORT) | IN(MERGE) | IN(DIAGNOSE) | IN(COMPARE))

/* Any verb may end with a code that has no row. VERB_COUNT: of all verbs. */
static bool has_exit_code(enum verb verb, int code) {
  static const struct {
    enum exit_code code;
    uint32_t verbs;
  } rows[] = {{EXIT_CODE_REGRESSION, IN(RUN) | IN(AB) | IN(COMPARE) | IN(HISTORY)},
              {EXIT_CODE_WRONG, TRIES | SHOWS},
              {EXIT_CODE_COVERAGE, TRIES | SHOWS | IN(PLAN)},
              {EXIT_CODE_INCONCLUSIVE, IN(RUN) | IN(AB) | IN(GATE) | IN(COMPARE)},
              {EXIT_CODE_NOT_COMPARABLE, TRIES | SHOWS | IN(HISTORY)},
              {EXIT_CODE_INPUT, TRIES | SHOWS | IN(HISTORY) | IN(PLAN) | IN(LIST) | IN(DESCRIBE) | IN(INPUTS)},
              {EXIT_CODE_NO_GPU, TRIES | IN(SELFTEST)},
              {EXIT_CODE_SIGHUP, TRIES},
              {EXIT_CODE_SIGINT, TRIES},
              {EXIT_CODE_SIGTERM, TRIES}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows && verb < VERB_COUNT; ++i) {
    if ((int)rows[i].code == code) return (rows[i].verbs & (1u << verb)) != 0;
  }
  return true;
}

static void print_exit_codes(FILE *out, enum verb verb) {
  const struct status_exit *exit;
  fputs("\nExit codes\n", out);
  for (size_t i = 0; (exit = status_exit_at(i)) != NULL; ++i) {
    if (has_exit_code(verb, exit->code)) fprintf(out, "  %3d  %s\n", exit->code, exit->meaning);
  }
}

void options_help_verb(FILE *out, enum verb verb) {
  const struct verb_row *row = options_table_verb(verb);
  fprintf(out, "%s\n\n", row->usage);
  print_wrapped(out, 0, row->help);
  fprintf(out, "\nExample: %s\n", row->example);
  print_options(out, verb);
  print_exit_codes(out, verb);
}

bool options_help_option(FILE *out, const char *name) {
  bool is_known = false;
  EACH_OPTION(row, VERB_COUNT) {
    if (strcmp(row->name, "--help") == 0 || strncmp(row->name, "--", 2) != 0 || strcmp(row->name + 2, name) != 0)
      continue;
    if (!is_known)
      fprintf(out, "%s, an option of %s\n", row->name, row->verbs == ~0u ? "all verbs" : "the verbs in brackets");
    print_option(out, row, true);
    is_known = true;
  }
  return is_known;
}

void options_help_short(FILE *out) {
  fputs("attnbench: benchmark and profiling harness for attention kernels on NVIDIA GPUs\n\n", out);
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    const struct verb_row *row = options_table_verb(verb);
    fprintf(out, "  %-9s %s\n", row->name, row->brief);
  }
  fputs("\nOptions that most runs need\n", out);
  EACH_OPTION(row, VERB_RUN) {
    char head[64];
    snprintf(head, sizeof head, "%s %s", row->name, row->value != NULL ? row->value : "");
    if (row->brief != NULL) fprintf(out, "  %-18s %s\n", head, row->brief);
  }
  fputs(
      "\nTo begin with: attnbench --sweep v3        A kernel of yours: --load ./mine.so\n"
      "attnbench VERB --help: options of a verb; attnbench --help all: every option;\n"
      "attnbench describe WORD says what a word of the table means.\n",
      out);
}

void options_help(FILE *out) {
  fputs("attnbench: benchmark and profiling harness for attention kernels on NVIDIA GPUs\n\nUsage\n", out);
  print_verbs(out);
  fputs(
      "\nOptions, in brackets the verbs that take them. As a FILE, - is stdin where it\nis read and stdout where it "
      "is written.\n",
      out);
  print_options(out, VERB_COUNT);
  fputs(
      "\nA table is printed on stdout, beside files too, unless --quiet is given or a\n"
      "file is - (stdout). Progress goes to stderr; with any exit code but 0, so does\n"
      "a last line that says why. Pages that are named, such as results/gate.md, are\n"
      "in the sources, and in share/attnbench/doc of an installation.\n",
      out);
  print_exit_codes(out, VERB_COUNT);
  fputs(
      "\nExamples\n"
      "  attnbench --sweep v3\n"
      "  attnbench --sweep shapes/n6.json --variants wmma,split_kv:splits=8\n"
      "  attnbench plan --sweep shapes/n6.json --gpu l4\n",
      out);
}
