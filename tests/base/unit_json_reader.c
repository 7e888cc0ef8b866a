#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"
#include "tests/unit_document.h"

static void assert_refused(const char *text, size_t length, const char *expected) {
  struct json_doc doc;
  const struct status status = json_parse("t.json", text, length, &doc);
  if (!status_failed(&status)) fail_msg("accepted, expected %s", expected);
  assert_int_equal(status.code, STATUS_INPUT);
  if (!strstr(status.text, expected)) fail_msg("\"%s\" lacks \"%s\"", status.text, expected);
}

TEST(json_that_is_not_strict_is_refused_at_its_position) {
  static const struct {
    const char *text, *expected;
  } rows[] = {
      {"", "t.json:1:1: is empty"},
      {" \n ", "t.json:2:2: expected a value"},
      {"{\n \"a\": 010}", "t.json:2:7: a number has a leading zero"},
      {"[-01]", "t.json:1:3: a number has a leading zero"},
      {"[1.]", "t.json:1:4: expected a digit after the decimal point, found ']'"},
      {"[.5]", "t.json:1:2: expected a value"},
      {"[+1]", "t.json:1:2: expected a value"},
      {"[-]", "t.json:1:3: expected a digit"},
      {"[1e]", "t.json:1:4: expected a digit in the exponent"},
      {"[1e+]", "t.json:1:5: expected a digit in the exponent"},
      {"[0x10]", "t.json:1:3: expected ',' or ']'"},
      {"[0x1p9999]", "t.json:1:3: expected ',' or ']'"},
      {"[1.5.5]", "t.json:1:5: expected ',' or ']'"},
      {"[\"\\", "t.json:1:4: expected one of"},
      {"[\"\\ud83d\\u12\"]", "t.json:1:13: expected four hexadecimal digits"},
      {"{\"a\": \"b\" \"c\": 1}", "t.json:1:11: expected ',' or '}' after a value, found '\"'"},
      {"[1e999]", "t.json:1:2: a number is too large for a double"},
      {"[-1e999]", "t.json:1:2: a number is too large for a double"},
      {"[NaN]", "t.json:1:2: expected a value"},
      {"[nan]", "t.json:1:2: expected true, false or null"},
      {"[Infinity]", "t.json:1:2: expected a value"},
      {"[tru]", "t.json:1:2: expected true, false or null"},
      {"[truex]", "t.json:1:6: expected ',' or ']'"},
      {"[1,]", "t.json:1:4: expected a value"},
      {"[,1]", "t.json:1:2: expected a value"},
      {"[1 2]", "t.json:1:4: expected ',' or ']' after a value, found '2'"},
      {"[1", "t.json:1:3: expected ',' or ']' after a value, found the end of the file"},
      {"{\"a\":1,}", "t.json:1:8: expected a key in double quotes"},
      {"{a:1}", "t.json:1:2: expected a key in double quotes"},
      {"{\"a\" 1}", "t.json:1:6: expected ':' after a key"},
      {"{\"a\":}", "t.json:1:6: expected a value"},
      {"{\"a\":1]", "t.json:1:7: expected ',' or '}'"},
      {"1 2", "t.json:1:3: expected the end of the file, found '2'"},
      {"{}{}", "t.json:1:3: expected the end of the file"},
      {"[] // x", "t.json:1:4: expected the end of the file"},
      {"\"a", "t.json:1:3: expected a closing quote"},
      {"\"a\nb\"", "t.json:1:3: expected a closing quote"},
      {"\"a\tb\"", "t.json:1:3: a string holds a raw control byte"},
      {"\"\\x\"", "t.json:1:3: expected one of"},
      {"\"\\u12g4\"", "t.json:1:6: expected four hexadecimal digits"},
      {"\"\\u0000\"", "t.json:1:2: a string holds \\u0000"},
      {"\"\\ud800\"", "t.json:1:2: a \\u escape is half of a surrogate pair"},
      {"\"\\ud800\\u0041\"", "t.json:1:2: a \\u escape is half of a surrogate pair"},
      {"\"\\udc00\"", "t.json:1:2: a \\u escape is half of a surrogate pair"},
      {"\"\xff\"", "t.json:1:2: a string holds invalid UTF-8"},
      {"\"\xc0\xaf\"", "t.json:1:2: a string holds invalid UTF-8"},
      {"\"\xe0\x80\xaf\"", "t.json:1:2: a string holds invalid UTF-8"},
      {"\"\xed\xa0\x80\"", "t.json:1:2: a string holds invalid UTF-8"},
      {"\"\xf4\x90\x80\x80\"", "t.json:1:2: a string holds invalid UTF-8"},
      {"\"\xe2\x82\"", "t.json:1:2: a string holds invalid UTF-8"},
      {"\xef\xbb\xbf[]", "t.json:1:1: the file begins with a byte order mark"},
      {"[\x01]",
       "t.json:1:2: expected a value (object, array, string, number, true, false or null), found byte 0x01"},
      {"\f[]", "t.json:1:1: expected a value"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) assert_refused(rows[i].text, strlen(rows[i].text), rows[i].expected);
  assert_refused("[]\0", 3, "t.json:1:3: expected the end of the file, found byte 0x00");
  assert_refused("\"a\0b\"", 5, "t.json:1:3: a string holds a raw control byte");
}

TEST(a_string_means_its_characters) {
  static const struct {
    const char *text, *meant;
  } rows[] = {
      {"\"\"", ""},
      {"\"plain\"", "plain"},
      {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
      {"\"a\\u0041\\u00e9\\u20AC\\ud83d\\ude00z\"", "aA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"},
      {"\"\\uD800\\uDC00\\uDBFF\\uDFFF\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
      {"\"\\u0001\\uffff\"", "\x01\xef\xbf\xbf"},
      {"\"\xc3\xa9\xf0\x9f\x98\x80\"", "\xc3\xa9\xf0\x9f\x98\x80"},
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    struct json_doc doc = parsed(rows[i].text);
    assert_true(cJSON_IsString(doc.root));
    assert_string_equal(doc.root->valuestring, rows[i].meant);
    json_free(&doc);
  }
}

TEST(a_tree_has_the_types_keys_and_order_of_its_text) {
  static const int types[] = {cJSON_Object, cJSON_Array, cJSON_String, cJSON_Number,
                              cJSON_True,   cJSON_False, cJSON_NULL};
  static const char *const keys[] = {"{", "a\"", "s", "", "t", "f", "n"};
  struct json_doc doc =
      parsed("{\"{\":{},\"a\\\"\":[[],-1.5e1],\"s\":\"x\",\"\":7,\"t\":true,\"f\":false,\"n\":null}");
  size_t i = 0;
  for (const cJSON *item = doc.root->child; item != NULL; item = item->next, ++i) {
    assert_int_equal(item->type, types[i]);
    assert_string_equal(item->string, keys[i]);
  }
  assert_int_equal(i, COUNT(types));
  assert_true(json_get(doc.root, "a\"")->child->next->valuedouble == -15);
  json_free(&doc);
}

/* Strings are ended where they stand, and escapes of line ends do not end a line. */
TEST(places_behind_strings_are_those_of_the_text) {
  struct json_doc doc = parsed("{\"a\\nb\\n\": \"c\\n\\u000a\",\n \"\\\\\" :\n\"plain\"}");
  const cJSON *first = doc.root->child;
  assert_string_equal(json_error(&doc, first, false, "x").text, "t.json:1:12: [\"a\\u000ab\\u000a\"] x");
  assert_string_equal(json_error(&doc, first, true, "x").text, "t.json:1:2: [\"a\\u000ab\\u000a\"] x");
  assert_string_equal(json_error(&doc, first->next, true, "x").text, "t.json:2:2: [\"\\\"] x");
  assert_string_equal(json_error(&doc, first->next, false, "x").text, "t.json:3:1: [\"\\\"] x");
  json_free(&doc);
}

TEST(what_is_not_json_is_told_before_what_is_too_much) {
  struct json_doc doc;
  const size_t values = JSON_VALUES_FREE + 2;
  char *text = malloc(2 * values + 2);
  assert_non_null(text);
  for (size_t i = 0; i < values; ++i) memcpy(text + 2 * i, i == 0 ? "[0" : ",0", 2);
  memcpy(text + 2 * values, "}", 2);
  const struct status status = json_adopt("t.json", text, 2 * values + 1, &doc);
  assert_string_equal(status.text,
                      "t.json:1:2097157: expected ',' or ']' after a value, found '}'; correct the JSON there");
}

TEST(every_legal_form_is_accepted) {
  static const char *const rows[] = {
      "0",
      "-0",
      "1e5",
      "1E+05",
      "0.5e-3",
      "1e-999",
      "true",
      "null",
      "\"\"",
      "[]",
      "{}",
      " [ ] ",
      "\r\n\t{ }\n",
      "{\"a\":[1,{\"b\":null}]}",
      "\"\\u0041\\n\\\"\\/\"",
      "\"\\ud83d\\ude00\"",
      "\"\xf0\x9f\x98\x80\"",
      "\"\x7f\"",
  };
  for (size_t i = 0; i < COUNT(rows); ++i) {
    struct json_doc doc = parsed(rows[i]);
    json_free(&doc);
  }
}

static void assert_limit(const char *before, char byte, size_t limit, const char *after, const char *problem) {
  char *at = repeated(before, byte, limit, after), *above = repeated(before, byte, limit + 1, after);
  struct json_doc doc = parsed(at);
  json_free(&doc);
  assert_refused(above, strlen(above), problem);
  free(at);
  free(above);
}

TEST(strings_and_numbers_are_bounded) {
  assert_limit("[\"", 'a', JSON_STRING_MAX, "\"]", "t.json:1:2: a string is longer than 32768 bytes");
  assert_limit("[0.", '1', 61, "]", "t.json:1:2: a number is longer than 63 characters");
}

TEST(nesting_is_bounded) {
  for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; ++depth) {
    char *close = repeated("", ']', depth, "");
    char *text = repeated("", '[', depth, close);
    if (depth == JSON_DEPTH_MAX) {
      struct json_doc doc = parsed(text);
      json_free(&doc);
    } else {
      assert_refused(text, strlen(text), "t.json:1:17: values are nested more than 16 deep");
    }
    free(text);
    free(close);
  }
}

TEST(text_without_a_final_nul_is_read_to_its_length) {
  struct json_doc doc;
  const struct status status = json_parse("t.json", "{\"1\":1,", 6, &doc);
  assert_true(status_failed(&status));
  char *exact = malloc(2);
  assert_non_null(exact);
  memcpy(exact, "[]", 2);
  const struct status good = json_parse("t.json", exact, 2, &doc);
  assert_false(status_failed(&good));
  json_free(&doc);
  free(exact);
}
