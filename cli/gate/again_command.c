/* Writes the command that measures one row of a comparison again. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/gate/sinks.h"
#include "cli/options/options.h"

/* A shell word as it stands in the command, quotes included. */
struct word {
  const char *at;
  size_t length;
};

static struct word next_word(const char **command) {
  const char *at = *command + strspn(*command, " "), *end = at;
  bool quoted = false;
  for (; *end != '\0' && (quoted || *end != ' '); ++end) {
    if (*end == '\'') quoted = !quoted;
    if (*end == '\\' && !quoted && end[1] != '\0') ++end;
  }
  *command = end;
  return (struct word){at, (size_t)(end - at)};
}

/* The rest of a word behind the option's name: "" or "=..."; NULL when it is another option. */
static const char *after_name(const struct word *word, const char *name, bool *whole) {
  const size_t quote = word->length > 0 && *word->at == '\'', length = strlen(name);
  if (word->length < length + quote || strncmp(word->at + quote, name, length) != 0) return NULL;
  const char *rest = word->at + quote + length;
  *whole = rest == word->at + word->length;
  return *whole || *rest == '=' ? rest : NULL;
}

/* The number of processes that decides: what the run had, or more where that was too few. */
static unsigned rounds_for(const char *words, const struct compare_row *row, bool is_ab) {
  unsigned long had = is_ab ? COMPARE_PAIRS_PLANNED : 1;
  bool whole = false;
  while (*words != '\0') {
    struct word word = next_word(&words);
    const char *rest = after_name(&word, "--rounds", &whole);
    if (rest == NULL) continue;
    if (whole) word = next_word(&words);
    const char *digits = whole ? word.at : rest + 1;
    const unsigned long given = strtoul(digits, NULL, 10);
    if (given > 0 && given <= PROCESSES_MAX) had = given;
  }
  const unsigned long least = row->rounds_needed > COMPARE_PAIRS_PLANNED ? row->rounds_needed : COMPARE_PAIRS_PLANNED;
  return (unsigned)(had > least ? had : least);
}

static void append(char *out, size_t size, const char *text, size_t length) {
  const size_t used = strlen(out);
  snprintf(out + used, size - used, "%s%.*s", used > 0 ? " " : "", (int)length, text);
}

/* Adds the option when its row says that it stays; its value may be the next word. */
static void append_kept(const struct word *word, const char **command, char *out, size_t size) {
  const size_t quote = *word->at == '\'', length = strcspn(word->at + quote, "= '");
  bool has_value = false;
  if (!options_relay_stays(word->at + quote, length, &has_value)) return;
  const bool takes_next = has_value && word->at[quote + length] != '=';
  const struct word value = takes_next ? next_word(command) : *word;
  if (value.length == 0) return; /* the value was cut off */
  append(out, size, word->at, word->length);
  if (takes_next) append(out, size, value.at, value.length);
}

/* Another tool, or a script that wrote a report, has other options. A copy of attnbench may have any name, such as
 * that of its commit. */
static bool is_attnbench(const struct run_info *run, const struct word *program) {
  static const char script[] = ".py";
  if (!run_info_is_own(run)) return false;
  const size_t quote = program->length > 0 && program->at[program->length - 1] == '\'', length = sizeof script - 1;
  return program->length < length + quote ||
         strncmp(program->at + program->length - quote - length, script, length) != 0;
}

/* "/proc/self/exe" is attnbench of this process, which the shell would not start. */
static void append_program(const struct word *program, char *out, size_t size) {
  const bool is_named = program->length > 0 && strncmp(program->at, "/proc/", 6) != 0;
  append(out, size, is_named ? program->at : "attnbench", is_named ? program->length : strlen("attnbench"));
}

