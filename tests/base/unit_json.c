#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/json.h"
#include "kernels/input.h"
#include "tests/unit.h"
#include "tests/unit_document.h"
#include "tests/unit_golden.h"
#include "tests/unit_scratch.h"

TEST(a_text_of_nothing_but_short_values_is_bounded) {
  struct json_doc doc;
  char *text = repeated("[0", ' ', 2 * (JSON_VALUES_FREE + 1), "]");
  for (size_t i = 0; i < JSON_VALUES_FREE; ++i) memcpy(text + 2 + 2 * i, ",0", 2);
  const struct status status = json_parse("t.json", text, strlen(text), &doc);
  assert_int_equal(status.code, STATUS_INPUT);
  assert_string_equal(status.text,
                      "t.json: has 1048578 values in 2097157 bytes, which no measurements have; give a report");
  memset(text + 2, ' ', 4); /* two values fewer are within the bound; the comma before them goes with them */
  assert_int_equal(json_parse("t.json", text, strlen(text), &doc).code, STATUS_OK);
  json_free(&doc);
  free(text);
}

/* ---- places -------------------------------------------------------------------------------------------------- */

TEST(errors_name_the_place_of_an_item) {
  struct json_doc doc =
      parsed("{\n  \"a\": [1, {\"b\" :\n  [2, \"x]}\\\"\", 72]}],\n  \"odd key\": {\"\\u001b\": 1}}");
  const cJSON *list = json_get(json_get(doc.root, "a")->child->next, "b");
  const cJSON *odd = json_get(doc.root, "odd key");
  assert_string_equal(json_error(&doc, list->child->next->next, false, "is %d", 72).text,
                      "t.json:3:16: a[1].b[2] is 72");
  assert_string_equal(json_error(&doc, list, true, "x").text, "t.json:2:13: a[1].b x");
  assert_string_equal(json_error(&doc, list, false, "x").text, "t.json:3:3: a[1].b x");
  assert_string_equal(json_error(&doc, list->child, true, "x").text, "t.json:3:4: a[1].b[0] x");
  assert_string_equal(json_error(&doc, odd->child, true, "x").text, "t.json:4:15: [\"odd key\"][\"\\u001b\"] x");
  assert_string_equal(json_error(&doc, doc.root, true, "x").text, "t.json:1:1: top level x");
  assert_int_equal(json_line(&doc, odd), 4);
  json_free(&doc);
}

TEST(values_at_the_deepest_level_have_a_place) {
  struct json_doc doc = parsed("[[[[[[[[[[[[[[[[7]]]]]]]]]]]]]]]]");
  const cJSON *item = doc.root;
  while (item->child) item = item->child;
  assert_string_equal(json_error(&doc, item, false, "x").text,
                      "t.json:1:17: [0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0] x");
  json_free(&doc);
}

