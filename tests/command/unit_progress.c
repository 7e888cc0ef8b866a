/* When a log gets a line, and how times read in it. */
#include "cli/command/run.h"
#include "tests/unit.h"

TEST(a_log_gets_a_line_every_few_percent_or_half_a_minute) {
  static const struct {
    size_t total, done, told;
    double passed_s;
    bool due;
  } rows[] = {
      {100, 1, 0, 4, false},                             /* a run of seconds says nothing */
      {100, 99, 0, 4.9, false}, {100, 4, 0, 29, false},  /* less than a few percent */
      {100, 5, 0, 5, true},     {100, 54, 50, 6, false}, /* since the last line */
      {100, 55, 50, 6, true},   {10000, 1, 0, 30, true}, /* whatever was done */
      {3, 0, 0, 31, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const struct progress p = {.form = PROGRESS_LOG,
                               .total = rows[i].total,
                               .done = rows[i].done,
                               .told = rows[i].told,
                               .start_s = 1000,
                               .told_s = 2000};
    assert_int_equal(progress_is_due(&p, 2000 + rows[i].passed_s), rows[i].due);
  }
}

TEST(times_read_in_the_unit_of_their_size) {
  static const struct {
    double seconds;
    const char *text;
  } rows[] = {{0, "0 s"}, {94.4, "94 s"}, {119, "119 s"}, {121, "2 min"}, {7000, "117 min"}, {9000, "2.5 h"}};
  char text[PROGRESS_TIME_MAX];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    progress_time(rows[i].seconds, text);
    assert_string_equal(text, rows[i].text);
  }
}
