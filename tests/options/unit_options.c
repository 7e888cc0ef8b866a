/* The table of options against everything that is made from it. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/table.h"
#include "kernels/gpu_models.h"
#include "tests/unit.h"

enum { WORDS_MAX = 40 };

/* A command line that is put together. */
struct line {
  char *word[WORDS_MAX];
  int count;
};

static void add(struct line *line, const char *word) { line->word[line->count++] = (char *)word; }

static const char *value_of(const struct option_row *row) {
  static char number[40];
  if (row->kind == OPTION_CHOICE) return strrchr(row->value, '|') + 1;
  if (strcmp(row->name, "--threshold-for") == 0) return "*=5";
  if (strcmp(row->name, "--shard") == 0) return "2/4";
  snprintf(number, sizeof number, "%.15g", fmin(fmax(row->least, 14), row->most));
  return row->kind == OPTION_TEXT || row->kind == OPTION_LIST ? "some" : number;
}

static void add_row(struct line *line, const struct option_row *row) {
  static char joined[64];
  if (row->kind == OPTION_WORD) {
    snprintf(joined, sizeof joined, "%s%.*s", row->name, (int)strcspn(row->value + 1, "]"), row->value + 1);
    add(line, joined);
    return;
  }
  if (row->kind == OPTION_COUNT) {
    snprintf(joined, sizeof joined, "%s=%s", row->name, value_of(row));
    add(line, joined);
    return;
  }
  add(line, row->name);
  if (row->kind != OPTION_FLAG) add(line, value_of(row));
}

/* What the verb does not work without, `row` excepted. */
static void add_required(struct line *line, enum verb verb, const struct option_row *except) {
  EACH_OPTION(row, VERB_COUNT) {
    const bool is_replaced = except != NULL && row->instead != NULL && strcmp(row->instead, except->name) == 0;
    const bool is_named = is_replaced || (except != NULL && strcmp(row->name, except->name) == 0);
    if ((row->required_by & (1u << verb)) != 0 && !is_named) add_row(line, row);
  }
  for (size_t i = 0; i < options_table_verb(verb)->reports_least; ++i) add(line, i == 0 ? "a.json" : "b.json");
  const char *name = except != NULL ? except->name : "";
  if (verb == VERB_GATE && strcmp(name, "--selftest") != 0) add(line, "--selftest");
  if (verb == VERB_GATE && strcmp(name, "--from") != 0 && strcmp(name, "--sweep") != 0 &&
      strcmp(name, "--shape") != 0) {
    add(line, "--sweep");
    add(line, "some");
  }
  if (verb == VERB_AB && strcmp(name, "--base") != 0) {
    add(line, "--base");
    add(line, "other");
  }
}

static struct line started(enum verb verb, const struct option_row *except) {
  struct line line = {.word = {"attnbench"}, .count = 1};
  if (verb != VERB_SELFTEST) add(&line, options_table_verb(verb)->name);
  if (verb == VERB_SELFTEST && (except == NULL || strcmp(except->name, "--selftest") != 0)) add(&line, "--selftest");
  add_required(&line, verb, except);
  return line;
}

static void add_needed(struct line *line, enum verb verb, const struct option_row *row) {
  const struct option_row *needed =
      row->needs != NULL ? options_table_find(verb, row->needs, strlen(row->needs)) : NULL;
  if (needed != NULL) add_row(line, needed);
}

static struct status parse(struct line *line, struct options *out) {
  return options_parse(line->count, line->word, out);
}

static char *help_text(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  assert_non_null(file);
  options_help(file);
  assert_int_equal(fclose(file), 0);
  return text;
}

/* `text` with every run of white space as one space. */
static char *unwrapped(const char *text) {
  char *out = malloc(strlen(text) + 1), *to = out;
  assert_non_null(out);
  for (const char *c = text; *c != '\0'; ++c) {
    if (!isspace((unsigned char)*c)) *to++ = *c;
    if (isspace((unsigned char)*c) && (to == out || to[-1] != ' ')) *to++ = ' ';
  }
  *to = '\0';
  return out;
}

/* ---- help ---------------------------------------------------------------------------------------------------- */

