/* Tables and paragraphs as wide as the stream, and colour only where it is wanted. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "tests/unit.h"
#include "tests/unit_golden.h"

/* ---- a table to lay out ---------------------------------------------------------------------------------------- */

struct row {
  const char *group, *name, *value, *more, *nothing;
  enum text_tone tone;
};

static void put_group(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", ((const struct row *)row)->group);
}
static enum text_tone tone_of(const void *row) { return ((const struct row *)row)->tone; }

static const struct text_column columns[] = {{"name", "", true, 0, 8},
                                             {"value", "us", false, 0, 0},
                                             {"more", "", false, 2, 0},
                                             {"less", "", false, 1, 0},
                                             {"nothing", "", false, 3, 0}};

static void fill_cells(const void *of, char cell[][TEXT_CELL_MAX]) {
  const struct row *row = of;
  const char *const texts[] = {row->name, row->value, row->more, row->more, row->nothing};
  for (size_t i = 0; i < 5; ++i) snprintf(cell[i], TEXT_CELL_MAX, "%s", texts[i]);
}

/* Of a table that is too wide. */
static void fill_wide(const void *of, char cell[][TEXT_CELL_MAX]) {
  const struct row *row = of;
  for (size_t i = 0; i < 5; ++i) snprintf(cell[i], TEXT_CELL_MAX, "%s", i == 4 ? row->value : row->more);
}

#define LONG "twenty-six characters wide"

static const struct row rows[] = {{"first", "alpha", "1", LONG, "-", TEXT_PLAIN},
                                  {"first", "beta", "22", LONG, "-", TEXT_BEST},
                                  {"second", "gamma\x1b[31m", "333", LONG, "-", TEXT_BAD}};

static struct text_table make_table(void) {
  return (struct text_table){.columns = columns,
                             .column_count = 5,
                             .rows = rows,
                             .row_bytes = sizeof *rows,
                             .row_count = 3,
                             .fill = fill_cells,
                             .group = put_group,
                             .tone = tone_of};
}

static char *text_at(const char *width, struct text_table table, struct text_fit *fit) {
  struct text_stream stream;
  setenv("COLUMNS", width, 1);
  text_open(&stream);
  *fit = text_table_write(stream.file, &table);
  text_fit_print(stream.file, fit, "--csv");
  char *text = text_close(&stream);
  unsetenv("COLUMNS");
  return text;
}

TEST(what_drives_a_terminal_is_shown_as_a_mark) {
  char clean[64];
  text_clean(
      "a\x1b[m\x7f\xc2\x9b"
      "b\xe2\x80\xae"
      "c\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f\xc3\xa9\xe2\x82\xac",
      clean, sizeof clean);
  assert_string_equal(clean, "a?[m??b?c???\xc3\xa9\xe2\x82\xac");
  text_clean("::a b::c ##[d] \xc2\xa0::e", clean, sizeof clean); /* what a CI runner would take for a command */
  assert_string_equal(clean, ": :a b::c ## [d] \xc2\xa0: :e");
  text_clean("\xe2\x80", clean, sizeof clean); /* cut short */
  assert_string_equal(clean, "\xe2\x80");
}

TEST(what_is_said_is_one_clean_line) {
  struct text_stream stream;
  text_open(&stream);
  text_say(stream.file, "%s: %d", "a\n\x1b[31m\xc2\x9b\xe2\x80\xae", 7);
  char *text = text_close(&stream);
  assert_string_equal(text, "attnbench: a??[31m??: 7\n");
  free(text);
}

TEST(a_text_is_cut_between_characters) {
  char clean[4];
  text_clean("ab\xc3\xa9", clean, sizeof clean);
  assert_string_equal(clean, "ab");
  text_clean("a\xc3\xa9z", clean, sizeof clean);
  assert_string_equal(clean, "a\xc3\xa9");
}

/* ---- layout ---------------------------------------------------------------------------------------------------- */

TEST(rows_stand_below_their_group_with_their_mark) {
  struct text_fit fit;
  char *text = text_at("100", make_table(), &fit);
  assert_string_equal(text,
                      "  name        value                        more                        less\n"
                      "                 us\n"
                      "first\n"
                      "  alpha           1  " LONG "  " LONG
                      "\n"
                      "> beta           22  " LONG "  " LONG
                      "\n"
                      "second\n"
                      "! gamma?[31m    333  " LONG "  " LONG "\n");
  assert_false(fit.cut);
  assert_string_equal(fit.dropped, "");
  free(text);
}

TEST(what_matters_least_is_left_out_first_and_that_is_said) {
  static const struct text_column wide[] = {{"name", "", true, 0, 8},
                                            {"more", "", false, 2, 0},
                                            {"less", "", false, 1, 0},
                                            {"rest", "", false, 3, 0},
                                            {"value", "us", false, 0, 0}};
  struct text_fit fit;
  struct text_table table = make_table();
  table.columns = wide;
  table.fill = fill_wide;
  char *text = text_at("80", table, &fit);
  assert_string_equal(fit.dropped, "more, rest");
  assert_non_null(strstr(text, "left out at 80 columns: more, rest;"));
  assert_null(strchr(text, '~'));
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) assert_true(strlen(line) <= 80);
  free(text);
}

