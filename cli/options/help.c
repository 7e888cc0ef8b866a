/* --help, from the tables. */
#include <string.h>

#include "cli/options/table.h"

enum { HELP_WIDTH = 79, HELP_INDENT = 26, HELP_TEXT_MAX = 512 };

/* Words of text from column HELP_INDENT, wrapped at HELP_WIDTH; what is in brackets is one word. */
static void print_wrapped(FILE *out, const char *text) {
  size_t column = HELP_INDENT;
  while (*text != '\0') {
    const size_t word = *text == '[' ? strcspn(text, "]") + 1 : strcspn(text, " ");
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

static void append(char *text, const char *before, const char *more) {
  const size_t used = strlen(text);
  snprintf(text + used, HELP_TEXT_MAX - used, "%s%s", before, more);
}

/* "; 1 to 64; default 7 [run, ab]": what the row says beyond its help. */
static void append_facts(const struct option_row *row, char *text) {
  const bool is_number = row->kind == OPTION_WHOLE || row->kind == OPTION_NUMBER || row->kind == OPTION_COUNT;
  const char *before = " [";
  char range[OPTION_RANGE_MAX];
  options_table_range(row, range);
  if (row->choices != NULL) append(text, " ", row->choices());
  if (is_number) append(text, "; ", range);
  if (row->default_value != NULL) append(text, "; default ", row->default_value);
  if (row->verbs == ~0u) return;
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    if (!option_is_of(row, verb)) continue;
    append(text, before, options_table_verb(verb)->name);
    before = " ";
  }
  append(text, "]", "");
}

static void print_option(FILE *out, const struct option_row *row) {
  char head[64], text[HELP_TEXT_MAX] = "";
  snprintf(head, sizeof head, "  %s%s%s", row->name, options_table_is_joined(row) ? "" : " ",
           row->value != NULL ? row->value : "");
  append(text, row->help, "");
  append_facts(row, text);
  fprintf(out, "%-*s", HELP_INDENT, head);
  if (strlen(head) >= HELP_INDENT) fprintf(out, "\n%*s", HELP_INDENT, "");
  print_wrapped(out, text);
}

static void print_verbs(FILE *out) {
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    fprintf(out, "  %s\n%*s", options_table_verb(verb)->usage, HELP_INDENT, "");
    print_wrapped(out, options_table_verb(verb)->help);
  }
}

static void print_options(FILE *out) {
  const struct option_row *row;
  const char *group = "";
  for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
    if (strcmp(group, row->group) != 0) fprintf(out, "\n%s\n", row->group);
    group = row->group;
    print_option(out, row);
  }
}

void options_help(FILE *out) {
  const struct status_exit *exit;
  fputs("attnbench: benchmark and profiling harness for attention kernels on NVIDIA GPUs\n\nUsage\n", out);
  print_verbs(out);
  fputs("\nOptions, in brackets the verbs that take them. As an output FILE, - is stdout.\n", out);
  print_options(out);
  fputs(
      "\nA table is printed on stdout, beside files too, unless --quiet is given or a\n"
      "file is - (stdout). Progress goes to stderr; with any exit code but 0, so does\n"
      "a last line that says why.\n\nExit codes\n",
      out);
  for (size_t i = 0; (exit = status_exit_at(i)) != NULL; ++i) fprintf(out, "  %3d  %s\n", exit->code, exit->meaning);
  fputs(
      "\nExamples\n"
      "  attnbench --sweep shapes/v3.json\n"
      "  attnbench --sweep shapes/n6.json --variants wmma,split_kv:splits=8\n"
      "  attnbench plan --sweep shapes/n6.json --gpu l4\n",
      out);
}