/* Adds the word, unless it says which file the run wrote or how many processes measured. */
static void append_input(const struct word *word, const char **command, char *out, size_t size) {
  const size_t quote = *word->at == '\'', length = strcspn(word->at + quote, "= '");
  bool is_whole = false, has_value = false;
  if (after_name(word, "--resume", &is_whole) != NULL) return;
  if (after_name(word, "--rounds", &has_value) == NULL &&
      !options_relay_writes(word->at + quote, length, &has_value)) {
    append(out, size, word->at, word->length);
  } else if (has_value && word->at[quote + length] != '=') {
    next_word(command);
  }
}

bool again_command_is_plain(const char *text) {
  bool quoted = false;
  for (; *text != '\0'; ++text) {
    if (*text == '\'') quoted = !quoted;
    if (!quoted && strchr(";|&$`<>\n\"", *text) != NULL) return false;
    if (*text == '\\' && !quoted && text[1] != '\0') ++text;
  }
  return true;
}

/* The command as the run was given it, without a last word that its field had no room for. */
static void whole_words(const struct run_info *run, char out[sizeof run->command]) {
  snprintf(out, sizeof run->command, "%s", again_command_is_plain(run->command) ? run->command : "");
  if (strlen(out) + 1 < sizeof run->command) return;
  const char *rest = out;
  struct word last = next_word(&rest);
  while (*rest != '\0') last = next_word(&rest);
  out[last.at - out] = '\0';
}

void again_command(const struct compare *compare, const struct compare_row *row, char *out, size_t size) {
  const struct run_info *run = &compare->now->run;
  const struct record *record = row->now.record != NULL ? row->now.record : row->base.record;
  char words[sizeof run->command], cell[CELL_NAME_MAX];
  whole_words(run, words);
  const char *rest = words;
  const struct word program = next_word(&rest);
  bool whole = false;
  out[0] = '\0';
  if (!is_attnbench(run, &program) || record == NULL) {
    snprintf(out, size, "%s", words);
    return;
  }
  append_program(&program, out, size);
  const char *after_verb = rest;
  const struct word verb = next_word(&after_verb);
  const bool is_ab = after_name(&verb, "ab", &whole) != NULL && whole;
  if (is_ab) append(out, size, verb.at, verb.length);
  /* Shapes of the command line stay in it. */
  if (strcmp(run->sweep_path, SHAPE_SPEC_PATH) != 0) {
    append(out, size, "--sweep ", strlen("--sweep "));
    text_append_word(out, size, run->sweep_path);
  }
  const unsigned rounds = rounds_for(rest, row, is_ab);
  while (*rest != '\0') {
    const struct word word = next_word(&rest);
    append_kept(&word, &rest, out, size);
  }
  char option[32];
  snprintf(option, sizeof option, "--rounds %u", rounds);
  append(out, size, option, strlen(option));
  if (compare->base_path != NULL && strstr(out, "--baseline") == NULL &&
      row->base.processes >= COMPARE_BASELINE_MIN && !is_ab) {
    append(out, size, "--baseline ", strlen("--baseline "));
    text_append_word(out, size, compare->base_path);
  }
  cell_name(record->attn_case.key, record->variant, cell);
  append(out, size, "--variants ", strlen("--variants "));
  text_append_word(out, size, record->variant);
  append(out, size, "--only ", strlen("--only "));
  text_append_word(out, size, cell);
}

void again_command_of_side(const struct run_info *run, const char *report, char *out, size_t size) {
  char words[sizeof run->command], options[64];
  whole_words(run, words);
  const char *rest = words;
  const struct word program = next_word(&rest);
  out[0] = '\0';
  if (!is_attnbench(run, &program) || program.length == 0) {
    snprintf(out, size, "%s", words);
    return;
  }
  append_program(&program, out, size);
  while (*rest != '\0') {
    const struct word word = next_word(&rest);
    if (word.length > 0) append_input(&word, &rest, out, size);
  }
  snprintf(options, sizeof options, "--rounds %d --json %s", COMPARE_PAIRS_PLANNED, report);
  append(out, size, options, strlen(options));
}