TEST(values_are_described_without_control_bytes) {
  static const struct {
    const char *text, *expected;
  } rows[] = {
      {"72", "72"},
      {"0.1", "0.1"},
      {"\"a\\u001b[2J\"", "\"a\\u001b[2J\""},
      {"\"\\u009b\\u007f\"", "\"\\u009b\\u007f\""},
      {"\"a\\u202eb\\u2066\"", "\"a\\u202eb\\u2066\""},
      {"\"\\u00e9\"", "\"\xc3\xa9\""},
      {"[]", "an empty array"},
      {"[0]", "an array"},
      {"{}", "an object"},
      {"true", "true"},
      {"false", "false"},
      {"null", "null"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    struct json_doc doc = parsed(rows[i].text);
    assert_string_equal(json_describe(doc.root).text, rows[i].expected);
    json_free(&doc);
  }
}

TEST(long_text_is_quoted_in_part) {
  char *plain = repeated("", 'a', 300, ""), *control = repeated("", '\x02', 300, "");
  const struct json_shown shown = json_quote(plain), escaped = json_quote(control);
  assert_string_equal(shown.text + strlen(shown.text) - 5, "a...\"");
  assert_string_equal(escaped.text + strlen(escaped.text) - 10, "\\u0002...\"");
  free(plain);
  free(control);
}

/* ---- keys ---------------------------------------------------------------------------------------------------- */

TEST(keys_must_be_known_and_single) {
  static const char *const known[] = {"causal", "Skv", "B", NULL};
  static const struct {
    const char *text, *expected; /* NULL: accepted */
  } rows[] = {
      {"{}", NULL},
      {"{\"B\": 1, \"causal\": 2}", NULL},
      {"{\"B\": 1, \"causl\": 2}", "t.json:1:10: causl is not a key known here; did you mean \"causal\"?"},
      {"{\"b\": 1}", "t.json:1:2: b is not a key known here; did you mean \"B\"?"},
      {"{\"zzzzzzzz\": 1}", "remove it or use one of causal, Skv, B"},
      {"{\"B\": 1,\n\"B\": 1}", "t.json:2:1: B appears twice"},
      {"{\"B\": 1, \"\\u0042\": 1}", "t.json:1:10: B appears twice"},
      {"{\"\": 1}", "t.json:1:2: [\"\"] is not a key known here"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    struct json_doc doc = parsed(rows[i].text);
    const struct status status = json_check_keys(&doc, doc.root, known);
    assert_int_equal(status_failed(&status), rows[i].expected != NULL);
    if (rows[i].expected) assert_non_null(strstr(status.text, rows[i].expected));
    json_free(&doc);
  }
}

TEST(a_key_stands_once_in_its_object_at_any_depth) {
  static const struct {
    const char *text, *expected; /* NULL: accepted */
  } rows[] = {
      {"7", NULL},
      {"[{\"a\": {\"a\": 1}}, {\"a\": 2, \"A\": 3}]", NULL},
      {"{\"b\": [], \"a\": 1,\n\"b\": 2}", "t.json:2:1: b appears twice in its object"},
      {"[1, {\"c\": {\"x\": 1, \"y\": 2, \"x\": 3}}]", "t.json:1:28: [1].c.x appears twice"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    struct json_doc doc = parsed(rows[i].text);
    const struct status status = json_check_unique(&doc);
    assert_int_equal(status_failed(&status), rows[i].expected != NULL);
    if (rows[i].expected && strstr(status.text, rows[i].expected) == NULL) fail_msg("%s", status.text);
    json_free(&doc);
  }
}

TEST(get_is_case_sensitive) {
  struct json_doc doc = parsed("{\"b\": 1}");
  assert_non_null(json_get(doc.root, "b"));
  assert_null(json_get(doc.root, "B"));
  json_free(&doc);
}

TEST(nearest_name_is_within_its_edits) {
  static const char *const names[] = {"serial", "scalar", "wmma",    "wgmma",   "cp_async",      "split_kv",
                                      "B",      "list",   "history", "--junit", "--time-budget", NULL};
  static const struct {
    const char *text, *expected;
  } rows[] = {
      {"split_kw", "split_kv"},
      {"splitkv", "split_kv"},
      {"Scaler", "scalar"},
      {"cpasinc", "cp_async"},
      {"wma", "wmma"},
      {"wgma", "wgmma"}, /* as near to wmma, which begins otherwise */
      {"wxyz", NULL},
      {"wmx", "wmma"}, /* half of the letters of wmma */
      {"axa", NULL},
      {"b", "B"},
      {"Q", NULL},
      {"nothing_like", NULL},
      {"", NULL},
      {"serial", "serial"},
      {"hist", "history"}, /* begins so; list is one letter away */
      {"wmam", "wmma"},    /* neighbours are swapped */
      {"--budget", "--time-budget"},
      {"--budgt", "--time-budget"},
      {"--bugdet", "--time-budget"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    const char *nearest = json_nearest(rows[i].text, names);
    if (!rows[i].expected) assert_null(nearest);
    if (rows[i].expected) assert_string_equal(nearest, rows[i].expected);
  }
  char *long_text = repeated("", 's', 5000, "");
  assert_null(json_nearest(long_text, names));
  free(long_text);
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

TEST(whole_numbers_are_exact_and_in_range) {
  static const struct {
    const char *text;
    uint64_t min, max, value;
    const char *expected; /* NULL: accepted */
  } rows[] = {
      {"0", 0, 8, 0, NULL},
      {"8", 1, 8, 8, NULL},
      {"512.0", 1, 1024, 512, NULL},
      {"1e3", 1, 1024, 1000, NULL},
      {"-0", 0, 8, 0, NULL},
      {"9007199254740993", 0, UINT64_MAX, UINT64_C(9007199254740993), NULL},
      {"18446744073709551615", 0, UINT64_MAX, UINT64_MAX, NULL},
      {"18446744073709551616", 0, UINT64_MAX, 0, "give a whole number from 0 to 18446744073709551615"},
      {"1e18", 0, UINT64_MAX, 0, "is 1e+18; give a whole number"},
      {"9007199254740993", 0, 100, 0, "give a whole number from 0 to 100"},
      {"9", 1, 8, 0, "t.json:1:1: top level is 9; give a whole number from 1 to 8"},
      {"0", 1, 8, 0, "is 0; give a whole number from 1 to 8"},
      {"-1", 0, 8, 0, "is -1; give"},
      {"-9e18", 0, UINT64_MAX, 0, "is -9e+18; give"},
      {"1.5", 1, 8, 0, "is 1.5, a fraction; give"},
      {"2", 1, 1, 0, "is 2; the only value is 1"},
      {"\"1\"", 1, 8, 0, "is \"1\"; give"},
      {"null", 1, 8, 0, "is null; give"},
      {"[1]", 1, 8, 0, "is an array; give"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    struct json_doc doc = parsed(rows[i].text);
    uint64_t value = 12345;
    const struct status status = json_whole(&doc, doc.root, rows[i].min, rows[i].max, &value);
    if (status_failed(&status) != (rows[i].expected != NULL)) fail_msg("%s: %s", rows[i].text, status.text);
    if (rows[i].expected) assert_non_null(strstr(status.text, rows[i].expected));
    assert_true(value == (rows[i].expected ? 12345 : rows[i].value));
    json_free(&doc);
  }
}

TEST(a_missing_number_is_an_error) {
  struct json_doc doc = parsed("{}");
  uint64_t value;
  const struct status status = json_whole(&doc, json_get(doc.root, "n"), 0, 1, &value);
  assert_non_null(strstr(status.text, "is missing"));
  json_free(&doc);
}

TEST(numbers_are_written_short) {
  static const struct {
    double value;
    const char *expected;
  } rows[] = {
      {0.1 + 0.2, "0.30000000000000004"},
      {0.1, "0.1"},
      {512, "512"},
      {-0.0, "-0"},
      {123456789012345, "123456789012345"},
      {1500000, "1500000"},
      {1e300, "1e+300"},
      {5e-324, "5e-324"},
      {1234.5, "1234.5"},
      {-2.5e-7, "-2.5e-07"},
      {1e15, "1e+15"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    char text[32];
    json_format_number(rows[i].value, text);
    assert_string_equal(text, rows[i].expected);
  }
}

static double random_double(uint64_t index) {
  const uint64_t bits = input_mix(index);
  double value;
  memcpy(&value, &bits, sizeof value);
  /* Every other number from [0, 1000): times and rates, not the extremes of the exponent. */
  return index % 2 == 0 && isfinite(value) ? value : (double)(bits >> 11) / 9007199254740992.0 * 1000.0;
}

/* Numbers of all sizes, and on both sides of a tie and of a power of ten. */
TEST(a_number_has_the_fewest_digits_that_read_back) {
  for (uint64_t i = 0; i < 30000; ++i) {
    const uint64_t bits = input_mix(i);
    const double unit = (double)(bits >> 11) / 9007199254740992.0;
    const double values[] = {unit * pow(10, (double)(bits % 30) - 13), (double)(bits % 1000000) / 1000,
                             -(double)(float)(unit * 1e4),
                             (double)(bits % 100000) / 64 * pow(2, -(double)(bits % 40))};
    for (size_t k = 0; k < COUNT(values); ++k) {
      char expected[32], text[32];
      int digits = 15;
      if (values[k] == floor(values[k])) continue;
      do snprintf(expected, sizeof expected, "%.*g", digits, values[k]);
      while (strtod(expected, NULL) != values[k] && ++digits <= 17);
      json_format_number(values[k], text);
      assert_string_equal(text, expected);
    }
  }
}

TEST(a_hundred_thousand_doubles_survive_writing_and_reading) {
  enum { DOUBLES = 100000 };
  char *text = malloc(DOUBLES * 26 + 2);
  size_t used = 0;
  assert_non_null(text);
  for (uint64_t i = 0; i < DOUBLES; ++i) {
    char number[32];
    json_format_number(random_double(i), number);
    used += (size_t)sprintf(text + used, "%c%s", i ? ',' : '[', number);
  }
  strcpy(text + used, "]");
  struct json_doc doc = parsed(text);
  const cJSON *item = NULL;
  uint64_t i = 0;
  cJSON_ArrayForEach(item, doc.root) {
    const double expected = random_double(i++);
    if (memcmp(&item->valuedouble, &expected, sizeof expected) != 0) fail_msg("%a", expected);
  }
  assert_int_equal(i, DOUBLES);
  json_free(&doc);
  free(text);
}

TEST(a_comma_locale_changes_no_number) {
  static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  static const double values[] = {1234.5, 1.7976931348623157e308, 0.1 + 0.2, 5e-324};
  const char *set = NULL;
  for (size_t i = 0; i < COUNT(locales) && !set; ++i) set = setlocale(LC_NUMERIC, locales[i]);
  if (!set) skip();
  char text[COUNT(values)][JSON_NUMBER_TEXT_MAX];
  for (size_t i = 0; i < COUNT(values); ++i) json_format_number(values[i], text[i]);
  /* The whole number stands before a comma and behind a number that only its exponent makes large. */
  struct json_doc doc = parsed("[1.7976931348623157e+308, 1234.5, 9223372036854775809,0.5]");
  setlocale(LC_NUMERIC, "C");
  const double most = doc.root->child->valuedouble, half = cJSON_GetArrayItem(doc.root, 3)->valuedouble;
  uint64_t whole = 0;
  const struct status status = json_whole(&doc, cJSON_GetArrayItem(doc.root, 2), 0, UINT64_MAX, &whole);
  json_free(&doc);
  assert_string_equal(text[0], "1234.5");
  assert_string_equal(text[1], "1.7976931348623157e+308");
  assert_string_equal(text[2], "0.30000000000000004");
  assert_string_equal(text[3], "5e-324");
  assert_true(most == values[1] && half == 0.5);
  assert_false(status_failed(&status));
  assert_true(whole == UINT64_C(9223372036854775809));
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

TEST(written_members_read_back) {
  cJSON *object = cJSON_CreateObject();
  json_add_number(object, "third", 1.0 / 3.0);
  json_add_number(object, "nan", NAN);
  json_add_number(object, "inf", -INFINITY);
  json_add_uint(object, "most", UINT64_MAX);
  json_add_string(object, "text", "a\"\n\xc3\xa9");
  json_add_string(object, "broken", "a\xff\xe2\x82z");
  json_add_string(object, "none", NULL);
  json_add_bool(object, "yes", true);
  char *printed = cJSON_PrintUnformatted(object);
  assert_string_equal(printed,
                      "{\"third\":0.3333333333333333,\"nan\":null,\"inf\":null,\"most\":18446744073709551615,"
                      "\"text\":\"a\\\"\\n\xc3\xa9\",\"broken\":\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\","
                      "\"none\":null,\"yes\":true}");
  struct json_doc doc = parsed(printed);
  uint64_t most = 0;
  const struct status status = json_whole(&doc, json_get(doc.root, "most"), 0, UINT64_MAX, &most);
  assert_false(status_failed(&status));
  assert_true(most == UINT64_MAX);
  json_free(&doc);
  cJSON_free(printed);
  cJSON_Delete(object);
}

TEST(what_would_drive_a_terminal_is_written_as_an_escape) {
  static const char name[] =
      "a\x7f\xc2\x9b"
      "b\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8 \xc3\xa9\xe2\x82\xac ##[";
  cJSON *object = cJSON_CreateObject();
  json_add_string(object, name, name);
  char *text = json_text(object, false);
  static const char escaped[] = "a\\u007f\\u009bb\\u202e\\u2066\\u061c\\u2028 \xc3\xa9\xe2\x82\xac #\\u0023[";
  char expected[256];
  snprintf(expected, sizeof expected, "{\"%s\":\"%s\"}", escaped, escaped);
  assert_string_equal(text, expected);
  struct json_doc doc = parsed(text);
  assert_string_equal(json_get(doc.root, name)->valuestring, name);
  json_free(&doc);
  free(text);
}

/* ---- lists --------------------------------------------------------------------------------------------------- */

static cJSON *one_of(const void *texts, size_t index) {
  cJSON *object = cJSON_CreateObject();
  json_add_string(object, "text", ((const char *const *)texts)[index]);
  return object;
}

/* Written element by element, a list reads as if its tree had been printed at once. */
TEST(a_list_is_written_as_its_tree_would_be) {
  static const char *const texts[] = {"one", "\n\t\"rows\":\t[", "\x01", "]"};
  for (size_t count = 0; count <= COUNT(texts); ++count) {
    const struct json_list list = {.key = "rows", .count = count, .element = one_of, .of = texts};
    cJSON *root = cJSON_CreateObject(), *whole = cJSON_CreateObject();
    struct text_stream stream, expected;
    text_open(&stream);
    text_open(&expected);
    json_add_string(root, "before", texts[1]);
    json_add_string(whole, "before", texts[1]);
    cJSON_AddArrayToObject(root, "rows");
    cJSON *rows = cJSON_AddArrayToObject(whole, "rows");
    for (size_t i = 0; i < count; ++i) cJSON_AddItemToArray(rows, one_of(texts, i));
    json_add_uint(root, "after", 1);
    json_add_uint(whole, "after", 1);
    assert_int_equal(json_write_list(root, &list, "a list", stream.file).code, STATUS_OK);
    assert_int_equal(json_write(whole, "a list", expected.file).code, STATUS_OK);
    char *text = text_close(&stream), *tree = text_close(&expected);
    assert_string_equal(text, tree);
    free(text);
    free(tree);
  }
}

/* ---- files --------------------------------------------------------------------------------------------------- */

static void assert_unreadable(const char *path, size_t max_bytes, const char *expected) {
  char *text = NULL;
  size_t length = 0;
  const struct status status = json_read_file(path, max_bytes, &text, &length);
  assert_int_equal(status.code, STATUS_INPUT);
  if (!strstr(status.text, expected) || !strstr(status.text, path)) fail_msg("%s", status.text);
  assert_null(text);
}

TEST(files_are_read_whole_up_to_the_limit) {
  char path[PATH_MAX];
  scratch_name(path);
  const int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, "a\0c", 3), 3);
  char *text = NULL;
  size_t length = 0;
  const struct status status = json_read_file(path, 3, &text, &length);
  assert_false(status_failed(&status));
  assert_int_equal(length, 3);
  assert_memory_equal(text, "a\0c", 4);
  free(text);
  assert_unreadable(path, 2, "has 3 bytes, more than the limit of 2");
  close(file);
  unlink(path);
}

TEST(what_is_not_a_regular_file_is_named) {
  char path[PATH_MAX], fifo[PATH_MAX + 8];
  scratch_name(path);
  assert_non_null(mkdtemp(path));
  snprintf(fifo, sizeof fifo, "%s/fifo", path);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_unreadable(path, 100, "is a directory");
  assert_unreadable(fifo, 100, "is not a regular file");
  unlink(fifo);
  assert_unreadable(fifo, 100, "cannot be opened (No such file or directory)");
  rmdir(path);
}
