/* Writes the man page and the completion scripts, and answers what a word of the command line can become. */

#include <string.h>

#include "cli/base/program.h"
#include "cli/options/table.h"

/* ---- the man page ---------------------------------------------------------------------------------------------- */

/* Roff takes a backslash, a dot or a quote at the start of a line, and a dash, for something else. */
static void put_roff(FILE *out, const char *text) {
  if (*text == '.' || *text == '\'') fputs("\\&", out);
  for (; *text != '\0'; ++text) {
    if (*text == '\\') {
      fputs("\\e", out);
    } else if (*text == '-') {
      fputs("\\-", out);
    } else {
      fputc(*text, out);
    }
  }
}

static void put_line(FILE *out, const char *before, const char *text, const char *after) {
  fputs(before, out);
  put_roff(out, text);
  fputs(after, out);
}

static void man_verbs(FILE *out) {
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    put_line(out, ".TP\n.B ", options_table_verb(verb)->usage, "\n");
    put_line(out, "", options_table_verb(verb)->help, "\n");
  }
}

/* "Default h200. Of run and plan." */
static void man_facts(FILE *out, const struct option_row *row) {
  char range[OPTION_RANGE_MAX];
  const char *before = "Of ";
  options_table_range(row, range);
  if (row->choices != NULL) put_line(out, "", row->choices(), ".\n");
  if (row->kind == OPTION_WHOLE || row->kind == OPTION_NUMBER || row->kind == OPTION_COUNT)
    put_line(out, "From ", range, ".\n");
  if (row->default_value != NULL) put_line(out, "Default ", row->default_value, ".\n");
  if (row->verbs == ~0u) return;
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    if (!option_is_of(row, verb)) continue;
    put_line(out, before, options_table_verb(verb)->name, "");
    before = ", ";
  }
  fputs(".\n", out);
}

static void man_options(FILE *out) {
  const char *group = "";
  EACH_OPTION(row, VERB_COUNT) {
    if (strcmp(group, row->group) != 0) put_line(out, ".SS ", row->group, "\n");
    group = row->group;
    put_line(out, ".TP\n.B ", row->name, "");
    if (row->value != NULL) put_line(out, row->kind == OPTION_COUNT ? "" : " ", row->value, "");
    put_line(out, "\n", row->help, ".\n");
    man_facts(out, row);
  }
}

static void write_man(FILE *out) {
  const struct status_exit *exit;
  fprintf(out, ".TH ATTNBENCH 1 \"\" \"attnbench %s\" \"User Commands\"\n", version_string());
  fputs(
      ".SH NAME\nattnbench \\- benchmark and profiling harness for attention kernels on NVIDIA GPUs\n.SH SYNOPSIS\n"
      ".B attnbench\n.RI [ VERB ] \" \" [ OPTION ]...\n.SH VERBS\n",
      out);
  man_verbs(out);
  fputs(".SH OPTIONS\nAs a FILE, \\- is stdin where it is read and stdout where it is written.\n", out);
  man_options(out);
  fputs(".SH EXIT STATUS\n", out);
  for (size_t i = 0; (exit = status_exit_at(i)) != NULL; ++i) {
    fprintf(out, ".TP\n.B %d\n", exit->code);
    put_line(out, "", exit->meaning, ".\n");
  }
  fputs(
      ".SH ENVIRONMENT\n.TP\n.B COLUMNS\nwidth of tables, from 80 to 250; by default that of the terminal\n"
      ".TP\n.B NO_COLOR\nno colour, whatever the terminal\n.TP\n.B TMPDIR\nwhere journals lie that nobody named\n",
      out);
}

/* ---- completion ------------------------------------------------------------------------------------------------ */

/* The scripts ask the verb `complete`. */
static const char bash[] = {
#include "completion.bash.inc"
    0};
static const char zsh[] = {
#include "completion.zsh.inc"
    0};
static const char fish[] = {
#include "completion.fish.inc"
    0};