TEST(a_name_is_cut_only_when_nothing_can_be_left_out) {
  static const struct text_column wide[] = {
      {"a", "", true, 0, 8}, {"b", "", true, 0, 0}, {"c", "", true, 0, 0}, {"d", "", true, 1, 0}};
  struct text_fit fit;
  struct text_table table = make_table();
  table.columns = wide;
  table.fill = fill_wide;
  table.column_count = 4;
  char *text = text_at("80", table, &fit);
  assert_true(fit.cut);
  assert_string_equal(fit.dropped, "d");
  assert_non_null(strstr(text, "\n  twenty-six characters w~ " LONG " " LONG "\n"));
  assert_non_null(strstr(text, "~ marks a text that was cut to fit; see also --csv\n"));
  free(text);
}

TEST(the_width_is_asked_for_within_bounds) {
  static const struct {
    const char *columns;
    size_t width;
  } asked[] = {{"100", 100},      {"80", 80},         {"20", 80},
               {"1000", 250},     {"0", TEXT_WIDTH},  {"", TEXT_WIDTH},
               {"x", TEXT_WIDTH}, {"-5", TEXT_WIDTH}, {"99999999999", TEXT_WIDTH}};
  struct text_stream stream;
  text_open(&stream);
  for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
    setenv("COLUMNS", asked[i].columns, 1);
    assert_int_equal(text_width(stream.file), asked[i].width);
  }
  unsetenv("COLUMNS");
  assert_int_equal(text_width(stream.file), TEXT_WIDTH);
  free(text_close(&stream));
}

TEST(paragraphs_break_between_words_at_the_width) {
  struct text_stream stream;
  setenv("COLUMNS", "80", 1);
  text_open(&stream);
  text_wrap(stream.file, "lead ", 5, "twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes");
  char *text = text_close(&stream);
  unsetenv("COLUMNS");
  assert_string_equal(text,
                      "lead twelve bytes twelve bytes twelve bytes twelve bytes twelve bytes twelve\n     bytes\n");
  free(text);
}

TEST(a_number_and_its_unit_stay_on_one_line) {
  static const struct {
    const char *end, *wrapped;
  } cases[] = {{"41 %, and", "\n41 %, and\n"},
               {"1.5 us", "\n1.5 us\n"},
               {"700 W.", "\n700 W.\n"},
               {"41 others", " 41\nothers\n"},
               {"B41 %", " B41\n%\n"}};
  setenv("COLUMNS", "80", 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct text_stream stream;
    char line[128];
    /* Up to the end of the line there is room for the number alone. */
    snprintf(line, sizeof line, "%0*d %s", 79 - (int)strcspn(cases[i].end, " "), 0, cases[i].end);
    text_open(&stream);
    text_wrap(stream.file, "", 0, line);
    char *text = text_close(&stream);
    assert_string_equal(text + 79 - strcspn(cases[i].end, " "), cases[i].wrapped);
    free(text);
  }
  unsetenv("COLUMNS");
}

/* ---- terminals ------------------------------------------------------------------------------------------------- */

/* Some containers have no /dev/pts. */
static bool has_terminals(void) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  const bool works = terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0;
  if (terminal >= 0) close(terminal);
  return works;
}

/* What is printed on a terminal of 90 columns. */
static void print_on_terminal(char out[4096], size_t *width) {
  const struct text_table table = make_table();
  const struct winsize size = {.ws_row = 24, .ws_col = 90};
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  const int line = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  assert_true(line >= 0 && ioctl(line, TIOCSWINSZ, &size) == 0);
  FILE *file = fdopen(line, "w");
  assert_non_null(file);
  *width = text_width(file);
  text_table_write(file, &table);
  assert_int_equal(fflush(file), 0);
  size_t used = 0;
  fclose(file);
  for (ssize_t n; (n = read(terminal, out + used, 4095 - used)) > 0;) used += (size_t)n;
  out[used] = '\0';
  close(terminal);
}

TEST(colour_is_for_terminals_that_want_it) {
  static const struct {
    const char *term, *no_color;
    bool coloured;
  } wishes[] = {
      {"xterm", NULL, true}, {"xterm", "", true}, {"xterm", "1", false}, {"dumb", NULL, false}, {NULL, NULL, false}};
  char text[4096];
  size_t width = 0;
  if (!has_terminals()) skip();
  for (size_t i = 0; i < sizeof wishes / sizeof *wishes; ++i) {
    unsetenv("TERM");
    unsetenv("NO_COLOR");
    if (wishes[i].term != NULL) setenv("TERM", wishes[i].term, 1);
    if (wishes[i].no_color != NULL) setenv("NO_COLOR", wishes[i].no_color, 1);
    print_on_terminal(text, &width);
    assert_int_equal(width, 90);
    assert_non_null(strstr(text, "> beta"));
    assert_int_equal(strstr(text, "\033[1;32m> beta") != NULL, wishes[i].coloured);
    assert_int_equal(strchr(text, '\033') != NULL, wishes[i].coloured);
  }
}