TEST(help_shows_every_row_with_its_verbs) {
  char *wrapped = help_text(), *help = unwrapped(wrapped);
  const char *from = help;
  EACH_OPTION(row, VERB_COUNT) {
    char text[640], range[OPTION_RANGE_MAX];
    const bool is_number = row->kind == OPTION_WHOLE || row->kind == OPTION_NUMBER || row->kind == OPTION_COUNT;
    options_table_range(row, range);
    snprintf(text, sizeof text, " %s%s%s %s%s%s%s%s%s%s", row->name,
             options_table_is_joined(row) || row->value == NULL ? "" : " ", row->value != NULL ? row->value : "",
             row->help, row->choices != NULL ? " " : "", row->choices != NULL ? row->choices() : "",
             is_number ? "; " : "", is_number ? range : "", row->default_value != NULL ? "; default " : "",
             row->default_value != NULL ? row->default_value : "");
    const char *at = strstr(from, text);
    if (at == NULL) fail_msg("--help lacks, in the order of the table: \"%s\"", text);
    from = at + strlen(text);
    for (enum verb verb = 0; verb < VERB_WORKER && row->verbs != ~0u; ++verb) {
      const char *end = strchr(from, ']');
      assert_non_null(end);
      char verbs[128], name[32];
      snprintf(verbs, sizeof verbs, "%.*s ", (int)(end - from), from + 2);
      verbs[strcspn(verbs, "]")] = ' ';
      snprintf(name, sizeof name, "%s ", options_table_verb(verb)->name);
      if ((strstr(verbs, name) != NULL) != option_is_of(row, verb))
        fail_msg("%s: verbs in --help are \"%s\"", row->name, verbs);
    }
  }
  free(help);
  free(wrapped);
}

TEST(help_shows_every_verb_exit_code_and_gpu) {
  char *wrapped = help_text(), *help = unwrapped(wrapped), text[160];
  const struct status_exit *exit;
  for (enum verb verb = 0; verb < VERB_COUNT; ++verb) {
    const struct verb_row *row = options_table_verb(verb);
    assert_int_equal(row->usage == NULL, verb >= VERB_WORKER);
    if (row->usage != NULL) assert_non_null(strstr(help, row->usage));
    if (row->help != NULL) assert_non_null(strstr(help, row->help));
  }
  for (size_t i = 0; (exit = status_exit_at(i)) != NULL; ++i) {
    snprintf(text, sizeof text, " %d %s ", exit->code, exit->meaning);
    if (strstr(help, text) == NULL) fail_msg("--help lacks \"%s\"", text);
  }
  for (size_t i = 0; i < gpu_model_count(); ++i) assert_non_null(strstr(help, gpu_model_at(i)->name));
  free(help);
  free(wrapped);
}

TEST(help_of_a_verb_has_its_options_and_no_others) {
  for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
    char *text = NULL, option[64];
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    options_help_verb(file, verb);
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(text, options_table_verb(verb)->usage, strlen(options_table_verb(verb)->usage));
    EACH_OPTION(row, VERB_COUNT) {
      snprintf(option, sizeof option, "\n  %s%s%s", row->letter != NULL ? row->letter : "",
               row->letter != NULL ? ", " : "", row->name);
      const char *at = strstr(text, option);
      while (at != NULL && strchr(" [\n", at[strlen(option)]) == NULL) at = strstr(at + 1, option);
      const bool is_wanted = options_table_find(verb, row->name, strlen(row->name)) != NULL;
      if ((at != NULL) != is_wanted) fail_msg("--help of %s: %s", options_table_verb(verb)->name, row->name);
    }
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) assert_true(strlen(line) <= 100);
    free(text);
  }
}

TEST(help_and_version_have_short_forms) {
  static const struct {
    const char *words[3];
    bool help, short_help, version, verb_named;
    enum verb verb;
  } rows[] = {{{"-h"}, true, true, false, false, VERB_RUN},
              {{"--help"}, true, true, false, false, VERB_RUN},
              {{"--help", "all"}, true, false, false, false, VERB_RUN},
              {{"help"}, true, true, false, false, VERB_RUN},
              {{"help", "all"}, true, false, false, false, VERB_RUN},
              {{"help", "compare"}, true, true, false, true, VERB_COMPARE},
              {{"compare", "--help"}, true, true, false, true, VERB_COMPARE},
              {{"ab", "-h"}, true, true, false, true, VERB_AB},
              {{"-V"}, false, false, true, false, VERB_RUN},
              {{"version"}, false, false, true, false, VERB_RUN},
              {{"--version"}, false, false, true, false, VERB_RUN}};
  static const char *const bad[][3] = {
      {"help", "nothing"}, {"help", "worker"}, {"help", "ab", "ab"}, {"version", "x"}};
  struct options options;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct line line = {.word = {"attnbench"}, .count = 1};
    for (size_t j = 0; j < 3 && rows[i].words[j] != NULL; ++j) add(&line, rows[i].words[j]);
    const struct status status = parse(&line, &options);
    assert_false(status_failed(&status));
    assert_int_equal(options.help, rows[i].help);
    assert_int_equal(options.short_help, rows[i].short_help);
    assert_int_equal(options.version, rows[i].version);
    assert_int_equal(options.verb_named, rows[i].verb_named);
    assert_int_equal(options.verb, rows[i].verb);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    struct line line = {.word = {"attnbench"}, .count = 1};
    for (size_t j = 0; j < 3 && bad[i][j] != NULL; ++j) add(&line, bad[i][j]);
    const struct status status = parse(&line, &options);
    assert_int_equal(status.code, STATUS_USAGE);
  }
}

