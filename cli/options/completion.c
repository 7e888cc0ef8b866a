/* Writes what completes the command line in bash, zsh and fish. */
#include "cli/options/completion.h"

#include <string.h>

#include "cli/options/table.h"

/* ---- what the table says ----------------------------------------------------------------------------------------
 */

/* "a, b or c" and "a|b" as words; anything else is not listed. */
static void put_values(FILE *out, const char *text) {
  for (; *text != '\0'; ++text) {
    if (strncmp(text, " or ", 4) == 0) text += 3;
    fputc(strchr(",| ", *text) != NULL ? ' ' : *text, out);
  }
}

static const char *values_of(const struct option_row *row) {
  if (row->choices != NULL) return row->choices();
  return row->kind == OPTION_CHOICE ? row->value : NULL;
}

static bool is_first_of_name(const struct option_row *row, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (strcmp(options_table_row(i)->name, row->name) == 0) return false;
  }
  return true;
}

static bool is_file(const struct option_row *row) {
  return (row->flags & (OPTION_READS | OPTION_WRITES)) != 0 ||
         (row->value != NULL && strcmp(row->value, "FOLDER") == 0);
}

static bool wants_value(const struct option_row *row) {
  return row->kind != OPTION_FLAG && !options_table_is_joined(row);
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

/* Within single quotes; `special` are characters that the shell's format wants a backslash before. */
static void put_summary(FILE *out, const char *help, const char *special) {
  const size_t length = summary_length(help);
  for (size_t i = 0; i < length; ++i) {
    if (help[i] == '\'') {
      fputs("'\\''", out); /* the quote ends, an escaped one, the quote begins: in each of these shells */
      continue;
    }
    if (strchr(special, help[i]) != NULL) fputc('\\', out);
    fputc(help[i], out);
  }
}

/* ---- bash ------------------------------------------------------------------------------------------------------ */

/* What stands behind an option that has a value: one of some words, else a file. */
static void bash_values(FILE *out) {
  const struct option_row *row;
  for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
    if (values_of(row) == NULL || !is_first_of_name(row, i)) continue;
    fprintf(out, "    %s) words='", row->name);
    put_values(out, values_of(row));
    fputs("' ;;\n", out);
  }
}

static void bash_options(FILE *out) {
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    const struct option_row *row;
    fprintf(out, "    %s) options='", options_table_verb(verb)->name);
    for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
      if (option_is_of(row, verb)) fprintf(out, "%s ", row->name);
    }
    fputs("' ;;\n", out);
  }
}

void completion_bash(FILE *out) {
  fputs(
      "# Completes the command line of attnbench in bash. Made by: attnbench generate bash\n"
      "_attnbench() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=run words='' options=''\n"
      "  local verbs='",
      out);
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) fprintf(out, "%s ", options_table_verb(verb)->name);
  fputs(
      "'\n"
      "  [[ \" $verbs \" == *\" ${COMP_WORDS[1]} \"* && $COMP_CWORD -gt 1 ]] && verb=${COMP_WORDS[1]}\n"
      "  case $before in\n",
      out);
  bash_values(out);
  fputs("  esac\n  case $verb in\n", out);
  bash_options(out);
  fputs(
      "  esac\n"
      "  if [[ $words == '' && $current == -* ]]; then words=$options; fi\n"
      "  if [[ $words == '' && $COMP_CWORD -eq 1 ]]; then words=$verbs; fi\n"
      "  if [[ $words == '' ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _attnbench attnbench\n",
      out);
}

/* ---- zsh ------------------------------------------------------------------------------------------------------- */

static void zsh_verbs(FILE *out) {
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    fprintf(out, "      '%s:", options_table_verb(verb)->name);
    put_summary(out, options_table_verb(verb)->brief, ":");
    fputs("'\n", out);
  }
}

/* '*--only[this cell]:KEY/VARIANT: ' */
static void zsh_option(FILE *out, const struct option_row *row) {
  fprintf(out, " \\\n        '%s%s[", row->kind == OPTION_LIST ? "*" : "", row->name);
  put_summary(out, row->help, "[]:");
  fputc(']', out);
  if (wants_value(row)) {
    fprintf(out, ":%s:", row->value);
    if (values_of(row) != NULL) {
      fputc('(', out);
      put_values(out, values_of(row));
      fputc(')', out);
    } else {
      fputs(is_file(row) ? "_files" : " ", out);
    }
  }
  fputc('\'', out);
}

static void zsh_options(FILE *out, enum verb verb) {
  const struct option_row *row;
  fprintf(out, "    %s)\n      _arguments -S", options_table_verb(verb)->name);
  for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
    if (option_is_of(row, verb)) zsh_option(out, row);
  }
  fputs(" \\\n        '*:file:_files' ;;\n", out);
}

void completion_zsh(FILE *out) {
  fputs(
      "#compdef attnbench\n# Completes the command line of attnbench in zsh. Made by: attnbench generate zsh\n"
      "_attnbench() {\n  local verb=run\n  local -a verbs=(\n",
      out);
  zsh_verbs(out);
  fputs(
      "  )\n"
      "  if (( CURRENT > 2 )) && (( ${verbs[(I)${words[2]}:*]} )); then verb=${words[2]}; fi\n"
      "  if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then\n"
      "    _describe verb verbs\n    return\n  fi\n  case $verb in\n",
      out);
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) zsh_options(out, verb);
  fputs(
      "  esac\n}\nif [[ $funcstack[1] == _attnbench ]]; then _attnbench \"$@\"; else compdef _attnbench attnbench; "
      "fi\n",
      out);
}

/* ---- fish ------------------------------------------------------------------------------------------------------ */

static void fish_option(FILE *out, const struct option_row *row, enum verb verb) {
  if (verb == VERB_RUN) {
    fputs("complete -c attnbench -n 'not __fish_seen_subcommand_from $attnbench_verbs'", out);
  } else {
    fprintf(out, "complete -c attnbench -n '__fish_seen_subcommand_from %s'", options_table_verb(verb)->name);
  }
  fprintf(out, " -l %s", row->name + 2);
  if (wants_value(row)) fputs(is_file(row) ? " -r -F" : " -x", out);
  if (values_of(row) != NULL) {
    fputs(" -a '", out);
    put_values(out, values_of(row));
    fputc('\'', out);
  }
  fputs(" -d '", out);
  put_summary(out, row->help, "");
  fputs("'\n", out);
}

void completion_fish(FILE *out) {
  const struct option_row *row;
  fputs("# Completes the command line of attnbench in fish. Made by: attnbench generate fish\nset -g attnbench_verbs",
        out);
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    if (verb != VERB_RUN) fprintf(out, " %s", options_table_verb(verb)->name);
  }
  /* In the place of a verb no file is meant. */
  fputs("\ncomplete -c attnbench -n __fish_use_subcommand -f\n", out);
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    fprintf(out, "complete -c attnbench -n __fish_use_subcommand -a %s -d '", options_table_verb(verb)->name);
    put_summary(out, options_table_verb(verb)->brief, "");
    fputs("'\n", out);
    for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
      if (option_is_of(row, verb)) fish_option(out, row, verb);
    }
  }
}
