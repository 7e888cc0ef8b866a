/* Answers what a word of the command line can become, and has the scripts by which shells ask. */
#include "cli/options/completion.h"

#include <string.h>

#include "cli/options/table.h"

/* ---- the scripts ----------------------------------------------------------------------------------------------- */

static const char bash[] =
    "_attnbench() {\n"
    "  mapfile -t COMPREPLY < <(\"${COMP_WORDS[0]}\" complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | cut -f "
    "1)\n"
    "  if [[ ${COMPREPLY[*]} == FILE ]]; then mapfile -t COMPREPLY < <(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"); "
    "fi\n"
    "}\n"
    "complete -o filenames -F _attnbench attnbench\n";

/* _describe wants a colon between a word and what it is. */
static const char zsh[] =
    "_attnbench() {\n"
    "  local -a found=(${(f)\"$(\"${words[1]}\" complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
    "  if [[ ${found[*]} == FILE ]]; then _files; return; fi\n"
    "  found=(\"${(@)found//:/\\\\:}\")\n"
    "  found=(\"${(@)found/$'\\t'/:}\")\n"
    "  _describe attnbench found\n"
    "}\n"
    "if [[ $funcstack[1] == _attnbench ]]; then _attnbench \"$@\"; else compdef _attnbench attnbench; fi\n";

static const char fish[] =
    "function __attnbench\n"
    "  set -l words (commandline -opc)\n"
    "  set -l current (commandline -ct)\n"
    "  set -l found ($words[1] complete $words[2..-1] \"$current\" 2>/dev/null)\n"
    "  if test \"$found\" = FILE\n"
    "    __fish_complete_path \"$current\"\n"
    "  else\n"
    "    string join -- \\n $found\n"
    "  end\n"
    "end\n"
    "complete -c attnbench -f -a '(__attnbench)'\n";

struct status completion_script(const char *shell, FILE *out) {
  static const struct {
    const char *shell, *start, *script;
  } rows[] = {{"bash", "", bash}, {"zsh", "#compdef attnbench\n", zsh}, {"fish", "", fish}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (strcmp(rows[i].shell, shell) != 0) continue;
    fprintf(out, "%s# Completes the command line of attnbench in %s. Made by: attnbench generate %s\n%s",
            rows[i].start, shell, shell, rows[i].script);
    return status_ok();
  }
  return status_make(STATUS_USAGE, "generate %s: there is nothing of that name; give man, bash, zsh or fish", shell);
}

/* ---- the words ------------------------------------------------------------------------------------------------- */

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

static void put_options(FILE *out, const char *current, enum verb verb) {
  EACH_OPTION(row, verb) put_word(out, current, row->name, strlen(row->name), row->help);
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

void completion_words(const char *const *words, size_t count, FILE *out) {
  const char *current = count > 0 ? words[count - 1] : "", *before = count > 1 ? words[count - 2] : "";
  const enum verb verb = count > 1 ? verb_of(words[0]) : VERB_RUN;
  const struct option_row *row = options_table_find(verb, before, strlen(before));
  if (row != NULL && row->kind != OPTION_FLAG && !options_table_is_joined(row)) {
    put_value_of(out, current, row);
  } else if (current[0] == '-') {
    put_options(out, current, verb);
  } else if (count < 2) {
    put_verbs(out, current);
  } else {
    fputs("FILE\n", out);
  }
}
