#include <limits.h>
#include <string.h>

#include "kernels/status.h"
#include "tests/unit.h"

TEST(ok_has_no_text_and_has_not_failed) {
  const struct status status = status_ok();
  assert_int_equal(status.code, STATUS_OK);
  assert_string_equal(status.text, "");
  assert_false(status_failed(&status));
}

TEST(make_formats_its_text_and_has_failed) {
  const struct status status = status_make(STATUS_INPUT, "%s:%d: is wrong", "a.json", 3);
  assert_int_equal(status.code, STATUS_INPUT);
  assert_string_equal(status.text, "a.json:3: is wrong");
  assert_true(status_failed(&status));
}

TEST(text_that_fits_exactly_is_kept) {
  char text[STATUS_TEXT_MAX];
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  assert_string_equal(status_make(STATUS_INPUT, "%s", text).text, text);
}

TEST(text_one_byte_too_long_keeps_its_beginning_and_its_end) {
  char text[STATUS_TEXT_MAX + 1];
  memset(text, 'a', sizeof text - 1);
  memcpy(text, "begin", 5);
  memcpy(text + sizeof text - 4, "end", 4);
  const struct status status = status_make(STATUS_INPUT, "%s", text);
  assert_int_equal(strlen(status.text), STATUS_TEXT_MAX - 1);
  assert_memory_equal(status.text, "begina", 6);
  assert_non_null(strstr(status.text, "a...a"));
  assert_string_equal(status.text + STATUS_TEXT_MAX - 5, "aend");
}

TEST(a_path_at_its_limit_does_not_hide_the_reason) {
  char path[PATH_MAX];
  memset(path, 'p', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  const struct status first = status_make(STATUS_OUTPUT, "%s: cannot create: too long", path);
  assert_non_null(strstr(first.text, "...p"));
  assert_string_equal(first.text + strlen(first.text) - 25, "p: cannot create: too long" + 1);
  const struct status twice = status_make(STATUS_OUTPUT, "%s: is the same as %s%s%s", path, path, path, path);
  assert_int_equal(strlen(twice.text), STATUS_TEXT_MAX - 1);
}

TEST(text_is_one_line_without_controls) {
  assert_string_equal(status_make(STATUS_INPUT, "key \"%s\"", "a\n::error::b\x1b[31m\t\x7f \xc3\xa9").text,
                      "key \"a?::error::b?[31m?? \xc3\xa9\"");
}

TEST(cut_never_splits_a_utf8_character) {
  for (size_t shift = 0; shift < 3; ++shift) {
    char text[2 * STATUS_TEXT_MAX + 4];
    memset(text, 'a', shift);
    for (size_t at = shift; at < STATUS_TEXT_MAX + shift; at += 3) memcpy(text + at, "\xe2\x82\xac", 4);
    const struct status status = status_make(STATUS_INPUT, "%s", text);
    const char *cut = strstr(status.text, "...");
    assert_non_null(cut);
    assert_int_equal((size_t)(cut - status.text - (ptrdiff_t)shift) % 3, 0);
    assert_int_equal(strlen(cut + 3) % 3, 0);
  }
}

TEST(every_code_has_its_published_exit_code) {
  static const struct {
    enum status_code code;
    int exit;
  } rows[] = {{STATUS_OK, 0},       {STATUS_USAGE, 2},          {STATUS_INPUT, 7},
              {STATUS_OUTPUT, 8},   {STATUS_NOT_COMPARABLE, 6}, {STATUS_NO_GPU, 77},
              {STATUS_MEMORY, 9},   {STATUS_DEVICE, 9},         {STATUS_UNSUPPORTED, 9},
              {STATUS_INTERNAL, 9}, {STATUS_COVERAGE, 4},       {STATUS_INTERRUPTED, 130},
              {STATUS_CLOSED, 141}};
  assert_int_equal(sizeof rows / sizeof rows[0], STATUS_COUNT);
  for (size_t i = 0; i < STATUS_COUNT; ++i) assert_int_equal(status_exit_code(rows[i].code), rows[i].exit);
}

static struct status tries(const struct status *first, int *reached) {
  *reached = 1;
  TRY(*first);
  *reached = 2;
  return status_make(STATUS_OUTPUT, "the last");
}

TEST(try_returns_a_failure_and_goes_on_after_success) {
  int reached = 0;
  const struct status failed = status_make(STATUS_INPUT, "the first"), ok = status_ok();
  const struct status kept = tries(&failed, &reached);
  assert_int_equal(kept.code, STATUS_INPUT);
  assert_string_equal(kept.text, "the first");
  assert_int_equal(reached, 1);
  assert_int_equal(tries(&ok, &reached).code, STATUS_OUTPUT);
  assert_int_equal(reached, 2);
}

TEST(exit_codes_have_one_row_each_in_order) {
  const struct status_exit *exit;
  int before = -1;
  size_t count = 0;
  for (; (exit = status_exit_at(count)) != NULL; ++count) {
    assert_true((int)exit->code > before);
    assert_true(exit->name[0] != '\0' && exit->meaning[0] != '\0');
    before = (int)exit->code;
  }
  assert_int_equal(count, 15);
  for (enum status_code code = 0; code < STATUS_COUNT; ++code) {
    size_t row = 0;
    while (row < count && status_exit_at(row)->code != status_exit_code(code)) ++row;
    assert_true(row < count);
  }
}