/* ---- parsing ------------------------------------------------------------------------------------------------- */

TEST(every_row_is_taken_by_its_verbs_and_by_no_other) {
  EACH_OPTION(row, VERB_COUNT) {
    for (enum verb verb = 0; verb < VERB_COMPLETE; ++verb) { /* which takes every word */
      struct line line = started(verb, row);
      add_needed(&line, verb, row);
      add_row(&line, row);
      struct options options;
      const struct status status = parse(&line, &options);
      if (!option_is_of(row, verb)) {
        if (options_table_find(verb, row->name, strlen(row->name)) != NULL) continue; /* a row of its own */
        if (strcmp(row->name, "--selftest") == 0) continue;                           /* chooses the verb */
        if (strstr(status.text, "unknown option") == NULL)
          fail_msg("%s %s: %s", line.word[1], row->name, status.text);
        continue;
      }
      if (status_failed(&status)) fail_msg("%s %s: %s", line.word[1], row->name, status.text);
      assert_int_equal(options.verb, verb);
      if (!options_table_is_given(row, &options)) fail_msg("%s %s is not stored", line.word[1], row->name);
    }
  }
}

TEST(rows_of_one_verb_fill_different_members) {
  EACH_OPTION(a, VERB_COUNT) {
    EACH_OPTION(b, VERB_COUNT) {
      if (b == a) break;
      if ((a->verbs & b->verbs) == 0) continue;
      if (a->offset == b->offset) fail_msg("%s and %s fill one member", a->name, b->name);
      if (strcmp(a->name, b->name) == 0) fail_msg("%s has two rows of one verb", a->name);
    }
  }
}

TEST(numbers_are_taken_up_to_their_limits) {
  EACH_OPTION(row, VERB_COUNT) {
    if (row->kind != OPTION_WHOLE && row->kind != OPTION_NUMBER && row->kind != OPTION_COUNT) continue;
    const bool is_64_bits = row->most > 1e18;
    const struct {
      double value;
      bool is_right;
    } tried[] = {{row->least, true},
                 {is_64_bits ? 1e18 : row->most, true},
                 {row->least - 1, false},
                 {row->most + 1, false},
                 {NAN, false}};
    for (size_t j = 0; j < sizeof tried / sizeof *tried; ++j) {
      for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
        if (!option_is_of(row, verb) || (is_64_bits && j == 3)) continue;
        char text[80];
        struct options options;
        struct line line = started(verb, row);
        add_needed(&line, verb, row);
        snprintf(text, sizeof text, "%s=%.*f", row->name, row->kind == OPTION_NUMBER ? 6 : 0, tried[j].value);
        add(&line, text);
        if (verb == VERB_GATE && strcmp(row->name, "--rounds") == 0) add(&line, "--processes=64");
        if (verb == VERB_GATE && strcmp(row->name, "--processes") == 0) add(&line, "--rounds=5");
        const struct status status = parse(&line, &options);
        if (status_failed(&status) == tried[j].is_right) fail_msg("%s: %s", text, status.text);
        if (tried[j].is_right) continue;
        assert_non_null(strstr(status.text, "; give "));
        assert_ptr_equal(strstr(status.text, row->name), status.text);
      }
    }
  }
}

TEST(a_list_is_taken_as_often_as_its_row_says) {
  EACH_OPTION(row, VERB_COUNT) {
    if (row->kind != OPTION_LIST) continue;
    assert_true(row->most >= 1 && row->most <= OPTIONS_LIST_MAX);
    const size_t most = (size_t)row->most;
    for (size_t count = most; count <= most + 1; ++count) {
      enum verb verb = 0;
      while (!option_is_of(row, verb)) ++verb;
      struct line line = started(verb, row);
      add_needed(&line, verb, row);
      char **words = calloc((size_t)line.count + 2 * count, sizeof *words);
      assert_non_null(words);
      memcpy(words, line.word, (size_t)line.count * sizeof *words);
      for (size_t j = 0; j < count; ++j) {
        words[(size_t)line.count + 2 * j] = (char *)row->name;
        words[(size_t)line.count + 2 * j + 1] = (char *)value_of(row);
      }
      struct options options;
      const struct status status = options_parse(line.count + (int)(2 * count), words, &options);
      if (status_failed(&status) != (count > most)) fail_msg("%s %zu times: %s", row->name, count, status.text);
      free(words);
    }
  }
}

