/* Finds what cJSON accepts and JSON does not, and the line and column of a value. */
#include "cli/base/json_scan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"

enum { END_OF_TEXT = -1 };

_Static_assert(JSON_STRING_MAX == 32768 && JSON_DEPTH_MAX == 16 && JSON_SCAN_NUMBER_MAX == 63,
               "messages below name these limits");

static bool refuse(struct json_scan *scan, const char *problem) {
  scan->problem = problem;
  return false;
}

static bool expected(struct json_scan *scan, const char *what) {
  scan->wants = true;
  return refuse(scan, what);
}

static int peek(const struct json_scan *scan) {
  return scan->at < scan->length ? (unsigned char)scan->text[scan->at] : END_OF_TEXT;
}

static bool accept_byte(struct json_scan *scan, char byte) {
  if (peek(scan) != (unsigned char)byte) return false;
  ++scan->at;
  return true;
}

static void skip_space(struct json_scan *scan) {
  for (int c = peek(scan); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(scan)) ++scan->at;
}

/* ---- strings ------------------------------------------------------------------------------------------------- */

size_t json_scan_utf8(const char *text, size_t left) {
  /* Rows of RFC 3629, section 4: the second byte's range excludes overlong forms and surrogates. */
  static const struct {
    unsigned char first_min, first_max, second_min, second_max, bytes;
  } rows[] = {
      {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
      {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
      {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
  };
  const unsigned char *byte = (const unsigned char *)text;
  for (size_t i = 0; left > 0 && i < sizeof rows / sizeof rows[0]; ++i) {
    if (byte[0] < rows[i].first_min || byte[0] > rows[i].first_max) continue;
    if (rows[i].bytes > left) return 0;
    if (rows[i].bytes > 1 && (byte[1] < rows[i].second_min || byte[1] > rows[i].second_max)) return 0;
    for (size_t k = 2; k < rows[i].bytes; ++k) {
      if ((byte[k] & 0xc0u) != 0x80u) return 0;
    }
    return rows[i].bytes;
  }
  return 0;
}

static int hex_digit(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The four digits after "\u". */
static bool scan_hex4(struct json_scan *scan, unsigned *unit) {
  *unit = 0;
  for (int i = 0; i < 4; ++i, ++scan->at) {
    const int digit = hex_digit(peek(scan));
    if (digit < 0) return expected(scan, "expected four hexadecimal digits after \\u");
    *unit = *unit * 16 + (unsigned)digit;
  }
  return true;
}

/* An escape whose "\u" has been read; begins at `start`. Surrogates must come as a pair. */
static bool scan_unicode_escape(struct json_scan *scan, size_t start) {
  static const char lone[] = "a \\u escape is half of a surrogate pair; write both halves or the character itself";
  unsigned unit = 0, low = 0;
  if (!scan_hex4(scan, &unit)) return false;
  const size_t after = scan->at;
  scan->at = start;
  if (unit == 0) return refuse(scan, "a string holds \\u0000, which C text cannot carry; remove it");
  if (unit >= 0xdc00 && unit <= 0xdfff) return refuse(scan, lone);
  scan->at = after;
  if (unit < 0xd800 || unit > 0xdbff) return true;
  if (accept_byte(scan, '\\') && accept_byte(scan, 'u')) {
    if (!scan_hex4(scan, &low)) return false;
    if (low >= 0xdc00 && low <= 0xdfff) return true;
  }
  scan->at = start;
  return refuse(scan, lone);
}

static bool scan_escape(struct json_scan *scan) {
  const size_t start = scan->at++;
  if (accept_byte(scan, 'u')) return scan_unicode_escape(scan, start);
  const int c = peek(scan);
  if (c <= 0 || !strchr("\"\\/bfnrt", c))
    return expected(scan, "expected one of \" \\ / b f n r t u after a backslash");
  ++scan->at;
  return true;
}

/* One character of a string's inside. */
static bool scan_character(struct json_scan *scan) {
  const int c = peek(scan);
  if (c == END_OF_TEXT || c == '\n') return expected(scan, "expected a closing quote");
  if (c < 0x20) return refuse(scan, "a string holds a raw control byte; write it as a \\u escape");
  if (c == '\\') return scan_escape(scan);
  const size_t bytes = json_scan_utf8(scan->text + scan->at, scan->length - scan->at);
  if (bytes == 0) return refuse(scan, "a string holds invalid UTF-8; save the file as UTF-8");
  scan->at += bytes;
  return true;
}

static bool scan_string(struct json_scan *scan) {
  const size_t start = scan->at;
  if (!accept_byte(scan, '"')) return expected(scan, "expected a string in double quotes");
  while (peek(scan) != '"') {
    if (!scan_character(scan)) return false;
    if (scan->at - start - 1 > JSON_STRING_MAX) {
      scan->at = start;
      return refuse(scan, "a string is longer than 32768 bytes; shorten it");
    }
  }
  ++scan->at;
  return true;
}

/* ---- numbers and words --------------------------------------------------------------------------------------- */

static size_t skip_digits(struct json_scan *scan) {
  const size_t start = scan->at;
  while (peek(scan) >= '0' && peek(scan) <= '9') ++scan->at;
  return scan->at - start;
}

static bool scan_number_grammar(struct json_scan *scan) {
  accept_byte(scan, '-');
  const bool leading_zero = peek(scan) == '0';
  const size_t whole = skip_digits(scan);
  if (whole == 0) return expected(scan, "expected a digit");
  if (leading_zero && whole > 1) {
    scan->at -= whole;
    return refuse(scan, "a number has a leading zero; remove the zero");
  }
  if (accept_byte(scan, '.') && skip_digits(scan) == 0)
    return expected(scan, "expected a digit after the decimal point");
  if (peek(scan) != 'e' && peek(scan) != 'E') return true;
  ++scan->at;
  if (!accept_byte(scan, '+')) accept_byte(scan, '-');
  return skip_digits(scan) > 0 || expected(scan, "expected a digit in the exponent");
}

/* JSON_SCAN_LARGE has 16 digits before the decimal point. */
static bool is_long_whole(const char *token, size_t bytes) {
  size_t digits = 0;
  while (digits < bytes && token[digits] != '.') ++digits;
  return digits >= 16;
}

static bool scan_number(struct json_scan *scan) {
  const size_t start = scan->at;
  if (!scan_number_grammar(scan)) return false;
  const size_t bytes = scan->at - start;
  const bool has_exponent = memchr(scan->text + start, 'e', bytes) || memchr(scan->text + start, 'E', bytes);
  char token[JSON_SCAN_NUMBER_MAX + 1];
  if (bytes >= sizeof token) {
    scan->at = start;
    return refuse(scan, "a number is longer than 63 characters; shorten it");
  }
  memcpy(token, scan->text + start, bytes);
  token[bytes] = '\0';
  /* Without an exponent 63 characters are no more than 1e63. */
  if (!has_exponent && !is_long_whole(token, bytes)) return true;
  const double value = strtod(token, NULL);
  scan->has_large_number = scan->has_large_number || value >= JSON_SCAN_LARGE;
  if (isfinite(value)) return true;
  scan->at = start;
  return refuse(scan, "a number is too large for a double; give a smaller one");
}

static bool scan_word(struct json_scan *scan, const char *word) {
  const size_t bytes = strlen(word);
  if (scan->length - scan->at < bytes || memcmp(scan->text + scan->at, word, bytes) != 0) {
    return expected(scan, "expected true, false or null");
  }
  scan->at += bytes;
  return true;
}

/* ---- values -------------------------------------------------------------------------------------------------- */

static bool scan_value(struct json_scan *scan);

/* A key, its colon and the space around them. */
static bool scan_key(struct json_scan *scan) {
  if (peek(scan) != '"') return expected(scan, "expected a key in double quotes");
  if (!scan_string(scan)) return false;
  skip_space(scan);
  if (!accept_byte(scan, ':')) return expected(scan, "expected ':' after a key");
  skip_space(scan);
  return true;
}

static bool scan_member(struct json_scan *scan, bool is_object) {
  return (!is_object || scan_key(scan)) && scan_value(scan);
}

/* An object or an array; the two differ in their keys and closing byte only. */
static bool scan_container(struct json_scan *scan, bool is_object) {
  const char close = is_object ? '}' : ']';
  if (scan->depth >= JSON_DEPTH_MAX) return refuse(scan, "values are nested more than 16 deep; flatten them");
  ++scan->depth;
  ++scan->at;
  skip_space(scan);
  for (bool first = true; !accept_byte(scan, close); first = false) {
    if (!first && !accept_byte(scan, ',')) {
      return expected(scan, is_object ? "expected ',' or '}' after a value" : "expected ',' or ']' after a value");
    }
    skip_space(scan);
    if (!scan_member(scan, is_object)) return false;
    skip_space(scan);
  }
  --scan->depth;
  return true;
}

static bool scan_value(struct json_scan *scan) {
  const int c = peek(scan);
  ++scan->values;
  switch (c) {
    case '{': return scan_container(scan, true);
    case '[': return scan_container(scan, false);
    case '"': return scan_string(scan);
    case 't': return scan_word(scan, "true");
    case 'f': return scan_word(scan, "false");
    case 'n': return scan_word(scan, "null");
    default: break;
  }
  if (c == '-' || (c >= '0' && c <= '9')) return scan_number(scan);
  return expected(scan, "expected a value (object, array, string, number, true, false or null)");
}

bool json_scan_document(struct json_scan *scan) {
  if (scan->length >= 3 && memcmp(scan->text, "\xef\xbb\xbf", 3) == 0) {
    return refuse(scan, "the file begins with a byte order mark; save it as UTF-8 without one");
  }
  skip_space(scan);
  if (!scan_value(scan)) return false;
  skip_space(scan);
  return scan->at == scan->length || expected(scan, "expected the end of the file");
}

/* ---- positions ----------------------------------------------------------------------------------------------- */

size_t json_scan_find(const char *text, size_t length, const size_t *path, size_t depth, bool at_key) {
  struct json_scan scan = {.text = text, .length = length};
  size_t key = 0;
  skip_space(&scan);
  for (size_t level = 0; level < depth; ++level) {
    const bool is_object = accept_byte(&scan, '{');
    if (!is_object) ++scan.at;
    skip_space(&scan);
    for (size_t i = 0; i < path[level]; ++i) {
      scan_member(&scan, is_object);
      skip_space(&scan);
      ++scan.at; /* the comma */
      skip_space(&scan);
    }
    key = scan.at;
    if (is_object) scan_key(&scan);
  }
  return at_key ? key : scan.at;
}

void json_scan_position(const char *text, size_t offset, size_t *line, size_t *column) {
  size_t start = 0;
  *line = 1;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] != '\n') continue;
    ++*line;
    start = i + 1;
  }
  *column = offset - start + 1;
}