struct status generate_text(const char *what, FILE *out) {
  static const char *const scripts[][2] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
  if (strcmp(what, "man") == 0) return (write_man(out), status_ok());
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; ++i) {
    if (strcmp(scripts[i][0], what) == 0) return (fputs(scripts[i][1], out), status_ok());
  }
  return status_make(STATUS_USAGE, "generate %s: there is nothing of that name; give man, bash, zsh or fish", what);
}

/* How much of the help says what it is in a few words: up to where something is added to that. */
static size_t summary_length(const char *help) {
  static const char *const ends[] = {"; ", ": ", ". ", " ("};
  enum { SUMMARY_MAX = 72 };
  size_t length = strlen(help);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
    const char *end = strstr(help, ends[i]);
    if (end != NULL && (size_t)(end - help) < length) length = (size_t)(end - help);
  }
  if (length > 0 && help[length - 1] == ':') --length; /* what follows there are the values */
  if (length <= SUMMARY_MAX) return length;
  for (length = SUMMARY_MAX; length > 0 && help[length] != ' ';) --length;
  return help[length - 1] == ',' ? length - 1 : length;
}

/* A line, when `current` is the beginning of the word. */
static void put_word(FILE *out, const char *current, const char *word, size_t length, const char *help) {
  if (strlen(current) > length || strncmp(word, current, strlen(current)) != 0) return;
  fprintf(out, "%.*s\t%.*s\n", (int)length, word, (int)summary_length(help), help);
}

static void put_verbs(FILE *out, const char *current) {
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    const struct verb_row *row = options_table_verb(verb);
    put_word(out, current, row->name, strlen(row->name), row->brief);
  }
}

/* "a, b or c" and "a|b", each word by itself. */
static void put_values(FILE *out, const char *current, const char *values) {
  for (size_t length; *values != '\0'; values += length + strspn(values + length, ",| ")) {
    length = strcspn(values, ",| ");
    if (strncmp(values, "or ", 3) != 0) put_word(out, current, values, length, "");
  }
}

/* Names that continue what is typed; of a list, "hot,co", its last one. Returns how many. */
static size_t put_names(FILE *out, const char *current, const char *(*names)(size_t)) {
  const char *comma = strrchr(current, ','), *name;
  const size_t before = comma != NULL ? (size_t)(comma + 1 - current) : 0;
  size_t count = 0;
  for (size_t i = 0; names != NULL && (name = names(i)) != NULL; ++i) {
    if (strncmp(name, current + before, strlen(current + before)) != 0) continue;
    fprintf(out, "%.*s%s\t\n", (int)before, current, name);
    ++count;
  }
  return count;
}

static void put_value_of(FILE *out, const char *current, const struct option_row *row) {
  const bool is_file = (row->flags & (OPTION_READS | OPTION_WRITES)) != 0 || strcmp(row->value, "FOLDER") == 0;
  const char *values = row->choices != NULL ? row->choices() : row->kind == OPTION_CHOICE ? row->value : "";
  put_values(out, current, values);
  if (put_names(out, current, row->names) == 0 && is_file) fputs("FILE\n", out);
}

static enum verb verb_of(const char *word) {
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    if (strcmp(options_table_verb(verb)->name, word) == 0) return verb;
  }
  return VERB_RUN;
}

void generate_words(const char *const *words, size_t count, FILE *out) {
  const char *current = count > 0 ? words[count - 1] : "", *before = count > 1 ? words[count - 2] : "";
  const enum verb verb = count > 1 ? verb_of(words[0]) : VERB_RUN;
  const struct option_row *row = options_table_find(verb, before, strlen(before));
  if (row != NULL && row->kind != OPTION_FLAG && !options_table_is_joined(row)) {
    put_value_of(out, current, row);
  } else if (current[0] == '-') {
    EACH_OPTION(option, verb) put_word(out, current, option->name, strlen(option->name), option->help);
  } else if (count < 2) {
    put_verbs(out, current);
  } else {
    fputs("FILE\n", out);
  }
}