TEST(what_needs_another_option_is_refused_without_it) {
  size_t refused = 0;
  EACH_OPTION(row, VERB_COUNT) {
    bool is_found = row->needs == NULL;
    for (enum verb verb = 0; verb < VERB_WORKER; ++verb) {
      if (row->needs == NULL || !option_is_of(row, verb)) continue;
      if (options_table_find(verb, row->needs, strlen(row->needs)) == NULL) continue;
      is_found = true;
      struct options options;
      struct line line = started(verb, row);
      add_row(&line, row);
      const struct status status = parse(&line, &options);
      assert_int_equal(status.code, STATUS_USAGE);
      assert_ptr_equal(strstr(status.text, row->name), status.text);
      assert_non_null(strstr(status.text, row->needs));
      ++refused;
    }
    if (!is_found) fail_msg("%s needs %s, which none of its verbs has", row->name, row->needs);
  }
  assert_true(refused >= 8);
}

TEST(what_is_about_times_is_refused_where_none_are_taken) {
  size_t refused = 0;
  EACH_OPTION(timed, VERB_COUNT) {
    EACH_OPTION(untimed, VERB_COUNT) {
      if ((timed->flags & OPTION_TIMED) == 0 || (untimed->flags & OPTION_UNTIMED) == 0) continue;
      struct options options;
      struct line line = started(VERB_RUN, NULL);
      add_row(&line, timed);
      add_row(&line, untimed);
      const struct status status = parse(&line, &options);
      assert_int_equal(status.code, STATUS_USAGE);
      assert_non_null(strstr(status.text, timed->name));
      assert_non_null(strstr(status.text, untimed->name));
      ++refused;
    }
  }
  /* --reference --rounds --baseline --inject-slowdown --sentinel --cool-down --samples; --profile --check-only */
  assert_int_equal(refused, 7 * 2);
}

TEST(of_two_options_that_replace_each_other_one_is_needed_and_one_allowed) {
  static const struct {
    const char *words[6];
    const char *expect; /* NULL: taken */
  } rows[] = {{{"run", "--sweep", "a"}, NULL},
              {{"run", "--shape", "b"}, NULL},
              {{"plan", "--gpu", "l4", "--shape", "b"}, NULL},
              {{"run", "--shape", "b", "--sweep", "a"}, "--sweep and --shape are both given"},
              {{"run"}, "--sweep or --shape is missing"},
              {{"gate", "--selftest", "--shape", "b"}, NULL},
              {{"gate", "--selftest", "--shape", "b", "--from"}, "--from: needs a value"},
              {{"gate", "--selftest"}, "one of --sweep, --shape and --from"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct line line = {.word = {"attnbench"}, .count = 1};
    struct options options;
    for (size_t j = 0; j < 6 && rows[i].words[j] != NULL; ++j) add(&line, rows[i].words[j]);
    const struct status status = parse(&line, &options);
    assert_int_equal(status_failed(&status), rows[i].expect != NULL);
    if (rows[i].expect != NULL) assert_non_null(strstr(status.text, rows[i].expect));
  }
}

/* ---- what is made from the flags ----------------------------------------------------------------------------- */

TEST(every_file_of_a_command_line_is_known) {
  EACH_OPTION(row, VERB_COUNT) {
    const bool is_file =
        row->value != NULL && (strcmp(row->value, "FILE") == 0 || strcmp(row->value, "PROGRAM") == 0);
    const bool is_flagged = (row->flags & (OPTION_READS | OPTION_WRITES)) != 0;
    if (is_file != is_flagged) fail_msg("%s %s: READS or WRITES?", row->name, row->value);
    for (enum verb verb = 0; verb < VERB_WORKER && is_file; ++verb) {
      if (!option_is_of(row, verb)) continue;
      struct options options;
      struct options_file files[OPTIONS_FILES_MAX];
      struct line line = started(verb, row);
      add_needed(&line, verb, row);
      add_row(&line, row);
      const struct status status = parse(&line, &options);
      assert_false(status_failed(&status));
      bool is_found = false;
      for (size_t j = options_files(&options, files); j-- > 0;) {
        if (strcmp(files[j].option, row->name) != 0) continue;
        assert_string_equal(files[j].path, "some");
        assert_int_equal(files[j].is_output, (row->flags & OPTION_WRITES) != 0);
        is_found = true;
      }
      if (!is_found) fail_msg("%s of %s is no known file", row->name, options_table_verb(verb)->name);
    }
  }
}

static bool has_pair(const char *const *words, size_t count, const char *name, const char *value) {
  for (size_t i = 0; i + 1 < count; i += 2) {
    if (strcmp(words[i], name) == 0 && strcmp(words[i + 1], value) == 0) return true;
  }
  return false;
}

TEST(ab_passes_on_what_its_rows_say) {
  EACH_OPTION(row, VERB_COUNT) {
    if (!option_is_of(row, VERB_AB) || row->kind == OPTION_FLAG) continue;
    const bool to_both = (row->flags & OPTION_RELAYED) != 0;
    const bool to_candidate = to_both || (row->flags & OPTION_RELAYED_TO_CANDIDATE) != 0;
    const char *value = value_of(row), *words[WORDS_MAX];
    struct options options;
    struct line line = started(VERB_AB, row);
    add_needed(&line, VERB_AB, row);
    add_row(&line, row);
    const struct status status = parse(&line, &options);
    assert_false(status_failed(&status));
    for (int is_candidate = 0; is_candidate < 2; ++is_candidate) {
      const size_t count = options_relay(&options, is_candidate, NULL);
      assert_true(count < WORDS_MAX);
      assert_int_equal(options_relay(&options, is_candidate, words), count);
      if (has_pair(words, count, row->name, value) != (is_candidate ? to_candidate : to_both))
        fail_msg("%s %s to %s", row->name, value, is_candidate ? "the candidate" : "the base");
      struct line child = {.word = {"attnbench", "run"}, .count = 2};
      for (size_t j = 0; j < count; ++j) add(&child, words[j]);
      const struct status taken = parse(&child, &(struct options){0});
      if (status_failed(&taken)) fail_msg("a process of ab is refused: %s", taken.text);
    }
  }
}

/* What a row's command keeps must be an option of the verbs that print such commands. */
TEST(what_stays_belongs_to_run_or_ab_or_is_a_setting_of_the_gate) {
  EACH_OPTION(row, VERB_COUNT) {
    bool has_value = false;
    if ((row->flags & OPTION_STAYS) == 0) continue;
    assert_true(options_relay_stays(row->name, strlen(row->name), &has_value));
    assert_int_equal(has_value, row->kind != OPTION_FLAG);
    assert_false((row->flags & OPTION_WRITES) != 0);
  }
  bool unused;
  assert_false(options_relay_stays("--json", strlen("--json"), &unused));
  assert_false(options_relay_stays("--sweeps", strlen("--sweeps"), &unused));
}

/* What run and ab share measures, compares or is about output: what measures is passed on, and stays in a row's
 * command unless it chooses cells. */
TEST(no_measuring_option_is_forgotten) {
  static const char *const choosing[] = {"--sweep", "--variants", "--filter", "--only"};
  size_t checked = 0;
  EACH_OPTION(row, VERB_COUNT) {
    const bool is_shared = option_is_of(row, VERB_RUN) && option_is_of(row, VERB_AB) && row->verbs != ~0u;
    if (!is_shared || row->needs != NULL || strcmp(row->group, "Output") == 0) continue;
    if ((row->flags & (OPTION_RELAYED | OPTION_RELAYED_TO_CANDIDATE)) == 0)
      fail_msg("%s is not passed on", row->name);
    bool chooses = false;
    for (size_t j = 0; j < sizeof choosing / sizeof *choosing; ++j)
      chooses = chooses || strcmp(choosing[j], row->name) == 0;
    if (chooses == ((row->flags & OPTION_STAYS) != 0)) fail_msg("%s: does it stay in a row's command?", row->name);
    ++checked;
  }
  assert_true(checked >= 9);
}

TEST(one_output_only_takes_stdout) {
  EACH_OPTION(a, VERB_COUNT) {
    EACH_OPTION(b, VERB_COUNT) {
      if (b == a) break;
      if (((a->flags & b->flags) & OPTION_WRITES) == 0 || !option_is_of(a, VERB_AB) || !option_is_of(b, VERB_AB))
        continue;
      struct options options;
      struct line line = started(VERB_AB, NULL);
      add(&line, a->name), add(&line, "-"), add(&line, b->name), add(&line, "-");
      const struct status status = parse(&line, &options);
      assert_int_equal(status.code, STATUS_USAGE);
      assert_non_null(strstr(status.text, "cannot share stdout"));
    }
  }
}
